//! Counts the statements of texts in languages like C, to compare decompiled texts with their sources.
//!
//! Names and comments do not count; statements are
//!
//! | text | statements |
//! |---|---|
//! | a declaration, an assignment, a call: what ends with `;` | 1 |
//! | `if`, `switch`, `while`, `do` | 1 |
//! | `for (…; …; …)` | 1 |

/// Counts the statements of a text.
pub(super) fn count(text: &str) -> usize {
    let plain = without_comments(text);
    let mut count = plain.matches(';').count();
    for (at, word) in words(&plain) {
        let rest = plain[at + word.len()..].trim_start();
        count = match word {
            "if" | "switch" | "while" if rest.starts_with('(') => count + 1,
            // `while (…);` of it counts twice already.
            "do" => count.saturating_sub(1),
            "for" if rest.starts_with('(') => count.saturating_sub(1),
            _ => count,
        };
    }
    count
}

/// Counts the loops of a text.
pub(super) fn loops(text: &str) -> usize {
    let plain = without_comments(text);
    let found = words(&plain);
    let loops = found.iter().filter(|(at, word)| {
        let rest = plain[at + word.len()..].trim_start();
        matches!(*word, "for" | "while") && rest.starts_with('(')
    });
    loops.count()
}

/// Returns the words of a text, with their places.
pub(super) fn words(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphanumeric() || c == '_' {
            start.get_or_insert(at);
        } else if let Some(start) = start.take() {
            found.push((start, &text[start..at]));
        }
    }
    found
}

/// Returns a text without comments.
pub(super) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        plain.push_str(&rest[..at]);
        let end = if rest[at..].starts_with("//") { "\n" } else { "*/" };
        rest = rest[at + 2..].split_once(end).map_or("", |(_, after)| after);
        plain.push('\n');
    }
    plain.push_str(rest);
    plain
}

/// Returns the median of numbers; not a number if there are none.
pub(super) fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => numbers[middle],
        _ => f64::midpoint(numbers[middle - 1], numbers[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_counted() {
        for (text, number) in [
            ("float a; // b;\na = 1; /* c; */", 2),
            ("for (int i = 0; i < 4; i++)\n{\n    f(i);\n}", 2),
            ("do\n{\n    f();\n} while (a);", 2),
            ("while (a) { f(); }", 2),
            ("if (a)\n{\n    return b;\n}\nelse\n{\n    discard;\n}", 3),
            ("format = 1;", 1),
        ] {
            assert_eq!(count(text), number, "{text}");
        }
    }

    #[test]
    fn loops_are_counted() {
        assert_eq!(loops("for (;;) { do { f(); } while (a); }\nwhile (b) {}\nforeach(c);"), 3);
    }
}
