//! Text that stays short, whatever a hostile program has: beyond a limit, only its hash is kept.

use std::fmt;
use std::hash::{DefaultHasher, Hasher as _};
use std::rc::Rc;

/// The number of bytes that are kept.
const LIMIT: usize = 600;

/// A text that is written piece by piece. Two texts of the same pieces are equal, and long texts that differ have other hashes.
#[derive(Default)]
pub(super) struct Bounded {
    text: String,
    rest: Option<DefaultHasher>,
}

impl Bounded {
    /// Returns the text, with the hash of what was cut off.
    pub(super) fn finish(self) -> Rc<str> {
        match self.rest {
            Some(rest) => format!("{}…{:016x}", self.text, rest.finish()).into(),
            None => self.text.into(),
        }
    }

    /// Writes texts, separated by commas.
    pub(super) fn list<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) {
        for (number, text) in texts.into_iter().enumerate() {
            self.put(if number > 0 { ", " } else { "" });
            self.put(text.as_ref());
        }
    }

    pub(super) fn put(&mut self, text: &str) {
        if self.rest.is_none() && self.text.len() + text.len() <= LIMIT {
            self.text.push_str(text);
        } else {
            self.rest.get_or_insert_default().write(text.as_bytes());
        }
    }
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_told_apart() {
        let text = |count: usize, last: &str| {
            let mut text = Bounded::default();
            text.list((0..count).map(|_| "four"));
            text.put(last);
            text.finish()
        };
        assert_eq!(&*text(2, "x"), "four, fourx");
        assert!(text(1_000_000, "x").len() < LIMIT + 30);
        assert_eq!(text(1_000, "x"), text(1_000, "x"));
        assert_ne!(text(1_000, "x"), text(1_000, "y"));
    }
}
