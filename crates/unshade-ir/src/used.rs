//! Which values are used.
//!
//! Stores, calls and other values that must stay are used, and so are conditions of branches; and whatever a used value
//! has as an input.

use super::{Function, IdVec, ValueId, ValueMap};

impl Function {
    /// Returns the values that are used, directly or indirectly, by values that must stay.
    pub fn used(&self) -> ValueMap<bool> {
        let mut used = IdVec::filled(false, self.values.len());
        for block in &self.blocks {
            for &effect in &block.effects {
                used[effect] |= self.is_kept(effect) && !self.is_replaced(effect);
            }
            if let Some(input) = block.end.input() {
                used[self.resolve(input)] = true;
            }
        }
        for (_, value) in &self.named {
            used[self.resolve(*value)] = true;
        }
        // Most inputs precede their users, so a descending pass reaches them later. The others go through a list.
        let mut list: Vec<ValueId> = Vec::new();
        for id in used.keys().rev() {
            if !used[id] {
                continue;
            }
            let mut at = Some(id);
            while let Some(user) = at {
                for &input in self.inputs(user) {
                    let input = self.resolve(input);
                    if !std::mem::replace(&mut used[input], true) && input > id {
                        list.push(input);
                    }
                }
                at = list.pop();
            }
        }
        used
    }
}
