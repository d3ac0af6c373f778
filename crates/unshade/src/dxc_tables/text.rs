//! Lines of comments, and columns in them.

use std::borrow::Cow;
use unshade_core::{Escaped, escape::is_plain};

/// Tables that are longer than this, and than so much for each byte of the container, are cut: structs may hold each
/// other many times over.
const MAX_TEXT: usize = 1 << 20;
const MAX_TEXT_PER_BYTE: usize = 64;

/// Lines of comments.
pub(super) struct Table {
    text: String,
    limit: usize,
    is_cut: bool,
}

impl Table {
    /// An empty table of a container of so many bytes.
    pub(super) fn new(size: usize) -> Self {
        let limit = size.saturating_mul(MAX_TEXT_PER_BYTE).saturating_add(MAX_TEXT);
        Self { text: String::new(), limit, is_cut: false }
    }

    /// A line, with the `;` put before it.
    pub(super) fn line(&mut self, line: &str) {
        if self.is_cut {
            return;
        }
        self.text.push(';');
        self.text.push_str(line);
        self.text.push('\n');
        if self.text.len() > self.limit {
            self.is_cut = true;
            self.text.push_str("; … the tables are longer than this\n");
        }
    }

    /// Lines with an empty one before and after each.
    pub(super) fn title(&mut self, title: &str) {
        self.line("");
        self.line(title);
        self.line("");
    }

    /// Whether nothing more is taken.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// How many bytes are still taken.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// A name as it is, but for characters that would do harm.
pub(super) fn plain(name: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(name) {
        Ok(text) if text.chars().all(is_plain) => Cow::Borrowed(text),
        _ => Cow::Owned(Escaped(name).to_string()),
    }
}

/// A text at the left of so many bytes.
pub(super) fn left(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(text.len()))
}

/// A text at the right of so many bytes.
pub(super) fn right(text: &str, width: usize) -> String {
    format!("{:1$}{text}", "", width.saturating_sub(text.len()))
}

/// Components of a mask, each in its place.
pub(super) fn mask_in_place(mask: u8) -> String {
    "xyzw".chars().enumerate().map(|(bit, name)| if mask >> bit & 1 != 0 { name } else { ' ' }).collect()
}

/// Components of a mask, one after the other.
pub(super) fn mask_packed(mask: u8) -> String {
    "xyzw".chars().enumerate().filter(|(bit, _)| mask >> bit & 1 != 0).map(|(_, name)| name).collect()
}

/// Numbers with commas between.
pub(super) fn numbers(list: &[u32]) -> String {
    list.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns() {
        assert_eq!(
            (left("ab", 4), right("ab", 4), left("abcde", 4)),
            ("ab  ".into(), "  ab".into(), "abcde".into())
        );
        // LLVM counts bytes.
        assert_eq!(left("ä", 4), "ä  ");
        assert_eq!((mask_in_place(0b1010), mask_packed(0b1010)), (" y w".into(), "yw".into()));
    }

    #[test]
    fn names() {
        assert_eq!(plain(br"C:\a.pdb"), r"C:\a.pdb");
        assert_eq!(plain(b"a\x1b[1m\n"), r"a\x1b[1m\n");
    }
}
