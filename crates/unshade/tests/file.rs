//! Files as users of the library open them: every format, down to the text of each function.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use unshade::File;
use unshade::core::ErrorKind;
use unshade::file::{Function, SourceOrigin};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

fn open(name: &str) -> File {
    unshade::open(fixture(name)).unwrap()
}

/// The functions of the first program.
fn functions(file: &File) -> Vec<Function<'_>> {
    file.programs().next().unwrap().functions().unwrap()
}

#[test]
fn every_format_lists_and_prints() {
    let cases = [
        ("metallib/vertex_fragment.metallib", "vertex", "define "),
        ("metallib/universal_air.metallib", "kernel", "define "),
        ("dxcontainer/compute.dxbc", "compute", "define "),
        ("dxcontainer/fxc_ps_5_1.dxbc", "pixel", "ps_5_1"),
        ("air/reduce.bc", "function", "define void @reduce("),
        ("nvidia/add_sm_35.cubin", "kernel", "EXIT"),
        ("nvidia/add.ptx", "kernel", ".entry"),
        ("nvidia/packed_11_2.fatbin", "kernel", "EXIT"),
    ];
    for (name, kind, text) in cases {
        let file = open(name);
        let first = functions(&file).into_iter().find(|function| function.kind() == kind);
        let first = first.unwrap_or_else(|| panic!("{name}: {:?}", functions(&file)));
        assert!(!first.name().is_empty() && first.signature().contains(first.name()), "{name}: {first:?}");
        let listing = first.text().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(listing.contains(text), "{name}: {listing}");
    }
}

#[test]
fn functions_of_a_module_print_alone() {
    let file = open("air/reduce.bc");
    let square = functions(&file).into_iter().find(|one| one.name() == "_ZN5tools6squareEf").unwrap();
    assert_eq!(square.demangled(), Some("tools::square(float)"));
    let text = square.text().unwrap();
    assert!(text.contains("@_ZN5tools6squareEf(float") && !text.contains("define void @reduce"), "{text}");
}

/// A universal file of these libraries, as big-endian as they are.
fn universal(libraries: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut file = vec![0xcb, 0xfe, 0xba, 0xbe];
    file.extend((libraries.len() as u32).to_be_bytes());
    let mut offset = 4096_u32;
    for (subtype, library) in libraries {
        for field in [0x0100_0017, *subtype, offset, library.len() as u32, 4] {
            file.extend(field.to_be_bytes());
        }
        offset += (library.len() as u32).next_multiple_of(4096);
    }
    for (_, library) in libraries {
        file.resize(file.len().next_multiple_of(4096), 0);
        file.extend(library);
    }
    file
}

#[test]
fn functions_of_slices_are_told_apart() {
    let library = |name| std::fs::read(fixture(name)).unwrap();
    let libraries = ["metallib/mesh_object.metallib", "metallib/vertex_fragment.metallib"].map(library);
    let file =
        unshade::open_bytes("both", universal(&[(0, libraries[0].clone()), (1, libraries[1].clone())]));
    let functions = functions(&file);
    let indices: Vec<u32> = functions.iter().map(Function::index).collect();
    // As `list` numbers them: through all slices.
    assert_eq!(indices, [0, 1, 2, 3], "{functions:?}");
    for function in &functions {
        assert!(function.signature().contains(function.name()), "{function:?}: {}", function.signature());
        let name = function.name().rsplit("::").next().unwrap();
        assert!(function.text().unwrap().contains(&format!("{name}(")), "{function:?}");
    }
    assert_ne!(functions[0].slice(), functions[2].slice());
}

#[test]
fn every_function_of_a_fat_binary_is_found() {
    for name in ["nvidia/packed_11_2.fatbin", "nvidia/options_11_2.fatbin", "nvidia/zstandard_13_5.fatbin"] {
        let file = open(name);
        for function in functions(&file) {
            // The encodings of some chips are not known, which is said.
            match function.text() {
                Ok(text) if function.kind() == "PTX" => assert!(text.contains(".version"), "{name}: {text}"),
                Ok(text) => assert!(text.contains(function.name()), "{name}: {text}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}"),
            }
        }
    }
}

#[test]
fn sources_are_decompiled_or_embedded_or_refused() {
    let file = open("nvidia/add_sm_35.cubin");
    let source = functions(&file)[0].source().unwrap();
    assert_eq!(source.origin, SourceOrigin::Decompiled);
    assert!(source.to_string().contains("__global__ void add("), "{source}");

    let file = open("metallib/sources_hsrd.metallib");
    let embedded: Vec<_> = functions(&file).iter().filter_map(|function| function.source().ok()).collect();
    assert!(!embedded.is_empty());
    assert!(embedded.iter().all(|source| source.origin == SourceOrigin::Embedded));

    let file = open("metallib/vertex_fragment.metallib");
    assert!(decompiled(&functions(&file)[0]).starts_with("#include <metal_stdlib>\n"));
    let file = open("dxcontainer/compute.dxbc");
    assert!(decompiled(&functions(&file)[0]).contains("[numthreads("));

    // Of bitcode, the function by itself; one without code has no source.
    let file = open("air/reduce.bc");
    let (declared, defined): (Vec<_>, Vec<_>) =
        functions(&file).into_iter().partition(|function| function.kind() == "declaration");
    assert!(decompiled(&defined[0]).contains("void reduce("));
    let error = declared[0].source().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.path().next().unwrap().ends_with("reduce.bc"), "{error}");
}

/// Returns the decompiled text of a function, after a check that its lines have bytes of the program.
fn decompiled(function: &Function<'_>) -> String {
    let source = function.source().unwrap();
    assert_eq!((source.origin, source.files.len()), (SourceOrigin::Decompiled, 1));
    let file = &source.files[0];
    assert_eq!(file.text.lines().count(), file.ranges.len());
    assert!(file.ranges.iter().any(|ranges| !ranges.is_empty()), "{}", file.text);
    let size = function.program().bytes().len() as u64;
    assert!(file.ranges.iter().flatten().all(|range| range.start < range.end && range.end <= size));
    file.text.clone()
}

#[test]
fn unpacked_programs_are_owned_and_may_cross_threads() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut std::fs::File::open(fixture("nvidia/add_sm_35.cubin")).unwrap(), &mut gzip).unwrap();
    let file = unshade::open_bytes("add.gz", gzip.finish().unwrap());
    let program = file.programs().next().unwrap();
    assert_eq!((program.path().to_string().as_str(), program.offset()), ("add.gz!add", None));
    let functions = program.functions().unwrap();
    drop(program);
    let texts: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = functions.iter().map(|one| scope.spawn(|| one.text().unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(texts[0].contains("EXIT"));
}

#[test]
fn files_without_programs_and_damaged_ones() {
    let file = unshade::open_bytes("note.txt", b"no program");
    assert_eq!(file.programs().len(), 0);
    assert_eq!(format!("{file:?}"), "File(note.txt, 10 bytes, 0 programs)");

    let mut bytes = std::fs::read(fixture("metallib/vertex_fragment.metallib")).unwrap();
    for end in (0..bytes.len()).rev().step_by(97) {
        bytes.truncate(end);
        let file = unshade::open_bytes("cut", bytes.clone());
        for program in file.programs() {
            let _ = program.verify();
            for function in program.functions().unwrap_or_default() {
                let _ = (function.signature(), function.text(), function.source());
            }
        }
    }
}
