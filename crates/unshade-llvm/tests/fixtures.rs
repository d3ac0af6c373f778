//! Compares our text with texts of `llvm-dis` in the repository, and checks the model of the same modules.

use std::path::PathBuf;
use unshade_core::{Token, TokenKind, TokenSink};
use unshade_llvm::print::{self, Dialect, PrintOptions};
use unshade_llvm::{Module, Opcode};

const NAMES: [&str; 13] = [
    "instructions",
    "exceptions",
    "symbols",
    "debug_info",
    "air_like",
    "upgrades",
    "thinlto",
    "use_lists",
    "equal_metadata",
    "locations",
    "strict_calls",
    "target_intrinsics",
    "earlier",
];
/// Modules with a text of LLVM 22 only, besides those of [`NAMES_19`].
const NAMES_22: [&str; 5] = ["newest", "newest_debug_info", "markers", "debug_info", "air_like"];
const NAMES_19: [&str; 14] = [
    "upgrades",
    "expressions",
    "later",
    "equal_metadata",
    "strict_calls",
    "target_intrinsics",
    "kernels",
    "branch_protection",
    "nvidia_intrinsics",
    "rounding",
    "earlier",
    "rebuilt_calls",
    "amd_accesses",
    "type_tags",
];

fn read(name: &str, extension: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(format!("{name}.{extension}"))).unwrap()
}

fn text(bytes: &[u8], dialect: Dialect, name: Option<&str>) -> String {
    let module = Module::parse(bytes, 0).unwrap();
    assert!(module.diagnostics.is_empty(), "{:?}", module.diagnostics.iter().next());
    let mut text = String::new();
    let findings = print::module(&module, &PrintOptions { dialect, module_id: name }, &mut text);
    assert!(findings.is_empty(), "{:?}", findings.iter().next());
    text
}

fn compare(ours: &str, name: &str, extension: &str) {
    let theirs = String::from_utf8(read(name, extension)).unwrap();
    for (at, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "{name}.{extension}:{}", at + 1);
    }
    assert_eq!(ours.len(), theirs.len(), "{name}");
}

#[test]
fn matches_llvm_14() {
    for name in NAMES {
        compare(&text(&read(name, "bc"), Dialect::Llvm14, Some(&format!("{name}.bc"))), name, "ll");
    }
}

#[test]
fn matches_llvm_19() {
    for name in NAMES_19 {
        compare(&text(&read(name, "bc"), Dialect::Llvm19, Some(&format!("{name}.bc"))), name, "19.ll");
    }
}

#[test]
fn matches_llvm_22() {
    for name in NAMES_22.iter().chain(&NAMES_19) {
        compare(&text(&read(name, "bc"), Dialect::Llvm22, Some(&format!("{name}.bc"))), name, "22.ll");
    }
}

#[test]
fn what_later_versions_added_is_printed_in_all_dialects() {
    for dialect in [Dialect::Llvm14, Dialect::Llvm19] {
        let text = text(&read("newest", "bc"), dialect, None);
        for part in
            ["icmp samesign ult", "fptrunc fast double", "atomicrmw usub_cond", "ptrtoaddr", "captures(none)"]
        {
            assert!(text.contains(part), "{part}");
        }
    }
}

#[test]
fn all_modules_of_a_stream() {
    let bytes = read("two_modules", "bc");
    let modules = Module::parse_all(&bytes, 0).unwrap();
    assert_eq!(modules.len(), 2);
    let options = PrintOptions { dialect: Dialect::Llvm19, module_id: Some("two_modules.bc") };
    let mut text = String::new();
    for module in modules {
        assert!(print::module(&module.unwrap(), &options, &mut text).is_empty());
    }
    compare(&text, "two_modules", "19.ll");
    let summary = Module::parse(&bytes, 0).unwrap().summary(b';').unwrap().0;
    assert!(summary.symbols.values().any(|symbol| symbol.name == b"once" && !symbol.summaries.is_empty()));
}

/// Returns the part of a text from the comment with a function's attributes to its closing brace.
fn part_of<'t>(text: &'t str, function: &str) -> &'t str {
    let head = text.find(&format!("@{function}(")).unwrap();
    let start = text[..head].rfind("\n\n").unwrap() + 2;
    let end = head + text[head..].find("\n}\n").unwrap() + 3;
    &text[start..end]
}

#[test]
fn one_function_of_a_module() {
    for (name, dialect) in [("instructions", Dialect::Llvm14), ("expressions", Dialect::Llvm19)] {
        let bytes = read(name, "bc");
        let module = Module::parse(&bytes, 0).unwrap();
        let whole = text(&bytes, dialect, None);
        let options = PrintOptions { dialect, module_id: None };
        let mut seen = 0;
        for (index, function) in module.functions.iter().enumerate().filter(|(_, one)| !one.declaration) {
            let mut ours = String::new();
            assert!(print::function(&module, index, &options, &mut ours).unwrap().is_empty());
            // Attribute groups that only calls use have other numbers.
            let plain = |text: &str| -> String {
                text.lines().map(|line| line.split(" #").next().unwrap_or(line).to_owned() + "\n").collect()
            };
            let theirs = part_of(&whole, std::str::from_utf8(&function.symbol.name).unwrap());
            assert_eq!(plain(&ours), plain(theirs));
            seen += 1;
        }
        assert!(seen > 2);
        assert!(print::function(&module, module.functions.len(), &options, &mut String::new()).is_err());
    }
}

#[test]
fn module_on_which_llvm_aborts_is_printed() {
    let ours = text(&read("broken_dominance", "bc"), Dialect::Llvm14, Some("broken_dominance.bc"));
    assert_eq!(ours, String::from_utf8(read("broken_dominance", "ll")).unwrap());
}

#[test]
fn debug_info_that_llvm_drops_is_printed_and_reported() {
    let cases: [(&str, &[&str]); 2] = [
        ("wrong_subprogram", &["llvm-debug-scope"]),
        ("unstated_debug_info", &["llvm-debug-info-version", "llvm-debug-variable"]),
    ];
    for (name, rules) in cases {
        let bytes = read(name, "bc");
        let mut text = String::new();
        let id = format!("{name}.bc");
        let options = PrintOptions { dialect: Dialect::Llvm14, module_id: Some(&id) };
        let findings = print::module(&Module::parse(&bytes, 0).unwrap(), &options, &mut text);
        assert_eq!(text, String::from_utf8(read(name, "ll")).unwrap());
        assert_eq!(findings.iter().map(|finding| finding.rule).collect::<Vec<_>>(), rules);
    }
}

#[test]
fn a_wrapper_changes_nothing() {
    let bytes = read("instructions", "bc");
    let mut wrapped = vec![0xDE, 0xC0, 0x17, 0x0B];
    for field in [0u32, 20, bytes.len() as u32, u32::MAX] {
        wrapped.extend(field.to_le_bytes());
    }
    wrapped.extend(&bytes);
    wrapped.extend([0; 9]);
    assert_eq!(text(&wrapped, Dialect::Llvm14, None), text(&bytes, Dialect::Llvm14, None));
}

#[test]
fn model_of_a_module() {
    let bytes = read("air_like", "bc");
    let module = Module::parse(&bytes, 0).unwrap();
    assert_eq!(module.triple, b"air64_v26-apple-macosx14.0.0");
    assert_eq!(module.ident(), Some(&b"a compiler of our own"[..]));
    let kernel = module.named(b"air.kernel")[0];
    let operands: Vec<_> = module.node_operands(kernel).collect();
    assert_eq!(operands.len(), 3);
    let arguments: Vec<_> = module.node_operands(operands[2].unwrap()).collect();
    let third = module.node_operands(arguments[2].unwrap()).nth(1).flatten().unwrap();
    assert_eq!(module.metadata_string(third), Some(&b"air.texture"[..]));

    let index = module.functions.iter().position(|f| f.symbol.name == b"scale").unwrap();
    let body = module.body(index).unwrap();
    assert_eq!(body.blocks.len(), 4);
    let calls = body.instructions.iter().filter(|i| i.opcode == Opcode::Call).count();
    assert_eq!(calls, 3);
    let successors: Vec<u32> = body.successors(unshade_llvm::BlockId(0)).map(|block| block.0).collect();
    assert_eq!(successors, [3, 1]);
    assert!(module.body(index + 1).is_err());
}

/// Collects tokens.
#[derive(Default)]
struct Tokens(Vec<(TokenKind, String, bool)>);

impl TokenSink for Tokens {
    fn token(&mut self, token: Token<'_>) {
        self.0.push((token.kind, token.text.into(), token.link.is_some()));
    }

    fn mark(&self) -> usize {
        self.0.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.0.truncate(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = Self::default();
        write(&mut part);
        self.0.splice(mark..mark, part.0);
    }
}

#[test]
fn tokens_have_kinds() {
    let bytes = read("air_like", "bc");
    let module = Module::parse(&bytes, 0).unwrap();
    let mut tokens = Tokens::default();
    print::module(&module, &PrintOptions::default(), &mut tokens);
    let has = |kind, text: &str| tokens.0.iter().any(|(k, t, _)| *k == kind && t == text);
    assert!(has(TokenKind::Function, "@scale"));
    assert!(has(TokenKind::Register, "%13"));
    assert!(has(TokenKind::Label, "%12"));
    assert!(has(TokenKind::Number, "0x3FB99999A0000000"));
    assert!(tokens.0.iter().any(|(kind, text, link)| *kind == TokenKind::Register && text == "%13" && *link));
    let joined: String = tokens.0.iter().map(|(_, text, _)| text.as_str()).collect();
    assert_eq!(joined, text(&bytes, Dialect::Llvm14, None));
}
