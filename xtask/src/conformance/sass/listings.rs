//! Whole cubins: compares our `--raw` with `cuobjdump -sass` 11.2.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::nv::Cubin;
use unshade::sass_listing::{self, SassOptions};

use super::Tally;
use crate::sh;

/// Compares every cubin of sm_35 and sm_37 that has a listing; also checks that every word of sm_30, sm_35 and sm_37
/// decodes.
pub(super) fn run(corpus: &Path) -> Result<u64> {
    let mut same = Tally::default();
    for folder in ["kernels/sm_35", "kernels/sm_37"] {
        for path in cubins(&corpus.join(folder))? {
            let theirs = fs::read_to_string(path.with_extension("cuobjdump-11.2.sass"))?;
            let (ours, _) = raw(&fs::read(&path)?)?;
            same.count(ours == theirs, || {
                format!("{}: {}", path.display(), first_difference(&ours, &theirs))
            });
        }
    }
    let mut decoded = Tally::default();
    for folder in ["sm_30", "sm_35", "kernels/sm_35", "kernels/sm_37"] {
        for path in cubins(&corpus.join(folder))? {
            let (_, diagnostics) = raw(&fs::read(&path)?)?;
            let first = diagnostics.iter().next().map(|diagnostic| diagnostic.error.to_string());
            decoded.count(diagnostics.is_empty(), || format!("{}: {first:?}", path.display()));
        }
    }
    Ok(same.report("cubins of sm_35 and sm_37 with listings equal to cuobjdump 11.2")
        + decoded.report("cubins of sm_30, sm_35 and sm_37 in which every word decodes"))
}

fn cubins(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cubin"));
    paths.sort();
    Ok(paths)
}

fn raw(data: &[u8]) -> Result<(String, Diagnostics)> {
    let mut diagnostics = Diagnostics::new();
    let mut text = String::new();
    let cubin = Cubin::read(Reader::new(data))?;
    let options = SassOptions { raw: true, ..SassOptions::default() };
    sass_listing::cubin(&cubin, &|_| true, options, &mut diagnostics, &mut text);
    Ok((text, diagnostics))
}

/// Compares the listings of a chip's cubins with those of the cuobjdump beside an nvdisasm, by function. The first difference of
/// each function is printed.
pub(super) fn compare_with(nvdisasm: &Path, chip: u32, cubins: &[Vec<u8>]) -> Result<u64> {
    let folder = nvdisasm.parent().unwrap_or(Path::new("."));
    if !folder.join("cuobjdump").is_file() {
        println!("sm_{chip} listings: skipped, no cuobjdump in {}", folder.display());
        return Ok(0);
    }
    let (mut same, mut refused) = (Tally::default(), 0);
    let pairs: Vec<Result<(String, Option<String>)>> =
        cubins.par_iter().map(|data| Ok((raw(data)?.0, cuobjdump(folder, data)?))).collect();
    for pair in pairs {
        let (ours, theirs) = pair?;
        let Some(theirs) = theirs else {
            refused += 1;
            continue;
        };
        let (ours, theirs): (Vec<&str>, Vec<&str>) = (functions(&ours), functions(&theirs));
        same.count(ours.len() == theirs.len(), || format!("{} functions | {}", ours.len(), theirs.len()));
        for (ours, theirs) in ours.iter().zip(theirs) {
            same.count(*ours == theirs, || first_difference(ours, theirs));
        }
    }
    if refused > 0 {
        println!("sm_{chip} cubins that cuobjdump refuses: {refused}");
    }
    Ok(same.report(&format!("sm_{chip} listings, heads and functions equal to cuobjdump")))
}

/// Returns the head of a listing and its functions.
fn functions(listing: &str) -> Vec<&str> {
    listing.split("\t\tFunction : ").collect()
}

/// Returns the listing of cuobjdump; `None` if it refuses the cubin.
fn cuobjdump(folder: &Path, data: &[u8]) -> Result<Option<String>> {
    let path = sh::temporary("cubin");
    fs::write(&path, data)?;
    let output = Command::new(folder.join("cuobjdump")).arg("-sass").arg(&path).env("PATH", folder).output();
    fs::remove_file(&path)?;
    let output = output.context("cannot start cuobjdump")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(output.status.success().then_some(text))
}

fn first_difference(ours: &str, theirs: &str) -> String {
    let pair = ours.lines().zip(theirs.lines()).enumerate().find(|(_, (ours, theirs))| ours != theirs);
    pair.map_or_else(
        || format!("{} and {} bytes", ours.len(), theirs.len()),
        |(line, (ours, theirs))| format!("{}: {ours:?} | {theirs:?}", line + 1),
    )
}
