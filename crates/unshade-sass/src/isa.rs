//! The list of instruction sets.

use crate::generated;
use crate::table::{Isa, Modifier, Operation};

/// All instruction sets, oldest first.
pub static ALL: [&Isa; 2] = [&generated::sm_30::ISA, &generated::sm_35::ISA];

/// Returns the instruction set of an architecture: 35 for `sm_35`.
pub fn by_architecture(architecture: u32) -> Option<&'static Isa> {
    ALL.into_iter().find(|isa| isa.architectures.contains(&architecture))
}

/// Returns all operations of all instruction sets.
pub fn operations() -> &'static [Operation] {
    &generated::operations::OPERATIONS
}

/// Returns all modifiers.
pub fn modifiers() -> &'static [Modifier] {
    &generated::operations::MODIFIERS
}
