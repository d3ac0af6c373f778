//! Records and definitions of abbreviations: what their bits are.
//!
//! A record is decoded twice by the same code: first to find its end and its text, then to emit its parts.

use super::walk::{Fault, Walk};
use crate::bitstream::{Abbreviations, BitReader, Definition, Scalar, Tail};
use alloc::format;
use alloc::string::String;
use core::ops::Range;
use unshade_core::{ErrorKind, Escaped, Value};

/// Maximum number of characters of a record's text that are shown beside it.
const MAX_TEXT: usize = 256;

/// Records whose operands are characters from some operand on: block, code, operand.
#[rustfmt::skip]
const TEXTS: &[(u32, u32, usize)] = &[
    (8, 2, 0), (8, 3, 0), (8, 4, 0), (8, 5, 0), (8, 6, 0), (8, 11, 0), (8, 16, 0),
    (11, 8, 0), (11, 9, 0), (13, 1, 0), (14, 1, 1), (14, 2, 1), (14, 3, 2),
    (15, 1, 0), (15, 4, 0), (15, 6, 1), (17, 19, 0), (19, 1, 1), (21, 1, 0), (22, 6, 1), (26, 1, 0),
];

/// How a record is written.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    Unabbreviated,
    Abbreviated(Definition),
}

/// What measuring a record gave.
pub(super) struct Measured {
    pub(super) code: u32,
    /// The first operand.
    pub(super) first: Option<u64>,
    /// Where it ends, in bits of the stream.
    pub(super) end: usize,
    /// The first operand that is a character.
    text_start: Option<usize>,
}

/// A part of a record.
enum Part {
    Code(u64),
    Count(u64),
    /// An operand, and whether the abbreviation states it.
    Operand(u64, bool),
    ArrayLength(u64),
    BlobLength(u64),
    Padding,
    Blob,
}

/// Decodes a record after its abbreviation id, up to `limit`, and gives each part with its bits.
fn decode(
    bits: &mut BitReader<'_>,
    layout: Layout,
    abbreviations: &Abbreviations,
    limit: usize,
    take: &mut dyn FnMut(Part, Range<usize>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut next = |part: &dyn Fn(u64) -> Part, bits: &mut BitReader<'_>, scalar: Scalar| {
        let start = bits.position();
        let value = scalar.read(bits);
        let end = bits.position();
        if end > limit {
            return Err((ErrorKind::Truncated, "record that reaches past the end of its block"));
        }
        take(part(value), start..end)?;
        Ok(value)
    };
    let definition = match layout {
        Layout::Unabbreviated => {
            next(&Part::Code, bits, Scalar::Variable(6))?;
            let count = next(&Part::Count, bits, Scalar::Variable(6))?;
            for _ in 0..count {
                next(&|value| Part::Operand(value, false), bits, Scalar::Variable(6))?;
            }
            return Ok(());
        }
        Layout::Abbreviated(definition) => definition,
    };
    let mut scalars = abbreviations.scalars(definition).iter();
    if let Some(code) = scalars.next() {
        next(&Part::Code, bits, *code)?;
    }
    for scalar in scalars {
        let literal = matches!(scalar, Scalar::Literal(_));
        next(&|value| Part::Operand(value, literal), bits, *scalar)?;
    }
    match definition.tail {
        Tail::None => {}
        Tail::Array(element) => {
            let count = next(&Part::ArrayLength, bits, Scalar::Variable(6))?;
            for _ in 0..count {
                next(&|value| Part::Operand(value, false), bits, element)?;
            }
        }
        Tail::Blob => {
            let length = next(&Part::BlobLength, bits, Scalar::Variable(6))?;
            let length = usize::try_from(length).unwrap_or(usize::MAX).saturating_mul(8);
            let start = bits.position();
            bits.align();
            let blob = bits.position();
            let end = blob.saturating_add(length);
            if end > limit {
                return Err((ErrorKind::Truncated, "blob that reaches past the end of its block"));
            }
            take(Part::Padding, start..blob)?;
            take(Part::Blob, blob..end)?;
            bits.seek(end);
            bits.align();
            take(Part::Padding, end..bits.position().min(limit))?;
        }
    }
    Ok(())
}

impl Measured {
    /// The text of the record, quoted; empty if it has none.
    pub(super) fn text(&self, characters: &[u8]) -> String {
        let text = self.text_start.and_then(|start| characters.get(start..)).unwrap_or_default();
        if text.is_empty() || !text.iter().all(|byte| matches!(byte, b' '..=b'~')) {
            return String::new();
        }
        let mut shown = Escaped(text.get(..MAX_TEXT).unwrap_or(text)).quoted();
        if text.len() > MAX_TEXT {
            shown.push('…');
        }
        shown
    }
}

impl Walk<'_, '_> {
    /// How a record with this abbreviation id is written.
    pub(super) fn layout(&self, id: u64) -> Result<Layout, Fault> {
        if id == 3 {
            return Ok(Layout::Unabbreviated);
        }
        let index = usize::try_from(id).unwrap_or(usize::MAX).wrapping_sub(4);
        let definition = self.abbreviation(index).and_then(|number| self.abbreviations.definition(number));
        match definition {
            Some(definition) if self.abbreviations.scalars(definition).is_empty() && definition.tail == Tail::None => {
                Err((ErrorKind::BadValue, "abbreviation without a code"))
            }
            Some(definition) => Ok(Layout::Abbreviated(definition)),
            None => Err((ErrorKind::BadValue, "record with an unknown abbreviation")),
        }
    }

    /// Finds the end of the record at the position, and its text.
    pub(super) fn measure(&mut self, layout: Layout) -> Result<Measured, Fault> {
        let mut bits = self.bits;
        let mut measured = Measured { code: u32::MAX, first: None, end: 0, text_start: None };
        self.text.clear();
        let limit = self.limit();
        let (text, budget) = (&mut self.text, &mut *self.budget);
        let mut count = 0usize;
        let mut array = None;
        decode(&mut bits, layout, &self.abbreviations, limit, &mut |part, range| {
            match part {
                Part::Code(code) => measured.code = u32::try_from(code).unwrap_or(u32::MAX),
                Part::Operand(value, _) => {
                    if range.is_empty() {
                        *budget = budget
                            .checked_sub(1)
                            .ok_or((ErrorKind::Limit, "more operands of no bits than the file has bits"))?;
                    }
                    measured.first = measured.first.or(Some(value));
                    count = count.saturating_add(1);
                    if text.len() <= MAX_TEXT.saturating_add(2) {
                        text.push(u8::try_from(value).unwrap_or(0));
                    }
                }
                Part::ArrayLength(_) => array = Some(count),
                _ => {}
            }
            Ok(())
        })?;
        measured.end = bits.position().min(limit);
        let block = self.block();
        measured.text_start = TEXTS
            .iter()
            .find(|(of, code, _)| (*of, *code) == (block, measured.code))
            .map(|(_, _, start)| *start)
            .or_else(|| array.filter(|_| is_of_characters(layout)));
        Ok(measured)
    }

    /// Emits the parts of a record after its abbreviation id.
    pub(super) fn operands(&mut self, layout: Layout, measured: &Measured) {
        let mut bits = self.bits;
        let data = bits.data();
        let abbreviations = core::mem::take(&mut self.abbreviations);
        let mut index = 0usize;
        let mut in_group = false;
        let end = measured.end;
        let limit = self.limit();
        // It was measured, so that there is no fault.
        let _ = decode(&mut bits, layout, &abbreviations, limit, &mut |part, range| {
            match part {
                Part::Code(code) => self.leaf("code", Value::Number(code), range),
                Part::Count(count) => self.leaf("operand count", Value::Number(count), range),
                Part::Operand(value, literal) => {
                    self.operand(index, value, if literal { "literal" } else { "" }, range);
                    index = index.saturating_add(1);
                }
                Part::ArrayLength(length) => {
                    self.group("array", Value::None, "", range.start..end);
                    in_group = true;
                    self.leaf("length", Value::Number(length), range);
                }
                Part::BlobLength(length) => {
                    self.group("blob", Value::None, "", range.start..end);
                    in_group = true;
                    self.leaf("length", Value::Number(length), range);
                }
                Part::Padding => self.padding(range),
                Part::Blob => {
                    let bytes = data.get(range.start >> 3..range.end >> 3).unwrap_or_default();
                    self.leaf("bytes", Value::Bytes(bytes), range);
                }
            }
            Ok(())
        });
        self.abbreviations = abbreviations;
        if in_group {
            self.close();
        }
        self.bits.seek(end);
    }

    /// Emits a definition after its abbreviation id.
    pub(super) fn definition(&mut self) {
        let mut bits = self.bits;
        let start = bits.position();
        let count = bits.variable(5);
        self.leaf("operand count", Value::Number(count), start..bits.position());
        for index in 0..usize::try_from(count).unwrap_or(0) {
            let start = bits.position();
            let literal = bits.fixed(1);
            let after_flag = bits.position();
            let encoding = if literal == 1 { 0 } else { bits.fixed(3) };
            let after_encoding = bits.position();
            let width = if literal == 1 { 8 } else { 5 };
            let number = (literal == 1 || matches!(encoding, 1 | 2)).then(|| bits.variable(width));
            let end = bits.position();
            let meaning = meaning(literal == 1, encoding, number.unwrap_or(0));
            self.definition_operand(index, &meaning, start..end);
            self.leaf("is literal", Value::Number(literal), start..after_flag);
            if literal == 0 {
                self.leaf("encoding", Value::Number(encoding), after_flag..after_encoding);
            }
            if let Some(number) = number {
                let name = if literal == 1 { "value" } else { "width" };
                self.leaf(name, Value::Number(number), after_encoding..end);
            }
            self.close();
        }
    }

}

/// Whether the array of a record is most likely text.
fn is_of_characters(layout: Layout) -> bool {
    let Layout::Abbreviated(definition) = layout else { return false };
    matches!(definition.tail, Tail::Array(Scalar::Char6 | Scalar::Fixed(7 | 8)))
}

/// An operand of a definition in words.
fn meaning(literal: bool, encoding: u64, number: u64) -> String {
    if literal {
        return format!("literal {number}");
    }
    match encoding {
        1 => format!("fixed({number})"),
        2 => format!("vbr({number})"),
        3 => String::from("array"),
        4 => String::from("char6"),
        5 => String::from("blob"),
        _ => String::new(),
    }
}

