//! Upgrades old modules as LLVM does when it reads them.
//!
//! Every version upgrades what earlier versions wrote: debug info, metadata, intrinsics whose parameters changed,
//! calls of the Objective-C runtime. The printer shows a module as that version has it in memory, so the same
//! upgrades are made here, on a copy, and only for modules that need them, which [`UpgradeCheck`] finds out
//! cheaply. [`text`] makes those that LLVM makes of a text, for the assembler.
//!
//! Knowledge: the output of `llvm-dis` 14, 19 and 22 for files of earlier versions, and LLVM's release notes.

mod atomics;
mod branch_protection;
mod debug_info;
mod edges;
mod editor;
mod equal_metadata;
mod expressions;
mod folds;
mod functions;
mod globals;
mod intrinsics;
mod lifetimes;
mod local_debug_info;
mod metadata;
mod nvvm_annotations;
mod nvvm_intrinsics;
mod objc;
mod text;
mod unsafe_atomics;

pub(crate) use intrinsics::{is_gone_intrinsic, is_old_intrinsic};
pub(super) use metadata::flag_start;
pub(crate) use text::{is_old_text, upgrade_text};

use super::Dialect;
use crate::body::FunctionBody;
use crate::module::Module;
use alloc::vec::Vec;
use equal_metadata::EqualMetadata;

/// An upgraded module with all of its bodies.
pub(super) struct Upgraded<'a> {
    pub(super) module: Module<'a>,
    pub(super) bodies: Vec<Option<FunctionBody>>,
}

/// Finds out whether a module needs an upgrade.
pub(super) struct UpgradeCheck<'m, 'a> {
    module: &'m Module<'a>,
    dialect: Dialect,
    found: bool,
    calls: functions::CallCheck,
    attachments: metadata::AttachmentKinds,
    declares: local_debug_info::DebugDeclares,
}

impl<'m, 'a> UpgradeCheck<'m, 'a> {
    /// Checks everything except bodies.
    pub(super) fn new(module: &'m Module<'a>, dialect: Dialect) -> Self {
        let found = dialect != Dialect::Dxc
            && (debug_info::is_old(module)
                || local_debug_info::is_old(module, dialect)
                || globals::is_old(module, dialect)
                || metadata::is_old(module)
                || nvvm_annotations::is_old(module, dialect)
                || branch_protection::is_old(module, dialect)
                || objc::is_old(module)
                || functions::is_old(module, dialect)
                || intrinsics::is_old(module, dialect)
                || folds::is_old(module, dialect)
                || (dialect == Dialect::Llvm22 && module.types.has_mmx())
                || unsafe_atomics::is_old(module, dialect)
                || (dialect.is_opaque() && debug_info::has_unread_annotations(&module.metadata))
                || (dialect.is_opaque()
                    && (expressions::is_old(module, dialect) || equal_metadata::is_old(module))));
        let calls = functions::CallCheck::new(module, dialect);
        let (attachments, declares) =
            (metadata::AttachmentKinds::new(module, dialect), local_debug_info::DebugDeclares::new(module));
        Self { module, dialect, found, calls, attachments, declares }
    }

    /// Checks a body.
    pub(super) fn check_body(&mut self, body: &FunctionBody) {
        self.found = self.found
            || (self.dialect != Dialect::Dxc
                && (self.attachments.any_old(self.module, body)
                    || self.calls.any_old(self.module, body)
                    || self.declares.any_old(self.module, body)
                    || folds::any_old(self.module, body, self.dialect)
                    || (self.dialect.is_opaque()
                        && (expressions::any_old(self.module, body, self.dialect)
                            || equal_metadata::any_old(self.module, body)
                            || debug_info::has_unread_annotations(&body.metadata)))));
    }

    /// Returns whether anything checked so far needs an upgrade.
    pub(super) fn needs_upgrade(&self) -> bool {
        self.found
    }
}

/// Upgrades a copy of a module, and its bodies.
pub(super) fn upgrade<'a>(
    module: &Module<'a>,
    dialect: Dialect,
    bodies: Vec<Option<FunctionBody>>,
) -> Upgraded<'a> {
    let mut upgraded = Upgraded { module: module.clone(), bodies };
    let opaque = dialect.is_opaque();
    let module = &mut upgraded.module;
    if dialect == Dialect::Llvm22 {
        module.types.replace_mmx();
    }
    if folds::is_old(module, dialect)
        || upgraded.bodies.iter().flatten().any(|body| folds::any_old(module, body, dialect))
    {
        folds::fold(module, &mut upgraded.bodies, dialect);
    }
    debug_info::upgrade(module);
    let has_dropped = opaque && drop_unread_annotations(module, &mut upgraded.bodies);
    if opaque {
        local_debug_info::upgrade(module);
    }
    globals::upgrade(module, dialect);
    metadata::upgrade(module);
    if dialect == Dialect::Llvm22 {
        nvvm_annotations::upgrade(module);
    }
    if branch_protection::is_old(module, dialect) {
        branch_protection::upgrade(module);
    }
    let plan = intrinsics::upgrade(module, dialect);
    let mut expressions = expressions::RemovedExpressionCache::new(dialect);
    let expands = opaque
        && (expressions::is_old(module, dialect)
            || upgraded.bodies.iter().flatten().any(|body| expressions::any_old(module, body, dialect)));
    if expands {
        expressions::undef_module_metadata(module, &mut expressions);
    }
    let equal = (has_dropped || opaque && has_pointers_in_metadata(module, &upgraded.bodies))
        .then(|| EqualMetadata::of(module));
    if let Some(equal) = &equal {
        equal.unify(module);
    }
    let declares = local_debug_info::DebugDeclares::new(module);
    let (kinds, mut offset) = (metadata::AttachmentKinds::new(module, dialect), None);
    for body in upgraded.bodies.iter_mut().flatten() {
        declares.upgrade_body(module, body);
        functions::upgrade_body(module, body, dialect);
        if dialect == Dialect::Llvm22 {
            unsafe_atomics::upgrade_body(module, body);
        }
        if !plan.is_empty() {
            plan.upgrade_calls(module, body);
        }
        if expands {
            expressions::expand(module, body, &mut expressions);
        }
        if let Some(equal) = &equal {
            equal.unify_body(module, body);
        }
        metadata::upgrade_attachments(module, body, &kinds, &mut offset);
    }
    functions::upgrade_declarations(module, dialect);
    objc::upgrade(module, &mut upgraded.bodies, opaque);
    upgraded.bodies.resize_with(upgraded.module.functions.len(), || None);
    upgraded
}

/// Drops annotations of types that LLVM does not read, and returns whether there were any: types may be equal without them.
fn drop_unread_annotations(module: &mut Module<'_>, bodies: &mut [Option<FunctionBody>]) -> bool {
    let of_bodies = bodies.iter_mut().flatten().map(|body| &mut body.metadata);
    let mut has_dropped = false;
    for table in core::iter::once(&mut module.metadata).chain(of_bodies) {
        has_dropped |= debug_info::drop_unread_annotations(table);
    }
    has_dropped
}

/// Returns whether metadata refers to typed pointers.
fn has_pointers_in_metadata(module: &Module<'_>, bodies: &[Option<FunctionBody>]) -> bool {
    equal_metadata::is_old(module)
        || bodies.iter().flatten().any(|body| equal_metadata::any_old(module, body))
}
