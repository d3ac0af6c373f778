//! Visits the programs of inputs, for all verbs.
//!
//! A verb names itself, so that programs are skipped if the verb does not apply to their format. If no other program
//! remains, the reason is reported and the exit status is 2. Selectors are resolved in all inputs before anything is
//! printed: one that selects nothing is reported with the nearest name, and the exit status is 1.

use super::findings;
use crate::Outcome;
use crate::input::{Input, NothingFound};
use crate::paint;
use crate::runner::in_parallel;
use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use std::ops::ControlFlow;
use unshade::carve::{Find, Limits};
use unshade::core::Diagnostics;
use unshade::program::{self, ItemName, Json, Program, Verb, format_of, refusal};
use unshade::select::{Selection, Unmatched};
use unshade::view::{FindingView, SCHEMA};

/// The JSON of a file: the frame that every verb prints, with the verb's own `programs`.
#[derive(Serialize)]
pub(super) struct FileJson<'a, P: Serialize> {
    schema: u32,
    file: &'a str,
    /// The bytes of the file's name in hexadecimal, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<&'a str>,
    programs: Vec<P>,
    /// The problems met while searching the file.
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

/// The location and the format of a program: the head of each entry of `programs`.
#[derive(Clone, Serialize)]
pub(super) struct ProgramJson {
    /// The path that selects the program on the command line.
    pub(super) path: String,
    pub(super) format: String,
    pub(super) size: u64,
    /// Its offset in the file, if it is uncompressed.
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

/// An entry of `programs`: location, the verb's output, errors.
#[derive(Serialize)]
pub(super) struct EntryJson {
    #[serde(flatten)]
    pub(super) head: ProgramJson,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) findings: Vec<FindingView>,
}

/// A program that the verb applies to.
pub(super) struct Visited<'v, 'a> {
    pub(super) find: &'v Find<'a>,
    /// The program, or [`None`] if its header can't be read.
    pub(super) program: Option<&'v dyn Program>,
    /// The errors.
    pub(super) diagnostics: Diagnostics,
}

/// Visits the programs of an input that the verb applies to, and prints the file's diagnostics on standard error.
///
/// Fails with [`Refused`] if there are programs but the verb applies to none of them.
pub(super) fn each_program(
    input: &Input,
    verb: Verb,
    limits: &Limits,
    visit: impl FnMut(Visited<'_, '_>) -> Result<()>,
) -> Result<Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let result = each_program_quietly(input, verb, limits, &mut diagnostics, visit);
    print_diagnostics(&input.name, &diagnostics);
    result.map(|()| diagnostics)
}

/// Visits the programs and prints nothing: the file's diagnostics are added to `diagnostics`.
pub(super) fn each_program_quietly(
    input: &Input,
    verb: Verb,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
    mut visit: impl FnMut(Visited<'_, '_>) -> Result<()>,
) -> Result<()> {
    each_supported(input, verb, limits, diagnostics, |find| open(find, &mut visit))
}

/// The size of the programs that [`map_programs`] visits at once, without the last.
const BYTES_AT_ONCE: usize = 64 << 20;

/// The number of programs that [`map_programs`] visits at once.
const PROGRAMS_AT_ONCE: usize = 1024;

/// Visits programs as [`each_program`] does, but several at once: `make` runs on all processors, and `take` gets what it made,
/// in file order.
pub(super) fn map_programs<T: Send>(
    input: &Input,
    verb: Verb,
    limits: &Limits,
    make: impl Fn(Visited<'_, '_>) -> T + Send + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<Diagnostics> {
    let mut visit = |finds: &[Find<'_>]| -> Result<()> {
        let made = in_parallel(finds.len(), |at| open(&finds[at], &make));
        made.into_iter().try_for_each(&mut take)
    };
    let (mut waiting, mut size) = (Vec::new(), 0_usize);
    let mut diagnostics = Diagnostics::new();
    let found = each_supported(input, verb, limits, &mut diagnostics, |find| {
        let lasting = input.lasting(find);
        let is_full = size >= BYTES_AT_ONCE || waiting.len() >= PROGRAMS_AT_ONCE;
        if is_full || lasting.is_none() {
            visit(&std::mem::take(&mut waiting))?;
            size = 0;
        }
        let Some(lasting) = lasting else { return visit(std::slice::from_ref(find)) };
        size = size.saturating_add(find.data.len());
        waiting.push(lasting);
        Ok(())
    });
    let result = found.and_then(|()| visit(&waiting));
    print_diagnostics(&input.name, &diagnostics);
    result.map(|()| diagnostics)
}

/// Calls `visit` with a program and the errors of opening it.
fn open<'a, T>(find: &Find<'a>, visit: impl FnOnce(Visited<'_, 'a>) -> T) -> T {
    let mut diagnostics = Diagnostics::new();
    let program = diagnostics.take("program", program::open(find));
    visit(Visited { find, program: program.as_deref(), diagnostics })
}

/// Visits the finds that the verb applies to.
fn each_supported(
    input: &Input,
    verb: Verb,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
    mut visit: impl FnMut(&Find<'_>) -> Result<()>,
) -> Result<()> {
    let mut taken = 0u64;
    let mut refused = None;
    input.each_find(limits, diagnostics, |find| {
        if let Some(reason) = refusal(format_of(find), verb) {
            refused.get_or_insert_with(|| format!("{}: {reason}", find.path));
            return Ok(());
        }
        taken += 1;
        visit(find)
    })?;
    match refused {
        Some(reason) if taken == 0 => bail!(Refused(reason)),
        _ => Ok(()),
    }
}

/// The verb applies to no program of the input.
#[derive(Debug)]
pub(super) struct Refused(pub(super) String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Opens inputs. Reports those that can't be read, and returns the others.
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

/// Runs `one` for each input. An error in one is reported, and the others continue.
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

/// Opens files one by one and runs `one` for each. An error in one is reported, and the others continue.
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

/// Prints the diagnostics of a program or of a file on standard error.
pub(super) fn print_diagnostics(path: &str, diagnostics: &Diagnostics) {
    for diagnostic in diagnostics {
        anstream::eprintln!("{}", paint::diagnostic(path, diagnostic));
    }
}

/// Returns the outcome for these diagnostics.
pub(super) fn outcome_of(diagnostics: &Diagnostics) -> Outcome {
    if diagnostics.has_errors() { Outcome::Finding } else { Outcome::Done }
}

/// Collects the results of `make` for each find of an input.
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
