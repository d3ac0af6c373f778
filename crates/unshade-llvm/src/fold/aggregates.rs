//! Folds `extractvalue` and `insertvalue`, which are never expressions.

use super::Folder;
use crate::ids::ValueId;
use crate::types::Type;
use alloc::vec::Vec;

/// The largest array that is built anew.
const MAX_FIELDS: u32 = 1 << 16;

impl Folder<'_, '_> {
    /// Returns a part of an aggregate.
    pub(crate) fn extract_value(&mut self, aggregate: ValueId, indices: &[u32]) -> Option<ValueId> {
        indices.iter().try_fold(aggregate, |value, &index| self.field(value, index))
    }

    /// Returns an aggregate with another part.
    pub(crate) fn insert_value(
        &mut self,
        aggregate: ValueId,
        part: ValueId,
        indices: &[u32],
    ) -> Option<ValueId> {
        let mut outer = alloc::vec![aggregate];
        for &index in indices {
            outer.push(self.field(*outer.last()?, index)?);
        }
        if self.type_of(outer.pop()?) != self.type_of(part) {
            return None;
        }
        indices.iter().rev().try_fold(part, |value, &index| {
            let whole = outer.pop()?;
            let ty = self.type_of(whole);
            let count = match self.module.types.get(ty) {
                Type::Array { count, .. } => {
                    u32::try_from(count).ok().filter(|&count| count <= MAX_FIELDS)?
                }
                Type::Struct(structure) => structure.fields.count,
                _ => return None,
            };
            let fields = (0..count).map(|at| if at == index { Some(value) } else { self.field(whole, at) });
            let fields: Vec<ValueId> = fields.collect::<Option<_>>()?;
            Some(self.vector(ty, &fields))
        })
    }

    /// Returns a field of a struct or an element of an array.
    fn field(&mut self, aggregate: ValueId, index: u32) -> Option<ValueId> {
        let is_vector = self.is_vector(self.type_of(aggregate));
        if is_vector { None } else { self.element(aggregate, index) }
    }
}
