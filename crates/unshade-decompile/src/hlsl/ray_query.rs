//! Ray queries: objects with methods.

use super::expression::{LANES, Text, precedence as p};
use super::function::Printer;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::ScalarKind;
use crate::ir::{Op, ValueId};
use crate::shader::kinds::Kind;

/// Methods without arguments that return a number, by the code of DXIL's operation.
const METHODS: &[(u64, &str)] = &[
    (184, "CommittedStatus"),
    (185, "CandidateType"),
    (186, "CandidateObjectToWorld3x4"),
    (187, "CandidateWorldToObject3x4"),
    (188, "CommittedObjectToWorld3x4"),
    (189, "CommittedWorldToObject3x4"),
    (190, "CandidateProceduralPrimitiveNonOpaque"),
    (191, "CandidateTriangleFrontFace"),
    (192, "CommittedTriangleFrontFace"),
    (193, "CandidateTriangleBarycentrics"),
    (194, "CommittedTriangleBarycentrics"),
    (195, "RayFlags"),
    (196, "WorldRayOrigin"),
    (197, "WorldRayDirection"),
    (198, "RayTMin"),
    (199, "CandidateTriangleRayT"),
    (200, "CommittedRayT"),
    (201, "CandidateInstanceIndex"),
    (202, "CandidateInstanceID"),
    (203, "CandidateGeometryIndex"),
    (204, "CandidatePrimitiveIndex"),
    (205, "CandidateObjectRayOrigin"),
    (206, "CandidateObjectRayDirection"),
    (207, "CommittedInstanceIndex"),
    (208, "CommittedInstanceID"),
    (209, "CommittedGeometryIndex"),
    (210, "CommittedPrimitiveIndex"),
    (211, "CommittedObjectRayOrigin"),
    (212, "CommittedObjectRayDirection"),
    (214, "CandidateInstanceContributionToHitGroupIndex"),
    (215, "CommittedInstanceContributionToHitGroupIndex"),
    (0x8000_0004, "CandidateClusterID"),
    (0x8000_0005, "CommittedClusterID"),
];

impl Printer<'_> {
    /// Returns the value of a method of a query.
    pub(super) fn query_value(&mut self, id: ValueId, op: ShaderOp) -> Option<Text> {
        let function = self.function;
        let kind = match op {
            ShaderOp::RayQueryProceed => {
                let query = self.query(function.input(id, 0));
                return Some(Text::new(format!("{query}.Proceed()"), p::POSTFIX, ScalarKind::Bool));
            }
            ShaderOp::RayQueryInteger => ScalarKind::Unsigned,
            ShaderOp::RayQueryBool => ScalarKind::Bool,
            ShaderOp::RayQueryFloat => ScalarKind::Float,
            _ => return None,
        };
        let query = self.query(function.input(id, 0));
        let code = function.number(function.input(id, 1)).unwrap_or(0);
        let Some((_, name)) = METHODS.iter().find(|row| row.0 == code) else {
            self.unknown.push(format!("the method {code} of a ray query"));
            return Some(Text::new("0", p::POSTFIX, kind));
        };
        let mut text = format!("{query}.{name}()");
        if op == ShaderOp::RayQueryFloat {
            let (column, row) = (function.input(id, 2), function.input(id, 3));
            if function.op(row) != Op::Undefined {
                let (row, column) = (self.value(row, Kind::Integer, 0), self.value(column, Kind::Integer, 0));
                text = format!("{text}[{row}][{column}]");
            } else if let Some(lane) = function.number(column).and_then(|lane| LANES.get(lane as usize)) {
                text = format!("{text}.{lane}");
            }
        }
        Some(Text::new(text, p::POSTFIX, kind))
    }

    /// Returns the type of a query.
    pub(super) fn query_type(&self, id: ValueId) -> String {
        let function = self.function;
        let mut flags = vec![function.number(function.input(id, 0)).unwrap_or(0)];
        flags.extend(function.number(function.input(id, 1)).filter(|flags| *flags != 0));
        let flags: Vec<String> = flags.iter().map(u64::to_string).collect();
        format!("RayQuery<{}>", flags.join(", "))
    }

    /// Returns the name of a query.
    pub(super) fn query(&mut self, id: ValueId) -> String {
        if self.function.op(id) != Op::Shader(ShaderOp::NewRayQuery) {
            self.unknown.push("a ray query that is chosen while the shader runs".into());
        }
        self.name(id)
    }

    /// Prints an operation of a query that is a statement. Returns whether it is one.
    pub(super) fn query_statement(&mut self, id: ValueId, op: ShaderOp) -> bool {
        let function = self.function;
        let input = |index: usize| function.input(id, index);
        match op {
            ShaderOp::NewRayQuery => {
                let name = self.name(id);
                // An object that is declared at the start of the function is the same one.
                if !self.is_declared(id) {
                    self.line(&format!("{} {name};", self.query_type(id)));
                }
            }
            ShaderOp::TraceRayInline => {
                let ray = self.ray([input(4), input(5), input(6), input(7)]);
                let (query, scene) = (self.query(input(0)), self.handle(input(1)));
                let want = Kind::Known(ScalarKind::Unsigned);
                let (flags, mask) = (self.value(input(2), want, 0), self.value(input(3), want, 0));
                self.line(&format!("{query}.TraceRayInline({scene}, {flags}, {mask}, {ray});"));
            }
            ShaderOp::RayQueryAbort => {
                let query = self.query(input(0));
                self.line(&format!("{query}.Abort();"));
            }
            ShaderOp::CommitTriangle => {
                let query = self.query(input(0));
                self.line(&format!("{query}.CommitNonOpaqueTriangleHit();"));
            }
            ShaderOp::CommitProcedural => {
                let (query, parameter) =
                    (self.query(input(0)), self.value(input(1), Kind::Known(ScalarKind::Float), 0));
                self.line(&format!("{query}.CommitProceduralPrimitiveHit({parameter});"));
            }
            _ => return false,
        }
        true
    }

    /// Prints the description of a ray (origin, smallest parameter, direction, largest parameter), and returns its name.
    pub(super) fn ray(&mut self, inputs: [ValueId; 4]) -> String {
        let ray = self.names.take("ray");
        self.line(&format!("RayDesc {ray};"));
        for (member, input) in ["Origin", "TMin", "Direction", "TMax"].into_iter().zip(inputs) {
            let text = self.value(input, Kind::Known(ScalarKind::Float), 0);
            self.line(&format!("{ray}.{member} = {text};"));
        }
        ray
    }
}
