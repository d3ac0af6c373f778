//! Adds information from the module of a DirectX container that its parts do not have: names of resources,
//! interpolation modes, and properties of entry points.

use super::dxcontainer::{ContainerView, ExportView, NodeView, ResourceView};
use super::shown;
use crate::demangle;
use crate::dxil::{DxilModule, EntryPoint, Resource, ResourceClass, SignatureElement, main_part};
use std::collections::HashMap;
use unshade_dxcontainer::Container;
use unshade_dxcontainer::program::{ShaderKind, bitcode};
use unshade_dxcontainer::psv0::{Interpolation, ResourceKind};
use unshade_llvm::Module;

/// Parts with the signatures of an entry point, in the order of [`EntryPoint::signatures`].
const SIGNATURES: [&str; 3] = ["ISG1", "OSG1", "PSG1"];

/// Flags of a module that SFI0 does not contain.
const FLAGS: &[(u32, &str)] = &[
    (0, "optimizations disabled"),
    (1, "refactoring of math disabled"),
    (3, "early depth and stencil"),
    (8, "all resources bound"),
    (33, "resources do not alias"),
];

/// Adds information from the module in STAT, which has names, or else from the program. `dis` reports modules that
/// can't
/// be read.
pub(super) fn add(container: &Container<'_>, view: &mut ContainerView) {
    let Some(part) = main_part(container) else { return };
    let Ok((_, program)) = bitcode(part.data) else { return };
    let Ok(module) = Module::parse(program.data(), program.base()) else { return };
    let dxil = DxilModule::read(&module, program.base());
    if dxil.version.is_none() {
        return;
    }
    if view.compiler.is_none() {
        view.compiler = module.ident().map(shown);
    }
    view.validator = dxil.validator.map(|[major, minor]| format!("{major}.{minor}"));
    view.flags =
        FLAGS.iter().filter(|(bit, _)| dxil.has_flag(*bit)).map(|(_, text)| (*text).into()).collect();
    add_entries(&dxil, view);
    let reflection = container.find(b"STAT").and_then(|part| bitcode(part.data).ok());
    let reflection = reflection.and_then(|(_, bitcode)| {
        let module = Module::parse(bitcode.data(), bitcode.base()).ok()?;
        Some(DxilModule::read(&module, bitcode.base()))
    });
    let resources = reflection.map_or(dxil.resources, |reflection| reflection.resources);
    if !resources.is_empty() {
        view.resources = resources.iter().map(resource).collect();
    }
}

fn add_entries(dxil: &DxilModule, view: &mut ContainerView) {
    if dxil.is_library() {
        let mangled = view.functions.iter().map(|function| function.mangled.clone());
        let places: HashMap<String, usize> = mangled.zip(0..).collect();
        for entry in dxil.entries.iter().filter(|entry| entry.function.is_some()) {
            let name = shown(&entry.name.0);
            match places.get(&name).and_then(|place| view.functions.get_mut(*place)) {
                Some(function) => add_properties(entry, function),
                None => {
                    let kind = entry.properties.kind.unwrap_or(ShaderKind::LIBRARY).to_string();
                    let plain = demangle(&entry.name.0).unwrap_or_else(|| name.clone());
                    let mut function =
                        ExportView { name: plain, mangled: name, kind, ..ExportView::default() };
                    add_properties(entry, &mut function);
                    view.functions.push(function);
                }
            }
        }
        return;
    }
    let Some(entry) = dxil.entries.first() else { return };
    if view.entry.is_none() && !entry.name.0.is_empty() {
        view.entry = Some(shown(&entry.name.0));
    }
    view.threads = view.threads.or(entry.properties.threads);
    if view.stage.is_empty() {
        view.stage = entry.properties.stage.iter().map(|(name, value)| ((*name).into(), *value)).collect();
    }
    for (part, elements) in SIGNATURES.iter().zip(&entry.signatures) {
        add_interpolation(part, elements, view);
    }
}

/// Adds interpolation modes to the rows of a part.
fn add_interpolation(part: &str, elements: &[SignatureElement], view: &mut ContainerView) {
    let mut known = HashMap::new();
    for element in elements.iter().filter(|element| element.interpolation != Interpolation::UNDEFINED) {
        let name = shown(&element.name.0);
        for index in &element.indices {
            known.insert((element.stream, format!("{name}{index}")), element.interpolation);
        }
    }
    for row in view.signatures.iter_mut().filter(|row| row.part == part) {
        if let Some(interpolation) = known.get(&(row.stream, row.name.clone())) {
            row.interpolation = interpolation.to_string();
        }
    }
}

fn add_properties(entry: &EntryPoint, function: &mut ExportView) {
    let properties = &entry.properties;
    function.threads = properties.threads;
    function.payload_size = properties.payload_size;
    function.attribute_size = properties.attribute_size;
    function.node = properties.node.as_ref().map(|node| NodeView {
        launch: node.launch_type.map(|launch| launch.to_string()),
        id: node.id.as_ref().map(|(name, index)| format!("{}[{index}]", shown(&name.0))),
        is_program_entry: node.is_program_entry,
        dispatch_grid: node.dispatch_grid,
        max_dispatch_grid: node.max_dispatch_grid,
    });
}

/// Returns the kind of a resource as PSV0 names it.
fn kind_of(resource: &Resource) -> &'static str {
    match (resource.class, resource.kind) {
        (ResourceClass::SAMPLER, _) => "Sampler",
        (ResourceClass::CBUFFER, _) => "CBV",
        (ResourceClass::SRV, ResourceKind::RAW_BUFFER) => "SRVRaw",
        (ResourceClass::SRV, ResourceKind::STRUCTURED_BUFFER) => "SRVStructured",
        (ResourceClass::SRV, _) => "SRVTyped",
        (_, ResourceKind::RAW_BUFFER) => "UAVRaw",
        (_, ResourceKind::STRUCTURED_BUFFER) if resource.access.counter => "UAVStructuredWithCounter",
        (_, ResourceKind::STRUCTURED_BUFFER) => "UAVStructured",
        _ => "UAVTyped",
    }
}

fn resource(resource: &Resource) -> ResourceView {
    let access = resource.access;
    let words = [
        (access.globally_coherent, "globally coherent"),
        (access.reorder_coherent, "reorder coherent"),
        (access.rasterizer_ordered, "rasterizer ordered"),
        (access.atomic_64, "64-bit atomics"),
    ];
    let samples = (resource.samples != 0).then(|| format!("{} samples", resource.samples));
    let comparison = resource.sampler.filter(|sampler| sampler.0 != 0).map(|sampler| sampler.to_string());
    let words = words.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| (*word).to_owned());
    ResourceView {
        name: shown(&resource.name.0),
        kind: kind_of(resource).into(),
        shape: resource.kind.to_string(),
        registers: resource.register_range(),
        space: resource.space,
        element: resource.element.map(|element| element.to_string()),
        bytes: resource.size.or(resource.stride),
        notes: samples.into_iter().chain(comparison).chain(words).collect(),
    }
}
