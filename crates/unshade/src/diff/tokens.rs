//! Compares two listings token by token, and sees through consistent renaming.
//!
//! Lines are aligned by keys in which the names of values, registers and labels are left out. The names of aligned lines
//! vote for pairs of old and new names, and the most frequent pairs that contradict no other become the renaming: one new
//! name for each old name, and back. An aligned line whose names all follow it is the same, or the same but renamed;
//! otherwise it has changed. What is removed and added between aligned lines is paired by common tokens.
//!
//! Only names that have no meaning of their own are renamed: never symbols, types, inputs, outputs or resources. Wide
//! instructions name only the first of several machine registers, so the registers of an aligned group keep their
//! distances ([`GROUPS`]).

use super::lines::{AlignedLine, MAX_LINES, align};
use std::collections::HashMap;
use unshade_core::TokenKind;
use unshade_core::token::{Link, Token, TokenSink};

/// The largest product of the lengths of two sequences that are compared element by element.
const MAX_PRODUCT: usize = 1 << 16;

/// The share of common tokens, in percent, from which a removed and an added line are shown as one that changed.
const MIN_SIMILARITY: usize = 40;

/// Sizes of groups of machine registers, by words in listings whose instructions use so many at once.
const GROUPS: [(u64, &[&str]); 3] = [
    (64, &["GMMA", "UTC", "WGMMA"]),
    (8, &["256", "UBLKCP"]),
    (4, &["128", ".96", "MMA", "TEX", "TLD", "TXD", "TXQ", "TMML", "SULD", "SUST", "LDSM", "STSM"]),
];

/// The smallest group: a register and the next one hold a value of 64 bits.
const PAIR: u64 = 2;

/// The kind of a name. Names of different kinds never correspond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum NameKind {
    /// The result of an instruction, a parameter, a variable.
    Value,
    /// A machine register: `R4`.
    Register,
    /// A uniform machine register: `UR4`.
    Uniform,
    /// A predicate: `P0`.
    Predicate,
    /// A uniform predicate: `UP0`.
    UniformPredicate,
    /// A barrier: `B0`.
    Barrier,
    /// A place in the code. Its name follows from where it is.
    Label,
    /// A numbered node, such as `!4` or `#2`.
    Node,
}

/// Prefixes of machine registers.
const REGISTERS: [(&str, NameKind); 5] = [
    ("UR", NameKind::Uniform),
    ("UP", NameKind::UniformPredicate),
    ("R", NameKind::Register),
    ("P", NameKind::Predicate),
    ("B", NameKind::Barrier),
];

/// A name: its kind, and its number among the names of its kind.
type Name = (NameKind, u64);

/// A token, with the end of its text.
#[derive(Clone, Copy, Debug)]
struct CodeToken {
    end: usize,
    is_space: bool,
    /// Whether it says what the code is called rather than what it does.
    is_remark: bool,
    name: Option<Name>,
}

/// A listing to be compared: lines of tokens.
#[derive(Debug, Default)]
pub struct CodeLines {
    text: String,
    tokens: Vec<CodeToken>,
    /// The end of each line, as an index into `tokens`.
    lines: Vec<usize>,
    /// Numbers of the names that have no link, by their text.
    numbers: HashMap<String, u64>,
}

/// A row of a comparison, with indices of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffRow {
    /// Both have the line, except for numbers of places and nodes.
    Same(usize, usize),
    /// Both have the line, with names that were renamed throughout.
    Renamed(usize, usize),
    /// The line has changed.
    Changed(usize, usize),
    /// Only the first has the line.
    Removed(usize),
    /// Only the second has the line.
    Added(usize),
}

/// The comparison of two listings.
#[derive(Clone, Debug, Default)]
pub struct TokenDiff {
    /// All lines of both listings, in order.
    pub rows: Vec<DiffRow>,
    /// Whether a listing is too long to be compared; then there are no rows.
    pub cut: bool,
    /// The new name of each old name, as far as lines are the same.
    pub names: HashMap<String, String>,
}

/// The numbers of lines of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffCounts {
    /// Lines that are the same.
    pub same: u64,
    /// Lines that were only renamed.
    pub renamed: u64,
    /// Lines that have changed.
    pub changed: u64,
    /// Removed lines.
    pub removed: u64,
    /// Added lines.
    pub added: u64,
}

impl DiffCounts {
    /// Returns the share of lines that are different, in thousandths. Renamed lines are not.
    pub fn measure(&self) -> u32 {
        let different = 2 * self.changed + self.removed + self.added;
        let all = different + 2 * (self.same + self.renamed);
        if all == 0 { 0 } else { (different * 1000).div_ceil(all) as u32 }
    }
}

impl TokenDiff {
    /// Counts the rows of each kind.
    pub fn counts(&self) -> DiffCounts {
        let mut counts = DiffCounts::default();
        for row in &self.rows {
            *match row {
                DiffRow::Same(..) => &mut counts.same,
                DiffRow::Renamed(..) => &mut counts.renamed,
                DiffRow::Changed(..) => &mut counts.changed,
                DiffRow::Removed(_) => &mut counts.removed,
                DiffRow::Added(_) => &mut counts.added,
            } += 1;
        }
        counts
    }
}

impl CodeLines {
    /// Records a listing.
    ///
    /// ```
    /// use unshade::core::{TokenKind, TokenSink};
    /// use unshade::diff::{CodeLines, DiffRow};
    ///
    /// let listing = |register: &str| {
    ///     CodeLines::new(|sink| {
    ///         sink.put(TokenKind::Keyword, "MOV");
    ///         sink.put(TokenKind::Punctuation, " ");
    ///         sink.put(TokenKind::Register, register);
    ///     })
    /// };
    /// assert_eq!(listing("R0").compare(&listing("R6")).rows, [DiffRow::Renamed(0, 0)]);
    /// ```
    pub fn new(write: impl FnOnce(&mut dyn TokenSink)) -> Self {
        let mut lines = Self::default();
        write(&mut lines);
        if lines.tokens.len() > lines.lines.last().copied().unwrap_or(0) {
            lines.lines.push(lines.tokens.len());
        }
        lines
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the key of each line: its text without names, with runs of spaces collapsed.
    pub(super) fn keys(&self) -> Vec<String> {
        (0..self.len()).map(|line| self.key(line, false)).collect()
    }

    /// Returns the lines that do something, without names, comments and the names of functions.
    pub(super) fn deeds(&self) -> Vec<String> {
        let words = |line: usize| {
            let tokens = self.tokens(line).filter(|(_, token)| {
                !(token.is_space
                    || token.is_remark
                    || matches!(token.name, Some((NameKind::Label | NameKind::Node, _))))
            });
            let text = |(start, token): (usize, &CodeToken)| match token.name {
                Some((kind, _)) => String::from(char::from(b'a' + kind as u8)),
                None => self.text.get(start..token.end).unwrap_or_default().trim().to_owned(),
            };
            tokens.map(text).collect::<Vec<_>>().join(" ")
        };
        (0..self.len()).map(words).filter(|line| line.chars().any(char::is_alphanumeric)).collect()
    }

    /// Aligns and compares two listings.
    pub fn compare(&self, other: &Self) -> TokenDiff {
        if self.len().max(other.len()) > MAX_LINES {
            return TokenDiff { cut: true, ..TokenDiff::default() };
        }
        let (keys, other_keys) = (self.keys(), other.keys());
        let by_key = align(keys.iter().map(String::as_str), other_keys.iter().map(String::as_str));
        let by_key = by_key.map(|steps| self.classify(other, &steps)).unwrap_or_default();
        let is_exact = by_key.iter().all(|row| matches!(row, DiffRow::Same(..) | DiffRow::Renamed(..)));
        let mut rows = by_key;
        if !is_exact {
            // Where many lines differ in their names only, lines that are equal in full are better anchors.
            let anchored = self.classify(other, &self.anchored(other, &keys, &other_keys));
            if cost(&anchored) < cost(&rows) {
                rows = anchored;
            }
        }
        let names = self.renaming(other, &rows);
        TokenDiff { rows: self.pair(other, rows), cut: false, names }
    }

    /// Returns the texts of names that correspond in lines that are the same.
    fn renaming(&self, other: &Self, rows: &[DiffRow]) -> HashMap<String, String> {
        let mut names = HashMap::new();
        for row in rows {
            if let DiffRow::Renamed(one, two) = *row {
                names.extend(self.name_texts(one).zip(other.name_texts(two)));
            }
        }
        names
    }

    /// Returns the texts of the values and registers of a line.
    fn name_texts(&self, line: usize) -> impl Iterator<Item = String> {
        let is_name = |token: &CodeToken| {
            token.name.is_some_and(|(kind, _)| !matches!(kind, NameKind::Label | NameKind::Node))
        };
        let names = self.tokens(line).filter(move |(_, token)| is_name(token));
        names.map(|(start, token)| self.text.get(start..token.end).unwrap_or_default().to_owned())
    }

    /// Aligns lines by their whole text, and what is between by keys without names.
    fn anchored(&self, other: &Self, keys: &[String], other_keys: &[String]) -> Vec<AlignedLine> {
        let texts: Vec<String> = (0..self.len()).map(|line| self.key(line, true)).collect();
        let other_texts: Vec<String> = (0..other.len()).map(|line| other.key(line, true)).collect();
        let steps = align(texts.iter().map(String::as_str), other_texts.iter().map(String::as_str));
        let (mut found, mut gone, mut new) = (Vec::new(), Vec::new(), Vec::new());
        let close = |found: &mut Vec<AlignedLine>, gone: &mut Vec<usize>, new: &mut Vec<usize>| {
            let of = |keys: &[String], lines: &[usize]| -> Vec<String> {
                lines.iter().filter_map(|line| keys.get(*line).cloned()).collect()
            };
            let (one, two) = (of(keys, gone), of(other_keys, new));
            if let Some(steps) = align(one.iter().map(String::as_str), two.iter().map(String::as_str)) {
                found.extend(steps.iter().filter_map(|step| step.of_lines(gone, new)));
            }
            gone.clear();
            new.clear();
        };
        for step in steps.unwrap_or_default() {
            match step {
                AlignedLine::Removed(line) => gone.push(line),
                AlignedLine::Added(line) => new.push(line),
                AlignedLine::Same(..) => {
                    close(&mut found, &mut gone, &mut new);
                    found.push(step);
                }
            }
        }
        close(&mut found, &mut gone, &mut new);
        found
    }

    /// Finds the renaming of aligned lines, and which lines follow it.
    fn classify(&self, other: &Self, steps: &[AlignedLine]) -> Vec<DiffRow> {
        let mut votes = Votes::default();
        for step in steps {
            if let AlignedLine::Same(one, two) = *step {
                self.names(one).zip(other.names(two)).for_each(|(one, two)| votes.add(one, two));
            }
        }
        let renaming = votes.elect(self.group().max(other.group()));
        let row = |step: &AlignedLine| match *step {
            AlignedLine::Removed(line) => DiffRow::Removed(line),
            AlignedLine::Added(line) => DiffRow::Added(line),
            AlignedLine::Same(one, two) => {
                let agrees = self.names(one).count() == other.names(two).count()
                    && self.names(one).zip(other.names(two)).all(|(one, two)| renaming.agrees(one, two));
                match () {
                    () if !agrees => DiffRow::Changed(one, two),
                    () if self.key(one, true) == other.key(two, true) => DiffRow::Same(one, two),
                    () => DiffRow::Renamed(one, two),
                }
            }
        };
        steps.iter().map(row).collect()
    }

    /// Pairs removed and added lines that have tokens in common.
    fn pair(&self, other: &Self, rows: Vec<DiffRow>) -> Vec<DiffRow> {
        let (mut paired, mut gone, mut new) = (Vec::with_capacity(rows.len()), Vec::new(), Vec::new());
        for row in rows {
            match row {
                DiffRow::Removed(line) => gone.push(line),
                DiffRow::Added(line) => new.push(line),
                _ => {
                    self.pair_run(other, &mut gone, &mut new, &mut paired);
                    paired.push(row);
                }
            }
        }
        self.pair_run(other, &mut gone, &mut new, &mut paired);
        paired
    }

    /// Pairs the lines of a run of changes so that the sum of similarities is largest, in order.
    fn pair_run(&self, other: &Self, gone: &mut Vec<usize>, new: &mut Vec<usize>, rows: &mut Vec<DiffRow>) {
        let (one, two) = (std::mem::take(gone), std::mem::take(new));
        if one.is_empty() || two.is_empty() || one.len().saturating_mul(two.len()) > MAX_PRODUCT {
            rows.extend(one.into_iter().map(DiffRow::Removed));
            rows.extend(two.into_iter().map(DiffRow::Added));
            return;
        }
        let words: Vec<Vec<&str>> = two.iter().map(|line| other.words(*line).collect()).collect();
        let similar: Vec<Vec<usize>> = one
            .iter()
            .map(|line| {
                let own: Vec<&str> = self.words(*line).collect();
                words.iter().map(|words| similarity(&own, words)).collect()
            })
            .collect();
        let score = |at: usize, to: usize| similar.get(at).and_then(|row| row.get(to)).copied().unwrap_or(0);
        for step in best_pairs(one.len(), two.len(), score) {
            match step {
                AlignedLine::Same(at, to) => {
                    rows.extend(one.get(at).zip(two.get(to)).map(|(one, two)| DiffRow::Changed(*one, *two)));
                }
                AlignedLine::Removed(at) => rows.extend(one.get(at).map(|line| DiffRow::Removed(*line))),
                AlignedLine::Added(to) => rows.extend(two.get(to).map(|line| DiffRow::Added(*line))),
            }
        }
    }

    /// Returns the size of the groups in which registers keep their distances.
    fn group(&self) -> u64 {
        let has_machine_code = self
            .tokens
            .iter()
            .any(|token| matches!(token.name, Some((NameKind::Register | NameKind::Uniform, _))));
        if !has_machine_code {
            return 1;
        }
        let found = GROUPS.iter().find(|(_, words)| words.iter().any(|word| self.text.contains(word)));
        found.map_or(PAIR, |(size, _)| *size)
    }

    /// Returns the tokens of a line, with their starts.
    fn tokens(&self, line: usize) -> impl Iterator<Item = (usize, &CodeToken)> + Clone {
        let first = line.checked_sub(1).and_then(|before| self.lines.get(before)).copied().unwrap_or(0);
        let end = self.lines.get(line).copied().unwrap_or(first);
        let start = first.checked_sub(1).and_then(|before| self.tokens.get(before)).map_or(0, |one| one.end);
        let tokens = self.tokens.get(first..end).unwrap_or_default();
        tokens.iter().scan(start, |start, token| Some((std::mem::replace(start, token.end), token)))
    }

    fn names(&self, line: usize) -> impl Iterator<Item = Name> + Clone {
        self.tokens(line).filter_map(|(_, token)| token.name)
    }

    /// Returns the words of a line: names, numbers and marks. A token may have several, such as a comment.
    fn words(&self, line: usize) -> impl Iterator<Item = &str> {
        let tokens = self.tokens(line).filter(|(_, token)| !token.is_space);
        let texts = tokens.map(|(start, token)| self.text.get(start..token.end).unwrap_or_default());
        let is_mark = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | '%' | '$'));
        texts
            .flat_map(move |text| text.split_inclusive(is_mark))
            .map(str::trim)
            .filter(|word| !word.is_empty())
    }

    /// Returns the text of a line, with names or without. Labels and nodes, whose numbers shift, are always left out.
    fn key(&self, line: usize, has_names: bool) -> String {
        let mut key = String::new();
        for (start, token) in self.tokens(line) {
            let text = self.text.get(start..token.end).unwrap_or_default();
            match token.name {
                Some((NameKind::Label, _)) => key.push('\u{1}'),
                Some((NameKind::Node, _)) => key.push('\u{2}'),
                Some((kind, _)) if !has_names => key.push(char::from(b'a' + kind as u8)),
                _ => text.chars().for_each(|c| {
                    if c != ' ' || !(key.is_empty() || key.ends_with(' ')) {
                        key.push(c);
                    }
                }),
            }
        }
        key
    }

    /// Returns the name that a token is.
    fn name(&mut self, token: &Token<'_>) -> Option<Name> {
        let (text, link) = (token.text, token.link);
        let linked = link.map(|(Link::Definition(entity) | Link::Reference(entity))| entity);
        match token.kind {
            TokenKind::Label | TokenKind::Address => return linked.map(|entity| (NameKind::Label, entity)),
            // The address before an instruction.
            TokenKind::Comment => return linked.map(|entity| (NameKind::Label, entity)),
            TokenKind::Register => {
                let is_number =
                    |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                let machine = REGISTERS.iter().find_map(|(prefix, kind)| {
                    let digits = text.strip_prefix(prefix).filter(|digits| is_number(digits))?;
                    Some((*kind, digits.parse().ok()?))
                });
                if machine.is_some() {
                    return machine;
                }
                // Temporary registers of token programs, and values of LLVM; not `v0`, `o0`, `cb0`.
                let is_temporary = text.strip_prefix('r').is_some_and(is_number);
                if !text.starts_with('%') && !is_temporary {
                    return None;
                }
            }
            TokenKind::Variable if !text.starts_with('@') => {}
            TokenKind::Attribute
            | TokenKind::Text
            | TokenKind::Number
            | TokenKind::Type
            | TokenKind::Punctuation => {
                let digits = text.trim_start_matches(['%', '!', '#']);
                let is_number = digits.len() < text.len() && digits.bytes().all(|byte| byte.is_ascii_digit());
                return linked
                    .filter(|_| is_number && !digits.is_empty())
                    .map(|entity| (NameKind::Node, entity));
            }
            _ => return None,
        }
        // Names are told apart by their text: the definition and the uses of a value have the same one.
        linked?;
        let next = self.numbers.len() as u64;
        let number = match self.numbers.get(text) {
            Some(number) => *number,
            None => *self.numbers.entry(text.to_owned()).or_insert(next),
        };
        Some((NameKind::Value, number))
    }
}

/// Returns how far rows are from two equal listings.
fn cost(rows: &[DiffRow]) -> usize {
    let cost = |row: &DiffRow| match row {
        DiffRow::Same(..) | DiffRow::Renamed(..) => 0,
        DiffRow::Changed(..) | DiffRow::Removed(_) | DiffRow::Added(_) => 1,
    };
    rows.iter().map(cost).sum()
}

/// Votes of aligned lines for pairs of names.
#[derive(Default)]
struct Votes {
    pairs: HashMap<(Name, Name), usize>,
    /// The order in which pairs came up, so that the result does not depend on the map's order.
    order: Vec<(Name, Name)>,
}

impl Votes {
    fn add(&mut self, one: Name, two: Name) {
        if one.0 == two.0 {
            let count = self.pairs.entry((one, two)).or_insert(0);
            if *count == 0 {
                self.order.push((one, two));
            }
            *count += 1;
        }
    }

    /// Takes the pairs with the most votes that contradict no pair with more.
    fn elect(self, group: u64) -> Renaming {
        let mut pairs: Vec<(usize, usize)> = self
            .order
            .iter()
            .enumerate()
            .map(|(at, pair)| (self.pairs.get(pair).copied().unwrap_or(0), at))
            .collect();
        pairs.sort_by_key(|(votes, at)| (std::cmp::Reverse(*votes), *at));
        let mut renaming = Renaming { group, ..Renaming::default() };
        for (_, at) in pairs {
            if let Some((one, two)) = self.order.get(at) {
                renaming.take(*one, *two);
            }
        }
        renaming
    }
}

/// One new name for each old name, and back.
#[derive(Default)]
struct Renaming {
    there: HashMap<Name, Name>,
    back: HashMap<Name, Name>,
    group: u64,
    /// The distance of the registers of each group of old registers, and of new ones.
    shifts: HashMap<Name, i128>,
    back_shifts: HashMap<Name, i128>,
}

impl Renaming {
    fn take(&mut self, one: Name, two: Name) {
        if self.there.contains_key(&one) || self.back.contains_key(&two) {
            return;
        }
        if matches!(one.0, NameKind::Register | NameKind::Uniform) {
            let shift = i128::from(two.1) - i128::from(one.1);
            let (from, to) = ((one.0, one.1 / self.group.max(1)), (two.0, two.1 / self.group.max(1)));
            let is_kept =
                |shifts: &HashMap<Name, i128>, at: &Name| shifts.get(at).is_none_or(|other| *other == shift);
            if !is_kept(&self.shifts, &from) || !is_kept(&self.back_shifts, &to) {
                return;
            }
            self.shifts.insert(from, shift);
            self.back_shifts.insert(to, shift);
        }
        self.there.insert(one, two);
        self.back.insert(two, one);
    }

    fn agrees(&self, one: Name, two: Name) -> bool {
        self.there.get(&one) == Some(&two)
    }
}

impl TokenSink for CodeLines {
    fn token(&mut self, token: Token<'_>) {
        for (index, part) in token.text.split('\n').enumerate() {
            if index > 0 {
                self.lines.push(self.tokens.len());
            }
            if part.is_empty() {
                continue;
            }
            self.text.push_str(part);
            let name = self.name(&Token { text: part, ..token });
            let is_space = part.bytes().all(|byte| byte == b' ' || byte == b'\t');
            let is_remark =
                matches!(token.kind, TokenKind::Comment | TokenKind::Function | TokenKind::String);
            self.tokens.push(CodeToken { end: self.text.len(), is_space, is_remark, name });
        }
    }

    fn mark(&self) -> usize {
        self.tokens.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.tokens.truncate(mark);
        self.text.truncate(self.tokens.last().map_or(0, |token| token.end));
        self.lines.retain(|end| *end <= mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = Self { numbers: std::mem::take(&mut self.numbers), ..Self::default() };
        write(&mut part);
        self.numbers = part.numbers;
        let at = mark.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(0, |token| token.end);
        self.text.insert_str(at, &part.text);
        self.tokens.iter_mut().skip(mark).for_each(|token| token.end += part.text.len());
        let (count, first) = (part.tokens.len(), self.lines.partition_point(|end| *end <= mark));
        let moved = part.tokens.into_iter().map(|token| CodeToken { end: token.end + at, ..token });
        self.tokens.splice(mark..mark, moved);
        self.lines.iter_mut().skip(first).for_each(|end| *end += count);
        self.lines.splice(first..first, part.lines.into_iter().map(|end| end + mark));
    }
}

/// Returns the share of tokens that two lines have in common, in percent.
fn similarity(one: &[&str], two: &[&str]) -> usize {
    let mut counts: HashMap<&str, i32> = HashMap::new();
    for word in one {
        *counts.entry(word).or_default() += 1;
    }
    let mut common = 0usize;
    for word in two {
        if let Some(count) = counts.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    // Lines that do different things are not one line that changed.
    let bonus = usize::from(one.first() == two.first());
    (200 * (common + bonus)).checked_div(one.len() + two.len() + 2).unwrap_or(0)
}

/// Returns the alignment of two sequences with the largest sum of scores, of pairs that are similar enough.
fn best_pairs(rows: usize, columns: usize, score: impl Fn(usize, usize) -> usize) -> Vec<AlignedLine> {
    let width = columns + 1;
    let mut best = vec![0u32; (rows + 1) * width];
    let at = |best: &[u32], row: usize, column: usize| best.get(row * width + column).copied().unwrap_or(0);
    let paired = |best: &[u32], row: usize, column: usize| {
        let score = score(row, column);
        (score >= MIN_SIMILARITY).then(|| at(best, row + 1, column + 1) + score as u32)
    };
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let most = at(&best, row + 1, column).max(at(&best, row, column + 1));
            let most = most.max(paired(&best, row, column).unwrap_or(0));
            if let Some(place) = best.get_mut(row * width + column) {
                *place = most;
            }
        }
    }
    let (mut row, mut column, mut steps) = (0, 0, Vec::with_capacity(rows + columns));
    while row < rows || column < columns {
        let here = at(&best, row, column);
        if row < rows && column < columns && paired(&best, row, column) == Some(here) {
            steps.push(AlignedLine::Same(row, column));
            (row, column) = (row + 1, column + 1);
        } else if row < rows && (column == columns || at(&best, row + 1, column) == here) {
            steps.push(AlignedLine::Removed(row));
            row += 1;
        } else {
            steps.push(AlignedLine::Added(column));
            column += 1;
        }
    }
    steps
}

/// Returns the indices of the tokens of two lines that are not in the other, by a longest common subsequence. Spaces are
/// never marked.
///
/// ```
/// let marks = unshade::diff::marks(&["add", " ", "r0", ",", "r1"], &["add", " ", "r0", ",", "r2"]);
/// assert_eq!(marks, (vec![4], vec![4]));
/// ```
pub fn marks(one: &[&str], two: &[&str]) -> (Vec<u32>, Vec<u32>) {
    let words = |tokens: &[&str]| -> Vec<usize> {
        (0..tokens.len()).filter(|at| tokens.get(*at).is_some_and(|text| !text.trim().is_empty())).collect()
    };
    let (left, right) = (words(one), words(two));
    let equal = |a: usize, b: usize| one.get(a) == two.get(b);
    let head = left.iter().zip(&right).take_while(|(a, b)| equal(**a, **b)).count();
    let (left, right) = (left.get(head..).unwrap_or_default(), right.get(head..).unwrap_or_default());
    let tail = left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| equal(**a, **b)).count();
    let left = left.get(..left.len() - tail).unwrap_or_default();
    let right = right.get(..right.len() - tail).unwrap_or_default();
    let all = |places: &[usize]| places.iter().map(|at| *at as u32).collect();
    if left.len().saturating_mul(right.len()) > MAX_PRODUCT {
        return (all(left), all(right));
    }
    let score = |a: usize, b: usize| {
        let same = left.get(a).zip(right.get(b)).is_some_and(|(a, b)| equal(*a, *b));
        if same { 100 } else { 0 }
    };
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    for step in best_pairs(left.len(), right.len(), score) {
        match step {
            AlignedLine::Same(..) => {}
            AlignedLine::Removed(at) => gone.extend(left.get(at).copied()),
            AlignedLine::Added(at) => new.extend(right.get(at).copied()),
        }
    }
    (all(&gone), all(&new))
}

#[cfg(test)]
mod tests;
