//! Decompiled C++ on this machine: compiled by g++ with the decompiler's header, and run on the inputs of cases.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use unshade::decompile::{self, FunctionC};
use unshade::decompiler::c;
use unshade_tests::closed_loop::cases::Case;
use unshade_tests::closed_loop::host::{self, HostError, Program};
use unshade_tests::closed_loop::{compare, emulated, write_headers};

use super::closed_loop::{Kernel, ROUNDS, Verdict};

/// Compiles functions as one file, as a user does. The error is the compiler's first one.
pub(super) fn compile(folder: &Path, functions: &[FunctionC]) -> Result<(), String> {
    let source = folder.join("whole.cpp");
    let write = || {
        fs::create_dir_all(folder)?;
        write_headers(folder)?;
        fs::write(&source, decompile::text(functions))
    };
    write().map_err(|error| error.to_string())?;
    let mut command = Command::new("g++");
    command.args(["-std=c++11", "-fwrapv", "-fno-strict-aliasing", "-w", "-fsyntax-only"]);
    let output = command.arg(&source).output().map_err(|error| format!("g++ is needed: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(first_error(&String::from_utf8_lossy(&output.stderr)))
}

fn first_error(output: &str) -> String {
    output.lines().find(|line| line.contains("error")).unwrap_or("no message").to_owned()
}

/// Compiles and runs a kernel, the last of `functions`; the others are those that it calls.
pub(super) fn verdict(folder: &Path, functions: &[FunctionC], original: &[u8], kernel: &Kernel) -> Verdict {
    if kernel.cases.is_empty() {
        return Verdict::NotRun("it has no case".to_owned());
    }
    let in_c = |case: &Case| Case {
        file: "text".to_owned(),
        expression: c::identifier(&kernel.name),
        kernel: kernel.name.clone(),
        ..case.clone()
    };
    let cases: Vec<Case> = kernel.cases.iter().map(in_c).collect();
    let sources = BTreeMap::from([("text".to_owned(), decompile::text(functions))]);
    if let Err(error) = fs::create_dir_all(folder) {
        return Verdict::NotRun(error.to_string());
    }
    let program = match Program::new(&cases, &sources).compile(folder) {
        Ok(program) => program,
        Err(HostError::Compile(output)) => return Verdict::Rejected(first_error(&output)),
        Err(error) => return Verdict::NotRun(format!("{error:?}")),
    };
    let runs: Vec<_> =
        cases.iter().flat_map(|case| (0..ROUNDS).map(move |round| (case, case.inputs(round)))).collect();
    let found = match host::run(&program, folder, &runs) {
        Ok(found) => found,
        Err(error) => return Verdict::Different(format!("{error:?}")),
    };
    for ((case, inputs), found) in runs.iter().zip(&found) {
        let expected = match emulated::run(original, case, inputs) {
            Ok((expected, _)) => expected,
            Err(fault) => return Verdict::NotRun(fault.to_string()),
        };
        if let Some(what) = compare::difference(case, &expected, found) {
            return Verdict::Different(what);
        }
    }
    Verdict::Equal
}
