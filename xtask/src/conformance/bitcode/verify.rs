//! Verifies every module of all sets, and LLVM's own tests of its verifier: `opt` is asked about each.
//!
//! A real module with an error must be one that `opt` refuses. Of LLVM's tests, in `llvm/test/Verifier`, every module that
//! `opt` refuses must have a finding, and every other one no error. A test is assembled without verification; what
//! `llvm-as` can't assemble is counted and left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::llvm::verify;

use super::{Input, for_all_sets, llvm_tests};
use crate::sh;

/// Maximum number of printed faults per set.
const SHOWN_FAULTS: usize = 10;

/// The part of the tests that `opt` refuses that must have a finding, in per cent.
const REFUSED: usize = 95;

const VERSIONS: [&str; 2] = ["14", "19"];

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let mut faults = 0;
    let set = |name: &str, inputs: &[Input]| -> Result<()> {
        let counts =
            inputs.par_iter().map(Counts::of).try_reduce(Counts::default, |one, other| Ok(one.add(other)))?;
        counts.print(name);
        faults += counts.faults.len();
        Ok(())
    };
    for_all_sets(sample, set)?;
    let mut missed = false;
    for version in VERSIONS {
        missed |= !tests_of_verifier(version, &mut faults)?;
    }
    ensure!(faults == 0, "{faults} faults");
    ensure!(!missed, "less than {REFUSED} % of the tests that opt refuses have a finding");
    Ok(())
}

/// What `opt` says of a module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Takes,
    /// It drops the debug information.
    Drops,
    Refuses,
    /// It is not installed.
    Unknown,
}

/// Asks `opt` of a version about a module. Debug information that the module does not mark with a version is kept.
fn ask(version: &str, module: &Path) -> Result<Answer> {
    let Some(program) = sh::find(&format!("opt-{version}")) else { return Ok(Answer::Unknown) };
    let output = Command::new(program).args(["-passes=verify", "-disable-output"]).arg(module).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(if !output.status.success() {
        Answer::Refuses
    } else if text.contains("ignoring invalid debug info") {
        Answer::Drops
    } else {
        Answer::Takes
    })
}

/// Asks `opt` about bytes.
fn ask_about(version: &str, bytes: &[u8]) -> Result<Answer> {
    let path = sh::temporary("bc");
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    let answer = ask(version, &path);
    let _ = fs::remove_file(&path);
    answer
}

/// The counts for some modules.
#[derive(Default)]
struct Counts {
    files: u64,
    bytes: u64,
    clean: u64,
    /// Modules with an error that `opt` refuses, too.
    refused: u64,
    /// Modules with warnings only.
    warned: u64,
    faults: Vec<String>,
}

impl Counts {
    fn of(input: &Input) -> Result<Self> {
        let bytes = input.bytes()?;
        let findings = verify::bitcode(Reader::new(&bytes));
        let mut counts = Self { files: 1, bytes: bytes.len() as u64, ..Self::default() };
        if findings.is_empty() {
            counts.clean = 1;
        } else if !findings.has_errors() {
            counts.warned = 1;
        // An empty file is an empty text to opt, not a module.
        } else if bytes.is_empty() || is_refused(&bytes)? {
            counts.refused = 1;
        } else {
            counts.faults.push(format!("{}: {}", input.name, first(&findings)));
        }
        Ok(counts)
    }

    fn add(mut self, other: Self) -> Self {
        let sums = [
            (&mut self.files, other.files),
            (&mut self.bytes, other.bytes),
            (&mut self.clean, other.clean),
            (&mut self.refused, other.refused),
            (&mut self.warned, other.warned),
        ];
        for (sum, addend) in sums {
            *sum += addend;
        }
        self.faults.extend(other.faults);
        self
    }

    fn print(&self, set: &str) {
        let Self { files, clean, refused, warned, .. } = self;
        println!("{set}: {files} files, {}", sh::megabytes(self.bytes));
        println!("  without findings {clean}, with warnings {warned}, refused by opt as well {refused}");
        self.faults.iter().take(SHOWN_FAULTS).for_each(|fault| println!("  fault: {fault}"));
    }
}

/// Returns whether one of the versions of `opt` refuses a module.
fn is_refused(bytes: &[u8]) -> Result<bool> {
    for version in VERSIONS {
        if ask_about(version, bytes)? == Answer::Refuses {
            return Ok(true);
        }
    }
    Ok(false)
}

fn first(findings: &Diagnostics) -> String {
    findings.iter().next().map(|finding| format!("{} [{}]", finding.error, finding.rule)).unwrap_or_default()
}

/// Verifies LLVM's tests of its verifier; returns whether enough of those that `opt` refuses have a finding.
fn tests_of_verifier(version: &str, faults: &mut usize) -> Result<bool> {
    let cases = cases(version)?;
    if cases.is_empty() || sh::find(&format!("opt-{version}")).is_none() {
        println!("skipped: the tests of LLVM {version}'s verifier, or llvm-as-{version} and opt-{version}");
        return Ok(true);
    }
    let outcomes: Vec<Option<Outcome>> =
        cases.par_iter().map(|(name, text)| outcome(version, name, text)).collect::<Result<_>>()?;
    let assembled: Vec<&Outcome> = outcomes.iter().flatten().collect();
    let (refused, rest): (Vec<&Outcome>, Vec<&Outcome>) =
        assembled.iter().partition(|outcome| matches!(outcome.answer, Answer::Refuses | Answer::Drops));
    let (found, missed): (Vec<&Outcome>, Vec<&Outcome>) =
        refused.iter().partition(|outcome| !outcome.findings.is_empty());
    let (wrong, right): (Vec<&Outcome>, Vec<&Outcome>) =
        rest.iter().partition(|outcome| outcome.findings.has_errors());
    println!("tests of LLVM {version}'s verifier: {} of {} assembled", assembled.len(), cases.len());
    println!("  refused by opt {}, of these with a finding {}", refused.len(), found.len());
    println!("  taken by opt {}, of these without an error {}", rest.len(), right.len());
    missed.iter().for_each(|outcome| println!("  missed: {}", outcome.name));
    wrong.iter().for_each(|outcome| println!("  fault: {}: {}", outcome.name, first(&outcome.findings)));
    *faults += wrong.len();
    Ok(found.len() * 100 >= REFUSED * refused.len())
}

/// What `opt` and unshade say of a test.
struct Outcome {
    name: String,
    answer: Answer,
    findings: Diagnostics,
}

/// Assembles a test and verifies it; none if it can't be assembled.
fn outcome(version: &str, name: &str, text: &str) -> Result<Option<Outcome>> {
    let source = sh::temporary("ll");
    let module = source.with_extension("bc");
    fs::write(&source, text).with_context(|| format!("cannot write {}", source.display()))?;
    let mut assembler = Command::new(format!("llvm-as-{version}"));
    assembler.arg("-disable-verify").arg(&source).arg("-o").arg(&module);
    if version != "14" {
        assembler.arg("-disable-auto-upgrade-debug-info");
    }
    let assembled = assembler.output().is_ok_and(|output| output.status.success());
    let outcome = if assembled {
        let bytes = fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?;
        let answer = ask(version, &module)?;
        Some(Outcome { name: name.to_owned(), answer, findings: verify::bitcode(Reader::new(&bytes)) })
    } else {
        None
    };
    let _ = (fs::remove_file(&source), fs::remove_file(&module));
    Ok(outcome)
}

/// Returns the tests by name. A file that is several tests is split as its `RUN` lines say: by `;---` lines, or by
/// expressions of `sed` that enable some of its lines.
fn cases(version: &str) -> Result<BTreeMap<String, String>> {
    let mut cases = BTreeMap::new();
    for (name, path) in llvm_tests::of_verifier(version)? {
        let text = read_text(&path)?;
        let edits = edits(&text);
        let parts = llvm_tests::parts(text.as_bytes());
        if !parts.is_empty() {
            for (part, content) in parts {
                cases.insert(format!("{name}@{part}"), String::from_utf8_lossy(&content).into_owned());
            }
        } else if edits.is_empty() {
            cases.insert(name, text);
        } else {
            for prefix in edits {
                let enabled = text.lines().map(|line| line.strip_prefix(&prefix).unwrap_or(line));
                let content = enabled.collect::<Vec<_>>().join("\n");
                cases.insert(format!("{name}@{prefix}"), content);
            }
        }
    }
    Ok(cases)
}

fn read_text(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the beginnings of lines that `sed -e s/.T1://` in a test removes: `;T1:`.
fn edits(text: &str) -> Vec<String> {
    let runs = text.lines().filter(|line| line.contains("RUN:"));
    let of_line = |line: &str| {
        let expressions = line.split_whitespace().filter_map(|word| {
            let pattern = word.trim_matches('\'').strip_prefix("s/.")?.strip_suffix("//")?;
            Some(format!(";{pattern}"))
        });
        expressions.collect::<Vec<_>>()
    };
    let mut edits: Vec<String> = runs.flat_map(of_line).collect();
    edits.sort();
    edits.dedup();
    edits
}
