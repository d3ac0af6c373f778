//! Prints learned rows as drafts of table rows, in the language of `isa/nvidia/*.isa` (see docs/isa.md) where it has
//! words for them. A person names modifiers and operands, joins rows that differ in one operand to forms, and moves
//! what rows share to layouts.

use std::fmt::Write as _;

use isa_gen::Isa;

use super::row::{Choice, Float, FloatKind, Number, Row, SignBit};
use super::text::{Attribute, Class};

/// Usual names of operands by their lowest bit, in instructions of 128 bits.
const SLOTS: [(u32, &str); 8] =
    [(16, "d"), (24, "a"), (32, "b"), (64, "c"), (77, "s"), (81, "p"), (84, "q"), (87, "r")];

/// The names of the bits that give signs.
const SIGN_PARTS: [(char, &str); 4] = [('-', "neg"), ('|', "abs"), ('~', "inv"), ('!', "not")];

/// Returns the draft of a row. Modifiers that the tables have are called by their names.
pub(super) fn row(isa: &Isa, row: &Row, is_wide: bool) -> String {
    let slots: Vec<String> = (0..row.text.operands.len()).map(|operand| slot(row, operand)).collect();
    let choices: Vec<String> = row.choices.iter().map(|choice| name(isa, choice)).collect();
    let mut out = format!("  text {}\n", template(row, &slots, &choices));
    let _ = write!(out, "{} {} |", row.text.mnemonic, pattern(row, is_wide));
    if let Some(number) = row.numbers.get(&Attribute::Guard) {
        let _ = write!(out, " guard=guard(value@{}", ranges(number.weights.keys().copied()));
        let not = row.choices.iter().find(|choice| choice.is_guard_not());
        let not = not.map(|choice| format!(",not@{}", ranges(choice.bits.iter().copied())));
        let _ = write!(out, "{})", not.unwrap_or_default());
    }
    for (index, slot) in slots.iter().enumerate() {
        let _ = write!(out, "{}", operand(row, index, slot));
    }
    for (choice, name) in row.choices.iter().zip(&choices) {
        let bits = ranges(choice.bits.iter().copied());
        match choice.sign() {
            _ if choice.is_guard_not() => {}
            Some(SignBit { operand, mark, is_inverse }) => {
                let slot = slots.get(operand).map_or("?", String::as_str);
                let part = SIGN_PARTS.iter().find(|part| part.0 == mark).map_or("?", |part| part.1);
                let _ = write!(out, " {slot}.{part}@{bits}{}", if is_inverse { "(inverse)" } else { "" });
            }
            None => _ = write!(out, " {name}@{bits}{}", values(choice)),
        }
    }
    let ignored = ranges(row.ignored.iter().copied());
    if !ignored.is_empty() {
        let _ = write!(out, " ignore@{ignored}");
    }
    out.push('\n');
    for hidden in &row.hidden {
        let bits = if hidden.is_ones { "ones" } else { "zero" };
        let _ = writeln!(out, "  # {:?} is hidden if its bits are {bits}", hidden.attribute);
    }
    for note in &row.notes {
        let _ = writeln!(out, "  # {note}");
    }
    let digits = if is_wide { 32 } else { 16 };
    let _ = writeln!(out, "  example 0x{:0digits$x} {}", row.base, row.text);
    out
}

/// Returns the name of the modifier with the values of a choice, or one made of its lowest bit.
fn name(isa: &Isa, choice: &Choice) -> String {
    let spellings: Vec<String> = choice.suffixes.iter().map(|suffixes| suffixes.concat()).collect();
    let known = isa.modifiers.iter().find(|modifier| {
        modifier.values.len() == spellings.len()
            && modifier.values.iter().zip(&spellings).all(|(value, spelling)| value.spelling == *spelling)
    });
    let lowest = choice.bits.first().copied().unwrap_or(0);
    known.map_or_else(|| format!("m{lowest}"), |modifier| modifier.name.clone())
}

/// Returns the values of a choice: suffixes, and other attributes that it changes.
fn values(choice: &Choice) -> String {
    let value = |(changed, suffixes): (&Option<super::text::Attributes>, &Vec<String>)| {
        let Some(changed) = changed else { return String::from("-") };
        let others = changed.iter().filter(|entry| *entry.0 != Attribute::Suffixes);
        let others: Vec<String> = others.map(|(name, value)| format!("{name:?}={value}")).collect();
        let suffixes = suffixes.concat();
        match (suffixes.is_empty(), others.is_empty()) {
            (true, true) => String::from("\"\""),
            (_, true) => suffixes,
            _ => format!("{suffixes}<{}>", others.join(" ")),
        }
    };
    let values: Vec<String> = choice.values.iter().zip(&choice.suffixes).map(value).collect();
    format!("({})", values.join(","))
}

/// Returns the text with slots for operands and choices.
fn template(row: &Row, slots: &[String], choices: &[String]) -> String {
    let mut suffixes = row.text.suffixes.clone();
    for (choice, name) in row.choices.iter().zip(choices).rev() {
        let (start, end) = choice.span;
        let has_suffix = choice.suffixes.iter().any(|suffixes| !suffixes.is_empty());
        if has_suffix && start <= end && end <= suffixes.len() {
            suffixes.splice(start..end, [format!("{{{name}}}")]);
        }
    }
    let mut text = format!("{}{}", row.text.mnemonic, suffixes.concat());
    for (index, (operand, slot)) in row.text.operands.iter().zip(slots).enumerate() {
        let separator = if index == 0 { " " } else { &operand.separator };
        let has_value = !operand.values.is_empty();
        let _ = match has_value {
            true => write!(text, "{separator}{{{slot}}}"),
            false => write!(text, "{separator}{}", operand.shape),
        };
    }
    text
}

/// Returns the fixed bits.
fn pattern(row: &Row, is_wide: bool) -> String {
    let bits = (0..128).filter(|bit| row.mask >> bit & 1 == 1);
    if !is_wide {
        return fixed(row, &bits.collect::<Vec<u32>>());
    }
    let (opcode, others): (Vec<u32>, Vec<u32>) = bits.partition(|bit| *bit < 12);
    format!(
        "op {:03x} {}",
        row.value & opcode.iter().fold(0, |mask, bit| mask | 1 << bit),
        fixed(row, &others)
    )
}

fn fixed(row: &Row, bits: &[u32]) -> String {
    let range = |(low, high): (u32, u32)| {
        let value = row.value >> low & ((1 << (high - low + 1)) - 1);
        if low == high { format!("{low}={value}") } else { format!("{low}..{high}={value:#x}") }
    };
    runs(bits.iter().copied()).into_iter().map(range).collect::<Vec<_>>().join(" ")
}

/// Returns an operand: its slot, its kind and its bits.
fn operand(row: &Row, index: usize, slot: &str) -> String {
    let operand = &row.text.operands[index];
    let parts: Vec<String> =
        (0..operand.values.len()).filter_map(|value| part(row, Attribute::Value(index, value))).collect();
    match parts.as_slice() {
        [] => String::new(),
        [part] if operand.shape == "#" => format!(" {slot}={part}"),
        parts => format!(" {slot}=\"{}\"({})", operand.shape, parts.join(",")),
    }
}

/// Returns the kind and the bits of a value.
fn part(row: &Row, attribute: Attribute) -> Option<String> {
    if let Some(Float { bits, kind }) = row.floats.get(&attribute) {
        let kind = match kind {
            FloatKind::Half => "f16",
            FloatKind::Single => "f32",
            FloatKind::Double => "f64",
        };
        return Some(format!("{kind}@{}", ranges(bits.iter().copied())));
    }
    let number = row.numbers.get(&attribute)?;
    let kind = match row.text.value(attribute)?.class {
        Class::Register => "gpr",
        Class::UniformRegister => "ugpr",
        Class::Predicate => "pred",
        Class::UniformPredicate => "upred",
        Class::Barrier => "barrier",
        Class::Scoreboard => "scoreboard",
        Class::Integer | Class::Float if number.is_relative => "rel",
        Class::Integer | Class::Float => "int",
    };
    Some(format!("{kind}@{}", number_bits(number)))
}

/// Returns the bits of a number by weight, with its sign, its shift and what is added.
fn number_bits(number: &Number) -> String {
    let mut bits: Vec<(i128, u32)> =
        number.weights.iter().map(|(bit, weight)| (weight.abs(), *bit)).collect();
    bits.sort_unstable();
    let shift = bits.first().map_or(0, |entry| entry.0.trailing_zeros());
    let negative = number.weights.values().filter(|weight| **weight < 0).count();
    let mut text = ranges(bits.iter().map(|entry| entry.1));
    if negative == number.weights.len() {
        text.push_str("(inverse)");
    } else if negative > 0 {
        text.push('s');
    }
    if shift > 0 {
        let _ = write!(text, "<<{shift}");
    }
    if number.constant != 0 {
        let _ = write!(text, "{:+}", number.constant);
    }
    text
}

/// Returns the name of an operand.
fn slot(row: &Row, operand: usize) -> String {
    let values = (0..row.text.operands[operand].values.len()).map(|value| Attribute::Value(operand, value));
    let lowest = |attribute: Attribute| {
        let number = row.numbers.get(&attribute).and_then(|number| number.weights.keys().next().copied());
        number.or_else(|| row.floats.get(&attribute)?.bits.first().copied())
    };
    let lowest = values.filter_map(lowest).min();
    let known = SLOTS.iter().find(|slot| Some(slot.0) == lowest).map(|slot| slot.1.to_owned());
    known.unwrap_or_else(|| lowest.map_or_else(|| format!("o{operand}"), |bit| format!("o{bit}")))
}

/// Returns bits as ranges: `3..5+8`.
fn ranges(bits: impl IntoIterator<Item = u32>) -> String {
    let range = |(low, high)| if low == high { format!("{low}") } else { format!("{low}..{high}") };
    runs(bits).into_iter().map(range).collect::<Vec<_>>().join("+")
}

/// Returns runs of consecutive bits.
fn runs(bits: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for bit in bits {
        match runs.last_mut() {
            Some(last) if last.1 + 1 == bit => last.1 = bit,
            _ => runs.push((bit, bit)),
        }
    }
    runs
}
