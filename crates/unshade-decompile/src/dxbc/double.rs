//! Instructions that compute with doubles: each is two components of a register, the low half first.
//!
//! Where only one side is a double, the first double belongs to the first component that is written or to the first pair,
//! the second one to the next component or the second pair: `dlt r0.yz` compares the first doubles into `y`.

use super::lifter::Lifter;
use super::sources::{Numbers, used_components};
use unshade_dxbc::Instruction;
use unshade_dxbc::operand::Operand;
use unshade_ir::{Lanes, Op, ShaderOp, ValueId};

/// What an instruction computes.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// Doubles from doubles.
    Doubles(Op),
    /// A mask from two doubles; whether they are exchanged.
    Compare(Op, bool),
    /// Words from doubles.
    FromDouble(Op),
    /// Doubles from words, and how the modifiers of these are read.
    ToDouble(Op, Numbers),
    /// One of two doubles, by a word.
    Select,
}

/// The instructions, by mnemonic.
const RULES: [(&str, Rule); 19] = [
    ("dadd", Rule::Doubles(Op::FloatAdd)),
    ("ddiv", Rule::Doubles(Op::FloatDiv)),
    ("deq", Rule::Compare(Op::FloatEqual, false)),
    ("dfma", Rule::Doubles(Op::Shader(ShaderOp::Fma))),
    ("dge", Rule::Compare(Op::FloatLessEqual, true)),
    ("dlt", Rule::Compare(Op::FloatLess, false)),
    ("dmax", Rule::Doubles(Op::Shader(ShaderOp::FloatMax))),
    ("dmin", Rule::Doubles(Op::Shader(ShaderOp::FloatMin))),
    ("dmov", Rule::Doubles(Op::Copy)),
    ("dmovc", Rule::Select),
    ("dmul", Rule::Doubles(Op::FloatMul)),
    ("dne", Rule::Compare(Op::FloatNotEqual, false)),
    ("drcp", Rule::Doubles(Op::Shader(ShaderOp::Reciprocal))),
    ("dtof", Rule::FromDouble(Op::FloatConvert)),
    ("dtoi", Rule::FromDouble(Op::Shader(ShaderOp::FloatToSigned))),
    ("dtou", Rule::FromDouble(Op::Shader(ShaderOp::FloatToUnsigned))),
    ("ftod", Rule::ToDouble(Op::FloatConvert, Numbers::Float)),
    ("itod", Rule::ToDouble(Op::SignedToFloat, Numbers::Integer)),
    ("utod", Rule::ToDouble(Op::UnsignedToFloat, Numbers::Integer)),
];

impl Lifter<'_> {
    /// Lifts an instruction that computes with doubles. Returns `None` if it is none.
    pub(super) fn compute_doubles(&mut self, mnemonic: &str, instruction: &Instruction) -> Option<()> {
        let (_, rule) = RULES.iter().find(|row| row.0 == mnemonic)?;
        let [target, sources @ ..] = &instruction.operands[..] else { return None };
        let components = used_components(target);
        let mut scalars = Vec::new();
        match rule {
            Rule::Compare(..) | Rule::FromDouble(_) => {
                for position in 0..components.len() as u8 {
                    let value = self.word_of_doubles(*rule, sources, position & 1)?;
                    scalars.push(self.saturated(instruction, value));
                }
            }
            Rule::Doubles(_) | Rule::ToDouble(..) | Rule::Select => {
                for pair in components.chunks(2) {
                    let value = self.double_result(*rule, sources, pair[0] / 2)?;
                    let value = self.saturated(instruction, value);
                    scalars.extend(self.halves(value).into_iter().take(pair.len()));
                }
            }
        }
        self.write_scalars(target, &components, &scalars);
        Some(())
    }

    fn saturated(&mut self, instruction: &Instruction, value: ValueId) -> ValueId {
        self.function().values[value].is_precise |= instruction.precise() != 0;
        if !instruction.is_saturated() {
            return value;
        }
        let width = self.function().width(value);
        self.lanewise(Op::Shader(ShaderOp::Saturate), width, &[value])
    }

    /// Returns a word that is computed from the doubles at a position.
    fn word_of_doubles(&mut self, rule: Rule, sources: &[Operand], position: u8) -> Option<ValueId> {
        let mut inputs: Vec<ValueId> =
            sources.iter().map(|operand| self.read_double(operand, position)).collect();
        match (rule, inputs.len()) {
            (Rule::Compare(op, is_swapped), 2) => {
                if is_swapped {
                    inputs.reverse();
                }
                let condition = self.add(op, 1, 1, &inputs);
                Some(self.mask(condition))
            }
            (Rule::FromDouble(op), 1) => Some(self.add(op, 32, 1, &inputs)),
            _ => None,
        }
    }

    /// Returns the double that is computed at a position.
    fn double_result(&mut self, rule: Rule, sources: &[Operand], position: u8) -> Option<ValueId> {
        match (rule, sources) {
            (Rule::Doubles(Op::Copy), [source]) => Some(self.read_double(source, position)),
            (Rule::Doubles(op), _) => {
                let inputs: Vec<ValueId> =
                    sources.iter().map(|operand| self.read_double(operand, position)).collect();
                Some(self.add(op, 64, 1, &inputs))
            }
            (Rule::ToDouble(op, numbers), [source]) => {
                let input = self.read(source, &[position], numbers);
                Some(self.add(op, 64, 1, &[input]))
            }
            (Rule::Select, [condition, yes, no]) => {
                let condition = self.conditions(condition, &[position]);
                let [yes, no] = [yes, no].map(|operand| self.read_double(operand, position));
                Some(self.add(Op::Select, 64, 1, &[condition, yes, no]))
            }
            _ => None,
        }
    }

    /// Reads the double at a position, with its modifiers.
    fn read_double(&mut self, operand: &Operand, position: u8) -> ValueId {
        let positions = [2 * position, 2 * position + 1];
        let scalars = self.scalars(operand, &positions);
        let value = self.whole(scalars[0], scalars[1]);
        self.modified(operand, value, Numbers::Float)
    }

    /// Returns the double with two halves.
    fn whole(&mut self, low: ValueId, high: ValueId) -> ValueId {
        let function = &self.builder.function;
        if let (Some(low), Some(high)) = (function.number(low), function.number(high)) {
            return self.constant(high << 32 | low, 64);
        }
        let half = |value: ValueId, number: u8| {
            let split = function.input(value, 0);
            let is_half = function.op(value) == Op::Lanes(Lanes::one(number))
                && function.op(split) == Op::Shader(ShaderOp::SplitDouble);
            is_half.then_some(split)
        };
        match (half(function.resolve(low), 0), half(function.resolve(high), 1)) {
            (Some(split), Some(other)) if split == other => function.input(split, 0),
            _ => self.add(Op::Shader(ShaderOp::MakeDouble), 64, 1, &[low, high]),
        }
    }

    /// Returns the halves of a double.
    fn halves(&mut self, value: ValueId) -> Vec<ValueId> {
        if let Some(bits) = self.function().number(value) {
            return vec![self.constant(bits & 0xffff_ffff, 32), self.constant(bits >> 32, 32)];
        }
        let split = self.add(Op::Shader(ShaderOp::SplitDouble), 32, 2, &[value]);
        self.lanes(split, 2)
    }
}
