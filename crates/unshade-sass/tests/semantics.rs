//! The semantics of instructions, compared with results derived by hand from NVIDIA's PTX documentation.

use unshade_sass::semantics::{Fault, Host, Lifted, Next, Space, State, execute};
use unshade_sass::{Instruction, assemble, isa};

/// A memory of a few words, given by space and address.
#[derive(Default)]
struct Memory {
    words: Vec<(Space, u64, u64)>,
    calls: Vec<&'static str>,
}

impl Host for Memory {
    fn load(&mut self, space: Space, address: u64, _width: u8) -> Result<u64, Fault> {
        let found = self.words.iter().rev().find(|word| word.0 == space && word.1 == address);
        found.map(|word| word.2).ok_or(Fault::Address(space, address))
    }

    fn store(&mut self, space: Space, address: u64, value: u64, _width: u8) -> Result<(), Fault> {
        self.words.push((space, address, value));
        Ok(())
    }

    fn call(&mut self, name: &'static str, _inputs: &[u64]) -> Result<u64, Fault> {
        self.calls.push(name);
        Ok(0)
    }
}

/// Executes one instruction of sm_35.
fn run(text: &str, state: &mut State, memory: &mut Memory) -> Next {
    let kepler = isa::by_architecture(35).unwrap();
    let word = assemble::instruction(kepler, text, 0x40, 0).unwrap_or_else(|error| panic!("{text}: {error}"));
    let instruction = Instruction::decode(kepler, word).unwrap();
    let mut lifted = Lifted::default();
    lifted.lift(&instruction, 0x40);
    execute(&lifted, state, memory).unwrap()
}

/// Returns R0 after one instruction, with inputs in R1, R2 and R3.
fn result(text: &str, inputs: [u32; 3]) -> u32 {
    let mut state = State::default();
    state.registers[1..4].copy_from_slice(&inputs);
    run(text, &mut state, &mut Memory::default());
    state.registers[0]
}

#[test]
fn integers() {
    for (text, inputs, expected) in [
        ("IADD R0, R1, R2", [3, u32::MAX, 0], 2),
        ("ISUB R0, R1, R2", [3, 5, 0], 0xffff_fffe),
        ("IADD.SAT R0, R1, R2", [0x7fff_ffff, 1, 0], 0x7fff_ffff),
        ("IADD.SAT R0, R1, R2", [0x8000_0000, u32::MAX, 0], 0x8000_0000),
        ("ISCADD R0, R1, R2, 0x2", [3, 5, 0], 17),
        ("IMAD R0, R1, R2, R3", [7, 6, 1], 43),
        ("IMAD.U32.U32.HI R0, R1, R2, R3", [0x8000_0000, 4, 1], 3),
        ("IMUL.HI R0, R1, R2", [u32::MAX, 2, 0], u32::MAX),
        ("SHL R0, R1, R2", [1, 32, 0], 0),
        ("SHL.W R0, R1, R2", [1, 33, 0], 2),
        ("SHR R0, R1, R2", [0x8000_0000, 40, 0], u32::MAX),
        ("SHR.U32 R0, R1, R2", [0x8000_0000, 31, 0], 1),
        ("BFE.U32 R0, R1, R2", [0xabcd_1234, 0x0808, 0], 0x12),
        ("BFE R0, R1, R2", [0x0000_ff00, 0x0808, 0], u32::MAX),
        ("BFE R0, R1, R2", [0x8000_0000, 0x0000, 0], 0),
        ("BFI R0, R1, R2, R3", [0x5, 0x0404, 0xffff_ffff], 0xffff_ff5f),
        ("FLO.U32 R0, R1", [0x0001_0000, 0, 0], 16),
        ("FLO R0, R1", [u32::MAX, 0, 0], u32::MAX),
        ("POPC R0, R1, R2", [0xff, 0x0f, 0], 4),
        ("PRMT R0, R1, R2, R3", [0x0302_0100, 0x0000_7531, 0x0706_0504], 0x0705_0301),
        ("LOP.XOR R0, R1, R2", [0xff, 0x0f, 0], 0xf0),
        ("IMNMX R0, R1, R2, PT", [u32::MAX, 1, 0], u32::MAX),
        ("IMNMX.U32 R0, R1, R2, !PT", [u32::MAX, 1, 0], u32::MAX),
        ("SHF.L R0, R1, R2, R3", [0x8000_0000, 1, 0x1], 3),
        ("SHF.R R0, R1, R2, R3", [0, 4, 0xf], 0xf000_0000),
        ("ISAD.U32 R0, R1, R2, R3", [3, 10, 1], 8),
    ] {
        assert_eq!(result(text, inputs), expected, "{text}");
    }
}

#[test]
fn floating_point() {
    let f = f32::to_bits;
    for (text, inputs, expected) in [
        ("FADD R0, R1, -R2", [f(3.0), f(1.5), 0], f(1.5)),
        ("FADD.FTZ R0, R1, R2", [1, 1, 0], 0),
        ("FADD.RP R0, R1, R2", [f(1.0), 1, 0], f(1.0) + 1),
        ("FADD.SAT R0, R1, R2", [f(3.0), f(1.5), 0], f(1.0)),
        ("FMUL.D2 R0, R1, R2", [f(3.0), f(1.5), 0], f(2.25)),
        ("FFMA R0, R1, R2, R3", [f(3.0), f(1.5), f(0.5)], f(5.0)),
        ("FMNMX R0, R1, R2, PT", [f(f32::NAN), f(1.5), 0], f(1.5)),
        ("F2I.S32.F32.TRUNC R0, R1", [f(-2.7), 0, 0], -2_i32 as u32),
        ("F2I.S32.F32 R0, R1", [f(2.5), 0, 0], 2),
        ("F2I.U32.F32.TRUNC R0, R1", [f(-2.7), 0, 0], 0),
        ("I2F.F32.S32 R0, R1", [u32::MAX, 0, 0], f(-1.0)),
        ("I2F.F32.U32 R0, R1", [u32::MAX, 0, 0], f(4_294_967_296.0)),
        ("I2F.F32.S8 R0, R1.B1", [0x0000_fe00, 0, 0], f(-2.0)),
        ("F2F.F16.F32 R0, R1", [f(1.0), 0, 0], 0x3c00),
        ("MUFU.RCP R0, R1", [f(4.0), 0, 0], f(0.25)),
    ] {
        assert_eq!(result(text, inputs), expected, "{text}");
    }
    assert_eq!(result("FADD R0, R1, R2", [f(f32::INFINITY), f(f32::NEG_INFINITY), 0]), 0x7fff_ffff);
}

#[test]
fn carry_propagates_from_lower_to_upper_half() {
    let mut state = State::default();
    let mut memory = Memory::default();
    state.registers[2..6].copy_from_slice(&[0xffff_ffff, 1, 1, 2]);
    run("IADD R0.CC, R2, R4", &mut state, &mut memory);
    run("IADD.X R1, R3, R5", &mut state, &mut memory);
    assert_eq!(state.registers[..2], [0, 4]);
    // 0x1_0000_0000 - 1.
    state.registers[2..6].copy_from_slice(&[0, 1, 1, 0]);
    run("ISUB R0.CC, R2, R4", &mut state, &mut memory);
    run("ISUB.X R1, R3, R5", &mut state, &mut memory);
    assert_eq!(state.registers[..2], [0xffff_ffff, 0]);
}

#[test]
fn predicates_and_flow() {
    let mut state = State::default();
    let mut memory = Memory::default();
    state.registers[1] = 4;
    run("ISETP.GE.U32.AND P0, P1, R1, 0x4, PT", &mut state, &mut memory);
    assert!(state.predicate(0) && !state.predicate(1) && state.predicate(7));
    run("@!P0 MOV R1, RZ", &mut state, &mut memory);
    assert_eq!(state.registers[1], 4);
    assert_eq!(run("@P0 BRA 0x100", &mut state, &mut memory), Next::Goto(0x100));
    assert_eq!(run("@P1 BRA 0x100", &mut state, &mut memory), Next::Following);
    assert_eq!(run("EXIT", &mut state, &mut memory), Next::Exit);
    assert_eq!(run("CAL 0x80", &mut state, &mut memory), Next::Call(0x80));
    run("SSY 0x80", &mut state, &mut memory);
    assert_eq!(memory.calls, ["push_reconvergence"]);
}

#[test]
fn memory_and_constants() {
    let mut state = State::default();
    let mut memory = Memory::default();
    memory.words.push((Space::Constant, 0x140, 42));
    memory.words.push((Space::Special, 33 * 4, 7));
    run("MOV R1, c[0x0][0x140]", &mut state, &mut memory);
    run("S2R R2, SR_TID.X", &mut state, &mut memory);
    assert_eq!(state.registers[1..3], [42, 7]);
    state.registers[4..6].copy_from_slice(&[0x10, 0x2]);
    run("ST.E [R4+0x8], R1", &mut state, &mut memory);
    assert_eq!(memory.words.last(), Some(&(Space::Ram, 0x2_0000_0018, 42)));
    run("LD.E R0, [R4+0x8]", &mut state, &mut memory);
    assert_eq!(state.registers[0], 42);
    // A failed load reports its address.
    let kepler = isa::by_architecture(35).unwrap();
    let word = assemble::instruction(kepler, "LDS R0, [0x8]", 0, 0).unwrap();
    let mut lifted = Lifted::default();
    lifted.lift(&Instruction::decode(kepler, word).unwrap(), 0);
    assert_eq!(execute(&lifted, &mut state, &mut memory), Err(Fault::Address(Space::Shared, 8)));
}

#[test]
fn halves_and_bytes() {
    for (text, inputs, expected) in [
        ("VADD2 R0, R1, R2, R3", [0x7fff_0001, 0x0001_ffff, 0], 0x8000_0000),
        ("VADD2.SAT R0, R1, R2, R3", [0x7fff_0001, 0x0001_ffff, 0], 0x7fff_0000),
        ("VABSDIFF4.U8.U8.ACC R0, R1, R2, R3", [0x01ff_0003, 0x0400_0203, 100], 100 + 3 + 255 + 2),
        ("VMNMX2.MX R0, R1, R2, R3", [0x0001_ffff, 0xffff_0001, 0], 0x0001_0001),
        ("VSET4.LT.U8.U8 R0, R1, R2, R3", [0x0102_0304, 0x0202_0202, 0], 0x0100_0000),
        ("IMADSP.SD R0, R1, R2, R3", [0xffff_0003, 2 << 30 | 5, 1], 16),
    ] {
        assert_eq!(result(text, inputs), expected, "{text} {inputs:x?}");
    }
}

#[test]
fn video_instructions_are_signed_by_their_sources() {
    let top = 0x8000_0000;
    for (text, inputs, expected) in [
        // The third source and the result of VMAD are unsigned if both factors are.
        ("VMAD.U32.U32.SHR_7 R0, R1, R2, R3", [1, 1, top], 0x0100_0000),
        ("VMAD.U32.U32.SAT R0, R1, R2, R3", [u32::MAX, 2, 0], u32::MAX),
        ("VMAD.U32.U32.PO.SHR_15 R0, R1, R2, R3", [u32::MAX, u32::MAX, u32::MAX], 0xfffe_0000),
        ("VMAD.SHR_7 R0, R1, R2, R3", [1, 1, top], 0xff00_0000),
        ("VMAD.U32.S32.SAT R0, R1, R2, R3", [u32::MAX, 2, 0], 0x7fff_ffff),
        ("VMAD.PO.SHR_7 R0, R1, R2, R3", [0, 0, top], 0xff00_0000),
        // A comparison has an unsigned result.
        ("VSET.LT.MIN R0, R1, R2, R3", [1, 2, top], 1),
        ("VSET.LT.MAX R0, R1, R2, R3", [1, 2, top], top),
        ("VADD.MIN R0, R1, R2, R3", [1, 2, top], top),
        ("VADD.UD.MIN R0, R1, R2, R3", [1, 2, top], 3),
    ] {
        assert_eq!(result(text, inputs), expected, "{text} {inputs:x?}");
    }
}

#[test]
fn nan_conversions() {
    let nan = 0x7fff_ffff;
    assert_eq!(result("F2I.S32.F32.TRUNC R0, R1", [nan, 0, 0]), 0);
    assert_eq!(result("F2I.U32.F32 R0, R1", [nan, 0, 0]), 0);
    let mut state = State::default();
    state.registers[2..4].copy_from_slice(&[0, 0x7ff8_0000]);
    run("F2I.S32.F64.TRUNC R0, R2", &mut state, &mut Memory::default());
    assert_eq!(state.registers[0], 0x8000_0000);
    state.registers[4] = nan;
    run("F2I.U64.F32.TRUNC R0, R4", &mut state, &mut Memory::default());
    assert_eq!(state.registers[..2], [0, 0x8000_0000]);
    // Infinity minus infinity is CUDART_NAN, and NaN operands keep their payload.
    state.registers[2..6].copy_from_slice(&[0, 0x7ff0_0000, 0, 0xfff0_0000]);
    run("DADD R0, R2, R4", &mut state, &mut Memory::default());
    assert_eq!(state.registers[..2], [0, 0xfff8_0000]);
    state.registers[2..6].copy_from_slice(&[7, 0x7ff0_0000, 0, 0x3ff0_0000]);
    run("DADD R0, R2, R4", &mut state, &mut Memory::default());
    assert_eq!(state.registers[..2], [7, 0x7ff8_0000]);
}

#[test]
fn subnormal_numbers() {
    let (smallest, infinity) = (1, 0x7f80_0000);
    assert_eq!(result("MUFU.RCP R0, R1", [smallest, 0, 0]), infinity);
    assert_eq!(result("MUFU.RCP R0, R1", [0x7f00_0000, 0, 0]), 0, "2^127");
    assert_eq!(result("FMUL.FMZ R0, R1, R2", [infinity, smallest, 0]), 0);
    assert_eq!(result("FADD.FTZ R0, R1, R2", [smallest, 0x8000_0000, 0]), 0);
    assert_eq!(result("FADD R0, R1, R2", [smallest, 0, 0]), smallest);
    // A NaN sets both the zero and the sign flag.
    let mut state = State::default();
    state.registers[1] = 0x7fff_ffff;
    run("FADD R0.CC, R1, R2", &mut state, &mut Memory::default());
    assert_eq!(state.flags[..4], [false, true, true, false]);
}

#[test]
fn wide_minimum_starts_with_the_upper_half() {
    for (a, b) in [(0x1_0000_0002_u64, 0x1_0000_0001_u64), (5, 0x1_0000_0000), (u64::MAX, 3), (7, 7)] {
        let mut state = State::default();
        let halves = |value: u64| [value as u32, (value >> 32) as u32];
        state.registers[2..4].copy_from_slice(&halves(a));
        state.registers[4..6].copy_from_slice(&halves(b));
        run("IMNMX.XHI R1.CC, R3, R5, PT", &mut state, &mut Memory::default());
        run("IMNMX.XLO R0, R2, R4, PT", &mut state, &mut Memory::default());
        let smaller = a.cast_signed().min(b.cast_signed()).cast_unsigned();
        assert_eq!(state.registers[..2], halves(smaller), "{a:x} {b:x}");
    }
}

#[test]
fn condition_code_is_kept() {
    let flags = [true, false, true, false, true, false, false, true, false, false, true];
    let mut state = State { flags, ..State::default() };
    let before = state.flags;
    run("P2R R0, PR, RZ, 0xf07f", &mut state, &mut Memory::default());
    state.flags = [false; 11];
    run("R2P PR, R0, 0xf07f", &mut state, &mut Memory::default());
    assert_eq!(state.flags, before);
}
