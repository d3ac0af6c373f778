//! The records of RDAT for an entry point of a library, from validator version 1.8 on: of a node of a work graph, and
//! for programs that are not to be validated, of any stage.
//!
//! Source: DXC's `DxilContainerAssembler.cpp`; the RDAT of real libraries.

use super::super::node_io::NodeIo;
use super::super::{EntryPoint, SignatureElement};
use super::form::Form;
use crate::program::ShaderKind;
use crate::psv0::{Interpolation, SemanticKind};
use crate::rdat::{NULL, RdatBuilder, RdatKind};
use alloc::vec;
use alloc::vec::Vec;

/// Kinds of attributes of nodes.
mod function {
    pub(super) const ID: u32 = 1;
    pub(super) const THREADS: u32 = 2;
    pub(super) const SHARE_INPUT_OF: u32 = 3;
    pub(super) const DISPATCH_GRID: u32 = 4;
    pub(super) const MAX_RECURSION: u32 = 5;
    pub(super) const ROOT_ARGUMENTS: u32 = 6;
    pub(super) const MAX_DISPATCH_GRID: u32 = 7;
}

/// Kinds of attributes of inputs and outputs.
mod io {
    pub(super) const OUTPUT_ID: u32 = 1;
    pub(super) const MAX_RECORDS: u32 = 2;
    pub(super) const MAX_RECORDS_SHARED_WITH: u32 = 3;
    pub(super) const RECORD_SIZE: u32 = 4;
    pub(super) const DISPATCH_GRID: u32 = 5;
    pub(super) const ARRAY_SIZE: u32 = 6;
    pub(super) const ALLOW_SPARSE: u32 = 7;
    pub(super) const ALIGNMENT: u32 = 8;
}

/// Flags of a function.
mod shader {
    pub(super) const NODE_PROGRAM_ENTRY: u32 = 1;
    pub(super) const OUTPUT_POSITION: u32 = 1 << 1;
    pub(super) const DEPTH_OUTPUT: u32 = 1 << 2;
    pub(super) const SAMPLE_FREQUENCY: u32 = 1 << 3;
    pub(super) const USES_VIEW_ID: u32 = 1 << 4;
}

/// Adds the records of entry points.
pub(super) struct Shaders<'b> {
    pub(super) builder: &'b mut RdatBuilder,
    pub(super) form: Form,
}

impl Shaders<'_> {
    /// Adds the record of an entry point. Returns the flags of the function, and the record or [`NULL`].
    pub(super) fn add(
        &mut self,
        entry: &EntryPoint,
        kind: ShaderKind,
        group_shared: u32,
        uses_view_id: bool,
    ) -> (u32, u32) {
        if kind == ShaderKind::NODE {
            return self.node(entry, group_shared);
        }
        if !self.form.stage_tables {
            return (0, NULL);
        }
        let (flags, record) = self.stage(entry, kind, group_shared);
        let view_id = if uses_view_id { shader::USES_VIEW_ID } else { 0 };
        (flags | view_id, record)
    }

    fn node(&mut self, entry: &EntryPoint, group_shared: u32) -> (u32, u32) {
        let node = entry.properties.node.clone().unwrap_or_default();
        let mut attributes = Vec::new();
        if let Some((name, index)) = node.id.as_ref().filter(|(name, _)| !name.0.is_empty()) {
            let id = self.node_id(&name.0, *index);
            attributes.push(self.attribute(function::ID, id));
        }
        self.triple(&mut attributes, function::THREADS, entry.properties.threads);
        if let Some(index) = node.root_arguments_index.filter(|index| *index <= i32::MAX as u32) {
            attributes.push(self.attribute(function::ROOT_ARGUMENTS, index));
        }
        if let Some((name, index)) = node.share_input_of.as_ref().filter(|(name, _)| !name.0.is_empty()) {
            let id = self.node_id(&name.0, *index);
            attributes.push(self.attribute(function::SHARE_INPUT_OF, id));
        }
        self.triple(&mut attributes, function::DISPATCH_GRID, node.dispatch_grid);
        if let Some(depth) = node.max_recursion.filter(|depth| *depth != 0) {
            attributes.push(self.attribute(function::MAX_RECURSION, depth));
        }
        self.triple(&mut attributes, function::MAX_DISPATCH_GRID, node.max_dispatch_grid);
        let attributes = self.builder.list(&attributes);
        let inputs = self.nodes(&node.inputs);
        let outputs = self.nodes(&node.outputs);
        let launch = node.launch_type.map_or(0, |launch| launch.0);
        let values = vec![launch, group_shared, attributes, outputs, inputs];
        let record = self.builder.record(RdatKind::NODE_SHADER_INFO_TABLE, values);
        (if node.is_program_entry { shader::NODE_PROGRAM_ENTRY } else { 0 }, record)
    }

    fn node_id(&mut self, name: &[u8], index: u32) -> u32 {
        let name = self.builder.text(name);
        self.builder.record(RdatKind::NODE_ID_TABLE, vec![name, index])
    }

    fn attribute(&mut self, kind: u32, value: u32) -> u32 {
        self.builder.record(RdatKind::NODE_SHADER_FUNC_ATTRIB_TABLE, vec![kind, value])
    }

    fn triple(&mut self, attributes: &mut Vec<u32>, kind: u32, value: Option<[u32; 3]>) {
        if let Some(value) = value.filter(|value| *value != [0; 3]) {
            let list = self.builder.list(&value);
            attributes.push(self.attribute(kind, list));
        }
    }

    fn nodes(&mut self, all: &[NodeIo]) -> u32 {
        let records: Vec<u32> = all.iter().map(|node| self.io_node(node)).collect();
        self.builder.list(&records)
    }

    fn io_node(&mut self, node: &NodeIo) -> u32 {
        let mut attributes: Vec<(u32, u32)> = Vec::new();
        if node.is_output() {
            let id = self.node_id(&node.output_id.0.0, node.output_id.1);
            attributes.push((io::OUTPUT_ID, id));
            attributes.push((io::ARRAY_SIZE, node.array_size));
            match (node.max_records, node.max_records_shared_with) {
                (0, Some(other)) => attributes.push((io::MAX_RECORDS_SHARED_WITH, other)),
                (0, None) => {}
                (count, _) => attributes.push((io::MAX_RECORDS, count)),
            }
            if node.allow_sparse {
                attributes.push((io::ALLOW_SPARSE, 1));
            }
        } else if node.is_input() && node.max_records != 0 {
            attributes.push((io::MAX_RECORDS, node.max_records));
        }
        if node.record_size != 0 {
            attributes.push((io::RECORD_SIZE, node.record_size));
            if let Some([offset, component, count]) = node.dispatch_grid.filter(|[_, kind, _]| *kind != 0) {
                let packed = offset & 0xFFFF | ((component << 2 | count & 3) & 0xFFFF) << 16;
                attributes.push((io::DISPATCH_GRID, packed));
            }
            if node.alignment != 0 {
                attributes.push((io::ALIGNMENT, node.alignment));
            }
        }
        let records: Vec<u32> = attributes
            .into_iter()
            .map(|(kind, value)| {
                self.builder.record(RdatKind::NODE_SHADER_IO_ATTRIB_TABLE, vec![kind, value])
            })
            .collect();
        let list = self.builder.list(&records);
        self.builder.record(RdatKind::IO_NODE_TABLE, vec![node.flags, list])
    }

    /// Adds the record of a stage with its signatures. Masks of the view ID stay empty, as in DXC.
    fn stage(&mut self, entry: &EntryPoint, kind: ShaderKind, group_shared: u32) -> (u32, u32) {
        let value = |name: &str| entry.stage_value(name).unwrap_or_default();
        let threads = entry.properties.threads.unwrap_or_default();
        let payload = entry.properties.payload_size.unwrap_or_default();
        let [inputs, outputs, patch] = &entry.signatures;
        let (table, flags, values) = match kind {
            ShaderKind::PIXEL => {
                let values = vec![self.elements(inputs), self.elements(outputs)];
                (RdatKind::PS_INFO_TABLE, sample_frequency(inputs) | depth_output(outputs), values)
            }
            ShaderKind::VERTEX => {
                let values = vec![self.elements(inputs), self.elements(outputs), 0, 0];
                (RdatKind::VS_INFO_TABLE, output_position(outputs), values)
            }
            ShaderKind::GEOMETRY => {
                let mut values = vec![self.elements(inputs), self.elements(outputs), 0, 0, 0, 0];
                let streams = outputs.iter().fold(0, |mask, element| mask | 1 << (element.stream & 3));
                values.extend([value("InputPrimitive"), value("OutputTopology")]);
                values.extend([value("MaxVertexCount"), streams]);
                (RdatKind::GS_INFO_TABLE, output_position(outputs), values)
            }
            ShaderKind::HULL => {
                let mut values = vec![self.elements(inputs), self.elements(outputs), self.elements(patch)];
                values.extend([0; 8]);
                values.extend([value("InputControlPointCount"), value("OutputControlPointCount")]);
                values.extend([value("TessellatorDomain"), value("TessellatorOutputPrimitive")]);
                (RdatKind::HS_INFO_TABLE, 0, values)
            }
            ShaderKind::DOMAIN => {
                let mut values = vec![self.elements(inputs), self.elements(outputs), self.elements(patch)];
                values.extend([0; 6]);
                values.extend([value("InputControlPointCount"), value("TessellatorDomain"), 0]);
                (RdatKind::DS_INFO_TABLE, output_position(outputs), values)
            }
            ShaderKind::COMPUTE => {
                (RdatKind::CS_INFO_TABLE, 0, vec![self.builder.list(&threads), group_shared])
            }
            ShaderKind::MESH => {
                let mut values = vec![self.elements(outputs), self.elements(patch), 0, 0, 0, 0];
                values.extend([self.builder.list(&threads), group_shared, 0, payload]);
                values.extend([value("MaxOutputVertices"), value("MaxOutputPrimitives")]);
                values.extend([value("MeshOutputTopology"), 0, 0]);
                (RdatKind::MS_INFO_TABLE, output_position(outputs), values)
            }
            ShaderKind::AMPLIFICATION => {
                (RdatKind::AS_INFO_TABLE, 0, vec![self.builder.list(&threads), group_shared, payload])
            }
            _ => return (0, NULL),
        };
        (flags, self.builder.record(table, values))
    }

    fn elements(&mut self, elements: &[SignatureElement]) -> u32 {
        let mut records = Vec::with_capacity(elements.len());
        for element in elements {
            let name = self.builder.text(&element.name.0);
            let indices = self.builder.list(&element.indices);
            let start_column = element.start_column.map_or(3, u32::from) & 3;
            let columns = u32::from(element.columns).wrapping_sub(1) & 3;
            let values = vec![
                name,
                indices,
                element.kind.0.into(),
                element.component_type.0 & 0xFF,
                element.interpolation.0.into(),
                element.start_row.map_or(0xFF, |row| row & 0xFF),
                columns | start_column << 2 | (element.stream & 3) << 4,
                u32::from(element.used_mask & 0xF) | u32::from(element.dynamic_mask & 0xF) << 4,
                0,
            ];
            records.push(self.builder.record(RdatKind::SIGNATURE_ELEMENT_TABLE, values));
        }
        self.builder.list(&records)
    }
}

fn flag_if(flag: u32, elements: &[SignatureElement], is: impl Fn(&SignatureElement) -> bool) -> u32 {
    if elements.iter().any(is) { flag } else { 0 }
}

fn output_position(outputs: &[SignatureElement]) -> u32 {
    flag_if(shader::OUTPUT_POSITION, outputs, |element| element.kind == SemanticKind::POSITION)
}

fn depth_output(outputs: &[SignatureElement]) -> u32 {
    let kinds = [SemanticKind::DEPTH, SemanticKind::DEPTH_LESS_EQUAL, SemanticKind::DEPTH_GREATER_EQUAL];
    flag_if(shader::DEPTH_OUTPUT, outputs, |element| kinds.contains(&element.kind))
}

fn sample_frequency(inputs: &[SignatureElement]) -> u32 {
    let modes = [Interpolation::LINEAR_SAMPLE, Interpolation::LINEAR_NOPERSPECTIVE_SAMPLE];
    flag_if(shader::SAMPLE_FREQUENCY, inputs, |element| {
        element.kind == SemanticKind::SAMPLE_INDEX || modes.contains(&element.interpolation)
    })
}
