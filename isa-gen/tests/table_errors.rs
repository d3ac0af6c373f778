//! What is wrong with a table is found, and told with its line.

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

/// The messages about a table with these rows.
fn faults(rows: &str) -> Vec<String> {
    let text = format!("{HEAD}{rows}");
    match isa_gen::load(("operations.isa", OPERATIONS), &[("test.isa", &text)]) {
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
fn a_sound_table() {
    let rows = "ADD all 1010 | rnd@20 ignore@21..27\n  example 0xa0102037 ADD.RZ R3, R2\n";
    assert_eq!(faults(rows), [""; 0]);
}

#[test]
fn bits() {
    found(
        "ADD all 1010 | rnd@19 ignore@20..27\n",
        "test.isa:8: ADD : 'a.value' claims bits 19 that are taken",
    );
    found("ADD all 1010 | rnd@20\n", "bits 21..27 are claimed by nobody");
    found("ADD all 1010 | rnd@20 ignore@21..32\n", "bits 32 are outside of the word");
    found("ADD all 1010 | rnd@20 ignore@21..27 8=3\n", "the value does not fit");
}

#[test]
fn two_rows_for_a_word() {
    found(
        "ADD all 1010 | rnd@20 ignore@21..27\nADD all 101. | rnd@20 27=1 ignore@21..26+28\n",
        "match the same words, and neither is the more special",
    );
    // One that fixes all that the other does, and more, is preferred.
    assert_eq!(
        faults("ADD all 1010 | rnd@20 ignore@21..27\nADD all 1010 | rnd@20 27=1 ignore@21..26\n"),
        [""; 0]
    );
}

#[test]
fn slots() {
    found("ADD all 1010 | -a rnd@20 ignore@12..19+21..27\n", "the operand 'a' is not encoded");
    found("ADD all 1010 | sat@20 ignore@21..27\n", "ADD has no modifier slot 'sat'");
    found("SUB all 1010 |\n", "there is no operation 'SUB'");
    found("ADD none 1010 |\n", "no layout 'none'");
    let operations = OPERATIONS.replace("{a}", "{c}");
    let errors = isa_gen::load(("operations.isa", &operations), &[]).unwrap_err();
    assert!(errors[0].to_string().contains("the template names 'c', which is nothing"));
}

#[test]
fn semantics() {
    for (does, message) in [
        ("d = d + rnd.up;", "modifiers are tested by 'when'"),
        ("d = a + b;", "'b' is nothing"),
        ("d = zext(a, 64);", "64 bits where 32 are wanted"),
        ("d = a + carry;", "1 bits where 32 are wanted"),
        ("r = 0; d = a;", "how wide is 'r'?"),
        ("r = s; s = a; d = r;", "a name is read before it is assigned to"),
        ("d = a; r = a; d = r;", "'a' is read after 'd' was written"),
        ("a = 0;", "'a' is written, and is an operand that is read"),
        ("d = sqrt(a);", "there is no function 'sqrt'"),
        ("when (up.x) { d = a; }", "'up' is no modifier"),
        ("d = load(heap, a, 32);", "there is no space 'heap'"),
    ] {
        let operations = OPERATIONS.replace("d = a + a;", does);
        let errors = isa_gen::load(("operations.isa", &operations), &[]).unwrap_err();
        assert!(errors[0].to_string().contains(message), "{does}: {}", errors[0]);
    }
}

#[test]
fn examples() {
    let row = "ADD all 1010 | rnd@20..21 ignore@22..27\n";
    found(&format!("{row}  example 0x60102037 ADD R3, R2\n"), "no encoding so far matches this word");
    found(&format!("{row}  example 0xa0202037 ADD R3, R2\n"), "no instruction has this value of a modifier");
}
