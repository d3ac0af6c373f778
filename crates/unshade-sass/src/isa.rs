//! The instruction sets that there are.

use crate::generated;
use crate::table::{Isa, Modifier, Operation};

/// All instruction sets, the oldest first.
pub static ALL: [&Isa; 2] = [&generated::sm_30::ISA, &generated::sm_35::ISA];

/// The instruction set of an architecture: of 35 for `sm_35`.
pub fn by_architecture(architecture: u32) -> Option<&'static Isa> {
    ALL.into_iter().find(|isa| isa.architectures.contains(&architecture))
}

/// All operations of all instruction sets.
pub fn operations() -> &'static [Operation] {
    &generated::operations::OPERATIONS
}

/// All sets of spellings.
pub fn modifiers() -> &'static [Modifier] {
    &generated::operations::MODIFIERS
}
