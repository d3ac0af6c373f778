//! Facts and tables for people, without a layout. The terminal and the Explorer's page lay out the same ones.

use crate::quantity::{push_grouped, size};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use unshade_core::{Token, TokenKind, TokenSink};

/// The state of a value, which decides its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// No judgement.
    #[default]
    Plain,
    /// The value is correct.
    Good,
    /// The value is wrong.
    Bad,
}

/// A note after a fact's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A verdict on the value.
    Verdict(State, String),
    /// A command that shows more: a verb, and the arguments after the file.
    Command(&'static str, &'static str),
}

/// A fact: a label and a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// The name of the value.
    pub label: Cow<'static, str>,
    /// The value; empty if there is only a note.
    pub value: String,
    /// The state of the value.
    pub state: State,
    /// The bytes of the file that the value is read from.
    pub range: Option<Range<u64>>,
    /// The note after the value.
    pub note: Option<Note>,
}

impl Fact {
    /// Creates a fact.
    pub fn new(label: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Self {
        Self { label: label.into(), value: value.into(), ..Self::default() }
    }

    /// Returns a fact that names a command with details.
    pub fn command(label: &'static str, verb: &'static str, arguments: &'static str) -> Self {
        Self { note: Some(Note::Command(verb, arguments)), ..Self::new(label, "") }
    }

    /// Marks the value as wrong.
    #[must_use]
    pub fn bad(self) -> Self {
        Self { state: State::Bad, ..self }
    }

    /// Adds a verdict.
    #[must_use]
    pub fn verdict(self, state: State, text: impl Into<String>) -> Self {
        Self { note: Some(Note::Verdict(state, text.into())), ..self }
    }

    /// Sets the bytes that the value is read from.
    #[must_use]
    pub fn at(self, start: u64, size: u64) -> Self {
        Self { range: Some(start..start.saturating_add(size)), ..self }
    }
}

/// Facts under a heading: first the description of a program in its platform's terms, then its most important facts.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The heading after the program's path.
    pub heading: String,
    /// The facts.
    pub facts: Vec<Fact>,
}

/// All facts of an item: declaration, facts, tables.
#[derive(Clone, Debug, Default)]
pub struct Card {
    /// The declaration, as tokens: kind and text.
    pub declaration: Vec<(TokenKind, String)>,
    /// The facts.
    pub facts: Vec<Fact>,
    /// Tables that belong to the item.
    pub tables: Vec<Table>,
}

/// Collects the tokens of a declaration.
impl TokenSink for Card {
    fn token(&mut self, token: Token<'_>) {
        self.declaration.push((token.kind, token.text.to_owned()));
    }

    fn mark(&self) -> usize {
        self.declaration.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.declaration.truncate(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = Self::default();
        write(&mut part);
        let mark = mark.min(self.declaration.len());
        self.declaration.splice(mark..mark, part.declaration);
    }
}

/// The alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left, for text.
    Left,
    /// Right, for numbers.
    Right,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's key, for sorting.
    pub key: &'static str,
    /// The heading.
    pub label: &'static str,
    /// The alignment of its cells.
    pub align: Align,
}

impl Column {
    /// Creates a column of text.
    pub const fn left(key: &'static str, label: &'static str) -> Self {
        Self { key, label, align: Align::Left }
    }

    /// Creates a column of numbers.
    pub const fn right(key: &'static str, label: &'static str) -> Self {
        Self { key, label, align: Align::Right }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cell {
    /// No value.
    #[default]
    Empty,
    /// Text.
    Text(Cow<'static, str>),
    /// A version of two numbers.
    Version([u16; 2]),
    /// A number.
    Number(u64),
    /// A number of bytes.
    Size(u64),
    /// An offset in the file.
    Offset(u64),
    /// A range of bytes in the file, shown as its offset.
    Place(Range<u64>),
}

impl Cell {
    /// Creates a cell of text, or an empty one.
    pub fn text(text: impl Into<Option<String>>) -> Self {
        text.into().filter(|text| !text.is_empty()).map_or(Self::Empty, |text| Self::Text(text.into()))
    }

    /// Creates a cell with a number, or an empty one.
    pub fn number(number: Option<impl Into<u64>>) -> Self {
        number.map_or(Self::Empty, |number| Self::Number(number.into()))
    }

    /// Creates a cell with a size, or an empty one.
    pub fn size(size: Option<u64>) -> Self {
        size.map_or(Self::Empty, Self::Size)
    }

    /// Creates a cell with an offset, or an empty one.
    pub fn offset(offset: Option<u64>) -> Self {
        offset.map_or(Self::Empty, Self::Offset)
    }

    /// Returns the cell as text; an empty cell is a dash.
    pub fn shown(&self) -> Cow<'_, str> {
        if let Self::Text(text) = self {
            return Cow::Borrowed(text);
        }
        let mut text = String::new();
        self.push_to(&mut text);
        text.into()
    }

    /// Appends the cell as [`shown`](Self::shown) returns it.
    pub fn push_to(&self, to: &mut String) {
        // Writing to a String does not fail.
        let _ = match self {
            Self::Empty => to.write_str("–"),
            Self::Text(text) => to.write_str(text),
            Self::Version([major, minor]) => write!(to, "{major}.{minor}"),
            Self::Number(number) => {
                push_grouped(*number, to);
                Ok(())
            }
            Self::Size(bytes) => to.write_str(&size(*bytes)),
            Self::Offset(offset) => write!(to, "{offset:#x}"),
            Self::Place(range) => write!(to, "{:#x}", range.start),
        };
    }
}

/// An item of a program.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The index, which `#index` selects.
    pub index: u32,
    /// The name as stored in the file, escaped.
    pub name: String,
    /// Its demangled name, if the name is mangled.
    pub demangled: Option<String>,
    /// The declaration, which lists print instead of the name.
    pub declaration: Option<String>,
    /// The kind of item.
    pub kind: Cow<'static, str>,
    /// Whether the source is embedded.
    pub has_source: bool,
    /// The bytes of its code, if the file has them uncompressed.
    pub range: Option<Range<u64>>,
    /// One cell per column.
    pub cells: Vec<Cell>,
}

impl Row {
    /// Returns the display name: demangled if it is mangled.
    pub fn readable_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }

    /// Returns the text that a list prints as the name.
    pub fn listed_name(&self) -> &str {
        self.declaration.as_deref().unwrap_or_else(|| self.readable_name())
    }
}

/// A group of a program's items.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The slice of a universal file; empty if there is none.
    pub slice: String,
    /// The columns of the items' cells, without index, kind and name.
    pub columns: &'static [Column],
    /// The items.
    pub rows: Vec<Row>,
}

/// A table beside the items: resources, parameters, sections.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The title.
    pub title: String,
    /// The columns.
    pub columns: &'static [Column],
    /// One cell per column in each row.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Returns a table, or [`None`] if it has no rows.
    pub fn of<T>(
        title: impl Into<String>,
        columns: &'static [Column],
        items: &[T],
        row: impl Fn(&T) -> Vec<Cell>,
    ) -> Option<Self> {
        let rows: Vec<_> = items.iter().map(row).collect();
        (!rows.is_empty()).then(|| Self { title: title.into(), columns, rows })
    }
}
