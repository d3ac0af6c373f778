//! The decompiler that is measured: the program's `decompile`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::sh;

/// The program.
pub(super) struct Decompiler(PathBuf);

impl Decompiler {
    /// Builds the program, unless UNSHADE_PROGRAM names one.
    pub(super) fn build() -> Result<Self> {
        if let Some(program) = sh::env_path("UNSHADE_PROGRAM") {
            return Ok(Self(program));
        }
        let status =
            sh::cargo().args(["build", "--release", "--quiet", "--package", "unshade-cli"]).status()?;
        ensure!(status.success(), "building unshade failed");
        Ok(Self(sh::target().join("release/unshade")))
    }

    /// Decompiles a module; an error says why not. A text that is not whole is no text, as it says itself.
    pub(super) fn decompile(&self, module: &Path) -> Result<Result<String, String>> {
        let output = Command::new(&self.0).arg("decompile").arg(module).output()?;
        let message = String::from_utf8_lossy(&output.stderr);
        Ok(match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(reason(&message, module)),
        })
    }
}

/// Returns the first line of the messages without the file's name.
fn reason(messages: &str, module: &Path) -> String {
    let line = messages.lines().next().unwrap_or("no message");
    line.replace(&module.display().to_string(), "_")
}
