//! Assembles text into programs of Shader Model 4 to 5.1.
//!
//! Reads both dialects of [`mod@crate::print`]. White space, line ends and comments have no meaning. Bits that the
//! text does not express are set as compilers set them, unless the text has the tokens themselves in angle brackets:
//! after a mnemonic those of the opcode, after an operand its own, after an instruction those that its opcode has no
//! use for (`<rest 0x00000001>`).

mod declaration;
mod operand;
mod text;
mod value;

use crate::implied::{self, Position};
use crate::names::{DIMENSIONS, MASKS, PROGRAM_KINDS, RETURN_TYPES, VIEW_FLAGS, number_of};
use crate::opcode::{Class, Controls, Opcode, OpcodeRow, TABLE};
use crate::program::{Extension, Instruction, LIBRARY, Program, Version};
use alloc::vec::Vec;
use text::{Text, is_word};
use unshade_core::Result;

/// Assembles a program.
///
/// ```
/// let program = unshade_dxbc::assemble("ps_5_0\ndcl_output o0.xyzw\nmov o0.xyzw, l(1.0,0,0,1.0)\nret")?;
/// assert_eq!(program.instructions.len(), 3);
/// # Ok::<(), unshade_core::Error>(())
/// ```
///
/// # Errors
/// [`unshade_core::ErrorKind::BadValue`] if the text is invalid, with its line.
pub fn assemble(source: &str) -> Result<Program> {
    let mut text = Text::new(source);
    let mut program = Program::default();
    let head = version(&mut text, &mut program)?;
    while !text.is_empty() {
        let mut word = text.rest().split(|character| !is_word(character));
        if word.next() == Some("trailing") {
            text.word();
            trailing(&mut text, &mut program)?;
            continue;
        }
        let instruction = statement(&mut text, program.version)?;
        program.instructions.push(instruction);
    }
    program.update_length()?;
    assign_positions(&mut program)?;
    if let Some(length) = head {
        program.length = length;
    }
    Ok(program)
}

/// Sets the positions and lengths of the instructions.
fn assign_positions(program: &mut Program) -> Result<()> {
    let mut tokens = Vec::new();
    for instruction in &mut program.instructions {
        let start = tokens.len();
        instruction.position = u32::try_from(start.saturating_add(2)).unwrap_or(u32::MAX);
        instruction.write(&mut tokens)?;
        instruction.token = tokens.get(start).copied().unwrap_or(instruction.token);
        if instruction.is_long() && !instruction.extended.is_empty() {
            instruction.extended = tokens.get(start.saturating_add(1)).copied().into_iter().collect();
        }
    }
    Ok(())
}

/// Reads the profile: kind and version. Returns the length, if the text has one.
fn version(text: &mut Text<'_>, program: &mut Program) -> Result<Option<u32>> {
    let word = text.word();
    let mut parts = word.split('_');
    let kind = parts.next().unwrap_or_default();
    let kind = match (number_of(PROGRAM_KINDS, kind), kind.strip_prefix("kind")) {
        (Some(kind), _) => Some(kind),
        (None, Some(number)) => number.parse().ok().filter(|kind| *kind <= 0xffff),
        (None, None) => (kind == "lib").then_some(LIBRARY),
    };
    let mut number = || parts.next()?.parse().ok().filter(|number| *number < 16);
    let (major, minor): (Option<u32>, Option<u32>) = (number(), number());
    let (Some(kind), Some(major), Some(minor)) = (kind, major, minor) else {
        return Err(text.unexpected_word("a profile such as ps_5_0", word));
    };
    program.version = Version(kind << 16 | major << 4 | minor);
    match text.tokens()? {
        Some(tokens) => {
            program.version = Version(tokens.first().copied().unwrap_or(0));
            Ok(tokens.get(1).copied())
        }
        None => Ok(None),
    }
}

fn trailing(text: &mut Text<'_>, program: &mut Program) -> Result<()> {
    while text.skip().starts_with("0x") {
        let number = text.number32()?;
        let byte = u8::try_from(number).map_err(|_| text.unexpected("a byte"))?;
        program.trailing.push(byte);
    }
    Ok(())
}

/// Reads one instruction.
fn statement(text: &mut Text<'_>, version: Version) -> Result<Instruction> {
    let word = text.word();
    let mut instruction = Instruction::default();
    if word == "dcl_immediateConstantBuffer" || word == "customdata" {
        declaration::custom_data(text, word, &mut instruction)?;
        return Ok(instruction);
    }
    if let Some(number) = word.strip_prefix("unknown_") {
        instruction.token = number.parse().map_err(|_| text.unexpected_word("an opcode", word))?;
        opcode_tokens(text, &mut instruction)?;
    } else {
        let mnemonic = Mnemonic::split(word).ok_or_else(|| text.unexpected_word("an instruction", word))?;
        instruction.token = u32::from(mnemonic.row.number) | mnemonic.controls;
        if mnemonic.row.class == Class::Declaration {
            declaration::declaration(text, &mnemonic, version, &mut instruction)?;
        } else {
            operation(text, &mnemonic, &mut instruction)?;
        }
    }
    rest(text, &mut instruction)?;
    Ok(instruction)
}

/// A mnemonic and its suffixes.
struct Mnemonic {
    row: &'static OpcodeRow,
    controls: u32,
    has_offsets: bool,
    is_indexable: bool,
}

impl Mnemonic {
    /// Finds the row with the longest mnemonic whose suffixes in `word` are valid.
    fn split(word: &str) -> Option<Self> {
        if word == "dcl_globalFlagsnone" {
            return Self::split("dcl_globalFlags");
        }
        let mut rows: Vec<(&OpcodeRow, &str)> = TABLE
            .iter()
            .filter_map(|row| Some((row, word.strip_prefix(row.mnemonic)?)))
            .filter(|(_, suffix)| suffix.is_empty() || suffix.starts_with('_'))
            .collect();
        rows.sort_by_key(|(row, _)| core::cmp::Reverse(row.mnemonic.len()));
        rows.into_iter().find_map(|(row, suffix)| Self::suffixes(row, suffix))
    }

    fn suffixes(row: &'static OpcodeRow, suffix: &str) -> Option<Self> {
        let mut mnemonic = Self { row, controls: 0, has_offsets: false, is_indexable: false };
        let mut suffix = suffix;
        if matches!(row.controls, Controls::Resource | Controls::TypedView) {
            suffix = mnemonic.dimension(suffix.strip_prefix('_')?)?;
        }
        for part in suffix.split('_').skip(1) {
            mnemonic.suffix(part)?;
        }
        Some(mnemonic)
    }

    /// Reads a dimension: the longest name that matches.
    fn dimension<'a>(&mut self, suffix: &'a str) -> Option<&'a str> {
        let known = DIMENSIONS.iter().enumerate().filter(|(_, name)| !name.is_empty());
        let found = known
            .filter_map(|(number, name)| Some((number, name.len(), suffix.strip_prefix(name)?)))
            .filter(|(_, _, rest)| rest.is_empty() || rest.starts_with('_'))
            .max_by_key(|(_, length, _)| *length);
        match found {
            Some((number, _, rest)) => {
                self.controls |= u32::try_from(number).ok()? << 11;
                Some(rest)
            }
            None => suffix.strip_prefix("unknown"),
        }
    }

    fn suffix(&mut self, part: &str) -> Option<()> {
        let is_declaration = self.row.class == Class::Declaration;
        let bit = match (part, self.row.controls) {
            ("sat", _) if !is_declaration => 1 << 13,
            ("aoffimmi", _) if !is_declaration => {
                self.has_offsets = true;
                0
            }
            ("indexable", _) if !is_declaration => {
                self.is_indexable = true;
                0
            }
            ("z", Controls::Test) => 0,
            ("nz", Controls::Test) => 1 << 18,
            ("uglobal", Controls::Sync) => 1 << 14,
            ("ugroup", Controls::Sync) => 1 << 13,
            ("g", Controls::Sync) => 1 << 12,
            ("t", Controls::Sync) | ("dynamicindexed", Controls::Interface) => 1 << 11,
            ("rcpfloat", Controls::ResourceInfo) | ("uint", Controls::SampleInfo) => 1 << 11,
            ("uint", Controls::ResourceInfo) => 2 << 11,
            (_, Controls::View | Controls::TypedView) => {
                let (bit, _) =
                    VIEW_FLAGS.iter().find(|(_, suffix)| suffix.strip_prefix('_') == Some(part))?;
                1u32.checked_shl(*bit)?
            }
            _ => return None,
        };
        self.controls |= bit;
        Some(())
    }
}

/// Reads an instruction that is not a declaration.
fn operation(text: &mut Text<'_>, mnemonic: &Mnemonic, instruction: &mut Instruction) -> Result<()> {
    precise(text, instruction)?;
    let mut extension = Extension::default();
    if mnemonic.has_offsets {
        extension.offsets = Some(offsets(text)?);
    }
    if mnemonic.is_indexable {
        indexable(text, &mut extension)?;
    }
    if text.rest().starts_with('_') {
        let suffix = text.take_here(is_word);
        let after = Mnemonic::suffixes(mnemonic.row, suffix);
        let after = after.ok_or_else(|| text.unexpected_word("an instruction", suffix))?;
        instruction.token |= after.controls;
    }
    instruction.extended = implied::extension_tokens(&extension);
    instruction.token |= u32::from(!instruction.extended.is_empty()) << 31;
    opcode_tokens(text, instruction)?;
    let row = instruction.opcode().row().unwrap_or(mnemonic.row);
    let mut separator = false;
    for letter in row.body.bytes() {
        if separator {
            text.expect(",")?;
        }
        separator = true;
        // An instruction whose operands could not be decoded has its tokens in `<rest …>`.
        if text.skip().starts_with("<rest") {
            break;
        }
        if letter == b'c' {
            let (number, operand) = operand::called(text)?;
            instruction.values.push(number);
            instruction.operands.push(operand);
            continue;
        }
        let position = if letter == b'd' { Position::Destination } else { Position::Source };
        instruction.operands.push(operand::operand(text, position)?);
    }
    Ok(())
}

fn precise(text: &mut Text<'_>, instruction: &mut Instruction) -> Result<()> {
    if !text.rest().starts_with(" [precise") {
        return Ok(());
    }
    text.expect("[precise")?;
    let mask = if text.eat("(") {
        let letters = text.word();
        let mask = MASKS.iter().position(|mask| *mask == letters);
        let mask = mask.ok_or_else(|| text.unexpected_word("components", letters))?;
        text.expect(")")?;
        mask
    } else {
        15
    };
    text.expect("]")?;
    instruction.token |= u32::try_from(mask).unwrap_or(0) << 19;
    Ok(())
}

fn offsets(text: &mut Text<'_>) -> Result<[i8; 3]> {
    text.expect("(")?;
    let mut offsets = [0; 3];
    for (position, offset) in offsets.iter_mut().enumerate() {
        if position > 0 {
            text.expect(",")?;
        }
        let written = text.take_while(|character| character == '-' || character.is_ascii_digit());
        let number = written.parse().ok().filter(|number| (-8..8).contains(number));
        *offset = number.ok_or_else(|| text.unexpected_word("an offset from -8 to 7", written))?;
    }
    text.expect(")")?;
    Ok(offsets)
}

/// Reads dimension and return types in parentheses.
fn indexable(text: &mut Text<'_>, extension: &mut Extension) -> Result<()> {
    let (mut inside, _) = text.rest().split_once(')').unwrap_or_default();
    inside = inside.strip_prefix('(').unwrap_or_default();
    let first = inside.split(',').next().unwrap_or_default();
    if number_of(DIMENSIONS, first).is_some() || first == "unknown" {
        text.expect("(")?;
        let dimension = number_of(DIMENSIONS, text.word()).unwrap_or(0);
        let mut stride = 0;
        if text.eat(",") {
            text.expect("stride=")?;
            stride = text.number32()?;
        }
        text.expect(")")?;
        extension.dimension = Some((dimension, stride & 0xfff));
    }
    if text.rest().starts_with('(') {
        extension.return_types = Some(return_types(text)?);
    }
    Ok(())
}

/// Reads four return types in parentheses.
fn return_types(text: &mut Text<'_>) -> Result<[u32; 4]> {
    text.expect("(")?;
    let mut types = [0; 4];
    for (position, slot) in types.iter_mut().enumerate() {
        if position > 0 {
            text.expect(",")?;
        }
        let word = text.take_while(|character| is_word(character) || matches!(character, '<' | '>'));
        let number =
            number_of(RETURN_TYPES, word).or_else(|| word.parse().ok()).filter(|number| *number < 16);
        *slot = number.ok_or_else(|| text.unexpected_word("a return type", word))?;
    }
    text.expect(")")?;
    Ok(types)
}

/// Reads the tokens of the opcode, if the text has them.
fn opcode_tokens(text: &mut Text<'_>, instruction: &mut Instruction) -> Result<()> {
    let Some(tokens) = text.tokens()? else { return Ok(()) };
    let opcode = instruction.opcode();
    instruction.token = tokens.first().copied().unwrap_or(0);
    instruction.token = instruction.token_without_length();
    instruction.extended = tokens.get(1..).unwrap_or_default().to_vec();
    if instruction.opcode() != opcode {
        return Err(text.unexpected("tokens of the same opcode"));
    }
    if instruction.is_long() {
        instruction.extended = Vec::from([0]);
    }
    Ok(())
}

/// Reads the tokens that the opcode has no use for.
fn rest(text: &mut Text<'_>, instruction: &mut Instruction) -> Result<()> {
    if !text.skip().starts_with("<rest") {
        return Ok(());
    }
    text.expect("<rest")?;
    while !text.eat(">") {
        instruction.rest.push(text.number32()?);
    }
    let opcode = instruction.opcode();
    let nothing_read = instruction.operands.is_empty() && instruction.values.is_empty();
    if instruction.is_extended() && opcode != Opcode::CUSTOM_DATA && nothing_read && instruction.is_long() {
        instruction.extended.clear();
    }
    Ok(())
}
