//! Prints the view ID state.

use super::text::{Table, numbers};
use crate::dxil::ViewIdState;
use crate::dxil::view_id::{Dependency, Outputs};
use unshade_dxcontainer::program::ShaderKind;

pub(super) fn put(state: &ViewIdState, kind: Option<ShaderKind>, table: &mut Table) {
    let is_geometry = kind == Some(ShaderKind::GEOMETRY);
    table.title(" ViewId state:");
    table.line(&counts(state, kind, is_geometry));
    // A geometry shader's streams are listed only if they have outputs.
    let named = |(stream, outputs)| match is_geometry {
        true => (format!("Outputs for Stream {stream}"), outputs),
        false => (String::from("Outputs"), outputs),
    };
    let is_listed = |(_, outputs): &(usize, &Outputs)| !is_geometry || outputs.count > 0;
    let streams: Vec<_> = state.streams.iter().enumerate().filter(is_listed).map(named).collect();
    let patch_name = if kind == Some(ShaderKind::MESH) { "Primitive Outputs" } else { "PCOutputs" };
    let patch = state.patch.as_ref().map(|outputs| (patch_name.to_owned(), outputs));
    let all: Vec<(String, &Outputs)> = streams.into_iter().chain(patch).collect();
    for (name, outputs) in &all {
        table.line(&format!(" {name} dependent on ViewId: {{ {} }}", numbers(&outputs.by_view_id)));
    }
    for (name, outputs) in &all {
        put_dependencies("Inputs", name, &outputs.by_inputs, table);
    }
    if state.patch_inputs.is_some() {
        put_dependencies("PCInputs", "Outputs", &state.patch_dependencies, table);
    }
    table.line("");
}

fn counts(state: &ViewIdState, kind: Option<ShaderKind>, is_geometry: bool) -> String {
    let counts: Vec<u32> = state.streams.iter().map(|outputs| outputs.count).collect();
    let outputs = match is_geometry {
        true => format!(", outputs per stream: {{ {} }}", numbers(&counts)),
        false => format!(", outputs: {}", numbers(&counts)),
    };
    let patch = match (state.patch.as_ref().map(|outputs| outputs.count).or(state.patch_inputs), kind) {
        (Some(count), Some(ShaderKind::MESH)) => format!(", primitive outputs: {count}"),
        (Some(count), _) => format!(", patchconst: {count}"),
        (None, _) => String::new(),
    };
    format!(" Number of inputs: {}{outputs}{patch}", state.inputs)
}

fn put_dependencies(inputs: &str, outputs: &str, dependencies: &[Dependency], table: &mut Table) {
    table.line(&format!(" {inputs} contributing to computation of {outputs}:"));
    for dependency in dependencies {
        let (output, inputs) = (dependency.output, numbers(&dependency.inputs));
        table.line(&format!("   output {output} depends on inputs: {{ {inputs} }}"));
    }
}
