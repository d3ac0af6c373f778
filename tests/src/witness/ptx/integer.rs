//! Integers. Source: *PTX ISA*, "Integer Arithmetic", "Extended-Precision Integer Arithmetic", "Logic and Shift" and `prmt`.

use super::{Call, Tolerance, Type};

/// Returns the result of an instruction on integers; `None` if it is not one of them.
pub(super) fn call(call: &Call<'_>, carry: &mut bool, tolerance: &mut Tolerance) -> Option<u64> {
    if let Some(result) = bits(call) {
        return Some(result);
    }
    let ty = call.ty().filter(|ty| ty.kind != 'f')?;
    let value = |index| ty.value(call.at(index));
    let (a, b, c) = (value(0), value(1), value(2));
    Some(match call.name {
        "add" | "addc" | "sub" | "subc" => sum(call, ty, carry),
        "mul" | "mad" | "madc" => product(call, ty, carry),
        "mul24" | "mad24" => product24(call, ty),
        "sad" => ((a - b).abs() + c) as u64,
        "min" => a.min(b) as u64,
        "max" => a.max(b) as u64,
        "abs" => {
            // The minimum has no absolute value.
            if a == ty.range().0 {
                *tolerance = Tolerance::Any;
            }
            a.unsigned_abs() as u64
        }
        "neg" => (-a) as u64,
        // A division by zero has no defined result; the rows avoid it.
        "div" => a.checked_div(b)? as u64,
        "rem" => a.checked_rem(b)? as u64,
        _ => return None,
    })
}

/// A sum or difference, with the carry flag: that of a difference is the borrow.
fn sum(call: &Call<'_>, ty: Type, carry: &mut bool) -> u64 {
    let minus = call.name.starts_with("sub");
    let adds = call.name.ends_with('c') && *carry;
    if call.has("sat") {
        let (a, b) = (ty.value(call.at(0)), ty.value(call.at(1)));
        let (low, high) = ty.range();
        return (if minus { a - b } else { a + b }).clamp(low, high) as u64;
    }
    let (a, b) = (i128::from(call.at(0) & ty.mask()), i128::from(call.at(1) & ty.mask()));
    let exact = if minus { a - b - i128::from(adds) } else { a + b + i128::from(adds) };
    if call.has("cc") {
        *carry = exact < 0 || exact > i128::from(ty.mask());
    }
    exact as u64
}

/// A product, of which `lo` and `hi` are halves; `wide` is all of it. `mad` adds the third source to that.
fn product(call: &Call<'_>, ty: Type, carry: &mut bool) -> u64 {
    let exact = ty.value(call.at(0)).wrapping_mul(ty.value(call.at(1)));
    let part = if call.has("hi") { exact >> ty.width } else { exact };
    if call.name == "mul" {
        return part as u64;
    }
    let wide = Type { width: if call.has("wide") { 2 * ty.width } else { ty.width }, ..ty };
    let (m, c) = ((part as u64) & wide.mask(), call.at(2) & wide.mask());
    if call.has("sat") {
        let (low, high) = wide.range();
        return (wide.value(m) + wide.value(c)).clamp(low, high) as u64;
    }
    let exact = u128::from(m) + u128::from(c) + u128::from(call.name == "madc" && *carry);
    if call.has("cc") {
        *carry = exact > u128::from(wide.mask());
    }
    exact as u64
}

/// The product of two 24-bit numbers has 48 bits: `lo` are the lower 32 of them, `hi` the upper 32.
fn product24(call: &Call<'_>, ty: Type) -> u64 {
    let narrow = |bits: u64| {
        let value = i128::from(bits & 0xff_ffff);
        if ty.is_signed() && value >> 23 != 0 { value - (1 << 24) } else { value }
    };
    let exact = narrow(call.at(0)) * narrow(call.at(1));
    let part = if call.has("hi") { exact >> 16 } else { exact };
    (part + if call.name == "mad24" { ty.value(call.at(2)) } else { 0 }) as u64
}

/// Instructions whose sources are patterns of bits.
fn bits(call: &Call<'_>) -> Option<u64> {
    let types = call.types();
    let width = types.first().map_or(1, |ty| ty.width);
    let mask = u64::MAX >> (64 - width);
    let ty = types.first().copied().unwrap_or(Type { kind: 'b', width: 32 });
    let (a, b, c) = (call.at(0), call.at(1), call.at(2));
    let highest = |bits: u64| 63 - u64::from(bits.leading_zeros());
    Some(match call.name {
        "mov" => a,
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "not" if call.has("pred") => u64::from(a == 0),
        "not" => !a,
        "cnot" => u64::from(a & mask == 0),
        "popc" => (a & mask).count_ones().into(),
        "clz" => u64::from((a & mask).leading_zeros()) - u64::from(64 - width),
        "brev" => (a & mask).reverse_bits() >> (64 - width),
        // The position of the highest bit that is not a copy of the sign.
        "bfind" => {
            let value = if ty.is_signed() && ty.value(a) < 0 { !a } else { a } & mask;
            match value {
                0 => u64::from(u32::MAX),
                _ if call.has("shiftamt") => u64::from(width) - 1 - highest(value),
                _ => highest(value),
            }
        }
        "bfe" => extract(ty, a, b & 0xff, c & 0xff),
        "bfi" => insert(width, a, b, c & 0xff, call.at(3) & 0xff),
        "shl" => {
            if b & 0xffff_ffff >= width.into() {
                0
            } else {
                a << b
            }
        }
        "shr" => shifted_right(ty, a, b & 0xffff_ffff),
        "shf" => funnel(call, a, b, c),
        "prmt" => permuted(call.words.last().copied().unwrap_or(""), a, b, c),
        _ => return None,
    })
}

fn shifted_right(ty: Type, a: u64, distance: u64) -> u64 {
    (ty.value(a) >> distance.min(64)) as u64
}

/// Extracts a field; beyond the highest bit it is filled with the field's sign.
fn extract(ty: Type, a: u64, place: u64, count: u64) -> u64 {
    let highest = u64::from(ty.width) - 1;
    let bit = |index: u64| a >> index.min(63) & 1;
    let sign = match count {
        0 => 0,
        _ if ty.is_signed() => bit((place + count - 1).min(highest)),
        _ => 0,
    };
    (0..=highest).fold(0, |field, index| {
        let from = place + index;
        field | if index < count && from <= highest { bit(from) } else { sign } << index
    })
}

fn insert(width: u32, field: u64, into: u64, place: u64, count: u64) -> u64 {
    (0..count).fold(into, |result, index| {
        let at = place + index;
        if at >= width.into() { result } else { result & !(1 << at) | (field >> index & 1) << at }
    })
}

/// Shifts a pair of words, the second of which is the upper one, and returns the upper (left) or lower (right) word.
fn funnel(call: &Call<'_>, low: u64, high: u64, distance: u64) -> u64 {
    let pair = (high & 0xffff_ffff) << 32 | low & 0xffff_ffff;
    let n = if call.has("wrap") { distance & 31 } else { distance.min(32) };
    if call.has("l") { (u128::from(pair) << n >> 32) as u64 } else { pair >> n }
}

/// Bytes of two words, by the selector's nibbles, or by its lowest two bits as the mode defines.
fn permuted(mode: &str, a: u64, b: u64, c: u64) -> u64 {
    let bytes: Vec<u8> = [a as u32, b as u32].iter().flat_map(|word| word.to_le_bytes()).collect();
    let s = (c & 3) as usize;
    let picks: [usize; 4] = match mode {
        "f4e" => [s, s + 1, s + 2, s + 3],
        "b4e" => [s, (s + 7) % 8, (s + 6) % 8, (s + 5) % 8],
        "rc8" => [s; 4],
        "ecl" => [s, s.max(1), s.max(2), 3],
        "ecr" => [0, s.min(1), s.min(2), s],
        "rc16" => [s % 2 * 2, s % 2 * 2 + 1, s % 2 * 2, s % 2 * 2 + 1],
        _ => {
            let nibble = |index: u32| (c >> (4 * index) & 15) as usize;
            let byte = |nibble: usize| {
                let value = bytes[nibble & 7];
                if nibble & 8 == 0 { value } else { u8::from(value >> 7 != 0) * 0xff }
            };
            return u32::from_le_bytes(std::array::from_fn(|index| byte(nibble(index as u32)))).into();
        }
    };
    u32::from_le_bytes(picks.map(|index| bytes[index])).into()
}
