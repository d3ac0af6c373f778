//! Fat binaries: cubins for several chips and PTX in one container.
//!
//! | offset | type | header of the container |
//! |---|---|---|
//! | 0 | u32 | `0xba55ed50` |
//! | 4, 6 | u16, u16 | version, 1; size of the header, 16 |
//! | 8 | u64 | size of the entries |
//!
//! | offset | type | header of an entry |
//! |---|---|---|
//! | 0, 2 | u16, u16 | kind: 1 PTX, 2 ELF, 8 NVVM; version, 0x0101 |
//! | 4 | u32 | size of the header, including what follows these 64 bytes |
//! | 8 | u64 | size of the payload, padded to a multiple of 8 |
//! | 16 | u32 | compressed size of the payload, or 0 if it is not compressed |
//! | 20 | u32 | offset of the options from the entry's start, or 0 |
//! | 24, 26 | u16, u16 | minor and major version: of the PTX, else 1.7 or 1.8 |
//! | 28 | u32 | chip, as a decimal number: 35, 120 |
//! | 32, 36 | u32, u32 | offset and size of the name, or 0 |
//! | 40 | u64 | flags, see [`Flags`] |
//! | 48 | u64 | 0; a number that differs from entry to entry with [`Flags::SCRAMBLED`] |
//! | 56 | u64 | uncompressed size, or 0 if it is not compressed |
//!
//! The options field points at a u32 offset and a u32 size, which locate the ptxas options as text. With
//! [`Flags::COMPATIBILITY`] they locate a NUL, followed by records in the format of `.nv.compat`; the size does not
//! count the NUL. Both numbers can be 0.
//!
//! In a host program the container is in section `.nv_fatbin`, and section `.nvFatBinSegment` has a [`Wrapper`]
//! that points at it. Several containers can follow each other.
//!
//! Source: 10 real files, the output of fatbinary 11.2 and 13.5 for each of their options, and what cuobjdump 11.2
//! prints for each of the lowest 24 flags.

use crate::compression::{Compression, unpack};
use crate::cubin::Cubin;
use crate::ptx::Ptx;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The magic number of a container.
pub const MAGIC: u32 = 0xba55_ed50;

/// The magic number of a wrapper.
pub const WRAPPER_MAGIC: u32 = 0x4662_43b1;

/// The size of a container's header.
pub const HEADER_SIZE: u16 = 16;

/// The size of an entry's header without options and name.
pub const ENTRY_HEADER_SIZE: u32 = 64;

unshade_core::open_enum! {
    /// The contents of an entry.
    pub struct EntryKind(u16) {
        PTX = 1 => "PTX",
        ELF = 2 => "cubin",
        /// NVVM IR, from which the linker makes code (LTO). fatbinary 13.5 writes it for `kind=nvvm`.
        NVVM = 8 => "NVVM",
    }
}

/// The flags of an entry; unnamed bits are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags(pub u64);

impl Flags {
    /// Addresses have 64 bits.
    pub const BITS_64: u64 = 0x1;
    /// Compiled with debug information.
    pub const DEBUG: u64 = 0x2;
    /// Compiled from CUDA.
    pub const CUDA: u64 = 0x4;
    /// Compiled from OpenCL.
    pub const OPENCL: u64 = 0x8;
    /// Compiled on Linux.
    pub const LINUX: u64 = 0x10;
    /// Compiled on macOS.
    pub const MACOS: u64 = 0x20;
    /// Compiled on Windows.
    pub const WINDOWS: u64 = 0x40;
    /// Compressed with LZ4.
    pub const LZ4: u64 = 0x2000;
    /// Compressed with Zstandard.
    pub const ZSTD: u64 = 0x8000;
    /// The payload is scrambled in a way that isn't known: it is not in the form that the other flags state. Libraries
    /// for the linker have NVVM IR so.
    pub const SCRAMBLED: u64 = 0x1_0000;
    /// Uses features of one chip only: the `a` of `sm_90a`.
    pub const CHIP_SPECIFIC: u64 = 0x10_0000;
    /// Uses features of the chip's family: the `f` of `sm_100f`.
    pub const FAMILY_SPECIFIC: u64 = 0x20_0000;
    /// The options are records in the format of `.nv.compat`.
    pub const COMPATIBILITY: u64 = 0x100_0000;

    /// The named flags.
    pub const NAMED: &'static [(u64, &'static str)] = &[
        (Self::BITS_64, "64-bit"),
        (Self::DEBUG, "debug"),
        (Self::CUDA, "CUDA"),
        (Self::OPENCL, "OpenCL"),
        (Self::LINUX, "Linux"),
        (Self::MACOS, "macOS"),
        (Self::WINDOWS, "Windows"),
        (Self::LZ4, "LZ4"),
        (Self::ZSTD, "Zstandard"),
        (Self::SCRAMBLED, "scrambled"),
        (Self::CHIP_SPECIFIC, "chip-specific"),
        (Self::FAMILY_SPECIFIC, "family-specific"),
        (Self::COMPATIBILITY, "compatibility records"),
    ];

    /// Returns whether a flag is set.
    pub fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// Returns the names of the flags that are set, and one hexadecimal number for all unnamed bits.
    pub fn names(self) -> impl Iterator<Item = Cow<'static, str>> {
        let named =
            Self::NAMED.iter().filter(move |(flag, _)| self.has(*flag)).map(|(_, name)| Cow::Borrowed(*name));
        let known = Self::NAMED.iter().fold(0, |known, (flag, _)| known | flag);
        let unknown = self.0 & !known;
        named.chain((unknown != 0).then(|| Cow::Owned(format!("{unknown:#x} (unknown)"))))
    }
}

/// A fat binary's container. No content is copied.
#[derive(Clone, Copy)]
pub struct Fatbin<'a> {
    file: Reader<'a>,
    /// The version; 1.
    pub version: u16,
    /// The size of the header; 16.
    pub header_size: u16,
    /// The size of the entries, as stated by the header.
    pub payload_size: u64,
}

/// The header of an entry, with its payload.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    /// Its position in the container, from 0.
    pub index: u32,
    /// What the payload is.
    pub kind: EntryKind,
    /// The version of the header; 0x0101.
    pub version: u16,
    /// The size of the header, including options and name.
    pub header_size: u32,
    /// The size of the payload, including padding.
    pub padded_size: u64,
    /// The compressed size, or 0 if it is not compressed.
    pub packed_size: u32,
    /// The offset of the options from the start of the entry; 0 if there are none.
    pub options_offset: u32,
    /// The minor version of the payload.
    pub minor: u16,
    /// The major version of the payload.
    pub major: u16,
    /// The chip: 35 for sm_35.
    pub arch: u32,
    /// The offset of the name from the start of the entry.
    pub name_offset: u32,
    /// The size of the name; 0 if there is none.
    pub name_size: u32,
    /// The flags.
    pub flags: Flags,
    /// The field at offset 48; 0.
    pub reserved: u64,
    /// The uncompressed size, or 0 if it is not compressed.
    pub unpacked_size: u64,
    /// The bytes of the whole header.
    pub header: Reader<'a>,
    /// The payload, including padding, up to the end of the file.
    pub payload: Reader<'a>,
}

impl fmt::Debug for Fatbin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fatbin")
            .field("version", &self.version)
            .field("payload_size", &self.payload_size)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("index", &self.index)
            .field("kind", &self.kind)
            .field("arch", &self.arch)
            .field("flags", &self.flags)
            .field("padded_size", &self.padded_size)
            .finish_non_exhaustive()
    }
}

impl<'a> Fatbin<'a> {
    /// Parses a fat binary at the start of a file.
    ///
    /// # Errors
    /// Same as [`Fatbin::read`].
    ///
    /// ```
    /// use unshade_nv::Fatbin;
    ///
    /// let file = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    /// assert_eq!(Fatbin::parse(&file)?.entries().count(), 0);
    /// # Ok::<(), unshade_core::Error>(())
    /// ```
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Parses a fat binary at offset `base` of a larger file; errors and ranges use offsets of that file.
    ///
    /// # Errors
    /// Same as [`Fatbin::read`].
    pub fn parse_at(data: &'a [u8], base: u64) -> Result<Self> {
        Self::read(Reader::at(data, base))
    }

    /// Reads the header of the container at the start of `file`.
    ///
    /// # Errors
    /// If the magic number is missing or the header is truncated.
    pub fn read(file: Reader<'a>) -> Result<Self> {
        let mut reader = file;
        let mut read = || -> Result<Self> {
            let magic = reader.u32()?;
            if magic != MAGIC {
                return Err(Error::new(ErrorKind::BadMagic, file.base(), "not a CUDA fat binary")
                    .expected(format!("{MAGIC:#010x}"))
                    .found(format!("{magic:#010x}")));
            }
            Ok(Self { file, version: reader.u16()?, header_size: reader.u16()?, payload_size: reader.u64()? })
        };
        read().map_err(|error| error.within("header"))
    }

    /// Returns all bytes, starting at the container's header.
    pub fn file(&self) -> Reader<'a> {
        self.file
    }

    /// Returns the bytes of the entries: as many as the header states, up to the end of the file.
    pub fn payload(&self) -> Reader<'a> {
        let start = u64::from(self.header_size.max(HEADER_SIZE));
        let rest = (self.file.data().len() as u64).saturating_sub(start);
        let none = Reader::at(&[], self.file.range().end);
        self.file.part(start, self.payload_size.min(rest)).unwrap_or(none)
    }

    /// Returns the entries. Iteration ends at an error, because the start of the next entry is then unknown.
    pub fn entries(&self) -> Entries<'a> {
        Entries { rest: self.payload(), index: 0 }
    }
}

/// The entries of a container.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    rest: Reader<'a>,
    index: u32,
}

impl fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entries").field("index", &self.index).finish_non_exhaustive()
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let index = self.index;
        self.index = index.saturating_add(1);
        match read_entry(&mut self.rest, index) {
            Ok(entry) => Some(Ok(entry)),
            Err(error) => {
                self.rest = Reader::at(&[], self.rest.range().end);
                Some(Err(error.within(format!("entry {index}"))))
            }
        }
    }
}

fn read_entry<'a>(rest: &mut Reader<'a>, index: u32) -> Result<Entry<'a>> {
    let whole = Reader::at(rest.rest(), rest.offset());
    let mut reader = whole;
    let kind = EntryKind(reader.u16()?);
    let version = reader.u16()?;
    let header_size = reader.u32()?;
    if header_size < ENTRY_HEADER_SIZE {
        return Err(Error::new(
            ErrorKind::BadValue,
            whole.base().saturating_add(4),
            "header is smaller than its fixed fields",
        )
        .expected(format!("at least {ENTRY_HEADER_SIZE}"))
        .found(format!("{header_size}")));
    }
    let padded_size = reader.u64()?;
    let mut entry = Entry {
        index,
        kind,
        version,
        header_size,
        padded_size,
        packed_size: reader.u32()?,
        options_offset: reader.u32()?,
        minor: reader.u16()?,
        major: reader.u16()?,
        arch: reader.u32()?,
        name_offset: reader.u32()?,
        name_size: reader.u32()?,
        flags: Flags(reader.u64()?),
        reserved: reader.u64()?,
        unpacked_size: reader.u64()?,
        header: whole,
        payload: whole,
    };
    entry.header = rest.split(u64::from(header_size))?;
    // A truncated payload is kept as far as it goes.
    entry.payload = rest.split(padded_size.min(rest.remaining() as u64))?;
    Ok(entry)
}

impl<'a> Entry<'a> {
    /// Returns how the payload is compressed.
    pub fn compression(&self) -> Compression {
        if self.flags.has(Flags::ZSTD) {
            Compression::Zstd
        } else if self.flags.has(Flags::LZ4) {
            Compression::Lz4
        } else {
            Compression::None
        }
    }

    /// Returns the file offset of the entry.
    pub fn offset(&self) -> u64 {
        self.header.base()
    }

    /// Returns the target as compilers spell it: `sm_90a` for a cubin, `compute_90a` for PTX.
    pub fn target(&self) -> String {
        let prefix = if self.kind == EntryKind::PTX { "compute" } else { "sm" };
        let suffix = if self.flags.has(Flags::CHIP_SPECIFIC) {
            "a"
        } else if self.flags.has(Flags::FAMILY_SPECIFIC) {
            "f"
        } else {
            ""
        };
        format!("{prefix}_{}{suffix}", self.arch)
    }

    /// Returns the identifier given to the compiler (`--ident`), such as the name of the source file.
    pub fn name(&self) -> Option<&'a [u8]> {
        if self.name_size == 0 {
            return None;
        }
        Some(self.header.part(u64::from(self.name_offset), u64::from(self.name_size)).ok()?.data())
    }

    /// Returns the bytes of the options: text, or records ([`Flags::COMPATIBILITY`]).
    ///
    /// # Errors
    /// If they are outside the header.
    pub fn options(&self) -> Result<Option<Reader<'a>>> {
        if self.options_offset == 0 {
            return Ok(None);
        }
        let start = u64::from(self.options_offset);
        let mut pair = self.header.part(start, (self.header.data().len() as u64).saturating_sub(start))?;
        let (offset, size) = (pair.u32()?, pair.u32()?);
        if size == 0 {
            return Ok(None);
        }
        let nul = u64::from(self.flags.has(Flags::COMPATIBILITY));
        self.header.part(u64::from(offset).saturating_add(nul), u64::from(size)).map(Some)
    }

    /// Returns the payload as stored in the file, without padding where its size is known.
    pub fn packed(&self) -> Reader<'a> {
        let size = u64::from(self.packed_size);
        match self.compression() {
            Compression::None => self.payload,
            _ => self.payload.part(0, size).unwrap_or(self.payload),
        }
    }

    /// Returns the payload, decompressed if necessary. Trailing NULs of PTX are dropped.
    ///
    /// # Errors
    /// If it is truncated, damaged, scrambled, or decompresses to another size than the header states.
    pub fn data(&self) -> Result<Cow<'a, [u8]>> {
        let mut buffer = Vec::new();
        let size = self.data_in(&mut buffer)?.len();
        if self.compression() == Compression::None {
            return Ok(Cow::Borrowed(self.payload.data().get(..size).unwrap_or_default()));
        }
        buffer.truncate(size);
        Ok(Cow::Owned(buffer))
    }

    /// Returns the payload as [`Entry::data`] does. If it is compressed, it is in `buffer` then: one for many entries is
    /// faster than new memory for each.
    ///
    /// # Errors
    /// Same as [`Entry::data`].
    pub fn data_in<'b>(&self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]>
    where
        'a: 'b,
    {
        if (self.payload.data().len() as u64) < self.padded_size {
            return Err(Error::new(ErrorKind::Truncated, self.payload.base(), "payload is truncated")
                .expected(format!("{} bytes", self.padded_size))
                .found(format!("{}", self.payload.data().len()))
                .within(self.label()));
        }
        if self.flags.has(Flags::SCRAMBLED) {
            let message = "payload is scrambled, in a way that is not known";
            let error = Error::new(ErrorKind::Unsupported, self.payload.base(), message);
            return Err(error.within(self.label()));
        }
        let data = match self.compression() {
            Compression::None => self.payload.data(),
            compression => unpack(compression, self.packed(), self.unpacked_size, buffer)
                .map_err(|error| error.within(self.label()))?,
        };
        let size = if self.kind == EntryKind::PTX { crate::ptx::text_size(data) } else { data.len() };
        Ok(data.get(..size).unwrap_or(data))
    }

    /// Returns the name that messages use.
    pub fn label(&self) -> String {
        format!("entry {} ({} {})", self.index, self.kind, self.target())
    }

    /// Returns the base of offsets in errors about `data`: the payload's file offset, or 0 if it was decompressed.
    pub fn data_base(&self) -> u64 {
        match self.compression() {
            Compression::None => self.payload.base(),
            _ => 0,
        }
    }

    /// Reads the cubin in the bytes that [`Entry::data`] returned.
    ///
    /// # Errors
    /// Same as [`Cubin::read`].
    pub fn cubin<'d>(&self, data: &'d [u8]) -> Result<Cubin<'d>> {
        Cubin::read(Reader::at(data, self.data_base())).map_err(|error| error.within(self.label()))
    }

    /// Reads the PTX in the bytes that [`Entry::data`] returned.
    pub fn ptx<'d>(&self, data: &'d [u8]) -> Ptx<'d> {
        Ptx::new(Reader::at(data, self.data_base()))
    }
}

/// A record of `.nvFatBinSegment`: where a container is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wrapper {
    /// The version: 1, or 2 in relocatable device code.
    pub version: u32,
    /// The address of the container. In an object file this is 0, with a relocation.
    pub data: u64,
    /// The address of the names of the linked files, or 0.
    pub names: u64,
    /// The file offset of the wrapper.
    pub offset: u64,
}

impl Wrapper {
    /// The size of a wrapper with 64-bit addresses.
    pub const SIZE: usize = 24;

    /// Returns the wrappers of a section.
    pub fn read_all(mut section: Reader<'_>) -> impl Iterator<Item = Self> {
        core::iter::from_fn(move || {
            let offset = section.offset();
            let magic = section.u32().ok()?;
            let wrapper = Self {
                version: section.u32().ok()?,
                data: section.u64().ok()?,
                names: section.u64().ok()?,
                offset,
            };
            (magic == WRAPPER_MAGIC).then_some(wrapper)
        })
    }
}
