//! Functions of numbers in the interpreter and natively: every operation of AIR on every type (`scalar_text`).
//!
//! Modules of our own have them, so that the operands are all kinds of numbers, and so that it is known which results have to
//! be the same to the bit.

use std::fs;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::llvm::assemble::{self, AssembleOptions, Version};

use super::Files;
use super::cases::Case;
use super::interpreted::{Verdict, one};
use super::scalar_text::{Operation, operations};
use super::tools::Tools;
use crate::sh;

/// Runs all operations, or every `step`-th.
pub(crate) fn run(step: Option<usize>) -> Result<()> {
    let Some(tools) = Tools::find()? else { return Ok(()) };
    let folder = sh::temporary("scalar");
    fs::create_dir_all(&folder)?;
    let operations: Vec<Operation> = operations().into_iter().step_by(step.unwrap_or(1).max(1)).collect();
    let files = |number: usize| Files { folder: folder.clone(), number };
    let run = |(number, operation): (usize, &Operation)| verdict(&tools, operation, &files(number));
    let verdicts: Result<Vec<Verdict>> = operations.par_iter().enumerate().map(run).collect();
    fs::remove_dir_all(&folder)?;
    report(&operations, &verdicts?)
}

fn verdict(tools: &Tools, operation: &Operation, files: &Files) -> Result<Verdict> {
    let options = AssembleOptions { version: Version::Llvm14 };
    match assemble::bitcode(operation.text.as_bytes(), b"scalar", &options) {
        Ok(assembled) => {
            let case = Case {
                set: "operations".into(),
                name: "k".into(),
                module: assembled.bytes,
                is_kernel: true,
                source: None,
            };
            one(tools, &case, files)
        }
        Err(errors) => {
            let reason = errors.first().map(ToString::to_string).unwrap_or_default();
            Ok(Verdict::Refused { step: "assemble", reason })
        }
    }
}

fn report(operations: &[Operation], verdicts: &[Verdict]) -> Result<()> {
    let (mut equal, mut near, mut numbers, mut wrong, mut refused) = (0, 0, 0, Vec::new(), Vec::new());
    for (operation, verdict) in operations.iter().zip(verdicts) {
        let name = &operation.name;
        match verdict {
            Verdict::Same(count) => {
                equal += operation.functions;
                numbers += count;
            }
            Verdict::Near { distance, numbers: count } if !operation.is_exact => {
                near += operation.functions;
                numbers += count;
                println!("near: {name}: {distance} units of the last place");
            }
            Verdict::Refused { step, reason } => {
                refused.push((operation, format!("{name}: {step}: {reason}")));
            }
            verdict => wrong.push(format!("{name}: {verdict}")),
        }
    }
    let all: usize = operations.iter().map(|operation| operation.functions).sum();
    let not_run: usize = refused.iter().map(|refused| refused.0.functions).sum();
    println!(
        "{all} functions of {} operations: {equal} equal to the bit, {near} within 2 units of the last place, \
         {not_run} without a native side, {numbers} numbers",
        operations.len()
    );
    for (_, text) in &refused {
        println!("not compared: {text}");
    }
    for text in &wrong {
        println!("fault: {text}");
    }
    ensure!(wrong.is_empty(), "{} operations differ", wrong.len());
    Ok(())
}
