//! Instructions, one by one.

use super::function::Lifter;
use super::types::same;
use crate::bitcode::{FloatTest, binary_operator, float_comparison, integer_comparison};
use crate::ir::metal::types::ValueType;
use crate::ir::{BlockId, End, Op, ShaderOp, TypeId, ValueId};
use unshade_llvm::ValueId as LlvmValue;
use unshade_llvm::instruction::{Instruction, Opcode};
use unshade_llvm::operation::{Operation, pairs};

/// Casts of numbers that are one operator.
const CASTS: [(Opcode, Op); 10] = [
    (Opcode::ZExt, Op::ZeroExtend),
    (Opcode::SExt, Op::SignExtend),
    (Opcode::Trunc, Op::Low),
    (Opcode::FpToUi, Op::Shader(ShaderOp::FloatToUnsigned)),
    (Opcode::FpToSi, Op::Shader(ShaderOp::FloatToSigned)),
    (Opcode::UiToFp, Op::UnsignedToFloat),
    (Opcode::SiToFp, Op::SignedToFloat),
    (Opcode::FpTrunc, Op::FloatConvert),
    (Opcode::FpExt, Op::FloatConvert),
    (Opcode::Freeze, Op::Copy),
];

/// The flag of sums and products that do not overflow as signed numbers.
const NO_SIGNED_WRAP: u16 = 2;

impl Lifter<'_, '_, '_, '_> {
    /// Lifts an instruction other than a phi.
    pub(super) fn instruction(&mut self, instruction: &Instruction) {
        let ty = same(instruction.ty);
        let Some(operation) = Operation::of(self.body, instruction) else {
            self.unlifted(instruction.opcode.mnemonic(), ty);
            return;
        };
        let lifted = match operation {
            Operation::Return(value) => {
                if let Some(value) = value {
                    let value = self.value(value);
                    self.function.add(Op::Return, 0, self.block, self.address, &[value]);
                }
                return self.end(End::Return);
            }
            Operation::Jump(to) => return self.end(End::Goto(block(to))),
            Operation::Branch { condition, then, otherwise } => {
                let condition = self.value(condition);
                return self.end(End::Branch { condition, yes: block(then), no: block(otherwise) });
            }
            Operation::Switch { condition, default, cases } => {
                let selector = self.value(condition);
                let all = pairs(cases).filter_map(|(value, to)| Some((self.integer(value)?, block(to))));
                let width = self.function.width(selector);
                let cases = all.map(|(number, to)| (crate::ir::fold::masked(number, width), to)).collect();
                return self.end(End::Switch { selector, cases, otherwise: Some(block(default)) });
            }
            Operation::Call { callee, arguments, .. } => match self.call(instruction, callee, arguments) {
                Some(value) => value,
                None => return,
            },
            Operation::Compare { left, right, .. } => self.compare(instruction, left, right),
            Operation::Select { condition, then, otherwise } => {
                let inputs = [condition, then, otherwise].map(|input| self.value(input));
                self.add(Op::Select, ty, &inputs)
            }
            Operation::Alloca { ty, count, .. } => self.alloca(instruction, ty, count),
            Operation::Load { pointer, is_volatile, .. } => self.load(instruction, pointer, is_volatile),
            Operation::Store { value, pointer, is_volatile, .. } => {
                return self.store(value, pointer, is_volatile);
            }
            Operation::ElementPointer { source, base, indices } => {
                let indices: Vec<LlvmValue> = indices.iter().filter_map(|index| index.as_value()).collect();
                self.element_pointer(base, same(source), &indices, ty)
            }
            Operation::Aggregate { aggregate, inserted: None, indices } => {
                self.extract_value(aggregate, indices, ty)
            }
            Operation::Aggregate { aggregate, inserted: Some(value), indices } => {
                let (aggregate, value) = (self.value(aggregate), self.value(value));
                self.insert_value(aggregate, value, indices, ty, 0)
            }
            Operation::Unary { opcode: Opcode::FNeg, value } => {
                let value = self.value(value);
                self.add(Op::FloatNegate, ty, &[value])
            }
            Operation::Unary { opcode, value } => self.cast(opcode, value, ty),
            Operation::Binary { opcode, left, right } => self.binary(opcode, left, right, instruction),
            Operation::Other { opcode, .. } => match self.other(opcode, instruction) {
                Some(value) => value,
                None => return,
            },
            _ => self.unlifted(instruction.opcode.mnemonic(), ty),
        };
        if instruction.result.is_some() {
            self.values.insert(instruction.result, lifted);
        }
    }

    fn other(&mut self, opcode: Opcode, instruction: &Instruction) -> Option<ValueId> {
        let operands: Vec<LlvmValue> =
            self.body.operands_of(instruction).iter().filter_map(|operand| operand.as_value()).collect();
        let ty = same(instruction.ty);
        Some(match (opcode, &operands[..]) {
            (Opcode::Unreachable, _) => {
                self.end(End::Return);
                return None;
            }
            (Opcode::ExtractElement, &[vector, index]) => self.extract_element(vector, index, ty),
            (Opcode::InsertElement, &[vector, element, index]) => {
                self.insert_element(vector, element, index, ty)
            }
            (Opcode::ShuffleVector, &[a, b, mask]) => self.shuffle(a, b, mask, ty),
            _ => self.unlifted(opcode.mnemonic(), ty),
        })
    }

    fn binary(
        &mut self,
        opcode: Opcode,
        left: LlvmValue,
        right: LlvmValue,
        instruction: &Instruction,
    ) -> ValueId {
        let ty = same(instruction.ty);
        let (a, b) = (self.value(left), self.value(right));
        let width = self.shape(ty).0;
        let is_bool = width == 1;
        let ones = crate::ir::fold::masked(u64::MAX, width);
        let op = match opcode {
            Opcode::Sub if self.lanes_number(a) == Some(0) => return self.add(Op::Neg, ty, &[b]),
            Opcode::Xor if is_bool && self.lanes_number(b) == Some(1) => {
                return self.add(Op::BoolNot, ty, &[a]);
            }
            Opcode::Xor if self.lanes_number(b) == Some(ones) => return self.add(Op::Not, ty, &[a]),
            Opcode::And if is_bool => Op::BoolAnd,
            Opcode::And => Op::And,
            Opcode::Or if is_bool => Op::BoolOr,
            Opcode::Or => Op::Or,
            Opcode::Xor if is_bool => Op::BoolXor,
            opcode => match binary_operator(opcode) {
                Some(op) => op,
                None => return self.unlifted(opcode.mnemonic(), ty),
            },
        };
        let id = self.add(op, ty, &[a, b]);
        if opcode.may_wrap() && instruction.flags & NO_SIGNED_WRAP != 0 {
            self.function.signed.push(id);
        }
        id
    }

    /// Returns the number that a constant is, or that all lanes of a constant vector are.
    fn lanes_number(&self, id: ValueId) -> Option<u64> {
        let function = &self.function;
        match function.op(id) {
            Op::Constant(number) => Some(number),
            Op::Vector | Op::Lanes(_) => {
                let first = function.number(function.input(id, 0))?;
                let inputs = function.inputs(id).iter();
                inputs
                    .map(|input| function.number(*input))
                    .all(|number| number == Some(first))
                    .then_some(first)
            }
            _ => None,
        }
    }

    pub(super) fn cast(&mut self, opcode: Opcode, value: LlvmValue, ty: TypeId) -> ValueId {
        let from = self.type_of(value);
        let input = self.value(value);
        let is_bool = |ty: ValueType| ty == ValueType::Bool;
        let types = &self.shared.program.types;
        let (to_scalar, from_scalar) = (types.scalar(ty), types.scalar(from));
        match opcode {
            Opcode::BitCast | Opcode::AddrSpaceCast if types.pointee(ty).is_some() => {
                self.pointer_cast(input, from, ty)
            }
            Opcode::BitCast | Opcode::AddrSpaceCast | Opcode::PtrToInt | Opcode::IntToPtr => {
                self.add(Op::Reinterpret, ty, &[input])
            }
            // The lowest bit.
            Opcode::Trunc if is_bool(to_scalar) => {
                let scalar = self.shared.program.types.scalar_id(from);
                let lanes = self.function.lanes(input);
                let (one, zero) = (self.splat(1, scalar, lanes), self.splat(0, scalar, lanes));
                let bit = self.add(Op::And, from, &[input, one]);
                self.add(Op::NotEqual, ty, &[bit, zero])
            }
            // As a signed number of one bit, true is -1.
            Opcode::SiToFp if is_bool(from_scalar) => {
                let number = self.add(Op::UnsignedToFloat, ty, &[input]);
                self.add(Op::FloatNegate, ty, &[number])
            }
            opcode => match CASTS.iter().find(|row| row.0 == opcode) {
                Some(&(_, op)) => self.add(op, ty, &[input]),
                None => self.unlifted(opcode.mnemonic(), ty),
            },
        }
    }

    /// Returns a number in this many lanes.
    pub(super) fn splat(&mut self, number: u64, scalar: TypeId, lanes: u16) -> ValueId {
        let number = self.number(number, scalar);
        if lanes == 1 {
            return number;
        }
        let ty = self.vector_type(scalar, lanes);
        self.vector(&vec![number; usize::from(lanes)], ty)
    }

    fn compare(&mut self, instruction: &Instruction, left: LlvmValue, right: LlvmValue) -> ValueId {
        let (predicate, ty) = (instruction.detail, same(instruction.ty));
        let (a, b) = (self.value(left), self.value(right));
        if predicate >= 32 {
            let Some((op, is_swapped)) = integer_comparison(predicate) else {
                return self.unlifted("icmp", ty);
            };
            let (a, b) = if is_swapped { (b, a) } else { (a, b) };
            let is_bool = self.function.width(a) == 1;
            return match op {
                Op::NotEqual if is_bool => self.add(Op::BoolXor, ty, &[a, b]),
                Op::Equal if is_bool => {
                    let differs = self.add(Op::BoolXor, ty, &[a, b]);
                    self.add(Op::BoolNot, ty, &[differs])
                }
                // As a signed number of one bit, true is -1.
                Op::SignedLess if is_bool => self.add(Op::Less, ty, &[b, a]),
                Op::SignedLessEqual if is_bool => self.add(Op::LessEqual, ty, &[b, a]),
                op => self.add(op, ty, &[a, b]),
            };
        }
        match float_comparison(predicate) {
            FloatTest::Known(holds) => {
                let scalar = self.shared.program.types.scalar_id(ty);
                self.splat(u64::from(holds), scalar, self.shape(ty).1)
            }
            FloatTest::Operator(op, is_swapped, is_negated) => {
                let (a, b) = if is_swapped { (b, a) } else { (a, b) };
                let found = self.add(op, ty, &[a, b]);
                if is_negated { self.add(Op::BoolNot, ty, &[found]) } else { found }
            }
            FloatTest::Differ(is_negated) => {
                let less = self.add(Op::FloatLess, ty, &[a, b]);
                let greater = self.add(Op::FloatLess, ty, &[b, a]);
                let differs = self.add(Op::BoolOr, ty, &[less, greater]);
                if is_negated { self.add(Op::BoolNot, ty, &[differs]) } else { differs }
            }
            FloatTest::Unordered(is_negated) => {
                let is_known = |lifter: &Self, id: ValueId| lifter.lanes_number(id).is_some();
                let nan = |lifter: &mut Self, id: ValueId| lifter.add(Op::FloatNan, ty, &[id]);
                let unordered = match (a == b || is_known(self, b), is_known(self, a)) {
                    (true, _) => nan(self, a),
                    (false, true) => nan(self, b),
                    _ => {
                        let (x, y) = (nan(self, a), nan(self, b));
                        self.add(Op::BoolOr, ty, &[x, y])
                    }
                };
                if is_negated { self.add(Op::BoolNot, ty, &[unordered]) } else { unordered }
            }
        }
    }

    fn extract_value(&mut self, aggregate: LlvmValue, indices: &[u32], ty: TypeId) -> ValueId {
        let mut at = self.value(aggregate);
        let mut from = self.type_of(aggregate);
        // Operations on textures return a value and whether its memory is there; the lifted value is the first.
        if self.function.values[at].ty != from {
            return match indices {
                [0, ..] => at,
                _ => self.unlifted("whether a texture is resident", ty),
            };
        }
        for &index in indices {
            let Some(member) = self.member_type(from, index) else {
                return self.unlifted("extractvalue beyond a structure", ty);
            };
            at = self.extracted(at, index, member);
            from = member;
        }
        at
    }

    /// Returns a member of a structure that was put together, or a new value for it.
    fn extracted(&mut self, aggregate: ValueId, index: u32, ty: TypeId) -> ValueId {
        let mut at = aggregate;
        loop {
            match self.function.op(at) {
                Op::WithMember(number) if u32::from(number) == index => return self.function.input(at, 1),
                Op::WithMember(_) => at = self.function.input(at, 0),
                Op::Aggregate => match self.function.inputs(at).get(index as usize) {
                    Some(part) => return self.function.resolve(*part),
                    None => break,
                },
                _ => break,
            }
        }
        match u8::try_from(index) {
            Ok(number) => self.add(Op::Result(number), ty, &[at]),
            Err(_) => self.unlifted("extractvalue of a large array", ty),
        }
    }

    fn insert_value(
        &mut self,
        aggregate: ValueId,
        value: ValueId,
        indices: &[u32],
        ty: TypeId,
        depth: usize,
    ) -> ValueId {
        let Some((&index, rest)) = indices.split_first() else { return value };
        let (Some(member), Ok(number)) = (self.member_type(ty, index), u16::try_from(index)) else {
            return self.unlifted("insertvalue beyond a structure", ty);
        };
        let mut value = value;
        if !rest.is_empty() && depth < 16 {
            let inner = self.extracted(aggregate, index, member);
            value = self.insert_value(inner, value, rest, member, depth + 1);
        }
        self.add(Op::WithMember(number), ty, &[aggregate, value])
    }

    fn member_type(&self, ty: TypeId, index: u32) -> Option<TypeId> {
        match self.value_type(ty) {
            ValueType::Array(element, _) => Some(element),
            _ => Some(self.shared.program.types.structure(ty)?.fields.get(index as usize)?.ty),
        }
    }
}

fn block(id: unshade_llvm::BlockId) -> BlockId {
    BlockId::new(id.0)
}
