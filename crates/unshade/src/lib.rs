//! Opens compiled GPU programs: finds them in any file, reads them, explains them.
//!
//! | module | contents |
//! |---|---|
//! | [`format`](mod@format) | detects a file's format from its first bytes |
//! | [`carve`] | finds every GPU program in a file of any kind, however deep |
//! | [`program`] | opens the programs that were found |
//! | [`dxil`] | reads the metadata of DXIL modules |
//! | [`dxc_tables`] | prints the comment tables that DXC prints before a module |
//! | [`nv_units`] | visits the cubins and PTX of NVIDIA programs |
//! | [`sass_code`], [`sass_listing`] | the machine code of cubins by function, and its listings |
//! | [`air`] | reads the functions of AIR modules from their metadata |
//! | [`build`] | builds Metal libraries from modules and manifests |
//! | [`disassembly`] | lists modules and token programs |
//! | [`decompile`](mod@decompile) | decompiles NVIDIA machine code to C |
//! | [`select`] | selects functions by name, expression or index |
//! | [`diff`] | compares two programs |
//! | [`load_check`] | checks whether a Metal library loads on an OS |
//! | [`query`] | answers questions about files as data, for servers and pages |
//! | [`survey`] | counts the values of each field over many files |
//! | [`view`] | the contents of reports as data, for text and JSON alike |
//! | [`source_files`] | unpacks embedded sources |
//! | [`dxbc_build`] | puts token programs into containers |
//! | [`dxbc_names`] | names the operands of token programs |
//! | [`fx_listing`] | lists Direct3D effects |
//! | [`fxc_listing`] | lists containers as FXC's disassembler does |
//! | [`ghidra`] | exports kernels as programs for Ghidra |
//! | [`safe_path`] | safe file names for names from untrusted files |
//! | [`quantity`] | formats numbers, sizes and counts |
//! | [`demangle()`], [`DemangledComments`] | demangles C++ names, also in listings |
//!
//! Each format has its own crate, re-exported as [`metallib`], [`dxcontainer`], [`dxbc`], [`nv`] and [`llvm`]. What
//! they
//! share is in [`core`].
//!
//! ```
//! use std::ops::ControlFlow;
//! use unshade::carve::{Limits, carve};
//! use unshade::program::Program;
//!
//! # let mut file = vec![0; 92];
//! # file[..12].copy_from_slice(b"MTLB\x01\x80\x02\x00\x02\x00\x00\x00");
//! # file[16] = 92; file[24] = 88; file[40] = 92; file[56] = 92; file[72] = 92;
//! // Any file will do: a library, or an executable or archive with libraries in it.
//! carve(&file, b"app.zip", &Limits::default(), &mut |find| {
//!     println!("{}: {}", find.path, find.format);
//!     if let Ok(Program::Library(library)) = Program::open(&find) {
//!         for function in library.functions().flatten() {
//!             println!("  {}", function.shown_name());
//!         }
//!     }
//!     ControlFlow::Continue(())
//! });
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod air;
pub mod build;
mod d3d9_outline;
pub mod decompile;
mod demangle;
mod demangled_comments;
pub mod diff;
pub mod disassembly;
pub mod dxbc_build;
mod dxbc_debug;
pub mod dxbc_names;
pub mod dxc_tables;
mod dxcontainer_check;
pub mod dxil;
pub mod fx_listing;
pub mod fxc_listing;
pub mod ghidra;
pub mod load_check;
pub mod nv_units;
pub mod opened;
pub mod program;
pub mod quantity;
pub mod query;
pub mod safe_path;
pub mod sass_code;
pub mod sass_listing;
pub mod select;
pub mod source_files;
pub mod survey;
pub mod view;

pub use demangle::{MAX_DEMANGLED, MAX_MANGLED, demangle};
pub use demangled_comments::{DemangledComments, has_mangled_names};
pub use dxcontainer_check::check as check_dxcontainer;
pub use unshade_carve as carve;
pub use unshade_carve::format;
pub use unshade_core as core;
pub use unshade_decompile as decompiler;
pub use unshade_dxbc as dxbc;
pub use unshade_dxcontainer as dxcontainer;
pub use unshade_llvm as llvm;
pub use unshade_metallib as metallib;
pub use unshade_nv as nv;
pub use unshade_sass as sass;
