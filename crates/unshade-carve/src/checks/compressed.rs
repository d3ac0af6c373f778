//! Detects compressed data by its first bytes: gzip, bzip2, Zstandard, xz, LZMA, LZ4, zlib.
//!
//! A file of LZMA alone (`.lzma`) has no magic number: u8 properties, u32 size of the window, u64 size or all ones, then
//! data whose first byte is 0. Writers use few sizes of the window, and the data have to unpack.

use crate::fields::Fields;
use flate2::{FlushDecompress, Status};
use lzma_rust2::{Action, LzmaStream, Status as LzmaStatus};

/// A compression method.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Gzip,
    Bzip2,
    Zstd,
    Xz,
    Lzma,
    Lz4,
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
        if data.starts_with(b"\xfd7zXZ\0") {
            return Some(Self::Xz);
        }
        if fields.u32(0) == Some(LZ4_MAGIC) {
            return Some(Self::Lz4);
        }
        if is_zstd_frame(fields, 0) {
            return Some(Self::Zstd);
        }
        starts_lzma(data).then_some(Self::Lzma)
    }
}

/// The first bytes of an LZ4 frame.
const LZ4_MAGIC: u32 = 0x184d_2204;

/// The size of the header of a file of LZMA.
const LZMA_HEADER: usize = 13;

/// Returns whether the bytes begin like a file of LZMA, and some unpack.
fn starts_lzma(data: &[u8]) -> bool {
    /// Maximum stated size: 256 GiB, as in the tools of xz.
    const MAX_SIZE: u64 = 1 << 38;
    let fields = Fields::little(data);
    let (Some(properties), Some(window), Some(size)) = (fields.u8(0), fields.u32(1), fields.u64(5)) else {
        return false;
    };
    // Position bits 0 to 4, literal position bits and context bits of at most 4 together.
    let (rest, context) = (properties / 9, properties % 9);
    let is_usual = |window: u32| {
        let top = window.checked_ilog2().unwrap_or_default();
        top >= 12 && (window.is_power_of_two() || window == 3 << top.saturating_sub(1)) || window == u32::MAX
    };
    rest / 5 <= 4
        && context.saturating_add(rest % 5) <= 4
        && is_usual(window)
        && (size == u64::MAX || size <= MAX_SIZE)
        && fields.u8(LZMA_HEADER) == Some(0)
        && unpacks_as_lzma(data)
}

/// Returns whether the first bytes unpack.
fn unpacks_as_lzma(data: &[u8]) -> bool {
    let input = data.get(..512).unwrap_or(data);
    let mut probe = [0; 64];
    let result = LzmaStream::new_mem_limit(u32::MAX, None).process(input, &mut probe, Action::Run);
    result.is_ok_and(|result| result.bytes_produced > 0 || result.status == LzmaStatus::StreamEnd)
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
