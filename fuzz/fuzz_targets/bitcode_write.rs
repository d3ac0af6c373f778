//! Bitcode that is read and written: see `unshade_tests::fuzz_targets::bitcode_write`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::bitcode_write(data));
