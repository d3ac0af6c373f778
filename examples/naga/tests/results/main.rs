//! Compiles the compute shaders of `shaders/compute`, runs them on this machine, and compares the results with known
//! ones. With the feature `vulkan` these are compared with naga's SPIR-V on lavapipe, and written by `BLESS=1`.
//!
//! What is missing for a test is printed, and the test passes.

mod case;
mod native;
#[cfg(feature = "vulkan")]
mod vulkan;

use case::Case;

/// Fails with all differences, or prints how many shaders agree.
fn report(what: &str, count: usize, differences: &[String]) {
    println!("{what}: {} of {count} shaders give the known results", count - differences.len());
    assert!(differences.is_empty(), "{what}:\n{}", differences.join("\n"));
}

/// Runs all shaders on this machine.
fn run_natively(what: &str, run: fn(&Case, &native::Tools) -> Result<Vec<case::Buffer>, String>) {
    let Some(tools) = native::Tools::find(what) else {
        println!("skipped: llvm-dis-14 or clang-14 is missing");
        return;
    };
    let cases = Case::all();
    let differences = differences(&cases, |case| run(case, &tools));
    let _ = std::fs::remove_dir_all(&tools.folder);
    report(what, cases.len(), &differences);
}

#[test]
fn air_gives_the_known_results() {
    run_natively("AIR", native::run_air);
}

#[test]
fn dxil_gives_the_known_results() {
    run_natively("DXIL", native::run_dxil);
}

/// Runs shaders, and returns what differs.
fn differences(
    cases: &[Case],
    mut run: impl FnMut(&Case) -> Result<Vec<case::Buffer>, String>,
) -> Vec<String> {
    let mut list = Vec::new();
    for case in cases {
        let difference = match run(case) {
            Ok(found) => case.difference(&found, &case.expected()),
            Err(error) => Some(error),
        };
        list.extend(difference.map(|difference| format!("{}: {difference}", case.name)));
    }
    list
}

#[cfg(feature = "vulkan")]
#[test]
fn lavapipe_gives_the_known_results() {
    let Some(device) = vulkan::Device::open() else {
        println!("skipped: there is no software device of Vulkan (Debian's package mesa-vulkan-drivers)");
        return;
    };
    let cases = Case::all();
    if std::env::var_os("BLESS").is_some() {
        for case in &cases {
            case.bless(&device.run(case).unwrap_or_else(|error| panic!("{}: {error}", case.name)));
        }
    }
    let differences = differences(&cases, |case| device.run(case));
    report("SPIR-V on lavapipe", cases.len(), &differences);
}
