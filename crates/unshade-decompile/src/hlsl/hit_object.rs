//! Hits of rays as objects: `dx::HitObject` of shader model 6.9.
//!
//! The values of the intermediate representation don't change; an object of the language does where its index of the
//! shader table is set: a copy takes the new index.

use super::expression::{LANES, Text, precedence as p};
use super::function::Printer;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, ScalarKind};
use crate::ir::{Op, ValueId};
use crate::shader::kinds::Kind;

/// The type of hit objects.
pub(super) const HIT_OBJECT: &str = "dx::HitObject";

/// Methods without arguments that return a number, by the code of DXIL's operation.
const METHODS: &[(u64, &str)] = &[
    (269, "IsMiss"),
    (270, "IsHit"),
    (271, "IsNop"),
    (272, "GetRayFlags"),
    (273, "GetRayTMin"),
    (274, "GetRayTCurrent"),
    (275, "GetWorldRayOrigin"),
    (276, "GetWorldRayDirection"),
    (277, "GetObjectRayOrigin"),
    (278, "GetObjectRayDirection"),
    (279, "GetObjectToWorld3x4"),
    (280, "GetWorldToObject3x4"),
    (281, "GetGeometryIndex"),
    (282, "GetInstanceIndex"),
    (283, "GetInstanceID"),
    (284, "GetPrimitiveIndex"),
    (285, "GetHitKind"),
    (286, "GetShaderTableIndex"),
    (0x8000_0006, "GetClusterID"),
];

/// Methods that return the vertices of a triangle, by the code of DXIL's operation.
const POSITIONS: &[(u64, &str)] = &[
    (0x8000_0008, "CandidateTriangleObjectPositions"),
    (0x8000_0009, "CommittedTriangleObjectPositions"),
    (0x8000_000a, "TriangleObjectPositions"),
];

impl Printer<'_> {
    /// Returns whether a value is a hit object.
    pub(super) fn is_hit_object(&self, id: ValueId) -> bool {
        self.is_hit_object_within(id, 0)
    }

    fn is_hit_object_within(&self, id: ValueId, depth: usize) -> bool {
        let function = self.function;
        let is_named = |ty: &DataType| *ty == DataType::Named(HIT_OBJECT.into());
        match function.op(id) {
            Op::Shader(
                ShaderOp::EmptyHit
                | ShaderOp::MissHit
                | ShaderOp::TraceHit
                | ShaderOp::QueryHit
                | ShaderOp::QueryHitWithAttributes
                | ShaderOp::SetShaderTableIndex,
            ) => true,
            Op::Shader(ShaderOp::Argument) => {
                let number = function.number(function.input(id, 0)).unwrap_or(u64::MAX) as usize;
                self.info.parameters.get(number).is_some_and(|parameter| is_named(&parameter.ty))
            }
            Op::Load(_) => self.place_type(function.input(id, 0)).is_some_and(is_named),
            Op::Phi | Op::Select if depth < 16 => (0..function.inputs(id).len()).any(|index| {
                let input = function.input(id, index);
                input != id && self.is_hit_object_within(input, depth + 1)
            }),
            _ => false,
        }
    }

    /// Returns the value of an operation of a hit object.
    pub(super) fn hit_value(&mut self, id: ValueId, op: ShaderOp) -> Option<Text> {
        let function = self.function;
        let input = |index: usize| function.input(id, index);
        let kind = match op {
            ShaderOp::HitInteger | ShaderOp::HitRootConstant => ScalarKind::Unsigned,
            ShaderOp::HitBool => ScalarKind::Bool,
            ShaderOp::HitFloat => ScalarKind::Float,
            ShaderOp::EmptyHit => return Some(object(format!("{HIT_OBJECT}::MakeNop()"))),
            ShaderOp::MissHit => {
                let ray = self.ray([input(2), input(3), input(4), input(5)]);
                let unsigned = Kind::Known(ScalarKind::Unsigned);
                let (flags, miss) = (self.value(input(0), unsigned, 0), self.value(input(1), unsigned, 0));
                return Some(object(format!("{HIT_OBJECT}::MakeMiss({flags}, {miss}, {ray})")));
            }
            ShaderOp::TraceHit => {
                let inputs: Vec<ValueId> =
                    function.inputs(id).iter().map(|input| function.resolve(*input)).collect();
                let arguments = self.ray_arguments(&inputs);
                return Some(object(format!("{HIT_OBJECT}::TraceRay({arguments})")));
            }
            ShaderOp::QueryHit => {
                let query = self.query(input(0));
                return Some(object(format!("{HIT_OBJECT}::FromRayQuery({query})")));
            }
            ShaderOp::QueryHitWithAttributes => {
                let (query, kind) =
                    (self.query(input(0)), self.value(input(1), Kind::Known(ScalarKind::Unsigned), 0));
                let attributes = self.place(input(2)).0;
                return Some(object(format!("{HIT_OBJECT}::FromRayQuery({query}, {kind}, {attributes})")));
            }
            _ => return None,
        };
        let hit = self.value(input(0), Kind::Any, p::POSTFIX);
        if op == ShaderOp::HitRootConstant {
            let offset = self.value(input(1), Kind::Known(ScalarKind::Unsigned), 0);
            return Some(Text::new(format!("{hit}.LoadLocalRootTableConstant({offset})"), p::POSTFIX, kind));
        }
        let code = function.number(input(1)).unwrap_or(0);
        let Some((_, name)) = METHODS.iter().find(|row| row.0 == code) else {
            self.unknown.push(format!("the method {code} of a hit object"));
            return Some(Text::new("0", p::POSTFIX, kind));
        };
        let mut text = format!("{hit}.{name}()");
        if op == ShaderOp::HitFloat {
            let (column, row) = (input(2), input(3));
            if function.op(row) != Op::Undefined {
                let (row, column) = (self.value(row, Kind::Integer, 0), self.value(column, Kind::Integer, 0));
                text = format!("{text}[{row}][{column}]");
            } else if let Some(lane) = function.number(column).and_then(|lane| LANES.get(lane as usize)) {
                text = format!("{text}.{lane}");
            }
        }
        Some(Text::new(text, p::POSTFIX, kind))
    }

    /// Prints an operation of a hit object that is a statement. Returns whether it is one.
    pub(super) fn hit_statement(&mut self, id: ValueId, op: ShaderOp) -> bool {
        let function = self.function;
        let input = |index: usize| function.input(id, index);
        let unsigned = Kind::Known(ScalarKind::Unsigned);
        match op {
            ShaderOp::InvokeHit => {
                let (hit, payload) = (self.value(input(0), Kind::Any, 0), self.place(input(1)).0);
                self.line(&format!("{HIT_OBJECT}::Invoke({hit}, {payload});"));
            }
            ShaderOp::ReorderThreads => {
                let hit = self.value(input(0), Kind::Any, 0);
                if matches!(function.number(input(2)), Some(0)) || function.op(input(2)) == Op::Undefined {
                    self.line(&format!("dx::MaybeReorderThread({hit});"));
                } else {
                    let (hint, bits) = (self.value(input(1), unsigned, 0), self.value(input(2), unsigned, 0));
                    self.line(&format!("dx::MaybeReorderThread({hit}, {hint}, {bits});"));
                }
            }
            ShaderOp::SetShaderTableIndex => {
                let (hit, index) = (self.value(input(0), Kind::Any, 0), self.value(input(1), unsigned, 0));
                self.declare(id);
                let name = self.name(id);
                if hit != name {
                    self.line(&format!("{name} = {hit};"));
                }
                self.line(&format!("{name}.SetShaderTableIndex({index});"));
            }
            ShaderOp::HitAttributes => {
                let (hit, attributes) = (self.value(input(0), Kind::Any, p::POSTFIX), self.place(input(1)).0);
                self.line(&format!("{hit}.GetAttributes({attributes});"));
            }
            ShaderOp::TrianglePosition | ShaderOp::TrianglePositionOf => self.triangle(id, op),
            _ => return false,
        }
        true
    }

    /// Prints a call that returns the vertices of a triangle, and their coordinates as a vector.
    fn triangle(&mut self, id: ValueId, op: ShaderOp) {
        let function = self.function;
        if self.schedule.uses[id] == 0 {
            return;
        }
        let source = match op {
            ShaderOp::TrianglePosition => "TriangleObjectPositions()".into(),
            _ => {
                let code = function.number(function.input(id, 1)).unwrap_or(0);
                let method =
                    POSITIONS.iter().find(|row| row.0 == code).map_or("TriangleObjectPositions", |row| row.1);
                let object = function.input(id, 0);
                let object = match self.is_hit_object(object) {
                    true => self.value(object, Kind::Any, p::POSTFIX),
                    false => self.query(object),
                };
                format!("{object}.{method}()")
            }
        };
        let triangle = self.names.take("triangle_positions");
        self.line(&format!("BuiltInTrianglePositions {triangle} = {source};"));
        self.declare(id);
        let name = self.name(id);
        let ty = self.type_of(ScalarKind::Float, function.width(id), function.lanes(id));
        self.line(&format!("{name} = {ty}({triangle}.p0, {triangle}.p1, {triangle}.p2);"));
    }
}

fn object(text: String) -> Text {
    Text::new(text, p::POSTFIX, ScalarKind::Signed)
}
