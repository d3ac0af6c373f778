//! What CUDA C calls intrinsics, special values and accesses of images.
//!
//! Helpers are functions that CUDA lacks: [`prelude`](super::prelude) defines them.

use crate::ir::intrinsic::{AtomicOp, ByteOp, Reduction, Scope, ShuffleMode, Timer, Vote};
use crate::ir::special::LaneRelation;
use crate::ir::{
    Axis, Boundary, Image, ImageAccess, ImageShape, Intrinsic, Number, Rounding, Space, Special,
};
use std::borrow::Cow;

/// The name of a function or value.
pub(super) enum Spelling {
    /// CUDA's name.
    Cuda(Cow<'static, str>),
    /// The name of a helper.
    Helper(&'static str),
}

const fn cuda(name: &'static str) -> Spelling {
    Spelling::Cuda(Cow::Borrowed(name))
}

/// Intrinsics that CUDA has under one name.
const CUDA: &[(Intrinsic, &str)] = &[
    (Intrinsic::Abs(Number::I32), "abs"),
    (Intrinsic::Abs(Number::I64), "llabs"),
    (Intrinsic::Ballot, "__ballot"),
    (Intrinsic::Barrier, "__syncthreads"),
    (Intrinsic::BarrierReduce(Reduction::And), "__syncthreads_and"),
    (Intrinsic::BarrierReduce(Reduction::Count), "__syncthreads_count"),
    (Intrinsic::BarrierReduce(Reduction::Or), "__syncthreads_or"),
    (Intrinsic::Bytes(ByteOp::Add), "__vadd4"),
    (Intrinsic::Bytes(ByteOp::Difference), "__vabsdiffu4"),
    (Intrinsic::Bytes(ByteOp::Min), "__vminu4"),
    (Intrinsic::Bytes(ByteOp::SumOfDifferences), "__vsadu4"),
    (Intrinsic::Cosine, "__cosf"),
    (Intrinsic::Double, "double"),
    (Intrinsic::Exp2, "exp2f"),
    (Intrinsic::Fence(Scope::Block), "__threadfence_block"),
    (Intrinsic::Fence(Scope::Device), "__threadfence"),
    (Intrinsic::Fence(Scope::System), "__threadfence_system"),
    (Intrinsic::Fma(Number::F32, Rounding::Nearest), "fmaf"),
    (Intrinsic::Fma(Number::F64, Rounding::Nearest), "fma"),
    (Intrinsic::Free, "free"),
    (Intrinsic::Log2, "__log2f"),
    (Intrinsic::Malloc, "malloc"),
    (Intrinsic::Max(Number::F32), "fmaxf"),
    (Intrinsic::Max(Number::F64), "fmax"),
    (Intrinsic::Min(Number::F32), "fminf"),
    (Intrinsic::Min(Number::F64), "fmin"),
    (Intrinsic::MultiplyHigh, "__umul64hi"),
    (Intrinsic::PermuteBytes, "__byte_perm"),
    (Intrinsic::Printf, "printf"),
    (Intrinsic::ReciprocalSqrt, "rsqrtf"),
    (Intrinsic::ReverseBits, "__brev"),
    (Intrinsic::Round(Number::F32, Rounding::Nearest), "rintf"),
    (Intrinsic::Round(Number::F32, Rounding::Down), "floorf"),
    (Intrinsic::Round(Number::F32, Rounding::Up), "ceilf"),
    (Intrinsic::Round(Number::F32, Rounding::Zero), "truncf"),
    (Intrinsic::Round(Number::F64, Rounding::Nearest), "rint"),
    (Intrinsic::Round(Number::F64, Rounding::Down), "floor"),
    (Intrinsic::Round(Number::F64, Rounding::Up), "ceil"),
    (Intrinsic::Round(Number::F64, Rounding::Zero), "trunc"),
    (Intrinsic::Saturate, "__saturatef"),
    (Intrinsic::Shuffle(ShuffleMode::Index), "__shfl"),
    (Intrinsic::Shuffle(ShuffleMode::Up), "__shfl_up"),
    (Intrinsic::Shuffle(ShuffleMode::Down), "__shfl_down"),
    (Intrinsic::Shuffle(ShuffleMode::Xor), "__shfl_xor"),
    (Intrinsic::Sine, "__sinf"),
    (Intrinsic::Time(Timer::Clock), "clock"),
    (Intrinsic::Trap, "__trap"),
    (Intrinsic::Vote(Vote::All), "__all"),
    (Intrinsic::Vote(Vote::Any), "__any"),
];

/// Intrinsics that are helpers.
const HELPERS: &[(Intrinsic, &str)] = &[
    (Intrinsic::AssertFail, "__assertfail"),
    (Intrinsic::AtomicSafeAdd, "atomic_safe_add"),
    (Intrinsic::BarrierArrive, "barrier_arrive"),
    (Intrinsic::BarrierSync, "barrier_sync"),
    (Intrinsic::ClampInteger, "clamp_integer"),
    (Intrinsic::DivideIsHard(Number::F32), "fdivide_is_hard"),
    (Intrinsic::DivideIsHard(Number::F64), "ddivide_is_hard"),
    (Intrinsic::FlushToZero, "flush_to_zero"),
    (Intrinsic::FmaZeroWins, "fma_zero_wins"),
    (Intrinsic::HalfToFloat, "half_to_float"),
    (Intrinsic::MultiplyAddByDescriptor, "mad_descriptor"),
    (Intrinsic::MultiplyScaled, "fmul_scaled"),
    (Intrinsic::MultiplyZeroWins, "fmul_zero_wins"),
    (Intrinsic::OrIfNan, "or_if_nan"),
    (Intrinsic::ReciprocalHigh, "reciprocal64_high"),
    (Intrinsic::ReciprocalSqrtHigh, "reciprocal_sqrt64_high"),
    (Intrinsic::SelectBytes, "select_bytes"),
    (Intrinsic::ShuffleInside, "shuffle_inside"),
    (Intrinsic::ShuffleMasked, "shuffle"),
    (Intrinsic::SurfaceAddress, "surface_address"),
    (Intrinsic::SurfaceBitfield, "surface_bitfield"),
    (Intrinsic::SurfaceBitfieldOutside, "surface_bitfield_outside"),
    (Intrinsic::SurfaceClamp, "surface_clamp"),
    (Intrinsic::SurfaceClampOutside, "surface_clamp_outside"),
    (Intrinsic::Time(Timer::ClockHigh), "clock_high"),
    (Intrinsic::Time(Timer::Global), "globaltimer_low"),
    (Intrinsic::Time(Timer::GlobalHigh), "globaltimer_high"),
    (Intrinsic::ToHalf(Number::F32), "float_to_half"),
    (Intrinsic::ToHalf(Number::F64), "double_to_half"),
    (Intrinsic::VideoClamp, "video_clamp"),
    (Intrinsic::VideoPart, "video_part"),
    (Intrinsic::VideoSimd, "video_simd"),
    (Intrinsic::VoteEqual, "vote_equal"),
];

/// Returns the name of an intrinsic.
pub(super) fn intrinsic(call: Intrinsic) -> Spelling {
    let composed = match call {
        Intrinsic::Min(_) | Intrinsic::Max(_) => None,
        Intrinsic::Add(ty, mode) => Some(format!("__{}add_{}", letter(ty), rounding(mode))),
        Intrinsic::Multiply(ty, mode) => Some(format!("__{}mul_{}", letter(ty), rounding(mode))),
        Intrinsic::Fma(ty, mode) if mode != Rounding::Nearest => {
            let suffix = if ty == Number::F32 { "f" } else { "" };
            Some(format!("__fma{suffix}_{}", rounding(mode)))
        }
        Intrinsic::Convert(from, to, mode) => {
            Some(format!("__{}2{}_{}", number(from), number(to), rounding(mode)))
        }
        Intrinsic::Atomic(op, _) => return cuda(atomic(op)),
        Intrinsic::AtomicCompareExchange(_) => return cuda("atomicCAS"),
        _ => None,
    };
    if let Some(name) = composed {
        return Spelling::Cuda(Cow::Owned(name));
    }
    let name_in =
        |table: &'static [(Intrinsic, &'static str)]| table.iter().find(|row| row.0 == call).map(|row| row.1);
    match (name_in(CUDA), call) {
        (Some(name), _) => cuda(name),
        (None, Intrinsic::Min(_)) => cuda("min"),
        (None, Intrinsic::Max(_)) => cuda("max"),
        _ => Spelling::Helper(name_in(HELPERS).unwrap_or_default()),
    }
}

fn letter(ty: Number) -> &'static str {
    if ty == Number::F32 { "f" } else { "d" }
}

fn number(number: Number) -> &'static str {
    match number {
        Number::I32 => "int",
        Number::U32 => "uint",
        Number::I64 => "ll",
        Number::U64 => "ull",
        Number::F32 => "float",
        Number::F64 => "double",
    }
}

fn rounding(mode: Rounding) -> &'static str {
    match mode {
        Rounding::Nearest => "rn",
        Rounding::Down => "rd",
        Rounding::Up => "ru",
        Rounding::Zero => "rz",
    }
}

fn atomic(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Add => "atomicAdd",
        AtomicOp::Min => "atomicMin",
        AtomicOp::Max => "atomicMax",
        AtomicOp::Inc => "atomicInc",
        AtomicOp::Dec => "atomicDec",
        AtomicOp::And => "atomicAnd",
        AtomicOp::Or => "atomicOr",
        AtomicOp::Xor => "atomicXor",
        AtomicOp::Exchange => "atomicExch",
    }
}

/// Returns the name of a special value.
pub(super) fn special(special: Special) -> Spelling {
    const AXES: [[&str; 4]; 3] = [
        ["threadIdx.x", "blockIdx.x", "blockDim.x", "gridDim.x"],
        ["threadIdx.y", "blockIdx.y", "blockDim.y", "gridDim.y"],
        ["threadIdx.z", "blockIdx.z", "blockDim.z", "gridDim.z"],
    ];
    let on = |axis: Axis, index: usize| cuda(AXES[axis as usize][index]);
    match special {
        Special::ThreadIndex(axis) => on(axis, 0),
        Special::BlockIndex(axis) => on(axis, 1),
        Special::BlockSize(axis) => on(axis, 2),
        Special::GridSize(axis) => on(axis, 3),
        Special::Lane => Spelling::Helper("laneid"),
        Special::LaneMask(LaneRelation::Equal) => Spelling::Helper("lanemask_eq"),
        Special::LaneMask(LaneRelation::Less) => Spelling::Helper("lanemask_lt"),
        Special::LaneMask(LaneRelation::LessEqual) => Spelling::Helper("lanemask_le"),
        Special::LaneMask(LaneRelation::Greater) => Spelling::Helper("lanemask_gt"),
        Special::LaneMask(LaneRelation::GreaterEqual) => Spelling::Helper("lanemask_ge"),
        // Printed as the address of the array.
        Special::SharedWindow | Special::LocalWindow => cuda(""),
        // CUDA has no name for it: it is printed only if no variable is known to be there.
        Special::ConstantWindow => cuda("constant_window()"),
        Special::VirtualId => Spelling::Helper("virtual_id"),
        Special::VirtualConfiguration => Spelling::Helper("virtual_configuration"),
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

/// Returns what distinguishes the names of functions and types for a shape.
fn shape(shape: ImageShape) -> &'static str {
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

/// Returns the name of the function that accesses an image.
pub(super) fn image(image: &Image, is_write: bool) -> String {
    let shape = shape(image.shape);
    match image.access {
        ImageAccess::Sample => format!("tex{shape}"),
        ImageAccess::SampleLevel => format!("tex{shape}Lod"),
        ImageAccess::Fetch => format!("tex{shape}fetch"),
        ImageAccess::Gather => format!("tex{shape}gather"),
        ImageAccess::Surface => format!("surf{shape}{}", if is_write { "write" } else { "read" }),
    }
}

/// Returns the name of the shape in the type of a reference.
pub(super) fn image_shape(image: &Image) -> String {
    format!("cuda{}Type{}", if image.is_surface() { "Surface" } else { "Texture" }, shape(image.shape))
}

/// Returns the last argument of a surface access, unless it is CUDA's default.
pub(super) fn boundary(boundary: Boundary) -> Option<&'static str> {
    match boundary {
        Boundary::Trap => None,
        Boundary::Clamp => Some("cudaBoundaryModeClamp"),
        Boundary::Zero => Some("cudaBoundaryModeZero"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::prelude;

    #[test]
    fn helpers_are_defined() {
        for (intrinsic, name) in HELPERS {
            assert!(prelude::text(name).is_some(), "{intrinsic}");
        }
        for special in Special::all() {
            if let Spelling::Helper(name) = super::special(special) {
                assert!(prelude::text(name).is_some(), "{special}");
            }
        }
    }

    #[test]
    fn names_follow_the_types() {
        let name = |call| match intrinsic(call) {
            Spelling::Cuda(name) => name.into_owned(),
            Spelling::Helper(name) => String::from(name),
        };
        assert_eq!(name(Intrinsic::Add(Number::F64, Rounding::Zero)), "__dadd_rz");
        assert_eq!(name(Intrinsic::Fma(Number::F32, Rounding::Up)), "__fmaf_ru");
        assert_eq!(name(Intrinsic::Convert(Number::F32, Number::I64, Rounding::Down)), "__float2ll_rd");
        assert_eq!(name(Intrinsic::Max(Number::U64)), "max");
        assert_eq!(name(Intrinsic::Atomic(AtomicOp::Exchange, Number::F32)), "atomicExch");
    }
}
