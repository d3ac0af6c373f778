//! The functions of a launch, and the addresses of what they name.
//!
//! Variables have the addresses that the loader gave them, functions those of their machine code, so that pointers in memory
//! are the same numbers as in the emulator. A constant bank that has no place in memory gets a window beyond all
//! addresses.

use unshade_ir::ObjectSpace;
use unshade_ir::code::{Code, CodeSymbol};

use super::Function;
use crate::environment::SHARED_WINDOW;
use crate::fault::{Fault, Reason};
use crate::module::{Kernel, Module, Variable};

/// The constant bank of the program's variables.
const USER_BANK: u8 = 3;

/// The start of the windows of constant banks: bank and offset are below.
const CONSTANT_WINDOW: u64 = 1 << 60;

/// A function with the addresses of its symbols.
pub(super) struct LinkedFunction<'a> {
    pub(super) code: &'a Code,
    /// The addresses of its symbols; none for those that are nowhere.
    pub(super) symbols: Vec<Option<u64>>,
    /// The functions that it calls, by number of the callee; none for pointers, and for functions that are not there.
    pub(super) callees: Vec<Option<usize>>,
    /// The address of its machine code.
    address: Option<u64>,
}

/// The functions of a launch.
pub(super) struct Program<'a> {
    pub(super) module: &'a Module,
    pub(super) functions: Vec<LinkedFunction<'a>>,
    /// The number of the kernel's function.
    pub(super) entry: usize,
}

impl<'a> Program<'a> {
    /// Links the functions of a kernel.
    pub(super) fn new(
        module: &'a Module,
        kernel: &'a Kernel,
        functions: &'a [Function],
    ) -> Result<Self, Fault> {
        let by_name = |name: &str| functions.iter().position(|function| function.code.name == name);
        let address_of = |function: &Function| module.function_address(&function.symbol);
        let link = |function: &'a Function| {
            let symbol = |symbol: &CodeSymbol| match symbol.place {
                Some(place) => object_address(module, symbol, place),
                None => address_of(functions.get(by_name(&symbol.name)?)?),
            };
            LinkedFunction {
                code: &function.code,
                symbols: function.code.symbols.iter().map(symbol).collect(),
                callees: function.code.callees.iter().map(|callee| by_name(&callee.name)).collect(),
                address: address_of(function),
            }
        };
        let is_entry = |function: &Function| function.symbol == kernel.name && function.code.is_kernel;
        let Some(entry) = functions.iter().position(is_entry) else {
            return Err(Fault::launch(format!("there is no code for {}", kernel.name)));
        };
        Ok(Self { module, functions: functions.iter().map(link).collect(), entry })
    }

    /// Returns the function at an address.
    pub(super) fn function_at(&self, address: u64) -> Result<usize, Reason> {
        let found = self.functions.iter().position(|function| function.address == Some(address));
        found.ok_or(Reason::NoCode(address))
    }
}

/// Returns the address of a variable.
fn object_address(module: &Module, symbol: &CodeSymbol, (space, offset): (ObjectSpace, u64)) -> Option<u64> {
    match space {
        ObjectSpace::Global => match module.variables().get(&symbol.name) {
            Some(Variable::Global(pointer, _)) => Some(pointer.0),
            _ => None,
        },
        ObjectSpace::Constant(bank) => Some(constant_window(module, bank).wrapping_add(offset)),
        ObjectSpace::Shared => Some(SHARED_WINDOW.wrapping_add(offset)),
        ObjectSpace::Texture | ObjectSpace::Surface => None,
    }
}

/// Returns the address of a constant bank.
pub(super) fn constant_window(module: &Module, bank: u8) -> u64 {
    match module.user_bank {
        Some(pointer) if bank == USER_BANK => pointer.0,
        _ => CONSTANT_WINDOW | u64::from(bank) << 32,
    }
}

/// Returns the constant bank in whose window an address is, with the offset below 16 bits.
pub(super) fn in_constant_window(address: u64) -> Option<u64> {
    let inside = address.checked_sub(CONSTANT_WINDOW)?;
    (inside >> 32 < 32 && inside & 0xffff_ffff < 1 << 16).then_some(inside >> 32 << 16 | inside & 0xffff)
}
