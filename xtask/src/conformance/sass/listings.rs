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

/// What a comparison of a cubin's listings found.
#[derive(Default)]
struct Compared {
    /// The bytes of the listing of cuobjdump; 0 if it refuses the cubin.
    size: usize,
    /// For the head and each function, how the listings differ.
    differences: Vec<Option<String>>,
}

/// Compares the listings of a chip's cubins with those of the cuobjdump beside an nvdisasm, by function. The first difference of
/// each function is printed.
pub(super) fn compare_with(nvdisasm: &Path, chip: u32, cubins: &[&[u8]]) -> Result<u64> {
    let folder = nvdisasm.parent().unwrap_or(Path::new("."));
    if !folder.join("cuobjdump").is_file() {
        println!("sm_{chip} listings: skipped, no cuobjdump in {}", folder.display());
        return Ok(0);
    }
    let (mut same, mut refused, mut code, mut size) = (Tally::default(), 0, 0, 0);
    let compared: Vec<Compared> =
        cubins.par_iter().map(|data| compare(folder, data)).collect::<Result<_>>()?;
    for (compared, data) in compared.into_iter().zip(cubins) {
        if compared.size == 0 {
            refused += 1;
            continue;
        }
        size += compared.size as u64;
        code += Cubin::parse(data)?.code_sections().map(|section| section.size).sum::<u64>();
        for difference in compared.differences {
            same.count(difference.is_none(), || difference.unwrap_or_default());
        }
    }
    if refused > 0 {
        println!("sm_{chip} cubins that cuobjdump refuses: {refused}");
    }
    println!(
        "sm_{chip}: {} cubins with {code} bytes of code, listings of {size} bytes",
        cubins.len() - refused
    );
    Ok(same.report(&format!("sm_{chip} listings, heads and functions equal to cuobjdump")))
}

fn compare(folder: &Path, data: &[u8]) -> Result<Compared> {
    let Some(theirs) = cuobjdump(folder, data)? else { return Ok(Compared::default()) };
    let ours = raw(data)?.0;
    let parts = (functions(&ours), functions(&theirs));
    let mut differences = Vec::new();
    if parts.0.len() != parts.1.len() {
        differences.push(Some(format!("{} functions | {}", parts.0.len(), parts.1.len())));
    }
    let pairs = parts.0.iter().zip(&parts.1);
    differences.extend(pairs.map(|(ours, theirs)| (ours != theirs).then(|| first_difference(ours, theirs))));
    Ok(Compared { size: theirs.len(), differences })
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
