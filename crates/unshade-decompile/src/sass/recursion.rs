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
    on_cycles(&calls)
}

/// Returns the nodes of a graph that are on cycles, by Kosaraju's algorithm: a search backwards, from each node in the order in
/// which a search forwards left it last, finds the nodes of one strongly connected component.
fn on_cycles(edges: &BTreeMap<u64, BTreeSet<u64>>) -> BTreeSet<u64> {
    let mut left = Vec::new();
    let mut seen = BTreeSet::new();
    for start in edges.keys() {
        let mut list = vec![(*start, false)];
        while let Some((at, is_left)) = list.pop() {
            if is_left {
                left.push(at);
            } else if seen.insert(at) {
                list.push((at, true));
                list.extend(edges.get(&at).into_iter().flatten().map(|next| (*next, false)));
            }
        }
    }
    let mut backwards: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (from, targets) in edges {
        for to in targets {
            backwards.entry(*to).or_default().push(*from);
        }
    }
    let mut found = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for root in left.into_iter().rev() {
        let mut component = Vec::new();
        let mut list = vec![root];
        while let Some(at) = list.pop() {
            if taken.insert(at) {
                component.push(at);
                list.extend(backwards.get(&at).into_iter().flatten());
            }
        }
        let calls_itself = edges.get(&root).is_some_and(|targets| targets.contains(&root));
        if component.len() > 1 || calls_itself {
            found.extend(component);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_functions_on_cycles_are_recursive() {
        let edges = |list: &[(u64, u64)]| {
            let mut edges: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            for (from, to) in list {
                edges.entry(*from).or_default().insert(*to);
            }
            edges
        };
        let found = |list: &[(u64, u64)]| on_cycles(&edges(list)).into_iter().collect::<Vec<u64>>();
        assert_eq!(found(&[(1, 2), (2, 3), (1, 3)]), []);
        assert_eq!(found(&[(1, 1), (1, 2)]), [1]);
        // 3 lies between two cycles.
        assert_eq!(found(&[(1, 2), (2, 1), (2, 3), (3, 4), (4, 5), (5, 4), (5, 6)]), [1, 2, 4, 5]);
        // A long chain needs no deep recursion.
        let mut chain: Vec<(u64, u64)> = (0..100_000).map(|node| (node, node + 1)).collect();
        chain.push((100_000, 99_999));
        assert_eq!(found(&chain), [99_999, 100_000]);
    }
}
