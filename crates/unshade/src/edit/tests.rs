//! Each edit of each format, and texts with faults.

use super::{Edit, Refusal, Stripped, apply};
use crate::metallib::Library;
use unshade_dxcontainer::file::sign;

const LIBRARY: &[u8] = include_bytes!("../../../../tests/fixtures/metallib/vertex_fragment.metallib");
const CUBIN: &[u8] = include_bytes!("../../../../tests/fixtures/nvidia/calls_sm_35.cubin");
const CONTAINER: &[u8] = include_bytes!("../../../../tests/fixtures/dxcontainer/compute.dxbc");
const BITCODE: &[u8] = include_bytes!("../../../../tests/fixtures/air/reduce.bc");

fn names(library: &[u8]) -> Vec<String> {
    let library = Library::parse(library).unwrap();
    library.functions().map(|function| function.unwrap().shown_name()).collect()
}

fn is_signed(container: &[u8]) -> bool {
    let mut copy = container.to_vec();
    sign(&mut copy).is_ok() && copy == container
}

#[test]
fn functions_are_renamed_and_removed() {
    let edited = apply(LIBRARY, 0, &Edit::Rename { old: "#0".into(), new: "first".into() }).unwrap();
    assert_eq!(names(&edited.bytes)[0], "first");
    let edited = apply(&edited.bytes, 0, &Edit::Remove { names: vec!["first".into()] }).unwrap();
    assert_eq!(names(&edited.bytes).len(), 1);
    let missing = apply(LIBRARY, 0, &Edit::Remove { names: vec!["none".into()] });
    assert_eq!(missing, Err(Refusal::NotFound("no function none".into())));
}

#[test]
fn symbols_of_bitcode_are_renamed() {
    let edit = Edit::Rename { old: "reduce".into(), new: "sum".into() };
    let module = apply(BITCODE, 0, &edit).unwrap().bytes;
    let module = crate::llvm::Module::parse(&module, 0).unwrap();
    assert!(module.functions.iter().any(|function| function.symbol.name == b"sum"));
}

#[test]
fn parts_are_removed_and_the_digest_is_renewed() {
    let edited = apply(CONTAINER, 0, &Edit::Remove { names: vec!["STAT".into()] }).unwrap();
    assert!(edited.bytes.len() < CONTAINER.len() && is_signed(&edited.bytes));
    let edited = apply(CONTAINER, 0, &Edit::Strip { what: Stripped::Reflection }).unwrap();
    assert!(is_signed(&edited.bytes));
    assert!(apply(CONTAINER, 0, &Edit::Remove { names: vec!["long name".into()] }).is_err());
}

/// A byte outside of the digest: the digest follows. A byte of the digest: it is as given.
#[test]
fn bytes_are_overwritten() {
    let last = CONTAINER.len() as u64 - 1;
    let edited = apply(CONTAINER, 100, &Edit::Bytes { offset: 100 + last, bytes: "7f".into() }).unwrap();
    assert_eq!(edited.bytes.last(), Some(&0x7f));
    assert!(is_signed(&edited.bytes) && edited.notes == ["the digest is renewed"]);
    let edited = apply(CONTAINER, 0, &Edit::Bytes { offset: 4, bytes: "00 11".into() }).unwrap();
    assert_eq!(edited.bytes[4..6], [0, 0x11]);
    for (offset, bytes) in [(last, "0000"), (u64::MAX, "00"), (0, "0"), (0, "zz"), (0, ""), (0, "é")] {
        assert!(
            apply(CONTAINER, 0, &Edit::Bytes { offset, bytes: bytes.into() }).is_err(),
            "{offset} {bytes}"
        );
    }
}

/// The hash of a module's functions is renewed if bytes in the module change.
#[test]
fn hashes_of_modules_are_renewed() {
    let library = Library::parse(LIBRARY).unwrap();
    let function = library.function(0).unwrap();
    let module = library.module(&function).unwrap().unwrap();
    let offset = module.range().end - 1;
    let edited = apply(LIBRARY, 0, &Edit::Bytes { offset, bytes: "ff".into() }).unwrap();
    assert_eq!(edited.notes.len(), 1);
    let library = Library::parse(&edited.bytes).unwrap();
    let function = library.function(0).unwrap();
    let module = library.module(&function).unwrap().unwrap();
    assert_eq!(module.bytes().last(), Some(&0xff));
    assert_eq!(function.hash, Some(&module.sha256()));
}

#[test]
fn listings_replace_machine_code() {
    let text = "Function : calls\n/*0008*/ NOP;\n".to_owned();
    let edited = apply(CUBIN, 0, &Edit::Text { function: None, text }).unwrap();
    assert_eq!(edited.bytes.len(), CUBIN.len());
    assert!(edited.bytes.iter().zip(CUBIN).filter(|(one, other)| one != other).count() <= 8);
    let fault = apply(CUBIN, 0, &Edit::Text { function: None, text: "\n  NOPE R1;\n".into() });
    let Err(Refusal::Text(faults)) = fault else { panic!("{fault:?}") };
    assert_eq!((faults.len(), faults[0].line), (1, 2));
}

#[test]
fn listings_with_faults_name_the_line() {
    let text = "define void @f() {\n  ret i33 %x\n}\n".to_owned();
    let fault = apply(BITCODE, 0, &Edit::Text { function: None, text });
    let Err(Refusal::Text(faults)) = fault else { panic!("{fault:?}") };
    assert_eq!(faults[0].line, 2);
}

#[test]
fn yaml_makes_the_same_program() {
    let file = unshade_metallib::LibraryFile::parse(LIBRARY).unwrap();
    let text = unshade_metallib::document::to_yaml(&file).unwrap();
    assert_eq!(apply(LIBRARY, 0, &Edit::Yaml { text }).unwrap().bytes, LIBRARY);
    assert!(apply(LIBRARY, 0, &Edit::Yaml { text: "[".into() }).is_err());
}

#[test]
fn other_formats_are_refused() {
    for edit in
        [Edit::Sign, Edit::Remove { names: vec!["x".into()] }, Edit::Target { os: "macos-14.0".into() }]
    {
        assert!(apply(b"no program", 0, &edit).is_err());
        assert!(apply(CUBIN, 0, &edit).is_err());
    }
}

/// Edits of damaged programs are made or refused, and never panic.
#[test]
fn damaged_programs_are_edited_or_refused() {
    let text = |text: &str| Edit::Text { function: Some("#0".into()), text: text.into() };
    let edits = [
        Edit::Rename { old: "#0".into(), new: "a\\x00b".into() },
        Edit::Rename { old: "/(/".into(), new: String::new() },
        Edit::Remove { names: vec!["#0".into(), "STAT".into()] },
        Edit::Strip { what: Stripped::Debug },
        Edit::Strip { what: Stripped::Sources },
        Edit::Bytes { offset: 40, bytes: "ff".repeat(64) },
        Edit::Target { os: "ios-17.0".into() },
        Edit::Sign,
        text("define void @f() {\n  ret void\n}\n"),
        text("cs_5_0\nret\n"),
        text("Function : calls\n/*0008*/ NOP;\n"),
    ];
    for program in [LIBRARY, CUBIN, CONTAINER, BITCODE] {
        for step in 0..40 {
            let mut damaged = program[..program.len() - program.len() * (step / 4) / 10].to_vec();
            let length = damaged.len();
            for (count, byte) in damaged.iter_mut().enumerate().skip(step * 7).step_by(97 + step) {
                *byte ^= (count as u8).wrapping_mul(31) & 0x5a;
            }
            assert_eq!(damaged.len(), length);
            for edit in &edits {
                let _ = apply(&damaged, 0, edit);
            }
        }
    }
}
