//! Damaged modules: reading and printing must end without a panic and in bounded memory.
//!
//! `UNSHADE_ROUNDS` sets the number of rounds per module, `UNSHADE_MODULES` names a folder of further modules.

use std::path::PathBuf;
use unshade_llvm::control_flow::ControlFlow;
use unshade_llvm::print::{self, Dialect, PrintOptions};
use unshade_llvm::source_map::SourceMap;
use unshade_llvm::statistics::Statistics;
use unshade_llvm::uses::{CallGraph, Uses};
use unshade_llvm::value::OperandKind;
use unshade_llvm::{BlockId, Module};

const NAMES: [&str; 12] = [
    "instructions",
    "exceptions",
    "symbols",
    "debug_info",
    "air_like",
    "upgrades",
    "expressions",
    "later",
    "thinlto",
    "two_modules",
    "use_lists",
    "equal_metadata",
];
const DIALECTS: [Dialect; 4] = [Dialect::Llvm14, Dialect::Dxc, Dialect::Llvm19, Dialect::Llvm22];
/// Maximum size of the text, far above that of any fixture: nested constants and types make text long.
const MAX_TEXT: usize = 64 << 20;

fn read(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(format!("{name}.bc"))).unwrap()
}

fn run(bytes: &[u8], dialect: Dialect) {
    let options = PrintOptions { dialect, module_id: Some("x") };
    for module in Module::parse_all(bytes, 0).into_iter().flatten().flatten() {
        let mut text = String::new();
        print::module(&module, &options, &mut text);
        assert!(text.len() < MAX_TEXT);
        text.clear();
        for index in 0..module.functions.len().min(2) {
            let _ = print::function(&module, index, &options, &mut text);
        }
        assert!(text.len() < MAX_TEXT);
        run_analyses(&module);
    }
}

/// Runs all analyses on a module.
fn run_analyses(module: &Module<'_>) {
    let bodies: Vec<_> = (0..module.functions.len()).filter_map(|at| module.body(at).ok()).collect();
    let mut statistics = Statistics::new(module);
    for body in &bodies {
        statistics.add(module, body);
        let flow = ControlFlow::new(body);
        assert_eq!(flow.graph().len(), body.blocks.len());
        assert!(Uses::of_body(body).of(OperandKind::Block(BlockId(0))).count() <= body.operands.len());
    }
    CallGraph::new(module, &bodies);
    Uses::of_module(module);
    let mut map = SourceMap::new(module);
    bodies.iter().for_each(|body| map.add(module, body));
}

/// A xorshift generator, so that all runs are the same.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

fn rounds(default: usize) -> usize {
    std::env::var("UNSHADE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Returns the fixtures and the modules of `UNSHADE_MODULES`.
fn modules() -> Vec<Vec<u8>> {
    let mut modules: Vec<Vec<u8>> = NAMES.iter().map(|name| read(name)).collect();
    if let Ok(folder) = std::env::var("UNSHADE_MODULES") {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        modules.extend(entries.map(|entry| std::fs::read(entry.path()).unwrap()));
    }
    modules.retain(|module| module.len() > 64);
    modules
}

#[test]
fn flipped_bits() {
    for original in modules() {
        let mut random = Random(0x2545_F491_4F6C_DD1D);
        for round in 0..rounds(600) {
            let mut bytes = original.clone();
            for _ in 0..=random.next(4) {
                let at = random.next(bytes.len());
                bytes[at] ^= 1 << random.next(8);
            }
            run(&bytes, DIALECTS[round % 3]);
        }
    }
}

#[test]
fn overwritten_words() {
    for original in modules() {
        let mut random = Random(88_172_645_463_325_252);
        for round in 0..rounds(300) {
            let mut bytes = original.clone();
            let at = random.next(bytes.len() - 4);
            let word = [0, u32::MAX, 1 << 31, 0x7FFF_FFFF, random.next(1 << 30) as u32][random.next(5)];
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            run(&bytes, DIALECTS[round % 3]);
        }
    }
}

#[test]
fn truncated() {
    for original in modules() {
        for length in (0..original.len()).step_by(original.len() / 200 + 1) {
            run(&original[..length], DIALECTS[length % 3]);
        }
    }
}

#[test]
fn spliced() {
    let all = modules();
    let mut random = Random(1_442_695_040_888_963_407);
    for round in 0..rounds(300) * all.len() / NAMES.len() {
        let mut bytes = all[random.next(all.len())].clone();
        let other = &all[random.next(all.len())];
        let length = 1 + random.next(64.min(other.len()).min(bytes.len()) - 1);
        let from = random.next(other.len() - length);
        let to = random.next(bytes.len() - length);
        bytes[to..to + length].copy_from_slice(&other[from..from + length]);
        run(&bytes, DIALECTS[round % 3]);
    }
}

#[test]
fn not_bitcode() {
    for bytes in [&b""[..], b"BC", b"BC\xC0\xDE", b"\xDE\xC0\x17\x0B", b"MTLB0123456789", &[0xFF; 100]] {
        assert!(Module::parse(bytes, 0).is_err());
    }
}
