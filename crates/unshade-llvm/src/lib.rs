//! Reads LLVM bitcode in pure Rust: Apple's AIR, Microsoft's DXIL, and anything else that LLVM 3.2 to 22 wrote. Writes
//! it as LLVM 14 and 19 do, and DXIL as DXC does.
//!
//! | module | holds |
//! |---|---|
//! | [`bitstream`] | blocks, records and abbreviations |
//! | [`tree`] | a file as a tree of them that can be changed and written |
//! | [`outline`] | what every bit of a file is, also as `llvm-bcanalyzer` prints it |
//! | [`facts`] | what a module says of itself, and its functions |
//! | [`verify`] | whether a file is sound |
//! | [`module`] | a module and what it declares |
//! | [`symbols`] | the symbols of a module, as `llvm-nm` lists them |
//! | [`types`], [`attributes`], [`constants`], [`metadata`], [`global`] | its tables |
//! | [`body`], [`instruction`], [`operation`], [`value`] | the inside of a function |
//! | [`control_flow`], [`uses`], [`statistics`] | what follows from bodies: edges, dominators and loops; users and callers; counts |
//! | [`debug_info`] | what the words of debug-info nodes mean |
//! | [`source_map`] | which bytes of the file things were decoded from |
//! | [`data_layout`] | sizes and alignments |
//! | [`dxil_operations`] | the operations of DXIL |
//! | [`summary`] | the ThinLTO summary of a module |
//! | [`assemble`] | parses LLVM assembly into a module |
//! | [`build`] | makes modules by calls, checked as they are built |
//! | [`link`] | makes one module of what is reached in several |
//! | [`mod@write`] | bitcode, byte for byte as a given version of `llvm-as` writes it |
//! | [`print`] | LLVM assembly, byte for byte as a given version of `llvm-dis` writes it |
//!
//! ```
//! use unshade_llvm::Module;
//! use unshade_llvm::print::{self, PrintOptions};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/air/kernel.bc");
//! # let bytes = std::fs::read(path)?;
//! // Declarations are read at once, the bodies of functions when they are asked for.
//! let module = Module::parse(&bytes, 0)?;
//! let defined: Vec<_> = module.functions.iter().filter(|function| !function.declaration).collect();
//! assert_eq!(defined.len(), 1);
//! let mut text = String::new();
//! let diagnostics = print::module(&module, &PrintOptions::default(), &mut text);
//! assert!(text.contains("define void @") && diagnostics.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate is `no_std` and has no `unsafe`. On hostile input it reports errors and prints what is sound; it
//! never panics, never recurses without bound, and never allocates more than the size of the input justifies.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

extern crate alloc;

/// Declares modules that read untrusted bytes, with the lints that deny arithmetic that may overflow.
macro_rules! readers {
    ($($(#[$attribute:meta])* $visibility:vis mod $name:ident;)*) => {
        $(
            $(#[$attribute])*
            #[cfg_attr(
                not(test),
                deny(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, clippy::cast_sign_loss)
            )]
            $visibility mod $name;
        )*
    };
}

readers! {
    mod analyzer_names;
    pub mod attributes;
    pub mod bitstream;
    mod blocks;
    pub mod body;
    mod body_reader;
    pub mod constants;
    pub mod control_flow;
    pub mod data_layout;
    pub mod debug_info;
    mod equal_metadata;
    pub mod facts;
    pub mod global;
    mod global_reader;
    mod hash;
    pub mod ids;
    pub mod instruction;
    pub mod metadata;
    mod md5;
    pub mod module;
    pub mod operation;
    pub mod outline;
    mod read_memory;
    mod sha1;
    pub mod skeleton;
    pub mod source_map;
    pub mod statistics;
    pub mod summary;
    mod summary_reader;
    pub mod symbols;
    pub mod tree;
    pub mod types;
    pub mod uses;
    pub mod value;
    pub mod verify;
}

pub mod assemble;
mod attribute_names;
mod attribute_places;
pub mod build;
mod dwarf;
pub mod dxil_operations;
mod fold;
pub mod link;
pub mod print;
mod record_names;
mod rules;
mod sort;
pub mod write;

pub use attribute_names::name as attribute_name;
pub use body::FunctionBody;
pub use ids::{AttributeListId, AttributeSetId, BlockId, MetadataId, Slice, TypeId, ValueId};
pub use instruction::{Instruction, Opcode};
pub use module::{Module, Modules};
pub use read_memory::ReadMemory;
pub use record_names::{block_name, record_name};
pub use types::TypeTable;
