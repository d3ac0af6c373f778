//! Prints signatures: those of the parts, with registers, and those of the module, with interpolation.

use super::text::{Table, left, mask_in_place, mask_packed, plain, right};
use crate::dxil::{DxilModule, SignatureElement};
use unshade_dxcontainer::program::ShaderKind;
use unshade_dxcontainer::psv0::Interpolation;
use unshade_dxcontainer::signature::{ComponentType, Element, Signature, SystemValue};

/// Parts with their titles, and whether they are inputs.
pub(super) const PARTS: &[(&[u8; 4], &str, bool)] =
    &[(b"ISG1", "Input", true), (b"OSG1", "Output", false), (b"PSG1", "Patch Constant", false)];

/// Text in the register column for elements without a register, by name (case-insensitive).
const SPECIAL_REGISTERS: &[(&str, &str)] = &[
    ("SV_Depth", "   oDepth"),
    ("SV_DepthGreaterEqual", " oDepthGE"),
    ("SV_DepthLessEqual", " oDepthLE"),
    ("SV_Coverage", "    oMask"),
    ("SV_StencilRef", "    oStencilRef"),
];

const SYSTEM_VALUES: &[(SystemValue, &str)] = &[
    (SystemValue::CLIP_DISTANCE, "CLIPDST"),
    (SystemValue::CULL_DISTANCE, "CULLDST"),
    (SystemValue::POSITION, "POS"),
    (SystemValue::RENDER_TARGET_ARRAY_INDEX, "RTINDEX"),
    (SystemValue::VIEWPORT_ARRAY_INDEX, "VPINDEX"),
    (SystemValue::VERTEX_ID, "VERTID"),
    (SystemValue::PRIMITIVE_ID, "PRIMID"),
    (SystemValue::INSTANCE_ID, "INSTID"),
    (SystemValue::IS_FRONT_FACE, "FFACE"),
    (SystemValue::SAMPLE_INDEX, "SAMPLE"),
    (SystemValue::TARGET, "TARGET"),
    (SystemValue::DEPTH, "DEPTH"),
    (SystemValue::DEPTH_GREATER_EQUAL, "DEPTHGE"),
    (SystemValue::DEPTH_LESS_EQUAL, "DEPTHLE"),
    (SystemValue::COVERAGE, "COVERAGE"),
    (SystemValue::INNER_COVERAGE, "INNERCOV"),
    (SystemValue::STENCIL_REF, "STENCILREF"),
    (SystemValue::FINAL_QUAD_EDGE, "QUADEDGE"),
    (SystemValue::FINAL_QUAD_INSIDE, "QUADINT"),
    (SystemValue::FINAL_TRI_EDGE, "TRIEDGE"),
    (SystemValue::FINAL_TRI_INSIDE, "TRIINT"),
    (SystemValue::FINAL_LINE_DETAIL, "LINEDET"),
    (SystemValue::FINAL_LINE_DENSITY, "LINEDEN"),
    (SystemValue::BARYCENTRICS, "BARYCEN"),
    (SystemValue::SHADING_RATE, "SHDINGRATE"),
    (SystemValue::CULL_PRIMITIVE, "CULLPRIM"),
];

const FORMATS: &[(ComponentType, &str)] = &[
    (ComponentType::FLOAT32, "float"),
    (ComponentType::SINT32, "int"),
    (ComponentType::UINT32, "uint"),
    (ComponentType::UINT16, "uint16"),
    (ComponentType::SINT16, "int16"),
    (ComponentType::FLOAT16, "fp16"),
    (ComponentType::UINT64, "uint64"),
    (ComponentType::SINT64, "int64"),
    (ComponentType::FLOAT64, "double"),
];

const INTERPOLATIONS: &[(Interpolation, &str)] = &[
    (Interpolation::UNDEFINED, ""),
    (Interpolation::CONSTANT, "nointerpolation"),
    (Interpolation::LINEAR, "linear"),
    (Interpolation::LINEAR_CENTROID, "centroid"),
    (Interpolation::LINEAR_NOPERSPECTIVE, "noperspective"),
    (Interpolation::LINEAR_NOPERSPECTIVE_CENTROID, "noperspective centroid"),
    (Interpolation::LINEAR_SAMPLE, "sample"),
    (Interpolation::LINEAR_NOPERSPECTIVE_SAMPLE, "noperspective sample"),
];

fn name_of<K: PartialEq>(names: &[(K, &'static str)], key: &K, other: &'static str) -> &'static str {
    names.iter().find(|(known, _)| known == key).map_or(other, |(_, name)| name)
}

/// Prints the table of a part.
pub(super) fn put_part(title: &str, signature: &Signature, is_input: bool, table: &mut Table) {
    table.title(&format!(" {title} signature:"));
    table.line(" Name                 Index   Mask Register SysValue  Format   Used");
    table.line(" -------------------- ----- ------ -------- -------- ------- ------");
    if signature.elements.is_empty() {
        return table.line(" no parameters");
    }
    let has_streams = signature.elements.iter().any(|element| element.stream != 0);
    for element in &signature.elements {
        table.line(&part_row(element, has_streams, is_input));
    }
    table.line("");
}

fn part_row(element: &Element, has_streams: bool, is_input: bool) -> String {
    let core = &element.core;
    let name = plain(&element.name.0);
    let name = match has_streams {
        true => format!("m{}:{}", element.stream, left(&name, 17)),
        false => left(&name, 20),
    };
    let has_register = core.register != u32::MAX;
    let place = match has_register {
        true => format!("   {} {:>8}", mask_in_place(core.mask), core.register),
        false => format!("    N/A{}", special_register(element)),
    };
    // The mask of an input contains components that are read, that of an output components that are never written.
    let used = if is_input { core.exclusive_mask } else { !core.exclusive_mask };
    let used = match has_register {
        true => format!("   {}", mask_in_place(used)),
        false => if used != 0 { "    YES" } else { "     NO" }.into(),
    };
    let system_value = right(name_of(SYSTEM_VALUES, &core.system_value, "NONE"), 9);
    let format = right(name_of(FORMATS, &core.component_type, "unknown"), 8);
    format!(" {name} {:>5}{place}{system_value}{format}{used}", core.index)
}

fn special_register(element: &Element) -> &'static str {
    let is_named = |(name, _): &&(&str, &str)| element.name.0.eq_ignore_ascii_case(name.as_bytes());
    match SPECIAL_REGISTERS.iter().find(is_named) {
        Some((_, register)) => register,
        None if element.core.system_value == SystemValue::PRIMITIVE_ID => "   primID",
        None => "  special",
    }
}

/// Prints the tables of a module's entry point; a library has none.
pub(super) fn put_module(dxil: &DxilModule, table: &mut Table) {
    let kind = dxil.model.as_ref().and_then(|model| model.kind());
    let titles = match kind {
        Some(ShaderKind::LIBRARY) => return,
        Some(ShaderKind::MESH) => ["Input", "Vertex Output", "Primitive Output"],
        _ => ["Input", "Output", "Patch Constant"],
    };
    let Some(entry) = dxil.entries.first() else { return };
    for (title, elements) in titles.iter().zip(&entry.signatures) {
        if elements.is_empty() {
            continue;
        }
        table.title(&format!(" {title} signature:"));
        table.line(" Name                 Index             InterpMode DynIdx");
        table.line(" -------------------- ----- ---------------------- ------");
        elements.iter().for_each(|element| table.line(&module_row(element)));
    }
}

fn module_row(element: &SignatureElement) -> String {
    let name = left(&plain(&element.name.0), 20);
    let index = element.indices.first().copied().unwrap_or(0);
    let interpolation = right(name_of(INTERPOLATIONS, &element.interpolation, "invalid"), 22);
    format!(" {name} {index:>5} {interpolation}   {}", right(&mask_packed(element.dynamic_mask), 4))
}
