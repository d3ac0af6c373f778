//! Hashes two messages at a time with the SHA instructions of x86-64.
//!
//! A [`Lane`] hashes one message; when it is finished, the next message takes its place, so that both lanes stay busy
//! whatever the lengths. The last one or two blocks of a message are assembled separately, with the padding: the byte
//! 0x80, zeros, and the length in bits, big-endian, in the last eight bytes.
//!
//! Source: FIPS 180-4; the Intel SDM for SHA256RNDS2, SHA256MSG1 and SHA256MSG2.

use crate::Hash;
use alloc::vec;
use alloc::vec::Vec;
use core::arch::x86_64::*;

cpufeatures::new!(sha_instructions, "sha", "sse2", "ssse3", "sse4.1");

/// Bytes in a block.
const BLOCK: usize = 64;

const INITIAL: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

#[rustfmt::skip]
const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// Returns the SHA-256 of each message, or `None` if the processor has no SHA instructions.
pub(crate) fn digests(messages: &[&[u8]]) -> Option<Vec<Hash>> {
    if !sha_instructions::get() {
        return None;
    }
    let mut hashes = vec![[0; 32]; messages.len()];
    let mut queue = messages.iter().enumerate();
    let mut next_lane = || queue.next().map(|(index, message)| Lane::new(index, message));
    let mut lanes = [next_lane(), next_lane()];
    loop {
        match &mut lanes {
            [Some(first), Some(second)] => {
                let size = first.next_blocks().len().min(second.next_blocks().len());
                let (one, one_state) = first.step(size);
                let (other, other_state) = second.step(size);
                #[expect(unsafe_code, reason = "calling a function with target features is unsafe")]
                // SAFETY: `sha_instructions::get` confirmed that the processor has the instructions.
                unsafe {
                    compress_two(one_state, one, other_state, other);
                }
            }
            [Some(lane), None] | [None, Some(lane)] => {
                let (blocks, state) = lane.step(usize::MAX);
                #[expect(unsafe_code, reason = "calling a function with target features is unsafe")]
                // SAFETY: `sha_instructions::get` confirmed that the processor has the instructions.
                unsafe {
                    compress_one(state, blocks);
                }
            }
            [None, None] => return Some(hashes),
        }
        for slot in &mut lanes {
            if let Some(lane) = slot
                && lane.is_finished()
            {
                hashes[lane.index] = lane.hash();
                *slot = next_lane();
            }
        }
    }
}

/// A message that is being hashed.
struct Lane<'a> {
    /// The index of the message.
    index: usize,
    message: &'a [u8],
    /// The bytes after the last whole block, with the padding.
    tail: [u8; 2 * BLOCK],
    tail_size: usize,
    /// Number of bytes hashed, of the whole blocks and the tail together.
    done: usize,
    state: [u32; 8],
}

impl<'a> Lane<'a> {
    fn new(index: usize, message: &'a [u8]) -> Self {
        let (whole, rest) = message.split_at(message.len() - message.len() % BLOCK);
        let mut tail = [0; 2 * BLOCK];
        tail[..rest.len()].copy_from_slice(rest);
        tail[rest.len()] = 0x80;
        let tail_size = if rest.len() + 9 <= BLOCK { BLOCK } else { 2 * BLOCK };
        let bits = (message.len() as u64).wrapping_mul(8);
        tail[tail_size - 8..tail_size].copy_from_slice(&bits.to_be_bytes());
        Self { index, message: whole, tail, tail_size, done: 0, state: INITIAL }
    }

    /// Returns the next blocks: the rest of the message, then the tail.
    fn next_blocks(&self) -> &[u8] {
        match self.message.get(self.done..) {
            Some(blocks) if !blocks.is_empty() => blocks,
            _ => &self.tail[self.done - self.message.len()..self.tail_size],
        }
    }

    /// Consumes at most `size` bytes of the next blocks. Returns them and the state to update.
    fn step(&mut self, size: usize) -> (&[u8], &mut [u32; 8]) {
        let size = size.min(self.next_blocks().len());
        let start = self.done;
        self.done += size;
        let blocks = match start.checked_sub(self.message.len()) {
            Some(start) => &self.tail[start..start + size],
            None => &self.message[start..start + size],
        };
        (blocks, &mut self.state)
    }

    fn is_finished(&self) -> bool {
        self.done == self.message.len() + self.tail_size
    }

    fn hash(&self) -> Hash {
        let mut hash = [0; 32];
        for (bytes, word) in hash.chunks_exact_mut(4).zip(self.state) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        hash
    }
}

/// A state and a block in the layout that the instructions use.
struct Rounds {
    /// Words a, b, e and f of the state, a in the most significant position.
    abef: __m128i,
    /// Words c, d, g and h of the state.
    cdgh: __m128i,
    /// The next sixteen words of the message schedule, four in each.
    words: [__m128i; 4],
}

/// Updates a state with whole blocks.
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn compress_one(state: &mut [u32; 8], blocks: &[u8]) {
    let mut rounds = Rounds::new(state);
    for block in blocks.as_chunks::<BLOCK>().0 {
        let (abef, cdgh) = rounds.load(block);
        macro_rules! quads {
            ($($index:literal)*) => { $( rounds.quad::<$index>(); )* };
        }
        quads!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        rounds.add(abef, cdgh);
    }
    rounds.store(state);
}

/// Updates two states with the same number of whole blocks each, interleaved.
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn compress_two(one_state: &mut [u32; 8], one: &[u8], other_state: &mut [u32; 8], other: &[u8]) {
    let mut first = Rounds::new(one_state);
    let mut second = Rounds::new(other_state);
    for (one, other) in one.as_chunks::<BLOCK>().0.iter().zip(other.as_chunks::<BLOCK>().0) {
        let (first_abef, first_cdgh) = first.load(one);
        let (second_abef, second_cdgh) = second.load(other);
        macro_rules! quads {
            ($($index:literal)*) => { $( first.quad::<$index>(); second.quad::<$index>(); )* };
        }
        quads!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        first.add(first_abef, first_cdgh);
        second.add(second_abef, second_cdgh);
    }
    first.store(one_state);
    second.store(other_state);
}

impl Rounds {
    #[inline]
    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    fn new(state: &[u32; 8]) -> Self {
        let [a, b, c, d, e, f, g, h] = state.map(u32::cast_signed);
        let zero = _mm_setzero_si128();
        Self { abef: _mm_set_epi32(a, b, e, f), cdgh: _mm_set_epi32(c, d, g, h), words: [zero; 4] }
    }

    /// Loads a block. Returns the state, to be added after its rounds.
    #[inline]
    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    fn load(&mut self, block: &[u8; BLOCK]) -> (__m128i, __m128i) {
        // Words are big-endian.
        let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        for (words, bytes) in self.words.iter_mut().zip(block.as_chunks::<16>().0) {
            let number = u128::from_le_bytes(*bytes);
            let loaded = _mm_set_epi64x((number >> 64) as i64, number as i64);
            *words = _mm_shuffle_epi8(loaded, order);
        }
        (self.abef, self.cdgh)
    }

    /// Performs four rounds, and computes the words needed sixteen rounds later.
    #[inline]
    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    fn quad<const INDEX: usize>(&mut self) {
        let k = |round: usize| K[4 * INDEX + round].cast_signed();
        let [w0, w1, w2, w3] = self.words;
        let sum = _mm_add_epi32(w0, _mm_set_epi32(k(3), k(2), k(1), k(0)));
        self.cdgh = _mm_sha256rnds2_epu32(self.cdgh, self.abef, sum);
        self.abef = _mm_sha256rnds2_epu32(self.abef, self.cdgh, _mm_shuffle_epi32::<0x0e>(sum));
        let due = if INDEX < 12 {
            let partial = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8::<4>(w3, w2));
            _mm_sha256msg2_epu32(partial, w3)
        } else {
            w3
        };
        self.words = [w1, w2, w3, due];
    }

    #[inline]
    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    fn add(&mut self, abef: __m128i, cdgh: __m128i) {
        self.abef = _mm_add_epi32(self.abef, abef);
        self.cdgh = _mm_add_epi32(self.cdgh, cdgh);
    }

    #[inline]
    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    fn store(&self, state: &mut [u32; 8]) {
        let (abef, cdgh) = (self.abef, self.cdgh);
        *state = [
            _mm_extract_epi32::<3>(abef),
            _mm_extract_epi32::<2>(abef),
            _mm_extract_epi32::<3>(cdgh),
            _mm_extract_epi32::<2>(cdgh),
            _mm_extract_epi32::<1>(abef),
            _mm_extract_epi32::<0>(abef),
            _mm_extract_epi32::<1>(cdgh),
            _mm_extract_epi32::<0>(cdgh),
        ]
        .map(i32::cast_unsigned);
    }
}
