//! The fields of a cubin's ELF header, tables and sections.

use super::{Fields, gap, part, unknown};
use crate::cubin::Cubin;
use crate::elf::{Class, Elf, FileType, Section, SectionType, SegmentType};
use crate::info::{self, Format, Record};
use crate::relocation::{RelocationType, Relocations};
use crate::symbol::{Binding, Symbol, SymbolType, Symbols};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::ops::Range;
use unshade_core::{Escaped, Field, OutlineSink, Reader, Value};

/// The ELF header.
pub(super) fn header(cubin: &Cubin<'_>, sink: &mut dyn OutlineSink) {
    let elf = cubin.elf();
    let header = elf.header();
    let base = elf.file().base();
    let size = u64::from(elf.class().sizes().header);
    let word = elf.class().word();
    let mut fields = Fields::of(part(elf.file(), &(base..base.saturating_add(size))), "ELF header", "", sink);
    fields.bytes("magic", 4);
    fields.number("class", 1, if elf.class() == Class::Elf64 { "64-bit" } else { "32-bit" });
    fields.number("byte order", 1, "");
    fields.number("ELF version", 1, "");
    fields.number("OS ABI", 1, "");
    fields.number("ABI version", 1, "");
    fields.bytes("padding", 7);
    fields.number("type", 2, &format!("{}", FileType(header.file_type.0)));
    fields.number("machine", 2, "NVIDIA CUDA");
    let toolkit = cubin.toolkit().filter(|_| !cubin.is_abi_8());
    let toolkit =
        toolkit.map_or_else(String::new, |toolkit| format!("toolkit {}.{}", toolkit / 10, toolkit % 10));
    fields.number("version", 4, &toolkit);
    fields.number("entry point", word, "");
    fields.number("segment table", word, "");
    fields.number("section table", word, "");
    fields.number("flags", 4, &cubin.target());
    fields.number("header size", 2, "");
    fields.number("segment entry size", 2, "");
    fields.number("number of segments", 2, "");
    fields.number("section entry size", 2, "");
    fields.number("number of sections", 2, "");
    fields.number("section of names", 2, "");
    fields.close();
}

/// Names and sizes of the fields of a table entry; size 0 is that of an address.
type Layout = &'static [(&'static str, u64)];

const SECTION: Layout = &[
    ("name offset", 4),
    ("type", 4),
    ("flags", 0),
    ("address", 0),
    ("offset", 0),
    ("size", 0),
    ("link", 4),
    ("info", 4),
    ("alignment", 0),
    ("entry size", 0),
];

const SEGMENT_64: Layout = &[
    ("type", 4),
    ("flags", 4),
    ("offset", 0),
    ("virtual address", 0),
    ("physical address", 0),
    ("size in the file", 0),
    ("size in memory", 0),
    ("alignment", 0),
];

const SEGMENT_32: Layout = &[
    ("type", 4),
    ("offset", 0),
    ("virtual address", 0),
    ("physical address", 0),
    ("size in the file", 0),
    ("size in memory", 0),
    ("flags", 4),
    ("alignment", 0),
];

const SYMBOL_64: Layout =
    &[("name offset", 4), ("info", 1), ("other", 1), ("section", 2), ("value", 8), ("size", 8)];

const SYMBOL_32: Layout =
    &[("name offset", 4), ("value", 4), ("size", 4), ("info", 1), ("other", 1), ("section", 2)];

fn entry(
    data: Reader<'_>,
    name: String,
    layout: Layout,
    class: Class,
    meaning: &dyn Fn(&str) -> String,
    sink: &mut dyn OutlineSink,
) {
    let mut fields = Fields::of(data, name, &meaning(""), sink);
    for (name, size) in layout {
        fields.number(name, if *size == 0 { class.word() } else { *size }, &meaning(name));
    }
    fields.close();
}

/// The section table.
pub(super) fn section_table(elf: &Elf<'_>, range: Range<u64>, sink: &mut dyn OutlineSink) {
    let data = part(elf.file(), &range);
    sink.open(Field::group("section table", range.clone()));
    let mut at = range.start;
    for section in elf.sections() {
        let (start, end) = section.header_range;
        if end > range.end {
            break;
        }
        let meaning = |field: &str| match field {
            "" => Escaped(section.name).to_cow().into_owned(),
            "type" => format!("{}", section.kind),
            _ => String::new(),
        };
        let name = format!("section {}", section.index);
        entry(part(data, &(start..end)), name, SECTION, elf.class(), &meaning, sink);
        at = end;
    }
    gap(data, at..range.end, sink);
    sink.close();
}

/// The segment table.
pub(super) fn segment_table(elf: &Elf<'_>, range: Range<u64>, sink: &mut dyn OutlineSink) {
    let data = part(elf.file(), &range);
    let size = u64::from(elf.class().sizes().segment);
    let layout = if elf.class() == Class::Elf64 { SEGMENT_64 } else { SEGMENT_32 };
    sink.open(Field::group("segment table", range.clone()));
    let mut at = range.start;
    for (index, segment) in elf.segments().enumerate() {
        let end = at.saturating_add(size);
        if end > range.end {
            break;
        }
        let meaning = |field: &str| match field {
            "" => format!("{}", SegmentType(segment.kind.0)),
            _ => String::new(),
        };
        entry(part(data, &(at..end)), format!("segment {index}"), layout, elf.class(), &meaning, sink);
        at = end;
    }
    gap(data, at..range.end, sink);
    sink.close();
}

/// A section with its contents.
pub(super) fn section(
    elf: &Elf<'_>,
    section: &Section<'_>,
    data: Reader<'_>,
    name: Cow<'_, str>,
    meaning: String,
    sink: &mut dyn OutlineSink,
) {
    let field = Field::group(name.into_owned(), data.range()).meaning(meaning);
    match section.kind {
        SectionType::STRTAB => in_group(field, sink, |sink| strings(data, sink)),
        SectionType::SYMTAB | SectionType::CUDA_MERCURY_SYMTAB => {
            in_group(field, sink, |sink| symbols(elf, section, data, sink));
        }
        SectionType::CUDA_INFO | SectionType::CUDA_MERCURY_INFO => {
            in_group(field, sink, |sink| records(info::records(data), data, AttributeNames::Info, sink));
        }
        SectionType::CUDA_COMPAT_INFO => {
            in_group(field, sink, |sink| {
                records(info::records(data), data, AttributeNames::Compatibility, sink);
            });
        }
        SectionType::NOTE => in_group(field, sink, |sink| notes(data, sink)),
        SectionType::CUDA_CALLGRAPH | SectionType::CUDA_MERCURY_CALLGRAPH => {
            in_group(field, sink, |sink| call_graph(data, sink));
        }
        _ if section.is_relocations() || section.kind == SectionType::CUDA_MERCURY_RELA => {
            in_group(field, sink, |sink| relocations(elf, section, data, sink));
        }
        _ => sink.leaf(Field { value: Value::Bytes(data.data()), ..field }),
    }
}

fn in_group(field: Field<'_>, sink: &mut dyn OutlineSink, inside: impl FnOnce(&mut dyn OutlineSink)) {
    sink.open(field);
    inside(sink);
    sink.close();
}

fn strings(mut data: Reader<'_>, sink: &mut dyn OutlineSink) {
    while !data.is_empty() {
        let start = data.offset();
        match data.c_string() {
            Ok(text) => sink.leaf(Field::new("text", Value::Text(text), start..data.offset())),
            Err(error) => return unknown(data, start..data.range().end, &format!("{error}"), sink),
        }
    }
}

fn symbols(elf: &Elf<'_>, section: &Section<'_>, data: Reader<'_>, sink: &mut dyn OutlineSink) {
    let layout = if elf.class() == Class::Elf64 { SYMBOL_64 } else { SYMBOL_32 };
    let mut at = data.base();
    for symbol in Symbols::new(elf, section).iter() {
        let (start, end) = symbol.range;
        if end > data.range().end {
            break;
        }
        let meaning = |field: &str| symbol_meaning(&symbol, field);
        entry(
            part(data, &(start..end)),
            format!("symbol {}", symbol.index),
            layout,
            elf.class(),
            &meaning,
            sink,
        );
        at = end;
    }
    gap(data, at..data.range().end, sink);
}

fn symbol_meaning(symbol: &Symbol<'_>, field: &str) -> String {
    match field {
        "" => Escaped(symbol.name).to_cow().into_owned(),
        "info" => format!("{}, {}", SymbolType(symbol.kind.0), Binding(symbol.binding.0)),
        "other" if symbol.is_kernel() => "entry".into(),
        "other" => symbol.memory().unwrap_or_default().into(),
        _ => String::new(),
    }
}

fn relocations(elf: &Elf<'_>, section: &Section<'_>, data: Reader<'_>, sink: &mut dyn OutlineSink) {
    let Ok(Some(table)) = Relocations::of(elf, section) else {
        return unknown(data, data.range(), "truncated relocations", sink);
    };
    let is_mercury = section.kind == SectionType::CUDA_MERCURY_RELA;
    let symbols = if is_mercury { elf.mercury_symbols() } else { elf.symbols() };
    let word = elf.class().word();
    let mut at = data.base();
    for (index, relocation) in table.iter().enumerate() {
        let (start, end) = relocation.range;
        if end > data.range().end {
            break;
        }
        let name =
            symbols.and_then(|symbols| symbols.get(relocation.symbol)).map_or(&b""[..], |found| found.name);
        let meaning = format!("{} {}", RelocationType(relocation.kind.0), Escaped(name));
        let mut fields = Fields::of(part(data, &(start..end)), format!("relocation {index}"), &meaning, sink);
        fields.number("offset", word, "");
        match elf.class() {
            Class::Elf64 => {
                fields.number("type", 4, "");
                fields.number("symbol", 4, "");
            }
            Class::Elf32 => {
                fields.number("type", 1, "");
                fields.number("symbol", 3, "");
            }
        }
        if fields.at() < end {
            fields.number("addend", word, "");
        }
        fields.close();
        at = end;
    }
    gap(data, at..data.range().end, sink);
}

/// The attribute names to use for records.
#[derive(Clone, Copy)]
pub(super) enum AttributeNames {
    /// `.nv.info`.
    Info,
    /// `.nv.compat`.
    Compatibility,
}

impl AttributeNames {
    fn name(self, record: &Record<'_>) -> String {
        match self {
            Self::Info => format!("{}", record.attribute),
            Self::Compatibility => format!("{}", record.compatibility()),
        }
    }
}

/// Emits records; what follows an invalid record is reported as unknown.
pub(super) fn records(
    records: info::Records<'_>,
    data: Reader<'_>,
    names: AttributeNames,
    sink: &mut dyn OutlineSink,
) {
    let mut at = data.base();
    for record in records {
        let record = match record {
            Ok(record) => record,
            Err(error) => return unknown(data, at..data.range().end, &format!("{error}"), sink),
        };
        let (start, end) = record.range;
        let value = record.value_text();
        let mut fields = Fields::of(part(data, &(start..end)), names.name(&record), &value, sink);
        fields.number("format", 1, &format!("{}", record.format));
        fields.number("attribute", 1, "");
        fields.number(if record.format == Format::SIZED { "size" } else { "value" }, 2, "");
        if record.format == Format::SIZED {
            fields.bytes("value", record.data.data().len() as u64);
        }
        fields.close();
        at = end;
    }
    gap(data, at..data.range().end, sink);
}

fn notes(mut data: Reader<'_>, sink: &mut dyn OutlineSink) {
    while data.remaining() >= 12 {
        let start = data.offset();
        let mut head = data;
        let sizes = (head.u32().unwrap_or(0), head.u32().unwrap_or(0));
        let padded = |size: u32| u64::from(size).checked_next_multiple_of(4).unwrap_or(u64::MAX);
        let size = padded(sizes.0).saturating_add(padded(sizes.1)).saturating_add(12);
        let Ok(note) = data.split(size.min(data.remaining() as u64)) else { return };
        let mut fields = Fields::of(note, "note", "", sink);
        fields.number("name size", 4, "");
        fields.number("size", 4, "");
        fields.number("type", 4, "");
        fields.text("name", padded(sizes.0));
        fields.bytes("description", padded(sizes.1).min(size));
        fields.close();
        if data.offset() <= start {
            break;
        }
    }
    gap(data, data.offset()..data.range().end, sink);
}

/// Pairs of symbol indices, caller and callee. A negative callee is a kind of indirect call.
fn call_graph(mut data: Reader<'_>, sink: &mut dyn OutlineSink) {
    let mut index = 0_u32;
    while data.remaining() >= 8 {
        let Ok(pair) = data.split(8) else { return };
        let mut fields = Fields::of(pair, format!("call {index}"), "", sink);
        fields.number("caller", 4, "");
        fields.number("callee", 4, "");
        fields.close();
        index = index.saturating_add(1);
    }
    gap(data, data.offset()..data.range().end, sink);
}
