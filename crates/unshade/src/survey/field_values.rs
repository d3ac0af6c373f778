//! Counts the values of a field and tracks their range.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use unshade_core::{Field, Value};

/// Maximum number of distinct values of a field that are kept; the others are counted together.
pub const MAX_VALUES: usize = 64;

/// Maximum length in bytes of a value's text or meaning; longer texts are truncated.
const MAX_TEXT: usize = 96;

/// Truncates a text to the maximum length.
fn cut(text: &str) -> &str {
    let end = (0..=MAX_TEXT.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Identifies a value: its kind, and the number itself or the hash of a text or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key(u8, u64);

impl Key {
    fn new(field: &Field<'_>) -> Self {
        fn hash(of: impl Hash) -> u64 {
            let mut hasher = DefaultHasher::new();
            of.hash(&mut hasher);
            hasher.finish()
        }
        match &field.value {
            Value::None => Self(0, hash(field.meaning.as_ref())),
            Value::Number(number) => Self(1, *number),
            Value::Hex(number) => Self(2, *number),
            Value::FourCc(code) => Self(3, hash(code.0)),
            Value::Text(text) => Self(4, hash(text)),
            Value::Bytes(bytes) => Self(5, hash(bytes)),
        }
    }
}

/// A value that is counted by itself.
#[derive(Clone, Debug)]
pub(super) struct KnownValue {
    key: Key,
    pub(super) text: String,
    /// Meaning; empty if the same value occurs with different meanings.
    pub(super) meaning: String,
    pub(super) count: u64,
}

/// The values of one field.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    known: Vec<KnownValue>,
    /// Index in `known` by key.
    numbers: HashMap<Key, u32>,
    /// Number of occurrences of values that are not kept.
    pub(super) others: u64,
    /// Minimum and maximum of numbers.
    pub(super) range: Option<(u64, u64)>,
}

/// Value number that stands for all values that are not kept.
pub(super) const OTHERS: u32 = u32::MAX;

impl Values {
    /// Counts a value and returns its number, or [`OTHERS`] if the maximum is reached.
    pub(super) fn add(&mut self, field: &Field<'_>) -> u32 {
        if let Value::Number(number) | Value::Hex(number) = field.value {
            self.widen((number, number));
        }
        let key = Key::new(field);
        if let Some(place) = self.numbers.get(&key) {
            if let Some(known) = self.known.get_mut(*place as usize) {
                known.count += 1;
                if !known.meaning.is_empty() && known.meaning != cut(&field.meaning) {
                    known.meaning.clear();
                }
            }
            return *place;
        }
        let text = cut(&field.value.to_text()).to_owned();
        self.insert(KnownValue { key, text, meaning: cut(&field.meaning).to_owned(), count: 1 })
    }

    fn insert(&mut self, known: KnownValue) -> u32 {
        if self.known.len() >= MAX_VALUES {
            self.others += known.count;
            return OTHERS;
        }
        let place = self.known.len() as u32;
        self.numbers.insert(known.key, place);
        self.known.push(known);
        place
    }

    fn widen(&mut self, (least, greatest): (u64, u64)) {
        let (old_least, old_greatest) = self.range.unwrap_or((least, greatest));
        self.range = Some((old_least.min(least), old_greatest.max(greatest)));
    }

    /// Adds the values of another field and returns their numbers here.
    pub(super) fn merge(&mut self, other: Self) -> Vec<u32> {
        self.others += other.others;
        if let Some(range) = other.range {
            self.widen(range);
        }
        let place = |known: KnownValue| match self.numbers.get(&known.key) {
            Some(&place) => {
                if let Some(own) = self.known.get_mut(place as usize) {
                    own.count += known.count;
                    if own.meaning != known.meaning {
                        own.meaning.clear();
                    }
                }
                place
            }
            None => self.insert(known),
        };
        other.known.into_iter().map(place).collect()
    }

    /// Returns whether there were more values than are kept.
    pub(super) fn overflows(&self) -> bool {
        self.others > 0
    }

    /// Returns the number of values that are kept.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn get(&self, number: u32) -> Option<&KnownValue> {
        self.known.get(number as usize)
    }

    /// Returns the values that are kept, most frequent first.
    pub(super) fn by_count(&self) -> Vec<&KnownValue> {
        let mut known: Vec<&KnownValue> = self.known.iter().collect();
        known.sort_by(|a, b| (b.count, a.key).cmp(&(a.count, b.key)));
        known
    }
}

impl KnownValue {
    /// Returns the value with its meaning.
    pub(super) fn shown(&self) -> String {
        match (self.text.as_str(), self.meaning.as_str()) {
            (text, "") => text.to_owned(),
            ("", meaning) => meaning.to_owned(),
            (text, meaning) => format!("{text} {meaning}"),
        }
    }
}
