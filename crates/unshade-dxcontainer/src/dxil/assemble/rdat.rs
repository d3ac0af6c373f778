//! RDAT of a library: its resources, functions and subobjects.
//!
//! What a function needs comes from its body, see [`compatibility`](super::compatibility). It refers to the resources
//! and undefined functions that its body mentions, and uses the group shared memory that it or a function that calls it
//! mentions. From validator version 1.8 on, functions have more fields, and nodes of work graphs tables of their own.
//!
//! Source: DXC's `DxilContainerAssembler.cpp`; the RDAT of real libraries.

use super::super::subobject::{Subobject, SubobjectValue};
use super::super::{DxilModule, EntryPoint, Resource, ResourceClass};
use super::compatibility::{self, Needs};
use super::form::Form;
use super::function::{entry_kind, flag};
use super::psv0::CLASSES;
use super::rdat_shader::Shaders;
use crate::bytes::{Text, len32};
use crate::program::ShaderKind;
use crate::rdat::{FieldKind, NULL, Rdat, RdatBuilder, RdatKind, Row, field_kind};
use crate::verify::features_of_module;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_llvm::global::Linkage;
use unshade_llvm::module::Module;
use unshade_llvm::value::ValueKind;

/// The number of fields of a function before validator version 1.8, and from then on.
const FUNCTION_FIELDS: [usize; 2] = [11, 15];

/// By how many bits optional features are above their flags.
const OPTIONAL_SHIFT: u32 = 1;
/// The flags of optional features: derivatives, thread groups.
const OPTIONAL_FLAGS: u64 = 3 << 39;

/// The prefix of a mangled name.
const MANGLED: &[u8] = b"\x01?";

/// The size of the payload counts for these kinds, and that of the attributes for the first two.
const WITH_PAYLOAD: [ShaderKind; 4] =
    [ShaderKind::CLOSEST_HIT, ShaderKind::ANY_HIT, ShaderKind::MISS, ShaderKind::CALLABLE];

/// The kinds of subobjects that need DXR 1.1: a pipeline configuration with flags, and a state object configuration
/// that allows additions.
const PIPELINE_CONFIG_1: u32 = 12;
const STATE_OBJECT_CONFIG: u32 = 0;
const ALLOW_ADDITIONS: u32 = 4;

/// Derives the part of a library.
///
/// # Errors
/// Fails if the body of a function cannot be read.
pub(super) fn part(
    module: &Module<'_>,
    dxil: &DxilModule,
    form: Form,
    subobjects: &[Subobject],
) -> Result<Rdat> {
    let needs = compatibility::of_module(module, dxil, form.validator, needs_dxr_1_1(subobjects))?;
    let extended = form.validator.at_least(1, 8);
    let [few, many] = FUNCTION_FIELDS;
    let mut library = Library {
        module,
        dxil,
        form,
        needs: &needs,
        builder: RdatBuilder::new(form.validator.at_least(1, 7), if extended { many } else { few }),
        resources: BTreeMap::new(),
        dependencies: BTreeMap::new(),
    };
    library.add_resources();
    library.add_dependencies();
    let group_shared = library.group_shared_bytes();
    for (index, needs) in needs.iter().enumerate() {
        if let Some(needs) = needs {
            library.add_function(index, needs, group_shared.get(index).copied().unwrap_or_default());
        }
    }
    if form.validator.at_least(1, 4) {
        subobjects.iter().for_each(|subobject| library.add_subobject(subobject));
    }
    Ok(library.builder.finish())
}

/// Whether subobjects need DXR 1.1.
pub(super) fn needs_dxr_1_1(subobjects: &[Subobject]) -> bool {
    subobjects.iter().any(|subobject| match (subobject.kind, subobject.values.first()) {
        (PIPELINE_CONFIG_1, _) => true,
        (STATE_OBJECT_CONFIG, Some(SubobjectValue::Number(flags))) => flags & ALLOW_ADDITIONS != 0,
        _ => false,
    })
}

struct Library<'l, 'a> {
    module: &'l Module<'a>,
    dxil: &'l DxilModule,
    form: Form,
    needs: &'l [Option<Needs>],
    builder: RdatBuilder,
    /// Records of resources, by function.
    resources: BTreeMap<usize, Vec<u32>>,
    /// Offsets of the names of undefined functions, by function that refers to them.
    dependencies: BTreeMap<usize, Vec<u32>>,
}

impl Library<'_, '_> {
    fn add_resources(&mut self) {
        let resources: Vec<&Resource> =
            CLASSES.into_iter().flat_map(|class| self.dxil.resources_of(class)).collect();
        for (index, resource) in resources.into_iter().enumerate() {
            let name = self.builder.text(&resource.name.0);
            let values = vec![
                resource.class.0,
                resource.kind.0,
                resource.id,
                resource.space,
                resource.lower_bound,
                resource.upper_bound(),
                name,
                resource_flags(resource),
            ];
            self.builder.record(RdatKind::RESOURCE_TABLE, values);
            let variable = self.module.value(None, resource.variable).map(|value| value.kind);
            let Some(ValueKind::Global(global)) = variable else { continue };
            for function in users(self.needs, |needs| needs.used.globals.contains(&global)) {
                self.resources.entry(function).or_default().push(len32(index));
            }
        }
    }

    /// Adds the names of functions that are used but not defined, in the order of their declarations.
    fn add_dependencies(&mut self) {
        for (index, function) in self.module.functions.iter().enumerate() {
            let name = &function.symbol.name;
            let known = super::operation::is_operation(name) || name.starts_with(b"llvm.");
            if !function.declaration || known || function.symbol.linkage != Linkage::External {
                continue;
            }
            for user in users(self.needs, |needs| needs.used.functions.contains(&len32(index))) {
                let name = self.builder.text(name);
                self.dependencies.entry(user).or_default().push(name);
            }
        }
    }

    /// Returns the bytes of group shared memory of each function: of the variables that it, or a function that it
    /// calls, mentions.
    fn group_shared_bytes(&self) -> Vec<u32> {
        let layout = super::data_layout(self.module);
        let mut bytes = vec![0u32; self.needs.len()];
        for (index, global) in self.module.globals.iter().enumerate() {
            if global.symbol.address_space != super::GROUP_SHARED {
                continue;
            }
            let size = super::allocation_size(self.module, &layout, global.symbol.ty);
            let mut work: Vec<usize> =
                users(self.needs, |needs| needs.used.globals.contains(&len32(index))).collect();
            let mut done = BTreeSet::new();
            while let Some(function) = work.pop() {
                if !done.insert(function) {
                    continue;
                }
                if let Some(bytes) = bytes.get_mut(function) {
                    *bytes = bytes.saturating_add(size);
                }
                work.extend(users(self.needs, |needs| needs.used.functions.contains(&len32(function))));
            }
        }
        bytes
    }

    fn add_function(&mut self, index: usize, needs: &Needs, group_shared: u32) {
        let Some(function) = self.module.functions.get(index) else { return };
        let entry = self.dxil.entries.iter().find(|entry| entry.function == Some(index));
        let name = self.builder.text(&function.symbol.name);
        let unmangled = self.builder.text(unmangled(&function.symbol.name));
        let resources = self.resources.get(&index).map_or(NULL, |list| self.builder.list(list));
        let dependencies = self.dependencies.get(&index).map_or(NULL, |list| self.builder.list(list));
        let kind = entry.and_then(|entry| entry_kind(self.dxil, entry)).unwrap_or(ShaderKind::LIBRARY);
        let (mut flags, mut shader) = (0, NULL);
        if let Some(entry) = entry.filter(|_| self.form.validator.at_least(1, 8)) {
            let mut shaders = Shaders { builder: &mut self.builder, form: self.form };
            (flags, shader) = shaders.add(entry, kind, group_shared, needs.has(flag::VIEW_ID));
        }
        let features =
            features_of_module(needs.used.flags) | (needs.used.flags & OPTIONAL_FLAGS) << OPTIONAL_SHIFT;
        let [payload, attributes] = ray_sizes(entry, kind);
        let [min_lanes, max_lanes] = lanes(entry);
        let values = vec![
            name,
            unmangled,
            resources,
            dependencies,
            kind.0.into(),
            payload,
            attributes,
            (features & 0xFFFF_FFFF) as u32,
            (features >> 32) as u32,
            needs.stages,
            u32::from(kind.0) << 16 | 6 << 4 | needs.minor,
            min_lanes,
            max_lanes,
            flags,
            shader,
        ];
        self.builder.record(RdatKind::FUNCTION_TABLE, values);
    }

    fn add_subobject(&mut self, subobject: &Subobject) {
        let name = self.builder.text(&subobject.name.0);
        let mut values = vec![subobject.kind, name];
        for value in &subobject.values {
            match value {
                SubobjectValue::Number(number) => values.push(*number),
                SubobjectValue::Text(text) => values.push(self.builder.text(&text.0)),
                SubobjectValue::Texts(texts) => {
                    let offsets: Vec<u32> = texts.iter().map(|text| self.builder.text(&text.0)).collect();
                    values.push(self.builder.list(&offsets));
                }
                SubobjectValue::Bytes(bytes) => {
                    values.push(self.builder.bytes(bytes));
                    values.push(len32(bytes.len()));
                }
            }
        }
        values.resize(6, 0);
        self.builder.record(RdatKind::SUBOBJECT_TABLE, values);
    }
}

/// Returns the functions that use something.
fn users(needs: &[Option<Needs>], uses: impl Fn(&Needs) -> bool) -> impl Iterator<Item = usize> {
    needs
        .iter()
        .enumerate()
        .filter(move |(_, needs)| needs.as_ref().is_some_and(&uses))
        .map(|(index, _)| index)
        .collect::<Vec<_>>()
        .into_iter()
}

fn resource_flags(resource: &Resource) -> u32 {
    let access = &resource.access;
    let bits = [
        access.globally_coherent,
        access.counter,
        access.rasterizer_ordered,
        false,
        access.atomic_64,
        access.reorder_coherent,
    ];
    if resource.class != ResourceClass::UAV {
        return 0;
    }
    bits.iter().rev().fold(0, |flags, bit| flags << 1 | u32::from(*bit))
}

/// Returns a name without its mangling: what is between the prefix and the first `@`.
fn unmangled(name: &[u8]) -> &[u8] {
    match name.strip_prefix(MANGLED) {
        Some(rest) => rest.split(|byte| *byte == b'@').next().unwrap_or_default(),
        None => name,
    }
}

fn ray_sizes(entry: Option<&EntryPoint>, kind: ShaderKind) -> [u32; 2] {
    let Some(entry) = entry.filter(|_| WITH_PAYLOAD.contains(&kind)) else { return [0, 0] };
    let properties = &entry.properties;
    let with_attributes = matches!(kind, ShaderKind::CLOSEST_HIT | ShaderKind::ANY_HIT);
    let attributes = properties.attribute_size.filter(|_| with_attributes);
    [properties.payload_size.unwrap_or_default(), attributes.unwrap_or_default()]
}

fn lanes(entry: Option<&EntryPoint>) -> [u32; 2] {
    match entry.and_then(|entry| entry.properties.wave_lanes) {
        Some([min, max, _]) => [min, if max > 0 { max } else { min }],
        None => [0, 0],
    }
}

/// Returns the subobjects in RDAT.
pub(super) fn subobjects_of(rdat: &Rdat) -> Vec<Subobject> {
    let rows = rdat.table(RdatKind::SUBOBJECT_TABLE).map(|table| table.rows.as_slice()).unwrap_or_default();
    rows.iter().filter_map(|row| subobject_of(rdat, row)).collect()
}

fn subobject_of(rdat: &Rdat, row: &Row) -> Option<Subobject> {
    let (&[kind, name], words) = row.values.split_first_chunk()?;
    let text = |offset: u32| Some(Text::from(rdat.text(offset)?));
    let mut values = Vec::new();
    let mut words = words.iter().copied().enumerate();
    while let Some((at, word)) = words.next() {
        values.push(match field_kind(RdatKind::SUBOBJECT_TABLE, at.saturating_add(2), kind) {
            FieldKind::Text => SubobjectValue::Text(text(word)?),
            FieldKind::TextArray => {
                let texts = rdat.list(word)?.iter().map(|offset| text(*offset)).collect::<Option<_>>()?;
                SubobjectValue::Texts(texts)
            }
            FieldKind::BytesOffset => {
                let (_, size) = words.next()?;
                SubobjectValue::Bytes(rdat.raw_bytes(word, size)?.to_vec())
            }
            _ => SubobjectValue::Number(word),
        });
    }
    Some(Subobject { name: text(name)?, kind, values })
}
