//! NVIDIA's formats: listing a fat binary of 100 MB.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use super::{in_turn, milliseconds, peak_memory, program, verdict};
use crate::{corpus, sh};

/// Target size of the file.
const SIZE: usize = 100_000_000;

pub(crate) fn run(runs: usize) -> Result<()> {
    let file = large_fatbin()?;
    let size = fs::metadata(&file)?.len();
    println!("input: {} ({})", file.display(), sh::megabytes(size));
    // With mangled names: demangling 15,000 names takes longer than parsing them.
    let times = in_turn(
        &mut [program().args(["list", "--mangled"]).arg(&file), program().arg("list").arg(&file)],
        runs,
    )?;
    let (list, demangled) = (&times[0], &times[1]);
    println!("     list with demangled names, best {}", milliseconds(demangled.best()));
    let memory = peak_memory(program().arg("list").arg(&file))?;
    println!(
        "     list, median {}, peak memory with the mapped file {}",
        milliseconds(list.median()),
        sh::megabytes(memory)
    );
    let best = list.best();
    let met = verdict(
        "list --mangled of a 100 MB fat binary, best",
        &milliseconds(best),
        "under 100 ms",
        best.as_secs_f64() < 0.1,
    );
    ensure!(met, "not every target was met");
    Ok(())
}

/// Concatenates fat binaries of TensorFlow's section `.nv_fatbin`, repeatedly, up to the target size.
fn large_fatbin() -> Result<PathBuf> {
    let folder = corpus::carved_folder(&corpus::cache_dir(None)?);
    let list = fs::read_dir(&folder).context("run `cargo xtask corpus --only tensorflow-gpu` first")?;
    let list = list.flatten().map(|entry| entry.path());
    let list =
        list.filter(|path| path.to_string_lossy().contains("tensorflow_gpu")).find(|path| path.is_file());
    let list = list.context("run `cargo xtask corpus --only tensorflow-gpu` first")?;
    let mut bytes = Vec::with_capacity(SIZE);
    let names = fs::read_to_string(&list)?;
    let mut files = names.lines().filter_map(|line| line.split('\t').next()).cycle();
    while bytes.len() < SIZE {
        let name = files.next().context("no fat binary in the list")?;
        bytes.extend(fs::read(folder.join(name))?);
    }
    let target = sh::root().join("target/bench");
    fs::create_dir_all(&target)?;
    let path = target.join("large.fatbin");
    fs::write(&path, &bytes)?;
    Ok(path)
}
