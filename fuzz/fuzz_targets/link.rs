//! Modules linked into a library: see `unshade_tests::fuzz_targets::link`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::link(data));
