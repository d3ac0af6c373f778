//! NVIDIA machine code (SASS): decoding, encoding, printing, assembling, semantics.
//!
//! The instruction sets are described in tables, `isa/nvidia/*.isa`, which `isa-gen` packs into the binary tables that
//! this crate reads. Only [`control_flow`] and [`liveness`] know operations by name: those with a stack of
//! addresses, and texture instructions.
//!
//! | module | contents |
//! |---|---|
//! | [`table`] | the types of the tables |
//! | `packed` | tables in their binary form |
//! | [`isa`] | the list of instruction sets |
//! | [`instruction`] | decoded words: operation, operands, modifiers; and encoding |
//! | [`semantics`] | what an instruction does, as p-code, with a small interpreter |
//! | [`print`] | instruction text as NVIDIA's tools print it |
//! | [`assemble`] | text to words |
//! | [`control`] | scheduling words |
//! | [`listing`] | listings of a function, with labels and names |
//! | [`raw_listing`] | listings of a function as cuobjdump prints them |
//! | [`control_flow`] | basic blocks, edges, the stack of addresses |
//! | [`liveness`] | live registers and register pressure |
//! | `reference` | a reference page for each mnemonic (feature `reference`) |
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
pub mod listing;
pub mod liveness;
mod number;
mod packed;
pub mod print;
pub mod raw_listing;
#[cfg(feature = "reference")]
pub mod reference;
pub mod semantics;
pub mod table;

pub use instruction::Instruction;
