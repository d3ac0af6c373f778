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

pub use crate::instruction_bytes::InstructionBytes;
use unshade_core::{Error, ErrorKind, Result};
use unshade_decompile::hlsl;
pub use unshade_decompile::hlsl::Hlsl;
use unshade_decompile::ir::shader::interface::{ShaderFunction, ShaderProgram};
use unshade_decompile::{d3d9, dxbc, dxil};
use unshade_dxbc::d3d9::Program;
use unshade_dxcontainer::Container;
use unshade_dxcontainer::dxil::main_part;

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
