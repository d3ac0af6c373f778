//! Reading of root signatures: see `unshade_tests::fuzz_targets::root_signature`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::root_signature(data));
