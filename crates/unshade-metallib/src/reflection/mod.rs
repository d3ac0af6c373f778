//! The reflection of a library's functions: what each takes, returns and demands.
//!
//! From container version 1.2.7 on, Apple's linker writes one *reflection buffer* per function of an executable
//! library (and a shared one for all functions of a dynamic library) to the reflection list section. A buffer is a
//! flatbuffer with the identifier `AIRR`: a list of typed *nodes* that refer to each other by number, and lists of
//! the nodes that are functions. It is all that a pipeline needs to know of a function without compiling it.
//!
//! | module | thing |
//! |---|---|
//! | [`flatbuffer`] | tables, vtables, vectors and strings, checked |
//! | [`schema`] | node types and their slots, as data |
//! | here | [`Reflection`]: nodes, decoded when they are asked for |
//! | | [`FunctionReflection`]: a function with its arguments, typed |
//! | | [`print_signature`]: the function as one would declare it in Metal source |
//! | | [`Reflection::outline`]: what every byte is |
//! | [`tables`] | a reflection that is owned, changed and written to the byte |
//!
//! ```
//! use unshade_metallib::reflection::{NodeList, Reflection, schema::Version};
//!
//! // What a dynamic library has: a version, and nothing else. The flatbuffer starts at a multiple of 16.
//! let mut payload = vec![0; 9];
//! payload.extend_from_slice(b"\x10\0\0\0AIRR\0\0\x06\0\x10\0\x04\0\x06\0\0\0");
//! payload.extend_from_slice(b"\0\0\0\0\x04\0\0\0\0\0\0\0");
//! let reflection = Reflection::parse(&payload, 0x13c7)?;
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

use alloc::format;
use core::fmt;
use core::ops::Range;
use flatbuffer::{FlatBuffer, Table, Vector, WORD};
use schema::{Bitfield, EnumNames, FieldKind, NodeType, TableSchema, Version};
use unshade_core::outline::UNKNOWN;
use unshade_core::{Error, ErrorKind, Result};

/// The most zero bytes that may stand before the flatbuffer. Writers pad to 16.
const MAX_PADDING: usize = 64;

/// The number of a node: its index in the reflection's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// The lists of nodes that the root has.
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
    /// What mesh functions become where the hardware has none.
    Emulations,
    /// Resources that functions use without taking them as arguments.
    GlobalBindings,
    /// Visible functions that functions refer to by name.
    VisibleFunctionReferences,
}

impl NodeList {
    /// The lists that hold functions.
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

    /// The name of the root's slot.
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

/// A reflection buffer. Nodes are decoded when they are asked for; nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Reflection<'a> {
    payload: &'a [u8],
    base: u64,
    padding: usize,
    root: Record<'a>,
    version: Option<Version>,
    nodes: Option<Vector<'a>>,
}

impl<'a> Reflection<'a> {
    /// Reads the payload of an `RBUF` tag, which stands at `base_file_offset` in the file.
    ///
    /// # Errors
    /// [`ErrorKind::BadMagic`] if no flatbuffer with the identifier `AIRR` follows the padding, and the errors of
    /// [`FlatBuffer::table`] and [`FlatBuffer::vector`] if its root cannot be read.
    pub fn parse(payload: &'a [u8], base_file_offset: u64) -> Result<Self> {
        let no_magic = || {
            Error::new(ErrorKind::BadMagic, base_file_offset, "not a reflection buffer")
                .expected("zero padding, an offset and \"AIRR\"")
        };
        // The identifier can't be mistaken: whatever is before it is padding, which is zero, or the root's offset.
        let head = payload.get(..payload.len().min(MAX_PADDING.saturating_add(8))).unwrap_or_default();
        let identifier =
            head.windows(WORD).position(|window| *window == schema::IDENTIFIER).ok_or_else(no_magic)?;
        let padding = identifier.checked_sub(WORD).ok_or_else(no_magic)?;
        let (zeros, data) = payload.split_at_checked(padding).ok_or_else(no_magic)?;
        if zeros.iter().any(|&byte| byte != 0) {
            return Err(no_magic());
        }

        let buffer = FlatBuffer::new(data, base_file_offset.saturating_add(padding as u64));
        let root = Record { schema: &schema::ROOT, table: buffer.root()? };
        let mut reflection =
            Self { payload, base: base_file_offset, padding, root, version: None, nodes: None };
        if let Some(FieldValue::Version(version)) = root.get("version")? {
            reflection.version = Some(version);
        }
        if let Some(FieldValue::NodeTables(nodes)) = root.get("nodes")? {
            reflection.nodes = Some(nodes);
        }
        Ok(reflection)
    }

    /// How many zero bytes stand before the flatbuffer, so that it starts at a multiple of 16 in the file.
    pub fn padding(&self) -> usize {
        self.padding
    }

    /// The bytes of the whole payload in the file.
    pub fn range(&self) -> Range<u64> {
        self.base..self.base.saturating_add(self.payload.len() as u64)
    }

    /// The flatbuffer behind the padding.
    pub fn buffer(&self) -> FlatBuffer<'a> {
        self.root.table.buffer()
    }

    /// The version of the schema that the writer followed.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// The root table.
    pub fn root(&self) -> Record<'a> {
        self.root
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.nodes.map_or(0, |nodes| nodes.len())
    }

    /// A node by its number.
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

    /// All nodes, in the order of their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = Result<Node<'a>>> + use<'a> {
        let buffer = self.buffer();
        let positions = self.nodes.into_iter().flat_map(|nodes| nodes.positions());
        positions.zip(0u32..).map(move |(position, id)| Node::read(buffer, NodeId(id), position))
    }

    /// A list of nodes; empty where the root does not have it.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if it reaches past the end.
    pub fn list(&self, list: NodeList) -> Result<NodeIds<'a>> {
        match self.root.get(list.slot_name())? {
            Some(FieldValue::Nodes(ids)) => Ok(ids),
            _ => Ok(NodeIds::default()),
        }
    }

    /// The blocks of threadgroup memory that functions declare: size and alignment in bytes.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if the list reaches past the end.
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

/// A node: a type, and a table of that type.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    id: NodeId,
    kind: NodeType,
    body: Option<Record<'a>>,
}

impl<'a> Node<'a> {
    /// Reads the node whose offset stands at a position.
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

    /// Its number.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Its type.
    pub fn kind(&self) -> NodeType {
        self.kind
    }

    /// Its table; [`None`] if the node has a type alone.
    pub fn body(&self) -> Option<Record<'a>> {
        self.body
    }

    /// The fields that are present, in the order of the slots.
    pub fn fields(&self) -> Fields<'a> {
        match self.body {
            Some(body) => body.fields(),
            None => Fields { record: None, slot: 0 },
        }
    }

    /// A field's value by its name; [`None`] if it is absent, or is no field of the node's type.
    ///
    /// # Errors
    /// As [`Fields`].
    pub fn get(&self, name: &str) -> Result<Option<FieldValue<'a>>> {
        self.body.map_or(Ok(None), |body| body.get(name))
    }
}

/// What is known of the table of a node type.
fn table_schema(kind: NodeType) -> &'static TableSchema {
    kind.schema().map_or(&schema::UNKNOWN_TABLE, |schema| &schema.table)
}

/// A table together with what is known of its slots.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    schema: &'static TableSchema,
    table: Table<'a>,
}

impl<'a> Record<'a> {
    /// What is known of the table.
    pub fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// The table itself.
    pub fn table(&self) -> Table<'a> {
        self.table
    }

    /// The fields that are present, in the order of the slots.
    pub fn fields(&self) -> Fields<'a> {
        Fields { record: Some(*self), slot: 0 }
    }

    /// A field's value by its name; [`None`] if it is absent, or is no field of the table.
    ///
    /// # Errors
    /// As [`Fields`].
    pub fn get(&self, name: &str) -> Result<Option<FieldValue<'a>>> {
        match self.schema.slot_named(name) {
            Some(slot) => Ok(self.field(slot)?.map(|field| field.value)),
            None => Ok(None),
        }
    }

    /// The field of a slot, if it is present.
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
    /// The slot, from 0 on; its entry is byte `4 + 2 × slot` of the vtable.
    pub slot: usize,
    /// The name that the schema has for it, or [`UNKNOWN`].
    pub name: &'static str,
    /// The value.
    pub value: FieldValue<'a>,
    /// The bytes of the file that the field takes in its table.
    pub range: Range<u64>,
    /// The bytes of the file that the field points at, if it does. For tables, without what they point at.
    pub target: Option<Range<u64>>,
}

/// The fields of a table that are present. An item is an error if the field is not inside of its table, or what it
/// points at is not inside of the flatbuffer; the iteration goes on behind it.
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
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(u32),
    /// One of an enumeration's values.
    Enum(&'static EnumNames, u8),
    /// A version.
    Version(Version),
    /// Where a bit field is.
    Bitfield(Bitfield),
    /// A node.
    Node(NodeId),
    /// A node's type.
    NodeType(NodeType),
    /// Text, without the terminating NUL. Most likely UTF-8.
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
    /// The vector of all nodes: offsets of tables.
    NodeTables(Vector<'a>),
    /// The table of a node of which the type was not looked at.
    NodeBody(Table<'a>),
    /// A field that the schema does not have: the bytes up to the next one.
    Unknown(&'a [u8]),
}

impl<'a> FieldValue<'a> {
    /// Reads the field at a position, and what it points at.
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
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeIds<'a>(&'a [u8]);

impl<'a> NodeIds<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len() / WORD
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number by its index.
    pub fn get(&self, index: usize) -> Option<NodeId> {
        let (words, _) = self.0.as_chunks::<4>();
        words.get(index).map(|word| NodeId(u32::from_le_bytes(*word)))
    }

    /// The numbers, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = NodeId> + use<'a> {
        let (words, _) = self.0.as_chunks::<4>();
        words.iter().map(|word| NodeId(u32::from_le_bytes(*word)))
    }
}

/// A vector of 64-bit numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    /// The numbers, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        let (words, _) = self.0.as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word))
    }
}

/// A vector of strings.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a>(Vector<'a>);

impl<'a> Texts<'a> {
    /// The strings, in order, each an error if it is not inside of the flatbuffer.
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
    /// How many there are.
    pub fn len(&self) -> usize {
        self.vector.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.vector.is_empty()
    }

    /// The tables, in order, each an error if it is not inside of the flatbuffer.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<Record<'a>>> + use<'a> {
        let (buffer, schema) = (self.vector.buffer(), self.schema);
        self.vector
            .positions()
            .map(move |position| Ok(Record { schema, table: buffer.table(buffer.target(position)?)? }))
    }
}
