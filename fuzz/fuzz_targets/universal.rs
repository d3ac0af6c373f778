//! Reading and outlining of universal files: see `unshade_tests::fuzz_targets::universal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::universal(data));
