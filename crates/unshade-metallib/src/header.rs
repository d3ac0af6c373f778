//! The header: the first 88 bytes.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | 4 bytes | `MTLB` |
//! | 4 | u16 | bits 0–14 container version, major (1); bit 15 set for macOS and macCatalyst |
//! | 6, 8 | u16, u16 | container version, minor (2) and patch (2–9 seen) |
//! | 10 | u8 | bits 0–6 library type; bit 7 stub. Written since 1.2.4 |
//! | 11 | u8 | bits 0–6 platform; bit 7 64-bit. Written since 1.2.6 |
//! | 12, 14, 15 | u16, u8, u8 | version of the target OS |
//! | 16 | u64 | size of the file; Metal rejects a file whose size differs |
//! | 24–87 | 4 × (u64, u64) | offset and size of function list, public metadata, private metadata, bitcode |
//!
//! The size of the function list does not include its 32-bit count.
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
    /// The type of a library (byte 10, bits 0–6).
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

/// An offset and a size as written in the file, not validated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Section {
    /// The offset from the start of the library.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
}

impl Section {
    /// Reads two 64-bit numbers.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { offset: reader.u64()?, size: reader.u64()? })
    }

    /// Returns the end, or `None` if it overflows.
    pub fn end(self) -> Option<u64> {
        self.offset.checked_add(self.size)
    }

    /// Returns the range in the library; the end saturates.
    pub fn range(self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.size)
    }
}

/// The header, with every field as written in the file.
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
    /// Public metadata: what the runtime needs about a function besides its code.
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
    /// [`ErrorKind::BadMagic`] if the data is not a library, [`ErrorKind::Truncated`] if it is shorter than 88 bytes.
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

    /// Returns the container version, such as 1.2.7. It does not determine the AIR version of the functions.
    pub fn version(&self) -> Version {
        Version { major: self.raw_major & 0x7fff, minor: self.minor, patch: self.patch }
    }

    /// Returns whether the library was built for macOS or macCatalyst. Old empty iOS libraries wrongly set this flag.
    pub fn macos_flag(&self) -> bool {
        self.raw_major & 0x8000 != 0
    }

    /// Returns the library's type; [`LibraryType::EXECUTABLE`] in files older than 1.2.4.
    pub fn library_type(&self) -> LibraryType {
        LibraryType(self.raw_type & 0x7f)
    }

    /// Returns whether the library is a stub: declarations only, for linking.
    pub fn is_stub(&self) -> bool {
        self.raw_type & 0x80 != 0
    }

    /// Returns the platform; [`Platform::UNKNOWN`] in files older than 1.2.6.
    pub fn platform(&self) -> Platform {
        Platform(self.raw_platform & 0x7f)
    }

    /// Returns whether the AIR is 64-bit; false in files older than 1.2.6.
    pub fn is_64_bit(&self) -> bool {
        self.raw_platform & 0x80 != 0
    }

    /// Returns the version of the target OS, if the header has one.
    pub fn os_version(&self) -> Option<Version> {
        let version = Version {
            major: self.os_major,
            minor: u16::from(self.os_minor),
            patch: u16::from(self.os_patch),
        };
        (version != Version { major: 0, minor: 0, patch: 0 }).then_some(version)
    }

    /// Returns a description of the target: `macOS 14.0`, `macOS` if there is no version, or `iOS, tvOS or watchOS` for
    /// files older than 1.2.6.
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

    /// Returns the range of the function list, including its count.
    pub fn function_list_range(&self) -> Range<u64> {
        let Section { offset, size } = self.function_list;
        offset..offset.saturating_add(size).saturating_add(4)
    }

    /// Returns the ranges of the four sections in the header, with their names. The function list includes its count.
    pub fn sections(&self) -> [(&'static str, Range<u64>); 4] {
        [
            ("function list", self.function_list_range()),
            ("public metadata", self.public_metadata.range()),
            ("private metadata", self.private_metadata.range()),
            ("bitcode", self.bitcode.range()),
        ]
    }
}
