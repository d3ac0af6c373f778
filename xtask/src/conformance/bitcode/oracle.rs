//! The programs that our text is compared with, and the memory of what they said.
//!
//! A start of `llvm-dis` takes 16 ms and more, which for all modules comes to an hour. So it is started once where
//! that can be done ([`Servers`]), and what it says of a
//! module is kept in `oracles.tsv` of the cache folder, one line for each: the program with its version and options,
//! the SHA-256 of the module, the SHA-256 of the text (or `-`), and the message on standard error. A second run starts
//! it for those modules only whose text differs from ours. Delete the file to ask anew.

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

/// The name of what comes on standard input, in LLVM's messages and in the first line of its texts.
pub(super) const STDIN: &str = "<stdin>";

/// What a program says of a module.
#[derive(Clone)]
pub(super) struct Verdict {
    /// The hash of its text; nothing if it refuses the module.
    pub(super) text: Option<String>,
    /// What it says on standard error; empty if it is content.
    pub(super) message: String,
}

/// A program of a given version, with its options.
pub(super) struct Oracle {
    pub(super) program: &'static str,
    pub(super) dialect: Dialect,
    /// The program with its version and options, as in the memory.
    key: String,
    known: HashMap<String, Verdict>,
    memory: Mutex<File>,
    servers: Servers,
}

impl Oracle {
    /// The program if it is installed; otherwise that is said.
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

    /// What the program says of a module, from memory if it was asked before.
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

    /// The text of a module; empty if the program refuses it.
    pub(super) fn text(&self, module: &[u8]) -> Result<String> {
        Ok(self.ask(module)?.text.unwrap_or_default())
    }

    fn ask(&self, module: &[u8]) -> Result<Answer> {
        let output = self.servers.run(module)?;
        Ok(Answer::new(&output))
    }

    /// Whether `llvm-as` of the same version accepts a text.
    pub(super) fn assembles(&self, text: &str) -> Result<bool> {
        let assembler = self.program.replace("llvm-dis", "llvm-as");
        Ok(super::server::run_once(&[&assembler, "-", "-o", "-"], text.as_bytes())?.status.success())
    }
}

/// What a program answered.
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
        // Any bytes may stand in the text of a module; they are compared in the form in which ours are.
        let text = output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned());
        Self { text, message }
    }
}

/// The first line that says something, without the name of the program.
fn first_message(stderr: &str) -> String {
    let line = stderr.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line
        .split_once(": ")
        .filter(|(program, _)| program.starts_with("llvm-"))
        .map_or(line, |(_, rest)| rest);
    line.replace('\t', " ")
}

fn version_of(program: &str) -> Option<String> {
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
    fn messages_lose_the_name_of_the_program() {
        assert_eq!(first_message("\nllvm-dis-14: error: Invalid record\n"), "error: Invalid record");
        assert_eq!(first_message("warning: ignoring debug info"), "warning: ignoring debug info");
        assert_eq!(first_message(""), "");
    }

    #[test]
    fn lines_of_other_versions_are_passed_over() {
        assert!(remembered("llvm-dis-14 14.0.6\tab\t-\tno", "llvm-dis-14 14.0.5").is_none());
        let (module, verdict) = remembered("llvm-dis-14 14.0.6\tab\t-\tno", "llvm-dis-14 14.0.6").unwrap();
        assert_eq!((module.as_str(), verdict.text, verdict.message.as_str()), ("ab", None, "no"));
        assert!(remembered("llvm-dis-14 14.0.6\tab", "llvm-dis-14 14.0.6").is_none());
    }
}
