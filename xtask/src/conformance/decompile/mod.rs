//! `cargo xtask conformance decompile`: decompiles every function for sm_30 in TensorFlow and CNTK, and counts what
//! has no C equivalent, what g++ rejects, and measures of readability.
//!
//! Cubins come from the packages that `cargo xtask corpus --set cuda` fetches, and from `$UNSHADE_CORPUS/cuda`; the
//! two sets are reported separately. `--sample N` takes every N-th function. CUDA C is compiled with
//! `tests/cuda/cuda_host.h`, C++ (`--language c++`) with the decompiler's own header, many functions per process; functions
//! that only differ in their names are compiled once.

pub(super) mod agree;
mod batches;
pub(super) mod closed_loop;
pub(super) mod interpret;
pub(super) mod nvrtc;
mod on_host;
mod packages;
pub(super) mod passes;
pub(super) mod random;
mod reading;
pub(super) mod types;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::decompile::FunctionC;
use unshade::decompiler::Options;
use unshade::decompiler::c::Language;
use unshade::nv::Cubin;

use self::batches::{Batches, Refused};
use crate::sh;

/// Target: functions per 1,000 without a comment in place of a statement.
const WHOLE: f64 = 950.0;

/// Target: functions per 1,000 complete functions that compile.
const COMPILES: f64 = 990.0;

/// Target: maximum number of gotos per 1,000 lines.
const GOTOS: f64 = 2.0;

/// Target: minimum number of instructions per line, as a median over the packages. For other sets, whose functions are
/// fewer or shorter, it is only printed.
const DENSITY: f64 = 3.0;

/// The set that is large enough for a median.
const PACKAGES: &str = "sm_30 of tensorflow-gpu and cntk-gpu";

/// The counts.
#[derive(Default)]
struct Tally {
    functions: usize,
    kernels: usize,
    /// Functions in which every statement is C.
    whole: usize,
    instructions: usize,
    lines: usize,
    gotos: usize,
    gotos_without_need: usize,
    casts: usize,
    dispatch_loops: usize,
    density: Vec<f64>,
    /// The density including the lines of the required helpers.
    density_with_helpers: Vec<f64>,
    seconds: f64,
    /// Causes of incomplete functions: for each, the number of functions and statements, and the name of one.
    causes: BTreeMap<String, (usize, usize, String)>,
}

pub(super) fn run(sample: Option<usize>, language: &'static Language, failures: Option<&Path>) -> Result<()> {
    let scratch = std::env::temp_dir().join(format!("unshade-decompile-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let result = run_in(&scratch, sample.unwrap_or(1).max(1), language, failures);
    let _ = fs::remove_dir_all(&scratch);
    result
}

fn run_in(scratch: &Path, sample: usize, language: &'static Language, failures: Option<&Path>) -> Result<()> {
    if let Some(folder) = failures {
        fs::create_dir_all(folder)?;
    }
    let mut met = true;
    let cubins = packages::cubins(30)?;
    if cubins.is_empty() {
        println!("skipped: the packages are missing; run `cargo xtask corpus --set cuda`");
    } else {
        met &= of_cubins(PACKAGES, &cubins, sample, language, scratch, failures)?;
    }
    match sh::env_path("UNSHADE_CORPUS") {
        None => println!("skipped: UNSHADE_CORPUS is not set"),
        Some(corpus) => {
            for name in ["sm_30", "sm_35", "kernels/sm_35"] {
                let cubins = of_folder(&corpus.join("cuda").join(name))?;
                if !cubins.is_empty() {
                    met &= of_cubins(name, &cubins, sample, language, scratch, failures)?;
                }
            }
        }
    }
    ensure!(met, "a target was missed");
    Ok(())
}

/// Returns the cubins of the packages for sm_30 and those of the corpus, and prints what is missing.
fn all_cubins() -> Result<Vec<Vec<u8>>> {
    let mut cubins = packages::cubins(30)?;
    if cubins.is_empty() {
        println!("skipped: the packages are missing; run `cargo xtask corpus --set cuda`");
    }
    match sh::env_path("UNSHADE_CORPUS") {
        None => println!("skipped: UNSHADE_CORPUS is not set"),
        Some(corpus) => {
            for name in ["sm_30", "sm_35", "kernels/sm_35", "loop"] {
                cubins.extend(of_folder(&corpus.join("cuda").join(name))?);
            }
        }
    }
    Ok(cubins)
}

fn of_folder(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "cubin") {
            files.push(path);
        }
    }
    files.sort();
    files.iter().map(|path| fs::read(path).with_context(|| path.display().to_string())).collect()
}

/// The texts to compile.
struct Texts {
    batches: Batches,
    /// The number of each text, by the hash of its content without the name.
    seen: HashMap<u64, usize>,
    /// By number: how many functions have this text, and the name of the first.
    functions: Vec<(usize, String)>,
}

/// The state shared by all threads.
struct Shared<'a> {
    texts: Mutex<Texts>,
    sample: usize,
    language: &'static Language,
    count: AtomicUsize,
    failures: Option<&'a Path>,
}

fn of_cubins(
    what: &str,
    cubins: &[Vec<u8>],
    sample: usize,
    language: &'static Language,
    scratch: &Path,
    failures: Option<&Path>,
) -> Result<bool> {
    let texts =
        Texts { batches: Batches::new(scratch, language), seen: HashMap::new(), functions: Vec::new() };
    let shared = Shared { texts: Mutex::new(texts), sample, language, count: AtomicUsize::new(0), failures };
    let tally = cubins
        .par_iter()
        .with_max_len(1)
        .map(|data| of_cubin(data, &shared))
        .try_reduce(Tally::default, |left, right| Ok(left.add(right)))?;
    let texts = shared.texts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    tally.print(what);
    let refused = texts.batches.compile()?;
    let mut met = tally.verdict(what == PACKAGES);
    let compiled: usize = texts.functions.iter().map(|text| text.0).sum();
    let wrong: usize =
        refused.keys().filter_map(|number| texts.functions.get(*number)).map(|text| text.0).sum();
    let share = 1000.0 * (compiled - wrong) as f64 / compiled.max(1) as f64;
    met &= verdict("complete functions that g++ accepts, per 1,000", share, COMPILES, share >= COMPILES);
    println!("    {} of {compiled} functions, {} texts", compiled - wrong, texts.functions.len());
    let mut reasons: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    for (number, refused) in &refused {
        let Some((count, name)) = texts.functions.get(*number) else { continue };
        let entry = reasons.entry(reading::shape(&refused.said)).or_insert((0, name));
        entry.0 += count;
        if let Some(folder) = failures {
            note_refused(folder, name, refused)?;
        }
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.1.0));
    for (reason, (count, name)) in reasons.iter().take(20) {
        println!("    {count:>6}  {reason}   {}", short(name));
    }
    Ok(met)
}

fn of_cubin(data: &[u8], shared: &Shared<'_>) -> Result<Tally> {
    let mut tally = Tally::default();
    let Ok(cubin) = Cubin::read(Reader::new(data)) else { return Ok(tally) };
    if unshade::sass_listing::instruction_set(&cubin).is_none() {
        return Ok(tally);
    }
    let kernels: BTreeMap<String, bool> = cubin
        .functions()
        .map(|function| (String::from_utf8_lossy(function.name()).into_owned(), function.symbol.is_kernel()))
        .collect();
    let wanted = |_: &unshade::nv::function::Function<'_>| {
        shared.count.fetch_add(1, Ordering::Relaxed).is_multiple_of(shared.sample)
    };
    let mut diagnostics = Diagnostics::new();
    let mut fault = None;
    let mut start = Instant::now();
    let options = Options { language: shared.language, ..Options::default() };
    unshade::decompile::cubin(&cubin, &wanted, &options, &mut diagnostics, &mut |function| {
        tally.seconds += start.elapsed().as_secs_f64();
        tally.kernels += usize::from(kernels.get(&function.name).copied().unwrap_or(false));
        if let Err(error) = tally.take(&function, shared) {
            fault = Some(error);
        }
        start = Instant::now();
    });
    match fault {
        Some(error) => Err(error),
        None => Ok(tally),
    }
}

impl Tally {
    fn take(&mut self, function: &FunctionC, shared: &Shared<'_>) -> Result<()> {
        self.functions += 1;
        let found = match &function.result {
            Ok(found) => found,
            Err(fault) => {
                self.cause(&format!("refused: {fault}"), 1, &function.name);
                return Ok(());
            }
        };
        self.instructions += function.instructions;
        self.lines += found.lines.len();
        self.gotos += found.gotos;
        if found.is_reducible {
            self.gotos_without_need += found.gotos;
        }
        self.casts += found.casts;
        let helpers: usize = found.prelude.iter().map(|helper| helper.lines().count()).sum();
        for (density, lines) in [
            (&mut self.density, found.lines.len()),
            (&mut self.density_with_helpers, found.lines.len() + helpers),
        ] {
            density.push(function.instructions as f64 / lines.max(1) as f64);
        }
        self.dispatch_loops += reading::dispatch_loops(&found.lines);
        let text = found.text();
        let causes = reading::causes(&found.lines);
        for (cause, count) in &causes {
            self.cause(cause, *count, &function.name);
        }
        if found.unlifted == 0 {
            self.whole += 1;
        }
        if let Some(folder) = shared.failures
            && (found.unlifted > 0 || found.is_reducible && found.gotos > 0)
        {
            fs::write(failure_path(folder, &function.name), &text)?;
        }
        if found.unlifted > 0 {
            return Ok(());
        }
        let mut hasher = DefaultHasher::new();
        text.replace(&unshade::decompiler::c::identifier(&function.name), "").hash(&mut hasher);
        let mut texts = shared.texts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let texts = &mut *texts;
        match texts.seen.entry(hasher.finish()) {
            std::collections::hash_map::Entry::Occupied(entry) => {
                if let Some(known) = texts.functions.get_mut(*entry.get()) {
                    known.0 += 1;
                }
            }
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(texts.batches.add(&text)?);
                texts.functions.push((1, function.name.clone()));
            }
        }
        Ok(())
    }

    fn cause(&mut self, cause: &str, count: usize, name: &str) {
        let entry = self.causes.entry(String::from(cause)).or_insert_with(|| (0, 0, String::from(name)));
        entry.0 += 1;
        entry.1 += count;
    }

    fn add(mut self, other: Self) -> Self {
        self.functions += other.functions;
        self.kernels += other.kernels;
        self.whole += other.whole;
        self.instructions += other.instructions;
        self.lines += other.lines;
        self.gotos += other.gotos;
        self.gotos_without_need += other.gotos_without_need;
        self.casts += other.casts;
        self.dispatch_loops += other.dispatch_loops;
        self.density.extend(other.density);
        self.density_with_helpers.extend(other.density_with_helpers);
        self.seconds += other.seconds;
        for (cause, (functions, count, name)) in other.causes {
            let entry = self.causes.entry(cause).or_insert((0, 0, name));
            entry.0 += functions;
            entry.1 += count;
        }
        self
    }

    fn print(&self, what: &str) {
        println!(
            "{what}: {} functions, {} of them kernels, {} instructions, {:.1} s of one thread",
            self.functions, self.kernels, self.instructions, self.seconds
        );
        let mut causes: Vec<_> = self.causes.iter().collect();
        causes.sort_by_key(|(_, cause)| std::cmp::Reverse(cause.0));
        for (cause, (functions, count, name)) in causes.iter().take(40) {
            println!("    {functions:>6} functions, {count:>6} statements  {cause}   {}", short(name));
        }
    }

    fn verdict(&self, has_median: bool) -> bool {
        let lines = self.lines.max(1) as f64;
        let (median, with_helpers) = (median(&self.density), median(&self.density_with_helpers));
        let whole = 1000.0 * self.whole as f64 / self.functions.max(1) as f64;
        let gotos = 1000.0 * self.gotos as f64 / lines;
        let needless = self.gotos_without_need as f64;
        let mut met = verdict("complete, per 1,000 functions", whole, WHOLE, whole >= WHOLE);
        met &= verdict("gotos per 1,000 lines", gotos, GOTOS, gotos <= GOTOS);
        met &= verdict("gotos where the graph is reducible", needless, 0.0, needless == 0.0);
        met &= verdict("dispatch loops", self.dispatch_loops as f64, 0.0, self.dispatch_loops == 0);
        if has_median {
            met &= verdict("instructions per line, median", median, DENSITY, median >= DENSITY);
        } else {
            println!("    {median:.2} instructions per line, median");
        }
        println!("    {with_helpers:.2} including a separate copy of the helpers for each function");
        println!("    {} lines, {:.3} casts per line", self.lines, self.casts as f64 / lines);
        met
    }
}

fn median(figures: &[f64]) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}

/// Prints a figure with its target.
fn verdict(what: &str, figure: f64, aim: f64, met: bool) -> bool {
    println!("  {} {what:<40} {figure:>10.2}   target {aim}", if met { "ok  " } else { "MISS" });
    met
}

fn short(name: &str) -> String {
    name.chars().take(60).collect()
}

/// Returns the path of the report on a function's failure.
fn failure_path(folder: &Path, name: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    folder.join(format!("{}_{:016x}.cu", short(name), hasher.finish()))
}

fn note_refused(folder: &Path, name: &str, refused: &Refused) -> Result<()> {
    let path = failure_path(folder, name).with_extension("refused");
    let text = format!("{name}\n{}\n{}", refused.said, refused.text);
    fs::write(&path, text).with_context(|| path.display().to_string())
}
