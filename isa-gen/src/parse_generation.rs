//! Parses the file of a generation: layouts, forms and rows, expanded to encodings.
//!
//! ```text
//! layout alu : base                              bits shared by many rows; a layout inherits from another
//!   d=gpr@2..9 a=gpr@10..17
//! forms two : alu                                alternatives of an operand: each row becomes an encoding for each
//!   reg op 0..1=2 62..63=3 b=gpr@23..30          … that has a pattern of opcode bits (`op`)
//!   imm imm 0..1=1 b=f32@23..41+59<<12
//! FADD two op ..10001011 imm 1100.01011 | ftz@47 rnd@42..43 b.neg@48
//!   example 0xe2c0000001804806 FADD R1, R2, R3;
//! ```

use std::collections::HashMap;

use crate::lex::{Block, Line, blocks, error, number};
use crate::model::{
    Bits, CONTROL_FIELDS, Choice, ControlField, Encoding, Example, Generation, Isa, Kind, Operand, Part,
    PartModifier, Piece, Schedule, ones,
};
use crate::{Error, Result};

/// The number of bits of a uniform register in the first generations that have them.
const NARROW_UNIFORM: u32 = 6;

/// A generation with what the files of later ones can refer to.
#[derive(Clone)]
pub struct Parsed {
    /// The generation.
    pub generation: Generation,
    /// The highest bit of a pattern.
    pattern_top: u32,
    /// The bits of an opcode that is given as a number.
    opcode: Bits,
    /// Whether bits that no item claims have no meaning.
    ignores_rest: bool,
    /// Bits that rows may fix, but that have no meaning.
    unused: u128,
    /// The names of alternatives that no row has.
    lacking: Vec<String>,
    /// The number of bits of a uniform register, where a layout gives six.
    uniform_bits: u32,
    layouts: HashMap<String, Vec<LayoutItem>>,
    forms: HashMap<String, Vec<Alternative>>,
}

/// Parses the file of a generation. `earlier` are those that it can build on.
///
/// # Errors
///
/// The first line that violates the grammar or uses an unknown name.
pub fn parse(isa: &Isa, file: &str, text: &str, earlier: &[Parsed]) -> Result<Parsed> {
    let parsed = Parsed {
        generation: Generation {
            name: String::new(),
            title: String::new(),
            architectures: Vec::new(),
            word_bits: 64,
            index: Vec::new(),
            control: Vec::new(),
            schedule: Schedule::default(),
            has_semantics: false,
            encodings: Vec::new(),
            file: file.to_owned(),
        },
        pattern_top: 63,
        opcode: Bits::default(),
        ignores_rest: false,
        unused: 0,
        lacking: Vec::new(),
        uniform_bits: NARROW_UNIFORM,
        layouts: HashMap::new(),
        forms: HashMap::new(),
    };
    let mut parser = Parser { isa, file, parsed, latency: String::new() };
    for block in blocks(file, text)? {
        match block.head.split().0 {
            "generation" => parser.generation(&block, earlier)?,
            "layout" => parser.layout(&block)?,
            "forms" => parser.forms(&block)?,
            "without" => parser.without(&block)?,
            "unused" => parser.unused(&block)?,
            "lacks" => parser.lacks(&block),
            "uniform" => parser.uniform(&block)?,
            "respell" => parser.respell(&block)?,
            "unchecked" => parser.checked(&block, false)?,
            "checked" => parser.checked(&block, true)?,
            "defined" => parser.defined(&block)?,
            "reuse" => parser.reuse(&block)?,
            "latency" => block.head.split().1.clone_into(&mut parser.latency),
            _ => parser.row(&block)?,
        }
    }
    Ok(parser.parsed)
}

/// An unresolved item of a layout or row: the kind of a slot depends on the operation.
#[derive(Clone)]
struct LayoutItem {
    text: String,
    line: usize,
}

#[derive(Clone)]
struct Alternative {
    name: String,
    pattern: String,
    items: Vec<LayoutItem>,
}

struct Parser<'a> {
    isa: &'a Isa,
    file: &'a str,
    parsed: Parsed,
    latency: String,
}

impl Parser<'_> {
    /// Parses `generation NAME [: EARLIER] "TITLE"`. It has all rows of the earlier one.
    fn generation(&mut self, block: &Block<'_>, earlier: &[Parsed]) -> Result<()> {
        let mut words = block.head.words();
        if words.get(2) == Some(&":") {
            let base = words.get(3).copied().unwrap_or("");
            let found = earlier.iter().find(|parsed| parsed.generation.name == base);
            let found =
                found.ok_or_else(|| self.error(&block.head, format!("unknown generation '{base}'")))?;
            self.parsed = found.clone();
            self.file.clone_into(&mut self.parsed.generation.file);
            for encoding in &mut self.parsed.generation.encodings {
                encoding.examples.clear();
            }
            words.drain(2..4);
        }
        let name = words.get(1).ok_or_else(|| self.error(&block.head, "a generation has a name"))?;
        (*name).clone_into(&mut self.parsed.generation.name);
        self.parsed.generation.title =
            words.get(2).map_or("", |word| word.trim_start_matches('"')).to_owned();
        for line in &block.body {
            let (key, rest) = line.split();
            let one = || number(rest).and_then(|value| u32::try_from(value).ok());
            match key {
                "architectures" => {
                    self.parsed.generation.architectures =
                        rest.split_whitespace().filter_map(|word| word.parse().ok()).collect();
                }
                "word" => {
                    self.parsed.generation.word_bits =
                        one().ok_or_else(|| self.error(line, "how many bits?"))?;
                }
                "pattern" => {
                    self.parsed.pattern_top =
                        one().ok_or_else(|| self.error(line, "missing number of the top bit"))?;
                }
                "index" => {
                    for word in rest.split_whitespace() {
                        self.parsed.generation.index.extend(self.bits(line.number, word)?.ranges);
                    }
                }
                "opcode" => self.parsed.opcode = self.bits(line.number, rest)?,
                "control" => self.parsed.generation.control = self.control(line, rest)?,
                "rest" => self.parsed.ignores_rest = rest == "ignored",
                "semantics" => self.parsed.generation.has_semantics = rest == "complete",
                "schedule" => self.parsed.generation.schedule = self.schedule(line, rest)?,
                _ => {
                    let known =
                        "architectures, word, pattern, opcode, index, control, rest, schedule or semantics";
                    return Err(self.error(line, format!("expected {known}")));
                }
            }
        }
        Ok(())
    }

    /// Parses `stall@105..108 yield@109 …`.
    fn control(&self, line: &Line<'_>, rest: &str) -> Result<Vec<ControlField>> {
        let mut fields = Vec::new();
        for item in rest.split_whitespace() {
            let (name, bits) = item.split_once('@').unwrap_or((item, ""));
            let &[(low, count)] = self.bits(line.number, bits)?.ranges.as_slice() else {
                return Err(self.error(line, format!("'{item}': expected one range of bits")));
            };
            fields.push(ControlField { name: name.to_owned(), low, count });
        }
        let is_complete = fields.iter().map(|field| field.name.as_str()).eq(CONTROL_FIELDS);
        if is_complete { Ok(fields) } else { Err(self.error(line, format!("expected {CONTROL_FIELDS:?}"))) }
    }

    /// Parses `without OPERATION[/FORM] …`: leaves out rows of the generation that this one builds on.
    fn without(&mut self, block: &Block<'_>) -> Result<()> {
        let more = block.body.iter().flat_map(|line| line.words());
        for word in block.head.words().into_iter().skip(1).chain(more) {
            let (name, form) = word.split_once('/').map_or((word, None), |(name, form)| (name, Some(form)));
            let isa = self.isa;
            let before = self.parsed.generation.encodings.len();
            self.parsed.generation.encodings.retain(|encoding| {
                let operation = &isa.operations[encoding.operation];
                let is_form = form.is_none_or(|form| operation.forms[encoding.form].name == form);
                operation.name != name || !is_form
            });
            if self.parsed.generation.encodings.len() == before {
                return Err(self.error(&block.head, format!("no row of '{word}'")));
            }
        }
        Ok(())
    }

    /// Parses `respell OLD NEW`: the rows so far have the values of the modifier `NEW` in the place of those of `OLD`, which are
    /// as many.
    fn respell(&mut self, block: &Block<'_>) -> Result<()> {
        let words = block.head.words();
        let modifier = |at: usize| words.get(at).and_then(|name| self.isa.modifier(name));
        let (Some(old), Some(new)) = (modifier(1), modifier(2)) else {
            return Err(self.error(&block.head, "expected respell OLD NEW, which are names of modifiers"));
        };
        let count = |index: usize| self.isa.modifiers[index].values.len();
        if count(old) != count(new) {
            let message = format!("{} values respelled as {}", count(old), count(new));
            return Err(self.error(&block.head, message));
        }
        let mut is_used = false;
        for encoding in &mut self.parsed.generation.encodings {
            let choices = encoding.choices.iter_mut().map(|choice| &mut choice.modifier);
            let parts = encoding.operands.iter_mut().flat_map(|operand| &mut operand.modifiers);
            for modifier in choices.chain(parts.map(|(_, part)| &mut part.modifier)) {
                if *modifier == old {
                    *modifier = new;
                    is_used = true;
                }
            }
        }
        if is_used { Ok(()) } else { Err(self.error(&block.head, format!("no row has '{}'", words[1]))) }
    }

    /// Parses `unused BITS`: these bits have no meaning. Rows of the generation that this one builds on which need one of them
    /// set are left out, the others ignore them.
    fn unused(&mut self, block: &Block<'_>) -> Result<()> {
        let mask = self.bits(block.head.number, block.head.split().1)?.mask();
        self.parsed.generation.encodings.retain(|encoding| encoding.value & mask == 0);
        for encoding in &mut self.parsed.generation.encodings {
            encoding.ignored |= encoding.mask & mask;
            encoding.mask &= !mask;
        }
        self.parsed.unused |= mask;
        Ok(())
    }

    /// Parses `lacks ALTERNATIVE …`: rows have no alternatives of these names.
    fn lacks(&mut self, block: &Block<'_>) {
        let names = block.head.words().into_iter().skip(1).map(str::to_owned);
        self.parsed.lacking.extend(names);
        let lacking = &self.parsed.lacking;
        self.parsed.generation.encodings.retain(|encoding| !lacking.contains(&encoding.alternative));
    }

    /// Parses `uniform BITS`: uniform registers, which have six bits in the generation that this one builds on, have more.
    fn uniform(&mut self, block: &Block<'_>) -> Result<()> {
        let bits = number(block.head.split().1).and_then(|bits| u32::try_from(bits).ok());
        self.parsed.uniform_bits = bits.ok_or_else(|| self.error(&block.head, "how many bits?"))?;
        let bits = self.parsed.uniform_bits;
        for operand in self.parsed.generation.encodings.iter_mut().flat_map(|encoding| &mut encoding.operands)
        {
            widen(operand, bits);
        }
        if self.parsed.ignores_rest {
            let word = ones(self.parsed.generation.word_bits);
            for encoding in &mut self.parsed.generation.encodings {
                encoding.ignored = word & !encoding.claimed();
            }
        }
        Ok(())
    }

    /// Parses `checked BITS OPERATION[/FORM] …`: rows of these operations that ignore the bits need them to be zero; and
    /// `unchecked …`, which is the inverse.
    fn checked(&mut self, block: &Block<'_>, needed: bool) -> Result<()> {
        let more = block.body.iter().flat_map(|line| line.words());
        let words: Vec<_> = block.head.words().into_iter().skip(1).chain(more).collect();
        let (bits, operations) = words.split_first().map_or(("", &[][..]), |(bits, rest)| (*bits, rest));
        let mask = self.bits(block.head.number, bits)?.mask();
        for word in operations {
            let mut found = false;
            for encoding in self.rows_of(word) {
                let now = if needed { encoding.ignored } else { encoding.mask & !encoding.value };
                if now & mask == mask {
                    encoding.ignored ^= mask;
                    encoding.mask ^= mask;
                    found = true;
                }
            }
            if !found {
                return Err(self.error(&block.head, format!("no row of '{word}' is changed")));
            }
        }
        Ok(())
    }

    /// Parses `defined MODIFIER …`: rows of the generation that this one builds on refuse the values of these modifiers that
    /// have no meaning, which are spelled `???`.
    fn defined(&mut self, block: &Block<'_>) -> Result<()> {
        let more = block.body.iter().flat_map(|line| line.words());
        for name in block.head.words().into_iter().skip(1).chain(more) {
            let Some(index) = self.isa.modifiers.iter().position(|modifier| modifier.name == name) else {
                return Err(self.error(&block.head, format!("unknown modifier '{name}'")));
            };
            let values = &self.isa.modifiers[index].values;
            let refuse = |order: &mut Vec<Option<usize>>| {
                for number in order {
                    *number = number.filter(|value| !values[*value].spelling.contains("???"));
                }
            };
            for encoding in &mut self.parsed.generation.encodings {
                for choice in encoding.choices.iter_mut().filter(|choice| choice.modifier == index) {
                    refuse(&mut choice.order);
                }
                for operand in &mut encoding.operands {
                    for (_, part) in operand.modifiers.iter_mut().filter(|(_, part)| part.modifier == index) {
                        refuse(&mut part.order);
                    }
                }
            }
        }
        Ok(())
    }

    /// Parses `reuse none OPERATION[/FORM] …`: registers of these operations are never marked as reused; or
    /// `reuse either BIT BIT`: where only one of these bits belongs to a register, the other means the same.
    fn reuse(&mut self, block: &Block<'_>) -> Result<()> {
        let more = block.body.iter().flat_map(|line| line.words());
        let words: Vec<_> = block.head.words().into_iter().skip(1).chain(more).collect();
        match *words {
            ["none", ref operations @ ..] => {
                for word in operations {
                    let mut found = false;
                    for encoding in self.rows_of(word) {
                        for operand in &mut encoding.operands {
                            let parts = operand.parts.iter().filter(|(part, _)| *part == Part::Reuse);
                            let mask = parts.fold(0, |mask, (_, bits)| mask | bits.mask());
                            operand.parts.retain(|(part, _)| *part != Part::Reuse);
                            encoding.ignored |= mask;
                            found |= mask != 0;
                        }
                    }
                    if !found {
                        return Err(
                            self.error(&block.head, format!("no row of '{word}' has reused registers"))
                        );
                    }
                }
            }
            ["either", first, second] => {
                let bits = [first, second].map(|bit| self.bits(block.head.number, bit));
                let [first, second] = bits;
                let (first, second) = (first?.ranges, second?.ranges);
                for encoding in &mut self.parsed.generation.encodings {
                    let has = |ranges: &Vec<(u32, u32)>| {
                        let mut parts = encoding.operands.iter().flat_map(|operand| &operand.parts);
                        parts.any(|(part, bits)| *part == Part::Reuse && bits.ranges == *ranges)
                    };
                    let (own, other) = match (has(&first), has(&second)) {
                        (true, false) => (&first, &second),
                        (false, true) => (&second, &first),
                        _ => continue,
                    };
                    for (part, bits) in encoding.operands.iter_mut().flat_map(|operand| &mut operand.parts) {
                        if *part == Part::Reuse && bits.ranges == *own {
                            bits.ranges.extend(other);
                            encoding.ignored &= !bits.mask();
                        }
                    }
                }
            }
            _ => return Err(self.error(&block.head, "expected 'none OPERATION …' or 'either BIT BIT'")),
        }
        Ok(())
    }

    /// Returns the rows of `OPERATION[/FORM]`.
    fn rows_of(&mut self, word: &str) -> impl Iterator<Item = &mut Encoding> {
        let (name, form) = word.split_once('/').map_or((word, None), |(name, form)| (name, Some(form)));
        let isa = self.isa;
        self.parsed.generation.encodings.iter_mut().filter(move |encoding| {
            let operation = &isa.operations[encoding.operation];
            operation.name == name && form.is_none_or(|form| operation.forms[encoding.form].name == form)
        })
    }

    /// Parses `every 8 mask M value V codes FIRST WIDTH`.
    fn schedule(&self, line: &Line<'_>, rest: &str) -> Result<Schedule> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let at = |index: usize| words.get(index).and_then(|word| number(word));
        let small = |index: usize| at(index).and_then(|value| u32::try_from(value).ok());
        match (small(1), at(3), at(5), small(7), small(8)) {
            (Some(every), Some(mask), Some(value), Some(first_code), Some(code_bits)) => {
                Ok(Schedule { every, mask, value, first_code, code_bits })
            }
            _ => Err(self.error(line, "expected schedule: every N mask M value V codes FIRST WIDTH")),
        }
    }

    fn layout(&mut self, block: &Block<'_>) -> Result<()> {
        let (name, mut items) = self.head_of_layout(&block.head)?;
        for line in &block.body {
            items.extend(items_of(line, line.text));
        }
        self.parsed.layouts.insert(name, items);
        Ok(())
    }

    fn forms(&mut self, block: &Block<'_>) -> Result<()> {
        let (name, base) = self.head_of_layout(&block.head)?;
        let mut alternatives = Vec::new();
        for line in &block.body {
            let (alternative, rest) = line.split();
            let (pattern, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let mut items = base.clone();
            items.extend(items_of(line, rest));
            alternatives.push(Alternative {
                name: alternative.to_owned(),
                pattern: pattern.to_owned(),
                items,
            });
        }
        self.parsed.forms.insert(name, alternatives);
        Ok(())
    }

    /// Parses `layout NAME [: BASE]`.
    fn head_of_layout(&self, line: &Line<'_>) -> Result<(String, Vec<LayoutItem>)> {
        let words = line.words();
        let name = words.get(1).ok_or_else(|| self.error(line, "a layout has a name"))?;
        let items = match words.get(3) {
            Some(base) => self
                .parsed
                .layouts
                .get(*base)
                .ok_or_else(|| self.error(line, format!("unknown layout '{base}'")))?
                .clone(),
            None => Vec::new(),
        };
        Ok(((*name).to_owned(), items))
    }

    /// Parses `OPERATION[/FORM] LAYOUT [PATTERN | NAME PATTERN …] [| items]`.
    fn row(&mut self, block: &Block<'_>) -> Result<()> {
        let (head, items) = block.head.text.split_once('|').unwrap_or((block.head.text, ""));
        let words: Vec<&str> = head.split_whitespace().collect();
        let (name, form) = words[0].split_once('/').unwrap_or((words[0], ""));
        let operation = self
            .isa
            .operation(name)
            .ok_or_else(|| self.error(&block.head, format!("unknown operation '{name}'")))?;
        let form = self.isa.operations[operation]
            .forms
            .iter()
            .position(|entry| entry.name == form)
            .ok_or_else(|| self.error(&block.head, format!("{name} has no form '{form}'")))?;
        let layout = *words.get(1).ok_or_else(|| self.error(&block.head, "a row names a layout"))?;
        let mut own: Vec<LayoutItem> = items_of(&block.head, items);
        let mut examples = Vec::new();
        for line in &block.body {
            match line.text.strip_prefix("example ") {
                Some(text) => examples.push(self.example(line, text)?),
                None => own.extend(items_of(line, line.text.trim_start_matches('|'))),
            }
        }
        let mut expanded = Vec::new();
        if let Some(alternatives) = self.parsed.forms.get(layout) {
            let patterns: HashMap<&str, &str> = match words[2..] {
                [pattern] => HashMap::from([("op", pattern)]),
                ref pairs => pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
            };
            let lacking = &self.parsed.lacking;
            for alternative in alternatives.iter().filter(|alternative| !lacking.contains(&alternative.name))
            {
                if let Some(pattern) = patterns.get(alternative.pattern.as_str()) {
                    expanded.push((alternative.name.clone(), *pattern, alternative.items.clone()));
                }
            }
        } else {
            let base = self
                .parsed
                .layouts
                .get(layout)
                .ok_or_else(|| self.error(&block.head, format!("unknown layout '{layout}'")))?;
            expanded.push((String::new(), words.get(2).copied().unwrap_or(""), base.clone()));
        }
        for (alternative, pattern, base) in expanded {
            let mut encoding = Encoding {
                operation,
                form,
                alternative,
                mask: 0,
                value: 0,
                ignored: 0,
                one_bit: 0,
                not_ones: 0,
                is_first: false,
                choices: Vec::new(),
                operands: Vec::new(),
                latency: self.latency.clone(),
                examples: Vec::new(),
                line: block.head.number,
            };
            self.pattern(&block.head, pattern, &mut encoding)?;
            for item in base.iter().chain(&own) {
                self.item(item, &mut encoding)?;
            }
            if encoding.value & self.parsed.unused != 0 {
                continue;
            }
            encoding.mask &= !self.parsed.unused;
            if self.parsed.ignores_rest {
                encoding.ignored = self.parsed.generation.bits() & !encoding.claimed();
            }
            self.parsed.generation.encodings.push(encoding);
        }
        self.assign_examples(examples)
    }

    /// Assigns each example to the most specific encoding that matches it.
    fn assign_examples(&mut self, examples: Vec<Example>) -> Result<()> {
        for example in examples {
            let best = (self.parsed.generation.encodings.iter_mut())
                .filter(|encoding| encoding.matches(example.word))
                .min_by_key(|encoding| encoding.precedence());
            match best {
                Some(encoding) => encoding.examples.push(example),
                None => {
                    return Err(error(self.file, example.line, "no preceding encoding matches this word"));
                }
            }
        }
        Ok(())
    }

    /// Parses `WORD [@ADDRESS] TEXT`.
    fn example(&self, line: &Line<'_>, text: &str) -> Result<Example> {
        let (word, mut text) =
            text.trim().split_once(' ').ok_or_else(|| self.error(line, "a word and its text"))?;
        let mut address = 0;
        if let Some((first, rest)) = text.strip_prefix('@').and_then(|rest| rest.split_once(' '))
            && let Some(value) = number(first)
        {
            address = u64::try_from(value).unwrap_or(0);
            text = rest;
        }
        let word = number(word).ok_or_else(|| self.error(line, "the word is not a number"))?;
        Ok(Example { address, word, text: text.trim().to_owned(), line: line.number })
    }

    /// Parses the opcode: a number, or its bits from the top down, with `.` for bits that are not part of it.
    fn pattern(&self, line: &Line<'_>, pattern: &str, encoding: &mut Encoding) -> Result<()> {
        if pattern.starts_with("0x") {
            let value = number(pattern).filter(|value| *value <= ones(self.parsed.opcode.width()));
            let value = value.ok_or_else(|| self.error(line, "the opcode is no number of its bits"))?;
            fix_bits(encoding, &self.parsed.opcode, value);
            return Ok(());
        }
        for (index, character) in pattern.chars().filter(|character| *character != '_').enumerate() {
            let bit = self.parsed.pattern_top - u32::try_from(index).unwrap_or(0);
            match character {
                '.' => {}
                '0' => fix(encoding, bit, 1, 0),
                '1' => fix(encoding, bit, 1, 1),
                _ => return Err(self.error(line, "a pattern consists of 0, 1 and .")),
            }
        }
        Ok(())
    }

    fn item(&self, item: &LayoutItem, encoding: &mut Encoding) -> Result<()> {
        let text = item.text.as_str();
        let fail = |message: String| Err(error(self.file, item.line, message));
        if text == "first" {
            encoding.is_first = true;
            return Ok(());
        }
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            let Some((bits, value)) = text.split_once('=') else {
                return fail(format!("'{text}': missing value of fixed bits"));
            };
            let bits = self.bits(item.line, bits)?;
            let Some(value) = number(value).filter(|value| *value <= ones(bits.width())) else {
                return fail(format!("'{text}': value does not fit"));
            };
            fix_bits(encoding, &bits, value);
            return Ok(());
        }
        if let Some(slot) = text.strip_prefix('-') {
            encoding.choices.retain(|choice| choice.slot != slot);
            encoding.operands.retain(|operand| operand.slot != slot);
            return Ok(());
        }
        if let Some((slot, kind)) = text.split_once('=').filter(|(slot, _)| !slot.contains('@')) {
            return self.operand(item, slot, kind, encoding);
        }
        let Some((slot, bits)) = text.split_once('@') else {
            return fail(format!("'{text}': expected slot@bits, slot=kind@bits or bits=value"));
        };
        match slot {
            "ignore" => encoding.ignored |= self.bits(item.line, bits)?.mask(),
            "one_bit" => encoding.one_bit = self.bits(item.line, bits)?.mask(),
            "not_ones" => encoding.not_ones = self.bits(item.line, bits)?.mask(),
            _ => return self.slot_bits(item, slot, bits, encoding),
        }
        Ok(())
    }

    /// Parses `slot@bits` and `slot.part@bits`.
    fn slot_bits(&self, item: &LayoutItem, slot: &str, bits: &str, encoding: &mut Encoding) -> Result<()> {
        match slot.split_once('.') {
            Some((slot, part)) => self.operand_part(item, slot, part, bits, encoding),
            None => self.choice(item, slot, bits, encoding),
        }
    }

    /// Parses `slot=kind@bits` or `slot=kind(part@bits,…)`.
    fn operand(&self, item: &LayoutItem, slot: &str, text: &str, encoding: &mut Encoding) -> Result<()> {
        let end = text.find(['@', '(']).unwrap_or(text.len());
        let Some(kind) = Kind::by_name(&text[..end]) else {
            return Err(error(self.file, item.line, format!("unknown kind of operand '{}'", &text[..end])));
        };
        let mut operand = Operand { slot: slot.to_owned(), kind, parts: Vec::new(), modifiers: Vec::new() };
        let rest = &text[end..];
        if let Some(bits) = rest.strip_prefix('@') {
            operand.parts.push((Part::Value, self.bits(item.line, bits)?));
        } else {
            for part in rest.trim_matches(['(', ')']).split(',').filter(|part| !part.is_empty()) {
                let (name, bits) = part.split_once('@').unwrap_or((part, ""));
                let Some(part) = Part::by_name(name) else {
                    return Err(error(self.file, item.line, format!("unknown part of an operand '{name}'")));
                };
                operand.parts.push((part, self.bits(item.line, bits)?));
            }
        }
        widen(&mut operand, self.parsed.uniform_bits);
        encoding.operands.retain(|old| old.slot != slot);
        encoding.operands.push(operand);
        Ok(())
    }

    /// Parses `slot.part@bits[:modifier][?]`: with a question mark, not for immediates.
    fn operand_part(
        &self,
        item: &LayoutItem,
        slot: &str,
        part: &str,
        bits: &str,
        encoding: &mut Encoding,
    ) -> Result<()> {
        let (bits, unless_immediate) = bits.strip_suffix('?').map_or((bits, false), |bits| (bits, true));
        let kind = encoding.operand(slot).map(|index| encoding.operands[index].kind);
        if unless_immediate && kind.is_some_and(Kind::is_immediate) {
            return Ok(());
        }
        let (bits, set) = bits.split_once(':').unwrap_or((bits, ""));
        let bits = self.bits(item.line, bits)?;
        let (Some(part), Some(index)) = (Part::by_name(part), encoding.operand(slot)) else {
            return Err(error(self.file, item.line, format!("'{}': unknown operand or part", item.text)));
        };
        let modifier = match part {
            Part::Select | Part::Suffix => Some(self.order(item, set, None, &bits)?),
            _ => None,
        };
        let operand = &mut encoding.operands[index];
        operand.parts.retain(|entry| entry.0 != part);
        operand.parts.push((part, bits));
        operand.modifiers.retain(|entry| entry.0 != part);
        operand.modifiers.extend(modifier.map(|(modifier, order)| (part, PartModifier { modifier, order })));
        Ok(())
    }

    /// Parses `slot@bits[:modifier][(value,…)]`.
    fn choice(&self, item: &LayoutItem, slot: &str, bits: &str, encoding: &mut Encoding) -> Result<()> {
        let operation = &self.isa.operations[encoding.operation];
        let (bits, set) = match bits.find([':', '(']) {
            Some(at) => bits.split_at(at),
            None => (bits, ""),
        };
        let bits = self.bits(item.line, bits)?;
        let declared = operation.modifiers.iter().find(|entry| entry.0 == slot).map(|entry| entry.1);
        let in_template = operation.forms[encoding.form].template.contains(&Piece::Slot(slot.to_owned()));
        if declared.is_none() && !in_template {
            // A layout may have more modifiers than the operation; their bits then have no meaning.
            let message = format!("{} has no modifier slot '{slot}'", operation.name);
            return Err(error(self.file, item.line, message));
        }
        let (modifier, order) = self.order(item, set.trim_start_matches(':'), declared, &bits)?;
        encoding.choices.retain(|old| old.slot != slot);
        encoding.choices.push(Choice { slot: slot.to_owned(), bits, modifier, order });
        Ok(())
    }

    /// Returns the value of the modifier for each number: `name`, `(values)`, `name(values)` or as declared.
    fn order(
        &self,
        item: &LayoutItem,
        set: &str,
        declared: Option<usize>,
        bits: &Bits,
    ) -> Result<(usize, Vec<Option<usize>>)> {
        let fail = |message: String| Err(error(self.file, item.line, message));
        let (name, list) =
            set.split_once('(').map_or((set, None), |(name, list)| (name, Some(list.trim_end_matches(')'))));
        let modifier = if name.is_empty() { declared } else { self.isa.modifier(name) };
        let Some(modifier) = modifier else {
            return fail(format!("'{}': missing modifier", item.text));
        };
        let values = &self.isa.modifiers[modifier].values;
        let count = 1_usize << bits.width();
        let mut order = Vec::with_capacity(count);
        match list {
            None => order.extend((0..values.len()).map(Some)),
            Some(list) => {
                for name in list.split(',') {
                    match values.iter().position(|value| value.name == name) {
                        Some(index) => order.push(Some(index)),
                        None if name == "-" => order.push(None),
                        None => return fail(format!("'{}': unknown value '{name}'", item.text)),
                    }
                }
            }
        }
        // The name `-` in the modifier itself marks invalid numbers.
        for entry in &mut order {
            if entry.is_some_and(|index| values[index].name == "-") {
                *entry = None;
            }
        }
        if order.len() > count {
            return fail(format!("'{}': {} values in {} bits", item.text, order.len(), bits.width()));
        }
        order.resize(count, None);
        Ok((modifier, order))
    }

    /// Parses `[~]LO..HI+LO..HI[s][<<N]`.
    fn bits(&self, line: usize, text: &str) -> Result<Bits> {
        let fail = || error(self.file, line, format!("'{text}' is not a range of bits"));
        let (view, text) = text.strip_prefix('~').map_or((false, text), |text| (true, text));
        let (ranges, shift) = match text.split_once("<<") {
            Some((ranges, shift)) => (ranges, shift.parse().map_err(|_| fail())?),
            None => (text, 0),
        };
        let (ranges, signed) = ranges.strip_suffix('s').map_or((ranges, false), |ranges| (ranges, true));
        let mut bits = Bits { ranges: Vec::new(), signed, shift, view };
        for range in ranges.split('+') {
            let (low, high) = range.split_once("..").unwrap_or((range, range));
            let (low, high): (u32, u32) =
                (low.parse().map_err(|_| fail())?, high.parse().map_err(|_| fail())?);
            if high < low || high >= 128 {
                return Err(fail());
            }
            bits.ranges.push((low, high - low + 1));
        }
        Ok(bits)
    }

    fn error(&self, line: &Line<'_>, message: impl Into<String>) -> Error {
        error(self.file, line.number, message)
    }
}

/// Gives uniform registers of six bits the number of bits that this generation has.
fn widen(operand: &mut Operand, uniform_bits: u32) {
    let is_register = matches!(
        operand.kind,
        Kind::UniformRegister
            | Kind::LeadingUniformRegister
            | Kind::OptionalUniformRegister
            | Kind::UniformRegisterPlus1
            | Kind::UniformRegisterPlus2
    );
    for (part, bits) in &mut operand.parts {
        let is_uniform =
            matches!(part, Part::Uniform | Part::Descriptor) || is_register && *part == Part::Value;
        if let [(_, count @ NARROW_UNIFORM)] = bits.ranges.as_mut_slice()
            && is_uniform
        {
            *count = uniform_bits;
        }
    }
}

fn items_of(line: &Line<'_>, text: &str) -> Vec<LayoutItem> {
    text.split_whitespace().map(|word| LayoutItem { text: word.to_owned(), line: line.number }).collect()
}

fn fix_bits(encoding: &mut Encoding, bits: &Bits, value: u128) {
    let mut rest = value;
    for &(low, count) in &bits.ranges {
        fix(encoding, low, count, rest & ones(count));
        rest >>= count;
    }
}

fn fix(encoding: &mut Encoding, low: u32, count: u32, value: u128) {
    encoding.mask |= ones(count) << low;
    encoding.value = encoding.value & !(ones(count) << low) | value << low;
}
