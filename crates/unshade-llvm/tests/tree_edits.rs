//! Trees are stripped, their symbols renamed, and their records patched.

use std::collections::BTreeSet;
use std::path::PathBuf;
use unshade_core::{Diagnostics, Field, OutlineSink, Reader};
use unshade_llvm::print::{self, Dialect, PrintOptions};
use unshade_llvm::tree::{Patch, PatchedOperand, Tree};
use unshade_llvm::{Module, outline, verify};

/// Returns all modules of the fixtures.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in [here.join("tests/fixtures"), here.join("../../tests/fixtures/air")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "bc") {
                found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

fn findings(bytes: &[u8]) -> Vec<String> {
    verify::bitcode(Reader::new(bytes)).iter().map(|finding| finding.error.message().to_owned()).collect()
}

/// Returns the names of the symbols of all modules, but of intrinsics.
fn names(bytes: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut names = BTreeSet::new();
    for module in Module::parse_all(bytes, 0).unwrap() {
        let module = module.unwrap();
        names.extend(module.globals.into_iter().map(|one| one.symbol.name));
        names.extend(module.functions.into_iter().map(|one| one.symbol.name));
        names.extend(module.aliases.into_iter().map(|one| one.symbol.name));
    }
    names.retain(|name| !name.is_empty() && !name.starts_with(b"llvm."));
    names
}

fn text(bytes: &[u8], dialect: Dialect, name: &str) -> String {
    let mut text = String::new();
    print::module(
        &Module::parse(bytes, 0).unwrap(),
        &PrintOptions { dialect, module_id: Some(name) },
        &mut text,
    );
    text
}

/// Values, metadata and attachments get other numbers, in every kind of record that refers to them.
#[test]
fn what_is_left_is_what_opt_leaves() {
    let bytes = fixture("locations.bc");
    let mut tree = Tree::read(&bytes, 0).unwrap();
    let stripped = tree.strip_debug_info().unwrap();
    assert_eq!((stripped.locations, stripped.variables, stripped.attachments), (19, 5, 4));
    assert_eq!((stripped.metadata, stripped.declarations), (35, 3));
    let written = tree.write().unwrap();
    assert!(findings(&bytes).is_empty() && findings(&written).is_empty(), "{:?}", findings(&written));
    let expected = String::from_utf8(fixture("locations.stripped.19.ll")).unwrap();
    let ours = text(&written, Dialect::Llvm19, "locations.bc");
    for (at, (ours, theirs)) in ours.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", at + 1);
    }
    assert_eq!(ours.len(), expected.len());
    // The names of the declarations are in no table any more.
    assert!(!written.windows(9).any(|window| window == b"llvm.dbg."), "a name is left");
}

#[test]
fn modules_without_debug_information_stay() {
    let mut changed = 0;
    for (name, bytes) in fixtures() {
        let mut tree = Tree::read(&bytes, 0).unwrap();
        let known = findings(&bytes);
        let stripped = match tree.strip_debug_info() {
            Ok(stripped) => stripped,
            Err(error) => panic!("{name}: {error}"),
        };
        let written = tree.write().unwrap();
        assert_eq!(stripped.is_empty(), written == bytes, "{name}");
        changed += u32::from(!stripped.is_empty());
        assert!(
            findings(&written).iter().all(|finding| known.contains(finding)),
            "{name}: {:?}",
            findings(&written)
        );
        assert!(tree.strip_debug_info().unwrap().is_empty(), "{name}: a second time something is left");
    }
    assert_eq!(changed, 9);
}

#[test]
fn symbols_are_renamed_and_back() {
    for (name, bytes) in fixtures() {
        let old: Vec<Vec<u8>> = names(&bytes).into_iter().collect();
        let new: Vec<Vec<u8>> = old.iter().map(|old| [b"another.", old.as_slice()].concat()).collect();
        let pairs: Vec<(&[u8], &[u8])> =
            old.iter().zip(&new).map(|(old, new)| (&old[..], &new[..])).collect();
        let back: Vec<(&[u8], &[u8])> = pairs.iter().map(|(old, new)| (*new, *old)).collect();
        let mut tree = Tree::read(&bytes, 0).unwrap();
        let renamed = tree.rename_symbols(&pairs).unwrap();
        assert!(renamed.symbols.iter().all(|count| *count > 0), "{name}");
        let written = tree.write().unwrap();
        assert_eq!(names(&written), new.iter().cloned().collect(), "{name}");
        let known = findings(&bytes);
        assert!(
            findings(&written).iter().all(|finding| known.contains(finding)),
            "{name}: {:?}",
            findings(&written)
        );
        // The old names are in no table any more; assembly and debug information may have them.
        tree.rename_symbols(&back).unwrap();
        assert!(tree.write().unwrap() == bytes, "{name}: renamed back, it is another file");
    }
}

#[test]
fn names_are_exchanged_and_shared_texts_are_split() {
    let bytes = fixture("locations.bc");
    let mut tree = Tree::read(&bytes, 0).unwrap();
    let renames: [(&[u8], &[u8]); 3] = [(b"after", b"before"), (b"before", b"after"), (b"missing", b"there")];
    let renamed = tree.rename_symbols(&renames).unwrap();
    assert_eq!((renamed.symbols, renamed.in_assembly), (vec![1, 1, 0], false));
    let written = tree.write().unwrap();
    assert!(findings(&written).is_empty());
    let module = Module::parse(&written, 0).unwrap();
    assert!(module.globals.iter().any(|one| one.symbol.name == b"after"));
    assert!(module.functions.iter().any(|one| one.symbol.name == b"before"));

    let refused = |renames: &[(&[u8], &[u8])], expected: &str| {
        let mut tree = Tree::read(&bytes, 0).unwrap();
        let error = tree.rename_symbols(renames).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(&[(b"after", b"loop")], "already named");
    refused(&[(b"after", b"x"), (b"loop", b"x")], "already named");
    refused(&[(b"after", b"x"), (b"after", b"y")], "two new names");
    refused(&[(b"after", b"")], "no name");
    refused(&[(b"after", b"a\0b")], "no name");
    refused(&[(b"llvm.used", b"used")], "LLVM gives a meaning");
}

/// Finds the first field of a name in the outline, which is what `dump` prints.
struct FirstField {
    name: &'static str,
    offset: Option<u64>,
}

impl OutlineSink for FirstField {
    fn open(&mut self, field: Field<'_>) {
        if self.offset.is_none() && field.name == self.name {
            self.offset = Some(field.range.start);
        }
    }

    fn close(&mut self) {}
}

#[test]
fn operands_are_patched() {
    let bytes = fixture("locations.bc");
    let mut triple = FirstField { name: "TRIPLE", offset: None };
    outline::bitcode(Reader::new(&bytes), &mut triple, &mut Diagnostics::new());
    let operand = PatchedOperand::Operand(0);
    let patch = Patch { offset: triple.offset.unwrap(), number: None, operand, value: b'X'.into() };
    let mut tree = Tree::read(&bytes, 0).unwrap();
    assert_eq!(tree.patch(&[patch], 0).unwrap(), [u64::from(b'x')]);
    let written = tree.write().unwrap();
    assert_eq!(Module::parse(&written, 0).unwrap().triple, b"X86_64-unknown-linux-gnu");
    assert!(findings(&written).is_empty(), "the hash is another");
    // The same offset in a larger file.
    let mut tree = Tree::read(&bytes, 0).unwrap();
    tree.patch(&[Patch { offset: patch.offset + 100, ..patch }], 100).unwrap();
    assert!(tree.write().unwrap() == written);

    let refused = |patch: Patch, expected: &str| {
        let mut tree = Tree::read(&bytes, 0).unwrap();
        let before = tree.clone();
        let error = tree.patch(&[patch], 0).unwrap_err().to_string();
        assert!(error.contains(expected) && tree == before, "{error}");
    };
    refused(Patch { offset: 3, number: None, ..patch }, "no record begins here");
    refused(Patch { number: Some(99), ..patch }, "no record begins here");
    refused(Patch { operand: PatchedOperand::Operand(99), ..patch }, "no operand 99");
    refused(Patch { operand: PatchedOperand::Code, value: 1 << 40, ..patch }, "32 bits");
}

#[test]
fn patches_as_text() {
    let patch = |text: &str| text.parse::<Patch>();
    let operand = PatchedOperand::Operand(1);
    assert_eq!(patch("2f4:op1=7").unwrap(), Patch { offset: 0x2f4, number: None, operand, value: 7 });
    assert_eq!(
        patch("0x2f4#2:op1=-1").unwrap(),
        Patch { offset: 0x2f4, number: Some(2), operand, value: u64::MAX }
    );
    let code = Patch { offset: 0x10, number: None, operand: PatchedOperand::Code, value: 0x20 };
    assert_eq!(patch("10:code=0x20").unwrap(), code);
    for text in
        ["", "2f4", "2f4:op1", "2f4=1", "g:op1=1", "1:op=1", "1:x1=1", "1#x:op1=1", "1:op1=", "1:op1=0xg"]
    {
        assert!(patch(text).unwrap_err().to_string().contains("is no patch"), "{text}");
    }
}

/// What is damaged is refused or edited, and what an edit makes can be read as a tree.
#[test]
fn mutants_are_edited_or_refused() {
    let (mut stripped, mut renamed) = (0, 0);
    for (name, bytes) in
        fixtures().into_iter().filter(|(name, _)| name.contains("lo") || name.contains("debug"))
    {
        for (number, at) in (0..bytes.len()).step_by(bytes.len() / 600 + 1).enumerate() {
            let mut mutant = bytes.clone();
            mutant[at] ^= 1 << (number % 8);
            let Ok(tree) = Tree::read(&mutant, 0) else { continue };
            let reads = |tree: &Tree| match tree.write() {
                Ok(written) => assert!(Tree::read(&written, 0).is_ok(), "{name}: byte {at}"),
                Err(error) => panic!("{name}: byte {at}: {error}"),
            };
            let mut edited = tree.clone();
            if edited.strip_debug_info().is_ok() {
                stripped += 1;
                reads(&edited);
            }
            let mut edited = tree.clone();
            if edited.rename_symbols(&[(b"after", b"later"), (b"loop", b"round")]).is_ok() {
                renamed += 1;
                reads(&edited);
            }
        }
    }
    assert!(stripped > 100 && renamed > 500, "{stripped} {renamed}");
}
