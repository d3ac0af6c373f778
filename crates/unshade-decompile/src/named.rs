//! Variables of the source code, from debugging information: the names that they give to variables of the text, hints
//! for type inference, and the types that were inferred without these hints.
//!
//! A front end records values of a variable in [`Function::named`](crate::ir::Function). Passes keep these values up to
//! date. What they are at the end votes: a variable of the text gets the name that most of its values have.

use crate::ir::hash::FastMap;
use crate::ir::{Function, Module, Op, SourceVariable, ValueId};
use crate::objects::Objects;
use crate::types::Type;
use crate::variables::Variables;

/// The values of the variables of a module, which no longer count as used.
#[derive(Debug, Default)]
pub struct NamedValues {
    /// The number of a variable, and one of its values.
    values: Vec<(u32, ValueId)>,
}

impl NamedValues {
    /// Takes the values out of the function.
    pub fn take(function: &mut Function) -> Self {
        let mut values = std::mem::take(&mut function.named);
        for (_, value) in &mut values {
            *value = function.resolve(*value);
        }
        Self { values }
    }

    /// Returns the types of values that the source code gives.
    pub fn hints(&self, module: &Module<'_>) -> Vec<(ValueId, Type)> {
        let typed = |&(variable, value): &(u32, ValueId)| {
            let op = module.function.op(value);
            let is_typed = !matches!(op, Op::Constant(_) | Op::Undefined | Op::Parameter(_));
            Some((value, variable_of(module, variable)?.ty?)).filter(|_| is_typed)
        };
        self.values.iter().filter_map(typed).collect()
    }

    /// Returns the name of each class of `variables` of which the source code names values.
    pub fn names(
        &self,
        module: &Module<'_>,
        variables: &Variables,
        has_variable: impl Fn(ValueId) -> bool,
    ) -> FastMap<ValueId, String> {
        let mut votes: FastMap<(ValueId, u32), u32> = FastMap::default();
        for &(variable, value) in self.values.iter().filter(|named| has_variable(named.1)) {
            *votes.entry((variables.of(value), variable)).or_default() += 1;
        }
        let mut votes: Vec<_> = votes.into_iter().collect();
        votes.sort_unstable_by_key(|&((class, variable), count)| (class, std::cmp::Reverse(count), variable));
        votes.dedup_by_key(|vote| vote.0.0);
        let name = |((class, variable), _)| Some((class, variable_of(module, variable)?.name.clone()));
        votes.into_iter().filter_map(name).collect()
    }

    /// Returns the variables with values, and the type that most values of each have.
    pub fn types(
        &self,
        module: &Module<'_>,
        objects: &Objects,
        types: impl Fn(ValueId) -> Type,
    ) -> Vec<SourceVariable> {
        // A value counts once, however often it is recorded.
        let mut values = self.values.clone();
        values.sort_unstable();
        values.dedup();
        let mut found = Vec::new();
        for (number, variable) in (0_u32..).zip(&module.variables).filter(|(_, variable)| !variable.is_symbol)
        {
            let known = |ty, counts| SourceVariable {
                name: variable.name.clone(),
                ty: Some(ty),
                counts,
                ..SourceVariable::default()
            };
            if let Some(member) = variable.place.and_then(|place| objects.found_at(place.space, place.offset))
            {
                found.push(known(member.ty, member.counts.clone()));
                continue;
            }
            let start = values.partition_point(|named| named.0 < number);
            let mut counts: Vec<(Type, u32)> = Vec::new();
            for &(_, value) in values[start..].iter().take_while(|named| named.0 == number) {
                // A constant has no type of its own.
                let op = module.function.op(value);
                let ty = types(value);
                if matches!(op, Op::Constant(_) | Op::Undefined) || ty == Type::Void {
                    continue;
                }
                match counts.iter_mut().find(|count| count.0 == ty) {
                    Some(count) => count.1 += 1,
                    None => counts.push((ty, 1)),
                }
            }
            if let Some((ty, _)) = counts.into_iter().max_by_key(|count| count.1) {
                found.push(known(ty, Vec::new()));
            }
        }
        found
    }
}

fn variable_of<'m>(module: &'m Module<'_>, number: u32) -> Option<&'m SourceVariable> {
    module.variables.get(usize::try_from(number).ok()?)
}
