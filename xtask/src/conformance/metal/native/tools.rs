//! clang, and what is built with it once: the runtime, and the header as a precompiled one.
//!
//! Everything is in a folder of the target folder, whose name has the digest of `tests/metal` and the version of clang.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::sh;

/// Options of both sides: no fused operations, and functions of the C library as they are called.
const COMMON: [&str; 6] = ["-O1", "-fPIC", "-mf16c", "-fno-math-errno", "-fno-builtin", "-w"];

/// Options of sources. Numbers without a suffix are floats in Metal, and each operation on halves rounds. Variables without
/// a value are zero, as in modules ([`module`](super::module)), and reading them lets clang conclude nothing.
const SOURCE: [&str; 13] = [
    "-ftrivial-auto-var-init=zero",
    "-Xclang",
    "-no-enable-noundef-analysis",
    "-std=c++20",
    "-fdeclspec",
    "-fno-exceptions",
    "-fno-rtti",
    "-ffp-contract=on",
    "-Wno-c++11-narrowing",
    "-Xclang",
    "-cl-single-precision-constant",
    "-Xclang",
    "-ffloat16-excess-precision=none",
];

/// Options of the preprocessor, which leaves qualifiers to be lowered.
const PREPROCESS: [&str; 6] = ["-x", "c++", "-E", "-P", "-nostdinc", "-DHOST_MACROS_ONLY"];

/// The files of the runtime.
const RUNTIME: [&str; 5] = ["main.cpp", "memory.cpp", "alignment.cpp", "threads.cpp", "air.cpp"];

/// The tools.
pub(super) struct Tools {
    clang: PathBuf,
    include: PathBuf,
    header: PathBuf,
    /// The program that runs jobs.
    pub(super) runner: PathBuf,
}

impl Tools {
    /// Finds clang and builds the rest. Says what is missing.
    pub(super) fn find() -> Result<Option<Self>> {
        let Some(clang) = super::super::clang() else { return Ok(None) };
        let source = sh::root().join("tests/metal");
        let folder = sh::target().join(format!("metal-native-{}", &digest(&source, &clang)?[..16]));
        let tools = Self {
            clang,
            include: source.join("include"),
            header: folder.join("metal_stdlib.pch"),
            runner: folder.join("run"),
        };
        println!("compiler: {}", sh::shown(&Command::new(&tools.clang)));
        if !tools.runner.is_file() {
            fs::create_dir_all(&folder)?;
            tools.build(&source, &folder)?;
        }
        Ok(Some(tools))
    }

    fn build(&self, source: &Path, folder: &Path) -> Result<()> {
        let mut header = self.source();
        header.args(["-x", "c++-header"]).arg(self.include.join("metal_stdlib")).arg("-o").arg(&self.header);
        sh::capture(&mut header).context("the header of Metal")?;
        let mut objects = Vec::new();
        for name in RUNTIME {
            let object = folder.join(name).with_extension("o");
            // The functions of modules are compiled with Metal's header, the rest with that of C++.
            let mut command = if name == "air.cpp" { self.source() } else { Command::new(&self.clang) };
            command.args(["-std=c++20", "-O1", "-c", "-x", "c++"]).arg(source.join("runtime").join(name));
            sh::capture(command.arg("-o").arg(&object)).context("the runtime")?;
            objects.push(object);
        }
        let mut link = Command::new(&self.clang);
        link.arg("-rdynamic").args(objects).arg("-o").arg(&self.runner).args(["-ldl", "-lm"]);
        sh::capture(&mut link).context("the runtime")?;
        Ok(())
    }

    fn source(&self) -> Command {
        let mut command = Command::new(&self.clang);
        command.args(COMMON).args(SOURCE).arg("-nostdinc").arg("-I").arg(&self.include);
        command
    }

    /// Runs the preprocessor on a source. Returns its messages, if it fails.
    pub(super) fn preprocess(&self, source: &Path, includes: &[PathBuf]) -> Result<Result<String, String>> {
        let mut command = Command::new(&self.clang);
        command.args(PREPROCESS).arg("-I").arg(&self.include);
        for folder in includes {
            command.arg("-I").arg(folder);
        }
        let output = command.arg(source).output()?;
        Ok(match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        })
    }

    /// Checks a lowered source without making anything of it. Returns the first error, if there is one.
    pub(super) fn check_source(&self, source: &Path) -> Result<Option<String>> {
        let mut command = self.source();
        command.arg("-include-pch").arg(&self.header).args(["-fsyntax-only", "-x", "c++"]).arg(source);
        let output = command.output().context("clang does not start")?;
        let messages = String::from_utf8_lossy(&output.stderr);
        Ok((!output.status.success()).then(|| first_error(&messages)))
    }

    /// Compiles a lowered source to a library. Returns the first error, if there is one.
    pub(super) fn compile_source(&self, source: &Path, library: &Path) -> Result<Option<String>> {
        let mut command = self.source();
        command.arg("-include-pch").arg(&self.header).args(["-x", "c++"]).arg(source);
        link(command, library)
    }

    /// Compiles the bitcode of a module to a library. Returns the first error, if there is one.
    pub(super) fn compile_module(&self, bitcode: &Path, library: &Path) -> Result<Option<String>> {
        let mut command = Command::new(&self.clang);
        command.args(COMMON).args(["-x", "ir"]).arg(bitcode);
        link(command, library)
    }
}

/// Makes a library of what a command compiles. Its functions call each other, whatever the C library has.
fn link(mut command: Command, library: &Path) -> Result<Option<String>> {
    command.args(["-shared", "-Wl,-Bsymbolic", "-x", "none", "-o"]).arg(library).arg("-lm");
    let output = command.output().context("clang does not start")?;
    let messages = String::from_utf8_lossy(&output.stderr);
    Ok((!output.status.success()).then(|| first_error(&messages)))
}

/// Returns the first error without names and numbers, so that the same ones are counted together.
pub(super) fn first_error(messages: &str) -> String {
    let line = messages.lines().find(|line| line.contains("error:"));
    let line = line.or_else(|| messages.lines().next()).unwrap_or("no message");
    let message = line.split_once("error:").map_or(line, |(_, message)| message).trim();
    let words =
        message.split('\'').enumerate().map(|(number, text)| if number % 2 == 1 { "_" } else { text });
    words.collect::<Vec<_>>().join("'")
}

/// Returns the digest of the files of a folder and the compiler's version.
fn digest(folder: &Path, clang: &Path) -> Result<String> {
    let mut files = Vec::new();
    sh::files_below(folder, &mut files)?;
    files.sort();
    let mut all = sh::capture(Command::new(clang).arg("--version"))?.stdout;
    for path in files {
        all.extend(path.to_string_lossy().bytes());
        all.extend(fs::read(&path)?);
    }
    for option in COMMON.iter().chain(&SOURCE) {
        all.extend(option.bytes());
    }
    Ok(sh::sha256_hex(&all))
}

#[cfg(test)]
mod tests {
    use super::first_error;

    #[test]
    fn errors_are_told_apart_without_names() {
        let messages = "In file a:\nb.cpp:1:2: error: unknown type 'x'; did you mean 'y'?\n";
        assert_eq!(first_error(messages), "unknown type '_'; did you mean '_'?");
        assert_eq!(first_error(""), "no message");
    }
}
