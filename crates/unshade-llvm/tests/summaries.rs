//! Texts with ThinLTO summaries, beside the files that `llvm-as` makes of them.

use std::path::PathBuf;
use unshade_llvm::Module;
use unshade_llvm::assemble::{self, AssembleOptions, Version};
use unshade_llvm::write::{self, WriteInput, WriteOptions};

const VERSIONS: [(Version, &str); 2] = [(Version::Llvm14, "14"), (Version::Llvm19, "19")];

fn read(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/summaries");
    std::fs::read(folder.join(name)).unwrap()
}

fn assembled(text: &[u8], version: Version) -> Result<Vec<u8>, String> {
    let assembled = assemble::assemble(text, &AssembleOptions { version });
    let assembled = assembled.map_err(|error| format!("{}: {}", error.line, error.message))?;
    let options = WriteOptions { version, ..WriteOptions::default() };
    write::module(&assembled.input(), &options).map_err(|error| error.to_string())
}

#[test]
fn assembles_as_llvm() {
    for (version, number) in VERSIONS {
        for name in ["module", "index"] {
            let name = format!("{name}_{number}");
            let written = assembled(&read(&format!("{name}.ll")), version).unwrap();
            assert!(written == read(&format!("{name}.bc")), "{name}");
        }
    }
}

#[test]
fn read_summaries_are_written() {
    for (version, number) in VERSIONS {
        for name in ["module", "index"] {
            let bytes = read(&format!("{name}_{number}.bc"));
            let module = Module::parse(&bytes, 0).unwrap();
            let bodies = module.bodies().unwrap();
            let options = WriteOptions { version, ..WriteOptions::default() };
            let written = write::module(&WriteInput::new(&module, &bodies), &options).unwrap();
            assert!(written == bytes, "{name} {number}");
        }
    }
}

#[test]
fn mistakes_have_a_line() {
    let module = "^0 = module: (path: \"a\", hash: (0, 0, 0, 0, 0))\n";
    let flags = "flags: (linkage: external)";
    let wrong = [
        ("^0 = what: (x)", "1: unexpected kind of summary entry"),
        ("^0 = gv: (name: \"f\")", "1: reference to undefined symbol \"f\""),
        (
            &format!(
                "{module}^1 = gv: (guid: 1, summaries: (variable: (module: ^0, {flags}, varFlags: (readonly: 0), refs: (^7))))"
            ),
            "2: use of undefined summary '^7'",
        ),
        (
            &format!(
                "^1 = gv: (guid: 1, summaries: (variable: (module: ^0, {flags}, varFlags: (readonly: 0))))"
            ),
            "1: use of undefined module '^0'",
        ),
        (
            &format!(
                "{module}^1 = gv: (guid: 1,\nsummaries: (function: (module: ^0, {flags}, insts: 1, calls: ((callee: ^1, hotness: hot, tail: 1)))))"
            ),
            "3: expected ')'",
        ),
        (
            &format!("{module}^1 = gv: (guid: 1, summaries: (function: (module: ^0, {flags}"),
            "2: expected ','",
        ),
    ];
    for (text, expected) in wrong {
        assert_eq!(assembled(text.as_bytes(), Version::Llvm14).unwrap_err(), expected, "{text}");
    }
}

/// An alias whose object has no summary makes LLVM crash.
#[test]
fn what_an_alias_stands_for_is_required() {
    let text = "^0 = module: (path: \"a\", hash: (0, 0, 0, 0, 0))\n\
                ^1 = gv: (guid: 1, summaries: (alias: (module: ^0, flags: (linkage: external), aliasee: ^2)))\n\
                ^2 = gv: (guid: 2)\n";
    for (version, _) in VERSIONS {
        assert!(assembled(text.as_bytes(), version).unwrap_err().contains("alias"));
    }
}

/// Without symbols and flags there is no summary to write.
#[test]
fn a_number_of_blocks_alone_is_not_written() {
    for (version, _) in VERSIONS {
        let with = assembled(b"source_filename = \"a\"\n^0 = blockcount: 7\n", version).unwrap();
        assert!(with == assembled(b"source_filename = \"a\"\n", version).unwrap());
    }
}
