//! The front end for NVIDIA's machine code: words to values and blocks.
//!
//! `flow` finds where control goes, with the reconvergence stack taken apart; `routine` which calls are the compiler's
//! own and stand for an operator, which it tries out on a `machine`; `lift` turns the p-code of
//! [`unshade_sass::semantics`] into values; `calls` says which functions of C the functions of p-code are; `outside` what the
//! device runtime's are; `image` what the functions for textures and surfaces are; `banks` what stands in constant bank 0. Nothing outside of this module knows a register.

mod banks;
mod calls;
mod flow;
mod image;
mod lift;
mod machine;
mod outside;
mod routine;

use crate::Fault;
use crate::ir;
use unshade_sass::table::Isa;

/// Code, and what is known of it from outside.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    /// How it is encoded.
    pub isa: &'static Isa,
    /// The words of the section that it is in.
    pub bytes: &'a [u8],
    /// The address of the first word.
    pub base: u64,
    /// Where it is entered.
    pub entry: u64,
    /// Bytes of stack that a thread has.
    pub local_size: u32,
    /// Contents of constant banks that are known: those of the function.
    pub constants: Vec<(u8, &'a [u8])>,
    /// Functions in the section besides the one that is entered.
    pub functions: Vec<Inner<'a>>,
    /// Constant banks of variables: bank, offset, name, and which symbol it is.
    pub variables: Vec<Variable<'a>>,
    /// What is put into words when the code is loaded: address, and part of a symbol's address.
    pub relocations: Vec<Relocation<'a>>,
}

impl<'a> Code<'a> {
    /// Code that is entered at its first word, at address 0, and of which nothing else is known.
    pub fn new(isa: &'static Isa, bytes: &'a [u8]) -> Self {
        Self {
            isa,
            bytes,
            base: 0,
            entry: 0,
            local_size: 0,
            constants: Vec::new(),
            functions: Vec::new(),
            variables: Vec::new(),
            relocations: Vec::new(),
        }
    }

    /// What is known to stand in a constant bank, which is named above 16 bits of offset.
    fn held(&self, place: u64, width: u8) -> Option<u64> {
        let bytes = self.constants.iter().find(|entry| u64::from(entry.0) == place >> 16)?.1;
        let start = usize::try_from(place & 0xffff).ok()?;
        let found = bytes.get(start..start + usize::from(width / 8))?;
        Some(found.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

/// A function inside of a section.
#[derive(Clone, Debug)]
pub struct Inner<'a> {
    /// Where it is entered.
    pub address: u64,
    /// Its name.
    pub name: &'a str,
}

/// A variable in a constant bank, or in global memory or shared memory.
#[derive(Clone, Debug)]
pub struct Variable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it is.
    pub place: Place,
    /// The offset there.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What it holds before the program runs; nothing if that is not told.
    pub bytes: &'a [u8],
}

impl<'a> Variable<'a> {
    /// What it says, if it is text.
    pub fn text(&self) -> Option<&'a str> {
        let (last, text) = self.bytes.split_last()?;
        let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
        (*last == 0 && text.iter().all(is_text)).then(|| std::str::from_utf8(text).ok())?
    }

    /// Whether the compiler made it of a literal of text.
    pub fn is_literal(&self) -> bool {
        self.text().is_some()
            && ["$str", "__unnamed", ".str"].iter().any(|start| self.name.starts_with(start))
    }
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a constant bank.
    Constant(u8),
    /// In global memory.
    Global,
    /// In shared memory.
    Shared,
    /// A texture, whose handle stands in constant bank 0.
    Texture,
    /// A surface, whose descriptor stands in constant bank 0.
    Surface,
}

/// A part of an address that is put into a word.
#[derive(Clone, Copy, Debug)]
pub struct Relocation<'a> {
    /// The address of the word.
    pub address: u64,
    /// The symbol.
    pub symbol: &'a str,
    /// What is added.
    pub addend: u64,
    /// What part of the address it is.
    pub part: Part,
}

/// A part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The lower 32 bits.
    Low,
    /// The upper 32 bits.
    High,
    /// The target of a call.
    Target,
}

/// Words to values and blocks.
///
/// # Errors
///
/// When there is more than the budget allows, or nothing at the entry.
pub fn lift(code: &Code<'_>, budget: usize) -> Result<ir::Function, Fault> {
    let flow = flow::Flow::new(code, budget)?;
    lift::lift(code, &flow, budget)
}
