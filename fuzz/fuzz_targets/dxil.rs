//! Modules of DXContainers, as data and under their tables: see `unshade_tests::fuzz_targets::dxil`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::dxil(data));
