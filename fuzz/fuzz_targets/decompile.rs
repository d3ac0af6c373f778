//! Words of machine code, decompiled: see `unshade_tests::fuzz_targets::decompile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::decompile(data));
