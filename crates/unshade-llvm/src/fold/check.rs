//! Finds out whether constants of a module or body may fold: quickly, and not often in vain.
//!
//! LLVM writes no expression that it folds itself, so in the files of the version that is asked about there are none.

use super::casts::{Pair, pair};
use crate::body::FunctionBody;
use crate::constants::{Constant, Constants, Expression};
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::module::Module;
use crate::types::Type;
use crate::value::ValueKind;
use crate::write::Version;

/// The most types that are looked into for a first element.
const MAX_NESTING: usize = 64;

/// Returns whether expressions of a body, or else of a module, may fold.
pub(crate) fn any_folds(module: &Module<'_>, body: Option<&FunctionBody>, version: Version) -> bool {
    let (values, constants) = match body {
        Some(body) => (&body.values, &body.constants),
        None => (&module.values, &module.constants),
    };
    if constants.expressions().is_empty() {
        return false;
    }
    let check = Check { module, body, version };
    values.iter().any(|value| {
        let ValueKind::Constant(index) = value.kind else { return false };
        let Constant::Expression(at) = constants.get(index) else { return false };
        let expression = constants.expression(at);
        expression.is_some_and(|expression| check.may_fold(value.ty, Found { expression, constants }))
    })
}

/// What expressions are checked with.
#[derive(Clone, Copy)]
struct Check<'m, 'a> {
    module: &'m Module<'a>,
    body: Option<&'m FunctionBody>,
    version: Version,
}

/// An expression and the constants that it is among.
#[derive(Clone, Copy)]
struct Found<'m> {
    expression: &'m Expression,
    constants: &'m Constants,
}

impl<'m> Found<'m> {
    fn operands(self) -> &'m [ValueId] {
        self.constants.values(self.expression.operands)
    }
}

impl<'m> Check<'m, '_> {
    fn constant(self, id: ValueId) -> Option<Constant> {
        self.module.constant(self.body, id).map(|(constant, _)| constant)
    }

    /// Returns the expression that a value is.
    fn expression(self, id: ValueId) -> Option<Found<'m>> {
        let (Constant::Expression(index), constants) = self.module.constant(self.body, id)? else {
            return None;
        };
        Some(Found { expression: constants.expression(index)?, constants })
    }

    fn type_of(self, id: ValueId) -> TypeId {
        self.module.value(self.body, id).map_or(TypeId::NONE, |value| value.ty)
    }

    /// Returns whether a value is a number, null, `undef` or a list of them.
    fn is_plain(self, id: ValueId) -> bool {
        let constant = self.constant(id);
        constant.is_some_and(|constant| {
            !matches!(
                constant,
                Constant::Expression(_)
                    | Constant::BlockAddress { .. }
                    | Constant::DsoLocalEquivalent(_)
                    | Constant::NoCfi(_)
                    | Constant::Assembly(_)
            )
        })
    }

    fn is_zero(self, id: ValueId) -> bool {
        matches!(self.constant(id), Some(Constant::Null | Constant::Integer(0)))
    }

    fn may_fold(self, ty: TypeId, found: Found<'m>) -> bool {
        let Some(&first) = found.operands().first() else { return false };
        match found.expression.opcode {
            opcode if opcode.is_cast() => self.may_fold_cast(opcode, first, ty),
            Opcode::GetElementPtr => self.may_fold_pointer(first, found),
            opcode if opcode.is_binary() => self.may_fold_binary(opcode, first, found),
            Opcode::PtrAuth => false,
            _ => true,
        }
    }

    fn may_fold_cast(self, opcode: Opcode, of: ValueId, ty: TypeId) -> bool {
        if self.is_plain(of) {
            return true;
        }
        let is_earlier = self.version == Version::Llvm14;
        let Some(inner) = self.expression(of) else {
            return is_earlier && opcode == Opcode::BitCast && self.is_first_element(self.type_of(of), ty);
        };
        match inner.expression.opcode {
            first if first.is_cast() => !matches!(pair(first, opcode), Pair::Never),
            Opcode::GetElementPtr => {
                is_earlier && inner.operands().iter().skip(1).all(|&index| self.is_zero(index))
                    || is_earlier && opcode == Opcode::BitCast && self.is_first_element(self.type_of(of), ty)
            }
            _ => opcode == Opcode::Trunc || opcode == Opcode::BitCast,
        }
    }

    /// Returns whether a typed pointer points to something whose first element is what another one points to.
    fn is_first_element(self, from: TypeId, to: TypeId) -> bool {
        let types = &self.module.types;
        let (Some(mut element), Some(wanted)) = (types.pointee(from), types.pointee(to)) else {
            return false;
        };
        for _ in 0..MAX_NESTING {
            let Some(first) = types.child(element, 0) else { return false };
            if first == wanted {
                return true;
            }
            element = first;
        }
        false
    }

    fn may_fold_pointer(self, base: ValueId, found: Found<'m>) -> bool {
        let indices = found.operands().get(1..).unwrap_or_default();
        if self.is_plain(base) {
            return true;
        }
        let inner = self.expression(base).map(|inner| inner.expression.opcode);
        if self.version == Version::Llvm19 {
            // Typed pointers whose indices are zero are left to the printer.
            let is_opaque = self.module.types.pointee(self.type_of(base)).is_none();
            return is_opaque && indices.iter().all(|&index| self.is_zero(index));
        }
        let joins =
            inner.is_some_and(|inner| inner == Opcode::GetElementPtr || inner.is_cast() && indices.len() > 1);
        let is_marked = found.expression.flags & 1 != 0;
        joins
            || !is_marked && inner.is_none()
            || indices.len() == 1 && indices.iter().all(|&index| self.is_zero(index))
            || self.is_outside(found)
    }

    /// Returns whether an index is outside of its array.
    fn is_outside(self, found: Found<'m>) -> bool {
        let types = &self.module.types;
        let mut ty = found.expression.ty;
        for &operand in found.operands().iter().skip(2) {
            let index = self.module.integer(self.body, operand);
            if let (Type::Array { count, .. }, Some(index)) = (types.get(ty), index)
                && index >= count
            {
                return true;
            }
            let Some(next) = types.child(ty, index.unwrap_or(0)) else { return false };
            ty = next;
        }
        false
    }

    fn may_fold_binary(self, opcode: Opcode, left: ValueId, found: Found<'m>) -> bool {
        let Some(&right) = found.operands().get(1) else { return false };
        let inner = self.expression(left).map(|inner| inner.expression.opcode);
        if self.is_plain(left) || inner == Some(opcode) || self.is_vector(left) {
            return true;
        }
        // The address of a symbol may have bits that are known.
        let is_looked_into = matches!(opcode, Opcode::And | Opcode::Xor | Opcode::AShr);
        match self.constant(right) {
            Some(Constant::Integer(number)) => number == 1 || number == u64::MAX || is_looked_into,
            Some(_) => self.is_plain(right),
            None => false,
        }
    }

    fn is_vector(self, id: ValueId) -> bool {
        matches!(self.module.types.get(self.type_of(id)), Type::Vector { .. })
    }
}
