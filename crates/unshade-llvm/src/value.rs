//! Values and operands: what a value number in an instruction refers to.

use crate::ids::{MetadataId, BlockId, TypeId, ValueId};

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// What it is.
    pub kind: ValueKind,
    /// Its type; for a global, the type of the pointer to it.
    pub ty: TypeId,
}

/// What defines a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An index into [`crate::Module::globals`].
    Global(u32),
    /// An index into [`crate::Module::functions`].
    Function(u32),
    /// An index into [`crate::Module::aliases`], of aliases and ifuncs.
    Alias(u32),
    /// An index into the constants of the module, or of the function if the value belongs to a function.
    Constant(u32),
    /// A parameter of the function, by position.
    Argument(u32),
    /// The result of an instruction of the function.
    Instruction(u32),
    /// A number that no record defines.
    Unresolved,
}

/// An operand of an instruction, packed into four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand(u32);

/// What an operand refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// A value.
    Value(ValueId),
    /// A basic block.
    Block(BlockId),
    /// Metadata passed as an argument.
    Metadata(MetadataId),
}

const TAG: u32 = 3 << 30;
const BLOCK: u32 = 1 << 30;
const METADATA: u32 = 2 << 30;

impl Operand {
    /// Packs a value. Numbers from 2^30 on are never valid; they are clamped to the highest one.
    #[inline]
    pub fn value(id: ValueId) -> Self {
        Self(id.0.min(!TAG))
    }

    /// Packs a basic block.
    #[inline]
    pub fn block(id: BlockId) -> Self {
        Self(BLOCK | id.0.min(!TAG))
    }

    /// Packs metadata.
    pub fn metadata(id: MetadataId) -> Self {
        Self(METADATA | id.0.min(!TAG))
    }

    /// Returns what the operand refers to.
    #[inline(always)]
    pub fn kind(self) -> OperandKind {
        let number = self.0 & !TAG;
        match self.0 & TAG {
            0 => OperandKind::Value(ValueId(number)),
            BLOCK => OperandKind::Block(BlockId(number)),
            _ => OperandKind::Metadata(MetadataId(number)),
        }
    }

    /// Returns the value, if it is one.
    pub fn as_value(self) -> Option<ValueId> {
        match self.kind() {
            OperandKind::Value(id) => Some(id),
            _ => None,
        }
    }

    /// Returns the block, if it is one.
    pub fn as_block(self) -> Option<BlockId> {
        match self.kind() {
            OperandKind::Block(id) => Some(id),
            _ => None,
        }
    }
}
