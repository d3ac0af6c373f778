//! The entries of metadata blocks, which of them are needed, and their new numbers when the others go.
//!
//! The entries of a module are numbered first, then those of a function. An entry is a record, or one of the strings of a
//! `STRINGS` record, whose blob holds the lengths as six-bit VBRs in whole words, then the characters.

use super::operands::{self, Numbering, Operands, Referent};
use super::{Block, NO_CODE};
use crate::bitstream::BitWriter;
use crate::ids::narrow;
use crate::metadata::{self, MetadataTypes, code};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// The code of a debug location.
const LOCATION: u32 = 7;

/// Maximum depth of nodes below a loop's that are looked at.
const MAX_LOOP_DEPTH: u32 = 64;

/// What an entry is, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tuple,
    Location,
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: Kind,
    /// Its references, each plus one, in the table's.
    start: usize,
    count: usize,
}

/// The entries of a module, or of one of its functions.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// The number of the first.
    base: u32,
    entries: Vec<Entry>,
    references: Vec<u64>,
    /// The values that entries refer to.
    pub(super) values: Vec<u32>,
    /// New references of tuples.
    edited: BTreeMap<u32, Vec<u64>>,
    /// Whether each is needed.
    live: Vec<bool>,
    /// The new number of each; only meaningful for what is needed.
    numbers: Vec<u32>,
}

/// Calls `map` for what a record refers to, and replaces the numbers by what it returns; `None` if the record is unknown.
pub(super) fn map_record(
    code: u32,
    operands: &mut [u64],
    types: MetadataTypes,
    map: operands::Map<'_>,
) -> Option<()> {
    if matches!(code, code::OLD_NODE | code::OLD_FN_NODE) {
        for pair in operands.chunks_exact_mut(2) {
            let [ty, value] = pair else { continue };
            let referent = match narrow(*ty) {
                ty if ty == types.void => continue,
                ty if ty == types.metadata => Referent::Metadata,
                _ => Referent::Value,
            };
            *value = map(referent, narrow(*value)).into();
        }
        return Some(());
    }
    let pattern = operands::of_metadata(code, operands)?;
    Operands::new(operands, Numbering::default()).visit(pattern, map);
    Some(())
}

impl Entries {
    /// Creates an empty table whose first entry will have the number `base`.
    pub(super) fn new(base: u32) -> Self {
        Self { base, ..Self::default() }
    }

    /// Returns the number after the last.
    pub(super) fn end(&self) -> u32 {
        self.base.saturating_add(narrow(self.entries.len() as u64))
    }

    /// Adds the entries of a block.
    pub(super) fn add(&mut self, block: &Block, types: MetadataTypes) -> Result<()> {
        let mut operands = Vec::new();
        for (_, record) in block.records() {
            if record.code == code::STRINGS {
                let count = record.operands.first().copied().unwrap_or(0);
                // Each string takes six bits of the blob at least.
                if count > record.blob.map_or(0, |blob| blob.len() as u64).saturating_mul(2) {
                    return Err(unreadable(record.code));
                }
                let string = Entry { kind: Kind::Other, start: 0, count: 0 };
                self.entries.extend((0..count).map(|_| string));
                continue;
            }
            let is_entry = metadata::is_entry(record.code);
            let start = self.references.len();
            operands.clear();
            operands.extend_from_slice(record.operands);
            let (references, values) = (&mut self.references, &mut self.values);
            map_record(record.code, &mut operands, types, &mut |referent, number| {
                match referent {
                    Referent::Metadata if is_entry => references.push(u64::from(number).saturating_add(1)),
                    Referent::Metadata => {}
                    Referent::Value => values.push(number),
                }
                number
            })
            .ok_or_else(|| unreadable(record.code))?;
            if !is_entry {
                continue;
            }
            let kind = match record.code {
                // With their nulls.
                code::NODE | code::DISTINCT_NODE => {
                    self.references.truncate(start);
                    self.references.extend_from_slice(record.operands);
                    Kind::Tuple
                }
                LOCATION => Kind::Location,
                _ => Kind::Other,
            };
            self.entries.push(Entry { kind, start, count: self.references.len().saturating_sub(start) });
        }
        Ok(())
    }

    fn index(&self, id: u32) -> Option<usize> {
        let index = id.checked_sub(self.base)? as usize;
        (index < self.entries.len()).then_some(index)
    }

    /// Returns the references of an entry, each plus one.
    fn references(&self, id: u32) -> &[u64] {
        if let Some(edited) = self.edited.get(&id) {
            return edited;
        }
        let entry = self.index(id).and_then(|index| self.entries.get(index));
        entry.and_then(|entry| self.references.get(entry.start..)?.get(..entry.count)).unwrap_or_default()
    }

    /// Marks what is reachable from `roots`. Returns what is in no entry of this table.
    pub(super) fn mark(&mut self, roots: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let mut outside = Vec::new();
        let mut open: Vec<u32> = roots.into_iter().collect();
        self.live.resize(self.entries.len(), false);
        while let Some(id) = open.pop() {
            let Some(index) = self.index(id) else {
                outside.push(id);
                continue;
            };
            if let Some(live) = self.live.get_mut(index).filter(|live| !**live) {
                *live = true;
                let references = self.references(id).iter();
                open.extend(references.filter_map(|reference| reference.checked_sub(1)).map(narrow));
            }
        }
        outside
    }

    /// Numbers what is needed from `base` on. Returns the number after the last.
    pub(super) fn number(&mut self, base: u32) -> u32 {
        let mut next = base;
        self.live.resize(self.entries.len(), false);
        self.numbers = self
            .live
            .iter()
            .map(|live| {
                let number = next;
                next = next.saturating_add(u32::from(*live));
                number
            })
            .collect();
        next
    }

    /// Returns the new number of an entry of this table.
    pub(super) fn renumbered(&self, id: u32) -> Option<u32> {
        self.numbers.get(self.index(id)?).copied()
    }

    fn is_live(&self, id: u32) -> bool {
        self.index(id).and_then(|index| self.live.get(index)).copied().unwrap_or(true)
    }
}

#[cold]
fn unreadable(code: u32) -> Error {
    let code = if code == NO_CODE { "no code".into() } else { format!("code {code}") };
    Error::without_offset(ErrorKind::Unsupported, "record of metadata with an unknown layout").found(code)
}

/// What becomes of a node when debug locations are taken out of what it refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    /// It stays as it is.
    Same,
    /// It has other references.
    Changed,
    /// Nothing is left.
    Gone,
}

/// Takes debug locations out of the nodes of loops, which begin with a reference to themselves.
pub(super) struct Loops<'e> {
    pub(super) module: &'e mut Entries,
    pub(super) function: &'e mut Entries,
    known: BTreeMap<u32, Loop>,
}

impl<'e> Loops<'e> {
    pub(super) fn new(module: &'e mut Entries, function: &'e mut Entries) -> Self {
        Self { module, function, known: BTreeMap::new() }
    }

    fn table(&self, id: u32) -> &Entries {
        if id < self.module.end() { self.module } else { self.function }
    }

    /// Takes debug locations out of a node and what it refers to.
    pub(super) fn strip(&mut self, id: u32) -> Loop {
        self.node(id, 0)
    }

    fn node(&mut self, id: u32, depth: u32) -> Loop {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let table = self.table(id);
        match table.index(id).and_then(|index| table.entries.get(index)).map(|entry| entry.kind) {
            Some(Kind::Location) => return Loop::Gone,
            Some(Kind::Tuple) if depth < MAX_LOOP_DEPTH => {}
            _ => return Loop::Same,
        }
        let references = table.references(id).to_vec();
        // A node that is being looked at stays as it is where it refers to itself.
        self.known.insert(id, Loop::Same);
        let own = u64::from(id).saturating_add(1);
        let mut kept = Vec::new();
        let mut found = Loop::Same;
        for reference in references {
            let child = match reference.checked_sub(1) {
                Some(child) if reference != own => self.node(narrow(child), depth.saturating_add(1)),
                _ => Loop::Same,
            };
            match child {
                Loop::Gone => found = Loop::Changed,
                Loop::Changed => {
                    found = Loop::Changed;
                    kept.push(reference);
                }
                Loop::Same => kept.push(reference),
            }
        }
        if found == Loop::Changed && kept.iter().all(|reference| *reference == own) {
            found = Loop::Gone;
        }
        if found == Loop::Changed {
            let table = if id < self.module.end() { &mut *self.module } else { &mut *self.function };
            table.edited.insert(id, kept);
        }
        self.known.insert(id, found);
        found
    }
}

/// What is left of a block of metadata.
pub(super) struct Kept<'e> {
    pub(super) module: &'e Entries,
    /// The entries of the function, if the block is one of a function.
    pub(super) function: Option<&'e Entries>,
    pub(super) types: MetadataTypes,
    /// The number of the first entry of the block. After it has been written, that after the last.
    pub(super) next: u32,
}

impl Kept<'_> {
    /// Returns the new number of an entry.
    pub(super) fn number(&self, id: u32) -> u32 {
        let own = self.module.renumbered(id);
        own.or_else(|| self.function?.renumbered(id)).unwrap_or(id)
    }

    /// Takes out of a block the entries that are not needed, and renumbers the others. `is_named` says which named metadata
    /// stays, `map_value` maps values. Returns the number of entries that went.
    pub(super) fn rewrite(
        &mut self,
        block: &mut Block,
        is_named: impl Fn(&[u64]) -> bool,
        map_value: impl Fn(u32) -> u32,
    ) -> u64 {
        let mut dropped = Vec::new();
        let mut removed = 0_u64;
        let mut has_entries = false;
        let mut name = None;
        let mut indices = Vec::new();
        for index in 0..block.items.len() {
            let Some(record) = block.record(index) else { continue };
            match record.code {
                code::STRINGS => {
                    let gone = self.strings(block, index);
                    removed = removed.saturating_add(gone);
                    if block.record(index).is_some_and(|record| record.operands.first() == Some(&0)) {
                        dropped.push(index);
                    }
                    continue;
                }
                code::NAME => {
                    name = Some((index, is_named(record.operands)));
                    continue;
                }
                code::NAMED_NODE => {
                    if let Some((name, false)) = name.take() {
                        dropped.extend([name, index]);
                        continue;
                    }
                }
                code::INDEX_OFFSET | code::INDEX => {
                    indices.push(index);
                    continue;
                }
                entry if metadata::is_entry(entry) => {
                    let id = self.next;
                    self.next = self.next.saturating_add(1);
                    let table = self.function.unwrap_or(self.module);
                    if !table.is_live(id) {
                        dropped.push(index);
                        removed = removed.saturating_add(1);
                        continue;
                    }
                    has_entries = true;
                    if let Some(edited) = table.edited.get(&id) {
                        block.replace(index, entry, edited);
                    }
                }
                _ => {}
            }
            let (code, types) = (record_code(block, index), self.types);
            block.rewrite(index, |operands| {
                map_record(code, operands, types, &mut |referent, number| match referent {
                    Referent::Metadata => self.number(number),
                    Referent::Value => map_value(number),
                })
            });
        }
        if !has_entries {
            dropped.extend(indices);
        }
        block.remove(&dropped);
        removed
    }

    /// Takes strings out of a record. Returns the number of them.
    fn strings(&mut self, block: &mut Block, index: usize) -> u64 {
        let first = self.next;
        let Some(record) = block.record(index) else { return 0 };
        let (count, offset) = match *record.operands {
            [count, offset] => (narrow(count), usize::try_from(offset).unwrap_or(usize::MAX)),
            _ => return 0,
        };
        self.next = first.saturating_add(count);
        let Some((lengths, characters)) = record.blob.and_then(|blob| blob.split_at_checked(offset)) else { return 0 };
        let mut lengths = metadata::Vbr6::new(lengths);
        let mut at = 0_usize;
        let mut kept = BitWriter::new();
        let (mut text, mut number) = (Vec::new(), 0_u64);
        let table = self.function.unwrap_or(self.module);
        for id in first..self.next {
            let Some(length) = lengths.next() else { return 0 };
            let end = at.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
            let Some(string) = characters.get(at..end) else { return 0 };
            at = end;
            if table.is_live(id) {
                kept.variable(length, 6);
                text.extend_from_slice(string);
                number = number.saturating_add(1);
            }
        }
        let gone = u64::from(count).saturating_sub(number);
        if gone > 0 {
            kept.align();
            let mut blob = kept.finish();
            let operands = [number, blob.len() as u64];
            blob.append(&mut text);
            block.replace(index, code::STRINGS, &operands);
            block.replace_blob(index, &blob);
        }
        gone
    }
}

fn record_code(block: &Block, index: usize) -> u32 {
    block.record(index).map_or(NO_CODE, |record| record.code)
}
