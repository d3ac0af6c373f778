//! `unshade dis --cfg`: control-flow graphs.
//!
//! One graph for each function that has a body, after those of the functions that it calls where these stand in the
//! same module. Several graphs follow one another, which Graphviz takes, or go into a file for each module.

use super::super::{FileJson, FunctionsJson, LibraryFunctionsJson, ProgramJson};
use super::dialect_of;
use super::json_stream::JsonStream;
use super::modules::{Opened, each_program, in_batches};
use super::writer::{Made, Text, Writer};
use crate::Outcome;
use crate::args::{DisassembleArgs, GlobalArgs, GraphFormat};
use crate::input::Input;
use crate::paint;
use anyhow::{Result, bail};
use rayon::prelude::*;
use serde::Serialize;
use unshade::core::{Diagnostics, FourCc};
use unshade::disassembly::Unit;
use unshade::nv::function::Function;
use unshade::select::Selection;
use unshade::view::{ControlFlowView, FunctionRow};

/// So many functions of a cubin are worked on before what came of them is written.
const BATCH: usize = 64;

/// The graphs of a function of a library, or of a function of a module that is a program.
#[derive(Serialize)]
struct GraphsJson {
    index: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<String>,
    graphs: Vec<ControlFlowView>,
}

pub(super) fn run(
    input: &Input,
    selection: &Selection,
    format: GraphFormat,
    args: &DisassembleArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    if global.json && format == GraphFormat::Dot {
        bail!("--cfg dot is no JSON; --cfg json is");
    }
    let is_json = format == GraphFormat::Json;
    let extension = if is_json { ".json" } else { ".dot" };
    let mut writer = Writer::new(args, extension, !global.no_pager && !is_json)?;
    let mut whole = (is_json && !writer.has_folder()).then(|| JsonStream::new(input)).transpose()?;
    let carving = each_program(input, selection, args.part.map(FourCc), &global.limits(), |program| {
        let Opened { head, libraries, mut diagnostics, is_unread, token_program, nvidia } = program;
        if let Some(find) = nvidia {
            super::nvidia::each_code(find, &mut diagnostics, |code, diagnostics| {
                let slice = format!("sm_{}", code.cubin().arch());
                let wanted =
                    |function: &Function<'_>| selection.matches_name(function.index, function.name());
                for batch in code.functions(&wanted, diagnostics).chunks(BATCH) {
                    let graph = |function| GraphsJson::of_one(ControlFlowView::of_code(code, function));
                    let graphs: Vec<GraphsJson> = batch.par_iter().map(graph).collect();
                    for one in graphs.chunks(1) {
                        let text = match &mut whole {
                            Some(whole) => whole.functions(&head, &slice, one)?,
                            None if is_json => json_of_one(input, &head, &slice, one)?,
                            None => dot_of(one),
                        };
                        writer.write_named(one.first().map_or("", |one| &one.name), Text::Plain(text))?;
                    }
                }
                whole.as_mut().map_or(Ok(()), |whole| writer.add(whole.end_library()))
            })?;
        }
        if let Some(source) = &token_program {
            super::write_token_program(&mut writer, &head.path, source, args, &mut diagnostics)?;
        }
        if is_unread {
            writer.note_unread();
        }
        for library in &libraries {
            let describe = |unit: &Unit<'_>| graphs_of(unit, selection, args);
            in_batches(&library.units, "reading", describe, |unit, graphs| {
                let Some(functions) = writer.take(&head.path, unit, graphs) else { return Ok(()) };
                // A bitcode file may hold nothing that is meant.
                if functions.is_empty() {
                    return Ok(());
                }
                let text = match &mut whole {
                    Some(whole) => whole.functions(&head, &library.slice, &functions)?,
                    None if is_json => json_of_one(input, &head, &library.slice, &functions)?,
                    None => dot_of(&functions),
                };
                writer.write(unit, Text::Plain(text))
            })?;
            if let Some(whole) = &mut whole {
                writer.add(whole.end_library())?;
            }
        }
        for diagnostic in &diagnostics {
            anstream::eprintln!("{}", paint::diagnostic(&input.name, diagnostic));
        }
        if let Some(whole) = &mut whole {
            writer.add(&whole.end_program(&diagnostics)?)?;
        }
        Ok(())
    })?;
    if let Some(whole) = &mut whole {
        writer.add(&whole.end(&carving)?)?;
    }
    writer.finish(input)
}

fn graphs_of(
    unit: &Unit<'_>,
    selection: &Selection,
    args: &DisassembleArgs,
) -> unshade::core::Result<Made<Vec<GraphsJson>>> {
    let module = unit.open()?;
    let mut diagnostics = module.diagnostics.clone();
    let dialect = dialect_of(unit, args);
    let functions = match unit {
        Unit::Function { library, function } => {
            let row = FunctionRow::new(library, function);
            let graphs = ControlFlowView::of_module(&module, dialect, |_| true, &mut diagnostics);
            vec![GraphsJson { index: row.index, name: row.name, demangled: row.demangled, graphs }]
        }
        Unit::Part(_) | Unit::File { .. } => {
            let wanted = |at: usize| {
                let function = module.functions.get(at);
                function.is_some_and(|function| selection.matches_name(at as u32, &function.symbol.name))
            };
            let graphs = ControlFlowView::of_module(&module, dialect, wanted, &mut diagnostics);
            graphs.into_iter().map(GraphsJson::of_one).collect()
        }
    };
    Ok(Made { content: functions, diagnostics })
}

impl GraphsJson {
    fn of_one(graph: ControlFlowView) -> Self {
        Self {
            index: graph.index,
            name: graph.function.clone(),
            demangled: graph.demangled.clone(),
            graphs: vec![graph],
        }
    }
}

fn dot_of(functions: &[GraphsJson]) -> String {
    functions.iter().flat_map(|function| &function.graphs).map(ControlFlowView::dot).collect()
}

/// The JSON of a file in a folder: as that of the whole, but of this module alone.
fn json_of_one(input: &Input, head: &ProgramJson, slice: &str, functions: &[GraphsJson]) -> Result<String> {
    let library = LibraryFunctionsJson { slice: slice.to_owned(), functions: functions.iter().collect() };
    let program = FunctionsJson { head: head.clone(), libraries: vec![library], findings: Vec::new() };
    let mut text = serde_json::to_string_pretty(&FileJson::new(input, vec![program], &Diagnostics::new()))?;
    text.push('\n');
    Ok(text)
}
