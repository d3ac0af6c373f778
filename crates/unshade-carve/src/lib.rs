//! Finds every GPU program in a file of any kind, however deep (carving).
//!
//! A file is split recursively: archives into members, compressed files into their contents, universal binaries into
//! architectures. Everything else is searched byte by byte (`scan`); programs in object files are named by section.
//!
//! | module | contents |
//! |---|---|
//! | [`format`](mod@format) | detects the format of a run from its first bytes |
//! | `checks` | checks headers of each kind of file; depends on no other module |
//! | `carver` | searches one file |
//! | `scan` | searches for programs in other bytes |
//! | [`path`] | paths of programs, as text that can be parsed |
//! | `zip`, `tar`, `archive`, `compressed`, `universal`, `offload`, `gputrace` | one kind of container each |
//! | `sections` | the sections of object files |
//! | `stream` | unpacking within limits |
//! | [`crc32`] | the checksum of zip and gzip |
//!
//! Detection uses the checks, and carving uses both; neither of these depends on carving.
//!
//! # What is searched
//! A container passes each readable member to the search. Everything else in it is searched directly: gaps, damaged
//! members, and the bytes before and after. So nothing is reported twice, and a damaged archive hides nothing except
//! compressed data.
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
// Reads no offsets; its tables are computed at compile time.
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
