//! Reflection buffers as YAML: tables whose fields have the names of the [`schema`].
//!
//! | key | content |
//! |---|---|
//! | `version`, `kernel_functions`, … | the fields of the root |
//! | `nodes` | a list of nodes: the type of each under `Node`, and the fields of that type |
//!
//! References to nodes are indices in `nodes`. Absent fields are omitted; a field may be present even if it has its
//! default value.

use super::{named, read_named};
use crate::reflection::NodeId;
use crate::reflection::schema::{self, Bitfield, EnumNames, FieldKind, NodeType, TableSchema, Version};
use crate::reflection::tables::{OwnedTable, Value};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::yaml::{Kind, MapReader, MapWriter, Node, Yaml};
use unshade_core::{Error, Result};

/// The key for the type of a node.
const NODE: &str = "Node";

/// Writes the fields of a table.
pub(super) fn put_table(table: &OwnedTable<'_>, map: &mut MapWriter<'static>) {
    if let Some(kind) = table.node_type() {
        map.node(NODE, Node::plain(kind.name().unwrap_or_default()));
    }
    for (slot, value) in table.fields() {
        map.node(slot.name, value_node(slot.kind, value));
    }
}

fn table_node(table: &OwnedTable<'_>) -> Node<'static> {
    let mut map = MapWriter::default();
    put_table(table, &mut map);
    map.finish()
}

fn value_node(kind: FieldKind, value: &Value<'_>) -> Node<'static> {
    match value {
        Value::Bool(flag) => Node::plain(if *flag { "true" } else { "false" }),
        Value::Number(number) | Value::Node(NodeId(number)) => Node::number((*number).into()),
        Value::Enum(value) => match kind {
            FieldKind::Enum(names) => named((names.value_name)(*value), (*value).into()),
            _ => Node::number((*value).into()),
        },
        Value::Version(version) => Node::plain(format!("{version}")),
        Value::Bitfield(Bitfield { bit_offset, bit_size, storage_size }) => Node::flow(
            [bit_offset, bit_size, storage_size].map(|number| Node::number((*number).into())).into(),
        ),
        Value::Text(text) => text_node(text),
        Value::Nodes(ids) => Node::flow(ids.iter().map(|id| Node::number(id.0.into())).collect()),
        Value::Numbers(numbers) => Node::flow(numbers.iter().map(|number| Node::number(*number)).collect()),
        Value::Texts(texts) => Node::list(texts.iter().map(|text| text_node(text)).collect()),
        Value::Table(table) => table_node(table),
        Value::Tables(tables) => Node::list(tables.iter().map(table_node).collect()),
    }
}

/// Creates a node for text.
pub(super) fn text_node(text: &[u8]) -> Node<'static> {
    match String::from_utf8(text.to_vec()) {
        Ok(text) => Node::string(text),
        Err(error) => Kind::Bytes(Cow::Owned(error.into_bytes())).into(),
    }
}

/// Parses the fields of the root table.
pub(super) fn read_root(map: &mut MapReader<'_, '_>) -> Result<OwnedTable<'static>> {
    read_fields(OwnedTable::new(&schema::ROOT), map)
}

fn read_fields(mut table: OwnedTable<'static>, map: &mut MapReader<'_, '_>) -> Result<OwnedTable<'static>> {
    for slot in table.schema().slots {
        if let Some(node) = map.take(slot.name) {
            let value = read_value(slot.kind, node).map_err(|error| error.within(slot.name))?;
            table.set(slot.name, value)?;
        }
    }
    Ok(table)
}

fn read_value(kind: FieldKind, node: &Node<'_>) -> Result<Value<'static>> {
    Ok(match kind {
        FieldKind::Bool | FieldKind::BoolValue => Value::Bool(Yaml::from_node(node)?),
        FieldKind::U32 | FieldKind::UIntValue => Value::Number(Yaml::from_node(node)?),
        FieldKind::NodeId => Value::Node(NodeId(Yaml::from_node(node)?)),
        FieldKind::Enum(names) => {
            Value::Enum(read_named(node, |name| value_named(names, name), |value| value)?)
        }
        FieldKind::Version => Value::Version(read_version(node)?),
        FieldKind::Bitfield => {
            let [bit_offset, bit_size, storage_size] = Yaml::from_node(node)?;
            Value::Bitfield(Bitfield { bit_offset, bit_size, storage_size })
        }
        FieldKind::Text => Value::Text(Yaml::from_node(node)?),
        FieldKind::NodeIds => Value::Nodes(Vec::from_node(node)?.into_iter().map(NodeId).collect()),
        FieldKind::Numbers => Value::Numbers(Yaml::from_node(node)?),
        FieldKind::Texts => Value::Texts(Yaml::from_node(node)?),
        FieldKind::Table(schema) => Value::Table(read_table(schema, node)?),
        FieldKind::Tables(schema) => Value::Tables(read_items(node, |node| read_table(schema, node))?),
        FieldKind::Nodes => Value::Tables(read_items(node, read_node)?),
        FieldKind::NodeType | FieldKind::NodeBody => return Err(node.fault("not a field of a table")),
    })
}

fn read_table(schema: &'static TableSchema, node: &Node<'_>) -> Result<OwnedTable<'static>> {
    let mut map = MapReader::new(node)?;
    let table = read_fields(OwnedTable::new(schema), &mut map)?;
    map.finish()?;
    Ok(table)
}

fn read_node(node: &Node<'_>) -> Result<OwnedTable<'static>> {
    let mut map = MapReader::new(node)?;
    let kind = map.take(NODE).ok_or_else(|| node.fault(format!("key `{NODE}` is missing")))?;
    let known = kind.text().and_then(NodeType::from_name);
    let table = OwnedTable::of_node(known.ok_or_else(|| kind.expected("the name of a node type"))?)?;
    let table = read_fields(table, &mut map)?;
    map.finish()?;
    Ok(table)
}

/// Parses each item of a list.
pub(super) fn read_items<T>(node: &Node<'_>, read: impl Fn(&Node<'_>) -> Result<T>) -> Result<Vec<T>> {
    let within = |index: usize, error: Error| error.within(format!("[{index}]"));
    match &node.kind {
        Kind::List { items, .. } => {
            let items = items.iter().enumerate();
            items.map(|(index, item)| read(item).map_err(|error| within(index, error))).collect()
        }
        Kind::Null => Ok(Vec::new()),
        Kind::Bytes(bytes) if bytes.is_empty() => Ok(Vec::new()),
        _ => Err(node.expected("a list of keys and values")),
    }
}

/// Returns the value of an enumeration with this name.
fn value_named(names: &EnumNames, name: &str) -> Option<u8> {
    (0..=u8::MAX).find(|value| (names.value_name)(*value) == Some(name))
}

fn read_version(node: &Node<'_>) -> Result<Version> {
    let mut numbers = node.text().unwrap_or_default().split('.').map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    match (next(), next(), next(), numbers.next()) {
        (Some(major), Some(minor), Some(sub_minor), None) => Ok(Version { major, minor, sub_minor }),
        _ => Err(node.expected("three numbers, such as 0.4.0")),
    }
}
