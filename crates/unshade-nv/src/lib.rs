//! Reads NVIDIA GPU programs: fat binaries, cubins and PTX.
//!
//! | module | contents |
//! |---|---|
//! | [`fatbin`] | the container: [`Fatbin`], its entries, the host's wrapper |
//! | [`compression`] | decompression of entries |
//! | [`ptx`] | PTX: versions, functions, parameters |
//! | [`cubin`] | compiled code for one chip: [`Cubin`] |
//! | [`elf`], [`symbol`], [`relocation`] | the cubin's ELF file |
//! | [`link`] | where symbols are in memory, and what relocations write |
//! | [`info`], [`attribute`] | `.nv.info`: records for the driver |
//! | [`function`] | a kernel or device function: code, resources, parameters |
//! | [`line_table`] | `.debug_line`: maps instructions to source lines |
//! | [`debug`] | `.debug_info`: names, types and places of variables |
//! | [`outline`] | the meaning of every byte |
//! | [`verify`] | checks for malformed files |
//!
//! Parsing is lazy, and only decompressed data is copied.
//!
//! ```
//! use unshade_nv::Fatbin;
//! use unshade_nv::fatbin::EntryKind;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/nvidia/packed_11_2.fatbin");
//! # let bytes = std::fs::read(path)?;
//! let mut kernels = 0;
//! for entry in Fatbin::parse(&bytes)?.entries() {
//!     let entry = entry?;
//!     if entry.kind != EntryKind::ELF {
//!         continue;
//!     }
//!     let data = entry.data()?;
//!     let cubin = entry.cubin(&data)?;
//!     for function in cubin.functions() {
//!         // What a disassembler needs: the code with its offset, labels, parameters.
//!         let code = function.code(&cubin)?;
//!         assert!(!code.data().is_empty() && !function.parameters(&cubin).is_empty());
//!         kernels += 1;
//!     }
//! }
//! assert!(kernels > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)
)]

extern crate alloc;

pub mod attribute;
pub mod compression;
pub mod cubin;
pub mod debug;
pub mod elf;
pub mod fatbin;
pub mod function;
pub mod info;
pub mod line_table;
pub mod link;
pub mod outline;
pub mod ptx;
pub mod relocation;
pub mod symbol;
pub mod verify;

pub use cubin::Cubin;
pub use fatbin::Fatbin;
pub use ptx::Ptx;
