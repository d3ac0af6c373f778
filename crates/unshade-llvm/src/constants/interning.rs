//! Constants by content, so that equal ones are one.

use super::{Assembly, Constant, Constants, Expression};
use crate::hash::Hash;
use crate::ids::{BlockId, Slice, TypeId, ValueId, narrow};
use crate::instruction::Opcode;

/// The content of a constant that may not be in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewConstant<'c> {
    Null,
    Undef,
    Poison,
    Integer(u64),
    WideInteger(&'c [u64]),
    Float(u64),
    WideFloat(&'c [u64]),
    Aggregate(&'c [ValueId]),
    Data(&'c [u64]),
    Text(&'c [u8]),
    Expression(NewExpression<'c>),
    Assembly { text: &'c [u8], constraints: &'c [u8], flags: u32, function_type: TypeId },
    BlockAddress { function: ValueId, block: BlockId },
    DsoLocalEquivalent(ValueId),
    NoCfi(ValueId),
}

/// The content of a constant expression; see [`Expression`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewExpression<'c> {
    pub(crate) opcode: Opcode,
    pub(crate) flags: u32,
    pub(crate) ty: TypeId,
    pub(crate) in_range: u32,
    pub(crate) bounds: &'c [u64],
    pub(crate) operands: &'c [ValueId],
}

impl NewConstant<'_> {
    /// Returns the values that the constant refers to.
    pub(crate) fn operands(&self) -> &[ValueId] {
        match self {
            Self::Aggregate(values) => values,
            Self::Expression(expression) => expression.operands,
            Self::BlockAddress { function: value, .. } | Self::DsoLocalEquivalent(value) | Self::NoCfi(value) => {
                core::slice::from_ref(value)
            }
            _ => &[],
        }
    }

    /// Returns a hash of the content.
    pub(crate) fn hash(&self, ty: TypeId) -> u64 {
        let hash = Hash::new().word(u64::from(ty.0));
        let words = |hash: Hash, words: &[u64]| words.iter().fold(hash, |hash, &word| hash.word(word));
        let values = |hash: Hash, ids: &[ValueId]| ids.iter().fold(hash, |hash, id| hash.word(u64::from(id.0)));
        match *self {
            Self::Null => hash.word(1),
            Self::Undef => hash.word(2),
            Self::Poison => hash.word(3),
            Self::Integer(word) | Self::Float(word) => hash.word(4).word(word),
            Self::WideInteger(list) | Self::WideFloat(list) | Self::Data(list) => words(hash.word(5), list),
            Self::Aggregate(ids) => values(hash.word(6), ids),
            Self::Text(text) => hash.word(7).bytes(text),
            Self::Expression(expression) => {
                let hash = hash.word(8).word(expression.opcode as u64).word(u64::from(expression.flags));
                let hash = hash.word(u64::from(expression.ty.0)).word(u64::from(expression.in_range));
                values(words(hash, expression.bounds), expression.operands)
            }
            Self::Assembly { text, constraints, .. } => hash.word(9).bytes(text).bytes(constraints),
            Self::BlockAddress { function, block } => {
                hash.word(10).word(u64::from(function.0)).word(u64::from(block.0))
            }
            Self::DsoLocalEquivalent(value) => hash.word(11).word(u64::from(value.0)),
            Self::NoCfi(value) => hash.word(12).word(u64::from(value.0)),
        }
        .0
    }
}

impl Constants {
    /// Returns the content of a constant.
    pub(crate) fn content(&self, index: u32) -> NewConstant<'_> {
        match self.get(index) {
            Constant::Null => NewConstant::Null,
            Constant::Undef => NewConstant::Undef,
            Constant::Poison => NewConstant::Poison,
            Constant::Integer(value) => NewConstant::Integer(value),
            Constant::WideInteger(words) => NewConstant::WideInteger(self.words(words)),
            Constant::Float(bits) => NewConstant::Float(bits),
            Constant::WideFloat(words) => NewConstant::WideFloat(self.words(words)),
            Constant::Aggregate(values) => NewConstant::Aggregate(self.values(values)),
            Constant::Data(words) => NewConstant::Data(self.words(words)),
            Constant::Text(text) => NewConstant::Text(self.bytes(text)),
            Constant::Expression(at) => match self.expression(at) {
                Some(&Expression { opcode, flags, ty, in_range, bounds, operands }) => {
                    let (bounds, operands) = (self.words(bounds), self.values(operands));
                    NewConstant::Expression(NewExpression { opcode, flags, ty, in_range, bounds, operands })
                }
                None => NewConstant::Undef,
            },
            Constant::Assembly(at) => match self.assembly(at) {
                Some(&Assembly { text, constraints, flags, function_type }) => NewConstant::Assembly {
                    text: self.bytes(text),
                    constraints: self.bytes(constraints),
                    flags,
                    function_type,
                },
                None => NewConstant::Undef,
            },
            Constant::BlockAddress { function, block } => NewConstant::BlockAddress { function, block },
            Constant::DsoLocalEquivalent(value) => NewConstant::DsoLocalEquivalent(value),
            Constant::NoCfi(value) => NewConstant::NoCfi(value),
        }
    }

    /// Adds a constant and returns its index.
    pub(crate) fn push(&mut self, new: &NewConstant<'_>) -> u32 {
        let constant = match *new {
            NewConstant::Null => Constant::Null,
            NewConstant::Undef => Constant::Undef,
            NewConstant::Poison => Constant::Poison,
            NewConstant::Integer(value) => Constant::Integer(value),
            NewConstant::WideInteger(words) => Constant::WideInteger(self.add_words(words)),
            NewConstant::Float(bits) => Constant::Float(bits),
            NewConstant::WideFloat(words) => Constant::WideFloat(self.add_words(words)),
            NewConstant::Aggregate(values) => self.aggregate(values),
            NewConstant::Data(words) => Constant::Data(self.add_words(words)),
            NewConstant::Text(text) => Constant::Text(Slice::extend(&mut self.bytes, text.iter().copied())),
            NewConstant::Expression(NewExpression { opcode, flags, ty, in_range, bounds, operands }) => {
                let bounds = self.add_words(bounds);
                let operands = Slice::extend(&mut self.values, operands.iter().copied());
                self.add_expression(Expression { opcode, flags, ty, in_range, bounds, operands })
            }
            NewConstant::Assembly { text, constraints, flags, function_type } => {
                self.add_assembly(text, constraints, flags, function_type)
            }
            NewConstant::BlockAddress { function, block } => Constant::BlockAddress { function, block },
            NewConstant::DsoLocalEquivalent(value) => Constant::DsoLocalEquivalent(value),
            NewConstant::NoCfi(value) => Constant::NoCfi(value),
        };
        self.add(constant)
    }

    /// Returns the number of constants.
    pub(crate) fn len(&self) -> u32 {
        narrow(self.list.len() as u64)
    }

    /// Replaces the block of a block address.
    pub(crate) fn set_block(&mut self, index: u32, to: BlockId) {
        if let Some(Constant::BlockAddress { block, .. }) = self.list.get_mut(index as usize) {
            *block = to;
        }
    }
}
