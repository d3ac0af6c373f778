//! `cargo xtask conformance hlsl`: decompiles shaders to HLSL, compiles the text with Microsoft's compilers, and compares
//! the result with the original.
//!
//! Shaders are those of the corpus, and the containers and `.d3d9` files in folders given with `--packages`. The compilers
//! are described in [`oracle`]. `--sources` measures the comparison itself: it compiles the true sources, where they are
//! there. `--sample N` takes every N-th shader, and `--failures DIR` keeps texts, messages and differences.
//!
//! | column | counts |
//! |---|---|
//! | whole | texts that express everything |
//! | gotos | `goto`s in all texts |
//! | compile | texts that a compiler takes |
//! | signatures … same | what of the program is the original, see [`rung`] |
//! | PSV0 | programs with the same PSV0 |
//! | ratio | the median of instructions in the recompiled program by those in the original |

mod decompiled;
mod input;
pub(super) mod oracle;
pub(super) mod peers;
pub(super) mod readability;
mod recompile;
mod report;
mod rung;
pub(super) mod runs;
mod sources;
pub(super) mod vulkan;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use rayon::prelude::*;

use self::input::Shader;
use self::oracle::{Oracle, Outcome};
use self::recompile::Hlsl;
use self::rung::Rung;
use self::sources::Sources;
use crate::sh;
use unshade::hlsl::compare::{Comparison, compare};

/// What to measure.
pub(super) struct Options<'a> {
    /// More folders of shaders.
    pub(super) folders: &'a [PathBuf],
    /// Take every N-th shader.
    pub(super) sample: Option<usize>,
    /// Compile the true sources.
    pub(super) sources: bool,
    /// The folder for what fails.
    pub(super) failures: Option<&'a Path>,
}

/// What became of a shader.
enum State {
    /// There is no text, for this reason.
    NotDecompiled(String),
    /// Its compiler is not there.
    NoCompiler,
    /// No compiler takes the text, with the messages.
    Refused(String),
    Compiled(Comparison),
    /// The recompiled program can't be compared.
    NotCompared(String),
}

/// A shader, its text, and what became of it.
struct Record {
    shader: Shader,
    hlsl: Option<Hlsl>,
    state: State,
    /// The decompiler panicked.
    panicked: bool,
}

pub(super) fn run(options: &Options<'_>) -> Result<()> {
    let started = Instant::now();
    let oracle = Oracle::find()?;
    let inputs = input::collect(options.folders)?;
    inputs.print();
    let step = options.sample.unwrap_or(1).max(1);
    let shaders: Vec<Shader> = inputs.shaders.into_iter().step_by(step).collect();
    let sources = if options.sources { Some(Sources::read(options.folders)?) } else { None };
    println!("read in {}", sh::seconds(started.elapsed()));
    let started = Instant::now();
    let mut records: Vec<Record> =
        shaders.into_par_iter().filter_map(|shader| decompile(shader, sources.as_ref())).collect();
    println!("{} texts in {}", records.len(), sh::seconds(started.elapsed()));
    let started = Instant::now();
    if let Some(oracle) = &oracle {
        recompile(oracle, &mut records)?;
        println!("compiled in {}", sh::seconds(started.elapsed()));
    }
    report::print(&records);
    if let Some(folder) = options.failures {
        report::write_failures(&records, folder)?;
    }
    let panics = records.iter().filter(|record| record.panicked).count();
    ensure!(panics == 0, "the decompiler panics on {panics} shaders");
    let refused = records.iter().filter(|record| record.is_whole() && record.is_refused()).count();
    ensure!(options.sources || refused == 0, "{refused} texts that express everything do not compile");
    Ok(())
}

impl Record {
    fn is_whole(&self) -> bool {
        self.hlsl.as_ref().is_some_and(|hlsl| hlsl.unknown == 0)
    }

    fn is_refused(&self) -> bool {
        matches!(self.state, State::Refused(_))
    }

    /// Returns whether the recompiled program is the original.
    fn is_same(&self) -> bool {
        matches!(&self.state, State::Compiled(comparison) if comparison.is_same())
    }

    /// Keeps the better of two results.
    fn improve(&mut self, state: State) {
        let reached = |state: &State| match state {
            State::Compiled(comparison) => 2 + Rung::reached(comparison),
            State::NotCompared(_) => 1,
            _ => 0,
        };
        if matches!(self.state, State::NoCompiler) || reached(&state) > reached(&self.state) {
            self.state = state;
        }
    }
}

/// Decompiles a shader, or finds its source; `None` if only sources are wanted, and it has none.
fn decompile(shader: Shader, sources: Option<&Sources>) -> Option<Record> {
    let mut panicked = false;
    let decompiled = match sources {
        Some(sources) => sources.of(&shader)?.map_err(|error| format!("{error:#}")),
        None => catch_unwind(AssertUnwindSafe(|| decompiled::decompile(&shader))).unwrap_or_else(|_| {
            panicked = true;
            Err("the decompiler panics".into())
        }),
    };
    Some(match decompiled {
        Ok(hlsl) => Record { shader, hlsl: Some(hlsl), state: State::NoCompiler, panicked },
        Err(reason) => Record { shader, hlsl: None, state: State::NotDecompiled(reason), panicked },
    })
}

/// Compiles all texts, in each way until the program is the original, and compares.
fn recompile(oracle: &Oracle, records: &mut [Record]) -> Result<()> {
    let folder = sh::temporary("texts");
    std::fs::create_dir_all(&folder)?;
    let most = records.iter().map(|record| recompile::attempts(&record.shader.target)).max().unwrap_or(0);
    for attempt in 0..most {
        let mut jobs = Vec::new();
        let mut of_records = Vec::new();
        for (number, record) in records.iter().enumerate() {
            let Some(hlsl) = &record.hlsl else { continue };
            let is_known = oracle.has(recompile::compiler(&record.shader.target).0);
            if !is_known || record.is_same() || attempt >= recompile::attempts(&record.shader.target) {
                continue;
            }
            // What is refused at one level is refused at all.
            if attempt > 0 && record.is_refused() {
                continue;
            }
            let source = source_file(hlsl, &folder, number)?;
            jobs.push(recompile::job(&record.shader.target, hlsl, source, attempt));
            of_records.push(number);
        }
        let outcomes = oracle.compile(&jobs)?;
        let states: Vec<State> = of_records
            .par_iter()
            .zip(outcomes)
            .map(|(&number, outcome)| state(&records[number].shader, outcome))
            .collect();
        for (number, state) in of_records.into_iter().zip(states) {
            records[number].improve(state);
        }
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Returns the file of a text, which is written if there is none.
fn source_file(hlsl: &Hlsl, folder: &Path, number: usize) -> Result<PathBuf> {
    if let Some(file) = &hlsl.file {
        return Ok(std::path::absolute(file)?);
    }
    let file = folder.join(format!("{number}.hlsl"));
    std::fs::write(&file, &hlsl.text)?;
    Ok(file)
}

fn state(shader: &Shader, outcome: Outcome) -> State {
    match outcome {
        Outcome::Compiled(data) => match compare(shader.target.encoding, &shader.data, &data) {
            Ok(comparison) => State::Compiled(comparison),
            Err(error) => State::NotCompared(error.to_string()),
        },
        Outcome::Refused(messages) => State::Refused(messages),
        Outcome::Crashed => State::Refused("error: the compiler crashes".into()),
        Outcome::TimedOut => State::Refused("error: the compiler does not end".into()),
    }
}
