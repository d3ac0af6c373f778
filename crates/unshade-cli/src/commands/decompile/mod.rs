//! `unshade decompile`: C from NVIDIA machine code, or from the text of values and blocks; HLSL from DirectX shaders;
//! Metal from AIR.

mod annotate;
mod compiler;
mod directx;
mod ir_text;
mod metal;
mod recompile;
mod verify;

use super::programs::{each_input, each_program, open_all, print_diagnostics, require_selected};
use crate::Outcome;
use crate::args::{DecompileArgs, GlobalArgs};
use crate::input::Input;
use crate::output::{Stdout, write_file};
use crate::paint;
use annotate::Known;
use anyhow::Result;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use unshade::decompile::{self, FunctionC, Observer};
use unshade::decompiler::Options;
use unshade::decompiler::c::CPP;
use unshade::decompiler::ir::Module;
use unshade::nv::function::Function;
use unshade::nv_units::each_known_cubin;
use unshade::program::{Code, CodeRequest, Verb};
use unshade::select::Selection;
use unshade::view::SCHEMA;

/// The output of `--json`.
#[derive(Serialize)]
struct Document {
    schema: u32,
    /// The helpers and variables that the functions need.
    prelude: Vec<String>,
    functions: Vec<FunctionView>,
    /// Shaders as HLSL.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shaders: Vec<directx::ShaderView>,
    /// Modules as Metal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<metal::ModuleView>,
}

/// A function.
#[derive(Serialize)]
struct FunctionView {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<String>,
    /// Number of instructions without C.
    unlifted: usize,
    gotos: usize,
    casts: usize,
    /// The names in C of the device functions that it calls or refers to.
    callees: Vec<String>,
    /// Whether the function needs the compiler option `-ftz=true`.
    flushes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    lines: Vec<LineView>,
}

/// A line, and the addresses of its instructions.
#[derive(Serialize)]
struct LineView {
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<u32>,
}

pub(crate) fn run(args: &DecompileArgs, global: &GlobalArgs) -> Result<Outcome> {
    if args.header {
        let text = CPP.header.as_ref().map_or("", |header| header.text);
        write_text(args, global, text)?;
        return Ok(Outcome::Done);
    }
    let (files, selection) = args.targets()?;
    let (mut inputs, opened) = open_all(files);
    let texts: Vec<Input> = inputs.extract_if(.., |input| ir_text::is_module(input.bytes())).collect();
    if texts.is_empty() {
        require_selected(&inputs, &selection, Verb::Decompile, &global.limits())?;
    }
    let options = Options {
        budget: args.budget,
        explicit_flushes: args.explicit_ftz,
        explicit_math: args.explicit_math,
        without_source: args.no_debug_info,
        language: args.language.into(),
        ..Options::default()
    };
    let known = Known::read(args)?;
    let inputs = Inputs { programs: &inputs, texts: &texts, known: &known };
    if args.verify {
        let (found, visited) = collect(&inputs, &selection, args, &options, global, true)?;
        if found.verified.is_empty() && opened.and(visited) == Outcome::Done {
            anstream::eprintln!("{}: no kernel that can be decompiled", paint::error("unshade"));
        }
        return Ok(opened.and(known.outcome()).and(visited).and(verify::print(found.verified, global)?));
    }
    let (mut found, visited) = collect(&inputs, &selection, args, &options, global, true)?;
    // No option of a compiler is right for all of them.
    if decompile::mixes_flushes(&found.functions, options.language) {
        let options = Options { explicit_flushes: true, ..options };
        found = collect(&inputs, &selection, args, &options, global, false)?.0;
    }
    let Found { mut functions, passes, shaders, modules, .. } = found;
    known.shared(&mut functions);
    let mut outcome =
        opened.and(known.outcome()).and(visited).and(directx::report(&shaders)).and(metal::report(&modules));
    if let Some(command) = &args.recompile_with {
        return Ok(outcome.and(directx::recompile(&shaders, args, command, global)?));
    }
    if functions.is_empty() && shaders.is_empty() && modules.is_empty() {
        if outcome == Outcome::Done {
            anstream::eprintln!("{}: no function that can be decompiled", paint::error("unshade"));
        }
        return Ok(outcome.and(Outcome::Finding));
    }
    for function in &functions {
        let name = function.name.escape_debug();
        match &function.result {
            Err(fault) => anstream::eprintln!("{}: {name}: {fault}", paint::error("unshade")),
            Ok(decompiled) if decompiled.unlifted > 0 => anstream::eprintln!(
                "{}: {name}: no C for {}",
                paint::error("unshade"),
                match decompiled.unlifted {
                    1 => String::from("1 operation; a comment marks it"),
                    count => format!("{count} operations; comments mark them"),
                }
            ),
            Ok(_) => continue,
        }
        outcome = outcome.and(Outcome::Finding);
    }
    let is_folder = |path: &&PathBuf| path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let are_many = modules.len() > 1;
    if let Some(folder) =
        args.output.as_ref().filter(|path| are_many || is_folder(path) && !modules.is_empty())
        && !global.json
    {
        metal::write_all(&modules, folder, args.force, args.lines)?;
        if functions.is_empty() && shaders.is_empty() {
            return Ok(outcome);
        }
    }
    let text = match () {
        () if args.print_after.is_some() => passes,
        () if global.json => json(functions, shaders, modules)?,
        () if args.calls => calls(&functions),
        () => {
            directx::text(&shaders, args.lines)
                + &metal::text(&modules, args.lines)
                + &decompile::text_with(&functions, args.lines)
        }
    };
    write_text(args, global, &text)?;
    Ok(outcome)
}

/// Writes text to the file of `--output`, or to standard output.
fn write_text(args: &DecompileArgs, global: &GlobalArgs, text: &str) -> Result<()> {
    let Some(path) = &args.output else {
        let mut stdout = Stdout::new(!global.no_pager && !global.json);
        stdout.write_all(text.as_bytes())?;
        return stdout.finish();
    };
    write_file(path, args.force, text.as_bytes())
}

/// What to decompile.
struct Inputs<'i> {
    /// Files with programs.
    programs: &'i [Input],
    /// Texts of values and blocks.
    texts: &'i [Input],
    /// The file of `--types`.
    known: &'i Known,
}

/// What was decompiled.
#[derive(Default)]
struct Found {
    functions: Vec<FunctionC>,
    /// DirectX shaders.
    shaders: Vec<directx::Shader>,
    /// AIR modules.
    modules: Vec<metal::MetalModule>,
    /// The text of `--print-after`.
    passes: String,
    /// The kernels of `--verify`.
    verified: Vec<verify::Verified>,
}

impl Found {
    /// Returns how many functions, shaders and modules there are.
    fn count(&self) -> usize {
        self.functions.len() + self.verified.len() + self.shaders.len() + self.modules.len()
    }
}

/// Decompiles the selected functions of all inputs. Findings about the files are printed if they `are_new`.
fn collect(
    inputs: &Inputs<'_>,
    selection: &Selection,
    args: &DecompileArgs,
    options: &Options,
    global: &GlobalArgs,
    are_new: bool,
) -> Result<(Found, Outcome)> {
    let limits = global.limits();
    let mut found = Found::default();
    let read = each_input(inputs.texts, |input| {
        let Found { functions, passes, .. } = &mut found;
        let mut observe = |pass: &str, module: &Module<'_>| print_after(args, pass, module, passes);
        ir_text::decompile(input, selection, options, &mut observe, functions)
    })?;
    let visited = each_input(inputs.programs, |input| {
        let before = found.count();
        let mut has_contradictions = false;
        each_program(input, Verb::Decompile, &limits, |visited| {
            let mut diagnostics = visited.diagnostics;
            let path = visited.find.path.to_string();
            if directx::is_shader(visited.find.format) {
                found.shaders.push(directx::decompile(visited.find, path, selection, args, inputs.known));
                if are_new {
                    let path = visited.find.path.to_string();
                    print_diagnostics(&path, &diagnostics);
                }
                return Ok(());
            }
            let request = CodeRequest { selection, part: None, path: &path };
            if args.recompile_with.is_some() {
                return Ok(());
            }
            let code = visited.program.map(|program| program.code(&request, &mut diagnostics));
            if let Some(Code::Modules(groups)) = &code {
                metal::decompile(groups, &path, selection, inputs.known, &mut found.modules);
            }
            if let Some(Code::Machine(nvidia)) = code {
                let wanted =
                    |function: &Function<'_>| selection.matches_name(function.index, function.name());
                let Found { functions, passes, verified, .. } = &mut found;
                if args.verify {
                    let mut result = Ok(());
                    each_known_cubin(nvidia, &mut diagnostics, &mut |cubin, _, diagnostics| {
                        if result.is_ok() {
                            let request =
                                verify::Request { args, options, header: inputs.known.header.as_ref() };
                            result = verify::cubin(cubin, &wanted, &request, diagnostics, verified);
                        }
                    });
                    print_diagnostics(&path, &diagnostics);
                    return result;
                }
                let mut observe = |pass: &str, module: &Module<'_>| print_after(args, pass, module, passes);
                each_known_cubin(nvidia, &mut diagnostics, &mut |cubin, _, diagnostics| {
                    let mut take = |mut function| {
                        inputs.known.function(cubin, &mut function);
                        functions.push(function);
                    };
                    let header = inputs.known.header.as_ref();
                    let observe: Option<&mut Observer<'_>> = match args.print_after {
                        Some(_) => Some(&mut observe),
                        None => None,
                    };
                    decompile::cubin_with(cubin, &wanted, options, header, diagnostics, observe, &mut take);
                });
                has_contradictions |= diagnostics.iter().any(|diagnostic| diagnostic.rule == "types-header");
            }
            if are_new {
                print_diagnostics(&path, &diagnostics);
            }
            Ok(())
        })?;
        if has_contradictions {
            return Ok(Outcome::Finding);
        }
        if are_new && found.count() == before && selection.is_everything() {
            let error = paint::error("unshade");
            anstream::eprintln!("{error}: {}: no function that can be decompiled", input.name);
            return Ok(Outcome::Finding);
        }
        Ok(Outcome::Done)
    })?;
    Ok((found, read.and(visited)))
}

/// Adds the text of a module, if it is that of the pass after which it is to be printed.
fn print_after(args: &DecompileArgs, pass: &str, module: &Module<'_>, text: &mut String) {
    if args.print_after.as_ref().is_some_and(|wanted| wanted == pass || wanted == "all") {
        let _ = write!(text, "; {} after {pass}\n{module}\n", module.name.escape_debug());
    }
}

/// Returns each function, and below it those that it calls or refers to.
fn calls(functions: &[FunctionC]) -> String {
    let mut text = String::new();
    for function in functions {
        let readable = function.demangled.as_deref().unwrap_or(&function.name);
        let _ = writeln!(text, "{}", readable.escape_debug());
        for callee in function.result.iter().flat_map(|decompiled| &decompiled.callees) {
            let readable = unshade::demangle(callee.as_bytes()).unwrap_or_else(|| callee.clone());
            let _ = writeln!(text, "    {}", readable.escape_debug());
        }
    }
    text
}

fn json(
    functions: Vec<FunctionC>,
    shaders: Vec<directx::Shader>,
    modules: Vec<metal::MetalModule>,
) -> Result<String> {
    let prelude = decompile::prelude(&functions);
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
            callees: decompiled.callees,
            flushes: decompiled.flushes,
            error,
            lines: decompiled
                .lines
                .into_iter()
                .map(|line| LineView { text: line.text, addresses: line.addresses })
                .collect(),
        }
    });
    let shaders = directx::views(shaders);
    let modules = metal::views(modules);
    let document = Document { schema: SCHEMA, prelude, functions: views.collect(), shaders, modules };
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}
