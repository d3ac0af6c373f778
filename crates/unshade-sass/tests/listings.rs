//! Listings of functions: columns as in cuobjdump 11.2, and symbols that a linker inserts.

use unshade_sass::listing::{Context, Function, Insertion};
use unshade_sass::{Instruction, assemble, isa};

fn function(words: &[u64], address: u64) -> (Vec<u8>, u64) {
    (words.iter().flat_map(|word| word.to_le_bytes()).collect(), address)
}

/// cuobjdump shifts the text where an address has five digits, and the words follow the longest line.
#[test]
fn columns_move_where_addresses_have_five_digits() {
    let words = [0x8580_0000_0040_3c02, 0x7400_0000_0223_c016, 0x0800_0000_0000_0000, 0x1800_0000_001c_003c];
    let (bytes, address) = function(&words, 0xfff0);
    let isa = isa::by_architecture(35).unwrap();
    let function = Function { name: "f", isa, bytes: &bytes, address, file_offset: 0 };
    let mut text = String::new();
    function.raw(0, &mut text);
    assert_eq!(
        text,
        "        /*fff0*/               @P0 NOP.S;                /* 0x8580000000403c02 */
        /*fff8*/              @!P0 MOV32I R5, 0x4;       /* 0x740000000223c016 */
                                                         /* 0x0800000000000000 */
        /*10008*/                   EXIT;                /* 0x18000000001c003c */
"
    );
}

/// A guard of the uniform datapath is not aligned; a space before the semicolon says that an instruction has scheduling
/// information.
#[test]
fn guards_and_semicolons() {
    let words = [
        [0x0000_0004_0604_0290, 0x000f_c400_0fff_e13f],
        [0x0000_0000_0000_0918, 0x000f_e200_0000_0000],
        [0x0000_0000_0000_79ab, 0x000f_c000_0000_0000],
    ];
    let bytes: Vec<u8> = words.iter().flatten().flat_map(|half: &u64| half.to_le_bytes()).collect();
    let isa = isa::by_architecture(80).unwrap();
    let mut text = String::new();
    Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 }.raw(0, &mut text);
    let lines: Vec<&str> = text.lines().step_by(2).filter_map(|line| line.split("/* ").next()).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    assert_eq!(
        lines,
        [
            "        /*0000*/                   @UP0 UIADD3 UR4, -UR6, UR4, URZ ;",
            "        /*0010*/               @P0 NOP ;",
            "        /*0020*/                   ERRBAR;",
        ]
    );
}

/// cuobjdump prints nothing but the word where it knows no text, as for bfloat16 on Turing; it can be assembled again.
#[test]
fn words_without_a_text() {
    let words =
        [[0x0000_00b8_b9b8_723e, 0x011f_e400_0000_00ff], [0x0000_0000_0000_0918, 0x000f_e200_0000_0000]];
    let bytes: Vec<u8> = words.iter().flatten().flat_map(|half: &u64| half.to_le_bytes()).collect();
    let isa = isa::by_architecture(75).unwrap();
    let mut text = String::new();
    Function { name: "f", isa, bytes: &bytes, address: 0, file_offset: 0 }.raw(0, &mut text);
    assert_eq!(
        text,
        "                                              /* 0x000000b8b9b8723e */
                                              /* 0x011fe400000000ff */
        /*0010*/               @P0 NOP ;      /* 0x0000000000000918 */
                                              /* 0x000fe20000000000 */
"
    );
    let assembled = assemble::listing(isa, &text).unwrap();
    let again: Vec<u8> = assembled.iter().flat_map(|line| line.word.to_le_bytes()).collect();
    assert_eq!((assembled[0].address, again), (0, bytes));
}

#[test]
fn operands_show_inserted_symbols() {
    // A call, both halves of an address, a constant, a texture, and an insertion that no operand shows.
    let words = [
        0x0800_0000_0000_0000,
        0x1100_0000_001c_0100,
        0x7400_0000_001f_c00a,
        0x7400_0000_081f_c00e,
        0x64c0_3c00_021c_005e,
        0x7000_0086_7f9c_100e,
        0x1800_0000_001c_003c,
    ];
    let (bytes, address) = function(&words, 0);
    let isa = isa::by_architecture(35).unwrap();
    let function = Function { name: "f", isa, bytes: &bytes, address, file_offset: 0 };
    let insertions = [
        (0x08, Some(23), "`(callee)"),
        (0x10, Some(23), "32@lo(fun@fdesc(callee))"),
        (0x18, Some(23), "32@hi((table + 0x10))"),
        (0x20, Some(23), "`((table + 0x10))"),
        (0x28, Some(45), "`(image)"),
        (0x30, None, "`(slot)"),
    ];
    let insertions = insertions.map(|(address, lowest_bit, text)| Insertion { address, lowest_bit, text });
    let context = Context { symbols: &[(0, "f")], insertions: &insertions, ..Context::default() };
    let mut text = String::new();
    function.annotated(&context, &mut text);
    assert_eq!(
        text,
        "f:
        /*0008*/                   JCAL `(callee);
        /*0010*/                   MOV32I R2, 32@lo(fun@fdesc(callee));
        /*0018*/                   MOV32I R3, 32@hi((table + 0x10));
        /*0020*/                   MOV R23, c[`((table + 0x10))];
        /*0028*/                   TLD.LZ.P R3, R4, `(image), 2D, 0x1;
        /*0030*/                   EXIT;  // `(slot)
"
    );
    // Before a linker inserts numbers, only addends are there.
    let assembled = assemble::listing(isa, &text).unwrap();
    let assembled: Vec<u128> = assembled.iter().map(|line| line.word).collect();
    assert_eq!(assembled[1..5], words[2..6].iter().map(|word| u128::from(*word)).collect::<Vec<u128>>());
}

/// On Maxwell, what an instruction keeps and waits for is in the word before its bundle, also if a listing does not show it.
#[test]
fn scheduling_words_follow_their_instructions() {
    let words = [0x001f_fc00_ffe2_07ff, 0x5980_0200_0067_0509, 0x5c98_0780_0037_0000, 0xe300_0000_0007_000f];
    let (bytes, address) = function(&words, 0);
    let isa = isa::by_architecture(52).unwrap();
    let function = Function { name: "f", isa, bytes: &bytes, address, file_offset: 0 };
    let mut text = String::new();
    function.annotated(&Context { control: true, ..Context::default() }, &mut text);
    assert_eq!(
        text,
        "        /*0008*/                   FFMA R9, R5.reuse, R6, R4;  // stall 15
        /*0010*/                   MOV R0, R3;  // stall 15
        /*0018*/                   EXIT;  // stall 15
"
    );
    let assembled = |text: &str| -> Vec<u128> {
        assemble::listing(isa, text).unwrap().iter().map(|line| line.word).collect()
    };
    assert_eq!(assembled(&text), words.map(u128::from));
    let mut raw = String::new();
    function.raw(0, &mut raw);
    assert_eq!(assembled(&raw), words.map(u128::from));
    // Without addresses; two instructions at once, and a scoreboard.
    let changed = text.replace("R5.reuse", "R5").replacen("stall 15", "dual, write SB2", 1);
    let lines: Vec<&str> = changed.lines().map(|line| &line[16..]).collect();
    assert_eq!(assembled(&lines.join("\n"))[0], 0x001f_fc00_ffe0_0750);
    // An instruction can't be in the place of a scheduling word, which keeps what a changed line does not say.
    let old = |address: u64| words.get(usize::try_from(address / 8).unwrap()).map(|word| u128::from(*word));
    let patched = assemble::listing_over(isa, "/*0010*/ MOV R0, R4; // stall 1, yield", &old).unwrap();
    let patched: Vec<(u64, u128)> = patched.iter().map(|line| (line.address, line.word)).collect();
    assert_eq!(patched, [(0, 0x001f_fc00_fc22_07ff), (0x10, 0x5c98_0780_0047_0000)]);
}

/// With an offset of zero, a texture instruction is a load: linked code can't mean the texture.
#[test]
fn inserted_numbers_choose_the_encoding() {
    let (isa, word) = (isa::by_architecture(35).unwrap(), 0x7000_0086_7f9c_100e);
    assert_eq!(Instruction::decode(isa, word).unwrap().text(0), "LDG.E.CG.U8.P R3, [R4]");
    let texture = Instruction::decode_before_linking(isa, word, 45).unwrap();
    assert_eq!(texture.text(0), "TLD.LZ.P R3, R4, 0x0, 2D, 0x1");
    assert!(Instruction::decode_before_linking(isa, word, 23).is_none());
}

#[test]
fn unfinished_symbols_are_rejected() {
    let isa = isa::by_architecture(35).unwrap();
    for text in ["MOV32I R2, 32@lo(table", "MOV32I R2, 32@lo", "JCAL `", "JCAL `(a(b)"] {
        assert!(assemble::instruction(isa, text, 0, 0).is_err(), "{text}");
    }
}
