//! The front end for NVIDIA machine code: words to values and blocks.
//!
//! `flow` follows control flow and resolves the reconvergence stack. `routine` recognises the compiler's own routines
//! as operators by running them on a `machine`. `lift` turns the p-code of [`unshade_sass::semantics`] into values.
//! `calls` maps p-code functions to C functions, `runtime_calls` handles those of the device runtime, `image` those
//! for textures and surfaces, and `banks` describes constant bank 0. Nothing outside of this module knows registers.

mod banks;
mod calls;
mod flow;
mod image;
mod lift;
mod lifter;
mod machine;
mod routine;
mod runtime_calls;

use crate::DecompileError;
use crate::ir;
use crate::pass::ConstantObject;
use unshade_sass::table::Isa;

/// Code and its metadata.
#[derive(Clone)]
pub struct Code<'a> {
    /// Its encoding.
    pub isa: &'static Isa,
    /// The words of its section.
    pub bytes: &'a [u8],
    /// The address of the first word.
    pub base: u64,
    /// The address of the entry point.
    pub entry: u64,
    /// Bytes of local memory per thread.
    pub local_size: u32,
    /// Known contents of the function's constant banks.
    pub constants: Vec<(u8, &'a [u8])>,
    /// The other functions in the section.
    pub functions: Vec<FunctionSymbol<'a>>,
    /// Variables with their locations.
    pub variables: Vec<Variable<'a>>,
    /// Relocations of instruction words.
    pub relocations: Vec<Relocation<'a>>,
}

impl std::fmt::Debug for Code<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code")
            .field("base", &self.base)
            .field("entry", &self.entry)
            .field("size", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl<'a> Code<'a> {
    /// Creates code that starts at address 0, without any metadata.
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

    /// Returns the variables in constant banks.
    pub fn constant_objects(&self) -> Vec<ConstantObject> {
        let object = |variable: &Variable<'_>| match variable.space {
            VariableSpace::Constant(bank) => Some(ConstantObject {
                name: variable.name.to_owned(),
                bank,
                offset: variable.offset,
                size: variable.size,
            }),
            _ => None,
        };
        self.variables.iter().filter_map(object).collect()
    }

    /// Returns whether a constant bank has variables, or known contents.
    fn has_bank(&self, bank: u8) -> bool {
        self.constants.iter().any(|entry| entry.0 == bank)
            || self.variables.iter().any(|variable| variable.space == VariableSpace::Constant(bank))
    }

    /// Returns the known contents of a constant bank; the bank number is above 16 bits of offset.
    fn known_constant(&self, bank_and_offset: u64, width: u8) -> Option<u64> {
        let bytes = self.constants.iter().find(|entry| u64::from(entry.0) == bank_and_offset >> 16)?.1;
        let start = usize::try_from(bank_and_offset & 0xffff).ok()?;
        let found = bytes.get(start..start + usize::from(width / 8))?;
        Some(found.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

/// A function in a section.
#[derive(Clone, Debug)]
pub struct FunctionSymbol<'a> {
    /// Its address.
    pub address: u64,
    /// Its name.
    pub name: &'a str,
}

/// A variable in a constant bank, in global memory or in shared memory.
#[derive(Clone)]
pub struct Variable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its memory.
    pub space: VariableSpace,
    /// Its offset in that memory.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Its initial value; empty if unknown.
    pub bytes: &'a [u8],
}

impl std::fmt::Debug for Variable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Variable")
            .field("name", &self.name)
            .field("space", &self.space)
            .field("offset", &self.offset)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl<'a> Variable<'a> {
    /// Returns its contents if they are text.
    pub fn text(&self) -> Option<&'a str> {
        let (last, text) = self.bytes.split_last()?;
        let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
        (*last == 0 && text.iter().all(is_text)).then(|| std::str::from_utf8(text).ok())?
    }

    /// Returns whether it is a string literal.
    pub fn is_literal(&self) -> bool {
        self.text().is_some()
            && ["$str", "__unnamed", ".str"].iter().any(|start| self.name.starts_with(start))
    }
}

/// The memory of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSpace {
    /// In a constant bank.
    Constant(u8),
    /// In global memory.
    Global,
    /// In shared memory.
    Shared,
    /// A texture, whose handle is in constant bank 0.
    Texture,
    /// A surface, whose descriptor is in constant bank 0.
    Surface,
}

/// A relocation: part of an address that the loader inserts into a word.
#[derive(Clone, Copy, Debug)]
pub struct Relocation<'a> {
    /// The address of the word.
    pub address: u64,
    /// The symbol.
    pub symbol: &'a str,
    /// The addend.
    pub addend: u64,
    /// The part of the address.
    pub part: AddressPart,
}

/// A part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressPart {
    /// The lower 32 bits.
    Low,
    /// The upper 32 bits.
    High,
    /// The target of a call.
    Target,
}

/// Lifts machine code to values and blocks.
///
/// # Errors
///
/// Fails if it exceeds the budget, or there is no code at the entry point.
pub fn lift(code: &Code<'_>, budget: usize) -> Result<ir::Function, DecompileError> {
    let flow = flow::Flow::new(code, budget)?;
    lift::lift(code, &flow, budget)
}
