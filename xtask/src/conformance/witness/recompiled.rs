//! Machine code of the packages, beside the PTX of the same fat binary, compiled again by ptxas 11.2.
//!
//! An older ptxas selected other instructions for the same PTX. Both codes run on the same invented inputs
//! ([`unshade_emulate::trial`]) and must leave the same memory. This is a witness for the forms that the new code does not
//! have, if the memory differs without the instruction.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use rayon::prelude::*;
use unshade::core::Reader;
use unshade::nv::fatbin::EntryKind;
use unshade::nv::{Cubin, Fatbin};
use unshade::sass::listing::{self, Word};
use unshade::sass::{Instruction, isa};
use unshade_emulate::trial::{FILLINGS, Trials, first_difference};
use unshade_tests::witness::form::form;

use super::coverage::{PLACES, without};

/// Number of kernels for each form.
const KERNELS: usize = 8;

/// How many times as many instructions the new code may execute.
const PATIENCE: u64 = 4;

/// A kernel with instructions of forms that have no other witness.
struct Kernel {
    name: String,
    /// The number of bytes of its code.
    size: usize,
    /// The places of these forms in the cubin.
    wanted: BTreeMap<String, Vec<(usize, Instruction)>>,
}

/// A cubin, and the PTX that it was made from.
struct Pair {
    cubin: Vec<u8>,
    ptx: String,
    kernels: Vec<Kernel>,
}

/// Returns the forms, of those wanted, whose loss changes what a kernel leaves in memory.
pub(super) fn forms(ptxas: &Path, scratch: &Path, wanted: &BTreeSet<&str>) -> Result<BTreeSet<String>> {
    let files = super::super::nv::collect()?;
    let found: Vec<Vec<Pair>> = files.par_iter().map(|path| pairs(path, wanted)).collect();
    let mut pairs: Vec<Pair> = found.into_iter().flatten().collect();
    choose(&mut pairs);
    let verdicts: Vec<Result<BTreeSet<String>>> = pairs
        .par_iter()
        .enumerate()
        .with_max_len(1)
        .map(|(number, pair)| noticed(ptxas, scratch, number, pair))
        .collect();
    let mut forms = BTreeSet::new();
    for verdict in verdicts {
        forms.extend(verdict?);
    }
    Ok(forms)
}

/// Returns the cubins of a file that have PTX for the same chip and instructions of the wanted forms.
fn pairs(path: &Path, wanted: &BTreeSet<&str>) -> Vec<Pair> {
    let Ok(data) = fs::read(path) else { return Vec::new() };
    let Ok(fatbin) = Fatbin::read(Reader::new(&data)) else { return Vec::new() };
    let mut texts = BTreeMap::new();
    let mut cubins = BTreeMap::new();
    for entry in fatbin.entries().flatten() {
        let Ok(data) = entry.data() else { continue };
        if entry.kind == EntryKind::PTX {
            let text = String::from_utf8_lossy(&data);
            texts.insert(entry.arch, text.trim_end_matches('\0').to_owned());
        } else if let Ok(cubin) = entry.cubin(&data) {
            let kernels = kernels(&cubin, wanted);
            if !kernels.is_empty() {
                cubins.insert(cubin.arch(), (cubin.file().data().to_vec(), kernels));
            }
        }
    }
    let pairs = cubins
        .into_iter()
        .filter_map(|(arch, (cubin, kernels))| Some(Pair { cubin, ptx: texts.get(&arch)?.clone(), kernels }));
    pairs.collect()
}

fn kernels(cubin: &Cubin<'_>, wanted: &BTreeSet<&str>) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for (name, place, instructions) in functions(cubin) {
        let size = instructions.len();
        let mut found: BTreeMap<String, Vec<(usize, Instruction)>> = BTreeMap::new();
        for (offset, instruction) in instructions {
            let form = form(&instruction);
            if wanted.contains(form.as_str()) {
                found.entry(form).or_default().push((place + offset, instruction));
            }
        }
        if !found.is_empty() {
            kernels.push(Kernel { name, size, wanted: found });
        }
    }
    kernels
}

/// A function: its name, the place of its code in the cubin, and its instructions with their offsets.
type Listed = (String, usize, Vec<(usize, Instruction)>);

/// Returns the functions of a cubin of Kepler.
fn functions(cubin: &Cubin<'_>) -> Vec<Listed> {
    let Some(isa) = isa::by_architecture(cubin.arch()) else { return Vec::new() };
    let functions = cubin.functions().filter_map(|function| {
        let code = function.code(cubin).ok()?;
        let listed = listing::Function { name: "", isa, bytes: code.data(), address: 0, file_offset: 0 };
        let words = listed.words().filter_map(|(address, word)| match word {
            Word::Instruction(instruction) => Some((usize::try_from(address).ok()?, instruction)),
            _ => None,
        });
        let name = String::from_utf8_lossy(function.name()).into_owned();
        let place = usize::try_from(code.range().start.checked_sub(cubin.file().base())?).ok()?;
        Some((name, place, words.collect()))
    });
    functions.collect()
}

/// Keeps the smallest kernels of each form.
fn choose(pairs: &mut Vec<Pair>) {
    let mut sizes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for kernel in pairs.iter().flat_map(|pair| &pair.kernels) {
        for form in kernel.wanted.keys() {
            sizes.entry(form.clone()).or_default().push(kernel.size);
        }
    }
    sizes.values_mut().for_each(|sizes| sizes.sort_unstable());
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for pair in pairs.iter_mut() {
        pair.kernels.retain_mut(|kernel| {
            kernel.wanted.retain(|form, _| {
                let largest = sizes.get(form).and_then(|sizes| sizes.get(..KERNELS.min(sizes.len()))?.last());
                let count = left.entry(form.clone()).or_default();
                let is_small = largest.is_some_and(|largest| kernel.size <= *largest) && *count < 2 * KERNELS;
                *count += usize::from(is_small);
                is_small
            });
            !kernel.wanted.is_empty()
        });
    }
    pairs.retain(|pair| !pair.kernels.is_empty());
}

/// Returns the forms of a pair whose loss is noticed.
fn noticed(ptxas: &Path, scratch: &Path, number: usize, pair: &Pair) -> Result<BTreeSet<String>> {
    let mut forms = BTreeSet::new();
    let names: BTreeSet<&str> = pair.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let (source, target) = (scratch.join(format!("{number}.ptx")), scratch.join(format!("{number}.cubin")));
    fs::write(&source, only(&pair.ptx, &names))?;
    let output = Command::new(ptxas).arg("-arch=sm_35").arg(&source).arg("-o").arg(&target).output()?;
    if !output.status.success() {
        println!("ptxas rejects the PTX of a package: {}", String::from_utf8_lossy(&output.stderr).trim());
        return Ok(forms);
    }
    let compiled = fs::read(&target)?;
    let cubin = Cubin::read(Reader::new(&compiled)).map_err(anyhow::Error::msg)?;
    let mut new_forms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, _, instructions) in functions(&cubin) {
        new_forms.insert(name, instructions.iter().map(|(_, instruction)| form(instruction)).collect());
    }
    let (Ok(older), Ok(newer)) = (Trials::new(&pair.cubin), Trials::new(&compiled)) else { return Ok(forms) };
    let newer = newer.with_patience(PATIENCE);
    for kernel in &pair.kernels {
        let Some(others) = new_forms.get(&kernel.name) else { continue };
        let Some(fields) = older.fields(&kernel.name, &[]) else { continue };
        for filling in FILLINGS {
            let fields = older.infer(&kernel.name, &fields, filling);
            let old = older.run(&kernel.name, &fields, filling, false);
            let new = newer.run(&kernel.name, &fields, filling, false);
            if old.result.is_err() || new.result.is_err() || !old.changed {
                continue;
            }
            if !old.contents().eq(new.contents()) {
                // The compilers may contract and approximate differently.
                if !kernel.approximates(&pair.cubin) {
                    println!("differs: {}: {}", kernel.name, first_difference(old.buffers(), new.buffers()));
                }
                continue;
            }
            for (form, places) in kernel.wanted.iter().filter(|(form, _)| !others.contains(*form)) {
                let is_noticed = places.iter().take(PLACES).any(|(place, instruction)| {
                    let Some(word) = without(instruction) else { return false };
                    let mut changed = pair.cubin.clone();
                    changed[*place..*place + 8].copy_from_slice(&word.to_le_bytes());
                    let Ok(changed) = Trials::new(&changed) else { return false };
                    let run = changed.with_patience(PATIENCE).run(&kernel.name, &fields, filling, false);
                    run.result.is_err() || !run.contents().eq(new.contents())
                });
                if is_noticed {
                    forms.insert(form.clone());
                }
            }
        }
    }
    Ok(forms)
}

impl Kernel {
    /// Returns whether its code approximates functions or contracts products and sums, so that last bits may differ.
    fn approximates(&self, cubin: &[u8]) -> bool {
        let Ok(cubin) = Cubin::read(Reader::new(cubin)) else { return true };
        let named = functions(&cubin).into_iter().filter(|(name, ..)| *name == self.name);
        let mut all = named.flat_map(|(_, _, instructions)| instructions);
        all.any(|(_, instruction)| ["MUFU", "FFMA", "DFMA"].contains(&instruction.operation().name))
    }
}

/// Returns PTX with only these kernels, and everything that is no kernel.
fn only(text: &str, names: &BTreeSet<&str>) -> String {
    let mut kept = String::new();
    let mut keeps = true;
    let mut depth = 0_usize;
    for line in text.lines() {
        if let Some((before, rest)) = line.split_once(".entry ")
            && (before.is_empty() || before.starts_with('.'))
        {
            keeps = names.contains(rest.trim_end_matches('(').trim());
        }
        if keeps {
            kept.push_str(line);
            kept.push('\n');
        }
        // Inline assembly has blocks of its own.
        let closes = line.matches('}').count();
        depth = (depth + line.matches('{').count()).saturating_sub(closes);
        keeps |= closes > 0 && depth == 0;
    }
    kept
}
