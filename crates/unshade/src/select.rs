//! Selectors: which functions of a library are meant.
//!
//! | written | means |
//! |---|---|
//! | `name` | the function of exactly this name, mangled or demangled (C++ names hold the characters of regular expressions) |
//! | `/expression/` | every function whose name, mangled or demangled, matches the regular expression |
//! | `#12` | the function of this index |

use crate::demangle;
use regex::bytes::{Regex, RegexBuilder};
use unshade_core::Escaped;
use unshade_metallib::{Function, FunctionType};

/// The compiled size that a regular expression may have.
const MAX_EXPRESSION_SIZE: usize = 1 << 20;

/// One selector.
#[derive(Clone, Debug)]
pub enum Selector {
    /// A name, mangled or demangled.
    Name(String),
    /// A regular expression over names.
    Expression(Regex),
    /// A place in the function list.
    Index(u32),
}

impl Selector {
    /// Reads a selector.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the regular expression or the index.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(index) = text.strip_prefix('#') {
            let index = index.parse();
            return index
                .map(Self::Index)
                .map_err(|_| format!("{text:?}: # takes a function's index, as in #12"));
        }
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(expression) => RegexBuilder::new(expression)
                .size_limit(MAX_EXPRESSION_SIZE)
                .build()
                .map(Self::Expression)
                .map_err(|error| error.to_string()),
            None => Ok(Self::Name(text.to_owned())),
        }
    }

    /// Whether a function is meant.
    pub fn matches(&self, function: &Function<'_>) -> bool {
        self.matches_name(function.index, function.name.unwrap_or_default())
    }

    /// Whether a function of this index and name is meant, of whatever it is one.
    pub fn matches_name(&self, place: u32, name: &[u8]) -> bool {
        match self {
            Self::Index(index) => place == *index,
            Self::Name(text) => {
                name == text.as_bytes()
                    || Escaped(name).to_cow() == *text
                    || demangle(name).is_some_and(|demangled| demangled == *text)
            }
            Self::Expression(expression) => {
                expression.is_match(name)
                    || demangle(name).is_some_and(|demangled| expression.is_match(demangled.as_bytes()))
            }
        }
    }
}

/// Selectors and filters together.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// A function has to match one of these, if there are any.
    pub selectors: Vec<Selector>,
    /// A function has to be of one of these types, if there are any.
    pub types: Vec<FunctionType>,
    /// A function has to have an embedded source.
    pub has_source: bool,
}

impl Selection {
    /// Whether a function is meant.
    pub fn matches(&self, function: &Function<'_>) -> bool {
        (self.types.is_empty() || function.kind.is_some_and(|kind| self.types.contains(&kind)))
            && (!self.has_source || function.source_offset.is_some())
            && (self.selectors.is_empty() || self.selectors.iter().any(|selector| selector.matches(function)))
    }

    /// Whether one of the selectors means a function of this index and name; everything does if there are none.
    pub fn matches_name(&self, place: u32, name: &[u8]) -> bool {
        self.selectors.is_empty() || self.selectors.iter().any(|selector| selector.matches_name(place, name))
    }

    /// Whether every function is meant.
    pub fn is_everything(&self) -> bool {
        self.selectors.is_empty() && self.types.is_empty() && !self.has_source
    }
}
