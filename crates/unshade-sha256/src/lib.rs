//! SHA-256 of many messages, two at a time on processors with SHA instructions.
//!
//! The SHA instructions of x86-64 have a latency of four cycles and a throughput of one every other cycle, and each
//! round needs the result of the previous round: a single message leaves half of the unit idle. A Metal library has
//! thousands of modules to hash, so this crate interleaves two of them, which is 1.6 times as fast. Other processors
//! use `sha2`.
//!
//! ```
//! let digests = unshade_sha256::digests(&[b"abc", b""]);
//! assert_eq!(digests[0][..4], [0xba, 0x78, 0x16, 0xbf]);
//! assert_eq!(digests[1][..4], [0xe3, 0xb0, 0xc4, 0x42]);
//! ```
#![no_std]
#![deny(missing_docs)]

extern crate alloc;

use alloc::vec::Vec;
use sha2::{Digest, Sha256};

#[cfg(target_arch = "x86_64")]
mod x86;

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// Returns the SHA-256 of each message.
pub fn digests(messages: &[&[u8]]) -> Vec<Hash> {
    #[cfg(target_arch = "x86_64")]
    if let Some(digests) = x86::digests(messages) {
        return digests;
    }
    messages.iter().map(|message| digest(message)).collect()
}

/// Returns the SHA-256 of one message.
pub fn digest(message: &[u8]) -> Hash {
    Sha256::digest(message).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_to_sha2_at_every_length_and_pairing() {
        let bytes: Vec<u8> = (0..2_000u32).map(|i| ((i * i) >> 3) as u8).collect();
        for first in (0..300).chain([511, 512, 513, 1_999]) {
            let messages: Vec<&[u8]> = [first, 0, first / 2, 64, 1_000, first, 55, 56, 119, 120]
                .iter()
                .map(|length| &bytes[bytes.len() - length..])
                .collect();
            for count in 0..messages.len() {
                let expected: Vec<Hash> = messages[..count].iter().map(|message| digest(message)).collect();
                assert_eq!(
                    digests(&messages[..count]),
                    expected,
                    "{count} messages, the first of {first} bytes"
                );
            }
        }
    }
}
