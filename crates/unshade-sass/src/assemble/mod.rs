//! Assembler: instruction text to words.
//!
//! The mnemonic selects the candidate encodings. The pieces of each encoding are then matched against the text,
//! trying longer spellings of a modifier first. Every part that matches fixes some bits; parts that share bits must
//! agree. If no encoding fits, the error reports what was expected at the furthest position that any of them
//! reached.
//!
//! | module | contents |
//! |---|---|
//! | `attempt` | the match of a text with one encoding |
//! | `bundle` | scheduling words with fields of the instructions after them |
//! | `operand` | operands |
//! | `float` | floating-point numbers |

mod attempt;
mod bundle;
mod float;
mod operand;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::Instruction;
use crate::control;
use crate::instruction::slice;
use crate::table::{Encoding, Isa, Piece};
use attempt::{Attempt, Bits};
use bundle::Bundles;

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
    // Where several words have the text, that of the encoding of `kept` is meant.
    let first = Instruction::decode(isa, kept).map(|instruction| instruction.encoding);
    for encoding in first.into_iter().chain(isa.encodings) {
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
/// A line may start with its address in a comment, `/*0008*/`, and end with its word, `/* 0x… */`, of which the upper half
/// may be on a line of its own. That word is used if it has exactly this text; otherwise it supplies the bits without a
/// meaning and the scheduling information, unless a comment `// stall 4, …` has that. Lines without an instruction are
/// skipped, except for `.word` and for comments that hold a word alone, which are scheduling words. If a scheduling word has
/// fields of the instructions after it, it is made of theirs.
///
/// # Errors
///
/// One error for every line that can't be assembled.
pub fn listing(isa: &'static Isa, text: &str) -> Result<Vec<Assembled>, Vec<AssembleError>> {
    listing_over(isa, text, &|_| None)
}

/// Assembles a listing as [`listing`] does. `old` returns the word that is at an address now, which is used as one in the
/// line would be.
///
/// # Errors
///
/// One error for every line that can't be assembled.
pub fn listing_over(
    isa: &'static Isa,
    text: &str,
    old: &dyn Fn(u64) -> Option<u128>,
) -> Result<Vec<Assembled>, Vec<AssembleError>> {
    let mut words = Vec::new();
    let mut bundles = Bundles::new(isa, old);
    let mut errors = Vec::new();
    let mut next = 0_u64;
    let step = isa.word_bytes as u64;
    let mut lines = (1_usize..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        let mut parts = LineParts::of(line);
        if let (16, Some(low), Some((_, following))) = (isa.word_bytes, parts.word, lines.peek()) {
            let following = LineParts::of(following);
            if let (Some(high), None, "") = (following.word, following.address, following.instruction.trim())
            {
                parts.word = Some(high << 64 | low);
                lines.next();
            }
        }
        let address = parts.address.unwrap_or_else(|| bundles.place(next, &parts));
        match line_word(isa, &parts, address, &bundles) {
            Ok(Some(word)) => bundles.push(Assembled { line: number, address, word }, &parts, &mut words),
            Ok(None) => continue,
            Err(mut error) => {
                error.line = number;
                error.column = error.column.saturating_add(parts.column);
                errors.push(error);
            }
        }
        next = address.wrapping_add(step);
    }
    if errors.is_empty() { Ok(bundles.complete(words)) } else { Err(errors) }
}

/// Returns the word of a line; `None` if it has none.
fn line_word(
    isa: &'static Isa,
    parts: &LineParts<'_>,
    address: u64,
    bundles: &Bundles<'_>,
) -> Result<Option<u128>, AssembleError> {
    let text = parts.instruction.trim();
    if let Some(word) = text.strip_prefix(".word") {
        let error =
            || AssembleError { line: 1, column: 1, message: String::from("expected a hexadecimal number") };
        return parse_word(word.trim_end_matches(';').trim()).map(Some).ok_or_else(error);
    }
    if text.is_empty() {
        return Ok(parts.word);
    }
    if is_not_code(text) {
        return Ok(None);
    }
    let control = control::read(isa, parts.notes);
    let word = bundles.before(address, parts.word);
    let kept = match (word, control) {
        (Some(word), Some(control)) => word & !control::mask(isa) | control,
        (word, control) => word.or(control).unwrap_or_else(|| bundles.scheduling(address)),
    };
    if word.is_some_and(|word| has_text(isa, word, text, address)) {
        return Ok(Some(kept));
    }
    let word = instruction(isa, parts.instruction, address, kept)?;
    Ok(Some(control::with_reuse(isa, word)))
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
    /// The comment at the end.
    notes: &'a str,
}

impl<'a> LineParts<'a> {
    fn of(line: &'a str) -> Self {
        let (mut rest, notes) = line.split_once("//").unwrap_or((line, ""));
        let mut parts = Self { address: None, instruction: "", column: 0, word: None, notes };
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
    let pieces = isa.encodings.iter().flat_map(|encoding| slice(isa.pieces, encoding.pieces));
    let mut near: Vec<&str> = pieces
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
