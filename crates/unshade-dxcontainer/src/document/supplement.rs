//! The unshade document: what it holds for each part that LLVM's does not. Each kind of contents has a key; this
//! module writes the node of a key, and applies it to a part that was read from LLVM's document.

use super::{llvm, nested_container_node, read_nested_container, sources};
use crate::bytes::{Bytes, len32};
use crate::file::OwnedPart;
use crate::image::Slack;
use crate::part::PartData;
use crate::psv0::{BindingKind, Psv0};
use crate::root_signature::{Payload, RootSignature};
use crate::scalar::model;
use crate::signature::{Form, NamePolicy, Signature};
use crate::source_info::SectionContent;
use crate::yaml::{MapReader, MapWriter, Node, Yaml};
use alloc::boxed::Box;
use alloc::vec::Vec;
use unshade_core::Result;

/// The keys of the unshade document.
pub(super) const KEYS: [&str; 17] = [
    PROGRAM,
    PROGRAM_LAYOUT,
    FLAGS,
    TAIL,
    VERSION_LAYOUT,
    SIGNATURE,
    SIGNATURE_LAYOUT,
    PSV_LAYOUT,
    ROOT_LAYOUT,
    SOURCES,
    RDAT,
    RDEF,
    STATISTICS,
    LIBRARY_HEADER,
    FUNCTION_SIGNATURE,
    PDB_INFO,
    CONTAINER,
];

const PROGRAM: &str = "Program";
const PROGRAM_LAYOUT: &str = "ProgramLayout";
const FLAGS: &str = "Flags";
const TAIL: &str = "Tail";
const VERSION_LAYOUT: &str = "VersionLayout";
const SIGNATURE: &str = "Signature";
const SIGNATURE_LAYOUT: &str = "SignatureLayout";
const PSV_LAYOUT: &str = "PSVLayout";
const ROOT_LAYOUT: &str = "RootSignatureLayout";
const SOURCES: &str = "StoredSources";
const RDAT: &str = "RuntimeData";
const RDEF: &str = "ResourceDefinitions";
const STATISTICS: &str = "Statistics";
const LIBRARY_HEADER: &str = "LibraryHeader";
const FUNCTION_SIGNATURE: &str = "FunctionSignature";
const PDB_INFO: &str = "PDBInfo";
const CONTAINER: &str = "Container";

model! {
    /// The fields of PSV0 without a key in LLVM.
    pub(super) struct PsvLayout {
        /// Group shared memory of version 4.
        pub group_shared_bytes: Option<u32> => "NumBytesGroupSharedMemory",
        /// The bytes after the newest version.
        pub info_extra: Bytes => "RuntimeInfoExtra",
        /// All stage-specific bytes.
        pub stage_info: Option<[u8; 16]> => "StageInfo",
        /// The two stage-specific bytes of version 1.
        pub second_stage_info: Option<[u8; 2]> => "SecondStageInfo",
        /// Flags of all resources.
        pub resource_flags: Option<Vec<u32>> => "ResourceFlags",
        /// Size of a resource.
        pub resource_stride: Option<u32> => "ResourceStride",
        /// The bytes after the fields of each resource.
        pub resource_extra: Vec<Bytes> => "ResourceExtra",
        /// The string table.
        pub strings: Option<Bytes> => "Strings",
        /// The table of semantic indices.
        pub indices: Option<Vec<u32>> => "SemanticIndices",
        /// Size of an element.
        pub stride: Option<u32> => "ElementStride",
        /// Offsets of the elements' names.
        pub name_offsets: Option<Vec<u32>> => "NameOffsets",
        /// Offsets of the elements' indices.
        pub indices_offsets: Option<Vec<u32>> => "IndicesOffsets",
        /// The seventh byte of each element, including bits without a meaning.
        pub columns: Option<Vec<u32>> => "Columns",
        /// The last two bytes of each element.
        pub masks: Option<Vec<u32>> => "MasksAndStreams",
        /// The bytes after the fields of each element.
        pub element_extra: Vec<Bytes> => "ElementExtra",
        /// Offset of the entry point's name.
        pub entry_name: Option<u32> => "EntryNameOffset",
        /// Primitive values of mesh shaders that depend on the view ID.
        pub view_id_patch: Option<Vec<u32>> => "PatchOrPrimMasks",
        /// The bytes after the last table.
        pub extra: Bytes => "Extra",
    }
}

model! {
    /// The offsets in a root signature.
    pub(super) struct RootLayout {
        /// Offset of the parameter headers.
        pub parameters_offset: u32 => "ParametersOffset",
        /// Offset of the contents of each parameter.
        pub offsets: Vec<u32> => "Offsets",
        /// Offset of the ranges of each table.
        pub ranges_offsets: Vec<u32> => "RangesOffsets",
        /// Offset of the samplers.
        pub samplers_offset: u32 => "SamplersOffset",
        /// The flags, including those without a name.
        pub flags: u32 => "Flags",
        /// The bytes between and after the pieces.
        pub slack: Slack => "Layout",
    }
}

model! {
    /// The layout of the names of a signature.
    pub(super) struct SignatureLayout {
        /// The name policy, if a known one applies.
        pub names: Option<crate::bytes::Text> => "Names",
        /// The elements in the order of their names, if that differs.
        pub order: Vec<u32> => "Order",
        /// Offset of the first element.
        pub first_offset: Option<u32> => "FirstOffset",
        /// Offsets of the names.
        pub name_offsets: Vec<u32> => "NameOffsets",
        /// The reserved field of each element.
        pub reserved: Vec<u32> => "Reserved",
        /// The bytes between and after the pieces.
        pub slack: Option<Slack> => "Layout",
    }
}

/// Returns the key and node for a part that LLVM's document turns into `rebuilt`.
pub(super) fn node<'a>(part: &'a OwnedPart, rebuilt: &OwnedPart) -> Option<(&'static str, Node<'a>)> {
    Some(match (&part.data, &rebuilt.data) {
        (PartData::Program(program), PartData::Program(_)) => {
            let mut map = MapWriter::default();
            map.field("Header", &program.header);
            map.field("Gap", &program.gap);
            map.field("Tail", &program.tail);
            (PROGRAM_LAYOUT, map.finish())
        }
        (PartData::Program(program), _) => (PROGRAM, llvm::program_node(program)),
        (PartData::Hash(hash), _) => (FLAGS, hash.flags.node()),
        (PartData::Features(features), _) => (FLAGS, Node::hex(features.flags)),
        (PartData::DebugName(name), _) => (TAIL, name.tail.node()),
        (PartData::Version(version), _) => {
            let mut map = MapWriter::default();
            map.field("Flags", &version.flags);
            map.field("Tail", &version.tail);
            (VERSION_LAYOUT, map.finish())
        }
        (PartData::Signature(signature), PartData::Signature(_)) => {
            (SIGNATURE_LAYOUT, owned_node(&signature_layout(signature)))
        }
        (PartData::Signature(signature), _) => (SIGNATURE, signature_with_layout(signature)),
        (PartData::Psv0(psv0), PartData::Psv0(rebuilt)) => {
            (PSV_LAYOUT, owned_node(&psv_layout(psv0, rebuilt)))
        }
        (PartData::RootSignature(root), PartData::RootSignature(_)) => {
            (ROOT_LAYOUT, owned_node(&root_layout(root)))
        }
        (PartData::Sources(info), PartData::Sources(_)) => {
            let stored = info.sections.iter().find_map(|section| match &section.content {
                SectionContent::Contents(contents) => Some(&contents.stored),
                _ => None,
            });
            (SOURCES, stored?.node())
        }
        (PartData::Rdat(rdat), _) => (RDAT, rdat.node()),
        (PartData::Resources(resources), _) => (RDEF, resources.node()),
        (PartData::Statistics(statistics), _) => (STATISTICS, statistics.node()),
        (PartData::LibraryHeader(header), _) => (LIBRARY_HEADER, header.node()),
        (PartData::FunctionSignature(signature), _) => (FUNCTION_SIGNATURE, signature.node()),
        (PartData::PdbInfo(info), _) => (PDB_INFO, info.node()),
        (PartData::Container(container), _) => (CONTAINER, nested_container_node(container)?),
        _ => return None,
    })
}

/// Applies a node of the unshade document to a part.
pub(super) fn apply(part: &mut OwnedPart, key: &str, node: &Node<'_>) -> Result<()> {
    match (key, &mut part.data) {
        (PROGRAM_LAYOUT, PartData::Program(program)) => {
            let mut map = MapReader::new(node)?;
            program.header = map.field("Header")?;
            program.gap = map.field("Gap")?;
            program.tail = map.field("Tail")?;
            map.finish()?;
        }
        (FLAGS, PartData::Hash(hash)) => hash.flags = u32::from_node(node)?,
        (FLAGS, PartData::Features(features)) => features.flags = u64::from_node(node)?,
        (TAIL, PartData::DebugName(name)) => name.tail = Bytes::from_node(node)?,
        (VERSION_LAYOUT, PartData::Version(version)) => {
            let mut map = MapReader::new(node)?;
            version.flags = map.field("Flags")?;
            version.tail = map.field("Tail")?;
            map.finish()?;
        }
        (SIGNATURE_LAYOUT, PartData::Signature(signature)) => {
            use_signature_layout(signature, SignatureLayout::from_node(node)?, node)?;
        }
        (PSV_LAYOUT, PartData::Psv0(psv0)) => use_psv_layout(psv0, PsvLayout::from_node(node)?),
        (ROOT_LAYOUT, PartData::RootSignature(root)) => use_root_layout(root, RootLayout::from_node(node)?),
        (SOURCES, PartData::Sources(info)) => sources::use_stored(info, &Bytes::from_node(node)?),
        (_, data) => *data = read_whole(key, part.name, node)?,
    }
    Ok(())
}

/// Reads a part that only the unshade document describes.
fn read_whole(key: &str, name: unshade_core::FourCc, node: &Node<'_>) -> Result<PartData> {
    Ok(match key {
        PROGRAM => PartData::Program(llvm::read_program(node, 0)?),
        SIGNATURE => {
            let form = Form::of(name).ok_or_else(|| node.fault("part is not a signature"))?;
            PartData::Signature(read_signature_with_layout(node, form)?)
        }
        RDAT => PartData::Rdat(Yaml::from_node(node)?),
        RDEF => PartData::Resources(Box::new(Yaml::from_node(node)?)),
        STATISTICS => PartData::Statistics(Yaml::from_node(node)?),
        LIBRARY_HEADER => PartData::LibraryHeader(Yaml::from_node(node)?),
        FUNCTION_SIGNATURE => PartData::FunctionSignature(Yaml::from_node(node)?),
        PDB_INFO => PartData::PdbInfo(Yaml::from_node(node)?),
        CONTAINER => PartData::Container(Box::new(read_nested_container(node)?)),
        _ => return Err(node.fault("key does not fit the part in the first document")),
    })
}

/// Returns a node that does not borrow from the value.
fn owned_node<'a, T: Yaml>(value: &T) -> Node<'a> {
    super::into_owned(value.node())
}

fn signature_layout(signature: &Signature) -> SignatureLayout {
    let written = signature.write().ok();
    let plain: Vec<usize> = (0..signature.elements.len()).collect();
    let as_read = signature.name_order();
    for (order, (policy, name)) in
        [&plain, &as_read].into_iter().flat_map(|o| NamePolicy::ALL.map(|p| (o, p)))
    {
        let mut laid_out = signature.clone();
        laid_out.elements.iter_mut().for_each(|element| element.core.reserved = 0);
        laid_out.lay_out_in_order(policy, order);
        if laid_out.write().ok() == written {
            let order =
                if *order == plain { Vec::new() } else { order.iter().map(|index| len32(*index)).collect() };
            let (names, name_offsets, reserved) = (Some(name.into()), Vec::new(), Vec::new());
            return SignatureLayout { names, order, first_offset: None, name_offsets, reserved, slack: None };
        }
    }
    let elements = &signature.elements;
    let reserved: Vec<u32> = elements.iter().map(|element| element.core.reserved.into()).collect();
    SignatureLayout {
        names: None,
        order: Vec::new(),
        first_offset: Some(signature.first_offset),
        name_offsets: elements.iter().map(|element| element.core.name_offset).collect(),
        reserved: if reserved.iter().all(|value| *value == 0) { Vec::new() } else { reserved },
        slack: Some(signature.slack.clone()),
    }
}

fn use_signature_layout(signature: &mut Signature, layout: SignatureLayout, node: &Node<'_>) -> Result<()> {
    if let Some(name) = &layout.names {
        let policy = NamePolicy::ALL.iter().find(|(_, known)| known.as_bytes() == name.0);
        let (policy, _) =
            policy.ok_or_else(|| node.unknown_name(NamePolicy::ALL.iter().map(|(_, name)| *name)))?;
        let mut order: Vec<usize> = layout.order.iter().map(|index| *index as usize).collect();
        if order.is_empty() {
            order.extend(0..signature.elements.len());
        }
        let mut every = order.clone();
        every.sort_unstable();
        if every.iter().enumerate().any(|(index, found)| index != *found)
            || every.len() != signature.elements.len()
        {
            return Err(node
                .fault("order does not list every element exactly once")
                .hint("remove it after a change"));
        }
        signature.lay_out_in_order(*policy, &order);
    }
    if let Some(first_offset) = layout.first_offset {
        signature.first_offset = first_offset;
    }
    for (element, offset) in signature.elements.iter_mut().zip(layout.name_offsets) {
        element.core.name_offset = offset;
    }
    for (element, reserved) in signature.elements.iter_mut().zip(layout.reserved) {
        element.core.reserved = u16::try_from(reserved).unwrap_or(u16::MAX);
    }
    if let Some(slack) = layout.slack {
        signature.slack = slack;
    }
    Ok(())
}

fn signature_with_layout(signature: &Signature) -> Node<'_> {
    let mut map = MapWriter::default();
    map.node("Elements", llvm::signature_node(signature));
    map.node("Layout", owned_node(&signature_layout(signature)));
    map.finish()
}

fn read_signature_with_layout(node: &Node<'_>, form: Form) -> Result<Signature> {
    let mut map = MapReader::new(node)?;
    let elements = map.take("Elements").ok_or_else(|| node.fault("key `Elements` is missing"))?;
    let mut signature = llvm::read_signature(elements, form, 0)?;
    let layout: Option<SignatureLayout> = map.field("Layout")?;
    map.finish()?;
    if let Some(layout) = layout {
        use_signature_layout(&mut signature, layout, node)?;
    }
    Ok(signature)
}

/// Returns a value if it differs from the one that LLVM's document leads to.
fn differing<T: PartialEq>(value: T, other: T) -> Option<T> {
    (value != other).then_some(value)
}

fn psv_layout(psv0: &Psv0, rebuilt: &Psv0) -> PsvLayout {
    let flags = |psv0: &Psv0| -> Vec<u32> {
        psv0.resources.iter().map(|resource| resource.kind.as_ref().map_or(0, |kind| kind.flags)).collect()
    };
    let second = |psv0: &Psv0| psv0.info.v1.as_ref().map(|v1| v1.stage_info);
    let mut layout = PsvLayout {
        group_shared_bytes: differing(psv0.info.group_shared_bytes, rebuilt.info.group_shared_bytes)
            .flatten(),
        info_extra: differing(&psv0.info.extra, &rebuilt.info.extra).cloned().unwrap_or_default(),
        stage_info: differing(psv0.info.stage_info, rebuilt.info.stage_info),
        second_stage_info: differing(second(psv0), second(rebuilt)).flatten(),
        resource_flags: differing(flags(psv0), flags(rebuilt)),
        resource_stride: differing(psv0.resource_stride, rebuilt.resource_stride),
        resource_extra: psv0.resources.iter().map(|resource| resource.extra.clone()).collect(),
        strings: None,
        indices: None,
        stride: None,
        name_offsets: None,
        indices_offsets: None,
        columns: None,
        masks: None,
        element_extra: Vec::new(),
        entry_name: differing(psv0.info.entry_name, rebuilt.info.entry_name).flatten(),
        view_id_patch: None,
        extra: psv0.extra.clone(),
    };
    if layout.resource_extra.iter().all(|bytes| bytes.0.is_empty()) {
        layout.resource_extra.clear();
    }
    let (Some(own), Some(other)) = (&psv0.signatures, &rebuilt.signatures) else { return layout };
    let list = |signatures: &crate::psv0::Signatures, get: fn(&crate::psv0::Element) -> u32| -> Vec<u32> {
        signatures.all().map(get).collect()
    };
    let elements = |get: fn(&crate::psv0::Element) -> u32| differing(list(own, get), list(other, get));
    layout.strings = differing(&own.strings, &other.strings).cloned();
    layout.indices = differing(&own.indices, &other.indices).cloned();
    layout.stride = differing(own.stride, other.stride);
    layout.name_offsets = elements(|element| element.name_offset);
    layout.indices_offsets = elements(|element| element.indices_offset);
    layout.columns = elements(|element| element.columns.into());
    layout.masks = elements(|element| u32::from(element.reserved) << 8 | u32::from(element.mask_and_stream));
    if own.extra != other.extra {
        layout.element_extra = own.extra.clone();
    }
    let (own, other) = (&own.dependencies, &other.dependencies);
    layout.view_id_patch = differing(&own.view_id_patch, &other.view_id_patch).cloned();
    layout
}

fn use_psv_layout(psv0: &mut Psv0, layout: PsvLayout) {
    let info = &mut psv0.info;
    info.group_shared_bytes = layout.group_shared_bytes.or(info.group_shared_bytes);
    if !layout.info_extra.0.is_empty() {
        info.extra = layout.info_extra;
    }
    info.stage_info = layout.stage_info.unwrap_or(info.stage_info);
    if let (Some(v1), Some(second)) = (&mut info.v1, layout.second_stage_info) {
        v1.stage_info = second;
    }
    info.entry_name = layout.entry_name.or(info.entry_name);
    psv0.resource_stride = layout.resource_stride.unwrap_or(psv0.resource_stride);
    let kinds = psv0.resources.iter_mut().filter_map(|resource| resource.kind.as_mut());
    for (kind, flags) in kinds.zip(layout.resource_flags.unwrap_or_default()) {
        *kind = BindingKind { flags, ..kind.clone() };
    }
    for (resource, extra) in psv0.resources.iter_mut().zip(layout.resource_extra) {
        resource.extra = extra;
    }
    psv0.extra = layout.extra;
    let Some(signatures) = &mut psv0.signatures else { return };
    signatures.strings = layout.strings.unwrap_or_else(|| signatures.strings.clone());
    signatures.indices = layout.indices.unwrap_or_else(|| signatures.indices.clone());
    signatures.stride = layout.stride.unwrap_or(signatures.stride);
    let mut set = |values: Option<Vec<u32>>, set: fn(&mut crate::psv0::Element, u32)| {
        let elements = signatures.elements.iter_mut().flatten();
        elements.zip(values.unwrap_or_default()).for_each(|(element, value)| set(element, value));
    };
    set(layout.name_offsets, |element, value| element.name_offset = value);
    set(layout.indices_offsets, |element, value| element.indices_offset = value);
    set(layout.columns, |element, value| element.columns = value.to_le_bytes()[0]);
    set(layout.masks, |element, value| [element.mask_and_stream, element.reserved, ..] = value.to_le_bytes());
    if !layout.element_extra.is_empty() {
        signatures.extra = layout.element_extra;
    }
    if let Some(mask) = layout.view_id_patch {
        signatures.dependencies.view_id_patch = mask;
    }
}

fn root_layout(root: &RootSignature) -> RootLayout {
    let ranges = root.parameters.iter().filter_map(|parameter| match &parameter.payload {
        Payload::Table { ranges_offset, .. } => Some(*ranges_offset),
        _ => None,
    });
    RootLayout {
        parameters_offset: root.parameters_offset,
        offsets: root.parameters.iter().map(|parameter| parameter.header.offset).collect(),
        ranges_offsets: ranges.collect(),
        samplers_offset: root.samplers_offset,
        flags: root.flags,
        slack: root.slack.clone(),
    }
}

fn use_root_layout(root: &mut RootSignature, layout: RootLayout) {
    root.parameters_offset = layout.parameters_offset;
    root.samplers_offset = layout.samplers_offset;
    root.flags = layout.flags;
    root.slack = layout.slack;
    let mut ranges = layout.ranges_offsets.into_iter();
    for (parameter, offset) in root.parameters.iter_mut().zip(layout.offsets) {
        parameter.header.offset = offset;
        if let Payload::Table { ranges_offset, .. } = &mut parameter.payload {
            *ranges_offset = ranges.next().unwrap_or(*ranges_offset);
        }
    }
}
