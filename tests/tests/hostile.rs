//! Files made by hand to attack a parser.

use std::time::{Duration, Instant};
use unshade_core::ErrorKind;
use unshade_metallib::{Library, verify};
use unshade_tests::exercise::{self, Report};
use unshade_tests::metallib_builder::{
    Built, Dialect, DynamicSpec, FunctionSpec, LibrarySpec, ModuleSpec, RawTag, function_type,
    with_function_list,
};
use unshade_tests::{corpus, reflections};

/// Maximum duration of a test on a slow machine without optimisation: anything quadratic takes minutes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Calls the whole API on a file in limited time, and expects a valid outline.
fn survive(what: &str, data: &[u8]) -> Report {
    let start = Instant::now();
    let seen = exercise::any(data).unwrap_or_else(|| panic!("{what}: no library"));
    assert!(start.elapsed() < PATIENCE, "{what}: {:?}", start.elapsed());
    assert!(seen.outline_faults.is_empty(), "{what}: {:#?}", seen.outline_faults);
    seen
}

fn has_rule(seen: &Report, rule: &str) -> bool {
    seen.findings.iter().any(|finding| finding.rule == rule)
}

fn kernel(name: &str) -> FunctionSpec {
    FunctionSpec::new(name, function_type::KERNEL)
}

fn module() -> ModuleSpec {
    ModuleSpec { text: None, bitcode: b"BC\xc0\xde".repeat(5), padded: true, stray_bytes: Vec::new() }
}

/// Builds a library with content in every part.
fn full() -> Built {
    let mut spec = LibrarySpec::new(Dialect::Linker, 9)
        .with(kernel("first"), module())
        .reflecting(reflections::kernel("first", 4))
        .with(kernel("second"), module());
    spec.imported_symbols = vec![b"_Z3one".to_vec(), b"_Z3two".to_vec()];
    spec.exported_variables = vec![b"_Z5three".to_vec()];
    spec.scripts = vec![b"script".to_vec()];
    spec.dynamic = Some(DynamicSpec { name: Some(b"name".to_vec()), linked: vec![b"other".to_vec()] });
    spec.build()
}

#[test]
fn not_a_library() {
    let error = Library::parse(b"MTLIB...").expect_err("another magic");
    assert_eq!(error.kind(), ErrorKind::BadMagic);
    for file in corpus::smallest_libraries(1, "a file that is no library", |data| data.len() == 8) {
        let error = Library::parse(&file.data).expect_err("another magic");
        assert_eq!(error.kind(), ErrorKind::BadMagic, "{}", file.name);
    }
    assert_eq!(Library::parse(b"").expect_err("no data").kind(), ErrorKind::Truncated);
    assert_eq!(Library::parse(b"MTLB").expect_err("only a magic number").kind(), ErrorKind::Truncated);
}

#[test]
fn the_smallest_library_is_valid() {
    let built = LibrarySpec::new(Dialect::Linker, 2).build();
    assert_eq!(built.bytes.len(), 92);
    let library = Library::parse(&built.bytes).expect("a library");
    assert!(verify::library(&library).is_empty());
    for file in corpus::smallest_libraries(1, "the smallest library", |data| data.len() == 92) {
        assert!(verify::library(&Library::parse(&file.data).expect("a library")).is_empty(), "{}", file.name);
    }
}

#[test]
fn every_number_at_limit_values() {
    let built = full();
    for field in &built.fields {
        for value in [u64::MAX, u64::MAX - 3, 1 << 63, u64::MAX >> 1, 0] {
            let mut data = built.bytes.clone();
            data[field.clone()].copy_from_slice(&value.to_le_bytes()[..field.len()]);
            survive(&format!("{value:#x} at {field:x?}"), &data);
        }
    }
}

#[test]
fn sizes_that_overflow() {
    let built = full();
    // Offset and size of a section whose sum overflows.
    for section in [24, 40, 56, 72] {
        let mut data = built.bytes.clone();
        data[section..section + 16].fill(0xff);
        let seen = survive("a section at the end of all numbers", &data);
        assert!(has_rule(&seen, "section-range"), "{:#?}", seen.findings);
    }
}

#[test]
fn missing_endt_tags() {
    let built = full();
    for at in 0..built.bytes.len() - 4 {
        if &built.bytes[at..at + 4] == b"ENDT" {
            let mut data = built.bytes.clone();
            data[at..at + 4].copy_from_slice(b"ENDX");
            let seen = survive("a run of tags without ENDT", &data);
            assert!(!seen.findings.is_empty(), "missing ENDT at {at:#x} was not reported");
        }
    }
}

#[test]
fn sections_that_overlap() {
    let built = full();
    for section in [40, 56, 72] {
        let mut data = built.bytes.clone();
        // Move all sections to the function list.
        data[section..section + 8].copy_from_slice(&88u64.to_le_bytes());
        let seen = survive("overlapping sections", &data);
        assert!(has_rule(&seen, "section-overlap"), "{:#?}", seen.findings);
    }
    let (code, _) = &built.named_sections[0];
    let place = built.bytes.windows(4).position(|window| window == code).expect("the section's tag") + 6;
    let mut data = built.bytes;
    data[place..place + 8].copy_from_slice(&0u64.to_le_bytes());
    let seen = survive("a section over the header", &data);
    assert!(has_rule(&seen, "section-overlap"), "{:#?}", seen.findings);
}

#[test]
fn a_hundred_thousand_functions_that_share_a_module() {
    let mut spec = LibrarySpec::new(Dialect::Linker, 7).with(kernel("f0"), module());
    spec.modules[0].bitcode.resize(100_000, 7);
    spec.functions = (0..100_000).map(|index| kernel(&format!("f{index}"))).collect();
    let data = spec.build().bytes;
    let seen = survive("functions that share a module", &data);
    assert_eq!(seen.functions, 100_000);
    assert!(seen.findings.is_empty(), "{:#?}", seen.findings.iter().next());

    // The same with a damaged module: every function has a wrong hash, and the list of findings stays short.
    let mut damaged = data;
    *damaged.last_mut().expect("a byte") ^= 1;
    let seen = survive("functions that share a damaged module", &damaged);
    assert_eq!(seen.findings.errors(), 100_000);
    assert!(seen.findings.len() <= unshade_core::Diagnostics::LIMIT);
}

#[test]
fn modules_that_overlap() {
    // Each module starts four bytes after the previous one and extends to the end.
    let mut spec = LibrarySpec::new(Dialect::Linker, 7).with(kernel("f0"), module());
    spec.modules[0].bitcode.resize(40_000, 7);
    spec.functions = (0..8_000).map(|index| kernel(&format!("f{index}"))).collect();
    let built = spec.build();
    let mut data = built.bytes.clone();
    for (index, group) in built.functions.iter().enumerate() {
        let offset = 4 * index as u64;
        let size = built.modules[0].len() as u64 - offset;
        let tag = |code: &[u8]| {
            group.start + data[group.clone()].windows(4).position(|window| window == code).expect("a tag") + 6
        };
        let (offsets, module_size) = (tag(b"OFFT"), tag(b"MDSZ"));
        data[offsets + 16..offsets + 24].copy_from_slice(&offset.to_le_bytes());
        data[module_size..module_size + 8].copy_from_slice(&size.to_le_bytes());
    }
    let seen = survive("modules that overlap", &data);
    assert!(has_rule(&seen, "module-overlap") && has_rule(&seen, "verify-limit"));
}

#[test]
fn unlimited_counts() {
    survive("no function of many", &with_function_list(u32::MAX, b""));
    survive("groups of four bytes", &with_function_list(u32::MAX, &b"\x04\0\0\0".repeat(50_000)));
    survive("groups of zero bytes", &with_function_list(u32::MAX, &[0; 1000]));
    // A group that continues with a truncated name: the iteration must not get stuck.
    survive("a name without an end", &with_function_list(u32::MAX, b"\x0e\0\0\0ENDTNAME\xff\xff"));
    survive("names that share a group", &{
        let mut list = b"\x04\0\x10\0".to_vec();
        list.extend(b"NAME\x02\0a\0ENDT".repeat(0x10_0000 / 12));
        list.resize(4 + 0x10_0000, 0);
        with_function_list(u32::MAX, &list)
    });
}

#[test]
fn extensions_with_very_many_tags() {
    let mut spec = LibrarySpec::new(Dialect::Linker, 9);
    spec.functions = (0..4_000)
        .map(|index| FunctionSpec { reflection: Some(0), ..kernel(&format!("f{index}")) })
        .collect();
    spec.modules = vec![module()];
    spec = spec.reflecting(reflections::version_only(4));
    spec.functions[3_999].reflection = Some(0);
    spec.other_extension_tags = vec![RawTag::new(b"XXXX", &[]); 40_000];
    survive("an extension of unknown tags", &spec.build().bytes);
    // The sections of the extension are repeated at the same place.
    let mut tag = b"RLST".to_vec();
    tag.extend([16, 0]);
    spec.other_extension_tags = vec![RawTag::new(b"RLST", &[0; 16]); 20_000];
    survive("an extension of empty sections", &spec.build().bytes);
}

#[test]
fn the_same_section_at_many_offsets() {
    // Every four bytes of the file are a separate reflection list.
    let mut spec = LibrarySpec::new(Dialect::Linker, 9);
    spec.functions = (0..2_000).map(|index| kernel(&format!("f{index}"))).collect();
    spec.modules = vec![module()];
    spec.modules[0].bitcode.resize(40_000, 0);
    let place = |at: u64| [at.to_le_bytes(), 4u64.to_le_bytes()].concat();
    spec.other_extension_tags =
        (0..5_000).map(|index| RawTag::new(b"RLST", &place(1_000_000 + 4 * index))).collect();
    let mut data = spec.build().bytes;
    let start = data.len() as u64;
    for index in 0..5_000u64 {
        let at = data
            .windows(8)
            .position(|window| window == (1_000_000 + 4 * index).to_le_bytes())
            .expect("an offset");
        data[at..at + 8].copy_from_slice(&(start + 4 * index).to_le_bytes());
    }
    data.resize(data.len() + 20_000, 0);
    survive("a section at many places", &data);
}

#[test]
fn hostile_names() {
    let names: [&[u8]; 6] = [
        b"\x1b]0;title\x07",
        b"\xff\xfe not UTF-8",
        "right to left \u{202e} override".as_bytes(),
        b"two\nlines",
        b"",
        b"quote\" and \\ backslash",
    ];
    let mut spec = LibrarySpec::new(Dialect::Linker, 9);
    for name in names {
        spec = spec.with(FunctionSpec { name: name.to_vec(), ..kernel("") }, module());
    }
    spec.imported_symbols = names.map(<[u8]>::to_vec).to_vec();
    spec.dynamic = Some(DynamicSpec { name: Some(names[0].to_vec()), linked: vec![names[1].to_vec()] });
    let data = spec.build().bytes;
    let seen = survive("hostile names", &data);
    assert!(has_rule(&seen, "function-name"));
    let library = Library::parse(&data).expect("a library");
    let labels: Vec<String> = library.functions().flatten().map(|function| function.label()).collect();
    assert_eq!(
        labels,
        [
            r#"function 0 "\x1b]0;title\x07""#,
            r#"function 1 "\xff\xfe not UTF-8""#,
            r#"function 2 "right to left \u{202e} override""#,
            r#"function 3 "two\nlines""#,
            r#"function 4 """#,
            r#"function 5 "quote\" and \\ backslash""#,
        ]
    );

    // A NUL inside a name: the tag is longer than its string.
    let mut spec = LibrarySpec::new(Dialect::Linker, 9);
    spec = spec.with(FunctionSpec { name: b"one\0two".to_vec(), ..kernel("") }, module());
    let seen = survive("a name with a NUL", &spec.build().bytes);
    assert!(has_rule(&seen, "function-tag"), "{:#?}", seen.findings);
}
