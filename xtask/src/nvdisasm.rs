//! nvdisasm as an oracle: the text of instruction words.
//!
//! nvdisasm prints nothing but errors if one word is invalid. The words at the addresses in these errors are replaced by
//! NOP, and it runs again. An error without an address concerns some word of the run: the words are halved until one is
//! left.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use rayon::prelude::*;

use crate::sh;

/// Minimum and maximum number of words in a run: to start nvdisasm takes as long as to read a few thousand.
const BATCH: (usize, usize) = (4_000, 20_000);

/// How instructions follow each other in code.
struct Layout {
    /// The first chip that has it.
    from: u32,
    word_bytes: usize,
    /// The number of instructions in a bundle.
    instructions: usize,
    /// The neutral scheduling word before each bundle.
    scheduling: Option<u128>,
    /// An instruction that is valid anywhere; one of 128 bits has neutral scheduling information.
    nop: u128,
}

/// All layouts, the newest first.
const LAYOUTS: [Layout; 3] = [
    Layout {
        from: 70,
        word_bytes: 16,
        instructions: 1,
        scheduling: None,
        nop: 0x000f_c000_0000_0000_0000_0000_0000_7918,
    },
    Layout {
        from: 50,
        word_bytes: 8,
        instructions: 3,
        scheduling: Some(0x001f_fc00_ffe0_07ff),
        nop: 0x50b0_0000_0007_0f00,
    },
    Layout {
        from: 32,
        word_bytes: 8,
        instructions: 7,
        scheduling: Some(0x0800_0000_0000_0000),
        nop: 0x8580_0000_001c_3c02,
    },
];

/// The text of a word and the address it was read at. An invalid word has no text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: Option<String>,
    pub(crate) address: u64,
}

/// Returns the first nvdisasm of `UNSHADE_NVDISASM` that knows a chip, or the one on PATH.
///
/// # Errors
///
/// If the layout of the chip's code is not known, or a program can't be started.
pub(crate) fn find_for(chip: u32) -> Result<Option<PathBuf>> {
    let listed = std::env::var_os("UNSHADE_NVDISASM");
    let listed = listed.iter().flat_map(std::env::split_paths);
    for program in listed.chain(sh::find("nvdisasm")) {
        let oracle = Oracle::new(program.clone(), chip)?;
        let nop = oracle.layout.nop;
        if oracle.read(&[nop])?.iter().all(|answer| answer.text.is_some()) {
            return Ok(Some(program));
        }
    }
    Ok(None)
}

/// nvdisasm for one chip.
pub(crate) struct Oracle {
    program: PathBuf,
    chip: String,
    layout: &'static Layout,
}

impl Oracle {
    /// Creates the oracle for a chip: 80 for `sm_80`.
    ///
    /// # Errors
    ///
    /// If the layout of its code is not known.
    pub(crate) fn new(program: PathBuf, chip: u32) -> Result<Self> {
        let layout = LAYOUTS.iter().find(|layout| layout.from <= chip);
        let layout = layout.with_context(|| format!("the code of sm_{chip} is not known"))?;
        Ok(Self { program, chip: format!("SM{chip}"), layout })
    }

    /// Reads words.
    pub(crate) fn read(&self, words: &[u128]) -> Result<Vec<Answer>> {
        let size = words.len().div_ceil(rayon::current_num_threads()).clamp(BATCH.0, BATCH.1);
        let batches: Result<Vec<_>> = words.par_chunks(size).map(|batch| self.read_batch(batch)).collect();
        Ok(batches?.into_iter().flatten().collect())
    }

    fn read_batch(&self, words: &[u128]) -> Result<Vec<Answer>> {
        let mut left = words.to_vec();
        let mut is_valid = vec![true; words.len()];
        loop {
            let (output, errors) = self.run(&left)?;
            let bad: Vec<usize> = addresses(&errors)
                .filter_map(|address| self.index(address))
                .filter(|index| is_valid.get(*index) == Some(&true))
                .collect();
            if !bad.is_empty() {
                for index in bad {
                    left[index] = self.layout.nop;
                    is_valid[index] = false;
                }
                continue;
            }
            let texts = self.texts(&output);
            if texts.is_empty() && is_valid.contains(&true) {
                if words.len() == 1 {
                    return Ok(vec![Answer { text: None, address: self.address(0) }]);
                }
                let (first, second) = words.split_at(words.len() / 2);
                return Ok([self.read_batch(first)?, self.read_batch(second)?].concat());
            }
            let answer = |index: usize| {
                let text = texts.get(&index).filter(|_| is_valid[index]).map(|text| (*text).to_owned());
                Answer { text, address: self.address(index) }
            };
            return Ok((0..words.len()).map(answer).collect());
        }
    }

    /// Runs nvdisasm, and returns its output and its errors.
    fn run(&self, words: &[u128]) -> Result<(String, String)> {
        let path = sh::temporary("bin");
        std::fs::write(&path, self.bytes(words))?;
        let output = Command::new(&self.program)
            .args(["-b", &self.chip, "-ndf"])
            .arg(&path)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {}", self.program.display()));
        std::fs::remove_file(&path)?;
        let output = output?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok((text(output.stdout), text(output.stderr)))
    }

    /// Returns code with the words. It begins with NOP, because an error at address 0 does not say so.
    fn bytes(&self, words: &[u128]) -> Vec<u8> {
        let Layout { word_bytes, instructions, scheduling, nop, .. } = *self.layout;
        let end = [[].as_slice()];
        let bundles = end.into_iter().chain(words.chunks(instructions)).chain(end);
        let bundle = |words: &[u128]| {
            let padding = vec![nop; instructions - words.len()];
            scheduling.into_iter().chain(words.to_vec()).chain(padding)
        };
        let bytes = |word: u128| word.to_le_bytes().into_iter().take(word_bytes);
        bundles.flat_map(bundle).flat_map(bytes).collect()
    }

    /// Returns the number of words before the instructions of a bundle, and of all words in it.
    fn bundle(&self) -> (usize, usize) {
        let before = usize::from(self.layout.scheduling.is_some());
        (before, before + self.layout.instructions)
    }

    /// Returns the address of a word.
    fn address(&self, index: usize) -> u64 {
        let (before, all) = self.bundle();
        let bundle = index / self.layout.instructions + 1;
        let slot = bundle * all + before + index % self.layout.instructions;
        (slot * self.layout.word_bytes) as u64
    }

    /// Returns the index of the word at an address.
    fn index(&self, address: u64) -> Option<usize> {
        let (before, all) = self.bundle();
        let slot = usize::try_from(address).ok()? / self.layout.word_bytes;
        let bundle = (slot / all).checked_sub(1)?;
        Some(bundle * self.layout.instructions + (slot % all).checked_sub(before)?)
    }

    /// Returns texts by index. Lines are `/*0010*/ FADD R1, R2, R3 ;`.
    fn texts<'a>(&self, output: &'a str) -> HashMap<usize, &'a str> {
        let line = |line: &'a str| {
            let (address, rest) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
            let index = self.index(u64::from_str_radix(address, 16).ok()?)?;
            let text = rest.split("/*").next()?.trim().trim_end_matches(';').trim_end();
            (!text.is_empty()).then_some((index, text))
        };
        output.lines().filter_map(line).collect()
    }
}

/// Returns the addresses in error messages.
fn addresses(errors: &str) -> impl Iterator<Item = u64> {
    errors.split("at address 0x").skip(1).filter_map(|rest| {
        let digits = rest.split(|c: char| !c.is_ascii_hexdigit()).next()?;
        u64::from_str_radix(digits, 16).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_indices_agree() {
        for chip in [35, 60, 80] {
            let oracle = Oracle::new(PathBuf::new(), chip).unwrap();
            for index in 0..10 {
                assert_eq!(oracle.index(oracle.address(index)), Some(index));
            }
            assert_eq!(oracle.index(0), None);
        }
    }

    #[test]
    fn texts_and_errors_are_found() {
        let oracle = Oracle::new(PathBuf::new(), 80).unwrap();
        let output = "\t.section\n        /*0000*/                   NOP ;\n        /*0010*/    @P0 EXIT ;  /* 0x1 */\n";
        assert_eq!(oracle.texts(output), HashMap::from([(0, "@P0 EXIT")]));
        let errors = "error at address 0x00000010: a\nerror at address 0x20\n";
        assert_eq!(addresses(errors).collect::<Vec<_>>(), [16, 32]);
    }
}
