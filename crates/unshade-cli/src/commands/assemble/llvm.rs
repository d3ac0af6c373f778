//! Assembles LLVM assembly: to bitcode, to a DirectX container, or into a copy of a Metal library or container.

use super::save;
use crate::Outcome;
use crate::args::{AssembleArgs, DialectArg, GlobalArgs};
use crate::commands::bitcode::note;
use crate::commands::metallib::replaced_module;
use crate::commands::written::one_program;
use crate::input::shown;
use anyhow::{Context, Result, bail};
use unshade::dxcontainer::dxil::assemble::{Options, container};
use unshade::edit::container::put_bitcode;
use unshade::llvm::assemble::{self, AssembleOptions, Verify, Version, Write};
use unshade::program::{Verb, Writable};

/// A container of a text has all parts that follow from it.
const OF_TEXT: Options = Options {
    root_signature: None,
    subobjects: None,
    parts: Vec::new(),
    reflection: true,
    split_debug: true,
};

/// The size of texts from which on it pays to verify a module while it is written.
const BOTH_AT_ONCE: usize = 1 << 16;

/// What a line of LLVM assembly may start with, after comments.
const STARTS: [&str; 11] = [
    "source_filename",
    "target ",
    "define ",
    "declare ",
    "attributes ",
    "module asm",
    "@",
    "%",
    "$",
    "!",
    "^",
];

/// Returns whether a text is LLVM assembly: its name says so, or its first line does.
pub(super) fn is_listing(args: &AssembleArgs, text: &str) -> bool {
    let code = text.lines().map(str::trim_start).find(|line| !line.is_empty() && !line.starts_with(';'));
    args.listing.to_string_lossy().ends_with(".ll")
        || code.is_some_and(|line| STARTS.iter().any(|start| line.starts_with(start)))
}

pub(super) fn run(args: &AssembleArgs, text: &str, global: &GlobalArgs) -> Result<Outcome> {
    let version = match args.dialect {
        Some(DialectArg::Llvm14) => Version::Llvm14,
        Some(DialectArg::Llvm19) => Version::Llvm19,
        Some(DialectArg::Dxc) => Version::Dxc,
        Some(DialectArg::Llvm22) => {
            bail!("assembly can be written as LLVM 14 and 19 do, not as LLVM 22 does")
        }
        None => Version::of(text.as_bytes()),
    };
    let Some(data) = assembled(args, text, version) else { return Ok(Outcome::Finding) };
    let Some(into) = &args.into else {
        let is_bitcode =
            args.output.as_ref().and_then(|output| output.extension()).is_some_and(|end| end == "bc");
        let data = match version {
            Version::Dxc if !is_bitcode => {
                container(&data, &OF_TEXT).with_context(|| shown(&args.listing))?
            }
            _ => data,
        };
        if !save(args, &data)? {
            bail!("a module is binary: name the file to write with -o");
        }
        return Ok(Outcome::Done);
    };
    one_program(into, Verb::AssembleInto, global, |writable, program| match (writable, &args.function) {
        (Writable::MetalLibrary, Some(function)) => {
            let (bytes, outcome) = replaced_module(program.bytes, function, &data)?;
            save(args, &bytes)?;
            Ok(outcome)
        }
        (Writable::MetalUniversal, _) => bail!("{}: universal files are not assembled into", shown(into)),
        (Writable::MetalLibrary, None) => bail!("--function names the function whose module is replaced"),
        (Writable::DxContainer, Some(_)) => {
            bail!("--function is for Metal libraries, and this is a DXContainer")
        }
        (Writable::DxContainer, None) if version != Version::Dxc => {
            bail!("{}: a DXContainer has a program of DXC's dialect", shown(into))
        }
        (Writable::DxContainer, None) => put_into(args, program.bytes, &data),
        (Writable::Bitcode, _) => bail!("{}: a module is assembled as a whole, without --into", shown(into)),
    })
}

/// Writes a copy of a container with another program, and says what it lost.
fn put_into(args: &AssembleArgs, container: &[u8], bitcode: &[u8]) -> Result<Outcome> {
    let edited = put_bitcode(container, bitcode).with_context(|| shown(&args.listing))?;
    edited.notes.iter().for_each(|text| note(text));
    save(args, &edited.bytes)?;
    Ok(Outcome::Done)
}

/// Assembles a text to bitcode; none if it is refused, which is printed.
fn assembled(args: &AssembleArgs, text: &str, version: Version) -> Option<Vec<u8>> {
    let listing = shown(&args.listing);
    // As in LLVM, a module without the name of its source is named after the file.
    let name = args.listing.to_string_lossy();
    let both = |verify: &Verify<'_>, write: &Write<'_>| match text.len() < BOTH_AT_ONCE {
        true => (verify(), write()),
        false => rayon::join(verify, write),
    };
    match assemble::bitcode_with(text.as_bytes(), name.as_bytes(), &AssembleOptions { version }, both) {
        Ok(bitcode) => {
            bitcode.warnings.iter().for_each(|warning| anstream::eprintln!("{listing}: warning: {warning}"));
            Some(bitcode.bytes)
        }
        Err(errors) => {
            errors.iter().for_each(|error| anstream::eprintln!("{listing}:{error}"));
            None
        }
    }
}
