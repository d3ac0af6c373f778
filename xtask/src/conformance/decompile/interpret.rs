//! `cargo xtask conformance decompile-interpret`: runs kernels in the emulator, and what the decompiler makes of them in
//! the interpreter, on the same invented inputs. They must leave the same memory.
//!
//! A function is interpreted at three stages: as the front end lifted it, after all passes, and as the statements of its
//! text. So the first stage that differs shows which part of the decompiler is at fault. `--sample N` takes every N-th kernel.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::decompile::{self, FunctionC};
use unshade::decompiler::Options;
use unshade::decompiler::ir::Module;
use unshade::decompiler::ir::code::Code;
use unshade::nv::Cubin;
use unshade_emulate::interpret::Function;
use unshade_emulate::trial::{FILLINGS, Trials, hash};

use super::super::kernel_runs::kind;
use super::{all_cubins, short};

/// The stages at which functions are interpreted. The first two are names of passes.
const STAGES: [&str; 3] = ["lift", "hoist", "text"];

/// How many times as many steps as instructions the interpreter may execute.
const PATIENCE: u64 = 8;

/// What became of a kernel.
enum Verdict {
    /// All stages leave the memory that the machine code leaves.
    Equal,
    /// A stage does not: its number, and how.
    Different(usize, String),
    /// The decompiler reports that the function is not complete.
    Incomplete,
    /// The emulator can't run it on any inputs.
    NotRun(String),
}

pub(in super::super) fn run(sample: Option<usize>) -> Result<()> {
    let sample = sample.unwrap_or(1).max(1);
    let cubins = all_cubins()?;
    let mut wanted: BTreeMap<(u64, usize), (usize, String)> = BTreeMap::new();
    for (index, data) in cubins.iter().enumerate() {
        let names = Trials::new(data).map(|loaded| {
            loaded.module.kernels().iter().map(|kernel| kernel.name.clone()).collect::<Vec<_>>()
        });
        for name in names.into_iter().flatten() {
            // Kernels of packages may be in several cubins.
            wanted.entry((hash(&name), cubins[index].len())).or_insert((index, name));
        }
    }
    let mut by_cubin: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (index, name) in wanted.into_values().step_by(sample) {
        by_cubin.entry(index).or_default().push(name);
    }
    let jobs: Vec<(usize, Vec<String>)> = by_cubin.into_iter().collect();
    let verdicts: Vec<(String, Verdict)> =
        jobs.par_iter().with_max_len(1).flat_map(|(index, names)| check(&cubins[*index], names)).collect();
    report(&verdicts)
}

fn report(verdicts: &[(String, Verdict)]) -> Result<()> {
    let (mut equal, mut incomplete) = (0, 0);
    let mut different = [0; STAGES.len()];
    let mut not_run: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, verdict) in verdicts {
        match verdict {
            Verdict::Equal => equal += 1,
            Verdict::Incomplete => incomplete += 1,
            Verdict::NotRun(why) => *not_run.entry(why).or_default() += 1,
            Verdict::Different(stage, what) => {
                different[*stage] += 1;
                println!("differs after {}: {}: {what}", STAGES[*stage], short(name));
            }
        }
    }
    println!("kernels: {}", verdicts.len());
    println!("the emulator and all stages leave the same memory: {equal}");
    for (stage, count) in STAGES.iter().zip(different) {
        println!("different from stage {stage} on: {count}");
    }
    println!("incomplete: {incomplete}");
    for (why, count) in not_run {
        println!("  not run: {why}: {count}");
    }
    let count: usize = different.iter().sum();
    ensure!(count == 0, "{count} kernels differ");
    Ok(())
}

/// A cubin's functions as text and, by stage, as code.
struct Stages {
    functions: Vec<FunctionC>,
    codes: [Vec<Function>; STAGES.len()],
}

impl Stages {
    /// Decompiles a cubin.
    fn new(cubin: &Cubin<'_>) -> Self {
        let lifted: RefCell<[Option<Code>; 2]> = RefCell::default();
        let mut observe = |pass: &str, module: &Module<'_>| {
            if let Some(stage) = STAGES.iter().position(|stage| *stage == pass) {
                lifted.borrow_mut()[stage] = Some(Code::new(module));
            }
        };
        let mut stages = Self { functions: Vec::new(), codes: Default::default() };
        let options = Options { with_code: true, ..Options::default() };
        decompile::cubin_with(
            cubin,
            &|_| true,
            &options,
            None,
            &mut Diagnostics::new(),
            Some(&mut observe),
            &mut |mut function| {
                let [first, second] = lifted.take();
                let text = function.result.as_mut().ok().and_then(|text| text.code.take());
                for (codes, code) in stages.codes.iter_mut().zip([first, second, text]) {
                    let symbol = function.name.clone();
                    codes.extend(code.map(|code| Function { symbol, code }));
                }
                stages.functions.push(function);
            },
        );
        stages
    }
}

fn check(data: &[u8], names: &[String]) -> Vec<(String, Verdict)> {
    let Ok(cubin) = Cubin::read(Reader::new(data)) else { return Vec::new() };
    let Ok(loaded) = Trials::new(data) else { return Vec::new() };
    let patient = loaded.clone().with_patience(PATIENCE);
    let stages = Stages::new(&cubin);
    let verdicts = names.par_iter().with_max_len(1).map(|name| {
        let verdict = kernel(data, &loaded, &patient, &stages, name);
        (name.clone(), verdict)
    });
    verdicts.collect()
}

/// Returns the run of a pass after which a kernel differs first.
fn first_pass(
    data: &[u8],
    name: &str,
    stages: &Stages,
    is_different: &dyn Fn(&[Function]) -> bool,
) -> String {
    let Ok(cubin) = Cubin::read(Reader::new(data)) else { return String::new() };
    let mut found = None;
    let mut runs = 0;
    let mut observe = |pass: &str, module: &Module<'_>| {
        runs += 1;
        if found.is_some() || !module.is_kernel {
            return;
        }
        let mut codes = stages.codes[0].clone();
        let own = codes.iter_mut().filter(|function| function.symbol == name);
        own.for_each(|function| function.code = Code::new(module));
        if is_different(&codes) {
            found = Some(format!("{pass} (run {runs})"));
        }
    };
    let wanted = |function: &unshade::nv::function::Function<'_>| function.name() == name.as_bytes();
    let (options, mut ignored) = (Options::default(), Diagnostics::new());
    decompile::cubin_with(&cubin, &wanted, &options, None, &mut ignored, Some(&mut observe), &mut |_| {});
    found.unwrap_or_else(|| "all passes".to_owned())
}

fn kernel(data: &[u8], loaded: &Trials, patient: &Trials, stages: &Stages, name: &str) -> Verdict {
    let function = stages.functions.iter().find(|function| function.name == name);
    let Some(Ok(text)) = function.map(|function| &function.result) else { return Verdict::Incomplete };
    if text.unlifted > 0 {
        return Verdict::Incomplete;
    }
    let Some(all) = loaded.fields(name, &text.parameters) else {
        return Verdict::NotRun("too many parameters".to_owned());
    };
    let mut last = "ended without writing".to_owned();
    for filling in FILLINGS {
        let fields = loaded.infer(name, &all, filling);
        match loaded.reliable(name, &fields, filling) {
            Ok(Some(expected)) => {
                for (stage, codes) in stages.codes.iter().enumerate() {
                    let difference = |codes: &[Function]| {
                        let found = patient.run_as(Some(codes), name, &fields, filling, false);
                        expected.difference(&found).filter(|_| !found.divides_by_zero)
                    };
                    let Some(what) = difference(codes) else { continue };
                    if let Some(why) = loaded.reason_to_differ(name, &fields, filling) {
                        return Verdict::NotRun(why.split(" at ").next().unwrap_or(&why).to_owned());
                    }
                    let pass = first_pass(data, name, stages, &|codes| difference(codes).is_some());
                    return Verdict::Different(stage, format!("{what}; first after {pass}"));
                }
                return Verdict::Equal;
            }
            Ok(None) => {}
            Err(reason) => last = kind(&reason),
        }
    }
    Verdict::NotRun(last)
}
