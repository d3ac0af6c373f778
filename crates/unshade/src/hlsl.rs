//! Decompiles DirectX shaders to HLSL: DXIL, and token programs of shader models 1 to 5.1.
//!
//! [`target`] reads what a shader was compiled for and with, and [`mod@compare`] compares what a compiler makes of the text with
//! the original.
//!
//! ```
//! use unshade::directx::shader::Shader;
//! use unshade::directx::target::{Stage, Target};
//!
//! let mut shader = Shader::new(Target::model(0), Stage::compute([64, 1, 1]), "main")?;
//! let mut body = shader.body()?;
//! body.ret_void()?;
//! body.finish()?;
//! let bytes = shader.container()?;
//! let container = unshade::dxcontainer::Container::parse(&bytes)?;
//! let hlsl = unshade::hlsl::container(&container, &|_, _| true)?;
//! assert!(hlsl.text().starts_with("[numthreads(64, 1, 1)]\nvoid main()\n"));
//! # Ok::<(), unshade_core::Error>(())
//! ```

mod bounded;
mod canonical;
pub mod compare;
mod layout;
pub mod target;

use std::collections::BTreeMap;
use std::ops::Range;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};
use unshade_decompile::hlsl;
pub use unshade_decompile::hlsl::Hlsl;
use unshade_decompile::ir::shader::interface::{ShaderFunction, ShaderProgram};
use unshade_decompile::{d3d9, dxbc, dxil};
use unshade_dxbc::d3d9::Program;
use unshade_dxcontainer::Container;
use unshade_dxcontainer::dxil::main_part;
use unshade_dxcontainer::program::bitcode;
use unshade_llvm::Module;
use unshade_llvm::source_map::SourceMap;

/// Decompiles the program of a container. Of a library, the functions that are `wanted` by number and name, and those that they call.
///
/// # Errors
/// If there is no program in it, or it can't be read.
pub fn container(container: &Container<'_>, wanted: &dyn Fn(usize, &str) -> bool) -> Result<Hlsl> {
    container_with(container, wanted, Options::default())
}

/// What [`container_with`] leaves out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Names of variables that debug information gives.
    pub without_source: bool,
}

/// Decompiles the program of a container as [`container()`] does, with options.
///
/// # Errors
/// If there is no program in it, or it can't be read.
pub fn container_with(
    container: &Container<'_>,
    wanted: &dyn Fn(usize, &str) -> bool,
    options: Options,
) -> Result<Hlsl> {
    let mut program = lift_with(container, !options.without_source)?;
    select(&mut program, wanted);
    Ok(hlsl::print(program))
}

/// Decompiles a container, or a program of shader model 1, 2 or 3.
///
/// # Errors
/// If there is no program in it, or it can't be read.
pub fn shader(data: &[u8]) -> Result<Hlsl> {
    if data.starts_with(b"DXBC") {
        container(&Container::parse(data)?, &|_, _| true)
    } else {
        direct3d9(data)
    }
}

/// Decompiles a program of shader model 1, 2 or 3, which has no container.
///
/// # Errors
/// If the program can't be read.
pub fn direct3d9(data: &[u8]) -> Result<Hlsl> {
    let program = d3d9::lift(&Program::parse(data)?);
    program.map(hlsl::print).map_err(|fault| Error::without_offset(ErrorKind::BadValue, fault.to_string()))
}

/// Lifts the program of a container to the intermediate representation.
///
/// # Errors
/// If there is no program in it, or it can't be read.
pub fn lift(container: &Container<'_>) -> Result<ShaderProgram> {
    lift_with(container, true)
}

fn lift_with(container: &Container<'_>, has_names: bool) -> Result<ShaderProgram> {
    if main_part(container).is_some() {
        return dxil::lift_with(container, has_names);
    }
    dxbc::lift_with(container, has_names)
        .map_err(|fault| Error::without_offset(ErrorKind::BadValue, fault.to_string()))
}

/// Drops the functions that are not wanted, and that none of the wanted ones calls.
fn select(program: &mut ShaderProgram, wanted: &dyn Fn(usize, &str) -> bool) {
    let names: Vec<String> = program.functions.iter().map(|function| function.name.clone()).collect();
    let mut keep: Vec<bool> = names.iter().enumerate().map(|(index, name)| wanted(index, name)).collect();
    let mut list: Vec<usize> = (0..keep.len()).filter(|index| keep[*index]).collect();
    while let Some(index) = list.pop() {
        let ShaderFunction { function, attributes, .. } = &program.functions[index];
        let called =
            function.callees.iter().filter_map(|callee| names.iter().position(|name| *name == callee.name));
        for callee in called.chain(attributes.patch_function) {
            if !std::mem::replace(&mut keep[callee], true) {
                list.push(callee);
            }
        }
    }
    // Patch-constant functions are found by number: those of single shaders stay where they are.
    if program.functions.iter().any(|function| function.attributes.patch_function.is_some()) {
        return;
    }
    let mut keep = keep.into_iter();
    program.functions.retain(|_| keep.next() == Some(true));
}

/// Finds the instructions that lines of HLSL come from in the file.
#[derive(Debug)]
pub struct InstructionBytes {
    /// The bytes of each instruction, by the number of its function and its address.
    ranges: BTreeMap<(u32, u32), Range<u64>>,
}

impl InstructionBytes {
    /// Maps the program of a container. The ranges are offsets of the file that the container was parsed for.
    ///
    /// # Errors
    /// If there is no program in it, or it can't be read.
    pub fn of_container(container: &Container<'_>) -> Result<Self> {
        if let Some(part) = main_part(container) {
            let (_, program) = bitcode(part.data)?;
            return Ok(Self::of_module(&Module::parse(program.rest(), program.base())?));
        }
        let part = target::token_part(container);
        let part =
            part.ok_or_else(|| Error::without_offset(ErrorKind::BadValue, "the container has no program"))?;
        let program = unshade_dxbc::decode(part.data, &mut Diagnostics::new())?;
        let tokens = program.instructions.iter().map(|one| (one.position, one.size_in_tokens()));
        Ok(Self::of_tokens(part.data.base(), tokens))
    }

    /// Maps a program of shader model 1, 2 or 3, whose first byte is at offset `base`.
    ///
    /// # Errors
    /// If the program can't be read.
    pub fn of_direct3d9(data: &[u8], base: u64) -> Result<Self> {
        let program = Program::parse(data)?;
        let tokens = program.instructions.iter().map(|one| (one.position, one.size_in_tokens()));
        Ok(Self::of_tokens(base, tokens))
    }

    fn of_module(module: &Module<'_>) -> Self {
        let mut map = SourceMap::new(module);
        let mut ranges = BTreeMap::new();
        for (index, _) in module.functions_with_bodies() {
            let Ok(body) = module.body(index) else { continue };
            map.add(module, &body);
            let function = index as u32;
            let addresses = 0..body.instructions.len() as u32;
            ranges.extend(addresses.map(|address| ((function, address), map.instruction(function, address))));
        }
        Self { ranges }
    }

    /// Maps tokens from their positions and sizes.
    fn of_tokens(base: u64, instructions: impl Iterator<Item = (u32, u64)>) -> Self {
        let ranges = instructions.map(|(position, size)| {
            let start = base.saturating_add(u64::from(position).saturating_mul(4));
            ((0, position.saturating_mul(4)), start..start.saturating_add(size.saturating_mul(4)))
        });
        Self { ranges: ranges.collect() }
    }

    /// Returns the bytes that each line comes from, neighbours together.
    pub fn of_lines(&self, hlsl: &Hlsl) -> Vec<Vec<Range<u64>>> {
        let mut all = vec![Vec::new(); hlsl.lines.len()];
        for function in &hlsl.functions {
            for line in function.lines.clone() {
                let (Some(line), Some(found)) = (hlsl.lines.get(line), all.get_mut(line)) else { continue };
                let ranges = line.addresses.iter().filter_map(|at| self.ranges.get(&(function.number, *at)));
                ranges.for_each(|range| join(found, range));
            }
        }
        all
    }
}

/// Appends a range; one that continues the last one, or shares a byte with it, extends it.
pub(crate) fn join(ranges: &mut Vec<Range<u64>>, range: &Range<u64>) {
    match ranges.last_mut() {
        Some(last) if (last.start..=last.end).contains(&range.start) => last.end = last.end.max(range.end),
        _ => ranges.push(range.clone()),
    }
}
