//! Where the parts of a parsed module are in its text.
//!
//! The verifier checks the module that was written and read again, because a file has only what is used. Its symbols and
//! instructions are in the order of the parsed module; what its other numbers mean, the writer knows.

use super::{Assembled, Version};
use crate::global::Symbol;
use crate::ids::{MetadataId, ValueId};
use crate::write::{Origins, WriteOptions};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::OnceCell;

/// Positions in a text, as the number of bytes before them.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions {
    /// The names of symbols where they are defined.
    pub(super) symbols: BTreeMap<ValueId, usize>,
    /// The instructions of each body, in their order.
    pub(super) instructions: Vec<Vec<usize>>,
    /// The ends of nodes, in the order in which they are complete.
    pub(super) nodes: Vec<(MetadataId, usize)>,
    /// The first node of each named metadata, in its order.
    pub(super) named: Vec<usize>,
    /// The ends of constants, by index.
    pub(super) constants: Vec<usize>,
}

/// The positions of the parts of a module that was written, by their numbers in the file.
pub(crate) struct TextMap<'m> {
    assembled: &'m Assembled,
    options: &'m WriteOptions<'m>,
    /// What numbers in the file mean; known once they are asked for.
    origins: OnceCell<Origins>,
}

impl<'m> TextMap<'m> {
    /// Creates the map of a module that is written with these options.
    pub(super) fn new(assembled: &'m Assembled, options: &'m WriteOptions<'m>) -> Self {
        Self { assembled, options, origins: OnceCell::new() }
    }

    /// Returns the version that the module is for.
    pub(crate) fn version(&self) -> Version {
        self.options.version
    }

    fn origins(&self) -> &Origins {
        self.origins.get_or_init(|| Origins::of(&self.assembled.input(), self.options).unwrap_or_default())
    }

    fn symbol(&self, symbol: Option<&Symbol>) -> Option<usize> {
        self.assembled.positions.symbols.get(&symbol?.value).copied()
    }

    /// Returns the position of a variable.
    pub(crate) fn global(&self, index: usize) -> Option<usize> {
        self.symbol(self.assembled.module.globals.get(index).map(|global| &global.symbol))
    }

    /// Returns the position of a function.
    pub(crate) fn function(&self, index: usize) -> Option<usize> {
        self.symbol(self.assembled.module.functions.get(index).map(|function| &function.symbol))
    }

    /// Returns the position of an alias or ifunc.
    pub(crate) fn alias(&self, index: usize) -> Option<usize> {
        self.symbol(self.assembled.module.aliases.get(index).map(|alias| &alias.symbol))
    }

    /// Returns the position of an instruction of a function.
    pub(crate) fn instruction(&self, function: u32, index: u32) -> Option<usize> {
        let body = self.assembled.bodies.iter().position(|body| body.function == function)?;
        self.assembled.positions.instructions.get(body)?.get(index as usize).copied()
    }

    /// Returns the position of a node of the module, or of a function.
    pub(crate) fn metadata(&self, function: u32, id: MetadataId) -> Option<usize> {
        let origin = self.origins().metadata(function, id)?;
        let nodes = &self.assembled.positions.nodes;
        nodes.iter().find(|(node, _)| *node == origin).map(|(_, position)| *position)
    }

    /// Returns the position of named metadata.
    pub(crate) fn named(&self, index: usize) -> Option<usize> {
        self.assembled.positions.named.get(index).copied()
    }

    /// Returns the position of a constant of the module.
    pub(crate) fn constant(&self, id: ValueId) -> Option<usize> {
        let index = self.assembled.module.constant_index(self.origins().constant(id)?)?;
        self.assembled.positions.constants.get(index as usize).copied()
    }
}
