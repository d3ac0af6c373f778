//! `unshade diff`: what is different between two programs.
//!
//! Functions that have changed are compared on all processors, a batch at a time, and told in the order of the first
//! library, so that memory is bounded whatever the size of the libraries.

mod print;

use super::ProgramJson;
use crate::Outcome;
use crate::args::{DiffArgs, GlobalArgs};
use crate::input::Input;
use crate::output::Stdout;
use crate::progress::Progress;
use anyhow::{Result, bail};
use print::{JsonWriter, TextWriter};
use rayon::prelude::*;
use std::collections::BTreeMap;
use unshade::carve::{Find, Limits};
use unshade::core::Diagnostics;
use unshade::diff::{ContainerDiff, FunctionChange, LibraryDiff, LineDiff, Pair};
use unshade::format::Format;
use unshade::llvm::bitstream;
use unshade::llvm::print::Dialect;
use unshade::metallib::Library;
use unshade::program::Program;

/// So many functions are compared before what came of them is printed.
const BATCH: usize = 256;

/// What takes the differences.
trait Writer {
    /// The two programs that are compared.
    fn begin(&mut self, before: &ProgramJson, after: &ProgramJson, identical: bool) -> Result<()>;
    /// A library that both have, before its functions.
    fn library(&mut self, slice: &str, diff: &LibraryDiff<'_>) -> Result<()>;
    /// A function of it.
    fn function(&mut self, kind: Kind, change: &FunctionChange) -> Result<()>;
    /// The end of its functions.
    fn end_library(&mut self) -> Result<()>;
    /// A slice that one of them has.
    fn slice(&mut self, slice: &str, is_new: bool) -> Result<()>;
    /// Two containers.
    fn container(&mut self, diff: &ContainerDiff) -> Result<()>;
    /// Two bitcode files.
    fn code(&mut self, diff: &LineDiff) -> Result<()>;
    /// The end.
    fn end(&mut self, is_empty: bool) -> Result<()>;
}

/// How a function of both libraries differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Renamed,
    Changed,
}

pub(crate) fn run(args: &DiffArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (before, after) = (Input::open(&args.before)?, Input::open(&args.after)?);
    let mut stdout = Stdout::new(!global.no_pager && !global.json && !args.stat);
    let limits = global.limits();
    let is_empty = {
        let mut writer: Box<dyn Writer> = if global.json {
            Box::new(JsonWriter::new(&mut stdout, args.stat))
        } else {
            Box::new(TextWriter::new(&mut stdout, args.stat))
        };
        compare(&before, &after, &limits, args.context, writer.as_mut())?
    };
    stdout.finish()?;
    Ok(if is_empty { Outcome::Done } else { Outcome::Finding })
}

/// Compares the program of one input with that of another; tells whether they are the same.
fn compare(
    before: &Input,
    after: &Input,
    limits: &Limits,
    context: usize,
    writer: &mut dyn Writer,
) -> Result<bool> {
    let is_bitcode = |input: &Input| bitstream::locate(input.bytes(), 0).is_ok();
    if is_bitcode(before) && is_bitcode(after) {
        let head = |input: &Input| ProgramJson::of_bitcode(&input.name, input.bytes().len() as u64);
        let identical = before.bytes() == after.bytes();
        writer.begin(&head(before), &head(after), identical)?;
        let diff = unshade::diff::bitcode(before.bytes(), after.bytes(), Dialect::Llvm14, context)?;
        writer.code(&diff)?;
        writer.end(diff.is_empty())?;
        return Ok(identical);
    }
    only_program(before, limits)?;
    only_program(after, limits)?;
    let mut identical = false;
    before.each_program(limits, |one| {
        after.each_program(limits, |two| {
            identical = compare_programs(one, two, context, writer)?;
            Ok(())
        })?;
        Ok(())
    })?;
    Ok(identical)
}

/// Fails unless there is exactly one program.
fn only_program(input: &Input, limits: &Limits) -> Result<()> {
    let mut count = 0u64;
    input.each_program(limits, |_| {
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
    Ok(())
}

fn compare_programs(one: &Find<'_>, two: &Find<'_>, context: usize, writer: &mut dyn Writer) -> Result<bool> {
    let (before, after) = (Program::open(one)?, Program::open(two)?);
    let identical = one.data == two.data;
    let (head, other_head) = (ProgramJson::new(one), ProgramJson::new(two));
    let has_libraries =
        |find: &Find<'_>| matches!(find.format, Format::MetalLibrary | Format::MetalUniversal);
    if one.format != two.format && !(has_libraries(one) && has_libraries(two)) {
        bail!("{} is a {}, {} a {}", head.path, head.format, other_head.path, other_head.format);
    }
    writer.begin(&head, &other_head, identical)?;
    let parts = match (&before, &after) {
        (Program::DxContainer(before), Program::DxContainer(after)) => {
            Some(ContainerDiff::new(before, after, context))
        }
        _ if has_libraries(one) => None,
        _ => Some(ContainerDiff::of_outlines(&before, &after, identical, context)),
    };
    let is_empty = match parts {
        Some(diff) => {
            writer.container(&diff)?;
            diff.parts.is_empty()
        }
        None => compare_libraries(&before, &after, context, writer)?,
    };
    writer.end(is_empty)?;
    Ok(identical)
}

/// Compares libraries by their slice; tells whether nothing has changed.
fn compare_libraries(
    before: &Program<'_>,
    after: &Program<'_>,
    context: usize,
    writer: &mut dyn Writer,
) -> Result<bool> {
    // What can't be read of a slice is for `verify` to tell.
    let libraries = |program: &Program<'_>| program.libraries(&mut Diagnostics::new()).len();
    let slices = |program: &_| -> BTreeMap<String, Library<'_>> { by_slice(program) };
    let is_single = libraries(before) == 1 && libraries(after) == 1;
    let (before, mut after) = (slices(before), slices(after));
    let mut is_empty = true;
    for (slice, library) in before {
        let other = if is_single { after.pop_first().map(|(_, other)| other) } else { after.remove(&slice) };
        let Some(other) = other else {
            writer.slice(&slice, false)?;
            is_empty = false;
            continue;
        };
        let diff = LibraryDiff::new(library, other);
        is_empty &= diff.is_empty();
        writer.library(&slice, &diff)?;
        each_change(&diff, Kind::Renamed, &diff.renamed, context, writer)?;
        each_change(&diff, Kind::Changed, &diff.changed, context, writer)?;
        writer.end_library()?;
    }
    for slice in after.keys() {
        writer.slice(slice, true)?;
        is_empty = false;
    }
    Ok(is_empty)
}

fn by_slice<'a>(program: &Program<'a>) -> BTreeMap<String, Library<'a>> {
    let named = program.libraries(&mut Diagnostics::new());
    named.into_iter().map(|named| (named.slice, named.library)).collect()
}

fn each_change(
    diff: &LibraryDiff<'_>,
    kind: Kind,
    pairs: &[Pair<'_>],
    context: usize,
    writer: &mut dyn Writer,
) -> Result<()> {
    let progress = Progress::new("comparing", pairs.len() as u64);
    for batch in pairs.chunks(BATCH) {
        let changes: Vec<FunctionChange> = batch.par_iter().map(|pair| diff.change(pair, context)).collect();
        progress.advance(batch.len() as u64);
        changes.iter().try_for_each(|change| writer.function(kind, change))?;
    }
    Ok(())
}
