//! Visits the code of an input's programs, and processes modules in batches.

use super::super::programs::{ProgramJson, each_program_quietly, print_diagnostics};
use crate::args::DisassembleArgs;
use crate::input::Input;
use crate::paint;
use crate::progress::Progress;
use crate::runner::in_parallel;
use anyhow::Result;
use unshade::carve::Limits;
use unshade::core::{Diagnostics, FourCc};
use unshade::disassembly::Unit;
use unshade::program::{Code, CodeRequest, Verb};
use unshade::select::Selection;

/// Maximum number of modules that are processed before their results are written.
const BATCH: usize = 256;

/// A program with its code.
pub(super) struct Opened<'a> {
    pub(super) head: ProgramJson,
    pub(super) code: Code<'a>,
    pub(super) diagnostics: Diagnostics,
}

/// The requested code of an input.
#[derive(Clone, Copy)]
pub(super) struct Request<'r> {
    pub(super) verb: Verb,
    pub(super) selection: &'r Selection,
    pub(super) args: &'r DisassembleArgs,
    pub(super) limits: &'r Limits,
}

/// Reports that there was nothing to print.
pub(super) fn report_nothing(input: &Input, selection: &Selection) {
    let what = if selection.is_everything() { "no code that can be read" } else { "no function matches" };
    anstream::eprintln!("{}: {}: {what}", paint::error("unshade"), input.name);
}

/// Visits every program of an input, and prints the file's diagnostics on standard error.
pub(super) fn each_code(
    input: &Input,
    request: Request<'_>,
    visit: impl FnMut(Opened<'_>) -> Result<()>,
) -> Result<Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let result = each_code_quietly(input, request, &mut diagnostics, visit);
    print_diagnostics(&input.name, &diagnostics);
    result.map(|()| diagnostics)
}

/// Visits every program of an input; the file's diagnostics are added to `diagnostics`.
pub(super) fn each_code_quietly(
    input: &Input,
    request: Request<'_>,
    diagnostics: &mut Diagnostics,
    mut visit: impl FnMut(Opened<'_>) -> Result<()>,
) -> Result<()> {
    each_program_quietly(input, request.verb, request.limits, diagnostics, |visited| {
        let head = ProgramJson::new(visited.find);
        let mut diagnostics = visited.diagnostics;
        let path = head.path.clone();
        let wanted =
            CodeRequest { selection: request.selection, part: request.args.part.map(FourCc), path: &path };
        let code = match visited.program {
            Some(program) => program.code(&wanted, &mut diagnostics),
            None => Code::Unread,
        };
        visit(Opened { head, code, diagnostics })
    })
}

/// Calls `make` for every module on all processors, and passes the results to `take` in the modules' order.
pub(super) fn in_batches<T: Send>(
    units: &[Unit<'_>],
    what: &'static str,
    make: impl Fn(&Unit<'_>) -> T + Sync,
    mut take: impl FnMut(&Unit<'_>, T) -> Result<()>,
) -> Result<()> {
    let progress = Progress::new(what, units.len() as u64);
    for batch in units.chunks(BATCH) {
        let made = in_parallel(batch.len(), |at| make(&batch[at]));
        for (unit, made) in batch.iter().zip(made) {
            progress.advance(1);
            take(unit, made)?;
        }
    }
    Ok(())
}
