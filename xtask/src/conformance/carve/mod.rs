//! Carving: programs in containers in containers, and bytes that hold no program.
//!
//! | part | input | expected |
//! |---|---|---|
//! | `nested` | every kind of container in every kind in every kind, around a program; what the system's compressors write | one program, its bytes, no message |
//! | `noise` | random bytes | nothing |
//! | `heads` | beginnings of programs, real and made up, before random bytes | nothing |
//! | `folder` | the files in the folders of `--packages` | each find is listed; those that can't be opened are counted |

mod folder;
mod heads;
mod made_up;
mod nested;
mod noise;
/// The builders of the crate's tests. Not all are used here.
#[path = "../../../../crates/unshade-carve/src/samples/mod.rs"]
#[allow(dead_code)]
mod samples;

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use unshade::carve::format::Format;
use unshade::carve::{Condition, Limits, carve};

/// Number of planted heads, if the command does not say.
const HEADS: u64 = 100_000;

/// Fixtures of each format.
const PROGRAMS: [(&str, &[u8]); 15] = [
    ("Metal library", include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib")),
    ("old Metal library", include_bytes!("../../../../tests/fixtures/metallib/legacy_1_2_3.metallib")),
    ("universal library", include_bytes!("../../../../tests/fixtures/metallib/universal_air.metallib")),
    ("DXIL container", include_bytes!("../../../../tests/fixtures/dxcontainer/compute.dxbc")),
    ("DXBC container", include_bytes!("../../../../tests/fixtures/dxcontainer/fxc_ps_5_1.dxbc")),
    ("fat binary, LZ4", include_bytes!("../../../../tests/fixtures/nvidia/packed_11_2.fatbin")),
    ("fat binary, options", include_bytes!("../../../../tests/fixtures/nvidia/options_11_2.fatbin")),
    ("fat binary, Zstandard", include_bytes!("../../../../tests/fixtures/nvidia/zstandard_13_5.fatbin")),
    ("cubin", include_bytes!("../../../../tests/fixtures/nvidia/add_sm_35.cubin")),
    ("cubin of sm_120", include_bytes!("../../../../tests/fixtures/nvidia/add_sm_120.cubin")),
    ("32-bit cubin", include_bytes!("../../../../tests/fixtures/nvidia/add_32_bit_sm_35.cubin")),
    ("PTX", include_bytes!("../../../../tests/fixtures/nvidia/add.ptx")),
    ("AIR", include_bytes!("../../../../crates/unshade-llvm/tests/fixtures/air_like.bc")),
    ("bitcode", include_bytes!("../../../../crates/unshade-llvm/tests/fixtures/two_modules.bc")),
    ("ThinLTO bitcode", include_bytes!("../../../../crates/unshade-llvm/tests/fixtures/thinlto.bc")),
];

/// A program that was found.
struct Found {
    path: String,
    format: Format,
    condition: Condition,
    data: Vec<u8>,
}

/// What carving reports for some bytes.
struct Report {
    found: Vec<Found>,
    messages: Vec<String>,
}

/// Searches bytes as a file.
fn search(data: &[u8]) -> Report {
    let mut found = Vec::new();
    let mut limits = Limits::default();
    // Three Debian packages are nine containers.
    limits.max_depth = 12;
    let diagnostics = carve(data, b"f", &limits, &mut |find| {
        found.push(Found {
            path: find.path.to_string(),
            format: find.format,
            condition: find.condition,
            data: find.data.to_vec(),
        });
        ControlFlow::Continue(())
    });
    Report { found, messages: diagnostics.iter().map(|diagnostic| diagnostic.error.to_string()).collect() }
}

/// Runs all parts.
pub(super) fn run(megabytes: u64, heads: Option<u64>, folders: &[PathBuf]) -> Result<()> {
    let mut wrong = nested::run()?;
    wrong += noise::run(megabytes);
    wrong += heads::run(heads.unwrap_or(HEADS));
    wrong += folder::run(folders);
    ensure!(wrong == 0, "{wrong} results are wrong");
    Ok(())
}
