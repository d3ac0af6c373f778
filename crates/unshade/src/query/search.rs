//! Search in names, listings, sources and bytes, in steps.
//!
//! A step ends after its time or its number of matches; the cursor in its answer says where the next begins. Listings are
//! searched item by item and are not kept, so that a search through thousands of them takes no more memory than one.

use super::listing::{print, source, source_panes};
use super::recorder::Printed;
use super::rows::{Pattern, byte_range, mangled};
use super::session::Session;
use super::*;
use crate::program::{Piece, Row};
use crate::quantity::utf16_length;

/// The default time of a step in milliseconds.
const BUDGET: f64 = 100.0;

/// The maximum time of a step in milliseconds.
const MAX_BUDGET: f64 = 1_000.0;

/// The default number of matches that end a step.
const LIMIT: usize = 200;

/// The maximum number of matches of a step.
const MAX_LIMIT: usize = 1_000;

/// How many bytes are searched between looks at the clock.
const CHUNK: u64 = 8 << 20;

/// The maximum length of a pattern of bytes.
const MAX_BYTES: usize = 4_096;

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
        let budget = request.budget_ms.map_or(BUDGET, f64::from).min(MAX_BUDGET);
        let mut step = Step {
            request,
            needle,
            deadline: (self.clock)() + budget,
            limit: request.limit.map_or(LIMIT, |limit| limit as usize).clamp(1, MAX_LIMIT),
            answer: SearchAnswer::default(),
        };
        let programs = match request.program {
            Some(program) => program..program.saturating_add(1).min(self.program_count()?),
            None => 0..self.program_count()?,
        };
        let start = Cursor { program: programs.start, ..Cursor::default() };
        let mut cursor = request.cursor.as_deref().map_or(Ok(start), Cursor::parse)?;
        cursor.program = cursor.program.max(programs.start);
        for program in programs.clone() {
            step.answer.total = step.answer.total.saturating_add(self.extent(program, request.scope));
        }
        while cursor.program < programs.end {
            let is_done = match request.scope {
                Scope::Bytes => self.search_bytes(&mut step, &mut cursor)?,
                _ => self.search_items(&mut step, &mut cursor),
            };
            if !is_done {
                step.answer.searched = cursor.before.saturating_add(cursor.at);
                step.answer.cursor = Some(cursor.write());
                return Ok(step.answer);
            }
            let before = cursor.before.saturating_add(self.extent(cursor.program, request.scope));
            cursor = Cursor { program: cursor.program + 1, before, ..Cursor::default() };
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

    /// Searches items from the cursor on. Returns whether the program was searched to its end.
    fn search_items(&mut self, step: &mut Step<'_>, cursor: &mut Cursor) -> bool {
        let Ok(table) = self.table(cursor.program) else { return true };
        let mut last_archive = None;
        while let Some((item, piece)) =
            u32::try_from(cursor.at).ok().and_then(|item| Some((item, table.item(item).ok()?)))
        {
            match step.request.scope {
                Scope::Names => step.name(cursor.program, item, &piece.row),
                Scope::Sources => {
                    if piece.row.has_source
                        && !self.search_sources(step, cursor, item, piece, &mut last_archive)
                    {
                        return false;
                    }
                }
                _ => {
                    let pane = step.request.pane.as_deref().unwrap_or("assembly");
                    // An item without such a listing has no matches.
                    if let Ok(printed) = self.print_item(cursor.program, item, &table, pane)
                        && !step.lines(cursor, item, pane, &printed)
                    {
                        return false;
                    }
                }
            }
            (cursor.at, cursor.line) = (cursor.at + 1, 0);
            if step.is_over((self.clock)()) && cursor.at < u64::from(table.len()) {
                return false;
            }
        }
        true
    }

    fn print_item(&mut self, program: u32, item: u32, table: &rows::Table, pane: &str) -> Answer<Printed> {
        let piece = table.item(item)?;
        if !matches!(pane, "assembly" | "raw") || !piece.panes.contains(&pane) {
            return Err(Fault::new("no such listing"));
        }
        self.ensure_item(program, item)?;
        print(&self.parsed(program)?, table, Some(piece), pane)
    }

    /// Searches the sources of an item from the cursor's line on, counted over all of them, unless those of the item
    /// before it were the same. Returns whether there is room for more matches.
    fn search_sources(
        &mut self,
        step: &mut Step<'_>,
        cursor: &mut Cursor,
        item: u32,
        piece: &Piece,
        last: &mut Option<Vec<String>>,
    ) -> bool {
        let Ok(parsed) = self.parsed(cursor.program) else { return true };
        let all = source_panes(&parsed, Some(piece));
        if last.as_ref() == Some(&all) {
            return true;
        }
        let (from, mut count) = (cursor.line, 0u32);
        for pane in &all {
            let Some(name) = pane.strip_prefix("source:") else { continue };
            let Ok(file) = source(&parsed, Some(piece), name) else { continue };
            let text = String::from_utf8_lossy(&file.data);
            for (line, text) in (0..).zip(text.lines()) {
                count = count.saturating_add(1);
                if count <= from {
                    continue;
                }
                if step.answer.matches.len() >= step.limit {
                    cursor.line = count - 1;
                    return false;
                }
                step.line(cursor.program, item, pane, line, text, None);
            }
        }
        *last = Some(all);
        true
    }

    fn search_bytes(&mut self, step: &mut Step<'_>, cursor: &mut Cursor) -> Answer<bool> {
        let Needle::Bytes(pattern) = &step.needle else { return Ok(true) };
        let pattern = pattern.clone();
        let size = self.extent(cursor.program, Scope::Bytes);
        while cursor.at < size {
            let end = cursor.at.saturating_add(CHUNK).min(size);
            let (_, [base, _]) = self.space_of(cursor.program)?;
            let read_to = end.saturating_add(pattern.len() as u64);
            self.ensure(base.saturating_add(cursor.at)..base.saturating_add(read_to))?;
            let (data, _) = self.space_of(cursor.program)?;
            let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
            let window = data.get(place(cursor.at)..place(read_to)).unwrap_or_default();
            let limit = place(end) - place(cursor.at);
            for at in finds(window, &pattern).take_while(|at| *at < limit) {
                let start = base.saturating_add(cursor.at).saturating_add(at as u64);
                let found = window.get(at..at + pattern.len()).unwrap_or_default();
                step.answer.matches.push(Match {
                    program: cursor.program,
                    text: crate::view::hex(found.get(..32).unwrap_or(found)),
                    range: Some([start, start.saturating_add(pattern.len() as u64)]),
                    ..Match::default()
                });
                if step.answer.matches.len() >= step.limit {
                    cursor.at = cursor.at.saturating_add(at as u64).saturating_add(1);
                    return Ok(cursor.at >= size);
                }
            }
            cursor.at = end;
            if step.is_over((self.clock)()) && cursor.at < size {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Step<'_> {
    fn is_over(&self, now: f64) -> bool {
        now >= self.deadline || self.answer.matches.len() >= self.limit
    }

    fn find(&self, text: &str) -> Option<(usize, usize)> {
        match &self.needle {
            Needle::Text(pattern) => pattern.find(text),
            Needle::Bytes(_) => None,
        }
    }

    fn name(&mut self, program: u32, item: u32, row: &Row) {
        let in_mangled = || mangled(row).and_then(|name| self.find(name));
        if self.find(row.readable_name()).or_else(in_mangled).is_some() {
            let text = clipped(row.readable_name(), 0).0;
            self.answer.matches.push(Match {
                program,
                item: Some(item),
                text,
                range: byte_range(&row.range),
                ..Match::default()
            });
        }
    }

    /// Searches a listing from the cursor's line on. Returns whether there is room for more matches.
    fn lines(&mut self, cursor: &mut Cursor, item: u32, pane: &str, printed: &Printed) -> bool {
        let (program, from, limit) = (cursor.program, cursor.line as usize, self.limit);
        let mut stop = None;
        printed.lines.each_text(|line, text| {
            if line < from || stop.is_some() {
                return;
            }
            if self.answer.matches.len() >= limit {
                stop = Some(line);
                return;
            }
            self.line(program, item, pane, line as u32, text, printed.lines.range(line));
        });
        match stop {
            Some(line) => {
                cursor.line = line as u32;
                false
            }
            None => true,
        }
    }

    fn line(&mut self, program: u32, item: u32, pane: &str, line: u32, text: &str, range: Option<ByteRange>) {
        let Some((start, end)) = self.find(text) else { return };
        let (shown, _) = clipped(text, start);
        self.answer.matches.push(Match {
            program,
            item: Some(item),
            pane: Some(pane.to_owned()),
            line: Some(line),
            column: Some(utf16_length(text.get(..start).unwrap_or_default())),
            length: Some(utf16_length(text.get(start..end).unwrap_or_default())),
            text: shown,
            range,
        });
    }
}

/// A line that is not too long to be shown, around a place.
fn clipped(text: &str, around: usize) -> (String, usize) {
    let shown = |part: &str| unshade_core::Escaped(part.replace('\t', "    ").as_bytes()).to_string();
    if text.len() <= MAX_TEXT {
        return (shown(text), 0);
    }
    let mut start = around.saturating_sub(MAX_TEXT / 4).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = start.saturating_add(MAX_TEXT).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (format!("{}{}…", if start > 0 { "…" } else { "" }, shown(&text[start..end])), start)
}

/// Hex digits with `??` for any byte, or text in quotes.
fn byte_pattern(text: &str) -> Answer<Vec<Option<u8>>> {
    let wrong = || {
        Fault::new("no bytes to look for").expected("hex digits such as `de c0 17 0b`, or \"text\" in quotes")
    };
    let pattern: Vec<Option<u8>> = if let Some(text) = text.strip_prefix('"') {
        text.strip_suffix('"').unwrap_or(text).bytes().map(Some).collect()
    } else {
        let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
        let pairs = digits.chunks(2).map(|pair| match pair {
            ['?', '?'] => Ok(None),
            [high, low] => {
                let digit = |c: &char| c.to_digit(16).ok_or_else(wrong);
                Ok(Some((digit(high)? << 4 | digit(low)?) as u8))
            }
            _ => Err(wrong()),
        });
        pairs.collect::<Answer<_>>()?
    };
    let is_usable = pattern.iter().any(Option::is_some) && pattern.len() <= MAX_BYTES;
    if is_usable { Ok(pattern) } else { Err(wrong()) }
}

/// Returns the offsets of a pattern.
fn finds<'d>(data: &'d [u8], pattern: &'d [Option<u8>]) -> impl Iterator<Item = usize> + use<'d> {
    // The longest run of known bytes finds candidates.
    let mut run = 0..0;
    let mut start = 0;
    for (at, byte) in pattern.iter().enumerate() {
        if byte.is_none() {
            start = at + 1;
        } else if at + 1 - start > run.len() {
            run = start..at + 1;
        }
    }
    let literal: Vec<u8> = pattern.get(run.clone()).unwrap_or_default().iter().copied().flatten().collect();
    let finder = memchr::memmem::Finder::new(&literal).into_owned();
    let mut from = run.start;
    std::iter::from_fn(move || {
        loop {
            let found = from + finder.find(data.get(from..)?)?;
            from = found + 1;
            let at = found - run.start;
            let window = data.get(at..at.checked_add(pattern.len())?);
            let is_match = window.is_some_and(|window| {
                window.iter().zip(pattern).all(|(byte, wanted)| wanted.is_none_or(|one| one == *byte))
            });
            if is_match {
                return Some(at);
            }
            window?;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_with_gaps() {
        let pattern = byte_pattern("?? 01 02 ?? 04").unwrap();
        let data = [9, 1, 2, 3, 4, 1, 2, 7, 4, 1, 2];
        assert_eq!(finds(&data, &pattern).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(byte_pattern("\"MTLB\"").unwrap().len(), 4);
        for wrong in ["", "??", "1", "xy", "\"\""] {
            assert!(byte_pattern(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cursors_come_back() {
        let cursor = Cursor { program: 3, at: 17_000, line: 12, before: 99 };
        assert_eq!(Cursor::parse(&cursor.write()).unwrap(), cursor);
        assert!(Cursor::parse("1.2").is_err() && Cursor::parse("").is_err());
    }
}
