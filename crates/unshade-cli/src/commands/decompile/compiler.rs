//! The command line of the user's compiler (`--recompile-with`): its words, what its placeholders stand for, and its run.
//!
//! No shell reads the command line: words end at blanks outside of quotes, and backslashes are those of Windows' paths. It
//! runs in the user's folder, so relative paths in it work.

use anyhow::{Context as _, Result, bail};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The number of bytes of messages that are read.
const MESSAGES: u64 = 1 << 16;

/// The time between looks at whether a compiler has ended: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// A command line that compiles a text.
#[derive(Debug)]
pub(super) struct Compiler {
    words: Vec<String>,
    limit: Duration,
}

/// What the placeholders of a command line stand for.
pub(super) struct Job<'j> {
    pub input: &'j Path,
    pub output: &'j Path,
    /// The file for what the compiler prints.
    pub messages: &'j Path,
    /// The profile, such as `ps_5_0`.
    pub target: &'j str,
    /// The entry point; empty for a library.
    pub entry: &'j str,
    /// The options that the original was compiled with, as far as it says, for DXC and for FXC.
    pub options: &'j [&'static str],
}

/// How a compiler ended.
pub(super) enum End {
    /// It wrote an output file.
    Compiled,
    /// It did not, for this reason, with these messages.
    Failed(String, String),
}

/// Compilers whose command line is known: how their name begins, the arguments, and those that are left out for a library.
const KNOWN: [(&str, &[&str], &[&str]); 2] = [
    ("dxc", &["{options}", "-T", "{target}", "-Fo", "{output}", "{input}"], &["-E", "{entry}"]),
    ("fxc", &["/nologo", "{options}", "/T", "{target}", "/Fo", "{output}", "{input}"], &["/E", "{entry}"]),
];

const PLACEHOLDERS: [&str; 5] = ["{input}", "{output}", "{target}", "{entry}", "{options}"];

impl Compiler {
    /// Reads a command line.
    pub(super) fn new(command: &str, seconds: u64) -> Result<Self> {
        let mut words = words(command)?;
        let has = |words: &[String], name: &str| words.iter().any(|word| word.contains(name));
        if !PLACEHOLDERS.iter().any(|name| has(&words, name)) {
            let Some((prefix, arguments)) = known_arguments(&words) else {
                bail!(
                    "--recompile-with: the arguments of `{}` are not known, unlike those of dxc and fxc\n  hint: write \
                     them with {{input}}, {{output}}, {{target}} and {{entry}}",
                    command.escape_debug()
                );
            };
            words.extend(arguments.map(|argument| match *argument {
                "{input}" | "{output}" => format!("{prefix}{argument}"),
                _ => (*argument).to_owned(),
            }));
        }
        for name in ["{input}", "{output}"] {
            if !has(&words, name) {
                bail!("--recompile-with: there is no {name} in `{}`", command.escape_debug());
            }
        }
        Ok(Self { words, limit: Duration::from_secs(seconds) })
    }

    /// Returns the words with what the placeholders stand for.
    fn arguments(&self, job: &Job<'_>) -> Vec<OsString> {
        let path = |path: &Path| path.display().to_string();
        let values = [path(job.input), path(job.output), job.target.to_owned(), job.entry.to_owned()];
        let mut arguments = Vec::new();
        let mut words = self.words.iter().peekable();
        while let Some(word) = words.next() {
            if word == "{options}" {
                arguments.extend(job.options.iter().map(OsString::from));
                continue;
            }
            // A library has no entry point, and the option before it stands for nothing.
            if job.entry.is_empty()
                && is_entry_option(word)
                && words.next_if(|word| *word == "{entry}").is_some()
            {
                continue;
            }
            arguments.push(replaced(word, &values).into());
        }
        arguments
    }

    /// Compiles a text.
    pub(super) fn run(&self, job: &Job<'_>) -> Result<End> {
        let arguments = self.arguments(job);
        let (program, arguments) = arguments.split_first().context("the command is empty")?;
        let output = File::create(job.messages)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let mut child = command
            .spawn()
            .with_context(|| format!("can't run {}", program.display().to_string().escape_debug()))?;
        let Some(status) = wait(&mut child, self.limit)? else {
            child.kill()?;
            child.wait()?;
            let reason = format!("it did not end within {} s", self.limit.as_secs());
            return Ok(End::Failed(reason, messages(job)?));
        };
        if status.success() && job.output.is_file() {
            return Ok(End::Compiled);
        }
        let reason = match status.code() {
            Some(0) => String::from("it wrote no output file"),
            Some(code) => format!("exit status {code}"),
            None => String::from("it was ended by a signal"),
        };
        Ok(End::Failed(reason, messages(job)?))
    }
}

/// Returns the arguments of a compiler that is known by its name, and the start of paths.
fn known_arguments(
    words: &[String],
) -> Option<(&'static str, impl Iterator<Item = &'static &'static str> + use<>)> {
    let is_wine = words.first().is_some_and(|word| name_of(word).starts_with("wine"));
    let name = name_of(words.get(usize::from(is_wine))?);
    let (_, arguments, entry) = KNOWN.iter().find(|(start, ..)| name.starts_with(start))?;
    // Programs of Windows take a path with a slash in front for an option.
    Some((if is_wine { "z:" } else { "" }, entry.iter().chain(*arguments)))
}

/// Returns the name of a program without its folder, in small letters.
fn name_of(word: &str) -> String {
    word.rsplit(['/', '\\']).next().unwrap_or(word).to_lowercase()
}

fn is_entry_option(word: &str) -> bool {
    matches!(word, "-E" | "/E")
}

/// Replaces placeholders from left to right, so that those in values stay.
fn replaced(word: &str, values: &[String; 4]) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some(start) = rest.find('{') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        match PLACEHOLDERS.iter().zip(values).find(|(name, _)| rest.starts_with(**name)) {
            Some((name, value)) => {
                text.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                text.push('{');
                rest = &rest[1..];
            }
        }
    }
    text + rest
}

/// Splits a command line into words at blanks outside of quotes.
fn words(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == character => quote = None,
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        bail!("--recompile-with: a quote has no end in `{}`", line.escape_debug());
    }
    words.extend(word);
    if words.is_empty() {
        bail!("--recompile-with: the command is empty");
    }
    Ok(words)
}

/// Waits for a process; `None` if it does not end within the limit.
fn wait(child: &mut std::process::Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let started = Instant::now();
    let [mut pause, longest] = PAUSES;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = limit.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(longest);
    }
}

/// Returns what a compiler printed, with the name of the text's file in place of its path.
fn messages(job: &Job<'_>) -> Result<String> {
    let mut bytes = Vec::new();
    File::open(job.messages)?.take(MESSAGES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let folder =
        job.input.parent().map(|folder| format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR));
    Ok(match folder {
        Some(folder) => text.replace(&folder, ""),
        None => text.into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(command: &str, entry: &str) -> Vec<String> {
        let compiler = Compiler::new(command, 1).expect("a command");
        let (input, output) = (Path::new("/t/in.hlsl"), Path::new("/t/out"));
        let job = Job { input, output, messages: output, target: "ps_6_0", entry, options: &["-Od"] };
        compiler.arguments(&job).into_iter().map(|word| word.into_string().expect("UTF-8")).collect()
    }

    #[test]
    fn arguments_of_known_compilers_are_added() {
        let expected = ["dxc", "-O1", "-E", "main", "-Od", "-T", "ps_6_0", "-Fo", "/t/out", "/t/in.hlsl"];
        assert_eq!(arguments("dxc -O1", "main"), expected);
        let library = arguments(r"C:\tools\DXC.exe", "");
        assert_eq!(library[1..], ["-Od", "-T", "ps_6_0", "-Fo", "/t/out", "/t/in.hlsl"]);
        let wine = arguments("wine64 ./fxc.exe", "f");
        let expected = ["/nologo", "-Od", "/T", "ps_6_0", "/Fo", "z:/t/out", "z:/t/in.hlsl"];
        assert_eq!(wine[2..4], ["/E", "f"]);
        assert_eq!(wine[4..], expected);
    }

    #[test]
    fn placeholders_are_replaced_once() {
        let expected = ["my tool", "-p=ps_6_0/{output}", "/t/in.hlsl", "", "{x}>/t/out"];
        assert_eq!(
            arguments("'my tool' -p={target}/{entry} {input} \"\" {x}>{output}", "{output}"),
            expected
        );
    }

    #[test]
    fn commands_that_compile_nothing_are_refused() {
        for (command, reason) in [
            ("", "is empty"),
            ("cc \"x", "has no end"),
            ("cc x.hlsl", "are not known"),
            ("cc {input}", "no {output}"),
        ] {
            let error = Compiler::new(command, 1).expect_err(command).to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
