//! Every real file of the corpus is sound, and every byte of it has a name.

use unshade_tests::{corpus, exercise};

#[test]
fn libraries_are_sound_and_every_byte_has_a_name() {
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
