//! Memory of two runs, compared by the types of its numbers.

use std::collections::{BTreeMap, BTreeSet};

use super::module::Field;

/// The most units of the last place that floats may differ by.
const MOST: u64 = 2;

/// The bytes of a page around a buffer.
const PAGE: usize = 4096;

/// What a comparison finds.
#[derive(Default)]
pub(super) struct Difference {
    /// Numbers that a run wrote, and those that differ.
    pub(super) written: u64,
    pub(super) differing: u64,
    /// The most units of the last place between floats that count as the same.
    pub(super) largest: u64,
    /// The first number that differs.
    pub(super) first: Option<String>,
    /// Whether a byte differs that is in no NaN of a float on both sides.
    pub(super) is_more_than_nans: bool,
}

impl Difference {
    /// Compares one number.
    fn number(&mut self, ty: &str, place: i64, native: &[u8], ours: &[u8]) {
        if native == ours {
            return;
        }
        if let Some(distance) = distance(ty, native, ours).filter(|distance| *distance <= MOST) {
            self.largest = self.largest.max(distance);
            return;
        }
        self.differing += 1;
        if self.first.is_none() {
            let hex = |bytes: &[u8]| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
            self.first = Some(format!("byte {place} ({ty}): 0x{} and 0x{}", hex(native), hex(ours)));
        }
    }
}

/// The types of floats: sign and infinity.
const FLOATS: [(&str, i64, i64); 3] =
    [("f32", 1 << 31, 0x7f80_0000), ("f16", 1 << 15, 0x7c00), ("bf16", 1 << 15, 0x7f80)];

fn bits(bytes: &[u8]) -> i64 {
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | i64::from(*byte))
}

fn is_nan(ty: &str, bytes: &[u8]) -> bool {
    FLOATS.iter().any(|(found, sign, infinity)| *found == ty && bits(bytes) & (sign - 1) > *infinity)
}

/// Returns how many floats are between two; `None` if they are none. NaNs are all the same.
fn distance(ty: &str, a: &[u8], b: &[u8]) -> Option<u64> {
    let (_, sign, _) = *FLOATS.iter().find(|row| row.0 == ty)?;
    match (is_nan(ty, a), is_nan(ty, b)) {
        (true, true) => return Some(0),
        (false, false) => {}
        _ => return None,
    }
    let (a, b) = (bits(a), bits(b));
    let order = |bits: i64| if bits & sign != 0 { -(bits & (sign - 1)) } else { bits };
    Some(order(a).abs_diff(order(b)))
}

fn size_of(ty: &str) -> usize {
    let digits: String = ty.chars().filter(char::is_ascii_digit).collect();
    (digits.parse::<usize>().unwrap_or(8) / 8).max(1)
}

/// Compares a buffer of elements with these fields: what it was at the start, natively and here.
pub(super) fn compare(
    (stride, fields): (usize, &[Field]),
    [start, native, ours]: [&[u8]; 3],
    difference: &mut Difference,
) {
    let unit = fields.first().map_or(4, |field| size_of(field.ty));
    let changed = start.chunks(unit).zip(native.chunks(unit)).filter(|(start, native)| start != native);
    difference.written += changed.count() as u64;
    if native == ours {
        return;
    }
    let ours = &with_signs(native, ours)[..];
    let before = difference.differing;
    for (element, (native, ours)) in native.chunks(stride).zip(ours.chunks(stride)).enumerate() {
        if native == ours {
            continue;
        }
        let mut is_covered = vec![false; native.len()];
        for field in fields {
            let size = size_of(field.ty);
            for index in 0..field.count as usize {
                let at = field.offset as usize + index * size;
                let (Some(a), Some(b)) = (native.get(at..at + size), ours.get(at..at + size)) else {
                    continue;
                };
                is_covered[at..at + size].fill(true);
                difference.number(field.ty, (element * stride + at) as i64, a, b);
            }
        }
        for (at, _) in is_covered.iter().enumerate().filter(|(_, is_covered)| !**is_covered) {
            difference.number("u8", (element * stride + at) as i64, &native[at..=at], &ours[at..=at]);
        }
    }
    difference.is_more_than_nans |= difference.differing > before && !is_only_nans(native, ours);
}

/// Returns the bytes with the signs of NaNs that the native side has. x86 computes negative ones and the interpreter positive
/// ones, which may be anywhere: among bytes without a type, as integers, not aligned.
fn with_signs(native: &[u8], ours: &[u8]) -> Vec<u8> {
    // The upper two bytes of NaNs of f32 and bf16, and of f16.
    const NANS: [[u8; 2]; 2] = [[0xc0, 0x7f], [0x00, 0x7e]];
    let mut bytes = ours.to_vec();
    for (at, (native, ours)) in native.windows(2).zip(ours.windows(2)).enumerate() {
        if NANS.iter().any(|nan| ours == nan && native == [nan[0], nan[1] | 0x80]) {
            bytes[at + 1] |= 0x80;
        }
    }
    bytes
}

/// Returns whether bytes differ only in NaNs of floats. Which of several NaNs a sum of them is depends on the order of its
/// operands, which compilers change.
fn is_only_nans(native: &[u8], ours: &[u8]) -> bool {
    let is_in_nan = |at: usize| {
        (at.saturating_sub(3)..=at).any(|start| {
            let windows = native.get(start..start + 4).zip(ours.get(start..start + 4));
            windows.is_some_and(|(native, ours)| is_nan("f32", native) && is_nan("f32", ours))
        })
    };
    native.iter().zip(ours).enumerate().all(|(at, (native, ours))| native == ours || is_in_nan(at))
}

/// Compares what is around a buffer of so many bytes. `native` has pages with their places before them.
pub(super) fn compare_around<'b>(
    fields: &[Field],
    size: usize,
    native: &[u8],
    ours: impl Iterator<Item = (i64, &'b [u8])>,
    difference: &mut Difference,
) {
    let page = |bytes: &[u8]| {
        let (place, bytes) = bytes.split_first_chunk::<8>()?;
        Some((i64::from_le_bytes(*place), bytes.to_vec()))
    };
    let native: BTreeMap<i64, Vec<u8>> = native.chunks(8 + PAGE).filter_map(page).collect();
    let ours: BTreeMap<i64, &[u8]> = ours.collect();
    let ty = match fields {
        [only] if only.ty != "p64" => only.ty,
        _ => "u8",
    };
    let unit = size_of(ty);
    let zeros = [0; PAGE];
    let places: BTreeSet<i64> = native.keys().chain(ours.keys()).copied().collect();
    for place in places {
        let a = native.get(&place).map_or(&zeros[..], Vec::as_slice);
        let b = ours.get(&place).copied().unwrap_or(&zeros);
        let b = with_signs(a, b);
        let before = difference.differing;
        let (native, ours) = (a, &b);
        for (index, (a, b)) in a.chunks(unit).zip(b.chunks(unit)).enumerate() {
            let at = place + (index * unit) as i64;
            if at >= 0 && (at as usize) < size {
                continue;
            }
            difference.written += u64::from(a.iter().any(|byte| *byte != 0));
            difference.number(ty, at, a, b);
        }
        difference.is_more_than_nans |= difference.differing > before && !is_only_nans(native, ours);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_may_be_near() {
        let of = |a: f32, b: f32| distance("f32", &a.to_le_bytes(), &b.to_le_bytes());
        assert_eq!(of(1.0, 1.0 + f32::EPSILON), Some(1));
        assert_eq!(of(-0.0, 0.0), Some(0));
        assert_eq!(of(f32::from_bits(1), -f32::from_bits(1)), Some(2));
        assert_eq!(of(f32::NAN, -f32::NAN), Some(0));
        assert_eq!(of(f32::NAN, 1.0), None);
        assert_eq!(distance("u32", &[0; 4], &[1, 0, 0, 0]), None);
    }

    #[test]
    fn signs_of_nans_do_not_count() {
        let ours = [1, 0, 0xc0, 0x7f, 0, 0x7e, 0, 0x7f];
        let native = [1, 0, 0xc0, 0xff, 0, 0xfe, 0, 0xff];
        assert_eq!(with_signs(&native, &ours), [1, 0, 0xc0, 0xff, 0, 0xfe, 0, 0x7f]);
    }

    #[test]
    fn nans_may_have_other_bits() {
        let ours = [7, 1, 2, 0xc0, 0x7f, 9];
        assert!(is_only_nans(&[7, 3, 4, 0xd0, 0xff, 9], &ours));
        assert!(!is_only_nans(&[7, 3, 4, 0xd0, 0xff, 8], &ours));
        assert!(!is_only_nans(&[7, 3, 4, 0x70, 0x7f, 9], &ours));
    }

    #[test]
    fn bytes_between_fields_count() {
        let fields = [Field { ty: "f32", offset: 0, count: 1 }];
        let (start, mut native, mut ours) = ([0; 16], [0; 16], [0; 16]);
        native[..4].copy_from_slice(&1.0_f32.to_le_bytes());
        ours[..4].copy_from_slice(&1.000_000_1_f32.to_le_bytes());
        let mut difference = Difference::default();
        compare((8, &fields), [&start, &native, &ours], &mut difference);
        assert_eq!((difference.differing, difference.largest, difference.written), (0, 1, 1));
        ours[13] = 1;
        compare((8, &fields), [&start, &native, &ours], &mut difference);
        assert_eq!(difference.first.as_deref(), Some("byte 13 (u8): 0x00 and 0x01"));
    }

    #[test]
    fn what_is_around_counts() {
        let mut native = (-4096_i64).to_le_bytes().to_vec();
        native.extend([0; PAGE]);
        let mut page = [0; PAGE];
        page[8] = 1;
        let mut difference = Difference::default();
        compare_around(&[], 64, &native, [(-4096, &page[..])].into_iter(), &mut difference);
        assert_eq!(difference.first.as_deref(), Some("byte -4088 (u8): 0x00 and 0x01"));
    }
}
