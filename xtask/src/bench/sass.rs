//! Machine code: whole cubins compared with `cuobjdump -sass`, and the disassembler alone.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use unshade::core::{Diagnostics, Reader};
use unshade::nv::Cubin;
use unshade::sass_listing::{self, SassOptions};

use super::{in_turn, program, verdict};
use crate::sh;

/// Target: the rate relative to cuobjdump.
const TIMES: f64 = 50.0;

/// Target: megabytes of code per second.
const MEGABYTES: f64 = 20.0;

pub(crate) fn run(runs: usize) -> Result<()> {
    let corpus = sh::env_path("UNSHADE_CORPUS").context("UNSHADE_CORPUS is not set")?.join("cuda");
    let cubins = cubins(&corpus)?;
    let mut met = steady(&cubins)?;
    match cuobjdump() {
        Some(cuobjdump) => {
            let all = |program: &str, option: &[&str]| {
                let commands: Vec<String> = cubins
                    .iter()
                    .map(|path| {
                        format!("'{program}' {} '{}' {}", option[0], path.display(), option[1..].join(" "))
                    })
                    .collect();
                commands.join(" && ")
            };
            let ours = program().get_program().to_string_lossy().into_owned();
            let mut commands = [Command::new("sh"), Command::new("sh")];
            commands[0].args(["-c", &all(&ours, &["dis", "--raw"])]);
            commands[1].args(["-c", &all(&cuobjdump.to_string_lossy(), &["-sass"])]);
            let [ours, theirs] = &mut commands;
            let times = in_turn(&mut [ours, theirs], runs.min(5))?;
            let ratio = times[1].median().as_secs_f64() / times[0].median().as_secs_f64();
            met &= verdict(
                "dis --raw of all sm_35 cubins, as processes, vs. cuobjdump",
                &format!("{ratio:.0} times as fast"),
                &format!("at least {TIMES:.0}"),
                ratio >= TIMES,
            );
        }
        None => println!("cuobjdump 11.2 is not on the PATH: no comparison"),
    }
    ensure!(met, "a target was missed");
    Ok(())
}

/// Measures decoding and printing on one thread.
fn steady(cubins: &[PathBuf]) -> Result<bool> {
    let files = cubins.iter().map(fs::read).collect::<std::io::Result<Vec<Vec<u8>>>>()?;
    let options = SassOptions { raw: true, ..SassOptions::default() };
    let mut best = f64::MAX;
    let mut code = 0_u64;
    let mut text = String::new();
    for _ in 0..10 {
        code = 0;
        let start = Instant::now();
        for file in &files {
            let cubin = Cubin::read(Reader::new(file))?;
            code += cubin.code_sections().map(|section| section.size).sum::<u64>();
            text.clear();
            sass_listing::cubin(&cubin, &|_| true, options, &mut Diagnostics::new(), &mut text);
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let rate = code as f64 / 1e6 / best;
    let what = format!("listing of {} of code, one thread", sh::megabytes(code));
    Ok(verdict(&what, &format!("{rate:.1} MB/s"), &format!("at least {MEGABYTES} MB/s"), rate >= MEGABYTES))
}

fn cubins(corpus: &std::path::Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(corpus.join("sm_35"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cubin") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn cuobjdump() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join("cuobjdump")).find(|program| program.is_file())
}
