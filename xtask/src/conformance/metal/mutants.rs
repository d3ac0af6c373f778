//! Changed libraries and modules, through all verbs of the program.
//!
//! A mutant is a real file with some bytes changed, a number replaced by an extreme one, a part removed, repeated, or taken
//! from another file, or without its end. Whatever it is, a verb must end by itself, with one of its exit statuses, in
//! [`TIME_LIMIT`], and with no more memory than twice that of the unchanged file and [`MORE_MEMORY`].
//!
//! A process of ours runs all verbs on one file ([`run_verbs`]), because the system reports the peak memory of any child. The
//! mutants follow from their number, so that a fault is found again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use nix::sys::resource::{Resource, UsageWho, getrusage, setrlimit};
use rayon::prelude::*;

use super::super::metallib::collect;
use super::conclude;
use crate::sh;

/// The verbs, with their options; `IN` and `OUT` are files.
const VERBS: [&[&str]; 12] = [
    &["info", "IN"],
    &["list", "IN"],
    &["show", "IN", "#0"],
    &["verify", "IN"],
    &["dis", "IN"],
    &["dump", "IN"],
    &["check", "IN"],
    &["nm", "IN"],
    &["survey", "IN"],
    &["extract", "IN", "-o", "OUT", "--force"],
    &["link", "IN", "-o", "OUT", "--force"],
    &["edit", "IN", "-o", "OUT", "--force", "--strip-debug", "--os", "macos-14.0"],
];

/// Number of mutants without `--sample`.
const MUTANTS: usize = 2_000;

/// Maximum size of a file that is changed.
const MAX_SIZE: u64 = 128 << 10;

/// Maximum number of files that are changed.
const MAX_FILES: usize = 200;

/// Maximum time that a verb may take. Real files of these sizes take milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Memory that a verb may take for a mutant beyond twice that for the unchanged file.
const MORE_MEMORY: u64 = 64 << 20;

/// Maximum address space of a verb: what asks for more fails, and is a fault.
const MAX_MEMORY: u64 = 4 << 30;

/// Numbers that sizes, counts and offsets become.
const EXTREMES: [u64; 8] = [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x7FFF, 0x0100_0000, u64::MAX];

/// Options of `cargo xtask run-verbs`, which `conformance metal-mutants` uses.
#[derive(clap::Args)]
pub(crate) struct VerbsArgs {
    /// The program.
    program: PathBuf,
    /// The file that verbs read.
    file: PathBuf,
}

/// A file that is changed.
struct Subject {
    name: String,
    bytes: Vec<u8>,
    /// The peak memory of the verbs.
    peak: u64,
}

/// What the verbs did with a file.
struct Outcome {
    peak: u64,
    faults: Vec<String>,
}

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let status = sh::cargo().args(["build", "--release", "--quiet", "--package", "unshade-cli"]).status()?;
    ensure!(status.success(), "building unshade failed");
    let program = sh::target().join("release/unshade");
    let folder = sh::temporary("mutants");
    fs::create_dir_all(&folder)?;
    let result = run_in(&folder, &program, sample.unwrap_or(MUTANTS));
    fs::remove_dir_all(&folder)?;
    result
}

fn run_in(folder: &Path, program: &Path, count: usize) -> Result<()> {
    let files = files()?;
    let subjects = files.par_iter().enumerate().map(|(index, path)| {
        let bytes = fs::read(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let outcome = verbs(&folder.join(format!("subject{index}")), program, &name, &bytes)?;
        Ok((Subject { name, bytes, peak: outcome.peak }, outcome.faults))
    });
    let (subjects, faults): (Vec<_>, Vec<_>) = subjects.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let mut faults: Vec<String> = faults.into_iter().flatten().collect();
    println!("files {}, mutants {count}, runs of the program {}", subjects.len(), count * VERBS.len());
    ensure!(!subjects.is_empty(), "there is no file to change");
    let outcomes = (0..count).into_par_iter().map(|number| {
        let (subject, bytes) = mutant(&subjects, number);
        let name = format!("mutant {number} of {}", subject.name);
        let mut outcome = verbs(&folder.join(number.to_string()), program, &name, &bytes)?;
        let limit = subject.peak * 2 + MORE_MEMORY;
        if outcome.peak > limit {
            let (peak, whole) = (sh::megabytes(outcome.peak), sh::megabytes(subject.peak));
            outcome.faults.push(format!("{name}: takes {peak}, the unchanged file {whole}"));
        }
        Ok((outcome.peak as f64 / subject.peak as f64, outcome.faults))
    });
    let outcomes = outcomes.collect::<Result<Vec<_>>>()?;
    let most = outcomes.iter().map(|(ratio, _)| *ratio).fold(0.0, f64::max);
    println!("highest peak memory, that of the unchanged file is 1: {most:.2}");
    faults.extend(outcomes.into_iter().flat_map(|(_, faults)| faults));
    println!("faults {}", faults.len());
    conclude(&faults)
}

/// Returns libraries of the packages and modules of UNSHADE_CORPUS, of all sizes up to the maximum.
fn files() -> Result<Vec<PathBuf>> {
    let mut files = collect()?;
    if let Some(air) =
        sh::env_path("UNSHADE_CORPUS").map(|corpus| corpus.join("air")).filter(|air| air.is_dir())
    {
        let mut more = Vec::new();
        sh::files_below(&air, &mut more)?;
        let is_read = |path: &PathBuf| {
            path.extension()
                .is_some_and(|extension| ["air", "metallib"].iter().any(|known| extension == *known))
        };
        files.extend(more.into_iter().filter(is_read));
    }
    let mut sized = Vec::new();
    for path in files {
        let size = fs::metadata(&path)?.len();
        if size <= MAX_SIZE {
            sized.push((size, path));
        }
    }
    sized.sort();
    let step = sized.len().div_ceil(MAX_FILES).max(1);
    Ok(sized.into_iter().step_by(step).map(|(_, path)| path).collect())
}

/// Runs all verbs on bytes, in a process of its own.
fn verbs(folder: &Path, program: &Path, name: &str, bytes: &[u8]) -> Result<Outcome> {
    fs::create_dir_all(folder)?;
    let file = folder.join("input");
    fs::write(&file, bytes)?;
    let mut command = Command::new(std::env::current_exe()?);
    let output = sh::capture(command.arg("run-verbs").arg(program).arg(&file))?;
    fs::remove_dir_all(folder)?;
    let text = String::from_utf8(output.stdout)?;
    let (faults, peak) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
    Ok(Outcome {
        peak: peak.parse().context("the process that runs the verbs printed no number")?,
        faults: faults.lines().map(|fault| format!("{name}: {fault}")).collect(),
    })
}

/// Runs all verbs on a file. Prints a line for each fault, then the peak memory.
pub(crate) fn run_verbs(args: &VerbsArgs) -> Result<()> {
    setrlimit(Resource::RLIMIT_AS, MAX_MEMORY, MAX_MEMORY)?;
    for verb in VERBS {
        if let Some(fault) = run_verb(args, verb)? {
            println!("{}: {fault}", verb[0]);
        }
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    // Linux reports kilobytes, macOS bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    println!("{}", u64::try_from(usage.max_rss())? * unit);
    Ok(())
}

/// Runs a verb. Returns what is wrong with how it ended.
fn run_verb(args: &VerbsArgs, verb: &[&str]) -> Result<Option<String>> {
    let out = args.file.with_extension(format!("{}.out", verb[0]));
    let messages = args.file.with_extension("messages");
    let mut command = Command::new(&args.program);
    for argument in verb {
        match *argument {
            "IN" => command.arg(&args.file),
            "OUT" => command.arg(&out),
            other => command.arg(other),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&messages)?);
    let started = Instant::now();
    let mut child = command.spawn().context("the program does not start")?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > TIME_LIMIT {
            child.kill()?;
            child.wait()?;
            return Ok(Some(format!("runs longer than {}", sh::seconds(TIME_LIMIT))));
        }
        sleep(Duration::from_millis(1));
    };
    if status.code().is_some_and(|code| (0..=2).contains(&code)) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&fs::read(&messages)?).into_owned();
    let said = text.lines().find(|line| line.contains("panicked")).or(text.lines().next());
    Ok(Some(format!("{status}: {}", said.unwrap_or_default())))
}

/// A sequence of numbers that follow from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ (number >> 31)
    }

    /// Returns a number below a limit; 0 if that is 0.
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit.max(1) as u64)).unwrap_or_default()
    }

    /// Returns a range in a file of a size, most often a short one.
    fn range(&mut self, size: usize) -> std::ops::Range<usize> {
        let start = self.below(size);
        let longest = if self.below(4) == 0 { size } else { 64 };
        start..start.saturating_add(self.below(longest) + 1).min(size)
    }
}

/// Returns a mutant and the file that it was.
fn mutant(subjects: &[Subject], number: usize) -> (&Subject, Vec<u8>) {
    let subject = &subjects[number % subjects.len()];
    let mut numbers = Numbers(number as u64);
    let other = &subjects[numbers.below(subjects.len())];
    let mut bytes = subject.bytes.clone();
    for _ in 0..=numbers.below(3) {
        change(&mut bytes, &other.bytes, &mut numbers);
    }
    (subject, bytes)
}

/// Changes bytes in one of six ways.
fn change(bytes: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    let range = numbers.range(bytes.len());
    match numbers.below(6) {
        0 => {
            for _ in 0..=numbers.below(8) {
                let at = numbers.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << numbers.below(8);
                }
            }
        }
        1 => {
            let width = [1, 2, 4, 8][numbers.below(4)];
            let number = EXTREMES[numbers.below(EXTREMES.len())].to_le_bytes();
            // Fields are at multiples of their size more often than not.
            let at = range.start / width * width;
            bytes.iter_mut().skip(at).zip(&number[..width]).for_each(|(byte, new)| *byte = *new);
        }
        2 => bytes.truncate(range.start),
        3 => drop(bytes.drain(range)),
        4 => {
            let part = bytes[range.clone()].to_vec();
            bytes.splice(range.start..range.start, part);
        }
        _ => {
            let part = numbers.range(other.len());
            bytes.splice(range, other[part].iter().copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Subject, mutant};

    #[test]
    fn mutants_follow_from_their_number() {
        let subject =
            |name: &str, bytes: &[u8]| Subject { name: name.into(), bytes: bytes.to_vec(), peak: 1 };
        let subjects = [subject("a", &[1; 300]), subject("b", &[2; 5]), subject("empty", &[])];
        let mutants: Vec<_> = (0..600).map(|number| mutant(&subjects, number).1).collect();
        assert!(mutants.iter().step_by(3).filter(|bytes| **bytes != [1; 300]).count() > 150);
        assert_eq!(mutants[7], mutant(&subjects, 7).1);
    }
}
