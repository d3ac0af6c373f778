//! Constants that LLVM only makes after uses of them were parsed: addresses of blocks of a function that is not defined yet,
//! and `dso_local_equivalent` of such a function. The first are made when the body of the function begins, the others at
//! the end of the text. Until then a placeholder is used, so the uses are set a second time. Equal constants are one
//! here from the start; only the times differ.
//!
//! Knowledge: the orders of uses that `llvm-as` of LLVM 14 and 19 writes.

use super::lexer::Token;
use super::parser::Parser;
use super::uses::Use;
use crate::ids::ValueId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A name or number, in the order in which LLVM makes constants: numbers first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Number(u32),
    Name(Vec<u8>),
}

/// The constants of a text that are made late.
#[derive(Default)]
pub(super) struct LateConstants {
    /// The uses of each until it is made.
    uses: BTreeMap<ValueId, Vec<Use>>,
    /// The addresses of blocks, by function.
    blocks: BTreeMap<ValueId, BTreeMap<Label, ValueId>>,
    /// Each `dso_local_equivalent`, by function.
    equivalents: BTreeMap<Label, Equivalent>,
}

struct Equivalent {
    constant: ValueId,
    /// The uses of the placeholder, once the constant was made for another use.
    made: Option<Vec<Use>>,
}

impl LateConstants {
    /// Notes a use of a constant if it has not been made yet.
    #[inline]
    pub(super) fn note_use(&mut self, value: ValueId, by: Use) {
        if !self.uses.is_empty()
            && let Some(uses) = self.uses.get_mut(&value)
        {
            uses.push(by);
        }
    }
}

fn label_of(token: Token<'_>) -> Option<Label> {
    match token {
        Token::Global(name) | Token::Local(name) => Some(Label::Name(name.bytes().into_owned())),
        Token::GlobalNumber(number) | Token::LocalNumber(number) => Some(Label::Number(number)),
        _ => None,
    }
}

impl Parser<'_> {
    /// Notes the address of a block, which is made late if its function is not defined yet.
    pub(super) fn note_block_address(&mut self, constant: ValueId, function: ValueId, label: Token<'_>) {
        if self.is_undefined(function)
            && let Some(label) = label_of(label)
        {
            self.late.blocks.entry(function).or_default().insert(label, constant);
            self.late.uses.entry(constant).or_default();
        }
    }

    /// Notes a `dso_local_equivalent`, which is made late if its function is not defined yet.
    pub(super) fn note_equivalent(&mut self, constant: ValueId, function: ValueId, name: Token<'_>) {
        let Some(label) = label_of(name) else { return };
        if self.is_undefined(function) {
            let equivalent = Equivalent { constant, made: None };
            self.late.equivalents.entry(label).or_insert(equivalent);
            self.late.uses.entry(constant).or_default();
            return;
        }
        let Some(equivalent) = self.late.equivalents.get_mut(&label).filter(|one| one.made.is_none()) else {
            return;
        };
        // New uses are not of the placeholder.
        equivalent.made = Some(self.late.uses.remove(&constant).unwrap_or_default());
        self.make_constant(constant);
    }

    /// Makes the addresses of the blocks of a function whose body begins.
    pub(super) fn make_block_addresses(&mut self, function: ValueId) {
        for constant in self.late.blocks.remove(&function).unwrap_or_default().into_values() {
            let uses = self.late.uses.remove(&constant).unwrap_or_default();
            self.make_constant(constant);
            self.uses.define(&uses);
        }
    }

    /// Makes every `dso_local_equivalent` at the end of the text.
    pub(super) fn make_equivalents(&mut self) {
        for Equivalent { constant, made } in core::mem::take(&mut self.late.equivalents).into_values() {
            let uses = made.unwrap_or_else(|| {
                self.make_constant(constant);
                self.late.uses.remove(&constant).unwrap_or_default()
            });
            self.uses.define(&uses);
        }
    }

    /// Sets the time at which the operands of a constant are set.
    fn make_constant(&mut self, constant: ValueId) {
        let Some(index) = self.module.constant_index(constant) else { return };
        let now = self.uses.tick();
        if let Some(time) = self.uses.order.constants.get_mut(index as usize) {
            *time = now;
        }
        self.uses.order.constant_operands.remove(&(index, 0));
    }
}
