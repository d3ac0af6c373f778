//! `unshade dis`: the LLVM assembly of functions, and what follows from it.
//!
//! A program's functions are printed one after the other, each under a heading of comments, or with `-o DIR` each into
//! a file. A DXContainer has one program, which is printed as a whole, under the tables that DXC prints before it.
//! Several threads print, a batch at a time, so that the order is that of the file and memory is bounded. With
//! `--raw` the text is what `llvm-dis` of the dialect's version prints, and nothing else.
//!
//! Cubins and fat binaries ([`nvidia`]) are printed as machine code, `--raw` as `cuobjdump -sass` prints it.
//!
//! Of several files, or of those in folders ([`many`]), each has a listing.
//!
//! `--stats` ([`statistics`]) counts instead, `--cfg` ([`control_flow`]) draws. Of machine code, `--json`
//! ([`machine_json`]) gives the instructions as data, and `--life` ([`life`]) what lives in registers.

mod byte_lines;
mod control_flow;
mod json_stream;
mod life;
mod machine_json;
mod many;
mod modules;
mod nvidia;
mod statistics;
mod token_programs;
mod writer;

use crate::Outcome;
use crate::args::{DisassembleArgs, GlobalArgs};
use crate::input::{Input, is_folder};
use crate::large_text::LargeText;
use crate::paint::{self, PaintedTokens};
use anyhow::{Result, bail};
use byte_lines::ByteLines;
use modules::{Opened, Units, each_program_untold, in_batches};
use std::path::Path;
use unshade::carve::Limits;
use unshade::core::{Diagnostics, FourCc};
use unshade::disassembly::{ModuleOptions, TokenSource, Unit, print_module};
use unshade::llvm::print::Dialect;
use unshade::select::Selection;
use writer::{MODULE, Made, Text, Writer};

/// So many bytes of text most modules give for each of their own.
const TEXT_PER_BYTE: usize = 8;

pub(crate) fn run(args: &DisassembleArgs, global: &GlobalArgs) -> Result<Outcome> {
    let Some(file) = &args.file else {
        return nvidia::words(args);
    };
    let (others, selectors) = args.others();
    let selection = args.selection(&selectors)?;
    if !others.is_empty() || is_folder(Path::new(file)) {
        return many::run(file, &others, &selection, args, global);
    }
    let input = Input::open(file)?;
    if let Some(outcome) = other_form(&input, &selection, args, global) {
        return outcome;
    }
    let mut writer = Writer::new(args, MODULE, !global.no_pager)?;
    let mut carving = Diagnostics::new();
    let listed = list(&input, &selection, args, &global.limits(), &mut writer, &mut carving);
    for diagnostic in &carving {
        writer.tell(paint::diagnostic(&input.name, diagnostic));
    }
    listed?;
    writer.finish(&input)
}

/// Counts, draws, or prints as data, if that is asked for rather than a listing.
fn other_form(
    input: &Input,
    selection: &Selection,
    args: &DisassembleArgs,
    global: &GlobalArgs,
) -> Option<Result<Outcome>> {
    if args.stats {
        return Some(statistics::run(input, selection, args, global));
    }
    if let Some(format) = args.cfg {
        return Some(control_flow::run(input, selection, format, args, global));
    }
    global.json.then(|| machine_json::run(input, selection, args, global))
}

/// Lists all that is meant of an input. What is odd about the file goes to `carving`.
fn list(
    input: &Input,
    selection: &Selection,
    args: &DisassembleArgs,
    limits: &Limits,
    writer: &mut Writer<'_>,
    carving: &mut Diagnostics,
) -> Result<()> {
    each_program_untold(input, selection, args.part.map(FourCc), limits, carving, |program| {
        list_program(program, selection, args, writer)
    })
}

fn list_program(
    program: Opened<'_>,
    selection: &Selection,
    args: &DisassembleArgs,
    writer: &mut Writer<'_>,
) -> Result<()> {
    if let (Some(find), Some(format)) = (program.nvidia, args.life) {
        return life::program(find, format, selection, writer);
    }
    if args.life.is_some() {
        bail!("{}: --life is of NVIDIA's machine code", program.head.path);
    }
    if let Some(find) = program.nvidia {
        return nvidia::program(find, selection, args, writer);
    }
    let is_whole = |library: &Units<'_>| matches!(library.units[..], [Unit::Part(_) | Unit::File { .. }, ..]);
    if !selection.is_everything() && program.libraries.iter().any(is_whole) {
        bail!(
            "{} is one module, which is printed as a whole; --stats and --cfg take functions of it",
            program.head.path
        );
    }
    for library in &program.libraries {
        let in_color = writer.in_color;
        let print = |unit: &Unit<'_>| print_unit(unit, args, in_color);
        in_batches(&library.units, "disassembling", print, |unit, text| {
            match writer.take(&program.head.path, unit, text) {
                Some(text) => writer.write(unit, text),
                None => Ok(()),
            }
        })?;
    }
    let mut diagnostics = program.diagnostics;
    if let Some(source) = &program.token_program {
        write_token_program(writer, &program.head.path, source, args, &mut diagnostics)?;
    }
    for diagnostic in &diagnostics {
        writer.tell(paint::diagnostic(&program.head.path, diagnostic));
    }
    if program.is_unread {
        writer.note_unread();
    }
    Ok(())
}

/// Writes what is asked for of a token program, or of a container with some.
fn write_token_program(
    writer: &mut Writer<'_>,
    path: &str,
    source: &TokenSource<'_>,
    args: &DisassembleArgs,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    match token_programs::text(path, source, args, writer.in_color, diagnostics) {
        Ok(text) => writer.write_tokens(path, Text::Plain(text)),
        Err(error) => {
            diagnostics.error("dxbc-program", error);
            writer.note_unread();
            Ok(())
        }
    }
}

fn print_unit(unit: &Unit<'_>, args: &DisassembleArgs, in_color: bool) -> unshade::core::Result<Made<Text>> {
    let parsed = unit.open()?;
    let options = ModuleOptions { dialect: dialect_of(unit, args), raw: args.raw };
    let mut diagnostics = parsed.diagnostics.clone();
    let size = unit.bytes()?.0.len();
    if args.raw
        && !in_color
        && !args.bytes
        && let Some(mut text) = LargeText::new(size.saturating_mul(TEXT_PER_BYTE))
    {
        diagnostics.append(print_module(unit, &parsed, options, &mut text));
        return Ok(Made { content: Text::Large(text), diagnostics });
    }
    let text = if args.bytes {
        let (bytes, offset) = unit.bytes()?;
        if in_color {
            let mut sink = ByteLines::new(bytes, offset, PaintedTokens::default());
            diagnostics.append(print_module(unit, &parsed, options, &mut sink));
            sink.sink.0
        } else {
            let mut sink = ByteLines::new(bytes, offset, String::new());
            diagnostics.append(print_module(unit, &parsed, options, &mut sink));
            sink.sink
        }
    } else if in_color {
        let mut tokens = PaintedTokens::default();
        diagnostics.append(print_module(unit, &parsed, options, &mut tokens));
        tokens.0
    } else {
        let mut text = String::new();
        diagnostics.append(print_module(unit, &parsed, options, &mut text));
        text
    };
    Ok(Made { content: Text::Plain(text), diagnostics })
}

/// Whose text of a module is printed.
fn dialect_of(unit: &Unit<'_>, args: &DisassembleArgs) -> Dialect {
    args.dialect.map_or_else(|| unit.usual_dialect(), Into::into)
}
