//! Test support: builds flatbuffers, and finds reflections in whole files.

use super::schema::{self, FieldKind, NodeType, TableSchema};
use alloc::vec;
use alloc::vec::Vec;

/// A field's value, for [`table`] and [`node`].
#[derive(Clone, Debug)]
pub(super) enum V {
    Bool(bool),
    Byte(u8),
    Number(u32),
    Words([u32; 3]),
    Text(&'static str),
    Ids(Vec<u32>),
    Numbers(Vec<u64>),
    Texts(Vec<&'static str>),
    Table(Tab),
    Tables(Vec<Tab>),
}

/// A table's fields, by slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Tab(pub(super) Vec<Option<V>>);

/// Builds a table from the names of its slots.
pub(super) fn table(schema: &TableSchema, fields: &[(&str, V)]) -> Tab {
    let mut tab = Tab(vec![None; schema.slots.len()]);
    for (name, value) in fields {
        let slot = schema.slots.iter().position(|slot| slot.name == *name);
        let slot = slot.unwrap_or_else(|| panic!("{} has no slot {name}", schema.name));
        tab.0[slot] = Some(value.clone());
    }
    while matches!(tab.0.last(), Some(None)) {
        tab.0.pop();
    }
    tab
}

/// Builds a node from the names of its slots.
pub(super) fn node(kind: NodeType, fields: &[(&str, V)]) -> Tab {
    let body = table(&kind.schema().expect("known").table, fields);
    Tab(vec![Some(V::Number(kind.0)), Some(V::Table(body))])
}

/// Returns a value that fits a slot of this kind.
pub(super) fn any(kind: FieldKind) -> V {
    match kind {
        FieldKind::Bool | FieldKind::BoolValue => V::Bool(true),
        FieldKind::Enum(_) => V::Byte(2),
        FieldKind::Version | FieldKind::Bitfield => V::Words([1, 2, 3]),
        FieldKind::Text => V::Text("text"),
        FieldKind::NodeIds => V::Ids(vec![0, 1]),
        FieldKind::Numbers => V::Numbers(vec![7, u64::MAX]),
        FieldKind::Texts => V::Texts(vec!["a", "longer"]),
        FieldKind::Table(schema) => V::Table(full(schema)),
        FieldKind::Tables(schema) => V::Tables(vec![full(schema), full(schema)]),
        FieldKind::U32 | FieldKind::UIntValue | FieldKind::NodeId | FieldKind::NodeType => V::Number(1),
        FieldKind::Nodes | FieldKind::NodeBody => panic!("not a field of a node type"),
    }
}

/// Returns a table with every slot present.
pub(super) fn full(schema: &TableSchema) -> Tab {
    Tab(schema.slots.iter().map(|slot| Some(any(slot.kind))).collect())
}

/// Builds a reflection from nodes and root lists, after `padding` zero bytes.
pub(super) fn reflection(padding: usize, nodes: Vec<Tab>, lists: &[(&str, V)]) -> Vec<u8> {
    let mut fields = vec![("version", V::Words([0, 4, 0])), ("nodes", V::Tables(nodes))];
    fields.extend_from_slice(lists);
    payload(padding, &table(&schema::ROOT, &fields))
}

/// Builds a flatbuffer from a root table, after `padding` zero bytes.
pub(super) fn payload(padding: usize, root: &Tab) -> Vec<u8> {
    let mut data = vec![0; 4];
    data.extend(schema::IDENTIFIER);
    write_table(&mut data, 0, root);
    let mut payload = vec![0; padding];
    payload.extend(data);
    payload
}

fn align(data: &mut Vec<u8>, size: usize) {
    while !data.len().is_multiple_of(size) {
        data.push(0);
    }
}

/// Makes the offset at `reference` point to the end of the data.
fn patch(data: &mut [u8], reference: usize, target: usize) {
    let offset = u32::try_from(target - reference).unwrap();
    data[reference..reference + 4].copy_from_slice(&offset.to_le_bytes());
}

fn write_table(data: &mut Vec<u8>, reference: usize, tab: &Tab) {
    let mut inline = vec![0u8; 4];
    let mut entries = Vec::new();
    let mut children = Vec::new();
    for value in &tab.0 {
        let Some(value) = value else {
            entries.push(0);
            continue;
        };
        if !matches!(value, V::Bool(_) | V::Byte(_)) {
            align(&mut inline, 4);
        }
        entries.push(u16::try_from(inline.len()).unwrap());
        match value {
            V::Bool(flag) => inline.push(u8::from(*flag)),
            V::Byte(byte) => inline.push(*byte),
            V::Number(number) => inline.extend(number.to_le_bytes()),
            V::Words(words) => words.iter().for_each(|word| inline.extend(word.to_le_bytes())),
            _ => {
                children.push((inline.len(), value));
                inline.extend([0; 4]);
            }
        }
    }
    // The vtable ends where the table starts, and the table is aligned.
    let vtable_size = 4 + 2 * entries.len();
    while !(data.len() + vtable_size).is_multiple_of(4) {
        data.push(0);
    }
    data.extend(u16::try_from(vtable_size).unwrap().to_le_bytes());
    data.extend(u16::try_from(inline.len()).unwrap().to_le_bytes());
    entries.iter().for_each(|entry| data.extend(entry.to_le_bytes()));
    let start = data.len();
    inline[..4].copy_from_slice(&u32::try_from(vtable_size).unwrap().to_le_bytes());
    data.extend(inline);
    patch(data, reference, start);
    for (at, value) in children {
        write_child(data, start + at, value);
    }
}

fn write_text(data: &mut Vec<u8>, reference: usize, text: &str) {
    align(data, 4);
    let at = data.len();
    patch(data, reference, at);
    data.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
    data.extend(text.as_bytes());
    data.push(0);
}

fn write_child(data: &mut Vec<u8>, reference: usize, value: &V) {
    match value {
        V::Text(text) => return write_text(data, reference, text),
        V::Table(tab) => return write_table(data, reference, tab),
        V::Numbers(_) => {
            while data.len() % 8 != 4 {
                data.push(0);
            }
        }
        _ => align(data, 4),
    }
    let at = data.len();
    patch(data, reference, at);
    let count = match value {
        V::Ids(list) => list.len(),
        V::Numbers(list) => list.len(),
        V::Texts(list) => list.len(),
        V::Tables(list) => list.len(),
        _ => panic!("not a reference"),
    };
    data.extend(u32::try_from(count).unwrap().to_le_bytes());
    match value {
        V::Ids(list) => list.iter().for_each(|id| data.extend(id.to_le_bytes())),
        V::Numbers(list) => list.iter().for_each(|number| data.extend(number.to_le_bytes())),
        V::Texts(list) => {
            data.extend(vec![0; 4 * list.len()]);
            for (index, text) in list.iter().enumerate() {
                write_text(data, at + 4 + 4 * index, text);
            }
        }
        V::Tables(list) => {
            data.extend(vec![0; 4 * list.len()]);
            for (index, tab) in list.iter().enumerate() {
                write_table(data, at + 4 + 4 * index, tab);
            }
        }
        _ => {}
    }
}

/// A reflection buffer in a file, and the names of the functions that refer to it.
pub(super) struct Found<'a> {
    pub(super) offset: u64,
    pub(super) payload: &'a [u8],
    pub(super) names: Vec<&'a [u8]>,
}

/// Finds the reflections of a whole library with a deliberately naive parser.
pub(super) fn reflections(file: &[u8]) -> Vec<Found<'_>> {
    let u16_at = |at: usize| usize::from(u16::from_le_bytes(file[at..at + 2].try_into().unwrap()));
    let u32_at = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let u64_at =
        |at: usize| usize::try_from(u64::from_le_bytes(file[at..at + 8].try_into().unwrap())).unwrap();
    if file.len() < 88 || !file.starts_with(b"MTLB") {
        return Vec::new();
    }
    let (functions, size) = (u64_at(24), u64_at(32));
    let mut list = None;
    let mut at = functions + 4 + size;
    while at < u64_at(40) && &file[at..at + 4] != b"ENDT" {
        if &file[at..at + 4] == b"RLST" {
            list = Some(u64_at(at + 6));
        }
        at += 6 + u16_at(at + 4);
    }
    let Some(list) = list else { return Vec::new() };
    let mut found = Vec::new();
    let mut starts = Vec::new();
    at = list + 4;
    for _ in 0..u32_at(list) {
        let length = u32_at(at + 8);
        starts.push(at - list);
        found.push(Found {
            offset: at as u64 + 12,
            payload: &file[at + 12..at + 12 + length],
            names: Vec::new(),
        });
        at += u32_at(at);
    }
    at = functions + 4;
    for _ in 0..u32_at(functions) {
        let end = at + u32_at(at);
        at += 4;
        let (mut name, mut reflection) = (&[][..], None);
        while &file[at..at + 4] != b"ENDT" {
            let (start, stop) = (at + 6, at + 6 + u16_at(at + 4));
            match &file[at..at + 4] {
                b"NAME" => name = &file[start..stop - 1],
                b"RFLT" => reflection = Some(u64_at(start)),
                _ => {}
            }
            at = stop;
        }
        if let Some(index) = reflection.and_then(|offset| starts.binary_search(&offset).ok()) {
            found[index].names.push(name);
        }
        at = end;
    }
    found
}
