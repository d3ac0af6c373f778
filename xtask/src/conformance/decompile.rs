//! `cargo xtask conformance decompile`: every function of Kepler at hand as C, counted: what has none, what g++ refuses, how
//! it reads, and how long it takes.
//!
//! Cubins come from `$UNSHADE_CORPUS/cuda`. Of each so-many-th function (`--sample`) the C is compiled, behind
//! `tests/cuda/cuda_host.h`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::decompiler::DEFAULT_BUDGET;
use unshade::nv::Cubin;

use crate::sh;

/// Of so many functions one is compiled, unless `--sample` says otherwise.
const SAMPLE: usize = 20;

/// What is counted.
#[derive(Default)]
struct Tally {
    functions: usize,
    refused: usize,
    with_comments: usize,
    instructions: usize,
    lines: usize,
    gotos: usize,
    casts: usize,
    per_line: Vec<f64>,
    time: Duration,
    texts: Vec<(String, String)>,
}

pub(super) fn run(sample: Option<usize>) -> Result<()> {
    let Some(corpus) = sh::env_path("UNSHADE_CORPUS").map(|folder| folder.join("cuda")) else {
        bail!("UNSHADE_CORPUS/cuda is not there");
    };
    let mut refused = 0;
    for name in ["sm_30", "sm_35", "kernels/sm_35"] {
        let folder = corpus.join(name);
        if folder.is_dir() {
            refused += of_folder(&folder, name, sample.unwrap_or(SAMPLE).max(1))?;
        }
    }
    if refused > 0 {
        bail!("g++ refuses {refused}");
    }
    Ok(())
}

fn of_folder(folder: &Path, name: &str, sample: usize) -> Result<usize> {
    let mut tally = Tally::default();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "cubin"));
    files.sort();
    for path in files {
        let data = std::fs::read(&path)?;
        let Ok(cubin) = Cubin::read(Reader::new(&data)) else { continue };
        if unshade::sass_listing::instruction_set(&cubin).is_some() {
            tally.take(&cubin, sample);
        }
    }
    tally.per_line.sort_by(f64::total_cmp);
    let median = tally.per_line.get(tally.per_line.len() / 2).copied().unwrap_or(0.0);
    let rate = |count: usize| count as f64 * 1000.0 / tally.lines.max(1) as f64;
    println!(
        "{name}: {} functions, {} instructions, {:.1} s",
        tally.functions,
        tally.instructions,
        tally.time.as_secs_f64()
    );
    println!("  refused {}, with something that is no C {}", tally.refused, tally.with_comments);
    println!(
        "  {} lines, one for {median:.2} instructions in the median; of 1,000 lines {:.2} gotos, {:.0} casts",
        tally.lines,
        rate(tally.gotos),
        rate(tally.casts)
    );
    println!(
        "  {:.0} functions of 1,000 instructions a second",
        tally.instructions as f64 / 1000.0 / tally.time.as_secs_f64().max(1e-9)
    );
    let wrong: Vec<String> = tally
        .texts
        .par_iter()
        .filter_map(|(name, text)| compile(name, text).transpose())
        .collect::<Result<_>>()?;
    for line in wrong.iter().take(8) {
        println!("  {line}");
    }
    println!("  g++ takes {} of {}", tally.texts.len() - wrong.len(), tally.texts.len());
    Ok(wrong.len())
}

impl Tally {
    fn take(&mut self, cubin: &Cubin<'_>, sample: usize) {
        let start = Instant::now();
        let mut diagnostics = Diagnostics::new();
        let budget = DEFAULT_BUDGET;
        unshade::decompile::cubin(cubin, &|_| true, budget, &mut diagnostics, &mut |function| {
            self.functions += 1;
            let Ok(found) = function.result else {
                self.refused += 1;
                return;
            };
            self.with_comments += usize::from(found.unlifted > 0);
            self.instructions += function.instructions;
            self.lines += found.lines.len();
            self.gotos += found.gotos;
            self.casts += found.casts;
            self.per_line.push(function.instructions as f64 / found.lines.len().max(1) as f64);
            if self.functions.is_multiple_of(sample) {
                self.texts.push((function.name, found.text()));
            }
        });
        self.time += start.elapsed();
    }
}

/// The first thing that g++ says of a text; none if it takes it.
fn compile(name: &str, text: &str) -> Result<Option<String>> {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cuda/cuda_host.h");
    let mut child = Command::new("g++")
        .args(["-std=c++14", "-w", "-fsyntax-only", "-x", "c++", "-include"])
        .arg(header)
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("g++ is needed")?;
    // Memory whose size the launch says is the host's.
    let mut source = String::new();
    for line in text.lines() {
        match line.trim().strip_prefix("extern __shared__ ").and_then(|rest| rest.strip_suffix(" shared[];"))
        {
            Some(ty) => source.push_str(&format!("{ty} *shared = ({ty} *)cuda_host::dynamic_shared;\n")),
            None => {
                source.push_str(line);
                source.push('\n');
            }
        }
    }
    std::io::Write::write_all(&mut child.stdin.take().context("no standard input")?, source.as_bytes())?;
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| line.contains("error")).unwrap_or("refused");
    let short: String = name.chars().take(60).collect();
    Ok(Some(format!("{short}: {first}")))
}
