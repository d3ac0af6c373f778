//! Whole cubins: compares our `--raw` with `cuobjdump -sass` 11.2.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use unshade::core::{Diagnostics, Reader};
use unshade::nv::Cubin;
use unshade::sass_listing::{self, SassOptions};

use super::Tally;

/// Compares every cubin of sm_35 and sm_37 that has a listing; also checks that every word of sm_30, sm_35 and sm_37
/// decodes.
pub(super) fn run(corpus: &Path) -> Result<u64> {
    let mut same = Tally::default();
    for folder in ["kernels/sm_35", "kernels/sm_37"] {
        for path in cubins(&corpus.join(folder))? {
            let theirs = fs::read_to_string(path.with_extension("cuobjdump-11.2.sass"))?;
            let (ours, _) = raw(&path)?;
            same.count(ours == theirs, || {
                format!("{}: {}", path.display(), first_difference(&ours, &theirs))
            });
        }
    }
    let mut decoded = Tally::default();
    for folder in ["sm_30", "sm_35", "kernels/sm_35", "kernels/sm_37"] {
        for path in cubins(&corpus.join(folder))? {
            let (_, diagnostics) = raw(&path)?;
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

fn raw(path: &Path) -> Result<(String, Diagnostics)> {
    let data = fs::read(path)?;
    let mut diagnostics = Diagnostics::new();
    let mut text = String::new();
    let cubin = Cubin::read(Reader::new(&data))?;
    let options = SassOptions { raw: true, ..SassOptions::default() };
    sass_listing::cubin(&cubin, &|_| true, options, &mut diagnostics, &mut text);
    Ok((text, diagnostics))
}

fn first_difference(ours: &str, theirs: &str) -> String {
    let pair = ours.lines().zip(theirs.lines()).enumerate().find(|(_, (ours, theirs))| ours != theirs);
    pair.map_or_else(
        || format!("{} and {} bytes", ours.len(), theirs.len()),
        |(line, (ours, theirs))| format!("{}: {ours:?} | {theirs:?}", line + 1),
    )
}
