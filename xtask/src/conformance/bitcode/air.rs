//! AIR: every distinct module of the carved libraries and of `metallib/` in UNSHADE_CORPUS.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result};
use unshade::metallib::Library;

use super::super::metallib;
use super::{Input, Place};

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
