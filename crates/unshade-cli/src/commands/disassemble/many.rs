//! Lists the code of several files, or of the files in folders: one listing per file, in file order.
//!
//! Small files are listed concurrently in batches, and their listings kept until it is their turn. A large file is
//! listed alone: its functions are processed concurrently, and printed as they are ready. With `-o DIR`, each listing
//! becomes a file in that folder, with the file's name and subfolders. Otherwise a line above each listing names the
//! file. Files without a GPU program are skipped if they come from a folder.

use super::super::programs::require_selected;
use super::super::walk::{list_files, spread};
use super::writer::{Listing, Writer};
use super::{list, other_form, verb};
use crate::Outcome;
use crate::args::{DisassembleArgs, GlobalArgs};
use crate::input::{Input, NothingFound, is_folder, shown};
use crate::output::{Folder, Stdout, is_broken_pipe, is_stdout};
use crate::paint::{self, counted};
use anyhow::{Result, bail};
use rayon::prelude::*;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use unshade::carve::Limits;
use unshade::core::{Diagnostics, Escaped};
use unshade::program::Verb;
use unshade::safe_path::SafePaths;
use unshade::select::Selection;

/// Maximum number of files that are processed before their listings are written.
const BATCH: usize = 256;

/// Minimum size of a file that is listed alone.
const LARGE: u64 = 1 << 20;

/// A file to list.
struct Source {
    /// The path as given, or as found in a folder.
    argument: OsString,
    /// The path in the folder, if it was found in one.
    found: Option<PathBuf>,
    /// The name of its listing without the extension; may contain folders.
    name: String,
    /// Whether its size is unbounded: standard input, or a member of an archive.
    is_unsized: bool,
}

impl Source {
    fn new(argument: OsString, found: Option<PathBuf>, name: String) -> Self {
        let is_unsized = found.is_none() && !Path::new(&argument).is_file();
        Self { argument, found, name, is_unsized }
    }

    fn open(&self) -> Result<Input> {
        match &self.found {
            Some(path) => Input::open_path(path),
            None => Input::open(&self.argument),
        }
        .map_err(|error| match &self.found {
            Some(path) => error.context(format!("can't read {}", path.display())),
            None => error,
        })
    }

    /// Returns whether an error is the lack of programs in a file that was found in a folder.
    fn is_passed_over(&self, error: &anyhow::Error) -> bool {
        self.found.is_some() && error.is::<NothingFound>()
    }
}

/// Lists the files of the arguments.
pub(super) fn run(
    arguments: &[OsString],
    selection: &Selection,
    args: &DisassembleArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let (sources, unreadable) = sources(arguments);
    let outcome = if unreadable > 0 { Outcome::Unreadable } else { Outcome::Done };
    if args.stats || args.cfg.is_some() || global.json {
        if args.output.is_some() {
            bail!("of several files only listings go into a folder");
        }
        return Ok(outcome.and(in_other_form(&sources, selection, args, global)?));
    }
    let limits = global.limits();
    let mut output = Output::new(args, outcome, !global.no_pager)?;
    let in_color = output.stdout.is_some() && paint::stdout_has_color();
    let kept = |opened, source: &Source| {
        let writer = Writer::keeping(args, in_color);
        list_one(opened, source, selection, args, &limits, writer).map(Writer::into_listing)
    };
    let small = |source: &Source| {
        let opened = if source.is_unsized { return Ok(Worked::Large) } else { source.open() };
        let is_large = opened.as_ref().is_ok_and(|input| input.bytes().len() as u64 >= LARGE);
        if is_large { Ok(Worked::Large) } else { kept(opened, source).map(Worked::Listed) }
    };
    for batch in sources.chunks(BATCH) {
        let mut listed = Vec::new();
        for (source, worked) in batch.iter().zip(spread(batch, small)) {
            match worked? {
                Worked::Listed(listing) => listed.push((source, listing)),
                Worked::Large => {
                    output.write(std::mem::take(&mut listed))?;
                    match output.stdout.take() {
                        Some(stdout) => {
                            let writer = Writer::over(args, stdout, output.heading(source));
                            let writer = list_one(source.open(), source, selection, args, &limits, writer)?;
                            output.take_back(writer);
                        }
                        None => output.write(vec![(source, kept(source.open(), source)?)])?,
                    }
                }
            }
        }
        output.write(listed)?;
    }
    output.finish(&sources, selection, verb(args, global), &limits)
}

/// The listing of a file.
enum Worked {
    Listed(Listing),
    /// None yet: the file is listed alone.
    Large,
}

/// Lists a file, and returns the writer. An error is reported, and the other files continue, unless standard output is
/// closed.
fn list_one<'a>(
    opened: Result<Input>,
    source: &Source,
    selection: &Selection,
    args: &DisassembleArgs,
    limits: &Limits,
    mut writer: Writer<'a>,
) -> Result<Writer<'a>> {
    let mut carving = Diagnostics::new();
    let listed = opened.and_then(|input| {
        let listed = list(&input, selection, args, limits, &mut writer, &mut carving);
        for diagnostic in &carving {
            writer.report(paint::diagnostic(&input.name, diagnostic));
        }
        listed
    });
    match listed {
        Err(error) if is_broken_pipe(&error) => return Err(error),
        Err(error) if !source.is_passed_over(&error) => writer.fail(&error),
        _ => {}
    }
    Ok(writer)
}

/// Prints the forms other than listings, for one file after another.
fn in_other_form(
    sources: &[Source],
    selection: &Selection,
    args: &DisassembleArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let mut outcome = Outcome::Done;
    for source in sources {
        let result = source
            .open()
            .and_then(|input| other_form(&input, selection, args, global).unwrap_or(Ok(Outcome::Done)));
        match result {
            Ok(one) => outcome = outcome.and(one),
            Err(error) if is_broken_pipe(&error) => return Err(error),
            Err(error) if source.is_passed_over(&error) => {}
            Err(error) => outcome = outcome.and(Outcome::of_error(&error)),
        }
    }
    Ok(outcome)
}

/// Returns the files of the arguments, and the number of unreadable paths.
fn sources(arguments: &[OsString]) -> (Vec<Source>, u64) {
    let mut sources = Vec::new();
    let mut unreadable = 0;
    for argument in arguments {
        let root = Path::new(argument);
        if !is_folder(root) {
            let name = shown(argument);
            let name = name.rsplit('/').next().unwrap_or(&name).to_owned();
            sources.push(Source::new(argument.clone(), None, name));
            continue;
        }
        let (files, count) = list_files(&[root.to_owned()]);
        unreadable += count;
        for file in files {
            let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
            sources.push(Source::new(file.clone().into_os_string(), Some(file), name));
        }
    }
    (sources, unreadable)
}

/// The destination of listings, and the state so far.
struct Output {
    /// Standard output, if listings don't go into a folder.
    stdout: Option<Stdout>,
    folder: Option<Folder>,
    paths: SafePaths,
    /// Number of files with a listing.
    listed: u64,
    outcome: Outcome,
}

impl Output {
    fn new(args: &DisassembleArgs, outcome: Outcome, page: bool) -> Result<Self> {
        let folder = match &args.output {
            Some(path) if is_stdout(path) => None,
            Some(path) if path.extension().is_some() && !path.is_dir() => {
                bail!(
                    "{}: listings of several files go into a folder, a name without extension",
                    path.display()
                )
            }
            Some(path) => Some(Folder::create(path, args.force)?),
            None => None,
        };
        let stdout = folder.is_none().then(|| Stdout::new(page));
        Ok(Self { stdout, folder, paths: SafePaths::default(), listed: 0, outcome })
    }

    /// Returns the line above the listing of a file.
    fn heading(&self, source: &Source) -> String {
        let before = if self.listed > 0 { "\n" } else { "" };
        format!("{before}==> {} <==\n", Escaped(source.argument.as_encoded_bytes()))
    }

    /// Takes standard output back from the writer of a file that was listed alone.
    fn take_back(&mut self, writer: Writer<'_>) {
        let (stdout, outcome, has_text) = writer.into_stdout();
        self.stdout = stdout;
        self.outcome = self.outcome.and(outcome);
        self.listed += u64::from(has_text);
    }

    /// Writes the listings of files.
    fn write(&mut self, listings: Vec<(&Source, Listing)>) -> Result<()> {
        let mut files = Vec::new();
        for (source, listing) in listings {
            for line in &listing.reports {
                anstream::eprintln!("{line}");
            }
            self.outcome = self.outcome.and(listing.outcome);
            if listing.parts.is_empty() {
                continue;
            }
            let heading = self.heading(source);
            self.listed += 1;
            if let Some(stdout) = &mut self.stdout {
                stdout.write_all(heading.as_bytes())?;
                listing.parts.iter().try_for_each(|part| stdout.write_all(part.as_bytes()))?;
            }
            if let Some(folder) = &mut self.folder {
                let name = format!("{}{}", source.name, listing.extension);
                let path = self.paths.file(name.as_bytes());
                if path.renamed {
                    let shown = Escaped(source.argument.as_encoded_bytes());
                    anstream::eprintln!("{shown}: written as {}", path.path.display());
                }
                if let Some(parent) = path.path.parent() {
                    folder.make_folders(parent)?;
                }
                files.push((path.path, listing.parts));
            }
        }
        let Some(folder) = &self.folder else { return Ok(()) };
        files
            .par_iter()
            .try_for_each(|(path, parts)| folder.write_parts(path, parts.iter().map(String::as_bytes)))
    }

    /// Completes the output and returns the outcome.
    fn finish(
        self,
        sources: &[Source],
        selection: &Selection,
        verb: Verb,
        limits: &Limits,
    ) -> Result<Outcome> {
        if let Some(stdout) = self.stdout {
            stdout.finish()?;
        }
        if self.listed > 0 || self.outcome != Outcome::Done {
            return Ok(self.outcome);
        }
        let everything = selection.is_everything();
        if !everything {
            // Search for the nearest name in as many files as are open at a time.
            let first = sources.iter().take(BATCH);
            let inputs: Vec<Input> = first.filter_map(|source| source.open().ok()).collect();
            require_selected(&inputs, selection, verb, limits)?;
        }
        let what = if everything { "no code that can be read" } else { "no function matches" };
        anstream::eprintln!(
            "{}: {what} in {}",
            paint::error("unshade"),
            counted(sources.len() as u64, "file")
        );
        Ok(Outcome::Finding)
    }
}
