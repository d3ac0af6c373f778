//! What the numbers in a file that was written mean in its module.
//!
//! The writer numbers what is used, and metadata that only one function uses belongs to that function. So the numbers in the
//! file are not those of the module, and messages about the file need the way back.

use super::number::Numbering;
use super::source::{Key, Scope};
use super::{WriteInput, WriteOptions};
use crate::ids::{MetadataId, ValueId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::Result;

/// The metadata and constants of the module, in the order of the file.
#[derive(Default)]
pub(crate) struct Origins {
    metadata: Vec<MetadataId>,
    /// The metadata that belongs to functions, by function.
    of_functions: BTreeMap<u32, Vec<MetadataId>>,
    /// The number of the first constant.
    first_constant: usize,
    constants: Vec<ValueId>,
}

impl Origins {
    /// Returns the origins in the file that is written of an input.
    pub(crate) fn of(input: &WriteInput<'_, '_>, options: &WriteOptions<'_>) -> Result<Self> {
        let numbering = Numbering::new(input, options)?;
        // The keys of what belongs to the module are its ids.
        let ids = |keys: &[Key]| -> Vec<MetadataId> {
            let id =
                |key: &Key| if key.scope == Scope::MODULE { MetadataId(key.key) } else { MetadataId::NONE };
            keys.iter().map(id).collect()
        };
        let of_module = numbering.metadata.of_module();
        let mut of_functions = BTreeMap::new();
        for (at, function) in (0u32..).zip(&input.module.functions) {
            of_functions.insert(at, ids(numbering.metadata.owned_by(numbering.owner_of(function)?)));
        }
        let constants = numbering.module_constants();
        let first_constant = constants.start;
        let id = |at: usize| match numbering.numbered(at) {
            Some((key, _)) if key.scope == Scope::MODULE => ValueId(key.key),
            _ => ValueId::NONE,
        };
        let constants = constants.map(id).collect();
        Ok(Self {
            metadata: [ids(of_module.strings), ids(of_module.others)].concat(),
            of_functions,
            first_constant,
            constants,
        })
    }

    /// Returns what a number of metadata means in the module or in a function.
    pub(crate) fn metadata(&self, function: u32, id: MetadataId) -> Option<MetadataId> {
        let known = match id.index().checked_sub(self.metadata.len()) {
            None => self.metadata.get(id.index()),
            Some(at) => self.of_functions.get(&function)?.get(at),
        };
        known.copied()
    }

    /// Returns what the number of a constant means in the module.
    pub(crate) fn constant(&self, id: ValueId) -> Option<ValueId> {
        self.constants.get(id.index().checked_sub(self.first_constant)?).copied()
    }
}
