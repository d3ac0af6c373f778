//! Generates the Ghidra processor module: SLEIGH from the same tables and semantics as all other output.
//!
//! An encoding becomes a constructor with its fixed bits and its text, and uses the tables below.
//!
//! | prefix | table |
//! |---|---|
//! | `m` | the text of a modifier |
//! | `o` | the text of an operand |
//! | `v` | the value of an operand, as p-code |
//! | `r` | a register whose number is in several fields |
//! | `n` | the number of a modifier's value |
//! | `a` | the target of a branch |
//! | `c` | an address that is pushed, for the context |
//! | `j` | an address in the context |
//! | `s` | a piece of the semantics: a constructor for each relevant combination of modifiers |
//! | `b` | several pieces |
//!
//! Equal tables are written once and shared. Temporaries that several pieces of semantics share are registers
//! (`t4_0`), which disappear in decompilation. The display follows Ghidra's conventions: the mnemonic up to the first
//! space includes guard and modifiers (`@P0_FADD.FTZ`), followed by operands. Floating-point immediates are shown as
//! bits, because SLEIGH can't print them.

mod display;
mod files;
mod pieces;
mod stacks;
mod values;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::model::{Bits, Encoding, Generation, Isa, Kind, Part, Piece};

pub use files::module;

/// Generates the specification of a generation.
pub fn specification(isa: &Isa, generation: &Generation) -> String {
    let mut writer = Writer::new(isa, generation);
    let roots: Vec<String> =
        generation.encodings.iter().map(|encoding| writer.constructor(encoding)).collect();
    let mut out = format!(
        "# Written by `cargo xtask codegen` from isa/nvidia. Do not edit.\n#\n# {}.\n\n",
        generation.title
    );
    files::spaces_and_registers(&mut out, writer.zero_register, &writer.scratch);
    writer.token(&mut out);
    out.push_str("@include \"functions.sinc\"\n\n");
    for table in &writer.tables {
        out.push_str(table);
    }
    out.push('\n');
    let schedule = &generation.schedule;
    if schedule.every != 0 {
        let bits = fixed_bits(schedule.mask, schedule.value);
        let pattern: Vec<String> =
            bits.iter().map(|(low, high, value)| format!("f_{low}_{high}={value:#x}")).collect();
        // The table does nothing, but without it the constructor would look incomplete.
        let _ = writeln!(
            out,
            "nothing: is epsilon {{ export 0:1; }}\n:SCHED is {} & nothing {{ build nothing; }}",
            pattern.join(" & ")
        );
    }
    for root in &roots {
        out.push_str(root);
        out.push('\n');
    }
    out
}

/// Splits a mask into ranges of bits, with their values.
fn fixed_bits(mask: u128, value: u128) -> Vec<(u32, u32, u128)> {
    let mut runs = Vec::new();
    let mut bit = 0;
    while bit < 64 {
        if mask >> bit & 1 == 0 {
            bit += 1;
            continue;
        }
        let low = bit;
        while bit < 64 && mask >> bit & 1 == 1 {
            bit += 1;
        }
        runs.push((low, bit - 1, value >> low & crate::model::ones(bit - low)));
    }
    runs
}

/// Maximum number of operands of a constructor, with some margin.
const MOST_OPERANDS: usize = 16;

/// The state of writing one generation.
struct Writer<'a> {
    isa: &'a Isa,
    /// The number of the zero register.
    zero_register: u32,
    /// The fields of the token: name, bits, whether signed, and the attached registers.
    fields: BTreeMap<String, (u32, u32, bool, String)>,
    /// The tables, in the order of their definition.
    tables: Vec<String>,
    /// The names of tables, by body.
    names: HashMap<String, String>,
    counts: HashMap<char, usize>,
    /// The number of registers of each size for shared temporaries.
    scratch: BTreeMap<u32, usize>,
}

impl<'a> Writer<'a> {
    fn new(isa: &'a Isa, generation: &Generation) -> Self {
        let widest =
            generation.encodings.iter().flat_map(|encoding| &encoding.operands).filter_map(|operand| {
                let bits = operand.part(Part::Value)?;
                (operand.kind == Kind::Register).then(|| bits.width())
            });
        let zero_register = (1 << widest.max().unwrap_or(8)) - 1;
        let mut writer = Self {
            isa,
            zero_register,
            fields: BTreeMap::new(),
            tables: Vec::new(),
            names: HashMap::new(),
            counts: HashMap::new(),
            scratch: BTreeMap::new(),
        };
        for (low, high, _) in fixed_bits(generation.schedule.mask, generation.schedule.value) {
            writer.field(low, high, false);
        }
        writer
    }

    /// Returns the name of a token field, defining it if necessary.
    fn field(&mut self, low: u32, high: u32, signed: bool) -> String {
        let name = format!("{}_{low}_{high}", if signed { 's' } else { 'f' });
        self.fields.insert(name.clone(), (low, high, signed, String::new()));
        name
    }

    /// Returns a field with attached registers: `g` for single registers, `w` for pairs, `p` for predicates, starting
    /// at `lane`.
    fn register_field(&mut self, bits: &Bits, set: char, lane: u32) -> String {
        if bits.ranges.len() > 1 {
            return self.scattered(bits, set, lane);
        }
        let (low, count) = bits.ranges.first().copied().unwrap_or((0, 1));
        let name = if lane == 0 { format!("{set}_{low}") } else { format!("{set}{lane}_{low}") };
        let attached = files::attached(set, count, lane, self.zero_register);
        self.fields.insert(name.clone(), (low, low + count - 1, false, attached));
        name
    }

    /// Returns a register whose number is in several fields: a table that exports it.
    fn scattered(&mut self, bits: &Bits, set: char, lane: u32) -> String {
        let registers = files::attached(set, bits.width(), lane, self.zero_register);
        let mut body = String::new();
        for (number, register) in registers.split(' ').enumerate() {
            let _ = writeln!(
                body,
                "@: {register} is {register} & {} {{ export {register}; }}",
                self.equals(bits, number as u128)
            );
        }
        self.table('r', &body)
    }

    /// Returns a pattern such as `f_1_2=3` for each range of bits.
    fn equals(&mut self, bits: &Bits, value: u128) -> String {
        let mut rest = value;
        let mut parts = Vec::new();
        for &(low, count) in &bits.ranges {
            let name = self.field(low, low + count - 1, false);
            parts.push(format!("{name}={:#x}", rest & crate::model::ones(count)));
            rest >>= count;
        }
        parts.join(" & ")
    }

    /// Returns an expression for the number in bits, extended and shifted, and its fields.
    fn number(&mut self, bits: &Bits) -> (String, Vec<String>) {
        let mut terms = Vec::new();
        let mut fields = Vec::new();
        let mut at = 0;
        for (index, &(low, count)) in bits.ranges.iter().enumerate() {
            let signed = bits.signed && index + 1 == bits.ranges.len();
            let name = self.field(low, low + count - 1, signed);
            fields.push(name.clone());
            let place = at + bits.shift;
            terms.push(if place == 0 { name } else { format!("({name} << {place})") });
            at += count;
        }
        // The compiler does not accept a single field as an expression.
        if terms == fields {
            terms[0].push_str(" + 0");
        }
        (terms.join(" | "), fields)
    }

    /// Returns the name of the table with these constructors, whose lines begin with `@:` in place of the name. Writes
    /// the table if it is new.
    fn table(&mut self, prefix: char, body: &str) -> String {
        if let Some(name) = self.names.get(body) {
            return name.clone();
        }
        let count = self.counts.entry(prefix).or_insert(0);
        let name = format!("{prefix}{count}");
        *count += 1;
        let lines = body.lines().map(|line| match line.strip_prefix('@') {
            Some(rest) => format!("{name}{rest}\n"),
            None => format!("{line}\n"),
        });
        self.tables.push(lines.collect());
        self.names.insert(body.to_owned(), name.clone());
        name
    }

    /// Returns a second table with the same text.
    fn again(&mut self, table: &str) -> String {
        let body =
            self.names.iter().find(|entry| entry.1 == table).map(|entry| entry.0.clone()).unwrap_or_default();
        self.table('o', &format!("{body}# once more\n"))
    }

    fn token(&self, out: &mut String) {
        out.push_str("define token word(64)\n");
        for (name, (low, high, signed, _)) in &self.fields {
            let _ = writeln!(out, "  {name}=({low},{high}){}", if *signed { " signed" } else { "" });
        }
        out.push_str(";\n\n");
        let mut by_list: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, (_, _, _, attached)) in self.fields.iter().filter(|field| !field.1.3.is_empty()) {
            by_list.entry(attached).or_default().push(name);
        }
        for (list, names) in by_list {
            let _ = writeln!(out, "attach variables [ {} ] [ {list} ];", names.join(" "));
        }
        out.push('\n');
    }

    /// Returns the constructor `:mnemonic operands is bits & tables { pieces }`.
    fn constructor(&mut self, encoding: &Encoding) -> String {
        let operation = &self.isa.operations[encoding.operation];
        let mut mnemonic: Vec<String> = Vec::new();
        let mut operands: Vec<String> = Vec::new();
        let mut used: Vec<String> = Vec::new();
        let mut blank = false;
        let mut guard = None;
        for piece in &operation.forms[encoding.form].template {
            let place = if blank { &mut operands } else { &mut mnemonic };
            match piece {
                Piece::Text(text) => {
                    let (before, after) = match text.split_once(' ').filter(|_| !blank) {
                        Some((before, after)) => (before, Some(after)),
                        None => (text.as_str(), None),
                    };
                    if !before.is_empty() {
                        place.push(format!("\"{before}\""));
                    }
                    if let Some(after) = after {
                        blank = true;
                        if !after.is_empty() {
                            operands.push(format!("\"{after}\""));
                        }
                    }
                }
                Piece::Slot(slot) => {
                    let table = match (encoding.choice(slot), encoding.operand(slot)) {
                        (Some(index), _) => self.modifier(&encoding.choices[index]),
                        (None, Some(index)) => {
                            let operand = &encoding.operands[index];
                            let table = self.display(operand);
                            if operand.kind == Kind::Guard {
                                guard = Some(table.clone());
                            }
                            table
                        }
                        (None, None) => continue,
                    };
                    // SLEIGH requires different names for repeated operands.
                    let table = if used.contains(&table) { self.again(&table) } else { table };
                    place.push(table.clone());
                    used.push(table);
                }
            }
        }
        let fixed = fixed_bits(encoding.mask, encoding.value);
        let mut pattern: Vec<String> = Vec::new();
        for (low, high, value) in fixed {
            let name = self.field(low, high, false);
            pattern.push(format!("{name}={value:#x}"));
        }
        pattern.extend(used);
        let mut builds: Vec<String> = guard.into_iter().collect();
        let pieces = self.pieces(encoding);
        for piece in self.bundled(pieces, pattern.len()) {
            pattern.push(piece.clone());
            builds.push(piece);
        }
        // A table that two slots share must be in the pattern once.
        let mut seen = Vec::new();
        pattern.retain(|part| {
            if seen.contains(part) {
                false
            } else {
                seen.push(part.clone());
                true
            }
        });
        let operands = if operands.is_empty() { String::new() } else { format!(" {}", operands.join("^")) };
        let builds: String = builds.iter().map(|name| format!(" build {name};")).collect();
        format!(":^{}{operands} is {} {{{builds} }}", mnemonic.join("^"), pattern.join(" & "))
    }

    /// Combines pieces, because Ghidra's decoder supports at most 20 operands per constructor.
    fn bundled(&mut self, pieces: Vec<String>, others: usize) -> Vec<String> {
        if others + pieces.len() <= MOST_OPERANDS {
            return pieces;
        }
        pieces
            .chunks(MOST_OPERANDS / 2)
            .map(|chunk| {
                let mut unique = chunk.to_vec();
                unique.sort();
                unique.dedup();
                let builds: String = chunk.iter().map(|piece| format!(" build {piece};")).collect();
                self.table('b', &format!("@: is {} {{{builds} export 0:1; }}\n", unique.join(" & ")))
            })
            .collect()
    }
}
