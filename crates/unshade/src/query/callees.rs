//! The functions that each item calls, for the filter's `calls:`.
//!
//! Reading the calls of a library means parsing all of its modules, so that it is done when it is asked for, in steps of
//! limited time, and once. Of a module these are the functions that it declares or defines, other than the item itself:
//! compilers only keep what is called. Of machine code they are the names behind its call instructions.

use super::listing::print;
use super::response::{Answer, Fault, Pending};
use super::rows::{Pattern, Table};
use super::session::{Parsed, Session};
use crate::disassembly::Unit;
use crate::program::{Code, Piece};
use std::collections::HashMap;
use unshade_core::{Diagnostics, Escaped};

/// The time of a step in milliseconds.
const BUDGET: f64 = 80.0;

/// The maximum number of items for which the program is parsed once.
const BATCH: usize = 512;

/// The maximum number of calls that are kept.
const MAX_CALLS: usize = 16 << 20;

/// The functions that items call.
#[derive(Debug, Default)]
pub(super) struct Callees {
    names: Vec<Name>,
    ids: HashMap<String, u32>,
    /// The names that each item calls, as far as items were read.
    of: Vec<Box<[u32]>>,
    count: usize,
}

#[derive(Debug)]
struct Name {
    name: String,
    demangled: Option<String>,
}

impl Callees {
    fn add(&mut self, called: Vec<String>) {
        let mut ids: Vec<u32> = called.into_iter().map(|name| self.id(name)).collect();
        ids.sort_unstable();
        ids.dedup();
        self.count = self.count.saturating_add(ids.len());
        self.of.push(ids.into());
    }

    fn id(&mut self, name: String) -> u32 {
        if let Some(id) = self.ids.get(&name) {
            return *id;
        }
        let id = self.names.len() as u32;
        let demangled = crate::demangle(name.as_bytes());
        self.ids.insert(name.clone(), id);
        self.names.push(Name { name, demangled });
        id
    }

    /// Returns for each name whether it matches.
    pub(super) fn matching(&self, pattern: &Pattern) -> Vec<bool> {
        let is_match = |name: &Name| {
            pattern.finds(&name.name) || name.demangled.as_ref().is_some_and(|name| pattern.finds(name))
        };
        self.names.iter().map(is_match).collect()
    }

    /// Returns whether an item calls one of the matching names; none if its calls were not read yet.
    pub(super) fn calls(&self, item: usize, matching: &[bool]) -> Option<bool> {
        let called = self.of.get(item)?;
        Some(called.iter().any(|id| matching.get(*id as usize) == Some(&true)))
    }
}

impl Session {
    /// Reads more of the calls of a program. Returns how far that is, if it is not finished.
    pub(super) fn read_calls(&mut self, program: u32, callees: &mut Callees) -> Answer<Option<Pending>> {
        let table = self.table(program)?;
        let total = table.items().len();
        let deadline = (self.clock)() + BUDGET;
        while callees.of.len() < total {
            if callees.count > MAX_CALLS {
                return Err(Fault::new("the program has too many calls for `calls:`")
                    .expected(format!("at most {MAX_CALLS}"))
                    .hint("search the listings instead"));
            }
            let batch = callees.of.len()..callees.of.len().saturating_add(BATCH).min(total);
            for item in batch.clone() {
                self.ensure_item(program, item as u32)?;
            }
            // Parsing the program takes longer than an item of it.
            let parsed = self.parsed(program)?;
            for piece in table.items().get(batch).unwrap_or_default() {
                // An item that can't be read calls nothing that is known; its listing says why.
                callees.add(called(&parsed, &table, piece).unwrap_or_default());
                if (self.clock)() >= deadline {
                    break;
                }
            }
            if (self.clock)() >= deadline && callees.of.len() < total {
                return Ok(Some(Pending { done: callees.of.len() as u32, total: total as u32 }));
            }
        }
        Ok(None)
    }
}

/// Returns the names of the functions that an item calls.
fn called(parsed: &Parsed<'_>, table: &Table, piece: &Piece) -> Answer<Vec<String>> {
    if !piece.panes.contains(&"assembly") {
        return Ok(Vec::new());
    }
    match parsed.code(Some(piece), &mut Diagnostics::new())? {
        Code::Modules(groups) => {
            let units = groups.iter().flat_map(|group| &group.units);
            let names = units.map(|unit| of_module(unit, piece)).collect::<Answer<Vec<_>>>()?;
            Ok(names.into_iter().flatten().collect())
        }
        Code::Machine(_) => {
            let printed = print(parsed, table, Some(piece), "assembly")?;
            // The listing is that of the section, which a kernel shares with the functions inside of it.
            let is_own = |line: &super::Line| match (&line.range, &piece.row.range) {
                (Some([start, _]), Some(own)) => own.contains(start),
                _ => true,
            };
            let lines = (0..printed.lines.len()).map(|line| printed.lines.line(line)).filter(is_own);
            Ok(lines.filter_map(|line| callee(&line)).collect())
        }
        Code::Tokens(_) | Code::Unread => Ok(Vec::new()),
    }
}

fn of_module(unit: &Unit<'_>, piece: &Piece) -> Answer<Vec<String>> {
    let module = unit.open()?;
    let names = module
        .functions
        .iter()
        .map(|function| (function.declaration, Escaped(&function.symbol.name).to_string()));
    let others = names.filter(|(is_declared, name)| *is_declared || *name != piece.row.name);
    Ok(others.map(|(_, name)| name).collect())
}

/// Returns the name of the function that an instruction calls: the comment after it.
fn callee(line: &super::Line) -> Option<String> {
    let mut tokens = line.tokens.iter().map(super::TokenEntry::text);
    tokens.find(|text| ["CALL", "CAL", "JCAL", "PCALL"].contains(text))?;
    let comment = line.tokens.last()?;
    matches!(comment, super::TokenEntry::Plain("comment", text) if !text.trim_start().starts_with("/"))
        .then(|| comment.text().to_owned())
}
