//! Search in embedded sources. Items that have the same sources as the item before them are passed over: a library's
//! functions share them.

use super::{Cursor, Needle, Step, match_in};
use crate::program::Piece;
use crate::query::Match;
use crate::query::listing::{source, source_panes};
use crate::query::rows::Table;
use crate::query::session::{Parsed, Session};

impl Session {
    /// Searches the sources of items from the cursor to `end`. Returns whether all were searched.
    pub(super) fn search_sources(&mut self, step: &mut Step<'_>, cursor: &mut Cursor, end: u64) -> bool {
        let (Ok(table), clock) = (self.table(cursor.program), self.clock) else { return true };
        let Ok(parsed) = self.parsed(cursor.program) else { return true };
        let mut last = cursor.at.checked_sub(1).and_then(|at| panes(&parsed, &table, at));
        while cursor.at < end {
            let all = panes(&parsed, &table, cursor.at);
            if all != last
                && let Some(all) = &all
                && !search_item(step, cursor, &parsed, &table, all)
            {
                return false;
            }
            last = all;
            (cursor.at, cursor.line) = (cursor.at + 1, 0);
            if step.is_over(clock()) && cursor.at < end {
                return false;
            }
        }
        true
    }
}

fn piece(table: &Table, at: u64) -> Option<(u32, &Piece)> {
    let item = u32::try_from(at).ok()?;
    Some((item, table.item(item).ok()?))
}

/// Returns the names of an item's sources, if it has any.
fn panes(parsed: &Parsed<'_>, table: &Table, at: u64) -> Option<Vec<String>> {
    let (_, piece) = piece(table, at)?;
    piece.row.has_source.then(|| source_panes(parsed, Some(piece)))
}

/// Searches the sources of an item from the cursor's line on, counted over all of them. Returns whether there is room for
/// more matches.
fn search_item(
    step: &mut Step<'_>,
    cursor: &mut Cursor,
    parsed: &Parsed<'_>,
    table: &Table,
    panes: &[String],
) -> bool {
    let Some((item, piece)) = piece(table, cursor.at) else { return true };
    let (from, mut count) = (cursor.line, 0u32);
    for pane in panes {
        let Some(name) = pane.strip_prefix("source:") else { continue };
        let Ok(file) = source(parsed, Some(piece), name) else { continue };
        let text = String::from_utf8_lossy(&file.data);
        let lines: Vec<&str> = text.lines().collect();
        for (line, text) in (0..).zip(&lines) {
            count = count.saturating_add(1);
            if count <= from {
                continue;
            }
            if step.answer.matches.len() >= step.limit {
                cursor.line = count - 1;
                return false;
            }
            let Needle::Text(pattern) = &step.needle else { return true };
            let Some(found) = match_in(pattern, line, text) else { continue };
            let around = |line: usize| lines.get(line).map(|text| (*text).to_owned());
            let found = Match {
                program: cursor.program,
                item: Some(item),
                pane: Some(pane.clone()),
                ..found.with_context(step.context, &around)
            };
            step.push(item, &piece.row, found);
        }
    }
    true
}
