//! `verify` and `facts` of the fixtures, sound and changed on purpose.

use std::ops::Range;
use std::path::PathBuf;
use unshade_core::{Diagnostics, Field, OutlineSink, Reader};
use unshade_llvm::facts::{BodySize, ModuleFacts, Wrapper, body_size, functions};
use unshade_llvm::global::Linkage;
use unshade_llvm::verify::{RULES, bitcode};
use unshade_llvm::{FunctionBody, Module, outline};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

/// The bits of all fields, with the names on the way to them.
#[derive(Default)]
struct Fields {
    path: Vec<String>,
    list: Vec<(String, Range<u64>)>,
}

impl OutlineSink for Fields {
    fn open(&mut self, field: Field<'_>) {
        self.path.push(field.name.to_string());
        self.list.push((self.path.join("/"), field.bit_range()));
    }

    fn close(&mut self) {
        self.path.pop();
    }
}

/// Flips the lowest bit of the field at a path, of the `nth` one.
fn flip(bytes: &[u8], path: &str, nth: usize) -> Vec<u8> {
    flip_bit(bytes, path, nth, 0)
}

fn flip_bit(bytes: &[u8], path: &str, nth: usize, bit: u64) -> Vec<u8> {
    let mut fields = Fields::default();
    outline::bitcode(Reader::new(bytes), &mut fields, &mut Diagnostics::new());
    let bits = fields.list.into_iter().filter(|(found, _)| found == path).nth(nth);
    let bit = bits.unwrap_or_else(|| panic!("no {path}")).1.start + bit;
    let mut changed = bytes.to_vec();
    changed[(bit >> 3) as usize] ^= 1 << (bit & 7);
    changed
}

/// The rules that a file breaks, each once.
fn rules(bytes: &[u8]) -> Vec<&'static str> {
    let findings = bitcode(Reader::new(bytes));
    let mut rules: Vec<&str> = findings.iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// Fixtures that are invalid on purpose; see `verify_ir.rs`.
const INVALID: [&str; 5] = [
    "broken_dominance.bc",
    "wrong_subprogram.bc",
    "unstated_debug_info.bc",
    "strict_calls.bc",
    "target_intrinsics.bc",
];

#[test]
fn attributes_that_do_not_fit_are_reported() {
    assert_eq!(rules(&read("strict_calls.bc")), ["ir-dropped"]);
}

#[test]
fn sound_fixtures_have_no_findings() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let is_invalid = INVALID.iter().any(|name| path.ends_with(name));
        if !is_invalid && path.extension().is_some_and(|extension| extension == "bc") {
            let bytes = std::fs::read(&path).unwrap();
            let findings = bitcode(Reader::new(&bytes));
            assert!(findings.is_empty(), "{}: {findings:?}", path.display());
        }
    }
}

#[test]
fn positions_are_compared() {
    let air = read("air_like.bc");
    let offset = |path: &str, nth| rules(&flip(&air, path, nth));
    assert_eq!(offset("MODULE_BLOCK/VSTOFFSET/op0", 0), ["bitcode-offset"]);
    assert_eq!(offset("MODULE_BLOCK/VALUE_SYMTAB/FNENTRY/op1", 0), ["bitcode-offset"]);
    assert_eq!(offset("MODULE_BLOCK/METADATA_BLOCK/INDEX_OFFSET/op0", 0), ["bitcode-offset"]);
    assert_eq!(offset("MODULE_BLOCK/METADATA_BLOCK/INDEX/array/op3", 0), ["bitcode-offset"]);
    // The second module of a stream counts from its own start.
    let two = read("two_modules.bc");
    assert_eq!(rules(&flip(&two, "MODULE_BLOCK/VSTOFFSET/op0", 1)), ["bitcode-offset"]);
}

#[test]
fn hashes_are_compared() {
    // Of the two modules, that for ThinLTO has a hash.
    for name in ["thinlto.bc", "two_modules.bc"] {
        let bytes = read(name);
        assert_eq!(rules(&flip(&bytes, "MODULE_BLOCK/HASH/op2", 0)), ["bitcode-hash"], "{name}");
        let content = "MODULE_BLOCK/SOURCE_FILENAME/array/op1";
        assert_eq!(rules(&flip(&bytes, content, 0)), ["bitcode-hash"], "{name}");
        let name_of_symbol = flip(&bytes, "STRTAB_BLOCK/BLOB/blob/bytes", 0);
        assert!(rules(&name_of_symbol).contains(&"bitcode-hash"), "{name}");
    }
}

#[test]
fn the_symbol_table_is_compared() {
    let bytes = read("air_like.bc");
    // The place of the list of symbols is in the eighth word, the first name in it follows the header.
    for (byte, rule) in [(31, "bitcode-symbols"), (7, "bitcode-symbols")] {
        let changed = flip_bit(&bytes, "SYMTAB_BLOCK/BLOB/blob/bytes", 0, 8 * byte + 6);
        assert_eq!(rules(&changed), [rule], "byte {byte}");
    }
    let name = flip(&bytes, "STRTAB_BLOCK/BLOB/blob/bytes", 0);
    assert!(rules(&name).is_empty(), "both tables share their names");
}

#[test]
fn the_file_around_the_modules() {
    let bytes = read("air_like.bc");
    assert_eq!(rules(&flip(&bytes, "IDENTIFICATION_BLOCK_ID/EPOCH/op0", 0)), ["bitcode-epoch"]);
    assert_eq!(rules(&[&bytes[..], b"more"].concat()), ["bitcode-trailing"]);
    assert_eq!(rules(&flip_bit(&bytes, "wrapper header/size", 0, 30)), ["bitcode-wrapper"]);
    assert_eq!(rules(b"nothing"), ["bitcode-trailing", "llvm-module"]);
    let bare = read("symbols.bc");
    assert_eq!(rules(&[&bare[..], &[0, 0]].concat()), ["bitcode-alignment"]);
    let cut = &bare[..bare.len() - 40];
    assert!(rules(cut).contains(&"bitcode-stream"));
}

#[test]
fn unknown_blocks_and_records_are_reported() {
    // Block 25 becomes 27, its six bits after the id of the abbreviation.
    let bytes = read("air_like.bc");
    let changed = flip_bit(&bytes, "SYMTAB_BLOCK/ENTER_SUBBLOCK/block id", 0, 1);
    assert_eq!(rules(&changed), ["bitcode-unknown"]);
    let findings = bitcode(Reader::new(&changed));
    assert_eq!(findings.iter().next().unwrap().error.message(), "block 27 is unknown");
}

#[test]
fn damage_is_reported_for_every_part_of_a_file() {
    let bytes = read("instructions.bc");
    let mut unseen = 0;
    for at in (0..bytes.len()).step_by(97) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        for finding in &bitcode(Reader::new(&changed)) {
            let known =
                RULES.iter().any(|(rule, _)| *rule == finding.rule) || finding.rule.starts_with("llvm-");
            assert!(known, "{}", finding.rule);
        }
        unseen += usize::from(rules(&changed).is_empty());
    }
    // Most changes make another sound module.
    assert!(unseen * 100 < bytes.len(), "{unseen}");
}

#[test]
fn facts_of_a_kernel() {
    let bytes = read("air_like.bc");
    let wrapper = Wrapper::read(&bytes).unwrap();
    assert_eq!((wrapper.offset, wrapper.size, wrapper.cpu_name()), (20, 0xe38, "any"));
    let module = Module::parse(&bytes, 0x1000).unwrap();
    let facts = ModuleFacts::new(&module);
    assert_eq!(facts.triple, b"air64_v26-apple-macosx14.0.0");
    assert_eq!(facts.source_file.as_deref(), Some(&b"kernel.metal"[..]));
    assert_eq!((facts.version, facts.globals, facts.aliases, facts.hash), (2, 2, 0, None));
    assert!(facts.string_table.is_some() && facts.symbol_table.is_some() && facts.debug.is_none());

    let list = functions(&module);
    let signatures: Vec<&str> = list.iter().map(|function| function.signature.as_str()).collect();
    assert_eq!(signatures.len(), 4);
    assert!(
        signatures[0].starts_with("void @scale(float addrspace(1)*, %struct.Parameters addrspace(2)*, "),
        "{signatures:?}"
    );
    assert!(!list[0].declaration && list[1].declaration && list[1].body.is_none());
    let body = list[0].body.clone().unwrap();
    assert!(
        body.start > 0x1000
            && body.end < 0x1000 + bytes.len() as u64
            && (body.end - body.start).is_multiple_of(4)
    );
    let size = body_size(&module, 0, &mut FunctionBody::default()).unwrap();
    assert_eq!(size, BodySize { blocks: size.blocks, instructions: 21 });
    assert!(body_size(&module, 1, &mut FunctionBody::default()).is_err());
}

#[test]
fn facts_of_other_modules() {
    let bytes = read("debug_info.bc");
    let debug = ModuleFacts::new(&Module::parse(&bytes, 0).unwrap()).debug.unwrap();
    assert!(debug.compile_units >= 1);
    assert_eq!(debug.metadata_version, Some(3));
    let bytes = read("two_modules.bc");
    let modules: Vec<_> = Module::parse_all(&bytes, 0).unwrap().map(Result::unwrap).collect();
    let facts: Vec<_> = modules.iter().map(ModuleFacts::new).collect();
    assert!(facts[0].hash.is_some() && facts.iter().all(|facts| facts.string_table.is_some()));
    assert!(facts.iter().all(|facts| facts.producer.starts_with(b"LLVM19")));
    let linkages: Vec<_> = modules.iter().flat_map(functions).map(|function| function.linkage).collect();
    assert!(linkages.contains(&Linkage::External), "{linkages:?}");
}
