//! Microsoft's compilers, which run under Wine: DXC and FXC as DLLs, called by a driver of ours.
//!
//! UNSHADE_HLSL_ORACLE names a folder:
//!
//! | path | what it is |
//! |---|---|
//! | `root/usr/lib/wine/wine64` | Wine 8, unpacked from Debian's packages wine64 and libwine, with `wineserver` beside it |
//! | `pfx` | the prefix; its `system32` has Wine's DLLs and `zlib1.dll` of libz-mingw-w64 |
//! | `d3dcompiler_47.dll` | FXC, of the npm package webgpu 0.6.2 |
//! | `dll/webgpu/…/dxcompiler.dll` | DXC 1.10, of the same package |
//! | `dll/slangpy/…`, `dll/compushady/…` | DXC 1.9 and 1.6, of the PyPI packages slangpy 0.43.1 and compushady 0.17.5 |
//!
//! The driver `driver/compile.cpp` is compiled for Windows with Zig (PyPI package ziglang), if Python has it. One process
//! does many jobs. It is started again after a job that ended it, and ended after a job that takes too long.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;

use crate::sh;

/// Number of jobs of a process.
const BATCH: usize = 200;

/// How long a job may take: more than any of 9,000 shaders needs on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Compiler {
    Fxc,
    Dxc16,
    Dxc19,
    Dxc110,
}

impl Compiler {
    pub(super) const ALL: [Self; 4] = [Self::Fxc, Self::Dxc16, Self::Dxc19, Self::Dxc110];

    /// Returns the name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fxc => "FXC",
            Self::Dxc16 => "DXC 1.6",
            Self::Dxc19 => "DXC 1.9",
            Self::Dxc110 => "DXC 1.10",
        }
    }

    /// Returns the path of its DLL in the folder.
    fn library(self) -> &'static str {
        match self {
            Self::Fxc => "d3dcompiler_47.dll",
            Self::Dxc16 => "dll/compushady/compushady/backends/dxcompiler.dll",
            Self::Dxc19 => "dll/slangpy/slangpy/dxcompiler.dll",
            Self::Dxc110 => "dll/webgpu/package/dist/win32-x64/dxcompiler.dll",
        }
    }
}

/// A file to compile.
pub(super) struct Job {
    pub(super) compiler: Compiler,
    pub(super) source: PathBuf,
    pub(super) profile: String,
    pub(super) entry: String,
    /// The flags of D3DCompile.
    pub(super) flags: u32,
    /// Macros of FXC, arguments of DXC.
    pub(super) options: Vec<String>,
}

/// What became of a job.
pub(super) enum Outcome {
    Compiled(Vec<u8>),
    /// The compiler's messages.
    Refused(String),
    Crashed,
    TimedOut,
}

/// The folder, with the driver.
pub(super) struct Oracle {
    folder: PathBuf,
    driver: PathBuf,
    compilers: Vec<Compiler>,
}

impl Oracle {
    /// Finds the folder and compiles the driver. Says what is missing; `None` if nothing can be compiled.
    pub(super) fn find() -> Result<Option<Self>> {
        let Some(folder) = sh::env_path("UNSHADE_HLSL_ORACLE") else {
            println!("skipped: UNSHADE_HLSL_ORACLE, a folder with DXC, FXC and Wine, is not set");
            return Ok(None);
        };
        let folder = std::path::absolute(folder)?;
        let wine = wine(&folder);
        ensure!(wine.is_file(), "{} is missing", wine.display());
        let (compilers, missing): (Vec<_>, Vec<_>) =
            Compiler::ALL.into_iter().partition(|compiler| folder.join(compiler.library()).is_file());
        for compiler in missing {
            println!("skipped: {}: {} is not in UNSHADE_HLSL_ORACLE", compiler.name(), compiler.library());
        }
        let driver = driver()?;
        Ok(Some(Self { folder, driver, compilers }))
    }

    /// Returns whether a compiler is there.
    pub(super) fn has(&self, compiler: Compiler) -> bool {
        self.compilers.contains(&compiler)
    }

    /// Compiles files, and returns what became of each.
    pub(super) fn compile(&self, jobs: &[Job]) -> Result<Vec<Outcome>> {
        let mut outcomes: Vec<Option<Outcome>> = Vec::new();
        outcomes.resize_with(jobs.len(), || None);
        let numbers = |compiler| (0..jobs.len()).filter(move |&number| jobs[number].compiler == compiler);
        let batches: Vec<Vec<usize>> = Compiler::ALL
            .into_iter()
            .flat_map(|compiler| {
                let all: Vec<usize> = numbers(compiler).collect();
                all.chunks(BATCH).map(<[usize]>::to_vec).collect::<Vec<_>>()
            })
            .collect();
        let done: Vec<(Vec<usize>, Vec<Outcome>)> = batches
            .into_par_iter()
            .map(|numbers| {
                let batch: Vec<&Job> = numbers.iter().map(|&number| &jobs[number]).collect();
                let found = self.batch(&batch)?;
                Ok((numbers, found))
            })
            .collect::<Result<_>>()?;
        for (number, outcome) in done.into_iter().flat_map(|(numbers, found)| numbers.into_iter().zip(found))
        {
            outcomes[number] = Some(outcome);
        }
        outcomes.into_iter().map(|outcome| outcome.context("a job has no outcome")).collect()
    }

    /// Compiles files with one compiler.
    fn batch(&self, jobs: &[&Job]) -> Result<Vec<Outcome>> {
        let Some(compiler) = jobs.first().map(|job| job.compiler) else { return Ok(Vec::new()) };
        let folder = sh::temporary("hlsl");
        std::fs::create_dir_all(&folder)?;
        let list = folder.join("jobs");
        std::fs::write(&list, lines(jobs, &folder)?)?;
        let mut outcomes = Vec::new();
        while outcomes.len() < jobs.len() {
            let before = outcomes.len();
            self.process(compiler, &list, &folder, &mut outcomes)?;
            ensure!(outcomes.len() > before, "the driver of {} does not start", compiler.name());
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(outcomes)
    }

    /// Runs one process until it ends, and adds the outcomes of the jobs that it did, the last of which may have ended it.
    fn process(
        &self,
        compiler: Compiler,
        list: &Path,
        folder: &Path,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<()> {
        let child = self.start(compiler, list, outcomes.len())?;
        let has_ended = follow(child, PATIENCE, |line| {
            ensure!(!line.starts_with("error:"), "{}", line.trim_end());
            outcomes.push(outcome(line, folder, outcomes.len())?);
            Ok(())
        })?;
        if !has_ended {
            outcomes.push(Outcome::TimedOut);
        }
        Ok(())
    }

    fn start(&self, compiler: Compiler, list: &Path, first: usize) -> Result<Child> {
        let kind = if compiler == Compiler::Fxc { "fxc" } else { "dxc" };
        let root = self.folder.join("root/usr/lib");
        let mut command = Command::new(wine(&self.folder));
        command
            .arg(&self.driver)
            .arg(kind)
            .arg(on_wine(&self.folder.join(compiler.library())))
            .arg(on_wine(list))
            .arg(first.to_string())
            .env("WINEPREFIX", self.folder.join("pfx"))
            .env("WINEDLLPATH", root.join("x86_64-linux-gnu/wine"))
            .env("WINESERVER", root.join("wine/wineserver64"))
            .env("WINEDEBUG", "-all")
            // Wine has a d3dcompiler_47.dll of its own, which is not FXC.
            .env(
                "WINEDLLOVERRIDES",
                "d3dcompiler_47=n;mscoree,mshtml=;winemenubuilder.exe,winedbg.exe,explorer.exe=d",
            )
            .env_remove("DISPLAY")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command.spawn().context("cannot start Wine")
    }
}

/// Returns the job list of the driver.
fn lines(jobs: &[&Job], folder: &Path) -> Result<String> {
    let mut text = String::new();
    for (number, job) in jobs.iter().enumerate() {
        let output = on_wine(&folder.join(number.to_string()));
        let flags = job.flags.to_string();
        let mut fields = vec![on_wine(&job.source), output, job.profile.clone(), job.entry.clone(), flags];
        fields.extend(job.options.iter().cloned());
        ensure!(
            !fields.iter().any(|field| field.contains(['\t', '\n'])),
            "{} needs an option with a tab or line break",
            job.source.display()
        );
        text.push_str(&fields.join("\t"));
        text.push('\n');
    }
    Ok(text)
}

/// Visits the lines that a process prints until `end`, and ends it. Returns whether each came in time.
pub(in crate::conformance) fn follow(
    mut child: Child,
    patience: Duration,
    mut visit: impl FnMut(&str) -> Result<()>,
) -> Result<bool> {
    let lines = lines_of(&mut child)?;
    let has_ended = loop {
        match lines.recv_timeout(patience) {
            Ok(line) if line.trim_end() == "end" => break true,
            Ok(line) => visit(&line)?,
            Err(error) => break error == RecvTimeoutError::Disconnected,
        }
    };
    // It has ended, or is to be.
    let _ = child.kill();
    child.wait()?;
    Ok(has_ended)
}

/// Sends the lines of the standard output of a process. A line without an end, after which the process ended, is sent too.
fn lines_of(child: &mut Child) -> Result<Receiver<String>> {
    let mut output = BufReader::new(child.stdout.take().context("no output")?);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        while output.read_line(&mut line).is_ok_and(|count| count > 0) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });
    Ok(receiver)
}

/// Returns what became of the job `number`, of which the driver says `line`.
fn outcome(line: &str, folder: &Path, number: usize) -> Result<Outcome> {
    let (found, status) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
    ensure!(found == number.to_string(), "the driver says `{}` instead of job {number}", line.trim_end());
    let output = folder.join(number.to_string());
    Ok(match status {
        "ok" => Outcome::Compiled(std::fs::read(&output)?),
        "fail" => {
            let messages = std::fs::read(output.with_extension("txt"))?;
            Outcome::Refused(String::from_utf8_lossy(&messages).trim_end_matches('\0').to_owned())
        }
        _ => Outcome::Crashed,
    })
}

fn wine(folder: &Path) -> PathBuf {
    folder.join("root/usr/lib/wine/wine64")
}

/// Returns a path as Windows programs read it: Wine's drive `z:` is the root.
fn on_wine(path: &Path) -> String {
    format!("z:{}", path.display())
}

/// Compiles the driver, unless it is there.
fn driver() -> Result<PathBuf> {
    let source = include_bytes!("driver/compile.cpp");
    let name = format!("hlsl-driver-{}", &sh::sha256_hex(source)[..16]);
    let folder = sh::target().join(&name);
    let program = folder.join("compile.exe");
    if program.is_file() {
        return Ok(program);
    }
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("compile.cpp");
    std::fs::File::create(&file)?.write_all(source)?;
    let mut zig = Command::new("python3");
    zig.args(["-m", "ziglang", "c++", "-target", "x86_64-windows-gnu", "-O1", "-w", "-o"]);
    sh::capture(zig.arg(&program).arg(&file)).context("the driver needs Zig: `pip install ziglang`")?;
    Ok(program)
}
