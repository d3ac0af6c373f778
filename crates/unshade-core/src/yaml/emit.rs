//! Writes nodes in the style of LLVM's YAML output: values start in column 17 of their key, lists of numbers stand in
//! brackets and go on in the next line once a line has passed column 70.

use super::{Kind, Node};
use alloc::string::String;
use core::fmt::Write;

/// A line of a list in brackets ends after this column.
const WRAP_COLUMN: usize = 70;

/// The column that a short key is filled up to.
const KEY_WIDTH: usize = 16;

/// Writes a document with its tag.
pub fn emit(tag: &str, root: &Node<'_>, out: &mut String) {
    out.push_str("--- ");
    out.push_str(tag);
    let mut emitter = Emitter { out };
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
}

struct Emitter<'o> {
    out: &'o mut String,
}

impl Emitter<'_> {
    /// A node from the start of its line (or after a dash, where `started`), with its line end.
    fn node(&mut self, node: &Node<'_>, indent: usize, started: bool) {
        match &node.kind {
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
                    self.out.push_str("- ");
                    self.node(item, indent.saturating_add(2), true);
                }
            }
            _ => self.inline(node),
        }
    }

    /// A key and its value.
    fn key(&mut self, key: &str, value: &Node<'_>, indent: usize) {
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

    /// A node that stands in one line, or in brackets.
    fn inline(&mut self, node: &Node<'_>) {
        match &node.kind {
            Kind::Null => {}
            Kind::Plain(text) => self.out.push_str(text),
            Kind::Quoted(text) => self.scalar(text),
            Kind::Bytes(bytes) => self.bytes(bytes),
            Kind::List { flow: false, .. } => self.out.push_str("[]"),
            Kind::List { items, .. } => self.flow(items),
            Kind::Map(_) => self.out.push_str("{}"),
        }
        self.out.push('\n');
    }

    /// What stands before an item of a list that began in the column `start`: a comma, and a new line where the old one
    /// is full. Takes and gives the column.
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
            let before = self.out.len();
            match &item.kind {
                Kind::Plain(text) => self.out.push_str(text),
                Kind::List { items, .. } => self.flow(items),
                Kind::Bytes(bytes) => self.bytes(bytes),
                _ => self.scalar(item.text().unwrap_or_default()),
            }
            column = column.saturating_add(self.out.len().saturating_sub(before));
        }
        self.out.push_str(" ]");
    }

    /// A list of bytes; millions of them make a program, so that this is where the time goes.
    fn bytes(&mut self, bytes: &[u8]) {
        const HEX: &[u8; 16] = b"0123456789ABCDEF";
        let digit = |value: u8| char::from(HEX.get(usize::from(value)).copied().unwrap_or_default());
        let start = self.column();
        let mut column = start.saturating_add(2);
        self.out.push_str("[ ");
        for (index, byte) in bytes.iter().enumerate() {
            column = self.separate(index, start, column);
            self.out.push_str("0x");
            column = column.saturating_add(3);
            if *byte >= 16 {
                self.out.push(digit(byte >> 4));
                column = column.saturating_add(1);
            }
            self.out.push(digit(byte & 15));
        }
        self.out.push_str(" ]");
    }

    fn wrap(&mut self, start: usize) {
        self.out.push('\n');
        self.indent(start.saturating_add(2));
    }

    /// The column of what is written next.
    fn column(&self) -> usize {
        self.out.len().saturating_sub(self.out.rfind('\n').map_or(0, |end| end.saturating_add(1)))
    }

    fn indent(&mut self, count: usize) {
        self.out.extend(core::iter::repeat_n(' ', count));
    }

    /// Text, in the quotes that it needs.
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

/// The quotes that text needs so that every YAML reader takes it for text, and for this text.
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
    // LLVM leaves a name that only starts with a digit as it is; quotes hurt nobody.
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
        emit("!t", &Kind::Map(vec![("Key".into(), value.node())]).into(), &mut out);
        let documents = parse(&out).unwrap();
        assert_eq!(Text::from_node(documents[0].root.get("Key").unwrap()).unwrap(), value, "{out}");
    }

    #[test]
    fn every_text_comes_back() {
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
    fn the_style_is_llvms() {
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
        );
        let expected = "--- !t\nParts:\n  - Name:            SFI0\n    Data:            [ 0x0, 0x1, 0x2, 0x3, 0x4, 0x5, \
                        0x6, 0x7, 0x8, 0x9, \n                       0xA, 0xB, 0xC, 0xD, 0xE, 0xF, 0x10, 0x11, 0x12, \n\
                        \x20                      0x13 ]\n    List:\n      - [  ]\n      - []\n";
        assert_eq!(out, expected);
    }
}
