//! The meaning of every byte of a reflection buffer.
//!
//! A flatbuffer is a graph in which objects are in any order and may be shared. Therefore the reachable objects are
//! collected first, each claiming its bytes, then sorted and emitted in file order. The list of objects doubles as the
//! queue of the traversal, and every object claims bytes that no other has claimed, so memory is proportional to the
//! size of the buffer: one byte per byte for the claims, and 24 per object.

use super::flatbuffer::{Table, WORD};
use super::schema::{self, FieldKind, TableSchema};
use super::{Field, FieldValue, NodeId, Record, Reflection, table_schema};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::outline::{self, OutlineSink, UNKNOWN, Value};
use unshade_core::{Diagnostics, Error, ErrorKind};

/// Maximum number of zero bytes that count as padding; writers align to 8 at most.
const MAX_ALIGNMENT_PADDING: usize = 7;

/// The size of the root offset and the identifier.
const HEADER_SIZE: usize = 8;

/// The node number of an object that belongs to no node.
const NO_NODE: u32 = u32::MAX;

/// The names of the first elements and slots, so that they need not be formatted each time.
const ELEMENTS: [&str; 24] = [
    "[0]", "[1]", "[2]", "[3]", "[4]", "[5]", "[6]", "[7]", "[8]", "[9]", "[10]", "[11]", "[12]", "[13]",
    "[14]", "[15]", "[16]", "[17]", "[18]", "[19]", "[20]", "[21]", "[22]", "[23]",
];
const SLOTS: [&str; 16] = [
    "slot 0", "slot 1", "slot 2", "slot 3", "slot 4", "slot 5", "slot 6", "slot 7", "slot 8", "slot 9",
    "slot 10", "slot 11", "slot 12", "slot 13", "slot 14", "slot 15",
];

/// Returns the name of an element.
fn element_name(index: usize) -> Cow<'static, str> {
    ELEMENTS.get(index).map_or_else(|| Cow::Owned(format!("[{index}]")), |&name| Cow::Borrowed(name))
}

/// Returns the name of a vtable's slot.
fn slot_name(slot: usize) -> Cow<'static, str> {
    SLOTS.get(slot).map_or_else(|| Cow::Owned(format!("slot {slot}")), |&name| Cow::Borrowed(name))
}

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    VTable = 2,
    Table = 3,
    Vector = 4,
    Text = 5,
}

/// The claim of all bytes of an object but the first.
const CLAIMED: u8 = 1;

/// An object that is reachable from the root.
#[derive(Clone, Copy, Debug)]
struct Object {
    start: u32,
    end: u32,
    /// The schema of a table; for a vector or string, the schema of the table that refers to it.
    schema: &'static TableSchema,
    /// The node that it belongs to, or [`NO_NODE`].
    node: u32,
    /// The slot that refers to a vector or string.
    slot: u16,
    class: Class,
}

impl Object {
    /// Returns the name of the slot that refers to the object.
    fn slot_name(&self) -> &'static str {
        self.schema.slots.get(usize::from(self.slot)).map_or(UNKNOWN, |slot| slot.name)
    }

    fn kind(&self) -> Option<FieldKind> {
        self.schema.slots.get(usize::from(self.slot)).map(|slot| slot.kind)
    }
}

impl Reflection<'_> {
    /// Emits the meaning of every byte of the payload, in file order, without gaps or overlaps.
    ///
    /// Faults are added to `diagnostics`; bytes that are malformed, claimed twice or unreachable are emitted as
    /// [`UNKNOWN`]. Notes about node types and slots that the schema does not describe are added as well.
    pub fn outline(&self, sink: &mut (impl OutlineSink + ?Sized), diagnostics: &mut Diagnostics) {
        let mut collector = Collector {
            reflection: self,
            // Real buffers have less than one object per 12 bytes.
            objects: Vec::with_capacity(self.payload.len() / 12),
            claims: vec![0; self.buffer().data().len()],
            diagnostics,
        };
        collector.collect();
        let mut objects = collector.objects;
        objects.sort_unstable_by_key(|object| object.start);
        Emitter { reflection: self, sink, fields: Vec::new() }.emit(&objects);
    }
}

struct Collector<'r, 'a> {
    reflection: &'r Reflection<'a>,
    objects: Vec<Object>,
    claims: Vec<u8>,
    diagnostics: &'r mut Diagnostics,
}

impl<'a> Collector<'_, 'a> {
    fn collect(&mut self) {
        if let Some(header) = self.claims.get_mut(..HEADER_SIZE) {
            header.fill(CLAIMED);
        }
        self.add_table(self.reflection.root.table, &schema::ROOT, NO_NODE);
        let mut next = 0usize;
        while let Some(&object) = self.objects.get(next) {
            next = next.saturating_add(1);
            match object.class {
                Class::Table => self.walk_table(&object),
                Class::Vector => self.walk_vector(&object),
                Class::VTable | Class::Text => {}
            }
        }
    }

    /// Claims the bytes of an object. An object that was already added is not added again; one that overlaps another is
    /// a fault.
    fn add(&mut self, object: Object) {
        let (start, end) = (object.start as usize, object.end as usize);
        let class = object.class as u8;
        let Some(bytes) = self.claims.get_mut(start..end) else { return };
        if bytes.first() == Some(&class) {
            return;
        }
        // Free bytes are claimed in any case, so that no byte is visited twice and the time stays linear.
        let free = bytes.iter().position(|&claim| claim != 0).unwrap_or(bytes.len());
        let whole = free == bytes.len();
        bytes.iter_mut().take(free).for_each(|claim| *claim = CLAIMED);
        if !whole {
            let error = Error::new(
                ErrorKind::BadValue,
                self.reflection.buffer().offset_of(start),
                "object overlaps another one",
            );
            self.diagnostics
                .error("reflection-overlap", error.within(object.schema.name).within("reflection"));
            return;
        }
        if let Some(first) = bytes.first_mut() {
            *first = class;
        }
        self.objects.push(object);
    }

    fn add_table(&mut self, table: Table<'a>, schema: &'static TableSchema, node: u32) {
        let vtable = Object {
            start: to_u32(table.vtable()),
            end: to_u32(table.vtable().saturating_add(table.vtable_size())),
            schema,
            node: NO_NODE,
            slot: 0,
            class: Class::VTable,
        };
        self.add(vtable);
        self.add(Object {
            start: to_u32(table.position()),
            end: to_u32(table.position().saturating_add(table.inline_size())),
            schema,
            node,
            slot: 0,
            class: Class::Table,
        });
    }

    fn fault(&mut self, error: Error, object: &Object) {
        let within = match object.node {
            NO_NODE => Cow::Borrowed("reflection"),
            node => Cow::Owned(NodeId(node).to_string()),
        };
        self.diagnostics.error("reflection-range", error.within(within));
    }

    fn walk_table(&mut self, object: &Object) {
        let table = match self.reflection.buffer().table(object.start as usize) {
            Ok(table) => table,
            Err(error) => return self.fault(error, object),
        };
        let record = Record { schema: object.schema, table };
        for field in record.fields() {
            match field {
                Ok(field) => self.walk_field(&record, &field, object),
                Err(error) => self.fault(error, object),
            }
        }
    }

    fn walk_field(&mut self, record: &Record<'a>, field: &Field<'a>, object: &Object) {
        let class = match field.value {
            FieldValue::Text(_) => Class::Text,
            FieldValue::Nodes(_)
            | FieldValue::Numbers(_)
            | FieldValue::Texts(_)
            | FieldValue::Tables(_)
            | FieldValue::NodeTables(_) => Class::Vector,
            FieldValue::Table(inner) => return self.add_table(inner.table, inner.schema, object.node),
            FieldValue::NodeBody(table) => {
                // A node without a type has type 0, which has no schema.
                let kind = match record.get("type") {
                    Ok(Some(FieldValue::NodeType(kind))) => kind,
                    _ => schema::NodeType(0),
                };
                if kind.schema().is_none() {
                    let offset = self.reflection.buffer().offset_of(object.start as usize);
                    let error = Error::new(ErrorKind::Unsupported, offset, "unknown node type")
                        .found(format!("{:#x}", kind.0));
                    self.diagnostics
                        .note("reflection-node-type", error.within(NodeId(object.node).to_string()));
                }
                return self.add_table(table, table_schema(kind), object.node);
            }
            FieldValue::Unknown(_) if !core::ptr::eq(record.schema, &schema::UNKNOWN_TABLE) => {
                let error = Error::new(ErrorKind::Unsupported, field.range.start, "unknown slot")
                    .found(format!("{} of {}", field.slot, record.schema.name));
                return self.diagnostics.note("reflection-slot", error);
            }
            _ => return,
        };
        if let Some(target) = &field.target {
            let base = self.reflection.buffer().base();
            let position = |offset: u64| u32::try_from(offset.saturating_sub(base)).unwrap_or(u32::MAX);
            self.add(Object {
                start: position(target.start),
                end: position(target.end),
                schema: record.schema,
                node: object.node,
                slot: u16::try_from(field.slot).unwrap_or(u16::MAX),
                class,
            });
        }
    }

    /// Follows the offsets in a vector.
    fn walk_vector(&mut self, object: &Object) {
        let buffer = self.reflection.buffer();
        let (Some(kind), Ok(vector)) = (object.kind(), buffer.vector(object.start as usize, WORD)) else {
            return;
        };
        let element = |position| buffer.target(position).and_then(|position| buffer.table(position));
        match kind {
            FieldKind::Nodes | FieldKind::Tables(_) => {
                for (position, index) in vector.positions().zip(0u32..) {
                    let (schema, node) = match kind {
                        FieldKind::Tables(schema) => (schema, object.node),
                        _ => (&schema::NODE, index),
                    };
                    match element(position) {
                        Ok(table) => self.add_table(table, schema, node),
                        Err(error) => self.fault(error, object),
                    }
                }
            }
            FieldKind::Texts => {
                for position in vector.positions() {
                    let text = buffer.target(position).and_then(|at| Ok((at, buffer.string(at)?.len())));
                    match text {
                        Ok((at, length)) => self.add(Object {
                            start: to_u32(at),
                            end: to_u32(at.saturating_add(length).saturating_add(WORD).saturating_add(1)),
                            class: Class::Text,
                            ..*object
                        }),
                        Err(error) => self.fault(error, object),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Converts a position. The length of the payload is a 32-bit number in the file, so no position is truncated.
fn to_u32(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

struct Emitter<'r, 'a, S: ?Sized> {
    reflection: &'r Reflection<'a>,
    sink: &'r mut S,
    /// The fields of the current table, offset and slot. Reused for the next table.
    fields: Vec<(usize, usize)>,
}

impl<S: OutlineSink + ?Sized> Emitter<'_, '_, S> {
    fn emit(&mut self, objects: &[Object]) {
        let buffer = self.reflection.buffer();
        let base = self.reflection.base;
        if self.reflection.padding > 0 {
            let range = base..buffer.base();
            self.sink.leaf(outline::Field::group("padding", range).meaning("to a multiple of 16"));
        }
        let root = buffer.u32(0).unwrap_or(0);
        let meaning = self.location(self.reflection.root.table.position());
        self.leaf("root offset", Value::Hex(root.into()), meaning, 0, WORD);
        let identifier = buffer.identifier().map_or(Value::None, Value::FourCc);
        self.leaf("identifier", identifier, "", WORD, HEADER_SIZE);

        let mut at = HEADER_SIZE;
        for object in objects {
            self.gap(at, object.start as usize);
            match object.class {
                Class::VTable => self.vtable(object),
                Class::Table => self.table(object),
                Class::Vector => self.vector(object),
                Class::Text => self.text(object),
            }
            at = object.end as usize;
        }
        self.gap(at, buffer.data().len());
    }

    /// Emits bytes that nothing refers to.
    fn gap(&mut self, start: usize, end: usize) {
        let bytes = self.reflection.buffer().data().get(start..end).unwrap_or_default();
        if bytes.is_empty() {
            return;
        }
        if bytes.len() <= MAX_ALIGNMENT_PADDING && bytes.iter().all(|&byte| byte == 0) {
            self.leaf("padding", Value::None, "", start, end);
        } else {
            self.leaf(UNKNOWN, Value::Bytes(bytes), "nothing refers to these bytes", start, end);
        }
    }

    fn leaf<'t>(
        &mut self,
        name: impl Into<Cow<'t, str>>,
        value: Value<'t>,
        meaning: impl Into<Cow<'t, str>>,
        start: usize,
        end: usize,
    ) {
        let range = self.reflection.buffer().range(start, end.saturating_sub(start));
        self.sink.leaf(outline::Field::new(name, value, range).meaning(meaning));
    }

    fn open(&mut self, object: &Object, name: &'static str, value: Value<'_>, meaning: &str) {
        let size = object.end.saturating_sub(object.start) as usize;
        let range = self.reflection.buffer().range(object.start as usize, size);
        self.sink.open(outline::Field::new(name, value, range).meaning(meaning));
    }

    /// Formats the file offset of a position.
    fn location(&self, position: usize) -> String {
        format!("at {:#x}", self.reflection.buffer().offset_of(position))
    }

    fn vtable(&mut self, object: &Object) {
        let buffer = self.reflection.buffer();
        let (start, end) = (object.start as usize, object.end as usize);
        self.open(object, "vtable", Value::None, "");
        let names = ["size", "size of the table"];
        for (index, at) in (start..end).step_by(2).enumerate() {
            let value = u64::from(buffer.u16(at).unwrap_or(0));
            let stop = at.saturating_add(2);
            match (names.get(index), index.saturating_sub(names.len())) {
                (Some(&name), _) => self.leaf(name, Value::Number(value), "", at, stop),
                (None, slot) => {
                    let meaning = if value == 0 { "absent" } else { "" };
                    self.leaf(slot_name(slot), Value::Number(value), meaning, at, stop);
                }
            }
        }
        self.sink.close();
    }

    fn table(&mut self, object: &Object) {
        let buffer = self.reflection.buffer();
        let Ok(table) = buffer.table(object.start as usize) else {
            let bytes = buffer.data().get(object.start as usize..object.end as usize).unwrap_or_default();
            return self.leaf(UNKNOWN, Value::Bytes(bytes), "", object.start as usize, object.end as usize);
        };
        let meaning = if object.node == NO_NODE { String::new() } else { NodeId(object.node).to_string() };
        self.open(object, object.schema.name, Value::None, &meaning);
        let start = object.start as usize;
        let back = u64::from(buffer.u32(start).unwrap_or(0));
        let mut at = start.saturating_add(WORD);
        self.leaf("vtable offset", Value::Hex(back), self.location(table.vtable()), start, at);

        let record = Record { schema: object.schema, table };
        let mut fields = core::mem::take(&mut self.fields);
        fields.clear();
        fields
            .extend((0..table.slot_count()).map(|slot| (table.entry(slot), slot)).filter(|&(at, _)| at != 0));
        fields.sort_unstable();
        for &(entry, slot) in &fields {
            let position = start.saturating_add(entry);
            let known = object.schema.slots.get(slot);
            let width = match known {
                Some(known) => known.kind.width(),
                None => table.extent(slot).ok().flatten().map_or(0, |(_, bytes)| bytes.len()),
            };
            let stop = position.saturating_add(width);
            // Fields outside the table were reported by the collector, and overlapping fields are harmless; each byte
            // is emitted once.
            if position < at || stop > object.end as usize || width == 0 {
                continue;
            }
            self.gap(at, position);
            at = stop;
            match record.field(slot) {
                Ok(Some(field)) => self.field(&field, position, stop),
                _ => {
                    let bytes = buffer.data().get(position..stop).unwrap_or_default();
                    let name = known.map_or(UNKNOWN, |known| known.name);
                    self.leaf(name, Value::Bytes(bytes), "cannot be followed", position, stop);
                }
            }
        }
        self.fields = fields;
        self.gap(at, object.end as usize);
        self.sink.close();
    }

    /// Emits a field inside its table.
    fn field(&mut self, field: &Field<'_>, start: usize, end: usize) {
        let buffer = self.reflection.buffer();
        let (value, meaning): (Value<'_>, Cow<'_, str>) = match &field.value {
            FieldValue::Bool(flag) => {
                (Value::Number((*flag).into()), Cow::Borrowed(if *flag { "yes" } else { "no" }))
            }
            FieldValue::Number(number) => (Value::Number((*number).into()), Cow::Borrowed("")),
            FieldValue::Enum(names, raw) => {
                (Value::Number((*raw).into()), Cow::Borrowed((names.value_name)(*raw).unwrap_or(UNKNOWN)))
            }
            FieldValue::Version(version) => {
                let bytes = buffer.data().get(start..end).unwrap_or_default();
                (Value::Bytes(bytes), Cow::Owned(version.to_string()))
            }
            FieldValue::Bitfield(bits) => {
                let bytes = buffer.data().get(start..end).unwrap_or_default();
                (Value::Bytes(bytes), Cow::Owned(format!("{} bits from {}", bits.bit_size, bits.bit_offset)))
            }
            FieldValue::Node(id) => (Value::Number(id.0.into()), self.node_name(*id)),
            FieldValue::NodeType(kind) => {
                (Value::Hex(kind.0.into()), Cow::Borrowed(kind.name().unwrap_or(UNKNOWN)))
            }
            FieldValue::Unknown(bytes) => (Value::Bytes(bytes), slot_name(field.slot)),
            _ => {
                let target = field.target.as_ref().map_or(0, |target| target.start);
                (Value::Hex(buffer.u32(start).unwrap_or(0).into()), Cow::Owned(format!("at {target:#x}")))
            }
        };
        self.leaf(field.name, value, meaning, start, end);
    }

    /// Returns the type of a referenced node.
    fn node_name(&self, id: NodeId) -> Cow<'static, str> {
        match self.reflection.node(id) {
            Ok(node) => match node.kind().name() {
                Some(name) => Cow::Borrowed(name),
                None => Cow::Owned(node.kind().to_string()),
            },
            Err(_) => Cow::Borrowed("no such node"),
        }
    }

    fn vector(&mut self, object: &Object) {
        let buffer = self.reflection.buffer();
        let (start, end) = (object.start as usize, object.end as usize);
        let kind = object.kind();
        let count = buffer.u32(start).unwrap_or(0);
        self.open(object, object.slot_name(), Value::None, object.schema.name);
        let first = start.saturating_add(WORD);
        self.leaf("count", Value::Number(count.into()), "", start, first);
        let size = if kind == Some(FieldKind::Numbers) { 8 } else { WORD };
        for (index, at) in (first..end).step_by(size).enumerate() {
            let word = buffer.u32(at).unwrap_or(0);
            let (value, meaning) = match kind {
                Some(FieldKind::Numbers) => (Value::Number(buffer.u64(at).unwrap_or(0)), Cow::Borrowed("")),
                Some(FieldKind::NodeIds) => (Value::Number(word.into()), self.node_name(NodeId(word))),
                _ => (Value::Hex(word.into()), Cow::Owned(self.location(at.saturating_add(word as usize)))),
            };
            self.leaf(element_name(index), value, meaning, at, at.saturating_add(size));
        }
        self.sink.close();
    }

    fn text(&mut self, object: &Object) {
        let buffer = self.reflection.buffer();
        let (start, end) = (object.start as usize, object.end as usize);
        let (first, last) = (start.saturating_add(WORD), end.saturating_sub(1));
        let text = buffer.data().get(first..last).unwrap_or_default();
        self.open(object, object.slot_name(), Value::Text(text), object.schema.name);
        self.leaf("length", Value::Number(buffer.u32(start).unwrap_or(0).into()), "", start, first);
        self.leaf("text", Value::Text(text), "", first, last);
        self.leaf("terminator", Value::Number(0), "", last, end);
        self.sink.close();
    }
}
