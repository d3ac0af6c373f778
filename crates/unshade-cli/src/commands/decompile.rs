//! `unshade decompile`: C from NVIDIA machine code.

use super::programs::{each_input, each_program, open_all, print_diagnostics, require_selected};
use crate::Outcome;
use crate::args::{DecompileArgs, GlobalArgs};
use crate::output::{Stdout, write_file};
use crate::paint;
use anyhow::Result;
use serde::Serialize;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write;
use unshade::decompile::{self, FunctionC};
use unshade::decompiler::{Line, Options};
use unshade::nv::function::Function;
use unshade::nv_units::each_known_cubin;
use unshade::program::{Code, CodeRequest, Verb};
use unshade::view::SCHEMA;

/// The output of `--json`.
#[derive(Serialize)]
struct Document {
    schema: u32,
    /// Definitions that the functions need: helpers and variables.
    prelude: Vec<String>,
    functions: Vec<FunctionView>,
}

/// A function.
#[derive(Serialize)]
struct FunctionView {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<String>,
    /// The number of instructions without a C equivalent.
    unlifted: usize,
    gotos: usize,
    casts: usize,
    /// Whether the code must be compiled with `-ftz=true`.
    flushes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    lines: Vec<LineView>,
}

/// A line of C and the addresses of the instructions that it comes from.
#[derive(Serialize)]
struct LineView {
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<u32>,
}

pub(crate) fn run(args: &DecompileArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (files, selection) = args.targets.split()?;
    let limits = global.limits();
    let (inputs, opened) = open_all(&files);
    require_selected(&inputs, &selection, Verb::Decompile, &limits)?;
    let mut functions: Vec<FunctionC> = Vec::new();
    let options = Options { budget: args.budget, explicit_flushes: args.explicit_ftz };
    let visited = each_input(&inputs, |input| {
        let before = functions.len();
        each_program(input, Verb::Decompile, &limits, |visited| {
            let mut diagnostics = visited.diagnostics;
            let path = visited.find.path.to_string();
            let request = CodeRequest { selection: &selection, part: None, path: &path };
            if let Some(Code::Machine(nvidia)) =
                visited.program.map(|program| program.code(&request, &mut diagnostics))
            {
                let wanted =
                    |function: &Function<'_>| selection.matches_name(function.index, function.name());
                each_known_cubin(nvidia, &mut diagnostics, &mut |cubin, _, diagnostics| {
                    decompile::cubin(cubin, &wanted, &options, diagnostics, &mut |function| {
                        functions.push(function);
                    });
                });
            }
            print_diagnostics(&path, &diagnostics);
            Ok(())
        })?;
        if functions.len() == before && selection.is_everything() {
            let error = paint::error("unshade");
            anstream::eprintln!("{error}: {}: no function that can be decompiled", input.name);
            return Ok(Outcome::Finding);
        }
        Ok(Outcome::Done)
    })?;
    let mut outcome = opened.and(visited);
    if functions.is_empty() {
        if outcome == Outcome::Done {
            anstream::eprintln!("{}: no function that can be decompiled", paint::error("unshade"));
        }
        return Ok(outcome.and(Outcome::Finding));
    }
    for function in &functions {
        if let Err(fault) = &function.result {
            anstream::eprintln!("{}: {}: {fault}", paint::error("unshade"), function.name.escape_debug());
            outcome = outcome.and(Outcome::Finding);
        }
    }
    let text = if global.json { json(functions)? } else { text(&functions, args.lines) };
    match &args.output {
        Some(path) => write_file(path, args.force, text.as_bytes())?,
        None => {
            let mut stdout = Stdout::new(!global.no_pager && !global.json);
            stdout.write_all(text.as_bytes())?;
            stdout.finish()?;
        }
    }
    Ok(outcome)
}

/// Returns the definitions that functions need, each once and after its own dependencies.
fn prelude(functions: &[FunctionC]) -> Vec<String> {
    let mut seen = HashSet::new();
    let decompiled = functions.iter().filter_map(|function| function.result.as_ref().ok());
    let all = decompiled.flat_map(|decompiled| &decompiled.prelude);
    all.filter(|definition| seen.insert(definition.as_str())).cloned().collect()
}

/// Returns the shared definitions, followed by each function under its readable name.
fn text(functions: &[FunctionC], with_lines: bool) -> String {
    let mut text = String::new();
    for definition in prelude(functions) {
        let _ = writeln!(text, "{definition}");
    }
    for function in functions {
        let Ok(decompiled) = &function.result else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        if let Some(name) = &function.demangled {
            let _ = writeln!(text, "// {}", name.escape_debug());
        }
        for line in &decompiled.lines {
            if with_lines && !line.addresses.is_empty() {
                let _ = writeln!(text, "{:<80}{}", line.text, addresses(line));
            } else {
                let _ = writeln!(text, "{}", line.text);
            }
        }
    }
    text
}

/// Formats the addresses of a line: `// 0038 0040`.
fn addresses(line: &Line) -> String {
    let mut text = String::new();
    for address in &line.addresses {
        text.push_str(if text.is_empty() { " // " } else { " " });
        let _ = write!(text, "{address:04x}");
    }
    text
}

fn json(functions: Vec<FunctionC>) -> Result<String> {
    let prelude = prelude(&functions);
    let views = functions.into_iter().map(|function| {
        let (decompiled, error) = match function.result {
            Ok(decompiled) => (decompiled, None),
            Err(fault) => (unshade::decompiler::Decompiled::default(), Some(fault.to_string())),
        };
        FunctionView {
            name: function.name,
            demangled: function.demangled,
            unlifted: decompiled.unlifted,
            gotos: decompiled.gotos,
            casts: decompiled.casts,
            flushes: decompiled.flushes,
            error,
            lines: decompiled
                .lines
                .into_iter()
                .map(|line| LineView { text: line.text, addresses: line.addresses })
                .collect(),
        }
    });
    let document = Document { schema: SCHEMA, prelude, functions: views.collect() };
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}
