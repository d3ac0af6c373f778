//! The walk over the blocks of a stream.
//!
//! What an item is made of has to be known before the field that holds it is emitted, so each item is measured first.
//! An item that can't be measured, or that reaches past its block, makes the rest of the block `unknown`.

use super::record::Measured;
use super::{BlockContents, Contents, MAX_DEPTH, RULE, UnknownKind};
use crate::analyzer_names;
use crate::bitstream::{Abbreviations, BitReader};
use crate::blocks;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Diagnostics, Error, ErrorKind, Field, OutlineSink, Value};

/// What is wrong with an item.
pub(super) type Fault = (ErrorKind, &'static str);

/// A block that is open.
struct Scope {
    block: u32,
    /// How many bits the ids of its items have.
    width: u32,
    /// Where it ends, in bits of the stream.
    limit: usize,
    /// The abbreviations that `BLOCKINFO` assigns to it: a list of [`BlockInfo`], and how many it had at the start.
    list: usize,
    inherited: usize,
    /// The abbreviations that it defined itself.
    own: Vec<u32>,
    /// In `BLOCKINFO`: the block that definitions are for.
    target: Option<u32>,
}

/// The abbreviations that `BLOCKINFO` assigns to blocks. Each `BLOCKINFO` replaces what an earlier one said, as every
/// module of a stream has its own; blocks that are open keep theirs.
#[derive(Default)]
struct BlockInfo {
    /// Numbers of definitions. Lists only grow.
    lists: Vec<Vec<u32>>,
    /// The list of each block.
    of_block: BTreeMap<u32, usize>,
}

impl BlockInfo {
    fn add(&mut self, block: u32, definition: u32) {
        let next = self.lists.len();
        let list = *self.of_block.entry(block).or_insert(next);
        if list == next {
            self.lists.push(Vec::new());
        }
        if let Some(list) = self.lists.get_mut(list) {
            list.push(definition);
        }
    }

    /// The list of a block, and its length.
    fn list(&self, block: u32) -> (usize, usize) {
        let list = self.of_block.get(&block).copied().unwrap_or(usize::MAX);
        (list, self.lists.get(list).map_or(0, Vec::len))
    }
}

/// A walk over the blocks of a stream.
pub(super) struct Walk<'a, 's> {
    pub(super) bits: BitReader<'a>,
    /// The bit of the file at which the stream starts.
    base: u64,
    sink: &'s mut dyn OutlineSink,
    diagnostics: &'s mut Diagnostics,
    contents: &'s mut Contents,
    pub(super) abbreviations: Abbreviations,
    block_info: BlockInfo,
    scopes: Vec<Scope>,
    /// How many fields are open.
    depth: usize,
    /// The depth of the field whose inside is not wanted.
    muted: Option<usize>,
    /// Where the last fault left off.
    resumed: Option<usize>,
    /// Number of operands of no bits that the file may still have: hostile arrays of them cost nothing.
    pub(super) budget: &'s mut usize,
    /// The text of the record that was measured last.
    pub(super) text: Vec<u8>,
    pub(super) name: String,
}

impl<'a, 's> Walk<'a, 's> {
    pub(super) fn new(
        stream: &'a [u8],
        base: u64,
        sink: &'s mut dyn OutlineSink,
        diagnostics: &'s mut Diagnostics,
        contents: &'s mut Contents,
        budget: &'s mut usize,
    ) -> Self {
        Self {
            bits: BitReader::new(stream, 32),
            base: base.saturating_mul(8),
            sink,
            diagnostics,
            contents,
            abbreviations: Abbreviations::default(),
            block_info: BlockInfo::default(),
            scopes: Vec::new(),
            depth: 0,
            muted: None,
            resumed: None,
            budget,
            text: Vec::new(),
            name: String::new(),
        }
    }

    /// Walks over all blocks; returns the byte of the stream after the last one.
    pub(super) fn blocks(mut self) -> usize {
        loop {
            let start = self.bits.position();
            if self.scopes.is_empty() {
                let mut ahead = self.bits;
                if ahead.remaining() < 32 || ahead.fixed57(2) != 1 {
                    return start.div_ceil(8);
                }
            }
            if let Err(fault) = self.item(start) {
                self.fault(start, fault);
                if self.scopes.is_empty() {
                    // The header of a block at the top level can't be read, so that nothing after it can be found.
                    return start.div_ceil(8);
                }
                self.give_up(start);
            }
        }
    }

    /// Where the innermost block ends.
    pub(super) fn limit(&self) -> usize {
        self.scopes.last().map_or(self.bits.data().len().saturating_mul(8), |scope| scope.limit)
    }

    /// The id of the innermost block.
    pub(super) fn block(&self) -> u32 {
        self.scopes.last().map_or(u32::MAX, |scope| scope.block)
    }

    fn counts(&mut self) -> &mut BlockContents {
        let block = self.block();
        self.contents.blocks.entry(block).or_default()
    }

    fn item(&mut self, start: usize) -> Result<(), Fault> {
        let width = self.scopes.last().map_or(2, |scope| scope.width);
        if start.saturating_add(width as usize) > self.limit() {
            return Err((ErrorKind::Truncated, "block without an END_BLOCK"));
        }
        match self.bits.fixed57(width) {
            0 => self.end_block(start),
            1 => self.enter(start),
            2 => self.define(start),
            id => self.record(start, id),
        }
    }

    /// An error if more was read than the block has.
    pub(super) fn check(&self, bits: &BitReader<'_>) -> Result<(), Fault> {
        if bits.position() > self.limit() {
            return Err((ErrorKind::Truncated, "item that reaches past the end of its block"));
        }
        Ok(())
    }

    fn fault(&mut self, start: usize, (kind, message): Fault) {
        // A block that is cut off has no end, and neither have those around it.
        if self.resumed != Some(start) {
            let offset = self.file_bits(start..start).start >> 3;
            let name = analyzer_names::any_block(self.block());
            self.diagnostics.error(RULE, Error::new(kind, offset, message).within(name));
        }
    }

    /// Leaves the innermost block, whose rest is unknown.
    fn give_up(&mut self, start: usize) {
        let limit = self.limit();
        self.unknown(start..limit);
        self.close();
        self.scopes.pop();
        self.bits.seek(limit);
        self.resumed = Some(limit);
    }

    fn unknown(&mut self, bits: Range<usize>) {
        if bits.is_empty() {
            return;
        }
        let data = self.bits.data();
        let bytes = data.get(bits.start >> 3..bits.end.div_ceil(8)).unwrap_or_default();
        self.leaf(UNKNOWN, Value::Bytes(bytes), bits);
    }

    fn end_block(&mut self, start: usize) -> Result<(), Fault> {
        let after_id = self.bits.position();
        self.bits.align();
        let limit = self.limit();
        let end = self.bits.position();
        if end > limit {
            return Err((ErrorKind::Truncated, "END_BLOCK that reaches past the end of its block"));
        }
        self.group("END_BLOCK", Value::None, "", start..end);
        self.leaf("abbreviation id", Value::Number(0), start..after_id);
        self.padding(after_id..end);
        self.close();
        if end < limit {
            self.fault(end, (ErrorKind::BadValue, "block that is shorter than its header says"));
            self.unknown(end..limit);
            self.bits.seek(limit);
        }
        self.close();
        self.scopes.pop();
        Ok(())
    }

    fn enter(&mut self, start: usize) -> Result<(), Fault> {
        let mut bits = self.bits;
        let after_id = bits.position();
        let block = bits.variable(8);
        let after_block = bits.position();
        let width = bits.variable(4);
        let after_width = bits.position();
        bits.align();
        let after_padding = bits.position();
        let words = bits.fixed(32);
        let body = bits.position();
        self.check(&bits)?;
        let Ok(id) = u32::try_from(block) else {
            return Err((ErrorKind::BadValue, "block with an impossible id"));
        };
        if !self.scopes.is_empty() {
            let counts = self.counts();
            counts.sub_blocks = counts.sub_blocks.saturating_add(1);
        }
        let claimed = body.saturating_add(usize::try_from(words).unwrap_or(usize::MAX).saturating_mul(32));
        let limit = claimed.min(self.limit());
        self.group(&analyzer_names::any_block(id), Value::Number(block), "", start..limit);
        self.group("ENTER_SUBBLOCK", Value::None, "", start..body);
        self.leaf("abbreviation id", Value::Number(1), start..after_id);
        self.leaf("block id", Value::Number(block), after_id..after_block);
        self.leaf("abbreviation id width", Value::Number(width), after_block..after_width);
        self.padding(after_width..after_padding);
        self.leaf("words", Value::Number(words), after_padding..body);
        self.close();
        self.bits = bits;
        if claimed > limit {
            self.fault(start, (ErrorKind::Truncated, "block that is longer than what it is in"));
        }
        if id == blocks::BLOCKINFO {
            self.block_info.of_block.clear();
        }
        let (list, inherited) = self.block_info.list(id);
        let width = u32::try_from(width).unwrap_or(u32::MAX);
        self.scopes.push(Scope { block: id, width, limit, list, inherited, own: Vec::new(), target: None });
        let counts = self.counts();
        counts.instances = counts.instances.saturating_add(1);
        if crate::block_name(id).is_none() {
            let offset = self.file_bits(start..start).start >> 3;
            self.contents.add_unknown(UnknownKind { block: id, code: None }, offset);
        }
        let fault = if !(2..=32).contains(&width) {
            (ErrorKind::BadValue, "block with an impossible width of abbreviation ids")
        } else if self.scopes.len() > MAX_DEPTH {
            (ErrorKind::Limit, "blocks nest too deep")
        } else {
            return Ok(());
        };
        self.fault(body, fault);
        self.give_up(body);
        Ok(())
    }

    fn define(&mut self, start: usize) -> Result<(), Fault> {
        let after_id = self.bits.position();
        let mut bits = self.bits;
        let definition = self.abbreviations.define(&mut bits)?;
        self.check(&bits)?;
        let end = bits.position();
        let block_info = self.block() == blocks::BLOCKINFO;
        let Some(scope) = self.scopes.last_mut() else { return Ok(()) };
        // Definitions in BLOCKINFO belong to the block named last, not to this one.
        match (block_info, scope.target) {
            (true, Some(target)) => self.block_info.add(target, definition),
            (true, None) => return Err((ErrorKind::BadValue, "abbreviation in BLOCKINFO before a block id")),
            (false, _) => scope.own.push(definition),
        }
        let counts = self.counts();
        counts.abbreviations = counts.abbreviations.saturating_add(1);
        self.group("DEFINE_ABBREV", Value::None, "", start..end);
        if !self.is_muted() {
            self.leaf("abbreviation id", Value::Number(2), start..after_id);
            self.definition();
        }
        self.close();
        self.bits = bits;
        Ok(())
    }

    fn record(&mut self, start: usize, id: u64) -> Result<(), Fault> {
        let layout = self.layout(id)?;
        let measured = self.measure(layout)?;
        let block = self.block();
        if block == blocks::BLOCKINFO
            && measured.code == 1
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.target = measured.first.and_then(|block| u32::try_from(block).ok());
        }
        let counts = self.counts();
        counts.records = counts.records.saturating_add(1);
        counts.abbreviated_records = counts.abbreviated_records.saturating_add(u64::from(id != 3));
        // Records of an unknown block are part of what is unknown of it.
        if crate::block_name(block).is_some() && !analyzer_names::is_known(block, measured.code) {
            let offset = self.file_bits(start..start).start >> 3;
            self.contents.add_unknown(UnknownKind { block, code: Some(measured.code) }, offset);
        }
        if self.is_muted() {
            self.bits.seek(measured.end);
            return Ok(());
        }
        self.emit_record(start, id, layout, &measured);
        Ok(())
    }

    fn emit_record(&mut self, start: usize, id: u64, layout: super::record::Layout, measured: &Measured) {
        let meaning = measured.text(&self.text);
        let name = analyzer_names::any_record(self.block(), measured.code);
        self.group(&name, Value::Number(measured.code.into()), &meaning, start..measured.end);
        if self.is_muted() {
            self.bits.seek(measured.end);
        } else {
            self.leaf("abbreviation id", Value::Number(id), start..self.bits.position());
            self.operands(layout, measured);
        }
        self.close();
    }

    /// The number of an abbreviation of the innermost block.
    pub(super) fn abbreviation(&self, index: usize) -> Option<u32> {
        let scope = self.scopes.last()?;
        match index.checked_sub(scope.inherited) {
            Some(own) => scope.own.get(own).copied(),
            None => self.block_info.lists.get(scope.list)?.get(index).copied(),
        }
    }

    /// Bits of the stream as bits of the file.
    fn file_bits(&self, bits: Range<usize>) -> Range<u64> {
        let at = |bit: usize| self.base.saturating_add(bit as u64);
        at(bits.start)..at(bits.end)
    }

    fn is_muted(&self) -> bool {
        self.muted.is_some()
    }

    /// Opens a field.
    pub(super) fn group(&mut self, name: &str, value: Value<'_>, meaning: &str, bits: Range<usize>) {
        self.depth = self.depth.saturating_add(1);
        if self.is_muted() {
            return;
        }
        let bits = self.file_bits(bits);
        self.sink.open(Field::of_bits(name, value, bits).meaning(meaning));
        if !self.sink.wants_inside() {
            self.muted = Some(self.depth);
        }
    }

    /// Closes a field.
    pub(super) fn close(&mut self) {
        if self.muted == Some(self.depth) {
            self.muted = None;
        }
        if !self.is_muted() {
            self.sink.close();
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// A field without children.
    pub(super) fn leaf(&mut self, name: &str, value: Value<'_>, bits: Range<usize>) {
        self.meaning_leaf(name, value, "", bits);
    }

    /// A field without children and with a meaning.
    pub(super) fn meaning_leaf(&mut self, name: &str, value: Value<'_>, meaning: &str, bits: Range<usize>) {
        if !self.is_muted() {
            let bits = self.file_bits(bits);
            self.sink.leaf(Field::of_bits(name, value, bits).meaning(meaning));
        }
    }

    /// Padding, if there is any.
    pub(super) fn padding(&mut self, bits: Range<usize>) {
        if !bits.is_empty() {
            self.leaf("padding", Value::None, bits);
        }
    }

    /// An operand by its index.
    pub(super) fn operand(&mut self, index: usize, value: u64, meaning: &str, bits: Range<usize>) {
        use core::fmt::Write as _;
        let mut name = core::mem::take(&mut self.name);
        name.clear();
        // Writing to a string does not fail.
        let _ = write!(name, "op{index}");
        self.meaning_leaf(&name, Value::Number(value), meaning, bits);
        self.name = name;
    }

    /// An operand of a definition.
    pub(super) fn definition_operand(&mut self, index: usize, meaning: &str, bits: Range<usize>) {
        self.group(&format!("operand {index}"), Value::None, meaning, bits);
    }
}
