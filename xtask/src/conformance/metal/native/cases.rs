//! The kernels that are run: those whose true source is at hand, or all of the packages.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::metallib::{Function, FunctionType, Library};

use super::super::super::metallib::collect;
use super::lower::{Lowered, lower};
use super::tools::Tools;
use crate::{corpus, sh};

/// The package whose headers `air/mlx` of UNSHADE_CORPUS has.
const MLX: (&str, &str) = ("mlx-metal", "0.32.4-py3-none-macosx_14_0");

/// A kernel and its module.
pub(super) struct Case {
    /// Where it comes from, for the table.
    pub(super) set: String,
    pub(super) name: String,
    pub(super) module: Vec<u8>,
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
    cases.retain(|case| seen.insert(sh::sha256_hex(&case.module)));
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
    let read = files.par_iter().map(|path| -> Result<Option<Source>> {
        match tools.preprocess(path, includes)? {
            Ok(text) => Ok(Some(Source::of(lower(&text)))),
            Err(messages) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                println!("not read: {name}: {}", super::tools::first_error(&messages));
                Ok(None)
            }
        }
    });
    Ok(read.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Returns the kernels of the libraries and modules below a folder.
fn modules_in(folder: &Path, set: &str) -> Result<Vec<Case>> {
    let mut files = Vec::new();
    sh::files_below(folder, &mut files)?;
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        if extension == "air" {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            cases.push(Case { set: set.to_owned(), name, module: fs::read(&path)?, source: None });
        } else if extension == "metallib" {
            let data = fs::read(&path)?;
            let Ok(library) = Library::parse(&data) else { continue };
            for function in library.functions().map_while(Result::ok) {
                cases.extend(case(&library, &function, set));
            }
        }
    }
    Ok(cases)
}

/// Returns a function as a case, if it is a kernel.
fn case(library: &Library<'_>, function: &Function<'_>, set: &str) -> Option<Case> {
    if function.kind != Some(FunctionType::KERNEL) {
        return None;
    }
    let module = library.module(function).ok()??.bytes().to_vec();
    Some(Case { set: set.to_owned(), name: function.shown_name(), module, source: None })
}

/// Returns every `step`-th distinct kernel of the packages.
pub(super) fn of_packages(step: usize) -> Result<Vec<Case>> {
    let mut seen = HashSet::new();
    let mut cases = Vec::new();
    let mut number = 0;
    for path in collect()? {
        let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let Ok(library) = Library::parse(&data) else { continue };
        let set = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for function in library.functions().map_while(Result::ok) {
            let is_kernel = function.kind == Some(FunctionType::KERNEL);
            if !is_kernel || !function.hash.is_none_or(|hash| seen.insert(*hash)) {
                continue;
            }
            number += 1;
            if number % step == 0 {
                cases.extend(case(&library, &function, &set));
            }
        }
    }
    Ok(cases)
}
