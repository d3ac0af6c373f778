//! Arithmetic, comparisons, casts, and operations on vectors and aggregates: the types of their operands and results.
//!
//! The rules for constant expressions are the same; see [`Operation`].
//!
//! Knowledge: the Language Reference; what LLVM 14 and 19 refuse.

use super::context::Context;
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::ids::{TypeId, ValueId};
use crate::instruction::{Opcode, predicate};
use crate::types::Type;
use alloc::vec::Vec;

pub(super) const RULE: &str = "ir-type";

/// The class of types that an operation takes or makes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Integer,
    Float,
    Pointer,
}

/// How the sizes of the operand and the result of a cast relate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Shrinks,
    Grows,
    Any,
}

/// A cast between classes.
struct Cast {
    opcode: Opcode,
    from: Class,
    to: Class,
    size: Size,
}

const CASTS: &[Cast] = &[
    Cast { opcode: Opcode::Trunc, from: Class::Integer, to: Class::Integer, size: Size::Shrinks },
    Cast { opcode: Opcode::ZExt, from: Class::Integer, to: Class::Integer, size: Size::Grows },
    Cast { opcode: Opcode::SExt, from: Class::Integer, to: Class::Integer, size: Size::Grows },
    Cast { opcode: Opcode::FpToUi, from: Class::Float, to: Class::Integer, size: Size::Any },
    Cast { opcode: Opcode::FpToSi, from: Class::Float, to: Class::Integer, size: Size::Any },
    Cast { opcode: Opcode::UiToFp, from: Class::Integer, to: Class::Float, size: Size::Any },
    Cast { opcode: Opcode::SiToFp, from: Class::Integer, to: Class::Float, size: Size::Any },
    Cast { opcode: Opcode::FpTrunc, from: Class::Float, to: Class::Float, size: Size::Shrinks },
    Cast { opcode: Opcode::FpExt, from: Class::Float, to: Class::Float, size: Size::Grows },
    Cast { opcode: Opcode::PtrToInt, from: Class::Pointer, to: Class::Integer, size: Size::Any },
    Cast { opcode: Opcode::PtrToAddr, from: Class::Pointer, to: Class::Integer, size: Size::Any },
    Cast { opcode: Opcode::IntToPtr, from: Class::Integer, to: Class::Pointer, size: Size::Any },
];

/// An operation on values: an instruction or a constant expression.
pub(super) struct Operation<'o> {
    pub(super) opcode: Opcode,
    pub(super) result: TypeId,
    pub(super) operands: &'o [ValueId],
    /// The predicate of a comparison.
    pub(super) predicate: u32,
}

impl Context<'_, '_> {
    fn is_class(&self, ty: TypeId, class: Class) -> bool {
        match class {
            Class::Integer => self.is_integer_or_vector(ty),
            Class::Float => self.is_float_or_vector(ty),
            Class::Pointer => self.is_pointer_or_vector(ty),
        }
    }

    /// Returns what is wrong with the types of an operation; `None` if nothing is.
    pub(super) fn operation_fault(&self, body: Option<&FunctionBody>, of: &Operation<'_>) -> Option<&'static str> {
        let ty = |at: usize| of.operands.get(at).map_or(TypeId::NONE, |&id| self.type_of(body, id));
        let first = ty(0);
        match of.opcode {
            Opcode::FNeg => {
                if !self.is_float_or_vector(first) {
                    return Some("fneg takes floating-point numbers");
                }
                (!self.same(first, of.result)).then_some("the result has another type than the operand")
            }
            opcode if opcode.is_binary() => self.binary_fault(opcode, first, ty(1), of.result),
            opcode if opcode.is_cast() => self.cast_fault(opcode, first, of.result),
            Opcode::ICmp | Opcode::FCmp => self.comparison_fault(of, first, ty(1)),
            Opcode::Select => self.select_fault(first, ty(1), ty(2)),
            Opcode::ExtractElement => {
                if !self.is_vector(first) && !self.is_unknown(first) {
                    return Some("extractelement takes a vector");
                }
                (!self.is_integer(ty(1))).then_some("the index of an element is an integer")
            }
            Opcode::InsertElement => self.insert_fault(first, ty(1), ty(2)),
            Opcode::ShuffleVector => self.shuffle_fault(body, of, first, ty(1)),
            _ => None,
        }
    }

    fn binary_fault(&self, opcode: Opcode, left: TypeId, right: TypeId, result: TypeId) -> Option<&'static str> {
        if !self.same(left, right) {
            return Some("both operands have the same type");
        }
        if !self.same(left, result) {
            return Some("the result has another type than the operands");
        }
        if opcode.is_float_operation() {
            (!self.is_float_or_vector(left)).then_some("the operation takes floating-point numbers")
        } else {
            (!self.is_integer_or_vector(left)).then_some("the operation takes integers")
        }
    }

    fn cast_fault(&self, opcode: Opcode, from: TypeId, to: TypeId) -> Option<&'static str> {
        if self.is_unknown(from) || self.is_unknown(to) {
            return None;
        }
        match opcode {
            Opcode::BitCast => return self.bitcast_fault(from, to),
            Opcode::AddrSpaceCast => return self.space_cast_fault(from, to),
            _ => {}
        }
        let cast = CASTS.iter().find(|cast| cast.opcode == opcode)?;
        if !self.is_class(from, cast.from) {
            return Some("the cast does not take values of this type");
        }
        if !self.is_class(to, cast.to) {
            return Some("the cast does not make values of this type");
        }
        if self.lanes(from) != self.lanes(to) {
            return Some("a cast keeps the number of elements");
        }
        let (old, new) = (self.scalar_bits(from), self.scalar_bits(to));
        match cast.size {
            Size::Shrinks if new >= old => Some("the result of the cast is smaller than its operand"),
            Size::Grows if new <= old => Some("the result of the cast is larger than its operand"),
            _ => None,
        }
    }

    fn bitcast_fault(&self, from: TypeId, to: TypeId) -> Option<&'static str> {
        let is_value = |ty| self.is_first_class(ty) && !self.is_aggregate(ty);
        if !is_value(from) || !is_value(to) {
            return Some("bitcast takes and makes numbers, pointers and vectors of them");
        }
        let spaces = (self.table().address_space(from), self.table().address_space(to));
        match spaces {
            (Some(from_space), Some(to_space)) => {
                if from_space != to_space {
                    return Some("bitcast does not change the address space");
                }
                let count = |ty| self.lanes(ty).unwrap_or((1, false));
                (count(from) != count(to)).then_some("bitcast of pointers keeps the number of elements")
            }
            (None, None) => {
                let scalable = |ty| self.lanes(ty).is_some_and(|(_, scalable)| scalable);
                let same = self.bits(from) == self.bits(to) && scalable(from) == scalable(to);
                let known = self.bits(from) != 0 || self.same(from, to);
                (!same || !known).then_some("bitcast keeps the number of bits")
            }
            _ => Some("bitcast does not convert between pointers and numbers"),
        }
    }

    fn space_cast_fault(&self, from: TypeId, to: TypeId) -> Option<&'static str> {
        if !self.is_pointer_or_vector(from) || !self.is_pointer_or_vector(to) {
            return Some("addrspacecast takes and makes pointers");
        }
        if self.table().address_space(from) == self.table().address_space(to) {
            return Some("addrspacecast changes the address space");
        }
        (self.lanes(from) != self.lanes(to)).then_some("a cast keeps the number of elements")
    }

    fn comparison_fault(&self, of: &Operation<'_>, left: TypeId, right: TypeId) -> Option<&'static str> {
        if !self.same(left, right) {
            return Some("both operands have the same type");
        }
        let takes = match of.opcode {
            Opcode::ICmp => self.is_integer_or_vector(left) || self.is_pointer_or_vector(left),
            _ => self.is_float_or_vector(left),
        };
        if !takes {
            return Some("the comparison does not take values of this type");
        }
        let is_valid = predicate(of.predicate).is_some() && (of.predicate >= 32) == (of.opcode == Opcode::ICmp);
        if !is_valid {
            return Some("the comparison has an invalid predicate");
        }
        let is_bit = matches!(self.scalar(of.result), Type::Integer(1) | Type::Unknown);
        (!is_bit || self.lanes(of.result) != self.lanes(left)).then_some("a comparison makes one bit per element")
    }

    fn select_fault(&self, condition: TypeId, then: TypeId, otherwise: TypeId) -> Option<&'static str> {
        if !self.same(then, otherwise) {
            return Some("both values of a select have the same type");
        }
        if matches!(self.get(then), Type::Token) {
            return Some("select does not take tokens");
        }
        if !matches!(self.scalar(condition), Type::Integer(1) | Type::Unknown) {
            return Some("the condition of a select is one bit per element");
        }
        let lanes = self.lanes(condition);
        (lanes.is_some() && lanes != self.lanes(then)).then_some("a select has as many conditions as elements")
    }

    fn insert_fault(&self, vector: TypeId, element: TypeId, index: TypeId) -> Option<&'static str> {
        match self.get(vector) {
            Type::Vector { element: expected, .. } if !self.same(expected, element) => {
                Some("the inserted value has another type than the elements")
            }
            Type::Vector { .. } | Type::Unknown => {
                (!self.is_integer(index)).then_some("the index of an element is an integer")
            }
            _ => Some("insertelement takes a vector"),
        }
    }

    fn shuffle_fault(
        &self,
        body: Option<&FunctionBody>,
        of: &Operation<'_>,
        first: TypeId,
        second: TypeId,
    ) -> Option<&'static str> {
        if !self.is_vector(first) && !self.is_unknown(first) {
            return Some("shufflevector takes vectors");
        }
        if !self.same(first, second) {
            return Some("both operands have the same type");
        }
        let &mask = of.operands.get(2)?;
        let mask_type = self.type_of(body, mask);
        let is_mask = matches!(self.scalar(mask_type), Type::Integer(32) | Type::Unknown);
        if !is_mask || (self.lanes(mask_type).is_none() && !self.is_unknown(mask_type)) {
            return Some("the mask of a shufflevector is a vector of i32");
        }
        let is_shared = mask.index() < self.module.values.len();
        if is_shared && self.masks.borrow().contains(&(mask, first)) {
            return None;
        }
        let most = self.lanes(first).map_or(u64::MAX, |(count, _)| u64::from(count).saturating_mul(2));
        match self.mask(body, mask) {
            Some(elements) => {
                let is_splat = elements.iter().all(|element| element.unwrap_or(0) == 0);
                if self.types.is_scalable(mask_type) && !is_splat {
                    return Some("the mask of a scalable shufflevector is zero or undefined");
                }
                let outside = elements.iter().flatten().any(|&element| element >= most);
                if outside {
                    return Some("the mask of a shufflevector selects elements that exist");
                }
                if is_shared {
                    self.masks.borrow_mut().insert((mask, first));
                }
                None
            }
            None => Some("the mask of a shufflevector is a constant"),
        }
    }

    /// Returns the elements of a mask, `None` for each undefined one; empty if all are zero or undefined.
    fn mask(&self, body: Option<&FunctionBody>, mask: ValueId) -> Option<Vec<Option<u64>>> {
        let (constant, constants) = self.constant(body, mask)?;
        Some(match constant {
            Constant::Null | Constant::Undef | Constant::Poison => Vec::new(),
            Constant::Data(words) => constants.words(words).iter().map(|&word| Some(word)).collect(),
            Constant::Aggregate(values) => {
                let elements = constants.values(values).iter();
                let element = |&id| match self.constant(body, id)?.0 {
                    Constant::Undef | Constant::Poison => Some(None),
                    Constant::Expression(_) => None,
                    _ => self.integer(body, id).map(Some),
                };
                return elements.map(element).collect();
            }
            _ => return None,
        })
    }
}
