//! The front end for DXIL: an LLVM module with DirectX metadata becomes a [`ShaderProgram`].
//!
//! DXIL is in SSA form already, so instructions translate one by one; what changes is the vocabulary:
//!
//! - calls of `dx.op` functions become operations by meaning, see `operation`;
//! - several scalar operands that form one vector (coordinates, stored components) are gathered;
//! - handles become the number of a resource and an index, see `resource`;
//! - structures that operations return become the lanes of a vector;
//! - `alloca` and global variables become variables, and pointers to them places.
//!
//! Names and types come from the module in the STAT part, if there is one: DXC strips them from the program. Names of variables
//! come from debug information, see `debug`.
//!
//! Knowledge: DirectXShaderCompiler's `DXIL.rst` and `hctdb`, and what DXC 1.6 to 1.10 write.

mod debug;
mod exports;
mod function;
mod instruction;
mod interface;
#[cfg(test)]
mod matrix_tests;
mod node;
mod operation;
mod options;
mod resource;
mod state;
#[cfg(test)]
mod tests;
mod types;
#[cfg(test)]
mod vector_tests;

use crate::ir::shader::interface::{ShaderProgram, Stage};
use unshade_core::{Error, ErrorKind, Result};
use unshade_dxcontainer::Container;
use unshade_dxcontainer::dxil::{DxilModule, main_part};
use unshade_dxcontainer::program::bitcode;
use unshade_llvm::Module;

/// Lifts the program of a container, with the names of debug information.
///
/// # Errors
/// If there is no program in it, or it can't be read as a module.
pub fn lift(container: &Container<'_>) -> Result<ShaderProgram> {
    lift_with(container, true)
}

/// Lifts the program of a container, with the names of variables that debug information gives if it `has_names`.
///
/// # Errors
/// If there is no program in it, or it can't be read as a module.
pub fn lift_with(container: &Container<'_>, has_names: bool) -> Result<ShaderProgram> {
    let part = main_part(container)
        .ok_or_else(|| Error::without_offset(ErrorKind::BadValue, "the container has no DXIL program"))?;
    let (_, program) = bitcode(part.data)?;
    let module = Module::parse(program.rest(), program.base())?;
    let dxil = DxilModule::read(&module, program.base());
    let statistics = container.find(b"STAT").and_then(|part| bitcode(part.data).ok());
    let reflection = match statistics {
        Some((_, bytes)) => Module::parse(bytes.rest(), bytes.base()).ok(),
        None => None,
    };
    let described = reflection.as_ref().map(|module| (module, DxilModule::read(module, 0)));
    let described = described.as_ref().map(|(module, dxil)| (*module, dxil));
    let mut program = function::lift_all(&module, &dxil, described, has_names);
    let signature = crate::root_signature::of_container(container, &mut program.missing);
    if let Some(entry) = program.functions.first_mut().filter(|_| program.stage != Stage::Library) {
        entry.attributes.root_signature = signature;
    }
    state::add(container, &mut program);
    options::add(&module, &dxil, &mut program);
    if has_names {
        program.source_files = debug::source_files(&module);
    }
    Ok(program)
}
