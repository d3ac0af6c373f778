//! Bytes and words as floats between 0 and 1, or -1 and 1.

use super::code::Operand;
use super::kind::Kind;
use super::library::{largest, least};
use super::thread::Frame;
use unshade_ir::fold::signed;

/// A form of packed numbers: its name in AIR, the bits of each, and whether it has signs and whether colours are sRGB.
struct Form {
    name: &'static str,
    bits: u8,
    is_signed: bool,
    is_srgb: bool,
}

const FORMS: [Form; 5] = [
    Form { name: "unorm4x8.srgb", bits: 8, is_signed: false, is_srgb: true },
    Form { name: "unorm4x8", bits: 8, is_signed: false, is_srgb: false },
    Form { name: "snorm4x8", bits: 8, is_signed: true, is_srgb: false },
    Form { name: "unorm2x16", bits: 16, is_signed: false, is_srgb: false },
    Form { name: "snorm2x16", bits: 16, is_signed: true, is_srgb: false },
];

/// The lane of a colour that sRGB leaves as it is.
const ALPHA: usize = 3;

impl Form {
    fn scale(&self) -> f32 {
        ((1_u32 << (self.bits - u8::from(self.is_signed))) - 1) as f32
    }

    fn packed(&self, number: f32, lane: usize) -> u64 {
        let low = if self.is_signed { -1.0 } else { 0.0 };
        let number = match self.is_srgb && lane != ALPHA {
            true => to_srgb(least(largest(number, 0.0), 1.0)),
            false => number,
        };
        let number = least(largest(number, low), 1.0) * self.scale();
        let bits = (number.round_ties_even() as i64).cast_unsigned();
        bits & ((1 << self.bits) - 1)
    }

    fn unpacked(&self, word: u64, lane: usize) -> f32 {
        let bits = word >> (usize::from(self.bits) * lane) & ((1 << self.bits) - 1);
        let number = if self.is_signed { signed(bits, self.bits) as f32 } else { bits as f32 };
        let number = largest(number / self.scale(), -1.0);
        if self.is_srgb && lane != ALPHA { of_srgb(number) } else { number }
    }
}

fn to_srgb(linear: f32) -> f32 {
    if linear < 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

fn of_srgb(colour: f32) -> f32 {
    if colour <= 0.040_45 { colour / 12.92 } else { ((colour + 0.055) / 1.055).powf(2.4) }
}

/// Runs an operation. Returns whether it is one of these.
pub(super) fn operate(frame: &mut Frame, stem: &str, input: Operand, out: Operand) -> bool {
    let (is_packing, name) = match (stem.strip_prefix("pack."), stem.strip_prefix("unpack.")) {
        (Some(name), _) => (true, name),
        (_, Some(name)) => (false, name),
        _ => return false,
    };
    let Some(form) = FORMS.iter().find(|form| form.name == name) else { return false };
    let numbers = if is_packing { input } else { out };
    let (kind, count) = (numbers.shape.kind(), 32 / usize::from(form.bits));
    if !matches!(kind, Kind::Float | Kind::Half) || numbers.shape.lanes() != count {
        return false;
    }
    if is_packing {
        let packed = (0..count).fold(0, |word, lane| {
            word | form.packed(kind.decode_single(frame.read(input, lane)), lane)
                << (usize::from(form.bits) * lane)
        });
        frame.write(out, 0, packed);
        return true;
    }
    let word = frame.read(input, 0);
    for lane in 0..count {
        frame.write(out, lane, kind.encode_single(form.unpacked(word, lane)));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        for form in &FORMS {
            for bits in 0..1_u64 << form.bits {
                let lane = usize::from(form.bits == 8);
                let number = form.unpacked(bits << (usize::from(form.bits) * lane), lane);
                // The least number has two forms.
                let least = form.is_signed && bits == 1 << (form.bits - 1);
                assert_eq!(form.packed(number, lane), if least { bits + 1 } else { bits }, "{}", form.name);
            }
        }
    }
}
