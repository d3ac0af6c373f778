//! Cases, run by the emulator.

use unshade_emulate::module::Variable;
use unshade_emulate::{Argument, Device, DevicePointer, Fault, Grid, Limits, Module, Summary};

use super::cases::{Case, Inputs, Results};

/// Runs a case.
///
/// # Errors
/// What the emulator says.
pub fn run(cubin: &[u8], case: &Case, inputs: &Inputs) -> Result<(Results, Summary), Fault> {
    let mut device = Device::new();
    let mut module =
        Module::load(&mut device, cubin).unwrap_or_else(|error| panic!("{}: {error}", case.file));
    for ((name, _), bytes) in case.variables.iter().zip(&inputs.variables) {
        module.write_variable(&mut device, name, bytes)?;
    }
    let mut arguments = Vec::new();
    let mut buffers: Vec<(DevicePointer, usize)> = Vec::new();
    for (index, (parameter, bytes)) in case.parameters.iter().zip(&inputs.parameters).enumerate() {
        if parameter.count.is_some() {
            let pointer = device.allocate(bytes.len() as u64, &format!("parameter {index}"))?;
            device.write(pointer, bytes)?;
            buffers.push((pointer, bytes.len()));
            arguments.push(pointer.into());
        } else {
            arguments.push(Argument(bytes.clone()));
        }
    }
    let grid = Grid { blocks: case.blocks, threads: case.threads, shared: case.shared };
    let limits = Limits { steps: 100_000_000, ..Limits::default() };
    let summary = module.launch(&mut device, &case.kernel, grid, &arguments, limits, None)?;
    let mut results = Results { buffers: Vec::new(), variables: Vec::new(), printed: device.take_printed() };
    for (pointer, size) in buffers {
        results.buffers.push(device.read(pointer, size)?);
    }
    for ((name, _), bytes) in case.variables.iter().zip(&inputs.variables) {
        results.variables.push(match module.variables().get(name) {
            Some(Variable::Global(pointer, _)) => device.read(*pointer, bytes.len())?,
            _ => bytes.clone(),
        });
    }
    Ok((results, summary))
}
