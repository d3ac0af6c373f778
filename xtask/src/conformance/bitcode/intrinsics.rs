//! Declarations of the intrinsics of all targets, assembled with `llvm-as`. LLVM replaces their attributes.

use std::process::Command;

use anyhow::Result;

use super::server::run_once;
use super::{Input, Place};
use crate::intrinsics::{TYPES, declarations as text_of, names};

/// Declarations per module: few, because LLVM fails on the modules of some names.
const OF_ONE_MODULE: usize = 50;

/// Returns modules that declare every intrinsic, with parameters that most of them do not have.
pub(super) fn declarations(version: &str, sample: Option<usize>) -> Result<Vec<Input>> {
    let program = format!("llvm-as-{version}");
    if Command::new(&program).arg("--version").output().is_err() {
        println!("skipped: {program} is not installed");
        return Ok(Vec::new());
    }
    let names = names::of_targets()?;
    let mut modules = Vec::new();
    let all = TYPES.iter().flat_map(|ty| names.chunks(OF_ONE_MODULE).map(move |names| (ty, names)));
    for (ty, names) in all.take(sample.unwrap_or(usize::MAX)) {
        let ty = if *ty == "i8*" && version == "19" { "ptr" } else { ty };
        let command = [program.as_str(), "-disable-verify", "-", "-o", "-"];
        let output = run_once(&command, text_of(names, ty).as_bytes())?;
        let name = format!("{} and following with {ty}", names[0]);
        if output.status.success() {
            modules.push(Input { name, place: Place::Memory(output.stdout) });
        } else {
            println!("skipped: {program} fails on {name}");
        }
    }
    Ok(modules)
}
