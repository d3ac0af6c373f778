//! Functions shared by the commands: finding the workspace, running programs, formatting times and sizes.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

/// Returns the root of the workspace: the parent folder of this crate. Cargo provides it at run time; the value at
/// compile time may be wrong, because several copies of the repository may share a build folder.
pub(crate) fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let mut xtask =
            env_path("CARGO_MANIFEST_DIR").unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        xtask.pop();
        xtask
    });
    &ROOT
}

/// Returns the build folder.
pub(crate) fn target() -> PathBuf {
    env_path("CARGO_TARGET_DIR").unwrap_or_else(|| root().join("target"))
}

/// Returns the running cargo, so that a toolchain from the command line stays selected.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root());
    command
}

/// Runs the same command in a release build of this program.
pub(crate) fn run_in_release() -> Result<()> {
    eprintln!("runs in a release build of xtask, which takes minutes unless it is there already");
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.args(["run", "--quiet", "--release", "--manifest-path"]).arg(root().join("xtask/Cargo.toml"));
    let status = command.arg("--").args(env::args_os().skip(1)).status().context("cannot start cargo")?;
    if !status.success() {
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}

/// Returns the path of a program on PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Returns the path of an LLVM tool by name and version, such as `yaml2obj-24`: in a folder of UNSHADE_LLVM_BIN, or on
/// PATH.
pub(crate) fn find_llvm_tool(name: &str) -> Option<PathBuf> {
    ["UNSHADE_LLVM_BIN", "PATH"].into_iter().filter_map(env::var_os).find_map(|folders| {
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
    })
}

/// Collects the files in a folder and its subfolders.
pub(crate) fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            files_below(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Runs a program and captures its output. If it fails, the error includes its standard error.
pub(crate) fn capture(command: &mut Command) -> Result<Output> {
    let shown = shown(command);
    let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` failed ({}):\n{}", output.status, last_lines(stderr.trim_end(), 20));
    }
    Ok(output)
}

/// Formats a command as typed in a shell.
pub(crate) fn shown(command: &Command) -> String {
    let mut text = Path::new(command.get_program())
        .file_stem()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    for arg in command.get_args() {
        let _ = write!(text, " {}", arg.to_string_lossy());
    }
    text
}

/// Returns the last `count` lines of `text`.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Returns the path in an environment variable, or `None` if the variable is unset or empty.
pub(crate) fn env_path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Formats a duration as `1.2 s`.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// Formats a size in decimal megabytes or kilobytes, as package registries do.
pub(crate) fn megabytes(bytes: u64) -> String {
    if bytes < 1_000_000 {
        format!("{:.1} kB", bytes as f64 / 1e3)
    } else {
        format!("{:.1} MB", bytes as f64 / 1e6)
    }
}

/// Returns the SHA-256 of `bytes` in lower-case hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Formats bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the path of a new temporary file with this extension.
pub(crate) fn temporary(extension: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    env::temp_dir().join(format!("unshade-{}-{number}.{extension}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{last_lines, megabytes, sha256_hex, shown};

    #[test]
    fn hash_of_nothing() {
        assert_eq!(sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn texts() {
        assert_eq!(last_lines("a\nb\nc", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
        assert_eq!(megabytes(999), "1.0 kB");
        assert_eq!(megabytes(44_958_619), "45.0 MB");
        assert_eq!(
            shown(Command::new("/usr/bin/cargo").args(["test", "--workspace"])),
            "cargo test --workspace"
        );
    }
}
