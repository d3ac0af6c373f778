//! `unshade decompile --verify`: runs the statements of the C beside the machine code.

use crate::Outcome;
use crate::args::{DecompileArgs, GlobalArgs};
use crate::commands::run::launch::place_arguments;
use crate::output::Stdout;
use crate::paint;
use anyhow::{Result, bail};
use serde::Serialize;
use std::io::Write;
use unshade::core::Diagnostics;
use unshade::decompile::{self, FunctionC, Header};
use unshade::decompiler::Options;
use unshade::nv::Cubin;
use unshade::nv::function::Function;
use unshade::view::SCHEMA;
use unshade_emulate::interpret;
use unshade_emulate::trial::{self, Comparison, Trials};
use unshade_emulate::{Grid, Limits};

/// How many times as many instructions as usual a trial may execute.
const PATIENCE: u64 = 20;

/// Bytes of memory of a launch.
const MEMORY: u64 = 1 << 30;

/// The output of `--json`.
#[derive(Serialize)]
struct Document {
    schema: u32,
    kernels: Vec<Verified>,
}

/// A kernel, and whether its C does what its machine code does.
#[derive(Serialize)]
pub(super) struct Verified {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<String>,
    /// Number of launches on which both leave the same memory.
    launches: usize,
    /// How they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
    /// Why they were not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// How to compare.
pub(super) struct Request<'r> {
    pub args: &'r DecompileArgs,
    pub options: &'r Options,
    pub header: Option<&'r Header>,
}

/// Compares the selected kernels of a cubin.
pub(super) fn cubin(
    cubin: &Cubin<'_>,
    wanted: &dyn Fn(&Function<'_>) -> bool,
    request: &Request<'_>,
    diagnostics: &mut Diagnostics,
    verified: &mut Vec<Verified>,
) -> Result<()> {
    let Request { args, options, header } = *request;
    let is_wanted = |function: &Function<'_>| function.symbol.is_kernel() && wanted(function);
    let kernels: Vec<Vec<u8>> =
        cubin.functions().filter(is_wanted).map(|function| function.name().to_vec()).collect();
    if kernels.is_empty() {
        return Ok(());
    }
    if kernels.len() > 1 && !args.values.is_empty() {
        bail!("--arg is for one kernel, but {} are selected", kernels.len());
    }
    // Kernels also call functions that are not selected.
    let options = Options { with_code: true, ..*options };
    let decompile = |options: &Options, diagnostics: &mut Diagnostics| {
        let mut functions = Vec::new();
        let mut take = |function| functions.push(function);
        decompile::cubin_with(cubin, &|_| true, options, header, diagnostics, None, &mut take);
        functions
    };
    let mut functions = decompile(&options, diagnostics);
    if decompile::mixes_flushes(&functions, options.language) {
        let options = Options { explicit_flushes: true, ..options };
        functions = decompile(&options, &mut Diagnostics::new());
    }
    let code = |function: &FunctionC| {
        let code = function.result.as_ref().ok()?.code.clone()?;
        Some(interpret::Function { symbol: function.name.clone(), code })
    };
    let codes: Vec<interpret::Function> = functions.iter().filter_map(code).collect();
    let trials = Trials::new(cubin.file().data())?.with_patience(PATIENCE);
    for name in kernels {
        let name = String::from_utf8_lossy(&name).into_owned();
        let Some(function) = functions.iter().find(|function| function.name == name) else { continue };
        let comparison = match &function.result {
            Err(fault) => Comparison::None(fault.to_string()),
            Ok(_) if !args.values.is_empty() => given(cubin, &name, &codes, args)?,
            Ok(found) => trials.compare(&name, &found.parameters, &codes),
        };
        let (launches, difference, reason) = match comparison {
            Comparison::Same(launches) => (launches, None, None),
            Comparison::Different(what) => (0, Some(what), None),
            Comparison::None(why) => (0, None, Some(why)),
        };
        let demangled = function.demangled.clone();
        verified.push(Verified { name, demangled, launches, difference, reason });
    }
    Ok(())
}

/// Compares a kernel on the arguments of the command line.
fn given(
    cubin: &Cubin<'_>,
    kernel: &str,
    codes: &[interpret::Function],
    args: &DecompileArgs,
) -> Result<Comparison> {
    let (module, mut device) = unshade::run::cubin::load(cubin.file().data(), MEMORY)?;
    let (arguments, _) = place_arguments(&module, &mut device, kernel, &args.values)?;
    let grid = Grid { blocks: args.grid.0, threads: args.block.0, shared: args.shared };
    Ok(trial::compare_launch(&module, &device, codes, kernel, grid, &arguments, Limits::default()))
}

/// Prints the result for each kernel. The outcome is a finding unless all kernels were compared and are the same.
pub(super) fn print(verified: Vec<Verified>, global: &GlobalArgs) -> Result<Outcome> {
    let is_same = !verified.is_empty() && verified.iter().all(|kernel| kernel.launches > 0);
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    if global.json {
        let document = Document { schema: SCHEMA, kernels: verified };
        writeln!(stdout, "{}", serde_json::to_string_pretty(&document)?)?;
    } else {
        for kernel in &verified {
            let name = kernel.demangled.as_deref().unwrap_or(&kernel.name).escape_debug();
            match (&kernel.difference, &kernel.reason) {
                (Some(what), _) => {
                    writeln!(stdout, "{}  {name}: {what}", paint::error(&format!("{:<23}", "different")))?;
                }
                (_, Some(why)) => writeln!(stdout, "{:<23}  {name}: {why}", "not compared")?,
                _ => {
                    let launches = match kernel.launches {
                        1 => String::from("the same on 1 launch"),
                        count => format!("the same on {count} launches"),
                    };
                    writeln!(stdout, "{launches:<23}  {name}")?;
                }
            }
        }
    }
    stdout.finish()?;
    Ok(if is_same { Outcome::Done } else { Outcome::Finding })
}
