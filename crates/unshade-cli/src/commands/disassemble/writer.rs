//! Where texts of functions go: standard output, a file, or a folder with a file for each.

use super::modules::tell_no_match;
use crate::Outcome;
use crate::args::DisassembleArgs;
use crate::input::Input;
use crate::large_text::LargeText;
use crate::output::{Folder, Stdout, write_file_of};
use crate::paint;
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use std::io::Write;
use std::path::PathBuf;
use unshade::core::Diagnostics;
use unshade::disassembly::Unit;
use unshade::safe_path::SafePaths;

/// How many files are written together.
const PENDING: usize = 256;

/// What came of a module, and what was found wrong with it.
pub(super) struct Made<T> {
    pub(super) content: T,
    pub(super) diagnostics: Diagnostics,
}

/// The text of a module.
pub(super) enum Text {
    Plain(String),
    Large(LargeText),
}

impl Text {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Plain(text) => text.as_bytes(),
            Self::Large(text) => text.as_bytes(),
        }
    }
}

/// Where texts go.
pub(super) struct Writer<'a> {
    args: &'a DisassembleArgs,
    /// What the names of files in a folder end with.
    extension: &'static str,
    /// Whether texts may hold colour.
    pub(super) in_color: bool,
    stdout: Stdout,
    folder: Option<Folder>,
    paths: SafePaths,
    /// What goes into files of the folder and is not written yet: threads write many at a time.
    pending: Vec<(PathBuf, Text)>,
    /// What goes into one file, in parts.
    parts: Vec<Text>,
    count: u64,
    outcome: Outcome,
}

impl<'a> Writer<'a> {
    pub(super) fn new(args: &'a DisassembleArgs, extension: &'static str, page: bool) -> Result<Self> {
        let folder = match &args.output {
            Some(path) if path.extension().is_none() => Some(Folder::create(path, args.force)?),
            _ => None,
        };
        Ok(Self {
            args,
            extension,
            in_color: args.output.is_none() && paint::stdout_has_color(),
            stdout: Stdout::new(page && args.output.is_none()),
            folder,
            paths: SafePaths::default(),
            pending: Vec::new(),
            parts: Vec::new(),
            count: 0,
            outcome: Outcome::Done,
        })
    }

    /// Whether every text goes into a file of its own.
    pub(super) fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// What came of a module of a file, or nothing if it could not be read. Tells what was found wrong with it, on
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
                anstream::eprintln!("{}: {file}: {error}", paint::error("unshade"));
                self.outcome = Outcome::Finding;
                return None;
            }
        };
        let name = unit.name();
        let label = if name == file { name } else { format!("{file}: {name}") };
        for diagnostic in &made.diagnostics {
            anstream::eprintln!("{}", paint::diagnostic(&label, diagnostic));
        }
        Some(made.content)
    }

    /// Writes the text of a module.
    pub(super) fn write(&mut self, unit: &Unit<'_>, text: Text) -> Result<()> {
        self.write_named(&unit.name(), text)
    }

    /// Writes the text of something that has a name.
    pub(super) fn write_named(&mut self, name: &str, text: Text) -> Result<()> {
        self.count += 1;
        if self.folder.is_some() {
            let path = self.paths.flat(name.as_bytes(), self.extension);
            self.pending.push((path.path, text));
            return if self.pending.len() < PENDING { Ok(()) } else { self.write_pending() };
        }
        let is_apart = self.count > 1 && !self.args.raw && self.args.cfg.is_none();
        self.add(if is_apart { "\n" } else { "" })?;
        self.add_part(text)
    }

    /// Writes the listings of so many functions, which have no modules.
    pub(super) fn write_listing(&mut self, name: &str, functions: usize, text: String) -> Result<()> {
        if functions == 0 {
            return Ok(());
        }
        // Into one file goes one program, however many functions it has.
        self.count += 1;
        if self.folder.is_some() {
            let path = self.paths.flat(name.as_bytes(), ".sass");
            self.pending.push((path.path, Text::Plain(text)));
            return Ok(());
        }
        self.add_part(Text::Plain(text))
    }

    fn write_pending(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        match &self.folder {
            Some(folder) => {
                pending.par_iter().try_for_each(|(path, text)| folder.write_flat(path, text.as_bytes()))
            }
            None => Ok(()),
        }
    }

    /// Writes text that belongs to no module.
    pub(super) fn add(&mut self, text: &str) -> Result<()> {
        if text.is_empty() { Ok(()) } else { self.add_part(Text::Plain(text.to_owned())) }
    }

    /// Writes text of something that was meant, which goes on in what is written next.
    pub(super) fn add_counted(&mut self, text: &str) -> Result<()> {
        self.count = 1;
        self.add(text)
    }

    fn add_part(&mut self, text: Text) -> Result<()> {
        if self.args.output.is_some() {
            self.parts.push(text);
            return Ok(());
        }
        Ok(self.stdout.write_all(text.as_bytes())?)
    }

    /// Something that was meant can't be read, which was told.
    pub(super) fn note_unread(&mut self) {
        self.outcome = Outcome::Finding;
    }

    /// Completes the file, and says how all went.
    pub(super) fn finish(mut self, input: &Input) -> Result<Outcome> {
        self.write_pending()?;
        self.stdout.finish()?;
        if self.count == 0 && self.outcome == Outcome::Done {
            tell_no_match(input);
            return Ok(Outcome::Finding);
        }
        if let (Some(path), None) = (&self.args.output, &self.folder) {
            if self.count > 1 {
                bail!("{} functions into one file: -o takes a folder for them", self.count);
            }
            let parts = self.parts.iter().map(Text::as_bytes);
            write_file_of(path, self.args.force, parts).context("can't write the listing")?;
        }
        Ok(self.outcome)
    }
}
