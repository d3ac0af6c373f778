//! C files of Debian source packages, compiled with each version of clang: modules for which unshade was not tuned.
//!
//! The packages are the set `c` in `xtask/corpus.tsv`. Nothing is configured: files that compile unmodified with every
//! version at every level are used, in an order that only depends on their paths. Compiled modules are cached in
//! `compiled/` of the cache folder; a package with a list there is not compiled again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;

use super::{Input, Place};
use crate::{corpus, sh};

/// Maximum number of files to compare, over all packages.
const FILES: usize = 500;

/// Maximum number of files per package, so that no package dominates.
const OF_ONE_PACKAGE: usize = 40;

/// The versions of clang that a file must compile with to be in the set. Later versions compile the same files.
const VERSIONS: [&str; 2] = ["14", "19"];

/// An optimisation level.
pub(super) struct Level {
    /// The name in the report.
    pub(super) set: &'static str,
    file: &'static str,
    options: &'static [&'static str],
}

/// The levels.
pub(super) const LEVELS: [&Level; 3] = [
    &Level { set: "c -O0", file: "O0", options: &["-O0"] },
    &Level { set: "c -O2", file: "O2", options: &["-O2"] },
    &Level { set: "c -O2 -g", file: "O2g", options: &["-O2", "-g"] },
];

/// Options that let old C compile: there are no headers from a configured build, and warnings do not matter.
const OPTIONS: &[&str] = &[
    "-c",
    "-emit-llvm",
    "-w",
    "-std=gnu11",
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-function-pointer-types",
    // The bitcode must not depend on the location of the cache.
    "-fdebug-compilation-dir=.",
    "-D_GNU_SOURCE",
    "-I.",
    "-Iinclude",
    "-Isrc",
    "-Ilib",
];

/// Returns the modules for one version and level.
pub(super) fn modules(version: &str, level: &Level, sample: Option<usize>) -> Result<Vec<Input>> {
    let input = |file: &CompiledFile| {
        let module = module_path(&file.stem, version, level);
        if !module.exists() {
            let root = unpack(&file.archive, &corpus::cache_dir(None)?.join("unpacked"), &[])?;
            if !compile(&root, &file.path, &file.stem, version, level) {
                return Ok(None);
            }
        }
        Ok(Some(Input { name: file.name.clone(), place: Place::File(module) }))
    };
    let files = files()?;
    let files = files.get(..sample.unwrap_or(FILES).min(files.len())).unwrap_or_default();
    let inputs: Vec<Option<Input>> = files.par_iter().map(input).collect::<Result<_>>()?;
    Ok(inputs.into_iter().flatten().collect())
}

/// A file that compiles, its path in an archive, and the common part of the paths of its modules, without version, level
/// and extension.
struct CompiledFile {
    name: String,
    archive: PathBuf,
    path: String,
    stem: PathBuf,
}

fn module_path(stem: &Path, version: &str, level: &Level) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(format!(".{version}.{}.bc", level.file));
    name.into()
}

/// Returns the files of all packages, compiling those that are not cached.
fn files() -> Result<Vec<CompiledFile>> {
    let packages = corpus::cached_set(corpus::Set::C)?;
    for version in VERSIONS {
        if Command::new(format!("clang-{version}")).arg("--version").output().is_err() {
            println!("skipped: clang-{version} is not installed, so nothing new is compiled");
            return Ok(Vec::new());
        }
    }
    let of_package = |(name, archive): &(String, PathBuf)| {
        compile_package(name, archive).with_context(|| format!("package {name}"))
    };
    let lists: Vec<Vec<CompiledFile>> = packages.par_iter().map(of_package).collect::<Result<_>>()?;
    let mut files: Vec<CompiledFile> = lists.into_iter().flatten().collect();
    files.sort_by_cached_key(|file| sh::sha256_hex(file.name.as_bytes()));
    files.truncate(FILES);
    Ok(files)
}

/// Compiles files of a package until there are enough. The list of them is written last, to mark completion.
fn compile_package(name: &str, archive: &Path) -> Result<Vec<CompiledFile>> {
    let cache = corpus::cache_dir(None)?;
    let folder = cache.join("compiled").join(name);
    let list = folder.join("files.tsv");
    let paths: Vec<String> = match fs::read_to_string(&list) {
        Ok(text) => text.lines().map(str::to_owned).collect(),
        Err(_) => {
            let root = unpack(archive, &cache.join("unpacked"), &[])?;
            fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            let mut candidates = Vec::new();
            find_files(&root, &root, "c", &mut candidates)?;
            candidates.sort_by_cached_key(|path| sh::sha256_hex(path.as_bytes()));
            let compiles = |path: &String| compile_file(&root, path, &folder.join(stem(path)));
            let paths: Vec<String> = candidates.into_iter().filter(compiles).take(OF_ONE_PACKAGE).collect();
            fs::write(&list, paths.join("\n")).with_context(|| format!("cannot write {}", list.display()))?;
            paths
        }
    };
    let file = |path: &String| CompiledFile {
        name: format!("{name}/{path}"),
        archive: archive.to_owned(),
        path: path.clone(),
        stem: folder.join(stem(path)),
    };
    Ok(paths.iter().map(file).collect())
}

/// Flattens a path to a file name.
fn stem(path: &str) -> String {
    path.replace('/', "+")
}

/// Compiles a file with every version at every level. Returns whether all succeeded.
fn compile_file(root: &Path, path: &str, stem: &Path) -> bool {
    let mut all = VERSIONS.iter().flat_map(|version| LEVELS.iter().map(move |level| (version, level)));
    all.all(|(version, level)| compile(root, path, stem, version, level))
}

/// Compiles a file with one version at one level. Returns whether this succeeded.
fn compile(root: &Path, path: &str, stem: &Path, version: &str, level: &Level) -> bool {
    let folder = Path::new(path).parent().unwrap_or(Path::new("."));
    let includes = folder.ancestors().map(|folder| format!("-I./{}", folder.display()));
    let output = Command::new(format!("clang-{version}"))
        .current_dir(root)
        .args(OPTIONS)
        .args(level.options)
        .args(includes)
        .args([path, "-o"])
        .arg(module_path(stem, version, level))
        .output();
    output.is_ok_and(|output| output.status.success())
}

/// Unpacks an archive, or its members that match, unless cached. Returns the single folder in it.
pub(super) fn unpack(archive: &Path, into: &Path, members: &[&str]) -> Result<PathBuf> {
    let target = into.join(archive.file_name().unwrap_or_default());
    if !target.exists() {
        let partial = into
            .join(format!(".partial-{}", std::process::id()))
            .join(target.file_name().unwrap_or_default());
        fs::create_dir_all(&partial).with_context(|| format!("cannot make {}", partial.display()))?;
        let mut command = Command::new("tar");
        command.arg("-xf").arg(archive).arg("-C").arg(&partial).arg("--wildcards").args(members);
        sh::capture(&mut command)?;
        fs::rename(&partial, &target).with_context(|| format!("cannot make {}", target.display()))?;
    }
    let mut folders = fs::read_dir(&target)?.filter_map(|entry| Some(entry.ok()?.path()));
    let root = folders.next().with_context(|| format!("{} is empty", target.display()))?;
    ensure!(folders.next().is_none(), "{} contains more than one folder", target.display());
    Ok(root)
}

/// Collects the files with an extension below a folder, as paths relative to `root`.
pub(super) fn find_files(root: &Path, folder: &Path, extension: &str, files: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            find_files(root, &path, extension, files)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            let relative = path.strip_prefix(root).unwrap_or(&path);
            files.extend(relative.to_str().map(str::to_owned));
        }
    }
    Ok(())
}
