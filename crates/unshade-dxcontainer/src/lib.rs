//! Reads, writes, verifies and signs DirectX shader containers: DXIL and DXBC files, and the `.pdb` files of DXC.
//!
//! | module | contents |
//! |---|---|
//! | [`container`] | header, directory and parts, borrowed: [`Container`] |
//! | [`mod@file`] | owned containers to change and write: [`DxFile`] |
//! | [`edit`] | editing of owned containers |
//! | [`part`] | parsed parts: [`PartData`] |
//! | [`digest`] | the digest, and signing |
//! | [`program`] | DXIL, ILDB, DXC's STAT |
//! | [`signature`] | ISGN, OSGN, PCSG, OSG5, ISG1, OSG1, PSG1 |
//! | [`psv0`] | PSV0 |
//! | [`root_signature`] | RTS0, and [`root_signature_text`] for its HLSL |
//! | [`rdat`] | RDAT, and [`pdb_info`] PDBI |
//! | [`rdef`] | RDEF, and [`stat`] FXC's STAT |
//! | [`simple_parts`] | HASH, ILDN, VERS, SFI0 |
//! | [`source_info`] | SRCI |
//! | [`library`] | LIBH and LFS0 |
//! | [`debug`] | SPDB and SDBG |
//! | [`msf`] | `.pdb` files |
//! | [`image`] | parts whose pieces are at explicit offsets |
//! | [`outline`] | the meaning of every byte |
//! | [`verify`] | consistency checks |
//! | [`document`] | containers to YAML and back |
//! | [`dxil`] | the metadata of DXIL modules, and [`dxil::assemble`] containers from them |
//!
//! [`Container::parse`] is lazy and copies nothing; [`DxFile::parse`] parses a file into typed parts, which
//! [`DxFile::write`] writes as the same bytes.
//!
//! ```
//! use unshade_dxcontainer::file::{DxFile, OwnedPart};
//! use unshade_dxcontainer::part::PartData;
//! use unshade_dxcontainer::simple_parts::FeatureInfo;
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
pub mod dxil;
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
pub mod simple_parts;

pub mod source_info;
pub mod stat;
pub mod verify;

pub use container::Container;
pub use digest::Digest;
pub use file::DxFile;
pub use part::PartData;
pub use scalar::Hex32;
pub use unshade_core::yaml;
