//! What debug builds of FXC tell of a token program: source files, the line of each instruction, and which variable
//! stands in which register from where on.
//!
//! | module | part |
//! |---|---|
//! | `spdb` | SPDB, a program database: streams, source files |
//! | `symbols` | its symbols and lines |
//! | `types` | its types, from which the names of variables' components follow |
//! | `sdbg` | SDBG, of the compilers before: lines |
//!
//! ```
//! use unshade_core::Reader;
//! use unshade_dxcontainer::debug::DebugInfo;
//!
//! let error = DebugInfo::read_spdb(Reader::new(b"no program database")).unwrap_err();
//! assert_eq!(error.message(), "not a program database");
//! ```

mod sdbg;
mod spdb;
mod symbols;
mod types;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// What is told of a token program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugInfo {
    /// The source files.
    pub files: Vec<SourceFile>,
    /// The lines of instructions.
    pub lines: Lines,
    /// Where variables stand, in the order of the symbols.
    pub locations: Vec<Location>,
    /// The code of each function that stands in place of a call, which [`Location::scope`] counts: ranges in bytes of the
    /// part, in their order, none touching the next.
    pub scopes: Vec<Vec<Range<u32>>>,
    /// Where the code of the entry point starts, in bytes of the part.
    pub entry: Option<u32>,
}

/// A source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name, as the compiler was given it.
    pub name: Vec<u8>,
    /// Its text, where that was found.
    pub text: Option<Vec<u8>>,
}

/// The line of a source file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Which of the files.
    pub file: usize,
    /// The line.
    pub line: u32,
}

impl DebugInfo {
    /// Whether a variable belongs to the code that an instruction stands in, by its offset in the program's part.
    pub fn is_in_scope(&self, location: &Location, instruction: u32) -> bool {
        let Some(scope) = location.scope else { return true };
        let Some(ranges) = self.scopes.get(scope) else { return false };
        let after = ranges.partition_point(|range| range.start <= instruction);
        let before = after.checked_sub(1).and_then(|index| ranges.get(index));
        before.is_some_and(|range| range.contains(&instruction))
    }
}

/// The lines of instructions, by what the part names an instruction by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lines {
    /// By its offset in the program's part, in bytes.
    ByOffset(BTreeMap<u32, SourceLine>),
    /// By its number, declarations not counted.
    ByNumber(Vec<Option<SourceLine>>),
}

impl Default for Lines {
    fn default() -> Self {
        Self::ByOffset(BTreeMap::new())
    }
}

/// A variable or component of one, the register it stands in, and from where on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// From where on, in bytes of the program's part: the end of the instruction that writes it.
    pub starts: Vec<u32>,
    /// Of the variables of a function that was put in place of its call: which of [`DebugInfo::scopes`].
    pub scope: Option<usize>,
    /// The kind of register, numbered as the kinds of operands are.
    pub register_kind: u16,
    /// Where in the registers, innermost first: the first in bytes.
    pub indices: Vec<u32>,
    /// The name of the variable with what was selected of it.
    pub name: String,
    /// What FXC tells in place of the rest of a name that does not follow from the types.
    pub fault: Option<&'static str>,
}

/// What may be copied out of a part: tables may name the same bytes over and over, but not without end.
struct Copies {
    bytes_left: usize,
}

impl Copies {
    /// As much as four times the part.
    fn of(part: &[u8]) -> Self {
        Self { bytes_left: part.len().saturating_mul(4) }
    }

    fn copy(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.bytes_left = self.bytes_left.checked_sub(bytes.len())?;
        Some(bytes.to_vec())
    }
}
