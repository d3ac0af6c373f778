//! A C header with names and types for the decompiler: see `unshade_tests::fuzz_targets::types_header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::types_header(data));
