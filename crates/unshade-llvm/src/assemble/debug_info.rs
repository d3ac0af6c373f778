//! Parses the nodes of debug info (`!DILocation(…)` and so on), and debug records.

use super::error::Parsed;
use super::parser::Parser;
use crate::metadata::Metadata;

impl Parser<'_> {
    /// Parses the fields of a node whose name is the current token.
    pub(super) fn debug_info_node(&mut self, name: &[u8], _distinct: bool) -> Parsed<Metadata> {
        self.unknown_node(name)
    }

    /// Parses a debug record, which precedes the next instruction.
    pub(super) fn debug_record(&mut self) -> Parsed<()> {
        self.fault("debug records")
    }

    /// Parses `uselistorder …`.
    pub(super) fn use_list_order(&mut self) -> Parsed<()> {
        self.fault("use-list orders")
    }

    /// Makes equal nodes one.
    pub(super) fn unite_metadata(&mut self) {}

    /// Resolves the `!dbg` attachments of instructions.
    pub(super) fn finish_locations(&mut self) -> Parsed<()> {
        Ok(())
    }
}
