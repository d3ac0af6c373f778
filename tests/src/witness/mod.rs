//! Witnesses of the semantics of instructions that do not come from the tables in `isa/`.
//!
//! | module | contents |
//! |---|---|
//! | [`form`] | forms of instructions: what a witness is a witness of |
//! | [`rows`] | the rows of `fixtures/nvidia/witness/instructions.txt`, and their inputs |
//! | [`source`] | PTX of kernels around them |
//! | [`kernel`] | the compiled rows, and their runs in the emulator |
//! | [`ptx`] | an interpreter of PTX, written from NVIDIA's document |
//! | [`exact`] | exact arithmetic and rounding |

pub mod exact;
pub mod form;
pub mod kernel;
pub mod ptx;
pub mod rows;
pub mod source;
