//! Writes listings to standard output, to a file, to a folder with one file per function, or to memory until it is the
//! file's turn.

use super::code::report_nothing;
use crate::Outcome;
use crate::args::DisassembleArgs;
use crate::input::Input;
use crate::output::{Folder, Stdout, is_stdout, write_file_of};
use crate::paint;
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use unshade::core::Diagnostics;
use unshade::core::token::StreamedText;
use unshade::disassembly::Unit;
use unshade::safe_path::SafePaths;
use unshade::select::Selection;

/// Maximum number of files that are written together.
const PENDING: usize = 256;

/// The results of a module, with its diagnostics.
pub(super) struct Made<T> {
    pub(super) content: T,
    pub(super) diagnostics: Diagnostics,
}

/// The results of a file that was listed concurrently with others.
pub(super) struct Listing {
    pub(super) parts: Vec<String>,
    /// The extension of a file with this text.
    pub(super) extension: &'static str,
    /// Messages, one per line.
    pub(super) reports: Vec<String>,
    pub(super) outcome: Outcome,
}

/// The destination of texts.
enum Destination {
    Stdout(Stdout),
    /// One file for all, written when they are complete.
    File(PathBuf),
    Folder(Folder),
    /// Memory, also for messages, because other files are processed concurrently.
    Memory(Vec<String>),
}

/// The extensions of file names.
pub(super) const MODULE: &str = ".ll";
const TOKENS: &str = ".asm";
const MACHINE_CODE: &str = ".sass";

/// Writes texts to their destination.
pub(super) struct Writer<'a> {
    args: &'a DisassembleArgs,
    /// Whether texts may contain colour.
    pub(super) in_color: bool,
    destination: Destination,
    /// The heading above the first text.
    heading: String,
    paths: SafePaths,
    /// Unwritten files of the folder: threads write many at a time.
    pending: Vec<(PathBuf, String)>,
    /// The parts of a single output file.
    parts: Vec<String>,
    usual: &'static str,
    extension: &'static str,
    count: u64,
    outcome: Outcome,
}

impl<'a> Writer<'a> {
    /// Creates the writer for the arguments; most files in a folder have the extension `usual`.
    pub(super) fn new(args: &'a DisassembleArgs, usual: &'static str, page: bool) -> Result<Self> {
        let destination = match &args.output {
            Some(path) if is_stdout(path) => Destination::Stdout(Stdout::new(false)),
            Some(path) if path.extension().is_none() => {
                Destination::Folder(Folder::create(path, args.force)?)
            }
            Some(path) => Destination::File(path.clone()),
            None => Destination::Stdout(Stdout::new(page)),
        };
        let in_color = matches!(destination, Destination::Stdout(_)) && paint::stdout_has_color();
        Ok(Self { usual, ..Self::with(args, destination, in_color) })
    }

    /// Creates a writer to standard output, with a heading.
    pub(super) fn over(args: &'a DisassembleArgs, stdout: Stdout, heading: String) -> Self {
        Self { heading, ..Self::with(args, Destination::Stdout(stdout), paint::stdout_has_color()) }
    }

    /// Creates a writer to memory.
    pub(super) fn keeping(args: &'a DisassembleArgs, in_color: bool) -> Self {
        Self::with(args, Destination::Memory(Vec::new()), in_color)
    }

    fn with(args: &'a DisassembleArgs, destination: Destination, in_color: bool) -> Self {
        Self {
            args,
            in_color,
            destination,
            heading: String::new(),
            paths: SafePaths::default(),
            pending: Vec::new(),
            parts: Vec::new(),
            usual: MODULE,
            extension: MODULE,
            count: 0,
            outcome: Outcome::Done,
        }
    }

    /// Prints a message on standard error, now or when it is the file's turn.
    pub(super) fn report(&mut self, line: impl Display) {
        match &mut self.destination {
            Destination::Memory(reports) => reports.push(line.to_string()),
            _ => anstream::eprintln!("{line}"),
        }
    }

    /// Returns whether every text has a file of its own.
    pub(super) fn has_folder(&self) -> bool {
        matches!(self.destination, Destination::Folder(_))
    }

    /// Writes the results of a module of a file, or nothing if it could not be read, and prints its diagnostics on
    /// standard error.
    pub(super) fn take<T>(
        &mut self,
        file: &str,
        unit: &Unit<'_>,
        made: unshade::core::Result<Made<T>>,
    ) -> Option<T> {
        let made = match made {
            Ok(made) => made,
            Err(error) => {
                self.report(format_args!("{}: {file}: {error}", paint::error("unshade")));
                self.outcome = Outcome::Finding;
                return None;
            }
        };
        let name = unit.name();
        let label = if name == file { name } else { format!("{file}: {name}") };
        for diagnostic in &made.diagnostics {
            self.report(paint::diagnostic(&label, diagnostic));
        }
        Some(made.content)
    }

    /// Writes the text of a module.
    pub(super) fn write(&mut self, unit: &Unit<'_>, text: String) -> Result<()> {
        self.write_named(&unit.name(), text)
    }

    /// Writes the text of the only module of a file to standard output while it is printed. Returns `None` if texts go
    /// elsewhere, or in colour.
    pub(super) fn stream(
        &mut self,
        file: &str,
        unit: &Unit<'_>,
        print: impl FnOnce(&mut StreamedText<'_>) -> unshade::core::Result<Diagnostics>,
    ) -> Option<Result<()>> {
        let Destination::Stdout(stdout) = &mut self.destination else { return None };
        if self.in_color {
            return None;
        }
        let mut written = stdout.write_all(std::mem::take(&mut self.heading).as_bytes());
        let mut write = |text: &str| {
            if written.is_ok() {
                written = stdout.write_all(text.as_bytes());
            }
        };
        let mut text = StreamedText::new(&mut write);
        let made = print(&mut text);
        text.finish();
        if self.take(file, unit, made.map(|diagnostics| Made { content: (), diagnostics })).is_some() {
            self.count += 1;
        }
        Some(written.map_err(Into::into))
    }

    /// Writes the text of a named item.
    pub(super) fn write_named(&mut self, name: &str, text: String) -> Result<()> {
        self.write_as(name, self.usual, text)
    }

    /// Writes the listing of a token program.
    pub(super) fn write_tokens(&mut self, name: &str, text: String) -> Result<()> {
        self.write_as(name, if self.args.cfg.is_some() { self.usual } else { TOKENS }, text)
    }

    fn write_as(&mut self, name: &str, extension: &'static str, text: String) -> Result<()> {
        self.count += 1;
        if self.has_folder() {
            let path = self.paths.flat(name.as_bytes(), extension);
            self.pending.push((path.path, text));
            return if self.pending.len() < PENDING { Ok(()) } else { self.write_pending() };
        }
        let is_apart = self.count > 1 && !self.args.raw && self.args.cfg.is_none();
        self.add(if is_apart { "\n" } else { "" })?;
        self.add_part(extension, text)
    }

    /// Writes the listings of `count` functions that are not in modules.
    pub(super) fn write_listing(&mut self, name: &str, functions: usize, parts: Vec<String>) -> Result<()> {
        if functions == 0 {
            return Ok(());
        }
        // A single file takes one program with any number of functions.
        self.count += 1;
        if self.has_folder() {
            let path = self.paths.flat(name.as_bytes(), MACHINE_CODE);
            self.pending.push((path.path, parts.concat()));
            return Ok(());
        }
        parts.into_iter().try_for_each(|part| self.add_part(MACHINE_CODE, part))
    }

    fn write_pending(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        match &self.destination {
            Destination::Folder(folder) => {
                pending.par_iter().try_for_each(|(path, text)| folder.write_flat(path, text.as_bytes()))
            }
            _ => Ok(()),
        }
    }

    /// Writes text outside any module.
    pub(super) fn add(&mut self, text: &str) -> Result<()> {
        if text.is_empty() { Ok(()) } else { self.add_part(self.extension, text.to_owned()) }
    }

    /// Writes text that counts as a listing; the next text continues it.
    pub(super) fn add_counted(&mut self, text: &str) -> Result<()> {
        self.count = 1;
        self.add(text)
    }

    fn add_part(&mut self, extension: &'static str, text: String) -> Result<()> {
        if self.parts.is_empty() {
            self.extension = extension;
        }
        match &mut self.destination {
            Destination::Stdout(stdout) => {
                stdout.write_all(std::mem::take(&mut self.heading).as_bytes())?;
                stdout.write_all(text.as_bytes())?;
            }
            _ => self.parts.push(text),
        }
        Ok(())
    }

    /// Records that a selected item can't be read; the caller has reported it.
    pub(super) fn note_unread(&mut self) {
        self.outcome = Outcome::Finding;
    }

    /// Reports why a file in a batch can't be listed.
    pub(super) fn fail(&mut self, error: &anyhow::Error) {
        self.report(Outcome::message_of(error));
        self.outcome = self.outcome.and(Outcome::without_error(error));
    }

    /// Returns the results, if they were kept.
    pub(super) fn into_listing(self) -> Listing {
        let reports = if let Destination::Memory(reports) = self.destination { reports } else { Vec::new() };
        Listing { parts: self.parts, extension: self.extension, reports, outcome: self.outcome }
    }

    /// Returns standard output for further text, the result so far, and whether there was any text.
    pub(super) fn into_stdout(self) -> (Option<Stdout>, Outcome, bool) {
        let stdout = if let Destination::Stdout(stdout) = self.destination { Some(stdout) } else { None };
        (stdout, self.outcome, self.count > 0)
    }

    /// Completes the file, and returns the result.
    pub(super) fn finish(mut self, input: &Input, selection: &Selection) -> Result<Outcome> {
        self.write_pending()?;
        let path = match self.destination {
            Destination::Stdout(stdout) => {
                stdout.finish()?;
                None
            }
            Destination::File(path) => Some(path),
            Destination::Folder(_) | Destination::Memory(_) => None,
        };
        if self.count == 0 && self.outcome == Outcome::Done {
            report_nothing(input, selection);
            return Ok(Outcome::Finding);
        }
        if let Some(path) = path {
            if self.count > 1 {
                bail!("{} functions into one file: -o takes a folder for them", self.count);
            }
            let parts = self.parts.iter().map(String::as_bytes);
            write_file_of(&path, self.args.force, parts).context("can't write the listing")?;
        }
        Ok(self.outcome)
    }
}
