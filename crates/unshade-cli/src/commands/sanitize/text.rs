//! The report for people.

use super::source::SourceLines;
use crate::output::Stdout;
use crate::paint::{self, counted, faint, grouped, name, wrapped};
use anyhow::Result;
use std::io::Write;
use unshade::core::Escaped;
use unshade_emulate::Frame;
use unshade_emulate::sanitize::{Finding, Report};

/// The width of lines.
const WIDTH: usize = 80;

/// The indentation of what belongs to a finding.
const INDENT: &str = "    ";

pub(super) fn print(
    kernel: &str,
    report: &Report,
    printed: &[u8],
    lines: &SourceLines<'_>,
    stdout: &mut Stdout,
) -> Result<()> {
    stdout.write_all(printed)?;
    for finding in &report.findings {
        print_finding(finding, lines, stdout)?;
    }
    let shown = unshade::demangle(kernel.as_bytes()).unwrap_or_else(|| kernel.to_owned());
    let summary = report.summary;
    writeln!(
        stdout,
        "{}   {} blocks, {} instructions of warps: {}",
        name(shown),
        grouped(summary.blocks),
        grouped(summary.steps),
        outcome(report)
    )?;
    if !report.is_complete {
        writeln!(stdout, "the kernel did not run to its end")?;
    }
    if report.omitted > 0 {
        writeln!(stdout, "{} more (--limit shows more)", counted(report.omitted, "finding"))?;
    }
    if report.is_partial {
        writeln!(stdout, "racecheck left out accesses for lack of memory (--memory raises the limit)")?;
    }
    Ok(())
}

/// Returns how much was found.
fn outcome(report: &Report) -> String {
    let faults: u64 = report.findings.iter().map(|finding| finding.count).sum();
    match report.findings.len() as u64 {
        0 => paint::good("no faults").to_string(),
        findings => format!("{}, {}", counted(findings, "finding"), counted(faults, "fault")),
    }
}

fn print_finding(finding: &Finding, lines: &SourceLines<'_>, stdout: &mut Stdout) -> Result<()> {
    let kind = finding.kind();
    let location = finding.fault.location.as_deref();
    let times =
        if finding.count == 1 { String::new() } else { format!(", {} times", grouped(finding.count)) };
    writeln!(stdout, "{} {}", paint::bad(kind.name), faint(format!("({}{times})", kind.tool.name())))?;
    for line in wrapped(&finding.fault.reason.to_string(), WIDTH - INDENT.len()) {
        writeln!(stdout, "{INDENT}{line}")?;
    }
    if let Some(location) = location {
        let thread = thread(location.thread, location.block);
        // A scheduling word has no text.
        let instruction = if location.text == "?" { "at a scheduling word" } else { &location.text };
        writeln!(stdout, "{INDENT}{instruction} by {thread}")?;
        print_stack(&location.stack, lines, stdout)?;
    }
    for related in &finding.related {
        writeln!(stdout, "{INDENT}{} {}", related.what, thread(related.thread, related.block))?;
        print_stack(&related.stack, lines, stdout)?;
    }
    for (number, line) in wrapped(kind.advice, WIDTH - "  hint: ".len()).into_iter().enumerate() {
        writeln!(stdout, "{}{line}", if number == 0 { "  hint: " } else { "        " })?;
    }
    Ok(())
}

fn thread([tx, ty, tz]: [u32; 3], [bx, by, bz]: [u32; 3]) -> String {
    format!("thread ({tx}, {ty}, {tz}) of block ({bx}, {by}, {bz})")
}

fn print_stack(stack: &[Frame], lines: &SourceLines<'_>, stdout: &mut Stdout) -> Result<()> {
    for (number, same) in stack.chunk_by(|one, other| one == other).enumerate() {
        let Some(frame) = same.first() else { continue };
        let function = unshade::demangle(frame.function.as_bytes())
            .unwrap_or_else(|| Escaped(frame.function.as_bytes()).to_string());
        let mut place = String::new();
        if let Some((path, line)) = lines.of(frame) {
            place = format!("   {path}:{line}");
        }
        if same.len() > 1 {
            place.push_str(&format!("   {} times", same.len()));
        }
        let word = if number == 0 { "in" } else { "called from" };
        let address = paint::offset(format!("{:#06x}", frame.offset));
        writeln!(stdout, "{INDENT}{INDENT}{word} {} at {address}{place}", name(function))?;
    }
    Ok(())
}
