//! YAML: a tree of nodes, its parser and emitter, and conversions between nodes and typed values.
//!
//! The documents are those of LLVM's `obj2yaml` and `yaml2obj`. Parser and emitter are our own for three reasons: they
//! are `no_std`; a program of 4 MB is a list of four million numbers, which this parser turns into bytes without a
//! node for each; and a document is hostile input like any other file, so anchors, which can expand without bound, are
//! rejected, nesting is limited, and every error has a line and a column.

mod emit;
mod parse;

pub use emit::{DocumentWriter, emit};
pub use parse::{Document, parse};

use crate::bytes::{Bytes, Text};
use crate::{Error, ErrorKind, FourCc, Result};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// One node and its position in the text. Line and column are 0 for nodes that were not parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'a> {
    /// The value.
    pub kind: Kind<'a>,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1.
    pub column: u32,
}

/// The value of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind<'a> {
    /// Nothing, as after a key without a value.
    Null,
    /// A value without quotes: a number, a name, `true`.
    Plain(Cow<'a, str>),
    /// Text in quotes.
    Quoted(Cow<'a, str>),
    /// A list of numbers below 256.
    Bytes(Cow<'a, [u8]>),
    /// A list, written in brackets or line by line.
    List {
        /// The items.
        items: Vec<Node<'a>>,
        /// Whether it is written in brackets.
        flow: bool,
    },
    /// Keys and values, in order.
    Map(Vec<(Cow<'a, str>, Node<'a>)>),
    /// A node that is made when it is written. The parser never returns one.
    Deferred(Deferred<'a>),
}

/// A node that is made when it is written, so that the nodes of a large document need not all be in memory at once.
#[derive(Clone)]
pub struct Deferred<'a>(Arc<dyn Fn() -> Node<'static> + Send + Sync + 'a>);

impl Deferred<'_> {
    /// Makes the node.
    pub fn make(&self) -> Node<'static> {
        (self.0)()
    }
}

impl fmt::Debug for Deferred<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.make().fmt(f)
    }
}

impl PartialEq for Deferred<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.make() == other.make()
    }
}

impl<'a> From<Kind<'a>> for Node<'a> {
    fn from(kind: Kind<'a>) -> Self {
        Self { kind, line: 0, column: 0 }
    }
}

impl<'a> Node<'a> {
    /// Creates a node for a name that needs no quotes.
    pub fn plain(name: impl Into<Cow<'a, str>>) -> Self {
        Kind::Plain(name.into()).into()
    }

    /// Creates a decimal number.
    pub fn number(value: u64) -> Self {
        Self::plain(value.to_string())
    }

    /// Creates a hex number, with upper-case digits as LLVM writes them.
    pub fn hex(value: u64) -> Self {
        Self::plain(format!("0x{value:X}"))
    }

    /// Creates text, which is quoted if necessary.
    pub fn string(text: impl Into<Cow<'a, str>>) -> Self {
        Kind::Quoted(text.into()).into()
    }

    /// Creates a list in brackets.
    pub fn flow(items: Vec<Node<'a>>) -> Self {
        Kind::List { items, flow: true }.into()
    }

    /// Creates a list with one line per item.
    pub fn list(items: Vec<Node<'a>>) -> Self {
        Kind::List { items, flow: false }.into()
    }

    /// Creates a node that is made when it is written.
    pub fn deferred(make: impl Fn() -> Node<'static> + Send + Sync + 'a) -> Self {
        Kind::Deferred(Deferred(Arc::new(make))).into()
    }

    /// Returns the text of a plain or quoted node.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Plain(text) | Kind::Quoted(text) => Some(text),
            _ => None,
        }
    }

    /// Creates an error at this node.
    pub fn fault(&self, message: impl Into<String>) -> Error {
        let message = message.into();
        let message = match self.line {
            0 => message,
            line => format!("line {line}, column {}: {message}", self.column),
        };
        Error::without_offset(ErrorKind::BadValue, message)
    }

    /// Creates an error that says what is expected here.
    pub fn expected(&self, expected: &'static str) -> Error {
        self.fault("wrong kind of value").expected(expected).found(self.describe())
    }

    /// Creates an error that lists the names that are allowed here.
    pub fn unknown_name<'n>(&self, names: impl Iterator<Item = &'n str>) -> Error {
        let names: Vec<&str> = names.collect();
        self.fault("unknown name")
            .expected(format!("a number or one of {}", names.join(", ")))
            .found(self.describe())
    }

    fn describe(&self) -> String {
        const SHOWN: usize = 40;
        match &self.kind {
            Kind::Null => "nothing".into(),
            Kind::Plain(text) | Kind::Quoted(text) => {
                format!("`{}`", crate::Escaped(text.chars().take(SHOWN).collect::<String>().as_bytes()))
            }
            Kind::Bytes(_) | Kind::List { .. } => "a list".into(),
            Kind::Map(_) => "keys and values".into(),
            Kind::Deferred(deferred) => deferred.make().describe(),
        }
    }

    /// Returns the value of a key, if this is a map with that key.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        match &self.kind {
            Kind::Map(pairs) => pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the items of a list of any kind; nothing is an empty list.
    ///
    /// # Errors
    /// If the node is not a list.
    pub fn items(&self) -> Result<Vec<Node<'_>>> {
        match &self.kind {
            Kind::List { items, .. } => Ok(items.clone()),
            Kind::Bytes(bytes) => Ok(bytes
                .iter()
                .map(|byte| Node { line: self.line, column: self.column, ..Node::number(u64::from(*byte)) })
                .collect()),
            Kind::Null => Ok(Vec::new()),
            _ => Err(self.expected("a list")),
        }
    }
}

/// A value that can be converted to and from a node.
pub trait Yaml: Sized {
    /// Whether a list of such values is written in brackets.
    const FLOW: bool = false;

    /// Converts the value to a node.
    fn node(&self) -> Node<'_>;

    /// Converts a node to a value.
    ///
    /// # Errors
    /// If the node is not such a value; the message has line and column.
    fn from_node(node: &Node<'_>) -> Result<Self>;

    /// Returns the value for a missing key, if the key is optional.
    fn absent() -> Option<Self> {
        None
    }

    /// Returns whether the key is omitted.
    fn skip(&self) -> bool {
        false
    }
}

/// Parses a number as LLVM writes it: decimal, hex, or negative for the highest 32-bit values.
fn parse_number(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok();
    }
    match text.strip_prefix('-') {
        Some(digits) => {
            let negative = 0i32.checked_sub_unsigned(digits.parse().ok()?)?;
            Some(u64::from(negative.cast_unsigned()))
        }
        None => text.parse().ok(),
    }
}

macro_rules! numbers {
    ($($type:ty, $what:literal;)*) => {$(
        impl Yaml for $type {
            const FLOW: bool = true;

            fn node(&self) -> Node<'_> {
                Node::number(u64::from(*self))
            }

            fn from_node(node: &Node<'_>) -> Result<Self> {
                let value = node.text().and_then(parse_number);
                value.and_then(|value| <$type>::try_from(value).ok()).ok_or_else(|| node.expected($what))
            }
        }
    )*};
}

numbers! {
    u8, "an 8-bit number";
    u16, "a 16-bit number";
    u32, "a 32-bit number";
    u64, "a 64-bit number";
}

impl Yaml for bool {
    fn node(&self) -> Node<'_> {
        Node::plain(if *self { "true" } else { "false" })
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        match node.text() {
            Some("true" | "1") => Ok(true),
            Some("false" | "0") => Ok(false),
            _ => Err(node.expected("true or false")),
        }
    }
}

impl Yaml for f32 {
    const FLOW: bool = true;

    /// Writes the shortest text that parses to the same number; NaNs are written as their bits.
    fn node(&self) -> Node<'_> {
        match (self.is_nan(), self.is_infinite(), *self > 0.0) {
            (true, ..) => Node::hex(self.to_bits().into()),
            (_, true, positive) => Node::plain(if positive { ".inf" } else { "-.inf" }),
            _ => {
                let (plain, scientific) = (format!("{self}"), format!("{self:e}"));
                Node::plain(if scientific.len() < plain.len() { scientific } else { plain })
            }
        }
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        let wrong = || node.expected("a number with a fraction, or its bits as a hex number");
        match node.text().ok_or_else(wrong)? {
            ".inf" | "inf" => Ok(f32::INFINITY),
            "-.inf" | "-inf" => Ok(f32::NEG_INFINITY),
            text if text.starts_with("0x") => u32::from_node(node).map(f32::from_bits),
            // LLVM writes six digits, which are too few for the greatest number.
            "3.40282e+38" => Ok(f32::MAX),
            text => text.parse().map_err(|_| wrong()),
        }
    }
}

impl Yaml for Text {
    fn node(&self) -> Node<'_> {
        match self.as_str() {
            Some(text) => Node::string(text),
            None => Kind::Bytes(Cow::Borrowed(&self.0)).into(),
        }
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        match &node.kind {
            Kind::Plain(text) | Kind::Quoted(text) => Ok(Self::from(text.as_ref())),
            Kind::Null => Ok(Self::default()),
            Kind::Bytes(bytes) => Ok(Self(bytes.to_vec())),
            Kind::List { items, .. } if items.is_empty() => Ok(Self::default()),
            _ => Err(node.expected("text")),
        }
    }
}

/// Text, borrowed or owned. Invalid UTF-8 becomes a list of bytes.
impl Yaml for Cow<'_, [u8]> {
    fn node(&self) -> Node<'_> {
        match core::str::from_utf8(self) {
            Ok(text) => Node::string(text),
            Err(_) => Kind::Bytes(Cow::Borrowed(self)).into(),
        }
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        Text::from_node(node).map(|text| Cow::Owned(text.0))
    }
}

impl Yaml for Bytes {
    fn node(&self) -> Node<'_> {
        Kind::Bytes(Cow::Borrowed(&self.0)).into()
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        match &node.kind {
            Kind::Bytes(bytes) => Ok(Self(bytes.to_vec())),
            Kind::List { items, .. } => items.iter().map(u8::from_node).collect::<Result<_>>().map(Self),
            _ => Err(node.expected("a list of bytes")),
        }
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }

    fn skip(&self) -> bool {
        self.0.is_empty()
    }
}

impl Yaml for FourCc {
    fn node(&self) -> Node<'_> {
        match core::str::from_utf8(&self.0) {
            Ok(text) if self.0.iter().all(u8::is_ascii_graphic) => Node::string(text),
            _ => Kind::Bytes(Cow::Borrowed(&self.0)).into(),
        }
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        let text = Text::from_node(node)?;
        text.0.as_slice().try_into().map(FourCc).map_err(|_| node.expected("four characters"))
    }
}

impl<const N: usize> Yaml for [u8; N] {
    fn node(&self) -> Node<'_> {
        Kind::Bytes(Cow::Borrowed(self)).into()
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        let bytes = Bytes::from_node(node)?;
        let found = bytes.0.len();
        bytes.0.try_into().map_err(|_| {
            node.fault("wrong number of bytes").expected(format!("{N}")).found(format!("{found}"))
        })
    }
}

impl<const N: usize> Yaml for [u32; N] {
    fn node(&self) -> Node<'_> {
        Node::flow(self.iter().map(Yaml::node).collect())
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        let words = Vec::<u32>::from_node(node)?;
        let found = words.len();
        words.try_into().map_err(|_| {
            node.fault("wrong number of values").expected(format!("{N}")).found(format!("{found}"))
        })
    }
}

impl<T: Yaml> Yaml for Vec<T> {
    fn node(&self) -> Node<'_> {
        let items = self.iter().map(Yaml::node).collect();
        if T::FLOW { Node::flow(items) } else { Node::list(items) }
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        let items = node.items()?;
        items
            .iter()
            .enumerate()
            .map(|(i, item)| T::from_node(item).map_err(|e| e.within(format!("[{i}]"))))
            .collect()
    }

    fn absent() -> Option<Self> {
        Some(Vec::new())
    }

    fn skip(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Yaml> Yaml for Option<T> {
    fn node(&self) -> Node<'_> {
        self.as_ref().map_or(Kind::Null.into(), Yaml::node)
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        T::from_node(node).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn skip(&self) -> bool {
        self.is_none()
    }
}

/// Builds a map.
#[derive(Debug, Default)]
pub struct MapWriter<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> MapWriter<'a> {
    /// Adds a field, unless [`Yaml::skip`] says to omit it.
    pub fn field<T: Yaml>(&mut self, key: &'static str, value: &'a T) {
        if !value.skip() {
            self.node(key, value.node());
        }
    }

    /// Adds a node under a key.
    pub fn node(&mut self, key: &'static str, node: Node<'a>) {
        self.0.push((Cow::Borrowed(key), node));
    }

    /// Returns whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the map.
    pub fn finish(self) -> Node<'a> {
        Kind::Map(self.0).into()
    }
}

/// Reads a map key by key, and rejects keys that were not asked for.
#[derive(Debug)]
pub struct MapReader<'n, 'a> {
    node: &'n Node<'a>,
    pairs: &'n [(Cow<'a, str>, Node<'a>)],
    asked: Vec<&'static str>,
}

impl<'n, 'a> MapReader<'n, 'a> {
    /// Creates a reader of a map.
    ///
    /// # Errors
    /// If the node is not a map.
    pub fn new(node: &'n Node<'a>) -> Result<Self> {
        match &node.kind {
            Kind::Map(pairs) => Ok(Self { node, pairs, asked: Vec::new() }),
            Kind::Null => Ok(Self { node, pairs: &[], asked: Vec::new() }),
            _ => Err(node.expected("keys and values")),
        }
    }

    /// Returns the node of a key, if the key is present.
    pub fn take(&mut self, key: &'static str) -> Option<&'n Node<'a>> {
        self.asked.push(key);
        self.pairs.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// If the key is missing and not optional, or the value is of the wrong type.
    pub fn field<T: Yaml>(&mut self, key: &'static str) -> Result<T> {
        match self.take(key) {
            Some(node) => T::from_node(node).map_err(|error| error.within(key)),
            None => T::absent().ok_or_else(|| self.node.fault(format!("key `{key}` is missing"))),
        }
    }

    /// Returns the value of a key, or `default` if the key is missing.
    ///
    /// # Errors
    /// If the value is of the wrong type.
    pub fn field_or<T: Yaml>(&mut self, key: &'static str, default: T) -> Result<T> {
        match self.take(key) {
            Some(node) => T::from_node(node).map_err(|error| error.within(key)),
            None => Ok(default),
        }
    }

    /// Checks that every key was asked for.
    ///
    /// # Errors
    /// If there is an unknown key.
    pub fn finish(self) -> Result<()> {
        match self.pairs.iter().find(|(name, _)| !self.asked.iter().any(|asked| asked == name)) {
            Some((name, node)) => Err(node
                .fault(format!("unknown key `{}`", crate::Escaped(name.as_bytes())))
                .expected(format!("one of {}", self.asked.join(", ")))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_survive_a_round_trip() {
        for bits in [
            0u32,
            0x8000_0000,
            0x7f7f_ffff,
            0xff7f_ffff,
            1,
            0x3f80_0000,
            0x7fc0_0001,
            0x7f80_0000,
            0x3eaa_aaab,
        ] {
            let value = f32::from_bits(bits);
            assert_eq!(f32::from_node(&value.node()).unwrap().to_bits(), bits, "{value}");
        }
        assert_eq!(f32::from_node(&Node::plain("3.40282e+38")).unwrap(), f32::MAX);
    }

    #[test]
    fn negative_numbers_are_the_highest_32_bit_values() {
        assert_eq!(u32::from_node(&Node::plain("-1")).unwrap(), u32::MAX);
        assert!(u8::from_node(&Node::plain("-1")).is_err());
        assert!(u8::from_node(&Node::plain("0x100")).is_err());
    }

    #[test]
    fn unknown_and_missing_keys_are_reported() {
        let documents = parse("A: 1\nB: 2\n").unwrap();
        let mut map = MapReader::new(&documents[0].root).unwrap();
        assert_eq!(map.field::<u32>("A").unwrap(), 1);
        assert!(map.field::<u32>("C").unwrap_err().to_string().contains("key `C` is missing"));
        let error = map.finish().unwrap_err().to_string();
        assert!(error.contains("line 2, column 4: unknown key `B`"), "{error}");
    }
}
