//! Reduces a module to what its declarations and metadata say, and adds metadata to it.
//!
//! DXC keeps such a module beside a program, for reflection. What is added reuses the entries and constants that the
//! module has, because equal ones are one.
//!
//! ```
//! # let bytes = include_bytes!("../tests/fixtures/air_like.bc");
//! use unshade_llvm::skeleton::Item;
//! use unshade_llvm::write::{self, WriteInput, WriteOptions};
//!
//! let mut module = unshade_llvm::Module::parse(bytes, 0)?;
//! module.remove_bodies();
//! module.set_named_tuple(b"counters", &[Item::Text(b"insts"), Item::Word(7)]);
//! let written = write::module(&WriteInput::new(&module, &[]), &WriteOptions::default())?;
//! let again = unshade_llvm::Module::parse(&written, 0)?;
//! assert!(again.functions.iter().all(|function| function.declaration));
//! assert_eq!(again.named(b"counters").len(), 1);
//! # Ok::<(), unshade_core::Error>(())
//! ```

use crate::constants::Constant;
use crate::debug_info::NodeKind;
use crate::global::Linkage;
use crate::ids::{MetadataId, TypeId, ValueId, narrow};
use crate::metadata::{Metadata, NamedMetadata};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Value, ValueKind};
use alloc::vec::Vec;

/// An operand of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'t> {
    /// A string.
    Text(&'t [u8]),
    /// A constant of 32 bits.
    Word(u32),
}

impl Module<'_> {
    /// Makes a declaration of every function, without what is attached to its body.
    pub fn remove_bodies(&mut self) {
        for function in self.functions.iter_mut().filter(|function| !function.declaration) {
            function.declaration = true;
            function.personality = None;
            function.prefix = None;
            function.prologue = None;
            function.symbol.linkage = Linkage::External;
            function.symbol.attachments.clear();
        }
        self.use_lists.clear();
    }

    /// Makes named metadata one tuple of these items. New metadata comes last.
    pub fn set_named_tuple(&mut self, name: &[u8], items: &[Item<'_>]) {
        let references: Vec<u64> = items.iter().map(|&item| reference(self.item(item))).collect();
        let same = self.metadata.iter().find(|&(_, entry)| match entry {
            Metadata::Node(node) => {
                node.kind == NodeKind::Tuple
                    && !node.distinct
                    && self.metadata.references(node) == references.as_slice()
            }
            _ => false,
        });
        let node = match same {
            Some((id, _)) => id,
            None => {
                let node = self.metadata.node(NodeKind::Tuple, false, &references, &[]);
                self.metadata.add(node)
            }
        };
        match self.named_metadata.iter_mut().find(|named| named.name == name) {
            Some(named) => named.nodes = alloc::vec![node],
            None => self.named_metadata.push(NamedMetadata { name: name.to_vec(), nodes: alloc::vec![node] }),
        }
    }

    fn item(&mut self, item: Item<'_>) -> MetadataId {
        match item {
            Item::Text(text) => {
                let same = self.metadata.iter().find(|&(_, entry)| match entry {
                    Metadata::String(string) => self.metadata.string(string) == text,
                    _ => false,
                });
                if let Some((id, _)) = same {
                    return id;
                }
                let entry = self.metadata.text(text);
                self.metadata.add(entry)
            }
            Item::Word(number) => {
                let ty = self.types.intern(Type::Integer(32));
                let value = self.word(ty, number);
                let same = self.metadata.iter().find(|&(_, entry)| match entry {
                    Metadata::Value { value: other, .. } => other == value,
                    _ => false,
                });
                match same {
                    Some((id, _)) => id,
                    None => self.metadata.add(Metadata::Value { ty, value }),
                }
            }
        }
    }

    /// Returns a constant of 32 bits.
    fn word(&mut self, ty: TypeId, number: u32) -> ValueId {
        // Constants hold the sign in all bits.
        let bits = i64::from(number.cast_signed()).cast_unsigned();
        let is_same = |value: &Value| match value.kind {
            ValueKind::Constant(index) if value.ty == ty => match self.constants.get(index) {
                Constant::Integer(other) => other == bits,
                Constant::Null => number == 0,
                _ => false,
            },
            _ => false,
        };
        if let Some(at) = self.values.iter().position(is_same) {
            return ValueId(narrow(at as u64));
        }
        let constant = if number == 0 { Constant::Null } else { Constant::Integer(bits) };
        let index = self.constants.add(constant);
        let id = ValueId(narrow(self.values.len() as u64));
        self.values.push(Value { kind: ValueKind::Constant(index), ty });
        id
    }
}

fn reference(id: MetadataId) -> u64 {
    u64::from(id.0).saturating_add(1)
}
