//! What a target does its own way: inputs and outputs, resources, functions that are no instructions.

use crate::error::Result;
use naga::{
    AtomicFunction, Barrier, BuiltIn, DerivativeAxis, DerivativeControl, GlobalVariable, Handle,
    Interpolation, Sampling, Scalar,
};
use std::ops::DerefMut;
use unshade_llvm::ValueId;
use unshade_llvm::build::FunctionBuilder;

/// What an input or output of a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A value of the hardware.
    BuiltIn(BuiltIn),
    /// `@location(n)`
    Location {
        /// The number.
        location: u32,
        /// How it is interpolated.
        interpolation: Option<Interpolation>,
        /// Where in a pixel it is taken.
        sampling: Option<Sampling>,
        /// `@blend_src(n)`
        blend_source: Option<u32>,
    },
}

/// An input or output of a stage: a scalar or vector.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its place in the list of inputs or outputs.
    pub index: usize,
    /// The name in the source.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// The type of an element.
    pub scalar: Scalar,
    /// The number of elements.
    pub count: u8,
}

/// A place in a buffer, in bytes from its start.
#[derive(Clone, Debug, Default)]
pub struct Offset {
    /// The constant part.
    pub bytes: u32,
    /// Dynamic indices, `i32`, and the bytes that each counts.
    pub terms: Vec<(ValueId, u32)>,
}

/// Where an atomic is.
#[derive(Clone, Debug)]
pub enum AtomicPlace {
    /// In a buffer.
    Buffer(Handle<GlobalVariable>, Offset),
    /// In the memory of the workgroup: a pointer.
    Workgroup(ValueId),
}

/// Which level of a texture is sampled. Numbers are `float`s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// That which the fragments around need.
    Automatic,
    /// The first.
    Zero,
    /// The automatic one, changed by this.
    Bias(ValueId),
    /// This one.
    Exact(ValueId),
    /// That which these derivatives need.
    Gradient(Vec<ValueId>, Vec<ValueId>),
}

/// What is sampled.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The texture.
    pub image: Handle<GlobalVariable>,
    /// The sampler.
    pub sampler: Handle<GlobalVariable>,
    /// The coordinates: `float`s.
    pub coordinates: Vec<ValueId>,
    /// The index into an array of textures.
    pub array: Option<ValueId>,
    /// Constant offsets in texels.
    pub offset: Option<Vec<ValueId>>,
    /// The level.
    pub level: Level,
    /// The number that depths are compared with.
    pub reference: Option<ValueId>,
    /// The component that is gathered of four texels.
    pub gather: Option<u32>,
}

/// Which texel is read or written.
#[derive(Clone, Debug)]
pub struct Texel {
    /// The texture.
    pub image: Handle<GlobalVariable>,
    /// The coordinates: `i32`s.
    pub coordinates: Vec<ValueId>,
    /// The index into an array of textures.
    pub array: Option<ValueId>,
    /// The level that is read.
    pub level: Option<ValueId>,
    /// The sample that is read.
    pub sample: Option<ValueId>,
}

/// What a texture is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Query {
    /// Its size in each dimension, at a level.
    Size(Option<ValueId>),
    /// The number of levels.
    Levels,
    /// The number of textures of an array.
    Layers,
    /// The number of samples.
    Samples,
}

/// A function of numbers that targets have, perhaps under another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Function {
    Abs,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atan2,
    Atanh,
    Ceil,
    Cos,
    Cosh,
    CountLeadingZeros,
    CountOnes,
    CountTrailingZeros,
    Exp,
    Exp2,
    Floor,
    Fma,
    Log,
    Log2,
    Max,
    Min,
    Pow,
    ReverseBits,
    RoundEven,
    Rsqrt,
    Saturate,
    Sin,
    Sinh,
    Sqrt,
    Tan,
    Tanh,
    Trunc,
}

/// What a target does its own way. All values are scalars, and integers are `i32` unless a type is given.
pub trait Target<'m> {
    /// What builds the body of a function.
    type Body: DerefMut<Target = FunctionBuilder<'m>>;

    /// Ends a body.
    fn end(body: Self::Body) -> Result<()>;

    /// Returns the scalars of an input of the entry point.
    fn input(&mut self, b: &mut Self::Body, port: &Port) -> Result<Vec<ValueId>>;

    /// Returns the name of a variable of the workgroup.
    fn workgroup_name(&self, name: &str) -> String;

    /// Returns the index of the thread in its workgroup.
    fn local_index(&mut self, b: &mut Self::Body) -> Result<ValueId>;

    /// Writes the outputs of the entry point and returns.
    fn finish(&mut self, b: &mut Self::Body, outputs: &[(Port, Vec<ValueId>)]) -> Result<()>;

    /// Loads scalars that follow each other in a buffer.
    fn load(
        &mut self,
        b: &mut Self::Body,
        buffer: Handle<GlobalVariable>,
        at: &Offset,
        scalar: Scalar,
        count: u8,
    ) -> Result<Vec<ValueId>>;

    /// Stores scalars that follow each other in a buffer.
    fn store(
        &mut self,
        b: &mut Self::Body,
        buffer: Handle<GlobalVariable>,
        at: &Offset,
        scalar: Scalar,
        values: &[ValueId],
    ) -> Result<()>;

    /// Returns the size of a buffer in bytes.
    fn byte_length(&mut self, b: &mut Self::Body, buffer: Handle<GlobalVariable>) -> Result<ValueId>;

    /// Builds an atomic operation other than an exchange on a condition, and returns the value before it.
    fn atomic(
        &mut self,
        b: &mut Self::Body,
        place: &AtomicPlace,
        function: AtomicFunction,
        scalar: Scalar,
        value: ValueId,
    ) -> Result<ValueId>;

    /// Replaces an atomic if it has an expected value, and returns the value before it.
    fn compare_exchange(
        &mut self,
        b: &mut Self::Body,
        place: &AtomicPlace,
        scalar: Scalar,
        expected: ValueId,
        value: ValueId,
    ) -> Result<ValueId>;

    /// Loads an atomic.
    fn atomic_load(&mut self, b: &mut Self::Body, place: &AtomicPlace, scalar: Scalar) -> Result<ValueId>;

    /// Stores an atomic.
    fn atomic_store(
        &mut self,
        b: &mut Self::Body,
        place: &AtomicPlace,
        scalar: Scalar,
        value: ValueId,
    ) -> Result<()>;

    /// Converts between numbers whose values fit.
    fn convert(&mut self, b: &mut Self::Body, value: ValueId, from: Scalar, to: Scalar) -> Result<ValueId>;

    /// Rounds an `f32` to an `f16`, and returns its bits as an `i32`.
    fn half_bits(&mut self, b: &mut Self::Body, value: ValueId) -> Result<ValueId>;

    /// Returns the `f32` of the bits of an `f16`, which are the low ones of an `i32`.
    fn half_value(&mut self, b: &mut Self::Body, bits: ValueId) -> Result<ValueId>;

    /// Calls a function of numbers; `None` if the target does not have it for these.
    fn call(
        &mut self,
        b: &mut Self::Body,
        function: Function,
        scalar: Scalar,
        operands: &[ValueId],
    ) -> Result<Option<ValueId>>;

    /// Waits for the other threads of the workgroup, or orders accesses to memory only.
    fn barrier(&mut self, b: &mut Self::Body, memory: Barrier, waits: bool) -> Result<()>;

    /// Drops the fragment.
    fn discard(&mut self, b: &mut Self::Body) -> Result<()>;

    /// Returns a derivative in x or y.
    fn derivative(
        &mut self,
        b: &mut Self::Body,
        axis: DerivativeAxis,
        control: DerivativeControl,
        value: ValueId,
    ) -> Result<ValueId>;

    /// Samples or gathers; returns four numbers, or one if depths are sampled.
    fn sample(&mut self, b: &mut Self::Body, sample: &Sample) -> Result<Vec<ValueId>>;

    /// Reads a texel; returns four numbers, or one of a texture of depths.
    fn read(&mut self, b: &mut Self::Body, texel: &Texel) -> Result<Vec<ValueId>>;

    /// Writes four numbers to a texel.
    fn write(&mut self, b: &mut Self::Body, texel: &Texel, values: &[ValueId]) -> Result<()>;

    /// Returns what a texture is asked for.
    fn query(
        &mut self,
        b: &mut Self::Body,
        image: Handle<GlobalVariable>,
        query: Query,
    ) -> Result<Vec<ValueId>>;
}
