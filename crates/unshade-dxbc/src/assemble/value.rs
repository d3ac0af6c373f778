//! Immediate values in text: `1.000000`, `-3`, `0x3f800000`, and FXC's spellings of infinities and NaNs (those of its
//! C library).

/// Returns the bits of a 32-bit value.
pub(crate) fn value(text: &str) -> Option<u32> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).ok();
    }
    match text {
        "1.#INF00" => return Some(f32::INFINITY.to_bits()),
        "-1.#INF00" => return Some(f32::NEG_INFINITY.to_bits()),
        "1.#QNAN0" => return Some(0x7fc0_0000),
        "-1.#QNAN0" => return Some(0xffff_ffff),
        "-1.#IND00" => return Some(0xffc0_0000),
        _ => {}
    }
    if text.contains(['.', 'e']) {
        return text.parse().ok().map(f32::to_bits);
    }
    let number: i64 = text.parse().ok()?;
    match i32::try_from(number) {
        Ok(number) => Some(number.cast_unsigned()),
        Err(_) => u32::try_from(number).ok(),
    }
}

/// Returns the bits of a double.
pub(crate) fn double(text: &str) -> Option<u64> {
    let text = text.strip_suffix('l').unwrap_or(text);
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    Some(match text {
        "1.#INF00" => f64::INFINITY.to_bits(),
        "-1.#INF00" => f64::NEG_INFINITY.to_bits(),
        "1.#QNAN0" => 0x7ff8_0000_0000_0000,
        "-1.#QNAN0" => u64::MAX,
        "-1.#IND00" => 0xfff8_0000_0000_0000,
        _ => text.parse::<f64>().ok()?.to_bits(),
    })
}

/// Returns whether a character is part of values.
pub(crate) fn is_value(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '+' | '#')
}
