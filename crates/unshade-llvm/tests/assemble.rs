//! Texts that LLVM refuses are refused, where LLVM says so; texts of older versions are upgraded. What LLVM does was found
//! out with `llvm-as` 14 and 19.

use unshade_llvm::Module;
use unshade_llvm::assemble::{AssembleOptions, Bitcode, SyntaxError, Version, bitcode};
use unshade_llvm::metadata::Metadata;

use Version::{Llvm14, Llvm19};

fn assemble(text: &str, version: Version) -> Result<Bitcode, Vec<SyntaxError>> {
    bitcode(text.as_bytes(), b"test.ll", &AssembleOptions { version })
}

/// Returns the line, the column and the message of the first error.
fn refused(text: &str, version: Version) -> (usize, usize, String) {
    let error = assemble(text, version).expect_err(text).remove(0);
    (error.line, error.column, error.message)
}

/// Assembles the body of a function that LLVM 19 takes or refuses.
fn in_function(line: &str) -> String {
    format!("define void @f(ptr %p, i32 %x) {{\n  {line}\n  ret void\n}}\n")
}

#[test]
fn the_verifier_says_where() {
    let undominated = "define i32 @f(i1 %x) {\n  br i1 %x, label %a, label %b\na:\n  %y = add i32 1, 2\n  br label %b\n\
        b:\n  ret i32 %y\n}\n";
    assert_eq!(refused(undominated, Llvm14).0, 7);
    let conflict = "@x = global i32 0\n\ndefine void @f() alwaysinline noinline {\n  ret void\n}\n";
    assert_eq!((refused(conflict, Llvm14).0, refused(conflict, Llvm14).1), (3, 13));
    let of_alias = "@a = alias i32, i32* @b\n@b = alias i32, i32* @a\n";
    assert_eq!(refused(of_alias, Llvm14).0, 1);
    let flags = "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"a\", i32 2}\n\n!1 = !{i32 77, !\"b\", i32 2}\n";
    assert!(assemble(flags, Llvm14).is_ok(), "what nothing refers to is not in the file");
    let flags = flags.replace("!{!0}", "!{!0, !1}");
    assert_eq!(refused(&flags, Llvm14).0, 1);
}

#[test]
fn both_versions_have_their_pointers() {
    assert_eq!(refused("define void @f(ptr %a) {\n  ret void\n}\n", Llvm14).1, 16);
    assert_eq!(
        refused("define void @f(ptr* %a) {\n  ret void\n}\n", Llvm19).2,
        "ptr* is invalid - use ptr instead"
    );
    assert!(assemble("define void @f(i8* %a) {\n  ret void\n}\n", Llvm19).is_ok());
}

#[test]
fn what_llvm_19_refuses() {
    for (text, line, column) in [
        ("target datalayout = \"e-i8:16\"\n", 1, 21),
        ("@g = internal dllexport global i32 0\n", 1, 6),
        ("@g = global target(\"t\") undef\n", 1, 1),
        ("@g = global target(\"t\") zeroinitializer\n", 1, 25),
        ("declare void @f(i8 range(i8 3, 3))\n", 1, 29),
        ("declare void @f(ptr initializes())\n", 1, 33),
        ("declare void @f(ptr initializes((4, 4)))\n", 1, 34),
        ("declare void @f() memory()\n", 1, 26),
        ("declare void @f() memory(argmem: read, write)\n", 1, 40),
        ("declare void @f(float nofpclass(0))\n", 1, 33),
        ("declare void @f(float nofpclass())\n", 1, 33),
        ("@g = global i8 0\n@p = global ptr getelementptr inrange(4, 4) (i8, ptr @g, i64 8)\n", 2, 39),
        ("@g = global i8 0, comdat\n\n@0 = global i8 0, comdat\n", 3, 19),
        ("$c = comdat any\n@g = global i8 0, comdat($d)\n@h = global i8 0\n", 2, 26),
        (&in_function("%a = alloca i32, addrspace(1), align 4"), 2, 34),
        (&in_function("%a = atomicrmw add ptr %p, <vscale x 2 x i32> zeroinitializer seq_cst"), 2, 30),
        (&in_function("call void asm \"\", \"~{x0},r\"(i32 1)"), 2, 13),
        (&in_function("call void %p(ptr asm \"\", \"\")"), 2, 20),
    ] {
        let found = refused(text, Llvm19);
        assert_eq!((found.0, found.1), (line, column), "{text}: {}", found.2);
    }
}

#[test]
fn symbolic_address_spaces() {
    let text = "target datalayout = \"A1-G2-P3\"\n@g = addrspace(\"G\") global i8 0\n\
        define void @f() {\n  %a = alloca i8, addrspace(\"A\")\n  ret void\n}\n";
    let bytes = assemble(text, Llvm19).unwrap().bytes;
    assert_eq!(Module::parse(&bytes, 0).unwrap().globals[0].symbol.address_space, 2);
    assert_eq!(refused(&text.replace("\"G\")", "\"X\")"), Llvm19).2, "invalid symbolic addrspace 'X'");
    assert_eq!(refused(text, Llvm14).0, 2);
}

#[test]
fn addresses_of_blocks_are_in_the_space_of_their_function() {
    let text = |space: &str| {
        format!(
            "define void @f() addrspace(1) {{\n  br label %b\nb:\n  ret void\n}}\n\
             @g = global ptr{space} blockaddress(@f, %b)\n"
        )
    };
    assert!(assemble(&text(" addrspace(1)"), Llvm19).is_ok());
    assert_eq!(refused(&text(""), Llvm19).0, 6);
}

fn names(bytes: &[u8]) -> Vec<String> {
    let module = Module::parse(bytes, 0).unwrap();
    module
        .functions
        .iter()
        .map(|function| String::from_utf8_lossy(&function.symbol.name).into_owned())
        .collect()
}

#[test]
fn intrinsics_are_declared_for_their_calls() {
    let text = in_function(
        "call void @llvm.trap()\n  %a = call i32 @llvm.umax(i32 %x, i32 1)\n  %b = call i8 @llvm.umax(i8 1, i8 2)\n  \
         %c = call i32 @llvm.umax.i32(i32 %x, i32 1)\n  call void @llvm.lifetime.start(i64 4, ptr %p)",
    );
    let expected = ["f", "llvm.lifetime.start.p0", "llvm.trap", "llvm.umax.i8", "llvm.umax.i32"];
    assert_eq!(names(&assemble(&text, Llvm19).unwrap().bytes), expected);
    for (line, message) in [
        ("call void @llvm.unknown()", "use of an undefined symbol"),
        ("%a = call i32 @llvm.umax(i32 1, i8 2)", "invalid intrinsic signature"),
        ("%a = call i32 @llvm.ctlz.i32(i32 1)", "invalid intrinsic signature"),
        ("store ptr @llvm.trap, ptr %p", "intrinsic can only be used as callee"),
    ] {
        assert_eq!(refused(&in_function(line), Llvm19).2, message, "{line}");
    }
}

const OLD: &str = "\
declare i32 @llvm.ctlz.i32(i32)
declare void @llvm.memset.p0i8.i64(i8*, i8, i64, i32, i1)
declare {}* @llvm.invariant.start(i64, i8*)
declare void @llvm.stackprotectorcheck(i8**)
define i32 @f(i8* %p, i8** %q, i32* %x) {
  call void @llvm.stackprotectorcheck(i8** %q)
  call void @llvm.memset.p0i8.i64(i8* %p, i8 0, i64 9, i32 4, i1 false)
  %start = call {}* @llvm.invariant.start(i64 1, i8* %p)
  %old = load i32, i32* %x, !tbaa !1
  %zeros = call i32 @llvm.ctlz.i32(i32 %old)
  ret i32 %zeros
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !\"PIC Level\", i32 2}
!1 = !{!\"int\", !2}
!2 = !{!\"root\"}
";

#[test]
fn old_texts_are_upgraded() {
    let bytes = assemble(OLD, Llvm14).unwrap().bytes;
    let expected = ["f", "llvm.ctlz.i32", "llvm.memset.p0i8.i64", "llvm.invariant.start.p0i8"];
    assert_eq!(names(&bytes), expected);
    let module = Module::parse(&bytes, 0).unwrap();
    let body = module.body(0).unwrap();
    assert_eq!(body.instructions.len(), 5);
    let arguments = body.instructions.iter().map(|call| body.operands_of(call).len());
    assert_eq!(arguments.collect::<Vec<_>>(), [5, 3, 1, 3, 1]);
    // The tag became an access path.
    let (_, attached) = body.attachments[0];
    let tag = body.attached[attached.start as usize].1;
    let (Metadata::Node(node), table) = module.metadata(Some(&body), tag).unwrap() else { panic!("no node") };
    assert_eq!(table.references(node).len(), 3);
    assert_eq!(module.flag(b"PIC Level"), Some(2));
}

#[test]
fn what_readers_upgrade_has_to_be_right_in_a_text() {
    let options =
        "!llvm.module.flags = !{!0}\n!0 = !{i32 6, !\"Linker Options\", !1}\n!1 = !{!2}\n!2 = !{!\"-lz\"}\n";
    assert_eq!(refused(options, Llvm14).0, 1);
    let indirect = "define void @f(i32* %p) {\n  call void asm \"\", \"*m\"(i32* %p)\n  ret void\n}\n";
    assert_eq!(refused(indirect, Llvm14).0, 2);
    assert!(assemble(&indirect.replace("(i32* %p)\n", "(i32* elementtype(i32) %p)\n"), Llvm14).is_ok());
}

const DEBUG_INFO: &str = "\
define void @f() !dbg !3 {
  ret void, !dbg !5
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!6}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: \"a\", directory: \"b\")
!2 = !DISubroutineType(types: !{})
!3 = distinct !DISubprogram(name: \"f\", scope: !1, file: !1, line: 1, type: !2, unit: !0)
!5 = !DILocation(line: 1, column: 1, scope: !3)
!6 = !{i32 2, !\"Debug Info Version\", i32 3}
";

#[test]
fn debug_info_that_is_not_valid_is_dropped() {
    let has_debug_info = |bitcode: &Bitcode| {
        let module = Module::parse(&bitcode.bytes, 0).unwrap();
        let body = module.body(0).unwrap();
        !module.named(b"llvm.dbg.cu").is_empty() && body.instructions[0].location != 0
    };
    let kept = assemble(DEBUG_INFO, Llvm19).unwrap();
    assert!(has_debug_info(&kept) && kept.warnings.is_empty());
    for (from, to) in [("i32 3}", "i32 2}"), ("type: !2", "type: !1")] {
        let dropped = assemble(&DEBUG_INFO.replace(from, to), Llvm19).unwrap();
        assert!(!has_debug_info(&dropped) && !dropped.warnings.is_empty(), "{to}");
    }
    // What other metadata refers to stays, and is checked.
    let kept_unit = DEBUG_INFO.replace("i32 3}", "i32 2}") + "!other = !{!0}\n";
    assert_eq!(refused(&kept_unit, Llvm19).2, "a unit is not listed in llvm.dbg.cu");
}

/// LLVM prints these names with a space too many.
#[test]
fn conventions_of_avr_handlers() {
    for (name, number) in [("avr_intrcc", 84), ("avr_signalcc ", 85)] {
        let bytes = assemble(&format!("declare {name} void @f()\n"), Llvm14).unwrap().bytes;
        assert_eq!(Module::parse(&bytes, 0).unwrap().functions[0].calling_convention, number);
    }
}

#[test]
fn exclusive_accesses_have_types_where_pointers_have_none() {
    let typed = "define i32 @f(i32* %p) {\n  %a = call i32 @llvm.arm.ldrex.p0i32(i32* %p)\n  ret i32 %a\n}\n\
        declare i32 @llvm.arm.ldrex.p0i32(i32*)\n";
    assert!(assemble(typed, Llvm14).is_ok());
    let untyped = in_function("%a = call i32 @llvm.arm.ldrex.p0(ptr %p)");
    assert_eq!(refused(&untyped, Llvm19).2, "an intrinsic needs elementtype on a pointer");
    // The names of accesses to pairs start alike.
    assert!(assemble(&in_function("%a = call { i32, i32 } @llvm.arm.ldrexd(ptr %p)"), Llvm19).is_ok());
}
