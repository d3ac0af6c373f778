//! DXIL: the containers in `dx/` of UNSHADE_CORPUS, parsed only as far as the part directory.
//!
//! Every part with bitcode is compared with `llvm-dis`: DXIL, ILDB (with debug information) and STAT (for reflection).
//! DXC's text is next to each container as `.dxc.ll`; the tables in comments that DXC prints before a module are
//! ignored on both sides.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::llvm::print::Dialect;

use super::compare::{Expected, Group, Outcome, first_difference};
use super::{Input, Place, ours};
use crate::sh;

/// The folder of intentionally damaged files.
const DAMAGED: &str = "mut";

/// The parts that contain bitcode.
const PARTS: [&[u8]; 3] = [b"DXIL", b"ILDB", b"STAT"];

/// The containers, sorted by path.
pub(super) struct Containers {
    root: PathBuf,
    paths: Vec<PathBuf>,
}

impl Containers {
    /// Returns the containers of the corpus, or the first of them.
    pub(super) fn find(sample: Option<usize>) -> Result<Option<Self>> {
        let Some(corpus) = sh::env_path("UNSHADE_CORPUS") else { return Ok(None) };
        let root = corpus.join("dx");
        let mut paths = Vec::new();
        find_containers(&root, &mut paths)?;
        paths.sort();
        paths.truncate(sample.unwrap_or(usize::MAX));
        Ok(Some(Self { root, paths }))
    }

    /// Returns the distinct modules of all containers.
    pub(super) fn modules(&self) -> Vec<Input> {
        let mut modules = BTreeMap::new();
        for path in &self.paths {
            let Ok(container) = fs::read(path) else { continue };
            for code in PARTS {
                if let Some(bitcode) = part(&container, code) {
                    let name = format!("{} of {}", String::from_utf8_lossy(code), self.name(path));
                    let input = || Input { name, place: Place::Memory(bitcode.to_vec()) };
                    modules.entry(sh::sha256_hex(bitcode)).or_insert_with(input);
                }
            }
        }
        modules.into_values().collect()
    }

    /// Compares our text of the module that DXC disassembles (ILDB if present, otherwise DXIL) with DXC's.
    pub(super) fn beside_dxc(&self) -> Result<Group> {
        let with_text = self.paths.par_iter().filter(|path| dxc_text(path).exists());
        let outcomes =
            with_text.map(|path| Ok((self.name(path), beside_dxc(path)?))).collect::<Result<_>>()?;
        Ok(Group { set: "dxil", program: "DXC", expected: Expected::ALL, outcomes })
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

fn find_containers(folder: &Path, containers: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != DAMAGED) {
                find_containers(&path, containers)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "dxil" || extension == "dxbc") {
            containers.push(path);
        }
    }
    Ok(())
}

/// Returns the path of DXC's text for a container.
fn dxc_text(container: &Path) -> PathBuf {
    let mut name = container.as_os_str().to_owned();
    name.push(".dxc.ll");
    name.into()
}

fn beside_dxc(path: &Path) -> Result<Outcome> {
    let container = fs::read(path)?;
    let theirs = fs::read_to_string(dxc_text(path))?;
    let bitcode = part(&container, b"ILDB").or_else(|| part(&container, b"DXIL"));
    let bitcode = bitcode.with_context(|| format!("{} has no bitcode", path.display()))?;
    let printed = match ours::print(bitcode.to_vec(), Dialect::Dxc, None) {
        Ok(printed) => printed,
        Err(failure) => return Ok(Outcome::Failed(failure)),
    };
    let (ours, theirs) = (without_tables(&printed.text), without_tables(&theirs));
    Ok(match ours == theirs {
        true => Outcome::Identical { finding: printed.findings.into_iter().next() },
        false => first_difference(theirs, ours),
    })
}

/// Returns the bitcode in a part of a container.
fn part<'a>(container: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let word = |at: usize| Some(u32::from_le_bytes(*container.get(at..)?.first_chunk()?) as usize);
    if !container.starts_with(b"DXBC") {
        return None;
    }
    (0..word(28)?).find_map(|index| {
        let start = word(32 + 4 * index)?;
        if container.get(start..start + 4)? != wanted {
            return None;
        }
        let data = container.get(start + 8..)?.get(..word(start + 4)?)?;
        // The program header has 8 bytes and is followed by the bitcode header with the offset and size of the bitcode.
        let is_bitcode = data.get(8..12)? == b"DXIL";
        data.get(8 + word(start + 24)?..)?.get(..word(start + 28)?).filter(|_| is_bitcode)
    })
}

/// Returns a text without the comments and blank lines at its start.
fn without_tables(text: &str) -> &str {
    let head = text.split_inclusive('\n').take_while(|line| line.starts_with(';') || line.trim().is_empty());
    text.get(head.map(str::len).sum()..).unwrap_or_default()
}
