//! An owned reflection: tables of fields that can be changed and written.
//!
//! [`OwnedTable::read`] parses a buffer according to the [`schema`]; [`OwnedTable::write`] reproduces the layout of
//! Apple's writer exactly (see `builder.rs`). A buffer with content that the schema does not describe is rejected
//! rather than truncated.
//!
//! ```
//! use unshade_metallib::reflection::tables::{OwnedTable, Value};
//! use unshade_metallib::reflection::schema::{self, NodeType, Version};
//! use unshade_metallib::reflection::{NodeId, Reflection};
//!
//! let mut function = OwnedTable::of_node(NodeType::KERNEL_FUNCTION)?;
//! function.set("name", Value::Text(b"scale".into()))?;
//! function.set("arguments", Value::Nodes(vec![]))?;
//! let mut root = OwnedTable::new(&schema::ROOT);
//! root.set("version", Value::Version(Version { major: 0, minor: 4, sub_minor: 0 }))?;
//! root.set("nodes", Value::Tables(vec![function]))?;
//! root.set("kernel_functions", Value::Nodes(vec![NodeId(0)]))?;
//!
//! let bytes = root.write()?;
//! assert!(Reflection::parse(&bytes)?.function(b"scale")?.is_some());
//! assert_eq!(OwnedTable::read(&bytes)?, root);
//! # Ok::<(), unshade_core::Error>(())
//! ```

use super::builder::Builder;
use super::schema::{self, Bitfield, FieldKind, NodeType, TableSchema, Version};
use super::{FieldValue, Node, NodeId, NodeList, Record, Records, Reflection};
use crate::file::Text;
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// Maximum size of a buffer. The largest real one has 4 kB, and fields take more memory than their encoding.
const MAX_SIZE: usize = 1 << 22;

/// Maximum bytes of text per byte of the buffer: many fields may share a text.
const TEXT_FACTOR: usize = 64;

/// A table: its fields, by slot.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedTable<'a> {
    schema: &'static TableSchema,
    /// The type of the node whose body the table is.
    node: Option<NodeType>,
    fields: BTreeMap<usize, Value<'a>>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(u32),
    /// One of an enumeration's values.
    Enum(u8),
    /// A version.
    Version(Version),
    /// Where a bit field is.
    Bitfield(Bitfield),
    /// A node.
    Node(NodeId),
    /// Text.
    Text(Text<'a>),
    /// Nodes.
    Nodes(Vec<NodeId>),
    /// 64-bit numbers.
    Numbers(Vec<u64>),
    /// Strings.
    Texts(Vec<Text<'a>>),
    /// A table.
    Table(OwnedTable<'a>),
    /// Tables. In the root's slot `nodes`, the bodies of the nodes, whose schemas determine their types.
    Tables(Vec<OwnedTable<'a>>),
}

impl<'a> OwnedTable<'a> {
    /// Creates a table without fields.
    pub fn new(schema: &'static TableSchema) -> Self {
        Self { schema, node: None, fields: BTreeMap::new() }
    }

    /// Creates the body of a node of this type, without fields.
    ///
    /// # Errors
    /// If the type is unknown.
    pub fn of_node(kind: NodeType) -> Result<Self> {
        match kind.schema() {
            Some(schema) => Ok(Self { node: Some(kind), ..Self::new(&schema.table) }),
            None => Err(unwritable("node of an unknown type").found(format!("{kind}"))),
        }
    }

    /// Returns the schema of the table.
    pub fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// Returns the type of the node whose body the table is; [`None`] if it is not the body of a node.
    pub fn node_type(&self) -> Option<NodeType> {
        self.node
    }

    /// Returns whether the table has this schema and is not the body of a node.
    fn has_schema(&self, schema: &TableSchema) -> bool {
        self.node.is_none() && self.schema == schema
    }

    /// Returns the fields that are present, in slot order.
    pub fn fields(&self) -> impl Iterator<Item = (&'static schema::Slot, &Value<'a>)> {
        self.fields.iter().filter_map(|(slot, value)| Some((self.schema.slots.get(*slot)?, value)))
    }

    /// Returns the present fields with their slot numbers.
    pub(super) fn numbered(&self) -> impl DoubleEndedIterator<Item = (usize, &Value<'a>)> {
        self.fields.iter().map(|(slot, value)| (*slot, value))
    }

    /// Returns a field's value by its name.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.fields.get(&self.schema.slot_named(name)?)
    }

    /// Returns a field's value by its name, mutably. The kind of the value must not change.
    fn get_mut(&mut self, name: &str) -> Option<&mut Value<'a>> {
        self.fields.get_mut(&self.schema.slot_named(name)?)
    }

    /// Sets a field.
    ///
    /// # Errors
    /// If the table has no such field, or the value is of another kind.
    pub fn set(&mut self, name: &str, value: Value<'a>) -> Result<()> {
        let slot =
            self.schema.slot_named(name).and_then(|index| Some((index, self.schema.slots.get(index)?)));
        match slot {
            Some((index, slot)) if value.fits(slot.kind) => {
                self.fields.insert(index, value);
                Ok(())
            }
            Some(_) => {
                Err(unwritable("wrong kind of value for a field")
                    .within(format!("{}.{name}", self.schema.name)))
            }
            None => Err(unwritable("no such field").within(format!("{}.{name}", self.schema.name))),
        }
    }

    /// Parses a buffer that starts with the flatbuffer.
    ///
    /// # Errors
    /// If the buffer is malformed, or can't be represented exactly: fields and node types that the schema does not
    /// describe, bools other than 0 and 1, nodes without a type or a body; [`ErrorKind::Limit`] if it is larger than
    /// 4 MiB, or shares more than a buffer of its size should.
    pub fn read(content: &'a [u8]) -> Result<Self> {
        if content.len() > MAX_SIZE {
            return Err(Error::new(ErrorKind::Limit, 0, "reflection is too large")
                .expected(format!("at most {MAX_SIZE} bytes"))
                .found(format!("{}", content.len())));
        }
        let reflection = Reflection::parse(content)?;
        if reflection.padding() > 0 {
            return Err(Error::new(ErrorKind::BadMagic, 0, "zeros before the flatbuffer"));
        }
        let budget = content.len();
        let mut reader = TableReader { fields: budget, text: budget.saturating_mul(TEXT_FACTOR) };
        reader.table(&reflection.root())
    }

    /// Encodes the root table and everything it refers to as a buffer.
    ///
    /// # Errors
    /// If it is too large for its offsets.
    pub fn write(&self) -> Result<Vec<u8>> {
        Builder::default().buffer(self)
    }

    /// Renames all functions with a name. Returns how many were renamed.
    pub fn rename_functions(&mut self, old: &[u8], new: &Text<'a>) -> usize {
        let mut functions = Vec::new();
        for list in NodeList::FUNCTIONS {
            if let Some(Value::Nodes(ids)) = self.get(list.slot_name()) {
                functions.extend_from_slice(ids);
            }
        }
        let Some(Value::Tables(nodes)) = self.get_mut("nodes") else { return 0 };
        let mut renamed = 0usize;
        for id in functions {
            let name = nodes.get_mut(id.0 as usize).and_then(|node| node.get_mut("name"));
            if let Some(Value::Text(name)) = name
                && **name == *old
            {
                name.clone_from(new);
                renamed = renamed.saturating_add(1);
            }
        }
        renamed
    }
}

impl Value<'_> {
    /// Returns whether a field of this kind can have the value.
    fn fits(&self, kind: FieldKind) -> bool {
        match (self, kind) {
            (Value::Bool(_), FieldKind::Bool | FieldKind::BoolValue)
            | (Value::Number(_), FieldKind::U32 | FieldKind::UIntValue)
            | (Value::Enum(_), FieldKind::Enum(_))
            | (Value::Version(_), FieldKind::Version)
            | (Value::Bitfield(_), FieldKind::Bitfield)
            | (Value::Node(_), FieldKind::NodeId)
            | (Value::Text(_), FieldKind::Text)
            | (Value::Nodes(_), FieldKind::NodeIds)
            | (Value::Numbers(_), FieldKind::Numbers)
            | (Value::Texts(_), FieldKind::Texts) => true,
            (Value::Table(table), FieldKind::Table(schema)) => table.has_schema(schema),
            (Value::Tables(tables), FieldKind::Tables(schema)) => {
                tables.iter().all(|table| table.has_schema(schema))
            }
            (Value::Tables(nodes), FieldKind::Nodes) => nodes.iter().all(|table| table.node.is_some()),
            _ => false,
        }
    }
}

#[cold]
fn unwritable(message: &'static str) -> Error {
    Error::without_offset(ErrorKind::BadValue, message)
}

/// The remaining budget of a parse. Tables and lists that are shared in the buffer are not shared in memory, so a small
/// buffer could expand without bound: the number of fields and elements is limited to the size of the buffer, which is
/// enough for every buffer that the builder writes.
struct TableReader {
    fields: usize,
    text: usize,
}

impl TableReader {
    fn table<'a>(&mut self, record: &Record<'a>) -> Result<OwnedTable<'a>> {
        let mut table = OwnedTable::new(record.schema());
        for (slot, known) in record.schema().slots.iter().enumerate() {
            if let Some(field) = record.field(slot)? {
                self.spend(1)?;
                let value = self.value(field.value).map_err(|error| error.within(known.name))?;
                table.fields.insert(slot, value);
            }
        }
        let mut beyond = record.schema().slots.len()..record.table().slot_count();
        if beyond.any(|slot| record.table().entry(slot) != 0) {
            return Err(unsupported(record, "field that the schema does not describe"));
        }
        // Every nonzero byte is read as true, but only 1 survives a round trip.
        for (slot, known) in record.schema().slots.iter().enumerate() {
            if matches!(known.kind, FieldKind::Bool | FieldKind::BoolValue)
                && let Some(position) = record.table().field(slot, 1)?
                && record.table().buffer().u8(position)? > 1
            {
                return Err(unsupported(record, "bool other than 0 and 1"));
            }
        }
        Ok(table)
    }

    fn value<'a>(&mut self, value: FieldValue<'a>) -> Result<Value<'a>> {
        Ok(match value {
            FieldValue::Bool(flag) => Value::Bool(flag),
            FieldValue::Number(number) => Value::Number(number),
            FieldValue::Enum(_, value) => Value::Enum(value),
            FieldValue::Version(version) => Value::Version(version),
            FieldValue::Bitfield(bitfield) => Value::Bitfield(bitfield),
            FieldValue::Node(id) => Value::Node(id),
            FieldValue::Text(text) => Value::Text(self.text(text)?),
            FieldValue::Nodes(ids) => {
                self.spend(ids.len())?;
                Value::Nodes(ids.iter().collect())
            }
            FieldValue::Numbers(numbers) => {
                self.spend(numbers.iter().len())?;
                Value::Numbers(numbers.iter().collect())
            }
            FieldValue::Texts(texts) => {
                self.spend(texts.iter().len())?;
                Value::Texts(texts.iter().map(|text| self.text(text?)).collect::<Result<_>>()?)
            }
            FieldValue::Table(record) => Value::Table(self.table(&record)?),
            FieldValue::Tables(records) => Value::Tables(self.tables(records)?),
            FieldValue::NodeTables(vector) => {
                self.spend(vector.len())?;
                let nodes = vector.positions().zip(0u32..);
                let body = |(position, id): (usize, u32)| {
                    self.node(&Node::read(vector.buffer(), NodeId(id), position)?)
                };
                Value::Tables(nodes.map(body).collect::<Result<_>>()?)
            }
            FieldValue::NodeType(_) | FieldValue::NodeBody(_) | FieldValue::Unknown(_) => {
                return Err(unwritable("field that is only valid in a node"));
            }
        })
    }

    fn tables<'a>(&mut self, records: Records<'a>) -> Result<Vec<OwnedTable<'a>>> {
        self.spend(records.len())?;
        records.iter().map(|record| self.table(&record?)).collect()
    }

    fn node<'a>(&mut self, node: &Node<'a>) -> Result<OwnedTable<'a>> {
        let body = node.body().ok_or_else(|| unwritable("node without a body"))?;
        if node.kind().schema().is_none() {
            return Err(unsupported(&body, "node of an unknown type"));
        }
        let table = self.table(&body).map_err(|error| error.within(format!("{}", node.id())))?;
        Ok(OwnedTable { node: Some(node.kind()), ..table })
    }

    fn text<'a>(&mut self, text: &'a [u8]) -> Result<Text<'a>> {
        self.text = self.text.checked_sub(text.len()).ok_or_else(too_much_shared)?;
        Ok(Cow::Borrowed(text))
    }

    /// Subtracts fields and elements from the budget.
    fn spend(&mut self, count: usize) -> Result<()> {
        self.fields = self.fields.checked_sub(count).ok_or_else(too_much_shared)?;
        Ok(())
    }
}

#[cold]
fn unsupported(record: &Record<'_>, message: &'static str) -> Error {
    let at = record.table().buffer().offset_of(record.table().position());
    Error::new(ErrorKind::Unsupported, at, message).within(record.schema().name)
}

#[cold]
fn too_much_shared() -> Error {
    Error::without_offset(ErrorKind::Limit, "reflection has more fields than bytes")
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{V, any, node, payload, reflection, table};
    use super::*;
    use alloc::vec;

    fn visible_function_reference(name: &'static [u8]) -> OwnedTable<'static> {
        let mut node = OwnedTable::of_node(NodeType::VISIBLE_FUNCTION_REFERENCE).unwrap();
        node.set("function_name", Value::Text(name.into())).unwrap();
        node
    }

    fn root(nodes: Vec<OwnedTable<'_>>) -> OwnedTable<'_> {
        let mut root = OwnedTable::new(&schema::ROOT);
        root.set("version", Value::Version(Version { major: 0, minor: 4, sub_minor: 0 })).unwrap();
        root.set("nodes", Value::Tables(nodes)).unwrap();
        root
    }

    #[test]
    fn tables_are_written_after_what_they_refer_to() {
        let bytes = root(vec![visible_function_reference(b"abc")]).write().unwrap();
        let expected = [
            &b"\x10\0\0\0AIRR"[..],
            b"\x08\0\x14\0\x04\0\x10\0",                       // the root's vtable
            b"\x08\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x04\0\0\0", // the root: version, nodes
            b"\x01\0\0\0\x0c\0\0\0",                           // one node
            b"\x08\0\x0e\0\x04\0\x08\0",                       // its vtable; its size counts two zeros
            b"\x08\0\0\0\x06\0\x08\0\x0c\0\0\0\0\0",           // the node: type, body
            b"\x06\0\x08\0\x04\0",                             // the body's vtable
            b"\x06\0\0\0\x04\0\0\0",                           // the body: name
            b"\x03\0\0\0abc\0",
        ];
        assert_eq!(bytes, expected.concat());
        assert_eq!(OwnedTable::read(&bytes).unwrap(), root(vec![visible_function_reference(b"abc")]));
    }

    #[test]
    fn texts_and_vtables_are_shared() {
        let one = root(vec![visible_function_reference(b"abc")]).write().unwrap().len();
        let two = root(vec![visible_function_reference(b"abc"), visible_function_reference(b"abc")]);
        // The second adds an element of the list, a body, and a node with a different vtable, as no zeros follow it.
        assert_eq!(two.write().unwrap().len(), one + 4 + 8 + 12 + 8);
        assert_eq!(OwnedTable::read(&two.write().unwrap()).unwrap(), two);
    }

    /// Returns a value that fits a slot of this kind.
    fn value(kind: FieldKind) -> Value<'static> {
        match kind {
            FieldKind::Bool | FieldKind::BoolValue => Value::Bool(true),
            FieldKind::Enum(_) => Value::Enum(2),
            FieldKind::Version => Value::Version(Version { major: 1, minor: 2, sub_minor: 3 }),
            FieldKind::Bitfield => Value::Bitfield(Bitfield { bit_offset: 1, bit_size: 2, storage_size: 3 }),
            FieldKind::Text => Value::Text(b"text".into()),
            FieldKind::NodeIds => Value::Nodes(vec![NodeId(0), NodeId(1)]),
            FieldKind::Numbers => Value::Numbers(vec![7, u64::MAX]),
            FieldKind::Texts => Value::Texts(vec![b"a".into(), b"longer".into()]),
            FieldKind::Table(schema) => Value::Table(full(OwnedTable::new(schema))),
            FieldKind::Tables(schema) => {
                Value::Tables(vec![full(OwnedTable::new(schema)), full(OwnedTable::new(schema))])
            }
            FieldKind::U32 | FieldKind::UIntValue => Value::Number(1),
            _ => Value::Node(NodeId(1)),
        }
    }

    fn full(mut table: OwnedTable<'static>) -> OwnedTable<'static> {
        for slot in table.schema().slots {
            table.set(slot.name, value(slot.kind)).unwrap();
        }
        table
    }

    /// Checks every node type with all fields: separately, to cover all alignments, and together.
    #[test]
    fn every_table_survives_a_round_trip() {
        let all = schema::GROUPS.iter().flat_map(|group| group.iter()).map(|schema| schema.kind);
        let mut nodes = Vec::new();
        for kind in all {
            let node = full(OwnedTable::of_node(kind).unwrap());
            let root = root(vec![node.clone()]);
            let bytes = root.write().unwrap();
            assert_eq!(OwnedTable::read(&bytes).unwrap(), root, "{kind}");
            nodes.push(node);
        }
        let root = root(nodes);
        let bytes = root.write().unwrap();
        assert_eq!(OwnedTable::read(&bytes).unwrap(), root);
        let read = Reflection::parse(&bytes).unwrap();
        assert_eq!(read.node_count(), 253);
    }

    #[test]
    fn output_of_another_builder_is_equivalent() {
        for schema in schema::GROUPS.iter().flat_map(|group| group.iter()) {
            let fields: Vec<_> = schema.table.slots.iter().map(|slot| (slot.name, any(slot.kind))).collect();
            let theirs = reflection(0, vec![node(schema.kind, &fields)], &[]);
            let ours = root(vec![full(OwnedTable::of_node(schema.kind).unwrap())]);
            assert_eq!(OwnedTable::read(&theirs).unwrap(), ours, "{}", schema.table.name);
        }
    }

    #[test]
    fn renaming_leaves_no_trace_of_the_old_name() {
        let mut function = OwnedTable::of_node(NodeType::KERNEL_FUNCTION).unwrap();
        function.set("name", Value::Text(b"old".into())).unwrap();
        let mut root = root(vec![function]);
        root.set("kernel_functions", Value::Nodes(vec![NodeId(0)])).unwrap();
        let bytes = root.write().unwrap();
        let renamed = super::super::renamed(&bytes, b"old", b"a longer one").unwrap();
        assert!(!renamed.windows(3).any(|window| window == b"old"));
        assert_eq!(root.rename_functions(b"old", &b"a longer one".into()), 1);
        assert_eq!(renamed, root.write().unwrap());
        assert_eq!(super::super::renamed(&bytes, b"older", b"x"), None);
    }

    #[test]
    fn undescribed_content_is_rejected() {
        let function = node(NodeType::KERNEL_FUNCTION, &[("name", V::Text("f"))]);
        let lists = [("kernel_functions", V::Ids(vec![0]))];
        let reason = |bytes: &[u8]| OwnedTable::read(bytes).unwrap_err().kind();
        let mut unknown = function.clone();
        unknown.0[0] = Some(V::Number(0x7777));
        assert_eq!(reason(&reflection(0, vec![unknown], &lists)), ErrorKind::Unsupported);
        let mut newer = function.clone();
        if let Some(V::Table(body)) = &mut newer.0[1] {
            body.0.resize(12, None);
            body.0.push(Some(V::Number(3)));
        }
        let bytes = reflection(0, vec![newer], &lists);
        assert_eq!(reason(&bytes), ErrorKind::Unsupported);
        // It can still be renamed, by appending the new name.
        let renamed = super::super::renamed(&bytes, b"f", b"new").unwrap();
        assert!(Reflection::parse(&renamed).unwrap().function(b"new").unwrap().is_some());
        assert_eq!(reason(&reflection(16, vec![function], &lists)), ErrorKind::BadMagic);
        let odd = payload(0, &table(&schema::ROOT, &[("nodes", V::Tables(vec![]))]));
        assert!(OwnedTable::read(&odd).is_ok());
    }

    #[test]
    fn excessive_sharing_is_rejected() {
        // 2,000 offsets to a single node, whose list has 2,000 offsets to a single table.
        let mut bytes = b"\x10\0\0\0AIRR\x06\0\x08\0\0\0\x04\0\x08\0\0\0\x04\0\0\0".to_vec();
        bytes[8..16].copy_from_slice(&[8, 0, 8, 0, 0, 0, 4, 0]);
        let count = 2000u32;
        bytes.extend(count.to_le_bytes());
        let table = 24 + 4 + 4 * count + 8;
        for index in 0..count {
            bytes.extend((table - (28 + 4 * index)).to_le_bytes());
        }
        // A structure with as many fields as there are nodes.
        bytes.extend([8, 0, 12, 0, 4, 0, 8, 0]);
        bytes.extend(8u32.to_le_bytes());
        bytes.extend(NodeType::STRUCT_TYPE_INFO.0.to_le_bytes());
        bytes.extend(12u32.to_le_bytes());
        bytes.extend([6, 0, 8, 0, 4, 0, 0, 0]);
        bytes.extend(8u32.to_le_bytes());
        bytes.extend(4u32.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        let fields = table + 12 + 8 + 8;
        let empty = fields + 4 + 4 * count + 4;
        for index in 0..count {
            bytes.extend((empty - (fields + 4 + 4 * index)).to_le_bytes());
        }
        bytes.extend([4, 0, 4, 0, 4, 0, 0, 0]);
        let reflection = Reflection::parse(&bytes).unwrap();
        assert_eq!(reflection.node_count(), 2000);
        assert_eq!(OwnedTable::read(&bytes).unwrap_err().kind(), ErrorKind::Limit);
    }
}
