//! Reading, checking and outlining of cubins: see `unshade_tests::fuzz_targets::cubin`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::cubin(data));
