//! NVIDIA's programs: every fat binary, cubin and PTX of the corpus is parsed, checked, outlined and unpacked, and the
//! result compared with the output of cuobjdump: resource usage, sections, symbols, records, parameters, relocations,
//! and the bytes of every entry.

mod oracle;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail, ensure};
use rayon::prelude::*;
use unshade::core::outline::Coverage;
use unshade::core::{Diagnostics, Escaped, Severity};
use unshade::nv::compression::Compression;
use unshade::nv::elf::{Section, SectionType};
use unshade::nv::fatbin::EntryKind;
use unshade::nv::function::FunctionKind;
use unshade::nv::info::records;
use unshade::nv::line_table::LineTable;
use unshade::nv::relocation::Relocations;
use unshade::nv::{Cubin, Fatbin, Ptx, outline, verify};
use unshade::sass::control_flow::FunctionExit;
use unshade::sass::isa;
use unshade::sass::listing::Word;
use unshade::sass_code::Code;
use unshade::sass_listing::instruction_set;

use self::oracle::{ElfText, Scratch, Tool};
use crate::{corpus, sh};

/// The counts for one file, or for all.
#[derive(Default)]
struct Counts {
    bytes: u64,
    fatbins: u64,
    entries: u64,
    packed: BTreeMap<String, u64>,
    cubins: u64,
    /// By chip: cubins and kernels.
    chips: BTreeMap<u32, (u64, u64)>,
    toolkits: BTreeMap<String, u64>,
    kernels: u64,
    device_functions: u64,
    parameters: u64,
    attributes: BTreeMap<String, u64>,
    line_tables: u64,
    line_rows: u64,
    texts: u64,
    text_kernels: u64,
    unknown_bytes: u64,
    /// Findings, by rule and severity.
    findings: BTreeMap<String, u64>,
    /// By kind of comparison: equal, and total.
    compared: BTreeMap<&'static str, (u64, u64)>,
    not_known: u64,
    /// By chip: instructions, and words that are none.
    code: BTreeMap<u32, (u64, u64)>,
    blocks: u64,
    /// By kind: exits of functions other than the end of a thread and returns.
    leaves: BTreeMap<&'static str, u64>,
    /// Functions whose control flow was not explored with every stack.
    cut: u64,
    faults: Vec<String>,
}

/// The state shared by all threads.
struct Shared {
    tools: Vec<Tool>,
    /// Hashes of the cubins that were already processed.
    seen: Mutex<BTreeSet<String>>,
}

pub(crate) fn run() -> Result<()> {
    let files = collect()?;
    println!("distinct files: {}", files.len());
    let shared = Shared { tools: oracle::find_all(), seen: Mutex::default() };
    let read = |path: &PathBuf| {
        let mut counts = Counts::default();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Err(error) = counts.file(path, &name, &shared) {
            counts.faults.push(format!("{name}: {error:#}"));
        }
        counts
    };
    let counts = files.par_iter().map(read).reduce(Counts::default, Counts::add);
    counts.print();
    ensure!(counts.cubins > 0, "there is nothing to read: run `cargo xtask corpus --set cuda`");
    ensure!(counts.faults.is_empty(), "{} faults", counts.faults.len());
    Ok(())
}

/// Returns all distinct files.
pub(super) fn collect() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let carved = corpus::carved_folder(&corpus::cache_dir(None)?);
    walk(&carved, &mut files);
    if files.is_empty() {
        println!("skipped: {} is empty; run `cargo xtask corpus --set cuda`", carved.display());
    }
    match sh::env_path("UNSHADE_CORPUS") {
        Some(shared) => walk(&shared.join("cuda"), &mut files),
        None => println!("skipped: UNSHADE_CORPUS is not set"),
    }
    files.sort();
    let hash = |path: &PathBuf| Ok((sh::sha256_hex(&fs::read(path).context("cannot read")?), path.clone()));
    let hashed: Vec<(String, PathBuf)> = files.par_iter().map(hash).collect::<Result<_>>()?;
    let mut seen = BTreeSet::new();
    Ok(hashed.into_iter().filter(|(hash, _)| seen.insert(hash.clone())).map(|(_, path)| path).collect())
}

/// Collects the files below a folder that may be NVIDIA programs.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "fatbin" || ext == "cubin" || ext == "ptx") {
            files.push(path);
        }
    }
}

impl Counts {
    fn file(&mut self, path: &Path, name: &str, shared: &Shared) -> Result<()> {
        let data = fs::read(path)?;
        self.bytes += data.len() as u64;
        let reader = unshade::core::Reader::new(&data);
        let mut coverage = Coverage::starting_at(0);
        let findings = match path.extension().and_then(|extension| extension.to_str()) {
            Some("fatbin") => {
                let fatbin = Fatbin::read(reader)?;
                outline::fatbin(&fatbin, &mut coverage);
                self.fatbin(&fatbin, name, path, shared)?;
                verify::fatbin(&fatbin)
            }
            Some("cubin") => {
                let cubin = Cubin::read(reader)?;
                outline::cubin(&cubin, &mut coverage);
                self.cubin(&cubin, &data, name, shared)?;
                verify::cubin(&cubin)
            }
            _ => {
                let ptx = Ptx::new(reader);
                outline::ptx(&ptx, &mut coverage);
                self.ptx(&ptx);
                verify::ptx(&ptx)
            }
        };
        self.unknown_bytes += coverage.unknown_bytes();
        let gaps = coverage.finish(data.len() as u64);
        ensure!(gaps.is_empty(), "outline: {gaps:?}");
        self.take_findings(&findings)
    }

    fn take_findings(&mut self, findings: &Diagnostics) -> Result<()> {
        for finding in findings {
            *self.findings.entry(format!("{} {}", finding.rule, finding.severity)).or_default() += 1;
        }
        match findings.iter().find(|finding| finding.severity == Severity::Error) {
            Some(finding) => bail!("{}: {}", finding.rule, finding.error),
            None => Ok(()),
        }
    }

    fn fatbin(&mut self, fatbin: &Fatbin<'_>, name: &str, path: &Path, shared: &Shared) -> Result<()> {
        self.fatbins += 1;
        let mut unpacked = Vec::new();
        for entry in fatbin.entries() {
            let entry = entry?;
            self.entries += 1;
            if entry.compression() != Compression::None {
                *self.packed.entry(entry.compression().to_string()).or_default() += 1;
            }
            let data = entry.data()?.into_owned();
            let inner = format!("{name}: {}", entry.label());
            match entry.kind {
                EntryKind::ELF => {
                    let cubin = entry.cubin(&data)?;
                    let mut coverage = Coverage::starting_at(cubin.file().base());
                    outline::cubin(&cubin, &mut coverage);
                    self.unknown_bytes += coverage.unknown_bytes();
                    let gaps = coverage.finish(cubin.file().range().end);
                    ensure!(gaps.is_empty(), "{inner}: outline: {gaps:?}");
                    self.cubin(&cubin, &data, &inner, shared)?;
                }
                EntryKind::PTX => self.ptx(&entry.ptx(&data)),
                _ => self.faults.push(format!("{inner}: an unknown kind")),
            }
            unpacked.push((entry.kind, entry.target(), data));
        }
        self.extracted(&unpacked, name, path, shared)
    }

    fn ptx(&mut self, ptx: &Ptx<'_>) {
        self.texts += 1;
        self.text_kernels += ptx.functions().filter(|function| function.is_kernel).count() as u64;
    }

    fn cubin(&mut self, cubin: &Cubin<'_>, data: &[u8], name: &str, shared: &Shared) -> Result<()> {
        let is_new = shared.seen.lock().is_ok_and(|mut seen| seen.insert(sh::sha256_hex(data)));
        if !is_new {
            return Ok(());
        }
        self.cubins += 1;
        let mut kernels = 0;
        for function in cubin.functions() {
            match function.kind {
                FunctionKind::Kernel => kernels += 1,
                _ => self.device_functions += 1,
            }
            let details = function.details(cubin);
            self.parameters += details.parameters.len() as u64;
            for record in &details.records {
                *self.attributes.entry(record.attribute.to_string()).or_default() += 1;
            }
        }
        self.kernels += kernels;
        let chip = self.chips.entry(cubin.arch()).or_default();
        *chip = (chip.0 + 1, chip.1 + kernels);
        let toolkit = cubin
            .toolkit()
            .map_or_else(|| "?".into(), |toolkit| format!("{}.{}", toolkit / 10, toolkit % 10));
        *self.toolkits.entry(toolkit).or_default() += 1;
        if let Some(table) = LineTable::of(cubin)? {
            self.line_tables += 1;
            self.line_rows += table.rows.len() as u64;
        }
        self.machine_code(cubin, name);
        self.beside(cubin, data, name, shared)
    }

    /// Decodes every word for chips with a known encoding, and explores the control flow of every function.
    fn machine_code(&mut self, cubin: &Cubin<'_>, name: &str) {
        if isa::by_architecture(cubin.arch()).is_none() {
            return;
        }
        let mut diagnostics = Diagnostics::new();
        let Some(isa) = instruction_set(cubin) else { return };
        let code = Code::new(cubin, isa);
        for function in code.functions(&|_| true, &mut diagnostics) {
            let words = function.words();
            let row = self.code.entry(cubin.arch()).or_default();
            row.0 += words.words().filter(|(_, word)| matches!(word, Word::Instruction(_))).count() as u64;
            for fault in words.undecoded() {
                row.1 += 1;
                let (word, at) = (fault.word, fault.address);
                self.faults
                    .push(format!("{name}: {} at {at:#06x}: no instruction {word:#018x}", function.name));
            }
            let flow = code.control_flow(&function);
            self.blocks += flow.blocks().len() as u64;
            self.cut += u64::from(flow.is_incomplete());
            for (block, leaving) in flow.exits() {
                let is_end = matches!(leaving, FunctionExit::Exit | FunctionExit::Return);
                if !is_end && flow.dominators().is_reached(*block) {
                    *self.leaves.entry(leaving.name()).or_default() += 1;
                }
            }
        }
        for diagnostic in &diagnostics {
            self.faults.push(format!("{name}: {}", diagnostic.error));
        }
    }

    /// Compares our results for a cubin with the output of cuobjdump.
    fn beside(&mut self, cubin: &Cubin<'_>, data: &[u8], name: &str, shared: &Shared) -> Result<()> {
        if shared.tools.is_empty() {
            return Ok(());
        }
        let scratch = Scratch::new()?;
        let file = scratch.0.join("a.cubin");
        fs::write(&file, data)?;
        let run = |arguments: &[&str], mark: &str| {
            let tools = shared.tools.iter().filter(|tool| tool.knows(cubin.arch()));
            let mut texts = tools.filter_map(|tool| Some((tool, tool.run(arguments, &file, &scratch.0)?)));
            texts.find(|(_, text)| text.contains(mark))
        };
        let Some((tool, usage)) = run(&["--dump-resource-usage"], "Resource usage") else {
            self.not_known += 1;
            return Ok(());
        };
        let mut theirs = oracle::usages(&usage);
        let mut ours = our_usages(cubin);
        for usages in [&mut theirs, &mut ours] {
            // The order of functions and of constant banks is irrelevant.
            usages.sort();
            for (_, values) in usages {
                if !tool.counts_textures() {
                    values.retain(|(key, _)| !["TEXTURE", "SURFACE", "SAMPLER"].contains(&key.as_str()));
                }
                values.sort();
            }
        }
        self.compare("functions, resource usage", name, &ours, &theirs);
        let (_, text) = run(&["-elf"], "Sections:").context("no ELF listing")?;
        let (mut theirs, mut ours) = (oracle::elf_text(&text), our_elf(cubin));
        // So is that of relocation sections.
        theirs.relocations.sort();
        ours.relocations.sort();
        self.compare("sections", name, &ours.sections, &theirs.sections);
        self.compare("symbols", name, &ours.symbols, &theirs.symbols);
        self.compare("parameters", name, &ours.parameters, &theirs.parameters);
        self.compare("relocations", name, &ours.relocations, &theirs.relocations);
        // An older version does not know the attributes of newer ones.
        let mut names = ours.attributes;
        for (ours, theirs) in names.iter_mut().zip(&theirs.attributes) {
            if theirs.1 == "unknown Attribute" {
                ours.1.clone_from(&theirs.1);
            }
        }
        self.compare("records", name, &names, &theirs.attributes);
        Ok(())
    }

    /// Compares our entries with the cubins and texts that cuobjdump extracts.
    fn extracted(
        &mut self,
        ours: &[(EntryKind, String, Vec<u8>)],
        name: &str,
        path: &Path,
        shared: &Shared,
    ) -> Result<()> {
        if shared.tools.is_empty() {
            return Ok(());
        }
        // cuobjdump numbers them by kind.
        for (kind, list, option, what) in [
            (EntryKind::ELF, "-lelf", "-xelf", "cubins extracted"),
            (EntryKind::PTX, "-lptx", "-xptx", "texts extracted"),
        ] {
            let ours: Vec<_> = ours.iter().filter(|(found, ..)| *found == kind).collect();
            if ours.is_empty() {
                continue;
            }
            let scratch = Scratch::new()?;
            let file = fs::canonicalize(path)?;
            let listed = shared.tools.iter().find_map(|tool| {
                let text = tool.run(&[list], &file, &scratch.0)?;
                let names: Vec<String> = text
                    .lines()
                    .filter_map(|line| Some(line.split_once(": ")?.1.trim().to_owned()))
                    .collect();
                let text = tool.run(&[option, "all"], &file, &scratch.0)?;
                (names.len() == ours.len() && text.contains("Extracting")).then_some(names)
            });
            let Some(listed) = listed else {
                self.not_known += 1;
                continue;
            };
            let hash = |data: &[u8]| format!("{} bytes, {}", data.len(), sh::sha256_hex(data));
            let ours: Vec<String> = ours.iter().map(|(_, _, data)| hash(data)).collect();
            let mut theirs = Vec::new();
            for found in &listed {
                theirs.push(hash(&fs::read(scratch.0.join(found)).with_context(|| found.clone())?));
            }
            self.compare(what, name, &ours, &theirs);
        }
        Ok(())
    }

    /// Counts the equal elements of two lists; the first difference is a fault.
    fn compare<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &'static str,
        name: &str,
        ours: &[T],
        theirs: &[T],
    ) {
        let row = self.compared.entry(what).or_default();
        let equal = ours.iter().zip(theirs).filter(|(ours, theirs)| ours == theirs).count();
        let total = ours.len().max(theirs.len());
        row.0 += equal as u64;
        row.1 += total as u64;
        if equal < total {
            let place = ours.iter().zip(theirs).take_while(|(ours, theirs)| ours == theirs).count();
            self.faults.push(format!(
                "{name}: {what} differ at {place}: ours {:?}, cuobjdump's {:?}",
                ours.get(place),
                theirs.get(place)
            ));
        }
    }

    fn add(mut self, other: Self) -> Self {
        fn merge<K: Ord>(into: &mut BTreeMap<K, u64>, from: BTreeMap<K, u64>) {
            for (key, count) in from {
                *into.entry(key).or_default() += count;
            }
        }
        for (into, from) in [
            (&mut self.bytes, other.bytes),
            (&mut self.fatbins, other.fatbins),
            (&mut self.entries, other.entries),
            (&mut self.cubins, other.cubins),
            (&mut self.kernels, other.kernels),
            (&mut self.device_functions, other.device_functions),
            (&mut self.parameters, other.parameters),
            (&mut self.line_tables, other.line_tables),
            (&mut self.line_rows, other.line_rows),
            (&mut self.texts, other.texts),
            (&mut self.text_kernels, other.text_kernels),
            (&mut self.unknown_bytes, other.unknown_bytes),
            (&mut self.not_known, other.not_known),
            (&mut self.blocks, other.blocks),
            (&mut self.cut, other.cut),
        ] {
            *into += from;
        }
        merge(&mut self.packed, other.packed);
        merge(&mut self.toolkits, other.toolkits);
        merge(&mut self.attributes, other.attributes);
        merge(&mut self.findings, other.findings);
        merge(&mut self.leaves, other.leaves);
        for (chip, (instructions, unknown)) in other.code {
            let row = self.code.entry(chip).or_default();
            *row = (row.0 + instructions, row.1 + unknown);
        }
        for (chip, (cubins, kernels)) in other.chips {
            let row = self.chips.entry(chip).or_default();
            *row = (row.0 + cubins, row.1 + kernels);
        }
        for (what, (equal, total)) in other.compared {
            let row = self.compared.entry(what).or_default();
            *row = (row.0 + equal, row.1 + total);
        }
        self.faults.extend(other.faults);
        self
    }

    fn print(&self) {
        println!("bytes              {:>10}", self.bytes);
        println!(
            "fat binaries       {:>10}   {} entries, packed: {:?}",
            self.fatbins, self.entries, self.packed
        );
        println!("distinct cubins    {:>10}", self.cubins);
        println!("kernels            {:>10}   {} parameters", self.kernels, self.parameters);
        println!("device functions   {:>10}", self.device_functions);
        println!("PTX texts          {:>10}   {} kernels", self.texts, self.text_kernels);
        println!("line tables        {:>10}   {} rows", self.line_tables, self.line_rows);
        println!("unknown bytes      {:>10}", self.unknown_bytes);
        for (chip, (cubins, kernels)) in &self.chips {
            println!("  sm_{chip:<14} {cubins:>8}   {kernels} kernels");
        }
        for (chip, (instructions, unknown)) in &self.code {
            println!(
                "machine code of sm_{chip}: {instructions} instructions decoded, {unknown} unknown words"
            );
        }
        println!(
            "basic blocks       {:>10}   exits: {:?}; functions not fully explored: {}",
            self.blocks, self.leaves, self.cut
        );
        println!("toolkits: {:?}", self.toolkits);
        println!("attributes: {:?}", self.attributes);
        println!("findings: {:?}", self.findings);
        for (what, (equal, total)) in &self.compared {
            println!("{what:<28} {equal:>10} of {total} equal to cuobjdump's");
        }
        println!("unknown to all cuobjdumps    {:>10}", self.not_known);
        for fault in self.faults.iter().take(40) {
            println!("FAULT {}", fault.chars().take(600).collect::<String>());
        }
    }
}

/// Returns the resource usage of each function with its own section, and of the whole cubin, as in cuobjdump.
fn our_usages(cubin: &Cubin<'_>) -> Vec<oracle::Usage> {
    let mut common = vec![("GLOBAL".to_owned(), cubin.global_memory())];
    let mut banks: Vec<(u8, u64)> = cubin.common_constants().collect();
    banks.sort_unstable();
    common.extend(banks.iter().map(|(bank, size)| (format!("CONSTANT[{bank}]"), *size)));
    let mut usages = vec![("Common".to_owned(), common)];
    for function in cubin.functions().filter(|function| function.kind != FunctionKind::Inner) {
        let resources = function.resources(cubin);
        let mut values = vec![
            ("REG".to_owned(), u64::from(resources.registers.unwrap_or(0))),
            ("STACK".to_owned(), u64::from(resources.stack.unwrap_or(0))),
            ("SHARED".to_owned(), resources.shared),
            ("LOCAL".to_owned(), resources.local),
        ];
        values.extend(resources.constants.iter().map(|(bank, size)| (format!("CONSTANT[{bank}]"), *size)));
        let bound = function.binding_counts(cubin);
        values.extend(
            [("TEXTURE", bound.textures), ("SURFACE", bound.surfaces), ("SAMPLER", bound.samplers)]
                .map(|(key, count)| (key.to_owned(), u64::from(count))),
        );
        usages.push((Escaped(function.name()).to_string(), values));
    }
    usages
}

/// Returns the data of a cubin that cuobjdump lists, as parsed by unshade.
fn our_elf(cubin: &Cubin<'_>) -> ElfText {
    let elf = cubin.elf();
    let mut text = ElfText::default();
    let name = |section: &Section<'_>| Escaped(section.name).to_string();
    let symbols = elf.symbols();
    let symbol_name = |index: u32| {
        let found = symbols.and_then(|symbols| symbols.get(index));
        found.map(|symbol| Escaped(symbol.name).to_string()).unwrap_or_default()
    };
    for section in elf.sections().skip(1) {
        let row = [
            section.offset,
            section.size,
            section.entry_size,
            section.alignment,
            section.flags,
            u64::from(section.link),
            u64::from(section.info),
        ];
        text.sections.push((row, name(&section)));
        let bytes = elf.bytes(&section).unwrap_or(unshade::core::Reader::new(&[]));
        if section.kind == SectionType::CUDA_INFO {
            for record in records(bytes).map_while(Result::ok) {
                let attribute = record.attribute.name().map(|name| format!("EIATTR_{name}"));
                let attribute = attribute.unwrap_or_else(|| "unknown Attribute".into());
                text.attributes.push((name(&section), attribute));
                if let Some(parameter) = record.parameter() {
                    let numbers = [parameter.ordinal, parameter.offset, parameter.size].map(u64::from);
                    text.parameters.push((name(&section), numbers));
                }
            }
        }
        if let Ok(Some(relocations)) = Relocations::of(elf, &section) {
            for relocation in relocations.iter() {
                let kind = relocation.kind.name().unwrap_or("UNKNOWN").to_owned();
                text.relocations.push((
                    name(&section),
                    relocation.offset,
                    kind,
                    symbol_name(relocation.symbol),
                ));
            }
        }
    }
    if let Some(symbols) = symbols {
        let row = |index| {
            let symbol = symbols.get(index)?;
            Some((symbol.value, symbol.size, symbol_name(index)))
        };
        text.symbols = (0..symbols.count()).filter_map(row).collect();
    }
    text
}
