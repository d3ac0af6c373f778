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
//! | 0, 2 | u16, u16 | kind: 1 PTX, 2 ELF; version, 0x0101 |
//! | 4 | u32 | size of the header, with what follows its 64 bytes |
//! | 8 | u64 | size of the payload, padded to 8 |
//! | 16 | u32 | size of the payload if it is packed, else 0 |
//! | 20 | u32 | offset of the options from the entry's start, or 0 |
//! | 24, 26 | u16, u16 | minor and major version: of the PTX, or 1.7, 1.8 |
//! | 28 | u32 | chip, in decimal digits: 35, 120 |
//! | 32, 36 | u32, u32 | offset and size of the name, or 0 |
//! | 40 | u64 | flags, see [`Flags`] |
//! | 48 | u64 | 0 |
//! | 56 | u64 | size when unpacked if it is packed, else 0 |
//!
//! Options are u32 offset, u32 size, and there the options of ptxas as text; with [`Flags::COMPATIBILITY`] a NUL and then
//! records of the form of `.nv.compat`, the NUL not counted. Both numbers can be 0.
//!
//! In the host program the container stands in the section `.nv_fatbin`, and `.nvFatBinSegment` has a [`Wrapper`] that
//! points at it. Several containers can follow each other.
//!
//! Source: 10 files of the corpus, those that fatbinary 11.2 and 13.5 make with each of their options, and what
//! cuobjdump 11.2 says of each of the lowest 24 flags.

use crate::compression::{Compression, unpack};
use crate::cubin::Cubin;
use crate::ptx::Ptx;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The number that a container starts with.
pub const MAGIC: u32 = 0xba55_ed50;

/// The number that a wrapper starts with.
pub const WRAPPER_MAGIC: u32 = 0x4662_43b1;

/// The size of a container's header.
pub const HEADER_SIZE: u16 = 16;

/// The size of an entry's header without options and name.
pub const ENTRY_HEADER_SIZE: u32 = 64;

unshade_core::open_enum! {
    /// What an entry is.
    pub struct EntryKind(u16) {
        PTX = 1 => "PTX",
        ELF = 2 => "cubin",
    }
}

/// The flags of an entry; bits without a name are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags(pub u64);

impl Flags {
    /// Addresses have 64 bits.
    pub const BITS_64: u64 = 0x1;
    /// Made with debug information.
    pub const DEBUG: u64 = 0x2;
    /// Made of CUDA.
    pub const CUDA: u64 = 0x4;
    /// Made of OpenCL.
    pub const OPENCL: u64 = 0x8;
    /// Made on Linux.
    pub const LINUX: u64 = 0x10;
    /// Made on macOS.
    pub const MACOS: u64 = 0x20;
    /// Made on Windows.
    pub const WINDOWS: u64 = 0x40;
    /// Packed with LZ4.
    pub const LZ4: u64 = 0x2000;
    /// Packed with Zstandard.
    pub const ZSTD: u64 = 0x8000;
    /// For the chip's own features: the `a` of `sm_90a`.
    pub const CHIP_SPECIFIC: u64 = 0x10_0000;
    /// For the features of the chip's family: the `f` of `sm_100f`.
    pub const FAMILY_SPECIFIC: u64 = 0x20_0000;
    /// The options are records of the form of `.nv.compat`.
    pub const COMPATIBILITY: u64 = 0x100_0000;

    /// The flags that have a name, with it.
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
        (Self::CHIP_SPECIFIC, "chip-specific"),
        (Self::FAMILY_SPECIFIC, "family-specific"),
        (Self::COMPATIBILITY, "compatibility records"),
    ];

    /// Whether a flag is set.
    pub fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// The names of the flags that are set, and a number for the bits that have none.
    pub fn names(self) -> impl Iterator<Item = Cow<'static, str>> {
        let named =
            Self::NAMED.iter().filter(move |(flag, _)| self.has(*flag)).map(|(_, name)| Cow::Borrowed(*name));
        let known = Self::NAMED.iter().fold(0, |known, (flag, _)| known | flag);
        let unknown = self.0 & !known;
        named.chain((unknown != 0).then(|| Cow::Owned(format!("{unknown:#x} (unknown)"))))
    }
}

/// A container; nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Fatbin<'a> {
    file: Reader<'a>,
    /// The version; 1.
    pub version: u16,
    /// The size of the header; 16.
    pub header_size: u16,
    /// The size of the entries, as the header says.
    pub payload_size: u64,
}

/// The header of an entry, and where its bytes are.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its place among the entries, from 0.
    pub index: u32,
    /// What it is.
    pub kind: EntryKind,
    /// The version of the header; 0x0101.
    pub version: u16,
    /// The size of the header with options and name.
    pub header_size: u32,
    /// The size of the payload with its padding.
    pub padded_size: u64,
    /// The size of the payload if it is packed, else 0.
    pub packed_size: u32,
    /// Where the options are, from the start of the entry; 0 if there are none.
    pub options_offset: u32,
    /// The minor version of the payload.
    pub minor: u16,
    /// The major version of the payload.
    pub major: u16,
    /// The chip, such as 35.
    pub arch: u32,
    /// Where the name is, from the start of the entry.
    pub name_offset: u32,
    /// The size of the name; 0 if there is none.
    pub name_size: u32,
    /// The flags.
    pub flags: Flags,
    /// The number between flags and size; 0.
    pub reserved: u64,
    /// The size when unpacked if it is packed, else 0.
    pub unpacked_size: u64,
    /// All of the header's bytes.
    pub header: Reader<'a>,
    /// The payload with its padding: as many bytes as there are.
    pub payload: Reader<'a>,
}

impl<'a> Fatbin<'a> {
    /// Reads the header of the container that starts where `file` does.
    ///
    /// # Errors
    /// If it does not start with the magic number, or ends within the header.
    ///
    /// ```
    /// use unshade_core::Reader;
    /// use unshade_nv::Fatbin;
    ///
    /// let file = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    /// assert_eq!(Fatbin::read(Reader::new(&file))?.entries().count(), 0);
    /// # Ok::<(), unshade_core::Error>(())
    /// ```
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

    /// All bytes, from the header on.
    pub fn file(&self) -> Reader<'a> {
        self.file
    }

    /// The bytes of the entries: those that the header tells of, or all that there are.
    pub fn payload(&self) -> Reader<'a> {
        let start = u64::from(self.header_size.max(HEADER_SIZE));
        let rest = (self.file.data().len() as u64).saturating_sub(start);
        let none = Reader::at(&[], self.file.range().end);
        self.file.part(start, self.payload_size.min(rest)).unwrap_or(none)
    }

    /// The entries. An error ends them, for nothing tells where the next one would start.
    pub fn entries(&self) -> Entries<'a> {
        Entries { rest: self.payload(), index: 0 }
    }
}

/// The entries of a container.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a> {
    rest: Reader<'a>,
    index: u32,
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
            "header is smaller than its fields",
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
    // A payload that is cut off is still there in part.
    entry.payload = rest.split(padded_size.min(rest.remaining() as u64))?;
    Ok(entry)
}

impl<'a> Entry<'a> {
    /// How it is packed.
    pub fn compression(&self) -> Compression {
        if self.flags.has(Flags::ZSTD) {
            Compression::Zstd
        } else if self.flags.has(Flags::LZ4) {
            Compression::Lz4
        } else {
            Compression::None
        }
    }

    /// Where it starts in the file.
    pub fn offset(&self) -> u64 {
        self.header.base()
    }

    /// The chip as it is written on a command line: `sm_90a` of a cubin, `compute_90a` of PTX.
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

    /// The name that the compiler was given for it (`--ident`), such as that of the source.
    pub fn name(&self) -> Option<&'a [u8]> {
        if self.name_size == 0 {
            return None;
        }
        Some(self.header.part(u64::from(self.name_offset), u64::from(self.name_size)).ok()?.data())
    }

    /// The bytes of the options: text, or records ([`Flags::COMPATIBILITY`]).
    ///
    /// # Errors
    /// If they are not inside of the header.
    pub fn options(&self) -> Result<Option<Reader<'a>>> {
        if self.options_offset == 0 {
            return Ok(None);
        }
        let place = u64::from(self.options_offset);
        let mut pair = self.header.part(place, (self.header.data().len() as u64).saturating_sub(place))?;
        let (offset, size) = (pair.u32()?, pair.u32()?);
        if size == 0 {
            return Ok(None);
        }
        let nul = u64::from(self.flags.has(Flags::COMPATIBILITY));
        self.header.part(u64::from(offset).saturating_add(nul), u64::from(size)).map(Some)
    }

    /// The payload as it stands in the file, without padding where its size is known.
    pub fn packed(&self) -> Reader<'a> {
        let size = u64::from(self.packed_size);
        match self.compression() {
            Compression::None => self.payload,
            _ => self.payload.part(0, size).unwrap_or(self.payload),
        }
    }

    /// The payload, unpacked if need be. PTX loses the NULs at its end.
    ///
    /// # Errors
    /// It is cut off, damaged, or unpacks to another size than it states.
    pub fn data(&self) -> Result<Cow<'a, [u8]>> {
        if (self.payload.data().len() as u64) < self.padded_size {
            return Err(Error::new(ErrorKind::Truncated, self.payload.base(), "payload is cut off")
                .expected(format!("{} bytes", self.padded_size))
                .found(format!("{}", self.payload.data().len()))
                .within(self.label()));
        }
        let data = match self.compression() {
            Compression::None => Cow::Borrowed(self.payload.data()),
            compression => {
                let unpacked = unpack(compression, self.packed(), self.unpacked_size);
                Cow::Owned(unpacked.map_err(|error| error.within(self.label()))?)
            }
        };
        if self.kind != EntryKind::PTX {
            return Ok(data);
        }
        let size = crate::ptx::text_size(&data);
        Ok(match data {
            Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(..size).unwrap_or(bytes)),
            Cow::Owned(mut bytes) => {
                bytes.truncate(size);
                Cow::Owned(bytes)
            }
        })
    }

    /// How it is called in messages.
    pub fn label(&self) -> String {
        format!("entry {} ({} {})", self.index, self.kind, self.target())
    }

    /// The offset that errors in `data` are counted from: its place in the file, or 0 if it had to be unpacked.
    pub fn data_base(&self) -> u64 {
        match self.compression() {
            Compression::None => self.payload.base(),
            _ => 0,
        }
    }

    /// The cubin in bytes that [`Entry::data`] gave.
    ///
    /// # Errors
    /// As [`Cubin::read`].
    pub fn cubin<'d>(&self, data: &'d [u8]) -> Result<Cubin<'d>> {
        Cubin::read(Reader::at(data, self.data_base())).map_err(|error| error.within(self.label()))
    }

    /// The PTX in bytes that [`Entry::data`] gave.
    pub fn ptx<'d>(&self, data: &'d [u8]) -> Ptx<'d> {
        Ptx::new(Reader::at(data, self.data_base()))
    }
}

/// What `.nvFatBinSegment` holds for each container: where it is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wrapper {
    /// The version: 1, or 2 for files that are to be linked.
    pub version: u32,
    /// The address of the container; in a file that is not linked yet 0, and a relocation.
    pub data: u64,
    /// The address of the names of the files that it was linked of, or 0.
    pub names: u64,
    /// Where the wrapper is in the file.
    pub offset: u64,
}

impl Wrapper {
    /// The size of a wrapper with 64-bit addresses.
    pub const SIZE: usize = 24;

    /// The wrappers of a section.
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
