//! Runs kernels in Metal from their intermediate representation.
//!
//! A [`Machine`] is a program with its memory. A kernel runs on buffers, with values for function constants. Every access
//! is checked, and what can't be computed ends the run with a [`Fault`] that names the instruction and the thread: there is
//! no result that is only a guess. What the language leaves open has a result, is counted, and is in [`Summary::undefined`].
//!
//! | module | contents |
//! |---|---|
//! | [`dispatch`] | machines, grids, the order of threads |
//! | `code` | functions prepared for running |
//! | `machine`, `thread`, `record` | steps of a thread; their trace |
//! | `kind`, [`number`], `library`, `pack` | numbers, operators, functions of numbers |
//! | `effects`, `exchange`, `matrix` | memory and atomic operations; lanes of simdgroups; their matrices |
//! | `memory`, `globals` | memory and variables |
//! | [`fault`] | failures |
//!
//! Simdgroups have 32 lanes. Exact operations round to the nearest number, ties to even, and flush nothing to zero;
//! functions that Metal's specification leaves a margin for are those of the host. Textures, samplers and tables of
//! functions are not modelled.
//!
//! Knowledge: Apple's Metal Shading Language specification, LLVM's language reference, and runs of the same modules that
//! clang compiles (`cargo xtask conformance metal-native`).

mod code;
pub mod dispatch;
mod effects;
mod exchange;
pub mod fault;
mod globals;
mod kind;
mod library;
mod machine;
mod matrix;
mod memory;
pub mod number;
mod pack;
mod record;
mod thread;

pub use crate::shader::Limits;
pub use dispatch::{Argument, Buffer, Grid, Machine, Rules, Summary, is_position};
pub use fault::{Fault, Reason};
pub use number::Undefined;
