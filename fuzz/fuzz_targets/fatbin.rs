//! Reading, checking and outlining of fat binaries: see `unshade_tests::fuzz_targets::fatbin`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::fatbin(data));
