//! `unshade show`: the full description of functions.

use super::programs::{
    EntryJson, FileJson, ProgramJson, each_input, each_program, open_all, outcome_of, print_diagnostics,
    require_selected,
};
use crate::Outcome;
use crate::args::{GlobalArgs, ShowArgs};
use crate::input::{Input, NothingFound};
use crate::layout;
use crate::output::Stdout;
use crate::paint::{self, counted, faint};
use anyhow::{Result, bail};
use std::io::Write;
use std::ops::ControlFlow;
use unshade::carve::Limits;
use unshade::program::Verb;

/// Maximum number of functions that are shown without a selection.
const MAX_UNSELECTED: u64 = 8;

pub(crate) fn run(args: &ShowArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (files, selection) = args.targets.split()?;
    let limits = global.limits();
    let (inputs, opened) = open_all(&files);
    require_selected(&inputs, &selection, Verb::Show, &limits)?;
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let mut shown = 0;
    let outcome = each_input(&inputs, |input| {
        if selection.is_everything() {
            require_few(input, &limits)?;
        }
        let mut programs = Vec::new();
        let mut outcome = Outcome::Done;
        let carving = each_program(input, Verb::Show, &limits, |mut visited| {
            let head = ProgramJson::new(visited.find);
            let described =
                visited.program.map(|program| program.describe(&selection, &mut visited.diagnostics));
            outcome = outcome.and(outcome_of(&visited.diagnostics));
            let cards = described.as_ref().map_or(0, |described| described.cards.len());
            if global.json {
                shown += cards;
                if cards > 0 || !visited.diagnostics.is_empty() {
                    let findings = super::findings(&visited.diagnostics);
                    programs.push(EntryJson { head, body: described.map(|one| one.json), findings });
                }
                return Ok(());
            }
            print_diagnostics(&head.path, &visited.diagnostics);
            for card in described.iter().flat_map(|described| &described.cards) {
                if shown > 0 {
                    writeln!(stdout)?;
                }
                shown += 1;
                if head.path != input.name || files.len() > 1 {
                    writeln!(stdout, "{}", faint(format!("// {}", head.path)))?;
                }
                layout::card(&head.path, card, &mut stdout)?;
            }
            Ok(())
        })?;
        if global.json {
            stdout.json(&FileJson::new(input, programs, &carving), false)?;
        }
        Ok(outcome)
    })?;
    stdout.finish()?;
    if shown == 0 && outcome == Outcome::Done && opened == Outcome::Done {
        anstream::eprintln!("{}: no function matches; `unshade list` shows them", paint::error("unshade"));
        return Ok(Outcome::Finding);
    }
    Ok(opened.and(outcome))
}

/// Fails if an input has several functions and none was selected.
fn require_few(input: &Input, limits: &Limits) -> Result<()> {
    let mut count = 0;
    each_program(input, Verb::Show, limits, |visited| {
        if let Some(program) = visited.program {
            program.names(&mut |_| {
                count += 1;
                ControlFlow::Continue(())
            });
        }
        Ok(())
    })?;
    if count > MAX_UNSELECTED {
        let count = counted(count, "function");
        bail!(NothingFound(format!(
            "{}: {count}; name those to show, as `unshade list` lists them",
            input.name
        )));
    }
    Ok(())
}
