//! `unshade list`: lists functions, one row per function, and the program's other tables.

use super::programs::{
    EntryJson, FileJson, ProgramJson, Visited, each_input, map_programs, open_all, outcome_of,
    print_diagnostics, require_selected,
};
use crate::Outcome;
use crate::args::{GlobalArgs, ListArgs};
use crate::layout;
use crate::output::Stdout;
use crate::paint::{self, bytes, name};
use crate::runner::{AllProcessors, free};
use anyhow::Result;
use std::io::Write;
use unshade::core::Diagnostics;
use unshade::program::{Form, Items, Json, Verb};
use unshade::select::Selection;

pub(crate) fn run(args: &ListArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (files, selection) = args.targets.split()?;
    let limits = global.limits();
    let (inputs, opened) = open_all(&files);
    require_selected(&inputs, &selection, Verb::List, &limits)?;
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let mut listed = 0;
    let mut headings = Headings { has_several: files.len() > 1, printed: 0 };
    let outcome = each_input(&inputs, |input| {
        let mut programs = Vec::new();
        let mut outcome = Outcome::Done;
        let make = |visited: Visited<'_, '_>| Listing::new(visited, &selection, args.mangled, global.json);
        let carving = map_programs(input, Verb::List, &limits, make, |listing| {
            listed += listing.count;
            outcome = outcome.and(outcome_of(&listing.diagnostics));
            if global.json {
                let findings = super::findings(&listing.diagnostics);
                programs.push(EntryJson { head: listing.head, body: listing.json, findings });
                return Ok(());
            }
            print_diagnostics(&listing.head.path, &listing.diagnostics);
            let is_whole = listing.head.path == input.name;
            for (slice, rows) in &listing.groups {
                headings.print(&listing.head, slice, is_whole, &mut stdout)?;
                rows.iter().try_for_each(|piece| stdout.write_all(piece.as_bytes()))?;
            }
            Ok(stdout.write_all(listing.tables.as_bytes())?)
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

/// What is printed of a program.
struct Listing {
    head: ProgramJson,
    diagnostics: Diagnostics,
    /// The number of listed items.
    count: usize,
    /// The name of each group's slice, and its rows as text in pieces.
    groups: Vec<(String, Vec<String>)>,
    /// The tables as text.
    tables: String,
    /// The items as JSON; none if the program's header can't be read.
    json: Option<Json>,
}

impl Listing {
    fn new(mut visited: Visited<'_, '_>, selection: &Selection, mangled: bool, as_json: bool) -> Self {
        let form = if as_json { Form::Json } else { Form::Rows { demangled: !mangled } };
        let items = visited
            .program
            .map(|program| program.items(selection, form, &AllProcessors, &mut visited.diagnostics));
        let mut listing = Self {
            head: ProgramJson::new(visited.find),
            diagnostics: visited.diagnostics,
            count: 0,
            groups: Vec::new(),
            tables: String::new(),
            json: None,
        };
        let Some(items) = items else { return listing };
        listing.count = items.count;
        if !as_json {
            listing.lay_out(&items, selection, mangled);
        }
        listing.json = Some(items.json);
        free(items.groups, items.count);
        listing
    }

    fn lay_out(&mut self, items: &Items, selection: &Selection, mangled: bool) {
        for group in &items.groups {
            let is_empty = group.rows.is_empty();
            if is_empty && !selection.is_everything() {
                continue;
            }
            let has_rows = !is_empty || items.tables.is_empty();
            let rows = if has_rows { layout::rows(group, mangled) } else { Vec::new() };
            self.groups.push((group.slice.clone(), rows));
        }
        self.tables = items.tables.iter().map(layout::table).collect();
    }
}

/// Prints the line before a program's rows; none if the only file is the program.
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
