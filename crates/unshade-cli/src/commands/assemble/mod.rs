//! `unshade asm`: what `dis` prints, back to a program.
//!
//! What a listing is of is told by its first line of code: the model of a token program (`ps_5_0`) stands by itself there.

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

/// Writes what came of it, if a file was named, but over none of the inputs.
fn save(args: &AssembleArgs, data: &[u8]) -> Result<bool> {
    let Some(output) = &args.output else { return Ok(false) };
    let inputs: Vec<&OsStr> =
        args.into.iter().chain([&args.listing]).map(|input| input.as_os_str()).collect();
    let output = BinaryArgs { output: output.clone(), force: args.force };
    write(&output, &inputs, std::iter::once(data))?;
    Ok(true)
}
