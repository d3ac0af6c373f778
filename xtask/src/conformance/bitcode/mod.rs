//! LLVM bitcode: compares our text with that of `llvm-dis` and DXC, byte by byte.
//!
//! | module | contents |
//! |---|---|
//! | [`air`], [`dxil`], [`c_files`], [`front_ends`], [`intrinsics`], [`llvm_tests`], [`rust`] | the sets of modules |
//! | [`oracle`] | the other programs, and a cache of their results |
//! | [`ours`] | our text, in a thread where a panic or an endless loop does no harm |
//! | [`mod@compare`] | compares one set with one other program |
//! | [`dump`], [`generated`] | compares the outline with `llvm-bcanalyzer`, also for generated C |
//! | [`tree`] | writes each module as it was read |
//! | [`mod@write`] | writes each module as `llvm-as` does |
//! | [`edit`] | strips each module's debug information, and renames its symbols |
//! | [`verify`] | compares our verifier with LLVM's |
//! | [`server`] | runs a program many times at the cost of one start |
//! | [`report`] | the printed results, and the criteria |

mod air;
pub(super) mod assemble;
mod c_files;
mod compare;
pub(crate) mod dump;
mod dxil;
pub(crate) mod edit;
mod front_ends;
mod generated;
mod intrinsics;
mod llvm_tests;
mod oracle;
mod ours;
mod report;
mod rust;
mod server;
pub(crate) mod tree;
pub(crate) mod verify;
pub(crate) mod write;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use unshade::llvm::print::Dialect;

use self::compare::{Expected, compare};
use self::oracle::Oracle;
use self::report::Report;

/// The sets to compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Set {
    /// The modules of Apple's libraries.
    Air,
    /// The modules in Microsoft's containers.
    Dxil,
    /// C files of Debian packages, for which unshade was not tuned.
    C,
    /// The tests of clang and flang, and D's library, compiled by every installed front end for many targets.
    FrontEnds,
    /// Declarations of the intrinsics of all targets.
    Intrinsics,
    /// The modules in LLVM's own tests, many of them invalid on purpose.
    LlvmTests,
    /// Tests of LLVM's code generators and passes.
    LlvmPasses,
    /// Rust's standard library, as its compiler embeds it.
    Rust,
}

/// A module to compare, with its origin.
struct Input {
    name: String,
    place: Place,
}

enum Place {
    Memory(Vec<u8>),
    File(PathBuf),
}

impl Input {
    fn bytes(&self) -> Result<Vec<u8>> {
        match &self.place {
            Place::Memory(bytes) => Ok(bytes.clone()),
            Place::File(path) => fs::read(path).with_context(|| format!("cannot read {}", path.display())),
        }
    }
}

/// Calls `visit` with the name and the modules of every set.
fn for_all_sets(sample: Option<usize>, mut visit: impl FnMut(&str, &[Input]) -> Result<()>) -> Result<()> {
    visit("air", &air::with_corpus(sample)?)?;
    match dxil::Containers::find(sample)? {
        Some(containers) => visit("dxil", &containers.modules())?,
        None => println!("skipped: UNSHADE_CORPUS is not set, so there is no DXIL"),
    }
    visit("clang", &generated::modules()?)?;
    for version in ["14", "19"] {
        for level in c_files::LEVELS {
            visit(&format!("{} of clang {version}", level.set), &c_files::modules(version, level, sample)?)?;
        }
        visit(&format!("tests of LLVM {version}, assembled"), &llvm_tests::assembled(version, sample)?)?;
    }
    visit("tests of LLVM", &llvm_tests::bitcode(sample)?)
}

/// A comparison with one program: the name of the set, its modules, and the criteria.
struct Contest<'a> {
    set: &'static str,
    inputs: &'a [Input],
    expected: Expected,
}

pub(crate) fn run(sets: &[Set], sample: Option<usize>) -> Result<()> {
    let wanted = |set: Set| sets.is_empty() || sets.contains(&set);
    let mut report = Report::default();
    let old = Oracle::find("llvm-dis-14", &[], Dialect::Llvm14)?;
    let new = Oracle::find("llvm-dis-19", &[], Dialect::Llvm19)?;
    let newest = Oracle::find("llvm-dis-22", &[], Dialect::Llvm22)?;
    // This program keeps debug info that the others drop with a warning.
    let keeping = Oracle::find("llvm-dis-19", &["-disable-auto-upgrade-debug-info"], Dialect::Llvm19)?;
    let against = |oracle: &Option<Oracle>, set: &'static str, inputs: &[Input], expected: Expected| {
        let compared = oracle
            .as_ref()
            .map(|oracle| compare(&Contest { set, inputs, expected }, oracle, keeping.as_ref()));
        compared.transpose()
    };
    if wanted(Set::Air) {
        let inputs = air::modules(sample)?;
        report.add(against(&old, "air", &inputs, Expected::ALL)?)?;
        report.add(against(&new, "air", &inputs, Expected::ALL)?)?;
        report.add(against(&newest, "air", &inputs, Expected::ALL)?)?;
    }
    if wanted(Set::Dxil) {
        match dxil::Containers::find(sample)? {
            Some(containers) => {
                let inputs = containers.modules();
                report.add(against(&old, "dxil", &inputs, Expected::ALL)?)?;
                report.add(against(&new, "dxil", &inputs, Expected::ALL)?)?;
                report.add([containers.beside_dxc()?])?;
            }
            None => println!("skipped: DXIL (UNSHADE_CORPUS is not set)"),
        }
    }
    if wanted(Set::C) {
        for (oracle, version) in [(&old, "14"), (&new, "19")] {
            for level in c_files::LEVELS {
                let inputs = c_files::modules(version, level, sample)?;
                report.add(against(oracle, level.set, &inputs, Expected::C)?)?;
                report.add(against(&newest, level.set, &inputs, Expected::C)?)?;
            }
        }
        if newest.is_some() {
            for level in c_files::LEVELS {
                let inputs = c_files::modules("22", level, sample)?;
                report.add(against(&newest, level.set, &inputs, Expected::C)?)?;
            }
        }
    }
    if wanted(Set::Rust) {
        let inputs = rust::modules(sample)?;
        report.add(against(&newest, "rust", &inputs, Expected::ALL)?)?;
    }
    if wanted(Set::FrontEnds) {
        for front_end in &front_ends::ALL {
            let inputs = front_ends::modules(front_end, sample)?;
            if front_end.llvm <= 14 {
                report.add(against(&old, front_end.name, &inputs, Expected::FRONT_ENDS)?)?;
            }
            if front_end.llvm <= 19 {
                report.add(against(&new, front_end.name, &inputs, Expected::FRONT_ENDS)?)?;
            }
            report.add(against(&newest, front_end.name, &inputs, Expected::FRONT_ENDS)?)?;
        }
    }
    if wanted(Set::Intrinsics) {
        for (oracle, version) in [(&old, "14"), (&new, "19")] {
            let inputs = intrinsics::declarations(version, sample)?;
            report.add(against(oracle, "intrinsics", &inputs, Expected::ALL)?)?;
        }
    }
    if wanted(Set::LlvmTests) {
        let inputs = llvm_tests::bitcode(sample)?;
        report.add(against(&old, "tests", &inputs, Expected::LATER_TESTS)?)?;
        report.add(against(&new, "tests", &inputs, Expected::TESTS)?)?;
        report.add(against(&newest, "tests", &inputs, Expected::TESTS)?)?;
        for (oracle, version) in [(&old, "14"), (&new, "19"), (&newest, "22")] {
            let inputs = llvm_tests::assembled(version, sample)?;
            report.add(against(oracle, "tests-ll", &inputs, Expected::TESTS)?)?;
        }
    }
    if wanted(Set::LlvmPasses) {
        let inputs = llvm_tests::of_passes("14", sample)?;
        report.add(against(&old, "passes-14", &inputs, Expected::FRONT_ENDS)?)?;
        report.add(against(&new, "passes-14", &inputs, Expected::FRONT_ENDS)?)?;
        report.add(against(&newest, "passes-14", &inputs, Expected::FRONT_ENDS)?)?;
        let inputs = llvm_tests::of_passes("19", sample)?;
        report.add(against(&new, "passes-19", &inputs, Expected::FRONT_ENDS)?)?;
        report.add(against(&newest, "passes-19", &inputs, Expected::FRONT_ENDS)?)?;
    }
    let faults = report.finish()?;
    ensure!(faults.is_empty(), "{}", faults.join("; "));
    Ok(())
}
