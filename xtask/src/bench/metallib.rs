//! Metal libraries: the largest one in any package, and a whole unpacked wheel.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{in_turn, large_library, milliseconds, peak_memory, program, unpacked, verdict};
use crate::sh;

/// The wheel to scan.
const SCANNED_WHEEL: (&str, &str) = ("torch", "2.15.0");

pub(crate) fn run(runs: usize) -> Result<()> {
    let library = large_library()?;
    let size = fs::metadata(&library)?.len();
    println!("input: {} ({})", library.display(), sh::megabytes(size));
    let mut met = true;

    let list = &in_turn(&mut [program().arg("list").arg(&library)], runs)?[0];
    let memory = peak_memory(program().arg("list").arg(&library))?;
    let best = list.best().as_secs_f64() * 1e3;
    met &= verdict("list, whole process, best", &milliseconds(list.best()), "under 40 ms", best < 40.0);
    met &= verdict(
        "list, peak resident memory including the mapped file",
        &sh::megabytes(memory),
        "under 64 MB besides the file",
        memory < 64_000_000,
    );

    let times = in_turn(
        &mut [
            program().env("RAYON_NUM_THREADS", "2").args(["verify", "--quick"]).arg(&library),
            Command::new("openssl").args(["dgst", "-sha256"]).arg(&library),
        ],
        runs,
    )?;
    let ratio = times[1].median().as_secs_f64() / times[0].median().as_secs_f64();
    println!(
        "     verify --quick {}, openssl dgst {}, medians",
        milliseconds(times[0].median()),
        milliseconds(times[1].median())
    );
    met &= verdict(
        "verify --quick, 2 threads, relative to openssl dgst -sha256",
        &format!("{ratio:.2} x"),
        "at least 1.6 x",
        ratio >= 1.6,
    );

    let wheel = unpacked(SCANNED_WHEEL)?;
    let (files, bytes) = count(&wheel)?;
    println!("input: {} ({files} files, {})", wheel.display(), sh::megabytes(bytes));
    let scan = &in_turn(&mut [program().arg("scan").arg(&wheel)], runs)?[0];
    let rate = bytes as f64 / scan.best().as_secs_f64() / 1e9;
    println!("     scan {} best, {} median", milliseconds(scan.best()), milliseconds(scan.median()));
    met &= verdict(
        "scan of an unpacked wheel, best",
        &format!("{rate:.2} GB/s"),
        "at least 1 GB/s",
        rate >= 1.0,
    );

    ensure!(met, "not every target was met");
    Ok(())
}

/// Returns the number of files below a folder, and their total size.
fn count(folder: &Path) -> Result<(u64, u64)> {
    let mut total = (0, 0);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let (files, bytes) = if metadata.is_dir() { count(&entry.path())? } else { (1, metadata.len()) };
        total = (total.0 + files, total.1 + bytes);
    }
    Ok(total)
}
