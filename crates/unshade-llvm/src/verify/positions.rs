//! The positions that a module states of its parts.
//!
//! | record | is |
//! |---|---|
//! | `VSTOFFSET [words]` | where the module's symbol table is |
//! | `FNENTRY [function, words, …]` of the symbol table | where the body of a function is |
//! | `INDEX_OFFSET [low, high]` of metadata | bits from its end to `INDEX` |
//! | `INDEX [bits…]` of metadata | where nodes and values are, each from the one before; the first from the end of `INDEX_OFFSET` |
//!
//! Words count from one word before the module's identification block, which is where the stream starts if the module is
//! its first. A reader that is lazy goes by these positions; others do not look at them.
//!
//! Knowledge: LLVM's `BitcodeWriter.cpp` and `BitcodeReader.cpp` (3.8 to 19).

use crate::bitstream::{Cursor, Entry, Record};
use crate::blocks;
use crate::metadata::code::{INDEX, INDEX_OFFSET};
use crate::metadata;
use crate::module::Module;
use crate::module::code::{HASH, VSTOFFSET};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};

pub(crate) const FNENTRY: u32 = 3;

/// The bits before the position that a function's body is read from: the ids of its abbreviation and of the block.
const BEFORE_BODY: usize = 11;

/// A position that the file states, and where it does so.
#[derive(Clone, Copy)]
struct Stated {
    words: u64,
    offset: u64,
}

/// Checks all positions of a module. What can't be read is the business of other checks.
pub(super) fn check(module: &Module<'_>, diagnostics: &mut Diagnostics) {
    let mut found = Found::default();
    let _ = found.read(module, diagnostics);
    if let (Some(stated), Some(position)) = (found.symbol_table, found.symbol_table_position) {
        compare(module, "VSTOFFSET", stated, position, diagnostics);
    }
    if found.symbol_table.is_some() && found.symbol_table_position.is_none() {
        let offset = found.symbol_table.map_or(0, |stated| stated.offset);
        let error = Error::new(ErrorKind::BadValue, offset, "VSTOFFSET of a module without a symbol table");
        diagnostics.error("bitcode-offset", error);
    }
    let mut listed = 0usize;
    for (value, stated) in &found.functions {
        let function = module.function_of(*value).and_then(|index| module.functions.get(index));
        match function.and_then(|function| function.body) {
            Some(position) => {
                listed = listed.saturating_add(1);
                compare(module, "FNENTRY", *stated, position.saturating_sub(BEFORE_BODY), diagnostics);
            }
            None => {
                let message = "FNENTRY of a function that has no body";
                let error = Error::new(ErrorKind::BadValue, stated.offset, message).found(format!("value {value}"));
                diagnostics.error("bitcode-offset", error);
            }
        }
    }
    let bodies = module.functions.iter().filter(|function| function.body.is_some()).count();
    if found.symbol_table.is_some() && listed < bodies {
        let offset = found.symbol_table.map_or(0, |stated| stated.offset);
        let error = Error::new(ErrorKind::BadValue, offset, "functions without an FNENTRY")
            .expected(format!("{bodies}"))
            .found(format!("{listed}"));
        diagnostics.error("bitcode-offset", error);
    }
}

/// Compares a position in words with the bit at which the thing is.
fn compare(module: &Module<'_>, name: &'static str, stated: Stated, position: usize, diagnostics: &mut Diagnostics) {
    let words = position.saturating_sub(module.start).checked_div(32).unwrap_or(0).saturating_add(1);
    if stated.words != words as u64 {
        let error = Error::new(ErrorKind::OutOfRange, stated.offset, format!("{name} is not where it says"))
            .expected(format!("word {words}"))
            .found(format!("{}", stated.words))
            .hint("a reader that loads functions on demand fails");
        diagnostics.error("bitcode-offset", error);
    }
}

/// What a module states, and what is there.
#[derive(Default)]
struct Found {
    symbol_table: Option<Stated>,
    symbol_table_position: Option<usize>,
    /// Functions by the number of their value.
    functions: Vec<(u64, Stated)>,
}

impl Found {
    fn read(&mut self, module: &Module<'_>, diagnostics: &mut Diagnostics) -> Result<()> {
        let mut cursor = module.cursor_at_module();
        cursor.enter_block(blocks::MODULE)?;
        let mut record = Record::default();
        loop {
            match cursor.advance_entry()? {
                Entry::EndBlock => return Ok(()),
                Entry::Block(blocks::BLOCKINFO) => cursor.read_block_info()?,
                Entry::Block(blocks::VALUE_SYMTAB) => {
                    self.symbol_table_position = Some(cursor.block_position());
                    cursor.for_records(blocks::VALUE_SYMTAB, |_, record| {
                        if let (FNENTRY, &[value, words, ..]) = (record.code, record.values.as_slice()) {
                            self.functions.push((value, Stated { words, offset: record.offset }));
                        }
                        Ok(())
                    })?;
                }
                Entry::Block(blocks::METADATA) => index(&mut cursor, diagnostics)?,
                Entry::Block(_) => cursor.skip_block()?,
                Entry::Record(id) => {
                    cursor.read_record(id, &mut record)?;
                    if let (VSTOFFSET, &[words, ..]) = (record.code, record.values.as_slice()) {
                        self.symbol_table = Some(Stated { words, offset: record.offset });
                    }
                }
            }
        }
    }
}

/// Reads a block of metadata and checks its index, if it has one.
fn index(cursor: &mut Cursor<'_>, diagnostics: &mut Diagnostics) -> Result<()> {
    cursor.enter_block(blocks::METADATA)?;
    let mut record = Record::default();
    let mut entries = Vec::new();
    // The end of the offset's record, and the position that it states.
    let mut stated = None;
    loop {
        let id = match cursor.advance_entry()? {
            Entry::EndBlock => return Ok(()),
            Entry::Block(_) => {
                cursor.skip_block()?;
                continue;
            }
            Entry::Record(id) => id,
        };
        let position = cursor.record_position();
        cursor.read_record(id, &mut record)?;
        match (record.code, record.values.as_slice()) {
            (INDEX_OFFSET, &[low, high]) => {
                let end = cursor.position();
                let distance = usize::try_from(low.wrapping_add(high << 32)).unwrap_or(usize::MAX);
                stated = Some((end, end.saturating_add(distance)));
                entries.clear();
            }
            (INDEX, distances) => {
                if let Err(error) = compare_index(&record, distances, position, stated, &entries) {
                    diagnostics.error("bitcode-offset", error);
                }
            }
            (code, _) if stated.is_some() && metadata::is_entry(code) => {
                entries.push(position);
            }
            _ => {}
        }
    }
}

fn compare_index(
    record: &Record,
    distances: &[u64],
    position: usize,
    stated: Option<(usize, usize)>,
    entries: &[usize],
) -> Result<()> {
    let wrong = |message: &'static str| Error::new(ErrorKind::OutOfRange, record.offset, message);
    let Some((mut at, index)) = stated else {
        return Err(wrong("INDEX of metadata without an INDEX_OFFSET"));
    };
    if index != position {
        return Err(wrong("INDEX_OFFSET of metadata does not lead to INDEX")
            .expected(format!("bit {position}"))
            .found(format!("{index}")));
    }
    if distances.len() != entries.len() {
        return Err(wrong("INDEX of metadata has another number of entries")
            .expected(format!("{}", entries.len()))
            .found(format!("{}", distances.len())));
    }
    for (number, (distance, entry)) in distances.iter().zip(entries).enumerate() {
        at = at.saturating_add(usize::try_from(*distance).unwrap_or(usize::MAX));
        if at != *entry {
            return Err(wrong("INDEX of metadata does not lead to an entry")
                .expected(format!("bit {entry} for entry {number}"))
                .found(format!("{at}")));
        }
    }
    Ok(())
}

/// What the hash of a module is of, besides names: its block from after the header up to the record of the hash, in whole
/// words. With it comes the file offset of the hash.
pub(super) fn hashed<'a>(module: &Module<'a>) -> Option<(&'a [u8], u64)> {
    let mut cursor = module.cursor_at_module();
    cursor.enter_block(blocks::MODULE).ok()?;
    let start = cursor.position() >> 3;
    let mut record = Record::default();
    loop {
        match cursor.advance_entry().ok()? {
            Entry::EndBlock => return None,
            Entry::Block(blocks::BLOCKINFO) => cursor.read_block_info().ok()?,
            Entry::Block(_) => cursor.skip_block().ok()?,
            Entry::Record(id) => {
                let end = (cursor.record_position() >> 5).saturating_mul(4);
                cursor.read_record(id, &mut record).ok()?;
                if record.code == HASH {
                    return Some((cursor.data().get(start..end)?, record.offset));
                }
            }
        }
    }
}
