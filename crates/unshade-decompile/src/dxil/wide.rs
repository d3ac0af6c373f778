//! Numbers of 64 bits in typed buffers and textures.
//!
//! The metadata of such a resource has the component type of its words, and loads and stores move words. Only the type of
//! the object, such as `RWBuffer<unsigned long long>`, and atomic operations say that its elements are wider. The text
//! declares them as what they are:
//!
//! | program | lifted |
//! |---|---|
//! | load of words | load of numbers, of which each word is a part |
//! | store of words | store of numbers that are put together from them |
//! | atomic operation of 64 bits on a resource of the descriptor heap | on one with elements of 64 bits |

use super::function::Lifter;
use super::types::TypeReader;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, Scalar, ScalarKind};
use crate::ir::shader::vector::lane;
use crate::ir::{Op, ResourceId, ValueId};
use unshade_llvm::TypeId;
use unshade_llvm::types::Type;

/// Returns the type of the numbers of an object whose elements have 64 bits.
pub(super) fn scalar(types: &TypeReader<'_, '_>, object: TypeId) -> Option<Scalar> {
    let types_of_module = &types.module.types;
    let Type::Struct(fields) = types_of_module.get(object) else { return None };
    let first = *types_of_module.elements(fields.fields).first()?;
    let number = match types_of_module.get(first) {
        Type::Vector { element, .. } => types_of_module.get(element),
        number => number,
    };
    let kind = match number {
        Type::Double => ScalarKind::Float,
        Type::Integer(64) => {
            let name = types.struct_name(object).unwrap_or_default();
            if name.contains("unsigned") { ScalarKind::Unsigned } else { ScalarKind::Signed }
        }
        _ => return None,
    };
    Some(Scalar { kind, bits: 64, is_minimum: false })
}

impl Lifter<'_, '_, '_, '_> {
    fn resource_of(&self, handle: ValueId) -> Option<ResourceId> {
        if self.function.op(handle) != Op::Shader(ShaderOp::Handle) {
            return None;
        }
        let number = self.function.number(self.function.input(handle, 0))?;
        Some(ResourceId::new(u32::try_from(number).ok()?))
    }

    /// Returns the kind and the count of the numbers in an element of a typed resource, if they have 64 bits.
    fn wide_element(&self, handle: ValueId) -> Option<(ScalarKind, u16)> {
        let resource = self.shared.program.resources.get(self.resource_of(handle)?)?;
        if !resource.shape.is_typed() {
            return None;
        }
        match resource.element.as_ref()? {
            DataType::Scalar(scalar) if scalar.bits == 64 => Some((scalar.kind, 1)),
            DataType::Vector(scalar, lanes) if scalar.bits == 64 => Some((scalar.kind, *lanes)),
            _ => None,
        }
    }

    /// Lifts a load from a typed resource. The handle is the first input.
    pub(super) fn load_typed(&mut self, op: ShaderOp, width: u8, lanes: u16, inputs: &[ValueId]) -> ValueId {
        let Some((kind, count)) = self.wide_element(inputs[0]).filter(|_| width == 32) else {
            return self.shader(op, width, lanes, inputs);
        };
        let loaded = self.shader(op, 64, count, inputs);
        let mut words = Vec::new();
        for number in 0..count.min(lanes / 2) {
            let number = lane(&mut self.function, self.block, self.address, loaded, number as u8);
            words.extend(self.words_of(number, kind));
        }
        while words.len() < usize::from(lanes) {
            words.push(self.undefined(32, 1));
        }
        self.whole(&words)
    }

    /// Returns the low and the high word of a number.
    fn words_of(&mut self, number: ValueId, kind: ScalarKind) -> [ValueId; 2] {
        if kind == ScalarKind::Float {
            let pair = self.shader(ShaderOp::SplitDouble, 32, 2, &[number]);
            return [0, 1].map(|index| lane(&mut self.function, self.block, self.address, pair, index));
        }
        let by = self.function.constant(32, 64);
        let above = self.add(Op::Shr, 64, 1, &[number, by]);
        [self.add(Op::Low, 32, 1, &[number]), self.add(Op::Low, 32, 1, &[above])]
    }

    /// Returns what is stored to a typed resource.
    pub(super) fn stored_typed(&mut self, handle: ValueId, stored: ValueId) -> ValueId {
        let Some((kind, count)) = self.wide_element(handle).filter(|_| self.function.width(stored) == 32)
        else {
            return stored;
        };
        let lanes = self.function.lanes(stored);
        let mut numbers = Vec::new();
        for number in 0..count.min(lanes / 2) {
            let words = [2 * number, 2 * number + 1]
                .map(|index| lane(&mut self.function, self.block, self.address, stored, index as u8));
            numbers.push(self.number_of(words, kind));
        }
        if numbers.is_empty() { stored } else { self.whole(&numbers) }
    }

    /// Returns the number with a low and a high word.
    fn number_of(&mut self, [low, high]: [ValueId; 2], kind: ScalarKind) -> ValueId {
        if kind == ScalarKind::Float {
            return self.shader(ShaderOp::MakeDouble, 64, 1, &[low, high]);
        }
        let by = self.function.constant(32, 64);
        let [low, high] = [low, high].map(|word| self.add(Op::ZeroExtend, 64, 1, &[word]));
        let high = self.add(Op::Shl, 64, 1, &[high, by]);
        self.add(Op::Or, 64, 1, &[low, high])
    }

    /// Returns the handle for an atomic operation on numbers of 64 bits: nothing else says that a typed resource of the
    /// descriptor heap has them.
    pub(super) fn wide_handle(&mut self, handle: ValueId) -> ValueId {
        let Some(found) = self.resource_of(handle) else { return handle };
        let Some(resource) = self.shared.program.resources.get(found) else { return handle };
        let scalar = resource.element.as_ref().and_then(DataType::scalar);
        if resource.binding.is_some()
            || !resource.shape.is_typed()
            || scalar.is_none_or(|scalar| scalar.bits == 64)
        {
            return handle;
        }
        let mut wide = resource.clone();
        wide.element =
            Some(DataType::Scalar(Scalar { kind: ScalarKind::Unsigned, bits: 64, is_minimum: false }));
        let resources = &mut self.shared.program.resources;
        let known = resources.entries().find(|(_, known)| **known == wide).map(|(id, _)| id);
        let resource = known.unwrap_or_else(|| resources.push(wide));
        let index = self.function.input(handle, 1);
        self.resource_handle(resource, index)
    }
}
