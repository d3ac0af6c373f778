//! The functions of CUDA's mathematical library, bit for bit.
//!
//! A compiler inlines them. The decompiler recognises them by their results, and the interpreter computes them here; both
//! need every bit. The formulas are those of the CUDA 11.2 release, with subnormal floats preserved, as observed in
//! code that its compiler makes for sm_35; coefficients are facts of the library. Flushing the input and the result gives
//! what the library computes with `-ftz=true`. A test compiles each function, and compares the machine code with
//! these formulas.
//!
//! | module | functions |
//! |---|---|
//! | [`machine`] | the machine's approximations that the others start from |
//! | `exponential`, `logarithm`, `power` | exponentials, hyperbolic functions; logarithms; powers |
//! | `trigonometric`, `inverse` | sine, cosine, tangent; their inverses |
//! | `root`, `other` | roots; the error function, the normal distribution, remainders |
//! | `double` | the same for doubles |

mod double;
mod exponential;
mod inverse;
mod logarithm;
pub mod machine;
mod other;
mod power;
mod root;
mod trigonometric;

use super::vocabulary::vocabulary;
use super::{Intrinsic, Number};

/// `exp2f`, an operation of the machine for arguments whose power is no subnormal number.
pub const EXP2: Intrinsic = Intrinsic::Math(MathFunction::Exp2, Number::F32);

/// `rsqrtf`, an operation of the machine for numbers that are not subnormal.
pub const RECIPROCAL_ROOT: Intrinsic = Intrinsic::Math(MathFunction::ReciprocalRoot, Number::F32);

vocabulary! {
    /// A function of one number.
    MathFunction {
        /// The exponential function.
        Exp "exp",
        /// The power of two.
        Exp2 "exp2",
        /// The power of ten.
        Exp10 "exp10",
        /// The exponential function, less one.
        ExpM1 "expm1",
        /// The natural logarithm.
        Log "log",
        /// The logarithm to the base two.
        Log2 "log2",
        /// The logarithm to the base ten.
        Log10 "log10",
        /// The natural logarithm of the number and one.
        Log1P "log1p",
        /// The sine.
        Sine "sin",
        /// The cosine.
        Cosine "cos",
        /// The tangent.
        Tangent "tan",
        /// The hyperbolic sine.
        HyperbolicSine "sinh",
        /// The hyperbolic cosine.
        HyperbolicCosine "cosh",
        /// The hyperbolic tangent.
        HyperbolicTangent "tanh",
        /// The inverse sine.
        ArcSine "asin",
        /// The inverse cosine.
        ArcCosine "acos",
        /// The inverse tangent.
        ArcTangent "atan",
        /// The cube root.
        CubeRoot "cbrt",
        /// The reciprocal of the square root.
        ReciprocalRoot "rsqrt",
        /// The error function.
        Error "erf",
        /// One less the error function.
        ErrorComplement "erfc",
        /// The distribution function of the normal distribution.
        NormalDistribution "normcdf",
        /// The sine of a multiple of pi.
        SinePi "sinpi",
        /// The cosine of a multiple of pi.
        CosinePi "cospi",
    }
}

vocabulary! {
    /// A function of two numbers.
    MathFunction2 {
        /// A power.
        Power "pow",
        /// The angle of a point: its ordinate and abscissa.
        ArcTangent "atan2",
        /// The length of a vector.
        Hypotenuse "hypot",
        /// The remainder of a division whose quotient is rounded towards zero.
        Remainder "fmod",
    }
}

/// Returns the bits of a function of one number; `None` if there is no such function.
pub fn unary(function: MathFunction, ty: Number, x: u64) -> Option<u64> {
    if ty == Number::F64 {
        return double::unary(function, f64::from_bits(x));
    }
    if ty != Number::F32 {
        return None;
    }
    let formula = match function {
        MathFunction::Exp => exponential::expf,
        MathFunction::Exp2 => exponential::exp2f,
        MathFunction::Exp10 => exponential::exp10f,
        MathFunction::ExpM1 => exponential::expm1f,
        MathFunction::Log => logarithm::logf,
        MathFunction::Log2 => logarithm::log2f,
        MathFunction::Log10 => logarithm::log10f,
        MathFunction::Log1P => logarithm::log1pf,
        MathFunction::Sine => trigonometric::sinf,
        MathFunction::Cosine => trigonometric::cosf,
        MathFunction::Tangent => trigonometric::tanf,
        MathFunction::HyperbolicSine => exponential::sinhf,
        MathFunction::HyperbolicCosine => exponential::coshf,
        MathFunction::HyperbolicTangent => exponential::tanhf,
        MathFunction::ArcSine => inverse::asinf,
        MathFunction::ArcCosine => inverse::acosf,
        MathFunction::ArcTangent => inverse::atanf,
        MathFunction::CubeRoot => root::cbrtf,
        MathFunction::Error => other::erff,
        MathFunction::ErrorComplement => other::erfcf,
        MathFunction::NormalDistribution => other::normcdff,
        MathFunction::SinePi => trigonometric::sinpif,
        MathFunction::CosinePi => trigonometric::cospif,
        MathFunction::ReciprocalRoot => root::rsqrtf,
    };
    Some(u64::from(machine::bits(formula(f32::from_bits(x as u32)))))
}

/// Returns the bits of a function of two numbers; `None` if there is no such function.
pub fn binary(function: MathFunction2, ty: Number, x: u64, y: u64) -> Option<u64> {
    if ty == Number::F64 {
        return double::binary(function, f64::from_bits(x), f64::from_bits(y));
    }
    if ty != Number::F32 {
        return None;
    }
    let (x, y) = (f32::from_bits(x as u32), f32::from_bits(y as u32));
    let formula = match function {
        MathFunction2::Remainder => return Some(u64::from(other::fmodf(x, y))),
        MathFunction2::Power => power::powf,
        MathFunction2::ArcTangent => inverse::atan2f,
        MathFunction2::Hypotenuse => root::hypotf,
    };
    Some(u64::from(machine::bits(formula(x, y))))
}

/// Returns the bits of an approximation of the logarithm to the base two: `__log2f`.
pub fn approximate_log2(x: u64) -> u64 {
    let x = f32::from_bits(x as u32);
    let is_small = x.abs() < f32::MIN_POSITIVE;
    let log = if is_small { machine::log2(x * 16_777_216.0) - 24.0 } else { machine::log2(x) };
    u64::from(machine::bits(log))
}

/// Returns the value of a polynomial, with fused operations; the coefficient of the highest power is the first.
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let [first, rest @ ..] = coefficients.as_slice() else { return 0.0 };
    rest.iter().fold(*first, |sum, coefficient| sum.mul_add(x, *coefficient))
}

/// Returns the magnitude of one number with the sign of another.
fn with_sign(magnitude: f32, sign: f32) -> f32 {
    f32::from_bits(magnitude.to_bits() | sign.to_bits() & 1 << 31)
}
