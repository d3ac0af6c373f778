//! The meaning of every byte of a container.
//!
//! [`container`] emits the whole file in file order: header, directory, and the parts with the fields that their
//! parsers read. Bytes that nothing refers to are padding if they all have the same padding value, and [`UNKNOWN`]
//! otherwise. Where a parser fails, the rest of the part is unknown, with the error as its meaning.

use crate::container::{Container, PART_HEADER_SIZE, Part};
use crate::cursor::Span;
use crate::image::FXC_FILL;
use crate::part;
use crate::scalar::Shown;
use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::outline::UNKNOWN;
use unshade_core::{Field, OutlineSink, Reader, Value};

/// Emits the outline of a container: every byte, in file order.
pub fn container(container: &Container<'_>, sink: &mut dyn OutlineSink) {
    let file = container.file();
    let base = file.base();
    header(container, sink);
    let mut at = base.saturating_add(container.directory_end());
    let mut parts: Vec<Part<'_>> = container.found_parts().collect();
    parts.sort_by_key(|part| (part.offset, part.index));
    for found in parts {
        let start = base.saturating_add(u64::from(found.offset));
        let end = found.data.range().end;
        if end <= at {
            continue;
        }
        if start < at {
            unknown(file, at..end, "overlaps the bytes before it", sink);
        } else {
            gap(file, at..start, sink);
            part(&found, start, sink);
        }
        at = end;
    }
    gap(file, at..file.range().end, sink);
}

fn header(container: &Container<'_>, sink: &mut dyn OutlineSink) {
    let file = container.file();
    let base = file.base();
    let header = container.header();
    let mut at = base;
    let end = base.saturating_add(container.directory_end());
    sink.open(Field::group("header", base..end));
    let mut leaf = |name: Cow<'_, str>, value: Value<'_>, size: u64, meaning: Cow<'_, str>| {
        let range = at..at.saturating_add(size);
        at = range.end;
        sink.leaf(Field::new(name, value, range).meaning(meaning));
    };
    let digest = match header.digest.marker() {
        Some(marker) => marker,
        None if header.digest == container.computed_digest() => "right",
        None => "wrong",
    };
    leaf("magic".into(), Value::Text(b"DXBC"), 4, "".into());
    leaf("digest".into(), Value::Bytes(&header.digest.0), 16, digest.into());
    leaf("major version".into(), Value::Number(header.major.into()), 2, "".into());
    leaf("minor version".into(), Value::Number(header.minor.into()), 2, "".into());
    leaf("file size".into(), Value::Number(header.file_size.into()), 4, "".into());
    leaf("number of parts".into(), Value::Number(header.part_count.into()), 4, "".into());
    for (index, offset) in container.offsets().iter().enumerate() {
        leaf(format!("offset of part {index}").into(), Value::Hex(u64::from(*offset)), 4, "".into());
    }
    sink.close();
}

fn part(found: &Part<'_>, start: u64, sink: &mut dyn OutlineSink) {
    let end = found.data.range().end;
    let what = part::describe(found.name).unwrap_or("unknown part");
    sink.open(Field::group(format!("{}", found.name), start..end).meaning(what));
    let name_end = start.saturating_add(4);
    let header_end = start.saturating_add(PART_HEADER_SIZE.into());
    sink.leaf(Field::new("name", Value::FourCc(found.name), start..name_end));
    sink.leaf(Field::new("size", Value::Number(u64::from(found.declared_size)), name_end..header_end));
    if part::is_container(found.name, found.data.data())
        && let Ok(inner) = Container::read(found.data)
        && inner.bytes().len() == found.data.data().len()
    {
        container(&inner, sink);
    } else {
        let (spans, fault) = part::spans(found.name, found.data);
        let fault = fault.map(|error| format!("{error}"));
        emit(&found.data, spans, fault.as_deref(), sink);
    }
    sink.close();
}

/// Emits spans as a tree: a group contains the spans inside its range, and bytes that were read twice appear once.
fn emit(data: &Reader<'_>, mut spans: Vec<Span>, fault: Option<&str>, sink: &mut dyn OutlineSink) {
    // Of spans that start together the longer is the outer one; a group precedes a field of the same size.
    spans.sort_by_key(|span| (span.range.start, core::cmp::Reverse(span.range.end), !span.group));
    let mut open: Vec<u64> = Vec::new();
    let mut at = data.range().start;
    for span in spans {
        let Range { start, end } = span.range;
        if end <= at || start >= end {
            continue;
        }
        while open.last().is_some_and(|group| *group <= start) {
            let group = open.pop().unwrap_or_default();
            rest(data, at..group, None, sink);
            at = at.max(group);
            sink.close();
        }
        let limit = open.last().copied().unwrap_or(data.range().end);
        // Spans that cross the end of a group, or start inside of an emitted one, are cut.
        let shown = start.max(at)..end.min(limit);
        if shown.is_empty() {
            continue;
        }
        rest(data, at..shown.start, None, sink);
        at = shown.start;
        let field =
            Field::new(span.name, value(span.value, data, &shown), shown.clone()).meaning(span.meaning);
        if span.group {
            sink.open(field);
            open.push(shown.end);
        } else {
            sink.leaf(field);
            at = shown.end;
        }
    }
    while let Some(group) = open.pop() {
        rest(data, at..group, fault, sink);
        at = at.max(group);
        sink.close();
    }
    rest(data, at..data.range().end, fault, sink);
}

fn value<'a>(shown: Shown, data: &Reader<'a>, range: &Range<u64>) -> Value<'a> {
    match shown {
        Shown::None => Value::None,
        Shown::Number(number) => Value::Number(number),
        Shown::Hex(number) => Value::Hex(number),
        Shown::Bytes => Value::Bytes(slice(data, range)),
        Shown::Text => {
            let bytes = slice(data, range);
            Value::Text(bytes.strip_suffix(b"\0").unwrap_or(bytes))
        }
    }
}

/// Emits the bytes without a span.
fn rest(data: &Reader<'_>, range: Range<u64>, fault: Option<&str>, sink: &mut dyn OutlineSink) {
    match fault {
        Some(fault) => unknown(data, range, fault, sink),
        None => gap(data, range, sink),
    }
}

fn gap(data: &Reader<'_>, range: Range<u64>, sink: &mut dyn OutlineSink) {
    if range.start >= range.end {
        return;
    }
    let bytes = slice(data, &range);
    let all = |fill: u8| bytes.iter().all(|byte| *byte == fill);
    if all(0) || all(FXC_FILL) {
        sink.leaf(Field::new("padding", Value::Bytes(bytes), range));
    } else {
        unknown(data, range, "nothing refers to it", sink);
    }
}

fn unknown(data: &Reader<'_>, range: Range<u64>, why: &str, sink: &mut dyn OutlineSink) {
    if range.start < range.end {
        let bytes = slice(data, &range);
        sink.leaf(Field::new(UNKNOWN, Value::Bytes(bytes), range).meaning(why));
    }
}

fn slice<'a>(data: &Reader<'a>, range: &Range<u64>) -> &'a [u8] {
    let size = range.end.saturating_sub(range.start);
    data.part(range.start.saturating_sub(data.base()), size).map_or(&[], |part| part.data())
}
