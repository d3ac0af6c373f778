//! How long values live in registers, and how many at a time.
//!
//! A register is *live* before an instruction if some way from there reads it before it is written. That is solved from
//! the last instruction of each block back to the first, until nothing changes any more, over the blocks and edges of
//! [`control_flow`](crate::control_flow). What instructions read and write is what their p-code does ([`Effect`]).
//! A thread that ends needs nothing any more.
//!
//! Functions that call each other are solved together: a call reads what its callee reads before writing it, and writes
//! what that writes; where a callee returns, live is what any caller reads later. Calls may go in circles, and somebody's
//! code may call a thousand functions deep, so that this is repeated a few times at most. Of a call to elsewhere is known
//! what NVIDIA's ABI says: that results are in registers from R4 on, and that R16 and more are kept.

mod effect;

pub use effect::{Effect, Guard, Set};

use effect::{Backward, Scratch};

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::control_flow::{ControlFlow, Leaving};
use crate::listing::{Function, Word, instruction_target};
use crate::table::Flow;

/// So many times callers and callees are told of each other.
const ROUNDS: usize = 4;

/// What an instruction finds and leaves in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its address.
    pub address: u64,
    /// What it reads and writes.
    pub effect: Effect,
    /// What is live before it.
    pub before: Set,
    /// What is live behind it.
    pub after: Set,
}

impl Row {
    /// What is occupied while it runs: what is live before or behind it, and what it writes even if nobody reads it.
    pub fn occupied(&self) -> Set {
        self.before.union(self.after).union(self.effect.writes)
    }
}

/// The greatest numbers at a time, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Registers, and the first address that has so many.
    pub registers: (u32, u64),
    /// Predicates, and the first address that has so many.
    pub predicates: (u32, u64),
}

impl Pressure {
    /// Of all rows.
    pub fn of(rows: &[Row]) -> Self {
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

/// What calls need to know of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Summary {
    /// What it reads of what it finds.
    reads: Set,
    /// What it writes.
    writes: Set,
    /// What is live where it returns.
    returns: Set,
}

/// The lives of registers of functions that call each other: of each a row for each of its instructions.
#[derive(Debug)]
pub struct Lives<'f, 'a> {
    functions: &'f [(Function<'a>, ControlFlow)],
    /// By address of the function.
    summaries: BTreeMap<u64, Summary>,
    /// By function: what its instructions do.
    steps: Vec<Vec<Step>>,
    /// By function and block: what is live before it.
    blocks: Vec<Vec<Set>>,
}

/// What an instruction does by itself, and the call that it is.
#[derive(Clone, Copy, Debug)]
struct Step {
    address: u64,
    effect: Effect,
    call: Option<Callee>,
}

/// What is called.
#[derive(Clone, Copy, Debug)]
enum Callee {
    /// The function at an address, one of those that are solved together.
    Known(u64),
    Elsewhere,
}

impl<'f, 'a> Lives<'f, 'a> {
    /// Solves functions with their control flow.
    pub fn new(functions: &'f [(Function<'a>, ControlFlow)]) -> Self {
        let summaries: BTreeMap<u64, Summary> =
            functions.iter().map(|(function, _)| (function.address, Summary::default())).collect();
        let mut scratch = Scratch::default();
        let steps = functions.iter().map(|(function, _)| steps(function, &summaries, &mut scratch)).collect();
        let mut lives = Self { functions, summaries, steps, blocks: Vec::new() };
        for _ in 0..ROUNDS {
            let before = lives.summaries.clone();
            lives.blocks = (0..functions.len()).map(|index| lives.solve(index)).collect();
            if before == lives.summaries {
                break;
            }
        }
        lives
    }

    /// The rows of a function, in the order of addresses.
    pub fn rows(&self, function: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        let Some((_, flow)) = self.functions.get(function) else { return rows };
        let before = self.blocks.get(function).map_or(&[][..], Vec::as_slice);
        for (block, number) in flow.blocks().iter().zip(0..) {
            let mut state = Backward::new(self.behind(function, number, before));
            let start = rows.len();
            for step in self.steps_of(function, &block.addresses).iter().rev() {
                let (after, effect) = (state.live(), self.effect(step));
                state.step(&effect);
                rows.push(Row { address: step.address, effect, before: state.live(), after });
            }
            rows.get_mut(start..).unwrap_or_default().reverse();
        }
        rows
    }

    /// The steps at some addresses.
    fn steps_of(&self, function: usize, addresses: &core::ops::Range<u64>) -> &[Step] {
        let steps = self.steps.get(function).map_or(&[][..], Vec::as_slice);
        let place = |address: u64| steps.partition_point(|step| step.address < address);
        steps.get(place(addresses.start)..place(addresses.end)).unwrap_or_default()
    }

    /// What an instruction does, with what it calls.
    fn effect(&self, step: &Step) -> Effect {
        let mut effect = step.effect;
        let called = match step.call {
            None => return effect,
            Some(Callee::Known(address)) => self.summaries.get(&address).copied().unwrap_or_default(),
            Some(Callee::Elsewhere) => Summary { writes: Set::of_registers(4..16), ..Summary::default() },
        };
        effect.reads = effect.reads.union(called.reads);
        effect.writes = effect.writes.union(called.writes);
        // A register that is saved first and restored at the end is read.
        effect.replaces = effect.replaces.union(called.writes.without(called.reads));
        effect
    }

    /// What is live behind the last instruction of a block.
    fn behind(&self, function: usize, block: u32, before: &[Set]) -> Set {
        let Some((words, flow)) = self.functions.get(function) else { return Set::default() };
        let mut live = Set::default();
        for edge in flow.edges_from(block) {
            live = live.union(before.get(edge.to as usize).copied().unwrap_or_default());
        }
        if flow.leaves_of(block).any(|leaving| leaving == Leaving::Return) {
            let summary = self.summaries.get(&words.address).copied().unwrap_or_default();
            live = live.union(summary.returns);
        }
        live
    }

    /// Finds what is live before each block of a function, and tells its summary and those of what it calls.
    fn solve(&mut self, function: usize) -> Vec<Set> {
        let Some((words, flow)) = self.functions.get(function) else { return Vec::new() };
        let mut through = Vec::with_capacity(flow.blocks().len());
        let mut writes = Set::default();
        for block in flow.blocks() {
            let (mut state, mut replaces) = (Backward::default(), Set::default());
            for step in self.steps_of(function, &block.addresses).iter().rev() {
                let effect = self.effect(step);
                state.step(&effect);
                if effect.guard.is_none() {
                    replaces = replaces.union(effect.replaces);
                }
                writes = writes.union(effect.writes);
            }
            through.push((state.live(), replaces));
        }
        let before = self.settle(function, flow, &through);
        // What is live where others return to is what they have to leave.
        let mut returns = Vec::new();
        for (block, number) in flow.blocks().iter().zip(0..) {
            let steps = self.steps_of(function, &block.addresses);
            if steps.iter().all(|step| step.call.is_none()) {
                continue;
            }
            let mut state = Backward::new(self.behind(function, number, &before));
            for step in steps.iter().rev() {
                if let Some(Callee::Known(callee)) = step.call {
                    returns.push((callee, state.live()));
                }
                state.step(&self.effect(step));
            }
        }
        for (callee, live) in returns {
            if let Some(summary) = self.summaries.get_mut(&callee) {
                summary.returns = summary.returns.union(live.intersection(summary.writes));
            }
        }
        if let Some(summary) = self.summaries.get_mut(&words.address) {
            let at_entry = before.first().copied().unwrap_or_default();
            summary.writes = writes;
            // What is only passed through to the caller is no argument.
            summary.reads = at_entry.without(summary.returns.without(writes));
        }
        before
    }

    fn settle(&self, function: usize, flow: &ControlFlow, through: &[(Set, Set)]) -> Vec<Set> {
        let mut before = vec![Set::default(); through.len()];
        let mut waits = vec![true; through.len()];
        // From the end of the code: a stack gives the last first.
        let mut pending: Vec<u32> = (0..u32::try_from(through.len()).unwrap_or(0)).collect();
        while let Some(block) = pending.pop() {
            let place = block as usize;
            if let Some(waits) = waits.get_mut(place) {
                *waits = false;
            }
            let Some((reads, replaces)) = through.get(place) else { continue };
            let live = self.behind(function, block, &before).without(*replaces).union(*reads);
            let Some(known) = before.get_mut(place).filter(|known| **known != live) else { continue };
            *known = live;
            for predecessor in flow.graph().predecessors(block) {
                if let Some(waits) = waits.get_mut(*predecessor as usize).filter(|waits| !**waits) {
                    *waits = true;
                    pending.push(*predecessor);
                }
            }
        }
        before
    }
}

/// What the instructions of a function do.
fn steps(words: &Function<'_>, known: &BTreeMap<u64, Summary>, scratch: &mut Scratch) -> Vec<Step> {
    let step = |(address, word)| {
        let Word::Instruction(instruction) = word else { return None };
        let call = (instruction.operation().flow == Flow::Call).then(|| {
            let target = instruction_target(&instruction, address).filter(|at| known.contains_key(at));
            target.map_or(Callee::Elsewhere, Callee::Known)
        });
        Some(Step { address, effect: Effect::of(&instruction, scratch), call })
    };
    words.words().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assemble, isa};
    use alloc::string::String;

    fn rows(lines: &[&str]) -> Vec<Row> {
        let isa = isa::by_architecture(35).unwrap();
        let words = lines.iter().zip((0..).step_by(8)).map(|(line, address)| {
            let word = assemble::instruction(isa, line, address, 0);
            word.unwrap_or_else(|error| panic!("{line}: {error}"))
        });
        let bytes: Vec<u8> = words.flat_map(|word| u64::try_from(word).unwrap().to_le_bytes()).collect();
        let function = Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 };
        let functions = [(function, ControlFlow::new(&function, &[]))];
        Lives::new(&functions).rows(0)
    }

    fn live(rows: &[Row]) -> Vec<String> {
        let text = |row: &Row| {
            let numbers: Vec<String> =
                row.before.registers().map(|number| alloc::format!("{number}")).collect();
            numbers.join(" ")
        };
        rows.iter().map(text).collect()
    }

    #[test]
    fn from_write_to_last_read() {
        let rows = rows(&["MOV R2, 0x1", "LD.E.64 R4, [R2]", "@P0 MOV R5, R6", "ST.E.64 [R2], R4", "EXIT"]);
        assert_eq!(live(&rows), ["3 6", "2 3 6", "2 3 4 5 6", "2 3 4 5", ""]);
        assert_eq!(rows[1].effect.replaces.register_count(), 2);
        assert!(rows[2].effect.guard.is_some() && rows[2].before.has_predicate(0));
        assert_eq!(Pressure::of(&rows).registers, (5, 8));
        assert_eq!(Pressure::of(&rows).predicates, (1, 0));
    }

    #[test]
    fn what_is_written_and_read_under_one_guard() {
        let lines = ["@P0 MOV R2, R4", "@P0 IADD R3, R2, R2", "ISETP.LT.AND P0, PT, R6, R7, PT", "EXIT"];
        assert_eq!(live(&rows(&lines)), ["4 6 7", "2 6 7", "6 7", ""]);
        let lines = ["@P0 MOV R2, R4", "@!P0 ST.E [R2], R4", "EXIT"];
        assert_eq!(live(&rows(&lines)), ["2 3 4", "2 3 4", ""]);
        // Another predicate of the same name.
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
