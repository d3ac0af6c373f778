//! Carves the packages: every GPU program in them becomes a separate file in `CACHE/carved`.
//!
//! Files are named by the first 16 digits of their SHA-256, so that a library that is in many packages exists once.
//! `PACKAGE.tsv` in the same folder lists the files from each package; a package that has its list is not carved again.

use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use unshade::carve::{Limits, carve};

use crate::sh;

/// Returns the folder of the carved programs in the cache.
pub(crate) fn folder(cache: &Path) -> PathBuf {
    cache.join("carved")
}

/// Carves a package, unless already done. Returns a summary.
pub(crate) fn carve_package(cache: &Path, file: &str) -> Result<String> {
    let folder = folder(cache);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let list = folder.join(format!("{file}.tsv"));
    if let Ok(text) = fs::read_to_string(&list) {
        return Ok(format!("{} programs", text.lines().count()));
    }
    let package = fs::read(cache.join(file)).with_context(|| format!("cannot read {file}"))?;
    let mut rows = String::new();
    let mut failure = None;
    let diagnostics = carve(&package, file.as_bytes(), &Limits::default(), &mut |find| {
        let hash = sh::sha256_hex(find.data);
        let name = format!("{}.{}", &hash[..16], find.format.extension());
        // Writing to a String can't fail.
        let _ = writeln!(rows, "{name}\t{hash}\t{}\t{}", find.data.len(), find.path);
        let target = folder.join(&name);
        if !target.exists()
            && let Err(error) = fs::write(&target, find.data)
        {
            failure = Some(error);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    if let Some(error) = failure {
        return Err(error).context("cannot write a carved program");
    }
    for diagnostic in &diagnostics {
        println!("    {}: {}: {}", diagnostic.severity, diagnostic.rule, diagnostic.error);
    }
    ensure!(!diagnostics.has_errors(), "{file} could not be carved completely");
    fs::write(&list, &rows).with_context(|| format!("cannot write {}", list.display()))?;
    Ok(format!("{} programs", rows.lines().count()))
}
