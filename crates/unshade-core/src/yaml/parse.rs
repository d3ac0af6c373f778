//! Parses the subset of YAML that LLVM writes: documents with tags, block and flow lists and maps, plain, quoted and
//! block text, comments.
//!
//! Anchors, aliases and duplicate keys are rejected; nesting is limited by [`MAX_DEPTH`], the number of keys in a map
//! by [`MAX_KEYS`].

use super::{Kind, Node};
use crate::{Error, ErrorKind, Result};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum nesting depth of lists and maps.
pub(super) const MAX_DEPTH: usize = 64;

/// Maximum number of keys in a map: each key is compared with all others, and no map of ours comes close.
const MAX_KEYS: usize = 1024;

/// One document of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document<'a> {
    /// The tag, such as `!dxcontainer`; empty if there is none.
    pub tag: &'a str,
    /// The root node.
    pub root: Node<'a>,
}

/// Parses all documents of a text.
///
/// # Errors
/// If the text is not in the supported subset of YAML; the message has line and column.
pub fn parse(text: &str) -> Result<Vec<Document<'_>>> {
    let mut parser = Parser { text, at: 0, line: 1, line_start: 0, depth: 0 };
    let mut documents = Vec::new();
    loop {
        parser.skip_blank();
        while parser.document_mark("...") {
            parser.skip_blank();
        }
        let marked = parser.document_mark("---");
        let mut tag = "";
        if marked {
            parser.skip_spaces();
            tag = parser.tag();
            parser.skip_blank();
        }
        if parser.peek().is_none() && !marked {
            return Ok(documents);
        }
        let root = match parser.peek() {
            None => parser.here(Kind::Null),
            Some(_) if parser.at_document_mark() => parser.here(Kind::Null),
            Some(_) => parser.block(None)?,
        };
        parser.skip_blank();
        if parser.peek().is_some() && !parser.at_document_mark() {
            return Err(parser
                .fault("text after the end of the document's value")
                .hint("check that it is indented like the lines before it"));
        }
        documents.push(Document { tag, root });
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// The offset of the start of the line.
    line_start: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes().first().copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes().get(ahead).copied()
    }

    /// Returns the column of the next character, from 0.
    fn column(&self) -> usize {
        self.at.saturating_sub(self.line_start)
    }

    fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.text.len());
    }

    fn new_line(&mut self) {
        self.skip(1);
        self.line = self.line.saturating_add(1);
        self.line_start = self.at;
    }

    fn here(&self, kind: Kind<'a>) -> Node<'a> {
        let column = u32::try_from(self.column()).unwrap_or(u32::MAX).saturating_add(1);
        Node { kind, line: self.line, column }
    }

    fn fault(&self, message: &'static str) -> Error {
        let column = self.column().saturating_add(1);
        Error::without_offset(ErrorKind::BadValue, format!("line {}, column {column}: {message}", self.line))
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.skip(1);
        }
    }

    /// Skips spaces and a comment, up to the end of the line.
    fn skip_to_line_end(&mut self) {
        self.skip_spaces();
        let comment = self.peek() == Some(b'#')
            && (self.at == self.line_start
                || matches!(self.text.as_bytes().get(self.at.saturating_sub(1)), Some(b' ' | b'\t')));
        if comment {
            while self.peek().is_some_and(|byte| byte != b'\n') {
                self.skip(1);
            }
        }
        if self.peek() == Some(b'\r') {
            self.skip(1);
        }
    }

    /// Skips spaces, comments and empty lines.
    fn skip_blank(&mut self) {
        loop {
            self.skip_to_line_end();
            match self.peek() {
                Some(b'\n') => self.new_line(),
                _ => return,
            }
        }
    }

    fn at_line_end(&mut self) -> bool {
        self.skip_to_line_end();
        matches!(self.peek(), None | Some(b'\n'))
    }

    fn at_document_mark(&self) -> bool {
        let marked = self.rest().starts_with("---") || self.rest().starts_with("...");
        self.column() == 0 && marked && matches!(self.peek_at(3), None | Some(b' ' | b'\n' | b'\r' | b'\t'))
    }

    /// Consumes a document mark at the start of a line.
    fn document_mark(&mut self, mark: &str) -> bool {
        let found = self.at_document_mark() && self.rest().starts_with(mark);
        if found {
            self.skip(3);
        }
        found
    }

    /// Consumes a tag, if there is one.
    fn tag(&mut self) -> &'a str {
        if self.peek() != Some(b'!') {
            return "";
        }
        let rest = self.rest();
        let length = rest.find([' ', '\t', '\n', '\r']).unwrap_or(rest.len());
        self.skip(length);
        rest.get(..length).unwrap_or_default()
    }

    /// Calls `read` one nesting level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fault("lists and maps are nested too deeply"));
        }
        self.depth = self.depth.saturating_add(1);
        let result = read(self);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    /// Parses a node that starts at the next character and is indented deeper than `parent`.
    fn block(&mut self, parent: Option<usize>) -> Result<Node<'a>> {
        let tag = self.tag();
        if !tag.is_empty() {
            self.skip_blank();
        }
        if self.at_dash() {
            return self.nested(Self::list);
        }
        if self.key_ahead() {
            return self.nested(Self::map);
        }
        self.value(parent)
    }

    fn at_dash(&self) -> bool {
        self.peek() == Some(b'-') && matches!(self.peek_at(1), None | Some(b' ' | b'\n' | b'\r' | b'\t'))
    }

    /// Returns whether the line continues with a key and a colon.
    fn key_ahead(&self) -> bool {
        let line = self.bytes();
        let colon_ends = |at: usize| matches!(line.get(at), None | Some(b' ' | b'\n' | b'\r' | b'\t'));
        match line.first() {
            Some(quote @ (b'"' | b'\'')) => {
                let Some(end) = closing_quote(line, *quote) else { return false };
                let after = line.get(end.saturating_add(1)..).unwrap_or_default();
                let spaces = after.iter().take_while(|byte| **byte == b' ').count();
                after.get(spaces) == Some(&b':') && colon_ends(end.saturating_add(spaces).saturating_add(2))
            }
            Some(b'[' | b'{' | b'|' | b'>' | b'&' | b'*') => false,
            _ => {
                let length = line.iter().take_while(|byte| **byte != b'\n').count();
                let line_text = line.get(..length).unwrap_or_default();
                let colon = (0..length).find(|at| {
                    line_text.get(*at) == Some(&b':') && colon_ends(at.saturating_add(1))
                        || line_text.get(*at..).is_some_and(|rest| rest.starts_with(b" #"))
                });
                colon.is_some_and(|at| line_text.get(at) == Some(&b':'))
            }
        }
    }

    fn list(&mut self) -> Result<Node<'a>> {
        let indent = self.column();
        let mut node = self.here(Kind::Null);
        let mut items = Vec::new();
        while self.peek().is_some() && self.column() == indent && self.at_dash() && !self.at_document_mark() {
            self.skip(1);
            let empty = self.here(Kind::Null);
            if self.at_line_end() {
                self.skip_blank();
            }
            let item = if self.peek().is_none() || self.column() <= indent {
                empty
            } else {
                self.block(Some(indent))?
            };
            items.push(item);
            self.skip_blank();
        }
        node.kind = Kind::List { items, flow: false };
        Ok(node)
    }

    fn map(&mut self) -> Result<Node<'a>> {
        let indent = self.column();
        let mut node = self.here(Kind::Null);
        let mut pairs: Vec<(Cow<'a, str>, Node<'a>)> = Vec::new();
        while self.peek().is_some() && self.column() == indent && !self.at_document_mark() {
            if !self.key_ahead() {
                return Err(self.fault("missing key and colon"));
            }
            let place = self.here(Kind::Null);
            let key = self.key()?;
            check_key(&pairs, &place, &key)?;
            let value = self.map_value(indent)?;
            pairs.push((key, value));
            self.skip_blank();
        }
        if self.peek().is_some() && self.column() > indent {
            return Err(self.fault("line is indented deeper than the preceding keys"));
        }
        node.kind = Kind::Map(pairs);
        Ok(node)
    }

    /// Parses a key and its colon.
    fn key(&mut self) -> Result<Cow<'a, str>> {
        let key = match self.peek() {
            Some(quote @ (b'"' | b'\'')) => self.quoted(quote)?,
            _ => {
                let rest = self.rest();
                let bytes = rest.as_bytes();
                let ends = |at: usize| matches!(bytes.get(at), None | Some(b' ' | b'\n' | b'\r' | b'\t'));
                let length = (0..bytes.len())
                    .find(|at| bytes.get(*at) == Some(&b':') && ends(at.saturating_add(1)))
                    .unwrap_or(bytes.len());
                self.skip(length);
                Cow::Borrowed(rest.get(..length).unwrap_or_default().trim_end())
            }
        };
        self.skip_spaces();
        if self.peek() != Some(b':') {
            return Err(self.fault("missing colon after the key"));
        }
        self.skip(1);
        Ok(key)
    }

    fn map_value(&mut self, indent: usize) -> Result<Node<'a>> {
        self.skip_spaces();
        if !self.tag().is_empty() {
            self.skip_spaces();
        }
        let empty = self.here(Kind::Null);
        if !self.at_line_end() {
            return self.value(Some(indent));
        }
        self.skip_blank();
        // A list may be in the same column as its key.
        let list = self.column() == indent && self.at_dash();
        if self.peek().is_none() || self.at_document_mark() || (self.column() <= indent && !list) {
            return Ok(empty);
        }
        self.block(Some(indent))
    }

    /// Parses a value that starts on this line.
    fn value(&mut self, parent: Option<usize>) -> Result<Node<'a>> {
        let mut node = self.here(Kind::Null);
        node.kind = match self.peek() {
            Some(b'[' | b'{') => return self.nested(Self::flow),
            Some(quote @ (b'"' | b'\'')) => Kind::Quoted(self.quoted(quote)?),
            Some(b'|' | b'>') => Kind::Quoted(self.block_text(parent)?),
            Some(b'&' | b'*') => {
                return Err(self.fault("anchors and aliases are not supported").hint("write out the value"));
            }
            _ => Kind::Plain(self.plain(parent)),
        };
        if !matches!(node.kind, Kind::Quoted(_)) || self.at_line_end() || self.column() == 0 {
            return Ok(node);
        }
        Err(self.fault("text after a value"))
    }

    /// Parses text without quotes, including continuation lines that are indented deeper than `parent`.
    fn plain(&mut self, parent: Option<usize>) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(self.plain_line());
        loop {
            let line_end = (self.at, self.line, self.line_start);
            self.skip_blank();
            let deeper = parent.is_none_or(|parent| self.column() > parent);
            let same_line = self.line == line_end.1;
            if same_line
                || !deeper
                || self.peek().is_none()
                || self.at_document_mark()
                || self.key_ahead()
                || self.at_dash()
            {
                (self.at, self.line, self.line_start) = line_end;
                return text;
            }
            let more = self.plain_line();
            let text = text.to_mut();
            text.push(' ');
            text.push_str(more);
        }
    }

    fn plain_line(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let line = rest.get(..end).unwrap_or_default();
        let line = line.split(" #").next().unwrap_or_default().trim_end();
        self.skip(line.len());
        line
    }

    /// Parses a list or a map in brackets.
    fn flow(&mut self) -> Result<Node<'a>> {
        let mut node = self.here(Kind::Null);
        let is_map = self.peek() == Some(b'{');
        self.skip(1);
        if !is_map && let Some(bytes) = self.byte_list() {
            node.kind = Kind::Bytes(Cow::Owned(bytes));
            return Ok(node);
        }
        let (mut items, mut pairs) = (Vec::new(), Vec::new());
        loop {
            self.skip_blank();
            match self.peek() {
                Some(b']') if !is_map => break,
                Some(b'}') if is_map => break,
                None => return Err(self.fault("unclosed bracket")),
                Some(_) if is_map => {
                    let key = self.flow_text()?;
                    let name = key.text().unwrap_or_default();
                    check_key(&pairs, &key, name)?;
                    self.skip_blank();
                    if self.peek() != Some(b':') {
                        return Err(self.fault("missing colon after the key"));
                    }
                    self.skip(1);
                    self.skip_blank();
                    pairs.push((Cow::Owned(name.into()), self.flow_item()?));
                }
                Some(_) => items.push(self.flow_item()?),
            }
            self.skip_blank();
            match self.peek() {
                Some(b',') => self.skip(1),
                Some(b']' | b'}') => {}
                _ => return Err(self.fault("missing comma or closing bracket")),
            }
        }
        self.skip(1);
        node.kind = if is_map { Kind::Map(pairs) } else { Kind::List { items, flow: true } };
        Ok(node)
    }

    fn flow_item(&mut self) -> Result<Node<'a>> {
        match self.peek() {
            Some(b'[' | b'{') => self.nested(Self::flow),
            _ => self.flow_text(),
        }
    }

    fn flow_text(&mut self) -> Result<Node<'a>> {
        let mut node = self.here(Kind::Null);
        match self.peek() {
            Some(quote @ (b'"' | b'\'')) => node.kind = Kind::Quoted(self.quoted(quote)?),
            Some(b'&' | b'*') => return Err(self.fault("anchors and aliases are not supported")),
            _ => {
                let rest = self.rest();
                let end = rest.find([',', ']', '}', '\n', '{', '[', ':']).unwrap_or(rest.len());
                let text = rest.get(..end).unwrap_or_default().trim_end();
                if text.is_empty() {
                    return Err(self.fault("missing value"));
                }
                self.skip(text.len());
                node.kind = Kind::Plain(Cow::Borrowed(text));
            }
        }
        Ok(node)
    }

    /// Parses a list of numbers below 256 up to its bracket; consumes nothing if it is anything else.
    fn byte_list(&mut self) -> Option<Vec<u8>> {
        let source = self.bytes();
        let mut at = 0usize;
        let (mut line, mut line_start) = (self.line, self.line_start);
        let mut bytes = Vec::new();
        loop {
            while let Some(space @ (b' ' | b'\n' | b'\r' | b'\t')) = source.get(at) {
                at = at.saturating_add(1);
                if *space == b'\n' {
                    line = line.saturating_add(1);
                    line_start = self.at.saturating_add(at);
                }
            }
            match source.get(at)? {
                b']' => break,
                b',' if !bytes.is_empty() => at = at.saturating_add(1),
                b'0'..=b'9' => {
                    let (value, length) = byte_number(source.get(at..)?)?;
                    bytes.push(value);
                    at = at.saturating_add(length);
                }
                _ => return None,
            }
        }
        self.skip(at.saturating_add(1));
        (self.line, self.line_start) = (line, line_start);
        // An empty list counts as a list of bytes; it converts to a list of any type.
        Some(bytes)
    }

    /// Parses text in quotes.
    fn quoted(&mut self, quote: u8) -> Result<Cow<'a, str>> {
        let Some(end) = closing_quote(self.bytes(), quote) else {
            return Err(self.fault("unclosed quote"));
        };
        let inner = self.rest().get(1..end).unwrap_or_default();
        let simple = !inner.contains(['\n', '\\', '\'']);
        let text = if simple {
            Cow::Borrowed(inner)
        } else if quote == b'\'' {
            Cow::Owned(fold(&inner.replace("''", "'")))
        } else {
            Cow::Owned(self.unescape(inner)?)
        };
        for (index, _) in inner.match_indices('\n') {
            self.line = self.line.saturating_add(1);
            self.line_start = self.at.saturating_add(index).saturating_add(2);
        }
        self.skip(end.saturating_add(1));
        Ok(text)
    }

    fn unescape(&self, inner: &str) -> Result<String> {
        let mut out = String::with_capacity(inner.len());
        let mut rest = inner;
        while let Some(at) = rest.find(['\\', '\n']) {
            out.push_str(rest.get(..at).unwrap_or_default());
            let tail = rest.get(at..).unwrap_or_default();
            if tail.starts_with('\n') {
                // The first line break in quotes becomes a space; further ones are kept.
                let trimmed = out.trim_end_matches([' ', '\t']).len();
                out.truncate(trimmed);
                let next = tail.trim_start_matches([' ', '\t', '\n', '\r']);
                let blank = tail.get(..tail.len().saturating_sub(next.len())).unwrap_or_default();
                match blank.matches('\n').count() {
                    1 => out.push(' '),
                    breaks => out.extend(core::iter::repeat_n('\n', breaks.saturating_sub(1))),
                }
                rest = next;
                continue;
            }
            let mut characters = tail.chars();
            characters.next();
            let escape = characters.next();
            let digits = match escape {
                Some('x') => 2,
                Some('u') => 4,
                Some('U') => 8,
                _ => 0,
            };
            let after = characters.as_str();
            let character = match escape {
                Some('0') => '\0',
                Some('a') => '\x07',
                Some('b') => '\x08',
                Some('t' | '\t') => '\t',
                Some('n') => '\n',
                Some('v') => '\x0b',
                Some('f') => '\x0c',
                Some('r') => '\r',
                Some('e') => '\x1b',
                Some('N') => '\u{85}',
                Some('_') => '\u{a0}',
                Some('L') => '\u{2028}',
                Some('P') => '\u{2029}',
                Some(same @ ('"' | '\\' | '/' | ' ')) => same,
                Some('\n') => {
                    rest = after.trim_start_matches([' ', '\t']);
                    continue;
                }
                Some('x' | 'u' | 'U') => after
                    .get(..digits)
                    .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                    .and_then(char::from_u32)
                    .ok_or_else(|| self.fault("escape in quotes is not a character"))?,
                _ => return Err(self.fault("unknown escape in quotes")),
            };
            out.push(character);
            rest = after.get(digits..).unwrap_or_default();
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Parses the text after `|` or `>`: the lines that are indented deeper than `parent`.
    fn block_text(&mut self, parent: Option<usize>) -> Result<Cow<'a, str>> {
        let folded = self.peek() == Some(b'>');
        self.skip(1);
        let chomp = match self.peek() {
            Some(sign @ (b'-' | b'+')) => {
                self.skip(1);
                Some(sign)
            }
            _ => None,
        };
        if !self.at_line_end() {
            return Err(self.fault("text after the indicator of a block of text"));
        }
        let mut lines: Vec<&str> = Vec::new();
        let mut indent = None;
        while self.peek() == Some(b'\n') {
            let next = self.rest().get(1..).unwrap_or_default();
            let line = next.split('\n').next().unwrap_or_default();
            let spaces = line.len().saturating_sub(line.trim_start_matches(' ').len());
            if next.is_empty() {
                self.new_line();
                break;
            }
            let blank = line.trim().is_empty();
            let least = indent.unwrap_or_else(|| parent.map_or(0, |parent| parent.saturating_add(1)));
            if !blank
                && (spaces < least || (spaces == 0 && (line.starts_with("---") || line.starts_with("..."))))
            {
                break;
            }
            if !blank {
                indent.get_or_insert(spaces);
            }
            self.new_line();
            self.skip(line.len());
            lines.push(line);
        }
        let indent = indent.unwrap_or_default();
        let lines: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or_default()).collect();
        let text = if folded { fold(&lines.join("\n")) } else { lines.join("\n") };
        let trimmed = text.trim_end_matches('\n');
        Ok(Cow::Owned(match chomp {
            Some(b'-') => trimmed.into(),
            Some(_) => format!("{text}\n"),
            None if trimmed.is_empty() => String::new(),
            None => format!("{trimmed}\n"),
        }))
    }
}

/// Rejects duplicate keys and too many keys.
fn check_key<'a>(pairs: &[(Cow<'a, str>, Node<'a>)], place: &Node<'a>, key: &str) -> Result<()> {
    if pairs.len() >= MAX_KEYS {
        return Err(place.fault("map has too many keys").expected(format!("at most {MAX_KEYS}")));
    }
    if pairs.iter().any(|(name, _)| *name == key) {
        return Err(place.fault("duplicate key"));
    }
    Ok(())
}

/// Returns the position of the closing quote.
fn closing_quote(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1usize;
    loop {
        let byte = *text.get(at)?;
        let doubled = quote == b'\'' && text.get(at.saturating_add(1)) == Some(&b'\'');
        match byte {
            b'\\' if quote == b'"' => at = at.saturating_add(2),
            _ if byte == quote && doubled => at = at.saturating_add(2),
            _ if byte == quote => return Some(at),
            _ => at = at.saturating_add(1),
        }
    }
}

/// Joins lines: the first line break becomes a space, further ones are kept.
fn fold(text: &str) -> String {
    let mut out = String::new();
    let mut breaks = 0usize;
    let mut lines = text.split('\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        // White space is kept at both ends of the text, but not around line breaks.
        let line = if index == 0 { line } else { line.trim_start() };
        let line = if lines.peek().is_none() { line } else { line.trim_end() };
        if line.is_empty() && index > 0 {
            breaks = breaks.saturating_add(1);
            continue;
        }
        if index > 0 {
            match breaks {
                0 => out.push(' '),
                _ => out.extend(core::iter::repeat_n('\n', breaks)),
            }
        }
        breaks = 0;
        out.push_str(line);
    }
    out
}

/// Returns a number below 256 at the start of a text, and its length.
fn byte_number(text: &[u8]) -> Option<(u8, usize)> {
    // Fast path for the usual spelling.
    if let [b'0', b'x', high, low, b',' | b' ', ..] = text
        && let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low))
    {
        return Some((high << 4 | low, 4));
    }
    let (radix, prefix) = match text {
        [b'0', b'x' | b'X', ..] => (16, 2usize),
        _ => (10, 0),
    };
    let digits = text.get(prefix..)?;
    let mut value = 0u32;
    let mut length = 0usize;
    while let Some(digit) = digits.get(length).and_then(|digit| char::from(*digit).to_digit(radix)) {
        value = value.saturating_mul(radix).saturating_add(digit);
        length = length.saturating_add(1);
    }
    let ends = matches!(digits.get(length), Some(b',' | b' ' | b']' | b'\n' | b'\r' | b'\t'));
    let value = u8::try_from(value).ok().filter(|_| ends && length > 0)?;
    Some((value, prefix.saturating_add(length)))
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => digit.checked_sub(b'0'),
        b'A'..=b'F' => digit.checked_sub(b'A' - 10),
        b'a'..=b'f' => digit.checked_sub(b'a' - 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Yaml;
    use super::*;
    use crate::bytes::Bytes;
    use alloc::string::ToString;
    use alloc::vec;

    fn root(text: &str) -> Node<'_> {
        parse(text).unwrap().remove(0).root
    }

    #[test]
    fn documents_tags_and_comments() {
        let documents = parse("# c\n--- !dxcontainer\nA: 1 # one\nB:\n  - x\n  - y: 2\n    z: [1, 2]\n...\n--- !unshade\nC: {a: b}\n").unwrap();
        assert_eq!(documents.iter().map(|d| d.tag).collect::<Vec<_>>(), ["!dxcontainer", "!unshade"]);
        assert_eq!(documents[0].root.get("A").unwrap().text(), Some("1"));
        let list = documents[0].root.get("B").unwrap().items().unwrap();
        assert_eq!(list[1].get("y").unwrap().text(), Some("2"));
        assert_eq!(Bytes::from_node(list[1].get("z").unwrap()).unwrap().0, [1, 2]);
        assert_eq!(documents[1].root.get("C").unwrap().get("a").unwrap().text(), Some("b"));
        assert!(parse("").unwrap().is_empty());
        assert_eq!(parse("--- !t\n").unwrap()[0].root.kind, Kind::Null);
    }

    #[test]
    fn a_list_may_be_in_the_column_of_its_key() {
        let node = root("A:\n- 1\n- 2\nB: 3\n");
        assert_eq!(node.get("A").unwrap().items().unwrap().len(), 2);
        assert_eq!(node.get("B").unwrap().text(), Some("3"));
    }

    #[test]
    fn blocks_of_text_and_long_lines() {
        assert_eq!(root("A: |\n  x\n    y\n\n  z\nB: 1\n").get("A").unwrap().text(), Some("x\n  y\n\nz\n"));
        assert_eq!(root("A: >-\n  x\n  y\n").get("A").unwrap().text(), Some("x y"));
        assert_eq!(root("A: one\n  two\nB: 1\n").get("A").unwrap().text(), Some("one two"));
        assert_eq!(root("A: \"one\n  two\\n\"\nB: 1\n").get("B").unwrap().text(), Some("1"));
    }

    #[test]
    fn errors_have_line_and_column() {
        for (text, place) in [
            ("A: 1\nB: &x 2\n", "line 2, column 4"),
            ("A: *x\n", "line 1, column 4"),
            ("A: [1, 2\n", "line 2, column 1"),
            ("A: 1\nA: 2\n", "line 2, column 1"),
            ("A: 1\n  B: 2\n", "line 2, column 3"),
            ("A: \"x\n", "line 1, column 4"),
            ("A: \"\\q\"\n", "line 1, column 4"),
            ("A: {x}\n", "line 1, column 6"),
            ("A: {x: 1, x: 2}\n", "line 1, column 11"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(place), "{text:?}: {error}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse(&"- ".repeat(100_000)).is_err());
        assert!(parse(&(0..1_000).map(|i| format!("{}a:\n", " ".repeat(i))).collect::<String>()).is_err());
    }

    #[test]
    fn keys_are_limited_and_long_text_takes_linear_time() {
        let keys: String = (0..100_000).map(|key| format!("k{key}: 1\n")).collect();
        assert!(parse(&keys).unwrap_err().to_string().contains("line 1025, column 1: map has too many keys"));
        let text = format!("A: x\n{}", "  y\n".repeat(1_000_000));
        assert_eq!(root(&text).get("A").unwrap().text().map(str::len), Some(2_000_001));
    }

    #[test]
    fn numbers_above_255_are_a_list() {
        assert_eq!(root("[ 0x1, 255,\n 7 ]").kind, Kind::Bytes(Cow::Owned(vec![1, 255, 7])));
        assert!(matches!(root("[ 0x1, 256 ]").kind, Kind::List { .. }));
        assert!(matches!(root("[ 1, a ]").kind, Kind::List { .. }));
        assert_eq!(Vec::<u32>::from_node(&root("[ 1, 2 ]")).unwrap(), [1, 2]);
    }
}
