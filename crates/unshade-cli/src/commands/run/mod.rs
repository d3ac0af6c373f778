//! `unshade run`: runs a kernel of a cubin in the emulator; a shader or a kernel of Metal in an interpreter.

pub(crate) mod launch;
mod metal;
mod shader;
mod shader_view;

use crate::Outcome;
use crate::args::{GlobalArgs, RunArgs};
use crate::output::{Stdout, write_file};
use crate::paint::{self, faint, grouped, name};
use anyhow::{Context, Result, bail};
use launch::Launch;
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use unshade::program::Verb;
use unshade::run::cubin::PlacedBuffer;
use unshade::view::SCHEMA;
use unshade_emulate::argument::{Reader, Scalar};
use unshade_emulate::{Device, Fault, Limits, Step, Summary};

/// Maximum size of a buffer.
const MAX_BUFFER: u64 = 1 << 32;

/// Parses the values of `--arg` and `--bind`. Their files are paths.
pub(crate) const READER: Reader<'static> = Reader {
    most_bytes: MAX_BUFFER,
    file: &|path| std::fs::read(path).map_err(|error| format!("can't read {path}: {error}")),
};

/// The output of a buffer after the run: `--out N=print` or `--out N=PATH`.
struct Wanted<'a> {
    parameter: usize,
    path: Option<&'a Path>,
}

pub(crate) fn run(args: &RunArgs, global: &GlobalArgs) -> Result<Outcome> {
    if let Some((path, program)) = shader::find(&args.launch, global)? {
        return shader::run(&path, &program, args, global);
    }
    if let Some(found) = metal::find(&args.launch, global)? {
        return metal::run(&found, args, global);
    }
    if !args.constant.is_empty() {
        bail!("only kernels of Metal have function constants");
    }
    let mut launch = Launch::new(&args.launch, Verb::Run, global)?;
    let Launch { device, module, kernel, buffers, grid, arguments, limits, .. } = &mut launch;
    let wanted = args.out.iter().map(|text| wanted(text, buffers)).collect::<Result<Vec<_>>>()?;
    for wanted in &wanted {
        if let Some(path) = wanted.path {
            crate::output::ensure_free(path, args.force)?;
        }
    }
    let limits = Limits { ordered: args.ordered, ..*limits };
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let mut broken = Ok(());
    let mut trace = |step: &Step<'_>| {
        if broken.is_ok() {
            broken = print_step(step, args, &mut stdout);
        }
    };
    let traced: Option<&mut dyn FnMut(&Step<'_>)> = if args.trace { Some(&mut trace) } else { None };
    let result = module.launch(device, kernel, *grid, arguments, limits, traced);
    broken?;
    let printed = device.take_printed();
    if global.json {
        json(kernel, &result, &printed, &wanted, buffers, device, &mut stdout)?;
    } else {
        stdout.write_all(&printed)?;
        report(&result, kernel, &mut stdout)?;
    }
    for wanted in &wanted {
        let Some(buffer) = buffers.iter().find(|buffer| buffer.parameter == wanted.parameter) else {
            continue;
        };
        let bytes = device.read(buffer.pointer, buffer.size)?;
        match wanted.path {
            Some(path) => write_file(path, args.force, &bytes)?,
            None if !global.json => print_buffer(buffer.parameter, buffer.scalar, &bytes, &mut stdout)?,
            None => {}
        }
    }
    stdout.finish()?;
    if let Err(fault) = &result {
        anstream::eprintln!("{}: {fault}", paint::error("unshade"));
        return Ok(Outcome::Finding);
    }
    Ok(Outcome::Done)
}

fn wanted<'a>(text: &'a str, buffers: &[PlacedBuffer]) -> Result<Wanted<'a>> {
    let (number, to) = text.split_once('=').with_context(|| format!("--out '{text}': N=print or N=PATH"))?;
    let parameter: usize =
        number.parse().with_context(|| format!("--out '{text}': no number of a parameter"))?;
    if !buffers.iter().any(|buffer| buffer.parameter == parameter) {
        bail!("--out '{text}': parameter {parameter} was given no buffer");
    }
    Ok(Wanted { parameter, path: (to != "print").then(|| Path::new(to)) })
}

fn report(result: &Result<Summary, Fault>, kernel: &str, stdout: &mut Stdout) -> Result<()> {
    if let Ok(summary) = result {
        let shown = unshade::demangle(kernel.as_bytes()).unwrap_or_else(|| kernel.to_owned());
        writeln!(
            stdout,
            "{}   {} blocks, {} instructions of warps",
            name(shown),
            grouped(summary.blocks),
            grouped(summary.steps)
        )?;
    }
    Ok(())
}

/// Prints the numbers of a buffer, in lines that start with the index of the first.
fn print_buffer(parameter: usize, known: Option<Scalar>, bytes: &[u8], stdout: &mut Stdout) -> Result<()> {
    let scalar = known.unwrap_or(Scalar::Unsigned(1));
    let per_line = if known.is_some() { 8 } else { 16 };
    writeln!(stdout, "parameter {parameter}: {}[{}]", scalar.name(), bytes.len() / scalar.size())?;
    for (line, numbers) in bytes.chunks(per_line * scalar.size()).enumerate() {
        write!(stdout, "  {}", faint(format!("{:>6}", line * per_line)))?;
        for number in numbers.chunks_exact(scalar.size()) {
            if known.is_some() {
                write!(stdout, " {:>12}", scalar.show(number))?;
            } else {
                write!(stdout, " {:02x}", number.first().copied().unwrap_or(0))?;
            }
        }
        writeln!(stdout)?;
    }
    Ok(())
}

/// Prints an executed instruction: block, warp, address, lanes, and the value of its destination for a lane.
fn print_step(step: &Step<'_>, args: &RunArgs, stdout: &mut Stdout) -> Result<()> {
    if args.trace_warp.is_some_and(|warp| warp != step.warp) {
        return Ok(());
    }
    let lane = args.trace_lane.unwrap_or_else(|| step.active.trailing_zeros()) & 31;
    if step.active >> lane & 1 == 0 {
        return Ok(());
    }
    let [x, y, z] = step.block;
    let mut text = step.instruction.text(step.address);
    text.push(';');
    let place = format!("({x},{y},{z}) {:>2} {:08x} {:04x}", step.warp, step.active, step.address);
    let stack = "  ".repeat(step.depth.min(16));
    let mut written = String::new();
    for register in step.written() {
        let value = step.registers.general(usize::from(register), lane as usize);
        written.push_str(&format!(" R{register}={value:#x}"));
    }
    for predicate in step.written_predicates() {
        let value = step.registers.predicate(usize::from(predicate)) >> lane & 1;
        written.push_str(&format!(" P{predicate}={value}"));
    }
    let line = format!("{stack}{text:<48}{written}");
    write!(stdout, "{}  {}", faint(place), line.trim_end())?;
    writeln!(stdout)?;
    Ok(())
}

#[derive(Serialize)]
struct RunJson<'a> {
    schema: u32,
    kernel: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    printed: String,
    buffers: Vec<BufferJson>,
}

#[derive(Serialize)]
struct BufferJson {
    parameter: usize,
    #[serde(rename = "type")]
    ty: String,
    values: Vec<String>,
}

impl BufferJson {
    fn new(parameter: usize, known: Option<Scalar>, bytes: &[u8]) -> Self {
        let scalar = known.unwrap_or(Scalar::Unsigned(1));
        let values = bytes.chunks_exact(scalar.size()).map(|number| scalar.show(number)).collect();
        Self { parameter, ty: scalar.name(), values }
    }
}

fn json(
    kernel: &str,
    result: &Result<Summary, Fault>,
    printed: &[u8],
    wanted: &[Wanted<'_>],
    buffers: &[PlacedBuffer],
    device: &mut Device,
    stdout: &mut Stdout,
) -> Result<()> {
    let mut shown = Vec::new();
    for wanted in wanted.iter().filter(|wanted| wanted.path.is_none()) {
        let Some(buffer) = buffers.iter().find(|buffer| buffer.parameter == wanted.parameter) else {
            continue;
        };
        let bytes = device.read(buffer.pointer, buffer.size)?;
        shown.push(BufferJson::new(buffer.parameter, buffer.scalar, &bytes));
    }
    let summary = result.as_ref().ok();
    let json = RunJson {
        schema: SCHEMA,
        kernel,
        blocks: summary.map(|summary| summary.blocks),
        instructions: summary.map(|summary| summary.steps),
        fault: result.as_ref().err().map(Fault::to_string),
        printed: String::from_utf8_lossy(printed).into_owned(),
        buffers: shown,
    };
    stdout.json(&json, false)
}
