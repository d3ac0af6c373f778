//! The seeds for fuzzing: our own fixtures, and the small files of the corpus in `UNSHADE_CORPUS`.
//!
//! Every target gets all of them: libFuzzer keeps those that reach something new and drops the others. Targets for
//! parts of a library or a container also get these parts of each file, which they could hardly discover from whole
//! files. A seed is named by its hash, so copying again changes nothing.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use unshade::core::{Diagnostics, Reader};
use unshade::dxcontainer::Container;
use unshade::llvm::print::{self, PrintOptions};
use unshade::metallib::{Library, Module};
use unshade::nv::Cubin;
use unshade::sass::listing::Function;
use unshade::sass::table::Isa;
use unshade::sass_code::Code;
use unshade::sass_listing::instruction_set;

use crate::sh;

/// Maximum size of an input, unless the target has its own, and of a seed file.
const MAX_LEN: u64 = 64 * 1024;

/// Extracts the parts of a file for a target.
type Parts = fn(&[u8]) -> Vec<Vec<u8>>;

/// A target for parts of files.
struct Target {
    name: &'static str,
    parts: Parts,
    /// Whether it gets whole files, too.
    whole: bool,
    /// The maximum length of its inputs.
    max_len: u64,
}

const fn target(name: &'static str, parts: Parts, whole: bool) -> Target {
    Target { name, parts, whole, max_len: MAX_LEN }
}

impl Target {
    /// Shortens its inputs: what it tests is within a few of the parts, and more only take longer.
    const fn of_length(self, max_len: u64) -> Self {
        Self { max_len, ..self }
    }
}

/// Returns the maximum length of a target's inputs.
pub(crate) fn max_len(target: &str) -> u64 {
    TARGETS.iter().find(|row| row.name == target).map_or(MAX_LEN, |row| row.max_len)
}

const TARGETS: [Target; 17] = [
    target("reflection", |file| of_library(file, reflections), true),
    target("sources", |file| of_library(file, sources), true),
    target("link", |file| of_library(file, bitcode), true),
    target("bitcode", |file| of_library(file, bitcode), true),
    target("bitcode_tree", |file| of_library(file, bitcode), true),
    target("llvm_text", |file| of_library(file, assembly), false).of_length(8192),
    target("bitcode_write", |file| of_library(file, bitcode), true),
    target("bitcode_file", |file| of_library(file, bitcode), true),
    target("psv0", |file| of_container(file, b"PSV0"), false),
    target("rdat", |file| of_container(file, b"RDAT"), false),
    target("dxbc_tokens", token_programs, false),
    target("d3d9_tokens", |file| of_container(file, b"Aon9"), true),
    target("dx_debug", debug_parts, false),
    target("rdef", |file| of_container(file, b"RDEF"), false),
    target("root_signature", |file| of_container(file, b"RTS0"), false),
    target("sass", |file| of_cubin(file, 4, machine_words), false).of_length(1 + 8 * 16),
    target("sass_text", |file| of_cubin(file, 2, listing), false).of_length(512),
];

/// Copies the seeds for the target, of at most [`MAX_LEN`] bytes each, to the folder `corpus`. Returns their number.
pub(crate) fn copy(target: &str, corpus: &Path) -> Result<usize> {
    fs::create_dir_all(corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    let row = TARGETS.iter().find(|row| row.name == target);
    let (parts, whole) = (row.map(|row| row.parts), row.is_none_or(|row| row.whole));
    let mut seeds = Seeds { corpus, parts, whole, count: 0 };
    let fixtures = sh::root().join("tests/fixtures");
    if fixtures.is_dir() {
        seeds.add_folder(&fixtures)?;
    }
    if let Some(shared) = sh::env_path("UNSHADE_CORPUS") {
        seeds.add_folder(&shared).context("in the folder UNSHADE_CORPUS")?;
    }
    Ok(seeds.count)
}

struct Seeds<'a> {
    corpus: &'a Path,
    parts: Option<Parts>,
    whole: bool,
    count: usize,
}

impl Seeds<'_> {
    fn add_folder(&mut self, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            let path = entry.path();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.add_folder(&path)?;
            } else if kind.is_file() && entry.metadata()?.len() <= MAX_LEN {
                let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
                if self.whole {
                    self.add(&bytes)?;
                }
                if let Some(parts) = self.parts {
                    parts(&bytes).iter().try_for_each(|part| self.add(part))?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let name = sh::sha256_hex(bytes);
        let seed = self.corpus.join(&name[..40]);
        if !seed.exists() {
            fs::write(&seed, bytes).with_context(|| format!("cannot write {}", seed.display()))?;
        }
        self.count += 1;
        Ok(())
    }
}

fn of_library(file: &[u8], parts: fn(&Library<'_>) -> Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    Library::parse(file).map(|library| parts(&library)).unwrap_or_default()
}

/// Returns the content of the parts of a DXContainer with this name.
fn of_container(file: &[u8], name: &[u8; 4]) -> Vec<Vec<u8>> {
    let Ok(container) = Container::parse(file) else { return Vec::new() };
    let parts = container.found_parts().filter(|part| part.name.0 == *name);
    parts.map(|part| part.data.data().to_vec()).collect()
}

fn token_programs(file: &[u8]) -> Vec<Vec<u8>> {
    [of_container(file, b"SHEX"), of_container(file, b"SHDR")].concat()
}

fn debug_parts(file: &[u8]) -> Vec<Vec<u8>> {
    [of_container(file, b"SPDB"), of_container(file, b"SDBG")].concat()
}

/// Returns the content of every `RBUF`.
fn reflections(library: &Library<'_>) -> Vec<Vec<u8>> {
    let groups = library.list(b"RLST").ok().flatten().into_iter().flatten().filter_map(Result::ok);
    groups.filter_map(|group| Some(group.find(&[b"RBUF"])?.content.rest().to_vec())).collect()
}

/// Returns the source section, after a byte that selects one of the two kinds.
fn sources(library: &Library<'_>) -> Vec<Vec<u8>> {
    let section = |kind: u8, code| {
        let section = library.section(code).ok().flatten()?;
        Some([&[kind], section.rest()].concat())
    };
    [section(0, b"HSRC"), section(1, b"HSRD")].into_iter().flatten().collect()
}

/// Returns every module.
fn bitcode(library: &Library<'_>) -> Vec<Vec<u8>> {
    let functions = library.functions().map_while(Result::ok);
    let modules = functions.filter_map(|function| library.module(&function).ok().flatten());
    modules.map(|module: Module<'_>| module.bytes().to_vec()).collect()
}

/// Returns the assembly of every module.
fn assembly(library: &Library<'_>) -> Vec<Vec<u8>> {
    let text = |bitcode: &Vec<u8>| {
        let module = unshade::llvm::Module::parse(bitcode, 0).ok()?;
        let mut text = String::new();
        let _ = print::module(&module, &PrintOptions::default(), &mut text);
        Some(text.into_bytes())
    };
    bitcode(library).iter().filter_map(text).collect()
}

/// Applies `part` to every sequence of `words` instructions in a cubin.
fn of_cubin(file: &[u8], words: usize, part: fn(&'static Isa, &[u8]) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut diagnostics = Diagnostics::new();
    let Ok(cubin) = Cubin::read(Reader::new(file)) else { return Vec::new() };
    let Some(isa) = instruction_set(&cubin) else { return Vec::new() };
    let code = Code::new(&cubin, isa);
    let isa = code.isa();
    let functions = code.functions(&|_| true, &mut diagnostics);
    let runs = functions.iter().flat_map(|function| function.bytes().chunks(words * isa.word_bytes));
    runs.map(|bytes| part(isa, bytes)).collect()
}

/// Returns the words, after a byte that selects the instruction set: the number of its first chip.
fn machine_words(isa: &'static Isa, bytes: &[u8]) -> Vec<u8> {
    let chip = isa.architectures.first().and_then(|chip| u8::try_from(*chip).ok()).unwrap_or_default();
    [&[chip], bytes].concat()
}

/// Returns the listing of the words, after the same byte.
fn listing(isa: &'static Isa, bytes: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    Function { name: "seed", isa, bytes, address: 0, file_offset: 0 }.raw(0, &mut text);
    machine_words(isa, text.as_bytes())
}
