//! What instructions do, as p-code.
//!
//! The tables say of each operation what it does, in steps that depend on modifiers ([`table`]). [`Lifted::lift`] decides
//! these for one instruction and puts registers, constants and immediates in the places of operands: the result is a list
//! of [`Op`]s on [`Varnode`]s, the same that Ghidra's SLEIGH makes of the module in `ghidra/`. [`execute`] runs such a list
//! on a thread's [`State`]; memory and what goes beyond the thread are the [`Host`]'s.
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

/// Where a varnode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// A number: its offset is the value.
    Number,
    /// General registers: the offset is the register, and 64 bits are it and the next.
    Register,
    /// Predicates and flags: into [`table::FLAGS`].
    Flag,
    /// Names of the instruction's own.
    Temporary,
    /// Generic and global memory.
    Ram,
    /// Memory of the thread.
    Local,
    /// Memory of the block.
    Shared,
    /// Constant banks: the bank above 16 bits of offset.
    Constant,
    /// Special registers, of 4 bytes each.
    Special,
}

/// A value or a place: a space, an offset and a width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Varnode {
    /// Where.
    pub space: Space,
    /// Which, or the number itself.
    pub offset: u64,
    /// How many bits; 1 for truth values.
    pub width: u8,
}

impl Varnode {
    /// A number.
    pub const fn number(value: u64, width: u8) -> Self {
        Self { space: Space::Number, offset: value, width }
    }
}

/// An operation of p-code on varnodes.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Which.
    pub code: table::Code,
    /// Where the result goes.
    pub output: Option<Varnode>,
    /// First of the inputs, and how many.
    pub inputs: (u16, u16),
    /// Where a branch inside of the instruction goes on: an index of an operation.
    pub to: u16,
}

/// The named functions.
pub fn functions() -> &'static [table::Function] {
    &crate::generated::semantics::FUNCTIONS
}
