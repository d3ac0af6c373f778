//! Containers in containers, three deep, by the builders of the tests; and files of the system's compressors.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::carve::Condition;

use super::samples::kinds::{KINDS, holders};
use super::{PROGRAMS, search};
use crate::sh;

/// Maximum number of failures to print.
const SHOWN: usize = 20;

/// Compressors that read standard input: what they make, the program, its arguments.
const COMPRESSORS: [(&str, &str, &[&str]); 20] = [
    ("xz", "xz", &["-c"]),
    ("xz -9e", "xz", &["-9e", "-c"]),
    ("xz, SHA-256", "xz", &["--check=sha256", "-c"]),
    ("xz, blocks of 1 KiB", "xz", &["--block-size=1024", "-c"]),
    ("xz, BCJ x86", "xz", &["--x86", "--lzma2", "-c"]),
    ("xz, BCJ ARM", "xz", &["--arm", "--lzma2", "-c"]),
    ("xz, BCJ ARM-Thumb", "xz", &["--armthumb", "--lzma2", "-c"]),
    ("xz, BCJ ARM64", "xz", &["--arm64", "--lzma2", "-c"]),
    ("xz, BCJ PowerPC", "xz", &["--powerpc", "--lzma2", "-c"]),
    ("xz, BCJ IA-64", "xz", &["--ia64", "--lzma2", "-c"]),
    ("xz, BCJ SPARC", "xz", &["--sparc", "--lzma2", "-c"]),
    ("xz, delta", "xz", &["--delta=dist=4", "--lzma2", "-c"]),
    ("xz, delta and BCJ x86", "xz", &["--delta=dist=4", "--x86", "--lzma2", "-c"]),
    ("LZMA", "xz", &["--format=lzma", "-c"]),
    ("LZ4", "lz4", &["-c"]),
    ("LZ4, legacy", "lz4", &["-l", "-c"]),
    ("Zstandard -19", "zstd", &["-19", "-c"]),
    ("bzip2", "bzip2", &["-c"]),
    ("gzip", "gzip", &["-c"]),
    ("zip", "zip", &["-q", "-", "-"]),
];

/// Searches all combinations, and returns the number of wrong results.
pub(super) fn run() -> Result<u64> {
    let (_, program) = PROGRAMS[0];
    let combinations = combinations();
    let mut faults: Vec<String> = combinations
        .par_iter()
        .filter_map(|(one, two)| {
            let wrap = |name: &str| KINDS.iter().find(|(kind, _)| *kind == name).map(|(_, wrap)| wrap);
            let two_deep = wrap(two)?(&wrap(one)?(program));
            let inner = fault(&two_deep, program).map(|fault| format!("{one} in {two}: {fault}"));
            let outer = holders(two).filter_map(|(three, wrap)| {
                fault(&wrap(&two_deep), program).map(|fault| format!("{one} in {two} in {three}: {fault}"))
            });
            Some(inner.into_iter().chain(outer).collect::<Vec<_>>())
        })
        .flatten()
        .collect();
    let count: usize = combinations.iter().map(|(_, two)| holders(two).count()).sum();
    println!("kinds of containers   {:>12}", KINDS.len());
    println!("two deep              {:>12}", combinations.len());
    println!("three deep            {count:>12}");
    for (format, program) in PROGRAMS {
        for (kind, wrap) in KINDS {
            faults.extend(fault(&wrap(program), program).map(|fault| format!("{format} in {kind}: {fault}")));
        }
    }
    println!("formats in each kind  {:>12}", PROGRAMS.len() * KINDS.len());
    faults.extend(by_compressors(program)?);
    println!("not found as expected {:>12}", faults.len());
    faults.iter().take(SHOWN).for_each(|fault| println!("  {fault}"));
    Ok(faults.len() as u64)
}

/// Returns all pairs of kinds of which the second may hold the first.
fn combinations() -> Vec<(&'static str, &'static str)> {
    KINDS.iter().flat_map(|&(one, _)| holders(one).map(move |(two, _)| (one, two))).collect()
}

/// Returns what is wrong with the result for a file that holds one program.
fn fault(file: &[u8], program: &[u8]) -> Option<String> {
    let report = search(file);
    if let Some(message) = report.messages.first() {
        return Some(message.clone());
    }
    match &report.found[..] {
        [found] if found.condition == Condition::Whole && found.data == program => None,
        [found] => Some(format!("{} of {} bytes at {}", found.format, found.data.len(), found.path)),
        found => Some(format!("{} programs", found.len())),
    }
}

/// Searches what the system's compressors make of a program, alone and in a tar archive, and returns what is wrong.
fn by_compressors(program: &[u8]) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut count = 0;
    let mut missing = Vec::new();
    for (kind, name, args) in COMPRESSORS {
        if sh::find(name).is_none() {
            missing.push(kind);
            continue;
        }
        for input in [program.to_vec(), super::samples::tar(&[("m", program)])] {
            let packed = pipe(name, args, &input)?;
            faults.extend(fault(&packed, program).map(|fault| format!("{kind} by {name}: {fault}")));
            count += 1;
        }
    }
    println!("by compressors        {count:>12}");
    if !missing.is_empty() {
        println!("skipped, no program: {}", missing.join("; "));
    }
    Ok(faults)
}

/// Runs a program on some input, and returns its output.
fn pipe(name: &str, args: &[&str], input: &[u8]) -> Result<Vec<u8>> {
    let mut command = Command::new(name);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().with_context(|| format!("can't run {name}"))?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    // A program may write before it has read everything.
    let writer = std::thread::spawn({
        let input = input.to_vec();
        move || stdin.write_all(&input)
    });
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
    anyhow::ensure!(output.status.success(), "{name} {} failed", args.join(" "));
    Ok(output.stdout)
}
