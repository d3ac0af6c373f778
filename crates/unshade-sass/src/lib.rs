//! NVIDIA's machine code (SASS): words to instructions to text, and back.
//!
//! What is known of the instruction sets stands in tables, `isa/nvidia/*.isa`, from which `isa-gen` writes the constants
//! that this crate reads. Nothing here knows an operation by name but [`control_flow`], the few that use the stack.
//!
//! | module | thing |
//! |---|---|
//! | [`table`] | what the tables are made of |
//! | [`isa`] | the instruction sets that there are |
//! | [`instruction`] | a decoded word: its operation, operands, modifiers; and the word from them |
//! | [`semantics`] | what an instruction does, as p-code, and a small interpreter of it |
//! | [`print`] | text as NVIDIA's tools print it |
//! | [`assemble`] | text back to words |
//! | [`control`] | scheduling words |
//! | [`listing`] | a function, line by line |
//! | [`control_flow`] | basic blocks, edges, what pushes and takes addresses |
//! | [`life`] | which registers are live where |
//! | `reference` | a page for each mnemonic (feature `reference`) |
//!
//! ```
//! use unshade_sass::{Instruction, isa};
//!
//! let kepler = isa::by_architecture(35).unwrap();
//! let instruction = Instruction::decode(kepler, 0x6340_0000_281c_0802).unwrap();
//! assert_eq!(instruction.text(0x50), "FMUL R0, R2, c[0x0][0x140]");
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)
)]

extern crate alloc;

pub mod assemble;
pub mod control;
pub mod control_flow;
mod generated;
pub mod instruction;
pub mod isa;
pub mod life;
pub mod listing;
mod number;
pub mod print;
#[cfg(feature = "reference")]
pub mod reference;
pub mod semantics;
pub mod table;

pub use instruction::Instruction;
