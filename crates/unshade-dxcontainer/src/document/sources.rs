//! SRCI in LLVM's document. Reading a document computes sizes and counts, and compresses the sources again unless the
//! unshade document has the stored bytes.

use crate::bytes::{Bytes, Text, len32};
use crate::source_info::{
    ArgumentsHeader, Compression, Content, ContentEntry, Contents, ContentsHeader, Header, Name, NameEntry,
    NamesHeader, Section, SectionContent, SectionHeader, SectionKind, SourceInfo, tail_of,
};
use crate::yaml::{Kind, MapReader, MapWriter, Node, Yaml};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::Result;

/// Sources that exceed this ratio to their stored size ...
const MAX_RATIO: usize = 64;

/// ... and this size stay compressed: a megabyte of zeros takes a kilobyte.
const RATIO_FLOOR: usize = 1 << 16;

fn is_bomb(contents: &Contents) -> bool {
    let limit = contents.stored.0.len().saturating_mul(MAX_RATIO).max(RATIO_FLOOR);
    contents.header.size_of_entries as usize > limit
}

/// Returns the node, if LLVM has keys for everything: one section of each kind, and contents that can be
/// decompressed.
pub(super) fn node(info: &SourceInfo) -> Option<Node<'_>> {
    let find = |kind| info.sections.iter().find(|section| section.header.kind == kind);
    let mut map = MapWriter::default();
    map.field("Header", &info.header);
    let names = find(SectionKind::NAMES)?;
    if let SectionContent::Names(header, found) = &names.content {
        let entries = found.iter().map(|name| with_text(name.entry.node(), "FileName", name.name.node()));
        map.node("Names", section_node(names, header.node(), "Entries", entries.collect()));
    }
    let contents = find(SectionKind::CONTENTS)?;
    if let SectionContent::Contents(found) = &contents.content {
        if is_bomb(found) {
            return None;
        }
        let entries = found.entries().ok()?.into_iter().map(|content| {
            let text = owned_text(content.text);
            with_text(owned(content.entry.node()), "FileContent", text)
        });
        map.node(
            "Contents",
            section_node(contents, without_size(found.header.node()), "Entries", entries.collect()),
        );
    }
    let arguments = find(SectionKind::ARGUMENTS)?;
    if let SectionContent::Arguments(header, found) = &arguments.content {
        let pairs = found.iter().map(|(name, value)| {
            let mut map = MapWriter::default();
            map.field("Arg", name);
            map.field("Value", value);
            map.finish()
        });
        map.node("Args", section_node(arguments, header.node(), "Args", pairs.collect()));
    }
    Some(map.finish())
}

/// The key for the stored size of the sources. It is omitted: `yaml2obj` compresses the sources again and aborts if
/// their size differs, which it does for most of DXC's.
const STORED_SIZE: &str = "EntriesSizeInBytes";

fn without_size(mut header: Node<'_>) -> Node<'_> {
    if let Kind::Map(pairs) = &mut header.kind {
        pairs.retain(|(key, _)| key != STORED_SIZE);
    }
    header
}

/// Returns a node of a record's numbers that borrows nothing.
fn owned<'a>(node: Node<'_>) -> Node<'a> {
    match node.kind {
        Kind::Map(pairs) => {
            let pairs =
                pairs.into_iter().map(|(key, value)| (key.into_owned().into(), owned(value))).collect();
            Kind::Map(pairs).into()
        }
        _ => Node::plain(alloc::string::String::from(node.text().unwrap_or_default())),
    }
}

fn owned_text<'a>(text: Text) -> Node<'a> {
    match alloc::string::String::from_utf8(text.0) {
        Ok(text) => Node::string(text),
        Err(error) => Kind::Bytes(error.into_bytes().into()).into(),
    }
}

/// Appends text to the node of a record.
fn with_text<'a>(node: Node<'a>, key: &'static str, text: Node<'a>) -> Node<'a> {
    match node.kind {
        Kind::Map(mut pairs) => {
            pairs.push((key.into(), text));
            Kind::Map(pairs).into()
        }
        _ => node,
    }
}

fn section_node<'a>(
    section: &'a Section,
    header: Node<'a>,
    key: &'static str,
    entries: Vec<Node<'a>>,
) -> Node<'a> {
    let mut map = MapWriter::default();
    map.field("SectionHeader", &section.header);
    map.node("Header", header);
    map.node(key, Node::list(entries));
    map.finish()
}

pub(super) fn read(node: &Node<'_>) -> Result<SourceInfo> {
    let mut map = MapReader::new(node)?;
    let header = map.field_or("Header", Header { size: 0, flags: 0, section_count: 0 })?;
    let mut sections = Vec::new();
    for (key, kind) in
        [("Names", SectionKind::NAMES), ("Contents", SectionKind::CONTENTS), ("Args", SectionKind::ARGUMENTS)]
    {
        if let Some(section) = map.take(key) {
            sections.push(read_section(section, kind).map_err(|error| error.within(key))?);
        }
    }
    map.finish()?;
    let mut info = SourceInfo { header, sections, extra: Bytes::default() };
    info.lay_out();
    Ok(info)
}

fn read_section(node: &Node<'_>, kind: SectionKind) -> Result<Section> {
    let mut map = MapReader::new(node)?;
    let header = map.field_or("SectionHeader", SectionHeader { size: 0, flags: 0, kind })?;
    let content = match kind {
        SectionKind::NAMES => {
            let header = map.field_or("Header", NamesHeader { flags: 0, count: 0, size_of_entries: 0 })?;
            SectionContent::Names(header, read_entries(&mut map, read_name)?)
        }
        SectionKind::CONTENTS => {
            let header = map.take("Header").map(read_contents_header).transpose()?.unwrap_or(PLAIN);
            SectionContent::Contents(Contents::store(header, &read_entries(&mut map, read_content)?))
        }
        _ => {
            let header = map.field_or("Header", ArgumentsHeader { flags: 0, size: 0, count: 0 })?;
            let pairs = map.take("Args").map(Node::items).transpose()?.unwrap_or_default();
            SectionContent::Arguments(header, pairs.iter().map(read_argument).collect::<Result<_>>()?)
        }
    };
    map.finish()?;
    Ok(Section { header: SectionHeader { kind, ..header }, content, tail: Bytes::default() })
}

/// The header of uncompressed sources.
const PLAIN: ContentsHeader = ContentsHeader {
    size: 0,
    flags: 0,
    compression: Compression::NONE,
    stored_size: 0,
    size_of_entries: 0,
    count: 0,
};

/// Reads the header; the sizes and the count are computed.
fn read_contents_header(node: &Node<'_>) -> Result<ContentsHeader> {
    let mut map = MapReader::new(node)?;
    map.field::<Option<u32>>(STORED_SIZE)?;
    map.field::<Option<u32>>("UncompressedEntriesSizeInBytes")?;
    map.field::<Option<u32>>("Count")?;
    let header = ContentsHeader {
        size: map.field_or("AlignedSizeInBytes", 0)?,
        flags: map.field_or("Flags", 0)?,
        compression: map.field_or("Type", Compression::NONE)?,
        ..PLAIN
    };
    map.finish()?;
    Ok(header)
}

fn read_entries<T>(map: &mut MapReader<'_, '_>, read: fn(&Node<'_>) -> Result<T>) -> Result<Vec<T>> {
    let entries = map.take("Entries").map(Node::items).transpose()?.unwrap_or_default();
    let one = |(index, entry)| read(entry).map_err(|error| error.within(format!("Entries[{index}]")));
    entries.iter().enumerate().map(one).collect()
}

fn read_name(node: &Node<'_>) -> Result<Name> {
    let mut map = MapReader::new(node)?;
    map.field::<Option<u32>>("AlignedSizeInBytes")?;
    map.field::<Option<u32>>("NameSizeInBytes")?;
    let flags = map.field_or("Flags", 0)?;
    let content_length = map.field_or("ContentSizeInBytes", 0)?;
    let name = map.field("FileName")?;
    map.finish()?;
    let entry = NameEntry { size: 0, flags, name_length: 0, content_length };
    Ok(Name { entry, name, tail: Bytes::default() })
}

fn read_content(node: &Node<'_>) -> Result<Content> {
    let mut map = MapReader::new(node)?;
    map.field::<Option<u32>>("AlignedSizeInBytes")?;
    map.field::<Option<u32>>("ContentSizeInBytes")?;
    let flags = map.field_or("Flags", 0)?;
    let text: Text = map.field("FileContent")?;
    map.finish()?;
    let tail = Bytes(tail_of(text.0.len()));
    let length = len32(text.0.len().saturating_add(1));
    let size = len32(text.0.len().saturating_add(tail.0.len()).saturating_add(12));
    Ok(Content { entry: ContentEntry { size, flags, length }, text, tail })
}

fn read_argument(node: &Node<'_>) -> Result<(Text, Text)> {
    let mut map = MapReader::new(node)?;
    let pair = (map.field("Arg")?, map.field_or("Value", Text::default())?);
    map.finish()?;
    Ok(pair)
}

/// Takes over the stored bytes, if they still hold the same sources.
pub(super) fn use_stored(info: &mut SourceInfo, stored: &Bytes) {
    for section in &mut info.sections {
        if let SectionContent::Contents(contents) = &mut section.content {
            let stored_size = len32(stored.0.len());
            let kept = Contents {
                header: ContentsHeader { stored_size, ..contents.header.clone() },
                stored: stored.clone(),
            };
            let same = match (kept.entries(), contents.entries()) {
                (Ok(kept), Ok(new)) => kept == new,
                _ => false,
            };
            if same {
                *contents = kept;
            }
        }
    }
    info.lay_out();
}
