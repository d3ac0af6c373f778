//! The fields of an instruction's word, for NVIDIA's machine code.

use super::session::Session;
use super::*;
use crate::nv_units::{Unit, is_packed, with_unit};
use crate::program::Code;
use crate::sass_listing::instruction_set;
use unshade_core::Diagnostics;
use unshade_nv::Cubin;
use unshade_sass::listing::{Function, Word};
use unshade_sass::table::NONE;
use unshade_sass::{Instruction, control};

impl Session {
    pub(super) fn bits(&mut self, request: &Bits) -> Answer<BitsAnswer> {
        let no_code = || Fault::new("no known instruction is at this offset");
        let item = request.at.item.ok_or_else(|| Fault::new("which item?"))?;
        let table = self.table(request.at.program)?;
        let item = table.item(item)?;
        let parsed = self.parsed(request.at.program)?;
        let Code::Machine(program) = parsed.code(Some(item), &mut Diagnostics::new())? else {
            return Err(no_code());
        };
        with_unit(program, item.unit, |entry, unit| match unit {
            Unit::Cubin(cubin) if !is_packed(entry) => at_offset(cubin, request.offset).ok_or_else(no_code),
            _ => Err(no_code()),
        })?
    }

    /// Returns the fields of all words of an item at these offsets, which are in order: the words are decoded once.
    pub(super) fn all_bits(&mut self, place: &Place, offsets: &[u64]) -> Answer<Vec<BitsAnswer>> {
        let table = self.table(place.program)?;
        let item = place.item.map(|item| table.item(item)).transpose()?;
        let Some(item) = item else { return Ok(Vec::new()) };
        let parsed = self.parsed(place.program)?;
        let Code::Machine(program) = parsed.code(Some(item), &mut Diagnostics::new())? else {
            return Ok(Vec::new());
        };
        Ok(with_unit(program, item.unit, |entry, unit| match unit {
            Unit::Cubin(cubin) if !is_packed(entry) => at_offsets(cubin, offsets),
            _ => Vec::new(),
        })?)
    }
}

/// Returns the code of the function at an index among those of a cubin.
pub(super) fn function_at<'a>(cubin: &Cubin<'a>, index: u32, name: &'a str) -> Option<Function<'a>> {
    let isa = instruction_set(cubin)?;
    let function = cubin.functions().nth(index as usize)?;
    let code = function.code(cubin).ok()?;
    Some(Function { name, isa, bytes: code.data(), address: function.symbol.value, file_offset: code.base() })
}

/// Returns the outermost function that holds an offset: it knows which words go together.
fn holding<'a>(cubin: &Cubin<'a>, offset: u64) -> Option<Function<'a>> {
    let is_inside = |function: &unshade_nv::function::Function<'_>| {
        function.code(cubin).is_ok_and(|code| code.range().contains(&offset))
    };
    let holding = (0..).zip(cubin.functions()).filter(|(_, function)| is_inside(function));
    let (index, _) = holding.max_by_key(|(_, function)| function.symbol.size)?;
    function_at(cubin, index, "")
}

/// Returns the fields of the word at an offset.
fn at_offset(cubin: &Cubin<'_>, offset: u64) -> Option<BitsAnswer> {
    let function = holding(cubin, offset)?;
    let size = function.isa.word_bytes as u64;
    let place = offset.checked_sub(function.file_offset)? / size.max(1);
    let (address, word) = function.words().nth(usize::try_from(place).ok()?)?;
    Some(explained(&function, place, address, word))
}

/// Returns the fields of the words at these offsets, which are in order.
fn at_offsets(cubin: &Cubin<'_>, mut offsets: &[u64]) -> Vec<BitsAnswer> {
    let mut found = Vec::new();
    while let Some(function) = offsets.first().and_then(|first| holding(cubin, *first)) {
        let size = function.isa.word_bytes as u64;
        let end = function.file_offset.saturating_add(function.bytes.len() as u64);
        let (inside, after) = offsets.split_at(offsets.partition_point(|offset| *offset < end).max(1));
        for (place, (address, word)) in (0u64..).zip(function.words()) {
            let start = function.file_offset.saturating_add(place.saturating_mul(size));
            if inside.binary_search(&start).is_ok() {
                found.push(explained(&function, place, address, word));
            }
        }
        offsets = after;
    }
    found
}

/// Returns the fields of a word, the `place`th of its function.
fn explained(function: &Function<'_>, place: u64, address: u64, word: Word) -> BitsAnswer {
    let size = function.isa.word_bytes as u64;
    let start = function.file_offset.saturating_add(place.saturating_mul(size));
    let mut answer = BitsAnswer {
        range: [start, start.saturating_add(size)],
        word: format!("{:#0width$x}", word.bits(), width = function.isa.word_bytes * 2 + 2),
        ..BitsAnswer::default()
    };
    match word {
        Word::Unknown(_) => answer.text = "no instruction has this word".to_owned(),
        Word::Schedule(word) => {
            answer.text = "control codes for the words that follow".to_owned();
            for (number, (code, meaning)) in (1..).zip(control::parts(function.isa, word)) {
                answer.fields.push(BitField {
                    name: format!("word {number}"),
                    value: format!("{code:#04x}"),
                    meaning,
                    ..BitField::default()
                });
            }
        }
        Word::Instruction(instruction) => instruction_fields(&instruction, address, &mut answer),
    }
    answer
}

fn instruction_fields(instruction: &Instruction, address: u64, answer: &mut BitsAnswer) {
    let operation = instruction.operation();
    answer.text = instruction.text(address);
    answer.meaning = operation.meaning.to_owned();
    for field in instruction.fields().filter(|field| !field.view) {
        let slot = instruction.isa.text(field.slot);
        let ranges = field.ranges.iter().filter(|(_, count)| *count > 0);
        let ranges: Vec<String> = ranges
            .map(|(low, count)| match count {
                1 => low.to_string(),
                count => format!("{}:{low}", low.saturating_add(*count).saturating_sub(1)),
            })
            .collect();
        let bits = ranges.into_iter().rev().collect::<Vec<_>>().join(" ");
        let (value, meaning) = match instruction
            .isa
            .modifiers
            .get(usize::from(field.modifier))
            .filter(|_| field.modifier != NONE)
        {
            Some(modifier) => {
                let choice =
                    instruction.choice(field).and_then(|choice| modifier.values.get(usize::from(choice)));
                let (name, meaning) = choice.copied().unwrap_or(("", ""));
                let said = if meaning.is_empty() { modifier.meaning } else { meaning };
                (
                    if name.is_empty() {
                        format!("{:#x}", field.raw(instruction.word))
                    } else {
                        name.to_owned()
                    },
                    said,
                )
            }
            None => {
                let role = operation.operands.iter().find(|role| role.slot == slot);
                (field.value(instruction.word).to_string(), role.map_or("", |role| role.ty))
            }
        };
        answer.fields.push(BitField { bits, name: slot.to_owned(), value, meaning: meaning.to_owned() });
    }
}
