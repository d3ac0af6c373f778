//! Instructions that compute and sample.
//!
//! Sums, products and so on work component by component; of instructions that read one component, the swizzle repeats
//! it. The rest have functions of their own.

use super::lifter::{Lifter, components};
use unshade_dxbc::d3d9::Instruction;
use unshade_dxbc::d3d9::operand::{Operand, RegisterKind};
use unshade_ir::{Op, ShaderOp, ValueId};

/// Instructions that are one operator, component by component.
const OPERATORS: [(&str, Op); 16] = [
    ("abs", Op::FloatAbs),
    ("add", Op::FloatAdd),
    ("cos", Op::Shader(ShaderOp::Cosine)),
    ("dsx", Op::Shader(ShaderOp::DerivativeXCoarse)),
    ("dsy", Op::Shader(ShaderOp::DerivativeYCoarse)),
    ("exp", Op::Shader(ShaderOp::Exp2)),
    ("expp", Op::Shader(ShaderOp::Exp2)),
    ("frc", Op::Shader(ShaderOp::Fraction)),
    ("mad", Op::Shader(ShaderOp::MultiplyAdd)),
    ("max", Op::Shader(ShaderOp::FloatMax)),
    ("min", Op::Shader(ShaderOp::FloatMin)),
    ("mov", Op::Copy),
    ("mul", Op::FloatMul),
    ("sin", Op::Shader(ShaderOp::Sine)),
    ("sub", Op::FloatSub),
    ("trunc", Op::Shader(ShaderOp::Truncate)),
];

/// Instructions that take the magnitude of their first operand.
const MAGNITUDES: [(&str, ShaderOp); 4] = [
    ("log", ShaderOp::Log2),
    ("logp", ShaderOp::Log2),
    ("pow", ShaderOp::Power),
    ("rsq", ShaderOp::ReciprocalSqrt),
];

/// Products of a vector with the rows of a matrix: the components of the vector, and the number of rows.
const MATRICES: [(&str, u8, u32); 5] =
    [("m4x4", 4, 4), ("m4x3", 4, 3), ("m3x4", 3, 4), ("m3x3", 3, 3), ("m3x2", 3, 2)];

/// Constants with which FXC moves angles to a range, as bits: 2 pi, -pi, 1 / 2 pi, and 0.5.
const TWO_PI: u32 = 0x40c9_0fdb;
const MINUS_PI: u32 = 0xc049_0fdb;
const PART_OF_TURN: u32 = 0x3e22_f983;
const HALF: u32 = 0x3f00_0000;

/// The positions of all components.
const ALL: [u8; 4] = [0, 1, 2, 3];

impl Lifter<'_> {
    /// Lifts an instruction that is no control flow. Returns `None` if it has no meaning here.
    pub(super) fn operation(&mut self, mnemonic: &str, instruction: &Instruction) -> Option<()> {
        let version = self.program.version;
        let skipped = instruction.predicate_index(version);
        let sources: Vec<&Operand> = (1..instruction.operands.len())
            .filter(|index| Some(*index) != skipped)
            .map(|index| &instruction.operands[index])
            .collect();
        let target = instruction.operands.first()?;
        if mnemonic == "texkill" {
            return self.kill(target);
        }
        let value = self
            .arithmetic(mnemonic, instruction, target, &sources)
            .or_else(|| self.special(mnemonic, target, &sources))
            .or_else(|| self.sampled(mnemonic, instruction, target, &sources))
            .or_else(|| self.first(mnemonic, target, &sources))?;
        self.write(instruction, value)
    }

    fn arithmetic(
        &mut self,
        mnemonic: &str,
        instruction: &Instruction,
        target: &Operand,
        sources: &[&Operand],
    ) -> Option<ValueId> {
        let positions = components(target);
        if let Some(value) = self.partial(mnemonic, target, sources) {
            return Some(value);
        }
        let is_address = target.kind() == RegisterKind::ADDRESS && !self.program.version.is_pixel();
        if is_address && matches!(mnemonic, "mov" | "mova") {
            let value = self.read(sources.first()?, &positions);
            // Version 1 rounds down, later versions to the nearest integer.
            let rounding = if mnemonic == "mov" { ShaderOp::Floor } else { ShaderOp::RoundEven };
            let rounded = self.lanewise(Op::Shader(rounding), 32, &[value]);
            return Some(self.lanewise(Op::Shader(ShaderOp::FloatToSigned), 32, &[rounded]));
        }
        if let Some((_, op)) = MAGNITUDES.iter().find(|row| row.0 == mnemonic) {
            let mut inputs: Vec<ValueId> =
                sources.iter().map(|operand| self.read(operand, &positions)).collect();
            if inputs.len() != op.input_count() {
                return None;
            }
            inputs[0] = self.magnitude(inputs[0]);
            return Some(self.lanewise(Op::Shader(*op), 32, &inputs));
        }
        if let Some((_, op)) = OPERATORS.iter().find(|row| row.0 == mnemonic) {
            let inputs: Vec<ValueId> = sources.iter().map(|operand| self.read(operand, &positions)).collect();
            let wanted = match op {
                Op::Shader(op) => op.input_count(),
                Op::FloatAbs | Op::Copy => 1,
                _ => 2,
            };
            if inputs.len() != wanted {
                return None;
            }
            return Some(if *op == Op::Copy { inputs[0] } else { self.lanewise(*op, 32, &inputs) });
        }
        match mnemonic {
            "rcp" => {
                let value = self.read(sources.first()?, &positions);
                let one = self.float(1.0);
                Some(self.lanewise(Op::FloatDiv, 32, &[one, value]))
            }
            "lrp" => {
                let [part, second, first] = sources else { return None };
                let [part, second, first] =
                    [part, second, first].map(|operand| self.read(operand, &positions));
                Some(self.lanewise(Op::Shader(ShaderOp::Lerp), 32, &[first, second, part]))
            }
            "slt" | "sge" => {
                let [a, b] = sources else { return None };
                let [a, b] = [a, b].map(|operand| self.read(operand, &positions));
                let (op, inputs) =
                    if mnemonic == "slt" { (Op::FloatLess, [a, b]) } else { (Op::FloatLessEqual, [b, a]) };
                let condition = self.lanewise(op, 1, &inputs);
                let [one, zero] = [1.0, 0.0].map(|value| self.float(value));
                Some(self.lanewise(Op::Select, 32, &[condition, one, zero]))
            }
            "cmp" | "cnd" => {
                let [tested, yes, no] = sources else { return None };
                let [tested, yes, no] = [tested, yes, no].map(|operand| self.read(operand, &positions));
                let condition = if mnemonic == "cmp" {
                    let zero = self.float(0.0);
                    self.lanewise(Op::FloatLessEqual, 1, &[zero, tested])
                } else {
                    let half = self.float(0.5);
                    self.lanewise(Op::FloatLess, 1, &[half, tested])
                };
                Some(self.lanewise(Op::Select, 32, &[condition, yes, no]))
            }
            "setp" => {
                let condition = self.comparison(instruction, sources, &positions)?;
                Some(self.lanewise(Op::SignExtend, 32, &[condition]))
            }
            _ => None,
        }
    }

    /// Lifts `expp` and `logp` of version 1, whose components are a whole part, a rest, and the result.
    fn partial(&mut self, mnemonic: &str, target: &Operand, sources: &[&Operand]) -> Option<ValueId> {
        let is_first = self.program.version.major() == 1;
        let one = self.float(1.0);
        match mnemonic {
            "expp" if is_first => {
                let value = self.read(sources.first()?, &[0]);
                let whole = self.add(Op::Shader(ShaderOp::Floor), 32, 1, &[value]);
                let power = self.add(Op::Shader(ShaderOp::Exp2), 32, 1, &[whole]);
                let rest = self.add(Op::Shader(ShaderOp::Fraction), 32, 1, &[value]);
                let result = self.add(Op::Shader(ShaderOp::Exp2), 32, 1, &[value]);
                Some(self.picked(target, [power, rest, result, one]))
            }
            "logp" if is_first => {
                let value = self.read(sources.first()?, &[0]);
                let value = self.magnitude(value);
                let result = self.add(Op::Shader(ShaderOp::Log2), 32, 1, &[value]);
                let whole = self.add(Op::Shader(ShaderOp::Floor), 32, 1, &[result]);
                let power = self.add(Op::Shader(ShaderOp::Exp2), 32, 1, &[whole]);
                let rest = self.add(Op::FloatDiv, 32, 1, &[value, power]);
                Some(self.picked(target, [whole, rest, result, one]))
            }
            _ => None,
        }
    }

    /// Returns the magnitude of a value; the value itself where it is never negative.
    fn magnitude(&mut self, value: ValueId) -> ValueId {
        let function = &self.builder.function;
        let is_square = |a: ValueId, b: ValueId| {
            a == b || function.op(a) == function.op(b) && function.inputs(a) == function.inputs(b)
        };
        let is_positive = match function.op(value) {
            Op::FloatAbs | Op::Shader(ShaderOp::Saturate | ShaderOp::Exp2) => true,
            Op::Shader(ShaderOp::Dot) => is_square(function.input(value, 0), function.input(value, 1)),
            _ => false,
        };
        if is_positive { value } else { self.lanewise(Op::FloatAbs, 32, &[value]) }
    }

    /// Returns the comparison that the controls of an instruction say.
    pub(super) fn comparison(
        &mut self,
        instruction: &Instruction,
        sources: &[&Operand],
        positions: &[u8],
    ) -> Option<ValueId> {
        let [a, b] = sources else { return None };
        let [a, b] = [a, b].map(|operand| self.read(operand, positions));
        let numbers = [a, b].map(|value| self.known(value).map(|bits| f32::from_bits(bits as u32)));
        if let ([Some(a), Some(b)], [_]) = (numbers, positions) {
            let holds = match instruction.controls() {
                1 => a > b,
                2 => a == b,
                3 => a >= b,
                4 => a < b,
                5 => a != b,
                6 => a <= b,
                _ => return None,
            };
            return Some(self.builder.function.constant(u64::from(holds), 1));
        }
        let (op, inputs) = match instruction.controls() {
            1 => (Op::FloatLess, [b, a]),
            2 => (Op::FloatEqual, [a, b]),
            3 => (Op::FloatLessEqual, [b, a]),
            4 => (Op::FloatLess, [a, b]),
            5 => (Op::FloatNotEqual, [a, b]),
            6 => (Op::FloatLessEqual, [a, b]),
            _ => return None,
        };
        Some(self.lanewise(op, 1, &inputs))
    }

    fn dot(&mut self, a: ValueId, b: ValueId, count: usize) -> ValueId {
        let a = self.broadcast(a, count);
        self.add(Op::Shader(ShaderOp::Dot), 32, 1, &[a, b])
    }

    /// Returns the lanes of a vector that the components of a destination are.
    fn picked(&mut self, target: &Operand, scalars: [ValueId; 4]) -> ValueId {
        let wanted: Vec<ValueId> =
            components(target).iter().map(|component| scalars[usize::from(*component)]).collect();
        self.gather(&wanted)
    }

    /// Lifts instructions whose components differ, or that read others than they write.
    fn special(&mut self, mnemonic: &str, target: &Operand, sources: &[&Operand]) -> Option<ValueId> {
        let first = *sources.first()?;
        if let Some((_, columns, rows)) = MATRICES.iter().find(|row| row.0 == mnemonic) {
            let matrix = *sources.get(1)?;
            let positions = &ALL[..usize::from(*columns)];
            let vector = self.read(first, positions);
            let mut scalars = [self.float(0.0); 4];
            for row in 0..*rows {
                let line = self.read_at(matrix, positions, row);
                scalars[row as usize] = self.dot(vector, line, positions.len());
            }
            return Some(self.picked(target, scalars));
        }
        match mnemonic {
            "dp3" | "dp4" | "dp2add" => {
                let count = match mnemonic {
                    "dp3" => 3,
                    "dp4" => 4,
                    _ => 2,
                };
                let [a, b] = [first, *sources.get(1)?].map(|operand| self.read(operand, &ALL[..count]));
                let product = self.dot(a, b, count);
                match sources.get(2) {
                    Some(sum) if count == 2 => {
                        let sum = self.read(sum, &[0]);
                        Some(self.add(Op::FloatAdd, 32, 1, &[product, sum]))
                    }
                    _ => Some(product),
                }
            }
            "crs" => {
                let [a, b] = [first, *sources.get(1)?].map(|operand| self.read(operand, &ALL[..3]));
                let [a, b] = [a, b].map(|value| self.broadcast(value, 3));
                let product = self.add(Op::Shader(ShaderOp::Cross), 32, 3, &[a, b]);
                let [x, y, z] = [0, 1, 2].map(|lane| self.lane(product, lane));
                Some(self.picked(target, [x, y, z, z]))
            }
            "nrm" => {
                let value = self.read(first, &ALL[..3]);
                let value = self.broadcast(value, 3);
                if components(target).contains(&3) {
                    let square = self.dot(value, value, 3);
                    let scale = self.add(Op::Shader(ShaderOp::ReciprocalSqrt), 32, 1, &[square]);
                    let whole = self.read(first, &components(target));
                    return Some(self.lanewise(Op::FloatMul, 32, &[whole, scale]));
                }
                let unit = self.add(Op::Shader(ShaderOp::Normalize), 32, 3, &[value]);
                let [x, y, z] = [0, 1, 2].map(|lane| self.lane(unit, lane));
                Some(self.picked(target, [x, y, z, z]))
            }
            "sincos" => {
                let angle = self.read(first, &[0]);
                let angle = self.before_reduction(angle);
                let cosine = self.add(Op::Shader(ShaderOp::Cosine), 32, 1, &[angle]);
                let sine = self.add(Op::Shader(ShaderOp::Sine), 32, 1, &[angle]);
                Some(self.picked(target, [cosine, sine, sine, sine]))
            }
            "sgn" => {
                let value = self.read(first, &components(target));
                let sign = self.lanewise(Op::Shader(ShaderOp::Sign), 32, &[value]);
                Some(self.lanewise(Op::SignedToFloat, 32, &[sign]))
            }
            "dst" => {
                let second = *sources.get(1)?;
                let [a, b] = [first, second].map(|operand| self.read(operand, &[1]));
                let product = self.add(Op::FloatMul, 32, 1, &[a, b]);
                let one = self.float(1.0);
                let z = self.read(first, &[2]);
                let w = self.read(second, &[3]);
                Some(self.picked(target, [one, product, z, w]))
            }
            "lit" => Some(self.light(target, first)),
            _ => None,
        }
    }

    /// Returns the angle that code moves to the range of -pi to pi, as FXC does before `sincos`; else the angle itself.
    fn before_reduction(&mut self, angle: ValueId) -> ValueId {
        let turns = self.addend(angle, TWO_PI, MINUS_PI).and_then(|turns| {
            let (vector, lane) = self.lane_of(turns);
            let is_fraction = self.builder.function.op(vector) == Op::Shader(ShaderOp::Fraction);
            let input = self.builder.function.input_or_self(vector, 0);
            is_fraction.then(|| self.lane(input, lane))
        });
        let whole = turns.and_then(|turns| self.addend(turns, PART_OF_TURN, HALF));
        whole.unwrap_or(angle)
    }

    /// Returns `x` if a value is `x` times a number plus another one.
    fn addend(&mut self, value: ValueId, factor: u32, sum: u32) -> Option<ValueId> {
        let (vector, lane) = self.lane_of(value);
        if self.builder.function.op(vector) != Op::Shader(ShaderOp::MultiplyAdd) {
            return None;
        }
        let inputs = [0, 1, 2].map(|index| self.builder.function.input(vector, index));
        let [value, first, second] = inputs.map(|input| self.lane(input, lane));
        let is_it = self.known(first) == Some(factor.into()) && self.known(second) == Some(sum.into());
        is_it.then_some(value)
    }

    /// Returns the vector that a value is a lane of, and the lane.
    fn lane_of(&self, value: ValueId) -> (ValueId, u8) {
        match self.builder.function.op(value) {
            Op::Lanes(lanes) => {
                let lane = lanes.numbers().first().copied().unwrap_or(0);
                (self.builder.function.input(value, 0), lane)
            }
            _ => (value, 0),
        }
    }

    /// Lifts `lit`: 1, the diffuse part, the specular part, 1.
    fn light(&mut self, target: &Operand, source: &Operand) -> ValueId {
        let [diffuse, base, exponent] = [0, 1, 3].map(|position| self.read(source, &[position]));
        let [zero, one] = [0.0, 1.0].map(|value| self.float(value));
        let lit = self.add(Op::Shader(ShaderOp::FloatMax), 32, 1, &[diffuse, zero]);
        let base_or_zero = self.add(Op::Shader(ShaderOp::FloatMax), 32, 1, &[base, zero]);
        let power = self.add(Op::Shader(ShaderOp::Power), 32, 1, &[base_or_zero, exponent]);
        let is_lit = self.add(Op::FloatLess, 1, 1, &[zero, diffuse]);
        let is_seen = self.add(Op::FloatLess, 1, 1, &[zero, base]);
        let both = self.add(Op::BoolAnd, 1, 1, &[is_lit, is_seen]);
        let specular = self.add(Op::Select, 32, 1, &[both, power, zero]);
        self.picked(target, [one, lit, specular, one])
    }

    /// Lifts instructions that sample. Those of version 1 name no sampler: it has the number of the destination.
    fn sampled(
        &mut self,
        mnemonic: &str,
        instruction: &Instruction,
        target: &Operand,
        sources: &[&Operand],
    ) -> Option<ValueId> {
        let is_first = self.program.version.major() == 1;
        let coordinates = *sources.first().unwrap_or(&target);
        match mnemonic {
            "texcrd" => return Some(self.read(coordinates, &components(target))),
            "texcoord" => {
                let value = self.read_input(target.number(), &components(target))?;
                return Some(self.lanewise(Op::Shader(ShaderOp::Saturate), 32, &[value]));
            }
            "tex" | "texld" | "texldl" | "texldd" => {}
            _ => return None,
        }
        let number = match sources.get(1) {
            Some(sampler) if !is_first => sampler.number(),
            _ => target.number(),
        };
        let (texture, sampler, shape) = *self.interface.samplers.get(&number)?;
        let count = shape.coordinates();
        let none = self.undefined();
        let mut handle = |resource: unshade_ir::ResourceId| {
            let resource = self.number(resource.number());
            self.add(Op::Shader(ShaderOp::Handle), 32, 1, &[resource, none])
        };
        let (texture, sampler) = (handle(texture), handle(sampler));
        let place = if mnemonic == "tex" {
            self.read_input(number, &ALL[..count])?
        } else {
            self.read(coordinates, &ALL[..count])
        };
        let place = self.broadcast(place, count);
        let mut inputs = vec![texture, sampler, place, none];
        let op = match (mnemonic, instruction.controls()) {
            ("texldl", _) => {
                inputs.push(self.read(coordinates, &[3]));
                ShaderOp::SampleLevel
            }
            ("texldd", _) => {
                for operand in sources.get(2..4)? {
                    let derivative = self.read(operand, &ALL[..shape.dimensions()]);
                    inputs.push(self.broadcast(derivative, shape.dimensions()));
                }
                inputs.push(none);
                ShaderOp::SampleGradient
            }
            (_, 1) => {
                let divisor = self.read(coordinates, &[3]);
                inputs[2] = self.lanewise(Op::FloatDiv, 32, &[place, divisor]);
                inputs.push(none);
                ShaderOp::Sample
            }
            (_, 2) => {
                inputs.push(self.read(coordinates, &[3]));
                inputs.push(none);
                ShaderOp::SampleBias
            }
            _ => {
                inputs.push(none);
                ShaderOp::Sample
            }
        };
        let value = self.add(Op::Shader(op), 32, 4, &inputs);
        // The swizzle of the sampler says which channels go where.
        let swizzle = match sources.get(1) {
            Some(sampler) if !is_first => sampler.swizzle(),
            _ => ALL,
        };
        let scalars = swizzle.map(|channel| self.lane(value, channel));
        Some(self.picked(target, scalars))
    }

    /// Samples the texture of a register, with nothing but coordinates.
    pub(super) fn sample_at(&mut self, number: u32, place: ValueId) -> Option<ValueId> {
        let (texture, sampler, shape) = *self.interface.samplers.get(&number)?;
        let none = self.undefined();
        let [texture, sampler] = [texture, sampler].map(|resource| {
            let resource = self.number(resource.number());
            self.add(Op::Shader(ShaderOp::Handle), 32, 1, &[resource, none])
        });
        let place = self.resized(place, shape.coordinates());
        Some(self.add(Op::Shader(ShaderOp::Sample), 32, 4, &[texture, sampler, place, none, none]))
    }

    /// Returns a vector with a number of lanes: the first ones, or zeros after them.
    fn resized(&mut self, value: ValueId, count: usize) -> ValueId {
        let lanes = usize::from(self.builder.function.lanes(value));
        if lanes == count {
            return value;
        }
        let zero = self.float(0.0);
        let scalars: Vec<ValueId> = (0..count)
            .map(|index| if index < lanes { self.lane(value, index as u8) } else { zero })
            .collect();
        self.gather(&scalars)
    }

    /// Reads texture coordinates of version 1, which the register may no longer hold.
    pub(super) fn read_input(&mut self, number: u32, positions: &[u8]) -> Option<ValueId> {
        let mut scalars = Vec::new();
        for position in positions {
            scalars.push(self.get(RegisterKind::ADDRESS, number, *position));
        }
        Some(self.gather(&scalars))
    }

    /// Lifts `texkill`: the pixel is dropped if a component is negative.
    fn kill(&mut self, operand: &Operand) -> Option<()> {
        // It is written as a destination: the mask says which components count, in version 1 the first three.
        let count = if self.program.version.major() == 1 { vec![0, 1, 2] } else { components(operand) };
        let zero = self.float(0.0);
        let mut any: Option<ValueId> = None;
        for component in count {
            let swizzled = Operand { token: operand.token & !(0xff << 16) | 0xe4 << 16, relative: None };
            let plain = Operand { token: swizzled.token & !(0xf << 24), relative: None };
            let value = self.read(&plain, &[component]);
            let is_negative = self.add(Op::FloatLess, 1, 1, &[value, zero]);
            any = Some(match any {
                Some(any) => self.add(Op::BoolOr, 1, 1, &[any, is_negative]),
                None => is_negative,
            });
        }
        self.add(Op::Shader(ShaderOp::Discard), 0, 1, &[any?]);
        Some(())
    }
}
