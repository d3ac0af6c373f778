//! Emulates NVIDIA GPUs: runs Kepler cubins (sm_30 to sm_37) without a GPU.
//!
//! The semantics of instructions come from the tables of `unshade-sass`. This crate is the machine around them: warps of
//! 32 lanes that diverge and reconverge, memories, barriers, and calls to the host. It is made for understanding code and
//! for tests: every invalid access is reported with the instruction, the thread and the address.
//!
//! | module | contents |
//! |---|---|
//! | [`device`] | memory that persists between launches: [`Device`] |
//! | [`module`] | a loaded cubin: [`Module`], its kernels and variables |
//! | [`launch`] | grids, arguments |
//! | [`argument`] | values and contents of buffers as text |
//! | `context` | limits and traces: [`Limits`], [`Step`] |
//! | [`trace`], [`interrupt`] | recorded steps of one thread; ends from outside |
//! | `program`, `execute`, `lanes` | decoded code, execution of one instruction for all lanes |
//! | `intrinsics` | the named functions of p-code, in `atomic`, `cross_lane`, [`texture`], [`surface`] |
//! | `schedule`, `block`, `warp`, [`stack`], `barrier` | order of blocks and warps, divergence, synchronization |
//! | `races` | the data-race detector |
//! | `environment`, `special` | memories and special registers as seen by a thread |
//! | `host` | `printf`, `malloc`, `free`, `assert` |
//! | [`interpret`] | runs kernels from their intermediate representation |
//! | [`trial`] | launches on invented inputs |
//! | [`sanitize`] | checks that find all faults of a launch |
//! | [`shader`] | runs graphics and compute shaders of Direct3D |
//! | [`metal`] | runs kernels in Metal |
//! | [`fault`], `locate`, `symbols` | errors of a launch, their places, names of functions |
//!
//! ```
//! use unshade_emulate::{Argument, Device, Grid, Limits, Module};
//!
//! // extern "C" __global__ void axpy(float a, float *y, float *x) { y[threadIdx.x] = a * x[threadIdx.x]; }
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/nvidia/kernels/sm_35/axpy.cubin");
//! # let cubin = std::fs::read(path)?;
//! let mut device = Device::new();
//! let module = Module::load(&mut device, &cubin)?;
//! let (y, x) = (device.allocate(128, "y")?, device.allocate(128, "x")?);
//! let numbers: Vec<u8> = (0..32).flat_map(|number| (number as f32).to_le_bytes()).collect();
//! device.write(x, &numbers)?;
//! let arguments = [Argument::from(2.0_f32), y.into(), x.into()];
//! module.launch(&mut device, "axpy", Grid::new(1, 32), &arguments, Limits::default(), None)?;
//! assert_eq!(device.read(y, 8)?, [0.0_f32.to_le_bytes(), 2.0_f32.to_le_bytes()].concat());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod argument;
mod atomic;
mod barrier;
mod block;
mod context;
mod cross_lane;
pub mod device;
mod environment;
mod execute;
pub mod fault;
mod host;
pub mod interpret;
pub mod interrupt;
mod intrinsics;
mod lanes;
pub mod launch;
mod locate;
pub mod metal;
pub mod module;
mod order;
mod program;
mod races;
mod record;
pub mod sanitize;
mod schedule;
pub mod shader;
mod special;
pub mod stack;
pub mod surface;
mod symbols;
pub mod texture;
pub mod trace;
pub mod trial;
mod warp;

pub use context::{Limits, Step};
pub use device::{Device, DevicePointer};
pub use fault::{Fault, Reason};
pub use lanes::Registers;
pub use launch::{Argument, Grid, Summary};
pub use module::Module;
pub use surface::Surface;
pub use symbols::Frame;
pub use texture::Texture;

impl std::error::Error for Reason {}
