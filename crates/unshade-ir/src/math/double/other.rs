//! The error function.

use super::exponential::{Power, small_power, split_power};
use super::{high, polynomial, reciprocal, with_sign};

/// The error function: one less a power of e of a polynomial.
pub(super) fn erf(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude >= 5.9215871957945065 {
        return with_sign(1.0, x);
    }
    let series = polynomial(
        magnitude,
        [
            -3.642577040697121e-15,
            1.636624707883456e-13,
            -3.4079297100747907e-12,
            4.3555974045566826e-11,
            -3.806599039253438e-10,
            2.389211325400646e-9,
            -1.0909760903049583e-8,
            3.508901186822047e-8,
            -6.72032708005184e-8,
            -8.299332548682465e-9,
            5.643145203798444e-7,
            -2.0278249778025215e-6,
            3.1218939658311085e-6,
            3.180046170354655e-6,
            -2.9583306728241582e-5,
            6.442483232470452e-5,
            2.590260570264615e-5,
            -0.0005901318195328236,
            0.001696207528729842,
            -0.00020919483164788562,
            -0.019128446995328407,
            0.10277260330144233,
            0.6366197723675876,
            0.1283791670955126,
        ],
    );
    let exponent = series.mul_add(magnitude, magnitude);
    let lacking = series.mul_add(magnitude, magnitude - exponent);
    let rounded = (exponent as f32 * -std::f32::consts::LOG2_E).round_ties_even();
    let Power { rest, factor, of_two } = split_power(-exponent, rounded);
    let less_one = rest + rest.mul_add(factor, -lacking);
    with_sign((-less_one).mul_add(of_two, 1.0 - of_two), x)
}

/// One less the error function: a power of e, times a rational function. The argument of its polynomial is the quotient of the
/// number less four and the number plus four.
pub(super) fn erfc(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let magnitude = x.abs();
    let value = if high(magnitude) <= 0x403b_4000 { near_complement(magnitude) } else { 0.0 };
    if x < 0.0 { 2.0 - value } else { value }
}

/// Returns the complement of the error function of a positive number that is not large.
fn near_complement(x: f64) -> f64 {
    let inverse = reciprocal(x + 4.0);
    let near = (x - 4.0) * inverse;
    let lacking = (-x).mul_add(near, (near + 1.0).mul_add(-4.0, x));
    let series = polynomial(
        inverse.mul_add(lacking, near),
        [
            -3.56026948268174e-10,
            -9.723912259144727e-9,
            -8.935022485164912e-9,
            1.0404430921625484e-7,
            5.880669858534126e-8,
            -8.214741492911691e-7,
            3.095640985330624e-7,
            5.708787184432565e-6,
            -1.1231787437600085e-5,
            -2.439955885720019e-5,
            0.00015062557169571788,
            -0.00019925637684786154,
            -0.0007577742918278583,
            0.005031969879259957,
            -0.016197733895953217,
            0.03716751555301873,
            -0.06633036582753243,
            0.09373283499711554,
            -0.10103906603555676,
            0.06809705425473514,
            0.015379652102605428,
            -0.13962111684056291,
            1.2329951186255526,
        ],
    );
    let inverse = reciprocal(x.mul_add(2.0, 1.0));
    let near = series * inverse;
    let quotient = inverse.mul_add(x.mul_add(-2.0 * near, series) - near, near);
    let square = x * x;
    let power = small_power(-square);
    quotient * power.mul_add((-x).mul_add(x, square), power)
}
