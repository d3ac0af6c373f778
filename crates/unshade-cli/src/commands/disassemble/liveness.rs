//! `unshade dis --live`: prints which registers are live at each instruction, and how many.
//!
//! The first form prints the counts before each instruction, and after it the registers that become live there and
//! those that are read for the last time. The other draws one column per register, like nvdisasm.

use super::nvidia::each_machine_code;
use super::writer::Writer;
use crate::args::LivenessFormat;
use crate::paint;
use anyhow::Result;
use rayon::prelude::*;
use std::fmt::Write;
use unshade::core::Diagnostics;
use unshade::nv::function::Function;
use unshade::nv_units::Nvidia;
use unshade::sass::listing::Word;
use unshade::sass::liveness::{LiveRow, Pressure, Set};
use unshade::sass_code::{FunctionCode, lives};
use unshade::select::Selection;
use unshade::view::sass::begins_and_ends;

/// Maximum number of sections that are processed before their results are written.
const BATCH: usize = 32;

/// Column of the changes after an instruction, unless the instruction is longer.
const NOTES: usize = 44;

/// Prints the selected functions of a program.
pub(super) fn program(
    program: &Nvidia<'_>,
    path: &str,
    format: LivenessFormat,
    selection: &Selection,
    writer: &mut Writer<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    each_machine_code(program, diagnostics, |code, diagnostics| {
        let arch = code.cubin().arch();
        let wanted = |function: &Function<'_>| selection.matches_name(function.index, function.name());
        let mut text = String::new();
        let mut count = 0;
        let sections = code.sections(&wanted, diagnostics);
        for batch in sections.chunks(BATCH) {
            let solved: Vec<_> = batch.par_iter().map(|section| lives(code, section)).collect();
            for (function, rows) in batch.iter().flatten().zip(solved.iter().flatten()) {
                if wanted(&function.function) {
                    count += 1;
                    one(function, arch, rows, format, &mut text);
                }
            }
        }
        writer.write_listing(&format!("{path}.sm_{arch}"), count, vec![text])
    })
}

fn one(function: &FunctionCode<'_>, arch: u32, rows: &[LiveRow], format: LivenessFormat, text: &mut String) {
    let most = Pressure::of(rows);
    let _ = write!(text, "// {}, sm_{arch}: at most ", function.name);
    let ((registers, at), (predicates, predicates_at)) = (most.registers, most.predicates);
    let _ = write!(text, "{} live, at {at:#06x}", paint::counted(registers.into(), "register"));
    if predicates > 0 {
        let _ = write!(text, "; {}, at {predicates_at:#06x}", paint::counted(predicates.into(), "predicate"));
    }
    text.push('\n');
    let lines = lines(function);
    match format {
        LivenessFormat::Ranges => ranges(&lines, rows, text),
        LivenessFormat::Columns => columns(&lines, rows, text),
    }
}

/// Returns the address and the text of each instruction.
fn lines(function: &FunctionCode<'_>) -> Vec<(u64, String)> {
    let line = |(address, word)| match word {
        Word::Instruction(instruction) => {
            let text: String = instruction.text(address);
            let guard = if text.starts_with('@') { "" } else { "     " };
            Some((address, format!("{guard}{text};")))
        }
        Word::Schedule(_) | Word::Unknown(_) => None,
    };
    function.words().words().filter_map(line).collect()
}

/// Returns whether the function uses the uniform datapath. Chips that have it have no condition code.
fn has_uniform(rows: &[LiveRow]) -> bool {
    rows.iter().any(|row| {
        let occupied = row.occupied();
        occupied.uniform_register_count() + occupied.uniform_predicate_count() > 0
    })
}

/// Formats a count; zero is a point.
fn cell(count: u32) -> String {
    if count == 0 { String::from(".") } else { count.to_string() }
}

fn ranges(lines: &[(u64, String)], rows: &[LiveRow], text: &mut String) {
    let has_uniform = has_uniform(rows);
    text.push_str(if has_uniform { "//  R  P UR UP\n" } else { "//  R  P CC\n" });
    for ((address, line), row) in lines.iter().zip(rows) {
        let occupied = row.occupied();
        let (registers, predicates) = (cell(occupied.register_count()), cell(occupied.predicate_count()));
        let others = if has_uniform {
            let (registers, predicates) =
                (occupied.uniform_register_count(), occupied.uniform_predicate_count());
            format!("{:>2} {:>2}", cell(registers), cell(predicates))
        } else {
            format!(" {} ", if occupied.has_condition_code() { "1" } else { "." })
        };
        let (begins, ends) = begins_and_ends(row);
        let notes = [marked('+', begins), marked('-', ends)].concat();
        let start = format!("  {registers:>3} {predicates:>2} {others} /*{address:04x}*/ ");
        let line = if notes.is_empty() { line.clone() } else { format!("{line:<NOTES$}{notes}") };
        let _ = writeln!(text, "{start}{line}");
    }
}

/// Formats the names of a set after a mark, and runs of registers as one range.
fn marked(mark: char, set: Set) -> String {
    let mut text = String::new();
    ranges_of(&mut text, mark, "R", set.registers().collect());
    for name in set.predicates().map(|number| format!("P{number}")) {
        let _ = write!(text, " {mark}{name}");
    }
    ranges_of(&mut text, mark, "UR", set.uniform_registers().collect());
    for name in set.uniform_predicates().map(|number| format!("UP{number}")) {
        let _ = write!(text, " {mark}{name}");
    }
    if set.has_condition_code() {
        let _ = write!(text, " {mark}CC");
    }
    text
}

/// Formats registers with a prefix.
fn ranges_of(text: &mut String, mark: char, prefix: &str, numbers: Vec<u8>) {
    for run in numbers.chunk_by(|one, next| one + 1 == *next) {
        let _ = match run {
            [first, .., last] => write!(text, " {mark}{prefix}{first}-{last}"),
            [one] => write!(text, " {mark}{prefix}{one}"),
            [] => Ok(()),
        };
    }
}

/// A group of columns: one for each register of a kind.
struct Group {
    columns: usize,
    /// The width of the count of live ones.
    wide: usize,
    count: fn(&Set) -> u32,
    has: fn(&Set, u8) -> bool,
}

fn columns(lines: &[(u64, String)], rows: &[LiveRow], text: &mut String) {
    let used = rows.iter().fold(Set::default(), |used, row| used.union(row.occupied()));
    let after = |last: Option<u8>| last.map_or(0, |last| usize::from(last) + 1);
    let mut groups = vec![
        Group {
            columns: after(used.registers().last()),
            wide: 3,
            count: Set::register_count,
            has: Set::has_register,
        },
        Group {
            columns: after(used.predicates().last()),
            wide: 1,
            count: Set::predicate_count,
            has: Set::has_predicate,
        },
    ];
    let has_uniform = has_uniform(rows);
    if has_uniform {
        groups.push(Group {
            columns: after(used.uniform_registers().last()),
            wide: 3,
            count: Set::uniform_register_count,
            has: Set::has_uniform_register,
        });
        groups.push(Group {
            columns: after(used.uniform_predicates().last()),
            wide: 1,
            count: Set::uniform_predicate_count,
            has: Set::has_uniform_predicate,
        });
    }
    let wide = lines.iter().map(|(_, line)| line.len()).max().unwrap_or(0);
    let indent = " ".repeat(wide + 11);
    for (unit, name) in [(100, ""), (10, ""), (1, if has_uniform { "" } else { "CC" })] {
        if unit > 1 && groups.iter().all(|group| group.columns <= unit) {
            continue;
        }
        let digit = |number: usize| match number / unit {
            0 if unit > 1 => ' ',
            digits => char::from(b'0' + (digits % 10) as u8),
        };
        let mut line = format!("{indent} {name:2}");
        for Group { columns, wide, .. } in &groups {
            let digits: String = (0..*columns).map(digit).collect();
            let _ = write!(line, " | {:>wide$} {digits}", "#");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for ((address, line), row) in lines.iter().zip(rows) {
        let occupied = row.occupied();
        let code = mark(row, occupied, &|set: &Set| set.has_condition_code());
        let mut line = format!("/*{address:04x}*/ {line:<wide$}   {code} ");
        for Group { columns, wide, count, has } in &groups {
            let marks: String =
                (0..*columns).map(|number| mark(row, occupied, &|set| has(set, number as u8))).collect();
            let _ = write!(line, " | {:>wide$} {marks}", cell(count(&occupied)));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Returns the mark of a register at an instruction: written, read, both, or live.
fn mark(row: &LiveRow, occupied: Set, has: &dyn Fn(&Set) -> bool) -> char {
    match (has(&row.effect.reads), has(&row.effect.writes), has(&occupied)) {
        (true, true, _) => 'x',
        (true, false, _) => 'v',
        (false, true, _) => '^',
        (false, false, true) => ':',
        (false, false, false) => ' ',
    }
}
