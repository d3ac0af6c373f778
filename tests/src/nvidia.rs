//! Fat binaries, cubins and PTX of our own sources; calls the whole API of the parser on any bytes.

use std::fs;
use std::path::Path;
use unshade::nv_units::Nvidia;
use unshade::program::InOrder;
use unshade::view::nvidia::{NvidiaView, kernel_rows, kernels};
use unshade_core::escape::is_plain;
use unshade_core::outline::Coverage;
use unshade_core::{Diagnostics, Reader};
use unshade_nv::fatbin::EntryKind;
use unshade_nv::line_table::LineTable;
use unshade_nv::{Cubin, Fatbin, Ptx, verify};

/// A committed file.
pub struct Fixture {
    /// The name of the file.
    pub name: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Returns the committed files with an extension, sorted by name.
///
/// # Panics
/// If the folder can't be read.
pub fn all(extension: &str) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia");
    let mut fixtures: Vec<Fixture> = fs::read_dir(folder)
        .expect("the fixtures")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| Fixture {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            data: fs::read(&path).expect("a readable file"),
        })
        .collect();
    fixtures.sort_by(|a, b| a.name.cmp(&b.name));
    fixtures
}

/// Returns the committed file with a name, which may begin with that of a folder.
///
/// # Panics
/// If there is no such file.
pub fn one(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("no fixture {name}: {error}"))
}

/// Maximum unpacked size of a fat binary, so that a run of the fuzzer is short; larger ones are skipped.
const MAX_UNPACKED: u64 = 4 << 20;

/// Calls the whole API on a possibly damaged file, whatever its format seems to be. Returns faults in the results.
pub fn exercise(data: &[u8]) -> Vec<String> {
    let reader = Reader::at(data, 0x100);
    let mut coverage = Coverage::starting_at(reader.base());
    let (program, findings) = if let Ok(fatbin) = Fatbin::read(reader) {
        let size =
            fatbin.entries().flatten().fold(0, |sum: u64, entry| sum.saturating_add(entry.unpacked_size));
        if size > MAX_UNPACKED {
            return Vec::new();
        }
        entries(&fatbin);
        (Nvidia::Fatbin(fatbin), verify::fatbin(&fatbin))
    } else if let Ok(cubin) = Cubin::read(reader) {
        functions(&cubin);
        let findings = verify::cubin(&cubin);
        (Nvidia::Cubin(cubin), findings)
    } else {
        let ptx = Ptx::new(reader);
        (Nvidia::Ptx(ptx), verify::ptx(&ptx))
    };
    program.outline(&mut coverage);
    let mut faults = coverage.finish(reader.range().end);
    for finding in &findings {
        let text = finding.error.to_string();
        let is_known = verify::RULES.iter().any(|(rule, _)| *rule == finding.rule);
        if !is_known || text.is_empty() || !text.chars().all(is_plain) {
            faults.push(format!("finding of an unknown rule, or not escaped: {}: {text}", finding.rule));
        }
    }
    views(&program);
    faults
}

fn entries(fatbin: &Fatbin<'_>) {
    for entry in fatbin.entries().flatten() {
        assert!(entry.label().chars().all(is_plain));
        let _ = (entry.name(), entry.options(), entry.flags.names().count());
        if let Ok(data) = entry.data()
            && entry.kind == EntryKind::ELF
            && let Ok(cubin) = entry.cubin(&data)
        {
            functions(&cubin);
        }
    }
}

/// Maximum number of functions to examine in a damaged cubin: each one searches all symbols.
const MAX_FUNCTIONS: usize = 64;

/// Queries everything that a disassembler needs about each function.
fn functions(cubin: &Cubin<'_>) {
    let table = LineTable::of(cubin).ok().flatten().unwrap_or_default();
    for function in cubin.functions().take(MAX_FUNCTIONS) {
        let size = function.code(cubin).map_or(0, |code| code.data().len());
        assert!(size <= cubin.file().data().len());
        let _ = (function.labels(cubin), function.parameters(cubin), function.resources(cubin));
        let _ = (function.sections(cubin), function.relocations(cubin).count(), function.bound(cubin));
        let _ = table.at(u32::from(function.symbol.section), function.symbol.value);
    }
    let _ = (cubin.tool_info(), cubin.toolkit(), cubin.virtual_arch(), cubin.records().count());
}

/// Creates the views of a program.
fn views(program: &Nvidia<'_>) {
    let mut diagnostics = Diagnostics::new();
    let _ = NvidiaView::new(program, &InOrder, &mut diagnostics);
    let mut rows = 0;
    kernel_rows(program, true, &InOrder, &mut diagnostics, None, &mut |row| {
        assert!(row.name.chars().all(is_plain), "not escaped: {:?}", row.name);
        rows += 1;
    });
    let mut cards = 0;
    kernels(program, &mut diagnostics, &|index, _| index < MAX_FUNCTIONS as u32, &mut |_| cards += 1);
    assert!(cards <= rows);
}
