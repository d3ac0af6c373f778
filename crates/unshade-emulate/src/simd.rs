//! The video instructions that work on halves or bytes of registers at once, and IMADSP by a descriptor.
//!
//! Source: NVIDIA's documentation of PTX (`vadd2`, `vadd4` and so on).

/// What there is of a selection where the encoding has none: every part from its own source.
const AS_IT_IS: u64 = 255;

/// `video_simd(code, types, variant, a, b, c, select a, select b, negate a, negate b, mask, second, sum, signed, saturate)`.
pub(crate) fn run(arguments: &[u64; 16]) -> u64 {
    let [
        code,
        types,
        variant,
        a,
        b,
        c,
        select_a,
        select_b,
        negate_a,
        negate_b,
        mask,
        second,
        sum,
        signed,
        saturate,
        _,
    ] = *arguments;
    let bytes = code >= 8;
    let (count, width) = if bytes { (4, 8) } else { (2, 16) };
    let both = b << 32 | a;
    let parts = |value: u64, index: u64, signed: bool| {
        let part = value >> (index * width) & ((1 << width) - 1);
        let unused = 64 - width;
        if signed { (part << unused).cast_signed() >> unused } else { part.cast_signed() }
    };
    let immediate = select_b == AS_IT_IS;
    let mut result = 0_u64;
    let mut total = 0_i64;
    for index in 0..count {
        let (from_a, from_b) = if bytes {
            (byte_of_a(select_a, index), byte_of_b(select_b, index))
        } else {
            (
                half(select_a, index, immediate),
                if immediate { 2 + index } else { half(select_b, index, false) },
            )
        };
        let sign = |value: i64, negative: u64| if negative != 0 { -value } else { value };
        let x = sign(parts(both, from_a, types & 1 != 0), negate_a);
        let y = sign(parts(both, from_b, types & 2 != 0), negate_b);
        let of_c = parts(c, index, signed != 0);
        let mut value = operation(code & 7, variant, x, y, c, width);
        let (low, high) =
            if signed != 0 { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
        if saturate != 0 {
            value = value.clamp(low, high);
        }
        value = match second {
            1 => value.min(of_c),
            2 => value.max(of_c),
            _ => value,
        };
        let written = mask >> index & 1 != 0;
        if written {
            total += value;
        }
        // A selection has a predicate where others have the source that goes to what is not written.
        let kept = if code & 7 == 5 { 0 } else { parts(c, index, false) };
        let bits = if written { value } else { kept }.cast_unsigned() & ((1 << width) - 1);
        result |= bits << (index * width);
    }
    let sums = sum == 1 || second == 4;
    if sums { c.wrapping_add(total.cast_unsigned()) & 0xffff_ffff } else { result }
}

/// Add, average, absolute difference, smaller or larger, compare, select, shift right, shift left.
fn operation(code: u64, variant: u64, x: i64, y: i64, c: u64, width: u64) -> i64 {
    let places = if variant != 0 { y & (width.cast_signed() - 1) } else { y.clamp(0, width.cast_signed()) };
    match code {
        0 => x + y,
        1 => (x + y + 1) >> 1,
        2 => (x - y).abs(),
        3 => {
            if variant != 0 {
                x.max(y)
            } else {
                x.min(y)
            }
        }
        4 => {
            let less = [false, x < y, x == y, x <= y, x > y, x != y, x >= y, true];
            let index = usize::try_from(variant & 7).unwrap_or(0);
            less.get(index).copied().unwrap_or(false).into()
        }
        5 => {
            if c & 1 != 0 {
                x
            } else {
                y
            }
        }
        6 => x >> places,
        _ => x << places,
    }
}

/// Which half of the four a place takes: numbers are two digits of base 4, of base 2 beside an immediate.
fn half(select: u64, place: u64, immediate: bool) -> u64 {
    let base = if immediate { 2 } else { 4 };
    if place == 1 { select / base % base } else { select % base }
}

/// By the numbers of `v4_sel_a`: the byte of the eight that a place takes.
fn byte_of_a(select: u64, place: u64) -> u64 {
    const TABLE: [u32; 14] = [
        0x0000, 0x1111, 0x2222, 0x3333, 0x3210, 0x4321, 0x5432, 0x6543, 0x3201, 0x3012, 0x0213, 0x3120,
        0x1230, 0x2310,
    ];
    nibble(&TABLE, select, 0x3210, place)
}

/// By the numbers of `v4_sel_b`.
fn byte_of_b(select: u64, place: u64) -> u64 {
    const TABLE: [u32; 11] =
        [0x4444, 0x5555, 0x6666, 0x7777, 0x7654, 0x6543, 0x5432, 0x4321, 0x4567, 0x6745, 0x5476];
    nibble(&TABLE, select, 0x7654, place)
}

fn nibble(table: &[u32], select: u64, otherwise: u32, place: u64) -> u64 {
    let row = usize::try_from(select).ok().and_then(|select| table.get(select)).copied().unwrap_or(otherwise);
    u64::from(row >> (4 * place) & 0xf)
}

/// IMADSP.SD: multiplies and adds, where the third source holds the summand in its lower bits.
///
/// Surfaces are addressed by it; which bits of the descriptor choose types is not known, so it is the plain sum.
pub(crate) fn multiply_add_by_descriptor(arguments: &[u64; 16]) -> u64 {
    let [a, b, c, ..] = *arguments;
    a.wrapping_mul(b & 0xff_ffff).wrapping_add(c) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four(code: u64, variant: u64, a: u64, b: u64, c: u64, sum: u64) -> u64 {
        run(&[code, 0, variant, a, b, c, 4, 4, 0, 0, 15, 0, sum, 0, 0, 0])
    }

    #[test]
    fn bytes() {
        assert_eq!(four(8, 0, 0xff01_0203, 0x0101_0101, 0, 0), 0x0002_0304);
        assert_eq!(four(10, 0, 0x0001_0203, 0x0302_0100, 0, 0), 0x0301_0103);
        assert_eq!(four(10, 0, 0x0001_0203, 0x0302_0100, 5, 1), 13);
        assert_eq!(four(11, 0, 0x1020_0503, 0x0707_0707, 0, 0), 0x0707_0503);
        let immediate = [11, 0, 0, 0x1020_3040, 7, 0, 4, AS_IT_IS, 0, 0, 15, 0, 0, 0, 0, 0];
        assert_eq!(run(&immediate), 7);
    }

    #[test]
    fn halves() {
        let add = [0, 3, 0, 0x7fff_ffff, 0x0001_0001, 0, 4, 14, 0, 0, 3, 0, 0, 1, 1, 0];
        assert_eq!(run(&add), 0x7fff_0000);
    }
}
