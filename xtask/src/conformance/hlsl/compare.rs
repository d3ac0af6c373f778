//! How far a recompiled program is the original, on a ladder of rungs.
//!
//! | rung | DXIL | DXBC | Direct3D 9 |
//! |---|---|---|---|
//! | signatures | bytes of ISG1, OSG1, PSG1; elements of a library's entry points | bytes of ISGN and so on | `dcl` instructions |
//! | layout | see [`super::layout`] | | |
//! | multiset | the same operations | | |
//! | order | the same operations in the same order | | |
//! | same | see [`super::canonical`] | bytes of the token program | tokens without comments |
//!
//! Of PSV0 whether it is the same is counted beside: it repeats signatures and bindings, in the order of the declarations.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use unshade::core::Diagnostics;
use unshade::dxbc::d3d9;
use unshade::dxbc::opcode::Class;
use unshade::dxcontainer::dxil::DxilModule;
use unshade::dxcontainer::{Container, program};
use unshade::llvm::Module;

use super::canonical::{self, Function, plain_name};
use super::input::Encoding;
use super::layout;

/// The rungs above "compiles".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    Signatures,
    Layout,
    Multiset,
    Order,
    Same,
}

impl Rung {
    pub(super) const ALL: [Self; 5] =
        [Self::Signatures, Self::Layout, Self::Multiset, Self::Order, Self::Same];

    pub(super) fn name(self) -> &'static str {
        ["signatures", "layout", "multiset", "order", "same"][self as usize]
    }
}

/// The result of a comparison.
#[derive(Clone, Default)]
pub(super) struct Comparison {
    /// The first difference, by rung.
    pub(super) differences: [Option<String>; 5],
    /// Whether PSV0 differs; `None` if the original has none.
    pub(super) psv0_same: Option<bool>,
    /// Instructions of the original and of the recompiled program.
    pub(super) instructions: [usize; 2],
}

impl Comparison {
    /// Returns how many rungs are reached.
    pub(super) fn reached(&self) -> usize {
        self.differences.iter().filter(|difference| difference.is_none()).count()
    }

    fn set(&mut self, rung: Rung, difference: Option<String>) {
        self.differences[rung as usize] = difference;
    }
}

/// Compares two shaders.
pub(super) fn compare(encoding: Encoding, original: &[u8], recompiled: &[u8]) -> Result<Comparison> {
    let mut comparison = Comparison::default();
    let lines = [layout::lines(encoding, original)?, layout::lines(encoding, recompiled)?];
    comparison.set(Rung::Layout, sets_differ(&lines));
    match encoding {
        Encoding::Dxil => dxil(original, recompiled, &mut comparison)?,
        Encoding::Dxbc => dxbc(original, recompiled, &mut comparison)?,
        Encoding::Direct3d9 => direct3d9(original, recompiled, &mut comparison)?,
    }
    Ok(comparison)
}

/// Returns what the second set lacks, or has in addition.
fn sets_differ(lines: &[BTreeSet<String>; 2]) -> Option<String> {
    let [original, recompiled] = lines;
    let missing = original.difference(recompiled).next();
    let added = recompiled.difference(original).next();
    match (missing, added) {
        (Some(missing), Some(added)) => Some(format!("{missing} became {added}")),
        (Some(missing), None) => Some(format!("{missing} is missing")),
        (None, Some(added)) => Some(format!("{added} is new")),
        (None, None) => None,
    }
}

/// Compares the operations of two programs.
fn operations(original: &[String], recompiled: &[String], comparison: &mut Comparison) {
    comparison.instructions = [original.len(), recompiled.len()];
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    original.iter().for_each(|name| *counts.entry(name).or_default() -= 1);
    recompiled.iter().for_each(|name| *counts.entry(name).or_default() += 1);
    let changed: Vec<String> = counts
        .iter()
        .filter(|(_, count)| **count != 0)
        .take(4)
        .map(|(name, count)| format!("{count:+} {name}"))
        .collect();
    comparison.set(Rung::Multiset, (!changed.is_empty()).then(|| changed.join(", ")));
    comparison.set(Rung::Order, first_difference(original, recompiled));
}

fn first_difference(original: &[String], recompiled: &[String]) -> Option<String> {
    let pairs = original.iter().zip(recompiled);
    match pairs.clone().find(|(one, other)| one != other) {
        Some((one, other)) => Some(format!("{one} became {other}")),
        None => (original.len() != recompiled.len())
            .then(|| format!("{} lines became {}", original.len(), recompiled.len())),
    }
}

fn part<'a>(container: &Container<'a>, names: &[&[u8; 4]]) -> Option<&'a [u8]> {
    names.iter().find_map(|name| container.find(name)).map(|part| part.data.data())
}

/// Compares parts that have one of several names.
fn parts_differ(containers: &[Container<'_>; 2], kinds: &[&[&[u8; 4]]]) -> Option<String> {
    kinds.iter().find_map(|names| {
        let [original, recompiled] = containers.each_ref().map(|container| part(container, names));
        (original != recompiled).then(|| format!("{} differs", String::from_utf8_lossy(names[0])))
    })
}

fn dxil(original: &[u8], recompiled: &[u8], comparison: &mut Comparison) -> Result<()> {
    let containers = [Container::parse(original)?, Container::parse(recompiled)?];
    let [psv0, other] = containers.each_ref().map(|container| part(container, &[b"PSV0"]));
    comparison.psv0_same = psv0.map(|psv0| Some(psv0) == other);
    let mut bitcodes = Vec::new();
    for container in &containers {
        let program = container.find(b"DXIL").context("no DXIL")?;
        bitcodes.push(program::bitcode(program.data)?.1.data());
    }
    let modules = [Module::parse(bitcodes[0], 0)?, Module::parse(bitcodes[1], 0)?];
    let parts = parts_differ(&containers, &[&[b"ISG1"], &[b"OSG1"], &[b"PSG1"]]);
    let elements = || sets_differ(&modules.each_ref().map(elements));
    comparison.set(Rung::Signatures, parts.or_else(elements));
    let functions = [canonical::functions(&modules[0])?, canonical::functions(&modules[1])?];
    let [names, other_names] =
        functions.each_ref().map(|all| all.iter().map(|one| one.name.clone()).collect::<Vec<_>>());
    let all = |functions: &[Function], of: fn(&Function) -> &[String]| -> Vec<String> {
        functions.iter().flat_map(of).cloned().collect()
    };
    let [one, other] = functions.each_ref().map(|functions| all(functions, |function| &function.operations));
    operations(&one, &other, comparison);
    let [one, other] = functions.each_ref().map(|functions| all(functions, |function| &function.lines));
    // The only function of a shader may have any name: PSV0 and the layout have that of the entry point.
    let renamed = (names.len() > 1).then(|| first_difference(&names, &other_names)).flatten();
    comparison.set(Rung::Same, renamed.or_else(|| first_difference(&one, &other)));
    Ok(())
}

/// Returns the elements of the signatures of all entry points.
fn elements(module: &Module<'_>) -> BTreeSet<String> {
    let read = DxilModule::read(module, 0);
    let mut lines = BTreeSet::new();
    for entry in &read.entries {
        let name = plain_name(&entry.name.to_string());
        for (signature, elements) in ["in", "out", "patch"].iter().zip(&entry.signatures) {
            lines.extend(elements.iter().map(|element| format!("{name} {signature} {element:?}")));
        }
    }
    lines
}

fn dxbc(original: &[u8], recompiled: &[u8], comparison: &mut Comparison) -> Result<()> {
    let containers = [Container::parse(original)?, Container::parse(recompiled)?];
    let kinds: [&[&[u8; 4]]; 3] = [&[b"ISGN", b"ISG1"], &[b"OSGN", b"OSG5", b"OSG1"], &[b"PCSG", b"PSG1"]];
    comparison.set(Rung::Signatures, parts_differ(&containers, &kinds));
    let programs = containers.each_ref().map(|container| part(container, &[b"SHEX", b"SHDR"]));
    let mut names = Vec::new();
    for container in &containers {
        let tokens = container.find(b"SHEX").or_else(|| container.find(b"SHDR")).context("no program")?;
        let program = unshade::dxbc::decode(tokens.data, &mut Diagnostics::default())?;
        names.push(token_names(&program));
    }
    operations(&names[0], &names[1], comparison);
    let same = programs[0] == programs[1];
    comparison.set(Rung::Same, (!same).then(|| tokens_differ(&containers)));
    Ok(())
}

/// Returns the mnemonics of the instructions of a program.
fn token_names(program: &unshade::dxbc::Program) -> Vec<String> {
    let rows = program.instructions.iter().map(|instruction| instruction.opcode().row());
    rows.filter(|row| row.is_none_or(|row| row.class != Class::Declaration))
        .map(|row| row.map_or("unknown", |row| row.mnemonic).to_owned())
        .collect()
}

/// Returns the first difference of the texts of two token programs.
fn tokens_differ(containers: &[Container<'_>; 2]) -> String {
    let texts = containers.each_ref().map(|container| {
        let part = container.find(b"SHEX").or_else(|| container.find(b"SHDR"));
        let program =
            part.and_then(|part| unshade::dxbc::decode(part.data, &mut Diagnostics::default()).ok());
        let mut text = String::new();
        if let Some(program) = program {
            unshade::dxbc::print::print(&program, unshade::dxbc::print::Options::default(), &mut text);
        }
        text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    });
    first_difference(&texts[0], &texts[1]).unwrap_or_else(|| "tokens differ".into())
}

fn direct3d9(original: &[u8], recompiled: &[u8], comparison: &mut Comparison) -> Result<()> {
    let mut programs = [d3d9::Program::parse(original)?, d3d9::Program::parse(recompiled)?];
    for program in &mut programs {
        program.instructions.retain(|instruction| instruction.opcode() != d3d9::opcode::Opcode::COMMENT);
    }
    let declarations = programs.each_ref().map(|program| {
        let declared =
            program.instructions.iter().filter(|one| one.opcode() == d3d9::opcode::Opcode::DECLARE);
        declared.map(|one| format!("dcl {:x?} {:x?}", one.values, one.operands)).collect::<BTreeSet<_>>()
    });
    comparison.set(Rung::Signatures, sets_differ(&declarations));
    let names = programs.each_ref().map(direct3d9_names);
    operations(&names[0], &names[1], comparison);
    let texts = programs.each_ref().map(|program| {
        let mut text = String::new();
        d3d9::print::print(program, d3d9::print::Options::default(), &mut text);
        text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    });
    let same = programs[0].write()? == programs[1].write()?;
    let difference = || first_difference(&texts[0], &texts[1]).unwrap_or_else(|| "tokens differ".into());
    comparison.set(Rung::Same, (!same).then(difference));
    Ok(())
}

/// Returns the mnemonics of the instructions of a program, without declarations and definitions.
fn direct3d9_names(program: &d3d9::Program) -> Vec<String> {
    let rows = program.instructions.iter().map(|instruction| instruction.opcode().row(program.version));
    let names = rows.map(|row| row.map_or("unknown", |row| row.mnemonic));
    names.filter(|name| !name.starts_with("dcl") && !name.starts_with("def")).map(str::to_owned).collect()
}
