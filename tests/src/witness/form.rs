//! Forms of instructions: an operation with one choice of modifiers, as `IADD.X.CC -b`.
//!
//! A form has what is known when a word is decoded and decides what the instruction computes: the operation, the value of
//! each modifier, and the signs and parts of the operands, which are named by their slots. Where an operand comes from
//! (register, constant bank, immediate) is a matter of the encoding, and the guard one of the machine.

use std::fmt::Write as _;

use unshade::sass::Instruction;
use unshade::sass::table::{Field, NONE, Operand, Piece};

/// Slots of modifiers that change speed, caching or reconvergence, but no value.
const SILENT: [&str; 10] =
    ["join", "cache", "nodep", "phase", "u", "lmt", "noinc", "keep", "trig", "nibbles"];

/// Returns the form of an instruction.
pub fn form(instruction: &Instruction) -> String {
    let isa = instruction.isa;
    let (start, count) = instruction.encoding.pieces;
    let (mut text, mut operands) = (String::new(), String::new());
    for piece in isa.pieces.iter().skip(start.into()).take(count.into()) {
        match *piece {
            Piece::Mnemonic(index) => text.push_str(isa.text(index)),
            // The name of a form that is no modifier: `.PO`.
            Piece::Text(index) => {
                let words = isa.text(index).trim_matches([' ', ',']);
                text.push_str(if words.starts_with('.') { words } else { "" });
            }
            Piece::Modifier(index) => {
                let field = isa.fields.get(usize::from(index)).filter(|field| !is_silent(instruction, field));
                text.push_str(&field.map(|field| spelling(instruction, field)).unwrap_or_default());
            }
            Piece::Operand(index) => {
                let operand = isa.operands.get(usize::from(index));
                operands.push_str(&operand.map(|operand| signs(instruction, operand)).unwrap_or_default());
            }
        }
    }
    text + &operands
}

/// Returns the fields whose values distinguish forms of the same encoding: modifiers, and signs of operands.
pub fn fields(instruction: &Instruction) -> Vec<&'static Field> {
    let isa = instruction.isa;
    let mut found: Vec<&Field> = instruction
        .fields()
        .filter(|field| field.modifier != NONE && !field.view && !is_silent(instruction, field))
        .collect();
    for operand in instruction.operands().filter(|operand| isa.text(operand.slot) != "guard") {
        let parts = [operand.negate, operand.absolute, operand.invert, operand.not];
        found.extend(parts.iter().filter_map(|part| isa.fields.get(usize::from(*part))));
    }
    found
}

fn is_silent(instruction: &Instruction, field: &Field) -> bool {
    SILENT.contains(&instruction.isa.text(field.slot))
}

/// Returns the signs and the part of an operand, with its slot: ` -|a|.H1`; nothing if it has none.
fn signs(instruction: &Instruction, operand: &Operand) -> String {
    let slot = instruction.isa.text(operand.slot);
    let select = instruction.isa.fields.get(usize::from(operand.select));
    let part = select.map(|field| spelling(instruction, field)).unwrap_or_default();
    let [negate, invert, absolute] =
        [operand.negate, operand.invert, operand.absolute].map(|part| instruction.flag(part));
    if slot == "guard" || !(negate || invert || absolute) && part.is_empty() {
        return String::new();
    }
    let mut text = String::from(" ");
    text.push_str(if negate { "-" } else { "" });
    text.push_str(if invert { "~" } else { "" });
    let bar = if absolute { "|" } else { "" };
    let _ = write!(text, "{bar}{slot}{bar}{part}");
    text
}

/// Returns the spelling of a modifier's value, without the separators that surround it in a listing.
fn spelling(instruction: &Instruction, field: &Field) -> String {
    let values = instruction
        .isa
        .modifiers
        .get(usize::from(field.modifier))
        .map_or(&[][..], |modifier| modifier.values);
    let choice = instruction.choice(field).map_or(usize::MAX, usize::from);
    let text = values.get(choice).map_or("", |value| value.1).trim_matches([',', ' ']);
    if text.is_empty() || text.starts_with('.') { text.to_owned() } else { format!(" {text}") }
}
