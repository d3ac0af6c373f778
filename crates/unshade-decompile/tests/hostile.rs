//! Functions whose values share subexpressions, so that the last value has an exponential number of terms, and
//! functions with long chains of values or blocks: time and text must be proportional to the number of instructions.

use std::collections::HashMap;
use unshade_decompile::sass::Code;
use unshade_decompile::{Options, Source, decompile};
use unshade_sass::{assemble, isa};

/// Loads two 64-bit values, `R2` and `R4`, and two 32-bit ones, `R6` and `R7`.
const START: &str = "MOV R0, c[0x0][0x140]
MOV R1, c[0x0][0x144]
LD.E.64 R2, [R0]
LD.E.64 R4, [R0+0x8]
LD.E R6, [R0+0x10]
LD.E R7, [R0+0x14]
";

/// Stores both 64-bit values.
const END: &str = "end:
ST.E.64 [R0+0x20], R2
ST.E.64 [R0+0x28], R4
EXIT
";

/// Sets `P0` if a word of memory is not zero.
const ASK: &str = "LD.E R8, [R0]
ISETP.NE.AND P0, PT, R8, RZ, PT
";

/// Repeats text with the numbers below `count`.
fn repeated(count: usize, body: impl Fn(usize) -> String) -> String {
    (0..count).map(body).collect()
}

/// Returns the address of each label.
fn places(listing: &str) -> HashMap<&str, usize> {
    let mut found = HashMap::new();
    let mut count = 0;
    for line in listing.lines() {
        match line.strip_suffix(':') {
            Some(name) => {
                found.insert(name, 8 * count);
            }
            None => count += 1,
        }
    }
    found
}

/// Decompiles a kernel with these instructions between start and end; `{name}` is the address of the line `name:`.
/// The text must not have more bytes per instruction than `most`.
fn check(name: &str, body: &str, most: usize) {
    let listing = [START, body, END].concat();
    let places = places(&listing);
    let lines = listing.lines().filter(|line| !line.ends_with(':'));
    let placed: String = lines
        .map(|line| match line.split_once('{') {
            Some((head, label)) => format!("{head}{:#x}\n", places[label.trim_end_matches('}')]),
            None => format!("{line}\n"),
        })
        .collect();
    let kepler = isa::by_architecture(35).unwrap();
    let words = assemble::listing(kepler, &placed).unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|line| line.word.to_le_bytes()[..8].to_vec()).collect();
    let source = Source::kernel("hostile", Code::new(kepler, &bytes), &[8]);
    let text = decompile(&source, &Options::default()).unwrap().text();
    assert!(text.len() <= most * words.len() + 1000, "{name}: {} bytes, {} words", text.len(), words.len());
    let depth = text.lines().map(|line| line.len() - line.trim_start().len()).max().unwrap_or(0);
    assert!(depth < 1000, "{name}: indented by {depth}");
}

/// Sets `P0` to a bit of `R6`.
fn bit(number: usize) -> String {
    format!("LOP.AND R10, R6, {:#x}\nISETP.NE.AND P0, PT, R10, RZ, PT\n", 1 << (number % 18))
}

const SWAP: &str = "SEL R8, R2, R4, P0
SEL R9, R3, R5, P0
SEL R4, R4, R2, P0
SEL R5, R5, R3, P0
MOV R2, R8
MOV R3, R9
";

#[test]
fn halves_with_shared_terms() {
    for (name, level) in [
        ("doubled", "IADD R2.CC, R2, R2\nIADD.X R3, R3, R3\n"),
        ("sums", "IADD R2.CC, R2, R4\nIADD.X R3, R3, R5\nIADD R4.CC, R4, R2\nIADD.X R5, R5, R3\n"),
        ("apart", "IADD R2.CC, R2, R4\nIADD.X R5, R3, R5\nIADD R4.CC, R4, R2\nIADD.X R3, R5, R3\n"),
        (
            "crossed",
            "IADD R8.CC, R2, R5\nIADD.X R3, R3, R4\nIADD R4.CC, R4, R3\nIADD.X R5, R5, R8\nMOV R2, R8\n",
        ),
        ("narrow", "IADD R2.CC, R2, R4\nIADD.X R3, RZ, RZ\nIADD R4.CC, R4, R3\nIADD.X R5, RZ, R3\n"),
        ("differences", "ISUB R2.CC, R2, R4\nISUB.X R3, R3, R5\nISUB R4.CC, R4, R2\nISUB.X R5, R5, R3\n"),
        (
            "squares",
            "IMUL.U32.U32 R8, R2, R2\nIMUL.U32.U32.HI R9, R2, R2\nIMAD R9, R3, R2, R9\nIMAD R3, R2, R3, R9\nMOV R2, R8\n",
        ),
        (
            "products",
            "IMAD.U32.U32 R8.CC, R2, R4, R2\nIMAD.U32.U32.HI.X R9, R2, R4, R3\nIMAD R9, R3, R4, R9\nIMAD R3, R2, R5, R9\nMOV R2, R8\n",
        ),
        ("shifts", "SHF.L.U64 R9, R2, 0x1, R3\nSHL R8, R2, 0x1\nIADD R2.CC, R2, R8\nIADD.X R3, R3, R9\n"),
        (
            "shifts by a value",
            "SHF.L.U64 R9, R2, R6, R3\nSHL R8, R2, R6\nIADD R2.CC, R2, R8\nIADD.X R3, R3, R9\n",
        ),
        ("bits", "LOP.XOR R2, R2, R4\nLOP.XOR R3, R3, R5\nLOP.AND R4, R4, R2\nLOP.AND R5, R5, R3\n"),
        (
            "bits of both halves",
            "LOP.XOR R2, R2, R4\nLOP.XOR R3, R3, R5\nLOP.AND R4, R4, R3\nLOP.AND R5, R5, R2\n",
        ),
        ("signs", "SHR R3, R2, 0x1f\nIADD R2.CC, R2, R2\nIADD.X R3, R3, R3\nIADD R2, R2, R3\n"),
        ("doubles", "DADD R2, R2, R4\nLOP32I.AND R3, R3, 0x7fffffff\nDADD R4, R4, R2\nMOV R5, R3\n"),
    ] {
        check(name, &repeated(200, |_| level.into()), 100);
    }
}

#[test]
fn selects_with_shared_sides() {
    for (name, level) in [
        ("selects", "@P0 LOP.XOR R2, R2, R4\n@P0 LOP.XOR R3, R3, R5\n"),
        ("swaps", SWAP),
        ("swapped halves", "SEL R8, R2, R3, P0\nSEL R9, R3, R2, P0\nMOV R2, R8\nMOV R3, R9\n"),
        (
            "swapped sums",
            "SEL R8, R2, R4, P0\nSEL R9, R3, R5, P0\nSEL R4, R4, R2, P0\nIADD R2.CC, R8, R4\nIADD.X R3, R9, R5\n",
        ),
    ] {
        check(name, &repeated(200, |number| bit(number) + level), 100);
    }
    // Upper halves with the lower halves of many other levels.
    let levels =
        repeated(2000, |number| format!("{}{SWAP}MOV R{}, R2\n", bit(number % 2), 20 + number % 200));
    let pairs =
        |number| format!("MOV R12, R{}\nMOV R13, R3\nST.E.64 [R0+{:#x}], R12\n", 20 + number, 8 * number);
    check("all pairs", &(levels + &repeated(200, pairs)), 500);
}

#[test]
fn phis_with_shared_inputs() {
    for (name, level) in [
        ("phis", "LOP.XOR R2, R2, R4\nLOP.XOR R3, R3, R5\n"),
        ("swaps", "MOV R9, R2\nMOV R2, R4\nMOV R4, R9\nMOV R9, R3\nMOV R3, R5\nMOV R5, R9\n"),
        ("sums", "IADD R2.CC, R2, R4\nIADD.X R3, R3, R5\nIADD R4.CC, R4, R2\nIADD.X R5, R5, R3\n"),
    ] {
        check(
            name,
            &repeated(200, |number| format!("{ASK}@P0 BRA {{at{number}}}\n{level}at{number}:\n")),
            100,
        );
        check(
            name,
            &repeated(200, |number| format!("at{number}:\n{ASK}{level}@P0 BRA {{at{number}}}\n")),
            100,
        );
    }
}

#[test]
fn text_with_shared_operands() {
    for (name, level) in [
        ("carries", "IADD RZ.CC, R2, R4\nIADD.X R2, RZ, RZ\n"),
        ("conditions", "ISETP.LT.AND P0, P1, R2, R4, P0\nISETP.LT.OR P1, P0, R4, R6, P1\n@P0 MOV R2, R4\n"),
        ("predicates", "PSETP.AND.OR P0, P1, P0, P1, P2\nPSETP.OR.XOR P2, P1, P0, !P1, P2\n@P2 MOV R2, R4\n"),
        ("floats", "FADD R2, R2, R4\nFMUL R4, R4, R2\nFFMA R2, R2, R4, R2\n"),
        ("integers", "IADD R2, R2, R4\nIMUL R4, R4, R2\nISCADD R2, R2, R4, 0x3\nLOP.XOR R4, R2, R4\n"),
        ("conversions", "I2F.F32.S32 R2, R2\nFADD R2, R2, R2\nF2I.S32.F32.TRUNC R2, R2\nIADD R2, R2, R2\n"),
    ] {
        check(name, &repeated(200, |_| level.into()), 200);
    }
}

#[test]
fn addresses_built_on_each_other() {
    for (name, level) in [
        (
            "sums",
            "SHL R10, R6, 0x2\nIADD R0.CC, R0, R10\nIADD.X R1, R1, RZ\nLD.E R8, [R0]\nIADD R2, R2, R8\n",
        ),
        ("loads", "IADD R0.CC, R0, R8\nIADD.X R1, R1, RZ\nLD.E R8, [R0]\n"),
        ("doubled", "IADD R0.CC, R0, R0\nIADD.X R1, R1, R1\nLD.E R8, [R0]\nIADD R2, R2, R8\n"),
        (
            "scaled",
            "IMAD.U32.U32 R0.CC, R6, 0x4, R0\nIMAD.U32.U32.HI.X R1, R6, 0x4, R1\nLD.E R8, [R0]\nIADD R2, R2, R8\n",
        ),
        (
            "two",
            "IADD R0.CC, R0, R4\nIADD.X R1, R1, R5\nIADD R4.CC, R0, R4\nIADD.X R5, R1, R5\nLD.E R8, [R0]\nIADD R2, R2, R8\n",
        ),
        ("shared", "ISCADD R10, R6, R10, 0x2\nLDS R8, [R10]\nIADD R2, R2, R8\n"),
        ("doubled shared", "IADD R10, R10, R10\nLDS R8, [R10]\nIADD R2, R2, R8\n"),
    ] {
        check(name, &repeated(2000, |_| level.into()), 100);
    }
}

#[test]
fn long_chains_of_values() {
    for (name, level) in [
        ("sums", "IADD R2, R2, R6\n"),
        (
            "sums with numbers",
            "IADD R2.CC, R2, R4\nIADD.X R3, R3, R5\nIADD R2.CC, R2, 0x123\nIADD.X R3, R3, RZ\n",
        ),
        ("bits", "LOP.XOR R2, R2, R6\nSHL R6, R6, 0x1\n"),
        ("stores", "ST.E [R0], R2\nLD.E R2, [R0+0x4]\n"),
        ("predicated stores", "@P0 ST.E [R0], R2\n"),
    ] {
        check(name, &repeated(20_000, |_| level.into()), 100);
    }
}

#[test]
fn long_chains_of_blocks() {
    const COUNT: usize = 5000;
    let blocks = |name: &str, body: &dyn Fn(usize) -> String| check(name, &repeated(COUNT, body), 250);
    blocks("chain", &|at| format!("{ASK}@P0 BRA {{at{at}}}\nIADD R2, R2, R4\nat{at}:\n"));
    blocks("loops", &|at| format!("at{at}:\n{ASK}IADD R2, R2, R4\n@P0 BRA {{at{at}}}\n"));
    blocks("ladder", &|at| format!("{ASK}@P0 BRA {{end}}\nST.E [R0+{:#x}], R8\n", 4 * at));
    blocks("choices", &|at| {
        format!(
            "ISETP.NE.AND P0, PT, R6, {at:#x}, PT\n@P0 BRA {{at{at}}}\nIADD R2, R2, R4\nBRA {{end}}\nat{at}:\n"
        )
    });
    blocks("back edges", &|at| format!("at{at}:\n{ASK}@P0 BRA {{at{}}}\nIADD R2, R2, R4\n", at / 2));
    blocks("exits", &|at| {
        format!("LD.E R3, [R0+{:#x}]\nISETP.EQ.AND P0, PT, R3, RZ, PT\n@P0 EXIT\n", 4 * at)
    });
    let rails = |at| {
        let next = at + 1;
        format!("a{at}:\n{ASK}@P0 BRA {{a{next}}}\nST.E [R0], R8\nb{at}:\n{ASK}@P0 BRA {{b{next}}}\n")
    };
    check("rails", &(repeated(COUNT, rails) + &format!("a{COUNT}:\nb{COUNT}:\n")), 250);
    let inside = repeated(COUNT, |at| format!("{ASK}@P0 BRA {{at{at}}}\nIADD R2, R2, R8\n"));
    let after = repeated(COUNT, |at| format!("at{}:\nST.E [R0], R2\n", COUNT - 1 - at));
    check("nested", &(inside + &after), 250);
    let heads = repeated(COUNT, |at| format!("at{at}:\nLD.E R8, [R0]\nIADD R2, R2, R8\n"));
    let ends = repeated(COUNT, |at| format!("{ASK}@P0 BRA {{at{}}}\n", COUNT - 1 - at));
    check("nested loops", &(heads + &ends), 250);
}
