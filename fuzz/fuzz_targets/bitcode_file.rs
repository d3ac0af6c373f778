//! The outline, check and facts of a bitcode file: see `unshade_tests::fuzz_targets::bitcode_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::bitcode_file(data));
