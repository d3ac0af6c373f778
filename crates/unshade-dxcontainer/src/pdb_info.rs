//! PDBI: what a debugger needs to know, as RDAT, possibly compressed.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0, 2 | u16, u16 | version, compression (1 zlib) |
//! | 4, 8 | u32, u32 | stored size, size |
//! | 12 | bytes | RDAT with the tables of program databases |
//!
//! DXC 1.6 to 1.10 write no such part in any mode that was tried; the layout is DXC's `DxilContainer.h`.

use crate::bytes::Bytes;
use crate::cursor::{Cursor, read_part};
use crate::rdat::Rdat;
use crate::scalar::{Record, model, record};
use crate::source_info::{Compression, MAX_SOURCES};
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Reader, Result};

record! {
    /// The header.
    pub struct PdbInfoHeader {
        /// The version.
        pub version: u16 => "Version",
        /// How the rest is stored.
        pub compression: Compression => "Compression",
        /// How many bytes it is stored in.
        pub stored_size: u32 => "StoredSize",
        /// How many bytes it has.
        pub size: u32 => "Size",
    }
}

model! {
    /// PDBI.
    pub struct PdbInfo {
        /// The header.
        pub header: PdbInfoHeader => "Header",
        /// The bytes that it is stored in.
        pub stored: Bytes => "Stored",
        /// What follows.
        pub extra: Bytes => "Extra",
    }
}

impl PdbInfo {
    /// The RDAT inside.
    ///
    /// # Errors
    /// If it can't be inflated or read.
    pub fn rdat(&self) -> Result<Rdat> {
        let fault = |kind, message: &'static str| Error::without_offset(kind, message).within("PDBI");
        let limit = (self.header.size as usize).min(MAX_SOURCES);
        let bytes = match self.header.compression {
            Compression::NONE => self.stored.0.clone(),
            Compression::ZLIB => {
                miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(&self.stored.0, limit)
                    .map_err(|_| fault(ErrorKind::BadValue, "zlib stream can't be inflated"))?
            }
            _ => return Err(fault(ErrorKind::Unsupported, "unknown compression")),
        };
        read_part(Reader::new(&bytes), Rdat::read)
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let header: PdbInfoHeader = cursor.record("header")?;
        let stored = Bytes::from(cursor.bytes(header.stored_size as usize, "stored RDAT")?);
        Ok(Self { header, stored, extra: Bytes::from(cursor.rest("padding")?) })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.header.write(&mut out);
        out.extend_from_slice(&self.stored.0);
        out.extend_from_slice(&self.extra.0);
        out
    }
}
