//! Escapes for names that come from files.
//!
//! A name in a file is untrusted: it may contain terminal escapes, line breaks, bidirectional controls, or invalid
//! UTF-8. [`Escaped`] prints all of these as escapes and leaves printable text unchanged.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};

/// Bytes from a file, displayed so that they are safe on a terminal or a web page.
///
/// ```
/// use unshade_core::Escaped;
///
/// assert_eq!(Escaped(b"plain_name").to_string(), "plain_name");
/// assert_eq!(Escaped("größe".as_bytes()).to_string(), "größe");
/// assert_eq!(Escaped(b"a\x1b[31mb\n\xff").to_string(), r"a\x1b[31mb\n\xff");
/// assert_eq!(Escaped("a\u{202e}b".as_bytes()).to_string(), r"a\u{202e}b");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Escaped<'a>(pub &'a [u8]);

impl<'a> Escaped<'a> {
    /// Returns the escaped text, borrowed if nothing has to be escaped.
    pub fn to_cow(self) -> Cow<'a, str> {
        match core::str::from_utf8(self.0) {
            Ok(text) if self.is_plain_ascii() => Cow::Borrowed(text),
            Ok(text) if text.chars().all(|c| is_plain(c) && c != '\\') => Cow::Borrowed(text),
            _ => Cow::Owned(self.to_string()),
        }
    }

    /// Returns whether there are only characters that most names are made of, which show as they are.
    fn is_plain_ascii(self) -> bool {
        self.0.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\')
    }

    /// Returns the escaped text in double quotes, with inner quotes escaped as well.
    pub fn quoted(self) -> String {
        let mut out = String::from("\"");
        for part in self.to_string().split_inclusive('"') {
            match part.strip_suffix('"') {
                Some(head) => {
                    out.push_str(head);
                    out.push_str("\\\"");
                }
                None => out.push_str(part),
            }
        }
        out.push('"');
        out
    }
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (true, Ok(text)) = (self.is_plain_ascii(), core::str::from_utf8(self.0)) {
            return f.write_str(text);
        }
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\\' => f.write_str("\\\\")?,
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    '\t' => f.write_str("\\t")?,
                    c if is_plain(c) => f.write_char(c)?,
                    c if u32::from(c) < 0x100 => write!(f, "\\x{:02x}", u32::from(c))?,
                    c => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.quoted())
    }
}

/// Returns whether a character can be shown unescaped: not a control character, bidirectional control, invisible or
/// private-use character.
pub fn is_plain(c: char) -> bool {
    !c.is_control()
        && !matches!(u32::from(c),
            0x00ad | 0x034f | 0x061c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f
            // Zero-width marks, line and paragraph separators, bidirectional controls, invisible operators.
            | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164
            | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
            // Musical format marks, shorthand format marks, language tags and variation selectors.
            | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff
            // Private use.
            | 0xe000..=0xf8ff | 0xf0000..=0x10ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslashes_are_unambiguous() {
        assert_eq!(Escaped(br"a\x1b").to_string(), r"a\\x1b");
        assert_eq!(Escaped(br"a\b").to_cow(), r"a\\b");
        assert!(matches!(Escaped(b"ns::fn<float>").to_cow(), Cow::Borrowed("ns::fn<float>")));
    }

    #[test]
    fn quotes() {
        assert_eq!(Escaped(br#"say "hi""#).quoted(), r#""say \"hi\"""#);
        assert_eq!(Escaped(b"").quoted(), r#""""#);
    }

    #[test]
    fn every_c1_and_bidi_control_is_escaped() {
        for c in (0x80..0xa0).chain(0x202a..=0x202e).chain(0x2066..=0x2069).filter_map(char::from_u32) {
            let shown = Escaped(c.to_string().as_bytes()).to_string();
            assert!(shown.is_ascii(), "{:x} is shown raw", u32::from(c));
        }
    }
}
