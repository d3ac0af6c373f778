//! `cargo xtask conformance decompile-run`: runs kernels for sm_30 from the packages, selected by a hash of their
//! names, in the emulator and as C on the host, on the same random inputs. The resulting memory must be the same.
//!
//! The C runs on memory at the same addresses as in the emulator (`tests/cuda/cuda_case.h`), so pointers are equal. The
//! host runs the threads of a block one after the other between barriers, so kernels that rely on warps running in
//! lockstep are skipped; the emulator detects them (`Limits::ordered`). Kernels with `MUFU` may differ by [`UNITS`] in
//! the last place of a float; all NaNs are equal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::decompiler::c::{self, CUDA, Language};
use unshade::decompiler::{Decompiled, Options};
use unshade::nv::Cubin;
use unshade::nv::cubin::Role;
use unshade::nv::function::Function;
use unshade::sass::Instruction;
use unshade_emulate::module::Variable;
use unshade_emulate::trial::{FILLINGS, Trials, hash};
use unshade_tests::closed_loop::host::{host_options, retry_options};
use unshade_tests::closed_loop::same_addresses::{Case, HostCompiler, Verdict};

use super::super::kernel_runs::kind;
use super::{packages, short};

/// Number of kernels to compare.
const SAMPLE: usize = 500;

/// Number of kernels to prepare, compile and run in one round.
const CHUNK: usize = 96;

/// Number of kernels per compiled program.
const GROUP: usize = 8;

/// Allowed difference for kernels with `MUFU`, in units in the last place of a float.
const UNITS: u64 = 4;

/// A kernel that is ready for comparison.
struct Prepared {
    name: String,
    /// The output of the decompiler.
    text: String,
    case: Case,
    steps: u64,
}

#[derive(Default)]
struct Counts {
    tried: usize,
    skipped: BTreeMap<String, usize>,
    same: usize,
    near: usize,
    wrong: usize,
    steps: u64,
}

pub(in super::super) fn run(
    sample: Option<usize>,
    language: &'static Language,
    failures: Option<&Path>,
) -> Result<()> {
    let scratch = std::env::temp_dir().join(format!("unshade-decompile-run-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let result = run_in(&scratch, sample.unwrap_or(SAMPLE), language, failures);
    let _ = fs::remove_dir_all(&scratch);
    result
}

fn run_in(scratch: &Path, wanted: usize, language: &'static Language, failures: Option<&Path>) -> Result<()> {
    if let Some(folder) = failures {
        fs::create_dir_all(folder)?;
    }
    let cubins = packages::cubins(30)?;
    let loaded: Vec<(Trials, &[u8])> =
        cubins.iter().filter_map(|data| Some((Trials::new(data).ok()?, data.as_slice()))).collect();
    let mut kernels = BTreeMap::new();
    for pair in &loaded {
        for kernel in pair.0.module.kernels() {
            kernels.entry(hash(&kernel.name)).or_insert((pair, kernel.name.as_str()));
        }
    }
    ensure!(!kernels.is_empty(), "the packages are missing: run `cargo xtask corpus --set cuda`");
    println!("kernels for sm_30 by name: {}", kernels.len());
    let compiler = HostCompiler::new(scratch, "-O1").map_err(anyhow::Error::msg)?;
    let mut counts = Counts::default();
    let kernels: Vec<(&(Trials, &[u8]), &str)> = kernels.into_values().collect();
    for chunk in kernels.chunks(CHUNK) {
        let missing = wanted.saturating_sub(counts.same + counts.near + counts.wrong);
        if missing == 0 {
            break;
        }
        // Take as many as are probably needed.
        let chunk = &chunk[..chunk.len().min(missing.saturating_mul(4))];
        let prepared: Vec<Result<Prepared, String>> = chunk
            .par_iter()
            .with_max_len(1)
            .map(|(pair, name)| prepare(&pair.0, pair.1, name, language))
            .collect();
        counts.tried += prepared.len();
        let mut cases = Vec::new();
        for prepared in prepared {
            match prepared {
                Ok(case) => cases.push(case),
                Err(reason) => *counts.skipped.entry(reason).or_default() += 1,
            }
        }
        let groups: Vec<(usize, &[Prepared])> = cases.chunks(GROUP).enumerate().collect();
        let verdicts: Vec<Vec<Verdict>> = groups
            .par_iter()
            .with_max_len(1)
            .map(|(number, group)| {
                let cases: Vec<Case> = group.iter().map(|prepared| prepared.case.clone()).collect();
                compiler.run(&cases, *number)
            })
            .collect();
        for (prepared, verdict) in cases.iter().zip(verdicts.into_iter().flatten()) {
            counts.steps += prepared.steps;
            match verdict {
                Verdict::Same => counts.same += 1,
                Verdict::Near => counts.near += 1,
                Verdict::Wrong(what) => {
                    counts.wrong += 1;
                    println!("differs: {}: {what}", prepared.name);
                    if let Some(folder) = failures {
                        fs::write(folder.join(format!("{}.cu", short(&prepared.name))), &prepared.text)?;
                    }
                }
            }
        }
    }
    counts.print();
    ensure!(counts.wrong == 0, "{} kernels differ", counts.wrong);
    Ok(())
}

impl Counts {
    fn print(&self) {
        println!("kernels tried: {}", self.tried);
        println!(
            "the emulator and the C produce the same memory: {} ({} warp instructions)",
            self.same, self.steps
        );
        println!("equal except for {UNITS} units in the last place, with MUFU: {}", self.near);
        println!("they differ: {}", self.wrong);
        let mut skipped: Vec<_> = self.skipped.iter().collect();
        skipped.sort_by_key(|skipped| std::cmp::Reverse(skipped.1));
        for (reason, count) in skipped {
            println!("  not compared: {reason}: {count}");
        }
    }
}

/// Decompiles a kernel and finds inputs for which it terminates and writes something.
fn prepare(
    loaded: &Trials,
    data: &[u8],
    name: &str,
    language: &'static Language,
) -> Result<Prepared, String> {
    let cubin = Cubin::read(Reader::new(data)).map_err(|error| error.to_string())?;
    let wanted = |function: &Function<'_>| function.name() == name.as_bytes();
    let decompile = |options: &Options| {
        let mut found: Option<Result<Decompiled, String>> = None;
        unshade::decompile::cubin(&cubin, &wanted, options, &mut Diagnostics::new(), &mut |function| {
            found = Some(function.result.map_err(|fault| fault.to_string()));
        });
        found.ok_or("there is no such function")?
    };
    let mut found = decompile(&Options { language, ..host_options() })?;
    if let Some(options) = retry_options(&found).filter(|_| language == &CUDA) {
        found = decompile(&options)?;
    }
    if found.unlifted > 0 {
        return Err("not all of it is C".into());
    }
    let all = loaded.fields(name, &found.parameters).ok_or("too many parameters")?;
    let mut last = String::new();
    for filling in FILLINGS {
        let fields = loaded.infer(name, &all, filling);
        match loaded.reliable(name, &fields, filling) {
            Ok(Some(outcome)) => {
                let text = found.text();
                let case = Case {
                    name: c::identifier(name),
                    text: for_host(&text, &cubin, loaded, name),
                    grid: outcome.grid,
                    before: outcome.before,
                    arguments: outcome.arguments,
                    after: outcome.after,
                    units: if has_mufu(&cubin, name) { UNITS } else { 0 },
                    is_float: |_| true,
                };
                return Ok(Prepared { name: String::from(name), text, case, steps: outcome.steps });
            }
            Ok(None) if last.is_empty() => last = "ended without writing".into(),
            Ok(None) => {}
            Err(reason) => last = kind(&reason),
        }
    }
    Err(last)
}

/// Returns whether a kernel contains an approximate instruction.
fn has_mufu(cubin: &Cubin<'_>, name: &str) -> bool {
    let Some(isa) = unshade::sass_listing::instruction_set(cubin) else { return false };
    let function = cubin.functions().find(|function| function.name() == name.as_bytes());
    let bytes = function.and_then(|function| cubin.elf().bytes(function.section.as_ref()?).ok());
    let Some(bytes) = bytes else { return false };
    let words = bytes.data().chunks_exact(isa.word_bytes).filter_map(|bytes| isa.word(bytes));
    words
        .filter_map(|word| Instruction::decode(isa, word))
        .any(|instruction| instruction.operation().name.starts_with("MUFU"))
}

/// Adapts shared memory, constant banks and global variables for the host.
fn for_host(text: &str, cubin: &Cubin<'_>, loaded: &Trials, name: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for line in text.lines() {
        let trimmed = line.trim();
        let shared = trimmed.strip_prefix("__shared__ ").and_then(|rest| rest.split_once(" shared["));
        if trimmed.starts_with("extern __shared__ ") {
            // Dynamic shared memory is the header's.
        } else if let Some((ty, _)) = shared {
            let _ = writeln!(all, "    {ty} *shared = ({ty} *)dynamic_shared;");
        } else if let Some((ty, rest)) =
            trimmed.strip_prefix("extern __constant__ ").and_then(|rest| rest.split_once(" constant_"))
        {
            let bank = rest.split('[').next().and_then(|number| number.parse().ok()).unwrap_or(0);
            let bytes: Vec<String> = constants(cubin, name, bank).iter().map(u8::to_string).collect();
            let _ = writeln!(
                all,
                "    alignas(16) static const unsigned char bank_{bank}[] = {{{}}};\n    const {ty} *constant_{bank} = (const {ty} *)bank_{bank};",
                bytes.join(",")
            );
        } else if let Some(rest) = trimmed
            .strip_prefix("extern ")
            .unwrap_or(trimmed)
            .strip_prefix("__device__ unsigned char ")
            .or_else(|| line.trim_start_matches("extern ").strip_prefix("unsigned char "))
            .filter(|rest| rest.ends_with("];"))
        {
            let variable = rest.split('[').next().unwrap_or("");
            let found = loaded.module.variables().iter().find(|(name, _)| c::identifier(name) == variable);
            let address = match found {
                Some((_, Variable::Global(pointer, _))) => pointer.0,
                _ => 0,
            };
            let _ = writeln!(all, "static unsigned char *const {variable} = (unsigned char *){address:#x};");
        } else {
            all.push_str(line);
            all.push('\n');
        }
    }
    all
}

/// Returns the content of a constant bank at the launch of a kernel.
fn constants(cubin: &Cubin<'_>, name: &str, bank: u8) -> Vec<u8> {
    let function = cubin.functions().find(|function| function.name() == name.as_bytes());
    let own = function.into_iter().flat_map(|function| function.sections(cubin));
    let own = own.filter(|section| Role::of(section).0 == Role::Constant(bank));
    let common =
        cubin.elf().sections().filter(|section| Role::of(section) == (Role::Constant(bank), &b""[..]));
    let mut all = own.chain(common);
    let bytes = all.find_map(|section| Some(cubin.elf().bytes(&section).ok()?.data().to_vec()));
    bytes.filter(|bytes| !bytes.is_empty()).unwrap_or_else(|| vec![0; 16])
}
