//! Subobjects: the state objects of a library, in RDAT.
//!
//! The four values of a record mean what its kind says: flags; offset and size of bytes; a name and a list of names;
//! two sizes; a depth; kind and three names; depth and flags.

use super::text::{Table, plain};
use unshade_dxcontainer::rdat::{Rdat, RdatKind, Row};

const STATE_FLAGS: &[(u32, &str)] = &[
    (1, "STATE_OBJECT_FLAG_ALLOW_LOCAL_DEPENDENCIES_ON_EXTERNAL_DEFINITIONS"),
    (2, "STATE_OBJECT_FLAG_ALLOW_EXTERNAL_DEPENDENCIES_ON_LOCAL_DEFINITIONS"),
    (4, "STATE_OBJECT_FLAG_ALLOW_STATE_OBJECT_ADDITIONS"),
];

const PIPELINE_FLAGS: &[(u32, &str)] = &[
    (0x100, "RAYTRACING_PIPELINE_FLAG_SKIP_TRIANGLES"),
    (0x200, "RAYTRACING_PIPELINE_FLAG_SKIP_PROCEDURAL_PRIMITIVES"),
    (0x400, "RAYTRACING_PIPELINE_FLAG_ALLOW_OPACITY_MICROMAPS"),
];

const HIT_GROUPS: [&str; 2] = ["Triangle", "ProceduralPrimitive"];

const KIND: RdatKind = RdatKind::SUBOBJECT_TABLE;

pub(super) fn put(rdat: &Rdat, table: &mut Table) {
    let Some(records) = rdat.table(KIND).filter(|records| !records.rows.is_empty()) else { return };
    table.title(" Subobjects:");
    // Of several of a name the last is told, in the place of the first.
    let mut last: Vec<(&[u8], &Row)> = Vec::new();
    for row in &records.rows {
        let name = rdat.value(KIND, row, "Name").and_then(|name| rdat.text(name)).unwrap_or_default();
        match last.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = row,
            None => last.push((name, row)),
        }
    }
    for (name, row) in last {
        let kind = rdat.value(KIND, row, "Kind").unwrap_or(u32::MAX);
        let value = |index: usize| row.values.get(index.saturating_add(2)).copied().unwrap_or_default();
        let values = [value(0), value(1), value(2), value(3)];
        let (kind, text) = described(rdat, kind, values);
        table.line(&format!("  {kind} {} = {{ {text} }};", plain(name)));
    }
    table.line("");
}

fn described(rdat: &Rdat, kind: u32, values: [u32; 4]) -> (&'static str, String) {
    let [first, second, third, fourth] = values;
    let text = |offset: u32| plain(rdat.text(offset).unwrap_or_default());
    match kind {
        0 => ("StateObjectConfig", flags(first, STATE_FLAGS, "<invalid StateObjectFlag>")),
        1 => ("GlobalRootSignature", format!("<{second} bytes>")),
        2 => ("LocalRootSignature", format!("<{second} bytes>")),
        8 => {
            let exports = rdat.list(second).unwrap_or_default();
            let exports: Vec<String> = exports.iter().map(|name| format!("\"{}\"", text(*name))).collect();
            let exports = exports.join(", ");
            ("SubobjectToExportsAssociation", format!("\"{}\", {{ {exports} }} ", text(first)))
        }
        9 => (
            "RaytracingShaderConfig",
            format!("MaxPayloadSizeInBytes = {first}, MaxAttributeSizeInBytes = {second}"),
        ),
        10 => ("RaytracingPipelineConfig", format!("MaxTraceRecursionDepth = {first}")),
        11 => {
            let group = HIT_GROUPS.get(first as usize).copied().unwrap_or("<invalid HitGroupType>");
            let [any, closest, intersection] = [second, third, fourth].map(text);
            let text = format!(
                "HitGroupType = {group}, Anyhit = \"{any}\", Closesthit = \"{closest}\", Intersection = \"{intersection}\""
            );
            ("HitGroup", text)
        }
        12 => {
            let flags = flags(second, PIPELINE_FLAGS, "<invalid RaytracingPipelineFlags>");
            ("RaytracingPipelineConfig1", format!("MaxTraceRecursionDepth = {first}, Flags = {flags}"))
        }
        _ => ("<invalid kind>", String::new()),
    }
}

fn flags(flags: u32, names: &[(u32, &'static str)], unknown: &'static str) -> String {
    if flags == 0 {
        return "0".into();
    }
    let set = (0..32).map(|bit| 1 << bit).filter(|flag| flags & flag != 0);
    let named =
        set.map(|flag| names.iter().find(|(known, _)| *known == flag).map_or(unknown, |(_, name)| name));
    named.collect::<Vec<_>>().join(" | ")
}
