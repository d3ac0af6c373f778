//! `unshade verify`: checks structure, sizes and every hash, and whether Metal libraries agree with their modules.

use super::programs::{FileJson, ProgramJson, each_file, each_program};
use crate::Outcome;
use crate::args::{GlobalArgs, VerifyArgs};
use crate::output::Stdout;
use crate::paint::{self, counted, good, grouped};
use crate::runner::AllProcessors;
use anyhow::Result;
use serde::Serialize;
use std::io::Write;
use unshade::carve::Condition;
use unshade::core::{Diagnostics, Error, ErrorKind};
use unshade::program::{Hashes, Verb, Verdict, VerifyDepth};
use unshade::view::FindingView;

#[derive(Serialize)]
struct VerifyJson {
    #[serde(flatten)]
    head: ProgramJson,
    /// The counts of functions and matching hashes, for programs whose functions have hashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matching_hashes: Option<u64>,
    errors: usize,
    warnings: usize,
    /// The number of findings beyond those listed.
    #[serde(skip_serializing_if = "is_zero")]
    suppressed: usize,
    findings: Vec<FindingView>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

pub(crate) fn run(args: &VerifyArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut stdout = Stdout::new(false);
    let depth = if args.quick { VerifyDepth::Quick } else { VerifyDepth::Whole };
    let outcome = each_file(&args.files.files, |input| {
        let mut outcome = Outcome::Done;
        let mut programs = Vec::new();
        let carving = each_program(input, Verb::Verify, &global.limits(), |visited| {
            let mut verdict = Verdict { diagnostics: damage(visited.find), ..Verdict::default() };
            verdict.diagnostics.append(visited.diagnostics);
            if let Some(program) = visited.program {
                let checked = program.verify(&AllProcessors, depth);
                verdict.hashes = checked.hashes;
                verdict.diagnostics.append(checked.diagnostics);
            }
            let diagnostics = &verdict.diagnostics;
            if diagnostics.has_errors() || (args.strict && diagnostics.warnings() > 0) {
                outcome = Outcome::Finding;
            }
            if !global.json {
                return print(&visited.find.path.to_string(), &verdict, &mut stdout);
            }
            programs.push(VerifyJson {
                head: ProgramJson::new(visited.find),
                functions: verdict.hashes.map(|hashes| hashes.functions),
                matching_hashes: verdict.hashes.map(|hashes| hashes.matching),
                errors: diagnostics.errors(),
                warnings: diagnostics.warnings(),
                suppressed: diagnostics.suppressed(),
                findings: super::findings(diagnostics),
            });
            Ok(())
        })?;
        if global.json {
            stdout.json(&FileJson::new(input, programs, &carving), false)?;
        }
        Ok(if carving.has_errors() { outcome.and(Outcome::Finding) } else { outcome })
    })?;
    stdout.finish()?;
    Ok(outcome)
}

/// Returns the damage of a program that was recognised but has a bad header.
fn damage(find: &unshade::carve::Find<'_>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    if find.condition == Condition::Damaged {
        let at = find.file_offset.unwrap_or(find.path.offset());
        let message = "starts like a program, but the rest of the header is damaged";
        diagnostics.error("header", Error::new(ErrorKind::BadValue, at, message));
    }
    diagnostics
}

fn print(path: &str, verdict: &Verdict, stdout: &mut Stdout) -> Result<()> {
    let diagnostics = &verdict.diagnostics;
    for diagnostic in diagnostics {
        writeln!(stdout, "{}", paint::diagnostic(path, diagnostic))?;
    }
    if diagnostics.suppressed() > 0 {
        writeln!(stdout, "{path}: … and {} more findings", grouped(diagnostics.suppressed() as u64))?;
    }
    let mut counts = Vec::new();
    if diagnostics.has_errors() {
        counts.push(paint::bad(counted(diagnostics.errors() as u64, "error")).to_string());
    }
    if diagnostics.warnings() > 0 {
        counts.push(counted(diagnostics.warnings() as u64, "warning"));
    }
    match (counts.is_empty(), verdict.hashes) {
        (true, Some(Hashes { functions, .. })) => {
            let hashes = if functions == 0 { "" } else { ", every hash matches" };
            writeln!(stdout, "{path}: {}, {}{hashes}", good("sound"), counted(functions, "function"))?;
        }
        (true, None) => writeln!(stdout, "{path}: {}", good("sound"))?,
        (false, Some(Hashes { functions, .. })) => {
            writeln!(stdout, "{path}: {} in {}", counts.join(" and "), counted(functions, "function"))?;
        }
        (false, None) => writeln!(stdout, "{path}: {}", counts.join(" and "))?,
    }
    Ok(())
}
