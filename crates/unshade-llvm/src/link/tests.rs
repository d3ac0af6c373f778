use super::{LinkInput, LinkRules, Linker, Root};
use crate::assemble::{AssembleOptions, bitcode};
use crate::print::{self, PrintOptions};
use crate::{Module, verify};
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::Reader;

fn assembled(text: &str) -> Vec<u8> {
    bitcode(text.as_bytes(), b"a.ll", &AssembleOptions::default()).expect("it is valid").bytes
}

/// Links texts, and returns the text of the module, which is sound.
fn linked(texts: &[&str], roots: &[Root<'_>], rules: &LinkRules<'_>) -> String {
    let files: Vec<Vec<u8>> = texts.iter().map(|text| assembled(text)).collect();
    let modules: Vec<Module<'_>> =
        files.iter().map(|file| Module::parse(file, 0).expect("it is read")).collect();
    let bodies: Vec<_> = modules.iter().map(|module| module.bodies().expect("bodies")).collect();
    let inputs = modules.iter().zip(&bodies).map(|(module, bodies)| LinkInput { module, bodies });
    let linker = Linker::new(inputs.collect());
    let reach = linker.reach(roots);
    let file = linker.link(&reach, rules).expect("it is linked").write().expect("it is written");
    let findings = verify::bitcode(Reader::new(&file));
    assert!(findings.is_empty(), "{findings:?}");
    let module = Module::parse(&file, 0).expect("it is read");
    let mut text = String::new();
    print::module(&module, &PrintOptions::default(), &mut text);
    text
}

const CALLER: &str = r#"
%pair = type { i32, %pair* }
@counter = internal global i32 1
@table = external constant [2 x i32]
declare i32 @helper(%pair*)
define i32 @entry(%pair* %p) {
  %a = call i32 @helper(%pair* %p), !tbaa !1
  %b = load i32, i32* @counter
  %c = load i32, i32* getelementptr ([2 x i32], [2 x i32]* @table, i32 0, i32 1)
  %d = add i32 %a, %b
  %e = add i32 %d, %c
  ret i32 %e
}
define void @other() { ret void }
!air.kernel = !{!0, !3}
!llvm.module.flags = !{!5}
!0 = !{i32 (%pair*)* @entry}
!1 = !{!2, !2, i64 0}
!2 = !{!"int"}
!3 = !{void ()* @other}
!5 = !{i32 7, !"air.max_textures", i32 31}
"#;

const CALLEE: &str = r#"
%pair = type { i32, %pair* }
@counter = internal global i32 2
@table = constant [2 x i32] [i32 3, i32 4]
define i32 @helper(%pair* %p) {
  %a = load i32, i32* @counter
  %b = getelementptr %pair, %pair* %p, i32 0, i32 0
  store i32 %a, i32* %b
  ret i32 %a
}
define void @unused() { ret void }
!llvm.module.flags = !{!0}
!0 = !{i32 7, !"air.max_textures", i32 128}
"#;

#[test]
fn symbols_are_resolved_and_what_is_not_reached_is_dropped() {
    let root = Root { input: 0, name: b"entry" };
    let rules = LinkRules { exported: Some(&[b"entry"]), ..LinkRules::default() };
    let text = linked(&[CALLER, CALLEE], &[root], &rules);
    for line in [
        "%pair = type { i32, %pair* }",
        "@counter = internal global i32 1",
        "@counter.1 = internal global i32 2",
        "@table = internal constant [2 x i32] [i32 3, i32 4]",
        "define i32 @entry(%pair* %p) {",
        "define internal i32 @helper(%pair* %p) {",
        "  %a = load i32, i32* @counter.1",
        "!air.kernel = !{!0}",
        "!\"air.max_textures\", i32 128}",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("@other") && !text.contains("@unused") && !text.contains("%pair.1"), "{text}");
}

#[test]
fn a_declaration_of_another_type_is_cast() {
    let caller =
        "declare i32 @g(i8*)\ndefine i32 @f(i8* %p) {\n  %1 = call i32 @g(i8* %p)\n  ret i32 %1\n}\n";
    let callee = "define i32 @g(i32* %p) {\n  %1 = load i32, i32* %p\n  ret i32 %1\n}\n";
    let text = linked(&[caller, callee], &[Root { input: 0, name: b"f" }], &LinkRules::default());
    assert!(text.contains("call i32 bitcast (i32 (i32*)* @g to i32 (i8*)*)(i8* %p)"), "{text}");
}

#[test]
fn constructors_are_kept() {
    let text = r#"
@llvm.global_ctors = appending global [2 x { i32, void ()*, i8* }] [{ i32, void ()*, i8* } { i32 65535, void ()* @init, i8* null }, { i32, void ()*, i8* } { i32 65535, void ()* @init.2, i8* null }]
@value = internal global i32 undef
@other = internal global i32 undef
@unused = internal global i32 undef
@start = internal externally_initialized constant i32 undef
define internal void @init() {
  %a = load i32, i32* @start
  store i32 %a, i32* @value
  ret void
}
define internal void @init.2() {
  store i32 1, i32* @other
  ret void
}
define i32 @entry() {
  %a = load i32, i32* @value
  ret i32 %a
}
!air.function_constants = !{!0}
!0 = !{i32* @start, !"int"}
"#;
    let text = linked(&[text], &[Root { input: 0, name: b"entry" }], &LinkRules::default());
    assert!(text.contains("[2 x { i32, void ()*, i8* }]") && text.contains("@start"), "{text}");
    assert!(text.contains("@other") && !text.contains("@unused"), "{text}");
    assert!(text.contains("!air.function_constants = !{!0}"), "{text}");
}

#[test]
fn what_is_missing_is_named_with_who_needs_it() {
    let caller = assembled(CALLER);
    let module = Module::parse(&caller, 0).expect("it is read");
    let bodies = module.bodies().expect("bodies");
    let linker = Linker::new(alloc::vec![LinkInput { module: &module, bodies: &bodies }]);
    let reach = linker.reach(&[Root { input: 0, name: b"entry" }]);
    let missing: Vec<_> =
        reach.missing().iter().map(|one| (one.name.as_slice(), one.user.1.as_slice())).collect();
    let mut names: Vec<_> = missing.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(names, [&b"helper"[..], b"table"]);
    assert!(missing.iter().all(|(_, user)| *user == b"entry"));
}

#[test]
fn two_strong_definitions_are_a_conflict() {
    let (one, two) = (assembled("define void @f() { ret void }"), assembled("define void @f() { ret void }"));
    let weak = assembled("define linkonce_odr void @f() { ret void }");
    let modules = [&weak, &one, &two].map(|file| Module::parse(file, 0).expect("it is read"));
    let bodies: Vec<_> = modules.iter().map(|module| module.bodies().expect("bodies")).collect();
    let inputs = modules.iter().zip(&bodies).map(|(module, bodies)| LinkInput { module, bodies });
    let linker = Linker::new(inputs.collect());
    assert_eq!(linker.definer(b"f"), Some(1));
    let conflicts: Vec<_> = linker.conflicts().iter().map(|one| (one.name.as_slice(), one.inputs)).collect();
    assert_eq!(conflicts, [(&b"f"[..], [1, 2])]);
}
