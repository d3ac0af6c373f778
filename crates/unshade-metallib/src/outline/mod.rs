//! The meaning of every byte of a library.
//!
//! [`library`] walks the file in file order: regions follow each other without a gap, bytes outside all regions are
//! named [`UNKNOWN`], and so is the rest of a region after a fault. If two regions overlap, the one that starts later
//! is truncated and shown as unknown. The walk only stores an index of the functions, so the outline of a large
//! library is streamed.

mod fields;
mod sections;
mod tags;
mod universal;

pub use universal::universal;

use crate::header::HEADER_SIZE;
use crate::header_extension::section_name;
use crate::library::Library;
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use fields::Fields;
use tags::{private_tag, public_tag, tag_meaning};
use unshade_core::outline::UNKNOWN;
use unshade_core::{Field, OutlineSink, Reader, Value};

/// Emits the outline of a library: every byte, in file order.
pub fn library(library: &Library<'_>, sink: &mut dyn OutlineSink) {
    let file = library.file();
    let end = file.range().end;
    let mut at = file.base();
    for region in regions(library) {
        let range = region.range.start.max(file.base())..region.range.end.min(end);
        // Beyond the end of the file, or inside a preceding region.
        if range.is_empty() || range.end <= at {
            continue;
        }
        if range.start > at {
            emit_gap(&file, at..range.start, sink);
        }
        if range.start < at {
            emit_unknown(&file, at..range.end, "overlaps the preceding region", sink);
        } else {
            region.emit(library, range.clone(), sink);
        }
        at = range.end;
    }
    emit_gap(&file, at..end, sink);
}

/// A range of bytes with a single emitter.
struct Region {
    range: Range<u64>,
    kind: RegionKind,
}

#[derive(Clone, Copy)]
enum RegionKind {
    Header,
    FunctionList,
    HeaderExtension,
    PublicMetadata,
    PrivateMetadata,
    Bitcode,
    /// A section of the header extension.
    Named([u8; 4]),
}

/// Returns the regions of a library, sorted by start.
fn regions(library: &Library<'_>) -> Vec<Region> {
    let base = library.file().base();
    let header = library.header();
    let mut regions: Vec<Region> = Vec::with_capacity(16);
    let mut add = |range: Range<u64>, kind| {
        if range.start < range.end {
            regions.push(Region {
                range: base.saturating_add(range.start)..base.saturating_add(range.end),
                kind,
            });
        }
    };
    add(0..HEADER_SIZE, RegionKind::Header);
    add(header.function_list_range(), RegionKind::FunctionList);
    add(header.public_metadata.range(), RegionKind::PublicMetadata);
    add(header.private_metadata.range(), RegionKind::PrivateMetadata);
    add(header.bitcode.range(), RegionKind::Bitcode);
    if let Some(extension) = library.extension() {
        let start = header.function_list_range().end;
        add(start..header.public_metadata.offset, RegionKind::HeaderExtension);
        for (code, section) in extension.sections() {
            add(section.range(), RegionKind::Named(code.0));
        }
    }
    regions.sort_by_key(|region| region.range.start);
    regions
}

impl Region {
    fn emit(&self, library: &Library<'_>, range: Range<u64>, sink: &mut dyn OutlineSink) {
        let size = range.end.saturating_sub(range.start);
        let Ok(reader) = library.file().part(range.start.saturating_sub(library.file().base()), size) else {
            return;
        };
        let mut fields = Fields { reader, sink };
        let (name, meaning): (Cow<'_, str>, _) = match self.kind {
            RegionKind::Header => ("header".into(), ""),
            RegionKind::FunctionList => ("function list".into(), ""),
            RegionKind::HeaderExtension => ("header extension".into(), ""),
            RegionKind::PublicMetadata => ("public metadata".into(), ""),
            RegionKind::PrivateMetadata => ("private metadata".into(), ""),
            RegionKind::Bitcode => ("bitcode".into(), ""),
            RegionKind::Named(code) => (
                format!("{}", code.escape_ascii()).into(),
                section_name(unshade_core::FourCc(code)).unwrap_or_default(),
            ),
        };
        fields.sink.open(Field::group(name, range.clone()).meaning(meaning));
        if !fields.sink.wants_inside() {
            return fields.sink.close();
        }
        let result = match self.kind {
            RegionKind::Header => fields.header(),
            RegionKind::FunctionList => fields.function_list(library),
            RegionKind::HeaderExtension => fields.tags(tag_meaning),
            RegionKind::PublicMetadata => {
                let functions =
                    functions_by_offset(library, |function| Some(function.offsets?.public_metadata));
                fields.groups(&functions, public_tag)
            }
            RegionKind::PrivateMetadata => {
                let functions =
                    functions_by_offset(library, |function| Some(function.offsets?.private_metadata));
                fields.groups(&functions, private_tag)
            }
            RegionKind::Bitcode => fields.modules(library),
            RegionKind::Named(code) => match &code {
                b"HSRC" => fields.sources(false),
                b"HSRD" => fields.sources(true),
                b"RLST" => fields.list(&functions_by_offset(library, |function| function.reflection_offset)),
                b"ILST" | b"VLST" | b"SLST" => fields.list(&BTreeMap::new()),
                _ => fields.tags(tag_meaning),
            },
        };
        fields.finish(result, range.end);
    }
}

/// Returns a map from offsets in a section to the functions that they belong to; to the first if several share one.
fn functions_by_offset(
    library: &Library<'_>,
    offset: impl Fn(&crate::Function<'_>) -> Option<u64>,
) -> BTreeMap<u64, u32> {
    let mut functions = BTreeMap::new();
    for function in library.functions().map_while(Result::ok) {
        if let Some(offset) = offset(&function) {
            functions.entry(offset).or_insert(function.index);
        }
    }
    functions
}

/// Emits bytes between two parts: zeros are padding, other bytes are unknown.
fn emit_gap(within: &Reader<'_>, range: Range<u64>, sink: &mut dyn OutlineSink) {
    if range.start >= range.end {
        return;
    }
    let bytes = slice(within, &range);
    if bytes.iter().all(|byte| *byte == 0) {
        let size = range.end.saturating_sub(range.start);
        sink.leaf(Field::group("padding", range).meaning(format!("{size} zero bytes")));
    } else {
        sink.leaf(Field::new(UNKNOWN, Value::Bytes(bytes), range));
    }
}

fn emit_unknown(within: &Reader<'_>, range: Range<u64>, why: &str, sink: &mut dyn OutlineSink) {
    if range.start < range.end {
        let bytes = slice(within, &range);
        sink.leaf(Field::new(UNKNOWN, Value::Bytes(bytes), range).meaning(why));
    }
}

fn slice<'a>(within: &Reader<'a>, range: &Range<u64>) -> &'a [u8] {
    let size = range.end.saturating_sub(range.start);
    within.part(range.start.saturating_sub(within.base()), size).map_or(&[], |part| part.data())
}
