//! Assembles LLVM assembly, to bitcode or into a copy of a Metal library.

use super::save;
use crate::Outcome;
use crate::args::{AssembleArgs, DialectArg, GlobalArgs};
use crate::commands::metallib::replaced_module;
use crate::commands::written::one_program;
use crate::input::shown;
use anyhow::{Context, Result, bail};
use unshade::llvm::assemble::{self, AssembleOptions, SyntaxError, Version};
use unshade::llvm::write::{self, WriteOptions};
use unshade::program::{Verb, Writable};

/// What a line of LLVM assembly may start with, after comments.
const STARTS: [&str; 10] =
    ["source_filename", "target ", "define ", "declare ", "attributes ", "module asm", "@", "%", "$", "!"];

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
        Some(DialectArg::Dxc) => bail!("assembly of DXC's dialect can't be written yet"),
        Some(DialectArg::Llvm22) => {
            bail!("assembly can be written as LLVM 14 and 19 do, not as LLVM 22 does")
        }
        None => Version::of(text.as_bytes()),
    };
    let data = match assembled(args, text, version)? {
        Ok(data) => data,
        Err(error) => {
            anstream::eprintln!("{}:{error}", shown(&args.listing));
            return Ok(Outcome::Finding);
        }
    };
    let Some(into) = &args.into else {
        if !save(args, &data)? {
            bail!("a module is binary: name the file to write with -o");
        }
        return Ok(Outcome::Done);
    };
    let Some(function) = &args.function else {
        bail!("--function names the function whose module is replaced")
    };
    one_program(into, Verb::AssembleInto, global, |writable, library| match writable {
        Writable::MetalLibrary => {
            save(args, &replaced_module(library.bytes, function, &data)?)?;
            Ok(Outcome::Done)
        }
        Writable::DxContainer | Writable::Bitcode => {
            bail!("{}: LLVM assembly is assembled into Metal libraries", shown(into))
        }
    })
}

/// Assembles a text to bitcode.
fn assembled(args: &AssembleArgs, text: &str, version: Version) -> Result<Result<Vec<u8>, SyntaxError>> {
    let mut assembled = match assemble::assemble(text.as_bytes(), &AssembleOptions { version }) {
        Ok(assembled) => assembled,
        Err(error) => return Ok(Err(error)),
    };
    // As in LLVM, a module without the name of its source is named after the file.
    let module = &mut assembled.module;
    module.source_filename.get_or_insert_with(|| args.listing.to_string_lossy().into_owned().into_bytes());
    let options = WriteOptions { version, ..WriteOptions::default() };
    let written = write::module(&assembled.input(), &options);
    Ok(Ok(written.with_context(|| shown(&args.listing))?))
}
