//! The front end for NVIDIA machine code: words to values and blocks.
//!
//! `flow` follows control flow and resolves the reconvergence stack. `routine` recognises the compiler's own routines
//! as operators by running them on a `machine`; `recursion` finds the functions that call themselves. `functions` infers
//! the signatures of device functions, `convention` lifts their calls, `stack` finds parameters there, and `saves`
//! removes what they only save. `lift` turns the p-code of [`unshade_sass::semantics`] into values. `calls` maps p-code
//! functions to C functions, `runtime_calls` handles those of the device runtime, `image` those for textures and
//! surfaces, and `banks` describes constant bank 0. `idiom` undoes what the compilers do for lack of instructions.
//! Nothing outside of this module knows registers.

mod banks;
mod calls;
mod convention;
mod flow;
mod functions;
pub mod idiom;
mod image;
mod lift;
mod lifter;
mod locals;
mod machine;
mod pointers;
mod recursion;
mod routine;
mod runtime_calls;
mod saves;
mod stack;

use crate::DecompileError;
use crate::ir::{self, MemoryObject, Module, ObjectSpace, Parameter, SourceVariable, Structure};
use crate::pass::windows;
pub use functions::Functions;
pub use idiom::idioms;
pub use recursion::recursive_functions;
use std::borrow::Cow;
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
    pub variables: &'a [MemoryObject<'a>],
    /// Relocations of instruction words.
    pub relocations: Vec<Relocation<'a>>,
    /// Variables of the source code.
    pub locals: Vec<Local>,
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
            variables: &[],
            relocations: Vec::new(),
            locals: Vec::new(),
        }
    }

    /// Returns whether a constant bank has variables, or known contents.
    fn has_bank(&self, bank: u8) -> bool {
        self.constants.iter().any(|entry| entry.0 == bank)
            || self.variables.iter().any(|variable| variable.space == ObjectSpace::Constant(bank))
    }

    /// Returns the known contents of a constant bank; the bank number is above 16 bits of offset. A bank may have several
    /// contents, those of each kernel that calls the function: they must agree.
    fn known_constant(&self, bank_and_offset: u64, width: u8) -> Option<u64> {
        let start = usize::try_from(bank_and_offset & 0xffff).ok()?;
        let banks = self.constants.iter().filter(|entry| u64::from(entry.0) == bank_and_offset >> 16);
        let mut found = banks.filter_map(|entry| entry.1.get(start..start + usize::from(width / 8)));
        let first = found.next()?;
        found
            .all(|other| other == first)
            .then(|| first.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

/// A function in a section.
#[derive(Clone, Debug)]
pub struct FunctionSymbol<'a> {
    /// Its address.
    pub address: u64,
    /// Its name.
    pub name: &'a str,
    /// Its name in C, if it becomes a function of its own.
    pub name_in_c: &'a str,
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

/// A variable of the source code.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name and type, and its place if it is in memory.
    pub variable: SourceVariable,
    /// Its registers. A variable of 64 bits has two.
    pub registers: Vec<LocalRegister>,
}

impl Local {
    /// Describes a variable that is in memory.
    pub fn in_memory(variable: SourceVariable) -> Self {
        Self { variable, registers: Vec::new() }
    }
}

/// A register that holds 32 bits of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalRegister {
    /// Which 32 bits: 0 for the lowest.
    pub part: u32,
    /// The number of the register.
    pub register: u8,
    /// The address of the instruction that sets it.
    pub start: u64,
    /// The address from which it no longer holds the variable.
    pub end: u64,
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

/// A function to decompile.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// Its name, a C identifier.
    pub name: String,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// Its parameters; empty if unknown.
    pub parameters: Vec<Parameter>,
    /// Its parameters if it is a method of a class, which its name doesn't tell; empty if it can't be.
    pub method: Vec<Parameter>,
    /// Its code.
    pub code: Code<'a>,
    /// The structures that types of parameters and variables refer to.
    pub structures: Vec<Structure>,
    /// Bytes of shared memory that it declares statically.
    pub shared_size: u64,
    /// The most threads of a block that it may be launched with, if it says so.
    pub max_threads: Option<u32>,
    /// Whether its address is in a variable or in code.
    pub is_pointed: bool,
}

impl<'a> Source<'a> {
    /// Describes a kernel with consecutive parameters of these sizes in bytes, and without shared memory.
    pub fn kernel(name: impl Into<String>, code: Code<'a>, sizes: &[u32]) -> Self {
        let mut end = 0_u32;
        let parameters = sizes.iter().map(|&size| {
            let offset = end;
            end = end.saturating_add(size);
            Parameter { offset, size, ty: None, name: None }
        });
        Self {
            name: name.into(),
            is_kernel: true,
            parameters: parameters.collect(),
            method: Vec::new(),
            code,
            shared_size: 0,
            max_threads: None,
            structures: Vec::new(),
            is_pointed: false,
        }
    }
}

/// Lifts a function without its surroundings. Also returns the registers that its instructions write.
fn lift_raw(
    source: &Source<'_>,
    functions: &Functions,
    budget: usize,
) -> Result<(ir::Function, Vec<u32>), DecompileError> {
    let flow = flow::Flow::new(&source.code, budget)?;
    lift::lift(source, functions, &flow, budget)
}

/// Lifts a function to values and blocks.
///
/// # Errors
///
/// Fails if it exceeds the budget, or there is no code at the entry point.
pub fn lift<'a>(
    source: &'a Source<'_>,
    functions: &Functions,
    budget: usize,
) -> Result<Module<'a>, DecompileError> {
    let flow = flow::Flow::new(&source.code, budget)?;
    let known = functions.get(&source.name).filter(|_| !source.is_kernel);
    // Parameters without types are words, of which the code may use two as one number.
    let parameters = match known {
        Some(callee) if callee.parameters.iter().all(|parameter| parameter.ty.is_some()) => {
            &callee.parameters[..]
        }
        Some(_) => &[],
        None => &source.parameters,
    };
    let mut function = lift::lift(source, functions, &flow, budget)?.0;
    if !source.is_kernel {
        saves::run(&mut function);
        windows::widen(&mut function);
    }
    Ok(Module {
        name: source.name.clone(),
        is_kernel: source.is_kernel,
        parameters: parameters.to_vec(),
        shared_size: source.shared_size,
        local_size: source.code.local_size,
        max_threads: source.max_threads,
        flushes: false,
        objects: Cow::Borrowed(source.code.variables),
        constants: source.code.constants.iter().map(|(bank, bytes)| (*bank, Cow::Borrowed(*bytes))).collect(),
        result: known.and_then(|callee| callee.result),
        pointed: functions.pointed().cloned().collect(),
        variables: source.code.locals.iter().map(|local| local.variable.clone()).collect(),
        structures: source.structures.iter().cloned().collect(),
        function,
    })
}
