//! Formats numbers, names and strings as LLVM assembly has them.

use alloc::string::String;
use core::ops::Range;

/// The decimal digits of 0 to 999, three characters each.
const TRIPLES: &str = match core::str::from_utf8(&TRIPLE_BYTES) {
    Ok(text) => text,
    Err(_) => "",
};
const TRIPLE_BYTES: [u8; 3_000] = {
    let mut bytes = [b'0'; 3_000];
    let mut n = 0;
    #[allow(clippy::indexing_slicing)]
    while n < 1_000 {
        bytes[3 * n] = b'0' + (n / 100) as u8;
        bytes[3 * n + 1] = b'0' + (n / 10 % 10) as u8;
        bytes[3 * n + 2] = b'0' + (n % 10) as u8;
        n += 1;
    }
    bytes
};

/// Returns the text of a number below 1,000, without leading zeros.
#[inline]
pub(crate) fn short_number(number: u32) -> &'static str {
    let at = number as usize * 3;
    let skip = if number >= 100 {
        0
    } else if number >= 10 {
        1
    } else {
        2
    };
    TRIPLES.get(at + skip..at + 3).unwrap_or("")
}

/// Appends the texts of 0 to 999, each after `prefix`.
pub(crate) fn push_prefixed_numbers(text: &mut String, prefix: char) {
    for number in 0..1_000 {
        text.push(prefix);
        text.push_str(short_number(number));
    }
}

/// Returns where in the texts of [`push_prefixed_numbers`] a number below 1,000 is.
#[inline]
pub(crate) fn prefixed_range(number: u32) -> Range<u32> {
    // Those before it have a prefix, and two or three digits if they are that long.
    let start = 2 * number + number.saturating_sub(10) + number.saturating_sub(100);
    start..start + 2 + u32::from(number >= 10) + u32::from(number >= 100)
}

/// Appends a number.
#[inline]
pub(crate) fn push_number(text: &mut String, number: u64) {
    if number < 1_000 {
        text.push_str(short_number(number as u32));
    } else {
        push_long(text, number);
    }
}

fn push_long(text: &mut String, number: u64) {
    if number >= 1_000 {
        push_long(text, number / 1_000);
        let at = (number % 1_000) as usize * 3;
        text.push_str(TRIPLES.get(at..at + 3).unwrap_or(""));
    } else {
        text.push_str(short_number(number as u32));
    }
}

/// Appends a signed number.
pub(crate) fn push_signed(text: &mut String, number: i64) {
    if number < 0 {
        text.push('-');
    }
    push_number(text, number.unsigned_abs());
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn hex_digit(value: u64) -> char {
    char::from(HEX.get((value & 15) as usize).copied().unwrap_or(b'0'))
}

/// Appends the last `digits` hexadecimal digits of a number.
pub(crate) fn push_hex(text: &mut String, number: u64, digits: u32) {
    for digit in (0..digits).rev() {
        text.push(hex_digit(number >> (digit * 4)));
    }
}

/// Appends a number in as few hexadecimal digits as it needs.
pub(crate) fn push_short_hex(text: &mut String, number: u64) {
    push_hex(text, number, (64 - number.leading_zeros()).div_ceil(4).max(1));
}

/// Appends an integer of any width, least significant word first, as a signed decimal.
pub(crate) fn push_wide(text: &mut String, words: &[u64], bits: u32, signed: bool) {
    // Take the words that the width covers; words that are not stored are zero, whatever the sign.
    let count = (bits.div_ceil(64) as usize).min(1 << 12);
    let mut value: alloc::vec::Vec<u64> = words.iter().copied().take(count).collect();
    value.resize(count, 0);
    if let (Some(top), used) = (value.last_mut(), bits % 64)
        && used != 0
    {
        *top &= (1 << used) - 1;
    }
    let top_bit = (bits.wrapping_sub(1)) % 64;
    let negative = signed && value.last().is_some_and(|top| top >> top_bit & 1 != 0);
    if negative {
        text.push('-');
        let mut carry = true;
        for word in &mut value {
            let (inverted, overflow) = (!*word).overflowing_add(u64::from(carry));
            *word = inverted;
            carry = overflow;
        }
        if let (Some(top), used) = (value.last_mut(), bits % 64)
            && used != 0
        {
            *top &= (1 << used) - 1;
        }
    }
    push_magnitude(text, value);
}

/// Appends an unsigned integer, by long division by 10^18 from the last group of digits to the first.
fn push_magnitude(text: &mut String, mut value: alloc::vec::Vec<u64>) {
    const GROUP: u128 = 1_000_000_000_000_000_000;
    let mut groups = alloc::vec::Vec::new();
    while value.iter().any(|&word| word != 0) {
        let mut remainder = 0u128;
        for word in value.iter_mut().rev() {
            let part = remainder << 64 | u128::from(*word);
            *word = (part / GROUP) as u64;
            remainder = part % GROUP;
        }
        groups.push(remainder as u64);
    }
    push_number(text, groups.pop().unwrap_or(0));
    for group in groups.into_iter().rev() {
        let mut part = String::new();
        push_number(&mut part, group);
        for _ in part.len()..18 {
            text.push('0');
        }
        text.push_str(&part);
    }
}

/// Appends bytes, escaping all but printable ASCII; quotes and backslashes are escaped, too.
pub(crate) fn push_escaped(text: &mut String, bytes: &[u8]) {
    push_escaped_as(text, bytes, false);
}

/// Returns whether a byte is not escaped in a string.
fn is_plain(byte: u8) -> bool {
    (0x20..0x7F).contains(&byte) & (byte != b'"') & (byte != b'\\')
}

/// Returns bytes as text if none of them is escaped in a string.
pub(crate) fn plain(bytes: &[u8]) -> Option<&str> {
    core::str::from_utf8(bytes).ok().filter(|_| run_of(bytes, is_plain) == bytes.len())
}

/// Appends bytes like [`push_escaped`]; `old` writes backslashes as LLVM 3.7 does.
pub(crate) fn push_escaped_as(text: &mut String, bytes: &[u8], old: bool) {
    let mut rest = bytes;
    loop {
        let run = run_of(rest, is_plain);
        let (head, tail) = rest.split_at(run);
        text.push_str(core::str::from_utf8(head).unwrap_or(""));
        let Some((&special, after)) = tail.split_first() else { return };
        if special == b'\\' && !old {
            text.push_str("\\\\");
        } else {
            text.push('\\');
            push_hex(text, u64::from(special), 2);
        }
        rest = after;
    }
}

/// Returns the length of the prefix whose bytes all satisfy `is`. Whole chunks are tested without branches.
fn run_of(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    const CHUNK: usize = 16;
    let all = |chunk: &[u8]| chunk.iter().fold(true, |all, &byte| all & is(byte));
    let whole = CHUNK * bytes.chunks_exact(CHUNK).take_while(|chunk| all(chunk)).count();
    let rest = bytes.get(whole..).unwrap_or_default();
    whole + rest.iter().position(|&byte| !is(byte)).unwrap_or(rest.len())
}

/// Appends the name of a value, type or label, quoted if necessary.
pub(crate) fn push_name(text: &mut String, name: &[u8]) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let simple =
        name.first().is_some_and(|first| !first.is_ascii_digit()) && name.iter().all(|&byte| plain(byte));
    if simple {
        text.push_str(core::str::from_utf8(name).unwrap_or(""));
    } else {
        text.push('"');
        push_escaped(text, name);
        text.push('"');
    }
}

/// Appends the name of named metadata or of a metadata kind, with unusual characters escaped.
pub(crate) fn push_metadata_name(text: &mut String, name: &[u8]) {
    if name.is_empty() {
        text.push_str("<empty name> ");
    }
    let letter = |byte: u8| byte.is_ascii_alphabetic() | matches!(byte, b'-' | b'$' | b'.' | b'_');
    let mut rest = name;
    while let Some((&first, after)) = rest.split_first() {
        let may_start = letter(first) || (rest.len() < name.len() && first.is_ascii_digit());
        if may_start {
            let run = 1 + run_of(after, |byte| letter(byte) | byte.is_ascii_digit());
            let (head, tail) = rest.split_at(run);
            text.push_str(core::str::from_utf8(head).unwrap_or(""));
            rest = tail;
        } else {
            text.push('\\');
            push_hex(text, u64::from(first), 2);
            rest = after;
        }
    }
}

/// Returns the number of columns of a text, which is ASCII because names are escaped.
pub(crate) fn columns(text: &str) -> usize {
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(write: impl FnOnce(&mut String)) -> String {
        let mut text = String::new();
        write(&mut text);
        text
    }

    #[test]
    fn numbers() {
        for number in [0, 7, 10, 99, 100, 999, 1_000, 1_001, 12_345, 1_000_000, u64::MAX] {
            assert_eq!(with(|t| push_number(t, number)), alloc::format!("{number}"));
        }
        assert_eq!(with(|t| push_signed(t, i64::MIN)), alloc::format!("{}", i64::MIN));
        assert_eq!(with(|t| push_short_hex(t, 0xA0)), "A0");
        assert_eq!(with(|t| push_wide(t, &[0, 1], 128, true)), "18446744073709551616");
        assert_eq!(with(|t| push_wide(t, &[u64::MAX, u64::MAX], 128, true)), "-1");
        assert_eq!(with(|t| push_wide(t, &[0, 1], 65, true)), "-18446744073709551616");
        assert_eq!(with(|t| push_wide(t, &[u64::MAX], 128, true)), "18446744073709551615");
        assert_eq!(
            with(|t| push_wide(t, &[0, 0, 1 << 63], 192, false)),
            alloc::format!("{}", { "3138550867693340381917894711603833208051177722232017256448" })
        );
    }

    #[test]
    fn prefixed_numbers() {
        let text = with(|text| push_prefixed_numbers(text, '%'));
        for number in 0..1_000 {
            let Range { start, end } = prefixed_range(number);
            assert_eq!(text.get(start as usize..end as usize), Some(&*alloc::format!("%{number}")));
        }
    }

    #[test]
    fn names() {
        assert_eq!(with(|t| push_name(t, b"a.b-c_1")), "a.b-c_1");
        assert_eq!(with(|t| push_name(t, b"1a")), "\"1a\"");
        assert_eq!(with(|t| push_name(t, b"a\"\\\xff b")), "\"a\\22\\\\\\FF b\"");
        assert_eq!(with(|t| push_metadata_name(t, b"1a b")), "\\31a\\20b");
    }
}
