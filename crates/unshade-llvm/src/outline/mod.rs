//! The outline of a bitcode file: what every bit of it is.
//!
//! | field | made of |
//! |---|---|
//! | `wrapper header` | magic, version, offset, size, CPU type of Darwin's wrapper |
//! | `magic` | `BC C0 DE`, the start of a stream |
//! | a block, such as `MODULE_BLOCK` | `ENTER_SUBBLOCK`, its items, `END_BLOCK` |
//! | `ENTER_SUBBLOCK` | abbreviation id, block id, width of ids in the block, padding, length in words |
//! | `DEFINE_ABBREV` | abbreviation id, count, and for each operand its encoding and width |
//! | a record, such as `INST_CALL` | abbreviation id, code, count, operands `op0` to `opN`, array, blob |
//! | `END_BLOCK` | abbreviation id, padding |
//! | `padding` | zeros between wrapper and stream, or after the last block |
//! | `unknown` | whatever can't be read, with a finding that says why |
//!
//! A block's value is its id, that of a record its code. Names are those of `llvm-bcanalyzer`, and [`Analyzer`] prints an
//! outline the way it does. Ranges are in bits ([`Field::bits`]); literal operands take none. A file may hold any number
//! of streams, and a stream any number of modules.
//!
//! The walk keeps no tree: memory grows with the abbreviations that the file defines, and blocks nest at most
//! [`MAX_DEPTH`] deep. A fault ends the block that it is in, whose rest is `unknown`; the walk goes on after the block.

mod analyzer;
mod record;
mod walk;

pub use analyzer::Analyzer;

use crate::bitstream::{MAGIC, WRAPPER_MAGIC, WRAPPER_SIZE};
use alloc::collections::BTreeMap;
use core::ops::Range;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Diagnostics, Error, ErrorKind, Field, OutlineSink, Reader, Value};
use walk::Walk;

/// Maximum depth of nested blocks: LLVM's own writers reach four.
pub const MAX_DEPTH: usize = crate::bitstream::Cursor::MAX_DEPTH;

/// The rule of findings about the structure of a stream.
const RULE: &str = "bitcode-stream";

/// What is in a file: its streams, and its blocks by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Number of streams: of magic numbers.
    pub streams: u64,
    /// Blocks by their id.
    pub blocks: BTreeMap<u32, BlockContents>,
    /// Blocks and records that have no name: at most [`Contents::MAX_UNKNOWN`] kinds of them.
    pub unknown: BTreeMap<UnknownKind, Unknown>,
}

impl Contents {
    /// Maximum number of kinds of unknown blocks and records that are counted.
    pub const MAX_UNKNOWN: usize = 256;

    /// Counts a block or record that has no name.
    fn add_unknown(&mut self, kind: UnknownKind, offset: u64) {
        if self.unknown.len() < Self::MAX_UNKNOWN || self.unknown.contains_key(&kind) {
            let unknown = self.unknown.entry(kind).or_insert(Unknown { offset, count: 0 });
            unknown.count = unknown.count.saturating_add(1);
        }
    }
}

/// A kind of block or record that has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownKind {
    /// The id of the block.
    pub block: u32,
    /// The code of the record; nothing for the block itself.
    pub code: Option<u32>,
}

/// Where unknown blocks or records of a kind are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The file offset of the first one.
    pub offset: u64,
    /// How many there are.
    pub count: u64,
}

/// What the blocks of one id hold, all of them together, without the blocks inside of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockContents {
    /// Number of blocks of this id.
    pub instances: u64,
    /// Number of blocks directly inside of them.
    pub sub_blocks: u64,
    /// Number of abbreviations that they define; those of `BLOCKINFO` count there.
    pub abbreviations: u64,
    /// Number of records.
    pub records: u64,
    /// Number of records that are written with an abbreviation.
    pub abbreviated_records: u64,
}

/// Emits the outline of the bytes of a reader, and counts what is in them.
///
/// ```
/// use unshade_core::outline::{Coverage, TreeBuilder};
/// use unshade_core::{Diagnostics, Reader};
///
/// # let bytes = include_bytes!("../../tests/fixtures/air_like.bc");
/// let mut tree = TreeBuilder::default();
/// let contents = unshade_llvm::outline::bitcode(Reader::new(bytes), &mut tree, &mut Diagnostics::new());
/// assert_eq!(contents.blocks[&12].instances, 1);
///
/// let module = &tree.finish()[3];
/// assert_eq!((module.name.as_str(), module.value.as_str()), ("MODULE_BLOCK", "8"));
/// assert_eq!(module.children[1].name, "VERSION");
/// ```
pub fn bitcode(data: Reader<'_>, sink: &mut dyn OutlineSink, diagnostics: &mut Diagnostics) -> Contents {
    let bytes = data.rest();
    let budget = bytes.len().saturating_mul(8);
    let mut file =
        File { bytes, base: data.offset(), sink, diagnostics, contents: Contents::default(), budget };
    file.emit();
    file.contents
}

/// Counts what is in the bytes of a reader.
///
/// ```
/// # let bytes = include_bytes!("../../tests/fixtures/two_modules.bc");
/// let contents = unshade_llvm::outline::contents(unshade_core::Reader::new(bytes));
/// assert_eq!(contents.blocks[&8].instances, 2);
/// ```
pub fn contents(data: Reader<'_>) -> Contents {
    contents_with(data, &mut Diagnostics::new())
}

/// As [`contents`], with what is wrong.
pub(crate) fn contents_with(data: Reader<'_>, diagnostics: &mut Diagnostics) -> Contents {
    bitcode(data, &mut Nothing, diagnostics)
}

/// Takes no field.
struct Nothing;

impl OutlineSink for Nothing {
    fn open(&mut self, _: Field<'_>) {}

    fn close(&mut self) {}

    fn wants_inside(&self) -> bool {
        false
    }
}

/// A file that is walked over.
struct File<'a, 's> {
    bytes: &'a [u8],
    base: u64,
    sink: &'s mut dyn OutlineSink,
    diagnostics: &'s mut Diagnostics,
    contents: Contents,
    /// Number of operands of no bits that may still be emitted.
    budget: usize,
}

impl<'a> File<'a, '_> {
    fn emit(&mut self) {
        let mut at = 0;
        // Where the content of the wrapper ends; the end of the file outside of one.
        let mut limit = self.bytes.len();
        while at < self.bytes.len() {
            if at >= limit {
                limit = self.bytes.len();
            }
            let rest = self.slice(at..limit);
            if limit == self.bytes.len() && rest.starts_with(&WRAPPER_MAGIC) && rest.len() >= WRAPPER_SIZE {
                (at, limit) = self.wrapper(at);
            } else if rest.starts_with(&MAGIC) {
                at = self.stream(at, limit);
            } else {
                at = self.between(at, limit);
            }
        }
    }

    fn slice(&self, range: Range<usize>) -> &'a [u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    fn range(&self, range: Range<usize>) -> Range<u64> {
        let offset = |at: usize| self.base.saturating_add(at as u64);
        offset(range.start)..offset(range.end)
    }

    /// The header of a wrapper; returns where its content starts and ends.
    fn wrapper(&mut self, at: usize) -> (usize, usize) {
        let end = at.saturating_add(WRAPPER_SIZE);
        self.sink.open(Field::group("wrapper header", self.range(at..end)));
        let mut words = [0u32; 5];
        for ((word, name), index) in words.iter_mut().zip(["magic", "version", "offset", "size", "CPU type"]).zip(0..) {
            let start = at.saturating_add(4usize.saturating_mul(index));
            let range = start..start.saturating_add(4);
            *word = self.slice(range.clone()).first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            let value = if name == "version" { Value::Number((*word).into()) } else { Value::Hex((*word).into()) };
            let field = Field::new(name, value, self.range(range));
            self.sink.leaf(if name == "CPU type" { field.meaning(cpu_type(*word)) } else { field });
        }
        self.sink.close();
        let [_, _, offset, size, _] = words;
        let offset = at.saturating_add(usize::try_from(offset).unwrap_or(usize::MAX));
        let limit = offset.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        let length = self.bytes.len();
        if offset < end || offset > length || limit > length {
            let place = self.base.saturating_add(at as u64).saturating_add(8);
            let message = "the wrapper's content is not inside of the file";
            let found = alloc::format!("{:#x}..{:#x}", offset.saturating_sub(at), limit.saturating_sub(at));
            let expected = alloc::format!("a range in {WRAPPER_SIZE:#x}..{:#x}", length.saturating_sub(at));
            let error = Error::new(ErrorKind::OutOfRange, place, message).expected(expected).found(found);
            self.diagnostics.error("bitcode-wrapper", error);
        }
        if offset < end || offset > length {
            return (end, length);
        }
        if offset > end {
            self.between(end, offset);
        }
        (offset, limit.min(length))
    }

    /// Bytes outside of streams: zeros are padding, others are unknown. Returns where they end.
    fn between(&mut self, at: usize, limit: usize) -> usize {
        let rest = self.slice(at..limit);
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        if zeros > 0 {
            let end = at.saturating_add(zeros);
            self.sink.leaf(Field::new("padding", Value::None, self.range(at..end)));
            return end;
        }
        let range = self.range(at..limit);
        let error = Error::new(ErrorKind::BadValue, range.start, "bytes that are no bitcode").found(alloc::format!(
            "{} bytes", rest.len()
        ));
        self.diagnostics.warning("bitcode-trailing", error);
        self.sink.leaf(Field::new(UNKNOWN, Value::Bytes(rest), range));
        limit
    }

    /// A stream; returns where its last block ends.
    fn stream(&mut self, at: usize, limit: usize) -> usize {
        self.contents.streams = self.contents.streams.saturating_add(1);
        let end = at.saturating_add(MAGIC.len());
        self.sink.leaf(Field::new("magic", Value::Bytes(&MAGIC), self.range(at..end)));
        let base = self.base.saturating_add(at as u64);
        let stream = self.slice(at..limit);
        let walk = Walk::new(
            stream,
            base,
            &mut *self.sink,
            self.diagnostics,
            &mut self.contents,
            &mut self.budget,
        );
        at.saturating_add(walk.blocks()).clamp(end, limit)
    }
}

/// The names of Mach-O's CPU types.
pub(crate) fn cpu_type(number: u32) -> &'static str {
    match number {
        7 => "x86",
        0x0100_0007 => "x86-64",
        12 => "ARM",
        0x0100_000C => "ARM64",
        18 => "PowerPC",
        0x0100_0012 => "PowerPC 64",
        u32::MAX => "any",
        _ => "",
    }
}
