//! Operations of stages: inputs, outputs, streams, meshes, rays.

use super::expression::{LANES, Text, precedence as p};
use super::function::Printer;
use super::spelling;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, Scalar, ScalarKind};
use crate::ir::shader::interface::{Element, Passing};
use crate::ir::{Op, ValueId, VariableId};
use crate::shader::kinds::Kind;

/// What an operation of a stage reads or writes.
#[derive(Clone, Copy)]
enum Signature {
    Inputs,
    Outputs,
    Patch,
}

/// Returns the name and type of a member of a structure that the language defines.
pub(super) fn builtin_field(name: &str, number: usize) -> Option<(&'static str, DataType)> {
    let float = |lanes| DataType::vector(Scalar::FLOAT, lanes);
    let fields: &[(&'static str, u16)] = match name {
        "RayDesc" => &[("Origin", 3), ("TMin", 1), ("Direction", 3), ("TMax", 1)],
        "BuiltInTriangleIntersectionAttributes" => &[("barycentrics", 2)],
        _ => return None,
    };
    fields.get(number).map(|(field, lanes)| (*field, float(*lanes)))
}

impl Printer<'_> {
    /// Returns the value of an operation of a stage.
    pub(super) fn stage_value(&mut self, id: ValueId, op: ShaderOp) -> Option<Text> {
        let function = self.function;
        let input = |index: usize| function.input(id, index);
        if let Some((_, name)) = self.interface.system.iter().find(|(known, _)| *known == op) {
            let kind = if op == ShaderOp::DomainLocation { ScalarKind::Float } else { ScalarKind::Unsigned };
            let kind = if op == ShaderOp::StartVertex { ScalarKind::Signed } else { kind };
            return Some(Text::new(name.clone(), p::POSTFIX, kind));
        }
        let (signature, is_of_vertex) = match op {
            ShaderOp::LoadInput => (Signature::Inputs, function.op(input(3)) != Op::Undefined),
            ShaderOp::LoadOutputControlPoint => (Signature::Outputs, true),
            ShaderOp::LoadPatchConstant => (Signature::Patch, false),
            ShaderOp::EvaluateCentroid
            | ShaderOp::EvaluateAtSample
            | ShaderOp::EvaluateSnapped
            | ShaderOp::AttributeAtVertex => return Some(self.evaluated(id, op)),
            ShaderOp::Variable
            | ShaderOp::Element
            | ShaderOp::Field
            | ShaderOp::ArgumentPlace
            | ShaderOp::MeshPayload
            | ShaderOp::Record => {
                let (text, _) = self.place(id);
                return Some(Text::new(text, p::POSTFIX, self.kinds[id]));
            }
            ShaderOp::Argument => {
                let number = function.number(input(0)).unwrap_or(0) as usize;
                let parameter = self.info.parameters.get(number);
                let kind = parameter.and_then(|parameter| parameter.ty.scalar()).map(|scalar| scalar.kind);
                return Some(Text::new(
                    self.argument_name(number),
                    p::POSTFIX,
                    kind.unwrap_or(self.kinds[id]),
                ));
            }
            ShaderOp::ObjectToWorld | ShaderOp::WorldToObject => {
                let name =
                    if op == ShaderOp::ObjectToWorld { "ObjectToWorld3x4" } else { "WorldToObject3x4" };
                let (row, column) =
                    (self.value(input(0), Kind::Integer, 0), self.value(input(1), Kind::Integer, 0));
                return Some(Text::new(format!("{name}()[{row}][{column}]"), p::POSTFIX, ScalarKind::Float));
            }
            _ => return None,
        };
        let (text, kind) = self.element(id, signature, is_of_vertex.then(|| input(3)));
        Some(Text::new(text, p::POSTFIX, kind))
    }

    /// Returns the name of a parameter of the function.
    pub(super) fn argument_name(&self, number: usize) -> String {
        match self.interface.inputs.get(number) {
            Some(name) if self.info.stage.is_some() => name.clone(),
            _ => match self.info.parameters.get(number) {
                Some(parameter) if parameter.passing == Passing::Result => {
                    self.interface.result.clone().unwrap_or_default()
                }
                _ => {
                    let name = self.interface.arguments.get(number).cloned();
                    name.unwrap_or_else(|| format!("argument{number}"))
                }
            },
        }
    }

    fn elements(&self, signature: Signature) -> (&[Element], &[String]) {
        match signature {
            Signature::Inputs => (&self.info.inputs, &self.interface.inputs),
            Signature::Outputs => (&self.info.outputs, &self.interface.outputs),
            Signature::Patch => (&self.info.patch, &self.interface.patch),
        }
    }

    /// Returns the text of an element, without lanes, and its kind.
    fn element(
        &mut self,
        id: ValueId,
        signature: Signature,
        vertex: Option<ValueId>,
    ) -> (String, ScalarKind) {
        let function = self.function;
        let number = function.number(function.input(id, 0)).unwrap_or(u64::MAX) as usize;
        let (elements, names) = self.elements(signature);
        let (Some(element), Some(name)) = (elements.get(number).cloned(), names.get(number).cloned()) else {
            self.unknown.push("an element of a signature".into());
            return ("0".into(), ScalarKind::Float);
        };
        let array = match signature {
            Signature::Inputs => self.interface.vertices.clone(),
            Signature::Outputs => self.interface.control_points.clone(),
            Signature::Patch => None,
        };
        let is_own = element.semantic.eq_ignore_ascii_case("SV_PrimitiveID");
        let mut text = match (array, vertex) {
            (Some(array), Some(vertex)) if !is_own => {
                format!("{array}[{}].{name}", self.value(vertex, Kind::Integer, 0))
            }
            (Some(array), None) if !is_own => format!("{array}[0].{name}"),
            _ => name,
        };
        if element.rows() > 1 {
            text = format!("{text}[{}]", self.value(function.input(id, 1), Kind::Integer, 0));
        }
        (text, element.scalar.kind)
    }

    /// Returns an input at another place of the pixel, or of a vertex.
    fn evaluated(&mut self, id: ValueId, op: ShaderOp) -> Text {
        let (text, kind) = self.element(id, Signature::Inputs, None);
        let at = self.function.input(id, 3);
        let text = match op {
            ShaderOp::EvaluateCentroid => format!("EvaluateAttributeCentroid({text})"),
            ShaderOp::EvaluateAtSample => {
                format!(
                    "EvaluateAttributeAtSample({text}, {})",
                    self.value(at, Kind::Known(ScalarKind::Unsigned), 0)
                )
            }
            ShaderOp::EvaluateSnapped => {
                format!(
                    "EvaluateAttributeSnapped({text}, {})",
                    self.value(at, Kind::Known(ScalarKind::Signed), 0)
                )
            }
            _ => format!("GetAttributeAtVertex({text}, {})", self.value(at, Kind::Integer, 0)),
        };
        Text::new(text, p::POSTFIX, kind)
    }

    /// Returns the text of a place, and the type of the number there.
    pub(super) fn place(&mut self, id: ValueId) -> (String, Option<Scalar>) {
        let (text, ty) = self.typed_place(id, 0);
        (text, ty.as_ref().and_then(DataType::scalar))
    }

    fn typed_place(&mut self, id: ValueId, depth: usize) -> (String, Option<DataType>) {
        let function = self.function;
        let input = |index: usize| function.input(id, index);
        match function.op(id) {
            Op::Shader(ShaderOp::Variable) => {
                let number = function.number(input(0)).unwrap_or(u64::MAX);
                let variable = VariableId::new(number as u32);
                let ty = self.program.variables.get(variable).map(|variable| variable.ty.clone());
                (self.naming.variable(variable).to_owned(), ty)
            }
            Op::Shader(ShaderOp::ArgumentPlace) => {
                let number = function.number(input(0)).unwrap_or(0) as usize;
                let ty = self.info.parameters.get(number).map(|parameter| parameter.ty.clone());
                (self.argument_name(number), ty)
            }
            Op::Shader(ShaderOp::MeshPayload) => {
                (self.interface.payload.clone(), self.info.attributes.payload.clone())
            }
            Op::Shader(ShaderOp::Record) => {
                let ty = super::node::record_type(self.info, function, id).cloned();
                (self.record(id), ty)
            }
            Op::Shader(ShaderOp::Element) if depth < 64 => {
                let (base, ty) = self.typed_place(input(0), depth + 1);
                let element = match ty {
                    Some(DataType::Array(element, _)) => Some(*element),
                    Some(DataType::Vector(scalar, _)) => Some(DataType::Scalar(scalar)),
                    Some(DataType::Matrix { scalar, columns, .. }) => {
                        Some(DataType::vector(scalar, u16::from(columns)))
                    }
                    _ => None,
                };
                let index = input(1);
                let want = match self.shown_kind(index) {
                    Some(ScalarKind::Float) => Kind::Known(ScalarKind::Unsigned),
                    _ => Kind::Integer,
                };
                (format!("{base}[{}]", self.value(index, want, 0)), element)
            }
            Op::Shader(ShaderOp::Field) if depth < 64 => {
                let (base, ty) = self.typed_place(input(0), depth + 1);
                let number = function.number(input(1)).unwrap_or(0) as usize;
                match ty {
                    Some(DataType::Struct(structure)) => {
                        let field =
                            self.program.structs[structure].fields.get(number).map(|field| field.ty.clone());
                        match self.naming.field(structure, number) {
                            "" => (base, field),
                            name => (format!("{base}.{name}"), field),
                        }
                    }
                    Some(DataType::Named(name)) if builtin_field(&name, number).is_some() => {
                        let (field, ty) =
                            builtin_field(&name, number).unwrap_or(("", DataType::Scalar(Scalar::FLOAT)));
                        (format!("{base}.{field}"), Some(ty))
                    }
                    // A matrix in memory is a structure with an array of its lines.
                    Some(matrix @ DataType::Matrix { .. }) => (base, Some(matrix)),
                    other => {
                        self.unknown.push("a member of a variable".into());
                        (base, other)
                    }
                }
            }
            _ => {
                self.unknown.push("an address".into());
                ("address".into(), None)
            }
        }
    }

    /// Prints an operation of a stage that is a statement. Returns whether it is one.
    pub(super) fn stage_statement(&mut self, id: ValueId, op: ShaderOp) -> bool {
        let function = self.function;
        let inputs: Vec<ValueId> =
            (0..function.inputs(id).len()).map(|index| function.input(id, index)).collect();
        match op {
            ShaderOp::StoreOutput => self.store(id, Signature::Outputs, None),
            ShaderOp::StorePatchConstant => self.store(id, Signature::Patch, None),
            ShaderOp::StoreVertexOutput => self.store(id, Signature::Outputs, Some(0)),
            ShaderOp::StorePrimitiveOutput => self.store(id, Signature::Patch, Some(1)),
            ShaderOp::EmitIndices => {
                let primitive = self.value(inputs[0], Kind::Integer, 0);
                let is_line = self.info.attributes.output_topology == Some("line");
                let indices =
                    self.cut(inputs[1], if is_line { 2 } else { 3 }, Kind::Known(ScalarKind::Unsigned));
                let array = self.interface.mesh[2].clone();
                self.line(&format!("{array}[{primitive}] = {indices};"));
            }
            ShaderOp::Discard => {
                if let Some(text) = self.clip(inputs[0]) {
                    self.line(&format!("{text};"));
                    return true;
                }
                let condition = self.value(inputs[0], Kind::Known(ScalarKind::Bool), 0);
                match condition.as_str() {
                    "true" => self.line("discard;"),
                    _ => self.line(&format!("if ({condition}) discard;")),
                }
            }
            ShaderOp::EmitVertex | ShaderOp::CutStrip => {
                let number = function.number(inputs[0]).unwrap_or(0) as u32;
                let find =
                    |list: &[(u32, String)]| list.iter().find(|row| row.0 == number).map(|row| row.1.clone());
                let (stream, output) = (find(&self.interface.streams), find(&self.interface.stream_outputs));
                let (stream, output) = (stream.unwrap_or_default(), output.unwrap_or_default());
                self.line(&match op {
                    ShaderOp::EmitVertex => format!("{stream}.Append({output});"),
                    _ => format!("{stream}.RestartStrip();"),
                });
            }
            ShaderOp::Barrier => {
                let mode = function.number(inputs[0]).unwrap_or(0);
                match spelling::barrier(mode) {
                    Some(name) => self.line(&format!("{name}();")),
                    None => self.unknown.push(format!("a barrier with the bits {mode}")),
                }
            }
            ShaderOp::BarrierByMemoryType => {
                let (kinds, meaning) =
                    (self.value(inputs[0], Kind::Integer, 0), self.value(inputs[1], Kind::Integer, 0));
                self.line(&format!("Barrier({kinds}, {meaning});"));
            }
            ShaderOp::BarrierByHandle => {
                let (object, meaning) = (self.handle(inputs[0]), self.value(inputs[1], Kind::Integer, 0));
                self.line(&format!("Barrier({object}, {meaning});"));
            }
            ShaderOp::TraceRay => self.trace_ray(&inputs),
            ShaderOp::SplitDouble => {
                if self.schedule.uses[id] > 0 {
                    self.declare(id);
                    let (name, value) =
                        (self.name(id), self.value(inputs[0], Kind::Known(ScalarKind::Float), 0));
                    self.line(&format!("asuint({value}, {name}.x, {name}.y);"));
                }
            }
            _ => return false,
        }
        true
    }

    /// Stores to columns of an element. `mesh` selects the array of a mesh whose member the element is.
    fn store(&mut self, id: ValueId, signature: Signature, mesh: Option<usize>) {
        let function = self.function;
        let number = function.number(function.input(id, 0)).unwrap_or(u64::MAX) as usize;
        let (elements, names) = self.elements(signature);
        let (Some(element), Some(name)) = (elements.get(number).cloned(), names.get(number).cloned()) else {
            self.unknown.push("an element of a signature".into());
            return;
        };
        let mut target = match mesh {
            Some(index) => {
                let at = self.value(function.input(id, 4), Kind::Integer, 0);
                format!("{}[{at}].{name}", self.interface.mesh[index])
            }
            None => name,
        };
        if element.rows() > 1 {
            target = format!("{target}[{}]", self.value(function.input(id, 1), Kind::Integer, 0));
        }
        let value = function.input(id, 3);
        let column = function.number(function.input(id, 2)).unwrap_or(0) as usize;
        let lanes = usize::from(function.lanes(value));
        if column > 0 || lanes < usize::from(element.columns) {
            let names: String = LANES.iter().skip(column).take(lanes).collect();
            target = format!("{target}.{names}");
        }
        let text = self.exact(value, Kind::Known(element.scalar.kind));
        self.line(&format!("{target} = {text};"));
    }

    fn trace_ray(&mut self, inputs: &[ValueId]) {
        let arguments = self.ray_arguments(inputs);
        self.line(&format!("TraceRay({arguments});"));
    }

    /// Prints the description of a ray, and returns the arguments that trace it.
    pub(super) fn ray_arguments(&mut self, inputs: &[ValueId]) -> String {
        let ray = self.ray([inputs[6], inputs[7], inputs[8], inputs[9]]);
        let mut arguments = vec![self.handle(inputs[0])];
        for input in &inputs[1..6] {
            arguments.push(self.value(*input, Kind::Known(ScalarKind::Unsigned), 0));
        }
        arguments.push(ray);
        arguments.push(self.place(inputs[10]).0);
        arguments.join(", ")
    }
}
