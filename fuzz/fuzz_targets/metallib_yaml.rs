//! Reading of libraries from YAML: see `unshade_tests::fuzz_targets::metallib_yaml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::metallib_yaml(data));
