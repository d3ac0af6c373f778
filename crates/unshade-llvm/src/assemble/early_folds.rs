//! Folds constants again that were made before all symbols were known that decide how they fold.
//!
//! LLVM does so when a symbol is defined, and at the places where the old constant is. So an operand of the new one
//! counts as set when that of the old one was.

use super::parser::Parser;
use crate::constants::Constant;
use crate::fold::{Refold, fold_body, fold_module};
use crate::ids::{ValueId, narrow};
use alloc::vec::Vec;

impl Parser<'_> {
    /// Folds all constants again, if some were folded too early.
    pub(super) fn finish_folds(&mut self) {
        if !self.folded_too_early {
            return;
        }
        let mut refold = Refold::new(self.fold_budget);
        let mut added = fold_module(&mut self.module, &mut self.constants, self.version, &mut refold);
        for body in &mut self.bodies {
            added.append(&mut fold_body(
                &mut self.module,
                body,
                &mut self.constants,
                self.version,
                &mut refold,
            ));
        }
        let now = self.uses.tick();
        self.uses.order.constants.resize(self.uses.order.constants.len() + added.len(), now);
        let replaced: Vec<(ValueId, ValueId)> = refold.replaced().collect();
        for (old, new) in replaced {
            self.keep_times(old, new, &added);
        }
    }

    /// Gives the operands of a new constant the times of those of the one that it replaces.
    fn keep_times(&mut self, old: ValueId, new: ValueId, added: &[u32]) {
        let index = |id: ValueId| self.module.constant_index(id);
        let (Some(old), Some(new)) = (index(old), index(new)) else { return };
        let count = |index| match self.module.constants.get(index) {
            Constant::Expression(at) => {
                self.module.constants.expression(at).map_or(0, |one| one.operands.len())
            }
            Constant::Aggregate(values) => values.len(),
            _ => 0,
        };
        if added.binary_search(&new).is_err() || count(old) != count(new) {
            return;
        }
        let order = &mut self.uses.order;
        let made = order.constants.get(old as usize).copied();
        if let (Some(slot), Some(made)) = (order.constants.get_mut(new as usize), made) {
            *slot = made;
        }
        for operand in 0..narrow(count(old) as u64) {
            if let Some(&time) = order.constant_operands.get(&(old, operand)) {
                order.constant_operands.insert((new, operand), time);
            }
        }
    }
}
