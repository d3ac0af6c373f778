//! The users of values, for passes that replace values and add others: a search of the whole function for each load
//! would take quadratic time.

use crate::ir::hash::FastMap;
use crate::ir::{Function, ValueId};

/// The users of each value, of those values that existed at the last question.
#[derive(Default)]
pub struct Users {
    /// Values that had an input when they were seen, in order of their numbers.
    lists: FastMap<ValueId, Vec<ValueId>>,
    /// The number of values that were seen.
    seen: usize,
}

impl Users {
    /// Returns the values that have a value as an input, in order of their numbers.
    ///
    /// Inputs that were set since the value was seen, and values that were replaced with other means than
    /// [`Self::replace`], do not make new users.
    pub fn of(&mut self, function: &Function, id: ValueId) -> Vec<ValueId> {
        for user in function.values.keys().skip(self.seen) {
            for input in function.inputs(user).iter().filter(|input| **input != ValueId::NONE) {
                self.lists.entry(function.resolve(*input)).or_default().push(user);
            }
        }
        self.seen = function.values.len();
        let is_user = |user: &ValueId| {
            !function.is_replaced(*user)
                && function
                    .inputs(*user)
                    .iter()
                    .any(|input| *input != ValueId::NONE && function.resolve(*input) == id)
        };
        let Some(list) = self.lists.get(&id) else { return Vec::new() };
        let mut users: Vec<ValueId> = list.iter().copied().filter(is_user).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    /// Replaces a value everywhere. Its users become those of the new one.
    pub fn replace(&mut self, function: &mut Function, old: ValueId, new: ValueId) {
        let (old, new) = (function.resolve(old), function.resolve(new));
        if old == new {
            return;
        }
        function.replace(old, new);
        if let Some(list) = self.lists.remove(&old) {
            self.lists.entry(new).or_default().extend(list);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BlockId, NO_ADDRESS, Op};

    #[test]
    fn users_follow_replacements() {
        let mut function = Function::default();
        let [a, b] = [1, 2].map(|number| function.constant(number, 32));
        let add = |function: &mut Function, inputs: [ValueId; 2]| {
            function.raw(Op::Add, 32, BlockId::ENTRY, NO_ADDRESS, &inputs)
        };
        let mut users = Users::default();
        let first = add(&mut function, [a, a]);
        assert_eq!(users.of(&function, a), [first]);
        let second = add(&mut function, [a, b]);
        assert_eq!(users.of(&function, a), [first, second]);
        users.replace(&mut function, a, b);
        assert_eq!(users.of(&function, b), [first, second]);
        users.replace(&mut function, first, second);
        assert_eq!(users.of(&function, b), [second]);
    }
}
