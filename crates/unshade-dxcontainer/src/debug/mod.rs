//! Debug information of FXC for token programs: source files, the line of each instruction, and the registers that
//! hold each variable.
//!
//! | module | part |
//! |---|---|
//! | `spdb` | SPDB, a program database: streams, source files |
//! | `symbols` | its symbols and lines |
//! | `types` | its types, which give the names of variable components |
//! | `sdbg` | SDBG, of older compilers: lines |
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
use core::fmt;
use core::ops::Range;
use unshade_core::Escaped;

/// The debug information of a token program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugInfo {
    /// The source files.
    pub files: Vec<SourceFile>,
    /// The lines of instructions.
    pub lines: Lines,
    /// The locations of variables, in the order of the symbols.
    pub locations: Vec<Location>,
    /// The code of each inlined call, indexed by [`Location::scope`]: ascending byte ranges of the part that do not
    /// touch.
    pub scopes: Vec<Vec<Range<u32>>>,
    /// Offset of the entry point's code in the part, in bytes.
    pub entry: Option<u32>,
}

/// A source file.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name, as passed to the compiler.
    pub name: Vec<u8>,
    /// Its text, if available.
    pub text: Option<Vec<u8>>,
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceFile")
            .field("name", &format_args!("{}", Escaped(&self.name)))
            .field("size", &self.text.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

/// A line of a source file, starting at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Index into the source files.
    pub file: usize,
    /// The line.
    pub line: u32,
}

impl DebugInfo {
    /// Returns whether a variable is in scope at an instruction, given by its offset in the program's part.
    pub fn is_in_scope(&self, location: &Location, instruction: u32) -> bool {
        let Some(scope) = location.scope else { return true };
        let Some(ranges) = self.scopes.get(scope) else { return false };
        let after = ranges.partition_point(|range| range.start <= instruction);
        let before = after.checked_sub(1).and_then(|index| ranges.get(index));
        before.is_some_and(|range| range.contains(&instruction))
    }
}

/// The lines of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lines {
    /// By byte offset in the program's part.
    ByOffset(BTreeMap<u32, SourceLine>),
    /// By instruction number, declarations not counted.
    ByNumber(Vec<Option<SourceLine>>),
}

impl Default for Lines {
    fn default() -> Self {
        Self::ByOffset(BTreeMap::new())
    }
}

/// A variable or a component of one, its register, and where it becomes valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Byte offsets in the program's part from which it is valid: the ends of the instructions that write it.
    pub starts: Vec<u32>,
    /// For variables of an inlined function, the index into [`DebugInfo::scopes`].
    pub scope: Option<usize>,
    /// The kind of register, as an operand kind.
    pub register_kind: u16,
    /// The indices of the register, innermost first; the innermost one in bytes.
    pub indices: Vec<u32>,
    /// The name of the variable and the selected component.
    pub name: String,
    /// FXC's message in place of the rest of a name that the types do not give.
    pub fault: Option<&'static str>,
}

/// A budget for budget from a part: hostile tables may refer to the same bytes many times.
struct CopyBudget {
    bytes_left: usize,
}

impl CopyBudget {
    /// Allows budget of four times the size of the part.
    fn of(part: &[u8]) -> Self {
        Self { bytes_left: part.len().saturating_mul(4) }
    }

    fn copy(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.bytes_left = self.bytes_left.checked_sub(bytes.len())?;
        Some(bytes.to_vec())
    }
}
