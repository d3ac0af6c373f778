//! Handles of resources, and accesses of buffers.
//!
//! Shader models up to 6.5 name a resource by class and number, libraries by a global variable, later models by its
//! binding or an index of the descriptor heap; an annotation has the properties of the latter.

use super::function::{HANDLE, Lifted, Lifter};
use super::interface;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, Scalar, ScalarKind, StructField, StructType};
use crate::ir::shader::interface::{Resource, ResourceClass, Shape, resource_of};
use crate::ir::shader::vector::{gather, lane, source};
use crate::ir::{Op, ResourceId, ValueId};
use unshade_dxcontainer::dxil::{ComponentType, SamplerKind, resource};
use unshade_dxcontainer::psv0::ResourceKind;
use unshade_llvm::ValueId as LlvmValue;
use unshade_llvm::constants::Constant;
use unshade_llvm::instruction::Instruction;
use unshade_llvm::value::ValueKind;

impl Lifter<'_, '_, '_, '_> {
    /// Lifts an operation that makes a handle.
    pub(super) fn handle(
        &mut self,
        code: u32,
        operands: &[LlvmValue],
        instruction: &Instruction,
    ) -> Option<ValueId> {
        let number = |lifter: &Self, index: usize| operands.get(index).and_then(|id| lifter.integer(*id));
        match code {
            57 => {
                let class = interface::class(resource::ResourceClass(u32::try_from(number(self, 0)?).ok()?));
                let range = u32::try_from(number(self, 1)?).ok()?;
                let Some(&found) = self.shared.resources.get(&(class, range)) else {
                    return Some(self.unlifted("handle of an unknown resource", HANDLE));
                };
                let is_uniform = number(self, 3) != Some(1);
                Some(self.bound(found, *operands.get(2)?, is_uniform))
            }
            160 => Some(self.value(*operands.first()?)),
            217 => {
                let [lower, upper, space, class] = self.four(*operands.first()?)?;
                let class = interface::class(resource::ResourceClass(class));
                let is_same = |resource: &Resource| {
                    resource.class == class
                        && resource.binding.is_some_and(|binding| {
                            let last = binding.count.map_or(u32::MAX, |count| {
                                binding.register.wrapping_add(count.wrapping_sub(1))
                            });
                            binding.register == lower && last == upper && binding.space == space
                        })
                };
                let found = self.shared.program.resources.entries().find(|(_, resource)| is_same(resource));
                let Some((found, _)) = found else {
                    return Some(self.unlifted("handle of an unknown resource", HANDLE));
                };
                let is_uniform = number(self, 2) != Some(1);
                Some(self.bound(found, *operands.get(1)?, is_uniform))
            }
            218 => {
                let index = self.value(*operands.first()?);
                let is_uniform = number(self, 2) != Some(1);
                let index = self.uniform(index, is_uniform);
                self.values.insert(instruction.result, Lifted::HeapIndex(index));
                None
            }
            _ => self.annotated(operands),
        }
    }

    /// Returns the handle of a bound resource. The index counts from register 0 on.
    fn bound(&mut self, resource: ResourceId, index: LlvmValue, is_uniform: bool) -> ValueId {
        let binding = self.shared.program.resources[resource].binding;
        let lower = binding.map_or(0, |binding| binding.register);
        let index = match self.integer(index) {
            Some(number) => self.function.constant(number.wrapping_sub(u64::from(lower)), 32),
            None => {
                let index = self.value(index);
                let index = self.without(index, lower);
                self.uniform(index, is_uniform)
            }
        };
        self.resource_handle(resource, index)
    }

    /// Returns an index less a constant, which was added to it.
    fn without(&mut self, index: ValueId, number: u32) -> ValueId {
        if number == 0 {
            return index;
        }
        if self.function.op(index) == Op::Add {
            let (a, b) = (self.function.input(index, 0), self.function.input(index, 1));
            for (constant, rest) in [(a, b), (b, a)] {
                if self.function.number(constant) == Some(u64::from(number)) {
                    return rest;
                }
            }
        }
        let number = self.function.constant(u64::from(number), 32);
        self.add(Op::Sub, 32, 1, &[index, number])
    }

    fn uniform(&mut self, index: ValueId, is_uniform: bool) -> ValueId {
        if is_uniform { index } else { self.shader(ShaderOp::NonUniform, 32, 1, &[index]) }
    }

    fn resource_handle(&mut self, resource: ResourceId, index: ValueId) -> ValueId {
        let number = self.function.constant(u64::from(resource.number()), 32);
        self.shader(ShaderOp::Handle, HANDLE, 1, &[number, index])
    }

    /// Returns the four numbers of a constant structure: of a binding.
    fn four(&self, id: LlvmValue) -> Option<[u32; 4]> {
        let (constant, constants) = self.shared.module.constant(Some(self.body), id)?;
        let numbers: Vec<u32> = match constant {
            Constant::Null => vec![0; 4],
            Constant::Aggregate(slice) => {
                let values = constants.values(slice).iter();
                values.map(|id| self.integer(*id).map(|number| number as u32)).collect::<Option<_>>()?
            }
            Constant::Data(slice) => constants.words(slice).iter().map(|word| *word as u32).collect(),
            _ => return None,
        };
        numbers.try_into().ok()
    }

    /// Returns the handle that an annotation gives properties to.
    fn annotated(&mut self, operands: &[LlvmValue]) -> Option<ValueId> {
        let index = match self.lifted(*operands.first()?) {
            Lifted::HeapIndex(index) => index,
            Lifted::Value(handle) | Lifted::Pair(handle, _) | Lifted::Words(handle, _) => {
                return Some(handle);
            }
        };
        let (constant, constants) = self.shared.module.constant(Some(self.body), *operands.get(1)?)?;
        let words: Vec<u64> = match constant {
            Constant::Null => vec![0; 2],
            Constant::Aggregate(slice) => {
                constants.values(slice).iter().map(|id| self.integer(*id)).collect::<Option<_>>()?
            }
            Constant::Data(slice) => constants.words(slice).to_vec(),
            _ => return None,
        };
        let &[first, second] = words.as_slice() else { return None };
        let mut resource =
            from_properties(first as u32, second as u32, !self.shared.program.has_native_16_bit);
        if resource.size > 0 {
            resource.element = Some(self.words(resource.shape, resource.size));
        }
        Some(self.heap_handle(resource, index))
    }

    /// Returns a structure of words with a size in bytes: nothing describes the elements of the descriptor heap.
    fn words(&mut self, shape: Shape, size: u32) -> DataType {
        let structs = &mut self.shared.program.structs;
        let is_constant = shape == Shape::ConstantBuffer;
        let (element, count, name) = match is_constant {
            true => {
                (DataType::Vector(Scalar::UINT, 4), size.div_ceil(16), format!("Rows{}", size.div_ceil(16)))
            }
            false => (DataType::Scalar(Scalar::UINT), size.div_ceil(4), format!("Words{}", size.div_ceil(4))),
        };
        let known = structs.entries().find(|(_, known)| known.name == name).map(|(id, _)| id);
        let id = known.unwrap_or_else(|| {
            let ty = DataType::Array(Box::new(element), count);
            let field = StructField { name: "words".into(), offset: 0, ty, semantic: None, access: None };
            structs.push(StructType { name, fields: vec![field], size })
        });
        DataType::Struct(id)
    }

    /// Returns the handle of a resource that a library loads from a global variable, or from an element of one.
    pub(super) fn library_handle(&mut self, pointer: LlvmValue) -> Option<ValueId> {
        let (module, body) = (self.shared.module, self.body);
        if let Some(&resource) = self.shared.resource_variables.get(&pointer) {
            let zero = self.function.constant(0, 32);
            return Some(self.resource_handle(resource, zero));
        }
        // The index is the last operand of the `getelementptr`.
        let value = module.value(Some(body), pointer)?;
        let operands: Vec<LlvmValue> = match value.kind {
            ValueKind::Instruction(index) => {
                let instruction = body.instructions.get(index as usize)?;
                body.operands_of(instruction).iter().filter_map(|operand| operand.as_value()).collect()
            }
            ValueKind::Constant(_) => match module.constant(Some(body), pointer)? {
                (Constant::Expression(index), constants) => {
                    constants.values(constants.expression(index)?.operands).to_vec()
                }
                _ => return None,
            },
            _ => return None,
        };
        let &resource = self.shared.resource_variables.get(operands.first()?)?;
        let index = self.value(*operands.last()?);
        Some(self.resource_handle(resource, index))
    }

    /// Returns the resource of a handle.
    fn resource_of(&self, handle: ValueId) -> Option<&Resource> {
        self.shared.program.resources.get(resource_of(&self.function, handle)?)
    }

    /// Returns the shape of the resource of a handle.
    fn shape_of(&self, handle: ValueId) -> Option<Shape> {
        Some(self.resource_of(handle)?.shape)
    }

    /// Returns the handle for an atomic operation. Nothing but that operation says that a typed resource of the descriptor
    /// heap has elements of 64 bits; others with the same properties have words.
    pub(super) fn atomic_handle(&mut self, handle: ValueId, width: u8) -> ValueId {
        let Some(resource) = self.resource_of(handle).filter(|resource| resource.binding.is_none()) else {
            return handle;
        };
        let mut wide = resource.clone();
        match &mut wide.element {
            Some(DataType::Scalar(scalar)) if width == 64 && scalar.bits == 32 => scalar.bits = width,
            _ => return handle,
        }
        let index = self.function.input(handle, 1);
        self.heap_handle(wide, index)
    }

    /// Returns the handle of a resource of the descriptor heap. Those with the same properties are one.
    fn heap_handle(&mut self, resource: Resource, index: ValueId) -> ValueId {
        let resources = &mut self.shared.program.resources;
        let known = resources.entries().find(|(_, known)| **known == resource).map(|(id, _)| id);
        let resource = known.unwrap_or_else(|| resources.push(resource));
        self.resource_handle(resource, index)
    }

    /// Returns the type of the elements of a typed resource, and their number, if they have 64 bits.
    fn wide_element(&self, handle: ValueId) -> Option<(Scalar, u16)> {
        match self.resource_of(handle)?.element.as_ref()? {
            DataType::Scalar(scalar) if scalar.bits == 64 => Some((*scalar, 1)),
            DataType::Vector(scalar, lanes @ 1..=2) if scalar.bits == 64 => Some((*scalar, *lanes)),
            _ => None,
        }
    }

    /// Lifts a load of texels. Machine code loads numbers of 64 bits as two words each.
    pub(super) fn load_texels(
        &mut self,
        op: ShaderOp,
        (width, lanes): (u8, u16),
        inputs: &[ValueId],
        instruction: &Instruction,
    ) -> Option<ValueId> {
        let Some((scalar, count)) = self.wide_element(inputs[0]).filter(|_| width == 32) else {
            return Some(self.shader(op, width, lanes, inputs));
        };
        let load = self.shader(op, 64, count, inputs);
        let mut words = Vec::new();
        for index in 0..count {
            let number = lane(&mut self.function, self.block, self.address, load, index as u8);
            words.extend(self.words_of(number, scalar));
        }
        words.resize_with(4, || self.function.constant(0, 32));
        let words = gather(&mut self.function, self.block, self.address, &words);
        self.values.insert(instruction.result, Lifted::Words(words, load));
        None
    }

    /// Returns the words of a number of 64 bits, the lower one first.
    fn words_of(&mut self, number: ValueId, scalar: Scalar) -> [ValueId; 2] {
        if scalar.kind == ScalarKind::Float {
            let split = self.shader(ShaderOp::SplitDouble, 32, 2, &[number]);
            return [0, 1].map(|index| lane(&mut self.function, self.block, self.address, split, index));
        }
        let count = self.function.constant(32, 64);
        let high = self.add(Op::Shr, 64, 1, &[number, count]);
        [number, high].map(|number| self.add(Op::Low, 32, 1, &[number]))
    }

    /// Returns the double whose words these are.
    fn split_double(&self, low: ValueId, high: ValueId) -> Option<ValueId> {
        let ((split, 0), (same, 1)) = (source(&self.function, low)?, source(&self.function, high)?) else {
            return None;
        };
        let is_split = split == same && self.function.op(split) == Op::Shader(ShaderOp::SplitDouble);
        is_split.then(|| self.function.input(split, 0))
    }

    /// Returns the integer whose words these are.
    fn split_integer(&self, low: ValueId, high: ValueId) -> Option<ValueId> {
        let function = &self.function;
        let narrowed = |value: ValueId| (function.op(value) == Op::Low).then(|| function.input(value, 0));
        let (number, shifted) = (narrowed(low)?, narrowed(high)?);
        let is_high = matches!(function.op(shifted), Op::Shr | Op::Sar)
            && function.input(shifted, 0) == number
            && function.number(function.input(shifted, 1)) == Some(32);
        (is_high && function.width(number) == 64).then_some(number)
    }

    /// Returns what is stored to a typed resource: words as numbers of 64 bits, if it has such.
    pub(super) fn texels(&mut self, handle: ValueId, stored: ValueId) -> ValueId {
        let Some((scalar, count)) = self.wide_element(handle) else { return stored };
        if self.function.width(stored) != 32 {
            return stored;
        }
        let mut numbers = Vec::new();
        for index in 0..count {
            let [low, high] = [0, 1].map(|half| {
                lane(&mut self.function, self.block, self.address, stored, 2 * index as u8 + half)
            });
            numbers.push(self.number_of(low, high, scalar));
        }
        gather(&mut self.function, self.block, self.address, &numbers)
    }

    /// Returns the number of 64 bits with two words: the one that they were taken from, or a new one.
    fn number_of(&mut self, low: ValueId, high: ValueId, scalar: Scalar) -> ValueId {
        let known = self.split_double(low, high).or_else(|| self.split_integer(low, high));
        if let Some(number) = known {
            return number;
        }
        if scalar.kind == ScalarKind::Float {
            return self.shader(ShaderOp::MakeDouble, 64, 1, &[low, high]);
        }
        let [low, high] = [low, high].map(|word| self.add(Op::ZeroExtend, 64, 1, &[word]));
        if self.function.number(high) == Some(0) {
            return low;
        }
        let count = self.function.constant(32, 64);
        let high = self.add(Op::Shl, 64, 1, &[high, count]);
        self.add(Op::Or, 64, 1, &[low, high])
    }

    /// Lifts a load from a typed, byte address or structured buffer: handle, index, offset.
    pub(super) fn load_buffer(
        &mut self,
        operands: &[LlvmValue],
        width: u8,
        lanes: u16,
        instruction: &Instruction,
    ) -> Option<ValueId> {
        let handle = self.value(*operands.first()?);
        let index = self.value(*operands.get(1)?);
        let (op, inputs) = match self.shape_of(handle) {
            Some(Shape::StructuredBuffer) => {
                (ShaderOp::LoadStructured, vec![handle, index, self.value(*operands.get(2)?)])
            }
            Some(Shape::Buffer) => {
                return self.load_texels(ShaderOp::LoadBuffer, (width, lanes), &[handle, index], instruction);
            }
            Some(Shape::TextureBuffer) => (ShaderOp::LoadConstant, vec![handle, index]),
            _ => (ShaderOp::LoadRaw, vec![handle, index]),
        };
        Some(self.shader(op, width, lanes, &inputs))
    }

    /// Lifts a store to such a buffer.
    pub(super) fn store_buffer(&mut self, operands: &[LlvmValue], stored: ValueId) -> Option<ValueId> {
        let handle = self.value(*operands.first()?);
        let index = self.value(*operands.get(1)?);
        let (op, inputs) = match self.shape_of(handle) {
            Some(Shape::StructuredBuffer) => {
                (ShaderOp::StoreStructured, vec![handle, index, self.value(*operands.get(2)?), stored])
            }
            Some(Shape::Buffer) => (ShaderOp::StoreBuffer, vec![handle, index, self.texels(handle, stored)]),
            _ => (ShaderOp::StoreRaw, vec![handle, index, stored]),
        };
        Some(self.shader(op, 0, 1, &inputs))
    }
}

/// Returns a resource of the descriptor heap with the properties of an annotation.
///
/// Bits of the first word: 0–7 kind, 8–11 alignment, 12 UAV, 13 ordered, 14 coherent, 15 comparison sampler or counter, 16 reorder
/// coherent.
/// The second word has the bytes of a constant buffer, the stride of a structured buffer, or the type of components
/// (bits 0–7), their number (8–15) and the number of samples (16–23).
fn from_properties(first: u32, second: u32, is_minimum: bool) -> Resource {
    let kind = ResourceKind(first & 0xff);
    let bit = |number: u32| first >> number & 1 != 0;
    let sampler = bit(15).then_some(SamplerKind::COMPARISON);
    let shape = interface::shape(kind, sampler).unwrap_or(Shape::ByteAddressBuffer);
    let class = match shape {
        Shape::Sampler | Shape::ComparisonSampler => ResourceClass::Sampler,
        Shape::ConstantBuffer => ResourceClass::ConstantBuffer,
        _ if bit(12) => ResourceClass::UnorderedAccess,
        _ => ResourceClass::ShaderResource,
    };
    let is_sized = matches!(shape, Shape::ConstantBuffer | Shape::StructuredBuffer);
    let is_feedback = matches!(shape, Shape::FeedbackTexture2D | Shape::FeedbackTexture2DArray);
    let is_typed =
        !is_sized && !is_feedback && class != ResourceClass::Sampler && shape != Shape::ByteAddressBuffer;
    let element = is_typed.then(|| {
        let scalar = super::types::scalar_of(ComponentType(second & 0xff), is_minimum);
        DataType::vector(scalar, (second >> 8 & 0xff).clamp(1, 4) as u16)
    });
    Resource {
        element,
        samples: if is_typed { second >> 16 & 0xff } else { 0 },
        size: if is_sized { second } else { 0 },
        is_coherent: bit(14),
        is_reorder_coherent: bit(16),
        is_normalized: if is_typed { interface::normalized(ComponentType(second & 0xff)) } else { None },
        tracks_used_regions: is_feedback && second & 0xff == interface::MIP_REGION_USED,
        is_ordered: bit(13),
        has_counter: shape == Shape::StructuredBuffer && bit(15),
        is_object: true,
        ..Resource::new(class, shape)
    }
}
