//! Blocks whose address is taken: `blockaddress(@function, %block)` may come before or after the function.
//!
//! Until the end of the text the block of such a constant is the number of its label here, so that equal constants are
//! one; then it becomes the position of the block.

use super::error::Parsed;
use super::function::Local;
use super::lexer::Token;
use super::names::{NameTable, NumberTable};
use super::parser::Parser;
use crate::constants::Constant;
use crate::ids::{BlockId, ValueId, narrow};
use crate::types::Type;
use crate::value::{Value, ValueKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The labels of a text whose address is taken.
#[derive(Default)]
pub(super) struct LabelState {
    /// Whether the text takes addresses of blocks at all.
    pub(super) is_used: bool,
    labels: Vec<Label>,
    numbers: BTreeMap<Label, u32>,
    positions: Vec<usize>,
    functions: BTreeMap<ValueId, FunctionLabels>,
}

/// A label: function, and name or number of the block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    function: ValueId,
    name: Result<Vec<u8>, u32>,
}

/// The blocks of a function by name and number.
pub(super) struct FunctionLabels {
    pub(super) names: NameTable<Local>,
    pub(super) numbers: NumberTable<Local>,
    /// The position of each block by first mention.
    pub(super) order: Vec<u32>,
}

impl LabelState {
    pub(super) fn new(is_used: bool) -> Self {
        Self { is_used, ..Self::default() }
    }
}

impl Parser<'_> {
    /// Returns the number of a label of a function.
    pub(super) fn label_number(&mut self, function: ValueId, label: Token<'_>, at: usize) -> u32 {
        let name = match label {
            Token::Local(name) => Ok(name.bytes().into_owned()),
            Token::LocalNumber(number) => Err(number),
            _ => Err(u32::MAX),
        };
        let label = Label { function, name };
        let state = &mut self.labels;
        if let Some(&number) = state.numbers.get(&label) {
            return number;
        }
        let number = narrow(state.labels.len() as u64);
        state.labels.push(label.clone());
        state.positions.push(at);
        state.numbers.insert(label, number);
        number
    }

    /// Keeps the names of the blocks of a function until the end of the text.
    pub(super) fn keep_labels(&mut self, function: ValueId, labels: FunctionLabels) {
        if self.labels.is_used {
            self.labels.functions.insert(function, labels);
        }
    }

    /// Resolves all labels.
    pub(super) fn finish_labels(&mut self) -> Parsed<()> {
        self.check_address_types()?;
        for index in 0..self.module.constants.len() {
            let Constant::BlockAddress { block, .. } = self.module.constants.get(index) else { continue };
            let position = self.labels.positions.get(block.index()).copied().unwrap_or(0);
            match self.labels.labels.get(block.index()).and_then(|label| self.block_of(label)) {
                Some(found) => self.module.constants.set_block(index, found),
                None => return self.fault_at(position, "blockaddress of a block that does not exist"),
            }
        }
        Ok(())
    }

    /// Checks that the address of each block is an `i8*` to the address space of its function.
    fn check_address_types(&mut self) -> Parsed<()> {
        if !self.labels.is_used {
            return Ok(());
        }
        let byte = self.module.types.intern(Type::Integer(8));
        for at in 0..self.module.values.len() {
            let Some(&Value { kind: ValueKind::Constant(index), ty }) = self.module.values.get(at) else {
                continue;
            };
            let Constant::BlockAddress { function, block } = self.module.constants.get(index) else {
                continue;
            };
            let space = self.module.types.address_space(self.type_of(function)).unwrap_or(0);
            let expected = self.pointer_to(byte, space);
            if ty != expected {
                let position = self.labels.positions.get(block.index()).copied().unwrap_or(0);
                let (ty, expected) = (self.shown_type(ty), self.shown_type(expected));
                return self.fault_at(
                    position,
                    alloc::format!("blockaddress is of type '{expected}' but used as '{ty}'"),
                );
            }
        }
        Ok(())
    }

    fn block_of(&self, label: &Label) -> Option<BlockId> {
        let function = self.labels.functions.get(&label.function)?;
        let local = match &label.name {
            Ok(name) => function.names.get(name),
            Err(number) => function.numbers.get(*number),
        };
        match local? {
            Local::Block(block) => function.order.get(block as usize).map(|&position| BlockId(position)),
            Local::Value(_) => None,
        }
    }
}
