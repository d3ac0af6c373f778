//! `unshade scan`: lists every GPU program in files and folders, one row per program.
//!
//! The walk lists the files first, in order. Threads then take one file after another, and rows are printed in the
//! order of the list.

use super::programs::print_diagnostics;
use super::programs::{ProgramJson, collect};
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
use std::path::Path;
use unshade::carve::{Find, Limits};
use unshade::core::Diagnostics;
use unshade::program::{self, Brief};
use unshade::view::{FindingView, SCHEMA};

/// The width of the path column until the paths are known.
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

/// The result for one file.
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
    let missing = args.paths.iter().filter(|path| path.symlink_metadata().is_err()).count();
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
    Ok(match totals.programs {
        // A missing path from the command line counts; an unreadable file in a folder does not.
        _ if missing > 0 => Outcome::Unreadable,
        0 => Outcome::Finding,
        _ => Outcome::Done,
    })
}

fn scan_file(path: &Path, limits: &Limits) -> Scanned {
    let name = path.to_string_lossy().into_owned();
    let input = match Input::open_path(path) {
        Ok(input) => input,
        Err(error) => return Scanned { name, size: 0, result: Err(error) },
    };
    Scanned { name, size: input.bytes().len() as u64, result: Ok(collect(&input, limits, describe)) }
}

fn describe(find: &Find<'_>) -> FoundJson {
    let Brief { target, functions, .. } =
        program::open(find).map(|program| program.brief()).unwrap_or_default();
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
        print_diagnostics(&scanned.name, &diagnostics);
    }
    Ok(())
}
