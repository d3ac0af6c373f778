//! XXH3 with 64 bits and without a seed: the hash function of LLVM's tables of names from version 17 on.
//!
//! There are five forms by length: empty, up to 16 bytes, up to 128, up to 240, and longer ones, which go in stripes of 64
//! bytes through eight accumulators.
//!
//! Knowledge: the specification of XXH3 in the repository of xxHash.

const PRIME32: [u64; 3] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D];
const PRIME64: [u64; 5] = [
    0x9E37_79B1_85EB_CA87,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0x85EB_CA77_C2B2_AE63,
    0x27D4_EB2F_1656_67C5,
];
const MIX: [u64; 2] = [0x1656_6791_9E37_79F9, 0x9FB2_1C65_1E98_DF25];

/// The default secret.
#[rustfmt::skip]
const SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// Size of a stripe.
const STRIPE: usize = 64;
/// Number of bytes of the secret between two stripes.
const STEP: usize = 8;
/// Size of a block, after which the accumulators are scrambled.
const BLOCK: usize = (SECRET.len() - STRIPE) / STEP * STRIPE;

/// Returns the hash of some bytes.
pub(super) fn hash(data: &[u8]) -> u64 {
    match data.len() {
        0 => avalanche64(secret(56) ^ secret(64)),
        1..=3 => of_3(data),
        4..=8 => of_8(data),
        9..=16 => of_16(data),
        17..=128 => of_128(data),
        129..=240 => of_240(data),
        _ => of_many(data),
    }
}

fn word(data: &[u8], at: usize) -> u64 {
    data.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
}

fn half(data: &[u8], at: usize) -> u64 {
    data.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_le_bytes(*word).into())
}

fn secret(at: usize) -> u64 {
    word(&SECRET, at)
}

/// Multiplies to 128 bits, and combines the halves.
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product >> 64) as u64 ^ product as u64
}

fn avalanche(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 37).wrapping_mul(MIX[0]);
    hash ^ hash >> 32
}

fn avalanche64(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 33).wrapping_mul(PRIME64[1]);
    let hash = (hash ^ hash >> 29).wrapping_mul(PRIME64[2]);
    hash ^ hash >> 32
}

fn of_3(data: &[u8]) -> u64 {
    let at = |index: usize| data.get(index).copied().map_or(0, u64::from);
    let length = data.len();
    let combined = at(0) << 16 | at(length / 2) << 24 | at(length - 1) | (length as u64) << 8;
    avalanche64(combined ^ half(&SECRET, 0) ^ half(&SECRET, 4))
}

fn of_8(data: &[u8]) -> u64 {
    let (first, last) = (half(data, 0), half(data, data.len() - 4));
    let hash = (last | first << 32) ^ secret(8) ^ secret(16);
    let hash = (hash ^ hash.rotate_left(49) ^ hash.rotate_left(24)).wrapping_mul(MIX[1]);
    let hash = (hash ^ (hash >> 35).wrapping_add(data.len() as u64)).wrapping_mul(MIX[1]);
    hash ^ hash >> 28
}

fn of_16(data: &[u8]) -> u64 {
    let low = word(data, 0) ^ secret(24) ^ secret(32);
    let high = word(data, data.len() - 8) ^ secret(40) ^ secret(48);
    let sum = (data.len() as u64).wrapping_add(low.swap_bytes()).wrapping_add(high);
    avalanche(sum.wrapping_add(fold(low, high)))
}

/// Mixes 16 bytes with 16 of the secret.
fn mix(data: &[u8], at: usize, of_secret: usize) -> u64 {
    fold(word(data, at) ^ secret(of_secret), word(data, at + 8) ^ secret(of_secret + 8))
}

fn of_128(data: &[u8]) -> u64 {
    let length = data.len();
    let mut hash = (length as u64).wrapping_mul(PRIME64[0]);
    for pair in (0..=(length - 1) / 32).rev() {
        let start = mix(data, pair * 16, pair * 32);
        let end = mix(data, length - (pair + 1) * 16, pair * 32 + 16);
        hash = hash.wrapping_add(start).wrapping_add(end);
    }
    avalanche(hash)
}

fn of_240(data: &[u8]) -> u64 {
    let first = (data.len() as u64).wrapping_mul(PRIME64[0]);
    let first = (0..8).fold(first, |hash, round| hash.wrapping_add(mix(data, round * 16, round * 16)));
    let rounds = 8..data.len() / 16;
    let hash = rounds
        .fold(avalanche(first), |hash, round| hash.wrapping_add(mix(data, round * 16, (round - 8) * 16 + 3)));
    avalanche(hash.wrapping_add(mix(data, data.len() - 16, 136 - 17)))
}

fn of_many(data: &[u8]) -> u64 {
    let mut sums =
        [PRIME32[2], PRIME64[0], PRIME64[1], PRIME64[2], PRIME64[3], PRIME32[1], PRIME64[4], PRIME32[0]];
    let last = data.len() - 1;
    let (blocks, _) = data.split_at(last / BLOCK * BLOCK);
    for block in blocks.chunks_exact(BLOCK) {
        for (at, stripe) in block.chunks_exact(STRIPE).enumerate() {
            accumulate(&mut sums, stripe, at * STEP);
        }
        for (lane, sum) in sums.iter_mut().enumerate() {
            let mixed = *sum ^ *sum >> 47 ^ secret(SECRET.len() - STRIPE + lane * 8);
            *sum = mixed.wrapping_mul(PRIME32[0]);
        }
    }
    let rest = data.get(blocks.len()..last).unwrap_or_default();
    for (at, stripe) in rest.chunks_exact(STRIPE).enumerate() {
        accumulate(&mut sums, stripe, at * STEP);
    }
    let end = data.get(data.len() - STRIPE..).unwrap_or_default();
    accumulate(&mut sums, end, SECRET.len() - STRIPE - 7);
    let pairs = sums.chunks_exact(2).enumerate().map(|(at, pair)| match *pair {
        [one, other] => fold(one ^ secret(11 + at * 16), other ^ secret(19 + at * 16)),
        _ => 0,
    });
    avalanche(pairs.fold((data.len() as u64).wrapping_mul(PRIME64[0]), u64::wrapping_add))
}

/// Adds a stripe to the accumulators.
fn accumulate(sums: &mut [u64; 8], stripe: &[u8], of_secret: usize) {
    for lane in 0..sums.len() {
        let value = word(stripe, lane * 8);
        let keyed = value ^ secret(of_secret + lane * 8);
        if let Some(sum) = sums.get_mut(lane ^ 1) {
            *sum = sum.wrapping_add(value);
        }
        if let Some(sum) = sums.get_mut(lane) {
            *sum = sum.wrapping_add((keyed & 0xFFFF_FFFF).wrapping_mul(keyed >> 32));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const KNOWN: [(usize, u64); 14] = [
        (0, 0x2d06_8005_38d3_94c2),
        (1, 0xc44b_dff4_074e_ecdb),
        (3, 0x5f42_99fc_161c_9cbb),
        (4, 0x60da_b036_a582_11f2),
        (8, 0x3a1c_2d7c_85af_88f8),
        (9, 0xe961_2598_145b_b9dc),
        (16, 0x8355_e3a6_f617_70db),
        (17, 0x9ef3_41a9_9de3_7328),
        (100, 0x004e_4f92_1a64_bd1c),
        (129, 0xec76_42b4_31ba_3e5a),
        (240, 0x375a_384d_957f_e865),
        (241, 0x02e8_cd95_421c_6d02),
        (1025, 0x78c8_6e91_ee93_9852),
        (2500, 0x86c3_124f_ef6c_383d),
    ];

    /// The values are those of xxHash 0.8 for bytes that count up.
    #[test]
    fn known_hashes() {
        let data: Vec<u8> = (0..=255u8).cycle().take(2_500).collect();
        for (length, expected) in KNOWN {
            assert_eq!(hash(&data[..length]), expected, "{length}");
        }
    }
}
