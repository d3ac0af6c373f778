//! The reflection of a library's functions: their arguments, return values and attributes.
//!
//! Since container version 1.2.7, Apple's linker writes one *reflection buffer* per function of an executable library
//! (or one shared by all functions of a dynamic library) to the reflection list. A buffer is a flatbuffer with the
//! identifier `AIRR`: a list of typed *nodes* that refer to each other by number, and lists of the nodes that are
//! functions. It has everything that a pipeline needs to know about a function without compiling it.
//!
//! | module | contents |
//! |---|---|
//! | [`flatbuffer`] | a checked parser of tables, vtables, vectors and strings |
//! | [`schema`] | node types and their slots, as data |
//! | this module | [`Reflection`]: nodes, decoded on demand |
//! | | [`FunctionReflection`]: a function with typed arguments |
//! | | [`print_signature`]: the function as declared in Metal source |
//! | | [`Reflection::outline`]: the meaning of every byte |
//! | [`tables`] | an owned reflection that can be changed and written |
//!
//! ```
//! use unshade_metallib::reflection::{NodeList, Reflection, schema::Version};
//!
//! // The reflection of a dynamic library: just a version. The flatbuffer starts at a multiple of 16.
//! let mut payload = vec![0; 9];
//! payload.extend_from_slice(b"\x10\0\0\0AIRR\0\0\x06\0\x10\0\x04\0\x06\0\0\0");
//! payload.extend_from_slice(b"\0\0\0\0\x04\0\0\0\0\0\0\0");
//! let reflection = Reflection::parse_at(&payload, 0x13c7)?;
//! assert_eq!(reflection.padding(), 9);
//! assert_eq!(reflection.version(), Some(Version { major: 0, minor: 4, sub_minor: 0 }));
//! assert_eq!(reflection.list(NodeList::KernelFunctions)?.len(), 0);
//! # Ok::<(), unshade_core::Error>(())
//! ```

mod argument;
mod builder;
mod check;
pub mod flatbuffer;
mod outline;
mod print;
mod rename;
pub mod schema;
mod signature;
mod structs;
pub mod tables;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
mod type_name;

pub use argument::{Argument, Return};
pub use print::print_signature;
pub use rename::renamed;
pub use signature::{
    FunctionConstant, FunctionReflection, Functions, GlobalBinding, IntersectionTraits, MAX_LIST, MeshInfo,
    Patch, StitchedArgument, Stitching, StructField,
};
pub use structs::{Layout, Layouts, Member};

use alloc::format;
use core::fmt;
use core::ops::Range;
use flatbuffer::{FlatBuffer, Table, Vector, WORD};
use schema::{Bitfield, EnumNames, FieldKind, NodeType, TableSchema, Version};
use unshade_core::outline::UNKNOWN;
use unshade_core::{Error, ErrorKind, Result};

/// Maximum number of zero bytes before the flatbuffer. Writers align to 16.
const MAX_PADDING: usize = 64;

/// The number of a node: its index in the reflection's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// The lists of nodes in the root table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeList {
    /// Fragment functions.
    FragmentFunctions,
    /// Intersection functions.
    IntersectionFunctions,
    /// Kernel functions.
    KernelFunctions,
    /// Vertex functions.
    VertexFunctions,
    /// Visible functions.
    VisibleFunctions,
    /// Mesh functions.
    MeshFunctions,
    /// Object functions.
    ObjectFunctions,
    /// Core Image functions.
    CoreImageFunctions,
    /// Function constants.
    FunctionConstants,
    /// Emulations of mesh functions, for hardware without mesh shaders.
    Emulations,
    /// Resources that functions use without taking them as arguments.
    GlobalBindings,
    /// Visible functions that functions refer to by name.
    VisibleFunctionReferences,
}

impl NodeList {
    /// The lists that contain functions.
    pub const FUNCTIONS: [NodeList; 8] = [
        NodeList::FragmentFunctions,
        NodeList::IntersectionFunctions,
        NodeList::KernelFunctions,
        NodeList::VertexFunctions,
        NodeList::VisibleFunctions,
        NodeList::MeshFunctions,
        NodeList::ObjectFunctions,
        NodeList::CoreImageFunctions,
    ];

    /// Returns the name of the root's slot.
    pub fn slot_name(self) -> &'static str {
        match self {
            NodeList::FragmentFunctions => "fragment_functions",
            NodeList::IntersectionFunctions => "intersection_functions",
            NodeList::KernelFunctions => "kernel_functions",
            NodeList::VertexFunctions => "vertex_functions",
            NodeList::VisibleFunctions => "visible_functions",
            NodeList::MeshFunctions => "mesh_functions",
            NodeList::ObjectFunctions => "object_functions",
            NodeList::CoreImageFunctions => "ci_functions",
            NodeList::FunctionConstants => "function_constants",
            NodeList::Emulations => "emulations",
            NodeList::GlobalBindings => "global_bindings",
            NodeList::VisibleFunctionReferences => "visible_function_references",
        }
    }
}

/// A reflection buffer. Nodes are decoded on demand; nothing is copied.
#[derive(Clone, Copy)]
pub struct Reflection<'a> {
    payload: &'a [u8],
    base: u64,
    padding: usize,
    root: Record<'a>,
    version: Option<Version>,
    nodes: Option<Vector<'a>>,
}

/// Prints a summary, not the data.
impl fmt::Debug for Reflection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflection")
            .field("range", &self.range())
            .field("version", &self.version)
            .field("nodes", &self.node_count())
            .finish_non_exhaustive()
    }
}

impl<'a> Reflection<'a> {
    /// Parses the payload of an `RBUF` tag.
    ///
    /// # Errors
    /// [`ErrorKind::BadMagic`] if no flatbuffer with the identifier `AIRR` follows the padding, and the errors of
    /// [`FlatBuffer::table`] and [`FlatBuffer::vector`] if its root is malformed.
    pub fn parse(payload: &'a [u8]) -> Result<Self> {
        Self::parse_at(payload, 0)
    }

    /// Parses the payload of an `RBUF` tag at offset `base` of a file.
    ///
    /// # Errors
    /// As [`Reflection::parse`].
    pub fn parse_at(payload: &'a [u8], base: u64) -> Result<Self> {
        let no_magic = || {
            Error::new(ErrorKind::BadMagic, base, "not a reflection buffer")
                .expected("zero padding, an offset and \"AIRR\"")
        };
        // The position of the identifier is unambiguous: it is preceded by padding, which is zero, and the root's
        // offset.
        let head = payload.get(..payload.len().min(MAX_PADDING.saturating_add(8))).unwrap_or_default();
        let identifier =
            head.windows(WORD).position(|window| *window == schema::IDENTIFIER).ok_or_else(no_magic)?;
        let padding = identifier.checked_sub(WORD).ok_or_else(no_magic)?;
        let (zeros, data) = payload.split_at_checked(padding).ok_or_else(no_magic)?;
        if zeros.iter().any(|&byte| byte != 0) {
            return Err(no_magic());
        }

        let buffer = FlatBuffer::new(data, base.saturating_add(padding as u64));
        let root = Record { schema: &schema::ROOT, table: buffer.root()? };
        let mut reflection = Self { payload, base, padding, root, version: None, nodes: None };
        if let Some(FieldValue::Version(version)) = root.get("version")? {
            reflection.version = Some(version);
        }
        if let Some(FieldValue::NodeTables(nodes)) = root.get("nodes")? {
            reflection.nodes = Some(nodes);
        }
        Ok(reflection)
    }

    /// Returns the number of zero bytes before the flatbuffer, which align it to 16 in the file.
    pub fn padding(&self) -> usize {
        self.padding
    }

    /// Returns the bytes of the flatbuffer, after the padding.
    pub fn flatbuffer(&self) -> &'a [u8] {
        self.payload.get(self.padding..).unwrap_or_default()
    }

    /// Returns the range of the whole payload in the file.
    pub fn range(&self) -> Range<u64> {
        self.base..self.base.saturating_add(self.payload.len() as u64)
    }

    /// Returns the flatbuffer after the padding.
    pub fn buffer(&self) -> FlatBuffer<'a> {
        self.root.table.buffer()
    }

    /// Returns the version of the schema.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// Returns the root table.
    pub fn root(&self) -> Record<'a> {
        self.root
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.map_or(0, |nodes| nodes.len())
    }

    /// Returns a node by its number.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if there is no such node, and the errors of [`FlatBuffer::table`].
    pub fn node(&self, id: NodeId) -> Result<Node<'a>> {
        match self.nodes.and_then(|nodes| nodes.position(id.0 as usize)) {
            Some(position) => Node::read(self.buffer(), id, position),
            None => Err(Error::new(ErrorKind::OutOfRange, self.buffer().base(), "no such node")
                .expected(format!("less than {}", self.node_count()))
                .found(format!("{}", id.0))
                .within("reflection")),
        }
    }

    /// Returns an iterator over all nodes, in order of their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = Result<Node<'a>>> + use<'a> {
        let buffer = self.buffer();
        let positions = self.nodes.into_iter().flat_map(|nodes| nodes.positions());
        positions.zip(0u32..).map(move |(position, id)| Node::read(buffer, NodeId(id), position))
    }

    /// Returns a list of nodes; empty if the root does not have it.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if it reaches beyond the end.
    pub fn list(&self, list: NodeList) -> Result<NodeIds<'a>> {
        match self.root.get(list.slot_name())? {
            Some(FieldValue::Nodes(ids)) => Ok(ids),
            _ => Ok(NodeIds::default()),
        }
    }

    /// Returns the blocks of threadgroup memory that functions declare: size and alignment in bytes.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if the list reaches beyond the end.
    pub fn static_local_allocations(
        &self,
    ) -> Result<impl Iterator<Item = Result<LocalAllocation>> + use<'a>> {
        let tables = match self.root.get("static_local_allocations")? {
            Some(FieldValue::Tables(tables)) => Some(tables),
            _ => None,
        };
        Ok(tables.into_iter().flat_map(|tables| tables.iter()).map(|record| {
            let record = record?;
            let number = |name| match record.get(name)? {
                Some(FieldValue::Number(number)) => Ok(number),
                _ => Ok(0),
            };
            Ok(LocalAllocation { size: number("size")?, alignment: number("alignment")? })
        }))
    }
}

/// A block of threadgroup memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalAllocation {
    /// Its size in bytes.
    pub size: u32,
    /// Its alignment in bytes.
    pub alignment: u32,
}

/// A node: a type, and usually a table of that type.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    id: NodeId,
    kind: NodeType,
    body: Option<Record<'a>>,
}

impl<'a> Node<'a> {
    /// Parses the node whose offset is stored at a position.
    fn read(buffer: FlatBuffer<'a>, id: NodeId, position: usize) -> Result<Self> {
        let within = |error: Error| error.within(format!("{id}"));
        let header = buffer.target(position).and_then(|position| buffer.table(position)).map_err(within)?;
        let kind = match header.field(0, WORD).map_err(within)? {
            Some(position) => NodeType(buffer.u32(position)?),
            None => NodeType(0),
        };
        let body = match header.field(1, WORD).map_err(within)? {
            Some(position) => {
                let table = buffer.target(position).and_then(|position| buffer.table(position));
                Some(Record { schema: table_schema(kind), table: table.map_err(within)? })
            }
            None => None,
        };
        Ok(Self { id, kind, body })
    }

    /// Returns the number of the node.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Returns the type.
    pub fn kind(&self) -> NodeType {
        self.kind
    }

    /// Returns the table; [`None`] if the node has only a type.
    pub fn body(&self) -> Option<Record<'a>> {
        self.body
    }

    /// Returns the fields that are present, in slot order.
    pub fn fields(&self) -> Fields<'a> {
        match self.body {
            Some(body) => body.fields(),
            None => Fields { record: None, slot: 0 },
        }
    }

    /// Returns a field's value by its name; [`None`] if it is absent, or the node's type has no such field.
    ///
    /// # Errors
    /// As [`Fields`].
    pub fn get(&self, name: &str) -> Result<Option<FieldValue<'a>>> {
        self.body.map_or(Ok(None), |body| body.get(name))
    }
}

/// Returns the schema of the table of a node type.
fn table_schema(kind: NodeType) -> &'static TableSchema {
    kind.schema().map_or(&schema::UNKNOWN_TABLE, |schema| &schema.table)
}

/// A table with its schema.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    schema: &'static TableSchema,
    table: Table<'a>,
}

impl<'a> Record<'a> {
    /// Returns the schema.
    pub fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// Returns the table itself.
    pub fn table(&self) -> Table<'a> {
        self.table
    }

    /// Returns the fields that are present, in slot order.
    pub fn fields(&self) -> Fields<'a> {
        Fields { record: Some(*self), slot: 0 }
    }

    /// Returns a field's value by its name; [`None`] if it is absent, or the table has no such field.
    ///
    /// # Errors
    /// As [`Fields`].
    pub fn get(&self, name: &str) -> Result<Option<FieldValue<'a>>> {
        match self.schema.slot_named(name) {
            Some(slot) => Ok(self.field(slot)?.map(|field| field.value)),
            None => Ok(None),
        }
    }

    /// Returns the field of a slot, if it is present.
    fn field(&self, slot: usize) -> Result<Option<Field<'a>>> {
        let buffer = self.table.buffer();
        let Some(known) = self.schema.slots.get(slot) else {
            let Some((position, bytes)) = self.table.extent(slot)? else { return Ok(None) };
            let range = buffer.range(position, bytes.len());
            return Ok(Some(Field {
                slot,
                name: UNKNOWN,
                value: FieldValue::Unknown(bytes),
                range,
                target: None,
            }));
        };
        let width = known.kind.width();
        let Some(position) = self.table.field(slot, width)? else { return Ok(None) };
        let (value, target) =
            FieldValue::read(buffer, known.kind, position).map_err(|error| error.within(known.name))?;
        Ok(Some(Field { slot, name: known.name, value, range: buffer.range(position, width), target }))
    }
}

/// A field of a table.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// The slot, from 0; its entry is at byte `4 + 2 × slot` of the vtable.
    pub slot: usize,
    /// The name in the schema, or [`UNKNOWN`].
    pub name: &'static str,
    /// The value.
    pub value: FieldValue<'a>,
    /// The range of the field in its table, as a file range.
    pub range: Range<u64>,
    /// The file range of the target, if the field is a reference. For tables, without the targets of their fields.
    pub target: Option<Range<u64>>,
}

/// An iterator over the present fields of a table. An item is an error if the field is not inside its table, or its
/// target is not inside the flatbuffer; the iteration continues after it.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    record: Option<Record<'a>>,
    slot: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.record?;
        while self.slot < record.table.slot_count() {
            let slot = self.slot;
            self.slot = self.slot.saturating_add(1);
            if record.table.entry(slot) != 0 {
                let field = record.field(slot).map_err(|error| error.within(record.schema.name));
                return field.transpose();
            }
        }
        None
    }
}

/// The value of a field.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FieldValue<'a> {
    /// A bool.
    Bool(bool),
    /// A number.
    Number(u32),
    /// One of an enumeration's values.
    Enum(&'static EnumNames, u8),
    /// A version.
    Version(Version),
    /// The location of a bit field.
    Bitfield(Bitfield),
    /// A node.
    Node(NodeId),
    /// A node's type.
    NodeType(NodeType),
    /// Text, without the terminating NUL. Usually UTF-8.
    Text(&'a [u8]),
    /// Nodes.
    Nodes(NodeIds<'a>),
    /// 64-bit numbers.
    Numbers(Numbers<'a>),
    /// Strings.
    Texts(Texts<'a>),
    /// A table.
    Table(Record<'a>),
    /// Tables.
    Tables(Records<'a>),
    /// The vector of all nodes, as offsets of tables.
    NodeTables(Vector<'a>),
    /// The table of a node whose type was not examined.
    NodeBody(Table<'a>),
    /// A field that the schema does not describe: the bytes up to the next field.
    Unknown(&'a [u8]),
}

impl<'a> FieldValue<'a> {
    /// Reads the field at a position. Also returns the range of its target, if it is a reference.
    fn read(buffer: FlatBuffer<'a>, kind: FieldKind, position: usize) -> Result<(Self, Option<Range<u64>>)> {
        let vector = |size: usize| {
            let at = buffer.target(position)?;
            let vector = buffer.vector(at, size)?;
            let target = buffer.range(at, vector.elements().len().saturating_add(WORD));
            Ok::<_, Error>((vector, Some(target)))
        };
        let table = || {
            let table = buffer.table(buffer.target(position)?)?;
            Ok::<_, Error>((table, Some(buffer.range(table.position(), table.inline_size()))))
        };
        let words = || {
            let word = |index: usize| buffer.u32(position.saturating_add(index.saturating_mul(WORD)));
            Ok::<_, Error>([word(0)?, word(1)?, word(2)?])
        };
        let value = match kind {
            FieldKind::Bool | FieldKind::BoolValue => FieldValue::Bool(buffer.u8(position)? != 0),
            FieldKind::U32 | FieldKind::UIntValue => FieldValue::Number(buffer.u32(position)?),
            FieldKind::Enum(names) => FieldValue::Enum(names, buffer.u8(position)?),
            FieldKind::NodeId => FieldValue::Node(NodeId(buffer.u32(position)?)),
            FieldKind::NodeType => FieldValue::NodeType(NodeType(buffer.u32(position)?)),
            FieldKind::Version => {
                let [major, minor, sub_minor] = words()?;
                FieldValue::Version(Version { major, minor, sub_minor })
            }
            FieldKind::Bitfield => {
                let [bit_offset, bit_size, storage_size] = words()?;
                FieldValue::Bitfield(Bitfield { bit_offset, bit_size, storage_size })
            }
            FieldKind::Text => {
                let at = buffer.target(position)?;
                let text = buffer.string(at)?;
                let range = buffer.range(at, text.len().saturating_add(WORD).saturating_add(1));
                return Ok((FieldValue::Text(text), Some(range)));
            }
            FieldKind::NodeIds => {
                let (vector, range) = vector(WORD)?;
                return Ok((FieldValue::Nodes(NodeIds(vector.elements())), range));
            }
            FieldKind::Numbers => {
                let (vector, range) = vector(8)?;
                return Ok((FieldValue::Numbers(Numbers(vector.elements())), range));
            }
            FieldKind::Texts => {
                let (vector, range) = vector(WORD)?;
                return Ok((FieldValue::Texts(Texts(vector)), range));
            }
            FieldKind::Tables(schema) => {
                let (vector, range) = vector(WORD)?;
                return Ok((FieldValue::Tables(Records { schema, vector }), range));
            }
            FieldKind::Nodes => {
                let (vector, range) = vector(WORD)?;
                return Ok((FieldValue::NodeTables(vector), range));
            }
            FieldKind::Table(schema) => {
                let (table, range) = table()?;
                return Ok((FieldValue::Table(Record { schema, table }), range));
            }
            FieldKind::NodeBody => {
                let (table, range) = table()?;
                return Ok((FieldValue::NodeBody(table), range));
            }
        };
        Ok((value, None))
    }
}

/// A vector of node numbers.
#[derive(Clone, Copy, Default)]
pub struct NodeIds<'a>(&'a [u8]);

impl fmt::Debug for NodeIds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeIds({})", self.len())
    }
}

impl<'a> NodeIds<'a> {
    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.0.len() / WORD
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a node by its index.
    pub fn get(&self, index: usize) -> Option<NodeId> {
        let (words, _) = self.0.as_chunks::<4>();
        words.get(index).map(|word| NodeId(u32::from_le_bytes(*word)))
    }

    /// Returns an iterator over the nodes, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = NodeId> + use<'a> {
        let (words, _) = self.0.as_chunks::<4>();
        words.iter().map(|word| NodeId(u32::from_le_bytes(*word)))
    }
}

/// A vector of 64-bit numbers.
#[derive(Clone, Copy, Default)]
pub struct Numbers<'a>(&'a [u8]);

impl fmt::Debug for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Numbers({})", self.iter().len())
    }
}

impl<'a> Numbers<'a> {
    /// Returns an iterator over the numbers, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        let (words, _) = self.0.as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word))
    }
}

/// A vector of strings.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a>(Vector<'a>);

impl<'a> Texts<'a> {
    /// Returns an iterator over the strings, in order. An item is an error if it is not inside the flatbuffer.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<&'a [u8]>> + use<'a> {
        let buffer = self.0.buffer();
        self.0.positions().map(move |position| buffer.string(buffer.target(position)?))
    }
}

/// A vector of tables.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    schema: &'static TableSchema,
    vector: Vector<'a>,
}

impl<'a> Records<'a> {
    /// Returns the number of tables.
    pub fn len(&self) -> usize {
        self.vector.len()
    }

    /// Returns whether there are no tables.
    pub fn is_empty(&self) -> bool {
        self.vector.is_empty()
    }

    /// Returns an iterator over the tables, in order. An item is an error if it is not inside the flatbuffer.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<Record<'a>>> + use<'a> {
        let (buffer, schema) = (self.vector.buffer(), self.schema);
        self.vector
            .positions()
            .map(move |position| Ok(Record { schema, table: buffer.table(buffer.target(position)?)? }))
    }
}
