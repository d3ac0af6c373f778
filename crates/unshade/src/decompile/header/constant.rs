//! Constant expressions: the counts of arrays, the values of enumerators, alignments.

use super::parser::{Parsed, Parser};

/// Maximum number of nested parentheses.
const MAX_DEPTH: usize = 32;

/// The operators by precedence, the weakest first.
const OPERATORS: &[&[&str]] = &[&["|"], &["^"], &["&"], &["<<"], &["+", "-"], &["*", "/", "%"]];

impl Parser<'_> {
    /// Reads a constant expression.
    pub(super) fn constant(&mut self) -> Parsed<i64> {
        self.operation(0, 0)
    }

    fn operation(&mut self, level: usize, depth: usize) -> Parsed<i64> {
        let Some(operators) = OPERATORS.get(level) else { return self.operand(depth) };
        let mut value = self.operation(level + 1, depth)?;
        while let Some(operator) = operators.iter().find(|operator| self.is_next(operator)) {
            self.skip();
            let other = self.operation(level + 1, depth)?;
            let result = match *operator {
                "|" => Some(value | other),
                "^" => Some(value ^ other),
                "&" => Some(value & other),
                "<<" => u32::try_from(other).ok().and_then(|amount| value.checked_shl(amount)),
                "+" => value.checked_add(other),
                "-" => value.checked_sub(other),
                "*" => value.checked_mul(other),
                "/" => value.checked_div(other),
                _ => value.checked_rem(other),
            };
            value = result.ok_or("the value of the expression is out of range")?;
        }
        Ok(value)
    }

    fn operand(&mut self, depth: usize) -> Parsed<i64> {
        if depth > MAX_DEPTH {
            return Err(format!("an expression has more than {MAX_DEPTH} nested parentheses"));
        }
        if self.accept("(") {
            let value = self.operation(0, depth + 1)?;
            self.expect(")")?;
            return Ok(value);
        }
        if self.accept("-") {
            return self
                .operand(depth + 1)?
                .checked_neg()
                .ok_or_else(|| String::from("the value is out of range"));
        }
        if self.accept("+") {
            return self.operand(depth + 1);
        }
        if self.accept("sizeof") {
            self.expect("(")?;
            let size = self.type_name()?.map_or(0, |ty| self.types.size(ty));
            self.expect(")")?;
            return i64::try_from(size).map_err(|error| error.to_string());
        }
        let word = self.word_or_number()?;
        if let Some(value) = self.enumerators.get(word) {
            return Ok(*value);
        }
        number(word).ok_or_else(|| format!("`{word}` is no known number"))
    }
}

/// Returns the value of an integer in C.
fn number(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let lower = digits.to_ascii_lowercase();
    if let Some(hexadecimal) = lower.strip_prefix("0x") {
        return i64::from_str_radix(hexadecimal, 16).ok();
    }
    match lower.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => i64::from_str_radix(octal, 8).ok(),
        _ => lower.parse().ok(),
    }
}
