//! Hostile DXContainers and YAML: each is rejected or parsed, in limited time and memory, and the fault is reported.

mod counting;

use counting::Counting;
use std::time::{Duration, Instant};
use unshade_core::Diagnostics;
use unshade_dxcontainer::bytes::Bytes;
use unshade_dxcontainer::file::OwnedPart;
use unshade_dxcontainer::part::PartData;
use unshade_dxcontainer::rdat::{Rdat, RdatContent, RdatKind, RdatPart, Row, Table};
use unshade_dxcontainer::{Container, DxFile, document, verify};
use unshade_tests::dxcontainers::{self, exercise};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Maximum duration of any operation, in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum bytes of memory per byte of input, in addition to a megabyte.
const RATIO: u64 = 96;

/// Runs an operation that must end soon and use limited memory.
fn bounded<T>(what: &str, size: usize, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let (result, peak) = counting::peak(work);
    assert!(start.elapsed() < PATIENCE, "{what}: {:?}", start.elapsed());
    let limit = RATIO * size as u64 + (1 << 20);
    assert!(peak <= limit, "{what}: {peak} bytes of memory for {size}, more than {limit}");
    result
}

/// Calls the whole API on a file. Returns the rules that it violates.
fn survive(what: &str, data: &[u8]) -> Vec<&'static str> {
    let faults = bounded(what, data.len(), || exercise(data, true));
    assert!(faults.is_empty(), "{what}: {faults:#?}");
    let container = Container::parse(data).unwrap_or_else(|error| panic!("{what}: {error}"));
    let findings = verify::container(&container);
    assert!(findings.len() <= Diagnostics::LIMIT, "{what}: {} findings", findings.len());
    findings.iter().map(|finding| finding.rule).collect()
}

fn expect(what: &str, data: &[u8], rule: &str) {
    let rules = survive(what, data);
    assert!(rules.contains(&rule), "{what}: {rules:?}");
}

fn fixture(name: &str) -> Vec<u8> {
    let found = dxcontainers::all().into_iter().find(|fixture| fixture.name == name);
    found.unwrap_or_else(|| panic!("no fixture {name}")).data
}

/// Builds a container of parts.
fn container(parts: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut file = DxFile::default();
    for (name, bytes) in parts {
        file.parts.push(OwnedPart::new(**name, PartData::Raw(Bytes(bytes.to_vec()))));
    }
    file.write().expect("bytes can always be written")
}

fn put(data: &mut [u8], at: usize, value: u32) {
    data[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn get(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(data[at..at + 4].try_into().expect("four bytes"))
}

/// Returns the position of the content of a part.
fn part_start(data: &[u8], name: &[u8; 4]) -> usize {
    let container = Container::parse(data).expect("a valid container");
    container.find(name).expect("the part").offset as usize + 8
}

#[test]
fn files_that_are_not_containers() {
    for data in [&b""[..], b"DXB", b"DXBC", b"BCDX............................", &[0; 64], &[0xff; 64]] {
        assert!(Container::parse(data).is_err() && DxFile::parse(data).is_err());
        bounded("no container", data.len(), || exercise(data, true));
    }
    // A directory that is larger than the file.
    let mut data = container(&[(b"SFI0", &[0; 8])]);
    put(&mut data, 28, u32::MAX);
    assert!(
        Container::parse(&data)
            .unwrap_err()
            .to_string()
            .contains("directory extends past the end of the file")
    );
    // The smallest one has no parts.
    expect("no parts", &container(&[]), "dx-digest");
}

#[test]
fn a_part_beyond_the_end_or_in_the_header() {
    let sound = container(&[(b"SFI0", &[0; 8]), (b"PRIV", b"abc")]);
    for offset in
        [0x7fff_ffff, u32::MAX, u32::MAX - 7, sound.len() as u32, sound.len() as u32 - 7, 0, 4, 32, 36]
    {
        let mut data = sound.clone();
        put(&mut data, 36, offset);
        expect(&format!("a part at {offset:#x}"), &data, "dx-part-range");
    }
}

#[test]
fn parts_that_overlap() {
    let mut data = container(&[(b"SFI0", &[0; 8]), (b"PRIV", b"abc")]);
    let first = get(&data, 32);
    put(&mut data, 36, first);
    expect("two parts at the same offset", &data, "dx-part-overlap");
    put(&mut data, 36, first + 4);
    expect("a part in a part", &data, "dx-part-overlap");
}

#[test]
fn sizes_that_overflow() {
    let sound = container(&[(b"SFI0", &[0; 8]), (b"PRIV", b"abc")]);
    for size in [u32::MAX, u32::MAX - 7, 0x8000_0000, 12] {
        let mut data = sound.clone();
        let at = get(&data, 36) as usize + 4;
        put(&mut data, at, size);
        expect(&format!("a part of {size:#x} bytes"), &data, "dx-part-range");
        let mut data = sound.clone();
        put(&mut data, 24, size);
        expect(&format!("a container of {size:#x} bytes"), &data, "dx-size");
    }
}

#[test]
fn a_million_parts() {
    // Each part is empty.
    let count = 1_000_000u32;
    let mut data = container(&[]);
    put(&mut data, 28, count);
    let start = 32 + 4 * count;
    (0..count).for_each(|index| data.extend((start + 8 * index).to_le_bytes()));
    (0..count).for_each(|_| data.extend(b"PRIV\0\0\0\0"));
    let size = data.len() as u32;
    put(&mut data, 24, size);
    let parsed = Container::parse(&data).unwrap();
    assert_eq!(parsed.found_parts().count(), count as usize);
    let findings = bounded("a million parts", data.len(), || verify::container(&parsed));
    assert!(findings.len() <= Diagnostics::LIMIT);
    bounded("a million parts", data.len(), || DxFile::parse(&data).unwrap().write().unwrap() == data);
    // All are the same part of one megabyte: together they would be a terabyte.
    let mut data = container(&[(b"PRIV", &vec![7; 1 << 20])]);
    data.splice(36..36, (1..count).flat_map(|_| (start).to_le_bytes()));
    put(&mut data, 28, count);
    put(&mut data, 32, start);
    let parsed = Container::parse(&data).unwrap();
    bounded("a terabyte of parts", data.len(), || verify::container(&parsed));
    assert!(bounded("a terabyte of parts", data.len(), || DxFile::parse(&data)).is_err());
}

#[test]
fn sizes_of_runtime_information_between_known_sizes() {
    let sound = fixture("compute");
    let at = part_start(&sound, b"PSV0");
    for size in (0..=200).chain([u32::MAX, 0x7fff_ffff]) {
        let mut data = sound.clone();
        put(&mut data, at, size);
        survive(&format!("{size} bytes of runtime information"), &data);
    }
}

#[test]
fn every_word_of_every_part_at_limit_values() {
    for fixture in dxcontainers::all() {
        for part in Container::parse(&fixture.data).unwrap().found_parts() {
            let start = part.offset as usize + 8;
            let mut data = fixture.data.clone();
            for at in (start..start + part.data.data().len().min(400)).step_by(4) {
                if at + 4 > data.len() {
                    break;
                }
                let kept = get(&data, at);
                for value in [0x7fff_ffff, u32::MAX] {
                    put(&mut data, at, value);
                    let faults = exercise(&data, false);
                    assert!(faults.is_empty(), "{} {} at {at:#x}: {faults:?}", fixture.name, part.name);
                }
                put(&mut data, at, kept);
            }
        }
    }
}

#[test]
fn indices_of_psv_tables_out_of_range() {
    let sound = fixture("view_id");
    let at = part_start(&sound, b"PSV0");
    // The runtime information is followed by no resources, the texts, the semantic indices and the elements.
    let info = get(&sound, at) as usize;
    let mut place = at + 4 + info;
    let resources = get(&sound, place) as usize;
    place += 4 + if resources > 0 { 4 + resources * get(&sound, place + 4) as usize } else { 0 };
    place += 4 + get(&sound, place) as usize;
    let count = get(&sound, place) as usize;
    let elements = place + 4 + 4 * count + 4;
    for (what, offset) in [("a name", 0), ("indices", 4)] {
        let mut data = sound.clone();
        put(&mut data, elements + offset, 0x00ff_ffff);
        expect(&format!("{what} out of range"), &data, "dx-psv");
    }
    let mut data = sound;
    put(&mut data, place, u32::MAX);
    expect("an endless table of indices", &data, "dx-part-form");
}

#[test]
fn texts_without_a_terminator() {
    // A signature of one element whose name is at the end of the part.
    let mut element = vec![1, 0, 0, 0, 8, 0, 0, 0];
    element.extend([0, 0, 0, 0, 40, 0, 0, 0]);
    element.resize(40, 0);
    element.extend(b"NAME");
    expect("a signature", &container(&[(b"ISG1", &element)]), "dx-part-form");
    expect("the name of a file", &container(&[(b"ILDN", b"\0\0\x04\0name")]), "dx-info");
    let mut version = vec![1, 0, 9, 0];
    version.extend([0; 8]);
    version.extend(4u32.to_le_bytes());
    version.extend(b"text");
    survive("a version", &container(&[(b"VERS", &version)]));
    let rdat = library(b"no end!!", Vec::new(), vec![vec![4, 4, NULL, NULL]]);
    expect("runtime data", &container(&[(b"RDAT", &written(rdat))]), "dx-rdat");
}

const NULL: u32 = u32::MAX;

/// Builds RDAT with functions.
fn library(strings: &[u8], indices: Vec<u32>, functions: Vec<Vec<u32>>) -> Rdat {
    let rows = functions.into_iter().map(|mut values| {
        values.resize(11, 0);
        Row { values, extra: Bytes::default() }
    });
    let part = |kind, content| RdatPart { offset: 0, kind, content };
    Rdat::new(vec![
        part(RdatKind::STRING_BUFFER, RdatContent::Strings(Bytes(strings.to_vec()))),
        part(
            RdatKind::FUNCTION_TABLE,
            RdatContent::Table(Table { stride: 44, rows: rows.collect(), tail: Bytes::default() }),
        ),
        part(RdatKind::INDEX_ARRAYS, RdatContent::Indices(indices)),
    ])
}

fn written(rdat: Rdat) -> Vec<u8> {
    PartData::Rdat(rdat).write().expect("a valid RDAT")
}

#[test]
fn circular_references_in_runtime_data() {
    // A list that contains itself, as records and as texts, and a table that refers to itself through others.
    let rdat = library(b"\0\0\0\0", vec![3, 0, 0, 0], vec![vec![0, 0, 0, 0]; 3]);
    survive("lists", &container(&[(b"RDAT", &written(rdat))]));
    let row = |values: &[u32]| Row { values: values.to_vec(), extra: Bytes::default() };
    let table =
        |stride, row: Row| RdatContent::Table(Table { stride, rows: vec![row; 2], tail: Bytes::default() });
    let part = |kind, content| RdatPart { offset: 0, kind, content };
    let mut parts = library(b"\0\0\0\0", vec![2, 0, 1], Vec::new()).parts;
    parts.push(part(RdatKind::NODE_SHADER_INFO_TABLE, table(20, row(&[1, 0, 0, 0, 0]))));
    parts.push(part(RdatKind::IO_NODE_TABLE, table(8, row(&[0, 0]))));
    parts.push(part(RdatKind::NODE_SHADER_IO_ATTRIB_TABLE, table(8, row(&[1, 1]))));
    parts.push(part(RdatKind::NODE_SHADER_FUNC_ATTRIB_TABLE, table(8, row(&[3, 1]))));
    parts.push(part(RdatKind::NODE_ID_TABLE, table(8, row(&[0, 0]))));
    survive("tables", &container(&[(b"RDAT", &written(Rdat::new(parts)))]));
}

#[test]
fn a_thousand_functions_that_share_a_long_list() {
    let mut indices = vec![10_000];
    indices.resize(10_001, 0);
    let rdat = library(b"\0\0\0\0", indices, vec![vec![0, 0, 0, 0]; 1_000]);
    survive("resources", &container(&[(b"RDAT", &written(rdat))]));
    let name = [vec![0], vec![b'a'; 50_000], vec![0; 3]].concat();
    let rdat = library(&name, Vec::new(), vec![vec![1, 1, NULL, NULL]; 1_000]);
    survive("names", &container(&[(b"RDAT", &written(rdat))]));
}

#[test]
fn types_that_are_their_own_members() {
    let sound = fixture("fxc_ps_5_1");
    let at = part_start(&sound, b"RDEF");
    let size = get(&sound, at - 4) as usize;
    // Every word that could be an offset of a type or its members refers to one of them.
    for target in (0..size).step_by(4) {
        for place in (0..size).step_by(4).filter(|place| get(&sound, at + place) as usize == target) {
            for other in [place, place.saturating_sub(4), place.saturating_sub(12), target.saturating_sub(36)]
            {
                let mut data = sound.clone();
                put(&mut data, at + place, other as u32);
                let faults = bounded("types", data.len(), || exercise(&data, false));
                assert!(faults.is_empty(), "{place:#x} refers to {other:#x}: {faults:?}");
            }
        }
    }
}

#[test]
fn sources_that_inflate_endlessly() {
    let sound = fixture("sources");
    let mut file = DxFile::parse(&sound).unwrap();
    for part in &mut file.parts {
        let PartData::Sources(sources) = &mut part.data else { continue };
        for section in &mut sources.sections {
            let unshade_dxcontainer::source_info::SectionContent::Contents(contents) = &mut section.content
            else {
                continue;
            };
            let mut header = contents.header.clone();
            header.compression = unshade_dxcontainer::source_info::Compression::ZLIB;
            let entry = contents.entries().unwrap().remove(0);
            let text = unshade_dxcontainer::bytes::Text(vec![b' '; 64 << 20]);
            let mut bomb = unshade_dxcontainer::source_info::Content { text, ..entry };
            bomb.tail = Bytes(vec![0; 4]);
            bomb.entry.length = (64 << 20) + 1;
            bomb.entry.size = (64 << 20) + 16;
            *contents = unshade_dxcontainer::source_info::Contents::store(header, &[bomb]);
        }
        sources.lay_out();
    }
    let data = file.write().unwrap();
    assert!(data.len() < 200_000, "{}", data.len());
    let file = DxFile::parse(&data).unwrap();
    // The document contains them compressed.
    let text = bounded("sources as YAML", data.len(), || document::to_yaml(&file)).unwrap();
    assert_eq!(document::from_yaml(&text).unwrap().write().unwrap(), data);
    let start = Instant::now();
    verify::container(&Container::parse(&data).unwrap());
    assert!(start.elapsed() < PATIENCE);
}

#[test]
fn nested_containers() {
    let mut data = container(&[(b"SFI0", &[0; 8])]);
    for _ in 0..1_000 {
        data = container(&[(b"LIBF", &data)]);
    }
    expect("a thousand nested containers", &data, "dx-part-form");
}

#[test]
fn yaml_that_expands_or_has_invalid_values() {
    let part = |content: &str| {
        format!("--- !dxcontainer\nHeader:\n  Version: {{Major: 1, Minor: 0}}\nParts:\n{content}...\n")
    };
    let many = "  - Name: ABCD\n    Size: 1048576\n".repeat(10_000);
    for (what, text, message) in [
        ("anchors", part("  - &a [1, 2]\n  - *a\n"), "line 5, column 5: anchors"),
        ("a key that is an anchor", part("  - Name: &a SFI0\n"), "line 5, column 11: anchors"),
        (
            "endless zeros",
            part("  - Name: ABCD\n    Size: 4294967295\n"),
            "line 5, column 5: parts without contents",
        ),
        ("many zeros", part(&many), "parts without contents are too large"),
        ("a negative size", part("  - Name: ABCD\n    Size: -4294967296\n"), "line 6, column 11"),
        (
            "a byte of 9 bits",
            part("  - Name: HASH\n    Hash: {IncludesSource: false, Digest: [0x1ff]}\n"),
            "line 6",
        ),
        (
            "text for a number",
            part("  - Name: ABCD\n    Size: many\n"),
            "line 6, column 11: wrong kind of value",
        ),
        ("a part twice", part("  - Name: ABCD\n    Name: ABCD\n"), "line 6, column 5: duplicate key"),
        (
            "an unknown key",
            part("  - Name: ABCD\n    Colour: red\n"),
            "line 6, column 13: unknown key `Colour`",
        ),
        ("brackets in brackets", "[".repeat(1_000_000), "nested too deeply"),
        ("lists in lists", "- ".repeat(1_000_000), "nested too deeply"),
        ("keys without end", (0..1_000_000).map(|n| format!("k{n}: 1\n")).collect(), "too many keys"),
        (
            "a quote without an end",
            format!("Parts: \"{}", "a".repeat(1_000_000)),
            "line 1, column 8: unclosed quote",
        ),
    ] {
        let error =
            bounded(what, text.len(), || document::from_yaml(&text).map(|_| ())).unwrap_err().to_string();
        assert!(error.contains(message), "{what}: {error}");
    }
    // A signature whose name is a gigabyte after its table.
    let text = document::to_yaml(&DxFile::parse(&fixture("vkd3d_ps_4_0")).unwrap()).unwrap();
    let at = text.find("        Size:  ").expect("the layout of a signature");
    let end = at + text[at..].find('\n').expect("a line");
    let apart = format!("{}        Size: 1073741824{}", &text[..at], &text[end..]);
    let file = document::from_yaml(&apart).unwrap();
    let error = bounded("a sparse part", apart.len(), || file.write()).unwrap_err().to_string();
    assert!(error.contains("too far apart"), "{error}");
}
