//! Multi-stream files (MSF), the container of program databases (`.pdb`). Those of DXC have a DXContainer in one of
//! their streams.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | 32 bytes | `Microsoft C/C++ MSF 7.00`, line break, `1a 44 53 00 00 00` |
//! | 32 | u32 | block size |
//! | 36 | u32 | block number of the free block map |
//! | 40 | u32 | number of blocks |
//! | 44 | u32 | size of the directory |
//! | 48 | u32 | – |
//! | 52 | u32 | block with the list of the directory's blocks |
//!
//! The directory holds the number of streams, their sizes (`u32::MAX` for none), and the block numbers of each.
//!
//! Sources: LLVM's "The MSF File Format"; DXC's `DxilPDB.cpp`.

use crate::container;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The first 32 bytes.
pub const MAGIC: &[u8; 32] = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0";

/// Maximum total size of all streams, relative to the file: streams may share blocks.
const MAX_RATIO: u64 = 2;

/// A multi-stream file.
#[derive(Clone)]
pub struct Msf<'a> {
    file: Reader<'a>,
    block_size: u32,
    streams: Vec<Stream>,
}

#[derive(Clone, Debug)]
struct Stream {
    size: u32,
    blocks: Vec<u32>,
}

impl fmt::Debug for Msf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Msf")
            .field("block_size", &self.block_size)
            .field("streams", &self.streams.len())
            .finish_non_exhaustive()
    }
}

impl<'a> Msf<'a> {
    /// Returns whether a file starts with the magic bytes.
    pub fn is_msf(data: &[u8]) -> bool {
        data.starts_with(MAGIC)
    }

    /// Parses the header and the directory.
    ///
    /// # Errors
    /// Fails if the data is not an MSF, or its directory is invalid.
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Parses an MSF at `base` of a larger file, so that errors are offsets of that file.
    ///
    /// # Errors
    /// Fails as [`Msf::parse`] does.
    pub fn parse_at(data: &'a [u8], base: u64) -> Result<Self> {
        let file = Reader::at(data, base);
        let mut reader = file;
        if reader.bytes(MAGIC.len()).ok() != Some(MAGIC) {
            return Err(Error::new(ErrorKind::BadMagic, base, "not a program database"));
        }
        let block_size = reader.u32()?;
        if !block_size.is_power_of_two() || block_size < 512 {
            let offset = base.saturating_add(32);
            return Err(
                Error::new(ErrorKind::BadValue, offset, "invalid block size").found(format!("{block_size}"))
            );
        }
        reader.skip(8)?;
        let size = reader.u32()?;
        reader.skip(4)?;
        let map = reader.u32()?;
        let mut msf = Self { file, block_size, streams: Vec::new() };
        let blocks = msf.block_count(size);
        if u64::from(blocks).saturating_mul(u64::from(block_size))
            > (data.len() as u64).saturating_add(u64::from(block_size))
        {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                base.saturating_add(44),
                "directory is larger than the file",
            ));
        }
        let list = file
            .part(u64::from(map).saturating_mul(u64::from(block_size)), u64::from(blocks).saturating_mul(4));
        let mut list = list.map_err(|error| error.within("directory"))?;
        let blocks = (0..blocks).map(|_| list.u32()).collect::<Result<_>>()?;
        let directory = msf.collect(&Stream { size, blocks }).map_err(|error| error.within("directory"))?;
        msf.read_directory(&directory).map_err(|error| error.within("directory"))?;
        Ok(msf)
    }

    fn block_count(&self, size: u32) -> u32 {
        size.div_ceil(self.block_size)
    }

    fn read_directory(&mut self, directory: &[u8]) -> Result<()> {
        let mut reader = Reader::new(directory);
        let count = reader.u32()?;
        let limit = (self.file.data().len() as u64).saturating_mul(MAX_RATIO);
        let mut sizes = Reader::new(reader.bytes_u64(u64::from(count).saturating_mul(4))?);
        let mut total = 0u64;
        for _ in 0..count {
            let size = sizes.u32()?;
            let size = if size == u32::MAX { 0 } else { size };
            total = total.saturating_add(u64::from(size));
            if total > limit {
                return Err(Error::without_offset(ErrorKind::Limit, "streams exceed the size of the file"));
            }
            let blocks = (0..self.block_count(size)).map(|_| reader.u32()).collect::<Result<_>>()?;
            self.streams.push(Stream { size, blocks });
        }
        Ok(())
    }

    fn collect(&self, stream: &Stream) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut left = u64::from(stream.size);
        for block in &stream.blocks {
            let size = left.min(u64::from(self.block_size));
            let offset = u64::from(*block).saturating_mul(u64::from(self.block_size));
            out.extend_from_slice(self.file.part(offset, size)?.data());
            left = left.saturating_sub(size);
        }
        Ok(out)
    }

    /// Returns the number of streams.
    pub fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// Returns the size of a stream, or 0 if there is none.
    pub fn stream_size(&self, index: usize) -> usize {
        let size = self.streams.get(index).map_or(0, |stream| stream.size);
        usize::try_from(size).unwrap_or(usize::MAX)
    }

    /// Returns the bytes of a stream.
    ///
    /// # Errors
    /// Fails if there is no such stream, or its blocks are outside of the file.
    pub fn stream(&self, index: usize) -> Result<Vec<u8>> {
        let stream = self.streams.get(index).ok_or_else(|| {
            Error::without_offset(ErrorKind::OutOfRange, "no such stream").found(format!("{index}"))
        })?;
        self.collect(stream).map_err(|error| error.within(format!("stream {index}")))
    }

    /// Returns the container in it, and the number of its stream.
    ///
    /// # Errors
    /// Fails if no stream starts as a container.
    pub fn container(&self) -> Result<(usize, Vec<u8>)> {
        for index in 0..self.streams.len() {
            let bytes = self.stream(index)?;
            if bytes.starts_with(&container::MAGIC.0) {
                return Ok((index, bytes));
            }
        }
        Err(Error::without_offset(ErrorKind::BadMagic, "program database without a DXContainer"))
    }
}
