//! Writes every module of all sets as bitcode.
//!
//! A module that `llvm-as` made must be written byte for byte. Other modules are printed with `llvm-dis` and assembled with
//! `llvm-as` first (the files are cached in `reassembled/` of the cache folder). And each module as it is, whatever wrote
//! it, is written, read and printed: the text must be the same.

use std::fs;
use std::panic;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::core::ErrorKind;
use unshade::llvm::Module;
use unshade::llvm::print::{self, Dialect, PrintOptions};
use unshade::llvm::types::Type;
use unshade::llvm::write::{self, Version, WriteInput, WriteOptions};

use super::server::{Servers, run_once};
use super::{Input, air, c_files, dxil, generated, llvm_tests, oracle};
use crate::{corpus, sh};

/// Maximum number of printed faults per set.
pub(super) const SHOWN_FAULTS: usize = 20;
/// Minimum share of files that are written byte for byte, in percent.
pub(super) const IDENTICAL: f64 = 95.0;

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let mut faults = Vec::new();
    let mut finish = |name: &str, counts: Counts, is_assembled: bool| {
        counts.print(name, is_assembled);
        faults.extend(counts.failed(name, is_assembled));
    };
    for version in [Version::Llvm14, Version::Llvm19] {
        let assemblers = Assemblers::find(version)?;
        let name = name_of(version);
        let tests = llvm_tests::assembled(name, sample)?;
        finish(&format!("tests of LLVM {name}, assembled"), assembled(&tests, version)?, true);
        let Some(assemblers) = assemblers else { continue };
        for level in c_files::LEVELS {
            let inputs = assemblers.reassembled(&c_files::modules(name, level, sample)?)?;
            finish(&format!("{} of clang {name}, assembled", level.set), assembled(&inputs, version)?, true);
        }
        let inputs = assemblers.reassembled(&air::modules(sample)?)?;
        finish(&format!("air, assembled by LLVM {name}"), assembled(&inputs, version)?, true);
    }
    finish("air", rewritten(&air::with_corpus(sample)?)?, false);
    match dxil::Containers::find(sample)? {
        Some(containers) => finish("dxil", rewritten(&containers.modules())?, false),
        None => println!("skipped: UNSHADE_CORPUS is not set, so there is no DXIL"),
    }
    finish("clang", rewritten(&generated::modules()?)?, false);
    finish("tests of LLVM", rewritten(&llvm_tests::bitcode(sample)?)?, false);
    ensure!(faults.is_empty(), "{}", faults.join("; "));
    Ok(())
}

pub(super) fn name_of(version: Version) -> &'static str {
    match version {
        Version::Llvm14 => "14",
        _ => "19",
    }
}

/// The disassembler and assembler of a version.
pub(super) struct Assemblers {
    version: &'static str,
    pub(super) disassembler: Servers,
    assembler: String,
}

impl Assemblers {
    pub(super) fn find(version: Version) -> Result<Option<Self>> {
        let version = name_of(version);
        let programs = ["llvm-dis", "llvm-as"].map(|program| format!("{program}-{version}"));
        if let Some(missing) = programs.iter().find(|program| oracle::version_of(program).is_none()) {
            println!("skipped: {missing} is not installed");
            return Ok(None);
        }
        let [disassembler, assembler] = programs;
        let disassembler = Servers::new(&[&disassembler, "-", "-o", "-"]);
        Ok(Some(Self { version, disassembler, assembler }))
    }

    /// Assembles a text. A forked `llvm-as` writes nothing, so that it is started for each text.
    pub(super) fn assemble(&self, text: &[u8]) -> Result<Output> {
        run_once(&[self.assembler.as_str(), "-", "-o", "-"], text)
    }

    /// Returns the modules as the assembler writes them, without those that one of the programs rejects.
    fn reassembled(&self, inputs: &[Input]) -> Result<Vec<Input>> {
        let folder = corpus::cache_dir(None)?.join("reassembled").join(self.version);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let of_input = |input: &Input| -> Result<Option<Input>> {
            let bytes = input.bytes()?;
            let path = folder.join(sh::sha256_hex(&bytes)).with_extension("bc");
            // An empty file marks a rejected module.
            if !path.exists() {
                let text = self.disassembler.run(&bytes)?;
                let module = match text.status.success() {
                    true => self.assemble(&text.stdout)?,
                    false => text,
                };
                fs::write(&path, if module.status.success() { module.stdout } else { Vec::new() })?;
            }
            let is_module = fs::metadata(&path)?.len() > 0;
            Ok(is_module.then(|| Input { name: input.name.clone(), place: super::Place::File(path) }))
        };
        let all: Vec<Option<Input>> = inputs.par_iter().map(of_input).collect::<Result<_>>()?;
        Ok(all.into_iter().flatten().collect())
    }
}

/// Writes modules that the assembler of a version wrote.
fn assembled(inputs: &[Input], version: Version) -> Result<Counts> {
    let of_input = |input: &Input| -> Result<Counts> {
        let bytes = input.bytes()?;
        Ok(Counts::of(&input.name, &bytes, &|_| version))
    };
    inputs.par_iter().map(of_input).try_reduce(Counts::default, |one, other| Ok(one.add(other)))
}

/// Writes modules, whatever wrote them.
fn rewritten(inputs: &[Input]) -> Result<Counts> {
    let version = |module: &Module<'_>| {
        let is_opaque = module.types.find(Type::OpaquePointer { address_space: 0 }).is_some();
        if is_opaque || module.producer.starts_with(b"LLVM19") { Version::Llvm19 } else { Version::Llvm14 }
    };
    let of_input = |input: &Input| Ok(Counts::of(&input.name, &input.bytes()?, &version));
    inputs.par_iter().map(of_input).try_reduce(Counts::default, |one, other| Ok(one.add(other)))
}

/// The counts for some modules.
#[derive(Default)]
struct Counts {
    files: u64,
    bytes: u64,
    /// Files that are read with findings, or not at all.
    damaged: u64,
    /// Files with what can't be written yet.
    unsupported: u64,
    /// Files that are written byte for byte.
    identical: u64,
    /// Files that are not, but that are printed as before after they were written.
    same_text: u64,
    different: Vec<String>,
    unsupported_parts: Vec<String>,
    faults: Vec<String>,
}

impl Counts {
    fn of(name: &str, bytes: &[u8], version: &dyn Fn(&Module<'_>) -> Version) -> Self {
        let mut counts = Self { files: 1, bytes: bytes.len() as u64, ..Self::default() };
        let Some((module, before)) = printed(bytes) else {
            counts.damaged = 1;
            return counts;
        };
        let options = WriteOptions { version: version(&module), ..WriteOptions::default() };
        let written = panic::catch_unwind(|| {
            let bodies = module.bodies()?;
            write::module(&WriteInput::new(&module, &bodies), &options)
        });
        match written {
            Ok(Ok(written)) if written == bytes => counts.identical = 1,
            Ok(Ok(written)) => {
                counts.different.push(name.to_owned());
                match printed(&written) {
                    Some((_, after)) if after == before => counts.same_text = 1,
                    Some(_) => counts.faults.push(format!("{name}: it has another text when it is written")),
                    None => counts.faults.push(format!("{name}: it is damaged when it is written")),
                }
            }
            Ok(Err(error)) if error.kind() == ErrorKind::Unsupported => {
                counts.unsupported = 1;
                counts.unsupported_parts.push(error.to_string());
            }
            Ok(Err(error)) => counts.faults.push(format!("{name}: {error}")),
            Err(_) => counts.faults.push(format!("{name}: panic")),
        }
        counts
    }

    fn add(mut self, other: Self) -> Self {
        let sums = [
            (&mut self.files, other.files),
            (&mut self.bytes, other.bytes),
            (&mut self.damaged, other.damaged),
            (&mut self.unsupported, other.unsupported),
            (&mut self.identical, other.identical),
            (&mut self.same_text, other.same_text),
        ];
        for (sum, addend) in sums {
            *sum += addend;
        }
        self.different.extend(other.different);
        self.unsupported_parts.extend(other.unsupported_parts);
        self.faults.extend(other.faults);
        self
    }

    /// The number of files that can be written.
    fn writable(&self) -> u64 {
        self.files - self.damaged - self.unsupported
    }

    fn print(&self, set: &str, is_assembled: bool) {
        let Self { files, damaged, unsupported, identical, same_text, .. } = self;
        println!("{set}: {files} files, {}", sh::megabytes(self.bytes));
        println!("  damaged: {damaged}; with what can't be written yet: {unsupported}");
        println!(
            "  byte for byte: {identical} of {}; others with the same text: {same_text}",
            self.writable()
        );
        let mut parts = self.unsupported_parts.clone();
        parts.sort();
        for group in parts.chunk_by(|one, other| one == other) {
            println!("  unsupported: {}: {}", group.len(), group[0]);
        }
        if is_assembled {
            self.different.iter().take(SHOWN_FAULTS).for_each(|name| println!("  different: {name}"));
        }
        self.faults.iter().take(SHOWN_FAULTS).for_each(|fault| println!("  fault: {fault}"));
    }

    /// Returns the criteria that are not met.
    fn failed(&self, set: &str, is_assembled: bool) -> Vec<String> {
        let mut failed = Vec::new();
        if !self.faults.is_empty() {
            failed.push(format!("{set}: {} faults", self.faults.len()));
        }
        let share = self.identical as f64 * 100.0 / self.writable().max(1) as f64;
        if is_assembled && self.writable() > 0 && share < IDENTICAL {
            failed.push(format!("{set}: only {share:.1} % byte for byte"));
        }
        failed
    }
}

/// Returns a module and its text; none if there are findings.
fn printed(bytes: &[u8]) -> Option<(Module<'_>, String)> {
    let module = Module::parse(bytes, 0).ok().filter(|module| module.diagnostics.is_empty())?;
    let mut text = String::new();
    let options = PrintOptions { dialect: Dialect::Llvm19, module_id: Some("module") };
    let is_typed = module.types.find(Type::OpaquePointer { address_space: 0 }).is_none();
    let options = if is_typed { PrintOptions { dialect: Dialect::Llvm14, ..options } } else { options };
    let findings = print::module(&module, &options, &mut text);
    findings.is_empty().then_some((module, text))
}
