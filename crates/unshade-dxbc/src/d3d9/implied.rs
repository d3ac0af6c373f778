//! The tokens that text implies.
//!
//! The assembler builds these tokens from text. The printer checks whether a program has the same ones, and writes
//! the tokens themselves if it does not.

use super::opcode::{COMPARISONS, Opcode, TABLE};
use super::operand::{
    IS_OPERAND, IS_RELATIVE, Operand, PRECISIONS, RegisterKind, SHIFTS, SOURCE_MODIFIERS, TEXTURES, USAGES,
    register_bits,
};
use super::print::NOT;
use super::program::{Instruction, Version};
use crate::names::name_of;
use crate::operand::bits;

/// Sampling variants: the controls and the letter after the mnemonic.
pub(super) const SAMPLE_CONTROLS: [(u32, &str); 3] = [(0, ""), (1, "p"), (2, "b")];

/// Returns the opcode token that a mnemonic and its controls imply, without a length.
pub(super) fn opcode_token(opcode: Opcode, controls: u32, is_predicated: bool, is_co_issued: bool) -> u32 {
    u32::from(opcode.0) | controls << 16 | u32::from(is_predicated) << 28 | u32::from(is_co_issued) << 30
}

/// Returns the first token of a declaration.
pub(super) fn declaration_token(texture: u32, usage: u32, index: u32) -> u32 {
    IS_OPERAND | texture << 27 | index << 16 | usage
}

/// Returns the token of a destination.
pub(super) fn destination_token(register: u32, mask: u32, modifiers: u32, shift: u32) -> u32 {
    IS_OPERAND | register | mask << 16 | modifiers << 20 | shift << 24
}

/// Returns the token of a source.
pub(super) fn source_token(register: u32, swizzle: [u8; 4], modifier: u32) -> u32 {
    let [x, y, z, w] = swizzle.map(u32::from);
    IS_OPERAND | register | x << 16 | y << 18 | z << 20 | w << 22 | modifier << 24
}

/// Returns the bits of a minimum precision.
pub(super) fn precision_bits(precision: u32) -> u32 {
    precision << 14
}

/// Returns the opcode of a mnemonic in a version, by whether a comparison follows it and by its number of operands.
pub(super) fn opcode_of(mnemonic: &str, version: Version, compares: bool, operands: usize) -> Option<Opcode> {
    match (mnemonic, compares, operands) {
        ("if", false, _) => return Some(Opcode::IF),
        ("if", true, _) => return Some(Opcode::IF_COMPARE),
        ("break", true, _) => return Some(Opcode::BREAK_COMPARE),
        ("break", false, 0) => return Some(Opcode::BREAK),
        ("break", false, 1) => return Some(Opcode::BREAK_PREDICATE),
        ("break", false, _) => return None,
        _ => {}
    }
    let mut known = TABLE.iter().filter(|row| row.mnemonic == mnemonic).map(|row| Opcode(row.number));
    known.find(|opcode| opcode.row(version).is_some_and(|row| row.mnemonic == mnemonic))
}

/// Returns whether the text of an instruction expresses all of its tokens.
pub(super) fn is_expressible(version: Version, instruction: &Instruction) -> bool {
    if instruction.opcode() == Opcode::COMMENT {
        return instruction.token & !(0x7fff << 16) == u32::from(Opcode::COMMENT.0);
    }
    instruction.rest.is_empty()
        && has_implied_opcode(version, instruction)
        && has_implied_operands(version, instruction)
}

fn has_implied_opcode(version: Version, instruction: &Instruction) -> bool {
    let opcode = instruction.opcode();
    let Some(row) = opcode.row(version) else { return false };
    let controls = instruction.controls();
    let compares = opcode.compares() && name_of(COMPARISONS, controls).is_some();
    let operands = instruction.operands.len().wrapping_sub(usize::from(instruction.is_predicated()));
    let has_controls = match opcode {
        _ if compares => true,
        Opcode::SAMPLE => {
            row.mnemonic == "texld" && SAMPLE_CONTROLS.iter().any(|(known, _)| *known == controls)
        }
        _ => false,
    };
    let length = if version.has_lengths() { instruction.size_in_tokens().wrapping_sub(1) } else { 0 };
    let implied = opcode_token(opcode, controls, instruction.is_predicated(), instruction.is_co_issued());
    let length = u32::try_from(length).ok().filter(|length| *length < 16);
    (controls == 0 || has_controls)
        && opcode_of(row.mnemonic, version, compares, operands) == Some(opcode)
        && length.is_some_and(|length| implied | length << 24 == instruction.token)
        && has_implied_values(version, instruction, row.body)
}

fn has_implied_values(version: Version, instruction: &Instruction, body: &str) -> bool {
    let one = instruction.operands.len() == 1 && !instruction.is_predicated();
    let first = instruction.values.first().copied().unwrap_or(0);
    match body.as_bytes() {
        [b'u', ..] => {
            let (texture, usage, index) = declared(first);
            let is_known = if texture == 0 {
                name_of(USAGES, usage).is_some()
            } else {
                name_of(TEXTURES, texture).is_some() && usage == 0 && index == 0
            };
            let has_value = instruction.values.len() == 1;
            one && has_value && is_known && first == declaration_token(texture, usage, index)
        }
        [b'd', b'f' | b'i'] => one && instruction.values.len() == 4,
        [b'd', b'b'] => one && instruction.values.len() == 1 && first < 2,
        _ => {
            instruction.values.is_empty()
                && (!instruction.is_predicated() || has_predicate(version, instruction))
        }
    }
}

fn has_predicate(version: Version, instruction: &Instruction) -> bool {
    let predicate = instruction.predicate_index(version).and_then(|index| instruction.operands.get(index));
    predicate
        .is_some_and(|predicate| matches!(predicate.source_modifier(), 0 | NOT) && predicate.precision() == 0)
}

/// Returns texture kind, usage and index of a declaration.
pub(super) fn declared(token: u32) -> (u32, u32, u32) {
    (bits(token, 27, 4), bits(token, 0, 4), bits(token, 16, 4))
}

fn has_implied_operands(version: Version, instruction: &Instruction) -> bool {
    let written = usize::from(instruction.has_destination(version));
    instruction.operands.iter().enumerate().all(|(index, operand)| {
        let register = register_bits(operand.kind(), operand.number());
        let token = if index < written {
            let is_known = |shift| shift == 0 || SHIFTS.iter().any(|(known, _)| *known == shift);
            let shift = Some(operand.shift()).filter(|shift| is_known(*shift));
            shift.map(|shift| {
                destination_token(register, operand.mask(), operand.result_modifiers() & 7, shift)
            })
        } else {
            let modifier = Some(operand.source_modifier());
            let modifier = modifier.filter(|modifier| (*modifier as usize) < SOURCE_MODIFIERS.len());
            modifier.map(|modifier| source_token(register, operand.swizzle(), modifier))
        };
        let has_address = match operand.relative {
            None => !operand.is_relative() || !version.has_lengths(),
            Some(address) => is_address(version, address),
        };
        let precision = operand.precision();
        let has_precision = precision == 0 || name_of(PRECISIONS, precision).is_some();
        let implied = |token| token | precision_bits(precision) == operand.token & !IS_RELATIVE;
        has_name(version, operand) && has_address && has_precision && token.is_some_and(implied)
    })
}

/// Returns whether the text of an address register expresses its token.
fn is_address(version: Version, token: u32) -> bool {
    let address = Operand { token, relative: None };
    let register = register_bits(address.kind(), address.number());
    token == source_token(register, address.swizzle(), 0) && has_name(version, &address)
}

/// Returns whether the name of the register expresses its kind and number.
fn has_name(version: Version, operand: &Operand) -> bool {
    let kind = operand.kind();
    let (_, is_numbered) = kind.prefix(version);
    kind <= RegisterKind::PREDICATE && (is_numbered || operand.number() == 0)
}
