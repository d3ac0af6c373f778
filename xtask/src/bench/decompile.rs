//! The decompiler: real functions on all cores, and functions of increasing size on one.
//!
//! Large functions repeat the body of one of ours, which has a loop and branches.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use unshade::core::{Diagnostics, Reader};
use unshade::decompiler::sass::Code;
use unshade::decompiler::{Options, Source, decompile};
use unshade::nv::Cubin;
use unshade::sass::{assemble, isa};

use super::{peak_memory, program, verdict};
use crate::sh;

/// Target rate: functions of 1,000 instructions per second.
const FUNCTIONS: f64 = 200.0;

/// The sizes of the synthetic functions, in instructions.
const SIZES: [usize; 7] = [500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000];

/// Maximum growth of the time beyond n log n, from 1,000 instructions to the largest function, allowing for noise.
const STEEPER: f64 = 1.25;

/// Maximum memory for the largest function.
const MEMORY: f64 = 512.0;

pub(crate) fn run(runs: usize) -> Result<()> {
    let mut met = real(runs.min(20))?;
    met &= curve(runs.min(5))?;
    ensure!(met, "a target was missed");
    Ok(())
}

/// Measures functions of the corpus.
fn real(runs: usize) -> Result<bool> {
    let corpus = sh::env_path("UNSHADE_CORPUS").context("UNSHADE_CORPUS is not set")?.join("cuda");
    let mut files = Vec::new();
    for name in ["sm_30", "sm_35"] {
        sh::files_below(&corpus.join(name), &mut files)?;
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "cubin"));
    files.sort();
    let files = files.iter().map(std::fs::read).collect::<std::io::Result<Vec<Vec<u8>>>>()?;
    let (mut functions, mut instructions, mut lines) = (0, 0, 0);
    let mut best = f64::MAX;
    for _ in 0..runs {
        (functions, instructions, lines) = (0_usize, 0_usize, 0_usize);
        let start = Instant::now();
        for file in &files {
            let cubin = Cubin::read(Reader::new(file))?;
            if unshade::sass_listing::instruction_set(&cubin).is_none() {
                continue;
            }
            let mut faults = Diagnostics::new();
            unshade::decompile::cubin(&cubin, &|_| true, &Options::default(), &mut faults, &mut |function| {
                functions += 1;
                instructions += function.instructions;
                lines += function.result.map_or(0, |found| found.lines.len());
            });
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let cores = std::thread::available_parallelism()?;
    println!(
        "{functions} functions, {instructions} instructions, {lines} lines in {best:.2} s, {cores} cores"
    );
    println!("{:.0} functions/s, {:.0} lines/s", functions as f64 / best, lines as f64 / best);
    let rate = instructions as f64 / 1000.0 / best;
    let what = "functions of 1,000 instructions per second";
    Ok(verdict(what, &format!("{rate:.0}"), &format!("at least {FUNCTIONS}"), rate >= FUNCTIONS))
}

/// Measures the time by size.
fn curve(runs: usize) -> Result<bool> {
    let mut rates = Vec::new();
    println!("{:>8} instructions {:>10} {:>12} {:>10}", "", "ms", "us each", "lines");
    for size in SIZES {
        let code = body(size)?;
        let mut best = f64::MAX;
        let mut lines = 0;
        for _ in 0..runs {
            let start = Instant::now();
            lines = decompile(&source(&code)?, &Options::default())?.lines.len();
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!(
            "{size:>8} instructions {:>10.1} {:>12.2} {lines:>10}",
            best * 1e3,
            best * 1e6 / size as f64
        );
        rates.push((size as f64, best));
    }
    let scaled = |(size, time): (f64, f64)| time / (size * size.log2());
    let from = rates.iter().copied().find(|rate| rate.0 >= 1000.0).context("a size")?;
    let last = rates.last().copied().context("a size")?;
    let steeper = scaled(last) / scaled(from);
    let mut met = verdict(
        "time relative to n log n, 50,000 vs. 1,000 instructions",
        &format!("{steeper:.2}"),
        &format!("at most {STEEPER}"),
        steeper <= STEEPER,
    );
    met &= refusal()?;
    met &= memory()?;
    Ok(met)
}

/// Checks that a function that exceeds the budget is rejected with a message.
fn refusal() -> Result<bool> {
    let code = body(5_000)?;
    let start = Instant::now();
    let fault = decompile(&source(&code)?, &Options { budget: 1_000, ..Options::default() })
        .err()
        .context("the budget is not enforced")?;
    println!(
        "a budget of 1,000 instructions: \"{fault}\" after {:.1} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    Ok(true)
}

/// Measures the peak memory for a cubin of the corpus with the largest functions.
fn memory() -> Result<bool> {
    let corpus = sh::env_path("UNSHADE_CORPUS").context("UNSHADE_CORPUS is not set")?.join("cuda");
    let mut files = Vec::new();
    sh::files_below(&corpus.join("sm_30"), &mut files)?;
    let size = |path: &std::path::PathBuf| std::fs::metadata(path).map_or(0, |found| found.len());
    let largest = files.iter().max_by_key(|path| size(path)).context("no cubin")?;
    let mut command = program();
    command.arg("decompile").arg(largest).arg("-o").arg("/dev/null").arg("--force");
    let most = peak_memory(&command)? as f64 / 1e6;
    let what = format!("peak memory, a cubin of {}", sh::megabytes(size(largest)));
    Ok(verdict(&what, &format!("{most:.0} MB"), &format!("at most {MEMORY:.0} MB"), most <= MEMORY))
}

fn source(code: &[u8]) -> Result<Source<'_>> {
    let isa = isa::by_architecture(35).context("sm_35")?;
    Ok(Source::kernel("large", Code::new(isa, code), &[8, 8, 4]))
}

/// Generates code with a number of instructions: blocks of loads, arithmetic, a branch and a loop.
fn body(size: usize) -> Result<Vec<u8>> {
    const HEAD: [&str; 7] = [
        "S2R R0, SR_TID.X",
        "MOV32I R1, 0x4",
        "IMAD R2.CC, R0, R1, c[0x0][0x140]",
        "IMAD.HI.X R3, R0, R1, c[0x0][0x144]",
        "LD.E R4, [R2]",
        "LD.E R5, [R2+0x100]",
        "LD.E R6, [R2+0x200]",
    ];
    // `%N` stands for the address N instructions later.
    const STRETCH: [&str; 20] = [
        "FFMA R4, R4, R5, R6",
        "LD.E R7, [R2+0x400]",
        "FADD R5, R5, R7",
        "ISETP.GT.AND P0, PT, R0, c[0x0][0x150], PT",
        "SSY %6",
        "@P0 BRA %3",
        "FMUL R6, R6, R5",
        "NOP.S",
        "FADD R6, R6, R4",
        "NOP.S",
        "MOV32I R8, 0x0",
        "PBK %6",
        "IADD32I R8, R8, 0x1",
        "FFMA R5, R5, R4, R6",
        "ISETP.GE.AND P1, PT, R8, c[0x0][0x150], PT",
        "@P1 BRK",
        "BRA %-4",
        "LOP32I.AND R9, R8, 0xff",
        "IADD R0, R0, R9",
        "ST.E [R2+0x400], R5",
    ];
    const TAIL: [&str; 2] = ["ST.E [R2], R4", "EXIT"];
    let isa = isa::by_architecture(35).context("sm_35")?;
    let mut words: Vec<u64> = Vec::new();
    let repeated = STRETCH.iter().cycle().take(size.saturating_sub(9) / STRETCH.len() * STRETCH.len());
    for text in HEAD.iter().chain(repeated).chain(&TAIL) {
        let address = 8 * words.len() as u64;
        let mut line = String::from(*text);
        if let Some((before, steps)) = text.split_once('%') {
            let steps: i64 = steps.parse()?;
            line = String::from(before);
            let _ = write!(line, "{:#x}", address.wrapping_add_signed(8 * steps));
        }
        let word = assemble::instruction(isa, &line, address, 0);
        let word = word.map_err(|error| anyhow::anyhow!("{line}: {error}"))?;
        words.push(u64::try_from(word)?);
    }
    Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}
