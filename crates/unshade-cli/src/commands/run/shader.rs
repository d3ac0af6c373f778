//! Shaders of DXIL and DXBC: what they are given, and the run.

use super::{READER, shader_view};
use crate::Outcome;
use crate::args::{GlobalArgs, LaunchArgs, RunArgs};
use crate::commands::programs::each_program;
use crate::input::Input;
use crate::output::{Stdout, write_file};
use crate::paint;
use anyhow::{Context, Result, anyhow, bail};
use std::path::Path;
use unshade::carve::format::Format;
use unshade::decompiler::ir::shader::interface::{ResourceClass, ShaderProgram};
use unshade::dxcontainer::Container;
use unshade::hlsl;
use unshade::program::Verb;
use unshade::run::shader;
use unshade_emulate::argument::Scalar;
use unshade_emulate::shader::{Inputs, Limits, Outputs, Register, run as interpret};

/// A register that is printed or written after the run.
pub(super) struct Wanted<'a> {
    pub(super) register: Register,
    pub(super) path: Option<&'a Path>,
    /// The type of the numbers, from what was bound there.
    pub(super) scalar: Option<Scalar>,
}

/// Returns the first shader of a file with its path, if no kernel is named and there is one.
pub(super) fn find(args: &LaunchArgs, global: &GlobalArgs) -> Result<Option<(String, ShaderProgram)>> {
    if args.kernel.is_some() {
        return Ok(None);
    }
    let input = Input::open(&args.file)?;
    let mut found = None;
    each_program(&input, Verb::Run, &global.limits(), |visited| {
        if visited.find.format == Format::DxContainer && found.is_none() {
            let program = Container::parse(visited.find.data).and_then(|container| hlsl::lift(&container));
            found = Some((visited.find.path.to_string(), program));
        }
        Ok(())
    })?;
    let Some((path, program)) = found else { return Ok(None) };
    let program = program.with_context(|| path.clone())?;
    Ok(Some((path, program)))
}

/// Runs a shader and prints what it writes.
pub(super) fn run(
    path: &str,
    program: &ShaderProgram,
    args: &RunArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    if !args.launch.arguments.is_empty() {
        bail!("{path}: shaders have no parameters: --bind sets registers, --input inputs");
    }
    let mut inputs = Inputs::generated(program, args.seed);
    inputs.groups = args.launch.grid.0;
    inputs.count = args.count;
    let mut types = Vec::new();
    for text in &args.bind {
        let (register, scalar, bytes) = bound(text).with_context(|| format!("--bind '{text}'"))?;
        types.push((register, scalar));
        inputs.set_bytes(register, bytes);
    }
    for text in &args.input {
        let (semantic, index, numbers) = input(text).with_context(|| format!("--input '{text}'"))?;
        if !shader::has_input(program, &semantic) {
            bail!("--input '{text}': the shader has no such input");
        }
        inputs.set_input(&semantic, index, numbers);
    }
    let wanted = args.out.iter().map(|text| wanted(text, &types)).collect::<Result<Vec<_>>>()?;
    for path in wanted.iter().filter_map(|wanted| wanted.path) {
        crate::output::ensure_free(path, args.force)?;
    }
    let memory = usize::try_from(args.launch.memory).unwrap_or(usize::MAX);
    let limits = Limits { steps: args.launch.steps, memory, depth: args.launch.stack };
    let outputs = match interpret(program, &inputs, limits) {
        Ok(outputs) => outputs,
        Err(fault) => {
            anstream::eprintln!("{}: {path}: {fault}", paint::error("unshade"));
            return Ok(Outcome::Finding);
        }
    };
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    if global.json {
        stdout.json(&shader_view::json(program, &outputs, &wanted), false)?;
    } else {
        shader_view::print(program, &outputs, &wanted, &mut stdout)?;
    }
    for wanted in &wanted {
        let Some(path) = wanted.path else { continue };
        write_file(path, args.force, &contents(&outputs, wanted.register)?)?;
    }
    stdout.finish()?;
    Ok(Outcome::Done)
}

/// Returns the bytes of a buffer that the shader wrote.
fn contents(outputs: &Outputs, register: Register) -> Result<Vec<u8>> {
    match outputs.buffers.get(&register) {
        Some(bytes) => Ok(bytes.clone()),
        None if outputs.texels.contains_key(&register) => {
            bail!("{register} has texels: bind bytes to it, or print it")
        }
        None => bail!("the shader wrote nothing to {register}"),
    }
}

/// Parses `REGISTER=VALUE`.
fn bound(text: &str) -> Result<(Register, Option<Scalar>, Vec<u8>)> {
    let (name, value) = text.split_once('=').context("REGISTER=VALUE")?;
    let (scalar, bytes) = shader::contents(value, &READER).map_err(|fault| anyhow!(fault))?;
    Ok((register(name)?, scalar, bytes))
}

fn register(text: &str) -> Result<Register> {
    shader::register(text).map_err(|fault| anyhow!(fault))
}

/// Parses `TEXCOORD1=0.5,0.5`.
fn input(text: &str) -> Result<(String, u32, Vec<f64>)> {
    let (name, values) = text.split_once('=').context("SEMANTIC=NUMBERS")?;
    let (semantic, index) = shader::semantic(name).map_err(|fault| anyhow!(fault))?;
    Ok((semantic, index, shader::numbers(values).map_err(|fault| anyhow!(fault))?))
}

/// Parses `u0=print` or `u0=PATH`.
fn wanted<'a>(text: &'a str, types: &[(Register, Option<Scalar>)]) -> Result<Wanted<'a>> {
    let (name, to) =
        text.split_once('=').with_context(|| format!("--out '{text}': REGISTER=print or REGISTER=PATH"))?;
    let register = register(name).with_context(|| format!("--out '{text}'"))?;
    if register.class != ResourceClass::UnorderedAccess {
        bail!("--out '{text}': shaders write to u registers only");
    }
    let scalar = types.iter().find(|row| row.0 == register).and_then(|row| row.1);
    Ok(Wanted { register, path: (to != "print").then(|| Path::new(to)), scalar })
}
