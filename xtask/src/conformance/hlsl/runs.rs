//! `cargo xtask conformance hlsl-run`: runs shaders in the interpreter, and compares with what the decompiler makes of them.
//!
//! Each shader runs on three sets of invented inputs, and so do two other programs, which must write the same:
//!
//! | program | what it checks |
//! |---|---|
//! | simplified | the passes before printing: every bit must be the same |
//! | recompiled | text and all, if UNSHADE_HLSL_ORACLE has the compilers: floats may differ a little |
//!
//! Shaders are those of `conformance hlsl`. Differences are listed; `--failures DIR` keeps their texts.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::decompiler::ir::shader::interface::ShaderProgram;
use unshade::decompiler::shader::simplify_all;
use unshade::dxcontainer::Container;
use unshade::hlsl::target::Encoding;
use unshade_emulate::shader::{Fault, Inputs, Limits, Outputs, Reason, run as interpret};

use super::input::{self, Shader};
use super::oracle::{Oracle, Outcome};
use super::recompile::{self, Hlsl};
use super::{Options, decompiled};
use crate::sh;

/// Sets of invented inputs.
const SEEDS: [u64; 3] = [0, 1, 2];

/// The limits of a run. Loops whose ends come from inputs may take long.
const LIMITS: Limits = Limits { steps: 2_000_000, memory: 512 << 20, depth: 1024 };

/// Why there is no recompiled program.
const NOT_COMPILED: [&str; 2] = ["the text does not compile", "the text does not express everything"];

/// What became of two programs on the same inputs.
enum Verdict {
    /// The original does not run, for this reason.
    NotRun(String),
    /// Only the other one does not.
    OtherNotRun(String),
    Equal,
    /// Floats differ by so many units of the last place at most.
    Near(u64),
    Different(Vec<String>),
}

/// A shader, and what became of it.
struct Record {
    shader: Shader,
    hlsl: Option<Hlsl>,
    simplified: Verdict,
    recompiled: Option<Verdict>,
}

pub(in crate::conformance) fn run(options: &Options<'_>) -> Result<()> {
    let oracle = Oracle::find()?;
    let inputs = input::collect(options.folders)?;
    inputs.print();
    let shaders = inputs.shaders.into_iter().filter(|shader| shader.target.encoding != Encoding::Direct3d9);
    let shaders: Vec<Shader> = shaders.step_by(options.sample.unwrap_or(1).max(1)).collect();
    let mut records: Vec<Record> = shaders.into_par_iter().map(record).collect();
    if let Some(oracle) = &oracle {
        recompiled(oracle, &mut records)?;
    }
    print(&records);
    if let Some(folder) = options.failures {
        write_failures(&records, folder)?;
    }
    let is_wrong =
        |record: &&Record| matches!(record.simplified, Verdict::Different(_) | Verdict::OtherNotRun(_));
    let wrong = records.iter().filter(is_wrong).count();
    ensure!(wrong == 0, "the passes change what {wrong} shaders write");
    Ok(())
}

fn lift(data: &[u8]) -> Result<ShaderProgram, String> {
    let container = Container::parse(data).map_err(|error| error.to_string())?;
    unshade::hlsl::lift(&container).map_err(|error| error.to_string())
}

/// Runs a shader before and after the passes.
fn record(shader: Shader) -> Record {
    let simplified = caught(|| match lift(&shader.data) {
        Ok(program) => {
            let mut simplified = program.clone();
            simplify_all(&mut simplified);
            compare(&program, &simplified)
        }
        Err(reason) => Verdict::NotRun(format!("not lifted: {reason}")),
    });
    let is_run = !matches!(simplified, Verdict::NotRun(_));
    let hlsl =
        is_run.then(|| catch_unwind(AssertUnwindSafe(|| decompiled::decompile(&shader).ok())).ok()).flatten();
    Record { shader, hlsl: hlsl.flatten(), simplified, recompiled: None }
}

fn caught(body: impl FnOnce() -> Verdict) -> Verdict {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Verdict::Different(vec!["a panic".into()]))
}

/// Runs two programs on the same inputs.
fn compare(program: &ShaderProgram, other: &ShaderProgram) -> Verdict {
    let mut largest = 0;
    for seed in SEEDS {
        let inputs = Inputs::generated(program, seed);
        let outputs = match interpret(program, &inputs, LIMITS) {
            Ok(outputs) => outputs,
            Err(fault) => return Verdict::NotRun(cause(&fault)),
        };
        let others = match interpret(other, &inputs, LIMITS) {
            Ok(outputs) => outputs,
            Err(fault) => return Verdict::OtherNotRun(cause(&fault)),
        };
        let found = outputs.compare(&others);
        if !found.is_near() {
            return Verdict::Different(described(seed, &outputs, found.different, found.differences));
        }
        if !found.is_equal() {
            largest = largest.max(found.largest_distance);
        }
    }
    if largest == 0 { Verdict::Equal } else { Verdict::Near(largest) }
}

fn described(seed: u64, outputs: &Outputs, count: usize, differences: Vec<String>) -> Vec<String> {
    let lanes = outputs.lanes.len();
    let mut all = vec![format!("inputs {seed}: {count} differences, {lanes} lanes")];
    all.extend(differences);
    all
}

/// Returns the reason of a fault without numbers.
fn cause(fault: &Fault) -> String {
    match &fault.reason {
        Reason::Unlifted(note) => {
            format!("not lifted: {}", note.split_whitespace().next().unwrap_or_default())
        }
        Reason::Function(_) => "a function that is elsewhere".into(),
        reason => reason.to_string(),
    }
}

/// Compiles the texts, and runs what comes of it.
fn recompiled(oracle: &Oracle, records: &mut [Record]) -> Result<()> {
    let folder = sh::temporary("texts");
    std::fs::create_dir_all(&folder)?;
    let mut jobs = Vec::new();
    let mut of_records = Vec::new();
    for (number, record) in records.iter_mut().enumerate() {
        let Some(hlsl) = &record.hlsl else { continue };
        if !oracle.has(recompile::compiler(&record.shader.target).0) {
            continue;
        }
        // What has no form in HLSL can't do the same.
        if hlsl.unknown > 0 {
            record.recompiled = Some(Verdict::OtherNotRun(NOT_COMPILED[1].into()));
            continue;
        }
        let file = folder.join(format!("{number}.hlsl"));
        std::fs::write(&file, &hlsl.text)?;
        jobs.push(recompile::job(&record.shader.target, hlsl, file, 0));
        of_records.push(number);
    }
    let outcomes = oracle.compile(&jobs)?;
    std::fs::remove_dir_all(&folder)?;
    let verdicts: Vec<Verdict> = of_records
        .par_iter()
        .zip(outcomes)
        .map(|(&number, outcome)| verdict(&records[number].shader, outcome))
        .collect();
    for (number, verdict) in of_records.into_iter().zip(verdicts) {
        records[number].recompiled = Some(verdict);
    }
    Ok(())
}

fn verdict(shader: &Shader, outcome: Outcome) -> Verdict {
    let Outcome::Compiled(data) = outcome else { return Verdict::OtherNotRun(NOT_COMPILED[0].into()) };
    caught(|| match (lift(&shader.data), lift(&data)) {
        (Ok(program), Ok(other)) => compare(&program, &other),
        (Err(reason), _) => Verdict::NotRun(format!("not lifted: {reason}")),
        (_, Err(reason)) => Verdict::OtherNotRun(format!("not lifted: {reason}")),
    })
}

/// The counts of a row.
#[derive(Default)]
struct Counts {
    all: usize,
    run: usize,
    simplified: [usize; 3],
    compiled: usize,
    recompiled: [usize; 4],
    largest: u64,
}

impl Counts {
    fn add(&mut self, record: &Record) {
        self.all += 1;
        match &record.simplified {
            Verdict::NotRun(_) => return,
            Verdict::Equal => self.simplified[0] += 1,
            Verdict::Near(_) => self.simplified[1] += 1,
            Verdict::Different(_) | Verdict::OtherNotRun(_) => self.simplified[2] += 1,
        }
        self.run += 1;
        let Some(verdict) = &record.recompiled else { return };
        match verdict {
            Verdict::OtherNotRun(reason) if NOT_COMPILED.contains(&reason.as_str()) => return,
            Verdict::Equal => self.recompiled[0] += 1,
            Verdict::Near(distance) => {
                self.recompiled[1] += 1;
                self.largest = self.largest.max(*distance);
            }
            Verdict::Different(_) => self.recompiled[2] += 1,
            _ => self.recompiled[3] += 1,
        }
        self.compiled += 1;
    }

    fn print(&self, name: &str) {
        let [same, near, different] = self.simplified;
        let [equal, close, other, not_run] = self.recompiled;
        println!(
            "{name:24} {:6} {:6} | {same:6} {near:5} {different:5} | {:6} {equal:6} {close:5} {other:5} {not_run:5} {:6}",
            self.all, self.run, self.compiled, self.largest
        );
    }
}

fn print(records: &[Record]) {
    println!("\n{:24} {:>6} {:>6} | simplified: {:>13} | recompiled:", "", "", "", "");
    println!(
        "{:24} {:>6} {:>6} | {:>6} {:>5} {:>5} | {:>6} {:>6} {:>5} {:>5} {:>5} {:>6}",
        "set, stage", "all", "run", "equal", "near", "diff", "comp", "equal", "near", "diff", "not", "ulps"
    );
    let mut rows: BTreeMap<String, Counts> = BTreeMap::new();
    let mut total = Counts::default();
    for record in records {
        let stage = record.shader.target.profile.split('_').next().unwrap_or_default();
        rows.entry(format!("{} {stage}", record.shader.set)).or_default().add(record);
        total.add(record);
    }
    for (name, counts) in &rows {
        counts.print(name);
    }
    total.print("total");
    causes(
        "not run",
        records.iter().filter_map(|record| match &record.simplified {
            Verdict::NotRun(cause) => Some(cause),
            _ => None,
        }),
    );
    causes(
        "recompiled, and not run",
        records.iter().filter_map(|record| match &record.recompiled {
            Some(Verdict::OtherNotRun(cause)) => Some(cause),
            _ => None,
        }),
    );
    println!("\ndifferences:");
    for record in records {
        let name = format!("{}/{}", record.shader.set, record.shader.name);
        for (what, verdict) in
            [("simplified", Some(&record.simplified)), ("recompiled", record.recompiled.as_ref())]
        {
            match verdict {
                Some(Verdict::Different(all)) => println!("  {name}: {what}: {}", first(all)),
                Some(Verdict::OtherNotRun(reason)) if what == "simplified" => {
                    println!("  {name}: {what}: {reason}");
                }
                _ => {}
            }
        }
    }
}

/// Returns the first lines of a description.
fn first(lines: &[String]) -> String {
    let shown: Vec<&str> = lines.iter().take(3).map(String::as_str).collect();
    let mut text = shown.join("; ");
    if let Some((at, _)) = text.char_indices().nth(300) {
        text.truncate(at);
    }
    text
}

fn causes<'r>(title: &str, all: impl Iterator<Item = &'r String>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for cause in all {
        *counts.entry(cause).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(cause, count)| (std::cmp::Reverse(*count), *cause));
    println!("\n{title}:");
    for (cause, count) in counts {
        println!("  {count:6} {cause}");
    }
}

/// Keeps the texts of shaders that differ, with the differences as comments.
fn write_failures(records: &[Record], folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for record in records {
        for (what, verdict) in
            [("simplified", Some(&record.simplified)), ("recompiled", record.recompiled.as_ref())]
        {
            let Some(Verdict::Different(lines)) = verdict else { continue };
            let mut text = format!("// {}\n", record.shader.path.display());
            for line in lines {
                text.push_str(&format!("// {}\n", line.replace('\n', " ")));
            }
            text.push_str(record.hlsl.as_ref().map_or("", |hlsl| hlsl.text.as_str()));
            let name = record.shader.name.replace('/', "_");
            std::fs::write(folder.join(format!("{name}.{what}.hlsl")), text)?;
        }
    }
    Ok(())
}
