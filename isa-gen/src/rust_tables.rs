//! Generates the static tables of `unshade-sass` as Rust source.

use std::collections::HashMap;
use std::fmt::Write;

use crate::model::{Access, Bits, Encoding, Flow, Generation, Isa, Operand, Part, Piece};

const HEAD: &str = "// Written by `cargo xtask codegen` from isa/nvidia. Do not edit.\n\n";

/// Generates the tables of operations and modifiers.
pub fn operations(isa: &Isa) -> String {
    let mut out = String::from(HEAD);
    out.push_str("use crate::table::{Flow, Modifier, Operation, Role};\n\n");
    let _ = writeln!(
        out,
        "/// What there is to do.\npub(crate) static OPERATIONS: [Operation; {}] = [",
        isa.operations.len()
    );
    for operation in &isa.operations {
        let flow = Flow::NAMES.iter().find(|entry| entry.1 == operation.flow).map_or("Next", |entry| entry.0);
        let _ = write!(
            out,
            "    Operation {{ name: {:?}, mnemonic: {:?}, meaning: {:?}, flow: Flow::{flow}, operands: &[",
            operation.name,
            mnemonic(operation),
            operation.meaning
        );
        for role in &operation.operands {
            let (read, written) = (role.access != Access::Out, role.access != Access::In);
            let _ = write!(
                out,
                "Role {{ slot: {:?}, read: {read}, written: {written}, ty: {:?} }}, ",
                role.name, role.ty
            );
        }
        let _ = writeln!(out, "], modifiers: &{:?} }},", operation.modifiers);
    }
    let _ = writeln!(
        out,
        "];\n\n/// What can be chosen.\npub(crate) static MODIFIERS: [Modifier; {}] = [",
        isa.modifiers.len()
    );
    for modifier in &isa.modifiers {
        let _ = write!(
            out,
            "    Modifier {{ name: {:?}, meaning: {:?}, values: &[",
            modifier.name, modifier.meaning
        );
        for value in &modifier.values {
            let _ = write!(out, "({:?}, {:?}), ", value.name, value.spelling);
        }
        out.push_str("] },\n");
    }
    out.push_str("];\n\n");
    // A pair that begins with the last of 255 registers would include R256, which no chip has.
    let names: Vec<String> = (0..=256).map(|number| format!("\"R{number}\"")).collect();
    array(&mut out, "pub(crate) ", "REGISTERS", "&str", &names, 16);
    let numbers: Vec<String> = (0..256).map(|number| format!("\"{number:#x}\"")).collect();
    array(&mut out, "pub(crate) ", "SMALL_NUMBERS", "&str", &numbers, 16);
    out
}

/// Maps a value of the modifier used by an encoding to the value of the modifier declared by the operation, by name or
/// otherwise by spelling. Returns its number.
pub fn declared_number(isa: &Isa, declared: usize, bound: usize, value: usize) -> usize {
    if declared == bound {
        return value;
    }
    let entry = &isa.modifiers[bound].values[value];
    let values = &isa.modifiers[declared].values;
    let by_name = values.iter().position(|other| other.name == entry.name);
    by_name.or_else(|| values.iter().position(|other| other.spelling == entry.spelling)).unwrap_or(value)
}

/// Returns the value of a modifier in encodings that do not select one: the value with an empty spelling, or the first.
pub fn default_number(isa: &Isa, modifier: usize) -> usize {
    isa.modifiers[modifier]
        .values
        .iter()
        .position(|value| value.spelling.is_empty() && value.name != "-")
        .unwrap_or(0)
}

/// Returns the first word of an operation's text.
pub fn mnemonic(operation: &crate::model::Operation) -> &str {
    let text = operation.forms.first().and_then(|form| {
        form.template.iter().find_map(|piece| match piece {
            Piece::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        })
    });
    text.and_then(|text| text.split(['.', ' ', '[']).next()).unwrap_or(&operation.name)
}

/// Generates the module of a generation.
pub fn generation(isa: &Isa, generation: &Generation) -> String {
    let mut tables = Tables::new(isa);
    let encodings: Vec<String> =
        generation.encodings.iter().map(|encoding| tables.encoding(encoding)).collect();
    let (buckets, candidates) = buckets(generation);
    let mut out = String::from(HEAD);
    out.push_str("use crate::table::{Encoding, Field, Isa, Kind, Operand as Op, Piece, Schedule};\nuse Piece::{Mnemonic, Modifier, Operand, Text};\n\n");
    let schedule = &generation.schedule;
    let _ = writeln!(
        out,
        "/// {title}.\npub(crate) static ISA: Isa = Isa {{\n    name: {name:?},\n    title: {title:?},\n    architectures: \
         &{architectures:?},\n    word_bytes: {bytes},\n    index: &{index:?},\n    buckets: &BUCKETS,\n    candidates: \
         &CANDIDATES,\n    encodings: &ENCODINGS,\n    pieces: &PIECES,\n    lists: &LISTS,\n    fields: &FIELDS,\n    operands: \
         &OPERANDS,\n    orders: &ORDERS,\n    texts: &TEXTS,\n    schedule: Schedule {{ every: {every}, mask: \
         {mask:#x}, value: {value:#x}, first_code: {first}, code_bits: {width} }},\n}};\n",
        title = generation.title,
        name = generation.name,
        architectures = generation.architectures,
        bytes = generation.word_bits / 8,
        index = generation.index,
        every = schedule.every,
        mask = schedule.mask,
        value = schedule.value,
        first = schedule.first_code,
        width = schedule.code_bits,
    );
    array(&mut out, "", "BUCKETS", "u16", &numbers(&buckets), 24);
    array(&mut out, "", "CANDIDATES", "u16", &numbers(&candidates), 24);
    array(&mut out, "", "ORDERS", "u16", &numbers(&tables.orders), 24);
    array(
        &mut out,
        "",
        "TEXTS",
        "&str",
        &tables.texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>(),
        8,
    );
    array(&mut out, "", "PIECES", "Piece", &tables.pieces.entries, 8);
    array(&mut out, "", "LISTS", "u16", &tables.lists.entries, 24);
    array(&mut out, "", "FIELDS", "Field", &tables.fields.entries, 1);
    array(&mut out, "", "OPERANDS", "Op", &tables.operands.entries, 1);
    array(&mut out, "", "ENCODINGS", "Encoding", &encodings, 1);
    out
}

fn numbers<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn array(out: &mut String, visible: &str, name: &str, ty: &str, entries: &[String], per_line: usize) {
    let _ = writeln!(out, "{visible}static {name}: [{ty}; {}] = [", entries.len());
    for line in entries.chunks(per_line) {
        let _ = writeln!(out, "    {},", line.join(", "));
    }
    out.push_str("];\n\n");
}

/// Returns, for each value of the index bits, the encodings that may match, most specific first.
fn buckets(generation: &Generation) -> (Vec<usize>, Vec<usize>) {
    let index = Bits { ranges: generation.index.clone(), ..Bits::default() };
    let mut by_bucket: Vec<Vec<usize>> = vec![Vec::new(); 1 << index.width()];
    for (number, encoding) in generation.encodings.iter().enumerate() {
        let (mask, value) = (index.extract(encoding.mask), index.extract(encoding.value));
        for (bucket, list) in by_bucket.iter_mut().enumerate() {
            if bucket as u128 & mask == value {
                list.push(number);
            }
        }
    }
    let mut starts = Vec::with_capacity(by_bucket.len() + 1);
    let mut candidates = Vec::new();
    let mut seen: HashMap<Vec<usize>, usize> = HashMap::new();
    for mut list in by_bucket {
        list.sort_by_key(|number| core::cmp::Reverse(generation.encodings[*number].mask.count_ones()));
        // Lists end with a marker, so that equal lists are stored once.
        let start = *seen.entry(list.clone()).or_insert_with(|| {
            let start = candidates.len();
            candidates.extend(&list);
            candidates.push(usize::from(u16::MAX));
            start
        });
        starts.push(start);
    }
    (starts, candidates)
}

/// An array of distinct entries.
#[derive(Default)]
struct DistinctEntries {
    entries: Vec<String>,
    index: HashMap<String, usize>,
}

impl DistinctEntries {
    fn add(&mut self, entry: String) -> usize {
        let entries = &mut self.entries;
        *self.index.entry(entry).or_insert_with_key(|entry| {
            entries.push(entry.clone());
            entries.len() - 1
        })
    }
}

/// An array of sequences, in which equal sequences are stored once.
#[derive(Default)]
struct SharedSequences {
    entries: Vec<String>,
    index: HashMap<Vec<String>, usize>,
}

impl SharedSequences {
    /// Returns the start and length of the sequence, adding it if necessary.
    fn add(&mut self, run: Vec<String>) -> String {
        let length = run.len();
        let entries = &mut self.entries;
        let start = *self.index.entry(run).or_insert_with_key(|run| {
            entries.extend(run.iter().cloned());
            entries.len() - run.len()
        });
        format!("({start}, {length})")
    }
}

struct Tables<'a> {
    isa: &'a Isa,
    texts: Vec<String>,
    text_index: HashMap<String, usize>,
    pieces: SharedSequences,
    lists: SharedSequences,
    fields: DistinctEntries,
    operands: DistinctEntries,
    orders: Vec<u16>,
    order_index: HashMap<Vec<u16>, usize>,
}

impl<'a> Tables<'a> {
    fn new(isa: &'a Isa) -> Self {
        let mut tables = Self {
            isa,
            texts: Vec::new(),
            text_index: HashMap::new(),
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
        let texts = &mut self.texts;
        *self.text_index.entry(text.to_owned()).or_insert_with(|| {
            texts.push(text.to_owned());
            texts.len() - 1
        })
    }

    fn order(&mut self, order: &[Option<usize>]) -> usize {
        let numbers: Vec<u16> = order
            .iter()
            .map(|value| value.and_then(|value| u16::try_from(value).ok()).unwrap_or(u16::MAX))
            .collect();
        let orders = &mut self.orders;
        *self.order_index.entry(numbers.clone()).or_insert_with(|| {
            orders.extend(numbers);
            orders.len() - order.len()
        })
    }

    fn encoding(&mut self, encoding: &Encoding) -> String {
        let operation = &self.isa.operations[encoding.operation];
        let mut fields = Vec::new();
        for choice in &encoding.choices {
            let order = self.order(&choice.order);
            fields.push(self.field(&choice.slot, &choice.bits, Some((choice.modifier, order))));
        }
        let choice_fields = fields.clone();
        let mut operands = Vec::new();
        for operand in &encoding.operands {
            let line = self.operand(operand, &mut fields);
            operands.push(self.operands.add(line));
        }
        let mut pieces = Vec::new();
        let mut mnemonic = true;
        for piece in &operation.forms[encoding.form].template {
            match piece {
                Piece::Text(text) if mnemonic && !text.trim().is_empty() => {
                    mnemonic = false;
                    let end = text.find([' ', '.', '[']).unwrap_or(text.len());
                    pieces.push(format!("Mnemonic({})", self.text(&text[..end])));
                    if end < text.len() {
                        pieces.push(format!("Text({})", self.text(&text[end..])));
                    }
                }
                Piece::Text(text) => pieces.push(format!("Text({})", self.text(text))),
                Piece::Slot(slot) => {
                    if let Some(index) = encoding.choice(slot) {
                        pieces.push(format!("Modifier({})", choice_fields[index]));
                    } else if let Some(index) = encoding.operand(slot) {
                        pieces.push(format!("Operand({})", operands[index]));
                    }
                }
            }
        }
        let orders = encoding.choices.iter().map(|choice| &choice.order);
        let selects =
            encoding.operands.iter().filter_map(|operand| operand.select.as_ref().map(|select| &select.1));
        let checked = orders.chain(selects).any(|order| order.contains(&None));
        format!(
            "Encoding {{ mask: {:#x}, value: {:#x}, ignored: {:#x}, operation: {}, form: {}, alternative: {}, latency: {}, pieces: \
             {}, fields: {}, operands: {}, checked: {checked} }}",
            encoding.mask,
            encoding.value,
            encoding.ignored,
            encoding.operation,
            self.text(&operation.forms[encoding.form].name),
            self.text(&encoding.alternative),
            self.text(&encoding.latency),
            self.pieces.add(pieces),
            self.lists.add(numbers(&fields)),
            self.lists.add(numbers(&operands)),
        )
    }

    fn field(&mut self, slot: &str, bits: &Bits, modifier: Option<(usize, usize)>) -> usize {
        let slot = self.text(slot);
        let mut ranges = [(0, 0); 3];
        for (place, range) in ranges.iter_mut().zip(&bits.ranges) {
            *place = *range;
        }
        let (modifier, order) = modifier.unwrap_or((usize::from(u16::MAX), 0));
        self.fields.add(format!(
            "Field {{ ranges: {ranges:?}, width: {}, signed: {}, shift: {}, view: {}, slot: {slot}, modifier: \
             {modifier}, order: {order} }}",
            bits.width(),
            bits.signed,
            bits.shift,
            bits.view
        ))
    }

    fn operand(&mut self, operand: &Operand, fields: &mut Vec<usize>) -> String {
        let select = operand.select.clone().map(|(modifier, order)| (modifier, self.order(&order)));
        let slot = self.text(&operand.slot);
        let mut text = format!("Op {{ kind: Kind::{:?}, slot: {slot}", operand.kind);
        for (part, name) in [
            (Part::Value, "value"),
            (Part::Negate, "negate"),
            (Part::Absolute, "absolute"),
            (Part::Invert, "invert"),
            (Part::Not, "not"),
            (Part::Select, "select"),
            (Part::Base, "base"),
            (Part::Offset, "offset"),
            (Part::Bank, "bank"),
        ] {
            let field = match operand.part(part) {
                Some(bits) => {
                    let modifier = select.filter(|_| part == Part::Select);
                    let field = self.field(&operand.slot, bits, modifier);
                    fields.push(field);
                    field
                }
                None => usize::from(u16::MAX),
            };
            let _ = write!(text, ", {name}: {field}");
        }
        text.push_str(" }");
        text
    }
}

/// Generates the table of reference pages.
pub fn reference(pages: &[(String, String)]) -> String {
    let mut out = String::from(HEAD);
    let _ =
        writeln!(out, "/// Mnemonic and page.\npub(crate) static PAGES: [(&str, &str); {}] = [", pages.len());
    for (name, _) in pages {
        let _ = writeln!(out, "    ({name:?}, include_str!(\"../../reference/{name}.md\")),");
    }
    out.push_str("];\n");
    out
}

/// Generates the examples of a generation: one line `WORD ADDRESS TEXT` each, in hexadecimal.
pub fn examples(generation: &Generation) -> String {
    let mut out = String::new();
    for example in generation.encodings.iter().flat_map(|encoding| &encoding.examples) {
        let _ = writeln!(out, "{:016x} {:x} {}", example.word, example.address, example.text);
    }
    out
}
