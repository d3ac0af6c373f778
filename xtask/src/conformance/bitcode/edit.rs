//! Edits every module of all sets as a tree, and compares the results with those of LLVM.
//!
//! Debug information: what is left must be what `opt -strip-debug` of the same version leaves, as text; both sides lose
//! declarations that nothing uses, because `opt` of LLVM 14 keeps those of the intrinsics for debug information. A module
//! without debug information must stay as it is. Names: every symbol gets a new name. `llvm-nm` must print the names of
//! before with the new ones in their place, and the same for the module assembled anew from its text; renamed back, the module
//! must be that of before, to the byte. `verify` must find nothing new in any result.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::core::Reader;
use unshade::llvm::tree::Tree;
use unshade::llvm::{Module, verify};

use super::server::run_once;
use super::{Input, air, c_files, dxil, llvm_tests};
use crate::sh;

/// Maximum number of printed faults per set.
const SHOWN_FAULTS: usize = 10;

/// Modules whose text is another one than that of `opt`, and why.
const KNOWN: [(&str, &str); 3] = [
    (
        "DILocalVariable-explicit-tags",
        "named metadata refers to a subprogram, which has no unit without the compile unit",
    ),
    ("PR23310", "the order of upgraded intrinsics differs from run to run"),
    ("constexpr-to-instr-metadata", "metadata that opt has dropped still uses a variable"),
];

/// What new names begin with.
const PREFIX: &[u8] = b"renamed_";

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let mut faults = 0;
    let mut set = |name: &str, version: &str, inputs: &[Input]| -> Result<()> {
        let Some(tools) = Tools::find(version) else {
            println!("skipped: opt-{version}, llvm-as-{version} and llvm-nm-{version} are not installed");
            return Ok(());
        };
        let read = |input: &Input| -> Result<Counts> { Ok(Counts::of(&input.name, &input.bytes()?, &tools)) };
        let counts =
            inputs.par_iter().map(read).try_reduce(Counts::default, |one, other| Ok(one.add(other)))?;
        counts.print(&format!("{name}, LLVM {version}"));
        faults += counts.faults.len();
        Ok(())
    };
    set("air", "14", &air::with_corpus(sample)?)?;
    match dxil::Containers::find(sample)? {
        Some(containers) => set("dxil", "14", &containers.modules())?,
        None => println!("skipped: UNSHADE_CORPUS is not set, so there is no DXIL"),
    }
    for version in ["14", "19"] {
        for level in c_files::LEVELS {
            set(level.set, version, &c_files::modules(version, level, sample)?)?;
        }
        set("tests of LLVM, assembled", version, &llvm_tests::assembled(version, sample)?)?;
        set("tests of LLVM", version, &llvm_tests::bitcode(sample)?)?;
    }
    ensure!(faults == 0, "{faults} faults");
    Ok(())
}

/// LLVM's programs of a version.
struct Tools {
    opt: String,
    assembler: String,
    names: String,
    /// The option of `opt` that removes declarations that nothing uses.
    no_prototypes: &'static str,
}

impl Tools {
    fn find(version: &str) -> Option<Self> {
        let tool = |name: &str| format!("{name}-{version}");
        let no_prototypes =
            if version == "14" { "-strip-dead-prototypes" } else { "-passes=strip-dead-prototypes" };
        let tools =
            Self { opt: tool("opt"), assembler: tool("llvm-as"), names: tool("llvm-nm"), no_prototypes };
        let is_there =
            [&tools.opt, &tools.assembler, &tools.names].into_iter().all(|tool| sh::find(tool).is_some());
        is_there.then_some(tools)
    }

    /// Returns the text of a module after passes of `opt`, or its message.
    fn text(&self, module: &[u8], options: &[&str]) -> Result<Result<Vec<u8>, String>> {
        // `opt` refuses a target that it was not built with, such as AIR's.
        let always = [self.opt.as_str(), self.no_prototypes, "-mtriple=unknown", "-S"];
        let command = [&always, options, &["-", "-o", "-"]].concat();
        let output = run_once(&command, module)?;
        let message =
            || String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
        Ok(if output.status.success() { Ok(output.stdout.clone()) } else { Err(message()) })
    }

    /// Returns the lines of `llvm-nm`, sorted.
    fn symbols(&self, module: &[u8]) -> Result<Vec<String>> {
        let output = run_once(&[&self.names, "-"], module)?;
        let mut lines: Vec<String> =
            String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        lines.sort();
        Ok(lines)
    }

    /// Assembles the text of a module.
    fn assembled(&self, module: &[u8]) -> Result<Option<Vec<u8>>> {
        let disassembler = self.assembler.replace("llvm-as", "llvm-dis");
        let text = run_once(&[&disassembler, "-", "-o", "-"], module)?;
        let output = run_once(&[&self.assembler, "-", "-o", "-"], &text.stdout)?;
        Ok(output.status.success().then_some(output.stdout))
    }
}

/// The counts for some modules.
#[derive(Default)]
struct Counts {
    files: u64,
    /// Files that our reader finds faults in: they are not edited.
    unsound: u64,
    /// Files without debug information, which stay as they are.
    without_debug: u64,
    /// Files with debug information that are stripped.
    stripped: u64,
    /// Of these, those that `opt` reads, and those with its text.
    compared: u64,
    same_text: u64,
    /// Files with new names, those that come back to the byte, and those with the names of `llvm-nm`.
    renamed: u64,
    same_bytes: u64,
    same_symbols: u64,
    faults: Vec<String>,
}

/// Returns the number of findings by rule.
fn findings(bytes: &[u8]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    verify::bitcode(Reader::new(bytes))
        .iter()
        .for_each(|finding| *counts.entry(finding.rule).or_default() += 1);
    counts
}

fn has_new(before: &[u8], after: &[u8]) -> Option<&'static str> {
    let known = findings(before);
    let is_new = |(rule, count): &(&'static str, u64)| known.get(rule).is_none_or(|known| known < count);
    findings(after).into_iter().find(is_new).map(|(rule, _)| rule)
}

impl Counts {
    fn of(name: &str, bytes: &[u8], tools: &Tools) -> Self {
        let mut counts = Self { files: 1, ..Self::default() };
        let is_unsound = verify::bitcode(Reader::new(bytes)).has_errors();
        for edited in [counts.strip(name, bytes, tools), counts.rename(bytes, tools)] {
            match edited {
                Ok(()) => {}
                Err(_) if is_unsound => counts.unsound = 1,
                Err(error) => counts.faults.push(format!("{name}: {error:#}")),
            }
        }
        counts
    }

    fn strip(&mut self, name: &str, bytes: &[u8], tools: &Tools) -> Result<()> {
        let mut tree = Tree::read(bytes, 0)?;
        let stripped = tree.strip_debug_info().context("strip")?;
        let written = tree.write()?;
        if stripped.is_empty() {
            ensure!(written == bytes, "a module without debug information is written differently");
            self.without_debug = 1;
            return Ok(());
        }
        self.stripped = 1;
        if let Some(rule) = has_new(bytes, &written) {
            anyhow::bail!("stripped, it has new findings of {rule}");
        }
        let Ok(expected) = tools.text(bytes, &["-strip-debug"])? else { return Ok(()) };
        self.compared = 1;
        match tools.text(&written, &[])? {
            Ok(text) if text == expected => self.same_text = 1,
            _ if KNOWN.iter().any(|(known, _)| name.contains(known)) => {}
            Ok(text) => anyhow::bail!("stripped, it has another text: {}", difference(&expected, &text)),
            Err(message) => anyhow::bail!("stripped, it is refused: {message}"),
        }
        Ok(())
    }

    fn rename(&mut self, bytes: &[u8], tools: &Tools) -> Result<()> {
        let mut old = Vec::new();
        for module in Module::parse_all(bytes, 0)? {
            let module = module?;
            let globals = module.globals.iter().map(|global| &global.symbol);
            let functions = module.functions.iter().map(|function| &function.symbol);
            let aliases = module.aliases.iter().map(|alias| &alias.symbol);
            let names = globals.chain(functions).chain(aliases).map(|symbol| symbol.name.clone());
            old.extend(names.filter(|name| !name.is_empty() && !name.starts_with(b"llvm.")));
        }
        old.sort();
        old.dedup();
        // What begins with a 1 is not to be changed for object files; so is the new name.
        let new: Vec<Vec<u8>> = old
            .iter()
            .map(|name| match name.strip_prefix(&[1]) {
                Some(rest) => [&[1], PREFIX, rest].concat(),
                None => [PREFIX, name].concat(),
            })
            .collect();
        let pairs: Vec<(&[u8], &[u8])> =
            old.iter().zip(&new).map(|(old, new)| (&old[..], &new[..])).collect();
        let back: Vec<(&[u8], &[u8])> = pairs.iter().map(|(old, new)| (*new, *old)).collect();
        let mut tree = Tree::read(bytes, 0)?;
        let renamed = tree.rename_symbols(&pairs).context("rename")?;
        ensure!(renamed.symbols.iter().all(|count| *count > 0), "a symbol was not renamed");
        if pairs.is_empty() {
            return Ok(());
        }
        self.renamed = 1;
        let written = tree.write()?;
        if let Some(rule) = has_new(bytes, &written) {
            anyhow::bail!("renamed, it has new findings of {rule}");
        }
        let mut tree = Tree::read(&written, 0)?;
        tree.rename_symbols(&back).context("rename back")?;
        ensure!(tree.write()? == bytes, "renamed back, it is another file");
        self.same_bytes = 1;
        let (before, after) = (tools.symbols(bytes)?, tools.symbols(&written)?);
        let names: BTreeMap<String, String> =
            pairs.iter().map(|(old, new)| (shown(old), shown(new))).collect();
        let mut expected: Vec<String> = before.iter().map(|line| with_new_name(line, &names)).collect();
        expected.sort();
        ensure!(expected == after, "llvm-nm has other names: {expected:?} {after:?}");
        if let Some(assembled) = tools.assembled(&written)? {
            let assembled = tools.symbols(&assembled)?;
            ensure!(assembled == after, "assembled anew it has other symbols: {assembled:?} {after:?}");
        }
        self.same_symbols = 1;
        Ok(())
    }

    fn add(mut self, other: Self) -> Self {
        let sums = [
            (&mut self.files, other.files),
            (&mut self.unsound, other.unsound),
            (&mut self.without_debug, other.without_debug),
            (&mut self.stripped, other.stripped),
            (&mut self.compared, other.compared),
            (&mut self.same_text, other.same_text),
            (&mut self.renamed, other.renamed),
            (&mut self.same_bytes, other.same_bytes),
            (&mut self.same_symbols, other.same_symbols),
        ];
        for (sum, addend) in sums {
            *sum += addend;
        }
        self.faults.extend(other.faults);
        self
    }

    fn print(&self, set: &str) {
        let Self { files, unsound, without_debug, stripped, compared, same_text, .. } = self;
        let Self { renamed, same_bytes, same_symbols, .. } = self;
        println!("{set}: {files} files, {unsound} damaged");
        println!("  debug information: {without_debug} have none and stay, {stripped} are stripped");
        println!("  text as of opt -strip-debug: {same_text} of {compared} that opt reads");
        println!(
            "  renamed: {renamed}, and back to the byte {same_bytes}, names as of llvm-nm {same_symbols}"
        );
        self.faults.iter().take(SHOWN_FAULTS).for_each(|fault| println!("  fault: {}", short(fault)));
    }
}

/// Returns a name as `llvm-nm` prints it, without the prefix of Mach-O.
fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name.strip_prefix(&[1]).unwrap_or(name)).into_owned()
}

/// What object files put before names: of Mach-O, and before private names.
const PREFIXES: [&str; 5] = ["", "_", ".L", "L_", "L"];

/// Replaces the name at the end of a line of `llvm-nm`.
fn with_new_name(line: &str, names: &BTreeMap<String, String>) -> String {
    // An address of 8 or 16 digits, a space, a letter and a space come before it.
    let is_short =
        line.as_bytes().get(9).is_some_and(u8::is_ascii_alphabetic) && line.get(10..11) == Some(" ");
    let Some((head, name)) = line.split_at_checked(if is_short { 11 } else { 19 }) else {
        return line.to_owned();
    };
    for prefix in PREFIXES {
        if let Some(new) = name.strip_prefix(prefix).and_then(|name| names.get(name)) {
            return format!("{head}{prefix}{new}");
        }
    }
    line.to_owned()
}

/// Returns the first lines that differ.
fn difference(expected: &[u8], text: &[u8]) -> String {
    let (expected, text) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(text));
    let mut lines = expected.lines().zip(text.lines());
    let found = lines.find(|(expected, line)| expected != line);
    found.map_or("one is longer".to_owned(), |(expected, line)| format!("{expected:?} {line:?}"))
}

fn short(text: &str) -> String {
    text.chars().take(400).collect()
}
