//! Prints NVIDIA machine code of cubins, of fat binaries, and of bare instruction words.

use super::writer::Writer;
use crate::Outcome;
use crate::args::DisassembleArgs;
use crate::output::{Stdout, write_file};
use crate::paint::{self, PaintedTokens};
use crate::runner::in_parallel;
use anyhow::{Result, bail};
use std::io::Write;
use unshade::core::{Diagnostics, TokenSink};
use unshade::nv::Cubin;
use unshade::nv::function::Function;
use unshade::nv_units::{Nvidia, Unit, each_known_cubin, each_unit, report_unknown_chips};
use unshade::sass::listing::{self, Context};
use unshade::sass::{control, isa};
use unshade::sass_code::Code;
use unshade::sass_listing::{Listing, SassOptions, entry_heading};
use unshade::select::Selection;

/// Prints instruction words, the first at address 0.
pub(super) fn words(args: &DisassembleArgs) -> Result<Outcome> {
    let sm = args.sm.unwrap_or(0);
    let Some(isa) = isa::by_architecture(sm) else {
        let known: Vec<String> = isa::architectures().map(|chip| chip.to_string()).collect();
        bail!("sm_{sm}: the encoding of this chip is not known; known are {}", known.join(", "));
    };
    let words = control::in_bundles(isa, &args.words);
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(isa.word_bytes)).collect();
    let function = listing::Function { name: "words", isa, bytes: &bytes, address: 0, file_offset: 0 };
    let print = |sink: &mut dyn TokenSink| {
        if args.raw {
            function.raw(0, sink);
        } else {
            function.annotated(&Context { control: args.control, ..Context::default() }, sink);
        }
    };
    let text = painted(args.output.is_none() && paint::stdout_has_color(), print);
    match &args.output {
        Some(path) => write_file(path, args.force, text.as_bytes())?,
        None => {
            let mut stdout = Stdout::new(false);
            stdout.write_all(text.as_bytes())?;
            stdout.finish()?;
        }
    }
    let unknown = function.undecoded().count();
    if unknown > 0 {
        anstream::eprintln!(
            "{}: {}",
            paint::error("unshade"),
            paint::counted(unknown as u64, "word without an instruction")
        );
        return Ok(Outcome::Finding);
    }
    Ok(Outcome::Done)
}

/// Prints the selected functions of a program.
pub(super) fn program(
    program: &Nvidia<'_>,
    path: &str,
    selection: &Selection,
    args: &DisassembleArgs,
    writer: &mut Writer<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    let mut result = Ok(());
    let mut faults = Diagnostics::new();
    let mut unknown = Vec::new();
    let has_headings = args.raw && !writer.has_folder();
    each_unit(program, false, diagnostics, &mut |entry, unit| {
        if result.is_err() {
            return;
        }
        let heading = entry.filter(|_| has_headings).map(entry_heading).unwrap_or_default();
        let (functions, arch, parts) = match unit {
            Unit::Cubin(cubin) if isa::by_architecture(cubin.arch()).is_some() => {
                one(cubin, selection, args, writer.in_color, &mut faults)
            }
            Unit::Cubin(cubin) => {
                unknown.push(cubin.arch());
                (0, 0, Vec::new())
            }
            Unit::Ptx(_) | Unit::Unread => (0, 0, Vec::new()),
        };
        if functions > 0 || selection.is_everything() {
            // As in cuobjdump, a cubin without code has a header and nothing else.
            let has_header = has_headings && !parts.is_empty();
            let functions = functions.max(usize::from(has_header));
            let name = format!("{path}.sm_{arch}");
            result = writer.add(&heading).and_then(|()| writer.write_listing(&name, functions, parts));
        }
    });
    report_unknown_chips(unknown, diagnostics);
    diagnostics.append(faults);
    result
}

/// Visits the machine code of each cubin of a program.
pub(super) fn each_machine_code(
    program: &Nvidia<'_>,
    diagnostics: &mut Diagnostics,
    mut visit: impl FnMut(&Code<'_>, &mut Diagnostics) -> Result<()>,
) -> Result<()> {
    let mut result = Ok(());
    each_known_cubin(program, diagnostics, &mut |cubin, isa, diagnostics| {
        if result.is_ok() {
            result = visit(&Code::new(cubin, isa), diagnostics);
        }
    });
    result
}

/// Returns the number of selected functions, the chip, and the parts of their listing, which are made on all processors.
fn one(
    cubin: &Cubin<'_>,
    selection: &Selection,
    args: &DisassembleArgs,
    in_color: bool,
    diagnostics: &mut Diagnostics,
) -> (usize, u32, Vec<String>) {
    let options = SassOptions { raw: args.raw, control: args.control, lines: args.lines.map(Into::into) };
    let wanted = |function: &Function<'_>| selection.matches_name(function.index, function.name());
    let Some(listing) = Listing::new(cubin, &wanted, options, diagnostics) else {
        return (0, cubin.arch(), Vec::new());
    };
    let lines = in_parallel(listing.section_count(), |index| listing.raw_lines(index, !in_color));
    let column = listing.word_column(lines.iter().flatten());
    let sections = in_parallel(lines.len(), |index| {
        let mut faults = Diagnostics::new();
        let raw = lines.get(index).and_then(Option::as_ref).map(|lines| (lines, column));
        let text = painted(in_color, |mut sink| listing.put_section(index, raw, &mut faults, &mut sink));
        (text, faults)
    });
    let mut parts = vec![painted(in_color, |mut sink| listing.put_head(&mut sink))];
    for (part, faults) in sections {
        parts.push(part);
        diagnostics.append(faults);
    }
    (listing.section_count(), cubin.arch(), parts)
}

/// Returns the text that `put` writes into a sink, in colour or not.
fn painted(in_color: bool, print: impl FnOnce(&mut dyn TokenSink)) -> String {
    if in_color {
        let mut tokens = PaintedTokens::default();
        print(&mut tokens);
        tokens.0
    } else {
        let mut text = String::new();
        print(&mut text);
        text
    }
}
