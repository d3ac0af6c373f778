//! Metal functions: their types, their operations by meaning, and what surrounds their code.
//!
//! | module | contents |
//! |---|---|
//! | [`types`] | types of values and of memory, with address spaces, sizes and offsets |
//! | [`operation`] | operations of Metal's library that are no operators |
//! | [`interface`] | programs: functions with their arguments, variables, function constants |

pub mod interface;
pub mod operation;
pub mod types;

pub use operation::{Class, MetalOp};
