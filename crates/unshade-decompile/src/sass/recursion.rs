//! Functions that call themselves, directly or through others.
//!
//! `flow` follows calls inside a section, which duplicates the callee for each caller. For a recursive function there is no
//! end to that: it becomes a function in C.

use super::{Code, FunctionSymbol, routine};
use std::collections::{BTreeMap, BTreeSet};
use unshade_sass::listing::{Word, instruction_target};
use unshade_sass::table::Flow;

/// Returns the functions of a section that are recursive.
pub fn recursive_functions<'c, 'a>(code: &'c Code<'a>) -> Vec<&'c FunctionSymbol<'a>> {
    if code.functions.is_empty() {
        return Vec::new();
    }
    let recursive = addresses(code, &routine::words(code));
    code.functions.iter().filter(|function| recursive.contains(&function.address)).collect()
}

/// Returns the addresses of recursive functions.
pub(super) fn addresses(code: &Code<'_>, words: &[Word]) -> BTreeSet<u64> {
    let starts: BTreeSet<u64> =
        code.functions.iter().map(|function| function.address).chain([code.entry]).collect();
    let external: BTreeSet<u64> = code.relocations.iter().map(|relocation| relocation.address).collect();
    let mut calls: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (slot, word) in (0..).zip(words) {
        let Word::Instruction(instruction) = word else { continue };
        let address = code.base + slot * code.isa.word_bytes as u64;
        if instruction.operation().flow != Flow::Call || external.contains(&address) {
            continue;
        }
        let caller = starts.range(..=address).next_back();
        let callee = instruction_target(instruction, address).filter(|target| starts.contains(target));
        if let (Some(caller), Some(callee)) = (caller, callee) {
            calls.entry(*caller).or_default().insert(callee);
        }
    }
    calls.keys().copied().filter(|start| reaches_itself(&calls, *start)).collect()
}

fn reaches_itself(calls: &BTreeMap<u64, BTreeSet<u64>>, start: u64) -> bool {
    let mut seen = BTreeSet::new();
    let mut list = vec![start];
    while let Some(at) = list.pop() {
        for callee in calls.get(&at).into_iter().flatten() {
            if *callee == start {
                return true;
            }
            if seen.insert(*callee) {
                list.push(*callee);
            }
        }
    }
    false
}
