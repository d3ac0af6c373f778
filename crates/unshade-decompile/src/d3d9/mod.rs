//! The front end for Direct3D's shader models 1 to 3.
//!
//! | module | thing |
//! |---|---|
//! | `interface` | inputs, outputs, constants and samplers, from declarations and the constant table |
//! | `lifter` | a function being lifted: operands that are read and written |
//! | `instructions` | instructions that compute and sample |
//! | `first` | texture instructions of version 1 |
//! | `flow` | structured control flow to blocks |
//!
//! Constants are three buffers, of floats, integers and truth values: a register is a row. A texture and its sampler,
//! one thing in these models, are two resources with the same register. The sampler has a name only where FXC says that
//! the two are different variables.
//!
//! Sources: Microsoft's reference of the vertex and pixel shader assembly.

mod first;
mod flow;
mod instructions;
mod interface;
mod lifter;
#[cfg(test)]
mod tests;

use crate::dxbc::LiftError;
use interface::Interface;
use lifter::Lifter;
use unshade_dxbc::d3d9::Program;
use unshade_dxbc::d3d9::opcode::Opcode;
use unshade_ir::shader::interface::{ShaderFunction, ShaderProgram, Stage};

/// The modifier of a result that may be of lower precision.
const PARTIAL_PRECISION: u32 = 2;

/// Lifts a program.
///
/// # Errors
/// Fails if its constant table is invalid, or if it is too large. Instructions that have no meaning here do not make it
/// fail: they become [`unshade_ir::Op::Unlifted`].
pub fn lift(program: &Program) -> Result<ShaderProgram, LiftError> {
    let version = program.version;
    if version.is_library() {
        return Err(LiftError::Kind(version.0 >> 16));
    }
    let stage = if version.is_pixel() { Stage::Pixel } else { Stage::Vertex };
    let mut shader = ShaderProgram::new(stage, (version.major() as u8, version.minor() as u8));
    let interface = Interface::read(program, &mut shader)?;
    let mut lifter = Lifter::new(program, &interface);
    lifter.begin();
    let is_label = |instruction: &unshade_dxbc::d3d9::Instruction| instruction.opcode() == Opcode::LABEL;
    let end = program.instructions.iter().position(is_label).unwrap_or(program.instructions.len());
    lifter.run(0..end)?;
    lifter.finish_outputs();
    let function = lifter.finish();
    let mut function = function;
    for note in remarks(program) {
        function.notes.push(note);
    }
    shader.functions.push(ShaderFunction {
        name: "main".into(),
        stage: Some(stage),
        inputs: interface.inputs,
        outputs: interface.outputs,
        function,
        ..ShaderFunction::default()
    });
    Ok(shader)
}

/// Returns what the values of a program do not say: notes that belong to no value.
fn remarks(program: &Program) -> Vec<String> {
    let mut found: Vec<String> = first::states(program)
        .into_iter()
        .map(|(_, name)| format!("{name} is state of a texture stage"))
        .collect();
    let is_partial = program.instructions.iter().any(|instruction| {
        let target = instruction.operands.first().filter(|_| instruction.has_destination(program.version));
        target.is_some_and(|target| target.result_modifiers() & PARTIAL_PRECISION != 0)
    });
    if is_partial {
        found.push("some operations may have partial precision (_pp); here all are of floats".into());
    }
    found
}
