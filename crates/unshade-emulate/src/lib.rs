//! Runs NVIDIA's machine code without a GPU: cubins of Kepler (sm_30 to sm_37).
//!
//! What instructions do is said once, in the tables of `unshade-sass`; here is the machine around: warps of 32 lanes that
//! go different ways and meet again, memories, barriers, what the host answers. It is made for understanding code and for
//! tests: whatever a kernel does that it should not is told with the instruction, the thread and the address.
//!
//! | module | thing |
//! |---|---|
//! | [`device`] | memory that outlives launches: [`Device`] |
//! | [`module`] | a loaded cubin: [`Module`], its kernels and variables |
//! | [`launch`] | grids, arguments, limits, traces |
//! | `program`, `execute`, `lanes` | decoded code, and running an instruction for all lanes |
//! | `outside` | what p-code calls by name: `atomic`, `cross_lane`, [`texture`] |
//! | `warp`, [`stack`], `block`, `barrier` | who runs next |
//! | `world`, `special` | memories and special registers as a thread sees them |
//! | `host` | `printf`, `malloc`, `free`, `assert` |
//! | [`fault`] | what can go wrong |
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

mod atomic;
mod barrier;
mod block;
mod cross_lane;
pub mod device;
mod execute;
pub mod fault;
mod host;
mod lanes;
pub mod launch;
pub mod module;
mod order;
mod outside;
mod program;
mod special;
pub mod stack;
pub mod surface;
pub mod texture;
mod warp;
mod world;

pub use device::{Device, DevicePointer};
pub use fault::{Fault, Reason};
pub use lanes::Registers;
pub use launch::{Argument, Grid, Limits, Step, Summary};
pub use module::Module;
pub use surface::Surface;
pub use texture::Texture;

impl std::error::Error for Reason {}
