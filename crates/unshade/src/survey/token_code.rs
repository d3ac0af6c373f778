//! Outlines the instructions of Direct3D token programs: one record per instruction, named by mnemonic, with its
//! controls and the kinds of its operands.

use crate::disassembly::TokenProgram;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Field, OutlineSink, Value};
use unshade_dxbc::d3d9;

/// Emits the instructions of a program.
pub(super) fn outline(program: &TokenProgram, sink: &mut dyn OutlineSink) {
    match program {
        TokenProgram::Direct3d10(program) => {
            for instruction in &program.instructions {
                let mnemonic = instruction.opcode().row().map(|row| row.mnemonic);
                let kinds = instruction.operands.iter().map(|operand| operand.kind());
                let kinds = kinds.map(|kind| (kind.0.into(), kind.name().unwrap_or_default()));
                emit(mnemonic, instruction.token >> 11 & 0x1fff, kinds, sink);
            }
        }
        TokenProgram::Direct3d9(program) => {
            let is_code = |one: &&d3d9::Instruction| one.opcode() != d3d9::opcode::Opcode::COMMENT;
            for instruction in program.instructions.iter().filter(is_code) {
                let mnemonic = instruction.opcode().row(program.version).map(|row| row.mnemonic);
                let kinds = instruction.operands.iter().map(|operand| operand.kind());
                let kinds = kinds.map(|kind| (u64::from(kind.0), kind.prefix(program.version).0));
                emit(mnemonic, instruction.controls(), kinds, sink);
            }
        }
    }
}

fn emit<'k>(
    mnemonic: Option<&str>,
    controls: u32,
    kinds: impl Iterator<Item = (u64, &'k str)>,
    sink: &mut dyn OutlineSink,
) {
    // A name with a number makes this field a record.
    sink.open(Field::group(format!("{} 0", mnemonic.unwrap_or(UNKNOWN)), 0..0));
    if controls != 0 {
        sink.leaf(Field::new("controls", Value::Hex(controls.into()), 0..0));
    }
    for (number, name) in kinds {
        sink.leaf(Field::new("operand", Value::Number(number), 0..0).meaning(name));
    }
    sink.close();
}
