//! Truth values: the machine has masks of 32 bits, all ones or zero; the language has booleans.
//!
//! A comparison is a value of one bit, and the mask [`Op::SignExtend`] of it. Where an instruction reads masks, their
//! bits are read instead:
//!
//! | instruction | value |
//! |---|---|
//! | condition: `movc`, `if`, `breakc` … | the bits; of other values `≠ 0` |
//! | `not`, `and`, `or`, `xor` of masks | the mask of [`Op::BoolNot`] and so on |
//! | `and` of a mask and `x` | `x` if the bits hold, otherwise 0 |
//! | `ine`, `ieq` of a mask and 0 | the mask of the bits, or of their contrary |
//! | `ineg` of a mask, or the negation of one as an integer | [`Op::ZeroExtend`] of the bits |
//!
//! What a register holds at a join is only known when all of a function is: [`refold`] then folds again, after it made
//! phis of bits of phis of masks.

use super::lifter::Lifter;
use super::sources::Numbers;
use unshade_dxbc::Instruction;
use unshade_dxbc::operand::Operand;
use unshade_ir::shader::vector;
use unshade_ir::{BlockId, Function, IdVec, Op, ValueId, ValueMap};

/// Where a value is added: the block, and the address of the instruction.
type At = (BlockId, u32);

/// Returns the conditions that masks were made of; `None` if they are no masks, or constants.
fn truths(function: &mut Function, at: At, value: ValueId) -> Option<ValueId> {
    if function.width(value) != 32 {
        return None;
    }
    let mut conditions = Vec::new();
    for lane in 0..function.lanes(value) {
        let scalar = vector::lane(function, at.0, at.1, value, u8::try_from(lane).ok()?);
        conditions.push(truth(function, at, scalar)?);
    }
    let is_constant = conditions.iter().all(|condition| function.number(*condition).is_some());
    if is_constant { None } else { Some(vector::gather(function, at.0, at.1, &conditions)) }
}

/// Returns the condition that a scalar mask was made of; `None` if it is no mask.
fn truth(function: &mut Function, at: At, scalar: ValueId) -> Option<ValueId> {
    let scalar = function.resolve(scalar);
    let (source, lane) = match function.op(scalar) {
        Op::Lanes(lanes) => (function.input(scalar, 0), lanes.numbers()[0]),
        _ => (scalar, 0),
    };
    match function.op(source) {
        Op::SignExtend if function.width(function.input(source, 0)) == 1 => {
            let condition = function.input(source, 0);
            Some(vector::lane(function, at.0, at.1, condition, lane))
        }
        Op::Constant(0) => Some(function.constant(0, 1)),
        Op::Constant(0xffff_ffff) => Some(function.constant(1, 1)),
        _ => None,
    }
}

fn is_zero(function: &Function, value: ValueId) -> bool {
    function.number(function.resolve(value)) == Some(0)
}

/// Adds a value that works lane by lane.
fn lanewise(function: &mut Function, at: At, op: Op, width: u8, inputs: &[ValueId]) -> ValueId {
    let lanes = inputs.iter().map(|input| function.lanes(*input)).max().unwrap_or(1);
    let value = function.add(op, width, at.0, at.1, inputs);
    function.with_lanes(value, lanes)
}

/// Returns what an operator computes from masks: a mask, or a condition if it is a comparison; `None` if it reads none.
fn folded(function: &mut Function, at: At, op: Op, inputs: &[ValueId]) -> Option<ValueId> {
    if !matches!(op, Op::And | Op::Or | Op::Xor | Op::Not | Op::Neg | Op::Equal | Op::NotEqual) {
        return None;
    }
    let first = truths(function, at, *inputs.first()?);
    let second = inputs.get(1).and_then(|input| truths(function, at, *input));
    let bits = match (op, first, second) {
        (Op::Not, Some(first), _) => lanewise(function, at, Op::BoolNot, 1, &[first]),
        (Op::And, Some(first), Some(second)) => lanewise(function, at, Op::BoolAnd, 1, &[first, second]),
        (Op::Or, Some(first), Some(second)) => lanewise(function, at, Op::BoolOr, 1, &[first, second]),
        (Op::Xor | Op::NotEqual, Some(first), Some(second)) => {
            lanewise(function, at, Op::BoolXor, 1, &[first, second])
        }
        (Op::And, Some(condition), None) => return Some(selected(function, at, condition, inputs[1])),
        (Op::And, None, Some(condition)) => return Some(selected(function, at, condition, inputs[0])),
        (Op::NotEqual, Some(condition), None) if is_zero(function, inputs[1]) => condition,
        (Op::Equal, Some(condition), None) if is_zero(function, inputs[1]) => {
            lanewise(function, at, Op::BoolNot, 1, &[condition])
        }
        (Op::Neg, Some(condition), _) => {
            return Some(lanewise(function, at, Op::ZeroExtend, 32, &[condition]));
        }
        _ => return None,
    };
    Some(match op {
        Op::Equal | Op::NotEqual => bits,
        _ => lanewise(function, at, Op::SignExtend, 32, &[bits]),
    })
}

/// Returns values where a condition holds, and zero elsewhere.
fn selected(function: &mut Function, at: At, condition: ValueId, value: ValueId) -> ValueId {
    let zero = function.constant(0, 32);
    lanewise(function, at, Op::Select, 32, &[condition, value, zero])
}

/// Folds the operators of a complete function again.
pub(super) fn refold(function: &mut Function) {
    phis_of_bits(function);
    for id in function.values.keys() {
        let value = function.values[id];
        if function.is_replaced(id) {
            continue;
        }
        let inputs: Vec<ValueId> =
            (0..function.inputs(id).len()).map(|index| function.input(id, index)).collect();
        if let Some(new) = folded(function, (value.block, value.address), value.op, &inputs)
            && function.lanes(new) == value.lanes
        {
            function.replace(id, new);
        }
    }
    function.settle();
}

/// Makes phis of bits of those that join masks.
fn phis_of_bits(function: &mut Function) {
    let phis: Vec<ValueId> = function.blocks.iter().flat_map(|block| block.phis.iter().copied()).collect();
    let masks = mask_phis(function, &phis);
    let mut bits: ValueMap<ValueId> = IdVec::filled(ValueId::NONE, function.values.len());
    let joined: Vec<ValueId> = phis.into_iter().filter(|phi| masks[*phi]).collect();
    for &phi in &joined {
        let (block, address) = (function.values[phi].block, function.values[phi].address);
        let new = function.raw(Op::Phi, 1, block, address, &[]);
        function.blocks[block].phis.push(new);
        bits[phi] = new;
    }
    for &phi in &joined {
        let block = function.values[phi].block;
        let mut inputs = Vec::new();
        for index in 0..function.inputs(phi).len() {
            let input = function.input(phi, index);
            let from = function.blocks[block].predecessors[index];
            let at = (from, function.values[phi].address);
            let known = bits.get(input).copied().filter(|bit| *bit != ValueId::NONE);
            let bit = known.or_else(|| truth(function, at, input)).unwrap_or_else(|| {
                function.raw(Op::Undefined, 1, BlockId::ENTRY, unshade_ir::NO_ADDRESS, &[])
            });
            inputs.push(bit);
        }
        function.set_inputs(bits[phi], &inputs);
        let address = function.values[phi].address;
        let mask = function.raw(Op::SignExtend, 32, block, address, &[bits[phi]]);
        function.replace(phi, mask);
    }
    function.settle();
}

/// Maximum number of rounds in which phis are found: those that join more of each other stay as they are.
const MAX_ROUNDS: usize = 64;

/// Finds the phis that only join masks, and at least one that is no constant.
fn mask_phis(function: &Function, phis: &[ValueId]) -> ValueMap<bool> {
    let mut masks = IdVec::filled(false, function.values.len());
    for &phi in phis {
        masks[phi] =
            function.width(phi) == 32 && function.lanes(phi) == 1 && !function.inputs(phi).is_empty();
    }
    let inputs = |phi: ValueId| (0..function.inputs(phi).len()).map(move |index| function.input(phi, index));
    // A phi that joins something else is none, and then those that join it are none.
    let mut rounds = 0;
    loop {
        rounds += 1;
        if rounds > MAX_ROUNDS {
            masks.fill(false);
        }
        let is_other = |phi: &&ValueId| {
            masks[**phi] && inputs(**phi).any(|input| !masks[input] && !is_mask(function, input))
        };
        let others: Vec<ValueId> = phis.iter().filter(is_other).copied().collect();
        if others.is_empty() {
            break;
        }
        for phi in others {
            masks[phi] = false;
        }
    }
    // Those that join only constants may as well be numbers.
    let mut has_bits = IdVec::filled(false, function.values.len());
    loop {
        let is_new = |phi: &&ValueId| {
            masks[**phi]
                && !has_bits[**phi]
                && inputs(**phi).any(|input| has_bits[input] || is_bits(function, input))
        };
        let new: Vec<ValueId> = phis.iter().filter(is_new).copied().collect();
        rounds += 1;
        if new.is_empty() {
            return has_bits;
        }
        if rounds > MAX_ROUNDS {
            has_bits.fill(false);
            return has_bits;
        }
        for phi in new {
            has_bits[phi] = true;
        }
    }
}

/// Returns whether a scalar is a mask of bits.
fn is_bits(function: &Function, value: ValueId) -> bool {
    let source = match function.op(value) {
        Op::Lanes(_) => function.input(value, 0),
        _ => value,
    };
    function.op(source) == Op::SignExtend && function.width(function.input(source, 0)) == 1
}

/// Returns whether a scalar is a mask, a constant one too.
fn is_mask(function: &Function, value: ValueId) -> bool {
    matches!(function.op(value), Op::Constant(0 | 0xffff_ffff) | Op::Undefined) || is_bits(function, value)
}

impl Lifter<'_> {
    /// Returns the mask of conditions.
    pub(super) fn mask(&mut self, condition: ValueId) -> ValueId {
        self.lanewise(Op::SignExtend, 32, &[condition])
    }

    /// Returns whether a value is a mask.
    pub(super) fn is_mask(&mut self, value: ValueId) -> bool {
        let at = (self.at(), self.address);
        truths(self.function(), at, value).is_some()
    }

    /// Returns what an operator computes from masks; `None` if it reads none.
    pub(super) fn folded(&mut self, op: Op, inputs: &[ValueId]) -> Option<ValueId> {
        let at = (self.at(), self.address);
        folded(self.function(), at, op, inputs)
    }

    /// Returns whether values are not zero.
    pub(super) fn not_zero(&mut self, value: ValueId) -> ValueId {
        self.compared_with_zero(Op::NotEqual, value)
    }

    fn compared_with_zero(&mut self, op: Op, value: ValueId) -> ValueId {
        let zero = self.number(0);
        let inputs = [value, zero];
        self.folded(op, &inputs).unwrap_or_else(|| self.lanewise(op, 1, &inputs))
    }

    /// Returns the condition of an instruction that tests an operand.
    pub(super) fn tested(&mut self, instruction: &Instruction, operand: &Operand) -> ValueId {
        let value = self.scalars(operand, &[0])[0];
        let op = if instruction.tests_not_zero() { Op::NotEqual } else { Op::Equal };
        self.compared_with_zero(op, value)
    }

    /// Reads a condition for each component.
    pub(super) fn conditions(&mut self, operand: &Operand, positions: &[u8]) -> ValueId {
        let scalars = self.scalars(operand, positions);
        let value = self.gather(&scalars);
        self.not_zero(value)
    }

    /// Returns the negation of integers.
    pub(super) fn negated(&mut self, value: ValueId) -> ValueId {
        let width = self.function().width(value);
        self.folded(Op::Neg, &[value]).unwrap_or_else(|| self.lanewise(Op::Neg, width, &[value]))
    }

    /// Lifts `movc`.
    pub(super) fn conditional_move(
        &mut self,
        instruction: &Instruction,
        positions: &[u8],
    ) -> Option<ValueId> {
        let [_, condition, yes, no] = &instruction.operands[..] else { return None };
        let condition = self.conditions(condition, positions);
        let yes = self.read(yes, positions, Numbers::Float);
        let no = self.read(no, positions, Numbers::Float);
        Some(self.lanewise(Op::Select, 32, &[condition, yes, no]))
    }

    /// Lifts `swapc`: the second value where the condition holds, and the first one elsewhere; then the other way round.
    pub(super) fn conditional_swap(&mut self, instruction: &Instruction) -> Option<()> {
        let [first, second, condition, a, b] = &instruction.operands[..] else { return None };
        let mut results = Vec::new();
        for (target, is_first) in [(first, true), (second, false)] {
            let positions = super::sources::used_components(target);
            let condition = self.conditions(condition, &positions);
            let a = self.read(a, &positions, Numbers::Float);
            let b = self.read(b, &positions, Numbers::Float);
            let [yes, no] = if is_first { [b, a] } else { [a, b] };
            results.push((target, self.lanewise(Op::Select, 32, &[condition, yes, no])));
        }
        for (target, value) in results {
            self.write_result(instruction, target, value);
        }
        Some(())
    }
}
