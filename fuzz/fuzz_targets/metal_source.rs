//! Modules as Metal: see `unshade_tests::fuzz_targets::metal_source`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::metal_source(data));
