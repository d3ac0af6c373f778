//! The text of a function in the decompiler: see `unshade_tests::fuzz_targets::ir_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::ir_text(data));
