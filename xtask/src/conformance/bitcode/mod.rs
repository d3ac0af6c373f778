//! LLVM bitcode: our text beside that of `llvm-dis` and of DXC, byte by byte.
//!
//! | module | thing |
//! |---|---|
//! | [`air`], [`dxil`], [`c_files`], [`llvm_tests`] | the sets: where modules come from |
//! | [`oracle`] | the other programs, and the memory of what they said |
//! | [`ours`] | our text, made where a panic or an endless loop does no harm |
//! | [`mod@compare`] | one set beside one other program |
//! | [`dump`], [`generated`] | the outline beside `llvm-bcanalyzer`, also of C that is generated |
//! | [`server`] | running a program many times at the cost of one start |
//! | [`report`] | the lines that are printed, and the bars |

mod air;
mod c_files;
mod compare;
pub(crate) mod dump;
mod dxil;
mod generated;
mod llvm_tests;
mod oracle;
mod ours;
mod report;
mod server;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use unshade::llvm::print::Dialect;

use self::compare::{Expected, compare};
use self::oracle::Oracle;
use self::report::Report;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Set {
    /// The modules of Apple's libraries.
    Air,
    /// The modules in Microsoft's containers.
    Dxil,
    /// C files of Debian packages, which nobody tuned for.
    C,
    /// What stands in LLVM's own tests, much of it broken on purpose.
    LlvmTests,
}

/// A module that is compared, and where it is from.
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

/// What is compared with one program: the name of the set, its modules, and what must be identical.
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
    // It keeps the debug info that the others drop with a warning.
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
    }
    if wanted(Set::Dxil) {
        match dxil::Containers::find(sample)? {
            Some(containers) => {
                let inputs = containers.modules();
                report.add(against(&old, "dxil", &inputs, Expected::ALL)?)?;
                report.add(against(&new, "dxil", &inputs, Expected::ALL)?)?;
                report.add([containers.beside_dxc()?])?;
            }
            None => println!("skipped: UNSHADE_CORPUS is not set, so there is no DXIL"),
        }
    }
    if wanted(Set::C) {
        for (oracle, version) in [(&old, "14"), (&new, "19")] {
            for level in c_files::LEVELS {
                let inputs = c_files::modules(version, level, sample)?;
                report.add(against(oracle, level.set, &inputs, Expected::C)?)?;
            }
        }
    }
    if wanted(Set::LlvmTests) {
        let inputs = llvm_tests::bitcode(sample)?;
        report.add(against(&old, "tests", &inputs, Expected::LATER_TESTS)?)?;
        report.add(against(&new, "tests", &inputs, Expected::TESTS)?)?;
        for (oracle, version) in [(&old, "14"), (&new, "19")] {
            let inputs = llvm_tests::assembled(version, sample)?;
            report.add(against(oracle, "tests-ll", &inputs, Expected::TESTS)?)?;
        }
    }
    let faults = report.finish()?;
    ensure!(faults.is_empty(), "{}", faults.join("; "));
    Ok(())
}
