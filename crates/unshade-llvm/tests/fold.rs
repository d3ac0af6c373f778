//! Constant expressions of a text are what LLVM makes of them.

use unshade_llvm::Module;
use unshade_llvm::assemble::{self, AssembleOptions, Version};
use unshade_llvm::print::{self, Dialect, PrintOptions};
use unshade_llvm::write::{self, WriteOptions};

const SYMBOLS: &str = "\
@a = global i32 1, align 8
@weak = extern_weak global i32
@array = global [10 x i32] zeroinitializer
@grid = global [3 x [4 x i8]] zeroinitializer
";

/// Assembles a text of one variable, and returns the line of it that is printed.
fn folded(version: Version, line: &str) -> String {
    let text = format!("{SYMBOLS}{line}\n@later = global [6 x i64] zeroinitializer\n");
    let assembled = assemble::assemble(text.as_bytes(), &AssembleOptions { version }).unwrap();
    let options = WriteOptions { version, ..WriteOptions::default() };
    let bytes = write::module(&assembled.input(), &options).unwrap();
    let dialect = if version == Version::Llvm14 { Dialect::Llvm14 } else { Dialect::Llvm19 };
    let module = Module::parse(&bytes, 0).unwrap();
    let mut printed = String::new();
    let findings = print::module(&module, &PrintOptions { dialect, ..PrintOptions::default() }, &mut printed);
    assert!(findings.is_empty(), "{:?}", findings.iter().next());
    printed.lines().find(|line| line.starts_with("@x = ")).unwrap()["@x = global ".len()..].to_owned()
}

/// What `llvm-as` and `llvm-dis` of LLVM 14 make of expressions.
const EARLIER: &[(&str, &str)] = &[
    ("i32 add (i32 1, i32 2)", "i32 3"),
    ("i8 sdiv (i8 -128, i8 -1)", "i8 poison"),
    ("i32 xor (i32 undef, i32 undef)", "i32 0"),
    ("i32 mul (i32 undef, i32 3)", "i32 undef"),
    ("double fdiv (double 1.0, double 4.0)", "double 2.500000e-01"),
    ("half fptrunc (double 65520.0 to half)", "half 0xH7C00"),
    ("i8 fptosi (double 300.0 to i8)", "i8 poison"),
    ("i1 icmp ne (i32* @a, i32* @weak)", "i1 icmp ne (i32* @a, i32* @weak)"),
    ("i1 icmp eq (i32* @a, i32* null)", "i1 false"),
    ("i64 and (i64 ptrtoint (i32* @a to i64), i64 7)", "i64 0"),
    (
        "<2 x i32> shufflevector (<2 x i32> <i32 1, i32 2>, <2 x i32> undef, <2 x i32> <i32 1, i32 0>)",
        "<2 x i32> <i32 2, i32 1>",
    ),
    ("i32 extractelement (<2 x i32> <i32 1, i32 2>, i32 7)", "i32 poison"),
    ("i32 select (i1 true, i32 4, i32 5)", "i32 4"),
    (
        "i16 trunc (i32 or (i32 zext (i16 ptrtoint (i32* @a to i16) to i32), i32 65536) to i16)",
        "i16 ptrtoint (i32* @a to i16)",
    ),
    (
        "i32* getelementptr inbounds (i32, i32* getelementptr inbounds ([10 x i32], [10 x i32]* @array, i64 0, i64 0), i64 3)",
        "i32* getelementptr inbounds ([10 x i32], [10 x i32]* @array, i64 0, i64 3)",
    ),
    (
        "i8* getelementptr ([3 x [4 x i8]], [3 x [4 x i8]]* @grid, i64 0, i64 0, i64 6)",
        "i8* getelementptr inbounds ([3 x [4 x i8]], [3 x [4 x i8]]* @grid, i64 0, i64 1, i64 2)",
    ),
    (
        "i32* bitcast ([10 x i32]* @array to i32*)",
        "i32* getelementptr inbounds ([10 x i32], [10 x i32]* @array, i32 0, i32 0)",
    ),
    // A symbol that is defined later.
    (
        "i64* getelementptr ([6 x i64], [6 x i64]* @later, i64 0, i64 2)",
        "i64* getelementptr inbounds ([6 x i64], [6 x i64]* @later, i64 0, i64 2)",
    ),
];

/// The same of LLVM 19.
const LATER: &[(&str, &str)] = &[
    ("i64 sub (i64 ptrtoint (ptr @a to i64), i64 0)", "i64 ptrtoint (ptr @a to i64)"),
    ("i32 add (i32 2147483647, i32 1)", "i32 -2147483648"),
    ("ptr getelementptr ([10 x i32], ptr @array, i64 0, i64 undef)", "ptr @array"),
    (
        "ptr getelementptr ([10 x i32], ptr @array, i64 0, i64 2)",
        "ptr getelementptr ([10 x i32], ptr @array, i64 0, i64 2)",
    ),
    ("i64 trunc (i128 ptrtoint (ptr @a to i128) to i64)", "i64 ptrtoint (ptr @a to i64)"),
    ("<2 x i32> insertelement (<2 x i32> poison, i32 5, i32 1)", "<2 x i32> <i32 poison, i32 5>"),
];

#[test]
fn expressions_are_folded() {
    for &(expression, wanted) in EARLIER {
        let wanted = wanted.to_owned();
        let found = folded(Version::Llvm14, &format!("@x = global {expression}"));
        assert_eq!(found, wanted, "{expression}");
    }
    for &(expression, wanted) in LATER {
        assert_eq!(folded(Version::Llvm19, &format!("@x = global {expression}")), wanted, "{expression}");
    }
}

/// What would take too much time or memory stays an expression.
#[test]
fn large_constants_stay_expressions() {
    let cases = [
        "i8388608 xor (i8388608 -1, i8388608 1)",
        "<4294967295 x i8> xor (<4294967295 x i8> undef, <4294967295 x i8> undef)",
        "<8388608 x i1> bitcast (i8388608 -1 to <8388608 x i1>)",
    ];
    for case in cases {
        let operation = case.split(' ').find(|word| ["xor", "bitcast"].contains(word)).unwrap();
        let text = format!("@x = global {case}\n");
        let assembled =
            assemble::assemble(text.as_bytes(), &AssembleOptions { version: Version::Llvm14 }).unwrap();
        let module = &assembled.module;
        let value = module.globals[0].initializer.unwrap();
        let (constant, constants) = module.constant(None, value).unwrap();
        let unshade_llvm::constants::Constant::Expression(at) = constant else {
            panic!("{case}: {constant:?}")
        };
        assert_eq!(constants.expression(at).unwrap().opcode.mnemonic(), operation);
    }
}
