//! The values of a field: which, how often, and from where to where.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use unshade_core::{Field, Value};

/// So many different values of a field are kept; the others are counted together.
pub const MAX_VALUES: usize = 64;

/// So much of a value's text or meaning is kept, in bytes.
const MAX_TEXT: usize = 96;

/// The beginning of a text that is kept.
fn cut(text: &str) -> &str {
    let end = (0..=MAX_TEXT.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// What a value is told from others by: numbers by themselves, texts and bytes by their hash.
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

/// One value.
#[derive(Clone, Debug)]
pub(super) struct Known {
    key: Key,
    pub(super) text: String,
    /// What it means; empty where that depends on other fields.
    pub(super) meaning: String,
    pub(super) count: u64,
}

/// The values of one field.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    known: Vec<Known>,
    places: HashMap<Key, u32>,
    /// How many values were counted together.
    pub(super) others: u64,
    /// The least and the greatest number.
    pub(super) range: Option<(u64, u64)>,
}

/// The number of all values that are not kept by themselves.
pub(super) const OTHERS: u32 = u32::MAX;

impl Values {
    /// Counts a value; returns its number, which is [`OTHERS`] if there were too many before it.
    pub(super) fn add(&mut self, field: &Field<'_>) -> u32 {
        if let Value::Number(number) | Value::Hex(number) = field.value {
            self.widen((number, number));
        }
        let key = Key::new(field);
        if let Some(place) = self.places.get(&key) {
            if let Some(known) = self.known.get_mut(*place as usize) {
                known.count += 1;
                if !known.meaning.is_empty() && known.meaning != cut(&field.meaning) {
                    known.meaning.clear();
                }
            }
            return *place;
        }
        let text = cut(&field.value.to_text()).to_owned();
        self.insert(Known { key, text, meaning: cut(&field.meaning).to_owned(), count: 1 })
    }

    fn insert(&mut self, known: Known) -> u32 {
        if self.known.len() >= MAX_VALUES {
            self.others += known.count;
            return OTHERS;
        }
        let place = self.known.len() as u32;
        self.places.insert(known.key, place);
        self.known.push(known);
        place
    }

    fn widen(&mut self, (least, greatest): (u64, u64)) {
        let (old_least, old_greatest) = self.range.unwrap_or((least, greatest));
        self.range = Some((old_least.min(least), old_greatest.max(greatest)));
    }

    /// Adds the values of another list; returns the numbers that they have here.
    pub(super) fn merge(&mut self, other: Self) -> Vec<u32> {
        self.others += other.others;
        if let Some(range) = other.range {
            self.widen(range);
        }
        let place = |known: Known| match self.places.get(&known.key) {
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

    /// Whether there were more than are kept.
    pub(super) fn overflows(&self) -> bool {
        self.others > 0
    }

    /// How many different ones are kept.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn get(&self, number: u32) -> Option<&Known> {
        self.known.get(number as usize)
    }

    /// Those that are kept, the most frequent first.
    pub(super) fn by_count(&self) -> Vec<&Known> {
        let mut known: Vec<&Known> = self.known.iter().collect();
        known.sort_by(|a, b| (b.count, a.key).cmp(&(a.count, b.key)));
        known
    }
}

impl Known {
    /// The value, and what it means.
    pub(super) fn shown(&self) -> String {
        match (self.text.as_str(), self.meaning.as_str()) {
            (text, "") => text.to_owned(),
            ("", meaning) => meaning.to_owned(),
            (text, meaning) => format!("{text} {meaning}"),
        }
    }
}
