//! Containers with token programs: Shader Model 4 to 5.1.
//!
//! `--raw` is FXC's text, its tables included. Else the program is printed so that `unshade asm` gives the same tokens
//! again, with the names of constants and bindings in comments. `--stats` counts, `--cfg` draws.

use super::byte_lines::ByteLines;
use crate::args::{DisassembleArgs, GraphFormat};
use crate::paint::PaintedTokens;
use serde_json::json;
use std::fmt::Write;
use unshade::core::{Diagnostics, Result};
use unshade::disassembly::{token_program, token_programs};
use unshade::dxbc::control_flow::ControlFlow;
use unshade::dxbc::print::{Options, print_instruction};
use unshade::dxbc::statistics::Statistics;
use unshade::dxbc::{Program, decode};
use unshade::dxcontainer::Container;
use unshade::fxc_listing;

/// What is asked for of a container.
pub(super) fn text(
    path: &str,
    container: &Container<'_>,
    args: &DisassembleArgs,
    in_color: bool,
    diagnostics: &mut Diagnostics,
) -> Result<String> {
    if args.stats {
        return each(path, container, diagnostics, statistics);
    }
    if let Some(format) = args.cfg {
        return each(path, container, diagnostics, |path, program| match format {
            GraphFormat::Dot => dot(path, program),
            GraphFormat::Json => graph_json(path, program),
        });
    }
    let (bytes, base) = (container.file().data(), container.file().base());
    Ok(match (in_color, args.bytes) {
        (true, true) => {
            let mut sink = ByteLines::new(bytes, base, PaintedTokens::default());
            token_program(path, container, args.raw, &mut sink, diagnostics)?;
            sink.sink.0
        }
        (false, true) => {
            let mut sink = ByteLines::new(bytes, base, String::new());
            token_program(path, container, args.raw, &mut sink, diagnostics)?;
            sink.sink
        }
        (true, false) => {
            let mut sink = PaintedTokens::default();
            token_program(path, container, args.raw, &mut sink, diagnostics)?;
            sink.0
        }
        (false, false) => {
            let mut sink = String::new();
            token_program(path, container, args.raw, &mut sink, diagnostics)?;
            sink
        }
    })
}

fn each(
    path: &str,
    container: &Container<'_>,
    diagnostics: &mut Diagnostics,
    write: impl Fn(&str, &Program) -> String,
) -> Result<String> {
    let mut text = String::new();
    for (path, container) in token_programs(path, container) {
        if let Some(part) = fxc_listing::token_program(&container) {
            text.push_str(&write(&path, &decode(part.data, diagnostics)?));
        }
    }
    Ok(text)
}

fn statistics(path: &str, program: &Program) -> String {
    let counted = Statistics::of(program);
    let flow = ControlFlow::of(program);
    let mut text = format!("{path}\n");
    let named = unshade::dxcontainer::stat::COUNTERS.iter().zip(counted.counters);
    let _ = writeln!(text, "  {:28} {:>6}", "blocks", flow.blocks.len());
    for (name, count) in named.filter(|(_, count)| *count > 0) {
        let _ = writeln!(text, "  {name:28} {count:>6}");
    }
    for (name, count) in &counted.opcodes {
        let _ = writeln!(text, "    {name:26} {count:>6}");
    }
    text
}

/// The lines of a block.
fn lines(program: &Program, block: &std::ops::Range<usize>) -> Vec<String> {
    let inside = program.instructions.get(block.clone()).unwrap_or_default();
    let line = |instruction| {
        let mut line = String::new();
        print_instruction(program.version, instruction, Options::default(), &mut line);
        line.trim_end().to_owned()
    };
    inside.iter().map(line).collect()
}

fn dot(path: &str, program: &Program) -> String {
    let flow = ControlFlow::of(program);
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = format!("digraph \"{}\" {{\n  node [shape=box, fontname=monospace];\n", quoted(path));
    for (number, block) in flow.blocks.iter().enumerate() {
        let label: String = lines(program, block).iter().map(|line| format!("{}\\l", quoted(line))).collect();
        let _ = writeln!(text, "  b{number} [label=\"{label}\"];");
    }
    for (from, to) in &flow.edges {
        let _ = writeln!(text, "  b{from} -> b{to};");
    }
    text.push_str("}\n");
    text
}

fn graph_json(path: &str, program: &Program) -> String {
    let flow = ControlFlow::of(program);
    let blocks: Vec<_> =
        flow.blocks.iter().map(|block| json!({ "instructions": lines(program, block) })).collect();
    let value = json!({
        "schema": unshade::view::SCHEMA,
        "file": path,
        "entries": flow.entries,
        "blocks": blocks,
        "edges": flow.edges,
    });
    format!("{value}\n")
}
