//! Mutations: every change of one byte, and a reproducible stream of random changes.

use std::ops::Range;

/// Returns the values to which a byte is changed: all others if `exhaustive`, otherwise those that find the most bugs.
pub fn byte_values(original: u8, exhaustive: bool) -> impl Iterator<Item = u8> {
    let few = [0, 0xff, original ^ 1, original ^ 0x80, original.wrapping_add(1)];
    let mut values: Vec<u8> = if exhaustive { (0..=255).collect() } else { few.to_vec() };
    values.sort_unstable();
    values.dedup();
    values.into_iter().filter(move |value| *value != original)
}

/// Random numbers by Marsaglia's xorshift.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns the next number below a limit; 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % (limit.max(1) as u64)) as usize
    }
}

/// Changes a file in one to four places: sets a number to a problematic value, sets a byte, duplicates, removes or
/// fills a range, or truncates the file.
pub fn mutate(data: &mut Vec<u8>, fields: &[Range<usize>], random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(data.len());
        let run = at..data.len().min(at + 1 + random.below(32));
        match random.below(8) {
            0..=3 if !fields.is_empty() => set_field(data, &fields[random.below(fields.len())], random),
            0..=4 if !data.is_empty() => data[at] = random.number() as u8,
            5 => {
                let copy = data[run].to_vec();
                data.splice(at..at, copy);
            }
            6 => drop(data.drain(run)),
            _ if random.below(4) == 0 => data.truncate(at),
            _ => data[run].fill(random.number() as u8),
        }
    }
}

/// Sets a number to a limit, or changes it slightly.
fn set_field(data: &mut [u8], field: &Range<usize>, random: &mut Random) {
    // Earlier changes may have shortened the file.
    let Some(bytes) = data.get_mut(field.clone()) else { return };
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let value = u64::from_le_bytes(word);
    let changed = match random.below(8) {
        0 => 0,
        1 => u64::MAX,
        2 => u64::MAX >> 1,
        3 => value.wrapping_add(1 + random.below(16) as u64),
        4 => value.wrapping_sub(1 + random.below(16) as u64),
        5 => value.wrapping_mul(2),
        6 => 1 << random.below(64),
        _ => random.below(1 << 12) as u64,
    };
    bytes.copy_from_slice(&changed.to_le_bytes()[..bytes.len()]);
}
