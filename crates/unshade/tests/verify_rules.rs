//! The rules of `verify` that compare parts of a Metal library with each other and with its modules: libraries of our own
//! that are sound, and one change that breaks a rule.

use unshade::build;
use unshade::core::FourCc;
use unshade::llvm::assemble::{AssembleOptions, bitcode};
use unshade::metallib::file::{
    OwnedArchive, OwnedDynamicHeader, OwnedSources, RawTag, SectionData, SourceLocation,
};
use unshade::metallib::reflection::schema::Version;
use unshade::metallib::reflection::tables::{OwnedTable, Value};
use unshade::metallib::target::Target;
use unshade::metallib::{LibraryFile, LibraryType, Platform};

/// A kernel with debug information, compiled by a tool whose reflections are of 0.3.0.
const KERNEL: &str = r#"
target triple = "air64-apple-macosx14.0.0"
define void @NAME(i32 addrspace(1)* %0) !dbg !10 {
  store i32 0, i32 addrspace(1)* %0
  ret void
}
!air.kernel = !{!0}
!0 = !{void (i32 addrspace(1)*)* @NAME, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.KIND", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"int", !"air.arg_name", !"data"}
!air.version = !{!4}
!4 = !{i32 2, i32 6, i32 0}
!air.language_version = !{!5}
!5 = !{!"Metal", i32 3, i32 1, i32 0}
!llvm.ident = !{!6}
!6 = !{!"Apple metal version 32023.329 (metalfe-32023.329.2)"}
!llvm.module.flags = !{!7}
!7 = !{i32 2, !"Debug Info Version", i32 3}
!llvm.dbg.cu = !{!11}
!10 = distinct !DISubprogram(name: "NAME", scope: !12, file: !12, line: 7, type: !13, scopeLine: 7, spFlags: DISPFlagDefinition, unit: !11)
!11 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !12, producer: "none", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!12 = !DIFile(filename: "clear.metal", directory: "/src")
!13 = !DISubroutineType(types: !14)
!14 = !{null}
"#;

fn module(name: &str, kind: &str) -> Vec<u8> {
    assembled(&KERNEL.replace("NAME", name).replace("KIND", kind))
}

fn assembled(text: &str) -> Vec<u8> {
    bitcode(text.as_bytes(), b"clear.ll", &AssembleOptions::default()).expect("it is valid").bytes
}

/// Returns a kernel without debug information.
fn stripped_module(name: &str) -> Vec<u8> {
    let text = KERNEL.replace("NAME", name).replace("KIND", "buffer").replace(" !dbg !10", "");
    let is_debug =
        |line: &&str| line.starts_with("!llvm.dbg.cu") || line.starts_with("!1") && !line.starts_with("!1 ");
    assembled(&text.lines().filter(|line| !is_debug(line)).collect::<Vec<_>>().join("\n"))
}

fn empty(major: u16, minor: u8) -> LibraryFile<'static> {
    let target = Target { platform: Platform::MACOS, os: (major, minor, 0) };
    LibraryFile::new(target.header(LibraryType::EXECUTABLE))
}

/// Returns a sound library of 1.2.7 with a kernel of each name.
fn library(names: &[&str]) -> LibraryFile<'static> {
    let mut file = empty(14, 0);
    for name in names {
        build::add_module(&mut file, &module(name, "buffer")).expect("it has a function");
    }
    let lost = build::add_reflections(&mut file).expect("its metadata is read");
    assert!(lost.is_empty(), "{lost:?}");
    file
}

/// Returns severity and rule of each finding.
fn findings(data: &[u8]) -> Vec<String> {
    let file = unshade::open_bytes("test.metallib", data.to_vec());
    let program = file.programs().next().expect("a library");
    let verdict = program.verify().expect("its header is read");
    verdict.diagnostics.iter().map(|found| format!("{} {}", found.severity, found.rule)).collect()
}

fn rules(file: &LibraryFile<'_>) -> Vec<String> {
    findings(&bytes(file))
}

fn bytes(file: &LibraryFile<'_>) -> Vec<u8> {
    file.write().expect("it is written").to_vec()
}

/// Returns the position after the n-th occurrence of a code.
fn after(data: &[u8], code: &[u8], index: usize) -> usize {
    let places = data.windows(code.len()).enumerate().filter(|(_, window)| *window == code);
    places.map(|(at, _)| at + code.len()).nth(index).expect("it occurs")
}

fn set_version(file: &mut LibraryFile<'_>, index: usize, minor: Option<u32>) {
    let Some(SectionData::Reflections(list)) = file.section_mut(&[*b"RLST"]) else {
        panic!("no reflections")
    };
    let old = OwnedTable::read(&list[index].content).expect("it is read");
    let mut root = OwnedTable::new(old.schema());
    for (slot, value) in old.fields().filter(|(slot, _)| slot.name != "version") {
        root.set(slot.name, value.clone()).expect("it had the value");
    }
    if let Some(minor) = minor {
        let version = Version { major: 0, minor, sub_minor: 0 };
        root.set("version", Value::Version(version)).expect("a root has a version");
    }
    list[index].content = root.write().expect("it is written").into();
}

#[test]
fn a_library_has_what_its_type_says() {
    let mut sound = empty(14, 0);
    build::add_module(&mut sound, &stripped_module("clear")).expect("it has a function");
    build::add_reflections(&mut sound).expect("its metadata is read");
    assert_eq!(rules(&sound), [""; 0]);
    for (raw_type, expected) in
        [(1, "warning"), (2, "warning"), (3, "warning"), (0x80, "note"), (0x82, "note warning")]
    {
        let mut file = sound.clone();
        file.header.raw_type = raw_type;
        let expected: Vec<_> =
            expected.split(' ').map(|severity| format!("{severity} library-type")).collect();
        let mut found = rules(&file);
        found.sort();
        assert_eq!(found, expected, "{raw_type:#x}");
    }
    let mut named = sound;
    let dynamic = OwnedDynamicHeader { install_name: Some(b"a"[..].into()), ..OwnedDynamicHeader::default() };
    named.set_section(*b"HDYN", SectionData::Dynamic(dynamic));
    assert_eq!(rules(&named), ["warning library-type"]);
    named.header.raw_type = LibraryType::DYNAMIC.0;
    assert_eq!(rules(&named), [""; 0]);
    let mut debug = library(&["clear"]);
    debug.header.raw_type = LibraryType::SYMBOL_COMPANION.0;
    assert_eq!(rules(&debug), [""; 0], "debug information makes a companion");
}

#[test]
fn containers_from_1_2_3_on_have_a_header_extension() {
    for (minor, extension) in [(13, None), (14, Some(Vec::new()))] {
        let mut file = empty(10, minor);
        assert_eq!((&file.extension, rules(&file)), (&extension, Vec::new()));
        file.extension = if extension.is_some() { None } else { Some(Vec::new()) };
        assert_eq!(rules(&file), ["warning header-version"]);
    }
}

#[test]
fn empty_sections_follow_the_one_before() {
    let mut data = bytes(&empty(14, 0));
    for at in [56, 72] {
        let old = data[at];
        data[at] = old - 4;
        assert!(findings(&data).contains(&"warning section-gap".into()), "{at}: {:?}", findings(&data));
        data[at] = old;
    }
    assert_eq!(findings(&data), [""; 0]);
}

#[test]
fn functions_share_no_metadata() {
    let mut data = bytes(&library(&["clear", "wipe"]));
    let (first, second) = (after(&data, b"OFFT", 0) + 2, after(&data, b"OFFT", 1) + 2);
    for part in [0, 8] {
        let old = data[second + part];
        data[second + part] = data[first + part];
        assert_eq!(findings(&data), ["warning metadata"]);
        data[second + part] = old;
    }
}

#[test]
fn every_change_of_a_reflection_is_found() {
    let sound = library(&["clear"]);
    let content = sound.reflections()[0].content.to_vec();
    let mut notes = 0;
    for at in 0..content.len() {
        for change in [1, 0x80] {
            let mut file = sound.clone();
            let Some(SectionData::Reflections(list)) = file.section_mut(&[*b"RLST"]) else { panic!("none") };
            let mut changed = content.clone();
            changed[at] ^= change;
            list[0].content = changed.into();
            let found = rules(&file);
            assert!(!found.is_empty(), "{at:#x}");
            notes += usize::from(found == ["note reflection-layout"]);
        }
    }
    assert!(notes > 0, "padding is only a note");
}

#[test]
fn reflections_have_the_version_of_their_tools() {
    let mut file = library(&["clear", "wipe", "fill"]);
    set_version(&mut file, 1, Some(4));
    assert_eq!(rules(&file), ["warning reflection-version"], "others have 0.3.0");
    set_version(&mut file, 1, None);
    assert_eq!(rules(&file), ["warning reflection-version"]);
    let mut file = library(&["clear"]);
    for (minor, expected) in [(2, "warning"), (4, ""), (5, "note")] {
        set_version(&mut file, 0, Some(minor));
        let expected: Vec<_> =
            expected.split_terminator(' ').map(|severity| format!("{severity} reflection-version")).collect();
        assert_eq!(rules(&file), expected, "0.{minor}.0");
    }
}

#[test]
fn only_zeros_follow_the_stream_of_a_source_archive() {
    let mut file = library(&["clear"]);
    let mut compressed = build::pack_sources(&[("/src/clear.metal".into(), b"kernel".to_vec())]).unwrap();
    compressed.resize(compressed.len().next_multiple_of(64) + 64, 0);
    let archive = |compressed: &[u8]| {
        let archive = OwnedArchive { id: b"0"[..].into(), compressed: compressed.to_vec().into() };
        SectionData::Sources(OwnedSources {
            link_command: b"air-lld"[..].into(),
            working_directory: Some(b"/src"[..].into()),
            archives: vec![archive],
        })
    };
    file.set_section(*b"HSRD", archive(&compressed));
    file.functions[0].source = Some(0);
    assert_eq!(rules(&file), [""; 0]);
    *compressed.last_mut().unwrap() = 1;
    file.set_section(*b"HSRD", archive(&compressed));
    assert_eq!(rules(&file), ["warning sources"]);
}

#[test]
fn dynamic_headers_have_names() {
    let mut file = library(&["clear"]);
    file.header.raw_type = LibraryType::DYNAMIC.0;
    let install_name = Some(b"@rpath/a.metallib"[..].into());
    let dynamic = OwnedDynamicHeader { install_name, ..OwnedDynamicHeader::default() };
    file.set_section(*b"HDYN", SectionData::Dynamic(dynamic));
    let sound = bytes(&file);
    assert_eq!(findings(&sound), [""; 0]);
    let end = after(&sound, b"@rpath/a.metallib", 0);
    let mut data = sound.clone();
    data[end] = 1;
    assert!(findings(&data).contains(&"error dynamic-header".into()), "{:?}", findings(&data));
    let mut data = sound;
    data[end - b"NAME??@rpath/a.metallib".len()] = b'X';
    assert!(findings(&data).contains(&"note unknown-tag".into()), "{:?}", findings(&data));
}

#[test]
fn source_links_are_zero() {
    let link = |code: &[u8; 4], content: [u8; 6]| {
        SectionData::SourceLink(vec![RawTag { code: FourCc(*code), content: content.to_vec().into() }])
    };
    for (code, content, expected) in [
        (b"LINK", [0; 6], &[][..]),
        (b"LINK", [0, 0, 0, 0, 0, 1], &["note source-link"]),
        (b"LENK", [0; 6], &["note unknown-tag"]),
    ] {
        let mut file = library(&["clear"]);
        file.set_section(*b"HSRP", link(code, content));
        assert_eq!(rules(&file), expected);
    }
    let mut file = library(&["clear"]);
    file.set_section(*b"HSRP", SectionData::Raw(b"LINK"[..].into()));
    assert_eq!(rules(&file), ["error source-link"]);
}

#[test]
fn source_locations_are_those_of_the_debug_information() {
    let mut file = library(&["clear"]);
    for (line, path, expected) in [
        (7, "/src/clear.metal", &[][..]),
        (8, "/src/clear.metal", &["error module-debug"]),
        (7, "/src/wipe.metal", &["error module-debug"]),
    ] {
        file.functions[0].private.location = Some(SourceLocation { line, path: path.as_bytes().into() });
        assert_eq!(rules(&file), expected, "{line} {path}");
    }
}

#[test]
fn what_reflections_can_not_express_is_reported() {
    let mut file = empty(14, 0);
    build::add_module(&mut file, &module("clear", "mystery")).unwrap();
    let lost = build::add_reflections(&mut file).unwrap();
    assert_eq!((lost.len(), lost[0].module.as_str()), (1, "function 0 \"clear\""));
    let found = lost[0].findings.iter().next().expect("a finding");
    assert_eq!((found.rule, found.error.message()), ("air-metadata", "an argument is of an unknown kind"));
    let lost = build::renew_reflection(&mut file, 0).unwrap();
    assert_eq!(lost.map(|lost| lost.findings.errors()), Some(1));
}
