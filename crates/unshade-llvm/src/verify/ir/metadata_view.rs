//! Nodes of metadata as the checks see them: operands by position, with their kinds.

use super::context::Context;
use crate::body::FunctionBody;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, ValueId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node};

/// A node and the table that it is in.
#[derive(Clone, Copy)]
pub(super) struct View<'t> {
    pub(super) table: &'t MetadataTable,
    pub(super) node: Node,
}

impl<'t> View<'t> {
    /// Returns a reference of the node; none if it is null or missing.
    pub(super) fn reference(&self, at: usize) -> Option<MetadataId> {
        let reference = *self.table.references(self.node).get(at)?;
        Some(MetadataId(narrow(reference.checked_sub(1)?)))
    }

    /// Returns all references; none for each null.
    pub(super) fn references(&self) -> impl Iterator<Item = Option<MetadataId>> + 't {
        let references = self.table.references(self.node).iter();
        references.map(|&reference| reference.checked_sub(1).map(|id| MetadataId(narrow(id))))
    }

    /// Returns a number of the node; 0 if it is missing.
    pub(super) fn number(&self, at: usize) -> u64 {
        self.table.numbers(self.node).get(at).copied().unwrap_or(0)
    }
}

impl Context<'_, '_> {
    /// Returns metadata of the module, or of a body.
    pub(super) fn metadata_entry<'s>(
        &'s self,
        body: Option<&'s FunctionBody>,
        id: MetadataId,
    ) -> Option<(Metadata, &'s MetadataTable)> {
        self.module.metadata(body, id)
    }

    /// Returns a node of the module, or of a body.
    pub(super) fn view<'s>(&'s self, body: Option<&'s FunctionBody>, id: MetadataId) -> Option<View<'s>> {
        match self.metadata_entry(body, id)? {
            (Metadata::Node(node), table) => Some(View { table, node }),
            _ => None,
        }
    }

    /// Returns a node if it is of a kind.
    pub(super) fn view_of<'s>(
        &'s self,
        body: Option<&'s FunctionBody>,
        id: MetadataId,
        kind: NodeKind,
    ) -> Option<View<'s>> {
        self.view(body, id).filter(|view| view.node.kind == kind)
    }

    pub(super) fn node_kind(&self, body: Option<&FunctionBody>, id: MetadataId) -> Option<NodeKind> {
        self.view(body, id).map(|view| view.node.kind)
    }

    /// Returns the text of a string.
    pub(super) fn metadata_text<'s>(&'s self, body: Option<&'s FunctionBody>, id: MetadataId) -> Option<&'s [u8]> {
        match self.metadata_entry(body, id)? {
            (Metadata::String(text), table) => Some(table.string(text)),
            _ => None,
        }
    }

    /// Returns the value that metadata wraps.
    pub(super) fn metadata_value(&self, body: Option<&FunctionBody>, id: MetadataId) -> Option<ValueId> {
        match self.metadata_entry(body, id)?.0 {
            Metadata::Value { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Returns the constant integer that metadata wraps.
    pub(super) fn metadata_integer(&self, body: Option<&FunctionBody>, id: MetadataId) -> Option<u64> {
        let value = self.metadata_value(body, id)?;
        self.integer(body, value)
    }

    /// Returns whether metadata wraps a constant integer of any width.
    pub(super) fn is_metadata_integer(&self, body: Option<&FunctionBody>, id: MetadataId) -> bool {
        self.metadata_value(body, id).is_some_and(|value| {
            self.is_immediate(body, value) && self.is_integer(self.type_of(body, value))
        })
    }
}
