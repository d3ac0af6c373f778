//! A simple writer of flatbuffers: tables, vectors and strings are written where they are used. Nothing is shared.

use crate::encoder::Encoder;

/// A field's value.
#[derive(Clone, Debug)]
pub enum Value {
    /// A byte: a bool or an enumerator.
    U8(u8),
    /// A 32-bit number, or a struct of one.
    U32(u32),
    /// A struct of 32-bit numbers.
    Words(Vec<u32>),
    /// A string.
    Text(&'static str),
    /// A table.
    Table(Table),
    /// A vector of tables.
    Tables(Vec<Table>),
    /// A vector of 32-bit numbers.
    Numbers(Vec<u32>),
}

/// A table: its fields by their byte offset in the vtable, from 4.
#[derive(Clone, Debug, Default)]
pub struct Table(pub Vec<(u16, Value)>);

impl Table {
    /// Creates a table with these fields.
    pub fn new(fields: impl IntoIterator<Item = (u16, Value)>) -> Self {
        Self(fields.into_iter().collect())
    }
}

/// Builds a flatbuffer.
pub fn build(identifier: &[u8; 4], root: &Table) -> Vec<u8> {
    let mut out = Encoder::default();
    let offset = out.later(4);
    out.raw(identifier);
    let at = write_table(&mut out, root);
    out.set(offset, at);
    out.finish().0
}

/// Writes a vtable, its table, and the targets of its fields. Returns the position of the table.
fn write_table(out: &mut Encoder, table: &Table) -> usize {
    let size = |value: &Value| match value {
        Value::U8(_) => 1,
        Value::Words(words) => 4 * words.len(),
        _ => 4,
    };
    // Larger fields first, so that the bytes at the end need no padding.
    let mut order: Vec<&(u16, Value)> = table.0.iter().collect();
    order.sort_by_key(|(_, value)| size(value) == 1);
    let vtable_size = table.0.iter().map(|(entry, _)| entry + 2).max().unwrap_or(4);
    out.align(2);
    let vtable = out.len();
    let mut entries = vec![0u16; usize::from(vtable_size / 2)];
    let mut end = 4;
    for (entry, value) in &order {
        entries[usize::from(entry / 2)] = end as u16;
        end += size(value);
    }
    entries[0] = vtable_size;
    entries[1] = end as u16;
    for entry in entries {
        out.u16(entry);
    }
    out.align(4);
    let start = out.len();
    out.u32((start - vtable) as u32);
    let mut pointers = Vec::new();
    for (_, value) in order {
        match value {
            Value::U8(number) => out.u8(*number),
            Value::U32(number) => out.u32(*number),
            Value::Words(words) => words.iter().for_each(|word| out.u32(*word)),
            _ => pointers.push((out.len(), out.later(4), value)),
        }
    }
    for (at, slot, value) in pointers {
        let target = write_target(out, value);
        out.set(slot, target - at);
    }
    start
}

/// Writes the target of a field.
fn write_target(out: &mut Encoder, value: &Value) -> usize {
    if let Value::Table(table) = value {
        return write_table(out, table);
    }
    out.align(4);
    let start = out.len();
    match value {
        Value::Text(text) => {
            out.u32(text.len() as u32);
            out.c_string(text.as_bytes());
        }
        Value::Numbers(numbers) => {
            out.u32(numbers.len() as u32);
            numbers.iter().for_each(|number| out.u32(*number));
        }
        Value::Tables(tables) => {
            out.u32(tables.len() as u32);
            let slots: Vec<_> = tables.iter().map(|_| (out.len(), out.later(4))).collect();
            for ((at, slot), table) in slots.into_iter().zip(tables) {
                let target = write_table(out, table);
                out.set(slot, target - at);
            }
        }
        _ => {}
    }
    start
}
