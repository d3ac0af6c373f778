//! `unshade dis`: prints the code of functions, and its analyses.
//!
//! The functions of a program are printed one after another, each under a heading of comments, or with `-o DIR` each
//! into a file. A bitcode file is printed as a whole, or only its selected functions. Several threads print, a batch at
//! a time, so the order is that of the file and memory is bounded. With `--raw` the text is exactly that of `llvm-dis`
//! in the dialect's version.
//!
//! Cubins and fat binaries ([`nvidia`]) are printed as machine code, with `--raw` in the format of `cuobjdump -sass`.
//!
//! Several files, or the files in folders ([`many`]), have one listing each.
//!
//! `--stats` ([`statistics`]) counts instead; `--cfg` ([`control_flow`]) draws. For machine code, `--json` ([`json`])
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
use crate::paint::{self, PaintedTokens};
use anyhow::{Result, bail};
use byte_lines::ByteLines;
use code::{Opened, Request, each_code_quietly, in_batches};
use std::path::Path;
use unshade::carve::Limits;
use unshade::core::token::StreamedText;
use unshade::core::{Diagnostics, TokenSink};
use unshade::disassembly::{ModuleOptions, TokenSource, Unit, print_functions, print_module};
use unshade::llvm::print::Dialect;
use unshade::program::{Code, ModuleGroup, Verb};
use unshade::select::Selection;
use writer::{MODULE, Made, Writer};

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

/// The form of code that is printed.
fn verb(args: &DisassembleArgs, global: &GlobalArgs) -> Verb {
    match (args.stats, args.cfg.is_some(), args.live.is_some(), global.json) {
        (true, ..) => Verb::Statistics,
        (_, true, ..) => Verb::ControlFlow,
        (_, _, _, true) => Verb::CodeAsJson,
        (_, _, true, _) => Verb::Liveness,
        _ => Verb::Disassemble,
    }
}

/// Counts, draws, or prints data, if the options ask for it instead of a listing.
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

/// Lists everything that is selected in an input. The file's diagnostics are added to `carving`.
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
        (Code::Modules(groups), None) => list_modules(groups, &head.path, selection, args, writer)?,
        (Code::Unread, None) => writer.note_unread(),
    }
    for diagnostic in &diagnostics {
        writer.report(paint::diagnostic(&head.path, diagnostic));
    }
    Ok(())
}

/// Prints modules in batches, or the only one of a file as a stream.
fn list_modules(
    groups: &[ModuleGroup<'_>],
    path: &str,
    selection: &Selection,
    args: &DisassembleArgs,
    writer: &mut Writer<'_>,
) -> Result<()> {
    if let [group] = groups
        && let [unit] = &group.units[..]
        && selection.is_everything()
        && !args.bytes
    {
        let print = |text: &mut StreamedText<'_>| print_all(unit, args, text);
        if let Some(written) = writer.stream(path, unit, print) {
            return written;
        }
    }
    let in_color = writer.in_color;
    let print = |unit: &Unit<'_>| print_unit(unit, selection, args, in_color);
    for group in groups {
        in_batches(&group.units, "disassembling", print, |unit, text| match writer.take(path, unit, text) {
            Some(text) => writer.write(unit, text),
            None => Ok(()),
        })?;
    }
    Ok(())
}

/// Writes the requested form of a token program, or of a container of token programs.
fn write_token_program(
    writer: &mut Writer<'_>,
    path: &str,
    source: &TokenSource<'_>,
    args: &DisassembleArgs,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    match token_programs::text(path, source, args, writer.in_color, diagnostics) {
        Ok(text) => writer.write_tokens(path, text),
        Err(error) => {
            diagnostics.error("dxbc-program", error);
            writer.note_unread();
            Ok(())
        }
    }
}

/// Prints all of a module.
fn print_all(
    unit: &Unit<'_>,
    args: &DisassembleArgs,
    sink: &mut impl TokenSink,
) -> unshade::core::Result<Diagnostics> {
    let parsed = unit.open()?;
    let options = ModuleOptions { dialect: dialect_of(unit, args), raw: args.raw };
    let mut diagnostics = parsed.diagnostics.clone();
    diagnostics.append(print_module(unit, &parsed, options, sink));
    Ok(diagnostics)
}

fn print_unit(
    unit: &Unit<'_>,
    selection: &Selection,
    args: &DisassembleArgs,
    in_color: bool,
) -> unshade::core::Result<Made<String>> {
    let mut text =
        if in_color { Printed::Colored(PaintedTokens::default()) } else { Printed::Plain(String::new()) };
    if !selection.is_everything() && matches!(unit, Unit::Part(_) | Unit::File { .. }) {
        let parsed = unit.open()?;
        let options = ModuleOptions { dialect: dialect_of(unit, args), raw: args.raw };
        let mut diagnostics = parsed.diagnostics.clone();
        diagnostics.append(print_functions(unit, &parsed, options, selection, text.sink()).0);
        return Ok(Made { content: text.finish(), diagnostics });
    }
    let diagnostics = match (&mut text, args.bytes) {
        // The printer is compiled for each sink: it is fast.
        (Printed::Plain(text), false) => print_all(unit, args, text)?,
        (Printed::Colored(tokens), false) => print_all(unit, args, tokens)?,
        (_, true) => {
            let (bytes, offset) = unit.bytes()?;
            let mut sink = text.sink();
            print_all(unit, args, &mut ByteLines::new(bytes, offset, &mut sink))?
        }
    };
    Ok(Made { content: text.finish(), diagnostics })
}

/// Returns the text in colour or not.
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

/// Returns the dialect of a module's text.
fn dialect_of(unit: &Unit<'_>, args: &DisassembleArgs) -> Dialect {
    args.dialect.map_or_else(|| unit.usual_dialect(), Into::into)
}
