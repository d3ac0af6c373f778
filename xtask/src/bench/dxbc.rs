//! Direct3D bytecode: disassembling a folder of containers, compared with `vkd3d-compiler -b d3d-asm`.
//!
//! Three comparisons of the same files in the same order. vkd3d reads one file per process, so a folder takes one
//! process per file; files that vkd3d rejects are skipped for both.
//!
//! | comparison | unshade | vkd3d |
//! |---|---|---|
//! | over a folder | `unshade dis --raw FOLDER`, the whole process | one process per file |
//! | work only | the library on one thread, without process startup | one process per file, minus as many processes that only start |
//! | as processes | one process per file | one process per file |
//!
//! The target applies to the first, the rate over a folder. The others are informative: the work is the small
//! difference of two large times, a tenth of a millisecond per file, in which vkd3d prints only the program, but
//! unshade also prints the tables of resources and signatures and checks the digest; and a process per file is
//! dominated by process startup. Both discard their output.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use unshade::core::Diagnostics;
use unshade::dxcontainer::Container;
use unshade::fxc_listing::print_fxc;

use super::{Times, milliseconds, program, verdict};
use crate::sh;

/// Target: the rate relative to vkd3d.
const TIMES: f64 = 20.0;

pub(crate) fn run(runs: usize) -> Result<()> {
    let corpus = sh::env_path("UNSHADE_CORPUS").context("UNSHADE_CORPUS is not set")?.join("dx");
    let theirs = vkd3d().context("vkd3d-compiler with d3d-asm is not on the PATH")?;
    let files = files(&corpus, &theirs)?;
    let size = files.iter().map(|(_, data)| data.len() as u64).sum::<u64>();
    println!("input: {} containers that both accept, {}", files.len(), sh::megabytes(size));

    let folder = folder_of(&files)?;
    let ours = program();
    let mut times: [Times; 6] = std::array::from_fn(|_| Times(Vec::new()));
    for round in 0..=runs.min(10) {
        let taken = [
            timed(|| quiet(Command::new(ours.get_program()).args(["dis", "--raw"]).arg(&folder)))?,
            timed(|| list_all(&files))?,
            timed(|| {
                each(&files, |path| quiet(Command::new(ours.get_program()).args(["dis", "--raw"]).arg(path)))
            })?,
            timed(|| quiet(Command::new(ours.get_program()).arg("--version")))?,
            timed(|| each(&files, |path| quiet(&mut disassembly(&theirs, path))))?,
            timed(|| each(&files, |_| quiet(Command::new(&theirs).arg("--version"))))?,
        ];
        // The first round warms up.
        for (times, taken) in times.iter_mut().zip(taken).filter(|_| round > 0) {
            times.0.push(taken);
        }
    }
    report(&times.map(|times| times.median()), files.len())
}

/// Prints the medians and the derived ratios.
fn report(
    [folder, alone, processes, start, theirs, their_starts]: &[Duration; 6],
    count: usize,
) -> Result<()> {
    println!("     unshade: the folder {}, one startup {}", milliseconds(*folder), milliseconds(*start));
    println!("     unshade, the library on one thread: {}", milliseconds(*alone));
    println!("     unshade, one process per file: {}", milliseconds(*processes));
    println!(
        "     vkd3d, a process a file: {}; as many starts {}",
        milliseconds(*theirs),
        milliseconds(*their_starts)
    );
    let rate = |time: Duration| count as f64 / time.as_secs_f64();
    let work = theirs.saturating_sub(*their_starts);
    println!("     files/s: unshade {:.0}, vkd3d {:.0}", rate(*folder), rate(*theirs));
    let aim = format!("at least {TIMES:.0} x");
    let folder = theirs.as_secs_f64() / folder.as_secs_f64();
    let met = verdict("the folder, to vkd3d", &format!("{folder:.0} x"), &aim, folder >= TIMES);
    println!("     without startup {:.1} x", work.as_secs_f64() / alone.as_secs_f64());
    println!("     as processes {:.1} x", theirs.as_secs_f64() / processes.as_secs_f64());
    ensure!(met, "a target was missed");
    Ok(())
}

/// Creates a folder with exactly these files.
fn folder_of(files: &[(PathBuf, Vec<u8>)]) -> Result<PathBuf> {
    let folder = sh::root().join("target/bench/dxbc");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for (number, (_, data)) in files.iter().enumerate() {
        fs::write(folder.join(format!("{number:04}.dxbc")), data)?;
    }
    Ok(folder)
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Reads and lists files, discarding the text.
fn list_all(files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    let mut text = String::new();
    for (path, _) in files {
        // vkd3d reads the files, too.
        let data = fs::read(path)?;
        text.clear();
        print_fxc(&Container::parse(&data)?, &mut text, &mut Diagnostics::new())?;
    }
    Ok(())
}

fn each(files: &[(PathBuf, Vec<u8>)], work: impl Fn(&Path) -> Result<()>) -> Result<()> {
    files.iter().try_for_each(|(path, _)| work(path))
}

fn quiet(command: &mut Command) -> Result<()> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot start `{}`", sh::shown(command)))?;
    ensure!(status.success(), "`{}` failed", sh::shown(command));
    Ok(())
}

fn disassembly(program: &Path, file: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["-x", "dxbc-tpf", "-b", "d3d-asm"]).arg(file);
    command
}

/// Returns the containers of the corpus with a token program that both programs accept.
fn files(corpus: &Path, theirs: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut paths = Vec::new();
    sh::files_below(corpus, &mut paths)?;
    paths.sort();
    let mut files = Vec::new();
    let mut refused = [0, 0];
    for path in paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "dxbc")) {
        let data = fs::read(&path)?;
        let Ok(container) = Container::parse(&data) else { continue };
        if unshade::fxc_listing::token_program(&container).is_none() {
            continue;
        }
        let listed = print_fxc(&container, &mut String::new(), &mut Diagnostics::new()).is_ok();
        let read = quiet(&mut disassembly(theirs, &path)).is_ok();
        refused[0] += u32::from(!listed);
        refused[1] += u32::from(!read);
        if listed && read {
            files.push((path, data));
        }
    }
    println!("skipped: {} that unshade rejects, {} that vkd3d rejects", refused[0], refused[1]);
    Ok(files)
}

/// Returns the first vkd3d-compiler on the PATH that supports Direct3D assembly (1.3 or later).
fn vkd3d() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let writes_assembly = |program: &PathBuf| {
        let output = Command::new(program).args(["-x", "dxbc-tpf", "--print-target-types"]).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("d3d-asm"))
    };
    env::split_paths(&path).map(|folder| folder.join("vkd3d-compiler")).find(writes_assembly)
}
