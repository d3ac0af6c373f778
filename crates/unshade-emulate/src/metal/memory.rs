//! Memory: variables of a program, buffers, and the variables of a thread, each an allocation of its own.
//!
//! An address has the number of its allocation in the upper 24 bits, and 2^39 plus the offset in the lower 40. So an index
//! that is too large or negative stays next to its allocation, and is an access out of bounds that names it.
//!
//! | number | allocation |
//! |---|---|
//! | 0 | none |
//! | 1 to 2^23 - 1 | buffers, constants, memory of the threadgroup |
//! | from 2^23 on | variables of the functions that the thread is in |

use super::fault::{Access, Reason};
use crate::trace::{TracedAccess, lines_around};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

/// The bits of an offset.
const OFFSET_BITS: u32 = 40;

/// The offset of the first byte.
const START: u64 = 1 << (OFFSET_BITS - 1);

/// The number of the first variable of a thread.
const FIRST_LOCAL: u64 = 1 << 23;

/// The bytes of a page of memory around a buffer.
const PAGE: u64 = 4096;

/// What a kernel may do with an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    ReadWrite,
    Constant,
    /// A function constant, until it is given a value.
    Unset,
}

/// An allocation.
#[derive(Clone, Debug)]
pub(super) struct Allocation {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) usage: Use,
    /// The distance from its start up to which there are zeros to begin with, on both sides.
    pub(super) margin: u64,
    /// What was written there, by page.
    pub(super) around: BTreeMap<i64, Box<[u8]>>,
    /// The bytes whose initial value is unknown.
    pub(super) unknown: Vec<Range<u64>>,
}

impl Allocation {
    pub(super) fn new(name: &str, bytes: Vec<u8>, usage: Use) -> Self {
        Self { name: name.to_owned(), bytes, usage, margin: 0, around: BTreeMap::new(), unknown: Vec::new() }
    }

    fn is_around(&self, offset: i64, size: u64) -> bool {
        let margin = i64::try_from(self.margin).unwrap_or(i64::MAX);
        let end = i64::try_from(self.bytes.len()).unwrap_or(i64::MAX).max(margin);
        self.margin > 0 && offset >= -margin && offset.saturating_add(size as i64) <= end
    }

    /// Reads bytes of which some are around it.
    fn read_around(&self, offset: i64, to: &mut [u8]) {
        for (index, byte) in to.iter_mut().enumerate() {
            let at = offset + index as i64;
            *byte = match usize::try_from(at).ok().and_then(|at| self.bytes.get(at)) {
                Some(byte) => *byte,
                None => {
                    let page = self.around.get(&at.div_euclid(PAGE as i64));
                    page.and_then(|page| page.get(at.rem_euclid(PAGE as i64) as usize)).copied().unwrap_or(0)
                }
            };
        }
    }

    /// Writes bytes of which some are around it. Returns the number of bytes of new pages.
    fn write_around(&mut self, offset: i64, from: &[u8]) -> u64 {
        let mut added = 0;
        for (index, byte) in from.iter().enumerate() {
            let at = offset + index as i64;
            if let Some(slot) = usize::try_from(at).ok().and_then(|at| self.bytes.get_mut(at)) {
                *slot = *byte;
                continue;
            }
            let page = self.around.entry(at.div_euclid(PAGE as i64)).or_insert_with(|| {
                added += PAGE;
                vec![0; PAGE as usize].into_boxed_slice()
            });
            if let Some(slot) = page.get_mut(at.rem_euclid(PAGE as i64) as usize) {
                *slot = *byte;
            }
        }
        added
    }
}

/// Returns the address of a byte of an allocation.
pub(super) fn address(allocation: u64) -> u64 {
    allocation << OFFSET_BITS | START
}

/// The variables of the functions that a thread is in.
#[derive(Clone, Debug, Default)]
pub(super) struct Locals {
    bytes: Vec<u8>,
    /// Where each begins and how many bytes it has.
    places: Vec<(u32, u32)>,
}

impl Locals {
    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a variable of zeros.
    pub(super) fn push(&mut self, size: u32) -> Option<()> {
        let start = u32::try_from(self.bytes.len()).ok()?;
        self.bytes.resize(self.bytes.len().checked_add(size as usize)?, 0);
        self.places.push((start, size));
        Some(())
    }

    /// Removes all variables but the first ones.
    pub(super) fn truncate(&mut self, count: usize) {
        if let Some((start, _)) = self.places.get(count) {
            self.bytes.truncate(*start as usize);
            self.places.truncate(count);
        }
    }

    /// Returns the address of a variable.
    pub(super) fn address(index: usize) -> u64 {
        address(FIRST_LOCAL + index as u64)
    }
}

/// All memory but that of threads.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    pub(super) allocations: Vec<Allocation>,
    /// Bytes of pages around allocations, which count as memory.
    pub(super) around: u64,
    /// Accesses, if they are recorded: whether each writes, address and size.
    pub(super) log: Option<RefCell<Vec<(bool, u64, u32)>>>,
}

/// An access: the number of the allocation and the offset.
fn split(address: u64) -> (u64, i64) {
    (address >> OFFSET_BITS, (address & ((1 << OFFSET_BITS) - 1)) as i64 - START as i64)
}

impl Memory {
    /// Adds an allocation, and returns its address.
    pub(super) fn add(&mut self, allocation: Allocation) -> u64 {
        self.allocations.push(allocation);
        address(self.allocations.len() as u64)
    }

    pub(super) fn allocation(&self, address: u64) -> Option<&Allocation> {
        self.allocations.get(usize::try_from((address >> OFFSET_BITS).checked_sub(1)?).ok()?)
    }

    pub(super) fn allocation_mut(&mut self, address: u64) -> Option<&mut Allocation> {
        self.allocations.get_mut(usize::try_from((address >> OFFSET_BITS).checked_sub(1)?).ok()?)
    }

    /// Notes an access.
    fn note(&self, is_write: bool, address: u64, size: usize) {
        if let Some(log) = &self.log {
            log.borrow_mut().push((is_write, address, u32::try_from(size).unwrap_or(u32::MAX)));
        }
    }

    /// Returns the allocation or variable of an address: its name, the offset, and the bytes around an access with their
    /// offset.
    pub(super) fn describe(&self, locals: &Locals, address: u64, size: u32) -> TracedAccess {
        let (number, offset) = split(address);
        let local = number.checked_sub(FIRST_LOCAL).and_then(|index| usize::try_from(index).ok());
        let (memory, bytes) = match local {
            Some(index) => {
                let place = locals.places.get(index).copied().unwrap_or_default();
                let range = place.0 as usize..place.0.saturating_add(place.1) as usize;
                (format!("variable {index} of the thread"), locals.bytes.get(range).unwrap_or_default())
            }
            None => match self.allocation(address) {
                Some(found) => (found.name.clone(), found.bytes.as_slice()),
                None => ("nothing".to_owned(), &[][..]),
            },
        };
        let offset = offset.max(0).cast_unsigned();
        let range = lines_around(offset, size, bytes.len() as u64);
        let bytes = bytes.get(range.start as usize..range.end as usize).unwrap_or_default().to_vec();
        TracedAccess { is_write: false, memory, offset, size, start: range.start, bytes }
    }

    /// Reads bytes.
    pub(super) fn read(&self, locals: &Locals, address: u64, to: &mut [u8]) -> Result<(), Reason> {
        self.note(false, address, to.len());
        let (number, offset) = split(address);
        let fault = || self.fault(locals, address, to.len() as u64, false);
        if number >= FIRST_LOCAL {
            let from = local(locals, number, offset, to.len()).ok_or_else(fault)?;
            let bytes = locals.bytes.get(from).ok_or_else(fault)?;
            to.copy_from_slice(bytes);
            return Ok(());
        }
        let allocation = self.allocation(address).ok_or_else(fault)?;
        if allocation.usage == Use::Unset {
            return Err(Reason::FunctionConstant(allocation.name.clone()));
        }
        let Some(bytes) = within(offset, to.len()).and_then(|range| allocation.bytes.get(range)) else {
            if !allocation.is_around(offset, to.len() as u64) {
                return Err(fault());
            }
            allocation.read_around(offset, to);
            return Ok(());
        };
        let (start, end) = (offset as u64, offset as u64 + to.len() as u64);
        if allocation.unknown.iter().any(|range| range.start < end && start < range.end) {
            return Err(Reason::Unmodelled(format!("the initial value of {}", allocation.name)));
        }
        to.copy_from_slice(bytes);
        Ok(())
    }

    /// Writes bytes.
    pub(super) fn write(&mut self, locals: &mut Locals, address: u64, from: &[u8]) -> Result<(), Reason> {
        self.note(true, address, from.len());
        let (number, offset) = split(address);
        if number >= FIRST_LOCAL {
            let range = local(locals, number, offset, from.len());
            if let Some(bytes) = range.and_then(|range| locals.bytes.get_mut(range)) {
                bytes.copy_from_slice(from);
                return Ok(());
            }
            return Err(self.fault(locals, address, from.len() as u64, true));
        }
        let Some(allocation) = self.allocation_mut(address) else {
            return Err(self.fault(locals, address, from.len() as u64, true));
        };
        if allocation.usage != Use::ReadWrite {
            return Err(Reason::Constant(allocation.name.clone()));
        }
        let range = within(offset, from.len());
        if let Some(bytes) = range.and_then(|range| allocation.bytes.get_mut(range)) {
            bytes.copy_from_slice(from);
            return Ok(());
        }
        if !allocation.is_around(offset, from.len() as u64) {
            return Err(self.fault(locals, address, from.len() as u64, true));
        }
        self.around += allocation.write_around(offset, from);
        Ok(())
    }

    /// Returns the fault of an access.
    fn fault(&self, locals: &Locals, address: u64, size: u64, is_write: bool) -> Reason {
        let (number, offset) = split(address);
        let place = match number.checked_sub(FIRST_LOCAL) {
            Some(index) => {
                let found = usize::try_from(index).ok().and_then(|index| locals.places.get(index));
                found.map(|(_, length)| ("a variable of the thread".to_owned(), u64::from(*length), offset))
            }
            None => {
                self.allocation(address).map(|found| (found.name.clone(), found.bytes.len() as u64, offset))
            }
        };
        Reason::OutOfBounds(Box::new(Access { is_write, size, place, address }))
    }
}

fn within(offset: i64, size: usize) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    Some(start..start.checked_add(size)?)
}

/// Returns the bytes of a variable of a thread.
fn local(locals: &Locals, number: u64, offset: i64, size: usize) -> Option<Range<usize>> {
    let (start, length) = *locals.places.get(usize::try_from(number - FIRST_LOCAL).ok()?)?;
    let range = within(offset, size)?;
    (range.end <= length as usize).then(|| range.start + start as usize..range.end + start as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_stay_in_their_variable() {
        let mut memory = Memory::default();
        let one = memory.add(Allocation::new("one", vec![1, 2, 3, 4], Use::ReadWrite));
        let two = memory.add(Allocation::new("two", vec![5; 4], Use::Constant));
        let mut locals = Locals::default();
        locals.push(4).unwrap();
        let mut bytes = [0; 2];
        memory.read(&locals, one + 2, &mut bytes).unwrap();
        assert_eq!(bytes, [3, 4]);
        let fault = memory.read(&locals, one + 3, &mut bytes).unwrap_err();
        assert_eq!(fault.to_string(), "reads 2 bytes at byte 3 of one, which has 4");
        let fault = memory.write(&mut locals, one.wrapping_sub(1), &[0]).unwrap_err();
        assert_eq!(fault.to_string(), "writes 1 bytes at byte -1 of one, which has 4");
        assert_eq!(memory.write(&mut locals, two, &[0]), Err(Reason::Constant("two".into())));
        assert!(memory.read(&locals, 0, &mut bytes).is_err());
        let local = Locals::address(0);
        memory.write(&mut locals, local + 2, &[7, 8]).unwrap();
        memory.read(&locals, local + 2, &mut bytes).unwrap();
        assert_eq!(bytes, [7, 8]);
        assert!(memory.read(&locals, local + 3, &mut bytes).is_err());
        locals.truncate(0);
        assert!(memory.read(&locals, local, &mut bytes).is_err());
    }

    #[test]
    fn margins_are_zeros_that_keep_what_is_written() {
        let mut memory = Memory::default();
        let mut allocation = Allocation::new("one", vec![1, 2], Use::ReadWrite);
        allocation.margin = 4;
        let one = memory.add(allocation);
        let mut locals = Locals::default();
        memory.write(&mut locals, one.wrapping_sub(1), &[9, 8]).unwrap();
        let mut bytes = [7; 4];
        memory.read(&locals, one.wrapping_sub(2), &mut bytes).unwrap();
        assert_eq!(bytes, [0, 9, 8, 2]);
        memory.read(&locals, one, &mut bytes).unwrap();
        assert!(memory.read(&locals, one + 1, &mut bytes).is_err());
        assert!(memory.read(&locals, one.wrapping_sub(5), &mut bytes).is_err());
        assert_eq!(memory.allocations[0].bytes, [8, 2]);
    }
}
