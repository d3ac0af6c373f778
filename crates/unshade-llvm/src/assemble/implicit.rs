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
use super::symbols::SymbolName;
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
            if let Token::Global(name) = Lexer::new(text).next().0
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
        for ((name, caller, position), signature) in callers.into_iter().zip(signatures) {
            match signature {
                Signature::Overloaded(name) => {
                    self.declare_for(name.into_bytes(), &caller, position, is_old_intrinsic)?;
                }
                Signature::Unknown => self.declare_for(name, &caller, position, is_gone_intrinsic)?,
                Signature::Other => return self.fault_at(position, "invalid intrinsic signature"),
            }
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
        let call = of.instructions.iter().find(|call| call.operands.start == operand)?;
        let is_call = matches!(call.opcode, Opcode::Call | Opcode::Invoke | Opcode::CallBr);
        let ty = of.calls.get(call.detail as usize).filter(|_| is_call)?.function_type;
        Some(Caller { body, operand, ty })
    }

    /// Makes a call call the declaration with a name.
    fn declare_for(
        &mut self,
        name: Vec<u8>,
        caller: &Caller,
        position: usize,
        is_invalid: fn(&Module<'_>, usize, Dialect) -> bool,
    ) -> Parsed<()> {
        let value = match self.declared(&name) {
            Some(value) => value,
            None => {
                let pointer = self.pointer_to(caller.ty, 0);
                let index = narrow(self.module.functions.len() as u64);
                let value = self.add_value(ValueKind::Function(index), pointer);
                self.module.functions.push(Function::new(Symbol::new(name.clone(), caller.ty, 0, value)));
                self.name_declared(SymbolName::Name(name), value, position);
                // What only earlier versions have has to be declared.
                if is_invalid(&self.module, index as usize, Dialect::Llvm19) {
                    return self.fault_at(position, "invalid intrinsic signature");
                }
                value
            }
        };
        let operands = self.bodies.get_mut(caller.body as usize).map(|body| &mut body.operands);
        if let Some(slot) = operands.and_then(|operands| operands.get_mut(caller.operand as usize)) {
            *slot = Operand::value(value);
        }
        self.uses.define(&[Use::Operand { body: caller.body, operand: caller.operand }]);
        Ok(())
    }
}
