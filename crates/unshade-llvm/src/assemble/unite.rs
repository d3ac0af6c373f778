//! Makes equal metadata one: the same content may be written as several nodes, which LLVM keeps once.

use super::parser::Parser;
use crate::equal_metadata::{EqualMetadata, Enclosing};
use crate::ids::MetadataId;
use crate::metadata::{Metadata, MetadataTable, Node};
use alloc::vec::Vec;

impl Parser<'_> {
    /// Makes equal nodes one.
    pub(super) fn unite_metadata(&mut self) {
        make_self_references_distinct(&mut self.module.metadata);
        let mut equal = EqualMetadata::new(&self.module.metadata);
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
}

/// Makes nodes that refer to themselves distinct, as LLVM does.
fn make_self_references_distinct(table: &mut MetadataTable) {
    let refers_to_itself = |id: MetadataId, node: Node| {
        table.references(node).contains(&(u64::from(id.0) + 1))
    };
    let found: Vec<(MetadataId, Node)> = table
        .iter()
        .filter_map(|(id, entry)| match entry {
            Metadata::Node(node) if !node.distinct && refers_to_itself(id, node) => Some((id, node)),
            _ => None,
        })
        .collect();
    for (id, node) in found {
        table.replace(id, Metadata::Node(Node { distinct: true, ..node }));
    }
}
