//! Reading of PSV0: see `unshade_tests::fuzz_targets::psv0`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::psv0(data));
