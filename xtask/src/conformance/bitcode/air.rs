//! AIR: every distinct module of the carved libraries and of `metallib/` in UNSHADE_CORPUS.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use unshade::metallib::Library;

use super::super::metallib;
use super::{Input, Place};
use crate::sh;

/// Returns the distinct modules of all libraries, sorted by hash. A sample takes the first, which is arbitrary but
/// reproducible.
pub(super) fn modules(sample: Option<usize>) -> Result<Vec<Input>> {
    let mut modules = BTreeMap::new();
    for path in metallib::collect()? {
        let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let Ok(library) = Library::parse(&data) else { continue };
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for function in library.functions().map_while(Result::ok) {
            let Ok(Some(found)) = library.module(&function) else { continue };
            let input = || Input {
                name: format!("{} of {file}", function.label()),
                place: Place::Memory(found.bytes().to_vec()),
            };
            modules.entry(found.sha256()).or_insert_with(input);
            // A sample of a large corpus must not hold all of it in memory.
            if sample.is_some_and(|sample| modules.len() > sample) {
                modules.pop_last();
            }
        }
    }
    Ok(modules.into_values().collect())
}

/// Returns the distinct modules of the AIR set and of the folder `air` of UNSHADE_CORPUS.
pub(super) fn with_corpus(sample: Option<usize>) -> Result<Vec<Input>> {
    let mut distinct = BTreeMap::new();
    let mut add = |name: String, bytes: &[u8]| {
        if let Entry::Vacant(entry) = distinct.entry(sh::sha256_hex(bytes)) {
            entry.insert(Input { name, place: Place::Memory(bytes.to_vec()) });
        }
    };
    for input in modules(sample)? {
        add(input.name.clone(), &input.bytes()?);
    }
    let mut files = Vec::new();
    if let Some(shared) = sh::env_path("UNSHADE_CORPUS") {
        sh::files_below(&shared.join("air"), &mut files)?;
    }
    let of_type =
        |path: &PathBuf, wanted: &str| path.extension().is_some_and(|extension| extension == wanted);
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let data = || fs::read(&path).with_context(|| format!("cannot read {}", path.display()));
        if of_type(&path, "air") {
            add(name, &data()?);
        } else if of_type(&path, "metallib") {
            let data = data()?;
            let Ok(library) = Library::parse(&data) else { continue };
            for function in library.functions().map_while(Result::ok) {
                if let Ok(Some(found)) = library.module(&function) {
                    add(format!("{} of {name}", function.label()), found.bytes());
                }
            }
        }
    }
    Ok(distinct.into_values().collect())
}
