//! Outlines the instructions of NVIDIA machine code: one record per instruction, with its guard, form and modifiers,
//! and
//! one per scheduling word, with its control codes.

use crate::sass_code::FunctionCode;
use std::ops::Range;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Field, OutlineSink, Value};
use unshade_sass::listing::Word;
use unshade_sass::table::NONE;
use unshade_sass::{Instruction, control};

/// Emits the words of functions.
pub(super) fn outline(functions: &[FunctionCode<'_>], sink: &mut dyn OutlineSink) {
    for function in functions {
        let words = function.words();
        for (address, word) in words.words() {
            let start = words.file_offset.saturating_add(address.wrapping_sub(words.address));
            let range = start..start.saturating_add(words.isa.word_bytes as u64);
            // A name with a number makes this field a record.
            match word {
                Word::Instruction(instruction) => emit(&instruction, range, sink),
                Word::Schedule(bits) => {
                    sink.open(Field::group("scheduling word 0".to_owned(), range.clone()));
                    for (code, text) in control::parts(words.isa, bits) {
                        let field = Field::new("control", Value::Hex(code), range.start..range.start);
                        sink.leaf(field.meaning(text));
                    }
                    sink.close();
                }
                Word::Unknown(_) => {
                    sink.open(Field::group(format!("{UNKNOWN} word 0"), range));
                    sink.close();
                }
            }
        }
    }
}

fn emit(instruction: &Instruction, range: Range<u64>, sink: &mut dyn OutlineSink) {
    let at = range.start..range.start;
    sink.open(Field::group(format!("{} 0", instruction.operation().name), range));
    let mut text = |name: &'static str, value: &'static str| {
        sink.leaf(Field::new(name, Value::Text(value.as_bytes()), at.clone()));
    };
    let guard = instruction.operands().find(|operand| operand.kind.is_guard());
    if guard.is_some_and(|guard| instruction.number(guard.value) < 7 || instruction.flag(guard.not)) {
        text("guard", "yes");
    }
    let form = instruction.isa.text(instruction.encoding.form);
    if !form.is_empty() {
        text("form", form);
    }
    for field in instruction.fields().filter(|field| field.modifier != NONE) {
        let modifier = instruction.isa.modifiers.get(usize::from(field.modifier));
        let choice = instruction.choice(field).map(usize::from);
        if let Some((value, _)) = modifier.zip(choice).and_then(|(modifier, at)| modifier.values.get(at)) {
            text(instruction.isa.text(field.slot), value);
        }
    }
    sink.close();
}
