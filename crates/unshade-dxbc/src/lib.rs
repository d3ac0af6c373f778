//! Direct3D bytecode: the token programs of Shader Model 1 to 5.1, decoded, printed and assembled.
//!
//! | module | thing |
//! |---|---|
//! | [`opcode`] | the opcodes of Shader Model 4 to 5.1, one table |
//! | [`operand`] | their operands |
//! | [`program`] | their programs |
//! | [`mod@decode`] | tokens to programs, and back |
//! | [`mod@print`] | programs as text: FXC's, or exact |
//! | [`mod@assemble`] | text to programs |
//! | [`control_flow`], [`statistics`] | analyses of a program |
//! | [`names`] | names of the numbers in tokens |
//! | [`d3d9`] | the programs of Shader Model 1 to 3, which are another format |
//!
//! ```
//! use unshade_dxbc::d3d9;
//!
//! let program = d3d9::assemble("ps_2_0\ndcl t0.xy\ndcl_2d s0\ntexld r0, t0, s0\nmov oC0, r0\n").unwrap();
//! assert_eq!((program.version.to_string().as_str(), program.instructions.len()), ("ps_2_0", 4));
//! let tokens = program.write().unwrap();
//! assert_eq!(tokens[..4], [0x00, 0x02, 0xff, 0xff]);
//! ```
//!
//! The crate knows nothing of containers: it takes the contents of SHDR, SHEX and Aon9 parts.
//!
//! The crate is `no_std` and has no `unsafe`. Hostile input results in errors; it cannot cause a panic, unbounded
//! recursion or memory use out of proportion to its size.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)
)]

extern crate alloc;

pub mod assemble;
pub mod control_flow;
pub mod d3d9;
pub mod decode;
mod encode;
mod implied;
pub mod names;
pub mod opcode;
pub mod operand;
pub mod print;
pub mod program;
pub mod statistics;
pub mod subroutines;

pub use assemble::assemble;
pub use decode::decode;
pub use program::{Instruction, Program, Version};
