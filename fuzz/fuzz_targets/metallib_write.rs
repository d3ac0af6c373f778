//! Libraries taken apart and put together: see `unshade_tests::fuzz_targets::metallib_write`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::metallib_write(data));
