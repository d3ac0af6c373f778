//! Kernels, run several ways on the same random inputs, whose results must agree.
//!
//! | module | thing |
//! |---|---|
//! | [`cases`] | the table of kernels and what they are given: `fixtures/nvidia/kernels/cases.txt` |
//! | [`host`] | C++ sources, compiled by g++ behind `cuda/cuda_host.h`, and run |
//! | [`emulated`] | cubins, run by `unshade-emulate` |
//! | [`compare`] | what agreeing means |
//! | [`placed`] | C of kernels of any origin, on memory at the emulator's addresses |
//!
//! The host takes any C++ source that has kernels of the same parameters: what CUDA's compiler was given, or what was made
//! of its output.

pub mod cases;
pub mod compare;
pub mod emulated;
pub mod host;
pub mod placed;

use std::path::{Path, PathBuf};

/// Where the kernels are: `cases.txt`, `src/*.cu`, `sm_35/*.cubin`.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia/kernels")
}
