//! `cargo xtask conformance ghidra`: Ghidra's own decompiler with the module in `ghidra/`, beside ours.
//!
//! 1. The kernels of an article on Kepler: the C must be that of `tests/fixtures/nvidia/article/*.c`, which has the
//!    parameters, branches and returns that the article shows.
//! 2. Kernels of the corpus for sm_35: Ghidra gets what `unshade ghidra --import` writes. Printed as a table: for each
//!    decompiler lines, casts, gotos and unknowns ([`counts`]).
//!
//! Requires Ghidra's decompiler as a console program, which is part of Ghidra's sources (`make decomp_opt` in
//! `Ghidra/Features/Decompiler/src/decompile/cpp`; the source package of flatline on PyPI has this folder), on PATH or in
//! `UNSHADE_GHIDRA_DECOMPILER`; and pypcode, whose compiler compiles the module.

mod console;
mod counts;
mod import;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use unshade::core::{Diagnostics, Reader};
use unshade::decompiler::Options;
use unshade::nv::Cubin;
use unshade::nv::function::Function;

use self::console::{Console, Program};
use self::counts::Counts;
use super::sleigh::{self, article};
use crate::sh;

/// The compared kernels: files of `$UNSHADE_CORPUS/cuda`, and functions in them. They were chosen before anything was
/// counted: different sizes and purposes, the same for all measures.
const KERNELS: [(&str, &[&str]); 9] = [
    ("loop/a1.O3.cubin", &["sha256"]),
    ("loop/a2.O3.cubin", &["mont", "modexp", "keccak", "xtea", "md5u"]),
    (
        "loop/a3.O3.cubin",
        &["compact", "segscan", "warpreduce", "hist256", "oddeven", "bitonic", "scan_blelloch", "reduce6"],
    ),
    ("kernels/sm_35/predicates.cubin", &["predicates"]),
    ("kernels/sm_35/atomics.cubin", &["atoms"]),
    ("kernels/sm_35/matmul.cubin", &["mm"]),
    ("kernels/sm_35/loops.cubin", &["nested"]),
    ("kernels/sm_35/switches.cubin", &["sw"]),
    ("kernels/sm_35/shared.cubin", &["transpose"]),
];

/// The prototypes that the article gives.
const PROTOTYPES: [(&str, &str); 2] = [
    ("axpy", "void axpy(float param_1, float *param_2, float *param_3)"),
    ("predicates", "void predicates(float *param_1, float *param_2)"),
];

pub(super) fn run() -> Result<()> {
    let Some(decompiler) = decompiler() else {
        println!(
            "ghidra: skipped, neither UNSHADE_GHIDRA_DECOMPILER nor decomp_opt on PATH (docs/ghidra.md)"
        );
        return Ok(());
    };
    let Some(python) = sleigh::python() else {
        println!("ghidra: skipped, python3 with pypcode is missing (pip install pypcode==3.3.3)");
        return Ok(());
    };
    let folder = std::env::temp_dir().join(format!("unshade-ghidra-{}", std::process::id()));
    let result = sleigh::compiled(&python, &folder).and_then(|languages| {
        let console = Console { decompiler: &decompiler, languages: &languages, folder: &folder };
        article_kernels(&console)?;
        side_by_side(&console)
    });
    let _ = fs::remove_dir_all(&folder);
    result
}

/// Returns Ghidra's decompiler.
fn decompiler() -> Option<PathBuf> {
    let named = sh::env_path("UNSHADE_GHIDRA_DECOMPILER");
    named.or_else(|| ["decomp_opt", "decomp_dbg"].into_iter().find_map(sh::find))
}

/// Decompiles the kernels of the article and compares the C with the committed one.
fn article_kernels(console: &Console<'_>) -> Result<()> {
    for (kernel, prototype) in PROTOTYPES {
        let bytes = article::words(kernel)?.iter().flat_map(|word| word.to_le_bytes()).collect();
        let program = Program::of_code(kernel, "NVIDIA:LE:64:sm_30:default", bytes, prototype);
        let found = console.decompile(&program)?;
        let path = article::path(kernel, "c");
        let expected = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        ensure!(
            without_blanks(&found) == without_blanks(&expected),
            "{kernel}: Ghidra decompiles\n{found}and {} has\n{expected}",
            path.display()
        );
        println!("{kernel} of the article: Ghidra's C is as expected");
    }
    Ok(())
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Decompiles the kernels of the corpus with both decompilers and prints the table.
fn side_by_side(console: &Console<'_>) -> Result<()> {
    let Some(corpus) = sh::env_path("UNSHADE_CORPUS") else {
        println!("skipped: UNSHADE_CORPUS is not set, so no kernels are compared");
        return Ok(());
    };
    println!("\n{}", counts::HEADING);
    let (mut ours, mut theirs, mut kernels) = (Counts::default(), Counts::default(), 0);
    for (file, names) in KERNELS {
        let path = corpus.join("cuda").join(file);
        if !path.is_file() {
            println!("skipped: {} does not exist", path.display());
            continue;
        }
        let data = fs::read(&path)?;
        for name in names {
            let pair = both(console, &data, name).with_context(|| format!("{file}: {name}"))?;
            println!("{}", counts::row(name, &pair));
            theirs.add(&pair.0);
            ours.add(&pair.1);
            kernels += 1;
        }
    }
    println!("{}", counts::row(&format!("**{kernels} kernels**"), &(theirs, ours)));
    Ok(())
}

/// Counts Ghidra's text of a kernel and ours.
fn both(console: &Console<'_>, data: &[u8], name: &str) -> Result<(Counts, Counts)> {
    let cubin = Cubin::read(Reader::new(data))?;
    let wanted = |function: &Function<'_>| {
        let mangled = function.name();
        let plain = unshade::demangle(mangled).map(|text| text.split('(').next().unwrap_or("").to_owned());
        mangled == name.as_bytes() || plain.as_deref() == Some(name)
    };
    let mut diagnostics = Diagnostics::new();
    let mut ours = Counts::default();
    unshade::decompile::cubin(&cubin, &wanted, &Options::default(), &mut diagnostics, &mut |function| {
        if let Ok(found) = function.result {
            ours.add(&Counts::of_ours(&found));
        }
    });
    let mut theirs = Counts::default();
    for program in unshade::ghidra::programs(&cubin, &wanted, &mut diagnostics) {
        let text = console.decompile(&import::program(&program)?)?;
        theirs.add(&Counts::of_ghidra(&text, unshade::sass::semantics::functions()));
    }
    ensure!(ours.lines > 0 && theirs.lines > 0, "not decompiled: {ours:?}, {theirs:?}");
    Ok((theirs, ours))
}
