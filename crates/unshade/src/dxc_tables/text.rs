//! Formats comment lines and their columns.

use std::borrow::Cow;
use unshade_core::{Escaped, escape::is_plain};

/// Maximum size of all tables: the larger of a fixed size and a multiple of the container's size. Nested structs can
/// expand exponentially.
const MAX_TEXT: usize = 1 << 20;
const MAX_TEXT_PER_BYTE: usize = 64;

/// Comment lines of bounded size.
pub(super) struct Table {
    text: String,
    limit: usize,
    is_cut: bool,
}

impl Table {
    /// Creates an empty table for a container of `size` bytes.
    pub(super) fn new(size: usize) -> Self {
        let limit = size.saturating_mul(MAX_TEXT_PER_BYTE).saturating_add(MAX_TEXT);
        Self { text: String::new(), limit, is_cut: false }
    }

    /// Appends a line after `;`.
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

    /// Appends a title, with an empty line before and after it.
    pub(super) fn title(&mut self, title: &str) {
        self.line("");
        self.line(title);
        self.line("");
    }

    /// Returns whether the maximum size was reached.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns the number of bytes that still fit.
    pub(super) fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Returns a name with unsafe characters replaced.
pub(super) fn plain(name: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(name) {
        Ok(text) if text.chars().all(is_plain) => Cow::Borrowed(text),
        _ => Cow::Owned(Escaped(name).to_string()),
    }
}

/// Pads a text on the right to `width` bytes.
pub(super) fn left(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(text.len()))
}

/// Pads a text on the left to `width` bytes.
pub(super) fn right(text: &str, width: usize) -> String {
    format!("{:1$}{text}", "", width.saturating_sub(text.len()))
}

/// Formats a mask with spaces for missing components.
pub(super) fn mask_in_place(mask: u8) -> String {
    "xyzw".chars().enumerate().map(|(bit, name)| if mask >> bit & 1 != 0 { name } else { ' ' }).collect()
}

/// Formats a mask without spaces.
pub(super) fn mask_packed(mask: u8) -> String {
    "xyzw".chars().enumerate().filter(|(bit, _)| mask >> bit & 1 != 0).map(|(_, name)| name).collect()
}

/// Formats numbers separated by commas.
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
