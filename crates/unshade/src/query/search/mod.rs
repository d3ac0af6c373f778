//! Search in names, listings, sources and bytes, in steps.
//!
//! A step ends after its time or its number of matches; the cursor in its answer says where the next begins. A request
//! may name a span, so that several workers search parts of a file at a time: the matches of consecutive spans are those
//! of the whole. Which matches are found, and their order, depends neither on spans nor on time or threads.
//!
//! | module | what it searches |
//! |---|---|
//! | `listings` | listings, on all threads |
//! | `screen` | a text as a whole, before its lines |
//! | `sources` | embedded sources |
//! | `bytes` | bytes |

mod bytes;
mod listings;
mod screen;
mod sources;

use super::rows::{Pattern, byte_range, mangled};
use super::session::Session;
use super::*;
use crate::program::Row;
use crate::quantity::utf16_length;
use bytes::byte_pattern;
pub(super) use listings::Threads;

/// The default number of matches that end a step.
const LIMIT: usize = 200;

/// The maximum number of matches of a step.
const MAX_LIMIT: usize = 1_000;

/// The maximum number of lines before and after a match.
const MAX_CONTEXT: usize = 5;

/// The maximum length of a line in a match.
const MAX_TEXT: usize = 400;

/// Where a search continues: the program, the item or offset, and the line in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cursor {
    program: u32,
    at: u64,
    line: u32,
    /// The number of items or bytes in the programs before this one.
    before: u64,
}

impl Cursor {
    fn parse(text: &str) -> Answer<Self> {
        let mut numbers = text.split('.').map(str::parse::<u64>);
        let mut next =
            || numbers.next().and_then(Result::ok).ok_or_else(|| Fault::new("no cursor of a search"));
        let (program, at, line, before) = (next()?, next()?, next()?, next()?);
        Ok(Self { program: program as u32, at, line: line as u32, before })
    }

    fn write(self) -> String {
        format!("{}.{}.{}.{}", self.program, self.at, self.line, self.before)
    }

    /// Returns the place of an item or byte that is counted over programs with these numbers of items or bytes.
    fn seek(first_program: u32, extents: &[u64], position: u64) -> Self {
        let mut cursor = Self { program: first_program, ..Self::default() };
        for extent in extents {
            if position - cursor.before < *extent {
                break;
            }
            cursor = cursor.after(*extent);
        }
        cursor.at = position.saturating_sub(cursor.before);
        cursor
    }

    /// Returns the beginning of the next program, if this one has so many items or bytes.
    fn after(self, extent: u64) -> Self {
        let before = self.before.saturating_add(extent);
        Self { program: self.program.saturating_add(1), before, ..Self::default() }
    }

    /// Returns how many items or bytes there are before it.
    fn position(self) -> u64 {
        self.before.saturating_add(self.at)
    }
}

/// The pattern of a search.
enum Needle {
    Text(Pattern),
    Bytes(Vec<Option<u8>>),
}

/// A step of a search.
struct Step<'r> {
    request: &'r Search,
    needle: Needle,
    deadline: f64,
    limit: usize,
    /// The number of lines before and after a match.
    context: usize,
    answer: SearchAnswer,
}

impl Session {
    pub(super) fn search(&mut self, request: &Search) -> Answer<SearchAnswer> {
        if request.text.is_empty() {
            return Err(Fault::new("there is nothing to look for"));
        }
        let needle = match request.scope {
            Scope::Bytes => Needle::Bytes(byte_pattern(&request.text)?),
            _ => Needle::Text(Pattern::new(&request.text, request.regex, request.case)?),
        };
        let mut step = Step {
            request,
            needle,
            deadline: self.deadline(request.budget_ms),
            limit: request.limit.map_or(LIMIT, |limit| limit as usize).clamp(1, MAX_LIMIT),
            context: (request.context as usize).min(MAX_CONTEXT),
            answer: SearchAnswer::default(),
        };
        let programs = match request.program {
            Some(program) => program..program.saturating_add(1).min(self.program_count()?),
            None => 0..self.program_count()?,
        };
        let extents: Vec<u64> = programs.clone().map(|program| self.extent(program, request.scope)).collect();
        let all = extents.iter().fold(0u64, |all, extent| all.saturating_add(*extent));
        let [start, end] = request.span.unwrap_or([0, all]);
        let (start, end) = (start.min(all), end.min(all));
        let mut cursor = match request.cursor.as_deref() {
            Some(cursor) => Cursor::parse(cursor)?,
            None => Cursor::seek(programs.start, &extents, start),
        };
        cursor.program = cursor.program.max(programs.start);
        step.answer.total = end.saturating_sub(start);
        while let Some(extent) = extents.get((cursor.program - programs.start) as usize)
            && cursor.position() < end
        {
            let stop = (*extent).min(end.saturating_sub(cursor.before));
            let is_done = match request.scope {
                Scope::Names => self.search_names(&mut step, &mut cursor, stop),
                Scope::Listings => self.search_listings(&mut step, &mut cursor, stop)?,
                Scope::Sources => self.search_sources(&mut step, &mut cursor, stop),
                Scope::Bytes => self.search_bytes(&mut step, &mut cursor, stop)?,
            };
            if !is_done {
                step.answer.searched = cursor.position().saturating_sub(start).min(step.answer.total);
                step.answer.cursor = Some(cursor.write());
                return Ok(step.answer);
            }
            cursor = cursor.after(*extent);
        }
        step.answer.searched = step.answer.total;
        Ok(step.answer)
    }

    /// How much there is to search in a program.
    fn extent(&mut self, program: u32, scope: Scope) -> u64 {
        match scope {
            Scope::Bytes => self.space_of(program).map_or(0, |(data, _)| data.len() as u64),
            // A program that can't be read has nothing to search.
            _ => self.table(program).map_or(0, |table| table.len().into()),
        }
    }

    /// Searches the names of items from the cursor to `end`. Returns whether all were searched.
    fn search_names(&mut self, step: &mut Step<'_>, cursor: &mut Cursor, end: u64) -> bool {
        let Ok(table) = self.table(cursor.program) else { return true };
        while cursor.at < end {
            if let Some((item, piece)) =
                u32::try_from(cursor.at).ok().and_then(|item| Some((item, table.item(item).ok()?)))
            {
                step.name(cursor.program, item, &piece.row);
            }
            cursor.at += 1;
            if step.is_over((self.clock)()) && cursor.at < end {
                return false;
            }
        }
        true
    }
}

impl Step<'_> {
    fn is_over(&self, now: f64) -> bool {
        now >= self.deadline || self.answer.matches.len() >= self.limit
    }

    fn name(&mut self, program: u32, item: u32, row: &Row) {
        let Needle::Text(pattern) = &self.needle else { return };
        if pattern.finds(row.readable_name()) || mangled(row).is_some_and(|name| pattern.finds(name)) {
            self.answer.matches.push(Match {
                program,
                item: Some(item),
                text: clipped(row.readable_name(), 0).0,
                range: byte_range(&row.range),
                ..Match::default()
            });
        }
    }

    /// Adds a match of an item, and the item if it is its first.
    fn push(&mut self, item: u32, row: &Row, found: Match) {
        let program = found.program;
        if self.answer.items.last().is_none_or(|last| (last.program, last.item) != (program, item)) {
            let name = clipped(row.readable_name(), 0).0;
            self.answer.items.push(FoundItem { program, item, name, kind: row.kind.to_string() });
        }
        self.answer.matches.push(found);
    }
}

/// Returns a match in a line, if there is one. The first of a line counts.
fn match_in(pattern: &Pattern, line: u32, text: &str) -> Option<Match> {
    let (start, end) = pattern.find(text)?;
    let (shown, at) = clipped(text, start);
    let column = utf16_length(text.get(..start).unwrap_or_default());
    Some(Match {
        line: Some(line),
        column: Some(column),
        length: Some(utf16_length(text.get(start..end).unwrap_or_default())),
        at: (at != column).then_some(at),
        text: shown,
        ..Match::default()
    })
}

impl Match {
    /// Adds the lines before and after the match. `text_of` returns a line, if there is one of this number.
    fn with_context(mut self, count: usize, text_of: &dyn Fn(usize) -> Option<String>) -> Self {
        let line = self.line.unwrap_or_default() as usize;
        let shown = |line: usize| text_of(line).map(|text| clipped(&text, 0).0);
        self.before = (line.saturating_sub(count)..line).filter_map(shown).collect();
        self.after = (line + 1..=line.saturating_add(count)).filter_map(shown).collect();
        self
    }
}

/// Returns a line that is not too long to be shown, around a place, and that place in it in UTF-16 units.
fn clipped(text: &str, around: usize) -> (String, u32) {
    let shown = |part: &str| unshade_core::Escaped(part.replace('\t', "    ").as_bytes()).to_string();
    let mut start = if text.len() <= MAX_TEXT { 0 } else { around.saturating_sub(MAX_TEXT / 4) };
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = start.saturating_add(MAX_TEXT).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
    let at = utf16_length(before)
        .saturating_add(utf16_length(&shown(text.get(start..around).unwrap_or_default())));
    (format!("{before}{}{after}", shown(text.get(start..end).unwrap_or_default())), at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back() {
        let cursor = Cursor { program: 3, at: 17_000, line: 12, before: 99 };
        assert_eq!(Cursor::parse(&cursor.write()).unwrap(), cursor);
        assert!(Cursor::parse("1.2").is_err() && Cursor::parse("").is_err());
    }

    #[test]
    fn positions_are_counted_over_programs() {
        let at = |position| {
            let cursor = Cursor::seek(2, &[3, 0, 4], position);
            (cursor.program, cursor.at, cursor.before)
        };
        assert_eq!(
            [at(0), at(2), at(3), at(6), at(7)],
            [(2, 0, 0), (2, 2, 0), (4, 0, 3), (4, 3, 3), (5, 0, 7)]
        );
    }

    #[test]
    fn long_lines_are_shown_around_the_match() {
        let line = format!("{}\té needle{}", "x".repeat(500), "y".repeat(500));
        let start = line.find("needle").unwrap();
        let (shown, at) = clipped(&line, start);
        let after: Vec<u16> = shown.encode_utf16().skip(at as usize).take(6).collect();
        assert_eq!(String::from_utf16(&after).unwrap(), "needle");
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.len() < MAX_TEXT + 20);
        assert_eq!(clipped("short", 2), ("short".to_owned(), 2));
    }
}
