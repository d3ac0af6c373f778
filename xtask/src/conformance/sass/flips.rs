//! Single-bit flips of words, compared with nvdisasm 11.2: valid or not, and the text.
//!
//! nvdisasm prints nothing but error addresses if any word is invalid: those words are recorded, replaced, and
//! nvdisasm is run again. It rejects a whole bundle if scheduling words are among its instructions, so these flips are
//! skipped.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use unshade::sass::{Instruction, isa};

use super::{Tally, words};
use crate::sh;

const SCHEDULE: u64 = 0x0800_0000_0000_0000;
const NOP: u64 = 0x8580_0000_001c_3c02;
const SCHEDULE_MASK: u64 = 0xf800_0000_0000_0003;

/// Compares the flips of a number of words, spread over the list.
pub(super) fn run(corpus: &Path, count: usize) -> Result<u64> {
    let Some(nvdisasm) = program() else {
        println!("single-bit flips: skipped, nvdisasm is not installed");
        return Ok(0);
    };
    let isa = isa::by_architecture(35).context("the table of sm_35")?;
    let rows = words::rows(&corpus.join("words/sm_35.nvdisasm-11.2.tsv.gz"))?;
    let step = (rows.len() / count.max(1)).max(1);
    let mut flipped = Vec::new();
    for row in rows.iter().step_by(step).take(count) {
        let word = u64::try_from(row.word)?;
        flipped.extend((0..64).map(|bit| word ^ 1 << bit).filter(|word| word & SCHEDULE_MASK != SCHEDULE));
    }
    let theirs = read(&nvdisasm, &flipped)?;
    let (mut valid, mut texts) = (Tally::default(), Tally::default());
    for (index, word) in flipped.iter().enumerate() {
        let address = address_of(index);
        let ours = Instruction::decode(isa, u128::from(*word)).map(|instruction| instruction.text(address));
        let theirs = theirs.get(&address);
        valid.count(ours.is_some() == theirs.is_some(), || format!("{word:016x} {ours:?} | {theirs:?}"));
        if let (Some(ours), Some(theirs)) = (&ours, theirs) {
            texts.count(ours.trim_end() == theirs.trim_end(), || format!("{word:016x} {ours} | {theirs}"));
        }
    }
    Ok(texts.report("single-bit flips, text equal to nvdisasm 11.2")
        + valid.report("single-bit flips, validity equal to nvdisasm 11.2"))
}

/// Returns the address of an instruction in bundles of seven.
fn address_of(index: usize) -> u64 {
    let index = index as u64;
    (index / 7 * 8 + index % 7 + 1) * 8
}

fn program() -> Option<PathBuf> {
    sh::env_path("UNSHADE_NVDISASM").or_else(|| {
        let path = env::var_os("PATH")?;
        env::split_paths(&path).map(|folder| folder.join("nvdisasm")).find(|program| program.is_file())
    })
}

/// Returns the text at each address; invalid words have none.
fn read(nvdisasm: &Path, words: &[u64]) -> Result<HashMap<u64, String>> {
    let folder = env::temp_dir().join(format!("unshade-flips-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let path = folder.join("words.bin");
    let mut bundles: Vec<u64> = words
        .chunks(7)
        .flat_map(|chunk| {
            [SCHEDULE].into_iter().chain(chunk.iter().copied()).chain(vec![NOP; 7 - chunk.len()])
        })
        .collect();
    let mut bad = HashSet::new();
    let listing = loop {
        let bytes: Vec<u8> = bundles.iter().flat_map(|word| word.to_le_bytes()).collect();
        fs::write(&path, bytes)?;
        let output = Command::new(nvdisasm).args(["-b", "SM35", "-hex", "-ndf"]).arg(&path).output()?;
        if output.status.success() && !output.stdout.is_empty() {
            break String::from_utf8(output.stdout)?;
        }
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let before = bad.len();
        for address in message.lines().filter_map(|line| line.split("at address 0x").nth(1)) {
            let address = u64::from_str_radix(address.trim(), 16)?;
            bad.insert(address);
            *bundles.get_mut(usize::try_from(address / 8)?).context("an unexpected address")? = NOP;
        }
        if bad.len() == before {
            bail!("{}: {message}", nvdisasm.display());
        }
    };
    fs::remove_dir_all(&folder)?;
    let mut texts = HashMap::new();
    for line in listing.lines() {
        let Some((address, text)) =
            line.trim_start().strip_prefix("/*").and_then(|rest| rest.split_once("*/"))
        else {
            continue;
        };
        let (Ok(address), Some((text, _))) = (u64::from_str_radix(address, 16), text.split_once(';')) else {
            continue;
        };
        if !bad.contains(&address) {
            texts.insert(address, text.trim().to_owned());
        }
    }
    Ok(texts)
}
