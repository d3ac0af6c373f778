//! Unpacking of the entries of fat binaries.
//!
//! | flag | form |
//! |---|---|
//! | 0x2000 | LZ4, one block without a frame |
//! | 0x8000 | Zstandard, a frame |
//!
//! The size that an entry states is what is unpacked, no more: an entry that lies about it is refused. Memory is taken
//! for what the packed bytes can amount to: LZ4 can't do better than 255 to 1, and Zstandard is unpacked step by step.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The most that an entry is unpacked to: real ones have some dozen megabytes.
pub const MAX_UNPACKED: u64 = 1 << 30;

/// No byte of an LZ4 block stands for more than so many.
const LZ4_RATIO: u64 = 255;

/// How many times its packed size a Zstandard frame may unpack to, once that is more than [`RATIO_FREE`]: far above real
/// programs, which do 10.
const ZSTD_RATIO: u64 = 250;

/// Up to this size the ratio does not count.
const RATIO_FREE: u64 = 16 << 20;

/// How many bytes of a Zstandard frame are unpacked before they are taken out of the decoder.
const STEP: usize = 1 << 20;

/// Larger windows are refused: the decoder keeps a window in memory.
const MAX_WINDOW: u64 = 128 << 20;

/// How an entry is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZ4, one block.
    Lz4,
    /// Zstandard, a frame.
    Zstd,
}

impl core::fmt::Display for Compression {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Self::None => "none",
            Self::Lz4 => "LZ4",
            Self::Zstd => "Zstandard",
        })
    }
}

/// Unpacks what should come to `size` bytes.
///
/// # Errors
/// [`ErrorKind::Limit`] if it says to be larger than [`MAX_UNPACKED`]; [`ErrorKind::BadValue`] if it is damaged or comes
/// to another size.
pub fn unpack(compression: Compression, packed: Reader<'_>, size: u64) -> Result<Vec<u8>> {
    let error = |kind, message: &'static str| Error::new(kind, packed.offset(), message);
    if size > MAX_UNPACKED {
        return Err(error(ErrorKind::Limit, "the entry says that it unpacks to too much")
            .expected(format!("at most {MAX_UNPACKED} bytes"))
            .found(format!("{size}")));
    }
    let unpacked = match compression {
        Compression::None => packed.rest().to_vec(),
        Compression::Lz4 => lz4(packed, size)?,
        Compression::Zstd => zstd(packed, size)?,
    };
    if unpacked.len() as u64 != size {
        return Err(error(ErrorKind::BadValue, "the entry unpacks to another size than it states")
            .expected(format!("{size} bytes"))
            .found(format!("{}", unpacked.len())));
    }
    Ok(unpacked)
}

fn lz4(packed: Reader<'_>, size: u64) -> Result<Vec<u8>> {
    let bytes = packed.rest();
    let most = (bytes.len() as u64).saturating_mul(LZ4_RATIO);
    if size > most {
        return Err(Error::new(
            ErrorKind::BadValue,
            packed.offset(),
            "the entry states a size that LZ4 can't reach",
        )
        .expected(format!("at most {most} bytes"))
        .found(format!("{size}")));
    }
    let mut unpacked = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    let written = lz4_flex::block::decompress_into(bytes, &mut unpacked).map_err(|error| {
        Error::new(ErrorKind::BadValue, packed.offset(), format!("damaged LZ4 data: {error}"))
    })?;
    unpacked.truncate(written);
    Ok(unpacked)
}

fn zstd(packed: Reader<'_>, size: u64) -> Result<Vec<u8>> {
    let damaged = |message: alloc::string::String| {
        Error::new(ErrorKind::BadValue, packed.offset(), format!("damaged Zstandard data: {message}"))
    };
    let most = (packed.remaining() as u64).saturating_mul(ZSTD_RATIO).max(RATIO_FREE);
    if size > most {
        return Err(Error::new(ErrorKind::Limit, packed.offset(), "the entry is packed suspiciously well")
            .expected(format!("at most {most} bytes"))
            .found(format!("{size}")));
    }
    let mut rest = packed.rest();
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_WINDOW);
    decoder.init(&mut rest).map_err(|error| damaged(format!("{error}")))?;
    let mut unpacked = Vec::new();
    while !decoder.is_finished() {
        decoder
            .decode_blocks(&mut rest, BlockDecodingStrategy::UptoBytes(STEP))
            .map_err(|error| damaged(format!("{error}")))?;
        unpacked.extend(decoder.collect().unwrap_or_default());
        if unpacked.len() as u64 > size {
            break;
        }
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// Five literals, and a match of 4 + 15 + 255 + 1 bytes.
    const BLOCK: &[u8] = &[0x5f, b'a', b'b', b'c', b'd', b'e', 1, 0, 255, 1, 0x50, 1, 2, 3, 4, 5];

    #[test]
    fn lz4_must_come_to_its_size() {
        let reader = Reader::at(BLOCK, 0x40);
        let unpacked = unpack(Compression::Lz4, reader, 285).unwrap();
        assert_eq!(unpacked.len(), 285);
        assert!(unpacked.starts_with(b"abcdeeee") && unpacked.ends_with(&[1, 2, 3, 4, 5]));
        for wrong in [0, 284, 286, 4_000] {
            let error = unpack(Compression::Lz4, reader, wrong).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::BadValue, Some(0x40)), "{wrong}");
        }
        let error = unpack(Compression::Lz4, reader, 1 << 29).unwrap_err();
        assert!(error.to_string().contains("can't reach"), "{error}");
        assert_eq!(unpack(Compression::Lz4, reader, u64::MAX).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn zstandard_must_come_to_its_size() {
        // A frame of a run of 1,000 bytes: magic, window of 1 KiB, one last block.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0x43, 0x1f, 0, b'x'];
        let reader = Reader::new(&frame);
        assert_eq!(unpack(Compression::Zstd, reader, 1_000).unwrap(), [b'x'; 1_000]);
        for wrong in [0, 999, 1_001] {
            assert!(unpack(Compression::Zstd, reader, wrong).is_err(), "{wrong}");
        }
        assert!(unpack(Compression::Zstd, Reader::new(&frame[..9]), 1_000).is_err());
    }
}
