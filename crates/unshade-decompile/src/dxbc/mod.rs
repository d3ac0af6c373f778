//! The front end for Direct3D's shader models 4 to 5.1: token programs in DXBC containers.
//!
//! | module | thing |
//! |---|---|
//! | `signature` | elements of signatures, and which of them a component of a register is |
//! | `types`, `resources` | resources and the types of their elements, from RDEF and declarations |
//! | `declarations` | everything else that a program declares: attributes, variables |
//! | `lifter` | a function being lifted: its values, caches and current block |
//! | `sources`, `destinations` | operands that are read and written |
//! | `arithmetic`, `double`, `boolean` | instructions that compute |
//! | `texture`, `memory`, `atomic` | instructions that access resources and shared memory |
//! | `debug` | names of the source code for registers |
//! | `flow` | structured control flow to blocks |
//! | `phases` | the phases of hull shaders |
//!
//! Registers are vectors of four components without types. Each component of a temporary register is a variable of its
//! own, of which [`unshade_ir::build`] makes values. An instruction computes one vector from vectors that
//! [`unshade_ir::shader::vector`] gathers from components.
//!
//! Sources: Microsoft's `d3d12TokenizedProgramFormat.hpp` and the Direct3D 11.3 functional specification for the meaning
//! of instructions; FXC's text beside its HLSL for what compilers make of them.

mod arithmetic;
mod atomic;
mod boolean;
mod debug;
mod declarations;
mod destinations;
mod double;
mod flow;
mod lifter;
mod memory;
mod phases;
mod resources;
mod signature;
mod sources;
#[cfg(test)]
mod tests;
mod texture;
mod types;

use declarations::Interface;
pub(crate) use lifter::finish;
pub(crate) use types::MAX_SIZE;
use unshade_core::{Diagnostics, Reader};
use unshade_dxcontainer::{Container, PartData};
use unshade_ir::shader::interface::{ShaderProgram, Stage};

/// The reason why a program was not lifted.
#[derive(Debug)]
#[non_exhaustive]
pub enum LiftError {
    /// The container has no token program.
    NoProgram,
    /// It has one of a kind that has no entry point.
    Kind(u32),
    /// A part of the container is invalid.
    Part(unshade_core::Error),
    /// The program is too large: its registers and blocks would need too much memory, or its calls are too many.
    TooLarge,
}

impl std::fmt::Display for LiftError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoProgram => f.write_str("there is no SHDR or SHEX part"),
            Self::Kind(kind) => write!(f, "programs of kind {kind:#x} have no entry point"),
            Self::Part(error) => error.fmt(f),
            Self::TooLarge => f.write_str("the program is too large to be lifted"),
        }
    }
}

impl std::error::Error for LiftError {}

impl From<unshade_core::Error> for LiftError {
    fn from(error: unshade_core::Error) -> Self {
        Self::Part(error)
    }
}

/// Lifts the token program of a container.
///
/// # Errors
/// Fails if there is none, if a part that describes it is invalid, or if it is too large. Instructions that have no
/// meaning here do not make it fail: they become [`unshade_ir::Op::Unlifted`].
pub fn lift(container: &Container<'_>) -> Result<ShaderProgram, LiftError> {
    lift_with(container, true)
}

/// Lifts the token program of a container, with names of its debug information or without.
///
/// # Errors
/// As [`lift`].
pub fn lift_with(container: &Container<'_>, has_names: bool) -> Result<ShaderProgram, LiftError> {
    let code = container.find(b"SHEX").or_else(|| container.find(b"SHDR")).ok_or(LiftError::NoProgram)?;
    let program = unshade_dxbc::decode(Reader::new(code.data.data()), &mut Diagnostics::default())?;
    let stage = stage(program.version.kind()).ok_or(LiftError::Kind(program.version.kind()))?;
    let model = program.version.model();
    let mut shader = ShaderProgram::new(stage, (model.0 as u8, model.1 as u8));
    let mut interface = Interface::read(container, &program, &mut shader)?;
    if has_names {
        interface.name_sources(container, &mut shader);
    }
    phases::lift(&program, &interface, &mut shader)?;
    declarations::type_variables(&mut shader);
    let signature = crate::root_signature::of_container(container, &mut shader.missing);
    if let Some(entry) = shader.functions.first_mut() {
        entry.attributes.root_signature = signature;
    }
    Ok(shader)
}

/// Returns the stage of a kind of program.
fn stage(kind: u32) -> Option<Stage> {
    const STAGES: [Stage; 6] =
        [Stage::Pixel, Stage::Vertex, Stage::Geometry, Stage::Hull, Stage::Domain, Stage::Compute];
    STAGES.get(usize::try_from(kind).ok()?).copied()
}

/// Returns the first part with one of these names, parsed.
fn part(container: &Container<'_>, names: &[[u8; 4]]) -> Result<Option<PartData>, LiftError> {
    let Some(part) = names.iter().find_map(|name| container.find(name)) else { return Ok(None) };
    Ok(Some(PartData::read(part.name, part.data)?))
}
