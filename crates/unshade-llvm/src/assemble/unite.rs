//! Makes equal metadata one: the same content may be written as several nodes, which LLVM keeps once.
//!
//! LLVM compares a node when it is complete. What a node refers to may not be known then, but its number is. So a
//! node that refers to itself becomes distinct only when it is complete, and until then is equal to others that refer
//! to it in the same way.

use super::parser::Parser;
use crate::equal_metadata::{Enclosing, EqualMetadata};
use crate::hash::{Hash, HashIndex};
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node};

impl Parser<'_> {
    /// Makes equal nodes one.
    pub(super) fn unite_metadata(&mut self) {
        let mut equal = EqualMetadata::new(&self.module.metadata);
        self.unite_self_references(&mut equal);
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
