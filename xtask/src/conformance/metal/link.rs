//! Libraries taken apart and linked again, and the symbols of their modules beside `llvm-nm`.
//!
//! `link` of a library's modules, like the library itself, must give the same bytes. What it does not make, such as a symbol
//! companion, is only counted.
//! `nm` must list the letter and the name of each symbol as the newest `llvm-nm` does that is installed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use rayon::prelude::*;
use unshade::disassembly::Unit;
use unshade::link::{LinkInput, LinkOptions, link};
use unshade::metallib::file::{ExtensionTag, OwnedFunction};
use unshade::metallib::{Library, LibraryFile, LibraryType};
use unshade::program::ModuleGroup;
use unshade::view::{ModuleSymbolsView, SymbolFilter, distinct_modules};

use super::super::metallib::add_maps;
use super::{conclude, count, each_library};
use crate::sh;

/// The types of libraries that `link` makes.
const LINKED: [LibraryType; 2] = [LibraryType::EXECUTABLE, LibraryType::DYNAMIC];

/// The versions of `llvm-nm`, the newest first.
const NM_VERSIONS: [u32; 9] = [22, 21, 20, 19, 18, 17, 16, 15, 14];

/// Number of modules per run of `llvm-nm`.
const BATCH: usize = 200;

/// Maximum number of differing symbols that are printed of a library.
const SHOWN_SYMBOLS: usize = 4;

/// A module that `nm` and `llvm-nm` list.
struct Listed<'u, 'a> {
    unit: &'u Unit<'a>,
    bytes: &'u [u8],
}

#[derive(Default)]
struct Counts {
    /// By type: libraries, those that are linked again, those that are the same bytes then, their modules.
    rows: BTreeMap<String, [u64; 4]>,
    /// Modules that were linked, not taken as they are.
    rebuilt: u64,
    /// What `link` says it does not express.
    notes: BTreeMap<String, u64>,
    /// Modules and symbols of which `llvm-nm` and `nm` say the same.
    modules: u64,
    symbols: u64,
    /// By its message: modules that `llvm-nm` does not read.
    refused: BTreeMap<String, u64>,
    faults: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let nm = NM_VERSIONS.iter().find_map(|version| sh::find(&format!("llvm-nm-{version}")));
    match &nm {
        Some(nm) => println!("symbols are compared with those of {}", sh::shown(&Command::new(nm))),
        None => println!("skipped: symbols, because llvm-nm is not installed"),
    }
    let counts = each_library(|name, library| Counts::of(name, library, nm.as_deref()))?;
    counts.print();
    conclude(&counts.faults)
}

impl Counts {
    fn of(name: &str, library: &Library<'_>, nm: Option<&Path>) -> Self {
        let mut counts = Self::default();
        if let Err(error) = counts.library(library, nm) {
            counts.faults.push(format!("{name}: {error:#}"));
        }
        counts
    }

    fn library(&mut self, library: &Library<'_>, nm: Option<&Path>) -> Result<()> {
        let functions = library.functions().collect::<Result<Vec<_>, _>>()?;
        let units = functions.into_iter().map(|function| Unit::Function { library, function });
        let group = ModuleGroup { slice: String::new(), units: units.collect() };
        let modules = distinct_modules(&group).into_iter().map(|(unit, _)| {
            let (bytes, _) = unit.bytes()?;
            Ok(Listed { unit, bytes })
        });
        let modules = modules.collect::<Result<Vec<_>>>()?;
        let linked = self.link(library, &modules);
        if let Some(nm) = nm {
            let batches = modules.par_chunks(BATCH).map(|batch| Self::names(batch, nm));
            let names = batches.try_reduce(Self::default, |one, other| Ok(super::Counts::sum(one, other)))?;
            super::Counts::add(self, names);
        }
        linked
    }

    fn link(&mut self, library: &Library<'_>, modules: &[Listed<'_, '_>]) -> Result<()> {
        let data = library.file().data();
        let like = LibraryFile::from_library(library)?;
        let kind = library.header().library_type();
        let row = self.rows.entry(kind.to_string()).or_default();
        row[0] += 1;
        row[3] += modules.len() as u64;
        if !LINKED.contains(&kind) {
            return Ok(());
        }
        row[1] += 1;
        let inputs = modules.iter().map(|module| LinkInput {
            name: module.unit.name(),
            bytes: Cow::Borrowed(module.bytes),
            is_member: false,
        });
        let inputs: Vec<_> = inputs.collect();
        let is_dynamic = kind == LibraryType::DYNAMIC;
        let options = LinkOptions { dynamic: is_dynamic, like: Some(like.clone()), ..LinkOptions::default() };
        let linked = link(&inputs, &options).map_err(|faults| {
            let texts: Vec<String> = faults.iter().take(3).map(ToString::to_string).collect();
            anyhow!("link: {} faults: {}", faults.len(), texts.join("; "))
        })?;
        for note in linked.notes {
            count(&mut self.notes, note);
        }
        self.rebuilt += (linked.file.modules.len() - linked.unchanged) as u64;
        let is_same = linked.file.write()?.to_vec() == data;
        row[2] += u64::from(is_same);
        ensure!(is_same, "linked again, it has another {}", differences(&like, &linked.file).join(", "));
        Ok(())
    }

    /// Compares the symbols of modules with those of `llvm-nm`.
    fn names(modules: &[Listed<'_, '_>], nm: &Path) -> Result<Self> {
        let mut counts = Self::default();
        let folder = sh::temporary("modules");
        fs::create_dir_all(&folder)?;
        let paths: Vec<_> = (0..modules.len()).map(|index| folder.join(format!("{index}.air"))).collect();
        for (path, module) in paths.iter().zip(modules) {
            fs::write(path, module.bytes)?;
        }
        // With several files, each has a heading. It fails if it does not read one of them.
        let output = Command::new(nm).arg("--no-sort").args(&paths).arg(&paths[0]).output();
        fs::remove_dir_all(&folder)?;
        let output = output.context("llvm-nm does not start")?;
        let texts = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let (theirs, mut refused) = (sections(&texts.0), texts.1.lines());
        for (path, module) in paths.iter().zip(modules) {
            let path = path.to_string_lossy();
            let Some(theirs) = theirs.get(&*path) else {
                let message = refused.find(|line| line.contains(&*path)).unwrap_or("says nothing");
                count(&mut counts.refused, message.rsplit(": ").next().unwrap_or_default().to_owned());
                continue;
            };
            counts.compare(module.unit, theirs)?;
        }
        Ok(counts)
    }

    fn compare(&mut self, unit: &Unit<'_>, theirs: &BTreeSet<(char, &str)>) -> Result<()> {
        let view = ModuleSymbolsView::new("", unit, Vec::new(), SymbolFilter::default())?;
        let ours: BTreeSet<(char, &str)> =
            view.symbols.iter().map(|symbol| (symbol.letter, symbol.name.as_str())).collect();
        if ours == *theirs {
            self.modules += 1;
            self.symbols += ours.len() as u64;
            return Ok(());
        }
        let differ: Vec<_> = ours.symmetric_difference(theirs).take(SHOWN_SYMBOLS).collect();
        bail!("{}: nm and llvm-nm differ in {differ:?}", unit.name())
    }

    fn print(&self) {
        println!("type: libraries, linked again, the same bytes, modules");
        let print = |kind: &str, [libraries, linked, same, modules]: &[u64; 4]| {
            println!("  {kind:<20} {libraries:>8} {linked:>8} {same:>8} {modules:>8}");
        };
        let mut all = [0; 4];
        for (kind, row) in &self.rows {
            print(kind, row);
            all.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        }
        print("all", &all);
        println!("modules that were built anew {}", self.rebuilt);
        for (title, rows) in
            [("notes of link", &self.notes), ("modules that llvm-nm does not read", &self.refused)]
        {
            println!("{title}: {}", rows.values().sum::<u64>());
            for (text, count) in rows {
                println!("  {count:>9}  {text}");
            }
        }
        println!("modules with the symbols of llvm-nm {}, symbols {}", self.modules, self.symbols);
    }
}

/// Returns the letter and the name of each symbol by file, of what `llvm-nm` prints for several files.
fn sections(text: &str) -> BTreeMap<&str, BTreeSet<(char, &str)>> {
    let mut sections: BTreeMap<&str, BTreeSet<(char, &str)>> = BTreeMap::new();
    let mut current = "";
    for line in text.lines() {
        if let Some(path) = line.strip_suffix(':') {
            current = path;
            sections.entry(path).or_default();
        } else if let Some((letter, name)) = symbol(line) {
            sections.entry(current).or_default().insert((letter, name));
        }
    }
    sections
}

/// Returns the letter and the name in a line of `llvm-nm`, which come after the address: digits, hyphens or blanks.
fn symbol(line: &str) -> Option<(char, &str)> {
    let (head, name) =
        line.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == '-').trim_start().split_once(' ')?;
    let mut letters = head.chars();
    let letter = letters.next().filter(|_| letters.next().is_none())?;
    Some((letter, name))
}

/// Returns the names of what two libraries have differently.
fn differences(old: &LibraryFile<'_>, new: &LibraryFile<'_>) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut check = |what: &str, is_same: bool| {
        if !is_same {
            found.insert(what.to_owned());
        }
    };
    check("writer", old.dialect == new.dialect && old.shared_group == new.shared_group);
    check("list of functions", old.functions.len() == new.functions.len());
    for (old, new) in old.functions.iter().zip(&new.functions) {
        function_facts(old, new).into_iter().for_each(|(what, is_same)| check(what, is_same));
    }
    check("number of modules", old.modules.len() == new.modules.len());
    for (old, new) in old.modules.iter().zip(&new.modules) {
        check("module", old.bytes == new.bytes);
        check("stray byte after a module", old.stray == new.stray);
    }
    let tags = |file: &LibraryFile<'_>| {
        let tags = file.extension.iter().flatten().map(|tag| match tag {
            ExtensionTag::Section { code, .. } => code.to_string(),
            ExtensionTag::Uuid(_) => "UUID".to_owned(),
            ExtensionTag::Other(tag) => tag.code.to_string(),
        });
        tags.collect::<Vec<_>>()
    };
    let (old_tags, new_tags) = (tags(old), tags(new));
    for tag in old_tags.iter().chain(&new_tags) {
        let only_one = old_tags.contains(tag) != new_tags.contains(tag);
        check(&format!("presence of {tag}"), !only_one);
    }
    check("order of sections", old_tags.len() != new_tags.len() || old_tags == new_tags);
    for old_tag in old.extension.iter().flatten() {
        if let ExtensionTag::Section { code, data } = old_tag
            && let Some(new) = new.section(&[code.0])
        {
            check(&format!("content of {code}"), data == new);
        }
    }
    check("UUID", old.uuid() == new.uuid());
    if found.is_empty() {
        found.insert("layout".to_owned());
    }
    found.into_iter().collect()
}

/// Returns whether the facts of a function are the same.
fn function_facts(old: &OwnedFunction<'_>, new: &OwnedFunction<'_>) -> [(&'static str, bool); 16] {
    [
        ("name of a function", old.name == new.name),
        ("type of a function", old.kind == new.kind),
        ("hash of a function", old.hash.is_none() || new.hash.is_none() || old.hash == new.hash),
        ("module of a function", old.module == new.module),
        ("size of a module", old.states_module_size == new.states_module_size),
        ("version of a function", old.versions == new.versions),
        ("tessellation of a function", old.tessellation == new.tessellation),
        ("layer type of a function", old.layer_type == new.layer_type),
        ("source archive of a function", old.source == new.source),
        ("reflection of a function", old.reflection == new.reflection),
        ("tags of a function", old.other == new.other && old.order == new.order),
        ("public metadata of a function", old.public == new.public),
        ("location of a function", old.private.location == new.private.location),
        ("dependencies of a function", old.private.dependencies == new.private.dependencies),
        ("private tags of a function", old.private.other == new.private.other),
        ("order of private tags", old.private.order == new.private.order),
    ]
}

impl super::Counts for Counts {
    fn add(&mut self, other: Self) {
        for (kind, row) in other.rows {
            let sums = self.rows.entry(kind).or_default();
            sums.iter_mut().zip(row).for_each(|(sum, addend)| *sum += addend);
        }
        add_maps(&mut self.notes, other.notes);
        add_maps(&mut self.refused, other.refused);
        self.rebuilt += other.rebuilt;
        self.modules += other.modules;
        self.symbols += other.symbols;
        self.faults.extend(other.faults);
    }

    fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }
}
