//! The digest of containers, and MD5, which it is based on.
//!
//! The digest covers everything after itself (from byte 20 on). It differs from MD5 only in the padding. MD5 appends
//! `0x80`, zeros and the length in bits. The digest puts the length in bits *before* the tail of the last block, and
//! `length in bits / 4 | 1` into the last word of the block.
//!
//! ```text
//! tail of fewer than 56 bytes:  one block   bits, tail, 0x80, zeros up to 60, bits / 4 | 1
//! longer:                       two blocks  tail, 0x80, zeros
//!                                           bits, zeros up to 60, bits / 4 | 1
//! ```
//!
//! Some values are markers instead of digests: all zeros means that the container was never signed (DXC without its
//! validator, LLVM); sixteen times `2` marks a shader with preview features; sixteen times `1` asks the runtime to
//! skip the check.
//!
//! Sources: hlsl-specs INF-0004, DXC's `DxilHash.cpp`; 784 signed real files agree.

use core::fmt;

/// The first byte that a digest covers.
pub const DIGEST_START: usize = 20;

/// The 16 bytes of a digest.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// The marker of an unsigned container.
    pub const UNSIGNED: Self = Self([0; 16]);
    /// The marker that asks the runtime to skip the check.
    pub const BYPASS: Self = Self([1; 16]);
    /// The marker of shaders with preview features.
    pub const PREVIEW_BYPASS: Self = Self([2; 16]);

    /// Computes the digest of a container from all of its bytes.
    pub fn of_container(container: &[u8]) -> Self {
        Self::of(container.get(DIGEST_START..).unwrap_or_default())
    }

    /// Computes the digest from the bytes that it covers.
    pub fn of(bytes: &[u8]) -> Self {
        let mut state = INITIAL;
        let blocks = bytes.chunks_exact(64);
        let tail = blocks.remainder();
        for block in blocks {
            compress(&mut state, block);
        }
        // Lengths are 32 bits wide in the format; the number of bits wraps as in Microsoft's implementation.
        let bits = u32::try_from(bytes.len()).unwrap_or(u32::MAX).wrapping_mul(8);
        let mut last = [0u8; 64];
        if tail.len() < 56 {
            fill(&mut last, 0, &bits.to_le_bytes());
            fill(&mut last, 4, tail);
            fill(&mut last, tail.len().saturating_add(4), &[0x80]);
        } else {
            let mut block = [0u8; 64];
            fill(&mut block, 0, tail);
            fill(&mut block, tail.len(), &[0x80]);
            compress(&mut state, &block);
            fill(&mut last, 0, &bits.to_le_bytes());
        }
        fill(&mut last, 60, &((bits >> 2) | 1).to_le_bytes());
        compress(&mut state, &last);
        Self(state_bytes(state))
    }

    /// Returns the meaning of a marker, or `None` for a digest.
    pub fn marker(self) -> Option<&'static str> {
        match self {
            Self::UNSIGNED => Some("unsigned"),
            Self::BYPASS => Some("bypass"),
            Self::PREVIEW_BYPASS => Some("preview bypass"),
            _ => None,
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the MD5 of bytes, as HASH stores that of the bitcode.
pub fn md5(bytes: &[u8]) -> Digest {
    let mut state = INITIAL;
    let blocks = bytes.chunks_exact(64);
    let tail = blocks.remainder();
    for block in blocks {
        compress(&mut state, block);
    }
    let mut last = [0u8; 128];
    fill(&mut last, 0, tail);
    fill(&mut last, tail.len(), &[0x80]);
    let size = if tail.len() < 56 { 64usize } else { 128 };
    fill(&mut last, size.saturating_sub(8), &(bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    for block in last.get(..size).unwrap_or_default().chunks_exact(64) {
        compress(&mut state, block);
    }
    Digest(state_bytes(state))
}

fn fill(block: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(target) = block.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len())) {
        target.copy_from_slice(bytes);
    }
}

fn state_bytes(state: [u32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (target, word) in bytes.chunks_exact_mut(4).zip(state) {
        target.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

const INITIAL: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// Rotation amounts of the four rounds (RFC 1321).
const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// `floor(2^32 * abs(sin(i + 1)))` (RFC 1321).
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

/// Compresses one 64-byte block, as MD5 does.
fn compress(state: &mut [u32; 4], block: &[u8]) {
    let mut words = [0u32; 16];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.try_into().map_or(0, u32::from_le_bytes);
    }
    let mut mixed = *state;
    // The two summands of the second round share no bits, so that the later one can be added by itself.
    mixed = round::<0, 1, 0>(mixed, &words, |b, c, d| (d ^ (b & (c ^ d)), 0));
    mixed = round::<1, 5, 1>(mixed, &words, |b, c, d| (!d & c, d & b));
    mixed = round::<2, 3, 5>(mixed, &words, |b, c, d| (b ^ c ^ d, 0));
    mixed = round::<3, 7, 0>(mixed, &words, |b, c, d| (c ^ (b | !d), 0));
    for (word, add) in state.iter_mut().zip(mixed) {
        *word = word.wrapping_add(add);
    }
}

/// Computes one of the four rounds of sixteen steps, which take every `STRIDE`th word from `FIRST` on. `mix` returns
/// two summands.
// All indices are taken modulo the length.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#[inline(always)]
fn round<const NUMBER: usize, const STRIDE: usize, const FIRST: usize>(
    [mut a, mut b, mut c, mut d]: [u32; 4],
    words: &[u32; 16],
    mix: impl Fn(u32, u32, u32) -> (u32, u32),
) -> [u32; 4] {
    for step in 0..16 {
        let (early, late) = mix(b, c, d);
        let known =
            a.wrapping_add(SINES[16 * NUMBER + step]).wrapping_add(words[(STRIDE * step + FIRST) % 16]);
        let sum = known.wrapping_add(early).wrapping_add(late);
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(SHIFTS[NUMBER][step % 4]));
    }
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn md5_of_the_rfc() {
        for (text, hash) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            assert_eq!(md5(text.as_bytes()).to_string(), hash);
        }
    }

    #[test]
    fn markers_are_not_digests() {
        assert_eq!(Digest::UNSIGNED.marker(), Some("unsigned"));
        assert_eq!(Digest([2; 16]).marker(), Some("preview bypass"));
        assert_eq!(Digest::of(b"").marker(), None);
    }
}
