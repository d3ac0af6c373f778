//! Values that only some instructions may use: `swifterror` variables, tokens of preallocated arguments, and what is
//! allowed once per function.
//!
//! Knowledge: the Language Reference; what LLVM 14 and 19 refuse.

use super::attribute_kinds::kind;
use super::body::BodyCheck;
use crate::ids::{AttributeListId, ValueId};
use crate::instruction::{Instruction, Opcode};
use crate::value::ValueKind;
use alloc::collections::{BTreeMap, BTreeSet};

const RULE: &str = "ir-swift-error";
const INTRINSIC: &str = "ir-intrinsic";

impl BodyCheck<'_, '_, '_> {
    /// Checks what needs a view of all calls of the function.
    pub(super) fn calls_of_function(&mut self) {
        let errors = self.error_values();
        let mut setups: BTreeMap<ValueId, u32> = BTreeMap::new();
        let mut escapes = 0u32;
        let looks = !errors.is_empty() || !self.body.bundles.is_empty() || !self.body.calls.is_empty();
        if !looks {
            return;
        }
        for index in 0..self.instruction_count() {
            let Some(of) = self.body.instructions.get(index as usize) else { continue };
            if !errors.is_empty() {
                self.error_uses(index, of, &errors);
            }
            if !matches!(of.opcode, Opcode::Call | Opcode::Invoke | Opcode::CallBr) {
                continue;
            }
            self.preallocated_call(index, of, &mut setups);
            if self.call_parts(of).and_then(|parts| self.intrinsic_name(&parts)) == Some("localescape") {
                escapes = escapes.saturating_add(1);
                self.enter(index);
                self.require(escapes == 1, INTRINSIC, "localescape is called twice");
            }
        }
    }

    /// Counts the calls that take the arguments of a setup, and compares the numbers of arguments.
    fn preallocated_call(&mut self, index: u32, of: &Instruction, setups: &mut BTreeMap<ValueId, u32>) {
        let Some(call) = self.body.calls.get(of.detail as usize).filter(|call| !call.bundles.is_empty()) else { return };
        let token = self.bundle(call, b"preallocated").and_then(|operands| operands.first()?.as_value());
        let Some(token) = token else { return };
        let calls = setups.entry(token).or_insert(0);
        *calls = calls.saturating_add(1);
        let once = *calls == 1;
        self.enter(index);
        self.require(once, INTRINSIC, "preallocated arguments are passed to several calls");
        let setup = self.definition(token).and_then(|(_, setup)| self.call_parts(setup));
        let count = setup.and_then(|setup| self.number(&setup, 0));
        let Some(parts) = self.call_parts(of) else { return };
        let list = parts.call.attributes;
        let is_passed = |at: &usize| self.context.parameter_has(list, *at, kind::PREALLOCATED);
        let passed = (0..parts.arguments.len()).filter(is_passed).count();
        let same = count.is_none_or(|count| count == passed as u64)
            || self.intrinsic_name(&parts) == Some("call.preallocated.teardown");
        self.require(same, INTRINSIC, "a call passes another number of preallocated arguments than were set up");
    }

    /// Returns the variables and parameters that are `swifterror`.
    fn error_values(&self) -> BTreeSet<ValueId> {
        let function = self.context.module.functions.get(self.body.function as usize);
        let list = function.map(|function| function.attributes);
        let is_error = |kind: ValueKind| match kind {
            ValueKind::Argument(at) => {
                list.is_some_and(|list| self.context.parameter_has(list, at as usize, kind::SWIFT_ERROR))
            }
            ValueKind::Instruction(index) => self
                .body
                .instructions
                .get(index as usize)
                .is_some_and(|of| of.opcode == Opcode::Alloca && of.flags & 2 != 0),
            _ => false,
        };
        let numbered = (self.body.value_base..).zip(&self.body.values);
        numbered.filter(|(_, value)| is_error(value.kind)).map(|(id, _)| ValueId(id)).collect()
    }

    fn error_uses(&mut self, index: u32, of: &Instruction, errors: &BTreeSet<ValueId>) {
        for (at, operand) in self.body.operands_of(of).iter().enumerate() {
            if !operand.as_value().is_some_and(|id| errors.contains(&id)) {
                continue;
            }
            self.enter(index);
            match of.opcode {
                Opcode::Load => {}
                Opcode::Store => {
                    self.require(at == 1, RULE, "a swifterror variable is stored");
                }
                Opcode::Call | Opcode::Invoke => {
                    let of_call = self.body.calls.get(of.detail as usize).map(|call| call.attributes);
                    let marked = of_call.into_iter().chain(self.callee_attributes(of)).any(|list| {
                        at > 0 && self.context.parameter_has(list, at.saturating_sub(1), kind::SWIFT_ERROR)
                    });
                    self.require(marked, RULE, "a swifterror variable is passed to a parameter that is not marked");
                }
                _ => {
                    self.require(false, RULE, "a swifterror variable is used by something else than loads, stores and calls");
                }
            }
        }
    }

    /// Returns the attributes of the function that a call names.
    fn callee_attributes(&self, call: &Instruction) -> Option<AttributeListId> {
        let callee = self.body.operands_of(call).first()?.as_value()?;
        match self.context.module.value(Some(self.body), callee)?.kind {
            ValueKind::Function(index) => {
                self.context.module.functions.get(index as usize).map(|function| function.attributes)
            }
            _ => None,
        }
    }
}
