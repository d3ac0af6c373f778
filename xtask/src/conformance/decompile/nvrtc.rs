//! `cargo xtask conformance decompile-nvrtc`: compiles the output of the decompiler with NVIDIA's compiler, unmodified.
//!
//! Uses kernels for sm_30 from the packages, selected by a hash of their names. NVRTC 11.7 is in the PyPI package
//! nvidia-cuda-nvrtc-cu11 11.7.99 and needs no GPU; `UNSHADE_NVRTC` names its library, `UNSHADE_PYTHON` a Python.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::decompiler::Options;
use unshade::nv::Cubin;
use unshade::nv::function::Function;

use super::{packages, reading, short};
use crate::sh;
use unshade_emulate::trial::hash;

/// Number of kernels to compile.
const SAMPLE: usize = 200;

/// Number of additional kernels to try, as some can't be decompiled completely.
const SPARE: usize = 50;

pub(in super::super) fn run(sample: Option<usize>, failures: Option<&Path>) -> Result<()> {
    let Some(library) = sh::env_path("UNSHADE_NVRTC") else {
        println!(
            "skipped: UNSHADE_NVRTC does not name libnvrtc.so.11.2 (pip download nvidia-cuda-nvrtc-cu11==11.7.99)"
        );
        return Ok(());
    };
    let scratch = std::env::temp_dir().join(format!("unshade-decompile-nvrtc-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let result = run_in(&scratch, &library, sample.unwrap_or(SAMPLE), failures);
    let _ = fs::remove_dir_all(&scratch);
    result
}

fn run_in(scratch: &Path, library: &Path, sample: usize, failures: Option<&Path>) -> Result<()> {
    let data = packages::cubins(30)?;
    let mut cubins = Vec::new();
    for data in &data {
        cubins.push(Cubin::read(Reader::new(data))?);
    }
    let mut kernels = BTreeMap::new();
    for cubin in &cubins {
        for function in cubin.functions().filter(|function| function.symbol.is_kernel()) {
            let name = String::from_utf8_lossy(function.name()).into_owned();
            kernels.entry(hash(&name)).or_insert((cubin, name));
        }
    }
    ensure!(!kernels.is_empty(), "the packages are missing: run `cargo xtask corpus --set cuda`");
    let kernels: Vec<(&Cubin<'_>, String)> = kernels.into_values().take(sample + SPARE).collect();
    let texts: Vec<Option<String>> = kernels.par_iter().map(|(cubin, name)| text(cubin, name)).collect();
    let mut names = BTreeMap::new();
    for ((_, name), text) in kernels.iter().zip(texts) {
        if let Some(text) = text.filter(|_| names.len() < sample) {
            let stem = format!("{:04}", names.len());
            fs::write(scratch.join(format!("{stem}.cu")), text)?;
            names.insert(stem, name);
        }
    }
    let script = scratch.join("compile.py");
    fs::write(&script, include_str!("nvrtc.py"))?;
    let python = std::env::var_os("UNSHADE_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let output = sh::capture(Command::new(python).arg(&script).arg(library).arg(scratch))?;
    let said = String::from_utf8(output.stdout).context("the compiler's output")?;
    let mut refused: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut taken = 0;
    for line in said.lines() {
        let (stem, error) = line.split_once('\t').context("a line")?;
        if error.is_empty() {
            taken += 1;
            continue;
        }
        let name = names.get(stem).map_or("", |name| name.as_str());
        let entry = refused.entry(reading::shape(error)).or_insert((0, String::from(name)));
        entry.0 += 1;
        if let Some(folder) = failures {
            fs::create_dir_all(folder)?;
            fs::copy(scratch.join(format!("{stem}.cu")), folder.join(format!("{}.cu", short(name))))?;
        }
    }
    println!("NVRTC accepts {taken} of {}", names.len());
    for (error, (count, name)) in &refused {
        println!("  {count:>4}  {error}   {}", short(name));
    }
    ensure!(taken == names.len(), "NVRTC rejects {}", names.len() - taken);
    Ok(())
}

/// Returns the C of a kernel if every statement is C.
fn text(cubin: &Cubin<'_>, name: &str) -> Option<String> {
    let mut found = None;
    let wanted = |function: &Function<'_>| function.name() == name.as_bytes();
    unshade::decompile::cubin(
        cubin,
        &wanted,
        &Options::default(),
        &mut Diagnostics::new(),
        &mut |function| {
            found = function.result.ok().filter(|found| found.unlifted == 0).map(|found| found.text());
        },
    );
    found
}
