//! WGSL compiled by `examples/naga`: how much of it is emitted, and whether others accept what is.
//!
//! The program of the example compiles its own shaders and the files of `--packages`, such as naga's test inputs. Metal
//! libraries are verified, must load on their target, and LLVM 14 must read and verify their modules. DXContainers are
//! verified, by DXC's `dxv` too. The example's tests run its compute shaders.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use unshade::carve::format::Format;
use unshade::carve::{Condition, Find, FindPath};
use unshade::load_check::{self, LibraryFacts, Outcome};
use unshade::program::{self, InOrder, Program, VerifyDepth};

use crate::sh;

/// The message of naga for an override that needs a value, before its name.
const MISSING_OVERRIDE: &str = "pipeline-overridable constant with identifier string: '";
/// The most overrides of a shader.
const MAX_OVERRIDES: usize = 16;

/// What became of sources, and of what was emitted for each target.
#[derive(Default)]
struct Counts {
    sources: usize,
    invalid: usize,
    without_entries: usize,
    /// Sources of which all entry points are emitted for a target: Metal, DirectX.
    emitted: [usize; 2],
    /// What is not in the subset: the sources.
    outside: BTreeMap<String, Vec<String>>,
    libraries: usize,
    modules: usize,
    containers: usize,
    validated: usize,
    faults: Vec<String>,
}

/// The programs that are run.
struct Tools {
    compiler: PathBuf,
    disassembler: Option<PathBuf>,
    assembler: Option<PathBuf>,
    validator: Option<PathBuf>,
    folder: PathBuf,
}

pub(crate) fn run(packages: &[PathBuf]) -> Result<()> {
    let manifest = sh::root().join("examples/naga/Cargo.toml");
    sh::capture(sh::cargo().args(["build", "--quiet", "--manifest-path"]).arg(&manifest))?;
    let folder = std::env::temp_dir().join(format!("unshade-naga-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let target = sh::env_path("CARGO_TARGET_DIR").unwrap_or_else(|| sh::root().join("examples/naga/target"));
    let tools = Tools {
        compiler: target.join("debug/naga-unshade"),
        disassembler: sh::find_llvm_tool("llvm-dis-14"),
        assembler: sh::find_llvm_tool("llvm-as-14"),
        validator: sh::env_path("UNSHADE_DXV"),
        folder,
    };
    for (is_there, what) in [
        (tools.disassembler.is_some() && tools.assembler.is_some(), "llvm-dis-14 and llvm-as-14"),
        (tools.validator.is_some(), "DXC's dxv (UNSHADE_DXV)"),
    ] {
        if !is_there {
            println!("{what}: not found, left out");
        }
    }
    let mut faults = 0;
    let own = [sh::root().join("examples/naga/shaders")];
    for (name, folders) in [("own shaders", &own[..]), ("other sources", packages)] {
        let mut counts = Counts::default();
        for path in sources(folders)? {
            compile(&tools, &path, &mut counts)?;
        }
        counts.print(name, &tools);
        faults += counts.faults.len();
    }
    fs::remove_dir_all(&tools.folder)?;
    let mut tests = sh::cargo();
    tests.args(["test", "--quiet", "--features", "vulkan", "--test", "results", "--manifest-path"]);
    let output = sh::capture(tests.arg(&manifest).args(["--", "--nocapture"]))?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if line.contains("known results") || line.starts_with("skipped") {
            println!("{line}");
        }
    }
    ensure!(faults == 0, "{faults} faults");
    Ok(())
}

/// Returns the WGSL files of folders.
fn sources(folders: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in folders {
        sh::files_below(folder, &mut files)?;
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "wgsl"));
    files.sort();
    Ok(files)
}

/// Compiles all entry points of a source for both targets.
fn compile(tools: &Tools, path: &Path, counts: &mut Counts) -> Result<()> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    counts.sources += 1;
    let listed = Command::new(&tools.compiler).arg(path).arg("--entries").output()?;
    if !listed.status.success() {
        counts.invalid += 1;
        return Ok(());
    }
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let entries: Vec<&str> = listed.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
    if entries.is_empty() {
        counts.without_entries += 1;
        return Ok(());
    }
    let library = tools.folder.join(format!("{name}.metallib"));
    let mut refusals = Vec::new();
    match emit(tools, path, &library, None)? {
        None => {
            counts.emitted[0] += 1;
            counts.libraries += 1;
            let data = fs::read(&library)?;
            check_library(tools, &name, &data, counts).with_context(|| name.clone())?;
        }
        Some(refusal) => refusals.push(refusal),
    }
    let before = refusals.len();
    for entry in entries {
        let container = tools.folder.join(format!("{name}.{entry}.dxil"));
        match emit(tools, path, &container, Some(entry))? {
            None => {
                counts.containers += 1;
                check_container(tools, &format!("{name} {entry}"), &container, counts)?;
            }
            Some(refusal) => refusals.push(refusal),
        }
    }
    counts.emitted[1] += usize::from(refusals.len() == before);
    refusals.sort();
    refusals.dedup();
    for refusal in refusals {
        counts.outside.entry(refusal).or_default().push(name.clone());
    }
    Ok(())
}

/// Compiles a source, and returns why it is refused. Overrides without a value get 1.
fn emit(tools: &Tools, path: &Path, output: &Path, entry: Option<&str>) -> Result<Option<String>> {
    let mut overrides: Vec<String> = Vec::new();
    loop {
        let mut command = Command::new(&tools.compiler);
        command.arg(path).arg("-o").arg(output);
        command.args(entry.iter().flat_map(|entry| ["--entry", entry]));
        command.args(overrides.iter().flat_map(|value| ["--override", value]));
        let compiled = command.output()?;
        if compiled.status.success() {
            return Ok(None);
        }
        let message = String::from_utf8_lossy(&compiled.stderr).into_owned();
        let missing = message.split_once(MISSING_OVERRIDE).and_then(|(_, rest)| rest.split_once('\''));
        match missing {
            Some((constant, _)) if overrides.len() < MAX_OVERRIDES => overrides.push(format!("{constant}=1")),
            _ => {
                let first = message.lines().next().unwrap_or("no message");
                return Ok(Some(cause(first).to_string()));
            }
        }
    }
}

/// Returns what is not supported from a message, which starts with path, line and column.
fn cause(message: &str) -> &str {
    let rest = message.rsplit_once(".wgsl:").map_or(message, |(_, rest)| rest);
    rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == ' ')
}

/// Opens what was emitted.
fn open(format: Format, data: &[u8]) -> Result<Box<dyn Program + '_>> {
    let path = FindPath::of_file(b"");
    let find = Find { format, path, data, file_offset: Some(0), condition: Condition::Whole, options: None };
    Ok(program::open(&find)?)
}

/// Records what verification finds.
fn verify(name: &str, program: &dyn Program, counts: &mut Counts) {
    for diagnostic in &program.verify(&InOrder, VerifyDepth::Whole).diagnostics {
        counts.faults.push(format!("{name}: {}: {}", diagnostic.severity, diagnostic.error));
    }
}

fn check_library(tools: &Tools, name: &str, data: &[u8], counts: &mut Counts) -> Result<()> {
    let program = open(Format::MetalLibrary, data)?;
    verify(name, &*program, counts);
    for named in program.metal_libraries() {
        let library = &named.library;
        let facts = LibraryFacts::read(library);
        let report = load_check::made_for(&facts).map(|home| load_check::check(&facts, home));
        if !report.is_some_and(|report| matches!(report.outcome, Outcome::Loads | Outcome::Unclear)) {
            counts.faults.push(format!("{name}: does not load on its target"));
        }
        for function in library.functions() {
            let Some(module) = library.module(&function?)? else { continue };
            counts.modules += 1;
            if let Err(error) = read_by_llvm(tools, module.bytes()) {
                counts.faults.push(format!("{name}: {error:#}"));
            }
        }
    }
    Ok(())
}

/// Disassembles a module with LLVM 14 and assembles the text, which verifies it.
fn read_by_llvm(tools: &Tools, module: &[u8]) -> Result<()> {
    let (Some(disassembler), Some(assembler)) = (&tools.disassembler, &tools.assembler) else {
        return Ok(());
    };
    let (bitcode, text) = (tools.folder.join("module.air"), tools.folder.join("module.ll"));
    fs::write(&bitcode, module)?;
    sh::capture(Command::new(disassembler).arg(&bitcode).arg("-o").arg(&text))?;
    sh::capture(Command::new(assembler).arg(&text).args(["-o", "/dev/null"])).map(drop)
}

fn check_container(tools: &Tools, name: &str, path: &Path, counts: &mut Counts) -> Result<()> {
    let data = fs::read(path)?;
    verify(name, &*open(Format::DxContainer, &data)?, counts);
    let Some(validator) = &tools.validator else { return Ok(()) };
    let output = Command::new(validator).arg(path).stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => counts.validated += 1,
        false => {
            let text = [output.stdout, output.stderr].concat();
            counts.faults.push(format!("{name}: DXC: {}", String::from_utf8_lossy(&text).trim()));
        }
    }
    Ok(())
}

impl Counts {
    fn print(&self, name: &str, tools: &Tools) {
        if self.sources == 0 {
            println!("{name}: none");
            return;
        }
        println!("{name}: {}", self.sources);
        println!("  not valid for this naga: {}", self.invalid);
        println!("  without entry points: {}", self.without_entries);
        let rest = self.sources - self.invalid - self.without_entries;
        let [metal, directx] = self.emitted;
        println!("  emitted for Metal: {metal} of {rest}; for DirectX: {directx} of {rest}");
        for (cause, sources) in &self.outside {
            println!("  {cause}: {}", sources.join(", "));
        }
        let read = if tools.disassembler.is_some() { ", LLVM 14 reads and verifies them" } else { "" };
        println!("  Metal libraries: {}, modules: {}{read}", self.libraries, self.modules);
        let validated = match &tools.validator {
            Some(_) => format!(", DXC validates {}", self.validated),
            None => String::new(),
        };
        println!("  DXContainers: {}{validated}", self.containers);
        for fault in &self.faults {
            println!("  fault: {fault}");
        }
    }
}
