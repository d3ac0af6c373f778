//! A second parser of Metal libraries, for tests only: small, strict, and written from the notes on the format without
//! looking at the parser of the project, so that the writer is not checked by code that shares its mistakes.
//!
//! It checks every rule that all real files follow: sections without gaps, group sizes according to one of the two
//! conventions, offsets that point to the right parts, hashes, padding. It panics at the first violation.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Code and content of a tag.
pub type ReferenceTag = ([u8; 4], Vec<u8>);

/// The contents of a library, as bytes.
#[derive(Debug, Default, PartialEq)]
pub struct ReferenceLibrary {
    /// The first 16 bytes.
    pub head: Vec<u8>,
    /// The functions.
    pub functions: Vec<ReferenceFunction>,
    /// The sections of the header extension, in file order.
    pub sections: Vec<ReferenceTag>,
    /// The UUID.
    pub uuid: Option<Vec<u8>>,
}

/// A function, with all parts that it refers to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReferenceFunction {
    /// The name.
    pub name: Vec<u8>,
    /// The tags that are not offsets, in order.
    pub tags: Vec<ReferenceTag>,
    /// The tags of its public metadata.
    pub public: Vec<u8>,
    /// The tags of its private metadata.
    pub private: Vec<u8>,
    /// The module, with wrapper and padding.
    pub module: Vec<u8>,
    /// The source archive.
    pub source: Option<Vec<u8>>,
    /// The flatbuffer.
    pub reflection: Option<Vec<u8>>,
}

/// Parses a library.
///
/// # Panics
/// If it violates a rule.
pub fn read(file: &[u8]) -> ReferenceLibrary {
    let section_at = |at| (number(file, at, 8), number(file, at + 8, 8));
    assert_eq!(&file[..4], b"MTLB");
    assert_eq!(number(file, 16, 8), file.len(), "file size in the header");
    let [list, public, private, bitcode] = [24, 40, 56, 72].map(section_at);
    assert_eq!(list.0, 88, "the function list follows the header");
    let list_end = list.0 + 4 + list.1;

    // The bytes between the function list and the public metadata are the extension.
    let mut named = Vec::new();
    let mut library = ReferenceLibrary { head: file[..16].to_vec(), ..ReferenceLibrary::default() };
    if public.0 > list_end {
        let (tags, end) = tags(file, list_end);
        assert_eq!(end, public.0, "the extension ends where public metadata begins");
        for (code, content) in tags {
            match &code {
                b"UUID" => library.uuid = Some(content),
                b"HSRC" | b"HSRD" | b"HSRP" | b"HDYN" | b"VLST" | b"ILST" | b"RLST" | b"SLST" => {
                    named.push((code, (number(&content, 0, 8), number(&content, 8, 8))));
                }
                _ => {}
            }
        }
    }
    let mut at = public.0;
    for (offset, size) in [public, private, bitcode].into_iter().chain(named.iter().map(|(_, place)| *place))
    {
        assert_eq!(offset, at, "sections follow each other");
        at += size;
    }
    assert_eq!(at, file.len(), "the last section ends with the file");
    for (code, (offset, size)) in &named {
        library.sections.push((*code, file[*offset..offset + size].to_vec()));
    }
    let find =
        |codes: &[&[u8; 4]]| named.iter().find(|(code, _)| codes.contains(&code)).map(|(_, place)| *place);
    let sources = find(&[b"HSRC", b"HSRD"]);
    let reflections = find(&[b"RLST"]);
    check_lists(file, &named);

    let count = number(file, list.0, 4);
    let mut at = list.0 + 4;
    let mut group_sizes = Vec::new();
    let mut covered = BTreeMap::new();
    for index in 0..count {
        let size = number(file, at, 4);
        let (tags, end) = tags(file, at + 4);
        assert_eq!(at + size, end, "function {index}: its size includes itself");
        at = end;
        let tag = |code: &[u8; 4]| tags.iter().find(|(name, _)| name == code).map(|(_, content)| content);
        let offsets = tag(b"OFFT").expect("OFFT");
        let name = tag(b"NAME").expect("NAME");
        assert_eq!(
            name.iter().position(|byte| *byte == 0),
            Some(name.len() - 1),
            "a name ends with its only NUL"
        );
        let module_at = bitcode.0 + number(offsets, 16, 8);
        let module_size = match tag(b"MDSZ") {
            Some(size) => number(size, 0, 8),
            None => (number(file, module_at + 8, 4) + number(file, module_at + 12, 4)).next_multiple_of(16),
        };
        let module = &file[module_at..module_at + module_size];
        assert!(
            module_at + module_size <= bitcode.0 + bitcode.1,
            "function {index}: module inside its section"
        );
        assert_eq!(tag(b"HASH").expect("HASH"), Sha256::digest(module).as_slice(), "function {index}: hash");
        covered.insert(module_at, module_size);
        let mut function = ReferenceFunction {
            name: name[..name.len() - 1].to_vec(),
            module: module.to_vec(),
            ..ReferenceFunction::default()
        };
        function.public = group(file, public, number(offsets, 0, 8), &mut group_sizes);
        function.private = group(file, private, number(offsets, 8, 8), &mut group_sizes);
        function.source =
            tag(b"SOFF").map(|offset| archive(file, sources.expect("sources"), number(offset, 0, 8)));
        function.reflection =
            tag(b"RFLT").map(|offset| flatbuffer(file, reflections.expect("RLST"), number(offset, 0, 8)));
        let is_offset = |code: &[u8; 4]| matches!(code, b"OFFT" | b"SOFF" | b"RFLT");
        function.tags = tags.iter().filter(|(code, _)| !is_offset(code)).cloned().collect();
        library.functions.push(function);
    }
    assert_eq!(at, list_end, "the function list ends with its last group");
    assert!(group_sizes.windows(2).all(|pair| pair[0] == pair[1]), "all group sizes follow the same rule");
    let mut next = bitcode.0;
    for (start, size) in covered {
        // A few old files have a zero byte between modules.
        assert!(start - next <= 1, "modules follow each other");
        next = start + size;
    }
    assert!(count == 0 || bitcode.0 + bitcode.1 - next <= 1, "the last module ends the section");
    library
}

fn number(bytes: &[u8], at: usize, width: usize) -> usize {
    bytes[at..at + width].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Returns the tags up to ENDT, and the position after it.
fn tags(file: &[u8], mut at: usize) -> (Vec<ReferenceTag>, usize) {
    let mut tags = Vec::new();
    loop {
        let code: [u8; 4] = file[at..at + 4].try_into().expect("four bytes");
        at += 4;
        if &code == b"ENDT" {
            return (tags, at);
        }
        let width = if matches!(&code, b"SARC" | b"RBUF" | b"RBUZ" | b"SBUF") { 4 } else { 2 };
        let size = number(file, at, width);
        at += width;
        tags.push((code, file[at..at + size].to_vec()));
        at += size;
    }
}

/// Returns the tags of a metadata group. Appends to `rules` whether its size includes itself.
fn group(file: &[u8], section: (usize, usize), offset: usize, rules: &mut Vec<bool>) -> Vec<u8> {
    let start = section.0 + offset;
    let size = number(file, start, 4);
    let (_, end) = tags(file, start + 4);
    assert!(end <= section.0 + section.1, "group inside its section");
    let excess = end - start - size;
    assert!(excess == 0 || excess == 4, "size of a metadata group");
    rules.push(excess == 0);
    file[start + 4..end - 4].to_vec()
}

/// Returns the archive at the code of a `SARC`.
fn archive(file: &[u8], section: (usize, usize), offset: usize) -> Vec<u8> {
    let at = section.0 + offset;
    assert_eq!(&file[at..at + 4], b"SARC", "SOFF points to SARC");
    let (tags, end) = tags(file, at);
    assert_eq!(number(file, at - 4, 4), end - at, "the size of an archive does not include itself");
    assert!(tags[0].1.windows(3).any(|start| start == b"BZh"), "a bzip2 stream");
    tags[0].1.clone()
}

/// Returns the flatbuffer of a group of the reflection list.
fn flatbuffer(file: &[u8], section: (usize, usize), offset: usize) -> Vec<u8> {
    let at = section.0 + offset;
    let (tags, end) = tags(file, at + 4);
    assert_eq!(number(file, at, 4), end - at, "the size of a reflection includes itself");
    assert_eq!(&tags[0].0, b"RBUF");
    let payload = &tags[0].1;
    let start = at + 12;
    let padding = start.next_multiple_of(16) - start;
    assert!(payload[..padding].iter().all(|byte| *byte == 0), "zeros before the flatbuffer");
    assert_eq!(&payload[padding + 4..padding + 8], b"AIRR", "the flatbuffer starts at a multiple of 16");
    payload[padding..].to_vec()
}

/// Checks that lists have the declared number of groups, that group sizes include themselves, and that nothing follows.
fn check_lists(file: &[u8], named: &[([u8; 4], (usize, usize))]) {
    for (code, (offset, size)) in named {
        let end = offset + size;
        match code {
            b"VLST" | b"ILST" | b"RLST" | b"SLST" => {
                let mut at = offset + 4;
                for _ in 0..number(file, *offset, 4) {
                    let (_, next) = tags(file, at + 4);
                    assert_eq!(at + number(file, at, 4), next, "size of a group in a list");
                    at = next;
                }
                assert_eq!(at, end, "a list ends with its section");
            }
            b"HDYN" | b"HSRP" => assert_eq!(tags(file, *offset).1, end, "tags end with their section"),
            _ => {
                let strings = if code == b"HSRD" { 2 } else { 1 };
                let mut at = offset + 4;
                for _ in 0..strings {
                    at += file[at..].iter().position(|byte| *byte == 0).expect("a NUL") + 1;
                }
                for _ in 0..number(file, *offset, 4) {
                    at = tags(file, at + 4).1;
                }
                assert_eq!(at, end, "sources end with their section");
            }
        }
    }
}
