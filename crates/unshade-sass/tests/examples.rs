//! Decodes, prints, encodes and assembles every example of the tables.

use unshade_sass::instruction::encode;
use unshade_sass::{Instruction, assemble, isa};

const TABLES: [(u32, &str); 17] = [
    (30, include_str!("examples/sm_30.txt")),
    (35, include_str!("examples/sm_35.txt")),
    (50, include_str!("examples/sm_50.txt")),
    (52, include_str!("examples/sm_52.txt")),
    (60, include_str!("examples/sm_60.txt")),
    (61, include_str!("examples/sm_61.txt")),
    (70, include_str!("examples/sm_70.txt")),
    (75, include_str!("examples/sm_75.txt")),
    (80, include_str!("examples/sm_80.txt")),
    (86, include_str!("examples/sm_86.txt")),
    (89, include_str!("examples/sm_89.txt")),
    (90, include_str!("examples/sm_90.txt")),
    (100, include_str!("examples/sm_100.txt")),
    (103, include_str!("examples/sm_103.txt")),
    (107, include_str!("examples/sm_107.txt")),
    (110, include_str!("examples/sm_110.txt")),
    (120, include_str!("examples/sm_120.txt")),
];

fn examples() -> impl Iterator<Item = (u32, u128, u64, &'static str)> {
    TABLES.into_iter().flat_map(|(architecture, lines)| {
        lines.lines().map(move |line| {
            let mut parts = line.splitn(3, ' ');
            let mut number = || u128::from_str_radix(parts.next().unwrap(), 16).unwrap();
            let (word, address) = (number(), number());
            (architecture, word, u64::try_from(address).unwrap(), parts.next().unwrap())
        })
    })
}

#[test]
fn texts() {
    for (architecture, word, address, text) in examples() {
        let instruction = Instruction::decode(isa::by_architecture(architecture).unwrap(), word).unwrap();
        assert_eq!(instruction.text(address).trim_end(), text, "{word:#x}");
    }
}

#[test]
fn fields_encode_to_the_same_word() {
    for (architecture, word, ..) in examples() {
        let isa = isa::by_architecture(architecture).unwrap();
        let instruction = Instruction::decode(isa, word).unwrap();
        assert_eq!(encode(isa, instruction.encoding, &instruction.values()), word);
    }
}

#[test]
fn texts_assemble_to_the_same_word() {
    for (architecture, word, address, text) in examples() {
        let isa = isa::by_architecture(architecture).unwrap();
        match assemble::instruction(isa, text, address, word) {
            Ok(made) => assert_eq!(format!("{made:#x}"), format!("{word:#x}"), "{text}"),
            Err(error) => panic!("sm_{architecture} {text}: {error}"),
        }
    }
}

/// Three words print as `.PASS`; here it precedes a NaN, whose text ends with a space.
#[test]
fn listing_keeps_the_word_if_several_have_its_text() {
    let isa = isa::by_architecture(30).unwrap();
    for word in [0x1002_c9fb_1097_1c04_u128, 0x1004_c9fb_1097_1c04, 0x1006_c9fb_1097_1c04] {
        let text = Instruction::decode(isa, word).unwrap().text(0);
        assert_eq!(text, "F2F.F16.F16.PASS R28, +QNAN ");
        let words = assemble::listing(isa, &format!("/*0000*/ {text}; /* {word:#x} */")).unwrap();
        assert_eq!(words[0].word, word);
    }
}

#[test]
fn pair_beyond_the_last_register_round_trips() {
    let (isa, word) = (isa::by_architecture(35).unwrap(), 0x7798_0000_ff31_081a);
    let text = Instruction::decode(isa, word).unwrap().text(0);
    assert_eq!(text, "@!P4 ATOM.E.CAS.64 R6, [R66+0x1], R254, R256");
    assert_eq!(assemble::instruction(isa, &text, 0, word).unwrap(), word);
}

#[test]
fn invalid_text_is_rejected() {
    let kepler = isa::by_architecture(35).unwrap();
    for (text, column, hint) in [
        ("FADD R1, R2, R300;", 14, "a register up to R254"),
        ("FADD.RU R1, R2, R3;", 5, ".RM"),
        ("IADD R1, R2, 0x80000;", 14, "20-bit"),
        ("FADD R1, R2, 0.1;", 14, "lowest 12 bits"),
        ("FADD R1, R2;", 12, "','"),
        ("FADDX R1, R2, R3;", 1, "FADD"),
        ("@P9 FADD R1, R2, R3;", 2, "a predicate"),
        ("LD.E R0, [R2+0x100000000];", 14, "32-bit"),
        ("", 1, "no instruction"),
    ] {
        let error = assemble::instruction(kepler, text, 0, 0).unwrap_err();
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.message.contains(hint), "{text}: {error}");
    }
}
