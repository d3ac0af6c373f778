//! Typed access to functions: arguments, return values and attributes.

use super::argument::{Argument, Return};
use super::schema::{NodeType, PatchKind, PrimitiveKind, Topology};
use super::{Field, FieldValue, Node, NodeId, NodeIds, NodeList, Record, Records, Reflection, type_name};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// Maximum number of arguments, return values, members or constants in one list. Metal allows fewer than 300 arguments
/// of all kinds. Without a limit, a list of node numbers, four bytes each, could become sixty times as large in memory.
pub const MAX_LIST: usize = 4_096;

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionReflection<'a> {
    /// The node.
    pub id: NodeId,
    /// The type of function: [`NodeType::KERNEL_FUNCTION`] and so on.
    pub kind: NodeType,
    /// The name, as in the function list of the library. Not necessarily UTF-8.
    pub name: &'a [u8],
    /// The arguments, in order of declaration. The members of a `[[stage_in]]` structure are separate arguments.
    pub arguments: Vec<Argument<'a>>,
    /// The return values. The members of a returned structure are separate values.
    pub returns: Vec<Return<'a>>,
    /// All function constants of the reflection; in executable libraries, these are the constants of this function.
    pub function_constants: Vec<FunctionConstant<'a>>,
    /// `[[max_total_threads_per_threadgroup(n)]]`.
    pub max_total_threads: Option<u32>,
    /// `[[required_threads_per_threadgroup(x, y, z)]]`.
    pub required_threads: Option<[u32; 3]>,
    /// The threadgroup size hint in the source.
    pub threads_hint: Option<[u32; 3]>,
    /// The vector type hint in the source: the type of most computations.
    pub vector_type_hint: Option<&'a [u8]>,
    /// `[[max_total_threadgroups_per_mesh_grid(n)]]`, of object functions.
    pub max_mesh_threadgroups: Option<u32>,
    /// `[[patch(…)]]`, of post-tessellation vertex functions.
    pub patch: Option<Patch>,
    /// `[[early_fragment_tests]]`, of fragment functions.
    pub early_fragment_tests: bool,
    /// The requirements of an intersection function.
    pub intersection: Option<IntersectionTraits>,
    /// The mesh that a mesh function writes.
    pub mesh: Option<MeshInfo<'a>>,
    /// The types of a visible function, if it is stitchable.
    pub stitching: Option<Stitching<'a>>,
    /// `[[user_annotation("…")]]`.
    pub annotation: Option<&'a [u8]>,
}

/// The patches of a post-tessellation vertex function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Triangles or quadrilaterals.
    pub kind: PatchKind,
    /// The number of control points per patch, if it is fixed.
    pub control_points: Option<u32>,
}

/// The requirements of an intersection function on the acceleration structure and the intersector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntersectionTraits {
    /// The type of primitive.
    pub primitive: PrimitiveKind,
    /// The tags as in Metal source, such as `instancing` and `world_space_data`.
    pub tags: Vec<&'static str>,
    /// The number of instancing levels; 0 without `max_levels`.
    pub max_levels: u32,
}

/// The mesh that a mesh function writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshInfo<'a> {
    /// The members of a vertex.
    pub vertex: Vec<Return<'a>>,
    /// The members of a primitive.
    pub primitive: Vec<Return<'a>>,
    /// The maximum number of vertices.
    pub max_vertices: u32,
    /// The maximum number of primitives.
    pub max_primitives: u32,
    /// Points, lines or triangles.
    pub topology: Topology,
}

/// The types of a stitchable function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stitching<'a> {
    /// The return type, as in Metal source.
    pub return_type: String,
    /// The arguments.
    pub arguments: Vec<StitchedArgument<'a>>,
}

/// An argument of a stitchable function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StitchedArgument<'a> {
    /// The type, as in Metal source.
    pub type_name: String,
    /// The name.
    pub name: Option<&'a [u8]>,
}

/// A function constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionConstant<'a> {
    /// The node.
    pub id: NodeId,
    /// The name.
    pub name: &'a [u8],
    /// The type.
    pub type_name: &'a [u8],
    /// The index.
    pub index: u32,
    /// Whether the application must provide a value.
    pub required: bool,
}

/// A resource that functions use without taking it as an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalBinding<'a> {
    /// The name of the variable.
    pub name: &'a [u8],
    /// The resource.
    pub argument: Option<Argument<'a>>,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StructField<'a> {
    /// The name.
    pub name: Option<&'a [u8]>,
    /// The type.
    pub type_name: Option<&'a [u8]>,
    /// The offset in the structure, in bytes.
    pub offset: u32,
    /// The size in bytes; for an array, the size of an element.
    pub size: u32,
    /// The number of array elements; 0 if it is not an array.
    pub array_entries: u32,
    /// The name of its attribute.
    pub attribute_name: Option<&'a [u8]>,
    /// The layout of its type, if that is a structure.
    pub struct_type: Option<NodeId>,
    /// The resource that the member of an argument buffer refers to.
    pub indirect_argument: Option<NodeId>,
    /// `[[id(n)]]`, in an argument buffer.
    pub indirect_index: Option<u32>,
    /// `[[raster_order_group(n)]]`, in an imageblock.
    pub raster_order_group: Option<u32>,
    /// `[[color(n)]]`, in an imageblock.
    pub render_target_index: Option<u32>,
    /// More about its type: a node of type [`NodeType::INLINE_TYPE_INFO`].
    pub inline_type: Option<NodeId>,
}

impl<'a> Reflection<'a> {
    /// Returns an iterator over the functions.
    pub fn functions(&self) -> Functions<'a> {
        Functions { reflection: *self, list: 0, index: 0, budget: self.payload.len() }
    }

    /// Returns the function with this name in the function list of the library.
    ///
    /// # Errors
    /// If a list or the function is malformed.
    pub fn function(&self, name: &[u8]) -> Result<Option<FunctionReflection<'a>>> {
        for list in NodeList::FUNCTIONS {
            for id in self.list(list)?.iter() {
                let node = self.node(id)?;
                if matches!(node.get("name")?, Some(FieldValue::Text(text)) if text == name) {
                    return FunctionReflection::read(self, &node).map(Some);
                }
            }
        }
        Ok(None)
    }

    /// Returns the function constants.
    ///
    /// # Errors
    /// If a constant is malformed, or there are more than [`MAX_LIST`].
    pub fn function_constants(&self) -> Result<Vec<FunctionConstant<'a>>> {
        self.collect(self.list(NodeList::FunctionConstants)?, FunctionConstant::read)
    }

    /// Returns the resources that functions use without taking them as arguments.
    ///
    /// # Errors
    /// If a binding is malformed, or there are more than [`MAX_LIST`].
    pub fn global_bindings(&self) -> Result<Vec<GlobalBinding<'a>>> {
        self.collect(self.list(NodeList::GlobalBindings)?, GlobalBinding::read)
    }

    /// Returns the names of the visible functions that functions refer to.
    ///
    /// # Errors
    /// If a reference is malformed, or there are more than [`MAX_LIST`].
    pub fn visible_function_references(&self) -> Result<Vec<&'a [u8]>> {
        self.collect(self.list(NodeList::VisibleFunctionReferences)?, |_, node| {
            Ok(text(node.get("function_name")?).unwrap_or_default())
        })
    }

    /// Returns the resource or argument that a node describes, such as [`StructField::indirect_argument`].
    ///
    /// # Errors
    /// If the node is malformed.
    pub fn argument(&self, id: NodeId) -> Result<Argument<'a>> {
        Argument::read(self, &self.node(id)?)
    }

    /// Returns the members of a structure, sorted by offset. A member that is itself a structure refers to another
    /// node; in a hostile file these references may form a cycle.
    ///
    /// # Errors
    /// If the node is malformed. The items are errors if a member is malformed.
    pub fn struct_fields(
        &self,
        id: NodeId,
    ) -> Result<impl Iterator<Item = Result<StructField<'a>>> + use<'a>> {
        let fields: Option<Records<'a>> = match self.node(id)?.get("fields")? {
            Some(FieldValue::Tables(fields)) => Some(fields),
            _ => None,
        };
        Ok(fields.into_iter().flat_map(|fields| fields.iter()).map(|record| StructField::read(&record?)))
    }

    /// Decodes every node of a list.
    pub(super) fn collect<T>(
        &self,
        ids: NodeIds<'a>,
        read: impl Fn(&Self, &Node<'a>) -> Result<T>,
    ) -> Result<Vec<T>> {
        if ids.len() > MAX_LIST {
            return Err(Error::new(ErrorKind::Limit, self.base, "too many nodes in one list")
                .expected(format!("at most {MAX_LIST}"))
                .found(format!("{}", ids.len()))
                .within("reflection"));
        }
        ids.iter().map(|id| read(self, &self.node(id)?)).collect()
    }
}

/// An iterator over the functions of a reflection. Ends with an error if their lists have more entries in total than
/// the payload has bytes, which is only possible in a hostile file.
#[derive(Clone, Debug)]
pub struct Functions<'a> {
    reflection: Reflection<'a>,
    list: usize,
    index: usize,
    budget: usize,
}

impl<'a> Iterator for Functions<'a> {
    type Item = Result<FunctionReflection<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(list) = NodeList::FUNCTIONS.get(self.list) {
            let id = match self.reflection.list(*list) {
                Ok(ids) => ids.get(self.index),
                Err(error) => {
                    self.list = self.list.saturating_add(1);
                    return Some(Err(error));
                }
            };
            let Some(id) = id else {
                self.list = self.list.saturating_add(1);
                self.index = 0;
                continue;
            };
            self.index = self.index.saturating_add(1);
            let function =
                self.reflection.node(id).and_then(|node| FunctionReflection::read(&self.reflection, &node));
            let cost = function.as_ref().map_or(1, FunctionReflection::entries);
            let Some(left) = self.budget.checked_sub(cost) else {
                self.list = NodeList::FUNCTIONS.len();
                return Some(Err(Error::new(
                    ErrorKind::Limit,
                    self.reflection.base,
                    "functions have more arguments than the reflection has bytes",
                )));
            };
            self.budget = left;
            return Some(function);
        }
        None
    }
}

impl<'a> FunctionReflection<'a> {
    /// Decodes the function in a node.
    ///
    /// # Errors
    /// If the node, or one that it refers to, is malformed, or a list has more than [`MAX_LIST`] entries.
    pub fn of(reflection: &Reflection<'a>, id: NodeId) -> Result<Self> {
        Self::read(reflection, &reflection.node(id)?)
    }

    /// Sets the names of the function constants that arguments and results depend on, by their nodes.
    pub fn name_predicates(&mut self, name_of: impl Fn(NodeId) -> Option<&'a [u8]>) {
        for argument in &mut self.arguments {
            argument.predicate = name_of(argument.id);
            for field in &mut argument.fields {
                field.predicate = name_of(field.id);
            }
        }
        let mesh = self.mesh.iter_mut().flat_map(|mesh| mesh.vertex.iter_mut().chain(&mut mesh.primitive));
        for value in self.returns.iter_mut().chain(mesh) {
            value.predicate = name_of(value.id);
        }
    }

    /// Returns whether an argument or result depends on a function constant.
    pub fn has_predicates(&self) -> bool {
        let mesh = self.mesh.iter().flat_map(|mesh| mesh.vertex.iter().chain(&mesh.primitive));
        let mut arguments =
            self.arguments.iter().flat_map(|argument| core::iter::once(argument).chain(&argument.fields));
        arguments.any(|argument| argument.function_constant)
            || self.returns.iter().chain(mesh).any(|value| value.function_constant)
    }

    /// Decodes a function's node.
    fn read(reflection: &Reflection<'a>, node: &Node<'a>) -> Result<Self> {
        let mut function = Self {
            id: node.id(),
            kind: node.kind(),
            name: &[],
            arguments: Vec::new(),
            returns: Vec::new(),
            function_constants: reflection.function_constants()?,
            max_total_threads: None,
            required_threads: None,
            threads_hint: None,
            vector_type_hint: None,
            max_mesh_threadgroups: None,
            patch: None,
            early_fragment_tests: false,
            intersection: None,
            mesh: None,
            stitching: None,
            annotation: None,
        };
        let mut intersection =
            IntersectionTraits { primitive: PrimitiveKind::TRIANGLE, tags: Vec::new(), max_levels: 0 };
        for field in node.fields() {
            let Field { name, value, .. } = field?;
            match (name, value) {
                ("name", FieldValue::Text(text)) => function.name = text,
                ("arguments", FieldValue::Nodes(ids)) => {
                    function.arguments = reflection.collect(ids, Argument::read)?;
                }
                ("return_types", FieldValue::Nodes(ids)) => {
                    function.returns = reflection.collect(ids, Return::read)?;
                }
                ("early_fragment_tests", FieldValue::Bool(flag)) => function.early_fragment_tests = flag,
                ("primitive_kind", FieldValue::Enum(_, raw)) => intersection.primitive = PrimitiveKind(raw),
                ("multi_level_instancing", FieldValue::Number(levels)) => intersection.max_levels = levels,
                ("stitching_info", FieldValue::Table(record)) => {
                    function.stitching = Some(Stitching::read(reflection, &record)?);
                }
                (tag, FieldValue::Bool(true)) => intersection.tags.push(tag),
                (_, FieldValue::Node(id)) => function.read_attribute(&reflection.node(id)?)?,
                _ => {}
            }
        }
        if function.kind == NodeType::INTERSECTION_FUNCTION {
            function.intersection = Some(intersection);
        }
        if function.kind == NodeType::MESH_FUNCTION {
            function.mesh = MeshInfo::read(reflection, &function.arguments)?;
        }
        Ok(function)
    }

    /// Decodes an attribute of the function. Each has its own node type, so it does not matter which slot refers to
    /// it.
    fn read_attribute(&mut self, node: &Node<'a>) -> Result<()> {
        let number = |name| -> Result<Option<u32>> {
            Ok(match node.get(name)? {
                Some(FieldValue::Number(number)) => Some(number),
                _ => None,
            })
        };
        // A missing extent is 1, as in source.
        let extents = || -> Result<Option<[u32; 3]>> {
            let extent = |name| Ok::<_, Error>(number(name)?.unwrap_or(1));
            Ok(Some([extent("width")?, extent("height")?, extent("depth")?]))
        };
        match node.kind() {
            NodeType::WORKGROUP_MAX_SIZE_FN_ATTR => self.max_total_threads = number("size")?,
            NodeType::WORKGROUP_SIZE_FN_ATTR => self.required_threads = extents()?,
            NodeType::WORKGROUP_SIZE_HINT_FN_ATTR => self.threads_hint = extents()?,
            NodeType::MAX_MESH_WORKGROUPS_FN_ATTR => self.max_mesh_threadgroups = number("workgroups")?,
            NodeType::VEC_TYPE_HINT_FN_ATTR => self.vector_type_hint = text(node.get("type_name")?),
            NodeType::USER_ANNOTATION_FN_ATTR => self.annotation = text(node.get("annotation")?),
            NodeType::PATCH_FN_ATTR => {
                let kind = match node.get("kind")? {
                    Some(FieldValue::Enum(_, raw)) => PatchKind(raw),
                    _ => PatchKind::TRIANGLE,
                };
                self.patch = Some(Patch { kind, control_points: number("control_points")? });
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns how many list entries were decoded for this function.
    fn entries(&self) -> usize {
        let mesh =
            self.mesh.as_ref().map_or(0, |mesh| mesh.vertex.len().saturating_add(mesh.primitive.len()));
        let stitched = self.stitching.as_ref().map_or(0, |stitching| stitching.arguments.len());
        let fields = self.arguments.iter().map(|argument| argument.fields.len()).sum();
        [1, self.arguments.len(), fields, self.returns.len(), self.function_constants.len(), mesh, stitched]
            .into_iter()
            .fold(0, usize::saturating_add)
    }
}

impl<'a> FunctionConstant<'a> {
    fn read(_: &Reflection<'a>, node: &Node<'a>) -> Result<Self> {
        let mut constant = Self { id: node.id(), name: &[], type_name: &[], index: 0, required: false };
        for field in node.fields() {
            let field = field?;
            match (field.name, field.value) {
                ("name", FieldValue::Text(text)) => constant.name = text,
                ("type_name", FieldValue::Text(text)) => constant.type_name = text,
                ("index", FieldValue::Number(index)) => constant.index = index,
                ("required", FieldValue::Bool(flag)) => constant.required = flag,
                _ => {}
            }
        }
        Ok(constant)
    }
}

impl<'a> GlobalBinding<'a> {
    fn read(reflection: &Reflection<'a>, node: &Node<'a>) -> Result<Self> {
        let argument = match node.get("argument")? {
            Some(FieldValue::Node(id)) => Some(reflection.argument(id)?),
            _ => None,
        };
        Ok(Self { name: text(node.get("name")?).unwrap_or_default(), argument })
    }
}

impl<'a> StructField<'a> {
    fn read(record: &Record<'a>) -> Result<Self> {
        let mut member = Self {
            name: None,
            type_name: None,
            offset: 0,
            size: 0,
            array_entries: 0,
            attribute_name: None,
            struct_type: None,
            indirect_argument: None,
            indirect_index: None,
            raster_order_group: None,
            render_target_index: None,
            inline_type: None,
        };
        for field in record.fields() {
            let field = field?;
            match (field.name, field.value) {
                ("field_name", FieldValue::Text(text)) => member.name = Some(text),
                ("type_name", FieldValue::Text(text)) => member.type_name = Some(text),
                ("attribute_name", FieldValue::Text(text)) => member.attribute_name = Some(text),
                ("offset", FieldValue::Number(number)) => member.offset = number,
                ("size", FieldValue::Number(number)) => member.size = number,
                ("array_entries", FieldValue::Number(number)) => member.array_entries = number,
                ("struct_type_info", FieldValue::Node(id)) => member.struct_type = Some(id),
                ("indirect_argument", FieldValue::Node(id)) => member.indirect_argument = Some(id),
                ("inline_type_info", FieldValue::Node(id)) => member.inline_type = Some(id),
                ("indirect_location", FieldValue::Number(number)) => member.indirect_index = Some(number),
                ("raster_order_group", FieldValue::Number(number)) => {
                    member.raster_order_group = Some(number);
                }
                ("render_target_index", FieldValue::Number(number)) => {
                    member.render_target_index = Some(number);
                }
                _ => {}
            }
        }
        Ok(member)
    }
}

impl<'a> MeshInfo<'a> {
    /// Decodes the mesh of the mesh argument.
    fn read(reflection: &Reflection<'a>, arguments: &[Argument<'a>]) -> Result<Option<Self>> {
        let mesh = arguments.iter().find(|argument| argument.kind == NodeType::MESH_ARG);
        let Some(id) = mesh.and_then(|mesh| mesh.inline_type) else { return Ok(None) };
        let mut info = Self {
            vertex: Vec::new(),
            primitive: Vec::new(),
            max_vertices: 0,
            max_primitives: 0,
            topology: Topology::POINT,
        };
        for field in reflection.node(id)?.fields() {
            let field = field?;
            match (field.name, field.value) {
                ("vertex_types", FieldValue::Nodes(ids)) => {
                    info.vertex = reflection.collect(ids, Return::read)?;
                }
                ("primitive_types", FieldValue::Nodes(ids)) => {
                    info.primitive = reflection.collect(ids, Return::read)?;
                }
                ("max_vertices", FieldValue::Number(number)) => info.max_vertices = number,
                ("max_primitives", FieldValue::Number(number)) => info.max_primitives = number,
                ("topology", FieldValue::Enum(_, raw)) => info.topology = Topology(raw),
                _ => {}
            }
        }
        Ok(Some(info))
    }
}

impl<'a> Stitching<'a> {
    fn read(reflection: &Reflection<'a>, record: &Record<'a>) -> Result<Self> {
        let return_type = match record.get("return_type")? {
            Some(FieldValue::Node(id)) => type_name::spell(reflection, id)?,
            _ => String::from("void"),
        };
        let arguments = match record.get("arguments")? {
            Some(FieldValue::Nodes(ids)) => reflection.collect(ids, StitchedArgument::read)?,
            _ => Vec::new(),
        };
        Ok(Self { return_type, arguments })
    }
}

impl<'a> StitchedArgument<'a> {
    fn read(reflection: &Reflection<'a>, node: &Node<'a>) -> Result<Self> {
        let type_name = match node.get("type")? {
            Some(FieldValue::Node(id)) => type_name::spell(reflection, id)?,
            _ => String::new(),
        };
        Ok(Self { type_name, name: text(node.get("name")?) })
    }
}

/// Returns the text of a text field.
fn text(value: Option<FieldValue<'_>>) -> Option<&[u8]> {
    match value {
        Some(FieldValue::Text(text)) => Some(text),
        _ => None,
    }
}
