//! Trees of bitcode are written as they were read.

use std::path::PathBuf;
use unshade_llvm::Module;
use unshade_llvm::bitstream::{BitWriter, MAGIC, Scalar, Tail};
use unshade_llvm::print::{self, PrintOptions};
use unshade_llvm::tree::{Block, Definition, Item, NO_CODE, Part, Stream, Tree, UNABBREVIATED};

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

fn text(bytes: &[u8]) -> String {
    let mut text = String::new();
    print::module(&Module::parse(bytes, 0).unwrap(), &PrintOptions::default(), &mut text);
    text
}

/// Returns a wrapper around a stream, with padding before and after it.
fn wrapped(stream: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0x0b17_c0de, 0, 24, stream.len() as u32, 7] {
        file.extend(u32::to_le_bytes(word));
    }
    [&file[..], &[1, 2, 3, 4], stream, &[0; 12]].concat()
}

#[test]
fn every_module_is_written_as_it_was_read() {
    let fixtures = fixtures();
    assert!(fixtures.len() > 12);
    for (name, bytes) in fixtures {
        let tree = Tree::read(&bytes, 0).unwrap();
        assert!(tree.write().unwrap() == bytes, "{name}");
        if bytes.starts_with(&MAGIC) {
            let file = wrapped(&bytes);
            assert!(Tree::read(&file, 0).unwrap().write().unwrap() == file, "{name} in a wrapper");
        }
    }
}

/// Every mutant that is read is written as it is.
#[test]
fn mutants_are_written_as_they_were_read() {
    let (mut read, mut refused) = (0, 0);
    for (name, bytes) in fixtures().into_iter().filter(|(_, bytes)| bytes.len() < 20_000) {
        let step = bytes.len() / 400 + 1;
        for (number, at) in (0..bytes.len()).step_by(step).enumerate() {
            let mut mutant = bytes.clone();
            mutant[at] ^= 1 << (number % 8);
            match Tree::read(&mutant, 0) {
                Ok(tree) => {
                    read += 1;
                    assert!(tree.write().unwrap() == mutant, "{name}, bit {} of byte {at}", number % 8);
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.offset().is_some_and(|offset| offset <= bytes.len() as u64), "{error}");
                }
            }
        }
        for size in (0..bytes.len()).step_by(step) {
            if let Ok(tree) = Tree::read(&bytes[..size], 0) {
                assert!(tree.write().unwrap() == bytes[..size], "{name}, the first {size} bytes");
            }
        }
    }
    assert!(read > 1_000 && refused > 100, "{read} {refused}");
}

/// What no writer would choose is kept: numbers in too many groups, padding that isn't zero, sizes that aren't true, trailing
/// bytes.
#[test]
fn unusual_forms_are_kept() {
    let mut bits = BitWriter::new();
    bits.bytes(&MAGIC);
    bits.fixed(1, 2);
    // Block 8 in two groups, ids of 3 bits, padding of ones, a size of 99 words.
    bits.fixed(8 | 0x80, 8);
    bits.fixed(0, 8);
    bits.fixed(3, 4);
    bits.fixed(0x3ff, 10);
    bits.fixed(99, 32);
    // An abbreviation: code 7, an array of char6; its count in two groups.
    bits.fixed(2, 3);
    bits.fixed(3 | 0x10, 5);
    bits.fixed(0, 5);
    bits.fixed(1, 1);
    bits.variable(7, 8);
    bits.fixed(3 << 1, 4);
    bits.fixed(4 << 1, 4);
    // A record without an abbreviation, with an operand of 70 bits.
    bits.fixed(3, 3);
    bits.variable(9, 6);
    bits.variable(2, 6);
    for _ in 0..13 {
        bits.fixed(0x3f, 6);
    }
    bits.fixed(0x1f, 6);
    bits.variable(5, 6);
    bits.fixed(4, 3);
    bits.variable(2, 6);
    bits.fixed(0, 6);
    bits.fixed(63, 6);
    bits.fixed(0, 3);
    while !bits.position().is_multiple_of(32) {
        bits.fixed(1, 1);
    }
    let mut file = bits.finish();
    file.extend([0, 0, 0, 0, 7]);
    let mut tree = Tree::read(&file, 0).unwrap();
    assert_eq!(tree.write().unwrap(), file);
    let block = tree.blocks_mut().next().unwrap();
    assert_eq!((block.id, block.width, block.words, block.items.len()), (8, 3, Some(99), 3));
    let record = block.record(1).unwrap();
    assert_eq!((record.abbreviation, record.code, record.operands), (UNABBREVIATED, 9, &[u64::MAX, 5][..]));
    let record = block.record(2).unwrap();
    assert_eq!((record.abbreviation, record.code, record.operands), (4, 7, &[97, 95][..]));

    // Only what is changed takes the shortest form. Characters without a char6 need no abbreviation.
    assert!(block.replace(2, 7, &[97, 32]) && !block.replace(0, 7, &[]) && !block.replace(3, 7, &[]));
    let changed = tree.write().unwrap();
    assert_eq!(changed[..20], file[..20]);
    let read = Tree::read(&changed, 0).unwrap();
    let record = read.blocks().next().unwrap().record(2).unwrap();
    assert_eq!((record.abbreviation, record.code, record.operands), (UNABBREVIATED, 7, &[97, 32][..]));
}

/// Bits that were kept are not written where they would mean something else: with ids of another width, or after the
/// abbreviation of their record has changed.
#[test]
fn kept_bits_are_dropped_when_their_meaning_changes() {
    let mut bits = BitWriter::new();
    bits.bytes(&MAGIC);
    bits.fixed(1, 2);
    bits.variable(8, 8);
    bits.variable(3, 4);
    bits.align();
    bits.fixed(3, 32);
    // An abbreviation of a code and a number, and a record whose number is 5 in two groups.
    bits.fixed(2, 3);
    bits.variable(2, 5);
    bits.fixed(1, 1);
    bits.variable(7, 8);
    bits.fixed(2 << 1, 4);
    bits.variable(6, 5);
    bits.fixed(4, 3);
    bits.fixed(5 | 0x20, 6);
    bits.fixed(0, 6);
    bits.fixed(0, 3);
    bits.align();
    bits.fixed(0, 32);
    let file = bits.finish();
    let tree = Tree::read(&file, 0).unwrap();
    assert_eq!(tree.write().unwrap(), file);
    let operands = |tree: &Tree| {
        let read = Tree::read(&tree.write().unwrap(), 0).unwrap();
        read.blocks().next().unwrap().record(1).unwrap().operands.to_vec()
    };
    let mut wider = tree.clone();
    wider.blocks_mut().next().unwrap().width = 9;
    assert_eq!(operands(&wider), [5]);
    let mut changed = tree;
    let fixed = Definition::new(vec![Scalar::Literal(7), Scalar::Fixed(9)], Tail::None);
    changed.blocks_mut().next().unwrap().items[0] = Item::Definition(Box::new(fixed));
    assert_eq!(operands(&changed), [5]);
}

/// A tree that was made is read as it was made.
#[test]
fn a_tree_can_be_made() {
    let mut info = Block::new(0, 2);
    info.push(UNABBREVIATED, 1, &[17]);
    let fixed = Definition::new(vec![Scalar::Fixed(3), Scalar::Variable(6)], Tail::None);
    info.items.push(Item::Definition(Box::new(fixed)));
    let mut inner = Block::new(17, 4);
    inner.push(4, 1, &[1 << 40]);
    inner.push(4, 9, &[2]);
    let mut module = Block::new(8, 3);
    module.items.extend([info, inner].map(|block| Item::Block(Box::new(block))));
    module.insert(0, UNABBREVIATED, 1, &[2]);
    let blob = Definition::new(vec![Scalar::Literal(1)], Tail::Blob);
    module.items.push(Item::Definition(Box::new(blob)));
    let tree = Tree { parts: vec![Part::Stream(Stream { blocks: vec![module.clone()] })] };
    let read = Tree::read(&tree.write().unwrap(), 0).unwrap();
    let found = read.blocks().next().unwrap();
    assert_eq!(found.record(0).unwrap().operands, [2]);
    let inner: Vec<_> = found.blocks().nth(1).unwrap().records().map(|(_, record)| record).collect();
    // Code 9 takes four bits.
    assert_eq!((inner[0].abbreviation, inner[0].operands), (4, &[1 << 40][..]));
    assert_eq!((inner[1].abbreviation, inner[1].code, inner[1].operands), (UNABBREVIATED, 9, &[2][..]));

    // An abbreviation without a place for the code has none in its records.
    let mut coded = module.clone();
    let array = Definition::new(vec![], Tail::Array(Scalar::Fixed(8)));
    coded.items.push(Item::Definition(Box::new(array)));
    coded.push(5, NO_CODE, &[1, 2]);
    coded.push(5, 3, &[1]);
    let tree = Tree { parts: vec![Part::Stream(Stream { blocks: vec![coded.clone()] })] };
    let read = Tree::read(&tree.write().unwrap(), 0).unwrap();
    let records: Vec<_> = read.blocks().next().unwrap().records().map(|(_, record)| record).collect();
    assert_eq!((records[1].abbreviation, records[1].code, records[1].operands), (5, NO_CODE, &[1, 2][..]));
    assert_eq!((records[2].abbreviation, records[2].code, records[2].operands), (UNABBREVIATED, 3, &[1][..]));
    coded.push(5, NO_CODE, &[256]);
    let tree = Tree { parts: vec![Part::Stream(Stream { blocks: vec![coded] })] };
    assert!(tree.write().unwrap_err().to_string().contains("record without a code"));

    module.push(9, 1, &[]);
    let tree = Tree { parts: vec![Part::Stream(Stream { blocks: vec![module] })] };
    let error = tree.write().unwrap_err().to_string();
    assert!(error.contains("unknown abbreviation") && error.contains("item 4 of block 8"), "{error}");
}

/// A symbol is renamed by the blob of the string table.
#[test]
fn a_blob_can_be_replaced() {
    let (_, bytes) = fixtures().into_iter().find(|(name, _)| name.ends_with("air_like.bc")).unwrap();
    let mut tree = Tree::read(&bytes, 0).unwrap();
    let table = tree.blocks_mut().find(|block| block.id == 23).unwrap();
    let (index, names) =
        table.records().find_map(|(index, record)| Some((index, record.blob?.to_vec()))).unwrap();
    assert!(table.replace_blob(index, &names.to_ascii_uppercase()) && !table.replace_blob(9, b""));
    let changed = tree.write().unwrap();
    assert_eq!(changed.len(), bytes.len());
    let name = |text: &str| text.lines().find(|line| line.starts_with("define")).unwrap().to_owned();
    assert_eq!(name(&text(&changed)).to_ascii_uppercase(), name(&text(&bytes)).to_ascii_uppercase());
    assert_ne!(name(&text(&changed)), name(&text(&bytes)));
}

/// Positions are renewed as a writer computes them, and stay as they are if nothing has moved.
#[test]
fn positions_are_renewed() {
    let mut moved = 0;
    for (name, bytes) in fixtures() {
        let sound = |bytes: &[u8]| {
            let findings = unshade_llvm::verify::bitcode(unshade_core::Reader::new(bytes));
            findings.iter().all(|finding| finding.rule != "bitcode-offset")
        };
        if !sound(&bytes) {
            continue;
        }
        let mut tree = Tree::read(&bytes, 0).unwrap();
        tree.renew_positions().unwrap();
        assert!(tree.write().unwrap() == bytes, "{name}");

        // A long name of a section moves everything after it, a node of 99 operands what metadata indexes.
        let module = tree.blocks_mut().find(|block| block.id == 8).unwrap();
        module.insert(0, UNABBREVIATED, 5, &[97; 1000]);
        if let Some(metadata) = module.blocks_mut().find(|block| block.id == 15) {
            let index = metadata.records().find(|(_, record)| record.code == 38).map(|(index, _)| index);
            index.iter().for_each(|index| metadata.insert(index + 1, UNABBREVIATED, 3, &[0; 99]));
        }
        let before = tree.write().unwrap();
        tree.renew_positions().unwrap();
        let after = tree.write().unwrap();
        assert!(sound(&after), "{name}");
        moved += u64::from(!sound(&before));
        assert!(Module::parse(&after, 0).is_ok());
    }
    assert!(moved > 3, "{moved}");
}
