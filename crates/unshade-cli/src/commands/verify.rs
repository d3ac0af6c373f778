//! `unshade verify`: structure, sizes and every hash.

use super::{FileJson, ProgramJson, check, each_file, findings};
use crate::Outcome;
use crate::args::{GlobalArgs, VerifyArgs};
use crate::output::Stdout;
use crate::paint::{self, counted, good, grouped};
use anyhow::Result;
use serde::Serialize;
use std::io::Write;
use unshade::carve::{Condition, Find};
use unshade::core::{Diagnostics, Error, ErrorKind};
use unshade::format::Format;
use unshade::metallib::Library;
use unshade::metallib::verify::Verdict;
use unshade::nv;
use unshade::program::Program;
use unshade::source_files::visit_files;
use unshade::view::{Direct3d9View, FindingView};

#[derive(Serialize)]
struct VerifyJson {
    #[serde(flatten)]
    head: ProgramJson,
    /// Of Metal libraries.
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matching_hashes: Option<u64>,
    errors: usize,
    warnings: usize,
    /// How many findings were counted but are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    suppressed: usize,
    findings: Vec<FindingView>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

pub(crate) fn run(args: &VerifyArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut stdout = Stdout::new(false);
    let outcome = each_file(&args.files.files, |input| {
        let mut outcome = Outcome::Done;
        let mut programs = Vec::new();
        let carving = input.each_program(&global.limits(), |find| {
            let checked = check_program(find);
            let diagnostics = &checked.diagnostics;
            if diagnostics.has_errors() || (args.strict && diagnostics.warnings() > 0) {
                outcome = Outcome::Finding;
            }
            if global.json {
                programs.push(VerifyJson {
                    head: ProgramJson::new(find),
                    functions: has_functions(find).then_some(checked.functions),
                    matching_hashes: has_functions(find).then_some(checked.matching_hashes),
                    errors: diagnostics.errors(),
                    warnings: diagnostics.warnings(),
                    suppressed: diagnostics.suppressed(),
                    findings: findings(diagnostics),
                });
            } else {
                let functions = has_functions(find).then_some(checked.functions);
                print(&find.path.to_string(), &checked, functions, &mut stdout)?;
            }
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

/// Whether the program has functions of its own, each with a hash.
fn has_functions(find: &Find<'_>) -> bool {
    matches!(find.format, Format::MetalLibrary | Format::MetalUniversal)
}

fn check_program(find: &Find<'_>) -> Verdict {
    let mut verdict = Verdict { functions: 0, matching_hashes: 0, diagnostics: Diagnostics::new() };
    if find.condition == Condition::Damaged {
        let at = find.file_offset.unwrap_or(find.path.offset());
        let error = Error::new(
            ErrorKind::BadValue,
            at,
            "starts like a program, but the rest of the header is damaged",
        );
        verdict.diagnostics.error("header", error);
    }
    let Some(program) = verdict.diagnostics.take("header", Program::open(find)) else { return verdict };
    match &program {
        Program::DxContainer(container) => {
            verdict.diagnostics.append(unshade::check_dxcontainer(container));
        }
        // Findings of what had to be unpacked have offsets of their own, and stay with their entry.
        Program::Fatbin(fatbin) => {
            verdict.diagnostics.append(nv::verify::fatbin(fatbin));
            return verdict;
        }
        Program::Cubin(cubin) => verdict.diagnostics.append(nv::verify::cubin(cubin)),
        Program::Ptx(ptx) => verdict.diagnostics.append(nv::verify::ptx(ptx)),
        Program::Direct3d9(data) => {
            let view = Direct3d9View::new(*data, &mut verdict.diagnostics);
            verdict.diagnostics.take("dxbc-legacy-tokens", view);
        }
        _ => {}
    }
    for named in program.libraries(&mut verdict.diagnostics) {
        let library = check(&named.library);
        verdict.functions += library.functions;
        verdict.matching_hashes += library.matching_hashes;
        verdict.diagnostics.append(library.diagnostics);
        check_sources(&named.library, &mut verdict.diagnostics);
    }
    verdict.diagnostics.sort_by_offset();
    verdict
}

/// Unpacks the embedded sources, which have checksums of their own.
fn check_sources(library: &Library<'_>, diagnostics: &mut Diagnostics) {
    let Ok(Some(sources)) = library.sources() else { return };
    for archive in sources.archives().filter_map(Result::ok) {
        diagnostics.take("sources", visit_files(&archive, |_| ()));
    }
}

fn print(path: &str, checked: &Verdict, functions: Option<u64>, stdout: &mut Stdout) -> Result<()> {
    let diagnostics = &checked.diagnostics;
    for diagnostic in diagnostics {
        writeln!(stdout, "{}", paint::diagnostic(path, diagnostic))?;
    }
    if diagnostics.suppressed() > 0 {
        writeln!(stdout, "{path}: … and {} more findings", grouped(diagnostics.suppressed() as u64))?;
    }
    let counted_functions = functions.map(|functions| counted(functions, "function"));
    let mut counts = Vec::new();
    if diagnostics.has_errors() {
        counts.push(paint::bad(counted(diagnostics.errors() as u64, "error")).to_string());
    }
    if diagnostics.warnings() > 0 {
        counts.push(counted(diagnostics.warnings() as u64, "warning"));
    }
    match (counts.is_empty(), counted_functions) {
        (true, Some(functions)) => {
            let hashes = if checked.functions == 0 { "" } else { ", every hash matches" };
            writeln!(stdout, "{path}: {}, {functions}{hashes}", good("sound"))?;
        }
        (true, None) => writeln!(stdout, "{path}: {}", good("sound"))?,
        (false, Some(functions)) => writeln!(stdout, "{path}: {} in {functions}", counts.join(" and "))?,
        (false, None) => writeln!(stdout, "{path}: {}", counts.join(" and "))?,
    }
    Ok(())
}
