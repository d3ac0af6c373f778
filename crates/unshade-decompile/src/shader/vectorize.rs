//! Vectors from scalar operations that do the same.
//!
//! Where an operation takes a vector that is put together from scalars, and all of these are results of the same
//! operator, one operation on vectors replaces them; then its inputs are put together in the same way. That stops at
//! lanes of a vector, at constants, and where scalars have nothing in common. An operation is only replaced if all of
//! its inputs end well, since the text would read worse otherwise.
//!
//! Other users of a scalar take a lane of the vector, if the vector is available as early as the scalar was. After
//! Larsen and Amarasinghe, "Exploiting Superword Level Parallelism with Multimedia Instruction Sets", from the bottom
//! up.

use crate::ir::hash::FastMap;
use crate::ir::shader::vector::{gather, source};
use crate::ir::shader::{OperandKind, ShaderOp};
use crate::ir::{BlockId, Function, Lanes, OPERATORS, Op, ValueId, Widths};

/// Maximum depth of operations in an expression that is searched.
const MAX_DEPTH: usize = 64;

/// What the code and the language have.
#[derive(Clone, Copy)]
pub struct Vectors {
    /// Operations take vectors of more than four lanes.
    pub are_long: bool,
    /// The code has no operations on vectors: what the source does with one takes one operation per lane.
    pub are_split: bool,
}

impl Vectors {
    /// Returns what a shader model has.
    pub fn of(model: (u8, u8)) -> Self {
        Self { are_long: model >= (6, 9), are_split: model >= (6, 0) }
    }
}

/// Runs the pass. Vectors of more than four lanes stay as they are, unless operations take them.
pub fn run(function: &mut Function, vectors: Vectors) {
    let positions = positions(function);
    let has_long_vectors = vectors.are_long;
    let mut vectorizer = Vectorizer { function, positions, vectors, known: FastMap::default() };
    for id in vectorizer.function.values.keys().collect::<Vec<_>>() {
        let is_short = has_long_vectors || vectorizer.function.lanes(id) <= 4;
        if is_short && vectorizer.function.op(id) == Op::Vector && !vectorizer.function.is_replaced(id) {
            vectorizer.vector(id);
        }
    }
    vectorizer.function.settle();
}

/// The block and the number of effects before which a value can't be computed.
type Position = (BlockId, usize);

/// Returns from where on each value is available: that of the last effect or phi that it depends on.
fn positions(function: &Function) -> FastMap<ValueId, Position> {
    let mut found: FastMap<ValueId, Position> = FastMap::default();
    for (block, contents) in function.blocks.entries() {
        for &phi in &contents.phis {
            found.insert(phi, (block, 0));
        }
        for (index, &effect) in (1..).zip(&contents.effects) {
            found.insert(effect, (block, index));
        }
    }
    // Hoisting put pure values into the first block where they are available.
    for root in function.values.keys() {
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            if found.contains_key(&id) {
                stack.pop();
                continue;
            }
            let inputs: Vec<ValueId> = function
                .inputs(id)
                .iter()
                .filter(|input| **input != ValueId::NONE)
                .map(|input| function.resolve(*input))
                .collect();
            if let Some(open) = inputs.iter().find(|input| !found.contains_key(*input))
                && stack.len() <= function.values.len()
            {
                stack.push(*open);
                continue;
            }
            let block = function.values[id].block;
            let here = inputs.iter().filter_map(|input| found.get(input)).filter(|found| found.0 == block);
            let index = here.map(|found| found.1).max().unwrap_or(0);
            found.insert(id, (block, index));
            stack.pop();
        }
    }
    found
}

struct Vectorizer<'f> {
    function: &'f mut Function,
    positions: FastMap<ValueId, Position>,
    vectors: Vectors,
    /// What lists of scalars became.
    known: FastMap<Vec<ValueId>, ValueId>,
}

impl Vectorizer<'_> {
    /// Replaces a vector that is put together from parts.
    fn vector(&mut self, id: ValueId) {
        let Some(scalars) = self.scalars(id) else { return };
        let lanes = self.function.lanes(id);
        match self.pack(&scalars, 0) {
            Some(found) if found != id && self.function.lanes(found) == lanes => {
                self.function.replace(id, found);
            }
            Some(_) => {}
            None => self.runs(id, &scalars),
        }
    }

    /// Packs the runs of scalars in a vector that do the same, such as the first three of four.
    fn runs(&mut self, id: ValueId, scalars: &[ValueId]) {
        let mut parts = Vec::new();
        let mut at = 0;
        while at < scalars.len() {
            let longest = (at + 2..=scalars.len()).rev().find_map(|end| {
                let part = &scalars[at..end];
                let is_mixed = part.iter().any(|id| self.function.number(*id).is_some());
                let found = if is_mixed { None } else { self.pack(part, 0) }?;
                (usize::from(self.function.lanes(found)) == part.len()).then_some((found, end))
            });
            match longest {
                Some((found, end)) => {
                    parts.push(found);
                    at = end;
                }
                None => {
                    parts.push(self.function.resolve(scalars[at]));
                    at += 1;
                }
            }
        }
        if parts.len() < scalars.len() {
            self.function.set_inputs(id, &parts);
        }
    }

    /// Returns the lanes of a vector that is put together.
    fn scalars(&mut self, id: ValueId) -> Option<Vec<ValueId>> {
        let mut scalars = Vec::new();
        for index in 0..self.function.inputs(id).len() {
            let part = self.function.input(id, index);
            let lanes = self.function.lanes(part);
            if lanes > 64 {
                return None;
            }
            for number in 0..lanes {
                scalars.push(self.lane(part, number as u8));
            }
        }
        Some(scalars)
    }

    fn lane(&mut self, vector: ValueId, number: u8) -> ValueId {
        let (block, address) = (self.function.values[vector].block, self.function.values[vector].address);
        let position = self.positions.get(&vector).copied();
        let id = crate::ir::shader::vector::lane(self.function, block, address, vector, number);
        if let Some(position) = position {
            self.positions.entry(id).or_insert(position);
        }
        id
    }

    /// Returns a vector with these lanes, if there is a good one.
    fn pack(&mut self, scalars: &[ValueId], depth: usize) -> Option<ValueId> {
        let scalars: Vec<ValueId> = scalars.iter().map(|id| self.function.resolve(*id)).collect();
        if let Some(known) = self.known.get(&scalars) {
            return Some(self.function.resolve(*known));
        }
        let first = *scalars.first()?;
        let is_constant = |id: &ValueId| matches!(self.function.op(*id), Op::Constant(_) | Op::Undefined);
        let is_from_one = |id: &ValueId| {
            source(self.function, *id)
                .is_some_and(|found| Some(found.0) == source(self.function, first).map(|found| found.0))
        };
        let is_splat = scalars.iter().all(|id| *id == first);
        if is_splat || scalars.iter().all(is_constant) || scalars.iter().all(is_from_one) {
            return Some(self.gathered(&scalars));
        }
        if depth > MAX_DEPTH {
            return None;
        }
        let op = self.function.op(first);
        let is_alike = scalars.iter().all(|id| {
            self.function.op(*id) == op
                && self.function.width(*id) == self.function.width(first)
                && self.function.lanes(*id) == 1
                && self.function.values[*id].is_precise == self.function.values[first].is_precise
                && self.function.inputs(*id).len() == self.function.inputs(first).len()
        });
        if !is_alike {
            return None;
        }
        let found = match op {
            Op::Phi => self.phi(&scalars, depth),
            op if is_lanewise(op) => self.operation(op, &scalars, depth),
            Op::Shader(op) if self.vectors.are_split && is_lanewise_exchange(op) => {
                self.exchange(op, &scalars, depth)
            }
            _ => None,
        }?;
        self.known.insert(scalars, found);
        Some(found)
    }

    fn gathered(&mut self, scalars: &[ValueId]) -> ValueId {
        let last =
            scalars.iter().filter_map(|id| self.positions.get(id)).max_by_key(|found| found.1).copied();
        let block =
            scalars.iter().map(|id| self.function.values[*id].block).max_by_key(|block| block.number());
        let block = block.unwrap_or(BlockId::ENTRY);
        let id = gather(self.function, block, crate::ir::NO_ADDRESS, scalars);
        if let Some(position) = last {
            self.positions.entry(id).or_insert(position);
        }
        id
    }

    /// Packs a pure operation, lane by lane.
    fn operation(&mut self, op: Op, scalars: &[ValueId], depth: usize) -> Option<ValueId> {
        let first = scalars[0];
        let count = self.function.inputs(first).len();
        let mut columns: Vec<Vec<ValueId>> = (0..count)
            .map(|index| scalars.iter().map(|id| self.function.input(*id, index)).collect())
            .collect();
        if is_commutative(op) && count >= 2 {
            self.align(&mut columns);
        }
        // A vector of conditions has no form that all versions of the language know.
        let is_shared = |column: &[ValueId]| column.iter().all(|id| *id == column[0]);
        if op == Op::Select && !is_shared(&columns[0]) {
            return None;
        }
        let mut inputs = Vec::with_capacity(count);
        for column in &columns {
            inputs.push(self.pack(column, depth + 1)?);
        }
        let lanes = scalars.len() as u16;
        if inputs.iter().all(|input| self.function.lanes(*input) == 1) {
            return None;
        }
        let last =
            scalars.iter().max_by_key(|id| (self.positions.get(*id).map(|found| found.1), id.number()))?;
        let (block, address) = (self.function.values[*last].block, self.function.values[first].address);
        let width = self.function.width(first);
        let found = self.function.raw(op, width, block, address, &inputs);
        self.function.with_lanes(found, lanes);
        self.function.values[found].is_precise = self.function.values[first].is_precise;
        self.positions.insert(found, *self.positions.get(last)?);
        self.share(scalars, found);
        Some(found)
    }

    /// Packs an operation that exchanges values with other invocations, lane by lane: the first of them becomes that of all
    /// lanes. The others must follow in the order of lanes, in the same block, with no changes of memory between.
    fn exchange(&mut self, op: ShaderOp, scalars: &[ValueId], depth: usize) -> Option<ValueId> {
        let first = scalars[0];
        let &(block, start) = self.positions.get(&first)?;
        let places: Vec<Position> =
            scalars.iter().map(|id| self.positions.get(id).copied()).collect::<Option<_>>()?;
        if !places.windows(2).all(|pair| pair[0].1 < pair[1].1) || places.iter().any(|place| place.0 != block)
        {
            return None;
        }
        let effects = &self.function.blocks[block].effects;
        let at = effects.iter().position(|effect| *effect == first)?;
        let end = effects.iter().position(|effect| Some(effect) == scalars.last())?;
        if effects.get(at..end)?.iter().any(|effect| self.function.is_barrier(*effect)) {
            return None;
        }
        let count = self.function.inputs(first).len();
        let mut inputs = Vec::with_capacity(count);
        for index in 0..count {
            let column: Vec<ValueId> = scalars.iter().map(|id| self.function.input(*id, index)).collect();
            let is_early = |id: &ValueId| {
                let place = self.positions.get(id);
                place.is_none_or(|place| place.0 != block || place.1 < start)
            };
            if !column.iter().all(is_early) {
                return None;
            }
            if op.input(index) == op.input(0) {
                inputs.push(self.pack(&column, depth + 1)?);
            } else if column.iter().all(|id| self.is_same_number(*id, column[0])) {
                inputs.push(column[0]);
            } else {
                return None;
            }
        }
        if self.function.lanes(inputs[0]) as usize != scalars.len() {
            return None;
        }
        let (width, address) = (self.function.width(first), self.function.values[first].address);
        let found = self.function.raw(Op::Shader(op), width, block, address, &inputs);
        self.function.with_lanes(found, scalars.len() as u16);
        self.function.values[found].is_precise = self.function.values[first].is_precise;
        self.function.blocks[block].effects.insert(at, found);
        self.positions.insert(found, (block, start));
        for (number, &scalar) in (0..).zip(scalars) {
            let lane = self.lane(found, number);
            self.function.replace(scalar, lane);
        }
        Some(found)
    }

    fn is_same_number(&self, a: ValueId, b: ValueId) -> bool {
        let (a, b) = (self.function.resolve(a), self.function.resolve(b));
        a == b || self.function.number(a).is_some() && self.function.number(a) == self.function.number(b)
    }

    /// Makes lanes of a vector of scalars that are available no earlier.
    fn share(&mut self, scalars: &[ValueId], vector: ValueId) {
        let all: Vec<Option<Position>> = scalars.iter().map(|id| self.positions.get(id).copied()).collect();
        if all.iter().any(|position| *position != all[0]) || all[0].is_none() {
            return;
        }
        for (number, &scalar) in (0..).zip(scalars) {
            if self.function.op(scalar) != Op::Phi
                || self.function.values[scalar].block == self.function.values[vector].block
            {
                let lane = self.lane(vector, number);
                if lane != scalar {
                    self.function.replace(scalar, lane);
                }
            }
        }
    }

    /// Exchanges inputs of lanes so that the first inputs of all lanes are alike.
    fn align(&self, columns: &mut [Vec<ValueId>]) {
        let [left, right, ..] = columns else { return };
        for index in 1..left.len() {
            let likeness = |a: ValueId, b: ValueId| self.likeness(a, b);
            let straight = likeness(left[0], left[index]) + likeness(right[0], right[index]);
            let crossed = likeness(left[0], right[index]) + likeness(right[0], left[index]);
            if crossed > straight {
                std::mem::swap(&mut left[index], &mut right[index]);
            }
        }
    }

    /// Returns how much alike two values are.
    fn likeness(&self, a: ValueId, b: ValueId) -> u32 {
        let function = &self.function;
        let (from_a, from_b) = (source(function, a), source(function, b));
        if a == b || function.number(a).is_some() && function.number(b).is_some() {
            3
        } else if from_a.is_some() && from_a.map(|found| found.0) == from_b.map(|found| found.0) {
            4
        } else {
            u32::from(from_a.is_none() && from_b.is_none() && function.op(a) == function.op(b)) * 2
        }
    }

    /// Packs phis of one block.
    fn phi(&mut self, scalars: &[ValueId], depth: usize) -> Option<ValueId> {
        let first = scalars[0];
        let block = self.function.values[first].block;
        let mut distinct = scalars.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let is_together = scalars.iter().all(|id| self.function.values[*id].block == block);
        if !is_together || distinct.len() != scalars.len() {
            return None;
        }
        if distinct != scalars {
            // In the order of the code, whichever vector is found first, so that all variables agree.
            let whole = self.pack(&distinct, depth)?;
            let lane_of = |id: &ValueId| distinct.iter().position(|other| other == id);
            let lanes: Vec<ValueId> =
                scalars.iter().filter_map(lane_of).map(|number| self.lane(whole, number as u8)).collect();
            return Some(self.gathered(&lanes));
        }
        let (width, address) = (self.function.width(first), self.function.values[first].address);
        let found = self.function.raw(Op::Phi, width, block, address, &[]);
        self.function.with_lanes(found, scalars.len() as u16);
        self.function.blocks[block].phis.push(found);
        self.positions.insert(found, (block, 0));
        // Its inputs may depend on it.
        self.known.insert(scalars.to_vec(), found);
        let columns: Vec<Vec<ValueId>> = (0..self.function.inputs(first).len())
            .map(|index| scalars.iter().map(|id| self.function.input(*id, index)).collect())
            .collect();
        self.share(scalars, found);
        let mut inputs = Vec::new();
        for column in columns {
            let packed = self.pack(&column, depth + 1);
            let input = packed.unwrap_or_else(|| self.gathered(&column));
            inputs.push(self.spread(input, scalars.len() as u16));
        }
        self.function.set_inputs(found, &inputs);
        Some(found)
    }

    /// Returns a vector of a scalar in all lanes.
    fn spread(&mut self, id: ValueId, lanes: u16) -> ValueId {
        if self.function.lanes(id) == lanes {
            return id;
        }
        let value = self.function.values[id];
        let parts = vec![id; usize::from(lanes)];
        let spread = self.function.raw(Op::Vector, value.width, value.block, value.address, &parts);
        if let Some(position) = self.positions.get(&id).copied() {
            self.positions.insert(spread, position);
        }
        self.function.with_lanes(spread, lanes)
    }
}

fn is_commutative(op: Op) -> bool {
    op.is_commutative()
        || matches!(
            op,
            Op::Shader(
                ShaderOp::MultiplyAdd
                    | ShaderOp::FloatMin
                    | ShaderOp::FloatMax
                    | ShaderOp::SignedMin
                    | ShaderOp::SignedMax
                    | ShaderOp::UnsignedMin
                    | ShaderOp::UnsignedMax
            )
        )
}

/// Returns whether an operation does the same in every lane.
pub fn is_lanewise(op: Op) -> bool {
    match op {
        Op::Copy | Op::Vector | Op::Phi => false,
        Op::Shader(shader) => {
            let is_number = |kind| {
                matches!(
                    kind,
                    OperandKind::Float | OperandKind::Signed | OperandKind::Unsigned | OperandKind::Bool
                )
            };
            !op.is_effect()
                && is_number(shader.result())
                && shader.input_count() > 0
                && (0..shader.input_count()).all(|index| is_number(shader.input(index)))
                && !is_of_vectors(shader)
        }
        op => OPERATORS.iter().any(|row| row.0 == op && row.2 != Widths::Leaf),
    }
}

/// Returns whether an operation exchanges values with other invocations, lane by lane.
fn is_lanewise_exchange(op: ShaderOp) -> bool {
    matches!(
        op,
        ShaderOp::DerivativeXCoarse
            | ShaderOp::DerivativeYCoarse
            | ShaderOp::DerivativeXFine
            | ShaderOp::DerivativeYFine
            | ShaderOp::WaveReadLaneAt
            | ShaderOp::WaveReadLaneFirst
            | ShaderOp::WaveReduce(..)
            | ShaderOp::WavePrefix(..)
            | ShaderOp::QuadReadLaneAt
            | ShaderOp::QuadRead(_)
    )
}

/// Returns whether an operation combines the lanes of a vector, makes several lanes of a number, or is written as a function
/// for numbers.
fn is_of_vectors(op: ShaderOp) -> bool {
    matches!(
        op,
        ShaderOp::Dot
            | ShaderOp::Normalize
            | ShaderOp::Length
            | ShaderOp::Cross
            | ShaderOp::MakeDouble
            | ShaderOp::SplitDouble
            | ShaderOp::Dot2Add
            | ShaderOp::NonUniform
            | ShaderOp::IsResident
            | ShaderOp::MaskedSumOfDifferences
            | ShaderOp::InsertBits
            | ShaderOp::ExtractBits(_)
            | ShaderOp::MultiplyHigh(_)
            | ShaderOp::LeadingZeros
            | ShaderOp::LeadingSigns
            | ShaderOp::PackClamp(_)
    )
}

/// Returns the lanes that a value selects of another one, if it does.
pub fn selection(function: &Function, id: ValueId) -> Option<(ValueId, Lanes)> {
    match function.op(id) {
        Op::Lanes(lanes) => Some((function.input(id, 0), lanes)),
        _ => None,
    }
}
