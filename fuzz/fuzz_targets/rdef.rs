//! Reading of RDEF: see `unshade_tests::fuzz_targets::rdef`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::rdef(data));
