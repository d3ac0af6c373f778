//! The operands of a metadata node, one after the other.

use unshade_llvm::Module;
use unshade_llvm::ids::{MetadataId, ValueId};
use unshade_llvm::metadata::Metadata;

/// The operands of a node that are left.
#[derive(Clone, Copy)]
pub(super) struct Items<'m, 'a> {
    module: &'m Module<'a>,
    rest: &'m [u64],
}

/// An operand of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item<'m> {
    /// A string.
    Text(&'m [u8]),
    /// An integer.
    Number(u32),
    /// A function or a variable.
    Value(ValueId),
    /// Another node.
    Node(MetadataId),
    /// Nothing, or what AIR does not have.
    Other,
}

impl<'m, 'a> Items<'m, 'a> {
    /// Returns the operands of a node; `None` if there is no such node.
    pub(super) fn of(module: &'m Module<'a>, id: MetadataId) -> Option<Self> {
        Some(Self { module, rest: module.metadata.references(module.node(id)?) })
    }

    /// Takes the next operand.
    pub(super) fn take(&mut self) -> Option<Item<'m>> {
        let (&reference, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(self.item(reference))
    }

    /// Returns the next operand.
    pub(super) fn peek(&self) -> Option<Item<'m>> {
        self.rest.first().map(|&reference| self.item(reference))
    }

    /// Takes the next operand if it is a string.
    pub(super) fn text(&mut self) -> Option<&'m [u8]> {
        match self.peek()? {
            Item::Text(text) => {
                self.take();
                Some(text)
            }
            _ => None,
        }
    }

    /// Takes the next operand if it is an integer.
    pub(super) fn number(&mut self) -> Option<u32> {
        match self.peek()? {
            Item::Number(number) => {
                self.take();
                Some(number)
            }
            _ => None,
        }
    }

    /// Takes the next operand if it is a node.
    pub(super) fn node(&mut self) -> Option<MetadataId> {
        match self.peek()? {
            Item::Node(node) => {
                self.take();
                Some(node)
            }
            _ => None,
        }
    }

    fn item(&self, reference: u64) -> Item<'m> {
        let id = reference.checked_sub(1).and_then(|id| u32::try_from(id).ok()).map(MetadataId);
        let Some(id) = id else { return Item::Other };
        match self.module.metadata.get(id) {
            Some(Metadata::String(string)) => Item::Text(self.module.metadata.string(string)),
            Some(Metadata::Node(_)) => Item::Node(id),
            Some(Metadata::Value { value, .. }) => match self.module.integer(None, value) {
                Some(number) => Item::Number(u32::try_from(number).unwrap_or(u32::MAX)),
                None => Item::Value(value),
            },
            _ => Item::Other,
        }
    }
}
