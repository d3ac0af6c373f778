//! The header extension and its sections as YAML: a list of tags, in order.
//!
//! | key | tag |
//! |---|---|
//! | `UUID` | `UUID`: 32 hex digits, with or without dashes |
//! | `Tag`, `Content` | a tag that does not refer to a section |
//! | `Section` | the code of a section, with one of the following |
//! | `LinkCommand`, `WorkingDirectory`, `Archives` (`Id`, `Compressed`) | `HSRD`, `HSRC` |
//! | `InstallName`, `LinkedLibraries`, `Tags` | `HDYN` |
//! | `Symbols` | `ILST`, `VLST` |
//! | `Reflections` (tables ([`reflection`]) or `Bytes`; `Code`, `Padded` if unusual) | `RLST` |
//! | `Scripts` | `SLST` |
//! | `Tags` | `HSRP` |
//! | `Bytes` | any section of unknown layout |

use super::function::{raw_node, read_other, read_raw};
use super::{Environment, bytes_node, list, reflection};
use crate::file::{
    ExtensionTag, OwnedArchive, OwnedDynamicHeader, OwnedReflection, OwnedSources, SectionData, Text,
};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::bytes::Bytes;
use unshade_core::yaml::{Kind, MapReader, MapWriter, Node, Yaml};
use unshade_core::{FourCc, Result};

pub(super) fn node<'a>(tag: &'a ExtensionTag<'_>) -> Node<'a> {
    let mut map = MapWriter::default();
    match tag {
        ExtensionTag::Section { code, data } => {
            map.node("Section", code.node());
            put_section(data, &mut map);
        }
        ExtensionTag::Uuid(uuid) => map.node("UUID", Node::string(uuid_text(uuid))),
        ExtensionTag::Other(tag) => return raw_node(tag),
    }
    map.finish()
}

fn put_section<'a>(data: &'a SectionData<'_>, map: &mut MapWriter<'a>) {
    match data {
        SectionData::Sources(sources) => {
            map.node("LinkCommand", sources.link_command.node());
            map.field("WorkingDirectory", &sources.working_directory);
            let archive = |archive: &'a OwnedArchive<'_>| {
                let mut map = MapWriter::default();
                map.node("Id", archive.id.node());
                map.node("Compressed", bytes_node(&archive.compressed));
                map.finish()
            };
            map.node("Archives", Node::list(sources.archives.iter().map(archive).collect()));
        }
        SectionData::SourceLink(tags) => map.node("Tags", Node::list(tags.iter().map(raw_node).collect())),
        SectionData::Dynamic(dynamic) => {
            map.field("InstallName", &dynamic.install_name);
            map.field("LinkedLibraries", &dynamic.linked);
            if !dynamic.other.is_empty() {
                map.node("Tags", Node::list(dynamic.other.iter().map(raw_node).collect()));
            }
        }
        SectionData::Symbols(names) => map.node("Symbols", names.node()),
        SectionData::Reflections(list) => {
            let reflections = list.iter().map(|reflection| Node::deferred(|| reflection_node(reflection)));
            map.node("Reflections", Node::list(reflections.collect()));
        }
        SectionData::Scripts(scripts) => {
            map.node("Scripts", Node::list(scripts.iter().map(|script| bytes_node(script)).collect()));
        }
        SectionData::Raw(bytes) => map.node("Bytes", bytes_node(bytes)),
    }
}

fn reflection_node(reflection: &OwnedReflection<'_>) -> Node<'static> {
    let mut map = MapWriter::default();
    if reflection.code.0 != *b"RBUF" {
        map.node("Code", reflection::text_node(&reflection.code.0));
    }
    if !reflection.padded {
        map.node("Padded", Node::plain("false"));
    }
    match reflection.tables() {
        Some(root) => reflection::put_table(&root, &mut map),
        None => map.node("Bytes", Kind::Bytes(reflection.content.to_vec().into()).into()),
    }
    map.finish()
}

/// Formats a UUID in upper case with dashes, like Apple's tools.
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in uuid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02X}"));
    }
    text
}

/// Parses a UUID of 32 hex digits, with or without dashes.
pub fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u32> =
        text.chars().filter(|c| *c != '-').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let byte = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high << 4 | low).ok(),
        _ => None,
    };
    digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>()?.try_into().ok()
}

pub(super) fn read(node: &Node<'_>) -> Result<ExtensionTag<'static>> {
    read_with(node, None)
}

/// Parses a tag of the extension. Source archives can only be packed if there is an environment.
pub(super) fn read_with(
    node: &Node<'_>,
    environment: Option<&mut Environment<'_>>,
) -> Result<ExtensionTag<'static>> {
    let mut map = MapReader::new(node)?;
    if let Some(uuid) = map.take("UUID") {
        map.finish()?;
        let parsed = uuid.text().and_then(parse_uuid).ok_or_else(|| uuid.expected("32 hex digits"))?;
        return Ok(ExtensionTag::Uuid(parsed));
    }
    if node.get("Tag").is_some() {
        return read_raw(node).map(ExtensionTag::Other);
    }
    let code: FourCc = map.field("Section")?;
    let data =
        read_section(code, &mut map, environment).map_err(|error| error.within(format!("section {code}")))?;
    map.finish()?;
    Ok(ExtensionTag::Section { code, data })
}

fn read_section(
    code: FourCc,
    map: &mut MapReader<'_, '_>,
    mut environment: Option<&mut Environment<'_>>,
) -> Result<SectionData<'static>> {
    if let Some(bytes) = map.take("Bytes") {
        return Ok(SectionData::Raw(read_bytes(bytes)?));
    }
    match &code.0 {
        b"HSRD" | b"HSRC" => {
            let mut archive = |node: &Node<'_>| read_archive(node, environment.as_deref_mut());
            Ok(SectionData::Sources(OwnedSources {
                link_command: map.field("LinkCommand")?,
                working_directory: map.field("WorkingDirectory")?,
                archives: list(map, "Archives")?.iter().map(&mut archive).collect::<Result<_>>()?,
            }))
        }
        b"HSRP" => read_other(map, "Tags").map(SectionData::SourceLink),
        b"HDYN" => Ok(SectionData::Dynamic(OwnedDynamicHeader {
            install_name: map.field("InstallName")?,
            linked: map.field("LinkedLibraries")?,
            other: read_other(map, "Tags")?,
        })),
        b"ILST" | b"VLST" => map.field("Symbols").map(SectionData::Symbols),
        b"RLST" => {
            let reflections = map.take("Reflections");
            let reflections =
                reflections.map_or(Ok(Vec::new()), |node| reflection::read_items(node, read_reflection));
            reflections.map(SectionData::Reflections).map_err(|error| error.within("Reflections"))
        }
        b"SLST" => {
            list(map, "Scripts")?.iter().map(read_bytes).collect::<Result<_>>().map(SectionData::Scripts)
        }
        _ => map.field("Bytes").map(|bytes: Bytes| SectionData::Raw(Cow::Owned(bytes.0))),
    }
}

fn read_archive(node: &Node<'_>, environment: Option<&mut Environment<'_>>) -> Result<OwnedArchive<'static>> {
    let mut map = MapReader::new(node)?;
    let id: Text<'static> = map.field("Id")?;
    let compressed = match environment {
        Some(environment) if node.get("Files").is_some() => pack(&list(&mut map, "Files")?, environment)?,
        _ => map.field::<Bytes>("Compressed")?.0,
    };
    map.finish()?;
    Ok(OwnedArchive { id, compressed: Cow::Owned(compressed) })
}

/// Packs the files of an archive.
fn pack(nodes: &[Node<'_>], environment: &mut Environment<'_>) -> Result<Vec<u8>> {
    let mut files = Vec::new();
    for node in nodes {
        let mut map = MapReader::new(node)?;
        let path: Text<'static> = map.field("Path")?;
        let content = match (map.take("File"), map.take("Text")) {
            (Some(file), None) => {
                let name = file.text().ok_or_else(|| file.expected("the name of a file"))?;
                let place = format!("line {}, column {}", file.line, file.column);
                (environment.load)(name).map_err(|error| error.within(place))?
            }
            (None, Some(text)) => Text::from_node(text)?.into_owned(),
            _ => {
                return Err(
                    node.fault("a file of an archive needs exactly one of the keys `File` and `Text`")
                );
            }
        };
        map.finish()?;
        files.push((String::from_utf8_lossy(&path).into_owned(), content));
    }
    (environment.pack)(&files)
}

fn read_reflection(node: &Node<'_>) -> Result<OwnedReflection<'static>> {
    let mut map = MapReader::new(node)?;
    let code = map.field_or("Code", FourCc(*b"RBUF"))?;
    let padded = map.field_or("Padded", true)?;
    let content = match map.take("Bytes") {
        Some(bytes) => read_bytes(bytes)?,
        None => Cow::Owned(reflection::read_root(&mut map)?.write()?),
    };
    map.finish()?;
    Ok(OwnedReflection { code, content, padded })
}

fn read_bytes(node: &Node<'_>) -> Result<Text<'static>> {
    Bytes::from_node(node).map(|bytes| Cow::Owned(bytes.0))
}
