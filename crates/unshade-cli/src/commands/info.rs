//! `unshade FILE…`: a summary of files.
//!
//! A file with one program gets the program's main facts; a file with several gets one row per program.

use super::programs::{EntryJson, FileJson, ProgramJson, collect, each_file, outcome_of};
use crate::Outcome;
use crate::args::{Args, FilesArgs, GlobalArgs};
use crate::input::{Input, NothingFound, shown};
use crate::layout::{self, heading, quoted};
use crate::output::Stdout;
use crate::paint::{bytes, faint, grouped};
use crate::runner::AllProcessors;
use anyhow::{Result, bail};
use clap::CommandFactory;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use unshade::carve::Find;
use unshade::core::Diagnostics;
use unshade::program::{self, Brief, Section};

/// Maximum number of rows per file; further programs are only counted.
const MAX_ROWS: usize = 20;

/// Returns the command that a word was probably meant to be, if no such file exists.
fn mistyped(word: &OsStr) -> Option<String> {
    let word = word.to_str().filter(|word| !word.contains(['.', '/', '!', '@']))?;
    if word == "-" || Path::new(word).exists() {
        return None;
    }
    let command = Args::command();
    let names = command.get_subcommands().map(|command| command.get_name().to_owned());
    let distances = names.map(|name| (strsim::damerau_levenshtein(word, &name), name));
    distances.filter(|(distance, name)| *distance <= 2 && *distance < name.len()).min().map(|(_, name)| name)
}

/// The summary of a program.
struct Known {
    entry: EntryJson,
    sections: Vec<Section>,
    brief: Brief,
    outcome: Outcome,
}

pub(crate) fn run(args: &FilesArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut stdout = Stdout::new(false);
    let mut first = true;
    let limits = global.limits();
    if let Some(verb) = args.files.first().and_then(|file| mistyped(file)) {
        let file = shown(&args.files[0]);
        bail!("no file {file}, and no such command; did you mean `unshade {verb}`?");
    }
    let outcome = each_file(&args.files, |input| {
        let (mut known, carving) = collect(input, &limits, read);
        super::programs::print_diagnostics(&input.name, &carving);
        if known.is_empty() {
            bail!(NothingFound(format!("{}: {}", input.name, input.without_programs())));
        }
        let outcome = known.iter().fold(Outcome::Done, |worst, one| worst.and(one.outcome));
        if global.json {
            let programs = known.drain(..).map(|one| one.entry).collect();
            stdout.json(&FileJson::new(input, programs, &carving), false)?;
            return Ok(outcome);
        }
        if !std::mem::take(&mut first) {
            writeln!(stdout)?;
        }
        print(input, &known, &mut stdout)?;
        Ok(outcome)
    })?;
    stdout.finish()?;
    Ok(outcome)
}

fn read(find: &Find<'_>) -> Known {
    let mut diagnostics = Diagnostics::new();
    let program = diagnostics.take("program", program::open(find));
    let outcome = outcome_of(&diagnostics);
    let info = program.as_ref().map(|program| program.info(&AllProcessors, &mut diagnostics));
    let brief = program.as_ref().map(|program| program.brief()).unwrap_or_default();
    let (sections, body) = info.map(|info| (info.sections, info.json)).unzip();
    let head = ProgramJson::new(find);
    let entry = EntryJson { head, body, findings: super::findings(&diagnostics) };
    Known { entry, sections: sections.unwrap_or_default(), brief, outcome }
}

fn print(input: &Input, programs: &[Known], stdout: &mut Stdout) -> Result<()> {
    let [program] = programs else {
        return print_rows(input, programs, stdout);
    };
    let head = &program.entry.head;
    if head.path != input.name {
        print_file(input, stdout)?;
    }
    if program.sections.is_empty() {
        heading(&head.path, &format!("{}, unreadable, {}", head.format, bytes(head.size)), stdout)?;
    }
    for (index, section) in program.sections.iter().enumerate() {
        if index > 0 {
            writeln!(stdout)?;
        }
        layout::section(&head.path, section, stdout)?;
    }
    for finding in &program.entry.findings {
        writeln!(stdout, "  {}: {}", finding.severity, finding.message)?;
    }
    Ok(())
}

/// Prints the heading of a file that contains programs.
fn print_file(input: &Input, stdout: &mut Stdout) -> Result<()> {
    let size = bytes(input.bytes().len() as u64);
    heading(&input.name, &format!("{}, {size}", unshade::format::detect(input.bytes())), stdout)
}

/// Prints the heading of the file, then one row per program.
fn print_rows(input: &Input, programs: &[Known], stdout: &mut Stdout) -> Result<()> {
    print_file(input, stdout)?;
    let inner = |known: &Known| {
        let path = &known.entry.head.path;
        path.strip_prefix(input.name.as_str()).unwrap_or(path).trim_start_matches('!').to_owned()
    };
    let shown = programs.iter().take(MAX_ROWS);
    let rows: Vec<_> = shown.map(|one| (inner(one), row_text(one), bytes(one.entry.head.size))).collect();
    let path_width = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let text_width = rows.iter().map(|row| row.1.chars().count()).max().unwrap_or(0);
    for (path, text, size) in &rows {
        writeln!(stdout, "  {path:<path_width$}  {text:<text_width$}  {size:>7}")?;
    }
    if programs.len() > MAX_ROWS {
        let more = grouped((programs.len() - MAX_ROWS) as u64);
        writeln!(stdout, "  … {more} more   {}", faint(format!("unshade list {}", quoted(&input.name))))?;
    }
    Ok(())
}

fn row_text(known: &Known) -> String {
    let head = &known.entry.head;
    let summary = if known.sections.is_empty() { "unreadable" } else { &known.brief.summary };
    let cut = if head.truncated { ", cut off" } else { "" };
    let comma = if summary.is_empty() { "" } else { ", " };
    format!("{}{comma}{summary}{cut}", head.format)
}
