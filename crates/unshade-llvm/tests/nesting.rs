//! Types and constants that nest deep, or are long, are printed whole. What a limit cuts is reported.

use unshade_core::Diagnostics;
use unshade_llvm::Module;
use unshade_llvm::print::{self, PrintOptions};
use unshade_llvm::tree::{Block, Item, Part, Stream, Tree, UNABBREVIATED};

/// Block ids.
const MODULE: u32 = 8;
const CONSTANTS: u32 = 11;
const TYPES: u32 = 17;

/// Records: of types, of constants, of a module.
const INTEGER: u32 = 7;
const POINTER: u32 = 8;
const ARRAY: u32 = 11;
const STRUCT_ANON: u32 = 18;
const SETTYPE: u32 = 1;
const NULL: u32 = 2;
const CST_INTEGER: u32 = 4;
const AGGREGATE: u32 = 7;
const CE_BINOP: u32 = 10;
const CE_CAST: u32 = 11;
const VERSION: u32 = 1;
const GLOBALVAR: u32 = 7;

type Record = (u32, Vec<u64>);

/// Returns a module of one global variable. Its type is the last one, its value the last constant; constants have numbers from
/// 1 on.
fn module(types: &[Record], constants: &[Record]) -> Vec<u8> {
    let block = |id, records: &[Record]| {
        let mut block = Block::new(id, 4);
        records.iter().for_each(|(code, operands)| block.push(UNABBREVIATED, *code, operands));
        Item::Block(Box::new(block))
    };
    let last = constants.iter().filter(|(code, _)| *code != SETTYPE).count() as u64;
    let mut module = Block::new(MODULE, 3);
    module.push(UNABBREVIATED, VERSION, &[1]);
    module.items.push(block(TYPES, types));
    // The flags are those of an explicit type; the linkage is external.
    module.push(UNABBREVIATED, GLOBALVAR, &[types.len() as u64 - 1, 2, last + 1, 0, 0, 0]);
    module.items.push(block(CONSTANTS, constants));
    Tree { parts: vec![Part::Stream(Stream { blocks: vec![module] })] }.write().unwrap()
}

/// Returns the line of the variable, and what is reported.
fn printed(bytes: &[u8]) -> (String, Diagnostics) {
    let module = Module::parse(bytes, 0).unwrap();
    assert!(module.diagnostics.is_empty(), "{:?}", module.diagnostics.iter().next());
    let mut text = String::new();
    let findings = print::module(&module, &PrintOptions::default(), &mut text);
    let line = text.lines().find(|line| line.starts_with("@0 = ")).unwrap();
    (line.to_owned(), findings)
}

fn array(depth: usize) -> String {
    format!("{}i64{}", "[1 x ".repeat(depth), "]".repeat(depth))
}

#[test]
fn arrays_nest_deep() {
    const DEPTH: usize = 400;
    let mut types = vec![(INTEGER, vec![64])];
    let mut constants = vec![(SETTYPE, vec![0]), (CST_INTEGER, vec![14])];
    for depth in 1..=DEPTH as u64 {
        types.push((ARRAY, vec![1, depth - 1]));
        constants.extend([(SETTYPE, vec![depth]), (AGGREGATE, vec![depth])]);
    }
    let (line, findings) = printed(&module(&types, &constants));
    assert!(findings.is_empty(), "{:?}", findings.iter().next());
    let open: String = (0..DEPTH).rev().map(|depth| format!("[{} ", array(depth))).collect();
    assert_eq!(line, format!("@0 = global {} {open}7{}", array(DEPTH), "]".repeat(DEPTH)));
}

/// Types and constants of which one is an address, which no expression of can be evaluated: number 2 of an `i64`.
fn address() -> ([Record; 2], Vec<Record>) {
    const POINTER_TO_INTEGER: u64 = 9;
    let types = [(POINTER, vec![1, 0]), (INTEGER, vec![64])];
    let constants =
        vec![(SETTYPE, vec![1]), (CST_INTEGER, vec![14]), (CE_CAST, vec![POINTER_TO_INTEGER, 0, 0])];
    (types, constants)
}

/// The operation of `sub`.
const SUBTRACT: u64 = 1;

/// The stack of a thread does not limit how deep expressions nest.
#[test]
fn expressions_nest_deep() {
    const DEPTH: usize = 100_000;
    let (types, mut constants) = address();
    constants.extend((2..DEPTH as u64 + 2).map(|last| (CE_BINOP, vec![SUBTRACT, 1, last])));
    let bytes = module(&types, &constants);
    let small_stack = std::thread::Builder::new().stack_size(256 << 10);
    let (line, findings) = small_stack.spawn(move || printed(&bytes)).unwrap().join().unwrap();
    assert!(findings.is_empty(), "{:?}", findings.iter().next());
    let (open, close) = ("sub (i64 7, i64 ".repeat(DEPTH), ")".repeat(DEPTH));
    let address = "ptrtoint (i64* @0 to i64)";
    assert!(line == format!("@0 = global i64 {open}{address}{close}"), "{}", &line[..100]);
}

#[test]
fn types_are_long() {
    const FIELDS: usize = 50_000;
    let types = [(INTEGER, vec![64]), (STRUCT_ANON, [0].into_iter().chain([0; FIELDS]).collect())];
    let (line, findings) = printed(&module(&types, &[(SETTYPE, vec![1]), (NULL, vec![])]));
    assert!(findings.is_empty(), "{:?}", findings.iter().next());
    let fields = ["i64"; FIELDS].join(", ");
    assert!(line == format!("@0 = global {{ {fields} }} zeroinitializer"), "{}", &line[..100]);
}

/// Types and constants of which each contains the last twice are cut, with an error.
#[test]
fn what_is_cut_is_reported() {
    const LEVELS: u64 = 60;
    let mut types = vec![(INTEGER, vec![64])];
    types.extend((1..=LEVELS).map(|level| (STRUCT_ANON, vec![0, level - 1, level - 1])));
    let (line, findings) = printed(&module(&types, &[(SETTYPE, vec![LEVELS]), (NULL, vec![])]));
    assert!(line.contains("<unknown type>") && line.len() < 64 << 20, "{}", line.len());
    assert!(findings.has_errors());

    let (types, mut constants) = address();
    constants.extend((2..LEVELS + 2).map(|last| (CE_BINOP, vec![SUBTRACT, last, last])));
    let (line, findings) = printed(&module(&types, &constants));
    assert!(line.contains("<too many constants>") && line.len() < 64 << 20, "{}", line.len());
    assert!(findings.has_errors());
}

/// A constant that contains itself is reported once.
#[test]
fn cycles_are_reported() {
    let constants = [(SETTYPE, vec![0]), (CE_BINOP, vec![0, 2, 2]), (CE_BINOP, vec![0, 1, 1])];
    let (line, findings) = printed(&module(&[(INTEGER, vec![64])], &constants));
    assert!(line.contains("<constant within itself>"), "{line}");
    assert!(findings.has_errors());
}
