//! DXC's dialect: text, module and bitcode, beside what DXC wrote and printed.

use std::path::PathBuf;
use unshade_core::ErrorKind;
use unshade_llvm::Module;
use unshade_llvm::assemble::{self, AssembleOptions, Assembled, Version};
use unshade_llvm::print::{self, Dialect, PrintOptions};
use unshade_llvm::skeleton::Item;
use unshade_llvm::tree::Tree;
use unshade_llvm::write::{self, WriteInput, WriteOptions};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

fn options() -> WriteOptions<'static> {
    WriteOptions { version: Version::Dxc, ..WriteOptions::default() }
}

fn parsed(text: &str) -> Result<Assembled, String> {
    assemble::assemble(text.as_bytes(), &AssembleOptions { version: Version::Dxc })
        .map_err(|error| format!("{}:{}: {}", error.line, error.column, error.message))
}

/// Returns the bitcode of a text.
fn assembled(text: &str) -> Vec<u8> {
    write::module(&parsed(text).unwrap().input(), &options()).unwrap()
}

fn text(bytes: &[u8]) -> String {
    let module = Module::parse(bytes, 0).unwrap();
    assert!(module.diagnostics.is_empty(), "{:?}", module.diagnostics.iter().next());
    let mut text = String::new();
    let options = PrintOptions { dialect: Dialect::Dxc, module_id: None };
    let findings = print::module(&module, &options, &mut text);
    assert!(findings.is_empty(), "{:?}", findings.iter().next());
    text
}

fn rewritten(module: &Module<'_>) -> unshade_core::Result<Vec<u8>> {
    write::module(&WriteInput::new(module, &module.bodies()?), &options())
}

#[test]
fn a_module_of_dxc_is_written_byte_for_byte() {
    let bytes = read("dxc.bc");
    assert!(rewritten(&Module::parse(&bytes, 0).unwrap()).unwrap() == bytes);
}

#[test]
fn the_text_is_that_of_dxc() {
    assert_eq!(text(&read("dxc.bc")), String::from_utf8(read("dxc.ll")).unwrap());
}

/// A text doesn't tell the order of the kinds of metadata. With that of DXC the bitcode is the same.
#[test]
fn a_text_becomes_the_module_of_dxc() {
    let source = String::from_utf8(read("dxc.ll")).unwrap();
    assert_eq!(text(&assembled(&source)), source);
    let bytes = read("dxc.bc");
    let kinds = Module::parse(&bytes, 0).unwrap().metadata_kinds;
    let Assembled { mut module, mut bodies, .. } = parsed(&source).unwrap();
    let number = |old: u32| {
        let (_, name) = module.metadata_kinds.iter().find(|(number, _)| *number == old).unwrap();
        kinds.iter().find(|(_, other)| other == name).unwrap().0
    };
    for (kind, _) in bodies.iter_mut().flat_map(|body| &mut body.attached) {
        *kind = number(*kind);
    }
    module.metadata_kinds = kinds;
    assert!(write::module(&WriteInput::new(&module, &bodies), &options()).unwrap() == bytes);
}

#[test]
fn the_version_follows_from_the_target() {
    assert_eq!(Version::of(b"target triple = \"dxil-ms-dx\"\n@a = global i32* null\n"), Version::Dxc);
    assert_eq!(Version::of(b"; target triple = \"dxil-ms-dx\"\n@a = global i32* null\n"), Version::Llvm14);
    assert_eq!(Version::of(b"target triple = \"air64\"\n@a = global i32* null\n"), Version::Llvm14);
}

/// Constants are sorted by type and use, integers first, and the others in the order of C++'s `std::partition`.
#[test]
fn constants_are_sorted() {
    let source = "define void @f(float, i32, double, i64) {\n  %5 = fadd float %0, 1.000000e+00\n  %6 = fadd float %0, 2.000000e+00\n  \
        %7 = fadd float %6, 2.000000e+00\n  %8 = fadd double %2, 3.000000e+00\n  %9 = add i64 %3, 4\n  ret void\n}\n";
    let bytes = assembled(source);
    let module = Module::parse(&bytes, 0).unwrap();
    let body = module.body(0).unwrap();
    let constants =
        body.values.iter().filter(|value| matches!(value.kind, unshade_llvm::value::ValueKind::Constant(_)));
    let types = constants.map(|value| module.types.get(value.ty)).collect::<Vec<_>>();
    use unshade_llvm::types::Type::{Double, Float, Integer};
    assert_eq!(types, [Integer(64), Float, Double, Float]);
}

#[test]
fn faults_have_a_position() {
    let faults = [
        ("declare void @f(i32 %5)\n", "1:21"),
        ("define void @f() {\n  ret void\n", "3:1"),
        ("!0 = !DISubprogram(unit: !0)\n", "1:20"),
        ("!0 = !DISubrange(lowerBound: 1)\n", "1:31"),
        ("!0 = !DILocalVariable(scope: !0)\n", "1:32"),
        ("define float @f(float) {\n  %2 = fadd contract float %0, %0\n  ret float %2\n}\n", "2:13"),
    ];
    for (source, position) in faults {
        let message = parsed(source).unwrap_err();
        assert!(message.starts_with(position), "{source}: {message}");
    }
}

#[test]
fn what_llvm_3_7_lacks_is_refused() {
    let sources = [
        "define float @f(float) {\n  %2 = fneg float %0\n  ret float %2\n}\n",
        "define i32 @f(i32) {\n  %2 = freeze i32 %0\n  ret i32 %2\n}\n",
        "define i32 @f() {\n  ret i32 poison\n}\n",
        "define void @f() {\n  ret void, !dbg !DILocation(line: 1, scope: !0)\n}\n!0 = distinct !DIAssignID()\n",
        "@a = global i32 0\n@b = alias i32, i32* @a\n",
        "define void @f(float*) {\n  %2 = atomicrmw fadd float* %0, float 1.0 monotonic\n  ret void\n}\n",
        "declare void @f(i32* byval(i32))\n",
    ];
    for source in sources {
        let Ok(assembled) = parsed(source) else { continue };
        let error = write::module(&assembled.input(), &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{source}: {error}");
    }
}

#[test]
fn attachments_of_stripped_calls_go() {
    let mut tree = Tree::read(&read("dxc.bc"), 0).unwrap();
    tree.strip_debug_info().unwrap();
    let stripped = text(&tree.write().unwrap());
    assert!(!stripped.contains("dx.dbg.varlayout"));
    assert!(stripped.contains("!dx.precise") && stripped.contains("!dx.nonuniform"));
}

#[test]
fn a_skeleton_has_declarations_and_metadata() {
    let bytes = read("dxc.bc");
    let mut module = Module::parse(&bytes, 0).unwrap();
    module.remove_bodies();
    module.set_named_tuple(b"dx.valver", &[Item::Word(0), Item::Word(0)]);
    module.set_named_tuple(b"dx.counters", &[Item::Text(b"insts"), Item::Word(1 << 31)]);
    // What is there is used again.
    module.set_named_tuple(b"again", &[Item::Word(1), Item::Word(8)]);
    let written = write::module(&WriteInput::new(&module, &[]), &options()).unwrap();
    let text = text(&written);
    assert!(!text.contains("define") && text.contains("declare void @main(i32, float) #0"));
    assert!(text.contains("!dx.counters = !{!") && text.contains("!{!\"insts\", i32 -2147483648}"));
    assert_eq!(text.matches("!{i32 1, i32 8}").count(), 1);
    assert!(text.contains("!{i32 0, i32 0}"));
}

/// Damaged text never makes the assembler or the writer panic; what is written is read again.
#[test]
fn damaged_texts() {
    let source = read("dxc.ll");
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..200 {
        let mut text = source.clone();
        for _ in 0..=next(3) {
            let (at, from) = (next(text.len()), next(text.len()));
            text[at] = text[from];
        }
        let Ok(assembled) = assemble::assemble(&text, &AssembleOptions { version: Version::Dxc }) else {
            continue;
        };
        if let Ok(written) = write::module(&assembled.input(), &options()) {
            assert!(Module::parse(&written, 0).is_ok());
        }
    }
}
