//! What LLVM does to old modules when it reads them.
//!
//! Every version brings what earlier ones wrote to the form that it knows: debug info, metadata, intrinsics that
//! changed their parameters, calls of the Objective-C runtime. The printer shows a module as that version has it in
//! memory, so the same is done here, on a copy, and only for modules that need it: [`Needs`] tells them apart at
//! little cost. A body that was read stays as it is unless something inside of it changes.
//!
//! Knowledge: what `llvm-dis` 14 and 19 print for files of earlier versions, and LLVM's release notes.

mod debug_info;
mod edit;
mod expressions;
mod functions;
mod globals;
mod intrinsics;
mod locals;
mod metadata;
mod objc;

use super::Dialect;
use crate::body::FunctionBody;
use crate::module::Module;
use alloc::vec::Vec;

/// A module brought up to date, with all of its bodies.
pub(super) struct Upgraded<'a> {
    pub(super) module: Module<'a>,
    pub(super) bodies: Vec<Option<FunctionBody>>,
}

/// Says whether a module has anything that a version brings up to date.
pub(super) struct Needs<'m, 'a> {
    module: &'m Module<'a>,
    dialect: Dialect,
    found: bool,
    calls: functions::Needs,
    attachments: metadata::Kinds,
    declares: locals::Declares,
}

impl<'m, 'a> Needs<'m, 'a> {
    /// Looks at everything but bodies.
    pub(super) fn new(module: &'m Module<'a>, dialect: Dialect) -> Self {
        let found = dialect != Dialect::Dxc
            && (debug_info::is_old(module)
                || locals::is_old(module, dialect)
                || globals::is_old(module, dialect)
                || metadata::is_old(module)
                || objc::is_old(module)
                || functions::is_old(module, dialect)
                || intrinsics::is_old(module, dialect)
                || (dialect == Dialect::Llvm19 && expressions::is_old(module)));
        let calls = functions::Needs::new(module, dialect);
        let (attachments, declares) = (metadata::Kinds::new(module, dialect), locals::Declares::new(module));
        Self { module, dialect, found, calls, attachments, declares }
    }

    /// Looks at a body.
    pub(super) fn look_at(&mut self, body: &FunctionBody) {
        self.found = self.found
            || (self.dialect != Dialect::Dxc
                && (self.attachments.any_old(self.module, body)
                    || self.calls.any_old(self.module, body)
                    || self.declares.any_old(self.module, body)
                    || (self.dialect == Dialect::Llvm19 && expressions::any_old(self.module, body))));
    }

    /// Whether there is anything to do.
    pub(super) fn found(&self) -> bool {
        self.found
    }
}

/// Brings a copy of a module, and its bodies, up to date.
pub(super) fn upgrade<'a>(
    module: &Module<'a>,
    dialect: Dialect,
    bodies: Vec<Option<FunctionBody>>,
) -> Upgraded<'a> {
    let mut upgraded = Upgraded { module: module.clone(), bodies };
    let opaque = dialect == Dialect::Llvm19;
    let module = &mut upgraded.module;
    debug_info::upgrade(module);
    if opaque {
        locals::upgrade(module);
    }
    globals::upgrade(module, dialect);
    metadata::upgrade(module);
    let plan = intrinsics::upgrade(module, dialect);
    let mut expressions = expressions::Known::default();
    let expands = opaque
        && (expressions::is_old(module)
            || upgraded.bodies.iter().flatten().any(|body| expressions::any_old(module, body)));
    if expands {
        expressions::blank_module_metadata(module, &mut expressions);
    }
    let declares = locals::Declares::new(module);
    let (kinds, mut offset) = (metadata::Kinds::new(module, dialect), None);
    for body in upgraded.bodies.iter_mut().flatten() {
        declares.upgrade_body(module, body);
        functions::upgrade_body(module, body, dialect);
        if !plan.is_empty() {
            plan.upgrade_calls(module, body);
        }
        if expands {
            expressions::expand(module, body, &mut expressions);
        }
        metadata::upgrade_attachments(module, body, &kinds, &mut offset);
    }
    functions::upgrade_declarations(module, dialect);
    objc::upgrade(module, &mut upgraded.bodies, opaque);
    upgraded.bodies.resize_with(upgraded.module.functions.len(), || None);
    upgraded
}
