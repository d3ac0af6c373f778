//! Writing Metal libraries: parsing and rewriting the largest one in any package.
//!
//! `unshade edit` without an edit does exactly that. `cp` of the same file measures the speed of the disk at the time.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};

use super::{in_turn, large_library, milliseconds, peak_memory, program, verdict};
use crate::sh;

pub(crate) fn run(runs: usize) -> Result<()> {
    let library = large_library()?;
    let size = fs::metadata(&library)?.len();
    println!("input: {} ({})", library.display(), sh::megabytes(size));
    let folder = sh::root().join("target/bench/metallib-write");
    fs::create_dir_all(&folder)?;
    let (written, copied) = (folder.join("written.metallib"), folder.join("copied.metallib"));
    let edit = || {
        let mut edit = program();
        edit.arg("edit").arg(&library).arg("--force").arg("-o").arg(&written);
        edit
    };

    let times = in_turn(&mut [&mut edit(), Command::new("cp").arg(&library).arg(&copied)], runs)?;
    ensure!(fs::read(&library)? == fs::read(&written)?, "writing changes the library");
    println!(
        "     round trip {} best, {} median; cp {} best, {} median",
        milliseconds(times[0].best()),
        milliseconds(times[0].median()),
        milliseconds(times[1].best()),
        milliseconds(times[1].median())
    );
    let rate = |seconds: f64| size as f64 / seconds / 1e9;
    let (ours, disk) = (rate(times[0].best().as_secs_f64()), rate(times[1].best().as_secs_f64()));
    let mut met = verdict(
        "round trip, whole process, best",
        &format!("{ours:.2} GB/s"),
        &format!("at least 1 GB/s, or the rate of cp, {disk:.2} GB/s"),
        ours >= disk.min(1.0),
    );
    let memory = peak_memory(&edit())?;
    let beside = memory.saturating_sub(size);
    met &= verdict(
        "round trip, peak resident memory besides the file",
        &sh::megabytes(beside),
        "at most 64 MB",
        beside <= 64_000_000,
    );
    fs::remove_dir_all(&folder)?;
    ensure!(met, "not every target was met");
    Ok(())
}
