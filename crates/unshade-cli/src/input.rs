//! Opens inputs: files, standard input, capture folders, and the programs inside them.
//!
//! An argument is a path, `-`, or a path with `!` and the path of one program inside it, as printed by `list` and
//! `scan`. If a file whose own name contains `!` exists, it takes precedence. Names need not be UTF-8.
//!
//! Standard input and pipes are kept in memory up to [`IN_MEMORY`] bytes; longer input goes to a temporary file.

use crate::paint;
use anyhow::{Context, Result, bail};
use memmap2::Mmap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::ops::{ControlFlow, Deref};
use std::path::Path;
use unshade::carve::{self, Find, Limits, Selector};
use unshade::core::{Diagnostics, Escaped};

/// Maximum size of standard input and pipes.
const MAX_STREAM: u64 = 64 << 30;

/// Maximum size of standard input and pipes in memory.
const IN_MEMORY: usize = 64 << 20;

/// Minimum size of files that are mapped: for smaller ones a mapping costs more than a copy.
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
            // Also files that the system provides, some of which never end.
            return Ok(Self::Read(Vec::new()));
        }
        if !metadata.is_file() || metadata.len() < MAP_FROM {
            return read(file, metadata.len());
        }
        Self::map(&file)
    }

    #[expect(unsafe_code, reason = "a file can only be mapped by an unsafe call")]
    fn map(file: &File) -> Result<Self> {
        // SAFETY: the map is read-only and private to this process. If another process truncates the file, the system
        // ends the program with a signal, as it does for every program that maps files. Bytes that change are as
        // hostile as any others, and every reader checks the bytes where it reads them.
        Ok(Self::Mapped(unsafe { Mmap::map(file)? }))
    }
}

/// Reads a stream to its end. `expected` is its approximate length.
fn read(mut source: impl Read, expected: u64) -> Result<Bytes> {
    // With room for one more byte, the end is detected without growing.
    let expected = usize::try_from(expected.min(MAP_FROM)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(expected + 1);
    source.by_ref().take(IN_MEMORY as u64).read_to_end(&mut bytes)?;
    if bytes.len() < IN_MEMORY {
        return Ok(Bytes::Read(bytes));
    }
    let mut file = tempfile::tempfile().context("can't make a temporary file for a long stream")?;
    let spool = |file: &mut File| -> std::io::Result<u64> {
        file.write_all(&bytes)?;
        std::io::copy(&mut source.take(MAX_STREAM), file)
    };
    let more = spool(&mut file).context("can't keep a long stream in a temporary file")?;
    if more == MAX_STREAM {
        bail!("longer than {}; save it as a file", paint::bytes(MAX_STREAM));
    }
    Bytes::map(&file)
}

/// An input was read but contains nothing suitable: exit status 1 rather than 2.
#[derive(Debug)]
pub(crate) struct NothingFound(pub(crate) String);

impl std::fmt::Display for NothingFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NothingFound {}

/// An open input.
pub(crate) struct Input {
    /// The argument without the part that selects a program; escaped if it is not UTF-8.
    pub(crate) name: String,
    /// The bytes of the name in hexadecimal, if it is not UTF-8.
    pub(crate) name_bytes: Option<String>,
    /// The name used in paths of programs.
    raw_name: Vec<u8>,
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
    /// Opens the input of an argument.
    pub(crate) fn open(argument: impl AsRef<OsStr>) -> Result<Self> {
        let argument = argument.as_ref();
        if argument == "-" {
            let source = Source::File(read(std::io::stdin().lock(), 0).context("can't read standard input")?);
            return Ok(Self::new(OsStr::new("standard input"), source, None));
        }
        let (path, selector) = split_argument(argument);
        let selector = selector.map(Selector::parse).transpose().with_context(|| shown(argument))?;
        let source = open_source(Path::new(path)).with_context(|| format!("can't read {}", shown(path)))?;
        Ok(Self::new(path, source, selector))
    }

    /// Opens a path without a selector.
    pub(crate) fn open_path(path: &Path) -> Result<Self> {
        Ok(Self::new(path.as_os_str(), open_source(path)?, None))
    }

    fn new(name: &OsStr, source: Source, selector: Option<Selector>) -> Self {
        let raw_name = name.as_encoded_bytes().to_vec();
        let name_bytes = name.to_str().is_none().then(|| unshade::view::hex(&raw_name));
        Self { name: shown(name), name_bytes, raw_name, source, selector }
    }

    /// Returns the bytes of the file, or of a capture's store.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.source {
            Source::File(bytes) => bytes,
            Source::Capture { store, .. } => store,
        }
    }

    /// Returns whether the argument selects a program in the file.
    pub(crate) fn has_selector(&self) -> bool {
        self.selector.is_some()
    }

    /// Announces that everything selected will be read, so that a whole file is mapped at once rather than page by
    /// page.
    pub(crate) fn will_be_read(&self) {
        #[cfg(target_os = "linux")]
        if let (Source::File(Bytes::Mapped(map)), None) = (&self.source, &self.selector) {
            // Older systems don't support this, which does no harm.
            let _ = map.advise(memmap2::Advice::PopulateRead);
        }
    }

    /// Visits every program that the argument selects, in file order.
    pub(crate) fn programs(
        &self,
        limits: &Limits,
        visit: &mut dyn FnMut(Find<'_>) -> ControlFlow<()>,
    ) -> Diagnostics {
        let name = self.raw_name.as_slice();
        // A selector selects one program, so it does not matter whether the visit continues after it.
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

    /// Visits the programs until `visit` fails; the file's diagnostics are added to `diagnostics`. Fails if there is no
    /// program.
    pub(crate) fn each_find(
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

    /// Returns a find with its bytes in the file, if they are there. Those of an unpacked member are not: they exist only
    /// during a visit.
    pub(crate) fn lasting(&self, find: &Find<'_>) -> Option<Find<'_>> {
        let start = usize::try_from(find.file_offset?).ok()?;
        let data = self.bytes().get(start..)?.get(..find.data.len())?;
        let is_there = std::ptr::eq(data, find.data) && find.options.is_none();
        is_there.then(|| Find { path: find.path.clone(), data, options: None, ..*find })
    }

    /// Returns the message for a file without a GPU program.
    pub(crate) fn without_programs(&self) -> String {
        format!(
            "no GPU program in it: {}, {}",
            unshade::format::detect(self.bytes()),
            paint::bytes(self.bytes().len() as u64)
        )
    }
}

/// Returns whether an argument names a file, a folder, or a program inside a file. A name without `.`, `/`, `!` and `@`
/// is a function; so is `/…/`, unless there is such a folder.
pub(crate) fn names_input(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    if argument == "-" {
        return true;
    }
    let (path, selector) = split_argument(argument);
    bytes.iter().any(|byte| b"./!@".contains(byte)) && (selector.is_some() || Path::new(path).exists())
}

/// Returns whether a path is a folder of files. An Xcode capture is a folder too, but one input.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() && path.extension().is_none_or(|extension| extension != "gputrace")
}

/// Returns the file of an argument, without the part that selects a program.
pub(crate) fn file_of(argument: &OsStr) -> &OsStr {
    split_argument(argument).0
}

/// Returns a name for display, escaped if it is not UTF-8.
pub(crate) fn shown(name: impl AsRef<OsStr>) -> String {
    let name = name.as_ref();
    match name.to_str() {
        Some(name) => name.to_owned(),
        None => Escaped(name.as_encoded_bytes()).to_string(),
    }
}

/// Splits `file!inside` at the first `!` after the name of an existing file.
fn split_argument(argument: &OsStr) -> (&OsStr, Option<&str>) {
    if Path::new(argument).exists() {
        return (argument, None);
    }
    let bytes = argument.as_encoded_bytes();
    // `file@0x40` selects a program without a name by its offset.
    for (place, byte) in bytes.iter().enumerate().filter(|(_, byte)| b"!@".contains(byte)) {
        let Some((path, rest)) = split_at(argument, place) else { continue };
        if !path.is_empty() && Path::new(path).exists() {
            return (path, Some(if *byte == b'!' { &rest[1..] } else { rest }));
        }
    }
    (argument, None)
}

/// Splits a name at an ASCII character, if the rest is UTF-8.
#[cfg(unix)]
fn split_at(argument: &OsStr, place: usize) -> Option<(&OsStr, &str)> {
    use std::os::unix::ffi::OsStrExt;
    let (path, rest) = argument.as_bytes().split_at_checked(place)?;
    Some((OsStr::from_bytes(path), std::str::from_utf8(rest).ok()?))
}

/// Splits a name at an ASCII character, if it is Unicode.
#[cfg(not(unix))]
fn split_at(argument: &OsStr, place: usize) -> Option<(&OsStr, &str)> {
    let (path, rest) = argument.to_str()?.split_at_checked(place)?;
    Some((OsStr::new(path), rest))
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
