//! The files of folders: every find is listed, so that programs can be told from other bytes.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;
use unshade::carve::{Condition, Find, Limits, carve};
use unshade::program;

use crate::sh;

/// A find: its format, and a line that describes it.
struct Row {
    format: String,
    text: String,
    is_program: bool,
}

/// The result for one file.
#[derive(Default)]
struct Searched {
    bytes: u64,
    rows: Vec<Row>,
}

/// Searches every file below the folders, and returns the number of finds that can't be opened.
pub(super) fn run(folders: &[PathBuf]) -> u64 {
    let mut files = Vec::new();
    folders.iter().for_each(|folder| walk(folder, &mut files));
    if files.is_empty() {
        println!("\nskipped: no files to search; name folders with --packages");
        return 0;
    }
    let begun = Instant::now();
    let searched: Vec<Searched> = files.par_iter().map(|path| search(path)).collect();
    let bytes: u64 = searched.iter().map(|file| file.bytes).sum();
    println!("\nfiles                 {:>12}   {}", files.len(), sh::megabytes(bytes));
    let mut formats: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for row in searched.iter().flat_map(|file| &file.rows) {
        println!("  {}", row.text);
        let counts = formats.entry(&row.format).or_default();
        counts.0 += 1;
        counts.1 += u64::from(!row.is_program);
    }
    println!("format, finds, of them not opened   {}", sh::seconds(begun.elapsed()));
    for (format, (finds, wrong)) in &formats {
        println!("  {format:<28} {finds:>9} {wrong:>9}");
    }
    formats.values().map(|(_, wrong)| wrong).sum()
}

/// Collects regular files. Links are not followed, as they can lead in circles.
fn walk(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if metadata.is_file() {
        files.push(path.into());
    } else if metadata.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().for_each(|path| walk(path, files));
    }
}

fn search(path: &Path) -> Searched {
    let mut searched = Searched::default();
    let Ok(data) = fs::read(path) else { return searched };
    searched.bytes = data.len() as u64;
    let name = path.to_string_lossy();
    carve(&data, name.as_bytes(), &Limits::default(), &mut |find| {
        searched.rows.push(describe(&find));
        ControlFlow::Continue(())
    });
    searched
}

fn describe(find: &Find<'_>) -> Row {
    let brief = program::open(find).map(|program| program.brief());
    let is_program = find.condition == Condition::Whole && brief.is_ok();
    let what = match &brief {
        Ok(brief) => {
            format!("{}, {} functions", brief.target.as_deref().unwrap_or("no target"), brief.functions)
        }
        Err(error) => format!("not opened: {error}"),
    };
    let condition =
        if find.condition == Condition::Whole { String::new() } else { format!(", {:?}", find.condition) };
    let text = format!("{}: {}, {} bytes, {what}{condition}", find.path, find.format, find.data.len());
    Row { format: find.format.to_string(), text, is_program }
}
