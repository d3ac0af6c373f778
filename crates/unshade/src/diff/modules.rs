//! Compares modules of LLVM bitcode: the facts of each, functions by name, and what is around the functions.
//!
//! Modules of two streams are matched by their order.

use super::fields::{self, FieldLine};
use super::lines::Change;
use super::listing::Listing;
use super::{ContainerDiff, PartChange};
use crate::demangle;
use crate::disassembly::Unit;
use crate::program::{Code, CodeRequest, Program};
use crate::select::Selection;
use unshade_core::{Diagnostics, Result};

/// Compares the modules of two programs.
pub(super) fn compare(before: &dyn Program, after: &dyn Program, context: usize, diff: &mut ContainerDiff) {
    let selection = Selection::default();
    let request = CodeRequest { selection: &selection, part: None, path: "" };
    // What can't be read is reported by `verify` and `dis`.
    let (one, two) =
        (before.code(&request, &mut Diagnostics::new()), after.code(&request, &mut Diagnostics::new()));
    let (units, other_units) = (units(&one), units(&two));
    let (facts, other_facts) = (facts(before), facts(after));
    let count = units.len().max(other_units.len());
    for place in 0..count {
        let name = if count > 1 { format!("module {}", place + 1) } else { "module".to_owned() };
        let (one, two) = match (units.get(place), other_units.get(place)) {
            (Some(one), Some(two)) => (one, two),
            (one, _) => {
                let change = if one.is_some() { Change::Removed } else { Change::Added };
                diff.parts.push(PartChange::one_sided(name, change));
                continue;
            }
        };
        let mut whole = PartChange::one_sided(name, Change::Same);
        if let (Some(one), Some(two)) = (facts.get(place), other_facts.get(place)) {
            whole.fields = fields::changes(one, two);
        }
        let at = diff.parts.len();
        if let Err(error) = functions(one, two, context, &mut whole, diff) {
            whole.fault = Some(error.to_string());
        }
        if whole.fields.is_empty() && whole.code.is_empty() && whole.fault.is_none() {
            diff.same += 1;
        } else {
            diff.parts.insert(at, whole);
        }
    }
}

/// Adds the functions that differ, and what is around them to `whole`.
fn functions(
    one: &Unit<'_>,
    two: &Unit<'_>,
    context: usize,
    whole: &mut PartChange,
    diff: &mut ContainerDiff,
) -> Result<()> {
    let (before, after) = (one.open()?, two.open()?);
    let dialect = one.usual_dialect();
    let (before, after) = (Listing::new(&before, dialect), Listing::new(&after, dialect));
    for (name, change, code) in before.diff_functions(&after, context) {
        if name.is_empty() {
            whole.code = code;
            continue;
        }
        let name = demangle(name.as_bytes()).unwrap_or(name);
        let suffix = if whole.part == "module" { String::new() } else { format!(", {}", whole.part) };
        if change == Change::Same && code.is_empty() {
            diff.same += 1;
        } else {
            let part = format!("code of {name}{suffix}");
            diff.parts.push(PartChange { code, ..PartChange::one_sided(part, change) });
        }
    }
    Ok(())
}

fn units<'c>(code: &'c Code<'_>) -> Vec<&'c Unit<'c>> {
    match code {
        Code::Modules(groups) => groups.iter().flat_map(|group| &group.units).collect(),
        Code::Tokens(_) | Code::Machine(_) | Code::Unread => Vec::new(),
    }
}

/// Returns the facts of each module.
fn facts(program: &dyn Program) -> Vec<Vec<FieldLine>> {
    let sections = program.sections(&mut Diagnostics::new());
    let lines = |section: crate::program::Section| {
        let facts = section.facts.into_iter().filter(|fact| !fact.value.is_empty());
        facts.map(|fact| FieldLine::new(&fact.label, fact.value)).collect()
    };
    sections.into_iter().map(lines).collect()
}
