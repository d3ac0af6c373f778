//! The functions that are run: those whose true source is at hand, or all of the packages.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::metallib::{Function, FunctionType, Library};

use super::super::super::metallib::collect;
use super::lower::{Lowered, lower};
use super::tools::{Tools, first_error};
use crate::{corpus, sh};

/// The package whose headers `air/mlx` of UNSHADE_CORPUS has.
const MLX: (&str, &str) = ("mlx-metal", "0.32.4-py3-none-macosx_14_0");

/// A kernel and its module.
pub(super) struct Case {
    /// Where it comes from, for the table.
    pub(super) set: String,
    pub(super) name: String,
    pub(super) module: Vec<u8>,
    /// Whether it is a kernel, not another kind of function.
    pub(super) is_kernel: bool,
    /// Its true source, lowered, and the expression that names the kernel there.
    pub(super) source: Option<(Arc<String>, String)>,
}

/// The kernels of a source: those with a name in it, and what is compiled.
struct Source {
    text: Arc<String>,
    instances: BTreeMap<String, String>,
    plain: HashSet<String>,
}

impl Source {
    fn of(lowered: Lowered) -> Self {
        let plain = plain_kernels(&lowered.text);
        Self { text: Arc::new(lowered.text), instances: lowered.instances, plain }
    }

    fn find(&self, name: &str) -> Option<(Arc<String>, String)> {
        let instance = self.instances.get(name).cloned();
        let expression = instance.or_else(|| self.plain.contains(name).then(|| name.to_owned()))?;
        Some((Arc::clone(&self.text), expression))
    }
}

/// Returns the names of functions without a result, among which the kernels are that are no templates.
fn plain_kernels(text: &str) -> HashSet<String> {
    let names = text.split("void ").skip(1).filter_map(|rest| {
        let (name, _) = rest.split_once('(')?;
        let name = name.trim();
        name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| name.to_owned())
    });
    names.collect()
}

/// Returns the kernels whose true source is in `air` of UNSHADE_CORPUS, every `step`-th of each package.
pub(super) fn with_sources(tools: &Tools, step: usize) -> Result<Vec<Case>> {
    let Some(folder) = sh::env_path("UNSHADE_CORPUS").map(|corpus| corpus.join("air")) else {
        println!("skipped: UNSHADE_CORPUS is not set");
        return Ok(Vec::new());
    };
    let mlx = mlx_tree(&folder)?;
    let mut cases = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let package = entry?.path();
        let set = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // What is left of an earlier trial has headers of others.
        if !package.is_dir() || set == "oracle" {
            continue;
        }
        let includes = if set == "mlx" { vec![mlx.clone()] } else { Vec::new() };
        let root = if set == "mlx" { mlx.clone() } else { package.clone() };
        let sources = sources(tools, &root, &includes)?;
        let mut found = modules_in(&package, &set)?;
        if set == "mlx"
            && let Ok(wheel) = corpus::cached_package(MLX.0, MLX.1)
        {
            found.extend(modules_in(&corpus::unpack(&wheel)?, "mlx wheel")?.into_iter().step_by(step));
        }
        for mut case in found {
            case.source = sources.iter().find_map(|source| source.find(&case.name));
            cases.push(case);
        }
    }
    fs::remove_dir_all(&mlx)?;
    let mut seen = HashSet::new();
    cases.retain(|case| case.is_kernel && seen.insert(sh::sha256_hex(&case.module)));
    Ok(cases)
}

/// Puts MLX's headers and instantiations where they include each other.
fn mlx_tree(folder: &Path) -> Result<PathBuf> {
    let tree = sh::temporary("mlx");
    let kernels = tree.join("mlx/backend/metal/kernels");
    for part in ["mlx/src/wheel-headers", "mlx/src/instantiations"] {
        let from = folder.join(part);
        let mut files = Vec::new();
        sh::files_below(&from, &mut files)?;
        for path in files {
            let to = kernels.join(path.strip_prefix(&from)?);
            fs::create_dir_all(to.parent().context("a folder")?)?;
            fs::copy(&path, to)?;
        }
    }
    Ok(tree)
}

/// Reads the sources in a folder. Says which can't be preprocessed.
fn sources(tools: &Tools, folder: &Path, includes: &[PathBuf]) -> Result<Vec<Source>> {
    let mut files = Vec::new();
    sh::files_below(folder, &mut files)?;
    let is_header = |path: &PathBuf| path.to_string_lossy().contains(".h.");
    files.retain(|path| path.extension().is_some_and(|extension| extension == "metal") && !is_header(path));
    files.sort();
    let read = files.par_iter().map(|path| one_source(tools, path, includes));
    Ok(read.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Reads a source, and checks it as a whole, with all functions that are no templates. Says what is wrong with it.
fn one_source(tools: &Tools, path: &Path, includes: &[PathBuf]) -> Result<Option<Source>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = match tools.preprocess(path, includes)? {
        Ok(text) => text,
        Err(messages) => {
            println!("not read: {name}: {}", first_error(&messages));
            return Ok(None);
        }
    };
    let lowered = lower(&text);
    let file = sh::temporary("cpp");
    fs::write(&file, &lowered.text)?;
    let error = tools.check_source(&file)?;
    fs::remove_file(&file)?;
    if let Some(error) = error {
        println!("does not compile: {name}: {error}");
    }
    Ok(Some(Source::of(lowered)))
}

/// Returns the kernels of the libraries and modules below a folder.
pub(super) fn modules_in(folder: &Path, set: &str) -> Result<Vec<Case>> {
    let mut files = Vec::new();
    sh::files_below(folder, &mut files)?;
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        if extension == "air" {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            cases.push(Case {
                set: set.to_owned(),
                name,
                module: fs::read(&path)?,
                is_kernel: true,
                source: None,
            });
        } else if extension == "metallib" {
            let data = fs::read(&path)?;
            let Ok(library) = Library::parse(&data) else { continue };
            let functions = library.functions().map_while(Result::ok);
            cases.extend(functions.filter_map(|function| case(&library, &function, set)));
        }
    }
    Ok(cases)
}

/// Returns a function as a case.
fn case(library: &Library<'_>, function: &Function<'_>, set: &str) -> Option<Case> {
    let module = library.module(function).ok()??.bytes().to_vec();
    let is_kernel = function.kind == Some(FunctionType::KERNEL);
    Some(Case { set: set.to_owned(), name: function.shown_name(), module, is_kernel, source: None })
}

/// Returns every `step`-th distinct function of the packages, and all that are no kernels, which are few.
pub(super) fn of_packages(step: usize) -> Result<Vec<Case>> {
    let packages = packages()?;
    let mut seen = HashSet::new();
    let mut cases = Vec::new();
    let mut number = 0;
    for path in collect()? {
        let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let Ok(library) = Library::parse(&data) else { continue };
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let set = packages.get(&file).map_or("other", String::as_str);
        for function in library.functions().map_while(Result::ok) {
            if !function.hash.is_none_or(|hash| seen.insert(*hash)) {
                continue;
            }
            number += 1;
            if number % step == 0 || function.kind != Some(FunctionType::KERNEL) {
                cases.extend(case(&library, &function, set));
            }
        }
    }
    Ok(cases)
}

/// Returns the packages of carved files, by the names of the files.
fn packages() -> Result<BTreeMap<String, String>> {
    let folder = corpus::carved_folder(&corpus::cache_dir(None)?);
    let mut packages = BTreeMap::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "tsv") {
            continue;
        }
        let package = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let package = package.split("-cp").next().unwrap_or_default().chars().take(34).collect::<String>();
        for line in fs::read_to_string(&path)?.lines() {
            let file = line.split('\t').next().unwrap_or_default().to_owned();
            packages.insert(file, package.clone());
        }
    }
    Ok(packages)
}
