//! Disassembles bare instruction words: hexadecimal lines of `WORD [ADDRESS]` from standard input.
//!
//! `echo 64c03c00089c0006 8 | cargo run -p unshade-sass --example words -- 35`

use std::io::{self, BufRead, Write};

use unshade_sass::{Instruction, isa};

fn main() -> io::Result<()> {
    let architecture = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(35);
    let isa = isa::by_architecture(architecture).expect("a supported architecture");
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line?;
        let mut words = line.split_whitespace();
        let mut number = || words.next().and_then(|word| u128::from_str_radix(word, 16).ok());
        let (Some(word), address) = (number(), number().unwrap_or(0)) else { continue };
        match Instruction::decode(isa, word) {
            Some(instruction) => writeln!(out, "{}", instruction.text(u64::try_from(address).unwrap_or(0)))?,
            None => writeln!(out, "?")?,
        }
    }
    Ok(())
}
