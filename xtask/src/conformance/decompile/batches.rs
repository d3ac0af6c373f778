//! Compiles many texts per compiler process. Each is in its own namespace and has its own file name, so that errors
//! can be attributed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::decompiler::c::Language;

use crate::sh;

/// Maximum size of a file in bytes.
const FULL: usize = 1 << 20;

/// The number of a text, and its position in the file.
struct Part {
    number: usize,
    text: std::ops::Range<usize>,
}

/// A text that does not compile.
pub(super) struct Refused {
    /// The first error.
    pub(super) said: String,
    /// The text.
    pub(super) text: String,
}

/// Files in a folder, each with many texts.
pub(super) struct Batches {
    folder: PathBuf,
    language: &'static Language,
    text: String,
    parts: Vec<Part>,
    files: Vec<(PathBuf, Vec<Part>)>,
    count: usize,
}

impl Batches {
    pub(super) fn new(folder: &Path, language: &'static Language) -> Self {
        Self {
            folder: folder.to_owned(),
            language,
            text: String::new(),
            parts: Vec::new(),
            files: Vec::new(),
            count: 0,
        }
    }

    /// Adds a text. Returns its number.
    pub(super) fn add(&mut self, text: &str) -> Result<usize> {
        let number = self.count;
        self.count += 1;
        let start = self.text.len();
        self.text.push_str(&wrapped(number, text));
        self.parts.push(Part { number, text: start..self.text.len() });
        if self.text.len() >= FULL {
            self.spill()?;
        }
        Ok(number)
    }

    fn spill(&mut self) -> Result<()> {
        let path = self.folder.join(format!("batch{}.cpp", self.files.len()));
        fs::write(&path, &self.text).with_context(|| path.display().to_string())?;
        self.text.clear();
        self.files.push((path, std::mem::take(&mut self.parts)));
        Ok(())
    }

    /// Compiles all texts. Returns those that do not compile, by number.
    pub(super) fn compile(mut self) -> Result<BTreeMap<usize, Refused>> {
        self.spill()?;
        let compiler = Compiler::new(&self.folder, self.language)?;
        let refused: Vec<BTreeMap<usize, Refused>> = self
            .files
            .par_iter()
            .map(|(path, parts)| {
                let refused = of_file(path, parts, &compiler);
                let _ = fs::remove_file(path);
                refused
            })
            .collect::<Result<_>>()?;
        Ok(refused.into_iter().flatten().collect())
    }
}

/// Wraps a text in its namespace.
fn wrapped(number: usize, text: &str) -> String {
    let mut all = format!("namespace f{number} {{\n#line 1 \"f{number}\"\n");
    all.push_str(&for_host(text));
    all.push_str("}\n");
    all
}

/// Adapts a text to a namespace of its own: its kernels have C++ names, and its dynamic shared memory is the global one.
pub(super) fn for_host(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.trim().starts_with("extern __shared__ ")) {
        all.push_str(line.strip_prefix("extern \"C\" ").unwrap_or(line));
        all.push('\n');
    }
    all
}

/// Compiles a file with g++. Texts with errors are removed and the others compiled again, so that no text is blamed for
/// errors caused by preceding ones.
fn of_file(path: &Path, parts: &[Part], compiler: &Compiler) -> Result<BTreeMap<usize, Refused>> {
    let mut refused = BTreeMap::new();
    let all = fs::read_to_string(path)?;
    loop {
        let mut command = compiler.command();
        command.args(["-fsyntax-only", "-fmax-errors=0", "-include", compiler.header, "-I"]);
        let output = command.arg(&compiler.folder).arg(path).output().context("g++ is needed")?;
        if output.status.success() {
            return Ok(refused);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let before = refused.len();
        for line in said.lines().filter(|line| line.contains("error")) {
            let number = line.strip_prefix('f').and_then(|rest| rest.split(':').next()?.parse().ok());
            let part = parts.iter().find(|part| Some(part.number) == number);
            if let Some(part) = part {
                let text = String::from(&all[part.text.clone()]);
                refused.entry(part.number).or_insert_with(|| Refused { said: String::from(line), text });
            }
        }
        ensure!(refused.len() > before, "g++ fails: {}", sh::last_lines(&said, 8));
        let left = parts.iter().filter(|part| !refused.contains_key(&part.number));
        let text: String = left.map(|part| &all[part.text.clone()]).collect();
        fs::write(path, text)?;
    }
}

/// g++ for a language.
struct Compiler {
    folder: PathBuf,
    /// The header that declares the names of the language.
    header: &'static str,
    standard: &'static str,
}

impl Compiler {
    /// Precompiles the header in a folder.
    fn new(folder: &Path, language: &Language) -> Result<Self> {
        unshade_tests::closed_loop::write_headers(folder)?;
        let (header, standard) = match &language.header {
            Some(header) => (header.name, "-std=c++11"),
            None => ("cuda_host.h", "-std=c++14"),
        };
        let compiler = Self { folder: folder.to_owned(), header, standard };
        let mut command = compiler.command();
        command.args(["-x", "c++-header"]).arg(folder.join(header));
        sh::capture(command.arg("-o").arg(folder.join(format!("{header}.gch"))))?;
        Ok(compiler)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("g++");
        command.args([self.standard, "-w", "-fwrapv", "-fno-strict-aliasing"]);
        command
    }
}
