//! Video instructions. Source: *PTX ISA*, "Scalar Video Instructions" and "SIMD Video Instructions".

use super::{Call, Type};

/// Returns the result of a video instruction; `None` for other instructions.
pub(super) fn call(call: &Call<'_>) -> Option<u64> {
    let name = call.name.strip_prefix('v')?;
    match name.strip_suffix(['2', '4']) {
        Some(operation) => simd(call, operation, if name.ends_with('2') { 16 } else { 8 }),
        None => scalar(call, name),
    }
}

/// Returns the part of a source that its selector names, by its type.
fn part(ty: Type, text: &str, bits: u64) -> i128 {
    let (shift, width) = match text.split('.').nth(1) {
        Some("b0") => (0, 8),
        Some("b1") => (8, 8),
        Some("b2") => (16, 8),
        Some("b3") => (24, 8),
        Some("h0") => (0, 16),
        Some("h1") => (16, 16),
        _ => (0, 32),
    };
    Type { width, ..ty }.value(bits >> shift)
}

fn scalar(call: &Call<'_>, name: &str) -> Option<u64> {
    let types = call.types();
    // The intermediate result of a comparison is unsigned.
    let (to, a_type, b_type) = match (name, types.as_slice()) {
        ("set", [a, b]) => (Type { kind: 'u', width: 32 }, *a, *b),
        (_, [to, a, b]) => (*to, *a, *b),
        _ => return None,
    };
    let a = part(a_type, call.texts.first()?, call.at(0));
    let b = part(b_type, call.texts.get(1)?, call.at(1));
    let shift = || if call.has("wrap") { (b & 31) as u32 } else { b.clamp(0, 32) as u32 };
    let value = match name {
        "add" => a + b,
        "sub" => a - b,
        "absdiff" => (a - b).abs(),
        "min" => a.min(b),
        "max" => a.max(b),
        "shl" => a << shift(),
        "shr" => a >> shift(),
        "set" => i128::from(holds(call, a, b)?),
        "mad" => return Some(mad(call, a, b, a_type.is_signed() || b_type.is_signed())),
        _ => return None,
    };
    let (low, high) = to.range();
    let value = if call.has("sat") { value.clamp(low, high) } else { value };
    let (value, c) = (value as u64 & 0xffff_ffff, call.at(2) & 0xffff_ffff);
    Some(match call.words.last().copied()? {
        "add" => value.wrapping_add(c),
        "min" => (to.value(value).min(to.value(c))) as u64,
        "max" => (to.value(value).max(to.value(c))) as u64,
        _ => merged(call.destination, value, c),
    })
}

/// Puts the result into a part of the third source, if the destination names one.
fn merged(destination: &str, value: u64, c: u64) -> u64 {
    let (shift, mask) = match destination.split('.').nth(1) {
        Some("b0") => (0, 0xff),
        Some("b1") => (8, 0xff),
        Some("b2") => (16, 0xff),
        Some("b3") => (24, 0xff),
        Some("h0") => (0, 0xffff),
        Some("h1") => (16, 0xffff),
        _ => return value,
    };
    c & !(mask << shift) | (value & mask) << shift
}

/// The product plus the third source, shifted right. Third source and result are signed if a factor is.
fn mad(call: &Call<'_>, a: i128, b: i128, has_sign: bool) -> u64 {
    let ty = Type { kind: if has_sign { 's' } else { 'u' }, width: 32 };
    let exact = a * b + ty.value(call.at(2)) + i128::from(call.has("po"));
    let exact = exact
        >> if call.has("shr7") {
            7
        } else if call.has("shr15") {
            15
        } else {
            0
        };
    let (low, high) = ty.range();
    (if call.has("sat") { exact.clamp(low, high) } else { exact }) as u64
}

fn holds(call: &Call<'_>, a: i128, b: i128) -> Option<bool> {
    Some(match *call.words.iter().find(|word| ["eq", "ne", "lt", "le", "gt", "ge"].contains(word))? {
        "eq" => a == b,
        "ne" => a != b,
        "lt" => a < b,
        "le" => a <= b,
        "gt" => a > b,
        _ => a >= b,
    })
}

fn simd(call: &Call<'_>, name: &str, width: u32) -> Option<u64> {
    let types = call.types();
    let (to, a_type, b_type) = match (name, types.as_slice()) {
        ("set", [a, b]) => (Type { kind: 'u', width }, *a, *b),
        (_, [to, a, b]) => (*to, *a, *b),
        _ => return None,
    };
    let lane_of = |ty: Type| Type { width, ..ty };
    let (low, high) = lane_of(to).range();
    let mut lanes = Vec::new();
    for index in 0..32 / width {
        let shift = index * width;
        let a = lane_of(a_type).value(call.at(0) >> shift);
        let b = lane_of(b_type).value(call.at(1) >> shift);
        let value = match name {
            "add" => a + b,
            "sub" => a - b,
            "avrg" => (a + b + i128::from(a + b >= 0)) >> 1,
            "absdiff" => (a - b).abs(),
            "min" => a.min(b),
            "max" => a.max(b),
            "set" => i128::from(holds(call, a, b)?),
            _ => return None,
        };
        lanes.push(if call.has("sat") { value.clamp(low, high) } else { value });
    }
    if call.words.last() == Some(&"add") {
        return Some((lanes.iter().sum::<i128>() + i128::from(call.at(2) as u32)) as u64);
    }
    let mask = (1_u64 << width) - 1;
    let joined = lanes.iter().rev().fold(0, |word, lane| word << width | *lane as u64 & mask);
    Some(joined)
}
