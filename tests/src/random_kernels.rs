//! Random kernels in sm_35 machine code that terminate and whose threads are independent: input for comparing the
//! emulator with the C of the decompiler.
//!
//! Each thread loads [`WORDS`] words from a buffer, computes, and stores them to another buffer. Instructions come from
//! the instruction tables: a word of any encoding whose p-code only computes, with random bits in its fields. There are
//! three kinds of registers, so that a NaN is never used as an integer: its bits differ between machines. Around the
//! instructions there are three kinds of control flow: none, nested statements that use the reconvergence stack, and
//! branches from any block to any block. Backward branches decrement a counter and are not taken once it is zero.

use unshade::decompiler::sass::Code;
use unshade::decompiler::{DecompileError, Options, Source, decompile};
use unshade::sass::semantics::table::Code as Pcode;
use unshade::sass::semantics::{Lifted, Space, functions};
use unshade::sass::table::{Encoding, Flow, Isa, Kind, NONE};
use unshade::sass::{Instruction, assemble, isa};
use unshade_emulate::{Argument, Device, Grid, Limits, Module};

use crate::closed_loop::cases::Random;
use crate::closed_loop::host::retry_options;
use crate::closed_loop::same_addresses::Case;

/// The number of words that a thread loads and stores: 8 integers, 8 floats, 4 doubles, and 12 unused words.
pub const WORDS: usize = 32;

/// The number of threads per kernel.
const THREADS: u32 = 64;

/// Maximum number of backward branches that a thread takes.
const FUEL: u32 = 24;

/// The first registers of integers, floats and doubles, and the end of the doubles.
const INTEGERS: u64 = 4;
const FLOATS: u64 = 12;
const DOUBLES: u64 = 20;

/// The shape of the control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One instruction after the other.
    Straight,
    /// Nested branches and loops.
    Nested,
    /// From any block to any other.
    Graph,
}

/// An item of a program.
enum Piece {
    Word(u128),
    Text(String),
    /// The text of a branch up to its target, and the target label.
    To(String, usize),
    Label(usize),
}

/// A program under construction.
struct Maker<'a> {
    isa: &'static Isa,
    encodings: &'a [&'static Encoding],
    random: Random,
    pieces: Vec<Piece>,
    labels: usize,
    lifted: Lifted,
}

/// Returns the encodings that may compute something, grouped by operation.
pub fn encodings() -> Vec<&'static Encoding> {
    let Some(isa) = isa::by_architecture(35) else { return Vec::new() };
    let operations = isa.operations;
    let usable = |encoding: &&Encoding| {
        operations.get(usize::from(encoding.operation)).is_some_and(|operation| {
            // Approximations differ between machines.
            operation.flow == Flow::Next
                && !["MUFU", "RRO"].iter().any(|name| operation.name.starts_with(name))
        })
    };
    isa.encodings.iter().filter(usable).collect()
}

impl Maker<'_> {
    fn below(&mut self, end: u64) -> u64 {
        (self.random.bits() >> 11) % end.max(1)
    }

    fn text(&mut self, text: impl Into<String>) {
        self.pieces.push(Piece::Text(text.into()));
    }

    fn to(&mut self, text: impl Into<String>, label: usize) {
        self.pieces.push(Piece::To(text.into(), label));
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels - 1
    }

    fn place(&mut self, label: usize) {
        self.pieces.push(Piece::Label(label));
    }

    fn guard(&mut self) -> String {
        let not = if self.below(2) == 0 { "!" } else { "" };
        format!("@{not}P{}", self.below(4))
    }

    fn compute(&mut self, most: u64) {
        for _ in 0..=self.below(most) {
            let word = self.instruction();
            self.pieces.push(Piece::Word(word));
        }
    }

    /// Returns a random word that only computes.
    fn instruction(&mut self) -> u128 {
        loop {
            let index = self.below(self.encodings.len() as u64) as usize;
            let Some(encoding) = self.encodings.get(index).copied() else { continue };
            let free = u128::from(self.random.bits()) & !encoding.mask;
            if let Some(word) = self.tamed(encoding.value | free, encoding) {
                return word;
            }
        }
    }

    /// Returns the word with registers, predicates and constants that the kernels have; none if the result does not
    /// only compute.
    fn tamed(&mut self, word: u128, encoding: &'static Encoding) -> Option<u128> {
        let first = Instruction::decode(self.isa, word)?;
        if !core::ptr::eq(first.encoding, encoding) {
            return None;
        }
        let text = first.text(0);
        if text.contains(".CC") && (text.starts_with('F') || text.starts_with('D')) {
            return None;
        }
        let mut word = word;
        let isa = self.isa;
        let set = |word: &mut u128, part: u16, number: u64| {
            if part != NONE
                && let Some(field) = isa.fields.get(usize::from(part))
            {
                *word = *word & !field.placed(u64::MAX) | field.placed(number >> field.shift);
            }
        };
        for operand in first.operands() {
            let slot = isa.text(operand.slot);
            let role = first.operation().operands.iter().find(|role| role.slot == slot);
            let ty = role.map_or("b32", |role| role.ty);
            let ty = match ty.strip_prefix('?') {
                Some(modifier) => first.modifier(modifier).unwrap_or("b32").trim_start_matches('.'),
                None => ty,
            };
            let is_float = matches!(ty, "f32" | "F32");
            let is_wide = ty.ends_with("64");
            match operand.kind {
                Kind::Register => {
                    let number = match (is_float, ty) {
                        _ if role.is_none_or(|role| !role.written) && self.below(12) == 0 => 255,
                        (true, _) => FLOATS + self.below(8),
                        (_, "f64" | "F64") => DOUBLES + 2 * self.below(4),
                        _ if is_wide => INTEGERS + 2 * self.below(4),
                        _ => INTEGERS + self.below(8),
                    };
                    set(&mut word, operand.value, number);
                }
                Kind::Predicate | Kind::OptionalPredicate => {
                    let number = if self.below(4) == 0 { 7 } else { self.below(4) };
                    set(&mut word, operand.value, number);
                }
                Kind::Guard => {
                    let is_always = self.below(4) != 0;
                    let number = if is_always { 7 } else { self.below(4) };
                    set(&mut word, operand.value, number);
                    if is_always {
                        set(&mut word, operand.not, 0);
                    }
                }
                Kind::Constant | Kind::ConstantSpaced => {
                    let place = if is_wide { 8 * self.below(3) } else { 4 * self.below(6) };
                    set(&mut word, operand.bank, 0);
                    set(&mut word, operand.offset, 0x150 + place);
                }
                Kind::Integer
                | Kind::NegatedInteger
                | Kind::OptionalInteger
                | Kind::TrailingInteger
                | Kind::Float32
                | Kind::Float64 => {}
                _ => return None,
            }
        }
        let made = Instruction::decode(isa, word)?;
        let same = core::ptr::eq(made.encoding, encoding) && self.only_computes(&made);
        same.then_some(word)
    }

    /// Returns whether the p-code only computes with the registers of the kernel.
    fn only_computes(&mut self, instruction: &Instruction) -> bool {
        let mut lifted = std::mem::take(&mut self.lifted);
        lifted.lift(instruction, 0);
        let all = lifted.ops().iter().all(|op| {
            let code = match op.code {
                Pcode::Load(_)
                | Pcode::Store(_)
                | Pcode::Goto
                | Pcode::Call
                | Pcode::Return
                | Pcode::Exit => false,
                Pcode::Function(index) => functions().get(usize::from(index)).is_some_and(|function| {
                    // Surface addresses have no C equivalent.
                    function.pure
                        && !function.name.starts_with("surface")
                        && !function.name.contains("descriptor")
                        && !function.name.contains("video")
                        && !function.name.starts_with("reciprocal")
                }),
                _ => true,
            };
            let inputs = lifted.inputs(op).iter();
            code && inputs.chain(&op.output).all(|place| match place.space {
                Space::Ram | Space::Local | Space::Shared | Space::Special => false,
                Space::Register => place.offset >= INTEGERS && place.offset < DOUBLES + 8,
                _ => true,
            })
        });
        self.lifted = lifted;
        all && !lifted_is_empty(&self.lifted)
    }

    fn head(&mut self) {
        for text in [
            "S2R R0, SR_TID.X",
            "MOV32I R1, 0x80",
            "IMAD R2.CC, R0, R1, c[0x0][0x140]",
            "IMAD.HI.X R3, R0, R1, c[0x0][0x144]",
        ] {
            self.text(text);
        }
        for index in 0..24 {
            self.text(format!("LD.E R{}, [R2+{:#x}]", index + INTEGERS, 4 * index));
        }
        self.text(format!("MOV32I R30, {FUEL:#x}"));
        for index in 0..7 {
            self.text(format!("ISETP.LT.AND P{index}, PT, R{}, R{}, PT", index + 4, index + 6));
        }
        // All four condition flags.
        self.text("IADD R31.CC, R4, R5");
    }

    fn tail(&mut self) {
        self.text("MOV32I R31, 0x0");
        for index in 0..4 {
            self.text(format!("@P{index} LOP32I.OR R31, R31, {:#x}", 1 << index));
        }
        self.text("IMAD R2.CC, R0, R1, c[0x0][0x148]");
        self.text("IMAD.HI.X R3, R0, R1, c[0x0][0x14c]");
        for index in 0..24 {
            self.text(format!("ST.E [R2+{:#x}], R{}", 4 * index, index + INTEGERS));
        }
        self.text("ST.E [R2+0x60], R31");
        self.text("ST.E [R2+0x64], R30");
        self.text("EXIT");
    }

    /// Generates nested statements.
    fn nested(&mut self, depth: u32, in_loop: bool) {
        for _ in 0..=self.below(3) {
            self.compute(3);
            match if depth == 0 { 9 } else { self.below(6) } {
                0 | 1 => {
                    let (join, other) = (self.label(), self.label());
                    let guard = self.guard();
                    self.to("SSY", join);
                    self.to(format!("{guard} BRA"), other);
                    self.nested(depth - 1, false);
                    self.text("NOP.S");
                    self.place(other);
                    if self.below(2) == 0 {
                        self.nested(depth - 1, false);
                    }
                    self.text("NOP.S");
                    self.place(join);
                }
                2 | 3 => {
                    let (after, head) = (self.label(), self.label());
                    self.to("PBK", after);
                    self.place(head);
                    self.text("IADD32I R30, R30, -0x1");
                    self.text("ISETP.LT.AND P4, PT, R30, RZ, PT");
                    self.text("@P4 BRK");
                    self.nested(depth - 1, true);
                    let guard = self.guard();
                    self.text(format!("{guard} BRK"));
                    self.to("BRA", head);
                    self.place(after);
                }
                4 if in_loop => {
                    let guard = self.guard();
                    self.text(format!("{guard} BRK"));
                }
                5 => {
                    let other = self.label();
                    let guard = self.guard();
                    self.to(format!("{guard} BRA"), other);
                    self.compute(3);
                    self.place(other);
                }
                _ => {}
            }
        }
    }

    fn graph(&mut self, end: usize) {
        let count = 2 + self.below(9) as usize;
        let first = self.labels;
        self.labels += count;
        for block in 0..count {
            self.place(first + block);
            self.text("IADD32I R30, R30, -0x1");
            self.text("ISETP.LT.AND P4, PT, R30, RZ, PT");
            self.to("@P4 BRA", end);
            self.compute(4);
            let ways = self.below(3);
            if ways > 0 {
                let guard = self.guard();
                let to = first + self.below(count as u64) as usize;
                self.to(format!("{guard} BRA"), to);
            }
            if ways == 2 {
                let to = first + self.below(count as u64) as usize;
                self.to("BRA", to);
            }
        }
    }

    /// Assembles the program, resolving labels to addresses.
    fn words(&self) -> Vec<u128> {
        let mut addresses = vec![0; self.labels];
        let mut at = 0_u64;
        for piece in &self.pieces {
            match piece {
                Piece::Label(label) => addresses[*label] = at,
                _ => at += 8,
            }
        }
        let mut words = Vec::new();
        for piece in &self.pieces {
            let address = 8 * words.len() as u64;
            let text = match piece {
                Piece::Label(_) => continue,
                Piece::Word(word) => {
                    words.push(*word);
                    continue;
                }
                Piece::Text(text) => text.clone(),
                Piece::To(text, label) => format!("{text} {:#x}", addresses[*label]),
            };
            let word = assemble::instruction(self.isa, &text, address, 0);
            words.push(word.unwrap_or_else(|error| panic!("{text}: {error}")));
        }
        words
    }
}

fn lifted_is_empty(lifted: &Lifted) -> bool {
    lifted.ops().is_empty()
}

/// Generates the code of the kernel with a number. Deterministic.
pub fn code(encodings: &[&'static Encoding], number: u64, shape: Shape) -> Vec<u8> {
    let isa = isa::by_architecture(35).expect("it is a table of ours");
    let random = Random::new(number.wrapping_mul(3).wrapping_add(shape as u64));
    let mut maker =
        Maker { isa, encodings, random, pieces: Vec::new(), labels: 0, lifted: Lifted::default() };
    let end = maker.label();
    maker.head();
    match shape {
        Shape::Straight => maker.compute(40),
        Shape::Nested => maker.nested(3, false),
        Shape::Graph => maker.graph(end),
    }
    maker.place(end);
    maker.tail();
    maker.words().iter().flat_map(|word| word.to_le_bytes().into_iter().take(isa.word_bytes)).collect()
}

/// Why a kernel can't be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// The decompiler gives no C.
    Refused(DecompileError),
    /// Some of it is no C: the first such instruction.
    Unlifted(String),
    /// The emulator reports a fault.
    Faulted(String),
}

/// Generates a kernel, decompiles it to C, and runs it in the emulator.
///
/// # Errors
/// Why it can't be compared.
pub fn case(encodings: &[&'static Encoding], number: u64, shape: Shape) -> Result<Case, Skipped> {
    case_of(&code(encodings, number, shape), number)
}

/// Creates a case from code with the inputs of a numbered kernel. The code may be a reduced version of the kernel.
///
/// # Errors
/// Why it can't be compared.
pub fn case_of(code: &[u8], number: u64) -> Result<Case, Skipped> {
    let name = format!("random_{number}");
    let sizes = [8_u16, 8, 4, 4, 4, 4, 4, 4];
    let isa = isa::by_architecture(35).expect("it is a table of ours");
    let source = Source::kernel(name.clone(), Code::new(isa, code), &sizes.map(u32::from));
    let mut found = decompile(&source, &Options::default()).map_err(Skipped::Refused)?;
    if let Some(options) = retry_options(&found) {
        found = decompile(&source, &options).map_err(Skipped::Refused)?;
    }
    if found.unlifted > 0 {
        let notes = found.lines.iter().filter_map(|line| line.text.split_once("/* "));
        let first = notes.map(|note| note.1).next().unwrap_or("");
        let words = first.split_whitespace().filter(|word| !word.starts_with('@'));
        let name = words.take(1).collect::<String>();
        return Err(Skipped::Unlifted(name));
    }
    let mut device = Device::new();
    let faulted = |text: &dyn std::fmt::Display| Skipped::Faulted(text.to_string());
    let module = Module::of_code(35, &name, code, &sizes).ok_or_else(|| faulted(&"no module"))?;
    let mut random = Random::new(number ^ 0x5eed);
    let mut arguments = Vec::new();
    for buffer in ["in", "out"] {
        let bytes: Vec<u8> =
            (0..THREADS as usize * WORDS).flat_map(|index| word(&mut random, index % WORDS)).collect();
        let pointer = device.allocate(bytes.len() as u64, buffer).map_err(|reason| faulted(&reason))?;
        device.write(pointer, &bytes).map_err(|reason| faulted(&reason))?;
        arguments.push(pointer.into());
    }
    arguments.extend((0..6).map(|index| Argument(word(&mut random, index * 4).to_vec())));
    let copy = |device: &Device| device.memory().map(|(pointer, bytes)| (pointer, bytes.to_vec())).collect();
    let before = copy(&device);
    let grid = Grid::new(1, THREADS);
    let limits = Limits { steps: 1_000_000, ..Limits::default() };
    module
        .launch(&mut device, &name, grid, &arguments, limits, None)
        .map_err(|fault| faulted(&fault.reason))?;
    Ok(Case {
        name,
        text: found.text(),
        grid,
        before,
        arguments,
        after: copy(&device),
        units: 0,
        is_float: |offset| (8..24).contains(&(offset / 4 % WORDS)),
    })
}

/// Returns an input word: integers, floats and halves of doubles of all kinds.
fn word(random: &mut Random, index: usize) -> [u8; 4] {
    let bits = random.bits();
    let low = (bits >> 8) as u32;
    let word = match (index, bits % 8) {
        (0..=7, 0..=2) => low % 64,
        (0..=7, 3) => (low % 64).wrapping_neg(),
        (0..=7, 4) => 1 << (low % 32),
        (8..=15, 0..=4) => 0x3f00_0000 + (low & 0x80ff_ffff),
        (8..=15, 5) => [0, 0x8000_0000, 0x7f80_0000, 0x3f80_0000, 0xbf80_0000, 1][low as usize % 6],
        (17 | 19 | 21 | 23, 0..=5) => 0x3fe0_0000 + (low & 0x801f_ffff),
        _ => low,
    };
    word.to_le_bytes()
}
