//! Packs the tables of the generations of a family into the binary format that `unshade-sass` reads.
//!
//! Generations of a family have words of the same size among the same scheduling words: Kepler is one, Volta and later chips
//! are one. They share nearly all strings and rows, so each distinct string, field or row is stored once, and a generation
//! is a list of rows.
//!
//! Numbers are LEB128. Masks and values of instruction words are the number whose bit N is set if byte N is not zero, then
//! these bytes. A string is 0 if it is the next of the string table, and its number + 1 if it was used before; likewise the start of
//! a range is 0 if it is the end of the ranges before it. Everything is an index into a list:
//!
//! ```text
//! "USIA", version
//! strings                  count, then size and bytes of each
//! modifiers                name, meaning, values: name and spelling
//! operations               name, mnemonic, meaning, flow, program + 1, operands, modifiers
//! texts                    strings that the following refer to
//! orders                   value + 1, 0 for invalid
//! fields                   ranges, flags, shift, slot, modifier + 1, order
//! operands                 text with the name of the kind, slot, mask of parts, field of each part
//! pieces                   tag, index
//! lists                    indices of fields and operands
//! rows                     mask, value, ignored bits, flags, bits of which one is set, operation, form, alternative, latency, ranges of pieces, fields, operands
//! generations              count, and of each:
//!   name, title            strings
//!   architectures          count, numbers
//!   size of words          in bytes
//!   index, control         bit ranges: lowest bit and count
//!   schedule               every, mask, value, first code, bits of a code
//!   has semantics          1 if the semantics of all operations are known
//!   rows                   count, then the difference of each to the one after the last: zigzag
//! ```

use std::collections::HashMap;

use crate::model::{Access, Bits, Encoding, Flow, Generation, Isa, Operand, Part, Piece};
use crate::rust_tables::mnemonic;

/// The version of the format.
pub const VERSION: u8 = 2;

/// The parts of an operand, in the order of their bits.
const PARTS: [Part; 13] = [
    Part::Value,
    Part::Negate,
    Part::Absolute,
    Part::Invert,
    Part::Not,
    Part::Select,
    Part::Base,
    Part::Offset,
    Part::Bank,
    Part::Uniform,
    Part::Suffix,
    Part::Reuse,
    Part::Descriptor,
];

/// The tables of generations that share rows.
pub struct Family<'a> {
    /// The generations, oldest first.
    pub generations: Vec<&'a Generation>,
}

impl<'a> Family<'a> {
    /// Returns the families, oldest first.
    pub fn all(isa: &'a Isa) -> Vec<Self> {
        let mut generations: Vec<&Generation> = isa.generations.iter().collect();
        generations.sort_by_key(|generation| generation.architectures.first());
        let kind = |generation: &Generation| (generation.word_bits, generation.schedule.every);
        let mut all: Vec<Self> = Vec::new();
        for generation in generations {
            let is_same =
                |family: &&mut Self| family.generations.iter().any(|other| kind(other) == kind(generation));
            match all.iter_mut().find(is_same) {
                Some(family) => family.generations.push(generation),
                None => all.push(Self { generations: vec![generation] }),
            }
        }
        all
    }

    /// Returns the name of the file, without an extension: that of the oldest generation.
    pub fn name(&self) -> &'a str {
        self.generations.first().map_or("", |generation| &generation.name)
    }

    /// Packs the generations with the operations and modifiers that they use.
    pub fn pack(&self, isa: &Isa) -> Vec<u8> {
        let mut tables = Tables::new(isa);
        let rows: Vec<Vec<usize>> =
            self.generations.iter().map(|generation| tables.row_numbers(generation)).collect();
        let mut lists = Bytes::default();
        tables.modifiers_and_operations(&mut lists);
        lists.numbers(&tables.texts.iter().map(|text| tables.strings.reference(text)).collect::<Vec<_>>());
        lists.numbers(&tables.orders);
        for entries in
            [&tables.fields.entries, &tables.operands.entries, &tables.pieces.entries, &tables.lists.entries]
        {
            lists.number(entries.len());
            entries.iter().for_each(|entry| lists.0.extend(entry));
        }
        tables.rows(&mut lists);
        let mut generations = Bytes::default();
        generations.number(self.generations.len());
        for (generation, rows) in self.generations.iter().zip(rows) {
            tables.generation(generation, &rows, &mut generations);
        }
        let mut out = Bytes(b"USIA".to_vec());
        out.0.push(VERSION);
        tables.strings.write(&mut out);
        out.0.extend(lists.0);
        out.0.extend(generations.0);
        out.0
    }
}

/// The bytes of the format.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn number(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn word(&mut self, word: u128) {
        let bytes = word.to_le_bytes();
        let is_set = |place: &usize| bytes[*place] != 0;
        self.number((0..bytes.len()).filter(is_set).map(|place| 1 << place).sum());
        self.0.extend(bytes.iter().filter(|byte| **byte != 0));
    }

    /// Writes a count and numbers.
    fn numbers<T: Copy + TryInto<usize>>(&mut self, numbers: &[T]) {
        self.number(numbers.len());
        numbers.iter().for_each(|number| self.number((*number).try_into().unwrap_or(0)));
    }

    /// Writes a count and bit ranges.
    fn ranges(&mut self, ranges: &[(u32, u32)]) {
        self.number(ranges.len());
        for &(low, count) in ranges {
            self.number(low as usize);
            self.number(count as usize);
        }
    }
}

/// Distinct strings, in the order in which they are written.
#[derive(Default)]
struct Strings {
    all: Vec<String>,
    index: HashMap<String, usize>,
}

impl Strings {
    /// Returns what a string is written as: 0 if it is new.
    fn reference(&mut self, text: &str) -> usize {
        if let Some(number) = self.index.get(text) {
            return number + 1;
        }
        self.index.insert(text.to_owned(), self.all.len());
        self.all.push(text.to_owned());
        0
    }

    fn write(&self, out: &mut Bytes) {
        out.number(self.all.len());
        for text in &self.all {
            out.number(text.len());
            out.0.extend(text.bytes());
        }
    }
}

/// A list of distinct entries.
#[derive(Default)]
struct DistinctEntries {
    entries: Vec<Vec<u8>>,
    index: HashMap<Vec<u8>, usize>,
}

impl DistinctEntries {
    fn add(&mut self, entry: Bytes) -> usize {
        let entries = &mut self.entries;
        *self.index.entry(entry.0).or_insert_with_key(|entry| {
            entries.push(entry.clone());
            entries.len() - 1
        })
    }
}

/// A list of sequences, in which equal sequences are stored once.
#[derive(Default)]
struct SharedSequences {
    entries: Vec<Vec<u8>>,
    index: HashMap<Vec<Vec<u8>>, usize>,
}

impl SharedSequences {
    /// Returns the start and length of a sequence, and adds it if necessary.
    fn add(&mut self, sequence: Vec<Vec<u8>>) -> (usize, usize) {
        let length = sequence.len();
        let entries = &mut self.entries;
        let start = *self.index.entry(sequence).or_insert_with_key(|sequence| {
            entries.extend(sequence.iter().cloned());
            entries.len() - sequence.len()
        });
        (start, length)
    }
}

/// A row: the bytes up to its ranges, and the start and length of each range.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Row {
    head: Vec<u8>,
    pieces: (usize, usize),
    fields: (usize, usize),
    operands: (usize, usize),
}

struct Tables<'a> {
    isa: &'a Isa,
    strings: Strings,
    /// The strings that pieces and slots refer to; first those of the semantics, which have the same number in all tables.
    texts: Vec<String>,
    text_index: HashMap<String, usize>,
    /// The operations and modifiers in use: their numbers here by their numbers in `isa`.
    operations: Used,
    modifiers: Used,
    pieces: SharedSequences,
    lists: SharedSequences,
    fields: DistinctEntries,
    operands: DistinctEntries,
    rows: Vec<Row>,
    row_index: HashMap<Row, usize>,
    orders: Vec<u16>,
    order_index: HashMap<Vec<u16>, usize>,
}

/// Items in use, numbered in the order of their first use.
#[derive(Default)]
struct Used {
    items: Vec<usize>,
    index: HashMap<usize, usize>,
}

impl Used {
    fn number(&mut self, item: usize) -> usize {
        let items = &mut self.items;
        *self.index.entry(item).or_insert_with(|| {
            items.push(item);
            items.len() - 1
        })
    }
}

impl<'a> Tables<'a> {
    fn new(isa: &'a Isa) -> Self {
        let mut tables = Self {
            isa,
            strings: Strings::default(),
            texts: Vec::new(),
            text_index: HashMap::new(),
            operations: Used::default(),
            modifiers: Used::default(),
            pieces: SharedSequences::default(),
            lists: SharedSequences::default(),
            fields: DistinctEntries::default(),
            operands: DistinctEntries::default(),
            rows: Vec::new(),
            row_index: HashMap::new(),
            orders: Vec::new(),
            order_index: HashMap::new(),
        };
        for slot in crate::rust_semantics::slots(isa) {
            tables.text(slot);
        }
        tables
    }

    /// Adds the rows of a generation if necessary, and returns their numbers.
    fn row_numbers(&mut self, generation: &Generation) -> Vec<usize> {
        let mut number = |encoding: &Encoding| {
            let row = self.row(encoding);
            let rows = &mut self.rows;
            *self.row_index.entry(row).or_insert_with_key(|row| {
                rows.push(row.clone());
                rows.len() - 1
            })
        };
        generation.encodings.iter().map(&mut number).collect()
    }

    /// Writes all rows.
    fn rows(&self, out: &mut Bytes) {
        out.number(self.rows.len());
        // The ends of the pieces and of the lists in the rows so far.
        let mut ends = [0; 2];
        for row in &self.rows {
            out.0.extend(&row.head);
            for ((start, count), list) in [(row.pieces, 0), (row.fields, 1), (row.operands, 1)] {
                let end = &mut ends[list];
                out.number(if start == *end { 0 } else { start + 1 });
                out.number(count);
                *end = usize::max(*end, start + count);
            }
        }
    }

    /// Writes a generation with these rows.
    fn generation(&mut self, generation: &Generation, rows: &[usize], out: &mut Bytes) {
        for text in [&generation.name, &generation.title] {
            out.number(self.strings.reference(text));
        }
        out.numbers(&generation.architectures);
        out.number(generation.word_bits as usize / 8);
        out.ranges(&generation.index);
        let control: Vec<(u32, u32)> =
            generation.control.iter().map(|field| (field.low, field.count)).collect();
        out.ranges(&control);
        let schedule = &generation.schedule;
        out.number(schedule.every as usize);
        out.word(schedule.mask);
        out.word(schedule.value);
        out.number(schedule.first_code as usize);
        out.number(schedule.code_bits as usize);
        out.number(usize::from(generation.has_semantics));
        out.number(rows.len());
        let mut expected = 0;
        for &row in rows {
            let difference = row as isize - expected as isize;
            out.number((difference << 1 ^ difference >> (isize::BITS - 1)) as usize);
            expected = row + 1;
        }
    }

    fn text(&mut self, text: &str) -> usize {
        let texts = &mut self.texts;
        *self.text_index.entry(text.to_owned()).or_insert_with(|| {
            texts.push(text.to_owned());
            texts.len() - 1
        })
    }

    fn modifiers_and_operations(&mut self, out: &mut Bytes) {
        let isa = self.isa;
        // The modifiers that operations declare are in use, too.
        for operation in self.operations.items.clone() {
            for (_, modifier) in &isa.operations[operation].modifiers {
                self.modifiers.number(*modifier);
            }
        }
        out.number(self.modifiers.items.len());
        for modifier in self.modifiers.items.iter().map(|modifier| &isa.modifiers[*modifier]) {
            out.number(self.strings.reference(&modifier.name));
            out.number(self.strings.reference(&modifier.meaning));
            out.number(modifier.values.len());
            for value in &modifier.values {
                out.number(self.strings.reference(&value.name));
                out.number(self.strings.reference(&value.spelling));
            }
        }
        out.number(self.operations.items.len());
        for number in self.operations.items.clone() {
            let operation = &isa.operations[number];
            for text in [operation.name.as_str(), mnemonic(operation), operation.meaning.as_str()] {
                out.number(self.strings.reference(text));
            }
            let flow = Flow::NAMES.iter().position(|entry| entry.1 == operation.flow);
            out.number(flow.unwrap_or(0));
            // Programs are those of operations with semantics, in order.
            let has_program = |operation: &&crate::model::Operation| !operation.semantics.is_empty();
            let before = isa.operations[..number].iter().filter(has_program).count();
            out.number(if has_program(&operation) { before + 1 } else { 0 });
            out.number(operation.operands.len());
            for role in &operation.operands {
                out.number(self.strings.reference(&role.name));
                out.number(match role.access {
                    Access::In => 0,
                    Access::Out => 1,
                    Access::InOut => 2,
                });
                out.number(self.strings.reference(&role.ty));
            }
            out.number(operation.modifiers.len());
            for (slot, modifier) in &operation.modifiers {
                out.number(self.strings.reference(slot));
                out.number(self.modifiers.number(*modifier));
            }
        }
    }

    fn order(&mut self, order: &[Option<usize>]) -> usize {
        let numbers: Vec<u16> = order.iter().map(|value| value.map_or(0, |value| value as u16 + 1)).collect();
        let orders = &mut self.orders;
        *self.order_index.entry(numbers.clone()).or_insert_with(|| {
            orders.extend(numbers);
            orders.len() - order.len()
        })
    }

    fn row(&mut self, encoding: &Encoding) -> Row {
        let isa = self.isa;
        let mut out = Bytes::default();
        let operation = &isa.operations[encoding.operation];
        let form = &operation.forms[encoding.form];
        let mut fields = Vec::new();
        for choice in &encoding.choices {
            let order = self.order(&choice.order);
            fields.push(self.field(&choice.slot, &choice.bits, Some((choice.modifier, order))));
        }
        let choice_fields = fields.clone();
        let mut operands = Vec::new();
        for operand in &encoding.operands {
            let entry = self.operand(operand, &mut fields);
            operands.push(self.operands.add(entry));
        }
        let mut pieces = Vec::new();
        let mut mnemonic = true;
        let mut piece = |tag: u8, index: usize| {
            let mut bytes = Bytes(vec![tag]);
            bytes.number(index);
            pieces.push(bytes.0);
        };
        for entry in &form.template {
            match entry {
                Piece::Text(text) if mnemonic && !text.trim().is_empty() => {
                    mnemonic = false;
                    let end = text.find([' ', '.', '[']).unwrap_or(text.len());
                    piece(0, self.text(&text[..end]));
                    if end < text.len() {
                        piece(1, self.text(&text[end..]));
                    }
                }
                Piece::Text(text) => piece(1, self.text(text)),
                Piece::Slot(slot) => {
                    if let Some(index) = encoding.choice(slot) {
                        piece(2, choice_fields[index]);
                    } else if let Some(index) = encoding.operand(slot) {
                        piece(3, operands[index]);
                    }
                }
            }
        }
        out.word(encoding.mask);
        out.word(encoding.value);
        out.word(encoding.ignored);
        let conditions = [encoding.one_bit, encoding.not_ones];
        let flags = [encoding.is_first, encoding.one_bit != 0, encoding.not_ones != 0];
        out.number(flags.iter().rev().fold(0, |flags, flag| flags << 1 | usize::from(*flag)));
        conditions.into_iter().filter(|bits| *bits != 0).for_each(|bits| out.word(bits));
        out.number(self.operations.number(encoding.operation));
        for text in [&form.name, &encoding.alternative, &encoding.latency] {
            out.number(self.text(text));
        }
        let pieces = self.pieces.add(pieces);
        let mut list = |indices: Vec<usize>| {
            let entries = indices.into_iter().map(|index| {
                let mut bytes = Bytes::default();
                bytes.number(index);
                bytes.0
            });
            self.lists.add(entries.collect())
        };
        let (fields, operands) = (list(fields), list(operands));
        Row { head: out.0, pieces, fields, operands }
    }

    fn field(&mut self, slot: &str, bits: &Bits, modifier: Option<(usize, usize)>) -> usize {
        let mut entry = Bytes::default();
        entry.ranges(&bits.ranges);
        entry.number(usize::from(bits.signed) | usize::from(bits.view) << 1);
        entry.number(bits.shift as usize);
        entry.number(self.text(slot));
        match modifier {
            Some((modifier, order)) => {
                entry.number(self.modifiers.number(modifier) + 1);
                entry.number(order);
            }
            None => entry.number(0),
        }
        self.fields.add(entry)
    }

    fn operand(&mut self, operand: &Operand, fields: &mut Vec<usize>) -> Bytes {
        let mut entry = Bytes::default();
        entry.number(self.text(operand.kind.name()));
        entry.number(self.text(&operand.slot));
        let (mut mask, mut parts) = (0, Vec::new());
        for (place, part) in PARTS.into_iter().enumerate() {
            let Some(bits) = operand.part(part) else { continue };
            let modifier = operand.modifier(part);
            let modifier = modifier.map(|entry| (entry.modifier, self.order(&entry.order)));
            let field = self.field(&operand.slot, bits, modifier);
            fields.push(field);
            mask |= 1 << place;
            parts.push(field);
        }
        entry.number(mask);
        parts.into_iter().for_each(|field| entry.number(field));
        entry
    }
}
