//! Decoding of reflection buffers: see `unshade_tests::fuzz_targets::reflection`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::reflection(data));
