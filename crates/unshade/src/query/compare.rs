//! What is different between two programs, or between two items of any.

use super::recorder::{Lines, Printed};
use super::session::{Parsed, Session};
use super::*;
use crate::diff::{
    self, Change, CodeLines, ContainerDiff, DiffRow, FieldChange, LibraryDiff, LineDiff, TokenDiff,
};
use crate::program::NamedLibrary;
use std::collections::HashMap;
use unshade_metallib::Library;

/// Lines around a change.
const CONTEXT: usize = 3;

/// The maximum number of changes in an answer.
const MAX_CHANGES: usize = 2_000;

/// The maximum number of lines of hunks in an answer.
const MAX_HUNK_LINES: usize = 20_000;

impl Session {
    /// Compares two places: of this file, or of this and another. The files in the request are not looked at.
    ///
    /// # Errors
    /// There is no such place, it can't be read, or the two are of different kinds.
    pub fn compare(
        left: &mut Self,
        mut right: Option<&mut Self>,
        request: &Compare,
    ) -> Answer<CompareAnswer> {
        let (one, other) = (&request.left, &request.right);
        match (one.item, other.item) {
            (Some(_), Some(_)) => {
                let pane = |place: &Place| Pane {
                    file: place.file,
                    program: place.program,
                    item: place.item,
                    pane: request.pane.clone().unwrap_or_else(|| "assembly".to_owned()),
                };
                let before = left.printed(&pane(one))?;
                let after = match &mut right {
                    Some(right) => right.printed(&pane(other))?,
                    None => left.printed(&pane(other))?,
                };
                let code = |printed: &Printed| CodeLines::new(|sink| printed.lines.replay(sink));
                let diff = code(&before).compare(&code(&after));
                let counts = diff.counts();
                let same = counts.measure() == 0 && counts.renamed == 0 && !diff.cut;
                let mut answer = CompareAnswer { same, renamed: counts.renamed, ..CompareAnswer::default() };
                answer.more = u64::from(diff.cut);
                answer.take_rows(&diff, &before.lines, &after.lines);
                Ok(answer)
            }
            (None, None) => {
                left.ensure_all()?;
                if let Some(right) = &mut right {
                    right.ensure_all()?;
                }
                let before = left.parsed(one.program)?;
                let after = match &right {
                    Some(right) => right.parsed(other.program)?,
                    None => left.parsed(other.program)?,
                };
                programs(&before, &after)
            }
            _ => Err(Fault::new("a program is compared with a program, an item with an item")),
        }
    }
}

fn programs(before: &Parsed<'_>, after: &Parsed<'_>) -> Answer<CompareAnswer> {
    let mut answer = CompareAnswer::default();
    if let (Some(one), Some(other)) = (library(before), library(after)) {
        answer.take_library(&LibraryDiff::new(one, other));
    } else if before.format.format != after.format.format {
        return Err(different_kinds());
    } else {
        let identical = before.data == after.data;
        let (one, other) = (&*before.program, &*after.program);
        answer.take_parts(&ContainerDiff::of_programs(one, other, identical, CONTEXT));
    }
    Ok(answer)
}

/// Returns the library of a program that is one, or has one slice.
fn library<'p>(parsed: &'p Parsed<'_>) -> Option<Library<'p>> {
    match parsed.program.metal_libraries() {
        [NamedLibrary { library, .. }] => Some(library.clone()),
        _ => None,
    }
}

fn different_kinds() -> Fault {
    Fault::new("programs of different kinds can't be compared")
}

impl CompareAnswer {
    fn change(
        &mut self,
        kind: &'static str,
        name: impl Into<String>,
        before: Option<String>,
        after: Option<String>,
    ) {
        if self.changes.len() < MAX_CHANGES {
            self.changes.push(ChangeEntry { kind, name: name.into(), before, after });
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    fn take_fields(&mut self, of: &str, fields: &[FieldChange]) {
        for field in fields {
            let name = if of.is_empty() { field.field.clone() } else { format!("{of}: {}", field.field) };
            self.change("field", name, field.before.clone(), field.after.clone());
        }
    }

    fn take_library(&mut self, diff: &LibraryDiff<'_>) {
        self.same = diff.is_empty();
        self.take_fields("", &diff.fields);
        for name in &diff.removed {
            self.change("removed", name.readable(), Some(format!("#{}", name.index)), None);
        }
        for name in &diff.added {
            self.change("added", name.readable(), None, Some(format!("#{}", name.index)));
        }
        for (kind, pairs) in [("renamed", &diff.renamed), ("changed", &diff.changed)] {
            for pair in pairs {
                let shown = |function: &unshade_metallib::Function<'_>| {
                    let name = function.name.unwrap_or_default();
                    crate::demangle(name).unwrap_or_else(|| function.shown_name())
                };
                let after = shown(&pair.after);
                let place = |function: &unshade_metallib::Function<'_>| Some(format!("#{}", function.index));
                let name =
                    if kind == "renamed" { format!("{} → {after}", shown(&pair.before)) } else { after };
                self.change(kind, name, place(&pair.before), place(&pair.after));
            }
        }
    }

    fn take_parts(&mut self, diff: &ContainerDiff) {
        self.same = diff.identical || diff.parts.is_empty();
        for part in &diff.parts {
            match part.change {
                Change::Added => self.change("added", part.part.as_str(), None, None),
                Change::Removed => self.change("removed", part.part.as_str(), None, None),
                Change::Same => self.change("changed", part.part.as_str(), None, None),
            }
            self.take_fields(&part.part, &part.fields);
            self.take_text_hunks(&part.code);
        }
    }

    /// Adds the rows that differ, with some around them.
    fn take_rows(&mut self, diff: &TokenDiff, before: &Lines, after: &Lines) {
        let rows = diff.rows.as_slice();
        let is_same = |row: &DiffRow| matches!(row, DiffRow::Same(..));
        let (mut left, mut right, mut free, mut kept) = (0u32, 0u32, 0usize, 0usize);
        while let Some(change) = rows.get(free..).and_then(|rest| rest.iter().position(|row| !is_same(row))) {
            let first = free + change;
            // The hunk continues across at most twice the context of equal lines.
            let (mut end, mut same) = (first + 1, 0);
            while let Some(row) = rows.get(end).filter(|_| same <= CONTEXT * 2) {
                same = if is_same(row) { same + 1 } else { 0 };
                end += 1;
            }
            end -= same.saturating_sub(CONTEXT);
            let start = first.saturating_sub(CONTEXT).max(free);
            count(rows.get(free..start).unwrap_or_default(), &mut left, &mut right);
            let inside = rows.get(start..end).unwrap_or_default();
            kept = kept.saturating_add(inside.len());
            if kept <= MAX_HUNK_LINES {
                let lines =
                    inside.iter().flat_map(|row| lines_of_row(row, &diff.names, before, after)).collect();
                self.hunks.push(HunkEntry { left_from: left, right_from: right, lines });
            } else {
                self.more = self.more.saturating_add(1);
            }
            count(inside, &mut left, &mut right);
            free = end;
        }
    }

    /// Hunks of which there is only the text.
    fn take_text_hunks(&mut self, diff: &LineDiff) {
        self.each_hunk(diff, |text| vec![TokenEntry::Plain("text", text.to_owned())]);
    }

    fn each_hunk(&mut self, diff: &LineDiff, tokens: impl Fn(&str) -> Vec<TokenEntry>) {
        let mut kept: usize = self.hunks.iter().map(|hunk| hunk.lines.len()).sum();
        self.more = self.more.saturating_add(u64::from(diff.cut));
        for hunk in &diff.hunks {
            kept = kept.saturating_add(hunk.lines.len());
            if kept > MAX_HUNK_LINES {
                self.more = self.more.saturating_add(1);
                continue;
            }
            let line = |line: &diff::HunkLine| {
                let side = match line.change {
                    Change::Same => "both",
                    Change::Removed => "left",
                    Change::Added => "right",
                };
                HunkLineEntry { side, tokens: tokens(&line.text), ..HunkLineEntry::default() }
            };
            self.hunks.push(HunkEntry {
                left_from: hunk.before.saturating_sub(1) as u32,
                right_from: hunk.after.saturating_sub(1) as u32,
                lines: hunk.lines.iter().map(line).collect(),
            });
        }
    }
}

/// Counts the lines of rows on each side.
fn count(rows: &[DiffRow], left: &mut u32, right: &mut u32) {
    for row in rows {
        *left = left.saturating_add(u32::from(!matches!(row, DiffRow::Added(_))));
        *right = right.saturating_add(u32::from(!matches!(row, DiffRow::Removed(_))));
    }
}

/// Returns the lines of a row: a changed line is the left one and, after it, the right one.
fn lines_of_row(
    row: &DiffRow,
    names: &HashMap<String, String>,
    before: &Lines,
    after: &Lines,
) -> Vec<HunkLineEntry> {
    let line = |side, tokens| HunkLineEntry { side, tokens, ..HunkLineEntry::default() };
    match *row {
        DiffRow::Same(_, at) => vec![line("both", after.line(at).tokens)],
        DiffRow::Removed(at) => vec![line("left", before.line(at).tokens)],
        DiffRow::Added(at) => vec![line("right", after.line(at).tokens)],
        DiffRow::Renamed(one, two) => {
            let (one, two) = (before.line(one).tokens, after.line(two).tokens);
            let (_, marks) = marks_of(&one, &two, &HashMap::new());
            vec![HunkLineEntry { before: Some(one), marks, ..line("both", two) }]
        }
        DiffRow::Changed(one, two) => {
            let (one, two) = (before.line(one).tokens, after.line(two).tokens);
            let (marks, other_marks) = marks_of(&one, &two, names);
            let left = HunkLineEntry { paired: true, marks, ..line("left", one) };
            vec![left, HunkLineEntry { paired: true, marks: other_marks, ..line("right", two) }]
        }
    }
}

/// Returns the tokens that two lines do not have in common. The address before an instruction is not compared, and names
/// that were renamed are no difference.
fn marks_of(one: &[TokenEntry], two: &[TokenEntry], names: &HashMap<String, String>) -> (Vec<u32>, Vec<u32>) {
    fn text(token: &TokenEntry) -> &str {
        match token {
            TokenEntry::Linked("comment" | "label", ..) => "",
            token => token.text(),
        }
    }
    let renamed = |token| names.get(text(token)).map_or(text(token), String::as_str);
    diff::marks(&one.iter().map(renamed).collect::<Vec<_>>(), &two.iter().map(text).collect::<Vec<_>>())
}
