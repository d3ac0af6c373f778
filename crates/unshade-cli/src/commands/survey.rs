//! `unshade survey`: counts the fields of many files.
//!
//! Each file is counted separately, on any thread. Counts are added in the order of the files, so the output does not
//! depend on the threads.

use super::walk::{in_order, list_files, threads};
use crate::Outcome;
use crate::args::{GlobalArgs, SurveyArgs};
use crate::input::Input;
use crate::output::Stdout;
use crate::paint::{self, bad, bytes, counted, cut, faint, grouped, name};
use crate::progress::Progress;
use anyhow::Result;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use unshade::carve::{Find, Limits};
use unshade::core::Diagnostics;
use unshade::nv_units::each_known_cubin;
use unshade::program::{self, Code, CodeRequest};
use unshade::select::Selection;
use unshade::survey::{Dependency, FieldReport, RecordReport, Show, Survey, SurveyReport};

/// Line width if the terminal's width is unknown.
const WIDTH: usize = 120;
/// Width of the name column.
const NAME_WIDTH: usize = 40;
/// Maximum width of a value in a case.
const CASE_WIDTH: usize = 32;
/// Maximum number of shown cases of a dependency.
const MAX_CASES: usize = 6;

pub(crate) fn run(args: &SurveyArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (files, mut unreadable) = list_files(&args.paths);
    let limits = global.limits();
    let progress = Progress::new("surveying", files.len() as u64);
    let mut survey = Survey::default();
    let mut programs = 0;
    in_order(
        &files,
        threads(args.threads, files.len()),
        |path| (path.clone(), survey_file(path, args.bitcode, &limits)),
        |(path, result)| {
            progress.advance(1);
            match result {
                Ok((one, count)) => {
                    survey.merge(one);
                    programs += count;
                }
                Err(error) => {
                    unreadable += 1;
                    anstream::eprintln!("{}: {}: {error:#}", paint::error("unshade"), path.display());
                }
            }
            Ok(())
        },
    )?;
    drop(progress);
    let report = survey.report(if args.unknown { Show::Unknown } else { Show::All });
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    if global.json {
        stdout.json(&report, false)?;
    } else {
        print(&report, args, &mut stdout)?;
    }
    stdout.finish()?;
    Ok(match (programs, unreadable) {
        (_, 1..) => Outcome::Unreadable,
        (0, 0) => Outcome::Finding,
        _ => Outcome::Done,
    })
}

/// Counts the fields of a file, and returns its number of programs.
fn survey_file(path: &Path, with_bitcode: bool, limits: &Limits) -> Result<(Survey, u64)> {
    let input = Input::open_path(path)?;
    let mut survey = Survey::default();
    survey.file();
    let mut count = 0;
    input.programs(limits, &mut |find| {
        count += 1;
        survey_program(&find, with_bitcode, &mut survey);
        ControlFlow::Continue(())
    });
    Ok((survey, count))
}

fn survey_program(find: &Find<'_>, with_code: bool, survey: &mut Survey) {
    let Ok(program) = program::open(find) else { return };
    // Bitcode is counted by record, not by bit.
    let has_fields = program.has_fields();
    if has_fields {
        survey.program(find.format.name(), find.data.len() as u64, |sink| program.outline(sink));
        program.metal_libraries().iter().for_each(|named| survey.metadata(&named.library));
    }
    if !with_code && has_fields {
        return;
    }
    let (selection, path) = (Selection::default(), find.path.to_string());
    let request = CodeRequest { selection: &selection, part: None, path: &path };
    let mut diagnostics = Diagnostics::new();
    match program.code(&request, &mut diagnostics) {
        Code::Machine(nvidia) => each_known_cubin(nvidia, &mut diagnostics, &mut |cubin, _, _| {
            survey.machine_code(cubin);
        }),
        Code::Tokens(source) => survey.token_programs(&source),
        Code::Modules(groups) => {
            let mut last = None;
            for unit in groups.iter().flat_map(|group| &group.units) {
                // `verify` reports the errors of a module; the records before an error are counted. Functions of a
                // dynamic library share a module.
                if let Ok((bytes, offset)) = unit.bytes()
                    && last.replace(offset) != Some(offset)
                {
                    let _ = survey.bitcode(bytes, offset);
                }
            }
        }
        Code::Unread => {}
    }
}

fn print(report: &SurveyReport, args: &SurveyArgs, stdout: &mut Stdout) -> Result<()> {
    let width = paint::terminal_width().unwrap_or(WIDTH);
    writeln!(
        stdout,
        "{} with {}, {}: {} bytes unknown, {} in no field",
        counted(report.files, "file"),
        counted(report.programs, "program"),
        bytes(report.bytes),
        grouped(report.unknown_bytes),
        grouped(report.uncovered_bytes),
    )?;
    let shown = |field: &&FieldReport| field.depth < args.depth && (args.unknown || !field.layout);
    let fields: Vec<&FieldReport> = report.fields.iter().filter(shown).collect();
    if !fields.is_empty() {
        let head = format!("{:<NAME_WIDTH$} {:>10} {:>8}  values", "field", "count", "programs");
        writeln!(stdout, "\n{}", faint(head))?;
    }
    for field in fields {
        print_field(field, args, width, stdout)?;
    }
    for record in &report.records {
        print_record(record, width, stdout)?;
    }
    for (count, what) in [(report.dropped_records, "records"), (report.dropped_fields, "fields")] {
        if count > 0 {
            writeln!(
                stdout,
                "\n{} {what} were more than are told apart, and are not in here",
                grouped(count)
            )?;
        }
    }
    Ok(())
}

fn print_field(field: &FieldReport, args: &SurveyArgs, width: usize, stdout: &mut Stdout) -> Result<()> {
    // If only some fields are shown, each needs its whole path.
    let (indent, label) = if args.unknown {
        (0, field.path.as_str())
    } else {
        (field.depth * 2, field.path.rsplit('/').next().unwrap_or_default())
    };
    let label = format!("{}{label}", " ".repeat(indent));
    let counts = format!("{:>10} {:>8}", grouped(field.count), grouped(field.programs));
    let values = values(field, args);
    let room = width.saturating_sub(NAME_WIDTH + counts.len() + 3).max(20);
    let values = cut(&values, room);
    let long = label.chars().count();
    // A path that fills a line moves the columns to the next line.
    let (line_end, filled) = if long > NAME_WIDTH { ("\n", 0) } else { ("", long) };
    let padding = format!("{line_end}{}", " ".repeat(NAME_WIDTH - filled));
    let line = format!("{padding} {counts}  {values}");
    let line = line.trim_end();
    if field.unknown {
        writeln!(stdout, "{}{line}", bad(&label))?;
    } else {
        writeln!(stdout, "{label}{line}")?;
    }
    Ok(())
}

/// Returns the most frequent values, and the number of others.
fn values(field: &FieldReport, args: &SurveyArgs) -> String {
    let most = args.values;
    let mut parts = Vec::new();
    let unknown: Vec<_> = field.values.iter().filter(|value| value.unknown && args.unknown).collect();
    if !unknown.is_empty() {
        let shown = unknown.iter().take(most);
        parts.extend(shown.map(|value| format!("{} ×{}", value.value, grouped(value.count))));
        return parts.join(" · ");
    }
    if field.uncovered_bytes > 0 {
        parts.push(format!("{} bytes in no field", grouped(field.uncovered_bytes)));
    }
    // If nearly every value is unique, a range describes them better.
    let is_varied = field.other_values > field.count / 2 && !field.unknown;
    match field.range {
        Some((least, greatest)) if is_varied => parts.push(format!("{least}..{greatest}")),
        _ => {
            let shown = field.values.iter().take(most);
            parts.extend(shown.map(|value| format!("{} ×{}", value.value, grouped(value.count))));
            let rest = field.values.len().saturating_sub(most);
            let more = if field.other_values > 0 { " or more" } else { "" };
            if rest > 0 {
                let range = field.range.map(|(least, greatest)| format!(", {least}..{greatest}"));
                parts.push(format!("{rest}{more} others{}", range.unwrap_or_default()));
            }
        }
    }
    parts.join(" · ")
}

fn print_record(record: &RecordReport, width: usize, stdout: &mut Stdout) -> Result<()> {
    writeln!(
        stdout,
        "\n{}, {} in {}",
        name(&record.record),
        grouped(record.count),
        counted(record.signatures, "combination")
    )?;
    for alike in &record.alike {
        let text = format!("  alike: {}", alike.join(", "));
        writeln!(stdout, "{}", cut(&text, width))?;
    }
    for dependency in &record.dependencies {
        print_dependency(dependency, width, stdout)?;
    }
    Ok(())
}

fn print_dependency(dependency: &Dependency, width: usize, stdout: &mut Stdout) -> Result<()> {
    let exceptions = match dependency.exceptions {
        0 => String::new(),
        count => format!("   {}", bad(format!("but for {}", grouped(count)))),
    };
    writeln!(stdout, "  {} → {}{exceptions}", dependency.field, dependency.decides)?;
    let cases = dependency.cases.iter().take(MAX_CASES);
    let mut cases: Vec<String> = cases
        .map(|case| format!("{} → {}", cut(&case.when, CASE_WIDTH), cut(&case.then, CASE_WIDTH)))
        .collect();
    let rest = dependency.cases.len().saturating_sub(MAX_CASES) + dependency.more_cases;
    if rest > 0 {
        cases.push(format!("{rest} more"));
    }
    let text = format!("      {}", cases.join(" · "));
    Ok(writeln!(stdout, "{}", faint(cut(&text, width)))?)
}
