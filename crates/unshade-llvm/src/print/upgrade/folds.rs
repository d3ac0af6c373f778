//! Folds constant expressions that the reading LLVM evaluates when it makes them, but that the file has: other versions
//! of LLVM fold less, or differently.

use super::expressions::is_removed;
use crate::body::FunctionBody;
use crate::fold::{Refold, any_folds, budget, fold_body, fold_module};
use crate::ids::narrow;
use crate::module::Module;
use crate::print::Dialect;
use crate::rules::ConstantIndex;
use crate::write::Version;

/// Returns the version whose folds a dialect has.
fn version(dialect: Dialect) -> Version {
    if dialect.is_opaque() { Version::Llvm19 } else { Version::Llvm14 }
}

/// Returns whether a module by LLVM 20 to 22 is read as LLVM 22 does: that had the same folds when it was written. Finding out
/// costs time, and keeping the bodies of a large module that may fold costs memory.
fn is_by_reader(module: &Module<'_>, dialect: Dialect) -> bool {
    dialect == Dialect::Llvm22 && Dialect::of_producer(&module.producer) == dialect
}

/// Returns whether constants of a module may fold.
pub(super) fn is_old(module: &Module<'_>, dialect: Dialect) -> bool {
    !is_by_reader(module, dialect) && any_folds(module, None, version(dialect))
}

/// Returns whether constants of a body may fold.
pub(super) fn any_old(module: &Module<'_>, body: &FunctionBody, dialect: Dialect) -> bool {
    !is_by_reader(module, dialect) && any_folds(module, Some(body), version(dialect))
}

/// Folds the constants of a module and its bodies.
pub(super) fn fold(module: &mut Module<'_>, bodies: &mut [Option<FunctionBody>], dialect: Dialect) {
    let mut index = ConstantIndex::after_functions();
    let version = version(dialect);
    let of_bodies = bodies.iter().flatten().map(|body| body.constants.stored_elements());
    let size = of_bodies.fold(module.constants.stored_elements(), u64::saturating_add);
    let refold = Refold::new(budget(size));
    let mut refold = match dialect {
        Dialect::Llvm19 => refold.without(|types, one| is_removed(types, one, Dialect::Llvm19)),
        Dialect::Llvm22 => refold.without(|types, one| is_removed(types, one, Dialect::Llvm22)),
        Dialect::Llvm14 | Dialect::Dxc => refold.in_file_order(),
    };
    fold_module(module, &mut index, version, &mut refold);
    let first = narrow(module.values.len() as u64);
    for body in bodies.iter_mut().flatten() {
        refold.forget_from(first);
        fold_body(module, body, &mut index, version, &mut refold);
    }
}
