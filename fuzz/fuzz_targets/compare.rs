//! Comparing, judging and counting of any program: see `unshade_tests::fuzz_targets::compare`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::compare(data));
