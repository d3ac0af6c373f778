//! Emits universal files and the GPU Mach-O slices in them.

use super::fields::Fields;
use super::{emit_gap, emit_unknown, library};
use crate::gpu_object::{CommandKind, GpuObject, NoteRecords};
use crate::universal::{CpuType, SliceContent, Universal};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Escaped, Field, OutlineSink, Reader, Result, Value};

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
                emit_unknown(&file, at..range.end, "overlaps the preceding region", sink);
                at = range.end;
            }
            continue;
        }
        emit_gap(&file, at..range.start, sink);
        let name = format!("slice {}", slice.cpu_type);
        sink.open(Field::group(name, range.clone()));
        match slice.content() {
            Ok(SliceContent::Library(inner)) => library(&inner, sink),
            Ok(SliceContent::GpuObject(object)) => gpu_object(&object, sink),
            Ok(SliceContent::Unknown(_)) => emit_unknown(&file, range.clone(), "", sink),
            Err(error) => emit_unknown(&file, range.clone(), &format!("{error}"), sink),
        }
        sink.close();
        at = range.end;
    }
    emit_gap(&file, at..end, sink);
}

impl<'a> Fields<'a, '_> {
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
                self.hex32("maximum protection")?;
                self.hex32("initial protection")?;
                let count = self.count("section count")?;
                self.hex32("flags")?;
                for _ in 0..count {
                    // The count is only limited by the bytes that are there.
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
                for name in ["platform", "minimum OS", "SDK", "tool count"] {
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

/// Emits a GPU Mach-O: its header, then its sections and notes in file order.
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
        emit_gap(&file, at..range.start, sink);
        sink.open(Field::group(name, range.clone()));
        part.emit(object, &range, sink);
        sink.close();
        at = range.end;
    }
    emit_gap(&file, at..end, sink);
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
                    emit_gap(&object.file(), inner.file().range().end..range.end, sink);
                }
            }
            Part::Note(data) => {
                let mut fields = Fields { reader: *data, sink };
                // A truncated note is shown as far as possible.
                let _ = fields.hex64("offset of the records").and_then(|_| fields.hex64("count"));
            }
            Part::Records(records) if records.fields.len() > 1 => {
                let mut fields = Fields { reader: records.data, sink };
                for _ in 0..records.count {
                    for (name, size) in records.fields {
                        // Can't fail: the records fit their count.
                        let _ = fields.bytes(name, *size, "");
                    }
                }
            }
            Part::Records(_) => {}
        }
    }
}
