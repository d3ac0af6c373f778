//! The language of the filter of a list: `gemv !float16 size>4k calls:air.atomic`.
//!
//! ```text
//! filter = term*                    all must hold
//! term   = "!" term                 must not hold
//!        | "/" expression "/"       the name matches a regular expression
//!        | "~" text                 the name has these letters, in this order
//!        | column relation value    size>4k  registers<=32  chip=sm_70  metal>=3.1  chip:sm_7
//!        | "kind:" text | "has:source" | "calls:" text
//!        | text | "\"" any "\""     the name has this text
//! ```
//!
//! Case does not matter. A text has no spaces unless it is in quotes. What has the form of a comparison but names no
//! column is a fault, which says what there is; a name that has that form, such as `f<4`, is found in quotes.

use super::response::{Answer, Fault};
use super::rows::{Pattern, compare};
use crate::program::{Cell, Row};
use crate::quantity::natural;
use std::borrow::Cow;
use std::cmp::Ordering;

/// The maximum number of terms.
const MAX_TERMS: usize = 64;

/// A filter.
#[derive(Debug, Default)]
pub(super) struct Terms {
    terms: Vec<Term>,
}

/// A condition on a row, or its opposite.
#[derive(Debug)]
struct Term {
    is_negative: bool,
    condition: Condition,
}

#[derive(Debug)]
enum Condition {
    Name(Pattern),
    /// The name has these lower-case letters in this order.
    Letters(Vec<char>),
    Kind(Pattern),
    HasSource,
    /// The column, by its place in the cells.
    Cell(usize, Relation, Value),
    /// A function whose name has this text is called.
    Calls(Pattern),
}

/// How a cell is compared with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Has,
    Equal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// The spellings of relations, the longer ones first.
const RELATIONS: &[(&str, Relation)] = &[
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("<", Relation::Less),
    (">", Relation::More),
    ("=", Relation::Equal),
    (":", Relation::Has),
];

impl Relation {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Has | Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// What a cell is compared with: the text, and the number or version that it spells.
#[derive(Debug)]
struct Value {
    text: String,
    number: Option<u64>,
    version: Option<[u16; 2]>,
}

/// A column that can be compared: its key, label, place in the cells, and whether its cells are numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparable {
    pub(super) key: &'static str,
    pub(super) label: &'static str,
    pub(super) at: usize,
    pub(super) is_number: bool,
}

/// The factors of the units of numbers.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("k", 1_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
    ("ki", 1 << 10),
    ("mi", 1 << 20),
    ("gi", 1 << 30),
];

impl Terms {
    /// Parses a filter of a table with these columns.
    pub(super) fn parse(text: &str, columns: &[Comparable]) -> Answer<Self> {
        let mut terms = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            if terms.len() == MAX_TERMS {
                return Err(
                    Fault::new("the filter has too many terms").expected(format!("at most {MAX_TERMS}"))
                );
            }
            let (term, after) = Term::parse(rest, columns)?;
            terms.push(term);
            rest = after.trim_start();
        }
        Ok(Self { terms })
    }

    /// Returns the filter with its texts as letters that may have others between them, if it has texts.
    pub(super) fn fuzzy(self) -> Option<Self> {
        let mut has_texts = false;
        let terms = self.terms.into_iter().map(|term| match term {
            Term { is_negative: false, condition: Condition::Name(Pattern::Text { text, .. }) } => {
                has_texts = true;
                Term { is_negative: false, condition: Condition::Letters(text.chars().collect()) }
            }
            term => term,
        });
        let terms = terms.collect();
        has_texts.then_some(Self { terms })
    }

    /// Returns the texts that selected names have.
    pub(super) fn texts(&self) -> Vec<String> {
        let text = |term: &Term| match term {
            Term { is_negative: false, condition: Condition::Name(Pattern::Text { text, .. }) } => {
                Some(text.clone())
            }
            _ => None,
        };
        self.terms.iter().filter_map(text).collect()
    }

    /// Returns the patterns of the names of called functions, in order.
    pub(super) fn callees(&self) -> impl Iterator<Item = &Pattern> {
        self.terms.iter().filter_map(|term| match &term.condition {
            Condition::Calls(pattern) => Some(pattern),
            _ => None,
        })
    }

    /// Returns whether a cell is compared.
    pub(super) fn compares(&self, cell: usize) -> bool {
        self.terms.iter().any(|term| matches!(term.condition, Condition::Cell(at, ..) if at == cell))
    }

    /// Returns whether a row is selected. `cell` returns its cells, and `calls` for each of [`callees`](Self::callees)
    /// whether such a function is called.
    pub(super) fn select<'c>(
        &self,
        row: &Row,
        cell: impl Fn(usize) -> Cow<'c, Cell>,
        calls: impl Fn(usize) -> bool,
    ) -> bool {
        let mut callee = 0;
        self.terms.iter().all(|term| {
            let holds = match &term.condition {
                Condition::Name(pattern) => in_names(row, |name| pattern.finds(name)),
                Condition::Letters(letters) => in_names(row, |name| spread(letters, name).is_some()),
                Condition::Kind(pattern) => pattern.finds(&row.kind),
                Condition::HasSource => row.has_source,
                Condition::Cell(at, relation, value) => value.is(*relation, &cell(*at)),
                Condition::Calls(_) => {
                    callee += 1;
                    calls(callee - 1)
                }
            };
            holds != term.is_negative
        })
    }

    /// Returns over how many letters of the name the letters of the filter spread: the fewer, the better.
    pub(super) fn spread(&self, row: &Row) -> usize {
        let of = |term: &Term| match &term.condition {
            Condition::Letters(letters) if !term.is_negative => spread(letters, row.readable_name()),
            _ => None,
        };
        self.terms.iter().filter_map(of).sum()
    }
}

/// Returns whether the readable or the mangled name of a row is one.
fn in_names(row: &Row, is: impl Fn(&str) -> bool) -> bool {
    is(row.readable_name()) || super::rows::mangled(row).is_some_and(is)
}

/// Returns the number of characters from the first to the last of some letters in a name; none if it lacks some of them
/// in this order.
fn spread(letters: &[char], name: &str) -> Option<usize> {
    let mut wanted = letters.iter().peekable();
    let (mut start, mut end) = (None, 0);
    for (at, letter) in name.chars().flat_map(char::to_lowercase).enumerate() {
        if wanted.peek().is_none() {
            break;
        }
        if wanted.next_if(|wanted| **wanted == letter).is_some() {
            start.get_or_insert(at);
            end = at + 1;
        }
    }
    wanted.peek().is_none().then(|| end - start.unwrap_or(0))
}

impl Term {
    /// Parses the first term; returns it, and what follows.
    fn parse<'t>(text: &'t str, columns: &[Comparable]) -> Answer<(Self, &'t str)> {
        let (mut is_negative, mut rest) = (false, text);
        while let Some(after) = rest.strip_prefix('!') {
            (is_negative, rest) = (!is_negative, after);
        }
        if rest.is_empty() || rest.starts_with(char::is_whitespace) {
            return Err(nothing_after("!"));
        }
        let (condition, rest) = Condition::parse(rest, columns)?;
        Ok((Self { is_negative, condition }, rest))
    }
}

fn nothing_after(sign: &str) -> Fault {
    Fault::new(format!("nothing follows `{sign}` in the filter"))
        .hint(format!("write `\"{sign}\"` to look for the sign"))
}

impl Condition {
    fn parse<'t>(text: &'t str, columns: &[Comparable]) -> Answer<(Self, &'t str)> {
        if let Some(rest) = text.strip_prefix('/') {
            let (expression, rest) = expression(rest)?;
            return Ok((Self::Name(Pattern::new(&expression, true, false)?), rest));
        }
        if let Some(rest) = text.strip_prefix('~') {
            let (letters, rest) = self::text(rest)?;
            if letters.is_empty() {
                return Err(nothing_after("~"));
            }
            return Ok((Self::Letters(letters.to_lowercase().chars().collect()), rest));
        }
        if let Some(comparison) = Comparison::parse(text)
            && let Some(found) = comparison.resolve(columns)?
        {
            return Ok(found);
        }
        let (name, rest) = self::text(text)?;
        Ok((Self::Name(Pattern::new(name, false, false)?), rest))
    }
}

/// Splits off a text: up to the next space, or in quotes.
fn text(from: &str) -> Answer<(&str, &str)> {
    let Some(quoted) = from.strip_prefix('"') else {
        let end = from.find(char::is_whitespace).unwrap_or(from.len());
        return Ok(from.split_at(end));
    };
    let closed = quoted.split_once('"');
    closed.ok_or_else(|| {
        Fault::new("a quotation mark is not closed in the filter").expected("`\"` after the text")
    })
}

/// Splits off a regular expression that ends with a slash, before which a backslash may be.
fn expression(from: &str) -> Answer<(String, &str)> {
    let mut escaped = false;
    for (at, letter) in from.char_indices() {
        if letter == '/' && !escaped {
            let (expression, rest) = from.split_at(at);
            return Ok((expression.replace("\\/", "/"), rest.get(1..).unwrap_or_default()));
        }
        escaped = letter == '\\' && !escaped;
    }
    Err(Fault::new("the regular expression is not closed in the filter")
        .expected("`/` after it")
        .hint("to look for a slash, put the text in quotes"))
}

/// What has the form of a comparison: a word, a relation, a value.
struct Comparison<'t> {
    word: &'t str,
    sign: &'static str,
    relation: Relation,
    after: &'t str,
}

impl<'t> Comparison<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let end = text.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(text.len());
        let (word, after) = text.split_at(end);
        let starts_as_name = word.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let (sign, relation) = RELATIONS.iter().find(|(sign, _)| after.starts_with(sign))?;
        let after = after.get(sign.len()..)?;
        // Two colons are in qualified names.
        (starts_as_name && !after.starts_with(':')).then_some(Self { word, sign, relation: *relation, after })
    }

    /// Returns the condition and what follows it; none if it is only a text that looks like a comparison.
    fn resolve(&self, columns: &[Comparable]) -> Answer<Option<(Condition, &'t str)>> {
        let word = self.word.to_lowercase();
        let (value, rest) = text(self.after)?;
        let is_plain = matches!(self.relation, Relation::Has | Relation::Equal);
        let pattern = || {
            if value.is_empty() {
                return Err(nothing_after(&format!("{}{}", self.word, self.sign)));
            }
            Pattern::new(value, false, false)
        };
        let condition = match word.as_str() {
            "calls" if is_plain => Condition::Calls(pattern()?),
            "kind" if is_plain => Condition::Kind(pattern()?),
            "name" if is_plain => Condition::Name(pattern()?),
            "has" if is_plain && value.eq_ignore_ascii_case("source") => Condition::HasSource,
            "has" if is_plain => {
                return Err(
                    Fault::new(format!("`{value}` can't be asked for with `has:`")).expected("`has:source`")
                );
            }
            _ => {
                match columns.iter().find(|column| column.key == word || column.label.to_lowercase() == word)
                {
                    Some(column) => {
                        Condition::Cell(column.at, self.relation, Value::parse(column, self.relation, value)?)
                    }
                    None => return self.unknown(value, columns),
                }
            }
        };
        Ok(Some((condition, rest)))
    }

    /// A text such as `f<float` is looked for; one with a colon or a number is a mistake.
    fn unknown<T>(&self, value: &str, columns: &[Comparable]) -> Answer<Option<T>> {
        let looks_meant =
            self.relation == Relation::Has || value.starts_with(|digit: char| digit.is_ascii_digit());
        if !looks_meant {
            return Ok(None);
        }
        let known: Vec<&str> = columns.iter().map(|column| column.key).collect();
        let written = format!("{}{}{value}", self.word, self.sign);
        Err(Fault::new(format!("the list has no column `{}`", self.word))
            .expected(format!("{}, or `kind:`, `calls:`, `has:source`", known.join(", ")))
            .hint(format!("write `\"{written}\"` to look for the text")))
    }
}

impl Value {
    fn parse(column: &Comparable, relation: Relation, text: &str) -> Answer<Self> {
        let number = number(text);
        if text.is_empty() {
            return Err(Fault::new(format!("nothing is compared with `{}`", column.key))
                .expected(if column.is_number { "a number such as `4k`" } else { "a text" }));
        }
        if column.is_number && number.is_none() {
            return Err(Fault::new(format!("`{text}` is no number to compare `{}` with", column.key))
                .expected("digits, and k, M, Ki or Mi if wanted: `4k`, `1.5M`, `0x40`"));
        }
        let version =
            text.split_once('.').and_then(|(major, minor)| Some([major.parse().ok()?, minor.parse().ok()?]));
        let version = version.or_else(|| Some([text.parse().ok()?, 0]));
        let text = if relation == Relation::Has { text.to_lowercase() } else { text.to_owned() };
        Ok(Self { text, number, version })
    }

    /// Returns whether a cell has this relation to the value. A cell without a value has none.
    fn is(&self, relation: Relation, cell: &Cell) -> bool {
        let order = match (cell, self.number, self.version) {
            (Cell::Empty, ..) => return false,
            (Cell::Version(version), _, Some(wanted)) => version.cmp(&wanted),
            (Cell::Version(_), _, None) => return false,
            (Cell::Text(text), ..) if relation == Relation::Has => {
                return text.to_lowercase().contains(&self.text);
            }
            (Cell::Text(text), ..) => natural(&text.to_lowercase(), &self.text.to_lowercase()),
            (cell, Some(number), _) => compare(cell, &Cell::Number(number)),
            (_, None, _) => return false,
        };
        relation.holds(order)
    }
}

/// Parses a number: `4096`, `4k`, `1.5MB`, `64KiB`, `0x1000`.
fn number(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit = unit.strip_suffix('b').unwrap_or(unit);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    if part.len() > 9 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let scale = 10u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let part: u64 = part.parse().ok()?;
    whole.checked_mul(*factor)?.checked_add(part.checked_mul(*factor)? / scale)
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
