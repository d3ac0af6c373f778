//! Assembling of NVIDIA machine code: text to instruction words.
//!
//! A listing may hold several functions, each after cuobjdump's `Function : NAME`; addresses restart in each. `--into`
//! copies a cubin and replaces only the words in the code sections of these functions.

use super::save;
use crate::Outcome;
use crate::args::AssembleArgs;
use crate::input::{Input, NothingFound, shown};
use crate::output::Stdout;
use crate::paint;
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::ops::Range;
use unshade::core::Reader;
use unshade::nv::Cubin;
use unshade::nv::cubin::Role;
use unshade::sass::assemble::{self, Assembled};
use unshade::sass::isa;
use unshade::sass::table::Isa;

pub(super) fn run(args: &AssembleArgs, text: &str) -> Result<Outcome> {
    let isa = instruction_set(args, text)?;
    let name = if args.listing == "-" { "standard input".to_owned() } else { shown(&args.listing) };
    let mut functions = Vec::new();
    let mut faults = 0_u64;
    for part in parts(text) {
        match assemble::listing(isa, part.text) {
            Ok(words) => functions.push((part.name, words)),
            Err(errors) => {
                faults += errors.len() as u64;
                for error in errors {
                    let line = error.line + part.first_line;
                    anstream::eprintln!("{name}:{line}:{}: {}", error.column, error.message);
                }
            }
        }
    }
    if faults > 0 {
        anstream::eprintln!("{}: {}", paint::error("unshade"), paint::counted(faults, "fault"));
        return Ok(Outcome::Finding);
    }
    if functions.iter().all(|(_, words)| words.is_empty()) {
        bail!(NothingFound(format!("{name}: no instruction in it")));
    }
    let data = match &args.into {
        Some(cubin) => patched(isa, Input::open(cubin)?.bytes(), &functions)?,
        None => functions
            .iter()
            .flat_map(|function| &function.1)
            .flat_map(|word| word.word.to_le_bytes().into_iter().take(isa.word_bytes))
            .collect(),
    };
    if !save(args, &data)? {
        print(isa, &functions)?;
    }
    Ok(Outcome::Done)
}

/// Returns the instruction set from the option, or from cuobjdump's heading.
fn instruction_set(args: &AssembleArgs, text: &str) -> Result<&'static Isa> {
    let said = || text.lines().find_map(|line| line.trim().strip_prefix("code for sm_")?.parse().ok());
    let Some(sm) = args.sm.or_else(said) else {
        bail!("which chip? give it with --sm, 35 for sm_35");
    };
    isa::by_architecture(sm).with_context(|| format!("sm_{sm}: the encoding of this chip is not known"))
}

/// A function of a listing.
struct Part<'a> {
    name: Option<&'a str>,
    text: &'a str,
    /// The number of lines before it.
    first_line: usize,
}

/// Splits a listing into functions. Text before the first heading is a function without a name.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut start, mut first_line, mut name) = (0, 0, None);
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if let Some(found) = line.trim().strip_prefix("Function :") {
            parts.push(Part { name, text: &text[start..at], first_line });
            (start, first_line, name) = (at, number, Some(found.trim()));
        }
        at += line.len();
    }
    parts.push(Part { name, text: &text[start..], first_line });
    parts
}

fn print(isa: &Isa, functions: &[(Option<&str>, Vec<Assembled>)]) -> Result<()> {
    let mut stdout = Stdout::new(false);
    for word in functions.iter().flat_map(|function| &function.1) {
        writeln!(stdout, "0x{:0width$x}", word.word, width = isa.word_bytes * 2)?;
    }
    stdout.finish()
}

/// Returns a copy of a cubin with replaced instruction words.
fn patched(isa: &Isa, cubin: &[u8], functions: &[(Option<&str>, Vec<Assembled>)]) -> Result<Vec<u8>> {
    let read = Cubin::read(Reader::new(cubin))?;
    if !isa.architectures.contains(&read.arch()) {
        bail!("the cubin is of sm_{}, the listing of {}", read.arch(), isa.name);
    }
    let mut copy = cubin.to_vec();
    for (name, words) in functions.iter().filter(|function| !function.1.is_empty()) {
        let code = code_of(&read, *name)?;
        for word in words {
            let start =
                usize::try_from(word.address).ok().and_then(|address| code.start.checked_add(address));
            let end = start.and_then(|start| start.checked_add(isa.word_bytes));
            let place = start.zip(end).filter(|place| place.1 <= code.end);
            let target = place.and_then(|(start, end)| copy.get_mut(start..end)).with_context(|| {
                format!(
                    "address {:#x} is outside of {}, which has {:#x} bytes",
                    word.address,
                    name.unwrap_or(""),
                    code.len()
                )
            })?;
            target.copy_from_slice(&word.word.to_le_bytes()[..isa.word_bytes]);
        }
    }
    Ok(copy)
}

/// Returns the file range of a function's code, or of the only function if the listing names none.
fn code_of(cubin: &Cubin<'_>, name: Option<&str>) -> Result<Range<usize>> {
    let mut sections = cubin.code_sections();
    let section = match name {
        Some(name) => sections.find(|section| Role::of(section).1 == name.as_bytes()),
        None => sections.next().filter(|_| sections.next().is_none()),
    };
    let section = section.with_context(|| match name {
        Some(name) => format!("the cubin has no function '{name}'"),
        None => {
            String::from("the listing does not say which function it is of: a line `Function : NAME` does")
        }
    })?;
    let bytes = cubin.elf().bytes(&section)?;
    let start = usize::try_from(bytes.base())?;
    Ok(start..start + bytes.data().len())
}
