//! Reflection buffers of typical functions, as flatbuffers of the AIRR schema.

use crate::flatbuffer::{Table, Value, build};
use Value::{Numbers, Tables, Text, U8, U32, Words};

/// The numbers of the node types in the fixtures.
mod node {
    pub(super) const FRAGMENT: u32 = 1;
    pub(super) const KERNEL: u32 = 2;
    pub(super) const VERTEX: u32 = 3;
    pub(super) const VISIBLE: u32 = 4;
    pub(super) const INTERSECTION: u32 = 5;
    pub(super) const MESH: u32 = 6;
    pub(super) const OBJECT: u32 = 7;
    pub(super) const THREADGROUP_SIZE: u32 = 0x1001;
    pub(super) const MAX_THREADS: u32 = 0x1003;
    pub(super) const PATCH: u32 = 0x1004;
    pub(super) const MAX_MESH_THREADGROUPS: u32 = 0x1005;
    pub(super) const POSITION_RETURN: u32 = 0x20002;
    pub(super) const LAYER_RETURN: u32 = 0x20003;
    pub(super) const VERTEX_OUTPUT: u32 = 0x20004;
    pub(super) const RENDER_TARGET: u32 = 0x21000;
    pub(super) const ACCEPT: u32 = 0x22000;
    pub(super) const DISTANCE: u32 = 0x22002;
    pub(super) const BUFFER: u32 = 0x40000;
    pub(super) const SAMPLER: u32 = 0x40001;
    pub(super) const TEXTURE: u32 = 0x40002;
    pub(super) const THREAD_POSITION: u32 = 0x41000;
    pub(super) const THREAD_INDEX: u32 = 0x41007;
    pub(super) const PATCH_ID: u32 = 0x42006;
    pub(super) const VERTEX_INPUT: u32 = 0x42004;
    pub(super) const FRAGMENT_INPUT: u32 = 0x43000;
    pub(super) const FRAGMENT_POSITION: u32 = 0x43002;
    pub(super) const ORIGIN: u32 = 0x45001;
    pub(super) const DIRECTION: u32 = 0x45002;
    pub(super) const MESH_GRID: u32 = 0x47000;
    pub(super) const CONSTANT: u32 = 0x80000;
    pub(super) const STRUCT: u32 = 0x80001;
}

/// The vtable offsets of the lists in the root.
mod root {
    pub(super) const VERSION: u16 = 4;
    pub(super) const NODES: u16 = 6;
    pub(super) const FRAGMENT: u16 = 8;
    pub(super) const INTERSECTION: u16 = 10;
    pub(super) const KERNEL: u16 = 12;
    pub(super) const VERTEX: u16 = 14;
    pub(super) const VISIBLE: u16 = 16;
    pub(super) const MESH: u16 = 18;
    pub(super) const OBJECT: u16 = 20;
    pub(super) const CONSTANTS: u16 = 22;
    pub(super) const LOCAL_ALLOCATIONS: u16 = 24;
}

/// A reflection under construction.
struct Builder {
    version: [u32; 3],
    nodes: Vec<Table>,
    lists: Vec<(u16, Value)>,
}

impl Builder {
    fn new(version_minor: u32) -> Self {
        Self { version: [0, version_minor, 0], nodes: Vec::new(), lists: Vec::new() }
    }

    fn node(&mut self, kind: u32, fields: impl IntoIterator<Item = (u16, Value)>) -> u32 {
        self.nodes.push(Table::new([(4, U32(kind)), (6, Value::Table(Table::new(fields)))]));
        self.nodes.len() as u32 - 1
    }

    /// Adds a node with a type and a name: a builtin argument or a simple return value.
    fn builtin(&mut self, kind: u32, type_name: &'static str, name: &'static str) -> u32 {
        self.node(kind, [(6, Text(type_name)), (8, Text(name))])
    }

    fn list(mut self, slot: u16, node: u32) -> Self {
        self.lists.push((slot, Numbers(vec![node])));
        self
    }

    fn finish(self) -> Vec<u8> {
        let mut fields = vec![(root::VERSION, Words(self.version.to_vec()))];
        if !self.nodes.is_empty() {
            fields.push((root::NODES, Tables(self.nodes)));
        }
        fields.extend(self.lists);
        build(b"AIRR", &Table(fields))
    }
}

/// Builds the reflection of a dynamic library or symbol companion: only a version.
pub fn version_only(version_minor: u32) -> Vec<u8> {
    Builder::new(version_minor).finish()
}

/// `kernel void scale(device float* data [[buffer(0)]], constant Settings& settings [[buffer(1)]],
/// texture2d<float> image [[texture(0)]], sampler filter [[sampler(0)]], uint index [[thread_position_in_grid]])`
/// with a function constant, a limit on the number of threads and a block of threadgroup memory.
pub fn kernel(name: &'static str, version_minor: u32) -> Vec<u8> {
    let mut b = Builder::new(version_minor);
    let field = |offset: u32, name: &'static str| {
        Table::new([(6, U32(offset)), (8, U32(4)), (12, Text("float")), (14, Text(name))])
    };
    let settings = b.node(node::STRUCT, [(4, Tables(vec![field(0, "gain"), field(4, "bias")]))]);
    let data = b.node(
        node::BUFFER,
        [
            (8, U32(0)),
            (10, U32(1)),
            (12, U8(3)),
            (14, U8(1)),
            (20, U32(4)),
            (22, U32(4)),
            (24, Text("float")),
            (26, Text("data")),
        ],
    );
    let buffer = b.node(
        node::BUFFER,
        [
            (6, U32(8)),
            (8, U32(1)),
            (10, U32(1)),
            (12, U8(1)),
            (14, U8(2)),
            (16, U32(settings)),
            (20, U32(8)),
            (22, U32(4)),
            (24, Text("Settings")),
            (26, Text("settings")),
        ],
    );
    let image = b.node(
        node::TEXTURE,
        [(6, U32(0)), (8, U32(1)), (10, U8(4)), (14, Text("texture2d<float, sample>")), (16, Text("image"))],
    );
    let filter = b.node(
        node::SAMPLER,
        [(6, U32(0)), (8, U32(1)), (10, Text("sampler")), (12, Text("filter")), (14, U8(1))],
    );
    let index = b.builtin(node::THREAD_POSITION, "uint", "index");
    let limit = b.node(node::MAX_THREADS, [(4, U32(256))]);
    let constant = b.node(node::CONSTANT, [(4, Text("bool")), (6, Text("fast")), (8, U32(3)), (10, U8(1))]);
    let kernel = b.node(
        node::KERNEL,
        [(4, Text(name)), (8, Numbers(vec![data, buffer, image, filter, index])), (16, U32(limit))],
    );
    let mut b = b.list(root::KERNEL, kernel).list(root::CONSTANTS, constant);
    b.lists.push((root::LOCAL_ALLOCATIONS, Tables(vec![Table::new([(4, U32(1024)), (6, U32(16))])])));
    b.finish()
}

/// `vertex Corner corner(float4 position [[attribute(0)]], float4 colour [[attribute(1)]])`.
pub fn vertex(name: &'static str) -> Vec<u8> {
    let mut b = Builder::new(2);
    let position =
        b.node(node::VERTEX_INPUT, [(6, U32(0)), (8, U32(1)), (10, Text("float4")), (12, Text("position"))]);
    let colour =
        b.node(node::VERTEX_INPUT, [(6, U32(1)), (8, U32(1)), (10, Text("float4")), (12, Text("colour"))]);
    let returns = outputs(&mut b);
    let vertex =
        b.node(node::VERTEX, [(4, Text(name)), (6, Numbers(returns)), (8, Numbers(vec![position, colour]))]);
    b.list(root::VERTEX, vertex).finish()
}

/// A post-tessellation function of quadrilaterals with 16 control points, which writes the layer.
pub fn patch(name: &'static str) -> Vec<u8> {
    let mut b = Builder::new(2);
    let id = b.builtin(node::PATCH_ID, "uint", "patch");
    let mut returns = outputs(&mut b);
    returns.push(b.node(node::LAYER_RETURN, [(8, Text("ushort")), (10, Text("layer"))]));
    let patch = b.node(node::PATCH, [(4, U8(1)), (6, U32(16))]);
    let vertex = b.node(
        node::VERTEX,
        [(4, Text(name)), (6, Numbers(returns)), (8, Numbers(vec![id])), (10, U32(patch))],
    );
    b.list(root::VERTEX, vertex).finish()
}

/// Adds a position and a colour for the fragment function.
fn outputs(b: &mut Builder) -> Vec<u32> {
    let position = b.node(node::POSITION_RETURN, [(10, Text("float4")), (12, Text("position"))]);
    let output =
        b.node(node::VERTEX_OUTPUT, [(6, Text("user(locn0)")), (12, Text("float4")), (14, Text("colour"))]);
    vec![position, output]
}

/// `fragment float4 tint(float4 position [[position]], float4 colour [[user(locn0)]])` with early tests
/// and an unused position.
pub fn fragment(name: &'static str) -> Vec<u8> {
    let mut b = Builder::new(2);
    let position =
        b.node(node::FRAGMENT_POSITION, [(10, Text("float4")), (12, Text("position")), (14, U8(1))]);
    let colour = b.node(
        node::FRAGMENT_INPUT,
        [(6, Text("user(locn0)")), (10, U8(1)), (12, U8(1)), (14, Text("float4")), (16, Text("colour"))],
    );
    let target = b.node(node::RENDER_TARGET, [(6, U32(0)), (8, U32(0)), (14, Text("float4"))]);
    let fragment = b.node(
        node::FRAGMENT,
        [(4, Text(name)), (6, Numbers(vec![target])), (8, Numbers(vec![position, colour])), (10, U8(1))],
    );
    b.list(root::FRAGMENT, fragment).finish()
}

/// Builds a mesh function with a required threadgroup size.
pub fn mesh(name: &'static str) -> Vec<u8> {
    let mut b = Builder::new(4);
    let index = b.builtin(node::THREAD_INDEX, "uint", "index");
    let limit = b.node(node::MAX_THREADS, [(4, U32(32))]);
    let size = b.node(node::THREADGROUP_SIZE, [(4, U32(32)), (6, U32(1)), (8, U32(1))]);
    let mesh =
        b.node(node::MESH, [(4, Text(name)), (8, Numbers(vec![index])), (10, U32(limit)), (14, U32(size))]);
    b.list(root::MESH, mesh).finish()
}

/// Builds an object function with a maximum number of mesh threadgroups.
pub fn object(name: &'static str) -> Vec<u8> {
    let mut b = Builder::new(4);
    let index = b.builtin(node::THREAD_INDEX, "uint", "index");
    let grid = b.builtin(node::MESH_GRID, "mesh_grid_properties", "grid");
    let limit = b.node(node::MAX_THREADS, [(4, U32(32))]);
    let threadgroups = b.node(node::MAX_MESH_THREADGROUPS, [(4, U32(8))]);
    let object = b.node(
        node::OBJECT,
        [(4, Text(name)), (8, Numbers(vec![index, grid])), (10, U32(limit)), (12, U32(threadgroups))],
    );
    b.list(root::OBJECT, object).finish()
}

/// Builds a visible function with only a name.
pub fn visible(name: &'static str) -> Vec<u8> {
    let mut b = Builder::new(4);
    let visible = b.node(node::VISIBLE, [(4, Text(name))]);
    b.list(root::VISIBLE, visible).finish()
}

/// Builds an intersection function for bounding boxes with instancing.
pub fn intersection(name: &'static str) -> Vec<u8> {
    let mut b = Builder::new(4);
    let origin = b.builtin(node::ORIGIN, "float3", "origin");
    let direction = b.builtin(node::DIRECTION, "float3", "direction");
    let accept = b.builtin(node::ACCEPT, "bool", "accept");
    let distance = b.builtin(node::DISTANCE, "float", "distance");
    let intersection = b.node(
        node::INTERSECTION,
        [
            (4, Text(name)),
            (6, Numbers(vec![accept, distance])),
            (8, Numbers(vec![origin, direction])),
            (10, U8(1)),
            (12, U8(1)),
        ],
    );
    b.list(root::INTERSECTION, intersection).finish()
}
