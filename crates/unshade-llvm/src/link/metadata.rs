//! The metadata of the linked module: entries when they are met, named lists, flags.
//!
//! What only a function has moves to the module, too: the writer decides what belongs to a function. The exceptions are
//! metadata of a function's own values and lists of these. A node that refers to a symbol that is not linked gets null
//! in its place, and is left out of named lists.

use super::mover::{Mover, refused};
use super::{SymbolId, object_of};
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, ValueId, narrow};
use crate::metadata::{Attachments, Metadata, MetadataTable, NamedMetadata};
use crate::module::Module;
use crate::value::ValueKind;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use unshade_core::Result;

/// The named list of the flags of a module.
const FLAGS: &[u8] = b"llvm.module.flags";

/// How flags of one name are combined.
mod behaviour {
    pub(super) const WARNING: u64 = 2;
    pub(super) const OVERRIDE: u64 = 4;
    pub(super) const MAX: u64 = 7;
}

/// A body whose metadata is moved.
pub(super) struct LocalMetadata<'b> {
    pub(super) from: &'b FunctionBody,
    /// The linked values of its values.
    pub(super) values: &'b BTreeMap<ValueId, ValueId>,
    /// The metadata of its own that the linked body has.
    pub(super) table: &'b mut MetadataTable,
    /// What was moved.
    pub(super) known: BTreeMap<MetadataId, MetadataId>,
}

/// A node that was added but has no content yet.
struct Pending {
    from: MetadataId,
    to: MetadataId,
}

impl Mover<'_, '_, '_> {
    /// Moves metadata of a module or body. Returns none for a value that is not linked.
    pub(super) fn metadata(
        &mut self,
        input: usize,
        id: MetadataId,
        mut body: Option<&mut LocalMetadata<'_>>,
    ) -> Result<Option<MetadataId>> {
        let mut pending = Vec::new();
        let to = self.entry(input, id, body.as_deref_mut(), &mut pending)?;
        while let Some(Pending { from, to }) = pending.pop() {
            let module = self.input(input)?.module;
            let table = match module.metadata.get(from) {
                Some(_) => &module.metadata,
                None => match &body {
                    Some(body) => &body.from.metadata,
                    None => return refused("metadata that does not exist"),
                },
            };
            let Some(Metadata::Node(node)) = table.get(from) else { continue };
            let mut references = Vec::new();
            for &reference in table.references(node) {
                references.push(match reference.checked_sub(1) {
                    Some(operand) => {
                        let operand = MetadataId(narrow(operand));
                        let moved = self.entry(input, operand, body.as_deref_mut(), &mut pending)?;
                        moved.map_or(0, |moved| u64::from(moved.0).saturating_add(1))
                    }
                    None => 0,
                });
            }
            let numbers = table.numbers(node);
            let own = body.as_deref_mut().filter(|_| node.kind == NodeKind::ArgList);
            let to_table = own.map_or(&mut self.module.metadata, |body| &mut *body.table);
            let node = to_table.node(node.kind, node.distinct, &references, numbers);
            to_table.replace(to, node);
        }
        Ok(to)
    }

    /// Adds an entry, whose content follows if it is a node.
    fn entry(
        &mut self,
        input: usize,
        id: MetadataId,
        mut body: Option<&mut LocalMetadata<'_>>,
        pending: &mut Vec<Pending>,
    ) -> Result<Option<MetadataId>> {
        let module = self.input(input)?.module;
        let of_module = module.metadata.get(id);
        let known = match (&of_module, &body) {
            (None, Some(body)) => body.known.get(&id),
            _ => self.metadata.get(&(input, id)),
        };
        if let Some(&known) = known {
            return Ok(Some(known));
        }
        let (entry, table) = match (of_module, &body) {
            (Some(entry), _) => (entry, &module.metadata),
            (None, Some(body)) => match body.from.metadata.get(id) {
                Some(entry) => (entry, &body.from.metadata),
                None => return refused("metadata that does not exist"),
            },
            (None, None) => return refused("metadata that does not exist"),
        };
        let to = match entry {
            Metadata::String(string) => {
                let text = table.string(string);
                match self.strings.get(text) {
                    Some(&known) => known,
                    None => {
                        let entry = self.module.metadata.text(text);
                        let to = self.module.metadata.add(entry);
                        self.strings.insert(text.to_vec(), to);
                        to
                    }
                }
            }
            Metadata::Value { ty, value } => {
                let local = body.as_ref().and_then(|body| body.values.get(&value).copied());
                match (local, body.as_deref_mut()) {
                    (Some(value), Some(body)) => {
                        let ty = self.ty(input, ty)?;
                        body.table.add(Metadata::Value { ty, value })
                    }
                    _ => {
                        let Some(value) = self.metadata_value(input, value, body.as_deref())? else {
                            return Ok(None);
                        };
                        match self.metadata_values.get(&value) {
                            Some(&known) => known,
                            None => {
                                let ty = match self.module.values.get(value.index()) {
                                    Some(value) => value.ty,
                                    None => return refused("value that does not exist"),
                                };
                                let to = self.module.metadata.add(Metadata::Value { ty, value });
                                self.metadata_values.insert(value, to);
                                to
                            }
                        }
                    }
                }
            }
            Metadata::Node(node) => {
                let own = body.as_deref_mut().filter(|_| node.kind == NodeKind::ArgList);
                let table = own.map_or(&mut self.module.metadata, |body| &mut *body.table);
                let to = table.add(Metadata::Missing);
                pending.push(Pending { from: id, to });
                to
            }
            Metadata::Missing => return refused("metadata that can't be read"),
        };
        match (of_module, body) {
            (None, Some(body)) => body.known.insert(id, to),
            _ => self.metadata.insert((input, id), to),
        };
        Ok(Some(to))
    }

    /// Moves a constant or symbol that metadata refers to; none if a symbol of it is not linked.
    fn metadata_value(
        &mut self,
        input: usize,
        value: ValueId,
        body: Option<&LocalMetadata<'_>>,
    ) -> Result<Option<ValueId>> {
        let module = self.input(input)?.module;
        if value.index() >= module.values.len() {
            let from = body.and_then(|body| body.from.value(value).map(|found| (body.from, found)));
            let Some((from, found)) = from else { return refused("metadata of a value that does not exist") };
            let ValueKind::Constant(index) = found.kind else {
                return refused("metadata of a value of another function");
            };
            let ty = self.ty(input, found.ty)?;
            let content = from.constants.content(index);
            if !content.operands().iter().all(|&operand| self.is_linked(input, module, operand)) {
                return Ok(None);
            }
            return self.constant(input, ty, content, |mover, operand| mover.value(input, operand)).map(Some);
        }
        if !self.is_linked(input, module, value) {
            return Ok(None);
        }
        self.value(input, value).map(Some)
    }

    /// Returns whether all symbols that a constant refers to are linked.
    fn is_linked(&self, input: usize, module: &Module<'_>, value: ValueId) -> bool {
        let (mut pending, mut visited) = (alloc::vec![value], BTreeSet::new());
        while let Some(value) = pending.pop() {
            if !visited.insert(value) {
                continue;
            }
            if object_of(module, value).is_some() {
                if self.symbol(SymbolId { input, value }).is_none() {
                    return false;
                }
            } else if let Some(ValueKind::Constant(index)) =
                module.values.get(value.index()).map(|one| one.kind)
            {
                pending.extend_from_slice(module.constants.content(index).operands());
            }
        }
        true
    }

    /// Moves attachments.
    pub(super) fn attachments(&mut self, input: usize, from: &Attachments) -> Result<Attachments> {
        let mut to = Vec::new();
        for &(kind, node) in from {
            if let Some(node) = self.metadata(input, node, None)? {
                to.push((self.kind(input, kind)?, node));
            }
        }
        Ok(to)
    }

    /// Returns the linked number of a metadata kind.
    pub(super) fn kind(&mut self, input: usize, kind: u32) -> Result<u32> {
        if let Some(&known) = self.kinds.get(&(input, kind)) {
            return Ok(known);
        }
        let kinds = &self.input(input)?.module.metadata_kinds;
        let Some((_, name)) = kinds.iter().find(|(number, _)| *number == kind) else {
            return refused("metadata of an unknown kind");
        };
        let known = self.module.metadata_kinds.iter().find(|(_, known)| known == name);
        let to = match known {
            Some(&(number, _)) => number,
            None => {
                let next =
                    self.module.metadata_kinds.iter().map(|(number, _)| number.saturating_add(1)).max();
                let next = next.unwrap_or_default();
                self.module.metadata_kinds.push((next, name.to_vec().into()));
                next
            }
        };
        self.kinds.insert((input, kind), to);
        Ok(to)
    }

    /// Makes the named lists.
    pub(super) fn named_metadata(&mut self, inputs: &[usize]) -> Result<()> {
        let mut names: Vec<&[u8]> = Vec::new();
        for &input in inputs {
            for named in &self.input(input)?.module.named_metadata {
                let name = named.name.as_slice();
                if !names.contains(&name) && !self.rules.left_out_metadata.contains(&name) {
                    names.push(name);
                }
            }
        }
        for name in names {
            let nodes = match name == FLAGS {
                true => self.flags(inputs)?,
                false => self.named_list(inputs, name)?,
            };
            if !nodes.is_empty() {
                self.module.named_metadata.push(NamedMetadata { name: name.to_vec(), nodes });
            }
        }
        Ok(())
    }

    fn named_list(&mut self, inputs: &[usize], name: &[u8]) -> Result<Vec<MetadataId>> {
        let mut nodes: Vec<MetadataId> = Vec::new();
        // Equal nodes of several modules are one; a module may list a node more than once.
        let (mut known, mut contents) = (BTreeSet::new(), BTreeSet::new());
        let is_of_first = self.rules.of_first_input.contains(&name);
        for &input in inputs {
            let module = self.input(input)?.module;
            let list = module.named(name);
            let before = nodes.len();
            for &node in list {
                if !self.has_linked_operands(input, module, node) {
                    continue;
                }
                let Some(node) = self.metadata(input, node, None)? else { continue };
                let is_known = known.contains(&node)
                    || self.content(node).is_some_and(|content| contents.contains(content));
                if !(is_known || is_of_first && nodes.contains(&node)) {
                    nodes.push(node);
                }
            }
            let new = nodes.get(before..).unwrap_or_default();
            known.extend(new.iter().copied());
            contents.extend(new.iter().filter_map(|&node| self.content(node)).map(<[u64]>::to_vec));
            if is_of_first && !list.is_empty() {
                break;
            }
        }
        Ok(nodes)
    }

    /// Returns the elements of a tuple that is equal to others with these elements.
    fn content(&self, node: MetadataId) -> Option<&[u64]> {
        let node = self.module.node(node).filter(|node| !node.distinct && node.kind == NodeKind::Tuple)?;
        Some(self.module.metadata.references(node))
    }

    /// Returns whether all values among the operands of a node are linked.
    fn has_linked_operands(&self, input: usize, module: &Module<'_>, node: MetadataId) -> bool {
        module.node_operands(node).flatten().all(|operand| match module.metadata.get(operand) {
            Some(Metadata::Value { value, .. }) => self.is_linked(input, module, value),
            _ => true,
        })
    }

    /// Combines the flags of modules.
    fn flags(&mut self, inputs: &[usize]) -> Result<Vec<MetadataId>> {
        let mut flags: Vec<Flag> = Vec::new();
        for &input in inputs {
            let module = self.input(input)?.module;
            for &node in module.named(FLAGS) {
                let flag = Flag::read(module, input, node);
                match flags.iter_mut().find(|known| known.key == flag.key) {
                    Some(known) => known.combine(flag)?,
                    None => flags.push(flag),
                }
            }
        }
        let mut nodes = Vec::new();
        for flag in flags {
            nodes.extend(self.metadata(flag.input, flag.node, None)?);
        }
        Ok(nodes)
    }
}

/// A flag of a module.
struct Flag {
    key: Vec<u8>,
    behaviour: u64,
    /// Its value, if it is a number.
    value: Option<u64>,
    input: usize,
    node: MetadataId,
}

impl Flag {
    fn read(module: &Module<'_>, input: usize, node: MetadataId) -> Self {
        let number = |operand: Option<MetadataId>| match module.metadata.get(operand?)? {
            Metadata::Value { value, .. } => match module.constant(None, value)?.0 {
                Constant::Integer(_) | Constant::Null => module.integer(None, value),
                _ => None,
            },
            _ => None,
        };
        let mut operands = module.node_operands(node);
        let behaviour = number(operands.next().flatten()).unwrap_or_default();
        let key = operands.next().flatten().and_then(|key| module.metadata_string(key));
        let key = key.unwrap_or_default().to_vec();
        Self { key, behaviour, value: number(operands.next().flatten()), input, node }
    }

    /// Combines the flag with one of the same key.
    fn combine(&mut self, other: Self) -> Result<()> {
        let is_larger = matches!((self.value, other.value), (Some(old), Some(new)) if new > old);
        let is_equal = self.value == other.value && self.value.is_some();
        match (self.behaviour.max(other.behaviour), other.behaviour) {
            (behaviour::MAX, _) if is_larger => *self = other,
            (_, behaviour::OVERRIDE) => *self = other,
            (behaviour::MAX | behaviour::OVERRIDE | behaviour::WARNING, _) => {}
            _ if is_equal => {}
            _ => return refused(alloc::format!("modules have different flags {}", Mover::shown(&self.key))),
        }
        Ok(())
    }
}
