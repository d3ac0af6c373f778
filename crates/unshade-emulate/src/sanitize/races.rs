//! The race check: conflicting accesses that nothing orders.
//!
//! The history of a word has its last write and two of its reads. Two accesses to a byte race if different threads make
//! them, at least one changes the byte, at most one of them is strong (atomic or volatile), and neither precedes the other:
//!
//! - The lanes of a warp execute in order, so only two lanes that write different values in one instruction race.
//! - A barrier orders what the warps that take part do before it and after it.
//! - A fence, followed by a strong write that a strong read sees, orders what the writer did before and the reader does
//!   after ([`super::clocks`]). That the reader needs a fence, too, is not checked.
//!
//! A write that leaves the byte as it is races with nothing. A load that looks at a word before the same warp changes it
//! with an atomic operation, anywhere in the launch, does not race with atomic operations. In shared memory `volatile`
//! leaves no trace in machine code; there a store that directly follows a fence is strong, and so are loads of what it
//! wrote.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::access::AccessKind;
use super::clocks::{Clocks, Handover};
use crate::fault::Memory;

/// The number of words per page of the history.
const PAGE: usize = 64;

/// The time, the thread and the instruction of an access. The step is 0 if there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) step: u64,
    pub(crate) address: u32,
    pub(crate) block: u32,
    /// The thread's index in the block.
    pub(crate) thread: u16,
    strength: Strength,
}

/// How an access takes part in races.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Strength {
    #[default]
    Weak,
    /// A volatile access, or one of a flag in shared memory.
    Strong,
    Atomic,
}

impl Strength {
    fn of(kind: AccessKind) -> Self {
        match kind {
            AccessKind::Weak => Self::Weak,
            AccessKind::Volatile => Self::Strong,
            AccessKind::Locked | AccessKind::Atomic | AccessKind::Reduction => Self::Atomic,
        }
    }
}

impl Stamp {
    /// Returns the stamp of an access at a step by a thread of a block.
    pub(crate) fn new(step: u64, address: u64, block: u32, thread: u32) -> Self {
        let address = u32::try_from(address).unwrap_or(u32::MAX);
        Self {
            step,
            address,
            block,
            thread: u16::try_from(thread).unwrap_or(u16::MAX),
            strength: Strength::Weak,
        }
    }

    pub(crate) fn warp(self) -> usize {
        usize::from(self.thread / 32)
    }
}

/// What is known of the accesses to a word or a byte.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Stamp,
    reads: [Stamp; 2],
}

/// The history of a word, or of its bytes.
#[derive(Clone, Debug)]
enum Word {
    Whole(Cell),
    Bytes(Box<[Cell; 4]>),
}

/// An access of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) stamp: Stamp,
    pub(crate) kind: AccessKind,
    pub(crate) memory: Memory,
    pub(crate) address: u64,
    pub(crate) size: usize,
}

/// Two accesses that race: what the earlier one did, and its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Race {
    pub(crate) is_write: bool,
    pub(crate) other_wrote: bool,
    pub(crate) other: Stamp,
    pub(crate) address: u64,
    /// The address of the instruction if one of the two is a weak read, and the other an atomic operation.
    pub(crate) look: Option<u32>,
}

/// The accesses to a memory.
#[derive(Debug, Default)]
pub(crate) struct History {
    pages: HashMap<u64, Box<[Word; PAGE]>>,
    handovers: HashMap<u64, Handover>,
    /// The number of bytes taken from the budget.
    bytes: u64,
}

/// What all histories share: the number of bytes that they may use, and what they have learnt.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    pub(crate) left: u64,
    pub(crate) is_exhausted: bool,
    /// The addresses of loads after which the same warp changed the word with an atomic operation.
    pub(crate) looks: HashSet<u32>,
}

impl Budget {
    /// Takes bytes for a history; returns whether there were enough.
    fn take(&mut self, bytes: usize, taken: &mut u64) -> bool {
        let Some(left) = self.left.checked_sub(bytes as u64) else {
            self.is_exhausted = true;
            return false;
        };
        self.left = left;
        *taken += bytes as u64;
        true
    }

    /// Gives back the bytes of a history that is dropped.
    pub(super) fn give_back(&mut self, bytes: u64) {
        self.left = self.left.saturating_add(bytes);
    }
}

impl History {
    /// Returns the number of bytes taken from the budget.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes a read; returns a race with an earlier write.
    pub(crate) fn read(&mut self, access: &Access, clocks: &mut Clocks, budget: &mut Budget) -> Option<Race> {
        let mut stamp = access.stamp;
        let follows_flag = access.memory == Memory::Shared
            && self.cell(access.address).is_some_and(|cell| cell.write.strength == Strength::Strong);
        stamp.strength = if follows_flag { Strength::Strong } else { Strength::of(access.kind) };
        self.acquire(access, stamp, clocks, budget);
        self.learn(access, stamp, clocks, budget);
        let mut race = None;
        let observed = self.observed(access, clocks);
        self.each(access, budget, |address, _, cell| {
            if race.is_none() && conflicts(cell.write, stamp, clocks, observed) {
                let other = cell.write;
                let is_look = (stamp.strength, other.strength) == (Strength::Weak, Strength::Atomic);
                let look = is_look.then_some(stamp.address);
                race = Some(Race { is_write: false, other_wrote: true, other, address, look });
            }
            let [first, second] = &mut cell.reads;
            let is_same = first.block == stamp.block && first.warp() == stamp.warp();
            if first.step == 0 || is_same || !conflicts(*first, stamp, clocks, observed) {
                *first = stamp;
            } else {
                *second = stamp;
            }
        });
        race
    }

    /// Notes a write; returns a race with an earlier access. `changed` has a bit for each byte that changes.
    pub(crate) fn write(
        &mut self,
        access: &Access,
        changed: u64,
        clocks: &mut Clocks,
        budget: &mut Budget,
    ) -> Option<Race> {
        let mut stamp = access.stamp;
        stamp.strength = Strength::of(access.kind);
        if stamp.strength == Strength::Weak
            && clocks.weak_store(stamp.warp())
            && access.memory == Memory::Shared
        {
            stamp.strength = Strength::Strong;
        }
        if access.kind == AccessKind::Atomic {
            self.acquire(access, stamp, clocks, budget);
        }
        self.learn(access, stamp, clocks, budget);
        let observed = self.observed(access, clocks);
        let mut race = None;
        let start = access.address;
        self.each(access, budget, |address, size, cell| {
            let is_changed = changed >> (address.wrapping_sub(start) & 63) & ((1 << size) - 1) != 0;
            if !is_changed {
                let is_unordered = conflicts(cell.write, stamp, clocks, observed);
                cell.write = if is_unordered { cell.write } else { stamp };
                return;
            }
            let mut against = |other: Stamp, other_wrote: bool| {
                if race.is_none() && conflicts(other, stamp, clocks, observed) {
                    let is_look = (other.strength, stamp.strength) == (Strength::Weak, Strength::Atomic);
                    let look = (is_look && !other_wrote).then_some(other.address);
                    race = Some(Race { is_write: true, other_wrote, other, address, look });
                }
            };
            against(cell.write, true);
            cell.reads.into_iter().for_each(|other| against(other, false));
            *cell = Cell { write: stamp, reads: [Stamp::default(); 2] };
        });
        if stamp.strength != Strength::Weak {
            self.release(access, stamp, clocks, budget);
        }
        race
    }

    /// Notes weak reads of the same word by the same warp, if the access is atomic and no barrier is between.
    fn learn(&self, access: &Access, stamp: Stamp, clocks: &Clocks, budget: &mut Budget) {
        let Some(cell) = self.cell(access.address).filter(|_| stamp.strength == Strength::Atomic) else {
            return;
        };
        let is_look = |read: &&Stamp| {
            let is_own = read.block == stamp.block && read.warp() == stamp.warp();
            is_own && read.strength == Strength::Weak && read.step > clocks.last_barrier(stamp.warp())
        };
        budget.looks.extend(cell.reads.iter().filter(is_look).map(|read| read.address));
    }

    /// Returns the step up to which a strong read of the same location by this block has seen strong accesses to it.
    fn observed(&self, access: &Access, clocks: &Clocks) -> u64 {
        let handover = self.handovers.get(&(access.address & !3));
        handover.map_or(0, |handover| handover.last_read_by(clocks.block))
    }

    fn acquire(&mut self, access: &Access, stamp: Stamp, clocks: &mut Clocks, budget: &mut Budget) {
        let location = access.address & !3;
        let is_new = !self.handovers.contains_key(&location);
        let size = size_of::<Handover>() + 64;
        if is_new
            && (stamp.strength == Strength::Weak
                || access.kind == AccessKind::Weak
                || !budget.take(size, &mut self.bytes))
        {
            return;
        }
        let is_strong = stamp.strength != Strength::Weak;
        let handover = self.handovers.entry(location).or_default();
        clocks.acquire(stamp.warp(), stamp.step, is_strong, handover);
    }

    fn release(&mut self, access: &Access, stamp: Stamp, clocks: &mut Clocks, budget: &mut Budget) {
        let location = access.address & !3;
        if let Some(handover) = self.handovers.get_mut(&location) {
            clocks.release(stamp.warp(), stamp.step, handover);
            return;
        }
        let mut handover = Handover::default();
        if clocks.release(stamp.warp(), stamp.step, &mut handover)
            && budget.take(size_of::<Handover>() + 512, &mut self.bytes)
        {
            self.handovers.insert(location, handover);
        }
    }

    /// Returns what is known of the byte at an address.
    fn cell(&self, address: u64) -> Option<&Cell> {
        let page = self.pages.get(&(address / 4 / PAGE as u64))?;
        match page.get((address / 4) as usize % PAGE)? {
            Word::Whole(cell) => Some(cell),
            Word::Bytes(bytes) => bytes.get((address & 3) as usize),
        }
    }

    /// Returns the number of bytes that the cells of an access have.
    fn unit(&self, access: &Access) -> u32 {
        let is_aligned = access.address.is_multiple_of(4) && access.size.is_multiple_of(4);
        if is_aligned { 4 } else { 1 }
    }

    /// Calls a function for each cell of an access, with address and size: for words if the access has whole words, else for bytes.
    fn each(&mut self, access: &Access, budget: &mut Budget, mut visit: impl FnMut(u64, u32, &mut Cell)) {
        let unit = self.unit(access);
        let Self { pages, bytes: taken, .. } = self;
        for address in (access.address..).step_by(unit as usize).take(access.size / unit as usize) {
            let Some(word) = word(pages, address, budget, taken) else { return };
            match word {
                Word::Whole(cell) if unit == 4 => visit(address, unit, cell),
                Word::Whole(cell) => {
                    if !budget.take(size_of::<[Cell; 4]>(), taken) {
                        return;
                    }
                    let mut bytes = Box::new([*cell; 4]);
                    if let Some(cell) = bytes.get_mut((address & 3) as usize) {
                        visit(address, 1, cell);
                    }
                    *word = Word::Bytes(bytes);
                }
                Word::Bytes(bytes) => {
                    let first = (address & 3) as usize;
                    let cells = bytes.iter_mut().skip(first).take(unit as usize);
                    (address..).zip(cells).for_each(|(address, cell)| visit(address, 1, cell));
                }
            }
        }
    }
}

/// Returns the word at an address, in a new page if there is none yet.
fn word<'p>(
    pages: &'p mut HashMap<u64, Box<[Word; PAGE]>>,
    address: u64,
    budget: &mut Budget,
    taken: &mut u64,
) -> Option<&'p mut Word> {
    let page = match pages.entry(address / 4 / PAGE as u64) {
        Entry::Occupied(page) => page.into_mut(),
        Entry::Vacant(_) if !budget.take(size_of::<[Word; PAGE]>(), taken) => return None,
        Entry::Vacant(page) => page.insert(Box::new([const { Word::Whole(EMPTY) }; PAGE])),
    };
    page.get_mut((address / 4) as usize % PAGE)
}

const EMPTY: Cell = {
    const NONE: Stamp = Stamp { step: 0, address: 0, block: 0, thread: 0, strength: Strength::Weak };
    Cell { write: NONE, reads: [NONE; 2] }
};

/// Returns whether an earlier access conflicts with one that happens now.
fn conflicts(other: Stamp, now: Stamp, clocks: &Clocks, observed: u64) -> bool {
    if other.step == 0 {
        return false;
    }
    if other.strength != Strength::Weak && (now.strength != Strength::Weak || other.step <= observed) {
        return false;
    }
    if other.block != now.block {
        return !clocks.knows_block(other.block, other.step);
    }
    if other.warp() == now.warp() {
        return other.step == now.step && other.thread != now.thread;
    }
    !clocks.knows_warp(now.warp(), other.warp(), other.step)
}
