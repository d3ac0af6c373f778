//! Operand bundles of calls, and calls of inline assembly.
//!
//! Knowledge: the Language Reference on operand bundles and inline assembly; what LLVM 14 and 19 refuse.

use super::attribute_kinds::kind;
use super::body::BodyCheck;
use super::calls::CallParts;
use super::context::has;
use crate::attributes::index;
use crate::body::{Bundle, Call};
use crate::constants::Constant;
use crate::ids::ValueId;
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;
use crate::value::Operand;

const RULE: &str = "ir-bundle";
const ASSEMBLY: &str = "ir-assembly";

/// What the operands of a bundle are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// Anything.
    Any,
    /// One pad of exception handling.
    Pad,
    /// One pointer.
    Pointer,
    /// One constant of `i32`.
    Constant,
    /// A constant of `i32`, and an `i64`.
    Key,
    /// The token of `llvm.call.preallocated.setup`.
    Setup,
    /// A function that the result is passed to; nothing for calls that have it as an argument.
    Attached,
    /// One token.
    Token,
}

/// Bundles that a call has at most once, with their operands.
const BUNDLES: &[(&[u8], Takes)] = &[
    (b"deopt", Takes::Any),
    (b"funclet", Takes::Pad),
    (b"gc-transition", Takes::Any),
    (b"cfguardtarget", Takes::Pointer),
    (b"preallocated", Takes::Setup),
    (b"gc-live", Takes::Any),
    (b"clang.arc.attachedcall", Takes::Attached),
    (b"ptrauth", Takes::Key),
    (b"kcfi", Takes::Constant),
    (b"convergencectrl", Takes::Token),
];

impl<'c> BodyCheck<'c, '_, '_> {
    fn bundle_list(&self, call: &Call) -> &'c [Bundle] {
        call.bundles.of(&self.body.bundles)
    }

    fn tag(&self, bundle: &Bundle) -> &'c [u8] {
        self.context.module.bundle_tags.get(bundle.tag as usize).map_or(&[], |tag| tag)
    }

    pub(super) fn has_bundle(&self, call: &Call, tag: &[u8]) -> bool {
        self.bundle_list(call).iter().any(|bundle| self.tag(bundle) == tag)
    }

    fn bundle_operands(&self, bundle: &Bundle) -> &'c [Operand] {
        bundle.operands.of(&self.body.operands)
    }

    /// Returns the operands of the bundle with a tag.
    pub(super) fn bundle(&self, call: &Call, tag: &[u8]) -> Option<&'c [Operand]> {
        let bundle = self.bundle_list(call).iter().find(|bundle| self.tag(bundle) == tag)?;
        Some(self.bundle_operands(bundle))
    }

    /// Returns the pad that a call is in by its bundle.
    pub(super) fn funclet_of(&self, of: &Instruction) -> Option<ValueId> {
        let call = self.body.calls.get(of.detail as usize)?;
        self.bundle(call, b"funclet")?.first()?.as_value()
    }

    pub(super) fn bundles(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let list = self.bundle_list(parts.call);
        if list.is_empty() {
            return;
        }
        let block_start = self.body.blocks.get(self.block.index()).map_or(0, |block| block.start);
        for bundle in list {
            for operand in self.bundle_operands(bundle) {
                if let Some(id) = operand.as_value() {
                    self.check_use(id, block_start);
                }
            }
        }
        for &(tag, takes) in BUNDLES {
            let mut found = list.iter().filter(|bundle| self.tag(bundle) == tag);
            let Some(first) = found.next() else { continue };
            let once = found.next().is_none();
            self.require(once, RULE, "a call has two bundles of a kind");
            let operands = self.bundle_operands(first);
            self.bundle_operand_kinds(of, parts, takes, operands);
        }
        let assumes = self.intrinsic_name(parts) == Some("assume");
        if assumes {
            list.iter().for_each(|bundle| self.assumption(bundle));
        }
    }

    fn bundle_operand_kinds(&mut self, of: &Instruction, parts: &CallParts<'_>, takes: Takes, operands: &[Operand]) {
        let context = self.context;
        let body = self.body;
        let ty = |at: usize| operands.get(at).map(|&operand| context.operand_type(body, operand));
        let one = operands.len() == 1;
        let constant = |at: usize| {
            let id = operands.get(at).and_then(|operand| operand.as_value());
            id.is_some_and(|id| context.is_immediate(Some(body), id)) && ty(at).is_some_and(|ty| context.is_integer_of(ty, 32))
        };
        let holds = match takes {
            Takes::Any => true,
            Takes::Pad => {
                let pad = operands.first().and_then(|operand| operand.as_value()).and_then(|id| self.definition(id));
                one && pad.is_some_and(|(_, of)| matches!(of.opcode, Opcode::CatchPad | Opcode::CleanupPad))
            }
            Takes::Pointer => one && ty(0).is_some_and(|ty| context.is_pointer(ty)),
            Takes::Constant => one && constant(0),
            Takes::Key => {
                let direct = parts.function.is_some_and(|function| !context.is_intrinsic(function));
                operands.len() == 2 && constant(0) && ty(1).is_some_and(|ty| context.is_integer_of(ty, 64)) && !direct
            }
            Takes::Setup => one && self.is_call_of(operands.first(), "call.preallocated.setup"),
            Takes::Attached => self.attached_call(of, parts, operands),
            Takes::Token => one && ty(0).is_some_and(|ty| matches!(context.get(ty), Type::Token)),
        };
        self.require(holds, RULE, "a bundle has other operands than it takes");
    }

    /// Returns whether an operand is the result of an intrinsic.
    pub(super) fn is_call_of(&self, operand: Option<&Operand>, name: &str) -> bool {
        let Some(id) = operand.and_then(|operand| operand.as_value()) else { return false };
        let Some((_, of)) = self.definition(id) else { return false };
        of.opcode == Opcode::Call && self.call_parts(of).and_then(|parts| self.intrinsic_name(&parts)) == Some(name)
    }

    /// Returns whether a function gets the pointer that the call returns.
    fn attached_call(&self, of: &Instruction, parts: &CallParts<'_>, operands: &[Operand]) -> bool {
        let context = self.context;
        // LLVM 14 knows the form without a function, and later versions drop what they read in it.
        if operands.is_empty() {
            return !context.is_text || context.types.typed_pointers;
        }
        let target = operands.first().and_then(|operand| operand.as_value());
        let function = target.and_then(|id| context.function_behind(Some(self.body), id));
        let is_pointer = context.is_pointer(of.ty) || self.no_return(parts);
        operands.len() == 1 && is_pointer && function.is_some()
    }

    fn no_return(&self, parts: &CallParts<'_>) -> bool {
        matches!(self.context.get(parts.call.function_type), Type::Function { result, .. }
            if matches!(self.context.get(result), Type::Void))
    }

    /// Checks a bundle of `llvm.assume`, whose tag is the name of an attribute.
    fn assumption(&mut self, bundle: &Bundle) {
        let tag = self.tag(bundle);
        let operands = self.bundle_operands(bundle);
        if matches!(tag, b"ignore" | b"separate_storage") {
            return;
        }
        let context = self.context;
        if tag == b"align" {
            let ty = |at: usize| operands.get(at).map(|&operand| context.operand_type(self.body, operand));
            let holds = matches!(operands.len(), 2 | 3)
                && ty(0).is_some_and(|ty| context.is_pointer(ty))
                && ty(1).is_some_and(|ty| context.is_integer(ty))
                && ty(2).is_none_or(|ty| context.is_integer(ty));
            self.require(holds, RULE, "an assumption about alignment has a pointer, an alignment and maybe an offset");
            return;
        }
        let number = (1..=96).find(|&number| crate::attribute_name(number).is_some_and(|name| name.as_bytes() == tag));
        let named = number.is_some() && !tag.is_empty();
        if !self.require(named, RULE, "an assumption has the name of no attribute") {
            return;
        }
        let expected = match tag {
            b"dereferenceable" | b"dereferenceable_or_null" => 2..=2,
            b"nonnull" | b"noundef" | b"readnone" | b"noalias" | b"nocapture" => 1..=1,
            b"cold" | b"noreturn" | b"nounwind" => 0..=0,
            _ => 0..=usize::MAX,
        };
        self.require(expected.contains(&operands.len()), RULE, "an assumption has another number of operands");
        if operands.len() == 2 && *expected.end() == 2 {
            let is_number = operands.get(1).is_some_and(|&operand| {
                let id = operand.as_value();
                id.is_some_and(|id| context.is_immediate(Some(self.body), id))
            });
            self.require(is_number, RULE, "an assumption has a size that is no constant");
        }
    }

    /// Checks a call of inline assembly: types of indirect operands, and the labels of `callbr`.
    pub(super) fn assembly_call(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        let context = self.context;
        let Some((Constant::Assembly(number), constants)) = context.constant(Some(self.body), parts.callee) else {
            return;
        };
        let Some(assembly) = constants.assembly(number) else { return };
        let text = constants.bytes(assembly.constraints);
        let constraints = text.split(|&c| c == b',').filter(|one| !one.is_empty());
        let (mut argument, mut labels) = (0usize, 0usize);
        for constraint in constraints {
            let is_label = constraint.first() == Some(&b'!');
            labels = labels.saturating_add(usize::from(is_label));
            let is_output = constraint.first() == Some(&b'=');
            let is_indirect = constraint.iter().take(4).any(|&c| c == b'*');
            let is_clobber = constraint.first() == Some(&b'~');
            if is_label || is_clobber || (is_output && !is_indirect) {
                continue;
            }
            self.assembly_argument(parts, argument, is_indirect);
            argument = argument.saturating_add(1);
        }
        if of.opcode == Opcode::CallBr {
            let same = labels == 0 || labels == of.extra as usize;
            self.require(same, ASSEMBLY, "callbr has another number of labels than its assembly");
        } else {
            self.require(labels == 0, ASSEMBLY, "assembly with labels is not called by callbr");
        }
    }

    fn assembly_argument(&mut self, parts: &CallParts<'_>, at: usize, is_indirect: bool) {
        let context = self.context;
        let set = context.attributes(parts.call.attributes, index::parameter(at));
        let has_type = has(set, kind::ELEMENT_TYPE);
        if !is_indirect {
            self.require(!has_type, ASSEMBLY, "elementtype is on an operand of assembly that is not indirect");
            return;
        }
        let Some(&argument) = parts.arguments.get(at) else { return };
        let ty = context.operand_type(self.body, argument);
        self.require(context.is_pointer(ty), ASSEMBLY, "an indirect operand of assembly is a pointer");
        let known = has_type || (context.table().pointee(ty).is_some() && !context.is_text);
        self.require(known, ASSEMBLY, "an indirect operand of assembly has no elementtype");
    }
}
