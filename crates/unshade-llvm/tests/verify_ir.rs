//! `verify` of modules whose programs are invalid: each fault is found, with its rule, place and offset.

use std::collections::BTreeMap;
use std::path::PathBuf;
use unshade_core::{Diagnostic, Diagnostics, Reader, Severity};
use unshade_llvm::Module;
use unshade_llvm::verify::{RULES, bitcode};

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(name)).unwrap()
}

fn findings(name: &str) -> Diagnostics {
    let bytes = read(name);
    let findings = bitcode(Reader::new(&bytes));
    for finding in &findings {
        assert!(RULES.iter().any(|(rule, _)| *rule == finding.rule), "no such rule: {}", finding.rule);
        if let Some(offset) = finding.error.offset() {
            assert!(offset < bytes.len() as u64, "outside of the file: {finding:?}");
        }
    }
    findings
}

/// Counts the findings by rule.
fn rules(name: &str) -> BTreeMap<&'static str, usize> {
    let mut rules = BTreeMap::new();
    findings(name).iter().for_each(|finding| *rules.entry(finding.rule).or_insert(0) += 1);
    rules
}

/// Returns whether a finding is about the symbol with this name.
fn is_about(finding: &Diagnostic, name: &str) -> bool {
    finding.error.path().next().is_some_and(|outer| outer.contains(&format!("\"{name}\"")))
}

#[test]
fn each_function_breaks_the_rule_in_its_name() {
    let bytes = read("broken/ir_19.bc");
    let module = Module::parse(&bytes, 0).unwrap();
    let found = findings("broken/ir_19.bc");
    let functions = module.functions.iter().map(|function| &function.symbol.name);
    let globals = module.globals.iter().map(|global| &global.symbol.name);
    let aliases = module.aliases.iter().map(|alias| &alias.symbol.name);
    let mut named = 0;
    for name in functions.chain(globals).chain(aliases) {
        let name = String::from_utf8_lossy(name).replace('_', "-");
        let symbol = name.replace('-', "_");
        let about: Vec<&Diagnostic> = found.iter().filter(|finding| is_about(finding, &symbol)).collect();
        let rule =
            RULES.iter().map(|(rule, _)| *rule).filter(|rule| name.starts_with(&format!("{rule}-"))).max();
        match rule.filter(|_| !name.ends_with("-good")) {
            Some(rule) => {
                named += 1;
                assert!(about.iter().any(|finding| finding.rule == rule), "{symbol}: {about:?}");
                assert!(about.iter().all(|finding| finding.error.offset().is_some()), "{symbol}: no offset");
            }
            None if symbol == "llvm.used" => assert_eq!(about.len(), 2),
            None => assert!(about.is_empty(), "{symbol}: {about:?}"),
        }
    }
    assert!(named >= 19, "only {named} functions and variables are named after rules");
}

#[test]
fn findings_name_the_instruction() {
    let found = findings("broken/ir_19.bc");
    let order = found.iter().find(|finding| is_about(finding, "ir_dominance_order")).unwrap();
    let path: Vec<&str> = order.error.path().collect();
    assert_eq!(path.last(), Some(&"block 3, instruction 0 (add)"));
    assert_eq!(order.severity, Severity::Error);
}

#[test]
fn debug_information_is_a_warning() {
    let found = findings("broken/debug_19.bc");
    assert!(!found.has_errors() && found.warnings() == 2, "{found:?}");
    assert!(found.iter().any(|finding| is_about(finding, "ir_debug_info_location")));
    assert_eq!(rules("wrong_subprogram.bc").keys().copied().collect::<Vec<_>>(), ["ir-debug-info"]);
}

#[test]
fn uses_before_definitions_are_found() {
    assert_eq!(rules("broken_dominance.bc").keys().copied().collect::<Vec<_>>(), ["ir-dominance"]);
}

#[test]
fn apple_and_microsoft_have_rules_of_their_own() {
    let air = rules("broken/air_14.bc");
    assert_eq!(air.into_iter().collect::<Vec<_>>(), [("air-call", 1), ("air-entry", 2), ("air-module", 1)]);
    let dxil = rules("broken/dxil_14.bc");
    let expected = [
        ("dxil-entry", 2),
        ("dxil-instruction", 1),
        ("dxil-module", 1),
        ("dxil-operation", 2),
        ("dxil-recursion", 2),
    ];
    assert_eq!(dxil.into_iter().collect::<Vec<_>>(), expected);
}

/// Changes bits all over the fixtures: nothing panics, and every finding has a rule.
#[test]
fn damaged_modules_are_verified() {
    let names =
        ["air_like.bc", "debug_info.bc", "exceptions.bc", "instructions.bc", "symbols.bc", "broken/ir_19.bc"];
    let mut state = 1u64;
    for name in names {
        let bytes = read(name);
        for _ in 0..300 {
            let mut changed = bytes.clone();
            for _ in 0..3 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let bit = (state >> 33) as usize % (changed.len() * 8);
                changed[bit / 8] ^= 1 << (bit % 8);
            }
            for finding in &bitcode(Reader::new(&changed)) {
                let known = RULES.iter().any(|(rule, _)| *rule == finding.rule);
                assert!(known || finding.rule.starts_with("llvm-"), "no such rule: {}", finding.rule);
            }
        }
    }
}
