//! Signatures from `!air` metadata, beside the reflections of Apple's linker.
//!
//! Every function must have a signature: from the metadata of its module, or, as an export of a dynamic library, from its
//! name and its type. Where the library has a reflection, that of the metadata is written in the same version, and must be
//! the same bytes. Types, locations, access and names of arguments and results are also compared one by one.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use rayon::prelude::*;
use unshade::llvm::Module;
use unshade::metal::reflection::{self, Source};
use unshade::metallib::reflection::tables::OwnedTable;
use unshade::metallib::reflection::{Argument, FunctionReflection, Reflection, Return};
use unshade::metallib::{Function, Library};
use unshade::view::FunctionView;

use super::{conclude, each_library};

/// Counts of functions of one type and version.
#[derive(Clone, Copy, Default)]
struct Row {
    functions: u64,
    /// With a signature from metadata.
    metadata: u64,
    /// With a signature from the name and the type.
    exported: u64,
    /// With a reflection in the library that describes them.
    reflected: u64,
    /// Of these, those whose metadata gives the same bytes.
    identical: u64,
}

#[derive(Default)]
struct Counts {
    /// By type of function and version of AIR.
    rows: BTreeMap<(String, String), Row>,
    /// By what is compared: how many are equal, and how many there are.
    facts: BTreeMap<&'static str, [u64; 2]>,
    faults: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let counts = each_library(read)?;
    counts.print();
    conclude(&counts.faults)
}

fn read(name: &str, library: &Library<'_>) -> Counts {
    let functions: Vec<_> = library.functions().collect();
    let counts = functions.into_par_iter().map(|function| {
        let mut counts = Counts::default();
        match function {
            Ok(function) => {
                if let Err(error) = counts.function(library, &function) {
                    counts.faults.push(format!("{name}: {}: {error:#}", function.shown_name()));
                }
            }
            Err(error) => counts.faults.push(format!("{name}: {error}")),
        }
        counts
    });
    counts.reduce(Counts::default, super::Counts::sum)
}

impl Counts {
    fn function(&mut self, library: &Library<'_>, function: &Function<'_>) -> Result<()> {
        let kind = function.kind.map_or_else(|| "none".to_owned(), |kind| kind.to_string());
        let air = function.versions.map_or_else(|| "unknown".to_owned(), |versions| versions.air.to_string());
        let mut row = Row { functions: 1, ..Row::default() };
        let result = self.compare(library, function, &mut row);
        self.rows.entry((kind, air)).or_default().add(row);
        result
    }

    fn compare(&mut self, library: &Library<'_>, function: &Function<'_>, row: &mut Row) -> Result<()> {
        let name = function.name.unwrap_or_default();
        let Some(module) = library.module(function)? else { bail!("it has no module") };
        let bitcode = module.bitcode()?;
        let module = Module::parse(bitcode.data(), bitcode.base())?;
        let source = Source::of_module(&module)?;
        let described = source.as_ref().map(|source| source.function(name)).transpose()?.flatten();
        let Some(described) = described else {
            row.exported = u64::from(FunctionView::new(library, function).signature.is_some());
            ensure!(row.exported == 1, "neither the metadata nor the module gives a signature");
            return Ok(());
        };
        row.metadata = 1;
        for finding in source.iter().flat_map(|source| source.findings.iter()) {
            self.faults.push(format!("{}: {}", function.shown_name(), finding.error));
        }
        let Some(theirs) = library.reflection(function)? else { return Ok(()) };
        let Some(their_function) = theirs.function(name)? else {
            bail!("the library's reflection does not have it");
        };
        row.reflected = 1;
        self.parts(&their_function, &described);
        if let Some(found) = difference(&module, &theirs)? {
            bail!("another reflection: {found}");
        }
        row.identical = 1;
        Ok(())
    }

    /// Compares arguments and results one by one.
    fn parts(&mut self, theirs: &FunctionReflection<'_>, ours: &FunctionReflection<'_>) {
        self.fact("number of arguments", theirs.arguments.len() == ours.arguments.len());
        for (theirs, ours) in theirs.arguments.iter().zip(&ours.arguments) {
            self.argument(theirs, ours);
        }
        self.fact("number of results", theirs.returns.len() == ours.returns.len());
        for (theirs, ours) in theirs.returns.iter().zip(&ours.returns) {
            self.result(theirs, ours);
        }
    }

    fn argument(&mut self, theirs: &Argument<'_>, ours: &Argument<'_>) {
        let location = |one: &Argument<'_>| (one.index, one.index_count);
        let size = |one: &Argument<'_>| (one.buffer_size, one.type_size, one.type_align);
        self.fact("argument: kind", theirs.kind == ours.kind);
        self.fact("argument: type", theirs.type_name == ours.type_name);
        self.fact("argument: name", theirs.name == ours.name);
        self.fact("argument: location", location(theirs) == location(ours));
        self.fact("argument: access", theirs.access == ours.access);
        self.fact("argument: address space", theirs.address_space == ours.address_space);
        self.fact("argument: sizes", size(theirs) == size(ours));
    }

    fn result(&mut self, theirs: &Return<'_>, ours: &Return<'_>) {
        self.fact("result: kind", theirs.kind == ours.kind);
        self.fact("result: type", theirs.type_name == ours.type_name);
        self.fact("result: name", theirs.name == ours.name);
        self.fact("result: location", theirs.index == ours.index);
    }

    fn fact(&mut self, what: &'static str, is_same: bool) {
        let row = self.facts.entry(what).or_default();
        row[0] += u64::from(is_same);
        row[1] += 1;
    }

    fn print(&self) {
        let mut all = Row::default();
        println!(
            "type, AIR: functions, signature from metadata, from name and type, reflections, the same bytes"
        );
        for ((kind, air), row) in &self.rows {
            row.print(&format!("{kind} {air}"));
            all.add(*row);
        }
        all.print("all");
        println!("compared with the reflection: equal, of");
        for (fact, [equal, all]) in &self.facts {
            println!("  {fact:<28} {equal:>9} of {all}");
        }
    }
}

/// Returns where the reflection of a module differs from that of the library.
fn difference(module: &Module<'_>, theirs: &Reflection<'_>) -> Result<Option<String>> {
    let version = theirs.version().unwrap_or(reflection::LATEST);
    let ours = reflection::of_module(module, version)?;
    if ours.root.write()? == theirs.flatbuffer() {
        return Ok(None);
    }
    let theirs = OwnedTable::read(theirs.flatbuffer())?;
    Ok(Some(match reflection::difference(&theirs, &ours.root) {
        Some(found) => {
            format!(
                "{}: {} in the library, {} of the metadata",
                found.path.join("."),
                found.left,
                found.right
            )
        }
        None => "the order of the bytes".to_owned(),
    }))
}

impl Row {
    fn add(&mut self, other: Self) {
        self.functions += other.functions;
        self.metadata += other.metadata;
        self.exported += other.exported;
        self.reflected += other.reflected;
        self.identical += other.identical;
    }

    fn print(&self, label: &str) {
        let Self { functions, metadata, exported, reflected, identical } = self;
        println!("  {label:<20} {functions:>8} {metadata:>8} {exported:>6} {reflected:>8} {identical:>8}");
    }
}

impl super::Counts for Counts {
    fn add(&mut self, other: Self) {
        for (key, row) in other.rows {
            self.rows.entry(key).or_default().add(row);
        }
        for (fact, [equal, all]) in other.facts {
            let row = self.facts.entry(fact).or_default();
            row[0] += equal;
            row[1] += all;
        }
        self.faults.extend(other.faults);
    }

    fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }
}
