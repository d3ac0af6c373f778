//! Prints pipeline runtime information: the header of PSV0.

use super::text::{Table, plain};
use unshade_dxcontainer::program::ProgramVersion;
use unshade_dxcontainer::psv0::{Psv0, Stage, stage_fields, stage_word};

/// The format of a stage's property.
enum Shown {
    /// As a number, or by its name.
    Plain,
    /// As a Boolean.
    Flag,
}

use Shown::{Flag, Plain};

/// A stage: its title, its fields (name in PSV0, name in the table, format), and whether it has thread groups.
struct StageTable {
    stage: Stage,
    title: &'static str,
    fields: &'static [(&'static str, &'static str, Shown)],
    has_groups: bool,
}

const fn stage(
    stage: Stage,
    title: &'static str,
    fields: &'static [(&'static str, &'static str, Shown)],
    has_groups: bool,
) -> StageTable {
    StageTable { stage, title, fields, has_groups }
}

const STAGES: &[StageTable] = &[
    stage(
        Stage::HULL,
        "Hull",
        &[
            ("InputControlPointCount", "InputControlPointCount", Plain),
            ("OutputControlPointCount", "OutputControlPointCount", Plain),
            ("TessellatorDomain", "Domain", Plain),
            ("TessellatorOutputPrimitive", "OutputPrimitive", Plain),
        ],
        false,
    ),
    stage(
        Stage::DOMAIN,
        "Domain",
        &[
            ("InputControlPointCount", "InputControlPointCount", Plain),
            ("OutputPositionPresent", "OutputPositionPresent", Flag),
        ],
        false,
    ),
    stage(
        Stage::GEOMETRY,
        "Geometry",
        &[
            ("InputPrimitive", "InputPrimitive", Plain),
            ("OutputTopology", "OutputTopology", Plain),
            ("OutputStreamMask", "OutputStreamMask", Plain),
            ("OutputPositionPresent", "OutputPositionPresent", Flag),
        ],
        false,
    ),
    stage(Stage::VERTEX, "Vertex", &[("OutputPositionPresent", "OutputPositionPresent", Flag)], false),
    stage(
        Stage::PIXEL,
        "Pixel",
        &[("DepthOutput", "DepthOutput", Flag), ("SampleFrequency", "SampleFrequency", Flag)],
        false,
    ),
    stage(Stage::COMPUTE, "Compute", &[], true),
    stage(Stage::AMPLIFICATION, "Amplification", &[], true),
    stage(Stage::MESH, "Mesh", &[("MeshOutputTopology", "MeshOutputTopology", Plain)], true),
];

/// Prints the table of PSV0. Before version 1, PSV0 does not name the stage, so it comes from `program`.
pub(super) fn put(psv0: &Psv0, program: Option<ProgramVersion>, table: &mut Table) {
    table.line("");
    // DXC prints a space at the end of this line.
    table.line(" Pipeline Runtime Information: ");
    table.line("");
    table.line("PSVRuntimeInfo:");
    let stage = psv0.stage().or_else(|| program.map(|version| Stage::from(version.kind())));
    if let Some(known) = STAGES.iter().find(|known| Some(known.stage) == stage) {
        put_stage(psv0, known, table);
    }
    let info = &psv0.info;
    if info.min_wave_lanes == info.max_wave_lanes {
        table.line(&format!(" WaveSize={}", info.min_wave_lanes));
    } else {
        table.line(&format!(" MinimumExpectedWaveLaneCount: {}", info.min_wave_lanes));
        table.line(&format!(" MaximumExpectedWaveLaneCount: {}", info.max_wave_lanes));
    }
    if let Some(v1) = &info.v1 {
        table.line(&format!(" UsesViewID: {}", v1.uses_view_id != 0));
        table.line(&format!(" SigInputElements: {}", v1.input_count));
        table.line(&format!(" SigOutputElements: {}", v1.output_count));
        table.line(&format!(" SigPatchConstOrPrimElements: {}", v1.patch_count));
        table.line(&format!(" SigInputVectors: {}", v1.input_vectors));
        for (stream, vectors) in v1.output_vectors.iter().enumerate() {
            table.line(&format!(" SigOutputVectors[{stream}]: {vectors}"));
        }
    }
    if info.entry_name.is_some() {
        let name = psv0.entry_name().unwrap_or_default();
        table.line(&format!(" EntryFunctionName: {}", plain(name)));
    }
    if let Some(present) = info.linear_algebra() {
        table.line(&format!(" LinAlgRuntimeInfoPresent: {present}"));
    }
    table.line("");
}

fn put_stage(psv0: &Psv0, known: &StageTable, table: &mut Table) {
    let info = &psv0.info;
    table.line(&format!(" {} Shader", known.title));
    for (field, name, shown) in known.fields {
        let Some(field) = stage_fields(known.stage).iter().find(|known| known.name == *field) else {
            continue;
        };
        if field.second && info.v1.is_none() {
            continue;
        }
        let value = info.stage_value(field);
        let text = match shown {
            Plain => stage_word(field.name, value).unwrap_or_else(|| value.to_string()),
            Flag => u32::from(value != 0).to_string(),
        };
        table.line(&format!(" {name}={text}"));
    }
    if known.has_groups {
        if let Some([x, y, z]) = info.threads {
            table.line(&format!(" NumThreads=({x},{y},{z})"));
        }
        if let Some(bytes) = info.group_shared_bytes {
            table.line(&format!(" NumBytesGroupSharedMemory: {bytes}"));
        }
    }
}
