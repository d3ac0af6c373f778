//! Line breaking: long lines are broken after an operator or comma, where the fewest parentheses are open.

/// Maximum line width.
pub(super) const WIDTH: usize = 120;

/// Additional indentation of continuation lines.
const CONTINUATION: usize = 8;

/// Splits a line if it is too long with its indentation.
pub(super) fn lines(text: &str, indent: usize, mut take: impl FnMut(String)) {
    // Deep nesting must leave some room.
    let indent = indent.min(WIDTH / 2);
    let mut rest = text;
    let mut margin = indent;
    while margin + rest.len() > WIDTH {
        let Some(index) = break_at(rest, WIDTH - margin) else { break };
        take(indented(margin, rest[..index].trim_end()));
        rest = rest[index..].trim_start();
        margin = indent + CONTINUATION;
    }
    take(indented(margin, rest));
}

fn indented(margin: usize, text: &str) -> String {
    let mut line = String::with_capacity(margin + text.len());
    line.extend(std::iter::repeat_n(' ', margin));
    line.push_str(text);
    line
}

/// Returns where to break: in the second half of what fits, at the lowest parenthesis depth, as late as possible.
fn break_at(text: &str, width: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_i32;
    let mut best: Option<(i32, usize)> = None;
    // As a last resort, after a parenthesis.
    let mut last = None;
    let (mut is_string, mut is_escaped) = (false, false);
    for (index, byte) in bytes.iter().enumerate() {
        let was_escaped = is_escaped;
        is_escaped = is_string && !was_escaped && *byte == b'\\';
        match byte {
            _ if index >= width && (best.is_some() || last.is_some()) => break,
            b'"' if !was_escaped => is_string = !is_string,
            _ if is_string => {}
            b'(' | b'[' => {
                depth += 1;
                last = (*byte == b'(').then_some(index + 1).or(last);
            }
            b')' | b']' => depth -= 1,
            // A space after an operator or comma, but not one inside the name of a type.
            b' ' if index > 0 && b",;+-*/%&|^<>=?:".contains(&bytes[index - 1]) => {
                let is_early = i32::from(index < width / 2) * 2;
                let cost = depth + is_early;
                if best.is_none_or(|best| cost <= best.0) {
                    best = Some((cost, index + 1));
                }
            }
            _ => {}
        }
    }
    best.map(|best| best.1).or(last).filter(|index| *index < bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_where_few_parentheses_are_open() {
        let long = format!("x = {} + f(a, {});", "a".repeat(70), "b".repeat(60));
        let mut found = Vec::new();
        lines(&long, 4, |line| found.push(line));
        assert_eq!(
            found,
            [format!("    x = {} +", "a".repeat(70)), format!("            f(a, {});", "b".repeat(60))]
        );
        found.clear();
        lines("x = 1;", 4, |line| found.push(line));
        assert_eq!(found, ["    x = 1;"]);
        // A string stays whole, with quotation marks in it.
        found.clear();
        let string = format!("\"{}, \\\" {}\\\\\"", "a".repeat(70), "b ".repeat(40));
        lines(&format!("f({string}, 1);"), 4, |line| found.push(line));
        assert_eq!(
            found,
            [String::from("    f("), format!("            {string},"), String::from("            1);")]
        );
    }
}
