//! Reading of sections of embedded sources: see `unshade_tests::fuzz_targets::sources`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::sources(data));
