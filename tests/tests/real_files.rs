//! The real files of the corpus are valid, and their outlines cover every byte.

use unshade_tests::{corpus, exercise};

#[test]
fn libraries_are_valid_and_every_byte_has_a_name() {
    let files = corpus::smallest_libraries(usize::MAX, "checking every real library", |data| data.len() > 8);
    let (mut functions, mut unknown) = (0, 0);
    for file in &files {
        let seen = exercise::any(&file.data).expect("a library");
        assert!(seen.findings.is_empty(), "{}: {:#?}", file.name, seen.findings);
        assert!(seen.outline_faults.is_empty(), "{}: {:#?}", file.name, seen.outline_faults);
        functions += seen.functions;
        unknown += seen.unknown_bytes;
    }
    eprintln!("{} real libraries, {functions} functions, {unknown} bytes without a name", files.len());
}

#[test]
fn binary_archives_are_valid_and_their_outlines_have_no_gaps() {
    for file in corpus::binary_archives("checking the binary archives") {
        let seen = exercise::universal(&file.data).expect("a universal file");
        assert!(seen.functions > 0 && seen.findings.is_empty(), "{}: {:#?}", file.name, seen.findings);
        assert!(seen.outline_faults.is_empty(), "{}: {:#?}", file.name, seen.outline_faults);
        eprintln!("{}: {} bytes, {} without a name", file.name, file.data.len(), seen.unknown_bytes);
    }
}
