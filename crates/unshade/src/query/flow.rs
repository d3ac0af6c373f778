//! The flow of data around a value: the lines that its operands come from, and the lines that use it, some steps far.
//!
//! In listings whose values are defined once, links say it: a line uses what it refers to and defines what it names. In
//! machine code, registers are written many times, so definitions are followed through the blocks of the control flow,
//! with what each instruction reads and writes. A write that a predicate guards may not happen, so earlier ones count too.

use super::bits::function_at;
use super::recorder::{Lines, entity};
use super::session::Session;
use super::*;
use crate::nv_units::{self, with_unit};
use crate::program::Code;
use std::collections::{BTreeMap, HashMap};
use unshade_core::Diagnostics;
use unshade_nv::Cubin;
use unshade_sass::control_flow::ControlFlow;
use unshade_sass::liveness::{LiveRow, Liveness, Set};

/// The default number of steps.
const STEPS: u32 = 3;

/// The maximum number of steps.
const MAX_STEPS: u32 = 30;

/// The maximum number of lines in an answer.
const MAX_NODES: usize = 500;

/// The maximum number of instructions that are looked at.
const MAX_WORK: usize = 2_000_000;

/// A definition and a use, by line or instruction, with the name of the value.
type Edge = (usize, usize, String);

/// Where definitions and uses are found.
trait Values {
    /// Returns the lines that define what a line uses, with the names. The first line may be restricted to one value.
    fn definitions(&mut self, at: usize, is_first: bool) -> Vec<(usize, String)>;
    /// Returns the lines that use what a line defines.
    fn uses(&mut self, at: usize, is_first: bool) -> Vec<(usize, String)>;
}

impl Session {
    pub(super) fn flow(&mut self, request: &Flow) -> Answer<FlowAnswer> {
        let printed = self.printed(&request.at)?;
        let (lines, line) = (&printed.lines, request.line as usize);
        if line >= lines.len() {
            return Err(Fault::new(format!("no line {line}")).expected(format!("less than {}", lines.len())));
        }
        let steps = request.steps.unwrap_or(STEPS).min(MAX_STEPS);
        if request.at.pane != "assembly" {
            return Err(
                Fault::new("the data flow is that of the assembly").hint("select the value in the assembly")
            );
        }
        let table = self.table(request.at.program)?;
        let item = request.at.item.map(|item| table.item(item)).transpose()?;
        let parsed = self.parsed(request.at.program)?;
        match (parsed.code(item, &mut Diagnostics::new())?, item) {
            (Code::Modules(_), _) => {
                let mut values = Linked::new(lines, request.link.map(entity));
                let start = match request.link {
                    Some(link) => values.defined.get(&entity(link)).copied().unwrap_or(line),
                    None => line,
                };
                Ok(slice(lines, start, steps, &mut values))
            }
            (Code::Machine(code), Some(item)) => with_unit(code, item.unit, |_, unit| match unit {
                nv_units::Unit::Cubin(cubin) => machine_flow(cubin, item.index, lines, request, steps),
                _ => Err(no_flow()),
            })?,
            (Code::Tokens(_), _) => Err(Fault::new("the registers of token programs are not followed")
                .hint("their lines link to the writes of a register")),
            _ => Err(no_flow()),
        }
    }
}

fn no_flow() -> Fault {
    Fault::new("there is no data flow of this").hint("select a line of a function's assembly")
}

/// Follows definitions back and uses forth, breadth first.
fn slice(lines: &Lines, start: usize, steps: u32, values: &mut dyn Values) -> FlowAnswer {
    let mut found = Slice { places: HashMap::from([(start, 0)]), nodes: vec![(start, 0)], more: 0 };
    let mut edges: Vec<Edge> = Vec::new();
    for is_back in [true, false] {
        let mut last = vec![start];
        for step in 1..=i64::from(steps) {
            let mut next = Vec::new();
            for at in last {
                let others =
                    if is_back { values.definitions(at, step == 1) } else { values.uses(at, step == 1) };
                for (other, name) in others {
                    let step = if is_back { -step } else { step };
                    let Some(is_new) = found.reach(other, step) else { continue };
                    edges.push(if is_back { (other, at, name) } else { (at, other, name) });
                    if is_new {
                        next.push(other);
                    }
                }
            }
            last = next;
        }
        // What is one step further is only counted.
        for at in last {
            let others = if is_back { values.definitions(at, false) } else { values.uses(at, false) };
            let is_new = |other: &(usize, String)| !found.places.contains_key(&other.0);
            found.more =
                found.more.saturating_add(others.iter().filter(|other| is_new(other)).count() as u32);
        }
    }
    edges.sort();
    edges.dedup();
    let node = |(line, step): &(usize, i64)| {
        let Line { tokens, range, .. } = lines.line(*line);
        FlowNode { line: *line as u32, step: *step, tokens, range }
    };
    let place = |line: usize| found.places.get(&line).copied();
    let edge = |(from, to, name): Edge| Some(FlowEdge { from: place(from)?, to: place(to)?, name });
    FlowAnswer {
        nodes: found.nodes.iter().map(node).collect(),
        edges: edges.into_iter().filter_map(edge).collect(),
        more: found.more,
    }
}

/// The lines that were reached.
struct Slice {
    places: HashMap<usize, u32>,
    nodes: Vec<(usize, i64)>,
    more: u32,
}

impl Slice {
    /// Returns whether a line was not reached before; `None` if there is no room for it.
    fn reach(&mut self, line: usize, step: i64) -> Option<bool> {
        if self.places.contains_key(&line) {
            return Some(false);
        }
        if self.nodes.len() >= MAX_NODES {
            self.more = self.more.saturating_add(1);
            return None;
        }
        self.places.insert(line, self.nodes.len() as u32);
        self.nodes.push((line, step));
        Some(true)
    }
}

/// Values that are defined once, by links.
struct Linked {
    /// What each line defines and uses.
    defines: HashMap<usize, Vec<u64>>,
    uses: HashMap<usize, Vec<(u64, String)>>,
    defined: HashMap<u64, usize>,
    used: HashMap<u64, Vec<(usize, String)>>,
    /// The value that was asked for.
    only: Option<u64>,
}

impl Linked {
    fn new(lines: &Lines, only: Option<u64>) -> Self {
        let mut linked = Self {
            defines: HashMap::new(),
            uses: HashMap::new(),
            defined: HashMap::new(),
            used: HashMap::new(),
            only,
        };
        for line in 0..lines.len() {
            for token in lines.line(line).tokens {
                let TokenEntry::Linked("register" | "variable", name, link) = token else { continue };
                if link < 0 {
                    linked.defines.entry(line).or_default().push(entity(link));
                    linked.defined.insert(entity(link), line);
                } else {
                    linked.uses.entry(line).or_default().push((entity(link), name.clone()));
                    linked.used.entry(entity(link)).or_default().push((line, name));
                }
            }
        }
        linked
    }
}

impl Values for Linked {
    fn definitions(&mut self, at: usize, is_first: bool) -> Vec<(usize, String)> {
        let defines_only = |only: &u64| self.defines.get(&at).is_some_and(|own| own.contains(only));
        let uses = self.uses.get(&at).map_or(&[][..], Vec::as_slice).iter();
        let is_wanted = |entity: &u64| {
            // Without a definition of its own, the line was selected for one of its operands.
            !is_first || self.only.as_ref().is_none_or(|only| only == entity || defines_only(only))
        };
        uses.filter(|(entity, _)| is_wanted(entity))
            .filter_map(|(entity, name)| Some((*self.defined.get(entity)?, name.clone())))
            .collect()
    }

    fn uses(&mut self, at: usize, is_first: bool) -> Vec<(usize, String)> {
        let defines = self.defines.get(&at).map_or(&[][..], Vec::as_slice).iter();
        let is_wanted = |entity: &u64| !is_first || self.only.is_none_or(|only| only == *entity);
        let used = defines.filter(|entity| is_wanted(entity)).filter_map(|entity| self.used.get(entity));
        used.flatten().cloned().collect()
    }
}

/// Registers of a function of machine code.
struct Registers<'r> {
    rows: &'r [LiveRow],
    flow: &'r ControlFlow,
    /// The rows of each block.
    blocks: Vec<std::ops::Range<usize>>,
    predecessors: Vec<Vec<u32>>,
    lines: BTreeMap<u64, usize>,
    only: Option<Set>,
    work: usize,
}

fn machine_flow(
    cubin: &Cubin<'_>,
    index: u32,
    lines: &Lines,
    request: &Flow,
    steps: u32,
) -> Answer<FlowAnswer> {
    let function = function_at(cubin, index, "").ok_or_else(no_flow)?;
    let functions = [(function, ControlFlow::new(&function, &[]))];
    let rows = Liveness::new(&functions).rows(0);
    let [(_, flow)] = &functions;
    let place = |address: u64| function.file_offset.saturating_add(address.saturating_sub(function.address));
    let mut starts: BTreeMap<u64, usize> = BTreeMap::new();
    // The last line of an instruction is the instruction; labels are before it.
    for line in 0..lines.len() {
        if let Some([start, _]) = lines.range(line) {
            starts.insert(start, line);
        }
    }
    let lines_of: BTreeMap<u64, usize> =
        rows.iter().filter_map(|row| Some((row.address, *starts.get(&place(row.address))?))).collect();
    let line = request.line as usize;
    let found = lines_of.iter().find(|(_, own)| **own == line).map(|(address, _)| *address);
    let row = found.and_then(|address| rows.binary_search_by_key(&address, |row| row.address).ok());
    let start = row.ok_or_else(|| {
        Fault::new("no instruction of this function is in the line").hint("select an instruction")
    })?;
    let only = request.link.and_then(|link| named(lines, line, link, rows.get(start)?));
    let blocks: Vec<_> = flow
        .blocks()
        .iter()
        .map(|block| {
            let at = |address: u64| rows.partition_point(|row| row.address < address);
            at(block.addresses.start)..at(block.addresses.end)
        })
        .collect();
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for edge in flow.edges() {
        predecessors.get_mut(edge.to as usize).into_iter().for_each(|all: &mut Vec<u32>| all.push(edge.from));
    }
    let mut registers = Registers { rows: &rows, flow, blocks, predecessors, lines: lines_of, only, work: 0 };
    let mut answer = slice(lines, line, steps, &mut registers);
    if registers.work >= MAX_WORK {
        answer.more = answer.more.saturating_add(1);
    }
    Ok(answer)
}

/// Returns the register with a link in a line, and those after it that its instruction uses without naming them.
fn named(lines: &Lines, line: usize, link: i64, row: &LiveRow) -> Option<Set> {
    let tokens = lines.line(line).tokens;
    let numbers: Vec<(u8, bool)> = tokens
        .iter()
        .filter_map(|token| match token {
            TokenEntry::Linked("register", name, own) => {
                Some((name.strip_prefix('R')?.parse().ok()?, entity(*own) == entity(link)))
            }
            _ => None,
        })
        .collect();
    let first = numbers.iter().find(|(_, is_own)| *is_own)?.0;
    let own = row.effect.reads.union(row.effect.writes);
    let is_named = |register: u8| numbers.iter().any(|(number, _)| *number == register);
    let rest =
        (first.saturating_add(1)..=u8::MAX).take_while(|next| own.has_register(*next) && !is_named(*next));
    Some(rest.fold(Set::of_register(first), |set, next| set.union(Set::of_register(next))))
}

/// Returns the names of registers.
fn names(set: Set) -> String {
    let registers = set.registers().map(|number| format!("R{number}"));
    let uniform = set.uniform_registers().map(|number| format!("UR{number}"));
    let predicates = set.predicates().map(|number| format!("P{number}"));
    let uniform_predicates = set.uniform_predicates().map(|number| format!("UP{number}"));
    let condition = set.has_condition_code().then(|| "CC".to_owned());
    let all = registers.chain(uniform).chain(predicates).chain(uniform_predicates).chain(condition);
    all.collect::<Vec<_>>().join(" ")
}

impl Registers<'_> {
    fn row(&self, line: usize) -> Option<usize> {
        let (address, _) = self.lines.iter().find(|(_, own)| **own == line)?;
        self.rows.binary_search_by_key(address, |row| row.address).ok()
    }

    fn block_of(&self, row: usize) -> Option<usize> {
        self.blocks.iter().position(|rows| rows.contains(&row))
    }

    fn wanted(&self, set: Set, is_first: bool) -> Set {
        match self.only.filter(|_| is_first) {
            // A register that the instruction does not read, or not write, restricts only the other direction.
            Some(only) if !set.intersection(only).is_empty() => set.intersection(only),
            Some(_) => Set::default(),
            None => set,
        }
    }

    /// Walks from a row against or along the control flow, until every register was found.
    fn walk(&mut self, start: usize, set: Set, is_back: bool) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let Some(block) = self.block_of(start) else { return found };
        let mut seen: HashMap<usize, Set> = HashMap::new();
        let rows = self.blocks.get(block).cloned().unwrap_or_default();
        let part = if is_back { rows.start..start } else { start + 1..rows.end };
        let mut pending = vec![(block, part, set)];
        while let Some((block, part, mut set)) = pending.pop() {
            let rows = self.rows.get(part).unwrap_or_default();
            let mut in_order: Vec<&LiveRow> = rows.iter().collect();
            if is_back {
                in_order.reverse();
            }
            for row in in_order {
                self.work += 1;
                let effect = row.effect;
                let hit = if is_back { effect.writes } else { effect.reads }.intersection(set);
                if let Some(line) = self.lines.get(&row.address).filter(|_| !hit.is_empty()) {
                    found.push((*line, names(hit)));
                }
                if effect.guard.is_none() {
                    set = set.without(effect.replaces);
                }
                if set.is_empty() {
                    break;
                }
            }
            if set.is_empty() || self.work >= MAX_WORK {
                continue;
            }
            let next: Vec<usize> = if is_back {
                self.predecessors.get(block).into_iter().flatten().map(|block| *block as usize).collect()
            } else {
                self.flow.edges_from(block as u32).iter().map(|edge| edge.to as usize).collect()
            };
            for block in next {
                let known = seen.entry(block).or_default();
                let new = set.without(*known);
                if !new.is_empty() {
                    *known = known.union(new);
                    pending.push((block, self.blocks.get(block).cloned().unwrap_or_default(), new));
                }
            }
        }
        found
    }
}

impl Values for Registers<'_> {
    fn definitions(&mut self, at: usize, is_first: bool) -> Vec<(usize, String)> {
        let Some((row, reads)) = self.row(at).and_then(|at| Some((at, self.rows.get(at)?.effect.reads)))
        else {
            return Vec::new();
        };
        let writes_only = is_first
            && self.only.is_some_and(|only| {
                self.rows.get(row).is_some_and(|row| !row.effect.writes.intersection(only).is_empty())
            });
        // The operands of a value are all that its instruction reads.
        let wanted = if writes_only { reads } else { self.wanted(reads, is_first) };
        self.walk(row, wanted, true)
    }

    fn uses(&mut self, at: usize, is_first: bool) -> Vec<(usize, String)> {
        let Some((row, writes)) = self.row(at).and_then(|at| Some((at, self.rows.get(at)?.effect.writes)))
        else {
            return Vec::new();
        };
        let wanted = self.wanted(writes, is_first);
        self.walk(row, wanted, false)
    }
}
