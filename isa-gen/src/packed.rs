//! Packs the tables of a generation into the binary format that `unshade-sass` reads.
//!
//! Numbers are LEB128, except for masks and values of whole instruction words, which are 16 bytes, little-endian. Strings
//! are numbers of the string table. Everything is an index into a list, and each distinct entry is stored once:
//!
//! ```text
//! "USIA", version
//! strings                  count, then size and bytes of each
//! name, title              strings
//! architectures            count, numbers
//! size of words            in bytes
//! index, control           bit ranges: lowest bit and count
//! schedule                 every, mask, value, first code, bits of a code
//! has semantics            1 if the semantics of all operations are known
//! modifiers                name, meaning, values: name and spelling
//! operations               name, mnemonic, meaning, flow, program + 1, operands, modifiers
//! texts                    strings that the following refer to
//! orders                   value + 1, 0 for invalid
//! fields                   ranges, flags, shift, slot, modifier + 1, order
//! operands                 name of the kind, slot, mask of parts, field of each part
//! pieces                   tag, index
//! lists                    indices of fields and operands
//! encodings                mask, value, ignored bits, flags, bits of which one is set, operation, form, alternative, latency, ranges of pieces, fields, operands
//! ```

use std::collections::HashMap;

use crate::model::{Access, Bits, Encoding, Flow, Generation, Isa, Operand, Part, Piece};
use crate::rust_tables::mnemonic;

/// The version of the format.
pub const VERSION: u8 = 1;

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

/// Packs a generation with the operations and modifiers that it uses.
pub fn pack(isa: &Isa, generation: &Generation) -> Vec<u8> {
    let mut tables = Tables::new(isa);
    let mut encodings = Bytes::default();
    encodings.number(generation.encodings.len());
    for encoding in &generation.encodings {
        tables.encoding(encoding, &mut encodings);
    }
    let mut head = Bytes::default();
    for text in [&generation.name, &generation.title] {
        head.number(tables.strings.add(text));
    }
    head.numbers(&generation.architectures);
    head.number(generation.word_bits as usize / 8);
    head.ranges(&generation.index);
    let control: Vec<(u32, u32)> = generation.control.iter().map(|field| (field.low, field.count)).collect();
    head.ranges(&control);
    let schedule = &generation.schedule;
    head.number(schedule.every as usize);
    head.word(schedule.mask);
    head.word(schedule.value);
    head.number(schedule.first_code as usize);
    head.number(schedule.code_bits as usize);
    head.number(usize::from(generation.has_semantics));
    tables.modifiers_and_operations(&mut head);
    head.numbers(&tables.texts.iter().map(|text| tables.strings.index[text]).collect::<Vec<_>>());
    head.numbers(&tables.orders);
    for entries in [&tables.fields, &tables.operands] {
        head.number(entries.entries.len());
        entries.entries.iter().for_each(|entry| head.0.extend(entry));
    }
    for sequence in [&tables.pieces, &tables.lists] {
        head.number(sequence.entries.len());
        sequence.entries.iter().for_each(|entry| head.0.extend(entry));
    }
    let mut out = Bytes(b"USIA".to_vec());
    out.0.push(VERSION);
    tables.strings.write(&mut out);
    out.0.extend(head.0);
    out.0.extend(encodings.0);
    out.0
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
        self.0.extend(word.to_le_bytes());
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

/// A list of distinct strings.
#[derive(Default)]
struct Strings {
    all: Vec<String>,
    index: HashMap<String, usize>,
}

impl Strings {
    fn add(&mut self, text: &str) -> usize {
        let all = &mut self.all;
        *self.index.entry(text.to_owned()).or_insert_with(|| {
            all.push(text.to_owned());
            all.len() - 1
        })
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
    /// Writes the start and length of a sequence to `out`, and adds the sequence if necessary.
    fn add(&mut self, sequence: Vec<Vec<u8>>, out: &mut Bytes) {
        let length = sequence.len();
        let entries = &mut self.entries;
        let start = *self.index.entry(sequence).or_insert_with_key(|sequence| {
            entries.extend(sequence.iter().cloned());
            entries.len() - sequence.len()
        });
        out.number(start);
        out.number(length);
    }
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
            orders: Vec::new(),
            order_index: HashMap::new(),
        };
        for slot in crate::rust_semantics::slots(isa) {
            tables.text(slot);
        }
        tables
    }

    fn text(&mut self, text: &str) -> usize {
        self.strings.add(text);
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
            out.number(self.strings.add(&modifier.name));
            out.number(self.strings.add(&modifier.meaning));
            out.number(modifier.values.len());
            for value in &modifier.values {
                out.number(self.strings.add(&value.name));
                out.number(self.strings.add(&value.spelling));
            }
        }
        out.number(self.operations.items.len());
        for number in self.operations.items.clone() {
            let operation = &isa.operations[number];
            for text in [operation.name.as_str(), mnemonic(operation), operation.meaning.as_str()] {
                out.number(self.strings.add(text));
            }
            let flow = Flow::NAMES.iter().position(|entry| entry.1 == operation.flow);
            out.number(flow.unwrap_or(0));
            // Programs are those of operations with semantics, in order.
            let has_program = |operation: &&crate::model::Operation| !operation.semantics.is_empty();
            let before = isa.operations[..number].iter().filter(has_program).count();
            out.number(if has_program(&operation) { before + 1 } else { 0 });
            out.number(operation.operands.len());
            for role in &operation.operands {
                out.number(self.strings.add(&role.name));
                out.number(match role.access {
                    Access::In => 0,
                    Access::Out => 1,
                    Access::InOut => 2,
                });
                out.number(self.strings.add(&role.ty));
            }
            out.number(operation.modifiers.len());
            for (slot, modifier) in &operation.modifiers {
                out.number(self.strings.add(slot));
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

    fn encoding(&mut self, encoding: &Encoding, out: &mut Bytes) {
        let isa = self.isa;
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
        out.number(usize::from(encoding.is_first) | usize::from(encoding.one_bit != 0) << 1);
        if encoding.one_bit != 0 {
            out.word(encoding.one_bit);
        }
        out.number(self.operations.number(encoding.operation));
        for text in [&form.name, &encoding.alternative, &encoding.latency] {
            out.number(self.text(text));
        }
        self.pieces.add(pieces, out);
        for list in [fields, operands] {
            let entries = list.into_iter().map(|index| {
                let mut bytes = Bytes::default();
                bytes.number(index);
                bytes.0
            });
            self.lists.add(entries.collect(), out);
        }
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
        entry.number(self.strings.add(operand.kind.name()));
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
