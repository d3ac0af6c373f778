//! Token programs in containers, and standalone programs of Shader Model 1 to 3.
//!
//! `--raw` prints FXC's text, including its tables. Otherwise `unshade asm` turns the text back into the same tokens;
//! comments name constants and bindings. `--stats` counts, `--cfg` draws.

use super::byte_lines::ByteLines;
use crate::args::{DisassembleArgs, GraphFormat};
use crate::paint::PaintedTokens;
use serde_json::json;
use std::fmt::Write;
use unshade::core::{Diagnostics, Result};
use unshade::disassembly::{TokenProgram, TokenSource, token_program, token_programs};
use unshade::view::TokenStatisticsView;

/// Returns the requested text of a container or program.
pub(super) fn text(
    path: &str,
    source: &TokenSource<'_>,
    args: &DisassembleArgs,
    in_color: bool,
    diagnostics: &mut Diagnostics,
) -> Result<String> {
    if args.stats {
        return each(path, source, diagnostics, statistics);
    }
    if let Some(format) = args.cfg {
        return each(path, source, diagnostics, |path, program| match format {
            GraphFormat::Dot => dot(path, program),
            GraphFormat::Json => graph_json(path, program),
        });
    }
    let file = match source {
        TokenSource::Container(container) => container.file(),
        TokenSource::Direct3d9(data) => data,
    };
    let (bytes, base) = (file.data(), file.base());
    Ok(match (in_color, args.bytes) {
        (true, true) => {
            let mut sink = ByteLines::new(bytes, base, PaintedTokens::default());
            token_program(path, source, args.raw, &mut sink, diagnostics)?;
            sink.sink.0
        }
        (false, true) => {
            let mut sink = ByteLines::new(bytes, base, String::new());
            token_program(path, source, args.raw, &mut sink, diagnostics)?;
            sink.sink
        }
        (true, false) => {
            let mut sink = PaintedTokens::default();
            token_program(path, source, args.raw, &mut sink, diagnostics)?;
            sink.0
        }
        (false, false) => {
            // Most programs have more text than bytes, but rarely more than twice as much.
            let mut sink = String::with_capacity(bytes.len().saturating_mul(2));
            token_program(path, source, args.raw, &mut sink, diagnostics)?;
            sink
        }
    })
}

fn each(
    path: &str,
    source: &TokenSource<'_>,
    diagnostics: &mut Diagnostics,
    write: impl Fn(&str, &TokenProgram) -> String,
) -> Result<String> {
    let programs = token_programs(path, source, diagnostics)?;
    Ok(programs.iter().map(|(path, program)| write(path, program)).collect())
}

/// Returns the counts of the programs.
pub(super) fn counts(
    path: &str,
    source: &TokenSource<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Vec<TokenStatisticsView>> {
    let programs = token_programs(path, source, diagnostics)?;
    Ok(programs.iter().map(|(path, program)| TokenStatisticsView::new(path, program)).collect())
}

fn statistics(path: &str, program: &TokenProgram) -> String {
    let view = TokenStatisticsView::new(path, program);
    let mut text = format!("{path}\n");
    let _ = writeln!(text, "  {:28} {:>6}", "blocks", view.blocks);
    for counter in &view.counters {
        let _ = writeln!(text, "  {:28} {:>6}", counter.name, counter.count);
    }
    for opcode in &view.opcodes {
        let _ = writeln!(text, "    {:26} {:>6}", opcode.name, opcode.count);
    }
    text
}

fn dot(path: &str, program: &TokenProgram) -> String {
    let flow = program.control_flow();
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = format!("digraph \"{}\" {{\n  node [shape=box, fontname=monospace];\n", quoted(path));
    for (number, block) in flow.blocks.iter().enumerate() {
        let label: String = program.lines(block).iter().map(|line| format!("{}\\l", quoted(line))).collect();
        let _ = writeln!(text, "  b{number} [label=\"{label}\"];");
    }
    for (from, to) in &flow.edges {
        let _ = writeln!(text, "  b{from} -> b{to};");
    }
    text.push_str("}\n");
    text
}

fn graph_json(path: &str, program: &TokenProgram) -> String {
    let flow = program.control_flow();
    let blocks: Vec<_> =
        flow.blocks.iter().map(|block| json!({ "instructions": program.lines(block) })).collect();
    let value = json!({
        "schema": unshade::view::SCHEMA,
        "file": path,
        "entries": flow.entries,
        "blocks": blocks,
        "edges": flow.edges,
    });
    format!("{value}\n")
}
