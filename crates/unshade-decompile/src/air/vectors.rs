//! Vectors: chains of inserted and extracted lanes, and shuffles, become vectors and selections of lanes.

use super::function::{Lifter, MAX_GATHERED};
use crate::ir::metal::types::ValueType;
use crate::ir::shader::vector::lane;
use crate::ir::{Op, TypeId, ValueId};
use unshade_llvm::ValueId as LlvmValue;

impl Lifter<'_, '_, '_, '_> {
    pub(super) fn extract_element(&mut self, vector: LlvmValue, index: LlvmValue, ty: TypeId) -> ValueId {
        let value = self.value(vector);
        let lanes = self.lane_count(vector);
        let constant = self.integer(index).filter(|number| *number < u64::from(lanes));
        match constant {
            Some(number) => self.matrix_lane(value, number, ty),
            None => {
                let index = self.value(index);
                self.add(Op::ExtractLane, ty, &[value, index])
            }
        }
    }

    /// Returns a lane of a vector.
    pub(super) fn lane(&mut self, vector: ValueId, number: u8, ty: TypeId) -> ValueId {
        let found = lane(&mut self.function, self.block, self.address, vector, number);
        if self.function.values[found].ty == TypeId::NONE {
            self.function.with_type(found, ty);
        }
        found
    }

    /// Returns the number of lanes of a vector of the module.
    pub(super) fn lane_count(&self, vector: LlvmValue) -> u16 {
        match self.value_type(self.type_of(vector)) {
            ValueType::Vector(_, lanes) => lanes,
            _ => 1,
        }
    }

    fn scalars(&mut self, vector: ValueId, lanes: u16, ty: TypeId) -> Vec<ValueId> {
        (0..lanes.min(MAX_GATHERED)).map(|index| self.lane(vector, index as u8, ty)).collect()
    }

    pub(super) fn insert_element(
        &mut self,
        vector: LlvmValue,
        element: LlvmValue,
        index: LlvmValue,
        ty: TypeId,
    ) -> ValueId {
        let lanes = self.lane_count(vector);
        let scalar = self.type_of(element);
        let (value, element) = (self.value(vector), self.value(element));
        let constant = self.integer(index).filter(|index| *index < u64::from(lanes));
        let Some(index) = constant.filter(|_| lanes <= MAX_GATHERED) else {
            let index = self.value(index);
            return self.add(Op::InsertLane, ty, &[value, index, element]);
        };
        let mut scalars = self.scalars(value, lanes, scalar);
        if let Some(slot) = scalars.get_mut(index as usize) {
            *slot = element;
        }
        self.vector(&scalars, ty)
    }

    pub(super) fn shuffle(&mut self, a: LlvmValue, b: LlvmValue, mask: LlvmValue, ty: TypeId) -> ValueId {
        let count = self.lane_count(a);
        let ValueType::Vector(scalar, lanes) = self.value_type(ty) else {
            return self.unlifted("shufflevector", ty);
        };
        if count.max(lanes) > MAX_GATHERED {
            return self.matrix_shuffle((a, b), mask, count, ty);
        }
        let (x, y) = (self.value(a), self.value(b));
        let mut all = self.scalars(x, count, scalar);
        all.extend(self.scalars(y, count, scalar));
        let mask_type = self.shared.program.types.scalar_id(self.type_of(mask));
        let mask = self.value(mask);
        let mut picked = Vec::new();
        for index in 0..lanes {
            let number = self.lane(mask, index as u8, mask_type);
            let number = self.function.number(number).and_then(|number| usize::try_from(number).ok());
            picked.push(match number.and_then(|number| all.get(number).copied()) {
                Some(scalar) => scalar,
                None => self.undefined(scalar),
            });
        }
        self.vector(&picked, ty)
    }

    /// Lifts a shuffle of matrices, of which each thread has a few lanes: those that are replaced, or taken out.
    fn matrix_shuffle(
        &mut self,
        (a, b): (LlvmValue, LlvmValue),
        mask: LlvmValue,
        count: u16,
        ty: TypeId,
    ) -> ValueId {
        let ValueType::Vector(scalar, lanes) = self.value_type(ty) else {
            return self.unlifted("shufflevector", ty);
        };
        let (x, y) = (self.value(a), self.value(b));
        let mask = self.value(mask);
        let picks: Vec<Option<u64>> = (0..lanes)
            .map(|lane| self.function.number(self.function.input_or_self(mask, usize::from(lane))))
            .collect();
        let source = |number: u64| {
            if number < u64::from(count) { (x, number) } else { (y, number - u64::from(count)) }
        };
        if lanes <= MAX_GATHERED {
            let mut scalars = Vec::new();
            for pick in picks {
                scalars.push(match pick.map(source) {
                    Some((vector, number)) => self.matrix_lane(vector, number, scalar),
                    None => self.undefined(scalar),
                });
            }
            return self.vector(&scalars, ty);
        }
        // The lanes that stay where they are come from one matrix.
        let stays = |lane: usize, vector: ValueId| picks[lane].map(source) == Some((vector, lane as u64));
        let kept = |vector: ValueId| (0..picks.len()).filter(|lane| stays(*lane, vector)).count();
        let base = if kept(x) >= kept(y) { x } else { y };
        let is_matrix = self.function.lanes(base) == lanes && kept(base) > 0;
        let mut at = if is_matrix { base } else { self.undefined(ty) };
        let moved: Vec<(usize, (ValueId, u64))> = (0..picks.len())
            .filter(|lane| !is_matrix || !stays(*lane, base))
            .filter_map(|lane| Some((lane, picks[lane].map(source)?)))
            .collect();
        if moved.len() > usize::from(MAX_GATHERED) {
            return self.unlifted("shufflevector of a long vector", ty);
        }
        for (lane, (vector, number)) in moved {
            let element = self.matrix_lane(vector, number, scalar);
            let index = self.function.constant(lane as u64, 32);
            at = self.add(Op::InsertLane, ty, &[at, index, element]);
        }
        at
    }

    /// Returns a lane of a vector or matrix; that which replaced it, if one did.
    fn matrix_lane(&mut self, vector: ValueId, number: u64, scalar: TypeId) -> ValueId {
        let mut at = vector;
        while self.function.op(at) == Op::InsertLane {
            match self.function.number(self.function.input(at, 1)) {
                Some(index) if index == number => return self.function.input(at, 2),
                Some(_) => at = self.function.input(at, 0),
                None => break,
            }
        }
        match u8::try_from(number) {
            Ok(number) => self.lane(at, number, scalar),
            Err(_) => self.unlifted("a lane of a long vector", scalar),
        }
    }
}
