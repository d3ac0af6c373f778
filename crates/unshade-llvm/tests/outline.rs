//! The outline of bitcode: every bit has one field, whatever the file is; its text is that of `llvm-bcanalyzer`.

use std::path::PathBuf;
use unshade_core::outline::{Coverage, Node, TreeBuilder};
use unshade_core::{Diagnostics, Field, OutlineSink, Reader};
use unshade_llvm::outline::{Analyzer, BlockContents, Contents, bitcode, contents};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

/// All fixtures.
fn all() -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "bc"));
    files
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap()))
        .collect()
}

/// Where the bytes are in a file, for tests.
const BASE: u64 = 0x100;

/// What an outline covers.
struct Covered {
    faults: Vec<String>,
    own_bits: u64,
    unknown_bytes: u64,
    diagnostics: Diagnostics,
    contents: Contents,
}

fn covered(bytes: &[u8]) -> Covered {
    let mut coverage = Coverage::starting_at(BASE);
    let mut diagnostics = Diagnostics::new();
    let contents = bitcode(Reader::at(bytes, BASE), &mut coverage, &mut diagnostics);
    let (own_bits, unknown_bytes) = (coverage.own_bits(), coverage.unknown_bytes());
    let faults = coverage.finish(BASE + bytes.len() as u64);
    Covered { faults, own_bits, unknown_bytes, diagnostics, contents }
}

/// Checks what holds for any bytes: every bit has one field, and what is unknown is reported.
fn check(bytes: &[u8], what: &dyn Fn() -> String) -> Covered {
    let covered = covered(bytes);
    assert!(covered.faults.is_empty(), "{}: {:#?}", what(), covered.faults);
    assert_eq!(covered.own_bits, 0, "{}: bits of parents alone", what());
    assert!(
        covered.unknown_bytes == 0 || !covered.diagnostics.is_empty(),
        "{}: unknown without a word",
        what()
    );
    covered
}

fn tree(bytes: &[u8]) -> Vec<Node> {
    let mut tree = TreeBuilder::default();
    bitcode(Reader::new(bytes), &mut tree, &mut Diagnostics::new());
    tree.finish()
}

fn text(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut analyzer = Analyzer::new(&mut text);
    bitcode(Reader::new(bytes), &mut analyzer, &mut Diagnostics::new());
    analyzer.finish().unwrap();
    text
}

/// Finds a field by the names on the way to it.
fn find<'t>(mut nodes: &'t [Node], path: &[&str]) -> &'t Node {
    let mut found = None;
    for name in path {
        let node = nodes.iter().find(|node| node.name == *name);
        found = Some(node.unwrap_or_else(|| panic!("{name} of {path:?}")));
        nodes = &found.unwrap().children;
    }
    found.unwrap()
}

#[test]
fn every_bit_of_every_fixture_has_a_field() {
    let files = all();
    assert!(files.len() > 10);
    for (name, bytes) in files {
        let covered = check(&bytes, &|| name.clone());
        assert!(covered.diagnostics.is_empty(), "{name}: {:?}", covered.diagnostics);
        assert_eq!(covered.unknown_bytes, 0, "{name}");
        assert_eq!(covered.contents, contents(Reader::new(&bytes)), "{name}");
        assert!(covered.contents.unknown.is_empty(), "{name}");
    }
}

#[test]
fn the_text_is_that_of_llvm_bcanalyzer() {
    let theirs = std::fs::read_to_string(folder().join("air_like.bcanalyzer.txt")).unwrap();
    assert_eq!(text(&read("air_like.bc")), theirs);
}

#[test]
fn fields_say_what_they_are() {
    let nodes = tree(&read("air_like.bc"));
    assert_eq!(find(&nodes, &["wrapper header", "CPU type"]).meaning, "any");
    let record = find(&nodes, &["IDENTIFICATION_BLOCK_ID", "STRING"]);
    assert_eq!((record.value.as_str(), record.meaning.as_str()), ("1", "\"LLVM14.0.6\""));
    assert_eq!(record.children[2].name, "array");
    assert_eq!(record.children[2].children[1].name, "op0");
    let definition = find(&nodes, &["IDENTIFICATION_BLOCK_ID", "DEFINE_ABBREV"]);
    let operands: Vec<&str> = definition.children[2..].iter().map(|child| child.meaning.as_str()).collect();
    assert_eq!(operands, ["literal 1", "array", "char6"]);
    assert_eq!(find(&nodes, &["MODULE_BLOCK", "TRIPLE"]).meaning, "\"air64_v26-apple-macosx14.0.0\"");
    let blob = find(&nodes, &["STRTAB_BLOCK", "BLOB", "blob", "bytes"]);
    assert_eq!(
        blob.range.end - blob.range.start,
        find(&nodes, &["STRTAB_BLOCK", "BLOB", "blob", "length"]).value.parse::<u64>().unwrap()
    );
    // Ids of abbreviations share bytes with what is next to them.
    let version = find(&nodes, &["MODULE_BLOCK", "VERSION"]);
    assert_eq!(version.children[0].range, version.range.start..version.range.start + 1);
}

#[test]
fn contents_are_counted() {
    let counted = contents(Reader::new(&read("air_like.bc")));
    assert_eq!(counted.streams, 1);
    let expected =
        BlockContents { instances: 2, sub_blocks: 0, abbreviations: 7, records: 60, abbreviated_records: 11 };
    assert_eq!(counted.blocks[&15], expected);
    let two = contents(Reader::new(&read("two_modules.bc")));
    assert_eq!((two.streams, two.blocks[&8].instances), (1, 2));
}

/// Takes no field inside of blocks.
#[derive(Default)]
struct Shallow {
    depth: usize,
    fields: usize,
}

impl OutlineSink for Shallow {
    fn open(&mut self, _: Field<'_>) {
        self.depth += 1;
        self.fields += 1;
        assert_eq!(self.depth, 1);
    }

    fn close(&mut self) {
        self.depth -= 1;
    }

    fn wants_inside(&self) -> bool {
        false
    }
}

#[test]
fn the_inside_is_left_out_where_it_is_not_wanted() {
    let bytes = read("two_modules.bc");
    let mut sink = Shallow::default();
    let counted = bitcode(Reader::new(&bytes), &mut sink, &mut Diagnostics::new());
    assert_eq!(counted, contents(Reader::new(&bytes)));
    // The magic, two modules with their identification, symbols and strings.
    assert_eq!((sink.depth, sink.fields), (0, 7));
}

#[test]
fn streams_follow_each_other() {
    let (wrapped, bare) = (read("air_like.bc"), read("symbols.bc"));
    let files = [
        [&wrapped[..], &bare[..], &wrapped[..]].concat(),
        [&bare[..], &[0; 16], &wrapped[..], &[0; 5]].concat(),
    ];
    for (file, streams) in files.iter().zip([3, 2]) {
        let covered = check(file, &|| "several".into());
        assert!(covered.diagnostics.is_empty(), "{:?}", covered.diagnostics);
        assert_eq!((covered.contents.streams, covered.unknown_bytes), (streams, 0));
    }
    let trailing = [&bare[..], b"trailing"].concat();
    let covered = check(&trailing, &|| "trailing".into());
    assert_eq!(covered.unknown_bytes, 8);
    assert_eq!(covered.diagnostics.iter().next().unwrap().rule, "bitcode-trailing");
}

#[test]
fn what_is_no_bitcode_is_unknown() {
    for bytes in [
        &b""[..],
        b"M",
        b"BC\xc0",
        b"\xde\xc0\x17\x0b",
        b"BC\xc0\xde",
        b"BC\xc0\xde\x01\x02",
        &[0xff; 300],
        &[0; 9],
    ] {
        check(bytes, &|| format!("{bytes:?}"));
    }
    assert_eq!(covered(&[0xff; 300]).unknown_bytes, 300);
    assert_eq!(covered(&[0; 9]).unknown_bytes, 0);
}

/// A fault in one function leaves the rest of the file readable.
#[test]
fn a_fault_ends_its_block_only() {
    let bytes = read("symbols.bc");
    let nodes = tree(&bytes);
    let body = find(&nodes, &["MODULE_BLOCK", "FUNCTION_BLOCK"]);
    let mut damaged = bytes.clone();
    let start = body.children[0].range.end as usize;
    damaged[start..start + 2].fill(0xff);
    let covered = check(&damaged, &|| "damaged".into());
    assert!(covered.diagnostics.has_errors());
    let after = tree(&damaged);
    let (strings, before) = (find(&after, &["STRTAB_BLOCK"]), find(&nodes, &["STRTAB_BLOCK"]));
    assert_eq!(strings, before);
    assert_eq!(covered.contents.blocks[&12].instances, contents(Reader::new(&bytes)).blocks[&12].instances);
}

#[test]
fn files_cut_off_at_every_byte() {
    for name in ["air_like.bc", "two_modules.bc", "later.bc"] {
        let bytes = read(name);
        for length in (0..bytes.len()).step_by(1 + bytes.len() / 1_500) {
            let covered = check(&bytes[..length], &|| format!("{name} cut off at {length:#x}"));
            let whole = bytes[length..].iter().all(|byte| *byte == 0);
            assert!(whole || length < 4 || covered.diagnostics.len() < 8, "{:?}", covered.diagnostics);
        }
    }
}

#[test]
fn files_with_changed_bytes() {
    for name in ["air_like.bc", "thinlto.bc"] {
        let bytes = read(name);
        let mut changed = bytes.clone();
        for at in (0..bytes.len()).step_by(3) {
            for value in [0xff, bytes[at] ^ 1, bytes[at] ^ 0x80] {
                changed[at] = value;
                check(&changed, &|| format!("{name} with {value:#04x} at {at:#x}"));
                if at % 16 == 0 {
                    let _ = (text(&changed), contents(Reader::new(&changed)));
                }
            }
            changed[at] = bytes[at];
        }
    }
}

/// Arrays whose elements take no bits may claim to be as long as the stream, again and again.
#[test]
fn operands_of_no_bits_are_limited() {
    let mut bits = Vec::new();
    let mut fixed = |value: u64, width: u32| bits.extend((0..width).map(|bit| value >> bit & 1 == 1));
    fixed(u64::from(u32::from_le_bytes(*b"BC\xc0\xde")), 32);
    // ENTER_SUBBLOCK 8, ids of two bits... of three, aligned; its length.
    [(1, 2), (8, 8), (3, 4), (0, 18), (10_000, 32)].iter().for_each(|&(value, width)| fixed(value, width));
    // DEFINE_ABBREV of literal 1 and an array of fixed(0).
    let definition = [(2, 3), (3, 5), (1, 1), (1, 8), (0, 1), (3, 3), (0, 1), (1, 3), (0, 5)];
    definition.iter().for_each(|&(value, width)| fixed(value, width));
    for _ in 0..10_000 {
        // A record of 32,767 elements: vbr6 in four groups.
        [(4, 3), (63, 6), (63, 6), (63, 6), (0, 6)].iter().for_each(|&(value, width)| fixed(value, width));
    }
    let bytes: Vec<u8> =
        bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |all, &bit| all << 1 | u8::from(bit))).collect();
    let covered = check(&bytes, &|| "arrays".into());
    assert!(covered.contents.blocks[&8].records < 100, "{:?}", covered.contents);
    assert!(covered.diagnostics.has_errors());
    // The limit is that of the file, not of each stream.
    let mut small = bytes[..200].to_vec();
    small[8..12].copy_from_slice(&47u32.to_le_bytes());
    let covered = check(&small.repeat(1_000), &|| "streams".into());
    assert_eq!(covered.contents.streams, 1_000);
    assert!(covered.contents.blocks[&8].records < 100, "{:?}", covered.contents);
}
