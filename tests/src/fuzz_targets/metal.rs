//! The Metal decompiler, on bitcode or on LLVM assembly.

use unshade::hlsl::InstructionBytes;
use unshade::llvm::Module;
use unshade::llvm::assemble::{AssembleOptions, Version, bitcode};
use unshade::msl;

/// Decompiles modules: each line has bytes inside of the file, functions have lines of the text in their order, and what has no
/// form is named. The same module has the same text.
pub fn metal_source(data: &[u8]) {
    let assembled = std::str::from_utf8(data).ok().and_then(|text| {
        bitcode(text.as_bytes(), b"fuzz.ll", &AssembleOptions { version: Version::Llvm14 }).ok()
    });
    let data = assembled.as_ref().map_or(data, |file| &file.bytes);
    let Ok(modules) = Module::parse_all(data, 0) else { return };
    for module in modules.take(4).flatten() {
        let metal = msl::module(&module, &|_, _| true);
        assert_eq!(metal.text().lines().count(), metal.lines.len(), "a line has a line break");
        assert_eq!(metal.text(), msl::module(&module, &|_, _| true).text());
        assert!(metal.gotos == 0 || !metal.unknown.is_empty(), "a jump that is not reported");
        let ranges = InstructionBytes::of_module(&module).of_metal(&metal);
        assert_eq!(ranges.len(), metal.lines.len());
        assert!(
            ranges.iter().flatten().all(|range| range.start < range.end && range.end <= data.len() as u64)
        );
        let mut end = 0;
        for function in &metal.functions {
            assert!(end <= function.lines.start && function.lines.end <= metal.lines.len());
            end = function.lines.end;
        }
        let folder = msl::folder(&[&metal, &metal], "shared.h");
        assert_eq!(folder.modules.len(), 2);
    }
}
