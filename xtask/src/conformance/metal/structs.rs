//! The structures that are printed of arguments, laid out by clang++.
//!
//! Each distinct declaration is compiled as it is printed, after `types.h`, which has Metal's types. Assertions say that the
//! compiler gives each member the offset and the size, and each structure the size, that the reflection or the metadata
//! states. A declaration that says itself that it does not express its layout is only counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use rayon::prelude::*;
use unshade::metal::reflection::Source;
use unshade::metallib::reflection::{Layout, Layouts};
use unshade::metallib::{Function, Library};

use super::{clang, conclude, each_library};
use crate::sh;

/// Metal's types for clang++.
const TYPES: &str = include_str!("types.h");

/// What a declaration says of a structure that it does not express.
const NOT_EXPRESSED: &str = "members share bytes";

/// Number of declarations that are compiled at once.
const BATCH: usize = 500;

/// A declaration: its structures, and what the compiler must find.
struct Declaration {
    /// The function that has it.
    example: String,
    assertions: Vec<String>,
    /// The number of structures.
    structures: u64,
    /// Of these, those that say that they do not express their layout.
    not_expressed: u64,
}

#[derive(Default)]
struct Counts {
    functions: u64,
    /// Functions with structures.
    with_structures: u64,
    declarations: BTreeMap<String, Declaration>,
    faults: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let Some(clang) = clang() else { return Ok(()) };
    println!("compiler: {}", sh::shown(&Command::new(&clang)));
    let mut counts = each_library(read)?;
    let sum = |of: fn(&Declaration) -> u64| counts.declarations.values().map(of).sum::<u64>();
    println!("functions {}, with structures {}", counts.functions, counts.with_structures);
    println!(
        "distinct declarations {}, structures in them {}",
        counts.declarations.len(),
        sum(|one| one.structures)
    );
    println!("  not expressed, as they say {}", sum(|one| one.not_expressed));
    let all: Vec<_> = counts.declarations.iter().collect();
    let compiled = all.par_chunks(BATCH).map(|batch| compile(batch, &clang)).collect::<Result<Vec<_>>>()?;
    let asserted = sum(|one| one.assertions.len() as u64);
    counts.faults.extend(compiled.into_iter().flatten());
    println!("assertions {asserted}, failures {}", counts.faults.len());
    conclude(&counts.faults)
}

fn read(name: &str, library: &Library<'_>) -> Counts {
    let functions: Vec<_> = library.functions().map_while(Result::ok).collect();
    let counts = functions.par_iter().map(|function| {
        let mut counts = Counts { functions: 1, ..Counts::default() };
        let label = format!("{name}: {}", function.shown_name());
        if let Err(error) = counts.function(&label, library, function) {
            counts.faults.push(format!("{label}: {error:#}"));
        }
        counts
    });
    counts.reduce(Counts::default, super::Counts::sum)
}

impl Counts {
    fn function(&mut self, label: &str, library: &Library<'_>, function: &Function<'_>) -> Result<()> {
        let Some(source) = Source::of(library, function)? else { return Ok(()) };
        let name = function.name.unwrap_or_default();
        let Some(described) = source.function(name)? else { return Ok(()) };
        let layouts = Layouts::of(&source.reflection()?, &described)?;
        if layouts.all.is_empty() {
            return Ok(());
        }
        self.with_structures = 1;
        let mut text = String::new();
        layouts.print(&mut text);
        let declaration = Declaration::new(label, &layouts);
        self.declarations.insert(text, declaration);
        Ok(())
    }
}

impl Declaration {
    fn new(label: &str, layouts: &Layouts) -> Self {
        let mut declaration =
            Self { example: label.to_owned(), assertions: Vec::new(), structures: 0, not_expressed: 0 };
        for layout in &layouts.all {
            let one = Layouts { all: vec![layout.clone()] };
            let mut text = String::new();
            one.print(&mut text);
            declaration.structures += 1;
            if text.lines().next().is_some_and(|head| head.contains(NOT_EXPRESSED)) {
                declaration.not_expressed += 1;
            } else {
                declaration.assertions.extend(assertions(layout));
            }
        }
        declaration
    }
}

/// Returns what must be true of a structure.
fn assertions(layout: &Layout) -> Vec<String> {
    let name = &layout.name;
    let mut all = Vec::new();
    for member in &layout.members {
        let (field, offset) = (&member.name, member.offset);
        let size = u64::from(member.size) * u64::from(member.array_entries.max(1));
        all.push(format!("__builtin_offsetof({name}, {field}) == {offset}"));
        all.push(format!("sizeof({name}::{field}) == {size}"));
    }
    all.extend(layout.size.map(|size| format!("sizeof({name}) == {size}")));
    all
}

/// Compiles declarations. Returns what the compiler says of those that it does not lay out as asserted.
fn compile(batch: &[(&String, &Declaration)], clang: &Path) -> Result<Vec<String>> {
    let mut text = format!("{TYPES}\n");
    let mut line = text.lines().count();
    // The first line of each declaration, to find it by the line of a message.
    let mut starts = Vec::new();
    for (index, (declared, declaration)) in batch.iter().enumerate() {
        starts.push((line + 1, &declaration.example));
        let before = text.len();
        write!(text, "namespace declaration_{index} {{\n{declared}")?;
        for assertion in &declaration.assertions {
            writeln!(text, "static_assert({assertion}, \"\");")?;
        }
        text.push_str("}\n");
        line += text[before..].lines().count();
    }
    let path = sh::temporary("cpp");
    fs::write(&path, &text)?;
    let mut command = Command::new(clang);
    command.args(["-std=c++17", "-fsyntax-only", "-ferror-limit=0", "-fno-caret-diagnostics", "-w"]);
    let output = command.arg(&path).output().context("clang does not start")?;
    fs::remove_file(&path)?;
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut faults: Vec<String> = messages.lines().filter_map(|line| fault(line, &starts)).collect();
    if faults.is_empty() && !output.status.success() {
        faults.push(messages.lines().next().unwrap_or("clang fails").to_owned());
    }
    Ok(faults)
}

/// Returns an error of the compiler with the function whose declaration it is in.
fn fault(line: &str, starts: &[(usize, &String)]) -> Option<String> {
    let (place, message) = line.split_once(": error: ")?;
    let number: usize = place.split(':').nth_back(1)?.parse().ok()?;
    let (_, example) = starts.iter().rev().find(|(start, _)| *start <= number)?;
    Some(format!("{example}: {message}"))
}

impl super::Counts for Counts {
    fn add(&mut self, other: Self) {
        self.functions += other.functions;
        self.with_structures += other.with_structures;
        self.declarations.extend(other.declarations);
        self.faults.extend(other.faults);
    }

    fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }
}
