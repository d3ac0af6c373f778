//! Carving: finding every GPU program in a file of any kind, however deep.
//!
//! A file is taken apart as far as it can be: archives into members, compressed files into what they unpack to,
//! universal binaries into architectures, each of them again. What can't be taken apart is searched byte by byte
//! (`scan`), and a hit in an object file is named by its section.
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
//! | [`format`](mod@format) | identification: what a run of bytes is, by its first bytes |
//! | `checks` | whether the header of one kind of file is sound; below all the others |
//! | `carver` | the search through one file |
//! | `scan` | the search for programs in other bytes |
//! | [`path`] | where a program is, as text that can be read back |
//! | `zip`, `tar`, `archive`, `compressed`, `universal`, `offload`, `gputrace` | one kind of container each |
//! | `sections` | the sections of object files |
//! | `stream` | unpacking within limits |
//! | [`crc32`] | the checksum of zip and gzip |
//!
//! Identification uses the checks, carving uses both, and neither of the first two knows of carving.
//!
//! # What is searched once, and what twice
//! A container hands each member that it could read to the search, and everything else of it is searched as it is:
//! the gaps, the members that are damaged, what is before and after. So nothing is reported twice, and a damaged
//! archive hides nothing that isn't compressed.
//!
//! # Hostile input
//! Every quantity that a file can make large has a limit in [`Limits`], and each limit that stops something leaves a
//! diagnostic with the name of the option that raises it. Time is bounded by the limits on unpacked bytes and on the
//! number of members: beginning a stream or searching a byte a second time costs of the same budget. Memory is
//! bounded by [`Limits::max_held_size`], besides some bookkeeping of at most about the input's own size.
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
// Reads no offsets: its tables are made when it is compiled.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
pub mod crc32;
mod fields;
pub mod format;
mod gputrace;
mod limits;
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
mod universal;
mod zip;

pub use carver::{Condition, Find, carve, carve_selected};
pub use gputrace::{GPUTRACE_INDEX, GPUTRACE_STORE, carve_gputrace, carve_gputrace_selected};
pub use limits::Limits;
pub use path::{FindPath, PathSegment, Selector};
