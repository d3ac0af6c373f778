//! The rows of `fixtures/nvidia/witness/instructions.txt`: short PTX programs, and the inputs that they run on.
//!
//! A row is one instruction or several, separated by semicolons. `{a,b}` stands for either: a row expands to one program
//! per combination. Registers are named by their type and number: `%r` 32-bit integers, `%l` 64-bit integers, `%f` singles,
//! `%d` doubles, `%h` 16 bits, `%p` predicates. The program sets register 0 from registers 1 to 4; others hold
//! intermediate results.

use std::path::{Path, PathBuf};

use crate::closed_loop::cases::Random;

/// The number of inputs that a program may have.
pub const INPUTS: usize = 4;

/// Returns the folder of the witnesses.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvidia/witness")
}

/// Returns all programs, in the order of the rows.
///
/// # Panics
/// If the file can't be read: it is part of the tests.
pub fn programs() -> Vec<String> {
    let text = std::fs::read_to_string(folder().join("instructions.txt")).expect("the rows are a fixture");
    let mut programs: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        programs.extend(expanded(line));
    }
    programs
}

/// Returns a row's combinations.
fn expanded(row: &str) -> Vec<String> {
    let Some((before, rest)) = row.split_once('{') else { return vec![row.to_owned()] };
    let (choices, after) = rest.split_once('}').expect("a brace is closed");
    choices.split(',').flat_map(|choice| expanded(&format!("{before}{choice}{after}"))).collect()
}

/// Returns the letter of a register, `f` for `%f1`, if the program uses it.
pub fn register(program: &str, number: usize) -> Option<char> {
    program.split('%').skip(1).find_map(|text| {
        let letter = text.chars().next()?;
        let digits: String = text.chars().skip(1).take_while(char::is_ascii_digit).collect();
        (digits.parse() == Ok(number)).then_some(letter)
    })
}

/// Returns the number of first inputs that ptxas evaluates a program on: all edge cases of a single input.
pub fn literals(program: &str) -> usize {
    let letters: Vec<char> = (1..=INPUTS).filter_map(|number| register(program, number)).collect();
    if let [letter] = letters[..] { Kind::of(letter).edges.len() } else { 16 }
}

/// Returns a number of inputs for a program: for each, the values of registers 1 to 4.
pub fn inputs(program: &str, count: usize) -> Vec<[u64; INPUTS]> {
    let letters: [Option<char>; INPUTS] = std::array::from_fn(|index| register(program, index + 1));
    let mut random = Random::new(
        letters.iter().fold(7, |seed, letter| seed * 131 + u64::from(letter.map_or(0, u32::from))),
    );
    let only = letters.iter().flatten().count() == 1;
    (0..count)
        .map(|index| {
            let mut values = [0; INPUTS];
            for (at, letter) in letters.iter().enumerate() {
                let Some(letter) = *letter else { continue };
                let kind = Kind::of(letter);
                let value = match kind.edges.get(index) {
                    Some(edge) if only => *edge,
                    _ => kind.value(&mut random),
                };
                // Now and then a neighbour of the input before, for comparisons and cancellation.
                let is_neighbour =
                    at > 0 && letters[at - 1] == Some(letter) && random.bits().is_multiple_of(6);
                values[at] = if is_neighbour { kind.neighbour(values[at - 1], &mut random) } else { value };
            }
            values
        })
        .collect()
}

/// What the registers of a letter hold.
struct Kind {
    letter: char,
    width: u32,
    edges: &'static [u64],
}

const WORDS: [u64; 33] = [
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    15,
    16,
    23,
    24,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x0808,
    0x1005,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x00ff_ff00,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
];
const WIDE: [u64; 16] = [
    0,
    1,
    2,
    31,
    32,
    63,
    64,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 1,
    u64::MAX,
    0xffff_ffff_0000_0000,
];
const HALVES: [u64; 20] = [
    0, 0x8000, 1, 0x8001, 0x3ff, 0x83ff, 0x400, 0x8400, 0x3c00, 0xbc00, 0x3800, 0x3e00, 0x4100, 0xc100,
    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x5bff,
];
const SINGLES: [u64; 46] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x0040_0000,
    0x8040_0000,
    0x007f_ffff,
    0x807f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f80_0001,
    0x3f7f_ffff,
    0x3f00_0000,
    0xbf00_0000,
    0x3fc0_0000,
    0x4020_0000,
    0xc020_0000,
    0x4060_0000,
    0x3effffff,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fff_ffff,
    0x7fc0_0000,
    0xffc0_0001,
    0x7f80_0001,
    0x4f00_0000,
    0xcf00_0000,
    0xcf00_0001,
    0x4f80_0000,
    0x4eff_ffff,
    0x5f00_0000,
    0xdf00_0000,
    0x5f80_0000,
    0x437f_8000,
    0xc300_8000,
    0x46ff_ff00,
    0x477f_e000,
    0x3380_0000,
    0x3880_0000,
    0x337f_ffff,
    0x4b00_0001,
    0x4049_0fdb,
];
const DOUBLES: [u64; 38] = [
    0,
    1 << 63,
    1,
    (1 << 63) + 1,
    0x000f_ffff_ffff_ffff,
    0x800f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3fef_ffff_ffff_ffff,
    0x3fe0_0000_0000_0000,
    0xbfe0_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0xc004_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x41df_ffff_ffe0_0000,
    0x41e0_0000_0000_0000,
    0xc1e0_0000_0020_0000,
    0x41ef_ffff_ffe0_0000,
    0x41f0_0000_0000_0000,
    0x43e0_0000_0000_0000,
    0xc3e0_0000_0000_0000,
    0x43f0_0000_0000_0000,
    0x47ef_ffff_e000_0000,
    0x47ef_ffff_f000_0000,
    0x3810_0000_0000_0000,
    0x380f_ffff_ffff_ffff,
    0x36a0_0000_0000_0000,
    0x3690_0000_0000_0000,
    0x3ff0_0000_1000_0000,
    0x3ff0_0000_3000_0000,
];

impl Kind {
    fn of(letter: char) -> Self {
        let (width, edges): (u32, &[u64]) = match letter {
            'p' => (1, &[0, 1]),
            'h' => (16, &HALVES),
            'f' => (32, &SINGLES),
            'd' => (64, &DOUBLES),
            'l' => (64, &WIDE),
            _ => (32, &WORDS),
        };
        Self { letter, width, edges }
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// Returns an edge case, or a random number: small, or of any size; of floats, often near 1.
    fn value(&self, random: &mut Random) -> u64 {
        let bits = random.bits();
        let value = match bits % 8 {
            0..=2 => self.edges[(bits >> 8) as usize % self.edges.len()],
            3 | 4 if matches!(self.letter, 'r' | 'l') => random.bits() >> (random.bits() % 64),
            3..=5 => match self.letter {
                'f' => 0x3f00_0000 ^ random.bits() & 0x81ff_ffff,
                'd' => 0x3fe0_0000_0000_0000 ^ random.bits() & 0x803f_ffff_ffff_ffff,
                'h' => 0x3800 ^ random.bits() & 0x8fff,
                _ => random.bits(),
            },
            _ => random.bits(),
        };
        value & self.mask()
    }

    fn neighbour(&self, value: u64, random: &mut Random) -> u64 {
        let value = match random.bits() % 6 {
            0 | 1 => value,
            2 => value.wrapping_add(1),
            3 => value.wrapping_sub(1),
            4 => value ^ 1 << (self.width - 1),
            _ => value.wrapping_neg(),
        };
        value & self.mask()
    }
}
