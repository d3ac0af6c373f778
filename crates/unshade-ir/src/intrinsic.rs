//! Operations that are no operators of the usual kind: with a rounding mode, between the threads of a warp or block,
//! on memory as a whole.
//!
//! One table has a row per family: its name, the parts that distinguish its members, the types of results and inputs,
//! and the effect.

use super::math::{MathFunction, MathFunction2};
use super::vocabulary::vocabulary;

vocabulary! {
    /// The type of a number.
    Number {
        /// A signed 32-bit integer.
        I32 "i32",
        /// An unsigned 32-bit integer.
        U32 "u32",
        /// A signed 64-bit integer.
        I64 "i64",
        /// An unsigned 64-bit integer.
        U64 "u64",
        /// A 32-bit floating-point number.
        F32 "f32",
        /// A 64-bit floating-point number.
        F64 "f64",
    }
}

vocabulary! {
    /// A rounding mode.
    Rounding {
        /// To the nearest number, of two to the even one.
        Nearest "nearest",
        /// Down.
        Down "down",
        /// Up.
        Up "up",
        /// Towards zero.
        Zero "zero",
    }
}

vocabulary! {
    /// The lane from which a shuffle takes the value.
    ShuffleMode {
        /// The lane with a number.
        Index "index",
        /// The lane that many below.
        Up "up",
        /// The lane that many above.
        Down "down",
        /// The lane whose number differs in some bits.
        Xor "xor",
    }
}

vocabulary! {
    /// What a vote asks.
    Vote {
        /// Whether the condition holds in all lanes.
        All "all",
        /// Whether it holds in any lane.
        Any "any",
    }
}

vocabulary! {
    /// What a barrier computes from the conditions of the threads.
    Reduction {
        /// The number of threads where it holds.
        Count "count",
        /// Whether it holds in all threads.
        And "and",
        /// Whether it holds in any thread.
        Or "or",
    }
}

vocabulary! {
    /// The threads that see the memory accesses before a fence.
    Scope {
        /// Those of the block.
        Block "block",
        /// Those of the device.
        Device "device",
        /// All, and the host.
        System "system",
    }
}

vocabulary! {
    /// An operation on memory that no other access interrupts.
    AtomicOp {
        /// The sum.
        Add "add",
        /// The smaller number.
        Min "min",
        /// The larger number.
        Max "max",
        /// One more, but zero from a limit on.
        Inc "inc",
        /// One less, but the limit below zero.
        Dec "dec",
        /// Bitwise and.
        And "and",
        /// Bitwise or.
        Or "or",
        /// Bitwise exclusive or.
        Xor "xor",
        /// The new value.
        Exchange "exchange",
    }
}

vocabulary! {
    /// An operation on the four bytes of two words.
    ByteOp {
        /// Sums.
        Add "add",
        /// Absolute differences.
        Difference "difference",
        /// The smaller ones.
        Min "min",
        /// The sum of the absolute differences.
        SumOfDifferences "sum_of_differences",
    }
}

vocabulary! {
    /// A clock.
    Timer {
        /// The lower half of the multiprocessor's clock.
        Clock "clock",
        /// Its upper half.
        ClockHigh "clock_high",
        /// The lower half of the device's clock, in nanoseconds.
        Global "global",
        /// Its upper half.
        GlobalHigh "global_high",
    }
}

/// The effect of an intrinsic besides its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None.
    None,
    /// The result depends on when or by which thread it is executed: it has a position in the order of effects, but
    /// may be removed.
    Reads,
    /// It has side effects.
    Changes,
}

/// The type of a result or input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// No value.
    None,
    /// A number.
    Number(Number),
    /// A boolean.
    Bool,
    /// The address of memory.
    Pointer,
    /// A small number that must be constant.
    Immediate,
    /// A value of any type.
    Any,
}

/// The most inputs of an intrinsic.
const MAX_INPUTS: usize = 15;

/// The types of an intrinsic.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The result.
    pub result: Operand,
    /// The inputs, and what further ones would be.
    inputs: [Operand; MAX_INPUTS],
    /// Number of inputs.
    count: u8,
}

impl Signature {
    const fn new<const N: usize>(result: Operand, given: [Operand; N]) -> Self {
        let mut inputs = [U32; MAX_INPUTS];
        let mut index = 0;
        while index < N {
            inputs[index] = given[index];
            index += 1;
        }
        Self { result, inputs, count: N as u8 }
    }

    /// Returns whether the result or an input has a type.
    pub fn has(&self, operand: Operand) -> bool {
        self.result == operand || self.inputs[..usize::from(self.count)].contains(&operand)
    }
}

const U32: Operand = Operand::Number(Number::U32);
const I32: Operand = Operand::Number(Number::I32);
const U64: Operand = Operand::Number(Number::U64);
const I64: Operand = Operand::Number(Number::I64);
const F32: Operand = Operand::Number(Number::F32);
const F64: Operand = Operand::Number(Number::F64);
const NOTHING: Operand = Operand::None;
const BOOL: Operand = Operand::Bool;
const PTR: Operand = Operand::Pointer;
const IMM: Operand = Operand::Immediate;
const ANY: Operand = Operand::Any;

const fn of(number: Number) -> Operand {
    Operand::Number(number)
}

macro_rules! intrinsics {
    ($($(#[$doc:meta])* $member:ident $(($($part:ident: $of:ty),+))?
        $text:literal, $effect:ident $result:expr, [$($input:expr),*];)*) => {
        vocabulary! {
            /// An intrinsic operation.
            Intrinsic {
                $($(#[$doc])* $member $(($($part: $of),+))? $text,)*
            }
        }

        impl Intrinsic {
            /// Returns its types.
            #[expect(unused_variables, reason = "some parts have no influence on the types")]
            pub const fn signature(self) -> Signature {
                match self {
                    $(Self::$member $(($($part),+))? => {
                        Signature::new($result, [$($input),*])
                    })*
                }
            }

            /// Returns its effect.
            #[inline]
            #[expect(unused_variables, reason = "no part has an influence")]
            pub const fn effect(self) -> Effect {
                match self {
                    $(Self::$member $(($($part),+))? => Effect::$effect,)*
                }
            }
        }
    };
}

intrinsics! {
    // Floating-point arithmetic.

    /// The sum, rounded.
    Add(ty: Number, mode: Rounding) "add", None of(ty), [of(ty), of(ty)];
    /// The product, rounded.
    Multiply(ty: Number, mode: Rounding) "multiply", None of(ty), [of(ty), of(ty)];
    /// The product of the first two inputs plus the third one, rounded once.
    Fma(ty: Number, mode: Rounding) "fma", None of(ty), [of(ty), of(ty), of(ty)];
    /// The nearest integer as a float.
    Round(ty: Number, mode: Rounding) "round", None of(ty), [of(ty)];
    /// A number of another type, rounded.
    Convert(from: Number, to: Number, mode: Rounding) "convert", None of(to), [of(from)];
    /// The smaller number.
    Min(ty: Number) "min", None of(ty), [of(ty), of(ty)];
    /// The larger number.
    Max(ty: Number) "max", None of(ty), [of(ty), of(ty)];
    /// The absolute value of an integer.
    Abs(ty: Number) "abs", None of(ty), [of(ty)];
    /// An approximation of the cosine.
    Cosine "cosine", None F32, [F32];
    /// An approximation of the sine.
    Sine "sine", None F32, [F32];
    /// An approximation of the logarithm to the base two.
    Log2 "log2", None F32, [F32];
    /// The upper half of an approximation of the reciprocal, from the upper half of a double.
    ReciprocalHigh "reciprocal_high", None U32, [U32];
    /// The same for the reciprocal of the square root.
    ReciprocalSqrtHigh "reciprocal_sqrt_high", None U32, [U32];
    /// A function of CUDA's mathematical library.
    Math(function: MathFunction, ty: Number) "math", None of(ty), [of(ty)];
    /// One of two numbers.
    Math2(function: MathFunction2, ty: Number) "math2", None of(ty), [of(ty), of(ty)];
    /// The nearest number between 0 and 1.
    Saturate "saturate", None F32, [F32];
    /// Zero with the same sign for a subnormal number.
    FlushToZero "flush_to_zero", None F32, [F32];
    /// The product with a power of two: number, number, rounding mode, number of the power.
    MultiplyScaled "multiply_scaled", None F32, [F32, F32, IMM, IMM];
    /// The same, but zero times anything is zero.
    MultiplyZeroWins "multiply_zero_wins", None F32, [F32, F32, IMM, IMM];
    /// The fused product and sum, where zero times anything is zero. The last input is the rounding mode.
    FmaZeroWins "fma_zero_wins", None F32, [F32, F32, F32, IMM];
    /// The number with the bits of a half.
    HalfToFloat "half_to_float", None F32, [U32];
    /// The bits of a half. The second input is the rounding mode.
    ToHalf(ty: Number) "to_half", None U32, [of(ty), IMM];
    /// Whether a quotient needs the slow path.
    DivideIsHard(ty: Number) "divide_is_hard", None BOOL, [of(ty), of(ty)];
    /// The first input, or the third one if the second one is not a number.
    OrIfNan "or_if_nan", None I64, [I64, F64, I64];
    /// A double, unchanged: its bits are one.
    Double "double", None F64, [F64];

    // Integers.

    /// The bits in the opposite order.
    ReverseBits "reverse_bits", None U32, [U32];
    /// Bytes of two words, selected by the third one.
    PermuteBytes "permute_bytes", None U32, [U32, U32, U32];
    /// The same, with signs of bytes and with a mode.
    SelectBytes "select_bytes", None U32, [U32, U32, U32, IMM];
    /// The upper half of the unsigned 128-bit product.
    MultiplyHigh "multiply_high", None U64, [U64, U64];
    /// The nearest number of a type; the second input says whether the first one is signed.
    ClampInteger "clamp_integer", None I64, [I64, BOOL, IMM];
    /// A product and a sum of the parts that the second input describes.
    MultiplyAddByDescriptor "multiply_add_by_descriptor", None U32, [U32, U32, U32];
    /// An operation on bytes.
    Bytes(op: ByteOp) "bytes", None U32, [U32, U32];
    /// A part of a word.
    VideoPart "video_part", None I64, [U32, IMM];
    /// The nearest 32-bit number.
    VideoClamp "video_clamp", None I64, [I64, BOOL];
    /// An operation on the parts of two words.
    VideoSimd "video_simd", None U32, [IMM, IMM, IMM, U32, U32, U32, IMM, IMM, IMM, IMM, IMM, IMM, IMM, IMM, IMM];

    // Addresses.

    /// Whether a generic address is one of shared memory.
    IsShared "is_shared", None BOOL, [ANY];

    // Addresses of surfaces.

    /// A coordinate within its bound.
    SurfaceClamp "surface_clamp", None U32, [U32, U32, U32, IMM, IMM, IMM];
    /// Whether a coordinate is out of its bound.
    SurfaceClampOutside "surface_clamp_outside", None BOOL, [U32, U32, U32, IMM, IMM, IMM];
    /// The offset in a block, from coordinates.
    SurfaceBitfield "surface_bitfield", None U32, [U32, U32, U32, IMM];
    /// Whether any coordinate is out of its bound.
    SurfaceBitfieldOutside "surface_bitfield_outside", None BOOL, [U32, U32, U32, IMM];
    /// The upper bits of an address.
    SurfaceAddress "surface_address", None U32, [U32, U32, U32];

    // Threads of a warp.

    /// The value of another lane in a segment of this many lanes.
    Shuffle(mode: ShuffleMode) "shuffle", Reads U32, [U32, U32, IMM];
    /// The value of another lane, with a mask and the mode.
    ShuffleMasked "shuffle_masked", Reads U32, [U32, U32, U32, IMM];
    /// Whether that lane is in the segment.
    ShuffleInside "shuffle_inside", Reads BOOL, [U32, U32, IMM];
    /// A vote.
    Vote(vote: Vote) "vote", Reads U32, [BOOL];
    /// Whether a condition is the same in all lanes.
    VoteEqual "vote_equal", Reads BOOL, [BOOL];
    /// The lanes where a condition holds.
    Ballot "ballot", Reads U32, [BOOL];

    // Threads of a block.

    /// Waits for all threads.
    Barrier "barrier", Changes NOTHING, [];
    /// Waits for all threads, and combines their conditions.
    BarrierReduce(op: Reduction) "barrier_reduce", Changes U32, [I32];
    /// Waits at a barrier with a number, for this many threads.
    BarrierSync "barrier_sync", Changes NOTHING, [U32, U32];
    /// Arrives there without waiting.
    BarrierArrive "barrier_arrive", Changes NOTHING, [U32, U32];

    // Memory.

    /// Makes earlier accesses visible before later ones.
    Fence(scope: Scope) "fence", Changes NOTHING, [];
    /// Changes memory, and returns its earlier contents.
    Atomic(op: AtomicOp, ty: Number) "atomic", Changes of(ty), [PTR, of(ty)];
    /// Sets memory to the third input if it equals the second one, and returns its earlier contents.
    AtomicCompareExchange(ty: Number) "atomic_compare_exchange", Changes of(ty), [PTR, of(ty), of(ty)];
    /// Adds to memory unless the sum overflows.
    AtomicSafeAdd "atomic_safe_add", Changes U32, [PTR, U32];

    // Others.

    /// The time.
    Time(timer: Timer) "time", Reads U32, [];
    /// Prints a format with arguments, of which there may be any number.
    Printf "printf", Changes I32, [ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY];
    /// Allocates memory.
    Malloc "malloc", Changes PTR, [U64];
    /// Frees memory.
    Free "free", Changes NOTHING, [ANY];
    /// Reports a condition that does not hold: condition, file, line, function, size of a character.
    AssertFail "assert_fail", Changes NOTHING, [ANY, ANY, U32, ANY, U64];
    /// Stops the program.
    Trap "trap", Changes NOTHING, [];
}

impl Intrinsic {
    /// Returns the type of the result.
    #[inline]
    pub fn result(self) -> Operand {
        self.signature().result
    }

    /// Returns the type of an input.
    #[inline]
    pub fn input(self, index: usize) -> Operand {
        let last = if self == Self::Printf { ANY } else { U32 };
        self.signature().inputs.get(index).copied().unwrap_or(last)
    }

    /// Returns the number of inputs, or `None` if there may be any.
    pub fn input_count(self) -> Option<usize> {
        (self != Self::Printf).then(|| usize::from(self.signature().count))
    }

    /// Returns whether its result depends only on its inputs.
    #[inline]
    pub fn is_pure(self) -> bool {
        self.effect() == Effect::None
    }

    /// Returns whether it changes something: it must not be removed, and loads must not move across it.
    #[inline]
    pub fn changes(self) -> bool {
        self.effect() == Effect::Changes
    }

    /// Returns whether all threads of a block wait for each other.
    pub fn is_block_barrier(self) -> bool {
        matches!(self, Self::Barrier | Self::BarrierReduce(_) | Self::BarrierSync)
    }

    /// Returns whether the threads of a block meet there, all or some of them.
    pub fn is_barrier(self) -> bool {
        self.is_block_barrier() || self == Self::BarrierArrive
    }

    /// Returns whether the lanes of a warp exchange values.
    pub fn exchanges_lanes(self) -> bool {
        matches!(
            self,
            Self::Shuffle(_) | Self::ShuffleMasked | Self::Vote(_) | Self::VoteEqual | Self::Ballot
        )
    }

    /// Returns whether it moves bits of any type between lanes or to memory.
    pub fn moves_bits(self) -> bool {
        matches!(self, Self::Shuffle(_) | Self::Atomic(AtomicOp::Exchange, _))
    }
}

impl Operand {
    /// Returns the number of bits, or `None` if there may be any.
    pub fn width(self) -> Option<u8> {
        match self {
            Self::None => Some(0),
            Self::Bool => Some(1),
            Self::Number(number) => Some(number.width()),
            Self::Immediate | Self::Pointer | Self::Any => None,
        }
    }

    /// Returns whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Number(Number::F32 | Number::F64))
    }

    /// Returns whether it is a signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::Number(Number::I32 | Number::I64))
    }
}

impl Number {
    /// Returns the number of bits.
    pub fn width(self) -> u8 {
        match self {
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 | Self::F64 => 64,
        }
    }

    /// Returns whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Returns the floating-point type with a width.
    pub fn float(width: u8) -> Self {
        if width == 64 { Self::F64 } else { Self::F32 }
    }

    /// Returns the integer type with a width.
    pub fn integer(width: u8, is_signed: bool) -> Self {
        match (width, is_signed) {
            (64, true) => Self::I64,
            (64, false) => Self::U64,
            (_, true) => Self::I32,
            (_, false) => Self::U32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_identify_intrinsics() {
        for intrinsic in Intrinsic::all() {
            assert_eq!(Intrinsic::by_name(&intrinsic.to_string()), Some(intrinsic));
        }
        assert_eq!(Intrinsic::by_name("fma.f32"), None);
        assert_eq!(Intrinsic::by_name("barrier.x"), None);
    }
}
