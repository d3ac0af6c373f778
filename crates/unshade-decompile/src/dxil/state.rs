//! State objects of a library, from the subobjects in RDAT.
//!
//! The meaning of a record's four values depends on its kind:
//!
//! | kind | type | values |
//! |---|---|---|
//! | 0 | `StateObjectConfig` | flags |
//! | 1, 2 | `GlobalRootSignature`, `LocalRootSignature` | offset and size of its bytes |
//! | 8 | `SubobjectToExportsAssociation` | name of a state object, list of functions |
//! | 9 | `RaytracingShaderConfig` | bytes of payload and attributes |
//! | 10 | `RaytracingPipelineConfig` | depth of recursion |
//! | 11 | `TriangleHitGroup`, `ProceduralPrimitiveHitGroup` | 0 or 1; any hit, closest hit, intersection |
//! | 12 | `RaytracingPipelineConfig1` | depth of recursion, flags |
//!
//! Source: DXC's `DxilSubobject.h`, and its names of flags in HLSL, one of which has a typing error.

use crate::ir::shader::interface::{ShaderProgram, StateObject, StateValue};
use crate::root_signature;
use unshade_dxcontainer::rdat::{Rdat, RdatKind, Row};
use unshade_dxcontainer::{Container, PartData};

const KIND: RdatKind = RdatKind::SUBOBJECT_TABLE;

/// The values of a record follow its kind and its name.
const FIRST_VALUE: usize = 2;

const STATE_FLAGS: [(u32, &str); 3] = [
    (1, "STATE_OBJECT_FLAGS_ALLOW_LOCAL_DEPENDENCIES_ON_EXTERNAL_DEFINITONS"),
    (2, "STATE_OBJECT_FLAGS_ALLOW_EXTERNAL_DEPENDENCIES_ON_LOCAL_DEFINITIONS"),
    (4, "STATE_OBJECT_FLAG_ALLOW_STATE_OBJECT_ADDITIONS"),
];

const PIPELINE_FLAGS: [(u32, &str); 3] = [
    (0x100, "RAYTRACING_PIPELINE_FLAG_SKIP_TRIANGLES"),
    (0x200, "RAYTRACING_PIPELINE_FLAG_SKIP_PROCEDURAL_PRIMITIVES"),
    (0x400, "RAYTRACING_PIPELINE_FLAG_ALLOW_OPACITY_MICROMAPS"),
];

/// Adds the state objects of a container to its program.
pub(super) fn add(container: &Container<'_>, program: &mut ShaderProgram) {
    let Some(part) = container.find(b"RDAT") else { return };
    match PartData::read(part.name, part.data) {
        Ok(PartData::Rdat(rdat)) => add_all(&rdat, program),
        Ok(_) => {}
        Err(error) => program.missing.push(format!("the state objects in RDAT: {error}")),
    }
}

fn add_all(rdat: &Rdat, program: &mut ShaderProgram) {
    for row in rdat.table(KIND).map_or(&[][..], |table| &table.rows) {
        let name = text(rdat, rdat.value(KIND, row, "Name").unwrap_or(u32::MAX));
        match described(rdat, row, &mut program.missing) {
            Some((ty, values)) => {
                // Of several with one name, the last one counts.
                let object = StateObject { ty, name, values };
                match program.state_objects.iter_mut().find(|known| known.name == object.name) {
                    Some(known) => *known = object,
                    None => program.state_objects.push(object),
                }
            }
            None => program.missing.push(format!("the state object {name}")),
        }
    }
}

fn text(rdat: &Rdat, offset: u32) -> String {
    String::from_utf8_lossy(rdat.text(offset).unwrap_or_default()).into_owned()
}

/// Returns the type and the values of a state object; `None` if its kind is unknown.
fn described(rdat: &Rdat, row: &Row, missing: &mut Vec<String>) -> Option<(&'static str, Vec<StateValue>)> {
    let value = |index: usize| row.values.get(FIRST_VALUE + index).copied().unwrap_or_default();
    let [first, second, third, fourth] = [value(0), value(1), value(2), value(3)];
    let name = |offset: u32| StateValue::Names(vec![text(rdat, offset)]);
    let number = StateValue::Number;
    let mut root_signature = |is_local| {
        let bytes = rdat.raw_bytes(first, second).unwrap_or_default();
        vec![StateValue::RootSignature(root_signature::of_bytes(bytes, is_local, missing))]
    };
    Some(match rdat.value(KIND, row, "Kind")? {
        0 => ("StateObjectConfig", vec![flags(first, &STATE_FLAGS)?]),
        1 => ("GlobalRootSignature", root_signature(false)),
        2 => ("LocalRootSignature", root_signature(true)),
        8 => {
            let exports = rdat.list(second).unwrap_or_default().iter().map(|name| text(rdat, *name));
            ("SubobjectToExportsAssociation", vec![name(first), StateValue::Names(exports.collect())])
        }
        9 => ("RaytracingShaderConfig", vec![number(first), number(second)]),
        10 => ("RaytracingPipelineConfig", vec![number(first)]),
        11 if first == 0 => ("TriangleHitGroup", vec![name(second), name(third)]),
        11 if first == 1 => ("ProceduralPrimitiveHitGroup", vec![name(second), name(third), name(fourth)]),
        12 => ("RaytracingPipelineConfig1", vec![number(first), flags(second, &PIPELINE_FLAGS)?]),
        _ => return None,
    })
}

/// Returns flags by their names; `None` if one has none.
fn flags(flags: u32, names: &[(u32, &str)]) -> Option<StateValue> {
    let known = names.iter().fold(0, |known, (flag, _)| known | flag);
    if flags & !known != 0 {
        return None;
    }
    let set = names.iter().filter(|(flag, _)| flags & flag != 0);
    Some(StateValue::Flags(set.map(|(_, name)| (*name).to_owned()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::shader::interface::Stage;
    use unshade_dxcontainer::bytes::Bytes;
    use unshade_dxcontainer::rdat::{RdatContent, RdatPart, Table};

    /// Returns RDAT with subobjects.
    fn rdat(rows: &[[u32; 6]]) -> Rdat {
        let part = |kind, content| RdatPart { offset: 0, kind, content };
        let rows = rows.iter().map(|row| Row { values: row.to_vec(), extra: Bytes::default() }).collect();
        Rdat::new(vec![
            part(RdatKind::STRING_BUFFER, RdatContent::Strings(Bytes(b"\0a\0hit\0x\0y\0\0".to_vec()))),
            part(RdatKind::INDEX_ARRAYS, RdatContent::Indices(vec![2, 7, 9])),
            part(KIND, RdatContent::Table(Table { stride: 24, rows, tail: Bytes::default() })),
        ])
    }

    #[test]
    fn kinds_have_their_values() {
        let mut program = ShaderProgram::new(Stage::Library, (6, 3));
        let rows = [
            [0, 1, 1, 0, 0, 0],
            [8, 3, 7, 0, 0, 0],
            [11, 7, 0, 0, 9, 0],
            [12, 9, 3, 0x300, 0, 0],
            [0, 1, 6, 0, 0, 0],
        ];
        add_all(&rdat(&rows), &mut program);
        let text = crate::hlsl::print(program).text();
        let expected = "StateObjectConfig a = { STATE_OBJECT_FLAGS_ALLOW_EXTERNAL_DEPENDENCIES_ON_LOCAL_DEFINITIONS | STATE_OBJECT_FLAG_ALLOW_STATE_OBJECT_ADDITIONS };\n\
            SubobjectToExportsAssociation hit = { \"x\", \"x;y\" };\n\
            TriangleHitGroup x = { \"\", \"y\" };\n\
            RaytracingPipelineConfig1 y = { 3, RAYTRACING_PIPELINE_FLAG_SKIP_TRIANGLES | RAYTRACING_PIPELINE_FLAG_SKIP_PROCEDURAL_PRIMITIVES };\n";
        assert_eq!(text.trim_end(), expected.trim_end());
    }

    #[test]
    fn unknown_kinds_and_flags_are_named() {
        let mut program = ShaderProgram::new(Stage::Library, (6, 3));
        add_all(&rdat(&[[0, 1, 8, 0, 0, 0], [7, 3, 0, 0, 0, 0], [1, 7, 0, 99, 0, 0]]), &mut program);
        assert_eq!(program.missing.len(), 3, "{:?}", program.missing);
        let hlsl = crate::hlsl::print(program);
        assert_eq!(hlsl.unknown.len(), 3);
        assert!(hlsl.text().contains("// not in this text: the state object a\n"), "{}", hlsl.text());
    }
}
