//! `cargo xtask conformance hlsl-vulkan`: runs compute shaders and what DXC makes of their decompiled texts on Mesa's
//! lavapipe, and compares what they write.
//!
//! No code of ours takes part but the decompiler: dxil-spirv translates the original to SPIR-V, and DXC the text. Both run
//! on three sets of invented inputs: constant buffers, buffers, images. What is written must have the same bits; floats that
//! differ by a little are counted apart.
//!
//! | column | counts |
//! |---|---|
//! | whole | texts that express everything |
//! | SPIR-V | originals that dxil-spirv translates, whose text DXC translates |
//! | same, near, diff | pairs that write the same, nearly the same floats, something else |
//! | none | pairs that write nothing |
//! | not | originals that the driver can't run, and recompiled shaders that it can't |
//!
//! Shaders are those of `conformance hlsl`; [`tools`] describes what is needed. Differences are listed; `--failures DIR`
//! keeps their texts.

pub(super) mod tools;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::hlsl::target::Encoding;

use self::tools::Tools;
use super::super::batch::{self, Outcome};
use super::input::{self, Shader};
use super::oracle::{self, Compiler, Job, Oracle};
use super::recompile::Hlsl;
use super::{Options, decompiled};
use crate::sh;

/// The compiler of the texts: the newest whose DLL writes SPIR-V.
const COMPILER: Compiler = Compiler::Dxc19;

/// Its options. Classes of resources have the bindings that `translate.rs` gives them.
const SPIRV: [&str; 15] = [
    "-spirv",
    "-fspv-target-env=vulkan1.3",
    "-fspv-reflect",
    "-fvk-use-dx-layout",
    "-fvk-auto-shift-bindings",
    "-fvk-t-shift",
    "1000",
    "all",
    "-fvk-s-shift",
    "2000",
    "all",
    "-fvk-u-shift",
    "3000",
    "all",
    "-Wno-everything",
];

/// A shader, and what became of it.
struct Record {
    shader: Shader,
    hlsl: Option<Hlsl>,
    verdict: Verdict,
}

/// What became of a shader.
enum Verdict {
    NotWhole,
    /// There is no SPIR-V, for this reason.
    NotTranslated(String),
    Same,
    /// Floats differ by so many units of the last place at most.
    Near(u64),
    Different(String),
    Unwritten,
    /// The original does not run, for this reason.
    NotRun(String),
    /// Only the recompiled one does not.
    OtherNotRun(String),
}

pub(in crate::conformance) fn run(options: &Options<'_>) -> Result<()> {
    let (Some(oracle), Some(tools)) = (Oracle::find()?, Tools::find()?) else { return Ok(()) };
    if !oracle.has(COMPILER) {
        println!("skipped: {} is missing", COMPILER.name());
        return Ok(());
    }
    let shaders = input::collect(options.folders)?.shaders.into_iter();
    let shaders = shaders.filter(|shader| shader.target.profile.starts_with("cs_"));
    let shaders: Vec<Shader> = shaders.step_by(options.sample.unwrap_or(1).max(1)).collect();
    let mut records: Vec<Record> = shaders
        .into_par_iter()
        .map(|shader| {
            let hlsl = decompiled::decompile(&shader).ok().filter(|hlsl| hlsl.unknown == 0);
            Record { shader, hlsl, verdict: Verdict::NotWhole }
        })
        .collect();
    let folder = sh::temporary("vulkan");
    std::fs::create_dir_all(&folder)?;
    let pairs = translate(&oracle, &tools, &mut records, &folder)?;
    let files: Vec<(PathBuf, PathBuf)> =
        pairs.iter().map(|&number| (original(&folder, number), recompiled(&folder, number))).collect();
    let outcomes = batch::run(|| tools.driver(), &[], &files, &folder)?;
    for (number, outcome) in pairs.into_iter().zip(outcomes) {
        records[number].verdict = verdict(outcome)?;
    }
    std::fs::remove_dir_all(&folder)?;
    print(&records);
    if let Some(folder) = options.failures {
        write_failures(&records, folder)?;
    }
    Ok(())
}

fn original(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.original.spv"))
}

fn recompiled(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.recompiled.spv"))
}

/// Writes both shaders as SPIR-V, and returns the numbers of the records that have both.
fn translate(oracle: &Oracle, tools: &Tools, records: &mut [Record], folder: &Path) -> Result<Vec<usize>> {
    let whole: Vec<usize> = (0..records.len()).filter(|&number| records[number].hlsl.is_some()).collect();
    let mut jobs = Vec::new();
    let mut files = Vec::new();
    for &number in &whole {
        let container = folder.join(format!("{number}.container"));
        std::fs::write(&container, &records[number].shader.data)?;
        files.push((container, original(folder, number)));
        let source = folder.join(format!("{number}.hlsl"));
        jobs.extend(job(&records[number], source)?);
    }
    let translated = batch::run(|| std::process::Command::new(&tools.translator), &[], &files, folder)?;
    let mut pairs = Vec::new();
    for ((number, translated), compiled) in whole.into_iter().zip(translated).zip(oracle.compile(&jobs)?) {
        let reason = match (translated, compiled) {
            (Outcome::Said(said), _) if said != "ok" => "original: refused by dxil-spirv".to_owned(),
            (Outcome::Crashed | Outcome::TimedOut, _) => "original: dxil-spirv crashes".to_owned(),
            (_, oracle::Outcome::Compiled(code)) => {
                std::fs::write(recompiled(folder, number), code)?;
                pairs.push(number);
                continue;
            }
            (_, oracle::Outcome::Refused(messages)) => format!("text: {}", first_error(&messages)),
            (_, oracle::Outcome::Crashed | oracle::Outcome::TimedOut) => "text: DXC crashes".to_owned(),
        };
        records[number].verdict = Verdict::NotTranslated(reason);
    }
    Ok(pairs)
}

/// Writes a text, and returns the job that translates it.
fn job(record: &Record, source: PathBuf) -> Result<Option<Job>> {
    let Some(hlsl) = &record.hlsl else { return Ok(None) };
    std::fs::write(&source, &hlsl.text)?;
    let target = &record.shader.target;
    let is_dxil = target.encoding == Encoding::Dxil;
    let mut options: Vec<String> = SPIRV.map(str::to_owned).into();
    if is_dxil {
        options.extend(target.dxc_options().into_iter().map(str::to_owned));
        options.extend(hlsl.options.iter().cloned());
    } else {
        // Operators on vectors, as FXC has them.
        options.extend(["-HV", "2018"].map(str::to_owned));
    }
    let profile = if is_dxil { hlsl.profile.clone() } else { "cs_6_0".into() };
    Ok(Some(Job { compiler: COMPILER, source, profile, entry: hlsl.entry.clone(), flags: 0, options }))
}

/// Returns the first error of DXC without names and numbers, so that the same ones are counted together.
fn first_error(messages: &str) -> String {
    let line = messages.lines().find(|line| line.contains("error:")).unwrap_or(messages);
    let message = line.split_once("error:").map_or(line, |(_, message)| message).trim();
    let words =
        message.split('\'').enumerate().map(|(number, text)| if number % 2 == 1 { "_" } else { text });
    words.collect::<Vec<_>>().join("'")
}

/// Reads what the driver says of a pair.
fn verdict(outcome: Outcome) -> Result<Verdict> {
    let said = match outcome {
        Outcome::Said(said) => said,
        Outcome::Crashed => return Ok(Verdict::NotRun("the driver crashes".into())),
        Outcome::TimedOut => return Ok(Verdict::NotRun("a shader does not end".into())),
    };
    let result: serde_json::Value = serde_json::from_str(&said).context(said)?;
    let reason = result["reason"].as_str().unwrap_or_default().to_owned();
    Ok(match result["verdict"].as_str().unwrap_or_default() {
        "same" => Verdict::Same,
        "near" => Verdict::Near(result["largest"].as_u64().unwrap_or_default()),
        "unwritten" => Verdict::Unwritten,
        "unsupported" => Verdict::NotRun(reason),
        "refused" => Verdict::OtherNotRun(reason),
        _ => {
            let [written, differing] =
                ["written", "differing"].map(|name| result[name].as_u64().unwrap_or(0));
            Verdict::Different(format!("{differing} words differ, {written} are written: {reason}"))
        }
    })
}

/// The counts of a row.
#[derive(Default)]
struct Counts {
    all: usize,
    whole: usize,
    translated: usize,
    verdicts: [usize; 6],
    largest: u64,
}

impl Counts {
    fn add(&mut self, record: &Record) {
        self.all += 1;
        self.whole += usize::from(!matches!(record.verdict, Verdict::NotWhole));
        let column = match &record.verdict {
            Verdict::NotWhole | Verdict::NotTranslated(_) => return,
            Verdict::Same => 0,
            Verdict::Near(distance) => {
                self.largest = self.largest.max(*distance);
                1
            }
            Verdict::Different(_) => 2,
            Verdict::Unwritten => 3,
            Verdict::NotRun(_) => 4,
            Verdict::OtherNotRun(_) => 5,
        };
        self.translated += 1;
        self.verdicts[column] += 1;
    }

    fn print(&self, name: &str) {
        let [same, near, different, unwritten, not_run, other_not_run] = self.verdicts;
        println!(
            "{name:24} {:6} {:6} {:6} | {same:6} {near:6} {different:6} {unwritten:6} | {not_run:6} {other_not_run:6} {:6}",
            self.all, self.whole, self.translated, self.largest
        );
    }
}

fn print(records: &[Record]) {
    println!(
        "\n{:24} {:>6} {:>6} {:>6} | {:>6} {:>6} {:>6} {:>6} | {:>6} {:>6} {:>6}",
        "set", "all", "whole", "SPIR-V", "same", "near", "diff", "none", "not", "other", "ulps"
    );
    let mut rows: BTreeMap<String, Counts> = BTreeMap::new();
    let mut total = Counts::default();
    for record in records {
        let encoding = if record.shader.target.encoding == Encoding::Dxil { "DXIL" } else { "DXBC" };
        rows.entry(format!("{}, {encoding}", record.shader.set)).or_default().add(record);
        total.add(record);
    }
    for (name, counts) in &rows {
        counts.print(name);
    }
    total.print("total");
    causes("no SPIR-V", records, |verdict| match verdict {
        Verdict::NotTranslated(reason) => Some(reason),
        _ => None,
    });
    causes("the original is not run", records, |verdict| match verdict {
        Verdict::NotRun(reason) => Some(reason),
        _ => None,
    });
    causes("only the recompiled one is not run", records, |verdict| match verdict {
        Verdict::OtherNotRun(reason) => Some(reason),
        _ => None,
    });
    println!("\ndifferences:");
    for record in records {
        if let Verdict::Different(text) = &record.verdict {
            println!("  {}/{}: {text}", record.shader.set, record.shader.name);
        }
    }
}

/// Prints how often each reason is given, and a shader with it.
fn causes(title: &str, records: &[Record], reason: impl Fn(&Verdict) -> Option<&String>) {
    let mut causes: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for record in records {
        if let Some(reason) = reason(&record.verdict) {
            causes.entry(reason).or_insert((0, &record.shader.name)).0 += 1;
        }
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(reason, (count, _))| (std::cmp::Reverse(*count), *reason));
    println!("\n{title}:");
    for (reason, (count, name)) in causes {
        println!("  {count:6} {reason} ({name})");
    }
}

/// Keeps the texts of shaders that differ, with the differences as comments.
fn write_failures(records: &[Record], folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for record in records {
        let (Verdict::Different(reason) | Verdict::OtherNotRun(reason) | Verdict::NotTranslated(reason)) =
            &record.verdict
        else {
            continue;
        };
        let text = record.hlsl.as_ref().map_or("", |hlsl| hlsl.text.as_str());
        let text = format!("// {}\n// {reason}\n{text}", record.shader.path.display());
        let name = record.shader.name.replace('/', "_");
        std::fs::write(folder.join(format!("{name}.vulkan.hlsl")), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::first_error;

    #[test]
    fn errors_are_told_apart_without_names() {
        let messages = "a.hlsl:1:2: warning: w\na.hlsl:3:4: error: use of 'x' in 'y'\n  x\n";
        assert_eq!(first_error(messages), "use of '_' in '_'");
        assert_eq!(first_error("nothing"), "nothing");
    }
}
