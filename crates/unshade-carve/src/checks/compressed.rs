//! Detects compressed data by its first bytes: gzip, bzip2, Zstandard, zlib.

use crate::fields::Fields;
use flate2::{FlushDecompress, Status};

/// A compression method.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Gzip,
    Bzip2,
    Zstd,
}

impl Method {
    /// Detects the method of a file.
    pub(crate) fn of(data: &[u8]) -> Option<Self> {
        let fields = Fields::little(data);
        if data.starts_with(&[0x1f, 0x8b, 8]) {
            return Some(Self::Gzip);
        }
        if data.starts_with(b"BZh") && matches!(fields.u8(3)?, b'1'..=b'9') {
            // A block's magic number (pi), or that of the end of an empty stream (the square root of pi).
            let magic = fields.bytes(4, 6)?;
            return (magic == [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]
                || magic == [0x17, 0x72, 0x45, 0x38, 0x50, 0x90])
            .then_some(Self::Bzip2);
        }
        is_zstd_frame(fields, 0).then_some(Self::Zstd)
    }
}

/// Returns whether a data frame or a skippable frame begins here.
pub(crate) fn is_zstd_frame(fields: Fields<'_>, at: usize) -> bool {
    matches!(fields.u32(at), Some(0xfd2f_b528 | 0x184d_2a50..=0x184d_2a5f))
}

/// Returns whether the bytes begin with a zlib stream: a valid header, and some bytes that inflate.
pub(crate) fn starts_zlib(data: &[u8]) -> bool {
    if !is_zlib_header(data) {
        return false;
    }
    let mut probe = Vec::with_capacity(64);
    let input = data.get(..4_096).unwrap_or(data);
    let status = flate2::Decompress::new(true).decompress_vec(input, &mut probe, FlushDecompress::None);
    status.is_ok_and(|status| status == Status::StreamEnd || !probe.is_empty())
}

/// Returns whether the header is `78` and a flag byte that makes both a multiple of 31, without a preset dictionary.
pub(crate) fn is_zlib_header(data: &[u8]) -> bool {
    matches!(data, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..])
}
