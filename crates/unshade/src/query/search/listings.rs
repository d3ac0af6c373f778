//! Search in listings, on all threads.
//!
//! Items are searched in blocks: the bytes of a block are read, the program is parsed once, and threads take item after
//! item, in order. The listing of an item is printed as plain text first, which takes a third of the time of tokens; only if
//! a line matches is it printed again with its ranges. A thread takes no further item when the step's time is over or there
//! are enough matches, so that those that were taken are the first ones of the block: put in order, what threads found is
//! what one thread would have found.

use super::screen::Screen;
use super::{Cursor, Needle, Step, match_in};
use crate::program::{InOrder, Piece, Runner};
use crate::query::listing::{PlainText, print, print_text};
use crate::query::recorder::Lines;
use crate::query::rows::{Pattern, Table};
use crate::query::session::{Clock, Parsed, Session};
use crate::query::{Answer, Fault, Match};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The maximum number of items whose bytes are read together.
const BLOCK: u64 = 256;

/// The distance of bytes that are read together.
const GAP: u64 = 64 << 10;

/// The listings that can be searched; of an item, the first that it has is searched by default.
const SEARCHABLE: [&str; 3] = ["assembly", "ptx", "raw"];

/// The threads of a session.
#[derive(Clone, Copy)]
pub(in crate::query) struct Threads {
    pub(in crate::query) runner: &'static dyn Runner,
    pub(in crate::query) count: usize,
}

impl Default for Threads {
    fn default() -> Self {
        Self { runner: &InOrder, count: 1 }
    }
}

impl Session {
    /// Searches the listings of items from the cursor to `end`. Returns whether all were searched.
    pub(super) fn search_listings(
        &mut self,
        step: &mut Step<'_>,
        cursor: &mut Cursor,
        end: u64,
    ) -> Answer<bool> {
        let pane = step.request.pane.as_deref();
        if let Some(pane) = pane.filter(|pane| !SEARCHABLE.contains(pane)) {
            let pane = unshade_core::Escaped(pane.as_bytes());
            return Err(Fault::new(format!("the listing \"{pane}\" can't be searched"))
                .expected(SEARCHABLE.join(", ")));
        }
        let Ok(table) = self.table(cursor.program) else { return Ok(true) };
        let search = &step.request;
        let screen = Screen::new(&search.text, search.regex, search.case);
        let (threads, clock) = (self.threads, self.clock);
        while cursor.at < end {
            let block_end = if self.is_partial() { cursor.at.saturating_add(BLOCK).min(end) } else { end };
            self.ensure_items(&table, cursor.at..block_end)?;
            let Ok(parsed) = self.parsed(cursor.program) else { return Ok(true) };
            let Needle::Text(pattern) = &step.needle else { return Ok(true) };
            let block = Block {
                parsed: &parsed,
                table: &table,
                program: cursor.program,
                pane,
                pattern,
                screen: &screen,
                context: step.context,
                first: cursor.at,
                first_line: cursor.line,
                end: block_end,
                wanted: step.limit.saturating_sub(step.answer.matches.len()),
                deadline: step.deadline,
                clock,
                next: AtomicU64::new(cursor.at),
                count: AtomicUsize::new(0),
            };
            let (found, searched_to) = block.search(threads);
            if !step.take(cursor, &table, found) {
                return Ok(false);
            }
            (cursor.at, cursor.line) = (searched_to, 0);
            if step.is_over(clock()) && cursor.at < end {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the modules of items, neighbours together.
    fn ensure_items(&mut self, table: &Table, items: Range<u64>) -> Answer<()> {
        if !self.is_partial() {
            return Ok(());
        }
        let ranges = items.filter_map(|item| table.item(u32::try_from(item).ok()?).ok()?.row.range.clone());
        let mut ranges: Vec<Range<u64>> = ranges.collect();
        ranges.sort_by_key(|range| range.start);
        let mut ranges = ranges.into_iter();
        let Some(mut together) = ranges.next() else { return Ok(()) };
        for range in ranges {
            if range.start <= together.end.saturating_add(GAP) {
                together.end = together.end.max(range.end);
            } else {
                self.ensure(std::mem::replace(&mut together, range))?;
            }
        }
        self.ensure(together)
    }
}

impl Step<'_> {
    /// Takes matches of items, in order. Returns whether there was room for all; otherwise the cursor is at the first that
    /// there was none for.
    fn take(&mut self, cursor: &mut Cursor, table: &Table, found: Vec<(u64, Vec<Match>)>) -> bool {
        for (at, matches) in found {
            let item = u32::try_from(at).ok().and_then(|item| Some((item, table.item(item).ok()?)));
            let Some((item, piece)) = item else { continue };
            for one in matches {
                if self.answer.matches.len() >= self.limit {
                    (cursor.at, cursor.line) = (at, one.line.unwrap_or_default());
                    return false;
                }
                self.push(item, &piece.row, one);
            }
        }
        true
    }
}

/// Items that are searched together.
struct Block<'b> {
    parsed: &'b Parsed<'b>,
    table: &'b Table,
    program: u32,
    pane: Option<&'b str>,
    pattern: &'b Pattern,
    screen: &'b Screen,
    context: usize,
    first: u64,
    /// The line of the first item to begin at.
    first_line: u32,
    end: u64,
    /// The number of matches that there is room for.
    wanted: usize,
    deadline: f64,
    clock: Clock,
    /// The next item that no thread has taken.
    next: AtomicU64,
    /// The number of matches so far.
    count: AtomicUsize,
}

impl Block<'_> {
    /// Returns the items that have matches, in order, and the end of those that were searched.
    fn search(&self, threads: Threads) -> (Vec<(u64, Vec<Match>)>, u64) {
        let all = Mutex::new(Vec::new());
        threads.runner.run("searching", threads.count, &|_| {
            let found = self.search_some();
            all.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        });
        let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.sort_by_key(|(item, _)| *item);
        (all, self.next.load(Ordering::Relaxed).min(self.end))
    }

    /// Searches one item after the other, as long as there are any and the step is not over.
    fn search_some(&self) -> Vec<(u64, Vec<Match>)> {
        let mut found = Vec::new();
        let mut text = PlainText::default();
        // The first item is searched whatever the time, so that every step gets further.
        while self.next.load(Ordering::Relaxed) == self.first || !self.is_over() {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            if at >= self.end {
                break;
            }
            let matches = self.search_item(at, &mut text);
            if !matches.is_empty() {
                self.count.fetch_add(matches.len(), Ordering::Relaxed);
                found.push((at, matches));
            }
        }
        found
    }

    fn is_over(&self) -> bool {
        self.count.load(Ordering::Relaxed) >= self.wanted || (self.clock)() >= self.deadline
    }

    /// Returns the matches in an item: all, or one more than there is room for.
    fn search_item(&self, at: u64, text: &mut PlainText) -> Vec<Match> {
        let item = u32::try_from(at).ok().and_then(|item| Some((item, self.table.item(item).ok()?)));
        let Some((item, piece)) = item else { return Vec::new() };
        // An item without such a listing has no matches.
        let Some(pane) = self.pane_of(piece) else { return Vec::new() };
        text.clear();
        if print_text(self.parsed, Some(piece), pane, text).is_err()
            || !self.screen.may_match(text.as_str(), self.pattern)
        {
            return Vec::new();
        }
        let Ok(printed) = print(self.parsed, self.table, Some(piece), pane) else { return Vec::new() };
        let from = if at == self.first { self.first_line } else { 0 };
        let mut matches = self.search_lines(&printed.lines, from);
        for one in &mut matches {
            (one.program, one.item, one.pane) = (self.program, Some(item), Some(pane.to_owned()));
        }
        matches
    }

    fn pane_of(&self, piece: &Piece) -> Option<&'static str> {
        let is_wanted = |pane: &&&str| self.pane.is_none_or(|wanted| wanted == **pane);
        let mut panes = SEARCHABLE.iter().filter(is_wanted).copied();
        panes.find(|pane| piece.panes.contains(pane))
    }

    fn search_lines(&self, lines: &Lines, from: u32) -> Vec<Match> {
        let mut matches = Vec::new();
        lines.each_text(|line, text| {
            let line = line as u32;
            if line >= from
                && matches.len() <= self.wanted
                && let Some(found) = match_in(self.pattern, line, text)
            {
                let range = lines.range(line as usize);
                let around = |line: usize| (line < lines.len()).then(|| lines.text_of(line));
                matches.push(Match { range, ..found.with_context(self.context, &around) });
            }
        });
        matches
    }
}
