//! Prints differences, for people and as JSON.

use super::{Kind, Writer};
use crate::commands::programs::ProgramJson;
use crate::output::Stdout;
use crate::paint::{bad, cut, faint, good, grouped, name, offset};
use anyhow::Result;
use serde::Serialize;
use std::io::Write;
use unshade::diff::{
    Change, ContainerDiff, FieldChange, FunctionChange, FunctionName, LibraryDiff, LineDiff, PartChange,
};
use unshade::view::SCHEMA;

/// Prints for people.
pub(super) struct TextWriter<'o> {
    stdout: &'o mut Stdout,
    stat: bool,
    identical: bool,
    totals: (usize, usize),
}

impl<'o> TextWriter<'o> {
    pub(super) fn new(stdout: &'o mut Stdout, stat: bool) -> Self {
        Self { stdout, stat, identical: false, totals: (0, 0) }
    }

    /// Prints the changed fields under the name of their owner. The fields of an added or removed group share a line.
    fn fields(&mut self, fields: &[FieldChange], margin: &str) -> Result<()> {
        let is_paired = |change: &&FieldChange| change.before.is_some() && change.after.is_some();
        let width = fields.iter().filter(is_paired).map(|change| change.field.chars().count()).max();
        let width = width.unwrap_or(0).min(40);
        let mut rest = fields;
        while let Some(change) = rest.first() {
            let mut count = 1;
            match (change.before.as_deref(), change.after.as_deref()) {
                (Some(before), Some(after)) if before == after => {
                    writeln!(self.stdout, "{margin}{:<width$}  moved", change.field)?;
                }
                (Some(before), Some(after)) => {
                    let (before, after) = shortened(before, after);
                    writeln!(
                        self.stdout,
                        "{margin}{:<width$}  {} → {}",
                        change.field,
                        bad(before),
                        good(after)
                    )?;
                }
                (None, _) | (_, None) => {
                    let group = group(rest);
                    count = group.len();
                    let text = one_sided(group);
                    if change.before.is_some() {
                        writeln!(self.stdout, "{margin}{}", bad(format_args!("- {text}")))?;
                    } else {
                        writeln!(self.stdout, "{margin}{}", good(format_args!("+ {text}")))?;
                    }
                }
            }
            rest = rest.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    fn lines(&mut self, diff: &LineDiff, margin: &str) -> Result<()> {
        self.totals.0 += diff.added;
        self.totals.1 += diff.removed;
        if self.stat {
            return Ok(());
        }
        for hunk in &diff.hunks {
            let count = |skipped| hunk.lines.iter().filter(|line| line.change != skipped).count();
            let (before, after) = (count(Change::Added), count(Change::Removed));
            let place = format!("@@ -{},{before} +{},{after} @@", hunk.before, hunk.after);
            writeln!(self.stdout, "{margin}{}", offset(place))?;
            for line in &hunk.lines {
                let text = &line.text;
                match line.change {
                    Change::Same => writeln!(self.stdout, "{margin} {text}")?,
                    Change::Removed => writeln!(self.stdout, "{margin}{}", bad(format_args!("-{text}")))?,
                    Change::Added => writeln!(self.stdout, "{margin}{}", good(format_args!("+{text}")))?,
                }
            }
        }
        if diff.cut {
            writeln!(self.stdout, "{margin}… and more, which is too long to be shown")?;
        }
        Ok(())
    }

    fn part(&mut self, part: &PartChange) -> Result<()> {
        match part.change {
            Change::Added => writeln!(self.stdout, "{}", good(format_args!("+ {}", part.part)))?,
            Change::Removed => writeln!(self.stdout, "{}", bad(format_args!("- {}", part.part)))?,
            Change::Same => {
                writeln!(self.stdout, "~ {}{}", name(&part.part), counts("code", &part.code))?;
                if !self.stat {
                    self.fields(&part.fields, "    ")?;
                }
                self.lines(&part.code, "    ")?;
                if let Some(fault) = &part.fault {
                    writeln!(self.stdout, "    code not compared: {fault}")?;
                }
            }
        }
        Ok(())
    }
}

/// Maximum length of a printed value.
const MAX_VALUE: usize = 200;
/// Maximum length of a common prefix that is printed whole.
const MAX_PREFIX: usize = 40;

/// Returns the group of a field, and the field's own name.
fn split(field: &str) -> (&str, &str) {
    field.rsplit_once('/').unwrap_or(("", field))
}

/// Returns the number of changes at the start of a list that belong to one added or removed group.
fn group(changes: &[FieldChange]) -> &[FieldChange] {
    let Some(first) = changes.first() else { return changes };
    let (outer, _) = split(&first.field);
    let mut count = 1;
    while let Some(next) = changes.get(count) {
        let seen = changes.get(..count).unwrap_or_default().iter().any(|change| change.field == next.field);
        let is_alike =
            next.before.is_some() == first.before.is_some() && next.after.is_some() == first.after.is_some();
        if outer.is_empty() || split(&next.field).0 != outer || seen || !is_alike {
            break;
        }
        count += 1;
    }
    changes.get(..count).unwrap_or_default()
}

/// Formats an added or removed field, or the fields of a group.
fn one_sided(group: &[FieldChange]) -> String {
    let value = |change: &FieldChange| {
        let value = change.before.as_deref().or(change.after.as_deref()).unwrap_or_default();
        cut(value, MAX_VALUE).into_owned()
    };
    match group {
        [one] if value(one).is_empty() => one.field.clone(),
        [one] => format!("{}  {}", one.field, value(one)),
        group => {
            let outer = group.first().map_or("", |first| split(&first.field).0);
            let field = |change: &FieldChange| format!("{} {}", split(&change.field).1, value(change));
            let fields: Vec<String> =
                group.iter().map(|change| field(change).trim_end().to_owned()).collect();
            format!("{outer}  {}", fields.join(", "))
        }
    }
}

/// Shortens two values by most of their common prefix, if it is long.
fn shortened(before: &str, after: &str) -> (String, String) {
    let common = before.chars().zip(after.chars()).take_while(|(one, two)| one == two).count();
    let short = |text: &str| {
        if common <= MAX_PREFIX {
            return cut(text, MAX_VALUE).into_owned();
        }
        let rest: String = text.chars().skip(common - MAX_PREFIX / 2).collect();
        format!("…{}", cut(&rest, MAX_VALUE))
    };
    (short(before), short(after))
}

/// Returns ` code +3 −1`, or nothing.
fn counts(what: &str, diff: &LineDiff) -> String {
    if diff.is_empty() {
        return String::new();
    }
    format!("  {what} {} {}", good(format!("+{}", diff.added)), bad(format!("−{}", diff.removed)))
}

impl Writer for TextWriter<'_> {
    fn begin(&mut self, before: &ProgramJson, after: &ProgramJson, identical: bool) -> Result<()> {
        self.identical = identical;
        if !identical {
            writeln!(self.stdout, "{} → {}", name(&before.path), name(&after.path))?;
        }
        Ok(())
    }

    fn library(&mut self, slice: &str, diff: &LibraryDiff<'_>) -> Result<()> {
        if diff.is_empty() {
            return Ok(());
        }
        if !slice.is_empty() {
            writeln!(self.stdout, "{}", name(slice))?;
        }
        self.fields(&diff.fields, "  ")?;
        let counts = [
            (diff.removed.len(), "removed"),
            (diff.added.len(), "added"),
            (diff.renamed.len(), "renamed"),
            (diff.changed.len(), "changed"),
            (usize::try_from(diff.same).unwrap_or(usize::MAX), "same"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> =
            counts.map(|(count, what)| format!("{} {what}", grouped(*count as u64))).collect();
        if !counts.is_empty() {
            writeln!(self.stdout, "  {} {}", faint("functions:"), counts.join(", "))?;
        }
        for function in &diff.removed {
            writeln!(self.stdout, "{}", bad(format_args!("- {}", function.readable())))?;
        }
        for function in &diff.added {
            writeln!(self.stdout, "{}", good(format_args!("+ {}", function.readable())))?;
        }
        Ok(())
    }

    fn function(&mut self, kind: Kind, change: &FunctionChange) -> Result<()> {
        let title = match kind {
            Kind::Changed => format!("~ {}", name(change.after.readable())),
            Kind::Renamed => {
                format!("> {} → {}", bad(change.before.readable()), good(change.after.readable()))
            }
        };
        let tags = change.tags().join(" ");
        let space = if tags.is_empty() { "" } else { "  " };
        let counts = counts("code", &change.code);
        writeln!(self.stdout, "{title}{space}{}{counts}", faint(tags))?;
        if self.stat {
            return self.lines(&change.code, "");
        }
        // Changes that follow from the code or the declaration need no lines of their own.
        let is_reported = |field: &&FieldChange| match field.tag() {
            "HASH" | "MDSZ" => change.code.is_empty(),
            "RBUF" => change.declaration.is_empty(),
            _ => true,
        };
        let fields: Vec<FieldChange> = change.fields.iter().filter(is_reported).cloned().collect();
        self.fields(&fields, "    ")?;
        if !change.declaration.is_empty() {
            let totals = self.totals;
            self.lines(&change.declaration, "    ")?;
            self.totals = totals;
        }
        self.lines(&change.code, "    ")?;
        if change.module_changed && change.code.is_empty() && change.fault.is_none() {
            writeln!(self.stdout, "    other bytes of bitcode, but the same text")?;
        }
        if let Some(fault) = &change.fault {
            writeln!(self.stdout, "    code not compared: {fault}")?;
        }
        Ok(())
    }

    fn end_library(&mut self) -> Result<()> {
        Ok(())
    }

    fn slice(&mut self, slice: &str, is_new: bool) -> Result<()> {
        if is_new {
            writeln!(self.stdout, "{}", good(format_args!("+ {slice}")))?;
        } else {
            writeln!(self.stdout, "{}", bad(format_args!("- {slice}")))?;
        }
        Ok(())
    }

    fn container(&mut self, diff: &ContainerDiff) -> Result<()> {
        diff.parts.iter().try_for_each(|part| self.part(part))
    }

    fn end(&mut self, is_empty: bool) -> Result<()> {
        if self.identical {
            return Ok(());
        }
        if is_empty {
            writeln!(self.stdout, "  the same, except for offsets")?;
        }
        let (added, removed) = self.totals;
        if self.stat && added + removed > 0 {
            let (added, removed) = (grouped(added as u64), grouped(removed as u64));
            writeln!(self.stdout, "  {added} lines of code added, {removed} removed")?;
        }
        Ok(())
    }
}

/// Prints one JSON object, whose functions are written as they come, one per line.
pub(super) struct JsonWriter<'o> {
    stdout: &'o mut Stdout,
    stat: bool,
    /// Whether the list of libraries has an entry.
    has_libraries: bool,
    has_functions: bool,
}

#[derive(Serialize)]
struct LibraryJson<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    slice: &'a str,
    fields: &'a [FieldChange],
    added: &'a [FunctionName],
    removed: &'a [FunctionName],
    renamed: usize,
    changed: usize,
    same: u64,
}

#[derive(Serialize)]
struct FunctionJson<'a> {
    change: &'static str,
    #[serde(flatten)]
    function: &'a FunctionChange,
}

impl<'o> JsonWriter<'o> {
    pub(super) fn new(stdout: &'o mut Stdout, stat: bool) -> Self {
        Self { stdout, stat, has_libraries: false, has_functions: false }
    }

    fn next_library(&mut self) -> Result<()> {
        let start =
            if std::mem::replace(&mut self.has_libraries, true) { ",\n" } else { ",\"libraries\":[\n" };
        Ok(self.stdout.write_all(start.as_bytes())?)
    }
}

/// Returns a difference with counts but without hunks.
fn counted(diff: &LineDiff) -> LineDiff {
    LineDiff { hunks: Vec::new(), ..*diff }
}

impl Writer for JsonWriter<'_> {
    fn begin(&mut self, before: &ProgramJson, after: &ProgramJson, identical: bool) -> Result<()> {
        let (before, after) = (serde_json::to_string(before)?, serde_json::to_string(after)?);
        Ok(write!(
            self.stdout,
            "{{\"schema\":{SCHEMA},\"before\":{before},\"after\":{after},\"identical\":{identical}"
        )?)
    }

    fn library(&mut self, slice: &str, diff: &LibraryDiff<'_>) -> Result<()> {
        self.next_library()?;
        let head = serde_json::to_string(&LibraryJson {
            slice,
            fields: &diff.fields,
            added: &diff.added,
            removed: &diff.removed,
            renamed: diff.renamed.len(),
            changed: diff.changed.len(),
            same: diff.same,
        })?;
        self.has_functions = false;
        let head = head.strip_suffix('}').unwrap_or(&head);
        Ok(write!(self.stdout, "{head},\"functions\":[")?)
    }

    fn function(&mut self, kind: Kind, change: &FunctionChange) -> Result<()> {
        let start = if std::mem::replace(&mut self.has_functions, true) { ",\n" } else { "\n" };
        let mut change = change.clone();
        if self.stat {
            change.code = counted(&change.code);
            change.declaration = counted(&change.declaration);
        }
        let kind = match kind {
            Kind::Renamed => "renamed",
            Kind::Changed => "changed",
        };
        let text = serde_json::to_string(&FunctionJson { change: kind, function: &change })?;
        Ok(write!(self.stdout, "{start}{text}")?)
    }

    fn end_library(&mut self) -> Result<()> {
        Ok(write!(self.stdout, "]}}")?)
    }

    fn slice(&mut self, slice: &str, is_new: bool) -> Result<()> {
        self.next_library()?;
        let change = if is_new { "added" } else { "removed" };
        Ok(write!(self.stdout, "{}", serde_json::json!({ "slice": slice, "change": change }))?)
    }

    fn container(&mut self, diff: &ContainerDiff) -> Result<()> {
        let mut diff = diff.clone();
        if self.stat {
            diff.parts.iter_mut().for_each(|part| part.code = counted(&part.code));
        }
        let parts = serde_json::to_string(&diff.parts)?;
        Ok(write!(self.stdout, ",\"parts\":{parts},\"same\":{}", diff.same)?)
    }

    fn end(&mut self, _is_empty: bool) -> Result<()> {
        let end = if self.has_libraries { "]}" } else { "}" };
        Ok(writeln!(self.stdout, "{end}")?)
    }
}
