//! Heads: the first bytes of programs, planted in random bytes. None is a program, so none may be found.
//!
//! Half of them are the first 4 to [`LONGEST`] bytes of real files, of fat binaries, cubins and containers twice as many:
//! in longer ones the small fixtures of the other formats have their whole first function, blocks or statement, and the
//! checks read no further. The others are made up: a magic number and the fields
//! that follow it, with numbers as real files have them. Each head is in random bytes of its own, far enough from
//! their end that what its numbers point at is mostly there.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::made_up::FORMATS;
use super::noise::Noise;
use super::{PROGRAMS, search};

/// Maximum length of a real head.
const LONGEST: usize = 128;

/// The random bytes before a head, and after it.
const BEFORE: usize = 2_000;
const AFTER: usize = 62_000;

/// Maximum number of finds to print for each kind of head.
const SHOWN: usize = 3;

/// Plants heads, and returns the number of finds.
pub(super) fn run(count: u64) -> u64 {
    let planted: Vec<(String, Vec<String>)> = (0..count)
        .into_par_iter()
        .map_init(
            || vec![0; BEFORE + AFTER],
            |data, seed| {
                let mut random = Noise::new(seed);
                random.fill(data);
                let (name, head) = head(seed, &mut random);
                // Compilers align Direct3D 9 shaders. A file that begins with a magic number is named after it.
                let at = 4 + 4 * random.below(BEFORE / 4 - 1);
                data[at..at + head.len()].copy_from_slice(&head);
                let end = data.len() - random.below(AFTER / 2);
                let report = search(&data[..end]);
                let finds = report.found.into_iter().map(|found| {
                    format!(
                        "{} at {}, {:?}, {} bytes of head, seed {seed}",
                        found.format,
                        found.path,
                        found.condition,
                        head.len()
                    )
                });
                (name, finds.collect())
            },
        )
        .collect();
    let mut rows: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    for (name, finds) in planted {
        let row = rows.entry(name).or_default();
        row.0 += 1;
        row.1.extend(finds);
    }
    println!("\nplanted heads, finds of heads");
    for (name, (heads, finds)) in &rows {
        println!("  {name:<36} {:>6} of {heads:>6}", finds.len());
        finds.iter().take(SHOWN).for_each(|find| println!("    {find}"));
    }
    let wrong = rows.values().map(|(_, finds)| finds.len() as u64).sum();
    println!("  {:<36} {wrong:>6} of {count:>6}", "all");
    wrong
}

/// Returns a head and the name of its kind.
fn head(seed: u64, random: &mut Noise) -> (String, Vec<u8>) {
    let index = (seed / 2) as usize;
    if seed.is_multiple_of(2) {
        let (name, program) = PROGRAMS[index % PROGRAMS.len()];
        let is_deep = ["fat", "cubin", "container"].iter().any(|kind| name.contains(kind));
        let longest = if is_deep { 2 * LONGEST } else { LONGEST }.min(program.len() / 2);
        let size = 4 + index / PROGRAMS.len() % (longest - 3);
        return (name.into(), program[..size].to_vec());
    }
    let (name, make) = FORMATS[index % FORMATS.len()];
    (format!("{name}, made up"), make(random))
}
