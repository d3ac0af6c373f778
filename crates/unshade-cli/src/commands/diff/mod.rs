//! `unshade diff`: shows the differences between two programs.
//!
//! All processors compare changed functions, a batch at a time. The results are printed in the order of the first
//! library, so memory is bounded for libraries of any size.

mod print;

use super::programs::{ProgramJson, only_program};
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
use unshade::diff::{ContainerDiff, FunctionChange, LibraryDiff, Pair};
use unshade::metallib::Library;
use unshade::program::{NamedLibrary, Program, Verb};

/// Maximum number of functions that are compared before their results are printed.
const BATCH: usize = 256;

/// Writes the differences.
trait Writer {
    /// Writes the two programs that are compared.
    fn begin(&mut self, before: &ProgramJson, after: &ProgramJson, identical: bool) -> Result<()>;
    /// Writes the head of a library that both have.
    fn library(&mut self, slice: &str, diff: &LibraryDiff<'_>) -> Result<()>;
    /// Writes a function of the library.
    fn function(&mut self, kind: Kind, change: &FunctionChange) -> Result<()>;
    /// Ends the library's functions.
    fn end_library(&mut self) -> Result<()>;
    /// Writes a slice that only one program has.
    fn slice(&mut self, slice: &str, is_new: bool) -> Result<()>;
    /// Writes the differences of two programs made of parts or modules.
    fn container(&mut self, diff: &ContainerDiff) -> Result<()>;
    /// Ends the comparison.
    fn end(&mut self, is_empty: bool) -> Result<()>;
}

/// How code is compared.
#[derive(Clone, Copy)]
struct Code {
    /// Number of lines around a change.
    context: usize,
    /// Whether it is decompiled.
    is_source: bool,
}

impl Code {
    fn of(args: &DiffArgs) -> Self {
        Self { context: args.context, is_source: args.source }
    }

    fn change<'a>(self, diff: &LibraryDiff<'a>, pair: &Pair<'a>) -> FunctionChange {
        let mut change = diff.change(pair, self.context);
        if self.is_source && change.module_changed {
            match diff.source_change(pair, self.context) {
                Ok(code) => change.code = code,
                Err(error) => change.fault = Some(error.to_string()),
            }
        }
        change
    }
}

/// The differences of a function that both libraries have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Renamed,
    Changed,
}

pub(crate) fn run(args: &DiffArgs, global: &GlobalArgs) -> Result<Outcome> {
    if args.before == "-" && args.after == "-" {
        bail!("standard input can be only one of the two");
    }
    let (before, after) = (Input::open(&args.before)?, Input::open(&args.after)?);
    let mut stdout = Stdout::new(!global.no_pager && !global.json && !args.stat);
    let limits = global.limits();
    let is_empty = {
        let mut writer: Box<dyn Writer> = if global.json {
            Box::new(JsonWriter::new(&mut stdout, args.stat))
        } else {
            Box::new(TextWriter::new(&mut stdout, args.stat))
        };
        compare(&before, &after, &limits, Code::of(args), writer.as_mut())?
    };
    stdout.finish()?;
    Ok(if is_empty { Outcome::Done } else { Outcome::Finding })
}

/// Compares a program of one input with one of another. Returns whether they are the same.
fn compare(
    before: &Input,
    after: &Input,
    limits: &Limits,
    code: Code,
    writer: &mut dyn Writer,
) -> Result<bool> {
    only_program(before, Verb::Diff, limits, |one, before| {
        only_program(after, Verb::Diff, limits, |two, after| {
            compare_programs((one, before), (two, after), code, writer)
        })
    })
}

type Found<'f> = (&'f Find<'f>, &'f dyn Program);

fn compare_programs(
    (one, before): Found<'_>,
    (two, after): Found<'_>,
    code: Code,
    writer: &mut dyn Writer,
) -> Result<bool> {
    let identical = one.data == two.data;
    let (head, other_head) = (ProgramJson::new(one), ProgramJson::new(two));
    let has_libraries = !before.metal_libraries().is_empty() && !after.metal_libraries().is_empty();
    if one.format != two.format && !has_libraries {
        bail!("{} is a {}, {} a {}", head.path, head.format, other_head.path, other_head.format);
    }
    writer.begin(&head, &other_head, identical)?;
    let is_empty = if has_libraries {
        compare_libraries(before.metal_libraries(), after.metal_libraries(), code, writer)?
    } else {
        let mut diff = ContainerDiff::of_programs(before, after, identical, code.context);
        if code.is_source {
            diff.take_source(one.data, two.data, code.context)?;
        }
        writer.container(&diff)?;
        diff.parts.is_empty()
    };
    writer.end(is_empty)?;
    Ok(identical)
}

/// Compares libraries by their slice. Returns whether they are the same.
fn compare_libraries(
    before: &[NamedLibrary<'_>],
    after: &[NamedLibrary<'_>],
    code: Code,
    writer: &mut dyn Writer,
) -> Result<bool> {
    fn slices<'a>(libraries: &[NamedLibrary<'a>]) -> BTreeMap<String, Library<'a>> {
        libraries.iter().map(|named| (named.slice.clone(), named.library.clone())).collect()
    }
    let is_single = before.len() == 1 && after.len() == 1;
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
        each_change(&diff, Kind::Renamed, &diff.renamed, code, writer)?;
        each_change(&diff, Kind::Changed, &diff.changed, code, writer)?;
        writer.end_library()?;
    }
    for slice in after.keys() {
        writer.slice(slice, true)?;
        is_empty = false;
    }
    Ok(is_empty)
}

fn each_change(
    diff: &LibraryDiff<'_>,
    kind: Kind,
    pairs: &[Pair<'_>],
    code: Code,
    writer: &mut dyn Writer,
) -> Result<()> {
    let progress = Progress::new("comparing", pairs.len() as u64);
    for batch in pairs.chunks(BATCH) {
        let changes: Vec<FunctionChange> = batch.par_iter().map(|pair| code.change(diff, pair)).collect();
        progress.advance(batch.len() as u64);
        changes.iter().try_for_each(|change| writer.function(kind, change))?;
    }
    Ok(())
}
