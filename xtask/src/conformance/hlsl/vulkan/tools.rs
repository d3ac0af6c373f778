//! The programs that are not ours: dxil-spirv, and Vulkan with a driver on the CPU.
//!
//! | tool | what it is for | where it comes from |
//! |---|---|---|
//! | dxil-spirv 2.72.1 | the original as SPIR-V | the crate dxil-spirv, which needs cmake and a C++ compiler; it is built once, in the target folder |
//! | Python with `vulkan` | the calls of Vulkan | PyPI; `UNSHADE_PYTHON` names a different Python |
//! | lavapipe | runs the shaders | Debian's libvulkan1 and mesa-vulkan-drivers |

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::sh;

/// The files of the driver.
const DRIVER: [(&str, &str); 3] = [
    ("run.py", include_str!("run.py")),
    ("device.py", include_str!("device.py")),
    ("spirv.py", include_str!("spirv.py")),
];

/// The loop over jobs, a module of each program that is built.
const JOBS: &str = include_str!("jobs.rs");

/// The tools.
pub(in super::super) struct Tools {
    pub(in super::super) translator: PathBuf,
    python: PathBuf,
    driver: PathBuf,
}

impl Tools {
    /// Finds or builds the tools. Says what is missing.
    pub(in super::super) fn find() -> Result<Option<Self>> {
        let python =
            std::env::var_os("UNSHADE_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
        let has_vulkan = Command::new(&python).args(["-c", "import vulkan"]).output();
        if !has_vulkan.is_ok_and(|output| output.status.success()) {
            println!("skipped: Python with vulkan and libvulkan.so.1 is missing (pip install vulkan)");
            return Ok(None);
        }
        let translator = match translator() {
            Ok(translator) => translator,
            Err(error) => {
                println!("skipped: dxil-spirv can't be built: {error:#}");
                return Ok(None);
            }
        };
        let driver = sh::target().join("hlsl-vulkan");
        std::fs::create_dir_all(&driver)?;
        for (name, text) in DRIVER {
            std::fs::write(driver.join(name), text)?;
        }
        Ok(Some(Self { translator, python, driver: driver.join("run.py") }))
    }

    /// Returns the command that runs pairs of shaders.
    pub(super) fn driver(&self) -> Command {
        let mut command = Command::new(&self.python);
        // Groups of threads one after another, so that what depends on their order is the same.
        command.arg(&self.driver).env("LP_NUM_THREADS", "0");
        command
    }
}

/// Builds the translator, unless it is there.
fn translator() -> Result<PathBuf> {
    built("translate", include_str!("translate.rs"), "dxil-spirv = \"=0.1.0\"")
}

/// Builds a program that does jobs with a dependency that the workspace does not have, unless it is there.
pub(in super::super) fn built(name: &str, source: &str, dependency: &str) -> Result<PathBuf> {
    let digest = sh::sha256_hex([source, JOBS].concat().as_bytes());
    let folder = sh::target().join(format!("hlsl-{name}-{}", &digest[..16]));
    let program = folder.join("target/release").join(name);
    if program.is_file() {
        return Ok(program);
    }
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{dependency}\n\n[workspace]\n"
    );
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::write(folder.join("src/main.rs"), source)?;
    std::fs::write(folder.join("src/jobs.rs"), JOBS)?;
    println!("{name} is built, with {dependency}");
    let mut cargo = sh::cargo();
    cargo.args(["build", "--release", "--quiet"]).current_dir(&folder);
    sh::capture(cargo.env("CARGO_TARGET_DIR", folder.join("target"))).context("cargo")?;
    Ok(program)
}
