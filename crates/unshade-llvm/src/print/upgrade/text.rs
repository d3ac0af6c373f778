//! Upgrades a module that was parsed from a text.
//!
//! LLVM's parser upgrades less than its reader of bitcode: TBAA tags, intrinsics, module flags and one section. A text has
//! to be right about everything else. The module that is upgraded has all its values and metadata in one growing list;
//! see [`Module::is_open`].

use super::super::Dialect;
use super::super::intrinsics::Intrinsic;
use super::super::mangle;
use super::{globals, intrinsics, metadata};
use crate::body::FunctionBody;
use crate::global::{Symbol, UpgradedPosition};
use crate::ids::ValueId;
use crate::module::Module;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Returns whether a module and its bodies need an upgrade.
pub(crate) fn is_old_text(module: &Module<'_>, bodies: &[FunctionBody], dialect: Dialect) -> bool {
    let kinds = metadata::AttachmentKinds::of_text(module);
    intrinsics::is_old(module, dialect)
        || metadata::has_old_flags(module)
        || metadata::has_old_behaviour(module, dialect)
        || globals::has_old_section(module)
        || (0..module.functions.len()).any(|at| renamed(module, dialect, at).is_some())
        || bodies.iter().any(|body| kinds.is_any_old(module, body))
}

/// Upgrades a module and its bodies. Returns the functions that became others, whose uses outside of calls have to be
/// replaced: each with the one that it is now.
pub(crate) fn upgrade_text(
    module: &mut Module<'_>,
    bodies: &mut [FunctionBody],
    dialect: Dialect,
) -> Vec<(ValueId, ValueId)> {
    let kinds = metadata::AttachmentKinds::of_text(module);
    let mut offset = None;
    for body in bodies.iter_mut() {
        metadata::upgrade_attachments(module, body, &kinds, &mut offset);
    }
    let plan = intrinsics::upgrade(module, dialect);
    if !plan.is_empty() {
        for body in bodies.iter_mut() {
            plan.upgrade_calls(module, body);
        }
    }
    let replaced = rename(module, dialect);
    metadata::upgrade_flags(module);
    metadata::upgrade_behaviours(module, dialect);
    globals::upgrade_sections(module);
    replaced
}

/// Returns the name that an intrinsic has now, if it has another one.
fn renamed(module: &Module<'_>, dialect: Dialect, at: usize) -> Option<Vec<u8>> {
    let function =
        module.functions.get(at).filter(|function| function.position == UpgradedPosition::Original)?;
    let intrinsic = Intrinsic::of(&module.types, dialect, &function.symbol)?;
    let rewrite = mangle::rewrite(module, dialect, at, intrinsic)?;
    // The reader of the file takes an argument away, too.
    rewrite.dropped.is_none().then(|| rewrite.name.into_bytes())
}

/// Gives intrinsics their names. Those whose types became equal become one.
fn rename(module: &mut Module<'_>, dialect: Dialect) -> Vec<(ValueId, ValueId)> {
    let mut replaced = Vec::new();
    let present = module.functions.iter().filter(|function| function.position != UpgradedPosition::Replaced);
    let named = |symbol: &Symbol| (symbol.name.clone(), (symbol.value, symbol.ty));
    let mut names: BTreeMap<_, _> = present.map(|function| named(&function.symbol)).collect();
    for at in 0..module.functions.len() {
        let Some(name) = renamed(module, dialect, at) else { continue };
        let Some(function) = module.functions.get_mut(at) else { continue };
        match names.get(&name) {
            Some(&(known, ty)) if ty == function.symbol.ty => {
                function.position = UpgradedPosition::Replaced;
                replaced.push((function.symbol.value, known));
            }
            _ => {
                function.position = UpgradedPosition::AtEnd;
                names.insert(name.clone(), (function.symbol.value, function.symbol.ty));
                function.symbol.name = name;
            }
        }
    }
    replaced
}
