//! Assembles the text of every module of all sets, and LLVM's own tests of assembly.
//!
//! The text is that of `llvm-dis`. What `llvm-as` takes has to be taken, and the module is compared with the one that it
//! writes: byte for byte, or else by the text that `llvm-dis` prints of it. What it refuses has to be refused, by the parser
//! or by the verifier, as `unshade asm` does; whether at the same line is counted.

use std::panic;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use unshade::llvm::assemble::{self, AssembleOptions, Version};

use super::write::{Assemblers, IDENTICAL, SHOWN_FAULTS, name_of};
use super::{Input, air, c_files, llvm_tests};
use crate::sh;

/// The name that `llvm-as` gives a module from standard input.
const STANDARD_INPUT: &[u8] = b"<stdin>";

pub(crate) fn run(sample: Option<usize>) -> Result<()> {
    let mut faults = Vec::new();
    for version in [Version::Llvm14, Version::Llvm19] {
        let Some(programs) = Assemblers::find(version)? else { continue };
        let name = name_of(version);
        let mut finish = |set: &str, counts: Counts| {
            counts.print(&format!("{set}, LLVM {name}"));
            faults.extend(counts.failed(&format!("{set}, LLVM {name}")));
        };
        let texts = llvm_tests::texts(name, sample)?;
        let tests = texts.par_iter().map(|(test, text)| Counts::of(test, text, version, &programs));
        finish("tests", tests.try_reduce(Counts::default, |one, other| Ok(one.add(other)))?);
        for level in c_files::LEVELS {
            finish(level.set, disassembled(&c_files::modules(name, level, sample)?, version, &programs)?);
        }
        finish("air", disassembled(&air::modules(sample)?, version, &programs)?);
    }
    ensure!(faults.is_empty(), "{}", faults.join("; "));
    Ok(())
}

/// Assembles the text of modules.
fn disassembled(inputs: &[Input], version: Version, programs: &Assemblers) -> Result<Counts> {
    let of_input = |input: &Input| -> Result<Counts> {
        let text = programs.disassembler.run(&input.bytes()?)?;
        match text.status.success() {
            true => Counts::of(&input.name, &text.stdout, version, programs),
            false => Ok(Counts::default()),
        }
    };
    inputs.par_iter().map(of_input).try_reduce(Counts::default, |one, other| Ok(one.add(other)))
}

/// The counts for some texts.
#[derive(Default)]
struct Counts {
    taken: u64,
    bytes: u64,
    identical: u64,
    same_text: u64,
    refused: u64,
    same_line: u64,
    /// Texts that `llvm-as` refuses, but that are not refused here.
    not_refused: Vec<String>,
    different: Vec<String>,
    faults: Vec<String>,
}

impl Counts {
    fn of(name: &str, text: &[u8], version: Version, programs: &Assemblers) -> Result<Self> {
        let mut counts = Self { bytes: text.len() as u64, ..Self::default() };
        let expected = programs.assemble(text)?;
        let found = panic::catch_unwind(|| assembled(text, version));
        let Ok(found) = found else {
            counts.faults.push(format!("{name}: panic"));
            return Ok(counts);
        };
        if !expected.status.success() {
            counts.refused = 1;
            match found {
                Ok(_) => counts.not_refused.push(name.to_owned()),
                Err(Refused { line, .. }) => {
                    counts.same_line = u64::from(line.is_some() && line == line_of(&expected.stderr));
                }
            }
            return Ok(counts);
        }
        counts.taken = 1;
        match found {
            Err(error) => counts.faults.push(format!("{name}: {}", error.message)),
            Ok(found) if found == expected.stdout => counts.identical = 1,
            Ok(found) => {
                counts.different.push(name.to_owned());
                let print = |module: &[u8]| programs.disassembler.run(module);
                if print(&found)?.stdout == print(&expected.stdout)?.stdout {
                    counts.same_text = 1;
                } else {
                    counts.faults.push(format!("{name}: it has another text"));
                }
            }
        }
        Ok(counts)
    }

    fn add(mut self, other: Self) -> Self {
        let sums = [
            (&mut self.taken, other.taken),
            (&mut self.bytes, other.bytes),
            (&mut self.identical, other.identical),
            (&mut self.same_text, other.same_text),
            (&mut self.refused, other.refused),
            (&mut self.same_line, other.same_line),
        ];
        for (sum, addend) in sums {
            *sum += addend;
        }
        self.not_refused.extend(other.not_refused);
        self.different.extend(other.different);
        self.faults.extend(other.faults);
        self
    }

    fn print(&self, set: &str) {
        let Self { taken, identical, same_text, refused, same_line, .. } = self;
        println!("{set}: {taken} modules, {}", sh::megabytes(self.bytes));
        println!("  byte for byte: {identical} of {taken}; others with the same text: {same_text}");
        if *refused > 0 {
            let not_refused = self.not_refused.len();
            println!(
                "  refused by llvm-as: {refused}; here at the same line: {same_line}, not here: {not_refused}"
            );
        }
        self.not_refused.iter().take(SHOWN_FAULTS).for_each(|name| println!("  not refused: {name}"));
        self.different.iter().take(SHOWN_FAULTS).for_each(|name| println!("  different: {name}"));
        self.faults.iter().take(SHOWN_FAULTS).for_each(|fault| println!("  fault: {fault}"));
    }

    /// Returns the criteria that are not met.
    fn failed(&self, set: &str) -> Vec<String> {
        let mut failed = Vec::new();
        if !self.faults.is_empty() {
            failed.push(format!("{set}: {} faults", self.faults.len()));
        }
        if !self.not_refused.is_empty() {
            failed.push(format!("{set}: {} are not refused", self.not_refused.len()));
        }
        let share = self.identical as f64 * 100.0 / self.taken.max(1) as f64;
        if self.taken > 0 && share < IDENTICAL {
            failed.push(format!("{set}: only {share:.1} % byte for byte"));
        }
        failed
    }
}

/// A text that is refused: why, and at which line.
struct Refused {
    message: String,
    line: Option<usize>,
}

fn assembled(text: &[u8], version: Version) -> std::result::Result<Vec<u8>, Refused> {
    match assemble::bitcode(text, STANDARD_INPUT, &AssembleOptions { version }) {
        Ok(bitcode) => Ok(bitcode.bytes),
        Err(errors) => {
            let line = errors.iter().map(|error| error.line).min();
            let message = errors.first().map(ToString::to_string).unwrap_or_default();
            Err(Refused { message, line })
        }
    }
}

/// Returns the line that an error message of `llvm-as` names.
fn line_of(message: &[u8]) -> Option<usize> {
    let message = String::from_utf8_lossy(message);
    let (_, place) = message.split_once("<stdin>:")?;
    place.split(':').next()?.parse().ok()
}
