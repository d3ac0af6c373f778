//! SDBG: debug information of compilers up to June 2010, with files and the line of each instruction. The variables
//! have a format of their own and are ignored.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | size of this header, 0x54; offsets are from its end |
//! | 4, 8, 12 | u32 | compiler, entry point, profile, as offsets of strings |
//! | 16 | u32 | compiler flags |
//! | 20, 24 | u32 | number of files, their offset |
//! | 28, 32 | u32 | number of instructions, their offset |
//! | 52, 56 | u32 | number of symbols, their offset |
//! | 80 | u32 | offset of the strings |
//! | file | 4 × u32 | name and its length, contents and their length |
//! | instruction | 396 bytes | at 372 u32 symbol |
//! | symbol | 5 × u32 | file, line, column, length and offset of the name |
//!
//! Declarations do not count as instructions.
//!
//! Source: RenderDoc's `dxbc_sdbg.h`.

use super::{CopyBudget, DebugInfo, Lines, SourceFile, SourceLine};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Reader, Result};

const HEADER: u32 = 0x54;
const FILE: u64 = 16;
const INSTRUCTION: u64 = 396;
const SYMBOL_OF_INSTRUCTION: u64 = 372;
const SYMBOL: u64 = 20;

impl DebugInfo {
    /// Parses an SDBG part.
    ///
    /// # Errors
    /// Fails if its header or lists are invalid.
    pub fn read_sdbg(data: Reader<'_>) -> Result<Self> {
        let mut reader = data;
        let size = reader.u32()?;
        if size != HEADER {
            let error = Error::new(ErrorKind::BadValue, data.offset(), "wrong size of the SDBG header");
            return Err(error.expected(format!("{HEADER}")).found(format!("{size}")));
        }
        let part = SdbgPart { data };
        let texts = u64::from(part.field(80)?).saturating_add(HEADER.into());
        let mut info = Self::default();
        let mut budget = CopyBudget::of(data.data());
        for mut file in part.list(20, FILE)? {
            let mut text = || -> Result<Option<Vec<u8>>> {
                let (start, size) = (file.u32()?, file.u32()?);
                Ok(budget.copy(data.part(texts.saturating_add(start.into()), size.into())?.data()))
            };
            info.files.push(SourceFile { name: text()?.unwrap_or_default(), text: text()? });
        }
        let symbols = part.list(52, SYMBOL)?;
        let lines = part.list(28, INSTRUCTION)?.into_iter().map(|mut instruction| {
            instruction.skip(SYMBOL_OF_INSTRUCTION).ok()?;
            let number = usize::try_from(instruction.u32().ok()?).ok()?;
            let mut symbol = *symbols.get(number)?;
            let (file, line) = (symbol.u32().ok()?, symbol.u32().ok()?);
            Some(SourceLine { file: usize::try_from(file).ok()?, line })
                .filter(|source_line| source_line.line > 0)
        });
        info.lines = Lines::ByNumber(lines.collect());
        Ok(info)
    }
}

struct SdbgPart<'a> {
    data: Reader<'a>,
}

impl<'a> SdbgPart<'a> {
    fn field(&self, offset: u64) -> Result<u32> {
        self.data.part(offset, 4)?.u32()
    }

    /// Returns the entries of a list whose count and offset are in the header.
    fn list(&self, field: u64, size: u64) -> Result<Vec<Reader<'a>>> {
        let (count, start) = (self.field(field)?, self.field(field.saturating_add(4))?);
        let start = u64::from(start).saturating_add(HEADER.into());
        let mut list = self.data.part(start, u64::from(count).saturating_mul(size))?;
        (0..count).map(|_| list.split(size)).collect()
    }
}
