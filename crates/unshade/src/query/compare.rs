//! What is different between two programs, or between two items of any.

use super::session::{Parsed, Session};
use super::*;
use crate::diff::{self, Change, ContainerDiff, FieldChange, LibraryDiff, LineDiff};
use crate::program::NamedLibrary;
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
                let diff = diff::listings(
                    |sink| before.lines.replay(sink),
                    |sink| after.lines.replay(sink),
                    CONTEXT,
                );
                let mut answer = CompareAnswer { same: diff.is_empty(), ..CompareAnswer::default() };
                answer.take_hunks(
                    &diff,
                    |line| before.lines.line(line).tokens,
                    |line| after.lines.line(line).tokens,
                );
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

    /// Hunks whose lines are taken from the listings.
    fn take_hunks(
        &mut self,
        diff: &LineDiff,
        before: impl Fn(usize) -> Vec<TokenEntry>,
        after: impl Fn(usize) -> Vec<TokenEntry>,
    ) {
        self.each_hunk(diff, |change, one, other, _| match change {
            Change::Removed => before(one),
            Change::Added | Change::Same => after(other),
        });
    }

    /// Hunks of which there is only the text.
    fn take_text_hunks(&mut self, diff: &LineDiff) {
        self.each_hunk(diff, |_, _, _, text| vec![TokenEntry::Plain("text", text.to_owned())]);
    }

    fn each_hunk(&mut self, diff: &LineDiff, tokens: impl Fn(Change, usize, usize, &str) -> Vec<TokenEntry>) {
        let mut kept: usize = self.hunks.iter().map(|hunk| hunk.lines.len()).sum();
        self.more = self.more.saturating_add(u64::from(diff.cut));
        for hunk in &diff.hunks {
            kept = kept.saturating_add(hunk.lines.len());
            if kept > MAX_HUNK_LINES {
                self.more = self.more.saturating_add(1);
                continue;
            }
            let (mut one, mut other) = (hunk.before.saturating_sub(1), hunk.after.saturating_sub(1));
            let mut entry = HunkEntry {
                left_from: one as u32,
                right_from: other as u32,
                lines: Vec::with_capacity(hunk.lines.len()),
            };
            for line in &hunk.lines {
                let tokens = tokens(line.change, one, other, &line.text);
                let side = match line.change {
                    Change::Same => "both",
                    Change::Removed => "left",
                    Change::Added => "right",
                };
                one += usize::from(line.change != Change::Added);
                other += usize::from(line.change != Change::Removed);
                entry.lines.push(HunkLineEntry { side, tokens });
            }
            self.hunks.push(entry);
        }
    }
}
