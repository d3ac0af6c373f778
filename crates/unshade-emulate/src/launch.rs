//! Launches of a kernel: grid, arguments, constant bank 0.
//!
//! Constant bank 0 has the launch parameters in the
//! driver's layout for sm_30 to sm_37:
//!
//! | bytes | contents |
//! |---|---|
//! | 0x20, 0x24 | base of the shared and local windows in generic addresses |
//! | 0x28, 0x2c, 0x30 | block size in x, y, z |
//! | 0x34, 0x38, 0x3c | grid size in x, y, z |
//! | 0x44 | initial stack pointer: the end of local memory |
//! | 0xf0 | address of constant bank 3, which code compiled with -G reads through pointers |
//! | 0x140 | kernel arguments |

use crate::block::Block;
use crate::context::{Context, Limits, Step};
use crate::device::{Device, DevicePointer};
use crate::environment::{Banks, BlockState, Environment, LOCAL_WINDOW, SHARED_WINDOW};
use crate::fault::Fault;
use crate::module::{Kernel, Module};
use crate::program::Program;
use crate::sanitize::Checks;
use crate::schedule::{Schedule, resident_blocks};
use crate::surface::DESCRIPTOR;
use crate::trace::Recorder;

/// Maximum number of threads per block on Kepler.
const MAX_THREADS: u32 = 1024;

/// Maximum number of bytes of shared memory per block.
pub(crate) const MAX_SHARED: u64 = 48 << 10;

/// The size of a constant bank in bytes.
const BANK: u64 = 64 << 10;

/// Where constant bank 0 has the address of constant bank 3.
const CONSTANTS_POINTER: usize = 0xf0;

/// Where the arguments start in constant bank 0.
pub(crate) const PARAMETERS: u64 = 0x140;

/// Maximum number of blocks in x, y and z.
const MAX_BLOCKS: [u32; 3] = [0x7fff_ffff, 0xffff, 0xffff];

/// The dimensions of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of blocks in x, y and z.
    pub blocks: [u32; 3],
    /// Number of threads per block in x, y and z.
    pub threads: [u32; 3],
    /// Bytes of dynamic shared memory per block.
    pub shared: u32,
}

impl Grid {
    /// Returns a one-dimensional grid of one-dimensional blocks.
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Self { blocks: [blocks, 1, 1], threads: [threads, 1, 1], shared: 0 }
    }
}

/// A kernel argument, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument(pub Vec<u8>);

macro_rules! arguments {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Argument {
            fn from(value: $ty) -> Self {
                Self(value.to_le_bytes().to_vec())
            }
        }
    )*};
}

arguments!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

impl From<DevicePointer> for Argument {
    fn from(pointer: DevicePointer) -> Self {
        pointer.0.into()
    }
}

/// Statistics of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of executed instructions, counted per warp.
    pub steps: u64,
    /// Number of executed blocks.
    pub blocks: u64,
    /// Number of integer divisions by zero, of all threads. C leaves their result undefined; machine code has no such
    /// operation, so only the interpreter counts them.
    pub divisions_by_zero: u64,
}

/// What watches a launch.
#[derive(Default)]
pub(crate) struct Observers {
    pub(crate) checks: Option<Box<Checks>>,
    pub(crate) recorder: Option<Box<Recorder>>,
}

/// What a launch starts with.
pub(crate) struct Prepared<'m> {
    pub(crate) kernel: &'m Kernel,
    /// Bytes of shared memory per block.
    pub(crate) shared: usize,
    /// Bytes of local memory per thread.
    pub(crate) local: usize,
    /// Number of threads per block.
    threads: u64,
    pub(crate) banks: Banks,
}

impl Prepared<'_> {
    /// Returns the maximum number of resident blocks.
    pub(crate) fn resident_blocks(&self, device: &Device) -> usize {
        resident_blocks(self.threads, self.shared, self.local, device)
    }
}

impl Module {
    /// Runs a kernel to its end. `trace` is called after each instruction.
    ///
    /// # Errors
    /// If there is no such kernel, the arguments don't match, a limit is reached, or an instruction fails; [`Fault`] has
    /// the reason and the location.
    pub fn launch(
        &self,
        device: &mut Device,
        kernel: &str,
        grid: Grid,
        arguments: &[Argument],
        limits: Limits,
        trace: Option<&mut dyn FnMut(&Step<'_>)>,
    ) -> Result<Summary, Fault> {
        self.launch_with(device, kernel, grid, arguments, limits, trace, &mut Observers::default())
    }

    /// Runs a kernel, with observers.
    #[expect(clippy::too_many_arguments, reason = "those of `launch`, and the observers")]
    pub(crate) fn launch_with(
        &self,
        device: &mut Device,
        kernel: &str,
        grid: Grid,
        arguments: &[Argument],
        limits: Limits,
        trace: Option<&mut dyn FnMut(&Step<'_>)>,
        observers: &mut Observers,
    ) -> Result<Summary, Fault> {
        let prepared = self.prepare(device, kernel, grid, arguments, limits)?;
        let Prepared { kernel, shared, local, ref banks, .. } = prepared;
        let program = Program::new(self, kernel);
        let mut context = Context::new(limits, trace);
        let new_state = || BlockState::new(grid.threads, shared, limits.ordered);
        let mut env = Environment {
            device,
            banks,
            blocks: grid.blocks,
            block: new_state(),
            local_size: local,
            stack_end: u32::try_from(kernel.fixed_local).unwrap_or(u32::MAX),
            absent: limits.absent,
            ticks: limits.ticks,
            unwritten: limits.unwritten,
            divisions_by_zero: 0,
            steps: 0,
            changes: 0,
            is_watched: limits.ordered || observers.checks.is_some() || observers.recorder.is_some(),
            checks: observers.checks.take(),
            recorder: observers.recorder.take(),
        };
        let mut schedule = Schedule::new(grid, prepared.resident_blocks(env.device));
        let is_checked = env.checks.is_some();
        let start = |ended: Option<Block>, position, number| {
            let mut block = ended.unwrap_or_else(|| Block::new(new_state()));
            block.start(position, number, kernel.start, is_checked);
            block
        };
        let result = schedule.run(start, |block| block.run(&program, &mut env, &mut context));
        let summary = Summary { steps: env.steps, blocks: schedule.ended(), divisions_by_zero: 0 };
        if result.is_ok() {
            env.report_leaks(&program);
        }
        *observers = Observers { checks: env.checks.take(), recorder: env.recorder.take() };
        if let Some(checks) = &mut observers.checks {
            (checks.has_started, checks.summary) = (true, summary);
        }
        result.map(|()| summary)
    }

    /// Checks a launch, and returns what it starts with.
    pub(crate) fn prepare(
        &self,
        device: &mut Device,
        kernel: &str,
        grid: Grid,
        arguments: &[Argument],
        limits: Limits,
    ) -> Result<Prepared<'_>, Fault> {
        let Some(kernel) = self.kernel(kernel) else {
            let names: Vec<&str> = self.kernels().iter().take(8).map(|kernel| kernel.name.as_str()).collect();
            return Err(Fault::launch(format!(
                "no kernel is named {kernel}; kernels are {}",
                names.join(", ")
            )));
        };
        let shared = check_grid(kernel, grid)?;
        let local = kernel.local.max(limits.local.into()).next_multiple_of(16);
        let local = usize::try_from(local).unwrap_or(0);
        let threads = grid.threads.iter().fold(1_u64, |product, size| product * u64::from(*size));
        if threads.saturating_mul(local as u64) > device.memory_limit() {
            return Err(crate::Reason::Memory(device.memory_limit()).into());
        }
        let banks = self.banks(device, kernel, grid, arguments, local)?;
        Ok(Prepared { kernel, shared, local, threads, banks })
    }

    /// Returns the contents of the constant banks for a launch.
    fn banks(
        &self,
        device: &mut Device,
        kernel: &Kernel,
        grid: Grid,
        arguments: &[Argument],
        local: usize,
    ) -> Result<Banks, Fault> {
        let mut banks = Banks::default();
        for (bank, bytes) in &self.constants {
            if let Some(contents) = banks.get_mut(usize::from(*bank)) {
                contents.clone_from(bytes);
            }
        }
        for (bank, bytes) in &kernel.constants {
            if let Some(contents) = banks.get_mut(usize::from(*bank)) {
                contents.clone_from(bytes);
            }
        }
        let Some(first) = banks.first_mut() else { return Ok(banks) };
        let parameters = kernel
            .parameters
            .iter()
            .map(|(at, parameter)| u64::from(at.saturating_add(parameter.size.into())));
        let textures = kernel.textures.iter().chain(&self.textures);
        let surfaces = kernel.surfaces.iter().chain(&self.surfaces);
        let images = textures.clone().chain(surfaces.clone()).map(|(at, _)| *at);
        let images = images.filter(|at| *at < BANK).map(|at| at.saturating_add(DESCRIPTOR as u64));
        let end = parameters.chain(images).max();
        let size = usize::try_from(end.unwrap_or(0).max(PARAMETERS)).unwrap_or(0).next_multiple_of(4);
        if first.len() < size {
            first.resize(size, 0);
        }
        let [bx, by, bz] = grid.threads;
        let [gx, gy, gz] = grid.blocks;
        let words = [
            (0x20, u32::try_from(SHARED_WINDOW).unwrap_or(0)),
            (0x24, u32::try_from(LOCAL_WINDOW).unwrap_or(0)),
            (0x28, bx),
            (0x2c, by),
            (0x30, bz),
            (0x34, gx),
            (0x38, gy),
            (0x3c, gz),
            (0x44, u32::try_from(local).unwrap_or(0)),
        ];
        for (at, word) in words {
            put(first, at, &word.to_le_bytes());
        }
        if let Some(pointer) = self.user_bank {
            put(first, CONSTANTS_POINTER, &pointer.0.to_le_bytes());
        }
        if arguments.len() != kernel.parameters.len() {
            return Err(Fault::launch(format!(
                "{} takes {} arguments, not {}",
                kernel.name,
                kernel.parameters.len(),
                arguments.len()
            )));
        }
        for ((offset, parameter), argument) in kernel.parameters.iter().zip(arguments) {
            if argument.0.len() != usize::from(parameter.size) {
                return Err(Fault::launch(format!(
                    "parameter {} of {} has {} bytes, but the argument has {}",
                    parameter.ordinal,
                    kernel.name,
                    parameter.size,
                    argument.0.len()
                )));
            }
            put(first, usize::try_from(*offset).unwrap_or(usize::MAX), &argument.0);
        }
        for (offset, name) in textures {
            let handle = self.bound_handle(name).unwrap_or(0);
            let handle = u32::try_from(handle).unwrap_or(0);
            put(first, usize::try_from(*offset).unwrap_or(usize::MAX), &handle.to_le_bytes());
        }
        for (offset, name) in surfaces {
            let Some(handle) = self.bound_handle(name) else { continue };
            let descriptor = device.read(DevicePointer(handle), DESCRIPTOR)?;
            put(first, usize::try_from(*offset).unwrap_or(usize::MAX), &descriptor);
        }
        Ok(banks)
    }
}

fn put(bank: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(target) = bank.get_mut(at..at.saturating_add(bytes.len())) {
        target.copy_from_slice(bytes);
    }
}

/// Checks the limits of the chip; returns the bytes of shared memory per block.
fn check_grid(kernel: &Kernel, grid: Grid) -> Result<usize, Fault> {
    let threads = grid.threads.iter().fold(1_u32, |product, size| product.saturating_mul(*size));
    if threads == 0 || threads > MAX_THREADS {
        return Err(Fault::launch(format!("a block has 1 to {MAX_THREADS} threads, not {threads}")));
    }
    if let Some(bounds) = kernel.threads {
        let max = bounds.iter().fold(1_u32, |product, size| product.saturating_mul(*size));
        if threads > max {
            return Err(Fault::launch(format!(
                "{} is compiled for blocks of at most {max} threads, not {threads}",
                kernel.name
            )));
        }
    }
    for (size, max) in grid.blocks.iter().zip(MAX_BLOCKS) {
        if *size == 0 || *size > max {
            return Err(Fault::launch(format!("a grid dimension has 1 to {max} blocks, not {size}")));
        }
    }
    let shared = kernel.shared.saturating_add(grid.shared.into());
    if shared > MAX_SHARED {
        return Err(Fault::launch(format!(
            "a block has at most {MAX_SHARED} bytes of shared memory, not {shared}"
        )));
    }
    // Compilers load whole words, also from a variable at the end that is smaller.
    Ok(usize::try_from(shared.next_multiple_of(4)).unwrap_or(0))
}
