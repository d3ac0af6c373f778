//! The container: a header, a directory, and parts.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | 4 bytes | `DXBC` |
//! | 4 | 16 bytes | digest of everything from byte 20 on, see [`digest`](crate::digest) |
//! | 20, 22 | u16, u16 | version, 1.0 |
//! | 24 | u32 | size of the file |
//! | 28 | u32 | number of parts |
//! | 32 | u32 × parts | where each part's header stands |
//!
//! A part is a name of four characters, a size, and its bytes. In all real files the parts follow each other without
//! gaps in the order of the directory, but nothing aligns them: DXC pads parts to 4 bytes from validator version 1.7
//! on. A name may stand twice: FXC's libraries have one `LIBF` for each function.
//!
//! Source: DXC's `DxilContainer.h`, LLVM's `DXContainer.h`; 3,817 real files.

use crate::digest::Digest;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, FourCc, Reader, Result};

/// The first four bytes.
pub const MAGIC: FourCc = FourCc(*b"DXBC");

/// Size of the header without the directory.
pub const HEADER_SIZE: u32 = 32;

/// Size of a part's name and size.
pub const PART_HEADER_SIZE: u32 = 8;

/// DXC refuses larger files.
pub const MAX_SIZE: u64 = 0x8000_0000;

/// How many times the bytes of the file all parts together may be.
const MAX_OVERLAP: usize = 2;

/// The header of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The digest as it stands in the file.
    pub digest: Digest,
    /// The first number of the version: 1.
    pub major: u16,
    /// The second number of the version: 0.
    pub minor: u16,
    /// The size that the file says it has.
    pub file_size: u32,
    /// The number of parts that the file says it has.
    pub part_count: u32,
}

/// A container as it stands in a file; nothing is copied.
#[derive(Clone, Debug)]
pub struct Container<'a> {
    file: Reader<'a>,
    header: Header,
    offsets: Vec<u32>,
}

/// A part as it stands in a file.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Its place in the directory.
    pub index: u32,
    /// Its name.
    pub name: FourCc,
    /// Where its header stands, from the start of the container.
    pub offset: u32,
    /// The size that it says it has.
    pub declared_size: u32,
    /// Its bytes, as many as there are.
    pub data: Reader<'a>,
}

impl<'a> Container<'a> {
    /// Reads header and directory of the container that a file is.
    ///
    /// # Errors
    /// If it does not start with `DXBC`, or ends before the directory does.
    ///
    /// ```
    /// use unshade_dxcontainer::Container;
    ///
    /// let mut file = b"DXBC".to_vec();
    /// file.resize(20, 0);
    /// file.extend([1, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0]);
    /// let container = Container::parse(&file)?;
    /// assert_eq!((container.header().major, container.parts().count()), (1, 0));
    /// # Ok::<(), unshade_core::Error>(())
    /// ```
    pub fn parse(file: &'a [u8]) -> Result<Self> {
        Self::read(Reader::new(file))
    }

    /// Reads the container that starts where `reader` does. All that follows is taken for a part of it.
    ///
    /// # Errors
    /// As [`Container::parse`].
    pub fn read(mut reader: Reader<'a>) -> Result<Self> {
        let file = reader;
        let magic = reader.fourcc().map_err(|error| error.within("header"))?;
        if magic != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, file.base(), "not a DXContainer")
                .expected("DXBC")
                .found(format!("{magic}")));
        }
        let mut read = || -> Result<Header> {
            Ok(Header {
                digest: Digest(reader.array()?),
                major: reader.u16()?,
                minor: reader.u16()?,
                file_size: reader.u32()?,
                part_count: reader.u32()?,
            })
        };
        let header = read().map_err(|error| error.within("header"))?;
        let wanted = u64::from(header.part_count).saturating_mul(4);
        if wanted > reader.remaining() as u64 {
            return Err(Error::new(ErrorKind::Truncated, reader.offset(), "directory leaves the file")
                .expected(format!("{} parts, {wanted} bytes", header.part_count))
                .found(format!("{} bytes", reader.remaining()))
                .within("directory"));
        }
        let offsets = (0..header.part_count).map(|_| reader.u32()).collect::<Result<_>>()?;
        Ok(Self { file, header, offsets })
    }

    /// All bytes, from the container's first one on.
    pub fn file(&self) -> &Reader<'a> {
        &self.file
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The directory: where each part's header stands.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The bytes that the container says it has, or all there are.
    pub fn bytes(&self) -> &'a [u8] {
        let all = self.file.data();
        all.get(..self.header.file_size as usize).unwrap_or(all)
    }

    /// The digest that the container should have.
    pub fn computed_digest(&self) -> Digest {
        Digest::of_container(self.bytes())
    }

    /// Where the directory ends, and the first part should start.
    pub fn directory_end(&self) -> u64 {
        u64::from(HEADER_SIZE).saturating_add((self.offsets.len() as u64).saturating_mul(4))
    }

    /// The parts in the order of the directory. One that can't be found is an error of its own. So is each after those
    /// that together are twice as large as the file: a directory of a million times the same part is a small file.
    pub fn parts(&self) -> impl Iterator<Item = Result<Part<'a>>> + '_ {
        let mut budget = self.file.data().len().saturating_mul(MAX_OVERLAP);
        self.offsets.iter().zip(0..).map(move |(offset, index)| {
            let part = self.part(index, *offset)?;
            budget = budget.checked_sub(part.data.data().len()).ok_or_else(|| {
                Error::new(
                    ErrorKind::Limit,
                    self.file.base(),
                    "parts overlap so much that they are larger than the file",
                )
                .within(part.label())
            })?;
            Ok(part)
        })
    }

    /// The parts that can be found.
    pub fn found_parts(&self) -> impl Iterator<Item = Part<'a>> + '_ {
        self.parts().filter_map(Result::ok)
    }

    /// The first part of a name.
    pub fn find(&self, name: &[u8; 4]) -> Option<Part<'a>> {
        // Most parts that are asked for are not there, which takes less to see than to take each part.
        let bytes = |offset: &u32| self.file.data().get(usize::try_from(*offset).ok()?..)?.first_chunk();
        if !self.offsets.iter().any(|offset| bytes(offset) == Some(name)) {
            return None;
        }
        self.found_parts().find(|part| part.name.0 == *name)
    }

    fn part(&self, index: u32, offset: u32) -> Result<Part<'a>> {
        let label = || format!("part {index}");
        let mut reader = self.file.part(u64::from(offset), 0).map_err(|error| error.within(label()))?;
        let rest = (self.file.data().len() as u64).saturating_sub(u64::from(offset));
        if rest > 0 {
            reader = self.file.part(u64::from(offset), rest)?;
        }
        let name = reader.fourcc().map_err(|error| error.within(label()))?;
        let declared_size = reader.u32().map_err(|error| error.within(label()))?;
        let size = u64::from(declared_size).min(reader.remaining() as u64);
        Ok(Part { index, name, offset, declared_size, data: reader.split(size)? })
    }
}

impl Part<'_> {
    /// The range of the part with its header, from the start of the container.
    pub fn range(&self) -> Range<u64> {
        let start = u64::from(self.offset);
        start..start.saturating_add(PART_HEADER_SIZE.into()).saturating_add(self.data.data().len() as u64)
    }

    /// Whether the file ends before the part does.
    pub fn is_truncated(&self) -> bool {
        (self.data.data().len() as u64) < u64::from(self.declared_size)
    }

    /// The part's name in words, for paths of errors.
    pub fn label(&self) -> alloc::string::String {
        format!("part {} {}", self.index, self.name)
    }
}
