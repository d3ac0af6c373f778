//! `unshade check`: whether Metal libraries load on an OS, and if not, why.

use super::findings;
use super::programs::{FileJson, ProgramJson, each_file, each_program, print_diagnostics};
use crate::Outcome;
use crate::args::{CheckArgs, GlobalArgs};
use crate::output::Stdout;
use crate::paint::{bad, faint, good, name};
use crate::progress::Progress;
use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use std::io::Write;
use unshade::load_check::{
    Finding, LibraryFacts, ModuleFacts, Outcome as Loading, Report, Status, Step, Target, check, made_for,
    minimum,
};
use unshade::metallib::Library;
use unshade::program::{NamedLibrary, Verb};
use unshade::view::FindingView;

/// Maximum number of modules that are read before their results are merged.
const BATCH: usize = 1_024;

#[derive(Serialize)]
struct CheckJson {
    #[serde(flatten)]
    head: ProgramJson,
    libraries: Vec<LibraryJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

#[derive(Serialize)]
struct LibraryJson {
    #[serde(skip_serializing_if = "String::is_empty")]
    slice: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    made_for: Option<Target>,
    /// For each requested platform, the oldest OS version on which every rule holds.
    needs: Vec<Target>,
    reports: Vec<Report>,
}

pub(crate) fn run(args: &CheckArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let outcome = each_file(&args.files.files, |input| {
        let mut outcome = Outcome::Done;
        let mut programs = Vec::new();
        let carving = each_program(input, Verb::Check, &global.limits(), |visited| {
            let diagnostics = visited.diagnostics;
            let libraries = visited.program.map(|program| program.metal_libraries()).unwrap_or_default();
            let libraries: Vec<_> = libraries.iter().map(|named| check_library(named, &args.os)).collect();
            let fails =
                |library: &LibraryJson| library.reports.iter().any(|report| report.outcome.is_failure());
            if libraries.iter().any(fails) || diagnostics.has_errors() {
                outcome = Outcome::Finding;
            }
            if global.json {
                let head = ProgramJson::new(visited.find);
                programs.push(CheckJson { head, libraries, findings: findings(&diagnostics) });
                return Ok(());
            }
            let path = visited.find.path.to_string();
            print_diagnostics(&path, &diagnostics);
            for library in &libraries {
                print(&path, library, args.verbose, &mut stdout)?;
            }
            Ok(())
        })?;
        if global.json {
            stdout.json(&FileJson::new(input, programs, &carving), false)?;
        }
        Ok(outcome)
    })?;
    stdout.finish()?;
    Ok(outcome)
}

fn check_library(named: &NamedLibrary<'_>, targets: &[Target]) -> LibraryJson {
    let library = &named.library;
    let facts = facts(library);
    let own = made_for(&facts);
    let targets = if targets.is_empty() { own.as_slice() } else { targets };
    let mut needs: Vec<Target> = Vec::new();
    for target in targets {
        if needs.iter().all(|known| known.platform != target.platform) {
            needs.extend(minimum(&facts, target.platform));
        }
    }
    LibraryJson {
        slice: named.slice.clone(),
        made_for: own,
        needs,
        reports: targets.iter().map(|&target| check(&facts, target)).collect(),
    }
}

/// Reads the modules on all processors.
fn facts(library: &Library<'_>) -> LibraryFacts {
    let functions: Vec<_> = library.functions().map_while(std::result::Result::ok).collect();
    let progress = Progress::new("reading", functions.len() as u64);
    let batches = functions.chunks(BATCH).flat_map(|batch| {
        progress.advance(batch.len() as u64);
        let read: Vec<_> = batch.par_iter().map(|function| ModuleFacts::read(library, function)).collect();
        read.into_iter().zip(batch.iter().cloned())
    });
    LibraryFacts::new(library, batches)
}

fn print(path: &str, library: &LibraryJson, verbose: bool, stdout: &mut Stdout) -> Result<()> {
    let slice = if library.slice.is_empty() { String::new() } else { format!(" ({})", library.slice) };
    if library.reports.is_empty() {
        writeln!(stdout, "{}{slice}: does not say what it was made for; give --os", name(path))?;
    }
    for report in &library.reports {
        let target = report.target;
        let verdict = match report.outcome {
            Loading::Loads => good("loads").to_string(),
            Loading::Unclear => "seems to load".to_owned(),
            Loading::Partly => bad("loads, but not all of its functions").to_string(),
            Loading::Refused => bad("will not load").to_string(),
        };
        writeln!(stdout, "{}{slice}: {verdict} on {target}", name(path))?;
        print_findings(&report.findings, verbose, stdout)?;
    }
    for need in &library.needs {
        writeln!(stdout, "  {}   {need} or newer", faint("needs"))?;
    }
    let has_minimum = |target: Target| library.needs.iter().any(|need| need.platform == target.platform);
    for report in library.reports.iter().filter(|report| !has_minimum(report.target)) {
        writeln!(stdout, "  no version of {} is known to load it", report.target.platform)?;
    }
    Ok(())
}

/// Prints the broken rules, or all of them. A finding about the whole library is not repeated for its functions, and no
/// advice is given twice.
fn print_findings(findings: &[Finding], verbose: bool, stdout: &mut Stdout) -> Result<()> {
    let is_implied = |finding: &Finding| findings.iter().any(|other| finding.is_implied_by(other));
    let is_shown = |finding: &&Finding| verbose || (finding.status != Status::Pass && !is_implied(finding));
    let shown: Vec<&Finding> = findings.iter().filter(is_shown).collect();
    let width = shown.iter().map(|finding| finding.rule.len()).max().unwrap_or(0);
    let mut hints = Vec::new();
    for finding in shown {
        print_finding(finding, width, stdout)?;
        if let Some(hint) = finding.hint.as_deref().filter(|hint| !hints.contains(hint)) {
            writeln!(stdout, "{MARGIN}{} {hint}", faint("hint:"))?;
            hints.push(hint);
        }
        if verbose {
            let step = match finding.step {
                Step::Load => "on loading",
                Step::Pipeline => "when a pipeline is made",
            };
            writeln!(stdout, "{MARGIN}{}", faint(format!("{step}; {}", finding.source)))?;
        }
    }
    Ok(())
}

/// The margin of a finding's details.
const MARGIN: &str = "          ";

fn print_finding(finding: &Finding, width: usize, stdout: &mut Stdout) -> Result<()> {
    let mark = match finding.status {
        Status::Pass => good("passes ").to_string(),
        Status::Unclear => "unclear".to_owned(),
        Status::Fail => bad("fails  ").to_string(),
    };
    let takes = match finding.expected.as_str() {
        "" => String::new(),
        expected if finding.status == Status::Pass => format!(" ({expected})"),
        expected => format!(", not {expected}"),
    };
    let certainty = faint(finding.certainty.name());
    writeln!(stdout, "  {mark} {:<width$}  {}{takes}   {certainty}", finding.rule, finding.found)?;
    if let Some(message) = &finding.message {
        writeln!(stdout, "{MARGIN}“{message}”")?;
    }
    Ok(())
}
