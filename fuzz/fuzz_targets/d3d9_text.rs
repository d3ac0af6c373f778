//! Direct3D 9 bytecode: see `unshade_tests::fuzz_targets::d3d9_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::d3d9_text(data));
