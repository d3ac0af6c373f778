//! What a shader wrote, and the comparison with what another one wrote.

use super::inputs::Register;
use std::collections::BTreeMap;
use unshade_ir::shader::data_type::{Scalar, ScalarKind};

/// A component of an output: semantic in upper case, its index, column.
pub type Semantic = (String, u32, u8);

/// A number, and how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Its bits.
    pub bits: u64,
    /// Its type.
    pub scalar: Scalar,
}

/// What happened to a stream of vertices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// A vertex was appended to this stream.
    Vertex(u32, BTreeMap<Semantic, Number>),
    /// The strip of this stream ended.
    Cut(u32),
}

/// The outputs of a mesh shader's group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mesh {
    /// The number of vertices and primitives.
    pub counts: [u32; 2],
    /// Outputs of vertices.
    pub vertices: BTreeMap<(u32, Semantic), Number>,
    /// Outputs of primitives.
    pub primitives: BTreeMap<(u32, Semantic), Number>,
    /// Vertices of primitives.
    pub indices: BTreeMap<u32, [u64; 3]>,
}

/// What a run wrote.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The outputs of each vertex, pixel, control point or point of the domain; `None` for pixels that were discarded.
    pub lanes: Vec<Option<BTreeMap<Semantic, Number>>>,
    /// Patch constants.
    pub patch: BTreeMap<Semantic, Number>,
    /// Vertices of a geometry shader, for each primitive and instance.
    pub streams: Vec<Vec<StreamEvent>>,
    /// The groups of a mesh shader.
    pub meshes: Vec<Mesh>,
    /// The groups that an amplification shader started, each with the payload.
    pub dispatches: Vec<([u32; 3], Vec<u8>)>,
    /// Buffers that were written.
    pub buffers: BTreeMap<Register, Vec<u8>>,
    /// Texels that were written, by coordinates and sample: components and their type.
    pub texels: BTreeMap<Register, BTreeMap<[u32; 5], [Number; 4]>>,
    /// Counters of buffers that were used.
    pub counters: BTreeMap<Register, u32>,
}

/// How much the outputs of two runs differ.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Numbers that were compared.
    pub numbers: usize,
    /// Numbers that have the same bits.
    pub equal: usize,
    /// Floats that are nearly the same.
    pub near: usize,
    /// The largest distance of floats that are nearly the same, in units of the last place.
    pub largest_distance: u64,
    /// Places that differ, the first ones of them, with both numbers.
    pub differences: Vec<String>,
    /// Number of places that differ.
    pub different: usize,
}

/// Maximum number of differences that are described.
const MAX_DIFFERENCES: usize = 8;

/// The largest relative difference of floats that are nearly the same, and the same for small numbers.
const RELATIVE: f64 = 1e-4;

/// The largest absolute difference of small floats that are nearly the same.
const ABSOLUTE: f64 = 1e-5;

impl Comparison {
    /// Returns whether all numbers are the same or nearly so.
    pub fn is_near(&self) -> bool {
        self.different == 0
    }

    /// Returns whether all numbers have the same bits.
    pub fn is_equal(&self) -> bool {
        self.different == 0 && self.near == 0
    }

    fn differ(&mut self, text: impl FnOnce() -> String) {
        self.different += 1;
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(text());
        }
    }

    fn count(&mut self, place: &dyn Fn() -> String, a: Number, b: Number) {
        self.numbers += 1;
        let scalar = a.scalar;
        match distance(a.bits, b.bits, scalar) {
            Some(0) => self.equal += 1,
            Some(distance) => {
                self.near += 1;
                self.largest_distance = self.largest_distance.max(distance);
            }
            None => self.differ(|| format!("{}: {} became {}", place(), shown(a), shown(b))),
        }
    }

    fn numbers<K: Ord + std::fmt::Debug>(
        &mut self,
        name: &str,
        a: &BTreeMap<K, Number>,
        b: &BTreeMap<K, Number>,
        is_zero_absent: bool,
    ) {
        for (key, &number) in a {
            let place = || format!("{name} {key:?}");
            match b.get(key) {
                Some(&other) => self.count(&place, number, other),
                None if is_zero_absent && number.bits == 0 => self.equal += 1,
                None => self.differ(|| format!("{}: {} is missing", place(), shown(number))),
            }
        }
    }

    fn same<T: PartialEq + std::fmt::Debug>(&mut self, name: &str, a: &T, b: &T) {
        self.numbers += 1;
        if a == b { self.equal += 1 } else { self.differ(|| format!("{name}: {a:?} became {b:?}")) }
    }
}

/// Returns the distance of two numbers; `None` if they are not nearly the same.
fn distance(a: u64, b: u64, scalar: Scalar) -> Option<u64> {
    if a == b {
        return Some(0);
    }
    if scalar.kind != ScalarKind::Float {
        return None;
    }
    let (x, y) = (super::number::decode(a, scalar.bits), super::number::decode(b, scalar.bits));
    if x.is_nan() && y.is_nan() || x == y {
        return Some(0);
    }
    let tolerance = if scalar.bits == 16 { 1e-2 } else { RELATIVE };
    let is_near = (x - y).abs() <= ABSOLUTE.max(tolerance * x.abs().max(y.abs()));
    // Bits in the order of the numbers.
    let order = |bits: u64| {
        let top = 1_i64 << (scalar.bits.clamp(1, 63) - 1);
        let bits = bits.cast_signed();
        if bits & top != 0 { (top - 1) - bits } else { bits }
    };
    (is_near && x.is_finite() && y.is_finite()).then(|| order(a).abs_diff(order(b)).max(1))
}

/// Returns a number as text.
pub(super) fn shown(number: Number) -> String {
    match number.scalar.kind {
        ScalarKind::Float if number.scalar.bits == 64 => format!("{:?}", f64::from_bits(number.bits)),
        // Numbers of fewer bits need fewer digits.
        ScalarKind::Float => format!("{:?}", super::number::decode(number.bits, number.scalar.bits) as f32),
        ScalarKind::Signed => unshade_ir::fold::signed(number.bits, number.scalar.bits).to_string(),
        _ => number.bits.to_string(),
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&shown(*self))
    }
}

impl Outputs {
    /// Compares with the outputs of another program. What only the other one wrote does not count.
    pub fn compare(&self, other: &Self) -> Comparison {
        let mut found = Comparison::default();
        found.same("number of lanes", &self.lanes.len(), &other.lanes.len());
        for (number, (a, b)) in self.lanes.iter().zip(&other.lanes).enumerate() {
            let name = format!("lane {number}");
            match (a, b) {
                (Some(a), Some(b)) => found.numbers(&name, a, b, false),
                (a, b) => found.same(&name, &a.is_some(), &b.is_some()),
            }
        }
        found.numbers("patch", &self.patch, &other.patch, false);
        for (number, (a, b)) in self.streams.iter().zip(&other.streams).enumerate() {
            found.same(&format!("primitive {number}: number of vertices"), &a.len(), &b.len());
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                let name = format!("primitive {number}, vertex {at}");
                match (a, b) {
                    (StreamEvent::Vertex(x, a), StreamEvent::Vertex(y, b)) if x == y => {
                        found.numbers(&name, a, b, false);
                    }
                    (a, b) => found.same(&name, a, b),
                }
            }
        }
        for (number, (a, b)) in self.meshes.iter().zip(&other.meshes).enumerate() {
            let name = format!("mesh {number}");
            found.same(&name, &a.counts, &b.counts);
            found.same(&name, &a.indices, &b.indices);
            found.numbers(&name, &a.vertices, &b.vertices, false);
            found.numbers(&name, &a.primitives, &b.primitives, false);
        }
        found.same("dispatches", &self.dispatches, &other.dispatches);
        self.compare_memory(other, &mut found);
        found
    }

    fn compare_memory(&self, other: &Self, found: &mut Comparison) {
        for (register, a) in &self.buffers {
            let name = register.to_string();
            let Some(b) = other.buffers.get(register) else {
                found.differ(|| format!("{name} is not written"));
                continue;
            };
            found.same(&name, &a.len(), &b.len());
            for (at, (a, b)) in a.chunks(4).zip(b.chunks(4)).enumerate() {
                let [a, b] =
                    [a, b].map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)));
                // Words that look like floats are compared as such.
                let is_float =
                    [a, b].iter().all(|bits| *bits == 0 || (64..192).contains(&(bits >> 23 & 0xff)));
                let scalar = if is_float { Scalar::FLOAT } else { Scalar::UINT };
                let [a, b] = [a, b].map(|bits| Number { bits, scalar });
                found.count(&|| format!("{name} byte {}", 4 * at), a, b);
            }
        }
        for (register, a) in &self.texels {
            let empty = BTreeMap::new();
            let b = other.texels.get(register).unwrap_or(&empty);
            for (place, a) in a {
                let Some(b) = b.get(place) else {
                    found.differ(|| format!("{register} {place:?} is not written"));
                    continue;
                };
                for (component, (a, b)) in a.iter().zip(b).enumerate() {
                    found.count(&|| format!("{register} {place:?}.{component}"), *a, *b);
                }
            }
            if b.len() > a.len() {
                found.differ(|| format!("{register}: {} texels became {}", a.len(), b.len()));
            }
        }
        for register in other.buffers.keys().filter(|register| !self.buffers.contains_key(register)) {
            found.differ(|| format!("{register} is written"));
        }
        found.same("counters", &self.counters, &other.counters);
    }
}
