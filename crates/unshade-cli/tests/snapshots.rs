//! Checks the program's output against the files in `tests/snapshots`.
//!
//! A snapshot is a text file of commands and their output:
//!
//! ```text
//! // Why this is shown.
//! $ unshade list tests/fixtures/metallib/empty_92.metallib
//! …standard output
//! · before lines that are empty or begin like a command or a comment
//! ! …lines of standard error
//! [exit 1]                    unless it is 0
//! ```
//!
//! Commands run in a new folder per snapshot, with links to the workspace's `tests` and `LICENSE-MIT`, so that no
//! output depends on the folder's path. They write to `tmp`. `sh$ …` runs a shell instead, so only Unix systems replay
//! these snapshots. `BLESS=1` rewrites the differing snapshots; look at the difference before committing it.

#![cfg(unix)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn snapshots() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for file in files {
        let expected = fs::read_to_string(&file).unwrap();
        let found = replay(&expected, file.file_stem().unwrap().to_str().unwrap());
        if expected == found {
            continue;
        }
        if bless {
            fs::write(&file, found).unwrap();
        } else {
            wrong.push(format!("{}:\n{}", file.display(), first_difference(&expected, &found)));
        }
    }
    assert!(wrong.is_empty(), "{}\n(BLESS=1 rewrites the snapshots)", wrong.join("\n"));
}

/// Runs the commands of a snapshot and records their output.
fn replay(snapshot: &str, name: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("tmp")).unwrap();
    for linked in ["tests", "LICENSE-MIT"] {
        std::os::unix::fs::symlink(root().join(linked), folder.join(linked)).unwrap();
    }
    let mut out = String::new();
    for line in snapshot.lines() {
        let command = if let Some(arguments) = line.strip_prefix("$ unshade") {
            unshade(&split_words(arguments))
        } else if let Some(script) = line.strip_prefix("sh$ ") {
            shell(script)
        } else {
            if line.starts_with("// ") {
                writeln!(out, "{line}").unwrap();
            }
            continue;
        };
        writeln!(out, "{line}").unwrap();
        write_output(&mut out, &run(command, &folder));
    }
    out
}

fn write_output(out: &mut String, output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
    for line in text(&output.stdout).lines() {
        // An empty line, or one that looks like a part of the snapshot itself, gets a mark in front.
        let is_marked = line.is_empty() || ["$ ", "sh$ ", "// "].iter().any(|mark| line.starts_with(mark));
        writeln!(out, "{}{line}", if is_marked { "·" } else { "" }).unwrap();
    }
    for line in text(&output.stderr).lines() {
        writeln!(out, "! {line}").unwrap();
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => writeln!(out, "[exit {code}]").unwrap(),
        None => panic!("the program was ended by a signal"),
    }
}

fn run(mut command: Command, folder: &Path) -> Output {
    command.current_dir(folder).env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE");
    command.output().unwrap()
}

fn unshade(arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unshade"));
    command.args(arguments);
    command
}

fn shell(script: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_unshade"));
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("PATH", path);
    command
}

/// Splits a line into words like a shell, with single quotes.
fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn first_difference(expected: &str, found: &str) -> String {
    let (mut expected, mut found) = (expected.lines(), found.lines());
    let mut number = 1;
    loop {
        match (expected.next(), found.next()) {
            (None, None) => return "they differ in line ends".into(),
            (one, other) if one != other => {
                return format!(
                    "  line {number}\n  expected {}\n  found    {}",
                    one.unwrap_or("(the end)"),
                    other.unwrap_or("(the end)")
                );
            }
            _ => number += 1,
        }
    }
}
