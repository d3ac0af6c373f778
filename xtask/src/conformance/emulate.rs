//! The emulator on real kernels: TensorFlow's package has the same kernels for sm_30 and sm_35, two encodings of the
//! same operations. Both are run on the same random inputs, and must produce the same memory.
//!
//! The inputs are invented: see [`unshade_emulate::trial`]. Only kernels that terminate on both chips and write something
//! count.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::decompiler::{Options, Parameter};
use unshade::nv::fatbin::EntryKind;
use unshade::nv::function::Function;
use unshade::nv::{Cubin, Fatbin};

use unshade_emulate::trial::{self, FILLINGS, Trials, hash};

use super::kernel_runs::kind;

/// Number of kernels to try.
const SAMPLE: usize = 1_000;

/// Minimum number of kernels that must agree.
const LEAST: u64 = 200;

/// The two versions of a fat binary.
struct Pair {
    /// The cubin for the older chip.
    data: Vec<u8>,
    older: Trials,
    newer: Trials,
}

/// The result for a kernel.
enum Verdict {
    /// Both chips produce the same memory, after this number of warp instructions.
    Agree(u64),
    /// The memory differs; the first difference.
    Differ(String),
    /// Only one of them terminates; why the other does not.
    Uneven(String),
    /// The versions use different blocks or shared memory: their source depends on the chip.
    Chosen,
    /// Both terminated, but wrote nothing.
    Silent,
    /// It could not be run.
    Fault(String),
}

#[derive(Default)]
struct Counts {
    tried: u64,
    agree: u64,
    differ: u64,
    chosen: u64,
    silent: u64,
    /// Reasons why kernels could not be run.
    faults: BTreeMap<String, u64>,
    uneven: u64,
    steps: u64,
}

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let mut kernels: BTreeMap<u64, (&Pair, &str)> = BTreeMap::new();
    let pairs = pairs()?;
    for pair in &pairs {
        let names = pair.older.module.kernels().iter().map(|kernel| kernel.name.as_str());
        for name in names.filter(|name| pair.newer.module.kernel(name).is_some()) {
            kernels.entry(hash(name)).or_insert((pair, name));
        }
    }
    println!("fat binaries with both chips: {}, kernels by name: {}", pairs.len(), kernels.len());
    let chosen: Vec<(&Pair, &str)> = kernels.into_values().take(sample.unwrap_or(SAMPLE)).collect();
    let verdicts: Vec<Verdict> =
        chosen.par_iter().with_max_len(1).map(|(pair, name)| verdict(pair, name)).collect();
    let mut counts = Counts::default();
    for ((_, name), verdict) in chosen.iter().zip(verdicts) {
        counts.add(name, verdict);
    }
    counts.print();
    ensure!(counts.tried > 0, "there is nothing to run: run `cargo xtask corpus --only tensorflow-gpu`");
    ensure!(counts.differ == 0, "{} kernels differ", counts.differ);
    ensure!(sample.is_some() || counts.agree >= LEAST, "only {} kernels agree", counts.agree);
    Ok(())
}

/// Returns the fat binaries of the corpus that have a cubin for each of the two chips.
fn pairs() -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for path in super::nv::collect()? {
        let data = fs::read(&path)?;
        let Ok(fatbin) = Fatbin::read(Reader::new(&data)) else { continue };
        let mut cubins = BTreeMap::new();
        for entry in fatbin.entries().flatten().filter(|entry| entry.kind == EntryKind::ELF) {
            if let Ok(data) = entry.data()
                && let Ok(cubin) = entry.cubin(&data)
            {
                cubins.insert(cubin.arch(), cubin.file().data().to_vec());
            }
        }
        if let (Some(data), Some(newer)) = (cubins.remove(&30), cubins.remove(&35))
            && let (Ok(older), Ok(newer)) = (Trials::new(&data), Trials::new(&newer))
        {
            pairs.push(Pair { data, older, newer });
        }
    }
    Ok(pairs)
}

/// Returns what the decompiler finds out about the parameters of a kernel.
fn parameters(cubin: &[u8], name: &str) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    let Ok(cubin) = Cubin::read(Reader::new(cubin)) else { return parameters };
    let wanted = |function: &Function<'_>| function.name() == name.as_bytes();
    unshade::decompile::cubin(
        &cubin,
        &wanted,
        &Options::default(),
        &mut Diagnostics::new(),
        &mut |function| {
            if let Ok(found) = function.result {
                parameters = found.parameters;
            }
        },
    );
    parameters
}

fn verdict(pair: &Pair, name: &str) -> Verdict {
    let says = |loaded: &Trials| loaded.module.kernel(name).map(|kernel| (kernel.threads, kernel.shared));
    if says(&pair.older) != says(&pair.newer) {
        return Verdict::Chosen;
    }
    let found = pair.older.fields(name, &parameters(&pair.data, name));
    let Some(found) = found else { return Verdict::Fault("too many parameters".into()) };
    let mut last = Verdict::Silent;
    for filling in FILLINGS {
        let fields = pair.older.infer(name, &found, filling);
        let older = pair.older.run(name, &fields, filling, false);
        let newer = pair.newer.run(name, &fields, filling, false);
        match (&older.result, &newer.result) {
            (Ok(()), Ok(())) if !older.contents().eq(newer.contents()) => {
                return Verdict::Differ(trial::first_difference(older.buffers(), newer.buffers()));
            }
            (Ok(()), Ok(())) if older.changed => return Verdict::Agree(older.steps + newer.steps),
            (Ok(()), Ok(())) => last = Verdict::Silent,
            (Err(reason), Err(_)) => last = Verdict::Fault(kind(reason)),
            (Err(reason), Ok(())) | (Ok(()), Err(reason)) => return Verdict::Uneven(reason.to_string()),
        }
    }
    last
}

impl Counts {
    fn add(&mut self, name: &str, verdict: Verdict) {
        self.tried += 1;
        match verdict {
            Verdict::Agree(steps) => {
                self.agree += 1;
                self.steps += steps;
            }
            Verdict::Differ(what) => {
                self.differ += 1;
                println!("differs: {name}: {what}");
            }
            Verdict::Uneven(reason) => {
                self.uneven += 1;
                println!("only one chip terminates: {name}: {reason}");
            }
            Verdict::Chosen => self.chosen += 1,
            Verdict::Silent => self.silent += 1,
            Verdict::Fault(reason) => *self.faults.entry(reason).or_default() += 1,
        }
    }

    fn print(&self) {
        println!("kernels tried: {}", self.tried);
        println!("both chips produce the same memory: {} ({} warp instructions)", self.agree, self.steps);
        println!("different memory: {}; only one terminates: {}", self.differ, self.uneven);
        println!("compiled for different blocks or shared memory: {}", self.chosen);
        println!("terminated without writing: {}", self.silent);
        let mut faults: Vec<_> = self.faults.iter().collect();
        faults.sort_by_key(|fault| std::cmp::Reverse(fault.1));
        for (reason, count) in faults {
            println!("  could not be run: {reason}: {count}");
        }
    }
}
