//! Reads every module of all sets as a tree, and writes it: the bytes must be the same. Positions that a sound module states
//! must be those that the tree computes.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::core::Reader;
use unshade::llvm::tree::Tree;
use unshade::llvm::verify;

use super::{Input, for_all_sets};
use crate::sh;

/// Maximum number of printed faults per set.
const SHOWN_FAULTS: usize = 10;

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let mut faults = 0;
    let set = |name: &str, inputs: &[Input]| -> Result<()> {
        let read = |input: &Input| -> Result<Counts> { Ok(Counts::of(&input.name, &input.bytes()?)) };
        let counts =
            inputs.par_iter().map(read).try_reduce(Counts::default, |one, other| Ok(one.add(other)))?;
        counts.print(name);
        faults += counts.faults.len();
        Ok(())
    };
    for_all_sets(sample, set)?;
    ensure!(faults == 0, "{faults} faults");
    Ok(())
}

/// The counts for some modules.
#[derive(Default)]
struct Counts {
    files: u64,
    bytes: u64,
    /// Files that are written as they were read.
    same: u64,
    /// Files that can't be read as a tree. Those of LLVM's tests are damaged on purpose.
    refused: u64,
    /// Files of which `verify` says that a position is wrong.
    unsound: u64,
    /// Of the others, those whose positions are what the tree computes.
    same_positions: u64,
    faults: Vec<String>,
}

impl Counts {
    fn of(name: &str, bytes: &[u8]) -> Self {
        let mut counts = Self { files: 1, bytes: bytes.len() as u64, ..Self::default() };
        let findings = verify::bitcode(Reader::new(bytes));
        let has = |rule: &str| findings.iter().any(|finding| finding.rule == rule);
        let mut tree = match Tree::read(bytes, 0) {
            Ok(tree) => tree,
            Err(_) if has("bitcode-stream") || has("llvm-module") => {
                counts.refused = 1;
                return counts;
            }
            Err(error) => {
                counts.faults.push(format!("{name}: {error}"));
                return counts;
            }
        };
        match tree.write() {
            Ok(written) if written == bytes => counts.same = 1,
            Ok(_) => counts.faults.push(format!("{name}: it is written differently")),
            Err(error) => counts.faults.push(format!("{name}: {error}")),
        }
        if !findings.is_empty() {
            counts.unsound = 1;
            return counts;
        }
        match tree.renew_positions().and_then(|()| tree.write()) {
            Ok(written) if written == bytes => counts.same_positions = 1,
            Ok(_) => counts.faults.push(format!("{name}: it has other positions")),
            Err(error) => counts.faults.push(format!("{name}: positions: {error}")),
        }
        counts
    }

    fn add(mut self, other: Self) -> Self {
        let sums = [
            (&mut self.files, other.files),
            (&mut self.bytes, other.bytes),
            (&mut self.same, other.same),
            (&mut self.refused, other.refused),
            (&mut self.unsound, other.unsound),
            (&mut self.same_positions, other.same_positions),
        ];
        for (sum, addend) in sums {
            *sum += addend;
        }
        self.faults.extend(other.faults);
        self
    }

    fn print(&self, set: &str) {
        let Self { files, same, refused, unsound, same_positions, .. } = self;
        println!("{set}: {files} files, {}", sh::megabytes(self.bytes));
        println!("  written as read: {same} of {}, {refused} damaged ones are refused", files - refused);
        println!(
            "  positions as computed: {same_positions} of {}, without findings",
            files - refused - unsound
        );
        self.faults.iter().take(SHOWN_FAULTS).for_each(|fault| println!("  fault: {fault}"));
    }
}
