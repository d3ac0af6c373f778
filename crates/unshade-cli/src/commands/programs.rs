//! Visiting the programs of inputs, shared by all commands.
//!
//! Each command names its verb, and programs of formats that do not support it are skipped. If no other program is
//! left, the reason is reported and the exit status is 2. Selectors are looked up in all inputs before anything is
//! printed: one without a match is reported with the nearest name, and the exit status is 1.

use super::findings;
use crate::Outcome;
use crate::input::{Input, NothingFound};
use crate::paint;
use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use std::ops::ControlFlow;
use unshade::carve::{Find, Limits};
use unshade::core::Diagnostics;
use unshade::program::{self, ItemName, Json, Program, Verb, format_of, refusal};
use unshade::select::{Selection, Unmatched};
use unshade::view::{FindingView, SCHEMA};

/// The JSON of a file: the same for every command, except for the contents of `programs`.
#[derive(Serialize)]
pub(super) struct FileJson<'a, P: Serialize> {
    schema: u32,
    file: &'a str,
    /// The bytes of the file's name in hexadecimal, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<&'a str>,
    programs: Vec<P>,
    /// Problems found while searching for programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

impl<'a, P: Serialize> FileJson<'a, P> {
    pub(super) fn new(input: &'a Input, programs: Vec<P>, carving: &Diagnostics) -> Self {
        Self {
            schema: SCHEMA,
            file: &input.name,
            file_bytes: input.name_bytes.as_deref(),
            programs,
            findings: findings(carving),
        }
    }
}

/// The location and format of a program: the head of each entry of `programs`.
#[derive(Clone, Serialize)]
pub(super) struct ProgramJson {
    /// The path that selects the program on the command line.
    pub(super) path: String,
    pub(super) format: String,
    pub(super) size: u64,
    /// The range in the file, if the program was not unpacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) truncated: bool,
}

impl ProgramJson {
    pub(super) fn new(find: &Find<'_>) -> Self {
        Self {
            path: find.path.to_string(),
            format: find.format.to_string(),
            size: find.data.len() as u64,
            offset: find.file_offset,
            truncated: find.is_truncated(),
        }
    }
}

/// An entry of `programs`: the program's location, the command's result, and problems.
#[derive(Serialize)]
pub(super) struct EntryJson {
    #[serde(flatten)]
    pub(super) head: ProgramJson,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) findings: Vec<FindingView>,
}

/// A program that supports the verb.
pub(super) struct Visited<'v, 'a> {
    pub(super) find: &'v Find<'a>,
    /// The program, or `None` if its header can't be read.
    pub(super) program: Option<&'v dyn Program>,
    /// Problems found while reading the program.
    pub(super) diagnostics: Diagnostics,
}

/// Visits the programs of an input that support a verb, and prints problems with the file on standard error.
///
/// Fails with [`Refused`] if there are programs but none of them supports the verb.
pub(super) fn each_program(
    input: &Input,
    verb: Verb,
    limits: &Limits,
    visit: impl FnMut(Visited<'_, '_>) -> Result<()>,
) -> Result<Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let result = each_program_quietly(input, verb, limits, &mut diagnostics, visit);
    for diagnostic in &diagnostics {
        anstream::eprintln!("{}", paint::diagnostic(&input.name, diagnostic));
    }
    result.map(|()| diagnostics)
}

/// Visits the programs without printing: problems with the file go to `diagnostics`.
pub(super) fn each_program_quietly(
    input: &Input,
    verb: Verb,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
    mut visit: impl FnMut(Visited<'_, '_>) -> Result<()>,
) -> Result<()> {
    let mut taken = 0u64;
    let mut refused = None;
    input.each_find(limits, diagnostics, |find| {
        if let Some(reason) = refusal(format_of(find), verb) {
            refused.get_or_insert_with(|| format!("{}: {reason}", find.path));
            return Ok(());
        }
        taken += 1;
        let mut diagnostics = Diagnostics::new();
        let program = diagnostics.take("program", program::open(find));
        visit(Visited { find, program: program.as_deref(), diagnostics })
    })?;
    match refused {
        Some(reason) if taken == 0 => bail!(Refused(reason)),
        _ => Ok(()),
    }
}

/// The error for an input whose programs do not support a verb.
#[derive(Debug)]
pub(super) struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Opens inputs. Reports those that can't be read and returns the others.
pub(super) fn open_all<A: AsRef<std::ffi::OsStr>>(files: &[A]) -> (Vec<Input>, Outcome) {
    let mut outcome = Outcome::Done;
    let mut inputs = Vec::new();
    for file in files {
        match Input::open(file.as_ref()) {
            Ok(input) => inputs.push(input),
            Err(error) => outcome = outcome.and(Outcome::of_error(&error)),
        }
    }
    (inputs, outcome)
}

/// Calls `one` for each input. Reports a failure and continues with the next input.
pub(super) fn each_input(
    inputs: &[Input],
    mut one: impl FnMut(&Input) -> Result<Outcome>,
) -> Result<Outcome> {
    let mut outcome = Outcome::Done;
    for input in inputs {
        match one(input) {
            Ok(one) => outcome = outcome.and(one),
            Err(error) if crate::output::is_broken_pipe(&error) => return Err(error),
            Err(error) => outcome = outcome.and(Outcome::of_error(&error)),
        }
    }
    Ok(outcome)
}

/// Opens files one by one and calls `one` for each. Reports a failure and continues with the next file.
pub(super) fn each_file<A: AsRef<std::ffi::OsStr>>(
    files: &[A],
    mut one: impl FnMut(&Input) -> Result<Outcome>,
) -> Result<Outcome> {
    let mut outcome = Outcome::Done;
    for file in files {
        match Input::open(file.as_ref()).and_then(|input| one(&input)) {
            Ok(one) => outcome = outcome.and(one),
            Err(error) if crate::output::is_broken_pipe(&error) => return Err(error),
            Err(error) => outcome = outcome.and(Outcome::of_error(&error)),
        }
    }
    Ok(outcome)
}

/// Fails unless every selector matches something in one of the inputs.
pub(super) fn require_selected(
    inputs: &[Input],
    selection: &Selection,
    verb: Verb,
    limits: &Limits,
) -> Result<()> {
    let mut unmatched = Unmatched::new(selection);
    if unmatched.is_empty() {
        return Ok(());
    }
    each_name(inputs, verb, limits, &mut |item| unmatched.remove_matching(item));
    if unmatched.is_empty() {
        return Ok(());
    }
    let has_program = each_name(inputs, verb, limits, &mut |item| unmatched.compare(item));
    // If no program supports the verb, visiting the first one reports that.
    if !has_program {
        return Ok(());
    }
    let sentences = unmatched.sentences();
    let place = match inputs {
        [input] => format!("{}: ", input.name),
        _ => String::new(),
    };
    bail!(NothingFound(format!("{place}{}", sentences.join("; "))))
}

/// Visits the names of all programs that support a verb until `visit` breaks. Returns whether there is such a program.
fn each_name(
    inputs: &[Input],
    verb: Verb,
    limits: &Limits,
    visit: &mut dyn FnMut(&ItemName<'_>) -> ControlFlow<()>,
) -> bool {
    let mut has_program = false;
    let mut flow = ControlFlow::Continue(());
    for input in inputs {
        input.programs(limits, &mut |find| {
            if refusal(format_of(&find), verb).is_none()
                && let Ok(program) = program::open(&find)
            {
                has_program = true;
                program.names(&mut |item| {
                    if flow.is_continue() {
                        flow = visit(&item);
                    }
                    flow
                });
            }
            flow
        });
        if flow.is_break() {
            break;
        }
    }
    has_program
}

/// Calls `work` with the only program of an input. Fails if there are several.
pub(super) fn only_program<T>(
    input: &Input,
    verb: Verb,
    limits: &Limits,
    mut work: impl FnMut(&Find<'_>, &dyn Program) -> Result<T>,
) -> Result<T> {
    let mut count = 0u64;
    each_program(input, verb, limits, |_| {
        count += 1;
        Ok(())
    })?;
    if count > 1 {
        bail!(
            "{} holds {count} programs; name one of them, as `unshade scan` shows them: '{}!…'",
            input.name,
            input.name
        );
    }
    let mut result = None;
    input.each_find(limits, &mut Diagnostics::new(), |find| {
        if refusal(format_of(find), verb).is_none() {
            let program = program::open(find).map_err(|error| anyhow!("{}: {error}", find.path))?;
            result = Some(work(find, &*program)?);
        }
        Ok(())
    })?;
    result.ok_or_else(|| anyhow!("{}: no program", input.name))
}

/// Prints the problems found while reading a program.
pub(super) fn print_diagnostics(path: &str, diagnostics: &Diagnostics) {
    for diagnostic in diagnostics {
        anstream::eprintln!("{}", paint::diagnostic(path, diagnostic));
    }
}

/// Returns the outcome for the problems found.
pub(super) fn outcome_of(diagnostics: &Diagnostics) -> Outcome {
    if diagnostics.has_errors() { Outcome::Finding } else { Outcome::Done }
}

/// Calls `make` for each program found in an input and collects the results.
pub(super) fn collect<T>(
    input: &Input,
    limits: &Limits,
    mut make: impl FnMut(&Find<'_>) -> T,
) -> (Vec<T>, Diagnostics) {
    let mut made = Vec::new();
    let diagnostics = input.programs(limits, &mut |find| {
        made.push(make(&find));
        ControlFlow::Continue(())
    });
    (made, diagnostics)
}
