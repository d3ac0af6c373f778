//! Opens compiled GPU programs: finds them in any file, reads them, explains them.
//!
//! | module | thing |
//! |---|---|
//! | [`format`](mod@format) | what a file is, told by its first bytes |
//! | [`carve`] | every GPU program in a file of any kind, however deep |
//! | [`program`] | a program that was found, opened |
//! | [`dxil`] | what DXIL says of a program in its metadata |
//! | [`dxc_tables`] | the tables of comments that DXC prints before a module |
//! | [`nv_units`] | the cubins and PTX of NVIDIA's programs |
//! | [`sass_code`], [`sass_listing`] | the machine code of cubins, function by function, and its listings |
//! | [`air`] | what an AIR module says of its functions |
//! | [`build`] | Metal libraries from modules and manifests |
//! | [`disassembly`] | listings of modules and token programs |
//! | [`decompile`](mod@decompile) | C of NVIDIA's machine code |
//! | [`select`] | which functions are meant |
//! | [`diff`] | what is different between two programs |
//! | [`load_check`] | whether a Metal library loads on an OS |
//! | [`query`] | questions about files, and answers as data, for servers and pages |
//! | [`survey`] | what many files have in common, field by field |
//! | [`view`] | what is shown of a file, as data for text and JSON alike |
//! | [`source_files`] | embedded sources, unpacked |
//! | [`dxbc_build`] | token programs put into containers |
//! | [`dxbc_names`] | names of what the operands of token programs are |
//! | [`fxc_listing`] | what FXC's disassembler writes of a container |
//! | [`ghidra`] | kernels as programs that Ghidra imports |
//! | [`safe_path`] | file names for names that come from files |
//! | [`demangle()`], [`DemangledComments`] | C++ names, also in listings |
//!
//! The formats themselves are crates of their own, here as [`metallib`], [`dxcontainer`], [`dxbc`], [`nv`] and [`llvm`];
//! what they share is [`core`].
//!
//! ```
//! use std::ops::ControlFlow;
//! use unshade::carve::{Limits, carve};
//! use unshade::program;
//!
//! # let mut file = vec![0; 92];
//! # file[..12].copy_from_slice(b"MTLB\x01\x80\x02\x00\x02\x00\x00\x00");
//! # file[16] = 92; file[24] = 88; file[40] = 92; file[56] = 92; file[72] = 92;
//! // Any file will do: a library, or an executable or archive that holds some.
//! carve(&file, b"app.zip", &Limits::default(), &mut |find| {
//!     println!("{}: {}", find.path, find.format);
//!     if let Ok(program) = program::open(&find) {
//!         program.names(&mut |item| println!("  #{} {}", item.index, String::from_utf8_lossy(item.name)));
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
