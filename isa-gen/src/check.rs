//! Consistency checks of the tables.

use std::collections::HashSet;

use crate::Error;
use crate::lex::error;
use crate::lower::{self, Program};
use crate::model::{Encoding, Generation, Isa, Kind, Part, Piece};

/// Lowers the semantics of every operation. Also returns the errors in them.
pub fn programs(isa: &Isa) -> (Vec<Program>, Vec<Error>) {
    let mut errors = Vec::new();
    let mut lowered = |operation| match lower::program(isa, operation) {
        Ok(program) => program,
        Err(message) => {
            errors.push(error(&operation.file, operation.line, format!("{}: {message}", operation.name)));
            Program::default()
        }
    };
    let programs = isa.operations.iter().map(&mut lowered).collect();
    (programs, errors)
}

/// Checks operations and modifiers.
pub fn operations(isa: &Isa) -> Vec<Error> {
    let mut errors = Vec::new();
    let mut seen = HashSet::new();
    for modifier in &isa.modifiers {
        if !seen.insert(modifier.name.as_str()) {
            errors.push(error(
                &modifier.file,
                modifier.line,
                format!("duplicate modifier '{}'", modifier.name),
            ));
        }
    }
    seen.clear();
    for operation in &isa.operations {
        let mut fail = |message: String| errors.push(error(&operation.file, operation.line, message));
        if !seen.insert(operation.name.as_str()) {
            fail(format!("duplicate operation '{}'", operation.name));
        }
        if operation.forms.is_empty() {
            fail(format!("{}: missing text", operation.name));
        }
        for form in &operation.forms {
            for piece in &form.template {
                let Piece::Slot(slot) = piece else { continue };
                let known = operation.modifiers.iter().any(|entry| &entry.0 == slot)
                    || operation.operands.iter().any(|role| &role.name == slot);
                if !known {
                    fail(format!("{}: unknown slot '{slot}' in the template", operation.name));
                }
            }
        }
    }
    errors
}

/// Checks a generation's encodings, separately and in pairs.
pub fn generation(isa: &Isa, generation: &Generation) -> Vec<Error> {
    let mut errors = Vec::new();
    for encoding in &generation.encodings {
        let name = &isa.operations[encoding.operation].name;
        for message in bits(encoding, generation.bits()).into_iter().chain(slots(isa, encoding)) {
            errors.push(error(
                &generation.file,
                encoding.line,
                format!("{name} {}: {message}", encoding.alternative),
            ));
        }
        for example in &encoding.examples {
            if let Err(message) = check_example(generation, encoding, example.word) {
                errors.push(error(&generation.file, example.line, format!("{:#x}: {message}", example.word)));
            }
        }
    }
    for (index, first) in generation.encodings.iter().enumerate() {
        for second in &generation.encodings[index + 1..] {
            let has_order = first.is_first || second.is_first;
            if !has_order
                && ambiguous(first, second)
                && !is_resolved_by_third(&generation.encodings, first, second)
            {
                let names = (&isa.operations[first.operation].name, &isa.operations[second.operation].name);
                let message = format!(
                    "{} {} and {} {} (line {}) match the same words, and neither is more specific",
                    names.0, first.alternative, names.1, second.alternative, second.line
                );
                errors.push(error(&generation.file, first.line, message));
            }
        }
    }
    errors
}

/// Checks that a word is decoded with this encoding, has valid modifier values, and is reproduced from its fields.
fn check_example(generation: &Generation, encoding: &Encoding, word: u128) -> Result<(), &'static str> {
    let mut matching: Vec<&Encoding> =
        generation.encodings.iter().filter(|other| other.matches(word)).collect();
    matching.sort_by_key(|other| other.precedence());
    let chosen = matching.first();
    if !chosen.is_some_and(|chosen| core::ptr::eq(*chosen, encoding)) {
        return Err("another encoding matches this example");
    }
    let orders = encoding.choices.iter().map(|choice| (&choice.bits, &choice.order));
    let selects = encoding.operands.iter().flat_map(|operand| {
        let modifiers = operand.modifiers.iter();
        modifiers.filter_map(|(part, modifier)| Some((operand.part(*part)?, &modifier.order)))
    });
    let none = |(bits, order): (&crate::model::Bits, &Vec<Option<usize>>)| {
        usize::try_from(bits.extract(word))
            .ok()
            .and_then(|number| order.get(number).copied().flatten())
            .is_none()
    };
    if orders.chain(selects).any(none) {
        return Err("invalid value of a modifier");
    }
    let fields = encoding.choices.iter().map(|choice| &choice.bits);
    let parts = encoding.operands.iter().flat_map(|operand| operand.parts.iter().map(|part| &part.1));
    let made = fields
        .chain(parts)
        .fold(encoding.value | word & encoding.ignored, |made, bits| made | word & bits.mask());
    if made == word { Ok(()) } else { Err("encoding the fields gives a different word") }
}

/// Returns whether some word matches both encodings and the decoder could not choose: it prefers an encoding that
/// fixes all the bits of the other, and more.
fn ambiguous(first: &Encoding, second: &Encoding) -> bool {
    let common = first.mask & second.mask;
    if first.value & common != second.value & common {
        return false;
    }
    first.mask == second.mask || (common != first.mask && common != second.mask)
}

/// Returns whether a third encoding matches exactly the words that match both.
fn is_resolved_by_third(encodings: &[Encoding], first: &Encoding, second: &Encoding) -> bool {
    let (mask, value) = (first.mask | second.mask, first.value | second.value);
    first.mask != second.mask && encodings.iter().any(|third| third.mask == mask && third.value == value)
}

/// Returns errors for bits in two fields, and bits in no field.
fn bits(encoding: &Encoding, word: u128) -> Vec<String> {
    let mut claimed = encoding.mask;
    let mut messages = Vec::new();
    let mut claim = |what: &str, mask: u128, view: bool, claimed: &mut u128| {
        let twice = mask & *claimed;
        if twice != 0 && !view {
            messages.push(format!("'{what}' overlaps other fields in bits {}", listed(twice)));
        }
        *claimed |= mask;
    };
    for views in [false, true] {
        for choice in encoding.choices.iter().filter(|choice| choice.bits.view == views) {
            claim(&choice.slot, choice.bits.mask(), views, &mut claimed);
        }
        for operand in &encoding.operands {
            for (part, bits) in operand.parts.iter().filter(|part| part.1.view == views) {
                claim(&format!("{}.{}", operand.slot, part.name()), bits.mask(), views, &mut claimed);
            }
        }
    }
    claim("ignore", encoding.ignored, false, &mut claimed);
    if claimed & !word != 0 {
        messages.push(format!("bits {} are outside the word", listed(claimed & !word)));
    }
    if word & !claimed != 0 {
        messages.push(format!("bits {} belong to no field", listed(word & !claimed)));
    }
    messages
}

/// Formats a mask as ranges, as in the tables.
pub fn listed(mask: u128) -> String {
    let mut ranges = Vec::new();
    let mut bit = 0;
    while bit < 128 {
        if mask >> bit & 1 == 0 {
            bit += 1;
            continue;
        }
        let low = bit;
        while bit < 128 && mask >> bit & 1 == 1 {
            bit += 1;
        }
        ranges.push(if bit - low == 1 { format!("{low}") } else { format!("{low}..{}", bit - 1) });
    }
    ranges.join("+")
}

/// Returns errors for encoded slots that no template uses, and operands in the template that are not encoded.
fn slots(isa: &Isa, encoding: &Encoding) -> Vec<String> {
    let operation = &isa.operations[encoding.operation];
    let template = &operation.forms[encoding.form].template;
    let named = |slot: &str| template.iter().any(|piece| matches!(piece, Piece::Slot(name) if name == slot));
    let mut messages = Vec::new();
    for slot in encoding
        .choices
        .iter()
        .map(|choice| &choice.slot)
        .chain(encoding.operands.iter().map(|operand| &operand.slot))
    {
        if !named(slot) {
            messages.push(format!("'{slot}' is encoded, but not used by any template"));
        }
    }
    for operand in &encoding.operands {
        if !operation.operands.iter().any(|role| role.name == operand.slot) {
            messages.push(format!("'{}' is not an operand of the operation", operand.slot));
        }
        let needed: &[Part] = match operand.kind {
            Kind::Constant | Kind::ConstantSpaced => &[Part::Bank, Part::Offset],
            Kind::ConstantIndexed | Kind::ConstantBranch => &[Part::Bank, Part::Base, Part::Offset],
            Kind::ConstantUniform => &[Part::Bank, Part::Uniform, Part::Offset],
            Kind::ConstantBindless | Kind::ConstantBindlessSpaced => &[Part::Uniform, Part::Offset],
            Kind::Memory => &[Part::Base],
            Kind::UniformAddress => &[Part::Uniform, Part::Offset],
            Kind::Address
            | Kind::ScaledAddress
            | Kind::BaseAddress
            | Kind::BaseAddressPlus1
            | Kind::HiddenDescriptor => &[],
            _ => &[Part::Value],
        };
        for part in needed.iter().filter(|part| operand.part(**part).is_none()) {
            messages.push(format!("'{}' has no {}", operand.slot, part.name()));
        }
    }
    for role in &operation.operands {
        if named(&role.name)
            && encoding.operand(&role.name).is_none()
            && role.name != "guard"
            && !role.is_optional
        {
            messages.push(format!("the operand '{}' is not encoded", role.name));
        }
    }
    messages
}
