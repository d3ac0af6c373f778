//! Is the program in a module valid?
//!
//! The checks are those of LLVM's verifier, by our own rules and algorithms, over the read model: a module that LLVM
//! refuses has an error here, and one whose debug information LLVM drops has a warning. Each check names the instruction,
//! node or symbol at fault; [`findings`] knows its offset.
//!
//! | module | checks |
//! |---|---|
//! | [`body`], [`flow`] | uses, blocks, phis and terminators |
//! | [`operations`], [`memory`] | instructions and constant expressions |
//! | [`calls`], [`bundles`], [`special_values`] | calls |
//! | [`intrinsics`], [`intrinsic_rules`], [`statepoints`] | intrinsics |
//! | [`attributes`] | attributes of functions and calls |
//! | [`pads`] | exception handling |
//! | [`constants`], [`globals`], [`functions`] | the module outside of bodies |
//! | [`attachments`], [`symbol_metadata`], [`named`] | metadata |
//! | [`debug_info`], [`debug_uses`], [`scopes`] | debug information |
//! | [`air`], [`dxil`], [`dxil_body`] | what Apple's and Microsoft's programs must have |
//!
//! Nothing recurses, and everything takes time in proportion to the file, but for sorting.

mod air;
mod attachments;
mod attribute_kinds;
mod attributes;
mod body;
mod bundles;
mod calls;
mod constants;
mod context;
mod debug_info;
mod debug_nodes;
mod debug_uses;
mod dxil;
mod dxil_body;
mod findings;
mod flow;
mod functions;
mod globals;
mod intrinsic_rules;
mod intrinsic_table;
mod intrinsics;
mod memory;
mod metadata_view;
mod named;
mod operations;
mod pads;
mod scopes;
mod special_values;
mod statepoints;
mod symbol_metadata;
mod types;

use self::attachments::AttachmentCheck;
use self::body::BodyCheck;
use self::context::Context;
use self::findings::{Findings, Offsets, Place};
use self::scopes::Scopes;
use crate::assemble::{TextMap, Version};
use crate::body::FunctionBody;
use crate::ids::{MetadataId, narrow};
use crate::module::Module;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use unshade_core::Diagnostics;

pub(crate) use self::intrinsics::{Signature, intrinsic_signatures};

/// Checks a module and, one by one, its bodies.
pub(super) struct Verifier<'m, 'a> {
    context: Context<'m, 'a>,
    findings: Findings,
    offsets: Offsets<'m>,
    /// The checks of attachments, by the number of their kind.
    attachments: Vec<Option<AttachmentCheck>>,
    /// The function that each subprogram of the module belongs to.
    subprograms: BTreeMap<MetadataId, u32>,
    /// Where chains of scopes end.
    scopes: Scopes,
    /// The functions that have a subprogram.
    described: BTreeSet<u32>,
    /// The functions that each function of a DXIL module calls.
    calls: BTreeMap<u32, Vec<u32>>,
    /// Calls without a location in functions that have debug information: caller, instruction, callee.
    unlocated: Vec<(u32, u32, u32)>,
}

impl<'m, 'a> Verifier<'m, 'a> {
    pub(super) fn new(module: &'m Module<'a>) -> Self {
        let context = Context::new(module);
        let attachments = attachments::kinds_of(&context);
        Self {
            context,
            findings: Findings::new(),
            offsets: Offsets::File(None),
            attachments,
            subprograms: BTreeMap::new(),
            scopes: Scopes::default(),
            described: BTreeSet::new(),
            calls: BTreeMap::new(),
            unlocated: Vec::new(),
        }
    }

    /// Creates a verifier of a module that was parsed from a text for a version of LLVM: it was not upgraded as one that is
    /// read from a file is.
    pub(super) fn of_text(module: &'m Module<'a>, version: Version) -> Self {
        let mut verifier = Self::new(module);
        // The rules of LLVM 3.7 are not those of later versions.
        verifier.context.is_text = version != Version::Dxc;
        verifier.context.generation = match version {
            Version::Llvm14 => 14,
            Version::Llvm19 => 19,
            // Such a file does not say what wrote it.
            Version::Dxc => verifier.context.generation,
        };
        verifier
    }

    /// Creates a verifier of such a module that was written, whose findings have positions in the text.
    pub(super) fn of_written(module: &'m Module<'a>, map: &'m TextMap<'m>) -> Self {
        let mut verifier = Self::new(module);
        verifier.offsets = Offsets::Text(map);
        verifier.context.is_text = map.version() != Version::Dxc;
        verifier
    }

    /// Checks what is outside of bodies.
    pub(super) fn module(&mut self, diagnostics: &mut Diagnostics) {
        let (context, findings) = (&self.context, &mut self.findings);
        context.check_constants(findings);
        context.check_globals(findings);
        context.check_functions(findings);
        context.check_named_metadata(findings);
        context.check_symbol_metadata(findings);
        context.check_metadata_values(findings);
        context.check_debug_info(None, findings);
        if context.is_air() {
            context.check_air(findings);
        }
        if context.is_dxil {
            context.check_dxil(findings);
        }
        findings.enter(Place::Module);
        findings.finish(context.module, None, &mut self.offsets, diagnostics);
    }

    /// Checks a body.
    pub(super) fn body(&mut self, body: &FunctionBody, diagnostics: &mut Diagnostics) {
        let mut check = BodyCheck::new(&self.context, body, &mut self.findings, &mut self.unlocated);
        check.debug.scopes = core::mem::take(&mut self.scopes);
        check.run(&self.attachments);
        self.scopes = core::mem::take(&mut check.debug.scopes);
        self.scopes.forget_local(MetadataId(narrow(self.context.module.metadata.len() as u64)));
        let subprogram = check.subprogram();
        if self.context.is_dxil {
            self.calls.insert(body.function, dxil_body::collect_calls(&check));
        }
        if let Some(subprogram) = subprogram {
            self.own(subprogram, body.function);
        }
        self.findings.finish(self.context.module, Some(body), &mut self.offsets, diagnostics);
    }

    /// Stores the function that a subprogram belongs to, and reports a second one.
    fn own(&mut self, subprogram: MetadataId, function: u32) {
        self.described.insert(function);
        if subprogram.index() >= self.context.module.metadata.len() {
            // A node of the body: no other function refers to it.
            return;
        }
        let first = *self.subprograms.entry(subprogram).or_insert(function);
        if first != function {
            let place = Place::Function(function as usize);
            self.findings.add_at(place, debug_info::RULE, "a subprogram belongs to several functions");
        }
    }

    /// Reports what only all bodies together show.
    pub(super) fn finish(mut self, diagnostics: &mut Diagnostics) {
        self.context.check_recursion(&self.calls, &mut self.findings);
        if self.context.is_dxil {
            self.context.check_unused(&self.calls, &mut self.findings);
        }
        self.findings.finish(self.context.module, None, &mut self.offsets, diagnostics);
        let described = core::mem::take(&mut self.described);
        let calls = core::mem::take(&mut self.unlocated);
        let mut body = FunctionBody::default();
        let mut calls = calls.into_iter().filter(|(_, _, callee)| described.contains(callee)).peekable();
        while let Some((caller, instruction, _)) = calls.next() {
            let message = "a call of a function with debug information has no location, but its function has them";
            self.findings.add_at(Place::Instruction(instruction), debug_info::RULE, message);
            let is_last = calls.peek().is_none_or(|(next, ..)| *next != caller);
            if is_last && self.context.module.read_body(caller as usize, &mut body).is_ok() {
                self.findings.finish(self.context.module, Some(&body), &mut self.offsets, diagnostics);
            }
        }
    }
}
