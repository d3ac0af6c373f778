//! Targets for LLVM assembly.

use unshade::dxcontainer::dxil::assemble::{Options, container};
use unshade::llvm::Module;
use unshade::llvm::assemble::{self, AssembleOptions, Version};
use unshade::llvm::print::{self, Dialect, PrintOptions};

/// Assembles a text; none if it is not valid, or can't be written.
fn assembled(text: &[u8], version: Version) -> Option<Vec<u8>> {
    Some(assemble::bitcode(text, b"<stdin>", &AssembleOptions { version }).ok()?.bytes)
}

/// Prints a module; none if anything is wrong with it.
fn printed(bitcode: &[u8], dialect: Dialect) -> Option<String> {
    let module = Module::parse(bitcode, 0).expect("what was written can be read");
    let mut text = String::new();
    let findings = print::module(&module, &PrintOptions { dialect, ..PrintOptions::default() }, &mut text);
    (findings.is_empty() && module.diagnostics.is_empty()).then_some(text)
}

/// LLVM assembly: an error with its place, or a module whose text can be assembled again to the same.
pub fn llvm_text(data: &[u8]) {
    let dialects = [
        (Version::Llvm14, Dialect::Llvm14),
        (Version::Llvm19, Dialect::Llvm19),
        (Version::Dxc, Dialect::Dxc),
    ];
    for (version, dialect) in dialects {
        let Some(bitcode) = assembled(data, version) else { continue };
        if version == Version::Dxc {
            // An error, or a container.
            let _ =
                container(&bitcode, &Options { reflection: true, split_debug: true, ..Options::default() });
        }
        let Some(text) = printed(&bitcode, dialect) else { continue };
        if let Some(again) = assembled(text.as_bytes(), version).and_then(|again| printed(&again, dialect)) {
            assert!(text == again, "{text}\nbecomes\n{again}");
        }
    }
}
