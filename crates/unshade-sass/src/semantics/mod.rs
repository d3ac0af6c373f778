//! The semantics of instructions, as p-code.
//!
//! The tables describe each operation as steps that depend on modifiers ([`table`]). [`Lifted::lift`] resolves them for
//! one instruction and substitutes registers, constants and immediates for operands. The result is a list of [`Op`]s on
//! [`Varnode`]s, the same that Ghidra derives from the SLEIGH module in `ghidra/`. [`execute`] runs such a list on a
//! thread's [`State`]; a [`Host`] provides memory and everything else outside the thread.
//!
//! ```
//! use unshade_sass::semantics::{Lifted, Space};
//! use unshade_sass::{Instruction, isa};
//!
//! let kepler = isa::by_architecture(35).unwrap();
//! let instruction = Instruction::decode(kepler, 0x6340_0000_281c_0802).unwrap(); // FMUL R0, R2, c[0x0][0x140]
//! let mut lifted = Lifted::default();
//! lifted.lift(&instruction, 0x50);
//! let last = lifted.ops().last().unwrap();
//! assert_eq!(last.output.unwrap().space, Space::Register);
//! ```

mod execute;
pub mod functions;
mod lift;
mod surface;
pub mod table;
mod video;

pub use execute::{Fault, Host, Next, State, execute, operate};
pub use lift::Lifted;

/// The address space of a varnode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Constants: the offset is the value.
    Number,
    /// General registers: the offset is the register number; 64-bit values take two consecutive registers.
    Register,
    /// Predicates and condition-code flags: the offset is an index into [`table::FLAGS`].
    Flag,
    /// Temporaries of the instruction.
    Temporary,
    /// Generic and global memory.
    Ram,
    /// Local memory.
    Local,
    /// Shared memory.
    Shared,
    /// Constant banks: the offset has 16 bits, with the bank above them.
    Constant,
    /// Special registers, of 4 bytes each.
    Special,
}

/// A varnode: a value or storage location, given by space, offset and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Varnode {
    /// Its address space.
    pub space: Space,
    /// Its offset in the space, or the value of a constant.
    pub offset: u64,
    /// Its width in bits; 1 for booleans.
    pub width: u8,
}

impl Varnode {
    /// Returns a constant.
    pub const fn number(value: u64, width: u8) -> Self {
        Self { space: Space::Number, offset: value, width }
    }
}

/// A p-code operation on varnodes.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// The operator.
    pub code: table::Code,
    /// The destination.
    pub output: Option<Varnode>,
    /// Start and count of the inputs.
    pub inputs: (u16, u16),
    /// The target of a branch inside the instruction: the index of an operation.
    pub to: u16,
}

/// Returns the named functions that p-code can call.
pub fn functions() -> &'static [table::Function] {
    &crate::generated::semantics::FUNCTIONS
}
