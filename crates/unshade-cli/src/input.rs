//! What is read: files, standard input, folders of captures, and the programs inside of them.
//!
//! An argument is a path, `-`, or a path with `!` and the way to one program inside of it, as printed by `list` and
//! `scan`. A file whose own name holds a `!` is taken as that file first.

use crate::paint;
use anyhow::{Context, Result, bail};
use memmap2::Mmap;
use std::fs::File;
use std::io::Read;
use std::ops::{ControlFlow, Deref};
use std::path::Path;
use unshade::carve::{self, Find, Limits, Selector};
use unshade::core::Diagnostics;

/// Standard input longer than this is refused.
const MAX_STDIN: u64 = 4 << 30;

/// Files below this size are read rather than mapped: a mapping costs more than the copy.
const MAP_FROM: u64 = 256 << 10;

/// The bytes of an input.
pub(crate) enum Bytes {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Bytes {
    /// Opens a regular file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            bail!("is a folder; `unshade scan` looks into folders");
        }
        if metadata.is_file() && metadata.len() == 0 {
            // Also what the system shows as files, of which some never end.
            return Ok(Self::Read(Vec::new()));
        }
        if !metadata.is_file() || metadata.len() < MAP_FROM {
            return read(file, metadata.len());
        }
        Self::map(&file)
    }

    #[expect(unsafe_code, reason = "a file can only be mapped by an unsafe call")]
    fn map(file: &File) -> Result<Self> {
        // SAFETY: the map is read-only and private to this process. If somebody else cuts the file off meanwhile, the
        // system ends the program with a signal, as it does every program that maps files; bytes that change under us
        // are as hostile as any, and every reader checks what it reads where it reads it.
        Ok(Self::Mapped(unsafe { Mmap::map(file)? }))
    }
}

/// Reads all that there is, which is about as much as `expected`.
fn read(source: impl Read, expected: u64) -> Result<Bytes> {
    // With room for a byte more the end is found without growing.
    let expected = usize::try_from(expected.min(MAP_FROM)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(expected + 1);
    source.take(MAX_STDIN).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == MAX_STDIN {
        bail!("longer than {}", paint::bytes(MAX_STDIN));
    }
    Ok(Bytes::Read(bytes))
}

/// An input could be read, but holds nothing that was looked for: exit status 1 rather than 2.
#[derive(Debug)]
pub(crate) struct NothingFound(String);

impl std::fmt::Display for NothingFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NothingFound {}

/// An input that was opened.
pub(crate) struct Input {
    /// As it was given, without the part that selects a program.
    pub(crate) name: String,
    source: Source,
    selector: Option<Selector>,
}

enum Source {
    File(Bytes),
    /// The two files of an Xcode capture.
    Capture {
        index: Bytes,
        store: Bytes,
    },
}

impl Input {
    /// Opens what an argument names.
    pub(crate) fn open(argument: &str) -> Result<Self> {
        if argument == "-" {
            let source = Source::File(read(std::io::stdin().lock(), 0).context("can't read standard input")?);
            return Ok(Self { name: "standard input".into(), source, selector: None });
        }
        let (path, selector) = split_argument(argument);
        let selector = selector.map(Selector::parse).transpose().with_context(|| argument.to_owned())?;
        let source = open_source(Path::new(path)).with_context(|| format!("can't read {path}"))?;
        Ok(Self { name: path.to_owned(), source, selector })
    }

    /// Opens a path as it is, with nothing in it that selects.
    pub(crate) fn open_path(path: &Path) -> Result<Self> {
        Ok(Self { name: path.to_string_lossy().into_owned(), source: open_source(path)?, selector: None })
    }

    /// The bytes of the file; of a capture those of its store.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.source {
            Source::File(bytes) => bytes,
            Source::Capture { store, .. } => store,
        }
    }

    /// Says that all that was selected will be read: a whole file is mapped at once rather than page by page.
    pub(crate) fn will_be_read(&self) {
        #[cfg(target_os = "linux")]
        if let (Source::File(Bytes::Mapped(map)), None) = (&self.source, &self.selector) {
            // Older systems can't, and nothing is lost.
            let _ = map.advise(memmap2::Advice::PopulateRead);
        }
    }

    /// Visits every program that the argument means, in file order.
    pub(crate) fn programs(
        &self,
        limits: &Limits,
        visit: &mut dyn FnMut(Find<'_>) -> ControlFlow<()>,
    ) -> Diagnostics {
        let name = self.name.as_bytes();
        // A selector means one program, so that whether to go on after it does not matter.
        match (&self.source, &self.selector) {
            (Source::Capture { index, store }, None) => {
                carve::carve_gputrace(index, store, name, limits, visit)
            }
            (Source::Capture { index, store }, Some(selector)) => {
                carve::carve_gputrace_selected(index, store, name, selector, limits, &mut |find| {
                    let _ = visit(find);
                })
            }
            (Source::File(bytes), None) => carve::carve(bytes, name, limits, visit),
            (Source::File(bytes), Some(selector)) => {
                carve::carve_selected(bytes, name, selector, limits, &mut |find| {
                    let _ = visit(find);
                })
            }
        }
    }

    /// Visits the programs and prints what is odd about the file on standard error. Fails if there is no program.
    pub(crate) fn each_program(
        &self,
        limits: &Limits,
        visit: impl FnMut(&Find<'_>) -> Result<()>,
    ) -> Result<Diagnostics> {
        let mut diagnostics = Diagnostics::new();
        let result = self.each_program_untold(limits, &mut diagnostics, visit);
        for diagnostic in &diagnostics {
            anstream::eprintln!("{}", paint::diagnostic(&self.name, diagnostic));
        }
        result.map(|()| diagnostics)
    }

    /// Visits the programs, and prints nothing: what is odd about the file goes to `diagnostics`.
    pub(crate) fn each_program_untold(
        &self,
        limits: &Limits,
        diagnostics: &mut Diagnostics,
        mut visit: impl FnMut(&Find<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut result = Ok(());
        let mut count = 0u64;
        diagnostics.append(self.programs(limits, &mut |find| {
            count += 1;
            result = visit(&find);
            if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }));
        result?;
        if count == 0 {
            match &self.selector {
                Some(selector) => {
                    bail!(NothingFound(format!(
                        "{}: no program at {selector}; `unshade list` shows them",
                        self.name
                    )))
                }
                None => bail!(NothingFound(format!("{}: {}", self.name, self.without_programs()))),
            }
        }
        Ok(())
    }

    /// What to say of a file that holds no GPU program.
    fn without_programs(&self) -> String {
        format!(
            "no GPU program in it: {}, {}",
            unshade::format::detect(self.bytes()),
            paint::bytes(self.bytes().len() as u64)
        )
    }
}

/// Whether an argument names something that is there: a file, a folder, or a program inside of a file.
pub(crate) fn is_there(argument: &str) -> bool {
    let (path, selector) = split_argument(argument);
    selector.is_some() || Path::new(path).exists()
}

/// Whether a path is a folder of files: an Xcode capture is a folder, too, but one input.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() && path.extension().is_none_or(|extension| extension != "gputrace")
}

/// Splits `file!inside` at the first `!` that leaves the name of something that is there.
fn split_argument(argument: &str) -> (&str, Option<&str>) {
    if Path::new(argument).exists() {
        return (argument, None);
    }
    // `file@0x40` selects a program that has no name, only a place.
    let places = argument.match_indices(['!', '@']).map(|(place, separator)| (place, separator == "!"));
    for (place, is_step) in places {
        let (path, rest) = argument.split_at(place);
        if !path.is_empty() && Path::new(path).exists() {
            return (path, Some(if is_step { &rest[1..] } else { rest }));
        }
    }
    (argument, None)
}

fn open_source(path: &Path) -> Result<Source> {
    if path.extension().is_some_and(|extension| extension == "gputrace") && path.is_dir() {
        let part = |name| Bytes::open(&path.join(name)).with_context(|| format!("no Xcode capture: {name}"));
        return Ok(Source::Capture {
            index: part(carve::GPUTRACE_INDEX)?,
            store: part(carve::GPUTRACE_STORE)?,
        });
    }
    Bytes::open(path).map(Source::File)
}
