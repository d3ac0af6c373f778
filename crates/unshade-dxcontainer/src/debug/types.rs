//! The types of a program database, in CodeView format, and the names of variable components.
//!
//! The stream: at 4 u32 size of this header, u32 number of the first type, u32 number after the last, u32 size of the
//! types; then for each type u16 size, u16 kind:
//!
//! | kind | contents |
//! |---|---|
//! | 0x1203 list of fields | u16 0x150d, u16, u32 type, number offset, name; padded with bytes from 0xf0 on |
//! | 0x1505 structure | u16, u16, u32 list of fields, 8 bytes, number size, name |
//! | 0x1516 array | u32 type of an element, u32, u32 stride, number size |
//! | 0x1517 built-in | u32, u16 kind |
//! | 0x1518 with modifiers | u32 type |
//! | 0x151b vector | u32 type of a component, u32, number size, name |
//! | 0x151c matrix | u32 type of a component, u32 rows, u32 columns, u32 stride of rows or columns, u8 whether it is row-major, number size, name |
//!
//! A number is a u16, or a u16 from 0x8000 on (a leaf kind) followed by the number. Types below 0x1000 are simple
//! types.
//!
//! Sources: Microsoft's `cvinfo.h` and LLVM's `CodeViewTypes.def`; FXC's text for the spelling of names.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt::Write;
use unshade_core::{Escaped, Reader, Result};

const FIELD_LIST: u16 = 0x1203;
const MEMBER: u16 = 0x150d;
const STRUCTURE: u16 = 0x1505;
const ARRAY: u16 = 0x1516;
const BUILT_IN: u16 = 0x1517;
const MODIFIED: u16 = 0x1518;
const VECTOR: u16 = 0x151b;
const MATRIX: u16 = 0x151c;

/// The first number that is not a simple type.
const FIRST_TYPE: u32 = 0x1000;
/// Maximum nesting depth of types.
const MAX_DEPTH: usize = 32;
/// Maximum work per byte of the types, counted in visited fields and written bytes of names: hostile types could take
/// forever. Real ones need less than two.
const WORK_PER_BYTE: usize = 64;

/// FXC's messages where the types do not give a name.
const PAST_THE_END: &str = "offset overruns length for type in PDB";
const NO_MEMBER: &str = "could not get find UDT child with correct offset in PDB";

/// The types of a program database.
pub(super) struct Types<'a> {
    first: u32,
    records: Vec<(u16, &'a [u8])>,
    work_left: Cell<usize>,
}

impl<'a> Types<'a> {
    pub(super) fn read(stream: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(stream);
        reader.skip(4)?;
        let (header, first) = (reader.u32()?, reader.u32()?);
        reader.skip(4)?;
        let size = reader.u32()?;
        let mut rest = reader.part(header.into(), size.into())?;
        let mut records = Vec::new();
        while !rest.is_empty() {
            let size = rest.u16()?;
            let mut record = rest.split(size.into())?;
            records.push((record.u16()?, record.rest()));
        }
        let work_left = Cell::new(stream.len().saturating_mul(WORK_PER_BYTE));
        Ok(Self { first, records, work_left })
    }

    fn record(&self, number: u32) -> Option<(u16, Reader<'a>)> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.records.get(index).map(|(kind, bytes)| (*kind, Reader::new(bytes)))
    }

    /// Returns the size of a type in bytes.
    pub(super) fn size(&self, mut number: u32) -> Option<u32> {
        for _ in 0..MAX_DEPTH {
            if number < FIRST_TYPE {
                return Some(simple_size(number));
            }
            let (kind, mut record) = self.record(number)?;
            let skipped = match kind {
                MODIFIED => {
                    number = record.u32().ok()?;
                    continue;
                }
                BUILT_IN => return Some(4),
                VECTOR => 8,
                ARRAY => 12,
                STRUCTURE => 16,
                MATRIX => 17,
                _ => return None,
            };
            record.skip(skipped).ok()?;
            return number_field(&mut record);
        }
        None
    }

    /// Returns the name of the part of a variable at an offset, and FXC's message if there is one; `None` if the work
    /// budget is exhausted.
    pub(super) fn name(
        &self,
        variable: &[u8],
        number: u32,
        offset: u32,
        size: u32,
    ) -> Option<(String, Option<&'static str>)> {
        self.work_left.set(self.work_left.get().checked_sub(variable.len())?);
        let mut name = format!("{}", Escaped(variable));
        let is_all = offset == 0 && self.size(number) == Some(size);
        let fault = if is_all { None } else { self.select(&mut name, number, offset) };
        self.work_left.set(self.work_left.get().checked_sub(name.len())?);
        Some((name, fault))
    }

    /// Appends the component at an offset of a type.
    fn select(&self, name: &mut String, mut number: u32, mut offset: u32) -> Option<&'static str> {
        for _ in 0..MAX_DEPTH {
            if number < FIRST_TYPE {
                return None;
            }
            let Some((kind, record)) = self.record(number) else { return Some(NO_MEMBER) };
            let inner = match kind {
                MODIFIED => Reader::u32(&mut { record }).ok().map(|number| (number, offset)),
                STRUCTURE => self.member(name, record, offset),
                ARRAY => match element(name, record, offset) {
                    None => return Some(PAST_THE_END),
                    inner => inner,
                },
                VECTOR => return vector_component(name, record, offset),
                MATRIX => return matrix_component(name, record, offset),
                BUILT_IN => {
                    let kind = built_in_kind(record).unwrap_or(0);
                    let _ = write!(name, "<unknown HLSL built-in {kind} offset {offset}>");
                    return None;
                }
                _ => None,
            };
            let Some((next, rest)) = inner else { return Some(NO_MEMBER) };
            (number, offset) = (next, rest);
        }
        None
    }

    /// Appends the member at an offset; returns its type and the offset in it.
    fn member(&self, name: &mut String, mut record: Reader<'a>, offset: u32) -> Option<(u32, u32)> {
        record.skip(4).ok()?;
        let (FIELD_LIST, mut fields) = self.record(record.u32().ok()?)? else { return None };
        while !fields.is_empty() {
            self.work_left.set(self.work_left.get().checked_sub(1)?);
            // Padding.
            if let Some(filler @ 0xf0..) = fields.rest().first() {
                fields.skip(u64::from(filler & 0xf).max(1)).ok()?;
                continue;
            }
            if fields.u16().ok()? != MEMBER {
                return None;
            }
            fields.skip(2).ok()?;
            let (number, start) = (fields.u32().ok()?, number_field(&mut fields)?);
            let member = fields.c_string().ok()?;
            let inside = offset.checked_sub(start);
            if let Some(inside) = inside.filter(|inside| self.size(number).is_some_and(|size| *inside < size))
            {
                let _ = write!(name, ".{}", Escaped(member));
                return Some((number, inside));
            }
        }
        None
    }
}

/// Appends the element at an offset; returns its type and the offset in it.
fn element(name: &mut String, mut record: Reader<'_>, offset: u32) -> Option<(u32, u32)> {
    let number = record.u32().ok()?;
    record.skip(4).ok()?;
    let distance = record.u32().ok()?;
    let size = number_field(&mut record)?;
    let (index, rest) = (offset.checked_div(distance)?, offset.checked_rem(distance)?);
    if offset >= size {
        return None;
    }
    let _ = write!(name, "[{index}]");
    Some((number, rest))
}

fn vector_component(name: &mut String, mut record: Reader<'_>, offset: u32) -> Option<&'static str> {
    let size = simple_size(record.u32().unwrap_or(0));
    let component = usize::try_from(offset.checked_div(size).unwrap_or(0)).ok();
    match component.and_then(|component| ["x", "y", "z", "w"].get(component)) {
        Some(letter) => {
            let _ = write!(name, ".{letter}");
            None
        }
        None => Some(PAST_THE_END),
    }
}

fn matrix_component(name: &mut String, record: Reader<'_>, offset: u32) -> Option<&'static str> {
    let element = || {
        let mut record = record;
        let size = simple_size(record.u32().ok()?);
        record.skip(8).ok()?;
        let (distance, attributes) = (record.u32().ok()?, record.u8().ok()?);
        let major = offset.checked_div(distance)?;
        let minor = offset.checked_rem(distance)?.checked_div(size)?;
        Some(if attributes & 1 == 1 { (major, minor) } else { (minor, major) })
    };
    match element() {
        Some((row, column)) => {
            let _ = write!(name, "._m{row}{column}");
            None
        }
        None => Some(PAST_THE_END),
    }
}

fn built_in_kind(mut record: Reader<'_>) -> Option<u16> {
    record.skip(4).ok()?;
    record.u16().ok()
}

/// Returns the size of a simple type in registers, in bytes.
fn simple_size(number: u32) -> u32 {
    const DOUBLE: u32 = 0x41;
    if number == DOUBLE { 8 } else { 4 }
}

/// Reads a number of any width.
fn number_field(reader: &mut Reader<'_>) -> Option<u32> {
    match reader.u16().ok()? {
        0x8001 | 0x8002 => reader.u16().ok().map(u32::from),
        0x8003 | 0x8004 => reader.u32().ok(),
        small => (small < 0x8000).then(|| small.into()),
    }
}
