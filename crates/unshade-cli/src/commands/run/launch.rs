//! What the commands that run kernels share: the cubin, the kernel, its arguments in memory.

use super::READER;
use crate::args::{GlobalArgs, LaunchArgs};
use crate::commands::programs::{each_program, require_selected};
use crate::input::Input;
use anyhow::{Context, Result, anyhow, bail};
use unshade::nv::function::Function;
use unshade::nv_units::{Unit, each_unit};
use unshade::program::{Code, CodeRequest, Verb};
use unshade::run::cubin::{self, PlacedBuffer};
use unshade::sass_listing::instruction_set;
use unshade::select::{Selection, Selector};
use unshade_emulate::{Argument, Device, Grid, Limits, Module};

/// A kernel that is ready to run.
pub(crate) struct Launch {
    pub(crate) cubin: Vec<u8>,
    pub(crate) device: Device,
    pub(crate) module: Module,
    /// The kernel's mangled name.
    pub(crate) kernel: String,
    pub(crate) grid: Grid,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) limits: Limits,
    pub(super) buffers: Vec<PlacedBuffer>,
}

impl Launch {
    /// Loads the cubin that has the kernel, and places the arguments in memory.
    pub(crate) fn new(args: &LaunchArgs, verb: Verb, global: &GlobalArgs) -> Result<Self> {
        let (cubin, kernel) = find_cubin(args, verb, global)?;
        let (module, mut device) = cubin::load(&cubin, args.memory)?;
        let kernel = find_kernel(&module, &kernel)?;
        let (arguments, buffers) = place_arguments(&module, &mut device, &kernel, &args.arguments)?;
        let grid = Grid { blocks: args.grid.0, threads: args.block.0, shared: args.shared };
        let limits = Limits {
            steps: args.steps,
            time: args.time,
            stack: args.stack,
            local: u32::try_from(args.local).unwrap_or(u32::MAX),
            ..Limits::default()
        };
        Ok(Self { cubin, device, module, kernel, grid, arguments, limits, buffers })
    }
}

/// Returns the first cubin with known code and a matching kernel, and the kernel's name.
fn find_cubin(args: &LaunchArgs, verb: Verb, global: &GlobalArgs) -> Result<(Vec<u8>, String)> {
    let input = Input::open(&args.file)?;
    let kernel = args.kernel.as_deref().context("which kernel? `unshade list` shows what there is")?;
    let selector = Selector::parse(kernel).map_err(|fault| anyhow!(fault))?;
    let is_wanted = |function: &Function<'_>| match &selector {
        Selector::Index(index) => function.index == *index,
        _ => is_selected(function.name(), kernel),
    };
    let (mut found, mut has_name) = (None, false);
    let mut chips = Vec::new();
    each_program(&input, verb, &global.limits(), |mut visited| {
        let (selection, path) = (Selection::default(), visited.find.path.to_string());
        let request = CodeRequest { selection: &selection, part: None, path: &path };
        let Some(program) = visited.program else { return Ok(()) };
        let Code::Machine(nvidia) = program.code(&request, &mut visited.diagnostics) else { return Ok(()) };
        each_unit(nvidia, false, &mut visited.diagnostics, &mut |_, unit| {
            let Unit::Cubin(cubin) = unit else { return };
            chips.push(cubin.arch());
            let known = instruction_set(cubin).is_some() && args.sm.is_none_or(|sm| sm == cubin.arch());
            let function = cubin.functions().find(is_wanted);
            has_name |= function.is_some();
            if let (true, None, Some(function)) = (known, &found, function) {
                let name = match &selector {
                    Selector::Index(_) => String::from_utf8_lossy(function.name()).into_owned(),
                    _ => kernel.to_owned(),
                };
                found = Some((cubin.file().data().to_vec(), name));
            }
        });
        Ok(())
    })?;
    if !has_name && !chips.is_empty() {
        let selection = Selection { selectors: vec![selector], ..Selection::default() };
        require_selected(std::slice::from_ref(&input), &selection, verb, &global.limits())?;
    }
    chips.sort_unstable();
    chips.dedup();
    let chips: Vec<String> = chips.iter().map(|chip| format!("sm_{chip}")).collect();
    found.with_context(|| {
        format!(
            "{}: no cubin of sm_30 to sm_37 has a kernel {} (there are cubins of: {}); `unshade list` shows what there is",
            input.name,
            kernel,
            if chips.is_empty() { "no chip".into() } else { chips.join(", ") }
        )
    })
}

/// Returns whether a name, mangled or not, is the requested one.
fn is_selected(mangled: &[u8], wanted: &str) -> bool {
    if mangled == wanted.as_bytes() {
        return true;
    }
    let Some(readable) = unshade::demangle(mangled) else { return false };
    // The result type precedes the names of templates.
    let readable = readable.strip_prefix("void ").unwrap_or(&readable);
    readable == wanted
        || readable.split('(').next() == Some(wanted)
        || readable.split(['(', '<']).next() == Some(wanted)
}

fn find_kernel(module: &Module, wanted: &str) -> Result<String> {
    let kernels = module.kernels();
    if kernels.iter().any(|kernel| kernel.name == wanted) {
        return Ok(wanted.to_owned());
    }
    let meant: Vec<&str> = kernels
        .iter()
        .map(|kernel| kernel.name.as_str())
        .filter(|kernel| is_selected(kernel.as_bytes(), wanted))
        .collect();
    match meant.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => bail!("{wanted} is no kernel but a function that kernels call"),
        several => bail!("{wanted} may be any of: {}", several.join(", ")),
    }
}

/// Places the arguments of `--arg` in memory.
pub(crate) fn place_arguments(
    module: &Module,
    device: &mut Device,
    kernel: &str,
    texts: &[String],
) -> Result<(Vec<Argument>, Vec<PlacedBuffer>)> {
    let parameters = module.kernel(kernel).map_or(&[][..], |kernel| kernel.parameters.as_slice());
    if parameters.len() != texts.len() {
        let sizes: Vec<String> = parameters.iter().map(|parameter| parameter.1.size.to_string()).collect();
        bail!(
            "{kernel} takes {} arguments, of {} bytes; --arg was given {} times",
            parameters.len(),
            if sizes.is_empty() { "no".into() } else { sizes.join(", ") },
            texts.len()
        );
    }
    let mut arguments = Vec::new();
    let mut buffers = Vec::new();
    for (index, (text, (_, parameter))) in texts.iter().zip(parameters).enumerate() {
        let size = usize::from(parameter.size);
        let (argument, buffer) = cubin::place(device, index, size, text, &READER)
            .map_err(|fault| anyhow!("--arg '{text}' for parameter {index}: {fault}"))?;
        arguments.push(argument);
        buffers.extend(buffer);
    }
    Ok((arguments, buffers))
}
