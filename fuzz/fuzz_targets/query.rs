//! Every question about any file: see `unshade_tests::fuzz_targets::query`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::query(data));
