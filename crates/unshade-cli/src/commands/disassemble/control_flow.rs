//! `unshade dis --cfg`: draws control-flow graphs.
//!
//! Each function with a body has one graph, after the graphs of its callees in the same module. Several graphs are
//! written in a row, which Graphviz accepts, or into one file per module.

use super::super::programs::{FileJson, ProgramJson, print_diagnostics};
use super::code::{Opened, Request, each_code, in_batches};
use super::dialect_of;
use super::json_stream::JsonStream;
use super::nvidia::each_machine_code;
use super::writer::{Made, Writer};
use crate::Outcome;
use crate::args::{DisassembleArgs, GlobalArgs, GraphFormat};
use crate::input::Input;
use anyhow::{Result, bail};
use rayon::prelude::*;
use serde::Serialize;
use unshade::core::Diagnostics;
use unshade::disassembly::Unit;
use unshade::nv::function::Function;
use unshade::program::{Code, ModuleGroup, Verb};
use unshade::sass_code::Code as MachineCode;
use unshade::select::Selection;
use unshade::view::{ControlFlowView, FunctionRow};

/// Maximum number of functions of a cubin that are processed before their results are written.
const BATCH: usize = 64;

/// The graphs of a library's function, or of a function of a bitcode file.
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
    let limits = global.limits();
    let request = Request { verb: Verb::ControlFlow, selection, args, limits: &limits };
    let carving = each_code(input, request, |program| {
        let Opened { head, code, mut diagnostics } = program;
        let mut output = Output { input, head: &head, is_json, whole: &mut whole, writer: &mut writer };
        match &code {
            Code::Machine(nvidia) => {
                each_machine_code(nvidia, &mut diagnostics, |code, diagnostics| {
                    output.machine_code(code, selection, diagnostics)
                })?;
            }
            Code::Tokens(source) => {
                super::write_token_program(output.writer, &head.path, source, args, &mut diagnostics)?;
            }
            Code::Modules(groups) => {
                groups.iter().try_for_each(|group| output.modules(group, selection, args))?;
            }
            Code::Unread => output.writer.note_unread(),
        }
        print_diagnostics(&head.path, &diagnostics);
        if let Some(whole) = &mut whole {
            writer.add(&whole.end_program(&diagnostics)?)?;
        }
        Ok(())
    })?;
    if let Some(whole) = &mut whole {
        writer.add(&whole.end(&carving)?)?;
    }
    writer.finish(input, selection)
}

/// The destination of a program's graphs.
struct Output<'o, 'w> {
    input: &'o Input,
    head: &'o ProgramJson,
    is_json: bool,
    /// The JSON of the whole input, unless each function has its own file.
    whole: &'o mut Option<JsonStream>,
    writer: &'o mut Writer<'w>,
}

impl Output<'_, '_> {
    fn machine_code(
        &mut self,
        code: &MachineCode<'_>,
        selection: &Selection,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let slice = format!("sm_{}", code.cubin().arch());
        let wanted = |function: &Function<'_>| selection.matches_name(function.index, function.name());
        for batch in code.functions(&wanted, diagnostics).chunks(BATCH) {
            let graph = |function| GraphsJson::of_one(ControlFlowView::of_code(code, function));
            let graphs: Vec<GraphsJson> = batch.par_iter().map(graph).collect();
            for one in graphs.chunks(1) {
                let text = self.text(&slice, one)?;
                self.writer.write_named(one.first().map_or("", |one| &one.name), text)?;
            }
        }
        self.end_library()
    }

    fn modules(
        &mut self,
        group: &ModuleGroup<'_>,
        selection: &Selection,
        args: &DisassembleArgs,
    ) -> Result<()> {
        let describe = |unit: &Unit<'_>| graphs_of(unit, selection, args);
        in_batches(&group.units, "reading", describe, |unit, graphs| {
            let Some(functions) = self.writer.take(&self.head.path, unit, graphs) else { return Ok(()) };
            // A module may contain no selected function.
            if functions.is_empty() {
                return Ok(());
            }
            let text = self.text(&group.slice, &functions)?;
            self.writer.write(unit, text)
        })?;
        self.end_library()
    }

    fn text(&mut self, slice: &str, functions: &[GraphsJson]) -> Result<String> {
        match self.whole {
            Some(whole) => whole.functions(self.head, slice, functions),
            None if self.is_json => json_of_one(self.input, self.head, slice, functions),
            None => Ok(dot_of(functions)),
        }
    }

    fn end_library(&mut self) -> Result<()> {
        match self.whole {
            Some(whole) => self.writer.add(whole.end_library()),
            None => Ok(()),
        }
    }
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
            let name = |at: usize| {
                module.functions.get(at).map_or(&[][..], |function| function.symbol.name.as_slice())
            };
            let wanted = |at: usize| {
                let name = name(at);
                selection.matches_name(unit.index_of(at, name), name)
            };
            let graphs = ControlFlowView::of_module(&module, dialect, wanted, &mut diagnostics);
            let numbered = |graph: ControlFlowView| {
                let at = graph.index as usize;
                GraphsJson { index: unit.index_of(at, name(at)), ..GraphsJson::of_one(graph) }
            };
            graphs.into_iter().map(numbered).collect()
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

/// The JSON of a file in a folder: like that of the input, but for this module alone.
#[derive(Serialize)]
struct ProgramGraphsJson<'g> {
    #[serde(flatten)]
    head: &'g ProgramJson,
    libraries: [LibraryGraphsJson<'g>; 1],
}

#[derive(Serialize)]
struct LibraryGraphsJson<'g> {
    #[serde(skip_serializing_if = "str::is_empty")]
    slice: &'g str,
    functions: &'g [GraphsJson],
}

fn json_of_one(input: &Input, head: &ProgramJson, slice: &str, functions: &[GraphsJson]) -> Result<String> {
    let program = ProgramGraphsJson { head, libraries: [LibraryGraphsJson { slice, functions }] };
    let mut text = serde_json::to_string_pretty(&FileJson::new(input, vec![program], &Diagnostics::new()))?;
    text.push('\n');
    Ok(text)
}
