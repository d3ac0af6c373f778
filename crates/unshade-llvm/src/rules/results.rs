//! The types of results: they follow from the operands, if those fit the operation.

use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::module::Module;
use crate::types::{Type, TypeTable};

/// Returns the type of the result of an operation on operands of these types, if they fit it.
pub(crate) fn result_type(types: &mut TypeTable, opcode: Opcode, operands: &[TypeId]) -> Option<TypeId> {
    match (opcode, operands) {
        (Opcode::FNeg, &[ty]) => types.is_float(ty).then_some(ty),
        (Opcode::ICmp | Opcode::FCmp, &[left, right]) if left == right => {
            let is_float = types.is_float(left);
            (is_float == (opcode == Opcode::FCmp)).then(|| truth_type(types, left))
        }
        (Opcode::Select, &[_, then, otherwise]) => (then == otherwise).then_some(then),
        (Opcode::ExtractElement, &[vector, _]) => match types.get(vector) {
            Type::Vector { element, .. } => Some(element),
            _ => None,
        },
        (Opcode::InsertElement, &[vector, element, _]) => {
            (types.child(vector, 0) == Some(element)).then_some(vector)
        }
        (Opcode::ShuffleVector, &[vector, second, mask]) => {
            let element = types.child(vector, 0)?;
            match types.get(mask) {
                Type::Vector { count, scalable, .. } if vector == second => {
                    Some(types.intern(Type::Vector { count, element, scalable }))
                }
                _ => None,
            }
        }
        (Opcode::PtrAuth, &[pointer, ..]) => Some(pointer),
        (opcode, &[left, right]) if opcode.is_binary() && left == right => {
            let is_float = types.is_float(left);
            let scalar = types.get(types.scalar(left));
            let fits =
                if opcode.is_float_operation() { is_float } else { matches!(scalar, Type::Integer(_)) };
            fits.then_some(left)
        }
        _ => None,
    }
}

/// Returns the type of a comparison of values of type `ty`.
pub(crate) fn truth_type(types: &mut TypeTable, ty: TypeId) -> TypeId {
    let element = types.intern(Type::Integer(1));
    match types.get(ty) {
        Type::Vector { count, scalable, .. } => types.intern(Type::Vector { count, element, scalable }),
        _ => element,
    }
}

/// Returns the type of an element of a struct or array.
pub(crate) fn selected(types: &TypeTable, ty: TypeId, index: u32) -> Option<TypeId> {
    match types.get(ty) {
        Type::Array { count, element } => (u64::from(index) < count).then_some(element),
        Type::Struct(_) => types.child(ty, u64::from(index)),
        _ => None,
    }
}

/// Returns the type of a `getelementptr` of a source element type and operands, if they fit: the pointer, then the
/// indices.
pub(crate) fn element_pointer_type(
    module: &mut Module<'_>,
    body: Option<&FunctionBody>,
    source: TypeId,
    operands: &[ValueId],
) -> Option<TypeId> {
    let (&base, indices) = operands.split_first()?;
    let type_of = |module: &Module<'_>, id| module.value(body, id).map_or(TypeId::NONE, |value| value.ty);
    let base_type = type_of(module, base);
    let space = module.types.address_space(base_type)?;
    let scalar_base = module.types.scalar(base_type);
    let pointee = module.types.pointee(scalar_base);
    if pointee.is_some_and(|pointee| pointee != source) {
        return None;
    }
    let mut lanes = None;
    let mut element = source;
    for (at, &operand) in operands.iter().enumerate() {
        let ty = type_of(module, operand);
        if let Type::Vector { count, scalable, .. } = module.types.get(ty) {
            if lanes.is_some_and(|lanes| lanes != (count, scalable)) {
                return None;
            }
            lanes = Some((count, scalable));
        }
        if at >= 1 && !matches!(module.types.get(module.types.scalar(ty)), Type::Integer(_)) {
            return None;
        }
        if at >= 2 {
            let index = match module.types.get(element) {
                Type::Struct(_) if !selects_field(module, body, operand) => return None,
                Type::Struct(_) => module.integer(body, operand)?,
                _ => 0,
            };
            element = module.types.child(element, index)?;
        }
    }
    if indices.is_empty() && pointee.is_some() {
        return Some(base_type);
    }
    let pointer = match pointee {
        None => scalar_base,
        Some(_) => module.types.intern(Type::Pointer { pointee: element, address_space: space }),
    };
    Some(match lanes {
        Some((count, scalable)) => module.types.intern(Type::Vector { count, element: pointer, scalable }),
        None => pointer,
    })
}

/// Returns whether a value can select a field of a struct: a constant `i32`, or a vector of equal ones.
fn selects_field(module: &Module<'_>, body: Option<&FunctionBody>, index: ValueId) -> bool {
    let Some(value) = module.value(body, index) else { return false };
    let is_scalable = matches!(module.types.get(value.ty), Type::Vector { scalable: true, .. });
    if is_scalable || module.types.get(module.types.scalar(value.ty)) != Type::Integer(32) {
        return false;
    }
    match module.constant(body, index) {
        Some((Constant::Aggregate(values), constants)) => all_equal(constants.values(values)),
        Some((Constant::Data(words), constants)) => all_equal(constants.words(words)),
        Some((constant, _)) => matches!(constant, Constant::Integer(_) | Constant::Null),
        None => false,
    }
}

fn all_equal<T: PartialEq>(list: &[T]) -> bool {
    list.windows(2).all(|pair| matches!(pair, [one, two] if one == two))
}
