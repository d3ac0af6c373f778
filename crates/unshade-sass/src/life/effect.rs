//! What an instruction reads and writes, from its p-code.

use alloc::vec::Vec;

use crate::Instruction;
use crate::semantics::table::Code;
use crate::semantics::{Lifted, Op, Space, Varnode, functions};
use crate::table::Kind;

/// A set of registers, predicates and flags of the condition code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set {
    registers: [u64; 4],
    /// By the number of [`crate::semantics::table::FLAGS`].
    flags: u16,
}

/// The flags that are the condition code.
const CONDITION: u16 = 0b1111;

impl Set {
    /// All registers from one to another, exclusively.
    pub(super) fn of_registers(range: core::ops::Range<u64>) -> Self {
        let mut set = Self::default();
        range.for_each(|register| set.add(Space::Register, register));
        set
    }

    /// A predicate.
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
            for place in 0..count.max(1) {
                self.add(varnode.space, varnode.offset.wrapping_add(place));
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

    /// What is in either.
    pub fn union(self, other: Self) -> Self {
        self.combine(other, |one, two| one | two)
    }

    /// What is in both.
    pub fn intersection(self, other: Self) -> Self {
        self.combine(other, |one, two| one & two)
    }

    /// What is not in the other.
    pub fn without(self, other: Self) -> Self {
        self.combine(other, |one, two| one & !two)
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// How many registers there are.
    pub fn register_count(&self) -> u32 {
        self.registers.iter().fold(0, |sum, part| sum.saturating_add(part.count_ones()))
    }

    /// How many predicates there are.
    pub fn predicate_count(&self) -> u32 {
        (self.flags & !CONDITION).count_ones()
    }

    /// Whether some flag of the condition code is in it.
    pub fn has_condition_code(&self) -> bool {
        self.flags & CONDITION != 0
    }

    /// Whether a register is in it.
    pub fn has_register(&self, register: u8) -> bool {
        self.registers.get(usize::from(register / 64)).is_some_and(|part| part >> (register % 64) & 1 != 0)
    }

    /// Whether a predicate is in it.
    pub fn has_predicate(&self, predicate: u8) -> bool {
        let bit = u32::from(predicate).saturating_add(CONDITION.count_ones());
        self.flags.checked_shr(bit).unwrap_or(0) & 1 != 0
    }

    /// The numbers of the registers, in ascending order.
    pub fn registers(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..=u8::MAX).filter(move |register| set.has_register(*register))
    }

    /// The numbers of the predicates, in ascending order.
    pub fn predicates(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..7).filter(move |predicate| set.has_predicate(*predicate))
    }
}

/// What an instruction does with registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// What it reads.
    pub reads: Set,
    /// What it may write.
    pub writes: Set,
    /// What it writes in any case if it is executed, so that nobody can see what was there.
    pub replaces: Set,
    /// What it is executed under.
    pub guard: Option<Guard>,
}

/// A predicate that an instruction is executed under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate's number.
    pub predicate: u8,
    /// Whether it must not hold.
    pub not: bool,
}

impl Guard {
    fn of(instruction: &Instruction) -> Option<Self> {
        let operand = instruction.operands().find(|operand| operand.kind == Kind::Guard)?;
        let predicate = u8::try_from(instruction.number(operand.value)).ok().filter(|number| *number < 7)?;
        Some(Self { predicate, not: instruction.flag(operand.not) })
    }
}

/// Memory to work in.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    lifted: Lifted,
    /// Branches inside of an instruction that are still to arrive: where, and what was written up to them.
    pending: Vec<(usize, Set)>,
    /// By temporary: whether something comes of it.
    used: Vec<bool>,
    /// By operation: the same.
    counts: Vec<bool>,
}

impl Scratch {
    /// Finds the operations of which something comes: what only goes into names that nobody uses is not read.
    fn find_used(&mut self) {
        let Self { lifted, used, counts, .. } = self;
        used.clear();
        used.resize(lifted.temporaries(), false);
        counts.clear();
        counts.resize(lifted.ops().len(), true);
        let place = |varnode: &Varnode| {
            let is_temporary = varnode.space == Space::Temporary;
            usize::try_from(varnode.offset).ok().filter(|_| is_temporary)
        };
        // Branches inside of an instruction lead forward.
        for (op, counts) in lifted.ops().iter().zip(counts.iter_mut()).rev() {
            let output = op.output.as_ref().and_then(place);
            *counts = has_effect(op) || output.is_none_or(|output| used.get(output) == Some(&true));
            if *counts {
                for input in lifted.inputs(op).iter().filter_map(place) {
                    if let Some(used) = used.get_mut(input) {
                        *used = true;
                    }
                }
            }
        }
    }
}

/// Whether an operation does more than to make its output.
fn has_effect(op: &Op) -> bool {
    match op.code {
        Code::Function(number) => functions().get(usize::from(number)).is_none_or(|function| !function.pure),
        Code::Load(_) => true,
        _ => false,
    }
}

impl Effect {
    /// What an instruction does.
    pub(super) fn of(instruction: &Instruction, scratch: &mut Scratch) -> Self {
        scratch.lifted.lift(instruction, 0);
        scratch.find_used();
        let Scratch { lifted, pending, counts, .. } = scratch;
        pending.clear();
        let mut effect = Self { guard: Guard::of(instruction), ..Self::default() };
        // The guard is the first branch, over everything: what follows is as if it held.
        let mut is_guard = effect.guard.is_some();
        // What was written so far; none where nothing comes to.
        let mut written = Some(Set::default());
        for ((index, op), counts) in lifted.ops().iter().enumerate().zip(counts.iter()) {
            written = arrive(written, index, pending);
            if !counts {
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
        effect.replaces = arrive(written, usize::MAX, pending).unwrap_or_default();
        if let Some(results) = texture_results(instruction, lifted) {
            // How many there are, p-code decides when it runs, though the word says it.
            let kept = effect.writes.intersection(results);
            effect.writes = kept;
            effect.replaces = kept;
        }
        effect
    }
}

/// What was written in any case where an operation begins to which branches arrive.
fn arrive(mut written: Option<Set>, index: usize, pending: &mut Vec<(usize, Set)>) -> Option<Set> {
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

/// How many of its inputs an operation reads. Texture instructions have four registers for each of their sources, of
/// which they read what their shape and modifiers ask for.
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
    const ONE_MORE: [(&str, &[&str]); 6] = [
        ("lod", &["lb", "ll", "lba", "lla"]),
        ("tld_lod", &["ll"]),
        ("aoffi", &["aoffi"]),
        ("tld4_offset", &["aoffi"]),
        ("dc", &["dc"]),
        ("ms", &["ms"]),
    ];
    let has =
        |slot: &str, values: &[&str]| instruction.modifier(slot).is_some_and(|name| values.contains(&name));
    let mut count = ONE_MORE.iter().filter(|(slot, values)| has(slot, values)).count();
    if has("tld4_offset", &["ptp"]) {
        count = count.saturating_add(2);
    }
    if instruction.operation().mnemonic == "TXD"
        || instruction.isa.text(instruction.encoding.form) == "bindless"
    {
        // Two derivatives for each coordinate, or a handle.
        return 4;
    }
    count.min(4)
}

/// The registers that a texture instruction writes: as many as its mask has bits, from its destination on.
fn texture_results(instruction: &Instruction, lifted: &Lifted) -> Option<Set> {
    lifted.ops().iter().find(|op| function_name(op) == "texture_result")?;
    let first = instruction.number(instruction.operand("d")?.value).cast_unsigned();
    let mask = instruction.number(instruction.operand("n")?.value);
    Some(Set::of_registers(first..first.saturating_add(u64::from(mask.count_ones()))))
}

/// What is live, going from the last instruction to the first.
///
/// What is read only under a guard is kept apart as long as the guard's predicate stays what it is: an instruction before
/// that writes it under the same guard is where it begins to live.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backward {
    always: Set,
    /// By predicate and whether it must not hold.
    under: [Set; 14],
    /// Which of these have something in them.
    used: u16,
}

impl Backward {
    pub(super) fn new(live: Set) -> Self {
        Self { always: live, ..Self::default() }
    }

    /// What is live here.
    pub(super) fn live(&self) -> Set {
        if self.used == 0 {
            return self.always;
        }
        self.under.iter().fold(self.always, |all, set| all.union(*set))
    }

    /// Goes back over an instruction.
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
                self.forget(predicate);
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

    /// What was read under a predicate that was another before.
    fn forget(&mut self, predicate: u8) {
        let mut all = Set::default();
        self.each(|under, slot| {
            if slot / 2 == usize::from(predicate) {
                all = all.union(core::mem::take(under));
            }
        });
        self.always = self.always.union(all);
    }
}
