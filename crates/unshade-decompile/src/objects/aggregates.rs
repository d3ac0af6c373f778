//! Words that are one structure, from how code copies them.
//!
//! Compilers copy a structure word by word: they load all of its words, and then store them. Code that copies one number after
//! the other has loads and stores in turn. So consecutive stores to consecutive addresses are a structure, if their values
//! are consecutive too and known before the first store: words in memory, in parameters, or of one result. So are the
//! words of shared memory that one instruction accesses, and those that a function returns together.

use super::{Access, space_of};
use crate::address::Address;
use crate::ir::hash::FastMap;
use crate::ir::{Function, NO_ADDRESS, Op, Space, ValueId};

/// Bytes of a memory that are one structure: memory, start and end.
pub(super) type Aggregate = (Space, u32, u32);

/// Returns the structures, in order and without overlap.
pub(super) fn find(function: &Function, accesses: &[Access]) -> Vec<Aggregate> {
    let mut found = Vec::new();
    let mut places = Places { function, known: FastMap::default(), order: FastMap::default() };
    for block in &function.blocks {
        places.order = block.effects.iter().copied().zip(0..).collect();
        let stores = block.effects.iter().copied().filter(|id| matches!(function.op(*id), Op::Store(_)));
        let stores: Vec<ValueId> = stores.collect();
        let mut start = 0;
        for index in 1..=stores.len() {
            let direction = stores.get(start..start + 2).and_then(|pair| places.direction(pair[0], pair[1]));
            let is_next = index < stores.len()
                && direction.is_some()
                && places.direction(stores[index - 1], stores[index]) == direction;
            if !is_next {
                places.copied(&stores[start..index], &mut found);
                start = index;
            }
        }
        for &effect in &block.effects {
            if function.op(effect) == Op::Return {
                places.loaded(function.inputs(effect), &mut found);
            }
        }
    }
    together(accesses, &mut found);
    merged(found)
}

/// A place that words are moved from or to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// A memory, and the base and the indices of an address.
    Memory(Space, Option<ValueId>, Vec<(ValueId, u64)>),
    Parameter,
    /// A result of several words.
    Result(ValueId),
}

struct Places<'f> {
    function: &'f Function,
    known: FastMap<ValueId, (Origin, i64)>,
    /// The order of the effects of a block.
    order: FastMap<ValueId, usize>,
}

impl Places<'_> {
    /// Returns the place and offset of an address.
    fn of_address(&mut self, access: ValueId) -> Option<(Origin, i64)> {
        let function = self.function;
        let address = function.input(access, 0);
        let entry = self.known.entry(access).or_insert_with(|| {
            let found = Address::new(function, address);
            let space = space_of(function, access, address).unwrap_or(Space::Generic);
            (Origin::Memory(space, found.base, found.terms), found.offset)
        });
        Some(entry.clone())
    }

    /// Returns where a value is moved from.
    fn of_value(&mut self, value: ValueId) -> Option<(Origin, i64)> {
        match self.function.op(value) {
            Op::Load(_) => self.of_address(value),
            Op::Parameter(offset) => Some((Origin::Parameter, i64::from(offset))),
            Op::Result(number) => {
                Some((Origin::Result(self.function.input(value, 0)), 4 * i64::from(number)))
            }
            _ => None,
        }
    }

    fn bytes(&self, store: ValueId) -> i64 {
        i64::from(self.function.width(self.function.input(store, 1)).max(8) / 8)
    }

    /// Returns the direction in which the second of two stores follows the first one, at the next bytes and with the next
    /// value.
    fn direction(&mut self, first: ValueId, second: ValueId) -> Option<Direction> {
        let (upper, lower) = (self.function.input(first, 1), self.function.input(second, 1));
        let (from, to) = (self.of_address(first)?, self.of_address(second)?);
        let (source, next) = (self.of_value(upper)?, self.of_value(lower)?);
        let step = to.1.checked_sub(from.1)?;
        let is_next = from.0 == to.0 && source.0 == next.0 && next.1.checked_sub(source.1) == Some(step);
        match step {
            step if !is_next || step == 0 => None,
            step if step == self.bytes(first) => Some(Direction::Up),
            step if step == -self.bytes(second) => Some(Direction::Down),
            _ => None,
        }
    }

    /// Adds what a run of stores writes, and what its values are loaded from.
    fn copied(&mut self, stores: &[ValueId], found: &mut Vec<Aggregate>) {
        let [first, .., last] = stores else { return };
        // Numbers that are copied one after the other can be in the same order.
        let is_loaded = |store: &ValueId| {
            let value = self.function.input(*store, 1);
            self.order.get(&value).is_none_or(|load| self.order.get(first) > Some(load))
        };
        if !stores.iter().all(is_loaded) {
            return;
        }
        let Some((from, to)) = self.of_address(*first).zip(self.of_address(*last)) else { return };
        let is_upwards = from.1 < to.1;
        let (top, bottom, lowest) = if is_upwards { (last, from, first) } else { (first, to, last) };
        let end = self.of_address(*top).and_then(|(_, start)| start.checked_add(self.bytes(*top)));
        let Some(size) = end.and_then(|end| end.checked_sub(bottom.1)) else { return };
        add(bottom, size, found);
        if let Some(source) = self.of_value(self.function.input(*lowest, 1)) {
            add(source, size, found);
        }
    }

    /// Adds what runs of words that follow each other are loaded from.
    fn loaded(&mut self, words: &[ValueId], found: &mut Vec<Aggregate>) {
        let mut run: Option<((Origin, i64), i64)> = None;
        let mut count = 0;
        for &word in words.iter().chain([&ValueId::NONE]) {
            let is_load = word != ValueId::NONE && matches!(self.function.op(word), Op::Load(_));
            let source = if is_load { self.of_address(word) } else { None };
            let bytes = if is_load { i64::from(self.function.width(word).max(8) / 8) } else { 0 };
            match (&mut run, source) {
                (Some((start, size)), Some(next)) if start.0 == next.0 && start.1 + *size == next.1 => {
                    *size += bytes;
                    count += 1;
                }
                (_, next) => {
                    // One word is not a structure.
                    if let Some((start, size)) = std::mem::replace(&mut run, next.map(|next| (next, bytes)))
                        && std::mem::take(&mut count) > 0
                    {
                        add(start, size, found);
                    }
                }
            }
        }
    }
}

/// The order of the addresses of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

fn add(start: (Origin, i64), size: i64, found: &mut Vec<Aggregate>) {
    if let (Origin::Memory(space @ (Space::Local | Space::Shared), None, terms), offset) = start
        && terms.is_empty()
        && let (Ok(start), Ok(size)) = (u32::try_from(offset), u32::try_from(size))
        && let Some(end) = start.checked_add(size)
    {
        found.push((space, start, end));
    }
}

/// Adds the words that one instruction accesses.
fn together(accesses: &[Access], found: &mut Vec<Aggregate>) {
    /// The bytes that an instruction accesses: start, end, and the number of accesses.
    #[derive(Default)]
    struct Together {
        start: i64,
        end: i64,
        bytes: u32,
        count: u32,
    }
    let mut of: FastMap<(u32, bool), Together> = FastMap::default();
    let is_fixed = |access: &&Access| access.scales.is_empty() && access.instruction != NO_ADDRESS;
    // The registers that a compiler saves in local memory together are unrelated.
    for access in accesses.iter().filter(is_fixed).filter(|access| access.space == Space::Shared) {
        let end = access.offset.saturating_add(i64::from(access.bytes));
        let known = of.entry((access.instruction, access.is_store)).or_insert_with(|| Together {
            start: access.offset,
            end,
            ..Together::default()
        });
        known.start = known.start.min(access.offset);
        known.end = known.end.max(end);
        known.bytes = known.bytes.saturating_add(access.bytes);
        known.count += 1;
    }
    for words in of.into_values().filter(|words| words.count > 1 && matches!(words.bytes, 8 | 16)) {
        if words.end.checked_sub(words.start) == Some(i64::from(words.bytes)) {
            add(
                (Origin::Memory(Space::Shared, None, Vec::new()), words.start),
                i64::from(words.bytes),
                found,
            );
        }
    }
}

/// Joins what overlaps.
fn merged(mut found: Vec<Aggregate>) -> Vec<Aggregate> {
    found.sort_unstable();
    let mut kept: Vec<Aggregate> = Vec::new();
    for (space, start, end) in found {
        match kept.last_mut() {
            Some(last) if last.0 == space && start < last.2 => last.2 = last.2.max(end),
            _ => kept.push((space, start, end)),
        }
    }
    kept
}
