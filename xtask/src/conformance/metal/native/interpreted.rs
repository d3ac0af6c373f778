//! The interpreter beside native runs: a kernel's module, compiled as LLVM, and the same module in `unshade_emulate::metal`.
//!
//! The program of `tests/metal/runtime` runs the native side and writes its buffers to files, before and after each run. The
//! interpreter gets the same buffers, with as much room around them, and has to leave the same: the same bytes, floats
//! within 2 units of the last place. Where a native run ends in a fault, the interpreter has to find one of that kind.
//!
//! | column | |
//! |---|---|
//! | built | the module compiles and runs natively |
//! | same, near, diff | as in the table of native runs |
//! | none, fault | nothing is written; both sides fault in the same way in all runs |
//! | native, ours | only this side faults, or the sides fault differently |
//!
//! Conversions saturate on both sides, and no access needs an alignment ([`saturated`](super::saturated)). A difference in a
//! run that did something else that the language leaves open says so, and so does one of NaNs' bits alone. Signs of computed
//! NaNs do not count.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::decompiler::air;
use unshade::decompiler::ir::metal::interface::MetalProgram;
use unshade::decompiler::ir::metal::types::ValueType;
use unshade::llvm::Module;
use unshade_emulate::metal::{Argument, Buffer, Grid, Limits, Machine, Reason, Rules, Summary, Undefined};

use super::cases::Case;
use super::compared::{Difference, compare, compare_around};
use super::module::{Field, Kernel, Slot};
use super::planted::plant;
use super::saturated::saturated;
use super::tools::Tools;
use super::{Files, Verdict as Native, build_module, host_kernel, job};
use crate::sh;

/// The bytes around a buffer that natively are zeros: half a region of `tests/metal/runtime/memory.cpp`.
const MARGIN: u64 = 64 << 20;

/// Bytes of memory of a threadgroup that an argument has.
const THREADGROUP: u64 = 32 << 10;

/// What pointers in buffers point to: `POINTERS * ROOM` of `tests/metal/runtime/memory.h`.
const POOL: &str = "what pointers point to";

/// Limits of a run: native ones end after 4 seconds.
const LIMITS: Limits = Limits { steps: 300_000_000, memory: 1 << 30, depth: 64 };

/// The most kernels that get a planted fault.
const PLANTED: usize = 100;

/// The largest number of causes that are printed.
const SHOWN: usize = 40;

/// What became of a kernel.
pub(super) enum Verdict {
    Refused {
        step: &'static str,
        reason: String,
    },
    Same(u64),
    Near {
        distance: u64,
        numbers: u64,
    },
    /// With what the language leaves open, and whether only NaNs differ, in their bits.
    Different {
        text: String,
        undefined: Undefined,
        is_only_nans: bool,
    },
    Unwritten,
    /// Both sides fault.
    Fault(String),
    OnlyNative(String),
    OnlyOurs(String),
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { step, reason } => write!(f, "{step}: {reason}"),
            Self::Same(numbers) => write!(f, "{numbers} numbers are the same"),
            Self::Near { distance, .. } => write!(f, "differs by {distance} units of the last place"),
            Self::Different { text, .. } => write!(f, "differs: {text}"),
            Self::Unwritten => f.write_str("nothing is written"),
            Self::Fault(reason) => write!(f, "both sides fault: {reason}"),
            Self::OnlyNative(reason) => write!(f, "faults natively: {reason}"),
            Self::OnlyOurs(reason) => write!(f, "faults in the interpreter: {reason}"),
        }
    }
}

/// A kernel that was run.
pub(super) struct Run<'c> {
    case: &'c Case,
    verdict: Verdict,
}

/// Runs kernels in the interpreter that run natively, and prints a table.
pub(super) fn run<'c>(
    tools: &Tools,
    cases: &[(usize, &'c Case)],
    files: &(impl Fn(usize) -> Files + Sync),
    failures: Option<&Path>,
) -> Result<()> {
    let runs = cases.par_iter().map(|&(number, case)| {
        let verdict = one(tools, case, &files(number))?;
        Ok(Run { case, verdict })
    });
    let runs: Vec<Run<'c>> = runs.collect::<Result<_>>()?;
    print(&runs);
    plant_faults(tools, cases, &runs, files)?;
    if let Some(failures) = failures {
        write_failures(&runs, failures)?;
    }
    let silent = runs.iter().filter(|run| is_silent(&run.verdict)).count();
    ensure!(silent == 0, "{silent} kernels differ without a cause");
    Ok(())
}

/// Changes an operation of kernels that are equal, on the native side alone, and counts the differences that are found.
fn plant_faults(
    tools: &Tools,
    cases: &[(usize, &Case)],
    runs: &[Run<'_>],
    files: &(impl Fn(usize) -> Files + Sync),
) -> Result<()> {
    let equal: Vec<_> =
        cases.iter().zip(runs).filter(|(_, run)| matches!(run.verdict, Verdict::Same(_))).collect();
    let step = equal.len().div_ceil(PLANTED).max(1);
    let chosen: Vec<_> = equal.into_iter().step_by(step).map(|(case, _)| case).collect();
    let planted = chosen.par_iter().map(|&&(number, case)| {
        let verdict = changed(tools, case, &files(number), &|text| plant(&text))?;
        Ok((case, verdict))
    });
    let mut planted: Vec<(&Case, Verdict)> = planted.collect::<Result<_>>()?;
    planted.retain(|(_, verdict)| !matches!(verdict, Verdict::Refused { .. }));
    let is_unseen = |verdict: &Verdict| matches!(verdict, Verdict::Same(_) | Verdict::Near { .. });
    let unseen: Vec<_> = planted.iter().filter(|(_, verdict)| is_unseen(verdict)).collect();
    println!("\nplanted faults: {} of {} are found", planted.len() - unseen.len(), planted.len());
    for (case, _) in unseen.iter().take(20) {
        println!("  not found: {}", case.name);
    }
    Ok(())
}

/// Returns whether a kernel is different, and nothing says why.
fn is_silent(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Different { undefined, is_only_nans: false, .. } if undefined.is_empty())
}

/// Compiles and runs a kernel natively, and runs it here.
pub(super) fn one(tools: &Tools, case: &Case, files: &Files) -> Result<Verdict> {
    changed(tools, case, files, &|text| Some(text))
}

/// Compiles and runs a changed kernel natively, and runs it here without the change.
fn changed(
    tools: &Tools,
    case: &Case,
    files: &Files,
    change: &dyn Fn(String) -> Option<String>,
) -> Result<Verdict> {
    let refused = |native: Native| match native {
        Native::Refused { step, reason } => Verdict::Refused { step, reason },
        _ => Verdict::Refused { step: "build", reason: "unknown".into() },
    };
    if !case.is_kernel {
        return Ok(Verdict::Refused { step: "run", reason: "no kernel".into() });
    }
    let kernel = match host_kernel(case) {
        Ok(kernel) => kernel,
        Err(native) => return Ok(refused(native)),
    };
    let library = files.path("saturated.so");
    let Some(text) = change(saturated(&kernel.text)) else {
        return Ok(Verdict::Refused { step: "change", reason: "there is nothing to change".into() });
    };
    if let Some(native) = build_module(tools, &text, &files.path("bc"), &library)? {
        return Ok(refused(native));
    }
    fs::write(files.path("left"), job::text(&kernel, &library, Path::new("none")))?;
    let folder = files.path("dump");
    fs::create_dir_all(&folder)?;
    let output = Command::new(&tools.runner).arg("--left").arg(files.path("left")).arg(&folder).output()?;
    let verdict = match String::from_utf8_lossy(&output.stdout).trim() {
        "done" => beside(case, &kernel, &folder)?,
        "" => Verdict::Refused { step: "run", reason: "the runtime crashes".into() },
        said => Verdict::Refused { step: "load", reason: super::without_paths(said) },
    };
    fs::remove_dir_all(&folder)?;
    fs::remove_file(&library)?;
    Ok(verdict)
}

/// Returns how the module of a kernel leaves its own variables on the inputs of the native run, if it does.
pub(super) fn leaves_variables(tools: &Tools, case: &Case, files: &Files) -> Result<Option<String>> {
    Ok(match one(tools, case, files)? {
        Verdict::OnlyOurs(reason) | Verdict::Fault(reason) if reason.contains("outside of a variable") => {
            Some(reason)
        }
        _ => None,
    })
}

/// A kernel in the interpreter.
struct Side<'p> {
    machine: Machine<'p>,
    arguments: Vec<Argument>,
    /// Buffers with the number of their slot.
    buffers: Vec<(usize, Buffer)>,
    pool: Option<Buffer>,
}

/// Runs a kernel in the interpreter on what was dumped, and compares.
fn beside(case: &Case, kernel: &Kernel, folder: &Path) -> Result<Verdict> {
    let module = Module::parse(&case.module, 0).context("it was read before")?;
    let program = air::lift(&module);
    let mut side = Side::new(&program, kernel, folder)?;
    let (mut total, mut undefined, mut fault, mut has_run) =
        (Difference::default(), Undefined::default(), None, false);
    for (run, [threads, groups]) in job::grids(kernel).into_iter().enumerate() {
        side.prepare(kernel, folder, run)?;
        let ours = side.machine.run(&case.name, Grid { threads, groups }, &side.arguments);
        let native = fs::read_to_string(folder.join(format!("{run}.fault"))).ok();
        match (native, ours) {
            (None, Ok(Summary { undefined: found, .. })) => {
                has_run = true;
                undefined = add(undefined, found);
                side.compare(kernel, folder, run, &mut total)?;
            }
            (Some(native), Err(ours)) if is_same_fault(&native, &ours.reason) => fault = Some(native),
            (Some(native), Err(ours)) => {
                return Ok(Verdict::OnlyOurs(format!("natively it {native}; here: {}", kind(&ours.reason))));
            }
            (Some(native), Ok(_)) => return Ok(Verdict::OnlyNative(native)),
            (None, Err(ours)) => return Ok(Verdict::OnlyOurs(kind(&ours.reason))),
        }
    }
    Ok(match (fault, total.first) {
        (Some(fault), _) if !has_run => Verdict::Fault(fault),
        (_, Some(first)) => {
            let text = format!("{} of {} numbers: {first}", total.differing, total.written);
            Verdict::Different { text, undefined, is_only_nans: !total.is_more_than_nans }
        }
        _ if total.written == 0 => Verdict::Unwritten,
        _ if total.largest > 0 => Verdict::Near { distance: total.largest, numbers: total.written },
        _ => Verdict::Same(total.written),
    })
}

fn add(a: Undefined, b: Undefined) -> Undefined {
    Undefined {
        shifts: a.shifts + b.shifts,
        conversions: a.conversions + b.conversions,
        lanes: a.lanes + b.lanes,
        indices: a.indices + b.indices,
        nans: a.nans + b.nans,
    }
}

/// Returns whether a native fault and one of the interpreter are the same.
fn is_same_fault(native: &str, ours: &Reason) -> bool {
    match ours {
        Reason::OutOfBounds(_) | Reason::Constant(_) => native.starts_with("accesses memory"),
        Reason::DivisionByZero | Reason::DivisionOverflow => native == "divides by zero",
        Reason::Steps => native == "does not end",
        Reason::Trap | Reason::Unsound => native == "reaches a trap",
        _ => false,
    }
}

/// Returns a reason without names and numbers of the kernel, so that the same ones are counted together.
fn kind(reason: &Reason) -> String {
    match reason {
        Reason::OutOfBounds(access) => {
            let verb = if access.is_write { "writes" } else { "reads" };
            let place = access.place.as_ref().map_or("no variable", |place| match place.0.as_str() {
                "a variable of the thread" => "a variable of the thread",
                name if name.starts_with("argument ") => "a buffer",
                _ => "a variable of the program",
            });
            format!("{verb} outside of {place}")
        }
        Reason::FunctionConstant(_) => "a function constant has no value".into(),
        Reason::Constant(_) => "writes to constant memory".into(),
        Reason::Function(_) => "a function is not in the program".into(),
        reason => reason.to_string(),
    }
}

impl<'p> Side<'p> {
    fn new(program: &'p MetalProgram, kernel: &Kernel, folder: &Path) -> Result<Self> {
        let mut machine = Machine::new(program, LIMITS);
        machine.rules = Rules { barriers_pass_ended_threads: true };
        set_function_constants(program, &mut machine);
        let (mut arguments, mut buffers) = (Vec::new(), Vec::new());
        for (number, slot) in kernel.slots.iter().enumerate() {
            arguments.push(match slot {
                Slot::Buffer { .. } => {
                    let bytes = fs::read(folder.join(format!("0.{number}.start")))?;
                    let buffer = machine.buffer(&format!("argument {number}"), bytes);
                    buffers.push((number, buffer));
                    Argument::Buffer(buffer)
                }
                Slot::Threadgroup(_) => Argument::Threadgroup(THREADGROUP),
                Slot::Position(_) | Slot::Other(_) => Argument::Position,
            });
        }
        let number = kernel.slots.len();
        let pool =
            fs::read(folder.join(format!("0.{number}.start"))).ok().map(|bytes| machine.buffer(POOL, bytes));
        buffers.extend(pool.map(|pool| (number, pool)));
        for (_, buffer) in &buffers {
            machine.set_margin(*buffer, MARGIN);
        }
        Ok(Self { machine, arguments, buffers, pool })
    }

    /// Fills all memory with what the native run started with.
    fn prepare(&mut self, kernel: &Kernel, folder: &Path, run: usize) -> Result<()> {
        self.machine.clear_threadgroup_arguments();
        for (number, buffer) in &self.buffers {
            let mut start = fs::read(folder.join(format!("{run}.{number}.start")))?;
            self.translate(kernel, *number, &mut start);
            self.machine.bytes_mut(*buffer).copy_from_slice(&start);
            self.machine.clear_around(*buffer);
        }
        Ok(())
    }

    /// Makes pointers of the native side those of the interpreter: the first one points to the start.
    fn translate(&self, kernel: &Kernel, number: usize, bytes: &mut [u8]) {
        let Some(pool) = self.pool else { return };
        let mut first = None;
        for place in pointers(kernel, number, bytes.len()) {
            let Some(word) = bytes.get_mut(place..place + 8) else { continue };
            let address = u64::from_le_bytes(word.try_into().unwrap_or_default());
            let first = *first.get_or_insert(address);
            word.copy_from_slice(&address.wrapping_sub(first).wrapping_add(pool.address()).to_le_bytes());
        }
    }

    fn compare(&self, kernel: &Kernel, folder: &Path, run: usize, total: &mut Difference) -> Result<()> {
        for (number, buffer) in &self.buffers {
            let read = |name: &str| fs::read(folder.join(format!("{run}.{number}.{name}")));
            let (mut start, mut native, around) = (read("start")?, read("left")?, read("around")?);
            // Pointers that stayed are the same; those that were copied elsewhere are not compared as such.
            self.translate(kernel, *number, &mut start);
            self.translate(kernel, *number, &mut native);
            let (stride, fields) = layout(kernel, *number);
            let ours = self.machine.bytes(*buffer);
            let before = total.first.is_none();
            compare((stride, fields), [&start, &native, ours], total);
            compare_around(fields, ours.len(), &around, self.machine.around(*buffer), total);
            if before && let Some(first) = &mut total.first {
                *first = format!("run {run}, argument {number}, {first}");
            }
        }
        Ok(())
    }
}

/// Returns the bytes of an element of a buffer, and its fields.
fn layout(kernel: &Kernel, number: usize) -> (usize, &[Field]) {
    match kernel.slots.get(number) {
        Some(Slot::Buffer { stride, fields, .. }) => (usize::try_from(*stride).unwrap_or(1).max(1), fields),
        _ => (4, &[]),
    }
}

/// Returns where a buffer has pointers.
fn pointers(kernel: &Kernel, number: usize, size: usize) -> Vec<usize> {
    let (stride, fields) = layout(kernel, number);
    let fields: Vec<&Field> = fields.iter().filter(|field| field.ty == "p64").collect();
    let mut places = Vec::new();
    if fields.is_empty() {
        return places;
    }
    for element in (0..size.saturating_sub(stride - 1)).step_by(stride) {
        for field in &fields {
            places.extend((0..field.count as usize).map(|index| element + field.offset as usize + 8 * index));
        }
    }
    places
}

/// Gives function constants the values that the native side gives them.
fn set_function_constants(program: &MetalProgram, machine: &mut Machine<'_>) {
    let constants: Vec<(u32, usize, ValueType)> = program
        .globals
        .iter()
        .filter_map(|global| match global.kind {
            unshade::decompiler::ir::metal::interface::GlobalKind::FunctionConstant(index) => {
                Some((index, program.types.size(global.ty) as usize, program.types.get(global.ty)))
            }
            _ => None,
        })
        .collect();
    for (index, size, ty) in constants {
        let bits: u64 = match ty {
            ValueType::Bool => u64::from((index + 1) % 2),
            ValueType::Float(32) => u64::from(0.5_f32.to_bits()),
            ValueType::Float(_) => 0x3800,
            ValueType::BFloat => 0x3f00,
            ValueType::Integer(..) => u64::from(8_u32 >> (index % 3)),
            _ => continue,
        };
        machine.set_function_constant(index, &bits.to_le_bytes()[..size.min(8)]);
    }
}

/// The columns of a row.
#[derive(Default)]
struct Row {
    all: usize,
    built: usize,
    columns: [usize; 7],
    numbers: u64,
    distance: u64,
}

impl Row {
    fn add(&mut self, verdict: &Verdict) {
        self.all += 1;
        let column = match verdict {
            Verdict::Refused { .. } => return,
            Verdict::Same(numbers) => {
                self.numbers += numbers;
                0
            }
            Verdict::Near { distance, numbers } => {
                self.numbers += numbers;
                self.distance = self.distance.max(*distance);
                1
            }
            Verdict::Different { .. } => 2,
            Verdict::Unwritten => 3,
            Verdict::Fault(_) => 4,
            Verdict::OnlyNative(_) => 5,
            Verdict::OnlyOurs(_) => 6,
        };
        self.built += 1;
        self.columns[column] += 1;
    }

    fn print(&self, name: &str) {
        let [same, near, different, none, fault, native, ours] = self.columns;
        println!(
            "{name:34} {:6} {:6} | {same:6} {near:6} {different:6} | {none:6} {fault:6} {native:6} {ours:6} {:10} {:4}",
            self.all, self.built, self.numbers, self.distance
        );
    }
}

fn print(runs: &[Run<'_>]) {
    println!(
        "\n{:34} {:>6} {:>6} | {:>6} {:>6} {:>6} | {:>6} {:>6} {:>6} {:>6} {:>10} {:>4}",
        "in the interpreter",
        "all",
        "built",
        "same",
        "near",
        "diff",
        "none",
        "fault",
        "native",
        "ours",
        "numbers",
        "ulps"
    );
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut total = Row::default();
    for run in runs {
        rows.entry(&run.case.set).or_default().add(&run.verdict);
        total.add(&run.verdict);
    }
    for (name, row) in &rows {
        row.print(name);
    }
    total.print("total");
    let [same, near, different, none, fault, native, ours] = total.columns;
    let right = same + near + none + fault;
    let compared = right + different + native + ours;
    if compared > 0 {
        println!("{right} of {compared} are equal: {:.2} %", 100.0 * right as f64 / compared as f64);
    }
    causes(runs);
}

/// Prints why kernels are not equal or not compared, and how often, with one of them.
fn causes(runs: &[Run<'_>]) {
    let mut causes: BTreeMap<(&str, String), (usize, &str)> = BTreeMap::new();
    for run in runs {
        let (what, why) = match &run.verdict {
            Verdict::Refused { step, reason } => (*step, reason.clone()),
            Verdict::Different { is_only_nans: true, .. } => ("differs", "NaNs have other bits".into()),
            Verdict::Different { text, undefined, .. } if undefined.is_empty() => ("differs", text.clone()),
            Verdict::Different { undefined, .. } => {
                let what: Vec<&str> = undefined.rows().map(|row| row.0).collect();
                ("differs, with what the language leaves open", what.join(", "))
            }
            Verdict::OnlyNative(reason) => ("faults natively", reason.clone()),
            Verdict::OnlyOurs(reason) => ("faults in the interpreter", reason.clone()),
            Verdict::Fault(reason) => ("both fault", reason.clone()),
            _ => continue,
        };
        causes.entry((what, why)).or_insert((0, &run.case.name)).0 += 1;
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.1.0));
    println!("\ncauses:");
    for ((what, why), (count, name)) in causes.iter().take(SHOWN) {
        println!("  {count:6} {what}: {why} ({name})");
    }
}

/// Keeps the modules of kernels that are not equal.
fn write_failures(runs: &[Run<'_>], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for run in runs {
        let (Verdict::Different { text: reason, .. }
        | Verdict::OnlyNative(reason)
        | Verdict::OnlyOurs(reason)) = &run.verdict
        else {
            continue;
        };
        let name: String =
            run.case.name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(120).collect();
        fs::write(folder.join(format!("{name}.air")), &run.case.module)?;
        fs::write(
            folder.join(format!("{name}.txt")),
            format!("{}/{}\n{reason}\n", run.case.set, run.case.name),
        )?;
    }
    Ok(())
}

/// Builds and runs kernels natively and in the interpreter, without any source: those of packages, or in these folders.
pub(super) fn run_alone(
    tools: &Tools,
    step: usize,
    folders: &[PathBuf],
    failures: Option<&Path>,
) -> Result<()> {
    let cases = match folders {
        [] => super::cases::of_packages(step)?,
        folders => super::cases::of_folders(folders, step)?,
    };
    println!("{} functions", cases.len());
    let folder = sh::temporary("interpreted");
    fs::create_dir_all(&folder)?;
    let files = |number: usize| Files { folder: folder.clone(), number };
    let numbered: Vec<(usize, &Case)> = cases.iter().enumerate().filter(|(_, case)| case.is_kernel).collect();
    let result = run(tools, &numbered, &files, failures);
    fs::remove_dir_all(&folder)?;
    result
}
