//! Runs modules of our own, written as LLVM assembly, in the interpreter of Metal.

mod faults;
mod hostile;
mod lanes;
mod numbers;

use unshade::decompiler::air;
use unshade::decompiler::ir::metal::interface::MetalProgram;
use unshade::llvm::Module;
use unshade::llvm::assemble::{AssembleOptions, Version, bitcode};
use unshade_emulate::metal::{Argument, Fault, Grid, Limits, Machine, Summary};

/// What all modules here begin with.
const HEAD: &str = r#"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v96:128:128-n8:16:32"
target triple = "air64-apple-macosx14.0.0"
!air.version = !{!0}
!air.language_version = !{!1}
!0 = !{i32 2, i32 6, i32 0}
!1 = !{!"Metal", i32 3, i32 1, i32 0}
"#;

/// A kernel `f` of a buffer of words and of the position of the thread in its threadgroup.
const KERNEL: &str = r#"
!air.kernel = !{!5}
!5 = !{void (i32 addrspace(1)*, i32)* @f, !6, !7}
!6 = !{}
!7 = !{!10, !11}
!10 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"uint", !"air.arg_name", !"words"}
!11 = !{i32 1, !"air.thread_index_in_threadgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"index"}
"#;

/// Returns the program of a module.
fn program(text: &str) -> MetalProgram {
    let text = format!("{HEAD}{text}");
    let options = AssembleOptions { version: Version::Llvm14 };
    let assembled = bitcode(text.as_bytes(), b"test", &options).unwrap_or_else(|errors| panic!("{errors:?}"));
    air::lift(&Module::parse(&assembled.bytes, 0).expect("it is read"))
}

/// Returns a module with the kernel `f`, whose body stores `%result` to the word of the thread.
fn module(body: &str, rest: &str) -> String {
    format!(
        "define void @f(i32 addrspace(1)* %words, i32 %index) {{\nentry:\n  %wide = zext i32 %index to i64\n  \
         %place = getelementptr i32, i32 addrspace(1)* %words, i64 %wide\n  %own = load i32, i32 addrspace(1)* %place\n\
         {body}\n  store i32 %result, i32 addrspace(1)* %place\n  ret void\n}}\n{rest}\n{KERNEL}"
    )
}

/// Runs a kernel `f` in one threadgroup on a buffer of words. Returns what is in the buffer then.
fn run(text: &str, words: &[u32], threads: u32) -> Result<(Vec<u32>, Summary), Fault> {
    let program = program(text);
    let mut machine = Machine::new(&program, Limits { steps: 100_000, ..Limits::default() });
    let buffer = machine.buffer("words", words.iter().flat_map(|word| word.to_le_bytes()).collect());
    let grid = Grid { groups: [1; 3], threads: [threads, 1, 1] };
    let summary = machine.run("f", grid, &[Argument::Buffer(buffer), Argument::Position])?;
    let bytes = machine.bytes(buffer).chunks_exact(4);
    Ok((bytes.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect(), summary))
}

/// Returns the words after a run of a kernel whose body computes `%result` from `%own`, its word, and `%index`.
fn words(body: &str, rest: &str, words: &[u32]) -> Vec<u32> {
    run(&module(body, rest), words, words.len() as u32).unwrap_or_else(|fault| panic!("{fault}")).0
}

/// Returns the fault of a run of such a kernel.
fn fault(body: &str, rest: &str, words: &[u32]) -> String {
    run(&module(body, rest), words, words.len() as u32).expect_err("it faults").to_string()
}
