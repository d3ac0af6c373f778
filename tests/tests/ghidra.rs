//! Programs for Ghidra: from every fixture cubin of a supported architecture, and with names that are unsafe in XML, C
//! or file names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use unshade::core::{Diagnostics, Reader};
use unshade::ghidra::programs;
use unshade::nv::Cubin;
use unshade::safe_path::SafePaths;

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia");
    fs::read(folder.join(name)).expect("the fixture")
}

/// Exports each program of a cubin. Returns the XML and the bytes.
fn made(data: &[u8]) -> Vec<(String, Vec<u8>)> {
    let cubin = Cubin::read(Reader::new(data)).expect("a cubin");
    let mut diagnostics = Diagnostics::new();
    programs(&cubin, &|_| true, &mut diagnostics)
        .into_iter()
        .map(|program| (program.xml("x.bytes"), program.bytes))
        .collect()
}

/// Parses XML into elements and attributes. Checks that every element is closed, and that text without references
/// contains no markup.
fn elements(xml: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "text has markup: {}", &rest[..start]);
        let end = rest.find('>').expect("an end of the tag");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('?') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let is_empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut pairs = Vec::new();
        while let Some((key, after)) = attributes.split_once("=\"") {
            let (value, after) = after.split_once('"').expect("a quote");
            assert!(!value.contains('<'), "{value}");
            pairs.push((key.trim().to_owned(), value.to_owned()));
            attributes = after;
        }
        assert!(attributes.trim().is_empty(), "{attributes}");
        found.push((name.to_owned(), pairs));
        if !is_empty {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?} is not closed");
    assert!(xml.chars().all(|c| c == '\n' || !c.is_control()));
    found
}

fn value<'a>(element: &'a (String, Vec<(String, String)>), key: &str) -> &'a str {
    element.1.iter().find(|pair| pair.0 == key).map_or("", |pair| pair.1.as_str())
}

fn number(text: &str) -> usize {
    usize::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number")
}

#[test]
fn programs_are_well_formed() {
    for (name, count) in [
        ("add_sm_35.cubin", 1),
        ("add_32_bit_sm_35.cubin", 1),
        ("calls_sm_35.cubin", 1),
        ("texture_sm_37.cubin", 3),
        ("two_relocatable_sm_35.cubin", 2),
        ("switches_sm_50.cubin", 2),
        ("add_sm_90.cubin", 1),
        ("add_sm_120.cubin", 1),
    ] {
        let made = made(&fixture(name));
        assert_eq!(made.len(), count, "{name}");
        for (xml, bytes) in made {
            let elements = elements(&xml);
            let contents = elements.iter().filter(|element| element.0 == "MEMORY_CONTENTS");
            for element in contents {
                assert_eq!(value(element, "FILE_NAME"), "x.bytes");
                let end = number(value(element, "FILE_OFFSET")) + number(value(element, "LENGTH"));
                assert!(end <= bytes.len(), "{name}: {element:?}");
            }
            let functions: Vec<_> = elements.iter().filter(|element| element.0 == "FUNCTION").collect();
            assert!(!functions.is_empty(), "{name}");
            assert_eq!(value(functions[0], "ENTRY_POINT"), "00000000", "{name}");
        }
    }
}

#[test]
fn functions_have_names_and_parameters() {
    let made = made(&fixture("calls_sm_35.cubin"));
    let (xml, _) = &made[0];
    for expected in [
        "LANGUAGE_PROVIDER=\"NVIDIA:LE:64:sm_35:default\"",
        "<TYPEINFO_CMT>void calls(int * param_1, float * param_2, unsigned int param_3)</TYPEINFO_CMT>",
        "ADDRESS=\"constant:00000148\" NAME=\"param_2\"",
        "ENTRY_POINT=\"00000130\" NAME=\"fact\"",
        "<REGULAR_CMT>fact(int)\n_Z4facti</REGULAR_CMT>",
        "REGISTER=\"goes_to\" VALUE=\"0x95\" START_ADDRESS=\"000001a8\"",
        "<COMMENT ADDRESS=\"000000a0\" TYPE=\"end-of-line\">R_CUDA_ABS32_LO_23 tab</COMMENT>",
    ] {
        assert!(xml.contains(expected), "{expected} is not in\n{xml}");
    }
}

/// Maxwell: scheduling words are not instructions, and an indirect branch refers to its targets.
#[test]
fn groups_and_tables() {
    let made = made(&fixture("switches_sm_50.cubin"));
    let (xml, bytes) = made.iter().find(|(xml, _)| xml.contains("NAME=\"sw\"")).expect("the kernel");
    let elements = elements(xml);
    let ranges = elements.iter().filter(|element| value(element, "REGISTER") == "is_instruction");
    let starts: Vec<usize> = ranges.map(|range| number(value(range, "START_ADDRESS"))).collect();
    let code = elements.iter().find(|element| element.0 == "CODE_BLOCK").expect("code");
    let size = number(value(code, "END")) + 1;
    assert!(size <= bytes.len() && starts.iter().copied().eq((8..size).step_by(32)), "{starts:x?}");
    let references: Vec<_> = elements.iter().filter(|element| element.0 == "MEMORY_REFERENCE").collect();
    assert_eq!(references.len(), 13);
    let branches: BTreeSet<&str> = references.iter().map(|one| value(one, "ADDRESS")).collect();
    assert!(branches.into_iter().eq(["000000a8", "00000128", "00000210", "00000278"]));
    assert!(references.iter().all(|one| number(value(one, "TO_ADDRESS")) < size));
}

/// Each language has the parameters where cubins of its chip have them.
#[test]
fn languages_place_parameters() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ghidra/NVIDIA/data/languages/nvidia.ldefs");
    let text = fs::read_to_string(path).expect("the languages");
    let after = |text: &str, start: &str| {
        text.split(start).nth(1).map(|rest| rest.split('"').next().unwrap().to_owned())
    };
    let languages = text.split("<language ").skip(1).map(|language| {
        let chip = after(language, "variant=\"sm_").expect("a chip").parse::<u32>().expect("a number");
        (chip, after(language, "<compiler name=\"CUDA\" spec=\"").expect("a specification"))
    });
    let languages: Vec<_> = languages.collect();
    assert!(languages.len() >= 17);
    for (chip, specification) in languages {
        let base = unshade::nv::function::parameter_base(chip);
        assert_eq!(specification, format!("nvidia_{base:x}.cspec"), "sm_{chip}");
    }
}

#[test]
fn hostile_names_are_escaped() {
    let data = fixture("add_sm_35.cubin");
    for name in [*b"<\"&", *b"../", *b"\x1b\n>", *b"a;b", *b"\xff\xfe/", *b"::<"] {
        let mut hostile = data.clone();
        for at in 0..hostile.len() - 3 {
            if hostile[at..].starts_with(b"add") {
                hostile[at..at + 3].copy_from_slice(&name);
            }
        }
        let cubin = Cubin::read(Reader::new(&hostile)).expect("a cubin");
        let mut paths = SafePaths::default();
        for program in programs(&cubin, &|_| true, &mut Diagnostics::new()) {
            let path = paths.flat(program.name, ".xml").path;
            assert_eq!(path.components().count(), 1, "{path:?}");
            let xml = program.xml(&path.with_extension("bytes").to_string_lossy());
            for element in elements(&xml).iter().filter(|element| element.0 == "FUNCTION") {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
                assert!(value(element, "NAME").chars().all(is_plain), "{element:?}");
            }
        }
    }
}

#[test]
fn output_of_damaged_cubins_is_limited() {
    let data = fixture("calls_sm_35.cubin");
    let mut seed = 1_u32;
    for _ in 0..300 {
        let mut damaged = data.clone();
        for _ in 0..4 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = seed as usize % damaged.len();
            damaged[at] = (seed >> 24) as u8;
        }
        let Ok(cubin) = Cubin::read(Reader::new(&damaged)) else { continue };
        for program in programs(&cubin, &|_| true, &mut Diagnostics::new()) {
            assert!(program.bytes.len() < 4 << 20);
            elements(&program.xml("x.bytes"));
        }
    }
}
