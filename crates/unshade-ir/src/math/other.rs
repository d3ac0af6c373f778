//! The error function.

use super::machine::exp2;
use super::{polynomial, with_sign};

/// The error function: a polynomial of the square near zero, and a power of two of a polynomial elsewhere.
pub(super) fn erff(x: f32) -> f32 {
    let magnitude = x.abs();
    if magnitude >= 1.00296 {
        let series = polynomial(
            magnitude,
            [
                1.6425845e-5,
                -0.000_468_021_05,
                0.005264764,
                -0.034303077,
                0.1532937,
                0.916_313_05,
                0.628_299_83,
            ],
        );
        return with_sign(1.0 - exp2(series.mul_add(-magnitude, -magnitude)), x);
    }
    let series = polynomial(
        x * x,
        [
            8.483_494_5e-5,
            -0.000_821_309_16,
            0.005213489,
            -0.026868774,
            0.11284005,
            -0.376_126_65,
            0.128_379_15,
        ],
    );
    series.mul_add(x, x)
}
