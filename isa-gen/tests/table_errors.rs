//! Errors in a table are found and reported with their line.

const OPERATIONS: &str = "\
modifier rnd \"How it is rounded.\"
  rn \"\" rz .RZ
common
  operands guard:in:pred
  before {guard}
operation ADD \"Adds.\"
  text ADD{rnd} {d}, {a}
  operands d:out:b32 a:in:b32
  does d = a + a;
";

const HEAD: &str = "\
generation test \"For tests\"
  architectures 1
  word 32
  pattern 31
  index 28..31
layout all
  guard=guard(value@0..2,not@3) d=gpr@4..11 a=gpr@12..19
";

/// Returns the errors in a table with these rows.
fn faults(rows: &str) -> Vec<String> {
    let text = format!("{HEAD}{rows}");
    match isa_gen::load(&[("operations.isa", OPERATIONS)], &[("test.isa", &text)]) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

#[track_caller]
fn found(rows: &str, message: &str) {
    let faults = faults(rows);
    assert!(faults.iter().any(|fault| fault.contains(message)), "{faults:#?}");
}

#[test]
fn a_valid_table() {
    let rows = "ADD all 1010 | rnd@20 ignore@21..27\n  example 0xa0102037 ADD.RZ R3, R2\n";
    assert_eq!(faults(rows), [""; 0]);
}

#[test]
fn bits() {
    found(
        "ADD all 1010 | rnd@19 ignore@20..27\n",
        "test.isa:8: ADD : 'a.value' overlaps other fields in bits 19",
    );
    found("ADD all 1010 | rnd@20\n", "bits 21..27 belong to no field");
    found("ADD all 1010 | rnd@20 ignore@21..32\n", "bits 32 are outside the word");
    found("ADD all 1010 | rnd@20 ignore@21..27 8=3\n", "value does not fit");
}

#[test]
fn two_rows_that_match_a_word() {
    found(
        "ADD all 1010 | rnd@20 ignore@21..27\nADD all 101. | rnd@20 27=1 ignore@21..26+28\n",
        "match the same words, and neither is more specific",
    );
    // An encoding that fixes all the bits of the other, and more, is preferred.
    assert_eq!(
        faults("ADD all 1010 | rnd@20 ignore@21..27\nADD all 1010 | rnd@20 27=1 ignore@21..26\n"),
        [""; 0]
    );
}

#[test]
fn slots() {
    found("ADD all 1010 | -a rnd@20 ignore@12..19+21..27\n", "the operand 'a' is not encoded");
    found("ADD all 1010 | sat@20 ignore@21..27\n", "ADD has no modifier slot 'sat'");
    found("SUB all 1010 |\n", "unknown operation 'SUB'");
    found("ADD none 1010 |\n", "unknown layout 'none'");
    let operations = OPERATIONS.replace("{a}", "{c}");
    let errors = isa_gen::load(&[("operations.isa", &operations)], &[]).unwrap_err();
    assert!(errors[0].to_string().contains("unknown slot 'c' in the template"));
}

#[test]
fn semantics() {
    for (does, message) in [
        ("d = d + rnd.up;", "modifiers can only be tested by 'when'"),
        ("d = a + b;", "unknown name 'b'"),
        ("d = zext(a, 64);", "64 bits instead of 32"),
        ("d = a + carry;", "1 bits instead of 32"),
        ("r = 0; d = a;", "unknown width of 'r'"),
        ("r = s; s = a; d = r;", "name is read before it is assigned"),
        ("d = a; r = a; d = r;", "'a' is read after 'd' was written"),
        ("a = 0;", "'a' is written, but declared as an input"),
        ("d = sqrt(a);", "unknown function 'sqrt'"),
        ("when (up.x) { d = a; }", "'up' is not a modifier"),
        ("d = load(heap, a, 32);", "unknown space 'heap'"),
    ] {
        let operations = OPERATIONS.replace("d = a + a;", does);
        let errors = isa_gen::load(&[("operations.isa", &operations)], &[]).unwrap_err();
        assert!(errors[0].to_string().contains(message), "{does}: {}", errors[0]);
    }
}

#[test]
fn examples() {
    let row = "ADD all 1010 | rnd@20..21 ignore@22..27\n";
    found(&format!("{row}  example 0x60102037 ADD R3, R2\n"), "no preceding encoding matches this word");
    found(&format!("{row}  example 0xa0202037 ADD R3, R2\n"), "invalid value of a modifier");
}

/// Returns the errors in a generation that builds on a valid one with a row of `ADD`.
fn derived_faults(text: &str) -> Vec<String> {
    let base = format!("{HEAD}ADD all 1010 | rnd@20 ignore@21..27\n");
    match isa_gen::load(&[("operations.isa", OPERATIONS)], &[("test.isa", &base), ("next.isa", text)]) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_generation_that_builds_on_another() {
    let head = "generation next : test \"Newer\"\n  architectures 2\n";
    assert_eq!(derived_faults(head), [""; 0]);
    assert_eq!(derived_faults(&format!("{head}without ADD\nADD all 1011 | rnd@20 ignore@21..27\n")), [""; 0]);
    let twice = format!("{head}ADD all 1010 | rnd@21 ignore@20+22..27\n");
    assert!(derived_faults(&twice)[0].contains("match the same words"), "{:?}", derived_faults(&twice));
    let errors = derived_faults("generation next : other \"Newer\"\n");
    assert_eq!(errors, ["next.isa:1: unknown generation 'other'"]);
    assert_eq!(derived_faults(&format!("{head}without SUB\n")), ["next.isa:3: no row of 'SUB'"]);
    assert_eq!(derived_faults(&format!("{head}without ADD/cc\n")), ["next.isa:3: no row of 'ADD/cc'"]);
}

#[test]
fn bits_that_a_generation_does_not_use() {
    // The row needs bit 31 set; without the bit, there is no such instruction.
    let text = "generation next : test \"Newer\"\n  architectures 2\nunused 31\n";
    let base = format!("{HEAD}ADD all 1010 | rnd@20 ignore@21..27\n");
    let isa =
        isa_gen::load(&[("operations.isa", OPERATIONS)], &[("test.isa", &base), ("next.isa", text)]).unwrap();
    assert_eq!(isa.generations[0].encodings.len(), 1);
    assert_eq!(isa.generations[1].encodings.len(), 0);
    let text = text.replace("31", "30");
    let isa = isa_gen::load(&[("operations.isa", OPERATIONS)], &[("test.isa", &base), ("next.isa", &text)])
        .unwrap();
    let encoding = &isa.generations[1].encodings[0];
    assert!(encoding.matches(0xa010_2037) && encoding.matches(0xe010_2037));
}

#[test]
fn bits_that_some_operations_do_not_check() {
    let parent = format!("{HEAD}ADD all 1010 | rnd@20 21=0 ignore@22..27\n");
    let load = |text: &str| {
        let text = format!("generation next : test \"Newer\"\n  architectures 2\n{text}");
        isa_gen::load(&[("operations.isa", OPERATIONS)], &[("test.isa", &parent), ("next.isa", &text)])
    };
    let mask = |text: &str| load(text).unwrap().generations[1].encodings[0].mask;
    assert_eq!(mask("") >> 21 & 3, 1);
    assert_eq!(mask("unchecked 21 ADD\n") >> 21 & 3, 0);
    assert_eq!(mask("checked 22 ADD\n") >> 21 & 3, 3);
    let errors = load("unchecked 22 ADD\n").unwrap_err();
    assert_eq!(errors[0].to_string(), "next.isa:3: no row of 'ADD' is changed");
}

#[test]
fn values_without_a_meaning() {
    let operations = OPERATIONS.replace("rz .RZ", "i1 .???1");
    let parent = format!("{HEAD}ADD all 1010 | rnd@20 ignore@21..27\n");
    let load = |text: &str| {
        let text = format!("generation next : test \"Newer\"\n  architectures 2\n{text}");
        isa_gen::load(&[("operations.isa", &operations)], &[("test.isa", &parent), ("next.isa", &text)])
    };
    let order = |text: &str| load(text).unwrap().generations[1].encodings[0].choices[0].order.clone();
    assert_eq!(order(""), [Some(0), Some(1)]);
    assert_eq!(order("defined rnd\n"), [Some(0), None]);
    assert_eq!(load("defined x\n").unwrap_err()[0].to_string(), "next.isa:3: unknown modifier 'x'");
}

#[test]
fn bits_of_reused_registers() {
    let head = HEAD.replace("a=gpr@12..19", "a=gpr@12..19 a.reuse@20");
    let parent = format!("{head}ADD all 1010 | rnd@22 ignore@21+23..27\n");
    let load = |text: &str| {
        let text = format!("generation next : test \"Newer\"\n  architectures 2\n{text}");
        isa_gen::load(&[("operations.isa", OPERATIONS)], &[("test.isa", &parent), ("next.isa", &text)])
    };
    let bits = |text: &str| {
        let model = load(text).unwrap();
        let operand = model.generations[1].encodings[0].operands.iter().find(|operand| operand.slot == "a");
        operand.and_then(|operand| operand.part(isa_gen::model::Part::Reuse)).map(isa_gen::model::Bits::mask)
    };
    assert_eq!(bits(""), Some(1 << 20));
    assert_eq!(bits("reuse none ADD\n"), None);
    assert_eq!(bits("reuse either 20 21\n"), Some(3 << 20));
    let errors = load("reuse ADD\n").unwrap_err();
    assert_eq!(errors[0].to_string(), "next.isa:3: expected 'none OPERATION …' or 'either BIT BIT'");
}

#[test]
fn all_kinds_are_documented() {
    let page = include_str!("../../docs/isa.md");
    let names = isa_gen::model::Kind::ALL.iter().map(|kind| kind.name());
    let missing: Vec<&str> = names.filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert_eq!(missing, [""; 0], "docs/isa.md lacks kinds of operands");
}
