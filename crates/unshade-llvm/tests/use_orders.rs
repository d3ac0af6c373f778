//! Texts with orders of uses, placeholders and equal debug info, beside the files that `llvm-as` makes of them.

use std::path::PathBuf;
use unshade_llvm::assemble::{self, AssembleOptions, Version};
use unshade_llvm::write::{self, WriteOptions};

const TEXTS: [(&str, Version); 9] = [
    ("orders_14", Version::Llvm14),
    ("orders_19", Version::Llvm19),
    ("equivalents_19", Version::Llvm19),
    ("united_14", Version::Llvm14),
    ("united_19", Version::Llvm19),
    ("attributes_19", Version::Llvm19),
    ("assembly_14", Version::Llvm14),
    ("names_14", Version::Llvm14),
    ("names_19", Version::Llvm19),
];

fn read(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/use_orders");
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn assembles_as_llvm() {
    for (name, version) in TEXTS {
        let text = read(&format!("{name}.ll"));
        let assembled = assemble::assemble(&text, &AssembleOptions { version }).unwrap();
        let options = WriteOptions { version, ..WriteOptions::default() };
        let written = write::module(&assembled.input(), &options).unwrap();
        assert!(written == read(&format!("{name}.bc")), "{name}");
    }
}
