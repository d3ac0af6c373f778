//! Reading, checking and rewriting of metallibs: see `unshade_tests::fuzz_targets::metallib`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::metallib(data));
