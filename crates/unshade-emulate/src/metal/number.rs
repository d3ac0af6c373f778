//! Operators on numbers: bits of a kind in, bits of a kind out.
//!
//! | case | result |
//! |---|---|
//! | shift by the width or more | by the count modulo the width, as in the language; counted, as LLVM leaves it open |
//! | division of an integer by zero, or that overflows | a fault |
//! | float to integer | the nearest integer of the range towards zero; 0 for NaN; counted, as LLVM leaves it open |
//! | integer to bfloat | through a float |
//! | half to bfloat and back | through a float |

use super::fault::Reason;
use super::kind::Kind;
use std::fmt::{Display, Formatter};
use std::ops::{Add, Div, Mul, Rem, Sub};
use unshade_ir::Op;
use unshade_ir::fold::{fold, masked, signed};
use unshade_ir::shader::ShaderOp;

/// How often a run did what the language leaves open: its results need not be those of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undefined {
    /// Shifts by the width or more.
    pub shifts: u64,
    /// Floats converted to integers that do not have them.
    pub conversions: u64,
    /// Values read from lanes that take no part.
    pub lanes: u64,
    /// Lanes of vectors at an index that they do not have.
    pub indices: u64,
    /// Operations on several NaNs: which one is the result depends on the order of the operands.
    pub nans: u64,
}

impl Undefined {
    /// Counts an operation whose result is a NaN if its inputs have several.
    pub(super) fn count_nans(&mut self, kind: Kind, inputs: &[u64]) {
        let mut nans = inputs.iter().filter(|bits| kind.decode(**bits).is_nan());
        let first = nans.next();
        self.nans += u64::from(nans.any(|other| Some(other) != first));
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what there is, with how often.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("shifts by the width or more", self.shifts),
            ("floats converted to integers that do not have them", self.conversions),
            ("values of lanes that take no part", self.lanes),
            ("lanes of vectors that do not exist", self.indices),
            ("operations on several NaNs", self.nans),
        ]
        .into_iter()
        .filter(|row| row.1 > 0)
    }
}

impl Display for Undefined {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (index, (what, count)) in self.rows().enumerate() {
            write!(f, "{}{count} {what}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Returns the result of an operator for the kinds of its first input and of its result; `None` if it is none of numbers.
pub(super) fn operate(
    op: Op,
    inputs: [u64; 2],
    kind: Kind,
    out: Kind,
    undefined: &mut Undefined,
) -> Result<Option<u64>, Reason> {
    let [a, b] = inputs;
    let width = kind.width();
    Ok(Some(match op {
        Op::Copy => a,
        Op::Shl | Op::Shr | Op::Sar => {
            undefined.shifts += u64::from(b >= u64::from(width));
            let count = b % u64::from(width.max(1));
            return Ok(fold(op, &[a, count], width, out.width()));
        }
        Op::Udiv | Op::Urem if b == 0 => return Err(Reason::DivisionByZero),
        Op::Sdiv | Op::Srem => divided(op, a, b, width)?,
        Op::FloatAdd | Op::FloatSub | Op::FloatMul | Op::FloatDiv | Op::Shader(ShaderOp::FloatRemainder) => {
            arithmetic(op, inputs, kind, out, undefined)
        }
        Op::FloatNegate => a ^ 1 << (width.max(1) - 1),
        Op::FloatAbs => a & !(1 << (width.max(1) - 1)),
        Op::FloatEqual => u64::from(kind.decode(a) == kind.decode(b)),
        Op::FloatNotEqual => u64::from(kind.decode(a) != kind.decode(b)),
        Op::FloatLess => u64::from(kind.decode(a) < kind.decode(b)),
        Op::FloatLessEqual => u64::from(kind.decode(a) <= kind.decode(b)),
        Op::FloatNan => u64::from(kind.decode(a).is_nan()),
        Op::FloatConvert => converted(a, kind, out),
        Op::SignedToFloat => of_signed(signed(a, width), out),
        Op::UnsignedToFloat => of_unsigned(a, out),
        Op::Shader(ShaderOp::FloatToSigned) => to_signed(kind.decode(a), out.width(), undefined),
        Op::Shader(ShaderOp::FloatToUnsigned) => to_unsigned(kind.decode(a), out.width(), undefined),
        op => return Ok(fold(op, &inputs, width, out.width())),
    }))
}

fn divided(op: Op, a: u64, b: u64, width: u8) -> Result<u64, Reason> {
    let (a, b) = (signed(a, width), signed(b, width));
    if b == 0 {
        return Err(Reason::DivisionByZero);
    }
    let overflows = b == -1 && masked(a.cast_unsigned(), width) == 1 << (width.max(1) - 1);
    if overflows {
        return Err(Reason::DivisionOverflow);
    }
    let result = if op == Op::Sdiv { a.wrapping_div(b) } else { a.wrapping_rem(b) };
    Ok(masked(result.cast_unsigned(), width))
}

fn arithmetic(op: Op, inputs: [u64; 2], kind: Kind, out: Kind, undefined: &mut Undefined) -> u64 {
    if kind == Kind::Double {
        let [a, b] = inputs.map(f64::from_bits);
        let result = operated(op, a, b);
        return if result.is_nan() { nan(inputs, kind, out, undefined) } else { out.encode(result) };
    }
    let [a, b] = inputs.map(|bits| kind.decode_single(bits));
    let result = operated(op, a, b);
    if result.is_nan() { nan(inputs, kind, out, undefined) } else { out.encode_single(result) }
}

fn operated<T>(op: Op, a: T, b: T) -> T
where
    T: Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T> + Rem<Output = T>,
{
    match op {
        Op::FloatAdd => a + b,
        Op::FloatSub => a - b,
        Op::FloatMul => a * b,
        Op::FloatDiv => a / b,
        _ => a % b,
    }
}

fn nan(inputs: [u64; 2], kind: Kind, out: Kind, undefined: &mut Undefined) -> u64 {
    undefined.count_nans(kind, &inputs);
    out.nan(kind, &inputs)
}

/// Returns a float of another kind.
pub(super) fn converted(bits: u64, kind: Kind, out: Kind) -> u64 {
    match (kind, out) {
        (kind, out) if kind == out => bits,
        _ if kind.decode(bits).is_nan() => out.nan(kind, &[bits]),
        (Kind::Double, _) | (_, Kind::Double) => out.encode(kind.decode(bits)),
        _ => out.encode_single(kind.decode_single(bits)),
    }
}

fn of_signed(number: i64, out: Kind) -> u64 {
    if out == Kind::Double { out.encode(number as f64) } else { out.encode_single(number as f32) }
}

fn of_unsigned(number: u64, out: Kind) -> u64 {
    if out == Kind::Double { out.encode(number as f64) } else { out.encode_single(number as f32) }
}

fn to_signed(number: f64, width: u8, undefined: &mut Undefined) -> u64 {
    let most = 2_f64.powi(i32::from(width) - 1);
    let number = number.trunc();
    undefined.conversions += u64::from(!(number >= -most && number < most));
    let most = if width >= 64 { i64::MAX } else { (1 << (width.max(1) - 1)) - 1 };
    masked((number as i64).clamp(-most - 1, most).cast_unsigned(), width)
}

fn to_unsigned(number: f64, width: u8, undefined: &mut Undefined) -> u64 {
    let number = number.trunc();
    undefined.conversions += u64::from(!(number >= 0.0 && number < 2_f64.powi(i32::from(width))));
    (number as u64).min(masked(u64::MAX, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: Kind = Kind::Integer(32);

    fn run(op: Op, inputs: [u64; 2], kind: Kind, out: Kind) -> (Result<Option<u64>, Reason>, Undefined) {
        let mut undefined = Undefined::default();
        (operate(op, inputs, kind, out, &mut undefined), undefined)
    }

    #[test]
    fn divisions_that_have_no_result_are_faults() {
        for op in [Op::Udiv, Op::Urem, Op::Sdiv, Op::Srem] {
            assert_eq!(run(op, [7, 0], WORD, WORD).0, Err(Reason::DivisionByZero));
        }
        assert_eq!(run(Op::Sdiv, [1 << 31, 0xffff_ffff], WORD, WORD).0, Err(Reason::DivisionOverflow));
        assert_eq!(run(Op::Srem, [0xffff_fff9, 2], WORD, WORD).0, Ok(Some(0xffff_ffff)));
        assert_eq!(run(Op::Udiv, [0xffff_fff9, 2], WORD, WORD).0, Ok(Some(0x7fff_fffc)));
    }

    #[test]
    fn what_is_left_open_is_counted() {
        let (value, undefined) = run(Op::Shl, [1, 33], WORD, WORD);
        assert_eq!((value, undefined.shifts), (Ok(Some(2)), 1));
        let to =
            |op, number: f32, out| run(Op::Shader(op), [u64::from(number.to_bits()), 0], Kind::Float, out);
        let (value, undefined) = to(ShaderOp::FloatToSigned, 3e9, WORD);
        assert_eq!((value, undefined.conversions), (Ok(Some(0x7fff_ffff)), 1));
        let (value, undefined) = to(ShaderOp::FloatToUnsigned, -0.75, Kind::Integer(8));
        assert_eq!((value, undefined.conversions), (Ok(Some(0)), 0));
        let (value, undefined) = to(ShaderOp::FloatToSigned, f32::NAN, Kind::Integer(64));
        assert_eq!(
            (value, undefined.to_string()),
            (Ok(Some(0)), "1 floats converted to integers that do not have them".into())
        );
    }

    #[test]
    fn several_nans_are_counted() {
        let of = |a, b| run(Op::FloatAdd, [a, b], Kind::Float, Kind::Float);
        let (value, undefined) = of(0x7fc0_0001, 0x7fc0_0002);
        assert_eq!((value, undefined.nans), (Ok(Some(0x7fc0_0001)), 1));
        assert_eq!(of(0x7fc0_0001, 0x7fc0_0001).1.nans, 0);
        assert_eq!(of(0x3f80_0000, 0x7fc0_0002), (Ok(Some(0x7fc0_0002)), Undefined::default()));
    }

    #[test]
    fn floats_are_rounded_to_their_kind() {
        let half = |number: f64| Kind::Half.encode(number);
        let sum = run(Op::FloatAdd, [half(2048.0), half(1.0)], Kind::Half, Kind::Half).0;
        assert_eq!(sum, Ok(Some(half(2048.0))));
        let bfloat = |number: f64| Kind::BFloat.encode(number);
        let product = run(Op::FloatMul, [bfloat(1.0078125), bfloat(1.0078125)], Kind::BFloat, Kind::BFloat).0;
        assert_eq!(product, Ok(Some(bfloat(1.015625))));
        let wide = run(Op::FloatConvert, [half(0.1), 0], Kind::Half, Kind::BFloat).0;
        assert_eq!(wide, Ok(Some(0x3dcd)));
    }
}
