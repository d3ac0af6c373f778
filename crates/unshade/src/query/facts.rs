//! What is known of a program, or of one of its items: the program's own sections, cards and tables, in the shapes of
//! responses.

use super::listing::panes;
use super::recorder::lines_of;
use super::response::findings;
use super::rows::byte_range;
use super::session::{Parsed, Session};
use super::*;
use crate::carve::Condition;
use crate::program::{self, Cell, Note, State};
use crate::quantity::{bytes, counted};
use unshade_core::{Diagnostics, TokenSink};

/// The maximum number of rows of a table.
const MAX_TABLE: usize = 1_000;

/// The longest text of a fact.
const MAX_VALUE: usize = 16 << 10;

fn clipped(mut value: String) -> String {
    if value.len() > MAX_VALUE {
        let mut end = MAX_VALUE;
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        value.truncate(end);
        value.push('…');
    }
    value
}

/// Returns a value without the spaces that align it with others in a terminal.
fn unpadded(value: &str) -> String {
    let words: Vec<&str> = value.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect();
    words.join("  ")
}

/// Returns a fact with its verdict. One that only names a command says nothing on a page.
fn fact(fact: program::Fact) -> Option<Fact> {
    let (state, verdict) = match fact.note {
        Some(Note::Verdict(state, text)) => (state, text),
        _ => (fact.state, String::new()),
    };
    let both = !fact.value.is_empty() && !verdict.is_empty();
    let value = format!("{}{}{verdict}", fact.value, if both { ", " } else { "" });
    (!value.is_empty()).then(|| Fact {
        label: fact.label.into_owned(),
        value: clipped(unpadded(&value)),
        range: byte_range(&fact.range),
        state: match state {
            State::Plain => None,
            State::Good => Some("good"),
            State::Bad => Some("bad"),
        },
    })
}

fn card(title: impl Into<String>, facts: Vec<program::Fact>) -> Card {
    Card { title: title.into(), rows: facts.into_iter().filter_map(fact).collect() }
}

fn table(table: program::Table) -> Table {
    let more = table.rows.len().saturating_sub(MAX_TABLE) as u64;
    let row = |cells: Vec<Cell>| TableRow {
        range: cells.iter().find_map(|cell| match cell {
            Cell::Place(range) => Some([range.start, range.end]),
            _ => None,
        }),
        cells: cells
            .iter()
            .map(|cell| if *cell == Cell::Empty { String::new() } else { clipped(cell.shown().into_owned()) })
            .collect(),
    };
    Table {
        title: table.title,
        columns: table.columns.iter().map(|column| column.label).collect(),
        rows: table.rows.into_iter().take(MAX_TABLE).map(row).collect(),
        more,
    }
}

/// Returns the same without groups: what each part of the program is, and its facts.
pub(super) fn in_one_list(cards: Vec<Card>) -> Vec<Fact> {
    let flat = |card: Card| {
        let heading = Fact { label: "program".to_owned(), value: card.title, ..Fact::default() };
        std::iter::once(heading).chain(card.rows)
    };
    cards.into_iter().flat_map(flat).collect()
}

/// Returns what people look for first in a program.
pub(super) fn of_program(parsed: &Parsed<'_>) -> Vec<Card> {
    let sections = parsed.program.sections(&mut Diagnostics::new());
    let mut cards: Vec<Card> =
        sections.into_iter().map(|section| card(section.heading, section.facts)).collect();
    let fault = match parsed.condition {
        Condition::Whole => None,
        Condition::Truncated { stated } => {
            let size = bytes(parsed.data.len() as u64);
            Some(program::Fact::new("size", format!("{size} of {}", bytes(stated))))
        }
        Condition::Damaged => {
            let text = "begins like a program, but what follows can't be one";
            Some(program::Fact::new("condition", text))
        }
    };
    if let (Some(fault), Some(first)) = (fault, cards.first_mut()) {
        first.rows.splice(0..0, fact(fault.bad()));
    }
    cards
}

impl Session {
    pub(super) fn facts(&mut self, place: &Place) -> Answer<FactsAnswer> {
        let Some(item) = place.item else { return self.facts_of_program(place.program) };
        self.ensure_item(place.program, item)?;
        let table_of_items = self.table(place.program)?;
        let item = table_of_items.item(item)?;
        let parsed = self.parsed(place.program)?;
        let mut diagnostics = Diagnostics::new();
        let described = parsed.program.card(item, &mut diagnostics)?;
        Ok(FactsAnswer {
            title: rows::cut(item.row.readable_name()),
            subtitle: item.row.kind.to_string(),
            declaration: lines_of(|recorder| {
                described.declaration.iter().for_each(|(kind, text)| recorder.put(*kind, text));
            }),
            cards: vec![card(item.row.kind.to_string(), described.facts)],
            tables: described.tables.into_iter().map(table).collect(),
            panes: panes(&parsed, &table_of_items, Some(item)),
            extracts: extract::of_item(item),
            runs: run::runs(&parsed, Some(item)),
            range: byte_range(&item.row.range),
            findings: findings(&diagnostics),
        })
    }

    fn facts_of_program(&mut self, program: u32) -> Answer<FactsAnswer> {
        let items = self.table(program)?;
        let parsed = self.parsed(program)?;
        let mut diagnostics = Diagnostics::new();
        let tables = parsed.program.tables(&mut diagnostics);
        Ok(FactsAnswer {
            title: parsed.short_name().to_owned(),
            subtitle: format!(
                "{}, {}, {}",
                parsed.format_name(),
                counted(items.len().into(), items.noun()),
                bytes(parsed.data.len() as u64)
            ),
            cards: of_program(&parsed),
            tables: tables.into_iter().map(table).collect(),
            panes: panes(&parsed, &items, None),
            extracts: extract::of_program(&parsed, &items),
            runs: run::runs(&parsed, None),
            range: Some(parsed.space()),
            findings: findings(&diagnostics),
            ..FactsAnswer::default()
        })
    }
}
