//! Which values are used.
//!
//! Stores, calls and other values that must stay are used, and so are conditions of branches; and whatever a used value
//! has as an input.

use super::{BlockId, Function, IdVec, ValueId, ValueMap};

impl Function {
    /// Returns the values that are used, directly or indirectly, by values that must stay.
    pub fn used(&self) -> ValueMap<bool> {
        self.used_if(|_| true, |_| true)
    }

    /// Returns the values that are used if only some blocks have effects, and only some ends an input.
    pub fn used_if(
        &self,
        has_effects: impl Fn(BlockId) -> bool,
        has_input: impl Fn(BlockId) -> bool,
    ) -> ValueMap<bool> {
        let mut used = IdVec::filled(false, self.values.len());
        for (id, block) in self.blocks.entries() {
            for &effect in block.effects.iter().filter(|_| has_effects(id)) {
                used[effect] |= self.is_kept(effect) && !self.is_replaced(effect);
            }
            if let Some(input) = block.end.input().filter(|_| has_input(id)) {
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
