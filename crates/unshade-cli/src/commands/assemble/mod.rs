//! `unshade asm`: assembles the output of `dis` to a program.
//!
//! The first line of code identifies the kind of listing: in a token program it contains only the model (`ps_5_0`).

mod direct3d;
mod sass;

use crate::Outcome;
use crate::args::{AssembleArgs, BinaryArgs, GlobalArgs};
use crate::commands::written::{read_text, write};
use anyhow::Result;
use std::ffi::OsStr;

pub(crate) fn run(args: &AssembleArgs, global: &GlobalArgs) -> Result<Outcome> {
    let text = read_text(&args.listing)?;
    if args.sm.is_none() && direct3d::is_listing(&text) {
        direct3d::run(args, &text, global)
    } else {
        sass::run(args, &text)
    }
}

/// Writes the result if an output file is named, but never over an input.
fn save(args: &AssembleArgs, data: &[u8]) -> Result<bool> {
    let Some(output) = &args.output else { return Ok(false) };
    let inputs: Vec<&OsStr> =
        args.into.iter().chain([&args.listing]).map(|input| input.as_os_str()).collect();
    let output = BinaryArgs { output: output.clone(), force: args.force };
    write(&output, &inputs, std::iter::once(data))?;
    Ok(true)
}
