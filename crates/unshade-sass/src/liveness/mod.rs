//! Liveness of registers, and register pressure.
//!
//! A register is *live* before an instruction if some path from there reads it before writing it. This is the usual
//! backward data-flow analysis, iterated to a fixpoint over the blocks and edges of
//! [`control_flow`](crate::control_flow). What an instruction reads and writes follows from its p-code
//! ([`Effect`]). At a thread's exit nothing is live.
//!
//! Functions that call each other are solved together: a call reads what its callee reads before writing it, and
//! writes what the callee writes; live at a callee's return is what any caller reads later. Calls can be recursive,
//! and hostile code can nest them a thousand deep, so the number of rounds is limited. A call to an unknown
//! function follows NVIDIA's ABI: results are in registers from R4 on, and R16 and up are preserved.

mod effect;
mod roles;
mod set;

pub use effect::{Effect, Guard};
pub use set::Set;

use effect::{BackwardScan, Scratch};
use set::File;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::control_flow::{ControlFlow, FunctionExit};
use crate::listing::{Function, Word, instruction_target};
use crate::table::Flow;

/// The maximum number of rounds of propagation between callers and callees.
const ROUNDS: usize = 4;

/// An instruction with the registers that are live around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRow {
    /// Its address.
    pub address: u64,
    /// What it reads and writes.
    pub effect: Effect,
    /// What is live before the instruction.
    pub before: Set,
    /// What is live after it.
    pub after: Set,
}

impl LiveRow {
    /// Returns the occupied registers: live before or after the instruction, or written by it even if never read.
    pub fn occupied(&self) -> Set {
        self.before.union(self.after).union(self.effect.writes)
    }
}

/// The maximum number of occupied registers, and where it occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Number of registers, and the first address with that many.
    pub registers: (u32, u64),
    /// Number of predicates, and the first address with that many.
    pub predicates: (u32, u64),
}

impl Pressure {
    /// Finds the maximum over all rows.
    pub fn of(rows: &[LiveRow]) -> Self {
        let mut most = Self::default();
        for row in rows {
            let occupied = row.occupied();
            let (registers, predicates) = (occupied.register_count(), occupied.predicate_count());
            if registers > most.registers.0 {
                most.registers = (registers, row.address);
            }
            if predicates > most.predicates.0 {
                most.predicates = (predicates, row.address);
            }
        }
        most
    }
}

/// What callers need to know about a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Summary {
    /// What it reads before writing it.
    reads: Set,
    /// What it writes.
    writes: Set,
    /// What is live at its returns.
    returns: Set,
}

/// The liveness of functions that call each other.
#[derive(Debug)]
pub struct Liveness<'f, 'a> {
    functions: &'f [(Function<'a>, ControlFlow)],
    /// By address of a function.
    summaries: BTreeMap<u64, Summary>,
    /// By function: the effects of its instructions.
    instructions: Vec<Vec<InstructionEffect>>,
    /// By function and block: what is live before the block.
    blocks: Vec<Vec<Set>>,
}

/// The effect of an instruction by itself, and its callee if it is a call.
#[derive(Clone, Copy, Debug)]
struct InstructionEffect {
    address: u64,
    effect: Effect,
    call: Option<Callee>,
}

/// The target of a call.
#[derive(Clone, Copy, Debug)]
enum Callee {
    /// A function that is solved with this one, by address.
    Known(u64),
    Elsewhere,
}

impl<'f, 'a> Liveness<'f, 'a> {
    /// Solves functions with their control flow.
    pub fn new(functions: &'f [(Function<'a>, ControlFlow)]) -> Self {
        let summaries: BTreeMap<u64, Summary> =
            functions.iter().map(|(function, _)| (function.address, Summary::default())).collect();
        let mut scratch = Scratch::default();
        let instructions = functions
            .iter()
            .map(|(function, _)| instruction_effects(function, &summaries, &mut scratch))
            .collect();
        let mut liveness = Self { functions, summaries, instructions, blocks: Vec::new() };
        for _ in 0..ROUNDS {
            let previous = liveness.summaries.clone();
            liveness.blocks = (0..functions.len()).map(|index| liveness.solve(index)).collect();
            if previous == liveness.summaries {
                break;
            }
        }
        liveness
    }

    /// Returns one row per instruction of a function, in address order.
    pub fn rows(&self, function: usize) -> Vec<LiveRow> {
        let mut rows = Vec::new();
        let Some((_, flow)) = self.functions.get(function) else { return rows };
        let live_in = self.blocks.get(function).map_or(&[][..], Vec::as_slice);
        for (block, number) in flow.blocks().iter().zip(0..) {
            let mut state = BackwardScan::new(self.live_out(function, number, live_in));
            let start = rows.len();
            for instruction in self.instructions_in(function, &block.addresses).iter().rev() {
                let (after, effect) = (state.live(), self.effect(instruction));
                state.step(&effect);
                rows.push(LiveRow { address: instruction.address, effect, before: state.live(), after });
            }
            rows.get_mut(start..).unwrap_or_default().reverse();
        }
        rows
    }

    /// Returns the instructions in a range of addresses.
    fn instructions_in(&self, function: usize, addresses: &core::ops::Range<u64>) -> &[InstructionEffect] {
        let instructions = self.instructions.get(function).map_or(&[][..], Vec::as_slice);
        let index = |address: u64| instructions.partition_point(|one| one.address < address);
        instructions.get(index(addresses.start)..index(addresses.end)).unwrap_or_default()
    }

    /// Returns the effect of an instruction, including that of its callee.
    fn effect(&self, instruction: &InstructionEffect) -> Effect {
        let mut effect = instruction.effect;
        let called = match instruction.call {
            None => return effect,
            Some(Callee::Known(address)) => self.summaries.get(&address).copied().unwrap_or_default(),
            Some(Callee::Elsewhere) => {
                Summary { writes: Set::of(File::Registers, 4, 12), ..Summary::default() }
            }
        };
        effect.reads = effect.reads.union(called.reads);
        effect.writes = effect.writes.union(called.writes);
        // A register that the callee saves and restores is read, so it is not replaced.
        effect.replaces = effect.replaces.union(called.writes.without(called.reads));
        effect
    }

    /// Returns what is live after the last instruction of a block.
    fn live_out(&self, function: usize, block: u32, live_in: &[Set]) -> Set {
        let Some((words, flow)) = self.functions.get(function) else { return Set::default() };
        let mut live = Set::default();
        for edge in flow.edges_from(block) {
            live = live.union(live_in.get(edge.to as usize).copied().unwrap_or_default());
        }
        if flow.exits_of(block).any(|exit| exit == FunctionExit::Return) {
            let summary = self.summaries.get(&words.address).copied().unwrap_or_default();
            live = live.union(summary.returns);
        }
        live
    }

    /// Computes what is live before each block of a function, and updates its summary and those of its callees.
    fn solve(&mut self, function: usize) -> Vec<Set> {
        let Some((words, flow)) = self.functions.get(function) else { return Vec::new() };
        let mut transfer = Vec::with_capacity(flow.blocks().len());
        let mut writes = Set::default();
        for block in flow.blocks() {
            let (mut state, mut replaces) = (BackwardScan::default(), Set::default());
            for instruction in self.instructions_in(function, &block.addresses).iter().rev() {
                let effect = self.effect(instruction);
                state.step(&effect);
                if effect.guard.is_none() {
                    replaces = replaces.union(effect.replaces);
                }
                writes = writes.union(effect.writes);
            }
            transfer.push((state.live(), replaces));
        }
        let live_in = self.iterate(function, flow, &transfer);
        // What is live after a call is live at the callee's returns.
        let mut returns = Vec::new();
        for (block, number) in flow.blocks().iter().zip(0..) {
            let instructions = self.instructions_in(function, &block.addresses);
            if instructions.iter().all(|instruction| instruction.call.is_none()) {
                continue;
            }
            let mut state = BackwardScan::new(self.live_out(function, number, &live_in));
            for instruction in instructions.iter().rev() {
                if let Some(Callee::Known(callee)) = instruction.call {
                    returns.push((callee, state.live()));
                }
                state.step(&self.effect(instruction));
            }
        }
        for (callee, live) in returns {
            if let Some(summary) = self.summaries.get_mut(&callee) {
                summary.returns = summary.returns.union(live.intersection(summary.writes));
            }
        }
        if let Some(summary) = self.summaries.get_mut(&words.address) {
            let at_entry = live_in.first().copied().unwrap_or_default();
            summary.writes = writes;
            // What merely passes through to the caller is not an argument.
            summary.reads = at_entry.without(summary.returns.without(writes));
        }
        live_in
    }

    fn iterate(&self, function: usize, flow: &ControlFlow, transfer: &[(Set, Set)]) -> Vec<Set> {
        let mut live_in = vec![Set::default(); transfer.len()];
        let mut queued = vec![true; transfer.len()];
        // The stack pops the last block first: liveness flows backward.
        let mut pending: Vec<u32> = (0..u32::try_from(transfer.len()).unwrap_or(0)).collect();
        while let Some(block) = pending.pop() {
            let index = block as usize;
            if let Some(queued) = queued.get_mut(index) {
                *queued = false;
            }
            let Some((reads, replaces)) = transfer.get(index) else { continue };
            let live = self.live_out(function, block, &live_in).without(*replaces).union(*reads);
            let Some(known) = live_in.get_mut(index).filter(|known| **known != live) else { continue };
            *known = live;
            for predecessor in flow.graph().predecessors(block) {
                if let Some(queued) = queued.get_mut(*predecessor as usize).filter(|queued| !**queued) {
                    *queued = true;
                    pending.push(*predecessor);
                }
            }
        }
        live_in
    }
}

/// Returns the effects of a function's instructions.
fn instruction_effects(
    words: &Function<'_>,
    known: &BTreeMap<u64, Summary>,
    scratch: &mut Scratch,
) -> Vec<InstructionEffect> {
    let effect = |(address, word)| {
        let Word::Instruction(instruction) = word else { return None };
        let call = (instruction.operation().flow == Flow::Call).then(|| {
            let target = instruction_target(&instruction, address).filter(|at| known.contains_key(at));
            target.map_or(Callee::Elsewhere, Callee::Known)
        });
        Some(InstructionEffect { address, effect: Effect::of(&instruction, scratch), call })
    };
    words.words().filter_map(effect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assemble, isa};
    use alloc::string::String;

    fn rows(lines: &[&str]) -> Vec<LiveRow> {
        let isa = isa::by_architecture(35).unwrap();
        let words = lines.iter().zip((0..).step_by(8)).map(|(line, address)| {
            let word = assemble::instruction(isa, line, address, 0);
            word.unwrap_or_else(|error| panic!("{line}: {error}"))
        });
        let bytes: Vec<u8> = words.flat_map(|word| u64::try_from(word).unwrap().to_le_bytes()).collect();
        let function = Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 };
        let functions = [(function, ControlFlow::new(&function, &[]))];
        Liveness::new(&functions).rows(0)
    }

    fn live(rows: &[LiveRow]) -> Vec<String> {
        let text = |row: &LiveRow| {
            let numbers: Vec<String> =
                row.before.registers().map(|number| alloc::format!("{number}")).collect();
            numbers.join(" ")
        };
        rows.iter().map(text).collect()
    }

    #[test]
    fn live_from_write_to_last_read() {
        let rows = rows(&["MOV R2, 0x1", "LD.E.64 R4, [R2]", "@P0 MOV R5, R6", "ST.E.64 [R2], R4", "EXIT"]);
        assert_eq!(live(&rows), ["3 6", "2 3 6", "2 3 4 5 6", "2 3 4 5", ""]);
        assert_eq!(rows[1].effect.replaces.register_count(), 2);
        assert!(rows[2].effect.guard.is_some() && rows[2].before.has_predicate(0));
        assert_eq!(Pressure::of(&rows).registers, (5, 8));
        assert_eq!(Pressure::of(&rows).predicates, (1, 0));
    }

    #[test]
    fn writes_and_reads_under_the_same_guard() {
        let lines = ["@P0 MOV R2, R4", "@P0 IADD R3, R2, R2", "ISETP.LT.AND P0, PT, R6, R7, PT", "EXIT"];
        assert_eq!(live(&rows(&lines)), ["4 6 7", "2 6 7", "6 7", ""]);
        let lines = ["@P0 MOV R2, R4", "@!P0 ST.E [R2], R4", "EXIT"];
        assert_eq!(live(&rows(&lines)), ["2 3 4", "2 3 4", ""]);
        // The predicate changes in between.
        let lines = ["@P0 MOV R2, R4", "ISETP.LT.AND P0, PT, R6, R7, PT", "@P0 ST [R2], R6", "EXIT"];
        assert_eq!(live(&rows(&lines)), ["2 4 6 7", "2 6 7", "2 6", ""]);
    }

    #[test]
    fn around_a_loop() {
        let rows = rows(&["MOV R0, RZ", "IADD R0.CC, R0, R1", "IADD.X R2, R2, R3", "@P0 BRA 0x8", "EXIT"]);
        assert_eq!(live(&rows), ["1 2 3", "0 1 2 3", "0 1 2 3", "0 1 2 3", ""]);
        assert!(rows[2].before.has_condition_code() && !rows[3].before.has_condition_code());
    }
}
