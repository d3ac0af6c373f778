//! Metal libraries: everything that was carved from the packages, and `metallib/` in UNSHADE_CORPUS.
//!
//! The references are in the libraries themselves: the SHA-256 of every module, sizes, counts, names in the reflection.
//! In addition, every byte must be attributed, and every tag must be known.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::carve::format::Format;
use unshade::carve::{Condition, Find, FindPath};
use unshade::core::outline::Coverage;
use unshade::core::{Diagnostics, Error};
use unshade::load_check::{self, LibraryFacts, Outcome};
use unshade::metallib::Library;
use unshade::metallib::tag::Tags;
use unshade::metallib::universal::MAGIC;
use unshade::metallib::verify::Check;
use unshade::program::{self, Program};

use crate::{corpus, sh};

/// Files of UNSHADE_CORPUS that are intentionally not libraries.
pub(super) const NEGATIVE: &str = "negative";

/// The counts for one file, or for all.
#[derive(Default)]
struct Counts {
    files: u64,
    bytes: u64,
    universal: u64,
    libraries: u64,
    functions: u64,
    hashes: u64,
    matching: u64,
    reflections: u64,
    decoded: u64,
    named_functions: u64,
    unknown_bytes: u64,
    sources: u64,
    source_files: u64,
    refused: u64,
    /// Libraries, by the result of `check` for their target OS.
    loads: BTreeMap<String, u64>,
    /// Tags, by location.
    tags: BTreeMap<(&'static str, String), u64>,
    versions: BTreeMap<String, u64>,
    types: BTreeMap<String, u64>,
    faults: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let files = collect()?;
    println!("distinct files: {}", files.len());
    let counts = files.par_iter().map(|path| read_file(path)).reduce(Counts::default, Counts::add);
    counts.print();
    ensure!(counts.faults.is_empty(), "{} faults", counts.faults.len());
    Ok(())
}

/// Returns all distinct files.
pub(crate) fn collect() -> Result<Vec<PathBuf>> {
    let mut folders = vec![corpus::carved_folder(&corpus::cache_dir(None)?)];
    match sh::env_path("UNSHADE_CORPUS") {
        Some(shared) => folders.extend([shared.join("metallib"), shared.join("metallib/archives")]),
        None => println!("skipped: UNSHADE_CORPUS is not set"),
    }
    let mut files = Vec::new();
    for folder in folders {
        let Ok(entries) = fs::read_dir(&folder) else {
            println!("skipped: {} does not exist; run `cargo xtask corpus`", folder.display());
            continue;
        };
        let wanted = |path: &PathBuf| path.extension().is_some_and(|ext| ext == "metallib" || ext == "bin");
        files.extend(entries.filter_map(Result::ok).map(|entry| entry.path()).filter(wanted));
    }
    files.sort();
    let hash = |path: &PathBuf| Ok((sh::sha256_hex(&fs::read(path).context("cannot read")?), path.clone()));
    let hashed: Vec<(String, PathBuf)> = files.par_iter().map(hash).collect::<Result<_>>()?;
    let mut seen = BTreeSet::new();
    Ok(hashed.into_iter().filter(|(hash, _)| seen.insert(hash.clone())).map(|(_, path)| path).collect())
}

/// Opens what [`collect`] found.
pub(crate) fn open(data: &[u8]) -> Result<Box<dyn Program + '_>, Error> {
    let format = if is_universal(data) { Format::MetalUniversal } else { Format::MetalLibrary };
    program::open(&Find {
        format,
        path: FindPath::of_file(b""),
        data,
        file_offset: Some(0),
        condition: Condition::Whole,
        options: None,
    })
}

fn is_universal(data: &[u8]) -> bool {
    data.starts_with(&MAGIC.to_be_bytes())
}

fn read_file(path: &Path) -> Counts {
    let mut counts = Counts { files: 1, ..Counts::default() };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let data = match fs::read(path) {
        Ok(data) => data,
        Err(error) => {
            counts.faults.push(format!("{name}: {error}"));
            return counts;
        }
    };
    counts.bytes = data.len() as u64;
    match open(&data) {
        Ok(program) if !name.starts_with(NEGATIVE) => {
            counts.universal += u64::from(is_universal(&data));
            read_program(&name, &*program, data.len() as u64, &mut counts);
        }
        Ok(_) => counts.faults.push(format!("{name}: was parsed, but is not a library")),
        Err(_) if name.starts_with(NEGATIVE) => counts.refused = 1,
        Err(error) => counts.faults.push(format!("{name}: {error}")),
    }
    counts
}

fn read_program(name: &str, program: &dyn Program, size: u64, counts: &mut Counts) {
    let mut coverage = Coverage::starting_at(0);
    program.outline(&mut coverage);
    counts.unknown_bytes += coverage.unknown_bytes();
    if coverage.unknown_bytes() > 0 {
        counts.faults.push(format!("{name}: {} bytes of unknown meaning", coverage.unknown_bytes()));
    }
    counts.faults.extend(coverage.finish(size).into_iter().map(|fault| format!("{name}: {fault}")));
    let mut diagnostics = Diagnostics::new();
    program.sections(&mut diagnostics);
    for named in program.metal_libraries() {
        read_library(&named.library, &mut diagnostics, counts);
    }
    for diagnostic in &diagnostics {
        counts.faults.push(format!("{name}: {}: {}", diagnostic.severity, diagnostic.error));
    }
}

fn read_library(library: &Library<'_>, diagnostics: &mut Diagnostics, counts: &mut Counts) {
    counts.libraries += 1;
    let mut check = Check::new(library);
    let results: Vec<_> = (0..check.unit_count()).into_par_iter().map(|unit| check.run(unit)).collect();
    results.into_iter().for_each(|result| check.absorb(result));
    let verdict = check.finish();
    counts.functions += verdict.functions;
    counts.matching += verdict.matching_hashes;
    diagnostics.append(verdict.diagnostics);
    judge_loading(library, counts);
    *counts.versions.entry(library.header().version().to_string()).or_default() += 1;
    for function in library.functions().map_while(Result::ok) {
        counts.hashes += u64::from(function.hash.is_some());
        if let Some(kind) = function.kind {
            *counts.types.entry(kind.to_string()).or_default() += 1;
        }
        counts.tags("function list", function.tags());
        for group in [
            library.public_metadata(&function).map(|metadata| metadata.map(|m| ("public metadata", m.group))),
            library
                .private_metadata(&function)
                .map(|metadata| metadata.map(|m| ("private metadata", m.group))),
        ] {
            if let Ok(Some((place, group))) = group {
                counts.tags(place, group.tags());
            }
        }
        if function.reflection_offset.is_some()
            && let Some(described) = diagnostics.take("reflection", described(library, &function))
        {
            counts.named_functions += u64::from(described);
        }
    }
    if let Some(extension) = library.extension() {
        counts.tags("header extension", extension.tags());
    }
    for code in [b"ILST", b"VLST", b"RLST", b"SLST"] {
        for group in library.list(code).ok().flatten().into_iter().flatten().filter_map(Result::ok) {
            counts.tags("lists", group.tags());
            if code == b"RLST" {
                counts.reflections += 1;
                let reflection = unshade::metallib::library::reflection_buffer(&group);
                let decoded =
                    reflection.and_then(|reflection| reflection.functions().try_for_each(|f| f.map(|_| ())));
                counts.decoded += u64::from(diagnostics.take("reflection", decoded).is_some());
            }
        }
    }
    if let Ok(Some(header)) = library.dynamic_header() {
        counts.tags("dynamic header", header.tags());
    }
    for archive in library.sources().ok().flatten().into_iter().flat_map(|sources| sources.archives()) {
        counts.sources += 1;
        let unpacked = archive.and_then(|archive| {
            let mut files = 0;
            unshade::source_files::visit_files(&archive, |_| files += 1).map(|()| files)
        });
        counts.source_files += diagnostics.take("sources", unpacked).unwrap_or(0);
    }
}

/// Checks that a library loads on its target OS.
fn judge_loading(library: &Library<'_>, counts: &mut Counts) {
    let facts = LibraryFacts::read(library);
    let Some(home) = load_check::made_for(&facts) else {
        *counts.loads.entry("does not say its OS".into()).or_default() += 1;
        return;
    };
    let report = load_check::check(&facts, home);
    let word = match report.outcome {
        Outcome::Loads => "loads",
        Outcome::Unclear => "seems to load",
        Outcome::Partly | Outcome::Refused => {
            let broken = report.findings.iter().filter(|finding| finding.status == load_check::Status::Fail);
            let broken: Vec<&str> = broken.map(|finding| finding.rule).collect();
            counts.faults.push(format!("does not load on its target {home}: {}", broken.join(", ")));
            "does not load"
        }
    };
    *counts.loads.entry(word.into()).or_default() += 1;
}

/// Returns whether the reflection has the function by its name. The reflection of a dynamic library has no functions.
fn described(library: &Library<'_>, function: &unshade::metallib::Function<'_>) -> Result<bool, Error> {
    let Some(reflection) = library.reflection(function)? else { return Ok(false) };
    Ok(reflection.function(function.name.unwrap_or_default())?.is_some())
}

impl Counts {
    fn tags(&mut self, place: &'static str, tags: Tags<'_>) {
        for tag in tags.filter_map(Result::ok) {
            *self.tags.entry((place, tag.code.to_string())).or_default() += 1;
        }
    }

    fn add(mut self, other: Self) -> Self {
        let sums = [
            (&mut self.files, other.files),
            (&mut self.bytes, other.bytes),
            (&mut self.universal, other.universal),
            (&mut self.libraries, other.libraries),
            (&mut self.functions, other.functions),
            (&mut self.hashes, other.hashes),
            (&mut self.matching, other.matching),
            (&mut self.reflections, other.reflections),
            (&mut self.decoded, other.decoded),
            (&mut self.named_functions, other.named_functions),
            (&mut self.unknown_bytes, other.unknown_bytes),
            (&mut self.sources, other.sources),
            (&mut self.source_files, other.source_files),
            (&mut self.refused, other.refused),
        ];
        for (sum, addend) in sums {
            *sum += addend;
        }
        add_maps(&mut self.loads, other.loads);
        add_maps(&mut self.tags, other.tags);
        add_maps(&mut self.versions, other.versions);
        add_maps(&mut self.types, other.types);
        self.faults.extend(other.faults);
        self
    }

    fn print(&self) {
        println!("bytes read            {:>12}", self.bytes);
        println!("libraries parsed      {:>12}   {} universal files", self.libraries, self.universal);
        println!("rejected as expected  {:>12}", self.refused);
        println!("functions             {:>12}", self.functions);
        println!("hashes verified       {:>12} of {}", self.matching, self.hashes);
        println!("unattributed bytes    {:>12}", self.unknown_bytes);
        println!("reflections decoded   {:>12} of {}", self.decoded, self.reflections);
        println!("  naming a function   {:>12}", self.named_functions);
        println!("source archives       {:>12}   {} files", self.sources, self.source_files);
        println!("\nresult on the target OS, libraries");
        print_map(self.loads.iter());
        println!("\ncontainer version, libraries");
        print_map(self.versions.iter());
        println!("\nfunction type, functions");
        print_map(self.types.iter());
        println!("\ntag, count");
        print_map(self.tags.iter().map(|((place, tag), count)| (format!("{place:<17} {tag}"), count)));
        for fault in self.faults.iter().take(50) {
            println!("fault: {fault}");
        }
    }
}

pub(super) fn add_maps<K: Ord>(into: &mut BTreeMap<K, u64>, from: BTreeMap<K, u64>) {
    for (key, count) in from {
        *into.entry(key).or_default() += count;
    }
}

fn print_map<'a, K: std::fmt::Display>(rows: impl Iterator<Item = (K, &'a u64)>) {
    for (key, count) in rows {
        println!("  {key:<28} {count:>9}");
    }
}
