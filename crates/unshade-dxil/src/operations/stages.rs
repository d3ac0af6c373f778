//! What geometry, hull, domain, mesh and amplification shaders do besides loading inputs and storing outputs.

use crate::body::ShaderBody;
use crate::refused;
use crate::shader::Direction;
use crate::target::{MeshTopology, Stage};
use unshade_core::Result;
use unshade_llvm::{TypeId, ValueId};

/// A component of an element of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// The number of the element in its signature.
    pub element: u32,
    /// The row; the first by default.
    pub row: Option<ValueId>,
    /// The column.
    pub column: u8,
}

impl Component {
    /// Returns a component of the first row.
    pub fn new(element: u32, column: u8) -> Self {
        Self { element, row: None, column }
    }

    /// Returns a component of a row.
    pub fn in_row(element: u32, row: ValueId, column: u8) -> Self {
        Self { element, row: Some(row), column }
    }
}

impl ShaderBody<'_> {
    /// Returns the arguments that name a component.
    fn component(&mut self, at: Component) -> Result<[ValueId; 3]> {
        let row = match at.row {
            Some(row) => row,
            None => self.i32(0)?,
        };
        Ok([self.i32(at.element)?, row, self.i8(at.column)?])
    }

    fn check_stage(&self, is_meant: impl Fn(&Stage) -> bool, what: &str) -> Result<()> {
        let stage = self.interface.stage;
        match is_meant(&stage) {
            true => Ok(()),
            false => refused(alloc::format!("{} shaders have no {what}", stage.prefix())),
        }
    }

    /// Emits the outputs of a geometry shader as a vertex of a stream.
    ///
    /// # Errors
    /// If this is no geometry shader.
    pub fn emit_vertex(&mut self, stream: u8) -> Result<()> {
        self.stream_operation("EmitStream", stream)
    }

    /// Ends the strip of primitives of a geometry shader's stream.
    ///
    /// # Errors
    /// If this is no geometry shader.
    pub fn end_strip(&mut self, stream: u8) -> Result<()> {
        self.stream_operation("CutStream", stream)
    }

    fn stream_operation(&mut self, name: &str, stream: u8) -> Result<()> {
        self.check_stage(|stage| matches!(stage, Stage::Geometry { .. }), "streams")?;
        let outputs = self.interface.signature(Direction::Output);
        if !outputs.iter().any(|placed| placed.element.stream == u32::from(stream)) {
            return refused("the stream has no outputs");
        }
        let stream = self.i8(stream)?;
        self.operation(name, &[stream]).map(drop)
    }

    /// Stores a component of a patch constant, in the function of a hull shader for them.
    ///
    /// # Errors
    /// If this is no hull shader, there is no such component, or the value has another type.
    pub fn store_patch_constant(&mut self, at: Component, value: ValueId) -> Result<()> {
        self.check_stage(|stage| matches!(stage, Stage::Hull { .. }), "patch constants to store")?;
        let ty = self.element_type(Direction::Patch, at.element)?;
        let [element, row, column] = self.component(at)?;
        self.operation_of("StorePatchConstant", ty, &[element, row, column, value]).map(drop)
    }

    /// Loads a component of a patch constant in a domain shader.
    ///
    /// # Errors
    /// If this is no domain shader, or there is no such component.
    pub fn load_patch_constant(&mut self, at: Component) -> Result<ValueId> {
        self.check_stage(|stage| matches!(stage, Stage::Domain { .. }), "patch constants to load")?;
        let ty = self.element_type(Direction::Patch, at.element)?;
        let arguments = self.component(at)?;
        self.operation_of("LoadPatchConstant", ty, &arguments)
    }

    /// Loads a component of a control point that a hull shader made, in its function for patch constants.
    ///
    /// # Errors
    /// If this is no hull shader, or there is no such component.
    pub fn load_output_point(&mut self, at: Component, point: ValueId) -> Result<ValueId> {
        self.check_stage(|stage| matches!(stage, Stage::Hull { .. }), "control points that they made")?;
        let ty = self.element_type(Direction::Output, at.element)?;
        let [element, row, column] = self.component(at)?;
        self.operation_of("LoadOutputControlPoint", ty, &[element, row, column, point])
    }

    /// Returns a component of the place in the domain: `SV_DomainLocation`.
    ///
    /// # Errors
    /// If this is no domain shader.
    pub fn domain_location(&mut self, component: u8) -> Result<ValueId> {
        self.check_stage(|stage| matches!(stage, Stage::Domain { .. }), "place in a domain")?;
        let component = self.i8(component)?;
        self.operation("DomainLocation", &[component])
    }

    /// Says how many vertices and primitives a group of a mesh shader emits.
    ///
    /// # Errors
    /// If this is no mesh shader.
    pub fn set_mesh_outputs(&mut self, vertices: ValueId, primitives: ValueId) -> Result<()> {
        self.operation("SetMeshOutputCounts", &[vertices, primitives]).map(drop)
    }

    /// Says which vertices a primitive of a mesh shader has: two of a line, three of a triangle.
    ///
    /// # Errors
    /// If this is no mesh shader, or its primitives have another number of vertices.
    pub fn set_primitive(&mut self, primitive: ValueId, vertices: &[ValueId]) -> Result<()> {
        let count = match self.interface.stage {
            Stage::Mesh { topology: MeshTopology::Line, .. } => 2,
            Stage::Mesh { topology: MeshTopology::Triangle, .. } => 3,
            _ => return refused("only mesh shaders emit primitives"),
        };
        if vertices.len() != count {
            return refused(alloc::format!("a primitive has {count} vertices"));
        }
        let word = self.integer(32)?;
        let mut arguments = alloc::vec![primitive];
        arguments.extend(self.padded(vertices, 3, word)?);
        self.operation("EmitIndices", &arguments).map(drop)
    }

    /// Stores a component of a vertex that a mesh shader emits.
    ///
    /// # Errors
    /// If this is no mesh shader, there is no such component, or the value has another type.
    pub fn store_vertex_output(&mut self, at: Component, value: ValueId, vertex: ValueId) -> Result<()> {
        let ty = self.element_type(Direction::Output, at.element)?;
        let [element, row, column] = self.component(at)?;
        self.operation_of("StoreVertexOutput", ty, &[element, row, column, value, vertex]).map(drop)
    }

    /// Stores a component of a primitive that a mesh shader emits.
    ///
    /// # Errors
    /// If this is no mesh shader, there is no such component, or the value has another type.
    pub fn store_primitive_output(
        &mut self,
        at: Component,
        value: ValueId,
        primitive: ValueId,
    ) -> Result<()> {
        let ty = self.element_type(Direction::Patch, at.element)?;
        let [element, row, column] = self.component(at)?;
        self.operation_of("StorePrimitiveOutput", ty, &[element, row, column, value, primitive]).map(drop)
    }

    /// Starts groups of mesh shaders, with what a pointer to a named struct in shared memory points to.
    ///
    /// # Errors
    /// If this is no amplification shader, or the operand is no such pointer.
    pub fn dispatch_mesh(&mut self, groups: [ValueId; 3], payload: ValueId) -> Result<()> {
        let [x, y, z] = groups;
        let ty = self.type_of(payload)?;
        self.operation_of("DispatchMesh", ty, &[x, y, z, payload]).map(drop)
    }

    /// Returns a pointer to what an amplification shader gives to a mesh shader: a named struct.
    ///
    /// # Errors
    /// If this is no mesh shader, or the type is no named struct.
    pub fn mesh_payload(&mut self, structure: TypeId) -> Result<ValueId> {
        let pointer = self.pointer(structure, 0)?;
        self.operation_of("GetMeshPayload", pointer, &[])
    }
}
