//! Kernels of Metal: what they are given, and the run.

use super::{BufferJson, READER, print_buffer};
use crate::Outcome;
use crate::args::{GlobalArgs, LaunchArgs, RunArgs};
use crate::commands::programs::{each_program, require_selected};
use crate::input::Input;
use crate::output::{Stdout, ensure_free, write_file};
use crate::paint::{self, grouped, name};
use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use unshade::carve::format::Format;
use unshade::decompiler::ir::metal::interface::{FunctionKind, MetalFunction, MetalProgram};
use unshade::disassembly::Unit;
use unshade::msl;
use unshade::program::{Code, CodeRequest, ModuleGroup, Verb};
use unshade::run::metal::{self, is_given, shown};
use unshade::select::{Selection, Selector};
use unshade::view::{SCHEMA, distinct_modules};
use unshade_emulate::argument::Scalar;
use unshade_emulate::metal::{Argument, Buffer, Fault, Grid, Limits, Machine, Summary, Undefined};

/// The formats that have nothing else to run.
const METAL: [Format; 3] = [Format::MetalLibrary, Format::MetalUniversal, Format::Bitcode];

/// A kernel and its module.
pub(super) struct Found {
    path: String,
    program: MetalProgram,
    kernel: String,
}

/// A buffer of an argument.
struct PlacedBuffer {
    /// The number of the argument.
    number: usize,
    buffer: Buffer,
    scalar: Option<Scalar>,
}

/// Returns the first kernel with the name in a file of Metal; `None` if the file has no Metal.
pub(super) fn find(args: &LaunchArgs, global: &GlobalArgs) -> Result<Option<Found>> {
    let input = Input::open(&args.file)?;
    let selector = args.kernel.as_deref().map(Selector::parse).transpose().map_err(|fault| anyhow!(fault))?;
    let selection = Selection { selectors: selector.into_iter().collect(), ..Selection::default() };
    let (mut found, mut has_metal, mut fault) = (None, false, None);
    each_program(&input, Verb::Run, &global.limits(), |mut visited| {
        let path = visited.find.path.to_string();
        let request = CodeRequest { selection: &selection, part: None, path: &path };
        let Some(program) = visited.program.filter(|_| METAL.contains(&visited.find.format)) else {
            return Ok(());
        };
        has_metal = true;
        if let Code::Modules(groups) = program.code(&request, &mut visited.diagnostics)
            && found.is_none()
        {
            match in_modules(&groups, &path, &selection) {
                Ok(one) => found = one,
                Err(error) => fault = Some(error),
            }
        }
        Ok(())
    })?;
    match (found, has_metal) {
        (Some(found), _) => Ok(Some(found)),
        (None, _) if fault.is_some() => Err(fault.unwrap_or_else(|| anyhow!("no module could be read"))),
        (None, false) => Ok(None),
        (None, true) if args.kernel.is_none() => bail!("which kernel? `unshade list` shows what there is"),
        (None, true) => {
            require_selected(std::slice::from_ref(&input), &selection, Verb::Run, &global.limits())?;
            bail!("{}: {} is no kernel", input.name, args.kernel.as_deref().unwrap_or_default())
        }
    }
}

/// Returns the first selected kernel of the modules of a program.
fn in_modules(groups: &[ModuleGroup<'_>], path: &str, selection: &Selection) -> Result<Option<Found>> {
    for (unit, _) in groups.iter().flat_map(distinct_modules) {
        let is_library = matches!(unit, Unit::Function { .. });
        let module = unit.open().with_context(|| path.to_owned())?;
        if !unshade::air::is_air(&module) {
            continue;
        }
        let program = msl::lift(&module);
        let is_wanted = |function: &MetalFunction| {
            let index = unit.index_of(function.number as usize, function.name.as_bytes());
            function.kind == Some(FunctionKind::Kernel)
                && (is_library || selection.matches_name(index, function.name.as_bytes()))
        };
        let wanted: Vec<&MetalFunction> =
            program.functions.iter().filter(|function| is_wanted(function)).collect();
        let kernel = match &wanted[..] {
            [kernel] => Some(kernel.name.clone()),
            [first, ..] if !selection.is_everything() => Some(first.name.clone()),
            _ => None,
        };
        if let Some(kernel) = kernel.filter(|_| !is_library || !selection.is_everything()) {
            return Ok(Some(Found { path: path.to_owned(), program, kernel }));
        }
    }
    Ok(None)
}

/// Runs a kernel and prints what is asked for.
pub(super) fn run(found: &Found, args: &RunArgs, global: &GlobalArgs) -> Result<Outcome> {
    let Found { path, program, kernel } = found;
    if args.trace || args.ordered || !args.bind.is_empty() || !args.input.is_empty() {
        bail!("{path}: kernels of Metal have --arg and --constant, and no trace");
    }
    let memory = usize::try_from(args.launch.memory).unwrap_or(usize::MAX);
    let depth = args.launch.stack.min(MAX_DEPTH);
    let mut machine = Machine::new(program, Limits { steps: args.launch.steps, memory, depth });
    for text in &args.constant {
        set_constant(&mut machine, program, text).with_context(|| format!("--constant '{text}'"))?;
    }
    let info = program.functions.iter().find(|function| function.name == *kernel).context("no kernel")?;
    let (arguments, buffers) = arguments(&mut machine, program, info, &args.launch.arguments)?;
    let wanted = args.out.iter().map(|text| wanted(text, &buffers)).collect::<Result<Vec<_>>>()?;
    for path in wanted.iter().filter_map(|wanted| wanted.1) {
        ensure_free(path, args.force)?;
    }
    let grid = Grid { groups: args.launch.grid.0, threads: args.launch.block.0 };
    let result = machine.run(kernel, grid, &arguments);
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    if global.json {
        stdout.json(&json(kernel, &result, &wanted, &machine), false)?;
    } else if let Ok(Summary { groups, threads, steps, .. }) = &result {
        let [groups, threads, steps] = [*groups, *threads, *steps].map(grouped);
        writeln!(stdout, "{}   {groups} threadgroups, {threads} threads, {steps} steps", name(kernel))?;
    }
    for (given, to) in &wanted {
        let bytes = machine.bytes(given.buffer);
        match to {
            Some(path) => write_file(path, args.force, bytes)?,
            None if !global.json => print_buffer(given.number, given.scalar, bytes, &mut stdout)?,
            None => {}
        }
    }
    stdout.finish()?;
    Ok(conclude(path, &result))
}

/// The most calls inside each other.
const MAX_DEPTH: usize = 256;

/// Prints a fault, and what the language leaves open.
fn conclude(path: &str, result: &Result<Summary, Fault>) -> Outcome {
    match result {
        Err(fault) => {
            anstream::eprintln!("{}: {}: {fault}", paint::error("unshade"), path.escape_debug());
            Outcome::Finding
        }
        Ok(summary) => {
            if !summary.undefined.is_empty() {
                let undefined = summary.undefined;
                let path = path.escape_debug();
                anstream::eprintln!("unshade: note: {path}: Metal leaves these results open: {undefined}");
            }
            Outcome::Done
        }
    }
}

/// Gives a function constant a value: `3=true`, `name=0.5`.
fn set_constant(machine: &mut Machine<'_>, program: &MetalProgram, text: &str) -> Result<()> {
    let (which, value) = text.split_once('=').context("INDEX=NUMBER or NAME=NUMBER")?;
    metal::set_constant(machine, program, which, value, &READER).map_err(|fault| anyhow!(fault))
}

/// Places the values of `--arg`. Positions in the grid have none.
fn arguments(
    machine: &mut Machine<'_>,
    program: &MetalProgram,
    info: &MetalFunction,
    texts: &[String],
) -> Result<(Vec<Argument>, Vec<PlacedBuffer>)> {
    let given = info.parameters.iter().filter(|parameter| is_given(parameter));
    let names: Vec<String> = given.map(shown).collect();
    if names.len() != texts.len() {
        bail!(
            "{} takes {} arguments ({}); --arg was given {} times",
            info.name,
            names.len(),
            if names.is_empty() { "none".into() } else { names.join(", ") },
            texts.len()
        );
    }
    let (mut arguments, mut buffers) = (Vec::new(), Vec::new());
    let mut texts = texts.iter().enumerate();
    for parameter in &info.parameters {
        let Some((number, text)) = is_given(parameter).then(|| texts.next()).flatten() else {
            arguments.push(Argument::Position);
            continue;
        };
        let (argument, scalar) = metal::place(machine, program, parameter, text, &READER)
            .map_err(|fault| anyhow!("--arg '{text}' for {}: {fault}", shown(parameter)))?;
        if let Argument::Buffer(buffer) = argument {
            buffers.push(PlacedBuffer { number, buffer, scalar });
        }
        arguments.push(argument);
    }
    Ok((arguments, buffers))
}

/// Parses `1=print` or `1=PATH`.
fn wanted<'a, 'b>(
    text: &'a str,
    buffers: &'b [PlacedBuffer],
) -> Result<(&'b PlacedBuffer, Option<&'a Path>)> {
    let (number, to) = text.split_once('=').with_context(|| format!("--out '{text}': N=print or N=PATH"))?;
    let number: usize = number.parse().with_context(|| format!("--out '{text}': no number of an --arg"))?;
    let found = buffers.iter().find(|given| given.number == number);
    let found = found.with_context(|| format!("--out '{text}': --arg {number} is no buffer"))?;
    Ok((found, (to != "print").then(|| Path::new(to))))
}

#[derive(Serialize)]
struct MetalJson<'a> {
    schema: u32,
    kernel: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    threadgroups: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    /// What the language leaves open, and how often.
    undefined: Vec<UndefinedJson>,
    buffers: Vec<BufferJson>,
}

#[derive(Serialize)]
struct UndefinedJson {
    what: &'static str,
    count: u64,
}

fn json<'a>(
    kernel: &'a str,
    result: &Result<Summary, Fault>,
    wanted: &[(&PlacedBuffer, Option<&Path>)],
    machine: &Machine<'_>,
) -> MetalJson<'a> {
    let summary = result.as_ref().ok();
    let undefined = summary.map_or_else(Undefined::default, |summary| summary.undefined);
    let printed = wanted.iter().filter(|wanted| wanted.1.is_none());
    MetalJson {
        schema: SCHEMA,
        kernel,
        threadgroups: summary.map(|summary| summary.groups),
        threads: summary.map(|summary| summary.threads),
        steps: summary.map(|summary| summary.steps),
        fault: result.as_ref().err().map(Fault::to_string),
        undefined: undefined.rows().map(|(what, count)| UndefinedJson { what, count }).collect(),
        buffers: printed
            .map(|(given, _)| BufferJson::new(given.number, given.scalar, machine.bytes(given.buffer)))
            .collect(),
    }
}
