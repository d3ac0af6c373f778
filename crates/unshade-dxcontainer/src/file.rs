//! Owned containers, which can be changed and written.
//!
//! [`DxFile::parse`] parses a whole file into typed parts, and [`DxFile::write`] writes it: unchanged files come out
//! byte for byte. A part that its parser rejects is kept as raw bytes, with the reason in [`OwnedPart::fault`].

use crate::bytes::{Bytes, len32};
use crate::container::{Container, HEADER_SIZE, MAGIC, MAX_SIZE, PART_HEADER_SIZE};
use crate::digest::Digest;
use crate::image::{Extra, Image, Slack};
use crate::part::{MAX_DEPTH, PartData};
use crate::scalar::{Hex32, Scalar, model};
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{Error, ErrorKind, FourCc, Reader, Result};

/// An owned part.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedPart {
    /// Its name.
    pub name: FourCc,
    /// Its contents.
    pub data: PartData,
    /// The error that left the part raw; `None` if it is raw by design.
    pub fault: Option<Error>,
}

impl OwnedPart {
    /// Creates a part.
    pub fn new(name: [u8; 4], data: PartData) -> Self {
        Self { name: FourCc(name), data, fault: None }
    }

    /// Parses the bytes of a part; falls back to raw bytes.
    pub fn from_bytes(name: [u8; 4], bytes: &[u8]) -> Self {
        Self::read(FourCc(name), Reader::new(bytes), MAX_DEPTH)
    }

    /// Parses a part; one that would not be written back byte for byte stays raw.
    fn read(name: FourCc, data: Reader<'_>, depth: usize) -> Self {
        let raw = || PartData::Raw(Bytes::from(data.data()));
        match PartData::read_at_depth(name, data, depth) {
            Ok(read) if read.write().is_ok_and(|written| written == data.data()) => {
                Self { name, data: read, fault: None }
            }
            Ok(_) => {
                let fault = Error::new(ErrorKind::Unsupported, data.base(), "part has a non-standard layout");
                Self { name, data: raw(), fault: Some(fault) }
            }
            Err(fault) => Self { name, data: raw(), fault: Some(fault) },
        }
    }
}

model! {
    /// The layout of a file that is not laid out like real ones.
    pub struct FileLayout {
        /// The declared size of the file.
        pub file_size: u32 => "FileSize",
        /// Offset of each part's header.
        pub offsets: Vec<u32> => "PartOffsets",
        /// The declared size of each part.
        pub sizes: Vec<u32> => "PartSizes",
        /// The real size, and the bytes outside of the parts.
        pub slack: Slack => "Layout",
    }
}

/// An owned container.
#[derive(Clone, PartialEq)]
pub struct DxFile {
    /// The digest, valid or not.
    pub digest: Digest,
    /// The version: 1.0.
    pub version: (u16, u16),
    /// The parts.
    pub parts: Vec<OwnedPart>,
    /// The layout, if the parts do not simply follow each other.
    pub layout: Option<FileLayout>,
}

impl fmt::Debug for DxFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<FourCc> = self.parts.iter().map(|part| part.name).collect();
        f.debug_struct("DxFile")
            .field("version", &self.version)
            .field("digest", &self.digest)
            .field("parts", &names)
            .finish_non_exhaustive()
    }
}

impl Default for DxFile {
    fn default() -> Self {
        Self { digest: Digest::UNSIGNED, version: (1, 0), parts: Vec::new(), layout: None }
    }
}

impl DxFile {
    /// Parses a file.
    ///
    /// # Errors
    /// Fails if the header or directory is invalid, or a part's header is outside of the file.
    pub fn parse(data: &[u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Parses a container at `base` of a larger file, so that errors are offsets of that file.
    ///
    /// # Errors
    /// Fails as [`DxFile::parse`] does.
    pub fn parse_at(data: &[u8], base: u64) -> Result<Self> {
        Self::read_at_depth(Reader::at(data, base), MAX_DEPTH)
    }

    pub(crate) fn read_at_depth(file: Reader<'_>, depth: usize) -> Result<Self> {
        let container = Container::read(file)?;
        let header = *container.header();
        let mut parts = Vec::new();
        let (mut offsets, mut sizes) = (Vec::new(), Vec::new());
        for part in container.parts() {
            let part = part?;
            offsets.push(part.offset);
            sizes.push(part.declared_size);
            parts.push(OwnedPart::read(part.name, part.data, depth));
        }
        let mut read =
            Self { digest: header.digest, version: (header.major, header.minor), parts, layout: None };
        if read.write().is_ok_and(|written| written == file.data()) {
            return Ok(read);
        }
        let size = file.data().len();
        let mut layout =
            FileLayout { file_size: header.file_size, offsets, sizes, slack: Slack::new(size, 0) };
        layout.slack.extra = uncovered(&container);
        read.layout = Some(layout);
        match read.write() {
            Ok(written) if written == file.data() => Ok(read),
            Ok(_) => Err(Error::new(ErrorKind::Unsupported, file.base(), "parts overlap the header")),
            Err(error) => Err(error),
        }
    }

    /// Returns the first part with a name.
    pub fn find(&self, name: &[u8; 4]) -> Option<&OwnedPart> {
        self.parts.iter().find(|part| part.name.0 == *name)
    }

    /// Writes the file, with the digest as it is.
    ///
    /// # Errors
    /// Fails if a part cannot be written, or the file would be too large.
    pub fn write(&self) -> Result<Vec<u8>> {
        let mut bodies = Vec::with_capacity(self.parts.len());
        for (index, part) in self.parts.iter().enumerate() {
            bodies.push(part.data.write().map_err(|e| e.within(format!("part {index} {}", part.name)))?);
        }
        match &self.layout {
            Some(layout) => self.write_placed(layout, bodies),
            None => self.write_plain(&bodies),
        }
    }

    /// Writes the file and signs it.
    ///
    /// # Errors
    /// Fails as [`DxFile::write`] does.
    pub fn write_signed(&mut self) -> Result<Vec<u8>> {
        let mut bytes = self.write()?;
        self.digest = sign(&mut bytes)?;
        Ok(bytes)
    }

    fn header(&self, file_size: u32) -> Vec<u8> {
        let mut out = Vec::new();
        MAGIC.put(&mut out);
        self.digest.0.put(&mut out);
        self.version.0.put(&mut out);
        self.version.1.put(&mut out);
        file_size.put(&mut out);
        len32(self.parts.len()).put(&mut out);
        out
    }

    fn write_plain(&self, bodies: &[Vec<u8>]) -> Result<Vec<u8>> {
        let start = (HEADER_SIZE as usize).saturating_add(bodies.len().saturating_mul(4));
        let mut offsets = Vec::new();
        let mut end = start;
        for body in bodies {
            len32(end).put(&mut offsets);
            end = end.saturating_add(PART_HEADER_SIZE as usize).saturating_add(body.len());
        }
        if end as u64 > MAX_SIZE {
            return Err(Error::without_offset(ErrorKind::Limit, "container would be too large")
                .expected(format!("at most {MAX_SIZE:#x} bytes"))
                .found(format!("{end:#x}")));
        }
        let mut out = Vec::with_capacity(end);
        out.extend(self.header(len32(end)));
        out.extend(offsets);
        for (part, body) in self.parts.iter().zip(bodies) {
            part.name.put(&mut out);
            len32(body.len()).put(&mut out);
            out.extend_from_slice(body);
        }
        Ok(out)
    }

    fn write_placed(&self, layout: &FileLayout, bodies: Vec<Vec<u8>>) -> Result<Vec<u8>> {
        let mut image = Image::default();
        let mut header = self.header(layout.file_size);
        layout.offsets.iter().for_each(|offset| offset.put(&mut header));
        image.put(0, header);
        let ranges = layout.offsets.iter().zip(&layout.sizes);
        if layout.offsets.len() != bodies.len() || layout.sizes.len() != bodies.len() {
            return Err(Error::without_offset(ErrorKind::BadValue, "layout is for another number of parts")
                .expected(format!("{}", bodies.len()))
                .found(format!("{} offsets, {} sizes", layout.offsets.len(), layout.sizes.len())));
        }
        for ((part, body), (offset, size)) in self.parts.iter().zip(bodies).zip(ranges) {
            let mut bytes = Vec::with_capacity(body.len().saturating_add(8));
            part.name.put(&mut bytes);
            size.put(&mut bytes);
            bytes.extend(body);
            image.put(*offset, bytes);
        }
        image.finish(&layout.slack)
    }
}

/// Returns the bytes outside of the directory and the parts.
fn uncovered(container: &Container<'_>) -> Vec<Extra> {
    let mut ranges: Vec<_> = container.found_parts().map(|part| part.range()).collect();
    ranges.push(0..container.directory_end());
    ranges.sort_by_key(|range| range.start);
    let file = container.file().data();
    let mut at = 0u64;
    let mut extra = Vec::new();
    let end = file.len() as u64;
    ranges.push(end..end);
    for range in ranges {
        let gap = usize::try_from(at).ok().zip(usize::try_from(range.start).ok());
        if let Some((from, to)) = gap
            && let Some(bytes) = file.get(from..to)
            && bytes.iter().any(|byte| *byte != 0)
        {
            extra.push(Extra { offset: Hex32(len32(from)), bytes: Bytes::from(bytes) });
        }
        at = at.max(range.end);
    }
    extra
}

/// Computes the digest of a container and stores it in the header.
///
/// # Errors
/// Fails if the bytes are not a container.
pub fn sign(container: &mut [u8]) -> Result<Digest> {
    let digest = Container::parse(container)?.computed_digest();
    if let Some(target) = container.get_mut(4..20) {
        target.copy_from_slice(&digest.0);
    }
    Ok(digest)
}
