//! The registers that an instruction reads and writes, derived from its p-code.

use alloc::vec::Vec;

use crate::Instruction;
use crate::semantics::table::Code;
use crate::semantics::{Lifted, Op, Space, Varnode, functions};
use crate::table::Kind;

/// A set of registers, predicates and condition-code flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set {
    registers: [u64; 4],
    /// Bits are indices into [`crate::semantics::table::FLAGS`].
    flags: u16,
}

/// The bits of the condition code.
const CONDITION: u16 = 0b1111;

impl Set {
    /// Returns a set of registers.
    pub(super) fn of_registers(range: core::ops::Range<u64>) -> Self {
        let mut set = Self::default();
        range.for_each(|register| set.add(Space::Register, register));
        set
    }

    /// Returns a set of one predicate.
    fn of_predicate(predicate: u8) -> Self {
        let mut set = Self::default();
        set.add(Space::Flag, u64::from(predicate).saturating_add(u64::from(CONDITION.count_ones())));
        set
    }

    fn add(&mut self, space: Space, number: u64) {
        if space == Space::Flag {
            self.flags |= 1_u16.checked_shl(u32::try_from(number).unwrap_or(u32::MAX)).unwrap_or(0);
        } else if let Some(part) =
            usize::try_from(number / 64).ok().and_then(|part| self.registers.get_mut(part))
        {
            *part |= 1 << (number % 64);
        }
    }

    fn add_varnode(&mut self, varnode: Varnode) {
        if matches!(varnode.space, Space::Register | Space::Flag) {
            let count =
                if varnode.space == Space::Register { u64::from(varnode.width).div_ceil(32) } else { 1 };
            for index in 0..count.max(1) {
                self.add(varnode.space, varnode.offset.wrapping_add(index));
            }
        }
    }

    fn combine(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let mut registers = self.registers;
        for (one, two) in registers.iter_mut().zip(other.registers) {
            *one = with(*one, two);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the flags have 16 bits")]
        let flags = with(u64::from(self.flags), u64::from(other.flags)) as u16;
        Self { registers, flags }
    }

    /// Returns the union of both sets.
    pub fn union(self, other: Self) -> Self {
        self.combine(other, |one, two| one | two)
    }

    /// Returns the intersection of both sets.
    pub fn intersection(self, other: Self) -> Self {
        self.combine(other, |one, two| one & two)
    }

    /// Returns the difference of the sets.
    pub fn without(self, other: Self) -> Self {
        self.combine(other, |one, two| one & !two)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the number of registers.
    pub fn register_count(&self) -> u32 {
        self.registers.iter().fold(0, |sum, part| sum.saturating_add(part.count_ones()))
    }

    /// Returns the number of predicates.
    pub fn predicate_count(&self) -> u32 {
        (self.flags & !CONDITION).count_ones()
    }

    /// Returns whether it contains a flag of the condition code.
    pub fn has_condition_code(&self) -> bool {
        self.flags & CONDITION != 0
    }

    /// Returns whether it contains a register.
    pub fn has_register(&self, register: u8) -> bool {
        self.registers.get(usize::from(register / 64)).is_some_and(|part| part >> (register % 64) & 1 != 0)
    }

    /// Returns whether it contains a predicate.
    pub fn has_predicate(&self, predicate: u8) -> bool {
        let bit = u32::from(predicate).saturating_add(CONDITION.count_ones());
        self.flags.checked_shr(bit).unwrap_or(0) & 1 != 0
    }

    /// Returns the registers in ascending order.
    pub fn registers(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..=u8::MAX).filter(move |register| set.has_register(*register))
    }

    /// Returns the predicates in ascending order.
    pub fn predicates(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..7).filter(move |predicate| set.has_predicate(*predicate))
    }
}

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
    /// The predicate's number.
    pub predicate: u8,
    /// Whether the predicate must be false.
    pub not: bool,
}

impl Guard {
    fn of(instruction: &Instruction) -> Option<Self> {
        let operand = instruction.operands().find(|operand| operand.kind == Kind::Guard)?;
        let predicate = u8::try_from(instruction.number(operand.value)).ok().filter(|number| *number < 7)?;
        Some(Self { predicate, not: instruction.flag(operand.not) })
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
            inputs.iter().for_each(|input| read.add_varnode(*input));
            effect.reads = effect.reads.union(read.without(written.unwrap_or_default()));
            match op.code {
                Code::Branch => pending.extend(written.take().map(|set| (usize::from(op.to), set))),
                Code::BranchUnless if is_guard => is_guard = false,
                Code::BranchUnless => pending.extend(written.map(|set| (usize::from(op.to), set))),
                _ => {}
            }
            if let Some(output) = op.output {
                let mut set = Set::default();
                set.add_varnode(output);
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
    Some(Set::of_registers(first..first.saturating_add(u64::from(mask.count_ones()))))
}

/// The state of the backward scan over a block: what is live at the current instruction.
///
/// Registers read only under a guard are kept separately while the guard's predicate is unchanged, so that an earlier
/// write under the same guard ends their liveness.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackwardScan {
    always: Set,
    /// Live under a guard, by predicate and negation.
    under: [Set; 14],
    /// Which entries of `under` may be non-empty.
    used: u16,
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
        let slot = effect
            .guard
            .map(|guard| usize::from(guard.predicate).wrapping_mul(2).wrapping_add(usize::from(guard.not)));
        match slot.and_then(|slot| self.under.get_mut(slot)) {
            Some(under) => *under = under.without(effect.replaces),
            None => {
                self.always = self.always.without(effect.replaces);
                self.each(|under, _| *under = under.without(effect.replaces));
            }
        }
        if effect.writes.predicate_count() > 0 {
            for predicate in effect.writes.predicates() {
                self.merge_guarded(predicate);
            }
        }
        match (slot, effect.guard) {
            (Some(slot), Some(guard)) => {
                let own = Set::of_predicate(guard.predicate);
                self.always = self.always.union(effect.reads.intersection(own));
                if let Some(under) = self.under.get_mut(slot) {
                    *under = under.union(effect.reads.without(own));
                    self.used |= 1_u16.wrapping_shl(u32::try_from(slot).unwrap_or(0));
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

    /// Merges what is live under a predicate into `always`, because the predicate is written here.
    fn merge_guarded(&mut self, predicate: u8) {
        let mut all = Set::default();
        self.each(|under, slot| {
            if slot / 2 == usize::from(predicate) {
                all = all.union(core::mem::take(under));
            }
        });
        self.always = self.always.union(all);
    }
}
