//! Reads NVIDIA GPU programs: fat binaries, cubins and PTX.
//!
//! | module | contents |
//! |---|---|
//! | [`fatbin`] | the container: [`Fatbin`], its entries, the host's wrapper |
//! | [`compression`] | decompression of entries |
//! | [`ptx`] | PTX: versions, functions, parameters |
//! | [`cubin`] | compiled code for one chip: [`Cubin`] |
//! | [`elf`], [`symbol`], [`relocation`] | the cubin's ELF file |
//! | [`info`], [`attribute`] | `.nv.info`: records for the driver |
//! | [`function`] | a kernel or device function: code, resources, parameters |
//! | [`line_table`] | `.debug_line`: maps instructions to source lines |
//! | [`outline`] | the meaning of every byte |
//! | [`verify`] | checks for malformed files |
//!
//! Parsing is lazy, and only decompressed data is copied.
//!
//! ```no_run
//! use unshade_nv::Fatbin;
//! use unshade_nv::fatbin::EntryKind;
//!
//! # fn read(bytes: &[u8]) -> unshade_core::Result<()> {
//! for entry in Fatbin::parse(bytes)?.entries() {
//!     let entry = entry?;
//!     if entry.kind != EntryKind::ELF {
//!         continue;
//!     }
//!     let data = entry.data()?;
//!     let cubin = entry.cubin(&data)?;
//!     for function in cubin.functions() {
//!         // What a disassembler needs: the code with its file offset, labels, parameters.
//!         let code = function.code(&cubin)?;
//!         let labels = function.labels(&cubin);
//!         for (offset, parameter) in function.parameters(&cubin) {
//!             let _ = (cubin.arch(), code.base(), labels.len(), offset, parameter.size);
//!         }
//!     }
//! }
//! # Ok(())
//! # }
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
pub mod elf;
pub mod fatbin;
pub mod function;
pub mod info;
pub mod line_table;
pub mod outline;
pub mod ptx;
pub mod relocation;
pub mod symbol;
pub mod verify;

pub use cubin::Cubin;
pub use fatbin::Fatbin;
pub use ptx::Ptx;
