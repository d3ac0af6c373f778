//! Folds comparisons, of numbers and of addresses.
//!
//! Of two addresses only some relations are known: a symbol is not null unless it is weak, and two symbols differ unless
//! one of them may be replaced, merged or empty.

use super::{Folder, Parts, SymbolKind, floats, integers};
use crate::constants::Constant;
use crate::global::Linkage;
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::rules::truth_type;
use crate::types::Type;
use crate::write::Version;

const EQUAL: u32 = 32;
const NOT_EQUAL: u32 = 33;
const GREATER: u32 = 34;
const GREATER_OR_EQUAL: u32 = 35;
const LESS: u32 = 36;
const SIGNED_GREATER: u32 = 38;
const SIGNED_LESS: u32 = 40;
/// Of floating-point numbers.
const ALWAYS: u32 = 15;
const UNORDERED_OR_EQUAL: u32 = 9;
const ORDERED_AND_NOT_EQUAL: u32 = 6;

/// Returns the predicate that is true where this one is false.
pub(super) fn inverse(predicate: u32) -> u32 {
    match predicate {
        0..16 => predicate ^ 15,
        EQUAL | NOT_EQUAL => predicate ^ 1,
        // Greater and less-or-equal, greater-or-equal and less.
        34..38 => 71 - predicate,
        _ => 79 - predicate,
    }
}

/// Returns the predicate for exchanged operands.
fn swapped(predicate: u32) -> u32 {
    match predicate {
        0..16 => predicate & 9 | (predicate & 2) << 1 | (predicate & 4) >> 1,
        EQUAL | NOT_EQUAL => predicate,
        34 | 35 | 38 | 39 => predicate + 2,
        _ => predicate - 2,
    }
}

fn is_signed(predicate: u32) -> bool {
    predicate >= SIGNED_GREATER
}

fn is_true_when_equal(predicate: u32) -> bool {
    matches!(predicate, 32 | 35 | 37 | 39 | 41)
}

/// Returns whether a predicate is true or false, if operands have a relation.
fn decide(relation: u32, predicate: u32) -> Option<bool> {
    match relation {
        EQUAL => Some(is_true_when_equal(predicate)),
        NOT_EQUAL => match predicate {
            EQUAL => Some(false),
            NOT_EQUAL => Some(true),
            _ => None,
        },
        // An order decides the predicates of the same signedness, and equality.
        GREATER | LESS | SIGNED_GREATER | SIGNED_LESS => match predicate {
            EQUAL => Some(false),
            NOT_EQUAL => Some(true),
            _ if is_signed(relation) != is_signed(predicate) => None,
            _ => Some(predicate & !1 == relation),
        },
        _ => None,
    }
}

impl Folder<'_, '_> {
    /// Returns a comparison of two constants, folded.
    pub(super) fn compare(&mut self, predicate: u32, left: ValueId, right: ValueId) -> ValueId {
        if let Some(folded) = self.attempt(|folder| folder.fold_comparison(predicate, left, right)) {
            return folded;
        }
        let of = self.type_of(left);
        let ty = truth_type(&mut self.module.types, of);
        let opcode = if predicate < 32 { Opcode::FCmp } else { Opcode::ICmp };
        let operands = [left, right];
        let new = crate::constants::NewExpression {
            opcode,
            flags: predicate,
            ty: of,
            in_range: 0,
            bounds: &[],
            operands: &operands,
        };
        self.make(ty, &new)
    }

    /// As [`Folder::compare`]; LLVM 19 has no comparisons that don't fold.
    fn compare_lane(&mut self, predicate: u32, left: ValueId, right: ValueId) -> Option<ValueId> {
        match self.version {
            Version::Llvm14 | Version::Dxc => Some(self.compare(predicate, left, right)),
            Version::Llvm19 => self.attempt(|folder| folder.fold_comparison(predicate, left, right)),
        }
    }

    fn fold_comparison(&mut self, predicate: u32, left: ValueId, right: ValueId) -> Option<ValueId> {
        let of = self.type_of(left);
        let ty = truth_type(&mut self.module.types, of);
        if predicate == 0 || predicate == ALWAYS {
            return Some(self.truth(ty, predicate == ALWAYS));
        }
        if self.is_poison(left) || self.is_poison(right) {
            return Some(self.poison(ty));
        }
        if self.is_undef(left) || self.is_undef(right) {
            return Some(match predicate {
                EQUAL | NOT_EQUAL => self.undef(ty),
                34.. if left == right => self.undef(ty),
                34.. => self.truth(ty, is_true_when_equal(predicate)),
                _ => self.truth(ty, predicate & 8 != 0),
            });
        }
        if let Some(is_true) = self.compared_with_null(predicate, left, right) {
            return Some(self.truth(ty, is_true));
        }
        if self.module.types.get(of) == Type::Integer(1) && matches!(predicate, EQUAL | NOT_EQUAL) {
            return Some(self.compare_truths(predicate, left, right));
        }
        if let (Some(one), Some(other)) = (self.integer_of(left), self.integer_of(right)) {
            return Some(self.truth(ty, integers::compare(predicate, &one, &other)));
        }
        if let (Some((format, one)), Some((_, other))) = (self.float_of(left), self.float_of(right)) {
            return Some(self.truth(ty, floats::compare(predicate, format.order(one, other))));
        }
        if self.is_vector(of) {
            return self.compare_lanes(predicate, left, right, ty);
        }
        if predicate < 32 {
            let is_known = left == right && (self.is_expression(left) || self.version == Version::Llvm19);
            return match predicate {
                ORDERED_AND_NOT_EQUAL if is_known => Some(self.truth(ty, false)),
                UNORDERED_OR_EQUAL if is_known => Some(self.truth(ty, true)),
                _ => None,
            };
        }
        let relation = match self.version {
            Version::Llvm14 | Version::Dxc => self.relation(left, right, is_signed(predicate)),
            Version::Llvm19 => self.address_relation(left, right),
        };
        if let Some(is_true) = relation.and_then(|relation| decide(relation, predicate)) {
            return Some(self.truth(ty, is_true));
        }
        if self.version == Version::Llvm14
            && let Some(folded) = self.compare_without_casts(predicate, left, right)
        {
            return Some(folded);
        }
        let swaps = !self.is_expression(left) && self.is_expression(right)
            || self.is_null(left) && !self.is_null(right);
        if !swaps {
            return None;
        }
        match self.version {
            Version::Llvm14 | Version::Dxc => Some(self.compare(swapped(predicate), right, left)),
            Version::Llvm19 => self.attempt(|folder| folder.fold_comparison(swapped(predicate), right, left)),
        }
    }

    /// Decides comparisons with null that are the same for any value.
    fn compared_with_null(&mut self, predicate: u32, left: ValueId, right: ValueId) -> Option<bool> {
        if self.version == Version::Llvm14 {
            let symbol = match (self.is_null(left), self.is_null(right)) {
                (true, _) => right,
                (false, true) => left,
                (false, false) => return None,
            };
            if matches!(predicate, EQUAL | NOT_EQUAL) && self.is_symbol(symbol) && self.is_not_null(symbol) {
                return Some(predicate == NOT_EQUAL);
            }
            if self.is_null(left) {
                return None;
            }
        }
        match predicate {
            GREATER_OR_EQUAL if self.is_null(right) => Some(true),
            LESS if self.is_null(right) => Some(false),
            _ => None,
        }
    }

    /// Returns whether the address of a symbol can't be null.
    fn is_not_null(&mut self, id: ValueId) -> bool {
        self.depend_on(id);
        let space = self.module.types.address_space(self.type_of(id));
        let symbol = self.symbol(id);
        space == Some(0)
            && symbol.is_some_and(|kind| {
                kind.symbol().is_some_and(|symbol| symbol.linkage != Linkage::ExternalWeak)
            })
    }

    fn compare_truths(&mut self, predicate: u32, left: ValueId, right: ValueId) -> ValueId {
        if predicate == NOT_EQUAL {
            return self.binary(Opcode::Xor, left, right, 0);
        }
        let ones = self.all_ones(self.type_of(left));
        if self.is_integer(right) {
            let not = self.binary(Opcode::Xor, right, ones, 0);
            return self.binary(Opcode::Xor, left, not, 0);
        }
        let not = self.binary(Opcode::Xor, left, ones, 0);
        self.binary(Opcode::Xor, not, right, 0)
    }

    fn compare_lanes(
        &mut self,
        predicate: u32,
        left: ValueId,
        right: ValueId,
        ty: TypeId,
    ) -> Option<ValueId> {
        let of = self.type_of(left);
        if let (Some(one), Some(other)) = (self.splatted(left), self.splatted(right))
            && let Some(element) = self.compare_lane(predicate, one, other)
        {
            return Some(self.splat(ty, element));
        }
        let count = self.lanes(of)?;
        self.by_lanes(ty, count, |folder, at| {
            let (one, other) = (folder.lane_of(left, at), folder.lane_of(right, at));
            folder.compare_lane(predicate, one, other)
        })
    }

    /// Returns how much of an expression a value is: the more, the further left it is compared.
    fn complexity(&self, id: ValueId) -> u32 {
        match self.form(id) {
            Some(Constant::Expression(_)) => 3,
            None => 2,
            Some(Constant::BlockAddress { .. }) => 1,
            Some(_) => 0,
        }
    }

    /// Returns what is known of two values, as LLVM 14 finds it.
    fn relation(&mut self, left: ValueId, right: ValueId, signed: bool) -> Option<u32> {
        if left == right {
            return Some(EQUAL);
        }
        let (one, other) = (self.complexity(left), self.complexity(right));
        if one == 0 && other == 0 {
            return self.plain_relation(left, right, signed);
        }
        if one == 0 || one < 3 && other == 3 {
            return self.relation(right, left, signed).map(swapped);
        }
        match one {
            3 => {
                let parts = self.parts(left)?;
                self.expression_relation(&parts, left, right, signed)
            }
            _ => self.simple_relation(left, right, one, other),
        }
    }

    /// Returns what is known of two constants that are no expressions.
    fn plain_relation(&mut self, left: ValueId, right: ValueId, signed: bool) -> Option<u32> {
        let relations = if signed { [EQUAL, SIGNED_LESS, SIGNED_GREATER] } else { [EQUAL, LESS, GREATER] };
        relations.into_iter().find(|&relation| {
            let compared = self.attempt(|folder| folder.fold_comparison(relation, left, right));
            compared.and_then(|compared| self.integer_of(compared)).is_some_and(|truth| !truth.is_zero())
        })
    }

    /// Returns what is known of a symbol or the address of a block, and another one or null.
    fn simple_relation(&mut self, left: ValueId, right: ValueId, one: u32, other: u32) -> Option<u32> {
        match (one, other) {
            (2, 2) => self.symbols_relation(left, right),
            (2, 1) => Some(NOT_EQUAL),
            (2, _) => self.is_not_null(left).then_some(GREATER),
            (_, 1) => {
                let function = |id| match self.form(id) {
                    Some(Constant::BlockAddress { function, .. }) => Some(function),
                    _ => None,
                };
                (function(left) != function(right)).then_some(NOT_EQUAL)
            }
            _ => Some(NOT_EQUAL),
        }
    }

    /// Returns whether two symbols are known to differ.
    fn symbols_relation(&mut self, left: ValueId, right: ValueId) -> Option<u32> {
        self.depend_on(left);
        self.depend_on(right);
        let is_unique = |id| match self.symbol(id) {
            Some(SymbolKind::Variable(variable)) => {
                let symbol = &variable.symbol;
                !super::is_interposable(symbol.linkage)
                    && symbol.unnamed_address != 1
                    && self.is_sized(symbol.ty, 0)
                    && !self.is_empty(symbol.ty, 0)
            }
            Some(SymbolKind::Function(symbol) | SymbolKind::IndirectFunction(symbol)) => {
                !super::is_interposable(symbol.linkage) && symbol.unnamed_address != 1
            }
            _ => false,
        };
        (is_unique(left) && is_unique(right)).then_some(NOT_EQUAL)
    }

    fn expression_relation(
        &mut self,
        parts: &Parts,
        left: ValueId,
        right: ValueId,
        signed: bool,
    ) -> Option<u32> {
        let of = parts.operand(0);
        match parts.opcode {
            Opcode::BitCast if self.is_symbol(of) && self.is_symbol(right) => {
                self.symbols_relation(of, right)
            }
            Opcode::BitCast | Opcode::UiToFp | Opcode::SiToFp | Opcode::ZExt | Opcode::SExt => {
                let from = self.type_of(of);
                let ty = self.type_of(left);
                let is_plain =
                    self.module.types.is_pointer(ty) || matches!(self.module.types.get(ty), Type::Integer(_));
                if self.module.types.is_float(from) || !self.is_null(right) || !is_plain {
                    return None;
                }
                let signed = match parts.opcode {
                    Opcode::ZExt => false,
                    Opcode::SExt => true,
                    _ => signed,
                };
                let null = self.null(from);
                self.relation(of, null, signed)
            }
            Opcode::GetElementPtr => self.element_relation(parts, right),
            _ => None,
        }
    }

    /// Returns what is known of the address of an element and another address.
    fn element_relation(&mut self, parts: &Parts, right: ValueId) -> Option<u32> {
        let of = parts.operand(0);
        if !self.is_symbol(of) {
            return None;
        }
        if self.is_null(right) && self.module.types.is_pointer(self.type_of(right)) {
            self.depend_on(of);
            let linkage = self.symbol(of).and_then(|kind| kind.symbol().map(|symbol| symbol.linkage));
            let is_weak = linkage == Some(Linkage::ExternalWeak);
            return (!is_weak && parts.flags & 1 != 0).then_some(GREATER);
        }
        let has_offset =
            |folder: &Self, parts: &Parts| parts.operands.iter().skip(1).any(|&index| !folder.is_null(index));
        if self.is_symbol(right) {
            return if of == right || has_offset(self, parts) {
                None
            } else {
                self.symbols_relation(of, right)
            };
        }
        let other = self.parts(right).filter(|other| other.opcode == Opcode::GetElementPtr)?;
        let to = other.operand(0);
        if !self.is_symbol(to) || of == to || has_offset(self, parts) || has_offset(self, &other) {
            return None;
        }
        self.symbols_relation(of, to)
    }

    /// Returns what is known of two addresses, as LLVM 19 finds it.
    fn address_relation(&mut self, left: ValueId, right: ValueId) -> Option<u32> {
        if left == right {
            return Some(EQUAL);
        }
        if !self.module.types.is_pointer(self.type_of(left)) {
            return None;
        }
        let (one, other) = (self.complexity(left), self.complexity(right));
        if one < other {
            return self.address_relation(right, left).map(swapped);
        }
        match one {
            3 => {
                let parts = self.parts(left).filter(|parts| parts.opcode == Opcode::GetElementPtr)?;
                self.element_relation(&parts, right)
            }
            0 => None,
            _ => self.simple_relation(left, right, one, other),
        }
    }

    /// Moves a cast of the right operand to the left one, or drops extensions of both.
    fn compare_without_casts(&mut self, predicate: u32, left: ValueId, right: ValueId) -> Option<ValueId> {
        if let Some(parts) = self.parts(right).filter(|parts| parts.opcode == Opcode::BitCast) {
            let of = parts.operand(0);
            let (from, ty) = (self.type_of(of), self.type_of(right));
            if self.is_vector(from) == self.is_vector(ty) && !self.module.types.is_float(from) {
                let cast = self.cast(Opcode::BitCast, left, from);
                return Some(self.compare(predicate, cast, of));
            }
        }
        let parts = self.parts(left)?;
        let wanted = if is_signed(predicate) { Opcode::SExt } else { Opcode::ZExt };
        if parts.opcode != wanted {
            return None;
        }
        let of = parts.operand(0);
        let from = self.type_of(of);
        if self.cast(Opcode::Trunc, left, from) != of {
            return None;
        }
        let cut = self.cast(Opcode::Trunc, right, from);
        let ty = self.type_of(right);
        (self.cast(wanted, cut, ty) == right).then(|| self.compare(predicate, of, cut))
    }

    /// Returns whether values of a type have a size.
    pub(super) fn is_sized(&self, ty: TypeId, depth: u32) -> bool {
        let types = &self.module.types;
        if depth > super::MAX_DEPTH {
            return false;
        }
        match types.get(ty) {
            Type::Array { element, .. } | Type::Vector { element, .. } => self.is_sized(element, depth + 1),
            Type::Struct(structure) => {
                !structure.opaque
                    && types.elements(structure.fields).iter().all(|&field| self.is_sized(field, depth + 1))
            }
            Type::Function { .. }
            | Type::Void
            | Type::Label
            | Type::Metadata
            | Type::Token
            | Type::Unknown => false,
            _ => true,
        }
    }

    /// Returns whether values of a type have no bits.
    fn is_empty(&self, ty: TypeId, depth: u32) -> bool {
        let types = &self.module.types;
        match types.get(ty) {
            _ if depth > super::MAX_DEPTH => false,
            Type::Array { count, element } => count == 0 || self.is_empty(element, depth + 1),
            Type::Struct(structure) => {
                types.elements(structure.fields).iter().all(|&field| self.is_empty(field, depth + 1))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cmp::Ordering;

    #[test]
    fn predicates_of_exchanged_and_inverted_operands() {
        for order in [Some(Ordering::Less), Some(Ordering::Equal), Some(Ordering::Greater), None] {
            for predicate in 0..16 {
                let is_true = floats::compare(predicate, order);
                assert_eq!(floats::compare(inverse(predicate), order), !is_true);
                let exchanged = order.map(Ordering::reverse);
                assert_eq!(floats::compare(swapped(predicate), exchanged), is_true);
            }
        }
        for left in [0u64, 1, 127, 128, 255] {
            for right in [0u64, 1, 127, 128, 255] {
                let (one, other) = (integers::Integer::new(left, 8), integers::Integer::new(right, 8));
                for predicate in 32..42 {
                    let is_true = integers::compare(predicate, &one, &other);
                    assert_eq!(integers::compare(inverse(predicate), &one, &other), !is_true, "{predicate}");
                    assert_eq!(integers::compare(swapped(predicate), &other, &one), is_true, "{predicate}");
                }
            }
        }
    }
}
