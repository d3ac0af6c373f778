//! The names of intrinsics in the libraries of LLVM.
//!
//! Up to version 19 the library holds each name as a string that ends in a zero byte; later ones hold one table of
//! such strings.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::sh;

/// The versions to look for. Versions that are missing lack only their own names.
const VERSIONS: std::ops::RangeInclusive<u32> = 11..=24;

/// The first parts of names that belong to a target.
const TARGETS: [&str; 18] = [
    "aarch64",
    "amdgcn",
    "arm",
    "bpf",
    "dx",
    "hexagon",
    "loongarch",
    "mips",
    "nvvm",
    "ppc",
    "r600",
    "riscv",
    "s390",
    "spv",
    "ve",
    "wasm",
    "x86",
    "xcore",
];

/// Names in old files that mean nothing to any installed version.
const RETIRED: [&str; 2] = ["llvm.aarch64.sve.tuple.create1", "llvm.x86.ssse3.palign.r"];

/// Returns the names of all targets in all installed versions, in order.
pub(crate) fn of_targets() -> Result<Vec<String>> {
    let mut names: BTreeSet<String> = RETIRED.iter().map(|&name| name.to_owned()).collect();
    for version in VERSIONS {
        let Some(library) = library(version) else { continue };
        let bytes = fs::read(&library).with_context(|| format!("cannot read {}", library.display()))?;
        let before = names.len();
        names.extend(bytes.split(|&byte| byte == 0).filter_map(name).map(str::to_owned));
        println!("{}: {} further names", library.display(), names.len() - before);
    }
    ensure!(names.len() > RETIRED.len(), "no shared library of LLVM found: is llvm-dis-19 installed?");
    Ok(names.into_iter().collect())
}

/// Returns a string if it is the name of a target's intrinsic.
fn name(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (target, rest) = text.strip_prefix("llvm.")?.split_once('.')?;
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_');
    (TARGETS.contains(&target) && !rest.is_empty() && !rest.ends_with('.') && rest.bytes().all(valid))
        .then_some(text)
}

/// Returns the shared library of a version, which is the one that its `llvm-dis` is linked with.
pub(super) fn library(version: u32) -> Option<PathBuf> {
    let program = sh::find_llvm_tool(&format!("llvm-dis-{version}"))?;
    let output = Command::new("ldd").arg(program).output().ok()?;
    let listing = String::from_utf8(output.stdout).ok()?;
    let line = listing.lines().find(|line| line.trim_start().starts_with("libLLVM"))?;
    Some(PathBuf::from(line.split_whitespace().nth(2)?))
}
