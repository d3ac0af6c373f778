//! `unshade asm`: assembles the output of `dis`.
//!
//! The first line of code gives the kind of listing: that of a token program is the shader model alone (`ps_5_0`), LLVM
//! assembly starts with a property, type or symbol.

mod direct3d;
mod llvm;
mod sass;

use crate::Outcome;
use crate::args::{AssembleArgs, BinaryArgs, GlobalArgs};
use crate::commands::written::{read_text, write};
use anyhow::Result;
use std::ffi::OsStr;
use unshade::edit::token_program;

pub(crate) fn run(args: &AssembleArgs, global: &GlobalArgs) -> Result<Outcome> {
    let text = read_text(&args.listing)?;
    if args.sm.is_none() && token_program::is_listing(&text) {
        direct3d::run(args, &text, global)
    } else if args.sm.is_none() && llvm::is_listing(args, &text) {
        llvm::run(args, &text, global)
    } else {
        sass::run(args, &text)
    }
}

/// Writes the result, if an output file is given, but never over an input.
fn save(args: &AssembleArgs, data: &[u8]) -> Result<bool> {
    let Some(output) = &args.output else { return Ok(false) };
    let inputs: Vec<&OsStr> =
        args.into.iter().chain([&args.listing]).map(|input| input.as_os_str()).collect();
    let output = BinaryArgs { output: output.clone(), force: args.force };
    write(&output, &inputs, std::iter::once(data))?;
    Ok(true)
}
