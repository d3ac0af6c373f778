//! The operands of a metadata node, one after the other.

use unshade_llvm::Module;
use unshade_llvm::ids::{MetadataId, ValueId};
use unshade_llvm::metadata::Metadata;

/// An operand of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item<'m> {
    /// A string.
    Text(&'m str),
    /// An integer.
    Number(u64),
    /// A function or a variable.
    Value(ValueId),
    /// Another node.
    Node(MetadataId),
    /// Nothing, or what AIR does not have.
    Other,
}

impl<'m> Item<'m> {
    /// Returns the integer.
    pub(super) fn number(self) -> Option<u32> {
        match self {
            Self::Number(number) => u32::try_from(number).ok(),
            _ => None,
        }
    }

    /// Returns the string.
    pub(super) fn text(self) -> Option<&'m str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the node.
    pub(super) fn node(self) -> Option<MetadataId> {
        match self {
            Self::Node(node) => Some(node),
            _ => None,
        }
    }
}

/// Returns the operands of a node.
pub(super) fn items<'m>(module: &'m Module<'_>, node: MetadataId) -> Vec<Item<'m>> {
    let item = |id: Option<MetadataId>| {
        let Some(id) = id else { return Item::Other };
        match module.metadata.get(id) {
            Some(Metadata::String(string)) => {
                std::str::from_utf8(module.metadata.string(string)).map_or(Item::Other, Item::Text)
            }
            Some(Metadata::Node(_)) => Item::Node(id),
            Some(Metadata::Value { value, .. }) => match module.integer(None, value) {
                Some(number) => Item::Number(number),
                None => Item::Value(value),
            },
            _ => Item::Other,
        }
    };
    module.node_operands(node).map(item).collect()
}
