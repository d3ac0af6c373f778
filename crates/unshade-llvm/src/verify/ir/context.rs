//! What all checks of a module share: facts about its types, its generation of LLVM, its intrinsics.

use super::dxil::ShaderModel;
use super::intrinsics::Intrinsic;
use super::types::TypeFacts;
use crate::attributes::{Attribute, index};
use crate::body::FunctionBody;
use crate::constants::{Constant, Constants};
use crate::ids::{AttributeListId, AttributeSetId, TypeId, ValueId};
use crate::module::Module;
use crate::types::{Type, TypeTable};
use crate::value::{Operand, OperandKind, Value, ValueKind};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cell::RefCell;

/// Maximum number of casts and aliases between a value and what it stands for.
const MAX_STEPS: usize = 64;

/// Maximum number of indices of a `getelementptr` that is looked through.
const MAX_INDICES: usize = 16;

/// A module, with what is known of it.
pub(super) struct Context<'m, 'a> {
    pub(super) module: &'m Module<'a>,
    pub(super) types: TypeFacts,
    /// The major version of the LLVM that wrote the module; a guess if the module does not say.
    pub(super) generation: u32,
    /// Whether debug information is of the current version; LLVM drops any other.
    pub(super) has_debug_info: bool,
    /// Whether the module was assembled from a text, so that nothing upgrades it.
    pub(super) is_text: bool,
    /// Whether the module is DXIL.
    pub(super) is_dxil: bool,
    /// The shader model of a DXIL module.
    pub(super) shader_model: ShaderModel,
    /// Masks of the module that are sound for vectors of a type, so that each is checked once.
    pub(super) masks: RefCell<BTreeSet<(ValueId, TypeId)>>,
    /// The intrinsic that each function is.
    intrinsics: Vec<Option<&'static Intrinsic>>,
}

/// The number of elements of a vector, and whether it is scalable.
pub(super) type Lanes = Option<(u32, bool)>;

impl<'m, 'a> Context<'m, 'a> {
    pub(super) fn new(module: &'m Module<'a>) -> Self {
        let types = TypeFacts::new(&module.types);
        let intrinsics = module.functions.iter().map(|function| Intrinsic::find(&function.symbol.name)).collect();
        let generation = generation(module, types.typed_pointers);
        let has_debug_info = module.flag(b"Debug Info Version") == Some(3);
        let shader_model = ShaderModel::default();
        let mut context = Self { module, types, generation, has_debug_info, is_text: false, is_dxil: false, shader_model, masks: RefCell::default(), intrinsics };
        context.is_dxil = context.is_dxil_module();
        context.shader_model = context.read_shader_model();
        context
    }

    /// Returns the type table.
    pub(super) fn table(&self) -> &'m TypeTable {
        &self.module.types
    }

    #[inline]
    pub(super) fn get(&self, ty: TypeId) -> Type {
        self.module.types.get(ty)
    }

    /// Returns the type of the elements of a vector, or of a scalar.
    #[inline]
    pub(super) fn scalar(&self, ty: TypeId) -> Type {
        self.get(self.module.types.scalar(ty))
    }

    #[inline]
    pub(super) fn same(&self, one: TypeId, other: TypeId) -> bool {
        self.types.same(one, other)
    }

    /// Returns whether a type could not be read, which the readers report.
    pub(super) fn is_unknown(&self, ty: TypeId) -> bool {
        matches!(self.get(ty), Type::Unknown)
    }

    pub(super) fn is_integer(&self, ty: TypeId) -> bool {
        matches!(self.get(ty), Type::Integer(_) | Type::Unknown)
    }

    pub(super) fn is_integer_of(&self, ty: TypeId, width: u32) -> bool {
        matches!(self.get(ty), Type::Integer(bits) if bits == width) || self.is_unknown(ty)
    }

    pub(super) fn is_integer_or_vector(&self, ty: TypeId) -> bool {
        matches!(self.scalar(ty), Type::Integer(_) | Type::Unknown)
    }

    pub(super) fn is_float_or_vector(&self, ty: TypeId) -> bool {
        self.module.types.is_float(ty) || self.is_unknown(ty)
    }

    pub(super) fn is_pointer(&self, ty: TypeId) -> bool {
        self.module.types.is_pointer(ty) || self.is_unknown(ty)
    }

    pub(super) fn is_pointer_or_vector(&self, ty: TypeId) -> bool {
        let scalar = self.scalar(ty);
        matches!(scalar, Type::Pointer { .. } | Type::OpaquePointer { .. } | Type::Unknown)
    }

    pub(super) fn is_vector(&self, ty: TypeId) -> bool {
        matches!(self.get(ty), Type::Vector { .. })
    }

    pub(super) fn is_aggregate(&self, ty: TypeId) -> bool {
        matches!(self.get(ty), Type::Struct(_) | Type::Array { .. })
    }

    /// Returns whether instructions can make and use values of a type.
    pub(super) fn is_first_class(&self, ty: TypeId) -> bool {
        !matches!(self.get(ty), Type::Void | Type::Function { .. })
    }

    #[inline]
    pub(super) fn lanes(&self, ty: TypeId) -> Lanes {
        match self.get(ty) {
            Type::Vector { count, scalable, .. } => Some((count, scalable)),
            _ => None,
        }
    }

    /// Returns the number of bits of a number, or of the elements of a vector of numbers; 0 for other types.
    pub(super) fn scalar_bits(&self, ty: TypeId) -> u64 {
        self.scalar(ty).number_bits().map_or(0, u64::from)
    }

    /// Returns the number of bits of a number or vector of numbers; 0 for other types.
    pub(super) fn bits(&self, ty: TypeId) -> u64 {
        let lanes = self.lanes(ty).map_or(1, |(count, _)| u64::from(count));
        self.scalar_bits(ty).saturating_mul(lanes)
    }

    pub(super) fn value(&self, body: Option<&FunctionBody>, id: ValueId) -> Option<Value> {
        self.module.value(body, id)
    }

    /// Returns the type of a value; the id that means "none" if there is no such value.
    #[inline]
    pub(super) fn type_of(&self, body: Option<&FunctionBody>, id: ValueId) -> TypeId {
        self.module.value(body, id).map_or(TypeId::NONE, |value| value.ty)
    }

    /// Returns the constant that a value is.
    pub(super) fn constant<'s>(
        &'s self,
        body: Option<&'s FunctionBody>,
        id: ValueId,
    ) -> Option<(Constant, &'s Constants)> {
        self.module.constant(body, id)
    }

    /// Returns the value of an integer constant of at most 64 bits.
    pub(super) fn integer(&self, body: Option<&FunctionBody>, id: ValueId) -> Option<u64> {
        match self.constant(body, id)?.0 {
            Constant::Integer(value) => Some(value),
            Constant::Null if self.is_integer(self.type_of(body, id)) => Some(0),
            _ => None,
        }
    }

    /// Returns whether a value is a constant, a global, a function or an alias.
    pub(super) fn is_constant(&self, body: Option<&FunctionBody>, id: ValueId) -> bool {
        let kind = self.value(body, id).map(|value| value.kind);
        !matches!(kind, Some(ValueKind::Argument(_) | ValueKind::Instruction(_)) | None)
    }

    /// Returns whether a value is a constant number, which an `immarg` parameter needs.
    pub(super) fn is_immediate(&self, body: Option<&FunctionBody>, id: ValueId) -> bool {
        let Some((constant, _)) = self.constant(body, id) else { return false };
        match constant {
            Constant::Integer(_) | Constant::WideInteger(_) | Constant::Float(_) | Constant::WideFloat(_) => true,
            Constant::Null => {
                let ty = self.type_of(body, id);
                self.is_integer(ty) || (!self.is_vector(ty) && self.module.types.is_float(ty))
            }
            _ => false,
        }
    }

    /// Returns the value behind pointer casts and aliases, and behind `getelementptr` without an offset.
    pub(super) fn stripped(&self, body: Option<&FunctionBody>, mut id: ValueId) -> ValueId {
        for _ in 0..MAX_STEPS {
            let Some((Constant::Expression(index), constants)) = self.constant(body, id) else { break };
            let Some(expression) = constants.expression(index) else { break };
            let operands = constants.values(expression.operands);
            let Some((&base, indices)) = operands.split_first() else { break };
            let is_cast = matches!(
                expression.opcode,
                crate::Opcode::BitCast | crate::Opcode::AddrSpaceCast
            ) && self.is_pointer(self.type_of(body, base));
            let is_same = expression.opcode == crate::Opcode::GetElementPtr
                && indices.len() <= MAX_INDICES
                && indices.iter().all(|&index| self.integer(body, index) == Some(0));
            if !is_cast && !is_same {
                break;
            }
            id = base;
        }
        id
    }

    /// Returns the function that a value is, through casts.
    pub(super) fn function_behind(&self, body: Option<&FunctionBody>, id: ValueId) -> Option<usize> {
        match self.value(body, self.stripped(body, id))?.kind {
            ValueKind::Function(index) => Some(index as usize),
            _ => None,
        }
    }

    /// Returns the intrinsic that a function is, if it is known.
    pub(super) fn intrinsic(&self, function: usize) -> Option<&'static Intrinsic> {
        self.intrinsics.get(function).copied().flatten()
    }

    /// Returns the name of an intrinsic without `llvm.`, and without types if it is known.
    pub(super) fn intrinsic_name(&self, function: usize) -> Option<&'m str> {
        if let Some(known) = self.intrinsic(function) {
            return Some(known.name);
        }
        let name = &self.module.functions.get(function)?.symbol.name;
        core::str::from_utf8(name.strip_prefix(b"llvm.")?).ok()
    }

    /// Returns whether the name of a function is that of an intrinsic, known or not.
    pub(super) fn is_intrinsic(&self, function: usize) -> bool {
        self.module.functions.get(function).is_some_and(|function| function.symbol.name.starts_with(b"llvm."))
    }

    /// Returns the attributes of a list for the function, its result or a parameter.
    pub(super) fn attributes(&self, list: AttributeListId, of: u32) -> &'m [Attribute] {
        match self.module.attributes.of(list, of) {
            Some(set) => self.set(set),
            None => &[],
        }
    }

    pub(super) fn set(&self, set: AttributeSetId) -> &'m [Attribute] {
        self.module.attributes.set(set)
    }

    /// Returns whether a parameter has an attribute.
    pub(super) fn parameter_has(&self, list: AttributeListId, parameter: usize, kind: u32) -> bool {
        has(self.attributes(list, index::parameter(parameter)), kind)
    }

    /// Returns whether the function itself has an attribute.
    pub(super) fn function_has(&self, list: AttributeListId, kind: u32) -> bool {
        has(self.attributes(list, index::FUNCTION), kind)
    }

    /// Returns the type of an operand: that of its value, `label`, or `metadata`.
    pub(super) fn operand_type(&self, body: &FunctionBody, operand: Operand) -> TypeId {
        match operand.kind() {
            OperandKind::Value(id) => self.type_of(Some(body), id),
            OperandKind::Block(_) => self.module.types.find(Type::Label).unwrap_or(TypeId::NONE),
            OperandKind::Metadata(_) => self.module.types.find(Type::Metadata).unwrap_or(TypeId::NONE),
        }
    }
}

/// Returns whether attributes have a kind.
pub(super) fn has(attributes: &[Attribute], kind: u32) -> bool {
    attributes.iter().any(|attribute| attribute.kind() == Some(kind))
}

/// Returns the major version of the LLVM that wrote a module: from its producer, or a guess by its pointers.
fn generation(module: &Module<'_>, typed_pointers: bool) -> u32 {
    let digits = module.producer.strip_prefix(b"LLVM").unwrap_or_default();
    let number = digits.iter().take_while(|c| c.is_ascii_digit()).fold(0u32, |number, &c| {
        number.saturating_mul(10).saturating_add(u32::from(c.wrapping_sub(b'0')))
    });
    match number {
        0 if typed_pointers => 14,
        0 => 19,
        number => number,
    }
}
