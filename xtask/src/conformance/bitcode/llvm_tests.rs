//! The modules in LLVM's own tests, from the source packages of the set `llvm-tests`: the bitcode files, many of them
//! invalid on purpose, and the assembly files, assembled with `llvm-as` of the same version.
//!
//! The tests of code generators and passes use what the other tests do not: the intrinsics of all targets in calls, with
//! attributes and metadata. There are some 30,000, so only [`OF_PASSES`] are compared, in an order that only depends on
//! their names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use rayon::prelude::*;

use super::c_files::{find_files, unpack};
use super::{Input, Place};
use crate::{corpus, sh};

/// The folders of a source tree to read.
const FOLDERS: [&str; 2] = ["llvm/test/Bitcode", "llvm/test/Assembler"];

/// The folders with the tests of code generators and passes.
const PASSES: [&str; 2] = ["*/llvm/test/CodeGen", "*/llvm/test/Transforms"];

/// Maximum number of tests of code generators and passes.
const OF_PASSES: usize = 3000;

/// Returns the distinct bitcode files of all versions.
pub(super) fn bitcode(sample: Option<usize>) -> Result<Vec<Input>> {
    let mut modules = BTreeMap::new();
    for tree in trees()? {
        for (name, path) in tree.files("bc")? {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let name = format!("{} of {}", name, tree.package);
            modules.entry(sh::sha256_hex(&bytes)).or_insert(Input { name, place: Place::Memory(bytes) });
        }
    }
    Ok(modules.into_values().take(sample.unwrap_or(usize::MAX)).collect())
}

/// Returns the assembly files of a version, and the parts of those that are several tests.
pub(super) fn texts(version: &str, sample: Option<usize>) -> Result<Vec<(String, Vec<u8>)>> {
    let tree = trees()?.into_iter().find(|tree| tree.package.ends_with(version));
    let mut files = tree.map(|tree| tree.files("ll")).transpose()?.unwrap_or_default();
    files.truncate(sample.unwrap_or(usize::MAX));
    let mut texts = Vec::new();
    for (name, path) in files {
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for (part, content) in parts(&text) {
            texts.push((format!("{name}@{part}"), content));
        }
        texts.push((name, text));
    }
    Ok(texts)
}

/// Returns the parts of a text that lines such as `;--- name` separate, by name. A text without such lines has none.
pub(super) fn parts(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let name = [&b";--- "[..], b"; --- ", b"//--- "].iter().find_map(|start| line.strip_prefix(*start));
        match (name, parts.last_mut()) {
            (Some(name), _) => parts.push((String::from_utf8_lossy(name).trim().to_owned(), Vec::new())),
            (None, Some((_, content))) => content.extend_from_slice(line),
            (None, None) => {}
        }
    }
    parts
}

/// Assembles the assembly files of a version with its `llvm-as`, skipping those that it rejects. A version without a
/// source package assembles those of the newest package.
pub(super) fn assembled(version: &str, sample: Option<usize>) -> Result<Vec<Input>> {
    let program = format!("llvm-as-{version}");
    if Command::new(&program).arg("--version").output().is_err() {
        println!("skipped: {program} is not installed");
        return Ok(Vec::new());
    }
    let mut trees = trees()?;
    let own = trees.iter().position(|tree| tree.package.ends_with(version));
    let Some(tree) = own.map(|at| trees.swap_remove(at)).or_else(|| trees.pop()) else {
        return Ok(Vec::new());
    };
    let mut package = tree.package.clone();
    if own.is_none() {
        package.push_str(&format!("-by-{version}"));
    }
    let folder = corpus::cache_dir(None)?.join("assembled").join(package);
    let mut files = tree.files("ll")?;
    files.truncate(sample.unwrap_or(usize::MAX));
    assemble_all(&program, &files, &folder)
}

/// Assembles tests of the code generators and passes of a version with its `llvm-as`, as [`assembled`] does.
pub(super) fn of_passes(version: &str, sample: Option<usize>) -> Result<Vec<Input>> {
    let program = format!("llvm-as-{version}");
    if Command::new(&program).arg("--version").output().is_err() {
        println!("skipped: {program} is not installed");
        return Ok(Vec::new());
    }
    let Some(tree) = tree_of(version, "unpacked-passes", &PASSES)? else { return Ok(Vec::new()) };
    let folder = corpus::cache_dir(None)?.join("assembled-passes").join(&tree.package);
    let mut files = tree.files("ll")?;
    files.sort_by_cached_key(|(name, _)| sh::sha256_hex(name.as_bytes()));
    files.truncate(sample.unwrap_or(OF_PASSES));
    assemble_all(&program, &files, &folder)
}

/// Assembles files into a folder, unless they are there, and returns the modules of those that `llvm-as` takes.
fn assemble_all(program: &str, files: &[(String, PathBuf)], folder: &Path) -> Result<Vec<Input>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let assemble = |(name, path): &(String, PathBuf)| {
        let target = folder.join(name.replace('/', "+")).with_extension("bc");
        // An empty file marks a rejected text.
        if !target.exists() {
            let output = Command::new(program).arg(path).args(["-o", "-"]).output()?;
            fs::write(&target, if output.status.success() { output.stdout } else { Vec::new() })?;
        }
        let is_module = fs::metadata(&target)?.len() > 0;
        Ok(is_module.then(|| Input { name: name.clone(), place: Place::File(target) }))
    };
    let modules: Vec<Option<Input>> = files.par_iter().map(assemble).collect::<Result<_>>()?;
    Ok(modules.into_iter().flatten().collect())
}

/// Returns the assembly files that test LLVM's verifier, by name.
pub(super) fn of_verifier(version: &str) -> Result<Vec<(String, PathBuf)>> {
    let tree = tree_of(version, "unpacked-verifier", &["*/llvm/test/Verifier"])?;
    tree.map_or(Ok(Vec::new()), |tree| tree.files("ll"))
}

/// The tests of one version.
struct Tree {
    package: String,
    root: PathBuf,
}

/// Unpacks folders of the source package of a version into a folder of the cache.
fn tree_of(version: &str, into: &str, folders: &[&str]) -> Result<Option<Tree>> {
    let packages = corpus::cached_set(corpus::Set::LlvmTests)?;
    let Some((package, archive)) = packages.into_iter().find(|(package, _)| package.ends_with(version))
    else {
        return Ok(None);
    };
    let root = unpack(&archive, &corpus::cache_dir(None)?.join(into), folders)?;
    Ok(Some(Tree { package, root }))
}

fn trees() -> Result<Vec<Tree>> {
    let packages = corpus::cached_set(corpus::Set::LlvmTests)?;
    let into = corpus::cache_dir(None)?.join("unpacked");
    let members: Vec<String> = FOLDERS.iter().map(|folder| format!("*/{folder}")).collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    let tree = |(package, archive): (String, PathBuf)| {
        let root = unpack(&archive, &into, &members)?;
        Ok(Tree { package, root })
    };
    packages.into_iter().map(tree).collect()
}

impl Tree {
    /// Returns the files with an extension, and their names.
    fn files(&self, extension: &str) -> Result<Vec<(String, PathBuf)>> {
        let tests = self.root.join("llvm/test");
        let mut names = Vec::new();
        find_files(&tests, &tests, extension, &mut names)?;
        names.sort();
        Ok(names.into_iter().map(|name| (name.clone(), tests.join(name))).collect())
    }
}
