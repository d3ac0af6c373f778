//! Where in the file things were decoded from.
//!
//! Reading keeps no positions, as few ask for them: whoever does walks over the records once more. Records are not
//! aligned to bytes. The range of a record goes from the byte that holds the first bit of its abbreviation number to
//! the byte that holds its last bit, so the ranges of neighbours may share a byte. Offsets are those of the file, as
//! told to [`Module::parse`].
//!
//! The walk relies on what the readers do: every record of a kind is the next entry of its table, sound or not. Where
//! the numbers don't add up in the end, a table's ranges are empty rather than wrong.
//!
//! | thing | record |
//! |---|---|
//! | source file name, data layout, triple | their records in the module's block |
//! | global, function, alias | its declaration in the module's block |
//! | type | its record in the table of types, without that of its name |
//! | constant | its record among constants |
//! | node or value of metadata, named metadata | its record; strings share one, and have none of their own |
//! | instruction | its record; source locations and operand bundles stand in records of their own |

use crate::bitstream::{Cursor, Entry, Record};
use crate::blocks;
use crate::body::FunctionBody;
use crate::body_reader;
use crate::constants;
use crate::ids::{MetadataId, TypeId, ValueId};
use crate::metadata;
use crate::module::{self, Module};
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
    settings: [Range<u64>; 3],
    values: Vec<Range<u64>>,
    types: Vec<Range<u64>>,
    metadata: Vec<Range<u64>>,
    named: Vec<Range<u64>>,
    bodies: Vec<BodyMap>,
}

/// What a module says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The name of the source file.
    SourceFilename,
    /// The data layout.
    DataLayout,
    /// The target triple.
    Triple,
}

/// Byte ranges of the records of a body.
#[derive(Clone, Debug, Default)]
struct BodyMap {
    function: u32,
    instructions: Vec<Range<u64>>,
    metadata_base: u32,
    metadata: Vec<Range<u64>>,
}

/// The range at a place of a table; empty if nothing is known.
fn at(table: &[Range<u64>], index: usize) -> Range<u64> {
    table.get(index).cloned().unwrap_or_default()
}

/// Forgets ranges that can't be those of the entries of a table.
fn checked(mut table: Vec<Range<u64>>, entries: usize) -> Vec<Range<u64>> {
    if table.len() != entries {
        table.clear();
    }
    table
}

impl SourceMap {
    /// Walks over a module without its bodies.
    pub fn new(module: &Module<'_>) -> Self {
        let mut map = Self::default();
        // What a damaged stream holds before the damage is known by then.
        let _ = map.read_module(module);
        map.values = checked(map.values, module.values.len());
        map.metadata = checked(map.metadata, module.metadata.len());
        map.named = checked(map.named, module.named_metadata.len());
        // Types that no record lists follow those that the file has.
        map.types.truncate(module.types.len());
        map
    }

    /// Walks over a body.
    pub fn add(&mut self, module: &Module<'_>, body: &FunctionBody) {
        let at = self.bodies.partition_point(|other| other.function < body.function);
        self.bodies.insert(at, BodyMap::new(module, body));
    }

    /// The record of one of the module's own words; empty if there is none.
    pub fn setting(&self, setting: Setting) -> Range<u64> {
        at(&self.settings, setting as usize)
    }

    /// The record of a symbol or constant of the module.
    pub fn value(&self, id: ValueId) -> Range<u64> {
        at(&self.values, id.index())
    }

    /// The record of a type.
    pub fn ty(&self, id: TypeId) -> Range<u64> {
        at(&self.types, id.index())
    }

    /// The record of named metadata, by its index.
    pub fn named(&self, index: usize) -> Range<u64> {
        at(&self.named, index)
    }

    /// The record of metadata of the module, or of this function.
    pub fn metadata(&self, function: u32, id: MetadataId) -> Range<u64> {
        match self.body(function).and_then(|body| Some((body, id.0.checked_sub(body.metadata_base)?))) {
            Some((body, index)) => at(&body.metadata, index as usize),
            None => at(&self.metadata, id.index()),
        }
    }

    /// The record of an instruction of a function, by its index in the body.
    pub fn instruction(&self, function: u32, index: u32) -> Range<u64> {
        self.body(function).map_or(0..0, |body| at(&body.instructions, index as usize))
    }

    fn body(&self, function: u32) -> Option<&BodyMap> {
        let at = self.bodies.binary_search_by_key(&function, |body| body.function).ok()?;
        self.bodies.get(at)
    }

    fn read_module(&mut self, module: &Module<'_>) -> Result<()> {
        let mut cursor = module.cursor_at_module();
        walk(&mut cursor, blocks::MODULE, &mut |cursor, step| match step {
            Step::Block(blocks::BLOCKINFO) => cursor.read_block_info(),
            Step::Block(blocks::TYPE_NEW) => {
                ranges(cursor, blocks::TYPE_NEW, types::is_entry, &mut self.types)
            }
            Step::Block(blocks::CONSTANTS) => {
                ranges(cursor, blocks::CONSTANTS, constants::is_entry, &mut self.values)
            }
            Step::Block(blocks::METADATA) => read_metadata(cursor, &mut self.metadata, &mut self.named),
            Step::Block(_) => cursor.skip_block(),
            Step::Record(record, range) => {
                match module::Kind::of(record.code) {
                    module::Kind::Symbol => self.values.push(range),
                    module::Kind::Setting(setting) => {
                        if let Some(slot) = self.settings.get_mut(setting as usize) {
                            *slot = range;
                        }
                    }
                    module::Kind::Other => {}
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
            // The body was read up to the damage, and so it is here.
            let _ = map.read(module.cursor_at(position), body);
        }
        map.metadata = checked(map.metadata, body.metadata.len());
        map
    }

    fn read(&mut self, mut cursor: Cursor<'_>, body: &FunctionBody) -> Result<()> {
        let mut named = Vec::new();
        walk(&mut cursor, blocks::FUNCTION, &mut |cursor, step| match step {
            Step::Block(blocks::METADATA) => read_metadata(cursor, &mut self.metadata, &mut named),
            Step::Block(_) => cursor.skip_block(),
            Step::Record(record, range) => {
                if body_reader::is_instruction(record.code) {
                    self.add_instructions(body, &range);
                }
                Ok(())
            }
        })
    }

    /// Old forms of instructions became two, of which only the last has a number of the file.
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
    walk(cursor, blocks::METADATA, &mut |cursor, step| match step {
        Step::Block(_) => cursor.skip_block(),
        Step::Record(record, range) => {
            match record.code {
                metadata::code::STRINGS => {
                    // A string takes at least the six bits of its length.
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

/// The ranges of those records of a block that are entries of a table.
fn ranges(
    cursor: &mut Cursor<'_>,
    block: u32,
    is_entry: fn(u32) -> bool,
    table: &mut Vec<Range<u64>>,
) -> Result<()> {
    walk(cursor, block, &mut |cursor, step| match step {
        Step::Block(_) => cursor.skip_block(),
        Step::Record(record, range) => {
            if is_entry(record.code) {
                table.push(range);
            }
            Ok(())
        }
    })
}

/// What a walk comes by.
enum Step<'r> {
    /// A block that has to be entered or passed over.
    Block(u32),
    /// A record with its range.
    Record(&'r Record, Range<u64>),
}

fn walk<'a>(
    cursor: &mut Cursor<'a>,
    block: u32,
    take: &mut dyn FnMut(&mut Cursor<'a>, Step<'_>) -> Result<()>,
) -> Result<()> {
    cursor.enter_block(block)?;
    let mut record = Record::default();
    loop {
        match cursor.advance_entry()? {
            Entry::EndBlock => return Ok(()),
            Entry::Block(block) => take(cursor, Step::Block(block))?,
            Entry::Record(id) => {
                let start = cursor.item_offset();
                cursor.read_record(id, &mut record)?;
                take(cursor, Step::Record(&record, start..cursor.end_offset()))?;
            }
        }
    }
}
