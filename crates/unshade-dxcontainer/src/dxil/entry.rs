//! Reads entry points: `dx.entryPoints`.
//!
//! An entry point is a tuple of function, name, signatures (tuple of input, output, and patch constants or primitives),
//! resources and properties. The first one of a library has no function, and its properties are those of the library.
//! Properties are tags and values:
//!
//! | tag | value |
//! |---|---|
//! | 0 | flags of the module |
//! | 1 | geometry: input primitive, maximum vertices, mask of streams, topology, instances |
//! | 2 | domain: domain, input control points |
//! | 3 | hull: patch constant function, input and output control points, domain, partitioning, primitive, factor |
//! | 4 | threads per group |
//! | 5 | register space for automatic bindings |
//! | 6, 7 | bytes of a ray's payload and attributes |
//! | 8 | kind of shader, for functions of a library |
//! | 9 | mesh: threads, maximum vertices and primitives, topology, bytes of payload |
//! | 10 | amplification: threads, bytes of payload |
//! | 11, 23 | lanes per wave; minimum, maximum and preferred lanes |
//! | 12 | root signature |
//! | 13–22 | nodes of a work graph |
//! | 24 | maximum bytes of group shared memory |

use super::node_io::{self, NodeIo};
use super::nodes::Nodes;
use super::signature::{self, SignatureElement};
use crate::bytes::Text;
use crate::program::ShaderKind;
use alloc::vec::Vec;
use unshade_core::open_enum;
use unshade_llvm::MetadataId;
use unshade_llvm::constants::Constant;
use unshade_llvm::value::ValueKind;

mod tag {
    pub(super) const FLAGS: u32 = 0;
    pub(super) const GEOMETRY: u32 = 1;
    pub(super) const DOMAIN: u32 = 2;
    pub(super) const HULL: u32 = 3;
    pub(super) const THREADS: u32 = 4;
    pub(super) const BINDING_SPACE: u32 = 5;
    pub(super) const PAYLOAD_SIZE: u32 = 6;
    pub(super) const ATTRIBUTE_SIZE: u32 = 7;
    pub(super) const KIND: u32 = 8;
    pub(super) const MESH: u32 = 9;
    pub(super) const AMPLIFICATION: u32 = 10;
    pub(super) const WAVE_SIZE: u32 = 11;
    pub(super) const ROOT_SIGNATURE: u32 = 12;
    pub(super) const LAUNCH_TYPE: u32 = 13;
    pub(super) const IS_PROGRAM_ENTRY: u32 = 14;
    pub(super) const NODE_ID: u32 = 15;
    pub(super) const ROOT_ARGUMENTS_INDEX: u32 = 16;
    pub(super) const SHARE_INPUT_OF: u32 = 17;
    pub(super) const DISPATCH_GRID: u32 = 18;
    pub(super) const MAX_RECURSION: u32 = 19;
    pub(super) const INPUTS: u32 = 20;
    pub(super) const OUTPUTS: u32 = 21;
    pub(super) const MAX_DISPATCH_GRID: u32 = 22;
    pub(super) const WAVE_SIZE_RANGE: u32 = 23;
    pub(super) const GROUP_SHARED_LIMIT: u32 = 24;
}

open_enum! {
    /// The launch type of a work graph node.
    pub struct LaunchType(u32) {
        BROADCASTING = 1 => "broadcasting",
        COALESCING = 2 => "coalescing",
        THREAD = 3 => "thread",
    }
}

/// An entry point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryPoint {
    /// Index of the function in the module; none for the entry that describes a library.
    pub function: Option<usize>,
    /// Its name.
    pub name: Text,
    /// Elements of the input, output, and patch constant or primitive signature.
    pub signatures: [Vec<SignatureElement>; 3],
    /// Metadata node of its resources.
    pub(super) resources: Option<MetadataId>,
    /// Properties.
    pub properties: Properties,
}

/// The properties of an entry point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Flags of the module, see [`flags`](super::flags).
    pub flags: u64,
    /// Kind of shader, for functions of a library.
    pub kind: Option<ShaderKind>,
    /// Threads per group.
    pub threads: Option<[u32; 3]>,
    /// Lanes per wave: minimum, maximum, preferred. If only one number is given, the others are 0.
    pub wave_lanes: Option<[u32; 3]>,
    /// Maximum bytes of group shared memory.
    pub group_shared_limit: Option<u32>,
    /// The register space of resources that the source code gives no register.
    pub binding_space: Option<u32>,
    /// Bytes of the payload of a ray or mesh.
    pub payload_size: Option<u32>,
    /// Bytes of the attributes of a ray.
    pub attribute_size: Option<u32>,
    /// Index of the function of the module that computes patch constants.
    pub patch_function: Option<usize>,
    /// The largest tessellation factor, as the bits of a float.
    pub max_tessellation_factor: Option<u32>,
    /// Properties of the stage: name and value.
    pub stage: Vec<(&'static str, u32)>,
    /// Properties as a work graph node.
    pub node: Option<Node>,
    /// The root signature as RTS0 holds it. DXC removes it from the program in a container.
    pub root_signature: Option<Vec<u8>>,
}

/// A node of a work graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Launch type.
    pub launch_type: Option<LaunchType>,
    /// Whether it is a program entry.
    pub is_program_entry: bool,
    /// Its name and index.
    pub id: Option<(Text, u32)>,
    /// Name and index of the node whose input it shares.
    pub share_input_of: Option<(Text, u32)>,
    /// Index of its local root arguments; all ones for none.
    pub root_arguments_index: Option<u32>,
    /// Dispatch grid in groups.
    pub dispatch_grid: Option<[u32; 3]>,
    /// Maximum dispatch grid in groups.
    pub max_dispatch_grid: Option<[u32; 3]>,
    /// Maximum recursion depth.
    pub max_recursion: Option<u32>,
    /// Input records.
    pub inputs: Vec<NodeIo>,
    /// Outputs.
    pub outputs: Vec<NodeIo>,
}

const GEOMETRY: [&str; 5] =
    ["InputPrimitive", "MaxVertexCount", "OutputStreamMask", "OutputTopology", "InstanceCount"];
const DOMAIN: [&str; 2] = ["TessellatorDomain", "InputControlPointCount"];
const HULL: [&str; 5] = [
    "InputControlPointCount",
    "OutputControlPointCount",
    "TessellatorDomain",
    "TessellatorPartitioning",
    "TessellatorOutputPrimitive",
];
const MESH: [&str; 3] = ["MaxOutputVertices", "MaxOutputPrimitives", "MeshOutputTopology"];

impl EntryPoint {
    /// Returns a property of the stage by its name.
    pub fn stage_value(&self, name: &str) -> Option<u32> {
        self.properties.stage.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    pub(super) fn read(nodes: &Nodes<'_, '_>, id: MetadataId) -> Option<Self> {
        let operands = nodes.operands(id)?;
        let &[function, name, signatures, resources, properties] = operands.as_slice() else { return None };
        let mut entry = Self {
            function: function_of(nodes, function),
            name: nodes.text(name)?,
            resources,
            ..Self::default()
        };
        if let Some(id) = signatures {
            let signatures = nodes.operands(id)?;
            if signatures.len() != entry.signatures.len() {
                return None;
            }
            for (elements, operand) in entry.signatures.iter_mut().zip(signatures) {
                *elements = signature::read_all(nodes, operand)?;
            }
        }
        for (tag, value) in nodes.tagged(properties)? {
            entry.properties.take(nodes, tag, value)?;
        }
        Some(entry)
    }
}

fn function_of(nodes: &Nodes<'_, '_>, operand: Option<MetadataId>) -> Option<usize> {
    let (_, value) = nodes.value(operand)?;
    match nodes.module().value(None, value)?.kind {
        ValueKind::Function(index) => Some(index as usize),
        _ => None,
    }
}

/// Returns the bits of a constant of type `float`.
fn float_bits(nodes: &Nodes<'_, '_>, operand: Option<MetadataId>) -> Option<u32> {
    let (_, value) = nodes.value(operand)?;
    match nodes.module().constant(None, value)?.0 {
        Constant::Float(bits) => u32::try_from(bits).ok(),
        Constant::Null => Some(0),
        _ => None,
    }
}

fn three_numbers(nodes: &Nodes<'_, '_>, operand: Option<MetadataId>) -> Option<[u32; 3]> {
    nodes.numbers(operand)?.try_into().ok()
}

impl Properties {
    fn take(&mut self, nodes: &Nodes<'_, '_>, tag: u32, value: Option<MetadataId>) -> Option<()> {
        match tag {
            tag::FLAGS => self.flags = nodes.integer(value)?,
            tag::GEOMETRY => self.stage(nodes, &GEOMETRY, &nodes.operands(value?)?)?,
            tag::DOMAIN => self.stage(nodes, &DOMAIN, &nodes.operands(value?)?)?,
            tag::HULL => {
                let operands = nodes.operands(value?)?;
                self.stage(nodes, &HULL, operands.get(1..)?)?;
                self.patch_function = function_of(nodes, *operands.first()?);
                self.max_tessellation_factor = operands.get(6).and_then(|factor| float_bits(nodes, *factor));
            }
            tag::THREADS => self.threads = Some(three_numbers(nodes, value)?),
            tag::BINDING_SPACE => self.binding_space = nodes.numbers(value)?.first().copied(),
            tag::PAYLOAD_SIZE => self.payload_size = Some(nodes.number(value)?),
            tag::ATTRIBUTE_SIZE => self.attribute_size = Some(nodes.number(value)?),
            tag::KIND => self.kind = Some(ShaderKind(u16::try_from(nodes.number(value)?).ok()?)),
            tag::MESH => {
                let operands = nodes.operands(value?)?;
                let (&threads, rest) = operands.split_first()?;
                self.threads = Some(three_numbers(nodes, threads)?);
                self.stage(nodes, &MESH, rest)?;
                self.payload_size = Some(nodes.number(*operands.get(4)?)?);
            }
            tag::AMPLIFICATION => {
                let &[threads, payload_size] = nodes.operands(value?)?.as_slice() else { return None };
                self.threads = Some(three_numbers(nodes, threads)?);
                self.payload_size = Some(nodes.number(payload_size)?);
            }
            tag::WAVE_SIZE => self.wave_lanes = Some([*nodes.numbers(value)?.first()?, 0, 0]),
            tag::ROOT_SIGNATURE => self.root_signature = Some(nodes.bytes(value)?),
            tag::WAVE_SIZE_RANGE => self.wave_lanes = Some(three_numbers(nodes, value)?),
            tag::GROUP_SHARED_LIMIT => self.group_shared_limit = Some(nodes.number(value)?),
            tag::LAUNCH_TYPE..=tag::MAX_DISPATCH_GRID => {
                self.node.get_or_insert_default().take(nodes, tag, value)?;
            }
            _ => {}
        }
        Some(())
    }

    fn stage(
        &mut self,
        nodes: &Nodes<'_, '_>,
        names: &[&'static str],
        operands: &[Option<MetadataId>],
    ) -> Option<()> {
        for (index, name) in names.iter().enumerate() {
            self.stage.push((name, nodes.number(*operands.get(index)?)?));
        }
        Some(())
    }
}

impl Node {
    fn take(&mut self, nodes: &Nodes<'_, '_>, tag: u32, value: Option<MetadataId>) -> Option<()> {
        let id = || {
            let &[name, index] = nodes.operands(value?)?.as_slice() else { return None };
            Some((nodes.text(name)?, nodes.number(index)?))
        };
        match tag {
            tag::LAUNCH_TYPE => self.launch_type = Some(LaunchType(nodes.number(value)?)),
            tag::IS_PROGRAM_ENTRY => self.is_program_entry = nodes.integer(value)? != 0,
            tag::NODE_ID => self.id = Some(id()?),
            tag::SHARE_INPUT_OF => self.share_input_of = Some(id()?),
            tag::ROOT_ARGUMENTS_INDEX => self.root_arguments_index = Some(nodes.number(value)?),
            tag::DISPATCH_GRID => self.dispatch_grid = Some(three_numbers(nodes, value)?),
            tag::MAX_DISPATCH_GRID => self.max_dispatch_grid = Some(three_numbers(nodes, value)?),
            tag::MAX_RECURSION => self.max_recursion = Some(nodes.number(value)?),
            tag::INPUTS => self.inputs = node_io::read_all(nodes, value)?,
            tag::OUTPUTS => self.outputs = node_io::read_all(nodes, value)?,
            _ => {}
        }
        Some(())
    }
}
