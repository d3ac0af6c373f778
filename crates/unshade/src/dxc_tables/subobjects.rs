//! Prints subobjects: the state objects of a library, from RDAT.
//!
//! The meaning of a record's four values depends on its kind: flags; offset and size of bytes; a name and a list of
//! names; two sizes; a depth; kind and three names; depth and flags.

use super::text::{Table, plain};
use std::collections::BTreeMap;
use unshade_dxcontainer::rdat::{NULL, Rdat, RdatKind, Row};

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
    // Of several subobjects with one name, the last is printed at the position of the first.
    let mut places: BTreeMap<u32, usize> = BTreeMap::new();
    let mut last: Vec<(u32, &Row)> = Vec::new();
    for row in &records.rows {
        let name = rdat.value(KIND, row, "Name").unwrap_or(NULL);
        match places.get(&name).and_then(|place| last.get_mut(*place)) {
            Some((_, known)) => *known = row,
            None => {
                places.insert(name, last.len());
                last.push((name, row));
            }
        }
    }
    for (name, row) in last {
        if table.is_cut() {
            return;
        }
        let kind = rdat.value(KIND, row, "Kind").unwrap_or(u32::MAX);
        let value = |index: usize| row.values.get(index.saturating_add(2)).copied().unwrap_or_default();
        let values = [value(0), value(1), value(2), value(3)];
        let (kind, text) = described(rdat, kind, values, table.room());
        table.line(&format!("  {kind} {} = {{ {text} }};", plain(rdat.text(name).unwrap_or_default())));
    }
    table.line("");
}

/// Returns the kind and contents of a subobject as text, of roughly `room` bytes at most.
fn described(rdat: &Rdat, kind: u32, values: [u32; 4], room: usize) -> (&'static str, String) {
    let [first, second, third, fourth] = values;
    let text = |offset: u32| plain(rdat.text(offset).unwrap_or_default());
    match kind {
        0 => ("StateObjectConfig", flags(first, STATE_FLAGS, "<invalid StateObjectFlag>")),
        1 => ("GlobalRootSignature", format!("<{second} bytes>")),
        2 => ("LocalRootSignature", format!("<{second} bytes>")),
        8 => {
            let mut exports = String::new();
            for name in rdat.list(second).unwrap_or_default() {
                if exports.len() > room {
                    break;
                }
                let comma = if exports.is_empty() { "" } else { ", " };
                exports.push_str(&format!("{comma}\"{}\"", text(*name)));
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_dxcontainer::bytes::Bytes;
    use unshade_dxcontainer::image::Slack;
    use unshade_dxcontainer::rdat;

    /// Two records of one name, and one for each kind.
    #[test]
    fn kinds() {
        let texts = b"\0a\0hit\0x\0y\0";
        let rows = [
            [0, 1, 1, 0, 0, 0],
            [8, 3, 7, 0, 0, 0],
            [9, 7, 20, 8, 0, 0],
            [11, 9, 1, 7, 9, 0],
            [12, 0, 3, 0x300, 0, 0],
            [0, 1, 6, 0, 0, 0],
        ];
        let rows = rows.map(|values| Row { values: values.to_vec(), extra: Bytes::default() });
        let table = rdat::Table { stride: 24, rows: rows.to_vec(), tail: Bytes::default() };
        let part = |kind, content| rdat::RdatPart { offset: 0, kind, content };
        let rdat = Rdat {
            version: rdat::VERSION,
            parts: vec![
                part(RdatKind::STRING_BUFFER, rdat::RdatContent::Strings(Bytes(texts.to_vec()))),
                part(RdatKind::INDEX_ARRAYS, rdat::RdatContent::Indices(vec![2, 7, 9])),
                part(KIND, rdat::RdatContent::Table(table)),
            ],
            slack: Slack::new(0, 0),
        };
        let mut table = Table::new(100);
        put(&rdat, &mut table);
        let text = table.finish();
        let lines: Vec<&str> = text.lines().skip(3).collect();
        assert_eq!(
            lines,
            [
                ";  StateObjectConfig a = { STATE_OBJECT_FLAG_ALLOW_EXTERNAL_DEPENDENCIES_ON_LOCAL_DEFINITIONS | \
                 STATE_OBJECT_FLAG_ALLOW_STATE_OBJECT_ADDITIONS };",
                ";  SubobjectToExportsAssociation hit = { \"x\", { \"x\", \"y\" }  };",
                ";  RaytracingShaderConfig x = { MaxPayloadSizeInBytes = 20, MaxAttributeSizeInBytes = 8 };",
                ";  HitGroup y = { HitGroupType = ProceduralPrimitive, Anyhit = \"x\", Closesthit = \"y\", \
                 Intersection = \"\" };",
                ";  RaytracingPipelineConfig1  = { MaxTraceRecursionDepth = 3, Flags = \
                 RAYTRACING_PIPELINE_FLAG_SKIP_TRIANGLES | RAYTRACING_PIPELINE_FLAG_SKIP_PROCEDURAL_PRIMITIVES };",
                ";",
            ]
        );
    }
}
