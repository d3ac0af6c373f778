//! PDBI: information for debuggers, as RDAT, optionally compressed.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0, 2 | u16, u16 | version, compression (1 zlib) |
//! | 4, 8 | u32, u32 | stored size, size |
//! | 12 | bytes | RDAT with the tables of program databases |
//!
//! DXC 1.6 to 1.10 wrote no such part in any mode that was tried; the layout is that of DXC's `DxilContainer.h`.

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
        /// How the RDAT is compressed.
        pub compression: Compression => "Compression",
        /// The stored size in bytes.
        pub stored_size: u32 => "StoredSize",
        /// The uncompressed size in bytes.
        pub size: u32 => "Size",
    }
}

model! {
    /// PDBI.
    pub struct PdbInfo {
        /// The header.
        pub header: PdbInfoHeader => "Header",
        /// The stored bytes of the RDAT.
        pub stored: Bytes => "Stored",
        /// The bytes after it.
        pub extra: Bytes => "Extra",
    }
}

impl PdbInfo {
    /// Decompresses and parses the RDAT.
    ///
    /// # Errors
    /// Fails if it cannot be decompressed or parsed.
    pub fn rdat(&self) -> Result<Rdat> {
        let fault = |kind, message: &'static str| Error::without_offset(kind, message).within("PDBI");
        let limit = (self.header.size as usize).min(MAX_SOURCES);
        let bytes = match self.header.compression {
            Compression::NONE => self.stored.0.clone(),
            Compression::ZLIB => {
                miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(&self.stored.0, limit)
                    .map_err(|_| fault(ErrorKind::BadValue, "zlib stream cannot be decompressed"))?
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
