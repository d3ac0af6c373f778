//! The cubins that `cargo xtask corpus --set cuda` carved out of TensorFlow and CNTK.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result};
use unshade::core::Reader;
use unshade::nv::Fatbin;
use unshade::nv::fatbin::EntryKind;

use crate::{corpus, sh};

/// The prefixes of the packages' file names.
const PACKAGES: [&str; 2] = ["tensorflow_gpu-0.12.0", "cntk_gpu-2.5"];

/// Returns the distinct cubins for a chip in all packages, largest first.
pub(super) fn cubins(chip: u32) -> Result<Vec<Vec<u8>>> {
    let carved = corpus::carved_folder(&corpus::cache_dir(None)?);
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(&carved).into_iter().flatten().flatten() {
        let list = entry.file_name().to_string_lossy().into_owned();
        if list.ends_with(".tsv") && PACKAGES.iter().any(|package| list.starts_with(package)) {
            let text = fs::read_to_string(entry.path())?;
            let files = text.lines().filter_map(|line| line.split('\t').next());
            names.extend(files.filter(|name| name.ends_with(".fatbin")).map(String::from));
        }
    }
    let mut seen = BTreeSet::new();
    let mut cubins = Vec::new();
    for name in names {
        let data = fs::read(carved.join(&name)).with_context(|| name.clone())?;
        let Ok(fatbin) = Fatbin::read(Reader::new(&data)) else { continue };
        for entry in fatbin.entries().flatten().filter(|entry| entry.kind == EntryKind::ELF) {
            if let Ok(data) = entry.data()
                && let Ok(cubin) = entry.cubin(&data)
                && cubin.arch() == chip
            {
                let bytes = cubin.file().data();
                if seen.insert(sh::sha256_hex(bytes)) {
                    cubins.push(bytes.to_vec());
                }
            }
        }
    }
    cubins.sort_by_key(|cubin| std::cmp::Reverse(cubin.len()));
    Ok(cubins)
}
