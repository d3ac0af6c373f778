//! Programs of Shader Model 1 to 3: FXC's listings, round trips of every opcode and form, programs truncated at every
//! token and with bits flipped.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use unshade_core::{Diagnostics, Reader};
use unshade_dxbc::control_flow::ControlFlow;
use unshade_dxbc::d3d9::opcode::{Opcode, TABLE};
use unshade_dxbc::d3d9::print::{Options, print};
use unshade_dxbc::d3d9::{ConstantTable, DebugInfo, Program, assemble, decode, listing, measure};
use unshade_dxbc::print::Dialect;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/d3d9")
}

/// Returns name, program and FXC's text of each fixture.
fn fixtures() -> Vec<(String, Vec<u8>, String)> {
    let entries = std::fs::read_dir(folder()).expect("the fixtures");
    let paths = entries.map(|entry| entry.expect("a fixture").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "cso")).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(path.with_extension("fxc.asm")).expect("FXC's text");
        (path.display().to_string(), std::fs::read(&path).expect("a program"), text)
    };
    paths.into_iter().map(read).collect()
}

fn decoded(bytes: &[u8]) -> (Program, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let program = decode(Reader::new(bytes), &mut diagnostics).expect("a program");
    (program, diagnostics)
}

fn text_of(program: &Program, dialect: Dialect) -> String {
    let mut text = String::new();
    print(program, Options { dialect, ..Options::default() }, &mut text);
    text
}

/// Checks that any bytes survive round trips through tokens and text.
fn exercise(bytes: &[u8]) {
    measure(bytes);
    let mut diagnostics = Diagnostics::default();
    let Ok(program) = decode(Reader::new(bytes), &mut diagnostics) else { return };
    assert!(program.write().expect("what was read can be written") == bytes, "other tokens than were read");
    let mut text = String::new();
    listing::print_fxc(&program, 0, &mut text, &mut diagnostics);
    ControlFlow::of_d3d9(&program).graph().dominators(0);
    let text = text_of(&program, Dialect::Exact);
    let again = assemble(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(again.write().expect("a program") == bytes, "other tokens than were printed:\n{text}");
}

#[test]
fn listings_match_fxc() {
    for (name, bytes, theirs) in fixtures() {
        let (program, mut diagnostics) = decoded(&bytes);
        let mut ours = String::new();
        listing::print_fxc(&program, 0, &mut ours, &mut diagnostics);
        let line = ours.lines().zip(theirs.lines()).position(|(ours, theirs)| ours != theirs);
        assert!(ours == theirs, "{name}: line {line:?}");
        assert_eq!(measure(&bytes), Some(bytes.len()), "{name}");
        exercise(&bytes);
    }
}

#[test]
fn programs_of_fxc_are_valid() {
    for (name, bytes, _) in fixtures().iter().filter(|(name, ..)| !name.contains("every_form")) {
        let (program, diagnostics) = decoded(bytes);
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
        let table = ConstantTable::of(&program).expect("a table").expect("a sound one");
        assert!(!table.constants.is_empty(), "{name}");
        // FXC's text loses only comments.
        let again = assemble(&text_of(&program, Dialect::Fxc)).expect("FXC's text is assembled");
        let code = |program: &Program| {
            let instructions = program.instructions.iter().filter(|one| one.opcode() != Opcode::COMMENT);
            instructions.map(|one| (one.token, one.operands.clone(), one.values.clone())).collect::<Vec<_>>()
        };
        assert_eq!(code(&again), code(&program), "{name}");
    }
}

#[test]
fn every_opcode_has_a_program() {
    let mut seen = Vec::new();
    for (_, bytes, _) in fixtures() {
        let (program, _) = decoded(&bytes);
        let rows = program.instructions.iter().filter_map(|one| one.opcode().row(program.version));
        seen.extend(rows.map(|row| (row.number, row.mnemonic)));
    }
    for row in TABLE.iter().filter(|row| row.number != Opcode::BREAK_PREDICATE.0) {
        assert!(seen.contains(&(row.number, row.mnemonic)), "no program has {}", row.mnemonic);
    }
}

#[test]
fn constants_and_lines_are_shown() {
    let bytes = std::fs::read(folder().join("lines_ps_3_0.cso")).unwrap();
    let (program, _) = decoded(&bytes);
    let debug = DebugInfo::of(&program).unwrap();
    assert_eq!(debug.files, ["C:\\shaders\\d\\lines.hlsl", "other.hlsl"]);
    let table = ConstantTable::of(&program).unwrap().unwrap();
    let mut text = String::new();
    let options = Options { constants: Some(&table), debug: Some(&debug), ..Options::default() };
    print(&program, options, &mut text);
    assert!(text.contains("c0.x /*k*/"), "{text}");
    assert!(text.contains("#line 100 \"other.hlsl\"") || text.contains("#line 101 \"other.hlsl\""), "{text}");
    assert_eq!(assemble(&text).unwrap().write().unwrap(), bytes);
}

#[test]
fn truncated_programs_round_trip() {
    for (_, bytes, _) in fixtures().iter().filter(|(_, bytes, _)| bytes.len() < 3_100) {
        for length in (0..bytes.len()).step_by(3) {
            exercise(&bytes[..length]);
        }
    }
}

#[test]
fn programs_with_a_flipped_bit_round_trip() {
    for (_, bytes, _) in fixtures().iter().filter(|(_, bytes, _)| bytes.len() < 3_100) {
        // A prime, so that every byte of a token has its turn.
        for position in (0..bytes.len()).step_by(61) {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[position] ^= 1 << bit;
                exercise(&changed);
            }
        }
    }
}

#[test]
fn errors_name_the_line() {
    let error = assemble("ps_2_0\nmov r0, c0\nfoo r0\n").unwrap_err();
    let text = "line 3: the text can't be assembled: expected an instruction of this version, found \"foo\" (at offset 0x12)";
    assert_eq!(error.to_string(), text);
}

#[test]
fn programs_are_parsed_from_bytes() {
    let bytes = std::fs::read(folder().join("lines_ps_3_0.cso")).unwrap();
    let program = Program::parse(&bytes).unwrap();
    assert!(program == decoded(&bytes).0);
    let table = ConstantTable::of(&program).unwrap().unwrap();
    assert!(format!("{table:?}").len() < 80, "{table:?}");
    let error = Program::parse_at(&bytes[..3], 0x40).unwrap_err();
    assert_eq!(error.offset(), Some(0x40));
}
