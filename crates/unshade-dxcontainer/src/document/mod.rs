//! Containers as YAML, and back.
//!
//! A file has two documents. The first is LLVM's (`--- !dxcontainer`, as `obj2yaml` writes it and `yaml2obj` reads
//! it) and holds everything that LLVM has keys for. The second (`--- !unshade`) holds the rest: parts and fields
//! unknown to LLVM, compressed streams, and layouts that do not follow from the first. `yaml2obj` reads only the
//! first document of a file.
//!
//! The second document has only what would otherwise be lost. Both documents together restore a container byte for
//! byte. Names are changed in the first document. A layout in the second that no longer fits is an error, with the
//! hint to remove it.

mod dialect;
mod llvm;
mod psv0;
mod root_signature;
mod sources;
mod supplement;

pub use dialect::Llvm;

use crate::bytes::{Bytes, len32};
use crate::container::HEADER_SIZE;
use crate::digest::Digest;
use crate::file::{DxFile, FileLayout, OwnedPart};
use crate::part::PartData;
use crate::yaml::{Kind, MapReader, MapWriter, Node, Yaml, emit, parse};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{Error, ErrorKind, FourCc, Result};

/// The tag of LLVM's document.
pub const LLVM_TAG: &str = "!dxcontainer";

/// The tag of the unshade document.
pub const UNSHADE_TAG: &str = "!unshade";

/// Writes a container as YAML.
///
/// # Errors
/// Fails if a part cannot be written, as [`DxFile::write`] does.
pub fn to_yaml(file: &DxFile) -> Result<String> {
    to_yaml_for(file, Llvm::default())
}

/// Writes a container as YAML whose first document a given version of LLVM can read.
///
/// # Errors
/// Fails as [`to_yaml`] does.
pub fn to_yaml_for(file: &DxFile, llvm: Llvm) -> Result<String> {
    let mut out = String::new();
    write_yaml(file, llvm, &mut out)?;
    Ok(out)
}

/// Writes the same YAML piece by piece: the text of a large program is never in memory as a whole.
///
/// # Errors
/// Fails as [`to_yaml`] does, and if writing to `out` fails.
pub fn write_yaml(file: &DxFile, llvm: Llvm, out: &mut dyn fmt::Write) -> Result<()> {
    let nodes = nodes(file, llvm)?;
    let mut write = || {
        emit(LLVM_TAG, &nodes.main, out)?;
        out.write_str("...\n")?;
        if let Some(supplement) = &nodes.supplement {
            emit(UNSHADE_TAG, supplement, out)?;
            out.write_str("...\n")?;
        }
        Ok(())
    };
    write().map_err(|_: fmt::Error| {
        Error::without_offset(ErrorKind::Unsupported, "YAML output cannot be written")
    })
}

/// Reads a container from YAML, with the digest from the document.
///
/// # Errors
/// Fails if the text is not such a document, or is inconsistent; the message has line and column.
pub fn from_yaml(text: &str) -> Result<DxFile> {
    let documents = parse(text)?;
    let find = |tag: &str| documents.iter().find(|document| document.tag == tag);
    // A document without a tag is LLVM's, as for yaml2obj.
    let main = find(LLVM_TAG).or_else(|| documents.first().filter(|document| document.tag.is_empty()));
    let main = main.ok_or_else(|| {
        Error::without_offset(ErrorKind::BadMagic, "no DXContainer document").expected("--- !dxcontainer")
    })?;
    read_both(&main.root, find(UNSHADE_TAG).map(|supplement| &supplement.root), llvm::MAX_ZEROS)
}

/// The two documents of a container.
struct Nodes<'a> {
    main: Node<'a>,
    supplement: Option<Node<'a>>,
}

fn nodes(file: &DxFile, llvm: Llvm) -> Result<Nodes<'_>> {
    let mut bodies = Vec::with_capacity(file.parts.len());
    for part in &file.parts {
        bodies.push(part.data.write().map_err(|error| error.within(format!("part {}", part.name)))?);
    }
    let mut parts = Vec::with_capacity(bodies.len());
    let mut supplement_parts = Vec::new();
    for (index, (part, body)) in file.parts.iter().zip(&bodies).enumerate() {
        let mut node = llvm::part_node(part, body.len());
        dialect::restrict(&mut node, llvm);
        supplement_parts.extend(supplement_node(index, part, body, &node));
        parts.push(node);
    }
    let mut main = MapWriter::default();
    main.node("Header", header_node(file, &bodies));
    main.node("Parts", Node::list(parts));
    let mut supplement = MapWriter::default();
    supplement.field("Layout", &file.layout);
    if !supplement_parts.is_empty() {
        supplement.node("Parts", Node::list(supplement_parts));
    }
    let supplement = (!supplement.is_empty()).then(|| supplement.finish());
    Ok(Nodes { main: main.finish(), supplement })
}

/// Returns the node of a nested container in the unshade document.
fn nested_container_node(file: &DxFile) -> Option<Node<'_>> {
    let nodes = nodes(file, Llvm::default()).ok()?;
    let mut map = MapWriter::default();
    map.node("Main", nodes.main);
    if let Some(supplement) = nodes.supplement {
        map.node("Own", supplement);
    }
    Some(map.finish())
}

fn read_nested_container(node: &Node<'_>) -> Result<DxFile> {
    let mut map = MapReader::new(node)?;
    let main = map.take("Main").ok_or_else(|| node.fault("key `Main` is missing"))?;
    let supplement = map.take("Own");
    map.finish()?;
    // A nested container is written with all of its contents, so it needs no zeros.
    read_both(main, supplement, 0)
}

/// Returns a node that borrows nothing.
fn into_owned<'a>(node: Node<'_>) -> Node<'a> {
    let kind = match node.kind {
        Kind::Null => Kind::Null,
        Kind::Deferred(deferred) => into_owned(deferred.make()).kind,
        Kind::Plain(text) => Kind::Plain(text.into_owned().into()),
        Kind::Quoted(text) => Kind::Quoted(text.into_owned().into()),
        Kind::Bytes(bytes) => Kind::Bytes(bytes.into_owned().into()),
        Kind::List { items, flow } => Kind::List { items: items.into_iter().map(into_owned).collect(), flow },
        Kind::Map(pairs) => Kind::Map(
            pairs.into_iter().map(|(key, value)| (key.into_owned().into(), into_owned(value))).collect(),
        ),
    };
    kind.into()
}

fn header_node<'a>(file: &'a DxFile, bodies: &[Vec<u8>]) -> Node<'a> {
    let mut at = (HEADER_SIZE as usize).saturating_add(bodies.len().saturating_mul(4));
    let mut offsets = Vec::new();
    for body in bodies {
        offsets.push(len32(at));
        at = at.saturating_add(8).saturating_add(body.len());
    }
    let mut file_size = len32(at);
    if let Some(layout) = &file.layout {
        (file_size, offsets) = (layout.file_size, layout.offsets.clone());
    }
    let number = |value: u32| Node::number(value.into());
    let mut version = MapWriter::default();
    version.node("Major", number(file.version.0.into()));
    version.node("Minor", number(file.version.1.into()));
    let mut map = MapWriter::default();
    map.node("Hash", file.digest.0.node());
    map.node("Version", version.finish());
    map.node("FileSize", number(file_size));
    map.node("PartCount", number(len32(file.parts.len())));
    map.node("PartOffsets", Node::flow(offsets.into_iter().map(number).collect()));
    map.finish()
}

/// Returns what the first document cannot express of a part, if anything.
fn supplement_node<'a>(index: usize, part: &'a OwnedPart, body: &[u8], node: &Node<'_>) -> Option<Node<'a>> {
    let mut rebuilt = llvm::read_part(node, None).ok()?;
    if same(&rebuilt, body) {
        return None;
    }
    let mut map = MapWriter::default();
    map.node("Part", Node::number(index as u64));
    map.field("Name", &part.name);
    // The node must lead back to the same bytes; if it does not, the bytes are written instead.
    match supplement::node(part, &rebuilt) {
        Some((key, content))
            if supplement::apply(&mut rebuilt, key, &content).is_ok() && same(&rebuilt, body) =>
        {
            map.node(key, content);
        }
        _ => map.node("Bytes", owned_bytes(body)),
    }
    Some(map.finish())
}

fn same(part: &OwnedPart, body: &[u8]) -> bool {
    part.data.write().is_ok_and(|written| written == body)
}

fn owned_bytes<'a>(bytes: &[u8]) -> Node<'a> {
    Kind::Bytes(bytes.to_vec().into()).into()
}

/// Returns the indices of the parts that the unshade document describes.
fn described_parts(supplement: &Node<'_>) -> BTreeSet<u32> {
    let Some(Node { kind: Kind::List { items, .. }, .. }) = supplement.get("Parts") else {
        return BTreeSet::new();
    };
    items.iter().filter_map(|part| u32::from_node(part.get("Part")?).ok()).collect()
}

/// Reads both documents; `zeros` is the budget for parts without contents.
fn read_both(main: &Node<'_>, supplement: Option<&Node<'_>>, zeros: u32) -> Result<DxFile> {
    let mut file = read_main(main, &supplement.map(described_parts).unwrap_or_default(), zeros)?;
    if let Some(supplement) = supplement {
        read_supplement(supplement, &mut file).map_err(|error| error.within(UNSHADE_TAG))?;
    }
    Ok(file)
}

/// Reads LLVM's document; `described` are the parts that the unshade document describes.
fn read_main(node: &Node<'_>, described: &BTreeSet<u32>, mut zeros_left: u32) -> Result<DxFile> {
    let mut map = MapReader::new(node)?;
    let mut file = DxFile::default();
    if let Some(header) = map.take("Header") {
        read_header(header, &mut file).map_err(|error| error.within("Header"))?;
    }
    let parts = map.take("Parts").map(Node::items).transpose()?.unwrap_or_default();
    map.finish()?;
    for (index, part) in parts.iter().enumerate() {
        let zeros_left = (!described.contains(&len32(index))).then_some(&mut zeros_left);
        let read = llvm::read_part(part, zeros_left);
        file.parts.push(read.map_err(|error| error.within(format!("Parts[{index}]")))?);
    }
    Ok(file)
}

/// Reads size, count and offsets only to check that they are numbers: writing the container computes them.
fn read_header(node: &Node<'_>, file: &mut DxFile) -> Result<()> {
    let mut map = MapReader::new(node)?;
    file.digest = Digest(map.field_or("Hash", [0; 16])?);
    if let Some(version) = map.take("Version") {
        let mut map = MapReader::new(version)?;
        file.version = (map.field("Major")?, map.field("Minor")?);
        map.finish()?;
    }
    map.field::<Option<u32>>("FileSize")?;
    map.field::<Option<u32>>("PartCount")?;
    map.field::<Vec<u32>>("PartOffsets")?;
    map.finish()
}

fn read_supplement(node: &Node<'_>, file: &mut DxFile) -> Result<()> {
    let mut map = MapReader::new(node)?;
    let layout: Option<FileLayout> = map.field("Layout")?;
    let parts = map.take("Parts").map(Node::items).transpose()?.unwrap_or_default();
    map.finish()?;
    for node in &parts {
        read_supplement_part(node, file)?;
    }
    file.layout = layout;
    Ok(())
}

fn read_supplement_part(node: &Node<'_>, file: &mut DxFile) -> Result<()> {
    let mut map = MapReader::new(node)?;
    let index: u32 = map.field("Part")?;
    let name: FourCc = map.field("Name")?;
    let count = file.parts.len();
    let part = file.parts.get_mut(index as usize).filter(|part| part.name == name).ok_or_else(|| {
        node.fault("the first document has no such part")
            .expected(format!("the index of a part below {count}, and its name"))
            .found(format!("{index} {name}"))
    })?;
    let label = |error: Error| error.within(format!("part {index} {name}"));
    if let Some(bytes) = map.take("Bytes") {
        part.data = PartData::Raw(Bytes::from_node(bytes).map_err(label)?);
    }
    for key in supplement::KEYS {
        if let Some(content) = map.take(key) {
            supplement::apply(part, key, content).map_err(|error| label(error.within(key)))?;
        }
    }
    map.finish()
}
