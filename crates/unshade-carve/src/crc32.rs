//! CRC-32 of zip and gzip: the polynomial 0xedb88320, bits from the lowest on (RFC 1952, section 8).
//!
//! Natively this is flate2's, which uses processor instructions and tables of 16 KiB. The tables do not compress, so
//! WebAssembly uses one table of 1 KiB instead.

#[cfg(not(target_family = "wasm"))]
pub use flate2::Crc;

#[cfg(target_family = "wasm")]
pub use small::Crc;

#[cfg(any(target_family = "wasm", test))]
#[cfg_attr(test, allow(unreachable_pub))]
mod small {
    /// What each byte does to the sum.
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < table.len() {
            let mut sum = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
                bit += 1;
            }
            table[byte] = sum;
            byte += 1;
        }
        table
    };

    /// A sum of the bytes so far.
    #[derive(Debug)]
    pub struct Crc(u32);

    impl Crc {
        /// Starts a sum of no bytes.
        pub fn new() -> Self {
            Self(!0)
        }

        /// Adds bytes to the sum.
        pub fn update(&mut self, bytes: &[u8]) {
            for &byte in bytes {
                let at = (self.0 as u8 ^ byte) as usize;
                self.0 = self.0 >> 8 ^ TABLE.get(at).copied().unwrap_or_default();
            }
        }

        /// Returns the sum of the bytes so far.
        pub fn sum(&self) -> u32 {
            !self.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Crc, small};

    #[test]
    fn both_are_the_same() {
        let bytes: Vec<u8> = (0..1000u32).map(|number| (number.wrapping_mul(number) >> 3) as u8).collect();
        for size in [0, 1, 9, 255, 1000] {
            let (mut one, mut other) = (Crc::new(), small::Crc::new());
            let (head, tail) = bytes[..size].split_at(size / 3);
            for part in [head, tail] {
                one.update(part);
                other.update(part);
            }
            assert_eq!(one.sum(), other.sum());
        }
        let mut sum = small::Crc::new();
        sum.update(b"123456789");
        assert_eq!(sum.sum(), 0xcbf4_3926);
    }
}
