//! P-code functions as operators and intrinsics.

use super::lifter::{CallResult, LOCKED, Lifter};
use crate::ir::intrinsic::{AtomicOp, ByteOp, Reduction, Scope, ShuffleMode, Vote};
use crate::ir::math::{EXP2, RECIPROCAL_ROOT};
use crate::ir::{Intrinsic, Number, Op, Rounding, Space, ValueId};

/// Rounding modes, by their number in instructions.
const ROUNDINGS: [Rounding; 4] = [Rounding::Nearest, Rounding::Down, Rounding::Up, Rounding::Zero];

/// The kind of `BPT` that waits for outstanding memory operations, after `MEMBAR.SYS` (modifier `bpt`).
const DRAIN: u64 = 5;

/// P-code functions that are one intrinsic with the same inputs; further ones have no meaning here.
const SAME: &[(&str, Intrinsic)] = &[
    ("ballot", Intrinsic::Ballot),
    ("barrier_arrive", Intrinsic::BarrierArrive),
    ("barrier_sync_all", Intrinsic::Barrier),
    ("bit_reverse", Intrinsic::ReverseBits),
    ("byte_perm_mode", Intrinsic::SelectBytes),
    ("clamp_integer", Intrinsic::ClampInteger),
    ("cosine", Intrinsic::Cosine),
    ("ddivide_is_hard", Intrinsic::DivideIsHard(Number::F64)),
    ("debugger", Intrinsic::Trap),
    ("dfma", Intrinsic::Fma(Number::F64, Rounding::Nearest)),
    ("dmax", Intrinsic::Max(Number::F64)),
    ("dmin", Intrinsic::Min(Number::F64)),
    ("fdivide_is_hard", Intrinsic::DivideIsHard(Number::F32)),
    ("flush", Intrinsic::FlushToZero),
    ("fma", Intrinsic::Fma(Number::F32, Rounding::Nearest)),
    ("fma_fmz", Intrinsic::FmaZeroWins),
    ("fmax", Intrinsic::Max(Number::F32)),
    ("fmin", Intrinsic::Min(Number::F32)),
    ("fmul_fmz", Intrinsic::MultiplyZeroWins),
    ("fmul_scaled", Intrinsic::MultiplyScaled),
    ("multiply_add_by_descriptor", Intrinsic::MultiplyAddByDescriptor),
    ("reciprocal64_high", Intrinsic::ReciprocalHigh),
    ("reciprocal_sqrt64_high", Intrinsic::ReciprocalSqrtHigh),
    ("saturate", Intrinsic::Saturate),
    ("shuffle_inside", Intrinsic::ShuffleInside),
    ("sine", Intrinsic::Sine),
    ("surface_address", Intrinsic::SurfaceAddress),
    ("surface_bitfield", Intrinsic::SurfaceBitfield),
    ("surface_bitfield_outside", Intrinsic::SurfaceBitfieldOutside),
    ("surface_clamp", Intrinsic::SurfaceClamp),
    ("surface_clamp_outside", Intrinsic::SurfaceClampOutside),
    ("video_clamp", Intrinsic::VideoClamp),
    ("video_part", Intrinsic::VideoPart),
];

/// A p-code function with a rounding mode.
struct RoundedFunction {
    name: &'static str,
    /// Number of inputs before the mode.
    count: usize,
    /// The operator that rounds to nearest.
    nearest: Op,
    /// The intrinsic for other modes.
    rounded: fn(Rounding) -> Intrinsic,
}

/// P-code functions with a rounding mode as their last input.
const ROUNDED: &[RoundedFunction] = &[
    rounded("dadd_round", 2, Op::FloatAdd, |mode| Intrinsic::Add(Number::F64, mode)),
    rounded("dfma_round", 3, FMA_F64, |mode| Intrinsic::Fma(Number::F64, mode)),
    rounded("dmul_round", 2, Op::FloatMul, |mode| Intrinsic::Multiply(Number::F64, mode)),
    rounded("double_to_float", 1, Op::FloatConvert, |mode| {
        Intrinsic::Convert(Number::F64, Number::F32, mode)
    }),
    rounded("fadd_round", 2, Op::FloatAdd, |mode| Intrinsic::Add(Number::F32, mode)),
    rounded("fma_round", 3, FMA_F32, |mode| Intrinsic::Fma(Number::F32, mode)),
    rounded("fmul_round", 2, Op::FloatMul, |mode| Intrinsic::Multiply(Number::F32, mode)),
    rounded("round_double", 1, ROUND_F64, |mode| Intrinsic::Round(Number::F64, mode)),
    rounded("round_float", 1, ROUND_F32, |mode| Intrinsic::Round(Number::F32, mode)),
];

const FMA_F32: Op = Op::Call(Intrinsic::Fma(Number::F32, Rounding::Nearest));
const FMA_F64: Op = Op::Call(Intrinsic::Fma(Number::F64, Rounding::Nearest));
const ROUND_F32: Op = Op::Call(Intrinsic::Round(Number::F32, Rounding::Nearest));
const ROUND_F64: Op = Op::Call(Intrinsic::Round(Number::F64, Rounding::Nearest));

const fn rounded(
    name: &'static str,
    count: usize,
    nearest: Op,
    rounded: fn(Rounding) -> Intrinsic,
) -> RoundedFunction {
    RoundedFunction { name, count, nearest, rounded }
}

/// P-code functions without a meaning for one thread.
const IGNORED: &[&str] = &[
    "cache_control",
    "invalidate_textures",
    "local_cache_control",
    "push_break",
    "push_continue",
    "push_longjmp",
    "push_reconvergence",
    "push_return",
    "reconverge",
    "release_locks",
    "texture_barrier",
    "texture_phase",
    "trigger",
];

/// Atomic operations, by the name of the p-code function after `atomic_`, and whether there is one for 64 bits.
const ATOMICS: [(&str, AtomicOp, bool); 9] = [
    ("add", AtomicOp::Add, true),
    ("min", AtomicOp::Min, true),
    ("max", AtomicOp::Max, true),
    ("inc", AtomicOp::Inc, false),
    ("dec", AtomicOp::Dec, false),
    ("and", AtomicOp::And, true),
    ("or", AtomicOp::Or, true),
    ("xor", AtomicOp::Xor, true),
    ("exchange", AtomicOp::Exchange, true),
];

impl Lifter<'_> {
    /// Lifts a function that is one intrinsic, perhaps with a rounding mode.
    fn plain_function(&mut self, name: &str, inputs: &[ValueId], width: u8) -> Option<ValueId> {
        if let Ok(index) = SAME.binary_search_by_key(&name, |row| row.0) {
            let intrinsic = SAME[index].1;
            let given = inputs.get(..intrinsic.input_count()?)?;
            return Some(self.call(intrinsic, width, given));
        }
        let row = ROUNDED.iter().find(|row| row.name == name)?;
        let given = inputs.get(..row.count)?;
        let op = match self.rounding(*inputs.get(row.count)?) {
            Rounding::Nearest => row.nearest,
            mode => Op::Call((row.rounded)(mode)),
        };
        Some(self.make(op, width, given))
    }

    /// Returns the rounding mode with a number.
    fn rounding(&self, mode: ValueId) -> Rounding {
        ROUNDINGS[usize::try_from(self.known(mode) & 3).unwrap_or(0)]
    }

    /// Lifts a function whose result depends only on its inputs.
    pub(super) fn pure_function(&mut self, name: &str, inputs: &[ValueId], width: u8) -> CallResult {
        let at = |index: usize| inputs.get(index).copied().unwrap_or(ValueId::NONE);
        CallResult::Value(match name {
            "saturate_double" => {
                let (zero, one) = (self.number(0, 64), self.number(0x3ff0_0000_0000_0000, 64));
                let at_least = self.call(Intrinsic::Max(Number::F64), width, &[at(0), zero]);
                self.call(Intrinsic::Min(Number::F64), width, &[at_least, one])
            }
            // These functions of the hardware flush their argument and their result, where the power of a subnormal
            // number is 1 and neither logarithms nor roots are subnormal.
            "exp2" => {
                let power = self.call(EXP2, width, &[at(0)]);
                self.call(Intrinsic::FlushToZero, width, &[power])
            }
            "log2" | "reciprocal_sqrt" => {
                let call = if name == "log2" { Intrinsic::Log2 } else { RECIPROCAL_ROOT };
                let flushed = self.call(Intrinsic::FlushToZero, width, &[at(0)]);
                self.call(call, width, &[flushed])
            }
            "reciprocal" => {
                let one = self.number(0x3f80_0000, 32);
                let flushed = self.call(Intrinsic::FlushToZero, width, &[at(0)]);
                let quotient = self.make(Op::FloatDiv, width, &[one, flushed]);
                self.call(Intrinsic::FlushToZero, width, &[quotient])
            }
            "reduce_range" => at(0),
            "half_to_float" => {
                let wide = self.make(Op::ZeroExtend, 32, &[at(0)]);
                self.call(Intrinsic::HalfToFloat, width, &[wide])
            }
            "float_to_half" | "double_to_half" => {
                let from = if name == "float_to_half" { Number::F32 } else { Number::F64 };
                let wide = self.call(Intrinsic::ToHalf(from), 32, &[at(0), at(1)]);
                self.make(Op::Low, width, &[wide])
            }
            "double_to_integer" => self.double_to_integer(inputs),
            "integer_to_float" | "integer_to_double" => self.integer_to_float(&[at(0), at(1), at(2)], width),
            "byte_perm" => match self.builder.function.number(at(2)) {
                Some(selector) if selector & 0x8888 == 0 => {
                    self.call(Intrinsic::PermuteBytes, width, &[at(0), at(1), at(2)])
                }
                _ => {
                    let mode = self.number(0, 32);
                    self.call(Intrinsic::SelectBytes, width, &[at(0), at(1), at(2), mode])
                }
            },
            "video_simd" => match self.simd_of_bytes(inputs) {
                Some(op) => self.call(Intrinsic::Bytes(op), width, &[at(3), at(4)]),
                None => self.call(Intrinsic::VideoSimd, width, inputs),
            },
            _ => match self.plain_function(name, inputs, width) {
                Some(value) => value,
                None => return CallResult::Unsupported,
            },
        })
    }

    /// Returns the operation on all four bytes of two numbers; the inputs are in the order of the tables.
    fn simd_of_bytes(&self, inputs: &[ValueId]) -> Option<ByteOp> {
        /// Selectors that keep bytes in place.
        const IN_PLACE: [Option<u64>; 2] = [Some(4), Some(255)];
        let at = |index: usize| self.builder.function.number(*inputs.get(index)?);
        let are = |indices: &[usize], value: u64| indices.iter().all(|index| at(*index) == Some(value));
        let (combined, sum) = (at(11)?, at(12)?);
        // Unsigned, not negated, not clamped, all lanes.
        if !are(&[1, 8, 9, 13, 14], 0) || at(6) != Some(4) || !IN_PLACE.contains(&at(7)) || at(10) != Some(15)
        {
            return None;
        }
        match (at(0)?, at(2)?, combined, sum) {
            (8, _, 0, 0) => Some(ByteOp::Add),
            (10, _, 0, 0) => Some(ByteOp::Difference),
            (10, _, 0, 1) if at(5) == Some(0) => Some(ByteOp::SumOfDifferences),
            (11, 0, 0, 0) => Some(ByteOp::Min),
            _ => None,
        }
    }

    /// Converts a float without its fraction to an integer; the tables have it as a double, which is exact.
    pub(super) fn truncated(&mut self, double: ValueId, width: u8) -> ValueId {
        let function = &self.builder.function;
        let double = function.resolve(double);
        let source = function.input(double, 0);
        if function.op(double) != Op::FloatConvert || (function.width(source), width) != (32, 32) {
            return self.unlifted(width);
        }
        self.call(Intrinsic::Convert(Number::F32, Number::I32, Rounding::Zero), width, &[source])
    }

    /// Converts a double to an integer. Modes: 0 nearest, 1 down, 2 up, 3 towards zero; types: U8 U16 U32 U64 S8 S16
    /// S32 S64.
    fn double_to_integer(&mut self, inputs: &[ValueId]) -> ValueId {
        // The number of double in the source types.
        const F64: u64 = 3;
        let at = |index: usize| inputs.get(index).copied().unwrap_or(ValueId::NONE);
        let (mode, ty) = (self.rounding(at(1)), self.known(at(2)) & 7);
        let to = match ty {
            2 => Number::U32,
            3 => Number::U64,
            7 => Number::I64,
            _ => Number::I32,
        };
        let function = &self.builder.function;
        let mut source = function.resolve(at(0));
        let mut from = Number::F64;
        if function.op(source) == Op::FloatConvert && function.width(function.input(source, 0)) == 32 {
            source = function.input(source, 0);
            from = Number::F32;
        } else if self.known(at(3)) != F64 {
            // NaN converts to another number than as a double.
            source = self.make(Op::FloatConvert, 32, &[source]);
            from = Number::F32;
        }
        let value = self.call(Intrinsic::Convert(from, to, mode), to.width(), &[source]);
        match ty {
            2 => self.make(Op::ZeroExtend, 64, &[value]),
            6 => self.make(Op::SignExtend, 64, &[value]),
            3 | 7 => value,
            // Fewer than 32 bits.
            _ => {
                let value = self.make(Op::SignExtend, 64, &[value]);
                let (truth, number) = (self.number(1, 1), self.number(ty, 8));
                let value = self.call(Intrinsic::ClampInteger, 64, &[value, truth, number]);
                if ty > 3 || self.known(at(3)) != F64 {
                    return value;
                }
                let highest = self.number(1 << ((8 << ty) - 1), 64);
                self.call(Intrinsic::OrIfNan, 64, &[value, at(0), highest])
            }
        }
    }

    fn integer_to_float(&mut self, inputs: &[ValueId; 3], width: u8) -> ValueId {
        let function = &self.builder.function;
        let mut source = function.resolve(inputs[0]);
        let mut is_signed = self.known(inputs[1]) != 0;
        let inner = function.input(source, 0);
        match function.op(source) {
            Op::ZeroExtend if function.width(inner) == 32 => {
                source = inner;
                is_signed = false;
            }
            Op::SignExtend if function.width(inner) == 32 => {
                source = inner;
                is_signed = true;
            }
            _ => {}
        }
        let mode = self.rounding(inputs[2]);
        let is_wide = self.builder.function.width(source) == 64;
        // A double represents 32-bit integers exactly.
        if mode == Rounding::Nearest || width == 64 && !is_wide {
            let op = if is_signed { Op::SignedToFloat } else { Op::UnsignedToFloat };
            return self.make(op, width, &[source]);
        }
        let from = Number::integer(if is_wide { 64 } else { 32 }, is_signed);
        self.call(Intrinsic::Convert(from, Number::float(width), mode), width, &[source])
    }

    /// Lifts a function with effects.
    pub(super) fn other_function(&mut self, name: &'static str, inputs: &[ValueId], width: u8) -> CallResult {
        let at = |index: usize| inputs.get(index).copied().unwrap_or(ValueId::NONE);
        let none = CallResult::Value(ValueId::NONE);
        CallResult::Value(match name {
            "pop_break" | "pop_continue" | "pop_longjmp" => self.number(0, width),
            // The fence before it says all of it.
            "debugger" if self.known(at(0)) == DRAIN => return none,
            _ if IGNORED.contains(&name) => return none,
            _ if name.starts_with("texture_") || name.starts_with("surface_") => {
                return self.image_function(name, inputs);
            }
            "shuffle" => self.shuffle(inputs, width),
            "vote" => match self.known(at(1)) {
                2 => self.call(Intrinsic::VoteEqual, 1, &[at(0)]),
                mode => {
                    let vote = if mode == 0 { Vote::All } else { Vote::Any };
                    let value = self.call(Intrinsic::Vote(vote), 32, &[at(0)]);
                    let zero = self.number(0, 32);
                    self.make(Op::NotEqual, 1, &[value, zero])
                }
            },
            "barrier_sync" => {
                let is_plain = [0, 1].iter().all(|index| self.builder.function.number(at(*index)) == Some(0));
                if is_plain {
                    self.call(Intrinsic::Barrier, 0, &[])
                } else {
                    self.call(Intrinsic::BarrierSync, 0, &[at(0), at(1)])
                }
            }
            "barrier_reduce" => {
                let op = match self.known(at(3)) {
                    0 => Reduction::Count,
                    1 => Reduction::And,
                    2 => Reduction::Or,
                    _ => return CallResult::Unsupported,
                };
                let wide = self.make(Op::ZeroExtend, 32, &[at(2)]);
                let value = self.call(Intrinsic::BarrierReduce(op), 32, &[wide]);
                self.set_barrier_result(value);
                return none;
            }
            "barrier_result" => {
                let value = self.barrier_result();
                if width == 1 {
                    let zero = self.number(0, 32);
                    self.make(Op::NotEqual, 1, &[value, zero])
                } else {
                    value
                }
            }
            "memory_barrier" => {
                let scope = match self.known(at(0)) {
                    0 => Scope::Block,
                    1 => Scope::Device,
                    2 => Scope::System,
                    _ => return CallResult::Unsupported,
                };
                self.call(Intrinsic::Fence(scope), 0, &[])
            }
            "lock_shared" => return self.lock_shared(at(0)),
            "unlock_shared" => return self.unlock_shared(at(0)),
            _ if name.starts_with("atomic_") => match atomic(name, self.known(at(2))) {
                Some(call @ Intrinsic::AtomicCompareExchange(_)) => {
                    self.call(call, width, &[at(0), at(1), at(2)])
                }
                Some(call) => self.call(call, width, &[at(0), at(1)]),
                None => return CallResult::Unsupported,
            },
            _ => match self.plain_function(name, inputs, width) {
                Some(value) => value,
                None => return CallResult::Unsupported,
            },
        })
    }

    /// Lifts a shuffle: one in a segment of lanes if its masks say so, otherwise the instruction with its masks.
    fn shuffle(&mut self, inputs: &[ValueId], width: u8) -> ValueId {
        const MODES: [ShuffleMode; 4] =
            [ShuffleMode::Index, ShuffleMode::Up, ShuffleMode::Down, ShuffleMode::Xor];
        let mode = usize::try_from(self.known(inputs[3])).unwrap_or(0);
        if let (Some(mask), Some(mode)) = (self.builder.function.number(inputs[2]), MODES.get(mode)) {
            let segment = 32 - (mask >> 8 & 0x1f);
            let clamp = if *mode == ShuffleMode::Up { 0 } else { 0x1f };
            if segment.is_power_of_two() && mask & 0x1f == clamp {
                let segment = self.number(segment, 32);
                return self.call(Intrinsic::Shuffle(*mode), width, &[inputs[0], inputs[1], segment]);
            }
        }
        self.call(Intrinsic::ShuffleMasked, width, inputs)
    }
}

/// Atomic operations on shared memory. Kepler has none: the compiler emits a loop that loads and locks a word
/// (`LDSLK`), computes the new value, and stores and unlocks it (`STSCUL`) if it is still locked. The loop is lifted as
/// one that compares and swaps: the lock always succeeds, and the store does if the word still has the loaded value.
/// `pass::atomic` recognises the operation.
impl Lifter<'_> {
    fn lock_shared(&mut self, address: ValueId) -> CallResult {
        let function = &self.builder.function;
        let effects = &function.blocks[self.effect_block()].effects;
        let loaded = effects.last().copied().filter(|load| {
            function.op(*load) == Op::Load(Space::Shared)
                && function.input(*load, 0) == function.resolve(address)
        });
        let Some(loaded) = loaded else { return CallResult::Unsupported };
        let [low, high] = match function.width(loaded) {
            32 => [loaded, self.number(0, 32)],
            64 => [self.make(Op::Low, 32, &[loaded]), self.make(Op::High, 32, &[loaded])],
            _ => return CallResult::Unsupported,
        };
        self.write_variable(LOCKED[0], low);
        self.write_variable(LOCKED[1], high);
        CallResult::Value(self.number(1, 1))
    }

    fn unlock_shared(&mut self, address: ValueId) -> CallResult {
        let stored = self.instruction.and_then(|instruction| {
            let register = instruction.number(instruction.operand("a")?.value);
            Some((u32::try_from(register).ok()? & 255, instruction.modifier("size")))
        });
        let (register, width) = match stored {
            Some((register, Some("b32"))) => (register, 32),
            Some((register, Some("b64"))) => (register, 64),
            _ => return CallResult::Unsupported,
        };
        let mut whole = |low: u32, high: u32| {
            let low = self.read_variable(low);
            if width == 32 {
                return low;
            }
            let high = self.read_variable(high);
            self.make(Op::Concat, 64, &[high, low])
        };
        let old = whole(LOCKED[0], LOCKED[1]);
        let new = whole(register, (register + 1) & 255);
        let found = self.call(
            Intrinsic::AtomicCompareExchange(Number::integer(width, false)),
            width,
            &[address, old, new],
        );
        self.is_stored = true;
        CallResult::Value(self.make(Op::Equal, 1, &[found, old]))
    }
}

/// Returns the intrinsic for an atomic operation and its type (`u32 s32 u64 f32 u128 s64`).
fn atomic(name: &str, size: u64) -> Option<Intrinsic> {
    let is_signed = size == 1 || size == 5;
    let name = name.strip_prefix("atomic_")?;
    let (name, width) = name.strip_suffix("64").map_or((name, 32), |name| (name, 64));
    match (name, width) {
        ("cas", _) => return Some(Intrinsic::AtomicCompareExchange(Number::integer(width, false))),
        ("safe_add", 32) => return Some(Intrinsic::AtomicSafeAdd),
        _ => {}
    }
    let &(_, op, _) = ATOMICS.iter().find(|row| row.0 == name && (row.2 || width == 32))?;
    let ty = match (op, width) {
        (AtomicOp::Add, 32) if size == 3 => Number::F32,
        (AtomicOp::Add, 64) => Number::U64,
        (AtomicOp::Add | AtomicOp::Min | AtomicOp::Max, _) => Number::integer(width, is_signed),
        _ => Number::integer(width, false),
    };
    Some(Intrinsic::Atomic(op, ty))
}

/// Returns the memory space for a p-code space.
pub(super) fn memory(space: unshade_sass::semantics::Space) -> Option<Space> {
    use unshade_sass::semantics::Space as Sass;
    Some(match space {
        Sass::Ram => Space::Generic,
        Sass::Shared => Space::Shared,
        Sass::Local => Space::Local,
        Sass::Constant => Space::Constant(0),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Operand;
    use unshade_sass::semantics::functions;

    #[test]
    fn intrinsics_have_the_inputs_of_their_functions() {
        assert!(SAME.is_sorted_by_key(|row| row.0));
        for (name, intrinsic) in SAME {
            let function = functions().iter().find(|function| function.name == *name).expect(name);
            let count = intrinsic.input_count().expect(name);
            let given = function.inputs.get(..count).expect(name);
            let fits = |operand: Operand, width: u8| operand.width().is_none_or(|wanted| wanted == width);
            assert!((0..count).all(|index| fits(intrinsic.input(index), given[index])), "{name}");
            assert!(fits(intrinsic.result(), function.output), "{name}");
        }
        for row in ROUNDED {
            let function = functions().iter().find(|function| function.name == row.name).expect(row.name);
            assert_eq!(function.inputs.len(), row.count + 1, "{}", row.name);
        }
        for name in IGNORED {
            assert!(functions().iter().any(|function| function.name == *name), "{name}");
        }
    }
}
