//! Assembles text into programs of Shader Model 1 to 3.
//!
//! Reads both dialects of [`super::print`] line by line; comments, `#line` and indentation have no meaning. Besides
//! instructions there are `comment` with a tag and tokens, `tokens` with those of an instruction, `end` with the
//! token that ends a program, `unended`, and `trailing` with bytes. A line of only hexadecimal numbers continues the
//! line before.

use super::implied::{self, SAMPLE_CONTROLS};
use super::number::parse_float;
use super::opcode::{COMPARISONS, Opcode};
use super::operand::{
    IDENTITY, IS_RELATIVE, Operand, PRECISIONS, RESULT_MODIFIERS, SHIFTS, SOURCE_MODIFIERS, TEXTURES, USAGES,
};
use super::print::END;
use super::program::{Instruction, KINDS, Program, Version};
use crate::names::{MASKS, number_of};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// Assembles a program.
///
/// ```
/// let program = unshade_dxbc::d3d9::assemble("vs_1_1\ndcl_position v0\nm4x4 oPos, v0, c0")?;
/// assert_eq!(program.instructions.len(), 2);
/// # Ok::<(), unshade_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::BadValue`] if the text is invalid, with its line.
pub fn assemble(source: &str) -> Result<Program> {
    let mut assembler = Assembler {
        program: Program { end: Some(END), ..Program::default() },
        continuation: Continuation::Nowhere,
    };
    let mut has_version = false;
    let mut offset = 0u64;
    for (number, line) in source.split('\n').enumerate() {
        let code = code_of(line);
        let fault = |fault: LineError| fault.error(offset, number.saturating_add(1));
        if !code.is_empty() {
            if has_version {
                assembler.line(&code).map_err(fault)?;
            } else {
                assembler.program.version = parse_version(&code).map_err(fault)?;
                has_version = true;
            }
        }
        offset = offset.saturating_add(line.len() as u64).saturating_add(1);
    }
    if !has_version {
        return Err(expected("a profile such as ps_2_0", "nothing").error(0, 1));
    }
    assembler.assign_positions()?;
    Ok(assembler.program)
}

/// An error in a line.
struct LineError {
    expected: String,
    found: String,
}

fn expected(expected: &str, found: &str) -> LineError {
    LineError {
        expected: String::from(expected),
        found: format!("{:?}", found.chars().take(40).collect::<String>()),
    }
}

impl LineError {
    fn error(self, offset: u64, line: usize) -> Error {
        Error::new(ErrorKind::BadValue, offset, "the text can't be assembled")
            .expected(self.expected)
            .found(self.found)
            .within(format!("line {line}"))
    }
}

type Parsed<T> = core::result::Result<T, LineError>;

/// Returns a line without comments, directives and surrounding white space.
fn code_of(line: &str) -> String {
    let mut code = String::new();
    let mut rest = line;
    while let Some((before, inside)) = rest.split_once("/*") {
        if before.contains("//") {
            break;
        }
        code.push_str(before);
        rest = inside.split_once("*/").map_or("", |(_, after)| after);
    }
    code.push_str(rest.split_once("//").map_or(rest, |(before, _)| before));
    let code = code.trim_matches(|character: char| character.is_whitespace() || character == '\0');
    if code.starts_with('#') { String::new() } else { String::from(code) }
}

fn parse_version(text: &str) -> Parsed<Version> {
    let fault = || expected("a profile such as ps_2_0", text);
    let known =
        KINDS.iter().find_map(|(kind, name)| Some((*kind, text.strip_prefix(name)?.strip_prefix('_')?)));
    let (kind, model) = known.ok_or_else(fault)?;
    let (major, minor) = model.split_once('_').ok_or_else(fault)?;
    let major: u8 = major.parse().map_err(|_| fault())?;
    let minor = match (major, minor) {
        (2, "x") => 1,
        (2 | 3, "sw") => 255,
        (_, minor) => minor.parse::<u8>().map_err(|_| fault())?,
    };
    let version = Version(kind << 16 | u32::from(major) << 8 | u32::from(minor));
    if version.is_valid() { Ok(version) } else { Err(fault()) }
}

fn hexadecimal(word: &str) -> Parsed<u32> {
    let digits = word.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    digits.ok_or_else(|| expected("a hexadecimal number", word))
}

/// What a line of numbers continues.
#[derive(Clone, Copy)]
enum Continuation {
    Nowhere,
    Comment,
    Tokens,
    Trailing,
}

struct Assembler {
    program: Program,
    continuation: Continuation,
}

impl Assembler {
    fn line(&mut self, code: &str) -> Parsed<()> {
        let mut words = code.split_whitespace();
        let word = words.clone().next().unwrap_or_default();
        if word.starts_with("0x") {
            return words.try_for_each(|word| self.number(hexadecimal(word)?, word));
        }
        words.next();
        self.continuation = Continuation::Nowhere;
        match word {
            "comment" => {
                let token = u32::from(Opcode::COMMENT.0);
                self.program.instructions.push(Instruction { token, ..Instruction::default() });
                self.continuation = Continuation::Comment;
                let tag = words.clone().next().unwrap_or_default();
                if let Some(letters) = tag.as_bytes().first_chunk::<4>().filter(|_| tag.len() == 4)
                    && letters.iter().all(u8::is_ascii_uppercase)
                {
                    words.next();
                    self.number(u32::from_le_bytes(*letters), tag)?;
                }
            }
            "tokens" => {
                let first = words.next().unwrap_or_default();
                let token = hexadecimal(first)?;
                self.program.instructions.push(Instruction { token, ..Instruction::default() });
                self.continuation = Continuation::Tokens;
            }
            "end" => {
                let token = words.next().unwrap_or_default();
                self.program.end = Some(hexadecimal(token)?);
            }
            "unended" => self.program.end = None,
            "trailing" => self.continuation = Continuation::Trailing,
            _ => {
                let instruction = Statement { version: self.program.version }.parse(code)?;
                self.program.instructions.push(instruction);
                return Ok(());
            }
        }
        words.try_for_each(|word| self.number(hexadecimal(word)?, word))
    }

    fn number(&mut self, number: u32, word: &str) -> Parsed<()> {
        match (self.continuation, self.program.instructions.last_mut()) {
            (Continuation::Comment, Some(instruction)) => instruction.values.push(number),
            (Continuation::Tokens, Some(instruction)) => instruction.rest.push(number),
            (Continuation::Trailing, _) => {
                let byte = u8::try_from(number).map_err(|_| expected("a byte", word))?;
                self.program.trailing.push(byte);
            }
            _ => return Err(expected("an instruction", word)),
        }
        Ok(())
    }

    /// Sets the positions and lengths of the instructions.
    fn assign_positions(&mut self) -> Result<()> {
        let mut tokens = Vec::new();
        for instruction in &mut self.program.instructions {
            let start = tokens.len();
            instruction.position = u32::try_from(start.saturating_add(1)).unwrap_or(u32::MAX);
            instruction.write(self.program.version, &mut tokens)?;
            instruction.token = tokens.get(start).copied().unwrap_or(instruction.token);
        }
        Ok(())
    }
}

/// The meaning of the suffixes of a mnemonic.
#[derive(Default)]
struct Suffixes {
    comparison: u32,
    modifiers: u32,
    shift: u32,
    /// The first token of a declaration.
    declared: Option<u32>,
}

/// The context for parsing an instruction.
struct Statement {
    version: Version,
}

impl Statement {
    fn parse(&self, code: &str) -> Parsed<Instruction> {
        let mut code = code;
        let is_co_issued = code.starts_with('+');
        code = code.strip_prefix('+').unwrap_or(code).trim_start();
        let predicate = match code.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
            Some((predicate, after)) => {
                code = after.trim_start();
                Some(self.source(predicate.trim())?)
            }
            None => None,
        };
        let (mnemonic, operands) = code.split_once(char::is_whitespace).unwrap_or((code, ""));
        let operands = operands.trim();
        let mut operands: Vec<&str> =
            if operands.is_empty() { Vec::new() } else { operands.split(',').map(str::trim).collect() };
        let (name, suffixes) = self.mnemonic(mnemonic)?;
        let (name, controls) = self.sampled(name);
        let opcode = implied::opcode_of(name, self.version, suffixes.comparison != 0, operands.len());
        let opcode = opcode.ok_or_else(|| expected("an instruction of this version", mnemonic))?;
        let mut instruction = Instruction {
            token: implied::opcode_token(
                opcode,
                controls | suffixes.comparison,
                predicate.is_some(),
                is_co_issued,
            ),
            ..Instruction::default()
        };
        let row = opcode.row(self.version);
        if opcode == Opcode::DECLARE {
            let token = suffixes.declared.unwrap_or_else(|| implied::declaration_token(0, 0, 0));
            instruction.values.push(token);
        }
        if let Some((row, letter)) =
            row.filter(|row| row.values() > 0).and_then(|row| Some((row, row.body.bytes().last()?)))
        {
            let values = operands.split_off(operands.len().min(1));
            if values.len() != row.values() {
                return Err(expected("one value for each component", code));
            }
            instruction.values =
                values.into_iter().map(|value| parse_value(letter, value)).collect::<Parsed<_>>()?;
        }
        let is_written = instruction.has_destination(self.version);
        if !is_written && (suffixes.modifiers != 0 || suffixes.shift != 0) {
            return Err(expected("an instruction with a destination", mnemonic));
        }
        for (position, operand) in operands.into_iter().enumerate() {
            let (operand, precision) = precision(operand)?;
            let mut operand = if position == 0 && is_written {
                self.destination(operand, &suffixes)?
            } else {
                self.source(operand)?
            };
            operand.token |= implied::precision_bits(precision);
            instruction.operands.push(operand);
        }
        if let Some(predicate) = predicate {
            let position = instruction.operands.len().min(usize::from(is_written));
            instruction.operands.insert(position, predicate);
        }
        Ok(instruction)
    }

    /// Splits a mnemonic into its name and its suffixes.
    fn mnemonic<'a>(&self, word: &'a str) -> Parsed<(&'a str, Suffixes)> {
        let mut parts = word.split('_');
        let name = parts.next().unwrap_or_default();
        let mut suffixes = Suffixes::default();
        for part in parts {
            let compares = matches!(name, "if" | "break" | "setp");
            if let Some(comparison) = number_of(COMPARISONS, part).filter(|_| compares) {
                suffixes.comparison = comparison;
            } else if let Some((bit, _)) = RESULT_MODIFIERS.iter().find(|(_, known)| *known == part) {
                suffixes.modifiers |= bit;
            } else if let Some((shift, _)) = SHIFTS.iter().find(|(_, known)| *known == part) {
                suffixes.shift = *shift;
            } else if name == "dcl" && suffixes.declared.is_none() {
                suffixes.declared = Some(declared(part).ok_or_else(|| expected("a usage or texture", part))?);
            } else {
                return Err(expected("a suffix of an instruction", part));
            }
        }
        Ok((name, suffixes))
    }

    /// Returns the mnemonic and controls of a texture sampling instruction.
    fn sampled<'a>(&self, name: &'a str) -> (&'a str, u32) {
        let texld = |letter: &str| name.strip_prefix("texld") == Some(letter);
        let found = SAMPLE_CONTROLS.iter().find(|(_, letter)| !letter.is_empty() && texld(letter));
        found.map_or((name, 0), |(controls, _)| ("texld", *controls))
    }

    /// Reads a register and its address: the bits of its token, the address token, and the rest of the text.
    fn register<'a>(&self, text: &'a str) -> Parsed<(u32, Option<u32>, &'a str)> {
        let end = text.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(text.len());
        let (name, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        let fault = || expected("a register", text);
        let bits = Operand::parse_register(name, self.version).ok_or_else(fault)?;
        let Some(inside) = rest.strip_prefix('[') else { return Ok((bits, None, rest)) };
        let (address, rest) = inside.split_once(']').ok_or_else(fault)?;
        let (address, swizzle) = address.split_once('.').unwrap_or((address, ""));
        let register = Operand::parse_register(address, self.version).ok_or_else(fault)?;
        let address = implied::source_token(register, parse_swizzle(swizzle)?, 0);
        let is_first = Operand { token: IS_RELATIVE, relative: None }.address(self.version);
        if !self.version.has_lengths() && is_first.map(|first| first.token) != Some(address) {
            return Err(expected("the first component of the first address register", text));
        }
        Ok((bits | IS_RELATIVE, Some(address).filter(|_| self.version.has_lengths()), rest))
    }

    fn destination(&self, text: &str, suffixes: &Suffixes) -> Parsed<Operand> {
        let (register, relative, rest) = self.register(text)?;
        let mask = match rest.strip_prefix('.') {
            None if rest.is_empty() => Some(15),
            None => None,
            Some(letters) => MASKS.iter().position(|known| *known == letters),
        };
        let mask =
            mask.and_then(|mask| u32::try_from(mask).ok()).ok_or_else(|| expected("components", rest))?;
        let token = implied::destination_token(register, mask, suffixes.modifiers, suffixes.shift);
        Ok(Operand { token, relative })
    }

    fn source(&self, text: &str) -> Parsed<Operand> {
        let (before, inside) = ["1-", "-", "!"]
            .into_iter()
            .find_map(|sign| Some((sign, text.strip_prefix(sign)?)))
            .unwrap_or(("", text));
        let (register, relative, rest) = self.register(inside)?;
        let (after, swizzle) = rest.split_once('.').unwrap_or((rest, ""));
        let modifier = SOURCE_MODIFIERS.iter().position(|known| *known == (before, after));
        let modifier = modifier.and_then(|modifier| u32::try_from(modifier).ok());
        let modifier = modifier.ok_or_else(|| expected("a modifier", text))?;
        Ok(Operand { token: implied::source_token(register, parse_swizzle(swizzle)?, modifier), relative })
    }
}

/// Reads the minimum precision after an operand.
fn precision(text: &str) -> Parsed<(&str, u32)> {
    let Some((operand, after)) = text.split_once('{') else { return Ok((text, 0)) };
    let precision = after.strip_suffix('}').and_then(|name| number_of(PRECISIONS, name));
    Ok((operand.trim_end(), precision.ok_or_else(|| expected("a minimum precision", after))?))
}

/// Returns the first token of a declaration from its suffix: a texture, or a usage with an index.
fn declared(suffix: &str) -> Option<u32> {
    if let Some(texture) = number_of(TEXTURES, suffix) {
        return Some(implied::declaration_token(texture, 0, 0));
    }
    let end = suffix.trim_end_matches(|character: char| character.is_ascii_digit()).len();
    let (name, digits) = suffix.split_at_checked(end)?;
    let index: u32 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let usage = number_of(USAGES, name)?;
    (index < 16).then(|| implied::declaration_token(0, usage, index))
}

fn parse_swizzle(letters: &str) -> Parsed<[u8; 4]> {
    let fault = || expected("one or four components", letters);
    let mut order = IDENTITY;
    let letters_found: Vec<u8> = letters
        .chars()
        .map(|letter| "xyzw".find(letter).and_then(|position| u8::try_from(position).ok()))
        .collect::<Option<_>>()
        .ok_or_else(fault)?;
    match letters_found[..] {
        [] => {}
        [one] => order = [one; 4],
        [x, y, z, w] => order = [x, y, z, w],
        _ => return Err(fault()),
    }
    Ok(order)
}

fn parse_value(letter: u8, text: &str) -> Parsed<u32> {
    let value = match letter {
        b'f' => parse_float(text),
        b'b' => match text {
            "true" => Some(1),
            "false" => Some(0),
            _ => None,
        },
        _ => text.parse().ok().map(i32::cast_unsigned),
    };
    value.ok_or_else(|| expected("a value", text))
}
