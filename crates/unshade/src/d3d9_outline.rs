//! Outlines programs of Shader Model 1 to 3: which token is at which byte.

use std::ops::Range;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Diagnostics, Field, OutlineSink, Reader, Value};
use unshade_dxbc::d3d9::opcode::Opcode;
use unshade_dxbc::d3d9::print::{Options, print_instruction};
use unshade_dxbc::d3d9::{Instruction, Program, decode};
use unshade_dxbc::print::Dialect;

/// Emits the outline of a program: every token, in file order.
pub(crate) fn program(data: Reader<'_>, sink: &mut dyn OutlineSink) {
    let (start, end) = (data.range().start, data.range().end);
    let Ok(program) = decode(data, &mut Diagnostics::new()) else {
        return sink.leaf(Field::new(UNKNOWN, Value::Bytes(data.data()), start..end));
    };
    let version = Value::Hex(program.version.0.into());
    let field = Field::new("version", version, start..start.saturating_add(4));
    sink.leaf(field.meaning(program.version.to_string()));
    let mut offset = start.saturating_add(4);
    for instruction in &program.instructions {
        let range = offset..offset.saturating_add(instruction.size_in_tokens().saturating_mul(4));
        offset = range.end;
        sink.leaf(instruction_field(&program, instruction, range));
    }
    if let Some(token) = program.end {
        let range = offset..offset.saturating_add(4);
        offset = range.end;
        sink.leaf(Field::new("end", Value::Hex(token.into()), range));
    }
    if offset < end {
        sink.leaf(Field::new(UNKNOWN, Value::Bytes(&program.trailing), offset..end));
    }
}

fn instruction_field<'a>(program: &Program, instruction: &'a Instruction, range: Range<u64>) -> Field<'a> {
    let token = Value::Hex(instruction.token.into());
    if instruction.opcode() == Opcode::COMMENT {
        let tag = instruction.values.first().map(|tag| tag.to_le_bytes());
        let tag = tag.filter(|tag| tag.iter().all(u8::is_ascii_uppercase)).unwrap_or_default();
        return Field::new("comment", token, range).meaning(String::from_utf8_lossy(&tag).into_owned());
    }
    let mut text = String::new();
    let options = Options { dialect: Dialect::Fxc, ..Options::default() };
    print_instruction(program.version, instruction, options, &mut text);
    Field::new("instruction", token, range).meaning(text)
}
