//! Formats and compares numbers and names for people.

/// Returns a number with commas between thousands.
///
/// ```
/// assert_eq!(unshade::quantity::grouped(17_248), "17,248");
/// ```
pub fn grouped(number: u64) -> String {
    let mut text = String::new();
    push_grouped(number, &mut text);
    text
}

/// Appends a number with commas between thousands.
pub fn push_grouped(number: u64, text: &mut String) {
    if number >= 1_000 {
        push_grouped(number / 1_000, text);
        text.push(',');
    }
    let (digits, is_first) = (number % 1_000, number < 1_000);
    for unit in [100, 10, 1] {
        if !is_first || digits >= unit || unit == 1 {
            // A digit fits into a byte.
            text.push(char::from(b'0' + (digits / unit % 10) as u8));
        }
    }
}

/// Returns a size in decimal units, rounded for people: `361 kB`.
///
/// ```
/// assert_eq!(unshade::quantity::size(361_000), "361 kB");
/// ```
pub fn size(count: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    match count {
        0..1_000 => return format!("{count} B"),
        // Most are of this size. Whole numbers take a fifth of the time; they don't know which way a half is rounded.
        1_000..99_950 if count % 100 != 50 => {
            let tenths = (count + 50) / 100;
            return format!("{}.{} kB", tenths / 10, tenths % 10);
        }
        _ => {}
    }
    let mut value = count as f64 / 1_000.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().unwrap_or(&"");
    while value >= 999.95 {
        let Some(next) = units.next() else { break };
        value /= 1_000.0;
        unit = next;
    }
    if value < 99.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Returns an exact number of bytes with its unit: `1 byte`, `2,000 bytes`.
pub fn bytes(number: u64) -> String {
    if number == 1 { "1 byte".to_owned() } else { format!("{} bytes", grouped(number)) }
}

/// Returns a number and a noun in the singular or the plural: `1 error`, `2 errors`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Returns three dimensions as a product: `8 × 8 × 1`.
pub fn dimensions([x, y, z]: [u32; 3]) -> String {
    format!("{x} × {y} × {z}")
}

/// Compares texts without regard to case, and runs of digits as numbers: `2.9` is less than `2.10`.
pub fn natural(left: &str, right: &str) -> std::cmp::Ordering {
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

/// Returns the number of UTF-16 code units of a text.
pub fn utf16_length(text: &str) -> u32 {
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
            [0, 10, 999, 1_000, 17_048, 1_234_567].map(grouped),
            ["0", "10", "999", "1,000", "17,048", "1,234,567"]
        );
    }

    #[test]
    fn sizes_in_decimal_units() {
        assert_eq!(
            [0, 999, 1_000, 92_500, 361_000, 999_960, 147_000_000].map(size),
            ["0 B", "999 B", "1.0 kB", "92.5 kB", "361 kB", "1.0 MB", "147 MB"]
        );
    }

    /// Whole numbers give what the formatting of fractions gives.
    #[test]
    fn small_sizes_are_rounded_as_large_ones() {
        for count in 1_000..99_950 {
            assert_eq!(size(count), format!("{:.1} kB", count as f64 / 1_000.0));
        }
    }

    #[test]
    fn numbers_in_names_count() {
        assert_eq!(natural("2.9", "2.10"), Less);
        assert_eq!(natural("sm_100", "sm_35"), Greater);
        assert_eq!(natural("a007", "A7"), Equal);
        assert_eq!(natural("ab", "abc"), Less);
    }
}
