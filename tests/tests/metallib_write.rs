//! Libraries that are written: every fixture and every real file comes back to the byte.

use unshade_metallib::{LibraryFile, Universal};
use unshade_tests::fixtures;
use unshade_tests::{corpus, fuzz_targets};

#[test]
fn every_fixture_comes_back_to_the_byte() {
    for fixture in fixtures::all() {
        let (bytes, _) = fixture.build();
        if Universal::parse(&bytes).is_ok() {
            continue;
        }
        let file = LibraryFile::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
        assert!(file.write().unwrap().to_vec() == bytes, "{} is written otherwise", fixture.name);
        fuzz_targets::metallib_write(&bytes);
    }
}

#[test]
fn every_real_library_comes_back_to_the_byte() {
    for file in corpus::smallest_libraries(usize::MAX, "writing every real library", |data| data.len() > 8) {
        let parsed = LibraryFile::parse(&file.data).unwrap_or_else(|error| panic!("{}: {error}", file.name));
        assert!(parsed.write().unwrap().to_vec() == file.data, "{} is written otherwise", file.name);
    }
}

#[test]
fn what_would_come_back_otherwise_is_refused_with_its_place() {
    let fixture = fixtures::all().into_iter().find(|fixture| fixture.name == "linker_1_2_7").unwrap();
    let (mut bytes, _) = fixture.build();
    bytes.push(0);
    let error = LibraryFile::parse(&bytes).unwrap_err();
    assert!(error.to_string().contains("laid out in a way that is not written"), "{error}");
    assert_eq!(error.offset(), Some(bytes.len() as u64 - 1));
}
