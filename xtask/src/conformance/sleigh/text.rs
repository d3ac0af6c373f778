//! Our text in Ghidra's form: the guard is part of the mnemonic, floating-point immediates are shown as bits.

use unshade::sass::table::{Kind, Piece};
use unshade::sass::{Instruction, print};

/// Returns a number of 64 bits as SLEIGH prints it, which has signed ones only.
fn signed(shown: &str) -> String {
    let digits = shown.get(2..18).filter(|_| shown.starts_with("0x"));
    match digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        Some(number) if number >> 63 == 1 => {
            format!("-{:#x}{}", number.wrapping_neg(), shown.get(18..).unwrap_or_default())
        }
        _ => shown.to_owned(),
    }
}

/// Returns an instruction at an address.
pub(super) fn ghidra(instruction: &Instruction, address: u64) -> String {
    let isa = instruction.isa;
    let mut text = String::new();
    let (start, count) = instruction.encoding.pieces;
    for piece in &isa.pieces[usize::from(start)..usize::from(start) + usize::from(count)] {
        match *piece {
            Piece::Mnemonic(index) | Piece::Text(index) => text.push_str(isa.text(index)),
            Piece::Modifier(index) => {
                let field = &isa.fields[usize::from(index)];
                let modifier = &instruction.isa.modifiers[usize::from(field.modifier)];
                text.push_str(
                    instruction.choice(field).map_or("", |value| modifier.values[usize::from(value)].1),
                );
            }
            Piece::Operand(index) => {
                let operand = &isa.operands[usize::from(index)];
                let mut shown = String::new();
                match operand.kind {
                    Kind::Float16 | Kind::Float32 | Kind::Float64 => {
                        // The same suffixes after a different number.
                        let hexadecimal = unshade::sass::table::Operand { kind: Kind::Integer, ..*operand };
                        print::operand(instruction, &hexadecimal, address, &mut shown);
                    }
                    _ => print::operand(instruction, operand, address, &mut shown),
                }
                let shown = signed(&shown);
                match (operand.kind, shown.strip_suffix(' ')) {
                    (Kind::Guard | Kind::UniformGuard, Some(guard)) => {
                        text.push_str(guard);
                        text.push('_');
                    }
                    _ => text.push_str(&shown),
                }
            }
        }
    }
    text.trim_end().to_owned()
}
