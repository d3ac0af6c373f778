//! Reads metadata nodes: operands, numbers, texts, and lists of tags and values.
//!
//! A hostile module may refer to one node any number of times, so everything that is read counts against a budget that
//! is proportional to the size of the metadata.

use crate::bytes::Text;
use alloc::vec::Vec;
use core::cell::Cell;
use unshade_llvm::constants::Constant;
use unshade_llvm::metadata::Metadata;
use unshade_llvm::module::Module;
use unshade_llvm::{MetadataId, TypeId, ValueId};

/// Number of operands that may be read from any module, and additionally per metadata entry.
const BUDGET: usize = 1 << 14;
const BUDGET_PER_ENTRY: usize = 64;

/// Maximum number of casts of a constant that are followed.
const MAX_CASTS: usize = 8;

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

    /// Returns whether the budget is exhausted.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.get()
    }

    /// Returns the operands of a node.
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

    /// Returns an operand that is a value, with its type.
    pub(super) fn value(&self, operand: Option<MetadataId>) -> Option<(TypeId, ValueId)> {
        match self.module.metadata(None, operand?)?.0 {
            Metadata::Value { ty, value } => Some((ty, value)),
            _ => None,
        }
    }

    /// Returns the constant that a constant is cast from.
    pub(super) fn without_casts(&self, mut value: ValueId) -> ValueId {
        for _ in 0..MAX_CASTS {
            let Some((Constant::Expression(index), constants)) = self.module.constant(None, value) else {
                break;
            };
            let casts = constants.expression(index).filter(|expression| expression.opcode.is_cast());
            let from = casts.and_then(|expression| constants.values(expression.operands).first());
            let Some(from) = from else { break };
            value = *from;
        }
        value
    }

    /// Returns an operand that is an integer.
    pub(super) fn integer(&self, operand: Option<MetadataId>) -> Option<u64> {
        self.module.integer(None, self.value(operand)?.1)
    }

    /// Returns an operand that is an integer of 32 bits.
    pub(super) fn number(&self, operand: Option<MetadataId>) -> Option<u32> {
        Some((self.integer(operand)? & 0xFFFF_FFFF) as u32)
    }

    /// Returns an operand that is a text.
    pub(super) fn text(&self, operand: Option<MetadataId>) -> Option<Text> {
        let text = self.module.metadata_string(operand?)?;
        // Texts count against the budget, because they can be referred to as often as nodes.
        match self.budget.get().checked_sub(text.len() / 8) {
            Some(rest) => self.budget.set(rest),
            None => {
                self.exhausted.set(true);
                return None;
            }
        }
        Some(Text::from(text))
    }

    /// Returns the bytes of a tuple with an array of bytes.
    pub(super) fn bytes(&self, operand: Option<MetadataId>) -> Option<Vec<u8>> {
        let (_, value) = self.value(*self.operands(operand?)?.first()?)?;
        let (constant, constants) = self.module.constant(None, value)?;
        match constant {
            Constant::Text(bytes) => Some(constants.bytes(bytes).to_vec()),
            Constant::Data(words) => {
                Some(constants.words(words).iter().map(|word| (word & 0xFF) as u8).collect())
            }
            _ => None,
        }
    }

    /// Returns an operand that is a tuple of numbers.
    pub(super) fn numbers(&self, operand: Option<MetadataId>) -> Option<Vec<u32>> {
        self.operands(operand?)?.into_iter().map(|operand| self.number(operand)).collect()
    }

    /// Returns an operand that is a tuple of tags and values; empty for null.
    pub(super) fn tagged(&self, operand: Option<MetadataId>) -> Option<Vec<(u32, Option<MetadataId>)>> {
        let Some(id) = operand else { return Some(Vec::new()) };
        let operands = self.operands(id)?;
        let (pairs, []) = operands.as_chunks() else { return None };
        pairs.iter().map(|&[tag, value]| Some((self.number(tag)?, value))).collect()
    }
}
