//! Builds reflection buffers in the layout of Apple's writer.
//!
//! The writer is a `FlatBufferBuilder`, which grows downwards: what is written first ends up last. The rules below
//! were inferred from 36,268 real buffers, all of which are reproduced exactly:
//!
//! - A table is written after everything it refers to: for each field, from slot 0, the text, list or table that the
//!   field points to; the tables of a list from first to last, then the list. The body of a node is written before the
//!   node. The root is last.
//! - Equal texts are written once (`CreateSharedString`), and so are equal vtables. Lists are not shared.
//! - The fields of a table are written in two passes: first four-byte fields and all structs, whatever their size, then
//!   single bytes. Each pass goes from the last slot to the first, so that in the file the fields are in slot order,
//!   single bytes first. For the builtin arguments of kernels the direction is reversed; this builder does the same for
//!   all tables of that shape.
//! - Numbers and offsets are aligned to four bytes, elements of 64 bits to eight. A table's size includes the padding
//!   of its last field. A vtable ends with its last present field.
//! - All fields with a value are written. Whether to omit a field that has its default value is decided by the caller,
//!   who knows whether the original file had it.
//!
//! Source: <https://flatbuffers.dev/internals/>.

use super::NodeId;
use super::flatbuffer::WORD;
use super::schema::{self, FieldKind, TableSchema};
use super::tables::{OwnedTable, Value};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// A flatbuffer under construction. Positions are counted from its end.
#[derive(Default)]
pub(super) struct Builder<'t> {
    /// The bytes written so far, last byte first.
    reversed: Vec<u8>,
    /// The position of each text.
    texts: BTreeMap<&'t [u8], usize>,
    /// The position of each vtable.
    vtables: BTreeMap<Vec<u8>, usize>,
    /// The largest alignment so far.
    alignment: usize,
}

/// A field as stored in its table.
enum Inline {
    /// A buffer with the bytes, and their number.
    Bytes([u8; 12], usize),
    /// An offset to this position.
    Offset(usize),
}

impl<'t> Builder<'t> {
    /// Builds a buffer with a root table.
    pub(super) fn buffer(mut self, root: &'t OwnedTable<'_>) -> Result<Vec<u8>> {
        let root = self.table(root)?;
        self.align(schema::IDENTIFIER.len().saturating_add(WORD), self.alignment.max(WORD));
        self.put(&schema::IDENTIFIER);
        self.offset(root)?;
        self.reversed.reverse();
        Ok(self.reversed)
    }

    fn position(&self) -> usize {
        self.reversed.len()
    }

    fn put(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    /// Writes zeros, so that the position is aligned after `following` more bytes.
    fn align(&mut self, following: usize, alignment: usize) {
        self.alignment = self.alignment.max(alignment);
        let end = self.position().saturating_add(following);
        let zeros = end.next_multiple_of(alignment).saturating_sub(end);
        self.reversed.resize(self.position().saturating_add(zeros), 0);
    }

    fn word(&mut self, value: usize) -> Result<()> {
        let value = u32::try_from(value).map_err(|_| too_large())?;
        self.align(0, WORD);
        self.put(&value.to_le_bytes());
        Ok(())
    }

    /// Writes an offset from here to a position.
    fn offset(&mut self, target: usize) -> Result<()> {
        self.align(0, WORD);
        self.word(self.position().saturating_add(WORD).saturating_sub(target))
    }

    fn text(&mut self, text: &'t [u8]) -> Result<usize> {
        if let Some(position) = self.texts.get(text) {
            return Ok(*position);
        }
        self.align(text.len().saturating_add(1), WORD);
        self.put(&[0]);
        self.put(text);
        self.word(text.len())?;
        self.texts.insert(text, self.position());
        Ok(self.position())
    }

    /// Writes a list of elements that are stored inline.
    fn list<const N: usize>(
        &mut self,
        elements: impl DoubleEndedIterator<Item = [u8; N]> + ExactSizeIterator,
    ) -> Result<usize> {
        let count = elements.len();
        let size = count.saturating_mul(N);
        self.align(size, WORD);
        self.align(size, N);
        elements.rev().for_each(|element| self.put(&element));
        self.word(count)?;
        Ok(self.position())
    }

    /// Writes a list of offsets.
    fn offsets(&mut self, targets: &[usize]) -> Result<usize> {
        self.align(targets.len().saturating_mul(WORD), WORD);
        targets.iter().rev().try_for_each(|target| self.offset(*target))?;
        self.word(targets.len())?;
        Ok(self.position())
    }

    /// Writes a table after everything it refers to.
    fn table(&mut self, table: &'t OwnedTable<'_>) -> Result<usize> {
        let mut fields = Vec::new();
        for (slot, value) in table.numbered() {
            let kind = table.schema().slots.get(slot).map_or(FieldKind::U32, |slot| slot.kind);
            fields.push((slot, is_single_byte(kind), self.value(value)?));
        }
        self.fields(&fields, is_written_forwards(table.schema()))
    }

    /// Writes what a value refers to. Returns what to store in the table.
    fn value(&mut self, value: &'t Value<'_>) -> Result<Inline> {
        let words = |words: [u32; 3]| {
            let mut bytes = [0; 12];
            bytes.copy_from_slice(words.map(u32::to_le_bytes).as_flattened());
            Inline::Bytes(bytes, 12)
        };
        let word = |word: u32| {
            let [a, b, c, d] = word.to_le_bytes();
            Inline::Bytes([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0], WORD)
        };
        let byte = |byte: u8| Inline::Bytes([byte, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1);
        Ok(match value {
            Value::Bool(flag) => byte((*flag).into()),
            Value::Enum(value) => byte(*value),
            Value::Number(number) => word(*number),
            Value::Node(NodeId(id)) => word(*id),
            Value::Version(version) => words([version.major, version.minor, version.sub_minor]),
            Value::Bitfield(bitfield) => {
                words([bitfield.bit_offset, bitfield.bit_size, bitfield.storage_size])
            }
            Value::Text(text) => Inline::Offset(self.text(text)?),
            Value::Nodes(ids) => Inline::Offset(self.list(ids.iter().map(|id| id.0.to_le_bytes()))?),
            Value::Numbers(numbers) => {
                Inline::Offset(self.list(numbers.iter().map(|number| number.to_le_bytes()))?)
            }
            Value::Texts(texts) => {
                let targets = texts.iter().map(|text| self.text(text)).collect::<Result<Vec<_>>>()?;
                Inline::Offset(self.offsets(&targets)?)
            }
            Value::Table(table) => Inline::Offset(self.table(table)?),
            Value::Tables(tables) => {
                let targets = tables.iter().map(|table| self.element(table)).collect::<Result<Vec<_>>>()?;
                Inline::Offset(self.offsets(&targets)?)
            }
        })
    }

    /// Writes a table of a list. If it is the body of a node, writes the node (a table of two fields) as well.
    fn element(&mut self, table: &'t OwnedTable<'_>) -> Result<usize> {
        let body = self.table(table)?;
        let Some(kind) = table.node_type() else { return Ok(body) };
        let [a, b, c, d] = kind.0.to_le_bytes();
        let kind = Inline::Bytes([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0], WORD);
        self.fields(&[(0, false, kind), (1, false, Inline::Offset(body))], false)
    }

    /// Writes a table of fields: slot, whether it is a single byte, and value.
    fn fields(&mut self, fields: &[(usize, bool, Inline)], forwards: bool) -> Result<usize> {
        let start = self.position();
        let slots = fields.last().map_or(0, |(slot, ..)| slot.saturating_add(1));
        let mut ends = alloc::vec![0; slots];
        for single in [false, true] {
            for index in 0..fields.len() {
                let index =
                    if forwards { index } else { fields.len().saturating_sub(index).saturating_sub(1) };
                let Some((slot, _, inline)) = fields.get(index).filter(|field| field.1 == single) else {
                    continue;
                };
                self.inline(inline)?;
                if let Some(end) = ends.get_mut(*slot) {
                    *end = self.position();
                }
            }
        }
        self.word(0)?;
        let table = self.position();
        let vtable = vtable(&ends, table, start)?;
        let position = match self.vtables.get(&vtable) {
            Some(position) => *position,
            None => {
                self.put(&vtable);
                self.vtables.insert(vtable, self.position());
                self.position()
            }
        };
        // The vtable is before the table; after it if an earlier vtable is shared.
        let distance = i64::try_from(position).ok().zip(i64::try_from(table).ok());
        let distance = distance.and_then(|(vtable, table)| i32::try_from(vtable.checked_sub(table)?).ok());
        let mut bytes = distance.ok_or_else(too_large)?.to_le_bytes();
        bytes.reverse();
        let place = self.reversed.get_mut(table.saturating_sub(WORD)..table);
        place.ok_or_else(too_large)?.copy_from_slice(&bytes);
        Ok(table)
    }

    fn inline(&mut self, inline: &Inline) -> Result<()> {
        match inline {
            Inline::Offset(target) => self.offset(*target),
            Inline::Bytes(bytes, size) => {
                self.align(0, (*size).min(WORD));
                self.put(bytes.get(..*size).unwrap_or_default());
                Ok(())
            }
        }
    }
}

/// Returns a vtable: its size, the size of the table, and the offset of each field, given where each was written.
fn vtable(ends: &[usize], table: usize, start: usize) -> Result<Vec<u8>> {
    let size = ends.len().saturating_add(2).saturating_mul(2);
    let places = ends.iter().map(|end| if *end == 0 { 0 } else { table.saturating_sub(*end) });
    let entries = [size, table.saturating_sub(start)].into_iter().chain(places);
    let mut bytes = Vec::with_capacity(size);
    for entry in entries {
        bytes.extend_from_slice(&u16::try_from(entry).map_err(|_| too_large())?.to_le_bytes());
    }
    Ok(bytes)
}

/// Returns whether a field is written in the second pass. Structs are not, even a struct of one bool.
fn is_single_byte(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Bool | FieldKind::Enum(_))
}

/// Returns whether the fields of a table are written from first slot to last.
fn is_written_forwards(table: &TableSchema) -> bool {
    *table.slots == *schema::BUILTIN
}

#[cold]
fn too_large() -> Error {
    Error::without_offset(ErrorKind::Limit, "reflection is too large for its offsets")
}
