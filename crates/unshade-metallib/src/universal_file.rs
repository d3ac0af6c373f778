//! An owned universal file that can be changed and written.
//!
//! [`UniversalFile::parse`] parses a whole file, [`UniversalFile::write`] writes it; if nothing was changed, the result is
//! identical. The order of the output: the table, then each slice at the next multiple of its alignment, with zeros between
//! them. A file with another layout is rejected, with the offset of the first difference.
//!
//! ```
//! use unshade_metallib::universal_file::{OwnedSlice, UniversalFile};
//!
//! let library = include_bytes!("../../../tests/fixtures/metallib/linker_1_2_9.metallib");
//! let mut file = UniversalFile::default();
//! let slice = OwnedSlice::of(&library[..])?;
//! assert_eq!(slice.architecture.name().as_deref(), Some("air64_v28"));
//! file.add(slice)?;
//! let bytes = file.write()?;
//! assert_eq!(UniversalFile::parse(&bytes)?, file);
//! # Ok::<(), unshade_core::Error>(())
//! ```

use crate::architecture::Architecture;
use crate::gpu_object::{self, GpuObject};
use crate::header;
use crate::library::Library;
use crate::universal::{CpuType, MAGIC, Universal};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// The alignment of slices in all real files, as a power of two.
pub const ALIGNMENT: u32 = 4;

/// An owned universal file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UniversalFile<'a> {
    /// The slices, in the order of the table.
    pub slices: Vec<OwnedSlice<'a>>,
}

/// A slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedSlice<'a> {
    /// The architecture.
    pub architecture: Architecture,
    /// The alignment, as a power of two.
    pub alignment: u32,
    /// The library, or the GPU Mach-O file.
    pub data: Cow<'a, [u8]>,
}

impl<'a> OwnedSlice<'a> {
    /// Creates a slice from a library or a GPU Mach-O file. The architecture of a library is the newest version of AIR in it.
    ///
    /// # Errors
    /// If the data is neither, or does not say for which architecture it is.
    pub fn of(data: impl Into<Cow<'a, [u8]>>) -> Result<Self> {
        let data = data.into();
        let architecture = if data.starts_with(&gpu_object::MAGIC.to_le_bytes()) {
            let object = GpuObject::parse_at(&data, 0)?;
            Architecture { cpu_type: CpuType(object.cpu_type), cpu_subtype: object.cpu_subtype }
        } else if data.starts_with(&header::MAGIC.0) {
            architecture_of(&Library::parse(&data)?)?
        } else {
            return Err(Error::new(ErrorKind::BadMagic, 0, "not a slice of a universal file")
                .expected("a Metal library, or a GPU Mach-O file"));
        };
        Ok(Self::for_architecture(architecture, data))
    }

    /// Creates a slice from data of any kind.
    pub fn for_architecture(architecture: Architecture, data: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { architecture, alignment: ALIGNMENT, data: data.into() }
    }

    /// Copies the data.
    pub fn to_static(&self) -> OwnedSlice<'static> {
        OwnedSlice { data: Cow::Owned(self.data.to_vec()), ..*self }
    }

    /// Returns whether the slice is a library, which can be edited.
    pub fn is_library(&self) -> bool {
        self.data.starts_with(&header::MAGIC.0)
    }
}

fn architecture_of(library: &Library<'_>) -> Result<Architecture> {
    let versions = library.functions().filter_map(|function| function.ok()?.versions);
    let newest = versions.map(|versions| versions.air).max();
    let unknown = |message: String| {
        Error::without_offset(ErrorKind::Unsupported, message)
            .hint("name the architecture, such as air64_v28")
    };
    let newest =
        newest.ok_or_else(|| unknown("no function of the library states a version of AIR".into()))?;
    Architecture::of_air(newest)
        .ok_or_else(|| unknown(format!("the architecture of AIR {newest} is unknown")))
}

impl<'a> UniversalFile<'a> {
    /// Parses a universal file.
    ///
    /// # Errors
    /// If the table or a slice is out of range, or the layout would not survive a round trip.
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let universal = Universal::parse(data)?;
        let mut slices = Vec::new();
        for slice in universal.slices() {
            let slice = slice?;
            slices.push(OwnedSlice {
                architecture: slice.architecture(),
                alignment: slice.alignment,
                data: Cow::Borrowed(slice.data?.data()),
            });
        }
        let file = Self { slices };
        file.check_layout(data)?;
        Ok(file)
    }

    /// Fails unless the file is written as it was read.
    fn check_layout(&self, data: &[u8]) -> Result<()> {
        let unusual = |offset: u64, message: &'static str| {
            Err(Error::new(ErrorKind::Unsupported, offset, message)
                .hint("a file with another layout than the usual one is not edited"))
        };
        let layout = self.layout()?;
        let end = layout.last().map_or(self.table_size(), |last| last.1);
        if end != data.len() as u64 {
            return unusual(end, "slices do not fill the file");
        }
        let written = self.write()?;
        match written.iter().zip(data).position(|(ours, theirs)| ours != theirs) {
            Some(at) => unusual(at as u64, "slices are not where they are usually"),
            None => Ok(()),
        }
    }

    /// Returns the index of a slice.
    pub fn find(&self, architecture: Architecture) -> Option<usize> {
        self.slices.iter().position(|slice| slice.architecture == architecture)
    }

    /// Adds a slice at the end.
    ///
    /// # Errors
    /// If there is one of its architecture.
    pub fn add(&mut self, slice: OwnedSlice<'a>) -> Result<()> {
        if self.find(slice.architecture).is_some() {
            let message = format!("two slices for {}", slice.architecture);
            return Err(Error::without_offset(ErrorKind::BadValue, message));
        }
        self.slices.push(slice);
        Ok(())
    }

    /// Replaces the data of the slice of this architecture, or adds a slice at the end.
    pub fn set(&mut self, slice: OwnedSlice<'a>) {
        match self.slices.iter_mut().find(|known| known.architecture == slice.architecture) {
            Some(known) => known.data = slice.data,
            None => self.slices.push(slice),
        }
    }

    fn table_size(&self) -> u64 {
        (self.slices.len() as u64).saturating_mul(20).saturating_add(8)
    }

    /// Returns where each slice starts and ends.
    fn layout(&self) -> Result<Vec<(u64, u64)>> {
        let mut end = self.table_size();
        let mut ranges = Vec::new();
        for slice in &self.slices {
            let start = 1u64.checked_shl(slice.alignment).and_then(|unit| end.checked_next_multiple_of(unit));
            let range = start.and_then(|start| Some((start, start.checked_add(slice.data.len() as u64)?)));
            let fits = range.filter(|(_, end)| *end <= u64::from(u32::MAX));
            let range = fits.ok_or_else(|| {
                Error::without_offset(ErrorKind::Unsupported, "a universal file has less than 4 GB")
                    .within(slice.architecture.to_string())
            })?;
            end = range.1;
            ranges.push(range);
        }
        Ok(ranges)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it would have 4 GB or more.
    pub fn write(&self) -> Result<Vec<u8>> {
        let layout = self.layout()?;
        let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_be_bytes();
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_be_bytes());
        bytes.extend(number(self.slices.len() as u64));
        for (slice, (start, end)) in self.slices.iter().zip(&layout) {
            let Architecture { cpu_type, cpu_subtype } = slice.architecture;
            bytes.extend(cpu_type.0.to_be_bytes());
            bytes.extend(cpu_subtype.to_be_bytes());
            bytes.extend(number(*start));
            bytes.extend(number(end.saturating_sub(*start)));
            bytes.extend(slice.alignment.to_be_bytes());
        }
        for (slice, (start, _)) in self.slices.iter().zip(&layout) {
            bytes.resize(usize::try_from(*start).unwrap_or(usize::MAX), 0);
            bytes.extend_from_slice(&slice.data);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARCHIVE: &[u8] = include_bytes!("../../../tests/fixtures/metallib/universal_archive.metallib");

    #[test]
    fn slices_make_the_file_again() {
        let file = UniversalFile::parse(ARCHIVE).unwrap();
        assert_eq!(file.slices.len(), 2);
        assert!(file.write().unwrap() == ARCHIVE);
        let mut again = UniversalFile::default();
        for slice in &file.slices {
            again.add(OwnedSlice::of(slice.data.as_ref()).unwrap()).unwrap();
        }
        assert_eq!(again, file);
        let first = again.slices[0].clone();
        assert!(again.add(first.clone()).unwrap_err().to_string().contains("two slices for air64.0xc"));
        again.set(first);
        assert_eq!(again, file);
    }

    #[test]
    fn other_layouts_are_rejected() {
        let longer = [ARCHIVE, &[0]].concat();
        assert!(UniversalFile::parse(&longer).is_err());
        // Every change is kept, or noticed.
        for at in 0..64 {
            let mut changed = ARCHIVE.to_vec();
            changed[at] ^= 1;
            if let Ok(file) = UniversalFile::parse(&changed) {
                assert!(file.write().unwrap() == changed, "byte {at}");
            }
        }
        for size in 0..64 {
            assert!(UniversalFile::parse(&ARCHIVE[..size]).is_err());
        }
        let mut aligned = UniversalFile::parse(ARCHIVE).unwrap();
        aligned.slices[1].alignment = 40;
        assert!(aligned.write().is_err());
        assert!(OwnedSlice::of(&b"MTL"[..]).is_err() && OwnedSlice::of(&b"\xcf\xfa\xed\xfe"[..]).is_err());
    }
}
