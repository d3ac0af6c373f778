//! Reading of RDAT: see `unshade_tests::fuzz_targets::rdat`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::rdat(data));
