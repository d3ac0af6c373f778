//! What is known of items only by reading their code: which functions each calls, for the filter's `calls:`, and how many
//! instructions it has.
//!
//! Reading the code of a library means parsing all of its modules, so that it is done when it is asked for, in steps of
//! limited time, and once. The functions that a module calls are those that it declares or defines, other than the item
//! itself: compilers only keep what is called. Those of token programs are labels. Those of machine code are the names
//! behind its call instructions; its instructions need no reading, so that its program has them with its items.

use super::listing::print;
use super::response::{Answer, Fault, Pending};
use super::rows::{Pattern, Table};
use super::session::{Parsed, Session};
use crate::disassembly::{TokenSource, Unit, token_programs};
use crate::program::{Code, Piece};
use std::collections::HashMap;
use unshade_core::{Diagnostics, Escaped};
use unshade_llvm::body::FunctionBody;
use unshade_llvm::facts::body_size;

/// The time of a step in milliseconds.
const BUDGET: f64 = 80.0;

/// The maximum number of items for which the program is parsed once.
const BATCH: usize = 512;

/// The maximum number of calls that are kept.
const MAX_CALLS: usize = 16 << 20;

/// What the code of items says, as far as items were read.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    names: Vec<Name>,
    ids: HashMap<String, u32>,
    of: Vec<Body>,
    /// The number of calls in all of them.
    call_count: usize,
}

/// What the code of an item says.
#[derive(Debug)]
struct Body {
    /// The names that it calls.
    calls: Box<[u32]>,
    instructions: Option<u64>,
}

/// What was read of an item.
#[derive(Debug, Default)]
struct Read {
    calls: Vec<String>,
    instructions: Option<u64>,
}

#[derive(Debug)]
struct Name {
    name: String,
    demangled: Option<String>,
}

impl Bodies {
    fn add(&mut self, read: Read) {
        let mut ids: Vec<u32> = read.calls.into_iter().map(|name| self.id(name)).collect();
        ids.sort_unstable();
        ids.dedup();
        self.call_count = self.call_count.saturating_add(ids.len());
        self.of.push(Body { calls: ids.into(), instructions: read.instructions });
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

    /// Returns how many items were read.
    pub(super) fn count(&self) -> usize {
        self.of.len()
    }

    /// Returns whether an item was read.
    pub(super) fn has(&self, item: u32) -> bool {
        (item as usize) < self.of.len()
    }

    /// Returns for each name whether it matches.
    pub(super) fn matching(&self, pattern: &Pattern) -> Vec<bool> {
        let is_match = |name: &Name| {
            pattern.finds(&name.name) || name.demangled.as_ref().is_some_and(|name| pattern.finds(name))
        };
        self.names.iter().map(is_match).collect()
    }

    /// Returns whether an item is known to call one of the matching names.
    pub(super) fn calls(&self, item: u32, matching: &[bool]) -> bool {
        let called = self.of.get(item as usize).map_or(&[][..], |body| &body.calls);
        called.iter().any(|id| matching.get(*id as usize) == Some(&true))
    }

    /// Returns the number of instructions of an item, if that is known.
    pub(super) fn instructions(&self, item: u32) -> Option<u64> {
        self.of.get(item as usize)?.instructions
    }
}

impl Session {
    /// Reads more of the code of a program. Returns how far that is, if it is not finished.
    pub(super) fn read_bodies(&mut self, program: u32) -> Answer<Option<Pending>> {
        let mut bodies = self.bodies.remove(&program).unwrap_or_default();
        let pending = self.read_more(program, &mut bodies);
        self.bodies.insert(program, bodies);
        pending
    }

    fn read_more(&mut self, program: u32, bodies: &mut Bodies) -> Answer<Option<Pending>> {
        let table = self.table(program)?;
        let total = table.items().len();
        let deadline = (self.clock)() + BUDGET;
        while bodies.count() < total {
            if bodies.call_count > MAX_CALLS {
                return Err(Fault::new("the program has too many calls")
                    .expected(format!("at most {MAX_CALLS}"))
                    .hint("search the listings instead"));
            }
            let batch = bodies.count()..bodies.count().saturating_add(BATCH).min(total);
            for item in batch.clone() {
                self.ensure_item(program, item as u32)?;
            }
            // Parsing the program takes longer than an item of it.
            let parsed = self.parsed(program)?;
            for piece in table.items().get(batch).unwrap_or_default() {
                // Nothing is known of an item that can't be read; its listing says why.
                bodies.add(read(&parsed, &table, piece).unwrap_or_default());
                if (self.clock)() >= deadline {
                    break;
                }
            }
            if (self.clock)() >= deadline && bodies.count() < total {
                return Ok(Some(Pending { done: bodies.count() as u32, total: total as u32 }));
            }
        }
        Ok(None)
    }
}

/// Reads the code of an item.
fn read(parsed: &Parsed<'_>, table: &Table, piece: &Piece) -> Answer<Read> {
    if !piece.panes.contains(&"assembly") {
        return Ok(Read::default());
    }
    match parsed.code(Some(piece), &mut Diagnostics::new())? {
        Code::Modules(groups) => {
            let mut read = Read { instructions: Some(0), ..Read::default() };
            for unit in groups.iter().flat_map(|group| &group.units) {
                of_module(unit, piece, &mut read)?;
            }
            Ok(read)
        }
        Code::Machine(_) => {
            let printed = print(parsed, table, Some(piece), "assembly")?;
            // The listing is that of the section, which a kernel shares with the functions inside of it.
            let is_own = |line: &super::Line| match (&line.range, &piece.row.range) {
                (Some([start, _]), Some(own)) => own.contains(start),
                _ => true,
            };
            let lines = (0..printed.lines.len()).map(|line| printed.lines.line(line)).filter(is_own);
            Ok(Read { calls: lines.filter_map(|line| callee(&line)).collect(), instructions: None })
        }
        Code::Tokens(source) => of_tokens(&source),
        Code::Unread => Ok(Read::default()),
    }
}

fn of_module(unit: &Unit<'_>, piece: &Piece, read: &mut Read) -> Answer<()> {
    let module = unit.open()?;
    let mut body = FunctionBody::default();
    for (index, function) in module.functions.iter().enumerate() {
        let name = Escaped(&function.symbol.name).to_string();
        if function.declaration || name != piece.row.name {
            read.calls.push(name);
        }
        if !function.declaration {
            let size = body_size(&module, index, &mut body)?;
            read.instructions = read.instructions.map(|sum| sum.saturating_add(size.instructions as u64));
        }
    }
    Ok(())
}

fn of_tokens(source: &TokenSource<'_>) -> Answer<Read> {
    let programs = token_programs("", source, &mut Diagnostics::new())?;
    let instructions = programs.iter().map(|(_, program)| u64::from(program.instruction_count())).sum();
    let subroutines = programs.iter().flat_map(|(_, program)| program.subroutines());
    let calls = subroutines.flat_map(|subroutine| subroutine.calls.into_keys()).collect();
    Ok(Read { calls, instructions: Some(instructions) })
}

/// Returns the name of the function that an instruction calls: the comment after it.
fn callee(line: &super::Line) -> Option<String> {
    let mut tokens = line.tokens.iter().map(super::TokenEntry::text);
    tokens.find(|text| ["CALL", "CAL", "JCAL", "PCALL"].contains(text))?;
    let comment = line.tokens.last()?;
    matches!(comment, super::TokenEntry::Plain("comment", text) if !text.trim_start().starts_with("/"))
        .then(|| comment.text().to_owned())
}
