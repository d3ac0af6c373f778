//! Conformance of DXContainers: every container of the corpus read, written back, verified and turned into YAML and
//! back, with counts of what is exact.

use super::dxc_listing;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use unshade::check_dxcontainer;
use unshade::core::Severity;
use unshade::core::outline::Coverage;
use unshade::dxcontainer::bytes::Text;
use unshade::dxcontainer::document::Llvm;
use unshade::dxcontainer::file::DxFile;
use unshade::dxcontainer::part::PartData;
use unshade::dxcontainer::signature::{Form, NamePolicy};
use unshade::dxcontainer::{Container, document, outline, part};

/// What is counted.
#[derive(Default)]
struct Counts {
    containers: u64,
    bytes: u64,
    exact: u64,
    digests: BTreeMap<String, u64>,
    /// By part name: parts, parts that ride along raw though they have a reader, bytes, raw bytes.
    parts: BTreeMap<String, [u64; 4]>,
    /// Findings by rule and severity.
    findings: BTreeMap<String, u64>,
    unknown_bytes: u64,
    yaml_bytes: u64,
    yaml_exact: u64,
    /// Keys of our own document, other than part and name.
    own_keys: BTreeMap<String, u64>,
    /// Documents of obj2yaml: all, read, equal in meaning to ours.
    theirs: u64,
    theirs_read: u64,
    theirs_equal: u64,
    /// Documents that LLVM's yaml2obj accepts, by its name; of how many.
    accepted: BTreeMap<&'static str, (u64, u64)>,
    /// Parts whose names and tables, built anew from typed data alone, are those of the file; of how many.
    rebuilt: BTreeMap<&'static str, (u64, u64)>,
    /// Damaged files and what is found in them.
    damaged: Vec<(String, String)>,
    /// What is printed of them, beside what DXC prints.
    listings: dxc_listing::Counts,
    faults: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let corpus = std::env::var_os("UNSHADE_CORPUS").context("UNSHADE_CORPUS does not name the corpus")?;
    let folder = PathBuf::from(corpus).join("dx");
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    files.sort();
    let mut counts = Counts::default();
    for path in &files {
        let data = std::fs::read(path)?;
        let name = path.strip_prefix(&folder).unwrap_or(path).display().to_string();
        if !data.starts_with(b"DXBC") {
            continue;
        }
        if name.starts_with("mut") {
            counts.damaged.push((name, verdict(&data)));
            continue;
        }
        let before = counts.faults.len();
        let theirs = std::fs::read_to_string(format!("{}.obj2yaml", path.display())).ok();
        if let Err(error) = counts.container(&data, theirs.as_deref()) {
            counts.faults.push(format!("{error:#}"));
        }
        if let Err(error) = counts.listings.compare(path, &name, &data) {
            counts.faults.push(format!("listing: {error:#}"));
        }
        counts.faults.iter_mut().skip(before).for_each(|fault| *fault = format!("{name}: {fault}"));
    }
    counts.faults.extend(counts.listings.fault());
    counts.print();
    ensure!(counts.faults.is_empty(), "{} faults", counts.faults.len());
    Ok(())
}

/// LLVM's tools that are tried if they are there.
const TOOLS: [(&str, Llvm); 3] =
    [("yaml2obj-19", Llvm::V19), ("yaml2obj-22", Llvm::V22), ("yaml2obj-24", Llvm::V24)];

/// Whether a yaml2obj accepts a document; none if there is no such tool.
fn accepts(tool: &str, text: &str) -> Option<bool> {
    let pipe = || std::process::Stdio::piped();
    let mut command = std::process::Command::new(tool);
    let mut child =
        command.args(["-", "-o", "-"]).stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let text = text.to_owned();
    // The tool may answer before it has read everything.
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().ok()?;
    let _ = writer.join();
    Some(output.status.success() && output.stdout.starts_with(b"DXBC"))
}

/// The rules that a damaged file breaks, errors first.
fn verdict(data: &[u8]) -> String {
    let container = match Container::parse(data) {
        Ok(container) => container,
        Err(error) => return format!("refused: {error}"),
    };
    let mut rules: Vec<String> = Vec::new();
    for finding in &check_dxcontainer(&container) {
        let rule = format!("{} {}", finding.severity, finding.rule);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.is_empty() { "sound".into() } else { rules.join(", ") }
}

/// The files of a folder and of those in it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

impl Counts {
    fn container(&mut self, data: &[u8], theirs: Option<&str>) -> Result<()> {
        self.containers += 1;
        self.bytes += data.len() as u64;
        let container = Container::parse(data)?;
        let digest = container.header().digest;
        let verdict = match digest.sign() {
            Some(sign) => sign,
            None if digest == container.computed_digest() => "right",
            None => "wrong",
        };
        *self.digests.entry(verdict.into()).or_default() += 1;
        for finding in &check_dxcontainer(&container) {
            *self.findings.entry(format!("{} {}", finding.rule, finding.severity)).or_default() += 1;
            let expected = finding.rule == "dx-digest";
            if finding.severity == Severity::Error && !expected {
                self.faults.push(format!("{}: {}", finding.rule, finding.error));
            }
        }
        let mut coverage = Coverage::starting_at(0);
        outline::container(&container, &mut coverage);
        self.unknown_bytes += coverage.unknown_bytes();
        let faults = coverage.finish(data.len() as u64);
        ensure!(faults.is_empty(), "outline: {faults:?}");
        let file = DxFile::parse(data)?;
        ensure!(file.layout.is_none(), "unusual layout");
        ensure!(file.write()? == data, "written back otherwise");
        self.exact += 1;
        self.yaml(data, &file, theirs)?;
        for (owned, found) in file.parts.iter().zip(container.found_parts()) {
            let size = found.data.data().len() as u64;
            let row = self.parts.entry(owned.name.to_string()).or_default();
            row[0] += 1;
            row[2] += size;
            row[3] += owned.data.raw_bytes() as u64;
            if let Some(fault) = &owned.fault {
                row[1] += 1;
                self.faults.push(format!("{}: {fault}", owned.name));
            }
        }
        Ok(())
    }

    /// YAML both ways, and LLVM's beside ours.
    fn yaml(&mut self, data: &[u8], file: &DxFile, theirs: Option<&str>) -> Result<()> {
        let text = document::to_yaml(file)?;
        self.yaml_bytes += text.len() as u64;
        let (main, own) = text.split_once("--- !unshade").unwrap_or((&text, ""));
        for line in own.lines() {
            let key =
                line.strip_prefix("    ").filter(|key| key.starts_with(|c: char| c.is_ascii_uppercase()));
            if let Some((key, _)) = key.and_then(|key| key.split_once(':')) {
                *self.own_keys.entry(key.into()).or_default() += 1;
            }
        }
        for (tool, llvm) in TOOLS {
            let text = document::to_yaml_for(file, llvm)?;
            ensure!(
                document::from_yaml(&text)?.write()? == data,
                "comes back from {llvm:?}'s YAML otherwise"
            );
            if let Some(accepts) = accepts(tool, &text) {
                let row = self.accepted.entry(tool).or_default();
                row.0 += u64::from(accepts);
                row.1 += 1;
            }
        }
        self.rebuild(file)?;
        ensure!(document::from_yaml(&text)?.write()? == data, "comes back from YAML otherwise");
        self.yaml_exact += 1;
        let Some(theirs) = theirs else { return Ok(()) };
        self.theirs += 1;
        let (theirs, ours) = (document::from_yaml(theirs)?, document::from_yaml(main)?);
        self.theirs_read += 1;
        for (theirs, ours) in theirs.parts.iter().zip(&ours.parts) {
            ensure!(theirs.data.write()? == ours.data.write()?, "obj2yaml says otherwise of {}", ours.name);
        }
        ensure!(theirs.write()? == ours.write()?, "obj2yaml says otherwise");
        self.theirs_equal += 1;
        Ok(())
    }

    /// Builds names and tables anew from what they mean, and compares.
    fn rebuild(&mut self, file: &DxFile) -> Result<()> {
        let psv0 = file.parts.iter().find_map(|part| match &part.data {
            PartData::Psv0(psv0) => Some(psv0),
            _ => None,
        });
        if let Some(psv0) = psv0
            && let Some(signatures) = &psv0.signatures
        {
            let mut built = (**psv0).clone();
            let text = |bytes: Option<&[u8]>| Text::from(bytes.unwrap_or_default());
            let names: Vec<Text> =
                signatures.all().map(|element| text(psv0.string(element.name_offset))).collect();
            let indices: Vec<Vec<u32>> =
                signatures.all().map(|element| psv0.indices(element).unwrap_or_default().to_vec()).collect();
            let entry = psv0.info.entry_name.map(|_| text(psv0.entry_name()));
            if let Some(signatures) = &mut built.signatures {
                built.info.entry_name = signatures.rebuild_tables(&names, &indices, entry.as_ref());
            }
            self.count_rebuilt("PSV0", built == **psv0);
        }
        for part in &file.parts {
            if let PartData::Rdat(rdat) = &part.data {
                let mut built = rdat.clone();
                built.rebuild();
                self.count_rebuilt("RDAT", built == *rdat);
            }
            let PartData::Signature(signature) = &part.data else { continue };
            if signature.form != Form::Full || psv0.is_none() {
                continue;
            }
            let written = part.data.write()?;
            let order = signature.name_order();
            let matches = NamePolicy::ALL.iter().any(|(policy, _)| {
                let mut built = signature.clone();
                built.lay_out_in_order(*policy, &order);
                PartData::Signature(built).write().is_ok_and(|built| built == written)
            });
            self.count_rebuilt("signatures, order as read", matches);
        }
        Ok(())
    }

    fn count_rebuilt(&mut self, what: &'static str, same: bool) {
        let row = self.rebuilt.entry(what).or_default();
        row.0 += u64::from(same);
        row.1 += 1;
    }

    fn print(&self) {
        println!("containers            {:>9}   {} bytes", self.containers, self.bytes);
        println!("written back exactly  {:>9}", self.exact);
        println!("YAML and back exactly  {:>9}   {} bytes", self.yaml_exact, self.yaml_bytes);
        println!("obj2yaml's read       {:>9} of {}", self.theirs_read, self.theirs);
        println!("  equal in meaning    {:>9}", self.theirs_equal);
        for (tool, (accepted, of)) in &self.accepted {
            println!("accepted by {tool:<11} {accepted:>7} of {of}");
        }
        println!("\nbuilt anew from typed data, the same");
        for (what, (same, of)) in &self.rebuilt {
            println!("  {what:<28} {same:>9} of {of}");
        }
        println!("\nkey of our document, parts");
        for (key, count) in &self.own_keys {
            println!("  {key:<28} {count:>9}");
        }
        println!("\ndigest, containers");
        for (verdict, count) in &self.digests {
            println!("  {verdict:<28} {count:>9}");
        }
        println!("bytes unaccounted for {:>9}", self.unknown_bytes);
        println!("\nfinding, count");
        for (rule, count) in &self.findings {
            println!("  {rule:<28} {count:>9}");
        }
        println!("\npart, count, not taken apart, bytes from typed fields, bytes carried along raw");
        for (name, [count, faulty, bytes, raw]) in &self.parts {
            let what = part::describe(unshade::core::FourCc(name.as_bytes().try_into().unwrap_or_default()));
            println!(
                "  {name:<6} {count:>6} {faulty:>4} {:>9} {raw:>9}   {}",
                bytes - raw,
                what.unwrap_or("unknown")
            );
        }
        println!();
        self.listings.print();
        println!("\ndamaged file, what is found");
        for (name, verdict) in &self.damaged {
            println!("  {name:<24} {verdict}");
        }
        for fault in self.faults.iter().take(40) {
            println!("fault: {fault}");
        }
    }
}
