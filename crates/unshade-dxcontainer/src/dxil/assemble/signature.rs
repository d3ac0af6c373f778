//! ISG1, OSG1 and PSG1 from the signatures of an entry point.
//!
//! Each row of an element is an entry of its own. Entries are sorted by stream, register and name; the names are in the
//! order of the elements. An entry's second mask says which components are always read (inputs) or never written
//! (outputs). Before validator version 1.5, nothing was known of that: no component of an input is always read, and an
//! output never writes the components that it does not have.
//!
//! Source: DXC's `DxilContainerAssembler.cpp`; real files.

use super::super::{ComponentType as DxilType, SignatureElement, ValidatorVersion};
use crate::bytes::{Text, len32};
use crate::image::{Layout, Slack};
use crate::psv0::SemanticKind;
use crate::signature::{
    ComponentType, Core, Element, Form, MinPrecision, NamePolicy, Signature, SystemValue,
};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What a signature depends on besides its elements.
#[derive(Clone, Copy)]
pub(super) struct Context {
    /// Whether the program reads the elements.
    pub(super) input: bool,
    /// The tessellator domain of a hull or domain shader: 1 isoline, 2 tri, 3 quad; 0 in other stages.
    pub(super) domain: u32,
    /// Whether 16-bit types are a hint.
    pub(super) min_precision: bool,
    /// The version of the validator.
    pub(super) validator: ValidatorVersion,
}

/// System values of kinds of semantics; those of tessellation factors depend on the domain.
const SYSTEM_VALUES: &[(SemanticKind, SystemValue)] = &[
    (SemanticKind::ARBITRARY, SystemValue::UNDEFINED),
    (SemanticKind::VERTEX_ID, SystemValue::VERTEX_ID),
    (SemanticKind::INSTANCE_ID, SystemValue::INSTANCE_ID),
    (SemanticKind::POSITION, SystemValue::POSITION),
    (SemanticKind::RENDER_TARGET_ARRAY_INDEX, SystemValue::RENDER_TARGET_ARRAY_INDEX),
    (SemanticKind::VIEWPORT_ARRAY_INDEX, SystemValue::VIEWPORT_ARRAY_INDEX),
    (SemanticKind::CLIP_DISTANCE, SystemValue::CLIP_DISTANCE),
    (SemanticKind::CULL_DISTANCE, SystemValue::CULL_DISTANCE),
    (SemanticKind::PRIMITIVE_ID, SystemValue::PRIMITIVE_ID),
    (SemanticKind::SAMPLE_INDEX, SystemValue::SAMPLE_INDEX),
    (SemanticKind::IS_FRONT_FACE, SystemValue::IS_FRONT_FACE),
    (SemanticKind::COVERAGE, SystemValue::COVERAGE),
    (SemanticKind::INNER_COVERAGE, SystemValue::INNER_COVERAGE),
    (SemanticKind::TARGET, SystemValue::TARGET),
    (SemanticKind::DEPTH, SystemValue::DEPTH),
    (SemanticKind::DEPTH_LESS_EQUAL, SystemValue::DEPTH_LESS_EQUAL),
    (SemanticKind::DEPTH_GREATER_EQUAL, SystemValue::DEPTH_GREATER_EQUAL),
    (SemanticKind::BARYCENTRICS, SystemValue::BARYCENTRICS),
    (SemanticKind::SHADING_RATE, SystemValue::SHADING_RATE),
    (SemanticKind::CULL_PRIMITIVE, SystemValue::CULL_PRIMITIVE),
    (SemanticKind::INVALID, SystemValue::UNDEFINED),
];

/// System values of tessellation factors, by domain: factors of edges, and inside factors. The rows of an isoline's
/// factor are density and detail.
const TESSELLATION: [[SystemValue; 2]; 4] = [
    [SystemValue::UNDEFINED, SystemValue::UNDEFINED],
    [SystemValue::FINAL_LINE_DENSITY, SystemValue::UNDEFINED],
    [SystemValue::FINAL_TRI_EDGE, SystemValue::FINAL_TRI_INSIDE],
    [SystemValue::FINAL_QUAD_EDGE, SystemValue::FINAL_QUAD_INSIDE],
];

/// Component types of DXIL with those of signatures. Signed and unsigned normalized numbers have none.
const COMPONENT_TYPES: &[(DxilType, ComponentType)] = &[
    (DxilType::I1, ComponentType::UINT32),
    (DxilType::I16, ComponentType::SINT16),
    (DxilType::U16, ComponentType::UINT16),
    (DxilType::I32, ComponentType::SINT32),
    (DxilType::U32, ComponentType::UINT32),
    (DxilType::I64, ComponentType::SINT64),
    (DxilType::U64, ComponentType::UINT64),
    (DxilType::F16, ComponentType::FLOAT16),
    (DxilType::F32, ComponentType::FLOAT32),
    (DxilType::F64, ComponentType::FLOAT64),
];

const MIN_PRECISIONS: &[(DxilType, MinPrecision)] = &[
    (DxilType::I16, MinPrecision::SINT16),
    (DxilType::U16, MinPrecision::UINT16),
    (DxilType::F16, MinPrecision::FLOAT16),
];

fn lookup<K: PartialEq, V: Copy>(table: &[(K, V)], key: &K, otherwise: V) -> V {
    table.iter().find(|(known, _)| known == key).map_or(otherwise, |(_, value)| *value)
}

fn system_value(kind: SemanticKind, domain: u32) -> SystemValue {
    let [edge, inside] = TESSELLATION.get(domain as usize).copied().unwrap_or(TESSELLATION[0]);
    match kind {
        SemanticKind::TESS_FACTOR => edge,
        SemanticKind::INSIDE_TESS_FACTOR => inside,
        _ => lookup(SYSTEM_VALUES, &kind, SystemValue::STENCIL_REF),
    }
}

/// Returns the component type in signatures. Validators up to 1.4 did not know booleans.
pub(super) fn component_type(component: DxilType, validator: ValidatorVersion) -> ComponentType {
    match component {
        DxilType::I1 if !validator.at_least(1, 5) => ComponentType::UNKNOWN,
        _ => lookup(COMPONENT_TYPES, &component, ComponentType::UNKNOWN),
    }
}

/// Derives a part from the elements of a signature.
pub(super) fn part(elements: &[SignatureElement], context: Context) -> Signature {
    let rows = elements.iter().map(|element| element.indices.len()).fold(0, usize::saturating_add);
    let size = rows.saturating_mul(Form::Full.element_size()).saturating_add(8);
    let mut names = Names {
        shared: NamePolicy::of_validator(context.validator.pair()) == NamePolicy::Shared,
        layout: Layout::starting_at(len32(size)),
        offsets: BTreeMap::new(),
    };
    let mut entries = Vec::with_capacity(rows);
    for element in elements {
        let name_offset = names.offset(element);
        push_rows(&mut entries, element, name_offset, context);
    }
    if names.shared {
        names.layout.align();
    }
    entries.sort_by_key(|entry| (entry.stream, entry.core.register, entry.core.name_offset));
    let slack = Slack::new(names.layout.end(), 0);
    Signature { form: Form::Full, first_offset: 8, elements: entries, slack }
}

/// The names at the end of the part. Each is there once; before validator version 1.7, only those of system values are
/// shared.
struct Names {
    shared: bool,
    layout: Layout,
    offsets: BTreeMap<Text, u32>,
}

impl Names {
    fn offset(&mut self, element: &SignatureElement) -> u32 {
        let shared = self.shared || element.kind != SemanticKind::ARBITRARY;
        match self.offsets.get(&element.name) {
            Some(offset) if shared => *offset,
            _ => {
                let offset = self.layout.text(&element.name.0);
                self.offsets.insert(element.name.clone(), offset);
                offset
            }
        }
    }
}

/// Appends an entry for each row of an element.
fn push_rows(entries: &mut Vec<Element>, element: &SignatureElement, name_offset: u32, context: Context) {
    let mask = element.register_mask();
    let exclusive_mask = match (context.validator.at_least(1, 5), context.input) {
        (false, true) => 0,
        (false, false) => !mask,
        (true, true) => element.used_register_mask(),
        (true, false) => !element.used_register_mask() & 0xf,
    };
    let min_precision = match context.min_precision {
        true => lookup(MIN_PRECISIONS, &element.component_type, MinPrecision::DEFAULT),
        false => MinPrecision::DEFAULT,
    };
    let mut core = Core {
        name_offset,
        index: 0,
        system_value: system_value(element.kind, context.domain),
        component_type: component_type(element.component_type, context.validator),
        register: element.start_row.unwrap_or(u32::MAX),
        mask,
        exclusive_mask,
        reserved: 0,
    };
    // Mesh shaders may give an element of one row an index for each vertex.
    let step = element.rows.checked_div(len32(element.indices.len())).unwrap_or(1);
    for index in &element.indices {
        core.index = *index;
        let entry =
            Element { stream: element.stream, name: element.name.clone(), core: core.clone(), min_precision };
        entries.push(entry);
        if element.start_row.is_some() {
            core.register = core.register.saturating_add(step);
        }
        if core.system_value == SystemValue::FINAL_LINE_DENSITY {
            core.system_value = SystemValue::FINAL_LINE_DETAIL;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::psv0::Interpolation;

    fn element(name: &str, kind: SemanticKind, rows: u32, start_row: u32) -> SignatureElement {
        SignatureElement {
            id: 0,
            name: Text::from(name),
            component_type: DxilType::F32,
            kind,
            indices: (0..rows).collect(),
            interpolation: Interpolation::LINEAR,
            rows,
            columns: 2,
            start_row: Some(start_row),
            start_column: Some(1),
            stream: 0,
            dynamic_mask: 0,
            used_mask: 1,
        }
    }

    fn context(minor: u32) -> Context {
        let validator = ValidatorVersion([1, minor]);
        Context { input: false, domain: 1, min_precision: true, validator }
    }

    #[test]
    fn rows_become_entries_in_register_order() {
        let elements = [
            element("B", SemanticKind::ARBITRARY, 1, 2),
            element("SV_TessFactor", SemanticKind::TESS_FACTOR, 2, 0),
        ];
        let signature = part(&elements, context(8));
        let registers: Vec<u32> = signature.elements.iter().map(|entry| entry.core.register).collect();
        assert_eq!(registers, [0, 1, 2]);
        let values: Vec<SystemValue> =
            signature.elements.iter().map(|entry| entry.core.system_value).collect();
        assert_eq!(values[..2], [SystemValue::FINAL_LINE_DENSITY, SystemValue::FINAL_LINE_DETAIL]);
        // The name of the first element comes first, although its entry is the last.
        assert_eq!(signature.elements[2].core.name_offset, 8 + 3 * 32);
        assert_eq!((signature.elements[0].core.mask, signature.elements[0].core.exclusive_mask), (6, 0xd));
        assert_eq!(signature.write().unwrap().len() % 4, 0);
    }

    #[test]
    fn old_validators_know_no_usage() {
        let signature = part(&[element("A", SemanticKind::ARBITRARY, 1, 0)], context(4));
        assert_eq!(signature.elements[0].core.exclusive_mask, 0xf9);
        assert_eq!(signature.write().unwrap().len(), 8 + 32 + 2);
    }
}
