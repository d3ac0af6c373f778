//! Calls of DXIL operations in the body of a function: opcode, arguments, and the resource behind a handle.
//!
//! An operation is a call of a function whose name starts with `dx.op.`; its first argument is the opcode. A handle
//! comes from an operation that creates or annotates it, possibly through `phi` and `select`, of which DXC follows the
//! first value.

use super::super::{DxilModule, Resource, ResourceClass};
use crate::psv0::ResourceKind;
use alloc::vec::Vec;
use unshade_llvm::body::FunctionBody;
use unshade_llvm::constants::Constant;
use unshade_llvm::module::Module;
use unshade_llvm::types::Type;
use unshade_llvm::value::ValueKind;
use unshade_llvm::{Instruction, Opcode, TypeId, ValueId};

/// Numbers of operations.
pub(super) mod op {
    pub(in super::super) const CREATE_HANDLE: u32 = 57;
    pub(in super::super) const CREATE_HANDLE_FOR_LIB: u32 = 160;
    pub(in super::super) const ANNOTATE_HANDLE: u32 = 216;
    pub(in super::super) const CREATE_HANDLE_FROM_BINDING: u32 = 217;
    pub(in super::super) const BARRIER: u32 = 80;
    pub(in super::super) const BARRIER_BY_MEMORY_TYPE: u32 = 244;
    pub(in super::super) const BARRIER_BY_MEMORY_HANDLE: u32 = 245;
    pub(in super::super) const BARRIER_BY_NODE_RECORD: u32 = 246;
}

/// The prefix of the names of operations.
const PREFIX: &[u8] = b"dx.op.";

/// Maximum number of `phi` and `select` instructions between a handle and its use.
const MAX_STEPS: usize = 64;

/// Bits of the first word of resource properties.
const PROPERTY_UAV: u64 = 1 << 12;

/// What is known of the resource behind a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HandleProperties {
    pub(super) kind: ResourceKind,
    pub(super) uav: bool,
    /// Components of an element of a texture or typed buffer.
    pub(super) components: u32,
}

impl HandleProperties {
    /// Nothing is known.
    const NONE: Self = Self { kind: ResourceKind::INVALID, uav: false, components: 0 };

    /// Whether it is a texture or a typed buffer.
    pub(super) fn is_typed(&self) -> bool {
        (ResourceKind::TEXTURE1D.0..=ResourceKind::TYPED_BUFFER.0).contains(&self.kind.0)
    }

    /// Whether it is a multisampled texture that the program may write.
    pub(super) fn is_writeable_multisampled(&self) -> bool {
        self.uav && matches!(self.kind, ResourceKind::TEXTURE2DMS | ResourceKind::TEXTURE2DMS_ARRAY)
    }
}

/// A body with its module.
#[derive(Clone, Copy)]
pub(super) struct Operations<'b> {
    pub(super) module: &'b Module<'b>,
    pub(super) dxil: &'b DxilModule,
    pub(super) body: &'b FunctionBody,
}

/// Returns whether a function is a DXIL operation.
pub(super) fn is_operation(name: &[u8]) -> bool {
    name.starts_with(PREFIX)
}

impl<'b> Operations<'b> {
    /// Returns the opcode of an operation.
    pub(super) fn opcode(&self, call: &Instruction) -> Option<u32> {
        self.number(call, 0)
    }

    /// Returns an argument of a call; the opcode is argument 0.
    pub(super) fn argument(&self, call: &Instruction, at: usize) -> Option<ValueId> {
        self.body.operands_of(call).get(at.saturating_add(1))?.as_value()
    }

    /// Returns the last argument of a call.
    pub(super) fn last_argument(&self, call: &Instruction) -> Option<ValueId> {
        self.body.operands_of(call).last()?.as_value()
    }

    /// Returns an argument that is a constant integer.
    pub(super) fn number(&self, call: &Instruction, at: usize) -> Option<u32> {
        self.integer(self.argument(call, at)?)
    }

    fn integer(&self, id: ValueId) -> Option<u32> {
        Some((self.module.integer(Some(self.body), id)? & 0xFFFF_FFFF) as u32)
    }

    /// Returns the type of a value.
    pub(super) fn type_of(&self, id: ValueId) -> Option<Type> {
        Some(self.module.types.get(self.module.value(Some(self.body), id)?.ty))
    }

    /// Returns whether a value is a constant.
    pub(super) fn is_constant(&self, id: ValueId) -> bool {
        let kind = self.module.value(Some(self.body), id).map(|value| value.kind);
        !matches!(kind, Some(ValueKind::Argument(_) | ValueKind::Instruction(_)))
    }

    /// Returns whether a value is a floating-point number other than zero, or only known at run time.
    pub(super) fn may_be_set(&self, id: ValueId) -> bool {
        match self.module.constant(Some(self.body), id) {
            // Only the sign may be set.
            Some((Constant::Float(bits), _)) => bits & 0x7FFF_FFFF != 0,
            Some((Constant::Null | Constant::Undef, _)) => false,
            _ => true,
        }
    }

    fn instruction(&self, id: ValueId) -> Option<&'b Instruction> {
        match self.module.value(Some(self.body), id)?.kind {
            ValueKind::Instruction(index) => self.body.instructions.get(index as usize),
            _ => None,
        }
    }

    /// Follows the first values of `phi` and `select`.
    fn origin(&self, mut id: ValueId) -> Option<ValueId> {
        for _ in 0..MAX_STEPS {
            let Some(instruction) = self.instruction(id) else { return Some(id) };
            let at = match instruction.opcode {
                Opcode::Phi => 0,
                Opcode::Select => 1,
                _ => return Some(id),
            };
            id = self.body.operands_of(instruction).get(at)?.as_value()?;
        }
        None
    }

    /// Returns the call that creates or annotates a handle.
    pub(super) fn handle_call(&self, handle: ValueId) -> Option<&'b Instruction> {
        self.instruction(self.origin(handle)?).filter(|instruction| instruction.opcode == Opcode::Call)
    }

    /// Returns the properties of the resource behind a call that creates or annotates a handle.
    pub(super) fn properties(&self, call: &Instruction) -> HandleProperties {
        let found = match self.opcode(call) {
            Some(op::CREATE_HANDLE) => {
                self.resource_of_range(call).map(|resource| self.of_resource(resource))
            }
            Some(op::CREATE_HANDLE_FOR_LIB) => {
                self.uav_of_load(call).map(|resource| self.of_resource(resource))
            }
            Some(op::ANNOTATE_HANDLE) => self.of_annotation(call),
            _ => None,
        };
        found.unwrap_or(HandleProperties::NONE)
    }

    fn resource_of_range(&self, call: &Instruction) -> Option<&'b Resource> {
        let class = ResourceClass(self.number(call, 1)?);
        let range = self.integer(self.origin(self.argument(call, 2)?)?)?;
        let views = [ResourceClass::SRV, ResourceClass::UAV].contains(&class);
        self.dxil.resources_of(class).nth(range as usize).filter(|_| views)
    }

    /// Returns the UAV whose variable is loaded to create a handle.
    fn uav_of_load(&self, call: &Instruction) -> Option<&'b Resource> {
        let load = self.instruction(self.argument(call, 1)?).filter(|load| load.opcode == Opcode::Load)?;
        let pointer = self.body.operands_of(load).first()?.as_value()?;
        self.dxil.resources_of(ResourceClass::UAV).find(|resource| resource.variable == pointer)
    }

    fn of_resource(&self, resource: &Resource) -> HandleProperties {
        let uav = resource.class == ResourceClass::UAV;
        let mut properties = HandleProperties { kind: resource.kind, uav, components: 0 };
        if properties.is_typed() {
            properties.components = self.components(resource.ty).unwrap_or(1);
        }
        properties
    }

    /// Returns the number of components of an element, from the type of a resource's variable: a struct whose first
    /// field is the element.
    fn components(&self, variable: TypeId) -> Option<u32> {
        let types = &self.module.types;
        let mut ty = types.pointee(variable)?;
        while let Type::Array { element, .. } = types.get(ty) {
            ty = element;
        }
        let count = match types.get(types.child(ty, 0)?) {
            Type::Vector { count, .. } => count,
            Type::Array { count, .. } => u32::try_from(count).ok()?,
            Type::Struct(structure) => u32::try_from(structure.fields.len()).ok()?,
            _ => 1,
        };
        Some(count)
    }

    fn of_annotation(&self, call: &Instruction) -> Option<HandleProperties> {
        let [first, second] = self.constant_fields(self.argument(call, 2)?)?[..] else { return None };
        Some(HandleProperties {
            kind: ResourceKind((first & 0xFF) as u32),
            uav: first & PROPERTY_UAV != 0,
            components: (second >> 8 & 0xFF) as u32,
        })
    }

    /// Returns the integers of a constant struct.
    fn constant_fields(&self, id: ValueId) -> Option<Vec<u64>> {
        let ty = self.module.value(Some(self.body), id)?.ty;
        let (constant, constants) = self.module.constant(Some(self.body), id)?;
        match constant {
            Constant::Aggregate(values) => {
                constants.values(values).iter().map(|id| self.module.integer(Some(self.body), *id)).collect()
            }
            Constant::Null => match self.module.types.get(ty) {
                Type::Struct(structure) => Some(alloc::vec![0; structure.fields.len().min(4)]),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the UAV behind a call that annotates a handle, if it is bound and not from a descriptor heap.
    pub(super) fn bound_uav(&self, call: &Instruction) -> Option<&'b Resource> {
        if self.opcode(call) != Some(op::ANNOTATE_HANDLE) {
            return None;
        }
        let create = self.instruction(self.argument(call, 1)?)?;
        match self.opcode(create)? {
            op::CREATE_HANDLE_FROM_BINDING => {
                let [lower, upper, space, class] = self.constant_fields(self.argument(create, 1)?)?[..]
                else {
                    return None;
                };
                let is_uav = class == u64::from(ResourceClass::UAV.0);
                let word = |value: u64| (value & 0xFFFF_FFFF) as u32;
                let key = (word(lower), word(upper), word(space));
                let mut uavs = self.dxil.resources_of(ResourceClass::UAV);
                uavs.find(|uav| is_uav && (uav.lower_bound, uav.upper_bound(), uav.space) == key)
            }
            op::CREATE_HANDLE_FOR_LIB => self.uav_of_load(create),
            _ => None,
        }
    }
}
