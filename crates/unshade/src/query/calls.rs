//! Call graphs, item by item: each step reads the calls in some items, and a page puts the steps together.
//!
//! In modules of LLVM, calls are found by their operands. Functions that other modules can call have their name as key,
//! others their item and name, so that the calls of all functions of a Metal library form one graph. In machine code,
//! callees are the targets of call instructions, the functions that relocations name, and the pairs in `.nv.callgraph`. In
//! token programs, they are labels.

use super::rows::Table;
use super::session::{Parsed, Session};
use super::*;
use crate::disassembly::{TokenProgram, token_programs};
use crate::nv_units::{self, with_unit};
use crate::program::{Code, Piece};
use crate::sass_listing::instruction_set;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use unshade_core::{Diagnostics, Escaped};
use unshade_llvm::Module;
use unshade_llvm::global::Linkage;
use unshade_llvm::uses::{CallGraph, Callee};
use unshade_nv::Cubin;
use unshade_nv::elf::SectionType;
use unshade_nv::function::{Function, FunctionKind};
use unshade_nv::symbol::{Symbol, SymbolType};
use unshade_sass::listing::{self, Word, instruction_target};
use unshade_sass::table::Flow as InstructionFlow;

/// The number of items whose code is read before the program is parsed, if the file is read by ranges.
const BATCH: u32 = 64;

/// The number of functions and calls that end a step.
const MAX_STEP: usize = 20_000;

/// The functions and calls of a step.
struct Found<'t> {
    answer: CallsAnswer,
    places: HashMap<String, u32>,
    calls: BTreeMap<(u32, u32), u32>,
    table: &'t Table,
    /// Items by name in the file.
    items: HashMap<&'t str, u32>,
}

impl Session {
    pub(super) fn calls(&mut self, request: &Calls) -> Answer<CallsAnswer> {
        let program = request.at.program;
        let table = self.table(program)?;
        let deadline = self.deadline(request.budget_ms);
        let all = request.at.item.map_or(0..table.len(), |item| item..item.saturating_add(1));
        if let Some(item) = request.at.item {
            table.item(item)?;
        }
        let no_cursor = || Fault::new("no cursor of a call graph");
        let mut at = match &request.cursor {
            Some(cursor) => cursor.parse::<u32>().map_err(|_| no_cursor())?.max(all.start),
            None => all.start,
        };
        let mut found = Found::new(&table);
        found.answer.total = u64::from(all.end - all.start);
        let (clock, start) = (self.clock, at);
        let is_full = |found: &Found<'_>| {
            clock() >= deadline || found.answer.functions.len() + found.calls.len() >= MAX_STEP
        };
        while at < all.end {
            // A program is parsed once for many items.
            let is_partial = self.is_partial();
            let end = if is_partial { at.saturating_add(BATCH).min(all.end) } else { all.end };
            let mut unread = HashSet::new();
            for item in (at..end).filter(|_| is_partial) {
                if self.ensure_item(program, item).is_err() {
                    unread.insert(item);
                }
            }
            let parsed = self.parsed(program)?;
            // Each step reads one item at least.
            while at < end && (at == start || !is_full(&found)) {
                if unread.contains(&at) {
                    found.answer.unread += 1;
                    at += 1;
                } else {
                    let next = calls_from(&parsed, at..all.end, request.at.item.is_some(), &mut found);
                    at = next.max(at + 1);
                }
            }
            if is_full(&found) && at > start {
                break;
            }
        }
        found.answer.searched = u64::from(at.min(all.end) - all.start);
        let cursor = (at < all.end).then(|| at.to_string());
        Ok(CallsAnswer { cursor, ..found.finish() })
    }
}

/// Reads the calls of an item, or of all items from it on that are read together. Returns the next item.
fn calls_from(parsed: &Parsed<'_>, items: Range<u32>, is_alone: bool, found: &mut Found<'_>) -> u32 {
    let item = items.start;
    let Ok(piece) = found.table.item(item) else { return item + 1 };
    match parsed.code(Some(piece), &mut Diagnostics::new()) {
        Ok(Code::Modules(groups)) => {
            for unit in groups.iter().flat_map(|group| &group.units) {
                match unit.open() {
                    Ok(module) => found.module(&module, item, piece),
                    Err(_) => found.answer.unread += 1,
                }
            }
            item + 1
        }
        Ok(Code::Machine(_)) => machine_calls(parsed, items, is_alone, found),
        Ok(Code::Tokens(source)) => {
            match token_programs("", &source, &mut Diagnostics::new()) {
                Ok(programs) => programs.iter().for_each(|(path, program)| found.tokens(path, program, item)),
                Err(_) => found.answer.unread += 1,
            }
            item + 1
        }
        Ok(Code::Unread) | Err(_) => {
            // Parts without code have no calls; code that can't be read is reported.
            found.answer.unread += u32::from(!piece.panes.is_empty());
            item + 1
        }
    }
}

/// Reads the calls of all items in the unit of the first one, or of that alone. Returns the item after these.
fn machine_calls(parsed: &Parsed<'_>, items: Range<u32>, is_alone: bool, found: &mut Found<'_>) -> u32 {
    let table = found.table;
    let Ok(first) = table.item(items.start) else { return items.end };
    let is_inside = |item: u32| table.item(item).is_ok_and(|piece| piece.unit == first.unit);
    let end = (items.start..items.end).find(|item| !is_inside(*item)).unwrap_or(items.end);
    let Ok(Code::Machine(program)) = parsed.code(Some(first), &mut Diagnostics::new()) else { return end };
    // The items of a unit are its functions, in their order.
    let start = items.start.saturating_sub(first.index);
    let read = with_unit(program, first.unit, |_, unit| {
        if let nv_units::Unit::Cubin(cubin) = unit {
            let wanted = is_alone.then_some(first.index);
            CubinCalls { cubin, unit: first.unit, start, wanted, found }.read();
        }
    });
    if read.is_err() {
        found.answer.unread += 1;
    }
    end
}

impl<'t> Found<'t> {
    fn new(table: &'t Table) -> Self {
        let items = (0..).zip(table.items()).map(|(item, piece)| (piece.row.name.as_str(), item)).collect();
        Self { answer: CallsAnswer::default(), places: HashMap::new(), calls: BTreeMap::new(), table, items }
    }

    fn place(&mut self, entry: CallEntry) -> u32 {
        let next = self.answer.functions.len() as u32;
        let place = *self.places.entry(entry.key.clone()).or_insert(next);
        if place == next {
            self.answer.functions.push(entry);
        }
        place
    }

    fn call(&mut self, from: u32, to: u32, count: u32) {
        let calls = self.calls.entry((from, to)).or_default();
        *calls = calls.saturating_add(count);
    }

    fn finish(mut self) -> CallsAnswer {
        let edge = |((from, to), count)| CallEdge { from, to, count };
        self.answer.calls = self.calls.into_iter().map(edge).collect();
        self.answer
    }

    /// Adds the subroutines and calls of a token program.
    fn tokens(&mut self, path: &str, program: &TokenProgram, item: u32) {
        let subroutines = program.subroutines();
        let labels: HashSet<&str> = subroutines.iter().map(|subroutine| &*subroutine.name).collect();
        let entry = |name: &str| CallEntry {
            key: format!("{item}/{path}/{name}"),
            name: name.to_owned(),
            kind: match name {
                "main" => "item",
                name if labels.contains(name) => "inner",
                _ => "external",
            },
            item: labels.contains(name).then_some(item),
        };
        for subroutine in &subroutines {
            let from = self.place(entry(&subroutine.name));
            for (name, count) in &subroutine.calls {
                let to = self.place(entry(name));
                self.call(from, to, *count);
            }
        }
    }

    /// Adds the functions and calls of a module.
    fn module(&mut self, module: &Module<'_>, item: u32, piece: &Piece) {
        let mut bodies = Vec::new();
        for (index, function) in module.functions.iter().enumerate() {
            if !function.declaration {
                match module.body(index) {
                    Ok(body) => bodies.push(body),
                    Err(_) => self.answer.unread += 1,
                }
            }
        }
        let graph = CallGraph::new(module, &bodies);
        let entry = |found: &Self, index: u32| -> Option<CallEntry> {
            let function = module.functions.get(index as usize)?;
            let symbol = &function.symbol;
            let name = Escaped(&symbol.name).to_string();
            let is_own = name == piece.row.name;
            let is_local = matches!(symbol.linkage, Linkage::Internal | Linkage::Private);
            let key = if is_local { format!("{item}/{name}") } else { name.clone() };
            let (kind, item) = match () {
                () if is_own => ("item", Some(item)),
                () if !function.declaration => ("inner", Some(item)),
                () => match found.items.get(name.as_str()) {
                    Some(item) => ("item", Some(*item)),
                    None => ("external", None),
                },
            };
            let name = crate::demangle(&symbol.name).unwrap_or(name);
            Some(CallEntry { key, name, kind, item })
        };
        for body in &bodies {
            let Some(caller) = entry(self, body.function) else { continue };
            let from = self.place(caller);
            for site in graph.calls_of(body.function) {
                let callee = match site.callee {
                    Callee::Function(index) => entry(self, index),
                    Callee::Indirect => Some(unknown()),
                    _ => None,
                };
                // Debug information is written as calls, which are none at run time.
                let callee = callee.filter(|callee| !callee.key.starts_with("llvm.dbg."));
                if let Some(callee) = callee {
                    let to = self.place(callee);
                    self.call(from, to, 1);
                }
            }
        }
    }
}

fn unknown() -> CallEntry {
    CallEntry { key: "?".into(), name: "(indirect)".into(), kind: "unknown", item: None }
}

/// The calls in a cubin.
struct CubinCalls<'f, 't, 'c, 'a> {
    cubin: &'c Cubin<'a>,
    unit: u32,
    /// The item of its first function.
    start: u32,
    /// The only function whose calls are read.
    wanted: Option<u32>,
    found: &'f mut Found<'t>,
}

impl<'a> CubinCalls<'_, '_, '_, 'a> {
    fn read(&mut self) {
        let functions: Vec<Function<'a>> = self.cubin.functions().collect();
        let by_symbol: HashMap<u32, u32> =
            (0..).zip(&functions).map(|(at, function)| (function.symbol.index, at)).collect();
        let mut by_section: BTreeMap<u32, Vec<(u32, &Function<'a>)>> = BTreeMap::new();
        for (at, function) in (0..).zip(&functions) {
            by_section.entry(u32::from(function.symbol.section)).or_default().push((at, function));
            if self.is_wanted(at) {
                let entry = self.entry(at, function);
                self.found.place(entry);
            }
        }
        for (section, inside) in &by_section {
            let relocated = self.relocated(*section, inside, &by_symbol, &functions);
            let direct = self.direct(*section, inside);
            let mut calls: BTreeMap<(u32, String), (CallEntry, u32)> = BTreeMap::new();
            for (address, callee) in direct.into_iter().chain(relocated) {
                let Some(caller) = owner(inside, address) else { continue };
                let call = calls.entry((caller, callee.key.clone())).or_insert((callee, 0));
                call.1 = call.1.saturating_add(1);
            }
            for ((caller, _), (callee, count)) in calls {
                self.call(caller, &functions, callee, count);
            }
        }
        for (caller, callee) in self.listed(&by_symbol) {
            if let Some(function) = functions.get(callee as usize) {
                let entry = self.entry(callee, function);
                self.call(caller, &functions, entry, 0);
            }
        }
    }

    fn is_wanted(&self, function: u32) -> bool {
        self.wanted.is_none_or(|wanted| wanted == function)
    }

    fn entry(&self, at: u32, function: &Function<'_>) -> CallEntry {
        let name = Escaped(function.name()).to_string();
        let kind = if function.kind == FunctionKind::Inner { "inner" } else { "item" };
        CallEntry {
            key: format!("{}/{name}", self.unit),
            name: crate::demangle(function.own_name()).unwrap_or(name),
            kind,
            item: Some(self.start.saturating_add(at)),
        }
    }

    fn call(&mut self, caller: u32, functions: &[Function<'a>], callee: CallEntry, count: u32) {
        let Some(function) = functions.get(caller as usize).filter(|_| self.is_wanted(caller)) else {
            return;
        };
        let from = self.entry(caller, function);
        let (from, to) = (self.found.place(from), self.found.place(callee));
        self.found.call(from, to, count);
    }

    /// Returns the addresses of calls, and of branches to the start of other functions, with these functions.
    fn direct(&self, section: u32, inside: &[(u32, &Function<'a>)]) -> Vec<(u64, CallEntry)> {
        let (Some(isa), Ok(section)) = (instruction_set(self.cubin), self.cubin.elf().section(section))
        else {
            return Vec::new();
        };
        let Ok(bytes) = self.cubin.elf().bytes(&section) else { return Vec::new() };
        let code =
            listing::Function { name: "", isa, bytes: bytes.data(), address: 0, file_offset: bytes.base() };
        let mut calls = Vec::new();
        for (address, word) in code.words() {
            let Word::Instruction(instruction) = word else { continue };
            let flow = instruction.operation().flow;
            if !matches!(flow, InstructionFlow::Call | InstructionFlow::Branch) {
                continue;
            }
            let target =
                instruction_target(&instruction, address).map(|target| code.instruction_from(target));
            let callee = target.and_then(|target| {
                let is_callee =
                    |function: &Function<'_>| code.instruction_from(function.symbol.value) == target;
                inside.iter().find(|(_, function)| is_callee(function))
            });
            // Calls of other sections have a relocation instead of a target. A branch to the own start is a loop.
            if let Some((at, function)) = callee
                && (flow == InstructionFlow::Call || owner(inside, address) != Some(*at))
            {
                calls.push((address, self.entry(*at, function)));
            }
        }
        calls
    }

    /// Returns the addresses of relocations by functions of other sections, with these.
    fn relocated(
        &self,
        section: u32,
        inside: &[(u32, &Function<'a>)],
        by_symbol: &HashMap<u32, u32>,
        functions: &[Function<'a>],
    ) -> Vec<(u64, CallEntry)> {
        let mut calls = Vec::new();
        let outer = inside.iter().find(|(_, function)| function.kind != FunctionKind::Inner);
        for (of, relocation) in outer.into_iter().flat_map(|(_, outer)| outer.relocations(self.cubin)) {
            let Some(symbol) = self.cubin.elf().symbol(relocation.symbol).filter(|_| of == section) else {
                continue;
            };
            let is_known =
                by_symbol.get(&symbol.index).and_then(|at| Some((*at, functions.get(*at as usize)?)));
            let callee = match is_known {
                Some((at, function)) => self.entry(at, function),
                None if symbol.kind == SymbolType::FUNCTION => self.external(&symbol),
                None => continue,
            };
            // An address in two halves is one.
            let is_half = calls.last().is_some_and(|(_, last): &(u64, CallEntry)| last.key == callee.key)
                && relocation.kind.to_string().contains("_HI_");
            if !is_half {
                calls.push((relocation.offset, callee));
            }
        }
        calls
    }

    fn external(&self, symbol: &Symbol<'_>) -> CallEntry {
        let name = Escaped(symbol.name).to_string();
        let key = format!("{}/{name}", self.unit);
        CallEntry { key, name: crate::demangle(symbol.name).unwrap_or(name), kind: "external", item: None }
    }

    /// Returns the pairs of functions in `.nv.callgraph`.
    fn listed(&self, by_symbol: &HashMap<u32, u32>) -> Vec<(u32, u32)> {
        let elf = self.cubin.elf();
        let is_graph = |kind: SectionType| {
            matches!(kind, SectionType::CUDA_CALLGRAPH | SectionType::CUDA_MERCURY_CALLGRAPH)
        };
        let mut pairs = Vec::new();
        for section in elf.sections().filter(|section| is_graph(section.kind)) {
            let Ok(bytes) = elf.bytes(&section) else { continue };
            // Pairs of a caller and a callee; numbers that are no symbols mark roots and unknown callees.
            for pair in bytes.data().chunks_exact(8) {
                let number = |at: usize| {
                    let bytes = pair.get(at..at.saturating_add(4))?;
                    by_symbol.get(&u32::from_le_bytes(bytes.try_into().ok()?)).copied()
                };
                pairs.extend(number(0).zip(number(4)));
            }
        }
        pairs
    }
}

/// Returns the innermost function at an address.
fn owner(inside: &[(u32, &Function<'_>)], address: u64) -> Option<u32> {
    let holds = |function: &Function<'_>| {
        let symbol = &function.symbol;
        (symbol.value..symbol.value.saturating_add(symbol.size)).contains(&address)
    };
    let holding = inside.iter().filter(|(_, function)| holds(function));
    holding.min_by_key(|(at, function)| (function.symbol.size, *at)).map(|(at, _)| *at)
}
