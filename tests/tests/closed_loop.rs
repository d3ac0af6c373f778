//! Our kernels: the CUDA source, compiled as C++ for the host, and the cubin in the emulator agree on the same random
//! inputs.
//!
//! Requires g++.

use std::collections::BTreeMap;
use unshade_tests::closed_loop::{cases, compare, emulated, folder, host};

/// Number of inputs per kernel.
const ROUNDS: u64 = 6;

#[test]
fn the_source_on_the_host_and_the_cubin_in_the_emulator_agree() {
    let cases = cases::all();
    let mut sources = BTreeMap::new();
    for case in &cases {
        let path = folder().join("src").join(format!("{}.cu", case.file));
        sources.insert(case.file.clone(), std::fs::read_to_string(path).expect("the source is a fixture"));
    }
    let scratch = std::env::temp_dir().join(format!("unshade-closed-loop-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let program = match host::Program::new(&cases, &sources).compile(&scratch) {
        Ok(program) => program,
        Err(host::HostError::NoCompiler(error)) => {
            panic!("this test compiles CUDA sources for the host and needs a C++ compiler ({error})")
        }
        Err(error) => panic!("{error:?}"),
    };
    let mut runs = Vec::new();
    for case in &cases {
        runs.extend((0..ROUNDS).map(|round| (case, case.inputs(round))));
    }
    let expected = host::run(&program, &scratch, &runs).unwrap_or_else(|error| panic!("{error:?}"));
    let mut failures: BTreeMap<&str, String> = BTreeMap::new();
    let mut steps = 0;
    for ((case, inputs), expected) in runs.iter().zip(&expected) {
        let cubin = std::fs::read(folder().join("sm_35").join(format!("{}.cubin", case.file)));
        let cubin = cubin.expect("the cubin is a fixture");
        let failure = match emulated::run(&cubin, case, inputs) {
            Err(fault) => Some(fault.to_string()),
            Ok((found, summary)) => {
                steps += summary.steps;
                compare::difference(case, expected, &found)
            }
        };
        if let Some(failure) = failure {
            failures.entry(&case.kernel).or_insert(failure);
        }
    }
    println!("{} kernels, {} runs, {steps} warp instructions", cases.len(), runs.len());
    for (kernel, failure) in &failures {
        println!("{kernel}: {failure}");
    }
    assert!(failures.is_empty(), "{} kernels differ", failures.len());
    let _ = std::fs::remove_dir_all(&scratch);
}

#[test]
fn the_kernels_have_no_faults() {
    let cases = cases::all();
    let mut found = Vec::new();
    for case in &cases {
        let cubin = std::fs::read(folder().join("sm_35").join(format!("{}.cubin", case.file)));
        let report = emulated::sanitize(&cubin.expect("the cubin is a fixture"), case, &case.inputs(0));
        let report = report.unwrap_or_else(|fault| panic!("{}: {fault}", case.kernel));
        assert!(report.is_complete, "{}", case.kernel);
        found.extend(report.findings.iter().map(|finding| (case.kernel.as_str(), finding.kind().name)));
    }
    // The blocks of these kernels write different values to the same buffer.
    let race = "race-between-blocks";
    assert_eq!(found, [("shf", race), ("shf", race), ("texk", race)]);
}
