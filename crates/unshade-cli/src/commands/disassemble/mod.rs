//! `unshade dis`: the LLVM assembly of functions, and what follows from it.
//!
//! A program's functions are printed one after the other, each under a heading of comments, or with `-o DIR` each into
//! a file. A DXContainer has one program, which is printed as a whole, under the tables that DXC prints before it.
//! Several threads print, a batch at a time, so that the order is that of the file and memory is bounded. With
//! `--raw` the text is what `llvm-dis` of the dialect's version prints, and nothing else.
//!
//! Cubins and fat binaries ([`nvidia`]) are printed as machine code, `--raw` as `cuobjdump -sass` prints it.
//!
//! `--stats` ([`statistics`]) counts instead, `--cfg` ([`control_flow`]) draws. Of machine code, `--json`
//! ([`machine_json`]) gives the instructions as data, and `--life` ([`life`]) what lives in registers.

mod byte_lines;
mod control_flow;
mod json_stream;
mod life;
mod machine_json;
mod modules;
mod nvidia;
mod statistics;
mod token_programs;
mod writer;

use crate::Outcome;
use crate::args::{DisassembleArgs, GlobalArgs};
use crate::input::Input;
use crate::large_text::LargeText;
use crate::paint::{self, PaintedTokens};
use anyhow::{Result, bail};
use byte_lines::ByteLines;
use modules::{Units, each_program, in_batches, is_bitcode};
use unshade::core::{Diagnostics, FourCc};
use unshade::disassembly::{ModuleOptions, TokenSource, Unit, print_module};
use unshade::llvm::print::Dialect;
use writer::{Made, Text, Writer};

/// So many bytes of text most modules give for each of their own.
const TEXT_PER_BYTE: usize = 8;

pub(crate) fn run(args: &DisassembleArgs, global: &GlobalArgs) -> Result<Outcome> {
    let Some(file) = &args.file else {
        return nvidia::words(args);
    };
    let input = Input::open(file)?;
    if args.stats {
        return statistics::run(&input, args, global);
    }
    if let Some(format) = args.cfg {
        return control_flow::run(&input, format, args, global);
    }
    if global.json {
        return machine_json::run(&input, args, global);
    }
    let selection = args.selection()?;
    if is_bitcode(&input) && !selection.is_everything() {
        bail!(
            "{} is one module, which is printed as a whole; --stats and --cfg take functions of it",
            input.name
        );
    }
    let mut writer = Writer::new(args, ".ll", !global.no_pager)?;
    each_program(&input, &selection, args.part.map(FourCc), &global.limits(), |program| {
        if let (Some(find), Some(format)) = (program.nvidia, args.life) {
            return life::program(find, format, &selection, &mut writer);
        }
        if args.life.is_some() {
            bail!("{}: --life is of NVIDIA's machine code", program.head.path);
        }
        if let Some(find) = program.nvidia {
            return nvidia::program(find, &selection, args, &mut writer);
        }
        let is_whole = |library: &Units<'_>| matches!(library.units[..], [Unit::Part(_), ..]);
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
            write_token_program(&mut writer, &program.head.path, source, args, &mut diagnostics)?;
        }
        for diagnostic in &diagnostics {
            anstream::eprintln!("{}", paint::diagnostic(&program.head.path, diagnostic));
        }
        if program.is_unread {
            writer.note_unread();
        }
        Ok(())
    })?;
    writer.finish(&input)
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
        Ok(text) => writer.write_named(path, Text::Plain(text)),
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
