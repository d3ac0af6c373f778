//! `unshade check`: whether Metal libraries load on an OS, and if not, why. Loose AIR modules are checked by the rules about
//! modules.

use super::findings;
use super::programs::{FileJson, ProgramJson, Refused, each_file, each_program, print_diagnostics};
use crate::Outcome;
use crate::args::{CheckArgs, GlobalArgs};
use crate::output::Stdout;
use crate::paint::{bad, faint, good, name};
use crate::runner::AllProcessors;
use anyhow::{Result, bail};
use serde::Serialize;
use std::io::Write;
use unshade::load_check::{
    Finding, Outcome as Loading, Report, Status, Step, Target, check, made_for, minimum,
};
use unshade::program::{NamedFacts, Verb};
use unshade::view::FindingView;

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
        let (mut checked, mut unknown) = (0u64, None);
        let carving = each_program(input, Verb::Check, &global.limits(), |visited| {
            let diagnostics = visited.diagnostics;
            let facts = visited.program.map(|program| program.load_facts(&AllProcessors)).unwrap_or_default();
            if facts.is_empty() && diagnostics.is_empty() {
                unknown.get_or_insert_with(|| visited.find.path.to_string());
                return Ok(());
            }
            checked += 1;
            let libraries: Vec<_> = facts.iter().map(|named| check_library(named, &args.os)).collect();
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
        if let Some(path) = unknown.filter(|_| checked == 0) {
            bail!(Refused(format!(
                "{path}: no AIR in it, and no rules are known for where anything else loads"
            )));
        }
        if global.json {
            stdout.json(&FileJson::new(input, programs, &carving), false)?;
        }
        Ok(outcome)
    })?;
    stdout.finish()?;
    Ok(outcome)
}

fn check_library(named: &NamedFacts, targets: &[Target]) -> LibraryJson {
    let facts = &named.facts;
    let own = made_for(facts);
    let targets = if targets.is_empty() { own.as_slice() } else { targets };
    let mut needs: Vec<Target> = Vec::new();
    for target in targets {
        if needs.iter().all(|known| known.platform != target.platform) {
            needs.extend(minimum(facts, target.platform));
        }
    }
    LibraryJson {
        slice: named.slice.clone(),
        made_for: own,
        needs,
        reports: targets.iter().map(|&target| check(facts, target)).collect(),
    }
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
