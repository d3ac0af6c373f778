//! Unifies metadata that becomes equal when pointers become opaque.
//!
//! `!{i32* undef}` and `!{i16* undef}` are both `!{ptr undef}`, and so is a cast of a pointer the pointer itself. LLVM has equal
//! nodes once, unless they are distinct; so have the nodes that refer to them. Here is which values are equal;
//! [`crate::equal_metadata`] finds the nodes.
//!
//! Knowledge: the output of `llvm-dis` 19 for modules with typed pointers.

use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::equal_metadata::{Enclosing, EqualMetadata as EqualEntries};
use crate::ids::{MetadataId, TypeId, ValueId};
use crate::metadata::{Metadata, MetadataTable};
use crate::module::Module;
use crate::print::constants::folded;
use crate::print::types::TypeTexts;
use crate::types::Type;
use alloc::collections::BTreeMap;
use alloc::string::String;

/// The entries of a module's metadata that are equal to an earlier one, and what entries of its functions may be equal to.
pub(super) struct EqualMetadata {
    types: TypeTexts,
    /// The first entry of each value.
    values: BTreeMap<Key, MetadataId>,
    entries: EqualEntries,
}

/// What makes values equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Value(ValueId),
    /// Null, `undef` or `poison` of a type, with its text.
    Plain(u8, String),
}

/// Returns whether a module has typed pointers in metadata, so that entries may become equal.
pub(super) fn is_old(module: &Module<'_>) -> bool {
    has_typed_pointers(module, None, &module.metadata)
}

/// Returns whether a body has them.
pub(super) fn any_old(module: &Module<'_>, body: &FunctionBody) -> bool {
    has_typed_pointers(module, Some(body), &body.metadata)
}

fn has_typed_pointers(module: &Module<'_>, body: Option<&FunctionBody>, table: &MetadataTable) -> bool {
    values(table).any(|(_, id)| {
        let ty = module.value(body, id).map_or(TypeId::NONE, |value| value.ty);
        let may_hold_pointers = matches!(
            module.types.get(ty),
            Type::Pointer { .. } | Type::Struct(_) | Type::Array { .. } | Type::Vector { .. }
        );
        may_hold_pointers && module.constant(body, id).is_some()
    })
}

fn values(table: &MetadataTable) -> impl Iterator<Item = (MetadataId, ValueId)> + '_ {
    table.iter().filter_map(|(id, entry)| match entry {
        Metadata::Value { value, .. } => Some((id, value)),
        _ => None,
    })
}

impl EqualMetadata {
    /// Finds the equal entries of a module.
    pub(super) fn of(module: &Module<'_>) -> Self {
        let mut equal = Self {
            types: TypeTexts::new(&module.types, &[], true),
            values: BTreeMap::new(),
            entries: EqualEntries::new(&module.metadata),
        };
        for (id, value) in values(&module.metadata) {
            let first = *equal.values.entry(equal.key(module, None, value)).or_insert(id);
            equal.entries.join(id, first);
        }
        equal.entries.find(&module.metadata, None);
        equal
    }

    fn key(&self, module: &Module<'_>, body: Option<&FunctionBody>, value: ValueId) -> Key {
        let value = folded(module, body, value);
        let plain = |kind| {
            let ty = module.value(body, value).map_or(TypeId::NONE, |value| value.ty);
            Key::Plain(kind, String::from(self.types.get(ty)))
        };
        match module.constant(body, value) {
            Some((Constant::Null, _)) => plain(0),
            Some((Constant::Undef, _)) => plain(1),
            Some((Constant::Poison, _)) => plain(2),
            _ => Key::Value(value),
        }
    }

    /// Makes a module refer to the first of equal entries.
    pub(super) fn unify(&self, module: &mut Module<'_>) {
        self.entries.unite_module(module);
    }

    /// Makes a body refer to the first of equal entries, its own ones included.
    pub(super) fn unify_body(&self, module: &Module<'_>, body: &mut FunctionBody) {
        let mut entries = EqualEntries::new(&body.metadata);
        let mut own = BTreeMap::new();
        for (id, value) in values(&body.metadata) {
            let key = self.key(module, Some(body), value);
            let found = self.values.get(&key).copied();
            entries.join(id, found.unwrap_or_else(|| *own.entry(key).or_insert(id)));
        }
        let enclosing = Enclosing { table: &module.metadata, equal: &self.entries };
        entries.find(&body.metadata, Some(enclosing));
        entries.unite_body(body, enclosing);
    }
}
