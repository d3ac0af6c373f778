//! Calls: of AIR's functions, of LLVM's, of functions of the module, and of others.

use super::function::Lifter;
use super::types::same;
use crate::ir::metal::types::ValueType;
use crate::ir::metal::{Class, MetalOp};
use crate::ir::{Callee, Op, Parameter, ShaderOp, TypeId, ValueId};
use unshade_llvm::ValueId as LlvmValue;
use unshade_llvm::instruction::Instruction;
use unshade_llvm::value::{Operand, ValueKind};

/// LLVM's functions that are operations of Metal: name, stem, class, and how many arguments count.
const LLVM_FUNCTIONS: [(&str, &str, Class, usize); 33] = [
    ("llvm.fmuladd.", "fmuladd", Class::Plain, 3),
    ("llvm.fma.", "fma", Class::Plain, 3),
    ("llvm.fabs.", "fabs", Class::Plain, 1),
    ("llvm.floor.", "floor", Class::Plain, 1),
    ("llvm.ceil.", "ceil", Class::Plain, 1),
    ("llvm.trunc.", "trunc", Class::Plain, 1),
    ("llvm.rint.", "rint", Class::Plain, 1),
    ("llvm.round.", "round", Class::Plain, 1),
    ("llvm.roundeven.", "rint", Class::Plain, 1),
    ("llvm.sqrt.", "sqrt", Class::Plain, 1),
    ("llvm.exp.", "exp", Class::Plain, 1),
    ("llvm.exp2.", "exp2", Class::Plain, 1),
    ("llvm.log.", "log", Class::Plain, 1),
    ("llvm.log2.", "log2", Class::Plain, 1),
    ("llvm.sin.", "sin", Class::Plain, 1),
    ("llvm.cos.", "cos", Class::Plain, 1),
    ("llvm.pow.", "pow", Class::Plain, 2),
    ("llvm.copysign.", "copysign", Class::Plain, 2),
    ("llvm.maxnum.", "fmax", Class::Plain, 2),
    ("llvm.minnum.", "fmin", Class::Plain, 2),
    ("llvm.umin.", "min", Class::Unsigned, 2),
    ("llvm.umax.", "max", Class::Unsigned, 2),
    ("llvm.smin.", "min", Class::Signed, 2),
    ("llvm.smax.", "max", Class::Signed, 2),
    ("llvm.abs.", "abs", Class::Signed, 1),
    ("llvm.uadd.sat.", "add_sat", Class::Unsigned, 2),
    ("llvm.sadd.sat.", "add_sat", Class::Signed, 2),
    ("llvm.usub.sat.", "sub_sat", Class::Unsigned, 2),
    ("llvm.ssub.sat.", "sub_sat", Class::Signed, 2),
    ("llvm.ctpop.", "popcount", Class::Plain, 1),
    ("llvm.ctlz.", "clz", Class::Plain, 2),
    ("llvm.cttz.", "ctz", Class::Plain, 2),
    ("llvm.bitreverse.", "reverse_bits", Class::Plain, 1),
];

/// LLVM's functions that say nothing of the program.
const IGNORED: [&str; 8] = [
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.dbg.",
    "llvm.experimental.noalias",
    "llvm.invariant.",
    "llvm.var.annotation",
    "llvm.donothing",
    "llvm.sideeffect",
];

/// LLVM's reductions of vectors that are a chain of an operator.
const REDUCTIONS: [(&str, Op); 5] = [
    ("llvm.vector.reduce.add.", Op::Add),
    ("llvm.vector.reduce.mul.", Op::Mul),
    ("llvm.vector.reduce.and.", Op::And),
    ("llvm.vector.reduce.or.", Op::Or),
    ("llvm.vector.reduce.xor.", Op::Xor),
];

impl Lifter<'_, '_, '_, '_> {
    /// Lifts a call. Returns its result, or nothing if it says nothing of the program.
    pub(super) fn call(
        &mut self,
        instruction: &Instruction,
        callee: LlvmValue,
        arguments: &[Operand],
    ) -> Option<ValueId> {
        let ty = same(instruction.ty);
        let value = self.shared.module.value(Some(self.body), callee)?;
        let ValueKind::Function(index) = value.kind else {
            return Some(self.unlifted("a call through a pointer", ty));
        };
        let name = &self.shared.module.functions.get(index as usize)?.symbol.name;
        let name = String::from_utf8_lossy(name).into_owned();
        if IGNORED.iter().any(|start| name.starts_with(start)) {
            return None;
        }
        let arguments: Vec<LlvmValue> = arguments.iter().filter_map(|operand| operand.as_value()).collect();
        if let Some(name) = name.strip_prefix("air.") {
            return Some(self.air_call(index, name, ty, &arguments));
        }
        if name.starts_with("llvm.") {
            return Some(self.llvm_call(&name, ty, &arguments));
        }
        Some(self.invoke(ty, index, name, &arguments))
    }

    fn invoke(&mut self, ty: TypeId, index: u32, name: String, arguments: &[LlvmValue]) -> ValueId {
        if self.shared.module.functions[index as usize].declaration {
            self.shared.externals.insert(index);
        }
        let parameters = (0..arguments.len() as u32).map(Parameter::word).collect();
        let words = u8::from(self.shape(ty).0 > 0);
        let callee = self.function.callee(&Callee { name, parameters, words, result: None });
        let inputs: Vec<ValueId> = arguments.iter().map(|argument| self.value(*argument)).collect();
        self.add(Op::Invoke(callee), ty, &inputs)
    }

    fn air_call(&mut self, index: u32, name: &str, ty: TypeId, arguments: &[LlvmValue]) -> ValueId {
        if let Some(types) = name.strip_prefix("convert.") {
            return self.convert(types, ty, arguments);
        }
        if name.starts_with("is_uniform") {
            // A hint: it holds.
            return self.number(1, ty);
        }
        let inputs: Vec<ValueId> = arguments.iter().map(|argument| self.value(*argument)).collect();
        for (start, is_load) in [("load.", true), ("store.", false)] {
            if name.strip_prefix(start).is_some_and(|rest| rest.contains("coherent")) {
                return self.coherent(is_load, ty, arguments, &inputs);
            }
        }
        let Some(op) = MetalOp::by_name(name) else {
            return self.invoke(ty, index, format!("air.{name}"), arguments);
        };
        // The second member is whether the memory of a texture is there.
        let ty = match self.shared.program.types.structure(ty) {
            Some(found) if found.fields.len() == 2 && op.input(0) == 'h' => found.fields[0].ty,
            _ => ty,
        };
        if matches!(op.row().stem, "normalize_function_constant_predicate") {
            return inputs.first().copied().unwrap_or_else(|| self.undefined(ty));
        }
        self.add(Op::Metal(op), ty, &inputs)
    }

    /// Lifts a load or store that other threads see at once.
    fn coherent(
        &mut self,
        is_load: bool,
        ty: TypeId,
        arguments: &[LlvmValue],
        inputs: &[ValueId],
    ) -> ValueId {
        let id = match (is_load, inputs, arguments) {
            (true, [address, ..], [pointer, ..]) => {
                let space = self.space_of(self.type_of(*pointer));
                self.add(Op::Load(space), ty, &[*address])
            }
            (false, [value, address, ..], [_, pointer, ..]) => {
                let space = self.space_of(self.type_of(*pointer));
                self.function.add(Op::Store(space), 0, self.block, self.address, &[*address, *value])
            }
            _ => return self.unlifted("a coherent access", ty),
        };
        self.function.values[id].is_volatile = true;
        id
    }

    /// Lifts a conversion: `f.f32.s.i32` is one from a signed integer.
    fn convert(&mut self, types: &str, ty: TypeId, arguments: &[LlvmValue]) -> ValueId {
        let parts: Vec<&str> = types.split('.').collect();
        let ([to, to_type, from, from_type, ..], &[argument, ..]) = (&parts[..], arguments) else {
            return self.unlifted(&format!("the function air.convert.{types}"), ty);
        };
        let input = self.value(argument);
        let is_truth = |name: &str| name == "i1" || name.starts_with('v') && name.ends_with("i1");
        let op = match (*to, *from) {
            ("f", "f") => Op::FloatConvert,
            ("f", "s") => Op::SignedToFloat,
            ("f", "u") => Op::UnsignedToFloat,
            ("u" | "s", "f") if is_truth(to_type) => {
                let scalar = self.shared.program.types.scalar_id(self.type_of(argument));
                let zero = self.splat(0, scalar, self.shape(ty).1);
                return self.add(Op::FloatNotEqual, ty, &[input, zero]);
            }
            ("s", "f") => Op::Shader(ShaderOp::FloatToSigned),
            ("u", "f") => Op::Shader(ShaderOp::FloatToUnsigned),
            ("u" | "s", "u" | "s") if is_truth(to_type) => {
                let scalar = self.shared.program.types.scalar_id(self.type_of(argument));
                let zero = self.splat(0, scalar, self.shape(ty).1);
                return self.add(Op::NotEqual, ty, &[input, zero]);
            }
            ("u" | "s", from) => {
                let (wide, narrow) = (self.shape(ty).0, self.function.width(input));
                match (wide.cmp(&narrow), from) {
                    (std::cmp::Ordering::Less, _) => Op::Low,
                    (std::cmp::Ordering::Equal, _) => return input,
                    (_, "s") if !is_truth(from_type) => Op::SignExtend,
                    _ => Op::ZeroExtend,
                }
            }
            _ => return self.unlifted(&format!("the function air.convert.{types}"), ty),
        };
        self.add(op, ty, &[input])
    }

    fn llvm_call(&mut self, name: &str, ty: TypeId, arguments: &[LlvmValue]) -> ValueId {
        if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") {
            return self.copy_memory(arguments, ty);
        }
        if name.starts_with("llvm.memset.") {
            return self.set_memory(arguments, ty);
        }
        let inputs: Vec<ValueId> = arguments.iter().map(|argument| self.value(*argument)).collect();
        if name.starts_with("llvm.fshl.") || name.starts_with("llvm.fshr.") {
            return self.funnel(name.starts_with("llvm.fshl."), ty, &inputs);
        }
        if let (Some((_, op)), &[vector]) = (REDUCTIONS.iter().find(|row| name.starts_with(row.0)), arguments)
        {
            let (value, lanes) = (self.value(vector), self.lane_count(vector));
            let mut sum = self.lane(value, 0, ty);
            for lane in 1..lanes.min(64) {
                let next = self.lane(value, lane as u8, ty);
                let op = match op {
                    Op::And if self.shape(ty).0 == 1 => Op::BoolAnd,
                    Op::Or if self.shape(ty).0 == 1 => Op::BoolOr,
                    Op::Xor if self.shape(ty).0 == 1 => Op::BoolXor,
                    op => *op,
                };
                sum = self.add(op, ty, &[sum, next]);
            }
            return sum;
        }
        let row = LLVM_FUNCTIONS.iter().find(|row| name.starts_with(row.0));
        match row.and_then(|row| Some((MetalOp::by_stem(row.1, row.2)?, row.3))) {
            Some((op, count)) => {
                let count = count.min(inputs.len());
                self.add(Op::Metal(op), ty, &inputs[..count])
            }
            None => self.unlifted(&format!("the function {name}"), ty),
        }
    }

    /// Lifts a shift of two words; of one word twice, it is a rotation.
    fn funnel(&mut self, is_left: bool, ty: TypeId, inputs: &[ValueId]) -> ValueId {
        let &[high, low, count] = inputs else { return self.unlifted("a funnel shift", ty) };
        if high == low {
            let count = if is_left { count } else { self.add(Op::Neg, ty, &[count]) };
            if let Some(op) = MetalOp::by_stem("rotate", Class::Unsigned) {
                return self.add(Op::Metal(op), ty, &[high, count]);
            }
        }
        let stem = if is_left { "funnel_left" } else { "funnel_right" };
        match MetalOp::by_stem(stem, Class::Unsigned) {
            Some(op) => self.add(Op::Metal(op), ty, &[high, low, count]),
            None => self.unlifted("a funnel shift", ty),
        }
    }

    /// Lifts a copy of memory: as a load and a store of the whole variable where its size is that of a type.
    fn copy_memory(&mut self, arguments: &[LlvmValue], ty: TypeId) -> ValueId {
        let &[to, from, size, ..] = arguments else { return self.unlifted("a copy of memory", ty) };
        let Some(size) = self.integer(size) else {
            return self.unlifted("a copy of memory of unknown size", ty);
        };
        let (to, from) = (self.value(to), self.value(from));
        let (to, from) = (self.uncast(to, size), self.uncast(from, size));
        let types = &self.shared.program.types;
        let pointee = |id: ValueId| types.pointee(self.function.values[id].ty);
        if let (Some((_, target)), Some((_, source))) = (pointee(to), pointee(from))
            && target == source
            && types.size(target) == size
        {
            let (source_space, target_space) =
                (self.space_of(self.function.values[from].ty), self.space_of(self.function.values[to].ty));
            let value = self.add(Op::Load(source_space), source, &[from]);
            return self.function.add(Op::Store(target_space), 0, self.block, self.address, &[to, value]);
        }
        self.memory_operation("copy_memory", to, from, size, ty)
    }

    fn set_memory(&mut self, arguments: &[LlvmValue], ty: TypeId) -> ValueId {
        let &[to, byte, size, ..] = arguments else { return self.unlifted("a fill of memory", ty) };
        let Some(size) = self.integer(size) else {
            return self.unlifted("a fill of memory of unknown size", ty);
        };
        let (to, byte) = (self.value(to), self.value(byte));
        let to = self.uncast(to, size);
        let pointee = self.shared.program.types.pointee(self.function.values[to].ty);
        if let Some((_, target)) = pointee
            && self.shared.program.types.size(target) == size
            && self.function.number(byte) == Some(0)
            && matches!(self.value_type(target), ValueType::Array(..) | ValueType::Struct(_))
        {
            let space = self.space_of(self.function.values[to].ty);
            let zeros = self.aggregate(&[], target);
            return self.function.add(Op::Store(space), 0, self.block, self.address, &[to, zeros]);
        }
        self.memory_operation("set_memory", to, byte, size, ty)
    }

    fn memory_operation(&mut self, stem: &str, to: ValueId, with: ValueId, size: u64, ty: TypeId) -> ValueId {
        let Some(op) = MetalOp::by_stem(stem, Class::Plain) else { return self.unlifted(stem, ty) };
        let size = self.function.constant(size, 64);
        self.add(Op::Metal(op), ty, &[to, with, size])
    }

    /// Returns a pointer before its casts to bytes: the variable of this size that it is the start of.
    fn uncast(&self, pointer: ValueId, size: u64) -> ValueId {
        let types = &self.shared.program.types;
        let mut at = pointer;
        let mut best = pointer;
        loop {
            let pointee = types.pointee(self.function.values[at].ty);
            if let Some((_, pointee)) = pointee
                && types.size(pointee) == size
            {
                return at;
            }
            if self.function.op(best) == Op::Reinterpret {
                best = at;
            }
            let is_start = match self.function.op(at) {
                Op::Reinterpret | Op::Member(_, 0) => true,
                Op::Element(_) => self.function.number(self.function.input(at, 1)) == Some(0),
                _ => false,
            };
            let inner = self.function.input(at, 0);
            if !is_start || types.pointee(self.function.values[inner].ty).is_none() {
                return if self.function.op(best) == Op::Reinterpret { at } else { best };
            }
            at = inner;
        }
    }
}
