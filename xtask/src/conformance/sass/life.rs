//! Reads, writes and life ranges of registers, compared with `nvdisasm -plr`.
//!
//! nvdisasm draws a column for each register of a function, in four groups: registers, predicates, and those of the uniform
//! datapath. `^` is written, `v` read, `x` both, `:` live.
//!
//! ```text
//! /*0090*/  ISETP.NE.AND P1, PT, R0, RZ, PT ;      // |  7 v : :   :   | 2 : ^        | 2             : :  |         |
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::core::{Diagnostics, Reader};
use unshade::nv::Cubin;
use unshade::nv::cubin::Role;
use unshade::sass::liveness::Set;
use unshade::sass_code::{Code, lives};
use unshade::sass_listing::instruction_set;
use unshade::view::sass::names;

use super::Tally;
use crate::sh;

/// What nvdisasm draws for an instruction: the text, and the names of the registers with each mark.
#[derive(Default)]
struct Drawn {
    text: String,
    reads: Vec<String>,
    writes: Vec<String>,
    live: Vec<String>,
}

/// The drawings of a section, by address.
type Section = BTreeMap<u64, Drawn>;

/// The counts of a cubin.
#[derive(Default)]
struct Counts {
    reads: Tally,
    writes: Tally,
    live: Tally,
}

/// The number of a chip's cubins that are compared: nvdisasm takes minutes for some.
const CUBINS: usize = 8;

/// Compares the first cubins of a chip.
pub(super) fn compare_with(nvdisasm: &Path, chip: u32, cubins: &[&[u8]]) -> Result<u64> {
    let cubins = cubins.get(..CUBINS).unwrap_or(cubins);
    let drawn: Vec<BTreeMap<Vec<u8>, Section>> =
        cubins.par_iter().map(|data| sections(nvdisasm, data)).collect::<Result<_>>()?;
    let mut counts = Counts::default();
    let mut refused = 0;
    for (data, sections) in cubins.iter().zip(drawn) {
        if sections.is_empty() {
            refused += 1;
            continue;
        }
        counts.compare(data, &sections)?;
    }
    if refused > 0 {
        println!("sm_{chip} cubins without life ranges in nvdisasm: {refused}");
    }
    Ok(counts.reads.report(&format!("sm_{chip} instructions, registers read equal to nvdisasm"))
        + counts.writes.report(&format!("sm_{chip} instructions, registers written equal to nvdisasm"))
        + counts.live.report(&format!("sm_{chip} instructions, life ranges equal to nvdisasm")))
}

impl Counts {
    fn compare(&mut self, data: &[u8], sections: &BTreeMap<Vec<u8>, Section>) -> Result<()> {
        let cubin = Cubin::read(Reader::new(data))?;
        let Some(isa) = instruction_set(&cubin) else { return Ok(()) };
        let code = Code::new(&cubin, isa);
        for functions in code.sections(&|_| true, &mut Diagnostics::new()) {
            let Some(first) = functions.first() else { continue };
            let section = cubin.elf().section(u32::from(first.function.symbol.section))?;
            let Some(drawn) = sections.get(Role::of(&section).1) else { continue };
            for row in lives(&code, &functions).into_iter().flatten() {
                let Some(theirs) = drawn.get(&row.address) else { continue };
                let text = &theirs.text;
                // Two instructions that are issued at once are drawn as one.
                if text.contains(['{', '}']) {
                    continue;
                }
                let count = |what: &str, tally: &mut Tally, ours: Set, theirs: &[String]| {
                    let mut ours = names(ours);
                    // nvdisasm draws no condition code.
                    ours.retain(|name| name != "CC");
                    tally.count(ours == theirs, || {
                        format!("{what}: {text}: {} | {}", ours.join(" "), theirs.join(" "))
                    });
                };
                count("reads", &mut self.reads, row.effect.reads, &theirs.reads);
                count("writes", &mut self.writes, row.effect.writes, &theirs.writes);
                count("live", &mut self.live, row.occupied(), &theirs.live);
            }
        }
        Ok(())
    }
}

/// Returns the drawings of nvdisasm by section; none if it refuses the cubin.
fn sections(nvdisasm: &Path, data: &[u8]) -> Result<BTreeMap<Vec<u8>, Section>> {
    let path = sh::temporary("cubin");
    fs::write(&path, data)?;
    let output = Command::new(nvdisasm).args(["-c", "-plr"]).arg(&path).output();
    fs::remove_file(&path)?;
    let text = String::from_utf8_lossy(&output.context("cannot start nvdisasm")?.stdout).into_owned();
    let mut found = BTreeMap::new();
    let mut name = Vec::new();
    let mut columns: Vec<(String, Range<usize>)> = Vec::new();
    let mut files: Vec<(&'static str, Range<usize>)> = Vec::new();
    for line in text.lines() {
        let (code, marks) = line.rsplit_once("// |").unwrap_or((line, ""));
        if let Some(section) = code
            .trim()
            .strip_prefix(".section\t.text.")
            .or(code.trim().strip_prefix(".section        .text."))
        {
            name = section.split(',').next().unwrap_or("").trim_matches('"').as_bytes().to_vec();
        }
        if marks.contains("GPR") {
            files = groups(marks);
        } else if marks.contains('#') {
            columns = numbers(marks, &files);
        }
        let Some((address, rest)) =
            code.trim_start().strip_prefix("/*").and_then(|code| code.split_once("*/"))
        else {
            continue;
        };
        let Ok(address) = u64::from_str_radix(address, 16) else { continue };
        let mut drawn =
            Drawn { text: rest.trim().trim_end_matches(';').trim().to_owned(), ..Drawn::default() };
        for (name, range) in &columns {
            let mark = marks.get(range.clone()).unwrap_or("").trim();
            if matches!(mark, "v" | "x") {
                drawn.reads.push(name.clone());
            }
            if matches!(mark, "^" | "x") {
                drawn.writes.push(name.clone());
            }
            if !mark.is_empty() {
                drawn.live.push(name.clone());
            }
        }
        if !marks.is_empty() {
            found.entry(name.clone()).or_insert_with(Section::new).insert(address, drawn);
        }
    }
    Ok(found)
}

/// Returns the groups in a heading, and the columns of each.
fn groups(heading: &str) -> Vec<(&'static str, Range<usize>)> {
    let mut start = 0;
    let mut groups = Vec::new();
    for cell in heading.split('|') {
        let prefix = match cell.trim() {
            "GPR" => "R",
            "PRED" => "P",
            "UGPR" => "UR",
            "UPRED" => "UP",
            _ => "",
        };
        groups.push((prefix, start..start + cell.len()));
        start += cell.len() + 1;
    }
    groups
}

/// Returns the names of the registers in a line of numbers, and the columns of each.
fn numbers(line: &str, groups: &[(&'static str, Range<usize>)]) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    for (prefix, range) in groups.iter().filter(|group| !group.0.is_empty()) {
        let cell = line.get(range.clone()).unwrap_or("");
        let mut at = 0;
        for word in cell.split(' ') {
            if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) {
                let start = range.start + at;
                found.push((format!("{prefix}{word}"), start..start + word.len()));
            }
            at += word.len() + 1;
        }
    }
    found
}
