//! SHA-1, by which modules for ThinLTO state what is in them.
//!
//! Knowledge: RFC 3174.

/// A hash that is being computed.
#[derive(Clone, Debug)]
pub(crate) struct Sha1 {
    state: [u32; 5],
    /// Bytes that do not fill a block yet.
    pending: [u8; 64],
    /// Number of bytes in all.
    length: u64,
}

impl Sha1 {
    /// Starts a hash.
    pub(crate) fn new() -> Self {
        let state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
        Self { state, pending: [0; 64], length: 0 }
    }

    /// Adds bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let at = usize::try_from(self.length & 63).unwrap_or(0);
            if let Some(slot) = self.pending.get_mut(at) {
                *slot = byte;
            }
            self.length = self.length.wrapping_add(1);
            if at == 63 {
                step(&mut self.state, &self.pending);
            }
        }
    }

    /// The hash as five words, most significant byte first.
    pub(crate) fn finish(mut self) -> [u32; 5] {
        let bits = self.length.wrapping_mul(8);
        self.update(&[0x80]);
        while self.length & 63 != 56 {
            self.update(&[0]);
        }
        self.update(&bits.to_be_bytes());
        self.state
    }
}

fn step(state: &mut [u32; 5], block: &[u8; 64]) {
    let mut words = [0u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
    }
    let at = |words: &[u32; 80], index: usize| words.get(index).copied().unwrap_or(0);
    for index in 16..80usize {
        let back = |by: usize| at(&words, index.wrapping_sub(by));
        let word = (back(3) ^ back(8) ^ back(14) ^ back(16)).rotate_left(1);
        if let Some(slot) = words.get_mut(index) {
            *slot = word;
        }
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (round, &word) in words.iter().enumerate() {
        let (mixed, constant) = match round {
            0..20 => ((b & c) | (!b & d), 0x5a82_7999),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6u32),
        };
        let sum = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant).wrapping_add(word);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, sum);
    }
    for (slot, value) in state.iter_mut().zip([a, b, c, d, e]) {
        *slot = slot.wrapping_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(bytes: &[u8]) -> [u32; 5] {
        let mut hash = Sha1::new();
        // In pieces, as they come.
        bytes.chunks(7).for_each(|piece| hash.update(piece));
        hash.finish()
    }

    #[test]
    fn known_hashes() {
        assert_eq!(hash(b""), [0xda39_a3ee, 0x5e6b_4b0d, 0x3255_bfef, 0x9560_1890, 0xafd8_0709]);
        assert_eq!(hash(b"abc"), [0xa999_3e36, 0x4706_816a, 0xba3e_2571, 0x7850_c26c, 0x9cd0_d89d]);
        let long = hash(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq");
        assert_eq!(long, [0x8498_3e44, 0x1c3b_d26e, 0xbaae_4aa1, 0xf951_29e5, 0xe546_70f1]);
    }
}
