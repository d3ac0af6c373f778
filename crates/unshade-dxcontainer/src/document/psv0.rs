//! PSV0 in LLVM's document. LLVM resolves names and indices of elements; from LLVM 24 on it also lists the string
//! table and the size of the runtime information.

use crate::bytes::{Bytes, Text, len32, pad4};
use crate::psv0::{
    Binding, BindingKind, ComponentType, DependencyShape, Element, Interpolation, Psv0, Resource,
    ResourceKind, RuntimeInfo, SIZES, SemanticKind, Signatures, Stage, V1, stage_fields,
};
use crate::yaml::{MapReader, MapWriter, Node, Yaml};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::Result;

/// The newest version that LLVM knows.
const NEWEST_VERSION: usize = 3;

/// LLVM's keys of the three groups of elements.
const GROUP_KEYS: [&str; 3] = ["SigInputElements", "SigOutputElements", "SigPatchOrPrimElements"];

/// Returns a list of hexadecimal words that borrows nothing.
fn hex_words<'a>(words: &[u32]) -> Node<'a> {
    Node::flow(words.iter().map(|word| Node::hex((*word).into())).collect())
}

pub(super) fn node(psv0: &Psv0) -> Node<'_> {
    let number = |value: u32| Node::number(value.into());
    let info = &psv0.info;
    let version = info.version().min(NEWEST_VERSION);
    // Version 0 does not store its stage; any stage will do, since the other document has all stage-specific bytes.
    let stage = psv0.stage().unwrap_or(Stage::PIXEL);
    let mut map = MapWriter::default();
    map.node("Version", number(len32(version)));
    map.node("ShaderStage", number(stage.0.into()));
    for field in stage_fields(stage).iter().filter(|field| !field.second) {
        map.node(field.name, number(info.stage_value(field)));
    }
    map.field("MinimumWaveLaneCount", &info.min_wave_lanes);
    map.field("MaximumWaveLaneCount", &info.max_wave_lanes);
    if let Some(v1) = &info.v1 {
        map.field("UsesViewID", &v1.uses_view_id);
        for field in stage_fields(stage).iter().filter(|field| field.second) {
            map.node(field.name, number(info.stage_value(field)));
        }
        map.field("SigInputVectors", &v1.input_vectors);
        map.node(
            "SigOutputVectors",
            Node::flow(v1.output_vectors.iter().map(|count| number((*count).into())).collect()),
        );
    }
    if let Some([x, y, z]) = &info.threads {
        map.field("NumThreadsX", x);
        map.field("NumThreadsY", y);
        map.field("NumThreadsZ", z);
    }
    if info.entry_name.is_some() {
        map.node("EntryName", text_node(psv0.entry_name()));
    }
    let stride = if psv0.resources.is_empty() { default_stride(version) } else { psv0.resource_stride };
    map.node("ResourceStride", number(stride));
    if info.v1.is_some() {
        map.node("RuntimeInfoSize", number(len32(info.size())));
        let strings = string_nodes(psv0);
        if !strings.is_empty() {
            map.node("StringTable", Node::list(strings));
        }
    }
    map.node("Resources", Node::list(psv0.resources.iter().map(resource_node).collect()));
    if let Some(signatures) = &psv0.signatures {
        for (key, elements) in GROUP_KEYS.into_iter().zip(&signatures.elements) {
            map.node(key, Node::list(elements.iter().map(|element| element_node(psv0, element)).collect()));
        }
        dependencies(psv0, signatures, stage, &mut map);
    }
    map.finish()
}

fn default_stride(version: usize) -> u32 {
    if version >= 2 { 24 } else { 16 }
}

fn text_node(text: Option<&[u8]>) -> Node<'_> {
    Node::string(alloc::string::String::from_utf8_lossy(text.unwrap_or_default()))
}

/// Returns the nonempty strings of the string table with their offsets.
fn string_nodes(psv0: &Psv0) -> Vec<Node<'_>> {
    let Some(signatures) = &psv0.signatures else { return Vec::new() };
    let mut nodes = Vec::new();
    let mut at = 0usize;
    for text in signatures.strings.0.split(|byte| *byte == 0) {
        if !text.is_empty() {
            let mut map = MapWriter::default();
            map.node("String", text_node(Some(text)));
            map.node("Offset", Node::number(at as u64));
            nodes.push(map.finish());
        }
        at = at.saturating_add(text.len()).saturating_add(1);
    }
    nodes
}

fn resource_node(resource: &Resource) -> Node<'_> {
    let mut map = MapWriter::default();
    map.field("Type", &resource.binding.resource_type);
    map.field("Space", &resource.binding.space);
    map.field("LowerBound", &resource.binding.lower_bound);
    map.field("UpperBound", &resource.binding.upper_bound);
    if let Some(kind) = &resource.kind {
        map.field("Kind", &kind.kind);
        let mut flags = MapWriter::default();
        flags.node("UsedByAtomic64", Node::plain(if kind.flags & 1 == 1 { "true" } else { "false" }));
        map.node("Flags", flags.finish());
    }
    map.finish()
}

fn element_node<'a>(psv0: &'a Psv0, element: &'a Element) -> Node<'a> {
    let number = |value: u8| Node::number(value.into());
    let indices = psv0.indices(element).unwrap_or_default();
    let mut map = MapWriter::default();
    map.node("Name", text_node(psv0.string(element.name_offset)));
    map.node("Indices", Node::flow(indices.iter().map(|index| Node::number((*index).into())).collect()));
    map.node("StartRow", number(element.start_row));
    map.node("Cols", number(element.cols()));
    map.node("StartCol", number(element.start_col()));
    map.node("Allocated", Node::plain(if element.allocated() { "true" } else { "false" }));
    map.field("Kind", &element.kind);
    map.field("ComponentType", &element.component_type);
    map.field("Interpolation", &element.interpolation);
    map.node("DynamicMask", Node::hex(element.dynamic_mask().into()));
    map.node("Stream", number(element.stream()));
    map.finish()
}

fn dependencies<'a>(psv0: &'a Psv0, signatures: &'a Signatures, stage: Stage, map: &mut MapWriter<'a>) {
    let found = &signatures.dependencies;
    let lists = |lists: &[Vec<u32>; 4]| Node::list(lists.iter().map(|list| hex_words(list)).collect());
    if psv0.info.v1.as_ref().is_some_and(|v1| v1.uses_view_id != 0) {
        map.node("OutputVectorMasks", lists(&found.view_id_outputs));
        if stage == Stage::HULL {
            map.node("PatchOrPrimMasks", hex_words(&found.view_id_patch));
        }
    }
    map.node("InputOutputMap", lists(&found.input_to_output));
    if stage == Stage::HULL {
        map.node("InputPatchMap", hex_words(&found.input_to_patch));
    }
    if stage == Stage::DOMAIN {
        map.node("PatchOutputMap", hex_words(&found.patch_to_output));
    }
}

pub(super) fn read(node: &Node<'_>) -> Result<Psv0> {
    let mut map = MapReader::new(node)?;
    let version = map.field::<u32>("Version")? as usize;
    let newest = SIZES.len().saturating_sub(1);
    if version > newest {
        return Err(node
            .fault("unknown version")
            .expected(format!("0 to {newest}"))
            .found(format!("{version}")));
    }
    let stage = Stage(map.field("ShaderStage")?);
    let mut info = empty_info(version, stage);
    for field in stage_fields(stage).iter().filter(|field| !field.second || version >= 1) {
        let value: u32 = map.field_or(field.name, 0)?;
        info.set_stage_value(field, value);
        if info.stage_value(field) != value {
            return Err(node.fault("value does not fit").found(format!("{value}")).within(field.name));
        }
    }
    info.min_wave_lanes = map.field_or("MinimumWaveLaneCount", 0)?;
    info.max_wave_lanes = map.field_or("MaximumWaveLaneCount", u32::MAX)?;
    if let Some(v1) = &mut info.v1 {
        v1.uses_view_id = map.field_or("UsesViewID", 0)?;
        v1.input_vectors = map.field_or("SigInputVectors", 0)?;
        v1.output_vectors = map.field_or("SigOutputVectors", [0; 4])?;
    }
    if let Some(threads) = &mut info.threads {
        for (key, value) in ["NumThreadsX", "NumThreadsY", "NumThreadsZ"].into_iter().zip(threads) {
            *value = map.field_or(key, 0)?;
        }
    }
    let entry_name = info.entry_name.map(|_| map.field_or("EntryName", Text::default())).transpose()?;
    let stride: u32 = map.field_or("ResourceStride", default_stride(version))?;
    if let Some(size) = map.field::<Option<u32>>("RuntimeInfoSize")? {
        grow(&mut info, size, node)?;
    }
    let table: Vec<TableString> = map.field("StringTable")?;
    let resources = map.take("Resources").map(Node::items).transpose()?.unwrap_or_default();
    let mut psv0 = Psv0 {
        info,
        resource_stride: if resources.is_empty() { 0 } else { stride },
        resources: resources.iter().map(|resource| read_resource(resource, stride)).collect::<Result<_>>()?,
        signatures: None,
        extra: Bytes::default(),
    };
    if version >= 1 {
        let (signatures, entry) = read_signatures(&mut map, &psv0.info, entry_name.as_ref())?;
        psv0.info.entry_name = entry;
        psv0.signatures = Some(signatures);
        if !table.is_empty() {
            use_table(&mut psv0, &table, entry_name.as_ref(), node)?;
        }
    }
    map.finish()?;
    Ok(psv0)
}

fn empty_info(version: usize, stage: Stage) -> RuntimeInfo {
    let v1 = V1 {
        stage,
        uses_view_id: 0,
        stage_info: [0; 2],
        input_count: 0,
        output_count: 0,
        patch_count: 0,
        input_vectors: 0,
        output_vectors: [0; 4],
    };
    RuntimeInfo {
        stage_info: [0; 16],
        min_wave_lanes: 0,
        max_wave_lanes: u32::MAX,
        v1: (version >= 1).then_some(v1),
        threads: (version >= 2).then_some([0; 3]),
        entry_name: (version >= 3).then_some(0),
        group_shared_bytes: (version >= 4).then_some(0),
        extra: Bytes::default(),
    }
}

/// Extends the runtime information to the size in the document, with zeros for what LLVM has no key for.
fn grow(info: &mut RuntimeInfo, size: u32, node: &Node<'_>) -> Result<()> {
    /// Larger than any likely version.
    const MOST: u32 = 4096;
    if size > MOST {
        return Err(node.fault("value is too large").found(format!("{size}")).within("RuntimeInfoSize"));
    }
    if info.version() == NEWEST_VERSION && size >= 56 {
        info.group_shared_bytes = Some(0);
    }
    let missing = (size as usize).saturating_sub(info.size());
    info.extra = Bytes(vec![0; missing]);
    Ok(())
}

crate::scalar::model! {
    /// A string of the string table.
    pub(super) struct TableString {
        /// The string.
        pub text: Text => "String",
        /// Its offset.
        pub offset: u32 => "Offset",
    }
}

fn read_resource(node: &Node<'_>, stride: u32) -> Result<Resource> {
    let mut map = MapReader::new(node)?;
    let binding = Binding {
        resource_type: map.field("Type")?,
        space: map.field("Space")?,
        lower_bound: map.field("LowerBound")?,
        upper_bound: map.field("UpperBound")?,
    };
    let kind: Option<ResourceKind> = map.field("Kind")?;
    let mut flags = 0;
    if let Some(node) = map.take("Flags").filter(|node| node.text().is_some()) {
        // LLVM 19 writes a number.
        flags = u32::from_node(node).map_err(|error| error.within("Flags"))?;
    } else if let Some(node) = map.take("Flags") {
        let mut map = MapReader::new(node)?;
        flags = u32::from(map.field_or("UsedByAtomic64", false)?);
        map.finish()?;
    }
    map.finish()?;
    let kind = (stride >= 24).then_some(BindingKind { kind: kind.unwrap_or(ResourceKind::INVALID), flags });
    let known = if kind.is_some() { 24usize } else { 16 };
    let extra = (stride as usize).saturating_sub(known);
    if extra > 4096 || stride < 16 {
        return Err(node
            .fault("invalid size of a resource")
            .found(format!("{stride}"))
            .within("ResourceStride"));
    }
    Ok(Resource { binding, kind, extra: Bytes(vec![0; extra]) })
}

/// Reads elements, dependencies and tables. Returns also the offset of the entry point's name.
fn read_signatures(
    map: &mut MapReader<'_, '_>,
    info: &RuntimeInfo,
    entry_name: Option<&Text>,
) -> Result<(Signatures, Option<u32>)> {
    let mut signatures = Signatures::default();
    let (mut names, mut indices) = (Vec::new(), Vec::new());
    for (group, key) in signatures.elements.iter_mut().zip(GROUP_KEYS) {
        let items = map.take(key).map(Node::items).transpose()?.unwrap_or_default();
        if let Some(item) = items.get(usize::from(u8::MAX)) {
            return Err(item.fault("more than 255 elements").within(key));
        }
        for (index, item) in items.iter().enumerate() {
            let (element, name, rows) =
                read_element(item).map_err(|e| e.within(format!("{key}[{index}]")))?;
            group.push(element);
            names.push(name);
            indices.push(rows);
        }
    }
    if !names.is_empty() {
        signatures.stride = 16;
    }
    signatures.extra = vec![Bytes::default(); names.len()];
    let found = &mut signatures.dependencies;
    let shape = info.v1.as_ref().map(|v1| DependencyShape::new(info, v1)).unwrap_or_default();
    let mut lists = |key: &'static str, into: &mut [Vec<u32>; 4], shape: [u32; 4]| -> Result<()> {
        let lists: Vec<Vec<u32>> = map.field(key)?;
        for ((into, list), words) in
            into.iter_mut().zip(lists.into_iter().chain(core::iter::repeat(Vec::new()))).zip(shape)
        {
            *into = sized(list, words, key)?;
        }
        Ok(())
    };
    lists("OutputVectorMasks", &mut found.view_id_outputs, shape.view_id_outputs)?;
    lists("InputOutputMap", &mut found.input_to_output, shape.input_to_output)?;
    found.view_id_patch = sized(map.field("PatchOrPrimMasks")?, shape.view_id_patch, "PatchOrPrimMasks")?;
    found.input_to_patch = sized(map.field("InputPatchMap")?, shape.input_to_patch, "InputPatchMap")?;
    found.patch_to_output = sized(map.field("PatchOutputMap")?, shape.patch_to_output, "PatchOutputMap")?;
    let entry = signatures.rebuild_tables(&names, &indices, entry_name);
    Ok((signatures, entry))
}

/// Checks that a list has as many words as the vectors require; a missing list is all zeros.
fn sized(mut list: Vec<u32>, words: u32, key: &'static str) -> Result<Vec<u32>> {
    if list.is_empty() {
        list.resize(words as usize, 0);
    }
    if list.len() != words as usize {
        return Err(Node::plain("")
            .fault("wrong number of words")
            .expected(format!("{words}"))
            .found(format!("{}", list.len()))
            .within(key));
    }
    Ok(list)
}

fn read_element(node: &Node<'_>) -> Result<(Element, Text, Vec<u32>)> {
    let mut map = MapReader::new(node)?;
    let name = map.field_or("Name", Text::default())?;
    let indices: Vec<u32> = map.field("Indices")?;
    let start_row = map.field_or("StartRow", 0)?;
    let small = |value: u8, limit: u8, key: &'static str| -> Result<u8> {
        if value > limit {
            return Err(node
                .fault("value is too large")
                .expected(format!("at most {limit}"))
                .found(format!("{value}"))
                .within(key));
        }
        Ok(value)
    };
    let cols = small(map.field_or("Cols", 0)?, 15, "Cols")?;
    let start_col = small(map.field_or("StartCol", 0)?, 3, "StartCol")?;
    let allocated = u8::from(map.field_or("Allocated", false)?);
    let kind: SemanticKind = map.field_or("Kind", SemanticKind::ARBITRARY)?;
    let component_type = map.field_or("ComponentType", ComponentType::UNKNOWN)?;
    let interpolation = map.field_or("Interpolation", Interpolation::UNDEFINED)?;
    let mask = small(map.field_or("DynamicMask", 0)?, 15, "DynamicMask")?;
    let stream = small(map.field_or("Stream", 0)?, 3, "Stream")?;
    map.finish()?;
    if indices.len() > usize::from(u8::MAX) {
        return Err(node.fault("more than 255 rows").within("Indices"));
    }
    let element = Element {
        name_offset: 0,
        indices_offset: 0,
        rows: 0,
        start_row,
        columns: cols | start_col << 4 | allocated << 6,
        kind,
        component_type,
        interpolation,
        mask_and_stream: mask | stream << 4,
        reserved: 0,
    };
    Ok((element, name, indices))
}

/// Uses the string table of the document, if it differs from the one that was built.
fn use_table(
    psv0: &mut Psv0,
    table: &[TableString],
    entry_name: Option<&Text>,
    node: &Node<'_>,
) -> Result<()> {
    /// More than ten times as large as any real table.
    const MOST: usize = 1 << 20;
    let mut strings = vec![0u8];
    for entry in table {
        let end = (entry.offset as usize).saturating_add(entry.text.0.len()).saturating_add(1);
        if end > MOST {
            return Err(node.fault("string table is too large").within("StringTable"));
        }
        if strings.len() < end {
            strings.resize(end, 0);
        }
        if let Some(target) =
            strings.get_mut(entry.offset as usize..).and_then(|rest| rest.get_mut(..entry.text.0.len()))
        {
            target.copy_from_slice(&entry.text.0);
        }
    }
    pad4(&mut strings, 0);
    let Some(signatures) = &mut psv0.signatures else { return Ok(()) };
    if strings == signatures.strings.0 {
        return Ok(());
    }
    // If names were changed, the table that was built for them is kept.
    let find = |name: &[u8]| table.iter().find(|entry| entry.text.0 == name).map(|entry| entry.offset);
    let built = signatures.strings.clone();
    let text = |offset: u32| -> &[u8] {
        let rest = built.0.get(offset as usize..).unwrap_or_default();
        rest.split(|byte| *byte == 0).next().unwrap_or_default()
    };
    let wanted: Option<Vec<u32>> = signatures
        .all()
        .map(|element| match text(element.name_offset) {
            [] => Some(0),
            name => find(name),
        })
        .collect();
    let entry = entry_name.map(|name| if name.0.is_empty() { Some(0) } else { find(&name.0) });
    if let (Some(wanted), Some(entry)) = (wanted, entry.map_or(Some(None), |found| found.map(Some))) {
        for (element, offset) in signatures.elements.iter_mut().flatten().zip(wanted) {
            element.name_offset = offset;
        }
        signatures.strings = Bytes(strings);
        psv0.info.entry_name = entry.or(psv0.info.entry_name);
    }
    Ok(())
}
