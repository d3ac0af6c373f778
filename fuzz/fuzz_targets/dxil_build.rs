//! DirectX shaders made by calls: see `unshade_tests::fuzz_targets::dxil_build`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::dxil_build(data));
