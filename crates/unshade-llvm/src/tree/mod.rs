//! A bitcode file as a tree that can be changed and written: wrapper, streams, blocks, definitions of abbreviations, records.
//!
//! [`Tree::read`] keeps everything that the bits of a file say. Where a writer has a choice, the tree has what it chose: the
//! width of a block's abbreviation ids, the abbreviation of each record, padding. What no writer that takes the shortest form
//! would have written (a number in more groups than it takes, padding that isn't zero) is kept as the bits of the file until
//! its item is changed. So [`Tree::write`] returns the file, to the byte.
//!
//! The tree knows blocks and records, not what they mean. [`Tree::renew_positions`] computes what a module states of where
//! its parts are, after records have changed.
//!
//! Knowledge: LLVM's *Bitcode File Format* manual.
//!
//! ```
//! use unshade_llvm::tree::Tree;
//!
//! # let bytes = include_bytes!("../../tests/fixtures/air_like.bc");
//! let mut tree = Tree::read(bytes, 0)?;
//! assert_eq!(tree.write()?, bytes);
//!
//! // The target triple is record 2 of block 8.
//! let module = tree.blocks_mut().find(|block| block.id == 8).expect("a module");
//! let (index, _) = module.records().find(|(_, record)| record.code == 2).expect("a triple");
//! let triple: Vec<u64> = b"air64-apple-macosx14.0.0".iter().map(|byte| u64::from(*byte)).collect();
//! module.replace(index, 2, &triple);
//! let changed = unshade_llvm::Module::parse(&tree.write()?, 0)?.triple.to_vec();
//! assert_eq!(changed, b"air64-apple-macosx14.0.0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod hash;
mod names;
mod nodes;
mod operands;
mod patch;
mod positions;
mod read;
mod rename;
mod strip;
mod triple;
pub(crate) mod write;

pub use patch::{Patch, PatchedOperand};
pub use rename::Renamed;
pub use strip::Stripped;

use crate::bitstream::{BitWriter, Scalar, Tail};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// The abbreviation id of a record without an abbreviation.
pub const UNABBREVIATED: u32 = 3;

/// The code of a record whose abbreviation has no place for one.
pub const NO_CODE: u32 = u32::MAX;

/// A bitcode file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its parts, in file order.
    pub parts: Vec<Part>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Darwin's wrapper and what is in it.
    Wrapper(Wrapper),
    /// A stream: the magic number and blocks.
    Stream(Stream),
    /// Bytes outside of streams, such as padding.
    Bytes(Vec<u8>),
}

/// Darwin's wrapper: a header of five words before a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// The version of the wrapper, 0.
    pub version: u32,
    /// The offset of the stream, from the start of the header.
    pub offset: u32,
    /// The stated size, if it is larger than that of the content.
    pub size: Option<u32>,
    /// The CPU type of Mach-O.
    pub cpu_type: u32,
    /// What follows the header. Bytes before `offset` are a part of their own.
    pub content: Vec<Part>,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// A block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its id.
    pub id: u32,
    /// The number of bits of the abbreviation ids in it.
    pub width: u32,
    /// Its items, in order.
    pub items: Vec<Item>,
    /// The stated size in words, if it isn't that of the items.
    pub words: Option<u32>,
    /// The operands of all its records, one after another. Records that were replaced leave theirs behind.
    operands: Vec<u64>,
    /// Its header up to the size, if it isn't in its shortest form.
    header: Option<Box<Bits>>,
    /// Its end, if the padding isn't zero.
    end: Option<Box<Bits>>,
}

/// An item of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A block.
    Block(Box<Block>),
    /// A definition of an abbreviation. In `BLOCKINFO` it is one of the block that the last `SETBID` names.
    Definition(Box<Definition>),
    /// A record: see [`Block::record`].
    Record(RecordItem),
}

/// A definition of an abbreviation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The operands that are one number each. The first is the code.
    pub scalars: Vec<Scalar>,
    /// What follows them.
    pub tail: Tail,
    spelling: Option<Box<Bits>>,
}

/// A record as an item: its operands are in its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordItem {
    abbreviation: u32,
    code: u32,
    start: u32,
    count: u32,
    blob: Option<Box<[u8]>>,
    spelling: Option<Box<RecordBits>>,
}

/// A record of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'t> {
    /// The id of its abbreviation, or [`UNABBREVIATED`].
    pub abbreviation: u32,
    /// Its code; [`NO_CODE`] if its abbreviation has none.
    pub code: u32,
    /// The operands.
    pub operands: &'t [u64],
    /// The bytes of its blob, if its abbreviation ends with one.
    pub blob: Option<&'t [u8]>,
}

/// Bits of a file that aren't in their shortest form.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
    /// Where they began, modulo 32 bits: alignment depends on it.
    phase: usize,
    /// The number of bits of the abbreviation id that they begin with.
    width: u32,
}

/// Bits of a record, and what they mean: its abbreviation may be another one after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RecordBits {
    bits: Bits,
    abbreviation: Option<(Vec<Scalar>, Tail)>,
}

impl Tree {
    /// Returns the blocks of all streams.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        streams(&self.parts).into_iter().flat_map(|stream| &stream.blocks)
    }

    /// Returns the blocks of all streams, to be changed.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        streams_mut(&mut self.parts).into_iter().flat_map(|stream| &mut stream.blocks)
    }
}

/// Returns the streams among parts. A wrapper holds no other wrapper.
fn streams(parts: &[Part]) -> Vec<&Stream> {
    let mut found = Vec::new();
    for part in parts {
        match part {
            Part::Wrapper(wrapper) => found.extend(streams(&wrapper.content)),
            Part::Stream(stream) => found.push(stream),
            Part::Bytes(_) => {}
        }
    }
    found
}

fn streams_mut(parts: &mut [Part]) -> Vec<&mut Stream> {
    let mut found = Vec::new();
    for part in parts {
        match part {
            Part::Wrapper(wrapper) => found.extend(streams_mut(&mut wrapper.content)),
            Part::Stream(stream) => found.push(stream),
            Part::Bytes(_) => {}
        }
    }
    found
}

impl Block {
    /// Creates a block without items. `width` is the number of bits of the abbreviation ids in it, 2 to 32.
    pub fn new(id: u32, width: u32) -> Self {
        Self { id, width, ..Self::default() }
    }

    /// Returns the record that is the item of this index, if it is one.
    pub fn record(&self, index: usize) -> Option<Record<'_>> {
        match self.items.get(index)? {
            Item::Record(item) => Some(self.record_of(item)),
            _ => None,
        }
    }

    fn record_of<'t>(&'t self, item: &'t RecordItem) -> Record<'t> {
        let start = item.start as usize;
        let operands = self.operands.get(start..start.saturating_add(item.count as usize)).unwrap_or_default();
        Record { abbreviation: item.abbreviation, code: item.code, operands, blob: item.blob.as_deref() }
    }

    /// Returns its records, each with the index of the item.
    pub fn records(&self) -> impl Iterator<Item = (usize, Record<'_>)> {
        self.items.iter().enumerate().filter_map(|(index, item)| match item {
            Item::Record(item) => Some((index, self.record_of(item))),
            _ => None,
        })
    }

    /// Returns the blocks directly in it.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.items.iter().filter_map(|item| match item {
            Item::Block(block) => Some(&**block),
            _ => None,
        })
    }

    /// Returns the blocks directly in it, to be changed.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.items.iter_mut().filter_map(|item| match item {
            Item::Block(block) => Some(&mut **block),
            _ => None,
        })
    }

    /// Appends a record.
    pub fn push(&mut self, abbreviation: u32, code: u32, operands: &[u64]) {
        let item = self.item(abbreviation, code, operands);
        self.items.push(Item::Record(item));
    }

    /// Inserts a record before the item of this index, or at the end if there is none.
    pub fn insert(&mut self, index: usize, abbreviation: u32, code: u32, operands: &[u64]) {
        let item = self.item(abbreviation, code, operands);
        self.items.insert(index.min(self.items.len()), Item::Record(item));
    }

    /// Replaces the code and the operands of the record that is the item of this index. It keeps its abbreviation as far as
    /// the operands fit, and its blob. Returns whether the item is a record.
    pub fn replace(&mut self, index: usize, code: u32, operands: &[u64]) -> bool {
        let Some(record) = self.record(index) else { return false };
        let mut item = self.item(record.abbreviation, code, operands);
        let Some(Item::Record(place)) = self.items.get_mut(index) else { return false };
        item.blob = place.blob.take();
        *place = item;
        true
    }

    /// Replaces the blob of the record that is the item of this index. Returns whether it has one.
    pub fn replace_blob(&mut self, index: usize, bytes: &[u8]) -> bool {
        match self.items.get_mut(index) {
            Some(Item::Record(RecordItem { blob: Some(blob), spelling, .. })) => {
                *blob = bytes.into();
                *spelling = None;
                true
            }
            _ => false,
        }
    }

    /// Lets `change` change operands of a record in place. If it changes none, the record keeps its spelling. Returns what it
    /// returns.
    fn rewrite<T>(&mut self, index: usize, change: impl FnOnce(&mut [u64]) -> T) -> Option<T> {
        let Some(Item::Record(item)) = self.items.get_mut(index) else { return None };
        let start = item.start as usize;
        let operands = self.operands.get_mut(start..start.saturating_add(item.count as usize))?;
        let Some(spelling) = item.spelling.take() else { return Some(change(operands)) };
        let before = operands.to_vec();
        let result = change(operands);
        if operands == before {
            item.spelling = Some(spelling);
        }
        Some(result)
    }

    /// Removes items, given by their indices.
    fn remove(&mut self, indices: &[usize]) {
        if indices.is_empty() {
            return;
        }
        let removed: BTreeSet<usize> = indices.iter().copied().collect();
        let mut index = 0..;
        self.items.retain(|_| index.next().is_none_or(|index| !removed.contains(&index)));
    }

    fn item(&mut self, abbreviation: u32, code: u32, operands: &[u64]) -> RecordItem {
        let start = position(self.operands.len());
        self.operands.extend_from_slice(operands);
        RecordItem { abbreviation, code, start, count: position(operands.len()), blob: None, spelling: None }
    }
}

/// A position among the operands of a block, of which there are fewer than 2³²: each takes a bit of the file, or counts against
/// a limit.
fn position(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

impl Definition {
    /// Creates a definition. The first scalar is the code of the records.
    pub fn new(scalars: Vec<Scalar>, tail: Tail) -> Self {
        Self { scalars, tail, spelling: None }
    }
}

impl Bits {
    /// Appends the bits, if they still begin where they did and with an id of the same width. Returns whether it did.
    fn write(&self, to: &mut BitWriter, width: u32) -> bool {
        let fits = to.position() & 31 == self.phase && width == self.width;
        if fits {
            to.bits(&self.bytes, self.count);
        }
        fits
    }
}
