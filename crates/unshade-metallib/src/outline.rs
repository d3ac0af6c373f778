//! What stands at which byte of a library.
//!
//! [`library`] walks the whole file in file order: regions follow each other without a gap, bytes that nothing claims
//! are named [`UNKNOWN`], and where a part can't be read the rest of its region is. Of two regions that overlap, the
//! one that starts later is cut and shown as unknown. The walk keeps an index of the functions and nothing else, so
//! that the outline of a large library streams.

use crate::data_type::DataType;
use crate::function_list::{FunctionType, Functions, ShortVersion, Tessellation};
use crate::gpu_object::{CommandKind, GpuObject, NoteRecords};
use crate::header::{HEADER_SIZE, Header, Section, Version};
use crate::header_extension::section_name;
use crate::library::Library;
use crate::lists::{Group, Groups};
use crate::metadata::AttributeUse;
use crate::module::{Module, WRAPPER_SIZE};
use crate::tag::{Tag, Tags};
use crate::universal::{CpuType, SliceContent, Universal};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Diagnostics, Escaped, Field, OutlineSink, Reader, Result, Value};

/// Emits the outline of a library: every byte, in file order.
pub fn library(library: &Library<'_>, sink: &mut dyn OutlineSink) {
    let file = library.file();
    let end = file.range().end;
    let mut at = file.base();
    for region in regions(library) {
        let range = region.range.start.max(file.base())..region.range.end.min(end);
        // Past the end of the file, or inside of what stands before it.
        if range.is_empty() || range.end <= at {
            continue;
        }
        if range.start > at {
            gap(&file, at..range.start, sink);
        }
        if range.start < at {
            unknown(&file, at..range.end, "overlaps what stands before it", sink);
        } else {
            region.emit(library, range.clone(), sink);
        }
        at = range.end;
    }
    gap(&file, at..end, sink);
}

/// Emits the outline of a universal file: every byte, in file order.
pub fn universal(universal: &Universal<'_>, sink: &mut dyn OutlineSink) {
    let file = universal.file();
    let end = file.range().end;
    let mut fields = Fields { reader: file, sink };
    let mut slices: Vec<_> = universal.slices().map_while(Result::ok).collect();
    let header_end = slices.last().map_or(file.base().saturating_add(8), |slice| slice.row.end).min(end);
    fields.sink.open(Field::group("universal header", file.base()..header_end));
    let header = fields.universal_header(&slices.iter().map(|slice| slice.row.end).collect::<Vec<_>>());
    fields.finish(header, header_end);
    slices.sort_by_key(|slice| slice.data.as_ref().map_or(u64::MAX, Reader::base));
    let mut at = header_end;
    for slice in &slices {
        let Ok(data) = &slice.data else { continue };
        let range = data.range();
        if range.start < at {
            if range.end > at {
                unknown(&file, at..range.end, "overlaps what stands before it", sink);
                at = range.end;
            }
            continue;
        }
        gap(&file, at..range.start, sink);
        let name = format!("slice {}", slice.cpu_type);
        sink.open(Field::group(name, range.clone()));
        match slice.content() {
            Ok(SliceContent::Library(inner)) => library(&inner, sink),
            Ok(SliceContent::GpuObject(object)) => gpu_object(&object, sink),
            Ok(SliceContent::Unknown(_)) => unknown(&file, range.clone(), "", sink),
            Err(error) => unknown(&file, range.clone(), &format!("{error}"), sink),
        }
        sink.close();
        at = range.end;
    }
    gap(&file, at..end, sink);
}

/// A run of bytes that one emitter attributes.
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
    /// A section that the extension names.
    Named([u8; 4]),
}

/// The regions of a library by their start.
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
        let result = match self.kind {
            RegionKind::Header => fields.header(),
            RegionKind::FunctionList => fields.function_list(library),
            RegionKind::HeaderExtension => fields.tags(tag_meaning),
            RegionKind::PublicMetadata => {
                let owners = owners(library, |function| Some(function.offsets?.public_metadata));
                fields.groups(&owners, public_tag)
            }
            RegionKind::PrivateMetadata => {
                let owners = owners(library, |function| Some(function.offsets?.private_metadata));
                fields.groups(&owners, private_tag)
            }
            RegionKind::Bitcode => fields.modules(library),
            RegionKind::Named(code) => match &code {
                b"HSRC" => fields.sources(false),
                b"HSRD" => fields.sources(true),
                b"ILST" | b"VLST" | b"RLST" | b"SLST" => fields.list(library),
                _ => fields.tags(tag_meaning),
            },
        };
        fields.finish(result, range.end);
    }
}

/// For each offset into a section the function that it belongs to; the first, where several share it.
fn owners(library: &Library<'_>, offset: impl Fn(&crate::Function<'_>) -> Option<u64>) -> BTreeMap<u64, u32> {
    let mut owners = BTreeMap::new();
    for function in library.functions().map_while(Result::ok) {
        if let Some(offset) = offset(&function) {
            owners.entry(offset).or_insert(function.index);
        }
    }
    owners
}

/// Emits fields one after the other, reading them as it goes.
struct Fields<'a, 's> {
    reader: Reader<'a>,
    sink: &'s mut dyn OutlineSink,
}

impl<'a> Fields<'a, '_> {
    /// Closes a region that was opened: what is left of it is unknown, and why.
    fn finish(&mut self, result: Result<()>, end: u64) {
        let at = self.reader.offset();
        if at < end {
            let rest = &self.reader;
            match result {
                Ok(()) => gap(rest, at..end, self.sink),
                Err(error) => unknown(rest, at..end, &format!("{error}"), self.sink),
            }
        }
        self.sink.close();
    }

    /// Reads with `read` and emits what it took as one field.
    fn field<T>(
        &mut self,
        name: impl Into<Cow<'a, str>>,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T>,
        show: impl FnOnce(&T) -> (Value<'a>, Cow<'a, str>),
    ) -> Result<T> {
        let start = self.reader.offset();
        let mut reader = self.reader;
        let value = read(&mut reader)?;
        self.reader = reader;
        let (shown, meaning) = show(&value);
        self.sink.leaf(Field::new(name, shown, start..reader.offset()).meaning(meaning));
        Ok(value)
    }

    fn u8(&mut self, name: &'static str, meaning: impl FnOnce(u8) -> String) -> Result<u8> {
        self.field(name, |r| r.u8(), |&v| (Value::Hex(v.into()), meaning(v).into()))
    }

    fn u16(&mut self, name: &'static str, meaning: impl FnOnce(u16) -> String) -> Result<u16> {
        self.field(name, |r| r.u16(), |&v| (Value::Number(v.into()), meaning(v).into()))
    }

    fn count(&mut self, name: &'static str) -> Result<u32> {
        self.field(name, |r| r.u32(), |&v| (Value::Number(v.into()), "".into()))
    }

    fn hex32(&mut self, name: &'static str) -> Result<u32> {
        self.field(name, |r| r.u32(), |&v| (Value::Hex(v.into()), "".into()))
    }

    fn hex64(&mut self, name: &'static str) -> Result<u64> {
        self.field(name, |r| r.u64(), |&v| (Value::Hex(v), "".into()))
    }

    fn c_string(&mut self, name: &'static str) -> Result<&'a [u8]> {
        self.field(name, |r| r.c_string(), |&v| (Value::Text(v), "".into()))
    }

    fn bytes(&mut self, name: &'static str, size: u64, meaning: &'static str) -> Result<&'a [u8]> {
        self.field(name, |r| r.bytes_u64(size), |&v| (Value::Bytes(v), meaning.into()))
    }

    fn section(&mut self, name: &'static str) -> Result<Section> {
        self.field(name, Section::read, |v| (Value::Hex(v.offset), format!("{:#x} bytes", v.size).into()))
    }

    fn header(&mut self) -> Result<()> {
        let header = Header::read(&mut self.reader.clone())?;
        self.field("magic", |r| r.fourcc(), |&v| (Value::FourCc(v), "".into()))?;
        self.field(
            "container version, major",
            |r| r.u16(),
            |&v| {
                let flag = if header.macos_flag() { ", macOS flag" } else { "" };
                (Value::Hex(v.into()), format!("version {}{flag}", header.version()).into())
            },
        )?;
        self.u16("container version, minor", |_| String::new())?;
        self.u16("container version, patch", |_| String::new())?;
        self.u8("library type", |_| {
            format!("{}{}", header.library_type(), if header.is_stub() { ", stub" } else { "" })
        })?;
        self.u8("platform", |_| {
            format!("{}{}", header.platform(), if header.is_64_bit() { ", 64-bit" } else { "" })
        })?;
        self.u16("OS version, major", |_| {
            header.os_version().map(|v: Version| format!("{v}")).unwrap_or_default()
        })?;
        self.u8("OS version, minor", |_| String::new())?;
        self.u8("OS version, patch", |_| String::new())?;
        self.field("file size", |r| r.u64(), |&v| (Value::Number(v), "".into()))?;
        for name in ["function list", "public metadata", "private metadata", "bitcode"] {
            self.section(name)?;
        }
        Ok(())
    }

    fn function_list(&mut self, library: &Library<'_>) -> Result<()> {
        let count = self.count("count")?;
        let mut functions: Functions<'_> = library.functions();
        for _ in 0..count {
            let function = match functions.next() {
                Some(Ok(function)) => function,
                Some(Err(error)) => return Err(error),
                None => break,
            };
            let end = function.range.end;
            let name = format!("function {}", function.index);
            let shown = function.name.map_or(Value::None, Value::Text);
            self.sink.open(Field::new(name, shown, function.range.clone()));
            // Writers that share one size among all functions have none before the later ones.
            let sized = function.tags().reader().offset() > function.range.start;
            self.part(end, |fields| {
                if sized {
                    fields.hex32("size")?;
                }
                fields.tags(tag_meaning)
            });
        }
        Ok(())
    }

    /// Emits the fields of a part that was opened and ends at `end`; they can't leave it. The reader goes on after it.
    fn part(&mut self, end: u64, emit: impl FnOnce(&mut Fields<'a, '_>) -> Result<()>) {
        let size = end.saturating_sub(self.reader.offset()).min(self.reader.remaining() as u64);
        if let Ok(reader) = self.reader.split(size) {
            let mut inner = Fields { reader, sink: &mut *self.sink };
            let result = emit(&mut inner);
            inner.finish(result, end);
        }
    }

    /// Emits tags up to ENDT, with the meaning of their content where it is a simple one.
    fn tags(&mut self, content: fn(&mut Fields<'a, '_>, &Tag<'a>) -> Result<()>) -> Result<()> {
        let mut tags = Tags::new(self.reader);
        while let Some(tag) = tags.next() {
            let tag = tag?;
            self.sink.open(Field::group(format!("{}", tag.code), tag.range.clone()));
            let header = tag.content.offset().saturating_sub(tag.range.start);
            let code = tag.range.start..tag.range.start.saturating_add(4);
            self.sink.leaf(Field::new("code", Value::FourCc(tag.code), code.clone()));
            let size = tag.content.data().len() as u64;
            let size_end = tag.range.start.saturating_add(header);
            self.sink.leaf(Field::new("size", Value::Number(size), code.end..size_end));
            let mut inner = Fields { reader: tag.content, sink: &mut *self.sink };
            let result = content(&mut inner, &tag);
            inner.finish(result, tag.range.end);
            self.reader = tags.reader();
        }
        let end = tags.reader().offset();
        self.sink.leaf(Field::new("ENDT", Value::None, self.reader.offset()..end));
        self.reader = tags.reader();
        Ok(())
    }

    /// Emits metadata groups up to the end of the section.
    fn groups(
        &mut self,
        owners: &BTreeMap<u64, u32>,
        content: fn(&mut Fields<'a, '_>, &Tag<'a>) -> Result<()>,
    ) -> Result<()> {
        let section = self.reader.base();
        while !self.reader.is_empty() {
            let start = self.reader.offset();
            let group = crate::metadata::MetadataGroup::read(&mut self.reader.clone())?;
            let name = match owners.get(&start.saturating_sub(section)) {
                Some(index) => format!("function {index}"),
                None => "group of no function".into(),
            };
            self.sink.open(Field::group(name, group.range.clone()));
            self.part(group.range.end, |fields| fields.hex32("size").and_then(|_| fields.tags(content)));
        }
        Ok(())
    }

    /// Emits modules by their offset; what lies between them is padding or unknown.
    fn modules(&mut self, library: &Library<'_>) -> Result<()> {
        let mut modules: Vec<(Range<u64>, u32)> = library
            .functions()
            .map_while(Result::ok)
            .filter_map(|function| Some((library.module(&function).ok()??.range(), function.index)))
            .collect();
        modules.sort_by_key(|(range, index)| (range.start, range.end, *index));
        modules.dedup_by_key(|(range, _)| range.clone());
        for (range, index) in modules {
            let at = self.reader.offset();
            if range.end <= at || range.end > self.reader.range().end {
                continue;
            }
            let start = range.start.max(at);
            gap(&self.reader, at..start, self.sink);
            self.reader.skip(start.saturating_sub(at))?;
            let size = range.end.saturating_sub(start);
            let data = self.reader.split(size)?;
            if range.start < start {
                unknown(&data, start..range.end, "module that overlaps the one before it", self.sink);
                continue;
            }
            self.sink.open(Field::group(format!("module of function {index}"), range.clone()));
            let mut inner = Fields { reader: data, sink: &mut *self.sink };
            let result = Module::sized(&data, 0, size).and_then(|module| inner.module(&module));
            inner.finish(result, range.end);
        }
        Ok(())
    }

    fn module(&mut self, module: &Module<'_>) -> Result<()> {
        let wrapper = module.wrapper()?;
        for name in ["magic", "version", "offset", "size", "CPU type"] {
            self.hex32(name)?;
        }
        let gap_size = u64::from(wrapper.offset).checked_sub(WRAPPER_SIZE);
        if let Some(size) = gap_size.filter(|size| *size > 0) {
            self.bytes(UNKNOWN, size, "")?;
        }
        self.bytes("LLVM bitcode", u64::from(wrapper.size), "")?;
        Ok(())
    }

    fn sources(&mut self, has_directory: bool) -> Result<()> {
        let count = self.count("count")?;
        self.c_string("link command")?;
        if has_directory {
            self.c_string("working directory")?;
        }
        for index in 0..count {
            let start = self.reader.offset();
            let mut ahead = self.reader;
            ahead.skip(4)?;
            let mut walk = Tags::new(ahead);
            for tag in &mut walk {
                tag?;
            }
            let end = walk.reader().offset();
            self.sink.open(Field::group(format!("source archive {index}"), start..end));
            self.part(end, |fields| fields.hex32("size").and_then(|_| fields.tags(tag_meaning)));
        }
        Ok(())
    }

    /// Emits a counted list of groups.
    fn list(&mut self, library: &Library<'_>) -> Result<()> {
        let owners = owners(library, |function| function.reflection_offset);
        let section = self.reader.base();
        let mut groups = Groups::new(self.reader)?;
        self.count("count")?;
        for index in 0..groups.declared_count() {
            let Some(group) = groups.next() else { break };
            let group: Group<'_> = group?;
            let owner = owners.get(&group.range.start.saturating_sub(section));
            let meaning = owner.map(|function| format!("function {function}")).unwrap_or_default();
            let name = format!("group {index}");
            self.sink.open(Field::group(name, group.range.clone()).meaning(meaning));
            self.part(group.range.end, |fields| fields.hex32("size").and_then(|_| fields.tags(list_tag)));
        }
        Ok(())
    }

    fn universal_header(&mut self, row_ends: &[u64]) -> Result<()> {
        self.field("magic", |r| r.u32_be(), |&v| (Value::Hex(v.into()), "".into()))?;
        self.field("count", |r| r.u32_be(), |&v| (Value::Number(v.into()), "".into()))?;
        for (index, end) in row_ends.iter().enumerate() {
            self.sink.open(Field::group(format!("architecture {index}"), self.reader.offset()..*end));
            self.part(*end, |fields| fields.architecture());
        }
        Ok(())
    }

    fn architecture(&mut self) -> Result<()> {
        let meaning = |v: u32| format!("{}", CpuType(v)).into();
        self.field("CPU type", |r| r.u32_be(), |&v| (Value::Hex(v.into()), meaning(v)))?;
        for name in ["CPU subtype", "offset", "size"] {
            self.field(name, |r| r.u32_be(), |&v| (Value::Hex(v.into()), "".into()))?;
        }
        self.field("alignment", |r| r.u32_be(), |&v| (Value::Number(v.into()), "power of two".into()))?;
        Ok(())
    }

    fn load_commands(&mut self, object: &GpuObject<'a>) -> Result<()> {
        for name in [
            "magic",
            "CPU type",
            "CPU subtype",
            "file type",
            "command count",
            "commands size",
            "flags",
            "reserved",
        ] {
            self.hex32(name)?;
        }
        for command in object.commands() {
            let command = command?;
            let mut inner = Fields { reader: command.content, sink: &mut *self.sink };
            inner.sink.open(Field::group(format!("{}", command.kind), command.range.clone()));
            let head = command.range.start;
            let kind = Value::Hex(command.kind.0.into());
            let middle = head.saturating_add(4);
            inner.sink.leaf(Field::new("kind", kind, head..middle).meaning(format!("{}", command.kind)));
            let size = command.range.end.saturating_sub(head);
            inner.sink.leaf(Field::new("size", Value::Number(size), middle..command.content.offset()));
            let result = inner.load_command(command.kind);
            inner.finish(result, command.range.end);
            self.reader.skip(size)?;
        }
        Ok(())
    }

    fn load_command(&mut self, kind: CommandKind) -> Result<()> {
        match kind {
            CommandKind::SEGMENT_64 => {
                self.fixed_name("segment")?;
                for name in ["address", "memory size", "file offset", "file size"] {
                    self.hex64(name)?;
                }
                self.hex32("maximal protection")?;
                self.hex32("initial protection")?;
                let count = self.count("section count")?;
                self.hex32("flags")?;
                for _ in 0..count {
                    // Nothing bounds the count but the bytes that are there.
                    if self.reader.is_empty() {
                        break;
                    }
                    self.section_header();
                }
            }
            CommandKind::NOTE => {
                self.fixed_name("owner")?;
                self.hex64("offset")?;
                self.hex64("size")?;
            }
            CommandKind::UUID => {
                self.bytes("UUID", 16, "")?;
            }
            CommandKind::BUILD_VERSION => {
                for name in ["platform", "minimal OS", "SDK", "tool count"] {
                    self.hex32(name)?;
                }
            }
            _ => {}
        }
        let rest = self.reader.remaining() as u64;
        if rest > 0 {
            self.bytes("arguments", rest, "")?;
        }
        Ok(())
    }

    fn section_header(&mut self) {
        let start = self.reader.offset();
        let end = start.saturating_add(80).min(self.reader.range().end);
        self.sink.open(Field::group("section", start..end));
        self.part(end, |fields| {
            fields.fixed_name("section")?;
            fields.fixed_name("segment")?;
            fields.hex64("address")?;
            fields.hex64("size")?;
            for name in ["offset", "alignment", "relocation offset", "relocation count", "flags"] {
                fields.hex32(name)?;
            }
            fields.bytes("reserved", 12, "").map(|_| ())
        });
    }

    fn fixed_name(&mut self, name: &'static str) -> Result<()> {
        self.field(
            name,
            |r| r.bytes(16),
            |v| (Value::Text(v.split(|byte| *byte == 0).next().unwrap_or_default()), "".into()),
        )?;
        Ok(())
    }
}

/// Emits a GPU Mach-O: header, then its sections and notes by their place in the file.
fn gpu_object(object: &GpuObject<'_>, sink: &mut dyn OutlineSink) {
    let file = object.file();
    let commands_end = object.commands().filter_map(Result::ok).map(|c| c.range.end).max();
    let header_end = commands_end.unwrap_or_else(|| file.base().saturating_add(32));
    let mut fields = Fields { reader: file, sink };
    fields.sink.open(Field::group("Mach-O header and load commands", file.base()..header_end));
    let result = fields.load_commands(object);
    fields.finish(result, header_end);
    let mut parts: Vec<(Range<u64>, String, Part<'_>)> = Vec::new();
    for section in object.sections() {
        let Ok(data) = section.data else { continue };
        let name = format!("{},{}", Escaped(section.segment), Escaped(section.name));
        let part = if section.name == b"__metallib" { Part::Library } else { Part::Section };
        parts.push((data.range(), name, part));
    }
    for note in object.notes() {
        let Ok(data) = note.data else { continue };
        parts.push((data.range(), format!("note {}", Escaped(note.name)), Part::Note(data)));
    }
    for records in object.note_records() {
        parts.push((
            records.data.range(),
            format!("records {}", Escaped(records.owner)),
            Part::Records(records),
        ));
    }
    parts.sort_by_key(|(range, _, _)| (range.start, range.end));
    let end = file.range().end;
    let mut at = header_end;
    for (range, name, part) in parts {
        if range.start < at || range.start == range.end {
            continue;
        }
        gap(&file, at..range.start, sink);
        sink.open(Field::group(name, range.clone()));
        part.emit(object, &range, sink);
        sink.close();
        at = range.end;
    }
    gap(&file, at..end, sink);
}

/// A part of a GPU Mach-O.
enum Part<'a> {
    Section,
    /// The section that holds a Metal library.
    Library,
    Note(Reader<'a>),
    Records(NoteRecords<'a>),
}

impl Part<'_> {
    fn emit(&self, object: &GpuObject<'_>, range: &Range<u64>, sink: &mut dyn OutlineSink) {
        match self {
            Part::Section => {}
            Part::Library => {
                if let Ok(Some(inner)) = object.library() {
                    library(&inner, sink);
                    gap(&object.file(), inner.file().range().end..range.end, sink);
                }
            }
            Part::Note(data) => {
                let mut fields = Fields { reader: *data, sink };
                // A short note shows as far as it goes.
                let _ = fields.hex64("offset of the records").and_then(|_| fields.hex64("count"));
            }
            Part::Records(records) if records.fields.len() > 1 => {
                let mut fields = Fields { reader: records.data, sink };
                for _ in 0..records.count {
                    for (name, size) in records.fields {
                        // The records were cut to fit their count.
                        let _ = fields.bytes(name, *size, "");
                    }
                }
            }
            Part::Records(_) => {}
        }
    }
}

/// Emits the bytes between two things: zeros are padding, others are unknown.
fn gap(within: &Reader<'_>, range: Range<u64>, sink: &mut dyn OutlineSink) {
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

fn unknown(within: &Reader<'_>, range: Range<u64>, why: &str, sink: &mut dyn OutlineSink) {
    if range.start < range.end {
        let bytes = slice(within, &range);
        sink.leaf(Field::new(UNKNOWN, Value::Bytes(bytes), range).meaning(why));
    }
}

fn slice<'a>(within: &Reader<'a>, range: &Range<u64>) -> &'a [u8] {
    let size = range.end.saturating_sub(range.start);
    within.part(range.start.saturating_sub(within.base()), size).map_or(&[], |part| part.data())
}

/// The content of tags in the function list, the header extension and other plain runs.
fn tag_meaning<'a>(fields: &mut Fields<'a, '_>, tag: &Tag<'a>) -> Result<()> {
    match &tag.code.0 {
        b"NAME" | b"DYNL" => fields.c_string("text").map(|_| ()),
        b"TYPE" => fields.u8("function type", |v| format!("{}", FunctionType(v))).map(|_| ()),
        b"HASH" => fields.bytes("SHA-256 of the module", 32, "").map(|_| ()),
        b"OFFT" => {
            for name in ["into public metadata", "into private metadata", "into bitcode"] {
                fields.hex64(name)?;
            }
            Ok(())
        }
        b"VERS" => {
            for name in ["AIR version", "language version"] {
                fields.field(
                    name,
                    |r| Ok(ShortVersion { major: r.u16()?, minor: r.u16()? }),
                    |v| (Value::None, format!("{v}").into()),
                )?;
            }
            Ok(())
        }
        b"MDSZ" => fields.hex64("size of the module").map(|_| ()),
        b"SOFF" => fields.hex64("into the sources").map(|_| ()),
        b"RFLT" => fields.hex64("into the reflection list").map(|_| ()),
        b"TESS" => fields.u8("tessellation", |v| format!("{}", Tessellation(v))).map(|_| ()),
        b"LAYR" => fields.u8("type of the layer index", |v| format!("{}", DataType(v))).map(|_| ()),
        b"UUID" => fields.bytes("UUID", 16, "").map(|_| ()),
        b"LINK" if fields.reader.rest().iter().all(|byte| *byte == 0) => {
            let size = fields.reader.remaining() as u64;
            fields.bytes("reserved", size, "zeros in every real file").map(|_| ())
        }
        b"SARC" => {
            fields.c_string("archive id")?;
            let rest = fields.reader.remaining() as u64;
            fields.bytes("bzip2 stream", rest, "a tar archive, zero-padded").map(|_| ())
        }
        code if section_name(unshade_core::FourCc(*code)).is_some() => {
            fields.hex64("offset")?;
            fields.hex64("size").map(|_| ())
        }
        _ => unknown_content(fields),
    }
}

/// The content of tags in public metadata.
fn public_tag<'a>(fields: &mut Fields<'a, '_>, tag: &Tag<'a>) -> Result<()> {
    match &tag.code.0 {
        b"VATT" => {
            let count = fields.u16("count", |_| String::new())?;
            for _ in 0..count {
                fields.c_string("attribute")?;
                fields.u16("index and use", |v| {
                    let usage = AttributeUse((v >> 13 & 3) as u8);
                    let active = if v & 0x8000 != 0 { "active" } else { "not active" };
                    format!("attribute({}), {usage}, {active}", v & 0x1fff)
                })?;
            }
            Ok(())
        }
        b"VATY" => {
            let count = fields.u16("count", |_| String::new())?;
            for _ in 0..count {
                fields.u8("type", |v| format!("{}", DataType(v)))?;
            }
            Ok(())
        }
        b"CNST" => {
            let count = fields.u16("count", |_| String::new())?;
            for _ in 0..count {
                fields.c_string("function constant")?;
                fields.u8("type", |v| format!("{}", DataType(v)))?;
                fields.u16("index", |_| String::new())?;
                fields.u8("active", |v| if v == 0 { "no".into() } else { "yes".into() })?;
            }
            Ok(())
        }
        b"RETR" | b"ARGR" => {
            let rest = fields.reader.remaining() as u64;
            fields.bytes("Core Image signature", rest, "not described").map(|_| ())
        }
        _ => unknown_content(fields),
    }
}

/// The content of tags in private metadata.
fn private_tag<'a>(fields: &mut Fields<'a, '_>, tag: &Tag<'a>) -> Result<()> {
    match &tag.code.0 {
        b"DEBI" => {
            fields.count("line")?;
            fields.c_string("source path").map(|_| ())
        }
        b"DEPF" => fields.c_string("path of a linked .air file").map(|_| ()),
        _ => unknown_content(fields),
    }
}

/// The content of tags in the lists.
fn list_tag<'a>(fields: &mut Fields<'a, '_>, tag: &Tag<'a>) -> Result<()> {
    match &tag.code.0 {
        b"NAME" => fields.c_string("symbol").map(|_| ()),
        b"RBUF" => {
            let end = fields.reader.range().end;
            let reflection =
                crate::reflection::Reflection::parse(fields.reader.data(), fields.reader.base())?;
            // What is wrong with it is for `verify` to tell; here it shows as unknown bytes.
            reflection.outline(&mut fields.sink, &mut Diagnostics::new());
            let rest = end.saturating_sub(fields.reader.offset());
            fields.reader.skip(rest)
        }
        b"SBUF" => {
            let rest = fields.reader.remaining() as u64;
            fields.bytes("pipeline script", rest, "a flatbuffer").map(|_| ())
        }
        b"RBUZ" => {
            let rest = fields.reader.remaining() as u64;
            fields.bytes("compressed reflection", rest, "").map(|_| ())
        }
        _ => unknown_content(fields),
    }
}

fn unknown_content(fields: &mut Fields<'_, '_>) -> Result<()> {
    let rest = fields.reader.remaining() as u64;
    if rest > 0 {
        fields.bytes(UNKNOWN, rest, "tag that nobody has described")?;
    }
    Ok(())
}
