//! Programs of Shader Model 1 to 3: Direct3D 9 programs, and those in Aon9 container parts for feature level 9.
//!
//! | module | thing |
//! |---|---|
//! | [`opcode`] | the opcodes, one table |
//! | [`operand`] | their operands |
//! | [`program`] | programs, and their tokens |
//! | [`mod@decode`] | tokens to programs |
//! | [`mod@print`] | programs as text: FXC's, or exact |
//! | [`mod@assemble`] | text to programs |
//! | [`constants`] | the constant table |
//! | [`debug`] | source lines and variables |
//! | [`level9`] | Aon9 parts of containers |
//! | [`listing`] | FXC's listing of a whole program |
//! | [`statistics`] | instruction statistics |

pub mod assemble;
pub mod constants;
pub mod debug;
pub mod decode;
mod implied;
pub mod level9;
pub mod listing;
mod number;
pub mod opcode;
pub mod operand;
pub mod print;
pub mod program;
pub mod statistics;

pub use assemble::assemble;
pub use constants::ConstantTable;
pub use debug::DebugInfo;
pub use decode::{decode, measure, measure_embedded};
pub use level9::Level9;
pub use program::{Instruction, Program, Version};
