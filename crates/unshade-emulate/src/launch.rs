//! Launches: a kernel, a grid of blocks, arguments.
//!
//! Blocks run one after the other, the warps of a block in turns. Constant bank 0 holds what the launch says, as the driver
//! lays it out on sm_30 to sm_37:
//!
//! | bytes | |
//! |---|---|
//! | 0x20, 0x24 | windows of shared and local memory in generic addresses |
//! | 0x28, 0x2c, 0x30 | threads of a block |
//! | 0x34, 0x38, 0x3c | blocks of the grid |
//! | 0x44 | where the stack starts: the end of local memory |
//! | 0x140 | the arguments |

use std::time::{Duration, Instant};

use unshade_sass::Instruction;
use unshade_sass::semantics::table::FIRST_PREDICATE;
use unshade_sass::semantics::{Lifted, Space};

use crate::block::{Block, Context};
use crate::device::{Device, DevicePointer};
use crate::fault::Fault;
use crate::lanes::Registers;
use crate::module::{Kernel, Module};
use crate::order::Order;
use crate::program::Program;
use crate::surface::DESCRIPTOR;
use crate::world::{Banks, LOCAL_WINDOW, Position, SHARED_WINDOW, World};

/// The most threads of a block, as on the chip.
const MOST_THREADS: u32 = 1024;

/// The most shared memory of a block.
const MOST_SHARED: u64 = 48 << 10;

/// The most blocks along each side of a grid.
const MOST_BLOCKS: [u32; 3] = [0x7fff_ffff, 0xffff, 0xffff];

/// How many blocks of how many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks in x, y and z.
    pub blocks: [u32; 3],
    /// Threads of a block in x, y and z.
    pub threads: [u32; 3],
    /// Bytes of shared memory of a block, besides what the kernel declares.
    pub shared: u32,
}

impl Grid {
    /// A row of blocks, each a row of threads.
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Self { blocks: [blocks, 1, 1], threads: [threads, 1, 1], shared: 0 }
    }
}

/// An argument of a kernel: its bytes.
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

/// What a launch may take at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of warps.
    pub steps: u64,
    /// Time.
    pub time: Duration,
    /// Entries of a warp's reconvergence stack.
    pub stack: usize,
    /// Bytes of local memory of a thread, if the kernel does not ask for more.
    pub local: u32,
    /// Whether it is a fault if what a block leaves behind depends on the order in which its threads run.
    pub ordered: bool,
    /// What a shuffle gives of a lane that takes no part. It is undefined: results that change with it mean nothing.
    pub absent: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 1 << 32, time: Duration::MAX, stack: 4096, local: 16 << 10, ordered: false, absent: 0 }
    }
}

/// An instruction that was run for some lanes of a warp.
pub struct Step<'a> {
    /// The block.
    pub block: [u32; 3],
    /// The warp's number in the block.
    pub warp: u32,
    /// The instruction's address.
    pub address: u64,
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The lanes that ran it.
    pub active: u32,
    /// The registers after it.
    pub registers: &'a Registers,
    /// How many entries the reconvergence stack had before it.
    pub depth: usize,
    pub(crate) lifted: &'a Lifted,
}

impl Step<'_> {
    /// The general registers that the instruction may have written.
    pub fn written(&self) -> Vec<u8> {
        self.outputs(Space::Register, 0)
    }

    /// The predicates that the instruction may have written.
    pub fn written_predicates(&self) -> Vec<u8> {
        self.outputs(Space::Flag, FIRST_PREDICATE)
    }

    fn outputs(&self, space: Space, first: u64) -> Vec<u8> {
        let mut written = Vec::new();
        for place in self.lifted.ops().iter().filter_map(|op| op.output).filter(|place| place.space == space)
        {
            let further = if place.width > 32 { 1 } else { 0 };
            let number = place.offset.checked_sub(first);
            written.extend(number.into_iter().flat_map(|number| number..=number + further));
        }
        written.sort_unstable();
        written.dedup();
        written.into_iter().filter_map(|number| u8::try_from(number).ok()).collect()
    }
}

/// What a launch took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Instructions of warps that were run.
    pub steps: u64,
    /// Blocks that were run.
    pub blocks: u64,
}

impl Module {
    /// Runs a kernel to its end. `trace` is told of each instruction.
    ///
    /// # Errors
    /// If there is no such kernel, arguments don't fit, a limit is reached, or an instruction can't do what it says:
    /// [`Fault`] tells which, and where.
    pub fn launch(
        &self,
        device: &mut Device,
        kernel: &str,
        grid: Grid,
        arguments: &[Argument],
        limits: Limits,
        trace: Option<&mut dyn FnMut(&Step<'_>)>,
    ) -> Result<Summary, Fault> {
        let Some(kernel) = self.kernel(kernel) else {
            let names: Vec<&str> = self.kernels().iter().take(8).map(|kernel| kernel.name.as_str()).collect();
            return Err(Fault::launch(format!(
                "there is no kernel {kernel}; there are {}",
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
        let program = Program::new(self, kernel);
        let mut context = Context {
            trace,
            stack_limit: limits.stack,
            limits,
            started: Instant::now(),
            kernel: kernel.name.clone(),
        };
        let mut block = Block::default();
        let mut world = World {
            device,
            banks: &banks,
            position: Position { threads: grid.threads, block: [0; 3] },
            shared: vec![0; shared],
            local: Vec::new(),
            local_size: local,
            locks: Vec::new(),
            order: limits.ordered.then(Order::default),
            absent: limits.absent,
            steps: 0,
        };
        let mut summary = Summary::default();
        let [nx, ny, nz] = grid.blocks;
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    world.position.block = [x, y, z];
                    world.shared.fill(0);
                    world.local.clear();
                    world.local.resize(world.position.thread_count() as usize, Vec::new());
                    world.locks.clear();
                    block.run(kernel.start, &program, &mut world, &mut context)?;
                    summary.blocks += 1;
                }
            }
        }
        summary.steps = world.steps;
        Ok(summary)
    }

    /// The constant banks that a launch sees.
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
            if let Some(place) = banks.get_mut(usize::from(*bank)) {
                place.clone_from(bytes);
            }
        }
        for (bank, bytes) in &kernel.constants {
            if let Some(place) = banks.get_mut(usize::from(*bank)) {
                place.clone_from(bytes);
            }
        }
        let Some(first) = banks.first_mut() else { return Ok(banks) };
        let end =
            kernel.parameters.iter().map(|(at, parameter)| at.saturating_add(parameter.size.into())).max();
        let size = usize::try_from(end.unwrap_or(0).max(0x140)).unwrap_or(0).next_multiple_of(4);
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
        if arguments.len() != kernel.parameters.len() {
            return Err(Fault::launch(format!(
                "{} takes {} arguments, not {}",
                kernel.name,
                kernel.parameters.len(),
                arguments.len()
            )));
        }
        for ((place, parameter), argument) in kernel.parameters.iter().zip(arguments) {
            if argument.0.len() != usize::from(parameter.size) {
                return Err(Fault::launch(format!(
                    "parameter {} of {} has {} bytes, the argument {}",
                    parameter.ordinal,
                    kernel.name,
                    parameter.size,
                    argument.0.len()
                )));
            }
            put(first, usize::try_from(*place).unwrap_or(usize::MAX), &argument.0);
        }
        for (offset, name) in &kernel.textures {
            let handle = self.bound_handle(name).unwrap_or(0);
            let handle = u32::try_from(handle).unwrap_or(0);
            put(first, usize::try_from(*offset).unwrap_or(usize::MAX), &handle.to_le_bytes());
        }
        for (offset, name) in &kernel.surfaces {
            let Some(handle) = self.bound_handle(name) else { continue };
            let descriptor = device.read(DevicePointer(handle), DESCRIPTOR)?;
            put(first, usize::try_from(*offset).unwrap_or(usize::MAX), &descriptor);
        }
        Ok(banks)
    }
}

fn put(bank: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = bank.get_mut(at..at.saturating_add(bytes.len())) {
        place.copy_from_slice(bytes);
    }
}

/// The shared memory of a block, if the grid is one that the chip can run.
fn check_grid(kernel: &Kernel, grid: Grid) -> Result<usize, Fault> {
    let threads = grid.threads.iter().fold(1_u32, |product, size| product.saturating_mul(*size));
    if threads == 0 || threads > MOST_THREADS {
        return Err(Fault::launch(format!("a block has 1 to {MOST_THREADS} threads, not {threads}")));
    }
    if let Some(bounds) = kernel.threads {
        let most = bounds.iter().fold(1_u32, |product, size| product.saturating_mul(*size));
        if threads > most {
            return Err(Fault::launch(format!(
                "{} is compiled for blocks of at most {most} threads, not {threads}",
                kernel.name
            )));
        }
    }
    for (size, most) in grid.blocks.iter().zip(MOST_BLOCKS) {
        if *size == 0 || *size > most {
            return Err(Fault::launch(format!("a side of a grid has 1 to {most} blocks, not {size}")));
        }
    }
    let shared = kernel.shared.saturating_add(grid.shared.into());
    if shared > MOST_SHARED {
        return Err(Fault::launch(format!(
            "a block has at most {MOST_SHARED} bytes of shared memory, not {shared}"
        )));
    }
    Ok(usize::try_from(shared).unwrap_or(0))
}
