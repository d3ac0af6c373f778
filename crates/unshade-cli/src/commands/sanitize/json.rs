//! The report as data.

use super::source::SourceLines;
use crate::output::Stdout;
use anyhow::Result;
use serde::Serialize;
use unshade::view::SCHEMA;
use unshade_emulate::Frame;
use unshade_emulate::sanitize::{Finding, Related, Report};

#[derive(Serialize)]
struct ReportJson<'a> {
    schema: u32,
    kernel: &'a str,
    blocks: u64,
    instructions: u64,
    complete: bool,
    printed: String,
    findings: Vec<FindingJson<'a>>,
    omitted: u64,
    partial: bool,
}

#[derive(Serialize)]
struct FindingJson<'a> {
    kind: &'static str,
    tool: &'static str,
    count: u64,
    message: String,
    hint: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<LocationJson<'a>>,
    related: Vec<RelatedJson<'a>>,
}

#[derive(Serialize)]
struct LocationJson<'a> {
    address: u64,
    instruction: &'a str,
    block: [u32; 3],
    thread: [u32; 3],
    stack: Vec<FrameJson<'a>>,
}

#[derive(Serialize)]
struct RelatedJson<'a> {
    what: &'static str,
    block: [u32; 3],
    thread: [u32; 3],
    stack: Vec<FrameJson<'a>>,
}

#[derive(Serialize)]
struct FrameJson<'a> {
    function: &'a str,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

pub(super) fn print(
    kernel: &str,
    report: &Report,
    printed: &[u8],
    lines: &SourceLines<'_>,
    stdout: &mut Stdout,
) -> Result<()> {
    let json = ReportJson {
        schema: SCHEMA,
        kernel,
        blocks: report.summary.blocks,
        instructions: report.summary.steps,
        complete: report.is_complete,
        printed: String::from_utf8_lossy(printed).into_owned(),
        findings: report.findings.iter().map(|finding| finding_json(finding, lines)).collect(),
        omitted: report.omitted,
        partial: report.is_partial,
    };
    stdout.json(&json, false)
}

fn finding_json<'a>(finding: &'a Finding, lines: &SourceLines<'_>) -> FindingJson<'a> {
    let kind = finding.kind();
    let location = finding.fault.location.as_deref().map(|location| LocationJson {
        address: location.address,
        instruction: &location.text,
        block: location.block,
        thread: location.thread,
        stack: stack_json(&location.stack, lines),
    });
    FindingJson {
        kind: kind.name,
        tool: kind.tool.name(),
        count: finding.count,
        message: finding.fault.reason.to_string(),
        hint: kind.advice,
        location,
        related: finding.related.iter().map(|related| related_json(related, lines)).collect(),
    }
}

fn related_json<'a>(related: &'a Related, lines: &SourceLines<'_>) -> RelatedJson<'a> {
    let stack = stack_json(&related.stack, lines);
    RelatedJson { what: related.what, block: related.block, thread: related.thread, stack }
}

fn stack_json<'a>(stack: &'a [Frame], lines: &SourceLines<'_>) -> Vec<FrameJson<'a>> {
    let frame = |frame: &'a Frame| {
        let (file, line) = lines.of(frame).unzip();
        FrameJson { function: &frame.function, offset: frame.offset, file, line }
    };
    stack.iter().map(frame).collect()
}
