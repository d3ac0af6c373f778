//! Unifies metadata that becomes equal when pointers become opaque.
//!
//! `!{i32* undef}` and `!{i16* undef}` are both `!{ptr undef}`, and so is a cast of a pointer the pointer itself. LLVM has equal
//! nodes once, unless they are distinct; so have the nodes that refer to them.
//!
//! Knowledge: the output of `llvm-dis` 19 for modules with typed pointers.

use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, TypeId, ValueId, narrow};
use crate::metadata::{Attachments, Metadata, MetadataTable};
use crate::module::Module;
use crate::print::constants::folded;
use crate::print::types::TypeTexts;
use crate::types::Type;
use crate::value::{Operand, OperandKind};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum number of searches for equal nodes. Each finds those that refer to what the one before it found.
const MAX_ROUNDS: usize = 64;

/// The entries of a module's metadata that are equal to an earlier one, and what entries of its functions may be equal to.
pub(super) struct EqualMetadata {
    types: TypeTexts,
    /// The first entry of each value and of each node that isn't distinct.
    values: BTreeMap<Key, MetadataId>,
    nodes: BTreeMap<Contents, MetadataId>,
    same: Same<'static>,
}

/// Entries that are equal to an earlier one: those of a table, and of the module's if the table is a function's.
#[derive(Default)]
struct Same<'o> {
    own: BTreeMap<MetadataId, MetadataId>,
    of_module: Option<&'o Same<'o>>,
}

/// The kind of a node, its references and its numbers.
type Contents = (NodeKind, Vec<u64>);

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
            nodes: BTreeMap::new(),
            same: Same::default(),
        };
        for (id, value) in values(&module.metadata) {
            let found = *equal.values.entry(equal.key(module, None, value)).or_insert(id);
            equal.same.add(id, found);
        }
        for _ in 0..MAX_ROUNDS {
            equal.nodes.clear();
            if !equal.same.find_nodes(&module.metadata, &mut equal.nodes, &BTreeMap::new()) {
                break;
            }
        }
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
        self.same.unify_nodes(&mut module.metadata);
        for named in &mut module.named_metadata {
            named.nodes.iter_mut().for_each(|id| *id = self.same.id(*id));
        }
        let globals = module.globals.iter_mut().map(|global| &mut global.symbol);
        let functions = module.functions.iter_mut().map(|function| &mut function.symbol);
        for symbol in globals.chain(functions) {
            self.same.unify_attachments(&mut symbol.attachments);
        }
    }

    /// Makes a body refer to the first of equal entries, its own ones included.
    pub(super) fn unify_body(&self, module: &Module<'_>, body: &mut FunctionBody) {
        let mut same = Same { own: BTreeMap::new(), of_module: Some(&self.same) };
        let mut own = BTreeMap::new();
        for (id, value) in values(&body.metadata) {
            let key = self.key(module, Some(body), value);
            let found = self.values.get(&key).copied();
            same.add(id, found.unwrap_or_else(|| *own.entry(key).or_insert(id)));
        }
        for _ in 0..MAX_ROUNDS {
            if !same.find_nodes(&body.metadata, &mut BTreeMap::new(), &self.nodes) {
                break;
            }
        }
        same.unify_nodes(&mut body.metadata);
        same.unify_attachments(&mut body.attached);
        same.unify_attachments(&mut body.function_attachments);
        for operand in &mut body.operands {
            if let OperandKind::Metadata(id) = operand.kind() {
                *operand = Operand::metadata(same.id(id));
            }
        }
        for location in &mut body.locations {
            (location.scope, location.inlined_at) = (same.id(location.scope), same.id(location.inlined_at));
        }
    }
}

impl Same<'_> {
    fn add(&mut self, id: MetadataId, first: MetadataId) {
        if id != first {
            self.own.insert(id, first);
        }
    }

    /// Finds nodes with the same contents as an earlier one, of the table or `known`; `first` takes the others. Returns whether there
    /// are new ones.
    fn find_nodes(
        &mut self,
        table: &MetadataTable,
        first: &mut BTreeMap<Contents, MetadataId>,
        known: &BTreeMap<Contents, MetadataId>,
    ) -> bool {
        let before = self.own.len();
        for (id, entry) in table.iter() {
            let Metadata::Node(node) = entry else { continue };
            if node.distinct {
                continue;
            }
            let references = table.references(node).iter().map(|reference| self.reference(*reference));
            let words = references.chain(table.numbers(node).iter().copied()).collect();
            let contents = (node.kind, words);
            let found = known.get(&contents).copied();
            self.add(id, found.unwrap_or_else(|| *first.entry(contents).or_insert(id)));
        }
        self.own.len() > before
    }

    fn id(&self, id: MetadataId) -> MetadataId {
        let found = self.own.get(&id).copied();
        found.unwrap_or_else(|| self.of_module.map_or(id, |outer| outer.id(id)))
    }

    /// Returns a reference (number plus one, or zero) to what is equal to an entry.
    fn reference(&self, reference: u64) -> u64 {
        match reference.checked_sub(1) {
            Some(id) => u64::from(self.id(MetadataId(narrow(id))).0) + 1,
            None => 0,
        }
    }

    fn unify_attachments(&self, attachments: &mut Attachments) {
        attachments.iter_mut().for_each(|(_, id)| *id = self.id(*id));
    }

    fn unify_nodes(&self, table: &mut MetadataTable) {
        let nodes = table
            .iter()
            .filter_map(|(_, entry)| if let Metadata::Node(node) = entry { Some(node) } else { None });
        for node in nodes.collect::<Vec<_>>() {
            for at in 0..node.references as usize {
                let reference = table.references(node).get(at).copied().unwrap_or(0);
                table.set_reference(node, at, self.reference(reference));
            }
        }
    }
}
