//! Decompiling shaders to HLSL on one thread: programs per second, by encoding.
//!
//! A run decompiles every shader of the corpus from its bytes to text.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use unshade::dxcontainer::Container;

use super::verdict;
use crate::sh;

/// Target: programs per second.
const PROGRAMS: f64 = 500.0;

pub(crate) fn run(runs: usize) -> Result<()> {
    let corpus = sh::env_path("UNSHADE_CORPUS").context("UNSHADE_CORPUS is not set")?;
    let mut files = Vec::new();
    for folder in ["hlsl", "dx"] {
        sh::files_below(&corpus.join(folder), &mut files)?;
    }
    files.sort();
    let mut shaders = Vec::new();
    for path in files {
        shaders.extend(shader(path)?);
    }
    let mut met = true;
    for encoding in ["DXIL", "DXBC", "SM 1-3"] {
        let shaders: Vec<&Shader> = shaders.iter().filter(|shader| shader.encoding == encoding).collect();
        if shaders.is_empty() {
            println!("{encoding}: no programs in the corpus");
            continue;
        }
        let rate = shaders.len() as f64 / best(&shaders, runs).as_secs_f64();
        println!("{encoding}: {} programs, {} lines", shaders.len(), lines(&shaders));
        met &= verdict(
            "programs per second",
            &format!("{rate:.0}"),
            &format!("at least {PROGRAMS}"),
            rate >= PROGRAMS,
        );
    }
    slowest(&shaders);
    ensure!(met, "a target was missed");
    Ok(())
}

/// A compiled shader that can be decompiled.
struct Shader {
    path: PathBuf,
    data: Vec<u8>,
    encoding: &'static str,
}

impl Shader {
    fn decompile(&self) -> Option<String> {
        unshade::hlsl::shader(&self.data).ok().map(|hlsl| hlsl.text())
    }
}

/// Reads a file; [`None`] if it is not a shader.
fn shader(path: PathBuf) -> Result<Option<Shader>> {
    let data = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let encoding = if path.extension().is_some_and(|extension| extension == "d3d9") {
        "SM 1-3"
    } else {
        match Container::parse(&data) {
            Ok(container) if container.find(b"DXIL").is_some() => "DXIL",
            Ok(_) => "DXBC",
            Err(_) => return Ok(None),
        }
    };
    let shader = Shader { path, data, encoding };
    Ok(shader.decompile().is_some().then_some(shader))
}

/// Returns the time of the fastest run over all shaders.
fn best(shaders: &[&Shader], runs: usize) -> Duration {
    let run = || {
        let start = Instant::now();
        for shader in shaders {
            std::hint::black_box(shader.decompile());
        }
        start.elapsed()
    };
    (0..=runs).map(|_| run()).min().unwrap_or_default()
}

fn lines(shaders: &[&Shader]) -> usize {
    shaders.iter().filter_map(|shader| shader.decompile()).map(|text| text.lines().count()).sum()
}

/// Prints the shaders that take longest.
fn slowest(shaders: &[Shader]) {
    let mut times = BTreeMap::new();
    for (index, shader) in shaders.iter().enumerate() {
        times.insert((best(&[shader], 2), index), shader);
    }
    for ((time, _), shader) in times.iter().rev().take(5) {
        let name = shader.path.file_name().unwrap_or_default().to_string_lossy();
        println!("{:>8.1} ms  {name}", time.as_secs_f64() * 1e3);
    }
}
