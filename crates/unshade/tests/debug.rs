//! Debug builds of FXC: listed as FXC lists them, with source lines and variables; ours with the text of the lines.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use unshade::core::{Diagnostics, Reader};
use unshade::disassembly::{TokenSource, token_program};
use unshade::dxcontainer::Container;
use unshade::dxcontainer::debug::{DebugInfo, Lines, SourceLine};
use unshade::fxc_listing::print_fxc;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/debug")
}

fn fixtures() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("the fixtures");
    let paths = entries.map(|entry| entry.expect("a fixture").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "dxbc")).collect()
}

fn ours(data: &[u8]) -> String {
    let container = Container::parse(data).expect("a container");
    let (mut text, mut diagnostics) = (String::new(), Diagnostics::new());
    token_program("", &TokenSource::Container(container), false, &mut text, &mut diagnostics)
        .expect("a program");
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    text
}

#[test]
fn listings_are_those_of_fxc() {
    assert!(fixtures().len() >= 6);
    for path in fixtures() {
        let data = std::fs::read(&path).expect("a container");
        let container = Container::parse(&data).expect("a container");
        let (mut ours, mut diagnostics) = (String::new(), Diagnostics::new());
        print_fxc(&container, &mut ours, &mut diagnostics).expect("a program");
        let theirs = std::fs::read_to_string(path.with_extension("fxc.asm")).expect("FXC's text");
        for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
            assert_eq!(ours, theirs, "{}: line {}", path.display(), number + 1);
        }
        assert!(ours == theirs, "{}: another length", path.display());
        assert!(diagnostics.is_empty(), "{}: {diagnostics:?}", path.display());
    }
}

#[test]
fn decompiled_variables_have_their_names() {
    let data = std::fs::read(folder().join("lines_ps_5_0.dxbc")).expect("a container");
    let container = Container::parse(&data).expect("a container");
    let text =
        |options| unshade::hlsl::container_with(&container, &|_, _| true, options).expect("a program").text();
    let named = text(unshade::hlsl::Options::default());
    for line in ["float4 table[3];", "float sum = mad(weights[n3], s_color.x, v4);", "float4 v11 = table[k];"]
    {
        assert!(named.lines().any(|one| one.trim() == line), "no {line:?} in\n{named}");
    }
    let plain = text(unshade::hlsl::Options { without_source: true });
    assert!(
        named.starts_with("// source: \"C:\\shaders\\lines.hlsl\"\n// source: \"folder\\other.hlsl\"\n"),
        "{named}"
    );
    assert!(!plain.contains("sum") && !plain.contains("table") && !plain.contains("// source"), "{plain}");
}

#[test]
fn lines_are_shown_with_their_text() {
    let text = ours(&std::fs::read(folder().join("compute_cs_5_1.dxbc")).expect("a container"));
    assert!(text.contains("// Initial variable locations:\n//   vThreadID.x <- id.x;"), "{text}");
    let data = std::fs::read(folder().join("hull_hs_5_0.dxbc")).expect("a container");
    let text = ours(&data);
    assert!(
        text.contains("\n// C:\\\\shaders\\\\hull.hlsl:17: p.place *= 2;\n")
            || text.contains(":17: p.place *= 2;\n"),
        "{text}"
    );
    // What is shown is left aside when it is assembled.
    let program = unshade::dxbc::assemble(&text).expect("a program").write().expect("a program");
    let container = Container::parse(&data).expect("a container");
    assert!(program == container.find(b"SHEX").expect("a program").data.data());
}

#[test]
fn lists_of_fxc_are_assembled() {
    for path in fixtures() {
        let theirs = std::fs::read_to_string(path.with_extension("fxc.asm")).expect("FXC's text");
        unshade::dxbc::assemble(&theirs).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

#[test]
fn damaged_databases_are_read_or_refused() {
    let data = std::fs::read(folder().join("lines_ps_5_0.dxbc")).expect("a container");
    let container = Container::parse(&data).expect("a container");
    let part = container.find(b"SPDB").expect("debug information").data.data();
    for length in (0..part.len()).step_by(97) {
        let _ = DebugInfo::read_spdb(Reader::new(&part[..length]));
    }
    // Each byte has its turn in some run: what is changed decides little of where a fault shows.
    for position in (0..part.len()).step_by(11) {
        let mut changed = part.to_vec();
        changed[position] ^= 1 << (position % 8);
        let _ = DebugInfo::read_spdb(Reader::new(&changed));
        changed[position] = 0xff;
        let _ = DebugInfo::read_spdb(Reader::new(&changed));
    }
}

/// SDBG of one file and two instructions, of which the second has a line. Synthetic: no real file is at hand.
fn sdbg() -> Vec<u8> {
    let texts = b"old.hlsl\0float4 a;\nreturn a;\n";
    let mut lists = Vec::new();
    let mut word = |number: u32| lists.extend(number.to_le_bytes());
    [0, 8, 9, 20].into_iter().for_each(&mut word);
    for symbol in [1, 0] {
        (0..99).for_each(|place| word(if place == 93 { symbol } else { 0 }));
    }
    [0, 2, 1, 0, 0].into_iter().for_each(&mut word);
    let texts_start = u32::try_from(lists.len()).expect("a small part");
    let header =
        [0x54, 0, 0, 0, 1, 1, 0, 2, 16, 0, 0, 0, 0, 1, 16 + 2 * 396, 0, 0, 0, 0, texts_start, texts_start];
    let mut part: Vec<u8> = header.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    part.extend(lists);
    part.extend(texts);
    part
}

#[test]
fn lines_of_older_compilers_are_read() {
    let part = sdbg();
    let info = DebugInfo::read_sdbg(Reader::new(&part)).expect("debug information");
    assert_eq!(info.files[0].name, b"old.hlsl");
    assert_eq!(info.files[0].text.as_deref(), Some(&b"float4 a;\nreturn a;\n"[..]));
    assert_eq!(info.lines, Lines::ByNumber(vec![None, Some(SourceLine { file: 0, line: 2 })]));
    for length in 0..part.len() {
        let _ = DebugInfo::read_sdbg(Reader::new(&part[..length]));
    }
}
