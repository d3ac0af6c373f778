//! Modules made by calls: see `unshade_tests::fuzz_targets::bitcode_build`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::bitcode_build(data));
