//! The programs that our text is compared with, and a cache of their results.
//!
//! Starting `llvm-dis` takes at least 16 ms, an hour for all modules. So it is started once where possible
//! ([`Servers`]), and its results are cached in `oracles.tsv` of the cache folder, one line per module: the program
//! with its version and options, the SHA-256 of the module, the SHA-256 of the text (or `-`), and the message on
//! standard error. A second run only needs the texts of modules that differ from ours. Delete the file to clear the
//! cache.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Mutex;

use anyhow::{Context as _, Result};
use unshade::llvm::print::Dialect;

use super::server::Servers;
use crate::{corpus, sh};

/// The name of standard input in LLVM's messages and in the first line of its texts.
pub(super) const STDIN: &str = "<stdin>";

/// The result of a program for a module.
#[derive(Clone)]
pub(super) struct Verdict {
    /// The hash of its text; none if it rejects the module.
    pub(super) text: Option<String>,
    /// Its message on standard error; empty if there is none.
    pub(super) message: String,
}

/// A program of a specific version, with its options.
pub(super) struct Oracle {
    pub(super) program: &'static str,
    pub(super) dialect: Dialect,
    /// The program with its version and options, the key in the cache.
    key: String,
    known: HashMap<String, Verdict>,
    memory: Mutex<File>,
    servers: Servers,
}

impl Oracle {
    /// Returns the program if it is installed; otherwise prints a notice.
    pub(super) fn find(
        program: &'static str,
        options: &'static [&'static str],
        dialect: Dialect,
    ) -> Result<Option<Self>> {
        let Some(version) = version_of(program) else {
            println!("skipped: {program} is not installed");
            return Ok(None);
        };
        let mut key = format!("{program} {version}");
        for option in options {
            key.extend([" ", option]);
        }
        let path = memory_path()?;
        let known = match fs::read_to_string(&path) {
            Ok(text) => text.lines().filter_map(|line| remembered(line, &key)).collect(),
            Err(_) => HashMap::new(),
        };
        let memory = OpenOptions::new().append(true).create(true).open(&path);
        let memory = Mutex::new(memory.with_context(|| format!("cannot write {}", path.display()))?);
        let command = [&[program], options, &["-", "-o", "-"]].concat();
        Ok(Some(Self { program, dialect, key, known, memory, servers: Servers::new(&command) }))
    }

    /// Returns the result for a module, from the cache if possible.
    pub(super) fn verdict(&self, module: &[u8]) -> Result<Verdict> {
        let hash = sh::sha256_hex(module);
        if let Some(verdict) = self.known.get(&hash) {
            return Ok(verdict.clone());
        }
        let answer = self.ask(module)?;
        let text = answer.text.map(|text| sh::sha256_hex(text.as_bytes()));
        let verdict = Verdict { text, message: answer.message };
        let line = format!(
            "{}\t{hash}\t{}\t{}\n",
            self.key,
            verdict.text.as_deref().unwrap_or("-"),
            verdict.message
        );
        if let Ok(mut memory) = self.memory.lock() {
            memory.write_all(line.as_bytes())?;
        }
        Ok(verdict)
    }

    /// Returns the text of a module; empty if the program rejects it.
    pub(super) fn text(&self, module: &[u8]) -> Result<String> {
        Ok(self.ask(module)?.text.unwrap_or_default())
    }

    fn ask(&self, module: &[u8]) -> Result<Answer> {
        let output = self.servers.run(module)?;
        Ok(Answer::new(&output))
    }

    /// Returns whether `llvm-as` of the same version accepts a text.
    pub(super) fn assembles(&self, text: &str) -> Result<bool> {
        let assembler = self.program.replace("llvm-dis", "llvm-as");
        Ok(super::server::run_once(&[&assembler, "-", "-o", "-"], text.as_bytes())?.status.success())
    }
}

/// The output of a program.
struct Answer {
    text: Option<String>,
    message: String,
}

impl Answer {
    fn new(output: &Output) -> Self {
        let mut message = first_message(&String::from_utf8_lossy(&output.stderr));
        if let Some(signal) = output.status.signal() {
            message = format!("signal {signal}: {message}");
        }
        // The text of a module may contain any bytes; convert them as for our text.
        let text = output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned());
        Self { text, message }
    }
}

/// Returns the first nonempty line, without the name of the program.
fn first_message(stderr: &str) -> String {
    let line = stderr.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line
        .split_once(": ")
        .filter(|(program, _)| program.starts_with("llvm-"))
        .map_or(line, |(_, rest)| rest);
    line.replace('\t', " ")
}

pub(super) fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| Some(line.split_once("version ")?.1.trim().to_owned()))
}

fn memory_path() -> Result<PathBuf> {
    Ok(corpus::cache_dir(None)?.join("oracles.tsv"))
}

fn remembered(line: &str, key: &str) -> Option<(String, Verdict)> {
    let mut columns = line.split('\t');
    let (program, module, text, message) =
        (columns.next()?, columns.next()?, columns.next()?, columns.next()?);
    let text = (text != "-").then(|| text.to_owned());
    (program == key).then(|| (module.to_owned(), Verdict { text, message: message.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::{first_message, remembered};

    #[test]
    fn messages_omit_the_name_of_the_program() {
        assert_eq!(first_message("\nllvm-dis-14: error: Invalid record\n"), "error: Invalid record");
        assert_eq!(first_message("warning: ignoring debug info"), "warning: ignoring debug info");
        assert_eq!(first_message(""), "");
    }

    #[test]
    fn lines_of_other_versions_are_ignored() {
        assert!(remembered("llvm-dis-14 14.0.6\tab\t-\tno", "llvm-dis-14 14.0.5").is_none());
        let (module, verdict) = remembered("llvm-dis-14 14.0.6\tab\t-\tno", "llvm-dis-14 14.0.6").unwrap();
        assert_eq!((module.as_str(), verdict.text, verdict.message.as_str()), ("ab", None, "no"));
        assert!(remembered("llvm-dis-14 14.0.6\tab", "llvm-dis-14 14.0.6").is_none());
    }
}
