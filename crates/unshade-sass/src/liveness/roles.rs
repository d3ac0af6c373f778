//! The registers that an instruction reads and writes, from the roles of its operands: for chips whose tables have no
//! semantics.
//!
//! The type of an operand says how many registers follow each other. Where the tables leave it open (`any`), a modifier that
//! names a size does: `.64` of a load.

use crate::Instruction;
use crate::instruction::fields;
use crate::print::is_all_ones;
use crate::table::{NONE, Operand, Role};

use super::effect::{Effect, Guard};
use super::set::{File, Set};

/// Returns the effect of an instruction.
pub(super) fn effect(instruction: &Instruction) -> Effect {
    let mut effect = Effect { guard: Guard::of(instruction), ..Effect::default() };
    if let Some(guard) = effect.guard {
        effect.reads = guard.set();
    }
    for operand in instruction.operands() {
        let slot = instruction.isa.text(operand.slot);
        let role = instruction.operation().operands.iter().find(|role| role.slot == slot);
        effect.reads = effect.reads.union(address(instruction, operand));
        let Some(role) = role else { continue };
        let set = value(instruction, operand, role);
        if role.read {
            effect.reads = effect.reads.union(set);
        }
        if role.written {
            effect.writes = effect.writes.union(set);
        }
    }
    if instruction.modifier("x") == Some("x") {
        effect.reads = effect.reads.union(Set::condition_code());
    }
    if instruction.modifier("cc") == Some("cc") {
        effect.writes = effect.writes.union(Set::condition_code());
    }
    effect.replaces = effect.writes;
    effect
}

/// Returns the registers or the predicate that an operand is.
fn value(instruction: &Instruction, operand: &Operand, role: &Role) -> Set {
    let kind = operand.kind;
    let number = instruction.number(operand.value).cast_unsigned();
    if kind.is_predicate() {
        let number = if kind.is_inverse() { number ^ 7 } else { number };
        let file = if kind.is_uniform_predicate() { File::UniformPredicates } else { File::Predicates };
        return if number < 7 { Set::of(file, number, 1) } else { Set::default() };
    }
    let file = match kind {
        _ if kind.is_register() => File::Registers,
        _ if kind.is_uniform_register() => File::UniformRegisters,
        _ => return Set::default(),
    };
    if is_all_ones(instruction, operand.value) {
        return Set::default();
    }
    Set::of(file, number.saturating_add(kind.register_offset()), count(instruction, role))
}

/// Returns the registers in the address or the index of an operand.
fn address(instruction: &Instruction, operand: &Operand) -> Set {
    let mut set = Set::default();
    let mut add = |file: File, part: u16, plus: u64, count: u64| {
        if part != NONE && !is_all_ones(instruction, part) {
            set.add(file, instruction.number(part).cast_unsigned().saturating_add(plus), count);
        }
    };
    let is_long = ["wide", "e"].iter().any(|slot| instruction.modifier(slot) == Some("e"));
    let select = instruction.field(operand.select).and_then(|field| instruction.modifier_value(field));
    let base = match select.map(|value| value.1) {
        Some(".64") => 2,
        Some(_) => 1,
        None if is_long => 2,
        None => 1,
    };
    add(File::Registers, operand.base, 0, base);
    add(File::UniformRegisters, operand.uniform, 0, if is_long { 2 } else { 1 });
    add(File::UniformRegisters, operand.descriptor, operand.kind.register_offset(), 2);
    set
}

/// Returns how many registers follow each other.
fn count(instruction: &Instruction, role: &Role) -> u64 {
    let dimensions = || instruction.modifier("tma_dim").and_then(first_number).unwrap_or(1);
    match role.ty {
        "any" => largest(instruction, role),
        "matrix_a" | "matrix_b" | "matrix_d" => matrix(instruction, role.ty),
        // The addresses of the barrier and of shared memory, then the coordinates.
        "tensor_load" => dimensions().saturating_add(2),
        "tensor_store" => dimensions().saturating_add(1),
        "tensor_prefetch" => dimensions(),
        ty => match ty.strip_prefix('?') {
            Some(slot) => instruction.modifier(slot).map_or(1, size),
            None => size(ty),
        },
    }
}

/// Returns the largest size that a modifier of the operation names, or its form (`64x`). A pair of types, such as `f64_s32`, is
/// that of the result and that of the source.
fn largest(instruction: &Instruction, role: &Role) -> u64 {
    let of_value = |name: &str| match name.split_once('_') {
        Some((result, source)) => size(if role.written { result } else { source }),
        None => size(name),
    };
    let form = instruction.isa.text(instruction.encoding.form).trim_end_matches('x');
    modifiers(instruction).map(of_value).chain([size(form)]).max().unwrap_or(1)
}

/// Returns the names of the values of the operation's modifiers.
fn modifiers(instruction: &Instruction) -> impl Iterator<Item = &'static str> + use<'_> {
    let own = instruction.operation().modifiers;
    let is_own = |slot: &str| own.iter().any(|modifier| modifier.0 == slot);
    fields(instruction.isa, instruction.encoding)
        .filter(move |field| field.modifier != NONE && is_own(instruction.isa.text(field.slot)))
        .filter_map(|field| instruction.modifier_value(field))
        .map(|value| value.0)
}

/// Returns the number of registers of each thread that hold a matrix. Shapes are `m16n8k16`: the results have 16 rows and 8
/// columns, the products 16 terms. A warp holds the matrices, or four warps those of 64 rows.
fn matrix(instruction: &Instruction, part: &str) -> u64 {
    let shape = modifiers(instruction).find_map(|name| {
        let (rows, rest) = name.strip_prefix('m')?.split_once('n')?;
        let (columns, depth) = rest.split_once('k')?;
        Some((rows.parse::<u64>().ok()?, columns.parse::<u64>().ok()?, depth.parse::<u64>().ok()?))
    });
    let double = instruction.operation().mnemonic == "DMMA";
    let elements = ["ta", "type", "hmma_type"].iter().find_map(|slot| instruction.modifier(slot));
    let bits = match elements {
        _ if double => 64,
        Some("tf32") => 32,
        Some("u4" | "s4") => 4,
        Some(name) if name.ends_with("16") => 16,
        Some(_) => 8,
        None if instruction.operation().mnemonic.starts_with('H') => 16,
        None => 1,
    };
    let results = match ["acc", "hmma_acc"].iter().find_map(|slot| instruction.modifier(slot)) {
        _ if double => 64,
        Some("f16") => 16,
        _ => 32,
    };
    let Some((rows, columns, depth)) = shape else { return if part == "matrix_d" { 4 } else { 2 } };
    // Half of the elements of a sparse matrix are zero, and not stored.
    let is_sparse = instruction.isa.text(instruction.encoding.form).starts_with("sp");
    let stored = if is_sparse { depth.div_ceil(2) } else { depth };
    let total = match part {
        "matrix_a" => rows.saturating_mul(stored).saturating_mul(bits),
        "matrix_b" => columns.saturating_mul(depth).saturating_mul(bits),
        _ => rows.saturating_mul(columns).saturating_mul(results),
    };
    // Each thread holds 32 bits in a register.
    let bits_of_register = if rows == 64 { 128 * 32 } else { 32 * 32 };
    total.div_ceil(bits_of_register).max(1)
}

/// Returns the number of registers of a type, such as 2 for `b64`, or of a number of them, such as `x4`.
fn size(name: &str) -> u64 {
    match name {
        "x2" => 2,
        "x4" => 4,
        // Undefined values have names such as `i4`.
        _ if name.starts_with(['i', 'x']) => 1,
        _ => match name.trim_start_matches(|c: char| c.is_ascii_alphabetic()) {
            "64" | "32x2" => 2,
            "96" => 3,
            "128" | "32x4" => 4,
            "256" => 8,
            _ => 1,
        },
    }
}

/// Returns the first number in a name.
fn first_number(name: &str) -> Option<u64> {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    /// `UIADD3.64 UR24, UPT, UPT, UR8, UR50, URZ`: the form says that each operand is a pair.
    #[test]
    fn forms_have_sizes() {
        let isa = isa::by_architecture(100).unwrap();
        let instruction = Instruction::decode(isa, 0x000f_c400_0fff_e0ff_0000_0032_0818_7297).unwrap();
        let effect = effect(&instruction);
        let pair = |first| Set::of(File::UniformRegisters, first, 2);
        assert_eq!(effect.writes, pair(24));
        assert_eq!(effect.reads, pair(8).union(pair(50)));
    }
}
