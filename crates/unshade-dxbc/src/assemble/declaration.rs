//! Assembles declarations and custom data.

use super::text::Text;
use super::value::{is_value, value};
use super::{Mnemonic, opcode_tokens, operand, return_types};
use crate::implied::Position;
use crate::names::{
    ACCESS_PATTERNS, DOMAINS, FIRST_PATCH, GLOBAL_FLAGS, INTERPOLATIONS, Names, OUTPUT_PRIMITIVES,
    PARTITIONINGS, PATCHES, PRIMITIVES, SAMPLER_MODES, SYSTEM_VALUES, TOPOLOGIES, number_of,
};
use crate::opcode::{Controls, Opcode};
use crate::print::IMMEDIATE_CONSTANT_BUFFER;
use crate::program::{Instruction, Version};
use unshade_core::Result;

pub(super) fn custom_data(text: &mut Text<'_>, word: &str, instruction: &mut Instruction) -> Result<()> {
    let opcode = u32::from(Opcode::CUSTOM_DATA.0);
    if word == "customdata" {
        let class = text.number32()?;
        if class >= 1 << 21 {
            return Err(text.unexpected("a 21-bit class of custom data"));
        }
        instruction.token = opcode | class << 11;
        while text.eat(",") {
            instruction.values.push(text.number32()?);
        }
        return Ok(());
    }
    instruction.token = opcode | IMMEDIATE_CONSTANT_BUFFER << 11;
    text.expect("{")?;
    while !text.eat("}") {
        text.expect("{")?;
        for position in 0..4 {
            if position > 0 {
                text.expect(",")?;
            }
            let written = text.take_while(is_value);
            let bits = value(written).ok_or_else(|| text.unexpected_word("a value", written))?;
            instruction.values.push(bits);
        }
        text.expect("}")?;
        text.eat(",");
    }
    Ok(())
}

pub(super) fn declaration(
    text: &mut Text<'_>,
    mnemonic: &Mnemonic,
    version: Version,
    instruction: &mut Instruction,
) -> Result<()> {
    if mnemonic.row.controls == Controls::Resource && text.rest().starts_with('(') {
        text.expect("(")?;
        instruction.token |= (text.number32()? & 0x7f) << 16;
        text.expect(")")?;
    }
    opcode_tokens(text, instruction)?;
    controls(text, mnemonic.row.controls, instruction)?;
    if text.skip().starts_with("<rest") {
        return Ok(());
    }
    fields(text, mnemonic, version, instruction)
}

/// Reads the control bits, which are words before the fields.
fn controls(text: &mut Text<'_>, controls: Controls, instruction: &mut Instruction) -> Result<()> {
    let number = match controls {
        Controls::GlobalFlags => return global_flags(text, instruction),
        Controls::Interpolation => interpolation(text)?,
        Controls::Primitive => primitive(text)?,
        Controls::Topology => named(text, TOPOLOGIES)?,
        Controls::ControlPoints => text.number32()? & 0x3f,
        Controls::Domain => named(text, DOMAINS)?,
        Controls::Partitioning => named(text, PARTITIONINGS)?,
        Controls::OutputPrimitive if text.skip().starts_with("output_") => named(text, OUTPUT_PRIMITIVES)?,
        _ => 0,
    };
    instruction.token |= number << 11;
    Ok(())
}

/// Reads a word from a table of names; `???` is a number without a name.
fn named(text: &mut Text<'_>, names: Names) -> Result<u32> {
    if text.eat("???") {
        return Ok(0);
    }
    let word = text.word();
    number_of(names, word).ok_or_else(|| text.unexpected_word("a name of this control", word))
}

/// Reads an interpolation mode, which may be several words.
fn interpolation(text: &mut Text<'_>) -> Result<u32> {
    if text.eat("???") {
        return Ok(0);
    }
    let rest = text.skip();
    let matching = INTERPOLATIONS
        .iter()
        .filter(|name| rest.strip_prefix(**name).is_some_and(|after| !after.starts_with(super::is_word)));
    let Some(name) = matching.max_by_key(|name| name.len()) else {
        return Err(text.unexpected("an interpolation mode"));
    };
    text.eat(name);
    Ok(number_of(INTERPOLATIONS, name).unwrap_or(0))
}

fn primitive(text: &mut Text<'_>) -> Result<u32> {
    if text.eat("???") {
        return Ok(0);
    }
    let word = text.word();
    let patch = word.strip_prefix("patch").and_then(|number| number.parse::<u32>().ok());
    match patch.filter(|patch| (1..=PATCHES).contains(patch)) {
        Some(patch) => Ok(FIRST_PATCH.saturating_add(patch).saturating_sub(1)),
        None => number_of(PRIMITIVES, word).ok_or_else(|| text.unexpected_word("a primitive", word)),
    }
}

fn global_flags(text: &mut Text<'_>, instruction: &mut Instruction) -> Result<()> {
    if text.eat("none") {
        return Ok(());
    }
    // FXC writes `dcl_globalFlagsnone` as one word, which is already consumed.
    let first = text.skip();
    if !GLOBAL_FLAGS.iter().any(|(_, name)| first.starts_with(name)) {
        return Ok(());
    }
    loop {
        let word = text.word();
        let flag = GLOBAL_FLAGS.iter().find(|(_, name)| *name == word);
        let (bit, _) = flag.ok_or_else(|| text.unexpected_word("a global flag", word))?;
        instruction.token |= 1u32.checked_shl(*bit).unwrap_or(0);
        if !text.eat("|") {
            return Ok(());
        }
    }
}

fn fields(
    text: &mut Text<'_>,
    mnemonic: &Mnemonic,
    version: Version,
    instruction: &mut Instruction,
) -> Result<()> {
    let row = mnemonic.row;
    let mut types = None;
    if row.body.contains('y') {
        types = Some(return_types(text)?);
    }
    let mut separated = false;
    for letter in row.body.bytes() {
        match letter {
            b'o' => {
                let position = Position::Declared { ranges: version.has_spaces() };
                instruction.operands.push(operand::operand(text, position)?);
                modes(text, row.controls, version, instruction)?;
                separated = instruction.opcode() != Opcode::DCL_INDEX_RANGE;
            }
            b'y' => {
                let [x, y, z, w] = types.unwrap_or_default();
                instruction.values.push(x | y << 4 | z << 8 | w << 12);
            }
            b'p' | b'q' if !version.has_spaces() => {}
            b'q' => {
                text.expect("[")?;
                instruction.values.push(text.number32()?);
                text.expect("]")?;
                access_pattern(text, instruction)?;
            }
            b'b' => {
                text.expect("fb")?;
                instruction.values.push(text.number32()?);
            }
            b'x' => indexable(text, instruction)?,
            b't' => function_table(text, instruction)?,
            b'j' => interface(text, instruction)?,
            _ => {
                if separated {
                    text.expect(",")?;
                }
                separated = true;
                let number = field(text, letter)?;
                instruction.values.push(number);
            }
        }
    }
    Ok(())
}

fn field(text: &mut Text<'_>, letter: u8) -> Result<u32> {
    match letter {
        b'p' => {
            text.expect("space=")?;
            text.number32()
        }
        b'v' => {
            let word = text.word();
            let number = number_of(SYSTEM_VALUES, word).or_else(|| word.parse().ok());
            number.ok_or_else(|| text.unexpected_word("a system value", word))
        }
        b'g' => {
            text.expect("l(")?;
            let written = text.take_while(is_value);
            let bits = value(written).ok_or_else(|| text.unexpected_word("a value", written))?;
            text.expect(")")?;
            Ok(bits)
        }
        _ => text.number32(),
    }
}

/// Reads the words after a declared operand.
fn modes(
    text: &mut Text<'_>,
    controls: Controls,
    version: Version,
    instruction: &mut Instruction,
) -> Result<()> {
    match controls {
        Controls::Sampler => {
            let rest = text.skip().strip_prefix(',').unwrap_or_default().trim_start();
            if rest.starts_with("mode_") {
                text.expect(",")?;
                instruction.token |= named(text, SAMPLER_MODES)? << 11;
            }
            Ok(())
        }
        Controls::ConstantBuffer if !version.has_spaces() => access_pattern(text, instruction),
        _ => Ok(()),
    }
}

fn access_pattern(text: &mut Text<'_>, instruction: &mut Instruction) -> Result<()> {
    text.expect(",")?;
    instruction.token |= named(text, ACCESS_PATTERNS)? << 11;
    Ok(())
}

fn indexable(text: &mut Text<'_>, instruction: &mut Instruction) -> Result<()> {
    text.expect("x")?;
    instruction.values.push(text.number32()?);
    text.expect("[")?;
    instruction.values.push(text.number32()?);
    text.expect("]")?;
    text.expect(",")?;
    instruction.values.push(text.number32()?);
    Ok(())
}

fn function_table(text: &mut Text<'_>, instruction: &mut Instruction) -> Result<()> {
    text.expect("ft")?;
    instruction.values.push(text.number32()?);
    let count = instruction.values.len();
    instruction.values.push(0);
    let entries = list(text, "fb", instruction)?;
    if let Some(slot) = instruction.values.get_mut(count) {
        *slot = entries;
    }
    lengthen(instruction);
    Ok(())
}

fn interface(text: &mut Text<'_>, instruction: &mut Instruction) -> Result<()> {
    text.expect("fp")?;
    let number = text.number32()?;
    text.expect("[")?;
    let elements = text.number32()?;
    text.expect("]")?;
    text.expect("[")?;
    let length = text.number32()?;
    text.expect("]")?;
    instruction.values.extend([number, length, 0]);
    let entries = list(text, "ft", instruction)?;
    if elements > 0xffff || entries > 0xffff {
        return Err(text.unexpected("at most 65535 elements and tables"));
    }
    if let Some(slot) = instruction.values.get_mut(2) {
        *slot = entries | elements << 16;
    }
    lengthen(instruction);
    Ok(())
}

/// Reads numbered names in braces.
fn list(text: &mut Text<'_>, prefix: &str, instruction: &mut Instruction) -> Result<u32> {
    text.expect("=")?;
    text.expect("{")?;
    let mut count = 0u32;
    while !text.eat("}") {
        text.expect(prefix)?;
        instruction.values.push(text.number32()?);
        count = count.saturating_add(1);
        text.eat(",");
    }
    Ok(count)
}

/// Gives a declaration a length token of its own if it is too long for its opcode token.
fn lengthen(instruction: &mut Instruction) {
    if instruction.values.len() > 126 && !instruction.is_long() {
        instruction.token |= 1 << 31;
        instruction.extended = alloc::vec![0];
    }
}
