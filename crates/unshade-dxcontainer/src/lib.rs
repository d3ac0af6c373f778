//! Reads, writes, verifies and signs DirectX shader containers: DXIL and DXBC files, and what DXC puts into `.pdb`.
//!
//! | module | thing of the format |
//! |---|---|
//! | [`container`] | header, directory, parts as they stand: [`Container`] |
//! | [`mod@file`] | a container that is owned, changed and written: [`DxFile`] |
//! | [`edit`] | changing it |
//! | [`part`] | which part is what: [`PartData`] |
//! | [`digest`] | the digest, and signing |
//! | [`program`] | DXIL, ILDB, STAT of DXC |
//! | [`signature`] | ISGN, OSGN, PCSG, OSG5, ISG1, OSG1, PSG1 |
//! | [`psv0`] | PSV0 |
//! | [`root_signature`] | RTS0, and [`root_signature_text`] its HLSL |
//! | [`rdat`] | RDAT, and [`pdb_info`] PDBI |
//! | [`rdef`] | RDEF, and [`stat`] STAT of FXC |
//! | [`small`] | HASH, ILDN, VERS, SFI0 |
//! | [`source_info`] | SRCI |
//! | [`library`] | LIBH and LFS0 |
//! | [`debug`] | SPDB and SDBG |
//! | [`msf`] | `.pdb` files |
//! | [`image`] | parts whose pieces stand at offsets of their own |
//! | [`outline`] | what stands at which byte |
//! | [`verify`] | is it sound? |
//! | [`document`] | containers as YAML, both ways |
//!
//! [`Container::parse`] is lazy and copies nothing; [`DxFile::parse`] takes a file apart into typed parts, which
//! [`DxFile::write`] turns into the same bytes again.
//!
//! ```
//! use unshade_dxcontainer::file::{DxFile, OwnedPart};
//! use unshade_dxcontainer::part::PartData;
//! use unshade_dxcontainer::small::FeatureInfo;
//!
//! let mut file = DxFile::default();
//! file.parts.push(OwnedPart::new(*b"SFI0", PartData::Features(FeatureInfo { flags: 1 })));
//! let bytes = file.write_signed()?;
//! let read = DxFile::parse(&bytes)?;
//! assert_eq!(read, file);
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
pub mod container;
mod cursor;
pub mod debug;
pub mod digest;
pub mod document;
pub mod edit;
pub mod file;
pub mod image;
pub mod library;
pub mod msf;
pub mod outline;
pub mod part;
pub mod pdb_info;
pub mod program;
pub mod psv0;
pub mod rdat;
pub mod rdef;
pub mod root_signature;
pub mod root_signature_text;
mod scalar;
pub mod signature;
pub mod small;
pub mod source_info;
pub mod stat;
pub mod verify;

pub use container::Container;
pub use digest::Digest;
pub use file::DxFile;
pub use part::PartData;
pub use scalar::Hex32;
pub use unshade_core::yaml;
