//! Numbers and names as people read them.

/// A number with commas between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many bytes, exactly.
pub(super) fn bytes(number: u64) -> String {
    if number == 1 { "1 byte".to_owned() } else { format!("{} bytes", grouped(number)) }
}

/// A number and a noun, which gets an `s` unless there is one.
pub(super) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Three dimensions.
pub(super) fn dimensions([x, y, z]: [u32; 3]) -> String {
    format!("{x} × {y} × {z}")
}

/// Compares texts so that runs of digits count as numbers: `2.9` before `2.10`.
pub(super) fn natural(left: &str, right: &str) -> std::cmp::Ordering {
    let (mut left, mut right) = (left.as_bytes(), right.as_bytes());
    loop {
        let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (a, b) = (digits(left), digits(right));
        let order = if a > 0 && b > 0 {
            let number =
                |text: &[u8]| -> Vec<u8> { text.iter().copied().skip_while(|byte| *byte == b'0').collect() };
            let (one, other) = (number(&left[..a]), number(&right[..b]));
            (left, right) = (&left[a..], &right[b..]);
            one.len().cmp(&other.len()).then_with(|| one.cmp(&other))
        } else {
            match (left.split_first(), right.split_first()) {
                (Some((one, rest)), Some((other, others))) => {
                    (left, right) = (rest, others);
                    one.to_ascii_lowercase().cmp(&other.to_ascii_lowercase())
                }
                (one, other) => return one.is_some().cmp(&other.is_some()),
            }
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// How many UTF-16 units a text has.
pub(super) fn utf16_length(text: &str) -> u32 {
    if text.is_ascii() {
        return u32::try_from(text.len()).unwrap_or(u32::MAX);
    }
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering::{Equal, Greater, Less};

    #[test]
    fn thousands() {
        assert_eq!(
            [0, 999, 1_000, 17_248, 1_234_567].map(grouped),
            ["0", "999", "1,000", "17,248", "1,234,567"]
        );
    }

    #[test]
    fn numbers_in_names_count() {
        assert_eq!(natural("2.9", "2.10"), Less);
        assert_eq!(natural("sm_100", "sm_35"), Greater);
        assert_eq!(natural("a007", "A7"), Equal);
        assert_eq!(natural("ab", "abc"), Less);
    }
}
