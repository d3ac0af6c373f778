//! Outlines: the meaning of every byte of a fat binary, a cubin or PTX.
//!
//! [`fatbin`] and [`cubin`] walk in file order and cover every byte. A cubin's pieces are sorted by offset,
//! whatever the order of its section table: header, sections, tables, and between them padding or unreferenced
//! bytes. Sections with identical ranges, as toolkit 13 produces them, are shown once with both names.

mod sections;

use crate::cubin::Cubin;
use crate::elf::{Elf, Section};
use crate::fatbin::{Entry, EntryKind, Fatbin};
use crate::info::records;
use crate::ptx::Ptx;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Escaped, Field, OutlineSink, Reader, Value};

/// Emits the outline of a fat binary, covering every byte in file order.
pub fn fatbin(fatbin: &Fatbin<'_>, sink: &mut dyn OutlineSink) {
    let file = fatbin.file();
    let payload = fatbin.payload();
    let mut fields = Fields::of(
        part(file, &(file.range().start..payload.base().min(file.range().end))),
        "header",
        "",
        sink,
    );
    fields.number("magic", 4, "CUDA fat binary");
    fields.number("version", 2, "");
    fields.number("header size", 2, "");
    fields.number("size of the entries", 8, "");
    fields.close();
    let mut at = payload.base();
    for entry in fatbin.entries() {
        match entry {
            Ok(found) => {
                entry_outline(&found, sink);
                at = found.payload.range().end;
            }
            Err(error) => {
                unknown(payload, at..payload.range().end, &format!("{error}"), sink);
                at = payload.range().end;
            }
        }
    }
    gap(file, at..file.range().end, sink);
}

fn entry_outline(entry: &Entry<'_>, sink: &mut dyn OutlineSink) {
    let range = entry.offset()..entry.payload.range().end;
    let what = format!("{} for {}", entry.kind, entry.target());
    sink.open(Field::group(format!("entry {}", entry.index), range).meaning(what));
    entry_header(entry, sink);
    let payload = entry.payload;
    sink.open(Field::group("payload", payload.range()).meaning(match entry.compression() {
        crate::compression::Compression::None => String::new(),
        compression => format!("{compression}, unpacks to {} bytes", entry.unpacked_size),
    }));
    let packed = entry.packed();
    match (entry.compression(), entry.kind) {
        (crate::compression::Compression::None, EntryKind::ELF) => match Cubin::read(payload) {
            Ok(found) => cubin(&found, sink),
            Err(error) => unknown(payload, payload.range(), &format!("{error}"), sink),
        },
        (crate::compression::Compression::None, EntryKind::PTX) => ptx(&Ptx::new(payload), sink),
        _ => {
            sink.leaf(Field::new("packed", Value::Bytes(packed.data()), packed.range()));
            gap(payload, packed.range().end..payload.range().end, sink);
        }
    }
    sink.close();
    sink.close();
}

fn entry_header(entry: &Entry<'_>, sink: &mut dyn OutlineSink) {
    let header = entry.header;
    let mut fields = Fields::of(header, "header", "", sink);
    fields.number("kind", 2, &format!("{}", entry.kind));
    fields.number("version", 2, "");
    fields.number("header size", 4, "");
    fields.number("padded size", 8, "");
    fields.number("packed size", 4, "");
    fields.number("options offset", 4, "");
    fields.number("minor version", 2, "");
    fields.number("major version", 2, "");
    fields.number("chip", 4, &entry.target());
    fields.number("name offset", 4, "");
    fields.number("name size", 4, "");
    let names: Vec<Cow<'static, str>> = entry.flags.names().collect();
    fields.number("flags", 8, &names.join(", "));
    fields.number("reserved", 8, "");
    fields.number("unpacked size", 8, "");
    let mut extra: Vec<Piece<'_>> = Vec::new();
    if let Some(name) = entry.name() {
        let start = header.base().saturating_add(u64::from(entry.name_offset));
        extra.push(Piece::new(start..start.saturating_add(name.len() as u64), Content::Text("name")));
    }
    let pair = header.base().saturating_add(u64::from(entry.options_offset));
    if entry.options_offset != 0 {
        extra.push(Piece::new(pair..pair.saturating_add(8), Content::OptionsLocation));
    }
    if let Ok(Some(options)) = entry.options() {
        let is_records = entry.flags.has(crate::fatbin::Flags::COMPATIBILITY);
        let content = if is_records { Content::Compatibility } else { Content::Text("options") };
        extra.push(Piece::new(options.range(), content));
    }
    let at = fields.at();
    // Bytes of the header between name and options are gaps that `emit_pieces` reports, so the group is closed
    // here without `Fields::close`.
    let Fields { sink, .. } = fields;
    emit_pieces(header, at..header.range().end, extra, None, sink);
    sink.close();
}

/// Emits the outline of PTX: its text, and the NULs that follow.
pub fn ptx(ptx: &Ptx<'_>, sink: &mut dyn OutlineSink) {
    let file = ptx.file();
    let end = file.base().saturating_add(ptx.text().len() as u64);
    if !ptx.text().is_empty() {
        let mut words = String::new();
        for (word, value) in [("PTX ", ptx.version()), (" for ", ptx.target())] {
            if let Some(value) = value {
                words.push_str(word);
                words.push_str(&Escaped(value).to_cow());
            }
        }
        sink.leaf(Field::new("text", Value::Bytes(ptx.text()), file.base()..end).meaning(words));
    }
    gap(file, end..file.range().end, sink);
}

/// Emits the outline of a cubin, covering every byte in file order.
pub fn cubin(cubin: &Cubin<'_>, sink: &mut dyn OutlineSink) {
    let elf = cubin.elf();
    let file = elf.file();
    let header_size = u64::from(elf.class().sizes().header);
    sections::header(cubin, sink);
    let mut pieces = Vec::new();
    for (range, content) in
        [(elf.section_table(), Content::SectionTable), (elf.segment_table(), Content::SegmentTable)]
    {
        pieces.push(Piece::new(range, content));
    }
    for section in elf.sections().filter(Section::has_bytes) {
        let start = file.base().saturating_add(section.offset);
        pieces.push(Piece::new(start..start.saturating_add(section.size), Content::Section(section)));
    }
    let start = file.base().saturating_add(header_size).min(file.range().end);
    emit_pieces(file, start..file.range().end, pieces, Some(elf), sink);
}

/// What a range of bytes holds.
#[derive(Clone, Copy)]
enum Content<'a> {
    Text(&'static str),
    OptionsLocation,
    Compatibility,
    SectionTable,
    SegmentTable,
    Section(Section<'a>),
}

struct Piece<'a> {
    range: Range<u64>,
    content: Content<'a>,
}

impl<'a> Piece<'a> {
    fn new(range: Range<u64>, content: Content<'a>) -> Self {
        Self { range, content }
    }

    fn name(&self) -> Cow<'a, str> {
        match &self.content {
            Content::Text(name) => Cow::Borrowed(name),
            Content::OptionsLocation => "location of the options".into(),
            Content::Compatibility => "compatibility records".into(),
            Content::SectionTable => "section table".into(),
            Content::SegmentTable => "segment table".into(),
            Content::Section(section) if section.name.is_empty() => {
                format!("section {}", section.index).into()
            }
            Content::Section(section) => Escaped(section.name).to_cow(),
        }
    }
}

/// Emits pieces in file order, and the gaps between them.
fn emit_pieces(
    file: Reader<'_>,
    range: Range<u64>,
    mut pieces: Vec<Piece<'_>>,
    elf: Option<&Elf<'_>>,
    sink: &mut dyn OutlineSink,
) {
    pieces.sort_by_key(|piece| (piece.range.start, core::cmp::Reverse(piece.range.end)));
    let mut at = range.start;
    let mut pieces = pieces.into_iter().peekable();
    while let Some(piece) = pieces.next() {
        let Range { start, end } = piece.range;
        let end = end.min(range.end);
        if start >= end || end <= at {
            continue;
        }
        if start < at {
            let meaning = format!("{} overlaps the preceding piece", piece.name());
            unknown(file, at..end, &meaning, sink);
            at = end;
            continue;
        }
        gap(file, at..start, sink);
        let mut aliases = String::new();
        while let Some(alias) = pieces.next_if(|next| next.range == piece.range) {
            if aliases.len() < MAX_ALIASES {
                aliases.push_str(if aliases.is_empty() { "also " } else { ", " });
                aliases.push_str(&alias.name());
            }
        }
        emit_piece(file, &piece, start..end, aliases, elf, sink);
        at = end;
    }
    gap(file, at..range.end, sink);
}

/// The maximum length of the list of further names of one range.
const MAX_ALIASES: usize = 1_000;

fn emit_piece(
    file: Reader<'_>,
    piece: &Piece<'_>,
    range: Range<u64>,
    aliases: String,
    elf: Option<&Elf<'_>>,
    sink: &mut dyn OutlineSink,
) {
    let data = part(file, &range);
    let name = piece.name();
    match (&piece.content, elf) {
        (Content::Text(_), _) => sink.leaf(Field::new(name, Value::Text(data.data()), range)),
        (Content::OptionsLocation, _) => {
            let mut fields = Fields::of(data, name.into_owned(), "", sink);
            fields.number("offset", 4, "");
            fields.number("size", 4, "");
            fields.close();
        }
        (Content::Compatibility, _) => {
            sink.open(Field::group(name, range));
            sections::records(records(data), data, sections::AttributeNames::Compatibility, sink);
            sink.close();
        }
        (Content::SectionTable, Some(elf)) => sections::section_table(elf, range, sink),
        (Content::SegmentTable, Some(elf)) => sections::segment_table(elf, range, sink),
        (Content::Section(section), Some(elf)) => {
            let mut meaning = format!("{}", section.kind);
            if !aliases.is_empty() {
                meaning.push_str("; ");
                meaning.push_str(&aliases);
            }
            sections::section(elf, section, data, name, meaning, sink);
        }
        _ => sink.leaf(Field::new(name, Value::Bytes(data.data()), range)),
    }
}

/// A group of consecutive fields, read one after the other.
struct Fields<'a, 's> {
    rest: Reader<'a>,
    end: u64,
    sink: &'s mut dyn OutlineSink,
}

impl<'a, 's> Fields<'a, 's> {
    fn of(
        data: Reader<'a>,
        name: impl Into<Cow<'a, str>>,
        meaning: &str,
        sink: &'s mut dyn OutlineSink,
    ) -> Self {
        let range = data.range();
        sink.open(Field::group(name, range.clone()).meaning(String::from(meaning)));
        Self { rest: data, end: range.end, sink }
    }

    fn at(&self) -> u64 {
        self.rest.offset()
    }

    /// A little-endian number of `size` bytes. Truncated fields are left to [`Fields::close`].
    fn number(&mut self, name: &str, size: u64, meaning: &str) {
        let start = self.rest.offset();
        let Ok(bytes) = self.rest.bytes_u64(size) else { return };
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = *from;
        }
        let number = u64::from_le_bytes(word);
        let range = start..self.rest.offset();
        let value = if number < 10 { Value::Number(number) } else { Value::Hex(number) };
        self.sink.leaf(Field::new(name, value, range).meaning(String::from(meaning)));
    }

    fn bytes(&mut self, name: &str, size: u64) {
        let start = self.rest.offset();
        let Ok(bytes) = self.rest.bytes_u64(size) else { return };
        self.sink.leaf(Field::new(name, Value::Bytes(bytes), start..self.rest.offset()));
    }

    fn text(&mut self, name: &str, size: u64) {
        let start = self.rest.offset();
        let Ok(bytes) = self.rest.bytes_u64(size) else { return };
        let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
        self.sink.leaf(Field::new(name, Value::Text(text), start..self.rest.offset()));
    }

    /// Ends the group; remaining bytes are reported as padding or unknown.
    fn close(self) {
        gap(self.rest, self.rest.offset()..self.end, self.sink);
        self.sink.close();
    }
}

/// Reports bytes that no structure refers to.
fn gap(file: Reader<'_>, range: Range<u64>, sink: &mut dyn OutlineSink) {
    if range.start >= range.end {
        return;
    }
    let bytes = part(file, &range).data();
    if bytes.iter().all(|byte| *byte == 0) {
        sink.leaf(Field::new("padding", Value::Bytes(bytes), range));
    } else {
        unknown(file, range, "not referenced by any structure", sink);
    }
}

fn unknown(file: Reader<'_>, range: Range<u64>, why: &str, sink: &mut dyn OutlineSink) {
    if range.start < range.end {
        let bytes = part(file, &range).data();
        sink.leaf(Field::new(UNKNOWN, Value::Bytes(bytes), range).meaning(String::from(why)));
    }
}

/// Returns the bytes of a range; empty if it is outside the file.
fn part<'a>(file: Reader<'a>, range: &Range<u64>) -> Reader<'a> {
    let size = range.end.saturating_sub(range.start);
    let part = file.part(range.start.saturating_sub(file.base()), size);
    part.unwrap_or(Reader::at(&[], range.start))
}
