//! The byte ranges of the file that the lines of a listing were decoded from.

use std::ops::Range;
use std::path::PathBuf;
use unshade_core::{Token, TokenSink};
use unshade_llvm::print::{self, Dialect, PrintOptions};
use unshade_llvm::source_map::SourceMap;
use unshade_llvm::{FunctionBody, Module, Opcode};

const NAMES: [&str; 5] = ["instructions", "exceptions", "symbols", "debug_info", "air_like"];
/// The offset of the module in a larger file.
const BASE: u64 = 0x1_0000;

fn read(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(format!("{name}.bc"))).unwrap()
}

/// Collects lines with the range that was set at their start.
#[derive(Default)]
struct Lines {
    lines: Vec<(Range<u64>, String)>,
    line: String,
    range: Range<u64>,
    line_range: Range<u64>,
}

impl TokenSink for Lines {
    fn token(&mut self, token: Token<'_>) {
        for (at, part) in token.text.split('\n').enumerate() {
            if at > 0 {
                self.lines.push((self.line_range.clone(), std::mem::take(&mut self.line)));
            }
            if self.line.is_empty() {
                self.line_range = self.range.clone();
            }
            self.line.push_str(part);
        }
    }

    fn source(&mut self, range: Range<u64>) {
        self.range = range;
    }

    fn wants_sources(&self) -> bool {
        true
    }

    fn mark(&self) -> usize {
        assert!(self.line.is_empty(), "a mark inside a line");
        self.lines.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.lines.truncate(mark);
        self.line.clear();
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = Self::default();
        write(&mut part);
        self.lines.splice(mark..mark, part.lines);
    }
}

fn lines(bytes: &[u8], dialect: Dialect) -> Vec<(Range<u64>, String)> {
    let module = Module::parse(bytes, BASE).unwrap();
    let options = PrintOptions { dialect, ..PrintOptions::default() };
    let mut lines = Lines::default();
    print::module(&module, &options, &mut lines);
    let mut plain = String::new();
    print::module(&module, &options, &mut plain);
    let text: String = lines.lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    assert_eq!(text, plain);
    lines.lines
}

#[test]
fn lines_have_the_range_of_their_record() {
    for name in NAMES {
        let bytes = read(name);
        let file = BASE..BASE + bytes.len() as u64;
        for dialect in [Dialect::Llvm14, Dialect::Dxc, Dialect::Llvm19, Dialect::Llvm22] {
            for (range, line) in lines(&bytes, dialect) {
                let first = line.split(' ').next().unwrap_or_default();
                let is_record = line.starts_with("  %")
                    || line.starts_with("  store ")
                    || ["define", "declare", "target", "source_filename"].contains(&first)
                    || (first.starts_with(['@', '%']) && line.contains(" = "));
                let is_mark =
                    line.is_empty() || ["}", ";", "attributes"].contains(&first) || first.ends_with(':');
                assert!(!is_record || !range.is_empty(), "{name} {dialect:?}: {line}");
                assert!(!is_mark || range.is_empty(), "{name}: {line}");
                assert!(range.is_empty() || (file.start <= range.start && range.end <= file.end));
            }
        }
    }
}

fn bodies(module: &Module<'_>) -> Vec<FunctionBody> {
    let defined = (0..module.functions.len()).filter(|&at| !module.functions[at].declaration);
    defined.map(|at| module.body(at).unwrap()).collect()
}

/// Records of instructions without locations and bundles are adjacent.
#[test]
fn instruction_records_are_adjacent() {
    let mut adjacent = 0;
    for name in ["instructions", "air_like"] {
        let bytes = read(name);
        let module = Module::parse(&bytes, BASE).unwrap();
        let bodies = bodies(&module);
        let mut map = SourceMap::new(&module);
        bodies.iter().for_each(|body| map.add(&module, body));
        for body in &bodies {
            for index in 1..body.instructions.len() as u32 {
                let before = map.instruction(body.function, index - 1);
                let after = map.instruction(body.function, index);
                assert!(before.start < after.end && before.end <= after.end);
                let instruction = &body.instructions[index as usize];
                if instruction.opcode == Opcode::Call || instruction.location != 0 {
                    continue;
                }
                adjacent += 1;
                // Adjacent records may share a byte.
                assert!(before.end == after.start || before.end == after.start + 1, "{name}: {index}");
            }
            let past = body.instructions.len() as u32;
            assert!(map.instruction(body.function, past).is_empty());
        }
    }
    assert!(adjacent > 60);
}

#[test]
fn nodes_have_ranges() {
    let with_bytes = |name: &str| {
        let lines = lines(&read(name), Dialect::Llvm14);
        let nodes = lines.into_iter().filter(|(_, line)| line.starts_with('!'));
        nodes.map(|(range, line)| (!range.is_empty(), line)).collect::<Vec<_>>()
    };
    for (has_bytes, line) in with_bytes("air_like") {
        assert!(has_bytes, "{line}");
    }
    // Locations of instructions are not nodes in the file.
    for (has_bytes, line) in with_bytes("debug_info") {
        assert!(has_bytes || line.contains("!DILocation("), "{line}");
    }
}

#[test]
fn range_of_the_source_filename() {
    let bytes = read("air_like");
    let source = b"kernel.metal";
    let lines = lines(&bytes, Dialect::Llvm14);
    let (range, _) = lines.iter().find(|(_, line)| line.starts_with("source_filename")).unwrap();
    // 7 or 8 bits for each character, and the start of the record.
    let least = source.len() as u64 * 7 / 8;
    assert!((least..least + 8).contains(&(range.end - range.start)), "{range:?}");
}
