//! PSV0 from the metadata of a module.
//!
//! Resources are in the order constant buffers, samplers, SRVs, UAVs. The dependency tables are those of
//! `dx.viewIdState`, whose rows are components of vectors, filled up to whole vectors.
//!
//! Source: DXC's `DxilPipelineStateValidation.cpp` and `DxilContainerAssembler.cpp`; real files.

use super::super::{DxilModule, EntryPoint, Resource, ResourceClass, SignatureElement, ValidatorVersion};
use super::form::Form;
use super::signature::component_type;
use crate::bytes::{Bytes, Text};
use crate::psv0::{
    Binding, BindingKind, ComponentType, Dependencies, DependencyShape, Element, Interpolation, Psv0,
    Resource as PsvResource, ResourceKind, ResourceType, RuntimeInfo, SemanticKind, Signatures, Stage, V1,
    stage_fields,
};
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// The order of the classes of resources.
pub(super) const CLASSES: [ResourceClass; 4] =
    [ResourceClass::CBUFFER, ResourceClass::SAMPLER, ResourceClass::SRV, ResourceClass::UAV];

/// The flag of a resource that 64-bit atomics are used on.
const ATOMIC_64: u32 = 1;

/// Size of an element.
const ELEMENT_STRIDE: u32 = 16;

/// Derives the part of an entry point. `group_shared` is the size of all group shared memory.
///
/// # Errors
/// Fails if `dx.viewIdState` does not fit the signatures.
pub(super) fn part(
    dxil: &DxilModule,
    entry: &EntryPoint,
    stage: Stage,
    form: Form,
    group_shared: u32,
) -> Result<Psv0> {
    let version = version_of(form.validator);
    let mut info = runtime_info(dxil, entry, stage, version);
    if version >= 4 && form.linear_algebra {
        info.extra = Bytes(vec![0; 4]);
    }
    set_stage_values(&mut info, entry, stage, group_shared);
    if let Some(bytes) = &mut info.group_shared_bytes {
        *bytes = if has_thread_groups(stage) { group_shared } else { 0 };
    }
    let resources: Vec<PsvResource> = CLASSES
        .into_iter()
        .flat_map(|class| dxil.resources_of(class))
        .map(|resource| psv_resource(resource, version >= 2))
        .collect();
    let resource_stride = match (resources.is_empty(), version >= 2) {
        (true, _) => 0,
        (false, false) => 16,
        (false, true) => 24,
    };
    let mut psv0 = Psv0 { info, resource_stride, resources, signatures: None, extra: Bytes::default() };
    if version >= 1 {
        let (signatures, entry_name) = signatures(entry, form.validator, version >= 3);
        psv0.info.entry_name = if version >= 3 { entry_name } else { None };
        let signatures = psv0.signatures.insert(signatures);
        if let Some(v1) = &psv0.info.v1 {
            let shape = DependencyShape::new(&psv0.info, v1);
            signatures.dependencies = dependencies(&shape, v1, psv0.info.patch_vectors(), dxil)?;
            if form.overlapping_streams {
                overlap_streams(&mut signatures.dependencies.input_to_output);
            }
        }
    }
    Ok(psv0)
}

/// Returns the version of the runtime information that a validator expects.
fn version_of(validator: ValidatorVersion) -> usize {
    const SINCE: [u32; 4] = [1, 6, 8, 10];
    SINCE.iter().take_while(|minor| validator.at_least(1, **minor)).count()
}

fn has_thread_groups(stage: Stage) -> bool {
    matches!(stage, Stage::COMPUTE | Stage::MESH | Stage::AMPLIFICATION)
}

fn runtime_info(dxil: &DxilModule, entry: &EntryPoint, stage: Stage, version: usize) -> RuntimeInfo {
    let [inputs, outputs, patch] = &entry.signatures;
    let lanes = entry.properties.wave_lanes.filter(|_| stage == Stage::COMPUTE);
    let (min_wave_lanes, max_wave_lanes) = match lanes {
        Some([min, max, _]) => (min, if max > 0 { max } else { min }),
        None => (0, u32::MAX),
    };
    let v1 = V1 {
        stage,
        uses_view_id: u8::from(dxil.has_flag(super::super::flags::VIEW_ID)),
        stage_info: [vectors_used(patch, 0), 0],
        input_count: 0,
        output_count: 0,
        patch_count: 0,
        input_vectors: vectors_used(inputs, 0),
        output_vectors: [0, 1, 2, 3].map(|stream| vectors_used(outputs, stream)),
    };
    let stage_has_patch = matches!(stage, Stage::HULL | Stage::DOMAIN | Stage::MESH);
    let v1 = if stage_has_patch { v1 } else { V1 { stage_info: [0; 2], ..v1 } };
    let threads = entry.properties.threads.filter(|_| has_thread_groups(stage)).unwrap_or_default();
    RuntimeInfo {
        stage_info: [0; 16],
        min_wave_lanes,
        max_wave_lanes,
        v1: (version >= 1).then_some(v1),
        threads: (version >= 2).then_some(threads),
        entry_name: (version >= 3).then_some(0),
        group_shared_bytes: (version >= 4).then_some(0),
        extra: Bytes::default(),
    }
}

/// Returns the number of vectors of a stream.
fn vectors_used(elements: &[SignatureElement], stream: u32) -> u8 {
    let ends = elements
        .iter()
        .filter(|element| element.stream == stream)
        .filter_map(|element| Some(element.start_row?.saturating_add(element.rows)));
    ends.max().map_or(0, |end| u8::try_from(end).unwrap_or(u8::MAX))
}

/// Sets the stage-specific fields: properties of the same name, and what follows from the signatures.
fn set_stage_values(info: &mut RuntimeInfo, entry: &EntryPoint, stage: Stage, group_shared: u32) {
    let [inputs, outputs, _] = &entry.signatures;
    let has = |elements: &[SignatureElement], kinds: &[SemanticKind]| {
        u32::from(elements.iter().any(|element| kinds.contains(&element.kind)))
    };
    let per_sample = |element: &SignatureElement| {
        let modes = [Interpolation::LINEAR_SAMPLE, Interpolation::LINEAR_NOPERSPECTIVE_SAMPLE];
        element.kind == SemanticKind::SAMPLE_INDEX || modes.contains(&element.interpolation)
    };
    for field in stage_fields(stage) {
        let value = match field.name {
            "OutputPositionPresent" => has(outputs, &[SemanticKind::POSITION]),
            "DepthOutput" => has(
                outputs,
                &[SemanticKind::DEPTH, SemanticKind::DEPTH_LESS_EQUAL, SemanticKind::DEPTH_GREATER_EQUAL],
            ),
            "SampleFrequency" => u32::from(inputs.iter().any(per_sample)),
            "GroupSharedBytesUsed" => group_shared,
            "PayloadSizeInBytes" => entry.properties.payload_size.unwrap_or_default(),
            // The runtime expects a stream even if nothing is emitted.
            "OutputStreamMask" => entry.stage_value(field.name).unwrap_or_default().max(1),
            name => match entry.stage_value(name) {
                Some(value) => value,
                None => continue,
            },
        };
        info.set_stage_value(field, value);
    }
}

fn psv_resource(resource: &Resource, has_kind: bool) -> PsvResource {
    let binding = Binding {
        resource_type: resource_type(resource),
        space: resource.space,
        lower_bound: resource.lower_bound,
        upper_bound: resource.upper_bound(),
    };
    let flags = if resource.access.atomic_64 { ATOMIC_64 } else { 0 };
    let kind = has_kind.then_some(BindingKind { kind: resource.kind, flags });
    PsvResource { binding, kind, extra: Bytes::default() }
}

fn resource_type(resource: &Resource) -> ResourceType {
    let uav = resource.class == ResourceClass::UAV;
    match resource.kind {
        ResourceKind::SAMPLER => ResourceType::SAMPLER,
        ResourceKind::CBUFFER => ResourceType::CBV,
        ResourceKind::STRUCTURED_BUFFER if resource.access.counter => {
            ResourceType::UAV_STRUCTURED_WITH_COUNTER
        }
        ResourceKind::STRUCTURED_BUFFER if uav => ResourceType::UAV_STRUCTURED,
        ResourceKind::STRUCTURED_BUFFER => ResourceType::SRV_STRUCTURED,
        ResourceKind::RT_ACCELERATION_STRUCTURE => ResourceType::SRV_RAW,
        ResourceKind::RAW_BUFFER if uav => ResourceType::UAV_RAW,
        ResourceKind::RAW_BUFFER => ResourceType::SRV_RAW,
        _ if uav => ResourceType::UAV_TYPED,
        _ => ResourceType::SRV_TYPED,
    }
}

/// Returns the elements with their tables, and the offset of the entry point's name.
fn signatures(
    entry: &EntryPoint,
    validator: ValidatorVersion,
    with_entry_name: bool,
) -> (Signatures, Option<u32>) {
    let elements = entry
        .signatures
        .each_ref()
        .map(|elements| elements.iter().map(|element| psv_element(element, validator)).collect::<Vec<_>>());
    let all = || entry.signatures.iter().flatten();
    // System values are told apart by their kind; only arbitrary semantics have a name.
    let name = |element: &SignatureElement| match element.kind {
        SemanticKind::ARBITRARY => element.name.clone(),
        _ => Text::default(),
    };
    let names: Vec<Text> = all().map(name).collect();
    let indices: Vec<Vec<u32>> = all().map(|element| element.indices.clone()).collect();
    let mut signatures = Signatures { stride: ELEMENT_STRIDE, elements, ..Signatures::default() };
    let entry_name = signatures.rebuild_tables(&names, &indices, with_entry_name.then_some(&entry.name));
    for (row, element) in signatures.elements.iter_mut().flatten().zip(all()) {
        row.rows = u8::try_from(element.rows).unwrap_or(u8::MAX);
    }
    (signatures, entry_name)
}

fn psv_element(element: &SignatureElement, validator: ValidatorVersion) -> Element {
    let byte = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    let allocated = match (element.start_row, element.start_column) {
        (Some(_), column) => 0x40 | (column.unwrap_or_default() & 3) << 4,
        (None, _) => 0,
    };
    let component = component_type(element.component_type, validator);
    Element {
        name_offset: 0,
        indices_offset: 0,
        rows: byte(element.rows),
        start_row: byte(element.start_row.unwrap_or_default()),
        columns: element.columns & 0xf | allocated,
        kind: element.kind,
        component_type: ComponentType(byte(component.0)),
        interpolation: element.interpolation,
        mask_and_stream: (byte(element.stream) & 3) << 4 | element.dynamic_mask & 0xf,
        reserved: 0,
    }
}

/// Fills the masks and tables from the words of `dx.viewIdState`.
fn dependencies(
    shape: &DependencyShape,
    v1: &V1,
    patch_vectors: u8,
    dxil: &DxilModule,
) -> Result<Dependencies> {
    let zeros = |words: u32| vec![0u32; words as usize];
    let mut found = Dependencies {
        view_id_outputs: shape.view_id_outputs.map(zeros),
        view_id_patch: zeros(shape.view_id_patch),
        input_to_output: shape.input_to_output.map(zeros),
        input_to_patch: zeros(shape.input_to_patch),
        patch_to_output: zeros(shape.patch_to_output),
    };
    if !dxil.view_id_words.is_empty() {
        let mut state = StateWords { words: &dxil.view_id_words };
        state.fill(&mut found, v1, patch_vectors).ok_or_else(|| {
            Error::new(ErrorKind::BadValue, 0, "state of the view ID does not fit the signatures")
        })?;
    }
    Ok(found)
}

/// Keeps the table of the last stream only.
fn overlap_streams(tables: &mut [Vec<u32>; 4]) {
    let last = tables.iter().rposition(|table| !table.is_empty());
    for (_, table) in tables.iter_mut().enumerate().filter(|(stream, _)| Some(*stream) != last) {
        table.fill(0);
    }
}

/// The words of `dx.viewIdState` that have not been read yet.
struct StateWords<'w> {
    words: &'w [u32],
}

impl StateWords<'_> {
    fn fill(&mut self, found: &mut Dependencies, v1: &V1, patch_vectors: u8) -> Option<()> {
        let inputs = self.scalars(v1.input_vectors)?;
        let streams = if v1.stage == Stage::GEOMETRY { 4 } else { 1 };
        let mut first_outputs = 0;
        let tables = found.view_id_outputs.iter_mut().zip(&mut found.input_to_output);
        for (stream, ((mask, table), vectors)) in tables.zip(v1.output_vectors).take(streams).enumerate() {
            let outputs = self.scalars(vectors)?;
            if stream == 0 {
                first_outputs = outputs;
            }
            self.copy(mask, table, inputs, outputs)?;
        }
        match v1.stage {
            Stage::HULL | Stage::MESH => {
                let scalars = self.scalars(patch_vectors)?;
                self.copy(&mut found.view_id_patch, &mut found.input_to_patch, inputs, scalars)
            }
            Stage::DOMAIN => {
                let scalars = self.scalars(patch_vectors)?;
                self.copy(&mut [], &mut found.patch_to_output, scalars, first_outputs)
            }
            _ => Some(()),
        }
    }

    /// Reads a number of scalars, which must lie within the last of so many vectors.
    fn scalars(&mut self, vectors: u8) -> Option<u32> {
        let (&scalars, rest) = self.words.split_first()?;
        self.words = rest;
        (scalars.div_ceil(4) == u32::from(vectors)).then_some(scalars)
    }

    /// Reads a mask and a table, where the part has them.
    fn copy(&mut self, mask: &mut [u32], table: &mut [u32], inputs: u32, outputs: u32) -> Option<()> {
        let words = outputs.div_ceil(32) as usize;
        if !mask.is_empty() {
            self.take(mask, words)?;
        }
        if !table.is_empty() {
            self.take(table, words.checked_mul(inputs as usize)?)?;
        }
        Some(())
    }

    fn take(&mut self, to: &mut [u32], count: usize) -> Option<()> {
        let (read, rest) = self.words.split_at_checked(count)?;
        to.get_mut(..count)?.copy_from_slice(read);
        self.words = rest;
        Some(())
    }
}
