//! Writing libraries: every fixture and every real file survives a round trip.

use unshade_metallib::file::{OwnedReflection, SectionData};
use unshade_metallib::reflection::tables::OwnedTable;
use unshade_metallib::{LibraryFile, Universal, document};
use unshade_tests::fixtures;
use unshade_tests::{corpus, fuzz_targets};

#[test]
fn every_fixture_survives_a_round_trip() {
    for fixture in fixtures::all() {
        let (bytes, _) = fixture.build();
        if Universal::parse(&bytes).is_ok() {
            continue;
        }
        let file = LibraryFile::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
        assert!(file.write().unwrap().to_vec() == bytes, "writing changes {}", fixture.name);
        fuzz_targets::metallib_write(&bytes);
    }
}

#[test]
fn yaml_survives_a_round_trip() {
    let real = corpus::smallest_libraries(20, "YAML of real libraries", |data| data.len() > 8);
    let fixtures = fixtures::all().into_iter().map(|fixture| (fixture.name.clone(), fixture.build().0));
    for (name, bytes) in fixtures.chain(real.into_iter().map(|file| (file.name, file.data))) {
        if Universal::parse(&bytes).is_ok() {
            continue;
        }
        let text = document::to_yaml(&LibraryFile::parse(&bytes).unwrap()).unwrap();
        let back = document::from_yaml(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        assert!(back.write().unwrap().to_vec() == bytes, "YAML changes {name}:\n{text}");
    }
}

#[test]
fn reflections_are_tables_in_yaml() {
    let fixture = fixtures::all().into_iter().find(|fixture| fixture.name == "linker_1_2_7").unwrap();
    let (bytes, _) = fixture.build();
    let mut file = LibraryFile::parse(&bytes).unwrap();
    let Some(SectionData::Reflections(list)) = file.section_mut(&[*b"RLST"]) else { panic!("no RLST") };
    for buffer in list {
        // Our fixtures are written front to back, unlike those of any other writer.
        assert!(buffer.tables().is_none());
        let rebuilt = OwnedReflection::of_tables(&OwnedTable::read(&buffer.content).unwrap()).unwrap();
        buffer.content = rebuilt.content.into_owned().into();
        assert!(buffer.tables().is_some());
    }
    let written = file.write().unwrap().to_vec();
    let text = document::to_yaml(&LibraryFile::parse(&written).unwrap()).unwrap();
    for line in ["- version:         0.2.0", "- Node:            BufferArg", "kernel_functions: [ "] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    assert_eq!(document::from_yaml(&text).unwrap().write().unwrap().to_vec(), written);
    for (old, new, expected) in [
        ("Node:            BufferArg", "Node:            Buffer", "wrong kind of value"),
        ("address_space:   device", "address_space:   nowhere", "wrong kind of value"),
        ("type_align:", "type_alignment:", "unknown key `type_alignment`"),
        ("version:         0.2.0", "version:         0.2", "wrong kind of value"),
    ] {
        assert!(text.contains(old), "{old}:\n{text}");
        let error = document::from_yaml(&text.replacen(old, new, 1)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("line "), "{error}");
    }
}

#[test]
fn faults_of_a_document_have_line_numbers() {
    for (text, expected) in [
        ("A: 1\n", "--- !metallib"),
        ("--- !metallib\nMacOS: true\n", "key `Version` is missing"),
        ("--- !metallib\nVersion: 1.2.7\nColour: red\n", "line 3, column 9: unknown key `Colour`"),
        ("--- !metallib\nVersion: 1.2.x\n", "line 2, column 10: wrong kind of value"),
        (
            "--- !metallib\nVersion: 1.2.7\nFunctions:\n  - Name: a\n",
            "line 4, column 5: key `Module` is missing",
        ),
        ("--- !metallib\nVersion: 1.2.7\nModules:\n  - File: a.air\n", "line 4, column 11"),
        ("--- !metallib\nVersion: 1.2.7\nVersion: 1.2.8\n", "line 3"),
    ] {
        let error = document::from_yaml(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let dangling = "--- !metallib\nVersion: 1.2.7\nFunctions:\n  - Name: a\n    Module: 3\n";
    let error = document::from_yaml(dangling).unwrap().write().unwrap_err().to_string();
    assert!(error.contains("function 0 \"a\"") && error.contains("no such module"), "{error}");
}

#[test]
fn every_real_library_survives_a_round_trip() {
    for file in corpus::smallest_libraries(usize::MAX, "writing every real library", |data| data.len() > 8) {
        let parsed = LibraryFile::parse(&file.data).unwrap_or_else(|error| panic!("{}: {error}", file.name));
        assert!(parsed.write().unwrap().to_vec() == file.data, "writing changes {}", file.name);
    }
}

#[test]
fn an_unsupported_layout_is_rejected_with_its_offset() {
    let fixture = fixtures::all().into_iter().find(|fixture| fixture.name == "linker_1_2_7").unwrap();
    let (mut bytes, _) = fixture.build();
    bytes.push(0);
    let error = LibraryFile::parse(&bytes).unwrap_err();
    assert!(error.to_string().contains("unsupported layout"), "{error}");
    assert_eq!(error.offset(), Some(bytes.len() as u64 - 1));
}
