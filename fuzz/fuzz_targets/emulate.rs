//! Cubins and machine code in the emulator: see `unshade_tests::fuzz_targets::emulate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unshade_tests::fuzz_targets::emulate(data));
