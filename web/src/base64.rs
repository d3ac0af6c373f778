//! Base64, as data blocks and hashes in a page are written.

use alloc::string::String;

/// Appends bytes to a text in base64, with padding.
pub fn push_base64(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in bytes.chunks(3) {
        let number =
            three.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
}
