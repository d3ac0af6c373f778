//! Folds operations on vectors, `select`, and `fneg`.

use super::{Folder, Parts};
use crate::constants::Constant;
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::types::Type;
use crate::write::Version;
use alloc::vec::Vec;

impl Folder<'_, '_> {
    /// Returns the choice between two constants, folded.
    pub(super) fn select(&mut self, condition: ValueId, then: ValueId, otherwise: ValueId) -> ValueId {
        let ty = self.type_of(then);
        match self.attempt(|folder| folder.fold_select(condition, then, otherwise)) {
            Some(folded) => folded,
            None => self.plain(Opcode::Select, ty, 0, &[condition, then, otherwise]),
        }
    }

    fn fold_select(&mut self, condition: ValueId, then: ValueId, otherwise: ValueId) -> Option<ValueId> {
        if self.is_null(condition) {
            return Some(otherwise);
        }
        if self.is_all_ones(condition) {
            return Some(then);
        }
        if let Some(vector) = self.select_lanes(condition, then, otherwise) {
            return Some(vector);
        }
        if self.is_poison(condition) {
            return Some(self.poison(self.type_of(then)));
        }
        if self.is_undef(condition) {
            return Some(if self.is_undef(then) { then } else { otherwise });
        }
        if then == otherwise || self.is_poison(otherwise) {
            return Some(then);
        }
        if self.is_poison(then) || self.is_undef(then) && self.is_never_poison(otherwise) {
            return Some(otherwise);
        }
        if self.is_undef(otherwise) && self.is_never_poison(then) {
            return Some(then);
        }
        if self.version == Version::Llvm19 {
            return None;
        }
        let same_choice = |parts: &Parts| parts.opcode == Opcode::Select && parts.operand(0) == condition;
        if let Some(parts) = self.parts(then).filter(same_choice) {
            return Some(self.select(condition, parts.operand(1), otherwise));
        }
        let parts = self.parts(otherwise).filter(same_choice)?;
        Some(self.select(condition, then, parts.operand(2)))
    }

    /// Chooses element by element, if the condition is a list of constants.
    fn select_lanes(&mut self, condition: ValueId, then: ValueId, otherwise: ValueId) -> Option<ValueId> {
        let of = self.type_of(condition);
        let count = self.lanes(of)?;
        if !matches!(self.form(condition), Some(Constant::Aggregate(_))) {
            return None;
        }
        let ty = self.type_of(then);
        self.by_lanes(ty, count, |folder, at| {
            let (one, other) = (folder.lane_of(then, at), folder.lane_of(otherwise, at));
            let choice = folder.element(condition, at)?;
            if folder.is_poison(choice) {
                Some(folder.poison(folder.type_of(one)))
            } else if one == other || folder.is_undef(choice) && folder.is_undef(one) {
                Some(one)
            } else if folder.is_undef(choice) {
                Some(other)
            } else {
                let chosen = if folder.is_null(choice) { other } else { one };
                folder.is_integer(choice).then_some(chosen)
            }
        })
    }

    fn is_never_poison(&mut self, id: ValueId) -> bool {
        if self.is_poison(id) || self.is_expression(id) {
            return false;
        }
        let ty = self.type_of(id);
        let is_null_pointer = self.is_null(id) && self.module.types.is_pointer(ty);
        let is_symbol = matches!(
            self.symbol(id),
            Some(
                super::SymbolKind::Variable(_)
                    | super::SymbolKind::Function(_)
                    | super::SymbolKind::Undefined
            )
        );
        if is_null_pointer || is_symbol || self.is_integer(id) || self.is_float(id) {
            return true;
        }
        if !self.is_vector(ty) {
            return false;
        }
        let Some((Constant::Aggregate(values), constants)) = self.module.constant(None, id) else {
            return true;
        };
        constants.values(values).iter().all(|&value| !self.is_poison(value) && !self.is_expression(value))
    }

    /// Returns an element of a vector, folded.
    pub(super) fn extract_element(&mut self, vector: ValueId, index: ValueId) -> ValueId {
        if let Some(folded) = self.attempt(|folder| folder.fold_extract_element(vector, index)) {
            return folded;
        }
        let ty = self.module.types.scalar(self.type_of(vector));
        self.plain(Opcode::ExtractElement, ty, 0, &[vector, index])
    }

    fn fold_extract_element(&mut self, vector: ValueId, index: ValueId) -> Option<ValueId> {
        let of = self.type_of(vector);
        let Type::Vector { count, element, scalable } = self.module.types.get(of) else { return None };
        if self.is_poison(vector) || self.is_undef(index) {
            return Some(self.poison(element));
        }
        if self.is_undef(vector) {
            return Some(self.undef(element));
        }
        let number = self.integer_of(index)?;
        let at = number.as_u64().and_then(|at| u32::try_from(at).ok()).filter(|&at| at < count);
        if at.is_none() && !scalable {
            return Some(self.poison(element));
        }
        if let Some(parts) = self.parts(vector) {
            if parts.opcode == Opcode::GetElementPtr {
                return self.extract_pointer(&parts, index);
            }
            if parts.opcode == Opcode::InsertElement
                && let Some(inserted) = self.integer_of(parts.operand(2))
            {
                if inserted.as_u64() == number.as_u64() {
                    return Some(parts.operand(1));
                }
                return Some(self.extract_element(parts.operand(0), index));
            }
        }
        let at = at?;
        self.element(vector, at).or_else(|| self.splatted(vector))
    }

    /// Returns an element of a vector of pointers to elements: the pointer to an element.
    fn extract_pointer(&mut self, parts: &Parts, index: ValueId) -> Option<ValueId> {
        let mut operands = Vec::new();
        for &operand in &parts.operands {
            operands.push(match self.is_vector(self.type_of(operand)) {
                true => self.extract_element(operand, index),
                false => operand,
            });
        }
        let parts = Parts { operands, ..parts.clone() };
        self.element_pointer(&parts)
    }

    /// Returns a vector with another element, folded.
    pub(super) fn insert_element(&mut self, vector: ValueId, element: ValueId, index: ValueId) -> ValueId {
        match self.attempt(|folder| folder.fold_insert_element(vector, element, index)) {
            Some(folded) => folded,
            None => {
                let ty = self.type_of(vector);
                self.plain(Opcode::InsertElement, ty, 0, &[vector, element, index])
            }
        }
    }

    fn fold_insert_element(&mut self, vector: ValueId, element: ValueId, index: ValueId) -> Option<ValueId> {
        let ty = self.type_of(vector);
        if self.is_undef(index) {
            return Some(self.poison(ty));
        }
        if self.version == Version::Llvm19 && self.is_null(vector) && self.is_null(element) {
            return Some(vector);
        }
        let number = self.integer_of(index)?;
        let count = self.lanes(ty)?;
        let Some(at) = number.as_u64().filter(|&at| at < u64::from(count)) else {
            return Some(self.poison(ty));
        };
        self.by_lanes(ty, count, |folder, lane| {
            Some(if u64::from(lane) == at { element } else { folder.lane_of(vector, lane) })
        })
    }

    /// Returns the elements of two vectors that a mask selects, folded.
    pub(super) fn shuffle(&mut self, left: ValueId, right: ValueId, mask: ValueId, ty: TypeId) -> ValueId {
        let lanes = self.mask(mask);
        if let Some(lanes) = &lanes
            && let Some(folded) = self.attempt(|folder| folder.fold_shuffle(left, right, lanes, ty))
        {
            return folded;
        }
        let mask = match lanes {
            Some(lanes) => self.mask_constant(mask, &lanes),
            None => mask,
        };
        self.plain(Opcode::ShuffleVector, ty, 0, &[left, right, mask])
    }

    /// Returns the lanes that a mask selects, of which some may be anything.
    fn mask(&mut self, mask: ValueId) -> Option<Vec<Option<u32>>> {
        let Type::Vector { count, .. } = self.module.types.get(self.type_of(mask)) else { return None };
        if !self.may_make(count) {
            return None;
        }
        if self.is_undef(mask) {
            return Some(alloc::vec![None; count as usize]);
        }
        (0..count)
            .map(|at| {
                let lane = self.element(mask, at)?;
                if self.is_undef(lane) {
                    return Some(None);
                }
                Some(Some(self.integer_of(lane)?.as_u64()? as u32))
            })
            .collect()
    }

    /// Returns the constant of a mask as LLVM stores it.
    fn mask_constant(&mut self, mask: ValueId, lanes: &[Option<u32>]) -> ValueId {
        let ty = self.type_of(mask);
        let element = self.module.types.scalar(ty);
        let unknown = match self.version {
            Version::Llvm14 | Version::Dxc => self.undef(element),
            Version::Llvm19 => self.poison(element),
        };
        if self.is_scalable(ty) {
            return match (self.is_undef(mask), self.version) {
                (false, _) => mask,
                (true, Version::Llvm14 | Version::Dxc) => self.undef(ty),
                (true, Version::Llvm19) => self.poison(ty),
            };
        }
        let elements: Vec<ValueId> = lanes
            .iter()
            .map(|lane| match lane {
                Some(lane) => self.number(element, u64::from(*lane)),
                None => unknown,
            })
            .collect();
        self.vector(ty, &elements)
    }

    fn fold_shuffle(
        &mut self,
        left: ValueId,
        right: ValueId,
        lanes: &[Option<u32>],
        ty: TypeId,
    ) -> Option<ValueId> {
        if lanes.iter().all(Option::is_none) {
            return Some(match self.version {
                Version::Llvm14 | Version::Dxc => self.undef(ty),
                Version::Llvm19 => self.poison(ty),
            });
        }
        let from = self.type_of(left);
        let element = self.module.types.scalar(from);
        if lanes.iter().all(|&lane| lane == Some(0)) {
            let first = self.lane_of(left, 0);
            if self.is_null(first) {
                return Some(self.null(ty));
            }
            if !self.is_scalable(from) {
                return Some(self.splat(ty, first));
            }
        }
        let count = self.lanes(from)?;
        self.by_lanes(ty, u32::try_from(lanes.len()).ok()?, |folder, at| {
            Some(match lanes.get(at as usize).copied().flatten() {
                Some(lane) if lane < count => folder.lane_of(left, lane),
                Some(lane) if lane - count < count => folder.lane_of(right, lane - count),
                _ => folder.undef(element),
            })
        })
    }

    /// Returns the negation of a floating-point constant, folded.
    pub(super) fn negate(&mut self, of: ValueId) -> ValueId {
        match self.attempt(|folder| folder.fold_negation(of)) {
            Some(folded) => folded,
            None => {
                let ty = self.type_of(of);
                self.plain(Opcode::FNeg, ty, 0, &[of])
            }
        }
    }

    fn negate_lane(&mut self, of: ValueId) -> Option<ValueId> {
        match self.version {
            Version::Llvm14 | Version::Dxc => Some(self.negate(of)),
            Version::Llvm19 => self.attempt(|folder| folder.fold_negation(of)),
        }
    }

    fn fold_negation(&mut self, of: ValueId) -> Option<ValueId> {
        let ty = self.type_of(of);
        if self.is_undef(of) && self.lanes(ty).is_none() {
            return Some(of);
        }
        if let Some((format, bits)) = self.float_of(of) {
            return Some(self.float(ty, format.negated(bits)));
        }
        let count = self.lanes(ty)?;
        if let Some(element) = self.splatted(of)
            && let Some(negated) = self.negate_lane(element)
        {
            return Some(self.splat(ty, negated));
        }
        self.by_lanes(ty, count, |folder, at| {
            let lane = folder.lane_of(of, at);
            folder.negate_lane(lane)
        })
    }
}
