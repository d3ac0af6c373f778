//! Assembler: instruction text to words.
//!
//! The mnemonic selects the candidate encodings. The pieces of each encoding are then matched against the text,
//! trying longer spellings of a modifier first. Every part that matches fixes some bits; parts that share bits must
//! agree. If no encoding fits, the error reports what was expected at the furthest position that any of them
//! reached.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::Instruction;
use crate::instruction::slice;
use crate::isa as sets;
use crate::print;
use crate::table::{Encoding, Field, INVALID, Isa, Kind, NONE, Operand, Piece};

/// Why a text can't be assembled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembleError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl core::fmt::Display for AssembleError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl core::error::Error for AssembleError {}

/// An assembled line of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assembled {
    /// The line, from 1.
    pub line: usize,
    /// The address.
    pub address: u64,
    /// The word.
    pub word: u128,
}

/// Assembles the instruction at an address. Bits without a meaning are taken from `kept`.
///
/// ```
/// use unshade_sass::{assemble, isa};
///
/// let kepler = isa::by_architecture(30).unwrap();
/// let word = assemble::instruction(kepler, "@P0 ST.E [R2], R4", 0, 0).unwrap();
/// assert_eq!(word, 0x9400_0000_0021_0085);
/// let error = assemble::instruction(kepler, "ST.E.U7 [R2], R4", 0, 0).unwrap_err();
/// assert!(error.message.contains(".U8"));
/// ```
///
/// # Errors
///
/// The furthest position up to which the text makes sense, and what was expected there.
pub fn instruction(isa: &'static Isa, text: &str, address: u64, kept: u128) -> Result<u128, AssembleError> {
    let body = text.trim_end();
    let body = body.strip_suffix(';').unwrap_or(body).trim_end();
    let start = body.len().saturating_sub(body.trim_start().len());
    let mnemonic = mnemonic_of(body.get(start..).unwrap_or(""));
    let mut furthest = Furthest { at: start, expected: Vec::new() };
    let mut known = false;
    for encoding in isa.encodings {
        let pieces = slice(isa.pieces, encoding.pieces);
        let Some(word) = pieces.iter().find_map(|piece| match piece {
            Piece::Mnemonic(text) => Some(isa.text(*text)),
            _ => None,
        }) else {
            continue;
        };
        if word != mnemonic {
            continue;
        }
        known = true;
        let mut attempt = Attempt { isa, text: body, address, kept, furthest: &mut furthest, steps: 0 };
        let bits = Bits { mask: encoding.mask, value: encoding.value };
        if let Some(found) = attempt.pieces(pieces, start, bits) {
            let word = found.value | kept & encoding.ignored & !found.mask;
            // Before a linker inserts a number, the word can read as a special case.
            if reads_as(isa, word, encoding) || body.contains("`(") {
                return Ok(word);
            }
        }
    }
    Err(if known { furthest.error(body) } else { unknown_mnemonic(isa, start, mnemonic) })
}

/// Assembles a listing: lines of instructions in the format of this crate's listings or of cuobjdump.
///
/// A line may start with its address in a comment, `/*0008*/`, and end with its word, `/* 0x… */`. That word is
/// used if it has exactly this text; otherwise it supplies the bits without a meaning. Lines without an instruction
/// are skipped, except for `.word` and for comments that hold a word alone, which are scheduling words.
///
/// # Errors
///
/// One error for every line that can't be assembled.
pub fn listing(isa: &'static Isa, text: &str) -> Result<Vec<Assembled>, Vec<AssembleError>> {
    let mut words = Vec::new();
    let mut errors = Vec::new();
    let mut next = 0_u64;
    let step = isa.word_bytes as u64;
    for (number, line) in (1_usize..).zip(text.lines()) {
        let parts = LineParts::of(line);
        let address = parts.address.unwrap_or(next);
        let word = if let Some(word) = parts.instruction.trim().strip_prefix(".word") {
            parse_word(word.trim_end_matches(';').trim()).ok_or_else(|| AssembleError {
                line: number,
                column: parts.column.saturating_add(1),
                message: String::from("expected a hexadecimal number"),
            })
        } else if parts.instruction.trim().is_empty() {
            match parts.word {
                Some(word) => Ok(word),
                None => continue,
            }
        } else if is_not_code(parts.instruction) {
            continue;
        } else if let Some(word) = parts.word.filter(|word| has_text(isa, *word, parts.instruction, address))
        {
            Ok(word)
        } else {
            instruction(isa, parts.instruction, address, parts.word.unwrap_or(0)).map_err(|mut error| {
                error.line = number;
                error.column = error.column.saturating_add(parts.column);
                error
            })
        };
        match word {
            Ok(word) => words.push(Assembled { line: number, address, word }),
            Err(error) => errors.push(error),
        }
        next = address.wrapping_add(step);
    }
    if errors.is_empty() { Ok(words) } else { Err(errors) }
}

/// Returns whether a word has exactly this text; several words can have the same.
fn has_text(isa: &'static Isa, word: u128, text: &str, address: u64) -> bool {
    let text = text.trim().trim_end_matches(';').trim_end();
    Instruction::decode(isa, word).is_some_and(|instruction| instruction.text(address).trim_end() == text)
}

/// Returns whether a line is a directive, label or heading.
fn is_not_code(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(['.', '#'])
        || text.ends_with(':')
        || text.starts_with("Function :")
        || text.starts_with("code for")
}

struct LineParts<'a> {
    address: Option<u64>,
    instruction: &'a str,
    /// The number of bytes before the instruction.
    column: usize,
    word: Option<u128>,
}

impl<'a> LineParts<'a> {
    fn of(line: &'a str) -> Self {
        let mut parts = Self { address: None, instruction: "", column: 0, word: None };
        let mut rest = line.split("//").next().unwrap_or(line);
        while let Some((before, comment)) = rest.split_once("/*") {
            let (comment, after) = comment.split_once("*/").unwrap_or((comment, ""));
            let comment = comment.trim();
            if !before.trim().is_empty() {
                parts.set(line, before);
            }
            match comment.strip_prefix("0x") {
                Some(digits) => parts.word = u128::from_str_radix(digits, 16).ok(),
                None => parts.address = u64::from_str_radix(comment, 16).ok().or(parts.address),
            }
            rest = after;
        }
        if !rest.trim().is_empty() {
            parts.set(line, rest);
        }
        parts
    }

    fn set(&mut self, line: &'a str, part: &'a str) {
        self.instruction = part;
        self.column = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    }
}

fn parse_word(text: &str) -> Option<u128> {
    u128::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Returns the mnemonic after the guard, without modifiers.
fn mnemonic_of(text: &str) -> &str {
    let text = match text.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace).map_or("", |split| split.1.trim_start()),
        None => text,
    };
    text.split(['.', ' ', '[', ';', '\t']).next().unwrap_or("")
}

fn unknown_mnemonic(isa: &Isa, start: usize, mnemonic: &str) -> AssembleError {
    let mut near: Vec<&str> = (isa.pieces.iter())
        .filter_map(|piece| match piece {
            Piece::Mnemonic(text) => Some(isa.text(*text)),
            _ => None,
        })
        .filter(|known| known.bytes().next() == mnemonic.bytes().next())
        .collect();
    near.sort_unstable();
    near.dedup();
    let hint =
        if near.is_empty() { String::new() } else { format!("; similar ones are {}", near.join(", ")) };
    let message = format!("{} has no instruction '{mnemonic}'{hint}", isa.name);
    AssembleError { line: 1, column: start.saturating_add(1), message }
}

fn reads_as(isa: &'static Isa, word: u128, encoding: &Encoding) -> bool {
    Instruction::decode(isa, word).is_some_and(|instruction| core::ptr::eq(instruction.encoding, encoding))
}

/// The furthest position that any attempt reached, and what was expected there.
struct Furthest {
    at: usize,
    expected: Vec<String>,
}

impl Furthest {
    fn expected(&mut self, at: usize, what: &str) {
        if at > self.at {
            self.at = at;
            self.expected.clear();
        }
        if at == self.at
            && !what.is_empty()
            && self.expected.len() < 40
            && !self.expected.iter().any(|old| old == what)
        {
            self.expected.push(what.to_owned());
        }
    }

    fn error(&self, text: &str) -> AssembleError {
        let found = text.get(self.at..).unwrap_or("");
        let found = found.split([',', ';']).next().unwrap_or("").trim();
        let found = if found.is_empty() { String::from("the end") } else { format!("'{found}'") };
        let message = match self.expected.as_slice() {
            [] => format!("unexpected {found}"),
            expected => format!("found {found}, expected {}", expected.join(" or ")),
        };
        let column = text.get(..self.at).map_or(0, |before| before.chars().count()).saturating_add(1);
        AssembleError { line: 1, column, message }
    }
}

/// The bits fixed so far.
#[derive(Clone, Copy)]
struct Bits {
    mask: u128,
    value: u128,
}

impl Bits {
    /// Adds a field's value; `None` if it contradicts bits fixed before.
    fn with(self, field: &Field, number: u64) -> Option<Self> {
        let mask = field.placed(u64::MAX);
        let value = field.placed(number);
        let common = self.mask & mask;
        (self.value & common == value & common)
            .then_some(Self { mask: self.mask | mask, value: self.value | value })
    }
}

/// An attempt to match the text with one encoding.
struct Attempt<'a> {
    isa: &'static Isa,
    text: &'a str,
    address: u64,
    /// The word that the text was printed from, or 0.
    kept: u128,
    furthest: &'a mut Furthest,
    steps: u32,
}

/// The maximum number of matching steps per encoding.
const MAX_STEPS: u32 = 20_000;

impl<'a> Attempt<'a> {
    fn pieces(&mut self, pieces: &[Piece], at: usize, bits: Bits) -> Option<Bits> {
        self.steps = self.steps.saturating_add(1);
        if self.steps > MAX_STEPS {
            return None;
        }
        let Some((piece, rest)) = pieces.split_first() else {
            let end = self.skip(at);
            if end == self.text.len() {
                return Some(bits);
            }
            self.furthest.expected(end, "");
            return None;
        };
        match *piece {
            Piece::Mnemonic(text) | Piece::Text(text) => {
                let next = self.literal(self.isa.text(text), at)?;
                self.pieces(rest, next, bits)
            }
            Piece::Modifier(index) => {
                let field = self.isa.fields.get(usize::from(index))?;
                self.modifier(field, at, bits, |attempt, next, bits| attempt.pieces(rest, next, bits))
            }
            Piece::Operand(index) => {
                let operand = self.isa.operands.get(usize::from(index))?;
                self.operand(operand, at, bits, |attempt, next, bits| attempt.pieces(rest, next, bits))
            }
        }
    }

    fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or("")
    }

    fn skip(&self, at: usize) -> usize {
        let rest = self.rest(at);
        at.saturating_add(rest.len()).saturating_sub(rest.trim_start().len())
    }

    /// Matches literal text; a space in it matches any white space.
    fn literal(&mut self, literal: &str, at: usize) -> Option<usize> {
        let mut position = at;
        for character in literal.chars() {
            if character == ' ' {
                position = self.skip(position);
                continue;
            }
            if character == ',' {
                position = self.skip(position);
            }
            if !self.rest(position).starts_with(character) {
                self.furthest.expected(position, &format!("'{}'", literal.trim()));
                return None;
            }
            position = position.saturating_add(character.len_utf8());
        }
        Some(position)
    }

    /// Tries each spelling that matches, longest first, until the rest of the text matches too.
    fn modifier(
        &mut self,
        field: &Field,
        at: usize,
        bits: Bits,
        mut follow: impl FnMut(&mut Self, usize, Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        let modifier = sets::modifiers().get(usize::from(field.modifier))?;
        let start = usize::from(field.order);
        let count = 1_usize.checked_shl(u32::from(field.width))?;
        let order = self.isa.orders.get(start..start.checked_add(count)?)?;
        let mut fitting: Vec<(usize, u64)> = Vec::new();
        for (number, value) in (0_u64..).zip(order).filter(|entry| *entry.1 != INVALID) {
            let spelling = modifier.values.get(usize::from(*value)).map_or("", |value| value.1);
            if let Some(length) = self.spelled(spelling, at) {
                fitting.push((length, number));
            }
            if !spelling.trim().is_empty() {
                self.furthest.expected(at, spelling.trim());
            }
        }
        fitting.sort_by_key(|entry| core::cmp::Reverse(entry.0));
        for (length, number) in fitting {
            let found =
                bits.with(field, number).and_then(|bits| follow(self, at.saturating_add(length), bits));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Returns the length of a spelling if it matches as a whole word.
    fn spelled(&self, spelling: &str, at: usize) -> Option<usize> {
        let rest = self.rest(at);
        let after = rest.strip_prefix(spelling)?;
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let is_whole = !spelling.ends_with(is_word) || !after.starts_with(is_word);
        // Two-letter spellings without a dot may be followed by another one directly.
        (is_whole || spelling.len() == 2 && !spelling.starts_with('.')).then_some(spelling.len())
    }

    fn operand(
        &mut self,
        operand: &Operand,
        at: usize,
        bits: Bits,
        mut follow: impl FnMut(&mut Self, usize, Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        let (next, bits) = match operand.kind {
            Kind::Guard => self.guard(operand, at, bits)?,
            Kind::Register | Kind::Constant | Kind::ConstantSpaced => {
                let (position, mut bits) = self.signs(operand, self.skip(at), bits)?;
                let position = if operand.kind == Kind::Register {
                    let (position, with) = self.register(operand.value, position, 0, bits)?;
                    bits = with;
                    position
                } else {
                    let (position, with) = self.constant(operand, position, bits)?;
                    bits = with;
                    position
                };
                return self.after_signed(operand, at, position, bits, follow);
            }
            Kind::RegisterPlus1 => self.register(operand.value, self.skip(at), 1, bits)?,
            Kind::RegisterPlus2 => self.register(operand.value, self.skip(at), 2, bits)?,
            Kind::OptionalRegister | Kind::OptionalPredicate => {
                let read = self.literal(", ", at).and_then(|position| match operand.kind {
                    Kind::OptionalRegister => self.register(operand.value, position, 0, bits),
                    _ => self.predicate(operand, position, bits),
                });
                if let Some((next, with)) = read
                    && let Some(found) = follow(self, next, with)
                {
                    return Some(found);
                }
                let field = self.field(operand.value)?;
                (at, bits.with(field, u64::MAX)?)
            }
            Kind::Predicate => self.predicate(operand, self.skip(at), bits)?,
            Kind::ConstantIndexed | Kind::ConstantBranch => {
                self.constant_indexed(operand, self.skip(at), bits)?
            }
            Kind::Memory => self.memory(operand, self.skip(at), bits)?,
            Kind::Integer | Kind::NegatedInteger => {
                let start = self.skip(at);
                let (position, value) = self.inserted(start).or_else(|| self.integer(start))?;
                let with = self.signed_integer(operand, start, value, bits)?;
                return self.after_immediate(operand, position, with, follow);
            }
            Kind::OptionalInteger | Kind::TrailingInteger => {
                let separator = if operand.kind == Kind::OptionalInteger { ", " } else { " " };
                let read = self.literal(separator, at).and_then(|position| self.integer(position));
                match read.filter(|read| read.1 != 0) {
                    Some((position, value)) => (position, self.put(operand.value, value, at, bits)?),
                    None => (at, self.put(operand.value, 0, at, bits)?),
                }
            }
            Kind::Float32 | Kind::Float64 | Kind::Float16 => {
                let (position, number) = self.float(operand, self.skip(at))?;
                let number = self.with_payload(operand, number);
                let with = self.put_bits(operand.value, number, at, bits)?;
                return self.after_immediate(operand, position, with, follow);
            }
            Kind::Relative | Kind::Absolute => {
                let start = self.skip(at);
                if let Some((end, addend)) = self.inserted(start) {
                    let with = self.put(operand.value, addend, start, bits)?;
                    return follow(self, end, with);
                }
                let (position, target) = self.integer(start)?;
                let next = self.address.wrapping_add(self.isa.word_bytes as u64).cast_signed();
                let value = if operand.kind == Kind::Relative { target.wrapping_sub(next) } else { target };
                (position, self.put(operand.value, value, start, bits)?)
            }
        };
        follow(self, next, bits)
    }

    fn field(&self, part: u16) -> Option<&'static Field> {
        self.isa.fields.get(usize::from(part))
    }

    /// Sets a field to a value, or records the expectation if the value does not fit.
    fn put(&mut self, part: u16, value: i64, at: usize, bits: Bits) -> Option<Bits> {
        let field = self.field(part)?;
        let shift = u32::from(field.shift);
        let raw = value.wrapping_shr(shift);
        if raw.wrapping_shl(shift) != value {
            self.furthest.expected(at, &format!("a multiple of {:#x}", 1_u64.wrapping_shl(shift)));
            return None;
        }
        let unused = 64_u32.saturating_sub(u32::from(field.width));
        let kept = if field.signed {
            raw.wrapping_shl(unused).wrapping_shr(unused)
        } else {
            raw.cast_unsigned().wrapping_shl(unused).wrapping_shr(unused).cast_signed()
        };
        if kept != raw {
            let sign = if field.signed { "signed" } else { "unsigned" };
            self.furthest.expected(at, &format!("a {sign} {}-bit number", field.width));
            return None;
        }
        bits.with(field, raw.cast_unsigned())
    }

    /// Sets the encoded upper bits of a floating-point number; the lower ones must be zero.
    fn put_bits(&mut self, part: u16, number: u64, at: usize, bits: Bits) -> Option<Bits> {
        let field = self.field(part)?;
        let raw = number.wrapping_shr(u32::from(field.shift));
        if raw.wrapping_shl(u32::from(field.shift)) != number {
            self.furthest.expected(at, &format!("a number whose lowest {} bits are zero", field.shift));
            return None;
        }
        bits.with(field, raw)
    }

    fn flag(&mut self, part: u16, set: bool, bits: Bits) -> Option<Bits> {
        match self.field(part) {
            Some(field) => bits.with(field, u64::from(set)),
            None => (!set).then_some(bits),
        }
    }

    fn strip(&self, text: &str, at: usize) -> Option<usize> {
        self.rest(at).starts_with(text).then(|| at.saturating_add(text.len()))
    }

    fn guard(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        match self.strip("@", at) {
            Some(position) => {
                let (position, bits) = self.predicate(operand, position, bits)?;
                Some((self.skip(position), bits))
            }
            None => {
                let bits = self.put(operand.value, 7, at, bits)?;
                Some((at, self.flag(operand.not, false, bits)?))
            }
        }
    }

    fn predicate(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let not = self.strip("!", at);
        let position = not.unwrap_or(at);
        let name = self.rest(position);
        let number = match name.as_bytes() {
            [b'P', b'T', ..] => 7,
            [b'P', digit @ b'0'..=b'6', ..] => i64::from(digit.wrapping_sub(b'0')),
            _ => {
                self.furthest.expected(position, "a predicate");
                return None;
            }
        };
        let bits = self.put(operand.value, number, at, bits)?;
        Some((position.saturating_add(2), self.flag(operand.not, not.is_some(), bits)?))
    }

    /// Matches the signs `-`, `~` and `|` before an operand.
    fn signs(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let mut position = at;
        let mut bits = bits;
        for (part, sign) in [(operand.negate, "-"), (operand.invert, "~"), (operand.absolute, "|")] {
            let taken = self.strip(sign, position).filter(|_| part != NONE);
            bits = self.flag(part, taken.is_some(), bits)?;
            position = taken.unwrap_or(position);
        }
        Some((position, bits))
    }

    /// Matches the selected part of a register and the closing `|`, then the rest.
    fn after_signed(
        &mut self,
        operand: &Operand,
        start: usize,
        at: usize,
        bits: Bits,
        mut follow: impl FnMut(&mut Self, usize, Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        let signs = self.text.get(start..at).unwrap_or("");
        let has_bars = operand.absolute != NONE && signs.trim_start_matches([' ', '-', '~']).starts_with('|');
        let finish = |attempt: &mut Self, position: usize, bits: Bits| {
            let position = if has_bars { attempt.literal("|", position)? } else { position };
            follow(attempt, position, bits)
        };
        match self.field(operand.select) {
            Some(field) => self.modifier(field, at, bits, finish),
            None => {
                let mut finish = finish;
                finish(self, at, bits)
            }
        }
    }

    fn register(&mut self, part: u16, at: usize, plus: u64, bits: Bits) -> Option<(usize, Bits)> {
        let field = self.field(part)?;
        let zero = 1_u64.checked_shl(u32::from(field.width))?.wrapping_sub(1);
        let Some(position) = self.strip("R", at) else {
            self.furthest.expected(at, "a register");
            return None;
        };
        if let Some(position) = self.strip("Z", position) {
            return Some((position, bits.with(field, zero)?));
        }
        let rest = self.rest(position);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest.get(..digits)?.parse().ok()?;
        if number.checked_sub(plus)? >= zero {
            self.furthest.expected(at, &format!("a register up to R{}", zero.wrapping_sub(1)));
            return None;
        }
        Some((position.saturating_add(digits), bits.with(field, number.wrapping_sub(plus))?))
    }

    /// Returns the end of an expression that a linker inserts, and the number before that: the addend.
    fn inserted(&self, at: usize) -> Option<(usize, i64)> {
        print::inserted_expression(self.rest(at)).map(|(length, addend)| (at.saturating_add(length), addend))
    }

    fn integer(&mut self, at: usize) -> Option<(usize, i64)> {
        let negative = self.strip("-", at);
        let position = negative.unwrap_or(at);
        let Some(position) = self.strip("0x", position) else {
            self.furthest.expected(at, "a hexadecimal number");
            return None;
        };
        let rest = self.rest(position);
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let value = u64::from_str_radix(rest.get(..digits)?, 16).ok()?.cast_signed();
        let value = if negative.is_some() { value.wrapping_neg() } else { value };
        Some((position.saturating_add(digits), value))
    }

    /// Sets a field to a number, whose sign may be a separate bit.
    fn signed_integer(&mut self, operand: &Operand, at: usize, value: i64, bits: Bits) -> Option<Bits> {
        if operand.kind != Kind::NegatedInteger {
            return self.put(operand.value, value, at, bits);
        }
        let bits = self.put(operand.value, value.wrapping_abs(), at, bits)?;
        self.flag(operand.negate, value < 0, bits)
    }

    /// Matches `.INV`, `.NEG`, `.ABS` and the selected part, then the rest.
    fn after_immediate(
        &mut self,
        operand: &Operand,
        at: usize,
        bits: Bits,
        mut follow: impl FnMut(&mut Self, usize, Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        let mut position = at;
        let mut bits = bits;
        if operand.kind != Kind::NegatedInteger {
            for (part, suffix) in
                [(operand.invert, ".INV"), (operand.negate, ".NEG"), (operand.absolute, ".ABS")]
            {
                // nvdisasm prints a space after infinities and NaNs.
                let taken = self.strip(suffix, self.skip(position)).filter(|_| part != NONE);
                bits = self.flag(part, taken.is_some(), bits)?;
                position = taken.unwrap_or(position);
            }
        }
        match self.field(operand.select) {
            Some(field) => self.modifier(field, position, bits, follow),
            None => follow(self, position, bits),
        }
    }

    fn constant(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let position = self.literal("c[", at)?;
        if let Some((end, addend)) = self.inserted(position) {
            let bits = self.put(operand.bank, 0, position, bits)?;
            let bits = self.put(operand.offset, addend, position, bits)?;
            return Some((self.literal("]", end)?, bits));
        }
        let (position, bank) = self.integer(position)?;
        let bits = self.put(operand.bank, bank, at, bits)?;
        let position = self.literal("] [", position)?;
        let (end, offset) = self.integer(position)?;
        let bits = self.put(operand.offset, offset, position, bits)?;
        Some((self.literal("]", end)?, bits))
    }

    fn constant_indexed(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let position = self.literal("c[", at)?;
        let (position, bank) = self.integer(position)?;
        let bits = self.put(operand.bank, bank, at, bits)?;
        let position = self.literal("][", position)?;
        let (position, bits) = self.base_and_offset(operand, position, bits)?;
        Some((self.literal("]", position)?, bits))
    }

    fn memory(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        let position = self.literal("[", at)?;
        let (position, bits) = self.base_and_offset(operand, position, bits)?;
        Some((self.literal("]", position)?, bits))
    }

    /// Matches `R2+0x10`, `R2` or `0x10`.
    fn base_and_offset(&mut self, operand: &Operand, at: usize, bits: Bits) -> Option<(usize, Bits)> {
        if self.rest(at).starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            let (position, offset) = self.integer(at)?;
            let base = self.field(operand.base)?;
            let bits = bits.with(base, u64::MAX)?;
            // Without a base register, the offset is an unsigned address.
            let field = self.field(operand.offset)?;
            let unused = 64_u32.saturating_sub(u32::from(field.width)).saturating_sub(u32::from(field.shift));
            let offset = if field.signed && operand.kind == Kind::Memory {
                offset.wrapping_shl(unused).wrapping_shr(unused)
            } else {
                offset
            };
            return Some((position, self.put(operand.offset, offset, at, bits)?));
        }
        let (position, bits) = self.register(operand.base, at, 0, bits)?;
        match self.strip("+", position) {
            Some(start) => {
                let (position, offset) = self.integer(start)?;
                Some((position, self.put(operand.offset, offset, start, bits)?))
            }
            None if operand.offset == NONE => Some((position, bits)),
            None => Some((position, self.put(operand.offset, 0, position, bits)?)),
        }
    }

    /// The text does not show the payload of a NaN: use that of the original word if it is a NaN of the same sign.
    fn with_payload(&self, operand: &Operand, number: u64) -> u64 {
        let Some(field) = self.field(operand.value) else { return number };
        let old = field.value(self.kept).cast_unsigned();
        let (exponent, sign) = match operand.kind {
            Kind::Float64 => (0x7ff_u64 << 52, 1_u64 << 63),
            Kind::Float16 => (0x1f << 10, 1 << 15),
            _ => (0xff << 23, 1 << 31),
        };
        let is_nan = |bits: u64| bits & exponent == exponent && bits & !exponent & !sign != 0;
        let quiet = (exponent >> 1) & !exponent;
        let same =
            (old ^ number) & sign == 0 && (operand.kind != Kind::Float64 || (old ^ number) & quiet == 0);
        if is_nan(number) && is_nan(old) && same { old } else { number }
    }

    /// Matches a floating-point number; returns its bits, including those that are not encoded.
    fn float(&mut self, operand: &Operand, at: usize) -> Option<(usize, u64)> {
        let rest = self.rest(at);
        let special = ["+INF", "-INF", "+QNAN", "-QNAN", "+SNAN", "-SNAN"]
            .into_iter()
            .find(|name| rest.starts_with(name));
        let (length, value) = match special {
            Some(name) => (name.len(), special_float(name)),
            None => {
                let part = |(index, byte): (usize, u8)| {
                    let before = index.checked_sub(1).and_then(|index| rest.as_bytes().get(index)).copied();
                    byte.is_ascii_digit()
                        || byte == b'.'
                            && rest.as_bytes().get(index.saturating_add(1)).is_some_and(u8::is_ascii_digit)
                        || byte == b'e'
                        || matches!(byte, b'+' | b'-') && (index == 0 || before == Some(b'e'))
                };
                let length = rest.bytes().enumerate().take_while(|entry| part(*entry)).count();
                match rest.get(..length)?.parse::<f64>() {
                    Ok(value) => (length, value),
                    Err(_) => {
                        self.furthest.expected(at, "a number");
                        return None;
                    }
                }
            }
        };
        let bits = match operand.kind {
            Kind::Float64 => value.to_bits(),
            Kind::Float16 => u64::from(half_bits(value)?),
            _ => u64::from(single_bits(value)),
        };
        // Infinities, NaNs and minus zero have a trailing space, even before a modifier.
        let space = rest.get(length..).is_some_and(|rest| rest.starts_with(" ."));
        Some((at.saturating_add(length).saturating_add(usize::from(space)), bits))
    }
}

fn special_float(name: &str) -> f64 {
    let sign = u64::from(name.starts_with('-')).wrapping_shl(63);
    let magnitude = match name.get(1..) {
        Some("INF") => 0x7ff0 << 48,
        Some("SNAN") => 0x7ff4 << 48,
        _ => 0x7ff8 << 48,
    };
    f64::from_bits(sign | magnitude)
}

/// Rounds to the nearest single. NaNs keep their sign only.
fn single_bits(value: f64) -> u32 {
    if value.is_nan() {
        return if value.is_sign_negative() { 0xffc0_0000 } else { 0x7fc0_0000 };
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest single")]
    let single = value as f32;
    single.to_bits()
}

/// Returns the half that is equal to a number, if there is one.
fn half_bits(value: f64) -> Option<u16> {
    (0..=u16::MAX).find(|bits| {
        let half = crate::number::half(*bits);
        half.to_bits() == value.to_bits()
            || half.is_nan() && value.is_nan() && half.is_sign_negative() == value.is_sign_negative()
    })
}
