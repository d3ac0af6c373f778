//! Memory: variables, addresses, loads and stores.

use super::function::Lifter;
use super::types::same;
use crate::ir::metal::interface::Local;
use crate::ir::metal::types::{AddressSpace, ValueType};
use crate::ir::metal::{Class, MetalOp};
use crate::ir::{Op, Space, TypeId, ValueId};
use unshade_llvm::ValueId as LlvmValue;
use unshade_llvm::instruction::Instruction;

/// The deepest nesting of first members.
const MAX_DEPTH: u32 = 16;

impl Lifter<'_, '_, '_, '_> {
    pub(super) fn alloca(
        &mut self,
        instruction: &Instruction,
        ty: unshade_llvm::TypeId,
        count: LlvmValue,
    ) -> ValueId {
        let mut ty = same(ty);
        match self.integer(count) {
            Some(1) => {}
            Some(count) => ty = self.shared.program.types.intern(ValueType::Array(ty, count)),
            None => return self.allocate(ty, count, same(instruction.ty)),
        }
        let name = self.body.value_name(instruction.result);
        let name = String::from_utf8_lossy(name).into_owned();
        self.locals.push(Local { name, ty });
        let symbol = format!("l{}", self.locals.len() - 1);
        self.symbol(&symbol, same(instruction.ty))
    }

    /// Returns a pointer to as many values of a type as a value says.
    fn allocate(&mut self, ty: TypeId, count: LlvmValue, result: TypeId) -> ValueId {
        let size = self.shared.program.types.size(ty);
        let count_type = self.type_of(count);
        let mut bytes = self.value(count);
        if size != 1 {
            let width = self.function.width(bytes);
            let size = self.function.constant(size, width);
            bytes = self.add(Op::Mul, count_type, &[bytes, size]);
        }
        match MetalOp::by_stem("allocate", Class::Plain) {
            Some(op) => self.add(Op::Metal(op), result, &[bytes]),
            None => self.unlifted("memory of a size that is computed", result),
        }
    }

    pub(super) fn load(
        &mut self,
        instruction: &Instruction,
        pointer: LlvmValue,
        is_volatile: bool,
    ) -> ValueId {
        let space = self.space_of(self.type_of(pointer));
        let address = self.value(pointer);
        let id = self.add(Op::Load(space), same(instruction.ty), &[address]);
        self.function.values[id].is_volatile = is_volatile;
        id
    }

    pub(super) fn store(&mut self, value: LlvmValue, pointer: LlvmValue, is_volatile: bool) {
        let space = match self.space_of(self.type_of(pointer)) {
            Space::Constant(_) => Space::Generic,
            space => space,
        };
        let (value, address) = (self.value(value), self.value(pointer));
        let id = self.function.add(Op::Store(space), 0, self.block, self.address, &[address, value]);
        self.function.values[id].is_volatile = is_volatile;
    }

    /// Returns the pointer that `getelementptr` computes.
    pub(super) fn element_pointer(
        &mut self,
        base: LlvmValue,
        source: TypeId,
        indices: &[LlvmValue],
        result: TypeId,
    ) -> ValueId {
        let Some((space, pointee)) = self.shared.program.types.pointee(self.type_of(base)) else {
            return self.unlifted("getelementptr of vectors", result);
        };
        let mut pointer = self.value(base);
        if pointee != source {
            let ty = self.pointer_type(space, source);
            pointer = self.add(Op::Reinterpret, ty, &[pointer]);
        }
        let mut ty = source;
        for (position, &index) in indices.iter().enumerate() {
            if matches!(self.value_type(self.type_of(index)), ValueType::Vector(..)) {
                return self.unlifted("getelementptr of vectors", result);
            }
            if position == 0 {
                if self.integer(index) != Some(0) {
                    let size = self.size(ty);
                    let (index, pointer_type) = (self.value(index), self.pointer_type(space, ty));
                    pointer = self.add(Op::Offset(size), pointer_type, &[pointer, index]);
                }
                continue;
            }
            match self.value_type(ty) {
                ValueType::Struct(_) => {
                    let number = self.integer(index).unwrap_or(0);
                    let Some(member) = self.member(pointer, space, ty, number) else {
                        return self.unlifted("getelementptr beyond a structure", result);
                    };
                    (pointer, ty) = member;
                }
                ValueType::Array(element, _) | ValueType::Vector(element, _) => {
                    let size = self.size(element);
                    let (index, pointer_type) = (self.value(index), self.pointer_type(space, element));
                    pointer = self.add(Op::Element(size), pointer_type, &[pointer, index]);
                    ty = element;
                }
                _ => return self.unlifted("getelementptr into a number", result),
            }
        }
        pointer
    }

    fn size(&self, ty: TypeId) -> u32 {
        u32::try_from(self.shared.program.types.size(ty)).unwrap_or(u32::MAX)
    }

    /// Returns the pointer to a member of a structure, and the member's type.
    fn member(
        &mut self,
        pointer: ValueId,
        space: AddressSpace,
        structure: TypeId,
        number: u64,
    ) -> Option<(ValueId, TypeId)> {
        let number = u16::try_from(number).ok()?;
        let field = self.shared.program.types.structure(structure)?.fields.get(usize::from(number))?.ty;
        let offset = self.shared.program.types.offset(structure, usize::from(number));
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let ty = self.pointer_type(space, field);
        Some((self.add(Op::Member(number, offset), ty, &[pointer]), field))
    }

    /// Returns a pointer as one of another type: to the first member where that has the type.
    pub(super) fn pointer_cast(&mut self, pointer: ValueId, from: TypeId, to: TypeId) -> ValueId {
        let types = &self.shared.program.types;
        let (Some((space, pointee)), Some((_, wanted))) = (types.pointee(from), types.pointee(to)) else {
            return self.add(Op::Reinterpret, to, &[pointer]);
        };
        let (mut steps, mut ty) = (Vec::new(), pointee);
        while !self.is_same(ty, wanted) && steps.len() < MAX_DEPTH as usize {
            let first = match self.value_type(ty) {
                ValueType::Struct(_) => self
                    .shared
                    .program
                    .types
                    .structure(ty)
                    .and_then(|found| found.fields.first())
                    .map(|field| field.ty),
                ValueType::Array(element, _) => Some(element),
                _ => None,
            };
            let Some(first) = first else {
                return self.add(Op::Reinterpret, to, &[pointer]);
            };
            steps.push(ty);
            ty = first;
        }
        if !self.is_same(ty, wanted) {
            return self.add(Op::Reinterpret, to, &[pointer]);
        }
        let mut at = pointer;
        for step in steps {
            at = match self.value_type(step) {
                ValueType::Array(element, _) => {
                    let size = self.size(element);
                    let zero = self.function.constant(0, 32);
                    let ty = self.pointer_type(space, element);
                    self.add(Op::Element(size), ty, &[at, zero])
                }
                _ => match self.member(at, space, step, 0) {
                    Some((member, _)) => member,
                    None => return self.add(Op::Reinterpret, to, &[pointer]),
                },
            };
        }
        at
    }

    /// Returns whether two types are the same but for signs of integers.
    fn is_same(&self, a: TypeId, b: TypeId) -> bool {
        a == b
            || match (self.value_type(a), self.value_type(b)) {
                (ValueType::Integer(a, _), ValueType::Integer(b, _)) => a == b,
                (ValueType::Bool, ValueType::Integer(8, _)) => true,
                (ValueType::Vector(a, x), ValueType::Vector(b, y)) => x == y && self.is_same(a, b),
                _ => false,
            }
    }
}
