//! Everything that a reader offers, done to any bytes. Whatever the bytes are, nothing of it may panic, and an outline
//! has to name every byte once.

use std::collections::BTreeSet;
use unshade_core::Diagnostics;
use unshade_core::outline::Coverage;
use unshade_metallib::reflection::{Reflection, print_signature, schema::NodeType};
use unshade_metallib::universal::SliceContent;
use unshade_metallib::{Function, Library, LibraryFile, Universal, outline, verify};

/// What was seen on the way.
#[derive(Debug, Default)]
pub struct Seen {
    /// How many functions were listed.
    pub functions: usize,
    /// What a check found.
    pub findings: Diagnostics,
    /// Gaps and overlaps of the outline, in words.
    pub outline_faults: Vec<String>,
    /// The bytes that the outline could not name.
    pub unknown_bytes: u64,
}

/// Slices of a universal file beyond this are left out: a small file may name the same bytes thousands of times.
const MAX_SLICES: usize = 8;

/// Does everything to a library; `None` if the bytes are none.
pub fn metallib(data: &[u8]) -> Option<Seen> {
    match Library::parse(data) {
        Ok(library) => {
            if let Ok(file) = LibraryFile::parse(data) {
                let written = file.write().expect("what was read can be written");
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

/// Does everything to a library that stands alone.
fn whole_library(library: &Library<'_>) -> Seen {
    let functions = parts(library);
    let findings = verify::library(library);
    for finding in &findings {
        assert!(
            verify::RULES.iter().any(|(rule, _)| *rule == finding.rule),
            "no such rule: {}",
            finding.rule
        );
        assert!(finding.error.to_string().chars().all(unshade_core::escape::is_plain), "shown raw");
    }
    let mut coverage = Coverage::starting_at(library.file().base());
    outline::library(library, &mut coverage);
    let unknown_bytes = coverage.unknown_bytes();
    Seen { functions, findings, outline_faults: coverage.finish(library.file().range().end), unknown_bytes }
}

/// Calls every accessor of a library, and says how many functions it has.
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

/// Decodes all of a reflection.
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
        assert!(text.chars().all(|c| c == '\n' || unshade_core::escape::is_plain(c)), "shown raw: {text:?}");
    }
    let _ = (
        reflection.function_constants(),
        reflection.global_bindings(),
        reflection.visible_function_references(),
    );
    let _ = reflection.static_local_allocations().map(Iterator::count);
}

/// Decodes the payload of an `RBUF` that stands at `base` in a file, and returns the faults of its outline; `None` if
/// it is no reflection.
pub fn reflection_payload(data: &[u8], base: u64) -> Option<Vec<String>> {
    let found = Reflection::parse_at(data, base).ok()?;
    reflection(&found);
    let mut coverage = Coverage::starting_at(base);
    found.outline(&mut coverage, &mut Diagnostics::new());
    Some(coverage.finish(base + data.len() as u64))
}

/// Does everything to a universal file; `None` if the bytes are none.
pub fn universal(data: &[u8]) -> Option<Seen> {
    let file = Universal::parse(data).ok()?;
    let mut seen = Seen::default();
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
            seen.functions += inner.functions;
            seen.findings.append(inner.findings);
            seen.outline_faults.extend(inner.outline_faults);
        }
    }
    let mut coverage = Coverage::default();
    outline::universal(&file, &mut coverage);
    seen.unknown_bytes = coverage.unknown_bytes();
    seen.outline_faults.extend(coverage.finish(data.len() as u64));
    Some(seen)
}

/// Does everything to a file, whichever it is; `None` if it is neither.
pub fn any(data: &[u8]) -> Option<Seen> {
    metallib(data).or_else(|| universal(data))
}
