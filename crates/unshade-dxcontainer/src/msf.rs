//! Multi-stream files, which program databases (`.pdb`) are: DXC's have a container in one of their streams.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | 32 bytes | `Microsoft C/C++ MSF 7.00`, line end, `1a 44 53 00 00 00` |
//! | 32 | u32 | size of a block |
//! | 36 | u32 | block of the map of free blocks |
//! | 40 | u32 | number of blocks |
//! | 44 | u32 | size of the directory |
//! | 48 | u32 | – |
//! | 52 | u32 | block that lists the blocks of the directory |
//!
//! The directory: number of streams, their sizes (the highest number for none), then the blocks of each.
//!
//! Source: LLVM's "The MSF File Format"; DXC's `DxilPDB.cpp`.

use crate::container;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The first 32 bytes.
pub const MAGIC: &[u8; 32] = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0";

/// Streams of more bytes in all than this many times the file's are refused: blocks may be named any number of times.
const MAX_RATIO: u64 = 2;

/// A multi-stream file.
#[derive(Clone, Debug)]
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

impl<'a> Msf<'a> {
    /// Whether a file starts as one.
    pub fn is_msf(data: &[u8]) -> bool {
        data.starts_with(MAGIC)
    }

    /// Reads header and directory.
    ///
    /// # Errors
    /// If it is no such file, or its directory can't be read.
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let file = Reader::new(data);
        let mut reader = file;
        if reader.bytes(MAGIC.len()).ok() != Some(MAGIC) {
            return Err(Error::new(ErrorKind::BadMagic, 0, "not a program database"));
        }
        let block_size = reader.u32()?;
        if !block_size.is_power_of_two() || block_size < 512 {
            return Err(
                Error::new(ErrorKind::BadValue, 32, "bad size of a block").found(format!("{block_size}"))
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
            return Err(Error::new(ErrorKind::OutOfRange, 44, "directory is larger than the file"));
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
                return Err(Error::without_offset(ErrorKind::Limit, "streams are larger than the file"));
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
            let place = u64::from(*block).saturating_mul(u64::from(self.block_size));
            out.extend_from_slice(self.file.part(place, size)?.data());
            left = left.saturating_sub(size);
        }
        Ok(out)
    }

    /// How many streams there are.
    pub fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// How many bytes a stream has; none, if there is no such stream.
    pub fn stream_size(&self, index: usize) -> usize {
        let size = self.streams.get(index).map_or(0, |stream| stream.size);
        usize::try_from(size).unwrap_or(usize::MAX)
    }

    /// The bytes of a stream.
    ///
    /// # Errors
    /// If there is no such stream, or its blocks are not in the file.
    pub fn stream(&self, index: usize) -> Result<Vec<u8>> {
        let stream = self.streams.get(index).ok_or_else(|| {
            Error::without_offset(ErrorKind::OutOfRange, "no such stream").found(format!("{index}"))
        })?;
        self.collect(stream).map_err(|error| error.within(format!("stream {index}")))
    }

    /// The container in it, and the number of its stream.
    ///
    /// # Errors
    /// If no stream starts as a container.
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
