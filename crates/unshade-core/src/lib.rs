//! What the format crates of `unshade` share: reading bytes, errors with offsets, diagnostics, text as tokens.
//!
//! | module | contents |
//! |---|---|
//! | [`reader`] | a cursor over bytes that knows its absolute file offset |
//! | [`error`] | a pointer-sized error: what, where, expected, found, what to do |
//! | [`diagnostic`] | findings that do not stop a reader, with a severity and a rule's name |
//! | [`outline`] | the tree of fields of a file: name, value, meaning, byte range |
//! | [`token`] | text as a stream of tokens, for plain text, colour, JSON and pages alike |
//! | [`graph`] | directed graphs: dominators and loops |
//! | [`yaml`] | documents as trees of nodes, and typed values in them |
//! | [`bytes`] | owned text and bytes of a file |
//! | [`escape`] | escapes for names that come from files |
//! | [`fourcc`] | four-character codes |
//! | [`half`] | floats of 16 bits |
//! | [`open_enum!`] | enumerations that keep values without a name |
//!
//! The crate is `no_std`, has no dependencies and no `unsafe`.
//!
//! ```
//! use unshade_core::{ErrorKind, Reader};
//!
//! // The bytes are at offset 0x100 of a larger file: errors name offsets of that file.
//! let mut reader = Reader::at(&[2, 0, 0, 0, 9], 0x100);
//! assert_eq!(reader.u32()?, 2);
//! let error = reader.u32().unwrap_err();
//! assert_eq!((error.kind(), error.offset()), (ErrorKind::Truncated, Some(0x104)));
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

pub mod bytes;
pub mod diagnostic;
pub mod error;
pub mod escape;
pub mod fourcc;
pub mod graph;
pub mod half;
mod open_enum;
pub mod outline;
pub mod reader;
pub mod token;
pub mod yaml;

pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use error::{Error, ErrorKind, Result};
pub use escape::Escaped;
pub use fourcc::FourCc;
pub use outline::{Field, Node, OutlineSink, Value};
pub use reader::Reader;
pub use token::{Token, TokenKind, TokenSink};
