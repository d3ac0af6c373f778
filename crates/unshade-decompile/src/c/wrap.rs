//! Long lines are written on several: broken behind an operator or a comma, where the fewest parentheses are open.

/// So many columns a line has.
pub(super) const WIDTH: usize = 120;

/// What follows of a statement stands so much further to the right.
const CONTINUATION: usize = 8;

/// Takes a line apart, if it is too long with what stands before it.
pub(super) fn lines(text: &str, indent: usize, mut take: impl FnMut(String)) {
    // Deep nesting leaves some room all the same.
    let indent = indent.min(WIDTH / 2);
    let mut rest = text;
    let mut margin = indent;
    while margin + rest.len() > WIDTH {
        let Some(place) = break_at(rest, WIDTH - margin) else { break };
        take(indented(margin, rest[..place].trim_end()));
        rest = rest[place..].trim_start();
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

/// Where to break: in the second half of what fits, as few parentheses deep as can be, as late as can be.
fn break_at(text: &str, width: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_i32;
    let mut best: Option<(i32, usize)> = None;
    // Where nothing else will do, behind a parenthesis.
    let mut last = None;
    for (place, byte) in bytes.iter().enumerate() {
        match byte {
            _ if place >= width && (best.is_some() || last.is_some()) => break,
            b'(' | b'[' => {
                depth += 1;
                last = (*byte == b'(').then_some(place + 1).or(last);
            }
            b')' | b']' => depth -= 1,
            // A space behind an operator or a comma; not one of a type's name.
            b' ' if place > 0 && b",;+-*/%&|^<>=?:".contains(&bytes[place - 1]) => {
                let is_early = i32::from(place < width / 2) * 2;
                let cost = depth + is_early;
                if best.is_none_or(|best| cost <= best.0) {
                    best = Some((cost, place + 1));
                }
            }
            _ => {}
        }
    }
    best.map(|best| best.1).or(last).filter(|place| *place < bytes.len())
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
    }
}
