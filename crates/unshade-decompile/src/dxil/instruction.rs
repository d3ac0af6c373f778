//! Instructions: LLVM's one by one, and calls of DXIL operations.

use super::function::{HANDLE, Lifted, Lifter, PLACE, Space};
use super::operation::{self, Meaning, QueryNumber};
use crate::bitcode::{FloatTest, binary_operator, float_comparison, integer_comparison};
use crate::ir::shader::data_type::Packing;
use crate::ir::shader::interface::{Variable, VariableSpace};
use crate::ir::shader::vector::{gather, lane};
use crate::ir::shader::{AtomicOp, NumberKind, ShaderOp, Signedness};
use crate::ir::{BlockId, Callee, End, Op, Parameter, ValueId};
use unshade_llvm::instruction::{Instruction, Opcode};
use unshade_llvm::operation::{Operation, pairs};
use unshade_llvm::types::Type;
use unshade_llvm::value::ValueKind;
use unshade_llvm::{TypeId, ValueId as LlvmValue};

/// Casts that are one operator.
const CASTS: [(Opcode, Op); 9] = [
    (Opcode::ZExt, Op::ZeroExtend),
    (Opcode::SExt, Op::SignExtend),
    (Opcode::FpToUi, Op::Shader(ShaderOp::FloatToUnsigned)),
    (Opcode::FpToSi, Op::Shader(ShaderOp::FloatToSigned)),
    (Opcode::UiToFp, Op::UnsignedToFloat),
    (Opcode::SiToFp, Op::SignedToFloat),
    (Opcode::FpTrunc, Op::FloatConvert),
    (Opcode::FpExt, Op::FloatConvert),
    (Opcode::Freeze, Op::Copy),
];

/// Operations of `atomicrmw` by number.
const ATOMICS: [Option<AtomicOp>; 11] = [
    Some(AtomicOp::Exchange),
    Some(AtomicOp::Add),
    None,
    Some(AtomicOp::And),
    None,
    Some(AtomicOp::Or),
    Some(AtomicOp::Xor),
    Some(AtomicOp::SignedMax),
    Some(AtomicOp::SignedMin),
    Some(AtomicOp::UnsignedMax),
    Some(AtomicOp::UnsignedMin),
];

/// Operations of `AtomicBinOp` by number.
const RESOURCE_ATOMICS: [AtomicOp; 9] = [
    AtomicOp::Add,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
    AtomicOp::SignedMin,
    AtomicOp::SignedMax,
    AtomicOp::UnsignedMin,
    AtomicOp::UnsignedMax,
    AtomicOp::Exchange,
];

/// The operations that return an integer, a truth, or a float of a ray query, and of a hit object.
const QUERY_NUMBERS: [ShaderOp; 3] =
    [ShaderOp::RayQueryInteger, ShaderOp::RayQueryBool, ShaderOp::RayQueryFloat];
const HIT_NUMBERS: [ShaderOp; 3] = [ShaderOp::HitInteger, ShaderOp::HitBool, ShaderOp::HitFloat];

/// The most lanes of a vector that are gathered one by one.
const MAX_GATHERED: u16 = 256;

impl Lifter<'_, '_, '_, '_> {
    /// Lifts an instruction other than a phi.
    pub(super) fn instruction(&mut self, instruction: &Instruction) {
        let Some(operation) = Operation::of(self.body, instruction) else {
            self.unlifted(instruction.opcode.mnemonic(), 0);
            return;
        };
        let lifted = match operation {
            Operation::Return(value) => return self.return_value(value),
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
            Operation::Call { callee, arguments, .. } => self.call(instruction, callee, arguments),
            Operation::Compare { left, right, .. } => {
                Some(self.compare(instruction.detail, left, right, instruction))
            }
            Operation::Select { condition, then, otherwise } => {
                let inputs = [condition, then, otherwise].map(|input| self.value(input));
                let (width, lanes) = self.shape(instruction.ty);
                Some(self.add(Op::Select, width, lanes, &inputs))
            }
            Operation::Alloca { ty, .. } => {
                let ty = self.memory_matrices.get(&instruction.result).copied().unwrap_or(ty);
                Some(self.alloca(ty))
            }
            Operation::Load { pointer, .. } => self.load(instruction, pointer),
            Operation::Store { value, pointer, .. } => {
                let (value, place) = (self.value(value), self.value(pointer));
                let space = self.space(pointer);
                self.add(Op::Store(space), 0, 1, &[place, value]);
                return;
            }
            Operation::ElementPointer { source, base, indices } => {
                let indices: Vec<LlvmValue> = indices.iter().filter_map(|index| index.as_value()).collect();
                Some(self.element_place(base, source, &indices))
            }
            Operation::Aggregate { aggregate, inserted: None, indices } => {
                self.extract_value(instruction, aggregate, indices)
            }
            Operation::Unary { opcode, value } => Some(self.unary(opcode, value, instruction)),
            Operation::Binary { opcode, left, right } => Some(self.binary(opcode, left, right, instruction)),
            Operation::Other { opcode, .. } => return self.other(opcode, instruction),
            _ => {
                let (width, _) = self.shape(instruction.ty);
                Some(self.unlifted(instruction.opcode.mnemonic(), width))
            }
        };
        if let Some(value) = lifted {
            self.values.insert(instruction.result, Lifted::Value(value));
        }
    }

    fn return_value(&mut self, value: Option<LlvmValue>) {
        if let Some(value) = value {
            let value = self.value(value);
            self.add(Op::Return, 0, 1, &[value]);
        }
        self.end(End::Return);
    }

    fn other(&mut self, opcode: Opcode, instruction: &Instruction) {
        let operands: Vec<LlvmValue> =
            self.body.operands_of(instruction).iter().filter_map(|operand| operand.as_value()).collect();
        let (width, lanes) = self.shape(instruction.ty);
        let value = match (opcode, &operands[..]) {
            (Opcode::Unreachable, _) => return self.end(End::Return),
            (Opcode::ExtractElement, &[vector, index]) => self.extract_element(vector, index, width),
            (Opcode::InsertElement, &[vector, element, index]) => {
                self.insert_element(vector, element, index, lanes)
            }
            (Opcode::ShuffleVector, &[a, b, mask]) => self.shuffle(a, b, mask, lanes),
            (Opcode::AtomicRmw, &[pointer, value]) => {
                let number = usize::from(instruction.flags >> 8);
                let Some(op) = ATOMICS.get(number).copied().flatten() else {
                    let value = self.unlifted("atomicrmw", width);
                    self.values.insert(instruction.result, Lifted::Value(value));
                    return;
                };
                let inputs = [pointer, value].map(|input| self.value(input));
                self.shader(ShaderOp::AtomicVariable(op), width, lanes, &inputs)
            }
            (Opcode::CmpXchg, &[pointer, expected, new]) => {
                let inputs = [pointer, expected, new].map(|input| self.value(input));
                let (width, lanes) = (self.function.width(inputs[2]), self.function.lanes(inputs[2]));
                let old = self.shader(ShaderOp::CompareExchangeVariable, width, lanes, &inputs);
                let is_same = self.add(Op::Equal, 1, 1, &[old, inputs[1]]);
                self.values.insert(instruction.result, Lifted::Pair(old, is_same));
                return;
            }
            // Calls of operations say what they wait for.
            (Opcode::Fence, _) => return,
            _ => self.unlifted(opcode.mnemonic(), width),
        };
        if instruction.result.is_some() {
            self.values.insert(instruction.result, Lifted::Value(value));
        }
    }

    /// Returns whether an instruction must be computed as the code says.
    fn is_precise(&self, instruction: &Instruction) -> bool {
        instruction.opcode.is_float_operation() && instruction.flags == 0
    }

    fn binary(
        &mut self,
        opcode: Opcode,
        left: LlvmValue,
        right: LlvmValue,
        instruction: &Instruction,
    ) -> ValueId {
        let (width, lanes) = self.shape(instruction.ty);
        let (a, b) = (self.value(left), self.value(right));
        let is_bool = width == 1;
        let sign_bit = 1_u64 << (width.max(1) - 1);
        let op = match opcode {
            Opcode::FSub if self.function.number(a) == Some(sign_bit) => {
                return self.add(Op::FloatNegate, width, lanes, &[b]);
            }
            Opcode::Sub if self.function.number(a) == Some(0) => {
                return self.add(Op::Neg, width, lanes, &[b]);
            }
            Opcode::Xor if is_bool && self.function.number(b) == Some(1) => {
                return self.add(Op::BoolNot, 1, lanes, &[a]);
            }
            Opcode::Xor if self.function.number(b) == Some(crate::ir::fold::masked(u64::MAX, width)) => {
                return self.add(Op::Not, width, lanes, &[a]);
            }
            Opcode::And => {
                if is_bool {
                    Op::BoolAnd
                } else {
                    Op::And
                }
            }
            Opcode::Or => {
                if is_bool {
                    Op::BoolOr
                } else {
                    Op::Or
                }
            }
            Opcode::Xor if is_bool => Op::BoolXor,
            opcode => binary_operator(opcode).unwrap_or(Op::Undefined),
        };
        let id = self.add(op, width, lanes, &[a, b]);
        self.function.values[id].is_precise = self.is_precise(instruction);
        id
    }

    fn unary(&mut self, opcode: Opcode, value: LlvmValue, instruction: &Instruction) -> ValueId {
        let (width, lanes) = self.shape(instruction.ty);
        let input = self.value(value);
        match opcode {
            Opcode::FNeg => self.add(Op::FloatNegate, width, lanes, &[input]),
            Opcode::BitCast if self.function.width(input) == width || self.is_pointer(instruction.ty) => {
                input
            }
            Opcode::AddrSpaceCast => input,
            Opcode::Trunc if width == 1 => {
                let one = self.function.constant(1, self.function.width(input));
                let bit = self.add(Op::And, self.function.width(input), lanes, &[input, one]);
                let zero = self.function.constant(0, self.function.width(input));
                self.add(Op::NotEqual, 1, lanes, &[bit, zero])
            }
            Opcode::Trunc => self.add(Op::Low, width, lanes, &[input]),
            // As a signed number of one bit, true is -1.
            Opcode::SiToFp if self.function.width(input) == 1 => {
                let number = self.add(Op::SignExtend, 32, lanes, &[input]);
                self.add(Op::SignedToFloat, width, lanes, &[number])
            }
            opcode => match CASTS.iter().find(|row| row.0 == opcode) {
                Some(&(_, op)) => self.add(op, width, lanes, &[input]),
                None => self.unlifted(opcode.mnemonic(), width),
            },
        }
    }

    fn compare(
        &mut self,
        predicate: u32,
        left: LlvmValue,
        right: LlvmValue,
        instruction: &Instruction,
    ) -> ValueId {
        let (_, lanes) = self.shape(instruction.ty);
        let (a, b) = (self.value(left), self.value(right));
        if predicate >= 32 {
            let Some((op, is_swapped)) = integer_comparison(predicate) else {
                return self.unlifted("icmp", 1);
            };
            let (a, b) = if is_swapped { (b, a) } else { (a, b) };
            // Comparisons of truths.
            let is_bool = self.function.width(a) == 1;
            return match op {
                Op::NotEqual if is_bool => self.add(Op::BoolXor, 1, lanes, &[a, b]),
                Op::Equal if is_bool => {
                    let differs = self.add(Op::BoolXor, 1, lanes, &[a, b]);
                    self.add(Op::BoolNot, 1, lanes, &[differs])
                }
                // As a signed number of one bit, true is -1.
                Op::SignedLess if is_bool => self.add(Op::Less, 1, lanes, &[b, a]),
                Op::SignedLessEqual if is_bool => self.add(Op::LessEqual, 1, lanes, &[b, a]),
                op => self.add(op, 1, lanes, &[a, b]),
            };
        }
        let (op, is_swapped, is_negated) = match float_comparison(predicate) {
            FloatTest::Known(holds) => return self.function.constant(u64::from(holds), 1),
            FloatTest::Operator(op, is_swapped, is_negated) => (op, is_swapped, is_negated),
            FloatTest::Differ(is_negated) => {
                let less = self.add(Op::FloatLess, 1, lanes, &[a, b]);
                let greater = self.add(Op::FloatLess, 1, lanes, &[b, a]);
                let differs = self.add(Op::BoolOr, 1, lanes, &[less, greater]);
                return if is_negated { self.add(Op::BoolNot, 1, lanes, &[differs]) } else { differs };
            }
            FloatTest::Unordered(is_negated) => {
                let (x, y) = (self.add(Op::FloatNan, 1, lanes, &[a]), self.add(Op::FloatNan, 1, lanes, &[b]));
                let unordered = if a == b { x } else { self.add(Op::BoolOr, 1, lanes, &[x, y]) };
                return if is_negated { self.add(Op::BoolNot, 1, lanes, &[unordered]) } else { unordered };
            }
        };
        let (a, b) = if is_swapped { (b, a) } else { (a, b) };
        let found = self.add(op, 1, lanes, &[a, b]);
        self.function.values[found].is_precise = self.is_precise(instruction);
        if is_negated { self.add(Op::BoolNot, 1, lanes, &[found]) } else { found }
    }

    fn is_pointer(&self, ty: TypeId) -> bool {
        self.shared.module.types.is_pointer(ty)
    }

    // Memory.

    /// Finds the vectors in memory that are cast to matrices: functions take and return them as such.
    pub(super) fn find_memory_matrices(&mut self) {
        let body = self.body;
        for instruction in
            body.instructions.iter().filter(|instruction| instruction.opcode == Opcode::BitCast)
        {
            let types = &self.shared.module.types;
            let Some(matrix) = types.pointee(instruction.ty) else { continue };
            if self.shared.types.lowered_matrix(matrix).is_none() {
                continue;
            }
            let operands = body.operands_of(instruction);
            if let Some(vector) = operands.first().and_then(|operand| operand.as_value()) {
                self.memory_matrices.insert(vector, matrix);
            }
        }
    }

    fn alloca(&mut self, ty: TypeId) -> ValueId {
        let shared = &mut *self.shared;
        let ty = shared.types.data_type(ty, None, Packing::Structured, &mut shared.program.structs);
        let variable = Variable { name: String::new(), space: VariableSpace::Thread, ty, values: Vec::new() };
        let variable = shared.program.variables.push(variable);
        self.variable(variable)
    }

    /// Returns the memory that a pointer refers to.
    fn space(&self, pointer: LlvmValue) -> Space {
        let value = self.shared.module.value(Some(self.body), pointer);
        match value.and_then(|value| self.shared.module.types.address_space(value.ty)) {
            // Records of work graphs are shared like the memory of a group.
            Some(3 | 6) => Space::Shared,
            _ => Space::Local,
        }
    }

    fn load(&mut self, instruction: &Instruction, pointer: LlvmValue) -> Option<ValueId> {
        // In a library, the handle of a resource is loaded from a global variable.
        if let Some(handle) = self.library_handle(pointer) {
            return Some(handle);
        }
        let place = self.value(pointer);
        let (width, lanes) = self.shape(instruction.ty);
        let space = if self.is_constant(place) { Space::Constant(0) } else { self.space(pointer) };
        Some(self.add(Op::Load(space), width, lanes, &[place]))
    }

    /// Returns whether a place is in a constant variable.
    fn is_constant(&self, place: ValueId) -> bool {
        let mut at = place;
        for _ in 0..64 {
            match self.function.op(at) {
                Op::Shader(ShaderOp::Element | ShaderOp::Field) => at = self.function.input(at, 0),
                Op::Shader(ShaderOp::Variable) => {
                    let number = self.function.number(self.function.input(at, 0)).unwrap_or(u64::MAX);
                    let variable = self
                        .shared
                        .program
                        .variables
                        .iter()
                        .nth(usize::try_from(number).unwrap_or(usize::MAX));
                    return variable.is_some_and(|variable| variable.space == VariableSpace::Constant);
                }
                _ => return false,
            }
        }
        false
    }

    /// Returns the place that `getelementptr` computes.
    pub(super) fn element_place(
        &mut self,
        base: LlvmValue,
        source: TypeId,
        indices: &[LlvmValue],
    ) -> ValueId {
        let mut place = self.value(base);
        let mut ty = source;
        for (position, &index) in indices.iter().enumerate() {
            // The first index moves by whole variables.
            if position == 0 {
                if self.integer(index) != Some(0) {
                    return self.unlifted("getelementptr beyond a variable", PLACE);
                }
                continue;
            }
            let types = &self.shared.module.types;
            let (op, next) = match types.get(ty) {
                Type::Struct(structure) => {
                    let number = self.integer(index).unwrap_or(0);
                    let fields = types.elements(structure.fields);
                    (ShaderOp::Field, fields.get(usize::try_from(number).unwrap_or(0)).copied().unwrap_or(ty))
                }
                Type::Array { element, .. } | Type::Vector { element, .. } => (ShaderOp::Element, element),
                _ => return self.unlifted("getelementptr into a number", PLACE),
            };
            let index = match self.integer(index) {
                Some(number) => self.function.constant(number, 32),
                None => self.value(index),
            };
            place = self.shader(op, PLACE, 1, &[place, index]);
            ty = next;
        }
        place
    }

    // Vectors and structures.

    fn extract_element(&mut self, vector: LlvmValue, index: LlvmValue, width: u8) -> ValueId {
        let value = self.value(vector);
        match self.integer(index).and_then(|index| u8::try_from(index).ok()) {
            Some(number) => lane(&mut self.function, self.block, self.address, value, number),
            None => {
                let index = self.lane_index(index);
                self.shader(ShaderOp::ExtractLane, width, 1, &[value, index])
            }
        }
    }

    /// Returns the index of a lane as a number of 32 bits.
    fn lane_index(&mut self, index: LlvmValue) -> ValueId {
        match self.integer(index) {
            Some(number) => self.function.constant(number, 32),
            None => self.value(index),
        }
    }

    /// Returns the lanes of a value one by one.
    fn scalars(&mut self, value: ValueId, lanes: u16) -> Vec<ValueId> {
        let lanes = (0..lanes.min(MAX_GATHERED)).map(|index| index as u8);
        lanes.map(|index| lane(&mut self.function, self.block, self.address, value, index)).collect()
    }

    fn insert_element(
        &mut self,
        vector: LlvmValue,
        element: LlvmValue,
        index: LlvmValue,
        lanes: u16,
    ) -> ValueId {
        let (value, element) = (self.value(vector), self.value(element));
        let constant = self.integer(index).filter(|index| *index < u64::from(lanes));
        let Some(index) = constant.filter(|_| lanes <= MAX_GATHERED) else {
            let index = self.lane_index(index);
            let width = self.function.width(element);
            return self.shader(ShaderOp::InsertLane, width, lanes, &[value, index, element]);
        };
        let mut scalars = self.scalars(value, lanes);
        if let Some(slot) = scalars.get_mut(index as usize) {
            *slot = element;
        }
        self.whole(&scalars)
    }

    /// Gathers scalars to a vector with as many lanes, even if all are the same.
    pub(super) fn whole(&mut self, scalars: &[ValueId]) -> ValueId {
        let found = gather(&mut self.function, self.block, self.address, scalars);
        if self.function.lanes(found) == 1 && scalars.len() > 1 {
            let width = self.function.width(found);
            return self.add(Op::Vector, width, scalars.len() as u16, scalars);
        }
        found
    }

    fn shuffle(&mut self, a: LlvmValue, b: LlvmValue, mask: LlvmValue, lanes: u16) -> ValueId {
        let (x, y) = (self.value(a), self.value(b));
        let count = self.vector_lanes(a);
        // One lane for all.
        if let Some(number) = self.splat(mask).filter(|number| *number < u64::from(count)) {
            let scalar = match u8::try_from(number) {
                Ok(number) => lane(&mut self.function, self.block, self.address, x, number),
                Err(_) => return self.unlifted("shufflevector of a long vector", self.function.width(x)),
            };
            let width = self.function.width(scalar);
            return self.add(Op::Vector, width, lanes, &vec![scalar; usize::from(lanes)]);
        }
        if count.max(lanes) > MAX_GATHERED {
            return self.unlifted("shufflevector of a long vector", self.function.width(x));
        }
        let mut all = self.scalars(x, count);
        all.extend(self.scalars(y, count));
        let mask = self.value(mask);
        let width = self.function.width(x);
        let mut picked = Vec::new();
        for index in 0..lanes {
            let number = lane(&mut self.function, self.block, self.address, mask, index as u8);
            let number = self.function.number(number).and_then(|number| usize::try_from(number).ok());
            let scalar = number.and_then(|number| all.get(number).copied());
            picked.push(match scalar {
                Some(scalar) => scalar,
                None => self.undefined(width, 1),
            });
        }
        self.whole(&picked)
    }

    /// Returns the number of lanes of a vector of the module; its value may be a scalar that counts for all of them.
    fn vector_lanes(&self, id: LlvmValue) -> u16 {
        let value = self.shared.module.value(Some(self.body), id);
        value.map_or(1, |value| self.shape(value.ty).1)
    }

    /// Returns whether a value is a matrix as a structure.
    fn is_matrix(&self, id: LlvmValue) -> bool {
        let value = self.shared.module.value(Some(self.body), id);
        value.is_some_and(|value| self.shared.types.lowered_matrix(value.ty).is_some())
    }

    /// Returns whether a value is a float, or a vector of floats.
    fn is_float(&self, id: LlvmValue) -> bool {
        let types = &self.shared.module.types;
        let Some(value) = self.shared.module.value(Some(self.body), id) else { return false };
        let scalar = match types.get(value.ty) {
            Type::Vector { element, .. } => element,
            _ => value.ty,
        };
        matches!(types.get(scalar), Type::Half | Type::Float | Type::Double)
    }

    /// Returns whether the first member of a structure is a vector.
    fn starts_with_vector(&self, id: LlvmValue) -> bool {
        let types = &self.shared.module.types;
        let Some(value) = self.shared.module.value(Some(self.body), id) else { return false };
        let Type::Struct(structure) = types.get(value.ty) else { return false };
        let first = types.elements(structure.fields).first();
        first.is_some_and(|field| matches!(types.get(*field), Type::Vector { .. }))
    }

    /// Returns the number that all elements of a constant vector have.
    fn splat(&mut self, mask: LlvmValue) -> Option<u64> {
        let mask = self.value(mask);
        (self.function.lanes(mask) == 1).then(|| self.function.number(mask)).flatten()
    }

    fn extract_value(
        &mut self,
        instruction: &Instruction,
        aggregate: LlvmValue,
        indices: &[u32],
    ) -> Option<ValueId> {
        let index = indices.first().copied().unwrap_or(0);
        let (width, lanes) = self.shape(instruction.ty);
        Some(match self.lifted(aggregate) {
            Lifted::Pair(first, second) => {
                if index == 0 {
                    first
                } else {
                    second
                }
            }
            Lifted::Words(words, load) => match u8::try_from(index) {
                Ok(index @ 0..4) => lane(&mut self.function, self.block, self.address, words, index),
                _ => self.add(Op::Result(1), width, lanes, &[load]),
            },
            // A line of a matrix in memory.
            Lifted::Value(value) if self.is_matrix(aggregate) => {
                let line = usize::try_from(indices.get(1).copied().unwrap_or(0)).unwrap_or(0);
                let count = self.vector_lanes(aggregate);
                let all = self.scalars(value, count);
                let first = line.saturating_mul(usize::from(lanes)).min(all.len());
                let lanes = &all[first..(first + usize::from(lanes)).min(all.len())];
                self.whole(lanes)
            }
            Lifted::Value(value) | Lifted::HeapIndex(value) => {
                let count = self.function.lanes(value);
                // Vectors that are loaded whole are the first member.
                let is_vector = self.starts_with_vector(aggregate);
                let is_whole = index == 0 && (is_vector || lanes > 1 && count == lanes);
                if is_vector && index > 0 {
                    self.add(Op::Result(1), width, lanes, &[value])
                } else if is_whole {
                    value
                } else if u16::try_from(index).is_ok_and(|index| index < count) && lanes == 1 {
                    lane(&mut self.function, self.block, self.address, value, index as u8)
                } else {
                    self.add(Op::Result(1), width, lanes, &[value])
                }
            }
        })
    }

    // Calls.

    fn call(
        &mut self,
        instruction: &Instruction,
        callee: LlvmValue,
        arguments: &[unshade_llvm::value::Operand],
    ) -> Option<ValueId> {
        let value = self.shared.module.value(Some(self.body), callee)?;
        let ValueKind::Function(index) = value.kind else {
            return Some(self.unlifted("call through a pointer", self.shape(instruction.ty).0));
        };
        let name = &self.shared.module.functions.get(index as usize)?.symbol.name;
        if name.starts_with(b"llvm.dbg.") {
            self.debug_call(name, instruction, arguments);
            return None;
        }
        let arguments: Vec<LlvmValue> = arguments.iter().filter_map(|operand| operand.as_value()).collect();
        if name.starts_with(b"dx.op.") {
            return self.operation(instruction, &arguments);
        }
        if name.starts_with(b"llvm.") {
            // Lifetimes.
            return None;
        }
        Some(self.invoke(instruction, index, &arguments))
    }

    fn invoke(&mut self, instruction: &Instruction, index: u32, arguments: &[LlvmValue]) -> ValueId {
        let name = match self.shared.names.get(&index) {
            Some(name) => name.clone(),
            None => {
                if !self.shared.externals.contains(&index) {
                    self.shared.externals.push(index);
                }
                let symbol = &self.shared.module.functions[index as usize].symbol;
                String::from_utf8_lossy(&symbol.name).into_owned()
            }
        };
        let (width, lanes) = self.shape(instruction.ty);
        let parameters = (0..arguments.len() as u32).map(Parameter::word).collect();
        let callee = Callee { name, parameters, words: u8::from(width > 0), result: None };
        let callee = self.function.callee(&callee);
        let inputs: Vec<ValueId> = arguments.iter().map(|argument| self.value(*argument)).collect();
        self.add(Op::Invoke(callee), width, lanes, &inputs)
    }

    /// Lifts a call of a DXIL operation.
    fn operation(&mut self, instruction: &Instruction, arguments: &[LlvmValue]) -> Option<ValueId> {
        let (&code, operands) = arguments.split_first()?;
        // Codes of experimental operations are negative.
        let code = self.integer(code)? as u32;
        let (width, lanes) = self.shape(instruction.ty);
        let Some(row) = operation::row(code) else {
            return self.special(code, operands, instruction);
        };
        let mut inputs = self.grouped(operands, row.groups);
        if matches!(row.meaning, Meaning::Shader(ShaderOp::MeshPayload))
            && let Some(pointee) = self.shared.module.types.pointee(instruction.ty)
        {
            let shared = &mut *self.shared;
            let structs = &mut shared.program.structs;
            self.payload = Some(shared.types.data_type(pointee, None, Packing::Structured, structs));
        }
        let value = match row.meaning {
            Meaning::Bits => inputs.first().copied().unwrap_or_else(|| self.undefined(width, lanes)),
            Meaning::Operator(op) => self.add(op, width, lanes, &inputs),
            Meaning::Shader(ShaderOp::CompareExchangeResource) => {
                inputs[0] = self.atomic_handle(inputs[0], width);
                self.shader(ShaderOp::CompareExchangeResource, width, lanes, &inputs)
            }
            Meaning::Shader(op) => self.shader(op, width, lanes, &inputs),
        };
        self.function.values[value].is_precise |= self.has_precise_mark();
        Some(value)
    }

    /// Returns whether the current call has the mark of `precise`.
    fn has_precise_mark(&self) -> bool {
        let Some(kind) = self.shared.precise_kind else { return false };
        let attachments = &self.body.attachments;
        let found = attachments.binary_search_by_key(&self.address, |attached| attached.0);
        found.is_ok_and(|at| {
            attachments[at].1.of(&self.body.attached).iter().any(|(attached, _)| *attached == kind)
        })
    }

    /// Returns operands as inputs, with groups gathered to vectors.
    fn grouped(&mut self, operands: &[LlvmValue], groups: &[u8]) -> Vec<ValueId> {
        if groups.is_empty() {
            return operands.iter().map(|operand| self.value(*operand)).collect();
        }
        let mut inputs = Vec::with_capacity(groups.len());
        let mut rest = operands;
        for &size in groups {
            let (group, after) = rest.split_at(usize::from(size).min(rest.len()));
            inputs.push(self.group(group));
            rest = after;
        }
        inputs
    }

    /// Gathers operands to a vector; undefined ones at the end are dropped.
    fn group(&mut self, operands: &[LlvmValue]) -> ValueId {
        let count =
            operands.iter().rposition(|operand| !self.is_undefined(*operand)).map_or(0, |last| last + 1);
        let scalars: Vec<ValueId> = operands[..count].iter().map(|operand| self.value(*operand)).collect();
        match scalars[..] {
            [] => self.undefined(32, 1),
            [one] => one,
            _ => self.whole(&scalars),
        }
    }

    /// Lifts an operation whose meaning or order depends on its operands.
    fn special(&mut self, code: u32, operands: &[LlvmValue], instruction: &Instruction) -> Option<ValueId> {
        let (width, lanes) = self.shape(instruction.ty);
        let number =
            |lifter: &Self, index: usize| operands.get(index).and_then(|id| lifter.integer(*id)).unwrap_or(0);
        let value = |lifter: &mut Self, index: usize| match operands.get(index) {
            Some(id) => lifter.value(*id),
            None => lifter.undefined(32, 1),
        };
        let number_kind = |lifter: &Self, sign: usize| {
            let is_float = operands.first().is_some_and(|id| lifter.is_float(*id));
            operation::number_kind(is_float, number(lifter, sign))
        };
        let op = match code {
            57 | 160 | 216..=218 => return self.handle(code, operands, instruction),
            239 | 247..=251 => return self.node_handle(code, operands, instruction),
            41 | 42 => {
                let signedness = if code == 41 { Signedness::Signed } else { Signedness::Unsigned };
                let inputs = [value(self, 0), value(self, 1)];
                let high = self.shader(ShaderOp::MultiplyHigh(signedness), 32, 1, &inputs);
                let low = self.add(Op::Mul, 32, 1, &inputs);
                self.values.insert(instruction.result, Lifted::Pair(high, low));
                return None;
            }
            43 => {
                let inputs = [value(self, 0), value(self, 1)];
                let quotient = self.add(Op::Udiv, 32, 1, &inputs);
                let remainder = self.add(Op::Urem, 32, 1, &inputs);
                self.values.insert(instruction.result, Lifted::Pair(quotient, remainder));
                return None;
            }
            44 | 45 => {
                let inputs = [value(self, 0), value(self, 1)];
                let (op, carry) = if code == 44 { (Op::Add, Op::Carry) } else { (Op::Sub, Op::Less) };
                let result = self.add(op, 32, 1, &inputs);
                let carry = self.add(carry, 1, 1, &inputs);
                self.values.insert(instruction.result, Lifted::Pair(result, carry));
                return None;
            }
            66 => {
                let coordinates = self.group(operands.get(2..5)?);
                let offset = self.group(operands.get(5..8)?);
                let inputs = [value(self, 0), coordinates, value(self, 1), offset];
                return self.load_texels(ShaderOp::LoadTexture, (width, lanes), &inputs, instruction);
            }
            67 | 225 => {
                let coordinates = self.group(operands.get(1..4)?);
                let stored = self.stored(operands.get(4..8)?, u64::MAX);
                let handle = value(self, 0);
                let stored = self.texels(handle, stored);
                let sample = match operands.get(9) {
                    Some(sample) => self.value(*sample),
                    None => self.undefined(32, 1),
                };
                let inputs = [handle, coordinates, stored, sample];
                return Some(self.shader(ShaderOp::StoreTexture, 0, 1, &inputs));
            }
            58 => {
                let inputs = [value(self, 0), value(self, 1)];
                return Some(self.shader(ShaderOp::LoadConstantAt, width, lanes, &inputs));
            }
            68 => return self.load_buffer(operands, width, lanes, instruction),
            139 => {
                let mask = number(self, 3);
                let lanes = (mask & 15).count_ones().max(1) as u16;
                return self.load_buffer(operands, width, lanes, instruction);
            }
            303 => return self.load_buffer(operands, width, lanes, instruction),
            69 | 140 => {
                let mask = number(self, 7);
                let stored = self.stored(operands.get(3..7)?, mask);
                return self.store_buffer(operands, stored);
            }
            304 => {
                let stored = value(self, 3);
                let lanes = operands.get(3).map_or(1, |id| self.vector_lanes(*id));
                // A scalar that counts for all lanes is stored to all of them.
                let stored = match self.function.lanes(stored) {
                    1 if lanes > 1 => {
                        let width = self.function.width(stored);
                        self.add(Op::Vector, width, lanes, &vec![stored; usize::from(lanes)])
                    }
                    _ => stored,
                };
                return self.store_buffer(operands, stored);
            }
            78 => {
                let op = *RESOURCE_ATOMICS.get(usize::try_from(number(self, 1)).ok()?)?;
                let coordinates = self.group(operands.get(2..5)?);
                let handle = value(self, 0);
                let inputs = [self.atomic_handle(handle, width), coordinates, value(self, 5)];
                return Some(self.shader(ShaderOp::AtomicResource(op), width, lanes, &inputs));
            }
            115 => ShaderOp::WaveAllEqual(number_kind(self, 1)),
            119 => ShaderOp::WaveReduce(operation::wave_op(number(self, 1))?, number_kind(self, 2)),
            120 => ShaderOp::WaveReduce(operation::wave_bit_op(number(self, 1))?, NumberKind::Unsigned),
            121 => ShaderOp::WavePrefix(operation::wave_op(number(self, 1))?, number_kind(self, 2)),
            165 => ShaderOp::WaveMatch(number_kind(self, 1)),
            123 => ShaderOp::QuadRead(operation::quad_direction(number(self, 1))?),
            222 => {
                if number(self, 1) == 0 {
                    ShaderOp::QuadAny
                } else {
                    ShaderOp::QuadAll
                }
            }
            // Reductions of numbers have no form in the language.
            309 | 310 if width == 1 => {
                if code == 309 {
                    ShaderOp::AllLanes
                } else {
                    ShaderOp::AnyLane
                }
            }
            0x8000_0008..=0x8000_000a => {
                let inputs = [value(self, 0), self.function.constant(u64::from(code), 32)];
                return Some(self.shader(ShaderOp::TrianglePositionOf, width, lanes, &inputs));
            }
            166 => {
                let (op, kind) = (operation::multi_prefix_op(number(self, 5))?, number_kind(self, 6));
                let mask = self.group(operands.get(1..5)?);
                let inputs = [value(self, 0), mask];
                return Some(self.shader(ShaderOp::WaveMultiPrefix(op, kind), width, lanes, &inputs));
            }
            178 | 258 => {
                let flags = [value(self, 0), value(self, 1)];
                return Some(self.shader(ShaderOp::NewRayQuery, HANDLE, 1, &flags));
            }
            219 => {
                let packed = value(self, 1);
                let op = ShaderOp::Unpack(if number(self, 0) == 0 {
                    Signedness::Unsigned
                } else {
                    Signedness::Signed
                });
                return Some(self.shader(op, width, lanes, &[packed]));
            }
            220 => {
                let op = match number(self, 0) {
                    0 => ShaderOp::PackTruncate,
                    1 => ShaderOp::PackClamp(Signedness::Unsigned),
                    _ => ShaderOp::PackClamp(Signedness::Signed),
                };
                let bytes = self.group(operands.get(1..5)?);
                return Some(self.shader(op, width, lanes, &[bytes]));
            }
            code => {
                return Some(match (operation::query_number(code), operation::hit_number(code)) {
                    (Some(kind), _) => self.query(QUERY_NUMBERS, kind, code, operands, width),
                    (None, Some(kind)) => self.query(HIT_NUMBERS, kind, code, operands, width),
                    (None, None) => self.unlifted(&operation::name(code), width),
                });
            }
        };
        let input = value(self, 0);
        Some(self.shader(op, width, lanes, &[input]))
    }

    /// Gathers stored components: as many as the mask has from the first on.
    fn stored(&mut self, operands: &[LlvmValue], mask: u64) -> ValueId {
        let count = if mask == u64::MAX { operands.len() } else { (mask & 15).count_ones() as usize };
        self.group(operands.get(..count.clamp(1, operands.len())).unwrap_or(operands))
    }

    /// Lifts an operation that returns a number of a query or hit; `ops` are those for integers, truths and floats.
    fn query(
        &mut self,
        ops: [ShaderOp; 3],
        kind: QueryNumber,
        code: u32,
        operands: &[LlvmValue],
        width: u8,
    ) -> ValueId {
        let Some((&query, parts)) = operands.split_first() else { return self.undefined(width, 1) };
        let mut inputs = vec![self.value(query), self.function.constant(u64::from(code), 32)];
        let op = match kind {
            QueryNumber::Integer => ops[0],
            QueryNumber::Bool => ops[1],
            QueryNumber::Float => {
                // A row and a column, or a component.
                let (row, column) = match parts {
                    [row, column] => (self.value(*row), self.value(*column)),
                    [component] => (self.undefined(32, 1), self.value(*component)),
                    _ => (self.undefined(32, 1), self.undefined(32, 1)),
                };
                inputs.extend([column, row]);
                ops[2]
            }
        };
        self.shader(op, width, 1, &inputs)
    }
}

fn block(id: unshade_llvm::BlockId) -> BlockId {
    BlockId::new(id.0)
}
