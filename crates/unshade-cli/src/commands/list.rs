//! `unshade list`: functions, one row each, and the other tables of a program.

use super::programs::{
    EntryJson, FileJson, ProgramJson, each_input, each_program, open_all, outcome_of, print_diagnostics,
    require_selected,
};
use crate::Outcome;
use crate::args::{GlobalArgs, ListArgs};
use crate::layout;
use crate::output::Stdout;
use crate::paint::{self, bytes, name};
use crate::runner::AllProcessors;
use anyhow::Result;
use std::io::Write;
use unshade::program::{Form, Verb};

pub(crate) fn run(args: &ListArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (files, selection) = args.targets.split()?;
    let limits = global.limits();
    let (inputs, opened) = open_all(&files);
    require_selected(&inputs, &selection, Verb::List, &limits)?;
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let form = if global.json { Form::Json } else { Form::Rows { demangled: !args.mangled } };
    let mut listed = 0;
    let mut headings = Headings { has_several: files.len() > 1, printed: 0 };
    let outcome = each_input(&inputs, |input| {
        let mut programs = Vec::new();
        let mut outcome = Outcome::Done;
        let carving = each_program(input, Verb::List, &limits, |mut visited| {
            let head = ProgramJson::new(visited.find);
            let items = visited
                .program
                .map(|program| program.items(&selection, form, &AllProcessors, &mut visited.diagnostics));
            listed += items.as_ref().map_or(0, |items| items.count);
            outcome = outcome.and(outcome_of(&visited.diagnostics));
            if global.json {
                let findings = super::findings(&visited.diagnostics);
                programs.push(EntryJson { head, body: items.map(|items| items.json), findings });
                return Ok(());
            }
            print_diagnostics(&head.path, &visited.diagnostics);
            let Some(items) = items else { return Ok(()) };
            let is_whole = head.path == input.name;
            for group in &items.groups {
                let is_empty = group.rows.is_empty();
                if is_empty && !selection.is_everything() {
                    continue;
                }
                headings.print(&head, &group.slice, is_whole, &mut stdout)?;
                if !is_empty || items.tables.is_empty() {
                    layout::rows(group, args.mangled, &mut stdout)?;
                }
            }
            items.tables.iter().try_for_each(|table| layout::table(table, &mut stdout))
        })?;
        if global.json {
            stdout.json(&FileJson::new(input, programs, &carving), false)?;
        }
        Ok(outcome)
    })?;
    stdout.finish()?;
    if listed == 0 && !selection.is_everything() && outcome == Outcome::Done && opened == Outcome::Done {
        anstream::eprintln!("{}: no function matches", paint::error("unshade"));
        return Ok(Outcome::Finding);
    }
    Ok(opened.and(outcome))
}

/// The headings above programs' rows; none if the only file is itself the program.
struct Headings {
    has_several: bool,
    printed: usize,
}

impl Headings {
    fn print(&mut self, head: &ProgramJson, slice: &str, is_whole: bool, stdout: &mut Stdout) -> Result<()> {
        if is_whole && slice.is_empty() && !self.has_several {
            return Ok(());
        }
        if self.printed > 0 {
            writeln!(stdout)?;
        }
        self.printed += 1;
        let slice = if slice.is_empty() { String::new() } else { format!(" · slice {slice}") };
        writeln!(stdout, "{}{slice}   {}, {}", name(&head.path), head.format, bytes(head.size))?;
        Ok(())
    }
}
