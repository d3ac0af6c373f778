//! `unshade dis --stats`: instruction counts of functions.
//!
//! First all that is selected of a library together, most frequent first; then, if they are several, one row per
//! function, the largest first. JSON has all counts of each function.

use super::super::findings;
use super::super::programs::{FileJson, ProgramJson, print_diagnostics};
use super::code::{Opened, Request, each_code, in_batches, report_nothing};
use super::dialect_of;
use super::nvidia::each_machine_code;
use super::token_programs;
use crate::Outcome;
use crate::args::{DisassembleArgs, GlobalArgs};
use crate::input::Input;
use crate::output::Stdout;
use crate::paint::{bytes, counted, faint, grouped, name};
use anyhow::Result;
use serde::Serialize;
use std::cmp::Reverse;
use std::io::Write;
use unshade::core::{Diagnostics, Escaped};
use unshade::demangle;
use unshade::disassembly::Unit;
use unshade::llvm::print::TypeNames;
use unshade::nv::function::Function;
use unshade::program::{Code, ModuleGroup, Verb};
use unshade::sass_code::Code as MachineCode;
use unshade::select::Selection;
use unshade::view::{FindingView, FunctionRow, StatisticsView, Tally, TokenStatisticsView};

/// The counts of a function, in a library or in a standalone module.
#[derive(Serialize)]
struct CountsJson {
    index: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<String>,
    #[serde(flatten)]
    counts: StatisticsView,
}

impl CountsJson {
    /// Returns the readable name, or the selector of a function without one.
    fn readable_name(&self) -> String {
        let name = self.demangled.as_ref().unwrap_or(&self.name);
        if name.is_empty() { format!("#{}", self.index) } else { name.clone() }
    }

    fn sum_of(&self, access: &str) -> u64 {
        self.counts.memory.iter().filter(|one| one.access == access).map(|one| one.count).sum()
    }
}

#[derive(Serialize)]
struct LibraryJson {
    #[serde(skip_serializing_if = "String::is_empty")]
    slice: String,
    total: StatisticsView,
    functions: Vec<CountsJson>,
}

#[derive(Serialize)]
struct ProgramCountsJson {
    #[serde(flatten)]
    head: ProgramJson,
    libraries: Vec<LibraryJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    token_programs: Vec<TokenStatisticsView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

/// The counts of a module.
struct Counted {
    functions: Vec<(CountsJson, Tally)>,
    diagnostics: Diagnostics,
}

pub(super) fn run(
    input: &Input,
    selection: &Selection,
    args: &DisassembleArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let mut programs = Vec::new();
    let (mut count, mut outcome) = (0u64, Outcome::Done);
    let limits = global.limits();
    let request = Request { verb: Verb::Statistics, selection, args, limits: &limits };
    let carving = each_code(input, request, |program| {
        let Opened { head, code, mut diagnostics } = program;
        let (mut libraries, mut token_programs) = (Vec::new(), Vec::new());
        match &code {
            Code::Modules(groups) => {
                for group in groups {
                    libraries.push(count_library(group, selection, args, &mut diagnostics, &mut outcome)?);
                }
            }
            Code::Machine(nvidia) => each_machine_code(nvidia, &mut diagnostics, |code, diagnostics| {
                libraries.push(count_machine_code(code, selection, diagnostics));
                Ok(())
            })?,
            Code::Tokens(source) if global.json => {
                let counted = token_programs::counts(&head.path, source, &mut diagnostics);
                token_programs = diagnostics.take("dxbc-program", counted).unwrap_or_default();
                count += token_programs.len() as u64;
            }
            Code::Tokens(source) => {
                let text = token_programs::text(&head.path, source, args, false, &mut diagnostics);
                if let Some(text) = diagnostics.take("dxbc-program", text) {
                    count += 1;
                    stdout.write_all(text.as_bytes())?;
                }
            }
            Code::Unread => outcome = Outcome::Finding,
        }
        libraries.retain(|library| !library.functions.is_empty());
        count += libraries.iter().map(|library| library.functions.len() as u64).sum::<u64>();
        if global.json {
            let findings = findings(&diagnostics);
            programs.push(ProgramCountsJson { head, libraries, token_programs, findings });
            return Ok(());
        }
        libraries.iter().try_for_each(|library| print(&head, library, &mut stdout))?;
        print_diagnostics(&head.path, &diagnostics);
        Ok(())
    })?;
    if global.json {
        stdout.json(&FileJson::new(input, programs, &carving), false)?;
    }
    stdout.finish()?;
    if count == 0 && outcome == Outcome::Done {
        report_nothing(input, selection);
        return Ok(Outcome::Finding);
    }
    Ok(outcome)
}

fn count_library(
    group: &ModuleGroup<'_>,
    selection: &Selection,
    args: &DisassembleArgs,
    diagnostics: &mut Diagnostics,
    outcome: &mut Outcome,
) -> Result<LibraryJson> {
    let mut total = Tally::default();
    let mut functions = Vec::new();
    let count = |unit: &Unit<'_>| count_unit(unit, selection, args);
    in_batches(&group.units, "counting", count, |_, counted| {
        let Some(counted) = diagnostics.take("llvm-module", counted) else {
            *outcome = Outcome::Finding;
            return Ok(());
        };
        diagnostics.append(counted.diagnostics);
        for (function, tally) in counted.functions {
            total.merge(&tally);
            functions.push(function);
        }
        Ok(())
    })?;
    Ok(LibraryJson { slice: group.slice.clone(), total: total.view(), functions })
}

fn count_machine_code(
    code: &MachineCode<'_>,
    selection: &Selection,
    diagnostics: &mut Diagnostics,
) -> LibraryJson {
    let wanted = |function: &Function<'_>| selection.matches_name(function.index, function.name());
    let mut total = Tally::default();
    let mut functions = Vec::new();
    for function in code.functions(&wanted, diagnostics) {
        let tally = Tally::of_machine_code(code, &function);
        total.merge(&tally);
        functions.push(CountsJson {
            index: function.function.index,
            demangled: demangle(function.function.own_name()),
            name: function.name,
            counts: tally.view(),
        });
    }
    LibraryJson { slice: format!("sm_{}", code.cubin().arch()), total: total.view(), functions }
}

fn count_unit(
    unit: &Unit<'_>,
    selection: &Selection,
    args: &DisassembleArgs,
) -> unshade::core::Result<Counted> {
    let module = unit.open()?;
    let mut diagnostics = module.diagnostics.clone();
    let dialect = dialect_of(unit, args);
    let mut functions = Vec::new();
    match unit {
        Unit::Function { library, function } => {
            let tally = Tally::of_module(&module, dialect, &mut diagnostics);
            let FunctionRow { index, name, demangled, .. } = FunctionRow::new(library, function);
            functions.push((CountsJson { index, name, demangled, counts: tally.view() }, tally));
        }
        Unit::Part(_) | Unit::File { .. } => {
            let names = TypeNames::new(&module, dialect);
            for (at, function) in module.functions.iter().enumerate() {
                let symbol = function.symbol.name.as_slice();
                let index = unit.index_of(at, symbol);
                if function.declaration || !selection.matches_name(index, symbol) {
                    continue;
                }
                let Some(body) = diagnostics.take("llvm-function", module.body(at)) else { continue };
                let tally = Tally::of_body(&module, &names, &body);
                diagnostics.append(body.diagnostics);
                let (name, demangled) = (Escaped(symbol).to_string(), demangle(symbol));
                functions.push((CountsJson { index, name, demangled, counts: tally.view() }, tally));
            }
        }
    }
    Ok(Counted { functions, diagnostics })
}

fn print(head: &ProgramJson, library: &LibraryJson, stdout: &mut Stdout) -> Result<()> {
    let slice = if library.slice.is_empty() { String::new() } else { format!(" · slice {}", library.slice) };
    match &library.functions[..] {
        [one] => writeln!(stdout, "{}   {}{slice}", name(one.readable_name()), head.path)?,
        all => {
            let functions = counted(all.len() as u64, "function");
            writeln!(stdout, "{}   {functions}{slice}", name(&head.path))?;
        }
    }
    print_facts(&library.total, stdout)?;
    print_tables(&library.total, stdout)?;
    if library.functions.len() > 1 {
        print_rows(&library.functions, stdout)?;
    }
    Ok(())
}

fn print_facts(counts: &StatisticsView, stdout: &mut Stdout) -> Result<()> {
    let blocks = counted(counts.blocks, "basic block");
    let mut text = format!("{} in {blocks}", counted(counts.instructions, "instruction"));
    if counts.functions != 1 {
        text.push_str(&format!(" of {} bodies", grouped(counts.functions)));
    }
    match (counts.loops, counts.loop_depth) {
        (0, _) => text.push_str(", no loop"),
        (loops, 1) => text.push_str(&format!(", {}", counted(loops, "loop"))),
        (loops, depth) => text.push_str(&format!(", {}, {depth} deep", counted(loops, "loop"))),
    }
    if counts.stack_bytes > 0 {
        text.push_str(&format!(", {} of stack", bytes(counts.stack_bytes)));
    }
    Ok(writeln!(stdout, "  {text}")?)
}

/// Returns the width of a column of numbers under its heading.
fn width(heading: &str, numbers: impl Iterator<Item = u64>) -> usize {
    numbers.map(|number| grouped(number).len()).max().unwrap_or(0).max(heading.len())
}

/// Prints the tables of counts. Numbers come first, because names have any length.
fn print_tables(counts: &StatisticsView, stdout: &mut Stdout) -> Result<()> {
    let wide = width("count", counts.opcodes.iter().map(|one| one.count));
    writeln!(stdout, "\n  {}", faint(format!("{:>wide$}  {:>7}  instruction", "count", "share")))?;
    for one in &counts.opcodes {
        let share = one.count as f64 * 100.0 / counts.instructions.max(1) as f64;
        writeln!(stdout, "  {:>wide$}  {share:>5.1} %  {}", grouped(one.count), one.name)?;
    }
    if !counts.memory.is_empty() {
        let wide = width("count", counts.memory.iter().map(|one| one.count));
        let bytes_wide = width("bytes", counts.memory.iter().map(|one| one.bytes));
        let heading = format!("{:>wide$}  {:>bytes_wide$}  access to memory", "count", "bytes");
        writeln!(stdout, "\n  {}", faint(heading))?;
        for one in &counts.memory {
            let (count, bytes) = (grouped(one.count), grouped(one.bytes));
            let space = one.name.clone().unwrap_or_else(|| format!("address space {}", one.address_space));
            writeln!(stdout, "  {count:>wide$}  {bytes:>bytes_wide$}  {:<6}  {space}", one.access)?;
        }
    }
    let calls = counts.calls.iter().map(|one| (one.count, one.readable()));
    print_table("called", calls.collect(), stdout)?;
    let types = counts.types.iter().map(|one| (one.count, one.name.clone()));
    print_table("type of what is computed or stored", types.collect(), stdout)
}

fn print_table(heading: &str, rows: Vec<(u64, String)>, stdout: &mut Stdout) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let wide = width("count", rows.iter().map(|(count, _)| *count));
    writeln!(stdout, "\n  {}", faint(format!("{:>wide$}  {heading}", "count")))?;
    for (count, name) in rows {
        writeln!(stdout, "  {:>wide$}  {name}", grouped(count))?;
    }
    Ok(())
}

/// A column of numbers: its heading and how to get its value.
type Column = (&'static str, fn(&CountsJson) -> u64);

const COLUMNS: [Column; 7] = [
    ("instructions", |one| one.counts.instructions),
    ("blocks", |one| one.counts.blocks),
    ("loops", |one| one.counts.loops),
    ("calls", |one| one.counts.calls.iter().map(|call| call.count).sum()),
    ("loads", |one| one.sum_of("load")),
    ("stores", |one| one.sum_of("store")),
    ("stack", |one| one.counts.stack_bytes),
];

/// Prints one row per function, the largest first.
fn print_rows(functions: &[CountsJson], stdout: &mut Stdout) -> Result<()> {
    let widths = COLUMNS.map(|(heading, number)| width(heading, functions.iter().map(number)));
    let row = |cells: [String; COLUMNS.len()]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}  "));
        padded.collect::<String>()
    };
    let heading = row(COLUMNS.map(|(heading, _)| heading.to_owned()));
    writeln!(stdout, "\n  {}", faint(format!("{heading}function")))?;
    let mut sorted: Vec<&CountsJson> = functions.iter().collect();
    sorted.sort_by_key(|one| Reverse(one.counts.instructions));
    for one in sorted {
        let cells = row(COLUMNS.map(|(_, number)| grouped(number(one))));
        writeln!(stdout, "  {cells}{}", one.readable_name())?;
    }
    Ok(())
}
