//! Emits the sections of a library: header, function list, metadata, bitcode, sources and lists.

use super::fields::Fields;
use super::tags::{list_tag, tag_meaning};
use super::{emit_gap, emit_unknown};
use crate::function_list::Functions;
use crate::header::{Header, Version};
use crate::library::Library;
use crate::lists::{Group, Groups};
use crate::module::{Module, WRAPPER_SIZE};
use crate::tag::{Tag, Tags};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Field, Result, Value};

impl<'a> Fields<'a, '_> {
    pub(super) fn header(&mut self) -> Result<()> {
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

    pub(super) fn function_list(&mut self, library: &Library<'_>) -> Result<()> {
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
            // In a list with a single size, only the first function has a size field.
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

    /// Emits metadata groups up to the end of the section.
    pub(super) fn groups(
        &mut self,
        functions: &BTreeMap<u64, u32>,
        content: fn(&mut Fields<'a, '_>, &Tag<'a>) -> Result<()>,
    ) -> Result<()> {
        let section = self.reader.base();
        while !self.reader.is_empty() {
            let start = self.reader.offset();
            let group = crate::metadata::MetadataGroup::read(&mut self.reader.clone())?;
            let name = match functions.get(&start.saturating_sub(section)) {
                Some(index) => format!("function {index}"),
                None => "group without a function".into(),
            };
            self.sink.open(Field::group(name, group.range.clone()));
            self.part(group.range.end, |fields| fields.hex32("size").and_then(|_| fields.tags(content)));
        }
        Ok(())
    }

    /// Emits modules, sorted by offset. Bytes between them are padding or unknown.
    pub(super) fn modules(&mut self, library: &Library<'_>) -> Result<()> {
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
            emit_gap(&self.reader, at..start, self.sink);
            self.reader.skip(start.saturating_sub(at))?;
            let size = range.end.saturating_sub(start);
            let data = self.reader.split(size)?;
            if range.start < start {
                emit_unknown(&data, start..range.end, "module that overlaps the previous one", self.sink);
                continue;
            }
            self.sink.open(Field::group(format!("module of function {index}"), range.clone()));
            if !self.sink.wants_inside() {
                self.sink.close();
                continue;
            }
            let mut inner = Fields { reader: data, sink: &mut *self.sink };
            let result = Module::sized(&data, 0, size).and_then(|module| inner.module(&module));
            inner.finish(result, range.end);
        }
        Ok(())
    }

    pub(super) fn module(&mut self, module: &Module<'_>) -> Result<()> {
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

    pub(super) fn sources(&mut self, has_directory: bool) -> Result<()> {
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
    pub(super) fn list(&mut self, functions: &BTreeMap<u64, u32>) -> Result<()> {
        let section = self.reader.base();
        let mut groups = Groups::new(self.reader)?;
        self.count("count")?;
        for index in 0..groups.declared_count() {
            let Some(group) = groups.next() else { break };
            let group: Group<'_> = group?;
            let owner = functions.get(&group.range.start.saturating_sub(section));
            let meaning = owner.map(|function| format!("function {function}")).unwrap_or_default();
            let name = format!("group {index}");
            self.sink.open(Field::group(name, group.range.clone()).meaning(meaning));
            self.part(group.range.end, |fields| fields.hex32("size").and_then(|_| fields.tags(list_tag)));
        }
        Ok(())
    }
}
