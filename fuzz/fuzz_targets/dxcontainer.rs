//! Reading, checking and rewriting of DXContainers: see `unshade_tests::fuzz_targets::dxcontainer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::dxcontainer(data));
