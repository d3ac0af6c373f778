//! Metadata as the readers of DXIL want it: operands, numbers, texts, and lists of tags and values.
//!
//! A node may be referred to any number of times, so what is read is counted: a file pays for what it is read into.

use std::cell::Cell;
use unshade_dxcontainer::bytes::Text;
use unshade_llvm::metadata::Metadata;
use unshade_llvm::module::Module;
use unshade_llvm::{MetadataId, TypeId, ValueId};

/// So many operands may be read of any module, and so many for each of its pieces of metadata.
const BUDGET: usize = 1 << 14;
const BUDGET_PER_ENTRY: usize = 64;

/// The metadata of a module.
pub(super) struct Nodes<'m, 'a> {
    module: &'m Module<'a>,
    budget: Cell<usize>,
    exhausted: Cell<bool>,
}

impl<'m, 'a> Nodes<'m, 'a> {
    pub(super) fn new(module: &'m Module<'a>) -> Self {
        let budget = module.metadata.len().saturating_mul(BUDGET_PER_ENTRY).saturating_add(BUDGET);
        Self { module, budget: Cell::new(budget), exhausted: Cell::new(false) }
    }

    pub(super) fn module(&self) -> &'m Module<'a> {
        self.module
    }

    /// Whether something was not read because too much had been read.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.get()
    }

    /// The operands of a node.
    pub(super) fn operands(&self, id: MetadataId) -> Option<Vec<Option<MetadataId>>> {
        let node = self.module.node(id)?;
        let count = self.module.metadata.references(node).len();
        match self.budget.get().checked_sub(count) {
            Some(rest) => self.budget.set(rest),
            None => {
                self.exhausted.set(true);
                return None;
            }
        }
        Some(self.module.node_operands(id).collect())
    }

    /// The value that an operand is, with its type.
    pub(super) fn value(&self, operand: Option<MetadataId>) -> Option<(TypeId, ValueId)> {
        match self.module.metadata(None, operand?)?.0 {
            Metadata::Value { ty, value } => Some((ty, value)),
            _ => None,
        }
    }

    /// The integer that an operand is.
    pub(super) fn integer(&self, operand: Option<MetadataId>) -> Option<u64> {
        self.module.integer(None, self.value(operand)?.1)
    }

    /// The integer that an operand is, in 32 bits.
    pub(super) fn number(&self, operand: Option<MetadataId>) -> Option<u32> {
        Some((self.integer(operand)? & 0xFFFF_FFFF) as u32)
    }

    /// The text that an operand is.
    pub(super) fn text(&self, operand: Option<MetadataId>) -> Option<Text> {
        let text = self.module.metadata_string(operand?)?;
        // A text may be referred to as often as a node.
        match self.budget.get().checked_sub(text.len() / 8) {
            Some(rest) => self.budget.set(rest),
            None => {
                self.exhausted.set(true);
                return None;
            }
        }
        Some(Text::from(text))
    }

    /// The numbers of the tuple that an operand is.
    pub(super) fn numbers(&self, operand: Option<MetadataId>) -> Option<Vec<u32>> {
        self.operands(operand?)?.into_iter().map(|operand| self.number(operand)).collect()
    }

    /// The tags and values of the tuple that an operand is; nothing for null.
    pub(super) fn tagged(&self, operand: Option<MetadataId>) -> Option<Vec<(u32, Option<MetadataId>)>> {
        let Some(id) = operand else { return Some(Vec::new()) };
        let operands = self.operands(id)?;
        let pairs = operands.chunks_exact(2);
        if !pairs.remainder().is_empty() {
            return None;
        }
        pairs.map(|pair| Some((self.number(pair[0])?, pair[1]))).collect()
    }
}
