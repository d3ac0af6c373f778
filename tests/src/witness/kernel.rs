//! The compiled programs: `fixtures/nvidia/witness/sm_35.txt`, and their runs in the emulator.
//!
//! Each line of the file has a program, the machine code and the constants that ptxas 11.2 made of it, in words of 16 digits,
//! and the results that ptxas computed itself for the first inputs, `-` where it left that to the code.

use unshade::sass::table::Isa;
use unshade::sass::{Instruction, isa};
use unshade_emulate::{Argument, Device, Grid, Limits, Module};

use super::rows::{INPUTS, folder};

/// The constant bank of literals that don't fit into an instruction.
pub const BANK: u8 = 2;

/// The name of the kernels.
const NAME: &str = "witness";

/// Maximum number of instructions, counted per warp; a changed program may not end.
const STEPS: u64 = 20_000;

/// A compiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The PTX.
    pub program: String,
    /// The machine code.
    pub code: Vec<u8>,
    /// The constants that ptxas put into [`BANK`].
    pub constants: Vec<u8>,
    /// What ptxas computed for the first inputs.
    pub folded: Vec<Option<u64>>,
}

/// Reads the compiled programs.
///
/// # Panics
/// If the file is damaged: it is part of the tests.
pub fn all() -> Vec<Compiled> {
    let text = std::fs::read_to_string(folder().join("sm_35.txt")).expect("the compiled rows are a fixture");
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| read(line).unwrap_or_else(|| panic!("{line}")))
        .collect()
}

fn read(line: &str) -> Option<Compiled> {
    let mut columns = line.split('\t');
    let program = columns.next()?.to_owned();
    let mut words = || -> Option<Vec<u8>> {
        let words = columns.next()?.split(' ').filter(|word| !word.is_empty());
        let words = words.map(|word| u64::from_str_radix(word, 16).map(u64::to_le_bytes));
        Some(words.collect::<Result<Vec<_>, _>>().ok()?.concat())
    };
    let (code, constants) = (words()?, words()?);
    let mut folded = Vec::new();
    for value in columns.next()?.split(' ').filter(|value| !value.is_empty()) {
        folded.push(if value == "-" { None } else { Some(u64::from_str_radix(value, 16).ok()?) });
    }
    Some(Compiled { program, code, constants, folded })
}

impl std::fmt::Display for Compiled {
    /// Writes the line of the file.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = |bytes: &[u8]| -> String {
            let words = bytes.chunks(8).map(|word| {
                format!("{:016x}", word.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)))
            });
            words.collect::<Vec<String>>().join(" ")
        };
        let value = |value: &Option<u64>| value.map_or_else(|| "-".into(), |value| format!("{value:x}"));
        let folded: Vec<String> = self.folded.iter().map(value).collect();
        write!(f, "{}\t{}\t{}\t{}", self.program, words(&self.code), words(&self.constants), folded.join(" "))
    }
}

/// Returns the instruction set of the compiled programs.
///
/// # Panics
/// If there is none.
pub fn kepler() -> &'static Isa {
    isa::by_architecture(35).expect("sm_35 has a table")
}

/// Runs code, which may be a changed one of the program, once per input, of at most 1024; returns the results.
///
/// # Errors
/// The emulator's fault.
pub fn run(code: &[u8], constants: &[u8], inputs: &[[u64; INPUTS]]) -> Result<Vec<u64>, String> {
    let mut module = Module::of_code(35, NAME, code, &[8, 8]).ok_or("the chip is not supported")?;
    module.set_constants(BANK, constants);
    let mut device = Device::new();
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let size = 8 * inputs.len();
    let out = device.allocate(size as u64, "out").map_err(|reason| text(&reason))?;
    let source = device.allocate((INPUTS * size) as u64, "in").map_err(|reason| text(&reason))?;
    let bytes: Vec<u8> = inputs.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    device.write(source, &bytes).map_err(|reason| text(&reason))?;
    device.write(out, &vec![0; size]).map_err(|reason| text(&reason))?;
    let limits = Limits { steps: STEPS, ..Limits::default() };
    let arguments: [Argument; 2] = [out.into(), source.into()];
    let grid = Grid::new(1, u32::try_from(inputs.len()).unwrap_or(u32::MAX));
    module.launch(&mut device, NAME, grid, &arguments, limits, None).map_err(|fault| fault.to_string())?;
    let bytes = device.read(out, size).map_err(|reason| text(&reason))?;
    Ok(bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect())
}

/// Returns the instructions of code, each with its offset.
pub fn instructions(code: &[u8]) -> Vec<(usize, Instruction)> {
    let function =
        unshade::sass::listing::Function { name: "", isa: kepler(), bytes: code, address: 0, file_offset: 0 };
    let words = function.words().filter_map(|(address, word)| match word {
        unshade::sass::listing::Word::Instruction(instruction) => {
            Some((usize::try_from(address).ok()?, instruction))
        }
        _ => None,
    });
    words.collect()
}
