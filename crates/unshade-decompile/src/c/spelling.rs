//! The tables of words: what each [`Language`] calls intrinsics, special values and functions of its own.
//!
//! A row has a word for each language, in the order of [`Language::column`]. Names that [`prelude`](super::prelude) defines
//! are helpers: functions that CUDA lacks.

use super::language::Language;
use crate::ir::intrinsic::{AtomicOp, ByteOp, Reduction, Scope, ShuffleMode, Timer, Vote};
use crate::ir::math::MathFunction;
use crate::ir::special::LaneRelation;
use crate::ir::{
    Axis, Boundary, Image, ImageAccess, ImageShape, Intrinsic, Number, Rounding, Space, Special,
};
use std::borrow::Cow;

/// The number of languages.
const LANGUAGES: usize = 2;

/// The column of each.
pub(super) const CUDA_COLUMN: usize = 0;
pub(super) const CPP_COLUMN: usize = 1;

/// A row of a table: a word for each language.
type Words = [&'static str; LANGUAGES];

/// Intrinsics.
const INTRINSICS: &[(Intrinsic, Words)] = &[
    (Intrinsic::Abs(Number::I32), ["abs", "abs"]),
    (Intrinsic::Abs(Number::I64), ["llabs", "llabs"]),
    (Intrinsic::AssertFail, ["__assertfail", "assert_failed"]),
    (Intrinsic::AtomicSafeAdd, ["atomic_safe_add", "atomic_safe_add"]),
    (Intrinsic::Ballot, ["__ballot", "thread.ballot"]),
    (Intrinsic::Barrier, ["__syncthreads", "thread.barrier"]),
    (Intrinsic::BarrierArrive, ["barrier_arrive", "thread.barrier_arrive"]),
    (Intrinsic::BarrierReduce(Reduction::And), ["__syncthreads_and", "thread.barrier_and"]),
    (Intrinsic::BarrierReduce(Reduction::Count), ["__syncthreads_count", "thread.barrier_count"]),
    (Intrinsic::BarrierReduce(Reduction::Or), ["__syncthreads_or", "thread.barrier_or"]),
    (Intrinsic::BarrierSync, ["barrier_sync", "thread.barrier_sync"]),
    (Intrinsic::Bytes(ByteOp::Add), ["__vadd4", "add_bytes"]),
    (Intrinsic::Bytes(ByteOp::Difference), ["__vabsdiffu4", "byte_differences"]),
    (Intrinsic::Bytes(ByteOp::Min), ["__vminu4", "min_bytes"]),
    (Intrinsic::Bytes(ByteOp::SumOfDifferences), ["__vsadu4", "sum_of_byte_differences"]),
    (Intrinsic::ClampInteger, ["clamp_integer", "clamp_integer"]),
    (Intrinsic::Cosine, ["__cosf", "cos_rn"]),
    (Intrinsic::DivideIsHard(Number::F32), ["fdivide_is_hard", "fdivide_is_hard"]),
    (Intrinsic::DivideIsHard(Number::F64), ["ddivide_is_hard", "ddivide_is_hard"]),
    (Intrinsic::Double, ["double", "double"]),
    (Intrinsic::Fence(Scope::Block), ["__threadfence_block", "memory_fence"]),
    (Intrinsic::Fence(Scope::Device), ["__threadfence", "memory_fence"]),
    (Intrinsic::Fence(Scope::System), ["__threadfence_system", "memory_fence"]),
    (Intrinsic::FlushToZero, ["flush_to_zero", "flush_to_zero"]),
    (Intrinsic::Fma(Number::F32, Rounding::Nearest), ["fmaf", "fmaf"]),
    (Intrinsic::Fma(Number::F64, Rounding::Nearest), ["fma", "fma"]),
    (Intrinsic::FmaZeroWins, ["fma_zero_wins", "fma_zero_wins"]),
    (Intrinsic::Free, ["free", "free"]),
    (Intrinsic::HalfToFloat, ["half_to_float", "half_to_float"]),
    (Intrinsic::IsShared, ["__isShared", "thread.is_shared"]),
    (Intrinsic::Log2, ["__log2f", "log2_rn"]),
    (Intrinsic::Malloc, ["malloc", "malloc"]),
    (Intrinsic::Max(Number::F32), ["fmaxf", "max"]),
    (Intrinsic::Max(Number::F64), ["fmax", "max"]),
    (Intrinsic::Max(Number::I32), ["max", "max"]),
    (Intrinsic::Max(Number::I64), ["max", "max"]),
    (Intrinsic::Max(Number::U32), ["max", "max"]),
    (Intrinsic::Max(Number::U64), ["max", "max"]),
    (Intrinsic::Min(Number::F32), ["fminf", "min"]),
    (Intrinsic::Min(Number::F64), ["fmin", "min"]),
    (Intrinsic::Min(Number::I32), ["min", "min"]),
    (Intrinsic::Min(Number::I64), ["min", "min"]),
    (Intrinsic::Min(Number::U32), ["min", "min"]),
    (Intrinsic::Min(Number::U64), ["min", "min"]),
    (Intrinsic::MultiplyAddByDescriptor, ["mad_descriptor", "mad_descriptor"]),
    (Intrinsic::MultiplyHigh, ["__umul64hi", "multiply_high_long"]),
    (Intrinsic::MultiplyScaled, ["fmul_scaled", "fmul_scaled"]),
    (Intrinsic::MultiplyZeroWins, ["fmul_zero_wins", "fmul_zero_wins"]),
    (Intrinsic::OrIfNan, ["or_if_nan", "or_if_nan"]),
    (Intrinsic::PermuteBytes, ["__byte_perm", "permute_bytes"]),
    (Intrinsic::Printf, ["printf", "printf"]),
    (Intrinsic::ReciprocalHigh, ["reciprocal64_high", "reciprocal64_high"]),
    (Intrinsic::ReciprocalSqrtHigh, ["reciprocal_sqrt64_high", "reciprocal_sqrt64_high"]),
    (Intrinsic::ReverseBits, ["__brev", "reverse_bits"]),
    (Intrinsic::Round(Number::F32, Rounding::Down), ["floorf", "floorf"]),
    (Intrinsic::Round(Number::F32, Rounding::Nearest), ["rintf", "rintf"]),
    (Intrinsic::Round(Number::F32, Rounding::Up), ["ceilf", "ceilf"]),
    (Intrinsic::Round(Number::F32, Rounding::Zero), ["truncf", "truncf"]),
    (Intrinsic::Round(Number::F64, Rounding::Down), ["floor", "floor"]),
    (Intrinsic::Round(Number::F64, Rounding::Nearest), ["rint", "rint"]),
    (Intrinsic::Round(Number::F64, Rounding::Up), ["ceil", "ceil"]),
    (Intrinsic::Round(Number::F64, Rounding::Zero), ["trunc", "trunc"]),
    (Intrinsic::Saturate, ["__saturatef", "saturate"]),
    (Intrinsic::SelectBytes, ["select_bytes", "select_bytes"]),
    (Intrinsic::Shuffle(ShuffleMode::Down), ["__shfl_down", "thread.shuffle_down"]),
    (Intrinsic::Shuffle(ShuffleMode::Index), ["__shfl", "thread.shuffle"]),
    (Intrinsic::Shuffle(ShuffleMode::Up), ["__shfl_up", "thread.shuffle_up"]),
    (Intrinsic::Shuffle(ShuffleMode::Xor), ["__shfl_xor", "thread.shuffle_xor"]),
    (Intrinsic::ShuffleInside, ["shuffle_inside", "thread.shuffle_inside"]),
    (Intrinsic::ShuffleMasked, ["shuffle", "thread.shuffle_masked"]),
    (Intrinsic::Sine, ["__sinf", "sin_rn"]),
    (Intrinsic::SurfaceAddress, ["surface_address", "surface_address"]),
    (Intrinsic::SurfaceBitfield, ["surface_bitfield", "surface_bitfield"]),
    (Intrinsic::SurfaceBitfieldOutside, ["surface_bitfield_outside", "surface_bitfield_outside"]),
    (Intrinsic::SurfaceClamp, ["surface_clamp", "surface_clamp"]),
    (Intrinsic::SurfaceClampOutside, ["surface_clamp_outside", "surface_clamp_outside"]),
    (Intrinsic::Time(Timer::Clock), ["clock", "thread.clock_low"]),
    (Intrinsic::Time(Timer::ClockHigh), ["clock_high", "thread.clock_high"]),
    (Intrinsic::Time(Timer::Global), ["globaltimer_low", "thread.global_timer"]),
    (Intrinsic::Time(Timer::GlobalHigh), ["globaltimer_high", "thread.global_timer_high"]),
    (Intrinsic::ToHalf(Number::F32), ["float_to_half", "float_to_half"]),
    (Intrinsic::ToHalf(Number::F64), ["double_to_half", "double_to_half"]),
    (Intrinsic::Trap, ["__trap", "trap"]),
    (Intrinsic::VideoClamp, ["video_clamp", "video_clamp"]),
    (Intrinsic::VideoPart, ["video_part", "video_part"]),
    (Intrinsic::VideoSimd, ["video_simd", "video_simd"]),
    (Intrinsic::Vote(Vote::All), ["__all", "thread.all"]),
    (Intrinsic::Vote(Vote::Any), ["__any", "thread.any"]),
    (Intrinsic::VoteEqual, ["vote_equal", "thread.all_equal"]),
];

/// Atomic operations, whose operands have any type.
const ATOMICS: &[(AtomicOp, Words)] = &[
    (AtomicOp::Add, ["atomicAdd", "atomic_add"]),
    (AtomicOp::And, ["atomicAnd", "atomic_and"]),
    (AtomicOp::Dec, ["atomicDec", "atomic_dec"]),
    (AtomicOp::Exchange, ["atomicExch", "atomic_exchange"]),
    (AtomicOp::Inc, ["atomicInc", "atomic_inc"]),
    (AtomicOp::Max, ["atomicMax", "atomic_max"]),
    (AtomicOp::Min, ["atomicMin", "atomic_min"]),
    (AtomicOp::Or, ["atomicOr", "atomic_or"]),
    (AtomicOp::Xor, ["atomicXor", "atomic_xor"]),
];

/// Special values. The windows of shared and local memory are printed as the addresses of their arrays; that of constant
/// memory is printed only if no variable is known to be there.
const SPECIALS: &[(Special, Words)] = &[
    (Special::BlockIndex(Axis::X), ["blockIdx.x", "thread.block.x"]),
    (Special::BlockIndex(Axis::Y), ["blockIdx.y", "thread.block.y"]),
    (Special::BlockIndex(Axis::Z), ["blockIdx.z", "thread.block.z"]),
    (Special::BlockSize(Axis::X), ["blockDim.x", "thread.block_size.x"]),
    (Special::BlockSize(Axis::Y), ["blockDim.y", "thread.block_size.y"]),
    (Special::BlockSize(Axis::Z), ["blockDim.z", "thread.block_size.z"]),
    (Special::ConstantWindow, ["constant_window()", ""]),
    (Special::GridSize(Axis::X), ["gridDim.x", "thread.grid_size.x"]),
    (Special::GridSize(Axis::Y), ["gridDim.y", "thread.grid_size.y"]),
    (Special::GridSize(Axis::Z), ["gridDim.z", "thread.grid_size.z"]),
    (Special::Lane, ["laneid()", "thread.lane()"]),
    (Special::LaneMask(LaneRelation::Equal), ["lanemask_eq()", "thread.lane_mask_equal()"]),
    (Special::LaneMask(LaneRelation::Greater), ["lanemask_gt()", "thread.lane_mask_greater()"]),
    (Special::LaneMask(LaneRelation::GreaterEqual), ["lanemask_ge()", "thread.lane_mask_greater_equal()"]),
    (Special::LaneMask(LaneRelation::Less), ["lanemask_lt()", "thread.lane_mask_less()"]),
    (Special::LaneMask(LaneRelation::LessEqual), ["lanemask_le()", "thread.lane_mask_less_equal()"]),
    (Special::LocalWindow, ["", ""]),
    (Special::SharedWindow, ["", ""]),
    (Special::ThreadIndex(Axis::X), ["threadIdx.x", "thread.index.x"]),
    (Special::ThreadIndex(Axis::Y), ["threadIdx.y", "thread.index.y"]),
    (Special::ThreadIndex(Axis::Z), ["threadIdx.z", "thread.index.z"]),
    (Special::VirtualConfiguration, ["virtual_configuration()", "thread.virtual_configuration()"]),
    (Special::VirtualId, ["virtual_id()", "thread.virtual_id()"]),
];

/// A function that the printer calls for an operator or a conversion that C has no syntax for, or that a helper calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    CountOnes,
    CountOnesLong,
    DoubleOfBits,
    DoubleOfWords,
    FloatOfBits,
    FmaDown,
    FmaUp,
    FmaZero,
    HighHalf,
    IntBits,
    IsNan,
    LeadingZeros,
    LeadingZerosLong,
    LongBits,
    LowHalf,
    MultiplyHigh,
    MultiplyHighSigned,
    ProductOfDoubles,
    ProductOfFloats,
    ToFloatDown,
    ToFloatUp,
    ToFloatZero,
    UintBits,
}

/// The functions, in the order of [`Word`].
const WORDS: &[(Word, Words)] = &[
    (Word::CountOnes, ["__popc", "count_ones"]),
    (Word::CountOnesLong, ["__popcll", "count_ones_long"]),
    (Word::DoubleOfBits, ["__longlong_as_double", "double_of_bits"]),
    (Word::DoubleOfWords, ["__hiloint2double", "double_of_words"]),
    (Word::FloatOfBits, ["__int_as_float", "float_of_bits"]),
    (Word::FmaDown, ["__fmaf_rd", "fma_rd"]),
    (Word::FmaUp, ["__fmaf_ru", "fma_ru"]),
    (Word::FmaZero, ["__fmaf_rz", "fma_rz"]),
    (Word::HighHalf, ["__double2hiint", "high_word"]),
    (Word::IntBits, ["__float_as_int", "int_bits"]),
    (Word::IsNan, ["isnan", "std::isnan"]),
    (Word::LeadingZeros, ["__clz", "leading_zeros"]),
    (Word::LeadingZerosLong, ["__clzll", "leading_zeros_long"]),
    (Word::LongBits, ["__double_as_longlong", "long_bits"]),
    (Word::LowHalf, ["__double2loint", "low_word"]),
    (Word::MultiplyHigh, ["__umulhi", "multiply_high"]),
    (Word::MultiplyHighSigned, ["__mulhi", "multiply_high_signed"]),
    // A compiler would fuse `*` with the sum that it is part of.
    (Word::ProductOfDoubles, ["__dmul_rn", "multiply_rn"]),
    (Word::ProductOfFloats, ["__fmul_rn", "multiply_rn"]),
    (Word::ToFloatDown, ["__double2float_rd", "to_float_rd"]),
    (Word::ToFloatUp, ["__double2float_ru", "to_float_ru"]),
    (Word::ToFloatZero, ["__double2float_rz", "to_float_rz"]),
    (Word::UintBits, ["__float_as_uint", "uint_bits"]),
];

impl Language {
    /// Returns the name of a function.
    pub(super) fn word(&self, word: Word) -> &'static str {
        WORDS[word as usize].1[self.column]
    }

    /// Returns the name of an intrinsic.
    pub(super) fn intrinsic(&self, call: Intrinsic) -> Cow<'static, str> {
        if let Intrinsic::Atomic(op, _) = call {
            return Cow::Borrowed(self.entry(ATOMICS, &op));
        }
        match (self.composed)(call) {
            Some(name) => Cow::Owned(name),
            None => Cow::Borrowed(self.entry(INTRINSICS, &call)),
        }
    }

    /// Returns the expression of a special value; an empty one if there is none.
    pub(super) fn special(&self, special: Special) -> &'static str {
        self.entry(SPECIALS, &special)
    }

    fn entry<T: PartialEq>(&self, table: &'static [(T, Words)], key: &T) -> &'static str {
        table.iter().find(|row| row.0 == *key).map_or("", |row| row.1[self.column])
    }

    /// Returns the names of all functions of the tables.
    pub(super) fn function_names(&self) -> impl Iterator<Item = String> {
        let words = WORDS.iter().map(|row| row.1[self.column].to_owned());
        words.chain(Intrinsic::all().into_iter().map(|call| self.intrinsic(call).into_owned()))
    }
}

/// Returns CUDA's name of a function of the header for C++, if it is in the tables of functions.
pub(super) fn cuda_name(in_cpp: &str) -> Option<&'static str> {
    WORDS.iter().find(|row| row.1[CPP_COLUMN] == in_cpp).map(|row| row.1[CUDA_COLUMN])
}

/// Returns CUDA's name of an intrinsic with a rounding mode.
pub(super) fn cuda_family(call: Intrinsic) -> Option<String> {
    let letter = |ty: Number| if ty == Number::F32 { "f" } else { "d" };
    let number = |number: Number| match number {
        Number::I32 => "int",
        Number::U32 => "uint",
        Number::I64 => "ll",
        Number::U64 => "ull",
        Number::F32 => "float",
        Number::F64 => "double",
    };
    match call {
        Intrinsic::Add(ty, mode) => Some(format!("__{}add_{}", letter(ty), rounding(mode))),
        Intrinsic::Multiply(ty, mode) => Some(format!("__{}mul_{}", letter(ty), rounding(mode))),
        Intrinsic::Fma(ty, mode) if mode != Rounding::Nearest => {
            Some(format!("__fma{}_{}", suffix(ty), rounding(mode)))
        }
        Intrinsic::Convert(from, to, _) if !from.is_float() && !to.is_float() => None,
        Intrinsic::Convert(from, to, mode) => {
            Some(format!("__{}2{}_{}", number(from), number(to), rounding(mode)))
        }
        Intrinsic::Math(function, ty) if ty.is_float() => Some(format!("{function}{}", suffix(ty))),
        Intrinsic::Math2(function, ty) if ty.is_float() => Some(format!("{function}{}", suffix(ty))),
        Intrinsic::AtomicCompareExchange(_) => Some(String::from("atomicCAS")),
        _ => None,
    }
}

/// Returns the name of an intrinsic with a rounding mode in the header for C++, where functions are overloaded.
pub(super) fn cpp_family(call: Intrinsic) -> Option<String> {
    let number = |number: Number| match number {
        Number::I32 => "int",
        Number::U32 => "uint",
        Number::I64 => "long",
        Number::U64 => "ulong",
        Number::F32 => "float",
        Number::F64 => "double",
    };
    match call {
        Intrinsic::Add(_, mode) => Some(format!("add_{}", rounding(mode))),
        Intrinsic::Multiply(_, mode) => Some(format!("multiply_{}", rounding(mode))),
        Intrinsic::Fma(_, mode) if mode != Rounding::Nearest => Some(format!("fma_{}", rounding(mode))),
        Intrinsic::Convert(Number::F32 | Number::F64, to, mode) => {
            Some(format!("to_{}_{}", number(to), rounding(mode)))
        }
        Intrinsic::Convert(_, to, _) if !to.is_float() => None,
        // The type of an integer's expression may have the other sign.
        Intrinsic::Convert(from, to, mode) => {
            Some(format!("{}_to_{}_{}", number(from), number(to), rounding(mode)))
        }
        // The library of C does not have these.
        Intrinsic::Math(MathFunction::Exp10, Number::F32 | Number::F64) => Some(String::from("power_of_ten")),
        Intrinsic::Math(MathFunction::ReciprocalRoot, Number::F32 | Number::F64) => {
            Some(String::from("reciprocal_sqrt"))
        }
        Intrinsic::Math(MathFunction::SinePi, Number::F32 | Number::F64) => Some(String::from("sin_pi")),
        Intrinsic::Math(MathFunction::CosinePi, Number::F32 | Number::F64) => Some(String::from("cos_pi")),
        Intrinsic::Math(MathFunction::NormalDistribution, Number::F32 | Number::F64) => {
            Some(String::from("normal_distribution"))
        }
        Intrinsic::Math(function, ty) if ty.is_float() => Some(format!("{function}{}", suffix(ty))),
        Intrinsic::Math2(function, ty) if ty.is_float() => Some(format!("{function}{}", suffix(ty))),
        Intrinsic::AtomicCompareExchange(_) => Some(String::from("atomic_compare_exchange")),
        _ => None,
    }
}

/// Returns what the names of C's mathematical functions end with for a type.
fn suffix(ty: Number) -> &'static str {
    if ty == Number::F32 { "f" } else { "" }
}

fn rounding(mode: Rounding) -> &'static str {
    match mode {
        Rounding::Nearest => "rn",
        Rounding::Down => "rd",
        Rounding::Up => "ru",
        Rounding::Zero => "rz",
    }
}

/// Returns the name of the array that a memory space is printed as.
pub(super) fn array(space: Space) -> Cow<'static, str> {
    match space {
        Space::Shared | Space::Generic => Cow::Borrowed("shared"),
        Space::Local => Cow::Borrowed("local"),
        Space::Constant(bank) => Cow::Owned(format!("constant_{}", bank.min(17))),
    }
}

/// Returns what distinguishes the names of CUDA's functions and types for a shape.
fn cuda_shape(shape: ImageShape) -> &'static str {
    match shape {
        ImageShape::Line => "1D",
        ImageShape::LineArray => "1DLayered",
        ImageShape::Plane => "2D",
        ImageShape::PlaneArray => "2DLayered",
        ImageShape::Volume => "3D",
        ImageShape::Cube => "Cubemap",
        ImageShape::CubeArray => "CubemapLayered",
    }
}

/// Returns CUDA's function that accesses an image.
pub(super) fn cuda_image(image: &Image, is_write: bool) -> Option<String> {
    let shape = cuda_shape(image.shape);
    Some(match image.access {
        ImageAccess::Sample => format!("tex{shape}"),
        ImageAccess::SampleLevel => format!("tex{shape}Lod"),
        ImageAccess::Fetch => format!("tex{shape}fetch"),
        ImageAccess::Gather => format!("tex{shape}gather"),
        ImageAccess::Surface => format!("surf{shape}{}", if is_write { "write" } else { "read" }),
    })
}

/// Returns CUDA's type of a texture or surface reference.
pub(super) fn cuda_image_type(image: &Image, element: &str) -> String {
    let shape = cuda_shape(image.shape);
    if image.is_surface() {
        format!("surface<void, cudaSurfaceType{shape}>")
    } else {
        format!("texture<{element}, cudaTextureType{shape}>")
    }
}

/// Returns CUDA's last argument of a surface access, unless it is the default.
pub(super) fn cuda_boundary(boundary: Boundary) -> Option<&'static str> {
    match boundary {
        Boundary::Trap => None,
        Boundary::Clamp => Some("cudaBoundaryModeClamp"),
        Boundary::Zero => Some("cudaBoundaryModeZero"),
    }
}

/// Returns the function of the header for C++ that accesses an image. It has no cubes and no gathers.
pub(super) fn cpp_image(image: &Image, is_write: bool) -> Option<String> {
    let shape = match image.shape {
        ImageShape::Line => "1d",
        ImageShape::LineArray => "1d_array",
        ImageShape::Plane => "2d",
        ImageShape::PlaneArray => "2d_array",
        ImageShape::Volume => "3d",
        ImageShape::Cube | ImageShape::CubeArray => return None,
    };
    match (image.access, image.shape) {
        (ImageAccess::Sample, _) => Some(format!("sample_{shape}")),
        (ImageAccess::SampleLevel, _) => Some(format!("sample_level_{shape}")),
        (ImageAccess::Fetch, ImageShape::Line) => Some(String::from("fetch_1d")),
        (ImageAccess::Fetch | ImageAccess::Gather, _) => None,
        (ImageAccess::Surface, _) => Some(format!("{}_{shape}", if is_write { "write" } else { "read" })),
    }
}

/// Returns the type of a variable of C++ that refers to an image.
pub(super) fn cpp_image_type(image: &Image, element: &str) -> String {
    if image.is_surface() { String::from("Surface") } else { format!("Texture<{element}>") }
}

/// Returns the last argument of a surface access in C++, unless it is the default.
pub(super) fn cpp_boundary(boundary: Boundary) -> Option<&'static str> {
    match boundary {
        Boundary::Trap => None,
        Boundary::Clamp => Some("CLAMP"),
        Boundary::Zero => Some("ZERO"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::{CPP, CUDA};
    use crate::ir::math::MathFunction2;

    #[test]
    fn languages_have_words_for_the_same() {
        let mut count = 0;
        for call in Intrinsic::all() {
            // Some families have no members for some types.
            let has_name = !CUDA.intrinsic(call).is_empty();
            assert_eq!(!CPP.intrinsic(call).is_empty(), has_name, "{call}");
            count += usize::from(has_name);
        }
        assert!(count > 250, "{count}");
        for special in Special::all() {
            let is_array = matches!(special, Special::SharedWindow | Special::LocalWindow);
            assert_eq!(CUDA.special(special).is_empty(), is_array, "{special}");
            let is_missing = special == Special::ConstantWindow;
            assert_eq!(CPP.special(special).is_empty(), is_array || is_missing, "{special}");
        }
    }

    #[test]
    fn words_are_in_the_order_of_their_names() {
        for (index, row) in WORDS.iter().enumerate() {
            assert_eq!(row.0 as usize, index, "{:?}", row.0);
        }
    }

    /// Returns whether the header for C++ declares a function.
    fn is_declared(name: &str) -> bool {
        let header = CPP.header.as_ref().map_or("", |header| header.text);
        let stem = name.rsplit_once('_').map_or(name, |(stem, _)| stem);
        let member = name.strip_prefix("thread.").unwrap_or(name);
        let names = [format!(" {member}("), format!(" {stem}_##N("), format!("({name}, ")];
        // The macro of conversions to floats takes what precedes the type of the result.
        let is_conversion = stem.rsplit_once('_').is_some_and(|(from, to)| {
            header.contains(&format!(", {from}, N, M)")) && header.contains(&format!(" FROM##_{to}_##N("))
        });
        is_conversion || names.iter().any(|name| header.contains(name))
    }

    #[test]
    fn the_header_declares_what_is_not_in_the_library_of_c() {
        const LIBRARY: &str = "abs llabs double exp2f fmaf fma free malloc printf rintf floorf ceilf truncf \
                               rint floor ceil trunc std::isnan";
        let is_in_library = |name: &str| {
            let is_function =
                |name| MathFunction::by_name(name).is_some() || MathFunction2::by_name(name).is_some();
            let is_math = is_function(name) || name.strip_suffix('f').is_some_and(is_function);
            is_math || LIBRARY.split_whitespace().any(|word| word == name)
        };
        for name in CPP.function_names().filter(|name| !name.is_empty()) {
            assert!(is_in_library(&name) || is_declared(&name), "{name}");
        }
        for special in Special::all() {
            let name = CPP.special(special);
            let Some(member) = name.strip_prefix("thread.") else { continue };
            let is_field = member.split_once('.').is_some();
            assert!(is_field || is_declared(name.trim_end_matches("()")), "{name}");
        }
    }

    #[test]
    fn names_follow_the_types() {
        for (call, cuda, cpp) in [
            (Intrinsic::Add(Number::F64, Rounding::Zero), "__dadd_rz", "add_rz"),
            (Intrinsic::Fma(Number::F32, Rounding::Up), "__fmaf_ru", "fma_ru"),
            (Intrinsic::Convert(Number::F32, Number::I64, Rounding::Down), "__float2ll_rd", "to_long_rd"),
            (Intrinsic::Max(Number::U64), "max", "max"),
            (Intrinsic::Atomic(AtomicOp::Exchange, Number::F32), "atomicExch", "atomic_exchange"),
        ] {
            assert_eq!((&*CUDA.intrinsic(call), &*CPP.intrinsic(call)), (cuda, cpp));
        }
    }
}
