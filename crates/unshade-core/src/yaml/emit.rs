//! Writes nodes in the style of LLVM's YAML output: values start 17 columns after the start of their key, lists of
//! numbers are in brackets and continue on the next line once a line has passed column 70.

use super::{Kind, MapWriter, Node};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// A line of a bracketed list ends after this column.
const WRAP_COLUMN: usize = 70;

/// The width to which a short key is padded.
const KEY_WIDTH: usize = 16;

/// Number of bytes that are buffered before they are flushed: the text of a program is ten times as long as the
/// program, so it is never held in memory as a whole.
const BUFFER_SIZE: usize = 1 << 16;

/// The text of every byte at four times its value; the texts of bytes below 16 are one character shorter.
const BYTES: &str = "\
0x0 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8 0x9 0xA 0xB 0xC 0xD 0xE 0xF 0x100x110x120x130x140x150x160x17\
0x180x190x1A0x1B0x1C0x1D0x1E0x1F0x200x210x220x230x240x250x260x270x280x290x2A0x2B0x2C0x2D0x2E0x2F\
0x300x310x320x330x340x350x360x370x380x390x3A0x3B0x3C0x3D0x3E0x3F0x400x410x420x430x440x450x460x47\
0x480x490x4A0x4B0x4C0x4D0x4E0x4F0x500x510x520x530x540x550x560x570x580x590x5A0x5B0x5C0x5D0x5E0x5F\
0x600x610x620x630x640x650x660x670x680x690x6A0x6B0x6C0x6D0x6E0x6F0x700x710x720x730x740x750x760x77\
0x780x790x7A0x7B0x7C0x7D0x7E0x7F0x800x810x820x830x840x850x860x870x880x890x8A0x8B0x8C0x8D0x8E0x8F\
0x900x910x920x930x940x950x960x970x980x990x9A0x9B0x9C0x9D0x9E0x9F0xA00xA10xA20xA30xA40xA50xA60xA7\
0xA80xA90xAA0xAB0xAC0xAD0xAE0xAF0xB00xB10xB20xB30xB40xB50xB60xB70xB80xB90xBA0xBB0xBC0xBD0xBE0xBF\
0xC00xC10xC20xC30xC40xC50xC60xC70xC80xC90xCA0xCB0xCC0xCD0xCE0xCF0xD00xD10xD20xD30xD40xD50xD60xD7\
0xD80xD90xDA0xDB0xDC0xDD0xDE0xDF0xE00xE10xE20xE30xE40xE50xE60xE70xE80xE90xEA0xEB0xEC0xED0xEE0xEF\
0xF00xF10xF20xF30xF40xF50xF60xF70xF80xF90xFA0xFB0xFC0xFD0xFE0xFF";

/// Writes a document with its tag.
///
/// # Errors
/// Those of `out`.
pub fn emit(tag: &str, root: &Node<'_>, out: &mut dyn Write) -> fmt::Result {
    let mut emitter = Emitter::new(tag, out);
    match &root.kind {
        Kind::Map(pairs) if !pairs.is_empty() => {
            emitter.out.push('\n');
            emitter.node(root, 0, true);
        }
        _ => {
            emitter.out.push(' ');
            emitter.inline(root);
        }
    }
    emitter.finish()
}

/// Writes a document whose root is a map, key by key: nodes are dropped once they are written, so that those of a large
/// document are never all in memory.
#[derive(Debug)]
pub struct DocumentWriter<'o>(Emitter<'o>);

impl<'o> DocumentWriter<'o> {
    /// Creates a writer of a document with this tag and at least one key.
    pub fn new(tag: &str, out: &'o mut dyn Write) -> Self {
        let mut emitter = Emitter::new(tag, out);
        emitter.out.push('\n');
        Self(emitter)
    }

    /// Writes the keys of a map.
    pub fn map(&mut self, map: MapWriter<'_>) {
        if !map.is_empty() {
            self.0.node(&map.finish(), 0, true);
        }
    }

    /// Writes a key and a list with one line per item.
    pub fn list<'n>(&mut self, key: &str, items: &mut dyn Iterator<Item = Node<'n>>) {
        let mut items = items.peekable();
        if items.peek().is_none() {
            self.0.key(key, &Node::list(Vec::new()), 0);
            return;
        }
        self.0.scalar(key);
        self.0.out.push_str(":\n");
        for item in items {
            if self.0.result.is_err() {
                return;
            }
            self.0.indent(2);
            self.0.item(&item, 2);
        }
    }

    /// Ends the document.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(self) -> fmt::Result {
        self.0.finish()
    }
}

struct Emitter<'o> {
    /// The buffered text, including the end of the previous line.
    out: String,
    sink: &'o mut dyn Write,
    result: fmt::Result,
}

impl fmt::Debug for Emitter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitter").field("buffered", &self.out.len()).finish_non_exhaustive()
    }
}

impl<'o> Emitter<'o> {
    /// Starts a document.
    fn new(tag: &str, sink: &'o mut dyn Write) -> Self {
        let mut out = String::with_capacity(BUFFER_SIZE);
        out.push_str("--- ");
        out.push_str(tag);
        Self { out, sink, result: Ok(()) }
    }

    /// Flushes the buffer.
    fn finish(self) -> fmt::Result {
        self.result?;
        self.sink.write_str(&self.out)
    }

    /// Writes a node and its line end, at the start of a line or, if `started`, after a dash.
    fn node(&mut self, node: &Node<'_>, indent: usize, started: bool) {
        match &node.kind {
            Kind::Deferred(deferred) => self.node(&deferred.make(), indent, started),
            Kind::Map(pairs) if !pairs.is_empty() => {
                for (index, (key, value)) in pairs.iter().enumerate() {
                    if !(index == 0 && started) || self.out.ends_with('\n') {
                        self.indent(indent);
                    }
                    self.key(key, value, indent);
                }
            }
            Kind::List { items, flow: false } if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    if !(index == 0 && started) || self.out.ends_with('\n') {
                        self.indent(indent);
                    }
                    self.item(item, indent);
                }
            }
            _ => self.inline(node),
        }
    }

    /// Writes an item of a list after its indentation.
    fn item(&mut self, item: &Node<'_>, indent: usize) {
        self.out.push_str("- ");
        self.node(item, indent.saturating_add(2), true);
    }

    /// Writes a key and its value.
    fn key(&mut self, key: &str, value: &Node<'_>, indent: usize) {
        if let Kind::Deferred(deferred) = &value.kind {
            return self.key(key, &deferred.make(), indent);
        }
        self.scalar(key);
        self.out.push(':');
        let nested = match &value.kind {
            Kind::Map(pairs) => !pairs.is_empty(),
            Kind::List { items, flow: false } => !items.is_empty(),
            _ => false,
        };
        if nested {
            self.out.push('\n');
            self.node(value, indent.saturating_add(2), true);
        } else if matches!(value.kind, Kind::Null) {
            self.out.push('\n');
        } else {
            self.indent(KEY_WIDTH.saturating_sub(key.len()).max(1));
            self.inline(value);
        }
    }

    /// Writes a node that fits on one line or is in brackets.
    fn inline(&mut self, node: &Node<'_>) {
        match &node.kind {
            Kind::Null => {}
            Kind::Plain(text) => self.out.push_str(text),
            Kind::Quoted(text) => self.scalar(text),
            Kind::Bytes(bytes) => self.bytes(bytes),
            Kind::List { flow: false, .. } => self.out.push_str("[]"),
            Kind::List { items, .. } => self.flow(items),
            Kind::Map(_) => self.out.push_str("{}"),
            Kind::Deferred(deferred) => return self.inline(&deferred.make()),
        }
        self.end_line();
    }

    /// Ends a line and flushes a full buffer, but keeps the line end, which marks that a line starts.
    fn end_line(&mut self) {
        if self.out.len() >= BUFFER_SIZE {
            self.result = self.result.and_then(|()| self.sink.write_str(&self.out));
            // Also after an error, so that the rest of the text does not fill the memory.
            self.out.clear();
        }
        self.out.push('\n');
    }

    /// Writes what precedes an item of a list that starts in column `start`: a comma, and a line break if the line is
    /// full. Returns the new column.
    #[inline]
    fn separate(&mut self, index: usize, start: usize, mut column: usize) -> usize {
        if index > 0 {
            self.out.push_str(", ");
            column = column.saturating_add(2);
        }
        if column > WRAP_COLUMN {
            self.wrap(start);
            column = start.saturating_add(2);
        }
        column
    }

    fn flow(&mut self, items: &[Node<'_>]) {
        let start = self.column();
        let mut column = start.saturating_add(2);
        self.out.push_str("[ ");
        for (index, item) in items.iter().enumerate() {
            column = self.separate(index, start, column);
            let start_length = self.out.len();
            match &item.kind {
                Kind::Plain(text) => self.out.push_str(text),
                Kind::List { items, .. } => self.flow(items),
                Kind::Bytes(bytes) => self.bytes(bytes),
                _ => self.scalar(item.text().unwrap_or_default()),
            }
            column = column.saturating_add(self.out.len().saturating_sub(start_length));
        }
        self.out.push_str(" ]");
    }

    /// Writes a list of bytes. This is the hot path: a program is a list of millions of bytes.
    fn bytes(&mut self, bytes: &[u8]) {
        let start = self.column();
        let mut column = start.saturating_add(2);
        self.out.push_str("[ ");
        for (index, byte) in bytes.iter().enumerate() {
            column = self.separate(index, start, column);
            let at = usize::from(*byte).saturating_mul(4);
            let length = if *byte < 16 { 3 } else { 4 };
            self.out.push_str(BYTES.get(at..at.saturating_add(length)).unwrap_or_default());
            column = column.saturating_add(length);
        }
        self.out.push_str(" ]");
    }

    fn wrap(&mut self, start: usize) {
        self.end_line();
        self.indent(start.saturating_add(2));
    }

    /// Returns the current column.
    fn column(&self) -> usize {
        self.out.len().saturating_sub(self.out.rfind('\n').map_or(0, |end| end.saturating_add(1)))
    }

    fn indent(&mut self, count: usize) {
        self.out.extend(core::iter::repeat_n(' ', count));
    }

    /// Writes text, in quotes if it needs them.
    fn scalar(&mut self, text: &str) {
        match quotes(text) {
            Quotes::None => self.out.push_str(text),
            Quotes::Single => {
                self.out.push('\'');
                self.out.push_str(&text.replace('\'', "''"));
                self.out.push('\'');
            }
            Quotes::Double => self.double_quoted(text),
        }
    }

    fn double_quoted(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\0' => self.out.push_str("\\0"),
                ' '..='~' => self.out.push(character),
                _ => self.escape(character),
            }
        }
        self.out.push('"');
    }

    fn escape(&mut self, character: char) {
        let code = u32::from(character);
        // Writing to a string can't fail.
        let _ = match code {
            0..=0xff => write!(self.out, "\\x{code:02X}"),
            0x100..=0xffff => write!(self.out, "\\u{code:04X}"),
            _ => write!(self.out, "\\U{code:08X}"),
        };
    }
}

enum Quotes {
    None,
    Single,
    Double,
}

/// Returns the quotes that text needs so that every YAML parser reads back exactly this text.
fn quotes(text: &str) -> Quotes {
    if text.chars().any(|c| !(' '..='~').contains(&c)) {
        return Quotes::Double;
    }
    let safe = |c: char| c.is_ascii_alphanumeric() || "_-./^, ".contains(c);
    let edge = text.starts_with([' ', '-', '.', ',', '/', '^']) || text.ends_with([' ', ',']);
    let word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let special = word.iter().any(|word| text.eq_ignore_ascii_case(word));
    let numeric =
        text.starts_with(|c: char| c.is_ascii_digit()) && !text.chars().all(|c| c.is_ascii_alphabetic());
    // LLVM does not quote a name that merely starts with a digit, but quotes do no harm.
    if text.is_empty() || !text.chars().all(safe) || edge || special || numeric {
        return Quotes::Single;
    }
    Quotes::None
}

#[cfg(test)]
mod tests {
    use super::super::{Yaml, parse};
    use super::*;
    use crate::bytes::{Bytes, Text};
    use alloc::vec;

    fn round_trip(text: &str) {
        let value = Text::from(text);
        let mut out = String::new();
        emit("!t", &Kind::Map(vec![("Key".into(), value.node())]).into(), &mut out).unwrap();
        let documents = parse(&out).unwrap();
        assert_eq!(Text::from_node(documents[0].root.get("Key").unwrap()).unwrap(), value, "{out}");
    }

    #[test]
    fn every_text_survives_a_round_trip() {
        let texts = [
            "",
            "main",
            "true",
            "0",
            "1e5",
            "- a",
            "a: b",
            "a #b",
            "'",
            "\"",
            "a\nb\n",
            "\0",
            "größe",
            " it's ",
            "''",
            "x ",
            "~",
            "[",
            "{}",
            "&a",
            "*a",
            "!t",
            "|",
            "%",
            "@",
            "Z:\\w\\a.hlsl",
            "\u{1F600}",
            "-",
            "null",
            "a,b",
            "?",
            ":",
            "a:",
        ];
        texts.into_iter().for_each(round_trip);
    }

    #[test]
    fn every_byte_survives_a_round_trip_in_long_lists() {
        let bytes = Bytes((0..=u8::MAX).cycle().take(3 * BUFFER_SIZE).collect());
        let mut out = String::new();
        emit("!t", &Kind::Map(vec![("Key".into(), bytes.node())]).into(), &mut out).unwrap();
        let documents = parse(&out).unwrap();
        assert_eq!(Bytes::from_node(documents[0].root.get("Key").unwrap()).unwrap(), bytes);
        assert!(out.lines().all(|line| line.len() < 90));
        // Flushing must not move what follows: every line of bytes starts in the same column.
        let columns: Vec<usize> = out.lines().filter_map(|line| line.find("0x")).collect();
        assert!(columns.len() > BUFFER_SIZE / 30 && columns.iter().all(|column| *column == columns[0]));
    }

    #[test]
    fn deferred_nodes_are_written_like_the_nodes_they_make() {
        let write = |node: Node<'_>| {
            let mut out = String::new();
            emit("!t", &Kind::Map(vec![("Key".into(), node)]).into(), &mut out).unwrap();
            out
        };
        let map = || Kind::Map(vec![("A".into(), Node::number(1)), ("B".into(), Node::plain("x"))]).into();
        for make in [map, || Node::list(vec![Node::number(3)]), || Node::flow(vec![]), || Kind::Null.into()] {
            assert_eq!(write(Node::deferred(make)), write(make()));
            assert_eq!(
                write(Node::list(vec![Node::deferred(make), Node::deferred(make)])),
                write(Node::list(vec![make(), make()]))
            );
        }
    }

    #[test]
    fn documents_written_key_by_key_are_the_same() {
        let header = || {
            let mut map = MapWriter::default();
            map.node("Version", Node::number(1));
            map.node("Names", Node::list(vec![Node::plain("x"), Node::flow(vec![])]));
            map
        };
        let item = |number| {
            Kind::Map(vec![("A".into(), Node::number(number)), ("B".into(), Kind::Null.into())]).into()
        };
        for count in [0, 1, 3] {
            let (mut whole, mut pieces) = (String::new(), String::new());
            let mut map = header();
            map.node("Items", Node::list((0..count).map(item).collect()));
            emit("!t", &map.finish(), &mut whole).unwrap();
            let mut document = DocumentWriter::new("!t", &mut pieces);
            document.map(header());
            document.list("Items", &mut (0..count).map(item));
            document.finish().unwrap();
            assert_eq!(pieces, whole);
        }
    }

    /// The text after an error is dropped rather than collected.
    #[test]
    fn an_output_that_fails_gets_no_more_text() {
        struct Full(usize);
        impl Write for Full {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0 += text.len();
                Err(fmt::Error)
            }
        }
        let mut full = Full(0);
        let bytes = Bytes(vec![0; 3 * BUFFER_SIZE]);
        let node = Kind::Map(vec![("Key".into(), bytes.node())]).into();
        assert!(emit("!t", &node, &mut full).is_err());
        assert!(full.0 < 2 * BUFFER_SIZE);
    }

    #[test]
    fn output_has_the_style_of_llvm() {
        let bytes = Bytes((0..20).collect());
        let pairs = vec![
            ("Name".into(), Node::plain("SFI0")),
            ("Data".into(), bytes.node()),
            ("List".into(), Node::list(vec![Node::flow(vec![]), Node::list(vec![])])),
        ];
        let mut out = String::new();
        emit(
            "!t",
            &Kind::Map(vec![("Parts".into(), Node::list(vec![Kind::Map(pairs).into()]))]).into(),
            &mut out,
        )
        .unwrap();
        let expected = "--- !t\nParts:\n  - Name:            SFI0\n    Data:            [ 0x0, 0x1, 0x2, 0x3, 0x4, 0x5, \
                        0x6, 0x7, 0x8, 0x9, \n                       0xA, 0xB, 0xC, 0xD, 0xE, 0xF, 0x10, 0x11, 0x12, \n\
                        \x20                      0x13 ]\n    List:\n      - [  ]\n      - []\n";
        assert_eq!(out, expected);
    }
}
