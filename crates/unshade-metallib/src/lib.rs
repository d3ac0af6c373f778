//! Reads and writes Apple's Metal libraries: `.metallib`, `.metallibsym`, and the universal files that hold them.
//!
//! | module | contents |
//! |---|---|
//! | [`library`] | the whole file: [`Library`] |
//! | [`header`] | the first 88 bytes |
//! | [`tag`] | tags, the building blocks of everything else |
//! | [`function_list`] | the function list: [`Function`] |
//! | [`metadata`] | public and private metadata of a function |
//! | [`header_extension`] | the location of the later sections, and the UUID |
//! | [`lists`] | symbols, scripts and reflection buffers: lists of tag groups |
//! | [`dynamic_header`] | install name and linked libraries |
//! | [`sources`] | embedded source archives |
//! | [`module`] | the bitcode modules and their wrapper |
//! | [`reflection`] | the arguments of a function, from its AIRR flatbuffer |
//! | [`data_type`] | the Metal data types |
//! | [`universal`] | universal files; [`gpu_object`]: the GPU Mach-O slices in them |
//! | [`universal_file`] | an owned universal file that can be changed and written; [`architecture`]: names of slices |
//! | [`verify`] | checks of a whole library |
//! | [`outline`] | the meaning of every byte |
//! | [`mod@file`] | an owned library that can be changed and written: [`LibraryFile`] |
//! | [`document`] | conversion to and from YAML, and building from manifests |
//! | [`edit`] | edits of a library |
//! | [`companion`] | symbol companions: splitting them off, and joining them |
//! | [`target`] | target platforms, and the container version for each |
//!
//! Parsing is lazy and copies nothing: [`Library::parse`] reads the header and the header extension, iterating over
//! functions reads the function list, and bitcode is only read on demand. A fault in one part never hides another part.
//! `docs/formats/metallib.md` describes the format.
//!
//! ```
//! use unshade_metallib::Library;
//!
//! // The smallest library: a header and a function list with no function.
//! let mut file = vec![0; 92];
//! file[..12].copy_from_slice(b"MTLB\x01\x80\x02\x00\x02\x00\x00\x00");
//! file[16] = 92;
//! file[24] = 88;
//! for section in [40, 56, 72] {
//!     file[section] = 92;
//! }
//! let library = Library::parse(&file)?;
//! assert_eq!(library.header().version().to_string(), "1.2.2");
//! assert_eq!(library.functions().count(), 0);
//! # Ok::<(), unshade_core::Error>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)
)]

extern crate alloc;

pub mod architecture;
pub mod companion;
pub mod data_type;
pub mod document;
pub mod dynamic_header;
pub mod edit;
pub mod file;
pub mod function_list;
pub mod gpu_object;
pub mod header;
pub mod header_extension;
pub mod library;
pub mod lists;
pub mod metadata;
pub mod module;
pub mod outline;
pub mod reflection;
pub mod sources;
pub mod tag;
pub mod target;
pub mod universal;
pub mod universal_file;
pub mod verify;

pub use data_type::DataType;
pub use file::LibraryFile;
pub use function_list::{Function, FunctionType};
pub use header::{Header, LibraryType, Platform};
pub use library::Library;
pub use module::Module;
pub use universal::Universal;
