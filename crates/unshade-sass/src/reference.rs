//! Reference pages: what an instruction does, its operands and modifiers, and its bits in every generation.
//!
//! The pages are generated from the tables, into this crate's `reference/*.md`.

use crate::generated::reference::PAGES;

/// Returns the Markdown page of a mnemonic; letter case does not matter.
///
/// ```
/// assert!(unshade_sass::reference::page("iscadd").unwrap().starts_with("# ISCADD"));
/// ```
pub fn page(mnemonic: &str) -> Option<&'static str> {
    PAGES.iter().find(|page| page.0.eq_ignore_ascii_case(mnemonic)).map(|page| page.1)
}

/// Returns all mnemonics with a page, in alphabetical order.
pub fn mnemonics() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.0)
}
