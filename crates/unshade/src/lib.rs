//! Reads compiled GPU programs: Apple's Metal libraries, Microsoft's DXIL and DXBC, NVIDIA's fat binaries and cubins, LLVM
//! bitcode. It finds them in any file, lists their functions, disassembles and decompiles them, checks and edits them.
//!
//! [`open`] takes any file: a library, or an executable or archive that holds some.
//!
//! ```
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/metallib/vertex_fragment.metallib");
//! let file = unshade::open(path)?;
//! for program in file.programs() {
//!     println!("{}: {}", program.path(), program.format());
//!     for function in program.functions()? {
//!         println!("  {} {}", function.kind(), function.name());
//!     }
//! }
//! let program = file.programs().next().expect("a library");
//! let functions = program.functions()?;
//! assert_eq!(functions[0].kind(), "vertex");
//! assert!(functions[0].text()?.contains("define "));
//! # Ok::<(), unshade::core::Error>(())
//! ```
//!
//! # Modules
//!
//! First come those that are the same for all formats, then those of one format each.
//!
//! | module | what it does |
//! |---|---|
//! | [`mod@file`] | opens files: programs, functions, their text and source; the place to start |
//! | [`carve`] | finds every GPU program in a file of any kind, however deep |
//! | [`format`](mod@format) | identifies a file by its first bytes |
//! | [`program`] | what every format answers: facts, items, code, checks, fields |
//! | [`select`] | selects functions by name, regular expression or index |
//! | [`diff`] | compares two programs |
//! | [`survey`] | counts what many files have in common, field by field |
//! | [`run`] | runs kernels and shaders, with traces |
//! | [`query`] | answers questions about files as JSON, for servers and web pages |
//! | [`instruction_bytes`] | finds the bytes that lines of decompiled text come from |
//! | [`view`] | the data behind text and JSON output |
//! | [`disassembly`] | prints modules and token programs |
//! | [`decompile`](mod@decompile) | turns NVIDIA machine code into C |
//! | [`ghidra`] | writes kernels as programs that Ghidra imports |
//! | [`demangle()`], [`demangle_symbol()`], [`DemangledComments`] | demangle C++ names, also in listings |
//! | [`quantity`] | formats counts and sizes for people |
//! | [`notes`] | applies a reader's names and comments to decompiled text |
//! | [`safe_path`] | makes safe file names of names that come from files |
//! | [`edit`] | renames, removes, replaces, strips: one change of a program at a time |
//! | [`bitcode_edit`] | strips, renames and patches LLVM bitcode, alone or in containers |
//! | **Metal** | |
//! | [`air`] | reads what an AIR module says of its functions |
//! | [`msl`] | decompiles AIR to the Metal Shading Language |
//! | [`build`] | builds Metal libraries from modules and manifests |
//! | [`companion`] | joins a Metal library with its symbol companion |
//! | [`link`] | links modules into a Metal library |
//! | [`load_check`] | checks whether a Metal library loads on an OS version |
//! | [`source_files`] | unpacks embedded sources |
//! | **DirectX** | |
//! | [`dxil`] | reads the metadata of DXIL modules |
//! | [`dxc_tables`] | prints the tables of comments that DXC prints before a module |
//! | [`fxc_listing`], [`fx_listing`] | print containers and effects as FXC does |
//! | [`dxbc_build`], [`dxbc_names`] | put token programs into containers; name their operands |
//! | **NVIDIA** | |
//! | [`nv_units`] | visits the cubins and PTX of a program |
//! | [`sass_code`], [`sass_listing`], [`sass_lines`] | split cubins into functions, and print them, with source lines |
//!
//! # Format crates
//!
//! Each format is a crate of its own, usable alone and re-exported here: [`metallib`], [`dxcontainer`], [`dxbc`], [`nv`],
//! [`sass`], [`llvm`], [`decompiler`]. They share [`core`]: the reader, the error with path and offset, diagnostics.
//!
//! # Errors and hostile input
//!
//! An [`Error`](core::Error) says what is wrong, where (path and file offset), what was expected, and what to do. Every
//! input may be hostile: the library never panics on it, and limits memory, recursion and unpacking.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod air;
pub mod bitcode_edit;
pub mod build;
pub mod companion;
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
pub mod edit;
#[cfg(not(target_family = "wasm"))]
pub mod file;
pub mod fx_listing;
pub mod fxc_listing;
pub mod ghidra;
pub mod hlsl;
pub mod instruction_bytes;
pub mod library_check;
pub mod link;
pub mod load_check;
mod metal_signature;
pub mod msl;
pub mod notes;
pub mod nv_units;
#[cfg_attr(target_family = "wasm", allow(dead_code, unused_imports, reason = "a page asks for no JSON"))]
pub mod program;
pub mod quantity;
pub mod query;
pub mod retarget;
pub mod run;
pub mod safe_path;
pub mod sass_code;
pub mod sass_lines;
pub mod sass_listing;
pub mod select;
pub mod source_files;
pub mod survey;
pub mod view;

pub use demangle::{MAX_DEMANGLED, MAX_MANGLED, demangle, demangle_symbol};
pub use demangled_comments::{DemangledComments, has_mangled_names};
pub use dxcontainer_check::check as check_dxcontainer;
#[cfg(not(target_family = "wasm"))]
pub use file::{File, open, open_bytes};
pub use unshade_air as metal;
pub use unshade_carve as carve;
pub use unshade_carve::format;
pub use unshade_core as core;
pub use unshade_decompile as decompiler;
pub use unshade_dxbc as dxbc;
pub use unshade_dxcontainer as dxcontainer;
pub use unshade_dxcontainer::dxil;
pub use unshade_dxil as directx;
pub use unshade_llvm as llvm;
pub use unshade_metallib as metallib;
pub use unshade_nv as nv;
pub use unshade_sass as sass;
