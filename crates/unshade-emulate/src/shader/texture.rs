//! Samples of textures: there are no images, so a sample is a function of all that it depends on.
//!
//! The function is smooth, half a sine wave between 0 and 1, so that coordinates that differ in the last bit give colours
//! that hardly differ. Its phase depends on the registers of texture and sampler, the operation and the component; each
//! coordinate, level and reference has a factor of its own. Samples without a level depend on the derivatives of the
//! coordinates in the quad. Textures that are given as bytes are sampled at the nearest texel of their first level.

use super::code::Code;
use super::exchange::derivative;
use super::fault::Reason;
use super::hash::{self, hash, unit};
use super::machine::{Frame, Machine, Wave, lanes_of};
use super::number::{decode, encode};
use super::resource::{Bound, Memory, SIZE, bound};
use unshade_ir::ValueId;
use unshade_ir::fold::signed;
use unshade_ir::shader::ShaderOp;
use unshade_ir::shader::data_type::{Scalar, ScalarKind};

/// How a sample finds its level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// From derivatives.
    Implicit,
    /// From its arguments.
    Explicit,
}

/// Sampling operations: how they find their level, and the number of arguments after the offset.
const SAMPLES: [(ShaderOp, Level, usize); 12] = [
    (ShaderOp::Sample, Level::Implicit, 1),
    (ShaderOp::SampleBias, Level::Implicit, 2),
    (ShaderOp::SampleLevel, Level::Explicit, 1),
    (ShaderOp::SampleGradient, Level::Explicit, 3),
    (ShaderOp::SampleCompare, Level::Implicit, 2),
    (ShaderOp::SampleCompareLevelZero, Level::Explicit, 1),
    (ShaderOp::SampleCompareLevel, Level::Explicit, 2),
    (ShaderOp::SampleCompareBias, Level::Implicit, 3),
    (ShaderOp::SampleCompareGradient, Level::Explicit, 4),
    (ShaderOp::Gather, Level::Explicit, 0),
    (ShaderOp::GatherCompare, Level::Explicit, 2),
    (ShaderOp::GatherRaw, Level::Explicit, 0),
];

/// What a sample depends on, besides the component.
struct Sample {
    key: u64,
    numbers: Vec<f64>,
}

impl Sample {
    /// Returns the colour of a component.
    fn component(&self, component: u64) -> f64 {
        let phase = unit(hash(&[self.key, component])) * std::f64::consts::TAU;
        let terms = self.numbers.iter().enumerate().map(|(index, number)| {
            let factor = 1.0 + 2.0 * unit(hash(&[self.key, component, index as u64]));
            // Nothing is known of what is very far away.
            if number.abs() < 1e6 { factor * number } else { 0.0 }
        });
        0.5 + 0.5 * (phase + terms.sum::<f64>()).sin()
    }
}

impl<'p> Machine<'p> {
    /// Runs an operation that samples. Returns whether it is one.
    pub(super) fn texture(
        &mut self,
        code: &Code<'p>,
        wave: &mut Wave,
        id: ValueId,
        op: ShaderOp,
        mask: u32,
    ) -> Result<bool, Reason> {
        let row = SAMPLES.iter().find(|row| row.0 == op);
        if row.is_none() && !matches!(op, ShaderOp::CalculateLevel | ShaderOp::SamplePosition) {
            return Ok(false);
        }
        for thread in lanes_of(mask) {
            let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
            let texture = bound(self.program, frame.read(code, code.function.input(id, 0), 0, thread))?;
            match (row, op) {
                (Some(&(_, level, arguments)), _) => {
                    let is_implicit = level == Level::Implicit;
                    self.sample(code, frame, id, op, (thread, mask), texture, (is_implicit, arguments))?;
                }
                (_, ShaderOp::CalculateLevel) => calculate_level(code, frame, id, (thread, mask), texture),
                _ => {
                    let sample = frame.read(code, code.function.input(id, 1), 0, thread);
                    for lane in 0..usize::from(code.function.lanes(id)) {
                        let number = unit(hash(&[sample, lane as u64])) - 0.5;
                        frame.write(code, id, lane, thread, encode(number, 32));
                    }
                }
            }
        }
        Ok(true)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a sample")]
    fn sample(
        &mut self,
        code: &Code<'p>,
        frame: &mut Frame,
        id: ValueId,
        op: ShaderOp,
        (thread, mask): (usize, u32),
        texture: Bound<'p>,
        (is_implicit, arguments): (bool, usize),
    ) -> Result<(), Reason> {
        let function = code.function;
        let sampler = bound(self.program, frame.read(code, function.input(id, 1), 0, thread))?;
        let coordinates = function.input(id, 2);
        let offset = function.input(id, 3);
        let mut numbers = Vec::new();
        for lane in 0..texture.resource.shape.coordinates() {
            let coordinate = decode(frame.read(code, coordinates, lane, thread), 32);
            let is_offset = lane < texture.resource.shape.dimensions();
            let by = if is_offset { signed(frame.read(code, offset, lane, thread), 32) } else { 0 };
            numbers.push(coordinate + by as f64 / f64::from(SIZE[0]));
        }
        let channel = match op {
            ShaderOp::Gather | ShaderOp::GatherCompare => function.number(function.input(id, 4)).unwrap_or(0),
            _ => 0,
        };
        let memory = self.resources.of(texture, self.inputs, &mut self.budget)?;
        if let Memory::Bytes { .. } = memory {
            let place = nearest(&numbers);
            for lane in 0..usize::from(function.lanes(id)) {
                frame.write(code, id, lane, thread, memory.texel(texture, place, lane, 0));
            }
            return Ok(());
        }
        let Memory::Texels { scalar, .. } = memory else { return Ok(()) };
        let scalar = *scalar;
        for index in 4..4 + arguments {
            let input = function.input(id, index);
            let is_channel = op == ShaderOp::GatherCompare && index == 4;
            let lanes =
                if input == ValueId::NONE || is_channel { 0 } else { usize::from(function.lanes(input)) };
            // A scalar in the place of a vector counts for all of its lanes.
            let is_vector = matches!(op, ShaderOp::SampleGradient | ShaderOp::SampleCompareGradient);
            let lanes = if is_vector && lanes > 0 { texture.resource.shape.dimensions() } else { lanes };
            numbers.extend((0..lanes).map(|lane| decode(frame.read(code, input, lane, thread), 32)));
        }
        if is_implicit {
            let dimensions = texture.resource.shape.dimensions();
            numbers.push(slope(code, frame, coordinates, dimensions, (thread, mask)));
        }
        let key = hash(&[
            self.inputs.seed,
            u64::from(texture.register.number),
            u64::from(texture.register.space),
            u64::from(sampler.register.number),
            u64::from(sampler.register.space),
            hash::text(&op.to_string()),
        ]);
        let sample = Sample { key, numbers };
        let width = function.width(id);
        for lane in 0..usize::from(function.lanes(id)) {
            let colour = sample.component(channel * 4 + lane as u64);
            frame.write(code, id, lane, thread, of_colour(colour, scalar, op, width));
        }
        Ok(())
    }
}

/// Returns a colour as bits of what the texture holds.
fn of_colour(colour: f64, scalar: Scalar, op: ShaderOp, width: u8) -> u64 {
    let is_integer =
        matches!(scalar.kind, ScalarKind::Signed | ScalarKind::Unsigned) || op == ShaderOp::GatherRaw;
    let is_comparison = op.result() == unshade_ir::shader::OperandKind::Float;
    if is_integer && !is_comparison { (colour * 8.0) as u64 } else { encode(colour, width) }
}

/// Returns how much coordinates change in a quad.
fn slope(
    code: &Code<'_>,
    frame: &Frame,
    coordinates: ValueId,
    dimensions: usize,
    (thread, mask): (usize, u32),
) -> f64 {
    let along = |is_x: bool, lane: usize| {
        derivative(code, frame, coordinates, (lane, thread), (is_x, false), mask).abs()
    };
    (0..dimensions).map(|lane| along(true, lane) + along(false, lane)).sum()
}

fn calculate_level(
    code: &Code<'_>,
    frame: &mut Frame,
    id: ValueId,
    (thread, mask): (usize, u32),
    texture: Bound<'_>,
) {
    let [coordinates, is_clamped] = [2, 3].map(|index| code.function.input(id, index));
    let is_clamped = code.function.number(is_clamped) != Some(0);
    let slope = slope(code, frame, coordinates, texture.resource.shape.dimensions(), (thread, mask));
    let level = (slope * f64::from(SIZE[0]) + 0.25).log2();
    let level = if is_clamped { level.clamp(0.0, f64::from(SIZE[3] - 1)) } else { level };
    frame.write(code, id, 0, thread, encode(level, 32));
}

/// Returns the place of the nearest texel, where textures repeat.
fn nearest(numbers: &[f64]) -> [u32; 5] {
    let mut place = [0; 5];
    for (index, (slot, number)) in place.iter_mut().zip(numbers).enumerate() {
        let size = f64::from(SIZE[index.min(2)]);
        *slot = ((number - number.floor()) * size).min(size - 1.0) as u32;
    }
    place
}
