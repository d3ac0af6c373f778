//! `unshade dis`: the code of functions, and analyses of it.
//!
//! The functions of a program are printed one after another under comment headings, or with `-o DIR` into one file
//! each. A standalone module is printed as a whole, or only its selected functions. Several threads format a batch at a
//! time, so the output keeps file order and memory is bounded. With `--raw` the text is exactly what `llvm-dis` of the
//! dialect's version prints.
//!
//! Cubins and fat binaries ([`nvidia`]) are printed as machine code; `--raw` prints it like `cuobjdump -sass`.
//!
//! Several files, or files in folders ([`many`]), get one listing each.
//!
//! `--stats` ([`statistics`]) counts instead, `--cfg` ([`control_flow`]) draws. For machine code, `--json` ([`json`])
//! prints the instructions as data, and `--live` ([`liveness`]) the live registers.

mod byte_lines;
mod code;
mod control_flow;
mod json;
mod json_stream;
mod liveness;
mod many;
mod nvidia;
mod statistics;
mod token_programs;
mod writer;

use super::programs::require_selected;
use crate::Outcome;
use crate::args::{DisassembleArgs, GlobalArgs};
use crate::input::{Input, is_folder};
use crate::large_text::LargeText;
use crate::paint::{self, PaintedTokens};
use anyhow::{Result, bail};
use byte_lines::ByteLines;
use code::{Opened, Request, each_code_quietly, in_batches};
use std::path::Path;
use unshade::carve::Limits;
use unshade::core::{Diagnostics, TokenSink};
use unshade::disassembly::{ModuleOptions, TokenSource, Unit, print_functions, print_module};
use unshade::llvm::print::Dialect;
use unshade::program::{Code, Verb};
use unshade::select::Selection;
use writer::{MODULE, Made, Text, Writer};

/// Typical number of bytes of text per byte of a module.
const TEXT_PER_BYTE: usize = 8;

pub(crate) fn run(args: &DisassembleArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (files, selection) = args.split()?;
    match &files[..] {
        [] => nvidia::words(args),
        [file] if !is_folder(Path::new(file)) => one_file(&Input::open(file)?, &selection, args, global),
        _ => many::run(&files, &selection, args, global),
    }
}

fn one_file(
    input: &Input,
    selection: &Selection,
    args: &DisassembleArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let limits = global.limits();
    require_selected(std::slice::from_ref(input), selection, verb(args, global), &limits)?;
    if let Some(outcome) = other_form(input, selection, args, global) {
        return outcome;
    }
    let mut writer = Writer::new(args, MODULE, !global.no_pager)?;
    let mut carving = Diagnostics::new();
    let listed = list(input, selection, args, &limits, &mut writer, &mut carving);
    for diagnostic in &carving {
        writer.report(paint::diagnostic(&input.name, diagnostic));
    }
    listed?;
    writer.finish(input, selection)
}

/// Returns the verb for the requested form of code.
fn verb(args: &DisassembleArgs, global: &GlobalArgs) -> Verb {
    match (args.stats, args.cfg.is_some(), args.live.is_some(), global.json) {
        (true, ..) => Verb::Statistics,
        (_, true, ..) => Verb::ControlFlow,
        (_, _, _, true) => Verb::CodeAsJson,
        (_, _, true, _) => Verb::Liveness,
        _ => Verb::Disassemble,
    }
}

/// Counts, draws or prints data if the arguments ask for that instead of a listing.
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
    global.json.then(|| json::run(input, selection, args, global))
}

/// Lists the selected code of an input. Problems with the file go to `carving`.
fn list(
    input: &Input,
    selection: &Selection,
    args: &DisassembleArgs,
    limits: &Limits,
    writer: &mut Writer<'_>,
    carving: &mut Diagnostics,
) -> Result<()> {
    let verb = if args.live.is_some() { Verb::Liveness } else { Verb::Disassemble };
    each_code_quietly(input, Request { verb, selection, args, limits }, carving, |program| {
        list_program(program, selection, args, writer)
    })
}

fn list_program(
    program: Opened<'_>,
    selection: &Selection,
    args: &DisassembleArgs,
    writer: &mut Writer<'_>,
) -> Result<()> {
    let Opened { head, code, mut diagnostics } = program;
    match (&code, args.live) {
        (Code::Machine(nvidia), Some(format)) => {
            liveness::program(nvidia, &head.path, format, selection, writer, &mut diagnostics)?;
        }
        (_, Some(_)) => bail!("{}: --live is for NVIDIA machine code", head.path),
        (Code::Machine(nvidia), None) => {
            nvidia::program(nvidia, &head.path, selection, args, writer, &mut diagnostics)?;
        }
        (Code::Tokens(source), None) => {
            write_token_program(writer, &head.path, source, args, &mut diagnostics)?;
        }
        (Code::Modules(groups), None) => {
            let in_color = writer.in_color;
            let print = |unit: &Unit<'_>| print_unit(unit, selection, args, in_color);
            for group in groups {
                in_batches(&group.units, "disassembling", print, |unit, text| {
                    match writer.take(&head.path, unit, text) {
                        Some(text) => writer.write(unit, text),
                        None => Ok(()),
                    }
                })?;
            }
        }
        (Code::Unread, None) => writer.note_unread(),
    }
    for diagnostic in &diagnostics {
        writer.report(paint::diagnostic(&head.path, diagnostic));
    }
    Ok(())
}

/// Writes the requested form of a token program, or of a container with token programs.
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

fn print_unit(
    unit: &Unit<'_>,
    selection: &Selection,
    args: &DisassembleArgs,
    in_color: bool,
) -> unshade::core::Result<Made<Text>> {
    let parsed = unit.open()?;
    let options = ModuleOptions { dialect: dialect_of(unit, args), raw: args.raw };
    let mut diagnostics = parsed.diagnostics.clone();
    if !selection.is_everything() && matches!(unit, Unit::Part(_) | Unit::File { .. }) {
        let mut text =
            if in_color { Printed::Colored(PaintedTokens::default()) } else { Printed::Plain(String::new()) };
        let (found, _) = print_functions(unit, &parsed, options, selection, text.sink());
        diagnostics.append(found);
        return Ok(Made { content: Text::Plain(text.finish()), diagnostics });
    }
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

/// Text with or without colour.
enum Printed {
    Plain(String),
    Colored(PaintedTokens),
}

impl Printed {
    fn sink(&mut self) -> &mut dyn TokenSink {
        match self {
            Self::Plain(text) => text,
            Self::Colored(tokens) => tokens,
        }
    }

    fn finish(self) -> String {
        match self {
            Self::Plain(text) => text,
            Self::Colored(tokens) => tokens.0,
        }
    }
}

/// Returns the dialect for the text of a module.
fn dialect_of(unit: &Unit<'_>, args: &DisassembleArgs) -> Dialect {
    args.dialect.map_or_else(|| unit.usual_dialect(), Into::into)
}
