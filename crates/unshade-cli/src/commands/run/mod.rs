//! `unshade run`: runs a kernel of a cubin in the emulator.

mod argument;

use super::programs::{each_program, require_selected};
use crate::Outcome;
use crate::args::{GlobalArgs, RunArgs};
use crate::input::Input;
use crate::output::{Stdout, write_file};
use crate::paint::{self, faint, grouped, name};
use anyhow::{Context, Result, anyhow, bail};
use argument::{Given, Scalar};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use unshade::nv::function::Function;
use unshade::nv_units::{Unit, each_unit};
use unshade::program::{Code, CodeRequest, Verb};
use unshade::sass_listing::instruction_set;
use unshade::select::{Selection, Selector};
use unshade::view::SCHEMA;
use unshade_emulate::{Argument, Device, DevicePointer, Fault, Grid, Limits, Module, Step, Summary};

/// A buffer from the arguments.
struct Buffer {
    parameter: usize,
    pointer: DevicePointer,
    size: usize,
    scalar: Option<Scalar>,
}

/// The output of a buffer after the run: `--out N=print` or `--out N=PATH`.
struct Wanted<'a> {
    parameter: usize,
    path: Option<&'a Path>,
}

pub(crate) fn run(args: &RunArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (cubin, kernel) = find_cubin(args, global)?;
    let mut device = Device::new();
    device.limit_memory(args.memory);
    let module = load(&mut device, &cubin, args.memory)?;
    let kernel = find_kernel(&module, &kernel)?;
    let (arguments, buffers) = place_arguments(&module, &mut device, &kernel, &args.arguments)?;
    let wanted = args.out.iter().map(|text| wanted(text, &buffers)).collect::<Result<Vec<_>>>()?;
    for wanted in &wanted {
        if let Some(path) = wanted.path {
            crate::output::ensure_free(path, args.force)?;
        }
    }
    let grid = Grid { blocks: args.grid.0, threads: args.block.0, shared: args.shared };
    let limits = Limits {
        steps: args.steps,
        time: args.time,
        stack: args.stack,
        local: u32::try_from(args.local).unwrap_or(u32::MAX),
        ordered: args.ordered,
        ..Limits::default()
    };
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let mut broken = Ok(());
    let mut trace = |step: &Step<'_>| {
        if broken.is_ok() {
            broken = print_step(step, args, &mut stdout);
        }
    };
    let traced: Option<&mut dyn FnMut(&Step<'_>)> = if args.trace { Some(&mut trace) } else { None };
    let result = module.launch(&mut device, &kernel, grid, &arguments, limits, traced);
    broken?;
    let printed = device.take_printed();
    if global.json {
        json(&kernel, &result, &printed, &wanted, &buffers, &mut device, &mut stdout)?;
    } else {
        stdout.write_all(&printed)?;
        report(&result, &kernel, &mut stdout)?;
    }
    for wanted in &wanted {
        let Some(buffer) = buffers.iter().find(|buffer| buffer.parameter == wanted.parameter) else {
            continue;
        };
        let bytes = device.read(buffer.pointer, buffer.size)?;
        match wanted.path {
            Some(path) => write_file(path, args.force, &bytes)?,
            None if !global.json => print_buffer(buffer, &bytes, &mut stdout)?,
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

/// Returns the first cubin with known code and a matching kernel, and the kernel's name.
fn find_cubin(args: &RunArgs, global: &GlobalArgs) -> Result<(Vec<u8>, String)> {
    let input = Input::open(&args.file)?;
    let selector = Selector::parse(&args.kernel).map_err(|fault| anyhow!(fault))?;
    let is_wanted = |function: &Function<'_>| match &selector {
        Selector::Index(index) => function.index == *index,
        _ => is_selected(function.name(), &args.kernel),
    };
    let (mut found, mut has_name) = (None, false);
    let mut chips = Vec::new();
    each_program(&input, Verb::Run, &global.limits(), |mut visited| {
        let (selection, path) = (Selection::default(), visited.find.path.to_string());
        let request = CodeRequest { selection: &selection, part: None, path: &path };
        let Some(program) = visited.program else { return Ok(()) };
        let Code::Machine(nvidia) = program.code(&request, &mut visited.diagnostics) else { return Ok(()) };
        each_unit(nvidia, false, &mut visited.diagnostics, &mut |_, unit| {
            let Unit::Cubin(cubin) = unit else { return };
            chips.push(cubin.arch());
            let known = instruction_set(cubin).is_some() && args.sm.is_none_or(|sm| sm == cubin.arch());
            let function = cubin.functions().find(is_wanted);
            has_name |= function.is_some();
            if let (true, None, Some(function)) = (known, &found, function) {
                let name = match &selector {
                    Selector::Index(_) => String::from_utf8_lossy(function.name()).into_owned(),
                    _ => args.kernel.clone(),
                };
                found = Some((cubin.file().data().to_vec(), name));
            }
        });
        Ok(())
    })?;
    if !has_name && !chips.is_empty() {
        let selection = Selection { selectors: vec![selector], ..Selection::default() };
        require_selected(std::slice::from_ref(&input), &selection, Verb::Run, &global.limits())?;
    }
    chips.sort_unstable();
    chips.dedup();
    let chips: Vec<String> = chips.iter().map(|chip| format!("sm_{chip}")).collect();
    found.with_context(|| {
        format!(
            "{}: no cubin of sm_30 to sm_37 has a kernel {} (there are cubins of: {}); `unshade list` shows what there is",
            input.name,
            args.kernel,
            if chips.is_empty() { "no chip".into() } else { chips.join(", ") }
        )
    })
}

/// Returns whether a name, mangled or not, is the requested one.
fn is_selected(mangled: &[u8], wanted: &str) -> bool {
    if mangled == wanted.as_bytes() {
        return true;
    }
    let Some(readable) = unshade::demangle(mangled) else { return false };
    // The result type precedes the names of templates.
    let readable = readable.strip_prefix("void ").unwrap_or(&readable);
    readable == wanted
        || readable.split('(').next() == Some(wanted)
        || readable.split(['(', '<']).next() == Some(wanted)
}

fn find_kernel(module: &Module, wanted: &str) -> Result<String> {
    let kernels = module.kernels();
    if kernels.iter().any(|kernel| kernel.name == wanted) {
        return Ok(wanted.to_owned());
    }
    let meant: Vec<&str> = kernels
        .iter()
        .map(|kernel| kernel.name.as_str())
        .filter(|kernel| is_selected(kernel.as_bytes(), wanted))
        .collect();
    match meant.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => bail!("{wanted} is no kernel but a function that kernels call"),
        several => bail!("{wanted} may be any of: {}", several.join(", ")),
    }
}

/// Loads the cubin. One with 32-bit addresses needs memory at such addresses.
fn load(device: &mut Device, cubin: &[u8], memory: u64) -> Result<Module> {
    let module = Module::load(device, cubin)?;
    if module.has_64_bit_addresses() {
        return Ok(module);
    }
    *device = Device::with_32_bit_addresses();
    device.limit_memory(memory);
    Ok(Module::load(device, cubin)?)
}

fn place_arguments(
    module: &Module,
    device: &mut Device,
    kernel: &str,
    texts: &[String],
) -> Result<(Vec<Argument>, Vec<Buffer>)> {
    let parameters = module.kernel(kernel).map_or(&[][..], |kernel| kernel.parameters.as_slice());
    if parameters.len() != texts.len() {
        let sizes: Vec<String> = parameters.iter().map(|parameter| parameter.1.size.to_string()).collect();
        bail!(
            "{kernel} takes {} arguments, of {} bytes; --arg was given {} times",
            parameters.len(),
            if sizes.is_empty() { "no".into() } else { sizes.join(", ") },
            texts.len()
        );
    }
    let mut arguments = Vec::new();
    let mut buffers = Vec::new();
    for (index, (text, (_, parameter))) in texts.iter().zip(parameters).enumerate() {
        let size = usize::from(parameter.size);
        let bytes = match argument::read(text)? {
            Given::Value(bytes) => bytes,
            Given::Number(number) => argument::number(&number, size)
                .with_context(|| format!("--arg '{text}' for parameter {index}"))?,
            Given::Buffer(scalar, bytes) => {
                let pointer =
                    device.allocate(bytes.len() as u64, &format!("the buffer of parameter {index}"))?;
                device.write(pointer, &bytes)?;
                buffers.push(Buffer { parameter: index, pointer, size: bytes.len(), scalar });
                pointer.0.to_le_bytes().get(..size.min(8)).unwrap_or_default().to_vec()
            }
        };
        if bytes.len() != size {
            bail!("parameter {index} has {size} bytes, --arg '{text}' {}", bytes.len());
        }
        arguments.push(Argument(bytes));
    }
    Ok((arguments, buffers))
}

fn wanted<'a>(text: &'a str, buffers: &[Buffer]) -> Result<Wanted<'a>> {
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
fn print_buffer(buffer: &Buffer, bytes: &[u8], stdout: &mut Stdout) -> Result<()> {
    let scalar = buffer.scalar.unwrap_or(Scalar::Unsigned(1));
    let per_line = if buffer.scalar.is_some() { 8 } else { 16 };
    writeln!(stdout, "parameter {}: {}[{}]", buffer.parameter, scalar.name(), bytes.len() / scalar.size())?;
    for (line, numbers) in bytes.chunks(per_line * scalar.size()).enumerate() {
        write!(stdout, "  {}", faint(format!("{:>6}", line * per_line)))?;
        for number in numbers.chunks_exact(scalar.size()) {
            if buffer.scalar.is_some() {
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

fn json(
    kernel: &str,
    result: &Result<Summary, Fault>,
    printed: &[u8],
    wanted: &[Wanted<'_>],
    buffers: &[Buffer],
    device: &mut Device,
    stdout: &mut Stdout,
) -> Result<()> {
    let mut shown = Vec::new();
    for wanted in wanted.iter().filter(|wanted| wanted.path.is_none()) {
        let Some(buffer) = buffers.iter().find(|buffer| buffer.parameter == wanted.parameter) else {
            continue;
        };
        let scalar = buffer.scalar.unwrap_or(Scalar::Unsigned(1));
        let bytes = device.read(buffer.pointer, buffer.size)?;
        let values = bytes.chunks_exact(scalar.size()).map(|number| scalar.show(number)).collect();
        shown.push(BufferJson { parameter: buffer.parameter, ty: scalar.name(), values });
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
