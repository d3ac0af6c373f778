//! The numbers of metadata.
//!
//! Nodes follow their operands. A distinct node below a uniqued one waits until the uniqued nodes around it are done,
//! so that these get numbers close to each other. Metadata that only one function refers to is numbered after that
//! of the module, anew in each function. Within the module and within each function strings come first, then
//! values, then distinct nodes, then uniqued ones.

use super::Numbering;
use crate::debug_info::{NodeKind, operand_order};
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node};
use crate::value::ValueKind;
use crate::write::Version;
use crate::write::source::{Key, Scope};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Result};

/// The owner of metadata that nothing has referred to yet.
const UNSEEN: u32 = u32::MAX;
/// The owner of metadata that more than one function, or the module, refers to.
pub(super) const MODULE: u32 = 0;

/// The numbers of metadata.
#[derive(Default)]
pub(in crate::write) struct MetadataNumbers {
    /// All numbered metadata, of the module and of the function that is being written.
    list: Vec<Key>,
    /// The number plus one, by key.
    ids: Vec<u32>,
    /// What refers to it, by key: the number of a function plus one, or [`MODULE`].
    owners: Vec<u32>,
    /// The metadata of all functions.
    of_functions: Vec<Key>,
    /// The ranges of `of_functions`, and the number of strings at the start of each, by function.
    ranges: BTreeMap<u32, (Range<usize>, usize)>,
    /// The number of entries of the module, and of strings at the start of them.
    module_entries: usize,
    module_strings: usize,
}

/// A list of metadata: strings first.
pub(in crate::write) struct MetadataLists<'n> {
    pub(in crate::write) strings: &'n [Key],
    pub(in crate::write) others: &'n [Key],
}

impl MetadataNumbers {
    pub(super) fn new(count: usize) -> Self {
        Self { ids: alloc::vec![0; count], owners: alloc::vec![UNSEEN; count], ..Self::default() }
    }

    /// Returns whether there is any metadata.
    pub(in crate::write) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the metadata of the module.
    pub(in crate::write) fn of_module(&self) -> MetadataLists<'_> {
        let (strings, others) = self.list.split_at_checked(self.module_strings).unwrap_or_default();
        MetadataLists { strings, others }
    }

    /// Returns the metadata of the function that is being written.
    pub(in crate::write) fn of_function(&self, function: u32) -> MetadataLists<'_> {
        let all = self.list.get(self.module_entries..).unwrap_or_default();
        let strings = self.ranges.get(&function).map_or(0, |(_, strings)| *strings);
        let (strings, others) = all.split_at_checked(strings).unwrap_or_default();
        MetadataLists { strings, others }
    }

    /// Returns the metadata that belongs to a function, which follows that of the module.
    pub(in crate::write) fn owned_by(&self, owner: u32) -> &[Key] {
        let range = self.ranges.get(&owner).map_or(0..0, |(range, _)| range.clone());
        self.of_functions.get(range).unwrap_or_default()
    }

    /// Returns the number of metadata plus one.
    pub(in crate::write) fn get(&self, key: Key) -> Result<u64> {
        match self.ids.get(key.index()) {
            Some(&id) if id != 0 => Ok(id.into()),
            _ => Err(Error::without_offset(ErrorKind::BadValue, "metadata is used where it can't be")),
        }
    }

    fn push(&mut self, key: Key) {
        self.list.push(key);
        let id = narrow(self.list.len() as u64);
        self.set(key, id);
    }

    fn set(&mut self, key: Key, id: u32) {
        if let Some(slot) = self.ids.get_mut(key.index()) {
            *slot = id;
        }
    }

    fn owner(&self, key: Key) -> u32 {
        self.owners.get(key.index()).copied().unwrap_or(MODULE)
    }

    fn set_owner(&mut self, key: Key, owner: u32) {
        if let Some(slot) = self.owners.get_mut(key.index()) {
            *slot = owner;
        }
    }

    /// Begins a function.
    pub(super) fn enter(&mut self, function: u32) {
        if let Some((range, _)) = self.ranges.get(&function) {
            self.list.extend_from_slice(self.of_functions.get(range.clone()).unwrap_or_default());
        }
    }

    /// Forgets the numbers of a function.
    pub(super) fn leave(&mut self) {
        for at in self.module_entries..self.list.len() {
            if let Some(&key) = self.list.get(at) {
                self.set(key, 0);
            }
        }
        self.list.truncate(self.module_entries);
    }

    /// Numbers metadata of a function that wraps its own values, unless it has a number.
    pub(super) fn add_local(&mut self, key: Key) -> bool {
        let is_new = self.ids.get(key.index()) == Some(&0);
        if is_new {
            self.push(key);
        }
        is_new
    }
}

/// Calls `take` for the operands of a node, in LLVM's order, until it returns something.
fn find_operand<T>(
    table: &MetadataTable,
    node: Node,
    version: Version,
    next: &mut usize,
    mut take: impl FnMut(MetadataId) -> Result<Option<T>>,
) -> Result<Option<T>> {
    /// LLVM writes the setter of a property in the place of the getter, and the getter after it, but reads them in the
    /// other order. So the getter of a module that was read is what the writer met as its setter.
    const OF_PROPERTY: [usize; 5] = [0, 1, 3, 2, 4];
    let references = table.references(node);
    let order = operand_order(node.kind, true).filter(|_| version == Version::Dxc);
    while *next < order.map_or(references.len(), <[u8]>::len) {
        let at = match (node.kind, order) {
            (NodeKind::ObjcProperty, _) => OF_PROPERTY.get(*next).copied(),
            (_, Some(order)) => order.get(*next).copied().map(usize::from),
            _ => Some(*next),
        };
        *next += 1;
        let reference = at.and_then(|at| references.get(at)).copied().unwrap_or(0);
        if let Some(id) = reference.checked_sub(1)
            && let Some(found) = take(MetadataId(narrow(id)))?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

impl Numbering<'_, '_> {
    /// Numbers metadata and all that it refers to, for an owner.
    pub(super) fn add_metadata(&mut self, owner: u32, scope: Scope, id: MetadataId) -> Result<()> {
        self.add_metadata_of_key(owner, self.source.metadata_key(scope, id)?)
    }

    /// Numbers metadata and all that it refers to, for an owner.
    pub(super) fn add_metadata_of_key(&mut self, owner: u32, root: Key) -> Result<()> {
        let version = self.version;
        let mut stack = Vec::new();
        let mut delayed = Vec::new();
        if let Some(node) = self.see_metadata(owner, root)? {
            stack.push((root, node, 0));
        }
        while let Some((key, node, next)) = stack.last_mut() {
            let (key, node) = (*key, *node);
            let (_, table) = self.source.metadata(key)?;
            let found = find_operand(table, node, version, next, |id| {
                let operand = self.source.metadata_key(key.scope, id)?;
                Ok(self.see_metadata(owner, operand)?.map(|node| (operand, node)))
            })?;
            if let Some((operand, of_operand)) = found {
                if of_operand.distinct && !node.distinct && version != Version::Dxc {
                    delayed.push((operand, of_operand, 0));
                } else {
                    stack.push((operand, of_operand, 0));
                }
                continue;
            }
            stack.pop();
            self.metadata.push(key);
            if stack.last().is_none_or(|(_, node, _)| node.distinct) {
                stack.append(&mut delayed);
            }
        }
        Ok(())
    }

    /// Notes that an owner refers to metadata. Returns the node if it is one and new; numbers what has no operands.
    fn see_metadata(&mut self, owner: u32, key: Key) -> Result<Option<Node>> {
        let known = self.metadata.owner(key);
        if known != UNSEEN {
            if known != MODULE && known != owner {
                self.give_to_module(key)?;
            }
            return Ok(None);
        }
        self.metadata.set_owner(key, owner);
        match self.source.metadata(key)?.0 {
            Metadata::Node(node) => return Ok(Some(node)),
            Metadata::Value { value, .. } => {
                let wrapped = self.source.value_key(key.scope, value)?;
                if matches!(
                    self.source.value(wrapped)?.kind,
                    ValueKind::Argument(_) | ValueKind::Instruction(_)
                ) {
                    let message = "a metadata node that refers to a value of a function can't be written";
                    return Err(Error::without_offset(ErrorKind::Unsupported, message));
                }
                self.metadata.push(key);
                self.add_value(wrapped)?;
            }
            _ => self.metadata.push(key),
        }
        Ok(None)
    }

    /// Makes the module the owner of metadata, and of what it refers to.
    fn give_to_module(&mut self, key: Key) -> Result<()> {
        let version = self.version;
        let mut nodes = Vec::new();
        self.take_from_function(key, &mut nodes)?;
        while let Some((key, node)) = nodes.pop() {
            let (_, table) = self.source.metadata(key)?;
            find_operand(table, node, version, &mut 0, |id| {
                let operand = self.source.metadata_key(key.scope, id)?;
                self.take_from_function(operand, &mut nodes)?;
                Ok(None::<()>)
            })?;
        }
        Ok(())
    }

    fn take_from_function(&mut self, key: Key, nodes: &mut Vec<(Key, Node)>) -> Result<()> {
        if matches!(self.metadata.owner(key), MODULE | UNSEEN) {
            return Ok(());
        }
        self.metadata.set_owner(key, MODULE);
        // The operands of a node that is being numbered are taken when it is met.
        if self.metadata.ids.get(key.index()).is_some_and(|&id| id != 0)
            && let Metadata::Node(node) = self.source.metadata(key)?.0
        {
            nodes.push((key, node));
        }
        Ok(())
    }

    /// Brings the metadata into its final order.
    pub(super) fn organize_metadata(&mut self) -> Result<()> {
        if self.version == Version::Dxc {
            self.metadata.module_entries = self.metadata.list.len();
            return Ok(());
        }
        let list = core::mem::take(&mut self.metadata.list);
        let mut order = Vec::with_capacity(list.len());
        for (at, &key) in list.iter().enumerate() {
            let rank = match self.source.metadata(key)?.0 {
                Metadata::String(_) => 0u8,
                Metadata::Node(node) if node.distinct => 2,
                Metadata::Node(_) => 3,
                _ => 1,
            };
            order.push((self.metadata.owner(key), rank, at, key));
        }
        order.sort_unstable_by_key(|&(owner, rank, at, _)| (owner, rank, at));
        let of_module = order.partition_point(|&(owner, ..)| owner == MODULE);
        let (of_module, of_functions) = order.split_at_checked(of_module).unwrap_or_default();
        for &(.., key) in of_module {
            self.metadata.push(key);
        }
        self.metadata.module_entries = of_module.len();
        self.metadata.module_strings = of_module.iter().filter(|&&(_, rank, ..)| rank == 0).count();
        for group in of_functions.chunk_by(|one, two| one.0 == two.0) {
            let start = self.metadata.of_functions.len();
            for (at, &(.., key)) in group.iter().enumerate() {
                self.metadata.of_functions.push(key);
                self.metadata.set(key, narrow((of_module.len() + at) as u64 + 1));
            }
            let strings = group.iter().filter(|&&(_, rank, ..)| rank == 0).count();
            let owner = group.first().map_or(MODULE, |&(owner, ..)| owner);
            self.metadata.ranges.insert(owner, (start..self.metadata.of_functions.len(), strings));
        }
        Ok(())
    }

    /// Returns the number of metadata plus one.
    pub(in crate::write) fn metadata_number(&self, scope: Scope, id: MetadataId) -> Result<u64> {
        self.metadata.get(self.source.metadata_key(scope, id)?)
    }

    /// Returns the number plus one of what a reference of a node (number plus one, or zero) refers to.
    pub(in crate::write) fn reference(&self, scope: Scope, reference: u64) -> Result<u64> {
        match reference.checked_sub(1) {
            None => Ok(0),
            Some(id) => self.metadata_number(scope, MetadataId(narrow(id))),
        }
    }

    /// Returns how an operand that is metadata is numbered.
    pub(super) fn locality(&self, scope: Scope, id: MetadataId) -> Result<Locality> {
        self.locality_of_key(self.source.metadata_key(scope, id)?)
    }

    pub(super) fn locality_of_key(&self, key: Key) -> Result<Locality> {
        Ok(match self.source.metadata(key)?.0 {
            Metadata::Node(node) if node.kind == NodeKind::ArgList => Locality::List(key, node),
            Metadata::Value { value, .. } => {
                let wrapped = self.source.value_key(key.scope, value)?;
                match self.source.value(wrapped)?.kind {
                    ValueKind::Argument(_) | ValueKind::Instruction(_) => Locality::Local(key),
                    _ => Locality::Module,
                }
            }
            _ => Locality::Module,
        })
    }

    /// Returns the values that a list of values refers to.
    pub(super) fn elements_of(&self, key: Key, node: Node) -> Result<Vec<MetadataId>> {
        let (_, table) = self.source.metadata(key)?;
        let references = table.references(node).iter();
        Ok(references
            .filter_map(|reference| reference.checked_sub(1))
            .map(|id| MetadataId(narrow(id)))
            .collect())
    }
}

/// How metadata that is an operand of an instruction is numbered.
pub(super) enum Locality {
    /// With that of the module, or of the function if no other refers to it.
    Module,
    /// After all other metadata of the function: it wraps one of the function's values.
    Local(Key),
    /// After that: a list of values.
    List(Key, Node),
}
