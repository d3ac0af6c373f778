//! Coordinates and addresses of surfaces: SUCLAMP, SUBFM, SUEAU and IMADSP.SD.
//!
//! Source: Mesa's NAK (`OpSuClamp`, `OpSuBfm`, `OpSuEau`, `OpIMadSp`), whose authors compared it with hardware. A packed
//! coordinate of a block-linear surface has:
//!
//! | bits | contents |
//! |---|---|
//! | 0..16 | the index of the block |
//! | 16..24 | the byte in the line of the block |
//! | 27..30 | the binary logarithm of the number of tiles in a block |
//! | 30 | pitch-linear: bits 0..20 are then the coordinate, and 27..30 the size of an element |
//! | 31 | out of bounds |

/// Returns `count` bits from bit `low` on.
fn bits(value: u32, low: u32, count: u32) -> u32 {
    value.wrapping_shr(low) & 1_u32.wrapping_shl(count).wrapping_sub(1)
}

/// The arguments of SUCLAMP. Geometries 0 to 4 are as in the descriptor, then pitch-linear, then block-linear; each for
/// elements of 1, 2, 4, 8, 16 bytes.
pub(super) struct Clamp {
    pub(super) coordinate: u32,
    pub(super) descriptor: u32,
    pub(super) added: u32,
    pub(super) has_sign: bool,
    pub(super) geometry: u32,
    pub(super) two_dimensions: bool,
}

impl Clamp {
    /// Returns the packed coordinate, and whether it was out of bounds.
    pub(super) fn result(&self) -> (u32, bool) {
        let coordinate =
            if self.has_sign { i64::from(self.coordinate.cast_signed()) } else { i64::from(self.coordinate) };
        let coordinate = coordinate.wrapping_add(i64::from(self.added.cast_signed()));
        let lines = match self.geometry {
            0..=4 => bits(self.descriptor, 21, 1) != 0,
            5..=9 => true,
            _ => false,
        };
        let plain = lines && !self.two_dimensions;
        let bound = if plain { self.descriptor } else { bits(self.descriptor, 0, 20) };
        let rounded = 1_u32.wrapping_shl(self.geometry.min(14).wrapping_rem(5)).wrapping_sub(1);
        let bound = bound & !rounded;
        let outside = coordinate < 0 || coordinate > i64::from(bound);
        let clamped = u32::try_from(coordinate.clamp(0, i64::from(bound))).unwrap_or(0);
        if plain {
            return (clamped, outside);
        }
        let size = bits(self.descriptor, 26, 3);
        let packed = if lines {
            bits(clamped, 0, 20) | size.wrapping_shl(27) | 1 << 30
        } else {
            let block = bits(clamped.wrapping_shr(bits(self.descriptor, 22, 4)), 0, 16);
            let inside = bits(clamped.wrapping_shl(size), 0, 8);
            block | inside.wrapping_shl(16) | bits(self.descriptor, 29, 3).wrapping_shl(27)
        };
        (packed | u32::from(outside).wrapping_shl(31), outside)
    }
}

/// Merges the packed coordinates: the byte in a GOB of 8 lines by 64 bytes, and the index of the GOB in the block.
pub(super) fn merged(x: u32, y: u32, z: u32, three_dimensions: bool) -> u32 {
    if bits(x, 30, 1) != 0 || bits(y, 30, 1) != 0 {
        let size = bits(x, 27, 3);
        return bits(bits(z, 0, 8).wrapping_shl(size), 0, 8) | size.wrapping_shl(12) | 1 << 11;
    }
    let inside = bits(x, 16, 4)
        | bits(y, 16, 2).wrapping_shl(4)
        | bits(x, 20, 1).wrapping_shl(6)
        | bits(y, 18, 1).wrapping_shl(7)
        | bits(x, 21, 1).wrapping_shl(8);
    let (in_x, in_y) = (bits(x, 27, 1), bits(y, 27, 3));
    let in_z = if three_dimensions { bits(z, 27, 3) } else { 0 };
    let tiles = bits(in_x.wrapping_add(in_y).wrapping_add(in_z), 0, 4);
    let (x, y, z) = (
        bits(bits(x, 22, 2), 0, in_x),
        bits(bits(y, 19, 5), 0, in_y.min(5)),
        bits(bits(z, 16, 8), 0, in_z.min(5)),
    );
    let tile = (z.wrapping_shl(in_y) | y).wrapping_shl(in_x) | x;
    let tile = tile & if in_x == 0 { 0x3ff } else { 0x7ff };
    inside | tiles.wrapping_shl(12) | tile.wrapping_shl(16)
}

/// Returns whether one of the packed coordinates was out of bounds.
pub(super) fn outside(x: u32, y: u32, z: u32, three_dimensions: bool) -> bool {
    bits(x | y, 31, 1) != 0 || three_dimensions && bits(z, 31, 1) != 0
}

/// Returns the address of an element without its lowest 8 bits.
pub(super) fn address(block: u32, merged: u32, base: u32) -> u32 {
    let shift = bits(merged, 12, 4);
    let offset = if bits(merged, 11, 1) != 0 {
        let offset = if shift < 8 {
            block.wrapping_shr(8_u32.wrapping_sub(shift))
        } else {
            block.wrapping_shl(shift.wrapping_sub(8))
        };
        bits(offset, 0, 24)
    } else {
        let block = block.wrapping_shl(shift.wrapping_add(1));
        bits(block | bits(merged, 16, 11).wrapping_shl(1) | bits(merged, 8, 1), 0, 27)
    };
    base.wrapping_add(offset)
}

/// Multiplies and adds parts of the sources, selected by the upper bits of the second one.
pub(super) fn multiply_add(a: u32, b: u32, c: u32) -> u32 {
    let a = match bits(b, 30, 2) {
        0 => a,
        1 => bits(a, 0, 24),
        2 => bits(a, 0, 16),
        _ => bits(a, 16, 16),
    };
    let c = match bits(b, 26, 2) {
        1 => bits(c, 0, 24),
        2 => bits(c, 0, 16),
        _ => c,
    };
    let b = if bits(b, 28, 1) != 0 { bits(b, 0, 24) } else { bits(b, 0, 16) };
    a.wrapping_mul(b).wrapping_add(c)
}

#[cfg(test)]
mod tests {
    use super::{Clamp, address, merged, multiply_add};

    #[test]
    fn pitch_linear_coordinates_are_clamped() {
        let clamp = |coordinate, geometry| {
            let question = Clamp {
                coordinate,
                descriptor: 15,
                added: 0,
                has_sign: true,
                geometry,
                two_dimensions: false,
            };
            question.result()
        };
        assert_eq!(clamp(7, 5), (7, false));
        assert_eq!(clamp(15, 7), (12, true));
        assert_eq!(clamp(u32::MAX, 5), (0, true));
    }

    #[test]
    fn block_linear_coordinates_are_packed() {
        assert_eq!(merged(0x003f_0000, 0x0007_0000, 0, false), 0x1ff);
        assert_eq!(address(1, 0x0000_1100, 0x100), 0x100 + 5);
        assert_eq!(multiply_add(0xffff_0003, 2 << 30 | 5, 1), 16);
    }
}
