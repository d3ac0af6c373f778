//! Decompression of Zstandard frames: see `unshade_tests::fuzz_targets::zstd`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::zstd(data));
