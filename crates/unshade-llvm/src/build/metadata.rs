//! Metadata of a module that is built: strings, values, tuples, nodes of debug info, named metadata.

use super::{ModuleBuilder, refused};
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, ValueId, narrow};
use crate::metadata::{Metadata, NamedMetadata};
use crate::types::Type;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use unshade_core::Result;

impl ModuleBuilder {
    /// Returns `!"text"`.
    pub fn metadata_string(&mut self, text: &str) -> MetadataId {
        if let Some(&known) = self.strings.get(text.as_bytes()) {
            return known;
        }
        let entry = self.module.metadata.text(text.as_bytes());
        let id = self.module.metadata.add(entry);
        self.strings.insert(text.as_bytes().to_vec(), id);
        id
    }

    /// Returns a constant or symbol as metadata.
    ///
    /// # Errors
    /// If there is no such value in the module; values of functions are
    /// [arguments](super::FunctionBuilder::local_metadata) of calls only.
    pub fn metadata_value(&mut self, value: ValueId) -> Result<MetadataId> {
        let ty = self.type_of(value)?;
        if let Some(&known) = self.metadata_values.get(&value) {
            return Ok(known);
        }
        let id = self.module.metadata.add(Metadata::Value { ty, value });
        self.metadata_values.insert(value, id);
        Ok(id)
    }

    /// Returns an `i32` as metadata.
    pub fn metadata_i32(&mut self, number: u32) -> MetadataId {
        let ty = self.module.types.intern(Type::Integer(32));
        let new = match number {
            0 => crate::constants::NewConstant::Null,
            number => crate::constants::NewConstant::Integer(number.cast_signed() as i64 as u64),
        };
        let value = self.intern(ty, &new);
        match self.metadata_values.get(&value) {
            Some(&known) => known,
            None => {
                let id = self.module.metadata.add(Metadata::Value { ty, value });
                self.metadata_values.insert(value, id);
                id
            }
        }
    }

    /// Returns `!{…}`; equal tuples are one.
    ///
    /// # Errors
    /// If there is no such metadata.
    pub fn metadata_tuple(&mut self, elements: &[MetadataId]) -> Result<MetadataId> {
        let elements: Vec<Option<MetadataId>> = elements.iter().copied().map(Some).collect();
        self.metadata_tuple_with_nulls(&elements)
    }

    /// Returns `!{…}` in which elements may be `null`; equal tuples are one.
    ///
    /// # Errors
    /// If there is no such metadata.
    pub fn metadata_tuple_with_nulls(&mut self, elements: &[Option<MetadataId>]) -> Result<MetadataId> {
        let references = self.references(elements)?;
        if let Some(&known) = self.tuples.get(&references) {
            return Ok(known);
        }
        let node = self.module.metadata.node(NodeKind::Tuple, false, &references, &[]);
        let id = self.module.metadata.add(node);
        self.tuples.insert(references, id);
        Ok(id)
    }

    /// Adds `distinct !{…}`, whose elements [`ModuleBuilder::set_metadata_element`] can change.
    ///
    /// # Errors
    /// If there is no such metadata.
    pub fn distinct_metadata_tuple(&mut self, elements: &[Option<MetadataId>]) -> Result<MetadataId> {
        let references = self.references(elements)?;
        let node = self.module.metadata.node(NodeKind::Tuple, true, &references, &[]);
        Ok(self.module.metadata.add(node))
    }

    /// Adds a node of debug info; [`NodeKind`] says which references and numbers it has.
    ///
    /// # Errors
    /// If there is no such metadata.
    pub fn debug_node(
        &mut self,
        kind: NodeKind,
        distinct: bool,
        references: &[Option<MetadataId>],
        numbers: &[u64],
    ) -> Result<MetadataId> {
        if kind == NodeKind::Tuple {
            return refused("a tuple is no node of debug info");
        }
        let references = self.references(references)?;
        let node = self.module.metadata.node(kind, distinct, &references, numbers);
        Ok(self.module.metadata.add(node))
    }

    /// Replaces an element of a distinct node, so that it can refer to itself and to what is added later.
    ///
    /// # Errors
    /// If the node is not distinct, or there is no such element or metadata.
    pub fn set_metadata_element(
        &mut self,
        node: MetadataId,
        at: usize,
        to: Option<MetadataId>,
    ) -> Result<()> {
        let references = self.references(&[to])?;
        match self.module.metadata.get(node) {
            Some(Metadata::Node(node)) if node.distinct && at < node.references as usize => {
                self.module.metadata.set_reference(node, at, references.first().copied().unwrap_or(0));
                Ok(())
            }
            _ => refused("only an element of a distinct node can be replaced"),
        }
    }

    /// Appends nodes to named metadata such as `!llvm.module.flags`.
    ///
    /// # Errors
    /// If there is no such metadata, or it is no node.
    pub fn add_named_metadata(&mut self, name: &str, nodes: &[MetadataId]) -> Result<()> {
        nodes.iter().try_for_each(|&node| self.check_node(node))?;
        let name = name.as_bytes();
        match self.module.named_metadata.iter_mut().find(|named| named.name == name) {
            Some(named) => named.nodes.extend_from_slice(nodes),
            None => {
                self.module.named_metadata.push(NamedMetadata { name: name.to_vec(), nodes: nodes.to_vec() });
            }
        }
        Ok(())
    }

    /// Appends a number to `!llvm.module.flags`. `behavior` says what a linker does with two: 1 an error, 2 a
    /// warning, 7 the larger one.
    ///
    /// # Errors
    /// If there is no such behaviour.
    pub fn add_module_flag(&mut self, behavior: u32, name: &str, number: u32) -> Result<()> {
        if !matches!(behavior, 1 | 2 | 4 | 7 | 8) {
            return refused("a module flag of an unknown behaviour");
        }
        let elements = [self.metadata_i32(behavior), self.metadata_string(name), self.metadata_i32(number)];
        let node = self.metadata_tuple(&elements)?;
        self.add_named_metadata("llvm.module.flags", &[node])
    }

    /// Returns the number of a metadata kind such as `range`.
    pub(super) fn metadata_kind(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.kinds.get(name.as_bytes()) {
            return known;
        }
        let kind = narrow(self.module.metadata_kinds.len() as u64);
        self.module.metadata_kinds.push((kind, Cow::Owned(name.as_bytes().to_vec())));
        self.kinds.insert(name.as_bytes().to_vec(), kind);
        kind
    }

    /// Checks that there is such a node.
    pub(super) fn check_node(&self, node: MetadataId) -> Result<()> {
        match self.module.metadata.get(node) {
            Some(Metadata::Node(_)) => Ok(()),
            _ => refused("metadata that is no node is used as one"),
        }
    }

    fn references(&self, elements: &[Option<MetadataId>]) -> Result<Vec<u64>> {
        let reference = |element: &Option<MetadataId>| match *element {
            None => Ok(0),
            Some(id) if self.module.metadata.get(id).is_some() => Ok(u64::from(id.0) + 1),
            Some(_) => refused("metadata that does not exist is used"),
        };
        elements.iter().map(reference).collect()
    }
}
