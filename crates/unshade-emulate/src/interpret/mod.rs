//! The interpreter of the intermediate representation: runs kernels as [`unshade_ir`] has them, on the same memory as the
//! machine code.
//!
//! It is the oracle of the decompiler: [`Module::interpret`] must leave the memory that [`Module::launch`] leaves. Blocks,
//! barriers, memories, textures and the race detector are those of the emulator; only the execution of a warp differs. The
//! threads of a warp run a function's linear [`Code`] together. Where they part, those at the lowest step run
//! first, so they meet again where the branches join.
//!
//! | module | contents |
//! |---|---|
//! | `program` | functions by name and address, addresses of their symbols |
//! | `block`, `warp` | warps that take turns, calls, divergence |
//! | `operate` | operators and pure intrinsics |
//! | `effects`, `image` | memory, exchange between lanes, barriers, calls to the host; textures and surfaces |

mod block;
mod effects;
mod image;
mod operate;
mod program;
mod warp;

use unshade_ir::code::Code;

use crate::context::{Context, Limits};
use crate::device::Device;
use crate::environment::{BlockState, Environment};
use crate::fault::Fault;
use crate::launch::{Argument, Grid, Summary};
use crate::module::Module;
use crate::schedule::Schedule;
use block::Block;
use program::Program;

/// A function to be interpreted.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name of its symbol in the cubin.
    pub symbol: String,
    /// Its code.
    pub code: Code,
}

impl Module {
    /// Runs a kernel as [`launch`](Self::launch) does, from the code of its functions rather than from its instructions.
    ///
    /// # Errors
    /// Those of `launch`; and operations that the intermediate representation can't express.
    pub fn interpret(
        &self,
        device: &mut Device,
        functions: &[Function],
        kernel: &str,
        grid: Grid,
        arguments: &[Argument],
        limits: Limits,
    ) -> Result<Summary, Fault> {
        // The front end states the stack of a function with that of the functions it calls, so frames need more.
        let limits = Limits { local: limits.local.saturating_mul(4), ..limits };
        let prepared = self.prepare(device, kernel, grid, arguments, limits)?;
        let program = Program::new(self, prepared.kernel, functions)?;
        let context = Context::new(limits, None);
        let new_state = || BlockState::new(grid.threads, prepared.shared, limits.ordered);
        let mut env = Environment {
            device,
            banks: &prepared.banks,
            blocks: grid.blocks,
            block: new_state(),
            local_size: prepared.local,
            stack_end: 0,
            absent: limits.absent,
            ticks: limits.ticks,
            unwritten: limits.unwritten,
            divisions_by_zero: 0,
            steps: 0,
            changes: 0,
            is_watched: limits.ordered,
            checks: None,
            recorder: None,
        };
        let mut schedule = Schedule::new(grid, prepared.resident_blocks(env.device));
        let start = |ended: Option<Block>, position, _| {
            let mut block = ended.unwrap_or_else(|| Block::new(new_state()));
            block.start(position, &program);
            block
        };
        schedule.run(start, |block| block.run(&program, &mut env, &context))?;
        let (steps, divisions_by_zero) = (env.steps, env.divisions_by_zero);
        Ok(Summary { steps, blocks: schedule.ended(), divisions_by_zero })
    }
}
