//! Reads NVIDIA's GPU programs: fat binaries, cubins and PTX.
//!
//! | module | thing |
//! |---|---|
//! | [`fatbin`] | the container: [`Fatbin`], its entries, the host's wrapper |
//! | [`compression`] | unpacking of entries |
//! | [`ptx`] | PTX: versions, functions, parameters |
//! | [`cubin`] | compiled code for one chip: [`Cubin`] |
//! | [`elf`], [`symbol`], [`relocation`] | the ELF file that a cubin is |
//! | [`info`], [`attribute`] | `.nv.info`: records for the driver |
//! | [`function`] | a kernel or device function: code, resources, parameters |
//! | [`line_table`] | `.debug_line`: which source line an instruction is of |
//! | [`outline`] | what stands at which byte |
//! | [`verify`] | is it sound? |
//!
//! Everything is lazy and nothing is copied but what had to be unpacked.
//!
//! ```no_run
//! use unshade_core::Reader;
//! use unshade_nv::Fatbin;
//! use unshade_nv::fatbin::EntryKind;
//!
//! # fn read(bytes: &[u8]) -> unshade_core::Result<()> {
//! for entry in Fatbin::read(Reader::new(bytes))?.entries() {
//!     let entry = entry?;
//!     if entry.kind != EntryKind::ELF {
//!         continue;
//!     }
//!     let data = entry.data()?;
//!     let cubin = entry.cubin(&data)?;
//!     for function in cubin.functions() {
//!         // What a disassembler needs: bytes with their file offset, names inside, parameters.
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
