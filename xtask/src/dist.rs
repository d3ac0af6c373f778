//! `cargo xtask dist`: builds the program for distribution, as one stripped file, on Linux without shared libraries.
//!
//! With the target `x86_64-unknown-linux-musl` the C library is musl's; where that target is not installed, glibc's is
//! linked statically. Either way the file has no interpreter, names no library and has no table of symbols, which is read
//! from the file itself.

use std::env::consts;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::sh;

/// Maximum size of the program in bytes.
const MAX_SIZE: u64 = 20_000_000;

/// Program header types of ELF.
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;

/// The tag of a dynamic entry that names a library.
const DT_NEEDED: u64 = 1;

/// The type of the section that `strip` removes.
const SHT_SYMTAB: u64 = 2;

/// Options of `cargo xtask dist`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask dist\n  cargo xtask dist --target x86_64-unknown-linux-musl\n\nExit status: 0 if \
                  the program is small enough and, on Linux, stripped and without a library of the system; 1 otherwise."
)]
pub(crate) struct Args {
    /// The target to build for [default: that of this machine; on Linux, with the C library linked statically].
    #[arg(long)]
    target: Option<String>,
    /// The folder to write to [default: unshade, in the build folder].
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Builds, checks and copies the program.
pub(crate) fn run(args: &Args) -> Result<()> {
    let target = match &args.target {
        Some(target) => target.clone(),
        None => host()?,
    };
    let mut command = sh::cargo();
    command.args(["build", "--profile", "dist", "--locked", "--package", "unshade-cli", "--target", &target]);
    // At a fixed address the tables need no relocation: see the build script of unshade-cli.
    if target.ends_with("linux-gnu") {
        command.env("RUSTFLAGS", "-Ctarget-feature=+crt-static -Crelocation-model=static");
    } else if target.ends_with("linux-musl") {
        command.env("RUSTFLAGS", "-Crelocation-model=static");
    }
    let shown = sh::shown(&command);
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    ensure!(status.success(), "`{shown}` failed");

    let name = if target.contains("windows") { "unshade.exe" } else { "unshade" };
    let program = sh::target().join(&target).join("dist").join(name);
    let data = fs::read(&program).with_context(|| program.display().to_string())?;
    let size = data.len() as u64;
    ensure!(
        size < MAX_SIZE,
        "the program has {}, more than {}",
        sh::megabytes(size),
        sh::megabytes(MAX_SIZE)
    );
    if target.contains("linux") {
        check_static(&data)
            .and_then(|()| check_stripped(&data))
            .with_context(|| program.display().to_string())?;
    }
    let output = args.output.clone().unwrap_or_else(|| sh::target().join("unshade"));
    fs::create_dir_all(&output).with_context(|| output.display().to_string())?;
    fs::copy(&program, output.join(name))?;
    copy_texts(&output)?;
    let kind = match &target {
        target if target.ends_with("linux-musl") => ", static with musl",
        target if target.ends_with("linux-gnu") => ", static with glibc",
        _ => "",
    };
    println!("{}: {target}, {}, stripped{kind}", output.join(name).display(), sh::megabytes(size));
    Ok(())
}

/// Copies the licences and the README next to the program.
fn copy_texts(output: &Path) -> Result<()> {
    for name in crate::package_files::LICENCES.into_iter().chain(["README.md"]) {
        fs::copy(sh::root().join(name), output.join(name)).context(name)?;
    }
    Ok(())
}

/// Returns the target of this machine's compiler: on Linux with musl, if that is installed.
fn host() -> Result<String> {
    let sysroot = sh::capture(std::process::Command::new("rustc").args(["--print", "sysroot"]))?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot.stdout).trim());
    let musl = format!("{}-unknown-linux-musl", consts::ARCH);
    if consts::OS == "linux" && sysroot.join("lib/rustlib").join(&musl).is_dir() {
        return Ok(musl);
    }
    let version = sh::capture(std::process::Command::new("rustc").arg("-vV"))?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say its host")
}

/// Checks that a little-endian 64-bit ELF file has no interpreter and needs no library. A static program may have a
/// dynamic section, because it can be loaded anywhere and applies its own relocations.
fn check_static(data: &[u8]) -> Result<()> {
    ensure!(data.starts_with(b"\x7fELF\x02\x01"), "not a little-endian 64-bit ELF file");
    let start = usize::try_from(number(data, 32, 8)?)?;
    let size = usize::try_from(number(data, 54, 2)?)?;
    let count = usize::try_from(number(data, 56, 2)?)?;
    for index in 0..count {
        let header = start + index * size;
        match u32::try_from(number(data, header, 4)?)? {
            PT_INTERP => bail!("the program asks for an interpreter: it is not static"),
            PT_DYNAMIC => {
                let (at, length) = (number(data, header + 8, 8)?, number(data, header + 32, 8)?);
                for entry in (at..at + length).step_by(16) {
                    let tag = number(data, usize::try_from(entry)?, 8)?;
                    ensure!(tag != DT_NEEDED, "the program needs a library of the system: it is not static");
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks that a little-endian 64-bit ELF file has no table of symbols.
fn check_stripped(data: &[u8]) -> Result<()> {
    let start = usize::try_from(number(data, 40, 8)?)?;
    let size = usize::try_from(number(data, 58, 2)?)?;
    let count = usize::try_from(number(data, 60, 2)?)?;
    for index in 0..count {
        let section_type = number(data, start + index * size + 4, 4)?;
        ensure!(section_type != SHT_SYMTAB, "the program has a table of symbols: it is not stripped");
    }
    Ok(())
}

/// Reads a little-endian number.
fn number(data: &[u8], at: usize, size: usize) -> Result<u64> {
    let bytes = at.checked_add(size).and_then(|end| data.get(at..end)).context("the file is cut short")?;
    Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::{check_static, check_stripped};

    /// Builds an ELF header with one program header of a type, whose content is a dynamic entry with a tag.
    fn elf(header_type: u32, tag: u64) -> Vec<u8> {
        let mut data = vec![0; 64 + 56 + 16];
        data[..6].copy_from_slice(b"\x7fELF\x02\x01");
        data[32] = 64;
        data[54] = 56;
        data[56] = 1;
        data[64..68].copy_from_slice(&header_type.to_le_bytes());
        data[64 + 8] = 120;
        data[64 + 32] = 16;
        data[120..128].copy_from_slice(&tag.to_le_bytes());
        data
    }

    #[test]
    fn stripped_programs() {
        let mut data = elf(1, 0);
        assert!(check_stripped(&data).is_ok());
        // One section header, in place of the program header.
        data[40] = 64;
        data[58] = 64;
        data[60] = 1;
        for (section_type, is_stripped) in [(1, true), (2, false), (11, true)] {
            data[68] = section_type;
            assert_eq!(check_stripped(&data).is_ok(), is_stripped, "{section_type}");
        }
        assert!(check_stripped(&data[..70]).is_err());
    }

    #[test]
    fn static_programs() {
        assert!(check_static(&elf(1, 0)).is_ok());
        assert!(check_static(&elf(2, 0)).is_ok());
        assert!(check_static(&elf(2, 1)).is_err());
        assert!(check_static(&elf(3, 0)).is_err());
        assert!(check_static(&elf(2, 0)[..124]).is_err());
        assert!(check_static(b"MZ").is_err());
    }
}
