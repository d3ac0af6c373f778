//! Declares intrinsics that are called without a declaration, as LLVM does from version 17 on.
//!
//! The type of the call is that of the declaration, and the types that the intrinsic is used with are added to its name;
//! `@llvm.umax` may stand for `@llvm.umax.i8` and `@llvm.umax.i32`. LLVM goes through the names in their order, and for
//! each through its calls, the last one first; so the declarations follow all functions in that order.
//!
//! Knowledge: what `llvm-as` 19 accepts, and the order of functions in its files.

use super::Version;
use super::error::Parsed;
use super::lexer::{Lexer, Token};
use super::parser::Parser;
use super::uses::Use;
use crate::global::{Function, Symbol};
use crate::ids::{TypeId, ValueId, narrow};
use crate::instruction::Opcode;
use crate::module::Module;
use crate::print::upgrade::{is_gone_intrinsic, is_old_intrinsic};
use crate::print::{Dialect, Intrinsic};
use crate::value::{Operand, ValueKind};
use crate::verify::{Signature, intrinsic_signatures};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Finds out whether a function of the module is an intrinsic that a version does not have.
type IsInvalid = fn(&Module<'_>, usize, Dialect) -> bool;

/// A call of an intrinsic that is not declared.
struct Caller {
    body: u32,
    operand: u32,
    ty: TypeId,
}

impl Parser<'_> {
    /// Declares the intrinsics among the symbols that are used but not defined.
    pub(super) fn declare_intrinsics(&mut self) -> Parsed<()> {
        if self.version != Version::Llvm19 {
            return Ok(());
        }
        let mut missing: BTreeMap<Vec<u8>, (ValueId, usize)> = BTreeMap::new();
        for (value, position) in self.undefined_symbols() {
            let text = self.text().get(position..).unwrap_or_default();
            if let Token::Global(name) = Lexer::new(text).token()
                && Intrinsic::find(Dialect::Llvm19, &name.bytes()).is_some()
            {
                missing.insert(name.bytes().into_owned(), (value, position));
            }
        }
        let mut callers = Vec::new();
        for (name, &(value, position)) in &missing {
            for caller in self.callers(value, position)? {
                callers.push((name.clone(), caller, position));
            }
        }
        let used = callers.iter().map(|(name, caller, _)| (name.as_slice(), caller.ty));
        let signatures = intrinsic_signatures(&self.module, used);
        let mut added = BTreeMap::new();
        for ((name, caller, position), signature) in callers.into_iter().zip(signatures) {
            // What only earlier versions have has to be declared.
            let (name, is_invalid): (_, IsInvalid) = match signature {
                Signature::Overloaded(name) => (name.into_bytes(), is_old_intrinsic),
                Signature::Unknown => (name, is_gone_intrinsic),
                Signature::Other => return self.fault_at(position, "invalid intrinsic signature"),
            };
            let known = self.declared(&name).or_else(|| added.get(&name).copied());
            let value = match known {
                Some(value) => value,
                None => {
                    let value = self.declare_intrinsic(name.clone(), caller.ty, position, is_invalid)?;
                    added.insert(name, value);
                    value
                }
            };
            self.set_callee(&caller, value);
        }
        for (value, _) in missing.into_values() {
            self.forget_undefined(value);
        }
        Ok(())
    }

    /// Returns the calls of a symbol that is not defined, the last one first; all uses have to be calls.
    fn callers(&self, symbol: ValueId, position: usize) -> Parsed<Vec<Caller>> {
        let mut callers = Vec::new();
        for used in self.uses_of_undefined(symbol).iter().rev() {
            let caller = match *used {
                Use::Operand { body, operand } => self.caller(body, operand),
                _ => None,
            };
            match caller {
                Some(caller) => callers.push(caller),
                None => return self.fault_at(position, "intrinsic can only be used as callee"),
            }
        }
        Ok(callers)
    }

    /// Returns the call whose callee an operand is.
    fn caller(&self, body: u32, operand: u32) -> Option<Caller> {
        let of = self.bodies.get(body as usize)?;
        // Operands are in the order of the instructions.
        let first = of.instructions.partition_point(|before| before.operands.start < operand);
        let mut at = of.instructions.get(first..)?.iter().take_while(|call| call.operands.start == operand);
        let call = at.find(|call| call.operands.count > 0)?;
        let is_call = matches!(call.opcode, Opcode::Call | Opcode::Invoke | Opcode::CallBr);
        let ty = of.calls.get(call.detail as usize).filter(|_| is_call)?.function_type;
        Some(Caller { body, operand, ty })
    }

    /// Declares an intrinsic.
    fn declare_intrinsic(
        &mut self,
        name: Vec<u8>,
        ty: TypeId,
        position: usize,
        is_invalid: IsInvalid,
    ) -> Parsed<ValueId> {
        let pointer = self.pointer_to(ty, 0);
        let index = self.module.functions.len();
        let value = self.add_value(ValueKind::Function(narrow(index as u64)), pointer);
        self.module.functions.push(Function::new(Symbol::new(name, ty, 0, value)));
        self.positions.symbols.insert(value, position);
        if is_invalid(&self.module, index, Dialect::Llvm19) {
            return self.fault_at(position, "invalid intrinsic signature");
        }
        Ok(value)
    }

    /// Makes a call call a function.
    fn set_callee(&mut self, caller: &Caller, callee: ValueId) {
        let operands = self.bodies.get_mut(caller.body as usize).map(|body| &mut body.operands);
        if let Some(slot) = operands.and_then(|operands| operands.get_mut(caller.operand as usize)) {
            *slot = Operand::value(callee);
        }
        self.uses.define(&[Use::Operand { body: caller.body, operand: caller.operand }]);
    }
}
