//! Maps decoded entities to the byte ranges of the file that they were decoded from.
//!
//! The readers keep no positions, because few callers need them; a source map walks over the records a second
//! time. Records are not aligned to bytes. The range of a record goes from the byte that holds the first bit of
//! its abbreviation id to the byte that holds its last bit, so the ranges of adjacent records may share a byte.
//! Offsets count from the start of the file, whose `base` was given to [`Module::parse`].
//!
//! The walk relies on an invariant of the readers: every record of a kind is the next entry of its table, valid or
//! not. If the number of records differs from that of the entries, the ranges of the table are empty rather than
//! wrong.
//!
//! | entity | range |
//! |---|---|
//! | source file name, data layout, triple | their records in the module's block |
//! | global, function, alias | its declaration in the module's block |
//! | type | its record in the type table, without the record of its name |
//! | constant | its record in a constants block |
//! | node or value of metadata, named metadata | its record; all strings share one record, and have empty ranges |
//! | instruction | its record, without the records of its source location and operand bundles |

use crate::bitstream::{Cursor, Entry, Record};
use crate::blocks;
use crate::body::FunctionBody;
use crate::body_reader;
use crate::constants;
use crate::ids::{MetadataId, TypeId, ValueId};
use crate::metadata;
use crate::module::{self, Module, ModuleProperty};
use crate::types;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::Result;

/// Byte ranges of the records of a module.
///
/// ```
/// use unshade_llvm::source_map::SourceMap;
/// # let bytes = include_bytes!("../tests/fixtures/air_like.bc");
/// let module = unshade_llvm::Module::parse(bytes, 0x1000)?;
/// let function = module.functions.iter().position(|function| !function.declaration).unwrap();
/// let body = module.body(function)?;
///
/// let mut map = SourceMap::new(&module);
/// map.add(&module, &body);
/// let first = map.instruction(function as u32, 0);
/// assert!(first.start > 0x1000 && !first.is_empty());
/// # Ok::<(), unshade_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    properties: [Range<u64>; 3],
    values: Vec<Range<u64>>,
    types: Vec<Range<u64>>,
    metadata: Vec<Range<u64>>,
    named: Vec<Range<u64>>,
    bodies: Vec<BodyMap>,
}

/// Byte ranges of the records of a body.
#[derive(Clone, Debug, Default)]
struct BodyMap {
    function: u32,
    instructions: Vec<Range<u64>>,
    metadata_base: u32,
    metadata: Vec<Range<u64>>,
}

/// Returns the range of an entry of a table; empty if it is not known.
fn at(table: &[Range<u64>], index: usize) -> Range<u64> {
    table.get(index).cloned().unwrap_or_default()
}

/// Clears a table of ranges whose length differs from the number of entries.
fn checked(mut table: Vec<Range<u64>>, entries: usize) -> Vec<Range<u64>> {
    if table.len() != entries {
        table.clear();
    }
    table
}

impl SourceMap {
    /// Maps a module without its bodies.
    pub fn new(module: &Module<'_>) -> Self {
        let mut map = Self::default();
        // The ranges of records before the damage in a stream are kept.
        let _ = map.read_module(module);
        map.values = checked(map.values, module.values.len());
        map.metadata = checked(map.metadata, module.metadata.len());
        map.named = checked(map.named, module.named_metadata.len());
        // Types that no record lists follow those of the file.
        map.types.truncate(module.types.len());
        map
    }

    /// Maps a body.
    pub fn add(&mut self, module: &Module<'_>, body: &FunctionBody) {
        let at = self.bodies.partition_point(|other| other.function < body.function);
        self.bodies.insert(at, BodyMap::new(module, body));
    }

    /// Returns the range of a property of the module; empty if it is not stored.
    pub fn property(&self, property: ModuleProperty) -> Range<u64> {
        at(&self.properties, property as usize)
    }

    /// Returns the range of a symbol or constant of the module.
    pub fn value(&self, id: ValueId) -> Range<u64> {
        at(&self.values, id.index())
    }

    /// Returns the range of a type.
    pub fn ty(&self, id: TypeId) -> Range<u64> {
        at(&self.types, id.index())
    }

    /// Returns the range of named metadata, by index.
    pub fn named(&self, index: usize) -> Range<u64> {
        at(&self.named, index)
    }

    /// Returns the range of metadata of the module, or of a function.
    pub fn metadata(&self, function: u32, id: MetadataId) -> Range<u64> {
        match self.body(function).and_then(|body| Some((body, id.0.checked_sub(body.metadata_base)?))) {
            Some((body, index)) => at(&body.metadata, index as usize),
            None => at(&self.metadata, id.index()),
        }
    }

    /// Returns the range of an instruction of a function, by its index in the body.
    pub fn instruction(&self, function: u32, index: u32) -> Range<u64> {
        self.body(function).map_or(0..0, |body| at(&body.instructions, index as usize))
    }

    fn body(&self, function: u32) -> Option<&BodyMap> {
        let at = self.bodies.binary_search_by_key(&function, |body| body.function).ok()?;
        self.bodies.get(at)
    }

    fn read_module(&mut self, module: &Module<'_>) -> Result<()> {
        let mut cursor = module.cursor_at_module();
        walk(&mut cursor, blocks::MODULE, &mut |cursor, visit| match visit {
            Visit::Block(blocks::BLOCKINFO) => cursor.read_block_info(),
            Visit::Block(blocks::TYPE_NEW) => {
                map_entries(cursor, blocks::TYPE_NEW, types::is_entry, &mut self.types)
            }
            Visit::Block(blocks::CONSTANTS) => {
                map_entries(cursor, blocks::CONSTANTS, constants::is_entry, &mut self.values)
            }
            Visit::Block(blocks::METADATA) => read_metadata(cursor, &mut self.metadata, &mut self.named),
            Visit::Block(_) => cursor.skip_block(),
            Visit::Record(record, range) => {
                match module::RecordKind::of(record.code) {
                    module::RecordKind::Symbol => self.values.push(range),
                    module::RecordKind::Property(property) => {
                        if let Some(slot) = self.properties.get_mut(property as usize) {
                            *slot = range;
                        }
                    }
                    module::RecordKind::Other => {}
                }
                Ok(())
            }
        })
    }
}

impl BodyMap {
    fn new(module: &Module<'_>, body: &FunctionBody) -> Self {
        let metadata_base = body.metadata.base();
        let mut map = Self { function: body.function, metadata_base, ..Self::default() };
        let position = module.functions.get(body.function as usize).and_then(|function| function.body);
        if let Some(position) = position {
            // As in the body, only the records before the damage in a stream are mapped.
            let _ = map.read(module.cursor_at(position), body);
        }
        map.metadata = checked(map.metadata, body.metadata.len());
        map
    }

    fn read(&mut self, mut cursor: Cursor<'_>, body: &FunctionBody) -> Result<()> {
        let mut named = Vec::new();
        walk(&mut cursor, blocks::FUNCTION, &mut |cursor, visit| match visit {
            Visit::Block(blocks::METADATA) => read_metadata(cursor, &mut self.metadata, &mut named),
            Visit::Block(_) => cursor.skip_block(),
            Visit::Record(record, range) => {
                if body_reader::is_instruction(record.code) {
                    self.add_instructions(body, &range);
                }
                Ok(())
            }
        })
    }

    /// Maps the instructions of a record. An old record may have become several instructions, of which only the
    /// last has a number in the file.
    fn add_instructions(&mut self, body: &FunctionBody, range: &Range<u64>) {
        while let Some(instruction) = body.instructions.get(self.instructions.len()) {
            self.instructions.push(range.clone());
            let result = instruction.result;
            if !result.is_some() || result.0 < FunctionBody::UNNUMBERED {
                break;
            }
        }
    }
}

fn read_metadata(
    cursor: &mut Cursor<'_>,
    entries: &mut Vec<Range<u64>>,
    named: &mut Vec<Range<u64>>,
) -> Result<()> {
    walk(cursor, blocks::METADATA, &mut |cursor, visit| match visit {
        Visit::Block(_) => cursor.skip_block(),
        Visit::Record(record, range) => {
            match record.code {
                metadata::code::STRINGS => {
                    // The length of a string takes at least six bits.
                    let most = record.blob.len().saturating_mul(8) / 6;
                    let count = record.values.first().and_then(|&count| usize::try_from(count).ok()).unwrap_or(0);
                    entries.resize(entries.len().saturating_add(count.min(most)), 0..0);
                }
                metadata::code::NAMED_NODE => named.push(range),
                code if metadata::is_entry(code) => entries.push(range),
                _ => {}
            }
            Ok(())
        }
    })
}

/// Appends the ranges of those records of a block that are entries of a table.
fn map_entries(
    cursor: &mut Cursor<'_>,
    block: u32,
    is_entry: fn(u32) -> bool,
    table: &mut Vec<Range<u64>>,
) -> Result<()> {
    walk(cursor, block, &mut |cursor, visit| match visit {
        Visit::Block(_) => cursor.skip_block(),
        Visit::Record(record, range) => {
            if is_entry(record.code) {
                table.push(range);
            }
            Ok(())
        }
    })
}

/// What a walk over a block visits.
enum Visit<'r> {
    /// A nested block, to be entered or skipped.
    Block(u32),
    /// A record and its range.
    Record(&'r Record, Range<u64>),
}

/// Enters a block and calls `take` for each of its records and nested blocks.
fn walk<'a>(
    cursor: &mut Cursor<'a>,
    block: u32,
    take: &mut dyn FnMut(&mut Cursor<'a>, Visit<'_>) -> Result<()>,
) -> Result<()> {
    cursor.enter_block(block)?;
    let mut record = Record::default();
    loop {
        match cursor.advance_entry()? {
            Entry::EndBlock => return Ok(()),
            Entry::Block(block) => take(cursor, Visit::Block(block))?,
            Entry::Record(id) => {
                let start = cursor.item_offset();
                cursor.read_record(id, &mut record)?;
                take(cursor, Visit::Record(&record, start..cursor.end_offset()))?;
            }
        }
    }
}
