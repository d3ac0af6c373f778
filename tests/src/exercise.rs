//! Calls the whole API of the Metal parser on any bytes. It must never panic, and an outline must name every byte once.

use std::collections::BTreeSet;
use unshade_core::Diagnostics;
use unshade_core::outline::Coverage;
use unshade_metallib::reflection::{Reflection, print_signature, schema::NodeType};
use unshade_metallib::universal::SliceContent;
use unshade_metallib::{Function, Library, LibraryFile, Universal, outline, verify};

/// The results of calling the API.
#[derive(Debug, Default)]
pub struct Report {
    /// The number of functions in the list.
    pub functions: usize,
    /// The findings of a check.
    pub findings: Diagnostics,
    /// Gaps and overlaps of the outline.
    pub outline_faults: Vec<String>,
    /// The number of bytes that the outline could not name.
    pub unknown_bytes: u64,
}

/// Maximum number of slices of a universal file to examine: a small file may refer to the same bytes thousands of
/// times.
const MAX_SLICES: usize = 8;

/// Calls the whole API on a library; `None` if the bytes are not a library.
pub fn metallib(data: &[u8]) -> Option<Report> {
    match Library::parse(data) {
        Ok(library) => {
            if let Ok(file) = LibraryFile::parse(data) {
                let written = file.write().expect("a parsed library can be written");
                assert_eq!(written.size(), data.len() as u64);
            }
            Some(whole_library(&library))
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// Calls the whole API on a library that stands alone or is in a slice.
fn whole_library(library: &Library<'_>) -> Report {
    let functions = parts(library);
    let findings = verify::library(library);
    for finding in &findings {
        assert!(
            verify::RULES.iter().any(|(rule, _)| *rule == finding.rule),
            "no such rule: {}",
            finding.rule
        );
        assert_readable(&finding.error.to_string());
    }
    let mut coverage = Coverage::starting_at(library.file().base());
    outline::library(library, &mut coverage);
    let unknown_bytes = coverage.unknown_bytes();
    Report { functions, findings, outline_faults: coverage.finish(library.file().range().end), unknown_bytes }
}

/// Checks that a message is escaped and contains no debug output of Rust, such as `Some(…)` or a list of byte values.
fn assert_readable(message: &str) {
    assert!(message.chars().all(unshade_core::escape::is_plain), "not escaped: {message:?}");
    for debug_text in ["Some(", "None", "([", "FunctionType(", "DataType(", "FourCc("] {
        assert!(!message.contains(debug_text), "debug output in a message: {message}");
    }
}

/// Calls every accessor of a library. Returns the number of its functions.
fn parts(library: &Library<'_>) -> usize {
    let header = library.header();
    let _ = (header.version(), header.target(), header.sections(), library.dialect(), library.uuid());
    let mut reflections = BTreeSet::new();
    let mut count = 0;
    for function in library.functions() {
        let Ok(function) = function else { break };
        count += 1;
        parts_of_function(library, &function);
        if let Some(offset) = function.reflection_offset
            && reflections.insert(offset)
            && let Ok(Some(found)) = library.reflection(&function)
        {
            reflection(&found);
        }
    }
    if let Ok(Some(sources)) = library.sources() {
        for archive in sources.archives().map_while(Result::ok) {
            assert!(archive.range.contains(&archive.code_offset));
        }
    }
    for code in [b"ILST", b"VLST", b"RLST", b"SLST"] {
        for group in library.list(code).into_iter().flatten().flatten() {
            let _ = group.map(|group| (group.name(), group.tags().count()));
        }
    }
    let _ = library.imported_symbols().map(Iterator::count);
    let _ = library.exported_variables().map(Iterator::count);
    if let Ok(Some(dynamic)) = library.dynamic_header() {
        let _ = (dynamic.install_name(), dynamic.linked_libraries().count());
    }
    count
}

fn parts_of_function(library: &Library<'_>, function: &Function<'_>) {
    assert!(function.label().chars().all(unshade_core::escape::is_plain));
    let _ = function.tags().count();
    if let Ok(Some(public)) = library.public_metadata(function) {
        let _ = (public.vertex_attributes(), public.function_constants());
    }
    if let Ok(Some(private)) = library.private_metadata(function) {
        let _ = (private.source_location(), private.dependencies().count());
    }
    if let Ok(Some(module)) = library.module(function) {
        let _ = (module.wrapper(), module.bitcode());
    }
    if let Some(offset) = function.source_offset
        && let Ok(Some(sources)) = library.sources()
    {
        let _ = sources.archive_at(offset);
    }
}

/// Decodes a whole reflection.
pub fn reflection(reflection: &Reflection<'_>) {
    for node in reflection.nodes().flatten() {
        let _ = node.fields().count();
        if node.kind() == NodeType::STRUCT_TYPE_INFO
            && let Ok(fields) = reflection.struct_fields(node.id())
        {
            let _ = fields.count();
        }
    }
    for function in reflection.functions().flatten() {
        let mut text = String::new();
        print_signature(&function, &mut text);
        assert!(
            text.chars().all(|c| c == '\n' || unshade_core::escape::is_plain(c)),
            "not escaped: {text:?}"
        );
    }
    let _ = (
        reflection.function_constants(),
        reflection.global_bindings(),
        reflection.visible_function_references(),
    );
    let _ = reflection.static_local_allocations().map(Iterator::count);
}

/// Decodes the payload of an `RBUF` at offset `base` of a file. Returns the faults of its outline; `None` if it is not
/// a reflection.
pub fn reflection_payload(data: &[u8], base: u64) -> Option<Vec<String>> {
    let found = Reflection::parse_at(data, base).ok()?;
    reflection(&found);
    let mut coverage = Coverage::starting_at(base);
    found.outline(&mut coverage, &mut Diagnostics::new());
    Some(coverage.finish(base + data.len() as u64))
}

/// Calls the whole API on a universal file; `None` if the bytes are not one.
pub fn universal(data: &[u8]) -> Option<Report> {
    let file = Universal::parse(data).ok()?;
    let mut report = Report::default();
    for slice in file.slices().map_while(Result::ok).take(MAX_SLICES) {
        let library = match slice.content() {
            Ok(SliceContent::Library(library)) => Some(library),
            Ok(SliceContent::GpuObject(object)) => {
                let _ = (object.commands().count(), object.notes().len());
                object.library().ok().flatten()
            }
            Ok(SliceContent::Unknown(_)) | Err(_) => None,
            Ok(_) => None,
        };
        if let Some(library) = library {
            let inner = whole_library(&library);
            report.functions += inner.functions;
            report.findings.append(inner.findings);
            report.outline_faults.extend(inner.outline_faults);
        }
    }
    let mut coverage = Coverage::default();
    outline::universal(&file, &mut coverage);
    report.unknown_bytes = coverage.unknown_bytes();
    report.outline_faults.extend(coverage.finish(data.len() as u64));
    Some(report)
}

/// Calls the whole API on a file of either format; `None` if it is neither.
pub fn any(data: &[u8]) -> Option<Report> {
    metallib(data).or_else(|| universal(data))
}
