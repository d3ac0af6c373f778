//! Bitcode as a tree: see `unshade_tests::fuzz_targets::bitcode_tree`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::bitcode_tree(data));
