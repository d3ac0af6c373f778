//! Reading of SPDB and SDBG: see `unshade_tests::fuzz_targets::dx_debug`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::dx_debug(data));
