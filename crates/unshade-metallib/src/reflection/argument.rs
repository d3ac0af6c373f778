//! Arguments and return values of functions.

use super::schema::{
    Access, AddressSpace, DepthQualifier, FieldKind, Interpolation, NodeType, RoundingMode, Sampling,
};
use super::{Field, FieldValue, Node, NodeId, Reflection};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use unshade_core::{Escaped, Result};

/// An argument of a function, or a resource in an argument buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Argument<'a> {
    /// The node.
    pub id: NodeId,
    /// The type of argument: [`NodeType::BUFFER_ARG`] and so on; [`NodeType::category`] distinguishes resources from
    /// builtins.
    pub kind: NodeType,
    /// The name in the source.
    pub name: Option<&'a [u8]>,
    /// The type in the source; for buffers, the type of the elements.
    pub type_name: Option<&'a [u8]>,
    /// The index of the binding, attribute or colour.
    pub index: Option<u32>,
    /// The number of consecutive indices.
    pub index_count: Option<u32>,
    /// How it is accessed.
    pub access: Option<Access>,
    /// The address space, for buffers.
    pub address_space: Option<AddressSpace>,
    /// The size in bytes of the target of a *reference*; absent for pointers.
    pub buffer_size: Option<u32>,
    /// The size of an element in bytes.
    pub type_size: Option<u32>,
    /// The alignment of an element in bytes.
    pub type_align: Option<u32>,
    /// The layout of an element; see [`Reflection::struct_fields`].
    pub struct_type: Option<NodeId>,
    /// More about the type of an element: a node of type [`NodeType::INLINE_TYPE_INFO`].
    pub inline_type: Option<NodeId>,
    /// `[[raster_order_group(n)]]`.
    pub raster_order_group: Option<u32>,
    /// The name by which a fragment input is linked to the vertex output: `user(name)`, or `generated(mangled name)`.
    pub attribute_name: Option<&'a [u8]>,
    /// Where in a pixel it is sampled.
    pub sampling: Option<Sampling>,
    /// How it is interpolated.
    pub interpolation: Option<Interpolation>,
    /// Whether a sample mask is taken after the depth test.
    pub post_depth_coverage: bool,
    /// Whether the function ignores it.
    pub unused: bool,
    /// Whether it exists only if a function constant is set.
    pub function_constant: bool,
    /// The name of that constant, which only the metadata of the module has; see [`FunctionReflection::name_predicates`].
    ///
    /// [`FunctionReflection::name_predicates`]: super::FunctionReflection::name_predicates
    pub predicate: Option<&'a [u8]>,
    /// The fields of a control point.
    pub fields: Vec<Argument<'a>>,
}

/// A value returned by a function, or a member of a mesh's vertex or primitive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Return<'a> {
    /// The node.
    pub id: NodeId,
    /// The type of value: [`NodeType::RENDER_TARGET_RET`] and so on.
    pub kind: NodeType,
    /// The name in the source.
    pub name: Option<&'a [u8]>,
    /// The type in the source.
    pub type_name: Option<&'a [u8]>,
    /// The index of a colour, or the location.
    pub index: Option<u32>,
    /// `index(n)` of a colour, for dual-source blending.
    pub blend_index: Option<u32>,
    /// `[[raster_order_group(n)]]`.
    pub raster_order_group: Option<u32>,
    /// How a colour is rounded.
    pub rounding: Option<RoundingMode>,
    /// The relation of a depth to the interpolated depth.
    pub depth: Option<DepthQualifier>,
    /// The name by which the next stage finds it: `user(name)`, or `generated(mangled name)`.
    pub attribute_name: Option<&'a [u8]>,
    /// The number of clip distances.
    pub array_size: Option<u32>,
    /// The layout of an imageblock's data; see [`Reflection::struct_fields`].
    pub struct_type: Option<NodeId>,
    /// Whether a position is invariant across passes.
    pub invariant: bool,
    /// Whether all views of a vertex amplification share it.
    pub shared: bool,
    /// Whether it exists only if a function constant is set.
    pub function_constant: bool,
    /// The name of that constant, which only the metadata of the module has; see [`FunctionReflection::name_predicates`].
    ///
    /// [`FunctionReflection::name_predicates`]: super::FunctionReflection::name_predicates
    pub predicate: Option<&'a [u8]>,
}

impl<'a> Argument<'a> {
    /// Decodes an argument. For a node of another type, only the type is set.
    pub(super) fn read(reflection: &Reflection<'a>, node: &Node<'a>) -> Result<Self> {
        let mut argument = Self::read_flat(node)?;
        if let Some(FieldValue::Nodes(ids)) = node.get("fields")? {
            argument.fields = reflection.collect(ids, |_, node| Self::read_flat(node))?;
        }
        Ok(argument)
    }

    /// Decodes an argument without the fields of a control point, so that a hostile file cannot nest them.
    fn read_flat(node: &Node<'a>) -> Result<Self> {
        let mut argument = Self {
            id: node.id(),
            kind: node.kind(),
            name: None,
            type_name: None,
            index: None,
            index_count: None,
            access: None,
            address_space: None,
            buffer_size: None,
            type_size: None,
            type_align: None,
            struct_type: None,
            inline_type: None,
            raster_order_group: None,
            attribute_name: None,
            sampling: None,
            interpolation: None,
            post_depth_coverage: false,
            unused: false,
            function_constant: false,
            predicate: None,
            fields: Vec::new(),
        };
        for slot in node.kind().schema().map_or(&[][..], |schema| schema.table.slots) {
            if slot.default != 0 && matches!(slot.kind, FieldKind::Enum(_)) {
                argument.set_enum(slot.name, slot.default);
            }
        }
        for field in node.fields() {
            let Field { name, value, .. } = field?;
            match (name, value) {
                ("name", FieldValue::Text(text)) => argument.name = Some(text),
                ("type_name", FieldValue::Text(text)) => argument.type_name = Some(text),
                ("attribute_name", FieldValue::Text(text)) => argument.attribute_name = Some(text),
                ("location_index" | "location" | "render_target_index", FieldValue::Number(number)) => {
                    argument.index = Some(number);
                }
                ("location_count", FieldValue::Number(number)) => argument.index_count = Some(number),
                ("buffer_size" | "data_size", FieldValue::Number(size)) => argument.buffer_size = Some(size),
                ("type_size", FieldValue::Number(size)) => argument.type_size = Some(size),
                ("type_align", FieldValue::Number(align)) => argument.type_align = Some(align),
                ("raster_order_group", FieldValue::Number(group)) => {
                    argument.raster_order_group = Some(group);
                }
                ("struct_type_info", FieldValue::Node(id)) => argument.struct_type = Some(id),
                ("inline_type_info" | "mesh_type_info", FieldValue::Node(id)) => {
                    argument.inline_type = Some(id);
                }
                ("post_depth_coverage", FieldValue::Bool(flag)) => argument.post_depth_coverage = flag,
                ("unused", FieldValue::Bool(flag)) => argument.unused = flag,
                ("function_constant", FieldValue::Bool(flag)) => argument.function_constant = flag,
                (name, FieldValue::Enum(_, raw)) => argument.set_enum(name, raw),
                _ => {}
            }
        }
        Ok(argument)
    }

    fn set_enum(&mut self, name: &str, raw: u8) {
        match name {
            "access_qualifier" => self.access = Some(Access(raw)),
            "address_space" => self.address_space = Some(AddressSpace(raw)),
            "sampling_qualifier" => self.sampling = Some(Sampling(raw)),
            "interpolation_qualifier" => self.interpolation = Some(Interpolation(raw)),
            _ => {}
        }
    }

    /// Returns whether it is a buffer, including argument buffers.
    pub fn is_buffer(&self) -> bool {
        matches!(self.kind, NodeType::BUFFER_ARG | NodeType::INDIRECT_BUFFER_ARG)
    }

    /// Returns the attribute in Metal source, without its brackets, such as `buffer(0)`, `thread_position_in_grid` or
    /// `user(locn1), flat`; empty if there is none. Names from the file are escaped.
    pub fn attribute(&self) -> String {
        let spelling = match (self.kind, self.address_space) {
            // Threadgroup memory has separate indices, and the payload of an object function has none.
            (NodeType::BUFFER_ARG, Some(AddressSpace::THREADGROUP)) => "threadgroup(@)",
            (NodeType::BUFFER_ARG, Some(AddressSpace::OBJECT_DATA)) => "payload",
            (kind, _) => kind.schema().map_or("", |schema| schema.spelling),
        };
        let mut attribute = indexed(spelling, self.index);
        append(&mut attribute, user_attribute(self.attribute_name));
        append(&mut attribute, self.interpolation_attribute());
        if self.post_depth_coverage {
            append(&mut attribute, "post_depth_coverage");
        }
        if let Some(group) = self.raster_order_group {
            append(&mut attribute, format!("raster_order_group({group})"));
        }
        append(&mut attribute, predicate_attribute(self.predicate));
        attribute
    }

    /// Returns the interpolation attribute of a fragment input; empty if it is the default.
    fn interpolation_attribute(&self) -> &'static str {
        let default = match self.kind {
            NodeType::POSITION_ARG => (Sampling::CENTER, Interpolation::NO_PERSPECTIVE),
            _ => (Sampling::CENTER, Interpolation::PERSPECTIVE),
        };
        let (Some(sampling), Some(interpolation)) = (self.sampling, self.interpolation) else {
            return if self.interpolation == Some(Interpolation::FLAT) { "flat" } else { "" };
        };
        match (sampling, interpolation) {
            pair if pair == default => "",
            (_, Interpolation::FLAT) => "flat",
            (Sampling::CENTER, Interpolation::PERSPECTIVE) => "center_perspective",
            (Sampling::CENTER, Interpolation::NO_PERSPECTIVE) => "center_no_perspective",
            (Sampling::CENTROID, Interpolation::PERSPECTIVE) => "centroid_perspective",
            (Sampling::CENTROID, Interpolation::NO_PERSPECTIVE) => "centroid_no_perspective",
            (Sampling::SAMPLE, Interpolation::PERSPECTIVE) => "sample_perspective",
            (Sampling::SAMPLE, Interpolation::NO_PERSPECTIVE) => "sample_no_perspective",
            // The other combinations are expressed by the type: `interpolant<…>`, `vertex_value<…>`.
            _ => "",
        }
    }
}

impl<'a> Return<'a> {
    pub(super) fn read(_: &Reflection<'a>, node: &Node<'a>) -> Result<Self> {
        let mut value = Self {
            id: node.id(),
            kind: node.kind(),
            name: None,
            type_name: None,
            index: None,
            blend_index: None,
            raster_order_group: None,
            rounding: None,
            depth: None,
            attribute_name: None,
            array_size: None,
            struct_type: None,
            invariant: false,
            shared: false,
            function_constant: false,
            predicate: None,
        };
        for field in node.fields() {
            let field = field?;
            match (field.name, field.value) {
                ("name", FieldValue::Text(text)) => value.name = Some(text),
                ("type_name", FieldValue::Text(text)) => value.type_name = Some(text),
                ("attribute_name", FieldValue::Text(text)) => value.attribute_name = Some(text),
                ("render_target_index" | "location" | "id", FieldValue::Number(number)) => {
                    value.index = Some(number);
                }
                ("blend_source_index", FieldValue::Number(number)) => value.blend_index = Some(number),
                ("raster_order_group", FieldValue::Number(group)) => value.raster_order_group = Some(group),
                ("array_size", FieldValue::Number(size)) => value.array_size = Some(size),
                ("rounding_mode", FieldValue::Enum(_, raw)) => value.rounding = Some(RoundingMode(raw)),
                ("depth_qualifier", FieldValue::Enum(_, raw)) => value.depth = Some(DepthQualifier(raw)),
                ("struct_type_info", FieldValue::Node(id)) => value.struct_type = Some(id),
                ("invariant", FieldValue::Bool(flag)) => value.invariant = flag,
                ("shared", FieldValue::Bool(flag)) => value.shared = flag,
                ("function_constant", FieldValue::Bool(flag)) => value.function_constant = flag,
                _ => {}
            }
        }
        Ok(value)
    }

    /// Returns the attribute in Metal source, without its brackets, such as `color(0)` or `position, invariant`; empty
    /// if there is none. Names from the file are escaped.
    pub fn attribute(&self) -> String {
        let mut attribute = indexed(self.kind.schema().map_or("", |schema| schema.spelling), self.index);
        if self.kind == NodeType::DEPTH_RET {
            let depth = self.depth.filter(|&depth| depth != DepthQualifier::INVALID);
            attribute = format!("depth({})", depth.unwrap_or(DepthQualifier::ANY));
        }
        append(&mut attribute, user_attribute(self.attribute_name));
        if let Some(index) = self.blend_index.filter(|&index| index != 0) {
            append(&mut attribute, format!("index({index})"));
        }
        if let Some(group) = self.raster_order_group {
            append(&mut attribute, format!("raster_order_group({group})"));
        }
        if self.invariant {
            append(&mut attribute, "invariant");
        }
        if self.shared {
            append(&mut attribute, "shared");
        }
        append(&mut attribute, predicate_attribute(self.predicate));
        attribute
    }
}

/// Returns a spelling with its `@` replaced by the index; 0 if there is no index.
fn indexed(spelling: &str, index: Option<u32>) -> String {
    let mut out = String::new();
    match spelling.split_once('@') {
        Some((head, tail)) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{head}{}{tail}", index.unwrap_or(0));
        }
        None => out.push_str(spelling),
    }
    out
}

/// Appends an attribute to a comma-separated list.
fn append(list: &mut String, attribute: impl AsRef<str>) {
    let attribute = attribute.as_ref();
    if !list.is_empty() && !attribute.is_empty() {
        list.push_str(", ");
    }
    list.push_str(attribute);
}

/// Returns the attribute that links stages, unless the compiler generated its name.
fn user_attribute(name: Option<&[u8]>) -> String {
    match name {
        Some(name) if !name.starts_with(b"generated(") => Escaped(name).to_cow().into_owned(),
        _ => String::new(),
    }
}

/// Returns the attribute that names the function constant of an argument or value.
fn predicate_attribute(name: Option<&[u8]>) -> String {
    name.map_or(String::new(), |name| format!("function_constant({})", Escaped(name)))
}
