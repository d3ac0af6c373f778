//! Writing Metal libraries: every real library is parsed and written, and must be identical.
//!
//! Hashes are also recomputed and compared. For every tag, the bytes written from typed fields and those kept raw are
//! counted. Then all edits are performed on libraries of every shape (`metallib_edits.rs`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::air;
use unshade::metallib::Library;
use unshade::metallib::document;
use unshade::metallib::file::{ExtensionTag, LibraryFile, OwnedFunction, RawTag, SectionData};
use unshade::metallib::tag::Tags;

use super::metallib::{NEGATIVE, add_maps, collect, open};

/// For a tag: how often it occurs, bytes from typed fields, raw bytes.
type TagCounts = [u64; 3];

#[derive(Default)]
struct Counts {
    files: u64,
    bytes: u64,
    libraries: u64,
    functions: u64,
    exact: u64,
    computed_hashes: u64,
    reflections: u64,
    /// Reflections that were rebuilt from their tables.
    rebuilt: u64,
    yaml_bytes: u64,
    yaml_exact: u64,
    /// By kind of fact: functions whose module and library agree, and all functions that have it.
    facts: BTreeMap<&'static str, [u64; 2]>,
    dialects: BTreeMap<String, u64>,
    /// By location and tag.
    tags: BTreeMap<(&'static str, String), TagCounts>,
    differences: Vec<String>,
    faults: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let files = collect()?;
    println!("distinct files: {}", files.len());
    let counts = files.par_iter().map(|path| read_file(path)).reduce(Counts::default, Counts::add);
    counts.print();
    let broken = super::metallib_edits::run(&files)?;
    ensure!(counts.faults.is_empty() && broken == 0, "{} faults", counts.faults.len() + broken);
    Ok(())
}

fn read_file(path: &Path) -> Counts {
    let mut counts = Counts { files: 1, ..Counts::default() };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if name.starts_with(NEGATIVE) {
        return counts;
    }
    if let Err(error) = read_data(path, &mut counts) {
        counts.faults.push(format!("{name}: {error:#}"));
    }
    counts
}

fn read_data(path: &Path, counts: &mut Counts) -> Result<()> {
    let data = fs::read(path)?;
    let program = open(&data)?;
    for named in program.metal_libraries() {
        write_back(&named.library, counts)?;
    }
    Ok(())
}

fn write_back(library: &Library<'_>, counts: &mut Counts) -> Result<()> {
    let data = library.file().data();
    counts.libraries += 1;
    counts.bytes += data.len() as u64;
    let mut file = LibraryFile::from_library(library)?;
    ensure!(file.write()?.to_vec() == data, "writing changes the file");
    counts.exact += 1;
    counts.functions += file.functions.len() as u64;
    let dialect = library.dialect().map_or_else(|| "no function".into(), |dialect| dialect.to_string());
    *counts.dialects.entry(format!("{} {dialect}", library.header().version())).or_default() += 1;
    counts.count(library, &file);
    file.functions.iter_mut().for_each(|function| function.hash = None);
    ensure!(file.write()?.to_vec() == data, "recomputing hashes changes the file");
    counts.computed_hashes += file.functions.len() as u64;
    let rebuilt = rebuild_reflections(&mut file)?;
    ensure!(file.write()?.to_vec() == data, "rebuilding reflections changes the file");
    counts.rebuilt += rebuilt;
    counts.reflections += file.reflections().len() as u64;
    let text = document::to_yaml(&file)?;
    counts.yaml_bytes += text.len() as u64;
    ensure!(document::from_yaml(&text)?.write()?.to_vec() == data, "YAML changes the file");
    counts.yaml_exact += 1;
    for (index, function) in file.functions.iter().enumerate() {
        counts.facts(function, &file.modules[function.module].bytes, index);
    }
    Ok(())
}

/// Rebuilds the reflection buffers from their tables. Returns how many could be parsed.
fn rebuild_reflections(file: &mut LibraryFile<'_>) -> Result<u64> {
    let Some(SectionData::Reflections(list)) = file.section_mut(&[*b"RLST"]) else { return Ok(0) };
    let mut rebuilt = 0;
    for buffer in list {
        let written = buffer.tables().map(|tables| tables.write()).transpose()?;
        if let Some(written) = written {
            buffer.content = written.into();
            rebuilt += 1;
        }
    }
    Ok(rebuilt)
}

impl Counts {
    /// Compares the description of a function in its module with that in the library.
    fn facts(&mut self, function: &OwnedFunction<'_>, module: &[u8], index: usize) {
        let said = air::functions(module).unwrap_or_default();
        let said = said.iter().find(|said| said.name == function.name);
        let name = function.label(index);
        let mut fact = |what: &'static str, has: bool, same: bool| {
            if has {
                let row = self.facts.entry(what).or_default();
                row[0] += u64::from(same);
                row[1] += 1;
                if !same {
                    self.differences.push(format!("{name}: {what}"));
                }
            }
        };
        fact("type", function.kind.is_some(), said.is_some_and(|said| said.kind == function.kind));
        let Some(said) = said else { return };
        fact("versions", function.versions.is_some(), said.versions == function.versions);
        let (public, theirs) = (&function.public, &said.public);
        let attributes = public.attributes.is_some() || theirs.attributes.is_some();
        fact("vertex attributes", attributes, public.attributes == theirs.attributes);
        let constants = public.constants.is_some() || theirs.constants.is_some();
        fact("function constants", constants, public.constants == theirs.constants);
        let layer = function.layer_type.is_some() || said.layer_type.is_some();
        fact("layer type", layer, function.layer_type == said.layer_type);
    }

    fn row(&mut self, place: &'static str, tag: String, size: u64, raw: u64) {
        let row = self.tags.entry((place, tag)).or_default();
        row[0] += 1;
        row[1] += size - raw;
        row[2] += raw;
    }

    fn run(&mut self, place: &'static str, tags: Tags<'_>, other: &[RawTag<'_>]) {
        for tag in tags.map_while(Result::ok) {
            let is_raw = other.iter().any(|other| other.code == tag.code);
            let raw = if is_raw { tag.content.data().len() as u64 } else { 0 };
            self.row(place, tag.code.to_string(), tag.range.end - tag.range.start, raw);
        }
    }

    fn count(&mut self, library: &Library<'_>, file: &LibraryFile<'_>) {
        for (function, owned) in library.functions().map_while(Result::ok).zip(&file.functions) {
            self.run("function list", function.tags(), &owned.other);
            if let Ok(Some(metadata)) = library.public_metadata(&function) {
                self.run("public metadata", metadata.group.tags(), &owned.public.other);
            }
            if let Ok(Some(metadata)) = library.private_metadata(&function) {
                self.run("private metadata", metadata.group.tags(), &owned.private.other);
            }
        }
        for module in &file.modules {
            let bytes = module.bytes.len() as u64;
            self.row("bitcode", "module".into(), bytes, bytes);
            if !module.stray.is_empty() {
                let stray = module.stray.len() as u64;
                self.row("bitcode", "stray bytes".into(), stray, stray);
            }
        }
        for tag in file.extension.iter().flatten() {
            let (code, size, raw) = match tag {
                ExtensionTag::Section { code, .. } => (code.to_string(), 22, 0),
                ExtensionTag::Uuid(_) => ("UUID".into(), 22, 0),
                ExtensionTag::Other(tag) => {
                    (tag.code.to_string(), tag.content.len() as u64 + 6, tag.content.len() as u64)
                }
            };
            self.row("header extension", code, size, raw);
            if let ExtensionTag::Section { code, data } = tag {
                let size = library.section(&code.0).ok().flatten().map_or(0, |section| section.remaining());
                self.row("sections", code.to_string(), size as u64, raw_bytes(data));
            }
        }
    }

    fn add(mut self, other: Self) -> Self {
        let sums = [
            (&mut self.files, other.files),
            (&mut self.bytes, other.bytes),
            (&mut self.libraries, other.libraries),
            (&mut self.functions, other.functions),
            (&mut self.exact, other.exact),
            (&mut self.computed_hashes, other.computed_hashes),
            (&mut self.reflections, other.reflections),
            (&mut self.rebuilt, other.rebuilt),
            (&mut self.yaml_bytes, other.yaml_bytes),
            (&mut self.yaml_exact, other.yaml_exact),
        ];
        for (sum, addend) in sums {
            *sum += addend;
        }
        add_maps(&mut self.dialects, other.dialects);
        for (key, row) in other.tags {
            let sum = self.tags.entry(key).or_default();
            sum.iter_mut().zip(row).for_each(|(sum, addend)| *sum += addend);
        }
        for (key, row) in other.facts {
            let sum = self.facts.entry(key).or_default();
            sum.iter_mut().zip(row).for_each(|(sum, addend)| *sum += addend);
        }
        self.differences.extend(other.differences);
        self.faults.extend(other.faults);
        self
    }

    fn print(&self) {
        println!("libraries                  {:>12}   {} bytes", self.libraries, self.bytes);
        println!("rewritten exactly          {:>12}", self.exact);
        println!("functions                  {:>12}", self.functions);
        println!("  with computed hash       {:>12}", self.computed_hashes);
        println!("reflections from tables    {:>12}   of {}", self.rebuilt, self.reflections);
        println!("exact YAML round trips     {:>12}   {} bytes", self.yaml_exact, self.yaml_bytes);
        println!("\nfact, functions whose module and library agree");
        for (fact, [same, all]) in &self.facts {
            println!("  {fact:<28} {same:>9} of {all}");
        }
        for difference in self.differences.iter().take(40) {
            println!("  difference: {difference}");
        }
        println!("\nversion and writer, libraries");
        for (dialect, count) in &self.dialects {
            println!("  {dialect:<28} {count:>9}");
        }
        println!("\ntag, count, bytes from typed fields, raw bytes");
        for ((place, tag), [count, typed, raw]) in &self.tags {
            println!("  {place:<17} {tag:<11} {count:>8} {typed:>12} {raw:>12}");
        }
        for fault in self.faults.iter().take(50) {
            println!("fault: {fault}");
        }
    }
}

/// Returns the number of bytes in a section that are kept raw.
fn raw_bytes(data: &SectionData<'_>) -> u64 {
    let sum = |sizes: &mut dyn Iterator<Item = usize>| sizes.sum::<usize>() as u64;
    match data {
        SectionData::Sources(sources) => sum(&mut sources.archives.iter().map(|a| a.compressed.len())),
        SectionData::SourceLink(tags) => sum(&mut tags.iter().map(|tag| tag.content.len())),
        SectionData::Dynamic(dynamic) => sum(&mut dynamic.other.iter().map(|tag| tag.content.len())),
        SectionData::Symbols(_) => 0,
        SectionData::Reflections(list) => {
            let carried = list.iter().filter(|buffer| buffer.tables().is_none());
            sum(&mut carried.map(|buffer| buffer.content.len()))
        }
        SectionData::Scripts(scripts) => sum(&mut scripts.iter().map(|script| script.len())),
        SectionData::Raw(bytes) => bytes.len() as u64,
    }
}
