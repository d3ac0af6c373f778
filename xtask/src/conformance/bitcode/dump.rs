//! Compares the outline of bitcode with `llvm-bcanalyzer`: the same text, the same counts, and one field for every bit.
//!
//! The modules are those of the AIR set and of the folder `air` of UNSHADE_CORPUS, those of the DXIL set, and generated
//! C compiled with every available clang. `verify` also checks each, and its findings are counted.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::core::outline::Coverage;
use unshade::core::{Diagnostics, Reader};
use unshade::llvm::facts::{ModuleFacts, functions};
use unshade::llvm::outline::{self, Analyzer, BlockContents};
use unshade::llvm::{Module, verify};

use super::server::run_once;
use super::{Input, air, dxil, generated};
use crate::sh;

/// The reference program: the outline uses the names of its version.
const ORACLE: &str = "llvm-bcanalyzer-19";

/// Maximum number of printed faults per set.
const SHOWN_FAULTS: usize = 10;

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let oracle = match Command::new(ORACLE).arg("--version").output() {
        Ok(_) => true,
        Err(_) => {
            println!("skipped: {ORACLE} is not installed, so only the bits are counted");
            false
        }
    };
    let mut faults = 0;
    let mut set = |name: &str, inputs: &[Input]| -> Result<()> {
        let read = |input: &Input| -> Result<Counts> { Ok(Counts::of(&input.name, &input.bytes()?, oracle)) };
        let counts = inputs.par_iter().map(read).try_reduce(Counts::default, |a, b| Ok(a.add(b)))?;
        counts.print(name);
        faults += counts.faults.len();
        Ok(())
    };
    set("air", &air::with_corpus(sample)?)?;
    match dxil::Containers::find(sample)? {
        Some(containers) => set("dxil", &containers.modules())?,
        None => println!("skipped: UNSHADE_CORPUS is not set, so there is no DXIL"),
    }
    set("clang", &generated::modules()?)?;
    ensure!(faults == 0, "{faults} faults");
    Ok(())
}

/// The counts for some modules.
#[derive(Default)]
struct Counts {
    files: u64,
    bytes: u64,
    /// Files with one known field for every bit.
    covered: u64,
    /// Files that `llvm-bcanalyzer` rejects.
    refused: Vec<String>,
    /// Files with the same text as `llvm-bcanalyzer`.
    same_text: u64,
    /// Files with the same counts as `llvm-bcanalyzer`.
    same_counts: u64,
    blocks: u64,
    records: u64,
    abbreviations: u64,
    functions: u64,
    /// Files without findings of `verify`.
    sound: u64,
    /// Findings of `verify` by rule, with the first one.
    findings: BTreeMap<&'static str, (u64, String)>,
    faults: Vec<String>,
}

impl Counts {
    fn of(name: &str, bytes: &[u8], oracle: bool) -> Self {
        let mut counts = Self { files: 1, bytes: bytes.len() as u64, ..Self::default() };
        counts.cover(name, bytes);
        counts.verify(name, bytes);
        if oracle && let Err(error) = counts.compare(name, bytes) {
            counts.faults.push(format!("{name}: {error:#}"));
        }
        counts
    }

    fn cover(&mut self, name: &str, bytes: &[u8]) {
        let mut coverage = Coverage::starting_at(0);
        let mut diagnostics = Diagnostics::new();
        let contents = outline::bitcode(Reader::new(bytes), &mut coverage, &mut diagnostics);
        let (own, unknown) = (coverage.own_bits(), coverage.unknown_bytes());
        let faults = coverage.finish(bytes.len() as u64);
        if faults.is_empty() && own == 0 && unknown == 0 {
            self.covered = 1;
        } else {
            self.faults.push(format!("{name}: {own} bits of parents, {unknown} unknown bytes, {faults:?}"));
        }
        for block in contents.blocks.values() {
            self.blocks += block.instances;
            self.records += block.records;
            self.abbreviations += block.abbreviations;
        }
    }

    fn verify(&mut self, name: &str, bytes: &[u8]) {
        let findings = verify::bitcode(Reader::new(bytes));
        self.sound += u64::from(findings.is_empty());
        for finding in &findings {
            let entry =
                self.findings.entry(finding.rule).or_insert((0, format!("{name}: {}", finding.error)));
            entry.0 += 1;
        }
        for module in Module::parse_all(bytes, 0).into_iter().flatten().flatten() {
            let facts = ModuleFacts::new(&module);
            self.functions += functions(&module).len() as u64;
            if facts.definitions + facts.declarations != module.functions.len() {
                self.faults.push(format!("{name}: functions are not counted right"));
            }
        }
    }

    fn compare(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        // Run once, because the tool does not flush its output under the server.
        let output = run_once(&[ORACLE, "-dump"], bytes)?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
            self.refused.push(format!("{name}: {message}"));
            return Ok(());
        }
        let theirs = String::from_utf8_lossy(&output.stdout);
        let (text, summary) = theirs.rsplit_once("\nSummary of ").context("no summary")?;
        let mut ours = String::new();
        let mut analyzer = Analyzer::new(&mut ours);
        let contents = outline::bitcode(Reader::new(bytes), &mut analyzer, &mut Diagnostics::new());
        analyzer.finish()?;
        if ours.trim_end() == text.trim_end() {
            self.same_text = 1;
        } else {
            let lines = ours.lines().zip(text.lines()).zip(1..);
            let first = lines.into_iter().find(|((ours, theirs), _)| ours != theirs);
            self.faults.push(format!("{name}: another text: {first:?}"));
        }
        let known = |(id, block): (&u32, &BlockContents)| (*id, numbers(block));
        let ours: BTreeMap<u32, [u64; 4]> = contents.blocks.iter().map(known).collect();
        let theirs = counts_of(summary);
        if ours == theirs {
            self.same_counts = 1;
        } else {
            self.faults.push(format!("{name}: other counts: {ours:?} beside {theirs:?}"));
        }
        Ok(())
    }

    fn add(mut self, other: Self) -> Self {
        let sums = [
            (&mut self.files, other.files),
            (&mut self.bytes, other.bytes),
            (&mut self.covered, other.covered),
            (&mut self.same_text, other.same_text),
            (&mut self.same_counts, other.same_counts),
            (&mut self.blocks, other.blocks),
            (&mut self.records, other.records),
            (&mut self.abbreviations, other.abbreviations),
            (&mut self.functions, other.functions),
            (&mut self.sound, other.sound),
        ];
        for (sum, addend) in sums {
            *sum += addend;
        }
        for (rule, (count, example)) in other.findings {
            self.findings.entry(rule).or_insert((0, example)).0 += count;
        }
        self.refused.extend(other.refused);
        self.faults.extend(other.faults);
        self
    }

    fn print(&self, set: &str) {
        let Self { files, blocks, records, abbreviations, functions, .. } = self;
        println!("{set}: {files} files, {}", sh::megabytes(self.bytes));
        println!(
            "  {blocks} blocks, {records} records, {abbreviations} abbreviations, {functions} functions"
        );
        println!("  every bit has one field, none unknown: {} of {files}", self.covered);
        println!(
            "  {ORACLE}: {} refused; of the others, the same text {}, the same counts {}",
            self.refused.len(),
            self.same_text,
            self.same_counts
        );
        self.refused.iter().take(SHOWN_FAULTS).for_each(|refused| println!("    refused: {refused}"));
        println!("  verify finds nothing: {} of {files}", self.sound);
        for (rule, (count, example)) in &self.findings {
            println!("    {rule}: {count}, such as {example}");
        }
        self.faults.iter().take(SHOWN_FAULTS).for_each(|fault| println!("  fault: {fault}"));
    }
}

/// Number of blocks, inner blocks, abbreviations and records.
fn numbers(block: &BlockContents) -> [u64; 4] {
    [block.instances, block.sub_blocks, block.abbreviations, block.records]
}

/// Parses the same numbers from the statistics of `llvm-bcanalyzer`, by block id.
fn counts_of(summary: &str) -> BTreeMap<u32, [u64; 4]> {
    let mut counts = BTreeMap::new();
    let mut block = None;
    for line in summary.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Block ID #") {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            block = rest[..end].parse().ok().map(|id| counts.entry(id).or_insert([0; 4]));
            continue;
        }
        let (Some(numbers), Some((label, value))) = (&mut block, line.split_once(": ")) else { continue };
        let labels = ["Instances", "SubBlocks", "Abbrevs", "Records"];
        let at = labels.iter().position(|wanted| label.strip_suffix(wanted).is_some_and(is_of_all));
        if let (Some(at), Some(Ok(number))) = (at, value.split('/').next().map(str::parse)) {
            numbers[at] = number;
        }
    }
    counts
}

/// Returns whether the words before the label of a number mark it as a sum.
fn is_of_all(words: &str) -> bool {
    matches!(words, "Num " | "Tot/Avg ")
}

#[cfg(test)]
mod tests {
    use super::counts_of;

    #[test]
    fn statistics_are_read() {
        let summary = "x:\n  Block ID #8 (MODULE_BLOCK):\n      Num Instances: 1\n      Num SubBlocks: 9\n        \
                       Num Abbrevs: 3\n        Num Records: 7\n    Percent Abbrevs: 42.8571%\n\n  Block ID #26:\n      \
                       Num Instances: 2\n  Tot/Avg SubBlocks: 0/0.000000e+00\n    Tot/Avg Abbrevs: 1/5.000000e-01\n    \
                       Tot/Avg Records: 5/2.500000e+00\n";
        assert_eq!(
            counts_of(summary).into_iter().collect::<Vec<_>>(),
            [(8, [1, 9, 3, 7]), (26, [2, 0, 1, 5])]
        );
    }
}
