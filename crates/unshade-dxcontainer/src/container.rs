//! Containers: a header, a directory, and parts.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | 4 bytes | `DXBC` |
//! | 4 | 16 bytes | digest of everything from byte 20 on, see [`digest`](crate::digest) |
//! | 20, 22 | u16, u16 | version, 1.0 |
//! | 24 | u32 | size of the file |
//! | 28 | u32 | number of parts |
//! | 32 | u32 × parts | offset of each part's header |
//!
//! A part consists of a four-character name, a size, and its bytes. In all real files the parts follow each other
//! without gaps in directory order, but nothing requires an alignment: DXC pads parts to 4 bytes from validator
//! version 1.7 on. A name may occur more than once: FXC's libraries have one `LIBF` per function.
//!
//! Sources: DXC's `DxilContainer.h`, LLVM's `DXContainer.h`; 3,817 real files.

use crate::digest::Digest;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, FourCc, Reader, Result};

/// The first four bytes.
pub const MAGIC: FourCc = FourCc(*b"DXBC");

/// Size of the header without the directory.
pub const HEADER_SIZE: u32 = 32;

/// Size of a part's name and size.
pub const PART_HEADER_SIZE: u32 = 8;

/// Maximum size of a container; DXC rejects larger ones.
pub const MAX_SIZE: u64 = 0x8000_0000;

/// Maximum total size of all parts, relative to the file.
const MAX_OVERLAP: usize = 2;

/// The header of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The digest as stored in the file.
    pub digest: Digest,
    /// The major version: 1.
    pub major: u16,
    /// The minor version: 0.
    pub minor: u16,
    /// The declared size of the file.
    pub file_size: u32,
    /// The declared number of parts.
    pub part_count: u32,
}

/// A container that borrows the bytes of its file.
#[derive(Clone)]
pub struct Container<'a> {
    file: Reader<'a>,
    header: Header,
    offsets: Vec<u32>,
}

/// A part that borrows the bytes of its file.
#[derive(Clone)]
pub struct Part<'a> {
    /// Its index in the directory.
    pub index: u32,
    /// Its name.
    pub name: FourCc,
    /// Offset of its header from the start of the container.
    pub offset: u32,
    /// Its declared size.
    pub declared_size: u32,
    /// Its bytes, as many as the file has.
    pub data: Reader<'a>,
}

impl fmt::Debug for Container<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Container")
            .field("range", &self.file.range())
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("index", &self.index)
            .field("name", &self.name)
            .field("range", &self.data.range())
            .finish_non_exhaustive()
    }
}

impl<'a> Container<'a> {
    /// Parses the header and directory of a container in a file of its own.
    ///
    /// # Errors
    /// Fails if the data does not start with `DXBC`, or ends before the directory does.
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
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Parses a container at `base` of a larger file, so that errors and ranges are offsets of that file.
    ///
    /// # Errors
    /// Fails as [`Container::parse`] does.
    pub fn parse_at(data: &'a [u8], base: u64) -> Result<Self> {
        Self::read(Reader::at(data, base))
    }

    /// Parses the container that starts at the position of `reader`. All bytes after it count as part of it.
    ///
    /// # Errors
    /// Fails as [`Container::parse`] does.
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
            return Err(Error::new(
                ErrorKind::Truncated,
                reader.offset(),
                "directory extends past the end of the file",
            )
            .expected(format!("{} parts, {wanted} bytes", header.part_count))
            .found(format!("{} bytes", reader.remaining()))
            .within("directory"));
        }
        let offsets = (0..header.part_count).map(|_| reader.u32()).collect::<Result<_>>()?;
        Ok(Self { file, header, offsets })
    }

    /// Returns all bytes from the start of the container on.
    pub fn file(&self) -> &Reader<'a> {
        &self.file
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the directory: the offset of each part's header.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Returns the bytes that the header declares, or as many of them as there are.
    pub fn bytes(&self) -> &'a [u8] {
        let all = self.file.data();
        all.get(..self.header.file_size as usize).unwrap_or(all)
    }

    /// Computes the digest of the container.
    pub fn computed_digest(&self) -> Digest {
        Digest::of_container(self.bytes())
    }

    /// Returns the end of the directory, where the first part is expected.
    pub fn directory_end(&self) -> u64 {
        u64::from(HEADER_SIZE).saturating_add((self.offsets.len() as u64).saturating_mul(4))
    }

    /// Returns the parts in directory order. A part outside of the file is an error of its own. So is each part after
    /// the parts together exceed twice the size of the file, because a small file can name one part a million times.
    pub fn parts(&self) -> impl Iterator<Item = Result<Part<'a>>> + '_ {
        let mut budget = self.file.data().len().saturating_mul(MAX_OVERLAP);
        self.offsets.iter().zip(0..).map(move |(offset, index)| {
            let part = self.part(index, *offset)?;
            budget = budget.checked_sub(part.data.data().len()).ok_or_else(|| {
                Error::new(
                    ErrorKind::Limit,
                    self.file.base(),
                    "overlapping parts exceed the size of the file",
                )
                .within(part.label())
            })?;
            Ok(part)
        })
    }

    /// Returns the parts that are in the file.
    pub fn found_parts(&self) -> impl Iterator<Item = Part<'a>> + '_ {
        self.parts().filter_map(Result::ok)
    }

    /// Returns the first part with a name.
    pub fn find(&self, name: &[u8; 4]) -> Option<Part<'a>> {
        // A cheap comparison first: most parts that callers ask for do not exist.
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
    /// Returns the range of the part including its header, from the start of the container.
    pub fn range(&self) -> Range<u64> {
        let start = u64::from(self.offset);
        start..start.saturating_add(PART_HEADER_SIZE.into()).saturating_add(self.data.data().len() as u64)
    }

    /// Returns whether the file ends before the part does.
    pub fn is_truncated(&self) -> bool {
        (self.data.data().len() as u64) < u64::from(self.declared_size)
    }

    /// Returns the index and name of the part, for error paths.
    pub fn label(&self) -> alloc::string::String {
        format!("part {} {}", self.index, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a container with one part `PRIV` of three bytes.
    fn file() -> Vec<u8> {
        let mut file = b"DXBC".to_vec();
        file.resize(20, 0);
        file.extend([1, 0, 0, 0, 47, 0, 0, 0, 1, 0, 0, 0, 36, 0, 0, 0]);
        file.extend(*b"PRIV\x03\0\0\0abc");
        file
    }

    #[test]
    fn offsets_of_an_embedded_container_are_those_of_the_file() {
        let file = file();
        let part = Container::parse_at(&file, 0x100).unwrap().find(b"PRIV").unwrap();
        assert_eq!(part.data.range(), 0x12c..0x12f);
        let error = Container::parse_at(&file[..30], 0x100).unwrap_err();
        assert!(error.offset().is_some_and(|offset| offset >= 0x100), "{error}");
    }

    #[test]
    fn debug_text_has_no_contents() {
        let file = file();
        let container = Container::parse(&file).unwrap();
        let part = container.find(b"PRIV").unwrap();
        assert_eq!(format!("{part:?}"), "Part { index: 0, name: 'PRIV', range: 44..47, .. }");
        assert!(format!("{container:?}").ends_with("part_count: 1 }, .. }"));
    }
}
