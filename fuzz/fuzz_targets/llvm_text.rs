//! LLVM assembly: see `unshade_tests::fuzz_targets::llvm_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::llvm_text(data));
