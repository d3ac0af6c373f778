//! Folds arithmetic and logic.

use super::integers::{self, Integer, Outcome};
use super::{Folder, SymbolKind};
use crate::global::Linkage;
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::types::Type;
use crate::write::Version;

impl Folder<'_, '_> {
    /// Returns an operation on two constants, folded.
    pub(super) fn binary(&mut self, opcode: Opcode, left: ValueId, right: ValueId, flags: u32) -> ValueId {
        let ty = self.type_of(left);
        match self.attempt(|folder| folder.fold_binary(opcode, left, right)) {
            Some(folded) => folded,
            None => self.plain(opcode, ty, flags, &[left, right]),
        }
    }

    /// Returns an operation on two elements; of those that LLVM 19 no longer has, only if it folds.
    fn binary_lane(&mut self, opcode: Opcode, left: ValueId, right: ValueId) -> Option<ValueId> {
        let is_kept = matches!(opcode, Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Xor);
        if self.version == Version::Llvm14 || is_kept {
            return Some(self.binary(opcode, left, right, 0));
        }
        self.attempt(|folder| folder.fold_binary(opcode, left, right))
    }

    /// Returns the operand that an operation leaves as the other one is, and whether it may only be the right one.
    fn identity(&mut self, opcode: Opcode, ty: TypeId) -> Option<(ValueId, bool)> {
        let is_right = matches!(
            opcode,
            Opcode::Sub
                | Opcode::Shl
                | Opcode::LShr
                | Opcode::AShr
                | Opcode::FSub
                | Opcode::SDiv
                | Opcode::UDiv
                | Opcode::FDiv
        );
        if is_right && self.version == Version::Llvm14 {
            return None;
        }
        let format = super::Format::of(self.module.types.get(self.module.types.scalar(ty)));
        let identity = match opcode {
            Opcode::Add | Opcode::Or | Opcode::Xor => self.null(ty),
            Opcode::Sub | Opcode::Shl | Opcode::LShr | Opcode::AShr | Opcode::FSub => self.null(ty),
            Opcode::Mul | Opcode::SDiv | Opcode::UDiv => self.number(ty, 1),
            Opcode::And => self.all_ones(ty),
            Opcode::FAdd => self.float(ty, format?.negative_zero()),
            Opcode::FMul | Opcode::FDiv => self.float(ty, format?.one()),
            _ => return None,
        };
        Some((identity, is_right))
    }

    fn fold_binary(&mut self, opcode: Opcode, left: ValueId, right: ValueId) -> Option<ValueId> {
        let ty = self.type_of(left);
        if let Some((identity, is_right)) = self.identity(opcode, ty) {
            if left == identity && !is_right {
                return Some(right);
            }
            if right == identity {
                return Some(left);
            }
        }
        if self.is_poison(left) || self.is_poison(right) {
            return Some(self.poison(ty));
        }
        let is_whole = !self.is_vector(ty) || self.is_scalable(ty);
        if is_whole && (self.is_undef(left) || self.is_undef(right)) {
            return self.binary_undef(opcode, left, right, ty);
        }
        if let Some(integer) = self.integer_of(right) {
            if let Some(folded) = self.binary_with_integer(opcode, left, right, &integer, ty) {
                return Some(folded);
            }
        } else if self.is_integer(left) && is_commutative(opcode) {
            return self.binary_lane(opcode, right, left);
        }
        if let Some(folded) = self.binary_numbers(opcode, left, right, ty) {
            return folded;
        }
        if let Some(parts) = self.parts(left) {
            if is_associative(opcode) && parts.opcode == opcode {
                let second = self.binary(opcode, parts.operand(1), right, 0);
                if self.parts(second).is_none_or(|second| second.opcode != opcode) {
                    return Some(self.binary(opcode, parts.operand(0), second, 0));
                }
            }
        } else if self.is_expression(right) && is_commutative(opcode) {
            return self.attempt(|folder| folder.fold_binary(opcode, right, left));
        }
        if self.module.types.get(ty) == Type::Integer(1) {
            return self.binary_truth(opcode, left, right, ty);
        }
        None
    }

    /// Folds an operation of which an operand is `undef`.
    fn binary_undef(&mut self, opcode: Opcode, left: ValueId, right: ValueId, ty: TypeId) -> Option<ValueId> {
        let both = self.is_undef(left) && self.is_undef(right);
        let is_zero_or_undef = self.is_undef(right) || self.is_null(right);
        let is_earlier = self.version == Version::Llvm14;
        Some(match opcode {
            Opcode::Xor if both => self.null(ty),
            Opcode::Xor | Opcode::Add | Opcode::Sub => self.undef(ty),
            Opcode::And | Opcode::Or | Opcode::Mul if both => left,
            Opcode::And => self.null(ty),
            Opcode::Or => self.all_ones(ty),
            Opcode::Mul => {
                let is_odd = [left, right].iter().any(|&operand| {
                    let number = self.integer_of(operand).or_else(|| {
                        let element = self.splatted(operand)?;
                        self.integer_of(element)
                    });
                    number.is_some_and(|number| number.bit(0))
                });
                if is_odd { self.undef(ty) } else { self.null(ty) }
            }
            Opcode::SDiv | Opcode::UDiv | Opcode::SRem | Opcode::URem if is_zero_or_undef => self.poison(ty),
            Opcode::SDiv | Opcode::UDiv if is_earlier && self.is_one(right) => left,
            Opcode::SDiv | Opcode::UDiv | Opcode::SRem | Opcode::URem => self.null(ty),
            Opcode::Shl | Opcode::LShr | Opcode::AShr if self.is_undef(right) => self.poison(ty),
            Opcode::Shl | Opcode::LShr | Opcode::AShr if is_earlier && self.is_null(right) => left,
            Opcode::Shl | Opcode::LShr | Opcode::AShr => self.null(ty),
            _ if both => left,
            Opcode::FSub if self.is_undef(right) && self.is_negative_zero(left) => right,
            _ => {
                let format = super::Format::of(self.module.types.get(self.module.types.scalar(ty)))?;
                self.float(ty, format.not_a_number())
            }
        })
    }

    fn is_one(&mut self, id: ValueId) -> bool {
        match self.integer_of(id) {
            Some(integer) => integer.is_one(),
            None => {
                let element = self.splatted(id);
                element.and_then(|element| self.integer_of(element)).is_some_and(|integer| integer.is_one())
            }
        }
    }

    fn is_negative_zero(&mut self, id: ValueId) -> bool {
        let number = self.float_of(id).or_else(|| {
            let element = self.splatted(id)?;
            self.float_of(element)
        });
        number.is_some_and(|(format, bits)| bits == format.negative_zero())
    }

    /// Folds an operation whose right operand is an integer.
    fn binary_with_integer(
        &mut self,
        opcode: Opcode,
        left: ValueId,
        right: ValueId,
        number: &Integer,
        ty: TypeId,
    ) -> Option<ValueId> {
        let (zero, one, ones) = (number.is_zero(), number.is_one(), number.is_ones());
        let is_earlier = self.version == Version::Llvm14;
        match opcode {
            Opcode::Add | Opcode::Sub | Opcode::Or | Opcode::Xor if zero => Some(left),
            Opcode::Mul | Opcode::And if zero => Some(right),
            Opcode::Mul if one => Some(left),
            Opcode::UDiv | Opcode::SDiv if one => Some(left),
            Opcode::URem | Opcode::SRem if one => Some(self.null(ty)),
            Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem if zero => Some(self.poison(ty)),
            Opcode::And if ones => Some(left),
            Opcode::And => self.masked(left, number, ty),
            Opcode::Or if ones => Some(right),
            Opcode::Xor if is_earlier => {
                let parts = self.parts(left)?;
                let is_comparison = matches!(parts.opcode, Opcode::ICmp | Opcode::FCmp);
                let inverse = super::compare::inverse(parts.flags);
                is_comparison.then(|| self.compare(inverse, parts.operand(0), parts.operand(1)))
            }
            Opcode::AShr if is_earlier => {
                let is_extended = self.parts(left).is_some_and(|parts| parts.opcode == Opcode::ZExt);
                is_extended.then(|| self.binary(Opcode::LShr, left, right, 0))
            }
            _ => None,
        }
    }

    /// Folds an expression of which a mask keeps only bits that are known.
    fn masked(&mut self, left: ValueId, mask: &Integer, ty: TypeId) -> Option<ValueId> {
        let parts = self.parts(left)?;
        let of = parts.operand(0);
        if parts.opcode == Opcode::ZExt && self.version == Version::Llvm14 {
            let low = Integer::ones(self.width(self.type_of(of))).resized(mask.width);
            return (mask.bitwise(&low, |mask, low| mask & low) == low).then_some(left);
        }
        if parts.opcode != Opcode::PtrToInt || !self.is_symbol(of) {
            return None;
        }
        self.depend_on(of);
        let clear = self.symbol_alignment(of)?.min(mask.width);
        (clear > 0 && mask.bit_length() <= clear).then(|| self.null(ty))
    }

    /// Returns the number of low bits that are zero in the address of a symbol.
    fn symbol_alignment(&self, id: ValueId) -> Option<u32> {
        let layout = &self.module.data_layout;
        let types = &self.module.types;
        match self.symbol(id)? {
            SymbolKind::Variable(variable) => {
                let symbol = &variable.symbol;
                if let Some(exponent) = symbol.alignment.checked_sub(1) {
                    return Some(u32::from(exponent));
                }
                if !self.is_sized(symbol.ty, 0) {
                    return Some(0);
                }
                let is_strong = !matches!(
                    symbol.linkage,
                    Linkage::AvailableExternally | Linkage::LinkOnceOdr | Linkage::WeakOdr
                ) && !super::is_interposable(symbol.linkage);
                let bytes = if variable.initializer.is_some() && is_strong {
                    layout.preferred_global_alignment(types, symbol.ty)
                } else {
                    layout.required_alignment(types, symbol.ty)
                };
                Some(bytes.trailing_zeros())
            }
            SymbolKind::Function(symbol) => Some(layout.function_alignment(symbol.alignment)),
            SymbolKind::Alias | SymbolKind::IndirectFunction(_) | SymbolKind::Undefined => None,
        }
    }

    /// Folds an operation on numbers or vectors. The inner option is the result, if the outer one decides.
    fn binary_numbers(
        &mut self,
        opcode: Opcode,
        left: ValueId,
        right: ValueId,
        ty: TypeId,
    ) -> Option<Option<ValueId>> {
        if let Some(one) = self.integer_of(left) {
            if let Some(other) = self.integer_of(right) {
                return Some(match integers::apply(opcode, &one, &other) {
                    Outcome::Number(number) => Some(self.integer(ty, &number)),
                    Outcome::Poison => Some(self.poison(ty)),
                    Outcome::TooWide => None,
                });
            }
            let stays_zero =
                is_division(opcode) || matches!(opcode, Opcode::LShr | Opcode::AShr | Opcode::Shl);
            return (stays_zero && one.is_zero()).then_some(Some(left));
        }
        if let Some((format, one)) = self.float_of(left) {
            let (_, other) = self.float_of(right)?;
            let bits = format.apply(opcode, one, other);
            return Some(Some(self.float(ty, bits)));
        }
        if !self.is_vector(ty) {
            return None;
        }
        if let Some(second) = self.splatted(right) {
            if is_division(opcode) && self.is_null(second) {
                return Some(Some(self.poison(ty)));
            }
            if let Some(first) = self.splatted(left) {
                let element = self.binary_lane(opcode, first, second);
                return Some(element.map(|element| self.splat(ty, element)));
            }
        }
        let count = self.lanes(ty)?;
        Some(self.binary_lanes(opcode, left, right, ty, count))
    }

    fn binary_lanes(
        &mut self,
        opcode: Opcode,
        left: ValueId,
        right: ValueId,
        ty: TypeId,
        count: u32,
    ) -> Option<ValueId> {
        let mut by_zero = false;
        let vector = self.by_lanes(ty, count, |folder, at| {
            let (one, other) = (folder.lane_of(left, at), folder.lane_of(right, at));
            by_zero = is_division(opcode) && folder.is_null(other);
            if by_zero { None } else { folder.binary_lane(opcode, one, other) }
        });
        if by_zero { Some(self.poison(ty)) } else { vector }
    }

    /// Folds arithmetic of truth values.
    fn binary_truth(&mut self, opcode: Opcode, left: ValueId, right: ValueId, ty: TypeId) -> Option<ValueId> {
        match opcode {
            Opcode::Add | Opcode::Sub => Some(self.binary(Opcode::Xor, left, right, 0)),
            Opcode::Mul if self.version == Version::Llvm14 => Some(self.binary(Opcode::And, left, right, 0)),
            Opcode::Shl | Opcode::LShr | Opcode::AShr | Opcode::SDiv | Opcode::UDiv => Some(left),
            Opcode::URem | Opcode::SRem => Some(self.null(ty)),
            _ => None,
        }
    }
}

fn is_division(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem)
}

fn is_associative(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Add | Opcode::Mul | Opcode::And | Opcode::Or | Opcode::Xor)
}

fn is_commutative(opcode: Opcode) -> bool {
    is_associative(opcode) || matches!(opcode, Opcode::FAdd | Opcode::FMul)
}
