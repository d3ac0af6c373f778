//! Selects the functions, parts or modules of a program that a command works on.
//!
//! | selector | selects |
//! |---|---|
//! | `name` | the item of exactly this name, mangled or demangled (C++ names hold the characters of regular expressions) |
//! | `/expression/` | every item whose name, mangled or demangled, matches the regular expression |
//! | `#12` | the item of this index |

use crate::demangle_symbol;
use crate::program::ItemName;
use std::ops::ControlFlow;
use unshade_core::Escaped;

/// Maximum length of names that are compared with an unmatched selector.
const MAX_COMPARED: usize = 256;

/// A regular expression over names. Names need not be UTF-8.
#[derive(Clone, Debug)]
pub struct Expression(expression::Regex);

#[cfg(not(target_family = "wasm"))]
mod expression {
    pub(super) use regex::bytes::Regex;

    /// Maximum size of a compiled expression in bytes.
    const MAX_SIZE: usize = 1 << 20;

    pub(super) fn parse(text: &str) -> Result<Regex, String> {
        regex::bytes::RegexBuilder::new(text).size_limit(MAX_SIZE).build().map_err(|error| error.to_string())
    }

    pub(super) fn is_match(regex: &Regex, name: &[u8]) -> bool {
        regex.is_match(name)
    }
}

/// In the browser, the smaller library that searches use as well.
#[cfg(target_family = "wasm")]
mod expression {
    pub(super) use regex_lite::Regex;

    pub(super) fn parse(text: &str) -> Result<Regex, String> {
        Regex::new(text).map_err(|error| error.to_string())
    }

    pub(super) fn is_match(regex: &Regex, name: &[u8]) -> bool {
        regex.is_match(&String::from_utf8_lossy(name))
    }
}

impl Expression {
    fn parse(text: &str) -> Result<Self, String> {
        expression::parse(text).map(Self)
    }

    fn is_match(&self, name: &[u8]) -> bool {
        expression::is_match(&self.0, name)
    }
}

/// One selector.
#[derive(Clone, Debug)]
pub enum Selector {
    /// A name, mangled or demangled.
    Name(String),
    /// A regular expression over names.
    Expression(Expression),
    /// An index.
    Index(u32),
}

impl Selector {
    /// Parses a selector.
    ///
    /// # Errors
    /// A sentence that describes the fault in the regular expression or the index.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(index) = text.strip_prefix('#') {
            let index = index.parse();
            return index
                .map(Self::Index)
                .map_err(|_| format!("{text:?}: # takes the index of a function, as in #12"));
        }
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(expression) => Expression::parse(expression).map(Self::Expression),
            None => Ok(Self::Name(text.to_owned())),
        }
    }

    /// Returns whether an item of this index and name is selected.
    pub fn matches(&self, index: u32, name: &[u8]) -> bool {
        match self {
            Self::Index(wanted) => index == *wanted,
            Self::Name(text) => {
                name == text.as_bytes()
                    || Escaped(name).to_cow() == *text
                    || demangle_symbol(name).is_some_and(|demangled| demangled == *text)
            }
            Self::Expression(expression) => {
                expression.is_match(name)
                    || demangle_symbol(name)
                        .is_some_and(|demangled| expression.is_match(demangled.as_bytes()))
            }
        }
    }
}

/// Writes a selector as on the command line.
impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Expression(expression) => write!(f, "/{}/", expression.0),
            Self::Index(index) => write!(f, "#{index}"),
        }
    }
}

/// Selectors and filters. An item has to pass all of them.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// An item has to match one of these, if there are any.
    pub selectors: Vec<Selector>,
    /// An item has to be of one of these kinds, if there are any: `kernel`, `fragment`.
    pub kinds: Vec<String>,
    /// An item has to have an embedded source.
    pub has_source: bool,
}

impl Selection {
    /// Returns whether an item is selected.
    pub fn matches(&self, item: &ItemName<'_>) -> bool {
        (self.kinds.is_empty()
            || item.kind.is_some_and(|kind| self.kinds.iter().any(|wanted| wanted == kind)))
            && (!self.has_source || item.has_source)
            && self.matches_name(item.index, item.name)
    }

    /// Returns whether one of the selectors matches this index and name; every name matches if there are none.
    pub fn matches_name(&self, index: u32, name: &[u8]) -> bool {
        self.selectors.is_empty() || self.selectors.iter().any(|selector| selector.matches(index, name))
    }

    /// Returns whether every item is selected.
    pub fn is_everything(&self) -> bool {
        self.selectors.is_empty() && self.kinds.is_empty() && !self.has_source
    }
}

/// Finds selectors that match nothing, and the most similar names to suggest instead.
#[derive(Debug)]
pub struct Unmatched<'s> {
    selectors: Vec<(&'s Selector, Nearest)>,
}

/// The name that is most similar to a selector.
#[derive(Debug, Default)]
struct Nearest {
    /// Edit distance between the two.
    edits: usize,
    name: Option<String>,
}

impl<'s> Unmatched<'s> {
    /// Starts with all selectors of a selection.
    pub fn new(selection: &'s Selection) -> Self {
        Self { selectors: selection.selectors.iter().map(|one| (one, Nearest::default())).collect() }
    }

    /// Returns whether every selector has matched something.
    pub fn is_empty(&self) -> bool {
        self.selectors.is_empty()
    }

    /// Removes the selectors that match an item. Breaks once there are none left.
    pub fn remove_matching(&mut self, item: &ItemName<'_>) -> ControlFlow<()> {
        self.selectors.retain(|(selector, _)| !selector.matches(item.index, item.name));
        if self.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Compares the selectors that match nothing with an item's name.
    pub fn compare(&mut self, item: &ItemName<'_>) -> ControlFlow<()> {
        for (selector, nearest) in &mut self.selectors {
            if let Selector::Name(wanted) = selector {
                nearest.note(wanted, &Escaped(item.name).to_cow());
                if let Some(demangled) = demangle_symbol(item.name) {
                    nearest.note(wanted, &demangled);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns one sentence per selector that has matched nothing, with the most similar name.
    pub fn sentences(&self) -> Vec<String> {
        let sentence = |(selector, nearest): &(&Selector, Nearest)| match (selector, &nearest.name) {
            (Selector::Expression(_), _) => format!("no name matches {selector}"),
            (_, Some(name)) => format!("no function {selector}; did you mean {name}?"),
            (_, None) => format!("no function {selector}"),
        };
        self.selectors.iter().map(sentence).collect()
    }
}

impl Nearest {
    /// Keeps a name if it is more similar than the current one, and at most a third of the characters differ.
    fn note(&mut self, wanted: &str, name: &str) {
        if wanted.len() > MAX_COMPARED || name.len() > MAX_COMPARED {
            return;
        }
        let limit = if self.name.is_some() { self.edits } else { wanted.chars().count() / 3 + 1 };
        if wanted.len().abs_diff(name.len()) >= limit.saturating_mul(4) {
            return;
        }
        let edits = strsim::damerau_levenshtein(wanted, name);
        if edits < limit {
            (self.edits, self.name) = (edits, Some(name.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(index: u32, name: &str) -> ItemName<'_> {
        ItemName { index, name: name.as_bytes(), kind: Some("kernel"), has_source: false }
    }

    #[test]
    fn a_name_that_is_not_there_gets_the_nearest() {
        let parse = |text| Selector::parse(text).unwrap();
        let selection = Selection {
            selectors: vec![
                parse("recude_sum"),
                parse("/^x/"),
                parse("#7"),
                parse("sort"),
                parse("nothing_like_it"),
            ],
            ..Selection::default()
        };
        let mut unmatched = Unmatched::new(&selection);
        let names = ["sort", "reduce_sum", "reduce_max"];
        for (index, name) in (0..).zip(names) {
            assert!(unmatched.remove_matching(&item(index, name)).is_continue());
        }
        for (index, name) in (0..).zip(names) {
            assert!(unmatched.compare(&item(index, name)).is_continue());
        }
        assert_eq!(
            unmatched.sentences(),
            [
                "no function recude_sum; did you mean reduce_sum?",
                "no name matches /^x/",
                "no function #7",
                "no function nothing_like_it"
            ]
        );
    }

    #[test]
    fn kinds_and_sources_filter() {
        let selection = Selection { kinds: vec!["vertex".into()], ..Selection::default() };
        assert!(!selection.matches(&item(0, "f")));
        let selection = Selection { has_source: true, ..Selection::default() };
        assert!(!selection.matches(&item(0, "f")) && !selection.is_everything());
    }
}
