//! Emits consecutive fields while parsing them.

use super::{emit_gap, emit_unknown};
use crate::header::Section;
use crate::tag::{Tag, Tags};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use unshade_core::{Field, OutlineSink, Reader, Result, Value};

/// Emits consecutive fields while parsing them.
pub(super) struct Fields<'a, 's> {
    pub(super) reader: Reader<'a>,
    pub(super) sink: &'s mut dyn OutlineSink,
}

impl<'a> Fields<'a, '_> {
    /// Closes the open region. Its rest is a gap, or unknown if parsing failed.
    pub(super) fn finish(&mut self, result: Result<()>, end: u64) {
        let at = self.reader.offset();
        if at < end {
            let rest = &self.reader;
            match result {
                Ok(()) => emit_gap(rest, at..end, self.sink),
                Err(error) => emit_unknown(rest, at..end, &format!("{error}"), self.sink),
            }
        }
        self.sink.close();
    }

    /// Parses a value with `read` and emits it as one field.
    pub(super) fn field<T>(
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

    pub(super) fn u8(&mut self, name: &'static str, meaning: impl FnOnce(u8) -> String) -> Result<u8> {
        self.field(name, |r| r.u8(), |&v| (Value::Hex(v.into()), meaning(v).into()))
    }

    pub(super) fn u16(&mut self, name: &'static str, meaning: impl FnOnce(u16) -> String) -> Result<u16> {
        self.field(name, |r| r.u16(), |&v| (Value::Number(v.into()), meaning(v).into()))
    }

    pub(super) fn count(&mut self, name: &'static str) -> Result<u32> {
        self.field(name, |r| r.u32(), |&v| (Value::Number(v.into()), "".into()))
    }

    pub(super) fn hex32(&mut self, name: &'static str) -> Result<u32> {
        self.field(name, |r| r.u32(), |&v| (Value::Hex(v.into()), "".into()))
    }

    pub(super) fn hex64(&mut self, name: &'static str) -> Result<u64> {
        self.field(name, |r| r.u64(), |&v| (Value::Hex(v), "".into()))
    }

    pub(super) fn c_string(&mut self, name: &'static str) -> Result<&'a [u8]> {
        self.field(name, |r| r.c_string(), |&v| (Value::Text(v), "".into()))
    }

    pub(super) fn bytes(&mut self, name: &'static str, size: u64, meaning: &'static str) -> Result<&'a [u8]> {
        self.field(name, |r| r.bytes_u64(size), |&v| (Value::Bytes(v), meaning.into()))
    }

    pub(super) fn section(&mut self, name: &'static str) -> Result<Section> {
        self.field(name, Section::read, |v| (Value::Hex(v.offset), format!("{:#x} bytes", v.size).into()))
    }

    /// Emits the fields of the open part up to `end`, if they are wanted. They can't reach beyond the part. The reader
    /// continues after it.
    pub(super) fn part(&mut self, end: u64, emit: impl FnOnce(&mut Fields<'a, '_>) -> Result<()>) {
        let size = end.saturating_sub(self.reader.offset()).min(self.reader.remaining() as u64);
        if !self.sink.wants_inside() {
            // Can't fail: the size was limited to the remaining bytes.
            let _ = self.reader.skip(size);
            return self.sink.close();
        }
        if let Ok(reader) = self.reader.split(size) {
            let mut inner = Fields { reader, sink: &mut *self.sink };
            let result = emit(&mut inner);
            inner.finish(result, end);
        }
    }

    /// Emits tags up to ENDT. `content` emits the content of each.
    pub(super) fn tags(&mut self, content: fn(&mut Fields<'a, '_>, &Tag<'a>) -> Result<()>) -> Result<()> {
        let mut tags = Tags::new(self.reader);
        while let Some(tag) = tags.next() {
            let tag = tag?;
            self.sink.open(Field::group(format!("{}", tag.code), tag.range.clone()));
            if !self.sink.wants_inside() {
                self.sink.close();
                self.reader = tags.reader();
                continue;
            }
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
}
