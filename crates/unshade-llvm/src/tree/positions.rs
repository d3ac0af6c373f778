//! Renews what a module states of where its parts are.
//!
//! The records and what they count from are in the table of `verify/positions.rs`. An index of metadata has as many bits as
//! its numbers take, so that renewed positions can move what comes after it: the work is repeated until nothing changes.

use super::write::write_stream;
use super::{Block, Item, Part, Stream, Tree};
use crate::blocks;
use crate::metadata;
use crate::metadata::code::{INDEX, INDEX_OFFSET};
use crate::module::code;
use crate::verify::positions::FNENTRY;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// Maximum number of repetitions; the second changes an index, the third what comes after it.
const MAX_ROUNDS: usize = 8;

impl Tree {
    /// Computes the positions that modules state, of their symbol tables, bodies and metadata. A tree that was changed needs
    /// this before it is written: readers that load functions on demand go by them.
    ///
    /// # Errors
    /// As [`Tree::write`]; or if positions don't settle.
    pub fn renew_positions(&mut self) -> Result<()> {
        self.parts.iter_mut().try_for_each(renew_part)
    }
}

fn renew_part(part: &mut Part) -> Result<()> {
    match part {
        Part::Wrapper(wrapper) => wrapper.content.iter_mut().try_for_each(renew_part),
        Part::Bytes(_) => Ok(()),
        Part::Stream(stream) => {
            for _ in 0..MAX_ROUNDS {
                if !renew_stream(stream)? {
                    return Ok(());
                }
            }
            Err(Error::without_offset(ErrorKind::Limit, "the positions of a module do not settle"))
        }
    }
}

/// Renews positions once. Returns whether one has changed.
fn renew_stream(stream: &mut Stream) -> Result<bool> {
    let mut positions = Some(Vec::new());
    write_stream(stream, &mut positions)?;
    let mut positions = Positions(positions.unwrap_or_default().into_iter());
    let mut identification = None;
    let mut has_changed = false;
    for block in &mut stream.blocks {
        let start = positions.next();
        match block.id {
            blocks::MODULE => {
                let places = Places::of(block, &mut positions);
                has_changed |= places.renew(block, identification.take().unwrap_or(start));
            }
            id => {
                positions.skip(block);
                if id == blocks::IDENTIFICATION {
                    identification = Some(start);
                }
            }
        }
    }
    Ok(has_changed)
}

/// The positions of a stream in the order in which they were noted.
struct Positions(alloc::vec::IntoIter<usize>);

impl Positions {
    fn next(&mut self) -> usize {
        self.0.next().unwrap_or(0)
    }

    /// Skips the items of a block, and its end.
    fn skip(&mut self, block: &Block) {
        for item in &block.items {
            self.next();
            if let Item::Block(inner) = item {
                self.skip(inner);
            }
        }
        self.next();
    }
}

/// Where the parts of a module are, in bits of the stream.
#[derive(Default)]
struct Places {
    symbol_table: Option<usize>,
    /// The bodies, in file order.
    bodies: Vec<usize>,
    /// For each block of metadata, the items and their ends.
    metadata: Vec<Vec<usize>>,
}

impl Places {
    fn of(module: &Block, positions: &mut Positions) -> Self {
        let mut places = Self::default();
        for item in &module.items {
            let start = positions.next();
            let Item::Block(block) = item else { continue };
            match block.id {
                blocks::VALUE_SYMTAB => places.symbol_table = Some(start),
                blocks::FUNCTION => places.bodies.push(start),
                _ => {}
            }
            if block.id == blocks::METADATA {
                places.metadata.push(of_items(block, positions));
            } else {
                positions.skip(block);
            }
        }
        positions.next();
        places
    }

    /// Renews the records of a module. Returns whether one has changed. Words count from `start`.
    fn renew(&self, module: &mut Block, start: usize) -> bool {
        let words = |position: usize| (position.saturating_sub(start) >> 5).saturating_add(1) as u64;
        let mut has_changed = false;
        if let Some(position) = self.symbol_table {
            has_changed |= set_operand(module, code::VSTOFFSET, |_| Some((0, words(position))));
        }
        let bodies: BTreeMap<u64, u64> =
            defined(module).zip(&self.bodies).map(|(value, position)| (value, words(*position))).collect();
        let mut metadata = self.metadata.iter();
        for block in module.blocks_mut() {
            match block.id {
                blocks::VALUE_SYMTAB => {
                    has_changed |=
                        set_operand(block, FNENTRY, |operands| Some((1, *bodies.get(operands.first()?)?)));
                }
                blocks::METADATA => {
                    let items = metadata.next().map(Vec::as_slice).unwrap_or_default();
                    has_changed |= renew_index(block, items);
                }
                _ => {}
            }
        }
        has_changed
    }
}

/// Returns the positions of the items of a block, then of its end.
fn of_items(block: &Block, positions: &mut Positions) -> Vec<usize> {
    let mut found = Vec::new();
    for item in &block.items {
        found.push(positions.next());
        if let Item::Block(inner) = item {
            positions.skip(inner);
        }
    }
    found.push(positions.next());
    found
}

/// Returns the values that are functions with a body, in the order of the bodies.
fn defined(module: &Block) -> impl Iterator<Item = u64> {
    let version = module.records().find(|(_, record)| record.code == code::VERSION);
    let version = version.and_then(|(_, record)| record.operands.first().copied()).unwrap_or(0);
    // From version 2 on, the place of the name comes first.
    let declaration = if version >= 2 { 4 } else { 2 };
    let of_value = |code: u32| {
        matches!(code, code::GLOBALVAR | code::FUNCTION | code::ALIAS_OLD | code::ALIAS | code::IFUNC)
    };
    let values = module.records().filter(move |(_, record)| of_value(record.code));
    (0..).zip(values).filter_map(move |(value, (_, record))| {
        let is_defined = record.code == code::FUNCTION && record.operands.get(declaration) == Some(&0);
        is_defined.then_some(value)
    })
}

/// Sets operands of the records of a code: `value` returns which one, and its value. Returns whether one has changed.
fn set_operand(block: &mut Block, code: u32, value: impl Fn(&[u64]) -> Option<(usize, u64)>) -> bool {
    let changes: Vec<(usize, Vec<u64>)> = block
        .records()
        .filter(|(_, record)| record.code == code)
        .filter_map(|(index, record)| {
            let (at, value) = value(record.operands)?;
            let mut operands = record.operands.to_vec();
            let place = operands.get_mut(at).filter(|operand| **operand != value)?;
            *place = value;
            Some((index, operands))
        })
        .collect();
    for (index, operands) in &changes {
        block.replace(*index, code, operands);
    }
    !changes.is_empty()
}

/// Renews the index of a block of metadata, whose items are at `positions`. Returns whether it has changed.
fn renew_index(block: &mut Block, positions: &[usize]) -> bool {
    // The item of INDEX_OFFSET, its end, and the entries after it.
    let mut offset = None;
    let mut entries = Vec::new();
    let mut changes = Vec::new();
    for (index, record) in block.records() {
        let at = |index: usize| positions.get(index).copied().unwrap_or(0);
        match (record.code, offset) {
            (INDEX_OFFSET, _) => {
                offset = Some((index, at(index.saturating_add(1))));
                entries.clear();
            }
            (INDEX, Some((offset_item, end))) => {
                let distance = at(index).saturating_sub(end) as u64;
                changes.push((offset_item, INDEX_OFFSET, alloc::vec![distance & u64::from(u32::MAX), distance >> 32]));
                let starts = core::iter::once(&end).chain(&entries);
                let distances = starts.zip(&entries).map(|(from, to): (&usize, &usize)| to.saturating_sub(*from) as u64);
                changes.push((index, INDEX, distances.collect()));
            }
            (code, Some(_)) if metadata::is_entry(code) => entries.push(at(index)),
            _ => {}
        }
    }
    changes.retain(|(index, _, operands)| block.record(*index).is_some_and(|record| record.operands != operands));
    for (index, code, operands) in &changes {
        block.replace(*index, *code, operands);
    }
    !changes.is_empty()
}
