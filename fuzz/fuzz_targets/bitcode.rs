//! Reading of LLVM bitcode, and printing it in every dialect: see `unshade_tests::fuzz_targets::bitcode`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::bitcode(data));
