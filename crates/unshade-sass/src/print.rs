//! Instruction text as NVIDIA's tools print it.
//!
//! The pieces of an encoding are printed in order: literal text, spellings of modifiers, operands. The format of operands
//! follows nvdisasm 11.2, including its oddities (a space after `+INF`, or between the brackets of some constants), so
//! that listings can be compared.

use core::fmt::Write as _;

use unshade_core::half::half_to_double;
use unshade_core::token::Link;
use unshade_core::{Token, TokenKind, TokenSink};

use crate::generated::names::{REGISTERS, SMALL_NUMBERS};
use crate::instruction::{Instruction, slice};
use crate::number::{ShortText, float, hex, refused};
use crate::table::{Isa, Kind, NONE, Operand, Piece};

/// Prints the instruction at an address, without a semicolon.
pub fn instruction<S: TokenSink + ?Sized>(instruction: &Instruction, address: u64, sink: &mut S) {
    with_symbols(instruction, address, |_| None, sink);
}

/// Prints an instruction with symbols in place of the numbers that a linker inserts. `symbol` returns the text in place of
/// the number whose lowest bit is the given one.
pub(crate) fn with_symbols<'s, S: TokenSink + ?Sized>(
    instruction: &Instruction,
    address: u64,
    symbol: impl Fn(u8) -> Option<&'s str>,
    sink: &mut S,
) {
    for piece in slice(instruction.isa.pieces, instruction.encoding.pieces) {
        match *piece {
            Piece::Mnemonic(text) => sink.put(TokenKind::Keyword, instruction.isa.text(text)),
            Piece::Text(text) => sink.put(TokenKind::Punctuation, instruction.isa.text(text)),
            Piece::Modifier(field) => {
                let spelling = spelling(instruction, field);
                if !spelling.is_empty() {
                    sink.put(TokenKind::Attribute, spelling);
                }
            }
            Piece::Operand(index) => {
                let Some(part) = instruction.isa.operands.get(usize::from(index)) else { continue };
                match inserted_bit(instruction, part).and_then(&symbol) {
                    Some(text) => inserted(instruction, part, text, sink),
                    None => operand(instruction, part, address, sink),
                }
            }
        }
    }
}

/// Returns the lowest bit of the number that a linker can insert into an operand.
pub(crate) fn inserted_bit(instruction: &Instruction, operand: &Operand) -> Option<u8> {
    let part = match operand.kind {
        Kind::Integer | Kind::Relative | Kind::Absolute => operand.value,
        Kind::Constant | Kind::ConstantSpaced => operand.offset,
        _ => return None,
    };
    instruction.field(part).map(|field| field.ranges[0].0)
}

/// Prints an operand with a symbol in place of its number.
fn inserted<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, text: &str, sink: &mut S) {
    match operand.kind {
        Kind::Constant | Kind::ConstantSpaced => signed(instruction, operand, sink, |sink| {
            sink.put(TokenKind::Punctuation, "c[");
            sink.put(TokenKind::Variable, text);
            sink.put(TokenKind::Punctuation, "]");
        }),
        Kind::Relative | Kind::Absolute => sink.put(TokenKind::Function, text),
        _ => {
            sink.put(TokenKind::Variable, text);
            suffixes(instruction, operand, sink);
        }
    }
}

/// Returns the length and the addend of the expression in place of an inserted number that a text starts with:
/// `32@lo((table + 0x10))`.
pub(crate) fn inserted_expression(text: &str) -> Option<(usize, i64)> {
    const STARTS: [&str; 4] = ["`(", "32@lo(", "32@hi(", "fun@fdesc("];
    let start = STARTS.into_iter().find(|start| text.starts_with(start))?.len();
    let mut depth = 1_u32;
    let last = text.get(start..)?.find(|character| {
        match character {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })?;
    let end = start.saturating_add(last).saturating_add(1);
    let addend = text.get(..end)?.trim_end_matches(')').rsplit_once(" + ").map(|parts| parts.1);
    Some((end, addend.and_then(signed_hex).unwrap_or(0)))
}

fn signed_hex(text: &str) -> Option<i64> {
    let (digits, negative) = text.strip_prefix('-').map_or((text, false), |digits| (digits, true));
    let value = i64::from_str_radix(digits.strip_prefix("0x")?, 16).ok()?;
    Some(if negative { value.wrapping_neg() } else { value })
}

/// Returns the spelling of the value that a modifier field selects.
#[inline]
pub(crate) fn spelling(instruction: &Instruction, field: u16) -> &'static str {
    let value = instruction.field(field).and_then(|field| instruction.modifier_value(field));
    value.map_or("", |value| value.1)
}

/// Prints an operand.
pub fn operand<S: TokenSink + ?Sized>(
    instruction: &Instruction,
    operand: &Operand,
    address: u64,
    sink: &mut S,
) {
    if operand.kind.is_nonzero() && is_all_ones(instruction, operand.value) {
        return put_refused(instruction, operand.value, sink);
    }
    match operand.kind {
        Kind::Register => {
            signed(instruction, operand, sink, |sink| register(instruction, operand.value, 0, sink));
        }
        Kind::NonzeroRegister => register(instruction, operand.value, 0, sink),
        Kind::NonzeroUniformRegister => uniform_register(instruction, operand.value, 0, sink),
        Kind::OptionalRegister => {
            if !is_all_ones(instruction, operand.value) {
                sink.put(TokenKind::Punctuation, ", ");
                register(instruction, operand.value, 0, sink);
            }
        }
        Kind::LeadingRegister => {
            if !is_all_ones(instruction, operand.value) {
                register(instruction, operand.value, 0, sink);
                sink.put(TokenKind::Punctuation, ", ");
            }
        }
        Kind::LeadingUniformRegister => {
            if !is_all_ones(instruction, operand.value) {
                uniform_register(instruction, operand.value, 0, sink);
                sink.put(TokenKind::Punctuation, ", ");
            }
        }
        Kind::OptionalUniformRegister => {
            if !is_all_ones(instruction, operand.value) {
                sink.put(TokenKind::Punctuation, ", ");
                uniform_register(instruction, operand.value, 0, sink);
            }
        }
        Kind::UniformRegisterPlus1 | Kind::UniformRegisterPlus2 => {
            uniform_register(instruction, operand.value, operand.kind.register_offset(), sink);
        }
        Kind::RegisterPlus1 => register(instruction, operand.value, 1, sink),
        Kind::RegisterPlus2 => register(instruction, operand.value, 2, sink),
        Kind::UniformRegister => signed(instruction, operand, sink, |sink| {
            uniform_register(instruction, operand.value, 0, sink);
        }),
        Kind::Predicate | Kind::NonzeroPredicate | Kind::FullInversePredicate | Kind::UniformPredicate => {
            predicate(instruction, operand, sink);
        }
        Kind::OptionalPredicate
        | Kind::OptionalUniformPredicate
        | Kind::InversePredicate
        | Kind::InverseUniformPredicate => {
            if !is_plain_true(instruction, operand) {
                sink.put(TokenKind::Punctuation, ", ");
                predicate(instruction, operand, sink);
            }
        }
        Kind::LeadingPredicate | Kind::LeadingInversePredicate | Kind::LeadingUniformPredicate => {
            if !is_plain_true(instruction, operand) {
                predicate(instruction, operand, sink);
                sink.put(TokenKind::Punctuation, ", ");
            }
        }
        Kind::TrailingPredicate => {
            if !is_plain_true(instruction, operand) {
                sink.put(TokenKind::Punctuation, " ");
                predicate(instruction, operand, sink);
            }
        }
        Kind::BitSet => bit_set(instruction.number(operand.value), ", {", sink),
        Kind::TrailingBitSet => bit_set(instruction.number(operand.value), " {", sink),
        Kind::Barrier => numbered("B", instruction.number(operand.value), sink),
        Kind::Scoreboard => numbered("SB", instruction.number(operand.value), sink),
        Kind::Guard | Kind::UniformGuard => guard(instruction, operand, sink),
        Kind::Constant => {
            signed(instruction, operand, sink, |sink| constant(instruction, operand, "][", sink));
        }
        Kind::ConstantSpaced => {
            signed(instruction, operand, sink, |sink| constant(instruction, operand, "] [", sink));
        }
        Kind::ConstantIndexed | Kind::ConstantBranch => constant_indexed(instruction, operand, sink),
        Kind::ConstantUniform => signed(instruction, operand, sink, |sink| {
            constant_indexed(instruction, operand, sink);
        }),
        Kind::ConstantBindless => signed(instruction, operand, sink, |sink| {
            constant_bindless(instruction, operand, "][", sink);
        }),
        Kind::ConstantBindlessSpaced => signed(instruction, operand, sink, |sink| {
            constant_bindless(instruction, operand, "] [", sink);
        }),
        Kind::Memory => memory(instruction, operand, sink),
        Kind::UniformAddress => uniform_address(instruction, operand, sink),
        Kind::Address
        | Kind::ScaledAddress
        | Kind::BaseAddress
        | Kind::BaseAddressPlus1
        | Kind::HiddenDescriptor => {
            address_terms(instruction, operand, sink);
        }
        Kind::Integer => {
            let value = instruction.number(operand.value);
            let is_signed = instruction.field(operand.value).is_some_and(|field| field.signed);
            if value < 0 && !is_signed {
                put_unsigned(value.cast_unsigned(), sink);
            } else {
                put_number(value, sink);
            }
            suffixes(instruction, operand, sink);
        }
        Kind::NegatedInteger => {
            let value = instruction.number(operand.value);
            let value = if instruction.flag(operand.negate) { value.wrapping_neg() } else { value };
            put_number(value, sink);
        }
        Kind::OptionalInteger | Kind::TrailingInteger => {
            let value = instruction.number(operand.value);
            if value != 0 {
                sink.put(
                    TokenKind::Punctuation,
                    if operand.kind == Kind::OptionalInteger { ", " } else { " " },
                );
                put_number(value, sink);
            }
        }
        Kind::OptionalMask => {
            if !is_all_ones(instruction, operand.value) {
                sink.put(TokenKind::Punctuation, ", ");
                put_number(instruction.number(operand.value), sink);
            }
        }
        Kind::Float32 | Kind::Float64 | Kind::Float16 => {
            sink.put(TokenKind::Number, float(float_value(instruction, operand)).as_str());
            suffixes(instruction, operand, sink);
        }
        Kind::Relative | Kind::Absolute => {
            let target = target(instruction, operand, address);
            let text = hex(target);
            let link = Some(Link::Reference(target.cast_unsigned()));
            sink.token(Token { kind: TokenKind::Address, text: text.as_str(), link });
        }
    }
}

/// Returns the target of a branch operand.
pub fn target(instruction: &Instruction, operand: &Operand, address: u64) -> i64 {
    let value = instruction.number(operand.value);
    match operand.kind {
        Kind::Relative => {
            let next = address.wrapping_add(instruction.isa.word_bytes as u64);
            value.wrapping_add(next.cast_signed())
        }
        _ => value,
    }
}

/// Returns the value of a floating-point immediate.
pub fn float_value(instruction: &Instruction, operand: &Operand) -> f64 {
    let bits = instruction.number(operand.value).cast_unsigned();
    #[expect(clippy::cast_possible_truncation, reason = "the field is no wider")]
    match operand.kind {
        Kind::Float64 => f64::from_bits(bits),
        Kind::Float16
            if shows_signaling_nans(instruction.isa) && bits & 0x7e00 == 0x7c00 && bits & 0x1ff != 0 =>
        {
            nan(bits >> 15 & 1, false)
        }
        Kind::Float16 => half_to_double(bits as u16),
        _ if shows_signaling_nans(instruction.isa) => widened(bits as u32, bits >> 22 & 1 == 1),
        _ => widened(bits as u32, true),
    }
}

/// Returns whether NaNs are printed as quiet or signaling ones. nvdisasm 12.8, the last version that knows the chips before
/// `sm_75`, makes all of them quiet.
fn shows_signaling_nans(isa: &Isa) -> bool {
    isa.control.is_some() && isa.architectures.iter().all(|architecture| *architecture >= 75)
}

/// Widens a single to a double. `f64::from` may make any NaN quiet; nvdisasm 11.2 does so for Kepler.
fn widened(bits: u32, is_quiet: bool) -> f64 {
    let single = f32::from_bits(bits);
    if single.is_nan() {
        return nan(u64::from(bits >> 31), is_quiet);
    }
    f64::from(single)
}

/// Returns a NaN with a sign bit.
fn nan(sign: u64, is_quiet: bool) -> f64 {
    let magnitude: u64 = if is_quiet { 0x7ff8 << 48 } else { 0x7ff4 << 48 };
    f64::from_bits(sign.wrapping_shl(63) | magnitude)
}

/// Prints the signs around an operand, `-~|x|`, and what follows it: `.H1`, `.reuse`.
#[inline]
fn signed<S: TokenSink + ?Sized>(
    instruction: &Instruction,
    operand: &Operand,
    sink: &mut S,
    inner: impl FnOnce(&mut S),
) {
    if instruction.flag(operand.negate) {
        sink.put(TokenKind::Punctuation, "-");
    }
    if instruction.flag(operand.invert) {
        sink.put(TokenKind::Punctuation, "~");
    }
    let absolute = instruction.flag(operand.absolute);
    if absolute {
        sink.put(TokenKind::Punctuation, "|");
    }
    inner(sink);
    if operand.select != NONE {
        sink.put(TokenKind::Attribute, spelling(instruction, operand.select));
    }
    if absolute {
        sink.put(TokenKind::Punctuation, "|");
    }
    if instruction.is_reused(operand) {
        sink.put(TokenKind::Attribute, ".reuse");
    }
    if operand.suffix != NONE {
        sink.put(TokenKind::Attribute, spelling(instruction, operand.suffix));
    }
}

/// Prints the signs of an immediate, which follow it as suffixes.
fn suffixes<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, sink: &mut S) {
    for (part, text) in [(operand.invert, ".INV"), (operand.negate, ".NEG"), (operand.absolute, ".ABS")] {
        if instruction.flag(part) {
            sink.put(TokenKind::Attribute, text);
        }
    }
    if operand.select != NONE {
        sink.put(TokenKind::Attribute, spelling(instruction, operand.select));
    }
}

#[inline]
fn register<S: TokenSink + ?Sized>(instruction: &Instruction, part: u16, plus: u64, sink: &mut S) {
    let Some(field) = instruction.field(part) else { return };
    let number = field.raw(instruction.word);
    let zero = 1_u64.wrapping_shl(u32::from(field.width)).wrapping_sub(1);
    let number = if number == zero { number } else { number.wrapping_add(plus) };
    register_number(number, zero, sink);
}

/// Prints a uniform register.
fn uniform_register<S: TokenSink + ?Sized>(instruction: &Instruction, part: u16, plus: u64, sink: &mut S) {
    let Some(field) = instruction.field(part) else { return };
    let (raw, zero) =
        (field.raw(instruction.word), 1_u64.wrapping_shl(u32::from(field.width)).wrapping_sub(1));
    // No register follows URZ.
    let number = if raw == zero { zero } else { raw.wrapping_add(plus) };
    if number == zero {
        return sink.put(TokenKind::Register, "URZ");
    }
    numbered("UR", number.cast_signed(), sink);
}

/// Prints a register with a prefix.
fn numbered<S: TokenSink + ?Sized>(prefix: &str, number: i64, sink: &mut S) {
    let mut text = ShortText::new();
    let _ = write!(text, "{prefix}{number}");
    sink.put(TokenKind::Register, text.as_str());
}

fn register_number<S: TokenSink + ?Sized>(number: u64, zero: u64, sink: &mut S) {
    let link = Some(Link::Reference(number));
    if number == zero {
        return sink.token(Token { kind: TokenKind::Register, text: "RZ", link: None });
    }
    let text = usize::try_from(number).ok().and_then(|number| REGISTERS.get(number)).copied().unwrap_or("R?");
    sink.token(Token { kind: TokenKind::Register, text, link });
}

/// Prints a hexadecimal number.
#[inline]
fn put_number<S: TokenSink + ?Sized>(value: i64, sink: &mut S) {
    match usize::try_from(value).ok().and_then(|value| SMALL_NUMBERS.get(value)) {
        Some(text) => sink.put(TokenKind::Number, text),
        None => sink.put(TokenKind::Number, hex(value).as_str()),
    }
}

/// Prints a hexadecimal number of 64 bits.
fn put_unsigned<S: TokenSink + ?Sized>(value: u64, sink: &mut S) {
    let mut text = ShortText::new();
    let _ = write!(text, "{value:#x}");
    sink.put(TokenKind::Number, text.as_str());
}

const PREDICATES: [&str; 8] = ["P0", "P1", "P2", "P3", "P4", "P5", "P6", "PT"];
const UNIFORM_PREDICATES: [&str; 8] = ["UP0", "UP1", "UP2", "UP3", "UP4", "UP5", "UP6", "UPT"];

fn predicate_name(kind: Kind, number: i64) -> &'static str {
    let names = if kind.is_uniform_predicate() { UNIFORM_PREDICATES } else { PREDICATES };
    usize::try_from(number).ok().and_then(|number| names.get(number)).copied().unwrap_or(names[7])
}

/// Returns the number of a predicate.
fn predicate_number(instruction: &Instruction, operand: &Operand) -> i64 {
    let number = instruction.number(operand.value);
    if operand.kind.is_inverse() { number ^ 7 } else { number }
}

/// Returns whether a predicate is `PT`, which is not printed where a predicate is optional; `!PT` is.
fn is_plain_true(instruction: &Instruction, operand: &Operand) -> bool {
    predicate_number(instruction, operand) == 7 && !instruction.flag(operand.not)
}

/// Prints the numbers of the bits that are set, highest first: `{3,1}`.
fn bit_set<S: TokenSink + ?Sized>(bits: i64, start: &str, sink: &mut S) {
    let mut separator = start;
    for bit in (0..64_u32).rev().filter(|bit| bits.wrapping_shr(*bit) & 1 == 1) {
        sink.put(TokenKind::Punctuation, separator);
        let mut text = ShortText::new();
        let _ = write!(text, "{bit}");
        sink.put(TokenKind::Number, text.as_str());
        separator = ",";
    }
    if bits != 0 {
        sink.put(TokenKind::Punctuation, "}");
    }
}

fn predicate<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, sink: &mut S) {
    if instruction.flag(operand.not) {
        sink.put(TokenKind::Punctuation, "!");
    }
    sink.put(TokenKind::Register, predicate_name(operand.kind, predicate_number(instruction, operand)));
}

/// Prints the last register or predicate where it is not valid.
fn put_refused<S: TokenSink + ?Sized>(instruction: &Instruction, part: u16, sink: &mut S) {
    let width = instruction.field(part).map_or(0, |field| field.width);
    sink.put(TokenKind::Register, refused(width).as_str());
}

fn guard<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, sink: &mut S) {
    let number = instruction.number(operand.value);
    let not = instruction.flag(operand.not);
    if number != 7 || not {
        let name = predicate_name(operand.kind, number);
        sink.put(TokenKind::Punctuation, if not { "@!" } else { "@" });
        sink.put(TokenKind::Register, name);
        sink.put(TokenKind::Space, " ");
    }
}

fn constant<S: TokenSink + ?Sized>(
    instruction: &Instruction,
    operand: &Operand,
    separator: &str,
    sink: &mut S,
) {
    sink.put(TokenKind::Punctuation, "c[");
    put_number(instruction.number(operand.bank), sink);
    sink.put(TokenKind::Punctuation, separator);
    put_number(instruction.number(operand.offset), sink);
    sink.put(TokenKind::Punctuation, "]");
}

/// Prints `c[0x0][R2+0x10]` or `c[0x0][UR4+0x10]`.
fn constant_indexed<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, sink: &mut S) {
    sink.put(TokenKind::Punctuation, "c[");
    put_number(instruction.number(operand.bank), sink);
    sink.put(TokenKind::Punctuation, "][");
    if operand.kind == Kind::ConstantUniform {
        uniform_terms(instruction, operand, sink);
    } else {
        base_and_offset(instruction, operand, sink);
    }
    sink.put(TokenKind::Punctuation, "]");
}

/// Prints `cx[UR4][0x10]`, `cx[UR4][R2+0x10]`.
fn constant_bindless<S: TokenSink + ?Sized>(
    instruction: &Instruction,
    operand: &Operand,
    separator: &str,
    sink: &mut S,
) {
    sink.put(TokenKind::Punctuation, "cx[");
    uniform_register(instruction, operand.uniform, 0, sink);
    sink.put(TokenKind::Punctuation, separator);
    base_and_offset(instruction, operand, sink);
    sink.put(TokenKind::Punctuation, "]");
}

/// Prints `R2+0x10`, or only the offset without a base register.
fn base_and_offset<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, sink: &mut S) {
    let offset = instruction.number(operand.offset);
    let prints_zero_register = operand.kind == Kind::ConstantBranch && offset == 0;
    if operand.base == NONE || is_all_ones(instruction, operand.base) && !prints_zero_register {
        let is_bindless = operand.base != NONE && operand.kind == Kind::ConstantBindless;
        put_number(if is_bindless { unsigned_offset(instruction, operand) } else { offset }, sink);
    } else {
        register(instruction, operand.base, 0, sink);
        plus_offset(offset, sink);
    }
}

/// Prints `[R2.X4+0x10]`, or only the offset, which is unsigned then, if the base register is `RZ`.
fn memory<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, sink: &mut S) {
    sink.put(TokenKind::Punctuation, "[");
    let offset = instruction.number(operand.offset);
    if !is_all_ones(instruction, operand.base) {
        register(instruction, operand.base, 0, sink);
        scale(instruction, operand, sink);
        plus_offset(offset, sink);
    } else if offset == 0 {
        register(instruction, operand.base, 0, sink);
    } else {
        put_number(unsigned_offset(instruction, operand), sink);
    }
    sink.put(TokenKind::Punctuation, "]");
}

/// Prints `[UR4+0x10]`, `[URZ]` or `[0x10]`.
fn uniform_address<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, sink: &mut S) {
    sink.put(TokenKind::Punctuation, "[");
    uniform_terms(instruction, operand, sink);
    sink.put(TokenKind::Punctuation, "]");
}

/// Prints `UR4+0x10`, without a register that is `URZ` if there is an offset.
fn uniform_terms<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, sink: &mut S) {
    let offset = instruction.number(operand.offset);
    if offset != 0 && is_all_ones(instruction, operand.uniform) {
        return put_number(offset, sink);
    }
    uniform_register(instruction, operand.uniform, 0, sink);
    plus_offset(offset, sink);
}

/// Returns the offset of an address without a base register.
fn unsigned_offset(instruction: &Instruction, operand: &Operand) -> i64 {
    let field = instruction.field(operand.offset);
    field.map_or(0, |field| field.raw(instruction.word).wrapping_shl(u32::from(field.shift)).cast_signed())
}

/// Prints `desc[UR4][R2.64+UR6+0x10]`, without a base register that is `RZ` if its kind allows that.
fn address_terms<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, sink: &mut S) {
    if operand.descriptor != NONE && operand.kind != Kind::HiddenDescriptor {
        sink.put(TokenKind::Punctuation, "desc[");
        uniform_register(instruction, operand.descriptor, operand.kind.register_offset(), sink);
        sink.put(TokenKind::Punctuation, "]");
    }
    sink.put(TokenKind::Punctuation, "[");
    let offset = instruction.number(operand.offset);
    let has_uniform = operand.uniform != NONE;
    let shows_zero = match operand.kind {
        Kind::BaseAddress | Kind::BaseAddressPlus1 | Kind::HiddenDescriptor => true,
        Kind::ScaledAddress => operand.select != NONE && !spelling(instruction, operand.select).is_empty(),
        _ => !has_uniform && offset == 0,
    };
    let shows_base = operand.base != NONE && (shows_zero || !is_all_ones(instruction, operand.base));
    if shows_base {
        let is_refused = operand.kind == Kind::ScaledAddress
            && is_all_ones(instruction, operand.base)
            && spelling(instruction, operand.select) == ".64";
        if is_refused {
            put_refused(instruction, operand.base, sink);
        } else {
            register(instruction, operand.base, 0, sink);
        }
        scale(instruction, operand, sink);
    }
    if has_uniform {
        sink.put(TokenKind::Punctuation, if shows_base { "+" } else { "" });
        uniform_register(instruction, operand.uniform, 0, sink);
    }
    if shows_base || has_uniform {
        plus_offset(offset, sink);
    } else {
        put_number(offset, sink);
    }
    sink.put(TokenKind::Punctuation, "]");
}

/// Prints what follows a base register: `.64`, `.X4`.
fn scale<S: TokenSink + ?Sized>(instruction: &Instruction, operand: &Operand, sink: &mut S) {
    if operand.select != NONE {
        sink.put(TokenKind::Attribute, spelling(instruction, operand.select));
    }
}

fn plus_offset<S: TokenSink + ?Sized>(offset: i64, sink: &mut S) {
    if offset != 0 {
        sink.put(TokenKind::Punctuation, "+");
        put_number(offset, sink);
    }
}

/// Returns whether all bits of a field are set, as in `RZ`.
pub(crate) fn is_all_ones(instruction: &Instruction, part: u16) -> bool {
    instruction.field(part).is_some_and(|field| {
        field.raw(instruction.word) == 1_u64.wrapping_shl(u32::from(field.width)).wrapping_sub(1)
    })
}
