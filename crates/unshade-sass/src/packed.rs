//! Reads the tables of an instruction set from the binary format that `isa-gen` writes (`isa-gen/src/packed.rs` has the
//! layout).
//!
//! The tables live as long as the program: strings are borrowed from the bytes, lists are allocated once and never freed.
//! Bytes from elsewhere are checked: an index out of range reads as an empty string or an encoding that matches nothing,
//! and sizes are limited by the number of bytes.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::table::{
    Control, Encoding, Field, Flow, INVALID, Isa, Kind, Modifier, NONE, Operand, Operation, Piece, Role,
    Schedule,
};

const MAGIC: &[u8] = b"USIA\x02";

/// The tables of a family of chips, which its instruction sets share.
pub(crate) struct Pool {
    modifiers: &'static [Modifier],
    operations: &'static [Operation],
    texts: &'static [&'static str],
    orders: &'static [u16],
    fields: &'static [Field],
    operands: &'static [Operand],
    pieces: &'static [Piece],
    lists: &'static [u16],
    rows: &'static [Encoding],
    generations: &'static [Generation],
}

/// An instruction set of a family.
struct Generation {
    name: &'static str,
    title: &'static str,
    architectures: &'static [u32],
    word_bytes: usize,
    index: &'static [(u8, u8)],
    control: Option<Control>,
    schedule: Schedule,
    has_semantics: bool,
    /// Indices into [`Pool::rows`].
    rows: &'static [u16],
}

/// Reads tables; `None` if the bytes are no tables of this version.
pub(crate) fn read(bytes: &'static [u8]) -> Option<Pool> {
    let mut reader = Reader { rest: bytes.strip_prefix(MAGIC)?, strings: &[], used: 0, ends: [0; 2] };
    reader.strings = reader.list(|reader| {
        let size = reader.number()?;
        core::str::from_utf8(reader.bytes(size)?).ok()
    })?;
    let modifiers = reader.list(modifier)?;
    let operations = reader.list(operation)?;
    let texts = reader.list(Reader::string)?;
    let pool = Pool {
        modifiers,
        operations,
        texts,
        orders: reader.list(|reader| Some(reader.short()?.wrapping_sub(1)))?,
        fields: reader.list(field)?,
        operands: reader.list(|reader| operand(reader, texts))?,
        pieces: reader.list(piece)?,
        lists: reader.list(Reader::short)?,
        rows: reader.list(encoding)?,
        generations: reader.list(generation)?,
    };
    reader.rest.is_empty().then_some(pool)
}

impl Pool {
    /// Returns the number of instruction sets.
    pub(crate) fn count(&self) -> usize {
        self.generations.len()
    }

    /// Returns an instruction set.
    pub(crate) fn isa(&self, number: usize) -> Option<Isa> {
        let generation = self.generations.get(number)?;
        let mut isa = Isa {
            name: generation.name,
            title: generation.title,
            architectures: generation.architectures,
            word_bytes: generation.word_bytes,
            index: generation.index,
            buckets: &[],
            candidates: &[],
            encodings: &[],
            pieces: self.pieces,
            lists: self.lists,
            fields: self.fields,
            operands: self.operands,
            orders: self.orders,
            texts: self.texts,
            modifiers: self.modifiers,
            operations: self.operations,
            control: generation.control,
            schedule: generation.schedule,
            has_semantics: generation.has_semantics,
        };
        let rows = generation.rows.iter().map(|row| self.rows.get(usize::from(*row)));
        let checked = |row: &Encoding| Encoding { checked: isa.is_checked(row), ..*row };
        isa.encodings = leak(rows.map(|row| row.map(checked)).collect::<Option<Vec<Encoding>>>()?);
        (isa.buckets, isa.candidates) = buckets(&isa)?;
        Some(isa)
    }
}

fn leak<T>(entries: Vec<T>) -> &'static [T] {
    Box::leak(entries.into_boxed_slice())
}

struct Reader {
    rest: &'static [u8],
    strings: &'static [&'static str],
    /// The number of strings that were used.
    used: usize,
    /// The ends of the ranges of pieces and of lists that were read.
    ends: [u16; 2],
}

impl Reader {
    #[inline]
    fn bytes(&mut self, count: usize) -> Option<&'static [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    #[inline]
    fn number(&mut self) -> Option<usize> {
        match self.rest.split_first()? {
            // Most numbers have one byte.
            (byte, rest) if *byte < 0x80 => {
                self.rest = rest;
                Some(usize::from(*byte))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Option<usize> {
        let mut number = 0_u64;
        for place in 0..9_u32 {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f).wrapping_shl(place.wrapping_mul(7));
            if byte & 0x80 == 0 {
                return usize::try_from(number).ok();
            }
        }
        None
    }

    #[inline]
    fn small(&mut self) -> Option<u8> {
        self.number()?.try_into().ok()
    }

    #[inline]
    fn short(&mut self) -> Option<u16> {
        self.number()?.try_into().ok()
    }

    #[inline]
    fn word(&mut self) -> Option<u128> {
        let mut present = self.short()?;
        let mut word = 0_u128;
        for byte in self.bytes(present.count_ones() as usize)? {
            word |= u128::from(*byte).wrapping_shl(present.trailing_zeros().wrapping_mul(8));
            present &= present.wrapping_sub(1);
        }
        Some(word)
    }

    fn string(&mut self) -> Option<&'static str> {
        let number = match self.number()? {
            0 => {
                self.used = self.used.saturating_add(1);
                self.used.wrapping_sub(1)
            }
            number => number.wrapping_sub(1),
        };
        self.strings.get(number).copied()
    }

    /// Reads the lowest bit and the number of bits.
    fn range(&mut self) -> Option<(u8, u8)> {
        Some((self.small()?, self.small()?))
    }

    /// Reads start and count of a range of pieces, or of a list.
    fn span(&mut self, list: usize) -> Option<(u16, u16)> {
        let (start, count) = (self.short()?, self.short()?);
        let end = self.ends.get_mut(list)?;
        let start = start.checked_sub(1).unwrap_or(*end);
        *end = start.checked_add(count)?.max(*end);
        Some((start, count))
    }

    /// Reads a count and entries, of which each has at least a byte.
    fn list<T>(&mut self, mut entry: impl FnMut(&mut Self) -> Option<T>) -> Option<&'static [T]> {
        let count = self.number()?;
        if count > self.rest.len() {
            return None;
        }
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            entries.push(entry(self)?);
        }
        Some(leak(entries))
    }
}

fn generation(reader: &mut Reader) -> Option<Generation> {
    Some(Generation {
        name: reader.string()?,
        title: reader.string()?,
        architectures: reader.list(|reader| u32::try_from(reader.number()?).ok())?,
        word_bytes: reader.number()?,
        index: reader.list(Reader::range)?,
        control: control(reader.list(Reader::range)?),
        schedule: Schedule {
            every: u64::try_from(reader.number()?).ok()?,
            mask: reader.word()?,
            value: reader.word()?,
            first_code: reader.small()?,
            code_bits: reader.small()?,
        },
        has_semantics: reader.number()? != 0,
        rows: rows(reader)?,
    })
}

/// Reads the rows of a generation: the difference of each to the one after the last, of which the lowest bit is the sign.
fn rows(reader: &mut Reader) -> Option<&'static [u16]> {
    let mut expected = 0_u16;
    reader.list(|reader| {
        let difference = reader.number()?;
        let magnitude = u16::try_from(difference >> 1).ok()?;
        let row = match difference & 1 {
            0 => expected.checked_add(magnitude)?,
            _ => expected.checked_sub(magnitude)?.checked_sub(1)?,
        };
        expected = row.checked_add(1)?;
        Some(row)
    })
}

fn control(ranges: &[(u8, u8)]) -> Option<Control> {
    let &[stall, r#yield, write, read, wait, reuse] = ranges else { return None };
    Some(Control { stall, r#yield, write, read, wait, reuse })
}

fn modifier(reader: &mut Reader) -> Option<Modifier> {
    Some(Modifier {
        name: reader.string()?,
        meaning: reader.string()?,
        values: reader.list(|reader| Some((reader.string()?, reader.string()?)))?,
    })
}

fn operation(reader: &mut Reader) -> Option<Operation> {
    const FLOWS: [Flow; 9] = [
        Flow::Next,
        Flow::Branch,
        Flow::Indirect,
        Flow::Call,
        Flow::Return,
        Flow::Push,
        Flow::Pop,
        Flow::Exit,
        Flow::Trap,
    ];
    Some(Operation {
        name: reader.string()?,
        mnemonic: reader.string()?,
        meaning: reader.string()?,
        flow: *FLOWS.get(reader.number()?)?,
        program: reader.short()?.wrapping_sub(1),
        operands: reader.list(|reader| {
            let (slot, access) = (reader.string()?, reader.number()?);
            Some(Role { slot, read: access != 1, written: access != 0, ty: reader.string()? })
        })?,
        modifiers: reader.list(|reader| Some((reader.string()?, reader.short()?)))?,
    })
}

fn field(reader: &mut Reader) -> Option<Field> {
    let mut ranges = [(0, 0); 3];
    let count = reader.number()?;
    for place in ranges.get_mut(..count)? {
        *place = reader.range()?;
    }
    let flags = reader.number()?;
    let mut field = Field {
        ranges,
        width: ranges.iter().fold(0, |width, range| range.1.saturating_add(width)),
        signed: flags & 1 != 0,
        view: flags & 2 != 0,
        shift: reader.small()?,
        slot: reader.short()?,
        modifier: reader.short()?.wrapping_sub(1),
        order: 0,
    };
    if field.modifier != NONE {
        field.order = reader.short()?;
    }
    Some(field)
}

fn operand(reader: &mut Reader, texts: &[&str]) -> Option<Operand> {
    let name = texts.get(reader.number()?)?;
    let kind = Kind::NAMES.iter().find(|entry| entry.0 == *name)?.1;
    let slot = reader.short()?;
    let mask = reader.number()?;
    let mut part = |place: u32| {
        let is_present = mask.wrapping_shr(place) & 1 == 1;
        if is_present { reader.short() } else { Some(NONE) }
    };
    Some(Operand {
        kind,
        slot,
        value: part(0)?,
        negate: part(1)?,
        absolute: part(2)?,
        invert: part(3)?,
        not: part(4)?,
        select: part(5)?,
        base: part(6)?,
        offset: part(7)?,
        bank: part(8)?,
        uniform: part(9)?,
        suffix: part(10)?,
        reuse: part(11)?,
        descriptor: part(12)?,
    })
}

fn piece(reader: &mut Reader) -> Option<Piece> {
    let (tag, index) = (reader.number()?, reader.short()?);
    Some(match tag {
        0 => Piece::Mnemonic(index),
        1 => Piece::Text(index),
        2 => Piece::Modifier(index),
        3 => Piece::Operand(index),
        _ => return None,
    })
}

fn encoding(reader: &mut Reader) -> Option<Encoding> {
    let [mask, value, ignored] = [reader.word()?, reader.word()?, reader.word()?];
    let flags = reader.number()?;
    Some(Encoding {
        mask,
        value,
        ignored,
        is_first: flags & 1 != 0,
        one_bit: if flags & 2 != 0 { reader.word()? } else { 0 },
        not_ones: if flags & 4 != 0 { reader.word()? } else { 0 },
        operation: reader.short()?,
        form: reader.short()?,
        alternative: reader.short()?,
        latency: reader.short()?,
        pieces: reader.span(0)?,
        fields: reader.span(1)?,
        operands: reader.span(1)?,
        checked: false,
    })
}

impl Isa {
    /// Returns whether a modifier of an encoding has invalid values.
    fn is_checked(&self, encoding: &Encoding) -> bool {
        let fields = crate::instruction::slice(self.lists, encoding.fields).iter();
        let fields = fields.filter_map(|index| self.fields.get(usize::from(*index)));
        fields.filter(|field| field.modifier != NONE).any(|field| {
            let start = usize::from(field.order);
            let count = 1_usize.checked_shl(u32::from(field.width)).unwrap_or(0);
            let order = self.orders.get(start..start.saturating_add(count));
            order.is_none_or(|order| order.contains(&INVALID))
        })
    }
}

/// Maximum number of bits that select a list of encodings.
const MAX_INDEX: u32 = 16;

/// Returns, for each value of the index bits, the start of its list, and the lists: the encodings that may match, most
/// specific first, with [`NONE`] at the end.
fn buckets(isa: &Isa) -> Option<(&'static [u16], &'static [u16])> {
    let width: u32 = isa.index.iter().map(|range| u32::from(range.1)).sum();
    if width > MAX_INDEX {
        return None;
    }
    let mut order: Vec<u16> = (0..u16::try_from(isa.encodings.len()).ok()?).collect();
    let precedence = |number: &u16| isa.encodings.get(usize::from(*number)).map_or(0, Encoding::precedence);
    order.sort_by_cached_key(precedence);
    let mut lists: Vec<Vec<u16>> = Vec::new();
    lists.resize(1_usize.wrapping_shl(width), Vec::new());
    for number in order {
        let encoding = isa.encodings.get(usize::from(number))?;
        let (mask, value) = (isa.bucket(encoding.mask), isa.bucket(encoding.value));
        let free = isa.bucket(u128::MAX) & !mask;
        // All values of the free bits: the next subset of them until it is empty again.
        let mut subset = 0;
        loop {
            lists.get_mut(value | subset)?.push(number);
            subset = subset.wrapping_sub(free) & free;
            if subset == 0 {
                break;
            }
        }
    }
    let (mut starts, mut candidates) = (Vec::with_capacity(lists.len()), Vec::new());
    let empty = 0;
    candidates.push(NONE);
    let mut last: Option<(u16, Vec<u16>)> = None;
    for list in lists {
        if list.is_empty() {
            starts.push(empty);
            continue;
        }
        match &last {
            Some((start, same)) if *same == list => starts.push(*start),
            _ => {
                let start = u16::try_from(candidates.len()).ok()?;
                starts.push(start);
                candidates.extend(&list);
                candidates.push(NONE);
                last = Some((start, list));
            }
        }
    }
    Some((leak(starts), leak(candidates)))
}
