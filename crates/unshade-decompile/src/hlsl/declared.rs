//! Kinds and types that the interface of a program says of values and places.

use super::declaration::Naming;
use crate::ir::shader::data_type::{DataType, Packing, ScalarKind};
use crate::ir::shader::interface::{ShaderFunction, ShaderProgram, resource_of};
use crate::ir::shader::{OperandKind, ShaderOp};
use crate::ir::{Function, Op, ValueId};

/// Returns the kind that the interface says of a value: of an input, a texel, a member, a variable.
pub(super) fn declared(
    program: &ShaderProgram,
    info: &ShaderFunction,
    naming: &Naming,
    function: &Function,
    id: ValueId,
) -> Option<ScalarKind> {
    let number = |id: ValueId| function.number(id).and_then(|number| usize::try_from(number).ok());
    let resource = |handle: ValueId| program.resources.get(resource_of(function, handle)?);
    match function.op(id) {
        Op::Shader(op) if op.result() == OperandKind::Element => {
            if op.input(0) == OperandKind::Handle {
                let element = resource(function.input(id, 0))?.element.as_ref()?;
                return element.scalar().map(|scalar| scalar.kind);
            }
            let elements = match op {
                ShaderOp::LoadOutputControlPoint => &info.outputs,
                ShaderOp::LoadPatchConstant => &info.patch,
                _ => &info.inputs,
            };
            let element = elements.get(number(function.input(id, 0))?)?;
            // Inputs of old shader models are floats, also those that are declared as integers.
            Some(if super::legacy::is_legacy(program) { ScalarKind::Float } else { element.scalar.kind })
        }
        Op::Shader(ShaderOp::LoadRaw) if function.width(id) == 32 => Some(ScalarKind::Unsigned),
        Op::Shader(ShaderOp::LoadStructured) => {
            let element = resource(function.input(id, 0))?.element.as_ref()?;
            let offset = super::constant_buffer::Offset::in_element(function, function.input(id, 2));
            let width = program.bytes(function.width(id));
            memory_kind(naming, program, element, Packing::Structured, &offset, width)
        }
        Op::Lanes(lanes) => {
            let load = function.input(id, 0);
            if function.op(load) != Op::Shader(ShaderOp::LoadConstant) {
                return None;
            }
            constant_kind(program, naming, function, load, *lanes.numbers().first()?)
        }
        Op::Shader(ShaderOp::LoadConstant | ShaderOp::LoadConstantAt) => {
            constant_kind(program, naming, function, id, 0)
        }
        // The kind of what a place holds is that of what is stored.
        Op::Load(_) | Op::Store(_) => place_kind(program, info, function, function.input(id, 0)),
        Op::Return => info.result.as_ref()?.scalar().map(|scalar| scalar.kind),
        Op::Shader(ShaderOp::Argument) => {
            let parameter = info.parameters.get(number(function.input(id, 0))?)?;
            parameter.ty.scalar().map(|scalar| scalar.kind)
        }
        Op::Invoke(callee) => {
            let name = &function.callees[callee].name;
            let callee = program.functions.iter().find(|function| function.name == *name)?;
            callee.result.as_ref()?.scalar().map(|scalar| scalar.kind)
        }
        _ => None,
    }
}

fn constant_kind(
    program: &ShaderProgram,
    naming: &Naming,
    function: &Function,
    load: ValueId,
    lane: u8,
) -> Option<ScalarKind> {
    let resource = program.resources.get(resource_of(function, function.input(load, 0))?)?;
    if super::legacy::holds_floats(program, resource) {
        return Some(ScalarKind::Float);
    }
    let Some(element) = &resource.element else { return Some(ScalarKind::Unsigned) };
    let scale = if function.op(load) == Op::Shader(ShaderOp::LoadConstant) { 16 } else { 1 };
    let mut offset = super::constant_buffer::Offset::of(function, function.input(load, 1), scale);
    offset.constant = offset.constant.wrapping_add(u32::from(lane) * program.bytes(function.width(load)));
    memory_kind(naming, program, element, Packing::Constant, &offset, program.bytes(function.width(load)))
}

/// Returns the kind of a number of memory; pieces of other numbers are unsigned.
fn memory_kind(
    naming: &Naming,
    program: &ShaderProgram,
    ty: &DataType,
    packing: Packing,
    offset: &super::constant_buffer::Offset,
    bytes: u32,
) -> Option<ScalarKind> {
    let found = super::constant_buffer::path_within(naming, &program.structs, ty, packing, offset)?;
    Some(if found.2 == 0 && found.1.bytes() == bytes { found.1.kind } else { ScalarKind::Unsigned })
}

/// Returns the kind of the number at a place.
fn place_kind(
    program: &ShaderProgram,
    info: &ShaderFunction,
    function: &Function,
    place: ValueId,
) -> Option<ScalarKind> {
    let ty = place_type(program, info, function, place, 0)?;
    Some(ty.scalar()?.kind)
}

/// Returns the type at a place; that of a line where it is in a matrix.
pub(super) fn place_type<'t>(
    program: &'t ShaderProgram,
    info: &'t ShaderFunction,
    function: &Function,
    place: ValueId,
    depth: usize,
) -> Option<&'t DataType> {
    let number = |index: usize| function.number(function.input(place, index)).map(|number| number as usize);
    if depth > 64 {
        return None;
    }
    let base = || place_type(program, info, function, function.input(place, 0), depth + 1);
    match function.op(place) {
        Op::Shader(ShaderOp::Variable) => {
            program.variables.get(crate::ir::VariableId::new(number(0)? as u32)).map(|variable| &variable.ty)
        }
        Op::Shader(ShaderOp::ArgumentPlace) => info.parameters.get(number(0)?).map(|parameter| &parameter.ty),
        Op::Shader(ShaderOp::MeshPayload) => info.attributes.payload.as_ref(),
        Op::Shader(ShaderOp::Record) => super::node::record_type(info, function, place),
        Op::Shader(ShaderOp::Element) => match base()? {
            DataType::Array(element, _) => Some(element),
            other => Some(other),
        },
        Op::Shader(ShaderOp::Field) => match base()? {
            DataType::Struct(id) => program.structs.get(*id)?.fields.get(number(1)?).map(|field| &field.ty),
            DataType::Named(_) => Some(&FLOAT),
            matrix @ DataType::Matrix { .. } => Some(matrix),
            _ => None,
        },
        _ => None,
    }
}

/// The kind of the members of all structures that the language defines.
static FLOAT: DataType = DataType::Scalar(crate::ir::shader::data_type::Scalar::FLOAT);
