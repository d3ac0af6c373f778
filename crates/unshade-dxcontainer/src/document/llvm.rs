//! The parts in LLVM's document: `Name`, `Size`, and one key for the contents.

use super::{psv0, root_signature, sources};
use crate::bytes::{Bytes, Text, len32};
use crate::file::OwnedPart;
use crate::part::PartData;
use crate::program::{Program, ProgramVersion};
use crate::signature::{
    ComponentType, Core, Element, Form, MinPrecision, NamePolicy, Signature, SystemValue,
};
use crate::simple_parts::{CompilerVersion, DebugName, FEATURES, FeatureInfo, ShaderHash};
use crate::yaml::{MapReader, MapWriter, Node, Yaml};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::{FourCc, Result};

/// LLVM's name of the bit after the last feature; it is not a feature, but has a key.
const NEXT_UNUSED_BIT: &str = "NextUnusedBit";

/// Returns the node of a part in LLVM's document; for parts unknown to LLVM, only name and size.
pub(super) fn part_node(part: &OwnedPart, size: usize) -> Node<'_> {
    let mut map = MapWriter::default();
    map.field("Name", &part.name);
    map.node("Size", Node::number(size as u64));
    match (&part.name.0, &part.data) {
        (b"DXIL" | b"ILDB", PartData::Program(program)) => map.node("Program", program_node(program)),
        (_, PartData::Features(features)) if features.flags != 0 => {
            map.node("Flags", features_node(features));
        }
        (_, PartData::Hash(hash)) => map.node("Hash", hash_node(hash)),
        (_, PartData::Psv0(psv0)) => map.node("PSVInfo", psv0::node(psv0)),
        (_, PartData::Signature(signature)) if signature.form == Form::Full => {
            map.node("Signature", signature_node(signature));
        }
        (_, PartData::RootSignature(root)) => map.node("RootSignature", root_signature::node(root)),
        (_, PartData::DebugName(name)) => map.node("DebugName", debug_name_node(name)),
        (_, PartData::Version(version)) => map.node("CompilerVersion", version_node(version)),
        (_, PartData::Sources(info)) => {
            if let Some(node) = sources::node(info) {
                map.node("SourceInfo", node);
            }
        }
        (b"PRIV", PartData::Raw(bytes)) => map.field("PrivateData", bytes),
        _ => {}
    }
    map.finish()
}

/// Reads a part of LLVM's document. A part without contents is filled with zeros, as by `yaml2obj`. `zeros_left` is
/// the remaining budget for zeros; `None` makes none, for parts that the unshade document describes.
pub(super) fn read_part(node: &Node<'_>, zeros_left: Option<&mut u32>) -> Result<OwnedPart> {
    let mut map = MapReader::new(node)?;
    let name: FourCc = map.field("Name")?;
    let size: u32 = map.field_or("Size", 0)?;
    let keys = [
        "Program",
        "Flags",
        "Hash",
        "PSVInfo",
        "Signature",
        "RootSignature",
        "DebugName",
        "CompilerVersion",
        "SourceInfo",
        "PrivateData",
    ];
    let mut data = None;
    for key in keys {
        if let Some(content) = map.take(key) {
            let read = read_content(key, name, size, content).map_err(|error| error.within(key))?;
            if data.replace(read).is_some() {
                return Err(content.fault("part has two keys for its contents").within(key));
            }
        }
    }
    map.finish()?;
    let data = match data {
        Some(data) => data,
        None if name.0 == *b"SFI0" => PartData::Features(FeatureInfo { flags: 0 }),
        None => PartData::Raw(Bytes(zeros_left.map_or(Ok(Vec::new()), |left| zeros(node, size, left))?)),
    };
    Ok(OwnedPart { name, data, fault: None })
}

/// Maximum total size of parts without contents in a document: one line of text could ask for any size.
pub(super) const MAX_ZEROS: u32 = 16 << 20;

fn zeros(node: &Node<'_>, size: u32, left: &mut u32) -> Result<Vec<u8>> {
    *left = left.checked_sub(size).ok_or_else(|| {
        node.fault("parts without contents are too large")
            .expected(format!("at most {MAX_ZEROS} bytes in total, of which {left} are left"))
            .found(format!("{size}"))
    })?;
    Ok(vec![0; size as usize])
}

fn read_content(key: &str, name: FourCc, size: u32, node: &Node<'_>) -> Result<PartData> {
    Ok(match key {
        "Program" => PartData::Program(read_program(node, size)?),
        "Flags" => PartData::Features(read_features(node)?),
        "Hash" => PartData::Hash(read_hash(node)?),
        "PSVInfo" => PartData::Psv0(psv0::read(node)?.into()),
        "Signature" => {
            let form = Form::of(name).unwrap_or(Form::Full);
            PartData::Signature(read_signature(node, form, size)?)
        }
        "RootSignature" => PartData::RootSignature(root_signature::read(node)?),
        "DebugName" => PartData::DebugName(read_debug_name(node)?),
        "CompilerVersion" => PartData::Version(read_version(node)?),
        "SourceInfo" => PartData::Sources(sources::read(node)?),
        _ => PartData::Raw(Bytes::from_node(node)?),
    })
}

pub(super) fn program_node(program: &Program) -> Node<'_> {
    let version = program.version();
    let mut map = MapWriter::default();
    let number = |value: u32| Node::number(value.into());
    map.node("MajorVersion", number(version.major()));
    map.node("MinorVersion", number(version.minor()));
    map.node("ShaderKind", number(version.kind().0.into()));
    map.node("Size", number(program.header.size_in_words));
    map.node("DXILMajorVersion", number(program.header.dxil_major.into()));
    map.node("DXILMinorVersion", number(program.header.dxil_minor.into()));
    map.node("DXILSize", number(program.header.bitcode_size));
    map.node("DXIL", program.bitcode.node());
    map.finish()
}

pub(super) fn read_program(node: &Node<'_>, size: u32) -> Result<Program> {
    let mut map = MapReader::new(node)?;
    let (major, minor): (u8, u8) = (map.field("MajorVersion")?, map.field("MinorVersion")?);
    let kind: u16 = map.field("ShaderKind")?;
    if major > 15 || minor > 15 {
        return Err(node
            .fault("version of the shader model does not fit 4 bits")
            .found(format!("{major}.{minor}")));
    }
    let words: Option<u32> = map.field("Size")?;
    let dxil = (map.field("DXILMajorVersion")?, map.field("DXILMinorVersion")?);
    let bitcode_size: Option<u32> = map.field("DXILSize")?;
    let bitcode: Bytes = map.field("DXIL")?;
    map.finish()?;
    let version = ProgramVersion(u32::from(kind) << 16 | u32::from(major) << 4 | u32::from(minor));
    let mut program = Program::new(version, dxil, bitcode.0);
    if let Some(words) = words {
        program.header.size_in_words = words;
    }
    if let Some(bitcode_size) = bitcode_size {
        program.header.bitcode_size = bitcode_size;
    }
    // The size of the part shows whether it is padded.
    if size as usize == program.bitcode.0.len().saturating_add(24) {
        program.tail = Bytes::default();
    }
    Ok(program)
}

fn features_node(features: &FeatureInfo) -> Node<'_> {
    let mut map = MapWriter::default();
    let flag = |bit: u32| Node::plain(if features.flags >> bit & 1 == 1 { "true" } else { "false" });
    for (feature, bit) in FEATURES.iter().zip(0..) {
        map.node(feature.name, flag(bit));
    }
    map.node(NEXT_UNUSED_BIT, flag(len32(FEATURES.len())));
    map.finish()
}

fn read_features(node: &Node<'_>) -> Result<FeatureInfo> {
    let mut map = MapReader::new(node)?;
    let mut flags = 0u64;
    let names = FEATURES.iter().map(|feature| feature.name).chain([NEXT_UNUSED_BIT]);
    for (name, bit) in names.zip(0u32..) {
        if map.field_or(name, false)? {
            flags |= 1 << bit;
        }
    }
    map.finish()?;
    Ok(FeatureInfo { flags })
}

fn hash_node(hash: &ShaderHash) -> Node<'_> {
    let mut map = MapWriter::default();
    let source = hash.flags & ShaderHash::INCLUDES_SOURCE != 0;
    map.node("IncludesSource", Node::plain(if source { "true" } else { "false" }));
    map.field("Digest", &hash.digest);
    map.finish()
}

fn read_hash(node: &Node<'_>) -> Result<ShaderHash> {
    let mut map = MapReader::new(node)?;
    let hash =
        ShaderHash { flags: map.field::<bool>("IncludesSource")?.into(), digest: map.field("Digest")? };
    map.finish()?;
    Ok(hash)
}

fn debug_name_node(name: &DebugName) -> Node<'_> {
    let mut map = MapWriter::default();
    map.field("Flags", &name.flags);
    map.field("NameLength", &name.name_length);
    map.field("DebugName", &name.name);
    map.finish()
}

fn read_debug_name(node: &Node<'_>) -> Result<DebugName> {
    let mut map = MapReader::new(node)?;
    let flags = map.field_or("Flags", 0)?;
    let length: Option<u16> = map.field("NameLength")?;
    let mut name = DebugName::new(map.field("DebugName")?);
    name.flags = flags;
    if let Some(length) = length {
        name.name_length = length;
    }
    map.finish()?;
    Ok(name)
}

fn version_node(version: &CompilerVersion) -> Node<'_> {
    let flag = |bit: u32| Node::plain(if version.flags & bit != 0 { "true" } else { "false" });
    let mut map = MapWriter::default();
    map.field("Major", &version.major);
    map.field("Minor", &version.minor);
    map.node("IsDebugBuild", flag(1));
    map.node("IsValidated", flag(2));
    map.field("CommitCount", &version.commit_count);
    map.field("ContentSizeInBytes", &version.content_size);
    map.field("CommitSha", &version.commit);
    map.field("CustomVersionString", &version.version);
    map.finish()
}

fn read_version(node: &Node<'_>) -> Result<CompilerVersion> {
    let mut map = MapReader::new(node)?;
    let version = (map.field("Major")?, map.field("Minor")?);
    let mut flags = 0;
    for (key, bit) in [("IsDebugBuild", 1), ("IsValidated", 2)] {
        flags |= if map.field_or(key, false)? { bit } else { 0 };
    }
    let commits = map.field("CommitCount")?;
    let size: Option<u32> = map.field("ContentSizeInBytes")?;
    let (commit, text) = (map.field("CommitSha")?, map.field("CustomVersionString")?);
    map.finish()?;
    let mut version = CompilerVersion::new(version, flags, commits, commit, text);
    if let Some(size) = size {
        version.content_size = size;
    }
    Ok(version)
}

pub(super) fn signature_node(signature: &Signature) -> Node<'_> {
    let parameters = signature.elements.iter().map(element_node).collect();
    let mut map = MapWriter::default();
    map.node("Parameters", Node::list(parameters));
    map.finish()
}

fn element_node(element: &Element) -> Node<'_> {
    let mut map = MapWriter::default();
    map.field("Stream", &element.stream);
    map.field("Name", &element.name);
    map.field("Index", &element.core.index);
    map.field("SystemValue", &element.core.system_value);
    map.field("CompType", &element.core.component_type);
    map.field("Register", &element.core.register);
    map.field("Mask", &element.core.mask);
    map.field("ExclusiveMask", &element.core.exclusive_mask);
    map.field("MinPrecision", &element.min_precision);
    map.finish()
}

pub(super) fn read_signature(node: &Node<'_>, form: Form, size: u32) -> Result<Signature> {
    let mut map = MapReader::new(node)?;
    let parameters = map.take("Parameters").map(Node::items).transpose()?.unwrap_or_default();
    let mut elements = Vec::with_capacity(parameters.len());
    for (index, parameter) in parameters.iter().enumerate() {
        elements.push(read_element(parameter).map_err(|error| error.within(format!("Parameters[{index}]")))?);
    }
    map.finish()?;
    // The size shows the name policy, if only one fits.
    let of = |policy| Signature::new(form, elements.clone(), policy);
    let usual = if form == Form::Full { NamePolicy::Shared } else { NamePolicy::Fxc };
    let policies = [usual, NamePolicy::Separate];
    let fits = policies.into_iter().map(of).find(|signature| signature.slack.size == size);
    Ok(fits.unwrap_or_else(|| of(usual)))
}

fn read_element(node: &Node<'_>) -> Result<Element> {
    let mut map = MapReader::new(node)?;
    let element = Element {
        stream: map.field_or("Stream", 0)?,
        name: map.field_or("Name", Text::default())?,
        core: Core {
            name_offset: 0,
            index: map.field_or("Index", 0)?,
            system_value: map.field_or("SystemValue", SystemValue::UNDEFINED)?,
            component_type: map.field_or("CompType", ComponentType::UNKNOWN)?,
            register: map.field_or("Register", 0)?,
            mask: map.field_or("Mask", 0)?,
            exclusive_mask: map.field_or("ExclusiveMask", 0)?,
            reserved: 0,
        },
        min_precision: map.field_or("MinPrecision", MinPrecision::DEFAULT)?,
    };
    map.finish()?;
    Ok(element)
}
