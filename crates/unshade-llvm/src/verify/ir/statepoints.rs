//! Statepoints of precise garbage collection: the call that they wrap, and the values that they move.
//!
//! `llvm.experimental.gc.statepoint` takes an id, a number of bytes, the callee, the number of its arguments, flags,
//! the arguments, and then counts of transition and deoptimisation operands, which are zero where bundles hold them.
//!
//! Knowledge: LLVM's documentation of garbage collection safepoints; what LLVM 14 and 19 refuse.

use super::attribute_kinds::kind;
use super::body::BodyCheck;
use super::calls::CallParts;
use super::intrinsics::RULE;
use crate::attributes::{Attribute, index};
use crate::ids::{TypeId, ValueId};
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;

/// The number of arguments before those of the callee.
const FIXED: usize = 5;

impl<'c> BodyCheck<'c, '_, '_> {
    /// Returns the function type that a statepoint calls with.
    fn wrapped_type(&self, parts: &CallParts<'_>) -> Option<TypeId> {
        let set = self.context.attributes(parts.call.attributes, index::parameter(2));
        let held = set.iter().find_map(|attribute| match *attribute {
            Attribute::Type(kind::ELEMENT_TYPE, held) => held,
            _ => None,
        });
        held.or_else(|| self.context.table().pointee(self.type_of(self.argument(parts, 2)?)))
    }

    pub(super) fn statepoint(&mut self, _: &Instruction, parts: &CallParts<'c>) {
        let wrapped = self.wrapped_type(parts);
        let ty = wrapped.map_or(Type::Unknown, |ty| self.context.get(ty));
        let Type::Function { parameters, variadic, .. } = ty else {
            self.require(false, RULE, "a statepoint has no type of its callee");
            return;
        };
        let parameters = self.context.table().elements(parameters);
        let negative = |number: Option<u64>| number.is_some_and(|number| number >= 1 << 31);
        self.require(!negative(self.number(parts, 1)), RULE, "a statepoint has a negative number of bytes");
        let flags = self.number(parts, 4).unwrap_or(0);
        self.require(flags & !3 == 0, RULE, "a statepoint has an unknown flag");
        let count = self.number(parts, 3).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        let fits = if variadic { count >= parameters.len() } else { count == parameters.len() };
        self.require(fits, RULE, "a statepoint has another number of arguments than its callee has parameters");
        let arguments = parts.arguments.get(FIXED..FIXED.saturating_add(count));
        let Some(arguments) = arguments else {
            self.require(false, RULE, "a statepoint has fewer arguments than it says");
            return;
        };
        for (argument, &parameter) in arguments.iter().zip(parameters) {
            let same = self.context.same(self.context.operand_type(self.body, *argument), parameter);
            self.require(same, RULE, "an argument of a statepoint has another type than the parameter");
        }
        self.statepoint_counts(parts, FIXED.saturating_add(count));
    }

    /// Checks the counts of transition and deoptimisation operands after the arguments.
    fn statepoint_counts(&mut self, parts: &CallParts<'_>, at: usize) {
        let (transitions, states) = (self.number(parts, at), self.number(parts, at.saturating_add(1)));
        let zero = transitions == Some(0) && states == Some(0);
        self.require(zero, RULE, "a statepoint has operands that belong into bundles");
        let is_end = at.saturating_add(2) == parts.arguments.len();
        self.require(is_end, RULE, "a statepoint has too many arguments");
    }

    /// Returns the statepoint that a token is of: the token itself, or the pad that the statepoint unwinds to.
    fn statepoint_of(&self, id: ValueId) -> Option<&'c Instruction> {
        let (index, of) = self.definition(id)?;
        match of.opcode {
            Opcode::Call | Opcode::Invoke => Some(of),
            Opcode::LandingPad => {
                let block = self.flow.block_of(index);
                let &from = self.flow.predecessors(block).first()?;
                self.body.block(crate::BlockId(from)).last()
            }
            _ => None,
        }
    }

    fn is_statepoint(&self, of: &Instruction) -> bool {
        matches!(of.opcode, Opcode::Call | Opcode::Invoke)
            && self.call_parts(of).and_then(|parts| self.intrinsic_name(&parts)) == Some("experimental.gc.statepoint")
    }

    pub(super) fn statepoint_result(&mut self, of: &Instruction, parts: &CallParts<'c>) {
        let definition = self.argument(parts, 0).and_then(|id| self.definition(id)).map(|(_, of)| of);
        let is_none = definition.is_none();
        let statepoint = definition.filter(|of| self.is_statepoint(of));
        let allowed = statepoint.is_some() || (is_none && self.is_undefined_token(parts));
        self.require(allowed, RULE, "the token is none of a statepoint");
        let wrapped = statepoint.and_then(|of| self.call_parts(of)).and_then(|parts| self.wrapped_type(&parts));
        if let Some(Type::Function { result, .. }) = wrapped.map(|ty| self.context.get(ty)) {
            self.require(self.context.same(result, of.ty), RULE, "the result has another type than that of the callee");
        }
    }

    fn is_undefined_token(&self, parts: &CallParts<'_>) -> bool {
        use crate::constants::Constant;
        let constant = self.argument(parts, 0).and_then(|id| self.context.constant(Some(self.body), id));
        matches!(constant, Some((Constant::Undef | Constant::Poison, _)))
    }

    pub(super) fn relocate(&mut self, of: &Instruction, parts: &CallParts<'c>) {
        let statepoint = self.argument(parts, 0).and_then(|id| self.statepoint_of(id));
        let Some(statepoint) = statepoint.filter(|of| self.is_statepoint(of)) else {
            let undefined = self.is_undefined_token(parts);
            self.require(undefined, RULE, "the token is none of a statepoint");
            return;
        };
        let Some(wrapped) = self.call_parts(statepoint) else { return };
        let live = self.bundle(wrapped.call, b"gc-live");
        let list = live.unwrap_or(wrapped.arguments);
        for at in [1, 2] {
            let number = self.number(parts, at).and_then(|at| usize::try_from(at).ok());
            let fits = number.is_some_and(|number| number < list.len());
            self.require(fits, RULE, "the index of a moved value is out of range");
        }
        let context = self.context;
        self.require(context.is_pointer_or_vector(of.ty), RULE, "a moved value is no pointer");
        let moved = self.number(parts, 2).and_then(|at| list.get(usize::try_from(at).ok()?));
        if let Some(&moved) = moved {
            let ty = context.operand_type(self.body, moved);
            let same = context.is_pointer_or_vector(ty)
                && context.table().address_space(ty) == context.table().address_space(of.ty)
                && context.is_vector(ty) == context.is_vector(of.ty);
            self.require(same, RULE, "a moved value has another type than before");
        }
    }
}
