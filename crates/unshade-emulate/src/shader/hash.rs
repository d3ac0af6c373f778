//! Numbers that look random and depend on what they are for alone.

/// Mixes the bits of a number.
fn mix(number: u64) -> u64 {
    // The finalizer of SplitMix64.
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Returns the hash of numbers.
pub(super) fn hash(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |state, number| mix(state ^ mix(*number)))
}

/// Returns the hash of a text.
pub(super) fn text(text: &str) -> u64 {
    text.bytes().fold(0, |state, byte| mix(state ^ u64::from(byte)))
}

/// Returns a float between 0 and 1 with few digits.
pub(super) fn unit(hash: u64) -> f64 {
    (hash >> 20 & 0xfff) as f64 / 4096.0
}
