//! What instructions report to the checks.

use unshade_sass::semantics::Space;

use super::clocks::Scope;
use super::findings::{Finding, Key, Related};
use super::heap::Call;
use super::kinds::{Kind, goes_on};
use super::races::{Access, Race, Stamp};
use super::{Checks, Pending, Tool};
use crate::environment::{Environment, Position, resolve};
use crate::execute::LaneFault;
use crate::fault::{Memory, RaceScope, Reason};
use crate::locate;
use crate::program::{Fetched, Program};
use crate::sanitize::access::AccessKind;
use crate::symbols;
use crate::warp::Warp;

/// The size of the widest accesses, which are executed in four parts.
const VECTOR: u64 = 16;

impl Checks {
    /// Notes the instruction that executes next.
    pub(crate) fn begin(&mut self, address: u64, fetched: &Fetched<'_>) {
        self.current.address = address;
        self.current.kind = fetched.access;
        self.current.is_vector = fetched.is_vector;
        self.current.parts = [0; 32];
    }

    /// Notes that a call to the host executes next.
    pub(crate) fn begin_call(&mut self, warp: &Warp, program: &Program<'_>) {
        self.current.stack = symbols::call_stack(warp, warp.active.trailing_zeros(), program);
        self.current.address = self.current.stack.first().copied().unwrap_or(warp.last);
        self.current.kind = AccessKind::Weak;
        self.current.is_vector = false;
    }

    /// Keeps a fault for the report, unless it is a repetition.
    fn suspect(&mut self, thread: u32, other: Option<(&'static str, Stamp)>, reason: Reason) {
        self.pending.push(Pending { lane: thread % 32, reason, other, look: None });
    }

    /// Returns the key of a fault of the current instruction.
    fn key(&self, name: &'static str, other: u64) -> Key {
        (name, self.current.address, other)
    }
}

impl Environment<'_> {
    /// Drops the checks of a block that has ended, and gives back what its history has used.
    pub(crate) fn end_checks(&mut self) {
        if let (Some(checks), Some(block)) = (&mut self.checks, self.block.checks.take()) {
            checks.budget.give_back(block.shared.bytes());
        }
    }

    /// Leaves out an access that failed, if the launch is checked: a load returns 0.
    pub(crate) fn leave_out(&mut self, lane: u32, reason: Reason) -> Result<u64, LaneFault> {
        let Some(checks) = &mut self.checks else { return Err((lane, reason)) };
        let reason = checks.explain(reason);
        if !goes_on(&reason) {
            return Err((lane, reason));
        }
        checks.suspect(lane, None, reason);
        Ok(0)
    }

    /// Loads, and reports to the race detector and the checks.
    #[cold]
    pub(crate) fn load_watched(
        &mut self,
        space: Space,
        address: u64,
        size: usize,
        thread: u32,
    ) -> Result<u64, Reason> {
        if self.block.races.is_some() {
            self.check_read(space, address, size, thread)?;
        }
        self.check_vector(space, address, thread)?;
        let value = self.load_unchecked(space, address, size, thread)?;
        self.record_access(false, space, address, size, thread);
        self.note_read(space, address, size, thread);
        Ok(value)
    }

    /// Stores, and reports to the race detector and the checks.
    #[cold]
    pub(crate) fn store_watched(
        &mut self,
        space: Space,
        address: u64,
        value: u64,
        size: usize,
        thread: u32,
    ) -> Result<(), Reason> {
        let bytes = value.to_le_bytes();
        let new = bytes.get(..size).unwrap_or(&bytes);
        if self.block.races.is_some() {
            self.check_write(space, address, new, thread)?;
        }
        self.check_vector(space, address, thread)?;
        let old = self.bytes(space, address, size, thread)?;
        let changes = old.iter().zip(new).enumerate();
        let changed = changes.fold(0, |mask, (byte, (old, new))| mask | u64::from(old != new) << byte);
        self.store_unchecked(space, address, value, size, thread)?;
        self.record_access(true, space, address, size, thread);
        self.note_write(space, address, size, changed, thread);
        Ok(())
    }

    /// Checks the alignment of the first part of a vector.
    fn check_vector(&mut self, space: Space, address: u64, thread: u32) -> Result<(), Reason> {
        let Some(checks) = self.checks.as_mut().filter(|checks| checks.current.is_vector) else {
            return Ok(());
        };
        let Some(part) = checks.current.parts.get_mut(thread as usize % 32) else { return Ok(()) };
        *part = part.wrapping_add(1);
        let (memory, address) = resolve(space, address);
        if *part == 1 && !address.is_multiple_of(VECTOR) {
            return Err(Reason::Misaligned { memory, address, bytes: VECTOR as u32 });
        }
        Ok(())
    }

    fn note_read(&mut self, space: Space, address: u64, size: usize, thread: u32) {
        let (memory, at) = resolve(space, address);
        let Some(kind) = self.checks.as_ref().map(|checks| checks.current.kind) else { return };
        if memory == Memory::Local || matches!(kind, AccessKind::Atomic | AccessKind::Reduction) {
            return;
        }
        self.check_unset(memory, at, size, thread);
        self.check_race(memory, at, size, thread, None);
    }

    fn note_write(&mut self, space: Space, address: u64, size: usize, changed: u64, thread: u32) {
        let (memory, at) = resolve(space, address);
        let Some(kind) = self.checks.as_ref().map(|checks| checks.current.kind) else { return };
        if memory == Memory::Local || matches!(kind, AccessKind::Atomic | AccessKind::Reduction) {
            return;
        }
        self.note_set(memory, at, size);
        self.check_race(memory, at, size, thread, Some(changed));
    }

    /// Notes an atomic operation, which writes unless it is a comparison that failed.
    pub(crate) fn note_atomic(&mut self, address: u64, size: usize, thread: u32, is_write: bool) {
        self.record_access(is_write, Space::Ram, address, size, thread);
        if self.checks.is_none() {
            return;
        }
        let (memory, at) = resolve(Space::Ram, address);
        if memory == Memory::Local {
            return;
        }
        self.check_unset(memory, at, size, thread);
        if is_write {
            self.note_set(memory, at, size);
        }
        self.check_race(memory, at, size, thread, is_write.then_some(u64::MAX));
    }

    /// Notes a memory fence of a warp: of the block, the device or the system.
    pub(crate) fn note_fence(&mut self, scope: u64, warp: u32) {
        let step = self.steps + 1;
        let scope = if scope == 0 { Scope::Block } else { Scope::Device };
        if let Some(block) = &mut self.block.checks {
            block.clocks.fence(warp as usize, scope, step);
        }
    }

    fn note_set(&mut self, memory: Memory, at: u64, size: usize) {
        match (memory, &mut self.block.checks) {
            (Memory::Shared, Some(block)) => block.unset.set(usize::try_from(at).unwrap_or(usize::MAX), size),
            _ => self.device.note_written(at, size),
        }
    }

    fn check_unset(&mut self, memory: Memory, at: u64, size: usize, thread: u32) {
        let (Some(checks), Some(block)) = (&mut self.checks, &self.block.checks) else { return };
        let is_unset = match memory {
            Memory::Shared => block.unset.are_unset(usize::try_from(at).unwrap_or(usize::MAX), size),
            _ => self.device.are_unset(at, size),
        };
        let key = checks.key("uninitialized-read", 0);
        if !is_unset || !checks.has(Tool::Init) || checks.findings.repeat(key) {
            return;
        }
        let nearby = if memory == Memory::Global { self.device.describe(at) } else { String::new() };
        let bytes = u32::try_from(size).unwrap_or(u32::MAX);
        checks.suspect(thread, None, Reason::Uninitialized { memory, address: at, bytes, nearby });
    }

    /// Checks an access for races; `changed` has the bytes that a write changes.
    fn check_race(&mut self, memory: Memory, at: u64, size: usize, thread: u32, changed: Option<u64>) {
        let (Some(checks), Some(block)) = (&mut self.checks, &mut self.block.checks) else { return };
        if !checks.has(Tool::Races) {
            return;
        }
        let stamp = Stamp::new(self.steps + 1, checks.current.address, block.clocks.block, thread);
        let access = Access { stamp, kind: checks.current.kind, memory, address: at, size };
        let history = if memory == Memory::Shared { &mut block.shared } else { &mut checks.global };
        let race = match changed {
            Some(changed) => history.write(&access, changed, &mut block.clocks, &mut checks.budget),
            None => history.read(&access, &mut block.clocks, &mut checks.budget),
        };
        if let Some(race) = race {
            self.report_race(&race, memory, stamp);
        }
    }

    fn report_race(&mut self, race: &Race, memory: Memory, stamp: Stamp) {
        let Some(checks) = &mut self.checks else { return };
        let other = race.other;
        let scope = match (other.block == stamp.block, other.warp() == stamp.warp()) {
            (false, _) => RaceScope::Grid,
            (true, false) => RaceScope::Block,
            (true, true) => RaceScope::Warp,
        };
        let address = race.address;
        let mut reason = Reason::Race {
            scope,
            writes: (race.is_write, race.other_wrote),
            memory,
            address,
            nearby: String::new(),
        };
        let key = checks.key(Kind::of(&reason).name, other.address.into());
        if checks.findings.repeat(key) {
            return;
        }
        if let Reason::Race { nearby, .. } = &mut reason
            && memory == Memory::Global
        {
            *nearby = self.device.describe(address);
        }
        let did = if race.other_wrote { "written by" } else { "read by" };
        let lane = u32::from(stamp.thread) % 32;
        checks.pending.push(Pending { lane, reason, other: Some((did, other)), look: race.look });
    }

    /// Notes the result of `malloc`.
    pub(crate) fn note_allocation(&mut self, address: u64, bytes: u64, thread: u32) {
        let call = self.call(thread);
        let Some(checks) = &mut self.checks else { return };
        checks.heap.allocate(address, bytes, call);
        self.device.mark_unset(crate::DevicePointer(address));
    }

    /// Notes a call to `free`; returns whether it is valid.
    pub(crate) fn note_free(&mut self, address: u64, thread: u32) -> Result<(), Reason> {
        let call = self.call(thread);
        match &mut self.checks {
            Some(checks) => checks.heap.free(address, call),
            None => Ok(()),
        }
    }

    fn call(&self, thread: u32) -> Call {
        let (Some(checks), Some(block)) = (&self.checks, &self.block.checks) else { return Call::default() };
        Call {
            block: block.clocks.block,
            thread: u16::try_from(thread).unwrap_or(u16::MAX),
            stack: checks.current.stack.clone(),
        }
    }

    /// Adds the faults of the current instruction to the findings.
    pub(crate) fn report_pending(&mut self, warp: &Warp, program: &Program<'_>) {
        let Some(checks) = self.checks.as_mut().filter(|checks| !checks.pending.is_empty()) else { return };
        for pending in std::mem::take(&mut checks.pending) {
            self.report(warp, pending, program);
        }
    }

    /// Adds a fault of a warp to the findings.
    pub(super) fn report(&mut self, warp: &Warp, pending: Pending, program: &Program<'_>) {
        let (position, blocks) = (self.block.position, self.blocks);
        let Some(checks) = &mut self.checks else { return };
        let kind = Kind::of(&pending.reason);
        if !checks.has(kind.tool) {
            return;
        }
        let other = pending.other.map_or(0, |(_, other)| other.address.into());
        let key = checks.key(kind.name, other);
        if checks.findings.repeat(key) {
            return;
        }
        let mut related = Vec::new();
        if let Some((what, other)) = pending.other {
            let stack = [u64::from(other.address)];
            related.push(related_at(what, other.block, other.thread, &stack, program, position, blocks));
        }
        if let Some(address) = freed_address(&pending.reason)
            && let Some((_, block)) = checks.heap.find(address)
        {
            let calls = [("allocated by", Some(&block.allocated)), ("freed by", block.freed.as_ref())];
            for (what, call) in calls.into_iter().filter_map(|(what, call)| Some((what, call?))) {
                related.push(related_at(
                    what,
                    call.block,
                    call.thread,
                    &call.stack,
                    program,
                    position,
                    blocks,
                ));
            }
        }
        checks.findings.add(key, pending.look, || Finding {
            fault: locate::fault(warp, pending.lane, pending.reason, program, position),
            count: 1,
            related,
        });
    }

    /// Adds the memory that was not freed to the findings, one for each call to `malloc`.
    pub(crate) fn report_leaks(&mut self, program: &Program<'_>) {
        let (position, blocks) = (self.block.position, self.blocks);
        let Some(checks) = self.checks.as_mut().filter(|checks| checks.has(Tool::Memory)) else { return };
        let mut by_call: std::collections::BTreeMap<&[u64], (u64, u64, &Call)> = Default::default();
        for block in checks.heap.leaked() {
            let leak = by_call.entry(&block.allocated.stack).or_insert((0, 0, &block.allocated));
            leak.0 += 1;
            leak.1 = leak.1.saturating_add(block.bytes);
        }
        for (number, (stack, (allocations, bytes, call))) in (0..).zip(by_call) {
            let reason = Reason::Leak { allocations, bytes };
            let key = ("leak", stack.first().copied().unwrap_or(0), number);
            let position = Position { block: position_of(call.block, blocks), ..position };
            checks.findings.add(key, None, || Finding {
                fault: crate::Fault {
                    reason,
                    location: Some(Box::new(locate::location(
                        stack,
                        0,
                        call.thread.into(),
                        program,
                        position,
                    ))),
                },
                count: allocations,
                related: Vec::new(),
            });
        }
    }
}

impl Checks {
    /// Makes a reason more specific: memory that was freed, a stack that is too large.
    fn explain(&self, reason: Reason) -> Reason {
        match reason {
            Reason::OutOfBounds { memory: Memory::Global, address, bytes, nearby } => {
                match self.heap.find(address) {
                    Some((start, block)) if block.freed.is_some() => {
                        Reason::UseAfterFree { address, bytes, allocation: (start, block.bytes) }
                    }
                    _ => Reason::OutOfBounds { memory: Memory::Global, address, bytes, nearby },
                }
            }
            // The stack grows down to 0.
            Reason::OutOfBounds { memory: Memory::Local, address, .. } if address >> 31 == 1 => {
                Reason::StackOverflow
            }
            reason => reason,
        }
    }
}

/// Returns the address in freed memory that a fault is about.
fn freed_address(reason: &Reason) -> Option<u64> {
    match reason {
        Reason::UseAfterFree { address, .. } | Reason::DoubleFree { address, .. } => Some(*address),
        _ => None,
    }
}

fn related_at(
    what: &'static str,
    block: u32,
    thread: u16,
    stack: &[u64],
    program: &Program<'_>,
    position: Position,
    blocks: [u32; 3],
) -> Related {
    Related {
        what,
        block: position_of(block, blocks),
        thread: position.thread(thread.into()),
        stack: locate::frames(stack, program),
    }
}

/// Returns the position of a block by its number in the grid.
fn position_of(number: u32, blocks: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = blocks.map(|size| size.max(1));
    [number % x, number / x % y, number / x / y]
}
