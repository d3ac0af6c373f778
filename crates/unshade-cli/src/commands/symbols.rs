//! `unshade nm`: lists the symbols of modules, as `llvm-nm` does for bitcode.

use super::programs::{
    FileJson, ProgramJson, each_input, each_program, open_all, outcome_of, print_diagnostics,
    require_selected,
};
use crate::Outcome;
use crate::args::{GlobalArgs, SymbolsArgs};
use crate::output::Stdout;
use crate::paint::{self, bad, bytes, name};
use crate::runner::in_parallel;
use anyhow::Result;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write;
use unshade::core::Diagnostics;
use unshade::program::{Code, CodeRequest, Verb};
use unshade::view::{FindingView, ModuleSymbolsView, SymbolFilter, distinct_modules};

/// Maximum number of modules whose symbols are read before they are printed.
const BATCH: usize = 256;

#[derive(Serialize)]
struct ProgramSymbolsJson {
    #[serde(flatten)]
    head: ProgramJson,
    modules: Vec<ModuleSymbolsView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

/// The state of printing the symbols of several programs.
struct Listing<'a> {
    args: &'a SymbolsArgs,
    filter: SymbolFilter,
    /// Whether programs need a heading.
    has_several: bool,
    /// The number of programs that were printed.
    printed: usize,
    /// The number of symbols.
    count: usize,
    /// The number of modules with assembly.
    assembly: usize,
}

pub(crate) fn run(args: &SymbolsArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (files, selection) = args.targets.split()?;
    let limits = global.limits();
    let (inputs, opened) = open_all(&files);
    require_selected(&inputs, &selection, Verb::Symbols, &limits)?;
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let mut listing = Listing {
        args,
        filter: args.filter(),
        has_several: inputs.len() > 1,
        printed: 0,
        count: 0,
        assembly: 0,
    };
    let outcome = each_input(&inputs, |input| {
        let mut programs = Vec::new();
        let mut outcome = Outcome::Done;
        let carving = each_program(input, Verb::Symbols, &limits, |visited| {
            let head = ProgramJson::new(visited.find);
            let mut diagnostics = visited.diagnostics;
            let request = CodeRequest { selection: &selection, part: None, path: &head.path };
            let code = match visited.program {
                Some(program) => program.code(&request, &mut diagnostics),
                None => Code::Unread,
            };
            let is_whole = head.path == input.name;
            let mut modules = Vec::new();
            let mut heading = Some(format!("{}   {}, {}", name(&head.path), head.format, bytes(head.size)));
            heading = heading.filter(|_| !is_whole || listing.has_several);
            each_module(&code, listing.filter, &mut diagnostics, |module, is_only| {
                listing.count += module.symbols.len();
                listing.assembly += usize::from(module.assembly);
                if global.json {
                    modules.push(module);
                    return Ok(());
                }
                listing.print(&module, is_only, heading.take(), &mut stdout)
            })?;
            outcome = outcome.and(outcome_of(&diagnostics));
            if global.json {
                let findings = super::findings(&diagnostics);
                programs.push(ProgramSymbolsJson { head, modules, findings });
            } else {
                print_diagnostics(&head.path, &diagnostics);
            }
            Ok(())
        })?;
        if global.json {
            stdout.json(&FileJson::new(input, programs, &carving), false)?;
        }
        Ok(outcome)
    })?;
    stdout.finish()?;
    Ok(opened.and(outcome).and(listing.verdict()))
}

/// Passes the symbols of each module to `take`, and whether it is the only module of its program.
fn each_module(
    code: &Code<'_>,
    filter: SymbolFilter,
    diagnostics: &mut Diagnostics,
    mut take: impl FnMut(ModuleSymbolsView, bool) -> Result<()>,
) -> Result<()> {
    let Code::Modules(groups) = code else { return Ok(()) };
    let modules: Vec<_> = groups
        .iter()
        .flat_map(|group| {
            distinct_modules(group).into_iter().map(move |(unit, shared)| (group, unit, shared))
        })
        .collect();
    let is_only = modules.len() == 1;
    for batch in modules.chunks(BATCH) {
        let read = in_parallel(batch.len(), |at| {
            let (group, unit, shared) = &batch[at];
            ModuleSymbolsView::new(&group.slice, unit, shared.clone(), filter)
        });
        for module in read {
            if let Some(module) = diagnostics.take("llvm-module", module) {
                take(module, is_only)?;
            }
        }
    }
    Ok(())
}

impl Listing<'_> {
    fn print(
        &mut self,
        module: &ModuleSymbolsView,
        is_only: bool,
        heading: Option<String>,
        stdout: &mut Stdout,
    ) -> Result<()> {
        let mut text = String::new();
        let has_heading = heading.is_some() || !is_only;
        if has_heading && self.printed > 0 {
            text.push('\n');
        }
        self.printed += 1;
        if let Some(heading) = heading {
            text.push_str(&heading);
            text.push('\n');
        }
        if !is_only {
            let slice = if module.slice.is_empty() { String::new() } else { format!("{} · ", module.slice) };
            let others = match module.shared_by.len() {
                0 => String::new(),
                count => format!(", and {count} more"),
            };
            writeln!(text, "{slice}{}{others}:", name(&module.name))?;
        }
        let width = |texts: &mut dyn Iterator<Item = &'static str>| texts.map(str::len).max().unwrap_or(0);
        let kinds = width(&mut module.symbols.iter().map(|symbol| symbol.kind));
        let visibilities = width(&mut module.symbols.iter().map(|symbol| symbol.visibility));
        for symbol in &module.symbols {
            let letter = symbol.letter.to_string();
            let letter = if symbol.defined { letter } else { bad(letter).to_string() };
            let shown = match &symbol.demangled {
                Some(demangled) if !self.args.mangled => demangled,
                _ => &symbol.name,
            };
            writeln!(text, "{letter}  {:kinds$}  {:visibilities$}  {shown}", symbol.kind, symbol.visibility)?;
        }
        Ok(stdout.write_all(text.as_bytes())?)
    }

    /// Reports what was not listed.
    fn verdict(&self) -> Outcome {
        if self.assembly > 0 {
            let modules = paint::counted(self.assembly as u64, "module");
            anstream::eprintln!("unshade: note: symbols that assembly defines are not listed ({modules})");
            return Outcome::Finding;
        }
        if self.count == 0 {
            anstream::eprintln!("{}: no symbols", paint::error("unshade"));
            return Outcome::Finding;
        }
        Outcome::Done
    }
}
