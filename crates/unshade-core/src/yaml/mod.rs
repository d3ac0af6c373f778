//! YAML: a tree of nodes, its reader and its writer, and how typed values become nodes and back.
//!
//! The documents are those of LLVM's `obj2yaml` and `yaml2obj`. Reader and writer are our own for three reasons: they
//! need no `std`; a program of 4 MB is a list of four million numbers, which this reader turns into bytes without a
//! node for each; and a document is hostile input like any other file, so that anchors, which can expand without
//! end, are refused, nesting is bounded, and every fault has a line and a column.

mod emit;
mod parse;

pub use emit::emit;
pub use parse::{Document, parse};

use crate::bytes::{Bytes, Text};
use crate::{Error, ErrorKind, FourCc, Result};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// One node, and where it stands in its text; both numbers are 0 for nodes that were made.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'a> {
    /// What it is.
    pub kind: Kind<'a>,
    /// Its line, counted from 1.
    pub line: u32,
    /// Its column, counted from 1.
    pub column: u32,
}

/// What a node is.
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
        /// Whether it stands in brackets.
        flow: bool,
    },
    /// Keys and values in their order.
    Map(Vec<(Cow<'a, str>, Node<'a>)>),
    /// A node that is made when it is written; none that was read is one.
    Deferred(Deferred<'a>),
}

/// A node that is made when it is written, so that the nodes of a large document need not all be held at once.
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
    /// A name that needs no quotes.
    pub fn plain(name: impl Into<Cow<'a, str>>) -> Self {
        Kind::Plain(name.into()).into()
    }

    /// A number in decimal.
    pub fn number(value: u64) -> Self {
        Self::plain(value.to_string())
    }

    /// A number in hex, with the capital letters that LLVM writes.
    pub fn hex(value: u64) -> Self {
        Self::plain(format!("0x{value:X}"))
    }

    /// Text, which gets quotes where it needs them.
    pub fn string(text: impl Into<Cow<'a, str>>) -> Self {
        Kind::Quoted(text.into()).into()
    }

    /// A list in brackets.
    pub fn flow(items: Vec<Node<'a>>) -> Self {
        Kind::List { items, flow: true }.into()
    }

    /// A list line by line.
    pub fn list(items: Vec<Node<'a>>) -> Self {
        Kind::List { items, flow: false }.into()
    }

    /// A node that is made when it is written.
    pub fn deferred(make: impl Fn() -> Node<'static> + Send + Sync + 'a) -> Self {
        Kind::Deferred(Deferred(Arc::new(make))).into()
    }

    /// The text of a plain or quoted node.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Plain(text) | Kind::Quoted(text) => Some(text),
            _ => None,
        }
    }

    /// A fault at this node.
    pub fn fault(&self, message: impl Into<String>) -> Error {
        let message = message.into();
        let message = match self.line {
            0 => message,
            line => format!("line {line}, column {}: {message}", self.column),
        };
        Error::without_offset(ErrorKind::BadValue, message)
    }

    /// A fault that says what should stand here.
    pub fn expected(&self, expected: &'static str) -> Error {
        self.fault("wrong kind of value").expected(expected).found(self.describe())
    }

    /// A fault that lists the names that may stand here.
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

    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        match &self.kind {
            Kind::Map(pairs) => pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The items of a list of any kind; nothing is an empty list.
    ///
    /// # Errors
    /// If it is no list.
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

/// A value that stands in a document.
pub trait Yaml: Sized {
    /// Whether a list of these stands in brackets.
    const FLOW: bool = false;

    /// The value as a node.
    fn node(&self) -> Node<'_>;

    /// The value of a node.
    ///
    /// # Errors
    /// If it is not such a value; the message has line and column.
    fn from_node(node: &Node<'_>) -> Result<Self>;

    /// The value where its key is missing, if the key may be.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether the key is left out.
    fn skip(&self) -> bool {
        false
    }
}

/// Parses a number as LLVM writes them: decimal, hex, or negative for the highest values of 32 bits.
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
    u8, "a number of 8 bits";
    u16, "a number of 16 bits";
    u32, "a number of 32 bits";
    u64, "a number of 64 bits";
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

    /// The shortest text that gives the same number back; what is not a number is written as its bits.
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
            // LLVM writes six digits, of which the greatest number comes back as its neighbour.
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

/// Text, borrowed or owned; what is not UTF-8 is a list of bytes.
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

/// Puts a map together.
#[derive(Debug, Default)]
pub struct MapWriter<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> MapWriter<'a> {
    /// A field, unless its value says that it may be left out.
    pub fn field<T: Yaml>(&mut self, key: &'static str, value: &'a T) {
        if !value.skip() {
            self.node(key, value.node());
        }
    }

    /// A node under a key.
    pub fn node(&mut self, key: &'static str, node: Node<'a>) {
        self.0.push((Cow::Borrowed(key), node));
    }

    /// Whether nothing was put in.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The map.
    pub fn finish(self) -> Node<'a> {
        Kind::Map(self.0).into()
    }
}

/// Takes a map apart: each key is to be asked for, and none may be left over.
#[derive(Debug)]
pub struct MapReader<'n, 'a> {
    node: &'n Node<'a>,
    pairs: &'n [(Cow<'a, str>, Node<'a>)],
    asked: Vec<&'static str>,
}

impl<'n, 'a> MapReader<'n, 'a> {
    /// Starts on a map.
    ///
    /// # Errors
    /// If the node is no map.
    pub fn new(node: &'n Node<'a>) -> Result<Self> {
        match &node.kind {
            Kind::Map(pairs) => Ok(Self { node, pairs, asked: Vec::new() }),
            Kind::Null => Ok(Self { node, pairs: &[], asked: Vec::new() }),
            _ => Err(node.expected("keys and values")),
        }
    }

    /// The node of a key, if it is there.
    pub fn take(&mut self, key: &'static str) -> Option<&'n Node<'a>> {
        self.asked.push(key);
        self.pairs.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// If it is missing and may not be, or is not such a value.
    pub fn field<T: Yaml>(&mut self, key: &'static str) -> Result<T> {
        match self.take(key) {
            Some(node) => T::from_node(node).map_err(|error| error.within(key)),
            None => T::absent().ok_or_else(|| self.node.fault(format!("key `{key}` is missing"))),
        }
    }

    /// The value of a key, or what stands for a missing one.
    ///
    /// # Errors
    /// If it is not such a value.
    pub fn field_or<T: Yaml>(&mut self, key: &'static str, default: T) -> Result<T> {
        match self.take(key) {
            Some(node) => T::from_node(node).map_err(|error| error.within(key)),
            None => Ok(default),
        }
    }

    /// Refuses keys that nobody asked for.
    ///
    /// # Errors
    /// If there is one.
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
    fn floats_lose_nothing() {
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
    fn negative_numbers_are_the_highest_of_32_bits() {
        assert_eq!(u32::from_node(&Node::plain("-1")).unwrap(), u32::MAX);
        assert!(u8::from_node(&Node::plain("-1")).is_err());
        assert!(u8::from_node(&Node::plain("0x100")).is_err());
    }

    #[test]
    fn unknown_and_missing_keys_are_told_of() {
        let documents = parse("A: 1\nB: 2\n").unwrap();
        let mut map = MapReader::new(&documents[0].root).unwrap();
        assert_eq!(map.field::<u32>("A").unwrap(), 1);
        assert!(map.field::<u32>("C").unwrap_err().to_string().contains("key `C` is missing"));
        let error = map.finish().unwrap_err().to_string();
        assert!(error.contains("line 2, column 4: unknown key `B`"), "{error}");
    }
}
