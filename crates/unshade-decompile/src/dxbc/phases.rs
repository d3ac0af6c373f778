//! The functions of a program: one, or those that the phases of a hull shader are.
//!
//! | phase | function |
//! |---|---|
//! | `hs_control_point_phase` | the entry point; if it is missing, control points stay as they are |
//! | `hs_fork_phase`, `hs_join_phase` | one after the other, the instances of each too: the function of patch constants |

use super::LiftError;
use super::declarations::Interface;
use super::lifter::{Lifter, Phase};
use std::ops::Range;
use unshade_dxbc::opcode::Opcode;
use unshade_dxbc::{Instruction, Program};
use unshade_ir::shader::interface::{ShaderFunction, ShaderProgram, Stage};
use unshade_ir::{End, Function, ShaderOp, ValueId};

/// Maximum number of instances of a phase: what the hardware has.
const MAX_INSTANCES: u32 = 128;

/// A phase: its opcode, and its instructions.
type PhaseRange = (Opcode, Range<usize>);

/// Lifts the functions of a program.
pub(super) fn lift(
    program: &Program,
    interface: &Interface,
    shader: &mut ShaderProgram,
) -> Result<(), LiftError> {
    let phases = phases(&program.instructions);
    let mut functions = Vec::new();
    if shader.stage == Stage::Hull {
        functions.push(shader_function(interface, control_points(program, interface, shader, &phases)?));
        let patch: Vec<&PhaseRange> =
            phases.iter().filter(|phase| phase.0 != Opcode::HS_CONTROL_POINT_PHASE).collect();
        if !patch.is_empty() {
            let function = patch_constants(program, interface, shader, &patch)?;
            functions.push(ShaderFunction {
                name: "patch_constants".into(),
                ..shader_function(interface, function)
            });
        }
    } else {
        let is_label = |instruction: &Instruction| instruction.opcode() == Opcode::LABEL;
        let end = program.instructions.iter().position(is_label).unwrap_or(program.instructions.len());
        let mut lifter = lifter(program, interface, shader, &program.instructions);
        lifter.run(0..end)?;
        functions.push(shader_function(interface, lifter.finish()));
    }
    let has_patch = functions.len() > 1;
    if let Some(entry) = functions.first_mut() {
        entry.name = "main".into();
        entry.stage = Some(shader.stage);
        entry.attributes = interface.attributes.clone();
        entry.attributes.patch_function = has_patch.then_some(1);
    }
    shader.functions = functions;
    Ok(())
}

fn lifter<'p>(
    program: &'p Program,
    interface: &'p Interface,
    shader: &'p ShaderProgram,
    instructions: &[Instruction],
) -> Lifter<'p> {
    Lifter::new(program, instructions, interface, &shader.resources, shader.stage)
}

fn shader_function(interface: &Interface, function: Function) -> ShaderFunction {
    ShaderFunction {
        inputs: interface.inputs.list.clone(),
        outputs: interface.outputs.list.clone(),
        patch: interface.patch.list.clone(),
        function,
        names: interface.source.names.clone(),
        ..ShaderFunction::default()
    }
}

/// Returns the phases of a program.
fn phases(instructions: &[Instruction]) -> Vec<PhaseRange> {
    let is_phase = |opcode: Opcode| {
        matches!(opcode, Opcode::HS_CONTROL_POINT_PHASE | Opcode::HS_FORK_PHASE | Opcode::HS_JOIN_PHASE)
    };
    let starts: Vec<usize> =
        (0..instructions.len()).filter(|at| is_phase(instructions[*at].opcode())).collect();
    let ends = starts.iter().skip(1).copied().chain([instructions.len()]);
    starts.iter().zip(ends).map(|(start, end)| (instructions[*start].opcode(), start + 1..end)).collect()
}

/// Lifts the function for control points.
fn control_points(
    program: &Program,
    interface: &Interface,
    shader: &ShaderProgram,
    phases: &[PhaseRange],
) -> Result<Function, LiftError> {
    let phase = phases.iter().find(|phase| phase.0 == Opcode::HS_CONTROL_POINT_PHASE);
    let Some((_, range)) = phase else {
        let mut lifter = lifter(program, interface, shader, &[]);
        pass_through(&mut lifter);
        return Ok(lifter.finish());
    };
    let mut lifter = lifter(program, interface, shader, &program.instructions[range.clone()]);
    lifter.run(range.clone())?;
    Ok(lifter.finish())
}

/// Copies each input to the output with the same registers.
fn pass_through(lifter: &mut Lifter<'_>) {
    let interface = lifter.interface;
    let vertex = lifter.once(ShaderOp::OutputControlPointId, &[]);
    for (number, output) in interface.outputs.list.iter().enumerate() {
        let Some(register) = output.register else { continue };
        for row in 0..output.rows() as u32 {
            let mut values: Vec<ValueId> = Vec::new();
            for column in 0..output.columns {
                let found = interface.inputs.find(register.saturating_add(row), output.column + column, None);
                let Some(place) = found else { break };
                let place = [place.element as u32, place.row, u32::from(place.column)];
                let [element, row, column] = place.map(|part| lifter.number(part));
                values.push(lifter.shader(ShaderOp::LoadInput, 1, &[element, row, column, vertex]));
            }
            if values.is_empty() {
                continue;
            }
            let value = lifter.gather_all(&values);
            let [element, row, column] = [number as u32, row, 0].map(|part| lifter.number(part));
            lifter.effect(ShaderOp::StoreOutput, &[element, row, column, value]);
        }
    }
    lifter.end_block(End::Return);
}

/// Lifts the function for patch constants.
fn patch_constants(
    program: &Program,
    interface: &Interface,
    shader: &ShaderProgram,
    phases: &[&PhaseRange],
) -> Result<Function, LiftError> {
    let first = phases.iter().map(|phase| phase.1.start).min().unwrap_or(0);
    let mut lifter = lifter(program, interface, shader, &program.instructions[first..]);
    for (_, range) in phases {
        for instance in 0..instances(&program.instructions[range.clone()]).min(MAX_INSTANCES) {
            lifter.phase = Phase::Patch(instance);
            let after = lifter.new_block();
            lifter.inlined(range.clone(), after)?;
        }
    }
    lifter.end_block(End::Return);
    Ok(lifter.finish())
}

/// Returns the number of instances of a phase.
fn instances(instructions: &[Instruction]) -> u32 {
    let declared = instructions.iter().find_map(|instruction| {
        let row = instruction.opcode().row()?;
        let is_count = row.mnemonic.starts_with("dcl_hs_") && row.mnemonic.ends_with("_instance_count");
        is_count.then(|| instruction.values.first().copied()).flatten()
    });
    declared.unwrap_or(1)
}
