//! Decompression of fat binary entries.
//!
//! | flag | form |
//! |---|---|
//! | 0x2000 | LZ4, one block without a frame |
//! | 0x8000 | Zstandard, a frame |
//!
//! The output must have exactly the size that the entry states. A false size can't exhaust memory: LZ4's ratio is at most
//! 255 to 1, and a maximum ratio for Zstandard does the same.

use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The maximum decompressed size of an entry; real entries have a few dozen megabytes.
pub const MAX_UNPACKED: u64 = 1 << 30;

/// The maximum number of output bytes per byte of an LZ4 block.
const LZ4_RATIO: u64 = 255;

/// The maximum ratio of a Zstandard frame larger than [`RATIO_FREE`], far above the 10 of real programs.
const ZSTD_RATIO: u64 = 250;

/// The decompressed size up to which any ratio is accepted.
const RATIO_FREE: u64 = 16 << 20;

/// The compression of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not compressed.
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

/// Decompresses data that must have exactly `size` bytes afterwards. The result is in `buffer`, or in `packed` if that is
/// not compressed. A buffer that was used before is faster than a new one.
///
/// # Errors
/// [`ErrorKind::Limit`] if `size` is larger than [`MAX_UNPACKED`] or implausible for the compressed size, or there is too
/// little memory; [`ErrorKind::BadValue`] if the data is damaged or decompresses to another size.
pub fn unpack<'b>(
    compression: Compression,
    packed: Reader<'b>,
    size: u64,
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8]> {
    let error = |kind, message: &'static str| Error::new(kind, packed.offset(), message);
    if size > MAX_UNPACKED {
        return Err(error(ErrorKind::Limit, "stated decompressed size is too large")
            .expected(format!("at most {MAX_UNPACKED} bytes"))
            .found(format!("{size}")));
    }
    let unpacked = match compression {
        Compression::None => packed.rest(),
        Compression::Lz4 => lz4(packed, size, buffer)?,
        Compression::Zstd => zstd(packed, size, buffer)?,
    };
    if unpacked.len() as u64 != size {
        return Err(error(ErrorKind::BadValue, "decompressed size differs from the stated size")
            .expected(format!("{size} bytes"))
            .found(format!("{}", unpacked.len())));
    }
    Ok(unpacked)
}

fn lz4<'b>(packed: Reader<'_>, size: u64, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
    let bytes = packed.rest();
    let most = (bytes.len() as u64).saturating_mul(LZ4_RATIO);
    if size > most {
        return Err(Error::new(
            ErrorKind::BadValue,
            packed.offset(),
            "LZ4 can't reach the stated decompressed size",
        )
        .expected(format!("at most {most} bytes"))
        .found(format!("{size}")));
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let more = size.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| no_memory(packed))?;
    buffer.resize(buffer.len().max(size), 0);
    let unpacked = buffer.get_mut(..size).unwrap_or_default();
    let written = lz4_flex::block::decompress_into(bytes, unpacked).map_err(|error| {
        Error::new(ErrorKind::BadValue, packed.offset(), format!("damaged LZ4 data: {error}"))
    })?;
    Ok(unpacked.get(..written).unwrap_or_default())
}

fn zstd<'b>(packed: Reader<'_>, size: u64, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
    let most = (packed.remaining() as u64).saturating_mul(ZSTD_RATIO).max(RATIO_FREE);
    if size > most {
        return Err(Error::new(ErrorKind::Limit, packed.offset(), "compression ratio is too high")
            .expected(format!("at most {most} bytes"))
            .found(format!("{size}")));
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let written = unshade_zstd::decode_into(packed.rest(), size, buffer).map_err(|error| {
        if error == unshade_zstd::Error::Memory {
            return no_memory(packed);
        }
        Error::new(ErrorKind::BadValue, packed.offset(), format!("damaged Zstandard data: {error}"))
    })?;
    Ok(buffer.get(..written).unwrap_or_default())
}

#[cold]
fn no_memory(packed: Reader<'_>) -> Error {
    Error::new(ErrorKind::Limit, packed.offset(), "there is not enough memory to decompress the entry")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// Unpacks into a new buffer.
    fn unpack(compression: Compression, packed: Reader<'_>, size: u64) -> Result<Vec<u8>> {
        super::unpack(compression, packed, size, &mut Vec::new()).map(<[u8]>::to_vec)
    }

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

    #[test]
    fn buffers_are_used_again() {
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0x43, 0x1f, 0, b'x'];
        let mut buffer = Vec::new();
        let large = super::unpack(Compression::Zstd, Reader::new(&frame), 1_000, &mut buffer).unwrap();
        assert_eq!(large, [b'x'; 1_000]);
        let place = buffer.as_ptr();
        let small = super::unpack(Compression::Lz4, Reader::new(BLOCK), 285, &mut buffer).unwrap();
        assert_eq!((small.as_ptr(), small.len()), (place, 285));
        assert!(small.ends_with(&[1, 2, 3, 4, 5]));
        let again = super::unpack(Compression::Zstd, Reader::new(&frame), 1_000, &mut buffer).unwrap();
        assert_eq!((again.as_ptr(), again), (place, &[b'x'; 1_000][..]));
    }

    /// Every truncation and every single-byte change of a frame with a compressed block: messages are plain English.
    #[test]
    fn messages_have_no_debug_text() {
        // Magic, window of 1 KiB, a compressed block: 4 raw literals, then 1 sequence with predefined tables.
        let frame = [
            0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0x55, 0, 0, 0x20, b'a', b'b', b'c', b'd', 1, 0, 0x44, 0x12, 0x89,
            0x35,
        ];
        let mut inputs: Vec<Vec<u8>> = (0..frame.len()).map(|size| frame[..size].to_vec()).collect();
        for index in 0..frame.len() {
            for value in 0..=255 {
                let mut changed = frame.to_vec();
                changed[index] = value;
                inputs.push(changed);
            }
        }
        let mut messages = alloc::collections::BTreeSet::new();
        for input in &inputs {
            if let Err(error) = unpack(Compression::Zstd, Reader::new(input), 1_000) {
                messages.insert(error.to_string());
            }
        }
        assert!(messages.len() > 5, "{messages:#?}");
        for message in &messages {
            let is_debug = ["{", "(\"", "::", "Error", "Some("].iter().any(|mark| message.contains(mark));
            assert!(!is_debug, "{message}");
        }
    }
}
