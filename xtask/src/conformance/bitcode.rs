//! LLVM bitcode: our text beside that of `llvm-dis` and of DXC, byte by byte.
//!
//! AIR modules come from every library that was carved and from `metallib/` of UNSHADE_CORPUS, and go through
//! `llvm-dis-14` and `llvm-dis-19` where those are installed. DXIL comes from the containers in `dx/` of
//! UNSHADE_CORPUS, found by the part directory alone, with DXC's text beside them; the tables of comments that DXC
//! puts before a module are left out on both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::llvm::Module;
use unshade::llvm::print::{Dialect, PrintOptions, module};
use unshade::metallib::Library;

use super::metallib;
use crate::sh;

/// A module that is compared, and where it is from.
struct Input {
    name: String,
    bytes: Vec<u8>,
}

enum Outcome {
    Identical,
    /// The other program does not read it.
    Refused,
    /// The other program warns: it leaves out what it finds wrong, and we do not.
    Warned,
    /// The first line that differs: theirs, then ours.
    Different(String, String),
}

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let mut faults = 0;
    let modules = air_modules(sample)?;
    println!("AIR modules: {}, by content", modules.len());
    for (program, dialect) in [("llvm-dis-14", Dialect::Llvm14), ("llvm-dis-19", Dialect::Llvm19)] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: {program} is not installed");
            continue;
        }
        let compare = |input: &Input| {
            let outcome = beside_program(program, dialect, &input.bytes);
            outcome.map(|outcome| (input.name.clone(), outcome)).with_context(|| input.name.clone())
        };
        faults += report(program, modules.par_iter().map(compare).collect::<Result<_>>()?);
    }
    match sh::env_path("UNSHADE_CORPUS") {
        Some(corpus) => {
            let mut containers = Vec::new();
            find_containers(&corpus.join("dx"), &mut containers)?;
            let compare = |path: &PathBuf| beside_dxc(path).with_context(|| path.display().to_string());
            faults += report("DXC", containers.par_iter().map(compare).collect::<Result<_>>()?);
        }
        None => println!("skipped: UNSHADE_CORPUS is not set, so there is no DXIL"),
    }
    ensure!(faults == 0, "{faults} modules differ");
    Ok(())
}

/// The modules of all libraries, each once. A sample takes those whose hashes come first, which is as good as any.
fn air_modules(sample: Option<usize>) -> Result<Vec<Input>> {
    let mut modules = BTreeMap::new();
    for path in metallib::collect()? {
        let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let Ok(library) = Library::parse(&data) else { continue };
        for function in library.functions().map_while(Result::ok) {
            let Ok(Some(found)) = library.module(&function) else { continue };
            let name = format!("{} of {}", function.label(), path.display());
            modules.entry(found.sha256()).or_insert_with(|| Input { name, bytes: found.bytes().to_vec() });
            // So that a sample of a large corpus does not need all of it in memory.
            if sample.is_some_and(|sample| modules.len() > sample) {
                modules.pop_last();
            }
        }
    }
    Ok(modules.into_values().collect())
}

fn beside_program(program: &str, dialect: Dialect, bytes: &[u8]) -> Result<Outcome> {
    let mut child = Command::new(program)
        .args(["-", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    let output = std::thread::scope(|scope| {
        // A program that refuses its input does not read all of it.
        scope.spawn(move || stdin.write_all(bytes));
        child.wait_with_output()
    })?;
    if !output.status.success() {
        return Ok(Outcome::Refused);
    }
    if !output.stderr.is_empty() {
        return Ok(Outcome::Warned);
    }
    Ok(compare(&print(bytes, dialect, Some("<stdin>"))?, &String::from_utf8_lossy(&output.stdout)))
}

fn print(bytes: &[u8], dialect: Dialect, module_id: Option<&str>) -> Result<String> {
    let parsed = Module::parse(bytes, 0)?;
    let mut text = String::new();
    module(&parsed, &PrintOptions { dialect, module_id }, &mut text);
    Ok(text)
}

fn compare(ours: &str, theirs: &str) -> Outcome {
    if ours == theirs {
        return Outcome::Identical;
    }
    let mut pairs = theirs.lines().zip(ours.lines());
    match pairs.find(|(theirs, ours)| theirs != ours) {
        Some((theirs, ours)) => Outcome::Different(theirs.to_owned(), ours.to_owned()),
        None => Outcome::Different("(another length)".to_owned(), "(another length)".to_owned()),
    }
}

/// The containers with DXC's text beside them.
fn find_containers(folder: &Path, containers: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            find_containers(&path, containers)?;
        } else if dxc_text(&path).exists() {
            containers.push(path);
        }
    }
    containers.sort();
    Ok(())
}

/// Where DXC's text of a container is.
fn dxc_text(container: &Path) -> PathBuf {
    let mut name = container.as_os_str().to_owned();
    name.push(".dxc.ll");
    name.into()
}

fn beside_dxc(path: &Path) -> Result<(String, Outcome)> {
    let name = path.display().to_string();
    let container = fs::read(path)?;
    let theirs = fs::read_to_string(dxc_text(path))?;
    let Some(bitcode) = dxil_part(&container) else { return Ok((name, Outcome::Refused)) };
    let ours = print(bitcode, Dialect::Dxc, None)?;
    Ok((name, compare(without_tables(&ours), without_tables(&theirs))))
}

/// The bitcode that DXC disassembles: that of ILDB, which has debug information, or of DXIL.
fn dxil_part(container: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| Some(u32::from_le_bytes(*container.get(at..)?.first_chunk()?) as usize);
    let part = |wanted: &[u8]| {
        (0..word(28)?).find_map(|index| {
            let start = word(32 + 4 * index)?;
            let data = container.get(start + 8..)?.get(..word(start + 4)?)?;
            (container.get(start..start + 4)? == wanted).then_some((start + 8, data))
        })
    };
    let (start, data) = part(b"ILDB").or_else(|| part(b"DXIL"))?;
    // The program header has 8 bytes; offset and size of the bitcode stand in the bitcode header behind it.
    data.get(8 + word(start + 16)?..)?.get(..word(start + 20)?)
}

/// A text without the comments and blank lines before its first other line.
fn without_tables(text: &str) -> &str {
    let head = text.split_inclusive('\n').take_while(|line| line.starts_with(';') || line.trim().is_empty());
    text.get(head.map(str::len).sum()..).unwrap_or_default()
}

/// Prints the counts and what differs, by its first line; returns how many modules differ.
fn report(program: &str, outcomes: Vec<(String, Outcome)>) -> usize {
    let (mut identical, mut refused, mut warned) = (0, 0, 0);
    let mut different = BTreeMap::<String, BTreeSet<String>>::new();
    for (name, outcome) in outcomes {
        match outcome {
            Outcome::Identical => identical += 1,
            Outcome::Refused => refused += 1,
            Outcome::Warned => warned += 1,
            Outcome::Different(theirs, ours) => {
                let cause = format!("{theirs}\n    ours: {ours}");
                different.entry(cause).or_default().insert(name);
            }
        }
    }
    let count: usize = different.values().map(BTreeSet::len).sum();
    println!(
        "{program:<12} identical {identical:>7}   different {count}   with a warning {warned}   refused {refused}"
    );
    for (cause, names) in different.iter().take(20) {
        println!(
            "  {} modules, such as {}:\n    theirs: {cause}",
            names.len(),
            names.first().map_or("", |name| name)
        );
    }
    count
}
