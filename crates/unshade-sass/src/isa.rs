//! The list of instruction sets.

use alloc::boxed::Box;
use alloc::vec::Vec;

use once_cell::race::OnceBox;

use crate::generated::tables::TABLES;
use crate::packed;
use crate::table::Isa;

/// The tables of an instruction set, which are read when they are needed.
pub(crate) struct Table {
    pub(crate) architectures: &'static [u32],
    pub(crate) bytes: &'static [u8],
    pub(crate) isa: OnceBox<Isa>,
}

impl Table {
    fn isa(&'static self) -> Option<&'static Isa> {
        self.isa.get_or_try_init(|| packed::read(self.bytes).map(Box::new).ok_or(())).ok()
    }
}

/// Reads an instruction set from tables that `cargo xtask codegen` packed; `None` if they are not of this version. The tables
/// are never freed.
pub fn load(tables: Vec<u8>) -> Option<&'static Isa> {
    packed::read(Box::leak(tables.into_boxed_slice())).map(|isa| &*Box::leak(Box::new(isa)))
}

/// Returns all instruction sets, oldest first.
pub fn all() -> impl Iterator<Item = &'static Isa> {
    TABLES.iter().filter_map(Table::isa)
}

/// Returns the architectures of all instruction sets: 35 for `sm_35`.
pub fn architectures() -> impl Iterator<Item = u32> {
    TABLES.iter().flat_map(|table| table.architectures).copied()
}

/// Returns the instruction set of an architecture: 35 for `sm_35`.
pub fn by_architecture(architecture: u32) -> Option<&'static Isa> {
    TABLES.iter().find(|table| table.architectures.contains(&architecture))?.isa()
}
