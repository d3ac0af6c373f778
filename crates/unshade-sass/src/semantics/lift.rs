//! Lifting: the steps of an operation with all modifiers resolved and all operands substituted.

use alloc::vec::Vec;

use super::table::{Class, Code, FIRST_PREDICATE, Program, Step, Value};
use super::{Op, Space, Varnode};
use crate::generated::semantics::{FORM, JOIN, PROGRAMS};
use crate::instruction::Instruction;
use crate::print::target;
use crate::table::{Field, Kind, NONE, Operand};

/// The p-code of one instruction. Lifting into the same again reuses its memory.
#[derive(Clone, Debug, Default)]
pub struct Lifted {
    ops: Vec<Op>,
    inputs: Vec<Varnode>,
    temporaries: u64,
    /// Buffer for the inputs of the current operation.
    values: Vec<Varnode>,
    /// Branches without a target yet: (target step, index of the branch).
    pending: Vec<(usize, usize)>,
}

impl Lifted {
    /// Returns the operations.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Returns the inputs of an operation.
    pub fn inputs(&self, op: &Op) -> &[Varnode] {
        let start = usize::from(op.inputs.0);
        self.inputs.get(start..start.saturating_add(usize::from(op.inputs.1))).unwrap_or(&[])
    }

    /// Returns the number of temporaries.
    pub fn temporaries(&self) -> usize {
        usize::try_from(self.temporaries).unwrap_or(0)
    }

    /// Lifts the instruction at an address.
    pub fn lift(&mut self, instruction: &Instruction, address: u64) {
        self.ops.clear();
        self.inputs.clear();
        self.pending.clear();
        let Some(program) = PROGRAMS.get(usize::from(instruction.operation().program)) else { return };
        self.temporaries = program.temporaries.len() as u64;
        let mut lifting = Lifting { out: self, instruction, address, program, last_test: None };
        let guarded = lifting.guard();
        lifting.steps();
        if modifier(instruction, JOIN) == Some("on") {
            lifting.reconverge();
        }
        let end = lifting.out.ops.len();
        if let Some(guard) = guarded {
            lifting.out.set_target(guard, end);
        }
    }

    fn set_target(&mut self, branch: usize, to: usize) {
        if let (Some(op), Ok(to)) = (self.ops.get_mut(branch), u16::try_from(to)) {
            op.to = to;
        }
    }
}

struct Lifting<'a> {
    out: &'a mut Lifted,
    instruction: &'a Instruction,
    address: u64,
    program: &'static Program,
    /// The slot and value of the modifier that was tested last; tests of one modifier are adjacent.
    last_test: Option<(u16, Option<&'static str>)>,
}

impl Lifting<'_> {
    /// Emits a branch over everything, taken if the guard does not hold.
    fn guard(&mut self) -> Option<usize> {
        let operand = self.instruction.operands().find(|operand| operand.kind == Kind::Guard)?;
        let value = self.truth(operand);
        if value == Varnode::number(1, 1) {
            return None;
        }
        Some(self.push(Code::BranchUnless, None, &[value]))
    }

    fn reconverge(&mut self) {
        let found = super::functions().iter().position(|function| function.name == "reconverge");
        if let Some(index) = found.and_then(|index| u16::try_from(index).ok()) {
            self.push(Code::Function(index), None, &[]);
        }
    }

    fn steps(&mut self) {
        let steps = self.program.steps;
        let mut at = 0_usize;
        while let Some(step) = steps.get(at) {
            self.resolve_branches(at);
            at = at.saturating_add(1);
            match *step {
                Step::Do(code, output, inputs) => self.step(code, output, inputs),
                Step::When(slot, values, count) => {
                    if !self.tested(slot, values) {
                        at = at.saturating_add(usize::from(count));
                    }
                }
                Step::Unless(value, count) => {
                    let value = self.value(value);
                    let branch = self.push(Code::BranchUnless, None, &[value]);
                    self.out.pending.push((at.saturating_add(usize::from(count)), branch));
                }
                Step::Otherwise(count) => at = at.saturating_add(usize::from(count)),
                Step::Jump(count) => {
                    let branch = self.push(Code::Branch, None, &[]);
                    self.out.pending.push((at.saturating_add(usize::from(count)), branch));
                }
            }
        }
        self.resolve_branches(steps.len());
    }

    /// Sets the target of pending branches to this step.
    fn resolve_branches(&mut self, step: usize) {
        let here = self.out.ops.len();
        while let Some(index) = self.out.pending.iter().position(|entry| entry.0 <= step) {
            let (_, branch) = self.out.pending.swap_remove(index);
            self.out.set_target(branch, here);
        }
    }

    fn push(&mut self, code: Code, output: Option<Varnode>, inputs: &[Varnode]) -> usize {
        let start = u16::try_from(self.out.inputs.len()).unwrap_or(u16::MAX);
        self.out.inputs.extend_from_slice(inputs);
        let count = u16::try_from(inputs.len()).unwrap_or(u16::MAX);
        self.out.ops.push(Op { code, output, inputs: (start, count), to: 0 });
        self.out.ops.len().saturating_sub(1)
    }

    fn step(&mut self, code: Code, output: Option<Value>, inputs: &[Value]) {
        // Computing an input can emit operations, which have inputs of their own.
        let mut values = core::mem::take(&mut self.out.values);
        values.clear();
        values.extend(inputs.iter().map(|value| self.value(*value)));
        let output = output.and_then(|output| self.destination(output));
        self.push(code, output, &values);
        self.out.values = values;
    }

    fn temporary(&mut self, width: u8) -> Varnode {
        let offset = self.out.temporaries;
        self.out.temporaries = offset.saturating_add(1);
        Varnode { space: Space::Temporary, offset, width }
    }

    /// Returns whether a modifier, an operand's sign or selected part, or the form has one of these values.
    fn tested(&mut self, slot: u16, values: &[&str]) -> bool {
        if let Some((_, name)) = self.last_test.filter(|test| test.0 == slot) {
            return name.is_some_and(|name| values.contains(&name));
        }
        if slot == FORM {
            return values.contains(&self.instruction.isa.text(self.instruction.encoding.form));
        }
        if let Some(operand) = self.operand(slot) {
            let selected = self.instruction.field(operand.select);
            let selected =
                selected.and_then(|field| self.instruction.modifier_value(field)).map(|value| value.0);
            return values.iter().any(|value| match *value {
                "neg" => self.instruction.flag(operand.negate),
                "abs" => self.instruction.flag(operand.absolute),
                "inv" => self.instruction.flag(operand.invert),
                value => selected == Some(value),
            });
        }
        let name = modifier(self.instruction, slot).or_else(|| Some(self.default_of(slot)?.1));
        self.last_test = Some((slot, name));
        name.is_some_and(|name| values.contains(&name))
    }

    fn operand(&self, slot: u16) -> Option<&'static Operand> {
        self.instruction.operands().find(|operand| operand.slot == slot)
    }

    /// Returns index and name of the default value of a modifier that the encoding has no field for.
    fn default_of(&self, slot: u16) -> Option<(usize, &'static str)> {
        let declared = self.declared(slot)?;
        let number =
            declared.values.iter().position(|value| value.1.is_empty() && value.0 != "-").unwrap_or(0);
        Some((number, declared.values.get(number)?.0))
    }

    fn declared(&self, slot: u16) -> Option<&'static crate::table::Modifier> {
        let name = self.instruction.isa.text(slot);
        let entry = self.instruction.operation().modifiers.iter().find(|entry| entry.0 == name)?;
        self.instruction.isa.modifiers.get(usize::from(entry.1))
    }

    /// Returns the index of a modifier's value, in the modifier that the operation declares.
    fn choice(&self, slot: u16) -> u64 {
        let Some(declared) = self.declared(slot) else { return 0 };
        let Some(field) = modifier_field(self.instruction, slot) else {
            return self.default_of(slot).map_or(0, |entry| entry.0 as u64);
        };
        let (Some(bound), Some(number)) =
            (self.instruction.isa.modifiers.get(usize::from(field.modifier)), self.instruction.choice(field))
        else {
            return 0;
        };
        let number = usize::from(number);
        if core::ptr::eq(bound, declared) {
            return number as u64;
        }
        let Some(value) = bound.values.get(number) else { return 0 };
        let by_name = declared.values.iter().position(|other| other.0 == value.0);
        by_name.or_else(|| declared.values.iter().position(|other| other.1 == value.1)).unwrap_or(number)
            as u64
    }

    fn value(&mut self, value: Value) -> Varnode {
        match value {
            Value::Temporary(index) => self.program_temporary(index),
            Value::Number(number, width) => Varnode::number(number, width),
            Value::Flag(number) => Varnode { space: Space::Flag, offset: u64::from(number), width: 1 },
            Value::Next => {
                Varnode::number(self.address.wrapping_add(self.instruction.isa.word_bytes as u64), 64)
            }
            Value::Choice(slot) => Varnode::number(self.choice(slot), 8),
            Value::Select(slot) => {
                Varnode::number(self.part(slot, |operand| operand.select).unwrap_or(u8::MAX.into()), 8)
            }
            Value::Negated(slot) => {
                Varnode::number(self.part(slot, |operand| operand.negate).unwrap_or(0), 8)
            }
            Value::Operand(slot, width, lane, class) => match self.operand(slot) {
                Some(operand) => {
                    let plain = self.unsigned_operand(operand, slot, width, lane);
                    if class == Class::Raw || width == 1 { plain } else { self.signed(operand, plain, class) }
                }
                None => Varnode::number(0, width),
            },
        }
    }

    fn part(&self, slot: u16, part: fn(&Operand) -> u16) -> Option<u64> {
        let field = self.operand(slot).and_then(|operand| self.instruction.field(part(operand)));
        Some(field?.raw(self.instruction.word))
    }

    fn program_temporary(&self, index: u16) -> Varnode {
        let width = self.program.temporaries.get(usize::from(index)).copied().unwrap_or(32);
        Varnode { space: Space::Temporary, offset: u64::from(index), width }
    }

    /// Returns a destination; `None` for `RZ` and `PT`.
    fn destination(&mut self, value: Value) -> Option<Varnode> {
        match value {
            Value::Temporary(index) => Some(self.program_temporary(index)),
            Value::Flag(number) => Some(Varnode { space: Space::Flag, offset: u64::from(number), width: 1 }),
            Value::Operand(slot, width, lane, _) => {
                let operand = self.operand(slot)?;
                match operand.kind {
                    Kind::Predicate | Kind::OptionalPredicate => {
                        let number = self.instruction.number(operand.value).cast_unsigned();
                        let offset = number.wrapping_add(FIRST_PREDICATE);
                        (number < 7).then_some(Varnode { space: Space::Flag, offset, width: 1 })
                    }
                    _ => self
                        .register(operand.value, u64::from(lane), width)
                        .filter(|varnode| varnode.space == Space::Register),
                }
            }
            _ => None,
        }
    }

    /// Returns the register `lane` registers after the encoded one; the constant 0 for `RZ`.
    fn register(&self, part: u16, lane: u64, width: u8) -> Option<Varnode> {
        let field = self.instruction.field(part)?;
        let number = field.raw(self.instruction.word);
        let zero = 1_u64.wrapping_shl(u32::from(field.width)).wrapping_sub(1);
        let register = number.wrapping_add(lane);
        if number >= zero || register >= zero {
            return Some(Varnode::number(0, width));
        }
        Some(Varnode { space: Space::Register, offset: register, width })
    }

    fn truth(&mut self, operand: &Operand) -> Varnode {
        let number = self.instruction.number(operand.value).cast_unsigned();
        let not = self.instruction.flag(operand.not);
        if number >= 7 {
            return Varnode::number(u64::from(!not), 1);
        }
        let value = Varnode { space: Space::Flag, offset: number.wrapping_add(FIRST_PREDICATE), width: 1 };
        if not { self.compute(Code::BoolNot, &[value], 1) } else { value }
    }

    fn compute(&mut self, code: Code, inputs: &[Varnode], width: u8) -> Varnode {
        let output = self.temporary(width);
        self.push(code, Some(output), inputs);
        output
    }

    /// Returns the value of an operand without its signs.
    fn unsigned_operand(&mut self, operand: &Operand, slot: u16, width: u8, lane: u8) -> Varnode {
        let number = |part: u16| self.instruction.number(part).cast_unsigned();
        let lane = u64::from(lane);
        let none = Varnode::number(0, width);
        match operand.kind {
            Kind::Register | Kind::NonzeroRegister | Kind::OptionalRegister => {
                self.register(operand.value, lane, width).unwrap_or(none)
            }
            Kind::RegisterPlus1 => self.register(operand.value, lane.wrapping_add(1), width).unwrap_or(none),
            Kind::RegisterPlus2 => self.register(operand.value, lane.wrapping_add(2), width).unwrap_or(none),
            Kind::Predicate | Kind::OptionalPredicate | Kind::Guard => self.truth(operand),
            Kind::Constant | Kind::ConstantSpaced => {
                let offset = number(operand.offset).wrapping_add(lane.wrapping_mul(4)) & 0xffff;
                let offset = number(operand.bank).wrapping_shl(16) | offset;
                let roles = self.instruction.operation().operands;
                let name = self.instruction.isa.text(slot);
                let label = roles.iter().any(|role| role.ty == "label" && role.slot == name);
                if label {
                    return self.compute(
                        Code::ZeroExtend,
                        &[Varnode { space: Space::Constant, offset, width: 32 }],
                        64,
                    );
                }
                Varnode { space: Space::Constant, offset, width }
            }
            Kind::ConstantIndexed | Kind::ConstantBranch => {
                let offset = number(operand.bank).wrapping_shl(16).wrapping_add(number(operand.offset));
                self.sum(operand.base, offset, 32)
            }
            Kind::Memory => {
                let offset = number(operand.offset);
                let no_register =
                    self.register(operand.base, 0, width).is_none_or(|base| base.space == Space::Number);
                // Without a base register, the offset is an unsigned address.
                let offset = match self.instruction.field(operand.offset) {
                    Some(field) if no_register => {
                        field.raw(self.instruction.word).wrapping_shl(u32::from(field.shift))
                    }
                    _ => offset,
                };
                self.sum(operand.base, offset, width)
            }
            Kind::Relative | Kind::Absolute => {
                Varnode::number(target(self.instruction, operand, self.address).cast_unsigned(), width)
            }
            _ => Varnode::number(masked(number(operand.value), width), width),
        }
    }

    fn sum(&mut self, base: u16, offset: u64, width: u8) -> Varnode {
        let offset = masked(offset, width);
        match self.register(base, 0, width) {
            Some(base) if base.space == Space::Register && offset == 0 => base,
            Some(base) if base.space == Space::Register => {
                self.compute(Code::Add, &[base, Varnode::number(offset, width)], width)
            }
            _ => Varnode::number(offset, width),
        }
    }

    /// Applies the signs of an operand: inverts, takes the absolute value, negates, in this order.
    fn signed(&mut self, operand: &Operand, plain: Varnode, class: Class) -> Varnode {
        let width = plain.width;
        let sign = 1_u64.wrapping_shl(u32::from(width).wrapping_sub(1));
        let mut value = plain;
        if self.instruction.flag(operand.invert) {
            value = self.compute(Code::Not, &[value], width);
        }
        if self.instruction.flag(operand.absolute) {
            value = if class == Class::Float {
                self.compute(Code::And, &[value, Varnode::number(sign.wrapping_sub(1), width)], width)
            } else {
                let result = self.compute(Code::Copy, &[value], width);
                let negative = self.compute(Code::SignedLess, &[value, Varnode::number(0, width)], 1);
                let branch = self.push(Code::BranchUnless, None, &[negative]);
                self.push(Code::Negate, Some(result), &[result]);
                let here = self.out.ops.len();
                self.out.set_target(branch, here);
                result
            };
        }
        if self.instruction.flag(operand.negate) {
            value = if class == Class::Float {
                self.compute(Code::Xor, &[value, Varnode::number(sign, width)], width)
            } else {
                self.compute(Code::Negate, &[value], width)
            };
        }
        value
    }
}

/// Returns the field of a modifier.
fn modifier_field(instruction: &Instruction, slot: u16) -> Option<&'static Field> {
    instruction.fields().find(|field| field.slot == slot && field.modifier != NONE)
}

/// Returns the name of the value of a modifier, if the encoding has a field for it.
fn modifier(instruction: &Instruction, slot: u16) -> Option<&'static str> {
    instruction.modifier_value(modifier_field(instruction, slot)?).map(|value| value.0)
}

/// Returns the lowest bits of a number.
pub(super) fn masked(value: u64, width: u8) -> u64 {
    match 1_u64.checked_shl(u32::from(width)) {
        Some(end) => value & end.wrapping_sub(1),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use crate::generated::semantics::{FORM, JOIN, SLOTS};
    use crate::isa;

    #[test]
    fn slots_are_the_same_in_all_instruction_sets() {
        assert_eq!([SLOTS[usize::from(FORM)], SLOTS[usize::from(JOIN)]], ["form", "join"]);
        for isa in isa::all() {
            assert_eq!(isa.texts.get(..SLOTS.len()), Some(&SLOTS[..]), "{}", isa.name);
        }
    }
}
