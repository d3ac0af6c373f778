//! `unshade show`: everything that is known of functions.

use super::{ContainerJson, FileJson, FunctionsJson, LibraryFunctionsJson, ProgramJson, findings};
use crate::Outcome;
use crate::args::{GlobalArgs, ShowArgs};
use crate::input::Input;
use crate::output::Stdout;
use crate::paint::{self, PaintedTokens, bad, faint, good, grouped, name, offset};
use anyhow::{Result, bail};
use serde::Serialize;
use std::io::Write;
use unshade::core::Diagnostics;
use unshade::metallib::reflection::print_signature;
use unshade::metallib::{Function, Library};
use unshade::program::Program;
use unshade::view::nvidia::KernelView;
use unshade::view::{ConstantView, FunctionView};

pub(crate) fn run(args: &ShowArgs, global: &GlobalArgs) -> Result<Outcome> {
    let selection = args.selection()?;
    let input = Input::open(&args.file)?;
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let mut programs = Vec::new();
    let mut containers = Vec::new();
    let mut kernels = Vec::new();
    let mut shown = 0u64;
    let carving = input.each_program(&global.limits(), |find| {
        if find.format.is_nvidia() {
            let facts = super::nvidia::facts(find, &selection);
            if !args.names_functions() && facts.count() > 1 {
                bail!("{}: which functions? `unshade list` shows them", input.name);
            }
            if global.json {
                shown += facts.count();
                kernels.push(facts);
            } else {
                facts.print(shown, &mut stdout)?;
                shown += facts.count();
            }
            return Ok(());
        }
        let mut diagnostics = Diagnostics::new();
        let mut libraries = Vec::new();
        if let Some(program) = diagnostics.take("program", Program::open(find)) {
            if let Some(container) = super::dxcontainer::view(find) {
                shown += 1;
                if global.json {
                    containers.push(Box::new(ContainerJson { head: ProgramJson::new(find), container }));
                } else {
                    if shown > 1 {
                        writeln!(stdout)?;
                    }
                    let summary = super::dxcontainer::summary(&container);
                    writeln!(stdout, "{}   DXContainer, {summary}", name(&find.path))?;
                    super::dxcontainer::print_facts(&container, true, &mut stdout)?;
                }
                return Ok(());
            }
            if let Some(view) = super::direct3d9::view(find, &mut diagnostics).filter(|_| !global.json) {
                shown += 1;
                let summary = super::direct3d9::summary(&view);
                writeln!(stdout, "{}   {}, {summary}", name(&find.path), find.format)?;
                super::direct3d9::print_facts(&view, &mut stdout)?;
                return super::direct3d9::print_list(&view, &mut stdout);
            }
            if !args.names_functions() {
                bail!("{}: which functions? `unshade list` shows them", input.name);
            }
            for named in program.libraries(&mut diagnostics) {
                let mut functions = Vec::new();
                let all = named.library.functions().map_while(Result::ok);
                for function in all.filter(|function| selection.matches(function)) {
                    let view = FunctionView::new(&named.library, &function);
                    shown += 1;
                    if global.json {
                        functions.push(view);
                    } else {
                        if shown > 1 {
                            writeln!(stdout)?;
                        }
                        if find.path.to_string() != input.name {
                            writeln!(stdout, "{}", faint(format!("// {}", find.path)))?;
                        }
                        print(&named.library, &function, &view, &mut stdout)?;
                    }
                }
                if !functions.is_empty() {
                    libraries.push(LibraryFunctionsJson { slice: named.slice, functions });
                }
            }
        }
        if global.json && !(libraries.is_empty() && diagnostics.is_empty()) {
            let findings = findings(&diagnostics);
            programs.push(FunctionsJson { head: ProgramJson::new(find), libraries, findings });
        } else {
            for diagnostic in &diagnostics {
                anstream::eprintln!("{}", paint::diagnostic(&input.name, diagnostic));
            }
        }
        Ok(())
    })?;
    if global.json {
        let programs: Vec<Shown> = programs
            .into_iter()
            .map(Shown::Functions)
            .chain(containers.into_iter().map(Shown::Container))
            .chain(kernels.into_iter().map(Shown::Kernels))
            .collect();
        stdout.json(&FileJson::new(&input, programs, &carving), false)?;
    }
    stdout.finish()?;
    if shown == 0 {
        anstream::eprintln!("{}: no function matches; `unshade list` shows them", paint::error("unshade"));
        return Ok(Outcome::Finding);
    }
    Ok(Outcome::Done)
}

/// The entry of `programs`, by what the program is.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown {
    Functions(FunctionsJson<FunctionView>),
    Container(Box<ContainerJson>),
    Kernels(super::nvidia::KernelsJson<KernelView>),
}

fn print(
    library: &Library<'_>,
    function: &Function<'_>,
    view: &FunctionView,
    stdout: &mut Stdout,
) -> Result<()> {
    print_declaration(library, function, view, stdout)?;
    let row = &view.row;
    let mut fact = |label: &str, text: String| writeln!(stdout, "  {} {text}", faint(format!("{label:<11}")));
    fact("index", format!("#{}", row.index))?;
    if let Some(demangled) = &row.demangled {
        fact("mangled", row.name.clone())?;
        fact("demangled", demangled.clone())?;
    }
    if let (Some(metal), Some(air)) = (&row.metal, &row.air) {
        fact("language", format!("Metal {metal}, AIR {air}"))?;
    }
    if let (Some(at), Some(size)) = (row.offset, row.size) {
        let bitcode =
            view.bitcode_size.map(|size| format!(", {} of bitcode", grouped(size))).unwrap_or_default();
        fact("module", format!("{} bytes at {}{bitcode}", grouped(size), offset(format!("{at:#x}"))))?;
    }
    if let Some(hash) = &view.hash {
        let verdict = match view.hash_matches {
            Some(true) => good("matches").to_string(),
            Some(false) => bad("does not match the module").to_string(),
            None => "no module to compare with".into(),
        };
        fact("SHA-256", format!("{hash}  {verdict}"))?;
    }
    if let Some(tessellation) = &view.tessellation {
        fact("patches", tessellation.clone())?;
    }
    if let Some(layer_type) = &view.layer_type {
        fact("layer index", layer_type.clone())?;
    }
    if let Some(reflection) = &view.reflection {
        if let Some([x, y, z]) = reflection.required_threads {
            fact("threads", format!("{x} × {y} × {z} required"))?;
        }
        if let Some(threads) = reflection.max_total_threads {
            fact("threads", format!("at most {threads} in a threadgroup"))?;
        }
        if reflection.static_threadgroup_memory > 0 {
            fact(
                "threadgroup",
                format!("{} bytes of static memory", grouped(reflection.static_threadgroup_memory)),
            )?;
        }
    }
    for attribute in &view.metadata.vertex_attributes {
        let data_type = attribute.data_type.as_deref().unwrap_or("?");
        let active = if attribute.active { "" } else { ", not used" };
        let text = format!(
            "{data_type} {} [[attribute({})]], {}{active}",
            attribute.name, attribute.index, attribute.usage
        );
        fact("attribute", text)?;
    }
    for constant in &view.metadata.function_constants {
        fact("constant", constant_text(constant))?;
    }
    if let (Some(line), Some(path)) = (view.metadata.line, &view.metadata.source_path) {
        fact("source", format!("{path}:{line}"))?;
    }
    for dependency in &view.metadata.dependencies {
        fact("linked from", dependency.clone())?;
    }
    if let Some(archive) = &view.source_archive {
        fact("archive", format!("source is in archive {archive}"))?;
    }
    for (code, bytes) in &view.metadata.raw {
        fact(code, bytes.clone())?;
    }
    let (start, end) = view.group;
    let codes: Vec<_> = function.tags().filter_map(Result::ok).map(|tag| tag.code.to_string()).collect();
    fact(
        "tags",
        format!("{} at {}..{}", codes.join(" "), offset(format!("{start:#x}")), offset(format!("{end:#x}"))),
    )?;
    for finding in &view.findings {
        let path: String = finding.path.iter().map(|part| format!("{part}: ")).collect();
        fact(&finding.severity, bad(format!("{path}{}", finding.message)).to_string())?;
    }
    Ok(())
}

/// The declaration from the reflection, or what is known without one.
fn print_declaration(
    library: &Library<'_>,
    function: &Function<'_>,
    view: &FunctionView,
    stdout: &mut Stdout,
) -> Result<()> {
    if view.signature.is_some()
        && let Ok(Some(reflection)) = library.reflection(function)
        && let Ok(Some(described)) = reflection.function(function.name.unwrap_or_default())
    {
        let mut tokens = PaintedTokens::default();
        print_signature(&described, &mut tokens);
        writeln!(stdout, "{}", tokens.0.trim_end())?;
        return Ok(());
    }
    let kind = view.row.kind.as_deref().unwrap_or("function");
    let parameters = if view.row.readable_name().ends_with(')') { "" } else { "(…)" };
    let why = if function.reflection_offset.is_some() { "" } else { "   // no reflection in this library" };
    writeln!(stdout, "{kind} {}{parameters}{}", name(view.row.readable_name()), faint(why))?;
    Ok(())
}

fn constant_text(constant: &ConstantView) -> String {
    let active = if constant.active { "" } else { ", not used" };
    format!("{} {} [[function_constant({})]]{active}", constant.data_type, constant.name, constant.index)
}
