//! Compares our text with that of an `llvm-dis`, over a folder of modules.
//!
//! ```text
//! conformance FOLDER EXPECTED [--dialect llvm-14|dxc|llvm-19] [--program llvm-dis-14] [--list N] [--only TEXT]
//! ```
//!
//! Every `*.bc` of FOLDER is printed and compared with the file of the same stem in EXPECTED (`.ll`); with
//! `--program`, missing texts are made by that program first, and what it says is kept beside them (`.err`).
//! Modules without a text count as refused, those with a warning apart: LLVM drops debug info that it finds
//! wrong, and we keep it.
//! Differences are grouped by their first differing line.
//!
//! Exit status: 0 if all that could be compared is identical, 1 if not, 2 on wrong usage.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use unshade_llvm::Module;
use unshade_llvm::print::{self, Dialect, PrintOptions};

struct Options {
    folder: PathBuf,
    expected: PathBuf,
    dialect: Dialect,
    program: Option<String>,
    list: usize,
    only: Option<String>,
}

fn options() -> Option<Options> {
    let mut positional = Vec::new();
    let (mut dialect, mut program, mut list, mut only) = (Dialect::Llvm14, None, 3, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--dialect" => {
                dialect = match arguments.next()?.as_str() {
                    "llvm-14" => Dialect::Llvm14,
                    "dxc" => Dialect::Dxc,
                    "llvm-19" => Dialect::Llvm19,
                    _ => return None,
                }
            }
            "--program" => program = Some(arguments.next()?),
            "--list" => list = arguments.next()?.parse().ok()?,
            "--only" => only = Some(arguments.next()?),
            _ => positional.push(PathBuf::from(argument)),
        }
    }
    let [folder, expected] = positional.try_into().ok()?;
    Some(Options { folder, expected, dialect, program, list, only })
}

enum Outcome {
    Identical,
    Refused,
    Warned,
    /// Line number, our line, their line.
    Different(usize, String, String),
    Failed(String),
}

fn compare(options: &Options, path: &Path) -> Outcome {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let text_path = options.expected.join(format!("{stem}.ll"));
    if let (Some(program), false) = (&options.program, text_path.exists()) {
        let output = Command::new(program)
            .current_dir(&options.folder)
            .arg(&name)
            .arg("-o")
            .arg(std::path::absolute(&text_path).unwrap_or_default())
            .output();
        if let Some(output) = output.ok().filter(|output| !output.stderr.is_empty()) {
            let _ = std::fs::write(text_path.with_extension("err"), output.stderr);
        }
    }
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    let module = match Module::parse(&bytes, 0) {
        Ok(module) => module,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    let mut text = String::new();
    // DXC gives its modules no name.
    let module_id = (options.dialect != Dialect::Dxc).then_some(name.as_str());
    let print_options = PrintOptions { dialect: options.dialect, module_id };
    print::module(&module, &print_options, &mut text);
    let Ok(expected) = std::fs::read(&text_path) else { return Outcome::Refused };
    if text.as_bytes() == expected {
        return Outcome::Identical;
    }
    if text_path.with_extension("err").exists() {
        return Outcome::Warned;
    }
    let expected = String::from_utf8_lossy(&expected);
    let mut theirs = expected.split('\n');
    for (at, ours) in text.split('\n').enumerate() {
        let their = theirs.next().unwrap_or("<end>");
        if ours != their {
            return Outcome::Different(at + 1, ours.into(), their.into());
        }
    }
    Outcome::Different(0, "<end>".into(), theirs.next().unwrap_or("<end>").into())
}

/// The first differing line with numbers and names taken out, so that one cause is one group.
fn cause(ours: &str, theirs: &str) -> String {
    let common = ours.bytes().zip(theirs.bytes()).take_while(|(a, b)| a == b).count();
    let cut = |line: &str| {
        let mut start = common.saturating_sub(12).min(line.len());
        while !line.is_char_boundary(start) {
            start -= 1;
        }
        let part: String = line[start..].chars().take(40).collect();
        part.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>()
    };
    format!("{:?} for {:?}", cut(ours), cut(theirs))
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("usage: conformance FOLDER EXPECTED [--dialect D] [--program P] [--list N] [--only TEXT]");
        return ExitCode::from(2);
    };
    let _ = std::fs::create_dir_all(&options.expected);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&options.folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "bc"));
    if let Some(only) = &options.only {
        paths.retain(|path| path.to_string_lossy().contains(only.as_str()));
    }
    paths.sort();
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = compare(&options, path);
                    outcomes.lock().unwrap().push((path.clone(), outcome));
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by(|one, two| one.0.cmp(&two.0));
    report(&options, &outcomes, start)
}

fn report(options: &Options, outcomes: &[(PathBuf, Outcome)], start: Instant) -> ExitCode {
    let (mut identical, mut refused, mut warned, mut different, mut failed) = (0, 0, 0, 0, 0);
    let mut causes: BTreeMap<String, Vec<(&Path, usize, &str, &str)>> = BTreeMap::new();
    for (path, outcome) in outcomes {
        match outcome {
            Outcome::Identical => identical += 1,
            Outcome::Refused => refused += 1,
            Outcome::Warned => warned += 1,
            Outcome::Failed(error) => {
                failed += 1;
                println!("{}: {error}", path.display());
            }
            Outcome::Different(line, ours, theirs) => {
                different += 1;
                causes.entry(cause(ours, theirs)).or_default().push((path, *line, ours, theirs));
            }
        }
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, modules)| std::cmp::Reverse(modules.len()));
    for (cause, modules) in causes.iter().take(options.list.max(1) * 5) {
        println!("{} × {cause}", modules.len());
        for (path, line, ours, theirs) in modules.iter().take(options.list) {
            println!("  {}:{line}", path.display());
            println!("    ours   {}", ours.chars().take(300).collect::<String>());
            println!("    theirs {}", theirs.chars().take(300).collect::<String>());
        }
    }
    println!(
        "{identical} identical, {different} different, {warned} with a warning of the other program, \
         {refused} without its text, {failed} failed, of {} in {:.1} s",
        outcomes.len(),
        start.elapsed().as_secs_f64()
    );
    if different + failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
