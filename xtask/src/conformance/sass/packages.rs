//! The cubins in packages: wheels, libraries, fat binaries or any other files, searched as `unshade scan` does.
//!
//! Of each chip, up to a million different words are compared, and whole listings with `cuobjdump -sass`. Words that
//! differ only in their scheduling information count once. Those with rare modifiers come first: of each combination
//! of opcode and modifiers, the first few words are always taken.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::carve::{Limits, carve};
use unshade::format::Format;
use unshade::nv::fatbin::EntryKind;
use unshade::nv::{Cubin, Fatbin};
use unshade::sass::table::Isa;
use unshade::sass::{control, isa};

use super::chips::Listed;
use crate::nvdisasm::Oracle;
use crate::sh;

/// Maximum number of words of a chip, and of words with the same opcode and modifiers beyond it.
const WORDS: (usize, u32) = (1_000_000, 8);

/// The cubins of a chip in packages.
#[derive(Default)]
pub(super) struct Found {
    /// The different words, up to a maximum.
    pub(super) words: Vec<u128>,
    taken: HashSet<u128>,
    shapes: HashMap<u128, u32>,
    /// Code of all distinct cubins, in bytes.
    pub(super) code: u64,
    /// Code of the cubins whose listings are compared, in bytes.
    kept: u64,
    /// The cubins whose listings are compared, by their digests: a choice of all packages, the same each time.
    by_digest: BTreeMap<String, (Vec<u8>, u64)>,
}

impl Found {
    /// Returns the cubins whose listings are compared.
    pub(super) fn cubins(&self) -> Vec<&[u8]> {
        self.by_digest.values().map(|(data, _)| data.as_slice()).collect()
    }

    /// Keeps a cubin with `code` bytes of code, if its digest is among the lowest.
    fn keep(&mut self, digest: String, data: &[u8], code: u64, most: u64) {
        if self.kept >= most && self.by_digest.last_key_value().is_none_or(|(last, _)| digest > *last) {
            return;
        }
        self.by_digest.insert(digest, (data.to_vec(), code));
        self.kept += code;
        while let Some(last) = self.by_digest.last_entry()
            && self.kept - last.get().1 >= most
        {
            self.kept -= last.remove().1;
        }
    }

    fn take_code(&mut self, chip: u32, bytes: &[u8]) {
        self.code += bytes.len() as u64;
        let Some(isa) = isa::by_architecture(chip) else { return };
        let (scheduling, shape) = if isa.has_bundles() {
            (0, 0xffff_fff0_0000_0000)
        } else {
            (((1 << 21) - 1) << 105, 0x1ff_ffff_ff00_0000_0000_0000_0fff_u128)
        };
        for word in words(isa, bytes) {
            let is_rare = {
                let count = self.shapes.entry(word & shape).or_default();
                *count += 1;
                *count <= WORDS.1
            };
            if (is_rare || self.words.len() < WORDS.0) && self.taken.insert(word & !scheduling) {
                self.words.push(word);
            }
        }
    }
}

/// Returns the instructions of code, without scheduling words.
fn words<'b>(isa: &'static Isa, bytes: &'b [u8]) -> impl Iterator<Item = u128> + use<'b> {
    let words = bytes.chunks_exact(isa.word_bytes).filter_map(|bytes| isa.word(bytes)).zip(0..);
    words.filter(|(word, index)| !control::is_scheduling(isa, *index, *word)).map(|(word, _)| word)
}

/// Returns the words and cubins of chips from Maxwell on in files, and in the files below folders. Of each chip, cubins with
/// `listings` bytes of code are kept, or all if they have less.
pub(super) fn find(paths: &[PathBuf], chips: &[u32], listings: u64) -> Result<BTreeMap<u32, Found>> {
    let mut files = Vec::new();
    paths.iter().for_each(|path| walk(path, &mut files));
    files.sort();
    let (found, seen) = (Mutex::new(BTreeMap::<u32, Found>::new()), Mutex::new(BTreeSet::new()));
    let take = |data: &[u8]| {
        let Ok(cubin) = Cubin::parse(data) else { return };
        let chip = cubin.arch();
        let is_wanted = chips.is_empty() && chip >= 50 || chips.contains(&chip);
        if !is_wanted {
            return;
        }
        let digest = sh::sha256_hex(data);
        if !locked(&seen).insert(digest.clone()) {
            return;
        }
        let sections: Vec<_> =
            cubin.code_sections().filter_map(|section| cubin.elf().bytes(&section).ok()).collect();
        let mut found = locked(&found);
        let found = found.entry(chip).or_default();
        let code = found.code;
        sections.iter().for_each(|bytes| found.take_code(chip, bytes.data()));
        found.keep(digest, data, found.code - code, listings);
    };
    files.par_iter().try_for_each(|path| each_cubin(path, &take))?;
    Ok(found.into_inner().unwrap_or_default())
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn walk(path: &Path, files: &mut Vec<PathBuf>) {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| walk(&entry.path(), files)),
        Err(_) => files.push(path.to_owned()),
    }
}

/// Calls `take` for each cubin in a file.
fn each_cubin(path: &Path, take: &dyn Fn(&[u8])) -> Result<()> {
    let data = fs::read(path).with_context(|| path.display().to_string())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut limits = Limits::default();
    (limits.max_finds, limits.max_members, limits.max_total_size) = (u64::MAX, u64::MAX, u64::MAX);
    let diagnostics = carve(&data, name.as_bytes(), &limits, &mut |find| {
        match find.format {
            Format::Cubin => take(find.data),
            Format::Fatbin => {
                let entries = Fatbin::parse(find.data).into_iter().flat_map(|fatbin| fatbin.entries());
                let cubins = entries.flatten().filter(|entry| entry.kind == EntryKind::ELF);
                cubins.filter_map(|entry| entry.data().ok()).for_each(|data| take(&data));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    diagnostics.iter().for_each(|found| println!("  {name}: {}", found.error));
    Ok(())
}

/// Returns words with the texts and addresses of nvdisasm. The text of a word that it refuses is empty.
pub(super) fn listed(oracle: &Oracle, words: &[u128]) -> Result<Vec<Listed>> {
    let answers = oracle.read(words)?;
    let listed = words.iter().zip(answers).map(|(word, answer)| Listed {
        word: *word,
        text: answer.text.unwrap_or_default(),
        address: answer.address,
    });
    Ok(listed.collect())
}
