//! Assembles NVIDIA machine code from a listing, into the functions of a cubin.
//!
//! A listing may have several functions, each under cuobjdump's `Function : NAME`. Addresses count from the start of each
//! function. The words replace those in the code sections of these functions; nothing else changes.

use super::{Refusal, TextFault};
use std::ops::Range;
use unshade_core::Result;
use unshade_nv::Cubin;
use unshade_nv::cubin::Role;
use unshade_sass::assemble::{self, Assembled};
use unshade_sass::table::Isa;

/// A function of a listing, assembled.
#[derive(Clone, Debug)]
pub struct AssembledFunction<'a> {
    /// Its name; none before the first heading.
    pub name: Option<&'a str>,
    /// Its words.
    pub words: Vec<Assembled>,
}

/// A cubin and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct CubinBytes<'a> {
    /// The cubin.
    pub cubin: &'a Cubin<'a>,
    /// All of its bytes.
    pub bytes: &'a [u8],
}

/// A function of a listing.
struct Part<'a> {
    name: Option<&'a str>,
    text: &'a str,
    /// Number of lines before it.
    first_line: usize,
}

/// Returns the chip that a heading of the listing names, 35 for sm_35.
pub fn chip(text: &str) -> Option<u32> {
    text.lines().find_map(|line| heading(line)?.1)
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

/// Assembles a listing. Bits that the text does not state are taken from the cubin that the words will be in.
///
/// # Errors
/// One fault for every line that can't be assembled.
pub fn assemble<'a>(
    isa: &'static Isa,
    text: &'a str,
    into: Option<CubinBytes<'_>>,
) -> Result<Vec<AssembledFunction<'a>>, Vec<TextFault>> {
    let mut functions = Vec::new();
    let mut faults = Vec::new();
    for part in parts(text) {
        let code = into.and_then(|into| into.bytes.get(code_of(into.cubin, part.name).ok()?));
        let old = |address: u64| isa.word(code?.get(usize::try_from(address).ok()?..)?);
        match assemble::listing_over(isa, part.text, &old) {
            Ok(words) => functions.push(AssembledFunction { name: part.name, words }),
            Err(errors) => faults.extend(errors.into_iter().map(|error| TextFault {
                line: error.line.saturating_add(part.first_line),
                column: error.column,
                message: error.message,
            })),
        }
    }
    if faults.is_empty() { Ok(functions) } else { Err(faults) }
}

/// Returns a copy of a cubin with other words.
///
/// # Errors
/// The cubin is for another chip, lacks a function, or a function has no room.
pub fn put(isa: &Isa, into: CubinBytes<'_>, functions: &[AssembledFunction<'_>]) -> Result<Vec<u8>, Refusal> {
    let chip = into.cubin.arch();
    if !isa.architectures.contains(&chip) {
        return Err(Refusal::new(format!("the cubin is of sm_{chip}, the listing of {}", isa.name)));
    }
    let mut copy = into.bytes.to_vec();
    for AssembledFunction { name, words } in functions.iter().filter(|function| !function.words.is_empty()) {
        let code = code_of(into.cubin, *name)?;
        for word in words {
            let start =
                usize::try_from(word.address).ok().and_then(|address| code.start.checked_add(address));
            let end = start.and_then(|start| start.checked_add(isa.word_bytes));
            let place = start.zip(end).filter(|place| place.1 <= code.end);
            let target = place.and_then(|(start, end)| copy.get_mut(start..end)).ok_or_else(|| {
                let name = name.unwrap_or("");
                let size = code.len();
                Refusal::new(format!(
                    "address {:#x} is outside of {name}, which has {size:#x} bytes",
                    word.address
                ))
            })?;
            target.copy_from_slice(word.word.to_le_bytes().get(..isa.word_bytes).unwrap_or_default());
        }
    }
    Ok(copy)
}

/// Returns the range of a function's code in the file; if the listing names no function, that of the only one.
fn code_of(cubin: &Cubin<'_>, name: Option<&str>) -> Result<Range<usize>, Refusal> {
    let mut sections = cubin.code_sections();
    let section = match name {
        Some(name) => sections.find(|section| Role::of(section).1 == name.as_bytes()),
        None => sections.next().filter(|_| sections.next().is_none()),
    };
    let section = section.ok_or_else(|| match name {
        Some(name) => Refusal::new(format!("the cubin has no function '{name}'")),
        None => {
            Refusal::new("the listing does not say which function it is of: a line `Function : NAME` does")
        }
    })?;
    let bytes = cubin.elf().bytes(&section)?;
    let start = usize::try_from(bytes.base()).unwrap_or(usize::MAX);
    Ok(start..start.saturating_add(bytes.data().len()))
}
