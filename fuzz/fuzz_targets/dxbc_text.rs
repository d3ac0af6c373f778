//! Direct3D bytecode: see `unshade_tests::fuzz_targets::dxbc_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::dxbc_text(data));
