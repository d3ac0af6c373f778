//! Reference pages: what an instruction does, its operands and modifiers, and its bits in every generation.
//!
//! They are written from the tables, as `reference/*.md` beside the source of this crate.

use crate::generated::reference::PAGES;

/// The page of a mnemonic, as Markdown; letters of either case.
///
/// ```
/// assert!(unshade_sass::reference::page("iscadd").unwrap().starts_with("# ISCADD"));
/// ```
pub fn page(mnemonic: &str) -> Option<&'static str> {
    PAGES.iter().find(|page| page.0.eq_ignore_ascii_case(mnemonic)).map(|page| page.1)
}

/// Every mnemonic that has a page, in alphabetic order.
pub fn mnemonics() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.0)
}
