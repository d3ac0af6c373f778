//! The header: the first 88 bytes.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | 4 bytes | `MTLB` |
//! | 4 | u16 | bits 0–14 container version, major (1); bit 15 set for macOS and macCatalyst |
//! | 6, 8 | u16, u16 | container version, minor (2) and patch (2–9 seen) |
//! | 10 | u8 | bits 0–6 library type; bit 7 stub. Written from 1.2.4 on |
//! | 11 | u8 | bits 0–6 platform; bit 7 64-bit. Written from 1.2.6 on |
//! | 12, 14, 15 | u16, u8, u8 | version of the target OS |
//! | 16 | u64 | size of the file; Metal refuses a file of another size |
//! | 24–87 | 4 × (u64, u64) | offset and size of function list, public metadata, private metadata, bitcode |
//!
//! The size of the function list leaves out the 32-bit count that stands before it.
//!
//! Source: 531 real files; the platform numbers are LLVM's `MachO::PlatformType`.

use core::fmt;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, FourCc, Reader, Result, open_enum};

/// The first four bytes of every library.
pub const MAGIC: FourCc = FourCc(*b"MTLB");

/// Size of the header in bytes.
pub const HEADER_SIZE: u64 = 88;

open_enum! {
    /// What sort of library it is (byte 10, bits 0–6).
    pub struct LibraryType(u8) {
        EXECUTABLE = 0 => "executable",
        CORE_IMAGE = 1 => "Core Image",
        DYNAMIC = 2 => "dynamic",
        SYMBOL_COMPANION = 3 => "symbol companion",
    }
}

open_enum! {
    /// The platform that a library was built for (byte 11, bits 0–6).
    pub struct Platform(u8) {
        UNKNOWN = 0 => "unknown platform",
        MACOS = 1 => "macOS",
        IOS = 2 => "iOS",
        TVOS = 3 => "tvOS",
        WATCHOS = 4 => "watchOS",
        BRIDGEOS = 5 => "bridgeOS",
        MAC_CATALYST = 6 => "macCatalyst",
        IOS_SIMULATOR = 7 => "iOS simulator",
        TVOS_SIMULATOR = 8 => "tvOS simulator",
        WATCHOS_SIMULATOR = 9 => "watchOS simulator",
        DRIVERKIT = 10 => "DriverKit",
        VISIONOS = 11 => "visionOS",
        VISIONOS_SIMULATOR = 12 => "visionOS simulator",
    }
}

/// A version of three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
    /// The third number.
    pub patch: u16,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// An offset and a size, as they stand in the file: nothing is promised of either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Section {
    /// Where it starts, from the start of the library.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
}

impl Section {
    /// Reads two 64-bit numbers.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { offset: reader.u64()?, size: reader.u64()? })
    }

    /// Where it ends, or `None` if that is past every file.
    pub fn end(self) -> Option<u64> {
        self.offset.checked_add(self.size)
    }

    /// The range of the library that it takes, cut where it overflows.
    pub fn range(self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.size)
    }
}

/// The header, with every field as it stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes 4–5: container version and macOS flag. See [`Header::version`] and [`Header::macos_flag`].
    pub raw_major: u16,
    /// Bytes 6–7.
    pub minor: u16,
    /// Bytes 8–9.
    pub patch: u16,
    /// Byte 10. See [`Header::library_type`] and [`Header::is_stub`].
    pub raw_type: u8,
    /// Byte 11. See [`Header::platform`] and [`Header::is_64_bit`].
    pub raw_platform: u8,
    /// Bytes 12–13: major version of the target OS; 0 if not written.
    pub os_major: u16,
    /// Byte 14.
    pub os_minor: u8,
    /// Byte 15.
    pub os_patch: u8,
    /// Bytes 16–23.
    pub file_size: u64,
    /// The function list, without the count before it. See [`Header::function_list_range`].
    pub function_list: Section,
    /// Public metadata: what the runtime needs of a function besides its code.
    pub public_metadata: Section,
    /// Private metadata: what debuggers and linkers need.
    pub private_metadata: Section,
    /// The bitcode modules.
    pub bitcode: Section,
}

impl Header {
    /// Reads the header at the reader's position.
    ///
    /// # Errors
    /// [`ErrorKind::BadMagic`] if it is no library, [`ErrorKind::Truncated`] if it has fewer than 88 bytes.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let offset = reader.offset();
        let magic = reader.fourcc()?;
        if magic != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, offset, "not a Metal library")
                .expected("MTLB")
                .found(alloc::format!("{magic}")));
        }
        Ok(Self {
            raw_major: reader.u16()?,
            minor: reader.u16()?,
            patch: reader.u16()?,
            raw_type: reader.u8()?,
            raw_platform: reader.u8()?,
            os_major: reader.u16()?,
            os_minor: reader.u8()?,
            os_patch: reader.u8()?,
            file_size: reader.u64()?,
            function_list: Section::read(reader)?,
            public_metadata: Section::read(reader)?,
            private_metadata: Section::read(reader)?,
            bitcode: Section::read(reader)?,
        })
    }

    /// The container version, such as 1.2.7. It does not tell the AIR version of the functions.
    pub fn version(&self) -> Version {
        Version { major: self.raw_major & 0x7fff, minor: self.minor, patch: self.patch }
    }

    /// Whether the library was built for macOS or macCatalyst. Old empty libraries for iOS wrongly say so, too.
    pub fn macos_flag(&self) -> bool {
        self.raw_major & 0x8000 != 0
    }

    /// The library's type; [`LibraryType::EXECUTABLE`] in files older than 1.2.4.
    pub fn library_type(&self) -> LibraryType {
        LibraryType(self.raw_type & 0x7f)
    }

    /// Whether the library has declarations only, to be linked against.
    pub fn is_stub(&self) -> bool {
        self.raw_type & 0x80 != 0
    }

    /// The platform; [`Platform::UNKNOWN`] in files older than 1.2.6.
    pub fn platform(&self) -> Platform {
        Platform(self.raw_platform & 0x7f)
    }

    /// Whether the AIR is 64-bit; not written in files older than 1.2.6.
    pub fn is_64_bit(&self) -> bool {
        self.raw_platform & 0x80 != 0
    }

    /// The version of the target OS, where it was written.
    pub fn os_version(&self) -> Option<Version> {
        let version = Version {
            major: self.os_major,
            minor: u16::from(self.os_minor),
            patch: u16::from(self.os_patch),
        };
        (version != Version { major: 0, minor: 0, patch: 0 }).then_some(version)
    }

    /// The target in words: `macOS 14.0`, or `macOS` where the file tells no more, or `not macOS`.
    pub fn target(&self) -> alloc::string::String {
        use alloc::format;
        let platform = match (self.platform(), self.macos_flag()) {
            (Platform::UNKNOWN, true) => format!("{}", Platform::MACOS),
            (Platform::UNKNOWN, false) => "iOS, tvOS or watchOS".into(),
            (platform, _) => format!("{platform}"),
        };
        match self.os_version() {
            Some(Version { major, minor, patch: 0 }) => format!("{platform} {major}.{minor}"),
            Some(version) => format!("{platform} {version}"),
            None => platform,
        }
    }

    /// The range of the function list with its count.
    pub fn function_list_range(&self) -> Range<u64> {
        let Section { offset, size } = self.function_list;
        offset..offset.saturating_add(size).saturating_add(4)
    }

    /// The four sections that the header names, with their names. The function list's includes its count.
    pub fn sections(&self) -> [(&'static str, Range<u64>); 4] {
        [
            ("function list", self.function_list_range()),
            ("public metadata", self.public_metadata.range()),
            ("private metadata", self.private_metadata.range()),
            ("bitcode", self.bitcode.range()),
        ]
    }
}
