//! Operators and pure intrinsics, computed for one lane.
//!
//! Integers follow [`unshade_ir::fold`]. Floating-point numbers follow the semantics of the machine, which
//! [`unshade_sass::semantics`] has: the table [`FUNCTIONS`] names the function of each intrinsic there.

use crate::environment::{SHARED_WINDOW, WINDOW_SIZE};
use unshade_ir::fold::{fold, masked, signed};
use unshade_ir::intrinsic::ByteOp;
use unshade_ir::{Intrinsic, Number, Op, Rounding, math};
use unshade_sass::semantics::table::Code;
use unshade_sass::semantics::{functions, operate};

/// Operators on floating-point numbers, and those of p-code.
const FLOATS: [(Op, Code); 12] = [
    (Op::FloatAdd, Code::FloatAdd),
    (Op::FloatSub, Code::FloatSub),
    (Op::FloatMul, Code::FloatMul),
    (Op::FloatDiv, Code::FloatDiv),
    (Op::FloatNegate, Code::FloatNegate),
    (Op::FloatSqrt, Code::FloatSqrt),
    (Op::FloatEqual, Code::FloatEqual),
    (Op::FloatNotEqual, Code::FloatNotEqual),
    (Op::FloatLess, Code::FloatLess),
    (Op::FloatLessEqual, Code::FloatLessEqual),
    (Op::FloatNan, Code::FloatNan),
    (Op::FloatConvert, Code::FloatToFloat),
];

/// Intrinsics that are a function of p-code with the same inputs.
const FUNCTIONS: [(Intrinsic, &str); 30] = [
    (Intrinsic::Cosine, "cosine"),
    (Intrinsic::Sine, "sine"),
    (Intrinsic::ReciprocalHigh, "reciprocal64_high"),
    (Intrinsic::ReciprocalSqrtHigh, "reciprocal_sqrt64_high"),
    (Intrinsic::Saturate, "saturate"),
    (Intrinsic::FlushToZero, "flush"),
    (Intrinsic::MultiplyScaled, "fmul_scaled"),
    (Intrinsic::MultiplyZeroWins, "fmul_fmz"),
    (Intrinsic::FmaZeroWins, "fma_fmz"),
    (Intrinsic::HalfToFloat, "half_to_float"),
    (Intrinsic::ToHalf(Number::F32), "float_to_half"),
    (Intrinsic::ToHalf(Number::F64), "double_to_half"),
    (Intrinsic::DivideIsHard(Number::F32), "fdivide_is_hard"),
    (Intrinsic::DivideIsHard(Number::F64), "ddivide_is_hard"),
    (Intrinsic::Min(Number::F32), "fmin"),
    (Intrinsic::Max(Number::F32), "fmax"),
    (Intrinsic::Min(Number::F64), "dmin"),
    (Intrinsic::Max(Number::F64), "dmax"),
    (Intrinsic::ReverseBits, "bit_reverse"),
    (Intrinsic::PermuteBytes, "byte_perm"),
    (Intrinsic::ClampInteger, "clamp_integer"),
    (Intrinsic::MultiplyAddByDescriptor, "multiply_add_by_descriptor"),
    (Intrinsic::VideoPart, "video_part"),
    (Intrinsic::VideoClamp, "video_clamp"),
    (Intrinsic::VideoSimd, "video_simd"),
    (Intrinsic::SurfaceClamp, "surface_clamp"),
    (Intrinsic::SurfaceClampOutside, "surface_clamp_outside"),
    (Intrinsic::SurfaceAddress, "surface_address"),
    (Intrinsic::SurfaceBitfield, "surface_bitfield"),
    (Intrinsic::SurfaceBitfieldOutside, "surface_bitfield_outside"),
];

/// Returns the result of an operator for one lane; `width` is that of the first input, `out` that of the result. `None` if
/// it is not an operator on values.
pub(super) fn compute(op: Op, inputs: &[u64], width: u8, out: u8) -> Option<u64> {
    if let Some(result) = fold(op, inputs, width, out) {
        return Some(result);
    }
    let at = |index: usize| inputs.get(index).copied().unwrap_or(0);
    let result = match op {
        Op::Call(intrinsic) => call(intrinsic, inputs, out)?,
        Op::Select => at(if at(0) & 1 != 0 { 1 } else { 2 }),
        Op::Sdiv | Op::Srem if at(1) != 0 => {
            let (a, b) = (i128::from(signed(at(0), width)), i128::from(signed(at(1), width)));
            low(if op == Op::Sdiv { a / b } else { a % b })
        }
        // As the compiler's routines have it.
        Op::Udiv | Op::Sdiv => u64::MAX,
        Op::Urem | Op::Srem => at(0),
        Op::FloatAbs => at(0) & !(1 << (width - 1)),
        Op::SignedToFloat => to_float(signed(at(0), width).cast_unsigned(), true, out, Rounding::Nearest)?,
        Op::UnsignedToFloat => to_float(at(0), false, out, Rounding::Nearest)?,
        op => operate(FLOATS.iter().find(|row| row.0 == op)?.1, inputs, width, out)?,
    };
    Some(masked(result, out))
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half of a value")]
fn low(value: i128) -> u64 {
    value as u64
}

/// Returns the number of a rounding mode in p-code.
fn mode_number(mode: Rounding) -> u64 {
    match mode {
        Rounding::Nearest => 0,
        Rounding::Down => 1,
        Rounding::Up => 2,
        Rounding::Zero => 3,
    }
}

fn to_float(value: u64, has_sign: bool, out: u8, mode: Rounding) -> Option<u64> {
    let name = if out == 64 { "integer_to_double" } else { "integer_to_float" };
    functions::call(name, &[value, has_sign.into(), mode_number(mode)])
}

/// Returns the result of a pure intrinsic.
fn call(intrinsic: Intrinsic, inputs: &[u64], out: u8) -> Option<u64> {
    use Number::{F32, F64, I32, I64};
    let at = |index: usize| inputs.get(index).copied().unwrap_or(0);
    let with_mode = |name: &str, count: usize, mode: Rounding| {
        let mut arguments = [0; 4];
        arguments.iter_mut().zip(inputs.iter().take(count)).for_each(|(to, from)| *to = *from);
        *arguments.get_mut(count)? = mode_number(mode);
        functions::call(name, &arguments)
    };
    if let Some((_, name)) = FUNCTIONS.iter().find(|row| row.0 == intrinsic) {
        return functions::call(name, inputs);
    }
    let wide = |ty: Number, value: u64| signed(value, ty.width());
    Some(match intrinsic {
        Intrinsic::Add(F32, mode) => with_mode("fadd_round", 2, mode)?,
        Intrinsic::Add(F64, mode) => with_mode("dadd_round", 2, mode)?,
        Intrinsic::Multiply(F32, mode) => with_mode("fmul_round", 2, mode)?,
        Intrinsic::Multiply(F64, mode) => with_mode("dmul_round", 2, mode)?,
        Intrinsic::Fma(F32, mode) => with_mode("fma_round", 3, mode)?,
        Intrinsic::Fma(F64, mode) => with_mode("dfma_round", 3, mode)?,
        Intrinsic::Round(F32, mode) => with_mode("round_float", 1, mode)?,
        Intrinsic::Round(F64, mode) => with_mode("round_double", 1, mode)?,
        Intrinsic::Convert(from, to, mode) => convert(from, to, mode, at(0), out)?,
        Intrinsic::Min(ty @ (I32 | I64)) => wide(ty, at(0)).min(wide(ty, at(1))).cast_unsigned(),
        Intrinsic::Max(ty @ (I32 | I64)) => wide(ty, at(0)).max(wide(ty, at(1))).cast_unsigned(),
        Intrinsic::Min(_) => at(0).min(at(1)),
        Intrinsic::Max(_) => at(0).max(at(1)),
        Intrinsic::Abs(ty @ (I32 | I64)) => wide(ty, at(0)).unsigned_abs(),
        Intrinsic::OrIfNan if f64::from_bits(at(1)).is_nan() => at(2),
        Intrinsic::OrIfNan | Intrinsic::Double => at(0),
        Intrinsic::SelectBytes if at(3) == 0 => functions::call("byte_perm", &[at(0), at(1), at(2)])?,
        Intrinsic::SelectBytes => functions::call("byte_perm_mode", inputs)?,
        Intrinsic::IsShared => (SHARED_WINDOW..SHARED_WINDOW + WINDOW_SIZE).contains(&at(0)).into(),
        Intrinsic::MultiplyHigh => high(u128::from(at(0)) * u128::from(at(1))),
        Intrinsic::Bytes(op) => bytes(op, at(0), at(1)),
        Intrinsic::Log2 => math::approximate_log2(at(0)),
        Intrinsic::Math(function, ty) => math::unary(function, ty, at(0))?,
        Intrinsic::Math2(function, ty) => math::binary(function, ty, at(0), at(1))?,
        _ => return None,
    })
}

fn high(product: u128) -> u64 {
    (product >> 64) as u64
}

/// Converts a number to another type.
fn convert(from: Number, to: Number, mode: Rounding, value: u64, out: u8) -> Option<u64> {
    /// The numbers of the source types in p-code.
    const SINGLE: u64 = 2;
    const DOUBLE: u64 = 3;
    let has_sign = |ty: Number| matches!(ty, Number::I32 | Number::I64);
    match (from.is_float(), to.is_float()) {
        (true, true) if from == to => Some(value),
        (true, true) if from == Number::F64 => {
            functions::call("double_to_float", &[value, mode_number(mode)])
        }
        (true, true) => operate(Code::FloatToFloat, &[value], 32, 64),
        (true, false) => {
            let wide =
                if from == Number::F32 { operate(Code::FloatToFloat, &[value], 32, 64)? } else { value };
            let ty = match to {
                Number::U32 => 2,
                Number::U64 => 3,
                Number::I64 => 7,
                _ => 6,
            };
            let source = if from == Number::F64 { DOUBLE } else { SINGLE };
            functions::call("double_to_integer", &[wide, mode_number(mode), ty, source])
        }
        (false, true) => {
            let value = if has_sign(from) { signed(value, from.width()).cast_unsigned() } else { value };
            to_float(value, has_sign(from), out, mode)
        }
        (false, false) => None,
    }
}

/// Computes with the four bytes of two words.
fn bytes(op: ByteOp, a: u64, b: u64) -> u64 {
    let byte = |word: u64, index: u32| word >> (8 * index) & 0xff;
    let pairs = (0..4).map(|index| (byte(a, index), byte(b, index)));
    let joined = |work: fn(u64, u64) -> u64| {
        (0..4).fold(0, |word, index| word | (work(byte(a, index), byte(b, index)) & 0xff) << (8 * index))
    };
    match op {
        ByteOp::Add => joined(|a, b| a + b),
        ByteOp::Difference => joined(u64::abs_diff),
        ByteOp::Min => joined(u64::min),
        ByteOp::SumOfDifferences => pairs.map(|(a, b)| a.abs_diff(b)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pure_intrinsic_is_computed() {
        for intrinsic in Intrinsic::all().into_iter().filter(|intrinsic| intrinsic.is_pure()) {
            let signature = intrinsic.signature();
            let count = intrinsic.input_count().unwrap_or(0);
            let out = signature.result.width().unwrap_or(32);
            // Types that an operation does not have.
            let is_none = match intrinsic {
                Intrinsic::Convert(from, to, _) => !from.is_float() && !to.is_float(),
                Intrinsic::Add(ty, _) | Intrinsic::Multiply(ty, _) | Intrinsic::Fma(ty, _) => !ty.is_float(),
                Intrinsic::Round(ty, _) | Intrinsic::ToHalf(ty) | Intrinsic::DivideIsHard(ty) => {
                    !ty.is_float()
                }
                Intrinsic::Abs(ty) => !matches!(ty, Number::I32 | Number::I64),
                Intrinsic::Math(function, ty) => math::unary(function, ty, 0).is_none(),
                Intrinsic::Math2(function, ty) => math::binary(function, ty, 0, 0).is_none(),
                _ => false,
            };
            let result = compute(Op::Call(intrinsic), &vec![1; count], 32, out);
            assert_eq!(result.is_none(), is_none, "{intrinsic}");
        }
    }

    /// The decompiler evaluates expressions to recognise them: a wrong result would be a wrong text.
    #[test]
    fn trial_runs_of_the_decompiler_give_the_same_bits() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let special = [0, 0x8000_0000, 1, 0x80_0000, 0x3f80_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0001];
        let operators = FLOATS.iter().map(|row| row.0).flat_map(|op| [(op, 32), (op, 64)]);
        let intrinsics = Intrinsic::all().into_iter().filter(|intrinsic| intrinsic.is_pure());
        let intrinsics = intrinsics.map(|intrinsic| {
            let width = intrinsic.input(0).width().unwrap_or(32);
            (Op::Call(intrinsic), width)
        });
        let mut compared = 0;
        for (op, width) in operators.chain(intrinsics) {
            let out = match op {
                Op::Call(call) => call.result().width().unwrap_or(32),
                Op::FloatConvert => 96 - width,
                op if op.gives_float() => width,
                _ => 1,
            };
            for _ in 0..300 {
                let number = || {
                    let chosen = special[(random() & 7) as usize];
                    let wide = f64::from(f32::from_bits(chosen as u32)).to_bits();
                    match (random() & 3, width) {
                        (0, 32) => chosen,
                        (0, _) => wide,
                        (1, 32) => u64::from(((random() as i32) as f32 / 65_536.0).to_bits()),
                        _ => masked(random(), width),
                    }
                };
                let count = match op {
                    Op::Call(call) => call.input_count().unwrap_or(0),
                    Op::FloatSqrt | Op::FloatNegate | Op::FloatConvert | Op::FloatNan => 1,
                    _ => 2,
                };
                let inputs: Vec<u64> = std::iter::repeat_with(number).take(count).collect();
                let Some(tried) = unshade_ir::evaluate::operate(op, &inputs, width, out) else { continue };
                let exact = compute(op, &inputs, width, out);
                assert_eq!(Some(masked(tried, out)), exact, "{op:?} {inputs:x?}");
                compared += 1;
            }
        }
        assert!(compared > 20_000);
    }

    #[test]
    fn signed_operators_extend_their_inputs() {
        assert_eq!(compute(Op::Sdiv, &[0xffff_fff9, 2], 32, 32), Some(0xffff_fffd));
        assert_eq!(compute(Op::Srem, &[0xffff_fff9, 2], 32, 32), Some(0xffff_ffff));
        assert_eq!(
            compute(Op::Call(Intrinsic::Min(Number::I32)), &[0xffff_ffff, 1], 32, 32),
            Some(0xffff_ffff)
        );
        assert_eq!(compute(Op::SignedToFloat, &[0xffff_ffff], 32, 32), Some(0xbf80_0000));
        assert_eq!(compute(Op::Call(Intrinsic::Bytes(ByteOp::Add)), &[0x01ff, 0x0101], 32, 32), Some(0x0200));
    }
}
