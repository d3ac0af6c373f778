//! Finds metadata entries with equal contents, which LLVM keeps once unless they are distinct.
//!
//! Two nodes are equal if kind, numbers and references are, where references to equal entries are the same. So each
//! pair of equal nodes that is found may make others equal. The search keeps a queue of nodes to look at and an index
//! of those that it has seen, by content; when a node is found to be equal to another one, its users are looked at
//! again. Nodes of a cycle are equal only if they refer to the same entries, as in LLVM. A node that refers to itself
//! is distinct.
//!
//! Knowledge: LLVM's language reference on uniqued metadata, and the output of `llvm-as` and `llvm-dis` 14 and 19.

use crate::body::FunctionBody;
use crate::hash::{Hash, HashIndex};
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Attachments, Metadata, MetadataTable, Node};
use crate::module::Module;
use crate::value::{Operand, OperandKind};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Which entries of a table are equal to others.
#[derive(Clone, Debug, Default)]
pub(crate) struct EqualMetadata {
    /// The number of the first entry.
    base: u32,
    /// For each entry one that it is equal to: itself if it is the one to keep, else one nearer to that. It may be
    /// outside of the table.
    same: Vec<MetadataId>,
    /// The nodes to keep, by content.
    nodes: HashIndex,
}

/// The metadata of the module that a function belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Enclosing<'m> {
    pub(crate) table: &'m MetadataTable,
    pub(crate) equal: &'m EqualMetadata,
}

/// The users of each entry, as linked lists that can be joined.
struct Users {
    /// First and last link, and length, of each entry's list. A link is a position in `links` plus one, zero is none.
    lists: Vec<(u32, u32, u32)>,
    /// Each a user and the next link.
    links: Vec<(u32, u32)>,
}

impl EqualMetadata {
    /// Starts with no entry equal to another one.
    pub(crate) fn new(table: &MetadataTable) -> Self {
        let same = table.iter().map(|(id, _)| id).collect();
        Self { base: table.base(), same, nodes: HashIndex::default() }
    }

    /// Notes that an entry is equal to another one, which is kept.
    pub(crate) fn join(&mut self, id: MetadataId, kept: MetadataId) {
        let base = self.base;
        if let Some(slot) = self.same.get_mut(id.0.wrapping_sub(base) as usize) {
            *slot = kept;
        }
    }

    /// Returns the entry that is kept of those that are equal to this one.
    pub(crate) fn kept(&self, id: MetadataId, enclosing: Option<Enclosing<'_>>) -> MetadataId {
        let mut id = id;
        while let Some(&next) = self.same.get(id.0.wrapping_sub(self.base) as usize) {
            if next == id {
                return id;
            }
            id = next;
        }
        enclosing.map_or(id, |module| module.equal.kept(id, None))
    }

    /// Returns a reference (number plus one, or zero) to the entry that is kept.
    fn kept_reference(&self, reference: u64, enclosing: Option<Enclosing<'_>>) -> u64 {
        match reference.checked_sub(1) {
            Some(id) => u64::from(self.kept(MetadataId(narrow(id)), enclosing).0).saturating_add(1),
            None => 0,
        }
    }

    /// Finds the nodes that are equal to others of the table, or of the module if it is a function's.
    pub(crate) fn find(&mut self, table: &MetadataTable, enclosing: Option<Enclosing<'_>>) {
        let mut users = Users::of(table);
        let mut queue: VecDeque<u32> = (0..).zip(table.iter()).filter(|(_, (_, entry))| is_uniqued(*entry)).map(|(at, _)| at).collect();
        let mut queued = alloc::vec![false; table.len()];
        queue.iter().for_each(|&at| mark(&mut queued, at, true));
        while let Some(at) = queue.pop_front() {
            mark(&mut queued, at, false);
            let id = MetadataId(self.base.saturating_add(at));
            let Some(Metadata::Node(node)) = table.get(id).filter(|_| self.is_kept(id)) else { continue };
            if self.refers_to_itself(table, id, node, enclosing) {
                continue;
            }
            let hash = self.hash(table, node, enclosing);
            let outside = enclosing.and_then(|module| self.find_outside(table, node, hash, module));
            let found = outside.or_else(|| self.find_inside(table, id, hash, enclosing));
            match found {
                Some(other) => {
                    let (merged, kept) = match other.0.checked_sub(self.base) {
                        // The one with fewer users is replaced, so that no user is looked at too often.
                        Some(kept) if outside.is_none() && users.count(kept) < users.count(at) => (kept, at),
                        Some(kept) if outside.is_none() => (at, kept),
                        _ => (at, u32::MAX),
                    };
                    let kept_id = if outside.is_some() { other } else { MetadataId(self.base.saturating_add(kept)) };
                    self.join(MetadataId(self.base.saturating_add(merged)), kept_id);
                    users.for_each(merged, |user| {
                        let is_new = queued.get(user as usize) == Some(&false);
                        let entry = table.get(MetadataId(self.base.saturating_add(user)));
                        if is_new && entry.is_some_and(is_uniqued) {
                            mark(&mut queued, user, true);
                            queue.push_back(user);
                        }
                    });
                    if outside.is_none() {
                        users.join(merged, kept);
                        // The content of the one that is kept is the same, but it has to be found in the index.
                        if kept == at {
                            self.insert(table, at, hash, enclosing);
                        }
                    }
                }
                None => self.insert(table, at, hash, enclosing),
            }
        }
    }

    fn is_kept(&self, id: MetadataId) -> bool {
        self.same.get(id.0.wrapping_sub(self.base) as usize) == Some(&id)
    }

    fn refers_to_itself(&self, table: &MetadataTable, id: MetadataId, node: Node, enclosing: Option<Enclosing<'_>>) -> bool {
        let own = u64::from(id.0).saturating_add(1);
        table.references(node).iter().any(|&reference| self.kept_reference(reference, enclosing) == own)
    }

    /// Returns the words of a node with references to what is kept.
    fn words<'t>(&'t self, table: &'t MetadataTable, node: Node, enclosing: Option<Enclosing<'t>>) -> impl Iterator<Item = u64> + 't {
        let references = table.references(node).iter();
        references.map(move |&reference| self.kept_reference(reference, enclosing)).chain(table.numbers(node).iter().copied())
    }

    fn hash(&self, table: &MetadataTable, node: Node, enclosing: Option<Enclosing<'_>>) -> u64 {
        let start = Hash::new().word(node.kind as u64).word(u64::from(node.references));
        self.words(table, node, enclosing).fold(start, Hash::word).0
    }

    fn insert(&mut self, table: &MetadataTable, at: u32, hash: u64, enclosing: Option<Enclosing<'_>>) {
        let mut nodes = core::mem::take(&mut self.nodes);
        nodes.insert(hash, at, |at| match table.get(MetadataId(self.base.saturating_add(at))) {
            Some(Metadata::Node(node)) => self.hash(table, node, enclosing),
            _ => 0,
        });
        self.nodes = nodes;
    }

    /// Finds another node of the table with the same content.
    fn find_inside(&self, table: &MetadataTable, id: MetadataId, hash: u64, enclosing: Option<Enclosing<'_>>) -> Option<MetadataId> {
        let Some(Metadata::Node(node)) = table.get(id) else { return None };
        let id_of = |at: u32| MetadataId(self.base.saturating_add(at));
        let found = self.nodes.find(hash, |at| {
            let other_id = id_of(at);
            // The index may have the node itself, by what it was before.
            let is_other = other_id != id && self.is_kept(other_id);
            let Some(Metadata::Node(other)) = table.get(other_id).filter(|_| is_other) else { return false };
            is_same_shape(node, other)
                && self.words(table, node, enclosing).eq(self.words(table, other, enclosing))
                && !self.refers_to_itself(table, other_id, other, enclosing)
        });
        found.map(id_of)
    }

    /// Finds a node of the module with the same content.
    fn find_outside(&self, table: &MetadataTable, node: Node, hash: u64, module: Enclosing<'_>) -> Option<MetadataId> {
        let id_of = |at: u32| MetadataId(module.equal.base.saturating_add(at));
        let found = module.equal.nodes.find(hash, |at| {
            let id = id_of(at);
            let other = module.table.get(id).filter(|_| module.equal.is_kept(id));
            let Some(Metadata::Node(other)) = other else { return false };
            is_same_shape(node, other)
                && self.words(table, node, Some(module)).eq(module.equal.words(module.table, other, None))
        });
        found.map(id_of)
    }

    /// Makes the nodes of a table refer to what is kept.
    pub(crate) fn unite_table(&self, table: &mut MetadataTable, enclosing: Option<Enclosing<'_>>) {
        let nodes = table.iter().filter_map(|(_, entry)| match entry {
            Metadata::Node(node) => Some(node),
            _ => None,
        });
        for node in nodes.collect::<Vec<_>>() {
            for at in 0..node.references as usize {
                let reference = table.references(node).get(at).copied().unwrap_or(0);
                table.set_reference(node, at, self.kept_reference(reference, enclosing));
            }
        }
    }

    /// Makes a module refer to what is kept, outside of bodies.
    pub(crate) fn unite_module(&self, module: &mut Module<'_>) {
        self.unite_table(&mut module.metadata, None);
        for named in &mut module.named_metadata {
            named.nodes.iter_mut().for_each(|id| *id = self.kept(*id, None));
        }
        let globals = module.globals.iter_mut().map(|global| &mut global.symbol);
        let functions = module.functions.iter_mut().map(|function| &mut function.symbol);
        for symbol in globals.chain(functions) {
            self.unite_attachments(&mut symbol.attachments, None);
        }
    }

    /// Makes a body refer to what is kept.
    pub(crate) fn unite_body(&self, body: &mut FunctionBody, enclosing: Enclosing<'_>) {
        let enclosing = Some(enclosing);
        self.unite_table(&mut body.metadata, enclosing);
        self.unite_attachments(&mut body.attached, enclosing);
        self.unite_attachments(&mut body.function_attachments, enclosing);
        for operand in &mut body.operands {
            if let OperandKind::Metadata(id) = operand.kind() {
                *operand = Operand::metadata(self.kept(id, enclosing));
            }
        }
        for location in &mut body.locations {
            location.scope = self.kept(location.scope, enclosing);
            location.inlined_at = self.kept(location.inlined_at, enclosing);
        }
        for record in &mut body.debug_records {
            let count = record.metadata_operands();
            for operand in record.operands.iter_mut().take(count) {
                *operand = u64::from(self.kept(MetadataId(narrow(*operand)), enclosing).0);
            }
        }
    }

    fn unite_attachments(&self, attachments: &mut Attachments, enclosing: Option<Enclosing<'_>>) {
        attachments.iter_mut().for_each(|(_, id)| *id = self.kept(*id, enclosing));
    }
}

impl Users {
    fn of(table: &MetadataTable) -> Self {
        let mut users = Self { lists: alloc::vec![(0, 0, 0); table.len()], links: Vec::new() };
        for (user, (_, entry)) in (0u32..).zip(table.iter()) {
            let Metadata::Node(node) = entry else { continue };
            for id in table.references(node).iter().filter_map(|reference| reference.checked_sub(1)) {
                users.add(narrow(id).wrapping_sub(table.base()), user);
            }
        }
        users
    }

    fn add(&mut self, used: u32, user: u32) {
        let Some((first, last, count)) = self.lists.get_mut(used as usize) else { return };
        self.links.push((user, *first));
        *first = narrow(self.links.len() as u64);
        if *last == 0 {
            *last = *first;
        }
        *count = count.saturating_add(1);
    }

    fn count(&self, used: u32) -> u32 {
        self.lists.get(used as usize).map_or(0, |&(.., count)| count)
    }

    fn for_each(&self, used: u32, mut visit: impl FnMut(u32)) {
        let mut link = self.lists.get(used as usize).map_or(0, |&(first, ..)| first);
        while let Some(&(user, next)) = link.checked_sub(1).and_then(|at| self.links.get(at as usize)) {
            visit(user);
            link = next;
        }
    }

    /// Moves the users of one entry to another one.
    fn join(&mut self, from: u32, to: u32) {
        let moved = self.lists.get_mut(from as usize).map(core::mem::take).unwrap_or_default();
        let Some((first, last, count)) = self.lists.get_mut(to as usize).filter(|_| moved.2 > 0) else { return };
        if let Some((_, next)) = moved.1.checked_sub(1).and_then(|at| self.links.get_mut(at as usize)) {
            *next = *first;
        }
        *first = moved.0;
        if *last == 0 {
            *last = moved.1;
        }
        *count = count.saturating_add(moved.2);
    }
}

fn is_uniqued(entry: Metadata) -> bool {
    matches!(entry, Metadata::Node(node) if !node.distinct)
}

fn is_same_shape(node: Node, other: Node) -> bool {
    (node.kind, node.references, node.words.count) == (other.kind, other.references, other.words.count)
        && !other.distinct
}

fn mark(flags: &mut [bool], at: u32, value: bool) {
    if let Some(flag) = flags.get_mut(at as usize) {
        *flag = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debug_info::NodeKind;

    /// Returns the entry that is kept for each of these tuples, which refer to each other by position.
    fn kept(nodes: &[&[u64]]) -> Vec<u32> {
        let mut table = MetadataTable::default();
        for references in nodes {
            let references: Vec<u64> = references.iter().map(|reference| reference + 1).collect();
            let node = table.node(NodeKind::Tuple, false, &references, &[]);
            table.add(node);
        }
        let mut equal = EqualMetadata::new(&table);
        equal.find(&table, None);
        (0..nodes.len() as u32).map(|at| equal.kept(MetadataId(at), None).0).collect()
    }

    #[test]
    fn equal_nodes_make_their_users_equal() {
        let kept = kept(&[&[3], &[4], &[3], &[8], &[9], &[], &[5], &[2], &[], &[]]);
        assert_eq!(kept[0], kept[1]);
        assert_eq!((kept[3], kept[4]), (kept[6], kept[6]));
        assert_eq!((kept[8], kept[9]), (kept[5], kept[5]));
        assert_eq!(kept[2], kept[0]);
        assert_ne!(kept[7], kept[0]);
    }

    #[test]
    fn cycles_and_self_references_stay() {
        assert_eq!(kept(&[&[1], &[0], &[3], &[2]]), [0, 1, 2, 3]);
        assert_eq!(kept(&[&[0], &[1], &[0]]), [0, 1, 2]);
        // Two nodes that refer to the same cycle in the same way are equal.
        let kept = kept(&[&[1], &[0], &[1]]);
        assert_eq!(kept[0], kept[2]);
    }

    #[test]
    fn long_chains_take_linear_time() {
        // Two chains of nodes, each of which refers to the next.
        let count = 100_000;
        let mut nodes: Vec<Vec<u64>> = (0..count).map(|at| alloc::vec![at + 1]).collect();
        nodes.push(Vec::new());
        nodes.extend((0..count).map(|at| alloc::vec![count + at + 2]));
        nodes.push(Vec::new());
        let nodes: Vec<&[u64]> = nodes.iter().map(Vec::as_slice).collect();
        let kept = kept(&nodes);
        assert_eq!(kept[0], kept[count as usize + 1]);
    }
}
