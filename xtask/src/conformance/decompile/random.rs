//! `cargo xtask conformance decompile-random`: runs random kernels (`unshade_tests::random_kernels`) in the emulator
//! and as C.
//!
//! Nothing may panic or hang, and if there is C and the emulator terminates, the resulting memory must be the same.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade_tests::closed_loop::same_addresses::{Case, HostCompiler, Verdict};
use unshade_tests::random_kernels::{Shape, Skipped, case, encodings};

/// Number of cases.
const CASES: u64 = 10_000;

/// Number of cases per compiled program.
const GROUP: u64 = 200;

/// Maximum duration; a case that takes longer hangs.
const LONG: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Counts {
    same: u64,
    near: u64,
    skipped: BTreeMap<String, u64>,
    wrong: Vec<(u64, Shape, String)>,
}

pub(in super::super) fn run(cases: Option<u64>, failures: Option<&Path>) -> Result<()> {
    let scratch = std::env::temp_dir().join(format!("unshade-decompile-random-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let result = run_in(&scratch, cases.unwrap_or(CASES), failures);
    let _ = fs::remove_dir_all(&scratch);
    result
}

fn run_in(scratch: &Path, cases: u64, failures: Option<&Path>) -> Result<()> {
    let encodings = encodings();
    let compiler = HostCompiler::new(scratch, "-O0").map_err(anyhow::Error::msg)?;
    let groups: Vec<u64> = (0..cases.div_ceil(GROUP)).collect();
    let of_group = |group: &u64| {
        let mut counts = Counts::default();
        let mut made: Vec<(u64, Shape, Case)> = Vec::new();
        for number in group * GROUP..cases.min((group + 1) * GROUP) {
            let shape = [Shape::Straight, Shape::Nested, Shape::Graph][(number % 3) as usize];
            let start = Instant::now();
            match catch_unwind(AssertUnwindSafe(|| case(&encodings, number, shape))) {
                Ok(Ok(case)) => made.push((number, shape, case)),
                Ok(Err(reason)) => *counts.skipped.entry(said(&reason)).or_default() += 1,
                Err(_) => counts.wrong.push((number, shape, "it panics".into())),
            }
            if start.elapsed() > LONG {
                counts.wrong.push((number, shape, format!("it takes {:?}", start.elapsed())));
            }
        }
        let texts: Vec<Case> = made.iter().map(|made| made.2.clone()).collect();
        let verdicts = compiler.run(&texts, *group as usize);
        for ((number, shape, case), verdict) in made.iter().zip(verdicts) {
            match verdict {
                Verdict::Same => counts.same += 1,
                Verdict::Near => counts.near += 1,
                Verdict::Wrong(what) => {
                    if let Some(folder) = failures {
                        let _ = fs::write(folder.join(format!("{}.cu", case.name)), &case.text);
                    }
                    counts.wrong.push((*number, *shape, what));
                }
            }
        }
        counts
    };
    if let Some(folder) = failures {
        fs::create_dir_all(folder)?;
    }
    let counts = groups.par_iter().with_max_len(1).map(of_group).reduce(Counts::default, Counts::add);
    println!("random kernels: {cases}");
    println!("the emulator and the C produce the same memory: {}", counts.same + counts.near);
    println!("  {} of them except for the bits of NaNs", counts.near);
    for (reason, count) in &counts.skipped {
        println!("not compared: {reason}: {count}");
    }
    println!("wrong: {}", counts.wrong.len());
    for (number, shape, what) in counts.wrong.iter().take(40) {
        println!("  {number} {shape:?}: {what}");
    }
    ensure!(counts.wrong.is_empty(), "{} cases are wrong", counts.wrong.len());
    Ok(())
}

fn said(reason: &Skipped) -> String {
    match reason {
        Skipped::Refused(fault) => format!("no C: {fault}"),
        Skipped::Unlifted(name) => format!("no C: {name}"),
        Skipped::Faulted(text) => format!("the emulator: {text}"),
    }
}

impl Counts {
    fn add(mut self, other: Self) -> Self {
        self.same += other.same;
        self.near += other.near;
        for (reason, count) in other.skipped {
            *self.skipped.entry(reason).or_default() += count;
        }
        self.wrong.extend(other.wrong);
        self
    }
}
