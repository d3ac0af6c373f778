//! Assembles NVIDIA machine code from text.
//!
//! A listing may contain several functions, each under cuobjdump's `Function : NAME`. Addresses count from the start of
//! each function. `--into` writes the words into a copy of a cubin, in the code sections of these functions, and
//! changes nothing else.

use super::save;
use crate::Outcome;
use crate::args::AssembleArgs;
use crate::commands::written::refused;
use crate::input::{Input, NothingFound, shown};
use crate::output::Stdout;
use crate::paint;
use anyhow::{Context, Result, bail};
use std::io::Write;
use unshade::core::Reader;
use unshade::edit::TextFault;
use unshade::edit::machine_code::{self, AssembledFunction, CubinBytes};
use unshade::nv::Cubin;
use unshade::sass::isa;
use unshade::sass::table::Isa;

pub(super) fn run(args: &AssembleArgs, text: &str) -> Result<Outcome> {
    let into = args.into.as_ref().map(Input::open).transpose()?;
    let cubin = into.as_ref().map(|input| Cubin::read(Reader::new(input.bytes()))).transpose()?;
    let isa = instruction_set(args, text, cubin.as_ref())?;
    let into =
        into.as_ref().zip(cubin.as_ref()).map(|(input, cubin)| CubinBytes { cubin, bytes: input.bytes() });
    let functions = match machine_code::assemble(isa, text, into) {
        Ok(functions) => functions,
        Err(faults) => {
            print_faults(args, &faults);
            return Ok(Outcome::Finding);
        }
    };
    if functions.iter().all(|function| function.words.is_empty()) {
        bail!(NothingFound(format!("{}: no instruction in it", name_of(args))));
    }
    let data = match into {
        Some(into) => machine_code::put(isa, into, &functions).map_err(refused)?,
        None => functions
            .iter()
            .flat_map(|function| &function.words)
            .flat_map(|word| word.word.to_le_bytes().into_iter().take(isa.word_bytes))
            .collect(),
    };
    if !save(args, &data)? {
        print(isa, &functions)?;
    }
    Ok(Outcome::Done)
}

/// Returns the chip of the option, of the listing's heading, or of the cubin.
fn instruction_set(args: &AssembleArgs, text: &str, cubin: Option<&Cubin<'_>>) -> Result<&'static Isa> {
    let Some(sm) = args.sm.or_else(|| machine_code::chip(text)).or_else(|| cubin.map(Cubin::arch)) else {
        bail!("which chip? give it with --sm, 35 for sm_35");
    };
    isa::by_architecture(sm).with_context(|| format!("sm_{sm}: the encoding of this chip is not known"))
}

/// Prints the faults of a listing, and how many there are.
fn print_faults(args: &AssembleArgs, faults: &[TextFault]) {
    let name = name_of(args);
    for TextFault { line, column, message } in faults {
        anstream::eprintln!("{name}:{line}:{column}: {message}");
    }
    let count = paint::counted(faults.len() as u64, "fault");
    anstream::eprintln!("{}: {count}", paint::error("unshade"));
}

fn name_of(args: &AssembleArgs) -> String {
    if args.listing == "-" { "standard input".to_owned() } else { shown(&args.listing) }
}

fn print(isa: &Isa, functions: &[AssembledFunction<'_>]) -> Result<()> {
    let mut stdout = Stdout::new(false);
    for word in functions.iter().flat_map(|function| &function.words) {
        writeln!(stdout, "0x{:0width$x}", word.word, width = isa.word_bytes * 2)?;
    }
    stdout.finish()
}
