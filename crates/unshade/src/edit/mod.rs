//! Edits programs: renames and removes functions, replaces code by assembly, changes fields, strips, sets targets.
//!
//! [`apply`] makes one [`Edit`] of a program and returns the new program; what it renews by itself (hashes, digests,
//! sizes) is in its notes. The command line uses the modules below directly, because it makes several edits at once.
//!
//! | module | edits |
//! |---|---|
//! | `library` | Metal libraries |
//! | `container` | DirectX containers |
//! | `token_program` | token programs of Direct3D, from their listings |
//! | `machine_code` | NVIDIA machine code, from its listings |
//! | `text` | programs and functions, from their listings or YAML |
//!
//! ```
//! use unshade::edit::{Edit, apply};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/metallib/vertex_fragment.metallib");
//! let bytes = std::fs::read(path)?;
//! let edited = apply(&bytes, 0, &Edit::Rename { old: "corner".into(), new: "vertex_main".into() })?;
//! let library = unshade::metallib::Library::parse(&edited.bytes)?;
//! assert!(library.functions().any(|function| function.is_ok_and(|one| one.name == Some(b"vertex_main"))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod container;
pub mod library;
pub mod machine_code;
mod text;
pub mod token_program;

use crate::bitcode_edit::{BitcodeEdit, Rename};
use crate::format::{Format, Kind, detect};
use crate::load_check::Target;
use crate::retarget;
use serde::{Deserialize, Serialize};
use std::fmt;
use unshade_core::{Error, ErrorKind};
use unshade_dxcontainer::DxFile;
use unshade_llvm::bitstream;
use unshade_metallib::LibraryFile;

/// The maximum number of faults of a text that are reported.
const MAX_FAULTS: usize = 200;

/// A change of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Edit {
    /// Renames a function and its symbol, or a symbol.
    Rename {
        /// The function (a name, `/regular expression/` or `#index`), or the symbol.
        old: String,
        /// The new name.
        new: String,
    },
    /// Removes functions of a Metal library, or parts of a DirectX container.
    Remove {
        /// Functions (names, `/regular expressions/`, `#index`), or the names of parts.
        names: Vec<String>,
    },
    /// Removes what is optional.
    Strip {
        /// What.
        what: Stripped,
    },
    /// Replaces a function, or the program of a container, by its listing after changes.
    Text {
        /// The function, of a Metal library. A listing of machine code names its own.
        #[serde(default)]
        function: Option<String>,
        /// The listing, as `dis` prints it.
        text: String,
    },
    /// Replaces the program by its YAML after changes.
    Yaml {
        /// The document.
        text: String,
    },
    /// Overwrites bytes.
    Bytes {
        /// The offset of the first, counted as ranges are.
        offset: u64,
        /// Two hex digits for each.
        bytes: String,
    },
    /// Sets the OS that a Metal library or AIR module is for.
    Target {
        /// Such as `macos-14.0`.
        os: String,
    },
    /// Computes the digest of a DirectX container.
    Sign,
}

/// What is optional in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stripped {
    /// Debug information of bitcode, source paths and lines of a Metal library, debug parts of a DirectX container.
    Debug,
    /// Reflection.
    Reflection,
    /// Private metadata or data.
    Private,
    /// Embedded sources.
    Sources,
    /// Root signatures.
    RootSignature,
}

/// A program after an edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edited {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What was renewed besides, or is lost: sentences without a full stop.
    pub notes: Vec<String>,
}

impl Edited {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, notes: Vec::new() }
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// A fault in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFault {
    /// The line, from 1; 0 if the fault has no line.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// Why an edit is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing of that name.
    NotFound(String),
    /// The text has faults.
    Text(Vec<TextFault>),
    /// It is not possible.
    Impossible(Error),
}

impl Refusal {
    /// Returns a refusal that no place in the file has caused.
    pub fn new(message: impl Into<String>) -> Self {
        Self::Impossible(Error::without_offset(ErrorKind::Unsupported, message.into()))
    }

    /// Names what the refusal is about, such as a file.
    #[must_use]
    pub fn within(self, name: &str) -> Self {
        match self {
            Self::Impossible(error) => Self::Impossible(error.within(name.to_owned())),
            other => other,
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Impossible(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(message) => f.write_str(message),
            Self::Impossible(error) => error.fmt(f),
            Self::Text(faults) => {
                let lines = faults
                    .iter()
                    .map(|TextFault { line, column, message }| format!("{line}:{column}: {message}"));
                f.write_str(&lines.collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Returns the kinds of edits that a format takes, by their words in JSON.
pub fn kinds(format: Format) -> &'static [&'static str] {
    match format {
        Format::MetalLibrary => &["text", "rename", "remove", "bytes", "yaml", "strip", "target"],
        Format::DxContainer => &["text", "rename", "remove", "bytes", "yaml", "strip", "sign"],
        Format::Bitcode => &["text", "rename", "bytes", "strip", "target"],
        Format::Cubin | Format::Direct3d9 => &["text", "bytes"],
        _ => &["bytes"],
    }
}

/// Makes an edit of a program whose first byte has the offset `base`.
///
/// # Errors
/// The format is not edited in this way, or the edit is not possible.
pub fn apply(program: &[u8], base: u64, edit: &Edit) -> Result<Edited, Refusal> {
    match edit {
        Edit::Bytes { offset, bytes } => return overwrite(program, base, *offset, bytes),
        Edit::Yaml { text } => return text::from_yaml(text),
        Edit::Text { function, text } => return text::replace(program, base, function.as_deref(), text),
        _ => {}
    }
    match detect(program) {
        Kind::Program(Format::MetalLibrary) => of_library(program, edit),
        Kind::Program(Format::DxContainer) => of_container(program, edit),
        _ if bitstream::locate(program, base).is_ok() => of_bitcode(program, base, edit),
        _ => Err(not_edited()),
    }
}

fn not_edited() -> Refusal {
    Refusal::new("a program of this format is not edited in this way")
}

fn of_library(program: &[u8], edit: &Edit) -> Result<Edited, Refusal> {
    let mut file = LibraryFile::parse(program)?;
    let mut notes = Vec::new();
    match edit {
        Edit::Rename { old, new } => notes.extend(library::rename(&mut file, old, new)?),
        Edit::Remove { names } => {
            library::choose(&mut file, &[], names)?;
        }
        Edit::Strip { what } => library::strip(&mut file, *what)?,
        Edit::Target { os } => {
            let target: Target = os.parse().map_err(Refusal::new)?;
            let version = file.header.version();
            if !retarget::library(&mut file, target)?.header_has_version {
                notes.push(format!("a container of {version} says no more than whether it is for macOS"));
            }
        }
        _ => return Err(not_edited()),
    }
    library::written(file, notes)
}

fn of_container(program: &[u8], edit: &Edit) -> Result<Edited, Refusal> {
    let mut file = DxFile::parse(program)?;
    let mut notes = Vec::new();
    match edit {
        Edit::Rename { old, new } => {
            let changes = renamed(old, new).container(&mut file)?;
            ensure_renamed(old, &changes.renamed)?;
            notes.extend(
                changes.keeps_hash.then(|| "HASH includes the source, and stays as it is".to_owned()),
            );
        }
        Edit::Remove { names } => container::remove(&mut file, names)?,
        Edit::Strip { what } => {
            container::strip(&mut file, *what)?;
        }
        Edit::Sign => {}
        _ => return Err(not_edited()),
    }
    notes.push("the digest is renewed".into());
    Ok(Edited { bytes: file.write_signed()?, notes })
}

fn of_bitcode(program: &[u8], base: u64, edit: &Edit) -> Result<Edited, Refusal> {
    match edit {
        Edit::Rename { old, new } => {
            let edited = renamed(old, new).module(program, base)?;
            ensure_renamed(old, &edited.changes.renamed)?;
            let in_assembly = "assembly of the module mentions the old name, and keeps it";
            let done = Edited::new(edited.bytes);
            Ok(if edited.changes.in_assembly { done.note(in_assembly) } else { done })
        }
        Edit::Strip { what: Stripped::Debug } => {
            let edit = BitcodeEdit { strip_debug: true, ..BitcodeEdit::default() };
            Ok(Edited::new(edit.module(program, base)?.bytes))
        }
        Edit::Target { os } => {
            let target: Target = os.parse().map_err(Refusal::new)?;
            Ok(Edited::new(retarget::bitcode(&BitcodeEdit::default(), program, base, target)?.bytes))
        }
        _ => Err(not_edited()),
    }
}

fn renamed(old: &str, new: &str) -> BitcodeEdit {
    BitcodeEdit { renames: vec![Rename::new(old, new)], ..BitcodeEdit::default() }
}

/// Fails if a rename found no symbol.
fn ensure_renamed(old: &str, counts: &[u64]) -> Result<(), Refusal> {
    match counts.first() {
        Some(0) | None => Err(Refusal::NotFound(format!("no symbol {old}"))),
        Some(_) => Ok(()),
    }
}

/// Overwrites bytes. The digest of a DirectX container and the hashes of a Metal library's modules are renewed, if they
/// matched and are not what is overwritten.
fn overwrite(program: &[u8], base: u64, offset: u64, digits: &str) -> Result<Edited, Refusal> {
    let new = bytes_of(digits).ok_or_else(|| Refusal::new("bytes are two hex digits each"))?;
    let outside = || {
        let end = base.saturating_add(program.len() as u64);
        Refusal::new(format!("bytes at {offset:#x} are outside of the program, {base:#x}..{end:#x}"))
    };
    let start = offset.checked_sub(base).and_then(|start| usize::try_from(start).ok()).ok_or_else(outside)?;
    let end = start.checked_add(new.len()).ok_or_else(outside)?;
    let mut bytes = program.to_vec();
    bytes.get_mut(start..end).ok_or_else(outside)?.copy_from_slice(&new);
    match detect(program) {
        Kind::Program(Format::DxContainer) => Ok(container::renewed(program, bytes, start..end)),
        Kind::Program(Format::MetalLibrary) => library::renewed(program, bytes, start..end),
        _ => Ok(Edited::new(bytes)),
    }
}

/// Reads hex digits, with white space between bytes.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let value = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(value(*high)? << 4 | value(*low)?).ok(),
        _ => None,
    });
    pairs.collect::<Option<Vec<u8>>>().filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests;
