//! Modules of many front ends and targets.
//!
//! The tests of clang and flang, in the source packages of the set `llvm-tests`, need no headers, and their `RUN` lines
//! name targets and options: C, C++, Objective-C, OpenCL, CUDA, HIP, HLSL and OpenMP for some thirty targets. LDC
//! compiles its own library. A file is compiled once per target of its `RUN` lines, and GPU kernels at every level of
//! [`LEVELS`]. Modules are taken in an order that only depends on their names, and cached in `front-ends/` of the cache
//! folder. Front ends that are missing are named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use rayon::prelude::*;

use super::c_files::{find_files, unpack};
use super::{Input, Place};
use crate::{corpus, sh};

/// Maximum number of modules per front end.
const MODULES: usize = 1200;

/// Maximum number of targets per file.
const TARGETS: usize = 4;

/// Additional options for GPU kernels, by the name of the level.
const LEVELS: [(&str, &[&str]); 4] = [
    ("", &[]),
    (" -O0", &["-O0"]),
    (" -O2", &["-O2"]),
    (" -O2 -g", &["-O2", "-debug-info-kind=limited", "-dwarf-version=5"]),
];

/// The folders of GPU kernels start with one of these names.
const KERNELS: [&str; 3] = ["clang/test/CodeGenCUDA", "clang/test/CodeGenHIP", "clang/test/CodeGenOpenCL"];

/// Maximum time per file, in seconds.
const PATIENCE: &str = "60";

/// A compiler with files to compile.
pub(super) struct FrontEnd {
    /// The name in the report, which is the program.
    pub(super) name: &'static str,
    /// The version of LLVM that writes its modules.
    pub(super) llvm: u32,
    sources: Sources,
}

enum Sources {
    /// Files below `clang/test` of the source package of this version, with the options of a `RUN` line.
    Clang(&'static str),
    /// Fortran files below `flang/test` of the source package of this version.
    Flang(&'static str),
    /// D files in this folder of the system.
    Ldc(&'static str),
}

/// All front ends.
pub(super) const ALL: [FrontEnd; 9] = [
    FrontEnd { name: "clang-13", llvm: 13, sources: Sources::Clang("14") },
    FrontEnd { name: "clang-14", llvm: 14, sources: Sources::Clang("14") },
    FrontEnd { name: "clang-15", llvm: 15, sources: Sources::Clang("14") },
    FrontEnd { name: "clang-16", llvm: 16, sources: Sources::Clang("19") },
    FrontEnd { name: "clang-19", llvm: 19, sources: Sources::Clang("19") },
    FrontEnd { name: "clang-22", llvm: 22, sources: Sources::Clang("19") },
    FrontEnd { name: "flang-new-19", llvm: 19, sources: Sources::Flang("19") },
    FrontEnd { name: "flang-22", llvm: 22, sources: Sources::Flang("19") },
    FrontEnd { name: "ldc2", llvm: 14, sources: Sources::Ldc("/usr/lib/ldc/x86_64-linux-gnu/include/d") },
];

const CLANG_EXTENSIONS: [&str; 8] = ["c", "cpp", "m", "mm", "cl", "cu", "hip", "hlsl"];

/// One module to compile.
struct Job {
    /// The path of the file, the number of its target unless that is the first, and the level.
    name: String,
    path: String,
    options: Vec<String>,
}

/// Compiles the files of a front end, unless cached.
pub(super) fn modules(front_end: &FrontEnd, sample: Option<usize>) -> Result<Vec<Input>> {
    let count = sample.unwrap_or(MODULES).min(MODULES);
    if sh::find(front_end.name).is_none() {
        println!("skipped: {} is not installed", front_end.name);
        return Ok(Vec::new());
    }
    let (root, folder, extensions) = match front_end.sources {
        Sources::Clang(version) => (tests(version)?, "clang/test", &CLANG_EXTENSIONS[..]),
        Sources::Flang(version) => (tests(version)?, "flang/test", &["f90", "f"][..]),
        Sources::Ldc(folder) => {
            (Path::new(folder).is_dir().then(|| PathBuf::from(folder)), "std", &["d"][..])
        }
    };
    let Some(root) = root else {
        println!("skipped: sources for {} are not there", front_end.name);
        return Ok(Vec::new());
    };
    let mut paths = Vec::new();
    for extension in extensions {
        find_files(&root, &root.join(folder), extension, &mut paths)?;
    }
    let jobs: Vec<Vec<Job>> =
        paths.par_iter().map(|path| jobs(front_end, &root, path)).collect::<Result<_>>()?;
    let mut jobs: Vec<Job> = jobs.into_iter().flatten().collect();
    jobs.sort_by_cached_key(|job| sh::sha256_hex(format!("{} {}", front_end.name, job.name).as_bytes()));
    let cache = corpus::cache_dir(None)?.join("front-ends").join(front_end.name);
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let mut inputs = Vec::new();
    for jobs in jobs.chunks(64) {
        let compiled: Vec<Option<Input>> =
            jobs.par_iter().map(|job| compile(front_end, &root, job, &cache)).collect::<Result<_>>()?;
        inputs.extend(compiled.into_iter().flatten());
        if inputs.len() >= count {
            break;
        }
    }
    inputs.truncate(count);
    Ok(inputs)
}

/// Returns the modules to compile from a file.
fn jobs(front_end: &FrontEnd, root: &Path, path: &str) -> Result<Vec<Job>> {
    let job = |name: String, options: Vec<String>| Job { name, path: path.to_owned(), options };
    let fixed = |options: &[&str]| options.iter().map(|&option| option.to_owned()).collect();
    Ok(match front_end.sources {
        Sources::Flang(_) => vec![job(path.to_owned(), fixed(&["-fc1", "-emit-llvm-bc", "-O1"]))],
        Sources::Ldc(_) => vec![job(path.to_owned(), fixed(&["-c", "--output-bc", "-O2", "-g"]))],
        Sources::Clang(_) => {
            let source = root.join(path);
            let text = fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
            let is_kernel = KERNELS.iter().any(|folder| path.starts_with(folder));
            let levels = if is_kernel { &LEVELS[..] } else { &LEVELS[..1] };
            let mut jobs = Vec::new();
            for (at, options) in run_options(&String::from_utf8_lossy(&text), &source).iter().enumerate() {
                for (level, more) in levels {
                    let number = if at == 0 { String::new() } else { format!(" {}", at + 1) };
                    let more = more.iter().map(|&option| option.to_owned());
                    let options = options.iter().cloned().chain(more).collect();
                    jobs.push(job(format!("{path}{number}{level}"), options));
                }
            }
            jobs
        }
    })
}

/// Returns the folder of a version's source package, with the tests of front ends.
fn tests(version: &str) -> Result<Option<PathBuf>> {
    let packages = corpus::cached_set(corpus::Set::LlvmTests)?;
    let package = packages.into_iter().find(|(package, _)| package.ends_with(version));
    let Some((_, archive)) = package else { return Ok(None) };
    let into = corpus::cache_dir(None)?.join("unpacked-front-ends");
    // Not every version has tests of flang, and tar fails on members that are missing.
    let members: &[&str] = match version {
        "14" => &["*/clang/test/CodeGen*", "*/clang/test/OpenMP*"],
        _ => &[
            "*/clang/test/CodeGen*",
            "*/clang/test/OpenMP*",
            "*/flang/test/Lower*",
            "*/flang/test/Integration*",
        ],
    };
    unpack(&archive, &into, members).map(Some)
}

/// Compiles one module. An empty file in the cache marks one that does not compile.
fn compile(front_end: &FrontEnd, root: &Path, job: &Job, cache: &Path) -> Result<Option<Input>> {
    let target = cache.join(format!("{}.bc", job.name.replace('/', "+").replace(' ', "_")));
    if !target.exists() {
        let mut command = Command::new("timeout");
        command.args([PATIENCE, front_end.name]).current_dir(cache);
        if matches!(front_end.sources, Sources::Clang(_)) {
            let include = resource_folder(front_end.name)?.join("include");
            command.arg("-cc1").arg("-internal-isystem").arg(include).args(["-emit-llvm-bc", "-w"]);
        }
        command.args(&job.options);
        match front_end.sources {
            Sources::Ldc(_) => command.arg(format!("-of={}", target.display())),
            _ => command.arg("-o").arg(&target),
        };
        let compiled = command.arg(root.join(&job.path)).output()?.status.success() && is_bitcode(&target);
        if !compiled {
            fs::write(&target, []).with_context(|| format!("cannot write {}", target.display()))?;
        }
    }
    let name = format!("{}: {}", front_end.name, job.name);
    Ok(is_bitcode(&target).then_some(Input { name, place: Place::File(target) }))
}

fn is_bitcode(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"BC\xC0\xDE"))
}

/// Returns the folder of the headers that a clang brings along.
fn resource_folder(program: &str) -> Result<PathBuf> {
    let output = sh::capture(Command::new(program).arg("-print-resource-dir"))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end()))
}

/// Returns the options of the `RUN` lines that print LLVM assembly, without input and output: the first line per target.
fn run_options(text: &str, source: &Path) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n// RUN:", " ").replace("\\\n// RUN: ", " ");
    let lines = joined.lines().filter_map(|line| line.split_once("RUN:")?.1.split_once("%clang_cc1"));
    let mut found = Vec::new();
    let mut targets = Vec::new();
    for (before, line) in lines {
        if !line.contains("-emit-llvm") || line.contains(['"', '\'', '\\']) || line.contains("-verify") {
            continue;
        }
        let options = line.split(['|', ';', '>', '<', '&']).next().unwrap_or("");
        if before.contains("not") || options.contains("%t") || options.contains("%{") {
            continue;
        }
        let mut words = options.split_whitespace();
        let target = words.find(|word| *word == "-triple").and_then(|_| words.next()).unwrap_or("");
        if targets.contains(&target) || targets.len() == TARGETS {
            continue;
        }
        targets.push(target);
        found.extend(compiler_options(options, source));
    }
    found
}

/// Returns the options of a `RUN` line without input and output, and with its substitutions.
fn compiler_options(options: &str, source: &Path) -> Option<Vec<String>> {
    let folder = source.parent()?.to_str()?;
    let words = options.split_whitespace().filter(|word| {
        !matches!(*word, "-emit-llvm" | "-emit-llvm-bc" | "-emit-llvm-only" | "-o" | "-" | "%s" | "2")
    });
    let words = words.map(|word| {
        word.replace("%itanium_abi_triple", "x86_64-linux-gnu")
            .replace("%ms_abi_triple", "i686-pc-win32")
            .replace("%S", folder)
    });
    Some(words.collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::run_options;

    #[test]
    fn options_of_a_test() {
        let text = "// RUN: %clang_cc1 -triple armv7 -S -o - %s\n\
                    // RUN: %clang_cc1 -triple aarch64 -I %S/Inputs \\\n// RUN:   -emit-llvm -o - %s | FileCheck %s\n\
                    // RUN: %clang_cc1 -triple aarch64 -O1 -emit-llvm %s\n\
                    // RUN: %clang_cc1 -triple wasm32 -emit-llvm %s -o -\n";
        let options = run_options(text, Path::new("/tests/a.c"));
        assert_eq!(options, [&["-triple", "aarch64", "-I", "/tests/Inputs"][..], &["-triple", "wasm32"]]);
        assert!(run_options("// RUN: not %clang_cc1 -emit-llvm %s", Path::new("/a.c")).is_empty());
    }
}
