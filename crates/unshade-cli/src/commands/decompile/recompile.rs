//! `unshade decompile --recompile-with COMMAND`: compiles the HLSL with the user's compiler, and compares the result with the
//! original.

use super::compiler::{Compiler, End, Job};
use crate::Outcome;
use crate::args::{DecompileArgs, GlobalArgs};
use crate::layout;
use crate::output::Stdout;
use crate::paint::{self, Painted, bad, faint, good, grouped, wrapped};
use crate::runner::in_parallel;
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use unshade::core::escape::is_plain;
use unshade::hlsl::Hlsl;
use unshade::hlsl::compare::{Aspect, Comparison, compare};
use unshade::hlsl::target::{Encoding, Target};
use unshade::view::SCHEMA;

/// Width of the column with the aspects, and of that with the results.
const COLUMNS: [usize; 2] = [16, 9];

/// Width of lines, if the terminal's width is unknown.
const WIDTH: usize = 80;

/// The number of differences of an aspect that are printed; --json has more.
const SHOWN: usize = 4;

/// The number of lines of messages that are printed.
const LINES: usize = 60;

/// The output of `--json`.
#[derive(Serialize)]
struct Document {
    schema: u32,
    shaders: Vec<Recompiled>,
}

/// A shader, and what became of it.
#[derive(Serialize)]
struct Recompiled {
    path: String,
    profile: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    entry: String,
    /// `same`, `different`, `failed` or `not compared`.
    result: &'static str,
    /// Why the compiler failed, or why the programs were not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What the compiler printed when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<String>,
    /// The differences, by aspect.
    #[serde(skip_serializing_if = "Option::is_none")]
    aspects: Option<BTreeMap<&'static str, Vec<String>>>,
    /// Instructions of the original and of the recompiled program.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<[usize; 2]>,
    #[serde(skip)]
    comparison: Option<Comparison>,
}

/// Compiles the texts of shaders, given with their path and the original, and prints how they compare.
pub(super) fn run(
    shaders: &[(&str, &Hlsl, &[u8])],
    args: &DecompileArgs,
    command: &str,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let compiler = Compiler::new(command, args.time_limit)?;
    let results = in_parallel(shaders.len(), |at| {
        shaders.get(at).map(|(path, hlsl, data)| recompile(path, hlsl, data, &compiler))
    });
    let recompiled = results.into_iter().flatten().collect::<Result<Vec<Recompiled>>>()?;
    let outcome = recompiled.iter().map(Recompiled::outcome).fold(Outcome::Done, Outcome::and);
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    if global.json {
        let document = Document { schema: SCHEMA, shaders: recompiled };
        writeln!(stdout, "{}", serde_json::to_string_pretty(&document)?)?;
    } else {
        recompiled.iter().try_for_each(|shader| shader.print(&mut stdout))?;
    }
    stdout.finish()?;
    Ok(outcome)
}

fn recompile(path: &str, hlsl: &Hlsl, data: &[u8], compiler: &Compiler) -> Result<Recompiled> {
    let mut recompiled = Recompiled {
        path: path.to_owned(),
        profile: hlsl.profile.clone(),
        entry: hlsl.entry.clone(),
        result: "not compared",
        reason: None,
        messages: None,
        aspects: None,
        instructions: None,
        comparison: None,
    };
    let target = match Target::of(data) {
        Ok(Some(target)) => target,
        Ok(None) => {
            recompiled.reason = Some("there is no program in it".into());
            return Ok(recompiled);
        }
        Err(error) => {
            recompiled.reason = Some(error.to_string());
            return Ok(recompiled);
        }
    };
    let folder = tempfile::Builder::new().prefix("unshade-").tempdir().context("no temporary folder")?;
    let [input, output, messages] =
        ["shader.hlsl", "shader.cso", "messages.txt"].map(|name| folder.path().join(name));
    std::fs::write(&input, hlsl.text()).with_context(|| input.display().to_string())?;
    let options = match target.encoding {
        Encoding::Dxil => target.dxc_options(),
        Encoding::Dxbc | Encoding::Direct3d9 => target.fxc_options(),
    };
    let job = Job {
        input: &input,
        output: &output,
        messages: &messages,
        target: &hlsl.profile,
        entry: &hlsl.entry,
        options: &options,
    };
    if let End::Failed(reason, messages) = compiler.run(&job)? {
        recompiled.result = "failed";
        recompiled.reason = Some(reason);
        recompiled.messages = Some(messages);
        return Ok(recompiled);
    }
    let compiled = std::fs::read(&output).with_context(|| output.display().to_string())?;
    match compare(target.encoding, data, &compiled) {
        Ok(comparison) => recompiled.set(comparison),
        Err(error) => recompiled.reason = Some(error.to_string()),
    }
    Ok(recompiled)
}

impl Recompiled {
    fn set(&mut self, comparison: Comparison) {
        self.result = if comparison.is_same() { "same" } else { "different" };
        let differences = |aspect| (key(aspect), comparison.differences(aspect).to_vec());
        self.aspects = Some(Aspect::ALL.into_iter().map(differences).collect());
        self.instructions = Some(comparison.instructions);
        self.comparison = Some(comparison);
    }

    fn outcome(&self) -> Outcome {
        match self.result {
            "same" => Outcome::Done,
            "different" => Outcome::Finding,
            _ => Outcome::Unreadable,
        }
    }

    fn print(&self, stdout: &mut Stdout) -> Result<()> {
        let entry = if self.entry.is_empty() { "" } else { ", " };
        let text = format!("{}{entry}{}", self.profile, printable(&self.entry));
        layout::heading(&self.path, &text, stdout)?;
        if let Some(comparison) = &self.comparison {
            return Aspect::ALL
                .into_iter()
                .try_for_each(|aspect| aspect_row(aspect, comparison, &self.profile, stdout));
        }
        let reason = self.reason.as_deref().unwrap_or_default();
        let (what, result) = match self.result {
            "failed" => ("compiler", "failed"),
            _ => ("comparison", "failed"),
        };
        row(what, (result, bad), &[reason.to_owned()], stdout)?;
        let messages = self.messages.as_deref().unwrap_or_default();
        for line in messages.lines().take(LINES) {
            writeln!(stdout, "    {}", printable(line.trim_end()))?;
        }
        let more = messages.lines().count().saturating_sub(LINES);
        if more > 0 {
            writeln!(stdout, "    … {} more lines", grouped(more as u64))?;
        }
        Ok(())
    }
}

/// Returns the name of an aspect in JSON.
fn key(aspect: Aspect) -> &'static str {
    match aspect {
        Aspect::Signatures => "signatures",
        Aspect::Bindings => "bindings",
        Aspect::ConstantBuffers => "constant_buffers",
        Aspect::Stage => "stage",
        Aspect::Operations => "operations",
        Aspect::Order => "order",
        Aspect::Code => "code",
    }
}

/// Returns the name of an aspect for people.
fn label(aspect: Aspect, profile: &str) -> &'static str {
    match aspect {
        Aspect::ConstantBuffers => "constant buffers",
        Aspect::Stage if ["cs_", "ms_", "as_"].iter().any(|start| profile.starts_with(start)) => {
            "thread group"
        }
        Aspect::Operations => "instructions",
        _ => key(aspect),
    }
}

fn aspect_row(aspect: Aspect, comparison: &Comparison, profile: &str, stdout: &mut Stdout) -> Result<()> {
    let differences = comparison.differences(aspect);
    let mut notes: Vec<String> = Vec::new();
    let mut is_known = true;
    match aspect {
        Aspect::Operations => {
            let [original, recompiled] = comparison.instructions.map(|count| grouped(count as u64));
            notes.push(if original == recompiled {
                original
            } else {
                format!("{original} became {recompiled}")
            });
            if !differences.is_empty() {
                notes.push(differences.join(", "));
            }
        }
        Aspect::ConstantBuffers if !comparison.has_reflection => {
            is_known = false;
            notes.push("one of the two has no reflection data".into());
        }
        _ => {
            notes.extend(differences.iter().take(SHOWN).cloned());
            let more = differences.len().saturating_sub(SHOWN);
            if more > 0 {
                notes.push(format!("… {more} more (--json)"));
            }
        }
    }
    let result: Word = match (is_known, differences.is_empty()) {
        (false, _) => ("unknown", faint),
        (true, true) => ("same", good),
        (true, false) => ("different", bad),
    };
    row(label(aspect, profile), result, &notes, stdout)
}

/// A result, and its colour.
type Word = (&'static str, fn(String) -> Painted<String>);

/// Prints a row; notes are wrapped in their column.
fn row(label: &str, (result, color): Word, notes: &[String], stdout: &mut Stdout) -> Result<()> {
    let indent = 2 + COLUMNS[0] + 2 + COLUMNS[1] + 2;
    let room = paint::terminal_width().unwrap_or(WIDTH).saturating_sub(indent).max(20);
    let lines: Vec<String> = notes.iter().flat_map(|note| wrapped(&printable(note), room)).collect();
    write!(stdout, "  {}  ", faint(format!("{label:0$}", COLUMNS[0])))?;
    let Some((first, rest)) = lines.split_first() else {
        writeln!(stdout, "{}", color(result.into()))?;
        return Ok(());
    };
    writeln!(stdout, "{}  {first}", color(format!("{result:0$}", COLUMNS[1])))?;
    for line in rest {
        writeln!(stdout, "{:indent$}{line}", "")?;
    }
    Ok(())
}

/// Escapes characters that a terminal would not show as they are. Backslashes stay: paths have them.
fn printable(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, character| {
        match character {
            '\t' => escaped.push_str("    "),
            _ if is_plain(character) => escaped.push(character),
            _ => escaped.extend(character.escape_default()),
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_a_terminal_interprets_is_escaped() {
        assert_eq!(printable("a\u{1b}[1m\tb"), "a\\u{1b}[1m    b");
    }
}
