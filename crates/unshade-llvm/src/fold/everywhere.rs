//! Folds the constants that a module and the bodies of its functions use.

use super::{Folder, Refold};
use crate::body::FunctionBody;
use crate::ids::ValueId;
use crate::metadata::{Metadata, MetadataTable};
use crate::module::Module;
use crate::rules::ConstantIndex;
use crate::value::Operand;
use crate::write::Version;
use alloc::vec::Vec;

/// Folds the constants that symbols and metadata of a module use, and those of its functions. Returns the new
/// constants, by their index among the module's.
pub(crate) fn fold_module(
    module: &mut Module<'_>,
    index: &mut ConstantIndex,
    version: Version,
    refold: &mut Refold,
) -> Vec<u32> {
    let mut budget = refold.budget();
    let mut used = Vec::new();
    for_each_value(module, |id| used.push(*id));
    let mut folder = Folder::new(module, index, version, &mut budget);
    refold.expressions(&mut folder, None);
    let folded: Vec<ValueId> = used.into_iter().map(|id| refold.value(&mut folder, None, id)).collect();
    let added = folder.added;
    let mut next = folded.into_iter();
    for_each_value(module, |id| *id = next.next().unwrap_or(*id));
    let mut added_of_metadata = Vec::new();
    for (id, ty, value) in values_in(&module.metadata) {
        let mut folder = Folder::new(module, index, version, &mut budget);
        let value = refold.value(&mut folder, None, value);
        added_of_metadata.append(&mut folder.added);
        module.metadata.replace(id, Metadata::Value { ty, value });
    }
    refold.set_budget(budget);
    added.into_iter().chain(added_of_metadata).collect()
}

/// Folds the constants that a body uses. Returns the new constants, by their index among the module's.
pub(crate) fn fold_body(
    module: &mut Module<'_>,
    body: &mut FunctionBody,
    index: &mut ConstantIndex,
    version: Version,
    refold: &mut Refold,
) -> Vec<u32> {
    let mut budget = refold.budget();
    let mut folder = Folder::new(module, index, version, &mut budget);
    refold.expressions(&mut folder, Some(body));
    for at in 0..body.operands.len() {
        let Some(id) = body.operands.get(at).and_then(|operand| operand.as_value()) else { continue };
        let folded = refold.value(&mut folder, Some(body), id);
        if let Some(operand) = body.operands.get_mut(at).filter(|_| folded != id) {
            *operand = Operand::value(folded);
        }
    }
    for (id, ty, value) in values_in(&body.metadata) {
        let folded = refold.value(&mut folder, Some(body), value);
        if folded != value {
            body.metadata.replace(id, Metadata::Value { ty, value: folded });
        }
    }
    let added = folder.added;
    refold.set_budget(budget);
    added
}

fn values_in(table: &MetadataTable) -> Vec<(crate::ids::MetadataId, crate::ids::TypeId, ValueId)> {
    let value = |(id, entry)| match entry {
        Metadata::Value { ty, value } => Some((id, ty, value)),
        _ => None,
    };
    table.iter().filter_map(value).collect()
}

/// Calls `change` for each value that a symbol uses.
fn for_each_value(module: &mut Module<'_>, mut change: impl FnMut(&mut ValueId)) {
    module.globals.iter_mut().filter_map(|global| global.initializer.as_mut()).for_each(&mut change);
    module.aliases.iter_mut().for_each(|alias| change(&mut alias.target));
    for function in &mut module.functions {
        let operands = [&mut function.prologue, &mut function.prefix, &mut function.personality];
        operands.into_iter().flatten().for_each(&mut change);
    }
}
