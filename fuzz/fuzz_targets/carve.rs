//! Finding programs in files of any kind: see `unshade_tests::fuzz_targets::carve`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::carve(data));
