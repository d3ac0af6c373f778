//! Runs kernels in several implementations on the same random inputs; the results must agree.
//!
//! | module | contents |
//! |---|---|
//! | [`cases`] | the table of kernels and their inputs: `fixtures/nvidia/kernels/cases.txt` |
//! | [`host`] | runs C++ sources, compiled by g++ with `cuda/cuda_host.h` and the decompiler's header |
//! | [`emulated`] | runs cubins in `unshade-emulate` |
//! | [`compare`] | compares results |
//! | [`same_addresses`] | runs C of any kernels on memory at the emulator's addresses |
//!
//! The host takes any C++ source that has kernels with the same parameters: the original CUDA source, or the output of
//! the decompiler.

pub mod cases;
pub mod compare;
pub mod emulated;
pub mod host;
pub mod same_addresses;

use std::path::{Path, PathBuf};
use unshade::decompiler::c::CPP;

/// Returns the folder of the kernels: `cases.txt`, `src/*.cu`, `sm_35/*.cubin`.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia/kernels")
}

/// Writes the headers for compiling CUDA C and decompiled C++ on this machine into a folder.
///
/// # Errors
/// If a header can't be read or written.
pub fn write_headers(folder: &Path) -> std::io::Result<()> {
    for name in ["cuda_host.h", "cuda_case.h"] {
        let header = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda").join(name))?;
        std::fs::write(folder.join(name), header)?;
    }
    match &CPP.header {
        Some(header) => std::fs::write(folder.join(header.name), header.text),
        None => Ok(()),
    }
}
