//! Detects compressed data by its first bytes: gzip, bzip2, Zstandard, xz, LZMA, LZ4, zlib.
//!
//! A file of LZMA alone (`.lzma`) has no magic number: u8 properties, u32 size of the window, u64 size or all ones, then
//! data whose first byte is 0. Writers use few sizes of the window, and the data have to unpack.

use crate::fields::Fields;
use flate2::{FlushDecompress, Status};
use lzma_rust2::{Action, LzmaStream, Status as LzmaStatus};

/// A compression method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Gzip,
    /// zlib, which [`Method::of`] does not detect: a file of it may be the store of a capture.
    Zlib,
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
        if fields.u32(0) == Some(LZ4_MAGIC) || starts_legacy_lz4(fields) {
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

/// The first bytes of a legacy frame of LZ4.
pub(crate) const LZ4_LEGACY: u32 = 0x184c_2102;

/// Returns whether a legacy frame of LZ4 begins with a block: its size and a token that begins with literals.
fn starts_legacy_lz4(fields: Fields<'_>) -> bool {
    fields.u32(0) == Some(LZ4_LEGACY)
        && fields.u32(4).is_some_and(is_legacy_size)
        && fields.u8(8).is_some_and(|token| token >> 4 > 0)
}

/// Returns whether a block of a legacy frame of LZ4 can have this compressed size: no more than LZ4 makes of 8 MiB.
pub(crate) fn is_legacy_size(size: u32) -> bool {
    const UNPACKED: u32 = 8 << 20;
    (1..=UNPACKED + UNPACKED / 255 + 16).contains(&size)
}

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
        && (size == u64::MAX || (1..=MAX_SIZE).contains(&size))
        && fields.u8(LZMA_HEADER) == Some(0)
        // Zeros would unpack to zeros.
        && fields.u64(LZMA_HEADER).is_some_and(|data| data != 0)
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

/// The first bytes of a gzip stream.
pub(crate) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b, 8];

/// Returns whether a gzip header in the middle of other bytes is plausible: reserved flags are 0, and the level and the
/// system are known.
pub(crate) fn is_gzip_header(data: &[u8]) -> bool {
    let fields = Fields::little(data);
    data.starts_with(GZIP_MAGIC)
        && fields.u8(3).is_some_and(|flags| flags & 0xe0 == 0)
        && matches!(fields.u8(8), Some(0 | 2 | 4))
        && matches!(fields.u8(9), Some(0..=13 | 255))
}

/// Returns whether deflate data can begin like this: a stored block with a right size, a fixed block that begins with a
/// literal, or the first code of a dynamic block is complete. One of thousands of random beginnings is plausible.
pub(crate) fn may_be_deflate(data: &[u8]) -> bool {
    let fields = Fields::little(data);
    let Some(first) = fields.u32(0) else { return false };
    let bits = first >> 3;
    match first >> 1 & 3 {
        0 => bits & 0x1f == 0 && fields.u16(1).is_some_and(|size| fields.u16(3) == Some(!size)),
        1 => fixed_literal(bits).is_some_and(is_head),
        2 => is_complete(fields, bits),
        _ => false,
    }
}

/// The first bytes of what is searched for in the middle of other bytes: programs, archives, object files, comments.
const HEADS: &[u8] = b"MD\xcb\x50\x7fB\xde./\n!_\xca\xce\xcf\xfe\x1f\x28\xfdC\x10";

/// Returns whether a program or a container that is searched for in the middle of other bytes may begin with a byte.
pub(crate) fn is_head(byte: u8) -> bool {
    HEADS.contains(&byte)
}

/// Returns the literal with which a fixed block begins, which has 8 or 9 bits, the highest first.
fn fixed_literal(bits: u32) -> Option<u8> {
    let [low, next, ..] = bits.to_le_bytes();
    let short = low.reverse_bits();
    match short {
        0x30..=0xbf => short.checked_sub(0x30),
        0xc8.. => {
            // 9 bits from 110010000 on are the literals from 144 on.
            let long = u16::from(short) << 1 | u16::from(next & 1);
            long.checked_sub(0x190 - 144).and_then(|literal| u8::try_from(literal).ok())
        }
        _ => None,
    }
}

/// Returns whether the code for the lengths of a dynamic block uses all bit strings, and the numbers of codes exist.
fn is_complete(fields: Fields<'_>, bits: u32) -> bool {
    const MAX_LITERALS: u32 = 29;
    const MAX_DISTANCES: u32 = 29;
    let count = (bits >> 10 & 0xf).saturating_add(4);
    if bits & 0x1f > MAX_LITERALS || bits >> 5 & 0x1f > MAX_DISTANCES {
        return false;
    }
    // The lengths, of 3 bits each, begin at bit 17; at most 19 of them are in the next 57 bits.
    let Some(lengths) = fields.u64(2).map(|bits| bits >> 1) else { return false };
    let sum =
        (0..count).map(|index| match lengths.checked_shr(index.saturating_mul(3)).unwrap_or_default() & 7 {
            0 => 0,
            length => 128_u32.checked_shr(u32::try_from(length).unwrap_or_default()).unwrap_or_default(),
        });
    sum.sum::<u32>() == 128
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn beginnings_of_deflate() {
        let library = samples::metallib();
        let noise: Vec<u8> = (0..4_000_u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 20) as u8).collect();
        let fixtures: [&[u8]; 3] = [
            include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib"),
            include_bytes!("../../../../tests/fixtures/nvidia/add_sm_35.cubin"),
            include_bytes!("../../../../tests/fixtures/nvidia/add.ptx"),
        ];
        for data in [&library[..], &[b"MTLB", &noise[..]].concat()].into_iter().chain(fixtures) {
            for level in [0, 1, 6, 9] {
                let mut out = Vec::with_capacity(data.len() + 100);
                let mut encoder = flate2::Compress::new(flate2::Compression::new(level), false);
                encoder.compress_vec(data, &mut out, flate2::FlushCompress::Finish).unwrap();
                assert!(may_be_deflate(&out), "level {level}: {:02x?}", &out[..8]);
            }
        }
        let plausible = noise.windows(16).filter(|bytes| may_be_deflate(bytes)).count();
        assert!(plausible < 100, "{plausible}");
        // The literals 0, 143, 144 and 255.
        let codes =
            [(0b0011_0000, 8, 0), (0b1011_1111, 8, 143), (0b1_1001_0000, 9, 144), (0b1_1111_1111, 9, 255)];
        for (code, size, literal) in codes {
            let bits = u32::reverse_bits(code) >> (32 - size);
            assert_eq!(fixed_literal(bits), Some(literal));
        }
    }
}
