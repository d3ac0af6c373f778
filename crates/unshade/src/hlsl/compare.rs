//! Compares a recompiled shader with the original.
//!
//! | aspect | DXIL | DXBC | Direct3D 9 |
//! |---|---|---|---|
//! | signatures | bytes of ISG1, OSG1, PSG1; elements of a library's entry points | bytes of ISGN and so on | `dcl` instructions |
//! | bindings, constant buffers, stage | STAT and metadata | RDEF and `dcl_` instructions | constant table |
//! | operations | the same operations | | |
//! | order | the same operations in the same order | | |
//! | code | the functions, see below | bytes of the token program | tokens without comments |
//!
//! Functions of DXIL are compared without names, debug information and metadata: values and blocks are numbered as they appear,
//! operands of commutative operations are sorted, and so are handles and inputs, which DXC places at the start of the function
//! in the order of their declaration. A missing `fast` counts.
//!
//! Of PSV0 whether it is the same is counted beside: it repeats signatures and bindings, in the order of the declarations.

use std::collections::{BTreeMap, BTreeSet};

use super::canonical::{self, plain_name};
use super::layout::{self, Layout};
use super::target::{Encoding, token_part};
use unshade_core::{Diagnostics, Error, ErrorKind, Result};
use unshade_dxbc::d3d9;
use unshade_dxbc::opcode::Class;
use unshade_dxcontainer::dxil::{DxilModule, SignatureElement};
use unshade_dxcontainer::{Container, program};
use unshade_llvm::Module;

/// The number of differences of an aspect that are kept.
const KEPT: usize = 100;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// Inputs and outputs.
    Signatures,
    /// Registers, spaces and kinds of resources.
    Bindings,
    /// Members of constant buffers.
    ConstantBuffers,
    /// Properties of the entry points, such as the thread group.
    Stage,
    /// The operations, in any order.
    Operations,
    /// The operations in their order.
    Order,
    /// The whole code.
    Code,
}

impl Aspect {
    /// All aspects.
    pub const ALL: [Self; 7] = [
        Self::Signatures,
        Self::Bindings,
        Self::ConstantBuffers,
        Self::Stage,
        Self::Operations,
        Self::Order,
        Self::Code,
    ];
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The differences, by aspect.
    differences: [Vec<String>; Aspect::ALL.len()],
    /// Whether PSV0 is the same; `None` if the original has none.
    pub psv0_same: Option<bool>,
    /// Whether both have reflection data. Without them, members of constant buffers are not known.
    pub has_reflection: bool,
    /// Instructions of the original and of the recompiled program.
    pub instructions: [usize; 2],
}

impl Comparison {
    /// Returns how the programs differ in an aspect: a line for each difference, the first 100.
    #[must_use]
    pub fn differences(&self, aspect: Aspect) -> &[String] {
        &self.differences[aspect as usize]
    }

    /// Returns whether the programs are the same in all aspects.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.differences.iter().all(Vec::is_empty)
    }

    fn add(&mut self, aspect: Aspect, differences: impl IntoIterator<Item = String>) {
        let known = &mut self.differences[aspect as usize];
        let room = KEPT.saturating_sub(known.len());
        known.extend(differences.into_iter().take(room));
    }
}

/// Compares two shaders of an encoding.
///
/// ```
/// use unshade::directx::shader::Shader;
/// use unshade::directx::target::{Stage, Target};
/// use unshade::hlsl::compare::{Aspect, compare};
/// use unshade::hlsl::target::Encoding;
///
/// let shader = |threads| {
///     let mut shader = Shader::new(Target::model(0), Stage::compute(threads), "main")?;
///     let mut body = shader.body()?;
///     body.ret_void()?;
///     body.finish()?;
///     shader.container()
/// };
/// let comparison = compare(Encoding::Dxil, &shader([64, 1, 1])?, &shader([32, 1, 1])?)?;
/// assert!(comparison.differences(Aspect::Code).is_empty());
/// assert_eq!(comparison.differences(Aspect::Stage).len(), 1);
/// # Ok::<(), unshade_core::Error>(())
/// ```
///
/// # Errors
/// If one of them can't be read.
pub fn compare(encoding: Encoding, original: &[u8], recompiled: &[u8]) -> Result<Comparison> {
    let has_reflection =
        layout::has_reflection(encoding, original)? && layout::has_reflection(encoding, recompiled)?;
    let mut comparison = Comparison { has_reflection, ..Comparison::default() };
    let layouts = [
        Layout::new(encoding, original, has_reflection)?,
        Layout::new(encoding, recompiled, has_reflection)?,
    ];
    comparison.add(Aspect::Bindings, sets_differ(layouts.each_ref().map(|layout| &layout.bindings)));
    comparison.add(Aspect::ConstantBuffers, sets_differ(layouts.each_ref().map(|layout| &layout.buffers)));
    comparison.add(Aspect::Stage, sets_differ(layouts.each_ref().map(|layout| &layout.stage)));
    match encoding {
        Encoding::Dxil => dxil(original, recompiled, &mut comparison)?,
        Encoding::Dxbc => dxbc(original, recompiled, &mut comparison)?,
        Encoding::Direct3d9 => direct3d9(original, recompiled, &mut comparison)?,
    }
    Ok(comparison)
}

/// Returns the error of a container without a program.
pub(super) fn no_program() -> Error {
    Error::without_offset(ErrorKind::BadValue, "there is no program of the same kind in it")
}

/// Returns what the second set lacks, and what it has in addition. Lines are pairs of a key and a description.
fn sets_differ([original, recompiled]: [&BTreeSet<String>; 2]) -> Vec<String> {
    let key = |line: &String| line.split(": ").next().unwrap_or_default().to_owned();
    let mut changed: BTreeMap<String, [Vec<&String>; 2]> = BTreeMap::new();
    for line in original.difference(recompiled) {
        changed.entry(key(line)).or_default()[0].push(line);
    }
    for line in recompiled.difference(original) {
        changed.entry(key(line)).or_default()[1].push(line);
    }
    let mut differences = Vec::new();
    for (key, [missing, added]) in changed {
        let mut added = added.into_iter();
        for line in missing {
            differences.push(match added.next() {
                Some(other) => changed_fields(line, other, &key),
                None => format!("{line} is missing"),
            });
        }
        differences.extend(added.map(|line| format!("{line} is new")));
    }
    differences
}

/// Returns the fields that differ of two lines with the same key.
fn changed_fields(line: &str, other: &str, key: &str) -> String {
    let fields = |line: &str| -> Vec<String> {
        let description = line.strip_prefix(key).unwrap_or(line).trim_start_matches(": ");
        description.split(", ").map(str::to_owned).collect()
    };
    let (mut before, mut after) = (fields(line), fields(other));
    if before.len() == after.len() {
        let is_changed: Vec<bool> = before.iter().zip(&after).map(|(one, other)| one != other).collect();
        for fields in [&mut before, &mut after] {
            let mut changed = is_changed.iter();
            fields.retain(|_| changed.next() == Some(&true));
        }
    }
    format!("{key}: {} became {}", before.join(", "), after.join(", "))
}

/// Compares the operations of two programs.
fn operations(original: &[String], recompiled: &[String], comparison: &mut Comparison) {
    comparison.instructions = [original.len(), recompiled.len()];
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    original.iter().for_each(|name| *counts.entry(name).or_default() -= 1);
    recompiled.iter().for_each(|name| *counts.entry(name).or_default() += 1);
    let changed = counts.iter().filter(|(_, count)| **count != 0);
    comparison.add(Aspect::Operations, changed.map(|(name, count)| format!("{count:+} {name}")));
    comparison.add(Aspect::Order, first_difference(original, recompiled));
}

fn first_difference<T: AsRef<str>>(original: &[T], recompiled: &[T]) -> Option<String> {
    let pairs = original.iter().zip(recompiled).map(|(one, other)| (one.as_ref(), other.as_ref()));
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
fn parts_differ(containers: &[Container<'_>; 2], kinds: &[&[&[u8; 4]]]) -> Vec<String> {
    let differs = |names: &&&[&[u8; 4]]| {
        let [original, recompiled] = containers.each_ref().map(|container| part(container, names));
        original != recompiled
    };
    let name =
        |names: &&[&[u8; 4]]| names.first().map(|name| format!("{} differs", String::from_utf8_lossy(*name)));
    kinds.iter().filter(differs).filter_map(name).collect()
}

fn dxil(original: &[u8], recompiled: &[u8], comparison: &mut Comparison) -> Result<()> {
    let containers = [Container::parse(original)?, Container::parse(recompiled)?];
    let [psv0, other] = containers.each_ref().map(|container| part(container, &[b"PSV0"]));
    comparison.psv0_same = psv0.map(|psv0| Some(psv0) == other);
    let modules = [Module::parse(bitcode(&containers[0])?, 0)?, Module::parse(bitcode(&containers[1])?, 0)?];
    comparison.add(Aspect::Signatures, parts_differ(&containers, &[&[b"ISG1"], &[b"OSG1"], &[b"PSG1"]]));
    let elements = modules.each_ref().map(elements);
    comparison.add(Aspect::Signatures, sets_differ(elements.each_ref()));
    let functions = [canonical::functions(&modules[0])?, canonical::functions(&modules[1])?];
    let [one, other] = functions.each_ref().map(|functions| {
        functions.iter().flat_map(|function| function.operations.iter().cloned()).collect::<Vec<_>>()
    });
    operations(&one, &other, comparison);
    let [names, other_names] = functions
        .each_ref()
        .map(|functions| functions.iter().map(|one| one.name.as_str()).collect::<Vec<_>>());
    // The only function of a shader may have any name: PSV0 and the layout have that of the entry point.
    let renamed = (names.len() > 1).then(|| first_difference(&names, &other_names)).flatten();
    let [one, other] = functions.each_ref().map(|functions| {
        functions.iter().flat_map(|function| function.lines.iter().cloned()).collect::<Vec<_>>()
    });
    comparison.add(Aspect::Code, renamed.or_else(|| first_difference(&one, &other)));
    Ok(())
}

/// Returns the elements of the signatures of all entry points.
fn elements(module: &Module<'_>) -> BTreeSet<String> {
    let read = DxilModule::read(module, 0);
    let mut lines = BTreeSet::new();
    for entry in &read.entries {
        let name = plain_name(&entry.name.to_string());
        for (signature, elements) in ["in", "out", "patch"].iter().zip(&entry.signatures) {
            lines.extend(elements.iter().map(|one| format!("{name} {signature} {}", element(one))));
        }
    }
    lines
}

fn bitcode<'a>(container: &Container<'a>) -> Result<&'a [u8]> {
    let part = container.find(b"DXIL").ok_or_else(no_program)?;
    Ok(program::bitcode(part.data)?.1.data())
}

/// Describes an element of a signature.
fn element(element: &SignatureElement) -> String {
    let SignatureElement { id, name, component_type, kind, indices, interpolation, .. } = element;
    let SignatureElement { rows, columns, start_row, start_column, .. } = element;
    let SignatureElement { stream, dynamic_mask, used_mask, .. } = element;
    format!(
        "{id} {name}{indices:?}: kind {kind}, type {component_type}, interpolation {interpolation}, {rows}x{columns} at {start_row:?} {start_column:?}, \
         stream {stream}, dynamic {dynamic_mask:#x}, used {used_mask:#x}"
    )
}

fn dxbc(original: &[u8], recompiled: &[u8], comparison: &mut Comparison) -> Result<()> {
    let containers = [Container::parse(original)?, Container::parse(recompiled)?];
    let kinds: [&[&[u8; 4]]; 3] = [&[b"ISGN", b"ISG1"], &[b"OSGN", b"OSG5", b"OSG1"], &[b"PCSG", b"PSG1"]];
    comparison.add(Aspect::Signatures, parts_differ(&containers, &kinds));
    let read = |container| {
        let tokens = token_part(container).ok_or_else(no_program)?;
        Ok::<_, Error>((tokens.data.data(), unshade_dxbc::decode(tokens.data, &mut Diagnostics::default())?))
    };
    let [(tokens, one), (other_tokens, other)] = [read(&containers[0])?, read(&containers[1])?];
    operations(&token_names(&one), &token_names(&other), comparison);
    let texts = || {
        [one, other].map(|program| {
            lines(|text| unshade_dxbc::print::print(&program, unshade_dxbc::print::Options::default(), text))
        })
    };
    comparison.add(Aspect::Code, (tokens != other_tokens).then(|| texts_differ(texts())));
    Ok(())
}

/// Returns the mnemonics of the instructions of a program.
fn token_names(program: &unshade_dxbc::Program) -> Vec<String> {
    let rows = program.instructions.iter().map(|instruction| instruction.opcode().row());
    rows.filter(|row| row.is_none_or(|row| row.class != Class::Declaration))
        .map(|row| row.map_or("unknown", |row| row.mnemonic).to_owned())
        .collect()
}

/// Returns the lines of a listing.
fn lines(print: impl FnOnce(&mut String)) -> Vec<String> {
    let mut text = String::new();
    print(&mut text);
    text.lines().map(|line| line.trim().to_owned()).collect()
}

/// Returns the first difference of the listings of programs that differ.
fn texts_differ([original, recompiled]: [Vec<String>; 2]) -> String {
    first_difference(&original, &recompiled).unwrap_or_else(|| "tokens differ".into())
}

fn direct3d9(original: &[u8], recompiled: &[u8], comparison: &mut Comparison) -> Result<()> {
    let mut programs = [d3d9::Program::parse(original)?, d3d9::Program::parse(recompiled)?];
    for program in &mut programs {
        program.instructions.retain(|instruction| instruction.opcode() != d3d9::opcode::Opcode::COMMENT);
    }
    let declarations = programs.each_ref().map(|program| {
        let declared =
            program.instructions.iter().filter(|one| one.opcode() == d3d9::opcode::Opcode::DECLARE);
        declared.map(|one| format!("dcl {:x?}: {:x?}", one.operands, one.values)).collect::<BTreeSet<_>>()
    });
    comparison.add(Aspect::Signatures, sets_differ(declarations.each_ref()));
    let names = programs.each_ref().map(direct3d9_names);
    operations(&names[0], &names[1], comparison);
    let texts = || {
        programs
            .each_ref()
            .map(|program| lines(|text| d3d9::print::print(program, d3d9::print::Options::default(), text)))
    };
    let same = programs[0].write()? == programs[1].write()?;
    comparison.add(Aspect::Code, (!same).then(|| texts_differ(texts())));
    Ok(())
}

/// Returns the mnemonics of the instructions of a program, without declarations and definitions.
fn direct3d9_names(program: &d3d9::Program) -> Vec<String> {
    let rows = program.instructions.iter().map(|instruction| instruction.opcode().row(program.version));
    let names = rows.map(|row| row.map_or("unknown", |row| row.mnemonic));
    names.filter(|name| !name.starts_with("dcl") && !name.starts_with("def")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(original: &[&str], recompiled: &[&str]) -> Vec<String> {
        let set = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<BTreeSet<_>>();
        sets_differ([&set(original), &set(recompiled)])
    }

    #[test]
    fn only_fields_that_differ_are_reported() {
        let lines = ["b0: 16 bytes, type 0, used", "t0: Buffer"];
        assert!(differ(&lines, &lines).is_empty());
        assert_eq!(
            differ(&lines, &["b0: 32 bytes, type 0, unused", "t1: Buffer"]),
            ["b0: 16 bytes, used became 32 bytes, unused", "t0: Buffer is missing", "t1: Buffer is new"]
        );
        assert_eq!(differ(&lines[..1], &["b0: 16 bytes"]), ["b0: 16 bytes, type 0, used became 16 bytes"]);
    }

    #[test]
    fn operations_are_counted() {
        let mut comparison = Comparison::default();
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        operations(&names(&["mul", "add", "ret"]), &names(&["add", "mad", "ret"]), &mut comparison);
        assert_eq!(comparison.differences(Aspect::Operations), ["+1 mad", "-1 mul"]);
        assert_eq!(comparison.differences(Aspect::Order), ["mul became add"]);
        assert_eq!(comparison.instructions, [3, 3]);
        assert!(!comparison.is_same());
    }

    #[test]
    fn programs_of_another_kind_are_errors() {
        for data in [&b""[..], b"DXBC", &[0; 64]] {
            for encoding in [Encoding::Dxil, Encoding::Dxbc, Encoding::Direct3d9] {
                assert!(compare(encoding, data, data).is_err());
            }
        }
    }
}
