//! What a shader reads: the contents of resources by register, and inputs by semantic.
//!
//! All that is not set is invented from a seed. Numbers depend on the register or semantic that they are for, and not on
//! the program that reads them; types are those of the program that the inputs were made for. So another program with
//! the same interface reads the same.

use super::fill::{self, Leaf};
use super::hash::{self, hash, unit};
use super::number::encode;
use std::collections::BTreeMap;
use unshade_ir::fold::masked;
use unshade_ir::shader::data_type::{Packing, Scalar, ScalarKind};
use unshade_ir::shader::interface::{Element, Resource, ResourceClass, ShaderProgram, Shape, Stage};

/// The space of resources of the descriptor heap, whose registers are indices of the heap.
pub const HEAP: u32 = u32::MAX;

/// Number of elements of a structured or typed buffer.
const ELEMENTS: u32 = 64;

/// Bytes of a byte address buffer.
const RAW_BYTES: u32 = 4096;

/// The largest constant buffer.
const MAX_CONSTANTS: u32 = 1 << 16;

/// A place where a resource is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    /// The class, which decides the letter.
    pub class: ResourceClass,
    /// The number.
    pub number: u32,
    /// The register space; [`HEAP`] for the descriptor heap.
    pub space: u32,
}

impl std::fmt::Display for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = self.class.letter();
        match self.space {
            0 => write!(f, "{letter}{}", self.number),
            HEAP => write!(f, "heap {letter}{}", self.number),
            space => write!(f, "{letter}{}.space{space}", self.number),
        }
    }
}

/// What the registers of a resource hold.
#[derive(Clone, Debug)]
pub(super) struct Range {
    first: Register,
    count: Option<u32>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) stride: u32,
    elements: u32,
    /// The type of a component of a texel; `None` for memory that is bytes.
    texel: Option<Scalar>,
}

/// What is in a register.
pub(super) enum Contents {
    Bytes(Vec<u8>),
    /// Texels that are hashes of their place, with components of this type.
    Texels(Scalar),
}

/// The inputs of a run.
///
/// ```
/// use unshade_emulate::shader::{Inputs, Register};
/// use unshade_ir::shader::interface::{ResourceClass, ShaderProgram, Stage};
///
/// let program = ShaderProgram::new(Stage::Compute, (6, 0));
/// let mut inputs = Inputs::generated(&program, 1);
/// let register = Register { class: ResourceClass::ConstantBuffer, number: 0, space: 0 };
/// inputs.set_bytes(register, 1_f32.to_le_bytes().to_vec());
/// inputs.set_input("TEXCOORD", 0, vec![0.5, 0.25]);
/// inputs.groups = [2, 1, 1];
/// ```
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Number of groups of compute, mesh and amplification shaders.
    pub groups: [u32; 3],
    /// Number of vertices, primitives or points in the domain; pixels come in quads of 4.
    pub count: u32,
    pub(super) seed: u64,
    ranges: Vec<Range>,
    bytes: BTreeMap<Register, Vec<u8>>,
    values: BTreeMap<(String, u32), Vec<f64>>,
    scalars: BTreeMap<(bool, String, u32), Scalar>,
}

impl Inputs {
    /// Invents all inputs of a program.
    pub fn generated(program: &ShaderProgram, seed: u64) -> Self {
        let mut inputs = Self {
            groups: if matches!(program.stage, Stage::Mesh | Stage::Amplification) {
                [1; 3]
            } else {
                [2, 1, 1]
            },
            count: 8,
            seed,
            ranges: program.resources.iter().map(|resource| range(program, resource)).collect(),
            bytes: BTreeMap::new(),
            values: BTreeMap::new(),
            scalars: BTreeMap::new(),
        };
        for function in &program.functions {
            let inputs_of = function.inputs.iter().map(|element| (false, element));
            let patch = function.patch.iter().map(|element| (true, element));
            for (is_patch, element) in inputs_of.chain(patch) {
                for row in 0..element.rows() {
                    let key = (is_patch, semantic(element), index(element, row));
                    inputs.scalars.entry(key).or_insert(element.scalar);
                }
            }
        }
        inputs
    }

    /// Sets the bytes of a buffer. Elements of typed buffers have as many components as their type.
    pub fn set_bytes(&mut self, register: Register, bytes: Vec<u8>) {
        self.bytes.insert(register, bytes);
    }

    /// Sets the components of an input, for all vertices or pixels.
    pub fn set_input(&mut self, semantic: &str, index: u32, values: Vec<f64>) {
        self.values.insert((semantic.to_ascii_uppercase(), index), values);
    }

    /// Returns the registers and lengths of the buffers that the program reads as bytes, as far as their number is
    /// bounded.
    pub(super) fn range(&self, register: Register) -> Option<&Range> {
        self.ranges.iter().find(|range| {
            let is_inside =
                range.count.is_none_or(|count| register.number.wrapping_sub(range.first.number) < count);
            range.first.class == register.class
                && range.first.space == register.space
                && register.number >= range.first.number
                && is_inside
        })
    }

    /// Returns what is in a register at first.
    pub(super) fn contents(&self, register: Register, resource: &Resource) -> Contents {
        if let Some(bytes) = self.bytes.get(&register) {
            return Contents::Bytes(bytes.clone());
        }
        let invented;
        let range = match self.range(register) {
            Some(range) => range,
            None => {
                invented = untyped(resource, register);
                &invented
            }
        };
        match range.texel {
            Some(scalar) => Contents::Texels(scalar),
            None => {
                let of =
                    hash(&[register.class as u64, u64::from(register.space), u64::from(register.number)]);
                Contents::Bytes(fill::bytes(&range.leaves, range.stride, range.elements, self.seed, of))
            }
        }
    }

    /// Returns a component of an input, for a lane and a vertex of its primitive.
    pub(super) fn input(&self, of: &Reading<'_>, lane: u32, vertex: u64) -> u64 {
        let element = of.element;
        let (semantic, index) = (semantic(element), index(element, of.row));
        let key = (of.is_patch, semantic, index);
        let scalar = self.scalars.get(&key).copied().unwrap_or(element.scalar);
        let (_, semantic, _) = key;
        let values = self.values.get(&(semantic.clone(), index));
        if let Some(values) = values {
            let value = values.get(of.column).or(values.last()).copied().unwrap_or(0.0);
            return of_number(value, scalar);
        }
        if let Some(number) = system_value(&semantic, of, lane) {
            return of_number(number, scalar);
        }
        let key = hash(&[
            self.seed,
            u64::from(of.is_patch),
            hash::text(&semantic),
            u64::from(index),
            of.column as u64,
        ]);
        let is_flat = element.interpolation == "nointerpolation" || scalar.kind != ScalarKind::Float;
        match of.stage {
            Stage::Pixel if is_flat => {
                fill::number(scalar, self.seed, hash(&[key, u64::from(lane / 4), vertex]))
            }
            Stage::Pixel => {
                let (x, y) = pixel(lane);
                let slope = |number: u64| unit(hash(&[key, number])) * 0.25;
                let corner = unit(hash(&[key, 3, vertex])) * 2.0 - 0.5;
                encode(corner + slope(1) * x + slope(2) * y, scalar.bits)
            }
            // Patch constants and control points are the same for all lanes.
            Stage::Hull | Stage::Domain => fill::number(scalar, self.seed, hash(&[key, vertex])),
            _ => fill::number(scalar, self.seed, hash(&[key, u64::from(lane), vertex])),
        }
    }

    /// Returns a byte of the payload of a mesh.
    pub(super) fn payload(&self, size: u32) -> Vec<u8> {
        fill::bytes(&[], size.next_multiple_of(4), 1, self.seed, hash::text("payload"))
    }
}

/// A component of an input that is read.
pub(super) struct Reading<'e> {
    pub(super) stage: Stage,
    pub(super) element: &'e Element,
    pub(super) is_patch: bool,
    pub(super) row: usize,
    pub(super) column: usize,
}

/// Returns the place of a pixel: quads beside each other.
fn pixel(lane: u32) -> (f64, f64) {
    (f64::from(lane / 4 * 2 + lane % 2), f64::from(lane / 2 % 2))
}

/// Returns what a system value is in a lane, if its meaning decides it.
fn system_value(semantic: &str, of: &Reading<'_>, lane: u32) -> Option<f64> {
    let (x, y) = pixel(lane);
    Some(match (semantic, of.stage) {
        ("SV_POSITION", Stage::Pixel) => [x + 0.5, y + 0.5, 0.5, 1.0][of.column & 3],
        ("SV_ISFRONTFACE", _) => -1.0,
        ("SV_VERTEXID", _) => f64::from(lane),
        ("SV_INSTANCEID", _) => f64::from(lane % 3),
        ("SV_COVERAGE", _) => 15.0,
        ("SV_SAMPLEINDEX", _) => 1.0,
        _ => return None,
    })
}

/// Returns a number as bits of a type.
fn of_number(number: f64, scalar: Scalar) -> u64 {
    match scalar.kind {
        ScalarKind::Float => encode(number, scalar.bits),
        ScalarKind::Bool => u64::from(number != 0.0),
        _ => masked((number as i64).cast_unsigned(), scalar.bits),
    }
}

/// Returns the name of an element's semantic in upper case.
pub(super) fn semantic(element: &Element) -> String {
    element.semantic.to_ascii_uppercase()
}

/// Returns the index of the semantic of a row.
pub(super) fn index(element: &Element, row: usize) -> u32 {
    let first = element.indices.first().copied().unwrap_or(0);
    element.indices.get(row).copied().unwrap_or(first.wrapping_add(row as u32))
}

/// Describes what is in the registers of a resource.
fn range(program: &ShaderProgram, resource: &Resource) -> Range {
    let binding = resource.binding;
    let first = Register {
        class: resource.class,
        number: binding.map_or(0, |binding| binding.register),
        space: binding.map_or(HEAP, |binding| binding.space),
    };
    let mut range = untyped(resource, first);
    range.count = binding.and_then(|binding| binding.count);
    let packing = match resource.shape {
        Shape::ConstantBuffer | Shape::TextureBuffer => Packing::Constant,
        _ => Packing::Structured,
    };
    if let Some(element) = resource.element.as_ref().filter(|_| range.texel.is_none()) {
        let size = packing.size(element, &program.structs);
        if packing == Packing::Constant {
            range.stride = range.stride.max(size).next_multiple_of(16).min(MAX_CONSTANTS);
        } else if range.stride == 0 {
            range.stride = size;
        }
        range.leaves = fill::leaves(element, packing, &program.structs);
    }
    range
}

/// Describes what is in a register, without the members of its type.
fn untyped(resource: &Resource, first: Register) -> Range {
    let scalar = resource.element.as_ref().and_then(|element| element.scalar()).unwrap_or(Scalar::FLOAT);
    let (stride, elements, texel) = match resource.shape {
        Shape::ConstantBuffer | Shape::TextureBuffer => {
            (resource.size.next_multiple_of(16).min(MAX_CONSTANTS), 1, None)
        }
        Shape::StructuredBuffer => (resource.size.min(MAX_CONSTANTS), ELEMENTS, None),
        Shape::ByteAddressBuffer => (RAW_BYTES, 1, None),
        _ => (0, ELEMENTS, Some(scalar)),
    };
    Range { first, count: Some(1), leaves: Vec::new(), stride, elements, texel }
}
