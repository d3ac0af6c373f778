//! `unshade dis`: the LLVM assembly of functions.
//!
//! A program's functions are printed one after the other, each under a heading of comments, or with `-o DIR` each into
//! a file. Several threads print, a batch at a time, so that the order is that of the file and memory is bounded. With
//! `--raw` the text is what `llvm-dis` of the dialect's version prints.

use crate::Outcome;
use crate::args::{DisassembleArgs, GlobalArgs};
use crate::input::Input;
use crate::output::{Folder, Stdout, write_file};
use crate::paint::{self, PaintedTokens};
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use std::io::Write;
use unshade::core::{Diagnostics, Escaped, TokenSink};
use unshade::llvm::print::{PrintOptions, module};
use unshade::llvm::{self, bitstream};
use unshade::metallib::{Function, Library};
use unshade::program::Program;
use unshade::safe_path::SafePaths;
use unshade::view::FunctionView;

/// So many modules are printed before their text is written.
const BATCH: usize = 256;

/// The text of a module.
struct Listing {
    name: String,
    text: String,
    diagnostics: Diagnostics,
}

pub(crate) fn run(args: &DisassembleArgs, global: &GlobalArgs) -> Result<Outcome> {
    let selection = args.selection()?;
    let input = Input::open(&args.file)?;
    let mut writer = Writer::new(args, global)?;
    if bitstream::locate(input.bytes(), 0).is_ok() {
        let listing = print_module(&input.name, input.bytes(), 0, "", args, writer.in_color);
        writer.write(&input.name, listing)?;
        return writer.finish();
    }
    input.each_program(&global.limits(), |find| {
        let mut diagnostics = Diagnostics::new();
        let Some(program) = diagnostics.take("program", Program::open(find)) else { return Ok(()) };
        for named in program.libraries(&mut diagnostics) {
            let functions: Vec<_> = named
                .library
                .functions()
                .map_while(Result::ok)
                .filter(|function| selection.matches(function))
                .collect();
            let progress = Progress::new("disassembling", functions.len() as u64);
            for batch in functions.chunks(BATCH) {
                let in_color = writer.in_color;
                let listings: Vec<_> = batch
                    .par_iter()
                    .map(|function| print_function(&named.library, function, args, in_color))
                    .collect();
                for listing in listings {
                    progress.advance(1);
                    writer.write(&find.path.to_string(), listing)?;
                }
            }
        }
        for diagnostic in &diagnostics {
            anstream::eprintln!("{}", paint::diagnostic(&input.name, diagnostic));
        }
        Ok(())
    })?;
    writer.finish()
}

fn print_function(
    library: &Library<'_>,
    function: &Function<'_>,
    args: &DisassembleArgs,
    in_color: bool,
) -> unshade::core::Result<Listing> {
    let within = |error: unshade::core::Error| error.within(function.label());
    let Some(found) = library.module(function)? else {
        return Err(within(unshade::core::Error::new(
            unshade::core::ErrorKind::BadValue,
            function.range.start,
            "the function has no module",
        )));
    };
    let heading = if args.raw { String::new() } else { heading(library, function) };
    let name = function
        .name
        .map_or_else(|| format!("function-{}", function.index), |name| Escaped(name).to_string());
    print_module(&name, found.bytes(), found.range().start, &heading, args, in_color).map_err(within)
}

/// Comments that say what follows: the declaration, and where it stands in its source.
fn heading(library: &Library<'_>, function: &Function<'_>) -> String {
    let view = FunctionView::new(library, function);
    let declaration = view.signature.unwrap_or_else(|| {
        format!("{} {}", view.row.kind.as_deref().unwrap_or("function"), view.row.readable_name())
    });
    let mut lines: Vec<String> = declaration.lines().map(str::to_owned).collect();
    if let (Some(line), Some(path)) = (view.metadata.line, &view.metadata.source_path) {
        lines.push(format!("{path}:{line}"));
    }
    lines.iter().map(|line| format!("; {line}\n")).collect()
}

fn print_module(
    name: &str,
    bytes: &[u8],
    offset: u64,
    heading: &str,
    args: &DisassembleArgs,
    in_color: bool,
) -> unshade::core::Result<Listing> {
    let modules = llvm::Module::parse_all(bytes, offset)?;
    let count = modules.len();
    let mut listing =
        Listing { name: name.to_owned(), text: heading.to_owned(), diagnostics: Diagnostics::new() };
    if in_color {
        let mut tokens = PaintedTokens::default();
        tokens.put(unshade::core::TokenKind::Comment, heading);
        listing.text = tokens.0;
    }
    for (at, parsed) in modules.enumerate() {
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(error) if count == 1 => return Err(error),
            Err(error) => {
                listing.diagnostics.error("llvm-module", error);
                continue;
            }
        };
        let heading = match count {
            1 => String::new(),
            _ if args.raw => String::new(),
            _ => format!("; module {} of {count}\n", at + 1),
        };
        print_one_module(&parsed, &heading, args, in_color, &mut listing);
    }
    Ok(listing)
}

fn print_one_module(
    parsed: &llvm::Module<'_>,
    heading: &str,
    args: &DisassembleArgs,
    in_color: bool,
    listing: &mut Listing,
) {
    let options =
        PrintOptions { dialect: args.dialect.into(), module_id: args.raw.then_some(&*listing.name) };
    let mut diagnostics = parsed.diagnostics.clone();
    if in_color {
        let mut tokens = PaintedTokens::default();
        tokens.put(unshade::core::TokenKind::Comment, heading);
        diagnostics.append(module(parsed, &options, &mut tokens));
        listing.text.push_str(&tokens.0);
    } else {
        let mut text = heading.to_owned();
        diagnostics.append(module(parsed, &options, &mut text));
        listing.text.push_str(&text);
    }
    listing.diagnostics.append(diagnostics);
}

/// Where listings go.
struct Writer<'a> {
    args: &'a DisassembleArgs,
    in_color: bool,
    stdout: Stdout,
    folder: Option<Folder>,
    paths: SafePaths,
    /// What goes into one file.
    text: String,
    count: u64,
    outcome: Outcome,
}

impl<'a> Writer<'a> {
    fn new(args: &'a DisassembleArgs, global: &GlobalArgs) -> Result<Self> {
        let folder = match &args.output {
            Some(path) if path.extension().is_none() => Some(Folder::create(path, args.force)?),
            _ => None,
        };
        Ok(Self {
            args,
            in_color: args.output.is_none() && paint::stdout_has_color(),
            stdout: Stdout::new(!global.no_pager && args.output.is_none()),
            folder,
            paths: SafePaths::default(),
            text: String::new(),
            count: 0,
            outcome: Outcome::Done,
        })
    }

    fn write(&mut self, file: &str, listing: unshade::core::Result<Listing>) -> Result<()> {
        let listing = match listing {
            Ok(listing) => listing,
            Err(error) => {
                anstream::eprintln!("{}: {file}: {error}", paint::error("unshade"));
                self.outcome = Outcome::Finding;
                return Ok(());
            }
        };
        let label = if listing.name == file { file.to_owned() } else { format!("{file}: {}", listing.name) };
        for diagnostic in &listing.diagnostics {
            anstream::eprintln!("{}", paint::diagnostic(&label, diagnostic));
        }
        self.count += 1;
        if let Some(folder) = &mut self.folder {
            let path = self.paths.flat(listing.name.as_bytes(), ".ll");
            return folder.write(&path.path, listing.text.as_bytes());
        }
        if self.args.output.is_some() {
            self.text.push_str(&listing.text);
            return Ok(());
        }
        if self.count > 1 && !self.args.raw {
            writeln!(self.stdout)?;
        }
        Ok(self.stdout.write_all(listing.text.as_bytes())?)
    }

    fn finish(self) -> Result<Outcome> {
        self.stdout.finish()?;
        if self.count == 0 && self.outcome == Outcome::Done {
            anstream::eprintln!(
                "{}: no function matches; `unshade list` shows them",
                paint::error("unshade")
            );
            return Ok(Outcome::Finding);
        }
        if let (Some(path), None) = (&self.args.output, &self.folder) {
            if self.count > 1 {
                bail!("{} functions into one file: -o takes a folder for them", self.count);
            }
            write_file(path, self.args.force, self.text.as_bytes()).context("can't write the listing")?;
        }
        Ok(self.outcome)
    }
}
