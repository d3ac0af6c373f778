//! `unshade scan`: every GPU program in files and folders, a row each.
//!
//! The walk lists the files first, in order; threads then take one file after the other, and rows are printed in the
//! order of the list whoever is done first.

use super::ProgramJson;
use super::walk::{in_order, list_files, threads};
use crate::Outcome;
use crate::args::{GlobalArgs, ScanArgs};
use crate::input::Input;
use crate::output::Stdout;
use crate::paint::{self, bytes, counted, faint, grouped};
use crate::progress::Progress;
use anyhow::{Context, Result};
use serde::Serialize;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use unshade::carve::{Find, Limits};
use unshade::core::{Diagnostics, Escaped};
use unshade::format::Format;
use unshade::llvm::Module;
use unshade::program::Program;
use unshade::view::{FindingView, SCHEMA};

/// The width of the path's column before it is known how long the paths are.
const PATH_WIDTH: usize = 60;

#[derive(Serialize)]
struct FoundJson {
    #[serde(flatten)]
    head: ProgramJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    functions: u64,
}

#[derive(Serialize)]
struct ScanJson<'a> {
    schema: u32,
    file: &'a str,
    programs: &'a [FoundJson],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

/// What became of one file.
struct Scanned {
    name: String,
    size: u64,
    result: Result<(Vec<FoundJson>, Diagnostics)>,
}

#[derive(Default)]
struct Totals {
    files: u64,
    bytes: u64,
    programs: u64,
    unreadable: u64,
}

pub(crate) fn run(args: &ScanArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut totals = Totals::default();
    let (files, unreadable) = list_files(&args.paths);
    totals.unreadable = unreadable;
    let limits = global.limits();
    let progress = Progress::new("scanning", files.len() as u64);
    let mut stdout = Stdout::new(false);
    in_order(
        &files,
        threads(args.threads, files.len()),
        |path| scan_file(path, &limits),
        |scanned| {
            progress.advance(1);
            report(scanned, args, global, &mut totals, &mut stdout)
        },
    )?;
    drop(progress);
    stdout.finish()?;
    if !global.json {
        let unreadable = match totals.unreadable {
            0 => String::new(),
            count => format!(", {} unreadable", grouped(count)),
        };
        let summary = format!(
            "{} in {}, {}{unreadable}",
            counted(totals.programs, "program"),
            counted(totals.files, "file"),
            bytes(totals.bytes)
        );
        anstream::eprintln!("{summary}");
    }
    Ok(match (totals.programs, totals.unreadable, totals.files) {
        (0, unreadable, 0) if unreadable > 0 => Outcome::Unreadable,
        (0, _, _) => Outcome::Finding,
        _ => Outcome::Done,
    })
}

fn scan_file(path: &Path, limits: &Limits) -> Scanned {
    let name = path.to_string_lossy().into_owned();
    let input = match Input::open_path(path) {
        Ok(input) => input,
        Err(error) => return Scanned { name, size: 0, result: Err(error) },
    };
    let mut found = Vec::new();
    let diagnostics = input.programs(limits, &mut |find| {
        found.push(describe(&find));
        ControlFlow::Continue(())
    });
    Scanned { name, size: input.bytes().len() as u64, result: Ok((found, diagnostics)) }
}

fn describe(find: &Find<'_>) -> FoundJson {
    if let Some(container) = super::dxcontainer::view(find) {
        return FoundJson {
            head: ProgramJson::new(find),
            target: container.profile,
            functions: container.functions.len().max(1) as u64,
        };
    }
    let mut ignored = Diagnostics::new();
    if let Some(view) = super::direct3d9::view(find, &mut ignored) {
        return FoundJson { head: ProgramJson::new(find), target: Some(view.profile), functions: 1 };
    }
    if find.format == Format::Bitcode {
        return describe_bitcode(find);
    }
    let program = Program::open(find).ok();
    let nvidia = program.as_ref().and_then(|program| super::nvidia::view(program, &mut ignored));
    if let Some(view) = &nvidia {
        let (target, functions) = super::nvidia::target(view);
        return FoundJson { head: ProgramJson::new(find), target, functions };
    }
    let libraries = program.map(|program| program.libraries(&mut ignored)).unwrap_or_default();
    FoundJson {
        head: ProgramJson::new(find),
        target: libraries.first().map(|named| named.library.header().target()),
        functions: libraries.iter().map(|named| u64::from(named.library.functions().declared_count())).sum(),
    }
}

/// Describes bitcode by the first triple in it and the functions that are defined.
fn describe_bitcode(find: &Find<'_>) -> FoundJson {
    let modules = Module::parse_all(find.data, 0).into_iter().flatten().flatten();
    let (mut target, mut functions) = (None, 0);
    for module in modules {
        target.get_or_insert_with(|| Escaped(&module.triple).to_string());
        functions += module.functions.iter().filter(|function| !function.declaration).count() as u64;
    }
    FoundJson { head: ProgramJson::new(find), target, functions }
}

fn report(
    scanned: Scanned,
    args: &ScanArgs,
    global: &GlobalArgs,
    totals: &mut Totals,
    stdout: &mut Stdout,
) -> Result<()> {
    let (found, diagnostics) = match scanned.result {
        Ok(result) => result,
        Err(error) => {
            totals.unreadable += 1;
            anstream::eprintln!("{}: {}: {error:#}", paint::error("unshade"), scanned.name);
            return Ok(());
        }
    };
    totals.files += 1;
    totals.bytes += scanned.size;
    totals.programs += found.len() as u64;
    if global.json {
        if !found.is_empty() || !diagnostics.is_empty() {
            let findings = diagnostics.iter().map(FindingView::from).collect();
            let json = ScanJson { schema: SCHEMA, file: &scanned.name, programs: &found, findings };
            stdout.json(&json, true).context("can't write")?;
        }
        return Ok(());
    }
    for found in &found {
        let cut = if found.head.truncated { ", cut off" } else { "" };
        writeln!(
            stdout,
            "{:<PATH_WIDTH$}  {:>8}  {}, {}, {}{cut}",
            found.head.path,
            bytes(found.head.size),
            found.head.format,
            found.target.as_deref().unwrap_or("unreadable"),
            faint(counted(found.functions, "function")),
        )?;
    }
    if args.verbose || diagnostics.has_errors() {
        for diagnostic in &diagnostics {
            anstream::eprintln!("{}", paint::diagnostic(&scanned.name, diagnostic));
        }
    }
    Ok(())
}
