//! `cargo xtask conformance decompile-loop`: compiles kernels with nvcc, decompiles the cubins, compiles the C with nvcc
//! again, and runs both cubins in the emulator on the same inputs. They must leave the same memory.
//!
//! `UNSHADE_NVCC` names nvcc 11.2, the last release line that compiles for sm_35 and whose code is the one that the
//! tables were checked with. Sources are the `.cu` files of `cuda/loop` and `cuda/kernels/src` in `UNSHADE_CORPUS`, or
//! those named by `--kernels`. Each is compiled with every set of [`OPTIONS`]. Inputs of a kernel are those in
//! `//CASE kernel grid block[+shared] argument…` lines of its source, in the notation of
//! `tests/fixtures/nvidia/kernels/cases.txt`, which has those of `cuda/kernels`; those of other kernels are inferred
//! ([`unshade_emulate::trial`]).
//!
//! `--kernels` takes cubins too, for kernels whose compilation is not ours: a file, or a folder with any number. `--sample N`
//! stops after N of their kernels, in the order of the names of files.
//!
//! With `--language c++`, the C++ is compiled by g++ and runs on this machine, on the inputs of the cases
//! ([`on_host`]).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::decompile::{self, FunctionC};
use unshade::decompiler::Options;
use unshade::decompiler::c::Language;
use unshade::demangle;
use unshade::nv::Cubin;
use unshade_emulate::trial::{FILLINGS, Trials, further_fillings, same_but_for_nans};
use unshade_emulate::{Device, Module};
use unshade_tests::closed_loop::cases::{self, Case};
use unshade_tests::closed_loop::{compare, emulated};

use super::super::kernel_runs::kind;
use super::on_host;
use crate::sh;

/// The options of nvcc with which each source is compiled.
const OPTIONS: [(&str, &[&str]); 5] = [
    ("-O3", &[]),
    ("-G", &["-G"]),
    ("-maxrregcount=20", &["-maxrregcount=20"]),
    ("-use_fast_math", &["-use_fast_math"]),
    ("-rdc=true", &["-rdc=true"]),
];

/// The row of the table for kernels of cubins, which follows those of [`OPTIONS`].
const CUBINS: usize = OPTIONS.len();

/// Number of random inputs for each case.
pub(super) const ROUNDS: u64 = 3;

/// How many times as many instructions as the original the new code may execute on invented inputs.
const PATIENCE: u64 = 4;

/// Maximum number of launches with invented inputs on which a kernel is compared.
const LAUNCHES: usize = 4;

/// The time after which no further inputs are invented.
const TIME: Duration = Duration::from_secs(10);

/// What became of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// Both cubins leave the same memory.
    Equal,
    /// They do, except for the bits of NaNs, which CUDA doesn't specify.
    Near,
    /// They do not: the worst case.
    Different(String),
    /// nvcc rejects the text.
    Rejected(String),
    /// The decompiler reports that the text is not complete.
    Incomplete(String),
    /// The emulator can't run the original.
    NotRun(String),
}

impl Verdict {
    /// Returns the column of the table.
    fn column(&self) -> usize {
        match self {
            Self::Equal | Self::Near => 0,
            Self::Different(_) => 1,
            Self::Rejected(_) => 2,
            Self::Incomplete(_) => 3,
            Self::NotRun(_) => 4,
        }
    }

    fn reason(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Equal => None,
            Self::Near => Some(("equal", "except for the bits of NaNs")),
            Self::Different(what) => Some(("different", what)),
            Self::Rejected(what) => Some(("rejected", what)),
            Self::Incomplete(what) => Some(("incomplete", what)),
            Self::NotRun(what) => Some(("not run", what)),
        }
    }
}

/// A compiled source and its verdicts.
struct Checked {
    /// Why nvcc rejects the text of the whole file, if it does.
    whole: Result<(), String>,
    /// The verdict on each kernel.
    kernels: Vec<(String, Verdict)>,
}

/// Checks sources, compiled with the named sets of options, or with all.
pub(in super::super) fn run(
    paths: &[PathBuf],
    names: &[String],
    sample: Option<usize>,
    language: &'static Language,
    failures: Option<&Path>,
) -> Result<()> {
    let Some(nvcc) = sh::env_path("UNSHADE_NVCC") else {
        println!("skipped: UNSHADE_NVCC does not name nvcc 11.2 (package nvidia-cuda-toolkit 11.2.2)");
        return Ok(());
    };
    let known = |name: &String| OPTIONS.iter().any(|options| options.0 == name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = OPTIONS.iter().map(|options| options.0).collect();
        bail!("no options are named {name}: use one of {}", all.join(", "));
    }
    let chosen: Vec<usize> = (0..OPTIONS.len())
        .filter(|index| names.is_empty() || names.iter().any(|name| OPTIONS[*index].0 == name))
        .collect();
    let programs = all_programs(paths, &chosen, sample)?;
    ensure!(!programs.is_empty(), "there are no sources: set UNSHADE_CORPUS or use --kernels");
    if let Some(folder) = failures {
        fs::create_dir_all(folder)?;
    }
    let scratch = std::env::temp_dir().join(format!("unshade-decompile-loop-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let result = run_in(
        &Loop { nvcc, language, scratch: scratch.clone(), failures: failures.map(Path::to_owned) },
        &programs,
    );
    let _ = fs::remove_dir_all(&scratch);
    result
}

/// A file to check.
struct Program {
    path: PathBuf,
    /// The row of the table: the set of options with which a source is compiled, or [`CUBINS`].
    row: usize,
    /// Maximum number of kernels to check.
    kernels: usize,
}

impl Program {
    fn is_cubin(&self) -> bool {
        self.row == CUBINS
    }

    /// Returns the name of the file with that of its folder, because many are called `main`, and of its row.
    fn label(&self) -> String {
        let folder = self.path.parent().and_then(Path::file_name).unwrap_or_default();
        format!("{}.{} {}", folder.to_string_lossy(), stem(&self.path), row_name(self.row))
    }
}

fn row_name(row: usize) -> &'static str {
    OPTIONS.get(row).map_or("cubins", |options| options.0)
}

/// Returns the named files, those in named folders, or those of the corpus: each source with each set of options, and
/// the cubins that have the first `sample` kernels.
fn all_programs(named: &[PathBuf], chosen: &[usize], sample: Option<usize>) -> Result<Vec<Program>> {
    let mut folders = named.to_vec();
    if named.is_empty() {
        let corpus = sh::env_path("UNSHADE_CORPUS").map(|corpus| corpus.join("cuda"));
        folders
            .extend(corpus.into_iter().flat_map(|corpus| [corpus.join("loop"), corpus.join("kernels/src")]));
    }
    let mut files = Vec::new();
    for path in folders {
        if path.is_dir() {
            sh::files_below(&path, &mut files)?;
        } else {
            files.push(path);
        }
    }
    files.sort();
    let mut programs = Vec::new();
    let mut left = sample.unwrap_or(usize::MAX);
    for path in files {
        match path.extension().and_then(OsStr::to_str) {
            Some("cu") => programs.extend(chosen.iter().map(|&row| Program {
                path: path.clone(),
                row,
                kernels: usize::MAX,
            })),
            Some("cubin") if left > 0 => {
                let module = Module::load(&mut Device::new(), &fs::read(&path)?);
                let count = module.map_or(0, |module| module.kernels().len());
                programs.push(Program { path, row: CUBINS, kernels: left });
                left = left.saturating_sub(count);
            }
            _ => {}
        }
    }
    Ok(programs)
}

fn run_in(this: &Loop, programs: &[Program]) -> Result<()> {
    let checked: Vec<Result<Checked, String>> = programs
        .par_iter()
        .with_max_len(1)
        .map(|program| this.check(program).map_err(|error| format!("{error:#}")))
        .collect();
    let mut table = [[0_usize; 5]; CUBINS + 1];
    let mut whole = [[0_usize; 2]; CUBINS + 1];
    for (program, checked) in programs.iter().zip(checked) {
        let name = program.label();
        let checked = match checked {
            Ok(checked) => checked,
            Err(error) => {
                println!("{name}: the source is not compiled: {error}");
                continue;
            }
        };
        whole[program.row][usize::from(checked.whole.is_err())] += 1;
        if let Err(error) = checked.whole {
            println!("{name}: rejected as a whole: {error}");
        }
        for (kernel, verdict) in checked.kernels {
            table[program.row][verdict.column()] += 1;
            if let Some((word, reason)) = verdict.reason() {
                println!("{name}: {kernel}: {word}: {reason}");
            }
        }
    }
    println!(
        "\n{:<18}{:>8}{:>11}{:>10}{:>12}{:>9}   files compiled as a whole",
        "kernels", "equal", "different", "rejected", "incomplete", "not run"
    );
    let rows = (0..=CUBINS).filter(|row| programs.iter().any(|program| program.row == *row));
    for row in rows {
        let (name, counts, files) = (row_name(row), table[row], whole[row]);
        let [equal, different, rejected, incomplete, skipped] = counts;
        println!(
            "{name:<18}{equal:>8}{different:>11}{rejected:>10}{incomplete:>12}{skipped:>9}   {} of {}",
            files[0],
            files[0] + files[1]
        );
    }
    let wrong: usize = table.iter().map(|counts| counts[1] + counts[2]).sum();
    ensure!(wrong == 0, "{wrong} kernels differ or are rejected");
    Ok(())
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// The tools and folders of a run.
struct Loop {
    nvcc: PathBuf,
    language: &'static Language,
    scratch: PathBuf,
    failures: Option<PathBuf>,
}

impl Loop {
    /// Decompiles and recompiles each kernel of a program, and compares their runs.
    fn check(&self, program: &Program) -> Result<Checked> {
        let folder = self.scratch.join(program.label().replace(" ", ""));
        fs::create_dir_all(&folder)?;
        let original = self.original(program, &folder)?;
        let has_other_library = self.language.header.is_some();
        let usual =
            Options { language: self.language, explicit_math: has_other_library, ..Options::default() };
        let texts = SourceText::read(program, &original, &usual)?;
        let explicit = Options { explicit_flushes: true, ..usual };
        let mixed = decompile::mixes_flushes(&texts.functions, self.language);
        let all = if mixed { decompiled(&original, &explicit)? } else { texts.functions.clone() };
        let whole = match self.language.header {
            Some(_) => on_host::compile(&folder, &all),
            None => self.recompile(&folder, "whole", &all).map(|_| ()),
        };
        let mut kernels = Vec::new();
        for (index, function) in texts.functions.iter().enumerate() {
            let Some(kernel) = texts.kernel(&function.name) else { continue };
            if kernels.len() == program.kernels {
                break;
            }
            let mut functions = with_callees(&texts.functions, index);
            if decompile::mixes_flushes(&functions, self.language) {
                functions = with_callees(&all, index);
            }
            let verdict = self.kernel(&folder.join(index.to_string()), &functions, &original, &kernel);
            if matches!(verdict, Verdict::Different(_) | Verdict::Rejected(_)) {
                self.keep(program, &functions)?;
            }
            kernels.push((function.name.clone(), verdict));
        }
        Ok(Checked { whole, kernels })
    }

    /// Returns the cubin of a program: of a source, what nvcc makes of it.
    fn original(&self, program: &Program, folder: &Path) -> Result<Vec<u8>> {
        if program.is_cubin() {
            return Ok(fs::read(&program.path)?);
        }
        let original = folder.join("original.cubin");
        let mut arguments = vec!["-std=c++14"];
        arguments.extend(OPTIONS[program.row].1);
        self.compile(&program.path, &original, &arguments).map_err(anyhow::Error::msg)?;
        Ok(fs::read(&original)?)
    }

    /// Runs nvcc; returns its first error.
    fn compile(&self, source: &Path, cubin: &Path, arguments: &[&str]) -> Result<(), String> {
        let mut command = Command::new(&self.nvcc);
        command.args(["-cubin", "-arch=sm_35", "-w", "-Wno-deprecated-gpu-targets"]).args(arguments);
        let output = command.arg("-o").arg(cubin).arg(source).output().map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let said =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        let error = said.lines().find(|line| line.contains("error")).or_else(|| said.lines().next());
        Err(error.map_or_else(
            || "no message".to_owned(),
            |line| line.replace(&*source.to_string_lossy(), "text.cu"),
        ))
    }

    /// Compiles functions as one text.
    fn recompile(&self, folder: &Path, name: &str, functions: &[FunctionC]) -> Result<Vec<u8>, String> {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let (text, cubin) = (folder.join(format!("{name}.cu")), folder.join(format!("{name}.cubin")));
        fs::write(&text, decompile::text(functions)).map_err(|error| error.to_string())?;
        let flushes =
            functions.iter().filter_map(|function| function.result.as_ref().ok()).any(|one| one.flushes);
        let ftz = if flushes { "-ftz=true" } else { "-ftz=false" };
        self.compile(&text, &cubin, &["-std=c++14", ftz])?;
        fs::read(cubin).map_err(|error| error.to_string())
    }

    /// Recompiles and runs a kernel, the last of `functions`; the others are those that it calls.
    fn kernel(&self, folder: &Path, functions: &[FunctionC], original: &[u8], kernel: &Kernel) -> Verdict {
        for function in functions {
            match &function.result {
                Err(fault) => return Verdict::Incomplete(fault.to_string()),
                Ok(text) if text.unlifted > 0 => {
                    let comment =
                        text.lines.iter().find(|line| line.text.contains("/* ")).map(|line| line.text.trim());
                    return Verdict::Incomplete(comment.unwrap_or("without a comment").to_owned());
                }
                Ok(_) => {}
            }
        }
        if self.language.header.is_some() {
            return on_host::verdict(folder, functions, original, kernel);
        }
        let cubin = match self.recompile(folder, "kernel", functions) {
            Ok(cubin) => cubin,
            Err(error) => return Verdict::Rejected(error),
        };
        let Some(function) = functions.last() else { return Verdict::NotRun("no function".to_owned()) };
        kernel.compare(original, &cubin, function).unwrap_or_else(Verdict::NotRun)
    }

    /// Writes the text of a kernel and the functions that it calls to the folder of failures.
    fn keep(&self, program: &Program, functions: &[FunctionC]) -> Result<()> {
        let (Some(folder), Some(kernel)) = (&self.failures, functions.last()) else { return Ok(()) };
        let name = format!("{}.{}.cu", program.label().replace(' ', ""), super::short(&kernel.name));
        fs::write(folder.join(name), decompile::text(functions)).context("the failures")
    }
}

/// Returns the functions that a kernel calls, and the kernel after them.
fn with_callees(functions: &[FunctionC], kernel: usize) -> Vec<FunctionC> {
    let mut wanted = vec![kernel];
    let mut next = 0;
    while let Some(index) = wanted.get(next).copied() {
        let Ok(caller) = &functions[index].result else { break };
        let is_called = |function: &FunctionC| {
            let prototype = function.result.as_ref().ok().and_then(|function| function.prototype.as_ref());
            prototype.is_some_and(|prototype| caller.callees.contains(&prototype.name))
        };
        for callee in (0..functions.len()).filter(|index| is_called(&functions[*index])) {
            if !wanted.contains(&callee) {
                wanted.push(callee);
            }
        }
        next += 1;
    }
    wanted.iter().rev().map(|index| functions[*index].clone()).collect()
}

fn decompiled(cubin: &[u8], options: &Options) -> Result<Vec<FunctionC>> {
    let mut functions = Vec::new();
    let cubin = Cubin::read(Reader::new(cubin))?;
    decompile::cubin(&cubin, &|_| true, options, &mut Diagnostics::new(), &mut |function| {
        functions.push(function);
    });
    Ok(functions)
}

/// Returns an argument of a `//CASE` line in the notation of the table: `u32*64*16{0..9}` is `u32{0..9}*1024`.
fn in_table(word: &str) -> String {
    let (counts, range) =
        word.split_once('{').map_or((word, String::new()), |(head, range)| (head, format!("{{{range}")));
    let mut parts = counts.split('*');
    let ty = parts.next().unwrap_or("");
    let sizes: Option<Vec<usize>> = parts.map(|part| part.parse().ok()).collect();
    match sizes {
        Some(sizes) if !sizes.is_empty() => format!("{ty}{range}*{}", sizes.iter().product::<usize>()),
        _ => word.to_owned(),
    }
}

/// A decompiled source and the cases of its kernels.
struct SourceText {
    functions: Vec<FunctionC>,
    /// The cases, by the name that the source gives the kernel.
    cases: BTreeMap<String, Vec<Case>>,
    /// The names of the kernels in the cubin.
    kernels: Vec<String>,
}

impl SourceText {
    fn read(program: &Program, cubin: &[u8], options: &Options) -> Result<Self> {
        let stem = stem(&program.path);
        let text = if program.is_cubin() { String::new() } else { fs::read_to_string(&program.path)? };
        let lines = text.lines().filter_map(|line| line.strip_prefix("//CASE "));
        let words = |line: &str| line.split_whitespace().map(in_table).collect::<Vec<_>>().join(" ");
        let table: String = lines.map(|line| format!("{stem} {}\n", words(line))).collect();
        let mut all: BTreeMap<String, Vec<Case>> = BTreeMap::new();
        for case in cases::read(&table) {
            all.entry(case.kernel.clone()).or_default().push(case);
        }
        for case in cases::all().into_iter().filter(|case| case.file == stem) {
            all.entry(case.kernel.clone()).or_default().push(case);
        }
        let module = Module::load(&mut Device::new(), cubin)?;
        let kernels = module.kernels().iter().map(|kernel| kernel.name.clone()).collect();
        Ok(Self { functions: decompiled(cubin, options)?, cases: all, kernels })
    }

    /// Returns a kernel of the cubin with its cases.
    fn kernel(&self, name: &str) -> Option<Kernel> {
        self.kernels.iter().find(|kernel| *kernel == name)?;
        let readable = demangle(name.as_bytes()).unwrap_or_else(|| name.to_owned());
        let plain = readable.split('(').next().unwrap_or(&readable).trim_start_matches("void ");
        let cases = self.cases.get(name).or_else(|| self.cases.get(plain)).cloned().unwrap_or_default();
        Some(Kernel { name: name.to_owned(), cases })
    }
}

/// Returns a case without tolerances, except for results that are never the same, such as clocks.
fn exact(case: &Case) -> Case {
    let mut exact = case.clone();
    let variables = exact.variables.iter_mut().map(|variable| &mut variable.1);
    for parameter in exact.parameters.iter_mut().chain(variables) {
        parameter.tolerances.retain(|tolerance| tolerance.units == compare::ANY);
    }
    exact
}

/// A kernel and its cases.
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) cases: Vec<Case>,
}

impl Kernel {
    /// Runs both cubins. The error says why the original can't be run.
    fn compare(&self, original: &[u8], other: &[u8], function: &FunctionC) -> Result<Verdict, String> {
        let different = |what| Ok(Verdict::Different(what));
        if let Err(error) = Module::load(&mut Device::new(), other) {
            return different(format!("the emulator rejects the new cubin: {error}"));
        }
        if self.cases.is_empty() {
            return self.compare_invented(original, other, function);
        }
        for case in &self.cases {
            let case = Case { kernel: self.name.clone(), ..case.clone() };
            let exact = exact(&case);
            for round in 0..ROUNDS {
                let inputs = case.inputs(round);
                let (expected, _) =
                    emulated::run(original, &case, &inputs).map_err(|fault| fault.to_string())?;
                match emulated::run(other, &case, &inputs) {
                    Err(fault) => return different(fault.to_string()),
                    Ok((found, _)) if found == expected => {}
                    Ok((found, _)) => {
                        if let Some(what) = compare::difference(&exact, &expected, &found) {
                            return different(what);
                        }
                    }
                }
            }
        }
        Ok(Verdict::Equal)
    }

    /// As [`Self::compare`], on invented inputs.
    fn compare_invented(
        &self,
        original: &[u8],
        other: &[u8],
        function: &FunctionC,
    ) -> Result<Verdict, String> {
        let (Ok(original), Ok(other)) = (Trials::new(original), Trials::new(other)) else {
            return Err("not loaded".to_owned());
        };
        let other = other.with_patience(PATIENCE);
        let known = function.result.as_ref().map_or(&[][..], |text| &text.parameters);
        let all = original.fields(&self.name, known).ok_or("too many parameters")?;
        let mut last = "ended without writing".to_owned();
        let mut launches = 0;
        let mut verdict = Verdict::Equal;
        let end = Instant::now() + TIME;
        // Small numbers first: larger ones may be outside of what the kernel is for.
        let fillings = FILLINGS.into_iter().rev().chain(further_fillings());
        for filling in fillings {
            if launches == LAUNCHES || Instant::now() > end {
                break;
            }
            let fields = original.infer(&self.name, &all, filling);
            let expected = original.run(&self.name, &fields, filling, false);
            match &expected.result {
                Ok(()) if !expected.changed => continue,
                Ok(()) => {}
                Err(reason) => {
                    last = kind(reason);
                    continue;
                }
            }
            let found = other.run(&self.name, &fields, filling, false);
            let mut buffers = expected.buffers().iter().zip(found.buffers());
            let what = match &found.result {
                Err(reason) => reason.to_string(),
                Ok(()) if !buffers.clone().all(|(one, other)| same_but_for_nans(&one.1, &other.1)) => {
                    "other contents of a buffer".to_owned()
                }
                Ok(()) => match original.different_variable(&expected, &other, &found) {
                    Some(name) => format!("other contents of the variable {name}"),
                    None => {
                        launches += 1;
                        if buffers.any(|(one, other)| one.1 != other.1) {
                            verdict = Verdict::Near;
                        }
                        continue;
                    }
                },
            };
            match original.reason_to_differ(&self.name, &fields, filling) {
                Some(why) => last = format!("undefined: {why}"),
                None => return Ok(Verdict::Different(what)),
            }
        }
        if launches > 0 {
            return Ok(verdict);
        }
        Err(last)
    }
}
