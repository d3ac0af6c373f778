//! The signatures of device functions: what their code reads and writes, as nothing in a cubin describes them.
//!
//! Each function is lifted as if every call passed and returned all registers of the calling convention. A word is a
//! parameter if something that the function must do depends on any of its bits ([`demand`]). A word is part of the result
//! if a caller's effects depend on it; if no caller is known, if the function sets it on all paths. Both depend on the
//! signatures of other functions, recursively, so they grow from nothing up to a fixed point.

use super::{Source, convention};
use crate::ir::{Callee, Function, Op, Parameter, THIS, ValueId};
use crate::pass::demand;
use std::collections::{BTreeMap, BTreeSet};

/// The device functions of a program, by their name in C.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    callees: BTreeMap<String, Callee>,
    /// Their names; callees come before their callers, except in cycles.
    order: Vec<String>,
    /// The registers that each changes and does not restore, in order.
    changed: BTreeMap<String, Vec<u32>>,
    /// The words of parameters that each needs; the others are only there because they come before one that is needed.
    needed: BTreeMap<String, BTreeSet<u32>>,
    /// The names of those whose addresses are in variables or in code.
    pointed: BTreeSet<String>,
}

/// A function lifted with calls that pass and return everything.
struct Raw<'a> {
    source: &'a Source<'a>,
    function: Function,
    /// The registers that its own instructions write.
    written: Vec<u32>,
}

/// What is known of a function.
#[derive(Default)]
struct Words {
    /// The words of parameters that it needs.
    needed: BTreeSet<u32>,
    /// The words of its result that callers need.
    returned: BTreeSet<u32>,
}

impl Functions {
    /// Returns a function.
    pub fn get(&self, name: &str) -> Option<&Callee> {
        self.callees.get(name)
    }

    /// Returns the functions that a pointer may refer to.
    pub(super) fn pointed(&self) -> impl Iterator<Item = &Callee> {
        self.pointed.iter().filter_map(|name| self.callees.get(name))
    }

    /// Returns what a call through a pointer passes and returns; `None` if no function has its address taken. If the
    /// functions differ, it passes as many words as any needs.
    pub(super) fn pointer(&self) -> Option<Callee> {
        let first = self.pointed().next()?;
        let mut callee = Callee { name: String::new(), ..first.clone() };
        if self.pointed().any(|other| other.parameters != first.parameters) {
            let end = |callee: &Callee| callee.parameters.last().map_or(0, |last| last.offset + last.size);
            let words = self.pointed().map(end).max().unwrap_or(0).div_ceil(4);
            callee.parameters = (0..words).map(Parameter::word).collect();
        }
        if self.pointed().any(|other| (other.words, other.result) != (first.words, first.result)) {
            callee.words = self.pointed().map(|callee| callee.words).max().unwrap_or(0);
            callee.result = None;
        }
        Some(callee)
    }

    /// Returns the names of all functions, callees before their callers, except in cycles.
    pub fn order(&self) -> &[String] {
        &self.order
    }

    /// Returns the registers that a function changes. Compilers rely on what they see of a callee: other registers keep
    /// their values even if the convention does not preserve them.
    pub(super) fn changed(&self, name: &str) -> Vec<u32> {
        self.changed.get(name).cloned().unwrap_or_else(|| convention::changed().collect())
    }

    /// Returns whether a function needs a parameter, or may need it.
    pub(super) fn needs(&self, callee: &Callee, parameter: &Parameter) -> bool {
        let words = parameter.offset / 4..(parameter.offset + parameter.size).div_ceil(4);
        self.needed.get(&callee.name).is_none_or(|needed| needed.range(words).next().is_some())
    }

    /// Adds a function, or replaces the one with its name.
    pub fn insert(&mut self, callee: Callee) {
        self.callees.insert(callee.name.clone(), callee);
    }

    /// Infers the signatures of the device functions among `sources`, in words. `sources` are all functions of a
    /// program that call others or are called. Functions that exceed the budget have none.
    pub fn infer(sources: &[&Source<'_>], budget: usize) -> Self {
        let mut all = Self::default();
        for source in sources.iter().filter(|source| !source.is_kernel) {
            all.insert(convention::unknown_callee(&source.name));
            if source.is_pointed {
                all.pointed.insert(source.name.clone());
            }
        }
        let lift = |all: &Self| -> Vec<Raw<'_>> {
            let lifted = sources.iter().copied().filter_map(|source| {
                let (mut function, written) = super::lift_raw(source, all, budget).ok()?;
                super::saves::run(&mut function);
                Some(Raw { source, function, written })
            });
            lifted.collect()
        };
        let changed = changed(&lift(&all));
        all.changed = changed;
        let mut raw = lift(&all);
        let order = order(&raw);
        // What is needed flows from callees to callers, what is returned the other way.
        let places: BTreeMap<&str, usize> = order.iter().map(String::as_str).zip(0..).collect();
        raw.sort_by_key(|raw| places.get(raw.source.name.as_str()).copied().unwrap_or(usize::MAX));
        let words = words(&raw);
        let mut found = Self {
            order: order.clone(),
            changed: all.changed.clone(),
            pointed: all.pointed.clone(),
            ..Self::default()
        };
        for raw in raw.iter().filter(|raw| !raw.source.is_kernel) {
            let words = &words[raw.source.name.as_str()];
            found.insert(callee(raw.source, words));
            found.needed.insert(raw.source.name.clone(), words.needed.clone());
        }
        found
    }
}

/// Returns the registers that each function and its callees change.
fn changed(raw: &[Raw<'_>]) -> BTreeMap<String, Vec<u32>> {
    let own = |raw: &Raw<'_>| {
        let written = raw.written.iter().copied().filter(|register| !convention::is_preserved(*register));
        (raw.source.name.clone(), written.collect::<BTreeSet<u32>>())
    };
    let mut changed: BTreeMap<String, BTreeSet<u32>> = raw.iter().map(own).collect();
    loop {
        let mut is_final = true;
        for raw in raw {
            let callees = raw.function.callees.iter();
            let all: BTreeSet<u32> = callees
                .flat_map(|callee| match changed.get(&callee.name) {
                    Some(registers) => registers.iter().copied().collect(),
                    None => convention::changed().collect::<Vec<u32>>(),
                })
                .collect();
            let own = changed.entry(raw.source.name.clone()).or_default();
            let count = own.len();
            own.extend(all);
            is_final &= own.len() == count;
        }
        if is_final {
            return changed.into_iter().map(|(name, all)| (name, all.into_iter().collect())).collect();
        }
    }
}

/// Returns the names of the device functions, callees before their callers, except in cycles.
fn order(raw: &[Raw<'_>]) -> Vec<String> {
    let by_name: BTreeMap<&str, &Raw<'_>> = raw.iter().map(|raw| (raw.source.name.as_str(), raw)).collect();
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    let mut list: Vec<(&str, bool)> = by_name.keys().rev().map(|name| (*name, false)).collect();
    while let Some((name, is_left)) = list.pop() {
        let Some(raw) = by_name.get(name).filter(|raw| !raw.source.is_kernel) else { continue };
        if is_left {
            order.push(name.to_owned());
        } else if seen.insert(name) {
            list.push((name, true));
            list.extend(raw.function.callees.iter().map(|callee| (callee.name.as_str(), false)));
        }
    }
    order
}

/// Returns the words that each function needs and returns.
fn words<'a>(raws: &[Raw<'a>]) -> BTreeMap<&'a str, Words> {
    let mut known: BTreeMap<&str, Words> = BTreeMap::new();
    for raw in raws {
        known.insert(&raw.source.name, Words::default());
    }
    let called: BTreeSet<&str> =
        raws.iter().flat_map(|raw| raw.function.callees.iter()).map(|callee| callee.name.as_str()).collect();
    for raw in raws.iter().filter(|raw| !called.contains(raw.source.name.as_str())) {
        let returned = returned(&raw.function);
        known.entry(&raw.source.name).or_default().returned = returned;
    }
    let pointed: Vec<&str> =
        raws.iter().filter(|raw| raw.source.is_pointed).map(|raw| raw.source.name.as_str()).collect();
    loop {
        let mut changed = false;
        for raw in raws.iter().chain(raws.iter().rev()) {
            let found = mark(&raw.function, &raw.source.name, &known, &pointed);
            for (name, needed, returned) in found {
                // What a call through a pointer needs, it needs of all functions.
                let is_any = name.is_empty();
                let of_name = |raw: &&Raw<'_>| raw.source.name == name || is_any && raw.source.is_pointed;
                for raw in raws.iter().filter(of_name) {
                    let Some(words) = known.get_mut(raw.source.name.as_str()) else { continue };
                    let count = words.needed.len() + words.returned.len();
                    words.needed.extend(&needed);
                    words.returned.extend(&returned);
                    changed |= words.needed.len() + words.returned.len() > count;
                }
            }
        }
        if !changed {
            return known;
        }
    }
}

/// Returns the words of its result that a function sets on all paths: the first, and the second if both are halves of
/// one value.
fn returned(function: &Function) -> BTreeSet<u32> {
    let effects = function.blocks.iter().flat_map(|block| &block.effects);
    let ends: Vec<ValueId> = effects.copied().filter(|effect| function.op(*effect) == Op::Return).collect();
    let is_set = |word: usize| {
        let value = |end: &ValueId| function.op(function.input(*end, word));
        let offset = 4 * word as u32;
        ends.iter().all(|end| value(end) != Op::Undefined && value(end) != Op::Parameter(offset))
    };
    let is_wide = |end: &ValueId| {
        let (low, high) = (function.input(*end, 0), function.input(*end, 1));
        let whole = function.input(low, 0);
        function.op(low) == Op::Low && function.op(high) == Op::High && whole == function.input(high, 0)
    };
    match !ends.is_empty() && is_set(0) {
        false => BTreeSet::new(),
        true if ends.iter().all(is_wide) => BTreeSet::from([0, 1]),
        true => BTreeSet::from([0]),
    }
}

/// Returns, by name, the words that a function needs of its own parameters and of the results of others.
fn mark(
    function: &Function,
    name: &str,
    known: &BTreeMap<&str, Words>,
    pointed: &[&str],
) -> Vec<(String, BTreeSet<u32>, BTreeSet<u32>)> {
    let needs = |callee: &Callee, index: usize| {
        let needs = |name: &str, word: usize| {
            known.get(name).is_some_and(|words| words.needed.contains(&(word as u32)))
        };
        match callee.is_pointer() {
            // The first input is the pointer.
            true => index == 0 || pointed.iter().any(|name| needs(name, index - 1)),
            false => needs(&callee.name, index),
        }
    };
    let returned = &known[name].returned;
    let passes = |id: ValueId, index: usize| match function.op(id) {
        Op::Invoke(callee) => needs(&function.callees[callee], index),
        Op::Return => returned.contains(&(index as u32)),
        _ => true,
    };
    let marked = demand::needed(function, &passes);
    let mut found: BTreeMap<&str, (BTreeSet<u32>, BTreeSet<u32>)> = BTreeMap::new();
    for id in function.values.keys().filter(|id| marked[*id] != 0) {
        match function.op(id) {
            Op::Parameter(offset) => {
                let words = &mut found.entry(name).or_default().0;
                words.insert(offset / 4);
                if function.width(id) > 32 {
                    words.insert(offset / 4 + 1);
                }
            }
            Op::Result(word) => {
                if let Op::Invoke(callee) = function.op(function.input(id, 0)) {
                    let callee = function.callees[callee].name.as_str();
                    found.entry(callee).or_default().1.insert(word.into());
                }
            }
            _ => {}
        }
    }
    found.into_iter().map(|(name, (needed, returned))| (name.to_owned(), needed, returned)).collect()
}

/// Returns a function with parameters of one word each, or with those that its mangled name states if they are all that it
/// reads.
fn callee(source: &Source<'_>, words: &Words) -> Callee {
    let are_all = |parameters: &[Parameter]| {
        let covers = |word: &u32| {
            let byte = 4 * word;
            parameters.iter().any(|known| (known.offset..known.offset + known.size).contains(&byte))
        };
        words.needed.iter().all(covers) && !parameters.is_empty()
    };
    let parameters = if are_all(&source.parameters) {
        source.parameters.clone()
    } else {
        let count = words.needed.last().map_or(0, |last| last + 1);
        let mut words: Vec<Parameter> = (0..count).map(Parameter::word).collect();
        if let Some(first) = words.first_mut().filter(|_| are_all(&source.method)) {
            first.name = Some(String::from(THIS));
        }
        words
    };
    let words = words.returned.last().map_or(0, |last| last + 1) as u8;
    Callee { name: source.name.clone(), parameters, words, result: None }
}
