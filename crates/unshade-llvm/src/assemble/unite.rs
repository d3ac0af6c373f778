//! Makes equal metadata one: the same content may be written as several nodes, which LLVM keeps once.
//!
//! LLVM compares a node when it is complete. What a node refers to may not be known then, but its number is. So a
//! node that refers to itself becomes distinct only when it is complete, and until then is equal to others that refer
//! to it in the same way.
//!
//! Some debug info is equal although its content is not: members and declared methods of one name in a type with an
//! identifier, and ranges with one count in integers of different widths. The first is kept.

use super::debug_info::DEFINITION;
use super::parser::Parser;
use crate::debug_info::NodeKind;
use crate::equal_metadata::{Enclosing, EqualMetadata};
use crate::hash::{Hash, HashIndex};
use crate::ids::{MetadataId, ValueId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node};
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;

/// Which reference of a composite type is its identifier.
const IDENTIFIER: usize = 7;

impl Parser<'_> {
    /// Makes equal nodes one.
    pub(super) fn unite_metadata(&mut self) {
        let mut equal = EqualMetadata::new(&self.module.metadata);
        self.unite_by_key(&mut equal);
        self.unite_self_references(&mut equal);
        self.unite(equal);
    }

    /// Makes nodes one that an upgrade has added with those that they are equal to.
    pub(super) fn unite_upgraded(&mut self) {
        let mut equal = EqualMetadata::new(&self.module.metadata);
        let mut values: BTreeMap<ValueId, MetadataId> = BTreeMap::new();
        for (id, entry) in self.module.metadata.iter() {
            if let Metadata::Value { value, .. } = entry {
                match values.entry(value) {
                    Entry::Occupied(first) => equal.join(id, *first.get()),
                    Entry::Vacant(entry) => drop(entry.insert(id)),
                }
            }
        }
        self.unite(equal);
    }

    fn unite(&mut self, mut equal: EqualMetadata) {
        equal.find(&self.module.metadata, None);
        equal.unite_module(&mut self.module);
        let module = Enclosing { table: &self.module.metadata, equal: &equal };
        for body in &mut self.bodies {
            let mut own = EqualMetadata::new(&body.metadata);
            own.find(&body.metadata, Some(module));
            own.unite_body(body, module);
        }
        for location in self.metadata.locations.iter_mut().flatten() {
            location.node = equal.kept(location.node, None);
        }
    }

    /// Makes debug info one that LLVM takes for equal by a part of its content.
    fn unite_by_key(&self, equal: &mut EqualMetadata) {
        let mut first = BTreeMap::new();
        for &id in &self.metadata.complete {
            let key = uniqued(&self.module.metadata, id).and_then(|node| self.key_of(node));
            let Some(key) = key else { continue };
            match first.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(id);
                }
                Entry::Occupied(entry) => equal.join(id, *entry.get()),
            }
        }
    }

    /// Returns the part of a node that makes it equal to others.
    fn key_of(&self, node: Node) -> Option<(NodeKind, [u64; 4])> {
        const MEMBER: u64 = 0x0D;
        let table = &self.module.metadata;
        let reference = |at: usize| table.references(node).get(at).copied().unwrap_or_default();
        let number = |at: usize| table.numbers(node).get(at).copied().unwrap_or_default();
        let key = match node.kind {
            NodeKind::DerivedType if number(0) == MEMBER && reference(2) != 0 => {
                [reference(1), reference(2), 0, 0]
            }
            NodeKind::Subprogram if number(5) & DEFINITION == 0 && reference(3) != 0 => {
                [reference(1), reference(3), reference(9), 0]
            }
            NodeKind::Subrange => {
                let count = self.signed_integer(MetadataId(narrow(reference(0).checked_sub(1)?)))?;
                return Some((node.kind, [count, reference(1), reference(2), reference(3)]));
            }
            _ => return None,
        };
        let scope = table.get(MetadataId(narrow(reference(1).checked_sub(1)?)))?;
        let Metadata::Node(scope) = scope else { return None };
        let identifier = table.references(scope).get(IDENTIFIER).copied().unwrap_or_default();
        (scope.kind == NodeKind::CompositeType && identifier != 0).then_some((node.kind, key))
    }

    /// Returns the integer that metadata is, extended to 64 bits.
    fn signed_integer(&self, id: MetadataId) -> Option<u64> {
        let Some(Metadata::Value { ty, value }) = self.module.metadata.get(id) else { return None };
        let Type::Integer(width @ 1..=64) = self.module.types.get(ty) else { return None };
        let unused = 64 - width;
        let value = self.module.integer(None, value)? << unused;
        Some((value.cast_signed() >> unused).cast_unsigned())
    }

    /// Makes nodes that refer to themselves distinct, after they are united with what was written in the same way
    /// before.
    fn unite_self_references(&mut self, equal: &mut EqualMetadata) {
        let complete = core::mem::take(&mut self.metadata.complete);
        let table = &mut self.module.metadata;
        let is_self =
            |table: &MetadataTable, id| uniqued(table, id).is_some_and(|node| refers_to(table, node, id));
        if !complete.iter().any(|&id| is_self(table, id)) {
            return;
        }
        let node_at = |table: &MetadataTable, at: u32| {
            let id = *complete.get(at as usize)?;
            Some((id, uniqued(table, id)?))
        };
        let hash = |table: &MetadataTable, node: Node| {
            let start = Hash::new().word(node.kind as u64).word(u64::from(node.references));
            table.words(node).iter().copied().fold(start, Hash::word).0
        };
        let mut index = HashIndex::default();
        // Entries of the index that became distinct.
        let mut closed = alloc::vec![false; complete.len()];
        for at in 0..narrow(complete.len() as u64) {
            let Some((id, node)) = node_at(table, at) else { continue };
            let same = |at: u32| {
                let is_open = closed.get(at as usize) == Some(&false);
                node_at(table, at).filter(|_| is_open).is_some_and(|(_, other)| {
                    (other.kind, other.references) == (node.kind, node.references)
                        && table.words(other) == table.words(node)
                })
            };
            let hash_of_node = hash(table, node);
            let found = index.find(hash_of_node, same);
            match found.and_then(|found| complete.get(found as usize)) {
                Some(&first) if refers_to(table, node, id) => {
                    equal.join(first, id);
                    found
                        .and_then(|found| closed.get_mut(found as usize))
                        .into_iter()
                        .for_each(|flag| *flag = true);
                }
                Some(&first) => equal.join(id, first),
                None => {
                    index.insert(hash_of_node, at, |at| {
                        node_at(table, at).map_or(0, |(_, node)| hash(table, node))
                    });
                }
            }
            if refers_to(table, node, id) {
                table.replace(id, Metadata::Node(Node { distinct: true, ..node }));
            }
        }
    }
}

/// Returns a node that isn't distinct.
fn uniqued(table: &MetadataTable, id: MetadataId) -> Option<Node> {
    match table.get(id)? {
        Metadata::Node(node) if !node.distinct => Some(node),
        _ => None,
    }
}

/// Returns whether a node refers to an entry.
fn refers_to(table: &MetadataTable, node: Node, id: MetadataId) -> bool {
    table.references(node).contains(&(u64::from(id.0) + 1))
}
