//! Parameters and results of entry points, with their semantics.
//!
//! Inputs of vertex and pixel shaders are parameters; those of stages that read several vertices are members of a
//! structure. A single output is the result, several are members of a structure. System values that are not in a
//! signature are parameters, if the code reads them.

use super::declaration::Naming;
use super::names::Names;
use crate::ir::shader::ShaderOp;
use crate::ir::shader::data_type::{DataType, ScalarKind};
use crate::ir::shader::interface::{Attributes, Element, Passing, ShaderFunction, ShaderProgram, Stage};
use crate::ir::{Function, Op};

/// How the code of a function refers to its interface.
#[derive(Clone, Debug, Default)]
pub(super) struct Interface {
    /// Structures before the function.
    pub(super) structs: Vec<String>,
    /// Attributes and the head of the function.
    pub(super) head: Vec<String>,
    /// Declarations at the start of the body.
    pub(super) prologue: Vec<String>,
    /// What a return statement returns.
    pub(super) result: Option<String>,
    /// The names of the parameters of a function that is no entry point.
    pub(super) arguments: Vec<String>,
    /// The names of inputs; members where the vertex is an index of [`Self::vertices`].
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    pub(super) patch: Vec<String>,
    /// The array of the vertices that come in.
    pub(super) vertices: Option<String>,
    /// The array of control points that a hull shader made.
    pub(super) control_points: Option<String>,
    /// The arrays of a mesh: vertices, primitives, indices.
    pub(super) mesh: [String; 3],
    /// The payload of a mesh or a ray.
    pub(super) payload: String,
    /// The streams of a geometry shader, by number.
    pub(super) streams: Vec<(u32, String)>,
    /// The variables of a geometry shader's streams.
    pub(super) stream_outputs: Vec<(u32, String)>,
    /// The inputs and outputs of a node of a work graph.
    pub(super) node_inputs: Vec<String>,
    /// See [`Self::node_inputs`].
    pub(super) node_outputs: Vec<String>,
    /// Parameters that have system values.
    pub(super) system: Vec<(ShaderOp, String)>,
    /// What the program does not say and the language must.
    pub(super) missing: Vec<String>,
}

/// System values that operations return: semantic, type, number of lanes.
const SYSTEM_VALUES: &[(ShaderOp, &str, &str, &str)] = &[
    (ShaderOp::DispatchThreadId, "SV_DispatchThreadID", "uint3", "thread_id"),
    (ShaderOp::GroupId, "SV_GroupID", "uint3", "group_id"),
    (ShaderOp::GroupThreadId, "SV_GroupThreadID", "uint3", "group_thread_id"),
    (ShaderOp::GroupIndex, "SV_GroupIndex", "uint", "group_index"),
    (ShaderOp::DomainLocation, "SV_DomainLocation", "float3", "domain_location"),
    (ShaderOp::PrimitiveId, "SV_PrimitiveID", "uint", "primitive_id"),
    (ShaderOp::OutputControlPointId, "SV_OutputControlPointID", "uint", "control_point_id"),
    (ShaderOp::GeometryInstanceId, "SV_GSInstanceID", "uint", "instance_id"),
    (ShaderOp::SampleIndex, "SV_SampleIndex", "uint", "sample_index"),
    (ShaderOp::Coverage, "SV_Coverage", "uint", "coverage"),
    (ShaderOp::InnerCoverage, "SV_InnerCoverage", "uint", "inner_coverage"),
    (ShaderOp::ViewId, "SV_ViewID", "uint", "view_id"),
    (ShaderOp::StartVertex, "SV_StartVertexLocation", "int", "start_vertex"),
    (ShaderOp::StartInstance, "SV_StartInstanceLocation", "uint", "start_instance"),
];

/// Returns the name of an element in the text: its semantic in lower case.
fn element_name(element: &Element, names: &mut Names) -> String {
    let semantic = element.semantic.strip_prefix("SV_").or_else(|| element.semantic.strip_prefix("sv_"));
    let mut name = String::new();
    let mut was_lower = false;
    for c in semantic.unwrap_or(&element.semantic).chars() {
        if c.is_ascii_uppercase() && was_lower {
            name.push('_');
        }
        was_lower = c.is_ascii_lowercase();
        name.push(c.to_ascii_lowercase());
    }
    match element.indices.first() {
        Some(index) if *index > 0 => name.push_str(&index.to_string()),
        _ => {}
    }
    names.take(&name)
}

/// The structures of the vertices that come into and go out of a hull shader.
const CONTROL_POINT: &str = "ControlPoint";
const HULL_OUTPUT: &str = "HullOutput";

struct Writer<'p> {
    program: &'p ShaderProgram,
    naming: &'p Naming,
    info: &'p ShaderFunction,
    names: &'p mut Names,
    interface: Interface,
    parameters: Vec<String>,
}

/// Returns the interface of a function.
pub(super) fn interface(
    program: &ShaderProgram,
    naming: &Naming,
    names: &mut Names,
    index: usize,
) -> Interface {
    let info = &program.functions[index];
    let is_patch_of = program.functions.iter().any(|other| other.attributes.patch_function == Some(index));
    let mut writer =
        Writer { program, naming, info, names, interface: Interface::default(), parameters: Vec::new() };
    match info.stage {
        _ if is_patch_of => writer.patch_function(index),
        Some(stage) => writer.entry(stage),
        None => writer.helper(),
    }
    writer.interface
}

impl Writer<'_> {
    fn helper(&mut self) {
        self.own_parameters();
        let place = self.info.parameters.iter().find(|parameter| parameter.passing == Passing::Result);
        if let Some(parameter) = place {
            let name = self.names.take("result");
            self.interface.prologue.push(format!("{};", self.naming.declare(&parameter.ty, &name)));
            self.interface.result = Some(name);
        }
        let (result, counts) = super::declaration::result_type(self.naming, self.info);
        let export = if self.info.is_exported { "export " } else { "" };
        // The initial value of a static variable: it is computed before all else.
        let result = match self.info.is_constructor {
            true => {
                self.interface.result = Some("0".into());
                "int".into()
            }
            false => result,
        };
        let name = self.naming.function(&self.info.name);
        self.head(&format!("{export}{result} {name}"), &counts);
    }

    /// Adds the parameters of the function itself.
    fn own_parameters(&mut self) {
        for (index, parameter) in self.info.parameters.iter().enumerate() {
            let name = match parameter.name.as_str() {
                "" => format!("argument{index}"),
                name => self.names.take(name),
            };
            self.parameters.extend(super::declaration::parameter(self.naming, parameter, &name));
            self.interface.arguments.push(name);
        }
    }

    /// Finishes the head: what precedes the parameters, and the semantic of the result.
    fn head(&mut self, start: &str, semantic: &str) {
        let one = format!("{start}({}){semantic}", self.parameters.join(", "));
        if one.len() <= 100 {
            self.interface.head.push(one);
            return;
        }
        self.interface.head.push(format!("{start}("));
        let count = self.parameters.len();
        for (index, parameter) in self.parameters.iter().enumerate() {
            let end = if index + 1 == count { format!("){semantic}") } else { ",".into() };
            self.interface.head.push(format!("    {parameter}{end}"));
        }
    }

    fn attributes(&mut self, stage: Stage) {
        let attributes: &Attributes = &self.info.attributes;
        let mut lines = Vec::new();
        if self.program.stage == Stage::Library {
            lines.push(format!("[shader(\"{}\")]", stage.attribute()));
        }
        if let Some(node) = &attributes.node {
            lines.extend(super::node::attributes(node, &self.naming.function(&self.info.name)));
        }
        if let Some(root) = &attributes.root_signature {
            lines.extend(super::state::root_signature("[RootSignature(", root, ")]"));
        }
        if let Some(domain) = attributes.domain {
            lines.push(format!("[domain(\"{domain}\")]"));
        }
        if let Some(partitioning) = attributes.partitioning {
            lines.push(format!("[partitioning(\"{partitioning}\")]"));
        }
        // A mesh without primitives may say nothing of them: to DXC, points are nothing.
        let topology = attributes.output_topology.or((stage == Stage::Mesh).then_some("point"));
        if let Some(topology) = topology {
            lines.push(format!("[outputtopology(\"{topology}\")]"));
        }
        if let (Some(count), Stage::Hull) = (attributes.output_control_points, stage) {
            lines.push(format!("[outputcontrolpoints({count})]"));
        }
        if let Some(function) = attributes.patch_function.and_then(|index| self.program.functions.get(index))
        {
            lines.push(format!("[patchconstantfunc(\"{}\")]", self.naming.function(&function.name)));
        }
        if let Some(bits) =
            attributes.max_tessellation_factor.filter(|bits| *bits != 0 && f32::from_bits(*bits).is_finite())
        {
            lines.push(format!("[maxtessfactor({:?})]", f32::from_bits(bits)));
        }
        if let (Some(count), Stage::Geometry) = (attributes.max_vertices, stage) {
            lines.push(format!("[maxvertexcount({count})]"));
        }
        if let Some(count) = attributes.instances.filter(|count| *count > 1) {
            lines.push(format!("[instance({count})]"));
        }
        if let Some([x, y, z]) = attributes.wave_size {
            let sizes = [x, y, z];
            let count = sizes.iter().rposition(|size| *size > 0).map_or(1, |last| last + 1);
            let size = sizes[..count].iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            lines.push(format!("[WaveSize({size})]"));
        }
        if let Some(bytes) = attributes.group_shared_limit {
            lines.push(format!("[GroupSharedLimit({bytes})]"));
        }
        if let Some([x, y, z]) = attributes.threads {
            lines.push(format!("[numthreads({x}, {y}, {z})]"));
        }
        if attributes.includes_helper_lanes {
            lines.push("[WaveOpsIncludeHelperLanes]".into());
        }
        if attributes.has_early_depth && stage == Stage::Pixel {
            lines.push("[earlydepthstencil]".into());
        }
        self.interface.head.extend(lines);
    }

    /// Returns the declaration of an element with its semantic.
    fn declared(&self, element: &Element, name: &str, has_modifiers: bool) -> String {
        let row = element.row_type();
        let ty = match element.rows() {
            1 => row,
            rows => DataType::Array(Box::new(row), rows as u32),
        };
        let is_position = element.semantic.eq_ignore_ascii_case("SV_Position");
        let modifiers = match element.interpolation {
            "" => String::new(),
            _ if !has_modifiers || is_position => String::new(),
            // Integers are never interpolated.
            "nointerpolation" if element.scalar.kind != ScalarKind::Float => String::new(),
            modifiers => format!("{modifiers} "),
        };
        format!("{modifiers}{} : {}", self.naming.declare(&ty, name), element.semantic_text())
    }

    /// Declares a structure with elements, and returns the names of its members.
    fn structure(&mut self, name: &str, elements: &[Element]) -> Vec<String> {
        let mut own = Names::members();
        let members: Vec<String> = elements.iter().map(|element| element_name(element, &mut own)).collect();
        self.interface.structs.push(format!("struct {name}"));
        self.interface.structs.push("{".into());
        for (element, member) in elements.iter().zip(&members) {
            self.interface.structs.push(format!("    {};", self.declared(element, member, true)));
        }
        self.interface.structs.push("};".into());
        self.interface.structs.push(String::new());
        members
    }

    /// Adds parameters for the system values that the code reads and no signature has.
    fn system_values(&mut self) {
        for &(op, semantic, ty, name) in SYSTEM_VALUES {
            if !reads(&self.info.function, op) {
                continue;
            }
            let elements = [(&self.info.inputs, &self.interface.inputs)];
            let in_signature = elements.iter().find_map(|(elements, names)| {
                let at =
                    elements.iter().position(|element| element.semantic.eq_ignore_ascii_case(semantic))?;
                names.get(at).cloned()
            });
            let text = match in_signature {
                Some(text) => text,
                None => {
                    let name = self.names.take(name);
                    let ty = match (op, self.info.attributes.domain) {
                        (ShaderOp::DomainLocation, Some("quad" | "isoline")) => "float2",
                        _ => ty,
                    };
                    self.parameters.push(format!("{ty} {name} : {semantic}"));
                    name
                }
            };
            self.interface.system.push((op, text));
        }
    }

    fn entry(&mut self, stage: Stage) {
        self.attributes(stage);
        match stage {
            Stage::Hull => self.hull(),
            Stage::Domain => self.domain(),
            Stage::Geometry => self.geometry(),
            Stage::Mesh => self.mesh(),
            Stage::Vertex | Stage::Pixel => self.plain(),
            _ => self.compute(),
        }
    }

    /// Vertex and pixel shaders.
    fn plain(&mut self) {
        if self.info.inputs.len() > 4 {
            let name = self.struct_name("Input");
            let input = self.names.take("input");
            let inputs = self.info.inputs.clone();
            let members = self.structure(&name, &inputs);
            self.interface.inputs = members.into_iter().map(|member| format!("{input}.{member}")).collect();
            self.parameters.push(format!("{name} {input}"));
        } else {
            for element in &self.info.inputs {
                let name = element_name(element, self.names);
                self.parameters.push(self.declared(element, &name, true));
                self.interface.inputs.push(name);
            }
        }
        self.parameters.extend(super::legacy::parameters(self.program, self.naming));
        if self.info.stage.is_some() {
            self.parameters.extend(super::declaration::uniform_parameters(self.program, self.naming));
        }
        self.system_values();
        self.outputs();
    }

    /// Declares the outputs as the result, and finishes the head.
    fn outputs(&mut self) {
        let name = self.function_name();
        let outputs = self.info.outputs.clone();
        match &outputs[..] {
            [] => self.head(&format!("void {name}"), ""),
            [one] if one.rows() == 1 => {
                let variable = element_name(one, self.names);
                let ty = self.naming.type_name(&one.row_type());
                self.interface.prologue.push(format!("{ty} {variable};"));
                self.interface.result = Some(variable.clone());
                self.interface.outputs.push(variable);
                self.head(&format!("{ty} {name}"), &format!(" : {}", one.semantic_text()));
            }
            _ => {
                let ty = self.struct_name("Output");
                let variable = self.names.take("output");
                let members = self.structure(&ty, &outputs);
                self.interface.prologue.push(format!("{ty} {variable};"));
                self.interface.outputs =
                    members.into_iter().map(|member| format!("{variable}.{member}")).collect();
                self.interface.result = Some(variable);
                self.head(&format!("{ty} {name}"), "");
            }
        }
    }

    /// Takes the name of a structure of the signature. In a library, other functions have such structures as well; a
    /// hull shader shares its own with its patch-constant function.
    fn struct_name(&mut self, base: &str) -> String {
        if self.program.stage != Stage::Library {
            return self.names.take(base);
        }
        let functions = &self.program.functions;
        let patch = self.info.attributes.patch_function.and_then(|index| functions.get(index));
        let owner = patch.map_or(&self.info.name, |function| &function.name);
        self.names.take(&format!("{base}_{}", super::function::plain_name(owner)))
    }

    fn function_name(&self) -> String {
        self.naming.function(&self.info.name)
    }

    /// Declares the structure of the vertices that come in, and their array.
    fn vertex_array(&mut self, ty: &str, kind: &str, count: u32) {
        let name = self.struct_name(ty);
        let array = self.names.take("input");
        let inputs = self.info.inputs.clone();
        // System values of the primitive are no part of a vertex.
        let is_own = |element: &Element| element.semantic.eq_ignore_ascii_case("SV_PrimitiveID");
        let of_vertices: Vec<Element> = inputs.iter().filter(|element| !is_own(element)).cloned().collect();
        let members = self.structure(&name, &of_vertices);
        let mut members = members.into_iter();
        for element in &inputs {
            if is_own(element) {
                let name = self.names.take("primitive_id");
                self.interface.inputs.push(name.clone());
            } else {
                self.interface.inputs.push(members.next().unwrap_or_default());
            }
        }
        self.parameters.push(match kind {
            "InputPatch" | "OutputPatch" => format!("{kind}<{name}, {count}> {array}"),
            kind => format!("{kind} {name} {array}[{count}]"),
        });
        for (element, name) in inputs.iter().zip(&self.interface.inputs) {
            if is_own(element) {
                self.parameters.push(format!("uint {name} : SV_PrimitiveID"));
            }
        }
        self.interface.vertices = Some(array);
    }

    fn hull(&mut self) {
        let count = self.info.attributes.input_control_points.unwrap_or(1);
        self.vertex_array(CONTROL_POINT, "InputPatch", count);
        self.system_values();
        let name = self.function_name();
        let outputs = self.info.outputs.clone();
        let ty = self.struct_name(HULL_OUTPUT);
        let variable = self.names.take("output");
        let members = self.structure(&ty, &outputs);
        self.interface.prologue.push(format!("{ty} {variable};"));
        self.interface.outputs = members.into_iter().map(|member| format!("{variable}.{member}")).collect();
        self.interface.result = Some(variable);
        if self.info.attributes.patch_function.is_some() {
            self.interface.structs.clear();
        }
        self.head(&format!("{ty} {name}"), "");
    }

    fn patch_function(&mut self, index: usize) {
        let Some(shader) =
            self.program.functions.iter().find(|other| other.attributes.patch_function == Some(index))
        else {
            return;
        };
        let (inputs, outputs) = (
            shader.attributes.input_control_points.unwrap_or(1),
            shader.attributes.output_control_points.unwrap_or(1),
        );
        let name = self.function_name();
        // Both functions have the same structures. This one is printed first.
        let (vertices, points) = (self.info.inputs.clone(), self.info.outputs.clone());
        let (vertex, point) = (self.struct_name(CONTROL_POINT), self.struct_name(HULL_OUTPUT));
        self.structure(&vertex, &vertices);
        self.structure(&point, &points);
        let code = &self.info.function;
        if reads(code, ShaderOp::LoadInput) {
            let array = self.names.take("input");
            let mut own = Names::members();
            self.interface.inputs =
                self.info.inputs.iter().map(|element| element_name(element, &mut own)).collect();
            self.parameters.push(format!("InputPatch<{vertex}, {inputs}> {array}"));
            self.interface.vertices = Some(array);
        }
        if reads(code, ShaderOp::LoadOutputControlPoint) {
            let array = self.names.take("points");
            let mut own = Names::members();
            self.interface.outputs =
                self.info.outputs.iter().map(|element| element_name(element, &mut own)).collect();
            self.parameters.push(format!("OutputPatch<{point}, {outputs}> {array}"));
            self.interface.control_points = Some(array);
        }
        self.system_values();
        let ty = self.struct_name("PatchConstants");
        let variable = self.names.take("constants");
        let patch = self.info.patch.clone();
        let members = self.structure(&ty, &patch);
        self.interface.prologue.push(format!("{ty} {variable};"));
        self.interface.patch = members.into_iter().map(|member| format!("{variable}.{member}")).collect();
        self.interface.result = Some(variable);
        self.head(&format!("{ty} {name}"), "");
    }

    fn domain(&mut self) {
        let ty = self.struct_name("PatchConstants");
        let variable = self.names.take("constants");
        let patch = self.info.patch.clone();
        let members = self.structure(&ty, &patch);
        self.parameters.push(format!("{ty} {variable}"));
        self.interface.patch = members.into_iter().map(|member| format!("{variable}.{member}")).collect();
        self.system_values();
        // A patch may have no control points.
        let count = self.info.attributes.input_control_points.unwrap_or(1);
        if count > 0 {
            self.vertex_array(CONTROL_POINT, "OutputPatch", count);
        }
        self.outputs();
    }

    fn geometry(&mut self) {
        let attributes = &self.info.attributes;
        match (attributes.input_control_points, attributes.input_primitive) {
            (Some(points), _) => self.vertex_array("Vertex", "InputPatch", points),
            (None, Some(primitive)) => self.primitive(primitive),
            // Without a primitive nothing comes in.
            (None, None) if self.info.inputs.is_empty() => {}
            (None, None) => {
                self.interface.missing.push("the kind of the primitives that come in".into());
                self.primitive("point");
            }
        }
        self.system_values();
        self.streams();
        let name = self.function_name();
        self.head(&format!("void {name}"), "");
    }

    /// Declares the vertices of a primitive.
    fn primitive(&mut self, primitive: &str) {
        let count = match primitive {
            "line" => 2,
            "triangle" => 3,
            "lineadj" => 4,
            "triangleadj" => 6,
            _ => 1,
        };
        self.vertex_array("Vertex", primitive, count);
    }

    /// Declares the streams of a geometry shader.
    fn streams(&mut self) {
        let streams = self.info.attributes.streams.clone();
        self.interface.outputs = vec![String::new(); self.info.outputs.len()];
        for (number, kind) in streams {
            let ty = self.struct_name("StreamOutput");
            let variable = self.names.take("output");
            let stream = self.names.take("stream");
            let own: Vec<(usize, Element)> = self
                .info
                .outputs
                .iter()
                .cloned()
                .enumerate()
                .filter(|(_, element)| element.stream == number)
                .collect();
            let elements: Vec<Element> = own.iter().map(|(_, element)| element.clone()).collect();
            let members = self.structure(&ty, &elements);
            for ((index, _), member) in own.iter().zip(members) {
                self.interface.outputs[*index] = format!("{variable}.{member}");
            }
            self.interface.prologue.push(format!("{ty} {variable};"));
            self.parameters.push(format!("inout {kind}<{ty}> {stream}"));
            self.interface.streams.push((number, stream));
            self.interface.stream_outputs.push((number, variable));
        }
    }

    fn mesh(&mut self) {
        self.system_values();
        let attributes = &self.info.attributes;
        if let Some(payload) = attributes.payload.clone() {
            let ty = self.naming.type_name(&payload);
            let name = self.names.take("payload");
            self.parameters.push(format!("in payload {ty} {name}"));
            self.interface.payload = name;
        }
        let topology = attributes.output_topology.unwrap_or("triangle");
        let (vertices, primitives) =
            (attributes.max_vertices.unwrap_or(1), attributes.max_primitives.unwrap_or(1));
        let (outputs, patch) = (self.info.outputs.clone(), self.info.patch.clone());
        let ty = self.struct_name("Vertex");
        let name = self.names.take("vertex_outputs");
        self.interface.outputs = self.structure(&ty, &outputs);
        self.parameters.push(format!("out vertices {ty} {name}[{vertices}]"));
        self.interface.mesh[0] = name;
        if !patch.is_empty() {
            let ty = self.struct_name("Primitive");
            let name = self.names.take("primitive_outputs");
            self.interface.patch = self.structure(&ty, &patch);
            self.parameters.push(format!("out primitives {ty} {name}[{primitives}]"));
            self.interface.mesh[1] = name;
        }
        let name = self.names.take("triangle_indices");
        let ty = if topology == "line" { "uint2" } else { "uint3" };
        self.parameters.push(format!("out indices {ty} {name}[{primitives}]"));
        self.interface.mesh[2] = name;
        let name = self.function_name();
        self.head(&format!("void {name}"), "");
    }

    /// Compute and amplification shaders, and those of rays.
    fn compute(&mut self) {
        self.system_values();
        if let Some(node) = &self.info.attributes.node {
            let (parameters, inputs, outputs) = super::node::parameters(node, self.naming, self.names);
            self.parameters.splice(0..0, parameters);
            (self.interface.node_inputs, self.interface.node_outputs) = (inputs, outputs);
        }
        let stage = self.info.stage;
        for (index, parameter) in self.info.parameters.iter().enumerate() {
            let name = self.names.take(match (stage, index) {
                (Some(Stage::AnyHit | Stage::ClosestHit), 1) => "attributes",
                _ => "payload",
            });
            let is_attributes = matches!(stage, Some(Stage::AnyHit | Stage::ClosestHit)) && index == 1;
            let direction = if parameter.is_place && !is_attributes { "inout " } else { "" };
            let declared = self.naming.declare(&parameter.ty, &name);
            self.parameters.push(format!("{direction}{declared}"));
            self.interface.inputs.push(name);
        }
        let name = self.function_name();
        self.head(&format!("void {name}"), "");
    }
}

/// Returns whether a function has an operation.
pub(super) fn reads(function: &Function, op: ShaderOp) -> bool {
    let used = function.used();
    function
        .values
        .entries()
        .any(|(id, value)| value.op == Op::Shader(op) && used[id] && !function.is_replaced(id))
}
