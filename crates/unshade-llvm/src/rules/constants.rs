//! Constants in their canonical form, each once.
//!
//! The form decides the record of a constant: an aggregate of zeros is null, an array of plain numbers is data, an
//! array of bytes is text.

use crate::constants::{Constant, NewConstant};
use crate::hash::HashIndex;
use crate::ids::{TypeId, ValueId, narrow};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Value, ValueKind};
use crate::write::Version;
use alloc::vec::Vec;

/// The constants of a module by content, to find equal ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConstantIndex {
    index: HashIndex,
    /// Whether new constants are numbered after those of all functions.
    after_functions: bool,
}

impl ConstantIndex {
    /// Creates an index for constants that are added to a module whose functions were read.
    pub(crate) fn after_functions() -> Self {
        Self { after_functions: true, ..Self::default() }
    }

    /// Returns the constant with this content and type, which is added to the module if it is new; also returns the
    /// index of a new one.
    pub(crate) fn intern(
        &mut self,
        module: &mut Module<'_>,
        ty: TypeId,
        new: &NewConstant<'_>,
    ) -> (ValueId, Option<u32>) {
        let same = |id: u32| {
            module.value(None, ValueId(id)).is_some_and(|value| match value.kind {
                ValueKind::Constant(index) => value.ty == ty && module.constants.content(index) == *new,
                _ => false,
            })
        };
        let hash = new.hash(ty);
        if let Some(id) = self.index.find(hash, same) {
            return (ValueId(id), None);
        }
        let index = module.constants.push(new);
        let value = Value { kind: ValueKind::Constant(index), ty };
        let id = if self.after_functions {
            module.add_upgrade_value(value)
        } else {
            module.values.push(value);
            ValueId(narrow(module.values.len() as u64 - 1))
        };
        self.index.insert(hash, id.0, |id| hash_of(module, id));
        (id, Some(index))
    }
}

fn hash_of(module: &Module<'_>, id: u32) -> u64 {
    let Some(value) = module.value(None, ValueId(id)) else { return 0 };
    match value.kind {
        ValueKind::Constant(index) => module.constants.content(index).hash(value.ty),
        _ => 0,
    }
}

/// The canonical form of an aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Canonical {
    Null,
    Undef,
    Poison,
    Text(Vec<u8>),
    Data(Vec<u64>),
    Aggregate,
}

impl Canonical {
    /// Returns the form of an aggregate of these elements.
    pub(crate) fn of(module: &Module<'_>, version: Version, ty: TypeId, elements: &[ValueId]) -> Self {
        let all = |wanted| elements.iter().all(|&element| constant_of(module, element) == Some(wanted));
        let plain =
            [(Constant::Null, Self::Null), (Constant::Undef, Self::Undef), (Constant::Poison, Self::Poison)];
        for (constant, form) in plain {
            if all(constant) {
                return form;
            }
        }
        let (element, is_array) = match module.types.get(ty) {
            Type::Array { element, .. } => (module.types.get(element), true),
            Type::Vector { element, .. } => (module.types.get(element), false),
            _ => return Self::Aggregate,
        };
        // LLVM 3.7 has no data of `half`.
        let is_data = version != Version::Dxc || element != Type::Half;
        match data_of(module, element, elements).filter(|_| is_data) {
            Some(words) if is_array && element == Type::Integer(8) => {
                Self::Text(words.iter().map(|word| word.to_le_bytes()[0]).collect())
            }
            Some(words) => Self::Data(words),
            None => Self::Aggregate,
        }
    }

    /// Returns the content of the constant, of the elements that it was made of.
    pub(crate) fn content<'c>(&'c self, elements: &'c [ValueId]) -> NewConstant<'c> {
        match self {
            Self::Null => NewConstant::Null,
            Self::Undef => NewConstant::Undef,
            Self::Poison => NewConstant::Poison,
            Self::Text(text) => NewConstant::Text(text),
            Self::Data(words) => NewConstant::Data(words),
            Self::Aggregate => NewConstant::Aggregate(elements),
        }
    }
}

/// Returns the constant that a value of the module is.
fn constant_of(module: &Module<'_>, value: ValueId) -> Option<Constant> {
    module.constant(None, value).map(|(constant, _)| constant)
}

/// Returns the bits of elements that are plain numbers of a type that data may have.
fn data_of(module: &Module<'_>, element: Type, elements: &[ValueId]) -> Option<Vec<u64>> {
    let mask = match element {
        Type::Integer(width @ (8 | 16 | 32)) => (1 << width) - 1,
        Type::Integer(64) | Type::Half | Type::BFloat | Type::Float | Type::Double => u64::MAX,
        _ => return None,
    };
    elements
        .iter()
        .map(|&element| match constant_of(module, element)? {
            Constant::Null => Some(0),
            Constant::Integer(bits) | Constant::Float(bits) => Some(bits & mask),
            _ => None,
        })
        .collect()
}

/// Repeats the sign of an integer in the unused bits of its words, least significant first.
pub(crate) fn extend_sign(words: &mut [u64], width: u32) {
    if let (Some(last), used @ 1..) = (words.last_mut(), width % 64) {
        let shift = 64 - used;
        *last = ((*last << shift) as i64 >> shift) as u64;
    }
}

/// Returns the words of an integer of more than 64 bits as a file stores them: up to the last that is not zero, the
/// unused bits of that one zero.
pub(crate) fn wide_integer(words: &[u64], width: u32) -> Vec<u64> {
    let mut words = words.to_vec();
    if let (Some(last), used @ 1..) = (words.last_mut(), width % 64) {
        *last &= (1 << used) - 1;
    }
    while words.len() > 1 && words.last() == Some(&0) {
        words.pop();
    }
    words
}
