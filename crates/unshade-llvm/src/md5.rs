//! The first eight bytes of an MD5 digest: the GUIDs by which module summaries name symbols.
//!
//! Knowledge: RFC 1321.

use alloc::vec::Vec;

/// The rotation of each step; every round repeats four of them.
const ROTATIONS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The integer parts of 2^32 · |sin(i + 1)|.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// Returns the first eight bytes of the digest as a little-endian number.
pub(crate) fn low64(bytes: &[u8]) -> u64 {
    let mut padded = Vec::from(bytes);
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        compress(&mut state, block);
    }
    u64::from(state[0]) | u64::from(state[1]) << 32
}

fn compress(state: &mut [u32; 4], block: &[u8]) {
    let word = |at: usize| {
        let start = at.wrapping_mul(4);
        let bytes = block.get(start..start.wrapping_add(4)).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    };
    let [mut a, mut b, mut c, mut d] = *state;
    for (at, &sine) in SINES.iter().enumerate() {
        let (mixed, index) = match at >> 4 {
            0 => ((b & c) | (!b & d), at),
            1 => ((d & b) | (!d & c), at.wrapping_mul(5).wrapping_add(1)),
            2 => (b ^ c ^ d, at.wrapping_mul(3).wrapping_add(5)),
            _ => (c ^ (b | !d), at.wrapping_mul(7)),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(sine).wrapping_add(word(index & 15));
        let rotation = ROTATIONS.get(at >> 4).and_then(|round| round.get(at & 3)).copied().unwrap_or(0);
        (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(rotation)));
    }
    for (slot, value) in state.iter_mut().zip([a, b, c, d]) {
        *slot = slot.wrapping_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        assert_eq!(low64(b"").to_le_bytes(), [0xd4, 0x1d, 0x8c, 0xd9, 0x8f, 0x00, 0xb2, 0x04]);
        assert_eq!(low64(b"abc").to_le_bytes(), [0x90, 0x01, 0x50, 0x98, 0x3c, 0xd2, 0x4f, 0xb0]);
        assert_eq!(low64(b"main"), 15822663052811949562);
    }
}
