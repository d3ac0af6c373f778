//! A second definition of instructions: an interpreter of short PTX programs, written from NVIDIA's *PTX ISA* alone.
//!
//! It shares nothing with the semantics of `unshade-sass`: floating-point arithmetic is exact ([`super::exact`]),
//! functions that the chip approximates are those of the platform's mathematical library, with the error that the document
//! allows.
//!
//! | module | instructions |
//! |---|---|
//! | `integer` | arithmetic with carry, bits, shifts, bytes |
//! | `float` | arithmetic, minimum and maximum, approximations |
//! | `compare` | `setp`, `set`, `selp`, `slct` |
//! | `convert` | `cvt` |
//! | `video` | scalar and SIMD video instructions |

mod compare;
mod convert;
mod float;
mod integer;
mod video;

use std::collections::BTreeMap;

use super::rows::INPUTS;

/// The result of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Register 0.
    pub bits: u64,
    /// What else the document allows.
    pub tolerance: Tolerance,
}

/// The results that are right besides the exact one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// None. All NaNs are equal.
    Exact,
    /// Singles with an error relative to the result, or an absolute error.
    Single {
        /// The relative error.
        relative: f64,
        /// The absolute error.
        absolute: f64,
    },
    /// Doubles with a relative error.
    Double(f64),
    /// The result is undefined.
    Any,
}

/// A data type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Type {
    kind: char,
    width: u32,
}

impl Type {
    fn read(word: &str) -> Option<Self> {
        let (kind, width) = word.split_at_checked(1)?;
        let kind = kind.chars().next().filter(|kind| "subf".contains(*kind))?;
        Some(Self { kind, width: width.parse().ok().filter(|width| [8, 16, 32, 64].contains(width))? })
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    fn is_signed(self) -> bool {
        self.kind == 's'
    }

    /// Returns the number that bits of this integer type are.
    fn value(self, bits: u64) -> i128 {
        let bits = bits & self.mask();
        let negative = self.is_signed() && bits >> (self.width - 1) != 0;
        i128::from(bits) - if negative { 1 << self.width } else { 0 }
    }

    fn range(self) -> (i128, i128) {
        let count = 1_i128 << self.width;
        if self.is_signed() { (-count / 2, count / 2 - 1) } else { (0, count - 1) }
    }
}

/// An instruction with the values of its sources.
struct Call<'a> {
    name: &'a str,
    words: Vec<&'a str>,
    sources: Vec<u64>,
    /// The texts of the sources, for selectors of parts.
    texts: Vec<&'a str>,
    /// The text of the destination.
    destination: &'a str,
}

impl Call<'_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn types(&self) -> Vec<Type> {
        self.words.iter().filter_map(|word| Type::read(word)).collect()
    }

    /// Returns the type of the result, the first one.
    fn ty(&self) -> Option<Type> {
        self.types().first().copied()
    }

    fn at(&self, index: usize) -> u64 {
        self.sources.get(index).copied().unwrap_or(0)
    }
}

/// The registers of a thread.
struct Machine {
    registers: BTreeMap<String, u64>,
    carry: bool,
    tolerance: Tolerance,
}

/// Runs a program; register 0 is the result.
///
/// # Errors
/// If an instruction has no definition here.
pub fn run(program: &str, inputs: &[u64; INPUTS]) -> Result<Outcome, String> {
    let mut machine = Machine { registers: BTreeMap::new(), carry: false, tolerance: Tolerance::Exact };
    for (number, value) in (1..=INPUTS).zip(inputs) {
        if let Some(letter) = super::rows::register(program, number) {
            machine.registers.insert(format!("%{letter}{number}"), *value);
        }
    }
    for line in program.split(';').map(str::trim).filter(|line| !line.is_empty()) {
        machine.step(line).ok_or_else(|| format!("{line:?} has no definition"))?;
    }
    let letter = super::rows::register(program, 0).ok_or("nothing sets register 0")?;
    Ok(Outcome { bits: machine.register(&format!("%{letter}0")), tolerance: machine.tolerance })
}

impl Machine {
    fn register(&self, name: &str) -> u64 {
        self.registers.get(name).copied().unwrap_or(0)
    }

    /// Executes an instruction; `None` if it has no definition.
    fn step(&mut self, line: &str) -> Option<()> {
        let (guard, line) = match line.strip_prefix('@') {
            Some(rest) => rest.split_once(' ').map(|(guard, line)| (Some(guard), line))?,
            None => (None, line),
        };
        if guard.is_some_and(|guard| self.source(guard) == Some(0)) {
            return Some(());
        }
        let (opcode, operands) = line.split_once(' ')?;
        let mut texts = operands.split(',').map(str::trim);
        let mut words = opcode.split('.');
        let (name, destination) = (words.next()?, texts.next()?);
        let texts: Vec<&str> = texts.collect();
        let sources = texts.iter().map(|text| self.source(text)).collect::<Option<Vec<u64>>>()?;
        let call = Call { name, words: words.collect(), sources, texts, destination };
        if name == "setp" {
            let [yes, no] = compare::setp(&call)?;
            let (first, second) = destination.split_once('|').unwrap_or((destination, "_"));
            self.registers.insert(first.to_owned(), yes.into());
            self.registers.insert(second.to_owned(), no.into());
            return Some(());
        }
        let result = integer::call(&call, &mut self.carry, &mut self.tolerance)
            .or_else(|| float::call(&call, &mut self.tolerance))
            .or_else(|| compare::call(&call))
            .or_else(|| convert::call(&call))
            .or_else(|| video::call(&call))?;
        let width = match destination.chars().nth(1)? {
            'p' => 1,
            'h' => 16,
            'r' | 'f' => 32,
            _ => 64,
        };
        self.registers.insert(destination.split('.').next()?.to_owned(), result & (u64::MAX >> (64 - width)));
        Some(())
    }

    /// Returns the value of a source: a register, `!` and a predicate, or a literal.
    fn source(&self, text: &str) -> Option<u64> {
        if let Some(predicate) = text.strip_prefix('!') {
            return Some(u64::from(self.source(predicate)? == 0));
        }
        if text.starts_with('%') {
            return Some(self.register(text.split('.').next()?));
        }
        if let Some(digits) = text.strip_prefix("0f").or(text.strip_prefix("0d")).or(text.strip_prefix("0x"))
        {
            return u64::from_str_radix(digits, 16).ok();
        }
        text.parse::<i64>().ok().map(i64::cast_unsigned)
    }
}

/// Returns whether two results of a type are equal, or as near as the tolerance allows.
pub fn is_right(letter: char, expected: Outcome, found: u64) -> bool {
    let format = match letter {
        'f' => super::exact::SINGLE,
        'd' => super::exact::DOUBLE,
        _ => return expected.bits == found || expected.tolerance == Tolerance::Any,
    };
    if expected.bits == found || format.is_nan(expected.bits) && format.is_nan(found) {
        return true;
    }
    let (exact, found) = (format.to_f64(expected.bits), format.to_f64(found));
    let error = (exact - found).abs();
    match expected.tolerance {
        Tolerance::Exact => false,
        Tolerance::Any => true,
        Tolerance::Single { relative, absolute } => error <= absolute.max(relative * exact.abs()),
        Tolerance::Double(relative) => error <= relative * exact.abs(),
    }
}
