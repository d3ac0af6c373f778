//! The committed fixtures equal the output of the builder, and the parser reads back what the builder wrote.

use std::fs;
use unshade_core::Severity;
use unshade_metallib::metadata::GroupSize;
use unshade_metallib::universal::SliceContent;
use unshade_metallib::{Library, Universal};
use unshade_tests::exercise;
use unshade_tests::fixtures::{self, Content, Fixture};
use unshade_tests::metallib_builder::{Built, Dialect, LibrarySpec, cpu_type, unpack};

/// `BLESS=1 cargo test -p unshade-tests` writes the files.
#[test]
fn committed_files_equal_the_output_of_the_builder() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut expected = Vec::new();
    let mut total = 0;
    for fixture in fixtures::all() {
        let (bytes, _) = fixture.build();
        assert!(bytes.len() < 20_000, "{} has {} bytes", fixture.name, bytes.len());
        total += bytes.len();
        let path = fixture.path();
        if bless && fs::read(&path).ok().as_ref() != Some(&bytes) {
            fs::write(&path, &bytes).expect("the fixture can be written");
        }
        let committed = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            committed == bytes,
            "{} differs from the output of the builder; BLESS=1 rewrites it",
            fixture.name
        );
        expected.push(format!("{}.metallib", fixture.name));
    }
    assert!(total < 500_000, "{total} bytes of fixtures");

    let mut committed: Vec<String> = fs::read_dir(fixtures::folder())
        .expect("the folder of fixtures")
        .map(|entry| entry.expect("a readable folder").file_name().to_string_lossy().into_owned())
        .collect();
    committed.sort();
    expected.sort();
    assert_eq!(committed, expected, "files without a fixture, or two fixtures with the same name");
}

#[test]
fn every_fixture_is_in_the_readme() {
    let path = fixtures::folder().join("../README.md");
    let start = "<!-- the table is written by BLESS=1 cargo test -p unshade-tests -->\n";
    let readme = fs::read_to_string(&path).expect("a README");
    let (head, committed) = readme.split_once(start).expect("the line before the table");
    let mut table = String::from("| file | covers | findings of a check |\n|---|---|---|\n");
    for fixture in fixtures::all() {
        let findings: Vec<String> =
            fixture.findings.iter().map(|(severity, rule)| format!("{severity} `{rule}`")).collect();
        let findings = if findings.is_empty() { "none".to_owned() } else { findings.join(", ") };
        table.push_str(&format!("| `{}` | {} | {findings} |\n", fixture.name, fixture.stands_for));
    }
    if std::env::var_os("BLESS").is_some() && committed != table {
        fs::write(&path, format!("{head}{start}{table}")).expect("the README can be written");
    } else {
        assert_eq!(committed, table);
    }
}

#[test]
fn checks_report_exactly_the_expected_findings() {
    for fixture in fixtures::all() {
        let seen = exercise::any(&fixture.build().0).expect("a library or a universal file");
        let found: Vec<(Severity, &str)> = seen.findings.iter().map(|f| (f.severity, f.rule)).collect();
        assert_eq!(found, fixture.findings, "{}: {:#?}", fixture.name, seen.findings);
    }
}

#[test]
fn outlines_name_every_byte() {
    for fixture in fixtures::all() {
        let seen = exercise::any(&fixture.build().0).expect("a library or a universal file");
        assert!(seen.outline_faults.is_empty(), "{}: {:#?}", fixture.name, seen.outline_faults);
        assert_eq!(seen.unknown_bytes, fixture.unknown_bytes, "{}", fixture.name);
    }
}

#[test]
fn the_parser_reads_what_the_builder_wrote() {
    for fixture in fixtures::all() {
        let (bytes, _) = fixture.build();
        match &fixture.content {
            Content::Library(spec) => {
                let library = Library::parse(&bytes).expect("a library");
                same_library(&fixture.name, &library, 0, spec);
            }
            Content::Universal(..) => same_universal(&fixture, &bytes),
        }
    }
}

fn same_universal(fixture: &Fixture, bytes: &[u8]) {
    let Content::Universal(spec, libraries) = &fixture.content else { return };
    let file = Universal::parse(bytes).expect("a universal file");
    let slices: Vec<_> = file.slices().collect::<Result<_, _>>().expect("slices");
    assert_eq!(slices.len(), spec.slices.len());
    for ((slice, wanted), (library, place)) in slices.iter().zip(&spec.slices).zip(libraries) {
        assert_eq!((slice.cpu_type.0, slice.cpu_subtype), (wanted.cpu_type, wanted.cpu_subtype));
        assert_eq!(slice.data.as_ref().expect("a slice").data(), wanted.data);
        let found = match slice.content().expect("a valid slice") {
            SliceContent::Library(library) => library,
            SliceContent::GpuObject(object) => {
                assert_eq!((object.cpu_type, object.cpu_subtype), (cpu_type::APPLE_GPU, wanted.cpu_subtype));
                assert_eq!(object.file_type, 0xd);
                assert_eq!(object.notes().len(), 8);
                let sections: Vec<_> = object.sections().iter().map(|section| section.name).collect();
                assert_eq!(sections, [&b"__reflection"[..], b"__compute", b"__descriptor", b"__metallib"]);
                object.library().expect("a library").expect("a section __metallib")
            }
            other => panic!("{}: {other:?}", fixture.name),
        };
        assert_eq!(found.file().range(), place.start as u64..place.end as u64);
        same_library(&fixture.name, &found, place.start, library);
    }
}

/// Compares every field of a library at offset `base` with its specification.
fn same_library(name: &str, library: &Library<'_>, base: usize, spec: &LibrarySpec) {
    let built = spec.build();
    let at = |range: &std::ops::Range<usize>| (base + range.start) as u64..(base + range.end) as u64;
    let header = library.header();
    assert_eq!(header.version().to_string(), format!("1.2.{}", spec.version_patch), "{name}");
    assert_eq!(header.macos_flag(), spec.macos_flag, "{name}");
    assert_eq!((header.library_type().0, header.is_stub()), (spec.library_type, spec.stub), "{name}");
    assert_eq!((header.platform().0, header.is_64_bit()), (spec.platform, spec.is_64_bit), "{name}");
    assert_eq!((header.os_major, header.os_minor, header.os_patch), spec.os, "{name}");
    assert_eq!(header.file_size, built.bytes.len() as u64, "{name}");
    for ((section, found), wanted) in header.sections().iter().zip(&built.sections) {
        assert_eq!(*found, wanted.start as u64..wanted.end as u64, "{name}: {section}");
    }

    let extension = library.extension().map(|extension| extension.range.clone());
    assert_eq!(extension, spec.has_extension().then(|| at(&built.extension)), "{name}");
    assert_eq!(library.uuid(), spec.uuid.as_ref(), "{name}");
    for (code, range) in &built.named_sections {
        let section = library.section(code).expect("a section in range").expect("a section");
        assert_eq!(section.range(), at(range), "{name}: {}", code.escape_ascii());
    }

    assert_eq!(library.functions().count(), spec.functions.len(), "{name}");
    let dialect = library.dialect().map(|dialect| dialect == unshade_metallib::library::Dialect::Linker);
    let wanted = (!spec.functions.is_empty()).then_some(spec.dialect == Dialect::Linker);
    assert_eq!(dialect, wanted, "{name}");
    for index in 0..spec.functions.len() {
        same_function(name, library, base, spec, &built, index);
    }
    same_sources(name, library, base, spec, &built);

    let names = |names: &[Vec<u8>]| names.to_vec();
    let found: Vec<_> = library.imported_symbols().expect("a list").map(<[u8]>::to_vec).collect();
    assert_eq!(found, names(&spec.imported_symbols), "{name}");
    let found: Vec<_> = library.exported_variables().expect("a list").map(<[u8]>::to_vec).collect();
    assert_eq!(found, names(&spec.exported_variables), "{name}");
    let scripts: Vec<Vec<u8>> = library
        .list(b"SLST")
        .expect("a list")
        .into_iter()
        .flatten()
        .map(|group| group.expect("a group").find(&[b"SBUF"]).expect("a script").content.data().to_vec())
        .collect();
    assert_eq!(scripts, spec.scripts, "{name}");
    let dynamic = library.dynamic_header().expect("a dynamic header");
    assert_eq!(dynamic.is_some(), spec.dynamic.is_some(), "{name}");
    if let (Some(found), Some(wanted)) = (dynamic, &spec.dynamic) {
        assert_eq!(found.install_name(), wanted.name.as_deref(), "{name}");
        assert_eq!(found.linked_libraries().collect::<Vec<_>>(), wanted.linked, "{name}");
    }
}

fn same_function(
    name: &str,
    library: &Library<'_>,
    base: usize,
    spec: &LibrarySpec,
    built: &Built,
    index: usize,
) {
    let at = |range: &std::ops::Range<usize>| (base + range.start) as u64..(base + range.end) as u64;
    let wanted = &spec.functions[index];
    let function = library.function(index as u32).expect("a function");
    assert_eq!(function.fault, None, "{name}");
    assert_eq!(function.range, at(&built.functions[index]), "{name}");
    assert_eq!(function.name, Some(wanted.name.as_slice()), "{name}");
    assert_eq!(function.kind.map(|kind| kind.0), Some(wanted.kind), "{name}");
    assert_eq!(function.hash, Some(&built.module_hash(wanted.module)), "{name}");
    let versions = function.versions.expect("VERS");
    let numbers = [versions.air.major, versions.air.minor, versions.language.major, versions.language.minor];
    assert_eq!(numbers, wanted.versions, "{name}");
    let module_range = &built.modules[wanted.module];
    assert_eq!(
        function.module_size,
        wanted.states_module_size.then_some(module_range.len() as u64),
        "{name}"
    );
    assert_eq!(function.tessellation.map(|t| t.0), wanted.tessellation, "{name}");
    assert_eq!(function.layer_type.map(|t| t.0), wanted.layer_type, "{name}");
    let known = 5 + [
        wanted.states_module_size,
        wanted.tessellation.is_some(),
        wanted.layer_type.is_some(),
        wanted.source_archive.is_some(),
        wanted.reflection.is_some(),
    ]
    .into_iter()
    .filter(|present| *present)
    .count();
    assert_eq!(function.tags().count(), known + wanted.other_tags.len(), "{name}");

    let module = library.module(&function).expect("a module in range").expect("OFFT");
    assert_eq!(module.range(), at(module_range), "{name}");
    assert_eq!(module.bitcode().expect("bitcode").data(), spec.modules[wanted.module].bitcode, "{name}");

    let public = library.public_metadata(&function).expect("public metadata").expect("OFFT");
    assert_eq!(public.group.range, at(&built.public[index]), "{name}");
    let size = if spec.dialect == Dialect::Linker { GroupSize::Inclusive } else { GroupSize::Exclusive };
    assert_eq!(public.group.group_size(), size, "{name}");
    let attributes = public.vertex_attributes().expect("attributes");
    assert_eq!(attributes.len(), wanted.public.vertex_attributes.len(), "{name}");
    for (found, wanted) in attributes.iter().zip(&wanted.public.vertex_attributes) {
        assert_eq!((found.name, found.index), (wanted.name.as_bytes(), wanted.index), "{name}");
        assert_eq!((found.usage.0, found.active), (wanted.usage, wanted.active), "{name}");
        assert_eq!(found.data_type.map(|t| t.0), Some(wanted.data_type), "{name}");
    }
    let constants = public.function_constants().expect("constants");
    assert_eq!(constants.len(), wanted.public.constants.len(), "{name}");
    for (found, wanted) in constants.iter().zip(&wanted.public.constants) {
        assert_eq!((found.name, found.data_type.0), (wanted.name.as_bytes(), wanted.data_type), "{name}");
        assert_eq!((found.index, found.active), (wanted.index, wanted.active), "{name}");
    }
    for wanted in &wanted.public.other_tags {
        let found = public.group.tags().map(|tag| tag.expect("a tag")).find(|tag| tag.code.0 == wanted.code);
        assert_eq!(found.expect("a tag").content.data(), wanted.content, "{name}");
    }

    let private = library.private_metadata(&function).expect("private metadata").expect("OFFT");
    assert_eq!(private.group.range, at(&built.private[index]), "{name}");
    let location = private.source_location().expect("DEBI").map(|place| (place.line, place.path));
    let place = wanted.private.source_location.map(|(line, path)| (line, path.as_bytes()));
    assert_eq!(location, place, "{name}");
    let dependencies: Vec<_> = private.dependencies().collect::<Result<_, _>>().expect("DEPF");
    let paths: Vec<_> = wanted.private.dependencies.iter().map(|path| path.as_bytes()).collect();
    assert_eq!(dependencies, paths, "{name}");

    if let Some(reflection) = wanted.reflection.map(|index| &spec.reflections[index])
        && reflection.code == *b"RBUF"
    {
        let found = library.reflection(&function).expect("a reflection").expect("RFLT");
        assert_eq!(found.buffer().data(), reflection.content, "{name}");
        assert_eq!(found.buffer().base() % 16, (base % 16) as u64, "{name}");
    }
}

fn same_sources(name: &str, library: &Library<'_>, base: usize, spec: &LibrarySpec, built: &Built) {
    let found = library.sources().expect("sources");
    assert_eq!(found.is_some(), spec.sources.is_some(), "{name}");
    let (Some(found), Some(wanted)) = (found, &spec.sources) else { return };
    assert_eq!(found.link_command, wanted.link_command.as_bytes(), "{name}");
    assert_eq!(found.working_directory, wanted.working_directory.map(str::as_bytes), "{name}");
    let archives: Vec<_> = found.archives().collect::<Result<_, _>>().expect("archives");
    assert_eq!(archives.len(), wanted.archives.len(), "{name}");
    for ((archive, wanted), code) in archives.iter().zip(&wanted.archives).zip(&built.archives) {
        assert_eq!(archive.id, wanted.id.as_bytes(), "{name}");
        assert_eq!(archive.code_offset, (base + code) as u64, "{name}");
        assert_eq!(unpack(archive.compressed.rest()), wanted.files, "{name}");
    }
    for (index, function) in spec.functions.iter().enumerate() {
        let Some(archive) = function.source_archive else { continue };
        let offset = library.function(index as u32).and_then(|function| function.source_offset);
        let archive_found = found.archive_at(offset.expect("SOFF")).expect("an archive");
        assert_eq!(archive_found.id, wanted.archives[archive].id.as_bytes(), "{name}");
    }
}
