//! Runs cases in the emulator.

use std::collections::BTreeMap;

use unshade_emulate::interpret;
use unshade_emulate::module::Variable;
use unshade_emulate::sanitize::{Options, Report};
use unshade_emulate::{
    Argument, Device, DevicePointer, Fault, Grid, Limits, Module, Summary, Surface, Texture,
};

use super::cases::{Case, ImageShape, Inputs, Parameter, Results};

/// A case that is ready to run.
struct Placed<'c> {
    device: Device,
    module: Module,
    surfaces: BTreeMap<&'c str, Surface>,
    arguments: Vec<Argument>,
    buffers: Vec<(DevicePointer, usize)>,
    grid: Grid,
}

const LIMITS: Limits = Limits {
    steps: 100_000_000,
    time: std::time::Duration::MAX,
    stack: 4096,
    local: 16 << 10,
    ordered: false,
    absent: 0,
    ticks: 1,
    unwritten: 0,
};

/// Runs a case and checks it.
///
/// # Errors
/// If the kernel can't be started.
pub fn sanitize(cubin: &[u8], case: &Case, inputs: &Inputs) -> Result<Report, Fault> {
    let Placed { mut device, module, arguments, grid, .. } = place(cubin, case, inputs)?;
    module.sanitize(&mut device, &case.kernel, grid, &arguments, LIMITS, &Options::default())
}

/// Loads a case's cubin, and places its inputs in memory.
fn place<'c>(cubin: &[u8], case: &'c Case, inputs: &Inputs) -> Result<Placed<'c>, Fault> {
    let mut device = Device::new();
    let mut module =
        Module::load(&mut device, cubin).unwrap_or_else(|error| panic!("{}: {error}", case.file));
    let mut surfaces = BTreeMap::new();
    for ((name, variable), bytes) in case.variables.iter().zip(&inputs.variables) {
        match variable.image {
            Some(image) if image.is_surface => {
                let surface = surface(&mut device, variable, image, bytes)?;
                module.bind_surface(name, surface);
                surfaces.insert(name.as_str(), surface);
            }
            Some(image) => {
                let handle = device.add_texture(texture(variable, image, bytes));
                module.bind_texture(name, handle);
            }
            None => module.write_variable(&mut device, name, bytes)?,
        }
    }
    let mut arguments = Vec::new();
    let mut buffers: Vec<(DevicePointer, usize)> = Vec::new();
    for (index, (parameter, bytes)) in case.parameters.iter().zip(&inputs.parameters).enumerate() {
        if let Some(image) = parameter.image {
            arguments.push(device.add_texture(texture(parameter, image, bytes)).into());
        } else if parameter.count.is_some() {
            let pointer = device.allocate(bytes.len() as u64, &format!("parameter {index}"))?;
            device.write(pointer, bytes)?;
            buffers.push((pointer, bytes.len()));
            arguments.push(pointer.into());
        } else {
            arguments.push(Argument(bytes.clone()));
        }
    }
    let grid = Grid { blocks: case.blocks, threads: case.threads, shared: case.shared };
    Ok(Placed { device, module, surfaces, arguments, buffers, grid })
}

/// Runs a case.
///
/// # Errors
/// The fault reported by the emulator.
pub fn run(cubin: &[u8], case: &Case, inputs: &Inputs) -> Result<(Results, Summary), Fault> {
    run_within(cubin, case, inputs, LIMITS.steps)
}

/// Runs a case that may not end, for a maximum number of instructions.
///
/// # Errors
/// The fault reported by the emulator.
pub fn run_within(
    cubin: &[u8],
    case: &Case,
    inputs: &Inputs,
    steps: u64,
) -> Result<(Results, Summary), Fault> {
    run_with(cubin, case, inputs, &mut |module, device, grid, arguments| {
        module.launch(device, &case.kernel, grid, arguments, Limits { steps, ..LIMITS }, None)
    })
}

/// Runs a case from the code of its functions, rather than from its instructions.
///
/// # Errors
/// The fault reported by the interpreter.
pub fn interpret(
    cubin: &[u8],
    functions: &[interpret::Function],
    case: &Case,
    inputs: &Inputs,
) -> Result<Results, Fault> {
    let results = run_with(cubin, case, inputs, &mut |module, device, grid, arguments| {
        module.interpret(device, functions, &case.kernel, grid, arguments, LIMITS)
    });
    results.map(|results| results.0)
}

/// Launches the kernel of a case.
type Launch<'a> = &'a mut dyn FnMut(&Module, &mut Device, Grid, &[Argument]) -> Result<Summary, Fault>;

fn run_with(
    cubin: &[u8],
    case: &Case,
    inputs: &Inputs,
    launch: Launch<'_>,
) -> Result<(Results, Summary), Fault> {
    let Placed { mut device, module, surfaces, arguments, buffers, grid } = place(cubin, case, inputs)?;
    let summary = launch(&module, &mut device, grid, &arguments)?;
    let mut results = Results { buffers: Vec::new(), variables: Vec::new(), printed: device.take_printed() };
    for (pointer, size) in buffers {
        results.buffers.push(device.read(pointer, size)?);
    }
    for ((name, _), bytes) in case.variables.iter().zip(&inputs.variables) {
        results.variables.push(match (surfaces.get(name.as_str()), module.variables().get(name)) {
            (Some(surface), _) => surface.read(&mut device)?,
            (None, Some(Variable::Global(pointer, _))) => device.read(*pointer, bytes.len())?,
            _ => bytes.clone(),
        });
    }
    Ok((results, summary))
}

/// Creates a texture of words with point sampling.
fn texture(parameter: &Parameter, image: ImageShape, bytes: &[u8]) -> Texture {
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    Texture::words(image.size, parameter.members.len(), &words)
}

/// Creates a surface that contains these bytes, row by row.
fn surface(
    device: &mut Device,
    parameter: &Parameter,
    image: ImageShape,
    bytes: &[u8],
) -> Result<Surface, Fault> {
    let element: usize = parameter.members.iter().map(|member| member.size()).sum();
    let width = image.size[0] * u32::try_from(element).unwrap_or(0);
    let surface = device.add_surface(width, image.size[1])?;
    surface.write(device, bytes)?;
    Ok(surface)
}
