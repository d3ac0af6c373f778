//! The inputs that fuzzing starts from: our own fixtures, and the small files of the corpus at `UNSHADE_CORPUS`.
//!
//! Every target gets all of them: libFuzzer keeps those that reach something new and forgets the others. Targets that
//! take a part of a library or a container get that part of each, too: from whole files they would have to guess it. A seed is named
//! by its hash, so that copying again changes nothing.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use unshade::dxcontainer::Container;
use unshade::metallib::{Library, Module};

use crate::sh;

/// What a target takes of a file, as often as the file has it.
type Parts = fn(&[u8]) -> Vec<Vec<u8>>;

/// The targets that take a part, and whether they take whole files, too.
const PARTS: [(&str, Parts, bool); 9] = [
    ("reflection", |file| of_library(file, reflections), true),
    ("sources", |file| of_library(file, sources), true),
    ("bitcode", |file| of_library(file, bitcode), true),
    ("psv0", |file| of_container(file, b"PSV0"), false),
    ("rdat", |file| of_container(file, b"RDAT"), false),
    ("dxbc_tokens", |file| [of_container(file, b"SHEX"), of_container(file, b"SHDR")].concat(), false),
    ("d3d9_tokens", |file| of_container(file, b"Aon9"), true),
    ("rdef", |file| of_container(file, b"RDEF"), false),
    ("root_signature", |file| of_container(file, b"RTS0"), false),
];

/// Copies every seed of at most `max_len` bytes to the folder `corpus` and says how many there are.
pub(crate) fn copy(target: &str, corpus: &Path, max_len: u64) -> Result<usize> {
    fs::create_dir_all(corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    let row = PARTS.iter().find(|(name, ..)| *name == target);
    let (parts, whole) = (row.map(|(_, parts, _)| *parts), row.is_none_or(|(.., whole)| *whole));
    let mut seeds = Seeds { corpus, max_len, parts, whole, count: 0 };
    let fixtures = sh::root().join("tests/fixtures");
    if fixtures.is_dir() {
        seeds.add_folder(&fixtures)?;
    }
    if let Some(shared) = sh::env_path("UNSHADE_CORPUS") {
        seeds.add_folder(&shared).context("in the folder that UNSHADE_CORPUS names")?;
    }
    Ok(seeds.count)
}

struct Seeds<'a> {
    corpus: &'a Path,
    max_len: u64,
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
            } else if kind.is_file() && entry.metadata()?.len() <= self.max_len {
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

/// The parts of a DXContainer that have this name.
fn of_container(file: &[u8], name: &[u8; 4]) -> Vec<Vec<u8>> {
    let Ok(container) = Container::parse(file) else { return Vec::new() };
    let parts = container.found_parts().filter(|part| part.name.0 == *name);
    parts.map(|part| part.data.data().to_vec()).collect()
}

/// The content of every `RBUF`.
fn reflections(library: &Library<'_>) -> Vec<Vec<u8>> {
    let groups = library.list(b"RLST").ok().flatten().into_iter().flatten().filter_map(Result::ok);
    groups.filter_map(|group| Some(group.find(&[b"RBUF"])?.content.rest().to_vec())).collect()
}

/// The source section behind a byte that says which of the two kinds it is.
fn sources(library: &Library<'_>) -> Vec<Vec<u8>> {
    let section = |kind: u8, code| {
        let section = library.section(code).ok().flatten()?;
        Some([&[kind], section.rest()].concat())
    };
    [section(0, b"HSRC"), section(1, b"HSRD")].into_iter().flatten().collect()
}

/// Every module.
fn bitcode(library: &Library<'_>) -> Vec<Vec<u8>> {
    let functions = library.functions().map_while(Result::ok);
    let modules = functions.filter_map(|function| library.module(&function).ok().flatten());
    modules.map(|module: Module<'_>| module.bytes().to_vec()).collect()
}
