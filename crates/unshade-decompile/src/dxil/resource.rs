//! Handles of resources, and accesses of buffers.
//!
//! Shader models up to 6.5 name a resource by class and number, libraries by a global variable, later models by its
//! binding or an index of the descriptor heap; an annotation has the properties of the latter.

use super::function::{HANDLE, Lifted, Lifter};
use super::interface;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, Scalar, StructField, StructType};
use crate::ir::shader::interface::{Resource, ResourceClass, Shape};
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

    pub(super) fn resource_handle(&mut self, resource: ResourceId, index: ValueId) -> ValueId {
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
            Lifted::Value(handle) | Lifted::Pair(handle, _) => return Some(handle),
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
        let resources = &mut self.shared.program.resources;
        let known = resources.entries().find(|(_, known)| **known == resource).map(|(id, _)| id);
        let resource = known.unwrap_or_else(|| resources.push(resource));
        Some(self.resource_handle(resource, index))
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
            let field = StructField { name: "words".into(), offset: 0, ty, semantic: None };
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

    /// Returns the shape of the resource of a handle.
    fn shape_of(&self, handle: ValueId) -> Option<Shape> {
        if self.function.op(handle) != Op::Shader(ShaderOp::Handle) {
            return None;
        }
        let number = self.function.number(self.function.input(handle, 0))?;
        Some(self.shared.program.resources.get(ResourceId::new(u32::try_from(number).ok()?))?.shape)
    }

    /// Lifts a load from a typed, byte address or structured buffer: handle, index, offset.
    pub(super) fn load_buffer(&mut self, operands: &[LlvmValue], width: u8, lanes: u16) -> Option<ValueId> {
        let handle = self.value(*operands.first()?);
        let index = self.value(*operands.get(1)?);
        let (op, inputs) = match self.shape_of(handle) {
            Some(Shape::StructuredBuffer) => {
                (ShaderOp::LoadStructured, vec![handle, index, self.value(*operands.get(2)?)])
            }
            Some(Shape::Buffer) => (ShaderOp::LoadBuffer, vec![handle, index]),
            Some(Shape::TextureBuffer) => (ShaderOp::LoadConstant, vec![handle, index]),
            _ => (ShaderOp::LoadRaw, vec![handle, index]),
        };
        Some(self.load_typed(op, width, lanes, &inputs))
    }

    /// Lifts a store to such a buffer.
    pub(super) fn store_buffer(&mut self, operands: &[LlvmValue], stored: ValueId) -> Option<ValueId> {
        let handle = self.value(*operands.first()?);
        let index = self.value(*operands.get(1)?);
        let (op, inputs) = match self.shape_of(handle) {
            Some(Shape::StructuredBuffer) => {
                (ShaderOp::StoreStructured, vec![handle, index, self.value(*operands.get(2)?), stored])
            }
            Some(Shape::Buffer) => {
                let stored = self.stored_typed(handle, stored);
                (ShaderOp::StoreBuffer, vec![handle, index, stored])
            }
            _ => (ShaderOp::StoreRaw, vec![handle, index, stored]),
        };
        Some(self.shader(op, 0, 1, &inputs))
    }
}

/// Returns a resource of the descriptor heap with the properties of an annotation.
///
/// Bits of the first word: 0–7 kind, 8–11 alignment, 12 UAV, 13 ordered, 14 coherent, 15 comparison sampler or counter.
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
    let is_typed = !is_sized && class != ResourceClass::Sampler && shape != Shape::ByteAddressBuffer;
    let element = is_typed.then(|| {
        let scalar = super::types::scalar_of(ComponentType(second & 0xff), is_minimum);
        DataType::vector(scalar, (second >> 8 & 0xff).clamp(1, 4) as u16)
    });
    Resource {
        element,
        samples: if is_typed { second >> 16 & 0xff } else { 0 },
        size: if is_sized { second } else { 0 },
        is_coherent: bit(14),
        is_ordered: bit(13),
        has_counter: shape == Shape::StructuredBuffer && bit(15),
        is_object: true,
        ..Resource::new(class, shape)
    }
}
