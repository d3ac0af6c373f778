//! Text of machine code: see `unshade_tests::fuzz_targets::sass_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::sass_text(data));
