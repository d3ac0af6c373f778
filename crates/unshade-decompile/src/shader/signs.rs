//! The signs of integers that atomic operations compare.
//!
//! In the language, `InterlockedMin` and `InterlockedMax` compare as the type of the place says, whatever the type of the
//! value. Machine code has two operations, and where nothing names types, its integers have no signs: variables and members
//! of structured buffers get those of the operations.

use crate::ir::shader::data_type::{DataType, Packing, PathStep, ScalarKind, path_at};
use crate::ir::shader::interface::{ShaderProgram, Shape, resource_of};
use crate::ir::shader::{AtomicOp, ShaderOp};
use crate::ir::{Function, Op, ResourceId, StructId, ValueId, VariableId};

/// Maximum number of elements on the way to a variable.
const MAX_DEPTH: usize = 64;

/// Gives integers the signs with which the functions compare them.
pub fn run(program: &mut ShaderProgram) {
    let functions: Vec<&Function> = program.functions.iter().map(|one| &one.function).collect();
    let mut found = Vec::new();
    for function in functions {
        for id in function.values.keys().filter(|id| !function.is_replaced(*id)) {
            let place = match function.op(id) {
                Op::Shader(ShaderOp::AtomicVariable(op)) => {
                    compared(op).zip(variable(function, function.input(id, 0)).map(Place::Variable))
                }
                Op::Shader(ShaderOp::AtomicResource(op)) => compared(op).zip(member(program, function, id)),
                _ => None,
            };
            found.extend(place);
        }
    }
    // FXC takes the unsigned operation for values without a sign, but the signed one only if the place has a sign, too.
    found.sort_by_key(|(kind, _)| *kind == ScalarKind::Signed);
    for (kind, place) in found {
        let ty = match place {
            Place::Variable(id) => program.variables.get_mut(id).map(|variable| &mut variable.ty),
            Place::Element(id) => program.resources.get_mut(id).and_then(|one| one.element.as_mut()),
            Place::Field(id, number) => {
                let structure = program.structs.get_mut(id);
                structure.and_then(|structure| structure.fields.get_mut(number)).map(|field| &mut field.ty)
            }
        };
        ty.into_iter().for_each(|ty| set(ty, kind));
    }
}

/// Returns how an atomic operation compares.
pub fn compared(op: AtomicOp) -> Option<ScalarKind> {
    match op {
        AtomicOp::SignedMin | AtomicOp::SignedMax => Some(ScalarKind::Signed),
        AtomicOp::UnsignedMin | AtomicOp::UnsignedMax => Some(ScalarKind::Unsigned),
        _ => None,
    }
}

/// What has the type of a place.
enum Place {
    Variable(VariableId),
    /// The elements of a structured buffer.
    Element(ResourceId),
    /// A member of a structure.
    Field(StructId, usize),
}

/// Returns the variable that a place is an element of.
fn variable(function: &Function, place: ValueId) -> Option<VariableId> {
    let mut at = place;
    for _ in 0..MAX_DEPTH {
        match function.op(at) {
            Op::Shader(ShaderOp::Element) => at = function.input(at, 0),
            Op::Shader(ShaderOp::Variable) => return number(function, at, 0).map(VariableId::new),
            _ => return None,
        }
    }
    None
}

/// Returns what of a structured buffer an atomic operation changes.
fn member(program: &ShaderProgram, function: &Function, id: ValueId) -> Option<Place> {
    let resource = resource_of(function, function.input(id, 0))?;
    let place = function.input(id, 1);
    let known = program.resources.get(resource).filter(|known| known.shape == Shape::StructuredBuffer)?;
    let mut ty = known.element.as_ref()?;
    let offset = if function.op(place) == Op::Vector { number(function, place, 1)? } else { 0 };
    let (path, _) = path_at(ty, offset, Packing::Structured, &program.structs)?;
    let mut found = Place::Element(resource);
    for step in path {
        match (step, ty) {
            (PathStep::Field(number), DataType::Struct(id)) => {
                found = Place::Field(*id, number);
                ty = &program.structs.get(*id)?.fields.get(number)?.ty;
            }
            (PathStep::Element(_), DataType::Array(element, _)) => ty = element,
            _ => break,
        }
    }
    Some(found)
}

/// Returns the number that an input is.
fn number(function: &Function, id: ValueId, index: usize) -> Option<u32> {
    function.number(function.input_or_self(id, index)).and_then(|number| u32::try_from(number).ok())
}

fn set(ty: &mut DataType, kind: ScalarKind) {
    match ty {
        DataType::Array(element, _) => set(element, kind),
        DataType::Scalar(scalar) | DataType::Vector(scalar, _)
            if matches!(scalar.kind, ScalarKind::Signed | ScalarKind::Unsigned) =>
        {
            scalar.kind = kind;
        }
        _ => {}
    }
}
