//! The registers that an instruction reads and writes, derived from its p-code.

use alloc::vec::Vec;

use crate::Instruction;
use crate::semantics::table::Code;
use crate::semantics::{Lifted, Op, Space, Varnode, functions};
use crate::table::Kind;

use super::roles;
use super::set::{File, Set};

/// The registers and predicates that an instruction reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// What it reads.
    pub reads: Set,
    /// What it may write.
    pub writes: Set,
    /// What it always overwrites if its guard holds.
    pub replaces: Set,
    /// Its guard; `None` if it is unconditional.
    pub guard: Option<Guard>,
}

/// The predicate that guards an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Whether it is a uniform predicate.
    pub is_uniform: bool,
    /// The predicate's number.
    pub predicate: u8,
    /// Whether the predicate must be false.
    pub not: bool,
}

impl Guard {
    pub(super) fn of(instruction: &Instruction) -> Option<Self> {
        let operand = instruction.operands().find(|operand| operand.kind.is_guard())?;
        let predicate = u8::try_from(instruction.number(operand.value)).ok().filter(|number| *number < 7)?;
        let is_uniform = operand.kind == Kind::UniformGuard;
        Some(Self { is_uniform, predicate, not: instruction.flag(operand.not) })
    }

    /// Returns the set of its predicate.
    pub(super) fn set(self) -> Set {
        let file = if self.is_uniform { File::UniformPredicates } else { File::Predicates };
        Set::of(file, u64::from(self.predicate), 1)
    }

    /// Returns its place among all guards.
    fn place(self) -> usize {
        let first = if self.is_uniform { 14 } else { 0 };
        usize::from(self.predicate).wrapping_mul(2).wrapping_add(usize::from(self.not)).wrapping_add(first)
    }
}

/// Buffers that are reused for each instruction.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    lifted: Lifted,
    /// Pending branches inside the instruction: target operation, and what was written before the branch.
    pending: Vec<(usize, Set)>,
    /// By temporary: whether its value has an effect.
    used: Vec<bool>,
    /// By operation: whether it has an effect.
    needed: Vec<bool>,
}

impl Scratch {
    /// Marks the operations with an effect. The inputs of the others, whose results are unused, do not count as read.
    fn find_used(&mut self) {
        let Self { lifted, used, needed, .. } = self;
        used.clear();
        used.resize(lifted.temporaries(), false);
        needed.clear();
        needed.resize(lifted.ops().len(), true);
        let temporary = |varnode: &Varnode| {
            let is_temporary = varnode.space == Space::Temporary;
            usize::try_from(varnode.offset).ok().filter(|_| is_temporary)
        };
        // One backward pass suffices, because branches inside an instruction lead forward.
        for (op, needed) in lifted.ops().iter().zip(needed.iter_mut()).rev() {
            let output = op.output.as_ref().and_then(temporary);
            *needed = has_effect(op) || output.is_none_or(|output| used.get(output) == Some(&true));
            if *needed {
                for input in lifted.inputs(op).iter().filter_map(temporary) {
                    if let Some(used) = used.get_mut(input) {
                        *used = true;
                    }
                }
            }
        }
    }
}

/// Returns whether an operation does more than compute its output.
fn has_effect(op: &Op) -> bool {
    match op.code {
        Code::Function(number) => functions().get(usize::from(number)).is_none_or(|function| !function.pure),
        Code::Load(_) => true,
        _ => false,
    }
}

impl Effect {
    /// Derives the effect of an instruction.
    pub(super) fn of(instruction: &Instruction, scratch: &mut Scratch) -> Self {
        if !instruction.isa.has_semantics {
            return roles::effect(instruction);
        }
        scratch.lifted.lift(instruction, 0);
        scratch.find_used();
        let Scratch { lifted, pending, needed, .. } = scratch;
        pending.clear();
        let mut effect = Self { guard: Guard::of(instruction), ..Self::default() };
        // The guard is the first branch, over everything; ignore it, as if the guard held.
        let mut is_guard = effect.guard.is_some();
        // What was written so far; `None` in unreachable operations.
        let mut written = Some(Set::default());
        for ((index, op), needed) in lifted.ops().iter().enumerate().zip(needed.iter()) {
            written = merge(written, index, pending);
            if !needed {
                continue;
            }
            let inputs = lifted.inputs(op);
            let inputs = inputs.get(..read_count(instruction, op, inputs.len())).unwrap_or(inputs);
            let mut read = Set::default();
            inputs.iter().for_each(|input| add_varnode(&mut read, *input));
            effect.reads = effect.reads.union(read.without(written.unwrap_or_default()));
            match op.code {
                Code::Branch => pending.extend(written.take().map(|set| (usize::from(op.to), set))),
                Code::BranchUnless if is_guard => is_guard = false,
                Code::BranchUnless => pending.extend(written.map(|set| (usize::from(op.to), set))),
                _ => {}
            }
            if let Some(output) = op.output {
                let mut set = Set::default();
                add_varnode(&mut set, output);
                effect.writes = effect.writes.union(set);
                written = written.map(|written| written.union(set));
            }
        }
        effect.replaces = merge(written, usize::MAX, pending).unwrap_or_default();
        if let Some(results) = texture_results(instruction, lifted) {
            // The p-code tests the mask at run time, but it is a constant of the word.
            let kept = effect.writes.intersection(results);
            effect.writes = kept;
            effect.replaces = kept;
        }
        effect
    }
}

fn add_varnode(set: &mut Set, varnode: Varnode) {
    let count = u64::from(varnode.width).div_ceil(32).max(1);
    match varnode.space {
        Space::Register => set.add(File::Registers, varnode.offset, count),
        Space::Flag => set.add_flag(varnode.offset),
        _ => {}
    }
}

/// Merges pending branches to an operation: returns what is written on all paths to it.
fn merge(mut written: Option<Set>, index: usize, pending: &mut Vec<(usize, Set)>) -> Option<Set> {
    pending.retain(|&(to, set)| {
        let is_here = to <= index;
        if is_here {
            written = Some(written.map_or(set, |written| written.intersection(set)));
        }
        !is_here
    });
    written
}

fn function_name(op: &Op) -> &'static str {
    match op.code {
        Code::Function(number) => functions().get(usize::from(number)).map_or("", |function| function.name),
        _ => "",
    }
}

/// Returns how many of its inputs an operation reads. Texture instructions have four registers for each source; shape and
/// modifiers determine how many of them they read.
fn read_count(instruction: &Instruction, op: &Op, all: usize) -> usize {
    match function_name(op) {
        "texture_coordinates" => coordinates(instruction),
        "texture_arguments" => arguments(instruction),
        _ => all,
    }
}

fn coordinates(instruction: &Instruction) -> usize {
    match instruction.modifier("tex_target") {
        Some("t2d" | "array_1d") => 2,
        Some("t3d" | "cube" | "array_2d") => 3,
        Some("array_3d" | "array_cube") => 4,
        _ => 1,
    }
}

fn arguments(instruction: &Instruction) -> usize {
    const ONE_REGISTER_EACH: [(&str, &[&str]); 6] = [
        ("lod", &["lb", "ll", "lba", "lla"]),
        ("tld_lod", &["ll"]),
        ("aoffi", &["aoffi"]),
        ("tld4_offset", &["aoffi"]),
        ("dc", &["dc"]),
        ("ms", &["ms"]),
    ];
    let has =
        |slot: &str, values: &[&str]| instruction.modifier(slot).is_some_and(|name| values.contains(&name));
    let mut count = ONE_REGISTER_EACH.iter().filter(|(slot, values)| has(slot, values)).count();
    if has("tld4_offset", &["ptp"]) {
        count = count.saturating_add(2);
    }
    if instruction.operation().mnemonic == "TXD"
        || instruction.isa.text(instruction.encoding.form) == "bindless"
    {
        // Two derivatives per coordinate, or a bindless handle.
        return 4;
    }
    count.min(4)
}

/// Returns the registers that a texture instruction writes: from its destination on, one for each bit of its mask.
fn texture_results(instruction: &Instruction, lifted: &Lifted) -> Option<Set> {
    lifted.ops().iter().find(|op| function_name(op) == "texture_result")?;
    let first = instruction.number(instruction.operand("d")?.value).cast_unsigned();
    let mask = instruction.number(instruction.operand("n")?.value);
    Some(Set::of(File::Registers, first, u64::from(mask.count_ones())))
}

/// The state of the backward scan over a block: what is live at the current instruction.
///
/// Registers read only under a guard are kept separately while the guard's predicate is unchanged, so that an earlier
/// write under the same guard ends their liveness.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackwardScan {
    always: Set,
    /// Live under a guard, by predicate and negation; first the predicates, then the uniform ones.
    under: [Set; 28],
    /// Which entries of `under` may be non-empty.
    used: u32,
}

impl BackwardScan {
    pub(super) fn new(live: Set) -> Self {
        Self { always: live, ..Self::default() }
    }

    /// Returns what is live here.
    pub(super) fn live(&self) -> Set {
        if self.used == 0 {
            return self.always;
        }
        self.under.iter().fold(self.always, |all, set| all.union(*set))
    }

    /// Steps back over an instruction.
    pub(super) fn step(&mut self, effect: &Effect) {
        let slot = effect.guard.map(Guard::place);
        match slot.and_then(|slot| self.under.get_mut(slot)) {
            Some(under) => *under = under.without(effect.replaces),
            None => {
                self.always = self.always.without(effect.replaces);
                self.each(|under, _| *under = under.without(effect.replaces));
            }
        }
        if effect.writes.has_predicates() && self.used != 0 {
            let uniform =
                effect.writes.uniform_predicates().map(|number| usize::from(number).saturating_add(7));
            for place in effect.writes.predicates().map(usize::from).chain(uniform) {
                self.merge_guarded(place);
            }
        }
        match (slot, effect.guard) {
            (Some(slot), Some(guard)) => {
                let own = guard.set();
                self.always = self.always.union(effect.reads.intersection(own));
                if let Some(under) = self.under.get_mut(slot) {
                    *under = under.union(effect.reads.without(own));
                    self.used |= 1_u32.wrapping_shl(u32::try_from(slot).unwrap_or(0));
                }
            }
            _ => self.always = self.always.union(effect.reads),
        }
    }

    fn each(&mut self, mut change: impl FnMut(&mut Set, usize)) {
        if self.used != 0 {
            self.under.iter_mut().enumerate().for_each(|(slot, under)| change(under, slot));
        }
    }

    /// Merges what is live under a predicate into `always`, because the predicate is written here. Uniform predicates are
    /// numbered from 7.
    fn merge_guarded(&mut self, predicate: usize) {
        let mut all = Set::default();
        self.each(|under, slot| {
            if slot / 2 == predicate {
                all = all.union(core::mem::take(under));
            }
        });
        self.always = self.always.union(all);
    }
}
