//! Conformance of DXContainers: every container of the corpus and of the packages is parsed, written, verified and
//! round-tripped through YAML, with counts of exact results.
//!
//! Writing a container must reproduce its bytes. Further references are its digest, the hash of its program, and LLVM's
//! obj2yaml and yaml2obj if available.

mod damaged;
mod edits;
mod listing;
mod parts;
mod rebuild;
mod tally;
mod text;
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use unshade::check_dxcontainer;
use unshade::core::outline::Coverage;
use unshade::core::{FourCc, Severity};
use unshade::dxcontainer::file::DxFile;
use unshade::dxcontainer::part::PartData;
use unshade::dxcontainer::simple_parts::ShaderHash;
use unshade::dxcontainer::{Container, document, outline, part};

use self::damaged::Damaged;
use self::rebuild::Rebuilt;
use self::tools::Tools;
use crate::{corpus, sh};

/// Maximum number of differences and faults to print; the others are only counted.
const SHOWN: usize = 40;

/// A file to read.
struct Source {
    /// The folder of the corpus, or the package, that it comes from.
    group: String,
    /// Its name in that folder or package.
    name: String,
    path: PathBuf,
}

/// The counts for a group of files.
#[derive(Clone, Default)]
struct Group {
    containers: u64,
    bytes: u64,
    exact: u64,
    yaml_exact: u64,
    hashes: u64,
    hashes_right: u64,
    rebuilt: Rebuilt,
}

/// The counts over all files.
#[derive(Default)]
struct Counts {
    groups: BTreeMap<String, Group>,
    /// The total size of all YAML documents in bytes.
    yaml_bytes: u64,
    unknown_bytes: u64,
    digests: BTreeMap<String, u64>,
    /// By part name: parts, parts kept raw although their format is supported, bytes, raw bytes.
    parts: BTreeMap<String, [u64; 4]>,
    /// Findings, by rule and severity.
    findings: BTreeMap<String, u64>,
    /// Keys of our own document, except part and name.
    own_keys: BTreeMap<String, u64>,
    /// Documents of obj2yaml, by version: all, parsed, equivalent to ours.
    theirs: BTreeMap<String, [u64; 3]>,
    /// Documents that yaml2obj accepts, by version, and their total.
    accepted: BTreeMap<u32, (u64, u64)>,
    /// The listings compared with DXC's.
    listings: listing::Counts,
    /// Parts that differ when rebuilt.
    differ: Vec<String>,
    faults: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let tools = tools::find();
    let (sources, mutated) = collect()?;
    let counts = sources.par_iter().map(|source| read(source, &tools)).reduce(Counts::default, Counts::add);
    counts.print();
    let newest = tools.last();
    let damaged: Vec<Damaged> = mutated
        .iter()
        .map(|source| {
            let stem = source.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Damaged::read(stem, &std::fs::read(&source.path)?, newest))
        })
        .collect::<Result<_>>()?;
    Damaged::print(&damaged, newest);
    let containers = sources
        .iter()
        .map(|source| Ok((format!("{}/{}", source.group, source.name), std::fs::read(&source.path)?)))
        .collect::<Result<Vec<_>>>()?;
    let mut faults = counts.faults;
    faults.extend(counts.listings.fault());
    faults.extend(edits::check(&containers));
    for fault in faults.iter().take(SHOWN) {
        println!("fault: {fault}");
    }
    ensure!(faults.is_empty(), "{} faults", faults.len());
    Ok(())
}

/// Derives the parts of all containers of the corpus, of packages, and of the given folders.
pub(crate) fn run_parts(folders: &[PathBuf]) -> Result<()> {
    parts::check(&named_files(folders)?)
}

/// Assembles the text of all containers of the corpus, of packages, and of the given folders.
pub(crate) fn run_text(folders: &[PathBuf]) -> Result<()> {
    text::check(&named_files(folders)?)
}

/// Returns the containers of the corpus and of packages, and the files in folders.
fn named_files(folders: &[PathBuf]) -> Result<Vec<(String, PathBuf)>> {
    let (sources, _) = collect()?;
    let named = |source: &Source| (format!("{}/{}", source.group, source.name), source.path.clone());
    let mut files: Vec<(String, PathBuf)> = sources.iter().map(named).collect();
    for folder in folders {
        let mut paths = Vec::new();
        sh::files_below(folder, &mut paths)?;
        files.extend(paths.into_iter().map(|path| (path.display().to_string(), path)));
    }
    Ok(files)
}

/// Returns all distinct containers, sorted by group; and the damaged ones.
fn collect() -> Result<(Vec<Source>, Vec<Source>)> {
    let mut sources = Vec::new();
    match sh::env_path("UNSHADE_CORPUS") {
        Some(shared) => of_folder(&shared.join("dx"), &mut sources)?,
        None => println!("skipped: UNSHADE_CORPUS is not set"),
    }
    let carved = corpus::carved_folder(&corpus::cache_dir(None)?);
    for (package, path) in corpus::cached_set(corpus::Set::Dx)? {
        let list = carved.join(format!("{}.tsv", path.file_name().unwrap_or_default().to_string_lossy()));
        let Ok(text) = std::fs::read_to_string(&list) else {
            println!("skipped: {package} is not carved; `cargo xtask corpus --only {package}` does it");
            continue;
        };
        for row in text.lines() {
            let name = row.split('\t').next().unwrap_or_default();
            sources.push(Source { group: package.clone(), name: name.into(), path: carved.join(name) });
        }
    }
    let (mutated, mut sources): (Vec<_>, Vec<_>) =
        sources.into_iter().partition(|source| source.group == "mut");
    let mut seen = BTreeSet::new();
    let mut failure = Ok(());
    sources.retain(|source| match std::fs::read(&source.path) {
        // A container counts for every package that has it.
        Ok(data) => data.starts_with(b"DXBC") && seen.insert((source.group.clone(), sh::sha256_hex(&data))),
        Err(error) => {
            failure = Err(error).with_context(|| source.path.display().to_string());
            false
        }
    });
    failure.map(|()| (sources, mutated))
}

/// Collects the files of the corpus's folders and subfolders.
fn of_folder(corpus: &Path, sources: &mut Vec<Source>) -> Result<()> {
    let mut paths = Vec::new();
    sh::files_below(corpus, &mut paths)?;
    paths.sort();
    for path in paths {
        let name = path.strip_prefix(corpus).unwrap_or(&path).display().to_string();
        // For compiled shaders, the second folder names the compiler.
        let depth = if name.starts_with("gen/") { 2 } else { 1 };
        let folders: Vec<&str> = name.split('/').collect();
        let group = folders[..depth.min(folders.len() - 1)].join("/");
        sources.push(Source { group, name: folders[depth.min(folders.len() - 1)..].join("/"), path });
    }
    Ok(())
}

fn read(source: &Source, tools: &[Tools]) -> Counts {
    let mut counts = Counts::default();
    let mut group = Group::default();
    if let Err(error) = counts.container(source, tools, &mut group) {
        counts.faults.push(format!("{error:#}"));
    }
    let name = |text: &mut String| *text = format!("{}/{}: {text}", source.group, source.name);
    counts.faults.iter_mut().for_each(name);
    counts.differ.iter_mut().for_each(name);
    counts.groups.insert(source.group.clone(), group);
    counts
}

impl Counts {
    fn container(&mut self, source: &Source, tools: &[Tools], group: &mut Group) -> Result<()> {
        let data = std::fs::read(&source.path)?;
        group.containers += 1;
        group.bytes += data.len() as u64;
        let container = Container::parse(&data)?;
        let digest = container.header().digest;
        let verdict = match digest.marker() {
            Some(sign) => sign,
            None if digest == container.computed_digest() => "right",
            None => "wrong",
        };
        *self.digests.entry(verdict.into()).or_default() += 1;
        let mut hash_is_wrong = false;
        for finding in &check_dxcontainer(&container) {
            *self.findings.entry(format!("{} {}", finding.rule, finding.severity)).or_default() += 1;
            let expected = finding.rule == "dx-digest";
            hash_is_wrong |= finding.rule == "dx-hash" && finding.severity == Severity::Error;
            if finding.severity == Severity::Error && !expected {
                self.faults.push(format!("{}: {}", finding.rule, finding.error));
            }
        }
        let mut coverage = Coverage::starting_at(0);
        outline::container(&container, &mut coverage);
        self.unknown_bytes += coverage.unknown_bytes();
        let faults = coverage.finish(data.len() as u64);
        ensure!(faults.is_empty(), "outline: {faults:?}");
        let file = DxFile::parse(&data)?;
        ensure!(file.layout.is_none(), "unusual layout");
        ensure!(file.write()? == data, "writing changes the file");
        group.exact += 1;
        let hash = file.parts.iter().find_map(|part| match &part.data {
            PartData::Hash(hash) if hash.flags & ShaderHash::INCLUDES_SOURCE == 0 => Some(hash),
            _ => None,
        });
        if hash.is_some() && file.find(b"DXIL").is_some() {
            group.hashes += 1;
            group.hashes_right += u64::from(!hash_is_wrong);
        }
        self.count_parts(&file, &container);
        self.differ.extend(group.rebuilt.container(&file));
        // Before YAML, so that a fault there does not skip the listings.
        self.listings.compare(&source.path, &source.name, &data)?;
        self.yaml(&data, &file, source, tools)?;
        group.yaml_exact += 1;
        Ok(())
    }

    fn count_parts(&mut self, file: &DxFile, container: &Container<'_>) {
        for (owned, found) in file.parts.iter().zip(container.found_parts()) {
            let row = self.parts.entry(owned.name.to_string()).or_default();
            row[0] += 1;
            row[2] += found.data.data().len() as u64;
            row[3] += owned.data.raw_bytes() as u64;
            if let Some(fault) = &owned.fault {
                row[1] += 1;
                self.faults.push(format!("{}: {fault}", owned.name));
            }
        }
    }

    /// Round-trips YAML, and compares it with LLVM's.
    fn yaml(&mut self, data: &[u8], file: &DxFile, source: &Source, tools: &[Tools]) -> Result<()> {
        let text = document::to_yaml(file)?;
        self.yaml_bytes += text.len() as u64;
        ensure!(document::from_yaml(&text)?.write()? == data, "a round trip through YAML changes the file");
        let (main, own) = text.split_once("--- !unshade").unwrap_or((&text, ""));
        for line in own.lines() {
            let key =
                line.strip_prefix("    ").filter(|key| key.starts_with(|c: char| c.is_ascii_uppercase()));
            if let Some((key, _)) = key.and_then(|key| key.split_once(':')) {
                *self.own_keys.entry(key.into()).or_default() += 1;
            }
        }
        for tools in tools {
            let (llvm, version) = (tools.llvm, tools.version);
            let text = document::to_yaml_for(file, llvm)?;
            ensure!(
                document::from_yaml(&text)?.write()? == data,
                "a round trip through the YAML for {version} changes the file"
            );
            let row = self.accepted.entry(version).or_default();
            row.0 += u64::from(tools.accepts(&text));
            row.1 += 1;
        }
        if let Ok(theirs) = std::fs::read_to_string(format!("{}.obj2yaml", source.path.display())) {
            self.beside("in the corpus", &theirs, main)?;
        }
        if let Some(tools) = tools.last() {
            match tools.yaml(data) {
                Some(theirs) => self.beside(&format!("of obj2yaml {}", tools.version), &theirs, main)?,
                None => self.faults.push(format!("obj2yaml {} refuses it", tools.version)),
            }
        }
        Ok(())
    }

    /// Compares a document of obj2yaml with our document for LLVM.
    fn beside(&mut self, whose: &str, theirs: &str, ours: &str) -> Result<()> {
        let row = self.theirs.entry(whose.into()).or_default();
        row[0] += 1;
        let (theirs, ours) = (document::from_yaml(theirs)?, document::from_yaml(ours)?);
        row[1] += 1;
        for (theirs, ours) in theirs.parts.iter().zip(&ours.parts) {
            ensure!(theirs.data.write()? == ours.data.write()?, "obj2yaml differs in {}", ours.name);
        }
        ensure!(theirs.write()? == ours.write()?, "obj2yaml differs");
        row[2] += 1;
        Ok(())
    }

    fn add(mut self, other: Self) -> Self {
        for (name, group) in &other.groups {
            self.groups.entry(name.clone()).or_default().add(group);
        }
        self.yaml_bytes += other.yaml_bytes;
        self.unknown_bytes += other.unknown_bytes;
        add_up(&mut self.digests, other.digests);
        add_up(&mut self.findings, other.findings);
        add_up(&mut self.own_keys, other.own_keys);
        for (name, row) in other.parts {
            let sum = self.parts.entry(name).or_default();
            sum.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        }
        for (name, row) in other.theirs {
            let sum = self.theirs.entry(name).or_default();
            sum.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        }
        for (version, (accepted, of)) in other.accepted {
            let sum = self.accepted.entry(version).or_default();
            *sum = (sum.0 + accepted, sum.1 + of);
        }
        self.listings.add(other.listings);
        self.differ.extend(other.differ);
        self.faults.extend(other.faults);
        self
    }

    fn print(&self) {
        let mut all = Group::default();
        println!(
            "source, containers, bytes, rewritten exactly, exact round trip through YAML, correct HASH of checked"
        );
        for (name, group) in &self.groups {
            all.add(group);
            group.print(name);
        }
        all.print("all");
        println!("\nYAML                  {:>9} bytes", self.yaml_bytes);
        println!("bytes unaccounted for {:>9}", self.unknown_bytes);
        println!("\ndocuments, parsed, equivalent to ours");
        for (whose, [count, read, equal]) in &self.theirs {
            println!("  {whose:<28} {count:>9} {read:>9} {equal:>9}");
        }
        for (version, (accepted, of)) in &self.accepted {
            println!("accepted by yaml2obj {version:<9} {accepted:>9} of {of}");
        }
        println!("\nrebuilt exactly from typed fields: source, containers, PSV0, signatures, RDAT");
        for (name, group) in &self.groups {
            println!("  {name:<22}{}", group.rebuilt.line());
        }
        println!("  {:<22}{}", "all", all.rebuilt.line());
        for differ in self.differ.iter().take(SHOWN) {
            println!("  differs: {differ}");
        }
        print_counts("key of our document, parts", &self.own_keys);
        print_counts("digest, containers", &self.digests);
        print_counts("finding, count", &self.findings);
        println!("\npart, count, not parsed, bytes from typed fields, raw bytes");
        let mut sum = [0; 4];
        for (name, row) in &self.parts {
            let what = part::describe(FourCc(name.as_bytes().try_into().unwrap_or_default()));
            print_part(name, row, what.unwrap_or("unknown"));
            sum.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
        }
        print_part("all", &sum, "");
        println!();
        self.listings.print();
    }
}

impl Group {
    fn add(&mut self, other: &Self) {
        self.containers += other.containers;
        self.bytes += other.bytes;
        self.exact += other.exact;
        self.yaml_exact += other.yaml_exact;
        self.hashes += other.hashes;
        self.hashes_right += other.hashes_right;
        self.rebuilt.add(&other.rebuilt);
    }

    fn print(&self, name: &str) {
        let Self { containers, bytes, exact, yaml_exact, hashes, hashes_right, .. } = self;
        println!(
            "  {name:<22} {containers:>6} {bytes:>9} {exact:>6} {yaml_exact:>6}   {hashes_right} of {hashes}"
        );
    }
}

fn print_part(name: &str, [count, faulty, bytes, raw]: &[u64; 4], what: &str) {
    println!("  {name:<6} {count:>6} {faulty:>4} {:>9} {raw:>9}   {what}", bytes - raw);
}

fn add_up(sum: &mut BTreeMap<String, u64>, other: BTreeMap<String, u64>) {
    for (name, count) in other {
        *sum.entry(name).or_default() += count;
    }
}

fn print_counts(title: &str, counts: &BTreeMap<String, u64>) {
    println!("\n{title}");
    for (name, count) in counts {
        println!("  {name:<28} {count:>9}");
    }
}
