//! Universal files: slices for several architectures in one file, written by `metal-lipo` and as binary archives
//! (`MTLBinaryArchive`).
//!
//! All numbers are big-endian: magic `0xCBFEBABE`, a 32-bit count, then 20 bytes per architecture
//! `{cpu type, cpu subtype, offset, size, alignment as a power of two}`. An AIR slice is a Metal library; an Apple GPU
//! slice is a Mach-O file ([`crate::gpu_object`]).
//!
//! Source: 10 real binary archives. A public script that assumes 32 bytes per architecture is wrong.

use crate::architecture::Architecture;
use crate::gpu_object::GpuObject;
use crate::library::Library;
use alloc::format;
use alloc::string::{String, ToString};
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result, open_enum};

/// The first four bytes, big-endian.
pub const MAGIC: u32 = 0xcbfe_babe;

/// Size of an entry in the table of architectures.
const ARCHITECTURE_SIZE: u64 = 20;

open_enum! {
    /// The architecture of a slice.
    pub struct CpuType(u32) {
        AIR64 = 0x0100_0017 => "air64",
        APPLE_GPU = 0x0100_0013 => "Apple GPU",
        AMD_GPU = 0x0100_0014 => "AMD GPU",
        INTEL_GPU = 0x0100_0015 => "Intel GPU",
    }
}

/// A universal file.
#[derive(Clone, Debug)]
pub struct Universal<'a> {
    file: Reader<'a>,
    /// The number of slices that the file declares. Untrusted: do not allocate by it.
    pub declared_count: u32,
}

/// A slice: the data for one architecture.
#[derive(Clone, Debug)]
pub struct Slice<'a> {
    /// The architecture.
    pub cpu_type: CpuType,
    /// The variant of the architecture; for an Apple GPU, its generation.
    pub cpu_subtype: u32,
    /// The alignment of the slice, as a power of two.
    pub alignment: u32,
    /// The range of the table entry in the file.
    pub row: Range<u64>,
    /// The data of the slice, or why it is out of range.
    pub data: Result<Reader<'a>>,
}

/// The parsed content of a slice.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "only one exists at a time, and a box would complicate patterns in callers"
)]
pub enum SliceContent<'a> {
    /// AIR code in a Metal library.
    Library(Library<'a>),
    /// Machine code for an Apple GPU.
    GpuObject(GpuObject<'a>),
    /// Data of an unknown format.
    Unknown(Reader<'a>),
}

impl<'a> Universal<'a> {
    /// Parses a universal file.
    ///
    /// # Errors
    /// [`ErrorKind::BadMagic`] or [`ErrorKind::Truncated`].
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Parses a universal file at offset `base` of a larger file.
    ///
    /// # Errors
    /// As [`Universal::parse`].
    pub fn parse_at(data: &'a [u8], base: u64) -> Result<Self> {
        let file = Reader::at(data, base);
        let mut reader = file;
        let magic = reader.u32_be()?;
        if magic != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, base, "not a Metal universal file")
                .expected(format!("{MAGIC:#010x}"))
                .found(format!("{magic:#010x}")));
        }
        Ok(Self { file, declared_count: reader.u32_be()? })
    }

    /// Returns a reader of the whole file.
    pub fn file(&self) -> Reader<'a> {
        self.file
    }

    /// Iterates over the slices; stops after an error.
    pub fn slices(&self) -> impl Iterator<Item = Result<Slice<'a>>> + use<'a> {
        let file = self.file;
        let mut table = self.file;
        let header = table.skip(8);
        let rows = (table.remaining() as u64).checked_div(ARCHITECTURE_SIZE).unwrap_or(0);
        let count = u64::from(self.declared_count);
        let mut left = if header.is_ok() { count.min(rows.saturating_add(1)) } else { 0 };
        core::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            Some(Slice::read(&mut table, &file))
        })
    }
}

impl<'a> Slice<'a> {
    /// Returns the architecture and its variant.
    pub fn architecture(&self) -> Architecture {
        Architecture { cpu_type: self.cpu_type, cpu_subtype: self.cpu_subtype }
    }

    /// Returns a name made of architecture and variant, such as `air64.0xc`.
    pub fn name(&self) -> String {
        self.architecture().to_string()
    }

    fn read(table: &mut Reader<'a>, file: &Reader<'a>) -> Result<Self> {
        let start = table.offset();
        let cpu_type = CpuType(table.u32_be()?);
        let cpu_subtype = table.u32_be()?;
        let (offset, size) = (table.u32_be()?, table.u32_be()?);
        let alignment = table.u32_be()?;
        let data =
            file.part(u64::from(offset), u64::from(size)).map_err(|error: Error| error.within("slice"));
        Ok(Self { cpu_type, cpu_subtype, alignment, row: start..table.offset(), data })
    }

    /// Parses the slice, whose format is determined by its first bytes.
    ///
    /// # Errors
    /// If the slice is out of range, or its header is malformed.
    pub fn content(&self) -> Result<SliceContent<'a>> {
        let data = self.data.clone()?;
        if data.rest().starts_with(&crate::header::MAGIC.0) {
            return Library::parse_at(data.data(), data.base()).map(SliceContent::Library);
        }
        if data.rest().starts_with(&crate::gpu_object::MAGIC.to_le_bytes()) {
            return GpuObject::parse_at(data.data(), data.base()).map(SliceContent::GpuObject);
        }
        Ok(SliceContent::Unknown(data))
    }
}
