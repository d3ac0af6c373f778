//! Instructions that read textures and typed buffers.
//!
//! The result of an access is a vector; the swizzle of the operand that names the resource says which lanes go where.
//! Of `ld`, the fourth component of the address is the level. The forms with `_s` have a second result, the status:
//! [`Op::Result`] of the access.

use super::lifter::Lifter;
use super::sources::{Numbers, used_components};
use unshade_dxbc::Instruction;
use unshade_dxbc::operand::{Components, Operand, OperandKind};
use unshade_ir::shader::interface::Shape;
use unshade_ir::{Op, ResourceId, ShaderOp, ValueId};

/// A result that an access has lanes for.
pub(super) struct Access<'i> {
    instruction: &'i Instruction,
    /// The operand of the result, and that of the status if there is one.
    target: &'i Operand,
    status: Option<&'i Operand>,
    /// The operands after them.
    pub(super) sources: &'i [Operand],
}

impl<'i> Access<'i> {
    pub(super) fn new(instruction: &'i Instruction) -> Option<Self> {
        let row = instruction.opcode().row()?;
        let (targets, sources) = instruction.operands.split_at_checked(row.destinations())?;
        Some(Self { instruction, target: targets.first()?, status: targets.get(1), sources })
    }

    pub(super) fn target(&self) -> &'i Operand {
        self.target
    }

    /// Returns the components that are written.
    pub(super) fn targets(&self) -> Vec<u8> {
        used_components(self.target)
    }
}

/// The additional inputs of a sampling instruction, after texture, sampler, coordinates and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extra {
    /// A scalar.
    Number,
    /// A vector with as many components as the texture has dimensions.
    Vector,
    /// Nothing: the input is not given.
    None,
}

use Extra::{None as Absent, Number, Vector};

/// Sampling instructions: the operation, its additional inputs, and whether the result is a scalar.
const SAMPLES: [(&str, ShaderOp, &[Extra], bool); 10] = [
    ("sample", ShaderOp::Sample, &[Absent], false),
    ("sample_b", ShaderOp::SampleBias, &[Number, Absent], false),
    ("sample_b_cl_s", ShaderOp::SampleBias, &[Number, Number], false),
    ("sample_c", ShaderOp::SampleCompare, &[Number, Absent], true),
    ("sample_c_cl_s", ShaderOp::SampleCompare, &[Number, Number], true),
    ("sample_c_lz", ShaderOp::SampleCompareLevelZero, &[Number], true),
    ("sample_cl_s", ShaderOp::Sample, &[Number], false),
    ("sample_d", ShaderOp::SampleGradient, &[Vector, Vector, Absent], false),
    ("sample_d_cl_s", ShaderOp::SampleGradient, &[Vector, Vector, Number], false),
    ("sample_l", ShaderOp::SampleLevel, &[Number], false),
];

impl Lifter<'_> {
    /// Lifts an instruction that reads a texture or asks about a resource. Returns `None` if it is none.
    pub(super) fn texture(&mut self, mnemonic: &str, instruction: &Instruction) -> Option<()> {
        let access = Access::new(instruction)?;
        let plain = mnemonic.strip_suffix("_s").unwrap_or(mnemonic);
        let row = SAMPLES.iter().find(|row| row.0 == mnemonic || row.0 == plain);
        if let Some((_, op, extras, is_scalar)) = row {
            return self.sample(&access, *op, extras, *is_scalar);
        }
        match plain {
            "gather4" | "gather4_c" => self.gather_texels(&access, None),
            "gather4_po" | "gather4_po_c" => self.gather_texels(&access, access.sources.get(1)),
            "ld" | "ldms" => self.load_texel(&access, plain == "ldms"),
            "ld_uav_typed" => self.load_texel(&access, false),
            "lod" => self.level(&access),
            "resinfo" | "bufinfo" | "sampleinfo" | "samplepos" => self.question(plain, &access),
            "check_access_fully_mapped" => {
                let status = self.read_one(access.sources.first()?, Numbers::Integer);
                let is_resident = self.add(Op::Shader(ShaderOp::IsResident), 1, 1, &[status]);
                let mask = self.mask(is_resident);
                self.write(access.target, mask);
                Some(())
            }
            _ => None,
        }
    }

    /// Writes the result of an access: the lanes that the swizzle of the resource says.
    pub(super) fn write_access(&mut self, access: &Access<'_>, resource: &Operand, value: ValueId) {
        let positions = used_components(access.target);
        let last = self.function().lanes(value).saturating_sub(1) as u8;
        let scalars: Vec<ValueId> = positions
            .iter()
            .map(|position| self.lane(value, swizzled(resource, *position).min(last)))
            .collect();
        if !access.instruction.is_saturated() {
            return self.write_scalars(access.target, &positions, &scalars);
        }
        let value = self.gather(&scalars);
        let value = self.lanewise(Op::Shader(ShaderOp::Saturate), 32, &[value]);
        self.write(access.target, value);
    }

    pub(super) fn write_status(&mut self, access: &Access<'_>, value: ValueId) {
        if let Some(status) = access.status.filter(|status| status.kind() != OperandKind::NULL) {
            let result = self.add(Op::Result(1), 32, 1, &[value]);
            self.write(status, result);
        }
    }

    /// Returns the shape of a texture and its handle.
    fn image(&mut self, operand: &Operand) -> Option<(Shape, ValueId)> {
        let (handle, id) = self.bound(operand)?;
        Some((self.shape(id), handle))
    }

    pub(super) fn shape(&self, id: ResourceId) -> Shape {
        self.resources[id].shape
    }

    /// Returns the constant offset of an instruction.
    fn offset(&mut self, access: &Access<'_>, shape: Shape) -> ValueId {
        let Some(offsets) = access.instruction.extension().offsets else { return self.undefined() };
        let numbers = offsets[..shape.dimensions().clamp(1, 3)].iter();
        let scalars: Vec<ValueId> =
            numbers.map(|offset| self.number(i32::from(*offset).cast_unsigned())).collect();
        self.gather_all(&scalars)
    }

    fn sample(&mut self, access: &Access<'_>, op: ShaderOp, extras: &[Extra], is_scalar: bool) -> Option<()> {
        let [coordinates, texture, sampler, rest @ ..] = access.sources else { return None };
        let (shape, handle) = self.image(texture)?;
        let (sampler, _) = self.bound(sampler)?;
        let coordinates = self.read_vector(coordinates, shape.coordinates(), Numbers::Float);
        let offset = self.offset(access, shape);
        let mut inputs = vec![handle, sampler, coordinates, offset];
        let mut rest = rest.iter();
        for extra in extras {
            inputs.push(match extra {
                Number => self.read_one(rest.next()?, Numbers::Float),
                Vector => self.read_vector(rest.next()?, shape.dimensions(), Numbers::Float),
                Absent => self.undefined(),
            });
        }
        let value = self.shader(op, if is_scalar { 1 } else { 4 }, &inputs);
        self.write_status(access, value);
        self.write_access(access, texture, value);
        Some(())
    }

    /// Lifts `gather4`; `offset` is the operand of an offset that is computed.
    fn gather_texels(&mut self, access: &Access<'_>, offset: Option<&Operand>) -> Option<()> {
        let after = if offset.is_some() { 2 } else { 1 };
        let coordinates = access.sources.first()?;
        let [texture, sampler, rest @ ..] = access.sources.get(after..)? else { return None };
        let (shape, handle) = self.image(texture)?;
        let channel = match sampler.components() {
            Components::Select(channel) => u32::from(channel),
            _ => 0,
        };
        let (sampler, _) = self.bound(sampler)?;
        let coordinates = self.read_vector(coordinates, shape.coordinates(), Numbers::Float);
        let offset = match offset {
            Some(offset) => self.read_vector(offset, shape.dimensions(), Numbers::Integer),
            None => self.offset(access, shape),
        };
        let channel = self.number(channel);
        let mut inputs = vec![handle, sampler, coordinates, offset, channel];
        let op = match rest {
            [reference] => {
                inputs.push(self.read_one(reference, Numbers::Float));
                ShaderOp::GatherCompare
            }
            _ => ShaderOp::Gather,
        };
        let value = self.shader(op, 4, &inputs);
        self.write_status(access, value);
        self.write_access(access, texture, value);
        Some(())
    }

    fn load_texel(&mut self, access: &Access<'_>, has_sample: bool) -> Option<()> {
        let [address, texture, rest @ ..] = access.sources else { return None };
        let (shape, handle) = self.image(texture)?;
        let value = match shape {
            Shape::TextureBuffer => {
                let index = self.read_one(address, Numbers::Integer);
                self.row(handle, index)
            }
            Shape::Buffer => {
                let index = self.read_one(address, Numbers::Integer);
                self.shader(ShaderOp::LoadBuffer, 4, &[handle, index])
            }
            _ => {
                let coordinates = self.read_vector(address, shape.coordinates(), Numbers::Integer);
                let level = match rest.first() {
                    Some(sample) if has_sample => self.read_one(sample, Numbers::Integer),
                    _ if texture.kind() == OperandKind::UNORDERED_ACCESS_VIEW => self.undefined(),
                    _ => self.read(address, &[3], Numbers::Integer),
                };
                let offset = self.offset(access, shape);
                self.shader(ShaderOp::LoadTexture, 4, &[handle, coordinates, level, offset])
            }
        };
        self.write_status(access, value);
        self.write_access(access, texture, value);
        Some(())
    }

    /// Lifts `lod`: the clamped level in `x`, the other one in `y`.
    fn level(&mut self, access: &Access<'_>) -> Option<()> {
        let [coordinates, texture, sampler] = access.sources else { return None };
        let (shape, handle) = self.image(texture)?;
        let (sampler, _) = self.bound(sampler)?;
        let coordinates = self.read_vector(coordinates, shape.dimensions(), Numbers::Float);
        let positions = used_components(access.target);
        let mut scalars = Vec::new();
        for position in &positions {
            scalars.push(match swizzled(texture, *position) {
                lane @ (0 | 1) => {
                    let is_clamped = self.number(u32::from(lane == 0));
                    let inputs = [handle, sampler, coordinates, is_clamped];
                    self.shader(ShaderOp::CalculateLevel, 1, &inputs)
                }
                _ => self.number(0),
            });
        }
        let value = self.gather(&scalars);
        self.write_result(access.instruction, access.target, value);
        Some(())
    }

    /// Lifts an instruction that asks about a resource or the render target.
    fn question(&mut self, mnemonic: &str, access: &Access<'_>) -> Option<()> {
        let resource = access.sources.iter().find(|operand| {
            matches!(
                operand.kind(),
                OperandKind::RESOURCE | OperandKind::UNORDERED_ACCESS_VIEW | OperandKind::RASTERIZER
            )
        })?;
        let is_target = resource.kind() == OperandKind::RASTERIZER;
        let value = match mnemonic {
            "samplepos" => {
                let sample = self.read_one(access.sources.get(1)?, Numbers::Integer);
                let position = if is_target {
                    self.shader(ShaderOp::RenderTargetSamplePosition, 2, &[sample])
                } else {
                    let (handle, _) = self.bound(resource)?;
                    self.shader(ShaderOp::SamplePosition, 2, &[handle, sample])
                };
                let zero = self.number(0);
                let [x, y] = [0, 1].map(|index| self.lane(position, index));
                self.gather(&[x, y, zero, zero])
            }
            "sampleinfo" => {
                let count = if is_target {
                    self.shader(ShaderOp::RenderTargetSampleCount, 1, &[])
                } else {
                    let (handle, _) = self.bound(resource)?;
                    let none = self.undefined();
                    let sizes = self.shader(ShaderOp::Dimensions, 4, &[handle, none]);
                    self.lane(sizes, 3)
                };
                let count = if control(access.instruction) == 1 {
                    count
                } else {
                    self.add(Op::UnsignedToFloat, 32, 1, &[count])
                };
                let zero = self.number(0);
                self.gather(&[count, zero, zero, zero])
            }
            "resinfo" => self.sizes(access, resource)?,
            _ => {
                let (handle, _) = self.bound(resource)?;
                let none = self.undefined();
                self.shader(ShaderOp::Dimensions, 4, &[handle, none])
            }
        };
        self.write_access(access, resource, value);
        Some(())
    }

    /// Returns the sizes of a texture as the instruction wants them.
    fn sizes(&mut self, access: &Access<'_>, texture: &Operand) -> Option<ValueId> {
        let (shape, handle) = self.image(texture)?;
        let level = if shape.is_multisampled() {
            self.undefined()
        } else {
            self.read_one(access.sources.first()?, Numbers::Integer)
        };
        let sizes = self.shader(ShaderOp::Dimensions, 4, &[handle, level]);
        Some(match control(access.instruction) {
            2 => sizes,
            1 => {
                // Reciprocals, but not of the numbers of elements and levels.
                let floats = self.lanewise(Op::UnsignedToFloat, 32, &[sizes]);
                let one = self.number(1_f32.to_bits());
                let mut scalars = self.lanes(floats, 4);
                for scalar in scalars.iter_mut().take(spatial(shape)) {
                    *scalar = self.add(Op::FloatDiv, 32, 1, &[one, *scalar]);
                }
                self.gather(&scalars)
            }
            _ => self.lanewise(Op::UnsignedToFloat, 32, &[sizes]),
        })
    }
}

/// Returns the type of the result of `resinfo` and `sampleinfo`.
fn control(instruction: &Instruction) -> u32 {
    instruction.token >> 11 & 3
}

/// Returns the number of sizes of a texture that are lengths.
fn spatial(shape: Shape) -> usize {
    match shape {
        Shape::TextureCube | Shape::TextureCubeArray => 2,
        shape => shape.dimensions(),
    }
}

/// Returns the lane of a result that goes to a position.
pub(super) fn swizzled(resource: &Operand, position: u8) -> u8 {
    match resource.components() {
        Components::Swizzle(swizzle) => swizzle[usize::from(position & 3)],
        Components::Select(component) => component,
        _ => position & 3,
    }
}
