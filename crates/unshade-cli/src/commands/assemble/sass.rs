//! Assembles NVIDIA machine code from text.
//!
//! A listing may contain several functions, each under cuobjdump's `Function : NAME`. Addresses count from the start of
//! each function. `--into` writes the words into a copy of a cubin, in the code sections of these functions, and
//! changes nothing else.

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
    let into = args.into.as_ref().map(Input::open).transpose()?;
    let cubin = into.as_ref().map(|input| Cubin::read(Reader::new(input.bytes()))).transpose()?;
    let isa = instruction_set(args, text, cubin.as_ref())?;
    let name = if args.listing == "-" { "standard input".to_owned() } else { shown(&args.listing) };
    let mut functions = Vec::new();
    let mut faults = 0_u64;
    for part in parts(text) {
        let code = cubin.as_ref().and_then(|cubin| code_of(cubin, part.name).ok());
        let code = code.zip(into.as_ref()).and_then(|(code, input)| input.bytes().get(code));
        let old = |address: u64| isa.word(code?.get(usize::try_from(address).ok()?..)?);
        match assemble::listing_over(isa, part.text, &old) {
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
    let data = match (&into, &cubin) {
        (Some(input), Some(cubin)) => patched(isa, input.bytes(), cubin, &functions)?,
        _ => functions
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

/// Returns the chip of the option, of the listing's heading, or of the cubin.
fn instruction_set(args: &AssembleArgs, text: &str, cubin: Option<&Cubin<'_>>) -> Result<&'static Isa> {
    let said = || text.lines().find_map(|line| heading(line)?.1);
    let Some(sm) = args.sm.or_else(said).or_else(|| cubin.map(Cubin::arch)) else {
        bail!("which chip? give it with --sm, 35 for sm_35");
    };
    isa::by_architecture(sm).with_context(|| format!("sm_{sm}: the encoding of this chip is not known"))
}

/// A function of a listing.
struct Part<'a> {
    name: Option<&'a str>,
    text: &'a str,
    /// Number of lines before it.
    first_line: usize,
}

/// Returns the function and the chip that a heading names: `Function : NAME`, `code for sm_35` or `// NAME, sm_35, 64 bytes`.
fn heading(line: &str) -> Option<(Option<&str>, Option<u32>)> {
    let line = line.trim();
    if let Some(name) = line.strip_prefix("Function :") {
        return Some((Some(name.trim()), None));
    }
    if let Some(chip) = line.strip_prefix("code for sm_") {
        return Some((None, chip.parse().ok()));
    }
    let (name, rest) = line.strip_prefix("// ")?.split_once(", sm_")?;
    let chip = rest.strip_suffix(" bytes")?.split_once(',')?.0.parse().ok()?;
    Some((Some(name), Some(chip)))
}

/// Returns the functions of a listing. Lines before the first heading are a function without a name.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut start, mut first_line, mut name) = (0, 0, None);
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if let Some((Some(found), _)) = heading(line) {
            parts.push(Part { name, text: &text[start..at], first_line });
            (start, first_line, name) = (at, number, Some(found));
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

/// Returns a copy of a cubin with other words.
fn patched(
    isa: &Isa,
    bytes: &[u8],
    read: &Cubin<'_>,
    functions: &[(Option<&str>, Vec<Assembled>)],
) -> Result<Vec<u8>> {
    if !isa.architectures.contains(&read.arch()) {
        bail!("the cubin is of sm_{}, the listing of {}", read.arch(), isa.name);
    }
    let mut copy = bytes.to_vec();
    for (name, words) in functions.iter().filter(|function| !function.1.is_empty()) {
        let code = code_of(read, *name)?;
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

/// Returns the range of a function's code in the file; if the listing names no function, that of the only one.
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
