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

use super::lifter::Lifter;
use super::sources::Numbers;
use unshade_dxbc::Instruction;
use unshade_dxbc::operand::Operand;
use unshade_ir::{Lanes, Op, ValueId};

impl Lifter<'_> {
    /// Returns the mask of conditions.
    pub(super) fn mask(&mut self, condition: ValueId) -> ValueId {
        self.lanewise(Op::SignExtend, 32, &[condition])
    }

    /// Returns the condition that a scalar mask was made of; `None` if it is no mask.
    fn truth(&mut self, scalar: ValueId) -> Option<ValueId> {
        let function = &self.builder.function;
        let scalar = function.resolve(scalar);
        let (source, lane) = match function.op(scalar) {
            Op::Lanes(lanes) if lanes == Lanes::one(lanes.numbers()[0]) => {
                (function.input(scalar, 0), lanes.numbers()[0])
            }
            _ => (scalar, 0),
        };
        match function.op(source) {
            Op::SignExtend if function.width(function.input(source, 0)) == 1 => {
                let condition = function.input(source, 0);
                Some(self.lane(condition, lane))
            }
            Op::Constant(0) => Some(self.constant(0, 1)),
            Op::Constant(0xffff_ffff) => Some(self.constant(1, 1)),
            _ => None,
        }
    }

    /// Returns the conditions that all of these masks were made of; `None` if one is no mask, or all are constants.
    pub(super) fn truths(&mut self, scalars: &[ValueId]) -> Option<ValueId> {
        let conditions: Option<Vec<ValueId>> = scalars.iter().map(|scalar| self.truth(*scalar)).collect();
        let conditions = conditions?;
        let function = &self.builder.function;
        let is_constant = conditions.iter().all(|condition| function.number(*condition).is_some());
        if is_constant { None } else { Some(self.gather(&conditions)) }
    }

    /// Returns whether values are not zero.
    pub(super) fn not_zero(&mut self, scalars: &[ValueId]) -> ValueId {
        if let Some(conditions) = self.truths(scalars) {
            return conditions;
        }
        let value = self.gather(scalars);
        let zero = self.number(0);
        self.lanewise(Op::NotEqual, 1, &[value, zero])
    }

    /// Returns the condition of an instruction that tests an operand.
    pub(super) fn tested(&mut self, instruction: &Instruction, operand: &Operand) -> ValueId {
        let scalars = self.scalars(operand, &[0]);
        if instruction.tests_not_zero() {
            return self.not_zero(&scalars);
        }
        match self.truths(&scalars) {
            Some(condition) => self.add(Op::BoolNot, 1, 1, &[condition]),
            None => {
                let zero = self.number(0);
                self.add(Op::Equal, 1, 1, &[scalars[0], zero])
            }
        }
    }

    /// Returns the negation of integers.
    pub(super) fn negated(&mut self, value: ValueId) -> ValueId {
        let (width, lanes) = (self.function().width(value), self.function().lanes(value));
        let scalars = self.lanes(value, usize::from(lanes));
        match self.truths(&scalars) {
            Some(conditions) if width == 32 => self.lanewise(Op::ZeroExtend, 32, &[conditions]),
            _ => self.lanewise(Op::Neg, width, &[value]),
        }
    }

    /// Returns a bitwise operation, or the operation on conditions that it is; `None` if its inputs are no masks.
    pub(super) fn bitwise(
        &mut self,
        mnemonic: &str,
        instruction: &Instruction,
        positions: &[u8],
    ) -> Option<ValueId> {
        let sources = instruction.operands.get(1..)?;
        if sources.iter().any(|operand| operand.is_negated() || operand.is_absolute()) {
            return None;
        }
        let scalars: Vec<Vec<ValueId>> =
            sources.iter().map(|operand| self.scalars(operand, positions)).collect();
        let first = self.truths(scalars.first()?);
        let second = scalars.get(1).and_then(|scalars| self.truths(scalars));
        let condition = match (mnemonic, first, second) {
            ("not", Some(first), _) => self.lanewise(Op::BoolNot, 1, &[first]),
            ("and", Some(first), Some(second)) => self.lanewise(Op::BoolAnd, 1, &[first, second]),
            ("or", Some(first), Some(second)) => self.lanewise(Op::BoolOr, 1, &[first, second]),
            ("xor" | "ine", Some(first), Some(second)) => self.lanewise(Op::BoolXor, 1, &[first, second]),
            ("and", Some(condition), None) => return Some(self.selected(condition, &scalars[1])),
            ("and", None, Some(condition)) => return Some(self.selected(condition, &scalars[0])),
            ("ine", Some(condition), None) if self.is_zero(&scalars[1]) => condition,
            ("ieq", Some(condition), None) if self.is_zero(&scalars[1]) => {
                self.lanewise(Op::BoolNot, 1, &[condition])
            }
            ("ineg", Some(condition), _) => return Some(self.lanewise(Op::ZeroExtend, 32, &[condition])),
            _ => return None,
        };
        Some(self.mask(condition))
    }

    /// Returns values where a condition holds, and zero elsewhere.
    fn selected(&mut self, condition: ValueId, scalars: &[ValueId]) -> ValueId {
        let value = self.gather(scalars);
        let zero = self.number(0);
        self.lanewise(Op::Select, 32, &[condition, value, zero])
    }

    fn is_zero(&self, scalars: &[ValueId]) -> bool {
        scalars.iter().all(|scalar| self.builder.function.number(*scalar) == Some(0))
    }

    /// Lifts `movc`.
    pub(super) fn conditional_move(
        &mut self,
        instruction: &Instruction,
        positions: &[u8],
    ) -> Option<ValueId> {
        let [_, condition, yes, no] = &instruction.operands[..] else { return None };
        let condition = self.scalars(condition, positions);
        let condition = self.not_zero(&condition);
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
            let condition = self.scalars(condition, &positions);
            let condition = self.not_zero(&condition);
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
