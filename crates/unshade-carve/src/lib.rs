//! Finds every GPU program in a file of any kind, at any depth.
//!
//! Carving splits a file as far as it can: archives into members, compressed files into their contents, universal
//! binaries into architectures, and each of these again. Everything else is searched byte by byte (`scan`). A hit in an
//! object file is named by its section.
//!
//! ```
//! use std::ops::ControlFlow;
//! use unshade_carve::{Limits, carve};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/nvidia/add_sm_35.cubin");
//! # let cubin = std::fs::read(path)?;
//! // A cubin in the middle of something else.
//! let file = [&[0; 64][..], &cubin].concat();
//! let mut found = Vec::new();
//! let diagnostics = carve(&file, b"image.bin", &Limits::default(), &mut |find| {
//!     found.push(format!("{}: {}", find.path, find.format));
//!     ControlFlow::Continue(())
//! });
//! assert_eq!(found, ["image.bin@0x40: cubin"]);
//! assert!(diagnostics.is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | module | thing |
//! |---|---|
//! | [`format`](mod@format) | identification of a run of bytes by its first bytes |
//! | `checks` | checks of the header of one kind of file; uses none of the other modules |
//! | `carver` | the search through one file |
//! | `scan` | the search for programs in other bytes |
//! | [`path`] | the path of a program, as text that can be parsed again |
//! | `zip`, `tar`, `archive`, `compressed`, `universal`, `offload`, `gputrace`, `text` | one kind of container each |
//! | `sections` | the sections of object files |
//! | `stream`, `lz4` | unpacking within limits |
//! | [`crc32`] | the checksum of zip and gzip |
//!
//! Identification uses the checks; carving uses both. Neither of the first two depends on carving.
//!
//! # What is searched, and how often
//! A container passes each readable member to the search. The rest of the container is searched raw: gaps, damaged
//! members, and bytes before and after. So nothing is reported twice, and a damaged archive hides nothing that isn't
//! compressed.
//!
//! # Hostile input
//! Every quantity that a file can make large has a limit in [`Limits`]. A limit that stops something leaves a
//! diagnostic with the name of the option that raises it. The limits on unpacked bytes and on the number of members
//! bound the time: beginning a stream, or searching a byte a second time, draws on the same budget.
//! [`Limits::max_held_size`] bounds the memory, besides bookkeeping of about the input's own size.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)
)]

mod archive;
mod carver;
mod checks;
mod compressed;
// Reads no offsets: the compiler evaluates its tables.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
pub mod crc32;
mod fields;
pub mod format;
mod gputrace;
mod limits;
mod lz4;
mod offload;
pub mod path;
#[cfg(test)]
mod samples;
mod scan;
mod sections;
mod stream;
mod tar;
#[cfg(test)]
mod tests;
mod text;
mod universal;
mod zip;

pub use carver::{Condition, Find, carve, carve_selected};
pub use gputrace::{GPUTRACE_INDEX, GPUTRACE_STORE, carve_gputrace, carve_gputrace_selected};
pub use limits::Limits;
pub use path::{FindPath, PathSegment, Selector};
