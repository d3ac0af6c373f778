//! Modules that the Metal decompiler must survive: unsound, recursive, with jumps that no statement is, huge, with functions of
//! AIR that nobody knows, and thousands of changed ones. All are our own, as LLVM assembly.

use std::fmt::Write as _;
use std::time::{Duration, Instant};
use unshade::llvm::Module;
use unshade::llvm::assemble::{AssembleOptions, Version, bitcode};
use unshade::msl::{self, Metal};
use unshade_tests::mutate::{Random, mutate};
use unshade_tests::{fuzz_targets, parallel};

/// Maximum duration of any operation, in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Number of changed modules, half of them as bitcode, half as text.
const MUTANTS: u64 = 5_000;

/// Our own modules: as bitcode, and as text.
const FIXTURES: [(&[u8], &str); 10] = [
    (include_bytes!("../fixtures/air/kernel.bc"), include_str!("../fixtures/air/kernel.ll")),
    (include_bytes!("../fixtures/air/vertex.bc"), include_str!("../fixtures/air/vertex.ll")),
    (include_bytes!("../fixtures/air/fragment.bc"), include_str!("../fixtures/air/fragment.ll")),
    (include_bytes!("../fixtures/air/reduce.bc"), include_str!("../fixtures/air/reduce.ll")),
    (include_bytes!("../fixtures/air/library.bc"), include_str!("../fixtures/air/library.ll")),
    (include_bytes!("../fixtures/air/traced.bc"), include_str!("../fixtures/air/traced.ll")),
    (include_bytes!("../fixtures/air/mesh.bc"), include_str!("../fixtures/air/mesh.ll")),
    (include_bytes!("../fixtures/air/object.bc"), include_str!("../fixtures/air/object.ll")),
    (include_bytes!("../fixtures/air/visible.bc"), include_str!("../fixtures/air/visible.ll")),
    (include_bytes!("../fixtures/air/extern.bc"), include_str!("../fixtures/air/extern.ll")),
];

/// A kernel `f` with a buffer of floats: what follows a body.
const KERNEL: &str = r#"
target triple = "air64-apple-macosx14.0.0"
!air.version = !{!0}
!air.language_version = !{!1}
!0 = !{i32 2, i32 6, i32 0}
!1 = !{!"Metal", i32 3, i32 1, i32 0}
!air.kernel = !{!5}
!5 = !{void (float addrspace(1)*, i32)* @f, !6, !7}
!6 = !{}
!7 = !{!10, !11}
!10 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"data"}
!11 = !{i32 1, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"index"}
"#;

/// Decompiles a text in limited time.
fn decompile(what: &str, text: &str) -> Metal {
    let options = AssembleOptions { version: Version::Llvm14 };
    let file =
        bitcode(text.as_bytes(), b"hostile.ll", &options).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let module = Module::parse(&file.bytes, 0).unwrap_or_else(|error| panic!("{what}: {error}"));
    let start = Instant::now();
    let metal = msl::module(&module, &|_, _| true);
    assert!(start.elapsed() < PATIENCE, "{what}: {:?}", start.elapsed());
    metal
}

fn kernel(what: &str, body: &str, others: &str) -> Metal {
    decompile(
        what,
        &format!("define void @f(float addrspace(1)* %data, i32 %index) {{\n{body}\n}}\n{others}{KERNEL}"),
    )
}

#[test]
fn recursive_functions_call_themselves() {
    let metal = kernel(
        "recursion",
        "  %value = call float @one(float 1.0, i32 %index)\n  store float %value, float addrspace(1)* %data\n  ret void",
        "define float @one(float %x, i32 %n) {\n  %end = icmp eq i32 %n, 0\n  br i1 %end, label %last, label %more\n\
         more:\n  %less = sub i32 %n, 1\n  %y = call float @two(float %x, i32 %less)\n  ret float %y\nlast:\n  ret float %x\n}\n\
         define float @two(float %x, i32 %n) {\n  %y = fadd float %x, %x\n  %z = call float @one(float %y, i32 %n)\n  \
         ret float %z\n}\n",
    );
    let text = metal.text();
    assert_eq!(metal.functions.len(), 3);
    for call in ["one(", "two("] {
        assert!(text.matches(call).count() >= 2, "{text}");
    }
}

#[test]
fn what_no_statement_is_is_reported() {
    // Two blocks that jump to each other, both entered from outside.
    let metal = kernel(
        "irreducible",
        "entry:\n  %c = icmp ult i32 %index, 7\n  br i1 %c, label %left, label %right\nleft:\n  \
         %a = phi i32 [ %index, %entry ], [ %d, %right ]\n  %b = add i32 %a, 3\n  %p = icmp ult i32 %b, 90\n  \
         br i1 %p, label %right, label %done\nright:\n  %x = phi i32 [ 5, %entry ], [ %b, %left ]\n  %d = mul i32 %x, 3\n  \
         %q = icmp ult i32 %d, 70\n  br i1 %q, label %left, label %done\ndone:\n  \
         %z = phi i32 [ %b, %left ], [ %d, %right ]\n  %wide = zext i32 %z to i64\n  \
         %at = getelementptr float, float addrspace(1)* %data, i64 %wide\n  store float 1.0, float addrspace(1)* %at\n  \
         ret void",
        "",
    );
    assert_eq!(metal.gotos > 0, metal.unknown_kinds().contains("a jump"), "{}", metal.text());
}

#[test]
fn unknown_functions_of_air_are_declared_by_their_names() {
    let metal = kernel(
        "unknown",
        "  %value = call float @air.not_a_function.f32(float 2.0)\n  store float %value, float addrspace(1)* %data\n  ret void",
        "declare float @air.not_a_function.f32(float)\n",
    );
    assert_eq!(
        metal.unknown_kinds().into_iter().collect::<Vec<_>>(),
        ["the function air.not_a_function.f32"]
    );
    let text = metal.text();
    assert!(text.lines().any(|line| line.contains("not_a_function") && line.ends_with(");")), "{text}");
}

/// Each in the text of a sound module: an operand, a type or metadata that says something else than the code.
#[test]
fn unsound_modules_have_some_text() {
    let store = "  store float 1.0, float addrspace(1)* %data\n  ret void";
    let sound = format!("define void @f(float addrspace(1)* %data, i32 %index) {{\n{store}\n}}\n{KERNEL}");
    assert!(decompile("sound", &sound).unknown.is_empty());
    for (what, from, to) in [
        ("no such function", "void (float addrspace(1)*, i32)* @f, !6", "null, !6"),
        ("no arguments", "!{!10, !11}", "!{}"),
        ("arguments in themselves", "!{!10, !11}", "!{!7, !5}"),
        ("an argument twice", "!{!10, !11}", "!{!10, !10, !11, !11}"),
        ("an index out of range", "!10 = !{i32 0,", "!10 = !{i32 4000000000,"),
        ("a type that is none", "!\"float\", !\"air.arg_name\"", "!\"((\", !\"air.arg_name\""),
        ("a name that is none", "!\"data\"", "!\"da ta\\0A*/\\00\""),
        ("a size that is none", "!\"air.arg_type_size\", i32 4", "!\"air.arg_type_size\", i32 -1"),
        ("an attribute that is none", "air.thread_position_in_grid", "x]] y; //\\0A#include"),
        ("undefined inputs", "store float 1.0", "store float undef"),
        ("a null pointer", "float addrspace(1)* %data\n", "float addrspace(1)* null\n"),
        ("an endless loop", "  ret void", "  br label %l\nl:\n  br label %l"),
        ("no way out", "  ret void", "  unreachable"),
        (
            "code that nothing reaches",
            "  ret void",
            "  ret void\nl:\n  %a = phi i32 [ %a, %l ]\n  br label %l",
        ),
        ("a division by zero", "store float 1.0", "%q = udiv i32 %index, 0\n  store float 1.0"),
        ("a shift by too much", "store float 1.0", "%q = shl i32 %index, 40\n  store float 1.0"),
        (
            "a call of itself",
            "  ret void",
            "  call void @f(float addrspace(1)* %data, i32 %index)\n  ret void",
        ),
    ] {
        let text = sound.replacen(from, to, 1);
        assert_ne!(text, sound, "{what}");
        let metal = decompile(what, &text);
        let is_broken =
            |line: &str| line.contains(['\n', '\0']) || !line.starts_with("//") && line.contains("y; //");
        assert!(!metal.lines.iter().any(|line| is_broken(&line.text)), "{what}: {}", metal.text());
        fuzz_targets::metal_source(text.as_bytes());
    }
}

#[test]
fn fifty_thousand_instructions() {
    let wide = |count: usize| {
        let mut body = String::new();
        for at in 0..count {
            let _ = writeln!(body, "  %p{at} = getelementptr float, float addrspace(1)* %data, i64 {at}");
            let _ = writeln!(body, "  store float {at}.0, float addrspace(1)* %p{at}");
        }
        body + "  ret void"
    };
    let metal = kernel("stores", &wide(25_000), "");
    assert!(metal.lines.len() > 25_000 && metal.unknown.is_empty());

    // One expression of many operations, and a value that all others use.
    let mut chain = String::from("  %v0 = load float, float addrspace(1)* %data\n");
    for at in 1..25_000 {
        let _ = writeln!(chain, "  %v{at} = fadd float %v{}, 1.0", at - 1);
    }
    let metal =
        kernel("a chain", &(chain + "  store float %v24999, float addrspace(1)* %data\n  ret void"), "");
    assert!(metal.unknown.is_empty());

    // A diamond after a diamond, and one in the other.
    let (mut row, mut nest) = (String::from("  br label %t0\n"), String::from("  br label %t0\n"));
    for at in 0..5_000 {
        let next = at + 1;
        let _ = writeln!(
            row,
            "t{at}:\n  %c{at} = icmp ult i32 %index, {at}\n  br i1 %c{at}, label %y{at}, label %t{next}\ny{at}:\n  \
             store float {at}.0, float addrspace(1)* %data\n  br label %t{next}"
        );
    }
    for at in 0..1_000 {
        let next = at + 1;
        let _ = writeln!(
            nest,
            "t{at}:\n  %c{at} = icmp ugt i32 %index, {at}\n  br i1 %c{at}, label %t{next}, label %t1000"
        );
    }
    let metal = kernel("diamonds", &(row + "t5000:\n  ret void"), "");
    assert_eq!(metal.gotos, 0);
    kernel("a nest", &(nest + "t1000:\n  ret void"), "");
}

#[test]
fn mutants() {
    let count = MUTANTS / 2 / FIXTURES.len() as u64;
    let jobs: Vec<(usize, u64)> =
        (0..FIXTURES.len()).flat_map(|fixture| (0..count).map(move |seed| (fixture, seed))).collect();
    let start = Instant::now();
    parallel::for_each(&jobs, |(fixture, seed)| {
        let (bytes, text) = FIXTURES[*fixture];
        let mut random = Random::new(seed * FIXTURES.len() as u64 + *fixture as u64);
        let mut changed = bytes.to_vec();
        mutate(&mut changed, &[], &mut random);
        fuzz_targets::metal_source(&changed);
        fuzz_targets::metal_source(changed_text(text, &mut random).as_bytes());
    });
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

/// Replaces words of a text by others of it: operands, types, operations and numbers, often of the same kind.
fn changed_text(text: &str, random: &mut Random) -> String {
    let words: Vec<&str> = text.split_inclusive([' ', ',', '\n', '(', ')']).collect();
    let kind =
        |word: &str| word.chars().next().map(|first| (first.is_ascii_digit(), first.is_alphabetic(), first));
    let mut changed = words.clone();
    for _ in 0..=random.below(3) {
        let at = random.below(words.len());
        let (old, new) = (words[at], words[random.below(words.len())]);
        if kind(old) == kind(new) || random.below(8) == 0 {
            changed[at] = new;
        }
    }
    changed.concat()
}
