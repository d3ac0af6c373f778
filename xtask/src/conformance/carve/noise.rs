//! Random bytes, in which nothing may be found.

use std::time::Instant;

use rayon::prelude::*;

use super::search;

/// The number of bytes that are searched as one file.
const FILE: usize = 16 << 20;

/// Maximum number of finds to print.
const SHOWN: usize = 20;

/// Numbers of a xorshift64* generator. The state alone is linear, and so not random enough for gigabytes.
pub(super) struct Noise(u64);

impl Noise {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below a limit.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        ((self.number() >> 32) as usize) % limit.max(1)
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.number().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// Searches this many megabytes, and returns the number of finds.
pub(super) fn run(megabytes: u64) -> u64 {
    let begun = Instant::now();
    let count = (megabytes * 1_000_000).div_ceil(FILE as u64);
    let finds: Vec<String> = (0..count)
        .into_par_iter()
        .map_init(
            || vec![0; FILE],
            |data, seed| {
                Noise::new(seed).fill(data);
                let report = search(data);
                let finds =
                    report.found.into_iter().map(|found| format!("{} at {}", found.format, found.path));
                finds.chain(report.messages).map(|find| format!("{find}, seed {seed}")).collect::<Vec<_>>()
            },
        )
        .flatten()
        .collect();
    println!("random megabytes      {:>12}", count * FILE as u64 / 1_000_000);
    println!("  finds and messages  {:>12}   {:.1?}", finds.len(), begun.elapsed());
    finds.iter().take(SHOWN).for_each(|find| println!("  {find}"));
    finds.len() as u64
}
