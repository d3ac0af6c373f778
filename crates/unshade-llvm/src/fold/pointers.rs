//! Folds `getelementptr`.
//!
//! LLVM 14 joins element pointers of element pointers, moves what is outside of an array to the index before, and finds
//! out what is within bounds. LLVM 19 only drops element pointers that add nothing.

use super::{Folder, Parts, SymbolKind, mark_of};
use crate::constants::{Constant, NewExpression};
use crate::global::Linkage;
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::rules::element_pointer_type;
use crate::types::Type;
use crate::write::Version;
use alloc::vec::Vec;

/// The width in which indices are added.
const INDEX_WIDTH: u32 = 64;

impl Folder<'_, '_> {
    /// Returns the pointer to an element, folded; none if operands don't fit.
    pub(super) fn element_pointer(&mut self, parts: &Parts) -> Option<ValueId> {
        let ty = element_pointer_type(self.module, None, parts.ty, &parts.operands)?;
        if let Some(folded) = self.attempt(|folder| folder.fold_element_pointer(parts, ty)) {
            return Some(folded);
        }
        let mut operands = Vec::new();
        for (at, &operand) in parts.operands.iter().enumerate() {
            let is_field = at >= 2 && self.is_field(parts, at);
            let is_vector = self.is_vector(self.type_of(operand));
            operands.push(match self.module.types.get(ty) {
                Type::Vector { .. } if is_field && is_vector => self.splatted(operand).unwrap_or(operand),
                Type::Vector { count, scalable, .. } if at >= 1 && !is_field && !is_vector => {
                    let element = self.type_of(operand);
                    let vector = self.module.types.intern(Type::Vector { count, element, scalable });
                    self.splat(vector, operand)
                }
                _ => operand,
            });
        }
        let new = NewExpression {
            opcode: Opcode::GetElementPtr,
            flags: parts.flags,
            ty: parts.ty,
            in_range: parts.in_range,
            bounds: &parts.bounds,
            operands: &operands,
        };
        Some(self.make(ty, &new))
    }

    /// Returns the pointer to an element of a type, folded.
    pub(super) fn element_pointer_of(
        &mut self,
        source: TypeId,
        operands: &[ValueId],
        flags: u32,
        in_range: u32,
    ) -> ValueId {
        let parts = Parts {
            opcode: Opcode::GetElementPtr,
            flags,
            ty: source,
            in_range,
            bounds: Vec::new(),
            operands: operands.to_vec(),
        };
        self.element_pointer(&parts).unwrap_or(ValueId::NONE)
    }

    /// Returns the type in which an operand selects an element; the first index selects none.
    fn indexed(&self, parts: &Parts, at: usize) -> Option<TypeId> {
        let indices = parts.operands.get(2..at)?;
        indices.iter().try_fold(parts.ty, |ty, &index| {
            let field = match self.module.types.get(ty) {
                Type::Struct(_) => self.module.integer(None, index)?,
                _ => 0,
            };
            self.module.types.child(ty, field)
        })
    }

    /// Returns whether an operand selects a field of a struct.
    fn is_field(&self, parts: &Parts, at: usize) -> bool {
        let indexed = self.indexed(parts, at);
        indexed.is_some_and(|ty| matches!(self.module.types.get(ty), Type::Struct(_)))
    }

    fn fold_element_pointer(&mut self, parts: &Parts, ty: TypeId) -> Option<ValueId> {
        let (&base, indices) = parts.operands.split_first()?;
        let Some(&first) = indices.first() else { return Some(base) };
        let is_earlier = self.version == Version::Llvm14;
        let in_bounds = parts.flags & 1 != 0;
        if self.is_poison(base) {
            return Some(self.poison(ty));
        }
        if self.is_undef(base) {
            return Some(if in_bounds && is_earlier { self.poison(ty) } else { self.undef(ty) });
        }
        let adds_nothing = |folder: &Self, index: ValueId| folder.is_null(index) || folder.is_undef(index);
        let is_base = match self.version {
            Version::Llvm14 | Version::Dxc => indices.len() == 1 && adds_nothing(self, first),
            Version::Llvm19 => {
                parts.bounds.is_empty() && indices.iter().all(|&index| adds_nothing(self, index))
            }
        };
        if is_base {
            let is_wider = self.is_vector(ty) && !self.is_vector(self.type_of(base));
            return Some(if is_wider { self.splat(ty, base) } else { base });
        }
        if !is_earlier {
            return None;
        }
        if self.is_null(base) && indices.iter().all(|&index| adds_nothing(self, index)) {
            return Some(self.null(ty));
        }
        if let Some(inner) = self.parts(base) {
            if inner.opcode == Opcode::GetElementPtr
                && let Some(joined) = self.joined_pointers(&inner, parts)
            {
                return Some(joined);
            }
            if let Some(folded) = self.pointer_of_cast(&inner, parts) {
                return Some(folded);
            }
        }
        self.normalized(parts)
    }

    /// Returns the pointer to an element of an element.
    fn joined_pointers(&mut self, inner: &Parts, outer: &Parts) -> Option<ValueId> {
        if self.indexed(inner, inner.operands.len().max(2)) != Some(outer.ty) {
            return None;
        }
        let flags = inner.flags & outer.flags & 1;
        let (&first, rest) = outer.operands.get(1..)?.split_first()?;
        let (&last, kept) = inner.operands.split_last()?;
        let last_at = inner.operands.len() - 1;
        if self.is_null(first) {
            let operands: Vec<ValueId> = inner.operands.iter().chain(rest).copied().collect();
            return Some(self.element_pointer_of(inner.ty, &operands, flags, inner.in_range));
        }
        let adds = last_at >= 1
            && !(last_at >= 2 && self.is_field(inner, last_at))
            && self.is_integer(first)
            && !self.is_vector(self.type_of(last));
        if !adds {
            return None;
        }
        let (mut one, mut other) = (first, last);
        let (from, to) = (self.type_of(first), self.type_of(last));
        if from != to {
            let width = self.width(from).max(self.width(to)).max(INDEX_WIDTH);
            let ty = self.module.types.intern(Type::Integer(width));
            (one, other) = (self.extended(first, ty), self.extended(last, ty));
        }
        let sum = self.binary(Opcode::Add, one, other, 0);
        let operands: Vec<ValueId> = kept.iter().chain([&sum]).chain(rest).copied().collect();
        let in_range = if inner.in_range == mark_of(last_at) { 0 } else { inner.in_range };
        Some(self.element_pointer_of(inner.ty, &operands, flags, in_range))
    }

    /// Returns an integer in a wider type, or vector of it, with its sign.
    fn extended(&mut self, of: ValueId, ty: TypeId) -> ValueId {
        if self.width(self.type_of(of)) == self.width(ty) { of } else { self.cast(Opcode::SExt, of, ty) }
    }

    /// Returns the pointer to an element of an array that was cast to an array of another length.
    fn pointer_of_cast(&mut self, inner: &Parts, outer: &Parts) -> Option<ValueId> {
        let is_within = outer.operands.len() > 2 && self.is_null(outer.operand(1));
        if !inner.opcode.is_cast() || !is_within {
            return None;
        }
        let types = &self.module.types;
        let (from, to) = (self.type_of(inner.operand(0)), self.type_of(outer.operand(0)));
        let source = types.pointee(from)?;
        let element = |ty| match types.get(ty) {
            Type::Array { element, .. } => Some(element),
            _ => None,
        };
        let same_element = element(source)? == element(types.pointee(to)?)?;
        if !same_element || types.address_space(from) != types.address_space(to) {
            return None;
        }
        let mut operands = outer.operands.clone();
        *operands.first_mut()? = inner.operand(0);
        Some(self.element_pointer_of(source, &operands, outer.flags, outer.in_range))
    }

    /// Returns whether an index is a list of integers.
    fn is_listed(&self, id: ValueId) -> bool {
        matches!(self.form(id), Some(Constant::Data(_))) && self.is_vector(self.type_of(id))
    }

    fn is_known(&self, id: ValueId) -> bool {
        self.is_integer(id) || self.is_listed(id)
    }

    /// Moves what is outside of an array to the index before it; else marks what is within bounds.
    fn normalized(&mut self, parts: &Parts) -> Option<ValueId> {
        let mut operands = parts.operands.clone();
        let mut moved = false;
        let mut unknown = !self.is_known(parts.operand(1));
        let mut previous = self.type_of(parts.operand(0));
        for at in 2..parts.operands.len() {
            let ty = self.indexed(parts, at)?;
            let before = core::mem::replace(&mut previous, ty);
            let index = parts.operand(at);
            if !self.is_known(index) {
                unknown = true;
                continue;
            }
            let is_marked = parts.in_range != 0 && mark_of(at - 1) == parts.in_range;
            if !self.is_known(parts.operand(at - 1)) || is_marked {
                continue;
            }
            let count = match self.module.types.get(ty) {
                Type::Array { count, .. } => count,
                Type::Struct(_) => continue,
                _ => {
                    unknown = true;
                    continue;
                }
            };
            match self.place(index, count) {
                Place::Inside => {}
                Place::Before => unknown = true,
                Place::After if matches!(self.module.types.get(before), Type::Struct(_)) => unknown = true,
                // A vector that is left for later.
                Place::After if self.is_listed(index) && unknown => {}
                Place::After => {
                    let earlier = operands.get(at - 1).copied()?;
                    let (quotient, rest) = self.split_index(index, earlier, count)?;
                    *operands.get_mut(at - 1)? = quotient;
                    *operands.get_mut(at)? = rest;
                    moved = true;
                }
            }
        }
        if moved {
            return Some(self.element_pointer_of(parts.ty, &operands, parts.flags, parts.in_range));
        }
        self.marked_in_bounds(parts, unknown)
    }

    /// Returns where an index of an array is.
    fn place(&mut self, index: ValueId, count: u64) -> Place {
        let lanes = self.lanes(self.type_of(index)).unwrap_or(1);
        if !self.may_make(lanes) {
            return Place::Before;
        }
        let mut place = Place::Inside;
        for lane in 0..lanes {
            self.steps += 1;
            let value = if self.is_listed(index) { self.element(index, lane) } else { Some(index) };
            let Some(integer) = value.and_then(|value| self.integer_of(value)) else { return Place::Before };
            if integer.is_negative() {
                return Place::Before;
            }
            let inside = integer.as_i64().is_some_and(|at| count == 0 || at.unsigned_abs() < count);
            if !inside {
                place = Place::After;
            }
        }
        place
    }

    /// Splits an index into what is added to the one before, added to it, and the rest.
    fn split_index(&mut self, index: ValueId, earlier: ValueId, count: u64) -> Option<(ValueId, ValueId)> {
        let (mut index, mut earlier) = (index, earlier);
        let lanes = self.lanes(self.type_of(index)).or_else(|| self.lanes(self.type_of(earlier)));
        if let Some(count) = lanes {
            for operand in [&mut index, &mut earlier] {
                let ty = self.type_of(*operand);
                if !self.is_vector(ty) {
                    let vector = Type::Vector { count, element: ty, scalable: false };
                    let vector = self.module.types.intern(vector);
                    *operand = self.splat(vector, *operand);
                }
            }
        }
        let ty = self.type_of(index);
        let factor = self.number(ty, count);
        let rest = self.binary(Opcode::SRem, index, factor, 0);
        let quotient = self.binary(Opcode::SDiv, index, factor, 0);
        let width = self.width(self.type_of(earlier)).max(self.width(ty)).max(INDEX_WIDTH);
        let element = self.module.types.intern(Type::Integer(width));
        let wide = match lanes {
            Some(count) => self.module.types.intern(Type::Vector { count, element, scalable: false }),
            None => element,
        };
        let (earlier, quotient) = (self.extended(earlier, wide), self.extended(quotient, wide));
        Some((self.binary(Opcode::Add, earlier, quotient, 0), rest))
    }

    /// Returns the pointer with the mark that it is within bounds, if that is known.
    fn marked_in_bounds(&mut self, parts: &Parts, unknown: bool) -> Option<ValueId> {
        if unknown || parts.flags & 1 != 0 {
            return None;
        }
        let base = parts.operand(0);
        self.depend_on(base);
        let is_strong = match self.symbol(base) {
            Some(SymbolKind::Variable(variable)) => variable.symbol.linkage != Linkage::ExternalWeak,
            _ => false,
        };
        if !is_strong {
            return None;
        }
        let first = parts.operand(1);
        let is_one = |folder: &mut Self| {
            let scalar = if folder.is_listed(first) { folder.splatted(first) } else { Some(first) };
            scalar.and_then(|scalar| folder.integer_of(scalar)).is_some_and(|number| number.is_one())
        };
        let is_inside = self.is_null(first)
            || is_one(self) && parts.operands.iter().skip(2).all(|&index| self.is_null(index));
        is_inside.then(|| self.element_pointer_of(parts.ty, &parts.operands, 1, parts.in_range))
    }
}

/// Where an index of an array is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    Before,
    After,
}
