//! Instructions that compute: one table has most of them, the rest have functions of their own.

use super::lifter::Lifter;
use super::sources::{Numbers, POSITIONS, used_components};
use unshade_dxbc::Instruction;
use unshade_dxbc::operand::{Operand, OperandKind};
use unshade_ir::shader::Signedness;
use unshade_ir::{Op, ShaderOp, ValueId};

/// What an instruction computes.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// An operator of floats, lane by lane.
    Float(Op),
    /// An operator of integers, lane by lane.
    Integer(Op),
    /// A comparison of floats; whether the operands are exchanged.
    CompareFloats(Op, bool),
    /// A comparison of integers; whether the operands are exchanged.
    CompareIntegers(Op, bool),
    /// A dot product of so many components.
    Dot(u8),
    /// A derivative: it depends on other pixels.
    Derivative(ShaderOp),
}

use Rule::{CompareFloats, CompareIntegers, Derivative, Dot, Float, Integer};

/// Instructions with one result, by mnemonic.
const RULES: &[(&str, Rule)] = &[
    ("add", Float(Op::FloatAdd)),
    ("and", Integer(Op::And)),
    ("bfi", Integer(Op::Shader(ShaderOp::InsertBits))),
    ("bfrev", Integer(Op::Shader(ShaderOp::ReverseBits))),
    ("countbits", Integer(Op::Shader(ShaderOp::CountBits))),
    ("deriv_rtx", Derivative(ShaderOp::DerivativeXCoarse)),
    ("deriv_rtx_coarse", Derivative(ShaderOp::DerivativeXCoarse)),
    ("deriv_rtx_fine", Derivative(ShaderOp::DerivativeXFine)),
    ("deriv_rty", Derivative(ShaderOp::DerivativeYCoarse)),
    ("deriv_rty_coarse", Derivative(ShaderOp::DerivativeYCoarse)),
    ("deriv_rty_fine", Derivative(ShaderOp::DerivativeYFine)),
    ("div", Float(Op::FloatDiv)),
    ("dp2", Dot(2)),
    ("dp3", Dot(3)),
    ("dp4", Dot(4)),
    ("eq", CompareFloats(Op::FloatEqual, false)),
    ("exp", Float(Op::Shader(ShaderOp::Exp2))),
    ("f16tof32", Integer(Op::Shader(ShaderOp::HalfToFloat))),
    ("f32tof16", Float(Op::Shader(ShaderOp::FloatToHalf))),
    ("firstbit_hi", Integer(Op::Shader(ShaderOp::LeadingZeros))),
    ("firstbit_lo", Integer(Op::Shader(ShaderOp::FirstBitLow))),
    ("firstbit_shi", Integer(Op::Shader(ShaderOp::LeadingSigns))),
    ("frc", Float(Op::Shader(ShaderOp::Fraction))),
    ("ftoi", Float(Op::Shader(ShaderOp::FloatToSigned))),
    ("ftou", Float(Op::Shader(ShaderOp::FloatToUnsigned))),
    ("ge", CompareFloats(Op::FloatLessEqual, true)),
    ("iadd", Integer(Op::Add)),
    ("ibfe", Integer(Op::Shader(ShaderOp::ExtractBits(Signedness::Signed)))),
    ("ieq", CompareIntegers(Op::Equal, false)),
    ("ige", CompareIntegers(Op::SignedLessEqual, true)),
    ("ilt", CompareIntegers(Op::SignedLess, false)),
    ("imax", Integer(Op::Shader(ShaderOp::SignedMax))),
    ("imin", Integer(Op::Shader(ShaderOp::SignedMin))),
    ("ine", CompareIntegers(Op::NotEqual, false)),
    ("ineg", Integer(Op::Neg)),
    ("ishl", Integer(Op::Shl)),
    ("ishr", Integer(Op::Sar)),
    ("itof", Integer(Op::SignedToFloat)),
    ("log", Float(Op::Shader(ShaderOp::Log2))),
    ("lt", CompareFloats(Op::FloatLess, false)),
    ("mad", Float(Op::Shader(ShaderOp::MultiplyAdd))),
    ("max", Float(Op::Shader(ShaderOp::FloatMax))),
    ("min", Float(Op::Shader(ShaderOp::FloatMin))),
    ("msad", Integer(Op::Shader(ShaderOp::MaskedSumOfDifferences))),
    ("mul", Float(Op::FloatMul)),
    ("ne", CompareFloats(Op::FloatNotEqual, false)),
    ("not", Integer(Op::Not)),
    ("or", Integer(Op::Or)),
    ("rcp", Float(Op::Shader(ShaderOp::Reciprocal))),
    ("round_ne", Float(Op::Shader(ShaderOp::RoundEven))),
    ("round_ni", Float(Op::Shader(ShaderOp::Floor))),
    ("round_pi", Float(Op::Shader(ShaderOp::Ceiling))),
    ("round_z", Float(Op::Shader(ShaderOp::Truncate))),
    ("rsq", Float(Op::Shader(ShaderOp::ReciprocalSqrt))),
    ("sqrt", Float(Op::FloatSqrt)),
    ("ubfe", Integer(Op::Shader(ShaderOp::ExtractBits(Signedness::Unsigned)))),
    ("uge", CompareIntegers(Op::LessEqual, true)),
    ("ult", CompareIntegers(Op::Less, false)),
    ("umax", Integer(Op::Shader(ShaderOp::UnsignedMax))),
    ("umin", Integer(Op::Shader(ShaderOp::UnsignedMin))),
    ("ushr", Integer(Op::Shr)),
    ("utof", Integer(Op::UnsignedToFloat)),
    ("xor", Integer(Op::Xor)),
];

impl Lifter<'_> {
    /// Lifts an instruction that computes. Returns `None` if it is none, or has not the operands that it must have.
    pub(super) fn compute(&mut self, mnemonic: &str, instruction: &Instruction) -> Option<()> {
        let target = instruction.operands.first()?;
        let positions = used_components(target);
        if let Ok(found) = RULES.binary_search_by(|row| row.0.cmp(mnemonic)) {
            let value = self.by_rule(RULES[found].1, instruction, &positions)?;
            self.write_result(instruction, target, value);
            return Some(());
        }
        match mnemonic {
            "mov" => {
                let source = instruction.operands.get(1)?;
                let scalars = self.scalars(source, &positions);
                if !source.is_negated() && !source.is_absolute() && !instruction.is_saturated() {
                    self.write_scalars(target, &positions, &scalars);
                } else {
                    let value = self.gather(&scalars);
                    let value = self.modified(source, value, Numbers::Float);
                    self.write_result(instruction, target, value);
                }
            }
            "movc" => {
                let value = self.conditional_move(instruction, &positions)?;
                self.write_result(instruction, target, value);
            }
            "swapc" => self.conditional_swap(instruction)?,
            "imad" | "umad" => {
                let [_, a, b, c] = &instruction.operands[..] else { return None };
                let [a, b, c] = [a, b, c].map(|operand| self.read(operand, &positions, Numbers::Integer));
                let product = self.lanewise(Op::Mul, 32, &[a, b]);
                let sum = self.lanewise(Op::Add, 32, &[product, c]);
                self.write_result(instruction, target, sum);
            }
            "sincos" | "imul" | "umul" | "udiv" | "uaddc" | "usubb" => self.pair(mnemonic, instruction)?,
            _ => return None,
        }
        Some(())
    }

    fn by_rule(&mut self, rule: Rule, instruction: &Instruction, positions: &[u8]) -> Option<ValueId> {
        let sources = instruction.operands.get(1..)?;
        let numbers = match rule {
            Float(_) | CompareFloats(..) | Dot(_) | Derivative(_) => Numbers::Float,
            Integer(_) | CompareIntegers(..) => Numbers::Integer,
        };
        let op = match rule {
            Dot(count) => return self.dot(sources, count, instruction),
            Float(Op::FloatAdd) => {
                return self.sum(sources, positions, numbers, [Op::FloatAdd, Op::FloatSub]);
            }
            Integer(Op::Add) => return self.sum(sources, positions, numbers, [Op::Add, Op::Sub]),
            Float(op) | Integer(op) | CompareFloats(op, _) | CompareIntegers(op, _) => op,
            Derivative(op) => Op::Shader(op),
        };
        let mut inputs: Vec<ValueId> =
            sources.iter().map(|operand| self.read(operand, positions, numbers)).collect();
        let wanted = input_count(op);
        if inputs.len() != wanted {
            return None;
        }
        Some(match rule {
            CompareFloats(op, is_swapped) | CompareIntegers(op, is_swapped) => {
                if is_swapped {
                    inputs.reverse();
                }
                let condition = self.folded(op, &inputs).unwrap_or_else(|| self.lanewise(op, 1, &inputs));
                self.function().values[condition].is_precise = instruction.precise() != 0;
                self.mask(condition)
            }
            _ if op == Op::Shader(ShaderOp::MaskedSumOfDifferences) => self.each_lane(op, &inputs),
            _ => self.folded(op, &inputs).unwrap_or_else(|| self.lanewise(op, 32, &inputs)),
        })
    }

    /// Lifts an operation on each lane by itself: the language has it for numbers only.
    fn each_lane(&mut self, op: Op, inputs: &[ValueId]) -> ValueId {
        let lanes = inputs.iter().map(|input| self.function().lanes(*input)).max().unwrap_or(1);
        let scalars: Vec<ValueId> = (0..lanes)
            .map(|index| {
                let inputs: Vec<ValueId> =
                    inputs.iter().map(|input| self.lane(*input, index as u8)).collect();
                self.add(op, 32, 1, &inputs)
            })
            .collect();
        self.gather(&scalars)
    }

    /// Lifts a sum, or the difference that it is if an operand is negated.
    fn sum(
        &mut self,
        sources: &[Operand],
        positions: &[u8],
        numbers: Numbers,
        [sum, difference]: [Op; 2],
    ) -> Option<ValueId> {
        let [a, b] = sources else { return None };
        let (minuend, subtrahend) = match (a.is_negated(), b.is_negated()) {
            (false, true) => (a, b),
            (true, false) => (b, a),
            _ => {
                let inputs = [a, b].map(|operand| self.read(operand, positions, numbers));
                return Some(self.lanewise(sum, 32, &inputs));
            }
        };
        let scalars = self.scalars(subtrahend, positions);
        let value = self.gather(&scalars);
        let minuend = self.read(minuend, positions, numbers);
        // The negation of a mask is a number of its own.
        if numbers == Numbers::Integer && self.is_mask(value) {
            let negated = self.modified(subtrahend, value, numbers);
            return Some(self.lanewise(sum, 32, &[minuend, negated]));
        }
        let value = if subtrahend.is_absolute() {
            let op = if numbers == Numbers::Float { Op::FloatAbs } else { Op::Shader(ShaderOp::SignedAbs) };
            self.lanewise(op, 32, &[value])
        } else {
            value
        };
        Some(self.lanewise(difference, 32, &[minuend, value]))
    }

    fn dot(&mut self, sources: &[Operand], count: u8, instruction: &Instruction) -> Option<ValueId> {
        let [a, b] = sources else { return None };
        let positions = &POSITIONS[..usize::from(count)];
        let mut inputs = [a, b].map(|operand| self.read(operand, positions, Numbers::Float));
        // One vector is enough to say how many components there are.
        if inputs.iter().all(|input| self.builder.function.lanes(*input) == 1) {
            inputs[0] = self.broadcast(inputs[0], usize::from(count));
        }
        let value = self.shader(ShaderOp::Dot, 1, &inputs);
        self.function().values[value].is_precise = instruction.precise() != 0;
        Some(value)
    }

    /// Lifts an instruction with two results, of which one may be absent.
    fn pair(&mut self, mnemonic: &str, instruction: &Instruction) -> Option<()> {
        let [first, second, sources @ ..] = &instruction.operands[..] else { return None };
        let numbers = if mnemonic == "sincos" { Numbers::Float } else { Numbers::Integer };
        let mut results = Vec::new();
        for (target, is_first) in [(first, true), (second, false)] {
            if target.kind() == OperandKind::NULL {
                continue;
            }
            let positions = used_components(target);
            let inputs: Vec<ValueId> =
                sources.iter().map(|operand| self.read(operand, &positions, numbers)).collect();
            if inputs.len() != if mnemonic == "sincos" { 1 } else { 2 } {
                return None;
            }
            let op = match (mnemonic, is_first) {
                ("sincos", true) => Op::Shader(ShaderOp::Sine),
                ("sincos", false) => Op::Shader(ShaderOp::Cosine),
                ("imul", true) => Op::Shader(ShaderOp::MultiplyHigh(Signedness::Signed)),
                ("umul", true) => Op::Shader(ShaderOp::MultiplyHigh(Signedness::Unsigned)),
                ("imul" | "umul", false) => Op::Mul,
                ("udiv", true) => Op::Udiv,
                ("udiv", false) => Op::Urem,
                ("uaddc", true) => Op::Add,
                ("usubb", true) => Op::Sub,
                ("uaddc", false) => Op::Carry,
                ("usubb", false) => Op::Less,
                _ => return None,
            };
            let value = if matches!(op, Op::Carry | Op::Less) {
                let bit = self.lanewise(op, 1, &inputs);
                self.lanewise(Op::ZeroExtend, 32, &[bit])
            } else {
                self.lanewise(op, 32, &inputs)
            };
            results.push((target, value));
        }
        for (target, value) in results {
            self.write_result(instruction, target, value);
        }
        Some(())
    }
}

/// Returns the number of inputs that an operator has.
fn input_count(op: Op) -> usize {
    match op {
        Op::Shader(op) => op.input_count(),
        Op::Neg | Op::Not | Op::FloatSqrt | Op::SignedToFloat | Op::UnsignedToFloat => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_names_instructions() {
        assert!(RULES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (mnemonic, rule) in RULES {
            let row = unshade_dxbc::opcode::TABLE.iter().find(|row| row.mnemonic == *mnemonic).unwrap();
            let sources = row.operand_letters().count() - row.destinations();
            let op = match *rule {
                Float(op) | Integer(op) | CompareFloats(op, _) | CompareIntegers(op, _) => op,
                Derivative(op) => Op::Shader(op),
                Dot(_) => Op::Shader(ShaderOp::Dot),
            };
            assert_eq!(input_count(op), sources, "{mnemonic}");
        }
    }
}
