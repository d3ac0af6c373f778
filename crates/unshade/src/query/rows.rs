//! The items of a program as a table, which is filtered and sorted for each request: for 20,000 items that takes some
//! milliseconds.

use super::MAX_ROWS;
use super::bodies::Bodies;
use super::families::Families;
use super::filter::{Comparable, Terms};
use super::request::{Rows, Sort};
use super::response::{Answer, ByteRange, ColumnHead, Fault, RowEntry, RowsAnswer};
use crate::program::{Align, Cell, Piece, Pieces, Row};
use crate::quantity::{grouped, natural};
use regex_lite::RegexBuilder;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

/// The compiled size that a regular expression may have.
const MAX_EXPRESSION: usize = 1 << 20;

/// The longest name in an answer.
const MAX_NAME: usize = 16 << 10;

/// The key of the column with the number of instructions.
const INSTRUCTIONS: &str = "instructions";

/// The items of a program.
#[derive(Debug, Default)]
pub(super) struct Table {
    pieces: Pieces,
    /// The columns that have cells, with their place.
    columns: Vec<(usize, ColumnHead)>,
    /// The place of the column whose cells are known when code was read, which is after those of the items.
    counted: Option<usize>,
}

/// Returns a range as responses have it.
pub(super) fn byte_range(range: &Option<Range<u64>>) -> Option<ByteRange> {
    range.as_ref().map(|range| [range.start, range.end])
}

/// Compares cells of a column.
pub(super) fn compare(one: &Cell, other: &Cell) -> Ordering {
    let number = |cell: &Cell| match cell {
        Cell::Number(number) | Cell::Size(number) | Cell::Offset(number) => Some(*number),
        Cell::Place(range) => Some(range.start),
        Cell::Empty | Cell::Text(_) | Cell::Version(_) => None,
    };
    match (one, other) {
        (Cell::Text(one), Cell::Text(other)) => natural(one, other),
        (Cell::Version(one), Cell::Version(other)) => one.cmp(other),
        _ => number(one).cmp(&number(other)).then((*one != Cell::Empty).cmp(&(*other != Cell::Empty))),
    }
}

/// Returns the mangled name of an item, if that is not the one that people read.
pub(super) fn mangled(row: &Row) -> Option<&str> {
    row.demangled.as_ref().map(|_| row.name.as_str())
}

impl Table {
    pub(super) fn new(pieces: Pieces) -> Self {
        let has_cells = |at: usize| {
            pieces.all.iter().any(|piece| piece.row.cells.get(at).is_some_and(|cell| *cell != Cell::Empty))
        };
        let columns = pieces.columns.iter().enumerate().filter(|(at, _)| has_cells(*at));
        let head = |(at, column): (usize, &crate::program::Column)| {
            let align = match column.align {
                Align::Left => "left",
                Align::Right => "right",
            };
            (at, ColumnHead { key: column.key, label: column.label, align })
        };
        let mut columns: Vec<_> = columns.map(head).collect();
        let has_code = pieces.all.iter().any(|piece| piece.panes.contains(&"assembly"));
        let is_counted = has_code && columns.iter().all(|(_, column)| column.key != INSTRUCTIONS);
        let counted = is_counted.then_some(pieces.columns.len());
        let head = ColumnHead { key: INSTRUCTIONS, label: INSTRUCTIONS, align: "right" };
        columns.extend(counted.map(|at| (at, head)));
        Self { columns, pieces, counted }
    }

    /// Returns how many items there are.
    pub(super) fn len(&self) -> u32 {
        self.pieces.all.len() as u32
    }

    /// Returns what an item is called.
    pub(super) fn noun(&self) -> &'static str {
        self.pieces.noun
    }

    /// Returns the listings of the program as a whole.
    pub(super) fn panes(&self) -> &'static [&'static str] {
        self.pieces.panes
    }

    pub(super) fn items(&self) -> &[Piece] {
        &self.pieces.all
    }

    /// Returns an item.
    pub(super) fn item(&self, item: u32) -> Answer<&Piece> {
        let no_item = || Fault::new(format!("no {} {item}", self.noun()));
        let piece = self.pieces.all.get(item as usize);
        piece.ok_or_else(|| no_item().expected(format!("less than {}", self.len())))
    }

    /// Returns the first item of the fewest bytes that hold an offset.
    pub(super) fn at(&self, offset: u64) -> Option<u32> {
        let sizes = (0..).zip(self.items()).filter_map(|(item, piece)| {
            let range = piece.row.range.as_ref().filter(|range| range.contains(&offset))?;
            Some((range.end - range.start, item))
        });
        sizes.min().map(|(_, item)| item)
    }

    /// Returns how many items there are of each kind.
    pub(super) fn kinds(&self) -> BTreeMap<String, u32> {
        let mut kinds = BTreeMap::new();
        for piece in self.items() {
            *kinds.entry(piece.row.kind.to_string()).or_insert(0) += 1;
        }
        kinds
    }

    /// Returns the columns that a filter can compare.
    pub(super) fn comparables(&self) -> Vec<Comparable> {
        let is_number = |at: usize| {
            let cells = self.items().iter().filter_map(|piece| piece.row.cells.get(at));
            let mut cells = cells.filter(|cell| **cell != Cell::Empty);
            matches!(cells.next(), Some(Cell::Number(_) | Cell::Size(_) | Cell::Offset(_) | Cell::Place(_)))
        };
        let comparable = |(at, column): &(usize, ColumnHead)| Comparable {
            key: column.key,
            label: column.label,
            at: *at,
            is_number: self.counted == Some(*at) || is_number(*at),
        };
        self.columns.iter().map(comparable).collect()
    }

    /// Returns whether cells of the items are only known when code was read.
    pub(super) fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// Returns whether a request needs code that is only read on demand.
    pub(super) fn needs_bodies(&self, request: &Rows, terms: &Terms) -> bool {
        let sorts = request.sort.as_ref().is_some_and(|sort| sort.column == INSTRUCTIONS);
        terms.callees().next().is_some()
            || self.counted.is_some_and(|counted| sorts || terms.compares(counted))
    }

    /// Returns a cell of an item.
    fn cell<'t>(&'t self, item: u32, at: usize, bodies: &Bodies) -> Cow<'t, Cell> {
        if self.counted == Some(at) {
            return Cow::Owned(Cell::number(bodies.instructions(item)));
        }
        let cell = self.row(item).and_then(|row| row.cells.get(at));
        cell.map_or(Cow::Owned(Cell::Empty), Cow::Borrowed)
    }

    /// Returns the selected items in the order of the file.
    fn selected(&self, request: &Rows, terms: &Terms, bodies: &Bodies) -> Answer<Vec<u32>> {
        let filter = &request.filter;
        let pattern = Pattern::new(&filter.text, filter.regex, false)?;
        let called: Vec<Vec<bool>> = terms.callees().map(|pattern| bodies.matching(pattern)).collect();
        let needs_bodies = self.needs_bodies(request, terms);
        let is_selected = |item: u32, row: &Row| {
            let calls = |term: usize| {
                let matching = called.get(term).map_or(&[][..], |matching| matching);
                bodies.calls(item, matching)
            };
            (filter.kinds.is_empty() || filter.kinds.iter().any(|kind| *kind == row.kind))
                && (!filter.has_source || row.has_source)
                && (pattern.finds(row.readable_name())
                    || mangled(row).is_some_and(|name| pattern.finds(name)))
                // What was not read yet is not selected, not even by its opposite.
                && (!needs_bodies || bodies.has(item))
                && terms.select(row, |at| self.cell(item, at, bodies), calls)
        };
        let items = (0..).zip(self.items()).filter(|(item, piece)| is_selected(*item, &piece.row));
        Ok(items.map(|(item, _)| item).collect())
    }

    fn row(&self, item: u32) -> Option<&Row> {
        self.items().get(item as usize).map(|piece| &piece.row)
    }

    /// Sorts items by a column.
    fn sort(&self, items: &mut [u32], sort: &Sort, bodies: &Bodies) -> Answer<()> {
        let column = self.columns.iter().find(|(_, column)| column.key == sort.column).map(|(at, _)| *at);
        if column.is_none() && !["name", "kind", "item"].contains(&sort.column.as_str()) {
            return Err(Fault::new("no such column"));
        }
        let order = |one: &u32, other: &u32| {
            let (Some(left), Some(right)) = (self.row(*one), self.row(*other)) else {
                return Ordering::Equal;
            };
            let order = match (sort.column.as_str(), column) {
                ("name", _) => natural(left.readable_name(), right.readable_name()),
                ("kind", _) => left.kind.cmp(&right.kind),
                ("item", _) => one.cmp(other),
                (_, Some(column)) => {
                    compare(&self.cell(*one, column, bodies), &self.cell(*other, column, bodies))
                }
                _ => Ordering::Equal,
            };
            if sort.descending { order.reverse() } else { order }
        };
        items.sort_by(order);
        Ok(())
    }

    fn entry(&self, item: u32, bodies: &Bodies) -> Option<RowEntry> {
        let row = self.row(item)?;
        let cell = |(at, column): &(usize, ColumnHead)| {
            let cell = self.cell(item, *at, bodies);
            let shown = match &*cell {
                Cell::Empty => return None,
                // A page has room for exact sizes.
                Cell::Size(bytes) => grouped(*bytes).into(),
                cell => cell.shown(),
            };
            Some((column.key, cut(&shown)))
        };
        Some(RowEntry {
            item,
            name: cut(row.readable_name()),
            mangled: mangled(row).map(cut),
            kind: row.kind.to_string(),
            cells: self.columns.iter().filter_map(cell).collect(),
            arguments: Vec::new(),
            range: byte_range(&row.range),
        })
    }

    /// Returns the rows that a request asks for, as far as the bodies that it [needs](Self::needs_bodies) were read.
    pub(super) fn answer(&self, request: &Rows, terms: Terms, bodies: &Bodies) -> Answer<RowsAnswer> {
        let texts = terms.texts();
        let mut items = self.selected(request, &terms, bodies)?;
        let mut fuzzy = None;
        let is_complete = !self.needs_bodies(request, &terms) || bodies.count() >= self.len() as usize;
        if items.is_empty() && is_complete {
            fuzzy = terms.fuzzy();
            if let Some(terms) = &fuzzy {
                items = self.selected(request, terms, bodies)?;
                items.sort_by_cached_key(|item| self.row(*item).map(|row| terms.spread(row)));
            }
        }
        if let Some(sort) = &request.sort {
            self.sort(&mut items, sort, bodies)?;
        }
        let families = request
            .families
            .then(|| Families::of(items.iter().filter_map(|item| Some((*item, self.row(*item)?)))));
        let ordered = families.as_ref().map_or(&items, |families| &families.order);
        let count = request.count.map_or(200, |count| count as usize).min(MAX_ROWS);
        let at = request.find.and_then(|item| ordered.iter().position(|one| *one == item));
        let from = match (request.find, at) {
            (Some(_), Some(at)) => at.saturating_sub(count / 2),
            (Some(_), None) => 0,
            (None, _) => (request.from as usize).min(ordered.len()),
        };
        let entry = |(place, item): (usize, &u32)| {
            let mut entry = self.entry(*item, bodies)?;
            if let Some(families) = &families {
                entry.arguments = families.arguments(place, self.row(*item)?);
            }
            Some(entry)
        };
        let rows = ordered.iter().enumerate().skip(from).take(count).filter_map(entry).collect();
        Ok(RowsAnswer {
            total: self.len(),
            matched: items.len() as u32,
            from: from as u32,
            at: at.map(|at| at as u32),
            columns: self.columns.iter().map(|(_, column)| *column).collect(),
            rows,
            texts,
            fuzzy: fuzzy.is_some() && !items.is_empty(),
            // The families are the same for all parts of an answer: they come with the first.
            families: families.filter(|_| from == 0).map(|families| families.all),
            pending: None,
        })
    }
}

/// Shortens a name for which an answer has no room.
pub(super) fn cut(name: &str) -> String {
    if name.len() <= MAX_NAME {
        return name.to_owned();
    }
    let mut end = MAX_NAME;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &name[..end])
}

/// A pattern to find in texts.
#[derive(Debug)]
pub(super) enum Pattern {
    /// Everything.
    Any,
    /// A text; upper and lower case are the same unless it is `exact`.
    Text { text: String, exact: bool },
    /// A regular expression. Its classes are those of ASCII.
    Expression(regex_lite::Regex),
}

impl Pattern {
    pub(super) fn new(text: &str, is_expression: bool, exact: bool) -> Answer<Self> {
        if text.is_empty() {
            return Ok(Self::Any);
        }
        if !is_expression {
            let text = if exact { text.to_owned() } else { text.to_lowercase() };
            return Ok(Self::Text { text, exact });
        }
        let expression = RegexBuilder::new(text).case_insensitive(!exact).size_limit(MAX_EXPRESSION).build();
        expression.map(Self::Expression).map_err(|error| {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default();
            Fault::new(format!("the regular expression: {}", reason.trim_start_matches("error: ")))
        })
    }

    /// Returns the first match: start and end in bytes.
    pub(super) fn find(&self, within: &str) -> Option<(usize, usize)> {
        match self {
            Self::Any => Some((0, 0)),
            Self::Text { text, exact: true } => within.find(text.as_str()).map(|at| (at, at + text.len())),
            Self::Text { text, exact: false } if within.is_ascii() => {
                let at = find_ascii(within.as_bytes(), text.as_bytes())?;
                Some((at, at + text.len()))
            }
            // Lower case may be longer or shorter than upper case: then the place is not known.
            Self::Text { text, exact: false } => {
                let small = within.to_lowercase();
                let at = small.find(text.as_str())?;
                let end = at + text.len();
                let is_place = small.len() == within.len()
                    && within.is_char_boundary(at)
                    && within.is_char_boundary(end);
                Some(if is_place { (at, end) } else { (0, 0) })
            }
            Self::Expression(expression) => expression.find(within).map(|found| (found.start(), found.end())),
        }
    }

    pub(super) fn finds(&self, within: &str) -> bool {
        self.find(within).is_some()
    }
}

/// Finds a lower-case text in a text of any case.
fn find_ascii(within: &[u8], small: &[u8]) -> Option<usize> {
    let (first, rest) = small.split_first()?;
    let last = within.len().checked_sub(small.len())?;
    let mut at = 0;
    while at <= last {
        let found = memchr::memchr2(*first, first.to_ascii_uppercase(), within.get(at..=last)?)?;
        at += found;
        if within.get(at + 1..at + small.len()).is_some_and(|text| text.eq_ignore_ascii_case(rest)) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_any_size() {
        let pattern = Pattern::new("SofT", false, false).unwrap();
        assert_eq!(pattern.find("block_SOFTmax"), Some((6, 10)));
        assert_eq!(pattern.find("sof soft"), Some((4, 8)));
        assert!(!pattern.finds("sof"));
        assert!(Pattern::new("É", false, false).unwrap().finds("caf\u{e9}"));
        assert!(!Pattern::new("Soft", false, true).unwrap().finds("soft"));
        assert!(Pattern::new("^k[0-9]$", true, false).unwrap().finds("K7"));
        assert!(Pattern::new("(", true, false).is_err());
    }
}
