//! `unshade dump`: shows the meaning of every byte of a program.
//!
//! The outline streams: the walk prints one line per field as it reaches it, so that memory does not depend on the
//! file's size.

use super::programs::{ProgramJson, each_program, print_diagnostics};
use crate::Outcome;
use crate::args::{DumpArgs, GlobalArgs};
use crate::input::Input;
use crate::output::Stdout;
use crate::paint::{bad, faint, name, offset};
use anyhow::Result;
use std::io::{self, Write};
use std::ops::Range;
use unshade::core::outline::UNKNOWN;
use unshade::core::{Field, OutlineSink, Value};
use unshade::program::Verb;
use unshade::view::SCHEMA;

pub(crate) fn run(args: &DumpArgs, global: &GlobalArgs) -> Result<Outcome> {
    let input = Input::open(&args.file)?;
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let mut count = 0u64;
    if global.json {
        let file = serde_json::to_string(&input.name)?;
        write!(stdout, "{{\"schema\":{SCHEMA},\"file\":{file},\"programs\":[")?;
    }
    let mut outcome = Outcome::Done;
    each_program(&input, Verb::Dump, &global.limits(), |visited| {
        let find = visited.find;
        let Some(program) = visited.program else {
            outcome = Outcome::Finding;
            print_diagnostics(&find.path.to_string(), &visited.diagnostics);
            return Ok(());
        };
        count += 1;
        if global.json {
            let head = serde_json::to_string(&ProgramJson::new(find))?;
            let comma = if count > 1 { "," } else { "" };
            write!(stdout, "{comma}{},\"outline\":[", head.trim_end_matches('}'))?;
            let mut lines =
                JsonLines { args, stdout: &mut stdout, depth: 0, hidden: 0, first: vec![true], error: None };
            program.outline(&mut lines);
            lines.error.map_or(Ok(()), Err)?;
            write!(stdout, "]}}")?;
        } else {
            if find.path.to_string() != input.name {
                writeln!(stdout, "{}", name(&find.path))?;
            }
            let mut lines = Lines { args, stdout: &mut stdout, depth: 0, hidden: 0, error: None };
            program.outline(&mut lines);
            lines.error.map_or(Ok(()), Err)?;
        }
        Ok(())
    })?;
    if global.json {
        writeln!(stdout, "]}}")?;
    }
    stdout.finish()?;
    Ok(outcome)
}

/// Returns whether a field is shown: it is not too deep, and overlaps the requested bytes.
fn is_shown(args: &DumpArgs, depth: usize, range: &Range<u64>) -> bool {
    depth < args.depth
        && args.range.as_ref().is_none_or(|wanted| range.start < wanted.end && wanted.start < range.end)
}

/// Prints one line per field.
struct Lines<'a> {
    args: &'a DumpArgs,
    stdout: &'a mut Stdout,
    depth: usize,
    /// The number of innermost open fields that are hidden.
    hidden: usize,
    error: Option<io::Error>,
}

impl OutlineSink for Lines<'_> {
    fn open(&mut self, field: Field<'_>) {
        let depth = self.depth;
        self.depth += 1;
        if self.hidden > 0 || self.error.is_some() || !is_shown(self.args, depth, &field.range) {
            self.hidden += 1;
            return;
        }
        let Range { start, end } = field.range;
        let indent = "  ".repeat(depth);
        let label: Box<dyn std::fmt::Display> = match field.name.as_ref() {
            UNKNOWN => Box::new(bad(UNKNOWN)),
            _ if field.value == Value::None => Box::new(name(field.name.as_ref())),
            _ => Box::new(field.name.as_ref()),
        };
        let value = field.value.to_text();
        let space = if value.is_empty() { "" } else { " " };
        let meaning =
            if field.meaning.is_empty() { String::new() } else { format!("   {}", faint(&field.meaning)) };
        let size = end.saturating_sub(start);
        let at = offset(format!("{start:08x}"));
        self.error = writeln!(self.stdout, "{at} {size:>7}  {indent}{label}{space}{value}{meaning}").err();
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.hidden = self.hidden.saturating_sub(1);
    }
}

/// Prints one object per field, nested.
struct JsonLines<'a> {
    args: &'a DumpArgs,
    stdout: &'a mut Stdout,
    depth: usize,
    hidden: usize,
    /// Whether the next field is the first of its parent, for each open parent.
    first: Vec<bool>,
    error: Option<io::Error>,
}

impl JsonLines<'_> {
    fn write(&mut self, text: &str) {
        if self.error.is_none() {
            self.error = self.stdout.write_all(text.as_bytes()).err();
        }
    }
}

impl OutlineSink for JsonLines<'_> {
    fn open(&mut self, field: Field<'_>) {
        let depth = self.depth;
        self.depth += 1;
        if self.hidden > 0 || !is_shown(self.args, depth, &field.range) {
            self.hidden += 1;
            return;
        }
        let first = self.first.last_mut().map(|first| std::mem::replace(first, false)).unwrap_or(true);
        let object = serde_json::json!({
            "name": field.name,
            "start": field.range.start,
            "end": field.range.end,
            "value": field.value.to_text(),
            "meaning": field.meaning,
        });
        let text = object.to_string();
        self.write(if first { "" } else { "," });
        self.write(text.trim_end_matches('}'));
        self.write(",\"children\":[");
        self.first.push(true);
    }

    fn close(&mut self) {
        self.depth -= 1;
        if self.hidden > 0 {
            self.hidden -= 1;
            return;
        }
        self.first.pop();
        self.write("]}");
    }
}
