//! Runs kernels natively: their modules, beside their true source or beside what the decompiler makes of them.
//!
//! One library is the module, compiled as LLVM, its `air.*` functions defined ([`module`], [`intrinsics`]). The other is the
//! source, compiled as C++ with the header of `tests/metal/include`, after [`lower`]. The program of `tests/metal/runtime`
//! runs both on the same made-up buffers, one simdgroup and then four per threadgroup, and compares all memory.
//!
//! | column | |
//! |---|---|
//! | source | a source is there and compiles; functions that are no kernels are only compiled |
//! | built | so does the module |
//! | same, near | the same bytes; floats within 2 units of the last place |
//! | diff, one | something else; only one side faults |
//! | none, fault | nothing is written; both sides fault in the same way, for inputs that nobody would give |
//! | numbers | that are written and compared |
//!
//! The modules of all these kernels also run in the interpreter, on the same buffers ([`interpreted`]). Where it finds that a
//! module leaves its own variables, what follows is open, and a difference counts as a fault.
//!
//! With `--sources` the kernels are those of `air` in UNSHADE_CORPUS and of MLX's wheel, and their true sources, and faults
//! are planted ([`planted`]) to see whether they are found. Without, the kernels are those of all packages, or of the folders
//! of `--packages`, and the program's `decompile` (UNSHADE_PROGRAM names another) writes the source.

mod cases;
mod compared;
mod decompiled;
mod entry;
mod interpreted;
mod intrinsics;
mod job;
mod llvm_text;
mod lower;
mod module;
mod planted;
pub(in super::super) mod readability;
mod report;
mod saturated;
pub(crate) mod scalar;
mod scalar_text;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::llvm::Module;
use unshade::llvm::assemble::{self, AssembleOptions, Version};
use unshade::llvm::print::{self, PrintOptions};

use self::cases::Case;
use self::decompiled::Decompiler;
use self::module::{Kernel, Refusal};
use self::tools::Tools;
use super::super::batch::{self, Outcome};
use crate::sh;

/// The steps before both sides are there. In the first three there is no source that compiles.
const NO_SOURCE: &str = "source";
const DECOMPILE: &str = "decompile";
const COMPILE: &str = "compile the source";
const ONLY_COMPILED: &str = "only compiled";

/// What is asked for.
pub(crate) struct Options<'o> {
    /// Every N-th kernel.
    pub(crate) sample: Option<usize>,
    /// The true sources instead of decompiled texts.
    pub(crate) sources: bool,
    /// Folders of libraries and modules instead of all packages.
    pub(crate) folders: &'o [PathBuf],
    /// Only the interpreter, beside native runs of the modules.
    pub(crate) interpreter: bool,
    pub(crate) failures: Option<&'o Path>,
}

/// A kernel, the source that was compiled, and what became of both.
struct Record {
    case: Case,
    text: String,
    verdict: Verdict,
}

/// What became of a kernel.
enum Verdict {
    /// There is nothing to compare.
    Refused {
        step: &'static str,
        reason: String,
    },
    /// So many numbers are written.
    Same(u64),
    /// Floats differ by so many units of the last place at most.
    Near {
        distance: u64,
        numbers: u64,
    },
    Different(String),
    Unwritten,
    Fault(String),
    /// Only one side faults.
    OneFaults(String),
}

impl Verdict {
    fn refused(step: &'static str, reason: impl Into<String>) -> Self {
        Self::Refused { step, reason: reason.into() }
    }

    /// Whether there is a source, and it compiles.
    fn is_compiled(&self) -> bool {
        !matches!(self, Self::Refused { step, .. } if [NO_SOURCE, DECOMPILE, COMPILE].contains(step))
    }

    fn is_right(&self) -> bool {
        matches!(self, Self::Same(_) | Self::Near { .. })
    }

    /// Reads an answer of the runtime.
    fn of(outcome: Outcome) -> Result<Self> {
        let said = match outcome {
            Outcome::Said(said) => said,
            Outcome::Crashed => return Ok(Self::refused("run", "the runtime crashes")),
            Outcome::TimedOut => return Ok(Self::refused("run", "a kernel does not end")),
        };
        let (word, rest) = said.split_once(' ').unwrap_or((&said, ""));
        let number = |text: &str| text.parse().with_context(|| said.clone());
        Ok(match word {
            "same" => Self::Same(number(rest)?),
            "near" => {
                let (distance, numbers) = rest.split_once(' ').unwrap_or((rest, "0"));
                Self::Near { distance: number(distance)?, numbers: number(numbers)? }
            }
            "unwritten" => Self::Unwritten,
            "fault" => Self::Fault(rest.to_owned()),
            "left" => Self::OneFaults(format!("the module {rest}")),
            "right" => Self::OneFaults(format!("the source {rest}")),
            "missing" => Self::refused("load", without_paths(rest)),
            _ => Self::Different(rest.to_owned()),
        })
    }
}

/// Leaves out paths, so that the same messages are counted together.
fn without_paths(text: &str) -> String {
    text.split(' ').filter(|word| !word.starts_with('/')).collect::<Vec<_>>().join(" ")
}

pub(crate) fn run(options: &Options<'_>) -> Result<()> {
    let Some(tools) = Tools::find()? else { return Ok(()) };
    let step = options.sample.unwrap_or(1).max(1);
    if options.interpreter {
        return interpreted::run_alone(&tools, step, options.folders, options.failures);
    }
    let folder = sh::temporary("native");
    fs::create_dir_all(&folder)?;
    let result = run_in(&tools, options, step, &folder);
    fs::remove_dir_all(&folder)?;
    result
}

fn run_in(tools: &Tools, options: &Options<'_>, step: usize, folder: &Path) -> Result<()> {
    let (cases, decompiler) = match options {
        Options { sources: true, .. } => (cases::with_sources(tools, step)?, None),
        Options { folders: [], .. } => (cases::of_packages(step)?, Some(Decompiler::build()?)),
        Options { folders, .. } => (cases::of_folders(folders, step)?, Some(Decompiler::build()?)),
    };
    println!("{} kernels", cases.len());
    let files = |number: usize| Files { folder: folder.to_owned(), number };
    let built = cases.into_par_iter().enumerate().map(|(number, case)| {
        let mut text = String::new();
        let verdict = build(tools, &case, decompiler.as_ref(), &files(number), &mut text)?;
        Ok(Record { case, text, verdict: verdict.err().unwrap_or(Verdict::Unwritten) })
    });
    let mut records: Vec<Record> = built.collect::<Result<_>>()?;
    let ready: Vec<usize> = (0..records.len())
        .filter(|&number| !matches!(records[number].verdict, Verdict::Refused { .. }))
        .collect();
    for (number, verdict) in ready.iter().zip(run_jobs(tools, &ready, &files, folder)?) {
        records[*number].verdict = verdict;
    }
    for &number in &ready {
        let record = &mut records[number];
        let is_open = matches!(record.verdict, Verdict::Different(_) | Verdict::OneFaults(_));
        if is_open && let Some(reason) = interpreted::leaves_variables(tools, &record.case, &files(number))? {
            record.verdict = Verdict::Fault(format!("the interpreter finds that it {reason}"));
        }
    }
    report::print(&records);
    let numbers: Vec<usize> =
        (0..records.len()).filter(|&number| records[number].verdict.is_right()).collect();
    if options.sources {
        planted::run(tools, &records, &numbers, &files, folder)?;
    }
    if let Some(failures) = options.failures {
        report::write_failures(&records, failures)?;
    }
    let ready: Vec<_> = ready.iter().map(|&number| (number, &records[number].case)).collect();
    interpreted::run(tools, &ready, &files, None)
}

/// Runs the jobs of some kernels.
fn run_jobs(
    tools: &Tools,
    numbers: &[usize],
    files: &(impl Fn(usize) -> Files + Sync),
    folder: &Path,
) -> Result<Vec<Verdict>> {
    let jobs: Vec<_> = numbers.iter().map(|&number| (files(number).path("job"), PathBuf::new())).collect();
    let outcomes = batch::run(|| std::process::Command::new(&tools.runner), &[], &jobs, folder)?;
    ensure!(outcomes.len() == numbers.len(), "the runtime does not do all jobs");
    outcomes.into_iter().map(Verdict::of).collect()
}

/// The files of a kernel.
struct Files {
    folder: PathBuf,
    number: usize,
}

impl Files {
    fn path(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.number))
    }
}

/// Builds both libraries of a kernel and its job. Puts the source into `text`.
fn build(
    tools: &Tools,
    case: &Case,
    decompiler: Option<&Decompiler>,
    files: &Files,
    text: &mut String,
) -> Result<Result<(), Verdict>> {
    let (source, entry) = match source(case, decompiler, files)? {
        Ok(found) => found,
        Err(verdict) => return Ok(Err(verdict)),
    };
    text.clone_from(&source);
    let lowered = if case.source.is_some() { source } else { lower::lower(&source).text };
    if !case.is_kernel {
        fs::write(files.path("cpp"), lowered)?;
        let error = tools.check_source(&files.path("cpp"))?;
        let only = || Verdict::refused(ONLY_COMPILED, "no kernel");
        return Ok(Err(error.map_or_else(only, |error| Verdict::refused(COMPILE, error))));
    }
    let mut kernel = host_kernel(case);
    let entry = match (&case.source, &mut kernel) {
        (None, Ok(kernel)) => match entry::by_attributes(text, &entry, &mut kernel.slots) {
            Ok(entry) => entry,
            Err(reason) => return Ok(Err(Verdict::refused(COMPILE, reason))),
        },
        // What does not run is compiled all the same.
        _ => entry::in_order(&entry),
    };
    fs::write(files.path("cpp"), format!("{lowered}\n{entry}"))?;
    if let Some(error) = tools.compile_source(&files.path("cpp"), &files.path("source.so"))? {
        return Ok(Err(Verdict::refused(COMPILE, error)));
    }
    let kernel = match kernel {
        Ok(kernel) => kernel,
        Err(verdict) => return Ok(Err(verdict)),
    };
    if let Some(verdict) = build_module(tools, &kernel.text, &files.path("bc"), &files.path("module.so"))? {
        return Ok(Err(verdict));
    }
    let job = job::text(&kernel, &files.path("module.so"), &files.path("source.so"));
    fs::write(files.path("job"), job)?;
    Ok(Ok(()))
}

/// Returns the source of a kernel and the expression that names the kernel in it.
fn source(
    case: &Case,
    decompiler: Option<&Decompiler>,
    files: &Files,
) -> Result<Result<(String, String), Verdict>> {
    if let Some((source, entry)) = &case.source {
        return Ok(Ok((source.to_string(), entry.clone())));
    }
    let Some(decompiler) = decompiler else {
        return Ok(Err(Verdict::refused(NO_SOURCE, "no source has this kernel")));
    };
    fs::write(files.path("air"), &case.module)?;
    Ok(match decompiler.decompile(&files.path("air"))? {
        Ok(source) => {
            let entry = entry_of(&source, &case.name);
            Ok((source, entry))
        }
        Err(reason) => Err(Verdict::refused(DECOMPILE, reason)),
    })
}

/// Returns the name of the kernel in a decompiled source, which may have had to change it.
fn entry_of(source: &str, name: &str) -> String {
    if source.contains(&format!(" {name}(")) {
        return name.to_owned();
    }
    let kernels = source.split("kernel void ").skip(1).filter_map(|rest| rest.split_once('('));
    kernels.map(|(name, _)| name.trim()).last().unwrap_or(name).to_owned()
}

/// Prepares the module of a kernel for the host.
fn host_kernel(case: &Case) -> Result<Kernel, Verdict> {
    let module =
        Module::parse(&case.module, 0).map_err(|error| Verdict::refused("read", error.to_string()))?;
    let mut text = String::new();
    print::module(&module, &PrintOptions::default(), &mut text);
    module::prepare(&text, &case.name).map_err(|refusal| match refusal {
        Refusal::NoKernel => Verdict::refused("prepare the module", "it has no such kernel"),
        Refusal::Unknown(names) => Verdict::refused("functions without a definition", unknown(&names)),
        Refusal::Argument(what) => Verdict::refused("arguments that are not made up", what),
    })
}

/// Returns the first of unknown functions. Those of tensors are one: `__tensorops_impl_…`.
fn unknown(names: &[String]) -> String {
    let first = names.first().map_or("", String::as_str);
    let end = first.find("_impl_").map_or(first.len(), |at| at + "_impl".len());
    first[..end].to_owned()
}

/// Compiles the text of a module to a library.
fn build_module(tools: &Tools, text: &str, bitcode: &Path, library: &Path) -> Result<Option<Verdict>> {
    let options = AssembleOptions { version: Version::Llvm14 };
    let assembled = match assemble::bitcode(text.as_bytes(), b"kernel", &options) {
        Ok(assembled) => assembled,
        Err(errors) => {
            let message = errors.first().map(ToString::to_string).unwrap_or_default();
            return Ok(Some(Verdict::refused("assemble the module", message)));
        }
    };
    fs::write(bitcode, assembled.bytes)?;
    let error = tools.compile_module(bitcode, library)?;
    Ok(error.map(|error| Verdict::refused("compile the module", error)))
}
